"""People who lack a value of one of several sensitive columns are judged for those they show."""

import random
from collections import Counter, defaultdict
from fractions import Fraction

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from click.testing import CliRunner
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.cli.entry import app
from foreknow_judge.errors import UnsupportedError

TABLES = range(20_000 if NIGHTLY else 160)
ROLES = {"quasi_identifiers": ["q"], "sensitive": ["s1", "s2"], "missing": "drop"}
LABEL = {**ROLES, "missing": {"label": "unknown"}}
COLUMNS = ("q", "s1", "s2", "z", "who")
# Whoever is of the second group shows the same s2 and no s1.
WARD = [
    ("1", "A", "u", "f", "a"),
    ("1", "B", "v", "f", "b"),
    ("1", "A", "w", "f", "c"),
    ("2", None, "HIV", "f", "d"),
    ("2", None, "HIV", "f", "e"),
]


def table_of(rows):
    columns = zip(*rows, strict=True)
    return pa.table(
        {n: pa.array(own, pa.string()) for n, own in zip(COLUMNS, columns, strict=True)}
    )


def some_rows(rng):
    """Groups with rows that lack one value, or both; each column has one at least."""
    many = rng.randint(2, 9)
    rows = [
        (
            rng.choice("12"),
            rng.choice(["A", "B", None]),
            rng.choice(["u", "v", None]),
            rng.choice("fm"),
            rng.choice("abcd"),
        )
        for _ in range(many)
    ]
    return [*rows, ("1", "A", None, "f", "a"), ("2", None, "u", "m", "b")]


def bags(rows, secret, known):
    """By group, and by what is known, how many of those who show a value show which."""
    found = defaultdict(Counter)
    for row in rows:
        own = dict(zip(COLUMNS, row, strict=True))
        if own[secret] is not None:
            found[own["q"], *(own[name] for name in known)][own[secret]] += 1
    return found


def surest(rows, secret, known):
    """How sure somebody can be of a value at most, who knows no facts."""
    every = bags(rows, secret, known).values()
    return max(Fraction(max(bag.values()), bag.total()) for bag in every)


def surest_of_cases(rows, secret, known):
    """The same of a person: the sum over the cases that show a value."""
    found, sums = bags(rows, secret, known), Counter()
    for row in rows:
        own = dict(zip(COLUMNS, row, strict=True))
        if own[secret] is not None:
            bag = found[own["q"], *(own[name] for name in known)]
            for value, many in bag.items():
                sums[own["who"], value] += Fraction(many, bag.total())
    return min(Fraction(1), max(sums.values()))


def smallest(rows, known, unit=None):
    """How many people, or different units, the smallest group shows by any value."""
    found = defaultdict(list)
    for number, row in enumerate(rows):
        own = dict(zip(COLUMNS, row, strict=True))
        if own["s1"] is not None or own["s2"] is not None:
            found[own["q"], *(own[name] for name in known)].append(own[unit] if unit else number)
    return min(len(set(each)) for each in found.values())


def audited(table, *require, **schema):
    policy = fk.Policy.from_dict({"schema": {**ROLES, **schema}, "require": [*require]})
    return fk.audit(table, policy, learned=False)


def asked(secret, known, below):
    return {"facts": {}, "sensitive": secret, "knowing": known, "below": str(below)}


def reached(made):
    return [verdict.disclosure.settled for verdict in made.verdicts]


KNOWN = [[], ["z"], ["other"], ["other", "z"]]


@pytest.mark.parametrize("block", range(2))
def test_what_shows_is_recounted(block):
    for seed in TABLES[block::2]:
        rows = some_rows(random.Random(seed))
        sights = [
            (secret, [other if name == "other" else name for name in known])
            for secret, other in (("s1", "s2"), ("s2", "s1"))
            for known in KNOWN
        ]
        expected = [surest(rows, *sight) for sight in sights]
        table = table_of(rows)
        for more, holds in ((Fraction(1, 10**6), True), (0, False)):
            limits = [min(Fraction(1), own + more) for own in expected]
            both = [asked(*of, own) for of, own in zip(sights, limits, strict=True)]
            made = audited(table, *both)
            assert reached(made) == expected
            safe = [holds and own < 1 for own in expected]
            assert [verdict.safe for verdict in made.verdicts] == safe


@pytest.mark.parametrize("block", range(2))
def test_cases_that_show_are_added(block):
    for seed in TABLES[block::2]:
        rows = some_rows(random.Random(seed))
        sights = [("s1", []), ("s2", []), ("s1", ["s2"]), ("s2", ["z"])]
        both = [asked(*of, "1") for of in sights]
        made = audited(table_of(rows), *both, person="who", unit="row")
        expected = [surest_of_cases(rows, *of) for of in sights]
        assert reached(made) == expected
        assert [verdict.safe for verdict in made.verdicts] == [own < 1 for own in expected]


@pytest.mark.parametrize("block", range(2))
def test_whoever_shows_anything_is_counted(block):
    for seed in TABLES[block::2]:
        rows = some_rows(random.Random(seed))
        table = table_of(rows)
        for known in ([], ["s1"], ["z"]):
            many, units = smallest(rows, known), smallest(rows, known, "who")
            for key, least in (("k_anonymity", many), ("group_size", many)):
                for more, holds in ((0, True), (1, False)):
                    made = audited(table, {key: least + more, "knowing": known})
                    assert made.safe == holds
            if known != ["s1"]:
                for more, holds in ((0, True), (1, False)):
                    of = {"k": units + more, "of": "who"}
                    made = audited(table, {"k_anonymity": of, "knowing": known})
                    assert made.safe == holds


