"""Missing sensitive values: refuse them, leave their rows out, or give them a label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from foreknow.data.sparse import IntArray
from foreknow.errors import DataError, SchemaError


class Relabel(str):
    """A label that stands for missing sensitive values.

    >>> Relabel("unknown")
    'unknown'
    """

    __slots__ = ()


Missing: TypeAlias = Literal["error", "drop"] | Relabel


def as_missing(given: Any) -> Missing:
    """Read "error", "drop", a `Relabel` or ``{"label": ...}``; anything else is an error."""
    if isinstance(given, Relabel) or given in ("error", "drop"):
        return given  # type: ignore[no-any-return]
    if isinstance(given, Mapping) and list(given) == ["label"] and isinstance(given["label"], str):
        return Relabel(given["label"])
    raise SchemaError(f'missing must be "error", "drop" or {{ label = "..." }}, not {given!r}')


def refuse_missing(missing: Missing, semantics: str) -> None:
    """Raise `SchemaError` for a rule about nulls where a null just means no value."""
    relabel = isinstance(missing, Relabel)
    if semantics != "single" and (relabel or missing != "error"):
        shown = f'{{ label = "{missing}" }}' if relabel else f'"{missing}"'
        raise SchemaError(
            f"missing = {shown} has no place under semantics {semantics!r}, where a null means "
            "that the person has no value; leave it out"
        )


def settle_missing(
    name: str,
    rows: pa.Table,
    sensitive: str,
    missing: Missing,
    *,
    weights: NDArray[Any] | None = None,
    in_order: bool = True,
) -> tuple[pa.Table, IntArray | None]:
    """Deal with null sensitive values."""
    column = rows.column(sensitive)
    if not column.null_count:
        return rows, None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    at = rows.column_names.index(sensitive)
    if isinstance(missing, Relabel):
        filled = pc.fill_null(column.cast(pa.string()), str(missing))
        return rows.set_column(at, sensitive, filled), None
    holes = pc.is_null(column).to_numpy()
    if missing == "drop":
        kept = np.flatnonzero(~holes)
        return rows.set_column(at, sensitive, column).take(pa.array(kept)), kept
    many = int(holes.sum() if weights is None else weights[holes].sum())
    where = f", first in row {int(np.argmax(holes)) + 1}" if in_order else ""
    raise DataError(
        f"{name}: the sensitive column {sensitive!r} is missing in {many} "
        f"row{'s' if many > 1 else ''}{where}; fill it, or say "
        'missing = "drop" or missing = { label = "unknown" } in the schema'
    )
