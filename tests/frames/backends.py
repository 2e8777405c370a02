"""The same table held by every backend: files, workbooks, folders, frames; each is odd."""

import atexit
import datetime as dt
import gzip
import os
import shutil
import subprocess
import tempfile
from functools import cache
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

POSTGRES_NUMBERS = count()


def postgres_programs():
    """The folder of the server's programs, or None."""
    result = shutil.which("initdb")
    known = [Path(result)] if result else sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return known[-1].parent if known else None


@cache
def postgres_server():
    """Start it once; its address without a table."""
    place = postgres_programs()
    if place is None:
        pytest.skip("there is no PostgreSQL server (Debian's package postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    as_other = []
    if os.getuid() == 0:  # which the server refuses to be
        shutil.chown(folder, "postgres", "postgres")
        as_other = ["runuser", "-u", "postgres", "--"]

    def run(*command):
        subprocess.run(
            [*as_other, *command], check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=60
        )

    data = folder / "data"
    run(place / "initdb", "-D", data, "-A", "trust", "-U", "tester", "-N", "-E", "UTF8")
    options = f"-c listen_addresses='' -c fsync=off -k {folder}"
    run(place / "pg_ctl", "-D", data, "-o", options, "-w", "-l", folder / "log", "start")
    atexit.register(run, place / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    return f"postgresql:///postgres?host={quote(str(folder), safe='')}&user=tester"


def postgres_connection():
    """Connect to it with ADBC."""
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    return dbapi.connect(postgres_server())


def hold_in_postgres(table):
    """Put an Arrow table into it; the name."""
    name = f"people{next(POSTGRES_NUMBERS)}"
    with postgres_connection() as opened:
        with opened.cursor() as cursor:
            cursor.adbc_ingest(name, table)
        opened.commit()
    return name


# ---- the same table held by every backend: files, workbooks, folders, frames; each is odd ------


def is_text(kind):
    """Whether an Arrow type is plain text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def retyped(table, change):
    """The table with its text columns changed."""
    for i, field in enumerate(table.schema):
        if is_text(field.type):
            table = table.set_column(i, field.name, change(table.column(i).combine_chunks()))
    return table


# ---- files ----------------------------------------------------------------------------------


def csv_file(table, folder):
    path = folder / "people.csv"
    pyarrow.csv.write_csv(table, path)
    return path


def csv_gz(table, folder):
    path = folder / "people.csv.gz"
    path.write_bytes(gzip.compress(csv_file(table, folder).read_bytes()))
    return path


def parquet_file(table, folder):
    path = folder / "people.parquet"
    pq.write_table(table, path, row_group_size=3)
    return path


def parquet_folder(table, folder):
    """One file per three rows, so that each has a dictionary of its own."""
    parts = folder / "parts"
    parts.mkdir()
    for start in range(0, max(len(table), 1), 3):
        part = table.slice(start, 3)
        pq.write_table(part, parts / f"part-{start:04}.parquet")
    return parts


# ---- pandas ---------------------------------------------------------------------------------


def pandas_frame(table, folder):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def pandas_odd_index(table, folder):
    """An index of labels that repeat and look like positions of other rows."""
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    labels = np.random.default_rng(0).permutation(len(frame)) // 2
    return frame.set_axis(pd.Index(labels, name="age"), axis="index")


def pandas_categorical(table, folder):
    """Texts as categories, of which some have no rows."""
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    for field in table.schema:
        if is_text(field.type):
            column = frame[field.name].astype(object)
            known = sorted(set(column.dropna()), reverse=True)
            frame[field.name] = pd.Categorical(
                column.where(column.notna(), None), categories=["nobody", *known, "never"]
            )
    return frame


def pandas_objects(table, folder):
    """Python objects; a null is None here and NaN there."""
    frame = table.to_pandas(types_mapper=pd.ArrowDtype).astype(object)
    for name in frame:
        values = table.column(name).to_pylist()
        odd = [(None, float("nan"))[i % 2] if v is None else v for i, v in enumerate(values)]
        frame[name] = pd.Series(odd, dtype=object)
    return frame


# ---- Polars, Arrow, DuckDB, Spark -----------------------------------------------------------


def polars_frame(table, folder):
    return pl.from_arrow(table)


def polars_lazy(table, folder):
    return pl.from_arrow(table).lazy()


def polars_categorical(table, folder):
    return pl.from_arrow(table).with_columns(pl.col(pl.String).cast(pl.Categorical))


def polars_enum_lazy(table, folder):
    frame = pl.from_arrow(table)
    for name in frame.select(pl.col(pl.String)).columns:
        known = sorted(frame[name].drop_nulls().unique(), reverse=True)
        frame = frame.with_columns(pl.col(name).cast(pl.Enum(["nobody", *known])))
    return frame.lazy()


def arrow_table(table, folder):
    return table


def arrow_chunked(table, folder):
    """Chunks of two rows and an empty one."""
    parts = [table.slice(start, 2) for start in range(0, len(table), 2)]
    return pa.concat_tables([table.slice(0, 0), *parts])


def arrow_large(table, folder):
    return retyped(table, lambda column: column.cast(pa.large_string()))


def arrow_dictionaries(table, folder):
    """A dictionary per chunk, in another order each, with entries that nobody uses."""

    def encoded(column):
        parts = [column.slice(start, 4) for start in range(0, max(len(column), 1), 4)]
        return pa.chunked_array([odd_dictionary(part, entries=["unused"]) for part in parts])

    return retyped(table, encoded)


def arrow_repeated_entries(table, folder):
    """A dictionary that holds every value twice, and a null."""
    return retyped(table, lambda column: odd_dictionary(column, entries=[None], twice=True))


def odd_dictionary(column, *, entries, twice=False):
    """Dictionary-encode by hand; a null points at the null entry where there is one."""
    known = pc.unique(column.drop_null()).to_pylist()
    dictionary = [*entries, *known, *(known if twice else [])]
    places = {value: [i for i, v in enumerate(dictionary) if v == value] for value in dictionary}
    indices = [
        places[v][row % len(places[v])] if v in places else None
        for row, v in enumerate(column.to_pylist())
    ]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int32()), pa.array(dictionary, pa.string())
    )


def duckdb_relation(table, folder):
    return duckdb.connect().from_arrow(table)


def spark_frame(table, folder):
    sql = pytest.importorskip("pyspark.sql")
    session = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.timestampType", "TIMESTAMP_NTZ")
        .getOrCreate()
    )
    return session.createDataFrame(table)


# ---- databases ------------------------------------------------------------------------------


def postgres_table(table, folder):
    """The address of a table in a server of our own."""
    name = hold_in_postgres(table)
    return f"{postgres_server()}&table={name}"


def ibis_duckdb(table, folder):
    ibis = pytest.importorskip("ibis")
    with duckdb.connect(folder / "people.duckdb") as opened:
        opened.from_arrow(table).create("people")
    return ibis.duckdb.connect(folder / "people.duckdb").table("people")


def ibis_postgres(table, folder):
    ibis = pytest.importorskip("ibis")
    name = hold_in_postgres(table)
    return ibis.connect(postgres_server()).table(name)


FILES = [csv_file, csv_gz]
TYPED = [
    parquet_file,
    parquet_folder,
    pandas_frame,
    pandas_odd_index,
    pandas_categorical,
    pandas_objects,
    polars_frame,
    polars_lazy,
    polars_categorical,
    polars_enum_lazy,
    arrow_table,
    arrow_chunked,
    arrow_large,
    arrow_dictionaries,
    arrow_repeated_entries,
    duckdb_relation,
    spark_frame,
    ibis_duckdb,
    ibis_postgres,
    postgres_table,
]
# Those that count in an engine, where rows have no numbers.
UNNUMBERED = [csv_file, csv_gz, polars_lazy, polars_enum_lazy, duckdb_relation, spark_frame]
UNNUMBERED += [ibis_duckdb, ibis_postgres, postgres_table]


def write(folder, content, name="people.csv"):
    """Write a file; texts as UTF-8."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def bags(counts):
    """Group label -> {value: count}: all that a GroupCounts says, in any order of groups."""
    assert len(set(counts.groups)) == counts.n_groups
    return {label: counts.bag(i) for i, label in enumerate(counts.groups)}


# ---- workbooks of Excel, in which a cell may be an error or a formula without a value ----------


class Formula(NamedTuple):
    """A cell that holds a formula, and what it came to."""

    text: str
    value: object


ERROR, UNCOMPUTED, COMPUTED = Formula("=1/0", "#DIV/0!"), Formula("=A2+1", ""), Formula("=1+1", 2)


def write_workbook(path, sheets, merged=None):
    """Write {name of a sheet: rows of cells}; of the first sheet a range may be merged."""
    library = pytest.importorskip("xlsxwriter")
    with library.Workbook(path, {"strings_to_formulas": False}) as book:
        date = book.add_format({"num_format": "yyyy-mm-dd"})
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            if merged and sheet.index == 0:
                sheet.merge_range(merged, None)
            for r, row in enumerate(rows):
                for c, cell in enumerate(row):
                    if isinstance(cell, Formula):
                        sheet.write_formula(r, c, cell.text, None, cell.value)
                    elif cell is not None:
                        sheet.write(r, c, cell, *[date] * isinstance(cell, dt.date))
    return path
