"""Opening tables: what is one, what is not, and what the message says then."""

import os
from datetime import timedelta
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.frames.backends import bags, csv_file, parquet_folder, write

from foreknow import KAnonymity, Policy, Requirement, audit
from foreknow.data.engines import open_table
from foreknow.data.engines.table import require
from foreknow.data.release import Release
from foreknow_judge.errors import DataError

TABLE = pa.table({"gid": [1, 2], "disease": ["Flu", "AIDS"]})


def counted(source, **names):
    names = {"group": "gid", "sensitive": "disease"} | names
    return bags(Release.from_groups(source, **names).counts)


def folder_of(parent, *tables):
    """Parquet files, in order."""
    folder = parent / "parts"
    folder.mkdir()
    for i, table in enumerate(tables):
        pq.write_table(table, folder / f"{i}.parquet")
    return folder


def test_paths_and_texts_are_the_same_and_opened_tables_stay(tmp_path):
    path = csv_file(TABLE, tmp_path)
    table = open_table(Path(path))
    assert table.columns == open_table(str(path)).columns == ["gid", "disease"]
    assert open_table(table) is table
    require(table, ["gid", "disease"])
    with pytest.raises(DataError, match="no column 'x'"):
        require(table, ["gid", "x", "y"])
    with pytest.raises(DataError, match=r"'.*nowhere\.csv'"):
        open_table(tmp_path / "nowhere.csv")


def cast(column, kind):
    name = TABLE.column_names[column]
    return TABLE.set_column(column, name, TABLE.column(column).cast(kind))


CODED = pa.dictionary(pa.int32(), pa.string())
TURNED = pa.table({"disease": ["Flu", "AIDS"], "gid": [1, 2]})


@pytest.mark.parametrize(
    "parts",
    [
        [TABLE, TURNED, TABLE.slice(0, 0)],  # in another order, and empty
        [TABLE, cast(1, pa.large_string())],
        [TABLE, cast(1, CODED)],
        [cast(1, CODED), TABLE],
        [cast(0, pa.int32()), TABLE],
    ],
)
def test_parts_may_hold_columns_in_other_orders_and_widths(tmp_path, parts):
    assert counted(folder_of(tmp_path, *parts)) == {1: {"Flu": 2}, 2: {"AIDS": 2}}


def test_folders_within_the_folder_count(tmp_path):
    (tmp_path / "deep").mkdir()
    parquet_folder(TABLE, tmp_path / "deep")
    assert counted(tmp_path) == {1: {"Flu": 1}, 2: {"AIDS": 1}}


HIDDEN = r"holds '.*more\.p.*', which is Parquet but hidden"
LINK = r"holds 'more\.parquet', which is (a link|no file)"


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        *((f"part.{end}", "table", 2) for end in ("pq", "PARQUET", "parquet", "Pq")),
        ("more.parquet", "link to a file", 2),
        *((name, "other", 1) for name in ("_SUCCESS", ".part-0.parquet.crc", "_metadata")),
        *((name, "other", 1) for name in (".DS_Store", "._0.parquet")),  # the last by macOS
        *((name, "table", HIDDEN) for name in ("_more.parquet", ".more.pq", "_kept/more.parquet")),
        *((name, "table", "but hidden") for name in ("_SUCCESS", "_metadata", ".part.crc")),
        ("_metadata", "summary", 1),
        *(
            (f"deep/{name}", "other", f"holds '{name}', which is not Parquet")
            for name in ("part.csv", "part.parquet.gz", "part.parquet.bak", "README")
        ),
        *(
            (name, "folder", f"holds '{name}', which says which rows")
            for name in ("_delta_log", ".hoodie")
        ),
        ("more.parquet", "link to a folder", LINK),
        ("more.parquet", "link to nowhere", LINK),
        ("more.parquet", "pipe", LINK),
    ],
)
def test_what_is_beside_parts_counts_or_is_passed_over_or_refused(tmp_path, name, kind, says):
    folder = folder_of(tmp_path, TABLE)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if kind == "table":
        pq.write_table(TABLE, path)
    elif kind == "summary":  # as other programs write it: what the parts hold, and no rows
        (part,) = folder.iterdir()
        about = pq.read_metadata(part)
        about.set_file_path(part.name)
        about.write_metadata_file(path)
    elif kind == "other":
        path.write_bytes(b"\0\x05\x16\x07")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        (tmp_path / "folder").mkdir()
        pq.write_table(TABLE, tmp_path / "folder" / "1.parquet")
        places = {"link to a file": "folder/1.parquet", "link to a folder": "folder"}
        path.symlink_to(tmp_path / places.get(kind, "nowhere"))
    if isinstance(says, int):
        assert counted(folder) == {1: {"Flu": says}, 2: {"AIDS": says}}
    else:
        with pytest.raises(DataError, match=says):
            open_table(folder)


