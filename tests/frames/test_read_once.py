"""A table is read once: rows that come in another order, or a file that changes, mix nobody up."""

import os
from itertools import count

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import foreknow as fk
from foreknow.data.engines import open_table
from foreknow.data.engines.sources import counted_where_it_lives
from foreknow.data.engines.table import Selected
from foreknow.releases.written import open_published
from foreknow_judge.duckdb_files import CsvFile
from foreknow_judge.errors import DataError

N = 40
SCHEMA = fk.Schema(quasi_identifiers=["age"], sensitive="disease", other=["name"])
TABLE = pa.table(
    {
        "name": [f"p{i}" for i in range(N)],
        "age": list(range(N)),
        "disease": [f"d{i}" for i in range(N)],
    }
)


class Turning:
    """A DuckDB function whose every use turns the order of rows round."""

    def __init__(self):
        self.times = count()

    def relation(self):
        """A query with another order of rows each time that it runs."""
        connection = duckdb.connect()
        connection.register("people", TABLE)
        connection.create_function("turn", lambda: next(self.times) % 2, [], "BIGINT")
        return connection.sql(
            "SELECT * FROM people ORDER BY age * (1 - 2 * (SELECT max(turn()) FROM range(1)))"
        )


def turning_lazy():
    """A lazy frame of the same kind."""
    times = count()
    lazy = pl.from_arrow(TABLE).lazy()
    return lazy.map_batches(lambda frame: frame.reverse() if next(times) % 2 else frame)


SOURCES = {"DuckDB": lambda: Turning().relation(), "Polars": turning_lazy}


@pytest.fixture(params=SOURCES)
def turning(request):
    return SOURCES[request.param]()


POLICY = fk.Policy([fk.Requirement(fk.Facts(), below="0.99", knowing=[])], SCHEMA)
BUCKETS = fk.PublishOptions(form="bucketized")
TURNED = TABLE.take(list(reversed(range(N))))
WHO = {(i, f"p{i}") for i in range(N)}


def published(microdata):
    """Who has which age in what is published."""
    people = fk.publish(microdata, POLICY, options=BUCKETS).tables["people"].to_pylist()
    return {(int(row["age"]), row["name"]) for row in people}


def test_the_sources_of_these_tests_do_turn(turning):
    table = open_table(turning)
    reads = {tuple(table.arrow(["age"]).column("age").to_pylist()) for _ in range(4)}
    assert len(reads) == 2


def test_other_columns_stay_with_their_people_whatever_the_order_of_rows(turning):
    assert published(fk.Microdata(turning, SCHEMA)) == WHO


def test_members_and_what_they_have_stay_together(turning):
    release = fk.Release.from_groups(turning, group="age", sensitive="disease", person="name")
    names, values = release.members.names, release.counts.values
    held = zip(release.holdings.people.tolist(), release.holdings.values.tolist(), strict=True)
    assert {names[who]: values[code] for who, code in held} == {f"p{i}": f"d{i}" for i in range(N)}


def test_a_column_that_was_not_read_with_the_others_is_refused_by_name(turning):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    microdata = fk.Microdata(turning, schema)
    assert microdata.n_people == N
    with pytest.raises(DataError, match="'name'"):
        microdata.source.arrow(["name"])


def test_a_query_with_other_rows_each_time_is_refused_where_it_is_read_again():
    times = count()

    def fewer(frame):
        return frame.head(N - next(times))

    source = pl.from_arrow(TABLE).with_columns(sex=pl.lit("f")).lazy().map_batches(fewer)
    release = fk.Release.from_groups(source, group="sex", sensitive="disease")
    assert release.counts.n_people <= N
    with pytest.raises(DataError, match="gave other rows when it was read again"):
        release.signatures(["age"])


def test_a_polars_frame_that_is_sorted_in_place_stays_as_it_was():
    frame = pl.from_arrow(TABLE)
    microdata = fk.Microdata(frame, SCHEMA)
    before = microdata.n_people
    frame.insert_column(0, pl.Series("new", range(N)))
    frame.replace_column(frame.get_column_index("name"), pl.Series("name", ["x"] * N))
    assert microdata.n_people == before
    assert microdata.source.arrow(["name"]).column("name").to_pylist() == [
        f"p{i}" for i in range(N)
    ]


def write(path, table):
    (pyarrow.csv.write_csv if path.suffix == ".csv" else pq.write_table)(table, path)


@pytest.fixture(params=["people.csv", "people.parquet"])
def path(request, tmp_path):
    found = tmp_path / request.param
    write(found, TABLE)
    return found


def replace(path, table):
    """Another file of the same name."""
    aside = path.with_name(f"new{path.suffix}")
    write(aside, table)
    aside.replace(path)


@pytest.mark.parametrize("change", [replace, write], ids=["replaced", "written over"])
def test_a_file_that_changes_before_it_is_read_is_refused(path, change):
    microdata = fk.Microdata(path, SCHEMA)
    change(path, TURNED)
    with pytest.raises(DataError, match=rf"{path.name} changed while it was read"):
        _ = microdata.n_people


@pytest.mark.parametrize("keep", [False, True], ids=["", "with its old time"])
def test_a_file_that_changes_between_two_reads_is_refused(path, keep):
    release = fk.Release.from_groups(path, group="age", sensitive="disease")
    assert release.counts.n_people == N
    times = path.stat()
    write(path, TABLE.take(list(reversed(range(N)))))
    if keep:
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(DataError, match=rf"{path.name} changed while it was read"):
        release.signatures(["name"])


def test_what_is_published_is_what_was_read_though_the_file_changes_later(path):
    microdata = fk.Microdata(path, SCHEMA)
    assert microdata.n_people == N
    replace(path, TURNED)
    assert published(microdata) == WHO


def test_a_folder_to_which_a_file_comes_is_refused(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    microdata = fk.Microdata(tmp_path, SCHEMA)
    pq.write_table(TABLE, tmp_path / "b.parquet")
    with pytest.raises(DataError, match="files came or went"):
        _ = microdata.n_people


def test_a_release_that_changes_after_its_digest_was_taken_is_refused(tmp_path):
    fk.publish(fk.Microdata(TABLE, SCHEMA), POLICY).write(tmp_path / "out")
    opened = open_published(tmp_path / "out")
    table = tmp_path / "out" / "release.csv"
    table.write_text(table.read_text().replace("d1\n", "d2\n"))
    with pytest.raises(DataError, match=r"release\.csv changed while it was read"):
        _ = opened.release.counts


def test_a_file_that_changed_is_said_to_have_changed_whatever_was_counted_of_it(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,disease\n" + "30,flu\n" * 40)
    file = CsvFile(path)
    path.write_text("")  # as somebody who writes it anew, when its lines are counted
    with pytest.raises(DataError, match=r"people\.csv changed while it was read"):
        file.check(40)


def test_some_rows_of_a_table_are_never_counted_as_all(tmp_path):
    pa.csv.write_csv(TABLE, tmp_path / "people.csv")
    chosen = Selected(open_table(tmp_path / "people.csv"), np.arange(N) < 1)
    assert "only some rows" in counted_where_it_lives(chosen, ["disease"])
    assert len(chosen.arrow(["disease"])) == 1
