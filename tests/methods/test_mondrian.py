"""Mondrian: its groups are safe, no candidate cut of them is; people with equal rows stay together.

Against a reference in plain Python, whether people have one value each, or several, or none.
"""

import random
import time
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from tests.methods.reference import breach, into_intervals, safe, safe_cuts
from tests.methods.tables import (
    asking,
    cases,
    crowd_of,
    crowds,
    groups_by,
    microdata,
)
from tests.oracle import many_worlds, worlds

import foreknow as fk
from foreknow.methods.mondrian import levels
from foreknow.methods.mondrian.levels import Choice, Level
from foreknow.methods.points import Points

pytestmark = pytest.mark.usefixtures("tiny_tables")

SEVERAL = pytest.mark.parametrize("semantics", ["set", "multiset"])
TINY = [cases(6, 2), crowds(5, 1, "STU")]
EASY = asking("0.9")


def together(groups):
    return None if groups is None else {frozenset(group) for group in groups}


def check(crowd, method, policy, rules):
    """The groups found, held against the reference; refused where one group is unsafe only."""
    groups = groups_by(method, crowd, policy)
    if groups is None:
        assert not safe(crowd.bags([crowd.everyone]), rules, crowd.semantics)
        return None
    assert safe(crowd.bags(groups), rules, crowd.semantics)
    if crowd.semantics == "single":
        assert safe(crowd.bags([crowd.everyone]), rules)
    left = safe_cuts(crowd, groups, rules, method.cuts)
    assert not left, (groups, left)
    return groups


def worst_in_worlds(crowd, groups, value, point):
    bags = [(len(group), "".join(crowd.held[p] for p in group)) for group in groups]
    if crowd.semantics == "single":
        return worlds.worst_cases([bag for _, bag in bags], value, point)[point]
    return many_worlds.worst_cases(bags, value, point, crowd.semantics)[point]


# ---- worked out by hand -------------------------------------------------------------------------


def grouped(columns, sensitive, policy=EASY, cuts=1, **schema):
    return fk.Mondrian(cuts).partition(microdata(columns, sensitive, **schema), policy).tolist()


def same(partition, groups):
    """Whether these rows, and no others, are together; rows as digits, groups by spaces."""
    members = ("".join(str(i) for i, g in enumerate(partition) if g == n) for n in set(partition))
    assert sorted(members) == sorted(groups.split())


TREE = {"hierarchies": {"x": fk.Tree([["a", "p", "*"], ["b", "q", "*"], ["c", "r", "*"]])}}
HALF = Fraction(1, 2)


@SEVERAL
def test_people_of_several_values(semantics):
    crowd = crowd_of([5, 5, 5, 5], ["S", "T", "", ""], semantics)
    for more in ("1e-7", "1e-12"):  # barely below is not refused
        policy = asking(Fraction(1, 4) + Fraction(more))
        assert groups_by(fk.Mondrian(), crowd, policy) == [[0, 1, 2, 3]]
    crowd = crowd_of([1, 1, 2, 2, 9], ["S", "", "T", "", ""], semantics)
    assert sorted(groups_by(fk.Mondrian(), crowd, asking("0.6"))) == [[0, 1], [2, 3], [4]]
    for more in ({"semantics": semantics, "person": "pid"}, {}):
        schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", **more)
        policy = fk.Policy(asking("1/2").requirements, schema)
        assert fk.Mondrian().traits.minimal(policy) is not bool(more)


# ---- refusals -----------------------------------------------------------------------------------


def refusal(data, *requirements):
    with pytest.raises(fk.NoSafeRelease) as caught:
        fk.Mondrian().partition(data, fk.Policy(requirements))
    return str(caught.value)


