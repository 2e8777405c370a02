"""A table is prepared in one way, whoever asks; schemas, columns, and people who lack a value."""

import random
import re
from collections import defaultdict
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.common import NIGHTLY

import foreknow as fk
from foreknow.data.tables.formats import duckdb_table
from foreknow.data.tables.formats.duckdb_table import DuckTable
from foreknow.data.tables.sources import open_table
from foreknow.errors import SchemaError
from foreknow_judge.errors import DataError, InputError, UnsupportedError

READING = {"decimal": ",", "date_format": "%d.%m.%Y", "missing": ["NA", "k. A."]}
WARD = {"ward": ["w"] * 6}
EXACT = {"labels": {"ward": "exact"}}


def policy_of(columns, *asked, **more):
    """Everybody in one group; each column asked for by who knows nothing beside."""
    roles = {"quasi_identifiers": ["ward"], "sensitive": [*columns], "reading": READING}
    facts = {"facts": {}, "knowing": [], "below": "1"}
    required = [{**facts, "sensitive": name} for name in asked or columns]
    return fk.Policy.from_dict({"schema": {**roles, **more}, "require": required, "publish": EXACT})


def forms(columns, folder):
    """One table as a frame, as files and in engines."""
    table = pa.table({**(WARD if "ward" not in columns else {}), **columns})
    pyarrow.csv.write_csv(table, folder / "t.csv")
    pq.write_table(table, folder / "t.parquet")
    frames = table, table.to_pandas(), duckdb.from_arrow(table)
    return [*frames, folder / "t.csv", folder / "t.parquet"]


def doors(columns, policy, folder):
    """The audit of one table by each door."""
    for form in forms(columns, folder):
        yield fk.audit(form, policy, learned=False)
        yield fk.audit(fk.Release.from_schema(form, policy.schema), policy, learned=False)
        yield fk.audit(fk.Microdata(form, policy.schema), policy, learned=False)
        yield fk.publish(form, policy, seed=1).audit


def reached(made):
    return [verdict.disclosure.exact for verdict in made.verdicts]


TIMES = [f"2020-01-01{at}" for at in ("T10:00+01:00", " 10:00+01:00", " 10:00:00+01:00")]
TIMES += [f"2020-01-01 1{hour}:00+01:00" for hour in (1, 2, 3)]
ILL = ["flu", "flu", "NA", "gout", " k. A. ", None]
PAY = ["1,5", None, "NA", "1,50", "2", "1,5"]
PARTLY = {"ill": ILL, "pay": PAY}
HALF, TWO_THIRDS = Fraction(1, 2), Fraction(2, 3)


def test_release_counts_what_is_published(tmp_path):
    result = doors({"at": TIMES}, policy_of({"at": TIMES}), tmp_path)
    (values,) = {tuple(map(str, made.counts.values)) for made in result}
    assert values == tuple(f"2020-01-01 1{hour}:00:00" for hour in range(4))


def test_by_hand_times_are_refused():
    """By the policy's schema two of six are one moment, and here they are two values."""
    table = pa.table({**WARD, "at": TIMES, "ill": [*"ababab"]})
    made = fk.Release.from_generalized(table, quasi_identifiers=["ward"], sensitive=["ill", "at"])
    for release in (made, made.seen("at", [])):
        with pytest.raises(InputError, match="in 'at' are one value"):
            fk.audit(release, policy_of({"at": []}, reading={}))


@pytest.mark.parametrize(
    ("columns", "roles", "message"),
    [
        ({"at": [*TIMES[:5], "2020-01-01 10:00"]}, {}, "times of several zones"),
        (PARTLY, {}, "'ill' is missing in 3 rows"),
        ({"who": [*"abcdea"]}, {"person": "who"}, r"who 'a' is in rows 1 and 6"),
        ({"who": [*"abcde", None]}, {"person": "who"}, r"missing in row 6"),
        ({"who": ["7", "07", *"bcde"]}, {"person": "who", "semantics": "set"}, "look like one"),
    ],
)
def test_every_door_refuses_alike(columns, roles, message, tmp_path):
    policy = policy_of({"ill": []} if "who" in columns else columns, **roles)
    for form in forms({"ill": [*"xyzxyz"], **columns}, tmp_path):
        people = [fk.Microdata(form, policy.schema)] if roles else []
        for given in (form, *people):
            for door in (fk.audit, fk.publish):
                with pytest.raises(InputError, match=message):
                    door(given, policy)


