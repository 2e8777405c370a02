"""Files of other programs hold what is judged, and no program finds more in them."""

import json
import struct
import zipfile

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.data.engines.formats import write_as
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError, DataError, OutputError
from foreknow_judge.formats import READERS

pyreadstat = pytest.importorskip("pyreadstat")
pytest.importorskip("python_calamine")

SHEET = "xl/worksheets/sheet1.xml"
ON_DISK = (1980, 1, 1, 0, 0, 0)
TABLE = pa.table({"a": [1.5, 2.0, None, 0.5], "b": ["x", "yy", "z", None]})


def read(path):
    return READERS[path.suffix](path).to_pydict()


def refused(path, match):
    with pytest.raises(DataError, match=match):
        read(path)


@pytest.fixture
def workbook(tmp_path):
    path = tmp_path / "release.xlsx"
    write_as(TABLE, path)
    return path


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {own.filename: archive.read(own) for own in archive.infolist()}


def zipped(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            member = zipfile.ZipInfo(name, ON_DISK)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content)
    return path.read_bytes()


def test_a_number_is_written_in_one_way(workbook):
    parts = parts_of(workbook)
    own = parts[SHEET]
    for odd in (b"1.50", b"1.5e+0", b"1.5000000000000000000001", b"01.5", b"15e-1"):
        zipped(workbook, {**parts, SHEET: own.replace(b"<v>1.5<", b"<v>" + odd + b"<")})
        refused(workbook, "no number as it prints")
    for odd in (b"-0", b"1e400", b"2.0"):
        zipped(workbook, {**parts, SHEET: own.replace(b"<v>2<", b"<v>" + odd + b"<")})
        refused(workbook, "no number as it prints")


def test_a_cell_is_there_or_it_is_not(workbook):
    parts = parts_of(workbook)
    own = parts[SHEET]
    zipped(workbook, {**parts, SHEET: own.replace(b">yy<", b"><")})
    refused(workbook, "B3 is empty")
    zipped(
        workbook, {**parts, SHEET: own.replace(b"</sheetData>", b'<row r="6"></row></sheetData>')}
    )
    refused(workbook, "row 6 is empty")


def test_an_archive_has_no_second_directory_and_nothing_around_it(workbook):
    content = workbook.read_bytes()
    parts = parts_of(workbook)
    workbook.write_bytes(b"Anna" + content)  # which zipfile skips
    refused(workbook, "no workbook")
    workbook.write_bytes(content + b"Anna")
    refused(workbook, "something else")
    # Its end says that the directory is that of another archive before; zipfile reads the last.
    other = zipped(workbook, {**parts, SHEET: parts[SHEET].replace(b"yy", b"Anna")})
    (start,) = struct.unpack("<L", other[-6:-2])
    workbook.write_bytes(other[:-22] + content[:-6] + struct.pack("<L", start) + content[-2:])
    refused(workbook, "more than one sheet|something else")
    # The head of a member says something else than the directory.
    workbook.write_bytes(content[:14] + b"\1" + content[15:])
    refused(workbook, "not as it is said to be")
    workbook.write_bytes(content)
    assert read(workbook) == {"a": ["1.5", "2.0", None, "0.5"], "b": ["x", "yy", "z", None]}


def test_bytes_after_the_end_of_a_member_are_refused(workbook):
    """A member is said to be longer than what is unpacked of it."""
    parts = parts_of(workbook)
    with zipfile.ZipFile(workbook) as archive:
        own = {each.filename: each for each in archive.infolist()}
        first = archive.infolist()[0]
    content = workbook.read_bytes()
    end = 30 + len(first.filename) + first.compress_size
    longer = content[:18] + struct.pack("<L", first.compress_size + 4) + content[22:end] + b"Anna"
    workbook.write_bytes(longer + content[end:])
    refused(workbook, "something else|not as it is")
    assert set(own) == set(parts)


