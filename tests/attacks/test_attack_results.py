"""What an attack says, shows and writes; and what it refuses, with a hint."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.attacks.small_methods import BUCKETS, DIVERSE, LEVELS, microdata, policy_for, release_of

import foreknow as fk
from foreknow.attacks.observation import Reader

AGES, VALUES = [50, 40, 50, 30, 30], ["flu", "hiv", "hiv", "flu", "flu"]


@pytest.fixture
def leaking():
    """Three of five people are certain."""
    found = microdata(VALUES, age=AGES)
    return fk.attack(found, fk.Mondrian(), policy_for(DIVERSE, found))


@pytest.fixture
def harmless():
    found = microdata(["flu", "hiv"], age=[30, 40])
    return fk.attack(found, fk.Mondrian(), policy_for(DIVERSE, found))


def test_what_it_finds(leaking):
    assert leaking.certain == (2, 4, 5)
    assert [case.rows for case in leaking.cases[:2]] == [(2,), (4, 5)]
    assert (leaking.n_people, leaking.n_groups) == (5, 2)
    assert leaking.worst.exact == 1
    assert leaking.worst.limit == 1
    with pytest.raises(fk.InputError, match="row 9"):
        leaking.posterior(9, "flu")
    with pytest.raises(fk.InputError, match="'cough'"):
        leaking.posterior(1, "cough")


def test_nobody_is_named_unless_asked(leaking):
    assert [one["row"] for one in leaking.worst_people()] == [2, 4, 5]
    named = leaking.worst_people(2, names="pid")
    assert [one["name"] for one in named] == [1, 3]
    assert all("row" not in one for one in named)
    with pytest.raises(fk.InputError, match="'nam'"):
        leaking.worst_people(names="nam")


def test_how_it_is_shown(leaking, harmless, tmp_path):
    assert repr(leaking) == "Attack(Mondrian: 3 of 5 people certain)"
    assert repr(harmless) == "Attack(Mondrian: nobody found out any further)"
    assert not harmless.found
    brief = leaking._repr_html_()
    assert "3 people are certain" in brief
    assert "rows 4, 5" in brief
    leaking.to_html(tmp_path / "attack.html")
    page = (tmp_path / "attack.html").read_text("utf-8")
    assert "Attack by an adversary who knows the algorithm" in page
    leaking.to_json(tmp_path / "attack.json")
    written = json.loads((tmp_path / "attack.json").read_text("utf-8"))
    assert written["certain"] == [2, 4, 5]
    assert written["method"] == {"name": "Mondrian", **fk.Mondrian().to_dict()}
    assert (written["worlds"], written["consistent"]) == ("6", "2")


@pytest.fixture
def mondrian():
    """A policy, and the release that Mondrian makes by it."""
    found = microdata(VALUES, age=AGES)
    policy = policy_for(DIVERSE, found)
    return policy, release_of(VALUES, fk.Mondrian().partition(found, policy), age=AGES)


def test_what_a_witness_says(mondrian):
    policy, release = mondrian
    adversary = fk.Algorithm(fk.Mondrian(), policy)
    disclosure = adversary.disclosure(release, "hiv")
    assert disclosure.exact == 1
    assert disclosure.witness.signature == {"age": 40}
    assert disclosure.to_dict()["witness"]["group"] == disclosure.witness.group
    assert adversary.disclosure(release, "cough").probability == 0
    assert not adversary.monotone()
    assert adversary.to_dict() == {"algorithm": {"name": "Mondrian", **fk.Mondrian().to_dict()}}
    assert repr(adversary) == f"Algorithm({fk.Mondrian()!r})"


def test_it_can_be_required_in_a_policy_that_is_judged_but_not_searched(mondrian):
    policy, release = mondrian
    stricter = fk.Policy([fk.Requirement(fk.Algorithm(fk.Mondrian(), policy), below="0.9")])
    assert fk.audit(release, policy).safe
    assert not fk.audit(release, stricter).safe
    found, says = microdata(VALUES, age=AGES), "groups that are finished, .*; judge the release"
    for method in (fk.Mondrian(), fk.FullDomain()):
        with pytest.raises(fk.InputError, match=f"Algorithm needs {says}"):
            method.partition(found, policy_for(stricter, found))


def test_a_release_of_another_method_is_told():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy(DIVERSE.requirements, schema)
    own, other = (release_of("abab", g, age=[1, 2, 3, 4]) for g in ([0] * 4, [0, 1, 0, 1]))
    assert fk.Algorithm(fk.Mondrian(), policy).disclosure(own).exact is not None
    for more in ({}, {"worlds": 3}):
        with pytest.raises(fk.InputError, match="is it the method"):
            fk.Algorithm(fk.Mondrian(), policy, **more).disclosure(other)


def test_rows_that_are_left_out():
    """Their values are one more bag; who is left out is seen."""

    def pipeline(rows):
        values = rows["disease"].to_pylist()
        return [None if value == "rare" else 0 for value in values]

    found = fk.attack(microdata(["flu", "rare", "flu", "hiv"], age=range(4)), pipeline)
    assert found.n_groups == 2
    assert found.posterior(2, "rare") == 1
    assert (
        found.left_out == found.certain == (2,)
    )  # no release says it: that they are left out does
    assert found.worst.share == Fraction(1, 4)
    assert found.certain_by_release == ()
    assert found.found
    assert "One person is left out of the release" in found._repr_html_()
    dropped = fk.Schema(quasi_identifiers=["age"], sensitive="disease", missing="drop")
    rows = pa.table({"age": [1, 2, 3, 4], "disease": ["a", None, "b", "a"]})
    found = fk.attack(fk.Microdata(rows, dropped), lambda table: [0] * table.num_rows)
    assert (found.n_people, found.n_worlds) == (3, 3)
    with pytest.raises(fk.InputError, match="row 2"):
        found.posterior(2, "a")


class Grouped:
    """Makes the groups that a function of everybody's values says."""

    def __init__(self, groups):
        self.groups = groups

    def partition(self, found, policy=None, seed=None):
        values = [found.values[int(code)] for code in found.sensitive_codes]
        return np.array(self.groups(values))


