"""People: where a column tells them apart, each must stand in one row under ``single``."""

from __future__ import annotations

import numpy as np

from foreknow.errors import DataError
from foreknow.frames.columns import distinct
from foreknow.frames.plain import fetch
from foreknow.frames.sources import Table


def refuse_repeats(table: Table, person: str) -> None:
    """Raise `DataError` if somebody stands in two rows, or a row names nobody."""
    codes, found = distinct(person, fetch(table, [person]).column(person))
    if found.null_count:
        row = int(np.argmax(codes == len(found) - 1)) + 1
        raise DataError(f"{table.name}: the column of people {person!r} is missing in row {row}")
    times = np.bincount(codes, minlength=len(found))
    if len(times) and times.max() > 1:
        who = int(np.argmax(times > 1))
        rows = np.flatnonzero(codes == who)[:2] + 1
        raise DataError(
            f"{table.name}: {person} {found[who].as_py()!r} is in rows {rows[0]} and {rows[1]}; "
            "under semantics 'single' everyone has one row (several values per person are not "
            "judged yet)"
        )
