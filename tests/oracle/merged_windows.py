"""What somebody finds out of a window of numbers, where statements are sets of worlds: slow, plain.

A world says who of each group has which of its values; all are as likely. A statement is the set of
worlds in which it is true, as the bits of a whole number, so that what an adversary believes is a
few numbers. Nothing here knows the library, its formulas or the other oracles.
"""

from fractions import Fraction
from itertools import combinations, permutations, product


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


def worst_of_maximal(bags, wide, most, share=False):
    """Highest chance that somebody's number lies in one of these, for every amount up to `most`.

    The numbers of a window are one value before anything is asked.

    >>> worst_of_maximal([[1, 2, 9]], 1, (1, 0, 0))[0, 0, 0]
    Fraction(2, 3)
    """
    each = []
    for window in maximal([value for bag in bags for value in bag], wide, share):
        merged = [["in" if value in window else value for value in bag] for bag in bags]
        each.append(highest(merged, "in", most))
    return {at: max(found[at] for found in each) for at in each[0]}


def highest(bags, secret, most):
    """Highest chance that somebody has one value, for every amount of facts up to `most`."""
    deals = [sorted(set(permutations(bag)), key=str) for bag in bags]
    worlds = [sum(deal, ()) for deal in product(*deals)]
    values = sorted({value for bag in bags for value in bag}, key=str)
    has = {
        (person, value): sum(1 << at for at, world in enumerate(worlds) if world[person] == value)
        for person in range(len(worlds[0]))
        for value in values
    }
    every, best = (1 << len(worlds)) - 1, dict.fromkeys(product(*map(_up_to, most)), Fraction(0))
    for target in (sum(map(len, bags[:group])) for group in range(len(bags))):
        hit = has[target, secret]
        believed = {(every, 0, 0, 0)}
        for value in values:  # the target does not have it
            believed |= {(w & ~has[target, value], a + 1, b, c) for w, a, b, c in believed}
        for person in range(len(worlds[0])):
            if person != target:  # known to have a value, or linked
                every_value, link = [has[person, v] for v in values], hit | ~has[person, secret]
                known = {(w & own, a, b + 1, c) for w, a, b, c in believed for own in every_value}
                believed |= known | {(w & link, a, b, c + 1) for w, a, b, c in believed}
            believed = {
                (w, *used)
                for w, *used in believed
                if w and all(one <= own for one, own in zip(used, most, strict=True))
            }
        for left, *used in believed:
            chance = Fraction((left & hit).bit_count(), left.bit_count())
            for at in best:
                if chance > best[at] and all(a >= b for a, b in zip(at, used, strict=True)):
                    best[at] = chance
    return best


def _up_to(amount):
    return range(amount + 1)


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
