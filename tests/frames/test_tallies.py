"""What a warehouse counted gets the verdicts of the table that it counted, or a refusal."""

import json
import random
import shlex
import sqlite3
from collections import Counter, defaultdict
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.frames import postgres
from tests.frames.backends import spark_frame
from tests.oracle.sights import joint_worlds, worst_over_worlds

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.errors import DataError, InputError, UnsupportedError

NAMES = ["age", "zip", "ill", "pay", "job"]
POPULATION = pa.table(
    {"age": ["old", "old", "young", "young"] * 9, "zip": ["1", None, "1", None] * 9}
)
HALF = {"job": ["cook", "cook", "nurse", "nurse"], "value": ["1", "2"] * 2}
REQUIRED = [
    fk.Requirement(fk.Facts(1, 2, 1), below="0.7", sensitive="ill"),
    fk.Requirement(fk.Facts(0, 1, 0), below="1/2", sensitive="pay", knowing=[]),
    fk.Requirement(fk.Facts(1, 0, 0), below="2/3", sensitive="pay", within=1),
    fk.Requirement(fk.Facts(1, 0, 0), below="2/3", sensitive="ill", any_of=["b", "c"]),
    fk.Requirement(fk.Implications(k=2), below="0.9", sensitive="ill", knowing=["job"]),
    fk.Requirement(fk.Negations(k=1), below="0.9", sensitive="pay"),
    fk.Requirement(fk.KAnonymity(3)),
    fk.Requirement(fk.KAnonymity(2), knowing=["job", "pay"]),
    fk.Requirement(fk.LDiversity(2, kind="distinct"), sensitive="ill"),
    fk.Requirement(fk.LDiversity(2, kind="entropy"), sensitive="pay", knowing=[]),
    fk.Requirement(fk.LDiversity(2, kind="recursive", c=2), sensitive="ill"),
    fk.Requirement(fk.TCloseness(0.3, distance="equal"), sensitive="ill"),
    fk.Requirement(fk.TCloseness(0.3, distance="ordered"), sensitive="pay"),
    fk.Requirement(fk.BetaLikeness(1.0, enhanced=True), sensitive="ill"),
    fk.Requirement(fk.DeltaDisclosure(1.0), sensitive="ill", knowing=[]),
    fk.Requirement(fk.AlphaK(0.5, 2), sensitive="ill"),
    fk.Requirement(fk.KMap(3, POPULATION)),
    fk.Requirement(fk.DeltaPresence(0, 0.9, POPULATION)),
]

people = st.fixed_dictionaries(
    {
        "age": st.sampled_from(["old", "young"]),
        "zip": st.sampled_from(["1", None]),
        "ill": st.sampled_from(["a", "b", "c", None]),
        "pay": st.sampled_from([1, 2, 4]),
        "job": st.sampled_from(["cook", "nurse"]),
    }
)
tables = st.lists(people, min_size=1, max_size=12).filter(
    lambda rows: {"a", "b", "c"} <= {row["ill"] for row in rows}
)


def table_of(rows):
    """An Arrow table of these people, and one with how many share each combination."""
    draw = random.Random(str(rows))
    each = Counter(tuple(row[name] for name in NAMES) for row in rows)
    found = draw.sample(sorted(each, key=str), len(each))
    kinds = [pa.int64() if name == "pay" else pa.string() for name in NAMES]
    given = {n: pa.array([row[n] for row in rows], k) for n, k in zip(NAMES, kinds, strict=True)}
    counted = {name: pa.array([key[i] for key in found], kinds[i]) for i, name in enumerate(NAMES)}
    counted["count"] = pa.array([each[key] for key in found], pa.int64())
    return pa.table(given), pa.table(counted)


def tallied(tally, **changed):
    how = {"group": ["age", "zip"], "sensitive": ["ill", "pay"], "other": ["job"]} | changed
    return fk.Release.from_tally(tally, **how)


def judged(release, schema, requirement):
    """All that an audit says, without what says how it was counted."""
    try:
        found = fk.audit(release, fk.Policy([requirement], schema=schema))._content()
    except InputError as error:  # such as a value that nobody has
        return str(error)
    found["scope"].pop("tallied", None)
    found["notes"] = [note for note in found["notes"] if "by a tally" not in note]
    return json.dumps(found, default=str)


