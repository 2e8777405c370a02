"""Anatomy's rounds and groups; the l that it, and Streamliner, choose from a policy."""

import itertools
import json
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from click.testing import CliRunner

import foreknow as fk
from foreknow.cli.entry import app

pytestmark = pytest.mark.usefixtures("tiny_tables")


# ---- the l that a policy needs: of Streamliner, too ----------------------------------------------

FIVE = [*"abcde"] * 20
BUCKETS = {"form": "bucketized"}


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


def surest(bag, ruled_out):
    """How likely a value of a group is after others are ruled out, in every way."""
    ways = [
        (value, out)
        for value in bag
        for out in itertools.combinations(set(bag) - {value}, min(ruled_out, len(bag) - 1))
    ]
    return max(Fraction(bag[v], sum(bag.values()) - sum(bag[x] for x in out)) for v, out in ways)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("variant", [None, "rda", "ria", "gda", "gsa"])
@pytest.mark.parametrize(
    ("ruled_out", "limit", "smallest"),
    [(0, "1/2", 3), (0, "0.21", 5), (1, "1/2", 4), (2, "0.6", 4), (1, "1", 3)],
)
def test_the_smallest_l(variant, ruled_out, limit, smallest):
    """Groups of l different values: below that, so many ruled out leave too few."""
    method = made_by("Streamliner", variant=variant) if variant else fk.Anatomy()
    made = fk.publish(people(FIVE), asking(limit, ruled_out, **BUCKETS), method=method)
    bags = {}
    for row in made.tables["sensitive"].to_pylist():
        bags.setdefault(row["group"], Counter())[row["ailment"]] += row["count"]
    assert max(surest(bag, ruled_out) for bag in bags.values()) < Fraction(limit)
    if variant != "ria":  # mostly one group, whose shares are those of everybody
        assert made.certificate.method["l"] == smallest


@pytest.mark.parametrize("name", ["Anatomy", "Streamliner"])
def test_l_below_does_not_hold(name):
    draw, tried = np.random.default_rng(15), 0
    for _ in range(6):
        values = draw.choice([*"abcdefg"], int(draw.integers(30, 60))).tolist()
        limit = Fraction(int(draw.integers(2, 9)), 10)
        rules = asking(limit, int(draw.integers(2)), int(draw.integers(2)), **BUCKETS)
        table, seed = people(values), int(draw.integers(99))
        try:
            made = fk.publish(table, rules, method=made_by(name), seed=seed)
            chosen = made.certificate.method["l"]
        except fk.NoSafeRelease:
            chosen = len(values) // max(Counter(values).values()) + 1
        for less in range(2, chosen):
            tried += 1
            with pytest.raises(fk.NoSafeRelease, match="do not hold what the policy requires"):
                fk.publish(table, rules, method=made_by(name, less), seed=seed)
    assert tried > 7


MANY_A = [*"a"] * 43 + [*"b"] * 20 + [*"c"] * 20 + [*"d"] * 17


@pytest.mark.parametrize(
    ("values", "below", "words"),
    [
        (
            MANY_A,
            "1/3",
            [
                *["'a' is had by 43 of 100 people (43.0%), which allows l = 2 at most"],
                *["reaches 0.5 for", 'method = "mondrian"'],
            ],
        ),
        ("aaaab" * 4, "0.9", ["(80.0%), which allows no l; publish by another"]),
        ([Decimal("60000.00")] * 4 + [Decimal("61000.00")], "0.9", ["'60000.00' is had by 4 of 5"]),
    ],
)
def test_a_value_in_the_way(values, below, words):
    with pytest.raises(fk.NoSafeRelease) as caught:
        fk.publish(people(list(values)), asking(below), method=fk.Anatomy())
    for said in words:
        assert said in str(caught.value)


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


def test_bucketized_unless_asked_otherwise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for form, method, policy in (
        ("bucketized", fk.Anatomy(3), asking("0.4")),
        ("generalized", fk.Anatomy(3), asking("0.4", form="generalized")),
        ("generalized", None, asking("0.4")),
    ):
        assert fk.publish(people(FIVE), policy, method=method).certificate.form == form
    weights = [50 + i * 7 % 41 for i in range(100)]
    pc.write_csv(pa.table({"weight": weights, "ailment": FIVE}), "t.csv")
    (tmp_path / "p.toml").write_text(
        '[schema]\nquasi_identifiers = ["weight"]\nsensitive = "ailment"\n'
        '[[require]]\nfacts = { l = 1 }\nbelow = 0.5\n[publish]\nmethod = "anatomy"\n'
    )
    for out, more, files, l in (  # noqa: E741
        ("one", [], {"people.csv", "sensitive.csv"}, {4}),
        ("two", ["--form", "generalized"], {"release.csv"}, {4}),
        ("three", ["--method", "mondrian"], {"release.csv"}, {None}),
        ("four", ["--method", "streamliner", "--set", "variant=ria"], {"release.csv"}, {2, 3, 4}),
    ):
        done = CliRunner().invoke(app, ["publish", "t.csv", "-p", "p.toml", "-o", out, *more])
        assert done.exit_code == 0, (done.output, done.exception)
        assert {path.name for path in (tmp_path / out).glob("*.csv")} == files
        certificate = json.loads((tmp_path / out / "certificate.json").read_text())
        assert certificate["method"].get("l") in l
        assert CliRunner().invoke(app, ["verify", out]).exit_code == 0


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


# ---- other methods that refuse in a few words ----------------------------------------------------


def test_out_of_reach_names_few():
    draw, functions = np.random.default_rng(0), []
    names = [f"patient {i:03}" for i in range(60)]
    for size in (3, 5, 10, 60):
        order = draw.permutation(names).tolist()
        functions.append([order[i : i + size] for i in range(0, 60, size)])
    sick = {name: str(draw.choice([*"aaabbcdefg"])) for name in names}
    with pytest.raises(fk.BeyondReach) as caught:
        made_by("Safe", functions, fk.MaxRatio("2/5"), steps=5).run(sick)
    assert len(str(caught.value)) < 200
    assert " = patient 0" in str(caught.value)
    with pytest.raises(fk.InputError, match="says nothing about 'another'") as refused:
        made_by("Safe", functions).run({**sick, "another": "a"})
    assert len(str(refused.value)) < 200


def test_art_fails_in_few_words():
    draw, n = np.random.default_rng(1), 400
    ills = draw.choice(["flu", "cold", "cancer of the lung"], n, p=[0.6, 0.3, 0.1])
    rows = pa.table({
        "job": draw.choice(["clerk", "teacher of languages", "nurse"], n),
        "school": draw.choice(["primary school", "university"], n),
        "sex": draw.choice([*"mf"], n),
        "ailment": ills,
    })  # fmt: skip
    columns = ["job", "school", "sex"]
    schema = fk.Schema(quasi_identifiers=columns, sensitive="ailment")
    priors = fk.Priors.learn(rows, columns, "ailment")
    for limit in ("0.3", "0.5", "0.62"):
        rules = fk.Policy([fk.Requirement(priors, at_most=limit)])
        with pytest.raises(fk.NoSafeRelease) as caught:
            fk.publish(fk.Microdata(rows, schema), rules, method="art")
        assert len(str(caught.value)) < 500
        said = "loosen the limit, or leave the value out of it (except = [...])"
        assert str(caught.value).endswith(said)
