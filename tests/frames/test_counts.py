"""GroupCounts and columns, and what a warehouse counted: verdicts of the table, or a refusal."""

import datetime as dt
import json
import random
from collections import Counter
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.common import examples
from tests.frames.backends import (
    hold_in_postgres,
    postgres_connection,
    postgres_server,
    spark_frame,
)

import foreknow as fk
from foreknow.data import arrays
from foreknow.data.arrays import count_pairs
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.label_meaning import Values, meanings_of
from foreknow.data.labels.labels import is_missing
from foreknow.data.tables.columns import encode
from foreknow_judge.errors import DataError, InputError, UnsupportedError

ARRAYS = {"sizes": [3, 2], "offsets": [0, 2, 4], "codes": [0, 1, 1, 2], "counts": [2, 1, 1, 1]}
GOOD = {**ARRAYS, "values": "abc"}
COUNTS = GroupCounts(**GOOD)


def refused(message, make, *args, **more):
    with pytest.raises(DataError, match=message):
        make(*args, **more)


# ---- building and looking ----------------------------------------------------------------------


def test_merge_adds_people_of_sets():
    counts = GroupCounts.from_people([[{"a"}, set()], [{"a", "b"}], [set()]], semantics="set")
    merged = counts.merge([0, 0, 1])
    arrays = [getattr(merged, name).tolist() for name in ARRAYS]
    assert (merged.semantics, arrays) == ("set", [[3, 1], [0, 2, 2], [0, 1], [2, 1]])
    refused("group 1 has 0 people", GroupCounts.from_bags(["ab", "c"]).merge, [0, 2])


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


def test_sums_of_very_many():
    counts = GroupCounts.from_bags([])
    assert (counts.n_groups, counts.n_people, counts.n_values) == (0, 0, 0)
    assert counts.totals.tolist() == counts.top_sums(3).tolist() == []
    counts = GroupCounts.from_bags([{"a": 2**52 - 1}, {"a": 2**52 - 2}])
    assert counts.totals.tolist() == [counts.n_people] == [2**53 - 3]
    many, nothing = np.ones(70_000, dtype=np.int64), np.zeros(0, dtype=np.int64)
    more = {"values": "ab", "n_groups": len(many), "sizes": many, "semantics": "set"}
    assert GroupCounts.from_pairs(nothing, nothing, **more).n_people == 70_000


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_must_be_flat(name):
    for array, says in (
        ([[1, 2]], r"must be a flat array, not of shape \(1, 2\)"),
        (3, r"must be a flat array, not of shape \(\)"),
        ([1.0, 2.0], "must hold whole numbers, not float64"),
        (["1", "2"], "must hold whole numbers, not <U1"),
        ([True, False], "must hold whole numbers, not bool"),
        (np.array([2**63], dtype=np.uint64), r"holds a number above 2\*\*63 - 1"),
    ):
        refused(f"{name} {says}", GroupCounts, **GOOD | {name: array})


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
        ({"semantics": "sets"}, "semantics is 'sets'; did you mean 'set'"),
        ({"values": "aba"}, "the value label 'a' is given twice"),
        *(({"offsets": own}, SPAN) for own in ([0, 4], [1, 2, 4])),
        ({"counts": [2, 1, 2]}, "4 codes but 3 counts"),
        ({"sizes": [3, 1, 1], "offsets": [0, 3, 2, 4]}, "offsets must not decrease"),
        ({"groups": ["x"]}, "2 groups but 1 group labels"),
        ({"sizes": [3, 0]}, r"group 1 has 0 people, not 1\+"),
        *(({"codes": own}, LIE + r"\.\.2") for own in ([0, 1, 1, 3], [-1, 1, 1, 2])),
        *(({"counts": own}, FEW) for own in ([3, 0, 1, 1],)),
        *(({"codes": own}, INCREASE) for own in ([1, 0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 1])),
        *((FIVE | {"codes": own}, INCREASE) for own in ([2, 1, 0, 1], [1, 2, 1, 0])),
        (TWO | {"sizes": [HALF] * 2, "counts": [HALF] * 2}, "people in all: more than"),
        (
            TWO | {"sizes": [1, 1], "counts": [HALF] * 2, "semantics": "multiset"},
            "occurrences in all: more than",
        ),
        ({"sizes": [2, 2]}, "group 0 has 2 people but 3 values; under 'single' everyone has ex"),
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
        (None, [{"a": 1.5, "b": 1}], "group 0: the count of 'a' is 1.5, not whole"),
        (None, [{"a": 2**70}], r"must hold whole numbers below 2\*\*63"),
        (
            None,
            [["Flu"], ["Flu", ["Flu"]]],
            r"group 1: value 1 is \['Flu'\], which cannot be a label; give texts or numbers",
        ),
        (None, [{"Flu": 1, NAN: 2}], r"group 0: a value is missing \(nan\)"),
        (None, [[(1, NAN), (1, NAN)]], "group 0: value 0 is missing"),
        # people
        ("set", [[{"a"}], []], "group 1 has 0 people"),
        ("set", [[{"a"}, "Flu"]], "person 1 of group 0 is the text 'Flu'; give a set or"),
        *(("set", [[{"Flu"}, own]], TELLS) for own in (None, NAN, 7)),
        ("multiset", [[["a"], {"Flu": 2}]], TELLS),
        ("single", [[["a"]], [["a", "b"]]], "person 0 of group 1 has 2 values; under 'single'"),
        ("set", [[["a", "a"]]], "person 0 of group 0 has a value twice; use semantics='m"),
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


