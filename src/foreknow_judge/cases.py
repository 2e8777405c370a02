"""Cases: how sure somebody may become of a person who may have several cases.

Whatever is known, the probability that a person has a value in some case is at most the sum of the
probabilities of their cases. So the figure is the highest sum over one person's cases, an upper
bound; of people with one case each it is that of the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from foreknow_judge.counting import GroupBags, Ints, distinct

# Sums of floats closer than this (relatively) are compared as fractions.
_CLOSE = 1e-8
# How many pairs of a person and a value are added up at a time.
_AT_ONCE = 1 << 22


def worst_sum(
    held: GroupBags, persons: GroupBags, cells: Ints, chances: Sequence[Fraction]
) -> tuple[str | None, Fraction]:
    """The value and the highest sum over the cases of one person, 1 at most.

    `persons` has the same groups as `held`: the number of cases of each person in each group.
    `cells` are those of `held` that are asked about, and `chances` how sure somebody may become
    that a case of the cell's group has the cell's value.
    """
    chance = np.zeros(len(held.counts))
    chance[cells] = [float(own) for own in chances]
    asked = np.zeros(len(held.counts), bool)
    asked[cells] = True
    of_cell = np.full(len(held.counts), -1)
    of_cell[cells] = np.arange(len(cells))
    several = np.bincount(persons.codes, persons.counts, len(persons.names))[persons.codes] > 1
    order = np.flatnonzero(several)
    order = order[np.argsort(persons.codes[order], kind="stable")]
    person, group, many = (of[order] for of in (persons.codes, persons.of_group, persons.counts))
    # Persons with the same number of cases in the same groups are alike.
    best = Fraction(0)
    value: str | None = None
    top = 0.0
    near: dict[tuple[tuple[int, int], ...], str] = {}
    for low, high in _blocks(person, held.n_values[group]):
        own = np.repeat(np.arange(low, high), held.n_values[group[low:high]])
        first = np.repeat(np.cumsum(held.n_values[group[low:high]]), held.n_values[group[low:high]])
        cell = held.starts[:-1][group[own]] + (
            np.arange(len(own)) - (first - held.n_values[group[own]])
        )
        kept = asked[cell]
        own, cell = own[kept], cell[kept]
        if not len(own):
            continue
        pair, of = distinct(person[own], held.codes[cell])
        sums = np.bincount(of, many[own] * chance[cell])
        if sums.max() < top * (1 - _CLOSE):
            continue
        if sums.max() > top * (1 + _CLOSE):
            near.clear()
        top = max(top, float(sums.max()))
        close = np.flatnonzero(sums >= top * (1 - _CLOSE))
        members = np.isin(of, close)
        parts: dict[int, list[tuple[int, int]]] = {}
        for kind, at, times in zip(
            of[members].tolist(),
            of_cell[cell[members]].tolist(),
            many[own[members]].tolist(),
            strict=True,
        ):
            parts.setdefault(kind, []).append((at, times))
        for kind, pairs in parts.items():
            name = held.names[int(held.codes[cell[pair[kind]]])]
            near.setdefault(tuple(sorted(pairs)), name)
    for cases, name in near.items():
        total = sum((chances[at] * times for at, times in cases), Fraction(0))
        if total > best or (total == best and value is not None and name < value):
            best, value = total, name
    return value, min(best, Fraction(1))


def _blocks(person: Ints, sizes: Ints) -> list[tuple[int, int]]:
    """Where to cut rows in order of persons, so that each person is in one block."""
    if not len(person):
        return []
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    before = np.concatenate([[0], np.cumsum(sizes)])[starts]
    cuts = starts[np.flatnonzero(np.diff(before // _AT_ONCE, prepend=-1))].tolist()
    return list(zip(cuts, [*cuts[1:], len(person)], strict=True))
