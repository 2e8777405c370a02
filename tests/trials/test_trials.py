"""Trials: what is planted is found; what can be learned of a release, by enumeration."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from benchmarks.register import policy_of_diagnoses
from sklearn.tree import DecisionTreeClassifier
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY
from tests.oracle import priors as learned_worlds
from tests.oracle import priors as posterior_worlds

import foreknow as fk
from foreknow import sample
from foreknow.auditing.trial import Tried, trials_beside
from foreknow.data.labels.labels import Labels
from foreknow.data.labels.windows import Line, Width
from foreknow.data.sights import Sight
from foreknow.errors import NoSafeRelease
from foreknow.features.learned_attacks import fit as fitting
from foreknow.features.learned_attacks import learned as attack
from foreknow.features.learned_attacks import trees
from foreknow.features.learned_attacks.expectation import LEARNING, CaseLayout
from foreknow.features.learned_attacks.fit import Kinds, fits
from foreknow.features.learned_attacks.learned import learned_trial
from foreknow.features.learned_attacks.trees import Forest, features_of
from foreknow.policy.trials import Try
from foreknow.report.trial import trial_notes, trial_sentences
from foreknow_judge.errors import DataError, PolicyError, UnsupportedError

NOTE = "an attacker who learns from the release by code was tried: a trial, and no verdict"
SCHEMA = fk.Schema(quasi_identifiers=["code", "age"], sensitive="ill")
ILLS = [f"ill {i}" for i in range(6)]


@pytest.fixture
def run(desk):
    """Exit code, and all that a call prints, as one line."""

    def call(*arguments):
        code, out, err = desk.run(*arguments)
        return code, " ".join((out + err).split())

    return call


def planted(codes=12, people=900, share=1.0, seed=1):
    """A code of digits, as text, that says the illness; an age that says nothing."""
    random = np.random.default_rng(seed)
    code = random.integers(0, codes, people)
    ill = np.where(random.random(people) < share, code % 6, random.integers(0, 6, people))
    columns = {"code": [f"{10 + c:03d}" for c in code], "age": random.integers(20, 80, people)}
    return pa.table({**columns, "ill": [ILLS[i] for i in ill]})


def policy(*, by=("code",), stop=None, form="bucketized", below="0.72", tries=True):
    tried = [Try(fk.Learned(list(by)), stop)] if tries else []
    options = fk.PublishOptions(form=form)
    return fk.Policy([fk.Requirement(fk.Facts(), below=below)], SCHEMA, options, tried)


def publish(table, rules, seed=1):
    return fk.publish(fk.Microdata(table, SCHEMA), rules, method=fk.Anatomy(3), seed=seed)


@cache
def published(form="bucketized"):
    """What is made of planted codes, once."""
    return publish(planted(), policy(form=form))


def sight(table, size=3, group=None):
    """A release and its people, in groups of rows one after another, in the order of the table."""
    group = [row // size for row in range(len(table))] if group is None else group
    release = fk.Release.from_groups(
        table.append_column("group", pa.array(group)), group="group", sensitive="ill"
    )
    place = {release.counts.group_label(g): g for g in range(release.counts.n_groups)}
    groups = np.array([place[g] for g in group])
    return Sight(release.counts, fk.Microdata(table, SCHEMA), groups, "ill", "x", release)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A release of planted codes, its table, and the owner's folder beside it."""
    place = tmp_path_factory.mktemp("trials")
    pc.write_csv(planted(), place / "table.csv")
    published().write(place / "out")
    return place


# ---- what is planted is found ----------------------------------------------------------------


def test_guesses_match_groups_without_signal():
    trial = learned_trial(sight(planted(share=0)), ["code"])
    assert trial.measured
    assert trial.right < trial.baseline + 0.1
    assert trial.sure <= 45  # a twentieth


# ---- tries of a policy -----------------------------------------------------------------------

RULES = """[schema]
quasi_identifiers = ["code", "age"]
sensitive = "ill"

[[require]]
facts = {}
below = 0.72

[[try]]
learned = { by = ["code"] }
stop = STOP
"""
ANATOMY = ["--method", "anatomy", "--form", "bucketized", "--seed", "1"]


