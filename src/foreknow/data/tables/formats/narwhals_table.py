"""Frames of other libraries, through Narwhals; work is done where the data lives."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
from narwhals.exceptions import NarwhalsError

from foreknow.data.tables.formats.databases import admit_pandas
from foreknow.data.tables.table import Table, check_columns, free_name
from foreknow_judge.errors import DataError, NotEnoughMemory, short_of_memory

_SEVERAL = (set, frozenset, tuple, np.ndarray)  # of values in one cell, beside a list


class NarwhalsTable(Table):
    """A frame of pandas, Polars, PyArrow, PySpark, ...; a pandas index is never looked at."""

    index: Sequence[Any] = ()  # columns of pandas that are none

    def __init__(self, native: Any) -> None:
        """Take a frame; `DataError` for what is none, or has columns that cannot be read."""
        library = type(native).__module__.split(".")[0]
        self.name = f"the {library} frame"
        if "pandas" in sys.modules:  # of which other frames are made, too
            admit_pandas()
        if library == "pandas" and hasattr(native, "rename"):
            # pandas names the columns of a file without a header 0, 1, ...
            numbers = [name for name in getattr(native, "columns", []) if type(name) is int]
            native = native.rename(columns={n: str(n) for n in numbers}) if numbers else native
        if library == "pandas":  # which allows repeated names
            check_columns(list(getattr(native, "columns", [])), self.name)
        try:
            if library == "pandas" and hasattr(native, "reset_index"):
                self.index = [name for name in native.index.names if name is not None]
                native = native.reset_index(drop=True)
            self.frame = nw.from_native(native)
            if isinstance(self.frame, nw.LazyFrame):
                # A lazy frame may not work at all: its error should come here.
                self.frame.collect_schema()
        except TypeError:
            file_hint = " (not an open file)" if hasattr(native, "read") else ""
            raise DataError(
                f"{type(native).__name__} is not a table; give a path{file_hint} or a frame of "
                "pandas, Polars, PyArrow, DuckDB or PySpark"
            ) from None
        except (NarwhalsError, ValueError, OSError) as error:
            raise DataError(f"{self.name}: {str(error).splitlines()[0]}") from None
        if not isinstance(self.frame, (nw.DataFrame, nw.LazyFrame)):
            raise DataError(f"{type(native).__name__} is not a table but a column")
        names = self.frame.collect_schema().names()
        for name in names:
            if name == "*" or (name.startswith("^") and name.endswith("$")):  # to Polars
                raise DataError(f"{self.name}: the column name {name!r} is a pattern; rename it")
        self.columns: list[str] = check_columns(names, self.name)
        self.is_stable = isinstance(self.frame, nw.DataFrame)
        if isinstance(self.frame, nw.DataFrame) and self.frame.implementation.is_polars():
            self.frame = self.frame.clone()  # costs nothing, and stays as it is now

    def arrow(self, columns: Sequence[str]) -> pa.Table:
        """Fetch some columns as Arrow."""
        return self._fetched(self.frame.select(*columns))

    def arrow_of_values(
        self, columns: Sequence[str], readers: Mapping[str, Callable[[Any], Any]]
    ) -> pa.Table:
        """Fetch some columns; `readers` are functions that change the values of some of them.

        They are used only for columns of pandas that hold texts beside other types, which Arrow
        cannot take as they are.
        """
        frame = self.frame.select(*columns)
        if isinstance(frame, nw.DataFrame) and frame.implementation.is_pandas():
            converted = {}
            for name, column in frame.to_native().items():
                if name in readers and _is_mixed(column):
                    converted[name] = column.astype(object).map(readers[name])
            frame = nw.from_native(frame.to_native().assign(**converted), eager_only=True)
        return self._fetched(frame)

    def tally(self, columns: Sequence[str]) -> tuple[pa.Table, Any] | None:
        """Count equal rows by one GROUP BY in the engine of a lazy frame; None for other frames.

        None, too, if there are floats: engines take 0.0 and -0.0 for one value, but readers of a
        release may not.
        """
        if isinstance(self.frame, nw.DataFrame):
            return None
        schema = self.frame.collect_schema()
        if any(schema[column].is_float() for column in columns):
            return None
        name = free_name("n", columns)
        grouped = self.frame.group_by(*columns, drop_null_keys=False).agg(nw.len().alias(name))
        counted_rows = self._fetched(grouped)
        return counted_rows.select(list(columns)), counted_rows.column(name).to_numpy()

    def _fetched(self, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> pa.Table:
        """A frame as a table of Arrow; whatever fails is a `DataError` of one line."""
        try:
            if isinstance(frame, nw.LazyFrame):
                return frame.collect("pyarrow").to_native()
            return _with_lists(_with_intervals(frame), self.name).to_arrow()
        except UnicodeEncodeError:
            raise DataError(
                f"{self.name} holds half a character (a lone surrogate) in a text; replace it"
            ) from None
        except (NarwhalsError, OSError) as error:  # of a lazy frame, once it is collected
            raise DataError(f"{self.name}: {str(error).splitlines()[0]}") from None
        except OverflowError:
            raise DataError(f"{self.name} holds a number beyond 64 bits; make it text") from None
        except (pa.ArrowException, TypeError) as error:
            if short_of_memory(error):
                raise NotEnoughMemory(f"reading {self.name}") from error
            first = str(error).splitlines()[0]
            raise DataError(
                f"{self.name} holds a column of mixed types: {first}; make it one type"
            ) from None


def _is_mixed(column: Any) -> bool:
    """True if a column of pandas holds texts beside other things."""
    values = getattr(column.dtype, "categories", column)  # of categories, the distinct values
    infer_dtype = sys.modules["pandas"].api.types.infer_dtype
    return bool(values.dtype == object and infer_dtype(values, skipna=True).startswith("mixed"))


def _with_intervals(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """A frame whose columns of intervals, as `pd.cut` makes them, are texts in the same order."""
    if not frame.implementation.is_pandas_like():
        return frame
    texts = {}
    for name, column in frame.to_native().items():
        kind = getattr(column.dtype, "categories", column).dtype
        if str(kind).startswith("interval"):
            categories = column.astype("category").cat
            names = [str(interval) for interval in categories.categories]
            texts[name] = categories.as_ordered().cat.rename_categories(names)
    return nw.from_native(frame.to_native().assign(**texts), eager_only=True) if texts else frame


def _with_lists(frame: nw.DataFrame[Any], source: str) -> nw.DataFrame[Any]:
    """A frame in which sets, tuples and arrays in columns of objects are lists, which Arrow knows.

    Raises `DataError` for values that Arrow would take for equal. `source` is the table's name.
    """
    for name, kind in frame.schema.items():
        # Only columns of objects of pandas may mix types.
        if kind != nw.Object or not frame.implementation.is_pandas_like():
            continue
        values = frame.get_column(name).to_list()
        if any(isinstance(value, _SEVERAL) for value in values):
            lists = [_as_list(value) for value in values]
            native = frame.to_native().assign(**{name: lists})
            frame = nw.from_native(native, eager_only=True)
            continue
        equal_values = _equal_but_unlike(values)
        if equal_values:
            raise DataError(
                f"{source}: column {name!r} holds both {' and '.join(equal_values)}, which are "
                "equal, and which a file shows as two; make it one type"
            )
        zones = _zones(values)
        if len(zones) > 1:
            raise DataError(
                f"{source}: column {name!r} holds times of several zones ({', '.join(zones)}); "
                f"make it one: pd.to_datetime(frame[{name!r}], utc=True)"
            )
    return frame


def _equal_but_unlike(values: Sequence[Any]) -> list[str]:
    """The first two numbers that are equal but print differently, such as 1 and 1.0; [] if none.

    Arrow would make one value of them.
    """
    text_of: dict[Any, str] = {}
    for value in values:
        if isinstance(value, (bool, int, float, np.number, np.bool_)):
            first_text = text_of.setdefault(value, str(value))
            if first_text != str(value):
                return [first_text, str(value)]
    return []


def _zones(values: Sequence[Any]) -> list[str]:
    """The time zones of times, sorted, in words; Arrow would take the first one for all."""
    names = set()
    for value in values:
        if isinstance(value, dt.datetime) and value == value:  # pandas' NaT differs from itself
            names.add("none" if value.tzinfo is None else str(value.tzinfo))
    return sorted(names)


def _as_list(value: Any) -> Any:
    """A set, tuple or array as a list; any other value unchanged."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, _SEVERAL) else value
