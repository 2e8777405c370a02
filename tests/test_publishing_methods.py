"""Publishing by each method by its name: from a policy file to a verified folder."""

import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.errors import NoSafeRelease, PolicyError

KINDS = ["m", "f"]
VALUES = ["flu", "cold", "hiv", "ulcer", "gout"]


def people(n=60, seed=1):
    draw = random.Random(seed)
    sexes = [draw.choice(KINDS) for _ in range(n)]
    return {
        "sex": sexes,
        "age": [draw.randint(20, 60) for _ in range(n)],
        "disease": [VALUES[i % len(VALUES)] for i in range(n)],
    }


def priors_text(high="0.30"):
    rest = (1 - float(high)) / 4
    rows = ["sex,value,probability"]
    for sex in KINDS:
        for i, value in enumerate(VALUES):
            frequent = i == KINDS.index(sex)
            rows.append(f"{sex},{value},{high if frequent else round(rest, 4)}")
    return "\n".join(rows) + "\n"


@pytest.fixture
def folder(tmp_path):
    rows = people()
    lines = ["sex,age,disease", *(",".join(map(str, r)) for r in zip(*rows.values(), strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "statistics.csv").write_text(priors_text())
    return tmp_path


def policy(require, publish):
    return (
        '[schema]\nquasi_identifiers = ["sex", "age"]\nsensitive = "disease"\n'
        f"[[require]]\n{require}\n[publish]\n{publish}\n"
    )


def run(folder, *more):
    call = ["publish", str(folder / "people.csv"), "-p", str(folder / "policy.toml")]
    return CliRunner().invoke(app, [*call, "--out", str(folder / "out"), *more])


@pytest.mark.parametrize(
    "limit",
    [
        'at_most = "1/3"',
        'below = "1/3"',
        "at_most = 0.5",
        "at_most_times = 2",
        'at_most_times = "3/2"\nvalues = ["hiv"]',
    ],
)
def test_art_from_a_policy_file(folder, limit):
    require = f'priors = {{ file = "statistics.csv" }}\n{limit}'
    (folder / "policy.toml").write_text(policy(require, 'method = "art"\nform = "bucketized"'))
    said = run(folder)
    assert said.exit_code == 0, (said.output, said.exception)
    known = fk.Certificate.load(folder / "out" / "certificate.json")
    assert known.safe
    assert known.check(folder / "out") == []
    assert known.method["name"] == "ART"
    again = CliRunner().invoke(app, ["verify", str(folder / "out" / "certificate.json")])
    assert again.exit_code == 0
    assert "by sex (joint)" in again.output


def test_anatomy_is_judged_by_the_policy(folder):
    (folder / "policy.toml").write_text(
        policy("facts = {}\nbelow = 0.26", 'method = "anatomy"\nanatomy = { l = 4 }')
    )
    assert run(folder, "--form", "bucketized").exit_code == 0
    (folder / "policy.toml").write_text(
        policy("facts = {}\nbelow = 0.25", 'method = "anatomy"\nanatomy = { l = 4 }')
    )
    refused = CliRunner().invoke(
        app,
        ["publish", str(folder / "people.csv"), "-p", str(folder / "policy.toml")]
        + ["--out", str(folder / "other")],
    )
    assert isinstance(refused.exception, fk.NoSafeRelease)
    assert "Anatomy made groups that do not hold" in str(refused.exception)
    assert not (folder / "other").exists()


def test_art_needs_a_requirement_about_priors():
    rows = people()
    schema = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
    options = fk.PublishOptions(method="art", form="bucketized")
    facts = fk.Requirement(fk.Facts(), 0.9)
    known = fk.Priors.learn(pa.table(rows), ["sex"], "disease")
    microdata = fk.Microdata(pa.table(rows), schema)
    with pytest.raises(PolicyError, match=r"requirements about priors.*the policy has none"):
        fk.publish(microdata, fk.Policy([facts]), options=options)
    both = fk.Policy([facts, fk.Requirement(known, at_most="1/3")])
    made = fk.publish(microdata, both, options=options, seed=3)
    assert made.audit.safe
    assert len(made.audit.verdicts) == 2


def test_art_serves_limits_of_both_forms_at_once(tmp_path):
    rows = people()
    schema = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
    known = fk.Priors.learn(pa.table(rows), ["sex"], "disease")
    options = fk.PublishOptions(method="art", form="bucketized")
    half = fk.Requirement(known, at_most="1/2")
    policy = fk.Policy([half, fk.Requirement(known, at_most_times=2, values=["hiv"])])
    made = fk.publish(fk.Microdata(pa.table(rows), schema), policy, options=options)
    made.write(tmp_path / "out")
    first, second = made.audit.verdicts
    assert first.disclosure.exact <= Fraction(1, 2)
    assert second.disclosure.exact <= 2 * second.disclosure.prior
    assert fk.Certificate.load(tmp_path / "out" / "certificate.json").check(tmp_path / "out") == []


def test_other_requirements_may_fail_what_art_makes():
    rows = people()
    schema = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
    known = fk.Priors.learn(pa.table(rows), ["sex"], "disease")
    strict = fk.Requirement(fk.Facts(l=2), "0.4")
    both = fk.Policy([strict, fk.Requirement(known, at_most="1/2")])
    options = fk.PublishOptions(method="art", form="bucketized")
    with pytest.raises(fk.NoSafeRelease, match="ART made groups that do not hold"):
        fk.publish(fk.Microdata(pa.table(rows), schema), both, options=options, seed=3)


def test_smoothed_priors_are_kept_with_the_owner(tmp_path):
    """The true frequencies follow from them: 24 people, one alone in signature X."""
    sexes = ["x", *"mf" * 12]
    rows = {"sex": sexes, "disease": ["hiv", *(VALUES[i % 5] for i in range(24))]}
    schema = fk.Schema(quasi_identifiers=["sex"], sensitive="disease")
    known = fk.Priors.learn(pa.table(rows), ["sex"], "disease", smoothing=20)
    microdata = fk.Microdata(pa.table(rows), schema)
    policy = fk.Policy([fk.Requirement(known, at_most="1/2")])
    options = fk.PublishOptions(method="art", form="bucketized")
    made = fk.publish(microdata, policy, options=options)
    (table,) = made.certificate.policy["require"][0]["priors"]["tables"]
    assert set(table) == {"attributes", "digest"}


def test_what_art_makes_is_not_said_to_be_about_several_values():
    rows = people()
    schema = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
    known = fk.Priors.learn(pa.table(rows), ["sex"], "disease")
    options = fk.PublishOptions(method="art", form="bucketized")
    policy = fk.Policy([fk.Requirement(known, at_most="1/3")])
    made = fk.publish(fk.Microdata(pa.table(rows), schema), policy, options=options, seed=3)
    (note,) = made.certificate.notes
    assert note.startswith("the priors by sex were learned from the table itself")
    assert "at_most=1/3" in str(made.certificate.method["limits"])


def test_a_setting_that_is_needed_and_not_given_is_named():
    schema = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), 0.9)])
    microdata = fk.Microdata(pa.table(people()), schema)
    with pytest.raises(PolicyError, match=r"publish\.streamliner: l is missing.*--set l="):
        fk.publish(microdata, policy, method="streamliner")
    options = fk.PublishOptions(
        method="streamliner", form="bucketized", settings={"streamliner": {"l": 2}}
    )
    assert fk.publish(microdata, policy, options=options).audit.safe


