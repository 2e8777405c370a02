"""Nulls: one in a quasi-identifier is a value, one in the sensitive column or group is an error."""

from datetime import date, datetime
from decimal import Decimal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.frames.backends import (
    FILES,
    UNNUMBERED,
    bags,
    texts,
    write,
)

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.engines.columns import Relabel
from foreknow.data.labels import text_of
from foreknow.data.release import Release
from foreknow_judge.errors import DataError

NAN = float("nan")
ILL = pa.table({"gid": [1, 1, 2, 2, 2], "disease": ["Flu", "AIDS", None, "Flu", None]})


def by_group(source, **more):
    return Release.from_groups(source, group="gid", sensitive="disease", **more).counts


def generalized(source, *columns):
    return Release.from_generalized(source, quasi_identifiers=columns, sensitive="disease").counts


def test_the_only_holder_of_a_null_is_a_group_of_one(everywhere):
    # pycanon drops such people and calls the rest safe.
    table = pa.table(
        {"age": [30, 30, 30], "sex": ["f", "f", None], "disease": ["Flu", "Cold", "AIDS"]}
    )
    source = everywhere(table)
    bag = {"Cold": 1, "Flu": 1}
    for columns, wanted in (
        (("age", "sex"), {("30", "f"): bag, ("30", None): {"AIDS": 1}}),
        (("sex",), {("f",): bag, (None,): {"AIDS": 1}}),
    ):
        counts = generalized(source, *columns)
        assert texts(bags(counts)) == wanted
        assert Facts().disclosure(counts, "AIDS").exact == 1


@pytest.mark.parametrize(
    "table",
    [
        *(pa.table({"age": pa.nulls(2, t)}) for t in (pa.int64(), pa.string(), pa.float64())),
        *(pa.table({"age": pa.nulls(2, t)}) for t in (pa.date32(), pa.null())),
        *(make({"age": [None, None]}) for make in (pd.DataFrame, pl.DataFrame)),
    ],
    ids=lambda table: f"{type(table)} {getattr(table, 'schema', '')}",
)
def test_a_column_of_nothing_but_nulls_is_one_value(table):
    more = {"sex": ["f", "m"], "disease": ["a", "b"]}
    if isinstance(table, pa.Table):
        table = pa.table({"age": table["age"], **more})
    else:
        table = type(table)({"age": [None, None], **more})
    assert set(bags(generalized(table, "age", "sex"))) == {(None, "f"), (None, "m")}


def rows_are_numbered(backend):
    """Whether a message can name a row: not where an engine counts, and no file holds the rows."""
    return backend in FILES or backend not in UNNUMBERED


def test_missing_sensitive_values_are_counted_and_the_first_is_named_by_its_row(everywhere):
    where = ", first in row 3;" if rows_are_numbered(everywhere.backend) else ";"
    with pytest.raises(DataError, match=f"column 'disease' is missing in 2 rows{where}") as said:
        by_group(everywhere(ILL))
    assert 'missing = "drop" or missing = { label = "unknown" }' in str(said.value)


def test_a_row_without_a_group_is_an_error_that_names_it(everywhere):
    table = pa.table({"gid": ["a", "a", None, None], "disease": list("wxyz")})
    where = r" \(row 3\)" if rows_are_numbered(everywhere.backend) else ""
    with pytest.raises(DataError, match=f"'gid' is missing{where}; every row needs a group"):
        by_group(everywhere(table))


def test_nan_is_a_missing_sensitive_value(typed):
    source = typed(pa.table({"gid": [1, 1, 2], "disease": [1.5, NAN, None]}))
    with pytest.raises(DataError, match="is missing in 2 rows"):
        by_group(source)
    assert bags(by_group(source, missing="drop")) == {1: {1.5: 1}}


def test_nan_in_a_dictionary_is_missing_too():
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array([1.0, NAN]))
    table = pa.table({"age": coded, "sex": ["f"] * 3, "disease": ["a", "b", "b"]})
    assert bags(generalized(table, "age", "sex")) == {(1.0, "f"): {"a": 1}, (None, "f"): {"b": 2}}
    with pytest.raises(DataError, match="is missing in 2 rows"):
        by_group(pa.table({"gid": [1, 1, 1], "disease": coded}))


def test_dropped_rows_are_not_counted_and_groups_of_them_vanish(everywhere):
    more = pa.concat_tables([ILL, pa.table({"gid": [3], "disease": pa.nulls(1, pa.string())})])
    counts = by_group(everywhere(more), missing="drop")
    assert texts(bags(counts)) == {"1": {"AIDS": 1, "Flu": 1}, "2": {"Flu": 1}}
    assert list(counts.values) == ["AIDS", "Flu"]


def test_relabelled_nulls_are_a_value_of_that_name(everywhere):
    counts = by_group(everywhere(ILL), missing=Relabel("unknown"))
    assert texts(bags(counts)) == {"1": {"AIDS": 1, "Flu": 1}, "2": {"Flu": 1, "unknown": 2}}


def test_a_label_may_be_a_value_already_or_make_texts_of_numbers():
    assert bags(by_group(ILL, missing=Relabel("Flu")))[2] == {"Flu": 3}
    assert bags(by_group(ILL, missing={"label": "unknown"}))[2] == {"Flu": 1, "unknown": 2}
    table = pa.table({"gid": [1, 1, 2], "disease": [7, None, 7]})
    assert bags(by_group(table, missing=Relabel("?"))) == {1: {"7": 1, "?": 1}, 2: {"7": 1}}
    assert isinstance(Relabel("x"), str)
    with pytest.raises(ValueError, match="dorp"):
        by_group(table, missing="dorp")
    with pytest.raises(DataError, match="has no rows"):
        by_group(table.filter(table["disease"].is_null()), missing="drop")


@pytest.mark.parametrize(
    "values",
    [
        [True, False],
        [1.0, 2.5, 1e-7],
        [datetime(2024, 1, 31), datetime(2024, 1, 31, 10, 30)],
        [date(2024, 1, 31)],
        [Decimal("1.50")],
    ],
)
def test_beside_a_label_for_nulls_values_print_as_they_do_without_one(values):
    def known(more):
        column = [*values, *[None] * more]
        table = pa.table({"gid": [1] * len(column), "disease": column})
        return by_group(table, missing=Relabel("unknown")).values

    assert sorted(known(1)) == sorted([*map(text_of, known(0)), "unknown"])


def test_the_row_of_a_null_group_id_counts_header_and_dropped_rows(tmp_path):
    with pytest.raises(DataError, match=r"(row 2|line 3)"):
        by_group(write(tmp_path, "gid,disease\n1,x\n,y\n"))
    table = pa.table({"gid": [1, 1, None], "disease": [None, "x", "y"]})
    with pytest.raises(DataError, match=r"row 3"):
        by_group(table, missing="drop")
