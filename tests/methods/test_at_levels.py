"""Counts at chosen levels against counts from the rows, and what is refused."""

import re
from collections import Counter

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow_judge.errors import InputError

ROWS = {
    "age": [21, 25, 38, 39, None],
    "sex": ["f", "m", "f", "f", "m"],
    "illness": ["Flu", "Cold", "Flu", "Mumps", "Cold"],
}


@pytest.fixture
def raw():
    schema = fk.Schema(
        quasi_identifiers=["age", "sex"],
        sensitive="illness",
        hierarchies={"age": fk.Intervals([10])},
    )
    return fk.Microdata(pa.table(ROWS), schema)


def bags(counts):
    return {counts.group_label(g): Counter(counts.bag(g)) for g in range(counts.n_groups)}


def test_groups_are_named_by_what_would_be_published(raw):
    found = bags(fk.counts_at(raw, {"age": 1, "sex": 0}))
    assert found["20 to 29", "f"] == {"Flu": 1}
    assert found["20 to 29", "m"] == {"Cold": 1}
    assert found["30 to 39", "f"] == {"Flu": 1, "Mumps": 1}
    assert len(found) == 4


def test_what_is_left_out_is_suppressed(raw):
    assert bags(fk.counts_at(raw, {"sex": 0})) == bags(fk.counts_at(raw, {"sex": 0, "age": "*"}))
    assert set(bags(fk.counts_at(raw, {"sex": 0}))) == {("*", "f"), ("*", "m")}
    everybody = bags(fk.counts_at(raw, {}))
    assert everybody == {("*", "*"): {"Flu": 2, "Cold": 2, "Mumps": 1}}


def test_exact_values_are_their_own_names(raw):
    assert (21, "*") in bags(fk.counts_at(raw, {"age": 0}))


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"agee": 1}, "'agee' is no quasi-identifier"),
        ({"illness": 1}, "'illness' is no quasi-identifier"),
        ({"age": 3}, "'age' has the levels 0 (exact) to 2 ('*'), not 3"),
        ({"age": -1}, "not -1"),
        ({"sex": 2}, "give it a hierarchy for levels between"),
        ({"sex": "top"}, "the level of 'sex' is a whole number or '*', not 'top'"),
        ({"sex": True}, "not True"),
    ],
)
def test_levels_that_do_not_exist_are_refused(raw, levels, said):
    with pytest.raises(InputError, match=re.escape(said)):
        fk.counts_at(raw, levels)
