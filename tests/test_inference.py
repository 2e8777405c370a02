"""Classifiers that were trained on a release: what they guess, against counting by hand."""

import sys
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.inference import Rate

pytest.importorskip("sklearn")

SCHEMA = fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease")
POLICY = fk.Policy([fk.Requirement(fk.Facts(), below="0.4")], SCHEMA)
RDA = fk.Streamliner(3, "rda")


def table(share, people=600, jobs=6, seed=1):
    """People whose disease goes with their job so often, else with any other."""
    random = np.random.default_rng(seed)
    job = random.integers(0, jobs, people)
    own = random.random(people) < share
    disease = np.where(own, job, (job + random.integers(1, jobs, people)) % jobs)
    return pa.table(
        {
            "job": [f"job {j}" for j in job],
            "age": random.integers(18, 80, people),
            "disease": [f"disease {d}" for d in disease],
        }
    )


def published(rows, form="bucketized", method=RDA, policy=POLICY):
    return fk.publish(rows, policy, method=method, form=form, seed=1)


@pytest.fixture(scope="module")
def strong():
    rows = table(0.7)
    return rows, published(rows)


# ---- what is guessed ----------------------------------------------------------------------------


def test_a_classifier_finds_what_goes_with_what_and_the_bags_do_the_rest(strong):
    rows, made = strong
    found = fk.inference_attack(made, rows, control=table(0.7, seed=2))
    assert found.attack.people == 600
    assert found.groups.share == pytest.approx(1 / 3)
    assert found.baseline.share == pytest.approx(0.7, abs=0.06)
    assert found.statistics.share == pytest.approx(0.7, abs=0.06)
    assert found.attack.share > 0.76
    assert found.attack.low > found.baseline.high
    assert found.low > 0
    assert found.control == 600
    # About what is learned without a classifier.
    release = made.release
    learned = fk.Learned(["job"]).guesses(release)
    assert found.attack.share == pytest.approx(learned.learned / 600, abs=0.05)


def test_where_nothing_goes_with_anything_only_the_bags_are_guessed_by():
    rows = table(1 / 6)
    found = fk.inference_attack(published(rows), rows)
    assert found.control is None
    assert found.attack.low < 1 / 3 < found.attack.high
    assert found.baseline.share < 0.25
    said = " ".join(found.summary().split())
    assert "no better than the most frequent value of each group" in said


def test_boxes_are_features_of_a_generalized_release():
    rows = table(0.9)
    method = fk.Mondrian()
    exact, boxes = (
        fk.inference_attack(published(rows, form, method), rows)
        for form in ("bucketized", "generalized")
    )
    assert exact.groups.share == pytest.approx(boxes.groups.share, abs=0.02)
    assert boxes.attack.share < exact.attack.share
    own = fk.inference_attack(
        published(rows, "generalized", method).release, fk.Microdata(rows, SCHEMA)
    )
    assert own.attack.share == boxes.attack.share


def test_what_a_release_says_of_groups_is_their_bags_spread_over_their_members(strong):
    """The rows that the classifier is trained on, with their weights, by exact fractions."""
    from foreknow.inference import _case

    rows, made = strong
    for form in ("bucketized", "generalized"):
        made = published(rows, form)
        case = _case(made, rows, None, None, None)
        some = np.flatnonzero(case.groups % 2 == 0)
        shown = case.laid(some, published=True)
        known, values, weights = shown.spread(shown.layout.alone)
        taught = {}
        for row, value, weight in zip(
            known.tolist(), values.tolist(), weights.tolist(), strict=True
        ):
            taught[tuple(row), value] = weight
        right = {}
        features = case.exact if case.boxes is None else case.boxes
        for group in {*case.groups[some].tolist()}:
            own = np.flatnonzero(case.groups == group)
            bag = case.truth[own].tolist()
            for person in own.tolist():
                for value in bag:
                    key = tuple(features[person].tolist()), value
                    right[key] = right.get(key, Fraction(0)) + Fraction(1, len(bag))
        assert {key: float(weight) for key, weight in right.items()} == pytest.approx(taught)


def test_who_has_which_value_is_only_counted(strong):
    """Values that change hands within groups change nothing but what is right."""
    rows, made = strong
    from foreknow.inference import _case, _guess, _Maker

    case = _case(made, rows, None, None, None)
    make = _Maker.of(None, case.n_values, 0)
    own, others = (np.flatnonzero(case.groups % 2 == side) for side in (0, 1))
    before = make(case.plain[others], case.truth[others])
    first = _guess(case, own, others, make, before)
    random = Random(1)
    swapped = case.truth.copy()
    for group in range(int(case.groups.max()) + 1):
        at = np.flatnonzero(case.groups == group)
        swapped[at] = swapped[random.sample(at.tolist(), len(at))]
    from dataclasses import replace

    again = _guess(replace(case, truth=swapped), own, others, make, before)
    assert np.array_equal(first.attack, again.attack)
    assert np.array_equal(first.statistics, again.statistics)
    assert not np.array_equal(first.attack_sure, again.attack_sure)


def test_people_who_are_outside_teach_the_baseline_and_nothing_else(strong):
    rows, made = strong
    one, other = (fk.inference_attack(made, rows, control=table(s, seed=5)) for s in (0.7, 1 / 6))
    assert one.attack == other.attack
    assert one.baseline.share > other.baseline.share + 0.3


