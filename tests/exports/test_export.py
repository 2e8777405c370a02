"""An export holds the cells of a verified release, and says that no certificate covers it."""

import json
import zipfile

import polars as pl
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.data.columns.reading_rules import with_part
from foreknow.data.tables.sources import open_table
from foreknow.errors import OutputError
from foreknow_judge.errors import CertificateError

pytest.importorskip("pyreadstat")
pytest.importorskip("python_calamine")
pytest.importorskip("xlsxwriter")

ROWS = {
    "age": [*range(20, 40)],
    "job": ["=1+1", "cook", "-2", "nurse"] * 5,
    "pay": ["1.5", "2.5", None, "4.0"] * 5,
    "ill": ["Flu", "Ödem", "a|b", "Cold"] * 5,
}


@pytest.fixture
def release(tmp_path):
    roles = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["job", "pay"]}
    rules = fk.Policy.of({"schema": roles, "require": [{"facts": {}, "below": 0.6, "knowing": []}]})

    def published(**how):
        fk.publish(pa.table(ROWS), rules, seed=1, **how).write(tmp_path / "out")
        return tmp_path / "out"

    return published


def cells(path):
    """The texts of each column of a file, the note apart."""
    table = open_table(with_part(path, "release") if path.suffix == ".xlsx" else path)
    rows = table.arrow(table.columns)
    return {
        name: [text or None for text in column.cast(pa.string()).to_pylist()]
        for name, column in zip(table.columns, rows.columns, strict=True)
    }


@pytest.mark.parametrize("kind", ["xlsx", "sav", "dta"])
def test_export_holds_the_release(kind, release):
    folder = release()
    (path,) = fk.export(folder, kind)
    assert path.name == f"out.{kind}"
    message, written = cells(path), cells(folder / "release.csv")
    assert message.keys() == written.keys()
    for name in ("age", "job", "ill"):
        assert message[name] == written[name]
    numbers = [None if text is None else float(text) for text in message["pay"]]
    assert numbers == [None if text is None else float(text) for text in written["pay"]]
    fk.verify(folder)  # which stays as it was


def test_export_says_what_it_is(release):
    import pyreadstat

    folder = release()
    book, sav, dta = (fk.export(folder, kind)[0] for kind in ("xlsx", "sav", "dta"))
    with zipfile.ZipFile(book) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert "<f>" not in texts["xl/worksheets/sheet1.xml"]  # formulas stay texts
    texts = "".join(texts.values())
    assert "certificate covers the release&apos;s own files" in texts.replace("'", "&apos;")
    assert "1980-01-01" in texts
    _, about = pyreadstat.read_sav(str(sav), metadataonly=True)
    assert "not this file" in " ".join(about.notes)
    _, about = pyreadstat.read_dta(str(dta), metadataonly=True)
    assert "does not cover this file" in about.file_label


def test_several_tables_are_all_exported(release):
    folder = release(form="bucketized")
    (book,) = fk.export(folder, "xlsx")
    with zipfile.ZipFile(book) as archive:
        names = archive.read("xl/workbook.xml").decode()
    assert '"people"' in names
    assert '"sensitive"' in names
    paths = fk.export(folder, out=folder.with_name("mine.sav"))
    assert [path.name for path in paths] == ["mine-people.sav", "mine-sensitive.sav"]


def test_changed_releases_are_refused(release):
    folder = release()
    for kind, out, said in (
        ("xlsx", folder / "r.xlsx", "would lie in what is published"),
        ("sav", folder.with_name("r.xlsx"), r"does not end with \.sav"),
        ("pdf", None, "to is"),
    ):
        with pytest.raises(fk.InputError, match=said):
            fk.export(folder, kind, out)
    fk.export(folder)
    with pytest.raises(OutputError, match="exists already"):
        fk.export(folder)
    folder.with_name("out.xlsx").unlink()
    text = (folder / "release.csv").read_text()
    (folder / "release.csv").write_text(text.replace("Flu", "Cold", 1))
    with pytest.raises(CertificateError, match="not the file that was certified"):
        fk.export(folder)
    assert not folder.with_name("out.xlsx").exists()


def published(column, values, file_format, folder):
    """The folder of a release of eight people, with a column that is neither known nor secret."""
    table = pa.table({"age": [30] * 8, column: values, "ill": [*"abab"] * 2})
    roles = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": [column]}
    rules = {"schema": roles, "require": [{"k_anonymity": 2, "knowing": []}]}
    rules["publish"] = {"format": file_format}
    fk.publish(table, rules, seed=1).write(folder / "out")
    return folder / "out"


@pytest.mark.parametrize(
    ("kind", "other", "is_refused"),
    [("sav", "Flu ", True), ("dta", "Flu ", False), ("xlsx", "Flu ", False)]
    + [(kind, "", True) for kind in ("sav", "dta", "xlsx")],
)
def test_values_stay_apart(kind, other, is_refused, tmp_path):
    """SPSS drops blanks at the end of a text; and nothing tells an empty text from none."""
    folder = published("job", ["Flu", other, None, "x"] * 2, "parquet", tmp_path)
    if is_refused:
        with pytest.raises(OutputError, match=r"'job' that differ .* would be one value"):
            fk.export(folder, kind)
    else:
        (path,) = fk.export(folder, kind)
        assert {*cells(path)["job"]} == {"Flu", other, None, "x"}


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_near_numbers_stay_apart(file_format, tmp_path):
    """A cell of a workbook holds 16 digits: numbers that differ only beyond these are texts."""
    folder = published("pay", [0.1 + 0.2, 0.3] * 4, file_format, tmp_path)
    (path,) = fk.export(folder, "xlsx")
    assert {*cells(path)["pay"]} == {str(0.1 + 0.2), "0.3"}


def test_titles_become_labels(tmp_path):
    import pyreadstat

    frame = pl.DataFrame({"age": [*range(20)], "ill": [*"abcd"] * 5})
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), column_labels={"age": "Alter"})
    roles = {"quasi_identifiers": ["age"], "sensitive": "ill", "k_anonymity": 5}
    fk.publish(tmp_path / "in.sav", **roles, seed=1).write(tmp_path / "out")
    fields = json.loads((tmp_path / "out" / "datapackage.json").read_text())["resources"][0]
    assert fields["schema"]["fields"][0]["title"] == "Alter"
    (path,) = fk.export(tmp_path / "out", "sav")
    _, about = pyreadstat.read_sav(str(path), metadataonly=True)
    assert about.column_names_to_labels["age"] == "Alter"