def test_who_uses_a_row_differs(tmp_path, monkeypatch):
    """An audit counts a row for what it shows; a publication, where it shows all."""
    policy = policy_of(PARTLY, missing="drop")
    for form in forms(PARTLY, tmp_path):
        assert reached(fk.audit(form, policy, learned=False)) == [TWO_THIRDS, Fraction(3, 4)]
        people = fk.Microdata(form, policy.schema)
        with pytest.raises(InputError, match="publish leaves out these rows"):
            fk.audit(people, policy)
        assert people.n_people == 2
        with pytest.raises(fk.NoSafeRelease):  # both earn 1.5
            fk.publish(form, policy)
        audit = fk.publish(form, policy_of(PARTLY, "ill", missing="drop"), seed=1).audit
        assert reached(audit) == [HALF]
    relation = duckdb.from_arrow(pa.table({**WARD, **PARTLY}))
    monkeypatch.setattr(DuckTable, "arrow", None)  # engines count without fetching
    assert reached(fk.audit(relation, policy, learned=False)) == [TWO_THIRDS, Fraction(3, 4)]


@pytest.mark.parametrize(
    "roles", [{"person": "home"}, {"shared": {"by": "home", "values": ["ill"]}}]
)
def test_changing_table_is_read_once(roles):
    """Of a query nobody is twice in what is read first, and everybody in what is read later."""
    times = []

    def turned(frame):
        times.append(1)
        return frame if len(times) == 1 else frame.with_columns(home=pl.lit("a"))

    frame = pl.DataFrame({**WARD, "home": [*"abcdef"], "ill": [*"xyzxyz"]})
    schema = policy_of({"ill": []}, **roles).schema
    for make in (fk.Microdata, fk.Release.from_schema):
        times.clear()
        result = make(frame.lazy().map_batches(turned), schema)
        counts = result.counts if make is not fk.Microdata else result.everyone()
        assert (counts.n_people, len(times)) == (6, 1)


@pytest.mark.parametrize("missing", [[], ["x"]])
def test_small_files_are_read_once(tmp_path, monkeypatch, missing):
    """What was read is given again, with its nulls, until the file changes."""
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,x\n,y\n")
    reads = []
    encoded = duckdb_table._encoded
    monkeypatch.setattr(duckdb_table, "_encoded", lambda *of: reads.append(1) or encoded(*of))
    table = open_table(path, fk.Reading(missing=missing))
    for columns in (["a", "b"], ["b"], ["b", "a"]):
        values = {"a": ["1", None], "b": [None if missing else "x", "y"]}
        assert table.arrow(columns).to_pydict() == {name: values[name] for name in columns}
    assert len(reads) == 1
    path.write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(DataError, match="changed"):
        table.arrow(["b"])


VALUES = {
    "pay": ["1,5", "1,50", "2", "2,0", "1.200,5", "1200,5", "NA", None, " k. A. "],
    "at": [*TIMES[:4], None],
    "day": ["01.02.2020", "1.2.2020", "3.4.2021", "NA"],
    "ill": ["flu", "hiv", "flu", "NA", None],
}


def said_of(given, policy):
    """What an audit finds; or why it is refused, but for the rows and the names of tables."""
    try:
        return [
            (verdict.safe, verdict.reached)
            for verdict in fk.audit(given, policy, learned=False).verdicts
        ]
    except InputError as error:
        return re.split(r", first in row|; |: row \d+", str(error).split(": ", 1)[-1])[0]


