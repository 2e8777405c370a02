"""Named worst cases: the statements disclose exactly what Facts does, and are true."""

import random
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow_judge.errors import InputError


def drawn(semantics, seed):
    """A random release, and what everybody has."""
    chance = random.Random(seed)
    values = ["AIDS", "Flu", "Cold", "Gout"][: chance.randrange(2, 5)]
    rows, has = [], {}
    for group in range(chance.randrange(1, 4)):
        for _ in range(chance.randrange(1, 7)):
            name = f"P {len(has)}"
            has[name] = [chance.choice(values)]
            if semantics != "single":
                has[name] = [v for v in values if chance.random() < 0.4]
            if semantics == "multiset":
                has[name] += [v for v in values if chance.random() < 0.2]
            rows += [(name, group, v) for v in has[name] or [None]]
    chance.shuffle(rows)
    names, groups, own = zip(*rows, strict=True)
    table = pa.table({"who": names, "gid": groups, "disease": pa.array(own, pa.string())})
    release = fk.Release.from_groups(
        table, group="gid", sensitive="disease", person="who", semantics=semantics
    )
    return release, has


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
@pytest.mark.parametrize("seed", range(60 if NIGHTLY else 15))
def test_statements_disclose_the_same(semantics, seed):
    release, has = drawn(semantics, seed)
    chance = random.Random(seed)
    for value, total in zip(release.counts.values, release.counts.totals, strict=True):
        facts = fk.Facts(*(chance.randrange(4) for _ in range(3)))
        found = facts.disclosure(release, value)
        if not total:
            continue
        named = fk.name_people(release, found)
        known = fk.Statements(*named.statements)
        assert known.posterior(release, named.target, named.value).exact == found.exact, named
        assert value in has[named.target]
        people = [named.target, *(person for person, _ in named.known), *named.relatives]
        assert len(set(people)) == len(people)
        for person, what in named.known:
            if semantics == "single":
                assert has[person] == [what]
            else:
                untrue = f'{what} not in "{person}"' in named.untrue
                assert (what in has[person]) == untrue
        if semantics == "single":
            assert not set(named.ruled_out) & set(has[named.target])
        assert semantics == "multiset" or not named.untrue
        assert len(named.known) <= facts.k
        assert len(named.ruled_out) <= facts.l
        assert len(named.relatives) <= facts.m


def release_of(rows, semantics="single"):
    names, groups, values = zip(*rows, strict=True)
    table = pa.table({"who": names, "gid": groups, "disease": values})
    return fk.Release.from_groups(
        table, group="gid", sensitive="disease", person="who", semantics=semantics
    )


WARD = [
    ("Tom", 1, "AIDS"),
    ("Ed", 1, "Flu"),
    ("Gary", 1, "Flu"),
    ("Ann Lee", 1, "Cold"),
    ("not", 1, "Gout"),
]


def test_texts_and_sentence_under_single():
    release = release_of(WARD)
    named = fk.name_people(release, fk.Facts(1, 1, 1).disclosure(release, "AIDS"))
    assert named.statements == ("Tom != Flu", '"Ann Lee" = Cold', "Ed = AIDS -> Tom = AIDS")
    assert named.sentence() == (
        "Someone who knows that Tom does not have Flu, that Ann Lee has Cold and that Tom has AIDS "
        "if Ed has it can be 60% sure that Tom has AIDS."
    )
    assert repr(named) == "NamedWitness('Tom' has 'AIDS': 0.6 given 3 statements)"
    said = named.to_dict()
    assert said["statements"] == list(named.statements)
    assert (said["target"], said["value"], said["exact"]) == ("Tom", "AIDS", "3/5")


def test_names_that_are_words():
    release = release_of([("not", 1, "AIDS"), ('say "hi"', 1, "in"), ("b\\c", 1, "x y")])
    named = fk.name_people(release, fk.Facts(1, 0, 1).disclosure(release, "AIDS"))
    assert named.statements == ('"not" != "in"', r'"say \"hi\"" = AIDS -> "not" = AIDS')
    certain = fk.name_people(release, fk.Facts(1, 0, 2).disclosure(release, "AIDS"))
    assert certain.statements == (  # two links are enough, and nothing else is named
        r'"say \"hi\"" = AIDS -> "not" = AIDS',
        r'"b\\c" = AIDS -> "not" = AIDS',
    )
    known = fk.Statements(*named.statements)
    assert known.posterior(release, "not", "AIDS").exact == named.exact == Fraction(2, 3)


