"""Trials of numbers to within so much, of one of several columns."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from tests.trials.test_trials import planted, policy, publish

import foreknow as fk
from foreknow.auditing.trial import trials_beside
from foreknow.data.labels import Labels
from foreknow.data.sights import Sight
from foreknow.data.windows import Line, Width
from foreknow.errors import NoSafeRelease
from foreknow.policy.tries import Try
from foreknow.report.trial import trial_sentences
from foreknow.trials import learned as attack
from foreknow.trials.fit import fits
from foreknow.trials.learned import SMOOTHINGS
from foreknow_judge.errors import PolicyError

SCHEMA = fk.Schema(quasi_identifiers=["code"], sensitive=["ill", "cost"])


def bills(people=600, seed=1):
    """Costs that a code says but for some cents, which hardly anybody shares."""
    random = np.random.default_rng(seed)
    code = random.integers(0, 6, people)
    cents = random.integers(0, 5000, people)
    return pa.table(
        {
            "code": [f"{c:02d}" for c in code],
            "ill": [f"ill {i}" for i in random.integers(0, 4, people)],
            "cost": [
                f"{1000 * int(c + 1) + int(n) / 100:.2f}" for c, n in zip(code, cents, strict=True)
            ],
        }
    )


def requirements(within="10%"):
    width = {} if within is None else {"within": within}
    return [
        fk.Requirement(fk.Facts(), below=1, sensitive="ill", knowing=[]),
        fk.Requirement(fk.Facts(), below=1, sensitive="cost", knowing=[], **width),
    ]


GROUP = np.random.default_rng(4).permutation(600) // 3


def tried(*tries, within="10%"):
    """What comes of trials of groups of three at random."""
    table = bills()
    frame = table.append_column("group", pa.array(GROUP))
    release = fk.Release.from_groups(frame, group="group", sensitive=["ill", "cost"])
    place = {release.counts.group_label(g): g for g in range(release.counts.n_groups)}
    groups = np.array([place[g] for g in GROUP.tolist()])
    seen = Sight(release.counts, fk.Microdata(table, SCHEMA), groups, "ill", "x", release)
    return trials_beside(seen, fk.Policy(requirements(within), SCHEMA, tries=tries))


@pytest.mark.parametrize("seed", range(30))
def test_windows_divide_all_numbers(seed):
    """Each number is in one window, windows are in order, and none is wider than it may be."""
    random = np.random.default_rng(seed)
    numbers = [Fraction(int(n), 4) for n in random.integers(-40, 40, random.integers(1, 12))]
    width = Width(["10%", "150%", 3, "0.5", "0.25"][seed % 5])
    texts = list(dict.fromkeys(str(float(n)) for n in numbers))
    line = Line.of(Labels(texts))
    of_label, names = line.parted(width)
    assert len(of_label) == len(texts)
    assert sorted({*of_label.tolist()}) == [*range(len(names))]
    windows = [
        sorted(Fraction(t) for t, w in zip(texts, of_label, strict=True) if w == k)
        for k in range(len(names))
    ]
    for first, second in pairwise(windows):
        assert first[-1] < second[0]
    for low, *_, high in (window * 2 for window in windows):
        low, high = min(low, high), max(low, high)
        share = width.measure == "share"
        nearer = min(abs(low), abs(high))
        assert high - low <= (nearer * width.amount if share else width.amount)
        assert low == high or low * high > 0 or not share


def test_similar_windows_have_distinct_names():
    _, names = Line.of(Labels(["0.0000001", "0.0000005", "2"])).parted(Width("10%"))
    assert len({*names}) == 3


def test_costs_are_guessed_within_width():
    near, exact = (tried(Try(fk.Learned(["code"])), within=width)[1] for width in ("10%", None))
    assert (near.near, exact.near) == ("10% of the lower end", None)
    assert near.right > 0.95
    assert near.baseline < 0.7
    assert exact.right < 0.5
    assert "near" not in exact.to_dict()
    said = " ".join(trial_sentences(near))
    assert "of people's values right to within 10% of the lower end" in said
    assert "sure of a person's cost to within 10% of the lower end" in said


def test_baseline_is_of_windows():
    """They are begun at the least number, and are counted by hand."""
    trial = tried(Try(fk.Learned(["code"])))[1]
    window, low, number_of = -1, Fraction(-1), {}
    costs = [Fraction(cost) for cost in bills().column("cost").to_pylist()]
    for number in sorted({*costs}):
        if number > low * Fraction(11, 10) or window < 0:
            window, low = window + 1, number
        number_of[number] = window
    held = {}
    for place, cost in zip(GROUP.tolist(), costs, strict=True):
        held.setdefault(place, []).append(number_of[cost])
    frequent = sum(max(map(bag.count, bag)) for bag in held.values())
    assert trial.baseline == pytest.approx(frequent / len(costs))


def test_policy_names_the_tried_column():
    learned = fk.Learned(["code"])
    assert [trial.sensitive for trial in tried(Try(learned))] == ["ill", "cost"]
    assert [trial.sensitive for trial in tried(Try(learned, sensitive="cost"))] == ["cost"]
    both = tried(Try(learned, sensitive="ill"), Try(learned, stop=0.8, sensitive="cost"))
    assert [(trial.sensitive, trial.limit) for trial in both] == [("ill", 0.9), ("cost", 0.8)]


@pytest.mark.parametrize("reverse", [False, True])
def test_trial_stops_beside_reported_one(reverse):
    tries = [Try(fk.Learned(["code", "age"])), Try(fk.Learned(["code"]), stop="0.8")]
    rules = policy(tries=False)
    rules = fk.Policy(
        rules.requirements, rules.schema, rules.options, tries[:: -1 if reverse else 1]
    )
    with pytest.raises(NoSafeRelease, match=r"by code becomes .* stops at 0.8"):
        publish(planted(), rules)


def test_wrong_columns_are_refused():
    tables = {
        "schema": {"quasi_identifiers": ["code"], "sensitive": ["ill", "cost"]},
        "require": [{"sensitive": "ill", "facts": {}, "below": 0.9}],
        "try": [{"learned": {"by": ["code"]}, "sensitive": "cost"}],
    }
    policy = fk.Policy.from_dict(tables)
    assert policy.tries[0].to_dict() == tables["try"][0]
    tables["try"][0]["sensitive"] = "costs"
    with pytest.raises(PolicyError, match="did you mean 'cost'"):
        fk.Policy.from_dict(tables)


def test_report_takes_the_policys_width():
    table = bills().append_column("group", pa.array([row // 5 for row in range(600)]))
    release = fk.Release.from_groups(table, group="group", sensitive="cost")
    rules = {
        "schema": {"quasi_identifiers": ["code"], "sensitive": "cost"},
        "require": [{"facts": {}, "below": 0.9, "within": 200}],
    }
    by_policy = fk.learned_report(release, ["code"], policy=fk.Policy.from_dict(rules))
    assert by_policy.near == "200"
    assert fk.learned_report(release, ["code"], within="10%").near == "10% of the lower end"
    assert fk.learned_report(release, ["code"]).near is None
    assert fk.learned_report(release, within=200).near == "200"
    with pytest.raises(fk.InputError, match="within is for numbers"):
        fk.learned_report(
            fk.Release.from_groups(table, group="group", sensitive="ill"), ["code"], within=200
        )


@pytest.mark.parametrize("seed", range(6))
def test_judged_together_equals_judged_alone(seed):
    random = np.random.default_rng(seed)
    people = 120
    table = pa.table(
        {
            "job": [f"job {j}" for j in random.integers(0, 3, people)],
            "group": np.arange(people) // int(random.integers(2, 5)),
            "ill": [f"ill {i}" for i in random.integers(0, 4, people)],
        }
    )
    release = fk.Release.from_groups(table, group="group", sensitive="ill")
    (way,) = attack._ways(release, release.counts, ["job"])
    together = way.learned(SMOOTHINGS)
    alone = fits(way.layout, way.kinds, way.counts.n_values, SMOOTHINGS)
    for learning, fit in zip(together, alone, strict=True):
        expected = fit.layout.expected(fit.without_own)
        np.testing.assert_allclose(learning.posteriors, expected.posteriors, atol=1e-9)
        assert learning.predicts == pytest.approx(fit.predicts)


def test_trees_join_rare_values():
    class_of, share = attack._classes(np.array([50.0, 1.0, 9.0, 3.0]))
    assert class_of.tolist() == [0, 2, 1, 2]
    assert share.tolist() == [1, 0.25, 1, 0.75]
    class_of, share = attack._classes(np.ones(4))
    assert (class_of.tolist(), share.tolist()) == ([0] * 4, [0.25] * 4)
