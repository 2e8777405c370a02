"""Risks by counting rows and people, one by one, and by trying all facts that are true of a table.

Of exposed people, a release is a list of bags; the table that it was made of gives the bag of each
group to its people in order. Nothing here knows the library or its formulas.
"""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, product
from math import comb, factorial

from tests.oracle.worlds import members, worlds

# ---- risk rows -----------------------------------------------------------------------------------

# Risks, distinction, separation and minimal uniques, row by row and pair by pair: slow and plain.
#
# A table is a list of tuples, one for each person. Nothing here knows the library or its
# formulas.


def alike(rows, one, places):
    """How many rows have the values of one row in some places, itself included."""
    return sum(all(row[place] == one[place] for place in places) for row in rows)


def sets_of(n_columns, most):
    """All sets of 1 to so many columns."""
    return chain.from_iterable(combinations(range(n_columns), k) for k in range(1, most + 1))


def prosecutor(rows, limit):
    """Highest, lowest and average risk, people above the limit, and people at the highest."""
    every = range(len(rows[0]))
    risks = [Fraction(1, alike(rows, row, every)) for row in rows]
    return figures(risks, limit, sum(risks) / len(risks))


def journalist(rows, population, limit):
    """The same against a population: the average is the larger of two."""
    every = range(len(rows[0]))
    risks = [Fraction(1, alike(population, row, every)) for row in rows]
    meant = [row for row in population if row in rows]
    among = sum((Fraction(1, alike(population, row, every)) for row in meant), Fraction(0))
    return figures(risks, limit, max(sum(risks) / len(risks), among / len(meant)))


def figures(risks, limit, average):
    """What is reported of the risk of each person."""
    above = sum(risk > limit for risk in risks)
    return max(risks), min(risks), average, above, risks.count(max(risks))


def separation(rows, places):
    """Of all pairs of people, how many differ; 1 where there are no pairs."""
    pairs = [any(a[p] != b[p] for p in places) for a, b in combinations(rows, 2)]
    return Fraction(sum(pairs), len(pairs)) if pairs else Fraction(1)


def distinction(rows, places):
    """Different values for each person."""
    return Fraction(len({tuple(row[p] for p in places) for row in rows}), len(rows))


def uniques(rows, places):
    """People whom nobody resembles in some places."""
    return sum(alike(rows, row, places) == 1 for row in rows)


def minimal_uniques(rows, one, most):
    """Sets of columns by which a row is unique, and by no part of them."""
    results = []
    for places in sets_of(len(one), most):
        if alike(rows, one, places) != 1:
            continue
        parts = chain.from_iterable(combinations(places, k) for k in range(1, len(places)))
        if all(alike(rows, one, part) > 1 for part in parts):
            results.append(places)
    return results


def suda_score(rows, one, most):
    """(m - k)! for each minimal unique of k of m columns."""
    return sum(factorial(len(one) - len(p)) for p in minimal_uniques(rows, one, most))


def dis(rows, fraction):
    """Skinner and Elliot's measure: uniques against people in pairs."""
    every = range(len(rows[0]))
    sizes = [alike(rows, row, every) for row in rows]
    right = sizes.count(1) * fraction
    wrong = sizes.count(2) * (1 - fraction)
    return right / (right + wrong) if right + wrong else Fraction(0)


def dis_scores(rows, fraction, most):
    """The DIS score of each row, by its definition; 0 for who is no minimal unique."""
    scores = [suda_score(rows, row, most) for row in rows]
    power = 1 + (8 - len(rows[0])) / 20
    total = sum(1 / score**power for score in scores if score)
    every = range(len(rows[0]))
    alone = sum(alike(rows, row, every) == 1 for row in rows)
    rest = float(alone / dis(rows, fraction) - alone) if alone else 0
    return [1 / (1 + rest / (score**power * total)) if score else 0 for score in scores]


# ---- the models of a population --------------------------------------------------------------


@cache
def drawn_once(size, people, population):
    """How likely a class of a size gives one person to a sample, drawn without putting back."""
    ways = size * comb(population - size, people - 1)
    return Fraction(ways, comb(population, people))


def zayatz(sizes, population):
    """Bayes' rule over the sizes of the sample's classes."""
    people = sum(sizes)
    among = [drawn_once(size, people, population) for size in sizes]
    ones = sizes.count(1)
    chance = ones * drawn_once(1, people, population) / sum(among)
    return ones * chance * Fraction(population, people)


def pitman_slopes(sizes, theta, alpha):
    """How the likelihood of a sample changes with theta and alpha, term by term."""
    people, classes = sum(sizes), len(sizes)
    by_theta = sum(1 / (theta + i * alpha) for i in range(1, classes))
    by_theta -= sum(1 / (theta + i) for i in range(1, people))
    by_alpha = sum(i / (theta + i * alpha) for i in range(1, classes))
    by_alpha -= sum(1 / (k - alpha) for size in sizes for k in range(1, size))
    return by_theta, by_alpha


def pitman_solution(sizes):
    """Theta and alpha at which both slopes are 0, by halving within halving."""

    def theta_of(alpha):
        low, high = 1e-9, 1e7
        for _ in range(70):
            middle = (low * high) ** 0.5
            if pitman_slopes(sizes, middle - alpha, alpha)[0] > 0:
                low = middle
            else:
                high = middle
        return low - alpha

    low, high = 1e-6, 1 - 1e-9
    for _ in range(32):
        middle = (low + high) / 2
        if pitman_slopes(sizes, theta_of(middle), middle)[1] > 0:
            low = middle
        else:
            high = middle
    return theta_of(low), low


