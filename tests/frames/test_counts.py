"""GroupCounts and encoded columns: how they are built, what they answer and refuse."""

import json
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.data import arrays
from foreknow.data.arrays import count_pairs
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.columns import encode
from foreknow.data.labels import Labels, in_order, is_missing
from foreknow.data.meaning import Values, meanings_of
from foreknow_judge.errors import DataError, InputError

ARRAYS = {"sizes": [3, 2], "offsets": [0, 2, 4], "codes": [0, 1, 1, 2], "counts": [2, 1, 1, 1]}
GOOD = {**ARRAYS, "values": "abc"}
COUNTS = GroupCounts(**GOOD)


def refused(message, make, *args, **more):
    with pytest.raises(DataError, match=message):
        make(*args, **more)


# ---- building and looking ----------------------------------------------------------------------


def test_codes_find_values():
    counts = GroupCounts.from_bags([["Flu", "Cancer"]])
    assert [counts.code(x) for x in counts.values] == [0, 1]
    for value, says in (("Flue", r"'Flue'.*'Flu'"), (7, "7; known: "), (["Flu"], "")):
        refused(f"no group contains the sensitive value {says}", counts.code, value)


@pytest.mark.parametrize("big", [2**20, 2**33, 2**51])
def test_top_sums_need_wider_keys(big):
    counts = GroupCounts.from_bags([{"c": 1}] * 2**12 + [{"a": 1, "b": big, "c": 3}])
    for most, top in ((1, big), (2, big + 3), (10**30, big + 4)):
        assert counts.top_sums(most)[-2:].tolist() == [1, top]


def test_counts_show_themselves():
    counts = GroupCounts.from_bags(["aab", "bc"], groups=["x", "y"])
    assert repr(counts) == "GroupCounts(2 groups, 5 people, 3 values, single)"
    assert counts._repr_html_() == f"<code>{counts!r}</code>"
    plain = counts.to_dict()
    labels = {"semantics": "single", "values": ["a", "b", "c"], "groups": ["x", "y"]}
    assert json.loads(json.dumps(plain)) == {**labels, **ARRAYS}
    assert GroupCounts(**plain) == counts
    assert GroupCounts.from_bags(["a"]).to_dict()["groups"] is None


# ---- what cannot be counts of people -----------------------------------------------------------

HALF = 2**52 + 1
TWO = {"offsets": [0, 1, 2], "codes": [0, 1]}
FIVE = {"sizes": [1] * 5, "offsets": [0, 0, 2, 2, 4, 4], "semantics": "multiset"}
NOTHING = {"sizes": [], "offsets": [], "codes": [], "counts": []}
INCREASE = "value codes must increase strictly within each group"
SPAN = "offsets must have 3 entries from 0 to 4 for 2 groups and 4 cells"
LIE = "value codes must lie in 0"
FEW = "counts must be at least 1; leave a value out"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"semantics": "sets"}, "semantics 'sets' is unknown; did you mean 'set'"),
        ({"semantics": None}, "semantics None is unknown"),
        ({"values": "aba"}, "the value label 'a' is given twice"),
        *(({"offsets": own}, SPAN) for own in ([0, 4], [1, 2, 4], [0, 2, 3], [0, 2, 4, 4])),
        (NOTHING, "offsets must have 1 entries from 0 to 0"),
        ({"counts": [2, 1, 2]}, "4 codes but 3 counts"),
        ({"sizes": [3, 1, 1], "offsets": [0, 3, 2, 4]}, "offsets must not decrease"),
        ({"groups": ["x"]}, "2 groups but 1 group labels"),
        ({"sizes": [3, 0]}, r"group 1 has 0 people, not 1\+"),
        ({"sizes": [3, -1], "groups": ["x", "y"]}, r"group 'y' has -1 people, not 1\+"),
        *(({"codes": own}, LIE + r"\.\.2") for own in ([0, 1, 1, 3], [-1, 1, 1, 2])),
        *(({"counts": own}, FEW) for own in ([3, 0, 1, 1], [4, -1, 1, 1])),
        *(({"codes": own}, INCREASE) for own in ([1, 0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 1])),
        *((FIVE | {"codes": own}, INCREASE) for own in ([2, 1, 0, 1], [1, 2, 1, 0])),
        (TWO | {"sizes": [HALF] * 2, "counts": [HALF] * 2}, "people in all: more than"),
        (TWO | {"sizes": [2**62] * 2, "counts": [2**62] * 2}, "people in all: more than"),
        (
            TWO | {"sizes": [1, 1], "counts": [HALF] * 2, "semantics": "multiset"},
            "occurrences in all: more than",
        ),
        ({"sizes": [2, 2]}, "group 0 has 2 people but 3 values; under 'single' everyone has ex"),
        ({"sizes": [3, 9], "groups": ["x", "y"]}, "group 'y' has 9 people but 2 values"),
        (
            {"sizes": [1, 1], "semantics": "set"},
            "value 'a' occurs 2 times among one person of group 0; under 'set' nobody",
        ),
    ],
)
def test_invalid_count_arrays_are_refused(changes, says):
    refused(says, GroupCounts, **GOOD | changes)


