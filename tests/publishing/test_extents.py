"""Extents: what a label covers holds every member of its group, with nothing but labels at hand."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import foreknow as fk
from foreknow.data.generalization import coarsened, style_of
from foreknow.data.hierarchy import DateLevels, Intervals, Ordered, Tree
from foreknow.data.microdata import Microdata
from foreknow.publishing.extents import Extents

ORDER = ["low", "mild", "severe", "a to b"]
ROWS = [["a", "With", "*"], ["b", "With", "*"], ["c", "Alone", "*"], ["d", "Alone", "*"]]
DAYS = st.dates(date(2023, 1, 1), date(2025, 6, 1))
NUMBERS = st.decimals("-30", "60", places=1).map(float)
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
def test_every_member_of_a_group_lies_in_what_its_label_covers(kind, data):
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
