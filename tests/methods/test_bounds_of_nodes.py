"""What a search may conclude of nodes below a judged one, against every node of small lattices."""

import random
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.methods.test_fulldomain import Table
from tests.oracle import leaving

import foreknow as fk
from foreknow.methods.fulldomain.losses import Loss
from foreknow.methods.fulldomain.rollup import Rollup
from foreknow.methods.fulldomain.suppression import Judge
from foreknow.policy.policy import Policy

CASES = 20_000 if NIGHTLY else 200
TABLES = 2_000 if NIGHTLY else 60


def below(node):
    """A node and all nodes that generalize less."""
    return product(*(range(level + 1) for level in node))


@pytest.mark.parametrize("objective", ["ncp", "height"])
def test_no_node_below_loses_less_or_suppresses_fewer_of_a_group(objective):
    told = 0
    for seed in range(TABLES):
        table = Table(seed)
        every, microdata = table.every, table.case.microdata()
        rollup = Rollup(microdata)
        judge = Judge(table.policy, microdata.everyone(), every.most)
        loss = Loss(rollup, None, objective)
        lost = {node: every.loss(node, objective) for node in every.safe}
        for node in every.nodes:
            view, groups = rollup.view(node), every.groups(node)
            _, least = judge.leaving([view])[0]
            assert view.people.tolist() == [len(group) for group in groups]
            at_levels = loss.least(view, least)
            told += bool(least.any())
            for other in every.safe.intersection(below(node)):
                suppressed = set(every.released[other][1])
                for group, fewest in zip(groups, least.tolist(), strict=True):
                    assert fewest <= len(suppressed & set(group)), (seed, node, other)
                # The most that is said of a node below: of each column by itself.
                floor = sum(max(of[: top + 1]) for of, top in zip(at_levels, other, strict=True))
                assert floor <= lost[other] + 1e-9, (seed, node, other)
    assert told > TABLES


def test_exactly_as_many_leave_as_must_where_facts_are_of_one_person():
    partly = 0
    for seed in range(CASES):
        draw = random.Random(seed)
        letters = "abcdef"[: draw.randint(1, 6)]
        weights = [draw.choice([1, 2, 6]) for _ in letters]
        group = "".join(draw.choices(letters, weights, k=draw.randint(1, 12)))
        if draw.random() < 0.5:
            amounts = draw.randint(0, 3), draw.randint(0, 2)
            limit = Fraction(draw.randint(1, 12), 12)
            requirement = fk.Requirement(fk.Facts(*amounts), limit)
            is_safe = leaving.facts((*amounts, 0), limit)
        else:
            least, c = draw.randint(2, 4), Fraction(draw.randint(1, 9), draw.randint(1, 4))
            requirement = fk.Requirement(fk.LDiversity(least, "recursive", c))
            is_safe = leaving.recursive(least, c)
        counts = fk.GroupCounts.from_bags([list(group), list("abcdefg")])
        ledger = Policy([requirement]).ledger(counts.values, counts)
        said = int(ledger.fewest_leaving(counts)[0])
        must = 0 if is_safe(group) else leaving.fewest(group, is_safe)
        assert said == must, (seed, requirement, group)
        partly += 0 < said < len(group)
    assert partly > CASES / 20


def test_a_limit_of_many_digits_or_amounts_that_nobody_has_are_bounded_from_below():
    counts = fk.GroupCounts.from_bags([list("aaabbbccc"), list("abc")])
    close = Fraction(1, 2) + Fraction(1, 10**30)
    for limit, amounts in (
        (close, (0, 0)),
        (Fraction(1, 10**30), (0, 0)),
        (Fraction(1, 2), (10**30, 10**30)),
    ):
        facts = fk.Facts(*amounts)
        said = Policy([fk.Requirement(facts, limit)]).ledger(counts.values, counts)
        safe = [facts.disclosure(counts.take(np.array([g]))).below(limit) for g in range(2)]
        fewest = said.fewest_leaving(counts)
        assert (fewest <= counts.sizes).all()
        assert not fewest[safe].any()


def test_who_leaves_is_whoever_loses_least_by_it():
    """Five of six are under x, one under y: to suppress one of x adds a fifth of what y adds."""
    rows = [[f"a{i}", "x", "*"] for i in range(5)] + [["b", "y", "*"]]
    table = pa.table({"place": [row[0] for row in rows], "disease": list("stuvwz")})
    schema = fk.Schema(
        quasi_identifiers=["place"], sensitive="disease", hierarchies={"place": fk.Tree(rows)}
    )
    rollup = Rollup(fk.Microdata(table, schema))
    (least,) = Loss(rollup, None, "ncp").least(rollup.view((2,)), np.array([1]))
    assert least == pytest.approx([1 / 6, 4 / 6 + 1 / 30, 1])