def test_tries_stop_or_pass(desk, run):
    (desk.folder / "table.csv").unlink()
    for share, stop in ((1, "0.85"), (0, "0.999")):
        pc.write_csv(planted(share=share), desk.folder / "table.csv")
        desk.put("policy.toml", RULES.replace("STOP", stop))
        code, said = run(*desk.publish(*ANATOMY))
        assert code == share
        if share:
            learns = "an attacker who learns from the release by code becomes"
            assert f"stopped by a trial: {learns}" in said
            assert "the policy stops at 0.85" in said
            names = sorted(path.name for path in desk.folder.iterdir())
            assert names == ["policy.toml", "table.csv"]
    assert NOTE in fk.verify(desk.folder / "out").claimed


def test_learned_figures_are_no_requirement(tmp_path):
    for given, limit in (
        (fk.Learned(["code"]), {"below": "0.9"}),
        ([(fk.Learned(["code"]), "0.9")], {}),
    ):
        with pytest.raises(PolicyError, match=r"Learned needs .* no limit is proved.*\[\[try\]\]"):
            fk.Requirement(given, **limit)
    rules = '[schema]\nquasi_identifiers = ["code"]\nsensitive = "ill"\n'
    rules += '[[require]]\nlearned = { by = ["code"] }\nbelow = 0.9\n'
    (tmp_path / "policy.toml").write_text(rules)
    several = {"semantics": "set", "person": "name"}
    several = fk.Schema(quasi_identifiers=["code"], sensitive="ill", **several)
    requirements, tries = [fk.Requirement(fk.Facts(), "0.9")], [Try(fk.Learned(["code"]))]
    for call, said in (
        (lambda: fk.Policy.load(tmp_path / "policy.toml"), r"\[\[try\]\]"),
        (lambda: Try(fk.Facts()), "is a requirement"),
        (lambda: policy(by=["zip"]), "'zip'"),
        (
            lambda: fk.Policy(requirements, several, tries=tries),
            "try: learning takes one value per person",
        ),
    ):
        with pytest.raises(PolicyError, match=said):
            call()


# ---- who reads what --------------------------------------------------------------------------


def test_command_needs_the_owners_folder(written, tmp_path, run):
    alone, table = tmp_path / "alone", written / "table.csv"
    shutil.copytree(written / "out", alone)
    pc.write_csv(planted(seed=2), tmp_path / "other.csv")
    owner, result = f"{written}/out.owner", tmp_path / "found.json"
    for arguments, exit_code, words in (
        ((alone, table, "--by", "code"), 2, "members.parquet"),
        ((alone, table, "--by", "code", "--members", owner), 0, "of them rightly"),
        ((written / "out", table, "--json", result), 0, ""),
        ((written / "out", tmp_path / "other.csv", "--by", "code"), 2, "is not the table"),
    ):
        code, said = run("learned", *arguments)
        assert code == exit_code, said
        assert words in said
    document = json.loads(result.read_text())
    assert (document["format"], document["measured"], document["at_least"]) == (
        "foreknow trial",
        True,
        True,
    )
    assert document["this_file_is"] == "for the owner only"


def test_unrunnable_limits_are_refused(monkeypatch):
    def unreadable(*arguments, **settings):
        raise DataError("other rows")

    monkeypatch.setattr(attack, "learned_trial", unreadable)
    assert publish(planted(), policy()).audit.trials == ()
    with pytest.raises(UnsupportedError, match="by code could not be tried on ill"):
        publish(planted(), policy(stop="0.99"))


# ---- beside a verdict ------------------------------------------------------------------------


REGISTER = fk.Policy.from_dict(policy_of_diagnoses())
OTHERS = "They may be surer of other values."


@pytest.fixture(scope="module")
def judged():
    """Only two values are limited, and many people are alone in their group."""
    requirement = fk.Requirement(fk.Facts(), below="0.25", any_of=["HIV", "Syphilis"])
    publication = fk.publish(sample.table_path(), fk.Policy([requirement], REGISTER.schema), seed=1)
    assert publication.audit.scope.groups_of_one > 100
    return publication.audit


