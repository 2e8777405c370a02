"""Facts and implications: exact worst cases; facts by Theorem 2 of the skyline paper.

A ratio is a pair (numerator, denominator) of whole numbers, not reduced: reducing costs more than
comparing. Even a million people make few distinct cells, so all of these are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, groupby, pairwise
from math import lcm
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow_judge.counts.group_bags import Group, GroupBags, Ints, distinct
from foreknow_judge.errors import CertificateError

Ratio: TypeAlias = tuple[int, int]
# The numbers that Theorem 2 needs of a cell, which is one value of one group: the people of the
# group, the holders of the value (never 0), and those of other values that its law takes. The odds
# are lower with fewer people, and with more in all the other numbers.
Profile: TypeAlias = Sequence[int]
# From a profile, and how many people of its group the adversary knows, to odds or a chance.
Law: TypeAlias = Callable[[Profile, int], Ratio]


class Worst(NamedTuple):
    """The worst case, or that nobody has a value that is asked about."""

    value: str | None = None
    group: Group | None = None
    chance: Fraction = Fraction(0)  # the adversary's probability
    prior: Fraction = Fraction(1)  # 1 if there are no priors

    @classmethod
    def among(cls, cases: Iterable[Worst], relative: bool) -> Worst:
        """The case with the highest chance (divided by its prior if `relative`), the first one."""
        return max(
            cases,
            key=lambda case: case.chance / case.prior if relative else case.chance,
            default=cls(),
        )


def worst_facts(
    groups: GroupBags, secrets: Collection[str], semantics: str, l: int, k: int, m: int
) -> Worst:
    """The worst case of facts."""
    law = Theorem2.of(semantics, k, m)
    return worst_case(groups, DistinctProfiles.of(groups, secrets, semantics, l), law)


def worst_case(groups: GroupBags, profiles: DistinctProfiles, law: Theorem2) -> Worst:
    """The worst case over all profiles of some groups, with the names of its value and group."""
    worst = worst_of(profiles, law)
    if worst is None:
        return Worst()
    return Worst(groups.names[worst.value], groups.group(worst.group), worst.chance)


class LeastOdds(NamedTuple):
    """The lowest odds against any value, the first value with these odds, and its first group."""

    odds: Fraction
    value: int
    group: int

    @property
    def chance(self) -> Fraction:
        """The adversary's probability."""
        return 1 / (1 + self.odds)


def worst_of(profiles: DistinctProfiles, law: Theorem2) -> LeastOdds | None:
    """The lowest odds over all profiles, with their value and group; None without profiles.

    A profile is the numbers of a value in a group that decide the odds. With equal odds, the first
    value counts, and its first group.
    """
    worst: tuple[Ratio, int, Target] | None = None
    for value, front in profiles.front():
        odds, target = law.least(front)
        if worst is None or is_less(odds, worst[0]):
            worst = odds, value, target
            if not odds[0]:  # certain: nothing is worse, and values come in order
                break
    if worst is None:
        return None
    odds, value, target = worst
    return LeastOdds(Fraction(*odds), value, profiles.first(value, target))


class Target(NamedTuple):
    """A function from profiles to odds against the target, and its lowest result."""

    odds: Callable[[Profile], Ratio]
    least: Ratio


