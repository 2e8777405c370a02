"""Frames of Spark: counted by its executors, which also write who is in which group.

Only counts come to this process. What the executors write must lie where this process can read it:
in the folder for what is written aside (``TMPDIR``). Where they cannot, it is written here.
"""

from __future__ import annotations

import logging
import re
import secrets
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foreknow.data.arrays import IntArray
from foreknow.data.columns.reading_rules import BLANKS
from foreknow.data.tables.formats.duckdb_table import Distinct, distinct_from, values_of
from foreknow.data.tables.table import check_columns, with_signs
from foreknow.data.tables.writers import part_of, write_parts
from foreknow.features.spark import lookup
from foreknow_judge.errors import DataError
from foreknow_judge.files.duckdb_files import new_folder

_log = logging.getLogger(__name__)
# Types of which equal values are one to Spark and to readers of what is published.
_KINDS = re.compile(
    r"string|(var)?char\(\d+\)|boolean|tinyint|smallint|int|bigint|float|double|decimal\(.*\)"
    r"|date|timestamp|timestamp_ntz"
)
_CAUSE = re.compile(r"(?:: |Caused by: )?((?:[\w$]+\.)*\w*(?:Error|Exception): .*)")
_FLOATS = {"float", "double"}
_ROWS_PER_PART = 4_000_000


