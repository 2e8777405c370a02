"""Worlds of named people, and statements about them, one by one: slow, and right by inspection.

A release is a list of groups, each (names, bag of values). A world says which set of values
everybody has; it carries a weight, the sum over all ways to deal the bags that look like it. A
statement is a tuple: ("has", person, value), ("not", s), ("and", s, ...), ("or", s, ...),
("->", s, s), ("<->", s, s) or ("same", person, ...). Nothing here knows the library.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product


def worlds(groups, semantics, prior=None):
    """All worlds, each a tuple of pairs (person, values), with their weights.

    Parameters
    ----------
    groups : list of (names, bag)
    semantics : {"single", "set", "multiset"}
    prior : dict of (person, value) -> Fraction, optional
        A way to deal weighs the product over its pairs, and so does everybody's repeated value.

    Returns
    -------
    dict of world -> Fraction
    """
    prior = prior or {}
    found = {(): Fraction(1)}
    for names, bag in groups:
        here = Counter()
        for deal in deals(names, bag, semantics):
            weight = Fraction(1)
            for pair in deal:
                weight *= prior.get(pair, 1)
            had = tuple((name, frozenset(v for who, v in deal if who == name)) for name in names)
            here[had] += weight
        found = {w + part: a * b for w, a in found.items() for part, b in here.items() if a * b}
    return found


def deals(names, bag, semantics):
    """Every way to deal a bag to people, as lists of pairs (person, value).

    >>> list(deals(["A", "B"], "xy", "single"))
    [[('A', 'x'), ('B', 'y')], [('A', 'y'), ('B', 'x')]]
    >>> len(list(deals(["A", "B"], "xxy", "multiset")))
    8
    """
    if semantics == "single":
        for order in sorted(set(permutations(bag))):
            yield list(zip(names, order, strict=True))
        return
    counts = sorted(Counter(bag).items())
    if semantics == "set":
        ways = [list(combinations(names, count)) for _, count in counts]
    else:
        ways = [list(product(names, repeat=count)) for _, count in counts]
    for chosen in product(*ways):
        yield [
            (who, value)
            for (value, _), holders in zip(counts, chosen, strict=True)
            for who in holders
        ]


def holds(statement, world):
    """Whether a statement holds where people have these values (a dict of person -> set)."""
    kind, *parts = statement
    if kind == "has":
        return parts[1] in world[parts[0]]
    if kind == "same":
        return len({frozenset(world[person]) for person in parts}) == 1
    truths = [holds(part, world) for part in parts]
    if kind == "not":
        return not truths[0]
    if kind == "and":
        return all(truths)
    if kind == "or":
        return any(truths)
    if kind == "->":
        return truths[1] if truths[0] else True
    if kind == "<->":
        return truths[0] == truths[1]
    raise ValueError(kind)


def agreeing(all_worlds, statements):
    """The worlds in which all statements hold, as (dict, weight)."""
    pairs = ((dict(world), weight) for world, weight in all_worlds.items())
    return [(w, weight) for w, weight in pairs if all(holds(s, w) for s in statements)]


def posterior(all_worlds, statements, person, value):
    """Probability that a person has a value; None if no world agrees."""
    left = agreeing(all_worlds, statements)
    total = sum(weight for _, weight in left)
    if not total:
        return None
    return sum((weight for w, weight in left if value in w[person]), Fraction(0)) / total
