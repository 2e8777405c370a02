"""Bucketized releases: tables of (group, value, count)."""

import pandas as pd
import pyarrow as pa
import pytest
from tests.frames.backends import bags, texts, write

from foreknow.data.release import Release
from foreknow.errors import DataError, InputError

TALLY = pa.table(
    {"group": [2, 1, 1, 2], "disease": ["Flu", "Flu", "AIDS", "Cold"], "count": [3, 1, 2, 1]}
)
GROUPS = {1: {"AIDS": 2, "Flu": 1}, 2: {"Cold": 1, "Flu": 3}}


def counted(source, **more):
    return Release.from_bucketized(source, sensitive="disease", **more).counts


def with_counts(counts):
    return pa.table({"group": [1] * len(counts), "disease": ["x", "y"], "count": counts})


def test_a_tally_is_read_alike_by_every_backend(everywhere):
    found = counted(everywhere(TALLY))
    assert texts(bags(found)) == texts(GROUPS)
    assert found.n_people == 7


def test_its_columns_may_have_other_names():
    table = TALLY.rename_columns(["bucket", "disease", "people"])
    assert bags(counted(table, group="bucket", count="people")) == GROUPS


def test_a_nullable_pandas_count_is_a_whole_number():
    frame = TALLY.to_pandas().astype({"count": "Int64"})
    assert bags(counted(frame)) == GROUPS


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ([1, 0], "row 2: the count 0 is below 1"),
        ([-3, 1], "row 1: the count -3 is below 1"),
        ([1.0, 2.0], "column 'count' must hold a whole number in each row"),
        ([1, None], "column 'count' must hold a whole number in each row"),
        ([True, True], "column 'count' must hold a whole number in each row"),
        (pa.array([1, 2**63 + 5], pa.uint64()), "'count': .*9223372036854775813 not in range"),
    ],
)
def test_counts_that_are_none_are_refused(counts, says):
    with pytest.raises(DataError, match=says):
        counted(with_counts(counts))


@pytest.mark.parametrize("text", ["1.5", "many", "1e3", " 2", "", "0", "99999999999999999999"])
def test_a_csv_tally_says_which_column_is_no_count(tmp_path, text):
    path = write(tmp_path, f"group,disease,count\n1,x,2\n1,y,{text}\n")
    says = "row 2: the count 0 is below 1" if text == "0" else f"row 2 holds {text or None!r}, not"
    with pytest.raises(DataError, match=f"people.csv: .*{says}"):
        counted(path)


@pytest.mark.parametrize("counts", [[2**53, 1], [2**62, 2**62]])
def test_more_people_than_a_float_can_count_are_refused(counts):
    with pytest.raises(DataError, match=r"in all: more than 2\*\*53 cannot be counted"):
        counted(with_counts(counts))


def test_a_null_value_or_group_is_refused():
    with pytest.raises(DataError, match="'disease' is missing in 1 row, first in row 2"):
        counted(pa.table({"group": [1, 1], "disease": ["x", None], "count": [4, 1]}))
    with pytest.raises(DataError, match=r"'group' is missing \(row 2\)"):
        counted(pa.table({"group": [1, None], "disease": ["x", "y"], "count": [4, 1]}))


def test_the_message_about_a_null_value_counts_rows_of_the_table_and_not_people():
    with pytest.raises(DataError, match="missing in 1 row, first in row 2"):
        counted(pa.table({"group": [1, 1], "disease": ["x", None], "count": [1, 4]}))


def test_a_missing_column_is_named_with_a_hint():
    with pytest.raises(DataError, match="has no column 'count'; did you mean 'counts'"):
        counted(TALLY.rename_columns(["group", "disease", "counts"]))


def test_an_empty_tally_is_refused():
    with pytest.raises(DataError, match="no rows"):
        counted(TALLY.slice(0, 0))


@pytest.mark.parametrize("roles", [{"group": "disease"}, {"count": "group"}, {"count": "disease"}])
def test_one_column_cannot_play_two_roles(roles):
    with pytest.raises(InputError, match=r"disease|group"):
        counted(TALLY, **roles)