@examples(250, deadline=None)
@given(tables, st.sampled_from(["drop", {"label": "unknown"}]), st.sampled_from(REQUIRED))
def test_a_tally_gets_the_verdicts_of_its_table(rows, missing, required):
    table, tally = table_of(rows)
    schema = fk.Schema(
        quasi_identifiers=["age", "zip"], sensitive=["ill", "pay"], other=["job"], missing=missing
    )
    release = fk.Release.from_schema(table, schema)
    counted = tallied(tally, missing=missing)
    assert judged(counted, schema, required) == judged(release, schema, required)
    sizes = [sorted(each.combinations().people.tolist()) for each in (counted, release)]
    assert sizes[0] == sizes[1]


@examples(150, deadline=None)
@given(
    st.lists(st.tuples(*map(st.sampled_from, ("12", "ab", "uv", "xy"))), min_size=1, max_size=5),
    st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 1)),
)
def test_a_tally_by_enumeration_of_worlds(rows, most):
    groups = defaultdict(list)
    for gid, ill, pay, job in sorted(rows):
        groups[gid].append({"ill": ill, "pay": pay, "job": job})
    each = Counter(rows)
    tally = pa.table(
        {n: [key[i] for key in each] for i, n in enumerate(("gid", "ill", "pay", "job"))}
        | {"n": [float(many) for many in each.values()]}
    )
    release = tallied(tally, group="gid", count="n")
    sizes = Counter(gid for gid, *_ in rows)
    assert release.groups == dict(sorted(sizes.items()))
    for secret, known in (("ill", ["pay", "job"]), ("pay", ["ill"]), ("ill", [])):
        truth = joint_worlds([*groups.values()], secret, known)
        for value in sorted({row[secret] for own in groups.values() for row in own}):
            found = fk.Facts(*most).disclosure(release.seen(secret, known), value=value)
            assert found.exact == worst_over_worlds(truth, value, most)[most]


def query(desk, *more):
    code, out, err = desk.run("sql", "--policy", "odd.toml", *more)
    assert (code, err) == (0, "")
    comment, *lines = out.splitlines()
    return comment, "\n".join(lines)


ODD = ['a "b"', "order by", "Größe; DROP", "count", "x`y"]
POLICY = f"""[schema]
quasi_identifiers = [{json.dumps(ODD[0])}, {json.dumps(ODD[1], ensure_ascii=False)}]
sensitive = {json.dumps(ODD[2], ensure_ascii=False)}
other = ["count", "x`y"]
missing = "drop"

[[require]]
facts = {{ l = 1, k = 0, m = 0 }}
below = 0.99
knowing = ["x`y"]

[[require]]
k_anonymity = 3
"""


@pytest.fixture
def odd(desk):
    """A table whose columns have names that must be quoted."""
    draw = random.Random(4)
    kinds = [["20-29", "30-39"], [1, 2, None], ["flu", "hiv", "", "cold", None], ["x", "y"], [7]]
    rows = [tuple(draw.choice(kind) for kind in kinds) for _ in range(300)]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(ODD)}
    desk.put("odd.toml", POLICY)
    desk.table = pa.table(columns)
    return desk


def verdicts(desk, *arguments):
    code, _, err = desk.run("audit", *arguments, "-p", "odd.toml", "--json", "found.json")
    assert err == ""
    found = desk.json("found.json")
    assert [*found["verdicts"][-1]["judged"]] == ["k_anonymity"]  # the criterion is among them
    return code, found["verdicts"], found["scope"]["left_out"]


