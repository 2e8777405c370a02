"""What an attack finds, says and refuses, in Python and as a command; estimates, and its budget."""

import json
import shlex
import signal
from fractions import Fraction
from itertools import count, permutations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.attacks.test_attack_exact import (
    BELOW_2_3,
    BUCKETS,
    DIVERSE,
    LEVELS,
    Coin,
    in_buckets,
    microdata,
    naive,
    policy_for,
    release_of,
)
from tests.cli.conftest import AGES as DESK_AGES
from tests.cli.conftest import desk as desk
from tests.common import said_below

import foreknow as fk
from foreknow.features.attacks.observation import groups_from
from foreknow_judge.errors import UnsupportedError

HALF = Fraction(1, 2)
AGES, VALUES = [50, 40, 50, 30, 30], ["flu", "hiv", "hiv", "flu", "flu"]


def attacked(values, method, policy=None, **how):
    """An attack on people of ages 0, 1, ..."""
    return fk.attack(microdata(values, age=range(len(values))), method, policy, **how)


def values_of(rows):
    return rows["disease"].to_pylist()


# ---- known breaches are found without being told -------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
def test_gda_leaks_at_four_people(caplog):
    """Errata, section 4: {1, 3}: ab and {2, 4}: ac come from one table only."""
    result = attacked("aabc", fk.Streamliner(2, "gda"), seeds=range(40))
    assert (result.exact, result.how) == (True, "enumeration")
    assert (result.n_worlds, result.consistent, result.n_groups) == (4, 1, 2)
    assert result.certain == (1, 2, 3, 4)
    assert [result.posterior(row, value) for row, value in ((1, "a"), (3, "b"), (4, "c"))] == [
        1
    ] * 3
    # It warns once however often it is run.
    assert len([r for r in caplog.records if "GDA is unsafe" in r.getMessage()]) == 1


