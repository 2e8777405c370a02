"""Posteriors against enumerated worlds, the papers' examples, closed forms and sums."""

import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.oracle.statement_worlds import agreeing, posterior, worlds
from tests.statements.scenes import FIGURE, Release, random_scene, release_of, text

import foreknow as fk
from foreknow.data.labels import Labels
from foreknow.data.people import Members
from foreknow.errors import ContradictionError

ALL_SEMANTICS = ["single", "set", "multiset"]


def check(scene, pairs):
    """Compare with enumeration; says what came of it."""
    before = worlds(scene.groups, scene.semantics)
    release, known = scene.release, scene.known()
    if not agreeing(before, scene.statements):
        for pair in pairs:
            with pytest.raises(ContradictionError) as caught:
                known.posterior(release, *pair)
            # Those to blame cannot hold together; without any of them, the others can.
            blamed = [scene.statements[i] for i in caught.value.together]
            assert not agreeing(before, blamed)
            for i in range(len(blamed)):
                assert agreeing(before, blamed[:i] + blamed[i + 1 :])
        return "contradiction"
    for pair in pairs:
        found = known.posterior(release, *pair)
        assert found.exact == posterior(before, scene.statements, *pair), pair
        assert found.before == posterior(before, [], *pair)
        assert found.probability == float(found.exact)
    return "answers"


def many(semantics, seeds):
    """Compare many scenes; enough of them must have answers, and contradictions."""
    outcomes = []
    for seed in seeds:
        scene = random_scene(seed, semantics)
        outcomes.append(check(scene, random.Random(seed).choices(scene.pairs, k=3)))
    assert outcomes.count("answers") > len(seeds) / 5
    assert outcomes.count("contradiction") > len(seeds) / 40


all_kinds = pytest.mark.parametrize("semantics", ALL_SEMANTICS)


@all_kinds
def test_every_posterior_is_that_of_enumerated_worlds(semantics):
    fresh = random.randrange(1000, 10**9)
    many(semantics, [*range(60), *range(fresh, fresh + 30)])


@pytest.mark.slow
@all_kinds
def test_many_thousands_of_releases(semantics):
    many(semantics, range(6000))


# ---- the papers --------------------------------------------------------------------------------

NO_CANCER = ("not", ("has", "Tom", "Cancer"))
GARY = ("has", "Gary", "Flu")
WIFE = ("->", ("has", "Ann", "AIDS"), ("has", "Tom", "AIDS"))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], "1/4"),
        ([NO_CANCER], "1/3"),
        ([NO_CANCER, GARY], "1/2"),
        ([NO_CANCER, GARY, WIFE], "2/3"),
        ([WIFE], "2/5"),  # Ann has AIDS in half of the worlds; left only if Tom has it too
    ],
)
def test_privacy_skyline_section_1(said, expected):
    assert posterior(worlds(FIGURE, "single"), said, "Tom", "AIDS") == Fraction(expected)
    found = fk.Statements(*map(text, said)).posterior(release_of(FIGURE), "Tom", "AIDS")
    assert (found.exact, found.before) == (Fraction(expected), Fraction(1, 4))


BUCKETS = {
    "men": (
        ["Bob", "Charlie", "Dave", "Ed", "Frank"],
        ["Flu", "Lung Cancer", "Heart Disease", "Flu", "Lung Cancer"],
    ),
    "women": (
        ["Gloria", "Hannah", "Irma", "Jane", "Karen"],
        ["Flu", "Breast Cancer", "Flu", "Heart Disease", "Ovarian Cancer"],
    ),
}


def test_worst_case_background_knowledge_hannah_and_charlie():
    rows = [
        (name, bucket, disease)
        for bucket, (names, bag) in BUCKETS.items()
        for name, disease in zip(names, bag, strict=True)
    ]
    table = pa.table(dict(zip(("name", "bucket", "disease"), zip(*rows, strict=True), strict=True)))
    release = fk.Release.from_groups(table, group="bucket", sensitive="disease", person="name")
    alice = fk.Statements("Hannah = Flu -> Charlie = Flu")
    found = alice.posterior(release, "Charlie", "Flu")
    assert (found.before, found.exact) == (Fraction(2, 5), Fraction(10, 19))
    assert fk.Statements().posterior(release, "Ed", "Lung Cancer").exact == Fraction(2, 5)
    no_flu = fk.Statements("Ed != Flu")
    assert no_flu.posterior(release, "Ed", "Lung Cancer").exact == Fraction(2, 3)
    neither = fk.Statements("Ed != Flu", "Ed != 'Heart Disease'")
    assert neither.posterior(release, "Ed", "Lung Cancer").exact == 1


# ---- beyond enumeration ------------------------------------------------------------------------

VALUES = [f"v{i}" for i in range(6)]


def group(size=100, seed=0):
    """Names and a bag in which every value occurs."""
    names = [f"p{i}" for i in range(size)]
    rest = random.Random(seed).choices(VALUES, range(1, 7), k=size - 2 * len(VALUES))
    return names, VALUES * 2 + rest


@pytest.mark.parametrize("size", [300, pytest.param(2100, marks=pytest.mark.slow)])
def test_a_long_chain(size):
    """Each has v0 if the one before has: some without it, then some with it."""
    release = release_of([([f"p{i}", f"q{i}"], ["v0", "v1"]) for i in range(size)])
    known = fk.Statements(*(f"p{i} = v0 -> p{i + 1} = v0" for i in range(size - 1)))
    for i in (1, size - 1):
        assert known.posterior(release, f"p{i}", "v0").exact == Fraction(i + 1, size + 1)


def test_a_tree_across_hundreds_of_groups():
    """Nobody may have v0 beside a parent who has: independent sets, by their number."""
    size = 200
    release = release_of([([f"p{i}", f"q{i}"], ["v0", "v1"]) for i in range(size)])
    known = fk.Statements(*(f"p{i} = v0 -> p{(i - 1) // 2} != v0" for i in range(1, size)))
    with_it, without = [1] * size, [1] * size
    for i in range(size - 1, 0, -1):
        with_it[(i - 1) // 2] *= without[i]
        without[(i - 1) // 2] *= with_it[i] + without[i]
    truth = Fraction(with_it[0], with_it[0] + without[0])
    assert known.posterior(release, "p0", "v0").exact == truth


def test_millions_of_people_in_a_group():
    size = 1_000_000
    counts = fk.GroupCounts.from_bags([{"v0": 400_000, "v1": size - 400_000}])
    members = Members(Labels(f"n{i}" for i in range(size)), np.zeros(size, dtype=np.int64))
    release = Release(counts, members)
    found = fk.Statements("n0 = v0 -> n1 = v0").posterior(release, "n1", "v0").exact
    p = Fraction(4, 10)
    both = p * Fraction(399_999, 999_999)
    assert found == p / (1 - p + both)
