"""Facts on priors, and sets of values, by worlds; the two formulas of facts in one group."""

import math
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product
from math import prod

# ---- facts on priors -----------------------------------------------------------------------------

# Facts on top of priors by enumeration: all worlds, weighed by priors, and all facts.
#
# People are given by their rows: a dict value -> prior, each a Fraction. Groups are lists of
# people, each with a bag. Nothing here knows the library or its formulas.


def worlds(groups, weigh):
    """Who has what in each world of positive weight, and that weight; `groups` are (rows, bag)."""
    results = [((), Fraction(1))]
    for rows, bag in groups:
        own = [
            (world, prod((weigh(row, x) for row, x in zip(rows, world, strict=True)), start=1))
            for world in sorted(set(permutations(bag)))
        ]
        results = [(a + b, v * w) for (a, v), (b, w) in product(results, own) if w]
    return results


def joint(row, value):
    """Everybody has exactly one value."""
    return row[value]


def binary(secret):
    """Everybody has the value or not; what else they have is as likely as anything else."""
    return lambda row, value: row[secret] if value == secret else 1 - row[secret]


def surest(groups, secret, amounts, weigh=joint):
    """How sure somebody can become at most that some person has one of the values of `secret`.

    One more value ruled out, one more person known or linked never makes the surest less sure, so
    facts are taken in full amounts, as far as there are values and people.

    >>> half = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    >>> surest([([half, half], "ab")], "a", (0, 1, 0))
    Fraction(1, 1)
    """
    ruled, knows, links = amounts
    every = worlds(groups, weigh)
    people = range(sum(len(bag) for _, bag in groups))
    others = sorted({x for _, bag in groups for x in bag} - set(secret))
    best = Fraction(0)
    for target in people:
        rest = [person for person in people if person != target]
        for combination in combinations(rest, min(knows, len(rest))):
            free = [person for person in rest if person not in combination]
            for linked in combinations(free, min(links, len(free))):
                for ruled_out in combinations(others, min(ruled, len(others))):
                    best = max(
                        best, _surest_of(every, secret, target, combination, linked, ruled_out)
                    )
    return best


def _surest_of(every, secret, target, known, linked, ruled_out):
    had, total = {}, {}
    for world, weight in every:
        own = world[target]
        if own in ruled_out:
            continue
        seen = tuple(world[person] for person in known)
        if own in secret:
            had[seen] = had.get(seen, 0) + weight
        elif any(world[person] in secret for person in linked):
            continue
        total[seen] = total.get(seen, 0) + weight
    return max((weight / total[seen] for seen, weight in had.items()), default=Fraction(0))


# ---- T and V of one group ------------------------------------------------------------------------

# Of the skyline paper, section 6.1, in fractions, mended: every numerator is clipped at 0, V is 1
# when there are no relatives, and fewer than l other values means those there are. A group is
# (number of people, {value: count}).


def t_of(group, value, l, k, semantics):  # noqa: E741
    """Odds against the target having the value: l values ruled out or implying it, k known."""
    n, counts = group
    s = counts.get(value, 0)
    if s == 0:
        return math.inf
    others = sorted((count for x, count in counts.items() if x != value), reverse=True)[:l]
    if semantics == "single":
        return Fraction(max(n - s - sum(others) - k, 0), s)
    if semantics == "set":
        odds = Fraction(max(n - s - k, 0), s)
        for count in others:
            odds *= Fraction(max(n - count, 0), n)
        return odds
    if n - k - 1 <= 0:
        return Fraction(0)
    none = Fraction(n - k - 1, n - k) ** s  # that the target has none of the s occurrences
    return none / (1 - none) * Fraction(n - 1, n) ** sum(others)


def v_of(group, value, m, k, semantics):
    """Chance that none of m relatives has the value, k others being known not to have it."""
    n, counts = group
    s = counts.get(value, 0)
    if m == 0 or s == 0:
        return Fraction(1)
    if semantics == "multiset":
        return Fraction(n - k - m, n - k) ** s if n - k - m > 0 else Fraction(0)
    chance = Fraction(1)
    for i in range(m):
        if n - s - k - i <= 0:
            return Fraction(0)
        chance *= Fraction(n - s - k - i, n - k - i)
    return chance


# ---- sets of values and windows, by listing worlds ---------------------------------------------

# ---- sets ----------------------------------------------------------------------------------------

# Nothing here knows the library or its formulas.


