"""Anatomy and Streamliner choose l from the policy; what they cannot promise they refuse."""

import itertools
import json
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from click.testing import CliRunner
from tests.cli.desk import Desk

import foreknow as fk
from foreknow.cli.entry import app

pytestmark = pytest.mark.usefixtures("tiny_tables")

VARIANTS = ["rda", "ria", "gda", "gsa"]
FIVE = [*"abcde"] * 20
HALVES = [*"a"] * 43 + [*"b"] * 20 + [*"c"] * 20 + [*"d"] * 17


def people(values, **more):
    n = len(values)
    rows = {
        "weight": [50 + i * 7 % 41 for i in range(n)],
        "village": [f"v{i % 6}" for i in range(n)],
    }
    schema = fk.Schema(quasi_identifiers=list(rows), sensitive="ailment", **more)
    return fk.Microdata(pa.table({**rows, "ailment": values}), schema)


def policy(*requirements, **publish):
    return fk.Policy(list(requirements), options=fk.PublishOptions(**publish))


def facts(l, below, k=0, **about):  # noqa: E741
    return fk.Requirement(fk.Facts(l, k), below=below, **about)


def published_bags(made):
    """The values of each published group, from the tables alone."""
    bags = {}
    for row in made.tables["sensitive"].to_pylist():
        bags.setdefault(row["group"], Counter())[row["ailment"]] += row["count"]
    return list(bags.values())


def surest(bag, ruled_out):
    """How likely a value of a group is after others are ruled out, in every way."""
    return max(
        Fraction(bag[value], sum(bag.values()) - sum(bag[x] for x in out))
        for value in bag
        for out in itertools.combinations(
            [x for x in bag if x != value], min(ruled_out, len(bag) - 1)
        )
    )


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "method", [fk.Anatomy(), *(fk.Streamliner(variant=v) for v in VARIANTS)], ids=repr
)
@pytest.mark.parametrize(
    ("ruled_out", "limit"), [(0, "1/2"), (0, "0.21"), (1, "1/2"), (2, "0.6"), (1, "1")]
)
def test_the_smallest_l_that_holds_is_chosen(method, ruled_out, limit):
    rules = policy(facts(ruled_out, limit), form="bucketized")
    made = fk.publish(people(FIVE), rules, method=method)
    l = made.certificate.method["l"]  # noqa: E741
    found = max(surest(bag, ruled_out) for bag in published_bags(made))
    assert found < Fraction(limit)
    if getattr(method, "variant", "rda") == "ria":
        return  # mostly one group, whose shares are those of everybody
    # Groups of l different values: below that, so many ruled out leave too few.
    smallest = next(
        x
        for x in range(2, 6)
        if Fraction(1, max(x - ruled_out, 1)) < Fraction(limit)
        or (Fraction(limit) == 1 and x > ruled_out + 1)
    )
    assert l == smallest


@pytest.mark.parametrize("kind", [fk.Anatomy, fk.Streamliner])
def test_an_l_below_the_chosen_one_does_not_hold(kind):
    draw = np.random.default_rng(15)
    tried = 0
    for _ in range(12):
        values = draw.choice([*"abcdefg"], int(draw.integers(30, 90))).tolist()
        limit = Fraction(int(draw.integers(2, 9)), 10)
        rules = policy(
            facts(int(draw.integers(2)), limit, int(draw.integers(2))), form="bucketized"
        )
        table, seed = people(values), int(draw.integers(99))
        try:
            chosen = fk.publish(table, rules, method=kind(), seed=seed).certificate.method["l"]
        except fk.NoSafeRelease:
            chosen = len(values) // max(Counter(values).values()) + 1
        for less in range(2, chosen):
            tried += 1
            with pytest.raises(fk.NoSafeRelease, match="do not hold what the policy requires"):
                fk.publish(table, rules, method=kind(less), seed=seed)
    assert tried > 15


def test_a_limit_on_some_values_or_on_group_sizes_chooses_l_too():
    about = policy(facts(0, "0.3", values=["e"]), form="bucketized")
    assert fk.publish(people(FIVE), about, method=fk.Anatomy()).certificate.method["l"] == 4
    sizes = policy(fk.Requirement(fk.GroupSize(3)), form="bucketized")
    assert fk.publish(people(FIVE), sizes, method=fk.Streamliner()).certificate.method["l"] == 3


