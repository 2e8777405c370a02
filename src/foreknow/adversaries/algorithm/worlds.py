"""Worlds: every way to deal the bags of a release to its members, as few as soundness allows."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.data.engines.narwhals_table import table_of_texts
from foreknow.data.labels import Label
from foreknow.data.microdata import Attribute, Microdata
from foreknow.data.schema import Schema
from foreknow.data.sparse import IntArray, combine
from foreknow.errors import InputError, UnsupportedError

Codes: TypeAlias = NDArray[Any]

_MOST_DIGITS = 18
# Of one group; they are kept in memory.
_MOST_DEALINGS = 200_000
# Cells or values of a group; more have too many dealings in any case, and would recurse too deep.
_DEEPEST = 200


@dataclass(frozen=True, eq=False)
class Dealing:
    """One way to deal a group's bag out to its cells.

    Attributes
    ----------
    codes : int array, shape (members,)
        The value of each member, in the order of `Worlds.members`; within a cell ascending.
    ways : int
        How many ways to deal it out to people it stands for.
    """

    codes: Codes
    ways: int


@dataclass(frozen=True, eq=False)
class Worlds:
    """The worlds of a release: each group's bag, dealt out to its members.

    People of one group are in *cells*. People of one cell are interchangeable: a method that
    treats rows alike makes the same release whoever of them has which of their values. Where
    that is not known of a method, everybody is a cell of their own.

    Attributes
    ----------
    groups : int64 array, shape (people,)
        The group of everybody, from 0.
    codes : int array, shape (people,)
        Some world: the value of everybody, as a code.
    cell_of : int64 array, shape (people,)
    n_values : int
        Codes are below this.
    """

    groups: IntArray
    codes: Codes
    cell_of: IntArray
    n_values: int

    @classmethod
    def of(
        cls,
        groups: IntArray,
        codes: Codes,
        n_values: int,
        attributes: list[Attribute] | None = None,
    ) -> Worlds:
        """Find the cells: people of one group with equal attributes, or everybody by themselves."""
        if attributes is None:
            cell_of = np.arange(len(groups))
        else:
            columns = [groups, *(a.codes for a in attributes)]
            sizes = [int(groups.max()) + 1, *(len(a.domain) for a in attributes)]
            cell_of, _ = combine(columns, sizes)
        return cls(groups, codes, cell_of.astype(np.int64), n_values)

    @property
    def n_people(self) -> int:
        """People of the release."""
        return len(self.groups)

    @cached_property
    def n_groups(self) -> int:
        """Groups of the release."""
        return int(self.groups.max()) + 1

    @cached_property
    def n_cells(self) -> int:
        """Cells of all groups."""
        return int(self.cell_of.max()) + 1

    @cached_property
    def order(self) -> IntArray:
        """Everybody, in order of their groups and cells."""
        return np.lexsort((self.cell_of, self.groups))

    @cached_property
    def members(self) -> list[IntArray]:
        """The people of each group, cell after cell."""
        ends = np.cumsum(np.bincount(self.groups, minlength=self.n_groups))
        return np.split(self.order, ends[:-1])

    @cached_property
    def cell_sizes(self) -> IntArray:
        """How many people are in each cell."""
        return np.bincount(self.cell_of, minlength=self.n_cells)

    @cached_property
    def group_of_cell(self) -> IntArray:
        """The group of each cell."""
        found = np.empty(self.n_cells, dtype=np.int64)
        found[self.cell_of] = self.groups
        return found

    @cached_property
    def bags(self) -> IntArray:
        """How often each value is in each group, shape (groups, values)."""
        keys = self.groups * self.n_values + self.codes
        flat = np.bincount(keys, minlength=self.n_groups * self.n_values)
        return flat.reshape(self.n_groups, self.n_values)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Share of each value in each cell's group: what the release itself says of people."""
        sizes = self.bags.sum(axis=1, keepdims=True)
        shares: NDArray[np.float64] = (self.bags / sizes)[self.group_of_cell]
        return shares

    @cached_property
    def n_worlds(self) -> int:
        """How many worlds there are, people being told apart."""
        return math.prod(_ways(bag) for bag in self.bags.tolist())

    def tally(self, codes: Codes) -> IntArray:
        """How many people of each cell have each value in a world, shape (cells, values)."""
        flat = np.bincount(
            self.cell_of * self.n_values + codes, minlength=self.n_cells * self.n_values
        )
        return flat.reshape(self.n_cells, self.n_values)

    def standing_for(self, codes: Codes) -> Codes:
        """The world that stands for all that differ within cells only: values ascend there."""
        found = np.empty_like(codes)
        by_value = np.lexsort((codes, self.cell_of, self.groups))
        found[self.order] = codes[by_value]
        return found

    def dealings(self, group: int, most: int, until: float | None = None) -> list[Dealing] | None:
        """Every way to deal out one group's bag; None if there are too many, or no time."""
        most = min(most, _MOST_DEALINGS)
        people, bag = self.members[group], self.bags[group]
        present = np.flatnonzero(bag)
        _, sizes = np.unique(self.cell_of[people], return_counts=True)
        if len(present) == 1 or len(sizes) == 1:
            dealt = np.repeat(present, bag[present]).astype(self.codes.dtype)
            return [Dealing(dealt, _ways(bag[present].tolist()))]
        if max(len(present), len(sizes)) > _DEEPEST:
            return None
        found: list[Dealing] = []
        for codes, ways in _dealt(tuple(sizes.tolist()), tuple(bag[present].tolist())):
            late = until is not None and not len(found) % 1000 and time.monotonic() > until
            if len(found) >= most or late:
                return None
            found.append(Dealing(present[list(codes)].astype(self.codes.dtype), ways))
        return found

    def every(self, most: int, until: float | None = None) -> list[list[Dealing]] | None:
        """Dealings of each group; None if they make more than `most` worlds, or take too long."""
        each, left = [], most
        for group in range(self.n_groups):
            found = self.dealings(group, left, until)
            if found is None:
                return None
            each.append(found)
            left //= len(found)
        return each

    def at_random(self, random: np.random.Generator) -> Codes:
        """Deal every bag out at random: any world, as likely as any other."""
        found = np.empty_like(self.codes)
        found[self.order] = self.codes[np.lexsort((random.random(self.n_people), self.groups))]
        return found