def test_why_everybody_is_unsafe():
    """With value, adversary and probability; of one value each it is a proof."""
    said = refusal(
        microdata(range(4), "ssst"),
        fk.Requirement(fk.Facts(m=1), 1, values=["t"], name="first"),
        fk.Requirement([(fk.Facts(), "3/4"), (fk.Facts(k=1), "3/5")], name="second"),
    )
    for words in (
        "not even one group of all 4 people",
        "In second, this line would do",
        '  except = ["s"]',
        "Facts(l=0, k=0, m=0) reaches 0.75 for 's', the limit is 0.75",
        "Facts(l=0, k=1, m=0) reaches 1 for 's', the limit is 0.6",
    ):
        assert words in said
    assert (said.count("second: "), said.count("(3 of 4 people have 's')")) == (2, 1)
    assert not [word for word in ("first", "series of cuts", "prove") if word in said]
    said = refusal(microdata(range(3), "sst"), asking("1/2", (1,), values=["t"]).requirements[0])
    assert "'t'" in said
    assert "'s'" not in said
    missing = microdata([1, 2], ["s", None], missing={"label": "?"})
    assert "'?'" in refusal(missing, fk.Requirement(fk.Facts(), "1/2", values=["?"]))
    with pytest.raises(fk.InputError, match="needs a policy"):
        fk.Mondrian().partition(microdata([1], "s"))


# ---- labels: a reader of a release finds as many groups as there are ----------------------------


def published(data, policy, styles):
    """How many groups there are; the release has the same ones, whatever their order."""
    partition = fk.Mondrian().partition(data.rounded(styles), policy)
    options = fk.PublishOptions(labels=styles)
    made = fk.publish(data, policy, method=fk.Mondrian(), options=options, seed=1)
    names = list(data.schema.quasi_identifiers)
    read = fk.Release.from_generalized(
        made.tables["release"], quasi_identifiers=names, sensitive="disease"
    ).counts
    groups = data.counts(partition[partition >= 0])
    bags = [
        sorted(sorted((str(x), n) for x, n in each.bag(g).items()) for g in range(each.n_groups))
        for each in (groups, read)
    ]
    assert bags[0] == bags[1]
    return groups.n_groups, made.tables["release"]


# ---- where something is large -------------------------------------------------------------------


def texts(codes, width=3):
    return [f"{v:0{width}d}" for v in codes]


@pytest.mark.parametrize("codes", [7_000, pytest.param(70_000, marks=pytest.mark.slow)])
def test_many_codes_stay_sparse(codes):
    random = np.random.default_rng(1)
    rows = codes + codes // 7
    disease = np.concatenate([np.arange(codes), random.integers(0, codes, rows - codes)])
    places = {"age": random.integers(0, 100, rows), "zip": random.integers(0, 1000, rows)}
    data = microdata(places, np.char.add("D", disease.astype(str)))
    _ = data.attributes, data.values  # reading is not what is measured
    tracemalloc.start()
    began = time.process_time()
    partition = fk.Mondrian().partition(data, asking("1/2", (1, 2, 1)))
    took = time.process_time() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    counts = data.counts(partition)
    assert counts.n_groups * 14 > codes
    assert len(counts.codes) <= rows
    assert peak < 4_000 * codes  # groups x values as a dense table: over 4 GB of 70,000 codes
    assert took < 30
    assert fk.Facts(l=1, k=2, m=1).disclosure(counts).below("1/2")


# ---- where everybody in one group is unsafe but smaller groups are safe -------------------------


def solved(method, crowd, rules):
    """The groups that a method finds, or None; whatever it finds must be safe."""
    groups = groups_by(method, crowd, policy_of(rules))
    assert groups is None or safe(crowd.bags(groups), rules, crowd.semantics), (crowd, rules)
    return groups


def policy_of(rules, schema=None):
    asked = [fk.Requirement(fk.Facts(*point), c, values=values) for values, point, c in rules]
    return fk.Policy(asked, schema)


def random_crowd(chance):
    """Some people along a number of up to seven values, whose values vary along it."""
    semantics = chance.choice(["set", "multiset"])
    spots, letters = range(chance.randint(2, 7)), "STUV"[: chance.randint(2, 4)]
    share = {(x, a): chance.choice([0, 0, 0.1, 0.3, 0.5, 0.8]) for x in letters for a in spots}
    places = [chance.choice(spots) for _ in range(chance.randint(5, 14))]
    often = [1] if semantics == "set" else [1, 1, 2]
    held = [
        "".join(x * chance.choice(often) for x in letters if chance.random() < share[x, a])
        for a in places
    ]
    return crowd_of(places, held, semantics)