def test_what_is_impossible_is_said_with_the_value_in_the_way():
    with pytest.raises(fk.NoSafeRelease) as caught:
        fk.publish(people(HALVES), policy(facts(0, "1/3")), method=fk.Anatomy())
    said = str(caught.value)
    assert "'a' is had by 43 of 100 people (43.0%), which allows l = 2 at most" in said
    assert "reaches 0.5 for" in said
    assert 'method = "mondrian"' in said
    with pytest.raises(fk.NoSafeRelease, match=r"'a' is had by 43 .* allows l = 2 at most"):
        fk.Streamliner(3).partition(people(HALVES))
    with pytest.raises(
        fk.NoSafeRelease, match=r"\(80\.0%\), which allows no l; publish by another"
    ):
        fk.publish(people([*"aaaab"] * 4), policy(facts(0, "0.9")), method=fk.Anatomy())
    pay = [Decimal("60000.00")] * 4 + [Decimal("61000.00")]
    with pytest.raises(fk.NoSafeRelease, match=r": '60000\.00' is had by 4 of 5"):
        fk.publish(people(pay), policy(facts(0, "0.9")), method=fk.Anatomy())


def test_l_is_needed_where_nothing_can_choose_it():
    with pytest.raises(fk.InputError, match="Anatomy: l is missing; give it, or a policy"):
        fk.Anatomy().partition(people(FIVE))
    table = people(FIVE)
    frame = pa.table({"village": [f"v{i % 6}" for i in range(100)], "ailment": FIVE})
    priors = fk.Priors.learn(frame, ["village"], "ailment")
    rules = policy(fk.Requirement(priors, at_most="0.9"))
    with pytest.raises(fk.InputError, match="cannot be chosen from requirements about priors"):
        fk.publish(table, rules, method=fk.Streamliner())


def test_the_attack_is_on_the_method_with_its_l():
    table, rules = people([*"abcd"] * 3), policy(facts(0, "0.4"))
    for method in (fk.Anatomy(), fk.Streamliner(), fk.Streamliner(variant="gsa")):
        found = fk.attack(table, method, rules)
        assert not found.found
        assert f"{type(method).__name__}: " in repr(found)


def test_anatomy_is_bucketized_unless_asked_otherwise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = people(FIVE)
    assert (
        fk.publish(table, policy(facts(0, "0.4")), method=fk.Anatomy(3)).certificate.form
        == "bucketized"
    )
    asked = policy(facts(0, "0.4"), form="generalized")
    assert fk.publish(table, asked, method=fk.Anatomy(3)).certificate.form == "generalized"
    assert fk.publish(table, policy(facts(0, "0.4"))).certificate.form == "generalized"
    pc.write_csv(
        pa.table({"weight": [50 + i * 7 % 41 for i in range(100)], "ailment": FIVE}), "t.csv"
    )
    text = """[schema]
quasi_identifiers = ["weight"]
sensitive = "ailment"
[[require]]
facts = { l = 1 }
below = 0.5
[publish]
method = "anatomy"
"""
    (tmp_path / "p.toml").write_text(text)
    for out, more, files in (
        ("one", [], {"people.csv", "sensitive.csv"}),
        ("two", ["--form", "generalized"], {"release.csv"}),
        ("three", ["--method", "mondrian"], {"release.csv"}),
        ("four", ["--method", "streamliner", "--set", "variant=ria"], {"release.csv"}),
    ):
        said = CliRunner().invoke(app, ["publish", "t.csv", "-p", "p.toml", "-o", out, *more])
        assert said.exit_code == 0, (said.output, said.exception)
        assert {path.name for path in (tmp_path / out).glob("*.csv")} == files
        known = json.loads((tmp_path / out / "certificate.json").read_text())
        assert ("l" in known["method"]) == (out != "three")
        assert CliRunner().invoke(app, ["verify", out]).exit_code == 0
    assert json.loads((tmp_path / "one" / "certificate.json").read_text())["method"]["l"] == 4