def test_texts_and_sentence_under_set():
    rows = [*WARD, ("Tom", 1, "Flu"), ("Ed", 1, "Cold"), ("Zoe", 1, "AIDS")]
    release = release_of(rows, "set")
    named = fk.name_people(release, fk.Facts(1, 2, 1).disclosure(release, "AIDS"))
    assert named.statements == (
        "Flu in Tom -> AIDS in Tom",
        "AIDS not in Ed",
        "AIDS not in Gary",
        'AIDS in "Ann Lee" -> AIDS in Tom',
    )
    assert named.sentence() == (
        "Someone who knows that Tom would have Flu only together with AIDS, that Ed and Gary do "
        "not have AIDS and that Tom has AIDS if Ann Lee has it can be 86% sure that Tom has AIDS."
    )


def test_worst_cases_that_are_untrue():
    release = release_of([("A", 1, "x"), ("B", 1, "x"), ("C", 1, "x"), ("C", 1, "y")], "multiset")
    named = fk.name_people(release, fk.Facts(k=1).disclosure(release, "x"))
    assert named.statements == named.untrue == ("x not in B",)
    known = fk.Statements(*named.statements)
    assert known.posterior(release, "A", "x").exact == named.exact


def test_missing_values():
    table = pa.table({"who": ["A", "B", "C"], "gid": [1, 1, 1], "d": ["Flu", None, "Flu"]})
    how = {"group": "gid", "sensitive": "d", "person": "who"}
    dropped = fk.Release.from_groups(table, **how, missing="drop")
    named = fk.name_people(dropped, fk.Facts().disclosure(dropped, "Flu"))
    assert (named.target, named.exact) == ("A", 1)
    filled = fk.Release.from_groups(table, **how, missing={"label": "none"})
    assert fk.name_people(filled, fk.Facts().disclosure(filled, "none")).target == "B"
    assert filled.holdings.values.tolist() == [0, 1, 0]


def test_lists_of_values():
    table = pa.table({"who": ["B", "A"], "gid": [1, 1], "d": [["Flu", "Cold"], []]})
    release = fk.Release.from_groups(
        table, group="gid", sensitive="d", person="who", semantics="set"
    )
    assert release.holdings.people.tolist() == [0, 0]
    assert [release.counts.values[c] for c in release.holdings.values] == ["Flu", "Cold"]


TALLY = pa.table({"group": [1, 1], "disease": ["AIDS", "Flu"], "count": [1, 1]})


PEOPLE = pa.table({"group": [1, 1], "who": ["Tom", "Ed"]})


@pytest.mark.parametrize(
    ("release", "says"),
    [
        (fk.GroupCounts.from_bags([["AIDS", "Flu"]]), "not GroupCounts: counts name nobody"),
        (
            fk.Release.from_groups(
                pa.table({"gid": [1, 1], "d": ["AIDS", "Flu"]}), group="gid", sensitive="d"
            ),
            "nobody is named",
        ),
        (fk.Release.from_bucketized(TALLY, sensitive="disease"), "nobody is named"),
        (
            fk.Release.from_bucketized(TALLY, sensitive="disease", people=PEOPLE, person="who"),
            "bucketized release does not tell who has what",
        ),
    ],
    ids=["counts", "no person", "bucketized", "bucketized with names"],
)
def test_releases_that_name_nobody(release, says):
    with pytest.raises(InputError, match=says):
        fk.name_people(release, fk.Facts().disclosure(release, "AIDS"))


def test_disclosures_of_other_releases():
    release = release_of(WARD)
    other = release_of([(name, 7, value) for name, _, value in WARD])
    with pytest.raises(InputError, match="not one of this release"):
        fk.name_people(release, fk.Facts().disclosure(other, "AIDS"))
    with pytest.raises(InputError, match="'Plague'"):
        fk.name_people(release, fk.Facts().disclosure(release, "Plague"))
    with pytest.raises(InputError, match="only what Facts disclose"):
        fk.name_people(release, fk.Statements("Tom != Flu").disclosure(release, "AIDS"))
