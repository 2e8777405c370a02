"""Relative limits: at most so many times the prior, against enumerated worlds and from file to
certificate.
"""

import json
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.releases_priors import priors_table, random_scene
from tests.examples import examples
from tests.test_verifier_priors import written

import foreknow as fk
from foreknow.certificates import Certificate
from foreknow.report.pages.audit import verdict_sentence
from foreknow_judge.errors import CertificateError, PolicyError
from foreknow_judge.verdict import Limit
from foreknow_judge.verdicts import verdicts as verify
from foreknow_judge.written import Written

SEEDS = st.integers(0, 2**40)
READINGS = ["joint", "binary"]
LITTLE = Fraction(1, 10**30)


def ratios(scene, reading, about):
    """Posterior by prior of everybody and each value, from enumerated worlds."""
    found = scene.ratios(scene.truth(reading))
    return {cell: ratio for cell, ratio in found.items() if cell[3] in about}


def asked(priors, times, **more):
    return fk.Policy([fk.Requirement(priors, at_most_times=times, **more)])


# ---- against enumeration -------------------------------------------------------------------


@examples(50, daily=5)
@given(SEEDS, st.data())
@pytest.mark.parametrize("reading", READINGS)
def test_verdicts_are_those_of_enumerated_worlds(reading, seed, data):
    scene = random_scene(Random(seed))
    release, priors = scene.release, scene.priors(reading)
    values = sorted({x for _, _, x in scene.people})
    about = data.draw(st.lists(st.sampled_from(values), unique=True, min_size=1), label="about")
    truth = ratios(scene, reading, about)
    top = max(truth.values())
    for value, found in priors.gains(release).items():
        own = ratios(scene, reading, [value])
        assert found.exact / found.prior == max(own.values()), value
        assert 0 <= Fraction(found.probability) - found.exact < Fraction(1, 10**12)
    for times in {top, top - LITTLE, top + LITTLE, top * 2, Fraction(2), Fraction(1)}:
        if times < 1:
            continue
        policy = asked(priors, times, values=about)
        (verdict,) = fk.audit(release, policy).verdicts
        assert verdict.safe == (top <= times)
        assert bool(policy.failures(release)) == (top > times)
        prior = verdict.disclosure.prior
        assert verdict.disclosure.exact / prior == top
        assert verdict.limit == min(1, times * prior)
        assert prior == verdict.disclosure.witness.prior
        others = [d.exact / d.prior for d in verdict.others]
        assert all(own <= top for own in others)
        (finding,) = verify(written(scene, "bucketized"), [policy.requirements[0].to_dict()])
        assert finding.safe == verdict.safe
        assert finding.required == Limit(times, inclusive=True, relative=True)
        if finding.limit < 1:  # of several as far from their limits, either may be named
            assert finding.reached * times / finding.limit == top


@examples(25)
@given(SEEDS, st.integers(7, 14))
@pytest.mark.parametrize("reading", READINGS)
def test_the_verifier_and_the_audit_agree_on_larger_groups(reading, seed, most):
    scene = random_scene(Random(seed), n_groups=3, most=most)
    priors = scene.priors(reading)
    found = priors.gain(scene.release)
    for times in (found.exact, found.exact - LITTLE):
        rule = asked(priors, max(times, 1)).requirements[0].to_dict()
        (finding,) = verify(written(scene, "generalized"), [rule])
        assert finding.safe == (found.exact <= max(times, 1))


def test_near_ties_between_groups_are_settled_by_fractions():
    row = {"a": Fraction(1, 4), "b": Fraction(1, 3)}
    rows = {"p": {"a": Fraction(1, 3), "b": Fraction(1, 3)}, "q": row}
    rows["s"] = row | {"a": Fraction(1, 4) - LITTLE}
    top = 1 / (Fraction(1, 3) + Fraction(1, 4) - LITTLE)
    for second, third in (("q", "s"), ("s", "q")):
        table = pa.table(
            {"gid": [1, 1, 2, 2], "sex": ["p", second, "p", third], "disease": list("abab")}
        )
        release = fk.Release.from_groups(table, group="gid", sensitive="disease")
        priors = fk.Priors(priors_table({(s,): own for s, own in rows.items()}, ["sex"]))
        found = priors.gains(release)["a"]
        assert found.exact / found.prior == top
        for times in (top, top - LITTLE**2):
            policy = asked(priors, times, values=["a"])
            (finding,) = verify(
                Written("generalized", ("gid",), "disease", {"release": table}),
                [policy.requirements[0].to_dict()],
            )
            assert finding.safe == fk.audit(release, policy).safe == (times == top)


def test_one_time_is_what_nobody_learns_anything_from():
    table = pa.table({"gid": [1, 1, 2, 2], "sex": list("mmff"), "disease": list("abab")})
    release = fk.Release.from_groups(table, group="gid", sensitive="disease")
    half = {"a": "0.5", "b": "0.5"}
    priors = fk.Priors(priors_table({("m",): half, ("f",): half}, ["sex"]))
    assert fk.audit(release, asked(priors, 1)).safe