@pytest.mark.complete
def test_excluded_values_are_stated(judged):
    (trial,) = judged.trials
    assert trial.about == ("HIV", "Syphilis")
    assert trial.to_dict()["about"] == ["HIV", "Syphilis"]
    assert trial.required == Fraction(1, 4)
    (said,) = trial_notes(judged)
    (claim,) = trial_sentences(replace(trial, measured=False, sure_and_right=None))
    values = "Of HIV or Syphilis, the values that a requirement is about, "
    for text, start in ((said, "the attacker is"), (claim, "they would claim")):
        assert values + start in text
        assert OTHERS in text
        assert "sure of a person's diagnosis" not in text
    # It is the first note where it is above a limit of the policy, and the last where it is not.
    for limit, place in ((Fraction(1, 100), 0), (None, 0), (Fraction(1), -1)):
        shown = replace(judged, trials=(replace(trial, required=limit),))
        assert "A trial, and no verdict" in shown.notes[place], limit
    assert "more than 90% sure about" in said
    assert "sure about" not in " ".join(trial_sentences(replace(trial, limit=1.0)))
    guess, sure = trial_sentences(replace(trial, about=("HIV",)))
    assert sure.startswith("Of HIV, the value that a requirement is about, the attacker is")
    assert "guesses at least" in guess
    many = trial_sentences(replace(trial, about=tuple(f"v{i}" for i in range(20))))[1]
    assert "v5 or 14 others, the values that" in many
    # The surest of those tried is named, and that no limit is contradicted.
    surer = Tried("EM, exact values, smoothing 4", ("age", "sex"), 0.1, 0.4169)
    trial = replace(trial, about=None, surest=0.32, required=Fraction("0.35"))
    alone = trial_sentences(replace(trial, tried=(), required=Fraction("0.4")))[1]
    assert "surest" not in alone
    assert "limit of the policy" not in alone
    for measured, are in ((True, "is"), (False, "would claim to be")):
        sure = trial_sentences(replace(trial, measured=measured, tried=(surer,)))[-1]
        assert "up to 32% sure" in sure
        by = "EM, exact values, smoothing 4, by age and sex."
        assert f"The surest of those that were tried {are} up to 41% sure: {by}" in sure
        assert f"{by} That is above a limit of the policy, 35%. The limit is " in sure


# ---- what a trial costs, and prints -----------------------------------------------------------


@pytest.mark.parametrize(("size", "share"), [(4, 0.6), (25, 0.6), (60, 0.9)])
def test_brief_and_full_trials_agree(size, share):
    """A policy's trial counts fewer groups exactly, and finds what the full one finds."""
    table = planted(share=share, people=1800)
    full, brief = (
        learned_trial(sight(table, size), ["code"], effort=effort) for effort in ("full", "policy")
    )
    assert brief.right == pytest.approx(full.right, abs=0.02)
    assert brief.surest == pytest.approx(full.surest, abs=0.05)
    assert {tried.attacker for tried in brief.tried} < {tried.attacker for tried in full.tried}


def test_trials_of_many_kinds(monkeypatch):
    """Beside a release, people who all differ are told apart by bins, and by fewer trees."""
    grown = {"full": 0, "policy": 0}

    def shares(forest, n_trees):
        grown[effort] += n_trees
        return np.full(forest.amounts.shape, 1 / forest.amounts.shape[1])

    monkeypatch.setattr(Forest, "shares", shares)
    table = planted(people=6000)
    table = table.set_column(1, "age", [pa.array(range(6000))])
    of_effort = {}
    for effort in grown:
        trial = learned_trial(sight(table, 30), ["age", "code"], effort=effort)
        of_effort[effort] = {tried.attacker.split(",")[1] for tried in trial.tried[:-1]}
    assert 0 < grown["policy"] < grown["full"]
    assert of_effort == {
        "full": {" exact values", " bins of numbers"},
        "policy": {" bins of numbers"},
    }


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("by", [None, ["age"]])
def test_households_are_guessed_once(by):
    """Two of three rows say that the value is shown elsewhere, which nobody guesses."""
    random, homes = np.random.default_rng(5), np.repeat(np.arange(400), 3)
    ill = [ILLS[i] for i in random.integers(0, 4, 400)[homes]]
    table = pa.table({"home": homes, "age": random.integers(0, 90, 1200), "ill": ill})
    shared = {"by": "home", "values": ["ill"]}
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", shared=shared)
    rules = fk.Policy([fk.Requirement(fk.Facts(), below=0.9)], schema)
    made = fk.publish(table, rules, seed=1, learned=False)
    found = fk.learned_report(made, by, people=table, policy=rules)
    assert (found.by, found.people) == (("age", "home_shown"), 400)
    assert found.right < 0.6
    assert found.claim.value in ILLS


