"""What holds of every registered method: groups, seeds, refusals, safety, what it publishes."""

import random
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from click.testing import CliRunner
from tests.examples import NIGHTLY
from tests.methods.tables import asking, microdata
from tests.oracle import priors as posterior_worlds
from tests.oracle import worlds
from tests.people import short_report

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.methods.protocol import traits_of
from foreknow.methods.registry import METHODS, method_of
from foreknow_judge.errors import PolicyError, UnsupportedError

VARIANTS = ["rda", "ria", "gda", "gsa"]
CASES = [(key, {}) for key, _ in METHODS if key not in ("streamliner", "anatomy")]
CASES += [("anatomy", {"l": 2}), *(("streamliner", {"l": 2, "variant": v}) for v in VARIANTS)]
EVERY = pytest.mark.parametrize(
    ("key", "settings"), CASES, ids=["-".join([k, *map(str, s.values())]) for k, s in CASES]
)
ROLES = {"quasi_identifiers": ["sex", "age"], "sensitive": "disease", "missing": "drop"}


def people(n=60, seed=1, letters="abcdef"):
    draw = random.Random(seed)
    return pa.table({
        "sex": [draw.choice("mf") for _ in range(n)],
        "age": [draw.randint(20, 59) for _ in range(n)],
        "disease": draw.sample([letters[i % len(letters)] for i in range(n)], n),
    })  # fmt: skip


def with_gaps(rows, *gaps):
    values = [None if i in gaps else v for i, v in enumerate(rows["disease"].to_pylist())]
    return rows.set_column(2, "disease", pa.array(values, pa.string()))


def policy_for(key, settings, rows, below="0.6", known=0, form="bucketized"):
    """About facts; for ART about priors by sex."""
    asked = fk.Requirement(fk.Facts(known), below) if key != "art" else by_sex(rows, at_most=below)
    options = fk.PublishOptions(method=key, form=form, settings={key: settings} if settings else {})
    return fk.Policy([asked], fk.Schema(**ROLES), options)


def by_sex(rows, smoothing=0, **limit):
    """A requirement about priors that are learned of a table."""
    rows = rows.filter(rows["disease"].is_valid())
    return fk.Requirement(fk.Priors.learn(rows, ["sex"], "disease", smoothing=smoothing), **limit)


def partition(key, settings, rows, seed=None):
    policy = policy_for(key, settings, rows)
    return method_of(key, policy).partition(fk.Microdata(rows, policy.schema), policy, seed=seed)


@EVERY
def test_groups_and_seeds(key, settings):
    """Rows with a value are grouped without gaps, no others; a seed repeats the groups."""
    rows = with_gaps(people(120), 3, 11)
    groups = partition(key, settings, rows, seed=5)
    assert (groups.dtype, groups.shape) == (np.int64, (120,))
    assert np.flatnonzero(groups < 0).tolist() == [3, 11]
    assert groups[[3, 11]].tolist() == [-1, -1]
    assert set(groups.tolist()) == set(range(-1, int(groups.max()) + 1))
    assert groups.tolist() == partition(key, settings, rows, seed=np.int64(5)).tolist()
    if traits_of(method_of(key, policy_for(key, settings, rows))).deterministic:
        assert groups.tolist() == partition(key, settings, rows).tolist()
    elif key == "anatomy" or settings.get("variant") in ("rda", "gsa"):
        fresh = [partition(key, settings, rows) for _ in range(3)]
        assert len({tuple(each.tolist()) for each in (groups, *fresh)}) == 4


@pytest.mark.parametrize("seed", [-1, "x", 1.5, True])
def test_seeds_are_whole_numbers(seed):
    for key, settings in (case for case in CASES if case[1]):
        message = f"{key.title()}: seed must be a whole number from 0, or None, not {seed!r}"
        with pytest.raises(fk.InputError, match=re.escape(message)):
            partition(key, settings, people(), seed=seed)


