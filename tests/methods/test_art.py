"""ART against enumeration of its limits, and Anatomy: groups, the l of a policy, refusals."""

import random as plain
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from tests.common import NIGHTLY
from tests.oracle.priors import exists, keeps, printed_art, robust
from tests.people import adult_table

import foreknow as fk
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, matrix
from foreknow.errors import NoSafeRelease, SchemaError
from foreknow.features.more_methods.art import ART
from foreknow.features.more_methods.art.exact_check import safe_groups, safe_lists
from foreknow.features.more_methods.art.infeasibility import ArtNames, impossible
from foreknow.features.more_methods.art.limits import Limit, LimitTable
from foreknow.features.more_methods.art.mixer import Mixer, Way
from foreknow.features.more_methods.art.problem import ArtProblem
from foreknow.features.more_methods.art.search import robust_groups
from foreknow_judge.errors import DataError


@dataclass(frozen=True)
class ArtTable:
    """Signatures by attribute set, sensitive values, and a prior by set, signature and value."""

    signatures: list[list[int]]
    values: list[int]
    priors: list[list[list[Fraction]]]
    r: Fraction
    reading: str
    unique: bool | None = True
    asked: list[list[tuple]] | None = None  # as `keeps` of the oracle takes it

    @property
    def problem(self):
        matrices = [PriorMatrix.from_fractions(rows) for rows in self.priors]
        limits = None
        if self.asked is not None:
            pairs = zip(matrices, self.asked, strict=True)
            limits = [limits_of(own, asked) for own, asked in pairs]
        return ArtProblem.of_signatures(
            self.signatures,
            matrices,
            self.values,
            np.arange(len(self.values))[:, None] / len(self.values),
            r=self.r,
            limits=limits,
            reading=self.reading,
            unique=self.unique,
        )

    @property
    def people(self):
        """For each person a row (value -> prior) for each attribute set."""
        return [
            tuple(
                dict(enumerate(rows[codes[t]]))
                for codes, rows in zip(self.signatures, self.priors, strict=True)
            )
            for t in range(len(self.values))
        ]


def limits_of(matrix, asked):
    """The table of limits that ART makes of what is asked about one attribute set."""
    nobody = SimpleNamespace(tables=())
    n_values = matrix.chances.shape[1]
    made = [
        Limit(nobody, at_most, below, times).table(matrix, np.isin(np.arange(n_values), [*about]))
        for about, at_most, below, times in asked
    ]
    return reduce(LimitTable.tightest, made)


def some_limits(seed, reading, many, sizes, n_values, even=False):
    """So many tables with limits of all sorts."""
    random = np.random.default_rng([seed, reading == "joint"])
    for _ in range(many):
        yield random_limits(random, sizes, n_values, reading, even)


def random_limits(random, sizes, n_values, reading, even=False):
    """Draw a table with limits of all sorts, of several values, several at once."""
    table = random_table(random, sizes, n_values, reading, unique=None, even=even)
    n_values = len(table.priors[0][0])
    shares = [Fraction(x) for x in ("1/3", "1/2", "2/5", "2/3", "1")]
    asked = []
    for _ in table.priors:
        some = []
        for _ in range(int(random.integers(1, 3))):
            about = range(n_values)
            if random.random() < 0.5:
                about = random.permutation(n_values)[: int(random.integers(1, n_values + 1))]
            share = shares[int(random.integers(0, len(shares)))]
            times = Fraction(int(random.integers(2, 9)), 2)
            form = int(random.integers(0, 5))
            limit = [(share, None, None), (None, share, None), (None, None, times)][min(form, 2)]
            if form == 4:
                limit = share, None, times
            some.append(({int(x) for x in about}, *limit))
        asked.append(some)
    return replace(table, asked=asked)