@pytest.mark.parametrize("place", ["0.parquet", "z.parquet"])
def test_a_column_that_only_one_part_has_is_named_as_not_judged(tmp_path, place):
    folder = folder_of(tmp_path, TABLE)
    pq.write_table(TABLE.append_column("name", pa.array(["Ann"] * len(TABLE))), folder / place)
    release = Release.from_groups(folder, group="gid", sensitive="disease")
    found = audit(release, Policy([Requirement(KAnonymity(1))]))
    assert found.scope.beside == ("name",)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_that_cannot_be_read_is_named_rather_than_left_out(tmp_path):
    folder = folder_of(tmp_path, TABLE)
    (folder / "deep").mkdir(mode=0)
    with pytest.raises(DataError, match=r"deep' cannot be read: Permission denied"):
        open_table(folder)


@pytest.mark.parametrize(
    "other",
    [TABLE.drop_columns(["gid"]), TABLE.set_column(0, "gid", pa.array(["1", "2"]))],
    ids=["column missing", "text for number"],
)
def test_parts_that_differ_are_named(tmp_path, other):
    with pytest.raises(DataError, match=r"1\.parquet.*'gid'"):
        counted(folder_of(tmp_path, TABLE, other))


def test_what_is_no_open_relation_of_duckdb_is_refused():
    connection = duckdb.connect()
    for thing, says in ((duckdb.sqltype("INTEGER"), ", not DuckDBPyType"), (connection, "")):
        with pytest.raises(DataError, match=f"expected a DuckDB relation{says}"):
            open_table(thing)
    relation = connection.from_arrow(TABLE)
    connection.close()
    with pytest.raises(DataError, match="closed"):
        counted(relation)


def test_a_table_without_rows_is_refused(everywhere):
    with pytest.raises(DataError, match="has no rows"):
        counted(everywhere(TABLE.slice(0, 0)))


def test_an_unknown_column_is_named_with_a_hint(everywhere):
    source = everywhere(TABLE)
    with pytest.raises(DataError, match=r"'diseas'.*'disease'"):
        counted(source, sensitive="diseas")
    with pytest.raises(DataError, match=r"'group'.*'gid'.*'disease'"):
        counted(source, group="group")


def odd_columns():
    """Columns whose type is not that of one plain value."""
    plain = ([[1]], [{"a": 1}], [b"x"], [timedelta(days=1)])
    for values in plain:
        yield from (make({"gid": [1], "disease": values}) for make in (pa.table, pl.LazyFrame))
    kinds = (
        *((b"x", pa.large_binary()), (b"x", pa.binary(1)), (b"x", pa.binary_view())),
        *((1, pa.duration("s")), ((1, 2, 3), pa.month_day_nano_interval())),
    )
    for value, kind in kinds:
        yield pa.table({"gid": [1], "disease": pa.array([value], kind)})
    for make in (pd.DataFrame, pl.DataFrame):
        yield make({"gid": [1], "disease": [timedelta(days=1)]})


def objects(**columns):
    return pd.DataFrame({name: pd.Series(own, dtype=object) for name, own in columns.items()})


def date_far_away(role):
    for far in (pa.array([10**7], pa.date32()), pa.array([10**18], pa.timestamp("us"))):
        table = TABLE.slice(0, 1)
        table = table.set_column(table.column_names.index(role), role, far)
        for hold in (lambda table: table, duckdb.from_arrow, pl.from_arrow):
            yield hold(table), f"column '{role}': .*; make it text"


ROLES = {"gid": [1, 2], "disease": ["Flu", "AIDS"]}
NO_TABLES = [None, 5, ["gid"], {"gid": [1]}, np.zeros((2, 2)), pd.Series([1]), b"a.csv"]
REFUSED = [
    *((thing, f"{type(thing).__name__} is not a table") for thing in (*NO_TABLES, pl.Series([1]))),
    (pd.DataFrame([[1, 2, 3]], columns=["gid", "disease", "disease"]), r"two.*'disease'"),
    (pa.table([[1], [2], [3]], names=["gid", "disease", "gid"]), "gid"),
    (pd.DataFrame([[1, "Flu"]]), "column name 0 is no text"),
    (pd.DataFrame([[1, "Flu"]], columns=["gid", " "]), "column 2 has no name"),
    (pd.DataFrame(), "'gid'"),
    (pl.DataFrame({"gid": [1], "disease": [b"x"]}, {"gid": int, "disease": pl.Object}), "disease"),
    *((table, "column 'disease' is of type .*; give one plain value") for table in odd_columns()),
    *(
        (objects(gid=[1, 2], disease=values), "mixed types.*disease")
        for values in (["x", 3], [1, "a"], [True, "y"])
    ),
    *(
        (objects(**{**ROLES, role: values}), "beyond 64 bits")
        for role in ROLES
        for values in ([2**70, 1], [2**64, 2**63], [2**63, -1])
    ),
    *(
        (hold({"^g.*$" if odd else "*": [1], "gid": [2], "disease": ["Flu"]}), "is a pattern")
        for hold in (pl.DataFrame, pl.LazyFrame)
        for odd in (True, False)
    ),
    *date_far_away("gid"),
    *date_far_away("disease"),
]