def test_ties_that_are_too_many_to_settle_are_not_called_safe(monkeypatch):
    monkeypatch.setattr("foreknow.adversaries.priors.disclosure._MOST_GAINS", 1)
    # Two groups as far from their priors, of different people.
    rows = {("m",): {"a": "0.5", "b": "0.5"}, ("f",): {"a": "0.25", "b": "0.25"}}
    table = pa.table({"gid": [1, 1, 2, 2, 2, 2], "sex": list("mmffff"), "disease": list("ababbb")})
    release = fk.Release.from_groups(table, group="gid", sensitive="disease")
    priors = fk.Priors(priors_table(rows, ["sex"]))
    found = priors.gains(release)["a"]
    assert (found.exact, found.bounded) == (None, True)
    assert not fk.audit(release, asked(priors, 1, values=["a"])).safe
    assert fk.audit(release, asked(priors, "1.001", values=["a"])).safe


# ---- what a policy says --------------------------------------------------------------------

ROWS = {
    ("m",): {"Flu": "0.3", "HIV": "0.1", "Gout": "0.2"},
    ("f",): {"Flu": "0.2", "HIV": "0.2", "Gout": "0.1"},
}
PRIORS = fk.Priors(priors_table(ROWS, ["sex"]))
TABLE = pa.table(
    {
        "sex": list("mfmfmf"),
        "age": [str(30 + i) for i in range(6)],
        "disease": ["Flu", "HIV", "Gout", "Gout", "Flu", "HIV"],
    }
)
SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")


def test_from_a_file_and_back(tmp_path):
    PRIORS.tables[0].to_csv(tmp_path / "sex.csv")
    path = tmp_path / "policy.toml"
    path.write_text('[[require]]\npriors = { file = "sex.csv" }\nat_most_times = 2.5\n')
    policy = fk.Policy.load(path)
    ((point,),) = (r.points for r in policy.requirements)
    assert (point.below, point.inclusive, point.relative) == (Fraction(5, 2), True, True)
    told = policy.to_dict()["require"][0]
    assert told["at_most_times"] == "5/2"
    assert "below" not in told
    assert "at_most" not in told
    again = fk.Policy.from_dict(policy.to_dict())
    assert again.requirements[0].points == policy.requirements[0].points


LATER = fk.Requirement(PRIORS, at_most_times=3, name="later")


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        ((PRIORS,), {"at_most_times": "0.9"}, "requirement: .* must be 1 or more .*, not 0.9"),
        ((PRIORS,), {"at_most_times": "x"}, "requirement: 'x' is not a number"),
        ((PRIORS, "1/2"), {"at_most_times": 2}, "give below or at_most_times, not both"),
        (([(PRIORS, "1/2")],), {"at_most_times": 2}, "a skyline has a threshold in each point"),
        ((PRIORS,), {"at_most_times": 2}, "later: .* below 3 times the prior here"),
    ],
)
def test_mistakes_are_said(given, more, message):
    with pytest.raises(PolicyError, match=message):
        fk.Policy([fk.Requirement(*given, **more), LATER])


def test_an_absolute_limit_beside_a_relative_one_is_no_contradiction():
    both = [fk.Requirement(PRIORS, at_most_times=3), fk.Requirement(PRIORS, at_most="3/4")]
    assert len(fk.Policy(both).requirements) == 2


# ---- what is said, and certified -----------------------------------------------------------


class Halves:
    """A method that puts the first three people together, and the last three."""

    def partition(self, microdata, policy=None, seed=None):
        return np.array([0, 0, 0, 1, 1, 1])


def published(folder, times="9"):
    policy = fk.Policy(
        [fk.Requirement(PRIORS, at_most_times=times)], SCHEMA, fk.PublishOptions(form="bucketized")
    )
    made = fk.publish(fk.Microdata(TABLE, SCHEMA), policy, method=Halves())
    made.write(folder)
    return made


