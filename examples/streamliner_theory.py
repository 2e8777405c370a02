"""The definitions of "Privacy Streamliner", by brute force on small tables.

A table maps each identifier to its value. A partition is safe for a table if no value has more
than a share `most` of any of its groups. An adversary who knows that some partitions are safe for
the true table, and how often each value occurs, can rule out every table for which one of them
is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias, TypeVar

T = TypeVar("T")
Id: TypeAlias = Hashable
Group: TypeAlias = frozenset[Id]
Partition: TypeAlias = frozenset[Group]
Table: TypeAlias = Mapping[Id, Hashable]
Share: TypeAlias = Fraction | str
# For each value, l - 1 mappings from all who have it to others (definition 1).
Bijections: TypeAlias = Mapping[Hashable, Sequence[Mapping[Id, Id]]]


def partition(*groups: Iterable[Id]) -> Partition:
    """A partition from its groups; a text is split at its spaces.

    >>> sorted(map(sorted, partition("Ann Bob", "Coy")))
    [['Ann', 'Bob'], ['Coy']]
    """
    return frozenset(frozenset(g.split() if isinstance(g, str) else g) for g in groups)


def partitions_of(items: list[T]) -> Iterator[list[list[T]]]:
    """All ways to divide some things into groups."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for blocks in partitions_of(rest):
        yield [[first], *blocks]
        for i, block in enumerate(blocks):
            yield [*blocks[:i], [first, *block], *blocks[i + 1 :]]


# ---- safe sets (section 2) ----------------------------------------------------------------------


def is_safe(one: Partition, table: Table, most: Share) -> bool:
    """Whether no value has more than a share of any group."""
    return all(
        max(Counter(table[person] for person in group).values()) <= Fraction(most) * len(group)
        for group in one
    )


def locally_safe(table: Table, most: Share) -> set[Partition]:
    """The locally safe set (LSS): all partitions that are safe for a table."""
    found = {partition(*blocks) for blocks in partitions_of(list(table))}
    return {one for one in found if is_safe(one, table, most)}


def possible_tables(
    known: Iterable[Partition], table: Table, most: Share, released: Partition | None = None
) -> list[dict[Id, Hashable]]:
    """The tables for which all known partitions are safe, with the bags of a release, if any.

    >>> table = dict(enumerate("aabb"))
    >>> len(possible_tables([], table, "1/2"))
    6
    >>> len(possible_tables([partition([0, 2], [1, 3])], table, "1/2"))
    4
    """
    partitions = list(known)
    groups = [frozenset(table)] if released is None else list(released)
    return [
        world
        for world in _worlds(groups, table)
        if all(is_safe(one, world, most) for one in partitions)
    ]


def worst_posterior(
    known: Iterable[Partition], table: Table, most: Share, released: Partition | None = None
) -> Fraction:
    """The highest share of the possible tables in which some identifier has some value."""
    worlds = possible_tables(known, table, most, released)
    held = Counter(pair for world in worlds for pair in world.items())
    return Fraction(max(held.values()), len(worlds))


def is_safe_set(known: Iterable[Partition], table: Table, most: Share, *, strong: bool) -> bool:
    """Whether knowing a set makes nobody's value too likely (GSS).

    If `strong`, nor does knowing it and a release by any of its partitions (SGSS). That does not
    cover an adversary who knows how the set was computed.
    """
    every, share = set(known), Fraction(most)
    return (
        all(is_safe(one, table, share) for one in every)
        and worst_posterior(every, table, share) <= share
        and not (strong and any(worst_posterior(every, table, share, g) > share for g in every))
    )


def largest_safe_sets(table: Table, most: Share, *, strong: bool) -> list[set[Partition]]:
    """The largest GSS (if `strong`, SGSS) of a table; several where they are equally large.

    Example 2 names {P1, P3} and {P2, P3}; all three together are an SGSS, too.

    >>> found = largest_safe_sets(dict(enumerate("aabb")), "1/2", strong=True)
    >>> [len(partitions) for partitions in found]
    [3]
    """
    every = list(locally_safe(table, most))
    for size in range(len(every), 0, -1):
        found = [
            set(some)
            for some in combinations(every, size)
            if is_safe_set(some, table, most, strong=strong)
        ]
        if found:
            return found
    return []