def test_trials_use_chosen_columns():
    """What is tried is by the columns that are asked for, one try after another."""
    tries = [Try(fk.Learned(["age"])), Try(fk.Learned(["code", "age"]))]
    asked = policy(tries=False)
    rules = fk.Policy(asked.requirements, asked.schema, asked.options, tries)
    by = [trial.by for trial in publish(planted(), rules).audit.trials]
    assert by == [("age",), ("code", "age")]


def test_libraries_print_no_warnings(written, tmp_path):
    """Columns of one value, gaps and values that one person has: nothing but our own lines."""
    table = planted(people=300).append_column("same", pa.array(["x"] * 300))
    gaps = pa.array([None if row % 3 else row for row in range(300)])
    pc.write_csv(table.append_column("gaps", gaps), tmp_path / "table.csv")
    rules = RULES.replace('"age"]\ns', '"age", "same", "gaps"]\ns').replace("STOP", "0.9999")
    (tmp_path / "policy.toml").write_text(rules.replace('by = ["code"]', 'by = ["same", "gaps"]'))
    paths = ["table.csv", "--policy", "policy.toml"]
    for command in (
        ["publish", *paths, "--out", "out", *ANATOMY, "--quiet"],
        ["learned", "out", *paths, "--by", "code,same,gaps"],
        ["utility", "out", *paths],
    ):
        done = subprocess.run(
            [sys.executable, "-W", "always", "-m", "foreknow", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


# what can be learned of a release, near numbers too, against enumeration; what must not be.

TIMES = 10 if NIGHTLY else 1


def release_of(groups):
    """A release of groups, each a pair of kinds and values."""
    rows = [
        (g, k, v) for g, (kinds, bag) in enumerate(groups) for k, v in zip(kinds, bag, strict=True)
    ]
    columns = zip(("group", "kind", "value"), map(list, zip(*rows, strict=True)), strict=True)
    return fk.Release.from_groups(pa.table(dict(columns)), group="group", sensitive="value")


def random_groups(random, n_groups, most=4, kinds="xyz", values="abc"):
    made = []
    for _ in range(n_groups):
        size = random.randint(1, most)
        made.append(([random.choice(kinds) for _ in range(size)], random.choices(values, k=size)))
    return made


def chances_of(fit, groups):
    """What was learned, as the oracle has it."""
    values = sorted({v for _, bag in groups for v in bag})
    return {
        (kind, value): float(fit.chances[s, x])
        for s, (kind,) in enumerate(fit.kinds.labels)
        for x, value in enumerate(values)
    }


def laid_out(release, chances=None, *smoothed):
    """The kinds and groups of a release, laid out; and chances of its cells."""
    signatures, counts = release.signatures(["kind"]), release.counts
    kinds = Kinds.of(signatures)
    groups = kinds.groups(signatures, counts.offsets, counts.codes, counts.counts)
    layout = CaseLayout.of(groups, *smoothed)
    if chances is None:
        return kinds, layout
    labels, values = kinds.labels, counts.values
    cells = zip(layout.signature.tolist(), layout.value.tolist(), strict=True)
    return kinds, layout, np.array([float(chances[labels[s][0], values[v]]) for s, v in cells])


def fit_of(release, smoothing):
    """What is learned with one smoothing."""
    kinds, layout = laid_out(release, None, LEARNING)
    (found,) = fits(layout, kinds, release.counts.n_values, [smoothing])
    return found


# ---- the expectation --------------------------------------------------------------------------


def test_posteriors_and_weights_match_enumeration():
    random = Random(1)
    for _ in range(40 * TIMES):
        groups = random_groups(random, random.randint(1, 4), most=5)
        release = release_of(groups)
        counts = release.counts
        kinds, layout = laid_out(release)
        logs = []
        for _ in range(2):
            table = {
                (k[0], v): Fraction(random.randint(1, 9), random.choice([10, 10**6]))
                for k in kinds.labels
                for v in counts.values
            }
            _, _, chances = laid_out(release, table)
            result = layout.expected(chances)
            weights = []
            for case in range(layout.cases.n_groups):
                g = int(np.argmax(layout.case_of == case))
                own, bag = groups[counts.group_label(g)]
                people = [{v: table[k, v] for v in counts.values} for k in own]
                right = posterior_worlds.joint(people, bag)
                for cell in np.flatnonzero(layout.case == case):
                    kind = kinds.labels[layout.signature[cell]][0]
                    value = counts.values[int(layout.value[cell])]
                    expected = float(right[own.index(kind)].get(value, 0))
                    assert abs(result.posteriors[cell] - expected) < 1e-9
                weights.append(float(learned_worlds.likelihood([(own, bag)], table)))
            logs.append(result.weights - np.log(weights))
        # A constant of each group aside, which no chance changes.
        assert np.abs(logs[0] - logs[1]).max() < 1e-9


def test_unreachable_groups_are_balanced():
    random = Random(2)
    groups = [
        ([random.choice("uvwxyz") for _ in range(60)], random.choices("abcdefgh", k=60))
        for _ in range(3)
    ]
    release = release_of(groups)
    chances = {(k, v): random.randint(1, 9) / 100 for k in "uvwxyz" for v in "abcdefgh"}
    _, layout, given = laid_out(release, chances)
    assert layout.balanced.any()
    posteriors = layout.expected(given).posteriors
    for case in range(layout.cases.n_groups):
        cells = np.flatnonzero(layout.case == case)
        people = layout.people[cells] * posteriors[cells]
        held = np.bincount(layout.value[cells], people)
        bag = release.counts.bag(int(np.argmax(layout.case_of == case)))
        assert [round(x, 5) for x in held] == [bag.get(v, 0) for v in release.counts.values]
    # Groups in reach have far fewer people, so there it is less near.
    small = release_of([(own[:14], bag[:14]) for own, bag in groups])
    _, layout, given = laid_out(small, chances)
    assert not layout.balanced.any()
    exact = layout.expected(given).posteriors.copy()
    far = replace(layout, seconds=(0.0, 0.0))
    assert far.balanced.all()
    assert np.abs(far.expected(given).posteriors - exact).max() < 0.05


# ---- the maximum ------------------------------------------------------------------------------


def test_learning_ends_at_fixed_points():
    random = Random(5)
    for _ in range(5 * TIMES):
        groups = random_groups(random, 12)
        smoothing = random.choice([1, 4, 16])
        fit = fit_of(release_of(groups), smoothing)
        assert fit.converged
        chances = chances_of(fit, groups)
        rounded = {cell: Fraction(round(x * 10**9), 10**9) for cell, x in chances.items()}
        after = learned_worlds.step(groups, rounded, smoothing)
        assert max(abs(float(after[cell] - chances[cell])) for cell in chances) < 2e-3


def test_shrinking_steps_converge():
    end, far = np.array([[0.4, 0.6]]), np.array([[0.2, -0.2]])
    for ratio in (0.3, 0.5, 0.8):
        steps = [end + far * ratio**step for step in range(3)]
        assert fitting._extrapolated(*steps) == pytest.approx(end)


def test_own_group_is_left_out():
    random = Random(7)
    for _ in range(5 * TIMES):
        groups = random_groups(random, 8)
        release = release_of(groups)
        fit, values = fit_of(release, 4), release.counts.values
        layout = fit.layout
        chances = {
            (k[0], v): Fraction(float(fit.chances[s, x])).limit_denominator(10**9)
            for s, k in enumerate(fit.kinds.labels)
            for x, v in enumerate(values)
        }
        for cell in range(len(layout.case)):
            at = release.counts.group_label(int(np.argmax(layout.case_of == layout.case[cell])))
            right = learned_worlds.without_own(groups, chances, 4, at)
            kind = fit.kinds.labels[layout.signature[cell]][0]
            expected = float(right[kind, values[int(layout.value[cell])]])
            assert abs(fit.without_own[cell] - expected) < 5e-3


# ---- what must not be learned -----------------------------------------------------------------


def made_up(share, seed=1, people=3000, jobs=6):
    """People whose disease goes with their job so often, in groups of three by RDA."""
    random = np.random.default_rng(seed)
    job = random.integers(0, jobs, people)
    own = random.random(people) < share
    disease = np.where(own, job, (job + random.integers(1, jobs, people)) % jobs)
    table = {
        "job": [f"job {j}" for j in job],
        "age": random.integers(18, 80, people),
        "disease": [f"disease {d}" for d in disease],
    }
    schema = fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease")
    return fk.Microdata(pa.table(table), schema)


def test_distinct_people_teach_nothing():
    random = Random(9)
    groups = [([f"{g}-{i}" for i in range(3)], random.sample("abcdef", 3)) for g in range(40)]
    release = release_of(groups)
    assert fk.Learned(["kind"]).disclosure(release).probability == pytest.approx(1 / 3)
    learned = fk.Priors.from_release(release, ["kind"])
    assert learned.disclosure(release).probability == pytest.approx(1 / 3, abs=1e-2)


def test_absent_values_are_never_guessed():
    release = release_of([("xy", "ab"), ("xx", "ab")])
    disclosure = fk.Learned(["kind"]).disclosure(release, "c")
    assert (disclosure.probability, disclosure.witness) == (0.0, None)
    with pytest.raises(fk.InputError, match="cannot be a sensitive value"):
        fk.Learned(["kind"]).disclosure(release, ["a"])


# ---- numbers and people -------------------------------------------------------------------


def test_exact_columns_place_people():
    microdata = made_up(0.7, people=1500)
    policy = fk.Policy(
        [fk.Requirement(fk.Facts(), below="3/4")],
        fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease"),
    )
    publication = fk.publish(microdata, policy, seed=1)
    table = microdata.source.arrow(["job", "age", "disease"])
    labels = fk.Priors.from_release(publication.release, ["job"])
    assert (
        max(float(d.probability) for d in labels.disclosures(publication.release).values()) < 0.75
    )
    learned = fk.Priors.from_release(publication.release, ["job"], people=table)
    bare = fk.Priors.from_release(publication.release, ["job"], people=table.drop(["disease"]))
    assert bare.tables == learned.tables
    priors = fk.Priors.from_release(publication.release, ["job"], people=microdata)
    assert priors.tables == learned.tables
    for number in range(6):
        row = (f"job {number}",)
        assert float(learned.tables[0].prior(row, f"disease {number}")) > 0.4
    with pytest.raises(fk.InputError, match="'salary'"):
        fk.Priors.from_release(publication.release, ["salary"], people=table)
    with pytest.raises(fk.InputError, match="give the table that the release was made from"):
        fk.Priors.from_release(publication.release, ["job"], people=table.slice(1))


# ---- what is refused, and what is said ----------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("kind", r'by must be a list of columns, such as \["job"\]'),
        ([], "by must be a list of columns"),
        (["kind", "kind"], "names a column twice"),
        (["value"], "'value'"),
        (["kinds"], "kinds"),
    ],
)
def test_unlearnable_releases_are_refused(by, message):
    with pytest.raises(fk.InputError, match=message):
        fk.Learned(by).disclosure(release_of([("xy", "ab")]))
    with pytest.raises(fk.InputError, match=message):
        fk.learned_report(release_of([("xy", "ab")]), by)


