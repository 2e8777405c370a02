"""Each byte of a Parquet file of a release follows from its rows."""

import hashlib
import json
import shutil
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.data.tables.writers import write, write_in_parts
from foreknow_judge.errors import CertificateError, DataError
from foreknow_judge.files import parquet_layout as layout
from foreknow_judge.files import release_files as judge_files
from foreknow_judge.files import written_release as judge_written
from foreknow_judge.files.parquet_layout import ROWS, is_ours
from foreknow_judge.files.release_files import holds_rows_alone

SCHEMA = {
    "identifiers": ["id"],
    "quasi_identifiers": ["age"],
    "sensitive": "ill",
    "hierarchies": {"age": {"intervals": [10]}},
}
PEOPLE = pd.DataFrame(
    {"id": range(60), "age": [*range(20, 50)] * 2, "ill": ["flu", "cold", "gout"] * 20}
)
NAME = b"p17 has gout"
TEXT = layout._field(NAME)
PAIR = layout._list([layout._struct({1: TEXT, 2: TEXT})])
# What is described by such fields: the file, a column, what is stored of it, its pages.
FOOTER, ELEMENT = {1, 2, 3, 4, 6}, {1, 3, 4, 6, 10}
CHUNK, STORED, PAGE = {2, 3}, {1, 2, 3, 4, 5, 6, 7, 9, 11}, {1, 2, 3, 5}


@pytest.fixture(scope="module", params=[None, 25], ids=["one file", "parts"])
def published(request, tmp_path_factory):
    publish = {"format": "parquet"} | ({"rows_per_part": 25} if request.param else {})
    rules = {"schema": SCHEMA, "require": [{"k_anonymity": 4}], "publish": publish}
    place = tmp_path_factory.mktemp("published") / "out"
    fk.publish(PEOPLE, fk.Policy.from_dict(rules), seed=1).write(place)
    fk.verify(place)
    return place


@pytest.fixture
def refused(published, tmp_path, monkeypatch):
    """Writes the last file anew in some way, has a certificate name it, and says why it fails."""

    def verified(rewrite):
        release = tmp_path / "out"
        shutil.copytree(published, release, dirs_exist_ok=True)
        certificate = json.loads((release / "certificate.json").read_text())
        files = certificate["release"]["files"]
        path = release / [*files][-1]
        plain = path.read_bytes()
        with monkeypatch.context() as changed:
            rewrite(changed, path, pq.read_table(path))
        assert path.read_bytes() != plain
        files[[*files][-1]] = hashlib.sha256(path.read_bytes()).hexdigest()
        (release / "certificate.json").write_text(json.dumps(certificate))
        with pytest.raises(CertificateError) as error:
            fk.verify(release)
        return str(error.value)

    return verified


def described(fields, more):
    """What writes a table with further fields beside some."""

    def rewrite(changed, path, table):
        struct = layout._struct

        def hiding(described):
            return struct(described | more if described.keys() == fields else described)

        changed.setattr(layout, "_struct", hiding)
        write([table], path)

    return rewrite


def entered(entry):
    """What writes a table with one more entry in the dictionaries of texts."""

    def rewrite(changed, path, table):
        coded = layout._coded

        def hiding(values):
            codes, starts, entries = coded(values)
            hidden = pa.array([entry or entries[0].as_py()])
            return codes, starts, pa.concat_arrays([entries, hidden])

        changed.setattr(layout, "_coded", hiding)
        write([table], path)

    return rewrite


def padded(changed, path, table):
    runs = layout._runs
    changed.setattr(layout, "_runs", lambda *numbers: runs(*numbers) + NAME)
    write([table], path)


def inserted(place):
    def rewrite(changed, path, table):
        content = path.read_bytes()
        at = len(content) - 8 - int.from_bytes(content[-8:-4], "little") if place is None else place
        path.write_bytes(content[:at] + NAME + content[at:])

    return rewrite


