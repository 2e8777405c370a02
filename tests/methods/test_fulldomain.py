"""FullDomain against brute force: every node, every minimal one, the best one, with suppression."""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.methods.reference import BruteForce, breach, safe
from tests.methods.tables import KINDS, Crowd

import foreknow as fk
from foreknow.methods.fulldomain import bestfirst, fulldomain

OBJECTIVES = st.sampled_from(["ncp", "height"])
SEEDS, MANY = st.integers(0, 2**32), st.booleans()
POOLS = {
    "number": [1, 2, 3],
    "decimal": [0.5, 2.0],
    "text": ["x", "yy", "Z"],
    "order": ["low", "middle", "high"],
    "tree": list("abdfgh"),
    "interval": [0, 1, 3, 4, 7, 13],
    "mask": ["000", "001", "010", "100", "111"],
}


def alike(release):
    """A grouping, whatever the order of groups and people."""
    return sorted(sorted(group) for group in release if group)


class Table:
    """A random table with a random policy, and every node of its lattice by brute force.

    The limit is one that some node attains exactly, or just does not.
    """

    def __init__(self, seed, many=False):
        draw = random.Random(seed)
        kinds = draw.choices(KINDS, k=draw.choice([1, 2, 3, 3]))
        people = range(draw.randint(4, 20) if many else draw.randint(10, 60))
        pools = [POOLS[kind.name][: draw.choice([1, 2, 2, 3, 6])] + [None] for kind in kinds]
        # A null now and then; some values more often than others.
        weights = [[2] + [1] * (len(pool) - 2) + [0.05] for pool in pools]
        rows = [
            tuple(draw.choices(pool, w)[0] for pool, w in zip(pools, weights, strict=True))
            for _ in people
        ]
        letters = "STUVWX"[: draw.randint(2, 6)]
        if many:
            semantics = draw.choice(["set", "multiset"])
            # What someone has goes with their first quasi-identifier, so that merging can hurt.
            own = {row[0]: draw.choices(letters, k=2) for row in rows}
            held = [draw.choices([*own[row[0]], *letters], k=draw.randint(0, 2)) for row in rows]
            held = ["".join(sorted(set(x) if semantics == "set" else x)) for x in held]
            held[0] = held[0] or "S"
        else:
            semantics = "single"
            held = draw.choices(letters, range(2, len(letters) + 2), k=len(rows))
        self.case = Crowd(kinds, semantics, rows, held)
        self.values = self.case.values
        # About one value only, merging can hurt where people may have several.
        about = draw.choice([self.values, [draw.choice(self.values)]])
        few = draw.random() < 0.7
        amounts = draw.randint(0, 2), *((0, 0) if few else (draw.randint(0, 1), draw.randint(0, 1)))
        every = BruteForce(kinds, rows, lambda groups: True)
        attained = {self.worst(every.groups(node), about, amounts) for node in every.nodes}
        attained = sorted(attained - {0, 1}) or [Fraction(1)]
        at = max(draw.randrange(len(attained)), draw.randrange(len(attained)))
        limit = min(
            attained[at] + draw.choice([0, 0, Fraction(1, 10 ** draw.choice([6, 9, 12]))]),
            Fraction(1),
        )
        self.rules = [(about, amounts, limit)]
        self.policy = fk.Policy([fk.Requirement(fk.Facts(*amounts), limit, values=about)])
        self.share = draw.choice([0.0, 0.1, 0.2, 0.35, 0.5, 0.75])
        most = int(Fraction(str(self.share)) * len(rows))
        self.every = BruteForce(kinds, rows, self.is_safe, most)

    def worst(self, groups, values, amounts):
        bags = self.case.bags(groups)
        return max(breach(bags, value, amounts, self.case.semantics) for value in values)

    def counts(self, groups):
        return fk.GroupCounts.from_bags([[self.case.held[p] for p in group] for group in groups])

    def is_safe(self, groups):
        return safe(self.case.bags(groups), self.rules, self.case.semantics)

    def search(self, **settings):
        """What the library finds; None where it says that there is nothing."""
        method = fk.FullDomain(suppression=self.share, **settings)
        try:
            found = method.search(self.case.microdata(), self.policy)
        except fk.NoSafeRelease:
            assert not self.every.safe
            return None
        assert found.complete
        for node in found.nodes():
            status = found.status_of(node)
            assert status == "unknown" or (status == "safe") == (node in self.every.safe), node
        self.check_groups(found)
        return found

    def check_groups(self, found):
        """The groups are those of the chosen node, suppressed people the last of them."""
        groups, outliers = self.every.released[found.chosen]
        partition = found.groups.tolist()
        made = self.case.groups_of(partition)
        assert alike(made) == alike([*groups, outliers])
        assert found.suppressed.get(found.chosen, 0) == len(outliers)
        assert (found.outlier_group is None) == (not outliers)
        if outliers:
            assert found.outlier_group == len(made) - 1
            assert sorted(made[-1]) == sorted(outliers)


