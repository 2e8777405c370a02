"""Remarks: all that stand beside verdicts, the most important first.

Scopes, and so JSON and certificates, are counted by the table `REMARKS`; every report reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from foreknow.auditing.remarks import columns, grounds, sizes, values
from foreknow.auditing.remarks.remark import JudgedRelease, Reader, Remark
from foreknow.data.schema import Schema
from foreknow_judge.remarks.scope import Scope

REMARKS = (
    columns.IF_KNOWN,
    grounds.FOREIGN,
    grounds.CASES,
    grounds.NUMBERS,
    values.UNPROTECTED,
    values.VALUES_AND_PEOPLE,
    values.CROWDED,
    values.SEVERAL_ANSWERS,
    values.AMOUNTS,
    values.ALIKE,
    values.IDLE,
    values.ABSENT,
    values.BEGIN_ALIKE,
    values.NO_NUMBERS,
    values.EXTREMES,
    values.NEAR,
    columns.UNREQUIRED,
    columns.IDENTIFIERS,
    columns.EXACT,
    columns.KNOWN,
    columns.ASSUMED,
    columns.BESIDE,
    columns.SHUFFLED,
    grounds.METHOD,
    grounds.LINKED,
    grounds.TALLIED,
    sizes.LACKING,
    sizes.LEFT_OUT,
    sizes.WITHOUT,
    sizes.WITHOUT_VALUE,
    sizes.SMALLEST_GROUP,
    sizes.GROUPS_OF_ONE,
    values.APART,
    values.MORE_APART,
    sizes.PEOPLE_SUPPRESSED,
    columns.SUPPRESSED,
    grounds.SHARED,
    columns.OPEN,
    grounds.WORD,
    grounds.NAMES_ALIKE,
    grounds.WRITTEN,
    grounds.RELEASES,
    grounds.EARLIER,
)


def counted_of(release: JudgedRelease) -> dict[str, Any]:
    """The fields of a scope that are counted here, and not by the judge."""
    fields: dict[str, Any] = {}
    for remark in REMARKS:
        count = remark.of_counts if release.table is None else remark.of_table or remark.of_counts
        if count is not None:
            fields[remark.field] = count(release)
    return fields


def for_readers(scope: Scope, schema: Schema) -> Scope:
    """The scope as others than the owner may read it."""
    fields = {}
    for remark in REMARKS:
        fields[remark.field] = remark.published(getattr(scope, remark.field), schema)
    return replace(scope, **fields)


def said_to(reader: Reader, remarks: Iterable[Remark] = REMARKS) -> Iterator[str]:
    """The sentences of all remarks of which there is anything to say."""
    for remark in remarks:
        value = getattr(reader.scope, remark.field)
        if value:
            yield from remark.say(value, reader)
