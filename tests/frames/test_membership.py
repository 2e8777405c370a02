"""Members: everybody by name, with the position of their group in the counts."""

import random

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.frames.backends import csv_file, parquet_file

from foreknow.data.engines import table as tables
from foreknow.data.labels import Labels
from foreknow.data.microdata import Microdata
from foreknow.data.people import Members
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.errors import SchemaError
from foreknow_judge.errors import DataError, InputError

PEOPLE = pa.table(
    {
        "pid": ["Dora", "Ann", "Cid", "Bob", "Eve"],
        "gid": [2, 1, 2, 3, 1],
        "age": [40, 30, None, 30, 30],
        "d": ["Flu", "Flu", "AIDS", None, "Cold"],
    }
)
GROUPS = {"Dora": 2, "Ann": 1, "Cid": 2, "Bob": 3, "Eve": 1}


def placed(release):
    """Name -> label of the group, found by way of the counts."""
    members = release.members
    assert len(members) == release.counts.n_people
    return {name: release.counts.group_label(members.group_of(name)) for name in members.names}


def texts(found):
    return {str(name): str(label) for name, label in found.items()}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_everybody_is_in_their_group_in_every_backend(everywhere, semantics):
    table = PEOPLE if semantics != "single" else PEOPLE.set_column(3, "d", pa.array(list("abcde")))
    release = Release.from_groups(
        everywhere(table), group="gid", sensitive="d", person="pid", semantics=semantics
    )
    assert texts(placed(release)) == texts(GROUPS)
    assert release.members is release.members


@pytest.mark.parametrize("shape", ["long", "lists"])
def test_people_with_several_rows_are_named_once_in_order_of_appearance(shape):
    if shape == "long":
        table = pa.table(
            {"pid": [9, 3, 9, 5, 3], "gid": ["x", "y", "x", "x", "y"], "d": list("aabab")}
        )
    else:
        table = pa.table({"pid": [9, 3, 5], "gid": ["x", "y", "x"], "d": [["a", "b"], [], None]})
    release = Release.from_groups(table, group="gid", sensitive="d", person="pid", semantics="set")
    assert list(release.members.names) == [9, 3, 5]
    assert placed(release) == {9: "x", 3: "y", 5: "x"}
    assert release.members.of_group(release.members.group_of(9)) == [9, 5]


@pytest.mark.parametrize(
    "lazy", [lambda t: t, duckdb.from_arrow, lambda t: pl.from_arrow(t).lazy()]
)
def test_generalized_groups_are_labelled_by_their_quasi_identifiers(lazy):
    release = Release.from_generalized(
        lazy(PEOPLE),
        quasi_identifiers=["gid", "age"],
        sensitive="d",
        person="pid",
        missing={"label": "none"},
    )
    ages = dict(zip(PEOPLE["pid"].to_pylist(), PEOPLE["age"].to_pylist(), strict=True))
    assert placed(release) == {name: (group, ages[name]) for name, group in GROUPS.items()}


def test_people_who_were_not_counted_are_no_members(everywhere):
    release = Release.from_groups(
        everywhere(PEOPLE), group="gid", sensitive="d", person="pid", missing="drop"
    )
    assert texts(placed(release)) == texts({k: v for k, v in GROUPS.items() if k != "Bob"})


def test_a_label_for_nulls_that_is_called_drop_drops_nobody():
    release = Release.from_groups(
        PEOPLE, group="gid", sensitive="d", person="pid", missing={"label": "drop"}
    )
    assert placed(release) == GROUPS
    assert release.signatures(["age"]).people.sum() == len(GROUPS)


def test_members_are_plain_values_and_strangers_are_refused_with_a_hint():
    release = Release.from_groups(
        PEOPLE, group="gid", sensitive="d", person="pid", missing={"label": "none"}
    )
    members = release.members
    groups = [release.counts.groups.index(GROUPS[name]) for name in members.names]
    assert members.to_dict() == {"names": list(GROUPS), "groups": groups}
    with pytest.raises(DataError, match=r"nobody in the release is called 'Eva'.*'Eve'"):
        members.group_of("Eva")
    with pytest.raises(DataError, match="2 names but 1 groups"):
        Members(Labels(["Ann", "Tom"]), np.array([0]))