# ---- what it says --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leaking():
    """Three of five people are certain."""
    found = microdata(VALUES, age=AGES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("foreknow.policy.policy.SHARED", 1)
        yield fk.attack(found, fk.Mondrian(), policy_for(DIVERSE, found))


@pytest.mark.usefixtures("tiny_tables")
def test_what_it_finds(leaking):
    assert leaking.certain == (2, 4, 5)
    assert [case.rows for case in leaking.cases[:2]] == [(2,), (4, 5)]
    assert (leaking.n_people, leaking.n_groups) == (5, 2)
    assert (leaking.worst.exact, leaking.worst.limit) == (1, 1)
    with pytest.raises(fk.InputError, match="row 9"):
        leaking.posterior(9, "flu")
    with pytest.raises(fk.InputError, match="'cough'"):
        leaking.posterior(1, "cough")
    # Nobody is named unless asked.
    assert [worst_person["row"] for worst_person in leaking.worst_people()] == [2, 4, 5]
    named = leaking.worst_people(2, names="pid")
    assert [one["name"] for one in named] == [1, 3]
    assert all("row" not in one for one in named)
    with pytest.raises(fk.InputError, match="'nam'"):
        leaking.worst_people(names="nam")


@pytest.mark.usefixtures("tiny_tables")
def test_how_it_is_shown(leaking, tmp_path):
    assert repr(leaking) == "Attack(Mondrian: 3 of 5 people certain)"
    brief = leaking._repr_html_()
    assert "3 people are certain" in brief
    assert "rows 4, 5" in brief
    leaking.to_html(tmp_path / "attack.html")
    page = (tmp_path / "attack.html").read_text("utf-8")
    assert "Attack by an adversary who knows the algorithm" in page
    leaking.to_json(tmp_path / "attack.json")
    document = json.loads((tmp_path / "attack.json").read_text("utf-8"))
    assert document["certain"] == [2, 4, 5]
    assert document["method"] == {"name": "Mondrian", **fk.Mondrian().to_dict()}
    assert (document["worlds"], document["consistent"]) == ("6", "2")
    pair = microdata(["flu", "hiv"], age=[30, 40])
    harmless = fk.attack(pair, fk.Mondrian(), policy_for(DIVERSE, pair))
    assert repr(harmless) == "Attack(Mondrian: nobody found out any further)"
    assert not harmless.found
    proved = attacked(list("abcd") * 30, fk.Streamliner(2), seed=1)
    assert repr(proved) == "Attack(Streamliner: nobody found out any further)"
    assert "by a proof" in proved._repr_html_()
    assert "as long as the seed is secret" in proved._repr_html_()
    assert (proved.to_dict()["how"], proved.to_dict()["looked"]) == ("proof", "0")


@pytest.mark.usefixtures("tiny_tables")
def test_the_adversary_of_a_method():
    """What a witness says; it is judged but not searched for; another method is told."""
    found = microdata(VALUES, age=AGES)
    policy = policy_for(DIVERSE, found)
    release = release_of(VALUES, fk.Mondrian().partition(found, policy), age=AGES)
    adversary = fk.Algorithm(fk.Mondrian(), policy)
    disclosure = adversary.disclosure(release, "hiv")
    assert (disclosure.exact, disclosure.witness.signature) == (1, {"age": 40})
    assert disclosure.to_dict()["witness"]["group"] == disclosure.witness.group
    assert adversary.disclosure(release, "cough").probability == 0
    assert not adversary.monotone()
    assert adversary.to_dict() == {"algorithm": {"name": "Mondrian", **fk.Mondrian().to_dict()}}
    assert repr(adversary) == f"Algorithm({fk.Mondrian()!r})"
    stricter = fk.Policy([fk.Requirement(adversary, below="0.9")])
    assert fk.audit(release, policy).safe
    assert not fk.audit(release, stricter).safe
    says = "Algorithm needs groups that are finished, .*; audit the finished release"
    for method in (fk.Mondrian(), fk.FullDomain()):
        with pytest.raises(fk.InputError, match=says):
            method.partition(found, policy_for(stricter, found))
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    policy = fk.Policy(DIVERSE.requirements, schema)
    own, other = (release_of("abab", g, age=[1, 2, 3, 4]) for g in ([0] * 4, [0, 1, 0, 1]))
    assert fk.Algorithm(fk.Mondrian(), policy).disclosure(own).exact is not None
    for more in ({}, {"worlds": 3}):
        with pytest.raises(fk.InputError, match="is it the method"):
            fk.Algorithm(fk.Mondrian(), policy, **more).disclosure(other)


# ---- what a reader sees --------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
def test_labels_are_seen_of_others():
    """Ages 10, 19 and 20, 29 as two groups, or all four under the label of all: told apart."""

    class Grouped:
        def partition(self, found, policy=None, seed=None):
            first = found.values[int(found.sensitive_codes[0])]
            # the last one is left out; the others are in two groups that bear one label or two
            return np.array([0, 1, 0, 1, -1] if first == "a" else [0, 0, 1, 1, -1])

    # Labels: in the first case 0-99 for all four, so that to a reader they are one group.
    levels, ages = {"age": fk.Intervals([10, 100])}, [10, 19, 20, 29, 55]
    found = microdata(list("abbac"), levels, age=ages)
    attack_result = fk.attack(found, Grouped(), policy_for(DIVERSE, found))
    assert (attack_result.n_worlds, attack_result.consistent, attack_result.certain) == (
        6,
        3,
        (1, 5),
    )
    attack_report = fk.attack(
        found, Grouped(), fk.Policy(DIVERSE.requirements, found.schema, BUCKETS)
    )
    assert (attack_report.n_worlds, attack_report.consistent) == (4, 2)


@pytest.mark.usefixtures("tiny_tables")
def test_certain_by_the_release_itself():
    """Rows 1 and 2 share a group of a only; of 3 and 4 the algorithm tells who has b."""
    result = attacked("aabc", lambda rows: [0, 0, 1, 1] if values_of(rows)[2] == "b" else [0] * 4)
    assert (result.certain_by_release, result.certain) == ((1, 2), (3, 4))
    assert all(case.rows not in ((1,), (2,)) for case in result.cases)
    page = result._repr_html_()
    assert "2 people are certain because of the algorithm" in page
    assert "2 people are certain from the release itself" in page
    written = result.to_dict()
    assert (written["certain"], written["certain_by_release"]) == ([3, 4], [1, 2])
    plain = attacked("aabc", lambda rows: [0, 0, 1, 1])
    assert (plain.certain, plain.certain_by_release, plain.found) == ((), (1, 2), False)
    assert "adds nothing; 2 people are certain without it" in plain._repr_html_()


# ---- what is published when nothing is -----------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
def test_nothing_published_can_tell():
    """Errata, section 5: of the six tables without a release all have a in rows 3 and 4."""
    pipeline = naive(["BCD|AE", "ACD|BE"])
    nothing = [
        values
        for values in sorted(set(permutations("aabcd")))
        if pipeline(pa.table({"disease": values})) is None
    ]
    assert len(nothing) == 6
    attack_result = fk.attack(microdata(nothing[0], age=[0] * 5), pipeline, nothing=True)
    assert (attack_result.what, attack_result.n_worlds, attack_result.consistent) == (
        "nothing",
        60,
        6,
    )
    assert attack_result.certain == (3, 4)
    for person in range(5):
        for value in "abcd":
            hits = sum(values[person] == value for values in nothing)
            assert attack_result.posterior(person + 1, value) == Fraction(hits, 6)
    assert attack_result.worst.share == Fraction(2, 5)
    page = attack_result._repr_html_()
    assert "nothing is published of 5 people" in page
    assert "know how often each value occurs in the whole" in page
    assert "6 could have led to nothing being published" in page
    assert attack_result.to_dict()["seen"] == "nothing"


# ---- only what a method declares -----------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
def test_what_is_wrongly_called_symmetric():
    table = microdata("abcabc", age=[30] * 6)

    def pipeline(rows):
        return [0] * 6 if values_of(rows)[0] == "a" else [0, 0, 0, 1, 1, 1]

    with pytest.raises(fk.InputError, match="is said to be symmetric"):
        fk.attack(table, pipeline, symmetric=True)
    pipeline.traits = fk.Traits(symmetric=True)
    with pytest.raises(fk.InputError, match="is said to be symmetric"):
        fk.attack(table, pipeline)
    assert fk.attack(table, pipeline, symmetric=False).certain == (1,)


class Either(fk.Mondrian):
    """One of two groupings by lot."""

    lots = np.random.default_rng(1)

    def partition(self, microdata, policy=None, seed=None):
        return np.array([[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]][self.lots.integers(2)])


class Moody(fk.Facts):
    """An adversary of the user's own who answers otherwise each time."""

    calls = count()

    def ledger(self, threshold, values=None, semantics="single"):
        return fk.Facts().ledger(1 if next(self.calls) % 2 else "2/3", values)


def changing(steady):
    """A function that behaves otherwise after some runs."""
    calls = count()

    def pipeline(rows):
        late = next(calls) > steady
        return [0] * 6 if (values_of(rows)[0] == "a") != late else [0, 0, 0, 1, 1, 1]

    return pipeline


def ending():
    """A function that publishes nothing after some runs."""
    calls = count()
    return lambda rows: [0] * rows.num_rows if next(calls) < 150 else None


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize(
    ("values", "method", "requirements", "how"),
    [
        ("abcabc", Either(), DIVERSE.requirements, {}),
        ("aabaabab", fk.Mondrian(), [fk.Requirement(Moody(), below=1)], {}),
        ("abcabc", changing(0), (), {}),
        ("abcabc", changing(40), (), {}),  # seen when worlds are run again
        ("abcabc", Coin(["AB|CD|EF", "ABC|DEF", "ABCD|EF", "AB|CDEF"]), (), {}),
        # Of this table there is one safe grouping only; of its worlds there are several.
        ("aaabcc", Coin(["AB|CD|EF", "ABC|DEF", "ACE|BDF", "ABCDEF"]), (), {}),
        # Worlds met by an estimate are run again.
        ("abcdefghi", ending(), (), {"worlds": 140, "seed": 0}),
    ],
)
def test_random_functions_are_noticed(values, method, requirements, how):
    columns = {"age": range(len(values)), "sex": [i % 2 for i in range(len(values))]}
    table = microdata(values, {"age": fk.Intervals([2, 4])}, **columns)
    policy = fk.Policy(requirements, table.schema, BUCKETS) if requirements else None
    with pytest.raises(fk.InputError, match="another release each time") as caught:
        fk.attack(table, method, policy, **how)
    assert "say seeds" in str(caught.value)


@pytest.mark.usefixtures("tiny_tables")
def test_seeds_of_a_function():
    result = attacked(
        "abab", lambda rows, seed: [0, 1, 0, 1] if seed else [0, 0, 1, 1], seeds=[0, 1]
    )
    assert (result.exact, result.n_groups) == (True, 2)
    with pytest.raises(fk.InputError, match=r"define it as f\(table, seed\)"):
        attacked("abab", lambda rows: [0] * 4, seeds=[0])
    lots = np.random.default_rng(0)
    with pytest.raises(fk.InputError, match="with the same seed"):
        attacked("abab", lambda rows, seed: lots.integers(0, 2, 4).tolist(), seeds=[0])


# ---- what is refused -----------------------------------------------------------------------------


def broken(rows):
    raise KeyError("age")


class Odd:
    """Published, though it cannot be compared."""

    def __eq__(self, other):
        raise RuntimeError("not today")

    __hash__ = None


def five(rows):
    return [0] * 5


NOTHING, NO_GROUPS = {"nothing": True}, [5, "groups", [[0, 1], [2]], {0: 1}, np.zeros((2, 2))]


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize(
    ("method", "more", "message"),
    [
        (fk.Mondrian, {}, "not its class"),
        (17, {}, "is no method"),
        (fk.KAnonymity(2), {}, "is no method"),
        (broken, {}, "KeyError: 'age'"),
        (lambda rows: [0], {}, "one for each of the 5 rows"),
        (lambda rows: [[0]] * 5, {}, "one group for each row"),
        *((lambda rows, given=no_group: given, {}, "one group for each") for no_group in NO_GROUPS),
        (lambda rows: ([0] * 5, Odd()), {}, "cannot be compared, Odd with Odd: not today"),
        (five, NOTHING, "publishes something"),
        (fk.Anatomy(2), NOTHING, "not of publishing nothing"),
        (lambda rows: ([0] * 5, np.zeros(2)), {}, "cannot be compared, ndarray with ndarray"),
        (lambda rows: None, {**NOTHING, "groups": [0] * 5}, "there is none"),
        (lambda rows: None, {"nothing": "yes"}, "nothing is True or False"),
        (lambda rows: None, {"symmetric": "no"}, "symmetric is True or False"),
        (fk.FullDomain(seconds=1), {}, "time budget"),
        (fk.Mondrian(), {"worlds": 0}, "worlds"),
        (fk.Mondrian(), {"seconds": 0}, "seconds"),
        (fk.Mondrian(), {"seed": -1}, "seed"),
        (fk.Mondrian(), {"seeds": []}, "seeds"),
        (fk.Mondrian(), {"groups": [0, 0]}, "5 rows"),
        (fk.Mondrian(), {"groups": [0, 1, 0, 1, 0]}, "does not make these groups"),
    ],
)
def test_what_is_refused(method, more, message):
    found = microdata(VALUES, age=AGES)
    with pytest.raises(fk.InputError, match=message):
        fk.attack(found, method, policy_for(DIVERSE, found), **more)


SEVERAL = {"semantics": "set", "person": "pid"}


@pytest.mark.usefixtures("tiny_tables")
def test_tables_and_adversaries_refused():
    found = microdata(VALUES, LEVELS, age=AGES)
    with pytest.raises(fk.InputError, match="Microdata"):
        fk.attack(pa.table({"a": [1]}), fk.Mondrian())
    several = fk.Schema(quasi_identifiers=["age"], sensitive="disease", **SEVERAL)
    rows = pa.table({"pid": [1, 1, 2], "age": [3, 3, 4], "disease": ["a", "b", "a"]})
    with pytest.raises(fk.InputError, match="one sensitive value"):
        fk.attack(fk.Microdata(rows, several), fk.Mondrian())
    rows = pa.table({"age": [1] * 4, "disease": list("aabb")})
    priors = fk.Priors.learn(rows, ["age"], "disease")
    policy = fk.Policy([fk.Requirement(priors, at_most_times=2, knowing=[])])
    with pytest.raises(UnsupportedError, match="at_most_times is for priors; give below"):
        fk.attack(microdata("aabb", age=[1] * 4), fk.Streamliner(2), policy)
    counts = fk.GroupCounts.from_bags([["a", "b"]])
    release, schema = release_of("ab", [0, 0], age=[1, 2]), found.schema
    constant = lambda table: [0, 0]  # noqa: E731
    for adversary, judged, says in [
        (fk.Algorithm(fk.Mondrian()), counts, "schema"),
        (fk.Algorithm(fk.Mondrian(), schema=schema), counts, "the columns of each person"),
        (fk.Algorithm(constant, schema=schema), release, "symmetric=True"),
    ]:
        with pytest.raises(fk.InputError, match=says):
            adversary.disclosure(judged)
    adversary = fk.Algorithm(constant, schema=schema, symmetric=True)
    assert adversary.disclosure(release).exact == HALF


# ---- command -------------------------------------------------------------------------------------


TABLE = """name,age,disease
Ann,50,flu
Bob,40,hiv
Cid,50,hiv
Dora,30,flu
Eve,30,flu
"""
POLICY = f"""{DESK_AGES}below = 1

[publish]
labels = {{ age = "exact" }}
"""
OWN = """
import os, signal
import foreknow as fk

def groups(table):
    return [0] * 5 if table["disease"][1].as_py() == "hiv" else [0, 0, 0, 1, 1]

def together(table):
    return [0] * 5

def silent(table):
    return None if table["disease"][1].as_py() == "hiv" else [0] * 5

def seeded(table, seed):
    return [0] * 5 if seed else [0, 1, 0, 1, 1]

def interrupted(table):
    os.kill(os.getpid(), signal.SIGINT)
    return [0] * 5

def broken(table):
    return table["nothing"]

made, number = fk.Mondrian(), 7
"""
MADE = [f"{row},{n}" for row, n in zip(TABLE.split(), ["made", *"ababb"], strict=True)]
FILES = {
    "table.csv": TABLE,
    "policy.toml": POLICY,
    "low.toml": POLICY.replace("below = 1", "below = 0.1"),
    "four.csv": "name,age,disease\nAnn,50,flu\nBob,40,flu\nCid,50,hiv\nDora,30,cold\n",
    "made.csv": "\n".join(MADE) + "\n",
    "own.py": OWN,
    "wrong.py": "def groups(:",
    "ends.py": "raise SystemExit(3)",
    "class.py": "class Mine: pass",
}
PLAIN = "table.csv --policy policy.toml "
LOTS = "four.csv --policy policy.toml --method streamliner --set l=2 --form bucketized "
GROUPS = "made.csv --policy policy.toml --groups "


@pytest.fixture
def attacking(desk):
    run = desk.runs("attack", FILES)

    def attacked(words):
        code, out, err = run(words)
        return code, " ".join(out.split()), err

    return attacked


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (PLAIN + "--name-people", 1, "Dora, Eve flu 100%"),
        (PLAIN + "--name-people --person age", 1, "30, 30 flu 100%"),
        (PLAIN + "--method fulldomain --set find=minimal", 0, "FullDomain"),
        (PLAIN + "--method fulldomain --quiet", 0, None),
        (
            PLAIN + "--worlds 1 --seed 1 --form bucketized",
            4,
            "people are unsettled, perhaps certain",
        ),
        (PLAIN + "--worlds 1 --seed 1 --form bucketized", 4, "estimates"),
        # Neither found nor settled: one run says nothing of other worlds of a function.
        (PLAIN + "--method own.py:together --worlds 1", 4, "5 people are unsettled"),
        (PLAIN + "--method own.py:together --quiet", 0, None),
        (PLAIN + "--method own.py:groups", 1, "row 2 hiv 100%"),
        (PLAIN + "--method own.py:made", 1, "rows 4, 5 flu 100%"),
        (PLAIN + "--method own.py:seeded --seeds 0,1", 0, "Of 6 worlds"),
        (PLAIN + "--method own.py:silent", 1, "--nothing"),
        (PLAIN + "--method own.py:silent --nothing", 1, "nothing is published of 5 people"),
        (PLAIN + "--method own.py:silent --nothing", 1, "row 2 hiv 100%"),
        # Secret lots, a seed that everybody knows, and seeds of which the adversary knows none.
        (LOTS, 0, "reveals nothing beyond the release"),
        (LOTS + "--seeds 0", 1, "certain to an adversary who knows the algorithm"),
        (LOTS + "--seeds 0-2,5", 0, "Of 4 worlds"),
        (GROUPS + "made", 1, "3 people are certain"),
    ],
)
def test_what_is_printed(attacking, words, code, message):
    found, out, err = attacking(words)
    assert found == code
    assert not out if message is None else message in out + err


