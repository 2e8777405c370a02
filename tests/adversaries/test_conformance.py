"""What every adversary and criterion promises; their ledgers; ties."""

import dataclasses
import json
import random
from fractions import Fraction
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases import (
    MASKS,
    VALUES,
    after,
    changed,
    counted,
    histories,
    parted,
    proposal,
    right,
    same,
    stands,
    start,
    started,
    thresholds,
    weighed,
    worst,
)
from tests.common import examples
from tests.frames.backends import (
    arrow_table,
    csv_file,
    duckdb_relation,
    pandas_categorical,
    pandas_frame,
    parquet_file,
    polars_lazy,
)

import foreknow as fk
from foreknow.adversaries import registry
from foreknow.adversaries.adversary import Searchable
from foreknow.adversaries.facts.facts import Facts
from foreknow.criteria import registry as criteria
from foreknow.data.counts import GroupCounts
from foreknow.errors import InternalError
from foreknow.needs import Need
from foreknow.policy.ledger import Part, PolicyLedger
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.files.written_release import Written
from foreknow_judge.verdicts import verdicts as verify

ADVERSARIES = tuple(registry.ADVERSARIES.values())


# Those that read labels of finished groups need more than bags: see tests/criteria.
CRITERIA = tuple(kind for kind in criteria.CRITERIA.values() if Need.FINISHED not in kind.needs)

SEARCHABLE = [kind for kind in ADVERSARIES if hasattr(kind, "ledger")]
LETTERS = "abcdz"

BAGS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.integers(1, 30), min_size=1), min_size=1, max_size=6
)


def amounts(kind):
    """The names of what a kind has whole numbers of; none where it knows something else."""
    if kind is fk.Priors:
        return []
    return [field.name for field in dataclasses.fields(kind) if field.name != "of"]


def made(kind, *given, reading="joint"):
    """An adversary (or criterion) with these amounts, for as many as it has; priors are even."""
    if kind is not fk.Priors:
        return kind(*given[: len(amounts(kind))])
    rows = {"kind": ["x"] * 5, "value": list(LETTERS), "probability": ["1/5"] * 5}
    return fk.Priors(pa.table(rows), reading)


SHARES = st.fractions(min_value="1/8", max_value=1, max_denominator=8)

TIMES = st.fractions(min_value="1/3", max_value=4, max_denominator=6)

DRAWN = {
    fk.LDiversity: st.one_of(
        st.builds(fk.LDiversity, st.integers(1, 4)),
        st.builds(fk.LDiversity, TIMES.map(lambda x: max(x, 1)), st.just("entropy")),
        st.builds(fk.LDiversity, st.integers(2, 4), st.just("recursive"), TIMES),
    ),
    fk.AlphaK: st.builds(fk.AlphaK, SHARES, st.integers(1, 5)),
    fk.TCloseness: st.one_of(
        st.builds(fk.TCloseness, SHARES),
        st.builds(fk.TCloseness, SHARES, st.just("ordered"), st.permutations(LETTERS).map(tuple)),
    ),
    fk.BetaLikeness: st.builds(fk.BetaLikeness, TIMES, st.booleans()),
    fk.DeltaDisclosure: st.builds(fk.DeltaDisclosure, TIMES),
    fk.Risk: st.tuples(*[st.none() | SHARES] * 3, st.booleans())
    .filter(lambda given: any(given[:3]))
    .map(lambda given: fk.Risk(*given)),
}


def known(kind, least=0, most=5):
    if kind in DRAWN:
        return DRAWN[kind]
    amount = st.integers(least, most)
    return st.tuples(*[amount] * 3).map(lambda given: made(kind, *given))


def release_of(bags, semantics="single"):
    """A release of bags that every kind can judge, counts for those that need no more."""
    rows = [(g, "x", v) for g, bag in enumerate(bags) for v in bag]
    if isinstance(bags[0], dict):
        rows = [(g, "x", v) for g, bag in enumerate(bags) for v, n in bag.items() for _ in range(n)]
    groups, kinds, values = zip(*rows, strict=True)
    table = pa.table({"gid": groups, "kind": kinds, "disease": values, "who": range(len(rows))})
    how = {} if semantics == "single" else {"person": "who", "semantics": semantics}
    return fk.Release.from_groups(table, group="gid", sensitive="disease", **how)


def each(kinds, name="kind"):
    return pytest.mark.parametrize(name, kinds, ids=lambda kind: kind.key)


of_each = each(ADVERSARIES)


# ---- disclosures -----------------------------------------------------------------------------


