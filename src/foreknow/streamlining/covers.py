"""Cover and l-cover (definitions 4 and 5): what the paper takes to be enough for an SGSS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from foreknow.streamlining.candidates import Candidates
from foreknow.streamlining.colours import Id, Partition, colours, require_partition


def are_covers(bijection: Mapping[Id, Id], partitions: Iterable[Partition]) -> bool:
    """Whether a bijection makes two sets covers for each other (definition 4).

    Exchanging everybody of one set with their image in the other must take each group of each
    partition to a group of one of the partitions.
    """
    if set(bijection) & set(bijection.values()):
        return False
    image = {**bijection, **{b: a for a, b in bijection.items()}}
    groups = {group for partition in partitions for group in partition}
    return all(frozenset(image.get(person, person) for person in g) in groups for g in groups)


def is_l_cover(partitions: Iterable[Partition], candidates: Candidates) -> bool:
    """Whether a set of partitions has the l-cover property, by the given bijections (definition 5).

    The paper says that this makes the set an SGSS. **It does not.** The set of two partitions
    below has 2-cover, yet a release by the first of them tells that identifier 2 has value a with
    probability 3/5 (errata, section 4). It does hold where the minimal self-contained partition is
    in the set, or where the set has one member.

    Raises
    ------
    InputError
        If a partition does not group everybody in the table.

    Examples
    --------
    >>> from foreknow.streamlining import is_family_set, partition, worst_posterior
    >>> table = dict(zip("123456", "abacbc"))
    >>> swap = {"1": "2", "2": "1", "3": "4", "4": "3", "5": "6", "6": "5"}
    >>> maps = {v: [{p: swap[p] for p in table if table[p] == v}] for v in "abc"}
    >>> candidates = Candidates(table, maps)
    >>> both = {partition("1 2 3 4", "5 6"), partition("3 4", "1 2 5 6")}
    >>> is_family_set(both, candidates), is_l_cover(both, candidates)
    (True, True)
    >>> print(worst_posterior(both, table, "1/2", partition("1 2 3 4", "5 6")))
    3/5
    """
    known = list(partitions)
    for one in known:
        require_partition(one, candidates.table)
    for value, colour in colours(candidates.table).items():
        maps = candidates.maps[value]
        images = [frozenset(mapping.values()) for mapping in maps]
        if any(one & other for one, other in combinations(images, 2)):
            return False
        for person in colour:
            if len({candidates.table[mapping[person]] for mapping in maps}) < len(maps):
                return False
        for mapping, image in zip(maps, images, strict=True):
            if not are_covers(mapping, known):
                return False
            if any(len(g & colour) != len(g & image) for partition in known for g in partition):
                return False
    return True
