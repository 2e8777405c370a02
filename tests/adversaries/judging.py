"""What must hold of facts at one (release, amounts) point, against enumerated worlds.

A release is a list of groups, each (number of people, bag of values).
"""

import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import cycle, product
from random import Random

from tests.examples import NIGHTLY
from tests.oracle import many_worlds as many
from tests.oracle import worlds as single

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts


def some(cases, least=4):
    """All cases by night; an eightieth of them in each run, others each time (in CI the same)."""
    cases = list(cases)
    if NIGHTLY or len(cases) <= least:
        return cases
    chance = Random(0 if os.environ.get("CI") == "true" else None)
    return chance.sample(cases, max(least, len(cases) // 80))


def points(most):
    """All (l, k, m) up to `most`."""
    return list(product(*(range(amount + 1) for amount in most)))


def grouped(bags):
    """Bags as groups of people with one value each."""
    return [(len(bag), bag) for bag in bags]


def bags_of(groups):
    return [bag for _, bag in groups]


def small_releases(people, most_groups, values, most_count, semantics):
    if semantics == "single":
        return some(map(grouped, single.small_releases(people, most_groups, values)))
    return some(many.small_releases(people, most_groups, values, most_count, semantics))


def counts_of(groups, semantics):
    """Build counts by giving each value to one member after the other: as good as any way."""
    if semantics == "single":
        return GroupCounts.from_bags(bags_of(groups))
    people = []
    for size, bag in groups:
        row = [[] for _ in range(size)]
        for value, count in Counter(bag).items():
            for own, _ in zip(cycle(row), range(count), strict=False):
                own.append(value)
        people.append(row)
    return GroupCounts.from_people(people, semantics=semantics)


def worst_cases(groups, value, most, semantics):
    """The enumerated probability of a value at every point up to `most`."""
    if semantics == "single":
        return single.worst_cases(bags_of(groups), value, most)
    return many.worst_cases(groups, value, most, semantics)


def check_release(groups, most, semantics="single"):
    """Compare every value at every point up to `most`; returns how many were compared."""
    counts, played = counts_of(groups, semantics), {}
    worst = {value: worst_cases(groups, value, most, semantics) for value in counts.values}
    for point in points(most):
        truth = {value: worst[value][point] for value in counts.values}
        check_point(groups, counts, point, truth, played)
    return len(points(most)) * len(worst)


def check_one(groups, point, semantics="single", value=None):
    """Compare one point; of one value only, its disclosure is returned."""
    counts = counts_of(groups, semantics)
    about = counts.values if value is None else [value]
    truth = {x: worst_cases(groups, x, point, semantics)[point] for x in about}
    if value is None:
        return check_point(groups, counts, point, truth, {})
    disclosure = Facts(*point).disclosure(counts, value)
    same(disclosure, value, truth[value], (groups, point))
    check_witness(groups, counts, disclosure, point, {})
    return disclosure


def check_point(groups, counts, point, truth, played):
    """Compare one point: exact, float, one by one and all at once, thresholds, witnesses.

    `played` remembers what the witnesses seen so far give; it is filled.
    """
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


def same(found, value, truth, where):
    """The disclosure is of that value and has that probability, at the very boundary too."""
    assert found.value == value, where
    assert type(found.exact) is Fraction, where
    assert found.exact == truth, (where, found.exact, truth)
    assert abs(found.probability - truth) <= 1e-12, (where, found.probability, truth)
    assert found.below(truth) is False, where
    assert found.below(truth + Fraction(1, 10**15)) is True, where
    assert found.below(truth - Fraction(1, 10**15)) is False, where


def check_witness(groups, counts, found, point, played):
    """The witness fits in, stays within its amounts, attains the probability, spares no fact."""
    witness = found.witness
    where = (groups, counts.semantics, point, witness)
    l, k, m = point  # noqa: E741
    assert witness.value == found.value, where
    assert len(set(witness.ruled_out)) == len(witness.ruled_out) <= l, where
    assert set(witness.ruled_out) <= set(counts.values) - {witness.value}, where
    assert counts.semantics == "single" or set(witness.known) <= {witness.value}, where
    assert sum(witness.known.values()) <= k, where
    assert min(witness.known.values(), default=1) > 0, where
    assert 0 <= witness.family <= m, where
    assert (witness.known_position is None) == (not witness.known), where
    assert (witness.family_position is None) == (not witness.family), where
    key = str(witness)
    if key not in played:
        played[key] = play(groups, counts.semantics, witness)
        for fewer in without_one_fact(witness) if found.exact == 1 else ():
            assert play(groups, counts.semantics, fewer) < 1, (where, fewer)
    assert played[key] == found.exact, (where, played[key], found.exact)


def without_one_fact(witness):
    """The witness without each value that is ruled out, each known person, a relative."""
    for x in witness.ruled_out:
        yield replace(witness, ruled_out=tuple(y for y in witness.ruled_out if y != x))
    for x in witness.known:
        yield replace(witness, known=Counter(witness.known) - Counter([x]))
    if witness.family:
        yield replace(witness, family=witness.family - 1)


def play(groups, semantics, witness):
    """Give the witness's parts to people, all different; how sure its facts make someone."""
    alone, value = semantics == "single", witness.value
    free = [
        list(own) for own in (single.members(bags_of(groups)) if alone else many.members(groups))
    ]
    target = free[witness.target_position].pop()
    about_others = [
        (free[witness.known_position].pop(), known)
        for known, count in witness.known.items()
        for _ in range(count)
    ]
    family = [free[witness.family_position].pop() for _ in range(witness.family)]
    if alone:
        return single.posterior(
            single.worlds(bags_of(groups)),
            [
                *(single.lacks(target, x) for x in witness.ruled_out),
                *(single.has(*pair) for pair in about_others),
                *(single.implies(relative, target, value) for relative in family),
            ],
            target,
            value,
        )
    return many.posterior(
        many.worlds_about(groups, semantics, target, value),
        [
            *(many.brings(target, x, value) for x in witness.ruled_out),
            *(many.lacks(*pair) for pair in about_others),
            *(many.implies(relative, target, value) for relative in family),
        ],
        target,
        value,
    )
