"""Remarks on sizes: how small groups are, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter

from foreknow.auditing.remarks.remark import JudgedRelease, Reader, Remark
from foreknow.wording import capital, few, noun_of
from foreknow_judge.remarks.sentences import rows_left_out, smallest_group
from foreknow_judge.text import some


def _count_lacking(release: JudgedRelease) -> dict[str, int]:
    rows = release.table.rows_left_out if len(release.columns) > 1 else ()
    return {left_out.column: left_out.number for left_out in rows}


def _say_lacking(rows: Mapping[str, int], reader: Reader) -> Iterator[str]:
    lacking = few(
        f"{capital(some(n_rows, 'row has', 'rows have'))} no {noun_of(column)}"
        for column, n_rows in rows.items()
    )
    yield f"{lacking}: left out where that column is judged; no verdict on it is about them."


LACKING = Remark("lacking", _say_lacking, of_table=_count_lacking)

LEFT_OUT = Remark(
    "left_out",
    lambda rows, reader: (
        [] if reader.scope.lacking else map(capital, rows_left_out(rows, reader.noun))
    ),
    of_table=attrgetter("table.left_out"),
)


def _none_in_group(people: int, noun: str) -> str:
    return (
        f"{capital(some(people, 'person is', 'people are'))} in groups in which nobody has any "
        f"{noun}: that they have none can be read from the release."
    )


WITHOUT = Remark(
    "without",
    lambda people, reader: [
        _none_in_group(amount, noun_of(column)) for column, amount in people.items()
    ],
)

WITHOUT_VALUE = Remark(
    "without_value",
    lambda people, reader: [] if reader.scope.without else [_none_in_group(people, reader.noun)],
)

SMALLEST_GROUP = Remark("smallest_group", lambda _, reader: smallest_group(reader.scope))

GROUPS_OF_ONE = Remark("groups_of_one")


def _say_suppressed_people(people: int, reader: Reader) -> Iterator[str]:
    are = capital(some(people, "person is", "people are"))
    yield f"{are} suppressed: in one group, whatever their quasi-identifiers."


PEOPLE_SUPPRESSED = Remark("people_suppressed", _say_suppressed_people)
