"""What adversaries of facts learn of one group that was dealt out, after a refused cut or without.

By counting: people of one dealt group and one part of the cut are alike, so a world is how many
people of each value each such cell has, as often as values can be given to people. Nothing here
knows the library.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod

import numpy as np


def divided(bag, sizes):
    """Every way to give a bag to parts of so many people: the bag of each, and for how many worlds.

    >>> divided((1, 2), (2, 1))
    {((0, 2), (1, 0)): 1, ((1, 1), (0, 1)): 2}
    """
    if len(sizes) == 1:
        return {(tuple(bag),): 1} if sum(bag) == sizes[0] else {}
    found = {}
    for own in product(*(range(x + 1) for x in bag)):
        if sum(own) == sizes[0]:
            times = prod(map(comb, bag, own))
            left = tuple(a - b for a, b in zip(bag, own, strict=True))
            for rest, more in divided(left, sizes[1:]).items():
                found[own, *rest] = times * more
    # Of each way, values can be given to people in as many ways as that.
    return {
        way: prod(factorial(sum(own)) // prod(map(factorial, own)) for own in way) for way in found
    }


def added(*ways):
    """The bags of parts, of dealt groups whose people are in these parts.

    >>> added(((1, 0), (0, 1)), ((1, 0), (1, 0)))
    ((2, 0), (1, 1))
    """
    return tuple(tuple(map(sum, zip(*part, strict=True))) for part in zip(*ways, strict=True))


def planned(bag, many):
    """The bags that a bag is dealt into: the most frequent value first, round the groups in turn.

    >>> planned((1, 3), 2)
    ((0, 2), (1, 1))
    """
    order = sorted(range(len(bag)), key=lambda v: (-bag[v], v))
    seats = [[0] * len(bag) for _ in range(many)]
    for turn, value in enumerate(v for v in order for _ in range(bag[v])):
        seats[turn % many][value] += 1
    return tuple(map(tuple, seats))


def placements(dealt, sizes):
    """Every way in which people of dealt groups may be in the parts, and how many deals each is.

    >>> placements(((1, 1), (1, 1)), (3, 1))
    {((1, 1), (2, 0)): 3, ((2, 0), (1, 1)): 3}
    """
    found = {(): (1, tuple(sizes))}
    for bag in dealt:
        more = {}
        for before, (many, left) in found.items():
            for own in product(*(range(x + 1) for x in left)):
                if sum(own) == sum(bag):
                    rest = tuple(a - b for a, b in zip(left, own, strict=True))
                    more[*before, own] = (many * prod(map(comb, left, own)), rest)
        found = more
    return {own: many for own, (many, _) in found.items()}


class Group:
    """A group whose people were dealt out, and what facts about it come to.

    Parameters
    ----------
    dealt : tuple of bags
        How many people of each dealt group have each value.
    placed : tuple of tuples
        How many people of each dealt group are in each part of the cut.
    unsafe : set of tuples of bags
        With which bags of the parts the cut is refused for sure.
    spared : Fraction
        How probable a refusal is of other worlds.

    Of a, a, b, b dealt into one group, halves that must not be of one value (3):

    >>> halves = Group(((2, 2),), ((2, 2),), {((2, 0), (0, 2)), ((0, 2), (2, 0))}, Fraction(0))
    >>> [halves.odds(0, (0, k, 0)) for k in (0, 1)]
    [Fraction(1, 1), Fraction(0, 1)]
    """

    def __init__(self, dealt, placed, unsafe, spared):
        each = [divided(bag, sizes) for bag, sizes in zip(dealt, placed, strict=True)]
        ways = list(product(*each))
        cells = [(i, p) for i, own in enumerate(placed) for p, n in enumerate(own) if n]
        self.sizes = [placed[i][p] for i, p in cells]
        self.counts = np.array([[way[i][p] for i, p in cells] for way in ways])
        self.weights = np.array(
            [prod(own[one] for own, one in zip(each, way, strict=True)) for way in ways]
        )
        self.refused = np.array([added(*way) in unsafe for way in ways])
        self.spared = spared
        self.uneven = bool(self.refused.any() and not self.refused.all() and spared < 1)
        self.possible = bool(self.refused.any() or spared)
        self._odds, self._factors = {}, {}

    def _sums(self, weights):
        """Weights of unsafe worlds, and of the others."""
        return weights[self.refused].sum(axis=0), weights[~self.refused].sum(axis=0)

    def _exact(self, sums):
        return int(sums[0]) + self.spared * int(sums[1])

    def _known(self, k):
        """So many people of whom it is known which value they have: cells, weights of worlds."""
        every = product(range(len(self.sizes)), range(self.counts.shape[2]))
        for own in combinations_with_replacement(list(every), k):
            weights, used = self.weights.copy(), Counter()
            for cell, value in own:
                weights *= self.counts[:, cell, value] - used[cell, value]
                used[cell, value] += 1
            if weights.any():
                yield used, weights

    def _without(self, weights, used, secret, m):
        """That m more people of any cells do not have a secret; beside how many people."""
        for own in combinations_with_replacement(range(len(self.sizes)), m):
            found, ways, more = weights, 1, Counter()
            for cell in own:
                taken = sum(many for (c, _), many in used.items() if c == cell) + more[cell]
                other = sum(many for (c, v), many in used.items() if c == cell and v != secret)
                none = self.sizes[cell] - self.counts[:, cell, secret] - other - more[cell]
                found, ways = found * none, ways * (self.sizes[cell] - taken)
                more[cell] += 1
            if ways > 0:
                yield found, ways

    def _least(self, pairs):
        """The least of some ratios of sums (with the number of ways), as a fraction."""
        spared, found = float(self.spared), {}
        for top, bottom, ways in pairs:
            below = bottom[0] + spared * bottom[1]
            if below:
                key = (*map(int, top), *map(int, bottom), ways)
                found[key] = (top[0] + spared * top[1]) / below / ways
        if not found:
            return None
        near = min(found.values()) * (1 + 1e-9) + 1e-15
        return min(
            self._exact(key[:2]) / Fraction(self._exact(key[2:4])) / key[4]
            for key, ratio in found.items()
            if ratio <= near
        )

    def odds(self, secret, facts):
        """The least odds against a secret of anybody; (l, k, m) exactly, of this group's people."""
        if (secret, facts) not in self._odds:
            self._odds[secret, facts] = self._least(self._all_odds(secret, *facts))
        return self._odds[secret, facts]

    def _all_odds(self, secret, l, k, m):  # noqa: E741
        others = [v for v in range(self.counts.shape[2]) if v != secret]
        for used, weights in self._known(k):
            for target in range(len(self.sizes)):
                have = self.counts[:, target, :] - [
                    used[target, v] for v in range(self.counts.shape[2])
                ]
                bottom = self._sums(weights * have[:, secret])
                each = []  # of each linked family, of each other value
                for v in others:
                    some = weights * have[:, v]
                    beside = used + Counter({(target, v): 1})
                    each.append(list(self._without(some, beside, secret, m)))
                for families in zip(*each, strict=True):
                    sums = [self._sums(found) for found, _ in families]
                    sums.sort(key=lambda own: own[0] + float(self.spared) * own[1])
                    sums = sums[: max(len(sums) - l, 0)] or [(0, 0)]
                    top = (sum(own[0] for own in sums), sum(own[1] for own in sums))
                    yield top, bottom, families[0][1]

    def factor(self, secret, k, m):
        """The least chance that m people of this group lack a secret, k others being known."""
        if not m:
            return Fraction(1)
        if (secret, k, m) not in self._factors:
            self._factors[secret, k, m] = self._least(
                (self._sums(found), self._sums(weights), ways)
                for used, weights in self._known(k)
                for found, ways in self._without(weights, used, secret, m)
            )
        return self._factors[secret, k, m]


