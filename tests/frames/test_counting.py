"""Counting: every backend counts the same groups, whatever the order of rows or their index."""

from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.frames.backends import (
    arrow_dictionaries,
    arrow_repeated_entries,
    bags,
    csv_file,
    duckdb_relation,
    parquet_file,
    parquet_folder,
    polars_frame,
    polars_lazy,
    texts,
)

from foreknow.data.engines import open_table
from foreknow.data.engines import parquet_table as parquet
from foreknow.data.engines import table as tables
from foreknow.data.release import Release
from foreknow_judge.errors import DataError, InputError

PEOPLE = pa.table(
    {
        "gid": [3, 1, 1, 2, 3, 1, 2, 3, 12, 2],
        "age": [30, 41, 41, 30, 30, 41, 30, 30, 41, 58],
        "sex": ["f", "m", None, "f", "f", "m", "f", None, "m", None],
        "disease": ["Flu", "AIDS", "Flu", "Flu", "Cold", "AIDS", "Flu", "Flu", "Cold", "AIDS"],
    }
)
BY_GROUP = {
    1: {"AIDS": 2, "Flu": 1},
    2: {"AIDS": 1, "Flu": 2},
    3: {"Cold": 1, "Flu": 2},
    12: {"Cold": 1},
}
BY_AGE_AND_SEX = {
    (30, "f"): {"Cold": 1, "Flu": 3},
    (30, None): {"Flu": 1},
    (41, "m"): {"AIDS": 2, "Cold": 1},
    (41, None): {"Flu": 1},
    (58, None): {"AIDS": 1},
}


def by_group(source, **more):
    return Release.from_groups(source, group="gid", sensitive="disease", **more).counts


def generalized(source, *columns, **more):
    return Release.from_generalized(
        source, quasi_identifiers=columns, sensitive="disease", **more
    ).counts


@pytest.mark.thinned(2)
@pytest.mark.parametrize("shuffled", [False, True])
def test_groups_are_counted_alike_by_every_backend_in_any_order_of_rows(everywhere, shuffled):
    order = np.random.default_rng(1).permutation(len(PEOPLE))
    source = everywhere(PEOPLE.take(pa.array(order)) if shuffled else PEOPLE)
    found = by_group(source)
    assert texts(bags(found)) == texts(BY_GROUP)
    assert list(found.values) == ["AIDS", "Cold", "Flu"]
    assert found.n_people == len(PEOPLE)
    assert texts(bags(generalized(source, "age", "sex"))) == texts(BY_AGE_AND_SEX)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "values",
    [
        pytest.param([date(2024, 1, 2), date(2023, 12, 31)], id="dates"),
        pytest.param([datetime(2024, 1, 2, 3, 4, 5), datetime(2023, 1, 1)], id="timestamps"),
        pytest.param([Decimal("1.50"), Decimal("22.25")], id="decimals"),
        pytest.param([True, False], id="booleans"),
        pytest.param([1.5, -2.25], id="floats"),
        pytest.param([-7, 2**40], id="integers"),
        pytest.param(["", '  two, "words"\n'], id="texts"),
    ],
)
def test_groups_and_values_of_any_type_are_counted(typed, values):
    one, other = values
    source = typed(pa.table({"gid": [one, other, one], "disease": [other, one, other]}))
    assert bags(by_group(source)) == {one: {other: 2}, other: {one: 1}}


def test_nan_is_a_null_and_so_the_value_of_one_group(typed):
    nan = float("nan")
    table = pa.table({"age": [nan, 1.0, nan, nan], "sex": ["f"] * 4, "disease": list("abab")})
    found = bags(generalized(typed(table), "age", "sex"))
    assert found == {(1.0, "f"): {"b": 1}, (None, "f"): {"a": 2, "b": 1}}


HOLDERS_OF_FLOATS = [
    parquet_file,
    parquet_folder,
    arrow_dictionaries,
    polars_frame,
    polars_lazy,
    duckdb_relation,
]


@pytest.mark.parametrize(
    ("values", "twins"),
    [([float("nan"), 1.0, None], "NaN and null"), ([0.0, 1.0, -0.0], r"0\.0 and -0\.0")],
    ids=["NaN", "zero"],
)
@pytest.mark.parametrize("hold", HOLDERS_OF_FLOATS)
def test_values_that_some_readers_take_for_two_are_refused_as_groups(hold, values, twins, tmp_path):
    table = pa.table({"age": values, "pid": [1, 2, 3], "disease": list("aba")})
    listed = table.set_column(2, "disease", pa.array([["a"], [], ["b"]]))
    for source, semantics in ((hold(table, tmp_path), "single"), (listed, "set")):
        with pytest.raises(DataError, match=f"column 'age' of groups holds both {twins}"):
            _ = generalized(source, "age", semantics=semantics)
    one_kind = pa.table({"age": [-0.0, 1.0], "disease": ["a", "b"]})
    found = generalized(parquet_file(one_kind, tmp_path), "age")
    assert bags(found) == {(0.0,): {"a": 1}, (1.0,): {"b": 1}}


