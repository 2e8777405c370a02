"""A trial beside a verdict says of which values the attacker's sureness was counted."""

from dataclasses import replace

import pytest
from benchmarks.register import policy_of_diagnoses

import foreknow as fk
from foreknow import sample
from foreknow.report.trial import trial_sentences, trials_beside

pytestmark = pytest.mark.complete
OTHERS = "Of other values they may be surer; that is not said here."
RULES = fk.Policy.from_dict(policy_of_diagnoses())


@pytest.fixture(scope="module")
def judged():
    """Only two values are limited, and many people are alone in their group."""
    two = fk.Requirement(fk.Facts(), below="0.25", any_of=["HIV", "Syphilis"])
    made = fk.publish(sample.table_path(), fk.Policy([two], RULES.schema), seed=1)
    assert made.audit.scope.groups_of_one > 100
    return made.audit


@pytest.fixture
def beside(judged):
    return judged.trials[0]


def test_it_is_said_which_values_the_attacker_is_not_sure_of(judged, beside):
    assert beside.about == ("HIV", "Syphilis")
    assert beside.to_dict()["about"] == ["HIV", "Syphilis"]
    (said,) = trials_beside(judged)
    assert "Of HIV or Syphilis, the values that a requirement is about, the attacker is" in said
    assert OTHERS in said
    assert "sure of a person's diagnosis" not in said


def test_one_value_is_one_and_many_are_shortened(beside):
    guess, sure = trial_sentences(replace(beside, about=("HIV",)))
    assert sure.startswith("Of HIV, the value that a requirement is about, the attacker is")
    assert "guesses at least" in guess
    many = trial_sentences(replace(beside, about=tuple(f"v{i}" for i in range(20))))[1]
    assert "v5 or 14 others, the values that" in many


def test_a_claim_says_it_too(beside):
    (said,) = trial_sentences(replace(beside, measured=False, sure_and_right=None))
    assert "Of HIV or Syphilis, the values that a requirement is about, they would claim" in said
    assert OTHERS in said
    assert "sure of a person's diagnosis" not in said


def test_of_all_values_nothing_changes():
    every = fk.Requirement(fk.Facts(), below="0.5")
    made = fk.publish(sample.table_path(), fk.Policy([every], RULES.schema), seed=1)
    (trial,) = made.audit.trials
    assert trial.about is None
    assert trial.to_dict()["about"] is None
    assert "sure of a person's diagnosis" in trials_beside(made.audit)[0]
