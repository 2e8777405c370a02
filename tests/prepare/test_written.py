"""What is written of a release: read and judged as it is, its code book, a warehouse."""

import importlib.util
import json
import os
import random
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections import Counter
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.common import NIGHTLY

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.data.tables.views.typed_columns import type_of, typed
from foreknow.errors import InternalError, NoSafeRelease
from foreknow.publishing import distinct_rows as entries
from foreknow.publishing import formats
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError, InputError, PolicyError

WRITTEN = Path(__file__).parents[1] / "certificates"


def read(folder):
    return fk.read_release(folder, "arrow")


def draw(folder, seed=1):
    return fk.draw(folder, seed=seed, library="arrow")


def written(folder, table, roles, **options):
    """Publish a table with little asked of it."""
    schema = fk.Schema(**roles)
    knowing = {"knowing": []} if schema.other else {}
    easy = fk.Requirement(fk.Facts(), "0.95", sensitive=schema.sensitive, **knowing)
    people, options = fk.Microdata(table, schema), fk.PublishOptions(**options)
    fk.publish(people, fk.Policy([easy]), seed=3, options=options).write(folder)
    return folder


def register(n=240):
    """Ages, days, towns with a gap, an income that goes with the illness, and a job."""
    return pa.table({
        "age": [20 + (7 * i) % 60 for i in range(n)],
        "weight": [50 + (13 * i % 400) / 10 for i in range(n)],
        "day": [date(2024, 1 + i % 12, 1 + (5 * i) % 28) for i in range(n)],
        "town": [None if i % 40 == 0 else "ABCDEF"[i % 6] for i in range(n)],
        "job": ["cook"] * n,
        "ill": ["flu", "cold", "gout", "rash"] * (n // 4),
        "income": [1000 * (1 + i % 4) for i in range(n)],
    })  # fmt: skip


ROLES = {
    "quasi_identifiers": ["age", "weight", "day", "town"],
    "sensitive": ["ill", "income"],
    "other": ["job"],
}


@pytest.fixture(scope="module", params=["csv", "parquet"])
def folder(request, tmp_path_factory):
    """A generalized release of two linked columns."""
    place = tmp_path_factory.mktemp("flat") / "release"
    return written(place, register(), ROLES, format=request.param)


# ---- read, and drawn from ------------------------------------------------------------------------


def test_what_is_read_and_drawn(folder):
    result, drawn = read(folder), draw(folder)
    assert result.num_rows == 240
    kinds = {field.name: field.type for field in result.schema}
    assert (kinds["age_lower"], kinds["weight_lower"]) == (pa.int64(), pa.float64())
    assert (kinds["income"], kinds["ill"]) == (pa.int64(), pa.string())
    assert {field.name: field.type for field in drawn.schema} == {
        "age": pa.int64(), "weight": pa.float64(), "day": pa.date32(), "town": pa.string(),
        "job": pa.string(), "ill": pa.string(), "income": pa.int64(),
    }  # fmt: skip
    for label, row in zip(result.to_pylist(), drawn.to_pylist(), strict=True):
        for name in ("age", "weight", "day"):
            low, middle, high = (label[f"{name}_{of}"] for of in ("lower", "middle", "upper"))
            width = (high - low).days if name == "day" else high - low
            assert low <= middle <= high
            assert low <= row[name] <= high
            assert label[f"{name}_width"] == width
        parts = label["town"].split(" | ")
        assert label["town_members"] == [part for part in parts if part != "missing"]
        assert label["town_missing"] == ("missing" in parts)
        assert (row["town"] or "missing") in parts
        assert [row[own] == label[own] for own in ("job", "ill", "income")] == [True] * 3
    assert Counter(drawn["income"].to_pylist()) == dict.fromkeys(range(1000, 5000, 1000), 60)
    pandas, polars = fk.draw(folder, seed=1), fk.draw(folder, seed=1, library="polars")
    assert pandas["day"].dt.year.unique().tolist() == [2024]
    assert pandas["age"].tolist() == polars["age"].to_list() == drawn["age"].to_pylist()


def test_days_of_times_are_read(tmp_path):
    moments = [datetime(2024, 1 + i % 6, 1 + i % 28, i % 24) for i in range(240)]
    table = pa.table({"at": moments, "ill": ["flu", "cold", "gout", "rash"] * 60})
    levels = {"at": fk.DateLevels(["day", "month"])}
    roles = {"quasi_identifiers": ["at"], "sensitive": ["ill"], "hierarchies": levels}
    result = read(written(tmp_path / "release", table, roles)).to_pylist()
    ends = [(row["at_lower"], row["at_upper"]) for row in result]
    assert {low.hour for low, _ in ends} == {0}
    assert {(high.hour, high.second) for _, high in ends} == {(23, 59)}
    for moment in moments:
        assert any(low <= moment <= high for low, high in ends)


def test_unreadable_releases_are_refused(folder, tmp_path):
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    file = next(path for path in copy.iterdir() if path.stem == "release")
    file.write_bytes(file.read_bytes()[:-1] + b" ")
    for call, said in (
        (lambda: fk.read_release(copy), r"certified|cannot be read"),
        (lambda: fk.draw(folder, seed=-1), "draw: seed"),
        (lambda: fk.read_release(tmp_path / "none"), r"no file or folder"),
        (lambda: fk.draw(folder, library="panda"), "there is no library 'panda'"),
    ):
        with pytest.raises(InputError, match=said):
            call()


def test_seeds_agree_on_every_machine():
    result = draw(WRITTEN / "facts-generalized-csv", 7)
    assert result["age"].to_pylist()[:8] == [29, 26, 26, 28, 25, 37, 38, 24]
    result = draw(WRITTEN / "set-generalized-csv", 7)["disease_shuffled"].to_pylist()
    assert result[:3] == [["Fever", "Flu", "Gout"], ["Fever", "Flu"], ["HIV"]]


def recertified(folder, path, before):
    """As whoever wrote other counts would have certified them."""
    certificate = folder / "certificate.json"
    certificate.write_text(certificate.read_text().replace(before, digest_of(path)))


@pytest.mark.parametrize("name", ["facts-bucketized-csv", "set-generalized-csv"])
def test_impossible_counts_are_refused(name, tmp_path):
    folder = Path(shutil.copytree(WRITTEN / name, tmp_path / "copy"))
    path = folder / "sensitive.csv"
    header, first, *rest = path.read_text().splitlines()
    for count in ("x", "-1", "1.5", "", "0", "7", "999999999999999", "1" * 30):
        before = digest_of(path)
        path.write_text("\n".join([header, f"{first.rpartition(',')[0]},{count}", *rest, ""]))
        recertified(folder, path, before)
        for call in (fk.read_release, fk.draw):
            if not (name.startswith("set") and count == "7"):  # of eight people seven may have it
                with pytest.raises(InputError):
                    call(folder)


# ---- the files are read once, before they get their names ----------------------------------------

TABLE = pa.table({
    "id": [*range(60)],
    "age": [20 + i % 7 for i in range(60)],
    "job": [["=cook", "nurse, a", 'say "x"'][i % 3] for i in range(60)],
    "ill": [["flu", "=cold", "AIDS"][i * 7 % 3] for i in range(60)],
})  # fmt: skip
POLICY = {
    "schema": {"identifiers": ["id"], "quasi_identifiers": ["age", "job"], "sensitive": "ill"},
    "require": [{"group_size": 4}, {"facts": {"l": 1}, "below": 1}],
}
HOW = [{}, {"form": "bucketized"}, {"escape_formulas": True, "delimiter": ";", "bom": True}]


def damaged(monkeypatch, place, name, damage):
    """Let a file be changed when it has been written; what was done is noted."""
    own, done = getattr(place, name), []

    def changed(source, path, **more):
        own(source, path, **more)
        before = path.read_bytes()
        path.write_bytes(after := damage(before))
        done.append(before != after)

    monkeypatch.setattr(place, name, changed)
    return done


def last_line_twice(content):
    lines = content.splitlines(keepends=True)
    return b"".join([*lines, lines[-1]])


@pytest.mark.parametrize("how", HOW, ids=str)
def test_file_that_holds_something_else(how, monkeypatch):
    damaged(monkeypatch, formats, "write_csv", last_line_twice)
    with pytest.raises((InternalError, NoSafeRelease)):
        fk.publish(TABLE, POLICY, seed=1, **how)


def test_copy_that_differs_is_refused(monkeypatch, tmp_path):
    publication = fk.publish(TABLE, POLICY, seed=1)
    damaged(monkeypatch, entries.shutil, "copyfile", last_line_twice)
    with pytest.raises(InternalError, match="differs from what was written"):
        publication.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


DAMAGES = {
    "value": [('"40","cold"', '"40","flu"')],
    "swap": [('"40","cold"', '"40","flu"'), ('"60","flu"', '"60","cold"')],
    "label": [('"40"', '"41"')],
    "cross": [('"40"', '"x"'), ('"60"', '"40"'), ('"x"', '"60"')],
}


@pytest.mark.parametrize("name", DAMAGES)
def test_safe_files_of_other_groups(name, monkeypatch):
    def damage(content):
        for old, new in DAMAGES[name]:
            most = 1 if name in ("value", "swap") else -1
            content = content.replace(old.encode(), new.encode(), most)
        return content

    done = damaged(monkeypatch, formats, "write_csv", damage)
    ages = [20] * 8 + [40] * 30 + [60] * 31
    ill = ["flu", "cold", "AIDS", "flu"] * 2 + ["flu", "cold", "AIDS"] * 10
    table = pa.table({"age": ages, "ill": [*ill, "flu", *ill[8:]]})
    policy = {**POLICY, "schema": {"quasi_identifiers": ["age"], "sensitive": "ill"}}
    with pytest.raises(InternalError, match="differs from what was written"):
        fk.publish(table, policy, method="fulldomain")
    assert done == [True]


# ---- a large release is judged by what was to be written; the verifier counts what was -----------


def many(n=2000):
    random = np.random.default_rng(2)
    return pa.table({
        "age": random.integers(0, 60, n),
        "zip": [None if x < 3 else f"z{x}" for x in random.integers(0, 90, n)],
        "job": [f"j{x}" for x in random.integers(0, 3, n)],
        "ill": [f"d{x}" for x in random.geometric(0.2, n).clip(max=12)],
        "drug": [f"m{x}" for x in random.geometric(0.2, n).clip(max=12)],
    })  # fmt: skip


def made(monkeypatch, few, sensitive="ill", other=(), rows=None, **how):
    monkeypatch.setattr(entries, "_FEW", few)
    schema = fk.Schema(quasi_identifiers=["age", "zip"], sensitive=sensitive, other=[*other])
    about = {} if isinstance(sensitive, str) else {"sensitive": sensitive[0], "knowing": []}
    policy = fk.Policy([fk.Requirement(fk.Facts(1, 3, 1), below="2/3", **about)], schema)
    return fk.publish(rows or many(), policy, seed=5, format="parquet", **how)


def test_lost_rows_are_noticed(monkeypatch):
    write = entries.write_in_parts

    def fewer(parts, path, most):
        return write((part.slice(1) for part in parts), path, most)

    monkeypatch.setattr(entries, "write_in_parts", fewer)
    with pytest.raises(InternalError, match=r"differs from what was written|disagree"):
        made(monkeypatch, 100)


# ---- book ----------------------------------------------------------------------------------------


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
    for text in texts:
        column = pa.array(text, pa.string())
        assert type_of(column) == kind
        assert typed(column).type == kinds.get(kind, pa.string())
        assert typed(column).null_count == column.null_count


# ---- lies ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made_with_titles(tmp_path_factory):
    """A release with every kind of entry in its code book."""
    ranks = [["low", "mid", "high"][i % 3] for i in range(240)]
    table = register().append_column("rank", pa.array(ranks))
    roles = {**ROLES, "quasi_identifiers": ["age", "day", "town", "rank"]}
    roles["hierarchies"] = {"rank": fk.Ordered(["low", "mid", "high"])}
    return written(tmp_path_factory.mktemp("book") / "out", table, roles, unlinked=["income"])


@pytest.fixture
def copy(made_with_titles, tmp_path):
    return Path(shutil.copytree(made_with_titles, tmp_path / "copy"))


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
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100 + "]" * 100, "levels deep"),
        ('{"a": 1, "a": 2}', "given twice"),
        ('{"a": "' + "x" * 200_000 + '"}', "more than"),
        ("[]", "by the files it is"),
    ],
)
def test_code_book_is_hostile_input(content, message, copy):
    refused(copy, content, message)