@pytest.mark.parametrize("kind", ["sav", "dta"])
@pytest.mark.parametrize("longest", [3, 8, 255, 256, 504, 505, 759, 1800])
def test_texts_of_any_length_are_read(kind, longest, tmp_path):
    path = tmp_path / f"a.{kind}"
    texts = ["ä" * (longest // 2) + "x" * (longest % 2), "b", None]
    write_as(pa.table({"n": [1.5, None, 2.0], "s": texts, "t": ["", "c", "dd"]}), path)
    assert read(path) == {"n": ["1.5", None, "2.0"], "s": texts, "t": [None, "c", "dd"]}


def frame(**columns):
    return pytest.importorskip("polars").DataFrame(columns)


def test_values_that_their_owner_declares_missing_are_no_secret(tmp_path):
    """SPSS and R show them; they are not one missing value."""
    path = tmp_path / "a.sav"
    rows = frame(a=[1.0, 2.0, 3.0], b=["x", "y", "z"])
    pyreadstat.write_sav(rows, str(path), missing_ranges={"a": [2]})
    refused(path, "missing ranges")
    path = tmp_path / "a.dta"
    write_as(TABLE, path)
    content = path.read_bytes()
    missing = struct.pack("<d", 2.0**1023)
    assert content.count(missing) == 1
    other = struct.pack("<Q", 0x7FE0010000000000)  # .a
    path.write_bytes(content.replace(missing, other))
    refused(path, "missing")


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_rows_hold_nothing_that_a_reader_skips(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    write_as(TABLE, path)
    content = path.read_bytes()
    path.write_bytes(content + b"Anna")
    refused(path, "something else")
    row = content[-16:] if kind == "sav" else b""
    if kind == "sav":  # a row that is not counted; other programs read up to the end
        path.write_bytes(content + row)
        refused(path, "something else")
    long, cut = (b"yy      ", b"yy\0Ann  ") if kind == "sav" else (b"x\0", b"xA")
    assert content.count(long) == 1
    path.write_bytes(content.replace(long, cut))
    if kind == "sav":
        refused(path, "more than its texts")
    write_as(pa.table({"b": ["xxxxxxx", "y"]}), path)
    content = path.read_bytes()
    if kind == "dta":
        path.write_bytes(content.replace(b"y\0\0\0\0\0\0", b"y\0Anna\0"))
        refused(path, "more than")


@pytest.mark.parametrize(("kind", "shown"), [("sav", "DATE11"), ("sav", "F8.0"), ("dta", "%td")])
def test_numbers_are_shown_as_numbers(kind, shown, tmp_path):
    path = tmp_path / f"a.{kind}"
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[kind]
    write(frame(a=[1.0, 2.5]), str(path), variable_format={"a": shown})
    refused(path, "shows column 'a'")


@pytest.mark.parametrize("kind", ["xlsx", "sav", "dta"])
def test_a_zero_has_no_sign(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    texts = ["-0.0", "0.0", "1.5"]  # which differ in a table of texts
    write_as(pa.table({"a": texts}), path)
    assert read(path) == {"a": texts}
    if kind != "xlsx":
        write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[kind]
        write(frame(a=np.array([0.0, -0.0, 1.0])), str(path))
        refused(path, "sign")


def test_verify_refuses_such_a_workbook(tmp_path):
    table = frame(
        age=list(range(20, 40)), w=[0.5, 1.5] * 10, ill=["Flu", "Cold", "Gout", "Cough"] * 5
    )
    policy = fk.Policy(
        [fk.Requirement(fk.Facts(l=1), below="9/10", knowing=[])],
        fk.Schema(quasi_identifiers=["age"], sensitive="ill", other=["w"]),
    )
    folder = tmp_path / "out"
    fk.publish(table, policy, format="xlsx").write(folder)
    fk.verify(folder)
    file = folder / "release.xlsx"
    parts = parts_of(file)
    zipped(file, {**parts, SHEET: parts[SHEET].replace(b"<v>0.5<", b"<v>0.50<", 3)})
    said = json.loads((folder / "certificate.json").read_text())
    said["release"]["files"][file.name] = digest_of(file)
    (folder / "certificate.json").write_text(json.dumps(said))
    with pytest.raises(CertificateError, match="no number as it prints"):
        fk.verify(folder)


def test_names_that_are_one_to_spss_are_refused(tmp_path):
    with pytest.raises(OutputError, match="one name to SPSS"):
        write_as(pa.table({"age": ["x"], "Age": ["y"]}), tmp_path / "a.sav")


def test_a_sheet_beyond_the_size_of_archives_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 2000)
    with pytest.raises(OutputError, match="2 GB"):
        write_as(pa.table({"a": [f"text {i}" for i in range(500)]}), tmp_path / "a.xlsx")


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (b'<row r="3">', b'<row r="4">', "row 3 is hidden, out of order"),
        (b'<row r="3">', b'<row r="2">', "row 3 is hidden, out of order"),
        (b'r="B3"', b'r="B2"', "row 3 has cells out of order"),
        (b'r="B3"', b'r="A3"', "row 3 has cells out of order"),  # readers take either
        (b'r="B3"', b'r="C3"', "in columns without a name"),
        (b'r="B1"', b'r="C1"', "in columns without a name"),
    ],
)
def test_each_cell_has_one_place(workbook, old, new, match):
    parts = parts_of(workbook)
    assert parts[SHEET].count(old) == 1
    zipped(workbook, {**parts, SHEET: parts[SHEET].replace(old, new)})
    refused(workbook, match)


def test_bytes_within_what_is_packed_are_refused(workbook):
    """After its stream a member has four bytes that its sizes allow for everywhere."""
    content = zipped(workbook, parts_of(workbook))
    with zipfile.ZipFile(workbook) as archive:
        last = archive.infolist()[-1]
    longer = struct.pack("<L", last.compress_size + 4)
    listed, (start,) = content.rindex(b"PK\1\2"), struct.unpack("<L", content[-6:-2])
    workbook.write_bytes(
        content[: last.header_offset + 18]
        + longer
        + content[last.header_offset + 22 : start]
        + b"Anna"
        + content[start : listed + 20]
        + longer
        + content[listed + 24 : -6]
        + struct.pack("<L", start + 4)
        + content[-2:]
    )
    with zipfile.ZipFile(workbook) as archive:
        assert archive.testzip() is None
    refused(workbook, "something else than its members")