# ---- what methods say of themselves --------------------------------------------------------


def noted(method, form="bucketized", seed=None):
    table = pa.table({"age": [20, 30, 40, 50] * 2, "disease": ["Flu", "Cold", "HIV", "Gout"] * 2})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "2/3")], schema)
    options = fk.PublishOptions(form=form)
    made = fk.publish(
        fk.Microdata(table, schema), policy, method=method, options=options, seed=seed
    )
    return [note.partition(":")[0] for note in made.certificate.notes]


@pytest.mark.parametrize(
    ("method", "form", "seed", "notes"),
    [
        (fk.Streamliner(2), "bucketized", None, []),
        (fk.Streamliner(2), "bucketized", 1, ["seeded"]),
        (fk.Streamliner(2, "gda"), "bucketized", None, ["GDA"]),
        (fk.Streamliner(2, "gsa"), "bucketized", None, []),
        (fk.Streamliner(2, "gsa"), "generalized", 1, ["boxes", "seeded"]),
        (fk.Streamliner(2), "generalized", None, ["boxes"]),
        (fk.Streamliner(2, "gda"), "generalized", None, ["GDA"]),
        (fk.Anatomy(2), "generalized", None, ["boxes"]),
        (fk.Anatomy(2), "bucketized", 0, ["seeded"]),
        (fk.Anatomy(2), "bucketized", None, []),
        (fk.Mondrian(), "generalized", 1, []),
    ],
)
def test_a_certificate_notes_what_who_knows_the_method_can_do(method, form, seed, notes):
    assert noted(method, form, seed) == notes


