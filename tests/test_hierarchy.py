"""Hierarchies: examples, every message, and what holds of any domain."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreknow.errors import HierarchyError
from foreknow.hierarchy import DateLevels, Hierarchy, Intervals, Levels, Mask
from foreknow.hierarchy_files import Ordered, Tree, hierarchy_from

DISEASES = [
    ["flu", "viral", "lung", "*"],
    ["ulcer", "acid", "stomach", "*"],
    ["cold", "viral", "lung", "*"],
    ["asthma", "chronic", "lung", "*"],
]


def never(position: int) -> int:
    raise AssertionError("first_row is for messages only")


def lay(hierarchy: Hierarchy, domain: list[Any]) -> Levels:
    """Levels of a domain, after checking everything that is promised of any."""
    levels = hierarchy.levels(domain, "c", never)
    assert sorted(levels.order.tolist()) == list(range(len(domain)))
    assert levels.order.dtype == np.int64
    if None in domain:
        assert domain[levels.order[0]] is None
    assert len(levels.ancestors) == len(levels.labels)
    below = np.arange(len(domain))
    for nodes, labels in zip(levels.ancestors, levels.labels, strict=True):
        assert nodes.dtype == np.int64
        assert nodes.shape == (len(domain),)
        if len(nodes):
            assert nodes[0] == 0
            assert set(np.diff(nodes).tolist()) <= {0, 1}
            assert len(labels) == nodes[-1] + 1
            assert not np.any((np.diff(below) == 0) & (np.diff(nodes) != 0)), "levels nest"
        assert len(set(labels)) == len(labels)
        below = nodes
    if levels.labels:
        assert levels.labels[-1] == ("*",)
        assert all(("missing" in labels) == (None in domain) for labels in levels.labels[:-1])
    return levels


def path_of(levels: Levels, domain: list[Any], value: Any) -> list[str]:
    """Labels above one value."""
    leaf = [domain[i] for i in levels.order.tolist()].index(value)
    return [
        labels[nodes[leaf]] for nodes, labels in zip(levels.ancestors, levels.labels, strict=True)
    ]


def in_leaf_order(hierarchy: Hierarchy, domain: list[Any]) -> list[Any]:
    return [domain[i] for i in lay(hierarchy, domain).order.tolist()]


def refusal(hierarchy: Hierarchy, domain: list[Any], column: str = "c") -> str:
    with pytest.raises(HierarchyError) as caught:
        hierarchy.levels(domain, column, lambda i: 10 * i + 7)
    return str(caught.value)


# ---- intervals ----------------------------------------------------------------------------


def test_intervals_of_whole_numbers():
    domain = [27, None, 3, -1, 40]
    levels = lay(Intervals([5, 20]), domain)
    assert [domain[i] for i in levels.order] == [None, -1, 3, 27, 40]
    assert levels.labels == (
        ("missing", "-5 to -1", "0 to 4", "25 to 29", "40 to 44"),
        ("missing", "-20 to -1", "0 to 19", "20 to 39", "40 to 59"),
        ("*",),
    )
    assert [a.tolist() for a in levels.ancestors] == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0] * 5]


def test_intervals_start_at_the_origin():
    assert path_of(lay(Intervals([10, 50], origin=18), [17]), [17], 17) == [
        "8 to 17",
        "-32 to 17",
        "*",
    ]
    assert lay(Intervals([10], origin="0.5"), [10]).labels[0] == ("0.5 to <10.5",)


def test_intervals_of_width_one():
    assert lay(Intervals([1, 2]), [4, 5]).labels[:2] == (("4", "5"), ("4 to 5",))


def test_boundaries_are_decimal():
    domain = [n / 10 for n in range(-20, 20)]
    levels = lay(Intervals([0.1, "0.5"]), domain)
    assert path_of(levels, domain, 0.3) == ["0.3 to <0.4", "0 to <0.5", "*"]
    assert path_of(levels, domain, -0.3) == ["-0.3 to <-0.2", "-0.5 to <0", "*"]
    assert levels.ancestors[0].tolist() == list(range(40))
    assert 0.3 // 0.1 == 2, "which is why"


@pytest.mark.parametrize(
    ("domain", "label"),
    [
        ([7], "5 to 9"),
        ([7.0], "5 to <10"),
        ([Decimal("7.5")], "5 to <10"),
        ([7, 7.5], "5 to <10"),
        ([None, 7], "5 to 9"),
    ],
)
def test_labels_are_half_open_unless_all_is_whole(domain, label):
    assert lay(Intervals([5]), domain).labels[0][-1] == label
    assert lay(Intervals([Decimal(5)]), domain).labels[0][-1] == label
    assert lay(Intervals(["2.5", 5]), [7]).labels[1] == ("5 to <10",)


def test_mixed_numbers_sort_as_printed():
    domain = [Decimal("0.30"), 0.25, 1, Decimal("-1E+30"), 2**70]
    assert in_leaf_order(Intervals(["0.1"]), domain) == sorted(domain)


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_beyond_machine_integers(sign):
    domain = [sign * 2**63, sign * (2**63 + 10), sign * 10**300, 3]
    for width in (10, "0.1", 10**100):
        levels = lay(Intervals([width]), domain)
        assert [domain[i] for i in levels.order] == sorted(domain)
    assert path_of(lay(Intervals([10]), domain), domain, 10**300 * sign)[0].startswith(
        str(sign * 10**300)[:50]
    )
    edge = [2**62 - 1, -(2**62), 2**63 - 1, -(2**63)]
    assert in_leaf_order(Intervals([7]), edge) == sorted(edge)
    assert lay(Intervals([1e-300]), [1e-300, 0.0, 1.0]).labels[0][0] == (
        "0 to <0." + "0" * 299 + "1"
    )


@pytest.mark.parametrize("empty", [[], [None]])
@pytest.mark.parametrize(
    "hierarchy",
    [Intervals([5, 10]), Mask(3), DateLevels(["day", "year"]), Tree(DISEASES), Ordered(["a"])],
)
def test_levels_do_not_depend_on_the_values(hierarchy, empty):
    levels = lay(hierarchy, empty)
    inner = max(len(levels.labels) - 1, 0)
    assert len(levels.labels) == (0 if isinstance(hierarchy, Ordered) else 3)
    assert levels.labels[:inner] == (("missing",) * len(empty),) * inner


@pytest.mark.parametrize(
    ("widths", "origin", "message"),
    [
        ([4, 10], 0, "intervals must nest: 10 is not a multiple of 4"),
        (["0.5", 0.75], 0, "intervals must nest: 0.75 is not a multiple of 0.5"),
        ([10, 10], 0, "interval widths must increase: 10 comes after 10"),
        ([0], 0, "an interval width must be above 0, not 0"),
        ([5, -5], 0, "an interval width must be above 0, not -5"),
        ([], 0, "intervals need at least one width"),
        ([True], 0, "an interval width must be a number, not True"),
        (["x"], 0, "an interval width must be a number, not 'x'"),
        ([None], 0, "an interval width must be a number, not None"),
        ([float("inf")], 0, "an interval width must be a finite number of usual size, not inf"),
        (["1e999"], 0, "an interval width must be a finite number of usual size, not 1e999"),
        (["1e-999"], 0, "an interval width must be a finite number of usual size, not 1e-999"),
        (5, 0, "interval widths must be a list, not 5"),
        ("5", 0, "interval widths must be a list, not '5'"),
        ([5], "x", "the origin must be a number, not 'x'"),
        ([5], float("nan"), "the origin must be a finite number of usual size, not nan"),
    ],
)
def test_widths_are_checked(widths, origin, message):
    with pytest.raises(HierarchyError) as caught:
        Intervals(widths, origin)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("value", "shown", "why"),
    [
        ("7", "'7'", "intervals need numbers"),
        (True, "True", "intervals need numbers"),
        (date(2024, 1, 2), "2024-01-02", "intervals need numbers"),
        (float("nan"), "nan", "intervals need finite numbers"),
        (Decimal("Infinity"), "Infinity", "intervals need finite numbers"),
        (Decimal("1E+999999"), "1E+999999", "it is too large"),
    ],
)
def test_values_outside_intervals(value, shown, why):
    assert refusal(Intervals([5]), [3, value], "age") == (
        f"column 'age': the value {shown} (first in row 17) is outside its hierarchy: {why}"
    )


decimals = st.decimals(-1000, 1000, places=3)
numbers = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), decimals, st.integers(-50, 50)
)


@given(
    st.lists(numbers | st.none(), unique=True),
    decimals.filter(lambda width: width > 0),
    st.lists(st.integers(2, 5), max_size=3),
    decimals,
)
def test_intervals_contain_their_values(domain, width, factors, origin):
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    levels = lay(Intervals(widths, origin), domain)
    for leaf, position in enumerate(levels.order.tolist()):
        value = domain[position]
        if value is None:
            continue
        exact = Fraction(str(value))
        for each, nodes, labels in zip(widths, levels.ancestors, levels.labels, strict=False):
            low, high = map(Fraction, labels[nodes[leaf]].split(" to <"))
            assert low <= exact < high
            assert high - low == Fraction(each)
            assert (low - Fraction(origin)) % Fraction(each) == 0
    values = [Fraction(str(domain[i])) for i in levels.order if domain[i] is not None]
    assert values == sorted(values)


@given(st.lists(st.integers(), unique=True), st.integers(2, 2**70), st.integers())
def test_whole_intervals_contain_their_values(domain, width, origin):
    levels = lay(Intervals([width, 3 * width], origin), domain)
    for leaf, position in enumerate(levels.order.tolist()):
        for each, nodes, labels in zip(
            (width, 3 * width), levels.ancestors[:2], levels.labels[:2], strict=True
        ):
            low, high = map(int, labels[nodes[leaf]].split(" to "))
            assert low <= domain[position] <= high
            assert high - low == each - 1
            assert (low - origin) % each == 0


# ---- masks --------------------------------------------------------------------------------


def test_mask():
    domain = ["1309", "1301", "2301", None, "1401"]
    levels = lay(Mask(4), domain)
    assert [domain[i] for i in levels.order] == [None, "1301", "1309", "1401", "2301"]
    assert levels.labels == (
        ("missing", "130*", "140*", "230*"),
        ("missing", "13**", "14**", "23**"),
        ("missing", "1***", "2***"),
        ("*",),
    )


def test_mask_of_numbers_and_another_character():
    assert lay(Mask(3, "x"), [131, "127"]).labels == (("12x", "13x"), ("1xx",), ("*",))
    assert lay(Mask(1), ["a", "b"]).labels == (("*",),)
    assert lay(Mask(2), ["a\0", "a\1"]).labels[0] == ("a*",)


@pytest.mark.parametrize(
    ("length", "value", "shown", "why"),
    [
        (5, "1234", "'1234'", "a mask of 5 needs 5 characters"),
        (5, 123456, "123456", "a mask of 5 needs 5 characters"),
        (1, "", "''", "a mask of 1 needs 1 character"),
        (4, True, "True", "a mask needs text or whole numbers"),
        (3, 1.5, "1.5", "a mask needs text or whole numbers"),
    ],
)
def test_values_outside_a_mask(length, value, shown, why):
    domain = ["1" * length, value]
    assert refusal(Mask(length), domain, "zip") == (
        f"column 'zip': the value {shown} (first in row 17) is outside its hierarchy: {why}"
    )


@pytest.mark.parametrize("length", [0, -1, True, "5", 2.0])
def test_mask_length_is_checked(length):
    with pytest.raises(HierarchyError, match="a mask length must be a whole number from 1, not"):
        Mask(length)


@pytest.mark.parametrize("character", ["", "**", 0])
def test_mask_character_is_checked(character):
    with pytest.raises(HierarchyError, match="must be one character of text, not"):
        Mask(3, character)


@given(st.lists(st.text(min_size=4, max_size=4) | st.none(), unique=True))
def test_masks_keep_prefixes(domain):
    levels = lay(Mask(4), domain)
    assert len(levels.labels) == 4
    for leaf, position in enumerate(levels.order.tolist()):
        if domain[position] is not None:
            for j, (nodes, labels) in enumerate(
                zip(levels.ancestors[:3], levels.labels[:3], strict=True), 1
            ):
                assert labels[nodes[leaf]] == domain[position][: 4 - j] + "*" * j


# ---- dates --------------------------------------------------------------------------------


def test_dates():
    domain = [date(2024, 12, 31), date(2024, 3, 5), None, date(2019, 4, 1), date(24, 4, 1)]
    levels = lay(DateLevels(("day", "month", "quarter", "year", "decade")), domain)
    assert [domain[i] for i in levels.order] == [None, *sorted(d for d in domain if d)]
    assert path_of(levels, domain, date(2024, 3, 5)) == [
        "2024-03-05",
        "2024-03",
        "2024-Q1",
        "2024",
        "2020s",
        "*",
    ]
    assert path_of(levels, domain, date(24, 4, 1))[1:] == [
        "0024-04",
        "0024-Q2",
        "0024",
        "0020s",
        "*",
    ]


def test_default_date_levels():
    assert lay(DateLevels(), ["2024-03-05"]).labels == (
        ("2024-03",),
        ("2024-Q1",),
        ("2024",),
        ("2020s",),
        ("*",),
    )


def test_date_times_of_any_zone_follow_their_own_clock():
    west = timezone(timedelta(hours=-5))
    domain = [
        datetime(2024, 3, 6, 0, 10, tzinfo=UTC),
        datetime(2024, 3, 5, 23, 30, tzinfo=west),  # later, but the day before
        datetime(2024, 3, 6, 12),
        "2024-03-05T10:00:00",
        date(2024, 3, 5),
    ]
    levels = lay(DateLevels(["day"]), domain)
    assert levels.order.tolist() == [4, 3, 1, 0, 2]
    assert levels.labels[0] == ("2024-03-05", "2024-03-06")


@pytest.mark.parametrize("value", ["2024-13-01", "spring", "", 20240305, True])
def test_values_outside_dates(value):
    assert refusal(DateLevels(), ["2024-03-05", value], "born") == (
        f"column 'born': the value {value!r} (first in row 17) is outside its hierarchy: "
        "date levels need dates, date-times or text like 2024-03-05"
    )


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (["week", "month"], "weeks do not nest in months: leave 'week' out, or use 'day'"),
        (["months"], "there is no date level 'months'; did you mean 'month'?"),
        ([["month"]], "there is no date level ['month']"),
        (["year", "month"], "date levels must coarsen: 'month' comes after 'year'"),
        (["year", "year"], "date levels must coarsen: 'year' comes after 'year'"),
        ([], "date levels need at least one of day, month, quarter, year, decade"),
        ("month", "date levels must be a list, not 'month'"),
    ],
)
def test_date_levels_are_checked(levels, message):
    with pytest.raises(HierarchyError) as caught:
        DateLevels(levels=levels)
    assert str(caught.value).startswith(message)


@given(
    st.lists(st.datetimes() | st.dates().map(date.isoformat) | st.none(), unique=True),
    st.sets(st.sampled_from(["day", "month", "quarter", "year", "decade"]), min_size=1),
)
def test_dates_keep_time_order(domain, periods):
    chosen = [p for p in ("day", "month", "quarter", "year", "decade") if p in periods]
    levels = lay(DateLevels(chosen), domain)
    days = [str(domain[i])[:10] for i in levels.order if domain[i] is not None]
    assert days == sorted(days)
    assert all(a < b for names in levels.labels[:-1] for a, b in pairwise(names) if a != "missing")


# ---- orders -------------------------------------------------------------------------------


def test_ordered():
    domain = ["high", None, "low", "middle"]
    levels = lay(Ordered(["low", "middle", "high", "unused"]), domain)
    assert [domain[i] for i in levels.order] == [None, "low", "middle", "high"]
    assert levels.ancestors == levels.labels == ()


def test_ordered_tells_true_from_one():
    assert in_leaf_order(Ordered([True, False, 1, 0.1]), [1, Decimal("0.1"), True]) == [
        True,
        1,
        Decimal("0.1"),
    ]
    assert "the value True (first in row 7)" in refusal(Ordered([1]), [True])


def test_values_outside_an_order():
    assert refusal(Ordered(["low", "high"]), ["low", "hihg"], "income") == (
        "column 'income': the value 'hihg' (first in row 17) is outside its hierarchy: "
        "it is not in the order; did you mean 'high'?"
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b", "a"], "the value 'a' is twice in the order"),
        ([1, 1.0], "the value 1.0 is twice in the order"),
        (["a", None], "an order lists texts, numbers or dates, not None"),
        ([["a"]], "an order lists texts, numbers or dates, not ['a']"),
        ("ab", "an order must be a list, not 'ab'"),
    ],
)
def test_orders_are_checked(values, message):
    with pytest.raises(HierarchyError) as caught:
        Ordered(values)
    assert str(caught.value) == message


# ---- trees --------------------------------------------------------------------------------


def test_tree_keeps_siblings_together_in_order_of_appearance():
    domain = ["asthma", "ulcer", None, "cold", "flu"]
    levels = lay(Tree(DISEASES), domain)
    assert [domain[i] for i in levels.order] == [None, "flu", "cold", "asthma", "ulcer"]
    assert levels.labels == (
        ("missing", "viral", "chronic", "acid"),
        ("missing", "lung", "stomach"),
        ("*",),
    )
    assert [a.tolist() for a in levels.ancestors] == [[0, 1, 1, 2, 3], [0, 1, 1, 1, 2], [0] * 5]


def test_tree_values_that_do_not_occur_leave_no_trace():
    levels = lay(Tree(DISEASES), ["ulcer", "asthma"])
    assert levels.labels == (("chronic", "acid"), ("lung", "stomach"), ("*",))


def test_tree_gets_a_top_where_it_has_none():
    rows = [["a", "A"], ["b", "B"]]
    assert lay(Tree(rows), ["a", "b"]).labels == (("A", "B"), ("*",))
    assert lay(Tree([[*row, "Any"] for row in rows]), ["a", "b"]).labels == (("A", "B"), ("*",))
    assert lay(Tree([["a", "A"], ["b", "A"]]), ["a", None]).labels == (("*",),)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7, "7"),
        (7.0, "7.0"),
        (7.0, "7"),
        (7.5, "7.5"),
        (Decimal("7.50"), "7.50"),
        (True, "True"),
        (True, "true"),
        (False, "false"),
        (date(2024, 3, 5), "2024-03-05"),
        (datetime(2024, 3, 5, 1), "2024-03-05T01:00:00"),
        (datetime(2024, 3, 5, 1), "2024-03-05 01:00:00"),
        (" a", "a"),
        ("a", "a "),
        ("", ""),
        (7, 7),
        (True, True),
    ],
)
def test_tree_matches_by_text(value, text):
    assert lay(Tree([[text, "x", "*"], ["other", "y", "*"]]), [value]).labels[0] == ("x",)


def test_tree_puts_values_of_one_text_together():
    tree = Tree([["1", "odd"], ["2", "even"], ["3", "odd"]])
    assert lay(tree, ["3", "1", 2, 1, "2"]).labels[0] == ("odd", "even")


def test_same_label_on_two_levels_and_equal_rows():
    rows = [["a", "other", "other"], ["b", "x", "other"], ["c", "y", "z"], ["a", "other", "other"]]
    assert lay(Tree(rows), ["c", "b", "a"]).labels[:2] == (("other", "x", "y"), ("other", "z"))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "a tree needs at least one row: a value and its levels"),
        ([["a", "*"], ["b"]], "row 2: needs a value and at least one level"),
        ([["a", "*"], ["b", "x", "*"]], "row 2: 3 columns, but row 1 has 2"),
        (
            [["a", "x"], ["a", "y"]],
            "row 2: the value 'a' is already in row 1, with other ancestors",
        ),
        (
            [["a", "x", "A"], ["c", "y", "B"], ["b", "x", "B"]],
            "row 3: 'x' of level 1 lies in 'B' here, but in 'A' in row 1",
        ),
        ([["a", "", "*"]], "row 1: there is no label for level 1"),
        ([["a", None, "*"]], "row 1: None is neither text nor number"),
        (["a;*"], "a row of a tree must be a list, not 'a;*'"),
        ("a;*", "a tree must be a list, not 'a;*'"),
    ],
)
def test_trees_are_checked(rows, message):
    with pytest.raises(HierarchyError) as caught:
        Tree(rows)
    assert str(caught.value).startswith(message)


def test_values_outside_a_tree(tmp_path):
    assert refusal(Tree(DISEASES), ["flu", "fluu"], "disease") == (
        "column 'disease': the value 'fluu' (first in row 17) is outside its hierarchy: "
        "the tree does not list it; did you mean 'flu'?"
    )
    (tmp_path / "d.csv").write_text("flu;*\n")
    assert "hierarchy file 'd.csv' does not list it" in refusal(Tree.read("d.csv", tmp_path), [3])


def test_a_node_that_reads_like_a_null_is_refused():
    tree = Tree([["a", "missing"], ["b", "known"]])
    assert lay(tree, ["b"]).labels == (("known",), ("*",))
    with pytest.raises(HierarchyError, match="column 'c': level 1 has a node 'missing'"):
        tree.levels(["a", None], "c", never)


@given(st.data())
def test_trees_of_any_shape(data):
    n = data.draw(st.integers(1, 12))
    parents = [data.draw(st.integers(0, 4)) for _ in range(n)]
    above = [data.draw(st.integers(0, 2)) for _ in range(5)]
    rows = [[f"v{i}", f"a{p}", f"b{above[p]}"] for i, p in enumerate(parents)]
    rows = data.draw(st.permutations(rows))
    domain = data.draw(st.lists(st.sampled_from([row[0] for row in rows]), unique=True))
    levels = lay(Tree(rows), domain)
    by_value = {row[0]: row[1:] for row in rows}
    shared = len({row[-1] for row in rows}) == 1
    for value in domain:
        expected = by_value[value][:-1] if shared else by_value[value]
        assert path_of(levels, domain, value) == [*expected, "*"]
    places = [[row[0] for row in rows].index(domain[i]) for i in levels.order]
    for a, b in pairwise(places):
        assert a < b or rows[a][1] != rows[b][1], "siblings come in the order of the rows"


# ---- files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"a;x, y;*\nb;z;*\n",
        b"\xef\xbb\xbfa;x, y;*\r\nb;z;*\r\n",
        b"\n  \na; x, y ;*\n\nb ; z ; *",
        b'"a","x, y","*"\n"b","z","*"\n',
        b'"a", "x, y", *\nb, z, *\n',
        b"a\tx, y\t*\nb\tz\t*\n",
        b'"a"\t"x, y"\t"*"\rb\tz\t*\r',
    ],
)
def test_files_of_many_makes(tmp_path, content):
    (tmp_path / "h.csv").write_bytes(content)
    assert Tree.read(tmp_path / "h.csv").rows == (("a", "x, y", "*"), ("b", "z", "*"))


def test_quoted_delimiters_do_not_decide(tmp_path):
    (tmp_path / "h.csv").write_text('"a;""1""",x,*\nb,x,*\n')
    assert Tree.read("h.csv", tmp_path).rows[0] == ('a;"1"', "x", "*")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "hierarchy file 'PATH' is empty; it needs rows like"),
        (b"\xef\xbb\xbf\n \n", "hierarchy file 'PATH' is empty"),
        (b"a;x\nb;\xe9\n", "hierarchy file 'PATH', line 2: not UTF-8; save the file as UTF-8"),
        ("a;x\n".encode("utf-16"), "hierarchy file 'PATH', line 1: not UTF-8"),
        (b'a;x\nb;"y\nc;z\n', "hierarchy file 'PATH', line 2: unexpected end of data; check"),
        (b'a;x\n"b"c;y\n', "hierarchy file 'PATH', line 2: "),
        (b"a;x\n\nb;x;y\n", "hierarchy file 'PATH', line 3: 3 columns, but line 1 has 2"),
        (b"a|x\n", "hierarchy file 'PATH', line 1: needs a value and at least one level"),
        (b"\na;x\na;y\n", "hierarchy file 'PATH', line 3: the value 'a' is already in line 2"),
        (
            b'a;x;A\n"c\nd";y;B\nb;x;B\n',
            "hierarchy file 'PATH', line 4: 'x' of level 1 lies in 'B' here, but in 'A' in line 1",
        ),
    ],
)
def test_files_are_checked(tmp_path, content, message):
    path = tmp_path / "h.csv"
    path.write_bytes(content)
    with pytest.raises(HierarchyError) as caught:
        Tree.read(path)
    assert str(caught.value).startswith(message.replace("PATH", str(path)))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(HierarchyError, match=r"hierarchy file '.*none.csv' does not exist"):
        Tree.read("none.csv", tmp_path)
    with pytest.raises(HierarchyError, match=r"cannot be read: "):
        Tree.read(tmp_path)
    with pytest.raises(HierarchyError, match=r"cannot be read: "):
        Tree.read("a\0b")