def random_table(random, sizes, n_values, reading, *, unique=True, even=False):
    """Draw a table.

    Priors are near each other, far apart, or partly zero; values are drawn evenly, or not.
    """
    n = int(random.integers(*sizes))
    values = int(random.integers(2, n_values + 1))
    codes, priors = [], []
    for _ in range(int(random.integers(1, 3))):
        signatures = int(random.integers(1, 4))
        codes.append(random.integers(0, signatures, n).tolist())
        kind = random.integers(0, 4)
        base = random.integers(5, 12, values)
        rows = []
        for _ in range(signatures):
            if kind < 2:  # near
                own = base + random.integers(0, 3 + 2 * kind, values)
            else:
                own = random.integers(0 if kind == 3 else 1, 9, values)
            rows.append([Fraction(int(x), max(int(own.sum()), 1)) for x in own])
        priors.append(rows)
    if even or random.random() < 0.6:
        held = [int(x) for x in random.permutation(np.arange(n) % values)]
    else:
        held = random.integers(0, values, n).tolist()
    r = Fraction([2, 2, 3, "3/2", "5/2", "6/5"][int(random.integers(0, 6))])
    return ArtTable(codes, held, priors, r, reading, unique)


# ART against enumeration of its limits, and Anatomy: groups, the l of a policy, refusals.

pytestmark = pytest.mark.usefixtures("tiny_tables")

TIMES = 80 if NIGHTLY else 1
READINGS = pytest.mark.parametrize("reading", ["joint", "binary"])


def tables(kind, seed, reading, many, sizes, n_values, even=False):
    """Random tables: each value once in a group, or repeated, or with limits of all sorts."""
    if kind == "limits":
        drawn = some_limits(seed, reading, many, sizes, n_values, even)
        return [table for table in drawn if not table.problem.unique]
    random = np.random.default_rng([seed, reading == "joint"])
    unique = kind == "different"
    return [
        random_table(random, sizes, n_values, reading, unique=unique, even=even)
        for _ in range(many)
    ]


def can_be_grouped(table):
    if table.asked is not None:
        return exists(table.people, table.values, None, table.reading, asked=table.asked)
    return exists(table.people, table.values, table.r, table.reading, table.unique)


def keeps_all(table, people):
    """Whether some people of a table with limits keep them as a group, by enumeration."""
    held = [table.people[t] for t in people], [table.values[t] for t in people]
    return keeps(*held, table.asked, table.reading)


def check(table, groups):
    """Judge every group by enumeration, if it is not too large; and all by the judge."""
    for number in range(int(groups.max()) + 1):
        group = np.flatnonzero(groups == number).tolist()
        held = [table.people[t] for t in group], [table.values[t] for t in group]
        if table.asked is not None:
            assert len(group) > 7 or keeps_all(table, group), (table, group)
        elif table.unique or len(group) <= 7:
            assert len(group) >= table.r
            assert robust(*held, table.r, table.reading, table.unique), (table, group)
    whole = table.problem.profiles, table.problem.values, int(groups.max()) + 1
    assert safe_groups(table.problem, groups, *whole).all()


@READINGS
@pytest.mark.parametrize(
    ("kind", "many", "sizes", "n_values"),
    [("different", 25, (2, 9), 5), ("repeated", 12, (2, 7), 4), ("limits", 20, (2, 7), 4)],
)
def test_small_tables(kind, many, sizes, n_values, reading):
    """They are grouped soundly just if they can be; proofs that they cannot be are right."""
    proved = 0
    for table in tables(kind, 5, reading, many * TIMES, sizes, n_values):
        none = bool(impossible(table.problem, ArtNames()))
        proved += none
        try:
            groups = robust_groups(table.problem, 0)
        except NoSafeRelease:
            assert not can_be_grouped(table), table
        else:
            assert not none
            check(table, groups)
    assert proved


@pytest.mark.thinned(2)
@READINGS
@pytest.mark.parametrize(
    ("kind", "many", "sizes", "n_values"),
    [("different", 20, (13, 40), 6), ("repeated", 6, (13, 22), 4), ("limits", 8, (13, 22), 5)],
)
def test_tables_that_are_searched(kind, many, sizes, n_values, reading):
    times = 0
    for table in tables(kind, 7, reading, many * TIMES, sizes, n_values, even=True):
        try:
            groups = robust_groups(table.problem, 0)
        except NoSafeRelease:
            continue
        times += 1
        check(table, groups)
    assert times