@of_each
@examples(100)
@given(data=st.data(), bags=BAGS)
def test_all_disclosures_agree(kind, data, bags):
    adversary, release = data.draw(known(kind)), release_of(bags)
    at_once = adversary.disclosures(release)
    assert list(at_once) == list(release.counts.values)
    for value, found in at_once.items():
        same(found, value, found.exact, value)
        same(adversary.disclosure(release, value), value, found.exact, value)
        assert found.witness.value == value
        assert found.to_dict()["exact"] == str(found.exact)
    top = adversary.disclosure(release)
    assert top.exact == max(found.exact for found in at_once.values()) == at_once[top.value].exact
    assert top.witness.value == top.value


@of_each
def test_values_of_nobody(kind):
    release = release_of(["ab", "ac"])
    cases = [(release, "z")]
    if kind is not fk.Priors:  # they need a release
        nobody, without_c = fk.GroupCounts.from_bags([]), release.counts.take([0])
        cases.append((without_c, "c"))
        assert made(kind, 9, 9, 9).disclosures(without_c)["c"].exact == 0
        disclosure = made(kind, 1, 1, 1).disclosure(nobody)
        assert (disclosure.value, disclosure.exact, disclosure.probability, disclosure.witness) == (
            None,
            0,
            0.0,
            None,
        )
        assert made(kind, 1, 1, 1).disclosures(nobody) == {}
    for amount, (judged, value) in product((0, 1, 10**9), cases):
        disclosure = made(kind, amount, amount, amount).disclosure(judged, value)
        assert (disclosure.value, disclosure.exact, disclosure.probability) == (
            value,
            Fraction(0),
            0.0,
        )
        assert disclosure.witness is None
        assert disclosure.below("1/1000000000000")
        assert not disclosure.below(0)


@each([*ADVERSARIES, *CRITERIA])
@examples(150)
@given(data=st.data(), bags=BAGS)
def test_merging_never_hurts_where_monotone(kind, data, bags):
    asked = data.draw(known(kind, least=int(kind in CRITERIA), most=12))
    if not asked.monotone():
        return
    counts = fk.GroupCounts.from_bags(bags)
    labels = data.draw(st.lists(st.integers(0, 3), min_size=len(bags), max_size=len(bags)))
    merged = counts.merge(np.unique(labels, return_inverse=True)[1].tolist())
    for coarse in (merged, counts.merge([0] * counts.n_groups)):
        assert coarse.n_people == counts.n_people
        if kind in CRITERIA:
            assert asked.holds(coarse) or not asked.holds(counts)
            continue
        less, disclosures = asked.disclosures(coarse), asked.disclosures(counts)
        assert all(less[value].exact <= disclosures[value].exact for value in counts.values)
        assert asked.disclosure(coarse).exact <= asked.disclosure(counts).exact


# ---- as values, and what is refused ----------------------------------------------------------


@each([*ADVERSARIES, *CRITERIA])
@examples(50)
@given(st.data())
def test_policies_are_read_back(kind, data):
    asked = data.draw(known(kind, least=1))
    written = asked.to_dict()
    assert list(written) == [kind.key]
    if amounts(kind) and kind in ADVERSARIES:
        assert written[kind.key] == {name: getattr(asked, name) for name in amounts(kind)}
    rule = fk.Requirement(asked, below=1) if kind in ADVERSARIES else fk.Requirement(asked)
    policy = fk.Policy([rule])
    (again,) = fk.Policy.from_dict(policy.to_dict()).requirements
    back = again.criterion if kind in CRITERIA else again.points[0].adversary
    assert (back, hash(back)) == (asked, hash(asked))


@of_each
def test_only_counts_are_judged(kind):
    adversary, release = made(kind, 1, 1, 1), release_of(["aab", "bc"])
    if amounts(kind):
        stand_in = SimpleNamespace(counts=release.counts)
        assert adversary.disclosure(stand_in).exact == adversary.disclosure(release.counts).exact
    for wrong in (None, ["aab"], SimpleNamespace(counts="aab")):
        for judge in (adversary.disclosure, adversary.disclosures):
            with pytest.raises(InputError, match="expected a Release or a GroupCounts, not"):
                judge(wrong)
    with pytest.raises(InputError, match=r"\['a'\] cannot be a sensitive value; give one label"):
        adversary.disclosure(release, ["a"])


