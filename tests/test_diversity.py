"""l-diversity and (alpha, k): measured, decided, searched, published, verified and refused."""

import json
import math
import random
from collections import Counter
from decimal import Decimal, getcontext
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import examples

import foreknow as fk

getcontext().prec = 40

bags = st.lists(st.sampled_from("abcde"), min_size=1, max_size=9)
releases = st.lists(bags, min_size=1, max_size=6)
fractions = st.fractions(min_value="1/5", max_value=4, max_denominator=6)
criteria = st.one_of(
    st.builds(fk.LDiversity, st.integers(1, 5)),
    st.builds(fk.LDiversity, fractions.map(lambda x: max(x, 1)), st.just("entropy")),
    st.builds(fk.LDiversity, st.integers(2, 4), st.just("recursive"), fractions),
    st.builds(fk.AlphaK, fractions.filter(lambda x: x <= 1), st.integers(1, 6)),
)


def truth(criterion, bag):
    """What one group attains and whether it holds, from the definition."""
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


@examples(2000, deadline=None)
@given(criteria, releases)
def test_measures_and_verdicts_are_those_of_the_definition(criterion, groups):
    found = [truth(criterion, bag) for bag in groups]
    least = getattr(criterion, "kind", None) in ("distinct", "entropy")
    worst = (min if least else max)(amount for amount, _ in found)
    counts = fk.GroupCounts.from_bags(groups)
    if getattr(criterion, "kind", None) == "entropy":
        measured = criterion.measure(counts)
        assert -Decimal("1e-20") <= worst - Decimal(float(measured)) <= Decimal("1.1e-6")
    else:
        assert criterion.measure(counts) == worst
    holds = all(kept for _, kept in found)
    assert criterion.holds(counts) == holds
    assert criterion.ledger().admits(None, counts) == holds
    (verdict,) = fk.audit(counts, fk.Policy([fk.Requirement(criterion)])).criteria
    assert verdict.safe == holds
    assert str(criterion.measure(counts)) in (str(verdict.reached), "inf")


@examples(1000, deadline=None)
@given(criteria, bags, bags)
def test_what_two_groups_hold_holds_of_both_together(criterion, one, other):
    assume(all(truth(criterion, bag)[1] for bag in (one, other)))
    assert criterion.monotone()
    assert criterion.holds(fk.GroupCounts.from_bags([one + other]))


@examples(500, deadline=None)
@given(releases, st.integers(2, 4), fractions)
def test_recursive_diversity_is_a_limit_on_negations(groups, l, c):  # noqa: E741
    counts = fk.GroupCounts.from_bags(groups)
    criterion = fk.LDiversity(l, "recursive", c)
    assert criterion.holds(counts) == fk.is_recursively_diverse(counts, c, l)
    assert criterion.holds(counts) == fk.Negations(l - 2).disclosure(counts).below(c / (c + 1))


CRITERIA = [
    fk.LDiversity(3),
    fk.LDiversity("5/2", "entropy"),
    fk.LDiversity(3, "entropy"),
    fk.LDiversity(2, "recursive", "3/2"),
    fk.LDiversity(3, "recursive", 4),
    fk.AlphaK("1/2", 4),
]


def people(n=300, seed=3):
    random.seed(seed)
    values = random.choices(["Flu", "Cold", "Gout", "HIV", "Ache"], [4, 3, 2, 1, 1], k=n)
    ages = [random.randint(20, 79) for _ in values]
    return pa.table({"age": ages, "sex": random.choices("mf", k=n), "disease": values})


SCHEMA = fk.Schema(
    quasi_identifiers=["age", "sex"],
    sensitive="disease",
    hierarchies={"age": {"intervals": [5, 20]}},
)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_what_is_published_attains_it_and_verifies(criterion, method, tmp_path):
    rules = fk.Policy([fk.Requirement(criterion)], schema=SCHEMA)
    made = fk.publish(fk.Microdata(people(), SCHEMA), rules, method=method)
    made.write(tmp_path / "out")
    found = fk.verify(tmp_path / "out")
    assert found
    groups = {}
    rows = made.tables["release"].to_pylist()
    for row in rows:
        groups.setdefault((row["age"], row["sex"]), []).append(row["disease"])
    assert len(groups) > 1
    assert all(truth(criterion, bag)[1] for bag in groups.values())
    loaded = fk.Policy.from_dict({"require": rules.to_dict()["require"]})
    assert loaded.requirements[0].criterion == criterion


@pytest.mark.parametrize("criterion", CRITERIA, ids=repr)
def test_a_certificate_that_promises_more_is_refused(criterion, tmp_path):
    rules = fk.Policy([fk.Requirement(criterion)], schema=SCHEMA)
    fk.publish(fk.Microdata(people(), SCHEMA), rules).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    said = json.loads(path.read_text())
    key = criterion.key
    stricter = {"alpha_k": {"alpha": "1/3", "k": 4}, "l_diversity": {"l": 5, "kind": "distinct"}}
    said["policy"]["require"][0][key] = stricter[key]
    said["findings"][0]["judged"][key] = stricter[key]
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
    ],
)
def test_settings_that_mean_nothing_are_refused(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()