# ---- trials of numbers to within so much, of one of several columns ------------------------------


SCHEMA_OF_BILLS = fk.Schema(quasi_identifiers=["code"], sensitive=["ill", "cost"])


def bills(people=600, seed=1):
    """Costs that a code says but for some cents, which hardly anybody shares."""
    random = np.random.default_rng(seed)
    code = random.integers(0, 6, people)
    cents = random.integers(0, 5000, people)
    return pa.table(
        {
            "code": [f"{c:02d}" for c in code],
            "ill": [f"ill {i}" for i in random.integers(0, 4, people)],
            "cost": [
                f"{1000 * int(c + 1) + int(n) / 100:.2f}" for c, n in zip(code, cents, strict=True)
            ],
        }
    )


def requirements(within="10%"):
    width = {} if within is None else {"within": within}
    return [
        fk.Requirement(fk.Facts(), below=1, sensitive="ill", knowing=[]),
        fk.Requirement(fk.Facts(), below=1, sensitive="cost", knowing=[], **width),
    ]


GROUP = np.random.default_rng(4).permutation(600) // 3


def tried(*tries, within="10%"):
    """What comes of trials of groups of three at random."""
    table = bills()
    frame = table.append_column("group", pa.array(GROUP))
    release = fk.Release.from_groups(frame, group="group", sensitive=["ill", "cost"])
    place = {release.counts.group_label(g): g for g in range(release.counts.n_groups)}
    groups = np.array([place[g] for g in GROUP.tolist()])
    seen = Sight(release.counts, fk.Microdata(table, SCHEMA_OF_BILLS), groups, "ill", "x", release)
    return trials_beside(seen, fk.Policy(requirements(within), SCHEMA_OF_BILLS, tries=tries))