def test_a_measure_counts_whoever_shows():
    rows = [*WARD[:3], WARD[4], ("3", None, None, "f", "f")]
    release = fk.Release.from_schema(table_of(rows), fk.Schema(**ROLES))
    assert fk.KAnonymity(2).measure(release) == fk.GroupSize(2).measure(release) == 1
    risk = fk.risk_report(release)
    assert (risk.people, risk.uniques) == (4, 1)


@pytest.mark.parametrize("known", [[], ["z"]])
def test_every_door_judges_what_shows(known, tmp_path):
    table, require = table_of(WARD), asked("s2", known, "1/2")
    csv.write_csv(table, tmp_path / "t.csv")
    policy = fk.Policy.from_dict({"schema": ROLES, "require": [require]})
    policy.save(tmp_path / "p.toml")
    given = [table, tmp_path / "t.csv", fk.Release.from_schema(table, fk.Schema(**ROLES))]
    if not known:
        how = {"sensitive": ROLES["sensitive"], "missing": "drop"}
        given.append(fk.Release.from_generalized(table, quasi_identifiers=["q"], **how))
        times = pa.array([1] * len(table))
        counts = table.drop_columns(["z", "who"]).append_column("count", times)
        some = pa.concat_tables([counts.slice(0, 3), counts.slice(4)])
        given.append(fk.Release.from_tally(some, group=["q"], **how))
    for each in given:
        made = audited(each, require)
        assert not made.safe
        assert reached(made) == [1]
    named = [str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.toml")]
    said = CliRunner().invoke(app, ["audit", *named])
    assert said.exit_code == 1
    assert "100%" in said.stdout


def test_rows_that_publish_leaves_out():
    table = table_of(WARD)
    policy = {"schema": ROLES, "require": [asked("s2", [], "1/2")]}
    with pytest.raises(UnsupportedError, match=r"no s1 or s2 and show another.*give the table"):
        fk.audit(fk.Microdata(table, **ROLES), policy)
    assert not audited(fk.Microdata(table, **LABEL), *policy["require"], **LABEL).safe
    whole = [*WARD[:3], ("1", None, None, "f", "d")]
    made = fk.audit(fk.Microdata(table_of(whole), **ROLES), policy)
    exact = {"publish": {"labels": {"q": "exact"}}}
    written = fk.publish(table, {**policy, **exact}, seed=1).audit
    assert made.counts == written.counts
    assert reached(made) == reached(written) == [Fraction(1, 3)]


def test_people_beside_are_those_who_show():
    table, z = table_of(WARD), asked("s2", ["z"], "1/2")
    how = {"quasi_identifiers": ["q"], "sensitive": ROLES["sensitive"]}
    lost = fk.Release.from_generalized(table, **how, missing="drop")
    people = fk.Microdata(table, fk.Schema(**ROLES), beside=["z", "who"])
    for require in (z, {"k_anonymity": {"k": 1, "of": "who"}}):
        with pytest.raises(UnsupportedError, match=r"no s1 or s2 and show another.*label"):
            fk.audit(lost, {"schema": ROLES, "require": [require]}, people=people)
    release = fk.Release.from_generalized(table, **how, missing=LABEL["missing"])
    people = fk.Microdata(table, fk.Schema(**LABEL), beside=["z"])
    assert reached(fk.audit(release, {"schema": LABEL, "require": [z]}, people=people)) == [1]


@pytest.mark.parametrize("nested", [True, False])
def test_together_refuses_what_it_loses(nested):
    how = {"group": "q", "sensitive": ["s1", "s2"], "person": "who"}
    others = [(*row[:4], f"{row[4]}2") for row in WARD]
    later = table_of([*WARD, *others] if nested else others)
    tables = [table_of(WARD), later]
    lost = [fk.Release.from_groups(own, **how, missing="drop") for own in tables]
    with pytest.raises(UnsupportedError, match=r"no s1 or s2 and show another.*'unknown'"):
        fk.together(lost)
    whole = [own.set_column(1, "s1", own["s1"].fill_null("unknown")) for own in tables]
    both = fk.together([fk.Release.from_groups(own, **how) for own in whole])
    required = fk.Requirement(fk.Facts(), "3/4", sensitive="s2", knowing=[])
    assert reached(fk.audit(both, fk.Policy([required]))) == [1]


def test_whoever_shows_nothing_cannot_have_it():
    rows = [
        ("1", "A", "O", "m", "a"),
        ("1", "B", "O", "m", "b"),
        ("1", None, "O", "f", "c"),
        ("1", None, "v", "f", "d"),
        ("1", "A", None, "f", "e"),
    ]
    rule = {"values": ["v"], "where": {"z": ["m"]}, "sensitive": "s2"}
    made = audited(table_of(rows), asked("s2", [], "1"), impossible=[rule])
    # Of the two women who show an s2 one has v, and both men have O.
    (counted,) = made.counted
    assert counted.seen.able.people.tolist() == [[2, 2]]
    assert not made.safe


def test_a_grouping_of_the_source_is_counted():
    """What `partition` returns has -1 for rows that are left out."""
    table = pa.table({"age": [1, 1, 2, 2, 2], "ill": ["a", "b", None, "a", "c"]})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", missing="drop")
    microdata = fk.Microdata(table, schema)
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)])
    groups = fk.Mondrian().partition(microdata, policy)
    assert groups.tolist() == [0, 0, -1, 1, 1]
    counts = microdata.counts(groups)
    assert (counts.n_people, counts.sizes.tolist()) == (4, [2, 2])
    assert fk.utility_of(counts, microdata, groups).people == 4
