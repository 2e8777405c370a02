"""Publishing by what an engine counts gives what publishing in memory gives."""

import logging
import shutil
from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples

import foreknow as fk
from foreknow.certificates import Certificate
from foreknow.publishing import entries, tables
from foreknow.releases.members import OF_COUNTS, named_release

FACTS = {"facts": {"l": 1, "k": 2, "m": 1}, "below": 0.9}
HOSPITAL = {
    "quasi_identifiers": ["age", "ward", "born"],
    "sensitive": ["disease"],
    "identifiers": ["name"],
}


def patients(rows, seed=1, missing=()):
    """A table of other columns than the sample: numbers, texts, dates, with nulls."""
    random = np.random.default_rng(seed)
    days = np.datetime64("1950-01-01") + random.integers(0, 300, rows) * 60
    columns = {
        "name": pa.array([f"person {i}" for i in random.permutation(rows)]),
        "age": pa.array(random.integers(20, 60, rows).astype(np.int16)),
        "ward": pa.array(
            [["north", "south, 2", 'the "old"', None][i] for i in random.integers(0, 4, rows)]
        ),
        "born": pa.array(days),
        "disease": pa.array([f"d{i}" for i in random.integers(0, 6, rows)]),
        "drug": pa.array([f"drug {i}" for i in random.integers(0, 3, rows)]),
        "weight": pa.array(random.choice([50.5, 71.25, -0.0, 0.0, np.nan], rows)),
        "city": pa.array([["Ulm", None, "Rom"][i] for i in random.integers(0, 3, rows)]),
    }
    for name in missing:
        columns[name] = pa.array(columns[name].to_pylist(), mask=random.random(rows) < 0.1)
    return pa.table(columns)


def written(table, path):
    """The table as a file, or as a relation of somebody's own connection."""
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=max(len(table) // 3, 1))
    else:
        path.mkdir()
        for i in range(3):
            part = table.slice(i * len(table) // 3, (i + 1) * len(table) // 3 - i * len(table) // 3)
            pq.write_table(part, path / f"{i}.parquet")
    return path


def bags(made, columns):
    """Rows of some columns of the release, as they print."""
    table = made.tables["release"].select(columns)
    return Counter(zip(*[map(str, c.to_pylist()) for c in table.columns], strict=True))


def but(certificate, *keys):
    said = certificate.to_dict()
    for key in ("digest", "digest_kind"):
        said["source"].pop(key)
    return {key: given for key, given in said.items() if key not in keys}


def both(source, policy, **how):
    """The release by both ways; the counted one was not read into memory."""
    made = [fk.publish(source, policy, engine=engine, **how) for engine in ("memory", "duckdb")]
    kinds = [each.certificate.source["digest_kind"] == OF_COUNTS for each in made]
    assert kinds == [False, True]
    one, other = made
    assert one.release.counts.bag(0) == other.release.counts.bag(0)
    schema, labels = one.audit.policy.schema, list(one.audit.policy.schema.quasi_identifiers)
    assert [t.schema.names for t in one.tables.values()] == [
        t.schema.names for t in other.tables.values()
    ]
    unlinked = set(one.audit.policy.options.unlinked)
    linked = [c for c in (*schema.other, *schema.sensitives) if c not in unlinked]
    assert bags(one, [*labels, *linked]) == bags(other, [*labels, *linked])
    for column in (f"{name}_shuffled" for name in unlinked):
        assert bags(one, [*labels, column]) == bags(other, [*labels, column])
    orders = [each.tables["release"].select(labels).to_pylist() for each in made]
    assert orders[0] == orders[1]
    assert but(one.certificate) == but(other.certificate)
    assert one.utility.ncp == other.utility.ncp
    return made


def same_folders(made, where, source, policy):
    """What both write is alike, and verified; the owner's files name the same people."""
    folders = [where / "memory", where / "engine"]
    said = [each.write(folder) for each, folder in zip(made, folders, strict=True)]
    drop = "report"
    one, other = (but(each, drop) for each in said)
    assert [each.pop("files") and 0 for each in (one["release"], other["release"])] == [0, 0]
    assert one == other
    for folder in folders:
        assert fk.verify(folder).people == made[0].counts.n_people
    members = [pq.read_table(f"{folder}.owner/members.parquet") for folder in folders]
    assert members[0].to_pylist() == members[1].to_pylist()
    kinds = {file.suffix for folder in folders for file in folder.glob("release.*")}
    if kinds == {".parquet"}:
        schemas = [pq.read_schema(folder / "release.parquet") for folder in folders]
        assert schemas[0].equals(schemas[1], check_metadata=True)
    else:
        lines = [(folder / "release.csv").read_text().splitlines() for folder in folders]
        assert lines[0][0] == lines[1][0]
    data = fk.Microdata(source, fk.Policy.of(policy).schema)
    person = made[0].audit.policy.schema.person or "row"
    assert named_release(folders[1], person=person, microdata=data).holdings


@pytest.mark.thinned(2)
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ""])
@pytest.mark.parametrize("written_as", ["csv", "parquet"])
def test_a_file_is_published_alike(tmp_path, suffix, written_as):
    source = written(patients(400), tmp_path / f"patients{suffix}")
    policy = {"schema": HOSPITAL, "require": [FACTS], "publish": {"format": written_as}}
    same_folders(both(source, policy), tmp_path, source, policy)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("missing", ["drop", {"label": "unknown"}])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_missing_values_follow_the_schema(tmp_path, missing, suffix):
    source = written(patients(300, missing=["disease"]), tmp_path / f"patients{suffix}")
    schema = {**HOSPITAL, "missing": missing}
    policy = {"schema": schema, "require": [FACTS], "publish": {"format": "parquet"}}
    made = both(source, policy)
    assert (made[1].audit.scope.left_out > 0) == (missing == "drop")
    same_folders(made, tmp_path, source, policy)


