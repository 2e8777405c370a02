"""Opening tables and writing them: what is one, how large; and that it is read once."""

import gzip
import os
import time
import zipfile
from datetime import timedelta
from itertools import count

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.frames.backends import bags, parquet_folder, write, write_workbook

import foreknow as fk
from foreknow.data.tables.formats import workbook_bounds
from foreknow.data.tables.sources import open_table
from foreknow_judge.errors import DataError, ForeknowError, PolicyError
from foreknow_judge.files import bounds

TABLE = pa.table({"gid": [1, 2], "d": ["Flu", "AIDS"]})


def counted(source, **names):
    names = {"group": "gid", "sensitive": "d"} | names
    return bags(fk.Release.from_groups(source, **names).counts)


def by_column(source, name="gid", **more):
    how = {"quasi_identifiers": [name], "sensitive": "d", **more}
    return fk.Release.from_generalized(source, **how).counts


def folder_of(parent, *tables):
    """Parquet files, in order."""
    (folder := parent / "parts").mkdir(exist_ok=True)
    for i, table in enumerate(tables):
        pq.write_table(table, folder / f"{i}.parquet")
    return folder


# ---- folders of Parquet --------------------------------------------------------------------------


def cast(column, kind):
    name = TABLE.column_names[column]
    return TABLE.set_column(column, name, TABLE.column(column).cast(kind))


def test_parts_differ_in_column_order(tmp_path):
    coded = cast(1, pa.dictionary(pa.int32(), pa.string()))
    for number, parts in enumerate([
        [TABLE, TABLE.select(["d", "gid"]), TABLE.slice(0, 0)],  # in another order, and empty
        [TABLE, cast(1, pa.large_string())], [TABLE, coded], [coded, TABLE],
        [cast(0, pa.int32()), TABLE],
    ]):  # fmt: skip
        (tmp_path / str(number)).mkdir()
        result = counted(folder_of(tmp_path / str(number), *parts))
        assert result == {1: {"Flu": 2}, 2: {"AIDS": 2}}
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    parquet_folder(TABLE, tmp_path / "deep" / "deeper")
    assert counted(tmp_path / "deep") == {1: {"Flu": 1}, 2: {"AIDS": 1}}
    for place, other in (
        ("a", TABLE.drop_columns(["gid"])), ("b", TABLE.set_column(0, "gid", [["1", "2"]])),
    ):  # fmt: skip
        (tmp_path / place).mkdir()
        with pytest.raises(DataError, match=r"1\.parquet.*'gid'"):
            counted(folder_of(tmp_path / place, TABLE, other))
    (tmp_path / "none").mkdir()
    with pytest.raises(DataError, match=r"the folder .* holds no \.parquet file"):
        open_table(tmp_path / "none")


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
        *((f"deep/{name}", "other", f"holds '{name}', which is not Parquet")
          for name in ("part.csv", "part.parquet.gz", "part.parquet.bak", "README")),
        *((name, "folder", f"holds '{name}', which says which rows")
          for name in ("_delta_log", ".hoodie")),
        *(("more.parquet", kind, LINK) for kind in ("link to a folder", "link to nowhere", "pipe")),
    ],
)  # fmt: skip
def test_what_is_beside_parts(tmp_path, name, kind, says):
    folder = folder_of(tmp_path, TABLE)
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if kind == "table":
        pq.write_table(TABLE, path)
    elif kind == "summary":  # as other programs write it: what the parts hold, and no rows
        about = pq.read_metadata(folder / "0.parquet")
        about.set_file_path("0.parquet")
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


# ---- frames --------------------------------------------------------------------------------------


def odd_columns():
    """Columns whose type is not that of one plain value."""
    for values in ([[1]], [{"a": 1}], [b"x"], [timedelta(days=1)]):
        yield from (make({"gid": [1], "d": values}) for make in (pa.table, pl.LazyFrame))
    for value, kind in (
        *((b"x", pa.large_binary()), (b"x", pa.binary(1)), (b"x", pa.binary_view())),
        *((1, pa.duration("s")), ((1, 2, 3), pa.month_day_nano_interval())),
    ):
        yield pa.table({"gid": [1], "d": pa.array([value], kind)})
    yield from (
        make({"gid": [1], "d": [timedelta(days=1)]}) for make in (pd.DataFrame, pl.DataFrame)
    )


def objects(**columns):
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()})


