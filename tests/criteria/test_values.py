"""Criteria of values: measured, decided, searched, published, verified and refused.

Of the values of a group by itself: l-diversity and (alpha, k). Beside those of the table:
t-closeness, beta-likeness and delta-disclosure.
"""

import json
import random
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.criteria.definitions import ORDER, alone, truth
from tests.examples import examples

import foreknow as fk

SHARES = st.fractions(min_value="1/6", max_value=1, max_denominator=6)
TIMES = st.fractions(min_value="1/6", max_value=4, max_denominator=6)
TREES = [
    [[int(leaf), *above] for leaf, *above in map(str.split, rows.split(","))]
    for rows in (
        "1 a x,2 a x,3 b x,4 c y,5 c y,9 d y",
        "1 odd *,3 odd *,5 odd *,2 even *,4 even *",
        "1 1 low,2 2 low,3 2 low,4 3 low,5 4 high",
    )
]
CLOSE = partial(st.builds, fk.TCloseness, SHARES)
DIVERSE = partial(st.builds, fk.LDiversity)
CRITERIA = st.one_of(
    CLOSE(),
    CLOSE(st.just("ordered")),
    CLOSE(st.just("ordered"), st.just(ORDER)),
    CLOSE(st.just("hierarchical"), tree=st.sampled_from(TREES)),
    st.builds(fk.BetaLikeness, TIMES, st.booleans()),
    st.builds(fk.DeltaDisclosure, TIMES),
    DIVERSE(st.integers(1, 5)),
    DIVERSE(TIMES.map(lambda x: max(x, 1)), st.just("entropy")),
    DIVERSE(st.integers(2, 4), st.just("recursive"), TIMES),
    st.builds(fk.AlphaK, SHARES, st.integers(1, 6)),
)


def assert_worst(criterion, measured, amounts):
    """Whether the worst of some groups was measured, but for the last digits of an entropy."""
    kind = getattr(criterion, "kind", None)
    worst = (min if kind in ("distinct", "entropy") else max)(amounts)
    if kind == "entropy":
        assert -Decimal("1e-20") <= worst - Decimal(float(measured)) <= Decimal("1.1e-6")
    else:
        assert measured == worst


@examples(4000, daily=100, deadline=None)
@given(
    CRITERIA, st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=7), min_size=1, max_size=5)
)
def test_measures_by_definition(criterion, groups):
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


def partitions(people, most=9):
    """The ways in which so many people may share values, as counts that fall."""
    if not people:
        yield ()
    for own in range(min(people, most), 0, -1):
        yield from ((own, *rest) for rest in partitions(people - own, own))


