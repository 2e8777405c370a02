"""People with several sensitive values: long tables and lists are read alike, everywhere."""

import random

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.frames.backends import arrow_chunked, csv_file, parquet_folder, write

import foreknow as fk
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.errors import SchemaError
from foreknow_judge.errors import DataError

# (name, group, values)
PEOPLE = [
    ("Ann", "x", ["Flu", "AIDS"]),
    ("Bob", "y", []),
    ("Cid", "x", ["Flu"]),
    ("Dora", "y", ["Cold", "Flu", "AIDS"]),
    ("Eve", "x", []),
    ("Fay", "z", []),
    ("Gus", "y", ["Cold"]),
]
WANTED = {"x": (3, {"AIDS": 1, "Flu": 2}), "y": (3, {"AIDS": 1, "Cold": 2, "Flu": 1}), "z": (1, {})}


def long(people, chance=None):
    """One row per value; whoever has none has a row with a null, others sometimes too."""
    rows = []
    for name, group, values in people:
        rows += [(name, group, value) for value in values]
        if not values or (chance and chance.random() < 0.3):
            rows.append((name, group, None))
    if chance:
        chance.shuffle(rows)
    names, groups, values = zip(*rows, strict=True)
    return pa.table({"pid": names, "gid": groups, "d": pa.array(values, pa.string())})


def lists(people, chance=None):
    """One row per person; whoever has no value has an empty list or a null."""
    people = chance.sample(people, len(people)) if chance else people
    names, groups, values = zip(*people, strict=True)
    held = [v or ([], None)[i % 2] for i, v in enumerate(values)]
    return pa.table({"pid": names, "gid": groups, "d": pa.array(held, pa.list_(pa.string()))})


def counted(source, semantics="set", person="pid"):
    return Release.from_groups(
        source, group="gid", sensitive="d", person=person, semantics=semantics
    ).counts


def told(counts):
    """Group label -> (people, bag)."""
    return {label: (int(counts.sizes[i]), counts.bag(i)) for i, label in enumerate(counts.groups)}


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_a_long_table_is_read_alike_by_every_backend(everywhere, semantics):
    found = counted(everywhere(long(PEOPLE, random.Random(1))), semantics)
    assert told(found) == WANTED
    assert found.semantics == semantics


@pytest.mark.parametrize("person", ["pid", None])
def test_lists_are_read_alike_by_every_backend_that_has_them(typed, person):
    assert told(counted(typed(lists(PEOPLE)), person=person)) == WANTED