def test_the_query_runs_and_its_result_is_read(odd):
    comment, asked = query(odd, "--table", 'clinic."the.release"')
    assert comment == (
        "-- Then: foreknow audit --counts tally.csv --policy odd.toml --count count_2"
    )
    more = shlex.split(comment.partition("tally.csv")[2])[2:]
    with duckdb.connect(str(odd.folder / "release.duckdb")) as opened:
        opened.register("given", odd.table)
        opened.execute('CREATE SCHEMA clinic; CREATE TABLE clinic."the.release" AS FROM given')
        opened.execute(f"CREATE TABLE tally AS {asked}")
        opened.execute(f"COPY tally TO '{odd.folder / 'tally.parquet'}'")
        opened.execute('CREATE TABLE plain AS FROM clinic."the.release"')
    direct = verdicts(odd, "release.duckdb?table=plain")
    assert direct[2] > 0
    assert verdicts(odd, "--counts", "release.duckdb?table=tally", *more) == direct
    assert verdicts(odd, "--counts", "tally.parquet", *more) == direct
    lite = sqlite3.connect(odd.folder / "release.sqlite")
    lite.execute("ATTACH ':memory:' AS clinic")
    names = ", ".join('"{}"'.format(name.replace('"', '""')) for name in ODD)
    for place in ('clinic."the.release"', "plain"):
        lite.execute(f"CREATE TABLE {place} ({names})")
        rows = zip(*odd.table.to_pydict().values(), strict=True)
        lite.executemany(f"INSERT INTO {place} VALUES (?, ?, ?, ?, ?)", rows)
    lite.execute(f"CREATE TABLE tally AS {asked}")
    lite.commit()
    assert verdicts(odd, "--counts", "release.sqlite?table=tally", *more) == direct
    backticks = query(odd, "--table", 'clinic."the.release"', "--dialect", "spark")[1]
    both = [sorted(map(str, lite.execute(each))) for each in (asked, backticks)]
    assert both[0] == both[1]
    lite.close()


def test_the_query_runs_on_postgresql(odd):
    pytest.importorskip("adbc_driver_postgresql", reason="the ADBC driver is absent")
    name = postgres.hold(odd.table)
    _, asked = query(odd, "--table", f"public.{name}")
    with postgres.connection() as opened, opened.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name}_tally AS {asked.rstrip(';')}")
        opened.commit()
    socket = postgres.server().split("host=%2F")[1].split("&")[0]
    place = f"postgresql://tester@%2F{socket}/postgres?table={name}"
    direct = verdicts(odd, place)
    assert verdicts(odd, "--counts", f"{place}_tally", "--count", "count_2") == direct


@pytest.mark.parametrize("group", ["gid", "age,job"])
def test_options_say_what_a_policy_without_a_schema_does_not(desk, group):
    desk.put("rules.toml", "[[require]]\nk_anonymity = 3\n")
    rows = ["gid,age,job,ill,n", "1,20,cook,flu,2.0", "1,20,cook,hiv,1", "2,30,nurse,flu,3"]
    desk.put("tally.csv", "\n".join(rows))
    how = "audit", "--counts", "tally.csv", "-p", "rules.toml", "--sensitive", "ill", "-n", "n"
    said = desk.says(*how, "--group", group)
    assert "the smallest group has 3 people, the least is 3" in said
    assert "Judged by a tally, as if each row that it counts were one person" in said
    assert "say what the columns are: --group COLUMN" in desk.refused(*how)


CSV = "age,sex,disease,count\n20,f,flu,3\n20,f,cold,3\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        (CSV.splitlines()[0], "has no rows"),
        (CSV.replace("disease", "diseases"), "no column 'disease'; did you mean 'diseases'?"),
        (CSV.replace("count", "n"), "has no column 'count'"),
        (CSV.replace(",3\n", ",three\n"), "whole number .* but row 1 holds 'three'"),
        (CSV + "30,f,flu,\n", "row 3 holds None"),
        (CSV + "30,f,flu,NaN\n", "row 3 holds 'NaN'"),
        (CSV + "30,f,flu,-1\n", "row 3 holds '-1'"),
        (CSV + "30,f,flu,0\n", "row 3 holds '0'"),
        (CSV + "30,f,flu,2.5\n", "row 3 holds '2.5'"),
        (CSV + "30,f,flu,1e3\n", "row 3 holds '1e3'"),
        (CSV + "30,f,flu,9223372036854775808\n", "row 3 holds '9223372036854775808'"),
        (CSV + "30,f,flu,1.000\n", "without a sign for thousands, but row 3 holds '1.000'"),
        (CSV + '30,f,flu,"1,000"\n', "without a sign for thousands, but row 3 holds '1,000'"),
        (CSV + "30,f,flu,9007199254740992\n" * 1, "9.01e.15 occurrences in all"),
        (CSV + "30,f,,4\n", "'disease' is missing in 4 rows, first in row 3"),
        (CSV + "30,f,flu,1\n20,f,cold,1\n", "rows 2 and 4 differ by nothing but the count"),
        (CSV + ",,flu,4\n,,flu,5\n", "rows 3 and 4 differ by nothing but the count"),
    ],
)
def test_a_tally_that_says_something_else_is_refused(desk, content, says):
    desk.put("tally.csv", content)
    with pytest.raises(AssertionError, match=says):  # the message is a text of one line
        raise AssertionError(desk.refused("audit", "--counts", "tally.csv", "-p", "policy.toml"))