def test_small_groups_at_their_limits():
    """Also where a group is exactly at its limit, which few random ones are."""
    shapes = [shape for people in range(1, 6) for shape in partitions(people)]
    shapes += [(many,) * values for values in range(2, 13) for many in (1, 3)]
    asked = [
        *(fk.LDiversity(least) for least in (1, 2, 3)),
        *(fk.LDiversity(least, "entropy") for least in ("3/2", *range(2, 13))),
        *(fk.LDiversity(at, "recursive", c) for at in (2, 3) for c in ("1/2", 1, 2)),
        *(fk.AlphaK(alpha, k) for alpha in ("1/3", "1/2", 1) for k in (1, 3)),
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


def test_uneven_shapes_at_the_limit():
    even, near = (
        fk.GroupCounts.from_bags([dict(zip("abc", [10**12, 10**12, last], strict=True))])
        for last in (10**12, 10**12 + 1)
    )
    three = fk.LDiversity(3, "entropy")
    assert (three.holds(even), three.holds(near), three.measure(even)) == (True, False, 3)
    assert not three.ledger().admits(None, near)
    # A value that nobody has is no place in the order: it would make every step smaller.
    bags = [[1, 1, 2], [1, 2, 2]]
    taken = fk.GroupCounts.from_bags([*bags, [9]]).take(np.array([0, 1]))
    close = fk.TCloseness("0.1", distance="ordered")
    assert close.measure(taken) == close.measure(fk.GroupCounts.from_bags(bags)) == Fraction(1, 6)
    assert not close.holds(taken)
    named = fk.TCloseness("0.1", distance="ordered", order=[1, 2, 9])
    assert named.measure(taken) == Fraction(1, 6)


# ---- published and verified ------------------------------------------------------------------


TREE = ((1, "low"), (2, "low"), (3, "middle"), (5, "middle"), (7, "high"))


PUBLISHED = [
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


def people(n=300, seed=4):
    random.seed(seed)
    values = random.choices([1, 2, 3, 5, 7], [4, 3, 2, 1, 1], k=n)
    ages = [random.randint(20, 79) for _ in values]
    return pa.table({"age": ages, "sex": random.choices("mf", k=n), "grade": values})


SCHEMA = fk.Schema(
    quasi_identifiers=["age", "sex"], sensitive="grade", hierarchies={"age": {"intervals": [5, 20]}}
)


STRICTER = {
    "t_closeness": {"t": "1/1000"},
    "beta_likeness": {"beta": "1/1000"},
    "delta_disclosure": {"delta": "1/1000"},
    "alpha_k": {"alpha": "1/3"},
}


@pytest.mark.parametrize(
    ("criterion", "suppression"),
    [(own, (None, 0, 0.1)[at % 3]) for at, own in enumerate(PUBLISHED)],
    ids=repr,
)
def test_publications_attain_it(criterion, suppression, tmp_path):
    rules = fk.Policy([fk.Requirement(criterion)], schema=SCHEMA)
    method = "mondrian" if suppression is None else fk.FullDomain(suppression=suppression)
    made = fk.publish(people(), rules, method=method)
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out")
    groups, rows = {}, made.tables["release"].to_pylist()
    for row in rows:
        groups.setdefault((row["age"], row["sex"]), []).append(int(row["grade"]))
    plain, order = criterion, sorted({int(row["grade"]) for row in rows})
    if getattr(criterion, "order", None):
        plain, order = fk.TCloseness(criterion.t, criterion.distance), [7, 1, 3, 5, 2]
    place = {
        value: value if hasattr(plain, "tree") and plain.tree else order.index(value)
        for value in order
    }
    everybody = [place[int(row["grade"])] for row in rows]
    found = [truth(plain, [place[v] for v in bag], everybody) for bag in groups.values()]
    assert len(groups) > 1 or suppression is not None
    assert all(near for _, near in found)
    assert_worst(criterion, made.audit.criteria[0].reached, [amount for amount, _ in found])
    loaded = fk.Policy.from_dict({"require": rules.to_dict()["require"]})
    assert loaded.requirements[0].criterion == criterion
    # A certificate that promises more is refused.
    path, key = tmp_path / "out" / "certificate.json", criterion.key
    said = json.loads(path.read_text())
    for table in (said["policy"]["require"][0], said["findings"][0]["judged"]):
        table[key] = (
            {**table[key], **STRICTER[key]} if key in STRICTER else {"l": 6, "kind": "distinct"}
        )
    path.write_text(json.dumps(said))
    with pytest.raises(fk.InputError):
        fk.verify(tmp_path / "out")


def test_trees_of_the_sensitive_column(tmp_path):
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


# ---- what is refused, and said ---------------------------------------------------------------


MILD = fk.GroupCounts.from_bags([["mild", "severe"], ["none", "mild"]])


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
        *(
            (lambda own=own: fk.TCloseness(0.5, "ordered", *own).measure(MILD), said)
            for own, said in (([], r"order = \["), ([["none", "mild"]], "'severe'"))
        ),
        *(
            (lambda own=own: fk.KAnonymity(2, of=own), "of is a list of columns")
            for own in ([5], [["age", 5]], {"age": 1}, {"age"}, [], [[]])
        ),
        (lambda: fk.DeltaDisclosure(1).ledger(), "needs the counts of the whole table"),
    ],
)
def test_settings_refused(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()
    assert fk.TCloseness(0.5, "ordered", ["none", "mild", "severe"]).measure(MILD)