def amount_text(many: int) -> str:
    """Write a number of worlds; a very large one by its power of ten.

    >>> amount_text(36), amount_text(10**30)
    ('36', 'about 10^30')
    """
    power = math.log10(many) if many else 0
    return str(many) if power < _MOST_DIGITS else f"about 10^{power:.0f}"


def _ways(bag: list[int]) -> int:
    """How many ways there are to deal a bag to people."""
    return math.factorial(sum(bag)) // math.prod(map(math.factorial, bag))


def _dealt(sizes: tuple[int, ...], bag: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Every way to deal a bag out to cells, and how many ways to deal to people it stands for."""
    if not sizes:
        yield (), 1
        return
    for taken in _taken(sizes[0], bag):
        own = tuple(code for code, many in enumerate(taken) for _ in range(many))
        rest = tuple(a - b for a, b in zip(bag, taken, strict=True))
        ways = _ways(list(taken))
        for others, more in _dealt(sizes[1:], rest):
            yield own + others, ways * more


def _taken(many: int, bag: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way to take so many values out of a bag."""
    if not bag:
        if not many:
            yield ()
        return
    for own in range(max(0, many - sum(bag[1:])), min(many, bag[0]) + 1):
        for rest in _taken(many - own, bag[1:]):
            yield own, *rest


@dataclass(frozen=True, eq=False)
class Register:
    """Everybody in a release, in some world.

    Attributes
    ----------
    microdata : Microdata
        Rows in order of groups; each group's values dealt out in some way.
    groups : int64 array, shape (people,)
    labels : sequence of labels
        Of the groups.
    values : sequence of labels
        The release's own, by their codes in `microdata`.
    """

    microdata: Microdata
    groups: IntArray
    labels: Sequence[Label]
    values: Sequence[Label]

    def signature(self, person: int) -> dict[str, Label]:
        """The quasi-identifiers of somebody."""
        own = self.microdata.attributes
        return {a.name: a.domain[int(a.codes[person])] for a in own}


def register_of(release: HasCounts, schema: Schema) -> Register:
    """Take the people out of a release that keeps their quasi-identifiers.

    Raises
    ------
    InputError
        If it does not keep them.
    UnsupportedError
        If people have several values.
    """
    counts = counts_of(release)
    if counts.semantics != "single":
        raise UnsupportedError(
            f"semantics {counts.semantics!r}: the adversary who knows the algorithm is worked out "
            "only where everybody has one sensitive value"
        )
    find = getattr(release, "signatures", None)
    if find is None:
        raise InputError(
            "Algorithm needs to know who is in which group: give a Release of a table that keeps "
            "everybody's quasi-identifiers, not counts"
        )
    signatures = find(schema.quasi_identifiers)
    groups = np.repeat(
        np.repeat(np.arange(counts.n_groups), np.diff(signatures.offsets)), signatures.people
    )
    of_person = np.repeat(signatures.codes, signatures.people).tolist()
    columns: dict[str, list[str | None]] = {
        name: [signatures.labels[code][i] for code in of_person]
        for i, name in enumerate(schema.quasi_identifiers)
    }
    names = {str(value): value for value in counts.values}
    if len(names) < len(counts.values):
        raise InputError("several sensitive values print alike; make their labels differ")
    dealt = np.repeat(counts.codes, counts.counts)  # rows of groups, as the people are
    columns[schema.sensitive] = [str(counts.values[code]) for code in dealt.tolist()]
    plain = replace(
        schema,
        identifiers=(),
        other=(),
        person=None,
        group=None,
        missing="error",
    )
    name = str(getattr(release, "name", "the release"))
    microdata = Microdata(table_of_texts(columns, name), plain)
    values = [names.get(str(value), value) for value in microdata.values]
    return Register(microdata, groups, counts.groups or range(counts.n_groups), values)
