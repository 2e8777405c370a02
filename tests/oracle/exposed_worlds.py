"""Who could be found out, person by person, by trying all facts that are true of a table.

A release is a list of bags; the table that it was made of gives the bag of each group to its people
in order. Nothing here knows the library or its formulas.
"""

from fractions import Fraction
from itertools import combinations, product

from tests.oracle.implications import Worlds, least_odds
from tests.oracle.worlds import members, worlds


def subsets(most, things):
    """All choices of at most so many."""
    return [chosen for size in range(most + 1) for chosen in combinations(things, size)]


class Release:
    """The worlds of a release as bits of a number, and the table that was published.

    >>> Release(["aab"]).surest_truth(2, (1, 0, 0))
    Fraction(1, 1)
    """

    def __init__(self, bags):
        self.bags = bags
        self.table = [value for bag in bags for value in bag]
        self.groups = members(bags)
        every = worlds(bags)
        self.everywhere = (1 << len(every)) - 1
        self.values = sorted(set(self.table))
        self.where = {
            (person, x): sum(1 << i for i, world in enumerate(every) if world[person] == x)
            for person in range(len(self.table))
            for x in self.values
        }

    def surest_truth(self, target, amounts):
        """How sure an adversary can be of the target's value who knows true facts about it."""
        return self._surest(target, self.table[target], amounts, truly=True)

    def surest(self, target, value, amounts):
        """The same for any value, by any facts that some table of the release allows."""
        return self._surest(target, value, amounts, truly=False)

    def _surest(self, target, value, amounts, truly):
        l, k, m = amounts  # noqa: E741
        hit = self.where[target, value]
        others = [person for person in range(len(self.table)) if person != target]
        rulings = []
        for excluded in subsets(l, [x for x in self.values if x != value]):
            left = self.everywhere
            for x in excluded:
                left &= ~self.where[target, x]
            rulings.append(left)
        best = Fraction(0)
        for subset in subsets(k, others):
            domains = [[self.table[p]] if truly else self.values for p in subset]
            for values in product(*domains):
                everywhere = self.everywhere
                for person, x in zip(subset, values, strict=True):
                    everywhere &= self.where[person, x]
                if not everywhere:
                    continue
                for family in subsets(m, [p for p in others if p not in subset]):
                    left = everywhere
                    for relative in family:
                        left &= ~self.where[relative, value] | hit
                    for allowed in rulings:
                        if final := left & allowed:
                            chance = Fraction((final & hit).bit_count(), final.bit_count())
                            best = max(best, chance)
        return best


def found_out(bags, amounts, limit, values):
    """People whose own value, if it is one of these, true facts disclose; and how many groups."""
    release = Release(bags)
    caught = [
        person
        for person, value in enumerate(release.table)
        if value in values and release.surest_truth(person, amounts) >= limit
    ]
    return len(caught), sum(any(p in group for p in caught) for group in release.groups)


def suspected(bags, amounts, limit, values):
    """People of whom facts that may be untrue of them suggest one of these values."""
    release = Release(bags)
    return sum(
        any(release.surest(person, value, amounts) >= limit for value in values)
        for person in range(len(release.table))
    )


def found_out_by_implications(bags, k, limit, values):
    """People whose own value k implications, which all end with it, disclose; and groups."""
    space = Worlds(bags)
    people = groups = 0
    for group, bag in zip(space.groups, bags, strict=True):
        caught = 0
        for value in set(bag) & set(values):
            odds = least_odds(space, group[0], value, k)[k]
            caught += list(bag).count(value) * (1 / (1 + odds) >= limit)
        people, groups = people + caught, groups + (caught > 0)
    return people, groups


def found_out_of_sets(bags, amounts, limit, sets):
    """The same of sets of values, whichever of a set it is: people, and in how many groups.

    Each set is a secret of its own, of which its values are one. Whoever is found out by several
    sets is one person.
    """
    people = set()
    for one in sets:
        own = [["*" if value in one else value for value in bag] for bag in bags]
        release = Release(own)
        for person, value in enumerate(release.table):
            if value == "*" and release.surest_truth(person, amounts) >= limit:
                people.add(person)
    return len(people), sum(any(p in group for p in people) for group in members(bags))