CELLS = [["Flu", "AIDS"], [], ["Flu"], None]
KINDS = {
    "lists": list,
    "tuples": tuple,
    "sets": set,
    "frozensets": frozenset,
    "arrays": np.array,
    "objects": lambda values: np.array(values, dtype=object),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hole", [None, float("nan"), pd.NA], ids=str)
def test_pandas_cells_may_hold_any_collection(kind, hole):
    cells = [hole if cell is None else KINDS[kind](cell) for cell in CELLS]
    frame = pd.DataFrame({"gid": [1, 1, 1, 2], "d": pd.Series(cells, dtype=object)})
    frame.index = [7, 7, 7, 7]
    assert told(counted(frame, person=None)) == {1: (3, {"AIDS": 1, "Flu": 2}), 2: (1, {})}


def arrow_types():
    texts = pa.array(CELLS, pa.list_(pa.string()))
    yield "list", texts
    yield "large", texts.cast(pa.large_list(pa.large_string()))
    yield "view", pa.array(CELLS, pa.list_view(pa.string()))
    codes = pa.array(["Flu", "AIDS", "Flu"]).dictionary_encode()
    yield "dictionary", pa.ListArray.from_arrays(pa.array([0, 2, 2, None, 3], pa.int32()), codes)


@pytest.mark.parametrize("kind", dict(arrow_types()))
def test_arrow_lists_of_every_type_are_read(kind):
    table = pa.table({"gid": [1, 1, 1, 2], "d": dict(arrow_types())[kind]})
    wanted = {1: (3, {"AIDS": 1, "Flu": 2}), 2: (1, {})}
    assert told(counted(table, person=None)) == wanted
    sliced = pa.concat_tables([table.slice(0, 1), table.slice(1, 3)])
    assert told(counted(sliced, person=None)) == wanted


def test_lists_may_be_of_a_fixed_length_and_hold_numbers():
    cells = pa.array([["Flu", "AIDS"], None, ["Cold", "Flu"]], pa.list_(pa.string(), 2))
    table = pa.table({"gid": [1, 1, 2], "d": cells})
    wanted = {1: (2, {"AIDS": 1, "Flu": 1}), 2: (1, {"Cold": 1, "Flu": 1})}
    assert told(counted(table, person=None)) == wanted
    frame = pl.DataFrame({"gid": [1], "d": [[3, 4]]}, schema_overrides={"d": pl.Array(pl.Int64, 2)})
    assert told(counted(frame, person=None)) == {1: (1, {3: 1, 4: 1})}
    frame = duckdb.sql("SELECT * FROM (VALUES (1, [30, 4]), (1, []), (2, [4])) AS t(gid, d)")
    assert counted(frame, person=None).values == (4, 30)


@examples(60, deadline=None)
@given(
    held=st.lists(
        st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from("ABCD"), max_size=4)),
        min_size=1,
        max_size=10,
    ),
    semantics=st.sampled_from(["set", "multiset"]),
    chance=st.randoms(use_true_random=False),
)
def test_long_tables_and_lists_are_what_from_people_makes_of_the_people(held, semantics, chance):
    people = [
        (f"p{i}", g, sorted(set(v)) if semantics == "set" else v) for i, (g, v) in enumerate(held)
    ]
    groups = sorted({g for _, g, _ in people})
    wanted = GroupCounts.from_people(
        [[v for _, g, v in people if g == group] for group in groups], semantics=semantics
    )
    for table in (long(people, chance), lists(people, chance)):
        for source in (table, arrow_chunked(table, None), pl.from_arrow(table)):
            found = counted(source, semantics)
            assert found.take(np.argsort(found.groups)) == wanted
            generalized = Release.from_generalized(
                source, quasi_identifiers=["gid"], sensitive="d", person="pid", semantics=semantics
            )
            assert generalized.counts.take(np.argsort(generalized.counts.groups, 0)[:, 0]) == wanted
            assert generalized.semantics == semantics


def test_a_repeated_value_counts_twice_and_none_is_no_value(tmp_path):
    people = [("Ann", "x", ["Flu", "Flu", "AIDS"]), ("Bob", "x", ["Flu"])]
    wanted = {"x": (2, {"AIDS": 1, "Flu": 3})}
    for source in (long(people), lists(people), csv_file(long(people), tmp_path)):
        assert told(counted(source, "multiset")) == wanted
    for make in (long, lists):
        found = counted(make([("Ann", "x", [])]))
        assert (told(found), found.n_values) == ({"x": (1, {})}, 0)
        with pytest.raises(DataError, match="has no rows"):
            counted(make(PEOPLE).slice(0, 0))
    assert told(counted(parquet_folder(lists(PEOPLE), tmp_path))) == WANTED


def test_quasi_identifiers_are_of_the_person_and_may_be_null():
    table = pa.table(
        {"pid": [1, 1, 2], "age": [None, None, 3], "zip": ["a", None, "b"], "d": ["a", "b", "a"]}
    )
    roles = {"sensitive": "d", "person": "pid", "semantics": "set"}
    counts = Release.from_generalized(table, quasi_identifiers=["age"], **roles).counts
    assert told(counts) == {(None,): (1, {"a": 1, "b": 1}), (3,): (1, {"a": 1})}
    release = Release.from_generalized(table, quasi_identifiers=["age", "zip"], **roles)
    with pytest.raises(DataError, match="pid 1 has zip 'a' in row 1, but None in row 2"):
        release.counts  # noqa: B018


