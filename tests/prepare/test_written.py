"""What is written of a release: read, drawn from, and judged as it is written."""

import shutil
from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.diagnoses import diagnoses

import foreknow as fk
from foreknow.data.engines import duckdb_table
from foreknow.errors import InternalError, NoSafeRelease
from foreknow.publishing import entries, flat_table, formats
from foreknow.randomness import generator
from foreknow_judge import written as verifier
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError, InputError

WRITTEN = Path(__file__).parents[1] / "certificates"
EVERY = sorted(path.name for path in WRITTEN.iterdir())


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
    found, drawn = read(folder), draw(folder)
    assert found.num_rows == 240
    kinds = {field.name: field.type for field in found.schema}
    assert (kinds["age_lower"], kinds["weight_lower"]) == (pa.int64(), pa.float64())
    assert (kinds["income"], kinds["ill"]) == (pa.int64(), pa.string())
    assert {field.name: field.type for field in drawn.schema} == {
        "age": pa.int64(), "weight": pa.float64(), "day": pa.date32(), "town": pa.string(),
        "job": pa.string(), "ill": pa.string(), "income": pa.int64(),
    }  # fmt: skip
    for label, row in zip(found.to_pylist(), drawn.to_pylist(), strict=True):
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


@pytest.mark.parametrize("name", EVERY)
def test_a_seed_gives_same_table(name):
    first = draw(WRITTEN / name, 5)
    assert first.equals(draw(WRITTEN / name, 5))
    # A table that says all at once may be drawn in one way only.
    if name != "hierarchy-generalized-csv":
        assert any(not first.equals(draw(WRITTEN / name, seed)) for seed in range(6, 9))


def test_seeds_agree_on_every_machine():
    found = draw(WRITTEN / "facts-generalized-csv", 7)
    assert found["age"].to_pylist()[:8] == [29, 26, 26, 28, 25, 37, 38, 24]
    found = draw(WRITTEN / "set-generalized-csv", 7)["disease_shuffled"].to_pylist()
    assert found[:3] == [["Fever", "Flu", "Gout"], ["Fever", "Flu"], ["HIV"]]


def bags(rows, groups, column):
    """How often each value is in each group, whether rows have one or several."""
    found = Counter()
    for row in rows:
        for value in row[column] if isinstance(row[column], list) else [row[column]]:
            found[tuple(str(row[name]) for name in groups), str(value)] += 1
    return found


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_groups_keep_people_and_values(semantics, tmp_path):
    roles = {"quasi_identifiers": ["age", "sex"], "sensitive": "diagnosis", "person": "person"}
    table = diagnoses(150, 1, semantics=semantics)
    roles["semantics"], by = semantics, ["age", "sex"]
    place = written(tmp_path / "out", table, roles, format="parquet")
    people, tally = (pq.read_table(place / f"{n}.parquet") for n in ("people", "sensitive"))
    wanted = {
        (tuple(str(row[name]) for name in by), row["diagnosis"]): row["count"]
        for row in tally.to_pylist()
    }
    shown = read(place).to_pylist()
    assert bags(shown, by, "diagnosis_shuffled") == wanted
    groups = [
        Counter(str([row[n] for n in by]) for row in rows) for rows in (shown, people.to_pylist())
    ]
    assert groups[0] == groups[1]
    if semantics == "set":
        assert all(len({*own}) == len(own) for own in (row["diagnosis_shuffled"] for row in shown))
    assert fk.read_release(place).attrs["shuffled"] == ["diagnosis_shuffled"]


def test_unlinked_columns_are_shuffled(tmp_path):
    place = written(tmp_path / "out", register(), ROLES, unlinked=["income"])
    shown, drawn = read(place), [draw(place, seed) for seed in (1, 2)]
    assert {"ill", "income_shuffled"} < {*shown.column_names}
    assert shown.schema.field("income_shuffled").metadata == {b"shuffled": b"true"}
    assert shown.schema.field("ill").metadata is None
    lines = (place / "release.csv").read_text().splitlines()[1:]
    ends = [int(line.rpartition(",")[2].strip('"')) for line in lines]
    assert ends == shown["income_shuffled"].to_pylist()
    assert drawn[0]["ill"] == drawn[1]["ill"]
    assert drawn[0]["income_shuffled"] != drawn[1]["income_shuffled"]
    labels = ROLES["quasi_identifiers"]
    wanted = bags(shown.to_pylist(), labels, "income_shuffled")
    for own in drawn:
        rows = shown.select(labels).append_column("income_shuffled", own["income_shuffled"])
        assert bags(rows.to_pylist(), labels, "income_shuffled") == wanted


def test_values_in_labels_are_uniform():
    def drawn(texts):
        return flat_table._Labels(pa.array(texts)).drawn(generator(1, "draw")).to_pylist()

    for text, values in (("0 to 9", {*range(10)}), ("0 to 8 or missing", {None, *range(9)})):
        found = Counter(drawn([text] * 10_000))
        assert {*found} == values
        assert all(abs(many - 1000) < 5 * 1000**0.5 for many in found.values())
    # Listed ones by what the column shows.
    texts = ["a"] * 9000 + ["b"] * 1000 + ["a | b"] * 10_000 + ["*"] * 5000
    found = drawn(texts)
    assert found[:10_000] == texts[:10_000]
    for part in (found[10_000:20_000], found[20_000:]):
        assert abs(part.count("a") / len(part) - 0.9) < 0.02


