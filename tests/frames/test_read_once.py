"""A table is read once: rows that come in another order, or a file that changes, mix nobody up."""

import os
from itertools import count

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import foreknow as fk
from foreknow.data.engines import open_table
from foreknow.errors import DataError
from foreknow.publishing.verification import open_published

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

    def turn(frame):
        return frame.reverse() if next(times) % 2 else frame

    return pl.from_arrow(TABLE).lazy().map_batches(turn)


SOURCES = {"DuckDB": lambda: Turning().relation(), "Polars": turning_lazy}


@pytest.fixture(params=SOURCES)
def turning(request):
    return SOURCES[request.param]()


def published(source, form="bucketized"):
    """Who has which age in what is published."""
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.99")], SCHEMA)
    options = fk.PublishOptions(form=form)
    made = fk.publish(fk.Microdata(source, SCHEMA), policy, method="mondrian", options=options)
    return made.tables["people" if form == "bucketized" else "release"]


def test_the_sources_of_these_tests_do_turn(turning):
    table = open_table(turning)
    reads = {tuple(table.arrow(["age"]).column("age").to_pylist()) for _ in range(4)}
    assert len(reads) == 2


def test_other_columns_stay_with_their_people_whatever_the_order_of_rows(turning):
    people = published(turning)
    assert {
        int(age): name
        for age, name in zip(
            people.column("age").to_pylist(), people.column("name").to_pylist(), strict=True
        )
    } == {i: f"p{i}" for i in range(N)}


def test_members_and_what_they_have_stay_together(turning):
    release = fk.Release.from_groups(turning, group="age", sensitive="disease", person="name")
    names = list(release.members.names)
    held = release.holdings
    values = release.counts.values
    found = {
        names[who]: values[code]
        for who, code in zip(held.people.tolist(), held.values.tolist(), strict=True)
    }
    assert found == {f"p{i}": f"d{i}" for i in range(N)}


def test_a_column_that_was_not_read_with_the_others_is_refused_by_name(turning):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease")
    microdata = fk.Microdata(turning, schema)
    assert microdata.n_people == N
    with pytest.raises(DataError, match=r"column 'name' cannot be read once more.*collect it"):
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


# ---- files ------------------------------------------------------------------------------------


def write(path, table):
    if path.suffix == ".csv":
        lines = [",".join(map(str, row.values())) for row in table.to_pylist()]
        path.write_text("\n".join([",".join(table.column_names), *lines]) + "\n")
    else:
        pq.write_table(table, path)


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
    change(path, TABLE.take(list(reversed(range(N)))))
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
    replace(path, TABLE.take(list(reversed(range(N)))))
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.99")], SCHEMA)
    options = fk.PublishOptions(form="bucketized")
    people = fk.publish(microdata, policy, options=options).tables["people"].to_pylist()
    assert {(int(row["age"]), row["name"]) for row in people} == {(i, f"p{i}") for i in range(N)}


def test_a_folder_to_which_a_file_comes_is_refused(tmp_path):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    microdata = fk.Microdata(tmp_path, SCHEMA)
    pq.write_table(TABLE, tmp_path / "b.parquet")
    with pytest.raises(DataError, match="files came or went"):
        _ = microdata.n_people


def test_a_release_that_changes_after_its_digest_was_taken_is_refused(tmp_path):
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.99")], SCHEMA)
    made = fk.publish(fk.Microdata(TABLE, SCHEMA), policy)
    made.write(tmp_path / "out")
    opened = open_published(tmp_path / "out")
    table = tmp_path / "out" / "release.csv"
    table.write_text(table.read_text().replace("d1\n", "d2\n"))
    with pytest.raises(DataError, match=r"release\.csv changed while it was read"):
        _ = opened.release.counts