# ---- policy tables ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "hierarchy"),
    [
        ({"intervals": [5, 10]}, Intervals([5, 10])),
        ({"intervals": [0.1, "0.5"], "origin": 18}, Intervals([0.1, "0.5"], 18)),
        ({"mask": 5}, Mask(5)),
        ({"mask": 5, "character": "x"}, Mask(5, "x")),
        ({"dates": ["month", "year"]}, DateLevels(["month", "year"])),
        ({"order": ["low", "high"]}, Ordered(["low", "high"])),
        ({"rows": [list(row) for row in DISEASES]}, Tree(DISEASES)),
    ],
)
def test_policy_tables_go_round(spec, hierarchy):
    assert hierarchy_from(spec, "c", Path()) == hierarchy
    assert hierarchy.to_dict() == spec
    assert hierarchy_from(json.loads(json.dumps(spec)), "c", Path()) == hierarchy
    assert hash(hierarchy) == hash(hierarchy_from(spec, "c", Path()))


def test_decimals_go_round_as_text():
    hierarchy = Intervals([Decimal("0.10"), Decimal("1E+1")], Decimal("-2.5"))
    assert hierarchy.to_dict() == {"intervals": ["0.10", "1E+1"], "origin": "-2.5"}
    assert hierarchy_from(hierarchy.to_dict(), "c", Path()) == hierarchy


