"""A release is written as its table came: CSV of any dialect, workbooks, SPSS and Stata."""

import json
import random
import zipfile

import polars as pl
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.data.engines import open_table
from foreknow.data.engines.formats import filled, printed, write_as
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError, OutputError, PolicyError
from foreknow_judge.formats import READERS

pytest.importorskip("pyreadstat")
pytest.importorskip("python_calamine")

POLICY = {
    "schema": {
        "quasi_identifiers": ["age", "height"],
        "sensitive": ["ill", "income"],
        "other": ["visits", "=note"],
        "identifiers": ["pid"],
    },
    "require": [
        {"sensitive": "ill", "knowing": [], "facts": {"l": 1, "k": 1, "m": 0}, "below": 0.8},
        {"sensitive": "income", "knowing": [], "within": 5, "facts": {"l": 1}, "below": 0.9},
    ],
}
OF_SPSS = ("sav", "dta")


def people(n=300):
    """Numbers with and without decimals, missing ones, umlauts, texts that look like formulas."""
    rng = random.Random(7)
    return pl.DataFrame({
        "pid": [f"p{i}" for i in range(n)],
        "age": [rng.randrange(20, 60) for _ in range(n)],
        "height": [rng.randrange(1500, 1990) / 10 for _ in range(n)],
        "ill": [rng.choice(["Grippe", "Ödem", "a;b,c"]) for _ in range(n)],
        "income": [rng.randrange(100, 300) / 4 for _ in range(n)],
        "visits": [rng.choice([None, 0, 1, 2]) for _ in range(n)],
        "=note": [rng.choice(["=1+1", "-2,5", "plain"]) for _ in range(n)],
    })  # fmt: skip


