"""Random count queries: which values of which columns each of them asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.microdata import Attribute, Microdata
from foreknow.errors import DataError, InputError, did_you_mean
from foreknow.numbers import whole_number

BoolArray: TypeAlias = NDArray[np.bool_]

# How many random numbers are drawn at once.
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries for how many people have one of some values of each of some columns.

    Attributes
    ----------
    attributes : list of Attribute
        The quasi-identifiers that some query asks about.
    asked : list of bool arrays, shape (domain, queries)
        Which values each query asks for; all of them where it does not ask about an attribute.
    values : bool array, shape (values, queries)
        The same for the sensitive attribute.
    """

    attributes: list[Attribute]
    asked: list[BoolArray]
    values: BoolArray

    def __len__(self) -> int:
        return int(self.values.shape[1])


def draw_queries(
    microdata: Microdata,
    *,
    queries: int = 1000,
    attributes: Sequence[str] | None = None,
    predicates: int | None = None,
    selectivity: float = 0.05,
    ranges: bool = True,
    seed: int | None = 0,
) -> Queries:
    """Draw queries as in the experiments on Anatomy.

    Each query asks about `predicates` quasi-identifiers, drawn at random, and about the sensitive
    attribute: for ``ceil(|domain| * selectivity ** (1 / (predicates + 1)))`` values of each. They
    are a random run of the domain where it has an order, else a random subset. The domain is
    what occurs in the table. A missing value is never asked for.

    Parameters
    ----------
    microdata : Microdata
    queries, attributes, predicates, selectivity, ranges, seed
        See `foreknow.query_error`.
    """
    known = {attribute.name: attribute for attribute in microdata.attributes}
    names = _names(attributes, list(known))
    n_predicates = len(names) if predicates is None else predicates
    whole_number(queries, "queries", 1)
    whole_number(n_predicates, "predicates", 1)
    if n_predicates > len(names):
        raise InputError(
            f"predicates = {n_predicates}, but there are only {len(names)} attributes to ask about"
        )
    if not _is_number(selectivity) or not 0 < selectivity <= 1:
        raise InputError(f"selectivity must be above 0 and at most 1, not {selectivity!r}")
    if seed is not None:
        whole_number(seed, "the seed", 0)
    random = np.random.default_rng(seed)
    share = selectivity ** (1 / (n_predicates + 1))
    # Which attributes each query asks about.
    order = np.argsort(random.random((queries, len(names))), axis=1)
    asking = np.zeros((len(names), queries), dtype=bool)
    asking[order[:, :n_predicates].T, np.arange(queries)] = True
    chosen = [known[name] for name in names]
    asked = []
    for attribute, asks in zip(chosen, asking, strict=True):
        first = int(attribute.domain[0] is None)
        size = len(attribute.domain) - first
        if not size:
            raise DataError(f"{attribute.name!r} is missing everywhere; there is nothing to ask")
        in_order = ranges and attribute.order == "ordered"
        drawn = (_runs if in_order else _subsets)(size, _width(size, share), queries, random)
        wanted = np.ones((len(attribute.domain), queries), dtype=bool)
        wanted[:first, asks] = False
        wanted[first:, asks] = drawn[:, asks]
        asked.append(wanted)
    n_values = len(microdata.values)
    values = _subsets(n_values, _width(n_values, share), queries, random)
    return Queries(chosen, asked, values)


def _names(attributes: Sequence[str] | None, known: list[str]) -> list[str]:
    if attributes is None:
        return known
    if isinstance(attributes, str) or not attributes:
        raise InputError("attributes must be a list of at least one quasi-identifier")
    names = list(attributes)
    for name in names:
        if name not in known:
            hint = did_you_mean(str(name), known)
            raise InputError(f"attributes: {name!r} is no quasi-identifier{hint}")
    if len(set(names)) < len(names):
        raise InputError("attributes: a quasi-identifier is named twice")
    return names


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _width(size: int, share: float) -> int:
    # A product such as 10 * 0.3 must not be rounded up for its last bit.
    return min(size, max(1, math.ceil(size * share - 1e-9)))


def _runs(size: int, width: int, queries: int, random: np.random.Generator) -> BoolArray:
    """A random run of `width` neighbours for each query."""
    start = random.integers(size - width + 1, size=queries)
    place = np.arange(size)[:, None]
    return (start <= place) & (place < start + width)


def _subsets(size: int, width: int, queries: int, random: np.random.Generator) -> BoolArray:
    """A random subset of `width` values for each query."""
    found = np.zeros((size, queries), dtype=bool)
    some = max(1, _BLOCK // size)
    for start in range(0, queries, some):
        these = np.arange(start, min(start + some, queries))
        drawn = np.argpartition(random.random((len(these), size)), width - 1, axis=1)[:, :width]
        found[drawn.T, these] = True
    return found