class DistinctProfiles(NamedTuple):
    """The distinct profiles of each value, each with the first group that has it."""

    value: Ints  # as its position in the names of the `GroupBags`
    group: Ints  # as its number there
    rows: Ints  # of each, a `Profile`

    @classmethod
    def of(
        cls, groups: GroupBags, secrets: Collection[str], semantics: str, l: int
    ) -> DistinctProfiles:
        """The distinct profiles of the cells (values of groups) whose values are `secrets`.

        A profile is the numbers of a cell that decide the odds against its value.
        """
        asked_cells, columns = numbers_of_cells(groups, secrets, semantics, l)
        first = distinct(*columns)[0]  # the first cell with each value and profile
        value, *rows = (column[first] for column in columns)
        return cls(value, groups.of_group[asked_cells][first], np.stack(rows, 1))

    def front(self) -> Iterator[tuple[int, list[Profile]]]:
        """Yield each value with its profiles, but for those that cannot have the lowest odds.

        A profile is left out if another one differs in two numbers only, and is as bad in both.
        """
        # Fewer people make odds lower (the first number), and more in all other numbers do: with
        # the first sign changed, higher is worse everywhere.
        worse = self.rows * np.array([-1] + [1] * (self.rows.shape[1] - 1))
        remaining = np.argsort(self.value, kind="stable")  # profiles of a value together
        for pair in combinations(range(worse.shape[1]), 2):
            first, second = worse[remaining].T[[*pair]]
            equal = [self.value[remaining], *np.delete(worse[remaining], pair, axis=1).T]
            remaining = remaining[_unbeaten(first, second, equal)]
        pairs = zip(self.value[remaining].tolist(), self.rows[remaining].tolist(), strict=True)
        for value, pairs_of_value in groupby(pairs, itemgetter(0)):
            yield value, [profile for _, profile in pairs_of_value]

    def first(self, value: int, target: Target) -> int:
        """The first group in which the odds against a value are as low as `target.least`."""
        rows_of_value = np.flatnonzero(self.value == value)
        rows_of_value = rows_of_value[np.argsort(self.group[rows_of_value], kind="stable")]
        rows = zip(
            self.group[rows_of_value].tolist(), self.rows[rows_of_value].tolist(), strict=True
        )
        reach = (group for group, row in rows if not is_less(target.least, target.odds(row)))
        return int(next(reach))


def _unbeaten(first: Ints, second: Ints, equal: Sequence[Ints]) -> Ints:
    """The positions of the rows that no other row beats.

    A row is beaten by one with the same numbers in all `equal` columns, whose `first` and `second`
    numbers are both at least as high. With the highest first numbers first, a row remains if its
    second is above all before:

        equal    0 0 0 0 0 | 1 1
        first    9 9 7 7 4 | 8 6
        second   3 1 3 4 2 | 1 2
        remains  x . . x . | x x
    """
    order = np.lexsort((-second, -first, *equal))
    is_new = np.any([np.diff(column[order]) != 0 for column in equal], axis=0)
    # Each run of equal columns is lifted above those before it, so that one running maximum over
    # all rows begins afresh there.
    lift = int(second.max(initial=0)) - int(second.min(initial=0)) + 1
    lifted = second[order] + lift * np.append(0, np.cumsum(is_new))[: len(order)]
    remains = np.ones(len(order), bool)
    remains[1:] = lifted[1:] > np.maximum.accumulate(lifted)[:-1]
    return np.sort(order[remains])


def secret_cells(groups: GroupBags, secrets: Collection[str]) -> Ints:
    """The positions of the cells (values of groups) whose value is one of `secrets`."""
    is_secret = np.array([name in secrets for name in groups.names], bool)
    return np.flatnonzero(is_secret[groups.codes])


def numbers_of_cells(
    groups: GroupBags, secrets: Collection[str], semantics: str, l: int
) -> tuple[Ints, list[Ints]]:
    """The cells (values of groups) whose value is a secret, and columns of numbers of these cells.

    The columns are the value, the people of the group, the holders of the value, and people with
    other values: the counts of the l most frequent others under "set", and only their sum under
    "single" and "multiset". All but the value are the cell's profile, which decides the odds.
    """
    asked_cells = secret_cells(groups, secrets)
    group, holders = groups.of_group, groups.counts
    l = min(l, int(groups.n_values.max(initial=0)))
    if semantics == "set":
        # The value itself is no other value: from its own rank on, the next rank counts.
        ranks = [groups.count_at_rank(rank)[group] for rank in range(l + 1)]
        other_counts = [
            np.where(holders >= rank_count, after, rank_count)
            for rank_count, after in pairwise(ranks)
        ]
    else:
        # If the value is among the l + 1 most frequent ones, the others are these without it.
        among = holders >= groups.count_at_rank(l)[group]
        other_counts = [
            np.where(among, groups.top_sum(l + 1)[group] - holders, groups.top_sum(l)[group])
        ]
    columns = (groups.codes, groups.people[group], holders, *other_counts)
    return asked_cells, [
        row if len(asked_cells) == len(row) else row[asked_cells] for row in columns
    ]


