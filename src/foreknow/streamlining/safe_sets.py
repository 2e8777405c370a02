"""LSS, GSS and SGSS by enumeration: what is known once a set of partitions is known to be safe.

A partition is safe for a table if no value has more than a share `most` of any group. Whoever knows
that some partitions are safe for the true table, and how often each value occurs, can rule out all
tables for which one of them is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

from foreknow.errors import InputError
from foreknow.streamlining.colours import Group, Id, Partition, Table, require_partition
from foreknow.streamlining.contained import partitions_of

Share: TypeAlias = Fraction | str | int | float | Decimal


def locally_safe(table: Table, most: Share) -> set[Partition]:
    """The locally safe set: all partitions that are safe for a table (section 2.1).

    Parameters
    ----------
    table : mapping of identifier to value
    most : number or text
        From 0 to 1, as in ``"2/3"``.

    Raises
    ------
    InputError
        If `most` is no such share.
    """
    share = _share(most)
    everything = (
        frozenset(frozenset(block) for block in blocks) for blocks in partitions_of(list(table))
    )
    return {partition for partition in everything if _is_safe(partition, table, share)}


def disclosure_set(
    partitions: Iterable[Partition],
    table: Table,
    most: Share,
    released: Partition | None = None,
) -> list[dict[Id, Hashable]]:
    """The tables that are possible for who knows that some partitions are safe.

    Parameters
    ----------
    partitions : iterable of partitions
    table : mapping of identifier to value
        The true table; only its identifiers, how often each value occurs, and the groups of the
        release are used.
    most : number or text
    released : partition, optional
        Known, too: the bag of each of its groups.

    Raises
    ------
    InputError
        If a partition does not group everybody in the table, or `most` is no share.

    Examples
    --------
    >>> table = dict(enumerate("aabb"))
    >>> len(disclosure_set([], table, "1/2"))
    6
    >>> len(disclosure_set([frozenset({frozenset({0, 2}), frozenset({1, 3})})], table, "1/2"))
    4
    """
    known, share = _checked(partitions, table), _share(most)
    if released is not None:
        _checked([released], table)
    return _worlds(known, table, share, released)


def _worlds(
    known: list[Partition], table: Table, share: Fraction, released: Partition | None
) -> list[dict[Id, Hashable]]:
    groups = [frozenset(table)] if released is None else list(released)
    return [
        world
        for world in _deals(groups, table)
        if all(_is_safe(partition, world, share) for partition in known)
    ]


def worst_posterior(
    partitions: Iterable[Partition],
    table: Table,
    most: Share,
    released: Partition | None = None,
) -> Fraction:
    """The highest share of possible tables in which some identifier has some value.

    Parameters
    ----------
    partitions, table, most, released
        As in `disclosure_set`.

    Raises
    ------
    InputError
        If no table is possible: then the partitions are not safe for the true one.
    """
    known, share = _checked(partitions, table), _share(most)
    if released is not None:
        _checked([released], table)
    return _worst(known, table, share, released)


def _worst(
    known: list[Partition], table: Table, share: Fraction, released: Partition | None
) -> Fraction:
    worlds = _worlds(known, table, share, released)
    held = Counter(pair for world in worlds for pair in world.items())
    if not held:
        raise InputError(
            f"no table is possible: in none has every value at most {share} of each group of all "
            "the given partitions; give partitions that are safe for the true table"
        )
    return Fraction(max(held.values()), len(worlds))


def is_globally_safe(partitions: Iterable[Partition], table: Table, most: Share) -> bool:
    """Whether a set of partitions is a GSS: knowing it makes nobody's value too likely.

    Raises
    ------
    InputError
        If a partition does not group everybody in the table, or `most` is no share.
    """
    return _is_safe_set(_checked(partitions, table), table, _share(most), strong=False)


def is_strongly_globally_safe(partitions: Iterable[Partition], table: Table, most: Share) -> bool:
    """Whether a set is an SGSS: nor does knowing it and a release by any of its partitions.

    That does not cover an adversary who knows how the set was computed (errata, section 4).

    Raises
    ------
    InputError
        If a partition does not group everybody in the table, or `most` is no share.
    """
    return _is_safe_set(_checked(partitions, table), table, _share(most), strong=True)


def _is_safe_set(known: list[Partition], table: Table, share: Fraction, *, strong: bool) -> bool:
    return (
        all(_is_safe(partition, table, share) for partition in known)
        and _worst(known, table, share, None) <= share
        and (not strong or all(_worst(known, table, share, one) <= share for one in known))
    )


def largest_safe_sets(table: Table, most: Share, *, strong: bool) -> list[set[Partition]]:
    """The largest GSS (or, if `strong`, SGSS) of a table; several where they are equally large.

    Examples
    --------
    Example 2 names {P1, P3} and {P2, P3}; all three together are an SGSS, too.

    >>> found = largest_safe_sets(dict(enumerate("aabb")), "1/2", strong=True)
    >>> [len(partitions) for partitions in found]
    [3]
    """
    everything = sorted(locally_safe(table, most), key=_in_words)
    share = _share(most)
    for size in range(len(everything), 0, -1):
        found = [
            set(some)
            for some in combinations(everything, size)
            if _is_safe_set(list(some), table, share, strong=strong)
        ]
        if found:
            return found
    return []


def _share(most: Share) -> Fraction:
    try:
        share = Fraction(most)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise InputError(f"most must be a share from 0 to 1, such as '1/2', not {most!r}")
    return share


def _checked(partitions: Iterable[Partition], table: Table) -> list[Partition]:
    """Each partition once; all of them must group everybody."""
    known = list(dict.fromkeys(partitions))
    for partition in known:
        require_partition(partition, table)
    return known


def _is_safe(partition: Partition, table: Table, most: Fraction) -> bool:
    return all(
        max(Counter(table[person] for person in group).values()) <= most * len(group)
        for group in partition
    )


def _deals(groups: list[Group], table: Table) -> Iterator[dict[Id, Hashable]]:
    """All ways to deal the bag of each group to its members."""
    if not groups:
        yield {}
        return
    people = sorted(groups[0], key=str)
    for values in _orders(Counter(table[person] for person in people)):
        for rest in _deals(groups[1:], table):
            yield dict(zip(people, values, strict=True)) | rest


def _orders(bag: Counter[Hashable]) -> Iterator[tuple[Hashable, ...]]:
    """All different orders of a bag."""
    if not bag:
        yield ()
        return
    for value in bag:
        for rest in _orders(bag - Counter([value])):
            yield (value, *rest)


def _in_words(partition: Partition) -> list[list[str]]:
    return sorted(sorted(map(str, group)) for group in partition)