def test_boxes_of_unequal_groups_refuse_a_limit_below_1_l():
    """31 people in groups of 2 and 3 of one label: 1/2 is what the method promises of boxes."""
    table = fk.Microdata(
        pa.table({"zip": ["z"] * 31, "ailment": [*"abcdefgh"] * 3 + [*"abcdefg"]}),
        fk.Schema(quasi_identifiers=["zip"], sensitive="ailment"),
    )
    for method in (
        fk.Streamliner(2),
        fk.Anatomy(2),
        fk.Streamliner(2, "ria"),
        fk.Streamliner(2, "gsa"),
    ):
        with pytest.raises(
            fk.NoSafeRelease, match=r'as sure of a value as 1/2.*"bucketized".*l = 4'
        ):
            fk.publish(table, policy(facts(0, "0.3"), form="generalized"), method=method)
        fk.publish(table, policy(facts(0, "0.6"), form="generalized"), method=method)
    fk.publish(table, policy(facts(0, "0.3"), form="generalized"), method=fk.Streamliner(4))
    rows = pa.table({"zip": ["z"] * 30, "ailment": [*"abcdefgh"] * 3 + [*"abcdef"]})
    even = fk.Microdata(rows, table.schema)
    fk.publish(even, policy(facts(0, "0.3"), form="generalized"), method=fk.Streamliner(2))


def test_jump_that_is_out_of_steps_is_no_bad_input(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    desk = Desk(tmp_path, monkeypatch, capsys)
    draw = random.Random(1)
    rows = [
        (draw.randint(20, 59), draw.choice(["1", "2", "11"]), draw.choice("aaaaabbbcd"))
        for _ in range(40)
    ]
    desk.put("t.csv", "weight,zip,ailment\n" + "".join(f"{w},{z},{a}\n" for w, z, a in rows))
    rules = """[schema]
quasi_identifiers = ["weight", "zip"]
sensitive = "ailment"
hierarchies = { weight = { intervals = [10, 20] }, zip = { intervals = [10] } }
[[require]]
facts = {}
below = 0.5
[publish]
method = "safe"
safe = { functions = ["weight=1", "zip=1", "weight=2", "zip=*"], steps = 3 }
"""
    desk.put("p.toml", rules)
    code, _, said = desk.run("publish", "t.csv", "-p", "p.toml", "-o", "out")
    assert code == 1, said
    assert "Nothing is published. More steps (steps = 30) change no result" in said
    assert not (desk.folder / "out").exists()


def test_out_of_reach_is_said_without_everybodys_name():
    draw, functions = random.Random(0), []
    names = [f"patient {i:03}" for i in range(60)]
    for size in (3, 5, 10, 60):
        own = draw.sample(names, 60)
        functions.append([own[i : i + size] for i in range(0, 60, size)])
    sick = {name: draw.choice("aaabbcdefg") for name in names}
    with pytest.raises(fk.BeyondReach) as caught:
        fk.Safe(functions, fk.MaxRatio("2/5"), steps=5).run(sick)
    assert len(str(caught.value)) < 200
    assert " = patient 0" in str(caught.value)
    with pytest.raises(fk.InputError) as refused:
        fk.Safe(functions).run({**sick, "another": "a"})
    assert len(str(refused.value)) < 200
    assert "says nothing about 'another'" in str(refused.value)


def test_art_fails_in_a_few_words():
    draw = np.random.default_rng(1)
    jobs, schools = ["clerk", "teacher of languages", "nurse"], ["primary school", "university"]
    rows = pa.table(
        {
            "job": draw.choice(jobs, 400),
            "school": draw.choice(schools, 400),
            "sex": draw.choice([*"mf"], 400),
            "ailment": draw.choice(["flu", "cold", "cancer of the lung"], 400, p=[0.6, 0.3, 0.1]),
        }
    )
    columns = ["job", "school", "sex"]
    schema = fk.Schema(quasi_identifiers=columns, sensitive="ailment")
    priors = fk.Priors.learn(rows, columns, "ailment")
    for limit in ("0.3", "0.5", "0.62"):
        rules = policy(fk.Requirement(priors, at_most=limit))
        with pytest.raises(fk.NoSafeRelease) as caught:
            fk.publish(fk.Microdata(rows, schema), rules, method="art")
        assert len(str(caught.value)) < 500
        assert str(caught.value).endswith(
            "loosen the limit, or leave the value out of it (except = [...])"
        )
