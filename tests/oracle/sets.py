"""The worst posterior that a target has any of a set of values, world by world: slow, and plain.

Worlds are of the values themselves, as in `tests.oracle.worlds`: nothing is merged. The adversary
rules out single values of the target, of the set or not; knows the values of other people, each by
itself; and knows links: if another person has one of the set, whichever, so has the target.
Nothing here knows the library or its formulas.
"""

from fractions import Fraction
from itertools import combinations, product

from tests.oracle.many_worlds import members as many_members
from tests.oracle.many_worlds import worlds as many_worlds
from tests.oracle.posterior_worlds import binary, joint
from tests.oracle.worlds import members, worlds


def worst_of_set(bags, united, most):
    """Highest posterior that somebody has one of `united`, for every amount up to `most`.

    >>> worst_of_set(["xyz"], {"x", "y"}, (1, 0, 0))[1, 0, 0]
    Fraction(1, 1)
    """
    everybody, every = worlds(bags), sorted({value for bag in bags for value in bag})
    best = dict.fromkeys(product(*(range(amount + 1) for amount in most)), Fraction(0))
    groups = members(bags)
    people = [person for group in groups for person in group]
    for home in groups:
        target = home[0]
        others = [person for person in people if person != target]
        for n in range(most[0] + 1):
            for excluded in combinations(every, n):
                left = [world for world in everybody if world[target] not in excluded]
                for amounts, kept in _told(left, others, target, united, most):
                    hits = sum(world[target] in united for world in kept)
                    found = Fraction(hits, len(kept))
                    for at in best:
                        enough = all(a >= b for a, b in zip(at, (n, *amounts), strict=True))
                        if enough and found > best[at]:
                            best[at] = found
    return best


def _told(left, others, target, united, most):
    """What is left for every choice of known people and links, with how many there are of each."""
    if not left:
        return
    if not others:
        yield (0, 0), left
        return
    person, *rest = others
    yield from _told(left, rest, target, united, most)
    _, k, m = most
    if k:
        for value in sorted({world[person] for world in left}):
            known = [world for world in left if world[person] == value]
            for (a, b), kept in _told(known, rest, target, united, (0, k - 1, m)):
                yield (a + 1, b), kept
    if m:
        linked = [w for w in left if w[person] not in united or w[target] in united]
        for (a, b), kept in _told(linked, rest, target, united, (0, k, m - 1)):
            yield (a, b + 1), kept


def worst_of_set_of_many(groups, united, most, semantics):
    """The same where a person may have several values; groups as in `tests.oracle.many_worlds`.

    The adversary knows of the target which other values bring one of the set with them; of other
    people that they have none of it; and the same links.

    >>> worst_of_set_of_many([(2, "xy")], {"x", "y"}, (0, 0, 0), "multiset")[0, 0, 0]
    Fraction(3, 4)
    """
    best = dict.fromkeys(product(*(range(amount + 1) for amount in most)), Fraction(0))
    dealt = list(many_worlds(groups, semantics).items())
    every = sorted({value for _, bag in groups for value in bag} - united)
    groups_of = many_members(groups)
    for home in groups_of:
        target = home[0]
        others = [person for group in groups_of for person in group if person != target]
        for n in range(most[0] + 1):
            for bringing in combinations(every, n):
                left = [
                    (world, ways)
                    for world, ways in dealt
                    if world[target] & united or not world[target] & set(bringing)
                ]
                for amounts, kept in _told_of_many(left, others, target, united, most):
                    total = sum(ways for _, ways in kept)
                    hits = sum(ways for world, ways in kept if world[target] & united)
                    for at in best:
                        enough = all(a >= b for a, b in zip(at, (n, *amounts), strict=True))
                        if enough and Fraction(hits, total) > best[at]:
                            best[at] = Fraction(hits, total)
    return best


def _told_of_many(left, others, target, united, most):
    """What is left for every choice of people who have none, and of relatives."""
    if not left:
        return
    if not others:
        yield (0, 0), left
        return
    person, *rest = others
    yield from _told_of_many(left, rest, target, united, most)
    _, k, m = most
    if k:
        known = [(world, ways) for world, ways in left if not world[person] & united]
        for (a, b), kept in _told_of_many(known, rest, target, united, (0, k - 1, m)):
            yield (a + 1, b), kept
    if m:
        linked = [(w, n) for w, n in left if not w[person] & united or w[target] & united]
        for (a, b), kept in _told_of_many(linked, rest, target, united, (0, k, m - 1)):
            yield (a, b + 1), kept


def worst_of_set_by_priors(groups, united, reading):
    """The highest posterior of having one of `united`, and the highest by its prior.

    Groups are lists of (row of priors, value), as in `tests.oracle.posterior_worlds`. Under
    ``joint`` worlds say who has which value, under ``binary`` who has one of the set.

    >>> half = Fraction(1, 2)
    >>> rows = [({"x": half, "y": half, "z": 0}, v) for v in "xy"]
    >>> worst_of_set_by_priors([rows], {"x", "y"}, "joint")
    (Fraction(1, 1), Fraction(1, 1))
    """
    highest = by_prior = Fraction(0)
    for group in groups:
        people, bag = [row for row, _ in group], [value for _, value in group]
        if reading == "joint":
            found = joint(people, bag)
            if found is None:
                return None
            chances = [sum((own.get(x, 0) for x in united), Fraction(0)) for own in found]
        else:
            rows = [{"in": sum((row[x] for x in united), Fraction(0))} for row in people]
            chances = binary(rows, ["in" if x in united else "out" for x in bag], "in")
            if chances is None:
                return None
        for row, chance in zip(people, chances, strict=True):
            prior = sum((row[x] for x in united), Fraction(0))
            highest = max(highest, chance)
            by_prior = max(by_prior, chance / prior if prior else Fraction(0))
    return highest, by_prior


def meant(given, values):
    """The values that a list means, where ``B20*`` means all that begin so, or a range of numbers.

    >>> sorted(meant(["B20*", "Z9"], {"B20", "B20.1", "B2", "Z"})), meant({"to": 2}, {"2.0", "3"})
    (['B20', 'B20.1'], {'2.0'})
    """
    if isinstance(given, dict):
        found = set()
        for value in values:
            if value.replace(".", "").replace("-", "").isdecimal():
                above = "from" not in given or Fraction(value) >= Fraction(str(given["from"]))
                below = "to" not in given or Fraction(value) <= Fraction(str(given["to"]))
                found |= {value} if above and below else set()
        return found
    found = set()
    for text in given:
        for value in values:
            begins = value[: len(text) - 1] == text[:-1]
            if value == text or (text[-1] == "*" and begins):
                found.add(value)
    return found


def of_tenths(bags):
    """How many groups of numbers, and of how many people, lie wholly in the lowest tenth; highest.

    People stand in a row, by their numbers; the first tenth of them, rounded up, and whoever has
    the number of the last of these, are the lowest. Where these are all people, none are.

    >>> of_tenths([[1, 1], [1, 9], [2, 9], [3, 9]])
    ((1, 2), None)
    """
    row = sorted(number for bag in bags for number in bag)
    many = -(-len(row) // 10)
    last, first = row[many - 1], row[-many]
    lowest = [bag for bag in bags if bag and all(number <= last for number in bag)]
    highest = [bag for bag in bags if bag and all(number >= first for number in bag)]
    low = (len(lowest), sum(map(len, lowest))) if last < row[-1] and lowest else None
    high = (len(highest), sum(map(len, highest))) if first > row[0] and highest else None
    return low, high