@pytest.mark.parametrize("label", ["nan", "", 0, False, (), (1, "a"), b"", dt.date(2020, 1, 1)])
def test_what_is_not_missing(label):
    assert not is_missing(label)


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


def test_microdata_measures_its_columns():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="number")
    microdata = fk.Microdata(ROWS.append_column("number", pa.array(range(len(ROWS)))), schema)
    assert fk.k_anonymity(microdata) == fk.k_anonymity(ROWS, ["age"]) == 3
    assert fk.k_anonymity(microdata, ["age", "ill"]) == 1
    assert fk.l_diversity(microdata) == fk.l_diversity(ROWS, ["age"], "ill") == 3


# ---- encoding columns: codes into sorted distinct values, their types, and pairs of codes --------


def encoded(values, kind=None, **more):
    return encode("c", pa.chunked_array([pa.array(values, kind)]), **more)


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


@pytest.mark.parametrize(
    ("kind", "whole"),
    [
        (pa.timestamp("ns"), datetime(1970, 1, 1, 0, 0, 0, 2)),
        (pa.timestamp("ns", "UTC"), datetime(1970, 1, 1, 0, 0, 0, 2, tzinfo=UTC)),
        (pa.time64("ns"), time(0, 0, 0, 2)),
    ],
    ids=str,
)
def test_nanoseconds_are_times_or_texts(kind, whole):
    column = encoded([2000, None, 2000], kind)
    assert (column.kind, column.domain, column.codes.tolist()) == ("date", [None, whole], [1, 0, 1])
    column = encoded([2001, 2000, None, 1999], kind)
    assert (column.kind, column.codes.tolist()) == ("text", [3, 2, 0, 1])
    ends = [str(text).rstrip("Z")[-9:] for text in column.domain[1:]]
    assert ends == ["000001999", "000002000", "000002001"]


# ---- pairs of codes ------------------------------------------------------------------------------


