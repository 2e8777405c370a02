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

from foreknow_judge.counts.group_bags import GroupBags, Ints, distinct
from foreknow_judge.knowledge.facts import (
    Profile,
    Ratio,
    Theorem2,
    chance_of,
    least_of,
    numbers_of_cells,
    odds_by_implications,
    times,
)
from foreknow_judge.knowledge.impossible_values import (
    ImpossibleCounts,
    numbers_of_group,
    odds_with_rules,
)
from foreknow_judge.knowledge.verifiers import Question, possible_holders

# The cells that are asked about, how sure somebody may become of some, and which that is of each.
Cells: TypeAlias = tuple[Ints, list[Fraction], Ints]
# Sums of floats closer than this (relatively) are compared as fractions.
_CLOSE = 1e-8
# How many pairs of a person and a value are added up at a time.
_AT_ONCE = 1 << 16


def worst_sum(
    groups: GroupBags, persons: GroupBags, cells: Ints, chances: Sequence[Fraction], which: Ints
) -> tuple[str | None, Fraction]:
    """The value that somebody may ascribe to a person most surely, and how surely; at most 1.

    A person with several cases has a value at most as surely as the sum of the chances that each
    of the cases has it. `persons` has the same groups as `groups`: the number of cases of each
    person in each group. `cells` are those of `groups` (values of a group) that are asked about,
    and ``chances[which]`` how sure somebody may become that a case of the group has the value.

    Sums are first made in floats, many persons at a time, first those of persons whose sum may be
    highest; those that may be the highest are then made of exact fractions.
    """
    chance = np.zeros(len(groups.counts))
    chance[cells] = np.array(chances, float)[which]
    # the position of each cell among those that are asked about
    position_asked = np.full(len(groups.counts), -1)
    position_asked[cells] = np.arange(len(cells))
    # No sum of a person is higher than this one, of the likeliest value in the group of each case.
    likeliest, codes = np.zeros(len(groups)), persons.codes
    np.maximum.at(likeliest, groups.of_group, chance)
    bound = np.bincount(codes, persons.counts * likeliest[persons.of_group])
    order = np.lexsort((codes, -bound[codes]))
    # The cells of persons with several cases; the others were judged before.
    order = order[np.bincount(codes, persons.counts)[codes[order]] > 1]
    person, group, n_cases = codes[order], persons.of_group[order], persons.counts[order]
    top = 0.0
    # The sums that may be the highest: cells and how many cases of the person each counts for.
    highest_sums: dict[tuple[tuple[int, int], ...], str] = {}
    for low, high in _blocks(person, groups.n_values[group]):
        if bound[person[low]] < top * (1 - _CLOSE):
            break
        # Each (person, group) beside each value of the group: its row here, and the value's cell.
        row, cell = _pairs(groups, group[low:high])
        is_asked = position_asked[cell] >= 0
        row, cell = row[is_asked] + low, cell[is_asked]
        if not len(row):
            continue
        # A sum for each person and value: over the groups that the person has cases in.
        first, sum_of = distinct(person[row], groups.codes[cell])
        sums = np.bincount(sum_of, n_cases[row] * chance[cell])
        if sums.max() > top * (1 + _CLOSE):  # all sums so far are surely lower
            highest_sums.clear()
        top = max(top, float(sums.max()))
        # The summands of all sums that are near the highest: (cell, cases) for each sum.
        members = sums[sum_of] >= top * (1 - _CLOSE)
        summands: dict[int, list[tuple[int, int]]] = {}
        for number, summand, cases in zip(
            sum_of[members].tolist(),
            position_asked[cell[members]].tolist(),
            n_cases[row[members]].tolist(),
            strict=True,
        ):
            summands.setdefault(number, []).append((summand, cases))
        # People with the same cases have the same sum: kept once, with the first value.
        for number, pairs in summands.items():
            name = groups.names[int(groups.codes[cell[first[number]]])]
            highest_sums.setdefault(tuple(sorted(pairs)), name)
    best, value = Fraction(0), None  # of equal sums, the first value by its text
    for pairs_of_sum, name in highest_sums.items():
        total = sum((chances[which[cell]] * cases for cell, cases in pairs_of_sum), Fraction(0))
        if total > best or (total == best and (value is None or name < value)):
            best, value = total, name
    return value, min(best, Fraction(1))


def _pairs(groups: GroupBags, group: Ints) -> tuple[Ints, Ints]:
    """Pairs of a row and a cell of its group, where `group` says the group of each row."""
    sizes = groups.n_values[group]
    row = np.repeat(np.arange(len(group)), sizes)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return row, groups.starts[:-1][group[row]] + offset


