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

TABLES = range(20_000 if NIGHTLY else 16)
ROLES = {"quasi_identifiers": ["q"], "sensitive": ["s1", "s2"], "missing": "drop"}
LABEL = {**ROLES, "missing": {"label": "unknown"}}
COLUMNS = ("q", "s1", "s2", "z", "who")
# Whoever is of the second group shows the same s2 and no s1.
WARD = [*zip("111", "ABA", "uvw", "fff", "abc", strict=True)]
WARD += [("2", None, "HIV", "f", "d"), ("2", None, "HIV", "f", "e")]


def table_of(rows):
    columns = [pa.array(own, pa.string()) for own in zip(*rows, strict=True)]
    return pa.table(columns, names=COLUMNS)


def some_rows(rng):
    """Groups with rows that lack one value, or both; each column has one at least."""
    pools = ["12", ["A", "B", None], ["u", "v", None], "fm", "abcd"]
    rows = [tuple(map(rng.choice, pools)) for _ in range(rng.randint(2, 9))]
    return [*rows, ("1", "A", None, "f", "a"), ("2", None, "u", "m", "b")]


def shown_by(rows, secret, known):
    """Who shows a value, what they show, and in which group, by what is known."""
    for row in rows:
        own = dict(zip(COLUMNS, row, strict=True))
        if own[secret] is not None:
            yield own["who"], own[secret], (own["q"], *(own[name] for name in known))


def bags(rows, secret, known):
    found = defaultdict(Counter)
    for _, value, group in shown_by(rows, secret, known):
        found[group][value] += 1
    return found


def surest(rows, secret, known):
    """How sure somebody can be of a value at most, who knows no facts."""
    every = bags(rows, secret, known).values()
    return max(Fraction(max(bag.values()), bag.total()) for bag in every)


def surest_of_cases(rows, secret, known):
    """The same of a person: the sum over the cases that show a value."""
    found, sums = bags(rows, secret, known), Counter()
    for who, _, group in shown_by(rows, secret, known):
        for value, many in found[group].items():
            sums[who, value] += Fraction(many, found[group].total())
    return min(Fraction(1), max(sums.values()))


def smallest(rows, known, unit=None):
    """How many people, or different units, the smallest group shows by any value."""
    found = defaultdict(set)
    for number, row in enumerate(rows):
        own = dict(zip(COLUMNS, row, strict=True))
        if own["s1"] is not None or own["s2"] is not None:
            found[own["q"], *(own[name] for name in known)].add(own[unit] if unit else number)
    return min(map(len, found.values()))


def audited(table, *require, **schema):
    policy = {"schema": {**ROLES, **schema}, "require": [*require]}
    return fk.audit(table, policy, learned=False)


def asked(secret, known, below):
    return {"facts": {}, "sensitive": secret, "knowing": known, "below": str(below)}


def reached(made):
    return [verdict.disclosure.settled for verdict in made.verdicts]


SIGHTS = [
    *(("s1", own) for own in ([], ["z"], ["s2"], ["s2", "z"])),
    *(("s2", own) for own in ([], ["z"], ["s1"], ["s1", "z"])),
]


def test_what_shows_is_recounted():
    for seed in TABLES:
        rows = some_rows(random.Random(seed))
        expected = [surest(rows, *sight) for sight in SIGHTS]
        for more in (Fraction(1, 10**6), 0):
            limits = [min(Fraction(1), own + more) for own in expected]
            both = [asked(*of, own) for of, own in zip(SIGHTS, limits, strict=True)]
            made = audited(table_of(rows), *both)
            assert reached(made) == expected
            safe = [bool(more) and own < 1 for own in expected]
            assert [verdict.safe for verdict in made.verdicts] == safe


def test_cases_that_show_are_added():
    for seed in TABLES:
        rows = some_rows(random.Random(seed))
        sights = [("s1", []), ("s2", []), ("s1", ["s2"]), ("s2", ["z"])]
        both = [asked(*of, "1") for of in sights]
        made = audited(table_of(rows), *both, person="who", unit="row")
        expected = [surest_of_cases(rows, *of) for of in sights]
        assert reached(made) == expected
        assert [verdict.safe for verdict in made.verdicts] == [own < 1 for own in expected]