def test_unknown_labels_of_people_outside_are_no_error(strong):
    rows, made = strong
    more = table(0.7, people=300, seed=3).to_pylist()
    odd = [{**row, "job": "diver", "disease": "bends"} for row in more[:40]]
    odd += [{**row, "job": "pilot", "age": 12345} for row in more[40:80]]
    found = fk.inference_attack(made, rows, control=pa.Table.from_pylist([*odd, *more[80:]]))
    assert found.control == 260
    with pytest.raises(fk.InputError, match="0 people have values of the table; it takes 30"):
        fk.inference_attack(made, rows, control=pa.Table.from_pylist(odd[:40]))


def test_the_same_seed_guesses_the_same_and_another_classifier_may_be_given(strong):
    from sklearn.naive_bayes import MultinomialNB

    rows, made = strong
    one, two = (fk.inference_attack(made, rows, seed=4).to_dict() for _ in range(2))
    assert one == two
    found = fk.inference_attack(made, rows, classifier=MultinomialNB())
    assert found.classifier == "MultinomialNB"
    assert found.attack.share > 0.7
    for odd in (MultinomialNB, "trees"):
        with pytest.raises(fk.InputError, match="classifier must be one of scikit-learn"):
            fk.inference_attack(made, rows, classifier=odd)


def test_columns_that_stand_beside_divide_groups_and_are_known():
    rows = table(1 / 6)
    ward = ["ward " + disease[-1] for disease in rows.column("disease").to_pylist()]
    rows = rows.append_column("ward", pa.array(ward))
    schema = fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease", other=["ward"])
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.4", knowing=[])], schema)
    found = fk.inference_attack(published(rows, "generalized", policy=policy), rows)
    assert found.columns == ("job", "age", "ward")
    assert found.attack.share == found.groups.share == 1


def test_of_several_sensitive_columns_one_is_guessed():
    rows = table(0.7)
    rows = rows.append_column("wage", pa.array([row % 7 for row in range(len(rows))]))
    schema = fk.Schema(quasi_identifiers=["job", "age"], sensitive=["disease", "wage"])
    each = [fk.Requirement(fk.Facts(), "0.8", sensitive=s, knowing=[]) for s in schema.sensitives]
    made = published(rows, "generalized", fk.Mondrian(), fk.Policy(each, schema))
    with pytest.raises(fk.InputError, match="sensitive = 'disease' or 'wage'"):
        fk.inference_attack(made, rows)
    found = fk.inference_attack(made, rows, sensitive="wage")
    assert found.sensitive == "wage"
    assert "disease" in found.columns


# ---- shares and intervals -----------------------------------------------------------------------


def test_intervals_are_wilsons_where_people_are_by_themselves():
    right = np.array([True] * 30 + [False] * 70)
    rate = Rate.of(right, np.arange(100))
    assert (rate.right, rate.people, rate.share) == (30, 100, 0.3)
    assert (rate.low, rate.high) == (
        pytest.approx(0.2189, abs=1e-4),
        pytest.approx(0.3958, abs=1e-4),
    )
    # Ten of a kind are worth as much as one.
    many = Rate.of(np.repeat(right, 10), np.repeat(np.arange(100), 10))
    assert (many.low, many.high) == (pytest.approx(rate.low), pytest.approx(rate.high))
    for all_right in (True, False):
        edge = Rate.of(np.full(50, all_right), np.arange(50) // 2)
        assert edge.share == all_right
        assert 0 <= edge.low <= edge.share <= edge.high <= 1
        assert edge.high - edge.low > 0.1


def test_intervals_cover_what_they_are_about():
    random = np.random.default_rng(1)
    covered = net = 0
    from foreknow.inference import _excess

    for _ in range(400):
        cluster = np.repeat(np.arange(60), 4)
        known = random.random(240) < 0.4
        attack = np.where(np.repeat(random.random(60) < 0.5, 4), True, known)
        rate = Rate.of(attack, cluster)
        covered += rate.low <= 0.7 <= rate.high
        more, low, high = _excess(attack, known, cluster)
        assert low <= more <= high
        net += low <= 0.5 <= high
    assert 0.91 < covered / 400 < 0.99
    assert 0.91 < net / 400 < 0.99


# ---- what is refused ----------------------------------------------------------------------------


def test_what_cannot_be_guessed_is_refused(strong):
    rows, made = strong
    with pytest.raises(fk.InputError, match="is not the table that the release was made of"):
        fk.inference_attack(made, table(0.7, seed=8))
    with pytest.raises(fk.InputError, match="is not the table that the release was made of"):
        fk.inference_attack(made, rows.slice(1))
    with pytest.raises(fk.InputError, match="who is in which group is not known"):
        fk.inference_attack(made.release, rows)
    with pytest.raises(fk.InputError, match="no column 'age'"):
        fk.inference_attack(made, rows, control=rows.drop(["age"]))
    few = rows.slice(0, 24)
    small = published(few, "generalized", fk.Mondrian())
    with pytest.raises(fk.InputError, match="guesses are counted from 30 people and 6 groups on"):
        fk.inference_attack(small, few)
    with pytest.raises(fk.InputError, match="'wage' is no sensitive column"):
        fk.inference_attack(made, rows, sensitive="wage")


def test_without_scikit_learn_it_says_what_to_install(strong, monkeypatch):
    rows, made = strong
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(fk.InputError, match=r'pip install "foreknow\[learn\]"'):
        fk.inference_attack(made, rows)