@pytest.mark.parametrize("seed", range(30))
def test_windows_divide_all_numbers(seed):
    """Each number is in one window, windows are in order, and none is wider than it may be."""
    random = np.random.default_rng(seed)
    numbers = [Fraction(int(n), 4) for n in random.integers(-40, 40, random.integers(1, 12))]
    width = Width(["10%", "150%", 3, "0.5", "0.25"][seed % 5])
    texts = list(dict.fromkeys(str(float(n)) for n in numbers))
    line = Line.of(Labels(texts))
    of_label, names = line.parted(width)
    assert len(of_label) == len(texts)
    assert sorted({*of_label.tolist()}) == [*range(len(names))]
    windows = [
        sorted(Fraction(t) for t, w in zip(texts, of_label, strict=True) if w == k)
        for k in range(len(names))
    ]
    for first, second in pairwise(windows):
        assert first[-1] < second[0]
    for low, *_, high in (window * 2 for window in windows):
        low, high = min(low, high), max(low, high)
        share = width.measure == "share"
        nearer = min(abs(low), abs(high))
        assert high - low <= (nearer * width.amount if share else width.amount)
        assert low == high or low * high > 0 or not share


def test_similar_windows_have_distinct_names():
    _, names = Line.of(Labels(["0.0000001", "0.0000005", "2"])).parted(Width("10%"))
    assert len({*names}) == 3


