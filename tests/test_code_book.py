"""The code book in the folder of a release: what it says is so, and a lie in it is refused."""

import csv
import json
import os
import re
import shutil
from collections import Counter
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.diagnoses import diagnoses
from tests.examples import NIGHTLY
from tests.fuzz.test_certificates import at, places
from tests.people import FORMS
from tests.test_flat_table import ROLES, register, written

import foreknow as fk
from foreknow.data.engines.typed import type_of, typed
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError

LEXICAL = {
    "integer": re.compile(r"[-+]?\d+"),
    "number": re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "string": re.compile(r".*", re.DOTALL),
}
SEVERAL = {
    "quasi_identifiers": ["age", "sex", "zip"],
    "sensitive": "diagnosis",
    "person": "person",
    "hierarchies": {"zip": fk.Mask(5)},
}


def book_of(folder):
    return json.loads((folder / "datapackage.json").read_text())


def put(folder, book):
    """Write another code book, and certify it."""
    path = folder / "datapackage.json"
    path.write_text(book if isinstance(book, str) else json.dumps(book))
    certificate = json.loads((folder / "certificate.json").read_text())
    certificate["code_book"] = digest_of(path)
    (folder / "certificate.json").write_text(json.dumps(certificate))


def rows_of(folder, resource):
    """The header and the rows of a resource, as another reader has them."""
    path = folder / resource["path"]
    if resource["format"] == "parquet":
        table = pq.read_table(path)
        columns = [[None if v is None else str(v) for v in c.to_pylist()] for c in table.columns]
        return table.column_names, list(zip(*columns, strict=True))
    if resource["format"] in ("sav", "dta"):
        return statistics_of(path)
    with path.open(newline="", encoding=resource["encoding"]) as file:
        header, *rows = csv.reader(file, delimiter=resource["dialect"]["delimiter"])
    return header, [[value or None for value in row] for row in rows]


def statistics_of(path):
    """The same of a file of SPSS or Stata."""
    pyreadstat = pytest.importorskip("pyreadstat")
    read = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}[path.suffix]
    columns, _ = read(str(path), output_format="dict")
    texts = [[f"{v:g}" if isinstance(v, float) else v or None for v in c] for c in columns.values()]
    return list(columns), list(zip(*texts, strict=True))


def checked(folder):
    """Read each file as its code book says, and count again what it counts."""
    book = book_of(folder)
    shuffled = set()
    for resource in book["resources"]:
        header, rows = rows_of(folder, resource)
        fields = resource["schema"]["fields"]
        assert [field["name"] for field in fields] == header
        for at_, field in enumerate(fields):
            values = {row[at_] for row in rows} - {None}
            assert all(LEXICAL[field["type"]].fullmatch(value) for value in values)
            if field["foreknow"].get("shuffled"):
                shuffled.add(field["name"])
    first = book["resources"][0]
    header, rows = rows_of(folder, first)
    roles = [field["foreknow"]["role"] for field in first["schema"]["fields"]]
    grouped = "group" if "group" in roles else "quasi-identifier"
    by = [i for i, role in enumerate(roles) if role == grouped]
    sizes = Counter(tuple(row[i] for i in by) for row in rows)
    said = book["foreknow"]
    assert (said["people"], said["groups"]) == (len(rows), len(sizes))
    assert (said["smallest_group"], said["largest_group"]) == (
        min(sizes.values()),
        max(sizes.values()),
    )
    fk.verify(folder)
    return book, shuffled


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("form", "fmt"), [("generalized", "csv"), ("generalized", "parquet")])
@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_of_people_with_several_values_it_says_what_the_files_hold(semantics, form, fmt, tmp_path):
    table = diagnoses(150, 1, semantics=semantics)
    roles = {**SEVERAL, "semantics": semantics}
    place = written(tmp_path / "out", table, roles, form=form, format=fmt)
    book, shuffled = checked(place)
    assert shuffled == {"diagnosis"}
    names = [resource["name"] for resource in book["resources"]]
    assert names == ["people", "sensitive"]
    masked = book["resources"][0]["schema"]["fields"][2]["foreknow"]
    assert masked.get("labels") == (None if form == "bucketized" else "mask")