# ---- two schemas: of the table that was read, and of the policy, which must not say otherwise ----


# Of a person each row, but for somebody who has three.
CASES = pa.table({
    "age": [30, 30, 30, 40, 40, 40], "zip": [*"ppqrrr"], "job": [*"uvwuvw"], "ill": [*"abcabc"],
    "pay": [*"xxxyyz"], "pid": [*"aaabcd"], "home": [1, 1, 2, 3, 3, 3], "row": [*range(6)],
})  # fmt: skip
ROLES = {"quasi_identifiers": ["age"], "sensitive": "ill"}
OF_PID = {"unit": "row", "person": "pid"}
LIMIT = fk.Requirement(fk.Facts(), below="9/10")


def schema(**more):
    return fk.Schema(**{**ROLES, **more})


def policy(own, *required):
    return fk.Policy(required or [fk.Requirement(fk.GroupSize(1))], own)


def test_differences_name_ways_out():
    text = r"differ in unit \(nothing and 'row'\), so it is not clear who is counted, and by what: "
    text += "read the table by the policy's, or leave columns and schema out of the policy"
    with pytest.raises(SchemaError, match=text):
        fk.audit(fk.Microdata(CASES, schema(**OF_PID)), **ROLES, k_anonymity=2)
    with pytest.raises(SchemaError, match=r"differ in sensitive \('pay' and 'ill'\)"):
        fk.publish(fk.Microdata(CASES, schema()), policy(schema(sensitive="pay")))
    tree = {"rows": [[letter, letter * 40] for letter in "abc"]}
    with pytest.raises(SchemaError, match=r"differ in hierarchies \(nothing and .* \.\.\.\)"):
        fk.audit(fk.Microdata(CASES, schema(hierarchies={"ill": tree})), policy(schema()))
    columns = {"quasi_identifiers": ["age", "zip"], "sensitive": "ill"}
    with pytest.raises(SchemaError, match="leave out quasi_identifiers, or change it"):
        fk.skyline_report(CASES, confidence="1/2", **columns, policy=policy(schema()))


# ---- a policy without a schema ------------------------------------------------------------------


def test_publication_says_who_is_counted(tmp_path):
    own, requirement = schema(**OF_PID), fk.Requirement(fk.KAnonymity(2))
    publication = fk.publish(fk.Microdata(CASES, own), policy(None, requirement), method="mondrian")
    assert publication.release.counts.n_groups == 1
    assert publication.audit.policy.schema == own
    publication.write(tmp_path / "out")
    five = fk.Requirement(fk.KAnonymity(5))
    for given in publication, publication.release:
        audit = fk.audit(given, policy(None, five))
        assert (audit.verdicts[0].found.amount, audit.safe) == (4, False)  # of six cases
    for given in publication, publication.release, tmp_path / "out":
        with pytest.raises(SchemaError, match="of the policy and of the release differ in unit"):
            fk.audit(given, policy(schema(), five))
    with pytest.raises(SchemaError, match="of the policy and of the release differ in unit"):
        fk.verify(tmp_path / "out", policy(schema(), five))
    some = policy(schema(unit="row"), fk.Requirement(fk.KAnonymity(2, of=["age"])))
    assert fk.verify(tmp_path / "out", some).findings[0].safe
    for rules in (
        policy(own, requirement),
        policy(own, replace(LIMIT, knowing=["job"])),
        policy(schema(unit="row"), fk.Requirement(fk.KAnonymity(2, of="pid"))),
    ):
        with pytest.raises(InputError, match="so only the owner of the table can judge"):
            fk.verify(tmp_path / "out", rules)


RULED = pa.table({"age": [30] * 4, "sex": [*"mmff"], "ill": [*"xyOx"]})
RULE = [{"values": ["O"], "where": {"sex": ["m"]}}]


def of_o(below, own=None):
    return policy(own, fk.Requirement(fk.Facts(), below=below, values=["O"], knowing=[]))


