"""A trial beside a verdict says of which values the attacker's sureness was counted."""

from dataclasses import replace
from fractions import Fraction

import pytest
from benchmarks.register import policy_of_diagnoses

import foreknow as fk
from foreknow import sample
from foreknow.auditing.trial import Tried
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


def test_the_surest_of_those_tried_is_named_and_that_no_limit_is_contradicted(beside):
    surer = Tried("EM, exact values, smoothing 4", ("age", "sex"), 0.1, 0.4169)
    trial = replace(beside, about=None, surest=0.32, required=Fraction("0.35"))
    alone = replace(trial, tried=(), required=Fraction("0.4"))
    assert "surest" not in trial_sentences(alone)[1]
    assert "limit of the policy" not in trial_sentences(alone)[1]
    for measured in (True, False):
        told = replace(trial, measured=measured, tried=(surer,))
        sure = trial_sentences(told)[-1]
        assert "up to 32% sure" in sure
        are = "is" if measured else "would claim to be"
        by = "EM, exact values, smoothing 4, by age and sex."
        assert f"The surest of those that were tried {are} up to 41% sure: {by}" in sure
        assert f"{by} That is above a limit of the policy, 35%, and no contradiction: " in sure


def test_the_limit_is_the_least_on_facts_of_the_column_and_of_no_statistics(judged, beside):
    assert beside.required == Fraction(1, 4)
    facts = fk.Requirement(fk.Facts(), below="0.3", sensitive="diagnosis")
    other = fk.Requirement(fk.Facts(), below="0.2", sensitive="days")
    schema = replace(RULES.schema, sensitive=["diagnosis", "days"])
    assert fk.Policy([facts, other], schema).least_limit("diagnosis") == Fraction(3, 10)
    assert fk.Policy([fk.Requirement(fk.KAnonymity(5))], RULES.schema).least_limit() is None


def test_a_trial_of_a_folder_knows_the_limit_of_its_policy(tmp_path):
    made = fk.publish(sample.table_path(), RULES, seed=1)
    made.write(tmp_path / "out")
    found = fk.learned_report(tmp_path / "out", ["sex"], people=sample.table_path(), policy=RULES)
    assert found.required == RULES.least_limit(found.sensitive) == Fraction(1, 4)
    assert found.to_dict()["required"] == "1/4"
