"""Worlds of rows with several columns, dealt to people who are known by some of them.

Slow, and plain: every order of the rows of a group is dealt to its people, and those orders stay in
which everybody has what is known of them. A column that is published apart is dealt by itself.
Nothing here knows the library or its formulas.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

from tests.oracle.sets import _told as _knowing_more


def joint_worlds(groups, secret, known, apart=()):
    """How often each world of the secret column comes up, over all deals of the rows.

    Parameters
    ----------
    groups : list of lists of dicts
        The rows of each group; row i is in truth person i's.
    secret : str
    known : collection of str
        Columns whose true values the adversary knows of everybody.
    apart : collection of str
        Columns that are shuffled within their group.

    >>> rows = [{"job": "cook", "ill": "flu"}, {"job": "nurse", "ill": "hiv"}]
    >>> joint_worlds([rows], "ill", ["job"])
    Counter({('flu', 'hiv'): 1})
    >>> len(joint_worlds([rows], "ill", []))
    2
    """
    found = Counter()
    for deals in product(*(list(_deals(rows, secret, known, apart)) for rows in groups)):
        found[sum(deals, ())] += 1
    return found


def _deals(rows, secret, known, apart):
    together = [name for name in known if name not in apart]
    for order in permutations(rows):
        pairs = list(zip(order, rows, strict=True))
        fits = all(row[name] == own[name] for row, own in pairs for name in together)
        if fits or secret in apart:  # what is shuffled may stand in anybody's row
            yield tuple(row[secret] for row in order)


def joint_bags(groups, secret, known, semantics):
    """The same where a person may have several values of the secret column, or none.

    The secret of a row is a list. Each occurrence goes to anybody of its group of whom the same is
    known; under ``set`` nobody gets a value twice. A world is of the sets of values people have.

    >>> rows = [{"job": "cook", "ill": ["flu", "hiv"]}, {"job": "nurse", "ill": []}]
    >>> len(joint_bags([rows], "ill", ["job"], "set")), len(joint_bags([rows], "ill", [], "set"))
    (1, 4)
    """
    found = Counter()
    for deals in product(*(list(_bag_deals(rows, secret, known, semantics)) for rows in groups)):
        found[sum(deals, ())] += 1
    return found


def _bag_deals(rows, secret, known, semantics):
    occurrences = [(value, row) for row in rows for value in row[secret]]
    able = [
        [i for i, row in enumerate(rows) if all(row[name] == own[name] for name in known)]
        for _, own in occurrences
    ]
    for holders in product(*able):
        pairs = [(i, value) for i, (value, _) in zip(holders, occurrences, strict=True)]
        if semantics == "multiset" or len(set(pairs)) == len(pairs):
            yield tuple(frozenset(v for i, v in pairs if i == who) for who in range(len(rows)))


def worst_over_worlds(worlds, value, most):
    """The highest posterior of a value over all people and facts, for every amount up to `most`."""
    every = [world for world, times in worlds.items() for _ in range(times)]
    people, values = range(len(every[0])), sorted({x for world in every for x in world})
    best = dict.fromkeys(product(*(range(amount + 1) for amount in most)), Fraction(0))
    for target in people:
        others = [person for person in people if person != target]
        for n, left in _ruled_out(every, target, values, most[0]):
            for amounts, kept in _knowing_more(left, others, target, {value}, most):
                found = Fraction(sum(w[target] == value for w in kept), len(kept))
                for at in best:
                    if all(a >= b for a, b in zip(at, (n, *amounts), strict=True)):
                        best[at] = max(best[at], found)
    return best


def _ruled_out(every, target, values, most):
    """What is left if some values of the target are ruled out, and how many these are."""
    chosen = [()]
    for place in range(most + 1):
        for excluded in chosen:
            left = [world for world in every if world[target] not in excluded]
            if left:
                yield place, left
        chosen = [(*old, x) for old in chosen for x in values if not old or x > old[-1]]