def told(pairs, n_rows):
    """Of what is counted, each cell and how often it occurs, in order."""
    offsets, columns, counts = pairs
    row_of = np.repeat(np.arange(n_rows), np.diff(offsets)).tolist()
    return [*zip(zip(row_of, columns.tolist(), strict=True), counts.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("n_columns", "weighed", "block"),
    [(3, True, 1 << 18), (70_000, True, 1000), (2**33, False, 1 << 18),
     ],
)  # fmt: skip
def test_pairs_of_however_many_bits(monkeypatch, n_columns, weighed, block):
    monkeypatch.setattr(arrays, "BLOCK", block)
    random, n_rows, n = np.random.default_rng(n_columns), 5000, 4000
    rows, columns = random.integers(0, n_rows, n), random.integers(0, n_columns, n)
    rows, columns = np.repeat(rows, 2), np.repeat(columns, 2)
    weights = random.integers(1, 9, 2 * n) if weighed else None
    plain = Counter()
    times = [1] * 2 * n if weights is None else weights.tolist()
    for row, column, weight in zip(rows.tolist(), columns.tolist(), times, strict=True):
        plain[row, column] += weight
    result = count_pairs(rows, columns, n_rows, n_columns, weights)
    assert told(result, n_rows) == sorted(plain.items())


# ---- tallies -------------------------------------------------------------------------------------


NAMES = ["age", "zip", "ill", "pay", "job"]
POOLS = [["old", "young"], ["1", None], ["a", "b", "c", None], [1, 2, 4], ["cook", "nurse"]]
POPULATION = pa.table({"age": ["old", "old", "young", "young"] * 9, "zip": ["1", None] * 18})
ON_ILL = [
    (fk.Facts(1, 2, 1), {"below": "0.7"}),
    (fk.Facts(1, 0, 0), {"below": "2/3", "any_of": ["b", "c"]}),
    (fk.Implications(k=2), {"below": "0.9", "knowing": ["job"]}),
    (fk.LDiversity(2, kind="distinct"), {}), (fk.LDiversity(2, kind="recursive", c=2), {}),
    (fk.TCloseness(0.3, distance="equal"), {}), (fk.BetaLikeness(1.0, enhanced=True), {}),
    (fk.DeltaDisclosure(1.0), {"knowing": []}), (fk.AlphaK(0.5, 2), {}),
]  # fmt: skip
ON_PAY = [
    (fk.Facts(0, 1, 0), {"below": "1/2", "knowing": []}),
    (fk.Facts(1, 0, 0), {"below": "2/3", "within": 1}), (fk.Negations(k=1), {"below": "0.9"}),
    (fk.LDiversity(2, kind="entropy"), {"knowing": []}),
    (fk.TCloseness(0.3, distance="ordered"), {}),
]  # fmt: skip
REQUIRED = [
    *(fk.Requirement(rule, sensitive="ill", **how) for rule, how in ON_ILL),
    *(fk.Requirement(rule, sensitive="pay", **how) for rule, how in ON_PAY),
    *(fk.Requirement(fk.KAnonymity(3)), fk.Requirement(fk.KAnonymity(2), knowing=["job", "pay"])),
    *(fk.Requirement(fk.KMap(3, POPULATION)), fk.Requirement(fk.DeltaPresence(0, 0.9, POPULATION))),
]
tables = st.lists(st.tuples(*map(st.sampled_from, POOLS)), min_size=1, max_size=12).filter(
    lambda rows: {"a", "b", "c"} <= {row[2] for row in rows}
)


def table_of(rows):
    """An Arrow table of these people, and one with how many share each combination."""
    times = Counter(rows)
    result = random.Random(str(rows)).sample(sorted(times, key=str), len(times))
    kinds = [pa.int64() if name == "pay" else pa.string() for name in NAMES]
    made = [
        pa.table(
            [pa.array(own, kind) for own, kind in zip(zip(*of, strict=True), kinds, strict=True)],
            NAMES,
        )
        for of in (rows, result)
    ]
    return made[0], made[1].append_column("count", [[times[key] for key in result]])


def tallied(tally, **changed):
    how = {"group": ["age", "zip"], "sensitive": ["ill", "pay"], "other": ["job"]} | changed
    return fk.Release.from_tally(tally, **how)


def judged(release, schema, requirement):
    """All that an audit says, without what says how it was counted."""
    try:
        result = fk.audit(release, fk.Policy([requirement], schema=schema))._content()
    except InputError as error:  # such as a value that nobody has
        return str(error)
    result["scope"].pop("tallied", None)
    result["notes"] = [note for note in result["notes"] if "by a tally" not in note]
    return json.dumps(result, default=str)


@examples(250, deadline=None)
@given(tables, st.sampled_from(["drop", {"label": "unknown"}]), st.sampled_from(REQUIRED))
def test_tallies_get_their_tables_verdicts(rows, missing, required):
    table, tally = table_of(rows)
    roles = {"sensitive": ["ill", "pay"], "other": ["job"], "missing": missing}
    schema = fk.Schema(quasi_identifiers=["age", "zip"], **roles)
    release, counted = fk.Release.from_schema(table, schema), tallied(tally, missing=missing)
    assert judged(counted, schema, required) == judged(release, schema, required)
    sizes = [sorted(own.combinations().people.tolist()) for own in (counted, release)]
    assert sizes[0] == sizes[1]


# ---- the query -----------------------------------------------------------------------------------

ODD = ['a "b"', "order by", "Größe; DROP", "count", "x`y"]
POLICY = f"""[schema]
quasi_identifiers = [{json.dumps(ODD[0])}, {json.dumps(ODD[1], ensure_ascii=False)}]
sensitive = {json.dumps(ODD[2], ensure_ascii=False)}
other = ["count", "x`y"]
missing = "drop"

[[require]]
facts = {{ l = 1, k = 0, m = 0 }}
below = 0.99
knowing = ["x`y"]

[[require]]
k_anonymity = 3
"""


@pytest.fixture
def odd(desk):
    """A table whose columns have names that must be quoted."""
    draw = random.Random(4)
    kinds = [["20-29", "30-39"], [1, 2, None], ["flu", "hiv", "", "cold", None], ["x", "y"], [7]]
    desk.put("odd.toml", POLICY)
    desk.table = pa.table([[draw.choice(kind) for _ in range(300)] for kind in kinds], ODD)
    return desk


def query(desk, *more):
    code, out, err = desk.run("sql", "--policy", "odd.toml", *more)
    assert (code, err) == (0, "")
    comment, *lines = out.splitlines()
    return comment, "\n".join(lines)


def verdicts(desk, *arguments):
    code, _, err = desk.run("audit", *arguments, "-p", "odd.toml", "--json", "found.json")
    assert err == ""
    result = desk.json("found.json")
    assert [*result["verdicts"][-1]["judged"]] == ["k_anonymity"]  # the criterion is among them
    return code, result["verdicts"], result["scope"]["left_out"]


def test_the_query_runs_on_postgresql(odd):
    pytest.importorskip("adbc_driver_postgresql", reason="the ADBC driver is absent")
    name = hold_in_postgres(odd.table)
    _, asked = query(odd, "--table", f"public.{name}")
    with postgres_connection() as opened, opened.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name}_tally AS {asked.rstrip(';')}")
        opened.commit()
    socket = postgres_server().split("host=%2F")[1].split("&")[0]
    place = f"postgresql://tester@%2F{socket}/postgres?table={name}"
    direct = verdicts(odd, place)
    assert verdicts(odd, "--counts", f"{place}_tally", "--count", "count_2") == direct