def worst(policy, rows, groups):
    """The highest posterior by enumeration, of the requirement of the policy."""
    (point,) = policy.requirements[0].points
    sexes, values = rows["sex"].to_pylist(), rows["disease"].to_pylist()
    members = [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]
    bags = [[values[i] for i in group] for group in members]
    if isinstance(point.adversary, fk.Facts):
        known = (point.adversary.l, 0, 0)
        return max(worlds.worst_cases(bags, x, known)[known] for x in set(values))
    both, of_sex = Counter(zip(sexes, values, strict=True)), Counter(sexes)
    priors = [{x: Fraction(both[sex, x], of_sex[sex]) for x in set(values)} for sex in sexes]
    return max(
        chance
        for group, bag in zip(members, bags, strict=True)
        for chances in posterior_worlds.joint([priors[i] for i in group], bag)
        for chance in chances.values()
    )


@EVERY
def test_safe_by_enumeration(key, settings):
    """What is made of small tables under a policy."""
    draw, made = random.Random(f"{key}{settings}"), 0
    for seed in range(25):
        if made == (25 if NIGHTLY else 4):
            break
        rows = people(draw.choice([5, 6, 7]), seed, draw.choice(["ab", "abc", "abcd"]))
        known = 0 if key == "art" else draw.choice([0, 0, 1])
        limit = Fraction(draw.choice(["1/2", "3/5", "2/3", "4/5", "19/20"]))
        policy = policy_for(key, settings, rows, limit, known)
        data = fk.Microdata(rows, policy.schema)
        try:
            release = fk.publish(data, policy, seed=seed)
        except fk.NoSafeRelease:
            continue
        made += 1
        groups = method_of(key, policy).partition(data, policy, seed=seed)
        highest = worst(policy, rows, groups)
        assert highest <= limit if key == "art" else highest < limit
        assert release.audit.safe
    assert made > 3


@pytest.mark.thinned(2)
@EVERY
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_publications_are_verified(key, settings, form, tmp_path, monkeypatch):
    short_report(monkeypatch)
    rows = with_gaps(people(), 7)
    policy = policy_for(key, settings, rows, "0.95", form=form)
    made = fk.publish(fk.Microdata(rows, policy.schema), policy, seed=2)
    assert made.audit.safe
    made.write(tmp_path / "out")
    certificate = fk.Certificate.load(tmp_path / "out" / "certificate.json")
    assert certificate.check(tmp_path / "out") == []
    assert certificate.method["name"].lower() == key


# ---- refusals -----------------------------------------------------------------------------------

ORDER = {"functions": ["age=10"]}


@pytest.mark.parametrize(
    ("key", "given", "said"),
    [
        *((key, {"nonsense": 1}, "unknown key nonsense") for key, _ in METHODS),
        *[("mondrian", {"cuts": 0}, "cuts"), ("mondrian", {"cuts": "five"}, "cuts")],
        *[("mondrian", {"suppression": 1}, "suppression"), ("anatomy", {"l": 1}, "l")],
        *[("streamliner", {"l": "many"}, "l"), ("art", {"r": 1}, "r")],
        ("fulldomain", {"suppression": "x"}, "suppression"),
        *(("jump", {"distances": x, **ORDER}, "distances") for x in (0, "far")),
        *(("jump", {"functions": x}, "functions") for x in ([], "age=1")),
        *[("safe", {"steps": 0, **ORDER}, "steps"), ("naive", {"steps": 0, **ORDER}, "steps")],
        ("safe", {"functions": [{"age": "x"}]}, "functions"),
    ],
)
def test_wrong_settings(key, given, said):
    read = {"schema": ROLES, "require": [{"facts": {}, "below": "1/2"}]}
    policies = [fk.Policy.from_dict({**read, "publish": {"method": key, key: given}})]
    if "nonsense" in given:
        options = fk.PublishOptions(method=key, settings={key: given})
        policies.append(fk.Policy([fk.Requirement(fk.Facts(), "1/2")], options=options))
    for policy in policies:
        with pytest.raises(PolicyError, match=rf"publish\.{key}: {said}"):
            method_of(key, policy)