def test_several_releases_state_their_unit(tmp_path):
    for name, more in (("one", RULE), ("two", RULE), ("three", [])):
        table = RULED.append_column("who", [[f"{name}{i}" for i in range(4)]])
        own = schema(other=["sex"], impossible=more, identifiers=["who"])
        publication = fk.publish(table, of_o("2/3", own), method="mondrian", learned=False)
        publication.write(tmp_path / name)
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    assert fk.audit(three, of_o("2/5")).safe  # one of four
    audit = fk.audit([one, two], of_o("2/5"))
    assert (audit.safe, str(audit.verdicts[0].reached)) == (False, "1/2")
    for several in ([one, three], [three, two]):
        with pytest.raises(InputError, match=r"differ in who is counted \(impossible\)"):
            fk.audit(several, of_o("2/5"))


# ---- a release of which its maker said what the columns are -------------------------------------


OF_ONE = pa.table({"age": [30] * 6, "ill": [*"abcabc"], "pid": ["p"] * 6, "row": [*range(6)]})
BARE = fk.Release.from_generalized(OF_ONE.select(["age", "ill"]), **ROLES)


# ---- values and groups that a policy reads in another way ---------------------------------------

UNKNOWN = pa.table({"age": [30] * 4, "ill": ["NA", " NA", "flu", "flu"], "g": [1, 1, 2, 2]})
NA = {"reading": {"missing": ["NA"]}}
AT_TWO_THIRDS = fk.Requirement(fk.Facts(), below="2/3")


def made_by_hand(table):
    tally = table.group_by(["age", "ill"]).aggregate([("ill", "count")])
    tally = tally.rename_columns(["age", "ill", "count"])
    return [
        fk.Release.from_generalized(table, **ROLES),
        fk.Release.from_groups(table, group="age", sensitive="ill"),
        fk.Release.from_tally(tally, group=["age"], sensitive="ill"),
        fk.Release.from_bucketized(tally, group=["age"], sensitive="ill"),
        fk.GroupCounts.from_bags([table["ill"].to_pylist()]),
    ]


DAY = date(1900, 1, 1)
# Values of which the first has a code, and how the code is written.
CODED = {
    "whole": ([-1, 0, 1, 2], pa.int8(), "-1.0"),
    "float": ([-1.1, 0.0, 1.0, 2.0], pa.float64(), "-1.10"),
    "half": ([-1.0, 0.0, 1.0, 2.0], pa.float16(), "-1"),
    "decimal": ([Decimal("-1.0"), *map(Decimal, "012")], pa.decimal128(9, 2), "-1"),
    "categories": ([-1, 0, 1, 2], pa.dictionary(pa.int32(), pa.int64()), "-1"),
    "days": ([DAY + timedelta(n) for n in range(4)], pa.date32(), "1900-01-01"),
    "moments": (
        [datetime(1900, 1, 1) + timedelta(n) for n in range(4)],
        pa.timestamp("us"),
        "1900-01-01",
    ),
    "times": ([time(n) for n in range(4)], pa.time32("s"), "00:00"),
}


@pytest.mark.parametrize("kind", CODED)
def test_codes_of_typed_columns(kind):
    """A code of one column is the value that it is, whatever the type is."""
    values, arrow_kind, code = CODED[kind]
    cells = pa.array([*values, None] * 4, arrow_kind)
    table = pa.table({"ward": ["w"] * 20, "ill": cells, "age": cells})
    reading = fk.Reading(missing={"ill": [code, "NA"]})
    read = open_table(table, reading).arrow(["ill", "age"]).to_pydict()
    assert read["ill"] == [None, *cells.to_pylist()[1:5]] * 4
    assert read["age"] == cells.to_pylist()
    roles = {"quasi_identifiers": ["ward"], "sensitive": "ill", "missing": "drop"}
    assert fk.Microdata(table, fk.Schema(**roles)).n_people == 16
    assert fk.Microdata(table, fk.Schema(**roles, reading=reading)).n_people == 12