@pytest.mark.thinned(2)
@pytest.mark.parametrize("unlinked", [[], ["income"]])
@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_of_several_columns_it_says_what_the_files_hold(form, fmt, unlinked, tmp_path):
    how = {"form": form, "format": fmt, "unlinked": unlinked}
    book, shuffled = checked(written(tmp_path / "out", register(), ROLES, **how))
    if form == "generalized":
        assert shuffled == {f"{name}_shuffled" for name in unlinked}
        fields = book["resources"][0]["schema"]["fields"]
        labels = [field["foreknow"].get("labels") for field in fields]
        assert labels == ["number", "number", "date", "text", None, None, None]
        assert {field["name"]: field["type"] for field in fields}[
            f"income{'_shuffled' * len(unlinked)}"
        ] == "integer"
        assert "grid" in fields[0]["foreknow"]
    else:
        assert shuffled == {"ill", "income"}
        kinds = [field["type"] for field in book["resources"][0]["schema"]["fields"]]
        assert kinds == ["integer", "number", "date", "string", "string", "integer"]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "-20", None, "+3"], "integer"),
        (["1", "01"], "string"),
        (["1" * 19], "number"),
        (["1.5", "2", "3e-7", ".5"], "number"),
        (["1e999"], "string"),
        (["nan"], "string"),
        (["2024-02-29"], "date"),
        (["2023-02-29"], "string"),
        (["2024-02-29 00:00:00"], "string"),
        (["1\n"], "string"),
        (["٣"], "string"),
        ([None], "string"),
        ([], "string"),
    ],
)
def test_a_column_is_of_a_type_if_all_its_texts_are(texts, kind):
    column = pa.array(texts, pa.string())
    assert type_of(column) == kind
    kinds = {
        "integer": pa.int64(),
        "number": pa.float64(),
        "date": pa.date32(),
        "string": pa.string(),
    }
    assert typed(column).type == kinds[kind]
    assert typed(column).null_count == column.null_count