@pytest.mark.parametrize("reverse", [False, True])
def test_trial_stops_beside_reported_one(reverse):
    tries = [Try(fk.Learned(["code", "age"])), Try(fk.Learned(["code"]), stop="0.8")]
    rules = policy(tries=False)
    rules = fk.Policy(
        rules.requirements, rules.schema, rules.options, tries[:: -1 if reverse else 1]
    )
    with pytest.raises(NoSafeRelease, match=r"by code becomes .* stops at 0.8"):
        publish(planted(), rules)


@pytest.mark.parametrize(
    ("sure", "rightly", "stops"),
    [(5, 4, True), (10, 8, True), (10, 7, False), (0, 0, False), (5, None, False)],
)
def test_sure_and_right_attackers_stop(sure, rightly, stops):
    """One who guesses worse than the reported one stops a trial where what they claim holds."""
    result = tried(Try(fk.Learned(["code"]), stop="0.8"))[0]
    surer = Tried("EM, surer", ("code",), 0.1, 0.95, sure, rightly)
    trial = replace(result, surest=0.79, tried=(surer,))
    assert trial.stopping(Fraction(4, 5)) == (surer if stops else None)
    assert trial.stopping(Fraction(3, 4)) is not None
    assert trial.asked == Try(fk.Learned(["code"]), stop="0.8")


