"""A table is prepared in one way, whoever asks: audits of all its forms, and publications."""

import random
import re
from fractions import Fraction

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.data.engines.duckdb_table import DuckTable
from foreknow_judge.errors import InputError

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


AMOUNTS = ["1.200,5", "1200,50", "1.200,500", "20", "20,0", "7,5"]
DAYS = ["01.02.2020", "01.02.2020", "2.3.2020", "02.03.2020", "02.03.2020", "04.05.2021"]
TIMES = [f"2020-01-01{at}" for at in ("T10:00+01:00", " 10:00+01:00", " 10:00:00+01:00")]
TIMES += [f"2020-01-01 1{hour}:00+01:00" for hour in (1, 2, 3)]
ILL = ["flu", "flu", "NA", "gout", " k. A. ", None]
PAY = ["1,5", None, "NA", "1,50", "2", "1,5"]
PARTLY = {"ill": ILL, "pay": PAY}
HALF, TWO_THIRDS = Fraction(1, 2), Fraction(2, 3)
HOMES = {"home": [*"aaabbc"], "pay": ["1,5", "1,50", "1,500", "2", "2,0", "1,5"]}
SHARED = {"shared": {"by": "home", "values": ["pay"]}}  # three households, of which two earn 1.5


@pytest.mark.parametrize(
    ("columns", "asked", "more", "expected"),
    [
        ({"pay": AMOUNTS, "day": DAYS, "at": TIMES}, (), {}, [HALF] * 3),
        ({"ill": ILL}, (), {"missing": {"label": "unknown"}}, [HALF]),
        ({"ill": ILL}, (), {"missing": "drop"}, [TWO_THIRDS]),
        (HOMES, ("pay",), SHARED, [TWO_THIRDS]),
    ],
)  # fmt: skip
def test_every_door_reads_alike(columns, asked, more, expected, tmp_path):
    policy = policy_of(dict.fromkeys(asked) or columns, **more)
    for made in doors(columns, policy, tmp_path):
        assert reached(made) == expected


def test_release_counts_what_is_published(tmp_path):
    found = doors({"at": TIMES}, policy_of({"at": TIMES}), tmp_path)
    (values,) = {tuple(map(str, made.counts.values)) for made in found}
    assert values == tuple(f"2020-01-01 1{hour}:00:00" for hour in range(4))


def test_by_hand_times_are_refused():
    """By the policy's schema two of six are one moment, and here they are two values."""
    table = pa.table({**WARD, "at": TIMES, "ill": [*"ababab"]})
    made = fk.Release.from_generalized(table, quasi_identifiers=["ward"], sensitive=["ill", "at"])
    for release in (made, made.seen("at", [])):
        with pytest.raises(InputError, match="in 'at' are one value"):
            fk.audit(release, policy_of({"at": []}, reading={}))


@pytest.mark.parametrize(
    ("columns", "roles", "said"),
    [
        ({"at": [*TIMES[:5], "2020-01-01 10:00"]}, {}, "times of several zones"),
        ({"at": [*TIMES[:5], "2020-01-01T10:00Z"]}, {}, "times of several zones"),
        (PARTLY, {}, "'ill' is missing in 3 rows"),
        ({"who": [*"abcdea"]}, {"person": "who"}, r"who 'a' is in rows 1 and 6"),
        ({"who": [*"abcdea"]}, {"identifiers": ["who"]}, r"'a' is in rows 1 and 6"),
        ({"who": [*"abcde", None]}, {"person": "who"}, r"missing in row 6"),
        ({"who": ["7", "07", *"bcde"]}, {"person": "who", "semantics": "set"}, "look like one"),
        ({"who": ["7", "07", *"bcde"]}, {"person": "who", "unit": "row"}, "look like one"),
    ],
)
def test_every_door_refuses_alike(columns, roles, said, tmp_path):
    policy = policy_of({"ill": []} if "who" in columns else columns, **roles)
    for form in forms({"ill": [*"xyzxyz"], **columns}, tmp_path):
        people = [fk.Microdata(form, policy.schema)] if roles else []
        for given in (form, *people):
            for door in (fk.audit, fk.publish):
                with pytest.raises(InputError, match=said):
                    door(given, policy)