def rows_of(text):
    """Priors: a row of shares for each signature, rows by commas."""
    return [[Fraction(x) for x in row.split()] for row in text.split(",")]


def test_printed_method_breaks_its_promise():
    # Errata, section 3: the condition holds for every value, the posterior is 25/43.
    rows = rows_of("1/10 6/100 6/100, 6/100 1/10 1/10")
    table = ArtTable([[0, 1, 1]], [0, 1, 2], [rows], Fraction(2), "joint")
    assert printed_art(table.people, table.values, table.r) == [[0, 1, 2]]
    assert not robust(table.people, table.values, table.r, "joint")
    assert robust(table.people, table.values, table.r, "binary")
    with pytest.raises(NoSafeRelease, match="exhaustive search"):
        robust_groups(table.problem)
    # It fails the quick condition: nobody but 1 and 2 can have value 2, each with one half.
    rows = rows_of("1/2 1/2 0, 1/4 1/4 1/2")
    table = ArtTable([[0, 1, 1]], [0, 1, 2], [rows], Fraction(2), "joint")
    assert robust(table.people, table.values, table.r, "joint")
    assert robust_groups(table.problem).tolist() == [0, 0, 0]


# ---- at the edges of limits ----------------------------------------------------------------------


def test_limits_just_kept():
    limit = Fraction(10**12 + 1, 3 * 10**12)
    rounded = LimitTable.of_shares([[(limit, True)]]).rounded.share(0, 0)[0]
    assert rounded < limit
    assert limit - rounded < Fraction(2, 2**31 * 3)
    below = [Fraction(int(limit * q), q) for q in range(2**31 - 3, 2**31 + 1)]
    assert max(below) <= rounded
    # Blocks that just keep a limit are divided.
    limit, priors = Fraction(10**20 + 1, 3 * 10**20), PriorMatrix.from_fractions(rows_of("1/3 2/3"))
    limits = LimitTable.of_shares([[(limit, False), (Fraction(1), False)]])
    problem = ArtProblem.of_signatures([[0] * 30], [priors], [0, 1, 1] * 10, limits=[limits])
    assert np.bincount(robust_groups(problem)).tolist() == [3] * 10


@READINGS
def test_priors_that_rule_tables_out(reading):
    with pytest.raises(NoSafeRelease, match="its prior is 0 for everybody"):
        ART(times=2, priors=priors_of(reading, a=0, b=1)).partition(letters("aaa"))


OF_ONE_KIND = fk.Schema(quasi_identifiers=["p"], sensitive="d")


def letters(values):
    return fk.Microdata(pa.table({"p": ["x"] * len(values), "d": list(values)}), OF_ONE_KIND)


@pytest.mark.parametrize(
    ("form", "prior"),
    [
        ("generalized", "0.3333333333333334"),
        ("bucketized", "0.33333333334"),
        ("generalized", "0.34"),
        ("bucketized", "0.3333333333333333"),
    ],
)
def test_one_of_three_at_limit(form, prior):
    requirement = fk.Requirement(
        priors_of(a="0.3", b=prior, c="0.3"), at_most_times=1, values=["b"]
    )
    options = fk.PublishOptions(method="art", form=form)
    policy = fk.Policy([requirement], schema=OF_ONE_KIND)
    if float(prior) > 1 / 3:
        assert fk.publish(letters("bca"), policy, options=options).audit.safe
        return
    with pytest.raises(NoSafeRelease, match="'b' is too frequent: 1 of 3"):
        fk.publish(letters("bca"), policy, options=options)


def priors_of(*more, **chances):
    """Priors by p = x, of values by their names."""
    columns = {"p": ["x"] * len(chances), "value": [*chances], "probability": [*chances.values()]}
    return Priors(pa.table(columns), *more)


