"""What is foreseen of a world is what a run makes of it; and it is foreseen of most."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attacks import BELOW_2_3, BUCKETS, DIVERSE, LEVELS, microdata

import foreknow as fk
from foreknow.adversaries.algorithm import attack
from foreknow.adversaries.algorithm.method_runner import Runs
from foreknow.adversaries.algorithm.observation import numbered
from foreknow.adversaries.algorithm.worlds import Worlds
from foreknow.methods.mondrian.replay import Replay

POLICIES = [
    DIVERSE,
    BELOW_2_3,
    fk.Policy([fk.Requirement(fk.Facts(l=1), below="3/4")]),
    fk.Policy([fk.Requirement(fk.Facts(k=1), below="9/10")]),
    fk.Policy([fk.Requirement(fk.Implications(1), below="9/10")]),
    fk.Policy([fk.Requirement(fk.Facts(l=1), below=1), fk.Requirement(fk.Facts(m=1), below="3/4")]),
]


def worlds_of(table, groups, seed, most):
    codes = np.asarray(table.sensitive_codes)
    worlds = Worlds.of(groups, codes, len(table.values))
    random = np.random.default_rng(seed)
    return [worlds.at_random(random) for _ in range(most)]


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_it_says_what_a_run_makes(data):
    n = data.draw(st.integers(3, 12))
    people = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    kinds = {"age": data.draw(people), "sex": [str(s % 3) for s in data.draw(people)]}
    values = data.draw(st.lists(st.sampled_from("aabbcd"), min_size=n, max_size=n))
    levels = LEVELS if data.draw(st.booleans()) else {}
    table = microdata(values, levels, **kinds)
    policy = data.draw(st.sampled_from(POLICIES))
    method = fk.Mondrian(cuts=data.draw(st.sampled_from([1, 2, 5])))
    try:
        groups = numbered(method.partition(table, policy))
    except fk.NoSafeRelease:
        return
    foreseen = Replay.of(method, table, policy)
    assert np.array_equal(numbered(foreseen.groups), groups)
    assert foreseen.same(np.asarray(table.sensitive_codes)) is not False
    for codes in worlds_of(table, groups, data.draw(st.integers(0, 99)), 6):
        said = foreseen.same(codes)
        made = numbered(method.partition(table.dealt(codes), policy))
        assert said is None or said == np.array_equal(made, groups)


@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
def test_most_worlds_need_no_run(policy):
    random = np.random.default_rng(5)
    values = random.choice(list("abcd"), 60).tolist()
    table = microdata(values, age=random.integers(20, 60, 60).tolist())
    groups = numbered(fk.Mondrian().partition(table, policy))
    foreseen = Replay.of(fk.Mondrian(), table, policy)
    said = [foreseen.same(codes) for codes in worlds_of(table, groups, 1, 60)]
    assert said.count(None) <= 6
    assert said.count(False) >= 1


@pytest.mark.parametrize("form", ["bucketized", "generalized"])
@pytest.mark.parametrize("seed", range(6))
def test_attacks_find_the_same_with_it_as_without(seed, form, monkeypatch):
    random = np.random.default_rng(seed)
    columns = {"age": random.integers(0, 5, 7).tolist(), "sex": random.choice(list("fmx"), 7)}
    table = microdata(random.permutation(list("aabbccd")).tolist(), LEVELS, **columns)
    options = BUCKETS if form == "bucketized" else fk.PublishOptions()
    policy = fk.Policy(POLICIES[seed].requirements, schema=table.schema, options=options)
    fast = attack(table, fk.Mondrian(), policy)
    monkeypatch.setattr(Replay, "of", lambda *given: None)
    slow = attack(table, fk.Mondrian(), policy)
    assert fast.to_dict() == slow.to_dict()


def test_groups_under_one_label_are_not_foreseen():
    """A null and the text "missing" print alike: labels may not tell groups apart."""
    rows = pa.table({"kind": ["missing", None, "x", "x"], "disease": list("abab")})
    schema = fk.Schema(quasi_identifiers=["kind"], sensitive="disease")
    table = fk.Microdata(rows, schema)
    policy = fk.Policy(DIVERSE.requirements, schema=schema)
    for options, known in ((fk.PublishOptions(), False), (BUCKETS, True)):
        own = fk.Policy(policy.requirements, schema=schema, options=options)
        runs = Runs(table, fk.Mondrian(), own)
        seen = runs.make_first(table.sensitive_codes)
        assert runs.weight(table.sensitive_codes, seen) == 1
        foreseen = runs._foretold(np.asarray(table.sensitive_codes)[[1, 0, 2, 3]], seen)
        assert (foreseen is not None) == known


# Ten people each. Of two groups the first lowers what a fact about the value s may cost, the second
# what a relative may cost; either may stand beside the others, not both.
FACT, RELATIVE = ["s", *"bbbbbbbb", "c"], [*"ssss", *"cdefgh"]
NO_FACT, OTHERS = ["s", *"bbbbbbbbb"], [*"ijklmnopqr"]
CROSSED = fk.Policy([fk.Requirement(fk.Facts(l=1, m=1), below="3/5", values=["s"])])


def four_tens(*values):
    """Ages 0 and 1, and 10 and 11: first the two pairs are divided, then each pair in order."""
    ages = [age for age in (0, 1, 10, 11) for _ in range(10)]
    table = microdata([value for ten in values for value in ten], age=ages)
    groups = numbered(fk.Mondrian().partition(table, CROSSED))
    return table, groups, Replay.of(fk.Mondrian(), table, CROSSED)


def test_what_was_refused_because_of_what_came_before_needs_a_run():
    table, groups, foreseen = four_tens(RELATIVE, OTHERS, FACT, OTHERS)
    assert np.bincount(groups).tolist() == [10, 10, 20]
    assert foreseen.same(np.asarray(table.sensitive_codes)) is None


def test_what_is_refused_only_because_of_what_came_after_needs_a_run():
    table, groups, foreseen = four_tens(NO_FACT, OTHERS, RELATIVE, OTHERS)
    assert np.bincount(groups).tolist() == [20, 10, 10]
    codes = np.asarray(table.sensitive_codes)
    assert foreseen.same(codes)
    other = codes.copy()
    other[[1, 10]] = other[[10, 1]]  # as FACT: divided at once, since nobody was before
    assert foreseen.same(other) is None
    made = numbered(fk.Mondrian().partition(table.dealt(other), CROSSED))
    assert np.bincount(made).tolist() == [10, 10, 20]


class Halves:
    """Everybody in one group if the first has a; counts how often it is run."""

    runs = 0

    def partition(self, found, policy=None, seed=None):
        self.runs += 1
        first = found.values[int(found.sensitive_codes[0])]
        return np.zeros(4, dtype=int) if first == "a" else np.arange(4) // 2


class Foreseeing(Halves):
    def could_make(self, found, policy, groups):
        assert groups.tolist() == [0, 0, 0, 0]
        return found.values[int(found.sensitive_codes[0])] == "a"


def test_a_method_may_say_itself_what_it_cannot_make():
    plain, quick = Halves(), Foreseeing()
    table = microdata(list("aabb"), age=range(4))
    expected, found = attack(table, plain), attack(table, quick)
    assert (found.n_worlds, found.consistent) == (expected.n_worlds, expected.consistent) == (6, 3)
    assert found.posterior(2, "a") == expected.posterior(2, "a") == Fraction(1, 3)
    assert plain.runs - quick.runs == 3