# ---- candidates, self-contained partitions, covers (definitions 1 to 5) -------------------------


def colours(table: Table) -> dict[Hashable, Group]:
    """The identifiers of each value."""
    return {v: frozenset(p for p, w in table.items() if w == v) for v in table.values()}


def are_candidates(sets: Sequence[Group], table: Table) -> bool:
    """Whether some sets meet the conditions of theorem 2; for two sets, definition 1 (lemma 4)."""
    held = Counter(table[person] for group in sets[1:] for person in group)
    both = Counter(table[person] for group in sets for person in group)
    return (
        len({len(group) for group in sets}) == 1
        and not any(one & other for one, other in combinations(sets, 2))
        and max((both if len(sets) == 2 else held).values()) <= len(sets[0])
    )


def minimal_partition(table: Table, bijections: Bijections) -> Partition:
    """The finest partition that separates nobody from their images (definitions 2 and 3)."""
    group_of: dict[Id, Group] = {person: frozenset([person]) for person in table}
    for one, other in (pair for maps in bijections.values() for m in maps for pair in m.items()):
        merged = group_of[one] | group_of[other]
        group_of |= dict.fromkeys(merged, merged)
    return frozenset(group_of.values())


def family(table: Table, bijections: Bijections) -> set[Partition]:
    """All self-contained partitions: the unions of groups of the minimal one (lemma 2)."""
    finest = sorted(minimal_partition(table, bijections), key=lambda g: sorted(map(str, g)))
    return {partition(*(frozenset().union(*b) for b in blocks)) for blocks in partitions_of(finest)}


def are_covers(bijection: Mapping[Id, Id], known: Iterable[Partition]) -> bool:
    """Whether exchanging a set with its image keeps every group a group (definition 4)."""
    if set(bijection) & set(bijection.values()):
        return False
    image = {**bijection, **{b: a for a, b in bijection.items()}}
    groups = {group for one in known for group in one}
    return all(frozenset(image.get(person, person) for person in g) in groups for g in groups)


def is_l_cover(known: Iterable[Partition], table: Table, bijections: Bijections) -> bool:
    """Whether a set of partitions has l-cover (definition 5).

    The paper says that this makes the set an SGSS. **It does not**: the set below has 2-cover, yet
    a release by its first partition says that 2 has value a with probability 3/5. It does hold
    where the minimal self-contained partition is in the set, or where the set has one member.

    >>> table = dict(zip("123456", "abacbc"))
    >>> swap = dict(zip("123456", "214365"))
    >>> maps = {v: [{p: swap[p] for p in table if table[p] == v}] for v in "abc"}
    >>> both = {partition("1 2 3 4", "5 6"), partition("3 4", "1 2 5 6")}
    >>> is_l_cover(both, table, maps)
    True
    >>> print(worst_posterior(both, table, "1/2", partition("1 2 3 4", "5 6")))
    3/5
    """
    partitions = list(known)
    for value, colour in colours(table).items():
        maps = bijections[value]
        images = [frozenset(mapping.values()) for mapping in maps]
        if any(one & other for one, other in combinations(images, 2)):
            return False
        for person in colour:
            if len({table[person], *(table[m[person]] for m in maps)}) <= len(maps):
                return False
        for mapping, image in zip(maps, images, strict=True):
            if not are_covers(mapping, partitions):
                return False
            if any(len(g & colour) != len(g & image) for one in partitions for g in one):
                return False
    return True


def _worlds(groups: list[Group], table: Table) -> Iterator[dict[Id, Hashable]]:
    """All ways to assign the bag of each group to its members."""
    if not groups:
        yield {}
        return
    people = sorted(groups[0], key=str)
    for values in _orders(Counter(table[person] for person in people)):
        for rest in _worlds(groups[1:], table):
            yield dict(zip(people, values, strict=True)) | rest


def _orders(bag: Counter[Hashable]) -> Iterator[tuple[Hashable, ...]]:
    if not bag:
        yield ()
    for value in bag:
        for rest in _orders(bag - Counter([value])):
            yield (value, *rest)