@pytest.mark.parametrize(
    ("seed", "n", "times", "semantics"),
    [(0, 60, "5/4", "joint"), (1, 60, "5/4", "binary"), (1, 24, "1.1", None)],
)
def test_pools_are_divided(seed, n, times, semantics, monkeypatch):
    """A table that is safe as one group is divided into like parts; a search ends in a pool."""
    drawn = plain.Random(seed)
    people = {"p": drawn.choices("xy", k=n), "q": drawn.choices("uv", k=n)}
    rows = pa.table({**people, "z": range(n), "d": drawn.choices("aaaabbbccd", k=n)})
    priors = Priors.learn(rows, [["p"], ["q"]], "d", semantics=semantics or "joint")
    policy = fk.Policy([fk.Requirement(priors, at_most_times=times)])
    schema = fk.Schema(quasi_identifiers=["p", "q", "z"], sensitive="d")
    if semantics:  # nobody is grouped before: all are in the pool
        assert fk.audit(released(rows, np.zeros(n, dtype=np.int64), "d"), policy).safe
        everybody = [], np.arange(n)
        monkeypatch.setattr(
            "foreknow.features.more_methods.art.search._attempt", lambda *_: everybody
        )
    groups = ART(times=times, priors=priors).partition(fk.Microdata(rows, schema), seed=0)
    assert fk.audit(released(rows, groups, "d"), policy).safe


# ---- mixed groups --------------------------------------------------------------------------------


def mixed(random):
    """Profiles that are much alike, of which some have too many of a value."""
    priors, many = random.uniform(0.8, 1.2, (6, 5)), random.integers(0, 8, (6, 5))
    many[:3, 0] += random.integers(15, 25, 3)
    profiles, values = (
        np.repeat(places, many.ravel()) for places in map(np.ravel, np.indices(many.shape))
    )
    priors = [matrix(priors / priors.sum(axis=1, keepdims=True))]
    return ArtProblem.of_signatures([profiles], priors, values, r=2, unique=False)


# ---- as a method of tables -----------------------------------------------------------------------

PEOPLE = pa.table({
    "sex": ["m", "f", "m", "f", None, None],
    "age": [30, 31, 40, 41, 50, 51],
    "disease": ["Flu", "Flu", "HIV", "HIV", "Flu", "HIV"],
})  # fmt: skip
SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
BY_SEX = Priors.learn(PEOPLE, ["sex"], "disease")
HALF = priors_of(a="1/2", b="1/2")


def released(rows, groups, sensitive="disease"):
    held = rows.append_column("gid", pa.array(groups))
    return fk.Release.from_groups(held, group="gid", sensitive=sensitive)


FEW = Priors.learn(PEOPLE.slice(0, 4), ["sex"], "disease")
TIMES_SAID = r"times must be 1 or more \(1 means as likely as before\)"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        *(
            ({"r": r}, fk.InputError, "r must be a number above 1")
            for r in (1, 0, -2, "x", True, float("nan"), float("inf"), None)
        ),
        *(
            ({"times": times, "priors": HALF}, fk.InputError, TIMES_SAID)
            for times in (0, "1/2", -1, 0.999)
        ),
        ({"r": 2, "priors": None}, fk.InputError, "give priors, or limits"),
        ({"r": 2, "values": []}, fk.InputError, "at least one value"),
        ({"r": 2, "values": "HIV"}, fk.InputError, "values must be a list"),
        ({"r": 2, "priors": 3}, DataError, "int is not a table"),
        ({"r": 2, "unique": 1}, fk.InputError, "unique must be True or False"),
        ({"limits": [2]}, fk.InputError, "limits must be a list of Limit"),
        ({"r": 2, "priors": HALF}, SchemaError, "'p', which is no quasi-identifier"),
        ({"r": 2, "priors": FEW}, DataError, "sex missing"),
        ({"r": 2.1}, NoSafeRelease, "every posterior at or below 0.4762:"),  # read as it is written
        (
            {"r": 2, "values": ["HIF"]},
            *(fk.InputError, r"nobody in the table has.*'HIF'.*'HIV'"),
        ),
        (
            {"times": 2, "unique": True},
            *(fk.InputError, r'unique=True needs one limit.*at_most = "1/4"'),
        ),
    ],
)
def test_what_is_refused(settings, error, message):
    with pytest.raises(error, match=message):
        ART(**{"priors": BY_SEX, **settings}).partition(fk.Microdata(PEOPLE, SCHEMA))