WHOLE = [0, -3, 2.0, "3", True]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        *(("Mondrian", [cuts], "cuts must be a whole number from 1") for cuts in [None, *WHOLE]),
        *(("Anatomy", [l], "l must be a whole number from 2") for l in [1, *WHOLE]),  # noqa: E741
        *(("Streamliner", [l], "l must be a whole number from 2") for l in [1, *WHOLE]),  # noqa: E741
        ("Streamliner", [2, "rdb"], "no variant 'rdb'; did you mean 'rda'"),
        ("Streamliner", [2, "gda", {"age": -1}], "weight of 'age'"),
        ("Streamliner", [2, "gda", 3], "weights must map names .* not 3"),
        ("Streamliner", [2, "gda", ["age"]], "weights must map names"),
        ("Streamliner", [2, "rda", {"age": 1}], "'rda' does not look at quasi-ident"),
        ("Streamliner", [2, "ria", {"age": 1}], "weights are for 'gda' and 'gsa'"),
    ],
)
def test_wrong_parameters(name, given, message):
    with pytest.raises(fk.InputError, match=message):
        getattr(fk, name)(*given)


@pytest.mark.parametrize(
    ("key", "settings"), [c for c in CASES if c[0] not in ("mondrian", "fulldomain")]
)
def test_several_values_are_refused(key, settings):
    rows = people(8).append_column("pid", pa.array(range(8)))
    roles = {**ROLES, "semantics": "set", "person": "pid"}
    policy = policy_for(key, settings, rows)
    with pytest.raises((UnsupportedError, fk.InputError), match=r"'set'|one sensitive value"):
        method_of(key, policy).partition(fk.Microdata(rows, fk.Schema(**roles)), policy)
    if key in ("anatomy", "streamliner"):  # values too frequent, or too few people
        for letters in ("aab", "a"):
            with pytest.raises(fk.NoSafeRelease, match=r"too many|exceeds the number of people"):
                partition(key, settings, people(len(letters), letters=letters))


# ---- what methods say of themselves --------------------------------------------------------------


def four(limit="3/4", times=1):
    table = microdata([20, 30, 40, 50] * times, ["Flu", "Cold", "HIV", "Gout"] * times)
    options = fk.PublishOptions(labels={"age": "exact"})
    return table, fk.Policy([fk.Requirement(fk.Facts(), limit)], table.schema, options)


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize(
    ("name", "given", "form", "seed", "notes"),
    [
        ("Streamliner", [2], "bucketized", None, ""),
        ("Streamliner", [2], "bucketized", 1, "seeded"),
        ("Streamliner", [2, "gda"], "bucketized", None, "GDA"),
        ("Streamliner", [2, "gsa"], "bucketized", None, ""),
        ("Streamliner", [2, "gsa"], "generalized", 1, "boxes seeded"),
        ("Streamliner", [2], "generalized", None, "boxes"),
        ("Streamliner", [2, "gda"], "generalized", None, "GDA"),
        ("Anatomy", [2], "generalized", None, "boxes"),
        ("Anatomy", [2], "bucketized", 0, "seeded"),
        ("Anatomy", [2], "bucketized", None, ""),
        ("Mondrian", [], "generalized", 1, ""),
    ],
)
def test_notes_of_a_certificate(name, given, form, seed, notes):
    """What somebody who knows the method can do."""
    method, options = getattr(fk, name)(*given), fk.PublishOptions(form=form)
    made = fk.publish(*four("2/3", times=2), method=method, options=options, seed=seed)
    assert [note.partition(":")[0] for note in made.certificate.notes] == notes.split()


def test_methods_that_do_not_ask():
    """Of a policy what they make is judged; a subclass is asked itself, and promises nothing."""

    class Pairs(fk.FullDomain):
        def partition(self, microdata, policy=None, seed=None):
            return np.array([0, 0, 1, 1])

    assert fk.publish(*four("2/3"), method=Pairs()).release.counts.n_groups == 2
    for method, limit, said in (
        (Pairs(), "1/2", "Pairs made groups that do not hold"),
        (fk.Anatomy(4), "1/4", "Anatomy made groups that do not hold"),
        (fk.Anatomy(2), "1/3", "does not ask the whole policy: a larger l may help"),
    ):
        with pytest.raises(fk.NoSafeRelease, match=said):
            fk.publish(*four(limit), method=method)
    for name in ("Mondrian", "Safe", "Naive"):
        whole = {"partition": lambda self, microdata, policy=None, seed=None: np.zeros(4, int)}
        made = fk.publish(*four(), method=type("Mine", (getattr(fk, name),), whole)())
        assert (made.certificate.notes, made.certificate.minimal) == ((), False)