def test_labels_are_seen_of_others_when_somebody_is_left_out():
    """Ages 10, 19 and 20, 29 as two groups, or all four under the label of all: told apart."""
    levels = {"age": fk.Intervals([10, 100])}
    columns = {"age": [10, 19, 20, 29, 55]}

    def groups(values):
        # the last one is left out; the others are in two groups that bear one label or two
        return [0, 1, 0, 1, -1] if values[0] == "a" else [0, 0, 1, 1, -1]

    # Labels: in the first case 0-99 for all four, so that to a reader they are one group.
    found = microdata(list("abbac"), levels, **columns)
    generalized, buckets = policy_for(DIVERSE, found), policy_for(DIVERSE, found)
    buckets = fk.Policy(DIVERSE.requirements, schema=found.schema, options=BUCKETS)
    one = fk.attack(found, Grouped(groups), generalized)
    assert (one.n_worlds, one.consistent, one.certain) == (6, 3, (1, 5))
    two = fk.attack(found, Grouped(groups), buckets)
    assert (two.n_worlds, two.consistent) == (4, 2)


@pytest.mark.parametrize(
    ("groups", "floor", "seen", "left_out", "published"),
    [
        ([4, 4, -1], 0, [0, 0, 1], 1, (("1 to 2",),)),  # the age of who is left out is not shown
        ([-1, 9, -1], 0, [0, 1, 0], 0, (("2",),)),
        ([4, 4, 3], 0, [0, 0, 1], None, (("1 to 2",), ("50",))),
        ([-1, -1, -1], 0, [0, 0, 0], 0, None),
        # The same people at other levels are another release.
        ([0, -1, 1], 1, [0, 1, 2], 1, (("1",), ("50 to 59",))),
        ([0, -1, 1], 2, [0, 1, 2], 1, (("1",), ("0 to 99",))),
    ],
)
def test_what_a_reader_sees(groups, floor, seen, left_out, published):
    levels = {"age": fk.Intervals([10, 100])} if floor else {}
    reader = Reader(microdata(list("abc"), levels, age=[1, 2, 50]), {})
    found = reader.see(np.array(groups), {"age": np.array([0, floor, 0, 0, 0])} if floor else None)
    assert (found.groups.tolist(), found.left_out) == (seen, left_out)
    assert found.published == published


def test_the_bag_of_those_who_are_left_out_is_known():
    """Rows 1 to 3 are left out if row 4 has a: what they have together stays the same."""

    def pipeline(rows):
        values = rows["disease"].to_pylist()
        return [None] * 3 + [0, 0] if values[3] == "a" else [0] * 5

    found = fk.attack(microdata(list("abbab"), age=range(5)), pipeline)
    assert (found.n_worlds, found.consistent) == (6, 3)
    assert found.left_out == (1, 2, 3)
    assert found.certain == (4, 5)
    for row in (1, 2, 3):
        assert found.posterior(row, "a") == Fraction(1, 3)


def test_who_is_certain_by_the_release_itself_is_told_apart():
    def pipeline(rows):
        values = rows["disease"].to_pylist()
        return [0, 0, 1, 1] if values[2] == "b" else [0] * 4

    # Rows 1 and 2 share a group of a only; of 3 and 4 the algorithm tells who has b.
    found = fk.attack(microdata(list("aabc"), age=range(4)), pipeline)
    assert found.certain_by_release == (1, 2)
    assert found.certain == (3, 4)
    assert all(case.rows not in ((1,), (2,)) for case in found.cases)
    page = found._repr_html_()
    assert "2 people are certain because of the algorithm" in page
    assert "2 people are certain from the release itself" in page
    written = found.to_dict()
    assert (written["certain"], written["certain_by_release"]) == ([3, 4], [1, 2])
    plain = fk.attack(microdata(list("aabc"), age=range(4)), lambda rows: [0, 0, 1, 1])
    assert (plain.certain, plain.certain_by_release) == ((), (1, 2))
    assert not plain.found
    assert "adds nothing; 2 people are certain without it" in plain._repr_html_()


