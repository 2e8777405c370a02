"""Labelling: write what a group's members have in common as one published value.

A range for numbers and dates ("20 to 37"), the lowest node that holds all members for a
hierarchy ("1234*"), a set for categories ("Divorced | Widowed").
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal, TypeAlias

import numpy as np

from foreknow.errors import PolicyError
from foreknow.microdata import Attribute
from foreknow.sparse import IntArray, count_pairs

Style: TypeAlias = Literal["range", "hierarchy", "set"]


def style_of(attribute: Attribute, wanted: str | None) -> Style:
    """How an attribute is written: as wanted, else by its kind.

    Raises
    ------
    PolicyError
        If it cannot be written so.
    """
    if wanted == "hierarchy" and not attribute.ancestors:
        raise PolicyError(f"publish.labels: {attribute.name!r} has no hierarchy with levels")
    if wanted == "range" and attribute.order == "nominal":
        raise PolicyError(
            f"publish.labels: {attribute.name!r} is text without an order; a range of it means "
            "nothing; use set, or give it a hierarchy = { order = [...] }"
        )
    if wanted in ("range", "hierarchy", "set"):
        return wanted  # type: ignore[return-value]
    if attribute.ancestors:
        return "hierarchy"
    return "range" if attribute.order == "ordered" else "set"


def labels_of(
    attribute: Attribute, groups: IntArray, n_groups: int, style: Style
) -> list[str | None]:
    """Write the label of each group along one attribute.

    Parameters
    ----------
    attribute : Attribute
    groups : int64 array, shape (people,)
    n_groups : int
    style : "range", "hierarchy" or "set"

    Returns
    -------
    list of str or None
        A value that is exact is written as it is; None for a group whose members all have a null.
    """
    offsets, codes, _ = count_pairs(groups, attribute.codes, n_groups, len(attribute.domain))
    if style == "set":
        return [
            _set(attribute, codes[a:b].tolist())
            for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ]
    low, high = codes[offsets[:-1]], codes[offsets[1:] - 1]
    pairs = low * len(attribute.domain) + high
    distinct, which = np.unique(pairs, return_inverse=True)
    write = _node if style == "hierarchy" else _range
    if style == "range" and len(attribute.domain) and attribute.domain[0] is None:
        # The range of the members that have a value; its first cell is not the null.
        some = np.minimum(offsets[:-1] + (low == 0), offsets[1:] - 1)
        mixed = (low == 0) & (high > 0)
        return [
            f"{_range(attribute, int(codes[s]), int(h))} or missing"
            if m
            else _range(attribute, int(x), int(h))
            for s, x, h, m in zip(some, low, high, mixed, strict=True)
        ]
    written = [write(attribute, *divmod(pair, len(attribute.domain))) for pair in distinct.tolist()]
    return [written[i] for i in which.tolist()]


def text_of(value: Any) -> str:
    """Write one value.

    >>> text_of(dt.date(2024, 1, 31)), text_of(7)
    ('2024-01-31', '7')
    """
    if value is None:
        return "missing"
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)


def _exact(attribute: Attribute, code: int) -> str | None:
    value = attribute.domain[code]
    return None if value is None else text_of(value)


def _range(attribute: Attribute, low: int, high: int) -> str | None:
    if low == high:
        return _exact(attribute, low)
    return f"{text_of(attribute.domain[low])} to {text_of(attribute.domain[high])}"


def _node(attribute: Attribute, low: int, high: int) -> str | None:
    if low == high:
        return _exact(attribute, low)
    for nodes, labels in zip(attribute.ancestors, attribute.labels, strict=True):
        if nodes[low] == nodes[high]:
            return labels[int(nodes[low])]
    return "*"


def _set(attribute: Attribute, codes: list[int]) -> str | None:
    if len(codes) == 1:
        return _exact(attribute, codes[0])
    if len(codes) == len(attribute.domain):
        return "*"
    return " | ".join(text_of(attribute.domain[code]) for code in codes)