@pytest.mark.parametrize(("table", "says"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_table_or_has_odd_columns_is_refused_by_name(table, says):
    with pytest.raises(DataError, match=says):
        counted(table)


BROKEN = [
    *((f"people.{end}", "gid,disease\n1,Flu\n") for end in ("ods", "json", "gz", "csv.xls")),
    *((name, "gid,disease\n1,Flu\n") for name in ("people", "people.csv.bak", "people.txt.json")),
    *(("people.parquet", each) for each in (b"", b"hello", b"PAR1" + b"\0" * 50 + b"PAR1")),
]


@pytest.mark.parametrize(("name", "content"), BROKEN)
def test_a_file_that_cannot_be_read_says_so_in_one_line(tmp_path, name, content):
    says = "cannot be read as Parquet: " if name == "people.parquet" else "neither CSV .* nor Parq"
    with pytest.raises(DataError, match=says) as said:
        open_table(write(tmp_path, content, name))
    assert "\n" not in str(said.value)
    with pytest.raises(DataError, match=r"the folder .* holds no \.parquet file"):
        open_table(folder_of(tmp_path))


@pytest.mark.parametrize(
    "values", [pd.period_range("2024-01", periods=2, freq="M"), pd.interval_range(0, 2)], ids=type
)
def test_pandas_periods_and_intervals_are_read_or_refused(values):
    try:
        counted(pd.DataFrame({"gid": [1, 2], "disease": values}))
    except DataError as error:
        assert "disease" in str(error)  # noqa: PT017


@pytest.mark.parametrize("value", ["TIME '10:00:00'::TIMETZ", "INTERVAL 1 DAY"])
@pytest.mark.parametrize("role", ["gid", "disease"])
def test_times_with_zones_and_intervals_of_duckdb_are_refused_by_name(role, value):
    others = {"gid": "1", "disease": "'Flu'"} | {role: value}
    frame = duckdb.sql("SELECT " + ", ".join(f"{v} AS {name}" for name, v in others.items()))
    with pytest.raises(DataError, match=f"column '{role}' is of type .*; cast it to text"):
        counted(frame)
    with pytest.raises(DataError, match=f"column '{role}' is of type .*; cast it to text"):
        open_table(frame).arrow([role])
    beside = duckdb.sql(f"SELECT 1 AS gid, 'Flu' AS disease, {value} AS unused")
    assert counted(beside) == {1: {"Flu": 1}}


@pytest.mark.parametrize(
    "hold",
    [
        *(pa.table, pd.DataFrame, pl.DataFrame, pl.LazyFrame),
        lambda table: duckdb.from_arrow(pa.table(table)),
    ],
)
def test_minus_zero_is_zero(hold):
    assert counted(hold({"gid": [1, 1], "disease": [0.0, -0.0]})) == {1: {0.0: 2}}


HALF = "a\ud800"


@pytest.mark.parametrize("column", ["gid", "disease", None])
def test_half_a_character_is_refused_in_values_and_names(column):
    values = {"gid": ["1", "1"], "disease": ["Flu", "AIDS"]}
    says, names = "the pandas frame holds half a character", {}
    if column is None:
        says, names = "the name of column 2 holds half a character", {"sensitive": HALF}
    else:
        values[column] = [HALF, "b"]
    frame = pd.DataFrame({name: pd.Series(own, dtype=object) for name, own in values.items()})
    if column is None:
        frame.columns = pd.Index(["gid", HALF], dtype=object)
    with pytest.raises(DataError, match=says):
        counted(frame, **names)


def beyond(code, entries=("Flu", "AIDS", "Cold")):
    """Dictionary codes of which one points beyond the entries."""
    indices = pa.array([0, 1, code, 0], pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pa.array(entries), safe=False)


@pytest.mark.parametrize("column", ["gid", "disease"])
@pytest.mark.parametrize("hold", ["parquet", "arrow"])
def test_a_code_that_points_beyond_its_entries_is_no_null_and_no_value(tmp_path, column, hold):
    columns = {"gid": ["a", "a", "b", "b"], "disease": ["Flu", "AIDS", "Flu", "Flu"]}
    broken = pa.table({**columns, column: beyond(3)})
    if hold == "parquet":
        pq.write_table(broken, tmp_path / "broken.parquet")
        broken = tmp_path / "broken.parquet"
    with pytest.raises(DataError, match=r"(?s)out of bounds|dictionary bounds"):
        counted(broken)
    far = pa.table({**columns, column: beyond(99)})
    with pytest.raises(DataError, match=f"the column '{column}' is broken"):
        counted(far)


def test_half_precision_numbers_may_make_groups(tmp_path):
    table = pa.table(
        {"gid": pa.array(np.array([1.5, 1.5, 2.0], np.float16)), "disease": ["x", "y", "x"]}
    )
    pq.write_table(table, tmp_path / "half.parquet")
    for source in (table, tmp_path / "half.parquet"):
        found = Release.from_generalized(source, quasi_identifiers=["gid"], sensitive="disease")
        assert bags(found.counts) == {(1.5,): {"x": 1, "y": 1}, (2.0,): {"x": 1}}
