"""Mondrian with suppression: what comes out is safe, keeps to the share, and loses no more.

Safety is that of a reference in plain Python, and of enumerated worlds where tables are tiny.
"""

import json
import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.examples import NIGHTLY
from tests.methods.reference import breach, safe
from tests.methods.tables import KINDS, Crowd, microdata
from tests.methods.test_mondrian import worst_in_worlds

import foreknow as fk
from foreknow.cli.entry import app

CASES = 1500 if NIGHTLY else 5
# A cluster, and what stands out of it.
PLACES = {
    "number": ([0, 1, 2], [-3, 5]),
    "decimal": ([0.5, 2.0], [1e6]),
    "text": (["x", "yy"], ["Z", "é"]),
    "order": (["low", "middle"], ["high"]),
    "tree": (["a", "b", "c"], ["f", "g", "h"]),
    "interval": ([0, 1, 2, 3], [12, 13]),
    "mask": (["000", "001"], ["100", "111"]),
}
LIMITS = ["1/2", "2/3", "3/4", "4/5", "9/10", "1", "1"]


def outlying(chance, semantics, most=24):
    """Some people, few of whom stand out; columns are of every kind."""
    kinds = [chance.choice(KINDS) for _ in range(chance.choice([1, 1, 2]))]
    size, kept = chance.randint(5, most), chance.choice([1, 1, 2, 3])

    def value(kind):
        usual, unusual = PLACES[kind.name]
        return chance.choice(unusual if chance.random() < 0.2 else usual[:kept])

    rows = [tuple(map(value, kinds)) for _ in range(size)]
    letters = "STUV"[: chance.randint(2, 4)]
    if semantics == "single":
        held = [chance.choice(letters) for _ in rows]
    else:
        often = [1] if semantics == "set" else [1, 2]
        held = [
            "".join(x * chance.choice(often) for x in letters if chance.random() < 0.4)
            for _ in rows
        ]
        held[0] = held[0] or "S"
    return Crowd(kinds, semantics, rows, held)


def drawn_rules(chance, values):
    """Requirements about facts, and the reference's rules for them."""
    points = {tuple(chance.choice([0, 0, 0, 1]) for _ in range(3)) for _ in range(2)}
    rules = [(values, point, Fraction(chance.choice(LIMITS))) for point in sorted(points)]
    return rules, [fk.Requirement(fk.Facts(*point), limit) for _, point, limit in rules]


def grouped(crowd, policy, share, seed=0):
    """The groups, and how many people of the last one are suppressed; None where none is safe."""
    try:
        found = fk.Mondrian(suppression=share).grouping(crowd.microdata(seed), policy)
    except fk.NoSafeRelease:
        return None
    return crowd.groups_of(found.of_row.tolist(), seed), found.suppressed


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_whatever_comes_out_is_safe_and_within_the_share(semantics):
    chance, met = random.Random(7), Counter()
    while sum(met.values()) < CASES or met[True] < CASES / 20:
        crowd = outlying(chance, semantics)
        rules, required = drawn_rules(chance, crowd.values)
        size = 1
        if semantics == "single":
            size = chance.choice([1, 2, 3, 4])
            required.append(fk.Requirement(fk.KAnonymity(size)))
        policy, share = fk.Policy(required), Fraction(chance.randint(1, 12), 20)
        found, without = grouped(crowd, policy, share), grouped(crowd, policy, 0)
        assert (found is None) == (without is None)
        if found is None or without is None:
            continue
        groups, suppressed = found
        assert safe(crowd.bags(groups), rules, semantics), (crowd, rules, groups)
        assert min(map(len, groups)) >= size
        assert suppressed <= share * len(crowd.rows)
        assert suppressed in (0, len(groups[-1]))
        if not suppressed:
            assert groups == without[0] or len(groups) > len(without[0])
        met[bool(suppressed)] += 1
        for group in groups:  # people with equal rows stay together
            inside = {crowd.rows[p] for p in group}
            assert group == [p for p, row in enumerate(crowd.rows) if row in inside]
        again, many = grouped(crowd, policy, share, seed=chance.randint(1, 9))
        assert (again[-1:] == groups[-1:], many) == (True, suppressed)
        assert sorted(again) == sorted(groups)


# By day those of few worlds in which somebody is suppressed: that is one in a hundred.
TINY = {"single": [497], "set": [106, 224], "multiset": [205]}


