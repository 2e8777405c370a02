"""Criteria of values: measured, decided, searched, published, verified and refused.

Of the values of a group by itself: l-diversity and (alpha, k). Beside those of the table:
t-closeness, beta-likeness and delta-disclosure.
"""

import json
import math
import random
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracle.transport import least_work, levels_apart

import foreknow as fk

getcontext().prec = 40

bags = st.lists(st.sampled_from("abcde"), min_size=1, max_size=9)
small = st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=6), min_size=1, max_size=5)
releases = st.lists(bags, min_size=1, max_size=6)
fractions = st.fractions(min_value="1/5", max_value=4, max_denominator=6)
of_groups = st.one_of(
    st.builds(fk.LDiversity, st.integers(1, 5)),
    st.builds(fk.LDiversity, fractions.map(lambda x: max(x, 1)), st.just("entropy")),
    st.builds(fk.LDiversity, st.integers(2, 4), st.just("recursive"), fractions),
    st.builds(fk.AlphaK, fractions.filter(lambda x: x <= 1), st.integers(1, 6)),
)
numbers = st.fractions(min_value="1/6", max_value=3, max_denominator=6)
shares = numbers.filter(lambda x: x <= 1)
ORDER = (3, 1, 5, 2, 4)
TREES = (
    ((1, "a", "x"), (2, "a", "x"), (3, "b", "x"), (4, "c", "y"), (5, "c", "y"), (9, "d", "y")),
    ((1, "odd", "*"), (3, "odd", "*"), (5, "odd", "*"), (2, "even", "*"), (4, "even", "*")),
    ((1, "1", "low"), (2, "2", "low"), (3, "2", "low"), (4, "3", "low"), (5, "4", "high")),
)
of_table = st.one_of(
    st.builds(fk.TCloseness, shares),
    st.builds(fk.TCloseness, shares, st.just("ordered")),
    st.builds(fk.TCloseness, shares, st.just("ordered"), st.just(ORDER)),
    st.builds(
        lambda t, tree: fk.TCloseness(t, "hierarchical", tree=tree), shares, st.sampled_from(TREES)
    ),
    st.builds(fk.BetaLikeness, numbers, st.booleans()),
    st.builds(fk.DeltaDisclosure, numbers),
)


def work(bag, everybody, cost):
    """Move a group's values to those of all, both repeated to one length, least work first."""
    left = sorted(value for value in bag for _ in everybody)
    right = sorted(value for value in everybody for _ in bag)
    if cost == "equal":
        alike = sum((Counter(left) & Counter(right)).values())
        return 1 - Fraction(alike, len(left))
    # On a line nothing is gained by crossing: the first goes to the first.
    steps = sum(abs(a - b) for a, b in zip(left, right, strict=True))
    return Fraction(steps, len(left) * max(1, len(set(everybody)) - 1))


def alone(criterion, bag):
    """What a group attains by itself and whether it holds, from the definition."""
    counts = sorted(Counter(bag).values(), reverse=True)
    if isinstance(criterion, fk.AlphaK):
        share = Fraction(counts[0], len(bag))
        return share, share <= criterion.alpha and len(bag) >= criterion.k
    if criterion.kind == "distinct":
        return len(counts), len(counts) >= criterion.l
    if criterion.kind == "recursive":
        rest = sum(counts[criterion.l - 1 :])
        times = Fraction(counts[0], rest) if rest else math.inf
        return times, times < criterion.c
    entropy = sum(Decimal(n) / len(bag) * (Decimal(len(bag)) / n).ln() for n in counts)
    # entropy >= log(l) in whole numbers: N^N >= l^N times all n^n
    left, right = Fraction(len(bag)) ** len(bag), criterion.l ** len(bag)
    return entropy.exp(), left >= right * math.prod(n**n for n in counts)