def test_what_may_help_is_said_for_the_method():
    table = pa.table({"age": [20, 30, 40, 50], "disease": ["Flu", "Cold", "HIV", "Gout"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "1/3")], schema)
    with pytest.raises(NoSafeRelease, match="does not ask the whole policy: a larger l may help"):
        fk.publish(fk.Microdata(table, schema), policy, method=fk.Streamliner(2))


def test_a_subclass_that_groups_otherwise_is_asked_itself():
    class Pairs(fk.FullDomain):
        def partition(self, microdata, policy=None, seed=None):
            return np.array([0, 0, 1, 1])

    table = pa.table({"age": [20, 30, 40, 50], "disease": ["Flu", "Cold", "HIV", "Gout"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    for limit, safe in (("2/3", True), ("1/2", False)):
        policy = fk.Policy([fk.Requirement(fk.Facts(), limit)], schema)
        if safe:
            made = fk.publish(fk.Microdata(table, schema), policy, method=Pairs())
            assert made.release.counts.n_groups == 2
            continue
        with pytest.raises(NoSafeRelease, match="Pairs made groups that do not hold"):
            fk.publish(fk.Microdata(table, schema), policy, method=Pairs())


def four():
    table = pa.table({"age": [20, 30, 40, 50], "disease": ["Flu", "Cold", "HIV", "Gout"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    return fk.Microdata(table, schema), fk.Policy([fk.Requirement(fk.Facts(), "3/4")], schema)


@pytest.mark.parametrize("base", [fk.Mondrian, fk.Safe, fk.Naive])
def test_a_subclass_that_groups_otherwise_inherits_no_promises(base):
    class Mine(base):
        def partition(self, microdata, policy=None, seed=None):
            return np.zeros(4, dtype=int)

    made = fk.publish(*four(), method=Mine())
    assert (made.certificate.notes, made.certificate.minimal) == ((), False)


@pytest.mark.parametrize(
    ("prop", "same"),
    [
        (fk.MaxRatio("3/4", strict=True), True),
        (fk.MaxRatio("4/5", strict=True), False),
        (lambda shares: True, False),
    ],
)
def test_safe_promises_only_what_the_policy_asks(prop, same):
    (note,) = fk.publish(*four(), method=fk.Safe(["age=*"], prop)).certificate.notes
    assert ("also against an adversary who knows it" in note) == same
    assert ("by a property of its own" in note) != same
    (note,) = fk.publish(*four(), method=fk.Naive(["age=*"], prop)).certificate.notes
    assert "Naive is not safe" in note
