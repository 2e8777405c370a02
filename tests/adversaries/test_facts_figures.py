"""The paper's own example, figures 1 to 3: eight people, two groups, Tom and AIDS."""

from fractions import Fraction

import pytest
from tests.oracle.worlds import has, implies, lacks, posterior, worlds, worst_cases

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts

ANN, BOB, CARY, DICK, ED, FRANK, GARY, TOM = range(8)
FIGURE_1 = ("AIDS", "Flu", "Flu", "AIDS", "Flu", "Cancer", "Flu", "AIDS")  # Ann to Tom
FIGURE_3 = [["AIDS", "Flu", "Flu", "AIDS"], ["Flu", "Cancer", "Flu", "AIDS"]]
WORLDS = worlds(FIGURE_3)


@pytest.fixture(scope="module")
def counts():
    return GroupCounts.from_bags(FIGURE_3, groups=[1, 2])


def tom_has_aids(*knowledge):
    return posterior(WORLDS, knowledge, TOM, "AIDS")


def test_figure_1_is_one_of_the_worlds_of_figure_3():
    assert FIGURE_1 in WORLDS


def test_what_the_introduction_says_of_tom_holds_in_enumerated_worlds():
    no_cancer = lacks(TOM, "Cancer")
    gary_has_flu = has(GARY, "Flu")
    assert tom_has_aids() == Fraction(1, 4)
    assert tom_has_aids(no_cancer) == Fraction(1, 3)
    assert tom_has_aids(no_cancer, gary_has_flu) == Fraction(1, 2)


def test_tom_s_wife_raises_the_odds_as_lemma_1_says():
    # Ann has AIDS in half of the worlds; those are left only if Tom has it too.
    assert tom_has_aids(implies(ANN, TOM, "AIDS")) == Fraction(2, 5)


@pytest.mark.parametrize(
    ("point", "truth"),
    [
        ((0, 0, 0), Fraction(1, 4)),
        ((1, 0, 0), Fraction(1, 2)),  # not Flu: two of four are left
        ((0, 1, 0), Fraction(1, 3)),
        ((0, 0, 1), Fraction(1, 3)),  # a relative within the group: one of three
    ],
)
def test_verdicts_of_group_2_alone(counts, point, truth):
    found = Facts(*point).disclosure(counts.take([1]), "AIDS")
    assert found.exact == truth
    assert found.exact == worst_cases(FIGURE_3[1:], "AIDS", point)[point]
    assert not found.below(truth)
    assert found.below(truth + Fraction(1, 1000))


def test_group_2_is_safe_at_one_half_against_one_person_or_relative_but_not_one_ruled_out(counts):
    group_2 = counts.take([1])
    verdicts = {
        point: Facts(*point).disclosure(group_2, "AIDS").below("1/2")
        for point in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    }
    assert verdicts == {(1, 0, 0): False, (0, 1, 0): True, (0, 0, 1): True}


def test_the_witness_of_group_2_names_flu_and_the_published_group(counts):
    witness = Facts(l=1).disclosure(counts.take([1]), "AIDS").witness
    assert witness.target_group == 2
    assert witness.ruled_out == ("Flu",)
    assert witness.to_dict() == {
        "target_group": 2,
        "ruled_out": ["Flu"],
        "known_group": None,
        "known": [],
        "family_group": None,
        "family": 0,
    }


def test_the_whole_of_figure_3_agrees_with_enumeration(counts):
    truth = worst_cases(FIGURE_3, "AIDS", (2, 2, 2))
    for point, probability in truth.items():
        assert Facts(*point).disclosure(counts, "AIDS").exact == probability, point