@examples(300, daily=10, deadline=None)
@given(seed=SEEDS, many=MANY, find=st.sampled_from(["minimal", "minimal", "chain"]))
def test_all_minimal_nodes_are_those_of_brute_force_and_a_chain_ends_at_one(seed, many, find):
    table = Table(seed, many)
    found = table.search(find=find)
    if found is not None:
        assert found.chosen in found.minimal
        assert found.chosen in table.every.minimal()
    if found is not None and find == "minimal":
        assert set(found.minimal) == table.every.minimal()
        least = min(table.every.loss(node, "ncp") for node in found.minimal)
        assert table.every.loss(found.chosen, "ncp") == pytest.approx(least)


def check_best(table, found, objective):
    """No safe node loses less than the chosen one."""
    lost = {node: table.every.loss(node, objective) for node in table.every.safe}
    assert lost[found.chosen] == pytest.approx(min(lost.values()), abs=1e-12)
    return lost


@examples(200, daily=6, deadline=None)
@given(seed=SEEDS, many=MANY, objective=OBJECTIVES)
def test_the_best_node_is_that_of_brute_force(seed, many, objective):
    table = Table(seed, many)
    found = table.search(objective=objective)
    if found is not None:
        for node, lost in check_best(table, found, objective).items():
            known = found.loss_of(node)
            assert known is None or known == pytest.approx(lost, abs=1e-12)


@examples(60, daily=5, deadline=None)
@given(seed=SEEDS)
def test_pruning_changes_nothing(seed):
    """The same search for a policy that pretends that merging can hurt, so that nothing follows."""
    table = Table(seed)
    found = table.search(find="minimal")
    if found is None:
        return

    class Doubtful(fk.Policy):
        def monotone(self):
            return False

    doubtful = Doubtful(table.policy.requirements)
    method = fk.FullDomain(find="minimal", suppression=table.share)
    again = method.search(table.case.microdata(), doubtful)
    assert again.minimal == found.minimal
    assert again.chosen == found.chosen
    assert again.n_checked >= len(again.minimal)
    assert np.array_equal(again.groups, found.groups)


@examples(60, daily=5, deadline=None)
@given(seed=SEEDS, find=st.sampled_from(["best", "minimal", "chain"]))
def test_it_serves_several_adversaries_at_once(seed, find):
    table = Table(seed)
    draw = random.Random(seed)
    kind = draw.choice([fk.Implications, fk.Negations])
    adversary, limit = kind(draw.randint(0, 2)), Fraction(draw.choice(["2/3", "0.8", "0.95"]))
    if draw.random() < 0.5:  # just above what some node attains, or just what it attains
        node = draw.choice(table.every.nodes)
        counts = table.counts(table.every.groups(node))
        near = adversary.disclosure(counts).exact + draw.choice(
            [0, Fraction(1, 10**9), Fraction(1, 10**12)]
        )
        limit = min(near, Fraction(1)) or limit
    facts_hold = table.is_safe

    def is_safe(groups):
        counts = table.counts(groups)
        return facts_hold(groups) and adversary.disclosure(counts).below(limit)

    both = [*table.policy.requirements, fk.Requirement(adversary, limit)]
    table.policy = fk.Policy(both)
    table.every = BruteForce(table.case.kinds, table.case.rows, is_safe, table.every.most)
    found = table.search(find=find)
    if found is not None and find != "best":
        assert found.chosen in table.every.minimal()
    if found is not None and find == "minimal":
        assert set(found.minimal) == table.every.minimal()


@examples(40, daily=4, deadline=None)
@given(seed=SEEDS, objective=OBJECTIVES, find=st.sampled_from(["best", "minimal", "chain"]))
def test_it_is_deterministic_and_ignores_the_order_of_rows(seed, objective, find):
    table = Table(seed)
    order = [p for p, _ in table.case.entries(seed)]
    method = fk.FullDomain(objective, find, suppression=table.share)
    try:
        one = method.search(table.case.microdata(), table.policy)
    except fk.NoSafeRelease:
        return
    other = method.search(table.case.microdata(seed), table.policy)
    assert one.to_dict() == other.to_dict()
    assert one.groups[order].tolist() == other.groups.tolist()