def test_hand_made_values_stay_missing():
    rules = policy(schema(**NA, missing="drop"), AT_TWO_THIRDS)
    assert not fk.audit(UNKNOWN, rules).safe
    for release in made_by_hand(UNKNOWN):
        with pytest.raises(SchemaError, match=r"' ?NA' in 'ill' says that a value is missing"):
            fk.audit(release, rules)
        assert fk.audit(release, policy(schema(), AT_TWO_THIRDS)).safe
    bare = fk.Release.from_generalized(UNKNOWN, **ROLES)
    with pytest.raises(SchemaError, match="says that a value is missing"):
        fk.audit(bare, policy(None, AT_TWO_THIRDS), people=fk.Microdata(UNKNOWN, rules.schema))
    # A label that stands for it is a value.
    rules = policy(schema(**NA, missing={"label": "NA"}), AT_TWO_THIRDS)
    for release in made_by_hand(UNKNOWN.set_column(1, "ill", [["NA", "NA", "flu", "flu"]])):
        assert fk.audit(release, rules).safe


@pytest.mark.parametrize(
    ("texts", "more"),
    [
        (["1", "1.0", "1", "1.0"], {"types": {"ill": "number"}}),
        (["2020-01-01", "2020-01-01 00:00"] * 2, {"types": {"ill": "date"}}),
        (["1", "1,0", "1,0", "1"], {"reading": {"decimal": ","}}),
    ],
)
def test_one_number_is_one_value(texts, more):
    table = pa.table({"age": [30] * 4, "ill": texts})
    rules = policy(schema(**more), AT_TWO_THIRDS)
    given = [table, fk.Microdata(table, rules.schema), fk.Release.from_schema(table, rules.schema)]
    for release in given:  # which is read as publish reads it
        assert fk.audit(release, rules).verdicts[0].reached == 1
    assert not fk.audit(given[-1], policy(None, AT_TWO_THIRDS)).safe
    for release in made_by_hand(table):
        with pytest.raises(SchemaError, match="in 'ill' are one value, and here they are counted"):
            fk.audit(release, rules)


def test_declared_numbers_are_read_once():
    table = pa.table({"age": [30] * 4, "ill": ["1", "1.0", "x", "1.0"]})
    for release in (table, *made_by_hand(table)):
        with pytest.raises(InputError, match=r"holds? a number (in every row|for everybody)"):
            fk.audit(release, policy(schema(types={"ill": "number"}), AT_TWO_THIRDS))
    plain = table.set_column(1, "ill", [["1.5", "1.5", "2", "3"]])
    own = schema(types={"ill": "number"}, reading={"decimal": ","})  # of the table, once
    for release in (plain, *made_by_hand(plain)):
        assert fk.audit(release, policy(own, AT_TWO_THIRDS)).safe
    plain = table.set_column(1, "ill", [["1", "1", "2", "3"]])
    assert fk.audit(plain, policy(schema(types={"ill": "number"}), AT_TWO_THIRDS)).safe


def test_groups_are_those_of_policies():
    table = pa.table({"age": [30] * 4, "g": [1, 1, 2, 2], "ill": [*"aabb"]})
    rules = policy(schema(group="g"), AT_TWO_THIRDS)
    assert not fk.audit(table, rules).safe
    release = fk.Release.from_groups(table, group="g", sensitive="ill", other=["age"])
    assert not fk.audit(release, rules).safe
    for release in made_by_hand(table)[:-1]:
        with pytest.raises(SchemaError, match="says that g is the group, and the release was made"):
            fk.audit(release, rules)
    own = schema(group="home")
    release = fk.Release.from_schema(CASES, own)
    with pytest.raises(InputError, match="'home' makes the groups of the release, and is no quasi"):
        fk.audit(release, policy(own), people=fk.Microdata(CASES, own), learned=False)