def test_types_are_those_that_any_reader_finds(tmp_path):
    """Codes stay texts, so do moments, and what formulas are escaped in."""
    n = 240
    table = register(n)
    table = table.set_column(4, "job", pa.array([f"{i % 7:02d}" for i in range(n)]))
    table = table.set_column(5, "ill", pa.array(["-1", "2", "3", "+4"] * (n // 4)))
    roles = {**ROLES, "sensitive": "ill", "other": ["job", "income"]}
    for escaped, kind in ((False, "integer"), (True, "string")):
        place = written(tmp_path / str(escaped), table, roles, escape_formulas=escaped)
        book, _ = checked(place)
        types = {f["name"]: f["type"] for f in book["resources"][0]["schema"]["fields"]}
        assert (types["job"], types["ill"], types["income"]) == ("string", kind, "integer")
        assert fk.verify(
            place, fk.Policy([fk.Requirement(fk.Facts(), "0.99", knowing=[])], fk.Schema(**roles))
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release with every kind of entry in its code book."""
    ranks = [["low", "mid", "high"][i % 3] for i in range(240)]
    table = register().append_column("rank", pa.array(ranks))
    roles = {**ROLES, "quasi_identifiers": ["age", "day", "town", "rank"]}
    roles["hierarchies"] = {"rank": fk.Ordered(["low", "mid", "high"])}
    return written(tmp_path_factory.mktemp("book") / "out", table, roles, unlinked=["income"])


def test_every_lie_in_it_is_refused(made, tmp_path):
    true = book_of(made)
    assert true["resources"][0]["schema"]["fields"][3]["foreknow"]["order"] == [
        "low",
        "mid",
        "high",
    ]
    folder = Path(shutil.copytree(made, tmp_path / "copy"))
    put(folder, true)
    fk.verify(folder)
    tried = 0
    for number, place in enumerate(places(true)):
        if not place or (number % 2 and not NIGHTLY):
            continue
        for lie in (None, True, 1, 10**30, "x", [], {}, 7.5, -1):
            book = json.loads(json.dumps(true))
            inside, key = at(book, place[:-1]), place[-1]
            if inside[key] == lie and type(inside[key]) is type(lie):
                continue
            inside[key] = lie
            put(folder, book)
            with pytest.raises(CertificateError, match=r"datapackage\.json"):
                fk.verify(folder)
            tried += 1
            if tried % 7:  # one or two lies of each place
                break
    assert tried > (80 if NIGHTLY else 40)
    for field in ("fields", "missingValues"):
        book = json.loads(json.dumps(true))
        book["resources"][0]["schema"][field].append({"name": "more", "type": "string"})
        put(folder, book)
        with pytest.raises(CertificateError, match=r"datapackage\.json"):
            fk.verify(folder)
    book = {**true, "licenses": [{"name": "CC0-1.0"}]}
    put(folder, book)
    with pytest.raises(CertificateError, match="has an unknown key 'licenses'"):
        fk.verify(folder)


def test_only_titles_of_fields_are_the_publishers_words(made, tmp_path):
    folder = Path(shutil.copytree(made, tmp_path / "copy"))
    book = book_of(made)
    book["resources"][0]["schema"]["fields"][0]["title"] = "Age at admission"
    put(folder, book)
    fk.verify(folder)
    for title in (7, "x" * 1001, ["x"]):
        book["resources"][0]["schema"]["fields"][0]["title"] = title
        put(folder, book)
        with pytest.raises(CertificateError, match="unknown key"):
            fk.verify(folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100 + "]" * 100, "levels deep"),
        ('{"a": 1, "a": 2}', "given twice"),
        ('{"a": "' + "x" * 200_000 + '"}', "more than"),
        ("[]", "by the files it is"),
        ("null", "by the files it is"),
        ('{"resources": "\\ud800"}', "half a character"),
    ],
)
def test_a_code_book_is_hostile_input(content, said, made, tmp_path):
    folder = Path(shutil.copytree(made, tmp_path / "copy"))
    put(folder, content)
    with pytest.raises(CertificateError, match=said):
        fk.verify(folder)


def test_a_code_book_belongs_to_the_release_and_none_comes_without(made, tmp_path):
    folder = Path(shutil.copytree(made, tmp_path / "copy"))
    path = folder / "datapackage.json"
    content = path.read_bytes()
    path.write_bytes(content + b" ")
    with pytest.raises(CertificateError, match=r"datapackage\.json is not the file"):
        fk.verify(folder)
    path.unlink()
    with pytest.raises(CertificateError, match=r"datapackage\.json is missing"):
        fk.verify(folder)
    (tmp_path / "elsewhere.json").write_bytes(content)
    path.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(CertificateError, match="is a link"):
        fk.verify(folder)
    path.unlink()
    certificate = json.loads((folder / "certificate.json").read_text())
    del certificate["code_book"]
    (folder / "certificate.json").write_text(json.dumps(certificate))
    fk.verify(folder)  # as one that an earlier version wrote
    path.write_bytes(content)
    with pytest.raises(CertificateError, match="is not certified"):
        fk.verify(folder)
    assert os.listdir(folder).count("datapackage.json") == 1


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_what_spss_and_stata_call_a_column_is_carried_through(kind, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    n = 120
    frame = pandas.DataFrame({
        "age": [20.0 + i % 50 for i in range(n)],
        "sex": [1.0 + i % 2 for i in range(n)],
        "ill": ["flu", "cold", "gout"] * (n // 3),
        "name": [f"n{i}" for i in range(n)],
    })  # fmt: skip
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[kind]
    how = {"variable_value_labels": {"sex": {1: "male", 2: "female"}}}
    titles = ["Age at admission", "Sex", "", "Name of the patient"]
    write(frame, str(tmp_path / f"in.{kind}"), column_labels=titles, **how)
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill", identifiers=["name"])
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9")], schema)
    fk.publish(tmp_path / f"in.{kind}", policy).write(tmp_path / "out")
    book, _ = checked(tmp_path / "out")
    fields = book["resources"][0]["schema"]["fields"]
    assert [(f["name"], f.get("title")) for f in fields] == [
        ("age", "Age at admission"), ("sex", "Sex"), ("ill", None),
    ]  # fmt: skip
    assert "patient" not in (tmp_path / "out" / "datapackage.json").read_text()
    assert {*fk.read_release(tmp_path / "out")["sex"]} <= {"male", "female", "female | male", "*"}


def test_parts_of_a_table_are_named_one_by_one(tmp_path):
    how = {"format": "parquet", "rows_per_part": 100}
    place = written(tmp_path / "out", register(), ROLES, **how)
    (resource,) = book_of(place)["resources"]
    assert resource["path"] == [f"release.parquet/part-0000{i}.parquet" for i in range(3)]
    fk.verify(place)
    assert date(2024, 1, 1) <= fk.draw(place, seed=1, library="arrow").column("day")[0].as_py()