def truth(criterion, bag, everybody):
    """What one group attains beside everybody and whether it holds, from the definition."""
    if isinstance(criterion, (fk.LDiversity, fk.AlphaK)):
        return alone(criterion, bag)
    p = {v: Fraction(n, len(bag)) for v, n in Counter(bag).items()}
    q = {v: Fraction(n, len(everybody)) for v, n in Counter(everybody).items()}
    if getattr(criterion, "distance", None) == "hierarchical":
        distance, height = levels_apart(criterion.tree)
        far = least_work(p, q, sorted(q), distance, height)
        return far, far <= criterion.t
    if isinstance(criterion, fk.TCloseness):
        order = [v for v in (criterion.order and ORDER) or sorted(q) if v in q]
        if criterion.distance == "ordered":
            bag, everybody = ([order.index(v) for v in own] for own in (bag, everybody))
        far = work(bag, everybody, criterion.distance)
        return far, far <= criterion.t
    if isinstance(criterion, fk.BetaLikeness):
        gains = {v: (p[v] - q[v]) / q[v] for v in p}
        far = max([*gains.values(), Fraction(0)])
        most = {v: Decimal("inf") for v in p}
        if criterion.enhanced:
            most = {v: -(Decimal(q[v].numerator) / q[v].denominator).ln() for v in p}
        near = all(
            gain <= 0
            or (gain <= criterion.beta and Decimal(gain.numerator) / gain.denominator <= most[v])
            for v, gain in gains.items()
        )
        return far, near
    if set(p) != set(q):
        return math.inf, False
    far = max(max(p[v] / q[v], q[v] / p[v]) for v in q)
    delta = Decimal(criterion.delta.numerator) / criterion.delta.denominator
    return far, (Decimal(far.numerator) / far.denominator).ln() < delta


def assert_worst(criterion, measured, amounts):
    """Whether the worst of some groups was measured, but for the last digits of an entropy."""
    kind = getattr(criterion, "kind", None)
    worst = (min if kind in ("distinct", "entropy") else max)(amounts)
    if kind == "entropy":
        assert -Decimal("1e-20") <= worst - Decimal(float(measured)) <= Decimal("1.1e-6")
    else:
        assert measured == worst


def is_as_defined(criterion, groups):
    everybody = [value for bag in groups for value in bag]
    found = [truth(criterion, bag, everybody) for bag in groups]
    counts = fk.GroupCounts.from_bags(groups)
    measured = criterion.measure(counts)
    assert_worst(criterion, measured, [amount for amount, _ in found])
    holds = all(kept for _, kept in found)
    assert criterion.holds(counts) == holds
    assert criterion.ledger(whole=counts.totals).admits(None, counts) == holds
    (verdict,) = fk.audit(counts, fk.Policy([fk.Requirement(criterion)])).criteria
    assert verdict.safe == holds
    assert str(measured) in (str(verdict.reached), "inf")


@examples(3000, deadline=None)
@given(of_table, small)
def test_measures_and_verdicts_beside_the_table_are_those_of_the_definition(criterion, groups):
    is_as_defined(criterion, groups)


@examples(2000, deadline=None)
@given(of_groups, releases)
def test_measures_and_verdicts_of_groups_are_those_of_the_definition(criterion, groups):
    is_as_defined(criterion, groups)


def test_examples_of_the_paper_on_t_closeness():
    incomes = [3, 4, 5, 6, 11, 8, 7, 9, 10]
    groups = [[3, 4, 5], [6, 8, 11], [7, 9, 10]]
    assert sorted(incomes) == sorted(value for bag in groups for value in bag)
    ordered = fk.TCloseness(1, "ordered")
    own = fk.GroupCounts.from_bags([groups[0], groups[1] + groups[2]])
    assert ordered.measure(own) == Fraction(3, 8)  # 0.375, of {3k, 4k, 5k}
    whole = fk.GroupCounts.from_bags(groups).totals
    second = fk.GroupCounts.from_bags(groups)
    assert ordered._exact(second, 1, whole) == Fraction(1, 6)  # 0.167, of {6k, 8k, 11k}


DISEASES = [
    ["gastric ulcer", "stomach", "digestive", "*"],
    ["gastritis", "stomach", "digestive", "*"],
    ["colitis", "colon", "digestive", "*"],
    ["flu", "lung infection", "respiratory", "*"],
    ["pneumonia", "lung infection", "respiratory", "*"],
    ["pulmonary edema", "vascular lung", "respiratory", "*"],
]


@pytest.mark.parametrize(
    ("one", "other", "levels"),
    [("flu", "pneumonia", 1), ("flu", "pulmonary edema", 2), ("flu", "colitis", 3)],
)
def test_two_values_are_as_far_apart_as_the_lowest_node_above_both_is_high(one, other, levels):
    """Half of the people go from one value to the other, by so many of three levels."""
    counts = fk.GroupCounts.from_bags([[one], [other]])
    criterion = fk.TCloseness(1, "hierarchical", tree=DISEASES)
    assert criterion.measure(counts) == Fraction(levels, 6)
    assert fk.TCloseness(Fraction(levels, 6), "hierarchical", tree=DISEASES).holds(counts)