def test_a_tally_written_by_another_program(desk):
    rows = CSV.replace("\n", "\r\n").replace(",3", ",3.0") + "30,m,flu,2.00\r\n30,m,cold,2\r\n"
    desk.put("tally.csv", "\ufeff" + rows)
    assert "Safe" in desk.says("audit", "--counts", "tally.csv", "-p", "policy.toml")
    assert "say --counts" in desk.refused("audit", "tally.csv", "-p", "policy.toml")


def test_what_the_policy_says_is_seen_must_be_counted(desk):
    policy = desk.put("beside.toml", desk_policy(desk).replace("[[req", 'other = ["job"]\n\n[[req'))
    desk.put("tally.csv", CSV)
    how = "audit", "--counts", "tally.csv", "-p", policy
    assert "has no column 'job', which the policy says is published" in desk.refused(*how)
    desk.put("tally.csv", CSV.replace("count", "count,job").replace("3\n", "3,cook\n"))
    assert "whole number" not in desk.says(*how, code=0)
    assert "contradicts the policy" in desk.refused(*how, "--sensitive", "sex")
    assert "--count is for a tally" in desk.refused("audit", "table.csv", "-p", policy, "-n", "n")


def desk_policy(desk):
    return (desk.folder / "policy.toml").read_text()


@pytest.mark.parametrize("command", [["sql"], ["audit", "--counts", "table.csv"]])
def test_what_no_tally_can_tell_is_refused(desk, command):
    several = 'sensitive = "disease"\nsemantics = "set"\nperson = "name"'
    policy = desk_policy(desk).replace('sensitive = "disease"', several)
    desk.put("several.toml", policy.replace('identifiers = ["name"]\n', "", 1))
    said = desk.refused(*command, "-p", "several.toml")
    assert "a person may have several values of disease, and a tally does not tell" in said
    desk.put("bare.toml", "[[require]]\nk_anonymity = 3\n")
    assert "foreknow: " in desk.refused(*command, "-p", "bare.toml")


@pytest.mark.parametrize("table", ["", "a..b", ".", 'a"b', "a.", '"'])
def test_names_that_are_none(desk, table):
    assert "is no name of a table" in desk.refused("sql", "-p", "policy.toml", "--table", table)
    said = desk.refused("sql", "-p", "policy.toml", "--dialect", "standrad")
    assert "did you mean 'standard'" in said


GOOD = {"gid": [1, 1, 2], "ill": ["a", "b", "a"], "count": [2, 1, 3]}


@pytest.mark.parametrize(
    ("changed", "how", "says"),
    [
        ({"gid": [1, 1, None]}, {}, r"'gid' is missing \(row 3\)"),
        ({"gid": ["1", None, "2"]}, {}, r"'gid' is missing \(row 2\)"),
        ({"gid": [1.0, np.nan, 2.0]}, {}, r"'gid' is missing \(row 2\)"),
        ({"count": [2, 1, np.nan]}, {}, "row 3 holds None"),
        ({"count": [2, 1, np.inf]}, {}, "row 3 holds inf"),
        ({"count": [2, 1, 0.5]}, {}, "row 3 holds 0.5"),
        ({"count": [2, 1, 2**63]}, {}, "row 3 holds 9223372036854775808"),
        ({"count": [True, True, True]}, {}, "row 1 holds True"),
        ({"count": [2**53, 1, 1]}, {}, "more than 2.*53 cannot be counted"),
        ({}, {"count": "ill"}, "one column plays two roles"),
        ({}, {"group": []}, "at least one"),
        ({}, {"other": "ill"}, "list of columns"),
        ({}, {"other": ["gid"]}, "two roles"),
        ({"ill": ["a", "a", "a"]}, {}, "rows 1 and 2 differ by nothing but the count"),
    ],
)
def test_frames_that_are_no_tallies(changed, how, says):
    frame = pd.DataFrame(GOOD | changed)
    with pytest.raises((DataError, SchemaError), match=says):
        _ = fk.Release.from_tally(frame, **{"group": "gid", "sensitive": "ill"} | how).counts