def otherwise(**how):
    how = {"store_schema": False, "write_statistics": False, "compression": "none", **how}
    return lambda changed, path, table: pq.write_table(table, path, **how)


STATISTICS = layout._struct({5: TEXT, 6: TEXT})
HIDDEN = {
    "maker": described(FOOTER, {6: TEXT}),
    "notes of the file": described(FOOTER, {5: PAIR}),
    "unknown of the file": described(FOOTER, {13: TEXT}),
    "fewer rows": described(FOOTER, {3: layout._int64(1)}),
    "number of a column": described(ELEMENT, {9: 77}),
    "path of a column": described(CHUNK, {1: TEXT}),
    "unknown of a column": described(CHUNK, {15: TEXT}),
    "notes of a column": described(STORED, {8: PAIR}),
    "statistics of a column": described(STORED, {12: STATISTICS}),
    "unknown of a page": described(PAGE, {14: TEXT}),
    "statistics of a page": described({1, 2, 3, 4}, {5: STATISTICS}),
    "an unused entry": entered("p17 has gout"),
    "an entry twice": entered(None),
    "the end of a page": padded,
    "before the footer": inserted(None),
    "before the columns": inserted(4),
    "after the end": inserted(10**6),
    "PyArrow's own": otherwise(),
    "without dictionaries": otherwise(use_dictionary=False),
    "small groups of rows": otherwise(row_group_size=7),
    "pages of version 2": otherwise(data_page_version="2.0"),
    "checksums": otherwise(write_page_checksum=True),
    **{codec: otherwise(compression=codec) for codec in ("snappy", "zstd", "gzip", "lz4")},
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("how", HIDDEN)
def test_what_is_hidden_is_refused(how, refused):
    why = refused(HIDDEN[how])
    assert "is not laid out as publish writes" in why or "cannot be read" in why
    assert how != "snappy" or "publish the table again" in why  # as of an earlier layout


def test_hidden_bytes_come_before_errors(monkeypatch, refused):
    def broken(*_):
        raise DataError("it cannot be counted")

    monkeypatch.setattr(judge_written, "count_rows", broken)
    assert "is not laid out as publish writes" in refused(HIDDEN["maker"])


@pytest.mark.parametrize("kind", ["VARCHAR", "INTEGER"])
def test_chunks_count_alike(kind):
    numbers = [30, 7, None, 7], [8, 30, 9], [None]
    parts = [[n if kind == "INTEGER" else n and f"v{n}" for n in part] for part in numbers]
    (encoded,) = judge_files._encoded([pa.chunked_array(parts)])
    column = judge_files._as_printed(None, encoded, kind)
    assert column.to_list() == [value and str(value) for part in parts for value in part]


def test_few_texts_count_alike():
    texts = pa.table({"c0": list("abbaa"), "c1": ["x", None, "y", "y", "x"]})
    assert counts_of(texts, few=True) == counts_of(texts, few=False)
    assert counts_of(texts, few=True)[0] == {("a",): 3, ("b",): 2}


def counts_of(texts, few):
    """How often each row occurs, for each of two sights."""
    with duckdb.connect() as connection:
        rows = connection.from_arrow(texts)
        counted = judge_files.count_rows(connection, rows, [["c0"], ["c0", "c1"]], few)
    listed = [([column.to_list() for column in columns], times) for columns, times in counted]
    return [dict(zip(zip(*rows, strict=True), times, strict=True)) for rows, times in listed]


def kinds(n, share):
    """A table with a column of each type, of which a share is missing."""
    random = np.random.default_rng(n)
    small = random.integers(0, 100, n)
    texts = pa.array([f"x{i} é" for i in small], pa.string())
    columns = {
        "text": texts,
        "many": pa.array(map(str, range(n)), pa.string()),
        "coded": texts.dictionary_encode(),
        "flag": pa.array(small < 50),
        "float": pa.array(random.random(n)),
        "short": pa.array(small / 8, pa.float32()),
        "day": pa.array(small.astype(np.int32)).cast(pa.date32()),
        "time": pa.array(small).cast(pa.time64("us")),
        "tick": pa.array(small.astype(np.int32)).cast(pa.time32("ms")),
        "moment": pa.array(small).cast(pa.timestamp("us")),
        "zoned": pa.array(small).cast(pa.timestamp("ms", "UTC")),
        "small decimal": pa.array([Decimal(int(i) - 50) / 100 for i in small], pa.decimal128(4, 2)),
        "decimal": pa.array([Decimal(int(i) - 50) for i in small], pa.decimal128(38, 0)),
        "runs": pa.array(np.sort(small)),
        "wide": pa.array(random.integers(-(2**62), 2**62, n)),
    }
    for bits in (8, 16, 32, 64):
        columns[f"int{bits}"] = pa.array(small - 50).cast(f"int{bits}")
        columns[f"uint{bits}"] = pa.array(small).cast(f"uint{bits}")
    places = pa.array(np.arange(n), mask=random.random(n) < share)
    columns = {name: column.take(places) for name, column in columns.items()}
    return pa.table(columns | {"none": pa.nulls(n, pa.string())})


@pytest.mark.parametrize(
    ("n", "share"),
    [(0, 0), (1, 0), (1, 1), (9, 0.1), (600, 0), (600, 0.1), (600, 1), (ROWS + 1, 0.1)],
)
def test_every_reader_has_the_rows(n, share, tmp_path):
    path = tmp_path / "x.parquet"
    table = kinds(n, share)
    assert write([table.slice(0, n // 3), table.slice(n // 3)], path) == n
    assert is_ours(path)
    coded = table.column_names.index("coded")
    plain = table.set_column(coded, "coded", table.column("coded").cast(pa.string()))
    assert pq.read_table(path).equals(plain)
    relation = duckdb.connect().read_parquet(str(path)).to_arrow_table()
    for read in (relation, pl.read_parquet(path).to_arrow()):
        assert read.cast(plain.schema).equals(plain)


def test_changed_bytes_hide_nothing(tmp_path):
    """Whatever byte is changed, a file that is taken holds what all readers have of it."""
    path = tmp_path / "x.parquet"
    sick = ["flu", None, "gout", "flu"] * 9
    write([pa.table({"age": ["20 to 29", "30 to 39"] * 18, "ill": sick, "n": range(36)})], path)
    content, random = path.read_bytes(), np.random.default_rng(1)
    engine, taken = duckdb.connect(), 0
    for place in range(len(content)):
        before, byte, after = content[:place], content[place], content[place + 1 :]
        others = [before + bytes([byte ^ 1 << bit]) + after for bit in range(8)]
        others += [before + after, before + bytes([byte, random.integers(256)]) + after]
        for other in others if NIGHTLY else [others[random.integers(10)]][place % 2 :]:
            path.write_bytes(other)
            try:
                if other == content or not holds_rows_alone(engine, path):
                    continue
                rows = engine.read_parquet(str(path)).fetchall()
            except duckdb.Error:  # such as bytes that are no text
                continue
            taken += 1
            assert rows == pl.read_parquet(path).rows()
            assert rows == [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    assert taken  # such as another label


def test_nan_has_one_spelling(tmp_path):
    odd = np.array([0x7FF8_0000_0000_0000 | i for i in range(9)], np.uint64).view(np.float64)
    write([pa.table({"x": odd})], tmp_path / "x.parquet")
    assert is_ours(tmp_path / "x.parquet")
    content = (tmp_path / "x.parquet").read_bytes()
    assert content.count(odd[0].tobytes()) == 1
    assert odd[1].tobytes() not in content


def test_a_type_is_not_written(tmp_path):
    table = pa.table({"x": pa.array([b"a"])})
    with pytest.raises(DataError, match="'x' is of type binary"):
        write_in_parts([table], tmp_path / "x.parquet", None)