def test_wrong_columns_are_refused():
    tables = {
        "schema": {"quasi_identifiers": ["code"], "sensitive": ["ill", "cost"]},
        "require": [{"sensitive": "ill", "facts": {}, "below": 0.9}],
        "try": [{"learned": {"by": ["code"]}, "sensitive": "cost"}],
    }
    policy = fk.Policy.from_dict(tables)
    assert policy.tries[0].to_dict() == tables["try"][0]
    tables["try"][0]["sensitive"] = "costs"
    with pytest.raises(PolicyError, match="did you mean 'cost'"):
        fk.Policy.from_dict(tables)


# ---- trees of the shares of values, beside scikit-learn's trees of single people -----------------


def people(seed, n_kinds=60, n_values=3):
    """Kinds of people by six columns of two values, and how many have which value."""
    random = np.random.default_rng(seed)
    features = random.integers(0, 2, (n_kinds, 6)).astype(float)
    amounts = random.integers(0, 9, (n_kinds, n_values)).astype(float)
    amounts[random.random(n_kinds) < 0.2] = 0  # kinds of which there is nobody
    return features, amounts


@pytest.mark.parametrize("seed", range(6))
def test_shares_divide_as_people_do(seed):
    """Every cut of a column is the same; equal cuts may send a kind of nobody elsewhere."""
    features, amounts = people(seed)
    kind, value = (index.ravel() for index in np.indices(amounts.shape))
    leaf = min(trees.LEAF / amounts.sum(), 0.5)
    library = DecisionTreeClassifier(random_state=0, min_weight_fraction_leaf=leaf)
    library.fit(features[kind], value, amounts.ravel())
    result = Forest(features, amounts, n_drawn=6).shares(n_trees=3)
    is_anybody = amounts.any(axis=1)
    expected = library.predict_proba(features)
    np.testing.assert_allclose(result[is_anybody], expected[is_anybody])


ODD_LABELS = ["inf -inf 1", "nan 2 3", "-1e308 0 1e308", "x y z"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("labels", [[*text.split(), None] for text in ODD_LABELS])
def test_odd_labels_are_features(labels):
    shares = Forest.of(features_of(labels), np.full((4, 2), 50.0)).shares()
    np.testing.assert_allclose(shares, 0.5)


def test_likelihood_counts_unseen_values():
    """The likelihood by places is that of all kinds and values, also of those that never meet."""
    random, steps = Random(9), 0
    for _ in range(20):
        release = release_of(random_groups(random, 6, most=3, kinds="vwxyz", values="abcdef"))
        kinds, layout = laid_out(release, None, LEARNING)
        smoothing = random.choice([0.25, 3.0])
        learner = fitting._Learner(layout, kinds, release.counts.n_values, smoothing)
        start = learner.chances(learner.amounts_by_group_shares)
        once = learner.step(start).chances
        twice = learner.step(once).chances
        ahead, divisor = learner._extrapolated(start, once, twice)
        for chances, divided in ((once, np.ones(len(divisor))), (ahead, divisor)):
            scale = learner.smoothing / (learner.people + learner.smoothing) / divided
            table = np.outer(scale, learner.overall)
            table[learner.places.kind, learner.places.value] = chances
            assert table.sum(axis=1) == pytest.approx(np.ones(len(table)))
            expected = learner.step(chances, weighed=True).expected
            smoothed = float((np.log(table) @ learner.overall).sum())
            right = float(layout.times @ expected.weights) + learner.smoothing * smoothed
            assert learner.likelihood(chances, expected, divided) == pytest.approx(right)
            steps += len(learner.places.kind) < table.size
    assert steps > 30