def test_rows_that_differ_elsewhere_are_added():
    """A tally by more columns than are judged is one all the same."""
    table = pa.table(GOOD | {"ill": ["a", "a", "b"], "year": [1, 2, 1]})
    release = fk.Release.from_tally(table, group="gid", sensitive="ill")
    assert release.groups == {1: 3, 2: 3}
    assert release.unseen() == ["year"]
    with pytest.raises(UnsupportedError, match="counts people and does not tell them apart"):
        release.tables.table.arrow(["gid"])
    with pytest.raises(InputError, match="nobody is named"):
        _ = release.members


def test_sums_of_a_database_are_counts():
    found = duckdb.sql(
        "SELECT 1 AS gid, 'a' AS ill, sum(x)::DECIMAL(20, 2) AS count FROM range(5) t(x)"
    )
    release = fk.Release.from_tally(found, group="gid", sensitive="ill")
    assert release.counts.totals.tolist() == [10]


def test_priors_know_columns_of_the_tally():
    draw = random.Random(6)
    kinds = ["old", "young"], ["1"], ["a", "b", "c"], [1, 2], ["cook", "nurse"]
    rows = [dict(zip(NAMES, map(draw.choice, kinds), strict=True)) for _ in range(60)]
    table, tally = table_of(rows)
    priors = fk.Priors(pa.table(HALF | {"probability": [0.5, 0.5, 0.25, 0.75]}))
    policy = fk.Policy([fk.Requirement(priors, below="0.9", sensitive="pay")])
    direct = fk.Release.from_generalized(
        table, quasi_identifiers=["age"], sensitive=["pay", "ill"], other=["zip"]
    )
    counted = tallied(tally, group=["age"], sensitive=["pay", "ill"], other=["zip"])
    one, other = (fk.audit(each, policy)._content() for each in (direct, counted))
    for key in ("verdicts", "exposed"):
        assert one.get(key) == other.get(key)
    learned = fk.Learned(by=["job"])
    assert learned.disclosures(direct)[1].to_dict() == learned.disclosures(counted)[1].to_dict()


def test_a_tally_of_one_cell_each_is_exact():
    release = fk.Release.from_tally(
        pa.table({"gid": ["x", "x"], "ill": ["a", "b"], "n": [2**40, 2**40 - 1]}),
        group="gid",
        sensitive="ill",
        count="n",
    )
    found = fk.Facts().disclosure(release, value="a")
    assert found.exact == Fraction(2**40, 2**41 - 1)


def test_the_query_runs_on_spark(odd):
    """Its result comes as Arrow: frames of Spark do not name columns with backticks."""
    frame = spark_frame(odd.table, odd.folder)
    frame.createOrReplaceTempView("release")
    _, asked = query(odd, "--dialect", "spark")
    tally = frame.sparkSession.sql(asked.rstrip(";")).toArrow()
    how = {"other": ODD[3:], "missing": "drop"}
    release = fk.Release.from_tally(tally, group=ODD[:2], sensitive=ODD[2], count="count_2", **how)
    direct = fk.Release.from_generalized(
        odd.table, quasi_identifiers=ODD[:2], sensitive=ODD[2], **how
    )
    assert release.groups == direct.groups
    policy = fk.Policy.load(odd.folder / "odd.toml")
    found = [fk.audit(each, policy)._content() for each in (release, direct)]
    assert found[0]["verdicts"] == found[1]["verdicts"]