@of_each
@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_semantics_at_every_door(kind, semantics):
    adversary, release = made(kind, 1, 1, 1), release_of(["aab", "bc"], semantics)
    doors = [
        partial(adversary.disclosure, release),
        partial(adversary.disclosure, release, "a"),
        partial(adversary.disclosures, release),
    ]
    if isinstance(adversary, Searchable):
        doors.append(partial(adversary.ledger, "1/2", semantics=semantics))
    assert adversary.monotone(semantics) is (semantics == "single" and kind is not fk.Priors)
    if semantics == "single" or kind is fk.Facts:
        assert all(door() is not None for door in doors)
        return
    if kind is fk.Implications:
        doors.append(partial(adversary.ledger("1/2").admits, None, release.counts))
    for door in doors:
        with pytest.raises(UnsupportedError, match=semantics):
            door()


# ---- ledgers ---------------------------------------------------------------------------------

SEARCHED = [
    *((kind, "single", False) for kind in (*SEARCHABLE, *CRITERIA)),
    *((fk.Facts, semantics, True) for semantics in ("single", "set", "multiset")),
    (fk.KAnonymity, "set", False),
]
of_each_ledger = pytest.mark.parametrize(
    ("kind", "semantics", "rising"),
    SEARCHED,
    ids=[f"{k.key}-{s}{'-rising' * r}" for k, s, r in SEARCHED],
)


class Search:
    """What is asked of which groups, and what judging from scratch says."""

    def __init__(self, data, kind, semantics, rising, steps=5):
        most = 3 if kind is fk.Facts else 5
        self.asked = data.draw(known(kind, int(kind in CRITERIA), most), label="asked")
        self.semantics, self.rising = semantics, rising
        self.wanted = None if kind in CRITERIA else data.draw(MASKS, label="wanted")
        self.stages, self.steps = data.draw(histories(semantics, not rising, steps))
        self.threshold = Fraction(1)

    def truth(self, groups):
        return worst(groups, self.semantics, self.asked, self.wanted)

    def limit(self, data, *releases):
        """Draw a threshold that some releases attain, or nearly, or another."""
        if not isinstance(self.asked, CRITERIA):
            self.threshold = data.draw(thresholds([self.truth(groups) for groups in releases]))

    def ledger(self, steps=()):
        how = self.asked, self.threshold, self.wanted, self.stages, steps, self.rising
        return started(self.semantics, *how)

    def right(self, said, groups, ledger):
        exact = getattr(ledger, "is_exact", True)
        return right(bool(said), self.truth(groups), self.threshold, exact)

    def counted(self, groups):
        return counted(groups, self.semantics)

    def proposals(self, data):
        """What might replace some of the groups that are there at last."""
        groups = self.stages[-1]
        chosen = data.draw(st.lists(st.booleans(), min_size=len(groups), max_size=len(groups)))
        return [([g], data.draw(parted(groups[g]))) for g, yes in enumerate(chosen) if yes]


@of_each_ledger
@examples(120, daily=5)
@given(data=st.data())
def test_histories_as_from_scratch(kind, semantics, rising, data):
    search = Search(data, kind, semantics, rising)
    search.limit(data, *search.stages)
    first = search.counted(search.stages[0])
    ledger = start(search.asked, search.threshold, search.wanted, semantics, rising, first)
    assert search.right(ledger.admits(None, first), search.stages[0], ledger)
    ledger.commit(None, first)
    for groups, change, reached in zip(
        search.stages, search.steps, search.stages[1:], strict=False
    ):
        removed, added = proposal(groups, change, semantics)
        for _ in range(2):  # asking changes nothing
            assert search.right(ledger.admits(removed, added), reached, ledger), change
        ledger.commit(removed, added)
        assert search.right(stands(ledger, semantics), reached, ledger), change