class Theorem2(NamedTuple):
    """Theorem 2 for given k and m; both functions are given how many of the group are known."""

    against: Law  # odds against the target
    none_linked: Law  # chance that no linked person has the value
    k: int
    m: int

    @classmethod
    def of(cls, semantics: str, k: int, m: int, against: Law | None = None) -> Theorem2:
        """The law for one of the three semantics, with its odds or with others, `against`."""
        usual, none_linked = _LAWS[semantics]
        chance = cache(lambda people, holders, n_known: none_linked(people, holders, n_known, m))
        return cls(against or usual, lambda profile, n: chance(profile[0], profile[1], n), k, m)

    def least(self, profiles: Sequence[Profile]) -> tuple[Ratio, Target]:
        """The lowest odds against one value, with k people known and m people linked.

        Each profile is the numbers of a group; returned, too, is the function that has these odds.
        Somebody linked has the value only if the target does, so the odds against the target count
        worlds in which no linked person has it. The linked people are all in the target's group or
        all in one other group; the known people are all beside the target or all beside the linked
        people. With T(l, k) = `against` (odds against the target) and V(m, k) = `none_linked` (the
        chance that no linked person has the value) the odds are the least of three products:

        - T(l, k) · V(m, k + 1) of one group. V is the chance if the target does not have the
          value: the target counts as one more known person, hence k + 1.
        - The least T(l, 0) of any group times the least V(m, k) of any group.
        - The least T(l, k) times the least V(m, 0).

        The last two may take both factors from the same group, as if it were another one: its first
        product is no higher.
        """
        k = self.k
        with_known = self._target(profiles, lambda profile: self.against(profile, k))
        if not self.m:  # V is 1, and known people count beside the target
            return with_known.least, with_known
        with_both = self._target(
            profiles,
            lambda profile: times(self.against(profile, k), self.none_linked(profile, k + 1)),
        )
        without_known = self._target(profiles, lambda profile: self.against(profile, 0))
        known_elsewhere = self.least_none_linked(profiles, k)
        all_unknown = self.least_none_linked(profiles, 0)
        options = [
            (with_both.least, with_both),
            (times(without_known.least, known_elsewhere), without_known),
            (times(with_known.least, all_unknown), with_known),
        ]
        lowest = least_of(odds for odds, _ in options)
        return next(option for option in options if option[0] == lowest)

    def least_none_linked(self, profiles: Sequence[Profile], n_known: int) -> Ratio:
        """The lowest chance of any group that no linked person has the value."""
        return least_of(self.none_linked(profile, n_known) for profile in profiles)

    def _target(self, profiles: Sequence[Profile], odds: Callable[[Profile], Ratio]) -> Target:
        return Target(odds, least_of(map(odds, profiles)))


def _odds_single(profile: Profile, n_known: int) -> Ratio:
    """Odds against the target having the value, where everybody has one."""
    people, holders, n_others = profile
    return max(people - holders - n_others - n_known, 0), holders


def _odds_set(profile: Profile, n_known: int) -> Ratio:
    people, holders, *other_counts = profile
    above, below = max(people - holders - n_known, 0), holders
    for count in other_counts:
        above *= people - count
        below *= people
    return above, below


def _odds_multiset(profile: Profile, n_known: int) -> Ratio:
    people, holders, n_others = profile
    if people - n_known - 1 <= 0:
        return 0, 1
    missed = (people - n_known - 1) ** holders
    hit = (people - n_known) ** holders - missed
    return missed * (people - 1) ** n_others, hit * people**n_others


def _none_linked(people: int, holders: int, n_known: int, m: int) -> Ratio:
    """The chance that none of m linked people in a group has the value, where nobody has it twice.

    As numerator and denominator. Of the group's people, `holders` have the value, and `n_known`
    are known not to have it.
    """
    above, below = 1, 1
    for i in range(m):  # one linked person after the other, each among one fewer
        if people - holders - n_known - i <= 0:
            return 0, 1
        above *= people - holders - n_known - i
        below *= people - n_known - i
    return above, below


