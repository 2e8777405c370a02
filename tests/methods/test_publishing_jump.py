"""Publishing by `jump`, `safe` and `naive`: from a policy to a release that says what it claims."""

import json
import random

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.people import short_report

import foreknow as fk
from foreknow.attacks.method_runner import Runs
from foreknow.methods.registry import method_of
from foreknow_judge.errors import PolicyError

HIERARCHIES = {"age": {"intervals": [10, 20]}, "zip": {"mask": 2}}

# Functions that are no chain, where the naive algorithm tells much.
CROSSED = ["age=1", "zip=1", "age=2", "zip=*"]


def table(n=24, seed=1, values="abcdef"):
    draw = random.Random(seed)
    return pa.table(
        {
            "age": [draw.randint(20, 59) for _ in range(n)],
            "zip": [draw.choice(["01", "02", "11"]) for _ in range(n)],
            "disease": [draw.choice(values) for _ in range(n)],
        }
    )


def policy(*require, **publish):
    return fk.Policy.from_dict(
        {
            "schema": {
                "quasi_identifiers": ["age", "zip"],
                "sensitive": "disease",
                "hierarchies": HIERARCHIES,
            },
            "require": list(require) or [{"facts": {}, "below": "1/2"}],
            "publish": publish,
        }
    )


def made(rules, rows=None):
    return fk.publish(fk.Microdata(table() if rows is None else rows, rules.schema), rules, seed=1)


@pytest.mark.parametrize("method", ["jump", "safe", "naive"])
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_what_a_certificate_says(method, file_format, tmp_path, monkeypatch):
    short_report(monkeypatch)
    rules = policy(
        {"values": ["a"], "facts": {"l": 1}, "below": "2/3"},
        {"facts": {}, "below": "1/2", "except": ["a"]},
        method=method,
        format=file_format,
    )
    certificate = made(rules).write(tmp_path / "out")
    known = fk.Certificate.load(tmp_path / "out" / "certificate.json")
    assert known.check(tmp_path / "out") == []
    assert known.method["functions"][-1] == "age=*, zip=*"
    assert known.method["property"].startswith("All(RuledOut('2/3', 1, values=['a']), MaxRatio(")
    assert "released" not in json.dumps(certificate.to_dict())
    (note,) = known.notes
    assert ("not judged" in note) == (method == "naive")
    assert "about the release alone" in note
    assert method.capitalize() in note


def test_everybody_is_written_at_the_released_levels():
    rows = pa.table(
        {
            "age": [21, 21, 21, 25, 33, 33, 33, 33],
            "zip": ["01"] * 4 + ["02"] * 4,
            "disease": list("abcdabcd"),
        }
    )
    rules = policy(method="safe", safe={"functions": ["age=1, zip=1", "age=2"]})
    found = made(rules, rows)
    published = found.tables["release"].to_pydict()
    # All in the second group are 33, of zip 02: that is not written.
    assert set(zip(published["age"], published["zip"], strict=True)) == {
        ("20 to 29", "0*"),
        ("30 to 39", "0*"),
    }
    # Groups of different zip codes are written so even where nothing is united.
    whole = made(policy(method="safe", safe={"functions": ["zip=*"]}), rows)
    assert set(whole.tables["release"]["age"].to_pylist()) == {"*"}


def test_functions_of_the_default_order_are_named_in_the_certificate():
    rules = policy(method="jump", jump={"distances": 2, "steps": 1_000_000})
    method = made(rules).certificate.method
    n = len(method["functions"])
    assert n > 2
    assert method["distances"] == [2] * n
    assert method["steps"] == 1_000_000
    again = policy(method="jump", jump={"distances": 2, "functions": method["functions"]})
    assert made(again).certificate.method["functions"] == method["functions"]


def test_nothing_is_an_outcome_that_is_told():
    rows = table(values="aab")
    rules = policy(method="jump")
    with pytest.raises(fk.NoSafeRelease) as caught:
        made(rules, rows)
    said = str(caught.value)
    assert "Jump releases nothing of the pyarrow frame" in said
    assert rows["disease"].to_pylist().count("a") == 12
    assert "can be sure of someone's value with 1/2, which does not keep that property" in said
    few = policy(method="jump", jump={"functions": ["age=1, zip=0", "age=1, zip=1"]})
    with pytest.raises(fk.NoSafeRelease, match=r"can be sure of .* which keeps that property"):
        made(few, table(n=30, values="abcdefgh"))


def test_what_nothing_tells_may_be_beyond_reach():
    rules = policy(method="naive", naive={"functions": ["age=1", "age=2"], "steps": 1})
    with pytest.raises(fk.NoSafeRelease, match=r"may learn from it; how much was not counted"):
        made(rules, table(n=16, values="aabbcde"))