def test_the_tree_is_the_hierarchy_of_the_sensitive_column(tmp_path):
    lines = [";".join(map(str, row)) for row in TREE]
    (tmp_path / "grades.csv").write_text("\n".join(lines))
    (tmp_path / "policy.toml").write_text(
        """
        [schema]
        quasi_identifiers = ["age", "sex"]
        sensitive = "grade"
        [schema.hierarchies]
        grade = { file = "grades.csv" }
        [[require]]
        t_closeness = { t = 0.25, distance = "hierarchical" }
        """
    )
    policy = fk.Policy.load(tmp_path / "policy.toml")
    stated = fk.TCloseness(0.25, "hierarchical", tree=TREE)
    assert policy.requirements[0].criterion == stated
    made = fk.publish(people(), policy, seed=1)
    made.write(tmp_path / "out")
    (tmp_path / "grades.csv").unlink()  # what the certificate states is enough
    assert fk.verify(tmp_path / "out").findings[0].reached == stated.measure(made.release) > 0
    assert {row["grade"] for row in made.to_arrow().to_pylist()} == set("12357")  # as it is
    without = fk.Requirement(fk.TCloseness(0.25, "hierarchical"))
    with pytest.raises(fk.InputError, match="tree of the values is unknown"):
        fk.audit(made.release.counts, fk.Policy([without]))
    numbers = fk.Schema(
        quasi_identifiers=["age"], sensitive="grade", hierarchies={"grade": {"intervals": [2]}}
    )
    with pytest.raises(fk.InputError, match="must be a tree"):
        fk.Policy([without], numbers)


@examples(300, deadline=None)
@given(of_table, small)
def test_groups_that_are_near_enough_are_so_together(criterion, groups):
    everybody = [value for bag in groups for value in bag]
    counts = fk.GroupCounts.from_bags(groups)
    assert criterion.monotone()
    if all(truth(criterion, bag, everybody)[1] for bag in groups[:2]) and len(groups) > 1:
        merged = fk.GroupCounts.from_bags([groups[0] + groups[1], *groups[2:]])
        assert truth(criterion, groups[0] + groups[1], everybody)[1]
        own = merged.take([0])
        assert criterion.ledger(whole=merged.totals).admits(None, own)
        assert criterion.measure(merged) <= criterion.measure(counts)


def partitions(people, most=9):
    """The ways in which so many people may share values, as counts that fall."""
    if not people:
        yield ()
    for own in range(min(people, most), 0, -1):
        yield from ((own, *rest) for rest in partitions(people - own, own))


def test_every_small_group_at_every_limit_is_decided_as_defined():
    """Also where a group is exactly at its limit, which few random ones are."""
    shapes = [shape for people in range(1, 7) for shape in partitions(people)]
    shapes += [(many,) * values for values in range(2, 13) for many in (1, 3, 7)]
    asked = [
        *(fk.LDiversity(least) for least in (1, 2, 3)),
        *(fk.LDiversity(least, "entropy") for least in ("3/2", *range(2, 13))),
        *(fk.LDiversity(at, "recursive", c) for at in (2, 3) for c in ("1/2", 1, 2)),
        *(fk.AlphaK(alpha, k) for alpha in ("1/3", "1/2", 1) for k in (1, 3, 6)),
    ]
    bags = [[value for value, n in enumerate(shape) for _ in range(n)] for shape in shapes]
    each = [fk.GroupCounts.from_bags([bag]) for bag in bags]
    for criterion in asked:
        wrong = [
            shape
            for shape, bag, counts in zip(shapes, bags, each, strict=True)
            if {criterion.holds(counts), criterion.ledger().admits(None, counts)}
            != {alone(criterion, bag)[1]}
        ]
        assert not wrong, criterion


