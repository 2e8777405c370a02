"""What must hold at one (release, amounts) point, against enumerated worlds."""

from fractions import Fraction
from itertools import product

from tests.oracle.worlds import has, implies, lacks, members, posterior, worlds, worst_cases

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts


def points(most):
    """All (l, k, m) up to `most`."""
    return list(product(*(range(amount + 1) for amount in most)))


def check_release(bags, most):
    """Compare every value at every point up to `most`; returns how many were compared."""
    counts = GroupCounts.from_bags(bags)
    dealt = worlds(bags)
    worst = {value: worst_cases(bags, value, most) for value in counts.values}
    for point in points(most):
        truth = {value: worst[value][point] for value in counts.values}
        check_point(bags, counts, dealt, point, truth)
    return len(points(most)) * len(worst)


def check_point(bags, counts, dealt, point, truth):
    """Compare one point: exact, float, one by one and all at once, thresholds, witnesses."""
    facts = Facts(*point)
    at_once = facts.disclosures(counts)
    assert list(at_once) == list(counts.values), (bags, point)
    for value, found in at_once.items():
        where = (bags, point, value)
        same(found, value, truth[value], where)
        same(facts.disclosure(counts, value), value, truth[value], where)
        check_witness(bags, dealt, found, point)
    worst = facts.disclosure(counts)
    same(worst, worst.value, max(truth.values()), (bags, point, "worst"))
    assert truth[worst.value] == max(truth.values()), (bags, point, worst)
    check_witness(bags, dealt, worst, point)


def same(found, value, truth, where):
    """The disclosure is of that value and has that probability."""
    assert found.value == value, where
    assert type(found.exact) is Fraction, where
    assert found.exact == truth, (where, found.exact, truth)
    assert abs(found.probability - truth) <= 1e-12, (where, found.probability, truth)
    assert found.below(truth) is False, where
    assert found.below(truth + Fraction(1, 10**15)) is True, where
    assert found.below(truth - Fraction(1, 10**15)) is False, where


def check_witness(bags, dealt, found, point):
    """The witness fits into the groups, stays within its amounts, and attains the probability."""
    witness = found.witness
    where = (bags, point, witness)
    l, k, m = point  # noqa: E741
    assert witness.value == found.value, where
    assert len(set(witness.ruled_out)) == len(witness.ruled_out) <= l, where
    assert witness.value not in witness.ruled_out, where
    assert sum(witness.known.values()) <= k, where
    assert min(witness.known.values(), default=1) > 0, where
    assert 0 <= witness.family <= m, where
    assert (witness.known_position is None) == (not witness.known), where
    assert (witness.family_position is None) == (not witness.family), where
    target, knowledge = played(bags, witness)
    assert posterior(dealt, knowledge, target, witness.value) == found.exact, where


def played(bags, witness):
    """Give the witness's parts to people, all different; the target, and the statements."""
    free = [list(group) for group in members(bags)]
    target = free[witness.target_position].pop()
    told = [
        has(free[witness.known_position].pop(), value)
        for value, count in witness.known.items()
        for _ in range(count)
    ]
    related = [
        implies(free[witness.family_position].pop(), target, witness.value)
        for _ in range(witness.family)
    ]
    return target, [*(lacks(target, x) for x in witness.ruled_out), *told, *related]
