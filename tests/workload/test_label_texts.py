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


BARS = attribute(["a | b", 'say "c"', "d"])
MASKED = attribute(["120", "127", "131", "990"], fk.Mask(3))
STARRED = attribute(["*", "a", "b"])
ORDERED = attribute(["1 to 2", "3 to 4", "5 to 6"], fk.Ordered(["1 to 2", "3 to 4", "5 to 6"]))
MISSING = attribute(["missing", "x", None, "y"])
QUOTED = attribute(["a", "b", '"a" | "b"'])
REFUSED = None


@pytest.mark.parametrize(
    ("found", "style", "text", "values"),
    [
        (AGES, "range", "20 to 40", [20, 30, 40]),
        (AGES, "range", "30", [30]),
        (AGES, "range", 30, [30]),
        (AGES, "range", None, [None]),
        (AGES, "range", "30 to 40 or missing", [None, 30, 40]),
        (AGES, "range", "30 or missing", [None, 30]),
        (AGES, "range", "*", [None, 20, 30, 40, 50]),
        (AGES, "range", "20 to 99", REFUSED),
        (AGES, "range", "40 to 20", REFUSED),
        (AGES, "range", "20 | 30", REFUSED),
        (LETTERS, "set", "a | c", ["a", "c"]),
        (LETTERS, "set", "missing | b | c", [None, "b", "c"]),
        (LETTERS, "set", "b", ["b"]),
        (LETTERS, "set", None, [None]),
        (LETTERS, "set", "*", [None, "a", "b", "c", "d"]),
        (LETTERS, "set", "a | x", REFUSED),
        (LETTERS, "set", "c | a", REFUSED),
        (LETTERS, "set", "a to c", REFUSED),
        (BARS, "set", '"a | b" | "d"', ["a | b", "d"]),
        (BARS, "set", '"a | b" | "say ""c"""', ["a | b", 'say "c"']),
        (BARS, "set", "a | b", ["a | b"]),
        (attribute(["a|b", "c"]), "set", '"a|b" | "c', REFUSED),
        (MASKED, "hierarchy", "12*", ["120", "127"]),
        (MASKED, "hierarchy", "1**", ["120", "127", "131"]),
        (MASKED, "hierarchy", "*", ["120", "127", "131", "990"]),
        (MASKED, "hierarchy", "131", ["131"]),
        (MASKED, "hierarchy", "14*", REFUSED),
        # A domain that holds a star is suppressed by another name.
        (STARRED, "set", "*", ["*"]),
        (STARRED, "set", "* (level 1)", ["*", "a", "b"]),
        (ORDERED, "range", '"1 to 2" to "5 to 6"', ["1 to 2", "3 to 4", "5 to 6"]),
        (ORDERED, "range", "3 to 4", ["3 to 4"]),
        (ORDERED, "range", "1 to 2 to 5 to 6", REFUSED),
        # A null beside the word "missing" is the one without quotes.
        (MISSING, "set", "missing | x", REFUSED),
        (MISSING, "set", 'missing | "x"', [None, "x"]),
        (MISSING, "set", '"missing" | "x"', ["missing", "x"]),
        (MISSING, "set", 'missing | "missing" | "x"', [None, "missing", "x"]),
        # A set that would be written like a value has a plus.
        (QUOTED, "set", '"a" | "b"', ['"a" | "b"']),
        (QUOTED, "set", '"a" | "b"+', ["a", "b"]),
        (QUOTED, "set", '"a" | "b"++', REFUSED),
    ],
)
def test_labels_are_read_as_what_they_cover(found, style, text, values):
    if values is REFUSED:
        with pytest.raises(DataError, match=f"cannot be read as a {style}"):
            covered(found, text, style)
    else:
        assert covered(found, text, style) == values


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