@pytest.mark.parametrize("semantics", TINY)
def test_tiny_results_are_safe_in_enumerated_worlds(semantics):
    met = 0
    for case in range(20_000) if NIGHTLY else TINY[semantics]:
        chance = random.Random(f"{semantics} {case}")
        crowd = outlying(chance, semantics, most=6 if case % 2 and NIGHTLY else 5)
        (rule, *_), (required, *_) = drawn_rules(chance, crowd.values)
        found = grouped(crowd, fk.Policy([required]), "1/2")
        if found is None or not found[1]:
            continue
        met += 1
        values, point, limit = rule
        for value in values:
            worst = worst_in_worlds(crowd, found[0], value, point)
            assert worst == breach(crowd.bags(found[0]), value, point, semantics)
            assert worst < limit
        if met == 60:
            break
    assert met >= (60 if NIGHTLY else 1)


def test_a_reader_finds_the_same_groups_and_no_more_is_lost_in_all():
    """Also where a column has few values, so that others might look like suppressed people."""
    chance, met = random.Random(5), 0
    for _ in range(500 if NIGHTLY else 12):
        crowd = outlying(chance, "single")
        _, required = drawn_rules(chance, crowd.values)
        policy = fk.Policy([*required, fk.Requirement(fk.KAnonymity(2))], crowd.schema)
        raw, share = crowd.microdata(), Fraction(chance.randint(1, 12), 20)
        try:
            made, without = (
                fk.publish(raw, policy, method=fk.Mondrian(suppression=s), format="parquet")
                for s in (share, 0)
            )
        except fk.NoSafeRelease:
            continue
        groups = fk.Mondrian(suppression=share).partition(raw.rounded({}), policy)
        assert sorted(np.bincount(groups)) == sorted(made.release.counts.sizes)
        lost = [sum(each.utility.ncp.values()) for each in (made, without)]
        assert lost[0] <= lost[1] + 1e-9
        many = made.audit.scope.people_suppressed
        assert many <= share * len(crowd.rows)
        if many:
            met += 1
            stars = [
                row
                for row in made.to_arrow().to_pylist()
                if all(str(row[name]).startswith("*") for name in crowd.names)
            ]
            assert len(stars) == many
    assert met


# ---- by hand --------------------------------------------------------------------------------

AGES, ILL = [2, *[30] * 4, *[31] * 4, 90, 95], "abcabcabcab"
THREE = [fk.Requirement(fk.KAnonymity(3))]


def test_people_who_stand_out_are_suppressed_together():
    raw = microdata(AGES, ILL)
    whole = fk.Mondrian().partition(raw, fk.Policy(THREE)).tolist()
    assert max(whole) == 1
    found = fk.Mondrian(suppression="3/11").partition(raw, fk.Policy(THREE)).tolist()
    assert [age for age, group in zip(AGES, found, strict=True) if group == max(found)] == [
        2,
        90,
        95,
    ]
    # One person less, and they are too few for a group.
    assert fk.Mondrian(suppression="2/11").partition(raw, fk.Policy(THREE)).tolist() == whole


def test_whole_groups_join_where_suppressed_people_alone_are_not_safe():
    """Everybody who stands out has a; with others it is rare enough."""
    ages = [*[1] * 4, *[30] * 30, 900, 905]
    ill = "abcb" + "bca" * 10 + "aa"
    policy = fk.Policy([fk.Requirement(fk.Facts(), "2/3", values=["a"])])
    raw = microdata(ages, ill)
    groups = fk.Mondrian(suppression=0.4).partition(raw, policy)
    own = {g: [x for x, of in zip(ill, groups, strict=True) if of == g] for g in set(groups)}
    assert all(3 * bag.count("a") < 2 * len(bag) for bag in own.values())
    assert {*groups[:4], *groups[-2:]} == {max(groups)}


@pytest.mark.parametrize("given", [1, -0.1, "5%", float("nan"), True, None])
def test_a_share_that_is_none_is_refused(given):
    if given == "5%":
        with pytest.raises(fk.InputError):
            fk.Mondrian(suppression="150%")
        return
    with pytest.raises(fk.InputError, match="Mondrian: suppression is a share of the people"):
        fk.Mondrian(suppression=given)