def share_of(crowd, bags, rules):
    """The worst breach probability as a share of its threshold."""
    return max(breach(bags, x, point, crowd.semantics) / c for xs, point, c in rules for x in xs)


def nearest(crowd, groups, rules):
    """The least share of any threshold that one threshold cut of one group leads to; or None."""
    least = None
    for g, group in enumerate(groups):
        others = groups[:g] + groups[g + 1 :]
        for last in sorted({crowd.rows[p] for p in group})[:-1]:
            low = [p for p in group if crowd.rows[p] <= last]
            bags = crowd.bags([*others, low, [p for p in group if p not in low]])
            least = min(least or 99, share_of(crowd, bags, rules))
    return least


@pytest.mark.parametrize("cells", [1, 1 << 16])
def test_steps_lead_towards_safety(cells, monkeypatch):
    monkeypatch.setattr(levels, "_CELLS", cells)
    chance, steps = random.Random(4), 0
    while steps < 20:
        crowd = random_crowd(chance)
        if not crowd.values:
            continue
        point = (chance.randint(1, 3), chance.choice([0, 1]), chance.choice([0, 1]))
        rules = [([chance.choice(crowd.values)], point, Fraction("0.37"))]
        data = crowd.microdata()
        points, ledger = Points.of(data), policy_of(rules, crowd.schema).ledger(crowd.values)
        level = Level(points, data, Choice(9))
        ledger.commit(None, level.everyone())
        groups = [list(range(len(crowd.rows)))]
        while (expected := nearest(crowd, groups, rules)) is not None:
            safe_now, reached = level.divide_one(ledger)
            steps += 1
            groups = crowd.groups_of(data.rows_of(points.spread(level.node)).tolist())
            assert level.n_groups == len(groups)
            assert share_of(crowd, crowd.bags(groups), rules) == expected
            assert reached == pytest.approx(float(expected), rel=1e-9)
            assert safe_now == (expected < 1)
            ledger.commit(data.counts(points.spread(level.node)), level.everyone())  # in step
            ledger.commit(level.everyone(), data.counts(points.spread(level.node)))
        assert level.divide_one(ledger) is None


def test_cuts_that_help_only_together():
    # Those in the middle all have U and V. With them S and T are nearly safe in one group; with
    # one end cut off, the other end is much worse; with both, S and T are 1/2 each.
    places, held = [0] * 2 + [1] * 11 + [2] * 2, ["S", "", *["UV"] * 11, "T", ""]
    crowd = crowd_of(places, held, "set")
    rules = [([value], (2, 0, 0), Fraction("0.501")) for value in "ST"]
    for groups in into_intervals(crowd):
        worst = max(breach(crowd.bags(groups), x, (2, 0, 0), "set") for x in "ST")
        assert worst == {1: Fraction(225, 449), 2: Fraction(169, 217), 3: HALF}[len(groups)]
    groups = solved(fk.Mondrian(), crowd, rules)
    assert sorted(groups) == [[0, 1], list(range(2, 13)), [13, 14]]


def test_cut_that_is_no_candidate():
    # Of six thresholds, five are candidates; of the two least even ones, not the one needed.
    held = ["SSTT", "", "", "", "S", "", "SS"]
    crowd, rules = crowd_of(range(7), held, "multiset"), [(["T"], (1, 0, 0), Fraction("0.438"))]
    safe_ones = [g for g in into_intervals(crowd) if safe(crowd.bags(g), rules, "multiset")]
    assert safe_ones == [[[0, 1, 2, 3, 4, 5], [6]]]
    assert solved(fk.Mondrian(), crowd, rules) is None
    assert solved(fk.Mondrian(cuts=6), crowd, rules) == safe_ones[0]