def test_the_query_runs_on_spark(odd):
    """Its result comes as Arrow: frames of Spark do not name columns with backticks."""
    frame = spark_frame(odd.table, odd.folder)
    frame.createOrReplaceTempView("release")
    _, asked = query(odd, "--dialect", "spark")
    tally = frame.sparkSession.sql(asked.rstrip(";")).toArrow()
    how = {"other": ODD[3:], "missing": "drop", "sensitive": ODD[2]}
    release = fk.Release.from_tally(tally, group=ODD[:2], count="count_2", **how)
    direct = fk.Release.from_generalized(odd.table, quasi_identifiers=ODD[:2], **how)
    assert release.groups == direct.groups
    policy = fk.Policy.load(odd.folder / "odd.toml")
    results = [fk.audit(own, policy)._content() for own in (release, direct)]
    assert results[0]["verdicts"] == results[1]["verdicts"]


# ---- what is no tally ----------------------------------------------------------------------------


CSV = "age,sex,disease,count\n20,f,flu,3\n20,f,cold,3\n"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        (CSV.replace("disease", "diseases"), "no column 'disease'; did you mean 'diseases'?"),
        (CSV.replace("count", "n"), "has no column 'count'"),
        (CSV.replace(",3\n", ",three\n"), "whole number .* but row 1 holds 'three'"),
        (CSV + "30,f,flu,\n", "row 3 holds None"),
        *((CSV + f"30,f,flu,{odd}\n", f"row 3 holds '{odd}'")
          for odd in ("NaN", "-1", "2.5")),
        (CSV + "30,f,flu,1.000\n", "without a sign for thousands, but row 3 holds '1.000'"),
        (CSV + "30,f,,4\n", "'disease' is missing in 4 rows, first in row 3"),
        (CSV + "30,f,flu,1\n20,f,cold,1\n", "rows 2 and 4 differ by nothing but the count"),
        ],
)  # fmt: skip
def test_contradicting_tallies_are_refused(desk, content, says):
    desk.put("tally.csv", content)
    with pytest.raises(AssertionError, match=says):  # the message is a text of one line
        raise AssertionError(desk.refused("audit", "--counts", "tally.csv", "-p", "policy.toml"))


