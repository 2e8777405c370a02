"""Sight: what earlier functions see of a table, as far as their verdicts depend on it.

For each lower level: None where its permutation set is not safe, True where it is and no more
matters, or else the values of each of its blocks: the shape's number and sorted columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from foreknow.jumping.blocks import Below
from foreknow.jumping.strategy import Need

# (colour, how often in each group)
Column: TypeAlias = tuple[int, tuple[int, ...]]
Seen: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class Rules:
    """What decides about permutation sets, and what is needed of each lower level.

    Attributes
    ----------
    limit : callable
        From (size of a group, colour) to how often a value may occur there.
    allows : callable
        From (values of a group as (colour, count), its size) to whether it has the property.
    complete : bool
        Whether limits decide alone.
    needs : tuple of Need
        Of each lower level.
    """

    limit: Callable[[int, int], int]
    allows: Callable[[Sequence[tuple[int, int]], int], bool]
    complete: bool
    needs: tuple[Need, ...]

    @property
    def keep_all(self) -> bool:
        """Whether tables matter though no permutation set of theirs is safe."""
        return Need.ALWAYS in self.needs

    @property
    def light(self) -> bool:
        """Whether what is seen is never more than one bit for each level."""
        return not {Need.GATED, Need.ALWAYS} & set(self.needs) and (
            self.complete or Need.PERMUTATION not in self.needs
        )

    def needing(self, needs: tuple[Need, ...]) -> Rules:
        """The same rules with other needs."""
        return Rules(self.limit, self.allows, self.complete, needs)

    def first(self, levels: int) -> Rules:
        """The same rules for the lowest levels."""
        return self.needing(self.needs[:levels])


class Sight:
    """What some lower levels see of values that are dealt one after another.

    Parameters
    ----------
    levels : sequence of tuples of Below
        The blocks of each level.
    needs : sequence of Need
        Of each of these levels.
    rules : Rules
    """

    def __init__(
        self, levels: Sequence[tuple[Below, ...]], needs: Sequence[Need], rules: Rules
    ) -> None:
        self._levels = list(zip(levels, needs, strict=True))
        self._rules = rules
        self._limits: dict[tuple[int, int], int] = {}

    def start(self) -> Seen:
        """What is seen of no values at all."""
        return tuple(self._start(blocks, need) for blocks, need in self._levels)

    def of(self, colour: int, cells: Sequence[int]) -> Seen:
        """What is seen of one value that occurs so often in each cell."""
        return tuple(self._of(blocks, need, colour, cells) for blocks, need in self._levels)

    def after(self, seen: Seen, more: Seen) -> Seen:
        """What is seen after one more value."""
        return tuple(
            None
            if old is None or new is None
            else True
            if old is True
            else tuple(
                have if one is None else tuple(sorted((*have, one)))
                for have, one in zip(old, new, strict=True)
            )
            for old, new in zip(seen, more, strict=True)
        )

    def done(self, seen: Seen) -> Seen:
        """What is seen of all values, with verdicts on permutation sets."""
        return tuple(
            self._done(blocks, need, one)
            for (blocks, need), one in zip(self._levels, seen, strict=True)
        )

    def _start(self, blocks: tuple[Below, ...], need: Need) -> Any:
        if need is Need.NOTHING:
            return None
        if need is not Need.PERMUTATION:
            return tuple(() for _ in blocks)
        sizes = [size for below in blocks for size in below.block.group_sizes]
        if self._rules.complete:
            return True if all(self._limit(size, 0) >= 0 for size in sizes) else None
        return tuple(() for _ in sizes)

    def _of(self, blocks: tuple[Below, ...], need: Need, colour: int, cells: Sequence[int]) -> Any:
        if need is Need.NOTHING:
            return None
        found: list[Any] = []
        for below in blocks:
            sums = [0] * len(below.block.group_sizes)
            for group, n in zip(below.group_of, cells, strict=True):
                if n and group >= 0:
                    sums[group] += n
            if need is not Need.ALWAYS and any(
                n > self._limit(size, colour)
                for n, size in zip(sums, below.block.group_sizes, strict=True)
            ):
                return None
            if need is Need.PERMUTATION:
                found += [(colour, n) if n else None for n in sums]
            else:
                found.append((colour, tuple(sums)) if any(sums) else None)
        return True if need is Need.PERMUTATION and self._rules.complete else tuple(found)

    def _done(self, blocks: tuple[Below, ...], need: Need, seen: Any) -> Any:
        if seen is None or seen is True:
            return seen
        allows = self._rules.allows
        if need is Need.PERMUTATION:
            sizes = [size for below in blocks for size in below.block.group_sizes]
            return True if all(map(allows, seen, sizes)) else None
        if need is Need.GATED and not self._rules.complete:
            for below, columns in zip(blocks, seen, strict=True):
                for g, size in enumerate(below.block.group_sizes):
                    if not allows([(c, row[g]) for c, row in columns if row[g]], size):
                        return None
        return tuple(
            sorted((below.block.number, cols) for below, cols in zip(blocks, seen, strict=True))
        )

    def _limit(self, size: int, colour: int) -> int:
        key = (size, colour)
        if key not in self._limits:
            self._limits[key] = self._rules.limit(size, colour)
        return self._limits[key]


def lost(seen: Seen) -> bool:
    """Whether no level has a safe permutation set."""
    return all(one is None for one in seen)


def together(one: Seen, other: Seen) -> Seen | None:
    """What is seen of two sets of blocks; None if no permutation set is safe any more."""
    both = tuple(
        None if a is None or b is None else True if a is True else tuple(sorted((*a, *b)))
        for a, b in zip(one, other, strict=True)
    )
    return None if lost(both) else both


def nobody(needs: Sequence[Need]) -> Seen:
    """What is seen of no blocks."""
    none: dict[Need, Any] = {Need.PERMUTATION: True, Need.NOTHING: None}
    return tuple(none.get(need, ()) for need in needs)