class SparkTable:
    """A frame of PySpark; its columns are called c0, c1, ..., since Spark reads dots and case."""

    is_stable = untyped = rows_numbered = False
    size = None  # it is counted, however small
    rows_per_part: int | None = _ROWS_PER_PART

    def __init__(self, frame: Any) -> None:
        """Take a frame of PySpark; its columns get plain names, since Spark reads dots and case."""
        self.name = "the pyspark frame"
        if getattr(frame, "isStreaming", False):
            raise DataError(f"{self.name} is a stream, which has no end; give a table")
        self.columns = check_columns(list(frame.columns), self.name)
        kinds = [field.dataType.simpleString() for field in frame.schema.fields]
        self._kinds: dict[str, str] = {}
        frame = frame.toDF(*map(self._inner, self.columns))
        columns = []
        for name, inner, kind in zip(self.columns, frame.columns, kinds, strict=True):
            self._kinds[name], collation, _ = kind.partition(" collate ")
            # A collation may take texts for equal that readers of what is published tell apart.
            text = frame[inner].cast("string").alias(inner) if collation else inner
            columns.append(text)
        self.frame = frame.select(*columns)

    def _inner(self, column: str) -> str:
        """The name of a column in the Spark frame."""
        return f"c{self.columns.index(column)}"

    def is_text(self, column: str) -> bool:
        """True if a column is of texts."""
        return bool(self._kinds[column].startswith(("string", "char", "varchar")))

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns."""
        return self._fetched(self.frame.select(*map(self._inner, columns)), columns)

    def tally(self, columns: Sequence[str], *, signs: bool = True) -> tuple[pa.Table, IntArray]:
        """The distinct combinations of some columns, and how often each occurs; one GROUP BY.

        With `signs`, -0.0 is another value than 0.0; Spark takes them for one, so the sign of each
        float is counted as a column of its own.
        """
        from pyspark.sql import functions as spark

        floats = [name for name in columns if self._kinds[name] in _FLOATS]
        keys = list(map(self._inner, columns))
        signed = []
        for key in map(self._inner, floats if signs else ()):
            is_minus = spark.col(key).cast("string").startswith("-")
            signed.append(is_minus.alias(f"minus {key}"))
        with self.clear_errors():
            signed_frame = self.frame.select(*keys, *signed)
            counted_rows = signed_frame.groupBy(*signed_frame.columns).count().toArrow()
        _log.info("%.1f MB of counts came from %s", counted_rows.nbytes / 1e6, self.name)
        rows = counted_rows.select(keys).rename_columns(list(columns))
        # The columns after the keys are the signs; the last one is the count.
        minus = counted_rows.columns[len(keys) : -1]
        times = counted_rows.column(counted_rows.num_columns - 1).to_numpy().astype(np.int64)
        return with_signs(rows, floats, minus if signs else None), times

    def _fetched(self, frame: Any, columns: Sequence[str]) -> pa.Table:
        with self.clear_errors():
            rows: pa.Table = frame.toArrow()
        return rows.rename_columns(list(columns))

    # ---- what is asked of it where it lies; see `DuckTable` -------------------------------------

    def counted(self, columns: Sequence[str]) -> SparkTable | str:
        """The table, or a text why it is to be read into memory.

        Values that are others each time are refused; Spark knows of some, and other cases are
        found. A frame that is in its cache is taken as it is there.
        """
        for name in columns:
            if not _KINDS.fullmatch(self._kinds[name]):
                return f"column {name!r} is of type {self._kinds[name]}"
        frame = self.frame.select(*map(self._inner, columns))
        if not hasattr(frame, "_jdf"):  # over the network, it does not say
            return self
        with self.clear_errors():
            fixed = frame._jdf.queryExecution().optimizedPlan().deterministic()
        if not fixed:
            raise DataError(
                f"{self.name} has other values whenever it is read (rand(), uuid() and the like), "
                "and a source is read once; write it to a table first, or .cache() it"
            )
        return self

    def distinct(self, columns: Sequence[str]) -> tuple[int, Distinct]:
        """How many rows there are; for each column, how many have a value, and how many values."""
        from pyspark.sql import functions as spark

        figures = [spark.count("*")]
        for name in map(self._inner, columns):
            figures += [spark.count(name), spark.countDistinct(name)]
        with self.clear_errors():
            return distinct_from(self.frame.agg(*figures).first(), columns)

    def head(self, columns: Sequence[str], rows: int) -> pa.Table:
        """Some rows that are found at once."""
        return self._fetched(self.frame.select(*map(self._inner, columns)).limit(rows), columns)

    def sampled(self, column: str, share: int) -> tuple[pa.Array, IntArray]:
        """About one in `share` of a column's values, and how often each occurs.

        Which values are taken depends on their hash, so it is always the same ones.
        """
        from pyspark.sql import functions as spark

        name = self._inner(column)
        with self.clear_errors():
            value = self.frame[name]
            sample = self.frame.filter(value.isNotNull() & (spark.hash(value) % share == 0))
            return values_of(sample.groupBy(name).count().toArrow())

    def holding(self, columns: Sequence[str], spellings: Collection[str]) -> list[str]:
        """The columns of texts in which some value is missing by one of these spellings."""
        from pyspark.sql import functions as spark

        if not columns:
            return []
        conditions = [spark.bool_or(self._is_spelled(name, spellings)) for name in columns]
        with self.clear_errors():
            holds = self.frame.agg(*conditions).first()
        return [name for name, is_held in zip(columns, holds, strict=True) if is_held]

    def without(self, columns: Sequence[str], spellings: Collection[str]) -> SparkTable:
        """The table in which values with these spellings are missing, in columns of texts."""
        from pyspark.sql import functions as spark

        table = copy(self)
        cleaned: dict[str, Any] = {}
        for name in columns:
            is_value = ~self._is_spelled(name, spellings)
            cleaned[self._inner(name)] = spark.when(is_value, self._value(name))
        table.frame = self.frame.withColumns(cleaned) if cleaned else self.frame
        return table

    def _value(self, name: str) -> Any:
        return self.frame[self._inner(name)]

    def _is_spelled(self, name: str, spellings: Collection[str]) -> Any:
        from pyspark.sql import functions as spark

        return spark.btrim(self._value(name), spark.lit(BLANKS)).isin(sorted(spellings))

    # ---- what the executors write ---------------------------------------------------------------

    def write_rows(
        self,
        entries: pa.Table,
        times: IntArray,
        groups: IntArray,
        labels: pa.Table,
        shown: Mapping[str, str],
        row: str,
        path: Path,
        note: str,
    ) -> bool:
        """Write columns of each row beside its group's labels; True if all rows were found.

        `entries` are the combinations that were counted, with how often each occurs (`times`) and
        its group (-1: left out). `shown` are the columns to write, with the names they get, `row`
        is the name of the column of row numbers, and `note` is for the files. Executors write a
        folder of files, in no order; if they cannot, this process writes one.
        """
        from pyspark.sql import functions as spark

        folder = new_folder()
        # The sum of random weights, and the number of rows, that all rows must have.
        expected = lookup.write_lookup(entries, times, groups, labels, folder)
        names = [row, *shown.values(), *labels.column_names]
        number = (spark.monotonically_increasing_id() + 1).alias("row")
        columns = map(self._inner, [*shown, *entries.column_names])
        with self.clear_errors():
            rows = self.frame.select(number, *columns)
        reports = self._written(rows, lookup.by_row(folder, names, note), folder)
        # The executors could not write: rows come here and are looked up here.
        if reports is None:
            reports = []
            lookup_table = lookup.read_lookup(folder)
            with self.clear_errors():
                batches = rows.toArrow().to_batches()

            def parts() -> Iterator[pa.Table]:
                for labelled_part, weight in lookup.labelled_parts(batches, lookup_table, names):
                    reports.append((weight, len(labelled_part), None))
                    yield labelled_part

            write_parts(parts(), path, note)
        else:
            path.mkdir()
            for position, name in enumerate(sorted(name for _, _, name in reports)):
                shutil.move(folder / name, part_of(path, position))
        shutil.rmtree(folder, ignore_errors=True)
        # Each entry was found as often as it was counted just if the sums agree, in 64 bits.
        totals = sum(number for number, _, _ in reports), sum(n for _, n, _ in reports)
        return (totals[0] - expected[0]) % (1 << 64) == 0 and totals[1] == expected[1]

    def _written(
        self, frame: Any, work: Callable[..., Any], folder: Path
    ) -> list[tuple[int, int, Any]] | None:
        """The reports of the executors about the files they wrote; None if they could not write.

        Of each file a number, how many rows it has, and its name.

        A report is a sum of weights, the number of rows, and the file's name. A secret token in the
        folder shows that executors see this folder and not another of that name.
        """
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(lookup)  # executors need not have Foreknow
        token = secrets.token_hex(16)
        (folder / "token").write_text(token)
        try:
            reports = frame.mapInArrow(partial(work, token=token), lookup.SAID).collect()
            are_there = all((folder / name).is_file() for _, _, name in reports)
            why = "" if are_there else "what they wrote is not there"
        except Exception as error:  # of Spark, of a worker without Arrow, of the network ...
            reports, why = [], _first_line(error)
        finally:
            (folder / "token").unlink()
        if not why:
            return list(map(tuple, reports))
        _log.warning(
            "the executors of Spark could not write who is in which group into %s (%s); it is "
            "written here, of rows that come from Spark. Name a folder that they share with this "
            "process, by the environment variable TMPDIR, and see that Python there "
            "(PYSPARK_PYTHON) has pyarrow and numpy",
            *(folder, why),
        )
        return None

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """While open, turn errors of Spark into one line that says what is wrong."""
        from pyspark.errors import PySparkException

        try:
            yield
        except (PySparkException, pa.ArrowException) as error:
            raise DataError(f"{self.name} cannot be read: {_first_line(error)}") from None
        except AssertionError:  # all that Spark says of it
            raise DataError(f"{self.name} cannot be read: its session has ended") from None
        except Exception as error:
            if not type(error).__module__.startswith("py4j"):
                raise
            message = _first_line(error)
            hint = "; raise spark.driver.maxResultSize" if "maxResultSize" in str(error) else ""
            raise DataError(f"{self.name} cannot be read: {message}{hint}") from None


def _first_line(error: BaseException) -> str:
    """The cause of an error, without the hundred lines that say where it was."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    # The last cause is the first in time.
    causes = list(filter(None, map(_CAUSE.match, lines)))
    return causes[-1][1] if causes else lines[0].strip()