def rows(*triples):
    names, groups, values = zip(*triples, strict=True)
    return pa.table({"pid": names, "gid": groups, "d": values})


@pytest.mark.parametrize("held", [rows, None], ids=["arrow", "csv"])
@pytest.mark.parametrize(
    ("triples", "says"),
    [
        (
            [("Ann", "x", "Flu"), ("Bob", "x", "Flu"), ("Ann", "x", "Flu"), ("Ann", "x", "Flu")],
            "pid 'Ann' has d 'Flu' twice, in rows 1 and 3; under semantics 'set' nobody has a "
            "value twice: use semantics multiset or remove repeats",
        ),
        (
            [("Bob", "x", "Flu"), ("Ann", "x", "Flu"), ("Ann", "y", "Cold")],
            "pid 'Ann' has gid 'x' in row 2, but 'y' in row 3; everybody is in one group",
        ),
        ([("Ann", "x", "Flu"), (None, "x", "Flu")], "column of people 'pid' is missing in row 2"),
        (
            [("Ann", "x", "Flu"), ("Bob", None, None)],
            r"the group column 'gid' is missing \(row 2\)",
        ),
    ],
)
def test_rows_of_people_that_contradict_each_other_are_named(held, triples, says, tmp_path):
    source = rows(*triples)
    if held is None:
        source = csv_file(source, tmp_path)
    with pytest.raises(DataError, match=says):
        counted(source)


@pytest.mark.parametrize(
    ("cells", "person", "says"),
    [
        ([["a"], ["b", None]], None, r"the list of 'd' in row 2 holds a null; leave it out"),
        ([["a"], ["b", None]], "pid", r"in row 2 \(pid 'Bob'\) holds a null"),
        ([[1.5], [float("nan")]], None, "the list of 'd' in row 2 holds a null"),
        (
            [["a"], ["b", "c", "b"]],
            "pid",
            "pid 'Bob' has d 'b' twice, in the list of row 2; .* use semantics multiset",
        ),
        ([["a"], ["b", "b"]], None, "row 2 has d 'b' twice, in the list of row 2"),
        ([["a"], ["b"]], "twice", "twice 'Ann' is in rows 1 and 2; where 'd' holds lists"),
        ([[["a"]], []], None, r"give (lists of plain values|one plain value)"),
        ([[{"a": 1}], []], None, r"give (lists of plain values|one plain value)"),
        ([[b"a"], []], None, r"give (lists of plain values|one plain value)"),
    ],
)
def test_lists_that_cannot_be_meant_are_named(cells, person, says):
    names = {"pid": ["Ann", "Bob"], "twice": ["Ann", "Ann"]}
    with pytest.raises(DataError, match=says):
        counted(pa.table({**names, "gid": [1, 1], "d": pa.array(cells)}), person=person)


def test_lists_under_single_are_an_error_that_says_what_to_say(typed):
    with pytest.raises(DataError, match=r"column 'd' is of type .*list.* semantics = .set."):
        Release.from_groups(typed(lists(PEOPLE)), group="gid", sensitive="d").counts  # noqa: B018


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_a_long_table_needs_a_column_of_people(everywhere, semantics):
    says = f"semantics '{semantics}' needs person = the column that tells people apart"
    with pytest.raises(SchemaError, match=says):
        counted(everywhere(long(PEOPLE)), semantics, person=None)


@pytest.mark.parametrize(
    ("roles", "error", "says"),
    [
        ({"person": "who"}, DataError, "no column 'who'"),
        ({"person": "d"}, SchemaError, "'d', 'd': one column plays two roles"),
        ({"semantics": "sets"}, SchemaError, "semantics 'sets' is unknown; did you mean 'set'"),
        ({"sensitive": "gid"}, SchemaError, "cannot be both sensitive and the group"),
        *(
            ({"missing": rule}, SchemaError, "a null means that the person has no value")
            for rule in ("drop", {"label": "none"}, {"label": "error"})
        ),
    ],
)
def test_roles_that_cannot_be_meant_are_refused_before_reading(roles, error, says, tmp_path):
    given_roles = {"group": "gid", "sensitive": "d", "person": "pid", "semantics": "set"}
    with pytest.raises(error, match=says):
        Release.from_groups(long(PEOPLE), **given_roles | roles)
    path = write(tmp_path, "pid,gid,d\n")
    with pytest.raises(SchemaError, match="needs person"):
        Release.from_groups(path, group="gid", sensitive="d", semantics="set")