@pytest.mark.usefixtures("tiny_tables")
def test_safe_promises_what_is_asked():
    for prop, same in (
        (fk.MaxRatio("3/4", strict=True), True),
        (fk.MaxRatio("4/5", strict=True), False),
        (lambda shares: True, False),
    ):
        (note,) = fk.publish(*four(), method=fk.Safe(["age=*"], prop)).certificate.notes
        assert ("also against an adversary who knows it" in note) == same
        assert ("by a property of its own" in note) != same
        (note,) = fk.publish(*four(), method=fk.Naive(["age=*"], prop)).certificate.notes
        assert "Naive is not safe" in note


# ---- ART as it is published ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "limit", ['at_most = "1/3"', "below = 0.5", 'at_most_times = "3/2"\nvalues = ["a"]']
)
def test_art_of_a_policy_file(tmp_path, monkeypatch, limit):
    monkeypatch.chdir(tmp_path)
    pc.write_csv(people(), "people.csv")
    rows = [
        f"{sex},{x},{'0.25' if x == 'ab'['mf'.index(sex)] else '0.15'}"
        for sex in "mf"
        for x in "abcdef"
    ]
    (tmp_path / "priors.csv").write_text("\n".join(["sex,value,probability", *rows, ""]))
    (tmp_path / "policy.toml").write_text(
        '[schema]\nquasi_identifiers = ["sex", "age"]\nsensitive = "disease"\n'
        f'[[require]]\npriors = {{ file = "priors.csv" }}\n{limit}\n'
        '[publish]\nmethod = "art"\nform = "bucketized"\n'
    )
    done = CliRunner().invoke(app, ["publish", "people.csv", "-p", "policy.toml", "--out", "out"])
    assert done.exit_code == 0, (done.output, done.exception)
    certificate = fk.Certificate.load(tmp_path / "out" / "certificate.json")
    assert certificate.safe
    assert certificate.check(tmp_path / "out") == []
    assert certificate.method["name"] == "ART"
    again = CliRunner().invoke(app, ["verify", "out/certificate.json"])
    assert again.exit_code == 0
    assert "by sex (joint)" in again.output


def by_art(rows, *requirements):
    names = [name for name in rows.column_names if name != "disease"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease")
    options = fk.PublishOptions(method="art", form="bucketized")
    policy = fk.Policy(list(requirements))
    return fk.publish(fk.Microdata(rows, schema), policy, options=options, seed=3)


def test_requirements_of_art(tmp_path):
    """It needs one about priors, and serves others beside it, and limits of both forms."""
    rows, facts = people(), asking(0.9).requirements[0]
    with pytest.raises(PolicyError, match=r"requirements about priors.*the policy has none"):
        by_art(rows, facts)
    made = by_art(rows, facts, by_sex(rows, at_most="1/3"))
    assert (made.audit.safe, len(made.audit.verdicts)) == (True, 2)
    strict = asking("0.4", (2,)).requirements[0]
    with pytest.raises(fk.NoSafeRelease, match="ART made groups that do not hold"):
        by_art(rows, strict, by_sex(rows, at_most="1/2"))
    half = by_sex(rows, at_most="1/2")
    made = by_art(rows, half, by_sex(rows, at_most_times=2, values=["c"]))
    first, second = made.audit.verdicts
    assert first.disclosure.exact <= Fraction(1, 2)
    assert second.disclosure.exact <= 2 * second.disclosure.prior
    made.write(tmp_path / "out")
    assert fk.Certificate.load(tmp_path / "out" / "certificate.json").check(tmp_path / "out") == []


def test_what_art_certifies():
    rows = people()
    made = by_art(rows, by_sex(rows, at_most="1/3"))
    (note,) = made.certificate.notes
    assert note.startswith("the priors by sex were learned from the table itself")
    assert "at_most=1/3" in str(made.certificate.method["limits"])
    # Smoothed priors would tell frequencies: of 25 people, one is alone in signature x.
    rows = pa.table(
        {"sex": ["x", *"mf" * 12], "disease": ["c", *("abcde"[i % 5] for i in range(24))]}
    )
    made = by_art(rows, by_sex(rows, smoothing=20, at_most="1/2"))
    (table,) = made.certificate.policy["require"][0]["priors"]["tables"]
    assert set(table) == {"attributes", "digest"}
