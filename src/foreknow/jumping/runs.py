"""Runs: what an algorithm did with a table, and what those who know the algorithm can tell."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from foreknow.errors import InputError
from foreknow.jumping.blocks import Layout
from foreknow.jumping.dealing import Budget
from foreknow.jumping.exact import Counted, Exact, Part
from foreknow.jumping.functions import Function, Person, Value
from foreknow.jumping.strategy import Strategy

Step: TypeAlias = tuple[int, Literal["permutation", "disclosure"], bool]


@dataclass(frozen=True)
class DisclosureSet:
    """The tables that those who know release and algorithm must consider, all equally likely.

    Attributes
    ----------
    size : int
        Number of tables.
    permutation_size : int
        Number of tables that agree with the release, whatever the algorithm.
    marginals : dict
        For each person the probability of each value that is possible. Empty where the set is.
    """

    size: int
    permutation_size: int
    marginals: Mapping[Person, Mapping[Value, Fraction]] = field(repr=False)

    @property
    def max_ratio(self) -> Fraction:
        """The highest probability of any person and value; 0 for an empty set."""
        return max((max(row.values()) for row in self.marginals.values()), default=Fraction(0))

    @property
    def worst(self) -> tuple[Person, Value] | None:
        """A person and value of the highest probability."""
        most = self.max_ratio
        for person, row in self.marginals.items():
            for value, share in row.items():
                if share == most:
                    return person, value
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON; fractions as text."""
        return {
            "size": self.size,
            "permutation size": self.permutation_size,
            "max ratio": str(self.max_ratio),
            "marginals": {
                str(person): {str(value): str(share) for value, share in row.items()}
                for person, row in self.marginals.items()
            },
        }

    def __repr__(self) -> str:
        return (
            f"<DisclosureSet: {self.size:,} of {self.permutation_size:,} tables, "
            f"highest ratio {self.max_ratio}>"
        )


@dataclass(frozen=True)
class Run:
    """What an algorithm did with one table.

    Attributes
    ----------
    released : int or None
        The function whose generalization was released, from 0; None if nothing was.
    path : list of (int, "permutation" or "disclosure", bool)
        What was judged, and whether it has the property (Definition 2, with verdicts).
    """

    released: int | None
    path: list[Step]
    _case: Case = field(repr=False, compare=False)

    def disclosure_set(self, i: int | None = None) -> DisclosureSet:
        """The tables that agree with function i's generalization and get to it.

        Parameters
        ----------
        i : int, optional
            From 0; the released function by default.

        Notes
        -----
        ``ds_i`` of Definition 3, as computed in Table 13 with its misprint mended: tables that
        are released earlier are out, and so are those that jump past i. It may lack the table
        itself, where that did not get to i.
        """
        if i is None:
            if self.released is None:
                raise InputError("nothing was released; see nothing_set, or name a function")
            i = self.released
        n = len(self._case.functions)
        if isinstance(i, bool) or not isinstance(i, (int, np.integer)) or not 0 <= i < n:
            raise InputError(f"the functions are 0 to {n - 1}, not {i!r}")
        return self._case.disclosure_set(int(i))

    def nothing_set(self) -> DisclosureSet:
        """All tables with the same values for which nothing is released.

        What the adversary is left with when nothing is released, if they know which values the
        table has, and how often. Theorem 1 says that this is always safe; it is only where no
        more than the domain of the values is known. Look at `DisclosureSet.max_ratio`.
        """
        return self._case.disclosure_set(len(self._case.functions))

    @property
    def report(self) -> str:
        """The run in a few lines of text."""
        lines = [
            f"{kind} set of g{i + 1} = {self._case.functions[i]}: {'safe' if safe else 'not safe'}"
            for i, kind, safe in self.path
        ]
        if self.released is None:
            lines.append("nothing is released")
        else:
            lines.append(f"g{self.released + 1} is released")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            "functions": [str(function) for function in self._case.functions],
            "property": repr(self._case.exact.strategy.property),
            "released": self.released,
            "path": [list(step) for step in self.path],
        }

    def __repr__(self) -> str:
        what = "nothing" if self.released is None else f"function {self.released}"
        return f"<Run: {what} released after {len(self.path)} verdicts>"


