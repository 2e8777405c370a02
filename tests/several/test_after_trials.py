"""What is tried on several releases: statistics are learned from all, and from when people came."""

import random
from functools import cache

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.policy.tries import Try

ILLS = ["Flu", "Cold"]


def wave(first, last, turned, people=None):
    """Jobs go with illnesses, the other way round where it is `turned`; not at all if None."""
    random_ = random.Random(first)
    rows = []
    for i in range(first, last):
        job = random_.choice(["clerk", "driver"])
        tied = turned is not None and random_.random() < 0.9
        ill = ILLS[(job == "clerk") != turned] if tied else random_.choice(ILLS)
        rows.append((f"p{i}", job, 20 + i % 50, ill))
    columns = zip(*rows[:people], strict=True)
    return pa.table(dict(zip(["pid", "job", "age", "ill"], map(list, columns), strict=True)))


def policy(stop=None, tried=True):
    schema = fk.Schema(identifiers=["pid"], quasi_identifiers=["job", "age"], sensitive="ill")
    required = [fk.Requirement(fk.Facts(), below="3/4")]
    return fk.Policy(required, schema, tries=[Try(fk.Learned(["job"]), stop)] if tried else [])


@cache
def first_of_all(form):
    """The release of the first wave, on which nothing is tried yet."""
    return fk.publish(wave(0, 300, False), policy(tried=False), form=form, seed=1)


def pair(tmp_path, form="generalized", stop=None, people=None, turned=True):
    """Two waves with the opposite tie; the second table has so many of the first one's people."""
    first, second = wave(0, 300, False), wave(300, 600, turned)
    first_of_all(form).write(tmp_path / "january")
    table = pa.concat_tables([first.slice(0, people), second])
    return fk.publish(table, policy(stop), after=tmp_path / "january", form=form, seed=1)


@pytest.mark.complete
def test_arrival_times_are_tried(tmp_path):
    made = pair(tmp_path, "bucketized")
    (trial,) = made.together.trials
    assert trial.by == ("job", "cohort")  # all together tell nothing: the waves cancel
    assert (trial.people, trial.measured) == (600, True)
    assert trial.right > 0.8
    assert trial.surest > 0.85
    made.write(tmp_path / "march")
    both = [tmp_path / "january", tmp_path / "march"]
    (trial,) = fk.audit(both, policy()).trials
    assert trial.by == ("job", "cohort")
    (found,) = fk.audit(both, policy(tried=False)).trials
    assert any("cohort" in own.by for own in found.tried)


def test_leavers_are_not_measured(tmp_path):
    (trial,) = pair(tmp_path, people=200).together.trials
    assert (trial.people, trial.measured, trial.by) == (600, False, ("job", "cohort"))


def test_trials_on_all_releases_stop(tmp_path):
    """Of the second wave by itself nobody learns much; of the first, with which it is judged."""
    for name in "ab":
        (tmp_path / name).mkdir()
    made = pair(tmp_path / "a", turned=None)
    assert made.audit.trials[0].surest < 0.8 < made.together.trials[0].surest
    with pytest.raises(fk.NoSafeRelease, match="learns from the release and from january by"):
        pair(tmp_path / "b", stop=0.8, people=200, turned=None)


@pytest.mark.complete
def test_report_mentions_the_joint_trial(tmp_path):
    """Alone, the new release is not; and whose word it is that nobody is in two."""
    rules = fk.Policy([fk.Requirement(fk.Facts(0), below="3/4")], policy().schema)
    fk.publish(wave(0, 900, None), rules, seed=1).write(tmp_path / "january")
    made = fk.publish(wave(900, 1800, None), rules, after=tmp_path / "january", seed=1)
    assert made.audit.trials == ()
    assert made.together.trials
    said = " ".join(made.audit.notes)
    assert "learns from this release and earlier ones together was tried" in said
    made.write(tmp_path / "march")
    report = (tmp_path / "march" / "report.html").read_text("utf-8")
    assert "learns from this release and earlier ones together was tried" in report
    assert "No trial was run" not in report
    assert "That nobody is in two groups is the publisher&#39;s word." in report


def test_wards_of_then_are_read(tmp_path):
    """Everybody has moved to another ward since; the rows of january show the one of then."""

    def table(first, last, moved):
        ill = [f"ill {i % 7}" for i in range(first, last)]
        ward = [f"w{(i + moved) % 7}" for i in range(first, last)]
        names = [f"p{i}" for i in range(first, last)]
        rows = {"pid": names, "age": [20 + i % 60 for i in range(first, last)], "ill": ill}
        return pa.table({**rows, "ward": ward})

    schema = fk.Schema(
        identifiers=["pid"], quasi_identifiers=["age"], sensitive="ill", other=["ward"]
    )
    required = [fk.Requirement(fk.Facts(), below="1/2", knowing=[])]
    plain = fk.Policy(required, schema)
    fk.publish(table(0, 420, 0), plain, seed=1).write(tmp_path / "january")
    tried = fk.Policy(required, schema, tries=[Try(fk.Learned(["ward"]), None)])
    everybody = pa.concat_tables([table(0, 420, 1), table(420, 840, 0)])
    made = fk.publish(everybody, tried, after=tmp_path / "january", seed=1)
    (trial,) = made.together.trials
    assert (trial.people, trial.measured, trial.surest) == (840, False, 1)