def test_an_index_of_the_tally_is_not_used():
    frame = TALLY.to_pandas().set_axis(pd.Index([3, 3, 0, 1], name="count"), axis="index")
    assert bags(counted(frame)) == GROUPS


# ---- with the table of people ------------------------------------------------------------------

PEOPLE = pa.table({"group": [2, 1, 2, 3, 1, 1], "age": range(6)})
SETS = pa.table(
    {"group": [2, 1, 1, 2], "disease": ["Flu", "Flu", "AIDS", "Cold"], "count": [2, 1, 3, 1]}
)


def told(counts):
    return {label: (int(counts.sizes[i]), counts.bag(i)) for i, label in enumerate(counts.groups)}


@pytest.mark.parametrize("held", ["the tally", "the people"])
@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_the_table_of_people_gives_the_sizes_of_groups(everywhere, semantics, held):
    tally, people = (
        (SETS, everywhere(PEOPLE)) if held == "the people" else (everywhere(SETS), PEOPLE)
    )
    found = counted(tally, semantics=semantics, people=people)
    assert found.semantics == semantics
    assert texts({g: {"people": n, **bag} for g, (n, bag) in told(found).items()}) == {
        "1": {"people": 3, "AIDS": 3, "Flu": 1},
        "2": {"people": 2, "Cold": 1, "Flu": 2},
        "3": {"people": 1},
    }


def test_several_columns_may_make_a_group_with_nulls_as_values_of_their_own():
    tally = pa.table(
        {"age": ["x", None], "zip": [None, 1], "disease": ["Flu", "Flu"], "count": [2, 1]}
    )
    people = pa.table({"zip": [None, 1, None, 1], "age": ["x", None, "x", "y"]})
    found = counted(tally, group=["age", "zip"], semantics="set", people=people)
    assert told(found) == {
        ("x", None): (2, {"Flu": 2}),
        (None, 1): (1, {"Flu": 1}),
        ("y", 1): (1, {}),
    }
    alone = counted(tally, group=["age"], semantics="set", people=people)
    assert told(alone) == {("x",): (2, {"Flu": 2}), (None,): (1, {"Flu": 1}), ("y",): (1, {})}


def test_nobody_needs_to_have_a_value(tmp_path):
    empty = SETS.slice(0, 0)
    for tally in (empty, write(tmp_path, "group,disease,count\n")):
        found = counted(tally, semantics="set", people=PEOPLE)
        assert {n for n, _ in told(found).values()} == {1, 2, 3}
        assert found.n_values == 0


def test_under_single_the_table_of_people_is_compared():
    people = pa.table({"group": [1] * 3 + [2] * 4})
    assert counted(TALLY, people=people) == counted(TALLY)
    with pytest.raises(DataError, match="group 2 has 3 people but 4 values; under 'single'"):
        counted(TALLY, people=people.slice(0, 6))
    more = pa.table({"group": [1] * 3 + [2] * 4 + [3]})
    with pytest.raises(DataError, match="group 3 has 1 people but 0 values; under 'single'"):
        counted(TALLY, people=more)


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({}, InputError, "semantics 'set' needs people = the table with one row per person"),
        ({"people": PEOPLE.slice(0, 1)}, DataError, "row 2: group 1 has no people in the pyarrow"),
        ({"people": PEOPLE.slice(0, 0)}, DataError, "has no rows"),
        ({"people": PEOPLE.select(["age"])}, DataError, "no column 'group'"),
        (
            {"people": pa.table({"group": [1, 2, 2, None]})},
            DataError,
            r"the group column 'group' is missing \(row 4\)",
        ),
        (
            {"people": pa.table({"group": [1, 2, 2]})},
            DataError,
            "value 'AIDS' occurs 3 times among the 1 people of group 1; under 'set'",
        ),
        ({"people": PEOPLE, "group": []}, InputError, "group must be a column, or a list of"),
        ({"people": PEOPLE, "semantics": "bag"}, InputError, "semantics 'bag' is unknown"),
        ({"people": PEOPLE, "group": ["group", "count"]}, InputError, "one column plays two roles"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(more, error, says):
    with pytest.raises(error, match=says):
        counted(SETS, **{"semantics": "set"} | more)