def test_not_even_one_group_of_everybody_is_no_more_safe_with_suppression():
    with pytest.raises(fk.NoSafeRelease, match="not even one group of all 4 people"):
        fk.Mondrian(suppression=0.5).partition(
            microdata(range(4), "aaab"), fk.Policy([fk.Requirement(fk.Facts(), "1/2")])
        )


def test_what_it_declares():
    policy, some = fk.Policy(THREE), fk.Mondrian(suppression=0.1)
    assert not some.traits.minimal(policy)
    assert some.traits.replay is None
    assert fk.Mondrian().traits.minimal(policy)
    assert fk.Mondrian().traits.replay is not None
    assert some.to_dict() == {"cuts": 5, "suppression": 0.1}


@pytest.mark.complete
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_a_release_is_written_verified_and_says_how_many(tmp_path, form, file_format):
    policy = fk.Policy(
        [fk.Requirement(fk.GroupSize(3)), fk.Requirement(fk.Facts(), "9/10")],
        fk.Schema(quasi_identifiers=["age"], sensitive="ill"),
        fk.PublishOptions(
            form=form,
            format=file_format,
            labels={"age": "exact"},
            settings={"mondrian": {"suppression": 0.3}},
        ),
    )
    made = fk.publish(pa.table({"age": AGES, "ill": list(ILL)}), policy)
    made.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    certificate = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert certificate["method"] == {"name": "Mondrian", "cuts": 5, "suppression": 0.3}
    assert certificate["scope"]["people_suppressed"] == made.audit.scope.people_suppressed == 3
    assert not certificate.get("minimal")
    said = "3 people are suppressed: in one group, whatever their quasi-identifiers."
    assert said in made.audit.notes
    assert said in (tmp_path / "out" / "report.html").read_text()
    table = made.to_arrow("release" if form == "generalized" else "people").to_pylist()
    if form == "generalized":
        assert sum(row["age"] == "*" for row in table) == 3
    else:
        group = next(row["group"] for row in table if str(row["age"]) == "90")
        own = {str(row["age"]) for row in table if row["group"] == group}
        assert own == {"2", "90", "95"}


def test_from_the_command_line(tmp_path):
    lines = [f"{age},{ill}" for age, ill in zip(AGES, ILL, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["age,ill", *lines, ""]))
    (tmp_path / "p.toml").write_text(
        '[schema]\nquasi_identifiers = ["age"]\nsensitive = "ill"\n'
        '[[require]]\nk_anonymity = 3\n[publish]\nlabels = { age = "exact" }\n'
        "mondrian = { suppression = 0.3 }\n"
    )
    call = ["publish", str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.toml"), "--out"]
    run = CliRunner().invoke
    done = run(app, [*call, str(tmp_path / "a")])
    assert done.exit_code == 0, done.output
    assert "3 people are suppressed" in " ".join(done.output.split())
    none = run(app, [*call, str(tmp_path / "b"), "--set", "suppression=0"])
    assert "suppressed" not in none.output
    checked = run(app, ["verify", str(tmp_path / "a")])
    assert checked.exit_code == 0, checked.output
    for bad in ("1", "x"):
        refused = run(app, [*call, str(tmp_path / "c"), "--set", f"suppression={bad}"])
        assert isinstance(refused.exception, fk.InputError), refused.output


def test_several_columns_and_columns_known_beside():
    chance, met = random.Random(11), 0
    for _ in range(40 if NIGHTLY else 8):
        size = chance.randint(20, 40)
        ages = [
            chance.choice([1, 90]) if chance.random() < 0.1 else 30 + p // 12 for p in range(size)
        ]
        columns = {name: [chance.choice("xyz") for _ in ages] for name in ("ill", "pay", "job")}
        schema = fk.Schema(quasi_identifiers=["age"], sensitive=["ill", "pay"], other=["job"])
        policy = fk.Policy(
            [
                fk.Requirement(fk.Facts(), "9/10", sensitive="ill", knowing=[]),
                fk.Requirement(fk.Facts(), "9/10", sensitive="pay", knowing=[]),
                fk.Requirement(fk.KAnonymity(4), knowing=[]),
            ],
            schema,
            fk.PublishOptions(labels={"age": "exact"}),
        )
        try:  # judged as written, and verified
            made = fk.publish(
                pa.table({"age": ages, **columns}), policy, method=fk.Mondrian(suppression=0.3)
            )
        except fk.NoSafeRelease:
            continue
        met += made.audit.scope.people_suppressed > 0
        assert made.audit.safe
    assert met
