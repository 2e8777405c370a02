"""What must hold of one release and k implications, or negations, against enumerated worlds."""

from fractions import Fraction

from tests.adversaries.judging import same
from tests.oracle.implication_worlds import Dealing, Truth
from tests.oracle.worlds import members, posterior, worlds

from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.data.counts import GroupCounts


def check_release(bags, most):
    """Compare every value for every k up to `most`; returns how many were compared."""
    truth, dealt = Truth(bags), worlds(bags)
    implied = {value: truth.implications(value, most) for value in truth.worlds.values}
    counts = GroupCounts.from_bags(bags)
    for k in reversed(range(most + 1)):
        check_point(counts, k, {value: found[k] for value, found in implied.items()}, bags, dealt)
    return (most + 1) * len(implied)


def check_point(counts, k, truth, bags, dealt=None):
    """Compare one k: every value by itself and all at once, and the worst; with witnesses."""
    adversary = Implications(k)
    at_once = adversary.disclosures(counts)
    assert list(at_once) == list(counts.values), (bags, k)
    for value, found in at_once.items():
        same(found, value, truth[value], (bags, k, value))
        alone = adversary.disclosure(counts, value)
        same(alone, value, truth[value], (bags, k, value, "alone"))
        check_witness(bags, found, k, dealt)
        check_witness(bags, alone, k, dealt)
    check_worst(adversary.disclosure(counts), k, truth, bags, dealt)


def check_worst(found, k, truth, bags, dealt=None):
    """Compare the disclosure of any value, whichever it names."""
    same(found, found.value, max(truth.values()), (bags, k, "worst"))
    assert truth[found.value] == max(truth.values()), (bags, k, found)
    check_witness(bags, found, k, dealt)


def check_witness(bags, found, k, dealt=None):
    """The implications are no more than k, about people there are, and attain the probability.

    They are held against worlds if these are given; else the groups are dealt in turn.
    """
    witness = found.witness
    where = (bags, k, found, witness)
    assert witness.value == found.value, where
    assert len(set(witness.implications)) == len(witness.implications) <= k, where
    about = told_of(bags, witness)
    told = [
        (person, value) for group in about for person, values in group.items() for value in values
    ]
    assert len(told) == len(witness.implications), where
    target = members(bags)[witness.target_position][0]
    assert (target, witness.value) not in told, where
    if dealt is None:
        assert by_dealing(bags, witness, about) == found.exact, where
    else:
        assert by_worlds(dealt, target, witness.value, told) == found.exact, where


def by_worlds(dealt, target, value, told):
    """The posterior that the implications give, among all worlds."""
    statements = [
        lambda world, p=person, x=what: world[p] != x or world[target] == value
        for person, what in told
    ]
    return posterior(dealt, statements, target, value)


def told_of(bags, witness):
    """For each group, whom the implications begin with, and which values they would have.

    Person 0 of the target's group is the target; other people of a group are numbered from 1.
    """
    found = [{} for _ in bags]
    for each in witness.implications:
        group = members(bags)[each.position]
        first = 0 if each.position == witness.target_position else 1
        assert first <= each.person < len(group) + first, (bags, each)
        who = group[each.person - first]
        found[each.position].setdefault(who, set()).add(each.value)
    return found


def by_dealing(bags, witness, about):
    """The posterior that the implications give, group by group: they are independent."""
    none = Fraction(1)
    for at, (bag, told) in enumerate(zip(bags, about, strict=True)):
        told = {person: set(values) for person, values in told.items()}
        if at == witness.target_position:
            told.setdefault(members(bags)[at][0], set()).add(witness.value)
        dealing = Dealing(bag)
        left = dealing.everything
        for excluded in told.values():
            left = dealing.without(left, None, excluded)
        none *= dealing.chance(left)
    home = list(bags[witness.target_position])
    sure = Fraction(home.count(witness.value), len(home))
    return sure / (sure + none)


def check_negations(bags, most):
    """Compare negations about anybody, for every value and k; returns how many were compared."""
    truth, counts = Truth(bags), GroupCounts.from_bags(bags)
    known = {value: truth.negations(value, most) for value in truth.worlds.values}
    for k in range(most + 1):
        at_once = Negations(k).disclosures(counts)
        assert list(at_once) == truth.worlds.values
        for value, found in at_once.items():
            same(found, value, known[value][k], (bags, k, value))
            same(Negations(k).disclosure(counts, value), value, known[value][k], (bags, k, value))
        worst = Negations(k).disclosure(counts)
        highest = max(chances[k] for chances in known.values())
        same(worst, worst.value, highest, (bags, k))
        assert known[worst.value][k] == highest, (bags, k)
    return (most + 1) * len(known)