def dates_far_away():
    for place, role in enumerate(TABLE.column_names):
        for far in (pa.array([10**7], pa.date32()), pa.array([10**18], pa.timestamp("us"))):
            table = TABLE.slice(0, 1).set_column(place, role, far)
            for own in (table, duckdb.from_arrow(table), pl.from_arrow(table)):
                yield own, f"column '{role}': .*; make it text"


ROLES = {"gid": [1, 2], "d": ["Flu", "AIDS"]}
HALF = "a\ud800"
NO_TABLES = [None, 5, ["gid"], {"gid": [1]}, np.zeros((2, 2)), pd.Series([1]), b"a.csv"]
ZONED = ["TIME '10:00:00'::TIMETZ", "INTERVAL 1 DAY"]


def coded(columns):
    """A table of codes for texts."""
    return pa.table(
        {name: pa.array(column).dictionary_encode() for name, column in columns.items()}
    )


REFUSED = [
    *((thing, f"{type(thing).__name__} is not a table") for thing in (*NO_TABLES, pl.Series([1]))),
    (pd.DataFrame([[1, 2, 3]], columns=["gid", "d", "d"]), r"two.*'d'"),
    (pa.table([[1], [2], [3]], names=["gid", "d", "gid"]), "gid"),
    (pd.DataFrame([[1, "Flu"]], columns=[0.5, None]), "column name 0.5 is no text"),
    (pd.DataFrame([[1, "Flu"]], columns=["gid", " "]), "column 2 has no name"),
    (pd.DataFrame(), "'gid'"),
    (pl.DataFrame({"gid": [1], "d": [b"x"]}, {"gid": int, "d": pl.Object}), "d"),
    *((table, "column 'd' is of type .*; give one plain value") for table in odd_columns()),
    *((objects(gid=[1, 2], d=own), "mixed types.*d") for own in (["x", 3], [1, "a"], [True, "y"])),
    *((objects(**{**ROLES, role: own}), "beyond 64 bits") for role in ROLES
      for own in ([2**70, 1], [2**64, 2**63], [2**63, -1])),
    *((hold({name: [1], "gid": [2], "d": ["Flu"]}), "is a pattern")
      for hold in (pl.DataFrame, pl.LazyFrame) for name in ("^g.*$", "*")),
    *dates_far_away(),
    *((objects(**{**ROLES, role: [HALF, "b"]}), "pandas frame holds half a") for role in ROLES),
    *((hold({**ROLES, role: ["a", "b\0c"]}), f"column {role!r} holds a null character")
      for hold in (pa.table, pd.DataFrame, pl.DataFrame, coded) for role in ROLES),
    (pd.DataFrame([["1", "Flu"]], columns=pd.Index(["gid", HALF], dtype=object)),
     "the name of column 2 holds half a character"),
    *((duckdb.sql(f"SELECT {own} AS gid, {own} AS d"), "column '.*' is of type .*; cast it to text")
      for own in ZONED),
    (duckdb.sqltype("INTEGER"), "expected a DuckDB relation, not DuckDBPyType"),
    (duckdb.connect(), "expected a DuckDB relation"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "says"), REFUSED, ids=range(len(REFUSED)))
def test_odd_tables_are_refused(table, says):
    with pytest.raises(DataError, match=says):
        counted(table)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((f"people.{end}", "gid,d\n1,Flu\n") for end in ("ods", "json", "gz", "csv.xls")),
        *((name, "gid,d\n1,Flu\n") for name in ("people", "people.csv.bak", "people.txt.json")),
        *(("people.parquet", own) for own in (b"", b"hello", b"PAR1" + b"\0" * 50 + b"PAR1")),
    ],
)
def test_unreadable_files_are_named(tmp_path, name, content):
    says = "cannot be read as Parquet: " if name == "people.parquet" else "neither CSV .* nor Parq"
    with pytest.raises(DataError, match=says) as said:
        open_table(write(tmp_path, content, name))
    assert "\n" not in str(said.value)


def test_odd_numbers_and_periods():
    for values in (pd.period_range("2024-01", periods=2, freq="M"), pd.interval_range(0, 2)):
        try:
            counted(pd.DataFrame({"gid": [1, 2], "d": values}))
        except DataError as error:
            assert "column 'd'" in str(error)  # noqa: PT017
    for hold in (pa.table, pd.DataFrame, pl.DataFrame, pl.LazyFrame):
        assert counted(hold({"gid": [1, 1], "d": [0.0, -0.0]})) == {1: {0.0: 2}}
    assert counted(duckdb.from_arrow(pa.table({"gid": [1, 1], "d": [0.0, -0.0]}))) == {1: {0.0: 2}}