def test_a_pandas_index_is_neither_a_column_nor_a_row_number():
    frame = pd.DataFrame(
        {"gid": [1, 1, 2], "disease": ["x", "y", "x"]}, index=pd.Index([2, 0, 0], name="age")
    )
    assert bags(by_group(frame)) == {1: {"x": 1, "y": 1}, 2: {"x": 1}}
    with pytest.raises(DataError, match="'age'"):
        generalized(frame, "age")
    # Nor when it bears the name of a column.
    assert bags(by_group(frame.rename_axis("gid"))) == bags(by_group(frame))


DOMAINS = (
    ["f", "m", None],
    ["a", "b", "Ä", "", "a "],
    [0, 1, -3, None],
    [-(2**31), 2**31 - 1, 5],
    [2**62, -(2**62)],
    [True, False],
    [date(2024, 1, day) for day in (1, 2, 3)],
    [0.5, 1.5, None],
    [float(i) for i in range(4)],
)


@examples(2000, 50, deadline=None)
@given(st.data())
def test_counts_are_those_of_plain_python(data):
    values = [st.sampled_from(data.draw(st.sampled_from(DOMAINS))) for _ in range(2)]
    rows = st.lists(st.tuples(*values, st.sampled_from("xyz")), min_size=1, max_size=30)
    rows, wanted = data.draw(rows), {}
    for *key, value in rows:
        wanted.setdefault(tuple(key), Counter())[value] += 1
    one, other, disease = (list(column) for column in zip(*rows, strict=True))
    table = pa.table({"one": one, "other": other, "disease": disease})
    orders = []
    for source in (
        table,
        pl.from_arrow(table).lazy(),
        arrow_repeated_entries(table, None),
        duckdb.from_arrow(table),
    ):
        found = generalized(source, "one", "other")
        assert bags(found) == wanted
        orders.append([*found.groups])
        for place, (own, codes) in enumerate(found.groups.parts):
            assert [own[code] for code in codes] == [group[place] for group in found.groups]
            assert len({repr(label) for label in own}) == len(own)
    assert all(order == orders[0] for order in orders)


@pytest.mark.parametrize("hold", [csv_file, polars_lazy, duckdb_relation, polars_frame])
@pytest.mark.parametrize("role", ["group", "sensitive"])
def test_a_column_may_be_called_n(hold, role, tmp_path):
    names = {"group": "gid", "sensitive": "disease"} | {role: "n"}
    table = pa.table({names["group"]: ["1", "1", "2"], names["sensitive"]: ["x", "x", "y"]})
    found = Release.from_groups(hold(table, tmp_path), **names).counts
    assert bags(found) == {"1": {"x": 2}, "2": {"y": 1}}


def test_columns_with_odd_names_are_counted(everywhere):
    names = ["select", "a b", 'qu"ote', "é", "a;b", "'", "count(*)"]
    columns = {name: [1, 1, 2] for name in names}
    source = everywhere(pa.table({**columns, "disease": ["x", "y", "x"]}))
    for name in names:
        found = Release.from_groups(source, group=name, sensitive="disease").counts
        assert texts(bags(found)) == {"1": {"x": 1, "y": 1}, "2": {"x": 1}}


@pytest.mark.parametrize(
    ("make", "roles", "says"),
    [
        ("groups", {"group": "age"}, "'age' cannot be both sensitive and the group"),
        ("generalized", {"quasi_identifiers": ["sex", "age"]}, "'age' cannot be both sensitive"),
        ("generalized", {"quasi_identifiers": "age"}, "a list of at least one column"),
        ("generalized", {"quasi_identifiers": []}, "a list of at least one column"),
    ],
)
def test_roles_of_columns_must_make_sense(make, roles, says):
    with pytest.raises(InputError, match=says):
        getattr(Release, f"from_{make}")(PEOPLE, sensitive="age", **roles)


def test_relations_of_many_batches():
    made = "SELECT i % 7 AS gid, 'd' || hash(i) % 250000 AS disease FROM range(1200000) r(i)"
    relation = duckdb.connect().sql(made)
    rows = open_table(relation).arrow(["gid", "disease"])
    assert rows.to_pydict() == relation.to_arrow_table().to_pydict()
    assert by_group(relation) == by_group(rows)


def test_nothing_is_counted_before_counts_is_asked_for_and_then_only_once():
    release = Release.from_groups(PEOPLE, group="gid", sensitive="disease")
    assert repr(release) == "Release(the pyarrow frame, not counted yet)"
    assert release.counts is release.counts
    assert repr(release) == "Release(the pyarrow frame: 4 groups, 10 people)"


def test_parquet_too_large_for_memory_is_counted_by_the_engine(tmp_path, monkeypatch):
    folder = parquet_folder(PEOPLE, tmp_path)
    monkeypatch.setattr(tables, "_ROWS_IN_MEMORY", 5)
    monkeypatch.setattr(parquet.ParquetTable, "arrow", None)  # rows must not be fetched
    assert bags(by_group(folder)) == BY_GROUP
    assert bags(generalized(folder, "age", "sex")) == BY_AGE_AND_SEX
