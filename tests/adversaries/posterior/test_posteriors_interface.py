"""Groups, priors and results: what is refused and how, what is shared, what is told."""

from fractions import Fraction

import numpy as np
import pytest

from foreknow.adversaries.priors.joint import joint_posteriors, posteriors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups, matrix
from foreknow.data.counts import GroupCounts
from foreknow.errors import DataError, InputError, UnsupportedError

PRIORS = PriorMatrix.from_fractions([["1/2", "1/2", 0], ["1/5", "4/5", 0], [0, 0, 1]])


def groups_of(*held, names=None):
    return SignatureGroups.from_people(held, names)


# ---- groups ----------------------------------------------------------------------------------


def test_groups_are_built_from_the_counts_of_a_release():
    counts = GroupCounts.from_bags([["a", "b", "b"], ["a"]], groups=["north", "south"])
    groups = SignatureGroups.from_counts(
        counts, np.array([0, 2, 3]), np.array([0, 4, 4]), np.array([2, 1, 1])
    )
    assert groups.people_of(0) == ((0, 2), (4, 1))
    assert groups.bag_of(0) == ((0, 1), (1, 2))
    assert groups.name(1) == "south"
    assert groups.take(np.array([1])).name(0) == "south"


def test_people_with_several_values_are_not_judged():
    counts = GroupCounts.from_people([[{"a", "b"}, set()]], semantics="set")
    with pytest.raises(UnsupportedError, match="need one value per person, not 'set'"):
        SignatureGroups.from_counts(counts, np.array([0, 1]), np.array([0]), np.array([2]))


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (([0, 1], [0]), "group 'x' has 2 people by signature but 1 values"),
        (([], []), "group 'x' has no signature"),
        (([0], []), "group 'x' has no value"),
        (([-1], [0]), "group 'x' has 1 people of signature -1; codes start at 0"),
    ],
)
def test_groups_that_cannot_be_are_refused_by_name(held, message):
    with pytest.raises(DataError, match=message):
        groups_of(([0], [0]), held, names=["ok", "x"])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 2], [1, 0], [1, 1], [0, 1], [0], [2]), "signature codes of group 0 must increase"),
        (([0, 2], [0, 1], [1, 0], [0, 1], [0], [1]), "group 0 has 0 people of signature 1"),
        (([0, 1], [0], [1], [0, 1, 2], [0, 1], [1, 1]), "signatures of 1 groups, but values of 2"),
        (([0, 2], [0], [1], [0, 1], [0], [1]), "offsets of signatures must go from 0 to 1"),
        (([0, 1], [0], [1, 1], [0, 1], [0], [1]), "1 signature codes but 2 amounts of people"),
        (([0, 2, 1, 2], [0, 1], [1, 1], [0, 1, 2, 3], [0] * 3, [1] * 3), "must not decrease"),
        (([0, 1], [0.5], [1], [0, 1], [0], [1]), "signatures must hold whole numbers"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(arrays, message):
    with pytest.raises(DataError, match=message):
        SignatureGroups(*(np.array(a) for a in arrays))


def test_as_many_names_as_groups():
    with pytest.raises(DataError, match="1 groups but 2 names"):
        groups_of(([0], [0]), names=["a", "b"])


# ---- priors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[0.5, 1.5]], "the prior of value 1 for signature 0 is 1.5, not from 0 to 1"),
        ([[0.5], [-0.1]], "the prior of value 0 for signature 1 is -0.1, not from 0 to 1"),
        ([[np.nan]], "is nan, not from 0 to 1"),
        ([[1e-310]], "give 0, or 2.23e-308 or more"),
        ([[[0.5]]], "signatures by values, not of shape"),
        ([["many"]], "must be a table of numbers"),
    ],
)
def test_priors_that_cannot_be_are_refused(table, message):
    with pytest.raises(DataError, match=message):
        PriorMatrix(np.array(table))


@pytest.mark.parametrize("chance", [Fraction(1, 10**400), 1 - Fraction(1, 10**400)])
def test_fractions_too_near_an_end_are_refused(chance):
    with pytest.raises(DataError, match=r"closer than 2\.23e-308 to 0 or 1; give 0 or 1"):
        PriorMatrix.from_fractions([[chance]])


