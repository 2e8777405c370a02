"""l-candidates: sets of identifiers that can stand in for a colour, with their bijections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

from foreknow.errors import InputError
from foreknow.streamlining.colours import Group, Id, Table, colours


def bijections(one: Group, other: Group, table: Table) -> Iterator[dict[Id, Id]]:
    """All bijections that map every identifier to one of another colour (definition 1)."""
    if len(one) != len(other) or one & other:
        return
    first = sorted(one, key=str)
    for images in permutations(sorted(other, key=str)):
        if all(table[a] != table[b] for a, b in zip(first, images, strict=True)):
            yield dict(zip(first, images, strict=True))


def are_candidates(one: Group, other: Group, table: Table) -> bool:
    """Whether two sets of identifiers are candidates for each other (definition 1).

    By lemma 4 they are exactly if they are disjoint, equally large, and no colour has more members
    in both together than one of them has.

    >>> table = dict(enumerate("aabb"))
    >>> are_candidates(frozenset({0, 1}), frozenset({2, 3}), table)
    True
    >>> are_candidates(frozenset({0, 2}), frozenset({1, 3}), table)
    True
    >>> are_candidates(frozenset({0}), frozenset({1}), table)
    False
    """
    if one & other or len(one) != len(other):
        return False
    held = Counter(table[person] for person in one | other)
    return max(held.values(), default=0) <= len(one)


def meets_theorem_2(colour: Group, others: Sequence[Group], table: Table) -> bool:
    """Whether a colour and ``l - 1`` sets meet the conditions of theorem 2.

    Then there are bijections from the colour to all of them at once that map each of its members
    to ``l - 1`` others of all different colours (by edge colouring); definition 1 asks for each
    pair of sets alone, which would not be enough for that.
    """
    sets = [colour, *others]
    held = Counter(table[person] for others_ in others for person in others_)
    return (
        all(len(other) == len(colour) for other in others)
        and not any(one & other for one, other in combinations(sets, 2))
        and max(held.values(), default=0) <= len(colour)
    )


@dataclass(frozen=True)
class Candidates:
    """An l-candidate for each colour, given by its bijections (definition 1: Can^l).

    Attributes
    ----------
    table : mapping of identifier to value
    maps : mapping of value to a sequence of ``l - 1`` mappings
        From the identifiers of the value to others, none of them twice.

    Raises
    ------
    InputError
        If they are no bijections, or do not give candidates; the message names the value.

    Examples
    --------
    Example 4, first case:

    >>> table = {"id1": "s1", "id2": "s1", "id3": "s2", "id4": "s2"}
    >>> maps = {"s1": [{"id1": "id3", "id2": "id4"}], "s2": [{"id3": "id1", "id4": "id2"}]}
    >>> [sorted(group) for group in Candidates(table, maps).sets("s1")]
    [['id1', 'id2'], ['id3', 'id4']]
    """

    table: Table
    maps: Mapping[Hashable, Sequence[Mapping[Id, Id]]]

    def __post_init__(self) -> None:
        found = colours(self.table)
        if set(found) != set(self.maps):
            raise InputError("give bijections for each value of the table, and no other")
        for value, maps in self.maps.items():
            if any(set(mapping) != found[value] for mapping in maps):
                raise InputError(f"a bijection of {value!r} must map all who have it, and no other")
            for image in (image for mapping in maps for image in mapping.values()):
                if image not in self.table:
                    raise InputError(
                        f"a bijection of {value!r} maps to {image!r}, who is not in the table"
                    )
            sets = self.sets(value)
            if len({len(group) for group in sets}) > 1 or not all(
                are_candidates(one, other, self.table) for one, other in combinations(sets, 2)
            ):
                raise InputError(f"the sets of {value!r} are not candidates for each other")
            if any(self.table[a] == self.table[b] for mapping in maps for a, b in mapping.items()):
                raise InputError(f"a bijection of {value!r} maps somebody to their own colour")

    def sets(self, value: Hashable) -> list[Group]:
        """The l-candidate of a colour: itself, and the sets it is mapped to."""
        return [
            colours(self.table)[value],
            *(frozenset(mapping.values()) for mapping in self.maps[value]),
        ]

    def pairs(self) -> Iterator[tuple[Id, Id]]:
        """Everybody with each of their images, colour by colour."""
        for maps in self.maps.values():
            for mapping in maps:
                yield from mapping.items()
