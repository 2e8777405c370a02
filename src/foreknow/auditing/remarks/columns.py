"""Remarks on columns: which are taken to be known of everybody, and which nothing covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter

from foreknow.adversaries.release_counts import counts_of
from foreknow.auditing.remarks.remark import JudgedRelease, Reader, Remark, listed, on_all
from foreknow.wording import few
from foreknow_judge.errors import InputError
from foreknow_judge.files.printable import visible
from foreknow_judge.text import number, some


def _count_if_known(release: JudgedRelease) -> dict[str, tuple[int, int]]:
    """For each sensitive column: people at or over a limit, and all people, if more were known.

    That is, if somebody knew the columns beside it of which the policy assumes that nobody does.
    """
    reached: dict[str, tuple[int, int]] = {}
    for required in release.requirements:
        # A remark: where the stricter requirement cannot be judged, there is none.
        with suppress(InputError):
            all_known = required.knowing_all(release.table.layout)
            if all_known is None:
                continue
            from foreknow.auditing.exposed_people import exposed_by

            requirement_counts = all_known.count(release.table)
            exposed_people = exposed_by(
                requirement_counts, requirement_counts.explanations(), limits=True
            )
            over = []
            for exposed in exposed_people:
                if exposed.over is not None:
                    over.append(exposed.over.people)
            if over:  # of several requirements on a column, the most people count
                most_people, _ = reached.get(requirement_counts.seen_columns.secret, (0, 0))
                people = counts_of(requirement_counts.seen).n_people
                reached[requirement_counts.seen_columns.secret] = max(most_people, *over), people
    return reached


def _say_if_known(reached_by: Mapping[str, tuple[int, int]], reader: Reader) -> Iterator[str]:
    """Yield a sentence for each sensitive column on how many people would be over a limit.

    `reached_by` has (people over it, all people), if further columns were known of everybody.
    """
    for sensitive, (reached, people) in reached_by.items():
        columns = listed(reader.scope.assumed.get(sensitive, ()))
        are = "is" if reached == 1 else "are"
        how_many = f"{number(reached)} of {some(people, 'person', 'people')} {are}"
        yield (
            f"{how_many if reached else 'Nobody is'} at or over a limit on {visible(sensitive)} if "
            f"somebody knows the {columns} of everybody."
        )


IF_KNOWN = Remark("if_known", _say_if_known, of_table=_count_if_known)

UNREQUIRED = Remark(
    "unrequired", on_all("No requirement is about {few}: the release may disclose any value of it.")
)


def _count_identifiers(release: JudgedRelease) -> tuple[str, ...]:
    names = () if release.schema is None else release.schema.identifiers
    return tuple(name for name in release.unseen if name in names)


IDENTIFIERS = Remark(
    "identifiers",
    on_all("The table names people, in {few}: what is published must not."),
    of_table=_count_identifiers,
)

EXACT = Remark(
    "exact",
    on_all(
        "Everybody's {every} {are} published as in the table: somebody who knows {them} of a "
        "person may find this person's row, and learn that they are in the table."
    ),
    of_table=lambda judged: tuple(judged.table.without_cohort(judged.table.recognized)),
)

KNOWN = Remark(
    "known",
    on_all("The adversary knows the {every} of everybody."),
    of_table=attrgetter("table.knows"),
)


def _count_assumed(release: JudgedRelease) -> dict[str, tuple[str, ...]]:
    assumed: dict[str, tuple[str, ...]] = release.table.layout.assumed(release.sights)
    return assumed


def _say_assumed(assumed: Mapping[str, Sequence[str]], reader: Reader) -> Iterator[str]:
    for sensitive, columns in assumed.items():
        is_known = not reader.is_owner or sensitive in reader.scope.if_known
        yield (
            f"A requirement on {visible(sensitive)} assumes that nobody knows the "
            f"{listed(columns, 'or')} of anybody"
            f"{'.' if is_known else '; how many would be over a limit otherwise was not counted.'}"
        )


ASSUMED = Remark("assumed", _say_assumed, of_table=_count_assumed)


def _count_beside(release: JudgedRelease) -> tuple[str, ...]:
    """Columns that no requirement looks at, several sensitive ones beside each other too."""
    sensitive_beside = [name for name in release.columns if name in release.table.beside]
    if len(sensitive_beside) < 2 or not release.sights:
        return tuple(release.unseen)
    not_looked_at = [name for name in sensitive_beside if name not in release.looked_at]
    return (*release.unseen, *not_looked_at)


def _say_beside(columns: Iterable[str], reader: Reader) -> Iterator[str]:
    """Yield a sentence on published columns that nothing was judged about.

    Columns that another remark names are left out.
    """
    named_columns = set(reader.scope.identifiers).union(*reader.scope.assumed.values())
    unjudged = [visible(name) for name in columns if name not in named_columns]
    if unjudged:
        pronoun = "them" if len(unjudged) > 1 else "it"
        yield (
            f"Not judged: {few(unjudged)}. An adversary who knows {pronoun} of a person may find "
            f"out more from a release that has {pronoun}."
        )


BESIDE = Remark("beside", _say_beside, of_table=_count_beside)

SHUFFLED = Remark(
    "shuffled",
    on_all(
        "The publisher says that {every} {are} shuffled within each group; readers cannot check "
        "this."
    ),
    of_table=attrgetter("table.unlinked"),
)

SUPPRESSED = Remark(
    "suppressed",
    on_all("Nothing is published of {few}: everybody has *."),
    of_table=attrgetter("table.suppressed"),
)

OPEN = Remark(
    "open",
    on_all(
        "Labels leave open who cannot have a value (impossible, by {few}). People who perhaps "
        "cannot were not counted among those who can, so how sure somebody can be is a bound. "
        "The owner, who knows these columns, may find less: audit with the table (people)."
    ),
    published=lambda columns, schema: (),
)
