"""Self-contained partitions: those that separate nobody from whom they are mapped to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from foreknow.streamlining.candidates import Candidates
from foreknow.streamlining.colours import Id, Partition, require_partition

T = TypeVar("T")


def is_self_contained(partition: Partition, candidates: Candidates) -> bool:
    """Whether no bijection leads from one group to another (definition 2).

    Raises
    ------
    InputError
        If the groups are not those of everybody in the table.

    Examples
    --------
    Example 4: P1 is self-contained, P2 is not.

    >>> table = {"id1": "s1", "id2": "s1", "id3": "s2", "id4": "s2"}
    >>> maps = {"s1": [{"id1": "id3", "id2": "id4"}], "s2": [{"id3": "id1", "id4": "id2"}]}
    >>> candidates = Candidates(table, maps)
    >>> p1 = frozenset({frozenset({"id1", "id3"}), frozenset({"id2", "id4"})})
    >>> p2 = frozenset({frozenset({"id1", "id4"}), frozenset({"id2", "id3"})})
    >>> is_self_contained(p1, candidates), is_self_contained(p2, candidates)
    (True, False)
    >>> minimal_partition(candidates) == p1
    True
    """
    require_partition(partition, candidates.table)
    group_of = {person: group for group in partition for person in group}
    return all(group_of[one] == group_of[other] for one, other in candidates.pairs())


def is_family_set(partitions: Iterable[Partition], candidates: Candidates) -> bool:
    """Whether each of some partitions is self-contained (definition 2)."""
    return all(is_self_contained(partition, candidates) for partition in partitions)


def minimal_partition(candidates: Candidates) -> Partition:
    """The finest self-contained partition (definition 3; table 9)."""
    group_of: dict[Id, frozenset[Id]] = {p: frozenset([p]) for p in candidates.table}
    for one, other in candidates.pairs():
        merged = group_of[one] | group_of[other]
        for person in merged:
            group_of[person] = merged
    return frozenset(group_of.values())


def family(candidates: Candidates) -> set[Partition]:
    """All self-contained partitions: the unions of groups of the minimal one (lemma 2)."""
    return {
        frozenset(frozenset().union(*block) for block in blocks)
        for blocks in partitions_of(sorted(minimal_partition(candidates), key=sorted_key))
    }


def sorted_key(group: frozenset[Id]) -> list[str]:
    """To list groups in a fixed order."""
    return sorted(map(str, group))


def partitions_of(items: list[T]) -> Iterable[list[list[T]]]:
    """All ways to divide some things into groups."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for blocks in partitions_of(rest):
        yield [[first], *blocks]
        for i, block in enumerate(blocks):
            yield [*blocks[:i], [first, *block], *blocks[i + 1 :]]