def left_out(source):
    return [(own.column, own.number, own.reason) for own in source.rows_left_out]


def test_left_out_rows_are_listed(tmp_path):
    policy, why = policy_of(PARTLY, missing="drop"), "no value is shown"
    for form in forms(PARTLY, tmp_path):
        release = fk.Release.from_schema(form, policy.schema)
        microdata = fk.Microdata(form, policy.schema)
        for source in (release, microdata):
            assert left_out(source) == [("ill", 3, why), ("pay", 2, why)]
            assert source.left_out == 4
        rows = [own.rows.tolist() for own in microdata.rows_left_out]
        assert rows == [[2, 4, 5], [1, 2]]
        counted = [own.rows for own in release.rows_left_out]
        assert all(own is None or own.tolist() in rows for own in counted)
        made = fk.audit(form, policy, learned=False)
        assert made.scope.lacking == {"ill": 3, "pay": 2}
        assert made.scope.left_out == 4


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
        made = fk.publish(form, policy_of(PARTLY, "ill", missing="drop"), seed=1).audit
        assert reached(made) == [HALF]
    relation = duckdb.from_arrow(pa.table({**WARD, **PARTLY}))
    monkeypatch.setattr(DuckTable, "arrow", None)  # engines count without fetching
    assert reached(fk.audit(relation, policy, learned=False)) == [TWO_THIRDS, Fraction(3, 4)]


@pytest.mark.parametrize("second", [[], ["job"]])
def test_unpublished_knowledge_of_sets(second):
    """Values of two rows of one person were taken for those of two, or of others."""
    table = pa.table({
        "ward": ["w"] * 5, "who": [*"abbcd"], "ill": ["x", "y", "x", "z", None],
        "job": [*"kmmkm"], "sex": [*"mffmf"],
    })  # fmt: skip
    schema = policy_of({"ill": [], **dict.fromkeys(second)}, "ill", person="who").schema.to_dict()
    schema["semantics"] = {"ill": "set"} if second else "set"
    asked = [{"facts": {}, "sensitive": "ill", "knowing": ["sex"], "below": "1"}]
    for door in (fk.audit, fk.publish):
        with pytest.raises(InputError, match="'sex' is not published"):
            door(table, {"schema": schema, "require": asked, "publish": EXACT})


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
        made = make(frame.lazy().map_batches(turned), schema)
        counts = made.counts if make is not fk.Microdata else made.everyone()
        assert (counts.n_people, len(times)) == (6, 1)


VALUES = {
    "pay": ["1,5", "1,50", "2", "2,0", "1.200,5", "1200,5", "NA", None, " k. A. "],
    "at": [*TIMES[:4], None],
    "day": ["01.02.2020", "1.2.2020", "3.4.2021", "NA"],
    "ill": ["flu", "hiv", "flu", "NA", None],
}


def some_table(rng):
    """A raw table of odd values, and a schema with one thing that says who is counted."""
    n, names = rng.randint(4, 14), rng.sample([*VALUES], rng.choice([1, 2, 3]))
    people = {"ward": "12", "sex": "fm", "who": "abcdef", "home": "ABCDEF"}
    columns = {name: rng.choices(of, k=n) for name, of in people.items()}
    columns |= {name: rng.choices(VALUES[name], k=n) for name in names}
    columns["id"] = [f"p{i}" for i in range(n)]
    shared = dict(zip(columns["home"], columns[names[0]], strict=True))
    how = rng.choice([
        {"person": "id"}, {"person": "who", "unit": "row"}, {"other": ["sex"]}, {},
        {"shared": {"by": "home", "values": names[:1]}},
        {"impossible": [{"values": ["flu"], "where": {"sex": ["f"]}}]} if names[0] == "ill" else {},
    ])  # fmt: skip
    if "shared" in how:
        columns[names[0]] = [shared[home] for home in columns["home"]]
    missing = rng.choice(["drop", "drop", {"label": "unknown"}, "error"])
    roles = {"quasi_identifiers": ["ward"], "sensitive": names, "reading": READING}
    asked = [
        {"facts": {}, "sensitive": name, "knowing": rng.choice([[], ["sex"]]), "below": "0.99"}
        for name in names
    ]
    schema = {**roles, **how, "missing": missing}
    return columns, {"schema": schema, "require": [*asked, {"k_anonymity": 1, "knowing": []}]}