def beyond(code):
    """Dictionary codes of which one points beyond the entries."""
    indices, entries = pa.array([0, 1, code, 0], pa.int32()), pa.array(["Flu", "AIDS", "Cold"])
    return pa.DictionaryArray.from_arrays(indices, entries, safe=False)


@pytest.mark.parametrize("column", ["gid", "d"])
def test_invalid_dictionary_codes_are_refused(tmp_path, column):
    columns = {"gid": ["a", "a", "b", "b"], "d": ["Flu", "AIDS", "Flu", "Flu"]}
    broken = pa.table({**columns, column: beyond(3)})
    pq.write_table(broken, tmp_path / "broken.parquet")
    for source in (broken, tmp_path / "broken.parquet"):
        with pytest.raises(DataError, match=r"(?s)out of bounds|dictionary bounds"):
            counted(source)
    with pytest.raises(DataError, match=f"the column '{column}' is broken"):
        counted(pa.table({**columns, column: beyond(99)}))


RULES = fk.Policy(
    [fk.Requirement(fk.KAnonymity(2))], fk.Schema(quasi_identifiers=["age"], sensitive="ill")
)
ROWS = {"age": [1, 1], "ill": ["flu", "cold"]}


@pytest.mark.parametrize(
    ("lazy", "message"),
    [
        (lambda: pl.scan_csv("nowhere.csv"), "nowhere.csv"),
        (lambda: pl.LazyFrame(ROWS).with_columns(pl.col("agee")), "agee"),
        (lambda: pl.LazyFrame(ROWS).with_columns(pl.col("ill").cast(pl.Int64)), "failed in column"),
    ],
    ids=["file", "column", "cast"],
)
def test_uncollectable_lazy_frames_are_refused(lazy, message):
    with pytest.raises(DataError, match=message) as raised:
        fk.audit(lazy(), RULES)
    assert "\n" not in str(raised.value)


def test_numbers_written_in_two_ways(tmp_path):
    how = {"quasi_identifiers": ["age"], "sensitive": "ill", "k_anonymity": 2}
    for ages in ([1, 1.0, 1, 1], [1, True, 2, 2], [0.0, False, 1.0, True]):
        frame = objects(age=ages, ill=["flu", "cold"] * 2)
        frame.to_csv(tmp_path / "ages.csv", index=False)
        assert not fk.audit(tmp_path / "ages.csv", **how).safe
        assert fk.k_anonymity(tmp_path / "ages.csv", ["age"]) == 1
        with pytest.raises(ForeknowError, match="which are equal, and which a file shows as"):
            fk.audit(frame, **how)
        with pytest.raises(ForeknowError, match="which are equal, and which a file shows as"):
            fk.k_anonymity(frame, ["age"])
    for ages in ([1, 2.5, 1, 2.5], [np.int64(1), 1, None, np.nan], [1, 1, 2, 2]):
        frame = objects(age=ages, ill=["flu", "cold"] * 2)
        assert fk.k_anonymity(frame, ["age", "age"]) == fk.k_anonymity(frame, ["age"]) == 2
    with pytest.raises(ForeknowError, match="at least one column"):
        fk.k_anonymity(frame, [])


# ---- CSV -----------------------------------------------------------------------------------------

PLAIN = "gid,d\n1,Flu\n2,AIDS\n1,Flu\n"


def test_empty_fields_with_quotes(tmp_path):
    path = write(tmp_path, 'pid,gid,d\n1,"",AIDS\n2,"",AIDS\n3,,Flu\n4,,Flu\n')
    for more in ({}, {"person": "pid", "semantics": "set"}):
        with pytest.raises(DataError, match=r'column \'gid\' of groups holds both "" and empty'):
            by_column(path, **more)
    # Elsewhere an empty field is a null.
    path = write(tmp_path, 'gid,d\n1,""\n1,\n1,Flu\n')
    with pytest.raises(DataError, match="'d' is missing in 2 rows, first in row 1"):
        counted(path)
    quoted = write(tmp_path, 'gid,d\n"",Flu\n"",AIDS\n1,Flu\n1,AIDS\n')
    assert by_column(quoted).groups == [(None,), ("1",)]