def test_priors_as_a_frame():
    frame = pa.table({"sex": ["f", "m"], "value": ["HIV"] * 2, "probability": [0.25, 0.5]})
    assert ART(r=2, priors=frame).priors.tables == fk.Priors(frame).tables


def test_generalized_groups_mix_nobody():
    """Of whom the priors tell apart; more than half of one sex have one value."""
    diseases = ["Flu"] * 9 + ["HIV"] * 5 + ["Cold"] * 6 + ["Flu"] * 12 + ["HIV"] * 4 + ["Cold"] * 4
    rows = pa.table({"sex": ["m"] * 20 + ["f"] * 20, "age": range(40), "disease": diseases})
    priors = Priors.learn(rows, ["sex"], "disease")

    def publish(at_most, form):
        policy = fk.Policy([fk.Requirement(priors, at_most=at_most)], schema=SCHEMA)
        options = fk.PublishOptions(method="art", form=form)
        return fk.publish(fk.Microdata(rows, SCHEMA), policy, options=options, seed=1)

    assert publish("11/20", "bucketized").audit.safe
    with pytest.raises(NoSafeRelease, match=r"12 of 20 people with sex f.*bucketized"):
        publish("11/20", "generalized")
    assert publish("3/5", "generalized").audit.safe


# ---- Adult ---------------------------------------------------------------------------------------

SETS = {
    "sex": ["sex"],
    "race": ["race"],
    "band": ["band"],
    "together": ["sex", "race", "band"],
    "each": [["sex"], ["race"], ["band"]],
}


def of_adult(by, how, **limit):
    """Priors of Adult, and the groups and the release that ART makes by them."""
    rows = pyarrow.csv.read_csv(adult_table())
    bands = [f"{min(max(age // 10 * 10, 10), 70)}" for age in rows["age"].to_pylist()]
    rows = rows.select(["age", "sex", "race", "marital-status", "education", "occupation"])
    rows = rows.append_column("band", pa.array(bands))
    names = [name for name in rows.column_names if name != "occupation"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="occupation")
    priors = Priors.learn(rows, SETS[by], "occupation", **how)
    groups = ART(priors=priors, **limit).partition(fk.Microdata(rows, schema), seed=1)
    return priors, groups, released(rows, groups, "occupation")


@pytest.mark.thinned(4)
@pytest.mark.parametrize(
    ("by", "r", "smoothing", "semantics"),
    [
        ("sex", 5, 0, "joint"),  # a quarter of all women are clerks: large groups
        *[("sex", 3, 0, "binary"), ("sex", 4, 0, "joint"), ("race", 5, 0, "joint")],
        *[("each", 3, 0, "joint"), ("race", 4, 0, "binary"), ("band", 4, 0, "joint")],
        *[("sex", 2, 0, "joint"), ("together", 2, 20, "binary"), ("each", 2, 0, "binary")],
        ("together", 3, 20, "joint"),
    ],
)
def test_shares_of_adult(by, r, smoothing, semantics):
    priors, groups, release = of_adult(by, {"smoothing": smoothing, "semantics": semantics}, r=r)
    assert (np.bincount(groups).min() >= r, groups.min()) == (True, 0)
    assert priors.disclosure(release).exact <= Fraction(1, r)


@pytest.mark.thinned(5)
@pytest.mark.parametrize(
    ("by", "times", "semantics"),
    [("sex", 2, "joint"), ("sex", 3, "joint"), ("sex", 2, "binary"), ("race", 2, "joint")]
    + [("band", 2, "joint")],
)
def test_gains_of_adult(by, times, semantics):
    priors, groups, release = of_adult(by, {"semantics": semantics}, times=times)
    assert 1 < priors.gain(release).exact <= times
    assert groups.max() >= 100