@pytest.mark.parametrize(("words", "message"), said_below(__file__, "refused.txt"))
def test_refusals_of_the_command(attacking, desk, words, message):
    code = 1 if "low" in words else 2
    assert message in desk.refused("attack", *shlex.split(words), code=code)


def test_interrupted_it_leaves_nothing(attacking, desk):
    """By a real signal, sent while worlds are tried."""
    before = sorted(desk.folder.iterdir())
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)  # else ignored in background
    try:
        code, out, err = attacking(PLAIN + "--method own.py:interrupted --json attack.json")
    finally:
        signal.signal(signal.SIGINT, usual)
    assert (code, out, err) == (130, "", "interrupted; nothing was left half-written\n")
    assert sorted(desk.folder.iterdir()) == before


# ---- estimates -----------------------------------------------------------------------------------


def bounds(found, row, value):
    """The interval of a posterior."""
    beliefs = found._posteriors
    at = beliefs.worlds.cell_of[row - 1], found._microdata.values.codes[value]
    return beliefs.low[at], beliefs.high[at]


def covers(found, exact, values):
    """Whether every interval holds the exact answer."""
    pairs = [(row, value) for row in range(1, found.n_people + 1) for value in values]
    ends = [(*bounds(found, *pair), exact.posterior(*pair)) for pair in pairs]
    return all(low - 1e-9 <= chance <= high + 1e-9 for low, high, chance in ends)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("method", "values", "ages", "seeds"),
    [
        (fk.Mondrian(), "acbcab", [3, 2, 0, 1, 5, 2], None),
        (fk.Streamliner(2, "gda"), "aabcbacb", [1, 1, 2, 3, 3, 4, 5, 5], [0, 1, 2]),
    ],
    ids=repr,
)
def test_estimates_agree_with_exact(method, values, ages, seeds, seed):
    table = microdata(list(values), age=ages)
    policy = in_buckets(BELOW_2_3.requirements, table)
    exact = fk.attack(table, method, policy, seeds=seeds)
    groups = method.partition(table, policy, seed=seeds and seeds[0])
    attack_result = fk.attack(table, method, policy, groups=groups, seeds=seeds)
    # One run of Mondrian settles small parts: so few worlds that none of them is looked at whole.
    few = 1 if isinstance(method, fk.Mondrian) else exact.n_worlds - 2
    attack_report = fk.attack(table, method, policy, worlds=few, seed=seed, seeds=seeds)
    rows = range(1, len(values) + 1)
    assert (exact.exact, attack_report.exact) == (True, False)
    assert [exact.posterior(r, "a") for r in rows] == [
        attack_result.posterior(r, "a") for r in rows
    ]
    assert set(exact.certain) <= set(attack_report.unsettled)
    assert covers(attack_report, exact, set(values))