def _none_linked_of_many(people: int, holders: int, n_known: int, m: int) -> Ratio:
    """Same as `_none_linked`, where one person may have several occurrences of the value."""
    if people - n_known - m <= 0:
        return 0, 1
    return (people - n_known - m) ** holders, (people - n_known) ** holders


_LAWS: dict[str, tuple[Law, Callable[[int, int, int, int], Ratio]]] = {
    "single": (_odds_single, _none_linked),
    "set": (_odds_set, _none_linked),
    "multiset": (_odds_multiset, _none_linked_of_many),
}


def chance_of(odds: Ratio) -> Fraction:
    """The probability of what has these odds against it."""
    return Fraction(odds[1], odds[0] + odds[1])


def times(first: Ratio, second: Ratio) -> Ratio:
    """The product of two ratios."""
    return first[0] * second[0], first[1] * second[1]


def is_less(first: Ratio, second: Ratio) -> bool:
    """True if one ratio is below another."""
    return first[0] * second[1] < second[0] * first[1]


def least_of(ratios: Iterable[Ratio]) -> Ratio:
    """The lowest ratio; the first of equal ones."""
    remaining = iter(ratios)
    best = next(remaining)
    for ratio in remaining:
        if is_less(ratio, best):
            best = ratio
    return best


# ---- implications -------------------------------------------------------------------------------


def worst_implications(groups: GroupBags, secrets: Collection[str], k: int) -> Worst:
    """The worst case if the adversary knows k implications, with the target's group."""
    cells, odds, odds_of_cell = odds_by_implications(groups, secrets, k)
    if not len(cells):
        return Worst()
    lowest = least_of(odds)
    worst_cells = cells[
        np.array([not is_less(lowest, ratio) for ratio in odds], bool)[odds_of_cell]
    ]
    # Ties: the first value, then its first group, in the order of `groups`.
    columns = groups.codes[worst_cells].tolist(), groups.of_group[worst_cells].tolist()
    value, group = min(zip(*columns, strict=True))
    return Worst(groups.names[value], groups.group(group), chance_of(lowest))


def odds_by_implications(
    groups: GroupBags, secrets: Collection[str], k: int
) -> tuple[Ints, list[Ratio], Ints]:
    """The lowest odds against each secret if the adversary knows k implications.

    Returns the cells (values of groups) whose value is a secret, the distinct odds, and for each
    cell the position of its odds among them.
    """
    asked_cells = secret_cells(groups, secrets)
    if not len(asked_cells):
        return asked_cells, [], asked_cells
    k = min(k, len(groups.names))  # more do not tell more than all values of a person
    # Groups with the same people and the same top counts are equivalent: keep one of each.
    frequent = [groups.count_at_rank(rank) for rank in range(k + 2)]
    first_groups, shape = distinct(groups.people, *frequent)
    counts = np.stack([groups.people, *frequent])[:, first_groups]
    # The number of products grows like k^3 for each group: so many fit into memory and time.
    if k > (highest := int(np.cbrt(2**24 / len(first_groups)))):
        raise CertificateError("too-large", f"k above {highest}")
    elsewhere = _chances_elsewhere(_Groups(counts), k)
    shape_of = shape[groups.of_group[asked_cells]]
    first_cells, odds_of_cell = distinct(shape_of, groups.counts[asked_cells])
    holders = groups.counts[asked_cells][first_cells].astype(object)
    odds = zip(*_Groups(counts[:, shape_of[first_cells]]).odds(holders, elsewhere), strict=True)
    return asked_cells, [*odds], odds_of_cell


def _chances_elsewhere(buckets: _Groups, k: int) -> list[Fraction]:
    """Lowest chances that 0, 1, ..., k atoms in other groups than the target's all fail.

    An atom says that a person has a value. A group, the target's too, may be used twice: its atoms
    together fail no more often than that, so the result is only lower.
    """
    # First with all atoms in one group, then with the best split into parts in several groups.
    lowest = [Fraction(1)]
    for atoms in range(1, k + 1):
        chances = buckets.failing(0, atoms, atoms), buckets.ways(0, atoms)
        lowest.append(Fraction(*least_of(zip(*chances, strict=True))))
    for atoms in range(1, k + 1):
        lowest[atoms] = min(
            lowest[atoms - n_atoms] * lowest[n_atoms] for n_atoms in range(atoms + 1)
        )
    return lowest