def test_calls_default_to_the_table():
    own = schema(identifiers=["row"], hierarchies={"age": fk.Intervals([10])})
    people, calls = fk.Microdata(CASES, own), (fk.audit, fk.publish)
    for call in calls:
        assert call(people, **ROLES, k_anonymity=2) is not None
        assert call(people, policy(None), **ROLES) is not None
    assert fk.audit(people, **ROLES, k_anonymity=2).policy.schema == own
    assert fk.survey(people, **ROLES) is not None
    for more in {"identifiers": ["pid"]}, {"hierarchies": {"age": fk.Intervals([5])}}:
        for call in (*calls, fk.survey):
            with pytest.raises(SchemaError, match=f"differ in {next(iter(more))}"):
                call(people, **ROLES, **more)


# ---- microdata: columns encoded once, with their hierarchies; which rows are kept, and whose -----


def microdata(source, **more):
    return fk.Microdata(source, fk.Schema(**{"quasi_identifiers": ["q"], "sensitive": "d"} | more))


def attribute(values, hierarchy=None, **more):
    """The attribute of one column."""
    if hierarchy is not None:
        more["hierarchies"] = {"q": hierarchy}
    source = values
    if isinstance(values, (list, pa.Array)):
        source = pa.table({"q": values, "d": ["x"] * len(values)})
    (found,) = microdata(source, **more).attributes
    return found


# ---- several values of a person ------------------------------------------------------------------

ROWS_OF_COLUMNS = pa.table({
    "pid": ["Dora", "Ann", "Dora", "Bob", "Ann"], "age": [41, 30, 41, 50, 30],
    "note": ["d", None, "d", "b", None], "d": ["Flu", "Flu", "AIDS", None, None],
})  # fmt: skip
ROLES_OF_COLUMNS = {
    "quasi_identifiers": ["age"],
    "other": ["note"],
    "person": "pid",
    "semantics": "set",
}


def several(source, **changed):
    return microdata(source, **ROLES_OF_COLUMNS | changed)


def changed(column, row, value):
    cells = ROWS_OF_COLUMNS[column].to_pylist()
    cells[row] = value
    return ROWS_OF_COLUMNS.set_column(
        ROWS_OF_COLUMNS.column_names.index(column), column, pa.array(cells)
    )


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (changed("age", 2, 40), "pid 'Dora' has age 41 in row 1, but 40 in row 3; everybody has"),
        (changed("note", 2, "x"), "pid 'Dora' has note 'd' in row 1, but 'x' in row 3"),
        (changed("d", 2, "Flu"), "pid 'Dora' has d 'Flu' twice, in rows 1 and 3"),
        (changed("pid", 3, None), "column of people 'pid' is missing in row 4"),
        (ROWS_OF_COLUMNS.slice(3), "nobody has a value of 'd'; there is nothing to hide"),
    ],
)
def test_rows_that_contradict_are_named(table, says, tmp_path):
    pyarrow.csv.write_csv(table, tmp_path / "rows.csv")
    for source in (table, tmp_path / "rows.csv"):
        with pytest.raises(DataError, match=says):
            _ = several(source).values


# ---- digests, and codes that lost their zeros ----------------------------------------------------