def test_what_is_said_of_a_proof():
    found = fk.attack(microdata(list("abcd") * 30, age=range(120)), fk.Streamliner(2), seed=1)
    assert repr(found) == "Attack(Streamliner: nobody found out any further)"
    assert "by a proof" in found._repr_html_()
    assert "as long as the seed is secret" in found._repr_html_()
    assert (found.to_dict()["how"], found.to_dict()["looked"]) == ("proof", "0")


def test_a_function_sees_the_types_of_the_source():
    seen = []

    def pipeline(rows):
        seen.append((rows.schema, rows["code"].to_pylist()))
        return [0] * rows.num_rows

    rows = pa.table({"age": [1, 2], "code": pa.array([7, 9], pa.int16()), "name": ["x", "y"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="code", identifiers=["name"])
    found = fk.attack(fk.Microdata(rows, schema), pipeline)
    assert all(kind == rows.schema for kind, _ in seen)
    assert {tuple(codes) for _, codes in seen} == {(7, 9), (9, 7)}
    assert found.posterior(1, 7) == pytest.approx(0.5)


def test_the_level_of_a_generalization_is_seen_in_its_form():
    """Two levels with the same groups are two releases, unless only groups are published."""
    levels = {"age": fk.Intervals([10, 20])}
    found = microdata(list("abab"), levels, age=[1, 2, 21, 22])
    generalized = policy_for(DIVERSE, found)
    groups = fk.Policy(DIVERSE.requirements, schema=found.schema, options=BUCKETS)
    assert fk.attack(found, fk.FullDomain(), groups).exact
    assert fk.attack(found, fk.FullDomain(), generalized).exact


def broken(rows):
    raise KeyError("age")


class Odd:
    """Published, though it cannot be compared."""

    def __eq__(self, other):
        raise RuntimeError("not today")

    __hash__ = None


NOTHING, NO_GROUPS = {"nothing": True}, [5, "groups", [[0, 1], [2]], {0: 1}, np.zeros((2, 2))]


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        (fk.Mondrian, {}, "not its class"),
        (17, {}, "is no method"),
        (broken, {}, "KeyError: 'age'"),
        (lambda rows: [0], {}, "one for each of the 5 rows"),
        (lambda rows: [[0]] * 5, {}, "one group for each row"),
        *((lambda rows, given=given: given, {}, "one group for each") for given in NO_GROUPS),
        (lambda rows: ([0] * 5, Odd()), {}, "cannot be compared, Odd with Odd: not today"),
        (lambda rows: [0] * 5, NOTHING, "publishes something"),
        (fk.Anatomy(2), NOTHING, "not of publishing nothing"),
        (lambda rows: ([0] * 5, np.zeros(2)), {}, "cannot be compared, ndarray with ndarray"),
        (lambda rows: None, {**NOTHING, "groups": [0] * 5}, "there is none"),
        (lambda rows: None, {"nothing": "yes"}, "nothing is True or False"),
        (lambda rows: None, {"symmetric": "no"}, "symmetric is True or False"),
        (fk.FullDomain(seconds=1), {}, "time budget"),
        (fk.Mondrian(), {"worlds": 0}, "worlds"),
        (fk.Mondrian(), {"seconds": 0}, "seconds"),
        (fk.Mondrian(), {"seed": -1}, "seed"),
        (fk.Mondrian(), {"seeds": []}, "seeds"),
        (fk.Mondrian(), {"groups": [0, 0]}, "5 rows"),
        (fk.Mondrian(), {"groups": [0, 1, 0, 1, 0]}, "does not make these groups"),
    ],
)
def test_what_is_refused(method, more, said):
    found = microdata(VALUES, age=AGES)
    with pytest.raises(fk.InputError, match=said):
        fk.attack(found, method, policy_for(DIVERSE, found), **more)


def test_more_that_is_refused():
    found = microdata(VALUES, LEVELS, age=AGES)
    with pytest.raises(fk.InputError, match="Microdata"):
        fk.attack(pa.table({"a": [1]}), fk.Mondrian())
    several = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", semantics="set", person="pid"
    )
    rows = pa.table({"pid": [1, 1, 2], "age": [3, 3, 4], "disease": ["a", "b", "a"]})
    with pytest.raises(fk.InputError, match="one sensitive value"):
        fk.attack(fk.Microdata(rows, several), fk.Mondrian())
    counts = fk.GroupCounts.from_bags([["a", "b"]])
    release = release_of("ab", [0, 0], age=[1, 2])
    constant = lambda table: [0, 0]  # noqa: E731
    for adversary, judged, says in [
        (fk.Algorithm(fk.Mondrian()), counts, "schema"),
        (fk.Algorithm(fk.Mondrian(), schema=found.schema), counts, "who is in which group"),
        (fk.Algorithm(constant, schema=found.schema), release, "symmetric=True"),
    ]:
        with pytest.raises(fk.InputError, match=says):
            adversary.disclosure(judged)
    adversary = fk.Algorithm(constant, schema=found.schema, symmetric=True)
    assert adversary.disclosure(release).probability == pytest.approx(0.5)