@pytest.mark.parametrize("unlinked", [[], ["drug"], ["disease", "city"]])
def test_several_columns_linked_and_apart(tmp_path, unlinked):
    source = written(patients(500), tmp_path / "patients.parquet")
    schema = {**HOSPITAL, "sensitive": ["disease", "drug"], "other": ["city", "weight"]}
    schema["person"] = "name"
    required = [FACTS, {**FACTS, "sensitive": "drug", "knowing": ["city"]}]
    required[0] = {**FACTS, "sensitive": "disease", "knowing": []}
    policy = {"schema": schema, "require": required}
    policy["publish"] = {"format": "parquet", "unlinked": unlinked}
    same_folders(both(source, policy), tmp_path, source, policy)


def test_missing_numbers_are_missing_however_they_are_written(tmp_path):
    table = patients(200)
    table = table.set_column(4, "disease", table["weight"])
    source = written(table, tmp_path / "patients.parquet")
    schema = {**HOSPITAL, "quasi_identifiers": ["weight", "age"], "missing": "drop"}
    policy = {"schema": schema, "require": [FACTS], "publish": {"format": "parquet"}}
    made = both(source, policy)
    assert made[1].audit.scope.left_out > 0
    same_folders(made, tmp_path, source, policy)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
@pytest.mark.parametrize("suppression", [0, 0.05])
def test_methods_hierarchies_and_labels(tmp_path, method, suppression):
    source = written(patients(600), tmp_path / "patients.csv")
    schema = {
        **HOSPITAL,
        "hierarchies": {
            "age": {"intervals": [5, 20]},
            "born": {"dates": ["month", "year"]},
        },
    }
    publish = {"format": "parquet", method: {"suppression": suppression}, "method": method}
    publish["labels"] = {"age": "range"} if method == "mondrian" else {}
    policy = {"schema": schema, "require": [FACTS, {"k_anonymity": 4}], "publish": publish}
    made = both(source, policy)
    assert made[0].audit.scope.people_suppressed == made[1].audit.scope.people_suppressed


@pytest.mark.thinned(2)
@pytest.mark.parametrize("unlinked", [[], ["drug"]])
@pytest.mark.parametrize("written_as", ["csv", "parquet"])
def test_the_bucketized_form(tmp_path, unlinked, written_as):
    source = written(patients(400), tmp_path / "patients.csv")
    schema = {**HOSPITAL, "sensitive": ["disease", "drug"], "other": ["city"]}
    required = [{**FACTS, "sensitive": name, "knowing": ["city"]} for name in schema["sensitive"]]
    publish = {"format": written_as, "unlinked": unlinked, "form": "bucketized"}
    policy = {"schema": schema, "require": required, "publish": publish}
    made = [fk.publish(source, policy, engine=e, seed=2) for e in ("memory", "duckdb")]
    one, other = made
    assert other.certificate.source["digest_kind"] == OF_COUNTS
    assert but(one.certificate) == but(other.certificate)
    assert one.tables.keys() == other.tables.keys()
    for name in one.tables:
        rows = [each.to_arrow(name) for each in made]
        assert rows[0].schema == rows[1].schema
        told = [Counter(map(str, table.to_pylist())) for table in rows]
        assert told[0] == told[1]
        assert rows[0]["group"].to_pylist() == rows[1]["group"].to_pylist()
    folders = [tmp_path / "memory", tmp_path / "engine"]
    for each, folder in zip(made, folders, strict=True):
        each.write(folder)
        assert fk.verify(folder).people == 400
    members = [pq.read_table(f"{folder}.owner/members.parquet").to_pylist() for folder in folders]
    assert members[0] == members[1]


