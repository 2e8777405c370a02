"""Remarks on what verdicts rest on: how rows were counted, on whose word, of which releases."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter

from foreknow.auditing.remarks.remark import MOST, JudgedRelease, Reader, Remark, always, on_each
from foreknow.data.schema import PLAIN, Schema
from foreknow.methods.proof import AS_REQUIRED, AT_MOST, FREQUENCIES, NOT_JUDGED
from foreknow.plugins import foreign
from foreknow.wording import capital, listing
from foreknow_judge.files.printable import quoted, visible
from foreknow_judge.remarks.sentences import SEVERAL_CASES
from foreknow_judge.text import some

_ADDED_UP = ", and limits hold for the sum over a person's cases"
CASES_OF_PEOPLE = (
    f"A row is a case, of which a person may have several; the owner counts people{_ADDED_UP}. "
    "Facts about others (k, m) and criteria of values are about cases all the same. Who is known "
    "to have the same value in all of their cases, as of a chronic illness, may be found out "
    "better: that was not judged."
)
SIZES_OF_PEOPLE = CASES_OF_PEOPLE.replace(_ADDED_UP, "")
OTHER_RELEASES = (
    "Other releases of the same people, earlier or later, were not judged: together with this one "
    "they may reveal more."
)
FURTHER_RELEASES = (
    "A person is taken to have the same value in all these releases. Somebody who has further "
    "releases of the same people may find out more, and somebody who knows when a person came may "
    "know more of their value; only trials say anything about that."
)
_LIMITING_NOTHING = (
    "By a proof, what is required holds also against an adversary who knows the method; nothing of "
    "it limits inference."
)
_METHOD = {
    AS_REQUIRED: "By a proof, the requirements hold also against an adversary who knows the "
    "method.",
    FREQUENCIES: "By a proof, an adversary who knows the method, and nothing else, is as sure of "
    "a value as it is frequent in the group, and no surer. Who also has the knowledge that the "
    "requirements name was not judged.",
}


def _count_foreign(release: JudgedRelease) -> tuple[str, ...]:
    # by class, since a class of another package may have one of Foreknow's keys
    return foreign(map(type, chain(*(required.judged for required in release.requirements))))


FOREIGN = Remark(
    "foreign",
    on_each("By the word of another package alone, which Foreknow cannot prove: {}."),
    of_counts=_count_foreign,
)


def _count_cases(release: JudgedRelease) -> bool:
    by_schema = (release.schema or PLAIN).unit == "row"
    return by_schema or bool(getattr(release.table, "cases", False))


def _say_cases(_: bool, reader: Reader) -> Iterator[str]:
    if not reader.scope.word:
        yield SEVERAL_CASES
    else:
        yield CASES_OF_PEOPLE if reader.limits else SIZES_OF_PEOPLE


CASES = Remark("cases", _say_cases, of_counts=_count_cases)


def _say_numbers(columns: Sequence[str], reader: Reader) -> Iterator[str]:
    """Yield a sentence for each published column that may number people, and what to write then."""
    for name in columns[:MOST]:
        yield (
            f"{visible(name)} is published, and looks like the number of a person who has several "
            "rows: then the verdict is about rows, and not about people. If it is, list "
            'it under identifiers alone, and add unit = "row" and person = '
            f"{json.dumps(name, ensure_ascii=False)} to [schema]."
        )


NUMBERS = Remark("numbers", _say_numbers, of_table=attrgetter("table.numbers"))


def _say_method(method: str, reader: Reader) -> Iterator[str]:
    """Yield a sentence on an adversary who knows how the release was made.

    `method` is "not judged", "as required", "frequencies" or "at most 1/2", by a proof.
    """
    if method == NOT_JUDGED:
        see = f' See "{reader.attack}".' if reader.attack else ""
        yield (
            f"Knowledge of the method was not judged: an adversary who knows it may be surer.{see}"
        )
    elif method == AS_REQUIRED and reader.unlimited:
        yield _LIMITING_NOTHING
    else:
        yield _METHOD.get(method) or (
            "By a proof, an adversary who knows the method, and nothing else, is never surer of a "
            f"value than {method.removeprefix(AT_MOST)}."
        )


METHOD = Remark(
    "method", _say_method, of_counts=lambda judged: NOT_JUDGED if judged.policy else None
)

LINKED = Remark(
    "linked",
    always(
        "Judged by the counts of its groups. The table itself shows which values are of one "
        "person: publish counts instead, as foreknow publish does."
    ),
    of_table=attrgetter("table.linked"),
)

TALLIED = Remark(
    "tallied",
    always(
        "Judged by a tally, as if each row that it counts were one person, and the table had "
        "no further columns. A tally does not show whether somebody has several rows."
    ),
    of_table=attrgetter("table.tallied"),
)


def _say_shared(columns: Iterable[str], reader: Reader) -> Iterator[str]:
    """Yield a sentence on columns that a few people have in common, such as an address.

    It says what is not judged of these people; "" stands for a column that is not published.
    """
    names = [visible(name) if name else "a column that is not published" for name in columns]
    yield (
        f"People who share {listing(names, 'or', n_shown=MOST)}: most of its values are those "
        "of two to nine rows. They are judged one by one, and somebody may know that they have the "
        "same value, or what one of them has. Links (m) stand for “if one of these has it, so has "
        "this person”, and not for “all of them have the same”."
    )


def _publish_shared(columns: Iterable[str], schema: Schema) -> tuple[str, ...]:
    """The columns without the names of those that the policy does not name."""
    names = (name if schema.role(name) else "" for name in columns)
    return tuple(dict.fromkeys(names))


SHARED = Remark(
    "shared", _say_shared, of_table=attrgetter("table.shared"), published=_publish_shared
)

WORD = Remark("word", on_each("Counted by the owner, since a release does not show it: {}."))


def _say_names_alike(pairs: Sequence[tuple[str, str]], reader: Reader) -> Iterator[str]:
    name, similar_name = map(quoted, pairs[0])
    yield (
        f"{capital(some(len(pairs), 'pair', 'pairs'))} of names in two releases, such as {name} "
        f"and {similar_name}: alike but for hyphens and other marks, and taken for different "
        "people. If they are one, write them in one way, or nothing of this holds."
    )


NAMES_ALIKE = Remark("names_alike", _say_names_alike, of_table=attrgetter("table.names_alike"))

WRITTEN = Remark("written", of_table=attrgetter("table.written"))


def _say_releases(releases: Iterable[tuple[str, int]], reader: Reader) -> Iterator[str]:
    releases_in_words, dates = [], reader.scope.written
    for name, people in releases:
        date = f", written on {dates[name]}" if name in dates else ""
        releases_in_words.append(f"{visible(name)} ({some(people, 'person', 'people')}{date})")
    yield f"Judged together, as one release: {listing(releases_in_words)}. {FURTHER_RELEASES}"


RELEASES = Remark("releases", _say_releases, of_table=attrgetter("table.releases"))


def _say_earlier(people: Sequence[int], reader: Reader) -> Iterator[str]:
    if not reader.scope.releases:
        yield (
            f"Published after {some(len(people), 'earlier release', 'earlier releases')} of "
            f"{some(sum(people), 'person', 'people')} of the same register: all together, as one "
            "release, hold what is required. That nobody is in two groups is the publisher's word. "
            f"{FURTHER_RELEASES}"
        )


EARLIER = Remark("earlier", _say_earlier)
