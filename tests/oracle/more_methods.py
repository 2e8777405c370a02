"""Streamliner's releases and Jump's, by enumeration: lots and blocks, and all tables."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import log, perm

import numpy as np

# ---- streamliner unsafe --------------------------------------------------------------------------

# Readings of the paper's algorithms that an adversary who knows them can break: plain references.
#
# A method takes a table (person i has `table[i]`) and lots, and returns the group of each person.


def by_colour(table):
    results = {}
    for person, value in enumerate(table):
        results.setdefault(value, []).append(person)
    return results


def join_late(groups, late, table):
    """Everybody who is left over joins the first smallest group without their colour."""
    for person in late:
        fits = [g for g in groups if table[person] not in {table[p] for p in g}]
        min(fits, key=len).append(person)
    return numbered(groups, len(table))


def numbered(groups, people):
    result = [0] * people
    for number, group in enumerate(groups):
        for person in group:
            result[person] = number
    return result


def rda(l, *, pick="lot", ties="value"):  # noqa: E741
    """RDA; people of a colour by lot or in table order, ties of colours by value or first row."""

    def method(table, lots):
        left = by_colour(table)

        def place(colour):
            return colour if ties == "value" else min(left[colour], default=99)

        def take(colour):
            own = left[colour]
            return own.pop(int(lots.integers(0, len(own), 1)[0]) if pick == "lot" else 0)

        groups = []
        while sum(map(bool, left.values())) >= l:
            first = min(left, key=lambda c: (-len(left[c]), place(c)))
            while left[first] and sum(map(bool, left.values())) >= l:
                others = sorted(
                    (c for c in left if c != first), key=lambda c: (-len(left[c]), place(c))
                )
                groups.append([take(c) for c in [first, *others[: l - 1]]])
        late = [take(c) for c in sorted(left) for _ in range(len(left[c]))]
        return join_late(groups, late, table)

    return method


def best_of(method, runs, cost):
    """The cheapest of several runs, the first of equally cheap ones."""

    def choose(table, lots):
        return min((method(table, lots) for _ in range(runs)), key=cost)

    return choose


def within_groups(groups):
    """A cost on quasi-identifiers: distances within groups, person i at place i."""
    return sum(
        other - one
        for one in range(len(groups))
        for other in range(one + 1, len(groups))
        if groups[one] == groups[other]
    )


def widths(groups):
    """A cost on quasi-identifiers: the width of each member's group, person i at place i."""
    members = {}
    for person, group in enumerate(groups):
        members.setdefault(group, []).append(person)
    return sum((max(member) - min(member)) * len(member) for member in members.values())


def releases_of_best(bag, method, runs, cost):
    """As `releases` of `best_of`, from the chances of one run: of any number of runs.

    The best of k runs costs at least c with the k-th power of the chance that one does; among
    equally cheap groups each has its share of that.
    """
    results = {}
    for table in tables(bag):
        once, costs = Counter(), {}
        for groups, chance in outcomes(lambda lots, t=table: method(t, lots)):
            release = release_of(groups, table)
            once[release] += chance
            costs[release] = cost(groups)
        for release, chance in once.items():
            total = sum(p for r, p in once.items() if costs[r] >= costs[release])
            more = sum(p for r, p in once.items() if costs[r] > costs[release])
            best = chance / (total - more) * (total**runs - more**runs)
            results.setdefault(release, Counter())[table] += best
    return results


def ria(pick):
    """RIA for l = 2: everybody in turn draws another colour, and somebody of it by lot or not.

    Colours and people draw in order. If `pick` is "first", it is the first of the drawn colour
    whom nobody of one's own colour has; colours of whom all are taken are drawn again.
    """

    def method(table, lots):
        left = by_colour(table)
        together = {p: {p} for p in range(len(table))}
        for colour in sorted(left):
            used = set()
            for person in left[colour]:
                free = {c: [p for p in left[c] if p not in used] for c in sorted(left)}
                others = [own for c, own in free.items() if c != colour and own]
                own = others[int(lots.integers(0, len(others), 1)[0])]
                at = int(lots.integers(0, len(own), 1)[0]) if pick == "lot" else 0
                used.add(own[at])
                merged = together[person] | together[own[at]]
                for p in merged:
                    together[p] = merged
        return numbered({tuple(sorted(g)) for g in together.values()}, len(table))

    return method


# ---- streamliner lots ----------------------------------------------------------------------------

