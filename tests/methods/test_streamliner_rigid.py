"""Why nothing is as safe as RDA and yet prefers people who are near: small tables, solved exactly.

A method gives each release R that agrees with a table t a probability. It tells nothing beyond its
releases exactly if that probability is the same for all tables that agree with R, q(R). Then for
each table the q(R) of the releases that agree with it add up to 1.
"""

from fractions import Fraction
from itertools import product

from examples.streamliner_theory import partitions_of
from tests.oracle.streamliner_lots import release_of, tables


def safe_releases(bag, l):  # noqa: E741
    """release -> the tables that agree with it, for all releases whose groups are l-diverse."""
    found = {}
    for blocks, table in product(list(partitions_of(list(range(len(bag))))), tables(bag)):
        group = {person: g for g, block in enumerate(blocks) for person in block}
        release = release_of([group[p] for p in range(len(bag))], table)
        if all(values.count(v) * l <= len(values) for _, values in release for v in values):
            found.setdefault(release, set()).add(table)
    return found


def rank(rows):
    """Rank of a matrix of fractions."""
    rows, done = [list(map(Fraction, row)) for row in rows], 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(done, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        for r in range(len(rows)):
            if r != done and rows[r][column]:
                factor = rows[r][column] / rows[done][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[done], strict=True)]
        done += 1
    return done


def follows(rows, row):
    """Whether a linear combination of some rows is a given row."""
    return rank(rows) == rank([*rows, row])


def test_with_two_values_the_three_ways_to_pair_four_people_must_be_equally_likely():
    found = safe_releases((0, 0, 1, 1), 2)
    order = list(found)
    # For each table: the q(R) that agree with it add up to 1 (last column).
    rows = [[int(table in found[r]) for r in order] + [1] for table in tables((0, 0, 1, 1))]
    pairs = [r for r in order if len(r) == 2]
    assert len(order) == 4
    assert len(pairs) == 3
    for one, other in ((pairs[0], pairs[1]), (pairs[1], pairs[2])):
        equal = [(r == one) - (r == other) for r in order] + [0]
        assert follows(rows, equal)


def test_with_three_values_there_is_no_choice_either_among_pairs():
    found = safe_releases((0, 0, 1, 2), 2)
    order = list(found)
    rows = [[int(table in found[r]) for r in order] + [1] for table in tables((0, 0, 1, 2))]

    def with_pairs(pairing):
        return [sum(1 for _ in [r]) if {people for people, _ in r} == pairing else 0 for r in order]

    near, far = {(0, 1), (2, 3)}, {(0, 2), (1, 3)}
    difference = [a - b for a, b in zip(with_pairs(near), with_pairs(far), strict=True)]
    assert follows(rows, [*difference, 0])