# ---- lattices of which not every node is kept ----------------------------------------------------


@examples(160, daily=6, deadline=None)
@given(seed=SEEDS, many=MANY, objective=OBJECTIVES)
def test_of_a_large_lattice_the_best_node_is_that_of_brute_force(seed, many, objective):
    table = Table(seed, many)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fulldomain, "_MOST_KEPT", 0)
        found = table.search(objective=objective)
        if found is None:
            return
        kept = fk.FullDomain(objective, suppression=table.share)
        patch.setattr(fulldomain, "_MOST_KEPT", 10**6)
        other = kept.search(table.case.microdata(), table.policy)
    check_best(table, found, objective)
    assert (found.gap, found.chosen) == (0, other.chosen)
    assert found.n_checked == len(found.listed)
    for node in table.every.nodes:
        assert found.loss_of(node) is None or node in table.every.safe


@examples(60, deadline=None)
@given(seed=SEEDS, objective=OBJECTIVES, most=st.integers(1, 12))
def test_a_search_of_a_large_lattice_that_is_cut_off_proves_how_far_it_is(seed, objective, most):
    table = Table(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fulldomain, "_MOST_KEPT", 0)
        patch.setattr(bestfirst, "_MOST_JUDGED", most)
        try:
            found = fk.FullDomain(objective, suppression=table.share).search(
                table.case.microdata(), table.policy
            )
        except fk.NoSafeRelease:  # there is none, or none among so few
            return
    every = table.every
    least = min(every.loss(node, objective) for node in every.safe)
    lost = every.loss(found.chosen, objective)
    assert lost - found.gap <= least + 1e-9
    assert found.complete == (found.gap == 0)
    if found.complete:
        check_best(table, found, objective)


# ---- criteria, and several requirements at once --------------------------------------------------


def _holds(criterion, bag, everybody):
    own = sorted((bag.count(v) for v in set(bag)), reverse=True)
    match criterion:
        case fk.KAnonymity(k=k):
            return len(bag) >= k
        case fk.LDiversity(l=least, kind="distinct"):
            return len(own) >= least
        case fk.LDiversity(l=least, c=c):
            return own[0] < c * sum(own[least - 1 :])
        case fk.AlphaK(alpha=alpha, k=k):
            return len(bag) >= k and Fraction(own[0], len(bag)) <= alpha
        case fk.TCloseness(t=t):
            return _distance(bag, everybody) <= t


def _distance(bag, everybody):
    values = set(everybody)
    shares = (
        Fraction(bag.count(v), len(bag)) - Fraction(everybody.count(v), len(everybody))
        for v in values
    )
    return sum(max(x, 0) for x in shares)


@examples(150, deadline=None)
@given(seed=SEEDS, objective=OBJECTIVES, large=st.booleans())
def test_criteria_are_searched_as_brute_force_does(seed, objective, large):
    """Nodes are left out that cannot do with so few suppressed people: never one that can."""
    table, draw = Table(seed), random.Random(seed)
    table.share = draw.choice([0.1, 0.2, 0.35, 0.5, 0.75])
    drawn = draw.sample(
        [
            fk.KAnonymity(draw.randint(2, 6)),
            fk.LDiversity(draw.randint(2, 3)),
            fk.LDiversity(draw.randint(2, 3), "recursive", draw.choice([1, "3/2", 3])),
            fk.AlphaK(draw.choice(["1/2", "0.7", 1]), draw.randint(1, 4)),
            fk.TCloseness(draw.choice(["0.1", "0.25", "1/2"])),
        ],
        k=draw.randint(1, 2),
    )
    everybody = range(len(table.case.rows))
    whole = "".join(table.case.held[p] for p in everybody)
    mixed = draw.random() < 0.5

    def is_safe(groups):
        bags = [[table.case.held[p] for p in group] for group in groups]
        held = all(_holds(criterion, bag, whole) for criterion in drawn for bag in bags)
        return held and (not mixed or table.is_safe(groups))

    rules = [fk.Requirement(criterion) for criterion in drawn]
    table.policy = fk.Policy([*rules, *(table.policy.requirements if mixed else [])])
    most = int(Fraction(str(table.share)) * len(table.case.rows))
    table.every = BruteForce(table.case.kinds, table.case.rows, is_safe, most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fulldomain, "_MOST_KEPT", 0 if large else 10**6)
        found = table.search(objective=objective)
    if found is not None:
        check_best(table, found, objective)