@of_each_ledger
@examples(150, daily=4)
@given(data=st.data())
def test_proposals_alone_and_together(kind, semantics, rising, data):
    search = Search(data, kind, semantics, rising, steps=2)
    groups, proposals = search.stages[-1], search.proposals(data)
    outcomes = [groups, after(groups, proposals), *(after(groups, [p]) for p in proposals)]
    search.limit(data, *outcomes)
    ledger = search.ledger(search.steps)
    evaluation = weighed(ledger, groups, proposals, semantics)
    alone, ratio = evaluation.safe_each(), evaluation.risk_ratio()
    assert alone.dtype == bool
    assert alone.shape == ratio.shape == (len(proposals),)
    for change, safe, share in zip(proposals, alone.tolist(), ratio.tolist(), strict=True):
        reached = changed(groups, change)
        assert search.right(safe, reached, ledger), change
        assert safe == ledger.admits(*proposal(groups, change, semantics))
        assert share < 1 if safe else share > 1 - 1e-6
        if rising:
            expected = float(search.truth(reached) / search.threshold)
            assert share == pytest.approx(expected, rel=1e-9, abs=1e-300), change

    left, done = list(enumerate(proposals)), []
    for _ in range(3):  # one evaluation is asked, told, and asked again about the others
        chosen = [pair for pair in left if data.draw(st.booleans())]
        mask = np.isin(np.arange(len(proposals)), [p for p, _ in chosen])
        reached = after(groups, done + [change for _, change in chosen])
        assert search.right(evaluation.safe_jointly(mask), reached, ledger), chosen
        if data.draw(st.booleans()):
            evaluation.commit(mask)
            done += [change for _, change in chosen]
            left = [pair for pair in left if pair not in chosen]
    reached = after(groups, done)
    assert search.right(stands(ledger, semantics), reached, ledger)
    one_by_one = search.ledger(search.steps)
    for change in done:
        one_by_one.commit(*proposal(groups, change, semantics))
    assert search.right(stands(one_by_one, semantics), reached, ledger)
    if kind is fk.Facts or kind is fk.Negations:  # whose minima are those of values
        assert np.array_equal(ledger.present_minima(), one_by_one.present_minima())
    if rising and reached:  # and it knows every group that is there
        ledger.commit(search.counted(reached), search.counted([]))
        assert stands(ledger, semantics)


@of_each_ledger
@examples(100, daily=5)
@given(data=st.data())
def test_greedily_accepted_is_safe(kind, semantics, rising, data):
    search = Search(data, kind, semantics, rising, steps=1)
    groups, proposals = search.stages[-1], search.proposals(data)
    search.limit(data, groups, after(groups, proposals))
    ledger, single = search.ledger(search.steps), search.ledger(search.steps)
    policy = PolicyLedger([Part(lambda counts: counts, ledger)], not rising)
    accepted = weighed(policy, groups, proposals, semantics).accept_greedily().tolist()
    done = [change for change, yes in zip(proposals, accepted, strict=True) if yes]
    assert not done or search.truth(after(groups, done)) < search.threshold
    if not rising:
        for change, yes in zip(proposals, accepted, strict=True):
            asked = proposal(groups, change, semantics)
            assert yes == single.admits(*asked), change
            if yes:
                single.commit(*asked)


@each(SEARCHABLE)
def test_ledgers_refuse_mistakes(kind):
    for threshold in (0, -1, "3/2", "half", None):
        with pytest.raises(InputError):
            made(kind, 1, 1, 1).ledger(threshold)
    counts, others = (fk.GroupCounts.from_bags([bag]) for bag in ("ab", "abc"))
    ledger = made(kind).ledger("1/2")
    ledger.commit(None, counts)
    with pytest.raises(InternalError, match="other value labels"):
        ledger.admits(None, others)
    ledger = made(kind).ledger("1/2", np.array([True, False, True]))
    with pytest.raises(InputError, match="values= must be a bool array of 2 entries"):
        ledger.admits(None, counts)


@each(SEARCHABLE)
@examples(200, daily=5)
@given(data=st.data(), bags=BAGS)
def test_attained_thresholds_are_refused(kind, data, bags):
    adversary, counts = data.draw(known(kind)), fk.GroupCounts.from_bags(bags)
    truth = adversary.disclosure(counts).exact
    ledger = adversary.ledger(truth)
    assert not ledger.admits(None, counts)
    ledger.commit(None, counts)
    one = counts.take([0])
    assert not ledger.admits(one, one)
    if truth < 1:
        assert adversary.ledger(truth + (1 - truth) / 10**6).admits(None, counts)


