"""Labels of groups, against what plain Python says the members have in common."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from foreknow.data.generalization import coarsened, style_of
from foreknow.data.hierarchy import Intervals, Mask, Ordered, Tree
from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow_judge.errors import PolicyError

ORDER = ["a", "b", "c", "d"]


def attribute(values, hierarchy=None):
    kind = pa.int64() if any(isinstance(v, int) for v in values) else None
    schema = Schema(
        quasi_identifiers=["q"],
        sensitive="d",
        hierarchies={} if hierarchy is None else {"q": hierarchy},
    )
    table = pa.table({"q": pa.array(values, kind), "d": ["x"] * len(values)})
    return Microdata(table, schema).attributes[0]


def labels(values, groups, wanted=None, hierarchy=None):
    found = attribute(values, hierarchy)
    return coarsened(found, np.array(groups), max(groups) + 1, style_of(found, wanted)).labels


@st.composite
def groupings(draw, values):
    """Values with a null or more, and a group for each; no group is empty."""
    rows = draw(st.lists(st.none() | values, min_size=1, max_size=12))
    if all(value is None for value in rows):
        rows.append(draw(values))
    groups = draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    used = sorted(set(groups))
    return rows, [used.index(group) for group in groups]


def members(rows, groups):
    return [
        [row for row, group in zip(rows, groups, strict=True) if group == g]
        for g in range(max(groups) + 1)
    ]


@examples(150, deadline=None)
@given(groupings(st.integers(-20, 60)) | groupings(st.dates(date(2023, 1, 1), date(2024, 1, 1))))
def test_a_range_goes_from_the_least_to_the_greatest_and_says_who_is_missing(grouping):
    rows, groups = grouping
    wanted = []
    for bag in members(rows, groups):
        known = sorted({v for v in bag if v is not None})
        text = " to ".join(str(v) for v in dict.fromkeys([known[0], known[-1]])) if known else None
        wanted.append(f"{text} or missing" if known and None in bag else text)
    assert labels(rows, groups, "range") == wanted


@examples(150, deadline=None)
@given(groupings(st.sampled_from(ORDER)))
def test_a_set_names_every_value_and_a_star_all_there_are(grouping):
    rows, groups = grouping
    domain = [*([None] if None in rows else []), *(v for v in ORDER if v in rows)]
    wanted = []
    for bag in members(rows, groups):
        own = [v for v in domain if v in bag]
        if len(own) == 1:
            wanted.append(own[0])
        elif own == domain:
            wanted.append("*")
        else:
            wanted.append(" | ".join("missing" if v is None else v for v in own))
    assert labels(rows, groups) == wanted


@examples(150, deadline=None)
@given(groupings(st.integers(0, 60)))
def test_a_node_is_the_lowest_that_holds_all_members(grouping):
    rows, groups = grouping

    def node(value, width):
        low = value // width * width
        return f"{low} to {low + width - 1}"

    wanted = []
    for bag in members(rows, groups):
        if len(set(bag)) == 1:
            wanted.append(None if bag[0] is None else str(bag[0]))
            continue
        candidates = ({"missing" if v is None else node(v, w) for v in bag} for w in (5, 20))
        wanted.append(next((one.pop() for one in candidates if len(one) == 1), "*"))
    assert labels(rows, groups, hierarchy=Intervals([5, 20])) == wanted


@pytest.mark.parametrize(
    ("found", "style"),
    [
        (attribute([1, 2]), "range"),
        (attribute([date(2024, 1, 1)]), "range"),
        (attribute(["a", "b"]), "set"),
        (attribute(["a", "b"], Ordered(ORDER)), "range"),
        (attribute([1, 2], Intervals([5])), "hierarchy"),
        (attribute(["12"], Mask(2)), "hierarchy"),
    ],
)
def test_an_attribute_is_written_by_its_kind(found, style):
    assert style_of(found, None) == style
    assert style_of(found, "set") == "set"


TREE = Tree(
    [["a", "a", "*"], ["b", "a", "*"], ["a (level 1)", "Z", "*"], ["a (level 1)+", "Z", "*"]]
)
LEVELS = ["a (level 1)", "a (level 1)+"]


@pytest.mark.parametrize(
    ("found", "style", "says"),
    [
        (attribute([1, 2]), "hierarchy", r"publish.labels: 'q' has no hierarchy with levels"),
        (attribute(["a"], Ordered(ORDER)), "hierarchy", "'q' has no hierarchy"),
        (attribute(["a", "b"]), "range", r"'q' is text without an order; a range .* use set, or"),
        (attribute([1, 2]), "rnage", "'q' cannot be written as 'rnage'; did you mean 'range'"),
    ],
)
def test_a_style_that_means_nothing_is_refused(found, style, says):
    with pytest.raises(PolicyError, match=says):
        style_of(found, style)


@pytest.mark.parametrize(
    ("values", "groups", "style", "hierarchy", "wanted"),
    [
        ([3, 4, 28], [0, 0, 1], "range", Intervals([5]), ["3 to 4", "28"]),
        ([3, 4, 28], [0, 0, 1], "set", Intervals([5]), ["3 | 4", "28"]),
        (["d", "b", "a"], [0, 0, 1], None, Ordered(ORDER[::-1]), ["d to b", "a"]),
        (["a", None], [0, 1], None, None, ["a", None]),
        ([1, None], [0, 1], None, Intervals([5]), ["1", None]),
        (["a", "a"], [0, 0], None, None, ["a"]),
        ([7, 7], [0, 0], None, None, ["7"]),
        # A value that is called like a node with its level stays apart from it.
        (["a", "b", "a", *LEVELS], [0, 0, 1, 2, 3], None, TREE, ["a (level 1)++", "a", *LEVELS]),
    ],
)
def test_labels_by_hand(values, groups, style, hierarchy, wanted):
    assert labels(values, groups, style, hierarchy) == wanted


def test_places_to_sort_by_tell_no_more_than_the_label():
    found = attribute([1, 4, 2, 3, 22], Intervals([5, 20]))
    groups = np.array([0, 0, 1, 1, 2])
    made = coarsened(found, groups, 3, style_of(found, None))
    written, places = made.labels, made.places
    assert written == ["0 to 4", "0 to 4", "22"]
    assert places.tolist() == [[0, 3], [0, 3], [4, 4]]