def test_estimated_disclosures_settle_nothing():
    values = ["a", "b", "c"] * 4
    table = microdata(values, LEVELS, age=range(12))
    policy = policy_for(BELOW_2_3, table)
    release = release_of(values, fk.FullDomain().partition(table, policy), age=range(12))
    disclosure = fk.Algorithm(fk.FullDomain(), policy, worlds=40, seed=0).disclosure(release, "a")
    assert (disclosure.estimated, disclosure.exact) == (True, None)
    assert not disclosure.below("0.99")
    assert 1 / 3 <= disclosure.probability <= 1


def test_lots_are_never_run_once():
    """ART breaks ties by lot, and states no chances."""
    found = microdata("aabb", q=list("xyxy"))
    method = fk.ART(2, fk.Priors.learn(found.source.arrow(["q", "disease"]), ["q"], "disease"))
    groups = method.partition(found)
    release = release_of("aabb", groups, q=list("xyxy"))
    for ask in (
        lambda: fk.attack(found, method),
        lambda: fk.attack(found, method, groups=groups),
        lambda: fk.Algorithm(method, schema=found.schema, symmetric=True).disclosure(release),
    ):
        with pytest.raises(UnsupportedError, match="say seeds = those"):
            ask()
    assert fk.attack(found, method, seeds=[0, 1]).exact


