"""Extents: what a label covers holds every member of its group, with nothing but labels at hand."""

from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import examples

import foreknow as fk
from foreknow.data.generalization import coarsened, style_of
from foreknow.data.hierarchy import DateLevels, Intervals, Ordered, Tree
from foreknow.data.microdata import Microdata
from foreknow.publishing.extents import Extent, Extents

ORDER = ["low", "mild", "severe", "a to b"]
ROWS = [["a", "With", "*"], ["b", "With", "*"], ["c", "Alone", "*"], ["d", "Alone", "*"]]
DAYS = st.dates(date(2023, 1, 1), date(2025, 6, 1))
NUMBERS = st.decimals("-30", "60", places=1).map(float)
# What labels are made of, among others; and words that only look like labels.
NASTY = st.sampled_from(["a", "b", "other", "a | b", "missing", '"a"', "c|d", "a to b", "20"])
KINDS = {
    "whole": (st.integers(-30, 90), None, "number"),
    "decimal": (NUMBERS, None, "number"),
    "intervals": (NUMBERS, Intervals(["2.5", "10"]), "number"),
    "days": (DAYS, None, "date"),
    "periods": (DAYS, DateLevels(["month", "quarter", "year", "decade"]), "date"),
    "texts": (st.sampled_from("abcdef"), None, "text"),
    "order": (st.sampled_from(ORDER), Ordered(ORDER), "text"),
    "tree": (st.sampled_from("abcd"), Tree(ROWS), "text"),
}


def grouped(values, hierarchy, groups, style=None):
    """The label of each row."""
    hierarchies = {} if hierarchy is None else {"q": hierarchy}
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="d", hierarchies=hierarchies)
    table = pa.table({"q": values, "d": ["x"] * len(values)})
    (attribute,) = Microdata(table, schema).attributes
    made = coarsened(attribute, groups, int(groups.max()) + 1, style_of(attribute, style))
    return [made.labels[group] for group in groups]


def covers(extent, value):
    if extent.everything:
        return True
    if value is None:
        return extent.missing
    if extent.members:
        return value in extent.members
    low, high = extent.lower, extent.upper
    return low is not None and low <= value <= high


@st.composite
def rows(draw, values):
    given_ = draw(st.lists(st.none() | values, min_size=1, max_size=14))
    given_ += [draw(values)]
    groups = draw(st.lists(st.integers(0, 3), min_size=len(given_), max_size=len(given_)))
    return given_, np.unique(groups, return_inverse=True)[1]


@pytest.mark.parametrize("kind", KINDS)
@examples(3000, 20, deadline=None)
@given(data=st.data())
def test_labels_cover_all_members(kind, data):
    values, hierarchy, about = KINDS[kind]
    own, groups = data.draw(rows(values))
    labels = grouped(own, hierarchy, groups)
    known = {"order": {"about": "text", "order": ORDER}, "tree": {"about": "text", "tree": ROWS}}
    known |= {kind: {"about": about} for kind in ("intervals", "periods")}
    found = Extents(labels, **known.get(kind, {}))
    for value, label in zip(own, labels, strict=True):
        extent = found.of[label]
        assert covers(extent, value), (label, extent, value)
        if extent.exact and value is not None and about != "text":
            assert extent.lower == extent.upper == value
    if any(label is not None and not found.of[label].everything for label in labels):
        assert found.about == about


@examples(3000, 50, deadline=None)
@given(data=st.data())
def test_texts_like_labels_stay_texts(data):
    """Where a set stands in quotes, a bare value is what it says."""
    own, groups = data.draw(rows(NASTY))
    own += ["a | b", "c|d"]  # a set, in quotes
    groups = np.append(groups, [groups.max() + 1] * 2)
    labels = grouped(own, None, groups)
    assume(labels[-1] != "*")
    found = Extents(labels, "text")
    for value, label in zip(own, labels, strict=True):
        assert covers(found.of[label], value), (label, found.of[label], value)


def test_labels_know_kind_and_width():
    ages = Extents(["20 to 29", "35", "*", None, "40 or missing"])
    assert [ages.of[text].size for text in ("20 to 29", "35", "*", None)] == [10, 1, 0, 0]
    assert ages.of[None] == Extent(missing=True)
    assert [ages.of[text].exact for text in ("40 or missing", "35")] == [False, True]
    half = Extents(["0 to <0.5", "0.5 to <1"])
    assert (half.whole, half.of["0 to <0.5"].first, half.of["0 to <0.5"].last) == (False, 0, 4)
    assert not Extents(["0 to <1", "3"]).of["0 to <1"].exact
    assert Extents(["2024-01-31", "2024"]).of["2024"].size == 366
    hours = Extents(["2024-01-31 05h", "2024-01-31 07:30:00"])
    assert hours.of["2024-01-31 05h"].upper == datetime(2024, 1, 31, 5, 59)
    codes = Extents(["02138", "01234 to 02000"])
    assert (codes.about, Extents(["1e300", "2"]).about) == ("text", "text")
    assert codes.of["02138"].members == ("02138",)


def test_uninformative_labels_have_no_members():
    masked = Extents(["02138", "0213*", "*"], "text", above="mask")
    assert [masked.of[text].members for text in ("02138", "0213*")] == [("02138",), ()]
    nodes = Extents(["With partner", "Married", "missing"], "text", above="tree")
    assert nodes.of["Married"].members == nodes.of["With partner"].members == ()
    assert nodes.of["missing"] == Extent(missing=True)
    assert Extents(["missing", "a"]).of["missing"].members == ("missing",)