class _Groups:
    """Groups as arrays, and in how many ways atoms about their members all fail.

    An atom says that a person has a value. By Theorem 9 the worst k implications are "if A_i, then
    A", with an atom A about the target and k atoms A_i; by Lemma 12 they leave odds against A of
    Pr(neither A nor any A_i) / Pr(A). By Lemma 13 the atoms of one group fail most rarely if a_i of
    them are about person i, who has none of the a_i most frequent values, with a_0 >= a_1 >= ...:

        chance = product over i of (people - i - sum of the a_i highest counts) / (people - i)

    Here it is `failing` over `ways`, two whole numbers for each group. To have equal denominators,
    `ways` has one factor for each atom, as if each were about another person.
    """

    def __init__(self, counts: Ints) -> None:
        self.people, *self.counts = counts.astype(object)
        self.sums = [0 * self.people]
        for count in self.counts:
            self.sums.append(self.sums[-1] + count)
        self.failing = cache(self._count_failing)
        self.ways = cache(self._count_ways)

    def _count_ways(self, person: int, atoms: int) -> Any:
        """The number of ways to choose different people, from `person` on, for the atoms."""
        if not atoms:
            return 0 * self.people + 1
        return self.ways(person, atoms - 1) * np.maximum(self.people - person - atoms + 1, 1)

    def _count_failing(self, person: int, limit: int, atoms: int) -> Any:
        """The fewest ways in which all atoms fail, from `person` on, for each group.

        An atom says that somebody has a value; at most `limit` are about one person. The person
        here has `n_about` of them, on the most frequent values, and those after that no more.
        Without atoms on anybody else all ways fail: with these the search begins.
        """
        free, fewest = self.people - person, self.ways(person, atoms)
        for n_about in range(1, min(limit, atoms) + 1):
            people_left = np.maximum(free - self.sums[n_about], 0)
            ways_left = self.failing(person + 1, n_about, atoms - n_about)
            # A factor for each atom beyond the person's first, so that denominators are equal.
            without_atoms = self.ways(person + 1 + atoms - n_about, n_about - 1)
            fewest = np.minimum(fewest, people_left * ways_left * without_atoms)
        return fewest

    def odds(self, holders: Any, chances_elsewhere: list[Fraction]) -> tuple[Any, Any]:
        """The lowest odds against a value for each group, as numerators and denominators.

        `holders` are the people who have the value. An atom says that somebody has a value. The k
        atoms are about the target (`n_about` of them, on its most frequent other values), about
        other people of the group, or in other groups: ``chances_elsewhere[j]`` is the lowest chance
        that j atoms there all fail.
        """
        k = len(chances_elsewhere) - 1
        scale = lcm(*(chance.denominator for chance in chances_elsewhere))  # to have whole numbers
        products = []
        for atoms_here in range(k + 1):
            elsewhere = int(chances_elsewhere[k - atoms_here] * scale)
            for n_about in range(atoms_here + 1):  # atoms about the target
                # Worlds in which the target has neither the value nor one of its atoms' values.
                top_others = self._top_others(holders, n_about)
                people_left = self.people - holders - top_others
                next_others = self._top_others(holders, n_about + 1) - top_others
                # Atoms on another person name values that the target's atoms name, too; and one
                # more if the target's own value is among the n_about + 1 most frequent ones.
                n_other_atoms = atoms_here - n_about
                failing = np.where(
                    holders >= next_others,
                    self.failing(1, n_about + 1, n_other_atoms),
                    self.failing(1, n_about, n_other_atoms),
                )
                # Factors for the other atoms, so that all products have the same denominator.
                without_atoms = self.ways(1 + atoms_here - n_about, k - atoms_here + n_about)
                products.append(people_left * failing * without_atoms * elsewhere)
        return np.minimum.reduce(products), holders * self.ways(1, k) * scale

    def _top_others(self, holders: Any, n_values: int) -> Any:
        """How many have one of the `n_values` most frequent values other than the target's."""
        among = holders >= self.counts[n_values]
        return np.where(among, self.sums[n_values + 1] - holders, self.sums[n_values])