# ---- groups in any form --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (["a", float("nan"), "b"], [0, -1, 1]),  # NumPy alone would make this the text "nan"
        ([1, "1"], [0, 1]),
        ([True, "True"], [0, 1]),
        ([b"a", "a"], [0, 1]),
        ([2**53 + 1, 2.0**53], [0, 1]),
        (["a", pd.NA], [0, -1]),
        (pd.Series(["a", pd.NA, "a"], dtype=object), [0, -1, 0]),
        (["a", pd.NaT], [0, -1]),
        # A missing group turns whole numbers into floats: negative ones stay left out.
        ([0.0, -1.0], [0, -1]),
        (pd.Series([3, -1, None]), [0, -1, -1]),
        (pa.array([3, -1, None]), [0, -1, -1]),
        ([-1, 2**63], [-1, 0]),
        (np.array([2**63], dtype="uint64"), [0]),
        ([7, -2], [7, -2]),
    ],
)
def test_groups_of_any_form(groups, expected):
    assert groups_from(groups, "pipeline").tolist() == expected


@pytest.mark.parametrize("groups", [[[1], [2]], [[1], [2, 3]], [{"a": 1}, {}], "ab", None])
def test_groups_that_are_none(groups):
    with pytest.raises(fk.InputError, match=r"one group for each row|no plain labels"):
        groups_from(groups, "pipeline")