@dataclass(frozen=True)
class Case:
    """One table under one algorithm."""

    people: tuple[Person, ...]
    values: tuple[Value, ...]
    codes: tuple[int, ...]
    colours: tuple[int, ...]
    functions: tuple[Function, ...]
    exact: Exact

    def parts(self, i: int) -> list[Part]:
        """The table's generalization under function i."""
        return self.exact.parts(i, self.codes, self.colours)

    def permutation_safe(self, i: int) -> bool:
        """Whether the permutation set of function i has the property."""
        return self.exact.permutation_safe(self.parts(i))

    def disclosure_safe(self, i: int) -> bool:
        """Whether the disclosure set of function i has the property."""
        return self.exact.disclosure_safe(i, self.parts(i))

    def disclosure_set(self, i: int) -> DisclosureSet:
        """The disclosure set of function i with everybody's name."""
        self.exact.budget.used = 0
        counted = self.exact.count(i, self.parts(i))
        marginals: dict[int, Mapping[Value, Fraction]] = {}
        if counted.size:
            for place, part in enumerate(counted.parts):
                self._name(marginals, counted, place, part)
        ordered = {self.people[person]: marginals[person] for person in sorted(marginals)}
        return DisclosureSet(counted.size, counted.total, ordered)

    def _name(self, marginals: Any, counted: Counted, place: int, part: Any) -> None:
        """Add the marginals of a block's people."""
        level = part.block.level
        placed = self.exact.layout.level(level)[place]
        counts: dict[int, list[int]] = {}
        for group, people in enumerate(placed.groups):
            for person in people:
                row = counts.setdefault(self.codes[person], [0] * len(placed.groups))
                row[group] += 1
        tables = {column: t for (column, _), t in zip(part.classes, part.tables, strict=True)}
        for cell, people in enumerate(placed.cells):
            shares = {}
            for code in sorted(counts):
                times = tables[self.colours[code], tuple(counts[code])][cell]
                if times:
                    shares[self.values[code]] = Fraction(times, counted.size)
            for person in people:
                marginals[person] = shares


def case_of(
    functions: Sequence[Function],
    strategy: Strategy,
    table: Any,
    steps: int,
    *,
    fresh: bool = False,
) -> Case:
    """Read a table: a mapping from person to value, or values in order.

    What was found for other tables of the same people is used again, unless `fresh`: that saves
    time, and changes no result, but may bring more within reach.
    """
    people, given = read_table(table)
    codes_of: dict[Value, int] = {}
    codes = tuple(codes_of.setdefault(value, len(codes_of)) for value in given)
    named = [strategy.property.colour(value) for value in codes_of]
    palette = tuple(dict.fromkeys(named))
    colours = tuple(palette.index(colour) for colour in named)
    try:
        make = _exact if fresh else _shared
        exact = make(tuple(functions), strategy, people, palette, steps)
    except TypeError:  # a property that cannot be hashed
        exact = _exact(tuple(functions), strategy, people, palette, steps)
    exact.budget.used = 0
    return Case(people, tuple(codes_of), codes, colours, tuple(functions), exact)


def _exact(
    functions: tuple[Function, ...],
    strategy: Strategy,
    people: tuple[Person, ...],
    palette: tuple[Hashable, ...],
    steps: int,
) -> Exact:
    partitions = [function.codes(people) for function in functions]
    # Behind the last function: everybody in one group, for tables of which nothing is released.
    partitions.append((0,) * len(people))
    return Exact(Layout(partitions), strategy, palette, Budget(steps))


_shared = lru_cache(maxsize=4)(_exact)


def read_table(table: Any) -> tuple[tuple[Person, ...], tuple[Value, ...]]:
    """People and values of a table; people without names are numbered from 0."""
    if isinstance(table, Mapping):
        people, values = tuple(table), tuple(table.values())
    elif isinstance(table, str) or not isinstance(table, (Sequence, np.ndarray)):
        raise InputError("a table is a dict of each person's value, or a list of values")
    else:
        values = tuple(table.tolist() if isinstance(table, np.ndarray) else table)
        people = tuple(range(len(values)))
    if not people:
        raise InputError("the table has no people")
    for person, value in zip(people, values, strict=True):
        if value is None or value != value or not isinstance(value, Hashable):
            raise InputError(f"{person!r} has no value that can be counted: {value!r}")
    return people, values