def seated(theta, alpha, people):
    """Expected classes of one person, by seating people one after another; exact for fractions."""
    worlds = {(): Fraction(1)}
    for seat in range(people):
        after = {}
        for sizes, chance in worlds.items():
            for position, size in enumerate(sizes):
                grown = tuple(sorted([*sizes[:position], size + 1, *sizes[position + 1 :]]))
                share = chance * (size - alpha) / (theta + seat)
                after[grown] = after.get(grown, 0) + share
            opened = (theta + alpha * len(sizes)) / (theta + seat) if seat else Fraction(1)
            alone = tuple(sorted([*sizes, 1]))
            after[alone] = after.get(alone, 0) + chance * opened
        worlds = after
    return sum(sizes.count(1) * chance for sizes, chance in worlds.items())


def slide_expected(classes, alpha, beta, fraction):
    """Expected classes of one and of two people in a sample, size by size."""
    ones = twos = 0.0
    chance, size = beta**alpha, 1  # of a class of the population to have a size
    while (size + 2) ** 2 * (1 - fraction) ** (size - 2) > 1e-18:
        ones += chance * size * fraction * (1 - fraction) ** (size - 1)
        if size > 1:
            pairs = size * (size - 1) / 2
            twos += chance * pairs * fraction**2 * (1 - fraction) ** (size - 2)
        chance *= (alpha + size - 1) / size * (1 - beta)
        size += 1
    return classes * ones, classes * twos


def shlosser(sizes, fraction):
    """Haas and Stokes' third form of Shlosser's estimator, exact for fractions."""
    q = fraction
    unseen = sum((1 - q) ** i for i in sizes)
    once = sum(i * q * (1 - q) ** (i - 1) for i in sizes)
    first = sum(i * q**2 * (1 - q**2) ** (i - 1) for i in sizes)
    second = sum((1 - q) ** i * ((1 + q) ** i - 1) for i in sizes)
    return len(sizes) + sizes.count(1) * (first / second) * (unseen / once) ** 2


def inverse_size(size, fraction):
    """Expected 1 / F where F - f is negative binomial, term by term."""
    total, chance, others = 0.0, float(fraction) ** size, size
    while others < 2_000_000:
        total += chance / others
        chance *= others / (others - size + 1) * (1 - float(fraction))
        others += 1
        if chance < 1e-20 and others > size / float(fraction):
            break
    return total


# ---- risk figures --------------------------------------------------------------------------------

# How easily people are recognized: every person by themselves, in exact fractions.


def alike_of_risk_figures(rows, columns):
    """Of each row, how many rows have the same texts in these columns, itself included."""
    keys = [tuple(row[name] for name in columns) for row in rows]
    return [sum(other == key for other in keys) for key in keys]


def figures_of_risk_figures(rows, columns):
    """The highest risk of a person, the average of everybody's, and the share of the unique."""
    many = alike_of_risk_figures(rows, columns)
    risks = [Fraction(1, one) for one in many]
    unique = sum(one == 1 for one in many)
    return {
        "prosecutor": max(risks),
        "average": sum(risks) / len(risks),
        "uniqueness": Fraction(unique, len(rows)),
    }


def first_of(found, asked, strict):
    """What is attained, and whether all hold: the first that fails, else the first asked."""
    names = [name for name in found if name in asked]
    failing = [
        name
        for name in names
        if found[name] > asked[name] or (strict and found[name] == asked[name])
    ]
    return found[(failing or names)[0]], not failing


# ---- look alikes ---------------------------------------------------------------------------------

# Whom somebody cannot tell apart in a release that was written, by looking at every row for each.
#
# Files are lists of rows, each a mapping of column to text. Nothing here knows the library.


def candidates(people, known, target):
    """The rows that may be the target's, to somebody who knows some of its columns as published."""
    return [row for row in people if all(row[name] == target[name] for name in known)]


def fewest(people, known):
    """How many candidates there are at least, whoever is looked for."""
    return min(len(candidates(people, known, target)) for target in people)


def alone(people, known):
    """How many people have no other candidate."""
    return sum(len(candidates(people, known, target)) == 1 for target in people)


def over(people, known, k):
    """People with fewer candidates than k."""
    return sum(len(candidates(people, known, target)) < k for target in people)


def presence(people, known, everybody, covers):
    """How sure one is at least and at most that somebody of a population is in the table.

    Each row is of one of those whom it can be, all as likely; no two rows of different labels can
    be of the same person.
    """
    chances = []
    for own in everybody:
        rows = [r for r in people if all(covers(r[name], own[name]) for name in known)]
        among = [o for o in everybody if all(o[name] == own[name] for name in known)]
        if rows:
            row = rows[0]
            among = [o for o in everybody if all(covers(row[n], o[n]) for n in known)]
        chances.append(Fraction(len(rows), len(among)))
    return min(chances), max(chances)


# ---- presence worlds -----------------------------------------------------------------------------

# Who of a population may be in a table: every way to choose people for each group.


def chosen(cover, sizes, taken=frozenset()):
    """Every set of people that could make the groups; `cover` lists who could be in each."""
    if not cover:
        yield taken
        return
    free = [person for person in cover[0] if person not in taken]
    for chosen_people in combinations(free, sizes[0]):
        yield from chosen(cover[1:], sizes[1:], taken | set(chosen_people))


def presence_in_worlds(people, cover, sizes):
    """How likely each of so many people is in the table, where all ways are equally likely."""
    counts, ways = Counter(), 0
    for inside in chosen(cover, sizes):
        ways += 1
        counts.update(inside)
    return [Fraction(counts[person], ways) for person in range(people)]


# who could be found out, person by person, by trying all facts that are true of a table.
# A release is a list of bags; the table that it was made of gives the bag of each group to its
# people  in order. Nothing here knows the library or its formulas.


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


def found_out_of_sets(bags, amounts, limit, sets):
    """People of whom true facts disclose a set of values; and in how many groups they are.

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
