"""The code book of a release says what is so, and lies in it are refused; CSV as its table came."""

import csv
import json
import os
import random
import re
import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.examples import NIGHTLY
from tests.prepare.test_written import ROLES, register, written

import foreknow as fk
from foreknow.data.engines.typed import type_of, typed
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError, PolicyError

LEXICAL = {
    "integer": re.compile(r"[-+]?\d+"),
    "number": re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?"),
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "string": re.compile(r".*", re.DOTALL),
}


def book_of(folder):
    return json.loads((folder / "datapackage.json").read_text())


def fields_of(book):
    return book["resources"][0]["schema"]["fields"]


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
        return table.column_names, [*zip(*columns, strict=True)]
    with path.open(newline="", encoding=resource["encoding"]) as file:
        header, *rows = csv.reader(file, delimiter=resource["dialect"]["delimiter"])
    return header, [[value or None for value in row] for row in rows]


def checked(folder):
    """Read each file as its code book says, and count again what it counts."""
    book = book_of(folder)
    shuffled = set()
    for resource in book["resources"]:
        header, rows = rows_of(folder, resource)
        fields = resource["schema"]["fields"]
        assert [field["name"] for field in fields] == header
        for place, field in enumerate(fields):
            values = {row[place] for row in rows} - {None}
            assert all(LEXICAL[field["type"]].fullmatch(value) for value in values)
        shuffled |= {field["name"] for field in fields if field["foreknow"].get("shuffled")}
    _, rows = rows_of(folder, book["resources"][0])
    roles = [field["foreknow"]["role"] for field in fields_of(book)]
    grouped = "group" if "group" in roles else "quasi-identifier"
    by = [place for place, role in enumerate(roles) if role == grouped]
    sizes = Counter(tuple(row[place] for place in by) for row in rows)
    said = book["foreknow"]
    assert (said["people"], said["groups"]) == (len(rows), len(sizes))
    ends = (said["smallest_group"], said["largest_group"])
    assert ends == (min(sizes.values()), max(sizes.values()))
    fk.verify(folder)
    return book, shuffled


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("integer", [["1", "-20", None, "+3"]]),
        ("number", [["1" * 19], ["1.5", "2", "3e-7", ".5"]]),
        ("date", [["2024-02-29"]]),
        ("string", [["1", "01"], ["1e999"], ["nan"], ["2023-02-29"], ["2024-02-29 00:00:00"],
                    ["1\n"], ["٣"], [None], []]),
    ],
)  # fmt: skip
def test_type_is_of_all_texts(kind, texts):
    kinds = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32()}
    for own in texts:
        column = pa.array(own, pa.string())
        assert type_of(column) == kind
        assert typed(column).type == kinds.get(kind, pa.string())
        assert typed(column).null_count == column.null_count


# ---- lies ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release with every kind of entry in its code book."""
    ranks = [["low", "mid", "high"][i % 3] for i in range(240)]
    table = register().append_column("rank", pa.array(ranks))
    roles = {**ROLES, "quasi_identifiers": ["age", "day", "town", "rank"]}
    roles["hierarchies"] = {"rank": fk.Ordered(["low", "mid", "high"])}
    return written(tmp_path_factory.mktemp("book") / "out", table, roles, unlinked=["income"])


@pytest.fixture
def copy(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "copy"))


def places(value, path=()):
    """Paths of everything in a JSON value."""
    inner = {dict: dict.items, list: enumerate}.get(type(value), lambda _: ())(value)
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def refused(folder, book, said=r"datapackage\.json"):
    put(folder, book)
    with pytest.raises(CertificateError, match=said):
        fk.verify(folder)


def test_every_lie_is_refused(copy):
    true, tried = book_of(copy), 0
    assert fields_of(true)[3]["foreknow"]["order"] == ["low", "mid", "high"]
    put(copy, true)
    fk.verify(copy)
    for number, (*above, key) in enumerate(places(true)):
        if number % 2 and not NIGHTLY:
            continue
        for lie in (None, True, 1, 10**30, "x", [], {}, 7.5, -1):
            book = inside = json.loads(json.dumps(true))
            for step in above:
                inside = inside[step]
            if inside[key] == lie and type(inside[key]) is type(lie):
                continue
            inside[key] = lie
            refused(copy, book)
            tried += 1
            if tried % 7:  # one or two lies of each place
                break
    assert tried > (80 if NIGHTLY else 40)
    for field in ("fields", "missingValues"):
        book = json.loads(json.dumps(true))
        book["resources"][0]["schema"][field].append({"name": "more", "type": "string"})
        refused(copy, book)
    refused(copy, {**true, "licenses": [{"name": "CC0-1.0"}]}, "has an unknown key 'licenses'")


def test_only_titles_are_publishers_words(copy):
    book = book_of(copy)
    fields_of(book)[0]["title"] = "Age at admission"
    put(copy, book)
    fk.verify(copy)
    for title in (7, "x" * 1001, ["x"]):
        fields_of(book)[0]["title"] = title
        refused(copy, book, "unknown key")


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
def test_code_book_is_hostile_input(content, said, copy):
    refused(copy, content, said)