def test_a_true_certificate_is_confirmed_and_false_ones_are_not(tmp_path):
    made = published(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    known = Certificate.load(path)
    assert known.check(tmp_path / "out") == []
    verdict, finding = made.audit.verdicts[0], known.findings[0]
    assert Fraction(finding["limit"]) == verdict.limit
    assert Fraction(finding["exact"]) == verdict.disclosure.exact
    assert finding["at_most_times"] == "9"

    def changed(change):
        table = json.loads(path.read_text())
        change(table)
        (tmp_path / "changed.json").write_text(json.dumps(table))
        return Certificate.load(tmp_path / "changed.json").check(tmp_path / "out")

    rule = ["policy", "require", 0]

    def times_of(table, times):
        for key in rule:
            table = table[key]
        table["at_most_times"] = times

    (said,) = changed(lambda t: times_of(t, "2"))
    assert "the limit is" in said
    (said,) = changed(lambda t: times_of(t, "8"))
    assert "how many times the prior" in said
    (said,) = changed(lambda t: t["findings"][0].pop("at_most_times"))
    assert "how many times the prior" in said
    with pytest.raises(CertificateError, match="give below or at_most_times, not both"):
        changed(lambda t: t["policy"]["require"][0].update(below="1"))


def test_a_prior_too_small_for_floats_is_refused_by_the_verifier(tmp_path):
    published(tmp_path / "out")
    table = json.loads((tmp_path / "out" / "certificate.json").read_text())
    rows = table["policy"]["require"][0]["priors"]["tables"][0]["rows"]
    rows[0][1][0] = f"1/{10**400}"
    (tmp_path / "changed.json").write_text(json.dumps(table))
    (said,) = Certificate.load(tmp_path / "changed.json").check(tmp_path / "out")
    assert "large enough" in said


def test_sentences_say_what_was_likely_before(tmp_path):
    made = published(tmp_path / "out")
    (verdict,) = made.audit.verdicts
    said = verdict_sentence(verdict, "disease")
    assert said.startswith("Even someone who knows that people with sex")
    assert "9 times what was likely before (" in said
    made.audit.to_html(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    assert "9 × prior" in page
    assert "is 9 times as likely as before" in page
    assert "must become at most 9 times as sure as before the release" in page
    json.dumps(made.audit.to_dict())
    told = made.audit.to_dict()["verdicts"][0]
    assert (told["at_most_times"], told["limit"]) == ("9", str(verdict.limit))


# ---- numbers that floats lose --------------------------------------------------------------


def judged_both_ways(rows, people, reading, times, values):
    """Whether the audit and the verifier call it safe."""
    table = {(s,): dict(zip(values, map(Fraction, row), strict=True)) for s, row in rows.items()}
    priors = fk.Priors(priors_table(table, ["sex"]), reading)
    columns = zip(*people, strict=True)
    frame = pa.table(dict(zip(("gid", "sex", "disease"), map(list, columns), strict=True)))
    release = fk.Release.from_groups(frame, group="gid", sensitive="disease")
    policy = asked(priors, times, values=["x"])
    (finding,) = verify(
        Written("generalized", ("gid",), "disease", {"release": frame}),
        [policy.requirements[0].to_dict()],
    )
    return fk.audit(release, policy).safe, finding.safe


@pytest.mark.parametrize("places", [(150, 200), (80, 250), (3, 4)])
def test_a_posterior_as_small_as_its_prior_may_be_many_times_as_large(places):
    little, least = (Fraction(1, 10**n) for n in places)
    third, twentieth = Fraction(1, 3), Fraction(1, 20)
    rows = {
        "t": [little, Fraction(1, 10), 0, 0, 0],
        "s": [Fraction(1, 10), Fraction(9, 10), 0, 0, 0],
        "r1": [0, 0, third, third, third],
        "r2": [0, 0, Fraction(1, 2), least, least],
        "r3": [0, 0, Fraction(1, 2), least, least],
        "m": [twentieth, 19 * twentieth, 0, 0, 0],
        "k": [twentieth / 3, 19 * twentieth, 0, 0, 0],
    }
    first = [(1, "t", "q"), (1, "s", "x"), (1, "r1", "v2"), (1, "r2", "v1"), (1, "r3", "v3")]
    people = [*first, (2, "m", "x"), (2, "k", "q")]
    # Who has x in group 1: t with `little`, or s with a tenth; the other has q.
    ratio = Fraction(9, 10) / (little * Fraction(9, 10) + Fraction(1, 100))
    values = ["x", "q", "v1", "v2", "v3"]
    for times, safe in ((20, False), (ratio - LITTLE, False), (ratio, True)):
        assert judged_both_ways(rows, people, "joint", times, values) == (safe, safe)


def test_binary_weights_too_small_for_floats():
    rows = {
        "t": [Fraction(1, 10**290), Fraction(1, 2)],
        "s": [Fraction(1, 10), Fraction(9, 10)],
        "m": [Fraction(1, 20), Fraction(19, 20)],
        "k": [Fraction(1, 60), Fraction(19, 20)],
    }
    people = [(1, "t", "q"), *[(1, "s", "x")] * 115, *[(1, "s", "q")] * 5]
    people += [(2, "m", "x"), (2, "k", "q")]
    for times, safe in ((40, False), (172, False), (173, True)):
        assert judged_both_ways(rows, people, "binary", times, ["x", "q"]) == (safe, safe)


def test_priors_that_add_up_to_more_than_one_are_refused_by_the_verifier(tmp_path):
    published(tmp_path / "out")
    table = json.loads((tmp_path / "out" / "certificate.json").read_text())
    for row in table["policy"]["require"][0]["priors"]["tables"][0]["rows"]:
        row[1] = [str(Fraction(chance) * Fraction(5, 2)) for chance in row[1]]
    (tmp_path / "changed.json").write_text(json.dumps(table))
    (said,) = Certificate.load(tmp_path / "changed.json").check(tmp_path / "out")
    assert "add up to at most 1" in said
