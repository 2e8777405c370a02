"""Runs: what an algorithm did with a table, and what those who know the algorithm can tell."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from html import escape
from typing import Any, Literal, TypeAlias

import numpy as np

from foreknow.data.labels import is_label, is_missing
from foreknow.errors import InputError
from foreknow.methods.jump.block_counts import BeyondReach, Budget, Counted, Part
from foreknow.methods.jump.blocks import Layout
from foreknow.methods.jump.exact import Exact
from foreknow.methods.jump.functions import Function, Person, Value
from foreknow.methods.jump.strategy import Strategy
from foreknow.methods.jump.worlds import World, deals, how_many_deals, what_strikes, worlds_html


def checked_place(i: Any, n: int) -> int:
    """The place of one of n functions, from 0."""
    if isinstance(i, bool) or not isinstance(i, (int, np.integer)) or not 0 <= i < n:
        raise InputError(f"the functions are 0 to {n - 1}, not {i!r}")
    return int(i)


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
        if is_missing(value) or not is_label(value):
            raise InputError(f"{person!r} has no value that can be counted: {value!r}")
    return people, values


Step: TypeAlias = tuple[int, Literal["permutation", "disclosure"], bool]
# How many tables a notebook shows, and `Run.worlds` lists where nothing else is asked for.
_SHOWN, _LISTED = 64, 1000


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
    _walk: Callable[[Case], tuple[int | None, list[Step]]] = field(repr=False, compare=False)

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
        return self._case.disclosure_set(checked_place(i, len(self._case.functions)))

    def nothing_set(self) -> DisclosureSet:
        """All tables with the same values for which nothing is released.

        What the adversary is left with when nothing is released, if they know which values the
        table has, and how often. Theorem 1 says that this is always safe; it is only where no
        more than the domain of the values is known, and the property treats all values alike.
        Look at `DisclosureSet.worst` and `DisclosureSet.max_ratio`.
        """
        return self._case.disclosure_set(len(self._case.functions))

    def worlds(self, i: int | None = None, most: int = _LISTED) -> list[World]:
        """The tables that agree with a release, one by one, and why each is struck out.

        Parameters
        ----------
        i : int, optional
            The function whose generalization is seen, from 0. By default the released one; where
            nothing was released, that is what is seen, and all tables with the same values agree.
        most : int
            Refuse to list more.

        Returns
        -------
        list of World
            Those that are not struck out are the disclosure set.

        Raises
        ------
        InputError
            If there are more.
        BeyondReach
            If it cannot be counted what would be released of one of them.

        Examples
        --------
        >>> from foreknow.methods.jump import Naive
        >>> run = Naive(["AB|CD", "ABCD"]).run(dict(zip("ABCD", "flu flu cold gout".split())))
        >>> for world in run.worlds():
        ...     print(world)
        A flu, B flu, C cold, D gout
        A flu, B flu, C gout, D cold
        A flu, B cold, C flu, D gout -- g1 is released
        A flu, B cold, C gout, D flu -- g1 is released
        A flu, B gout, C flu, D cold -- g1 is released
        A flu, B gout, C cold, D flu -- g1 is released
        A cold, B flu, C flu, D gout -- g1 is released
        A cold, B flu, C gout, D flu -- g1 is released
        A cold, B gout, C flu, D flu
        A gout, B flu, C flu, D cold -- g1 is released
        A gout, B flu, C cold, D flu -- g1 is released
        A gout, B cold, C flu, D flu
        """
        case, n = self._case, len(self._case.functions)
        seen = n if self.released is None else self.released
        i = seen if i is None else checked_place(i, n)
        groups = case.functions[i].codes(case.people) if i < n else (0,) * len(case.people)
        size = how_many_deals(case.codes, groups)
        if size > most:
            raise InputError(f"{size:,} tables agree; most={size} lists them all")
        found = []
        for codes in deals(case.codes, groups):
            values = dict(zip(case.people, (case.values[code] for code in codes), strict=True))
            case.exact.budget.used = 0
            found.append(World(values, what_strikes(i, n, *self._walk(replace(case, codes=codes)))))
        return found

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

    def _repr_html_(self) -> str:
        steps = "".join(f"<li>{escape(line)}</li>" for line in self.report.split("\n"))
        return f"<ul>{steps}</ul><p>{escape(self._told())}</p>{self._worlds_html()}"

    def _told(self) -> str:
        """What those can tell who know the algorithm, in a sentence."""
        seen, who = "nothing is released", "whoever learns that"
        try:
            if self.released is None:
                found = self.nothing_set()
            else:
                found = self.disclosure_set()
                seen = f"g{self.released + 1} is seen"
        except BeyondReach as error:
            return f"What can be told from this was not counted: {error}."
        person, value = found.worst or ("", "")
        return (
            f"{found.permutation_size:,} tables agree where {seen}; {who}, and knows the algorithm "
            f"and how often each value occurs, is left with {found.size:,}: {person} has {value} "
            f"with probability {found.max_ratio}."
        )

    def _worlds_html(self) -> str:
        try:
            return worlds_html(self.worlds(most=_SHOWN))
        except (InputError, BeyondReach):  # too many to be shown
            return ""

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


class _Counting(Budget):
    """A budget that knows all steps that were ever taken, for whichever table."""

    def __init__(self, steps: int) -> None:
        super().__init__(steps)
        self.ever = 0

    def spend(self, steps: int) -> None:
        """Take some steps."""
        self.ever += steps
        super().spend(steps)


def walked(
    functions: Sequence[Function],
    strategy: Strategy,
    table: Any,
    steps: int,
    walk: Callable[[Case], tuple[int | None, list[Step]]],
) -> tuple[Case, int | None, list[Step]]:
    """Run an algorithm on a table, with a result that depends on no other table.

    What was found for other tables may bring this one within reach. Whether it is within reach is
    told by the release, too, so it has to be what whoever runs the method on this table alone
    finds. It is, where all steps that were ever taken are as many as one table may take; otherwise
    everything is forgotten first.
    """
    case = case_of(functions, strategy, table, steps)
    before = _ever(case)
    if 0 < before <= steps:
        with suppress(BeyondReach):
            found = walk(case)
            if _ever(case) <= steps:
                return case, *found
    if before:
        _shared.cache_clear()
        case = case_of(functions, strategy, table, steps)
    return case, *walk(case)


def _ever(case: Case) -> int:
    budget = case.exact.budget
    return budget.ever if isinstance(budget, _Counting) else 0


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
    time, and changes no result, but may bring more within reach: see `walked`.
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
    return Exact(Layout(partitions), strategy, palette, _Counting(steps))


_shared = lru_cache(maxsize=4)(_exact)