def test_tally_written_by_another_program(desk):
    rows = CSV.replace("\n", "\r\n").replace(",3", ",3.0") + "30,m,flu,2.00\r\n30,m,cold,2\r\n"
    desk.put("tally.csv", "\ufeff" + rows)
    assert "Safe" in desk.says("audit", "--counts", "tally.csv", "-p", "policy.toml")
    assert "say --counts" in desk.refused("audit", "tally.csv", "-p", "policy.toml")
    for table in ("", "a..b", ".", 'a"b', "a.", '"'):
        message = desk.refused("sql", "-p", "policy.toml", "--table", table)
        assert "is no name of a table" in message
    message = desk.refused("sql", "-p", "policy.toml", "--dialect", "standrad")
    assert "did you mean 'standard'" in message


def test_required_columns_must_be_counted(desk):
    plain = (desk.folder / "policy.toml").read_text()
    policy = desk.put("beside.toml", plain.replace("[[req", 'other = ["job"]\n\n[[req'))
    desk.put("tally.csv", CSV)
    how = "audit", "--counts", "tally.csv", "-p", policy
    assert "has no column 'job', which the policy says is published" in desk.refused(*how)
    desk.put("tally.csv", CSV.replace("count", "count,job").replace("3\n", "3,cook\n"))
    assert "whole number" not in desk.says(*how, code=0)
    assert "contradicts the policy" in desk.refused(*how, "--sensitive", "sex")
    assert "--count is for a tally" in desk.refused("audit", "table.csv", "-p", policy, "-n", "n")
    several = 'sensitive = "disease"\nsemantics = "set"\nperson = "name"'
    plain = plain.replace('sensitive = "disease"', several)
    desk.put("several.toml", plain.replace('identifiers = ["name"]\n', "", 1))
    desk.put("bare.toml", "[[require]]\nk_anonymity = 3\n")
    for command in (["sql"], ["audit", "--counts", "table.csv"]):
        message = desk.refused(*command, "-p", "several.toml")
        assert "a person may have several values of disease, and a tally does not tell" in message
        assert "foreknow: " in desk.refused(*command, "-p", "bare.toml")


GOOD_TALLIES = {"gid": [1, 1, 2], "ill": ["a", "b", "a"], "count": [2, 1, 3]}


@pytest.mark.parametrize(
    ("changed", "how", "says"),
    [
        ({"gid": [1, 1, None]}, {}, r"'gid' is missing \(row 3\)"),
        ({"gid": [1.0, np.nan, 2.0]}, {}, r"'gid' is missing \(row 2\)"),
        ({"ill": ["a", "a", "a"]}, {}, "rows 1 and 2 differ by nothing but the count"),
        ({}, {"count": "ill"}, "one column plays two roles"), ({}, {"group": []}, "at least one"),
        ({}, {"other": "ill"}, "list of columns"), ],
)  # fmt: skip
def test_frames_that_are_no_tallies(changed, how, says):
    with pytest.raises(InputError, match=says):
        of_good(pd.DataFrame(GOOD_TALLIES | changed), **how)


def test_rows_differing_elsewhere_are_added():
    """A tally by more columns than are judged is one all the same."""
    release, _ = of_good(pa.table(GOOD_TALLIES | {"ill": ["a", "a", "b"], "year": [1, 2, 1]}))
    assert release.groups == {1: 3, 2: 3}
    assert release.unseen() == ["year"]
    with pytest.raises(UnsupportedError, match="counts people and does not tell them apart"):
        release.tables.table.arrow(["gid"])
    with pytest.raises(InputError, match="nobody is named"):
        _ = release.members
    sums = "SELECT 1 gid, 'a' ill, sum(x)::DECIMAL(20, 2) AS count FROM range(5) t(x)"
    assert of_good(duckdb.sql(sums))[1].totals.tolist() == [10]
    large = {"gid": ["x", "x"], "ill": ["a", "b"], "count": [2**40, 2**40 - 1]}
    disclosure = fk.Facts().disclosure(of_good(pa.table(large))[0], value="a")
    assert disclosure.exact == Fraction(2**40, 2**41 - 1)


def of_good(table, **how):
    release = fk.Release.from_tally(table, **{"group": "gid", "sensitive": "ill"} | how)
    return release, release.counts