def test_code_book_belongs_to_release(copy, tmp_path):
    def unverified(said):
        with pytest.raises(CertificateError, match=said):
            fk.verify(copy)

    path = copy / "datapackage.json"
    content = path.read_bytes()
    path.write_bytes(content + b" ")
    unverified(r"datapackage\.json is not the file")
    path.unlink()
    unverified(r"datapackage\.json is missing")
    (tmp_path / "elsewhere.json").write_bytes(content)
    path.symlink_to(tmp_path / "elsewhere.json")
    unverified("is a link")
    path.unlink()
    certificate = json.loads((copy / "certificate.json").read_text())
    del certificate["code_book"]
    (copy / "certificate.json").write_text(json.dumps(certificate))
    fk.verify(copy)  # as one that an earlier version wrote
    path.write_bytes(content)
    unverified("is not certified")
    assert os.listdir(copy).count("datapackage.json") == 1


# ---- what is carried through, and formats --------------------------------------------------------


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_spss_and_stata_titles_remain(kind, tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pl.DataFrame({
        "age": [20.0 + i % 50 for i in range(120)], "sex": [1.0 + i % 2 for i in range(120)],
        "ill": ["flu", "cold", "gout"] * 40, "name": [f"n{i}" for i in range(120)],
    })  # fmt: skip
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[kind]
    how = {"variable_value_labels": {"sex": {1: "male", 2: "female"}}}
    titles = ["Age at admission", "Sex", "", "Name of the patient"]
    write(frame, str(tmp_path / f"in.{kind}"), column_labels=titles, **how)
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill", identifiers=["name"])
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9")], schema)
    fk.publish(tmp_path / f"in.{kind}", policy).write(tmp_path / "out")
    found = [(f["name"], f.get("title")) for f in fields_of(checked(tmp_path / "out")[0])]
    assert found == [("age", "Age at admission"), ("sex", "Sex"), ("ill", None)]
    assert "patient" not in (tmp_path / "out" / "datapackage.json").read_text()
    assert {*fk.read_release(tmp_path / "out")["sex"]} <= {"male", "female", "female | male", "*"}


# ---- CSV in the dialect of its table -------------------------------------------------------------

POLICY = {
    "schema": {
        "quasi_identifiers": ["age", "height"], "sensitive": ["ill", "income"],
        "other": ["visits", "=note"], "identifiers": ["pid"],
    },
    "require": [
        {"sensitive": "ill", "knowing": [], "facts": {"l": 1, "k": 1, "m": 0}, "below": 0.8},
        {"sensitive": "income", "knowing": [], "within": 5, "facts": {"l": 1}, "below": 0.9},
    ],
}  # fmt: skip


def source(kind, folder):
    """People with umlauts, gaps and formulas in a file of a kind, and the policy that reads it."""
    rng, n, path = random.Random(7), range(300), folder / f"in.{kind}"
    frame = pl.DataFrame({
        "pid": [f"p{i}" for i in n],
        "age": [rng.randrange(20, 60) for _ in n],
        "height": [rng.randrange(1500, 1990) / 10 for _ in n],
        "ill": [rng.choice(["Grippe", "Ödem", "a;b,c"]) for _ in n],
        "income": [rng.randrange(100, 300) / 4 for _ in n],
        "visits": [rng.choice([None, 0, 1, 2]) for _ in n],
        "=note": [rng.choice(["=1+1", "-2,5", "plain"]) for _ in n],
    })  # fmt: skip
    policy = {**POLICY, "schema": {**POLICY["schema"]}}
    if kind == "de.csv":
        floats = pl.col("height", "income").cast(pl.String).str.replace(".", ",", literal=True)
        path.write_text("\ufeff" + frame.with_columns(floats).write_csv(separator=";"), "utf-8")
        policy["schema"]["reading"] = {"decimal": ","}
    elif kind == "xlsx":
        pytest.importorskip("python_calamine")
        pytest.importorskip("xlsxwriter")
        frame.write_excel(path)
    elif kind == "sav":
        policy["schema"]["other"] = ["visits", "note"]  # no name of SPSS begins with =
        pytest.importorskip("pyreadstat").write_sav(frame.rename({"=note": "note"}), str(path))
    else:
        frame.write_csv(path)
    return path, policy


def test_options_come_before_dialect(tmp_path):
    path, policy = source("de.csv", tmp_path)
    how = {"delimiter": "tab", "decimal": ".", "bom": False}
    fk.publish(path, {**policy, "publish": how}, seed=1).write(tmp_path / "tab")
    header, first, *_ = (tmp_path / "tab" / "release.csv").read_text().splitlines()
    assert header.startswith('"age"\t"height"')
    assert "." in first.split("\t")[-1]
    assert fk.Policy.of({**policy, "publish": how}).options.to_dict()["bom"] is False
    fk.verify(tmp_path / "tab")
    for wrong in ({"delimiter": "x"}, {"decimal": ";"}, {"format": "parquet", "bom": True}):
        with pytest.raises(PolicyError):
            fk.publish(path, policy, **wrong)
    for kind in ("xlsx", "sav", "dta"):
        for call in (
            lambda: fk.publish(path, policy, format=kind),  # noqa: B023
            lambda: fk.Policy.of({**policy, "publish": {"format": kind}}),  # noqa: B023
        ):
            with pytest.raises(PolicyError, match=f"foreknow export FOLDER --to {kind}"):
                call()
