"""Bucketized releases: tables of (group, value, count)."""

import re

import pandas as pd
import pyarrow as pa
import pytest
from tests.frames.backends import bags, texts, write

from foreknow.data.release import Release
from foreknow_judge.errors import DataError, InputError

TALLY = pa.table(
    {"group": [2, 1, 1, 2], "disease": ["Flu", "Flu", "AIDS", "Cold"], "count": [3, 1, 2, 1]}
)
GROUPS = {1: {"AIDS": 2, "Flu": 1}, 2: {"Cold": 1, "Flu": 3}}


def counted(source, **more):
    return Release.from_bucketized(source, sensitive="disease", **more).counts


@pytest.mark.thinned(2)
def test_a_tally_is_read_alike_by_every_backend(everywhere):
    found = counted(everywhere(TALLY))
    assert texts(bags(found)) == texts(GROUPS)
    assert found.n_people == 7


def test_its_columns_may_have_other_names_and_pandas_its_own_types_and_index():
    table = TALLY.rename_columns(["bucket", "disease", "people"])
    assert bags(counted(table, group="bucket", count="people")) == GROUPS
    frame = TALLY.to_pandas().astype({"count": "Int64"})
    assert bags(counted(frame)) == GROUPS
    index = pd.Index([3, 3, 0, 1], name="count")
    assert bags(counted(frame.set_axis(index, axis="index"))) == GROUPS


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"count": [1, 0]}, r"'count' must hold a whole number from 1 .*, but row 2 holds 0"),
        ({"count": [-3, 1]}, "row 1 holds -3"),
        ({"count": [1.5, 2.0]}, "row 1 holds 1.5"),
        ({"count": [1, None]}, "row 2 holds None"),
        ({"count": [True, True]}, "'count' must hold a whole number .* but row 1 holds True"),
        ({"count": pa.array([1, 2**63 + 5], pa.uint64())}, "row 2 holds 9223372036854775813"),
        ({"count": [2**53, 1]}, r"in all: more than 2\*\*53 cannot be counted"),
        ({"count": [2**62, 2**62]}, "row 1 holds 4611686018427387904"),
        # Rows of the table, not people.
        (
            {"disease": ["x", None], "count": [4, 1]},
            "'disease' is missing in 1 row, first in row 2",
        ),
        (
            {"disease": ["x", None], "count": [1, 4]},
            "'disease' is missing in 1 row, first in row 2",
        ),
        ({"group": [1, None]}, r"'group' is missing \(row 2\)"),
        ({"counts": [1, 1], "count": None}, "has no column 'count'; did you mean 'counts'"),
        ({k: pa.array([], pa.int64()) for k in TALLY.column_names}, "no rows"),
    ],
    ids=lambda given: re.sub(r" at 0x\w+", "", str(given)),
)
def test_tallies_that_count_nobody_are_refused(changed, says):
    columns = {"group": [1, 1], "disease": ["x", "y"], "count": [4, 1]} | changed
    with pytest.raises(DataError, match=says):
        counted(pa.table({name: own for name, own in columns.items() if own is not None}))


@pytest.mark.parametrize("text", ["1.5", "many", "1e3", " 2", "", "0", "99999999999999999999"])
def test_a_csv_tally_says_which_column_is_no_count(tmp_path, text):
    path = write(tmp_path, f"group,disease,count\n1,x,2\n1,y,{text}\n")
    with pytest.raises(
        DataError, match=f"column 'count' must hold .* row 2 holds '?{text or None}"
    ):
        counted(path)


@pytest.mark.parametrize("roles", [{"group": "disease"}, {"count": "group"}, {"count": "disease"}])
def test_one_column_cannot_play_two_roles(roles):
    with pytest.raises(InputError, match=r"disease|group"):
        counted(TALLY, **roles)


# ---- with the table of people ------------------------------------------------------------------

PEOPLE = pa.table({"group": [2, 1, 2, 3, 1, 1], "age": range(6)})
SETS = pa.table(
    {"group": [2, 1, 1, 2], "disease": ["Flu", "Flu", "AIDS", "Cold"], "count": [2, 1, 3, 1]}
)


def told(counts):
    return {label: (int(counts.sizes[i]), counts.bag(i)) for i, label in enumerate(counts.groups)}


@pytest.mark.thinned(3)
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


def test_several_columns_may_make_a_group_with_nulls_as_values_of_their_own(tmp_path):
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
    for nobody in (SETS.slice(0, 0), write(tmp_path, "group,disease,count\n")):
        found = counted(nobody, semantics="set", people=PEOPLE)
        assert {n for n, _ in told(found).values()} == {1, 2, 3}
        assert found.n_values == 0


def test_under_single_the_table_of_people_is_compared():
    people = pa.table({"group": [1] * 3 + [2] * 4})
    assert counted(TALLY, people=people) == counted(TALLY)
    with pytest.raises(DataError, match="'single'"):
        counted(TALLY, people=people.slice(0, 6))
    more = pa.table({"group": [1] * 3 + [2] * 4 + [3]})
    with pytest.raises(DataError, match="'single'"):
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
            "value 'AIDS' occurs 3 times among one person of group 1; under 'set'",
        ),
        ({"people": PEOPLE, "group": []}, InputError, "group must be a column, or a list of"),
        ({"people": PEOPLE, "semantics": "bag"}, InputError, "semantics 'bag' is unknown"),
        ({"people": PEOPLE, "group": ["group", "count"]}, InputError, "one column plays two roles"),
    ],
)
def test_tables_that_do_not_fit_together_are_refused(more, error, says):
    with pytest.raises(error, match=says):
        counted(SETS, **{"semantics": "set"} | more)
