"""What must hold at one point where people may have several values, against enumerated worlds."""

from collections import Counter
from itertools import cycle

from tests.adversaries.checks import points, same
from tests.oracle.many_worlds import (
    brings,
    implies,
    lacks,
    members,
    posterior,
    worlds_about,
    worst_cases,
)

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts


def counts_of(groups, semantics):
    """Build counts by giving each value to one member after the other: as good as any way."""
    people = []
    for size, bag in groups:
        row = [[] for _ in range(size)]
        for value, count in Counter(bag).items():
            for own, _ in zip(cycle(row), range(count), strict=False):
                own.append(value)
        people.append(row)
    return GroupCounts.from_people(people, semantics=semantics)


def check_release(groups, most, semantics):
    """Compare every value at every point up to `most`; returns how many were compared."""
    counts = counts_of(groups, semantics)
    worst = {value: worst_cases(groups, value, most, semantics) for value in counts.values}
    played = {}
    for point in points(most):
        truth = {value: worst[value][point] for value in counts.values}
        check_point(groups, counts, point, truth, played)
    return len(points(most)) * len(worst)


def check_point(groups, counts, point, truth, played=None):
    """Compare one point: exact, float, one by one and all at once, thresholds, witnesses.

    `played` remembers what the witnesses seen so far give; it is filled.
    """
    played = {} if played is None else played
    facts = Facts(*point)
    at_once = facts.disclosures(counts)
    assert list(at_once) == list(counts.values), (groups, counts, point)
    for value, found in at_once.items():
        where = (groups, counts.semantics, point, value)
        same(found, value, truth[value], where)
        same(facts.disclosure(counts, value), value, truth[value], where)
        check_witness(groups, counts, found, point, played)
    worst = facts.disclosure(counts)
    where = (groups, counts.semantics, point, "worst")
    same(worst, worst.value, max(truth.values(), default=0), where)
    if truth:
        assert truth[worst.value] == max(truth.values()), (where, worst)
        check_witness(groups, counts, worst, point, played)
    else:
        assert (worst.value, worst.witness) == (None, None), where


def check_witness(groups, counts, found, point, played):
    """The witness fits into the groups, stays within its amounts, and attains the probability."""
    witness = found.witness
    where = (groups, counts.semantics, point, witness)
    l, k, m = point  # noqa: E741
    assert witness.value == found.value, where
    assert len(set(witness.ruled_out)) == len(witness.ruled_out) <= l, where
    assert set(witness.ruled_out) <= set(counts.values) - {witness.value}, where
    assert set(witness.known) <= {witness.value}, where
    assert sum(witness.known.values()) <= k, where
    assert min(witness.known.values(), default=1) > 0, where
    assert 0 <= witness.family <= m, where
    assert (witness.known_position is None) == (not witness.known), where
    assert (witness.family_position is None) == (not witness.family), where
    key = str(witness)
    if key not in played:
        played[key] = play(groups, counts.semantics, witness)
    assert played[key] == found.exact, (where, played[key], found.exact)


def play(groups, semantics, witness):
    """Give the witness's parts to people, all different; how sure its facts make someone."""
    free = [list(people) for people in members(groups)]
    target = free[witness.target_position].pop()
    knowledge = [
        *(brings(target, x, witness.value) for x in witness.ruled_out),
        *(
            lacks(free[witness.known_position].pop(), value)
            for value, count in witness.known.items()
            for _ in range(count)
        ),
        *(
            implies(free[witness.family_position].pop(), target, witness.value)
            for _ in range(witness.family)
        ),
    ]
    dealt = worlds_about(groups, semantics, target, witness.value)
    return posterior(dealt, knowledge, target, witness.value)