NAN, TELLS = float("nan"), "person 1 of group 0 is .*; give a set or list of values"


@pytest.mark.parametrize(
    ("semantics", "given", "says"),
    [
        # bags
        (None, ["ab", ""], "group 1 has 0 people"),
        (None, [{"a": 1, "b": 0}], "counts must be at least 1"),
        (None, [{"a": 1.5, "b": 1}], "group 0: the count of 'a' is 1.5, not whole"),
        (None, [{"Flu": True}], "group 0: the count of 'Flu' is True, not whole"),
        (None, [{"a": 2**70}], r"must hold whole numbers below 2\*\*63"),
        (
            None,
            [["Flu"], ["Flu", ["Flu"]]],
            r"group 1: value 1 is \['Flu'\], which cannot be a label; give texts or numbers",
        ),
        (None, [{"Flu": 1, NAN: 2}], r"group 0: a value is missing \(nan\)"),
        (None, [[frozenset({NAN}), frozenset({"Flu"})]], "group 0: value 0 is missing"),
        (None, [[(1, NAN), (1, NAN)]], "group 0: value 0 is missing"),
        # people
        ("set", [[{"a"}], []], "group 1 has 0 people"),
        ("set", [[{"a"}, "Flu"]], "person 1 of group 0 is the text 'Flu'; give a set or"),
        *(("set", [[{"Flu"}, own]], TELLS) for own in (None, NAN, 7)),
        ("multiset", [[["a"], {"Flu": 2}]], TELLS),
        ("single", [[["a"]], [["a", "b"]]], "person 0 of group 1 has 2 values; under 'single'"),
        ("single", [[[]]], "person 0 of group 0 has 0 values; under 'single'"),
        ("set", [[["a", "a"]]], "person 0 of group 0 has a value twice; use semantics='m"),
        ("multi", [[["a"]]], "semantics 'multi' is unknown; did you mean 'multiset'"),
        ("set", [[[["Flu"]]]], "person 0 of group 0: value 0 is .*which cannot be a label"),
    ],
)
def test_invalid_bags_are_refused(semantics, given, says):
    if semantics is None:
        refused(says, GroupCounts.from_bags, given)
    else:
        refused(says, GroupCounts.from_people, given, semantics=semantics)


@pytest.mark.parametrize(
    ("groups", "codes", "more", "says"),
    [
        ([0, 2], [0, 0], {"n_groups": 3}, "group 1 has 0 people"),
        ([0, 0, 1], [0, 2, 1], {}, LIE + r"\.\.1"),
        ([0, 1], [-1, 0], {}, LIE + r"\.\.1"),
        ([0, -1], [0, 1], {}, r"group codes must lie in 0\.\.1"),
        ([0, 1, 1], [0, 1], {}, r"must be of one length, not \[3, 2\]"),
        ([0, 1], [0, 1], {"weights": np.array([1.5, 2.5])}, "weights must hold whole numbers"),
        *(
            ([0, 1], [0, 1], {"weights": np.array([1, 0]), "values": values}, "at least 1, not 0")
            for values in ("ab", range(100_000))
        ),
    ],
)
def test_impossible_pairs_are_refused(groups, codes, more, says):
    given = {"values": "ab", "n_groups": 2} | more
    refused(says, GroupCounts.from_pairs, np.array(groups), np.array(codes), **given)


def test_merging_numbers_every_group():
    for into in ([0], [0, 0, 0], [-1, 0]):
        refused("into must name a new group, from 0, for each of 2", COUNTS.merge, into)
    refused("into must hold whole numbers, not float64", COUNTS.merge, [0.2, 0.9])
    refused("the mask is for 1 groups, there are 2", COUNTS.take, np.array([True]))
    assert COUNTS.take([]).n_groups == 0


