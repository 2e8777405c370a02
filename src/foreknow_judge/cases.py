"""Cases: how sure somebody may become of a person who may have several cases.

Whatever is known, the probability that a person has a value in some case is at most the sum of the
probabilities of their cases. So the figure is the highest sum over one person's cases, an upper
bound; of people with one case each it is that of the case.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from foreknow_judge.counting import GroupBags, Ints, distinct
from foreknow_judge.facts import (
    Cell,
    Ratio,
    Theorem2,
    least_of,
    numbers_of_cells,
    odds_by_implications,
    times,
)
from foreknow_judge.impossible import (
    ImpossibleCounts,
    numbers_of_group,
    odds_with_rules,
)
from foreknow_judge.knowledge import Question, possible_holders

# How sure somebody may become of each cell that is asked about, by the kind of knowledge.
Cells: TypeAlias = tuple[Ints, list[Fraction]]
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
    place = np.full(len(held.counts), -1)  # of each cell among those that are asked about
    place[cells] = np.arange(len(cells))
    several = np.bincount(persons.codes, persons.counts, len(persons.names))[persons.codes] > 1
    order = np.flatnonzero(several)
    order = order[np.argsort(persons.codes[order], kind="stable")]
    person, group, many = (of[order] for of in (persons.codes, persons.of_group, persons.counts))
    top = 0.0
    # The sums that may be the highest: cells and how many cases of the person each counts for.
    near: dict[tuple[tuple[int, int], ...], str] = {}
    for low, high in _blocks(person, held.n_values[group]):
        row, cell = _pairs(held, group[low:high])
        kept = place[cell] >= 0
        row, cell = row[kept] + low, cell[kept]
        if not len(row):
            continue
        first, sum_of = distinct(person[row], held.codes[cell])
        sums = np.bincount(sum_of, many[row] * chance[cell])
        if sums.max() > top * (1 + _CLOSE):
            near.clear()
        top = max(top, float(sums.max()))
        members = sums[sum_of] >= top * (1 - _CLOSE)
        summands: dict[int, list[tuple[int, int]]] = {}
        for number, at, cases in zip(
            sum_of[members].tolist(),
            place[cell[members]].tolist(),
            many[row[members]].tolist(),
            strict=True,
        ):
            summands.setdefault(number, []).append((at, cases))
        for number, pairs in summands.items():
            name = held.names[int(held.codes[cell[first[number]]])]
            near.setdefault(tuple(sorted(pairs)), name)
    totals = (
        (-sum((chances[at] * cases for at, cases in pairs), Fraction(0)), name)
        for pairs, name in near.items()
    )
    best, value = min(totals, default=(Fraction(0), None))
    return value, min(-best, Fraction(1))


def _pairs(held: GroupBags, group: Ints) -> tuple[Ints, Ints]:
    """Each row's place with each cell of its group."""
    sizes = held.n_values[group]
    row = np.repeat(np.arange(len(group)), sizes)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return row, held.starts[:-1][group[row]] + offset


def _blocks(person: Ints, sizes: Ints) -> list[tuple[int, int]]:
    """Where to cut rows in order of persons, so that each person is in one block."""
    if not len(person):
        return []
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    before = np.concatenate([[0], np.cumsum(sizes)])[starts]
    cuts = starts[np.flatnonzero(np.diff(before // _AT_ONCE, prepend=-1))].tolist()
    return list(zip(cuts, [*cuts[1:], len(person)], strict=True))


def chances_by_facts(
    held: GroupBags, about: Collection[str], l: int, k: int, m: int
) -> tuple[Ints, list[Fraction]]:
    """The cells that are asked about, and for each the probability if its people are targets."""
    asked, columns = numbers_of_cells(held, about, "single", l)
    first, kind = distinct(*columns)
    value, *rows = (column[first].tolist() for column in columns)
    cells = [Cell.of(row) for row in zip(*rows, strict=True)]
    law, chances = Theorem2.of("single", k, m), list[Fraction]()
    for _, some in groupby(zip(value, cells, strict=True), itemgetter(0)):
        chances += [1 / (1 + Fraction(*odds)) for odds in _odds(law, [cell for _, cell in some])]
    return asked, [chances[one] for one in kind.tolist()]


def _odds(law: Theorem2, cells: Sequence[Cell]) -> list[Ratio]:
    """For the cells of one value, the lowest odds against a target in each."""
    helped, free = (least_of(law.family(cell, known) for cell in cells) for known in (law.k, 0))
    odds = []
    for cell in cells:
        alone, known = law.against(cell, 0), law.against(cell, law.k)
        together = times(known, law.family(cell, law.k + 1))
        odds.append(least_of([times(alone, helped), times(known, free), together]))
    return odds


def chances_with_rules(
    held: GroupBags, about: Collection[str], able: ImpossibleCounts, l: int, k: int, m: int
) -> tuple[Ints, list[Fraction]]:
    """The same if some people cannot have some values, for people who can have the cell's."""
    wanted = np.array([name in about for name in held.names], bool)
    law = Theorem2.by(odds_with_rules, k, m)
    profiles: dict[int, list[tuple[int, Cell]]] = {}
    for group in range(len(held)):
        people = able.people[group]
        for value, row in numbers_of_group(held.cells(group), people, able.rules_of, wanted, l):
            own = held.codes[held.starts[group] : held.starts[group + 1]]
            at = int(held.starts[group] + np.searchsorted(own, value))
            profiles.setdefault(value, []).append((at, Cell.of(row)))
    least: dict[int, Ratio] = {}
    for some in profiles.values():
        for (at, _), odds in zip(some, _odds(law, [cell for _, cell in some]), strict=True):
            least[at] = least_of([odds, least.get(at, odds)])
    cells = np.array(sorted(least), np.int64)
    return cells, [1 / (1 + Fraction(*least[at])) for at in cells.tolist()]


def cells_of(asked: Question, kind: str, settings: Any) -> Cells:
    """How sure somebody may become of each cell that is asked about."""
    held, about, able = asked.held, asked.about, possible_holders(asked)
    if kind == "implications":
        cells, ratios, which = odds_by_implications(held, about, settings.k)
        return cells, [1 / (1 + Fraction(*ratios[one])) for one in which.tolist()]
    if kind == "negations":
        l, k, m = settings.k, 0, 0
    else:
        l, k, m = settings.l, settings.k, settings.m
    if able is None:
        return chances_by_facts(held, about, l, k, m)
    splits = [(l, k, m)]
    if kind == "negations":
        splits = [(own, l - own, 0) for own in range(min(l, len(held.names)) + 1)]
    each = [chances_with_rules(held, about, able, *amounts) for amounts in splits]
    return each[0][0], [max(own) for own in zip(*(chances for _, chances in each), strict=True)]


# The kinds of knowledge that are judged of people with several cases.
KINDS = ("facts", "implications", "negations")