def test_files_start_at_the_folder_and_stay_relative(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "h.csv").write_text("a;x;*\n")
    tree = hierarchy_from({"file": "sub/h.csv"}, "c", tmp_path)
    assert tree.to_dict() == {"file": "sub/h.csv"}
    assert hierarchy_from(tree.to_dict(), "c", tmp_path) == tree
    assert repr(tree) == "Tree(1 values, 2 levels from 'sub/h.csv')"
    whole = str(tmp_path / "sub" / "h.csv")
    assert hierarchy_from({"file": whole}, "c", Path("elsewhere")).to_dict() == {"file": whole}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (5, "the hierarchy of column 'age' must be a table like { mask = 5 }, not 5"),
        ({}, "the hierarchy of column 'age' needs exactly one of intervals, mask, dates, order,"),
        ({"origin": 3}, "the hierarchy of column 'age' needs exactly one of intervals, mask,"),
        (
            {"mask": 5, "order": ["a"]},
            "the hierarchy of column 'age' needs exactly one of intervals, mask, dates, order, "
            "file, rows; it has 'mask' and 'order'",
        ),
        (
            {"interval": [5]},
            "the hierarchy of column 'age' has an unknown key 'interval'; "
            "did you mean 'intervals'?",
        ),
        (
            {"mask": 5, "origin": 1},
            "the hierarchy of column 'age': 'origin' goes with 'intervals', not 'mask'",
        ),
        ({"intervals": 5}, "column 'age', 'intervals': interval widths must be a list, not 5"),
        ({"intervals": [4, 10]}, "column 'age', 'intervals': intervals must nest: 10 is not"),
        (
            {"intervals": [5], "origin": True},
            "column 'age', 'intervals' and 'origin': the origin must be a number, not True",
        ),
        ({"mask": "5"}, "column 'age', 'mask': a mask length must be a whole number from 1"),
        ({"mask": True}, "column 'age', 'mask': a mask length must be a whole number from 1"),
        ({"dates": "month"}, "column 'age', 'dates': date levels must be a list, not 'month'"),
        ({"order": {"a": 1}}, "column 'age', 'order': an order must be a list, not {'a': 1}"),
        ({"file": 5}, "column 'age', 'file': a path must be text, not 5"),
        ({"file": "none.csv"}, "column 'age', 'file': hierarchy file 'none.csv' does not exist"),
        ({"rows": []}, "column 'age', 'rows': a tree needs at least one row"),
    ],
)
def test_policy_tables_are_checked(spec, message):
    with pytest.raises(HierarchyError) as caught:
        hierarchy_from(spec, "age", Path())
    assert str(caught.value).startswith(message)


def test_reprs():
    assert repr(DateLevels(["year"])) == "DateLevels(levels=('year',))"
    assert repr(Mask(5)) == "Mask(length=5, character='*')"
    assert repr(Tree(DISEASES)) == "Tree(4 values, 3 levels)"