def test_what_is_beyond_reach_is_decided_by_nothing_else():
    rules = policy(method="safe", safe={"functions": CROSSED, "steps": 3})
    with pytest.raises(fk.BeyondReach) as caught:
        made(rules, table(n=40, values="aaaaabbbcd"))
    said = str(caught.value)
    assert "Safe decides nothing of the pyarrow frame: what g" in said
    assert "of 4 functions: exact counting takes more than 3 steps" in said
    assert "(steps = 30) change no result" in said


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"property": "MaxRatio"}, "publish.jump: unknown key property; known: .*'distances'"),
        ({"distance": 2}, "unknown key distance; did you mean 'distances'"),
        ({"distances": [1, 2, 3, 4, 5, 6, 7]}, "7 jump distances for"),
        ({"functions": ["age"]}, "names people"),
        ({"functions": "age=1"}, "publish.jump: functions: it should be a valid list, not 'age=1'"),
        ({"functions": ["height=1"]}, "no quasi-identifier"),
    ],
)
def test_wrong_settings_beside_a_policy(settings, message):
    rules = policy()
    options = fk.PublishOptions(method="jump", settings={"jump": settings})
    with pytest.raises(fk.InputError, match=message):
        fk.publish(fk.Microdata(table(), rules.schema), rules, options=options)


def test_a_policy_that_cannot_be_judged_is_refused():
    rules = policy({"name": "x", "facts": {"k": 2}, "below": "1/2"}, method="jump")
    with pytest.raises(PolicyError, match=r"x: Facts.* cannot be judged by a method that foresees"):
        made(rules)


def test_values_by_how_they_begin_are_refused():
    rules = policy({"values": ["H*"], "facts": {}, "below": "1/2"}, method="jump")
    with pytest.raises(PolicyError, match=r"'H\*'"):
        method_of("jump", rules)


def test_values_that_are_numbers_are_protected_as_they_print():
    draw = random.Random(2)
    rows = table(n=30).set_column(
        2, "disease", pa.array([draw.choice([1, 2, 2, 3]) for _ in range(30)])
    )
    require = {"values": [2], "facts": {}, "below": "3/5"}
    found = made(policy(require, method="safe"), rows)
    assert found.audit.safe
    own = method_of("safe", policy(require))
    assert own.property.colour(2) == 0


def test_a_property_of_ones_own_may_fail_the_policy():
    rules = policy({"facts": {"k": 1}, "below": "1/2"})
    data = fk.Microdata(table(), rules.schema)
    with pytest.raises(fk.NoSafeRelease, match=r"Jump made groups that do not hold.*property"):
        fk.publish(data, rules, method=fk.Jump(property=fk.MaxRatio("9/10")), seed=1)
    own = fk.Jump(["age=2", "age=*"], property=fk.MaxRatio("2/5"))
    assert fk.publish(data, policy(), method=own, seed=1).audit.safe


# ---- against an adversary who knows the method ---------------------------------------------------


def attacked(method, rules, rows):
    data = fk.Microdata(rows, rules.schema)
    try:
        return fk.attack(data, method_of(method, rules), rules, worlds=3_000)
    except fk.NoSafeRelease:
        return None


def small(seed):
    draw = random.Random(seed)
    n = draw.choice([6, 7])
    return pa.table(
        {
            "age": [draw.choice([21, 25, 33, 37, 41]) for _ in range(n)],
            "zip": [draw.choice(["01", "02", "11"]) for _ in range(n)],
            "disease": [draw.choice("aabbcd") for _ in range(n)],
        }
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize("seed", range(10 if NIGHTLY else 3))
@pytest.mark.parametrize("method", ["jump", "safe"])
def test_no_attack_reaches_a_limit(seed, method):
    require = [
        {"facts": {}, "below": "2/3", "except": ["a"]},
        {"values": ["a"], "facts": {}, "below": "3/5"},
    ]
    for settings in ({}, {"functions": CROSSED}):
        rules = policy(*require, method=method, **{method: settings})
        found = attacked(method, rules, small(seed))
        if found is not None:
            assert found.exact
            assert not found.found, (seed, method, settings)


def test_the_naive_method_is_found_out():
    rules = policy({"facts": {}, "below": "2/3"}, naive={"functions": CROSSED})
    attacks = [attacked("naive", rules, small(seed)) for seed in range(12)]
    assert any(found is not None and found.found for found in attacks)


def test_attacks_know_that_nodes_treat_rows_alike():
    rules = policy()
    data = fk.Microdata(table(n=8), rules.schema)
    for name in ("jump", "safe", "naive"):
        assert Runs(data, method_of(name, rules), rules).symmetric
    release = fk.Release.from_groups(
        pa.table({"age": [21, 25, 33, 37], "g": [1, 1, 2, 2], "disease": list("abab")}),
        group="g",
        sensitive="disease",
    )
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="disease", hierarchies={"age": {"intervals": [10]}}
    )
    method = fk.Safe(["age=1", "age=*"], fk.MaxRatio("1/2"))
    found = fk.Algorithm(method, schema=schema).disclosure(release)
    assert str(found.exact) == "1/2"


def test_groups_of_rows_are_published_without_their_order():
    rules = policy()
    data = fk.Microdata(table(n=12, seed=6), rules.schema)
    groups = [0, 1] * 6
    found = fk.publish(data, rules, method=fk.Naive([groups, [0] * 12], fk.MaxRatio("1/2", True)))
    assert found.certificate.method["functions"] == [
        "<2 groups of 12 people>",
        "<1 groups of 12 people>",
    ]
    assert found.audit.safe