# Every lot that a method can draw: runs it once for each outcome, with exact probabilities.
#
# `Lots` stands in for a random generator. Each draw is decided in turn, and the method runs again
# until all outcomes were seen. Nothing here knows what the method does with its lots.


class Lots:
    """A generator whose draws are given in advance; where they end, the first outcome is taken."""

    def __init__(self, given):
        self.given = given
        self.taken = []  # (which outcome, of how many)

    def _draw(self, n):
        place = len(self.taken)
        which = self.given[place] if place < len(self.given) else 0
        self.taken.append((which, n))
        return which

    def permutation(self, what):
        left = list(range(what)) if isinstance(what, int) else list(what)
        return np.array([left.pop(self._draw(len(left))) for _ in range(len(left))], dtype=np.int64)

    def shuffle(self, array):
        array[:] = self.permutation(array)

    def choice(self, what, size, replace):
        assert not replace
        left = list(what)
        return np.array([left.pop(self._draw(len(left))) for _ in range(size)], dtype=np.int64)

    def integers(self, low, high=None, size=None):
        low, high = (0, low) if high is None else (low, high)
        if np.ndim(high):
            return np.array([low + self._draw(top - low) for top in high], dtype=np.int64)
        if size is None:
            return low + self._draw(high - low)
        cells = int(np.prod(size))
        return np.array([low + self._draw(high - low) for _ in range(cells)]).reshape(size)


def outcomes(run):
    """The result of `run(lots)` for each outcome, with its probability."""
    given = []
    while True:
        lots = Lots(given)
        result = run(lots)
        chance = Fraction(1)
        for _, n in lots.taken:
            chance /= n
        yield result, chance
        given = [which for which, _ in lots.taken]
        while given and given[-1] + 1 == lots.taken[len(given) - 1][1]:
            given.pop()
        if not given:
            return
        given[-1] += 1


def tables(bag):
    """All ways to give the values of a bag to people 0, 1, ..."""
    return sorted(set(permutations(bag)))


def release_of(groups, table):
    """What is published: who is together, and the bag of each group."""
    results = {}
    for person, group in enumerate(groups):
        results.setdefault(int(group), []).append(person)
    return frozenset(
        (tuple(people), tuple(sorted(table[p] for p in people))) for people in results.values()
    )


def releases(bag, method):
    """release -> {table: probability of the release}, for all tables of a bag."""
    results = {}
    for table in tables(bag):
        for groups, chance in outcomes(lambda lots, t=table: method(t, lots)):
            weights = results.setdefault(release_of(groups, table), Counter())
            weights[table] += chance
    return results


def posteriors(release, weights):
    """(posterior, frequency in the group) of each member of each group and each of its values."""
    total = sum(weights.values())
    for people, values in release:
        for person, value in product(people, sorted(set(values))):
            held = sum(w for table, w in weights.items() if table[person] == value)
            yield Fraction(held) / total, Fraction(values.count(value), len(values))


def worst(found):
    """The highest posterior of any release."""
    return max(p for release, weights in found.items() for p, _ in posteriors(release, weights))


def exchangeable(found):
    """Whether every table that agrees with a release leads to it with the same probability."""
    for release, weights in found.items():
        agreeing = 1
        for people, values in release:
            agreeing *= perm(len(people))
            for value in set(values):
                agreeing //= perm(values.count(value))
        if len(weights) != agreeing or len(set(weights.values())) != 1:
            return False
    return True