def test_a_table_that_shows_which_values_are_of_one_person_says_so():
    roles = {"group": "gid", "sensitive": "d", "person": "pid"}
    for table in (long(PEOPLE), lists(PEOPLE)):
        assert Release.from_groups(table, semantics="set", **roles).linked
    tally = pa.table({"group": [1], "d": ["Flu"], "count": [1]})
    people = pa.table({"group": [1, 1]})
    release = Release.from_bucketized(tally, sensitive="d", semantics="set", people=people)
    assert not release.linked
    single = pa.table({"gid": [1], "d": ["Flu"]})
    assert not Release.from_groups(single, group="gid", sensitive="d").linked


def cells(folder, *extra, between="|"):
    """A CSV file in which one cell holds all values of a person."""
    path = folder / "answers.csv"
    rows = [(name, group, between.join(values)) for name, group, values in PEOPLE]
    lines = [f"{name},{group},{cell}\n" for name, group, cell in [*rows, *extra]]
    path.write_text("pid,gid,d\n" + "".join(lines))
    return path


SETS = {"quasi_identifiers": ["gid"], "sensitive": "d", "semantics": "set"}


@pytest.mark.parametrize("between", ["|", ";", " | "])
def test_cells_of_several_answers(tmp_path, between):
    reading = {"separators": {"d": between.strip()}, "missing": ["NA"]}
    path = cells(tmp_path, ("Hal", "z", "NA"), between=between)
    schema = Schema(**SETS, reading=reading)
    counts = Release.from_schema(path, schema).counts
    found = {group[0]: (size, values) for group, (size, values) in told(counts).items()}
    assert found == {**WANTED, "z": (2, {})}
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert Release.from_schema(frame, schema).counts == counts
    microdata = Microdata(path, schema)
    assert microdata.counts(np.zeros(8, np.int64)).totals.sum() == counts.totals.sum()


def test_answers_are_published_apart(tmp_path):
    path = cells(tmp_path)
    schema = Schema(**SETS, reading={"separators": {"d": "|"}})
    exact = {"labels": {"gid": "exact"}}
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="9/10")], schema, exact)
    assert fk.Policy.from_dict(policy.to_dict()).schema == schema
    fk.publish(path, policy, seed=1).write(tmp_path / "out")
    assert fk.verify(tmp_path / "out")
    shown = pd.read_csv(tmp_path / "out" / "sensitive.csv")
    assert shown.groupby("d")["count"].sum().to_dict() == {"AIDS": 2, "Cold": 2, "Flu": 3}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"semantics": "single"}, "separators of reading names 'd', of which nobody has several"),
        ({"reading": {"separators": {"d": " "}}}, "must be a sign such as"),
        ({"reading": {"separators": "|"}}, "separators of reading is a table"),
        ({"reading": {}}, "or one with separators in the reading, holds all values"),
    ],
)
def test_separators_that_mean_nothing(tmp_path, more, said):
    given = {**SETS, "reading": {"separators": {"d": "|"}}, **more}
    with pytest.raises(fk.InputError, match=said):
        Microdata(cells(tmp_path), Schema(**given))


def test_an_answer_given_twice(tmp_path):
    path = cells(tmp_path, ("Hal", "z", "Flu|Flu"))
    with pytest.raises(DataError, match="'Flu' twice"):
        _ = Microdata(path, Schema(**SETS, reading={"separators": {"d": "|"}})).values
