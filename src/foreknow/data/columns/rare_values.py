"""Rare values: what few people have, and labels must not show: as one value, or refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.columns.attribute import Attribute, GridCells
from foreknow.data.engines.columns import (
    narrowest,
)
from foreknow.data.engines.profile.column_advice import doubts
from foreknow.data.impossible.rules_in_force import OTHER
from foreknow.data.labels.labels import text_of
from foreknow.errors import SchemaError


def lists_values(attribute: Attribute, style: str | None) -> bool:
    """True if labels of an attribute list its values, and nobody insists on all of them."""
    return style == "set" or (style is None and attribute.order == "nominal")


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
    rare = np.bincount(attribute.codes, times, len(domain)) < limit
    first = int(domain[0] is None)  # that a value is missing is none of them
    n_rare = int(np.count_nonzero(rare[first:]))
    if not n_rare:
        return attribute
    if merging and not attribute.ancestors and 2 * n_rare <= len(rare) - first:
        return merged(attribute, rare)
    ways = 'a coarser column, or publish with form = "bucketized"'
    if attribute.ancestors:
        ways = 'labels by its hierarchy: leave out labels = "set"'
    elif attribute.order == "ordered":
        ways = 'ranges: leave out labels = "set"'
    elif merging:
        ways = "a hierarchy, its type, or make it one of the identifiers"
    looks = doubts(attribute.name, domain)
    error = _too_rare(attribute, rare[first:], f"{limit} {noun}", "labels would list them", ways)
    raise SchemaError(f"{error}{'' if looks is None else f'. It {looks}'}")


def _too_rare(
    attribute: Attribute, rare: NDArray[np.bool_], limit_text: str, what: str, ways: str
) -> SchemaError:
    """The error where values that few people have would be seen."""
    exact = f'labels = {{ {json.dumps(attribute.name)} = "exact" }}'
    return SchemaError(
        f"column {attribute.name!r}: {np.count_nonzero(rare):,} of its {len(rare):,} values are "
        f"had by fewer than {limit_text} each, and {what}; give it {ways}; or say {exact} in "
        "[publish] to show them all"
    )


def ends_at_values(attribute: Attribute, style: str | None) -> bool:
    """True if its ranges begin and end at values of members, and nobody insists on that."""
    if attribute.cells is not None or attribute.order != "ordered":
        return False
    return style == "range" or (style is None and not attribute.ancestors)


def refuse_rare_ends(
    attribute: Attribute, limit: int, times: IntArray | None = None, noun: str = "people"
) -> None:
    """Raise `SchemaError` where ranges would end at values of which most are those of few people.

    No grid hides them: texts in an order, or numbers of which some are not finite.

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
    first = int(domain[0] is None)
    rare = np.bincount(attribute.codes, times, len(domain))[first:] < limit
    endless = any(isinstance(value, float) and not np.isfinite(value) for value in domain[first:])
    if not rare.any() or (2 * np.count_nonzero(rare) <= len(rare) and not endless):
        return
    ways = "coarser values first, or a hierarchy with levels"
    if endless:
        ways = "finite numbers in place of inf, or say that these are missing"
    elif attribute.ancestors:
        ways = 'labels by its hierarchy: leave out labels = "range"'
    raise _too_rare(attribute, rare, f"{limit} {noun}", "ranges would end at them", ways)


def merged(attribute: Attribute, rare: NDArray[np.bool_]) -> Attribute:
    """An attribute with some values as its last one, `other`; a missing value stays.

    `rare` says for each value of the domain whether it is merged.
    """
    domain = attribute.domain
    kept_codes = np.flatnonzero(~rare | np.array([value is None for value in domain]))
    new_code = np.full(len(domain), len(kept_codes), dtype=np.int64)
    new_code[kept_codes] = np.arange(len(kept_codes))
    label, used_labels = OTHER, set(map(text_of, domain))
    while label in used_labels:
        label += "+"
    positions = np.arange(len(kept_codes) + 1, dtype=np.float64)
    values = replace(attribute, ancestors=(new_code, np.zeros_like(new_code)))
    return replace(
        attribute,
        codes=new_code.astype(narrowest(len(kept_codes) + 1))[attribute.codes],
        domain=[*(domain[code] for code in kept_codes.tolist()), label],
        order="nominal",
        positions=positions,
        cells=GridCells(None, values, (), positions),
    )