def test_fractions_must_fit_the_floats():
    with pytest.raises(DataError, match="fractions do not fit"):
        PriorMatrix(np.array([[0.5, 0.5]]), [[Fraction(1, 2)]])
    with pytest.raises(DataError, match=r"is 0\.3 as a float, but 1/3 as a fraction"):
        PriorMatrix(np.array([[0.3]]), [[Fraction(1, 3)]])
    with pytest.raises(DataError, match="one probability per value in every row"):
        PriorMatrix.from_fractions([["1/2"], ["1/2", "1/2"]])


def test_floats_without_fractions_stand_for_themselves():
    assert matrix([[0.1]]).exact(0, 0) == Fraction(0.1)
    assert matrix([[0.1]]).complements[0, 0] == 0.9


def test_complements_are_rounded_from_the_fractions():
    near_one = 1 - Fraction(1, 10**30)
    priors = PriorMatrix.from_fractions([[near_one, 0], [near_one / 2, 1]])
    assert priors.chances[0, 0] == 1
    assert priors.complements[0, 0] == 1e-30
    found = posteriors(groups_of(([0, 1], [0, 1])), priors, "binary")
    assert found.of(0)[0, 0] == pytest.approx(1, abs=1e-29)


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (([3], [0]), "group 'x' has signature 3, for which there is no prior"),
        (([0], [7]), "group 'x' has value 7, for which there is no prior; .* 3 values"),
    ],
)
def test_a_group_without_a_prior_is_refused_by_name(held, message):
    groups = groups_of(([0], [0]), held, names=["ok", "x"])
    for reading in ("joint", "binary"):
        with pytest.raises(DataError, match=message):
            posteriors(groups, PRIORS, reading)


# ---- results ---------------------------------------------------------------------------------


def test_groups_that_are_alike_share_their_answers():
    alike = [([0, 1], [0, 1])] * 500 + [([1, 0], [1, 0])] * 500
    found = joint_posteriors(groups_of(*alike, ([2], [2])), PRIORS)
    assert found.cases.n_groups == 2
    assert found.of(0).tolist() == found.of(999).tolist()
    assert found.of(1000).tolist() == [[1.0]]


def test_impossible_groups_are_told_apart():
    held = [([0, 1], [0, 1]), ([2, 0], [0, 1]), ([2, 0], [2, 1])]
    found = joint_posteriors(groups_of(*held), PRIORS)
    assert repr(found) == "GroupPosteriors(joint: 2 exact, 0 bounded, 1 impossible)"
    assert found.impossible.tolist() == [1]
    assert np.isnan(found.of(1)).all()
    assert [found.kind(g) for g in range(3)] == ["exact", "impossible", "exact"]


def test_under_the_binary_reading_single_values_may_be_impossible():
    priors = PriorMatrix.from_fractions([["1/2", 1], ["1/2", 1]])
    found = posteriors(groups_of(([0, 1], [0, 1])), priors, "binary")
    assert found.of(0)[:, 0].tolist() == [0.5, 0.5]
    assert np.isnan(found.of(0)[:, 1]).all()
    assert found.kind(0) == "impossible"


def test_the_highest_posterior_of_each_value_names_a_group_and_a_signature():
    held = [([2, 1], [1, 2]), ([0, 1], [0, 1]), ([0, 1, 1], [0, 1, 1]), ([0, 1], [0, 1])]
    found = joint_posteriors(groups_of(*held), PRIORS)
    probability, group, signature = found.highest(4)
    assert probability.tolist() == pytest.approx([0.8, 1.0, 1.0, -1.0])
    assert group.tolist() == [1, 0, 0, -1]
    assert signature.tolist() == [0, 1, 2, -1]
    assert (found.upper() >= found.probabilities).all()


def test_no_groups_have_no_posteriors():
    empty = groups_of()
    for reading in ("joint", "binary"):
        found = posteriors(empty, PRIORS, reading)
        assert repr(found) == f"GroupPosteriors({reading}: 0 exact, 0 bounded, 0 impossible)"
        assert found.highest(3)[0].tolist() == [-1, -1, -1]


def test_an_unknown_reading_is_refused():
    with pytest.raises(InputError, match="did you mean 'binary'"):
        posteriors(groups_of(([0], [0])), PRIORS, "binay")
