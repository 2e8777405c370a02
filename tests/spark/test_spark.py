"""Spark with two workers: counts travel to the driver, not rows, and rows are looked up."""

import datetime as dt
import logging
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.register import policy_of_diagnoses
from tests.common import NIGHTLY
from tests.publishing.test_engine import FACTS, HOSPITAL, patients

import foreknow as fk
from foreknow import sample
from foreknow.features.spark import lookup
from foreknow.features.spark.spark_table import SparkTable
from foreknow.written_releases.members import named_release


@pytest.fixture(scope="module")
def session():
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is absent")
    result = (
        sql.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    yield result
    result.stop()


@pytest.fixture(scope="module")
def people(session):
    """The sample register, in four parts."""
    frame = session.read.csv(str(sample.table_path()), header=True)
    return frame.withColumn("age", frame["age"].cast("int")).repartition(4)


def test_audit_fetches_only_counts(people, monkeypatch):
    rules = fk.Policy.load(sample.policy_path())
    # Where the schema has a person, an audit reads whom each row is about.
    identifiers = [rules.schema.person, *rules.schema.identifiers]
    policy = replace(rules, schema=replace(rules.schema, person=None, identifiers=identifiers))

    def refused(self, columns):
        raise AssertionError(f"rows of {columns} left Spark")

    audit = fk.audit(sample.table_path(), policy)
    monkeypatch.setattr(SparkTable, "arrow", refused)
    audit_of_release = fk.audit(people, policy)
    assert [v.disclosure.exact for v in audit_of_release.verdicts] == [
        v.disclosure.exact for v in audit.verdicts
    ]
    assert str(audit_of_release.exposed) == str(audit.exposed)


@pytest.fixture
def at_home(monkeypatch, caplog):
    """No row comes to the driver, and the executors write."""

    def refused(self, columns):
        raise AssertionError(f"rows of {columns} left Spark")

    monkeypatch.setattr(SparkTable, "arrow", refused)
    yield
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def rows_of(table, columns=None):
    table = table if columns is None else table.select(columns)
    return Counter(map(str, table.to_pylist()))


def owners(folder):
    """Rows of the members, without their numbers."""
    path = folder.with_name(f"{folder.name}.owner") / "members.parquet"
    table = (
        pq.read_table(path)
        if path.is_file()
        else pa.concat_tables(map(pq.read_table, path.iterdir()))
    )
    return rows_of(table.drop_columns([table.column_names[0]]))


def policy_of(schema=HOSPITAL, **publish):
    required = [{**FACTS, "sensitive": schema["sensitive"][0], "knowing": []}]
    return {"schema": schema, "require": required, "publish": {"format": "parquet", **publish}}


@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_spark_release_matches_its_file(people, tmp_path, at_home, method, form):
    policy = fk.Policy.from_dict(policy_of_diagnoses())
    how = {"method": method, "form": form, "format": "parquet", "rows_per_part": 1500}
    publication, folder = fk.publish(people, policy, **how), tmp_path / "out"
    publication.write(folder)
    assert fk.verify(folder).people == 4000
    made_release = fk.publish(sample.table_path(), policy, **how)
    made_release.write(tmp_path / "here")
    for name, table in publication.tables.items():
        columns = [column for column in table.column_names if column != "group"]
        assert rows_of(table, columns) == rows_of(made_release.tables[name], columns)
        assert publication.to_arrow(name).schema == made_release.to_arrow(name).schema
        files = sorted(path.name for path in (folder / f"{name}.parquet").iterdir())
        assert files == [f"part-{i:05}.parquet" for i in range(len(files))]
        parts = [pq.read_metadata(folder / f"{name}.parquet" / file) for file in files]
        assert {part.metadata for part in parts} == {None}
        assert {part.created_by for part in parts} == {
            pq.read_metadata(
                tmp_path / "here" / f"{name}.parquet" / "part-00000.parquet"
            ).created_by
        }
        assert max(part.num_rows for part in parts) <= 1500
        assert people.sparkSession.read.parquet(str(folder / f"{name}.parquet")).count() == len(
            table
        )
    assert not list(tmp_path.rglob("*.crc"))
    if form == "generalized":
        assert owners(folder) == owners(tmp_path / "here")
    assert named_release(folder, person="patient").counts.n_people == 4000
    data = fk.Microdata(people, policy.schema)
    with pytest.raises(fk.InputError, match="rows have no order"):
        named_release(folder, person="patient", microdata=data)


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_shuffled_columns_and_missing_values(session, tmp_path, at_home, form):
    table = patients(400, missing=["disease", "ward"])
    schema = {**HOSPITAL, "sensitive": ["disease", "drug"], "other": ["city"], "missing": "drop"}
    unlinked = ["drug", "city"] if form == "generalized" else ["drug"]
    policy = policy_of(schema, unlinked=unlinked, form=form, rows_per_part=90)
    publication = fk.publish(session.createDataFrame(table).repartition(3), policy)
    publication.write(tmp_path / "out")
    assert (
        fk.verify(tmp_path / "out").people
        == publication.counts.n_people
        == 400 - publication.audit.scope.left_out
    )
    made_release = fk.publish(table, policy)
    made_release.write(tmp_path / "here")
    labels = [*schema["quasi_identifiers"]]
    for name in publication.tables:
        both = [each.to_arrow(name) for each in (made_release, publication)]
        both = [
            each.drop_columns([c for c in ("group",) if c in each.column_names]) for each in both
        ]
        if name != "release":
            assert rows_of(both[0]) == rows_of(both[1])
            continue
        names = both[0].column_names
        own = [n if n in names else f"{n}_shuffled" for n in ("disease", "drug", "city")]
        for columns in ([*labels, name] for name in own):
            assert rows_of(both[0], columns) == rows_of(both[1], columns)
    if form == "generalized":
        assert owners(tmp_path / "out") == owners(tmp_path / "here")


def without_foreknow(work, batch, folder):
    """What work says, and what is wrong in another folder, where Python has no Foreknow."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", reason="PySpark is absent")
    cloudpickle.register_pickle_by_value(lookup)
    (folder / "token").write_text("this")
    (folder / "work").write_bytes(cloudpickle.dumps((work, batch)))
    asked = """
import sys, pyarrow as pa
sys.modules["foreknow"] = None
from pyspark import cloudpickle
work, batch = cloudpickle.loads(open(sys.argv[1], "rb").read())
for token in ("this", "other"):
    (told,) = work([batch], token)
    print(told.to_pylist())
"""
    run = [sys.executable, "-I", "-c", asked, str(folder / "work")]
    return subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)


def test_executors_need_not_have_foreknow(tmp_path):
    ages, labels = pa.table({"age": [30, 31]}), pa.table({"age": ["30-31"]})
    lookup.write_lookup(ages, np.array([2, 1]), np.array([0, 0]), labels, tmp_path)
    batch = pa.RecordBatch.from_pydict({"row": [1, 2, 3], "k": [30, 31, 30]})
    done = without_foreknow(lookup.by_row(tmp_path, ["row", "age"], ""), batch, tmp_path)
    assert "'rows': 3" in done.stdout
    assert "they do not see that folder" in done.stderr


def test_driver_writes_if_executors_cannot(people, tmp_path, monkeypatch, caplog):
    def elsewhere(folder, token):
        raise OSError("no such folder there")

    monkeypatch.setattr(lookup, "_check", elsewhere)
    policy = fk.Policy.from_dict(policy_of_diagnoses())
    publication = fk.publish(people, policy, format="parquet", rows_per_part=3000)
    publication.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").people == 4000
    made_release = fk.publish(sample.table_path(), policy, format="parquet")
    made_release.write(tmp_path / "here")
    assert rows_of(publication.to_arrow()) == rows_of(made_release.to_arrow())
    assert owners(tmp_path / "out") == owners(tmp_path / "here")
    (said,) = [
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    ]
    assert "rows that come from Spark" in said
    assert "no such folder there" in said
    assert "TMPDIR" in said


def test_a_source_is_read_once(session, tmp_path, at_home):
    from pyspark.sql import functions as spark

    frame = session.range(0, 300, 1, 3).select(
        (spark.col("id") % 9).alias("age"),
        spark.concat(spark.lit("ward "), (spark.col("id") % 5).cast("string")).alias("ward"),
        (1950 + spark.col("id") % 30).alias("born"),
        spark.concat(spark.lit("d"), (spark.col("id") * 7 % 6).cast("string")).alias("disease"),
        spark.concat(spark.lit("p"), spark.col("id").cast("string")).alias("name"),
    )
    policy = policy_of()
    by_chance = frame.withColumn("age", (spark.rand() * 9).cast("int"))
    named_by_chance = frame.withColumn("name", spark.expr("uuid()"))  # do they repeat?
    for frame_by_chance in (by_chance, named_by_chance):
        with pytest.raises(fk.InputError, match="a source is read once"):
            fk.publish(frame_by_chance, policy)
    fk.publish(by_chance.cache(), policy).write(tmp_path / "cached")
    assert fk.verify(tmp_path / "cached").people == 300
    fk.publish(frame, policy).write(tmp_path / "named")

    @spark.udf("int")
    def hidden(age):
        import random

        return random.randrange(9)

    publication = fk.publish(frame.withColumn("age", hidden("age")), policy)
    with pytest.raises(fk.InputError, match="other rows when it was read again"):
        publication.write(tmp_path / "out")
    assert not list(tmp_path.glob("out*"))


KINDS = {
    "text": ["a", None, "b", ""],
    "floats": [0.0, -0.0, 1.5, float("nan"), None],
    "decimals": [Decimal("1.50"), Decimal("12345678901234567890.25"), None],
    "dates": [dt.date(1899, 12, 31), dt.date(1980, 1, 1), None],
    "bool": [True, False, None],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["ward", "a.b", "a`b", 'a"b', "AGE"])
def test_types_and_names(session, tmp_path, at_home, kind, name):
    if (name == "ward") == (kind == "text"):
        pytest.skip("each once")
    random = np.random.default_rng(4)
    own = pa.array([KINDS[kind][i] for i in random.integers(0, len(KINDS[kind]), 200)])
    table = patients(200).set_column(2, name, own)
    schema = {**HOSPITAL, "quasi_identifiers": ["age", name]}
    policy = policy_of(schema)
    publication = fk.publish(session.createDataFrame(table).repartition(2), policy)
    publication.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out").people == 200
    made_release = fk.publish(table, policy)
    made_release.write(tmp_path / "here")
    assert rows_of(publication.to_arrow()) == rows_of(made_release.to_arrow())
    assert owners(tmp_path / "out") == owners(tmp_path / "here")


def odd(rows):
    """Texts that differ by case, spaces or accents alone; both zeros, NaN, nulls; days."""
    random = np.random.default_rng(6)
    table = patients(rows, missing=["disease"])
    texts = ["a", "A", "a ", " a", "", None, "nan", "NaN", "\u00e4", "a\u0308", "1", "1.0"]
    own = {
        "ward": pa.array([texts[i] for i in random.integers(0, len(texts), rows)]),
        "weight": pa.array([KINDS["floats"][i] for i in random.integers(0, 5, rows)], pa.float32()),
        "born": pa.array([KINDS["dates"][i] for i in random.integers(0, 3, rows)]),
    }
    for name, column in own.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


@pytest.mark.parametrize("parts", [1, 7, 60])
def test_members_match_duckdb(session, tmp_path, at_home, parts):
    table = odd(500)
    pq.write_table(table, tmp_path / "table.parquet")
    schema = {
        **HOSPITAL,
        "quasi_identifiers": ["age", "ward", "weight", "born"],
        "missing": "drop",
    }
    policy = policy_of(schema)
    frame = session.read.parquet(str(tmp_path / "table.parquet")).repartition(parts)
    publication, made_release = (
        fk.publish(frame, policy),
        fk.publish(tmp_path / "table.parquet", policy, engine="duckdb"),
    )
    publication.write(tmp_path / "out")
    made_release.write(tmp_path / "here")
    assert publication.counts.n_groups == made_release.counts.n_groups > 3
    assert rows_of(publication.to_arrow()) == rows_of(made_release.to_arrow())
    members = owners(tmp_path / "out")
    assert members == owners(tmp_path / "here")
    assert sum(members.values()) == 500 > publication.counts.n_people


@pytest.mark.parametrize(
    ("value", "message"),
    [({"a": 1}, "of type struct"), (b"a", "of type binary"), (dt.timedelta(1), "give one plain")],
)
def test_nested_columns_are_refused(session, value, message):
    table = patients(20).set_column(2, "ward", pa.array([value] * 20))
    with pytest.raises(fk.InputError, match=message):
        fk.publish(session.createDataFrame(table), policy_of())


def test_errors_fetch_no_rows(session, at_home):
    table = patients(100, missing=["disease"])
    frame = session.createDataFrame(table)
    null_count = table["disease"].null_count
    with pytest.raises(fk.InputError, match=f"'disease' is missing in {null_count} rows; fill it"):
        fk.publish(frame, policy_of())
    with pytest.raises(fk.InputError, match=r"'wart'.*'ward'"):
        fk.publish(frame, policy_of({**HOSPITAL, "quasi_identifiers": ["wart"]}))
    with pytest.raises(fk.InputError, match="'ward'"):
        fk.publish(
            frame,
            policy_of(
                {**HOSPITAL, "missing": "drop", "quasi_identifiers": ["age"], "person": "ward"}
            ),
        )


def test_an_empty_frame_is_refused(session):
    with pytest.raises(fk.InputError, match="the pyspark frame has no rows"):
        fk.publish(session.createDataFrame(patients(20)).where("age < 0"), policy_of())
    with pytest.raises(fk.InputError, match="a stream, which has no end"):
        fk.publish(session.readStream.format("rate").load(), policy_of())


def test_equal_by_collation_stay_apart(session):
    frame = session.sql(
        "SELECT job COLLATE UTF8_LCASE AS job, 'flu' AS ill FROM VALUES ('a'), ('A') AS t(job)"
    )
    release = fk.Release.from_generalized(frame, quasi_identifiers=["job"], sensitive="ill")
    assert sorted(map(tuple, release.counts.groups)) == [("A",), ("a",)]


def test_both_zeros_are_two(session):
    frame = session.createDataFrame(pa.table({"x": [0.0, -0.0, 1.5], "ill": ["flu"] * 3}))
    with pytest.raises(fk.InputError, match=r"0\.0 and -0\.0"):
        _ = fk.Release.from_generalized(frame, quasi_identifiers=["x"], sensitive="ill").counts
    rows, times = SparkTable(frame).tally(["x"])
    assert sorted(map(str, rows["x"].to_pylist())) == ["-0.0", "0.0", "1.5"]
    assert times.tolist() == [1, 1, 1]


# ---- rows of a cluster: each is found among what was counted, or is said not to be there -------

CASES = 20_000 if NIGHTLY else 400
OTHER_NAN = np.array([0x7FF8000000000BAD]).view(np.float64)[0]
MOMENTS = [dt.datetime(1980, 1, 1, 0, 0, 0, i) for i in range(3)]
DAYS = [dt.date(1899, 12, 31), dt.date(1980, 1, 1), dt.date(1980, 1, 2)]
AMOUNTS = [Decimal("1.50"), Decimal("1.05"), Decimal("-0.01")]
KINDS_OF_VALUES = [
    ([None, "", "a", "A", "a ", " a", "\u00e4", "a\u0308", "nan", "null"], pa.string()),
    ([None, 0.0, -0.0, 1.5, np.nan, OTHER_NAN, np.inf, 5e-324], pa.float64()),
    ([None, 0.0, -0.0, 1.5, np.nan, 0.1], pa.float32()), ([0, 1, -128, 127], pa.int8()),
    ([None, 0, 1, -(2**63), 2**63 - 1], pa.int64()), ([None, True, False], pa.bool_()),
    ([None, *DAYS], pa.date32()), ([None, *MOMENTS], pa.timestamp("us")),
    ([None, *AMOUNTS], pa.decimal128(20, 2)),
]  # fmt: skip
LABELS = pa.table({"age": ["20-29", "30-39", None], "ward": ["x", "y", "y"]})
SHOWN = ["row", *LABELS.column_names]


def drawn(draw, rows, many):
    """A table with columns of some kinds."""
    kinds = [KINDS_OF_VALUES[i] for i in draw.integers(0, len(KINDS_OF_VALUES), many)]
    own = [pa.array([v[j] for j in draw.integers(0, len(v), rows)], kind) for v, kind in kinds]
    return pa.table(own, [f"k{i}" for i in range(many)])


def keys_of(table):
    def comparable(value):
        if isinstance(value, float):
            return "NaN" if value != value else value + 0.0
        return value

    return [tuple(map(comparable, row.values())) for row in table.to_pylist()]


def counted(table):
    """One row of each kind, as an engine gives them, and how often it occurs."""
    keys = keys_of(table)
    first = {key: i for i, key in reversed([*enumerate(keys)])}
    times = Counter(keys)
    return table.take([*first.values()]), np.array([times[key] for key in first]), [*first]


def looked_up(folder, table, size=None):
    """The rows as a worker writes them, and what it says of them."""
    rows = table.add_column(0, "row", [pa.array(range(len(table)))])
    (folder / "token").write_text("this")
    by_row = lookup.by_row(folder, SHOWN, "note")
    told = [row for batch in by_row(rows.to_batches(size), "this") for row in batch.to_pylist()]
    results = [row for own in told for row in pq.read_table(folder / own["file"]).to_pylist()]
    return results, sum(own["number"] for own in told) % (1 << 64), sum(own["rows"] for own in told)


@pytest.mark.parametrize("span", [1 << 62, 11, 60])
def test_rows_keep_their_labels(tmp_path, monkeypatch, span):
    draw = np.random.default_rng(span % 101)
    monkeypatch.setattr(lookup, "_SPAN", span)
    for case in range(CASES // 40):
        monkeypatch.setattr(lookup, "_ROWS", int(draw.integers(1, 40)))
        table = drawn(draw, int(draw.integers(1, 60)), int(draw.integers(1, 6)))
        entries, times, keys = counted(table)
        groups = draw.integers(-1, len(LABELS), len(keys))
        (folder := tmp_path / str(case)).mkdir()
        weight, many = lookup.write_lookup(entries, times, groups, LABELS, folder)
        result = looked_up(folder, table, int(draw.integers(1, 20)))
        label = [*LABELS.to_pylist(), {"age": None, "ward": None}]
        of_key = dict(zip(keys, groups, strict=True))
        rows = [{"row": i, **label[of_key[key]]} for i, key in enumerate(keys_of(table))]
        assert result == (rows, weight % (1 << 64), many)


def test_changed_rows_are_noticed(tmp_path):
    draw = np.random.default_rng(5)
    for case in range(CASES // 10):
        table = drawn(draw, 30, 3)
        entries, times, keys = counted(table)
        (folder := tmp_path / str(case)).mkdir()
        groups = np.zeros(len(keys), np.int64)
        weight, many = lookup.write_lookup(entries, times, groups, LABELS, folder)
        # One row stands in the place of another, which may be new.
        values, kinds = [*table.slice(0, 1).to_pylist()[0].values()], table.schema.types
        changed = int(draw.integers(0, 3))
        values[changed] = next(own for own, kind in KINDS_OF_VALUES if kind == kinds[changed])[-1]
        new = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
        other = pa.concat_tables([pa.table(new, table.column_names), table.slice(1)])
        result = looked_up(folder, other)
        assert result[2] == many
        same = keys_of(other)[0] == keys_of(table)[0]
        assert ((result[1] - weight) % (1 << 64) == 0) == same
        assert result[0][0]["age"] == ("20-29" if keys_of(other)[0] in keys else None)


@pytest.mark.parametrize("span", [1 << 62, 3])
def test_new_values_stay_distinct(tmp_path, monkeypatch, span):
    """Where all combinations occur, and one row has a value that nobody had in place of its own."""
    monkeypatch.setattr(lookup, "_SPAN", span)
    pairs = [(age, ward) for age in (30, 31) for ward in ("x", "y")]

    def of(rows):
        return pa.table([[*own] for own in zip(*rows, strict=True)], ["age", "ward"])

    ones, groups = np.ones(4, np.int64), np.zeros(4, np.int64)
    weight, _ = lookup.write_lookup(of(pairs), ones, groups, LABELS, tmp_path)
    for place, (age, ward) in enumerate(pairs):
        for new in ((age, "z"), (32, ward), (29, "y")):
            rows, found, _ = looked_up(tmp_path, of([*pairs[:place], new, *pairs[place + 1 :]]))
            assert found != weight % (1 << 64)
            labels = [row["age"] for row in rows]
            assert labels == [None if i == place else "20-29" for i in range(4)]