NOT_UTF = "not UTF-8.*save it again as UTF-8"
LATIN = ("gid,d\n" + "1,x\n" * 30_000).encode() + b"1,\xe9\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "people.csv is empty.*; its first line must name the columns"),
        ("gid,d\n", "people.csv has no rows"),
        ("gid,,d\n1,2,3\n", "column 2 has no name"),
        ("gid,d,gid\n1,2,3\n", "two columns named 'gid'; rename one of them"),
        ("Person,,,Ill\nid,a,s,d\n1,2,3,4\n", "two columns named ''; if the names stand in a line"),
        ("gid,sickness\n1,2\n", "has no column 'd'; known: 'gid', 'sickness'"),
        ("gid,dd\n1,2\n", "has no column 'd'; did you mean 'dd'?"),
        ("gid,d\n1,x\n2,y,z\n", "people.csv, line 3: 3 fields where the header has 2"),
        ("gid,d\n1,x\n2\n", "people.csv, line 3: 1 field where the header has 2"),
        ("gid,d\n1,Grippé\n".encode("latin-1"), NOT_UTF), (PLAIN.encode("utf-16"), NOT_UTF),
        ("gid,grippé\n1,x\n".encode("latin-1"), NOT_UTF),
        (LATIN, r"not UTF-8 \(line 30002, byte 120009\)"),
        ('gid,d\n1,"x\n2,y\n', "people.csv, line 2: a quote is not closed"),
        ('gid,d\n1,"20"\n1,"20" \n', "people.csv, line 3: a quote with something beside"),
        ('gid,d\r\n1,"a\r\nb"\r\n1,5" pipe\r\n', "line 4: a quote with something beside"),
        ("gid,d\n1,x\n2,y,\n", "people.csv, line 3: 3 fields where the header has 2"),
        ("\ngid,d\n1,x\n", "begins with an empty line; its first line must name"),
    ],
)  # fmt: skip
def test_bad_files_name_the_fault(tmp_path, content, says):
    with pytest.raises(DataError, match=says):
        counted(write(tmp_path, content))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
def test_empty_lines_are_refused(tmp_path, end):
    path = write(tmp_path, f"d{end}Flu{end}{end}AIDS{end}")
    with pytest.raises(DataError, match="has an empty line, which some readers"):
        open_table(path).arrow(["d"])
    path = write(tmp_path, f'd{end}Flu{end}""{end}AIDS{end}')
    assert open_table(path).arrow(["d"]).column(0).to_pylist() == ["Flu", None, "AIDS"]


# ---- small files that would take hours or all memory are refused at once -------------------------