def test_code_books_belong_to_releases(copy, tmp_path):
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


# ---- CSV in the dialect of its table -------------------------------------------------------------

TITLED = {
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
    policy = {**TITLED, "schema": {**TITLED["schema"]}}
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


# ---- priors learned from the table are never published with it: they stay with the owner ---------


SEXES = ["other", "man", "woman"]
VALUES = ["flu", "cold", "hiv", "ulcer"]
ROWS = pa.table({  # one person of another sex, who has gout: the priors by sex say so for certain
    "sex": ["other", *["woman", "man"] * 20],
    "age": [50, *(20 + i % 9 for i in range(40))],
    "disease": ["gout", *(VALUES[i * i % 7 % 4] for i in range(40))],
})  # fmt: skip
SCHEMA = fk.Schema(quasi_identifiers=["sex", "age"], sensitive="disease")
OPTIONS = fk.PublishOptions(method="art", form="bucketized")


def learned(smoothing=0):
    return fk.Priors.learn(ROWS, ["sex"], "disease", smoothing=smoothing)


def made_against_priors(priors, **limit):
    policy = fk.Policy([fk.Requirement(priors, **(limit or {"at_most_times": 2}))])
    return fk.publish(fk.Microdata(ROWS, SCHEMA), policy, options=OPTIONS)


def from_file(folder, change=str):
    """Write learned priors as `foreknow priors` does, and give the file as any other."""
    path = folder / "statistics.csv"
    learned().tables[0].to_csv(path)
    path.write_text(change(path.read_text()))
    return fk.Priors(path)


def without_mark(text):
    return "\n".join(line.rpartition(",")[0] for line in text.splitlines()) + "\n"


def in_decimals(text, change=lambda chance: f"{chance:.4f}"):
    head, *rows = without_mark(text).splitlines()
    parts = [row.rpartition(",") for row in rows]
    return "\n".join([head, *(f"{own},{change(float(Fraction(p)))}" for own, _, p in parts)]) + "\n"


def pulled_to_the_middle(text):
    return in_decimals(text, lambda chance: f"{0.99 * chance + 0.002:.6f}")


WAYS = {
    "learned": lambda path: learned(),
    "learned with smoothing": lambda path: learned("1/10"),
    "a file of learned ones": from_file,
    "a file without its mark": lambda path: from_file(path, without_mark),
    "a file of rounded ones": lambda path: from_file(path, in_decimals),
    "pulled to the middle": lambda path: from_file(path, pulled_to_the_middle),
}


@pytest.mark.complete
@pytest.mark.parametrize("way", WAYS)
def test_published_files_hide_priors(way, tmp_path):
    publication = made_against_priors(WAYS[way](tmp_path))
    publication.write(tmp_path / "out")
    files = {  # what the others may read
        path.name: path.read_text()
        for path in (tmp_path / "out").iterdir()
        if stat.S_IMODE(path.stat().st_mode) & 0o077
    }
    papers = {"certificate.json", "datapackage.json", "report.html"}
    assert {*files} == {"people.csv", "sensitive.csv", *papers}
    certificate = json.loads(files["certificate.json"])
    assert {*tables_of(certificate)[0]} == {"attributes", "digest"}
    (finding,) = certificate["findings"]
    assert finding["safe"] is True
    said = {key for key, found in finding.items() if found is not None}
    assert not {"value", "group", "exact", "probability", "below"} & said
    for name in papers:
        text = "".join(files[name].split())
        for part in ('"rows":[', *(f'["{sex}"]' for sex in SEXES), *(f"sex{s}" for s in SEXES)):
            assert part not in text, name
    assert "kept with the owner" in files["report.html"]
    assert "Before and after" not in files["report.html"]
    assert "gout" not in json.dumps({**certificate, "scope": None})  # which lists values alone
    assert publication.to_dict()["findings"] == certificate["findings"]


# ---- verifying ---------------------------------------------------------------------------------


def verify(*arguments):
    """The exit code as the command line gives it, and all it says."""
    run = CliRunner().invoke(app, ["verify", *map(str, arguments)])
    if isinstance(run.exception, fk.InputError):
        return 2, str(run.exception)
    return run.exit_code, run.output


def tables_of(certificate):
    return certificate["policy"]["require"][0]["priors"]["tables"]


@pytest.fixture(scope="module")
def written_against_priors(tmp_path_factory):
    """A folder with the release, and what its owner has of it."""
    place = tmp_path_factory.mktemp("written")
    made_against_priors(learned()).write(place / "out")
    return place


@pytest.fixture
def folder_of_priors(written_against_priors, tmp_path):
    """A copy of it, for this test alone."""
    return Path(shutil.copytree(written_against_priors, tmp_path, dirs_exist_ok=True)) / "out"


@pytest.fixture
def kept(folder_of_priors):
    return folder_of_priors.with_name("out.owner") / "priors.json"


def test_owners_file_verifies_them(folder_of_priors, kept, tmp_path):
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    table = json.loads(kept.read_text())
    assert table["key"] not in (folder_of_priors / "certificate.json").read_text()
    assert table["this_file_is"] == "for the owner only"
    assert verify(folder_of_priors)[0] == 0
    for where in (tmp_path / "elsewhere.json", folder_of_priors / "priors.json"):
        kept = kept.rename(where)
        code, said = verify(folder_of_priors)
        assert (code, "name it by --priors FILE" in said) == (2, True)
        code, said = verify(folder_of_priors, "--priors", where)
        assert (code, "Verified" in said) == (0, True)
    assert "Keep priors.json to yourself" in said


def test_exchanged_priors_are_refused(folder_of_priors, kept):
    document = json.loads(kept.read_text())
    document["tables"][0]["rows"][0][1] = ["0", "1", "0", "0", "0"]
    kept.write_text(json.dumps(document))
    code, said = verify(folder_of_priors)
    assert (code, "the file of priors is not what was certified" in said) == (2, True)
    # Equal priors have other digests in other releases: a key of the owner's is in them.
    again = tables_of({"policy": made_against_priors(learned()).certificate.policy})[0]
    first = json.loads((folder_of_priors / "certificate.json").read_text())
    assert tables_of(first)[0]["digest"] != again["digest"]
    for content in ("", "{}", "[]", '{"format": "foreknow priors"}', "[" * 10000):
        kept.write_text(content)
        code, said = verify(folder_of_priors)
        assert (code, "priors.json" in said) == (2, True)


def first(certificate):
    return certificate["policy"]["require"][0]


FACTS = {"priors": None, "facts": {"l": 1}, "at_most_times": None, "below": "1"}
CHANGES = {
    "a limit that is broken": lambda c: first(c).update(at_most_times="1"),
    "another limit": lambda c: first(c).update(at_most_times="5"),
    "other columns": lambda c: tables_of(c)[0].update(attributes=["age"]),
    "another digest": lambda c: tables_of(c)[0].update(digest="0" * 64),
    "one more digest": lambda c: tables_of(c).append({"attributes": ["age"], "digest": "0" * 64}),
    "rows beside the digest": lambda c: tables_of(c)[0].update(rows=[], values=["flu"]),
    "another reading": lambda c: first(c)["priors"].update(semantics="binary"),
    "a finding with a worst case": lambda c: c["findings"][0].update(exact="1/9", value="flu"),
    "a finding of others": lambda c: c["findings"][0].update(judged={"facts": {"l": 9}}),
    "a finding that is unsafe": lambda c: c["findings"][0].update(safe=False),
    "no finding": lambda c: c.update(findings=[]),
    "an old version": lambda c: c.update(version=2),
    "fewer people": lambda c: c["release"].update(people=40),
    "nothing found of facts": lambda c: first(c).update(FACTS),
}


@pytest.mark.parametrize("change", CHANGES)
def test_certificate_that_says_something_else(folder_of_priors, kept, change):
    certificate = json.loads((folder_of_priors / "certificate.json").read_text())
    CHANGES[change](certificate)
    (folder_of_priors / "certificate.json").write_text(json.dumps(certificate))
    for _ in ("with the file", "without it"):
        code, said = verify(folder_of_priors)
        assert code in (1, 2)
        assert "Verified" not in said
        kept.unlink(missing_ok=True)


# ---- the examples for a warehouse: a build of dbt, and a test of somebody's own ----------------

HERE = Path(__file__).parents[2]
PROJECT = HERE / "examples" / "dbt"


@pytest.fixture
def project(tmp_path):
    """A copy of the project, and what makes its policy too strict for it."""
    result = shutil.copytree(PROJECT, tmp_path / "dbt", ignore=shutil.ignore_patterns("target"))
    policy = result / "policy.toml"

    def stricter():
        assert "below = 0.25" in policy.read_text()
        policy.write_text(policy.read_text().replace("below = 0.25", "below = 0.1"))

    return result, stricter


def test_custom_test_shows_verdicts(project, monkeypatch):
    folder, stricter = project
    place = HERE / "examples" / "test_release.py"
    spec = importlib.util.spec_from_file_location("own_test", place)
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    assert own.FOLDER == PROJECT
    own.test_the_release_may_be_published()
    stricter()
    monkeypatch.setattr(own, "FOLDER", folder)
    with pytest.raises(AssertionError, match=r"(?s)must not be published.*FAILS.*HIV.*16\.7%"):
        own.test_the_release_may_be_published()


def test_model_is_its_policys_query():
    output = CliRunner().invoke(app, ["sql", "--policy", str(PROJECT / "policy.toml")]).output
    _, _, *model = (PROJECT / "models" / "tally.sql").read_text().splitlines()
    result = "\n".join(model).replace('{{ ref("release") }}', '"release"')
    assert output.splitlines()[1:] == f"{result};".splitlines()


def test_dbt_stops_at_unsafe_release(project):
    dbt = Path(sys.executable).with_name("dbt")
    pytest.importorskip("dbt.adapters.duckdb", reason="there is no dbt (dbt-core, dbt-duckdb)")
    folder, stricter = project
    text = os.pathsep.join(filter(None, [str(HERE / "src"), os.environ.get("PYTHONPATH")]))
    around = {**os.environ, "PYTHONPATH": text, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"}

    def build():
        command = [dbt, "--no-use-colors", "build", "--profiles-dir", "."]
        output = subprocess.run(
            command, cwd=folder, env=around, capture_output=True, text=True, timeout=240
        )
        return output.returncode, output.stdout

    code, said = build()
    assert (code, "PASS=4 " in said) == (0, True), said
    stricter()
    code, said = build()
    assert code == 1, said
    assert "the release must not be published" in said
    assert "16.7%" in said
    release = folder / "seeds" / "release.csv"
    release.write_text("\n".join(release.read_text().splitlines()[:-5]) + "\n")
    code, said = build()
    assert (code, "FAIL" in said) == (1, True), said  # the test in SQL, before the audit
    audit = ["audit", "--counts", str(folder / "clinic.duckdb"), "--table", "tally"]
    result = CliRunner().invoke(app, [*audit, "--policy", str(folder / "policy.toml")])
    assert result.exit_code == 1


# ---- the hook for pre-commit --------------------------------------------------------------------


def entry_of(page):
    """The command of a hook, as pre-commit splits it."""
    lines = re.search(r"entry: >-\n((?: +.*\n)+?) +language:", (HERE / page).read_text())[1]
    return shlex.split(" ".join(line.strip() for line in lines.splitlines()))


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """A folder with two releases, and a program that is called foreknow."""
    folder = tmp_path_factory.mktemp("committed")
    rows = pa.table({"age": [30, 30, 41, 41], "ill": ["flu", "cold", "flu", "cold"]})
    keys = {"quasi_identifiers": ["age"], "sensitive": "ill", "k_anonymity": 2}
    for name in ("-x", "my release"):
        fk.publish(rows, **keys, below="0.9").write(folder / name)
    program = folder / "bin" / "foreknow"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m foreknow "$@"\n')
    program.chmod(0o755)
    return folder


def test_the_hook_stops_changed_data(committed, tmp_path):
    shutil.copytree(committed, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "my release" / "release.csv").open("a") as file:
        file.write("30,flu\n")
    done = hooked(tmp_path, ["-x/release.csv", "my release/release.csv"])
    assert done.returncode == 1
    assert "release.csv is not the file that was certified (digest differs)" in done.stderr


def test_page_names_the_hook():
    hook = (HERE / ".pre-commit-hooks.yaml").read_text()
    assert (
        re.search(r"^- id: (.*)$", hook, re.MULTILINE)[0]
        in (HERE / "docs/do/pipeline.md").read_text()
    )
    assert "files:" not in hook


def hooked(folder, paths):
    """What came of a commit of these files."""
    entry = entry_of(".pre-commit-hooks.yaml")
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        [*entry, *paths], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