@pytest.mark.parametrize(
    ("semantics", "counts", "ways"),
    [("single", [2, 2], 6), ("set", [2, 1], 24), ("multiset", [1, 1], 16)],
)
def test_deals_are_equally_likely(semantics, counts, ways):
    """All worlds of a group of four; the other group is as large and has its own."""
    of_person = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    values = pa.table({"d": ["x", "y", "z"]})
    apart = flat_table._APART[semantics](values, np.array([0, 0, 1]), np.array([*counts, 4]))
    random, times = np.random.default_rng(0), Counter()
    for _ in range(100 * ways):
        dealt = apart.dealt(of_person, random)["d"].to_pylist()
        held = [own if isinstance(own, list) else [own] for own in dealt]
        assert all("z" in own or semantics == "multiset" for own in held[1::2])
        times[tuple(str([own.count(v) for own in held[::2]]) for v in "xy")] += 1
    assert len(times) == ways
    assert all(abs(many - 100) < 5 * 10 for many in times.values())


def recertified(folder, path, before):
    """As whoever wrote other counts would have certified them."""
    certificate = folder / "certificate.json"
    certificate.write_text(certificate.read_text().replace(before, digest_of(path)))


def test_counts_without_groups_are_refused(tmp_path):
    """They are right in all."""
    folder = Path(shutil.copytree(WRITTEN / "facts-bucketized-csv", tmp_path / "copy"))
    path = folder / "sensitive.csv"
    text, before = path.read_text(), digest_of(path)
    path.write_text(text.replace('1,"Cold",4', '1,"Cold",3').replace('2,"Cold",1', '2,"Cold",2'))
    recertified(folder, path, before)
    for call in (fk.read_release, fk.draw):
        with pytest.raises(CertificateError, match="do not match"):
            call(folder)


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


def test_escaped_formulas_read_back(tmp_path):
    table = register().set_column(5, "ill", pa.array(["=1+1", "-2", "x", "y"] * 60))
    place = written(tmp_path / "out", table, ROLES, escape_formulas=True)
    assert {*read(place)["ill"].to_pylist()} == {"=1+1", "-2", "x", "y"}
    flat_table.write_flat(flat_table.draw_flat(place, 1), tmp_path / "flat.csv")
    assert '"\'=1+1"' in (tmp_path / "flat.csv").read_text()
    assert '"=1+1"' not in (tmp_path / "flat.csv").read_text()


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


@pytest.mark.parametrize("how", HOW, ids=str)
def test_published_files_are_judged(how, monkeypatch, tmp_path):
    opened, own = [], verifier.open_written

    def noted(connection, table, file):
        opened.append(table)
        return own(connection, table, file)

    monkeypatch.setattr(verifier, "open_written", noted)
    made = fk.publish(TABLE, POLICY, seed=1, **how)
    files = [table for table in opened if isinstance(table, list)]
    assert {Path(path).suffix for (path,) in files} == {".csv"}
    times = len(opened)
    certificate = made.write(tmp_path / "once")
    assert len(opened) == times
    other = fk.publish(TABLE, POLICY, seed=1, **how).write(tmp_path / "twice")
    assert (certificate.files, certificate.findings) == (other.files, other.findings)
    assert fk.verify(tmp_path / "once").people == fk.verify(tmp_path / "twice").people == 60
    books = [(tmp_path / name / "datapackage.json").read_bytes() for name in ("once", "twice")]
    assert books[0] == books[1]


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
    made = fk.publish(TABLE, POLICY, seed=1)
    damaged(monkeypatch, entries.shutil, "copyfile", last_line_twice)
    with pytest.raises(InternalError, match="differs from what was written"):
        made.write(tmp_path / "out")
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


def test_release_is_recognized_by_frame(tmp_path):
    rows = {"age": [20 + i % 20 for i in range(120)], "zip": ["10115", "20095", "80331"] * 40}
    frame = pd.DataFrame(rows | {"charges": ["1.50", "20", "7.25", "-3"] * 30})
    frame.to_csv(tmp_path / "own.csv", index=False)
    roles = {"quasi_identifiers": ["age", "zip"], "sensitive": "charges", "k_anonymity": 4}
    fk.publish(tmp_path / "own.csv", **roles, seed=1).save(tmp_path / "out")
    found = fk.evidence(tmp_path / "out", pd.read_csv(tmp_path / "own.csv"))
    assert isinstance(found, fk.EvidenceReport)


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


@pytest.mark.parametrize(
    "how",
    [
        {"method": fk.Mondrian(suppression=0.1)},
        {"method": "fulldomain"},
        {"sensitive": ["ill", "drug"], "other": ["job"]},
        {"sensitive": ["ill", "drug"], "unlinked": ["drug"]},
        {"form": "bucketized"},
        {
            "sensitive": "count",
            "rows": many().rename_columns(["age", "zip", "job", "count", "drug"]),
        },
    ],
    ids=range(6),
)
def test_memory_agrees_with_files(monkeypatch, how, tmp_path):
    small, large = (made(monkeypatch, few, **how) for few in (10**6, 100))
    assert large.release.counts == small.release.counts
    assert [*large.release.counts.groups] == [*small.release.counts.groups]
    told = [[verdict.to_dict() for verdict in own.audit.verdicts] for own in (large, small)]
    assert told[0] == told[1]
    large.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out")


def test_audit_reuses_written_counts(monkeypatch):
    counted, tally = [], duckdb_table.DuckTable.tally

    def noted(self, columns, **how):
        found = tally(self, columns, **how)
        counted.append(self.known is not None and found[1] is self.known[1])
        return found

    monkeypatch.setattr(duckdb_table.DuckTable, "tally", noted)
    made(monkeypatch, 100)
    assert counted == [True]


def test_lost_rows_are_noticed(monkeypatch):
    write = entries.write_in_parts

    def fewer(parts, path, most):
        return write((part.slice(1) for part in parts), path, most)

    monkeypatch.setattr(entries, "write_in_parts", fewer)
    with pytest.raises(InternalError, match=r"differs from what was written|disagree"):
        made(monkeypatch, 100)