# ---- labels, and missing values ----------------------------------------------------------------


@pytest.mark.parametrize(
    "missing",
    [
        *(None, NAN, np.float32("nan"), Decimal("NaN"), Decimal("sNaN")),
        *(complex(0, NAN), pd.NA, pd.NaT, np.datetime64("NaT")),
    ],
    ids=lambda v: f"{type(v).__name__} {v}",
)
def test_missing_value_is_no_value(missing):
    assert is_missing(missing)
    bags, people = GroupCounts.from_bags, GroupCounts.from_people
    says = r"group 1: value 2 is missing .*label it, such as 'missing', or drop"
    refused(says, bags, [["Flu"], ["Flu", "Flu", missing, missing]])
    refused("group 'x': value 0 is missing", bags, [[missing]], groups=["x"])
    for semantics, person in (("single", [missing]), ("multiset", ["Flu", missing])):
        given = [[["Flu"], ["Flu"]], [["Flu"], person]]
        says = "person 1 of group 1: value . is missing .*label it, such as 'missing', or drop"
        refused(says, people, given, semantics=semantics)
    refused("person 1 of group 0", people, [[["Flu"], ["Flu", missing]]], semantics="set")
    pairs = np.array([0, 0]), np.array([0, 1])
    for values in (["Flu", missing], ("Flu", missing)):
        says = "the value label 1 is missing"
        refused(says, GroupCounts, [2], [0, 2], [0, 1], [1, 1], values)
        refused(says, GroupCounts.from_pairs, *pairs, values=values, n_groups=1)
    jump = fk.Jump(functions=["AB|CD"], distances=1, property=fk.MaxRatio("1/2"))
    with pytest.raises(InputError, match="'B' has no value that can be counted"):
        jump.run({"A": 1, "B": missing, "C": 1, "D": 2})


def test_labels_are_ordered_numbers_first():
    assert in_order(["b", 10, None, "a", 9.5, (1,)]) == [9.5, 10, "a", "b", None, (1,)]
    given = [Decimal("10"), np.int64(9), 2, "b", Fraction(5, 2), np.float32(1.5), Decimal("0.5")]
    order = [Decimal("0.5"), np.float32(1.5), 2, Fraction(5, 2), np.int64(9), Decimal("10"), "b"]
    assert in_order(given) == order
    refused("the value label 'a' is given twice", Labels, "aba")
    refused("the value label 0 is", GroupCounts, [2], [0, 2], [0, 1], [1, 1], [["Flu"], "AIDS"])
    assert Labels("ab").codes == {"a": 0, "b": 1}
    assert Labels([None, "Ann"]) == (None, "Ann")


# ---- what the text of a label says, with nothing else at hand ----------------------------------


def only(text):
    (meaning,) = meanings_of(text)
    return meaning


def test_ranges_have_ends_and_middle():
    assert (only("20 to 29").lower, only("20 to 29").upper) == (20, 29)
    assert only("20 to 29").middle == Decimal("24.5")
    half = only("1.5 to <3")
    assert (half.lower, half.upper, half.below) == (Decimal("1.5"), 3, True)
    value, known, _ = meanings_of("20 to 29 or missing")
    assert (value.members, known.lower, known.missing) == (("20 to 29",), 20, True)
    year = next(m for m in meanings_of("2024") if m.below)
    assert (year.lower, year.upper) == (datetime(2024, 1, 1), datetime(2025, 1, 1))
    assert only("2024-02").middle == datetime(2024, 2, 15, 12)
    assert meanings_of('"mild" to "severe"')[0].ends == ("mild", "severe")
    assert Fraction(only("0.1 to 0.3").lower) == Fraction(1, 10)
    with pytest.raises(AttributeError):
        only("7").lower = 8


def test_double_missing_is_never_guessed():
    values = Values([None, "a", "b"], "x")
    assert values.covered_by("a or missing").tolist() == [True, True, False]
    refused("may be one value", values.covered_by, "a or missing or missing")


# ---- tables: rows that stand twice, and rows that are no people --------------------------------


ROWS = pa.table({"who": [*"pppqqq"], "age": [20] * 3 + [30] * 3, "ill": [*"abcabc"]})


@pytest.mark.parametrize("own", [{"unit": "row"}, {"semantics": "set"}])
@pytest.mark.parametrize(
    "measure",
    [fk.k_anonymity, fk.l_diversity, fk.t_closeness, fk.beta_likeness, fk.delta_disclosure],
)
def test_rows_are_not_people(measure, own):
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="who", **own)
    with pytest.raises(fk.InputError, match=r"counts rows, and people of 'who' may have several"):
        measure(fk.Microdata(ROWS, schema))


