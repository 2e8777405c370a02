"""Runs of an algorithm on a table, and the tables that remain for somebody who knows it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

from foreknow.data.labels.labels import is_label, is_missing
from foreknow.errors import BeyondReach
from foreknow.features.more_methods.jump.blocks import BlockTree
from foreknow.features.more_methods.jump.disclosure_set import (
    Budget,
    Column,
    Exact,
    Part,
    Strategy,
    rows_of,
)
from foreknow.features.more_methods.jump.functions import Function, Person, Value
from foreknow_judge.errors import InputError

Step: TypeAlias = tuple[int, Literal["permutation", "disclosure"], bool]


@dataclass(frozen=True)
class DisclosureSet:
    """The equally likely tables that remain for an adversary who knows release and algorithm.

    Attributes
    ----------
    size : int
        The number of tables.
    permutation_size : int
        The number of tables that agree with the release, whatever the algorithm.
    marginals : dict
        For each person the probability of each possible value. Empty if the set is empty.
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
        """A person and value with the highest probability; None for an empty set."""
        # The first of those with the highest probability.
        highest = self.max_ratio
        for person, row in self.marginals.items():
            for value, share in row.items():
                if share == highest:
                    return person, value
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON; fractions as text."""
        marginals: dict[str, dict[str, str]] = {}
        for person, row in self.marginals.items():
            marginals[str(person)] = {str(value): str(share) for value, share in row.items()}
        return {
            "size": self.size,
            "permutation size": self.permutation_size,
            "max ratio": str(self.max_ratio),
            "marginals": marginals,
        }

    def __repr__(self) -> str:
        return (
            f"<DisclosureSet: {self.size:,} of {self.permutation_size:,} tables, "
            f"highest ratio {self.max_ratio}>"
        )


@dataclass(frozen=True)
class Run:
    """The run of an algorithm on one table.

    Attributes
    ----------
    released : int or None
        The position, from 0, of the function whose generalization was released; None if nothing
        was released.
    path : list of (int, "permutation" or "disclosure", bool)
        The sets that were judged, in order: the function, the kind of set, and whether the set has
        the property (Definition 2, with verdicts).
    """

    released: int | None
    path: list[Step]
    _case: TableRun = field(repr=False, compare=False)

    def disclosure_set(self, i: int | None = None) -> DisclosureSet:
        """The tables that agree with function i's generalization and reach function i.

        Parameters
        ----------
        i : int, optional
            The position of the function, from 0; default: the released function.

        Notes
        -----
        This is ``ds_i`` of Definition 3, computed as in Table 13 with its misprint corrected. It
        leaves out tables that are released earlier or that jump past i, and so it lacks the table
        itself if that did not reach i.
        """
        # The default: the function that was released.
        if i is None:
            if self.released is None:
                raise InputError("nothing was released; see nothing_set, or name a function")
            i = self.released
        return self._case.disclosure_set(checked_place(i, len(self._case.functions)))

    def nothing_set(self) -> DisclosureSet:
        """All tables with the same values for which nothing is released.

        An adversary who knows the values of the table and their frequencies considers these tables
        when nothing is released. Theorem 1 says that this is always safe, but it is so only if the
        adversary knows no more than the domain of the values, and the property treats all values
        alike. `DisclosureSet.worst` and `DisclosureSet.max_ratio` show the disclosure.
        """
        return self._case.disclosure_set(len(self._case.functions))

    @property
    def report(self) -> str:
        """The run in a few lines of text."""
        lines = []
        for i, kind, is_safe in self.path:
            verdict = "safe" if is_safe else "not safe"
            lines.append(f"{kind} set of g{i + 1} = {self._case.functions[i]}: {verdict}")
        end = "nothing" if self.released is None else f"g{self.released + 1}"
        return "\n".join([*lines, f"{end} is released"])

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            "functions": list(map(str, self._case.functions)),
            "property": repr(self._case.exact.strategy.property),
            "released": self.released,
            "path": list(map(list, self.path)),
        }

    def __repr__(self) -> str:
        outcome = "nothing" if self.released is None else f"function {self.released}"
        return f"<Run: {outcome} released after {len(self.path)} verdicts>"


# ---- one table under one algorithm ---------------------------------------------------------------


@dataclass(frozen=True)
class TableRun:
    """One table under one algorithm: `codes` are values by place, `colours` those of each value."""

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
        """True if the permutation set of function i has the property."""
        return self.exact.permutation_safe(self.parts(i))

    def disclosure_safe(self, i: int) -> bool:
        """True if the disclosure set of function i has the property."""
        try:
            return self.exact.disclosure_safe(i, self.parts(i))
        except BeyondReach as error:
            raise BeyondReach(
                f"what g{i + 1} = {self.functions[i].short} discloses, of {len(self.functions)} "
                f"functions: {error}"
            ) from None

    def walk(self) -> tuple[int | None, list[Step]]:
        """Run the algorithm: the index of the released function, and the sets that were judged.

        The index is None if nothing is released. A judged set is a tuple (function, "permutation"
        or "disclosure", whether it is safe). Naive asks for a safe permutation set, Safe for a safe
        disclosure set, and Jump for both: if only the second fails, it jumps some functions ahead.
        """
        strategy, path, i = self.exact.strategy, list[Step](), 0
        while i < len(self.functions):
            is_safe, next_function = True, i + 1
            if strategy.kind != "safe":
                is_safe = self.permutation_safe(i)
                path.append((i, "permutation", is_safe))
            elif strategy.property.convex:  # then no subset of an unsafe set is safe (Lemma 3)
                is_safe = self.permutation_safe(i)
            if strategy.kind == "safe":
                is_safe = is_safe and self.disclosure_safe(i)
                path.append((i, "disclosure", is_safe))
            elif strategy.kind == "jump" and is_safe:
                is_safe, next_function = self.disclosure_safe(i), strategy.after(i)
                path.append((i, "disclosure", is_safe))
            if is_safe:
                return i, path
            i = next_function
        return None, path

    def disclosure_set(self, i: int) -> DisclosureSet:
        """The disclosure set of function i: its size, and shares of tables by person and value.

        The function after the last one stands for releasing nothing.
        """
        self.exact.budget.used = 0
        counts = self.exact.count(i, self.parts(i))
        marginals: dict[int, Mapping[Value, Fraction]] = {}
        for placed, part in zip(self.exact.layout.level(i), counts.parts, strict=True):
            # For each value of the block, in how many tables a person of each cell has it.
            tables: dict[Value, tuple[int, ...]] = {}
            for code, row in sorted(rows_of(placed.groups, self.codes).items()):
                tables[self.values[code]] = part.tables[Column(self.colours[code], row)]
            # All people of a cell have the same shares. An empty set gives nobody any.
            for cell, people in enumerate(placed.cells if counts.size else ()):
                shares: dict[Value, Fraction] = {}
                for value, numbers in tables.items():
                    if numbers[cell]:
                        shares[value] = Fraction(numbers[cell], counts.size)
                marginals.update(dict.fromkeys(people, shares))
        ordered = {self.people[person]: marginals[person] for person in sorted(marginals)}
        return DisclosureSet(counts.size, counts.total, ordered)


def checked_place(i: Any, n: int) -> int:
    """The place of one of n functions, from 0."""
    if isinstance(i, bool) or not isinstance(i, (int, np.integer)) or not 0 <= i < n:
        raise InputError(f"the functions are 0 to {n - 1}, not {i!r}")
    return int(i)


def _read_table(table: Any) -> tuple[tuple[Person, ...], tuple[Value, ...]]:
    """The people and the values of a table; people without names are numbered from 0."""
    if isinstance(table, Mapping):
        people, values = tuple(table), tuple(table.values())
    elif isinstance(table, str) or not isinstance(table, (Sequence, np.ndarray)):
        raise InputError("a table is a dict of each person's value, or a list of values")
    else:
        values = tuple(table.tolist() if isinstance(table, np.ndarray) else table)
        people = tuple(range(len(values)))
    if not people:
        raise InputError("the table has no people")
    # Values are counted by equality, so a missing value or one without identity is refused.
    for person, value in zip(people, values, strict=True):
        if is_missing(value) or not is_label(value):
            raise InputError(f"{person!r} has no value that can be counted: {value!r}")
    return people, values


def case_of(functions: Sequence[Function], strategy: Strategy, table: Any, steps: int) -> TableRun:
    """The algorithm on one table, ready to run; exact counts for the same people are shared."""
    people, person_values = _read_table(table)
    # Values become codes from 0, and their classes (colours) numbers in the palette.
    codes_of: dict[Value, int] = {}
    codes = tuple([codes_of.setdefault(value, len(codes_of)) for value in person_values])
    colour_of_value = list(map(strategy.property.colour, codes_of))
    palette = tuple(dict.fromkeys(colour_of_value))
    colours = tuple(map(palette.index, colour_of_value))
    key = tuple(functions), strategy, people, palette, steps
    try:
        exact = _shared(*key)
    except TypeError:  # a property that cannot be hashed
        exact = _exact(*key)
    exact.budget.used = 0
    return TableRun(people, tuple(codes_of), codes, colours, tuple(functions), exact)


def walked(functions: Sequence[Function], strategy: Strategy, table: Any, steps: int) -> Run:
    """Run an algorithm on a table, with a result that depends on no other table.

    Verdicts for earlier tables are kept, and may bring this table within reach of the steps. But a
    release says that its table is within reach, so that must be so for this table alone. It is, if
    all steps that were ever taken are no more than one table may take; otherwise all verdicts are
    forgotten first.
    """
    table_run = case_of(functions, strategy, table, steps)
    steps_before = table_run.exact.budget.ever
    if 0 < steps_before <= steps:
        # Even out of reach means nothing here: without the other tables it may differ.
        with suppress(BeyondReach):
            outcome = table_run.walk()
            if table_run.exact.budget.ever <= steps:
                return Run(*outcome, table_run)
    if steps_before:
        _shared.cache_clear()
        table_run = case_of(functions, strategy, table, steps)
    return Run(*table_run.walk(), table_run)


def _exact(
    functions: tuple[Function, ...],
    strategy: Strategy,
    people: tuple[Person, ...],
    palette: tuple[Hashable, ...],
    steps: int,
) -> Exact:
    """The exact counts of an algorithm on these people, with a last function of one group."""
    partitions = [function.codes(people) for function in functions]
    # Behind the last function: everybody in one group, for tables of which nothing is released.
    partitions.append((0,) * len(people))
    return Exact(BlockTree(partitions), strategy, palette, Budget(steps))


_shared = lru_cache(maxsize=4)(_exact)
