"""Policies that limit what is learned: the gate, what is certified, what is verified, lies."""

import json

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk

SCHEMA = fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease")
FACTS = fk.Requirement(fk.Facts(), below="1/2", name="facts")


def table(share=0.7, people=600, jobs=4, seed=1):
    """People whose disease goes with their job so often."""
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


def policy(*requirements, **limit):
    learned = [fk.Requirement(fk.Learned(["job"]), **limit)] if limit else []
    return fk.Policy([*requirements, *learned], SCHEMA)


def publish(rows, rules, **more):
    return fk.publish(rows, rules, method=fk.Streamliner(3, "rda"), seed=1, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A bucketized release that keeps a loose limit."""
    made = publish(table(), policy(FACTS, below="0.995"), form="bucketized")
    place = tmp_path_factory.mktemp("learned") / "out"
    made.write(place)
    return place


def edit(folder, tmp_path, change):
    """A copy with another certificate."""
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    path = copy / "certificate.json"
    read = json.loads(path.read_text())
    change(read)
    path.write_text(json.dumps(read))
    return copy


# ---- policies ---------------------------------------------------------------------------------


def test_a_policy_file_names_what_is_learned_and_its_limit(tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(
        '[[require]]\nlearned = { by = ["job", "age"], bandwidth = 0.2 }\nat_most_times = 3\n'
    )
    (requirement,) = fk.Policy.load(path).requirements
    assert requirement.points[0].adversary == fk.Learned(["job", "age"], "1/5")
    assert requirement.to_dict() == {
        "learned": {"by": ["job", "age"], "bandwidth": 0.2},
        "at_most_times": "3",
    }
    path.write_text('[[require]]\nlearned = { be = ["job"] }\nbelow = 0.5\n')
    with pytest.raises(fk.InputError, match=r"unknown key require\[0\].learned.be; known:"):
        fk.Policy.load(path)
    with pytest.raises(fk.InputError, match="make each a requirement of its own"):
        fk.Requirement([(fk.Facts(), "1/2"), (fk.Learned(["job"]), "1/2")])


# ---- audits -----------------------------------------------------------------------------------


def test_an_audit_has_an_estimate_and_no_verdict():
    made = publish(table(), policy(FACTS), form="bucketized")
    found = fk.audit(made, policy(FACTS, below="1/2"))
    assert not found.safe
    assert [v.safe for v in found.verdicts] == [True]
    (estimate,) = found.estimates
    assert not estimate.within
    assert estimate.disclosure.estimated
    assert estimate.disclosure.probability > 0.9
    assert found.to_dict()["estimates"][0]["estimate"] is True
    shown = found.summary()
    assert "Too much can be learned from the release, by an estimate" in shown
    assert "Somebody who learns from the release how diseases go with job" in shown
    assert "An estimate, and no verdict" in " ".join(shown.split())
    loose = fk.audit(made, policy(FACTS, below="0.999"))
    assert loose.safe
    assert "by an estimate" in repr(loose)
    alone = fk.audit(made, policy(below="0.999"))
    assert "within limits" in repr(alone)
    assert "By an estimate, and no verdict" in alone.summary()
    assert "safe" not in alone.summary().lower().replace("unsafe", "")


def test_a_relative_limit_is_of_what_the_statistics_say():
    made = publish(table(), policy(FACTS), form="bucketized")
    for times, within in ((1, False), (1000, True)):
        (estimate,) = fk.audit(made, policy(FACTS, at_most_times=times)).estimates
        assert estimate.within is within
    found = estimate.disclosure
    assert float(found.prior) == pytest.approx(found.witness.statistics)


def test_beside_every_audit_stands_what_can_be_learned():
    rows = table()
    made = publish(rows, policy(FACTS), form="bucketized")
    learnt = made.audit.learnt
    assert learnt.by == ("job",) or "job" in learnt.by
    assert {("job",), ("age",)} <= set(learnt.tried)
    assert any("Somebody who learns" in note for note in made.audit.notes)
    assert made.audit.to_dict()["learned"]["by"] == list(learnt.by)
    off = fk.audit(made, policy(FACTS), learned=False)
    assert (
        "What can be learned from the release itself was not measured here: see foreknow audit."
        in off.notes
    )
    # Of a generalized release, only its owner is told.
    boxes = publish(rows, policy(FACTS))
    assert any("Somebody who learns" in note for note in boxes.audit.notes)
    assert boxes.certificate.learned is None
    assert made.certificate.learned["by"] == list(learnt.by)


# ---- the gate ---------------------------------------------------------------------------------


def test_where_too_much_can_be_learned_stricter_limits_are_tried():
    rows = table(0.5)
    plain = fk.publish(rows, policy(FACTS), seed=1)
    with_gate = fk.publish(rows, policy(FACTS, below="0.45"), seed=1)
    (estimate,) = with_gate.audit.estimates
    assert estimate.within
    assert with_gate.counts.n_groups < plain.counts.n_groups
    assert any("made 0." in note for note in with_gate.certificate.notes)
    assert not with_gate.certificate.minimal
    assert with_gate.certificate.scope["method"] == "not judged"
    with pytest.raises(fk.NoSafeRelease, match=r"in 6 rounds, the least was: .*about 0\.\d+ for"):
        fk.publish(rows, policy(FACTS, below="0.05"), seed=1)
    with pytest.raises(fk.NoSafeRelease, match="does not make other groups for stricter limits"):
        publish(rows, policy(FACTS, below="0.4"))


def test_an_estimate_alone_certifies_nothing():
    with pytest.raises(fk.InputError, match="which is an estimate: nothing could be certified"):
        publish(table(), policy(below="0.99"))


# ---- what is certified, and verified -----------------------------------------------------------


def test_the_verifier_estimates_for_itself(folder):
    certificate = json.loads((folder / "certificate.json").read_text())
    assert certificate["version"] == 6
    (estimate,) = certificate["estimates"]
    assert estimate["checked"]
    assert estimate["estimate"]
    assert all("learned" not in finding["adversary"] for finding in certificate["findings"])
    found = fk.verify(folder)
    (own,) = found.estimates
    assert own.within
    assert own.probability == pytest.approx(estimate["probability"], abs=0.02)
    page = (folder / "report.html").read_text()
    assert "What can be learned from the release: an estimate" in page


@pytest.mark.parametrize("seed", range(4))
def test_two_estimates_that_share_no_code_agree(seed):
    random = np.random.default_rng(seed)
    rows = table(float(random.choice([0.4, 0.6, 0.8])), seed=seed)
    by = [["job"], ["age"], ["job", "age"], ["job"]][seed]
    adversary = fk.Learned(by, "1/4" if seed == 1 else None, smoothing=8 if seed == 3 else None)
    requirements = [FACTS, fk.Requirement(adversary, at_most_times=10**6)]
    made = publish(rows, fk.Policy(requirements, SCHEMA), form="bucketized")
    assert made.certificate.estimates[0]["checked"]


def test_large_groups_agree_too():
    made = fk.publish(
        table(0.6),
        fk.Policy([FACTS, fk.Requirement(fk.Learned(["job"]), below="0.99")], SCHEMA),
        form="bucketized",
        seed=1,
    )
    assert made.counts.sizes.max() > 8
    assert made.certificate.estimates[0]["checked"]


LIES = [
    (lambda c: c["estimates"][0].update(probability=0.4), "can be learned is estimated at about"),
    (lambda c: c["estimates"][0].update(smoothing=65536.0), "predicts groups.*far worse"),
    (lambda c: c["estimates"][0].update(smoothing=7.0), "predicts groups.*far worse"),
    (lambda c: c.pop("estimates"), "each requirement on what is learned has an estimate"),
    (lambda c: c.update(version=5), "from version 6 on"),
    (lambda c: c["estimates"][0].update(probability=0.999), "is not within its limit"),
    (lambda c: c["estimates"][0].update(estimate=False), "malformed"),
    (lambda c: c["estimates"][0].update(more=1), "unknown key"),
    (lambda c: c["estimates"][0].update(probability=None), "says what was found, or nothing"),
    (lambda c: c["policy"]["require"][1].update(below="0.5"), "the limit is 0.5"),
    (lambda c: c["policy"]["require"][1]["learned"].update(by=["wage"]), "no column 'wage'"),
]


@pytest.mark.parametrize(("change", "said"), LIES)
def test_certificates_that_lie_of_estimates_are_refused(folder, tmp_path, change, said):
    with pytest.raises(fk.InputError, match=said):
        fk.verify(edit(folder, tmp_path, change))


def test_what_is_found_by_hidden_columns_stays_with_the_owner(tmp_path):
    made = publish(table(), policy(FACTS, below="0.999"))
    made.write(tmp_path / "out")
    text = (tmp_path / "out" / "certificate.json").read_text()
    (estimate,) = json.loads(text)["estimates"]
    assert estimate["probability"] is estimate["guesses"] is None
    assert not estimate["checked"]
    found = fk.verify(tmp_path / "out")
    assert found.estimates == ()
    assert any("who knows job of everybody, exactly, is within" in note for note in found.claimed)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "What was found by these columns stays with the owner" in page
    assert "Somebody who learns from the release how" not in page
    (own,) = made.audit.estimates
    assert f"{100 * own.disclosure.probability:.1f}"[:4] not in page.split("<script")[0]


# ---- the report and the command line ------------------------------------------------------------


def test_a_report_shows_what_is_learned(tmp_path):
    made = publish(table(), policy(FACTS), form="bucketized")
    found = fk.learned_report(made, ["age"], bandwidths=[0.5, "1/10"], below="0.9")
    assert [float(lesson.adversary.bandwidth) for lesson in found.lessons] == [0.5, 0.1]
    assert "bandwidth" in found.summary()
    found.to_html(tmp_path / "l.html")
    found.to_json(tmp_path / "l.json")
    read = json.loads((tmp_path / "l.json").read_text())
    assert read["format"] == "foreknow learned"
    assert len(read["lessons"]) == 2
    one = fk.learned_report(made, ["job"], below="1/2")
    assert "That is NOT below 50%" in one.summary()
    assert "±" in one.summary()