def test_groups_counted_by_an_engine_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "_ROWS_IN_MEMORY", 2)
    chance = random.Random(3)
    groups = [chance.randrange(30) for _ in range(200)]
    table = pa.table({"pid": range(200), "gid": groups, "d": [chance.choice("ab") for _ in groups]})
    release = Release.from_groups(
        parquet_file(table, tmp_path), group="gid", sensitive="d", person="pid"
    )
    assert placed(release) == dict(enumerate(groups))


@pytest.mark.parametrize("semantics", ["single", "set"])
def test_without_a_column_of_people_nobody_is_named(semantics):
    table = pa.table({"gid": [1], "d": ["a"] if semantics == "single" else [["a"]]})
    release = Release.from_groups(table, group="gid", sensitive="d", semantics=semantics)
    with pytest.raises(InputError, match=r"nobody is named; .*from_groups\(..., person="):
        release.members  # noqa: B018


def published(source):
    schema = Schema(quasi_identifiers=["gid"], sensitive="d", person="pid")
    return Microdata(source, schema).n_people


def released(source):
    return Release.from_groups(source, group="gid", sensitive="d", person="pid").counts.n_people


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("people", "says"),
    [
        (["Ann", "Bob", "Cid", "Bob"], "pid 'Bob' is in rows 2 and 4; .* semantics = .set. or"),
        (["Ann", "Bob", "Ann", "Ann"], "pid 'Ann' is in rows 1 and 3;"),
        (["Ann", "Bob", None, "Dora"], "column of people 'pid' is missing in row 3"),
        (["Ann", "Bob", "Cid", "Dora"], None),
    ],
)
def test_under_single_everybody_has_one_row(everywhere, people, says):
    source = everywhere(pa.table({"pid": people, "gid": [1, 1, 2, 2], "d": list("abab")}))
    for read in (published, released):
        if says is None:
            assert read(source) == 4
        elif "spark" not in everywhere.backend.__name__:  # which promises no order of rows
            with pytest.raises(DataError, match=says):
                read(source)


def test_the_column_of_people_is_there_and_plays_no_other_role():
    with pytest.raises(DataError, match="no column 'name'"):
        Release.from_groups(PEOPLE, group="gid", sensitive="d", person="name")
    with pytest.raises(SchemaError, match="'d', 'd': one column plays two roles"):
        Release.from_groups(PEOPLE, group="gid", sensitive="d", person="d")


TALLY = pa.table({"group": [2, 1, 2], "d": ["Flu", "Flu", "AIDS"], "count": [1, 2, 1]})
NAMED = PEOPLE.select(["pid", "gid"]).rename_columns(["pid", "group"])


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_people_beside_a_tally_are_its_members(everywhere, semantics):
    release = Release.from_bucketized(
        everywhere(TALLY), sensitive="d", semantics=semantics, people=NAMED, person="pid"
    )
    assert texts(placed(release)) == texts(GROUPS)


@pytest.mark.parametrize("hold_tally", [csv_file, parquet_file])
@pytest.mark.parametrize("hold_people", [csv_file, parquet_file])
def test_members_of_a_tally_are_found_whatever_files_hold_them(tmp_path, hold_tally, hold_people):
    for name in "ab":
        (tmp_path / name).mkdir()
    tally, people = hold_tally(TALLY, tmp_path / "a"), hold_people(NAMED, tmp_path / "b")
    more = {"sensitive": "d", "semantics": "set", "person": "pid"}
    assert texts(placed(Release.from_bucketized(tally, people=people, **more))) == texts(GROUPS)


def test_members_of_a_tally_need_people_with_unique_names():
    with pytest.raises(SchemaError, match="person = 'pid' needs people = the table that has"):
        Release.from_bucketized(TALLY, sensitive="d", person="pid")
    release = Release.from_bucketized(TALLY, sensitive="d", semantics="set", people=NAMED)
    with pytest.raises(InputError, match="nobody is named"):
        release.members  # noqa: B018
    twice = pa.concat_tables([NAMED, NAMED.slice(0, 1)])
    with pytest.raises(DataError, match="pid 'Dora' is in rows 1 and 6"):
        Release.from_bucketized(TALLY, sensitive="d", semantics="set", people=twice, person="pid")
