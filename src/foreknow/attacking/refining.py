"""Refining: in which ways the groups of a method may hide behind labels that look alike."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.sparse import IntArray

# Ways for one release, and groups that are tried in order to find them.
_MOST_WAYS, _MOST_TRIED = 5_000, 50_000
# A group that a reader sees, as the groups that it may consist of.
Parts: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Refinements:
    """The groups that a method may have made, where a reader sees those of one label as one.

    Attributes
    ----------
    groups : int64 array, shape (people,)
        As a reader sees them.
    ways : list
        For each group the ways to divide it into groups that all bear its label; None where
        there are too many.
    """

    groups: IntArray
    ways: list[list[Parts] | None]

    @classmethod
    def of(
        cls,
        groups: IntArray,
        left_out: int | None,
        labels: Sequence[Hashable],
        label: Callable[[tuple[int, ...]], Hashable],
        least: int,
    ) -> Refinements:
        """Divide groups.

        Parameters
        ----------
        groups : int64 array, shape (people,)
        left_out : int, optional
            The group of people who are left out, which is no group.
        labels : sequence
            Of the other groups.
        label : callable
            The label of some people as a group.
        least : int
            People of the smallest groups.
        """
        sizes = np.bincount(groups)
        members = np.split(np.argsort(groups, kind="stable"), np.cumsum(sizes)[:-1])
        divided = _Divided(label, least)
        shown = [group for group in range(len(sizes)) if group != left_out]
        whole = dict(zip(shown, labels, strict=True))
        found: list[list[Parts] | None] = [None] * len(sizes)
        for group in np.argsort(sizes, kind="stable").tolist():
            people = tuple(members[group].tolist())
            alone = group == left_out or len(people) < 2 * least
            found[group] = [(people,)] if alone else divided.ways(people, whole[group])
        return cls(groups, found)

    @cached_property
    def one(self) -> NDArray[np.bool_]:
        """Which groups can be one group only."""
        return np.array([ways is not None and len(ways) == 1 for ways in self.ways])

    @cached_property
    def number(self) -> int | None:
        """How many ways there are in all; None for too many."""
        if any(ways is None for ways in self.ways):
            return None
        number = prod(len(ways) for ways in self.ways if ways is not None and len(ways) > 1)
        return number if number <= _MOST_WAYS else None

    def each(self, left_out: int | None) -> Iterator[IntArray]:
        """Everybody's group in each way; -1 for people who are left out."""
        for chosen in product(*(ways or [] for ways in self.ways)):
            made = np.full(len(self.groups), -1, dtype=np.int64)
            number = 0
            for group, parts in enumerate(chosen):
                for part in parts if group != left_out else ():
                    made[list(part)] = number
                    number += 1
            yield made


class _Divided:
    """The ways to divide groups, while there are not too many, and not too much was tried."""

    def __init__(self, label: Callable[[tuple[int, ...]], Hashable], least: int) -> None:
        self._label, self._least, self._tried = label, least, 0

    def ways(self, people: tuple[int, ...], whole: Hashable) -> list[Parts] | None:
        found = []
        try:
            for way in self._each(people, whole):
                found.append(way)
                if len(found) > _MOST_WAYS:
                    return None
        except OverflowError:
            return None
        return found

    def _each(self, people: tuple[int, ...], whole: Hashable) -> Iterator[Parts]:
        """Every way; the first of the people are in the first part."""
        if not people:
            yield ()
            return
        first, others = people[0], people[1:]
        for size in range(self._least, len(people) + 1):
            if 0 < len(people) - size < self._least:
                continue
            for more in combinations(others, size - 1):
                self._tried += 1
                if self._tried > _MOST_TRIED:
                    raise OverflowError
                part = (first, *more)
                if self._label(part) == whole:
                    rest = tuple(person for person in others if person not in more)
                    for parts in self._each(rest, whole):
                        yield (part, *parts)