def published(folder, file_format="csv"):
    """A written release of its own."""
    rows = pa.table({"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]})
    fk.publish(rows, RULES, format=file_format).write(folder / "out")
    return folder / "out"


def refused(step, says, seconds=20):
    began = time.process_time()
    with pytest.raises(ForeknowError, match=says):
        step()
    assert time.process_time() - began < seconds  # of this process, however busy the machine is


def test_headers_of_two_megabytes(tmp_path):
    contents = {"wide.csv": "a," * 900_000 + "b\n", "line.csv": "a" * (bounds.HEADER_BYTES + 1)}
    says = {"wide.csv": "900,001 columns, and 20,000", "line.csv": "longer than 2 MB"}
    out = published(tmp_path)
    for name, content in contents.items():
        refused(lambda: fk.audit(write(tmp_path, content, name), RULES), says[name])  # noqa: B023
        (out / "release.csv").write_text(content)
        refused(lambda: fk.verify(out), says[name])
    with gzip.open(tmp_path / "bomb.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(60):
            file.write(b"a" * (1 << 22))
    refused(lambda: fk.audit(tmp_path / "bomb.csv.gz", RULES), "than 2 MB")
    name = "x" * (bounds.HEADER_BYTES + 1)
    pq.write_table(pa.table({"age": ["1"], "ill": ["a"], name: ["b"]}), tmp_path / "t.parquet")
    refused(lambda: fk.audit(tmp_path / "t.parquet", RULES), "the names of the columns: longer")


@pytest.mark.parametrize("texts", [[""] * 20, [f"{i}" for i in range(3)]])
def test_text_that_is_too_long(tmp_path, texts):
    long = pa.array([text + "x" * (bounds.VALUE_BYTES + 1) for text in texts])
    rows = pa.table({"age": ["1"] * len(texts), "ill": long})
    with pq.ParquetWriter(tmp_path / "long.parquet", rows.schema, store_schema=False) as file:
        file.write_table(rows)
    for engine in ("memory", "duckdb"):
        step = lambda: fk.publish(tmp_path / "long.parquet", RULES, engine=engine)  # noqa: B023, E731
        refused(step, r"'ill'.* holds a text of .*1,048,57")
    refused(lambda: fk.audit(tmp_path / "long.parquet", RULES), "holds a text of")
    out = published(tmp_path, "parquet")
    (out / "release.parquet").write_bytes((tmp_path / "long.parquet").read_bytes())
    refused(lambda: fk.verify(out), "not laid out as publish")
    with duckdb.connect(tmp_path / "long.duckdb") as opened:
        opened.execute(f"CREATE TABLE t AS SELECT 1 age, repeat('x', {bounds.VALUE_BYTES + 1}) ill")
    refused(lambda: fk.audit(tmp_path / "long.duckdb", RULES), "column 'ill' holds a text of over")


def far(path, cell):
    """A workbook in which one cell lies far from the others."""
    write_workbook(path, {"S": [["age", "ill"], [1, "a"]]})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    parts[name] = parts[name].replace(b"</sheetData>", cell + b"</sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return path


def test_what_unpacks_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "UNPACKED_BYTES", 1 << 20)
    blank_lines = tmp_path / "t.csv.gz"
    blank_lines.write_bytes(gzip.compress(b"age,ill\n1,a\n" + b"\n" * (1 << 22)))
    rows = pa.table({"age": ["1"] * 50, "ill": ["x" * 100_000] * 50})
    pq.write_table(rows, tmp_path / "t.parquet", compression="zstd", use_dictionary=False)
    for path in (blank_lines, tmp_path / "t.parquet"):
        refused(lambda path=path: fk.audit(path, RULES), "unpacks to")
    path = far(tmp_path / "blank.xlsx", b" " * (10 << 20))
    refused(lambda: fk.suggest_policy(path), "unpacks to")


FAR = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'


@pytest.mark.parametrize(
    "cell",
    [
        FAR,
        b'<row r="1048576" spans="1:2"><c s="0" r="XFD1048576"><v>1</v></c></row>',
        b'<row r="1048576">' + b"<c><v>1</v></c>" * 5000 + b"</row>",
    ],
)
def test_cell_that_lies_far_away(tmp_path, cell):
    path = far(tmp_path / "far.xlsx", cell)
    refused(lambda: fk.suggest_policy(path), "50,000,000 cells are the most")


@pytest.mark.processes
def test_ended_readers_are_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook_bounds, "MOST_CELLS", 1 << 60)
    path = far(tmp_path / "far.xlsx", FAR)
    refused(lambda: fk.suggest_policy(path), "cannot be read", 60)


# ---- writing: the columns given, and nothing else of the input -----------------------------------


# ---- A table is read once, or a verdict is on one of its states: rows that turn mix nobody up ----


N = 40
TABLE_OF_ROWS = pa.table({
    "name": [f"p{i}" for i in range(N)], "age": [*range(N)], "disease": [f"d{i}" for i in range(N)],
})  # fmt: skip
TURNED = TABLE_OF_ROWS.take([*reversed(range(N))])
ROLES_OF_ROWS = {"quasi_identifiers": ["age"], "sensitive": "disease"}
SCHEMA = fk.Schema(**ROLES_OF_ROWS, other=["name"])
POLICY = fk.Policy([fk.Requirement(fk.Facts(), below="0.99", knowing=[])], SCHEMA)


def turning(states):
    """A lazy frame that is another one each time that it is read."""
    times = count()
    # An old Polars asks it for some columns, and wants no others.
    return (
        states[0]
        .lazy()
        .map_batches(lambda frame: states[next(times) % len(states)].select(frame.columns))
    )


def turning_relation():
    """A query of DuckDB whose every use turns the order of rows round."""
    times, connection = count(), duckdb.connect()
    connection.register("people", TABLE_OF_ROWS)
    connection.create_function("turn", lambda: next(times) % 2, [], "BIGINT")
    order = "age * (1 - 2 * (SELECT max(turn()) FROM range(1)))"
    return connection.sql(f"SELECT * FROM people ORDER BY {order}")


SOURCES = [turning_relation, lambda: turning([*map(pl.from_arrow, (TABLE_OF_ROWS, TURNED))])]


def published_of_rows(microdata):
    """Who has which age in what is published."""
    people = fk.publish(microdata, POLICY, form="bucketized").tables["people"].to_pylist()
    return {(int(row["age"]), row["name"]) for row in people}


WHO = {(i, f"p{i}") for i in range(N)}


@pytest.mark.parametrize("make", SOURCES, ids=["DuckDB", "Polars"])
def test_row_order_keeps_people_together(make):
    table = open_table(make())
    reads = {tuple(table.arrow(["age"]).column("age").to_pylist()) for _ in range(4)}
    assert len(reads) == 2  # it does turn
    assert published_of_rows(fk.Microdata(make(), SCHEMA)) == WHO
    release = fk.Release.from_groups(make(), group="age", sensitive="disease", person="name")
    names, values = release.members.names, release.counts.values
    held = zip(release.holdings.people.tolist(), release.holdings.values.tolist(), strict=True)
    assert {names[who]: values[code] for who, code in held} == {f"p{i}": f"d{i}" for i in range(N)}
    microdata = fk.Microdata(make(), **ROLES_OF_ROWS)
    assert microdata.n_people == N
    with pytest.raises(DataError, match="'name'"):  # which was not read with the others
        microdata.source.arrow(["name"])


def test_changed_queries_are_refused():
    frame = pl.from_arrow(TABLE_OF_ROWS).with_columns(sex=pl.lit("f"))
    fewer = turning([frame.head(N - i) for i in range(9)])
    others = [pl.DataFrame({"at": [1] * 4 + [2] * 4, "ill": [*ill], "job": [*"uvwx"] * 2})
              for ill in ("abcdabcd", "aaaabbbb")]  # fmt: skip
    for source, group, secret, known in (
        (fewer, "sex", "disease", "age"), (turning(others), "at", "ill", "job"),
    ):  # fmt: skip
        release = fk.Release.from_groups(source, group=group, sensitive=secret)
        assert release.counts.n_people <= N
        with pytest.raises(DataError, match="gave other rows when it was read again"):
            release.signatures([known])


def test_a_changed_polars_frame_stays():
    frame = pl.from_arrow(TABLE_OF_ROWS)
    microdata = fk.Microdata(frame, SCHEMA)
    before = microdata.n_people
    frame.insert_column(0, pl.Series("new", range(N)))
    frame.replace_column(frame.get_column_index("name"), pl.Series("name", ["x"] * N))
    assert microdata.n_people == before
    assert microdata.source.arrow(["name"])["name"].to_pylist() == TABLE_OF_ROWS["name"].to_pylist()


# ---- files ---------------------------------------------------------------------------------------


def write_rows(path, table):
    (pyarrow.csv.write_csv if path.suffix == ".csv" else pq.write_table)(table, path)


def replace(path, table):
    """Another file of the same name."""
    aside = path.with_name(f"new{path.suffix}")
    write_rows(aside, table)
    aside.replace(path)


@pytest.mark.parametrize("name", ["people.csv", "people.parquet"])
def test_file_that_changes_is_refused(tmp_path, name):
    path, text = tmp_path / name, rf"{name} changed while it was read"
    for change in (write_rows, replace):  # before it is read
        write_rows(path, TABLE_OF_ROWS)
        microdata = fk.Microdata(path, SCHEMA)
        change(path, TURNED)
        with pytest.raises(DataError, match=text):
            _ = microdata.n_people
    for keep in (False, True):  # between two reads, and with its old time
        write_rows(path, TABLE_OF_ROWS)
        release = fk.Release.from_groups(path, group="age", sensitive="disease")
        assert release.counts.n_people == N
        times = path.stat()
        write_rows(path, TURNED)
        if keep:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        with pytest.raises(DataError, match=text):
            release.signatures(["name"])
    write_rows(path, TABLE_OF_ROWS)
    microdata = fk.Microdata(path, SCHEMA)
    assert microdata.n_people == N
    replace(path, TURNED)
    assert published_of_rows(microdata) == WHO  # what was read


# ---- a verdict is on one of the states of a table, or there is none ------------------------------


def state(rng, sizes):
    """A table with groups of these sizes."""
    rows = []
    for group, size in enumerate(sizes):
        for _ in range(size):
            job = rng.choice("uv")
            ill = rng.choice("bc" if job == "u" else "abc")
            rows.append(
                (f"g{group}", job, ill, rng.choice("xy"), rng.randint(0, 3), len(rows) // 2)
            )
    rng.shuffle(rows)
    return pl.DataFrame(rows, schema=["at", "job", "ill", "pay", "home", "who"], orient="row")


# Nobody knows an illness for sure who knows jobs, or groups are large; not both.
ONE = pa.table({"at": [1] * 4 + [2] * 4, "ill": [*"abcdabcd"], "job": [*"uvwxuvwx"]})
TWO = pa.table({"at": [1, 1, 2, 2, 3, 3, 4, 4], "ill": [*"ab"] * 4, "job": ["u"] * 8})
OF_ILL = {"quasi_identifiers": ["at"], "sensitive": "ill"}
WANTED = [
    fk.Requirement(fk.KAnonymity(3), knowing=[]),
    fk.Requirement(fk.Facts(), below="9/10", knowing=["job"]),
]


def safe(given, policy):
    return [v.safe for v in fk.audit(given, policy, learned=False).verdicts]


@pytest.mark.parametrize("other", [["job"], []])
def test_changing_relations_are_refused(other):
    schema = fk.Schema(**OF_ILL, other=other)
    policy = fk.Policy(WANTED, schema)
    assert (safe(ONE, policy), safe(TWO, policy)) == ([True, False], [False, True])
    connection = duckdb.connect()
    connection.register("given", ONE)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    release = fk.Release.from_schema(connection.table("people"), schema)
    assert release.counts.n_groups == 2
    assert safe(release, policy) == [True, False]
    connection.register("given", TWO)
    connection.execute("DELETE FROM people; INSERT INTO people SELECT * FROM given")
    if other:
        with pytest.raises(DataError, match=r"changed since it was counted, or .* collect it into"):
            fk.audit(release, policy, learned=False)
    else:  # read once more, with all that its owner counts
        assert safe(release, policy) == [False, True]
        assert fk.audit(release, policy, learned=False).counts.n_groups == 4


def test_named_values_are_those_judged():
    """A value that is spelt otherwise in the rows that are judged is refused."""
    schema, connection = fk.Schema(**OF_ILL), duckdb.connect()
    connection.register("given", ONE)
    connection.execute("CREATE TABLE people AS SELECT * FROM given")
    release = fk.Release.from_schema(connection.table("people"), schema)
    required = fk.Requirement(fk.Facts(), below="9/10", values=["a"], knowing=["job"])
    assert not fk.audit(release, fk.Policy([required], schema), learned=False).safe
    connection.execute("UPDATE people SET ill = 'A' WHERE ill = 'a'")
    with pytest.raises(PolicyError, match="nobody has 'a', and somebody has 'A'"):
        fk.audit(release, fk.Policy([required], schema), learned=False)


def test_people_must_match_the_release():
    release = fk.Release.from_generalized(ONE.select(["at", "ill"]), **OF_ILL)
    policy = fk.Policy(WANTED, fk.Schema(**OF_ILL))
    assert not fk.audit(release, policy, people=ONE, learned=False).safe
    for values in ("abcddcbb", "abcdabce"):
        people = ONE.set_column(1, "ill", pa.array([*values]))
        with pytest.raises(DataError, match="other values of 'ill' than in the release"):
            fk.audit(release, policy, people=people, learned=False)


def test_renamed_groups_are_different():
    states = [ONE, ONE.set_column(0, "at", pa.array([1] * 4 + [3] * 4))]
    given = turning([*map(pl.from_arrow, states)])
    release = fk.Release.from_schema(given, fk.Schema(**OF_ILL, other=["job"]))
    assert [*release.counts.groups] == [(1,), (2,)]
    with pytest.raises(DataError, match="it changed since it was counted"):
        fk.audit(release, fk.Policy(WANTED), learned=False)
    # Of two columns in one table of counts, each is certain in one state.
    states = [
        pl.DataFrame({"group": [1, 1], "n": [2, 2], "ill": [*ill], "pay": [*pay]})
        for ill, pay in (("ab", "xx"), ("aa", "xy"))
    ]
    how = {"sensitive": ["ill", "pay"], "count": "n", "group": "group"}
    release = fk.Release.from_bucketized(turning(states), **how)
    limits = [
        fk.Requirement(fk.Facts(), below="9/10", sensitive=name, knowing=[])
        for name in ("ill", "pay")
    ]
    assert safe(release, fk.Policy(limits)) in ([True, False], [False, True])
