"""Bounds: small files that would take hours or all memory are refused at once, large ones read."""

import gzip
import time
import zipfile

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.frames.workbooks import write_workbook

import foreknow as fk
from foreknow.data.engines import open_table, workbook_bounds
from foreknow.policy.policy import PublishOptions
from foreknow_judge import bounds
from foreknow_judge.errors import ForeknowError

LONG = "x" * (bounds.VALUE_BYTES + 1)
RULES = fk.Policy(
    [fk.Requirement(fk.KAnonymity(2))], fk.Schema(quasi_identifiers=["age"], sensitive="ill")
)


def published(folder, file_format="csv"):
    """A written release of its own."""
    options = PublishOptions(format=file_format)
    rows = pa.table({"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]})
    fk.publish(rows, fk.Policy(RULES.requirements, RULES.schema, options)).write(folder / "out")
    return folder / "out"


def refused(step, says, seconds=20):
    began = time.monotonic()
    with pytest.raises(ForeknowError, match=says):
        step()
    assert time.monotonic() - began < seconds


def test_a_header_of_two_megabytes_or_of_too_many_columns(tmp_path):
    (tmp_path / "wide.csv").write_text("a," * 900_000 + "b\n")
    (tmp_path / "line.csv").write_text("a" * (bounds.HEADER_BYTES + 1))
    with gzip.open(tmp_path / "bomb.csv.gz", "wb", compresslevel=1) as file:
        for _ in range(60):
            file.write(b"a" * (1 << 22))
    says = {"wide": "900,001 columns, and 20,000", "line": "longer than 2 MB", "bomb": "than 2 MB"}
    for path in tmp_path.iterdir():
        refused(lambda path=path: fk.audit(path, RULES), says[path.name.split(".")[0]])
    out = published(tmp_path)
    for name in ("wide.csv", "line.csv"):
        (out / "release.csv").write_bytes((tmp_path / name).read_bytes())
        refused(lambda: fk.verify(out), says[name.split(".")[0]])


def packed(path, *blocks, times=1):
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b"age,ill\n1,a\n")
        for block in blocks * times:
            file.write(block)
    return path


def test_a_packed_file_of_blank_lines_unpacks_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "UNPACKED_BYTES", 1 << 20)
    path = packed(tmp_path / "t.csv.gz", b"\n" * (1 << 22), times=8)
    refused(lambda: fk.audit(path, RULES), "unpacks to")


@pytest.mark.parametrize(
    ("block", "says"),
    [
        (b"\0" * (1 << 22), "line 3"),
        (b"2" + b"," * (1 << 22), "line 3: a line of over 2 MB"),
        (b"2,a,b" + b"c" * 200_000, "line 3"),
    ],
)
def test_a_line_that_is_odd_and_long(tmp_path, block, says):
    refused(lambda: fk.audit(packed(tmp_path / "t.csv.gz", block), RULES), says)


def test_names_of_columns_of_parquet_that_are_too_long(tmp_path):
    name = "x" * (bounds.HEADER_BYTES + 1)
    pq.write_table(pa.table({"age": ["1"], "ill": ["a"], name: ["b"]}), tmp_path / "t.parquet")
    refused(lambda: fk.audit(tmp_path / "t.parquet", RULES), "the names of the columns: longer")


@pytest.mark.parametrize("texts", [[LONG] * 200, [f"{i}{LONG}" for i in range(5)]])
def test_a_text_that_is_too_long_in_parquet(tmp_path, texts):
    rows = pa.table({"age": ["1"] * len(texts), "ill": pa.array(texts)})
    with pq.ParquetWriter(tmp_path / "long.parquet", rows.schema, store_schema=False) as file:
        file.write_table(rows)
    for engine in ("memory", "duckdb"):
        step = lambda: fk.publish(tmp_path / "long.parquet", RULES, engine=engine)  # noqa: B023, E731
        refused(step, r"'ill'.* holds a text of .*1,048,57")
    refused(lambda: fk.audit(tmp_path / "long.parquet", RULES), "holds a text of")
    out = published(tmp_path, "parquet")
    (out / "release.parquet").write_bytes((tmp_path / "long.parquet").read_bytes())
    refused(lambda: fk.verify(out), "not laid out as publish")


def test_a_text_that_is_too_long_in_duckdb(tmp_path):
    with duckdb.connect(tmp_path / "long.duckdb") as opened:
        opened.execute(f"CREATE TABLE t AS SELECT 1 age, repeat('x', {bounds.VALUE_BYTES + 1}) ill")
    refused(lambda: fk.audit(tmp_path / "long.duckdb", RULES), "column 'ill' holds a text of over")


def test_parquet_that_unpacks_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "UNPACKED_BYTES", 1 << 20)
    rows = pa.table({"age": ["1"] * 3000, "ill": ["x" * 100_000] * 3000})
    pq.write_table(rows, tmp_path / "t.parquet", compression="zstd", use_dictionary=False)
    refused(lambda: fk.audit(tmp_path / "t.parquet", RULES), "unpacks to")


def far(path, cell):
    """A workbook in which one cell lies far from the others."""
    write_workbook(path, {"S": [["age", "ill"], [1, "a"]]})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "xl/worksheets/sheet1.xml"
    parts[name] = parts[name].replace(b"</sheetData>", cell + b"</sheetData>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in parts.items():
            archive.writestr(each, content)
    return path


@pytest.mark.parametrize(
    "cell",
    [
        b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        b'<row r="1048576" spans="1:2"><c s="0" r="XFD1048576"><v>1</v></c></row>',
        b'<row r="1048576">' + b"<c><v>1</v></c>" * 5000 + b"</row>",
    ],
)
def test_a_cell_that_lies_far_away(tmp_path, cell):
    path = far(tmp_path / "far.xlsx", cell)
    refused(lambda: fk.suggest_policy(path), "50,000,000 cells are the most")


def test_a_workbook_of_blanks(tmp_path, monkeypatch):
    monkeypatch.setattr(bounds, "UNPACKED_BYTES", 1 << 20)
    path = far(tmp_path / "blank.xlsx", b" " * (50 << 20))
    refused(lambda: fk.suggest_policy(path), "unpacks to")


@pytest.mark.processes
def test_a_reader_that_is_ended_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook_bounds, "MOST_CELLS", 1 << 60)
    path = far(tmp_path / "far.xlsx", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>')
    refused(lambda: fk.suggest_policy(path), "cannot be read", 60)


def test_what_is_large_and_real_is_read(tmp_path):
    wide = {f"column number {i}": ["a", "b"] * 2 for i in range(1000)}
    wide |= {"age": ["1", "1", "2", "2"], "ill": ["x" * 100_000, "ü" * 100_000, "a", "b"]}
    pyarrow.csv.write_csv(pa.table(wide), tmp_path / "t.csv")
    pq.write_table(pa.table(wide), tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        assert len(open_table(tmp_path / name).columns) == 1002
        fk.publish(tmp_path / name, RULES).write(tmp_path / f"{name}.out")
        fk.verify(tmp_path / f"{name}.out")
    cells = [["age", "ill"], *[[i % 9, "ab"[i % 2]] for i in range(20_000)]]
    book = write_workbook(tmp_path / "t.xlsx", {"S": cells})
    assert fk.Microdata(book, RULES.schema).n_people == 20_000
