"""Published labels are read back as what they cover; what cannot be read is refused."""

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.errors import DataError
from foreknow.utility.lines import codes_of_texts, covers_of_groups, covers_of_texts, line_of


def attribute(values, hierarchy=None, type_=None):
    """The attribute of a column, and its line."""
    schema = fk.Schema(
        quasi_identifiers=["q"], sensitive="s", hierarchies={"q": hierarchy} if hierarchy else {}
    )
    table = pa.table({"q": pa.array(values, type_), "s": ["x"] * len(values)})
    (found,) = fk.Microdata(table, schema).attributes
    return found, line_of(found, hierarchy)


def covered(found, text, style):
    covers = covers_of_texts(*found, [text], style)
    return [found[0].domain[code] for code in covers.members()[1].tolist()]


AGES = attribute([20, 30, 40, 50, None])
LETTERS = attribute(["a", "b", "c", "d", None])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("20 to 40", [20, 30, 40]),
        ("30", [30]),
        (30, [30]),
        (None, [None]),
        ("30 to 40 or missing", [None, 30, 40]),
        ("30 or missing", [None, 30]),
        ("*", [None, 20, 30, 40, 50]),
    ],
)
def test_ranges(text, values):
    assert covered(AGES, text, "range") == values


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a | c", ["a", "c"]),
        ("missing | b | c", [None, "b", "c"]),
        ("b", ["b"]),
        (None, [None]),
        ("*", [None, "a", "b", "c", "d"]),
    ],
)
def test_sets(text, values):
    assert covered(LETTERS, text, "set") == values


def test_sets_of_texts_with_bars_and_quotes():
    found = attribute(["a | b", 'say "c"', "d"])
    assert covered(found, '"a | b" | "d"', "set") == ["a | b", "d"]
    assert covered(found, '"a | b" | "say ""c"""', "set") == ["a | b", 'say "c"']
    assert covered(found, "a | b", "set") == ["a | b"]


def test_nodes_of_hierarchies():
    found = attribute(["120", "127", "131", "990"], fk.Mask(3))
    assert covered(found, "12*", "hierarchy") == ["120", "127"]
    assert covered(found, "1**", "hierarchy") == ["120", "127", "131"]
    assert covered(found, "*", "hierarchy") == ["120", "127", "131", "990"]
    assert covered(found, "131", "hierarchy") == ["131"]


def test_a_domain_that_holds_a_star_is_suppressed_by_another_name():
    found = attribute(["*", "a", "b"])
    assert covered(found, "*", "set") == ["*"]
    assert covered(found, "* (level 1)", "set") == ["*", "a", "b"]


def test_ranges_of_values_that_hold_the_separator():
    order = fk.Ordered(["1 to 2", "3 to 4", "5 to 6"])
    found = attribute(["1 to 2", "3 to 4", "5 to 6"], order)
    assert covered(found, '"1 to 2" to "5 to 6"', "range") == ["1 to 2", "3 to 4", "5 to 6"]
    assert covered(found, "3 to 4", "range") == ["3 to 4"]
    with pytest.raises(DataError, match="cannot be read as a range"):
        covered(found, "1 to 2 to 5 to 6", "range")


@pytest.mark.parametrize(
    ("found", "text", "style"),
    [
        (AGES, "20 to 99", "range"),
        (AGES, "40 to 20", "range"),
        (AGES, "20 | 30", "range"),
        (LETTERS, "a | x", "set"),
        (LETTERS, "c | a", "set"),
        (LETTERS, "a to c", "set"),
        (attribute(["120", "127"], fk.Mask(3)), "13*", "hierarchy"),
        (attribute(["a|b", "c"]), '"a|b" | "c', "set"),
    ],
)
def test_what_cannot_be_read_is_refused(found, text, style):
    with pytest.raises(DataError, match=f"cannot be read as a {style}"):
        covered(found, text, style)


def test_a_null_beside_the_word_missing_is_the_one_without_quotes():
    found = attribute(["missing", "x", None, "y"])
    with pytest.raises(DataError, match="cannot be read as a set"):
        covered(found, "missing | x", "set")
    assert covered(found, 'missing | "x"', "set") == [None, "x"]
    assert covered(found, '"missing" | "x"', "set") == ["missing", "x"]
    assert covered(found, 'missing | "missing" | "x"', "set") == [None, "missing", "x"]


def test_a_set_that_would_be_written_like_a_value_has_a_plus():
    found = attribute(["a", "b", '"a" | "b"'])
    assert covered(found, '"a" | "b"', "set") == ['"a" | "b"']
    assert covered(found, '"a" | "b"+', "set") == ["a", "b"]
    with pytest.raises(DataError, match="cannot be read as a set"):
        covered(found, '"a" | "b"++', "set")


def test_exact_values_are_read_by_how_they_print():
    assert codes_of_texts(AGES[0], ["20", None, 50]).tolist() == [1, 0, 4]
    with pytest.raises(DataError, match="the original table has no '21'"):
        codes_of_texts(AGES[0], ["21"])


def test_nodes_of_one_name_and_the_same_people_are_read_alike():
    """The lower of them is meant, for the release as for its reader."""
    tree = fk.Tree([["a", "g", "g"], ["b", "g", "g"], ["c", "h", "g"], ["d", "k", "k"]])
    found, line = attribute(["a", "b", "d"], tree)
    of_text = covers_of_texts(found, line, ["g"], "hierarchy")
    for level in (1, 2):
        floor = np.array([level, 0])
        groups = covers_of_groups(found, line, np.array([0, 0, 1]), 2, "hierarchy", floor)
        at = groups.of_group[0]
        assert (
            (groups.starts[at], groups.ends[at]) == (of_text.starts[0], of_text.ends[0]) == (0, 2)
        )