def source(kind, folder):
    """The people in a file of a kind, and the policy that reads it."""
    frame, policy = people(), {**POLICY, "schema": {**POLICY["schema"]}}
    if kind in OF_SPSS:  # where no name is a formula
        frame = frame.rename({"=note": "note"})
        policy["schema"]["other"] = ["visits", "note"]
    path = folder / f"in.{kind}"
    if kind == "de.csv":
        floats = pl.col("height", "income").cast(pl.String).str.replace(".", ",", literal=True)
        text = frame.with_columns(floats).write_csv(separator=";")
        path.write_text(f"\ufeff{text}", "utf-8")
        policy["schema"]["reading"] = {"decimal": ","}
    elif kind == "csv":
        frame.write_csv(path)
    else:
        write_as(frame.to_arrow(), path, {"age": "Alter", "pid": "Name"})
    return path, policy


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What the same people give as CSV, by form."""
    folder = tmp_path_factory.mktemp("plain")
    path, policy = source("csv", folder)
    made = {}
    for form in ("generalized", "bucketized"):
        fk.publish(path, policy, seed=1, form=form).write(folder / form)
        made[form] = folder / form
    return made


@pytest.mark.thinned(2)
@pytest.mark.parametrize("kind", ["de.csv", "xlsx", "sav", "dta"])
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_every_format_says_what_comma_separated_text_says(kind, form, tmp_path, plain):
    path, policy = source(kind, tmp_path)
    made = fk.publish(path, policy, seed=1, form=form)
    certificate = made.write(tmp_path / "out")
    assert certificate.format == kind.rpartition(".")[2]
    found = fk.verify(tmp_path / "out")
    first = fk.verify(plain[form])
    assert (found.people, found.n_groups) == (first.people, first.n_groups)
    assert [f.reached for f in found.findings] == [f.reached for f in first.findings]
    assert fk.audit(tmp_path / "out", policy).safe
    table = fk.read_release(tmp_path / "out", "polars")
    if kind in OF_SPSS:
        table = table.rename({"note": "=note"})
    assert table.equals(fk.read_release(plain[form], "polars"))
    written = {**made.certificate.to_dict(), "source": 0}
    assert "Alter" not in json.dumps(written)
    assert "pid" not in "".join(p.read_text("latin-1") for p in (tmp_path / "out").glob("*.*a*"))


def test_a_german_table_stays_one_that_excel_opens(tmp_path):
    path, policy = source("de.csv", tmp_path)
    fk.publish(path, policy, seed=1).write(tmp_path / "out")
    content = (tmp_path / "out" / "release.csv").read_text("utf-8")
    header, first, *_ = content.splitlines()
    assert header == '\ufeff"age";"height";"visits";"=note";"ill";"income"'
    assert first.split(";")[-1].count(",") == 1
    assert '"a;b,c"' in content  # a text is as it was
    fields = json.loads((tmp_path / "out" / "datapackage.json").read_text())["resources"][0]
    assert fields["dialect"]["delimiter"] == ";"
    (income,) = [f for f in fields["schema"]["fields"] if f["name"] == "income"]
    assert (income["type"], income["decimalChar"]) == ("number", ",")


def test_what_is_asked_comes_before_how_the_table_came(tmp_path):
    path, policy = source("de.csv", tmp_path)
    how = {"delimiter": "tab", "decimal": ".", "bom": False}
    fk.publish(path, {**policy, "publish": how}, seed=1).write(tmp_path / "tab")
    header, first, *_ = (tmp_path / "tab" / "release.csv").read_text().splitlines()
    assert header.startswith('"age"\t"height"')
    assert "." in first.split("\t")[-1]
    assert fk.Policy.of({**policy, "publish": how}).options.to_dict()["bom"] is False
    fk.verify(tmp_path / "tab")
    fk.publish(path, policy, seed=1, format="xlsx").write(tmp_path / "sheet")
    assert fk.verify(tmp_path / "sheet").files == ("release.xlsx",)
    for wrong in ({"delimiter": "x"}, {"decimal": ";"}, {"format": "sav", "bom": True}):
        with pytest.raises(PolicyError):
            fk.publish(path, policy, **wrong)


def test_escaped_formulas_are_escaped_in_a_workbook_too(tmp_path):
    path, policy = source("xlsx", tmp_path)
    fk.publish(path, policy, seed=1, escape_formulas=True).write(tmp_path / "out")
    opened = open_table(tmp_path / "out" / "release.xlsx")
    assert "'=note" in opened.columns
    assert {*opened.arrow(["'=note"]).column(0).to_pylist()} == {"'=1+1", "'-2,5", "plain"}
    fk.verify(tmp_path / "out")
    assert {*fk.read_release(tmp_path / "out")["=note"]} == {"=1+1", "-2,5", "plain"}


@pytest.mark.parametrize("kind", OF_SPSS)
def test_titles_are_those_of_the_code_book_and_no_time_is_written(kind, tmp_path):
    import pyreadstat

    path, policy = source(kind, tmp_path)
    made = fk.publish(path, policy, seed=1)
    made.write(tmp_path / "out")
    made.write(tmp_path / "again")
    file = tmp_path / "out" / f"release.{kind}"
    assert file.read_bytes() == (tmp_path / "again" / f"release.{kind}").read_bytes()
    read = {"sav": pyreadstat.read_sav, "dta": pyreadstat.read_dta}[kind]
    _, about = read(str(file), metadataonly=True)
    assert {k: v for k, v in about.column_names_to_labels.items() if v} == {"age": "Alter"}
    assert about.creation_time.year == 1970
    rows = printed(open_table(file).arrow(open_table(file).columns))
    for titles in ({}, {"age": "Alter von Frau Müller"}):
        write_as(rows, file, titles)
        certify(tmp_path / "out", file)
        with pytest.raises(CertificateError, match="other titles"):
            fk.verify(tmp_path / "out")


def certify(folder, file):
    """Let the certificate name a file as it is now."""
    path = folder / "certificate.json"
    said = json.loads(path.read_text())
    said["release"]["files"][file.name] = digest_of(file)
    path.write_text(json.dumps(said))


def test_a_workbook_holds_nothing_but_its_cells(tmp_path):
    path, policy = source("xlsx", tmp_path)
    fk.publish(path, policy, seed=1).write(tmp_path / "out")
    file = tmp_path / "out" / "release.xlsx"
    with zipfile.ZipFile(file) as archive:
        parts = {own.filename: archive.read(own) for own in archive.infolist()}
    sheet, book = "xl/worksheets/sheet1.xml", "xl/workbook.xml"

    def other(change, date=(1980, 1, 1, 0, 0, 0)):
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in {**parts, **change}.items():
                archive.writestr(zipfile.ZipInfo(name, date), content)
        certify(tmp_path / "out", file)
        with pytest.raises(CertificateError) as refused:
            fk.verify(tmp_path / "out")
        return str(refused.value)

    own = parts[sheet]
    assert "something else" in other({sheet: own.replace(b"</sheetData>", b"</sheetData><c/>")})
    assert "hidden" in other({sheet: own.replace(b'<row r="2"', b'<row r="2" hidden="1"')})
    assert "hidden" in other({sheet: own.replace(b"<row", b"<!--Anna--><row", 1)})
    for odd in (b"<v/><v>", b"Anna<v>", b'<f>"Anna"</f><v>'):
        assert "neither" in other({sheet: own.replace(b"<v>", odd, 1)})
    assert "neither" in other({sheet: own.replace(b"<c ", b'<c xmlns:anna="a" ', 1)})
    for odd in (b"&#65;", b"_x0041_", b"\r"):
        assert "something else" in other({sheet: own.replace(b"Grippe", odd, 1)})
    assert "more than one sheet" in other({"docProps/core.xml": b"<a/>"})
    assert "something else" in other({book: parts[book].replace(b'"release"', b'"Anna"')})
    noted = parts[book].replace(b"<sheets>", b"<!--A--><sheets>")
    assert "something else" in other({book: noted})
    assert "when it was written" in other({}, (2024, 5, 1, 9, 0, 0))


def test_what_a_program_cannot_hold_is_refused_before_anything_is_written(tmp_path):
    for kind, text in (("xlsx", "a\x01"), ("xlsx", "_x0041_"), ("sav", "a "), ("dta", "a\0")):
        with pytest.raises(OutputError, match='publish as format = "csv"'):
            write_as(pa.table({"a": [text]}), tmp_path / f"a.{kind}")
    with pytest.raises(OutputError, match="a row would be empty"):
        write_as(pa.table({"a": ["x", None], "b": [1, None]}), tmp_path / "a.xlsx")
    for kind, name in (("sav", "a b"), ("dta", "1st"), ("dta", "a" * 40)):
        with pytest.raises(OutputError, match="cannot be written"):
            write_as(pa.table({name: ["x"]}), tmp_path / f"a.{kind}")


def draw(rng):
    """A small column of any kind."""
    texts = ["20 to 25", "a", "Ö<&>\"'", "=1", "01", "1", "1.5", "64.0", "-3", " b", "a\nb", None]
    floats = [1.5, 2.0, 1e-7, 1e300, -0.5, float(1 << 54), 3.0, None]
    kind = rng.choice(["text", "number", "whole", "float", "yes"])
    among = {
        "text": texts, "number": ["1", "2", "-30", None], "whole": [1, -2, 1 << 60, None],
        "float": floats, "yes": [True, False, None],
    }[kind]  # fmt: skip
    types = {"whole": pa.int64(), "float": pa.float64(), "yes": pa.bool_()}
    return pa.array(rng.choices(among, k=4), types.get(kind, pa.string()))


@pytest.mark.parametrize("kind", ["xlsx", "sav", "dta"])
def test_audit_and_verifier_read_back_the_texts_that_were_written(kind, tmp_path):
    rng = random.Random(3)
    for _ in range(60 if NIGHTLY else 3):
        table = pa.table({f"c{i}": draw(rng) for i in range(3 if NIGHTLY else 20)})
        if not all({*row.values()} - {None} for row in table.to_pylist()):
            continue  # an empty row, which a workbook has only below
        path = tmp_path / f"release.{kind}"
        write_as(table, path)
        texts = printed(table).to_pydict()
        opened = open_table(path)
        assert filled(opened.arrow(opened.columns)).to_pydict() == texts
        assert READERS[f".{kind}"](path).to_pydict() == texts
