"""Dealt groups, by counting: what is learned of them."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import accumulate, combinations, combinations_with_replacement, permutations, product
from math import comb, e, factorial, log, prod

import numpy as np

# ---- decoy groups --------------------------------------------------------------------------------

# What adversaries of facts learn of one group that was dealt out, after a refused cut or without.
#
# By counting: people of one dealt group and one part of the cut are alike, so a world is how many
# people of each value each such cell has, as often as values can be given to people. Nothing here
# knows the library.


def divided(bag, sizes):
    """Every way to give a bag to parts of so many people: the bag of each, and for how many worlds.

    >>> divided((1, 2), (2, 1))
    {((0, 2), (1, 0)): 1, ((1, 1), (0, 1)): 2}
    """
    if len(sizes) == 1:
        return {(tuple(bag),): 1} if sum(bag) == sizes[0] else {}
    results = {}
    for own in product(*(range(x + 1) for x in bag)):
        if sum(own) == sizes[0]:
            times = prod(map(comb, bag, own))
            left = tuple(a - b for a, b in zip(bag, own, strict=True))
            for rest, more in divided(left, sizes[1:]).items():
                results[own, *rest] = times * more
    # Of each way, values can be given to people in as many ways as that.
    return {
        way: prod(factorial(sum(own)) // prod(map(factorial, own)) for own in way)
        for way in results
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
    result = {(): (1, tuple(sizes))}
    for bag in dealt:
        more = {}
        for before, (many, left) in result.items():
            for own in product(*(range(x + 1) for x in left)):
                if sum(own) == sum(bag):
                    rest = tuple(a - b for a, b in zip(left, own, strict=True))
                    more[*before, own] = (many * prod(map(comb, left, own)), rest)
        result = more
    return {own: many for own, (many, _) in result.items()}


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
            result, ways, counts = weights, 1, Counter()
            for cell in own:
                taken = sum(many for (c, _), many in used.items() if c == cell) + counts[cell]
                total = sum(many for (c, v), many in used.items() if c == cell and v != secret)
                none = self.sizes[cell] - self.counts[:, cell, secret] - total - counts[cell]
                result, ways = result * none, ways * (self.sizes[cell] - taken)
                counts[cell] += 1
            if ways > 0:
                yield result, ways

    def _least(self, pairs):
        """The least of some ratios of sums (with the number of ways), as a fraction."""
        spared, results = float(self.spared), {}
        for top, bottom, ways in pairs:
            below = bottom[0] + spared * bottom[1]
            if below:
                key = (*map(int, top), *map(int, bottom), ways)
                results[key] = (top[0] + spared * top[1]) / below / ways
        if not results:
            return None
        near = min(results.values()) * (1 + 1e-9) + 1e-15
        return min(
            self._exact(key[:2]) / Fraction(self._exact(key[2:4])) / key[4]
            for key, ratio in results.items()
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
    result = {(False, 0, 0): Fraction(1)}
    for ways in groups:
        more = {}
        for (has, k, m), ratio in result.items():
            for k_, m_ in product(range(facts[1] - k + 1), range(facts[2] - m + 1)):
                own = None
                for way in ways:
                    own = least(own, way.factor(secret, k_, m_))
                if own is not None:
                    key = has, k + k_, m + m_
                    more[key] = least(more.get(key), ratio * own)
                if has:
                    continue
                own = None
                for way in ways:
                    for l in range(facts[0] + 1):  # noqa: E741
                        own = least(own, way.odds(secret, (l, k_, m_)))
                if own is not None:
                    key = True, k + k_, m + m_
                    more[key] = least(more.get(key), ratio * own)
        result = more
    odds = min((ratio for (has, *_), ratio in result.items() if has), default=None)
    return Fraction(0) if odds is None else 1 / (1 + odds)


# ---- decoy limits --------------------------------------------------------------------------------

# Implications, criteria and windows over weighted worlds: slow, and right by inspection.
#
# People are numbered 0, 1, ...; a world is the tuple of everybody's value, and has a weight.
# Nothing here knows the library.


def worst_of_implications(weights, expected, k, basic=False):
    """Highest posterior that somebody has a value among the wanted, given k basic implications.

    `basic`: of up to two atoms each before and after the arrow; else of one atom, and all end with
    what the adversary wants to know.

    >>> worst_of_implications({("a", "b"): 1, ("b", "a"): 3}, {"a"}, 0)
    Fraction(3, 4)
    """
    worlds = [world for world, weight in weights.items() if weight]
    exact = [Fraction(weights[world]) for world in worlds]
    atoms = sorted({(p, x) for world in worlds for p, x in enumerate(world)})
    true = {a: sum(1 << i for i, w in enumerate(worlds) if w[a[0]] == a[1]) for a in atoms}
    every = (1 << len(worlds)) - 1
    sums = {}

    def chance(left):
        if left not in sums:
            sums[left] = sum(x for i, x in enumerate(exact) if left >> i & 1)
        return sums[left]

    best = Fraction(0)
    pairs = list(combinations_with_replacement(atoms, 2)) if basic else []
    told = {
        (every ^ (true[a] & true[b])) | true[c] | true[d]
        for (a, b), (c, d) in product(pairs, repeat=2)
    }
    for goal in atoms:
        if goal[1] not in expected:
            continue
        own = told if basic else {(every ^ true[a]) | true[goal] for a in atoms}
        left = {every}
        for _ in range(k):
            left = {one & more for one in left for more in own}
        for some in left:
            if chance(some):
                best = max(best, chance(some & true[goal]) / chance(some))
    return best


def worst_window(bag, wide, out, known):
    """Highest posterior of a window for a group: so many values ruled out, and people known.

    >>> worst_window([1, 2, 5, 5], 1, 1, 0)
    Fraction(1, 1)
    """
    best = Fraction(0)
    for start in set(bag):
        inside = sum(start <= x <= start + wide for x in bag)
        rest = sorted(Counter(x for x in bag if not start <= x <= start + wide).values())
        gone = sum(rest[max(len(rest) - out, 0) :])
        gone += min(known, sum(rest) - gone)
        best = max(best, Fraction(inside, len(bag) - gone))
    return best


def beliefs(weights):
    """What is believed of each person: a dict of value to probability for each.

    >>> beliefs({("a", "b"): Fraction(1), ("b", "a"): Fraction(3)})[0]["b"]
    Fraction(3, 4)
    """
    whole, n = Fraction(sum(weights.values())), len(next(iter(weights)))
    results = [{} for _ in range(n)]
    for world, weight in weights.items():
        for result, value in zip(results, world, strict=True):
            result[value] = result.get(value, 0) + weight / whole
    return results


def keeps(share, table, kind, limit):
    """Whether probabilities keep a criterion beside the shares of the table; all values named.

    >>> half = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    >>> keeps({"a": Fraction(1)}, half, "t", Fraction(1, 2))
    True
    """
    values = sorted(table)
    p, q = [share.get(x, Fraction(0)) for x in values], [table[x] for x in values]
    if kind == "entropy":
        return -sum(float(x) * log(x) for x in p if x) > log(limit) - 1e-12
    if kind == "alpha":
        return max(p) <= limit
    if kind == "recursive":  # of l = 3
        ranked = sorted(p, reverse=True)
        return ranked[0] < limit * sum(ranked[2:])
    if kind == "t":
        return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2 <= limit
    if kind == "ordered":
        gaps = accumulate(a - b for a, b in zip(p, q, strict=True))
        return sum(map(abs, gaps)) <= limit * max(len(values) - 1, 1)
    if kind == "beta":
        return all(a <= (1 + limit) * b for a, b in zip(p, q, strict=True))
    if kind == "enhanced":
        return all(
            a <= (1 + limit) * b and float(a / b) - 1 <= -log(b) + 1e-12
            for a, b in zip(p, q, strict=True)
        )
    assert kind == "delta"
    most = e ** float(limit)
    return all(a and float(a / b) < most and float(b / a) < most for a, b in zip(p, q, strict=True))


# ---- decoy worlds --------------------------------------------------------------------------------

# The adversary of facts over worlds that are not equally likely: slow, and right by inspection.
#
# People are numbered 0, 1, ...; a world is the tuple of everybody's value, and has a weight.
# Nothing here knows the library.


def worst_posterior(weights, secret, most):
    """Highest posterior of a secret for anybody, over all facts of at most `most` = (l, k, m).

    l values that the target does not have, outside the secret; k other people whose value is known,
    whatever it is; m more people who have the secret only if the target does.

    Parameters
    ----------
    weights : dict of world -> Fraction
    secret : set of values, any of which is the secret

    >>> worst_posterior({("a", "b"): Fraction(1), ("b", "a"): Fraction(3)}, {"a"}, (0, 0, 0))
    Fraction(3, 4)
    """
    worlds = [world for world, weight in weights.items() if weight]
    exact = [Fraction(weights[world]) for world in worlds]
    whole = sum(exact)
    weight = np.array([float(x / whole) for x in exact])
    people, values = range(len(worlds[0])), sorted({x for world in worlds for x in world})
    has = {(p, x): np.array([w[p] == x for w in worlds]) for p in people for x in values}
    hit = {p: np.logical_or.reduce([has[p, x] for x in values if x in secret]) for p in people}
    best, result = -1.0, None
    for target in people:
        others = [p for p in people if p != target]
        outside = [x for x in values if x not in secret]
        ruled = [
            ~np.logical_or.reduce([has[target, x] for x in out])
            for out in combinations(outside, min(most[0], len(outside)))
            if out
        ] or [np.ones(len(worlds), dtype=bool)]
        ruled.append(np.ones(len(worlds), dtype=bool))
        for known in (
            combination for k in range(most[1] + 1) for combination in combinations(others, k)
        ):
            rest = [p for p in others if p not in known]
            families = [
                combination for m in range(most[2] + 1) for combination in combinations(rest, m)
            ]
            links = [
                np.logical_and.reduce([hit[target] | ~hit[p] for p in family])
                if family
                else np.ones(len(worlds), dtype=bool)
                for family in families
            ]
            for theirs in product(values, repeat=len(known)):
                told = np.ones(len(worlds), dtype=bool)
                for p, x in zip(known, theirs, strict=True):
                    told = told & has[p, x]
                if not told.any():
                    continue
                for out in ruled:
                    left = np.array(links) & told & out
                    total = left @ weight
                    hits = (left & hit[target]) @ weight
                    chance = np.divide(hits, total, out=np.zeros_like(hits), where=total > 0)
                    at = int(chance.argmax())
                    if chance[at] > best + 1e-12:
                        best, result = chance[at], (left[at], hit[target])
    left, hits = result
    total = sum(x for x, own in zip(exact, left, strict=True) if own)
    return sum(x for x, own in zip(exact, left & hits, strict=True) if own) / total


def one_trial(values, part, many, unsafe, swaps, decoys):
    """One cut, tried beside decoys, and the groups that people are dealt into if it is refused.

    Parameters
    ----------
    values : the bag of the group, as a sequence
    part : the people of one part
    many : how many groups people are dealt into
    unsafe : set of bags of the part (sorted tuples) with which the cut is unsafe
    swaps : how many exchanges of two people's values away a decoy must be from such a bag

    Returns
    -------
    accepted : dict of world -> probability that the cut is accepted
    refused : dict of (deal, bags) -> dict of world -> probability of it; `deal` is the group of
        each person

    >>> accepted, refused = one_trial("ab", [0], 1, {("a",)}, 0, 1)
    >>> accepted[("a", "b")], accepted[("b", "a")], refused[(0, 0), ("ab",)]["b", "a"]
    (Fraction(0, 1), Fraction(1, 2), Fraction(1, 2))
    """
    n, often = len(values), Counter(values)
    worlds = sorted(set(permutations(values)))
    order = sorted(often, key=lambda x: (-often[x], x))
    seats = [[] for _ in range(many)]
    for turn, value in enumerate(x for x in order for _ in range(often[x])):
        seats[turn % many].append(value)
    planned = ["".join(sorted(seat)) for seat in seats]

    def bag(world, people):
        return tuple(sorted(world[p] for p in people))

    near = {world for world in worlds if bag(world, part) in unsafe}
    for _ in range(swaps):
        more = set()
        for world in near:
            for p, q in combinations(range(n), 2):
                other = list(world)
                other[p], other[q] = other[q], other[p]
                more.add(tuple(other))
        near |= more
    labelled = sorted(set(permutations([i for i, own in enumerate(planned) for _ in own])))
    inside = defaultdict(list)  # of each deal, the worlds that agree with it
    for deal in labelled:
        for world in worlds:
            bags = ["".join(bag(world, [p for p in range(n) if deal[p] == i])) for i in range(many)]
            if bags == planned:
                inside[deal].append(world)
    ways = Counter(world for own in inside.values() for world in own)
    accepted, refused = dict.fromkeys(worlds, Fraction(0)), defaultdict(dict)
    for deal, own in inside.items():
        quiet = Fraction(sum(world not in near for world in own), len(own)) ** decoys
        for world in own:
            chance = Fraction(1, ways[world])
            is_safe = bag(world, part) not in unsafe
            accepted[world] += chance * quiet * is_safe
            refused[deal, tuple(planned)][world] = chance * (1 - quiet * is_safe)
    return accepted, dict(refused)


# ---- algorithm worlds ----------------------------------------------------------------------------

# Plain enumeration of the worlds of a release, for an adversary who can run the algorithm.
#
# People are numbered 0, 1, ...; a world is the tuple of everybody's value. An algorithm is a
# function from a world to what it publishes, or to a dict of that with probabilities; None is
# nothing. Nothing here knows the library.


def worlds(values, groups):
    """All worlds with the bags of a release; each once.

    >>> worlds("aba", [0, 0, 1])
    [('a', 'b', 'a'), ('b', 'a', 'a')]
    """
    members = defaultdict(list)
    for person, group in enumerate(groups):
        members[group].append(person)
    dealt = [sorted(set(permutations(values[p] for p in member))) for member in members.values()]
    results = []
    for bags in product(*dealt):
        world = [None] * len(values)
        for own, bag in zip(members.values(), bags, strict=True):
            for person, value in zip(own, bag, strict=True):
                world[person] = value
        results.append(tuple(world))
    return results


def posteriors(values, groups, algorithm, release):
    """The posterior of everybody and value, and how many worlds there are and are possible.

    >>> first = lambda world: world[0]
    >>> posteriors("ab", [0, 0], first, "a")
    ({(0, 'a'): Fraction(1, 1), (1, 'b'): Fraction(1, 1)}, 2, 1)
    """
    everything = worlds(values, groups)
    weights = {}
    for world in everything:
        result = algorithm(world)
        chances = result if isinstance(result, dict) else {result: Fraction(1)}
        if chances.get(release):
            weights[world] = chances[release]
    total = sum(weights.values())
    by_key = defaultdict(Fraction)
    for world, weight in weights.items():
        for person, value in enumerate(world):
            by_key[person, value] += weight / total
    return dict(by_key), len(everything), len(weights)