@examples(1000, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(of_groups, bags, bags)
def test_what_two_groups_hold_holds_of_both_together(criterion, one, other):
    assume(all(alone(criterion, bag)[1] for bag in (one, other)))
    assert criterion.monotone()
    assert criterion.holds(fk.GroupCounts.from_bags([one + other]))


@examples(500, deadline=None)
@given(releases, st.integers(2, 4), fractions)
def test_recursive_diversity_is_a_limit_on_negations(groups, l, c):  # noqa: E741
    counts = fk.GroupCounts.from_bags(groups)
    criterion = fk.LDiversity(l, "recursive", c)
    assert criterion.holds(counts) == fk.is_recursively_diverse(counts, c, l)
    assert criterion.holds(counts) == fk.Negations(l - 2).disclosure(counts).below(c / (c + 1))


TREE = ((1, "low"), (2, "low"), (3, "middle"), (5, "middle"), (7, "high"))
CRITERIA = [
    fk.TCloseness("1/4", "hierarchical", tree=TREE),
    fk.TCloseness("1/3"),
    fk.TCloseness("1/4", "ordered"),
    fk.TCloseness("1/5", "ordered", (7, 1, 3, 5, 2)),
    fk.BetaLikeness(1),
    fk.BetaLikeness(2, enhanced=True),
    fk.DeltaDisclosure(1),
    fk.LDiversity(3),
    fk.LDiversity("5/2", "entropy"),
    fk.LDiversity(3, "entropy"),
    fk.LDiversity(2, "recursive", "3/2"),
    fk.LDiversity(3, "recursive", 4),
    fk.AlphaK("1/2", 4),
]


def people(n=400, seed=4):
    random.seed(seed)
    values = random.choices([1, 2, 3, 5, 7], [4, 3, 2, 1, 1], k=n)
    ages = [random.randint(20, 79) for _ in values]
    return pa.table({"age": ages, "sex": random.choices("mf", k=n), "grade": values})


SCHEMA = fk.Schema(
    quasi_identifiers=["age", "sex"],
    sensitive="grade",
    hierarchies={"age": {"intervals": [5, 20]}},
)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("suppression", [None, 0, 0.1])
@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_what_is_published_attains_it_and_verifies(criterion, suppression, tmp_path):
    rules = fk.Policy([fk.Requirement(criterion)], schema=SCHEMA)
    method = "mondrian" if suppression is None else fk.FullDomain(suppression=suppression)
    made = fk.publish(fk.Microdata(people(), SCHEMA), rules, method=method)
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out")
    groups, rows = {}, made.tables["release"].to_pylist()
    for row in rows:
        groups.setdefault((row["age"], row["sex"]), []).append(int(row["grade"]))
    everybody = [int(row["grade"]) for row in rows]
    order = [7, 1, 3, 5, 2] if getattr(criterion, "order", None) else sorted(set(everybody))
    ranked = {value: place for place, value in enumerate(order)}
    places = {key: [ranked[value] for value in bag] for key, bag in groups.items()}
    plain = fk.TCloseness(criterion.t, criterion.distance) if order != sorted(order) else criterion
    if getattr(criterion, "tree", None):
        found = [truth(criterion, bag, everybody) for bag in groups.values()]
    else:
        found = [truth(plain, bag, [ranked[v] for v in everybody]) for bag in places.values()]
    assert len(groups) > 1 or suppression is not None
    assert all(near for _, near in found)
    assert_worst(criterion, made.audit.criteria[0].reached, [amount for amount, _ in found])
    loaded = fk.Policy.from_dict({"require": rules.to_dict()["require"]})
    assert loaded.requirements[0].criterion == criterion


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_a_certificate_that_promises_more_is_refused(criterion, tmp_path):
    rules = fk.Policy([fk.Requirement(criterion)], schema=SCHEMA)
    fk.publish(fk.Microdata(people(), SCHEMA), rules).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    said = json.loads(path.read_text())
    stricter = {
        "t_closeness": {"t": "1/1000"},
        "beta_likeness": {"beta": "1/1000"},
        "delta_disclosure": {"delta": "1/1000"},
        "l_diversity": {"l": 5, "kind": "distinct"},
        "alpha_k": {"alpha": "1/3"},
    }[criterion.key]
    for table in (said["policy"]["require"][0], said["findings"][0]["judged"]):
        own = table[criterion.key]
        table[criterion.key] = stricter if criterion.key == "l_diversity" else {**own, **stricter}
    path.write_text(json.dumps(said))
    with pytest.raises(fk.InputError):
        fk.verify(tmp_path / "out")


def test_uneven_shapes_at_the_limit_are_decided_by_whole_numbers():
    even = fk.GroupCounts.from_bags([{"a": 10**12, "b": 10**12, "c": 10**12}])
    near = fk.GroupCounts.from_bags([{"a": 10**12, "b": 10**12, "c": 10**12 + 1}])
    three = fk.LDiversity(3, "entropy")
    assert (three.holds(even), three.holds(near)) == (True, False)
    assert three.measure(even) == 3
    assert not three.ledger().admits(None, near)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fk.LDiversity(0), "LDiversity: l"),
        (lambda: fk.LDiversity(1, "recursive", 2), "LDiversity: l"),
        (lambda: fk.LDiversity(3, "recursive"), "'recursive' needs c"),
        (lambda: fk.LDiversity(3, c=2), "'distinct' takes no c"),
        (lambda: fk.LDiversity(3, "recursive", 0), "c must be above 0"),
        (lambda: fk.LDiversity("1/2", "entropy"), "l must be at least 1"),
        (lambda: fk.LDiversity(2, "entropic"), "there is no kind 'entropic'.*entropy"),
        (lambda: fk.AlphaK(0, 2), "alpha must be above 0"),
        (lambda: fk.AlphaK("3/2", 2), "at most 1"),
        (lambda: fk.AlphaK("1/2", 0), "AlphaK: k"),
        (lambda: fk.TCloseness(2), "t must be from 0 to 1"),
        (lambda: fk.TCloseness(0.1, "equals"), "there is no distance 'equals'.*equal"),
        (lambda: fk.TCloseness(0.1, order=["a"]), "order is a list"),
        (lambda: fk.TCloseness(0.1, "ordered", ["a", "a"]), "order names a value twice"),
        (lambda: fk.TCloseness(0.1, tree=[["a", "b"]]), "tree is for"),
        (lambda: fk.TCloseness(0.1, "hierarchical", tree=[["a"]]), "at least one level"),
        (
            lambda: fk.TCloseness(0.1, "hierarchical", tree=TREE).measure(
                fk.GroupCounts.from_bags([["8"]])
            ),
            "does not list the value '8'",
        ),
        (lambda: fk.BetaLikeness(0), "beta must be above 0"),
        (lambda: fk.BetaLikeness(1, enhanced=1), "enhanced is True or False"),
        (lambda: fk.DeltaDisclosure(0), "delta must be above 0"),
        (lambda: fk.DeltaDisclosure(1).ledger(), "needs the counts of the whole table"),
    ],
)
def test_settings_that_mean_nothing_are_refused(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()


def test_an_order_that_is_unknown_is_asked_for():
    counts = fk.GroupCounts.from_bags([["mild", "severe"], ["none", "mild"]])
    with pytest.raises(fk.InputError, match=r"order = \["):
        fk.TCloseness(0.5, "ordered").measure(counts)
    with pytest.raises(fk.InputError, match="'severe'"):
        fk.TCloseness(0.5, "ordered", ["none", "mild"]).measure(counts)
    assert fk.TCloseness(0.5, "ordered", ["none", "mild", "severe"]).measure(counts)


@pytest.mark.parametrize(
    ("criterion", "bags", "said"),
    [
        (
            fk.TCloseness("0.2"),
            [{"a": 70_001, "b": 29_999}, {"a": 30_000, "b": 70_000}],
            "0.200005 away from the table, 0.2 is allowed",
        ),
        (
            fk.TCloseness(0.25),
            [{"a": 3, "b": 1}, {"a": 1, "b": 3}],
            "0.25 away from the table, 0.25",
        ),
        (fk.BetaLikeness(1), [{"a": 20_001}, {"b": 20_002}], "up to 1.00005 times its share"),
        (fk.DeltaDisclosure("1e-6"), [{"a": 3}, {"a": 5}], "up to 1; it must be below 1.000001,"),
        (
            fk.DeltaDisclosure(1),
            [{"a": 3}, {"b": 5}],
            "up to inf; it must be below 2.718, e to the 1",
        ),
        (fk.DeltaDisclosure(500), [{"a": 3}, {"a": 5}], "up to 1; it must be below 1.404e+217, e"),
        (
            fk.AlphaK("1/3", 1),
            [{"a": 33334, "b": 33333, "c": 33333}],
            "is 0.33334, the most is 0.33333;",
        ),
        (
            fk.LDiversity(2, "recursive", 2),
            [{"a": 200_001, "b": 100_000}],
            "occurs 2.00001 times as often as all from the 2nd on, together; it must be below 2",
        ),
        (fk.LDiversity(2, "entropy"), [{"a": 501, "b": 499}], "as diverse as 1.999996 values"),
    ],
)
def test_an_amount_prints_as_its_limit_only_where_it_is_equal(criterion, bags, said):
    assert said in criterion.attained(fk.GroupCounts.from_bags(bags)).words


def test_a_value_that_nobody_has_is_no_place_in_the_order():
    """It would make every step smaller, and a group that is too far away near enough."""
    bags = [[1, 1, 2], [1, 2, 2]]
    taken = fk.GroupCounts.from_bags([*bags, [9]]).take(np.array([0, 1]))
    close = fk.TCloseness("0.1", distance="ordered")
    assert close.measure(taken) == close.measure(fk.GroupCounts.from_bags(bags)) == Fraction(1, 6)
    assert not close.holds(taken)
    named = fk.TCloseness("0.1", distance="ordered", order=[1, 2, 9])
    assert named.measure(taken) == Fraction(1, 6)