def meant(given, values):
    """The values that a list means, where ``B20*`` means all that begin so, or a range of numbers.

    >>> sorted(meant(["B20*", "Z9"], {"B20", "B20.1", "B2", "Z"})), meant({"to": 2}, {"2.0", "3"})
    (['B20', 'B20.1'], {'2.0'})
    """
    if isinstance(given, dict):
        results = set()
        for value in values:
            if value.replace(".", "").replace("-", "").isdecimal():
                above = "from" not in given or Fraction(value) >= Fraction(str(given["from"]))
                below = "to" not in given or Fraction(value) <= Fraction(str(given["to"]))
                results |= {value} if above and below else set()
        return results
    results = set()
    for text in given:
        for value in values:
            begins = value[: len(text) - 1] == text[:-1]
            if value == text or (text[-1] == "*" and begins):
                results.add(value)
    return results


# ---- windows -------------------------------------------------------------------------------------

# Windows begin anywhere, at values and between them: every x at which what lies in [x, x + w]
# changes, and a point between each two. Nothing here knows the library or its formulas.


def windows_of(values, wide, share=False):
    """The sets of values that lie in some window; `share` says that it is so wide for its amount.

    >>> [sorted(map(int, s)) for s in windows_of([1, 2, 4], 2)]
    [[1], [1, 2], [2], [2, 4], [4]]
    >>> [sorted(map(int, s)) for s in windows_of([-110, -100, 0, 5], Fraction(1, 10), share=True)]
    [[-110], [-110, -100], [-100], [0], [5]]
    """
    values, wide = sorted({Fraction(v) for v in values}), Fraction(wide)

    def holds(x, v):
        if not share:
            return x <= v <= x + wide
        # Near by amount: of one sign, and the larger amount at most so much above the smaller.
        return x <= v <= x * (1 + wide) if x >= 0 else x <= v <= x / (1 + wide)

    if share:
        begins = {v / (1 + wide) if v > 0 else v * (1 + wide) for v in values}
    else:
        begins = {v - wide for v in values}
    changes = sorted(begins | set(values))
    between = [(one + other) / 2 for one, other in pairwise(changes)]
    results = {frozenset(v for v in values if holds(x, v)) for x in (*changes, *between)}
    return sorted(results - {frozenset()}, key=sorted)


# ---- merged windows ------------------------------------------------------------------------------

# What somebody finds out of a window of numbers who knows of one other person.


def maximal(values, wide, share=False):
    """Sets of numbers that lie in one window and to which none can be added.

    >>> [sorted(map(int, s)) for s in maximal([1, 2, 4, 5, 9], 3)]
    [[1, 2, 4], [2, 4, 5], [9]]
    """
    values, wide = sorted({Fraction(value) for value in values}), Fraction(wide)

    def end(x):
        if not share:
            return x + wide
        return x * (1 + wide) if x >= 0 else x / (1 + wide)

    every = [frozenset(v for v in values if x <= v <= end(x)) for x in values]
    return sorted({own for own in every if not any(own < other for other in every)}, key=sorted)


def worst_of_two(bags, wide, out, link):
    """Highest chance that a target's number lies in a window, by `out` values and one other person.

    Of the other is known, if anything: with ``link="same"`` that the target's number lies in the
    window if theirs does; with "any" that it does if theirs lies in some window, whichever; with
    "near" that both lie so near each other.

    >>> [str(worst_of_two([[0, 0, 6, 2]], 1, 0, link)) for link in ("same", "any", "near")]
    ['3/4', '3/4', '1']
    """
    every, best = maximal([value for bag in bags for value in bag], wide), Fraction(0)
    for home, bag in enumerate(bags):
        for place, other in enumerate(bags):
            ways = [
                (mine, theirs)
                for i, mine in enumerate(bag)
                for j, theirs in enumerate(other)
                if home != place or i != j
            ]
            for many in range(out + 1):
                for excluded in combinations(sorted(set(bag)), many):
                    left = [pair for pair in ways if pair[0] not in excluded]
                    for window in every:
                        for kept in _linked(left, window, every, wide, link):
                            hits = sum(mine in window for mine, _ in kept)
                            best = max(best, Fraction(hits, len(kept) or 1))
    return best


def _linked(ways, window, every, wide, link):
    """What is left of the values of two people by each link, and without one."""
    yield ways
    if link == "near":
        yield [(mine, theirs) for mine, theirs in ways if abs(mine - theirs) <= wide]
    for of in {"same": [window], "any": every}.get(link, []):
        yield [(mine, theirs) for mine, theirs in ways if theirs not in of or mine in window]
