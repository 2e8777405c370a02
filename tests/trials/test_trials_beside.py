"""The short trial beside a verdict: what it leaves out, and what it keeps apart."""

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.register import policy_of_diagnoses

import foreknow as fk
from foreknow import sample
from foreknow.data.sights import Sight
from foreknow.trials.learned import learned_beside, learnings

SCHEMA = fk.Schema(quasi_identifiers=["code", "serial"], sensitive="ill")
PEOPLE = 300


def seen(serials, turned=False):
    """300 people in groups of 5, of whom a code says the illness; or says it of nobody."""
    code = np.arange(PEOPLE) * 7 % 6
    ill = [f"ill {c}" for c in code]
    known = np.random.default_rng(3).permutation(code) if turned else code
    rows = {"code": [f"c{c}" for c in known], "serial": serials, "ill": ill}
    groups = np.arange(PEOPLE) // 5
    release = fk.Release.from_groups(
        pa.table({"group": groups, "ill": ill}), group="group", sensitive="ill"
    )
    return release, fk.Microdata(pa.table(rows), SCHEMA), groups


def test_two_tables_of_one_release_are_learned_apart():
    """The same object holds the counts of both."""
    release, told, groups = seen([1] * PEOPLE)
    apart, untold, _ = seen([1] * PEOPLE, turned=True)
    one, other = (Sight(release.counts, own, groups, "ill", "x") for own in (told, untold))
    assert learned_beside(one, ["code"]).right > 0.99
    fresh = learned_beside(Sight(apart.counts, untold, groups, "ill", "x"), ["code"])
    found = learned_beside(other, ["code"])
    assert (found.right, found.surest) == (fresh.right, fresh.surest)
    assert found.right < 0.5


def test_exact_values_of_one_person_each_are_left_out_where_there_are_bins():
    release, told, groups = seen(list(range(1000, 1000 + PEOPLE)))
    own = Sight(release.counts, told, groups, "ill", "x")
    brief = [each.attacker for each in learnings(own, ["serial"], "beside")]
    assert all("bins of numbers" in attacker for attacker in brief)
    assert len(brief) == 3
    whole = {each.attacker.partition(", smoothing")[0] for each in learnings(own, ["serial"])}
    assert {"EM, exact values", "EM, bins of numbers"} <= whole
    assert len(learnings(own, ["code"], "beside")) == 3


def test_exact_values_that_people_share_are_tried_beside_bins_and_not_at_a_look():
    release, told, groups = seen([row % 40 for row in range(PEOPLE)])
    own = Sight(release.counts, told, groups, "ill", "x")
    beside = [
        each.attacker.partition(", smoothing")[0] for each in learnings(own, ["serial"], "beside")
    ]
    assert beside == ["EM, exact values"] * 3 + ["EM, bins of numbers"] * 3
    (look,) = learnings(own, ["serial"], "look")
    assert look.attacker == "EM, bins of numbers, smoothing 256"


def test_a_look_is_not_learned_again():
    release, told, groups = seen([1] * PEOPLE)
    own = Sight(release.counts, told, groups, "ill", "x")
    (look,) = learnings(own, ["code"], "look")
    assert look in learnings(own, ["code"], "beside")


@pytest.mark.complete
def test_the_report_that_goes_out_says_that_what_was_counted_stays_with_the_owner(tmp_path):
    policy = fk.Policy.from_dict(policy_of_diagnoses())
    made = fk.publish(sample.table_path(), policy)
    made.write(tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "is counted with the table, and stays with the owner" in page
    assert "guesses at least" not in page
    assert "guesses at least" in made.audit.summary().replace("\n", " ")