def least(first, second):
    """The smaller of two, either of which may be missing."""
    return min((x for x in (first, second) if x is not None), default=None)


def worst(groups, secret, facts):
    """Highest posterior of a secret for anybody of some groups that do not bear on one another.

    `groups`: of each, all the ways (`Group`) in which its people may be dealt out. Facts of at most
    (l, k, m): see `worst_posterior`.

    >>> even = Group(((1, 2),), ((3,),), set(), Fraction(1))
    >>> worst([[even]], 0, (0, 0, 0)), worst([[even], [even]], 0, (0, 0, 1))
    (Fraction(1, 3), Fraction(1, 2))
    """
    # Of what was looked at so far: the least product for so many people, with a target and without.
    found = {(False, 0, 0): Fraction(1)}
    for ways in groups:
        more = {}
        for (has, k, m), ratio in found.items():
            for k_, m_ in product(range(facts[1] - k + 1), range(facts[2] - m + 1)):
                own = None
                for one in ways:
                    own = least(own, one.factor(secret, k_, m_))
                if own is not None:
                    key = has, k + k_, m + m_
                    more[key] = least(more.get(key), ratio * own)
                if has:
                    continue
                own = None
                for one in ways:
                    for l in range(facts[0] + 1):  # noqa: E741
                        own = least(own, one.odds(secret, (l, k_, m_)))
                if own is not None:
                    key = True, k + k_, m + m_
                    more[key] = least(more.get(key), ratio * own)
        found = more
    odds = min((ratio for (has, *_), ratio in found.items() if has), default=None)
    return Fraction(0) if odds is None else 1 / (1 + odds)