def test_lost_zeros_are_reported(tmp_path):
    path = tmp_path / "zeros.csv"
    rows = {"age": [30, 40] * 20, "zip": ["01067", "10115"] * 20, "ill": [*"abba"] * 10}
    pd.DataFrame(rows).to_csv(path, index=False)
    schema = fk.Schema(
        quasi_identifiers=["age", "zip"], sensitive="ill", hierarchies={"zip": {"mask": 5}}
    )
    policy = fk.Policy(fk.KAnonymity(5), schema)
    for frame in (pd.read_csv(path), pl.read_csv(path)):
        with pytest.raises(fk.InputError, match=r'lose them as numbers.*dtype=\{"zip": str\}'):
            fk.publish(frame, policy)
    for table in (fk.read_csv(path), path):
        assert fk.publish(table, policy).audit.safe
    frame = pd.DataFrame({
        "age": [20 + i % 30 for i in range(60)], "illness": [*"abc"] * 20,
        "zip": [(1067, 10115, 20095, 80331)[i % 4] + i // 4 for i in range(60)],
    })  # fmt: skip
    assert "lost leading zeros" in " ".join(fk.suggest_policy(frame).questions)


# ---- out -----------------------------------------------------------------------------------------


TABLES = range(20_000 if NIGHTLY else 10)
TWO_SECRETS = {"quasi_identifiers": ["q"], "sensitive": ["s1", "s2"], "missing": "drop"}
COLUMNS = ("q", "s1", "s2", "z", "who")
# Whoever is of the second group shows the same s2 and no s1.
PARTLY_SEEN = [*zip("111", "ABA", "uvw", "fff", "abc", strict=True)]
PARTLY_SEEN += [("2", None, "HIV", "f", "d"), ("2", None, "HIV", "f", "e")]


def table_of(rows):
    columns = [pa.array(own, pa.string()) for own in zip(*rows, strict=True)]
    return pa.table(columns, names=COLUMNS)


def some_rows(rng):
    """Groups with rows that lack one value, or both; each column has one at least."""
    pools = ["12", ["A", "B", None], ["u", "v", None], "fm", "abcd"]
    rows = [tuple(map(rng.choice, pools)) for _ in range(rng.randint(2, 9))]
    return [*rows, ("1", "A", None, "f", "a"), ("2", None, "u", "m", "b")]


def smallest(rows, known, unit=None):
    """How many people, or different units, the smallest group shows by any value."""
    by_key = defaultdict(set)
    for number, row in enumerate(rows):
        own = dict(zip(COLUMNS, row, strict=True))
        if own["s1"] is not None or own["s2"] is not None:
            by_key[own["q"], *(own[name] for name in known)].add(own[unit] if unit else number)
    return min(map(len, by_key.values()))


def audited(table, *require, **schema):
    policy = {"schema": {**TWO_SECRETS, **schema}, "require": [*require]}
    return fk.audit(table, policy, learned=False)


def asked(secret, known, below):
    return {"facts": {}, "sensitive": secret, "knowing": known, "below": str(below)}


def reached_of_each(made):
    return [verdict.disclosure.settled for verdict in made.verdicts]


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
        result = audited(table_of(rows), *require)
        assert [verdict.safe for verdict in result.verdicts] == held


LOST = r"no s1 or s2 and show another"


@pytest.mark.parametrize("nested", [True, False])
def test_together_refuses_what_it_loses(nested):
    how = {"group": "q", "sensitive": ["s1", "s2"], "person": "who"}
    others = [(*row[:4], f"{row[4]}2") for row in PARTLY_SEEN]
    tables = [table_of(PARTLY_SEEN), table_of([*PARTLY_SEEN, *others] if nested else others)]
    with pytest.raises(UnsupportedError, match=f"{LOST}.*'unknown'"):
        fk.together([fk.Release.from_groups(table, **how, missing="drop") for table in tables])
    whole = [table.set_column(1, "s1", table["s1"].fill_null("unknown")) for table in tables]
    joined = fk.together([fk.Release.from_groups(own, **how) for own in whole])
    required = fk.Requirement(fk.Facts(), "3/4", sensitive="s2", knowing=[])
    assert reached_of_each(fk.audit(joined, fk.Policy([required]))) == [1]


def test_silent_members_cannot_have_it():
    rows = [*zip("11", "AB", "OO", "mm", "ab", strict=True)]
    rows += [("1", None, "O", "f", "c"), ("1", None, "v", "f", "d"), ("1", "A", None, "f", "e")]
    rule = {"values": ["v"], "where": {"z": ["m"]}, "sensitive": "s2"}
    result = audited(table_of(rows), asked("s2", [], "1"), impossible=[rule])
    # Of the two women who show an s2 one has v, and both men have O.
    assert result.counted[0].seen.possible.people.tolist() == [[2, 2]]
    assert not result.safe