def test_at_one_only_certainty():
    def alike(occurrences):
        cells = (np.array(x) for x in ([10], [0, 1], [0], [occurrences]))
        return GroupCounts(*cells, VALUES, semantics="multiset")

    for occurrences in (1, 300, 5_000, 10_000, 10**9):  # down to 0.9**(10**9)
        assert Facts().ledger(1, None, "multiset").admits(None, alike(occurrences))
        assert not Facts(k=9).ledger(1, None, "multiset").admits(None, alike(occurrences))
    for sure in (["a"], ["a", "a"]):
        assert not Facts().ledger(1, None, "set").admits(None, counted([sure], "set"))


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_groups_not_there(semantics):
    here, there = ["a", "b"], ["a", "b", "b"]
    ledger = started(semantics, (0, 0, 0), "3/4", None, [[here, there]], [])
    one = counted([here], semantics)
    for missing in ([here, here], [["b"]], [there, here, there]):
        gone = counted(missing, semantics)
        evaluation = weighed(
            ledger, missing, [([g], [m]) for g, m in enumerate(missing)], semantics
        )
        everything = np.ones(len(missing), dtype=bool)
        for ask in (
            partial(ledger.admits, gone, one),
            partial(ledger.commit, gone, one),
            partial(evaluation.safe_jointly, everything),
            partial(evaluation.commit, everything),
            evaluation.safe_each,
        ):
            with pytest.raises(InternalError, match="not in the ledger"):
                ask()
    ledger.commit(one, counted([there], semantics))
    with pytest.raises(InternalError, match="not in the ledger"):
        ledger.admits(one, one)
    ledger.commit(counted([there, there], semantics), one)
    assert stands(ledger, semantics)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_large_groups_at_the_limit(more):
    # Odds against of 1 + more / 5000, without known people and with two.
    for k in (0, 2):
        bag = ["a"] * 5_000 + list(range(5_000 + k + more))
        counts = fk.GroupCounts.from_bags([[str(value) for value in bag]])
        wanted = np.array([value == "a" for value in counts.values])
        evaluation = fk.Facts(k=k).ledger("1/2", wanted).evaluate(None, counts, np.arange(1))
        assert evaluation.safe_each().tolist() == [more > 0]
        assert fk.Facts(k=k).disclosure(counts, "a").below("1/2") is (more > 0)


# ---- ties ----------------------------------------------------------------------------------------


# Groups 20/f, 20/m, 30/f ... with the same bags, so that everything ties.
AGES, SEXES = ("20 to 29", "30 to 39", "4", "40 to 49", None), ("f", "m")

BAGS_LEDGERS = (["Flu", "Flu", "HIV", "Cold"], ["Flu", "HIV", "Cold", "Cold"])

ROWS = [
    {"age": age, "sex": sex, "disease": value}
    for i, age in enumerate(AGES)
    for sex in SEXES
    for value in BAGS_LEDGERS[i % 2]
]

PRIORS = pd.DataFrame(
    [
        {"sex": sex, "value": value, "probability": chance}
        for sex in SEXES
        for value, chance in (("Flu", "1/2"), ("HIV", "1/4"), ("Cold", "1/4"))
    ]
)

POINTS = [
    fk.Facts(),
    fk.Facts(1, 1, 1),
    fk.Facts(2, 1, 1),
    fk.Negations(1),
    fk.Implications(1),
    fk.Implications(3),
    fk.Priors(PRIORS),
]

POLICY = fk.Policy([fk.Requirement(point, below="1/2") for point in POINTS])


def shuffled(seed):
    return random.Random(seed).sample(ROWS, len(ROWS))


SOURCES = [
    *(csv_file, parquet_file, pandas_frame, pandas_categorical),
    *(polars_lazy, arrow_table, duckdb_relation),
]


def told(frame, policy=POLICY):
    """What an audit says of each requirement, byte for byte."""
    release = fk.Release.from_generalized(
        frame, quasi_identifiers=["age", "sex"], sensitive="disease"
    )
    return json.dumps(fk.audit(release, policy).to_dict()["verdicts"], default=str)


def test_order_and_engine_change_nothing(tmp_path):
    expected = told(pd.DataFrame(ROWS))
    for seed, make in enumerate(SOURCES):
        source = make(pa.Table.from_pylist(shuffled(seed)), tmp_path)
        assert told(source) == expected, seed
    for verdict in json.loads(expected):
        worst = verdict["worst"]
        group = worst["witness"].get("target_group") or worst["witness"]["group"]
        # Cold and Flu are alike; the missing age comes first, and it has the bag of Flu twice.
        assert (worst["value"], group[0]) in (("Cold", "30 to 39"), ("Flu", None)), verdict
        assert group[1] == "f"
    assert [v["worst"]["value"] for v in json.loads(expected)[:6]] == ["Cold"] * 6


def findings(rows):
    """What the verifier finds of a table, as text."""
    written = Written(
        "generalized", ["age", "sex"], "disease", {"release": pa.Table.from_pylist(rows)}
    )
    return [
        (found.value, found.group, found.reached)
        for found in verify(written, POLICY.to_dict()["require"])
    ]


def test_the_verifier_finds_the_same():
    expected = findings(ROWS)
    assert all(findings(shuffled(seed)) == expected for seed in range(4))
    # Cold is the first value by its text, and 30 to 39 the first age with two of it.
    assert expected[0][:2] == ("Cold", "30 to 39, f")
    assert {found[0] for found in expected} == {"Cold"}
