"""Scope in words: what the verdicts did not look at, a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from foreknow.auditing.remarks import columns as column_remarks
from foreknow.auditing.remarks.grounds import CASES_OF_PEOPLE, OTHER_RELEASES, SIZES_OF_PEOPLE
from foreknow.auditing.remarks.remark import Reader, SpreadLimits
from foreknow.auditing.remarks.remarks import said_to
from foreknow.wording import listing
from foreknow_judge.files.printable import visible
from foreknow_judge.remarks.scope import Scope
from foreknow_judge.remarks.sentences import (
    CASES_OF_FILES,
    OF_PEOPLE_CLAIMED,
    OF_PEOPLE_OPEN,
    SEVERAL_CASES,
    UNLIMITED_OF_PEOPLE,
)

HEADING = "What the verdicts do not cover:"
# Of a limit relative to priors: what is said to be the worst, and what stands beside it.
NEAREST = "nearest to its limit"
RELATIVE = (
    "The limit is relative to priors: of a frequent value somebody may be surer, up to certainty."
)
# Where rows are cases, these are about people all the same.
ALL_OF_ONE = "All of them may be those of one person, whose rows can then be isolated."
TOLD_OF_PEOPLE = (
    SEVERAL_CASES,
    CASES_OF_PEOPLE,
    SIZES_OF_PEOPLE,
    CASES_OF_FILES,
    OTHER_RELEASES,
    ALL_OF_ONE,
    OF_PEOPLE_CLAIMED,
    OF_PEOPLE_OPEN,
    UNLIMITED_OF_PEOPLE,
    "The table names people",
)


def spread_limits(
    columns: Sequence[str], limited: Iterable[tuple[str | None, str | None]]
) -> dict[str, SpreadLimits]:
    """The limits on each sensitive column: the criteria, and if something else limits it, too.

    `limited` has a pair (column, criterion) for each verdict: a column of None is the first one,
    and a criterion of None is a limit on what adversaries with knowledge infer.
    """
    criteria: dict[str, list[str | None]] = {column: [] for column in columns}
    for sensitive, criterion in limited:
        column = sensitive if sensitive in criteria else columns[0]
        criteria[column].append(criterion)
    limits: dict[str, SpreadLimits] = {}
    for column, keys in criteria.items():
        distinct = dict.fromkeys(filter(None, keys))
        limits[column] = SpreadLimits(tuple(distinct), None in keys)
    return limits


def by_word_of(scope: Scope) -> str:
    """End a headline with what holds by the word of other packages, if anything does."""
    kinds = list(map(visible, scope.foreign))
    return f"; {listing(kinds)} by the word of another package alone" if kinds else ""


def sentences(reader: Reader, *, claimed: bool = False) -> list[str]:
    """The sentences that stand beside the verdicts, the most important first.

    With `claimed`, only those that the publisher vouches for.
    """
    scope = reader.scope
    texts = [*said_to(reader), *_one_at_a_time(reader)]
    if not (claimed or scope.releases or scope.earlier):
        texts.append(OTHER_RELEASES)
    return texts


def _one_at_a_time(reader: Reader) -> Iterator[str]:
    """Yield a sentence that limited columns are not judged together, if there are several."""
    columns = []
    for name, limits in reader.spread.items():
        if limits.some_alone:
            columns.append(visible(name))
    if len(columns) > 1:
        yield (
            f"{listing(columns)} are judged separately: how sure somebody can be that a person has "
            "at least one of two values, one from each column, was not judged."
        )


def sight(scope: Scope) -> list[str]:
    """Sentences that say which columns an adversary knows, which not, and which were not judged."""
    remarks = (
        column_remarks.KNOWN,
        column_remarks.ASSUMED,
        column_remarks.BESIDE,
        column_remarks.SHUFFLED,
    )
    return list(said_to(Reader(scope), remarks))