def _blocks(person: Ints, sizes: Ints) -> list[tuple[int, int]]:
    """Where to cut rows in order of persons, so that each person is in one block."""
    if not len(person):
        return []
    starts = np.flatnonzero(np.diff(person, prepend=-1))
    before = np.concatenate([[0], np.cumsum(sizes)])[starts]
    cuts = starts[np.flatnonzero(np.diff(before // _AT_ONCE, prepend=-1))].tolist()
    return list(zip(cuts, [*cuts[1:], len(person)], strict=True))


def chances_by_facts(groups: GroupBags, secrets: Collection[str], l: int, k: int, m: int) -> Cells:
    """The cells (values of groups) whose value is a secret, and how likely people have it.

    The adversary knows facts (l, k, m): l values that the target does not have, k other people, and
    m links to people. The chance of a cell is that of a target in its group.
    """
    asked_cells, columns = numbers_of_cells(groups, secrets, "single", l)
    # Cells of one value with equal numbers (their profile) have equal chances: computed once.
    first, profile_of_cell = distinct(*columns)
    value, *rows = (column[first].tolist() for column in columns)
    profiles = zip(*rows, strict=True)
    law, chances = Theorem2.of("single", k, m), list[Fraction]()
    for _, pairs in groupby(zip(value, profiles, strict=True), itemgetter(0)):
        profiles_of_value = [profile for _, profile in pairs]
        chances += map(chance_of, _odds(law, profiles_of_value))
    return asked_cells, chances, profile_of_cell


def _odds(law: Theorem2, profiles: Sequence[Profile]) -> list[Ratio]:
    """For each profile of one value, the lowest odds that a target does not have the value.

    A profile is the numbers of a group that decide the odds. The target is in a group of this
    profile. The lowest odds are the least of three products, which `Theorem2.least` explains.
    """
    if not law.m:  # V is 1
        return [least_of([law.against(row, law.k), law.against(row, 0)]) for row in profiles]
    known_elsewhere = law.least_none_linked(profiles, law.k)
    all_unknown = law.least_none_linked(profiles, 0)
    odds = []
    for profile in profiles:
        without_known, with_known = law.against(profile, 0), law.against(profile, law.k)
        options = [
            times(with_known, law.none_linked(profile, law.k + 1)),
            times(without_known, known_elsewhere),
            times(with_known, all_unknown),
        ]
        odds.append(least_of(options))
    return odds


def chances_with_rules(
    groups: GroupBags,
    secrets: Collection[str],
    possible_holders: ImpossibleCounts,
    l: int,
    k: int,
    m: int,
) -> tuple[Ints, list[Fraction]]:
    """The cells (values of groups) whose value is a secret, and how likely people have it.

    The same as `chances_by_facts` if some people cannot have some values: the chance of a cell is
    that of people who can have its value.
    """
    is_secret = np.array([name in secrets for name in groups.names], bool)
    law = Theorem2.of("single", k, m, odds_with_rules)
    profiles: dict[int, list[tuple[int, Profile]]] = {}  # of each value: cells with their numbers
    for group in range(len(groups)):
        people = possible_holders.people[group]
        for value, row in numbers_of_group(
            groups.cells(group), people, possible_holders.rules_of, is_secret, l
        ):
            codes = groups.codes[groups.starts[group] : groups.starts[group + 1]]
            cell = int(groups.starts[group] + np.searchsorted(codes, value))
            profiles.setdefault(value, []).append((cell, row))
    # A cell may have several profiles, if other values may be ruled out in several ways.
    lowest: dict[int, Ratio] = {}
    for profile_cells in profiles.values():
        for (cell, _), odds in zip(
            profile_cells, _odds(law, [cell for _, cell in profile_cells]), strict=True
        ):
            lowest[cell] = least_of([odds, lowest.get(cell, odds)])
    cells = np.array(sorted(lowest), np.int64)
    return cells, [chance_of(lowest[cell]) for cell in cells.tolist()]


def cells_of(question: Question, kind: str, settings: Any) -> Cells:
    """The cells (values of groups) that are asked about, and the highest chance of each.

    `kind` is what the adversary knows: facts, implications or negations; `settings` say how much.
    As facts these are `l` values of the target ruled out, `k` other people known, and `m` links.
    """
    groups, secrets = question.held, question.about
    able = possible_holders(question)  # None without rules on who cannot have a value
    if kind == "implications":
        cells, ratios, which = odds_by_implications(groups, secrets, settings.k)
        return cells, [*map(chance_of, ratios)], which
    if kind == "negations":  # k negations rule out k values of the target
        l, k, m = settings.k, 0, 0
    else:
        l, k, m = settings.l, settings.k, settings.m
    if able is None:
        return chances_by_facts(groups, secrets, l, k, m)
    splits = [(l, k, m)]
    if kind == "negations":  # some of them are about the target, the rest about other people
        splits = [(amount, l - amount, 0) for amount in range(min(l, len(groups.names)) + 1)]
    results = [chances_with_rules(groups, secrets, able, *amounts) for amounts in splits]
    # The cells are the same for each split; the highest chance counts.
    (cells, *_), chances_of_splits = zip(*results, strict=True)
    return cells, [*map(max, zip(*chances_of_splits, strict=True))], np.arange(len(cells))


# The kinds of knowledge that are judged of people with several cases.
KINDS = ("facts", "implications", "negations")