def test_microdata_measures_its_columns():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="number")
    microdata = fk.Microdata(ROWS.append_column("number", pa.array(range(len(ROWS)))), schema)
    assert fk.k_anonymity(microdata) == fk.k_anonymity(ROWS, ["age"]) == 3
    assert fk.k_anonymity(microdata, ["age", "ill"]) == 1
    assert fk.l_diversity(microdata) == fk.l_diversity(ROWS, ["age"], "ill") == 3


# ---- encoding columns: codes into sorted distinct values, their types, and pairs of codes --------


def encoded(values, kind=None, **more):
    return encode("c", pa.chunked_array([pa.array(values, kind)]), **more)


def decoded(column):
    return [column.domain[code] for code in column.codes.tolist()]


def test_dictionaries_match_rows():
    for codes, entries, domain, rows in (
        ([3, 3, 1], ["unused", "b", "also", "a"], ["a", "b"], ["a", "a", "b"]),
        ([0, 2, 1, None], ["a", "b", "a"], [None, "a", "b"], ["a", "a", "b", None]),
        ([0, 1, None], ["a", None], [None, "a"], ["a", None, None]),
        ([0, 1, 2], [2.5, float("nan"), 1.0], [None, 1.0, 2.5], [2.5, None, 1.0]),
    ):
        array = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(entries))
        column = encode("c", pa.chunked_array([array]))
        assert (column.domain, decoded(column)) == (domain, rows)
    parts = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "b"]).dictionary_encode()]
    column = encode("c", pa.chunked_array(parts))
    assert (column.domain, decoded(column)) == (["a", "b", "c"], ["b", "a", "c", "b"])
    assert [column.first_row(code) for code in range(3)] == [2, 1, 3]  # rows count from one
    nano = pa.array([2001, 2000, 2001], pa.timestamp("ns")).dictionary_encode()
    assert encode("c", pa.chunked_array([nano])).codes.tolist() == [1, 0, 1]


def test_foreign_types_are_named():
    for values, declared, row, shown in (
        (["1", "x", "1"], "number", 2, "'x'"), (["1", "007"], "number", 2, "'007'"),
        (["1", "1,5"], "number", 2, "'1,5'"), (["1.5", None, "x"], "number", 3, "'x'"),
        ([True], "number", 1, "True"), ([date(2024, 1, 31)], "number", 1, "datetime.date"),
        (["2024-01-31", "2024-02-30"], "date", 2, "'2024-02-30'"),
        (["31.1.2024"], "date", 1, r"'31\.1\.2024'"), ([20240131], "date", 1, "20240131"),
    ):  # fmt: skip
        says = f"column 'c' must hold a {declared} in every row, but row {row} holds {shown}"
        with pytest.raises(DataError, match=says):
            encoded(values, declared=declared)


# ---- pairs of codes ------------------------------------------------------------------------------


def told(pairs, n_rows):
    """Of what is counted, each cell and how often it occurs, in order."""
    offsets, columns, counts = pairs
    row_of = np.repeat(np.arange(n_rows), np.diff(offsets)).tolist()
    return [*zip(zip(row_of, columns.tolist(), strict=True), counts.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("n_columns", "weighed", "block"),
    [(3, False, 1000), (3, True, 1 << 18), (70_000, True, 1000), (2**33, False, 1 << 18),
     (2**33, True, 1000), (70_000, False, 1 << 18)],
)  # fmt: skip
def test_pairs_of_however_many_bits(monkeypatch, n_columns, weighed, block):
    monkeypatch.setattr(arrays, "_BLOCK", block)
    random, n_rows, n = np.random.default_rng(n_columns), 5000, 4000
    rows, columns = random.integers(0, n_rows, n), random.integers(0, n_columns, n)
    rows, columns = np.repeat(rows, 2), np.repeat(columns, 2)
    weights = random.integers(1, 9, 2 * n) if weighed else None
    plain = Counter()
    times = [1] * 2 * n if weights is None else weights.tolist()
    for row, column, weight in zip(rows.tolist(), columns.tolist(), times, strict=True):
        plain[row, column] += weight
    found = count_pairs(rows, columns, n_rows, n_columns, weights)
    assert told(found, n_rows) == sorted(plain.items())
