"""Small random groups with priors, and what enumeration says of them."""

from collections import Counter
from fractions import Fraction

import numpy as np
from tests.oracle.posterior_worlds import binary, joint

from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups

CHANCES = [Fraction(a, b) for b in (1, 2, 3, 7, 10, 1000) for a in range(b + 1)][:40]
WITH_ZEROS = [*CHANCES, *[Fraction(0)] * 8]
TINY = [Fraction(10) ** -e for e in (0, 1, 3, 30, 120, 200, 300)]


def groups_of(*held):
    """Groups from the signature of every person and the value of every occurrence."""

    def sparse(rows):
        cells = [sorted(Counter(row).items()) for row in rows]
        codes, amounts = zip(*(pair for row in cells for pair in row), strict=True)
        return np.cumsum([0, *map(len, cells)]), np.array(codes), np.array(amounts)

    return SignatureGroups(*sparse([s for s, _ in held]), *sparse([x for _, x in held]))


def table_of(found, group):
    """Posteriors of one group, signatures by values."""
    case = found.case_of[group]
    cells = found.probabilities[found.offsets[case] : found.offsets[case + 1]]
    return cells.reshape(len(found.cases.people_of(case)), -1)


def kind_of(found, group):
    """Whether a group is exact, bounded (somewhere) or impossible (for some value)."""
    case = found.case_of[group]
    cells = slice(found.offsets[case], found.offsets[case + 1])
    if np.isnan(found.probabilities[cells]).any():
        return "impossible"
    return "bounded" if found.bounded[cells].any() else "exact"


def random_table(random, n_signatures, n_values, kind=None):
    """A table of priors: any, with zeros, summing to one, far apart, or with proportional rows."""
    kind = kind or random.choice(["any", "zeros", "sums", "tiny", "alike"])
    if kind == "sums":
        rows = [[random.randint(1, 9) for _ in range(n_values)] for _ in range(n_signatures)]
        return [[Fraction(a, sum(row)) for a in row] for row in rows]
    if kind == "alike":
        base = [Fraction(random.randint(0, 4), 4) for _ in range(n_values)]
        scales = [Fraction(1, random.choice([1, 2, 3])) for _ in range(n_signatures)]
        rows = [[scale * chance for chance in base] for scale in scales]
        rows[0] = [Fraction(random.randint(1, 9), 9) for _ in range(n_values)]
        return rows
    among = {"any": CHANCES, "zeros": WITH_ZEROS, "tiny": TINY}[kind]
    return [[random.choice(among) for _ in range(n_values)] for _ in range(n_signatures)]


def random_group(random, size, n_signatures, n_values):
    """Signature codes of the people, and value codes of the bag."""
    return (
        [random.randrange(n_signatures) for _ in range(size)],
        [random.randrange(n_values) for _ in range(size)],
    )


def random_scene(random, n_groups=20, most=5, kind=None):
    """Groups as lists, their `SignatureGroups` and a `PriorMatrix`."""
    n_signatures, n_values = random.randint(1, 4), random.randint(1, 4)
    priors = PriorMatrix.from_fractions(random_table(random, n_signatures, n_values, kind))
    held = [
        random_group(random, random.randint(1, most), n_signatures, n_values)
        for _ in range(n_groups)
    ]
    return held, groups_of(*held), priors


def people_rows(signatures, priors):
    """What the oracle takes: a dict of priors per person."""
    return [dict(enumerate(priors.fractions[s])) for s in signatures]


def truth(held, priors, reading):
    """Enumerated posteriors, by signature and held value in order of codes."""
    signatures, bag = held
    people = people_rows(signatures, priors)
    rows, columns = sorted(set(signatures)), sorted(set(bag))
    if reading == "joint":
        found = joint(people, bag)
        return [[found and found[signatures.index(s)][x] for x in columns] for s in rows]
    by_value = {x: binary(people, bag, x) for x in columns}
    return [[by_value[x] and by_value[x][signatures.index(s)] for x in columns] for s in rows]


def close(found, true, error, absolute=2.0**-300):
    """Whether floats are within their stated error of fractions, None being NaN."""
    for row, true_row in zip(found.tolist(), true, strict=True):
        for p, t in zip(row, true_row, strict=True):
            if t is None:
                if not np.isnan(p):
                    return False
            elif np.isnan(p) or abs(Fraction(p) - t) > Fraction(error) * t + Fraction(absolute):
                return False
    return True