def test_what_is_learned_is_tried_alike(tmp_path):
    source = written(patients(600), tmp_path / "patients.parquet")
    schema = {**HOSPITAL, "quasi_identifiers": ["age", "ward"]}
    tried = {"learned": {"by": ["ward"]}, "stop": 0.999}
    made = both(source, {"schema": schema, "require": [FACTS], "try": [tried]})
    one, other = (each.audit.trials[-1] for each in made)
    assert one.measured
    assert one.to_dict() == other.to_dict()


def test_columns_of_more_combinations_than_a_number_can_name(tmp_path):
    random, names = np.random.default_rng(3), [f"q{i}" for i in range(9)]
    columns = {name: random.permutation(300) // 2 for name in names}  # 150 ** 9 combinations
    columns["name"] = [f"person {i}" for i in range(300)]
    columns["disease"] = [f"d{i}" for i in random.integers(0, 5, 300)]
    source = written(pa.table(columns), tmp_path / "wide.parquet")
    schema = {**HOSPITAL, "quasi_identifiers": names}
    policy = {"schema": schema, "require": [FACTS], "publish": {"format": "parquet"}}
    same_folders(both(source, policy), tmp_path, source, policy)


def test_a_relation_is_counted_where_it_lives(tmp_path):
    table = patients(300)
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE people AS FROM given")
    policy = {"schema": HOSPITAL, "require": [FACTS], "publish": {"format": "parquet"}}
    relation = connection.table("people")
    same_folders(both(relation, policy), tmp_path, relation, policy)


@examples(30)
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(8, 60),
    part=st.integers(1, 30),
    groups=st.integers(1, 4),
)
def test_parts_of_any_size_hold_the_same_people(tmp_path_factory, seed, rows, part, groups):
    source = written(patients(rows, seed), tmp_path_factory.mktemp("t") / "patients.parquet")
    schema = {**HOSPITAL, "other": ["city"]}
    limit = {"facts": {"l": 0, "k": 0, "m": 0}, "below": 1, "knowing": []}
    policy = {"schema": schema, "require": [{"k_anonymity": 3}, limit]}
    policy["publish"] = {"format": "parquet", "unlinked": ["city"], "labels": {"ward": "exact"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_PART", part)
        patch.setattr(tables, "_MOST_GROUPS", groups)
        try:
            both(source, policy, seed=seed)
        except fk.NoSafeRelease:
            return


@pytest.mark.parametrize("part", [1 << 20, 3])
def test_rows_of_a_group_come_in_every_order_equally_often(tmp_path, monkeypatch, part):
    monkeypatch.setattr(tables, "_PART", part)
    table = pa.table({"age": [30] * 4, "disease": ["a", "b", "c", "c"], "drug": [*"xyzz"]})
    source = written(table, tmp_path / "four.parquet")
    schema = {"quasi_identifiers": ["age"], "sensitive": ["disease", "drug"]}
    required = {"facts": {"l": 0, "k": 0, "m": 0}, "below": 0.9}
    policy = fk.Policy.of(
        {
            "schema": schema,
            "require": [{**required, "sensitive": "disease"}, {**required, "sensitive": "drug"}],
            "publish": {"format": "parquet", "unlinked": ["drug"]},
        }
    )
    microdata = fk.Microdata(source, policy.schema)
    counted = entries.entries_of(microdata, policy, fk.Mondrian(), "duckdb").microdata
    groups = np.zeros(3, dtype=np.int64)
    coarse = tables.coarsened_columns(counted, groups, 1, {}, None)
    random, seen = np.random.default_rng(5), Counter()
    times = 3600 if NIGHTLY else 1000
    for _ in range(times):
        made = tables.generalized(counted, groups, coarse, random, ["drug"])["release"]
        rows = pa.concat_tables(made.tables())
        seen["".join(rows["disease"].to_pylist()), "".join(rows["drug_shuffled"].to_pylist())] += 1
    # 12 orders of each column, each pair of them equally often: chi-squared with 143 degrees.
    assert len(seen) == 144
    expected = times / 144
    assert sum((n - expected) ** 2 / expected for n in seen.values()) < 143 + 5 * (2 * 143) ** 0.5


def test_what_cannot_be_counted_is_read_into_memory_and_the_log_says_why(tmp_path, caplog):
    caplog.set_level(logging.INFO, "foreknow")
    source = written(patients(200), tmp_path / "patients.parquet")
    policy = {"schema": HOSPITAL, "require": [FACTS]}
    for how, why in [
        ({"engine": "duckdb", "method": "anatomy"}, "Anatomy looks at each row"),
        ({"engine": "auto"}, "patients.parquet is small"),
    ]:
        caplog.clear()
        made = fk.publish(source, policy, **how)
        assert made.certificate.source["digest_kind"] != OF_COUNTS
        assert why in caplog.text
    caplog.clear()
    fk.publish(patients(200), policy, engine="duckdb")
    assert "neither CSV nor Parquet" in caplog.text


def test_errors_name_the_row_of_the_table(tmp_path):
    table = patients(200, missing=["disease"])
    row = table["disease"].to_pylist().index(None) + 1
    source = written(table, tmp_path / "patients.parquet")
    policy = {"schema": HOSPITAL, "require": [FACTS]}
    with pytest.raises(fk.InputError, match=f"first in row {row}"):
        fk.publish(source, policy, engine="duckdb")
    with pytest.raises(fk.InputError, match="'duckdb'"):
        fk.publish(source, policy, engine="duckbd")
    twice = written(
        pa.table({**{n: table[n] for n in table.column_names}, "name": ["Ann"] * 200}),
        tmp_path / "twice.csv",
    )
    schema = {**HOSPITAL, "person": "name", "missing": "drop"}
    with pytest.raises(fk.InputError, match="rows 1 and 2"):
        fk.publish(twice, {"schema": schema, "require": [FACTS]}, engine="duckdb")


@pytest.mark.parametrize("limited", [False, True])
def test_large_tables_are_counted_without_being_asked(tmp_path, monkeypatch, limited):
    memory = "memory_limit" if limited else "machine_memory"
    monkeypatch.setattr(entries, memory, lambda: 100 * 200 * (1 if limited else 4))
    policy = {"schema": HOSPITAL, "require": [FACTS]}
    for suffix in (".csv", ".parquet"):
        source = written(patients(200), tmp_path / f"patients{suffix}")
        made = fk.publish(source, policy)
        assert made.certificate.source["digest_kind"] == OF_COUNTS


def test_a_table_that_changes_before_it_is_written_is_refused(tmp_path):
    source = written(patients(200), tmp_path / "patients.parquet")
    made = fk.publish(source, {"schema": HOSPITAL, "require": [FACTS]}, engine="duckdb")
    written(patients(200, seed=2), source)
    with pytest.raises(fk.InputError, match=r"changed|other rows"):
        made.write(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patients.parquet"]


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_both_zeros_are_one_value_of_a_quasi_identifier(tmp_path, form):
    # An engine names a group of equal rows by either zero, and joins each zero with both.
    balances = [0.0, -0.0, 0.0, 2.5, -0.0, float("nan")] * 10
    table = pa.table(
        {
            "balance": pa.array(balances, mask=[i % 11 == 0 for i in range(60)]),
            "rate": pa.array([-0.0, 0.0, 1.5] * 20, pa.float32()),
            "loan": ["car", "home", "boat", "none", "home"] * 12,
        }
    )
    source = written(table, tmp_path / "loans.parquet")
    schema = {"quasi_identifiers": ["balance", "rate"], "sensitive": ["loan"]}
    policy = {"schema": schema, "require": [{"facts": {"l": 1}, "below": 0.9}]}
    made = [fk.publish(source, policy, engine=e, form=form) for e in ("memory", "duckdb")]
    assert made[1].certificate.source["digest_kind"] == OF_COUNTS
    folders = [tmp_path / "memory", tmp_path / "engine"]
    for each, folder in zip(made, folders, strict=True):
        each.write(folder)
        assert fk.verify(folder).people == 60
    sizes = []
    for folder in folders:
        members = pq.read_table(f"{folder}.owner/members.parquet").drop_columns("row")
        called = zip(*[column.to_pylist() for column in members.columns], strict=True)
        sizes.append(sorted(Counter(called).values()))
    assert sizes[0] == sizes[1]


def in_parts(tmp_path, engine, **how):
    """A release in parts of at most 70 rows, and its folder."""
    source = written(patients(400), tmp_path / "patients.parquet")
    policy = {"schema": {**HOSPITAL, "other": ["city"]}, "require": [{**FACTS, "knowing": []}]}
    policy["publish"] = {"format": "parquet", "rows_per_part": 70, **how}
    made = fk.publish(source, policy, engine=engine)
    folder = tmp_path / engine
    made.write(folder)
    return made, folder


@pytest.mark.thinned(2)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_large_tables_are_written_in_parts(tmp_path, engine, form):
    made, folder = in_parts(tmp_path, engine, form=form)
    found = fk.verify(folder)
    assert found.people == 400
    for name in made.tables:
        parts = sorted((folder / f"{name}.parquet").iterdir())
        assert [path.name for path in parts] == [f"part-{i:05}.parquet" for i in range(len(parts))]
        rows = [pq.ParquetFile(path).metadata.num_rows for path in parts]
        assert max(rows) <= 70
        told = pa.concat_tables(map(pq.read_table, parts))
        assert told.to_pylist() == made.to_arrow(name).to_pylist()
        assert {f"{name}.parquet/{path.name}" for path in parts} <= set(found.files)
    assert {file.suffix for file in folder.iterdir()} == {".parquet", ".json", ".html"}
    assert fk.audit(folder, made.audit.policy).safe
    data = fk.Microdata(tmp_path / "patients.parquet", made.audit.policy.schema)
    assert named_release(folder, person="name", microdata=data).holdings


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A release in parts that is only copied."""
    return in_parts(tmp_path_factory.mktemp("parts"), "duckdb")


@pytest.fixture
def folder(once, tmp_path):
    return Path(shutil.copytree(once[1], tmp_path / "out"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda parts: (parts / "part-00001.parquet").unlink(), "does not exist"),
        (lambda parts: (parts / "part-00099.parquet").write_bytes(b"PAR1"), "among the parts"),
        (lambda parts: (parts / ".part.crc").write_bytes(b"x"), "among the parts"),
        (lambda parts: (parts / "_SUCCESS").write_bytes(b""), "among the parts"),
        (
            lambda parts: (parts / "part-00001.parquet").write_bytes(
                (parts / "part-00000.parquet").read_bytes()
            ),
            "digest differs",
        ),
        (lambda parts: parts.rename(parts.with_name("release")), "does not exist"),
        (
            lambda parts: (
                parts.rename(parts.with_name("real")) and parts.symlink_to(parts.with_name("real"))
            ),
            "no folder of parts",
        ),
    ],
)
def test_parts_are_those_of_the_certificate_and_no_others(folder, change, said):
    change(folder / "release.parquet")
    with pytest.raises(fk.InputError, match=said):
        fk.verify(folder)


def test_an_audit_takes_the_folder_of_a_release_only_as_it_is_certified(folder):
    (folder / "release.parquet" / "_SUCCESS").write_bytes(b"")
    with pytest.raises(fk.InputError, match="_SUCCESS lies among the parts"):
        fk.audit(folder, fk.Policy([fk.Requirement(fk.KAnonymity(1))]))


def test_parts_of_other_columns_are_no_one_table(folder):
    parts = sorted((folder / "release.parquet").iterdir())
    table = pq.read_table(parts[1])
    pq.write_table(table.select(table.column_names[::-1]), parts[1], store_schema=False)
    problems = Certificate.load(folder / "certificate.json").check(folder)
    assert any("00001.parquet and part-00000.parquet have other" in said for said in problems)


def test_a_certificate_names_parts_without_gaps(folder):
    known = (folder / "certificate.json").read_text()
    for old, new in [("part-00000", "part-00044"), ("release.parquet/part-00000", "../x")]:
        (folder / "certificate.json").write_text(known.replace(old, new))
        with pytest.raises(fk.InputError, match="contradicts itself: the files of such a release"):
            fk.verify(folder)
    with pytest.raises(fk.InputError, match="rows_per_part is for format"):
        fk.PublishOptions(rows_per_part=5)
    with pytest.raises(fk.InputError, match="rows_per_part must be a whole number"):
        fk.PublishOptions(rows_per_part=0, format="parquet")
