"""Mondrian where a person may have several values, or none: safe, and no cut of it is any more."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.reference import bag_of, failures, members_of
from tests.methods.reference import safe_cuts as safe_cuts_of_single
from tests.methods.several import breach, crowd_of, crowds, safe, safe_cuts
from tests.methods.tables import cases, policies
from tests.diagnoses import diagnoses
from tests.examples import examples
from tests.oracle.many_worlds import worst_cases

import foreknow as fk
from foreknow.adversaries.facts.minima import FactsMeasure
from foreknow.adversaries.ledger import MinLedger
from foreknow.methods.mondrian import levels
from foreknow.methods.mondrian.cuts import Points
from foreknow.methods.mondrian.levels import Level
from foreknow.numbers import as_threshold

HALF = Fraction(1, 2)
BOTH = pytest.mark.parametrize("semantics", ["set", "multiset"])


def found_by(method, crowd, policy, seed=0):
    """The groups that a method finds, or None; refused only where everybody in one is unsafe."""
    try:
        partition = method.partition(crowd.microdata(seed), policy)
    except fk.NoSafeRelease:
        return None
    assert isinstance(partition, np.ndarray)
    assert partition.dtype == np.int64
    return crowd.groups_of(partition.tolist(), seed)


@examples(150)
@given(data=st.data(), crowd=crowds(), cuts=st.integers(1, 5))
def test_any_result_is_safe_and_no_candidate_cut_of_it_is(data, crowd, cuts):
    policy, rules = data.draw(policies(crowd.values))
    groups = found_by(fk.Mondrian(cuts), crowd, policy)
    if groups is None:
        everyone = [list(range(len(crowd.rows)))]
        assert not safe(crowd.bags(everyone), rules, crowd.semantics)
        return
    assert safe(crowd.bags(groups), rules, crowd.semantics)
    left = safe_cuts(crowd, groups, rules, cuts)
    assert not left, (groups, left)


@examples(60)
@given(data=st.data(), crowd=crowds(most_people=5, most_attributes=1, letters="STU"))
def test_tiny_results_are_safe_by_enumeration_of_worlds(data, crowd):
    policy, rules = data.draw(policies(crowd.values))
    groups = found_by(fk.Mondrian(), crowd, policy)
    if groups is None:
        return
    bags = [(len(people), "".join(crowd.held[p] for p in people)) for people in groups]
    for values, point, c in rules:
        for value in values:
            assert worst_cases(bags, value, point, crowd.semantics)[point] < c, (bags, value)


@examples(60)
@given(crowd=crowds(most_people=5, letters="STU"), point=st.tuples(*[st.integers(0, 2)] * 3))
def test_the_reference_itself_agrees_with_enumeration(crowd, point):
    groups = [[p for p in range(len(crowd.rows)) if p % 2 == side] for side in (0, 1)]
    bags = [(len(people), "".join(crowd.held[p] for p in people)) for people in groups]
    for value in crowd.values:
        truth = worst_cases(bags, value, point, crowd.semantics)[point]
        assert breach(crowd.bags(groups), value, point, crowd.semantics) == truth


@examples(60)
@given(data=st.data(), crowd=crowds(), amounts=st.tuples(*[st.integers(0, 1)] * 3))
def test_a_threshold_that_a_result_attains_forbids_that_result(data, crowd, amounts):
    method, about = fk.Mondrian(), data.draw(st.sampled_from(crowd.values))
    groups = found_by(method, crowd, fk.Policy([fk.Requirement(fk.Facts(*amounts), 1)]))
    if groups is None:
        return
    attained = breach(crowd.bags(groups), about, amounts, crowd.semantics)
    stricter = fk.Policy([fk.Requirement(fk.Facts(*amounts), attained, values=[about])])
    again = found_by(method, crowd, stricter)
    assert again is None or breach(crowd.bags(again), about, amounts, crowd.semantics) < attained


@examples(40)
@given(data=st.data(), crowd=crowds())
def test_nothing_is_random_and_the_order_of_rows_changes_nothing(data, crowd):
    policy, _ = data.draw(policies(crowd.values))
    method = fk.Mondrian(3)
    first = found_by(method, crowd, policy)
    assert found_by(method, crowd, policy) == first
    again = found_by(method, crowd, policy, seed=1)
    if first is None or again is None:
        assert first is again
        return
    assert {frozenset(group) for group in first} == {frozenset(group) for group in again}


@examples(40)
@given(data=st.data(), crowd=crowds())
def test_people_with_equal_quasi_identifiers_are_never_separated(data, crowd):
    policy, _ = data.draw(policies(crowd.values))
    for group in found_by(fk.Mondrian(), crowd, policy) or []:
        inside = {crowd.rows[p] for p in group}
        assert group == [p for p, row in enumerate(crowd.rows) if row in inside]


@pytest.mark.parametrize("cells", [1, 40])
@examples(25)
@given(data=st.data(), crowd=crowds(most_people=14))
def test_weighing_a_few_proposals_at_a_time_is_as_safe(cells, data, crowd):
    policy, rules = data.draw(policies(crowd.values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_CELLS", cells)
        groups = found_by(fk.Mondrian(2), crowd, policy)
    whole = found_by(fk.Mondrian(2), crowd, policy)
    assert (groups is None) == (whole is None)
    if groups is not None:
        assert safe(crowd.bags(groups), rules, crowd.semantics)
        assert not safe_cuts(crowd, groups, rules, 2)


@BOTH
@pytest.mark.parametrize("cells", [500, 1 << 16])
def test_a_larger_result_is_safe_and_the_last_step_again_changes_nothing(semantics, cells):
    table = diagnoses(1500, semantics=semantics)
    schema = fk.Schema(
        quasi_identifiers=["age", "sex", "zip"],
        sensitive="diagnosis",
        semantics=semantics,
        person="person",
        hierarchies={"zip": fk.Mask(5)},
    )
    microdata = fk.Microdata(table, schema)
    rare = [f"D{i:02d}" for i in range(10, 30)]
    policy = fk.Policy([fk.Requirement(fk.Facts(1, 2, 1), "1/2", values=rare)], schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_CELLS", cells)
        partition = fk.Mondrian().partition(microdata, policy)

    group_of, bags = {}, defaultdict(Counter)
    rows = zip(table["person"].to_pylist(), partition.tolist(), strict=True)
    for (person, group), value in zip(rows, table["diagnosis"].to_pylist(), strict=True):
        assert group_of.setdefault(person, group) == group
        bags[group].update([] if value is None else [value])
    sizes = Counter(group_of.values())
    assert len(sizes) > 30
    assert set(sizes) == set(range(len(sizes)))
    assert safe([(sizes[g], bags[g]) for g in sizes], [(rare, (1, 2, 1), HALF)], semantics)

    points = Points.of(microdata)
    of_point = np.empty(len(points), dtype=np.int64)
    of_point[microdata.rows_of(points.spread(np.arange(len(points))))] = partition
    ledger, level = policy.ledger(microdata.values), Level(points, microdata, 5, of_point)
    ledger.commit(None, level._tally(of_point, len(sizes)).part(0, len(sizes)))
    level.divide(ledger)
    assert (level.n_groups, level.n_final) == (0, len(sizes))


# ---- refusals and promises -------------------------------------------------------------------


@BOTH
def test_a_refusal_says_what_fails_and_that_it_proves_nothing(semantics):
    crowd = crowd_of([1, 2, 3, 4], ["S", "S", "S", "T"], semantics)
    asked = fk.Requirement(fk.Facts(k=1), "1/2", values=["S"], name="first")
    met = fk.Requirement(fk.Facts(), "9/10", values=["T"], name="second")
    with pytest.raises(fk.NoSafeRelease) as caught:
        fk.Mondrian().partition(crowd.microdata(), fk.Policy([asked, met]))
    said = str(caught.value)
    assert "all 4 people" in said
    assert "first: Facts(l=0, k=1, m=0) reaches " in said
    assert "for 'S', the limit is 0.5" in said
    assert "second" not in said
    assert "no series of cuts was found" in said
    assert "does not prove that there is none" in said


def test_under_single_a_refusal_is_a_proof_and_speaks_of_no_cuts():
    table = pa.table({"age": [1, 2, 3], "disease": list("sst")})
    microdata = fk.Microdata(table, fk.Schema(quasi_identifiers=["age"], sensitive="disease"))
    with pytest.raises(fk.NoSafeRelease, match="not even one group") as caught:
        fk.Mondrian().partition(microdata, fk.Policy([fk.Requirement(fk.Facts(), "1/2")]))
    assert "series of cuts" not in str(caught.value)
    assert "prove" not in str(caught.value)


@BOTH
def test_only_where_merging_cannot_hurt_a_result_is_called_minimal(semantics):
    several, one = (
        fk.Schema(quasi_identifiers=["age"], sensitive="disease", **more)
        for more in ({"semantics": semantics, "person": "pid"}, {})
    )
    asked = [fk.Requirement(fk.Facts(), "1/2")]
    assert fk.Mondrian().traits.minimal(fk.Policy(asked, one)) is True
    assert fk.Mondrian().traits.minimal(fk.Policy(asked, several)) is False


@BOTH
@pytest.mark.parametrize("more", ["1e-7", "1e-12"])
def test_everybody_in_one_group_that_stays_barely_below_is_not_refused(semantics, more):
    crowd = crowd_of([5, 5, 5, 5], ["S", "T", "", ""], semantics)
    policy = fk.Policy([fk.Requirement(fk.Facts(), Fraction(1, 4) + Fraction(more))])
    assert fk.Mondrian().partition(crowd.microdata(), policy).tolist() == [0, 0, 0, 0]


@BOTH
def test_people_without_values_are_placed_like_everybody(semantics):
    crowd = crowd_of([1, 1, 2, 2, 9], ["S", "", "T", "", ""], semantics)
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.6")])
    groups = found_by(fk.Mondrian(), crowd, policy)
    assert sorted(groups) == [[0, 1], [2, 3], [4]]


# ---- one value per person, by an adversary that does not promise anything --------------------


@dataclass(frozen=True)
class Unpromising:
    """Facts that do not say whether merging can hurt."""

    facts: fk.Facts

    def disclosure(self, release, value=None):
        return self.facts.disclosure(release, value)

    def disclosures(self, release):
        return self.facts.disclosures(release)

    def monotone(self, semantics="single"):
        return False

    def ledger(self, threshold, values=None, semantics="single"):
        amounts = self.facts.l, self.facts.k, self.facts.m
        limit = as_threshold(threshold)
        measure = FactsMeasure(amounts, limit, values, semantics)
        return MinLedger(measure, limit, values, falling=False)

    def to_dict(self):
        return self.facts.to_dict()


def unpromising(policy, beside):
    """The same policy, of such adversaries; or beside others, where there are several."""
    return fk.Policy(
        [
            fk.Requirement(
                [
                    (p.adversary if beside and i else Unpromising(p.adversary), p.below)
                    for i, p in enumerate(requirement.points)
                ],
                values=requirement.values,
                excluded=requirement.excluded,
            )
            for requirement in policy.requirements
        ]
    )


@examples(120)
@given(data=st.data(), case=cases(), cuts=st.integers(1, 4))
def test_with_one_value_each_both_ledgers_lead_to_the_same_groups(data, case, cuts):
    policy, rules = data.draw(policies(case.sensitive))
    method, other = fk.Mondrian(cuts), unpromising(policy, data.draw(st.booleans()))
    assert not method.traits.minimal(other)
    if failures([bag_of(range(len(case.rows)), case.sensitive)], rules):
        for asked in (policy, other):
            with pytest.raises(fk.NoSafeRelease):
                method.partition(case.microdata(), asked)
        return
    expected = method.partition(case.microdata(), policy).tolist()
    found = method.partition(case.microdata(), other).tolist()
    groups = members_of(found)
    assert not failures([bag_of(group, case.sensitive) for group in groups], rules)
    assert not safe_cuts_of_single(groups, case.rows, case.sensitive, case.attributes, rules, cuts)
    assert {frozenset(g) for g in groups} == {frozenset(g) for g in members_of(expected)}
