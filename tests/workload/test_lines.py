"""What is possible between values: counted one by one, for every kind of column and hierarchy."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

import foreknow as fk
from foreknow.utility.lines import covers_of_groups, line_of

SETTINGS = examples(60, deadline=None)
DAYS = st.dates(dt.date(2023, 11, 20), dt.date(2024, 3, 10))


def laid_out(values, hierarchy=None, type_=None):
    hierarchies = {"q": hierarchy} if hierarchy else {}
    schema = fk.Schema(quasi_identifiers=["q"], sensitive="s", hierarchies=hierarchies)
    table = pa.table({"q": pa.array(values, type_), "s": ["x"] * len(values)})
    (found,) = fk.Microdata(table, schema).attributes
    return found, line_of(found, hierarchy)


def share(values, group, asked, hierarchy=None, style="range", floor=None, type_=None):
    """The share of a label's possible values that a query asks for.

    The group is of the people at some places, the query for some of the values.
    """
    attribute, line = laid_out(values, hierarchy, type_)
    groups = np.array([0 if i in group else 1 for i in range(len(values))])
    n_groups = int(groups.max()) + 1
    floors = None if floor is None else np.array([floor, 0][:n_groups])
    covers = covers_of_groups(attribute, line, groups, n_groups, style, floors)
    wish = np.array([[value in asked] for value in attribute.domain])
    return covers.shares(wish)[covers.of_group[0], 0]


def spelled(values, asked, possible):
    """What is asked for of what is possible: neighbours with all that lies between them."""
    known = sorted(set(values))
    found = []
    for value in possible:
        below = [v for v in known if v <= value]
        above = [v for v in known if v >= value]
        found += [value] * bool(below and above and below[-1] in asked and above[0] in asked)
    return found


@st.composite
def questions(draw, values):
    """Values, who is in the group, and which values are asked for."""
    rows = draw(st.lists(values, min_size=1, max_size=8))
    group = {0, *draw(st.sets(st.integers(0, len(rows) - 1)))}
    asked = draw(st.sets(st.sampled_from(rows)))
    return rows, group, asked


def checked(found, values, group, asked, possible):
    inside = [values[i] for i in group]
    box = [v for v in possible if min(inside) <= v <= max(inside)]
    assert found == pytest.approx(len(spelled(values, asked, box)) / len(box), abs=1e-12)


def day(n):
    return dt.date(2023, 11, 20) + dt.timedelta(n)


def hour(n):
    return dt.datetime(2024, 2, 28) + dt.timedelta(hours=n)


# Whole numbers, intervals, trees and orders are in test_query_error, against enumeration.
@SETTINGS
@given(questions(st.integers(0, 40)), st.sampled_from(["float", "tenth", "decimal", "day", "hour"]))
def test_a_range_holds_all_that_is_possible_between_its_ends(question, kind):
    rows, group, asked = question
    if kind in ("tenth", "decimal") and all(row % 10 == 0 for row in rows):
        rows = [*rows, 1]
    if kind == "hour" and all(row % 24 == 0 for row in rows):
        rows = [*rows, 1]
    made = {
        "float": float,
        "tenth": lambda n: n / 10,
        "decimal": lambda n: Decimal(n).scaleb(-1),
        "day": day,
        "hour": hour,
    }[kind]
    found = share([made(v) for v in rows], group, {made(v) for v in asked})
    checked(found, rows, group, asked, range(41))


def test_of_numbers_with_many_digits_the_length_counts():
    rows = [0.0, 0.123456789012345, 0.75, 1.0]
    assert share(rows, {0, 3}, {0.0, 0.123456789012345}) == pytest.approx(0.123456789, abs=1e-9)
    assert share(rows, {1, 3}, {0.75, 1.0}) == pytest.approx(0.25 / 0.876543211, abs=1e-9)
    # A value alone has no length; a label that is exact is that value.
    assert share(rows, {0, 3}, {0.75}) == pytest.approx(0, abs=1e-9)
    assert share(rows, {2}, {0.75}) == 1


def test_of_numbers_from_the_largest_to_the_smallest_the_length_still_counts():
    rows = [-1e300, 1e-300, 1.0, 1e300]
    assert share(rows, {0, 3}, {1e-300, 1.0, 1e300}) == pytest.approx(0.5)
    for place, value in enumerate(rows):
        assert share(rows, {place}, {value}) == 1
        assert share(rows, {place}, set(rows) - {value}) == 0
    assert share(rows, {0, 1, 2, 3}, set(rows)) == 1
    # Beside an infinite value, values are counted.
    assert share([1.0, 2.0, 90.0, float("inf")], {0, 3}, {1.0, 2.0}) == 0.5


def test_times_with_a_zone_lie_at_their_instant():
    zone = pa.timestamp("s", "Europe/Berlin")  # whose clocks go back on 27 October 2024
    hours = [dt.datetime(2024, 10, 26, 22 + h, tzinfo=dt.UTC) for h in (0, 1)]
    hours += [dt.datetime(2024, 10, 27, h, tzinfo=dt.UTC) for h in (0, 1, 2, 7)]
    _, line = laid_out(hours, type_=zone)
    assert line.cells.tolist() == [0, 1, 2, 3, 4, 9]


def test_the_interval_beside_a_missing_value_does_not_hold_it():
    rows = [None, 13, 14, 20]
    # "10 to 14" as far as the column goes: 13 and 14; "*" is 13 to 20, or missing.
    assert share(rows, {1, 2}, {13}, fk.Intervals([5]), "hierarchy") == 0.5
    assert share(rows, {1, 2}, {None}, fk.Intervals([5]), "hierarchy") == 0
    assert share(rows, {0}, {None, 13}, fk.Intervals([5]), "hierarchy") == 1
    assert share(rows, {0, 1}, {None}, fk.Intervals([5]), "hierarchy") == pytest.approx(1 / 9)


def test_intervals_of_very_many_steps_keep_apart():
    rows = [0.0, 1e-30, 2e-30, 3e-30, 1e30]
    hierarchy = fk.Intervals(["2e-30", "4e-30"])
    for group in ({0, 1}, {2, 3}):
        for place, value in enumerate(rows):
            found = share(rows, group, {value}, hierarchy, "hierarchy")
            assert found == (0.5 if place in group else 0)


def test_an_interval_of_decimal_numbers_counts_by_its_length():
    rows = [0.0, 0.3, 0.4, 0.9, 2.0]
    # "0 to <0.5" holds 0.0, 0.1, ..., 0.4; the query is for 0.0 to 0.3.
    assert share(rows, {0, 2}, {0.0, 0.3}, fk.Intervals(["0.5", 2]), "hierarchy") == 4 / 5
    # Bounds between two steps: "0.5 to <0.75" holds 0.5, 0.6 and 0.7; "0.25 to <0.5" 0.3 and 0.4.
    more = [0.5, 0.6, 0.9]
    assert share(more, {0, 1}, {0.5}, fk.Intervals(["0.25"]), "hierarchy") == pytest.approx(1 / 3)
    assert share(rows, {1, 2}, {0.3}, fk.Intervals(["0.25"]), "hierarchy") == 1 / 2


@SETTINGS
@given(questions(DAYS), st.sampled_from(["day", "month", "quarter", "year", "decade"]))
def test_a_period_holds_its_days_as_far_as_the_column_goes(question, period):
    rows, group, asked = question

    def node(day):
        return {
            "day": day,
            "month": (day.year, day.month),
            "quarter": (day.year, (day.month - 1) // 3),
            "year": day.year,
            "decade": day.year // 10,
        }[period]

    days = [dt.date(2023, 11, 20) + dt.timedelta(n) for n in range(112)]
    everything = [day for day in days if min(rows) <= day <= max(rows)]
    nodes = {node(rows[i]) for i in group}
    box = everything if len(nodes) > 1 else [day for day in everything if node(day) in nodes]
    hierarchy = fk.DateLevels([period])
    wanted = len(spelled(rows, asked, box)) / len(box)
    assert share(rows, group, asked, hierarchy, "hierarchy", 1) == pytest.approx(wanted)
    texts = [day.isoformat() for day in rows]
    told = {day.isoformat() for day in asked}
    assert share(texts, group, told, hierarchy, "hierarchy", 1) == pytest.approx(wanted)


def test_periods_at_the_ends_of_the_calendar():
    rows = [dt.date.min, dt.date(5, 5, 5), dt.date(9995, 5, 5), dt.date.max]
    hierarchy = fk.DateLevels(["decade"])
    first, last = (dt.date(10, 1, 1) - rows[0]).days, (rows[3] - dt.date(9990, 1, 1)).days + 1
    asked = set(rows[:2])
    wanted = ((rows[1] - rows[0]).days + 1) / first
    assert share(rows, {0, 1}, asked, hierarchy, "hierarchy") == pytest.approx(wanted)
    asked = set(rows[2:])
    wanted = ((rows[3] - rows[2]).days + 1) / last
    assert share(rows, {2, 3}, asked, hierarchy, "hierarchy") == pytest.approx(wanted)


def test_a_range_of_an_order_holds_what_lies_between():
    order = fk.Ordered(["low", "middle", "high", "top"])
    assert share(["low", "high", "top"], {0, 1}, {"low"}, order) == pytest.approx(1 / 3)
    assert share(["low", "high", "top"], {0, 1}, {"low", "high"}, order) == 1


def test_of_texts_and_masked_codes_those_that_occur_are_possible():
    assert share(list("axz"), {0, 2}, {"a"}, style="set") == 0.5
    assert share(list("axz"), {0}, {"a"}, style="set", floor=1) == pytest.approx(1 / 3)
    codes = ["120", "127", "131"]
    assert share(codes, {0, 1}, {"127"}, fk.Mask(3), "hierarchy") == 0.5
    assert share(codes, {0, 2}, {"127"}, fk.Mask(3), "hierarchy") == pytest.approx(1 / 3)


def test_a_set_holds_its_values_and_a_missing_one_is_one_more():
    rows = [20, 30, 40, None]
    assert share(rows, {0, 2}, {20, 30}, style="set") == 0.5
    assert share(rows, {0, 2, 3}, {20, 30}, style="set") == pytest.approx(1 / 3)
    assert share(rows, {0, 1, 3}, {20, 30}) == pytest.approx(11 / 12)
    # All values that there are: written "*", like a value that is suppressed.
    assert share(rows, {0, 1, 2, 3}, {20, 30}, style="set") == pytest.approx(11 / 22)
    assert share(rows, {3}, {None, 20}) == 1