def test_adult_cannot_be_grouped():
    """By the combination as it is."""
    with pytest.raises(NoSafeRelease, match="people are left"):
        of_adult("together", {}, r=2)


# ---- the l that a policy needs: of Streamliner, too ----------------------------------------------

FIVE = [*"abcde"] * 20


def people(values):
    n = len(values)
    weights, villages = [50 + i * 7 % 41 for i in range(n)], [f"v{i % 6}" for i in range(n)]
    rows = pa.table({"weight": weights, "village": villages, "ailment": values})
    schema = fk.Schema(quasi_identifiers=["weight", "village"], sensitive="ailment")
    return fk.Microdata(rows, schema)


def asking(below, l=0, k=0, about=None, **publish):  # noqa: E741
    requirement = fk.Requirement(fk.Facts(l, k), below=below, values=about)
    return fk.Policy([requirement], options=fk.PublishOptions(**publish))


def made_by(name, *given, **settings):
    """A method by its name, so that Anatomy is tested where Streamliner is not installed."""
    return getattr(fk, name)(*given, **settings)


MANY_A = [*"a"] * 43 + [*"b"] * 20 + [*"c"] * 20 + [*"d"] * 17


def test_l_that_nothing_chooses():
    with pytest.raises(fk.InputError, match="Anatomy: l is missing; give it, or a policy"):
        fk.Anatomy().partition(people(FIVE))
    with pytest.raises(fk.NoSafeRelease, match=r"'a' is had by 43 .* allows l = 2 at most"):
        made_by("Streamliner", 3).partition(people(MANY_A))
    frame = pa.table({"village": [f"v{i % 6}" for i in range(100)], "ailment": FIVE})
    priors = fk.Priors.learn(frame, ["village"], "ailment")
    rules = fk.Policy([fk.Requirement(priors, at_most="0.9")])
    with pytest.raises(fk.InputError, match="cannot be chosen from requirements about priors"):
        fk.publish(people(FIVE), rules, method=made_by("Streamliner"))


@pytest.mark.parametrize(
    ("name", "variant"), [("Anatomy", {}), ("Streamliner", {"variant": "gsa"})]
)
def test_attacked_with_its_l(name, variant):
    method = made_by(name, **variant)
    attack = fk.attack(people([*"abcd"] * 3), method, asking("0.4"))
    assert not attack.found
    assert f"{name}: " in repr(attack)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Anatomy", [2]),
        ("Streamliner", [2]),
        ("Streamliner", [2, "ria"]),
        ("Streamliner", [2, "gsa"]),
    ],
)
def test_boxes_of_unequal_groups(name, settings):
    """31 people in groups of 2 and 3 of one label: 1/2 is what the method promises of boxes."""

    def publish(n, below, settings):
        rows = pa.table({"zip": ["z"] * n, "ailment": [*("abcdefgh" * 4)[:n]]})
        schema = fk.Schema(quasi_identifiers=["zip"], sensitive="ailment")
        rules, method = asking(below, form="generalized"), made_by(name, *settings)
        return fk.publish(fk.Microdata(rows, schema), rules, method=method)

    with pytest.raises(fk.NoSafeRelease, match=r'as sure of a value as 1/2.*"bucketized".*l = 4'):
        publish(31, "0.3", settings)
    publish(31, "0.6", settings)
    if len(settings) == 1:
        publish(31, "0.3", [4])
        publish(30, "0.3", settings)


@pytest.mark.parametrize("seed", range(20 if NIGHTLY else 3))
def test_small_groups_clear_the_way(seed):
    """They are safe and hold nobody twice."""
    problem = mixed(np.random.default_rng(seed))
    mixer = Mixer(problem, problem)
    before = mixer.n_in_the_way()
    groups = mixer.small_groups(Way(problem))
    people = np.concatenate(groups)
    assert len(set(people.tolist())) == len(people)
    assert not mixer.free[people].any()
    assert np.array_equal(mixer.table, problem.counted(np.flatnonzero(mixer.free)))
    assert safe_lists(problem, groups).all()
    assert mixer.n_in_the_way() < before