def test_whoever_shows_anything_is_counted():
    for seed in TABLES:
        rows = some_rows(random.Random(seed))
        require, held = [], []
        for known in ([], ["s1"], ["z"]):
            least, units = smallest(rows, known), smallest(rows, known, "who")
            for more in (0, 1):
                keys = "k_anonymity", "group_size"
                require += [{key: least + more, "knowing": known} for key in keys]
                if known != ["s1"]:
                    of = {"k": units + more, "of": "who"}
                    require.append({"k_anonymity": of, "knowing": known})
                held += [not more] * (3 if known != ["s1"] else 2)
        made = audited(table_of(rows), *require)
        assert [verdict.safe for verdict in made.verdicts] == held


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
    fk.Policy.from_dict({"schema": ROLES, "require": [require]}).save(tmp_path / "p.toml")
    given = [table, tmp_path / "t.csv", fk.Release.from_schema(table, fk.Schema(**ROLES))]
    if not known:
        how = {"sensitive": ROLES["sensitive"], "missing": "drop"}
        given.append(fk.Release.from_generalized(table, quasi_identifiers=["q"], **how))
        counts = table.drop_columns(["z", "who"]).append_column("count", [[1] * len(table)])
        some = pa.concat_tables([counts.slice(0, 3), counts.slice(4)])
        given.append(fk.Release.from_tally(some, group=["q"], **how))
    for own in given:
        made = audited(own, require)
        assert (made.safe, reached(made)) == (False, [1])
    named = [str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.toml")]
    said = CliRunner().invoke(app, ["audit", *named])
    assert said.exit_code == 1
    assert "100%" in said.stdout


LOST = r"no s1 or s2 and show another"


def test_rows_that_publish_leaves_out():
    table, require = table_of(WARD), asked("s2", [], "1/2")
    with pytest.raises(UnsupportedError, match=f"{LOST}.*give the table"):
        audited(fk.Microdata(table, **ROLES), require)
    assert not audited(fk.Microdata(table, **LABEL), require, **LABEL).safe
    made = audited(
        fk.Microdata(table_of([*WARD[:3], ("1", None, None, "f", "d")]), **ROLES), require
    )
    exact = {"publish": {"labels": {"q": "exact"}}}
    written = fk.publish(table, {"schema": ROLES, "require": [require], **exact}, seed=1).audit
    assert made.counts == written.counts
    assert reached(made) == reached(written) == [Fraction(1, 3)]


def test_people_beside_show_values():
    table, z = table_of(WARD), asked("s2", ["z"], "1/2")
    how = {"quasi_identifiers": ["q"], "sensitive": ROLES["sensitive"]}
    lost = fk.Release.from_generalized(table, **how, missing="drop")
    people = fk.Microdata(table, fk.Schema(**ROLES), beside=["z", "who"])
    for require in (z, {"k_anonymity": {"k": 1, "of": "who"}}):
        with pytest.raises(UnsupportedError, match=f"{LOST}.*label"):
            fk.audit(lost, {"schema": ROLES, "require": [require]}, people=people)
    release = fk.Release.from_generalized(table, **how, missing=LABEL["missing"])
    people = fk.Microdata(table, fk.Schema(**LABEL), beside=["z"])
    assert reached(fk.audit(release, {"schema": LABEL, "require": [z]}, people=people)) == [1]


@pytest.mark.parametrize("nested", [True, False])
def test_together_refuses_what_it_loses(nested):
    how = {"group": "q", "sensitive": ["s1", "s2"], "person": "who"}
    others = [(*row[:4], f"{row[4]}2") for row in WARD]
    tables = [table_of(WARD), table_of([*WARD, *others] if nested else others)]
    with pytest.raises(UnsupportedError, match=f"{LOST}.*'unknown'"):
        fk.together([fk.Release.from_groups(own, **how, missing="drop") for own in tables])
    whole = [own.set_column(1, "s1", own["s1"].fill_null("unknown")) for own in tables]
    both = fk.together([fk.Release.from_groups(own, **how) for own in whole])
    required = fk.Requirement(fk.Facts(), "3/4", sensitive="s2", knowing=[])
    assert reached(fk.audit(both, fk.Policy([required]))) == [1]


def test_silent_members_cannot_have_it():
    rows = [*zip("11", "AB", "OO", "mm", "ab", strict=True)]
    rows += [("1", None, "O", "f", "c"), ("1", None, "v", "f", "d"), ("1", "A", None, "f", "e")]
    rule = {"values": ["v"], "where": {"z": ["m"]}, "sensitive": "s2"}
    made = audited(table_of(rows), asked("s2", [], "1"), impossible=[rule])
    # Of the two women who show an s2 one has v, and both men have O.
    assert made.counted[0].seen.able.people.tolist() == [[2, 2]]
    assert not made.safe


def test_grouping_of_source_is_counted():
    """What `partition` returns has -1 for rows that are left out."""
    table = pa.table({"age": [1, 1, 2, 2, 2], "ill": ["a", "b", None, "a", "c"]})
    microdata = fk.Microdata(table, quasi_identifiers=["age"], sensitive="ill", missing="drop")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below=1)])
    groups = fk.Mondrian().partition(microdata, policy)
    assert groups.tolist() == [0, 0, -1, 1, 1]
    counts = microdata.counts(groups)
    assert (counts.n_people, counts.sizes.tolist()) == (4, [2, 2])
    assert fk.utility_of(counts, microdata, groups).people == 4
