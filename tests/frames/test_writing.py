"""Writing tables: the columns given, and nothing else of the input."""

import csv
from datetime import date
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from foreknow.data.engines import bare, open_table, write_csv, write_in_parts
from foreknow_judge.errors import InputError

FORMULAS = ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1"]


def read_back(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def as_csv(table, folder, **more):
    write_csv(table, folder / "out.csv", **more)
    return read_back(folder / "out.csv")


def test_texts_are_quoted_where_needed_and_nulls_are_empty(tmp_path):
    table = pa.table({"a": ["x,y", 'q"r', "l\nm", None, " s "], "n": [1, 2, 3, None, 5]})
    assert as_csv(table, tmp_path) == [
        ["a", "n"],
        ["x,y", "1"],
        ['q"r', "2"],
        ["l\nm", "3"],
        ["", ""],
        [" s ", "5"],
    ]


def test_numbers_and_dates_read_as_they_print(tmp_path):
    table = pa.table({"d": [date(2024, 1, 31)], "x": [Decimal("1.50")], "n": [-7], "f": [0.5]})
    assert as_csv(table, tmp_path)[1] == ["2024-01-31", "1.50", "-7", "0.5"]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary("int8", "str"), pa.string_view()]
)
def test_texts_of_every_arrow_kind_are_written_and_lists_are_not(tmp_path, kind):
    table = pa.table({"a": pa.array(["x", None], pa.string()).cast(kind), "n": [1, 2]})
    assert as_csv(table, tmp_path) == [["a", "n"], ["x", "1"], ["", "2"]]
    with pytest.raises(InputError, match="a"):
        as_csv(pa.table({"a": [[1]]}), tmp_path)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary("int8", "str")])
def test_formulas_are_disarmed_when_asked_and_nothing_else_changes(tmp_path, kind):
    texts = pa.array([*FORMULAS, "plain", "a=b", "", None]).cast(kind)
    table = pa.table({"=a": texts, "n": [-1] * 10})
    name, *plain = (row[0] for row in as_csv(table, tmp_path))
    assert (name, plain[:6]) == ("=a", FORMULAS)
    (name, _), *rows = as_csv(table, tmp_path, escape_formulas=True)
    assert name == "'=a"
    assert [a for a, _ in rows] == [*("'" + f for f in FORMULAS), "plain", "a=b", "", ""]
    assert {n for _, n in rows} == {"-1"}


@examples(50, deadline=None)
@given(
    texts=st.lists(
        st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
        min_size=1,
    )
)
def test_what_is_written_reads_back_the_same(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("csv") / "out.csv"
    write_csv(pa.table({"a": pa.array(texts, pa.string()), "n": range(len(texts))}), path)
    found = open_table(path).arrow(["a"]).column("a").cast(pa.string()).to_pylist()
    assert found == [text or None for text in texts]  # empty texts are nulls in CSV


def test_parquet_reads_back_the_same(tmp_path):
    table = pa.table({"a": ["x", None], "d": [date(2024, 1, 31), None], "n": [1, 2]})
    write_in_parts([bare(table)], tmp_path / "out.parquet", None)
    assert pq.read_table(tmp_path / "out.parquet").equals(table)


def test_no_metadata_of_the_input_is_written(tmp_path):
    frame = pd.DataFrame({"a": [1]}, index=pd.Index(["Tom"], name="name"))
    frame.attrs["source"] = "hospital"
    table = pa.Table.from_pandas(frame).replace_schema_metadata({"author": "me"})
    field = table.schema.field("a").with_metadata({"origin": "secret"})
    table = table.set_column(0, field, table.column("a")).select(["a"])
    write_in_parts([bare(table)], tmp_path / "out.parquet", None)
    content = (tmp_path / "out.parquet").read_bytes()
    for leak in (b"hospital", b"Tom", b"author", b"secret", b"pandas", b"ARROW:schema"):
        assert leak not in content
    assert pq.ParquetFile(tmp_path / "out.parquet").metadata.metadata is None


def test_categories_without_rows_and_their_order_are_not_written(tmp_path):
    unused = pa.DictionaryArray.from_arrays([0], ["shown", "Tom's secret"])
    write_in_parts([bare(pa.table({"a": unused}))], tmp_path / "out.parquet", None)
    assert b"Tom's secret" not in (tmp_path / "out.parquet").read_bytes()
    names = ["Zoe", "Ann"]  # Zoe was in the first row of the input
    column = pa.array(names).dictionary_encode().take(pa.array([1, 0]))
    write_in_parts([bare(pa.table({"a": column}))], tmp_path / "out.parquet", None)
    content = (tmp_path / "out.parquet").read_bytes()
    assert content.index(b"Ann") < content.index(b"Zoe")
