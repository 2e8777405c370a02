"""Worlds in which some cannot have a value, and that fit statements."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations, product

from tests.oracle.worlds import about_others, arrangements

# ---- impossible worlds ---------------------------------------------------------------------------

# Worlds in which some people cannot have some values, one by one: slow, and right by inspection.
#
# A group is a list of (value, what this person cannot have); the bag of the group is all its
# values. A world gives each group's bag to its people, so that nobody has what they cannot have.
# A value may stand for all that a row shows of somebody, of which the adversary asks about, and
# knows, a part: `seen` gives this part. Nothing here knows the library or its formulas.


def worlds(groups):
    """All worlds of a release, equally likely: each is the tuple of everybody's value."""
    parts = []
    for group in groups:
        cannot = [own for _, own in group]
        parts.append(
            [
                dealt
                for dealt in arrangements([value for value, _ in group])
                if not any(value in own for value, own in zip(dealt, cannot, strict=True))
            ]
        )
    return [sum(dealt, ()) for dealt in product(*parts)]


def itself(value):
    """A value of which all is asked."""
    return value


def worst_cases(groups, value, most, seen=itself):
    """Highest posterior of a value for every amount of knowledge up to `most` = (l, k, m).

    Over every target, every choice of at most l other values that the target does not have, at most
    k other people whose value is known, and at most m relatives who are neither. Who are of one
    group and cannot have the same are exchangeable; nothing else is assumed.
    """
    all_worlds = worlds(groups)
    kinds, first = [], 0  # people who are exchangeable, and the values of their group
    for group in groups:
        alike = {}
        for place, (_, cannot) in enumerate(group):
            alike.setdefault(frozenset(cannot), []).append(first + place)
        kinds += [(people, sorted({seen(own) for own, _ in group})) for people in alike.values()]
        first += len(group)
    where = Counter()
    for i, world in enumerate(all_worlds):
        for person, own in enumerate(world):
            where[person, seen(own)] |= 1 << i
    everywhere = (1 << len(all_worlds)) - 1
    best = {}
    for (target, *_), bag in kinds:
        hit = where[target, value]
        rulings = [
            (len(ruled_out), everywhere & ~sum(where[target, x] for x in ruled_out))
            for l in range(most[0] + 1)  # noqa: E741
            for ruled_out in combinations([x for x in bag if x != value], l)
        ]
        people, bags = zip(*kinds, strict=True)
        about = about_others(bags, people, target, value, most, where, everywhere, hit)
        for k, m, told in about:
            for l, allowed in rulings:  # noqa: E741
                if left := told & allowed:
                    chance = Fraction((left & hit).bit_count(), left.bit_count())
                    best[l, k, m] = max(best.get((l, k, m), Fraction(0)), chance)
    return {
        (l, k, m): max(
            best.get(few, Fraction(0)) for few in product(range(l + 1), range(k + 1), range(m + 1))
        )
        for l, k, m in product(*(range(amount + 1) for amount in most))  # noqa: E741
    }


def worst_negations(groups, value, most, seen=itself):
    """The same for somebody who knows at most so many times that someone lacks some value."""
    all_worlds = [tuple(map(seen, world)) for world in worlds(groups)]
    people = range(sum(map(len, groups)))
    values = sorted({seen(own) for group in groups for own, _ in group})
    best = Fraction(0)
    for many in range(most + 1):
        for combination in combinations(product(people, values), many):
            left = [w for w in all_worlds if all(w[person] != own for person, own in combination)]
            for target in people if left else ():
                hits = sum(world[target] == value for world in left)
                best = max(best, Fraction(hits, len(left)))
    return best


# ---- statement worlds ----------------------------------------------------------------------------

# Worlds of named people, and statements about them, one by one: slow, and right by inspection.
#
# A release is a list of groups, each (names, bag of values). A world says which set of values
# everybody has; it carries a weight, the sum over all ways to deal the bags that look like it. A
# statement is a tuple: ("has", person, value), ("not", s), ("and", s, ...), ("or", s, ...),
# ("->", s, s), ("<->", s, s) or ("same", person, ...). Nothing here knows the library.


def worlds_of_statement(groups, semantics, prior=None):
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
    results = {(): Fraction(1)}
    for names, bag in groups:
        counts = Counter()
        for deal in deals(names, bag, semantics):
            weight = Fraction(1)
            for pair in deal:
                weight *= prior.get(pair, 1)
            had = tuple((name, frozenset(v for who, v in deal if who == name)) for name in names)
            counts[had] += weight
        results = {
            w + part: a * b for w, a in results.items() for part, b in counts.items() if a * b
        }
    return results


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
