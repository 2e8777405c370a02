"""Publishing by each method by its name: from a policy file to a verified folder."""

import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.methods.tables import microdata

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.errors import NoSafeRelease
from foreknow_judge.errors import PolicyError

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


@pytest.mark.thinned(2)
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


def bucketized(rows, *requirements, method="art", settings=None, **how):
    """Publish a table by a method of the policy."""
    names = [name for name in rows if name != "disease"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease")
    options = fk.PublishOptions(method=method, form="bucketized", settings=settings or {})
    policy = fk.Policy(list(requirements))
    return fk.publish(fk.Microdata(pa.table(rows), schema), policy, options=options, **how)


def by_sex(rows, **how):
    return fk.Priors.learn(pa.table(rows), ["sex"], "disease", **how)


def test_art_needs_a_requirement_about_priors_and_serves_others_beside_it():
    rows, facts = people(), fk.Requirement(fk.Facts(), 0.9)
    with pytest.raises(PolicyError, match=r"requirements about priors.*the policy has none"):
        bucketized(rows, facts)
    known = by_sex(rows)
    made = bucketized(rows, facts, fk.Requirement(known, at_most="1/3"), seed=3)
    assert (made.audit.safe, len(made.audit.verdicts)) == (True, 2)
    strict = fk.Requirement(fk.Facts(l=2), "0.4")
    with pytest.raises(fk.NoSafeRelease, match="ART made groups that do not hold"):
        bucketized(rows, strict, fk.Requirement(known, at_most="1/2"), seed=3)


def test_art_serves_limits_of_both_forms_at_once(tmp_path):
    rows = people()
    half = fk.Requirement(by_sex(rows), at_most="1/2")
    made = bucketized(rows, half, fk.Requirement(by_sex(rows), at_most_times=2, values=["hiv"]))
    made.write(tmp_path / "out")
    first, second = made.audit.verdicts
    assert first.disclosure.exact <= Fraction(1, 2)
    assert second.disclosure.exact <= 2 * second.disclosure.prior
    assert fk.Certificate.load(tmp_path / "out" / "certificate.json").check(tmp_path / "out") == []


def test_smoothed_priors_are_kept_with_the_owner():
    """The true frequencies follow from them: 24 people, one alone in signature X."""
    rows = {"sex": ["x", *"mf" * 12], "disease": ["hiv", *(VALUES[i % 5] for i in range(24))]}
    made = bucketized(rows, fk.Requirement(by_sex(rows, smoothing=20), at_most="1/2"))
    (table,) = made.certificate.policy["require"][0]["priors"]["tables"]
    assert set(table) == {"attributes", "digest"}


def test_what_art_makes_is_not_said_to_be_about_several_values():
    rows = people()
    made = bucketized(rows, fk.Requirement(by_sex(rows), at_most="1/3"), seed=3)
    (note,) = made.certificate.notes
    assert note.startswith("the priors by sex were learned from the table itself")
    assert "at_most=1/3" in str(made.certificate.method["limits"])


# ---- what methods say of themselves --------------------------------------------------------


def four(limit="3/4", times=1):
    table = microdata([20, 30, 40, 50] * times, ["Flu", "Cold", "HIV", "Gout"] * times)
    options = fk.PublishOptions(labels={"age": "exact"})
    return table, fk.Policy([fk.Requirement(fk.Facts(), limit)], table.schema, options)


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
    options = fk.PublishOptions(form=form)
    made = fk.publish(*four("2/3", times=2), method=method, options=options, seed=seed)
    assert [note.partition(":")[0] for note in made.certificate.notes] == notes


def test_what_may_help_is_said_for_the_method():
    with pytest.raises(NoSafeRelease, match="does not ask the whole policy: a larger l may help"):
        fk.publish(*four("1/3"), method=fk.Streamliner(2))


def test_a_subclass_that_groups_otherwise_is_asked_itself():
    class Pairs(fk.FullDomain):
        def partition(self, microdata, policy=None, seed=None):
            return np.array([0, 0, 1, 1])

    assert fk.publish(*four("2/3"), method=Pairs()).release.counts.n_groups == 2
    with pytest.raises(NoSafeRelease, match="Pairs made groups that do not hold"):
        fk.publish(*four("1/2"), method=Pairs())


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