def bags(people, l):  # noqa: E741
    """All bags of values, up to renaming, in which none has more than 1/l of the people."""

    def parts(n, most):
        if n == 0:
            yield ()
            return
        for size in range(min(n, most), 0, -1):
            for part in parts(n - size, size):
                yield (size, *part)

    for sizes in parts(people, people // l):
        yield tuple(v for v, size in enumerate(sizes) for _ in range(size))


# ---- streamliner blocks --------------------------------------------------------------------------

# The posterior of one release of GSA, from all tables that agree with it.
#
# For large tables: not all tables of a bag are gone through, nor all lots. What is asked of the
# method is only into which blocks of cells it divides people for a table. The lots of a block are
# taken to be uniform over all groupings of the kind that is made of it, which is counted here;
# that lots treat people of a cell, and the cells, alike is for other tests to show.


def tables_of(release, people):
    """All tables that agree with a release."""
    ways = [sorted(set(permutations(values))) for _, values in release]
    for chosen in product(*ways):
        table = [None] * people
        for (members, _), values in zip(release, chosen, strict=True):
            for person, value in zip(members, values, strict=True):
                table[person] = value
        yield tuple(table)


def weights_of(release, people, blocks_of):
    """table -> how probable it makes the release; `blocks_of(table)`: lists of cells of people."""
    counts = Counter()
    for table in tables_of(release, people):
        weight = Fraction(1)
        for cells in blocks_of(table):
            made = [group for group, _ in release if set(group) & set(sum(cells, ()))]
            values = tuple(tuple(table[p] for p in cell) for cell in cells)
            place = {p: (c, i) for c, cell in enumerate(cells) for i, p in enumerate(cell)}
            if any(p not in place for group in made for p in group):
                weight = Fraction(0)
                break
            seated = frozenset(frozenset(place[p] for p in group) for group in made)
            weight *= _share(values, seated)
        if weight:
            counts[table] += weight
    return counts


@cache
def _share(values, seated):
    """One, divided by the number of groupings with the same bags and as many from each cell."""
    kind = Counter(_looks(group, values) for group in seated)
    return Fraction(1, _count(_as_bags(values), kind))


def _looks(group, values):
    """How many of each cell are in a group, and the bag of its values."""
    cells = Counter(cell for cell, _ in group)
    return tuple(sorted(cells.items())), tuple(sorted(values[cell][i] for cell, i in group))


def _as_bags(values):
    return tuple(tuple(sorted(cell)) for cell in values)


_COUNTS = {}


def _count(bags, kind):
    """In how many ways people of these cells form groups of these looks."""
    key = bags, frozenset(kind.items())
    if key not in _COUNTS:
        everybody = frozenset((c, i) for c, bag in enumerate(bags) for i in range(len(bag)))
        _COUNTS[key] = _ways(everybody, bags, tuple(sorted(kind.items())))
    return _COUNTS[key]


def _ways(left, bags, kind):
    if not left:
        return 1
    first, total = min(left), 0
    rest = sorted(left - {first})
    for looks, number in kind:
        size = len(looks[1])
        fewer = tuple((k, n - (k == looks)) for k, n in kind if n > (k == looks))
        for others in combinations(rest, size - 1) if number else ():
            group = (first, *others)
            if _looks(group, bags) == looks:
                total += _ways(left - set(group), bags, fewer)
    return total


# ---- streamliner gda -----------------------------------------------------------------------------

# GDA of table 7 of the paper, person by person: a plain reference.


def gda(values, ranks, l):  # noqa: E741
    """The bag of (value, rank) of each group, in the order in which they are made; None if stuck.

    Equally near colours by value, equally near groups as they are made, equally large colours by
    value.
    """
    waiting = {
        v: sorted(r for w, r in zip(values, ranks, strict=True) if w == v) for v in set(values)
    }
    groups = []
    own = None
    while sum(map(bool, waiting.values())) >= l:
        if own is None or not waiting[own]:
            own = min(waiting, key=lambda v: (-len(waiting[v]), v))
        here = waiting[own][0]
        others = sorted(
            (v for v in waiting if v != own and waiting[v]),
            key=lambda v: (abs(waiting[v][0] - here), v),
        )
        groups.append([(v, waiting[v].pop(0)) for v in [own, *others[: l - 1]]])
    made = [tuple(group) for group in groups]
    for value in sorted(waiting):
        for rank in waiting[value]:
            free = [
                (sum(abs(other - rank) for _, other in made[i]), i)
                for i, group in enumerate(groups)
                if all(v != value for v, _ in group)
            ]
            if not free:
                return None
            groups[min(free)[1]].append((value, rank))
    return [tuple(sorted(group)) for group in groups]


# ---- the releases of a table ---------------------------------------------------------------------


def released(table, method):
    """release -> its probability, over all lots."""
    counts = Counter()
    for groups, chance in outcomes(lambda lots: method(table, lots)):
        counts[release_of(groups, table)] += chance
    return counts


# ---- jumps by enumeration of all tables --------------------------------------------------------

# ---- jump worlds ---------------------------------------------------------------------------------

# Naive, safe and jump algorithms by listing all tables: Definitions 1 to 4, word for word.
#
# A table is a tuple of values, one per person. A function is a tuple of tuples of people. Nothing
# is remembered, compressed or skipped, apart from verdicts that are asked for twice.


def all_tables(values):
    """Every table with these values, each once."""
    return sorted(set(permutations(values)))


def generalization(function, table):
    """What is published: the values of each group, without their order."""
    return tuple(tuple(sorted(table[person] for person in group)) for group in function)


def marginals(tables):
    """For each person, the share of tables with each value."""
    n = len(tables)
    return [
        {value: Fraction(times, n) for value, times in Counter(column).items()}
        for column in zip(*tables, strict=True)
    ]


class Algorithm:
    """kind: "naive", "safe" or "jump"; judge: from a person's marginals, group size to a bool."""

    def __init__(self, kind, functions, judge, tables, distances=None):
        self.kind, self.functions, self.judge, self.tables = kind, functions, judge, tables
        self.distances = distances
        self.known = {}

    def holds(self, i, tables):
        size = {person: len(group) for group in self.functions[i] for person in group}
        return bool(tables) and all(
            self.judge(shares, size[person]) for person, shares in enumerate(marginals(tables))
        )

    def permutation_set(self, i, table):
        seen = generalization(self.functions[i], table)
        return [t for t in self.tables if generalization(self.functions[i], t) == seen]

    def disclosure_set(self, i, table):
        return [t for t in self.permutation_set(i, table) if i in self.path(t, i)]

    def permutation_safe(self, i, table):
        key = ("p", i, generalization(self.functions[i], table))
        if key not in self.known:
            self.known[key] = self.holds(i, self.permutation_set(i, table))
        return self.known[key]

    def disclosure_safe(self, i, table):
        key = ("d", i, generalization(self.functions[i], table))
        if key not in self.known:
            self.known[key] = self.holds(i, self.disclosure_set(i, table))
        return self.known[key]

    def path(self, table, until):
        """Functions that are evaluated, up to one of them."""
        return self._walk(table, until)[0]

    def released(self, table):
        return self._walk(table, len(self.functions))[1]

    def _walk(self, table, until):
        path, i = [], 0
        while i < len(self.functions) and i <= until:
            path.append(i)
            if i == until:
                break
            if self.kind == "naive":
                if self.permutation_safe(i, table):
                    return path, i
                i += 1
            elif self.kind == "safe":
                if self.disclosure_safe(i, table):
                    return path, i
                i += 1
            elif self.permutation_safe(i, table):
                if self.disclosure_safe(i, table):
                    return path, i
                i += self.distances[i]
            else:
                i += 1
        return path, None


def max_ratio(limit):
    return lambda shares, size: max(shares.values()) <= limit


def below_ratio(limit):
    return lambda shares, size: max(shares.values()) < limit


def distinct(least):
    return lambda shares, size: len(shares) >= least


def entropy(least):
    def judge(shares, size):
        return -sum(float(p) * log(p) for p in shares.values()) > log(least) - 1e-9

    return judge


def recursive(c, least):
    def judge(shares, size):
        ranked = sorted(shares.values(), reverse=True)
        return ranked[0] < c * sum(ranked[least - 1 :])

    return judge


def at_least(k):
    return lambda shares, size: size >= k


# ---- jump requirements ---------------------------------------------------------------------------

# Requirements against whoever also knows the method, by listing what they may rule out.
#
# A world is a tuple of values, one per person; all worlds of a list are equally likely.


def rulings(others, most):
    """Every set of at most so many values."""
    for size in range(min(most, len(others)) + 1):
        yield from combinations(others, size)


def worst_in_worlds(worlds, most, about):
    """The highest posterior of a value that `about` accepts, with up to `most` others ruled out."""
    domain = sorted({value for world in worlds for value in world})
    highest = Fraction(0)
    for person in range(len(worlds[0])):
        column = [world[person] for world in worlds]
        for target in filter(about, domain):
            for ruled_out in rulings([v for v in domain if v != target], most):
                left = [value for value in column if value not in ruled_out]
                if target in left:
                    highest = max(highest, Fraction(left.count(target), len(left)))
    return highest


def judge_of(requirements):
    """From a person's chances to whether all of (limit, most ruled out, about) hold."""

    def judge(shares, size):
        for limit, most, about in requirements:
            for target in filter(about, shares):
                others = [value for value in shares if value != target]
                for ruled_out in rulings(others, most):
                    left = 1 - sum(shares[value] for value in ruled_out)
                    if shares[target] / left >= limit:
                        return False
        return True

    return judge