def said_of(given, policy):
    """What an audit finds; or why it is refused, but for the rows and the names of tables."""
    try:
        return [(own.safe, own.reached) for own in fk.audit(given, policy, learned=False).verdicts]
    except InputError as error:
        return re.split(r", first in row|; |: row \d+", str(error).split(": ", 1)[-1])[0]


@pytest.mark.parametrize("block", range(2))
def test_doors_agree_on_odd_tables(block, tmp_path):
    """A `Microdata` leaves out what publish leaves out, and says so where tables show it."""
    judged = 0
    for seed in range(block, 5_000 if NIGHTLY else 24, 2):
        columns, said = some_table(random.Random(seed))
        try:
            policy = fk.Policy.from_dict(said)
        except InputError:
            continue
        given = forms(columns, tmp_path)
        first, *others = (said_of(own, policy) for own in given)
        assert all(own == first for own in others), seed
        people = said_of(fk.Microdata(given[0], policy.schema), policy)
        assert people == first or "some rows have no" in people, seed
        judged += isinstance(first, list)
    assert judged > 3


# ---- quasi-identifiers in one row with the secret tell who has it, whatever the group ------------

ROWS = {
    "gid": [1, 1, 1, 1, 2, 2], "pid": [1, 2, 3, 4, 5, 6], "age": [31, 32, 33, 34, 45, 45],
    "ill": ["HIV", "Flu", "Cold", "Gout", "HIV", "Flu"],
}  # fmt: skip
BELOW = {"facts": {}, "below": "2/3"}


def judged_by(columns, *, knowing=None, **more):
    roles = {"group": "gid", "quasi_identifiers": ["age"], "sensitive": "ill", "person": "pid"}
    required = BELOW if knowing is None else {**BELOW, "knowing": knowing}
    policy = {"schema": {**roles, **more}, "require": [required]}
    return fk.audit(pa.table(columns), policy, learned=False)


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_exact_columns_identify_rows(semantics):
    assert judged_by(ROWS, semantics=semantics).verdicts[0].found.exact == 1
    coarse = judged_by({**ROWS, "age": ["30s"] * 4 + ["40s"] * 2}, semantics=semantics)
    assert coarse.verdicts[0].found.exact == HALF
    assert judged_by(ROWS, semantics=semantics, knowing=[]).safe


def test_a_call_may_name_group():
    rows, roles = pa.table(ROWS), {"quasi_identifiers": ["age"], "sensitive": "ill"}
    required = fk.Policy([fk.Requirement(fk.Facts(), below="2/3")], fk.Schema(**roles))
    assert not fk.audit(rows, required, group="gid", learned=False).safe
    for columns in (["age"], ["gid", "age"]):
        schema = fk.Schema(**roles | {"quasi_identifiers": columns})
        release = fk.Release.from_schema(rows, schema, "gid")
        assert release.seen(knowing=[]).counts.n_groups == 2
        assert release.seen().counts.n_groups == 5
    for columns in ({"quasi_identifiers": ["agee"]}, {"other": ["agee"]}):
        with pytest.raises(fk.ForeknowError, match="has no column 'agee'; did you mean 'age'"):
            judged_by(ROWS, **{"quasi_identifiers": ["zip"]} | columns)
    assert judged_by(ROWS, quasi_identifiers=["zip"]).safe  # which was left out of it


def test_quasi_identifier_may_number_groups():
    rows = pa.table({"gid": [1, 1, 2, 2], "age": [31, 32, 45, 45], "ill": [*"abca"]})
    schema = fk.Schema(quasi_identifiers=["gid", "age"], sensitive="ill")
    release = fk.Release.from_schema(rows, schema, "gid")
    assert release.seen(knowing=[]).counts.n_groups == 2
    assert release.seen().counts.n_groups == 3
