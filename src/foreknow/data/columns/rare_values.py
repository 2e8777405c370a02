"""Rare values: what few people have, and labels must not show: as one value, or refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.columns.attribute import Attribute, GridCells
from foreknow.data.impossible.rules_in_force import OTHER
from foreknow.data.labels.labels import text_of
from foreknow.data.tables.columns import (
    narrowest,
)
from foreknow.data.tables.profile.column_advice import doubts
from foreknow.errors import SchemaError


def lists_values(attribute: Attribute, style: str | None) -> bool:
    """True if labels of an attribute list its values, and rare ones may be hidden.

    `style` "exact" insists on all values; None: no style is wanted.
    """
    return {"set": True, None: attribute.order == "nominal"}.get(style, False)


def without_rare(
    attribute: Attribute,
    limit: int,
    times: IntArray | None = None,
    merging: bool = True,
    noun: str = "people",
) -> Attribute:
    """An attribute whose values of fewer than `limit` people are one value, `other`.

    Raises `SchemaError` where that is no way: if most values are that rare, the column has a
    hierarchy, or nothing may be merged. `times` says how many people each entry is, and `noun` what
    messages call them.

    >>> import pyarrow as pa
    >>> from foreknow import Microdata, Schema
    >>> jobs = ["Cook"] * 5 + ["Nurse"] * 5 + ["Pope"]
    >>> rows = pa.table({"job": jobs, "disease": ["Flu"] * 11})
    >>> people = Microdata(rows, Schema(quasi_identifiers=["job"], sensitive="disease"))
    >>> without_rare(people.attributes[0], 5).domain
    ['Cook', 'Nurse', 'other']
    """
    domain = attribute.domain
    is_rare = np.bincount(attribute.codes, times, len(domain)) < limit
    first = int(domain[0] is None)  # 1 if a null comes first, which is not rare
    n_rare = int(np.count_nonzero(is_rare[first:]))
    if not n_rare:
        return attribute
    # Merge rare values only if they are at most half of all: "other" must not be most of the
    # column.
    if merging and not attribute.ancestors and 2 * n_rare <= len(is_rare) - first:
        return merged(attribute, is_rare)
    ways = 'a coarser column, or publish with form = "bucketized"'
    if attribute.ancestors:
        ways = 'labels by its hierarchy: leave out labels = "set"'
    elif attribute.order == "ordered":
        ways = 'ranges: leave out labels = "set"'
    elif merging:
        ways = "a hierarchy, its type, or make it one of the identifiers"
    error = _rare_values_error(
        attribute,
        is_rare[first:],
        f"{limit} {noun}",
        consequence="labels would list them",
        ways=ways,
    )
    # The column may be misread, which makes values rare.
    doubt = doubts(attribute.name, domain)
    raise SchemaError(f"{error}{'' if doubt is None else f'. It {doubt}'}")


def _rare_values_error(
    attribute: Attribute,
    is_rare: NDArray[np.bool_],
    limit_text: str,
    *,
    consequence: str,
    ways: str,
) -> SchemaError:
    """The error for values of few people that labels would show.

    `is_rare` marks the rare values, and `limit_text` says what is rare. `consequence` is what
    labels would do, and `ways` what helps against it.
    """
    exact = f'labels = {{ {json.dumps(attribute.name)} = "exact" }}'
    return SchemaError(
        f"column {attribute.name!r}: {np.count_nonzero(is_rare):,} of its {len(is_rare):,} values "
        f"are had by fewer than {limit_text} each, and {consequence}; give it {ways}; or say "
        f"{exact} in [publish] to show them all"
    )


def ends_at_values(attribute: Attribute, style: str | None) -> bool:
    """True if ranges begin and end at values of members, unless `style` is "exact"."""
    if attribute.cells is not None or attribute.order != "ordered":
        return False
    return style == "range" or (style is None and not attribute.ancestors)


def refuse_rare_ends(
    attribute: Attribute, limit: int, times: IntArray | None = None, noun: str = "people"
) -> None:
    """Raise `SchemaError` if ranges would end at values most of which few people have.

    No grid hides these: they are texts in an order, or numbers some of which are not finite. Rare
    values are those of fewer than `limit` people; `times` says how many people each entry is, and
    `noun` what messages call them.

    >>> import pyarrow as pa
    >>> from foreknow import Microdata
    >>> rows = pa.table({"ward": ["A1", "B2", "C3"], "disease": ["Flu"] * 3})
    >>> people = Microdata(rows, quasi_identifiers=["ward"], sensitive="disease")
    >>> try:
    ...     refuse_rare_ends(people.attributes[0], 5)
    ... except SchemaError as error:
    ...     print(str(error)[:67])
    column 'ward': 3 of its 3 values are had by fewer than 5 people eac
    """
    domain = attribute.domain
    first = int(domain[0] is None)  # 1 if the first value is a null
    is_rare = np.bincount(attribute.codes, times, len(domain))[first:] < limit
    has_infinite = any(
        isinstance(value, float) and not np.isfinite(value) for value in domain[first:]
    )
    are_most = 2 * np.count_nonzero(is_rare) > len(is_rare)
    if not is_rare.any() or not (are_most or has_infinite):
        return
    ways = "coarser values first, or a hierarchy with levels"
    if has_infinite:
        ways = "finite numbers in place of inf, or say that these are missing"
    elif attribute.ancestors:
        ways = 'labels by its hierarchy: leave out labels = "range"'
    raise _rare_values_error(
        attribute, is_rare, f"{limit} {noun}", consequence="ranges would end at them", ways=ways
    )


def merged(attribute: Attribute, is_rare: NDArray[np.bool_]) -> Attribute:
    """An attribute with its rare values as one, `other`, which is the last; a missing value stays.

    `is_rare` says which values of the domain are merged.
    """
    domain = attribute.domain
    kept_codes = np.flatnonzero(~is_rare | np.array([value is None for value in domain]))
    # Values that are merged get the code after those that stay.
    new_code = np.full(len(domain), len(kept_codes), dtype=np.int64)
    new_code[kept_codes] = np.arange(len(kept_codes))
    label, used_labels = OTHER, set(map(text_of, domain))
    while label in used_labels:
        label += "+"
    positions = np.arange(len(kept_codes) + 1, dtype=np.float64)
    # The exact values are kept, with "other" as a level above them.
    values = replace(attribute, ancestors=(new_code, np.zeros_like(new_code)))
    return replace(
        attribute,
        codes=new_code.astype(narrowest(len(kept_codes) + 1))[attribute.codes],
        domain=[*(domain[code] for code in kept_codes.tolist()), label],
        order="nominal",
        positions=positions,
        cells=GridCells(grid=None, values=values, texts=(), ends=positions),
    )
