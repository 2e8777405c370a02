"""What a file leaves open: encodings, delimiters, decimals and dates; what is read, or advised."""

import datetime as dt
import gzip
import random
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.frames.backends import bags

import foreknow as fk
from foreknow.data.engines import open_table
from foreknow_judge.duckdb_files import scratch
from foreknow_judge.scratch import CONTENT


def column(source, name="x", **schema):
    """A quasi-identifier of a table: its domain, and whether it has an order."""
    given = fk.Schema(quasi_identifiers=[name], sensitive="d", **schema)
    (attribute,) = fk.Microdata(source, given).attributes
    return attribute.domain, attribute.order


def put(folder, content, name="people.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(*values, delimiter=",", encoding="utf-8"):
    """A CSV file of these values, and a letter beside each."""
    lines = [f"x{delimiter}d", *(f"{value}{delimiter}{i % 2}" for i, value in enumerate(values))]
    return ("\n".join(lines) + "\n").encode(encoding)


TOWNS = ("Köln", "Łódź", "Zürich")
DOLLARS = {"thousands": ",", "currency": "$"}
EUROS = {"decimal": ",", "thousands": " ", "currency": "€"}
DATES = [dt.date(2020, 12, 31), dt.date(2021, 2, 1)]

# Content, how it is to be read, and the values that are found.
READ = [
    (rows("Köln", "Nîmes", encoding="latin-1"), {"encoding": "latin-1"}, ["Köln", "Nîmes"]),
    (rows("5 €", "Köln", encoding="cp1252"), {"encoding": "cp1252"}, ["5 €", "Köln"]),
    (rows(*TOWNS, encoding="cp1250"), {"encoding": "cp1250"}, ["Köln", "Zürich", "Łódź"]),
    (rows(*TOWNS, encoding="utf-16"), {"encoding": "utf-16"}, ["Köln", "Zürich", "Łódź"]),
    (rows(*TOWNS, encoding="utf-16-le"), {"encoding": "utf-16-le"}, ["Köln", "Zürich", "Łódź"]),
    (b"\xff\xfe" + rows("a", encoding="utf-16-le"), {"encoding": "utf-16-le"}, ["a"]),
    (rows("日本", "大阪", encoding="shift_jis"), {"encoding": "shift_jis"}, ["大阪", "日本"]),
    (rows("a", "b", encoding="latin-1"), {"encoding": "latin-1"}, ["a", "b"]),
    (rows("Köln", encoding="utf-8-sig"), {"encoding": "utf-8"}, ["Köln"]),
    (b'x,d\r\n"a\r\n\xe9",1\r\n', {"encoding": "latin-1"}, ["a\r\né"]),
    (rows("a,b", delimiter=";"), {"delimiter": ";"}, ["a,b"]),
    (rows("a", delimiter="\t"), {"delimiter": "tab"}, ["a"]),
    (rows("a", delimiter=":"), {"delimiter": ":"}, ["a"]),
    (rows("1,5", "10", "2,25", delimiter=";"), {"decimal": ","}, [1.5, 2.25, 10]),
    (rows("1.234,5", "12.345.678", "-7", delimiter=";"), {"decimal": ","}, [-7, 1234.5, 12345678]),
    (rows("1.234", "950", delimiter=";"), {"decimal": ","}, [950, 1234]),
    (rows("1.5", "2", delimiter=";"), {"decimal": ","}, ["1.5", "2"]),  # no decimal comma: texts
    (rows("1,50", "1,5", delimiter=";"), {"decimal": ","}, [1.5]),
    (rows("007,5", "1,5", delimiter=";"), {"decimal": ","}, ["007,5", "1,5"]),
    (rows("30", "9"), {"decimal": ","}, [9, 30]),
    (rows("1.5"), {"decimal": "."}, [1.5]),
    (rows("31.12.2020", "01.02.2021"), {"date_format": "dd.mm.yyyy"}, DATES),
    (rows("31.12.2020", "", "1.2.2021"), {"date_format": "%d.%m.%Y"}, [None, *DATES]),
    (rows("12/31/2020", "02/01/2021"), {"date_format": "mm/dd/yyyy"}, DATES),
    (rows("31/12/20", "01/02/21"), {"date_format": "DD/MM/YY"}, DATES),
    (rows("20201231", "20210201"), {"date_format": "yyyymmdd"}, DATES),
    (rows("31.12.2020 00:00", "01.02.2021 00:00"), {"date_format": "dd.mm.yyyy hh:mm"}, DATES),
    (
        rows("31.12.2020 10:30"),
        {"date_format": "dd.mm.yyyy hh:mm"},
        [dt.datetime(2020, 12, 31, 10, 30)],
    ),
    (rows("2020-12-31", "2021-02-01"), {"date_format": "dd.mm.yyyy"}, DATES),  # ISO, too
    (rows("31.12.2020", "soon"), {"date_format": "dd.mm.yyyy"}, ["31.12.2020", "soon"]),
    (rows("٣١.١٢.٢٠٢٠"), {"date_format": "dd.mm.yyyy"}, ["٣١.١٢.٢٠٢٠"]),
    (rows("2020-12-31 00:00:00", "2021-02-01 00:00:00"), {}, DATES),
    (rows("31-DEC-20", "1-feb-21"), {"date_format": "dd-mmm-yy"}, DATES),
    (rows("31Dec2020", "01FEB2021"), {"date_format": "ddMONyyyy"}, DATES),
    (rows("1FEB2021", "12MAR2021"), {"date_format": "%d%b%Y"}, [DATES[1], dt.date(2021, 3, 12)]),
    (rows("31. Dezember 2020"), {"date_format": "d. mmmm yyyy"}, DATES[:1]),  # in any locale
    (
        rows("31.12.26", "01.02.25"),
        {"date_format": "dd.mm.yy", "latest_year": 2025},
        [dt.date(1926, 12, 31), dt.date(2025, 2, 1)],
    ),
    (
        rows("2023-03-12 14:20:05+00", "2017-01-01T06:00:42Z"),
        {},
        [dt.datetime(2017, 1, 1, 6, 0, 42), dt.datetime(2023, 3, 12, 14, 20, 5)],
    ),
    (rows("2020-12-31T00:00+02:00", "2021-02-01T00:00+02:00"), {}, DATES),
    (rows('"$11,310.00 "', "$950", "-$7"), DOLLARS, [-7, 950, 11310]),
    (rows("1 234,50 €", "12 €", delimiter=";"), EUROS, [12, Decimal("1234.5")]),
    (rows("1,5", "1,250", delimiter=";"), DOLLARS, ["1,250", "1,5"]),  # no thousands: texts
    (rows("10", "9"), DOLLARS, [9, 10]),
    (rows("1042.50 EUR", "EUR 7"), {"currency": "EUR"}, [7, Decimal("1042.5")]),
    (rows("1.234 €", delimiter=";"), {"decimal": ",", "currency": "€"}, [1234]),
    (
        rows("2020-12-31 00:00", "2020-12-31 09:00"),
        {},
        [dt.datetime(2020, 12, 31), dt.datetime(2020, 12, 31, 9)],
    ),
]


@pytest.mark.parametrize(("content", "reading", "found"), READ)
def test_what_is_read_as_is_said(tmp_path, content, reading, found):
    domain, order = column(put(tmp_path, content), reading=reading)
    assert domain == found
    assert [type(v) for v in domain if isinstance(v, str | dt.date)] == [
        type(v) for v in found if isinstance(v, str | dt.date)
    ]
    assert order == ("nominal" if isinstance(found[-1], str) else "ordered")
    zipped = put(tmp_path, gzip.compress(content), "people.csv.gz")
    assert column(zipped, reading=fk.Reading(**reading))[0] == found


LATIN = rows("Köln", encoding="latin-1")

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\x81\0\n"
ELF = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0\xd0a\0\0\0\0\0\0@\0\x81"
ICON = b"\0\0\x01\0\x02\0\x10\x10\0\0\x01\0\x20\0\xff\xfe\x04\x05\x81"
BINARY = [random.Random(5).randbytes(5000), PNG, ELF, ICON]
NO_TEXT = "people.csv is not a text file; save the table as CSV, in UTF-8$"
FIELD = "Köln \x13PAGE\x14 1\x15"  # as Word marks a field

# Content, how it is to be read, and the words of the refusal.
REFUSED = [
    *((content, {}, NO_TEXT) for content in BINARY),
    *((content, {"encoding": "latin-1"}, NO_TEXT) for content in BINARY),
    *((content, {"encoding": "cp1252"}, NO_TEXT) for content in BINARY),
    (b"PK\x03\x04\x81", {"encoding": "cp1252"}, "not CSV but a workbook or an archive"),
    (rows(FIELD, encoding="latin-1"), {}, "add --encoding latin-1"),
    (rows(FIELD, encoding="latin-1"), {"encoding": "ascii"}, "not ascii; name the encoding"),
    (rows("漢字" * 40, encoding="utf-16-le")[:-1], {"encoding": "utf-16-le"}, "not utf-16-le"),
    (LATIN, {}, r"not UTF-8 \(line 2, byte 6\); save it again as UTF-8, or add --encoding latin-1"),
    (rows("5 €", encoding="cp1252"), {}, "add --encoding cp1252"),
    (rows("a", encoding="utf-16"), {}, "not UTF-8 but UTF-16; .* add --encoding utf-16, or"),
    (rows("a", encoding="utf-16-be"), {}, "add --encoding utf-16-be"),
    (rows("a", encoding="utf-32"), {}, "add --encoding utf-32"),
    (rows("5 €", encoding="cp1252"), {"encoding": "latin-1"}, "add --encoding cp1252"),
    (LATIN, {"encoding": "ascii"}, "not ascii; name the encoding"),
    (rows("a", encoding="utf-16")[:-1], {"encoding": "utf-16"}, "not utf-16"),
    (
        rows("a", delimiter=";"),
        {"delimiter": ","},
        "one column with .* ',', and 2 with ';'; add --delim",
    ),
    (rows("a", delimiter="\t"), {"delimiter": ";"}, "add --delimiter tab, or reading"),
    (rows("a", delimiter=":"), {}, "no column 'x' but only 'x:d'; .* such as --delimiter :"),
    (b"PAR1" + b"\0" * 9, {}, "not CSV but Parquet; rename it to end in .parquet"),
    (b"SQLite format 3\0", {}, "a database of SQLite; rename"),
    (b",x,d\n0,1,a\n1,2,b\n", {}, "column 1 has no name; .* write the table with index=False"),
    (b"x,,d\n0,1,a\n", {}, "column 2 has no name; give it one"),
    (b"sep=;\nx;d\n0;a\n", {}, "remove the first line, which is for Excel"),
]


@pytest.mark.parametrize(("content", "reading", "said"), REFUSED)
def test_what_cannot_be_read_says_the_line_that_helps(tmp_path, content, reading, said):
    with pytest.raises(fk.InputError, match=said) as refusal:
        column(put(tmp_path, content), reading=reading)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("values", "wanted", "said"),
    [
        (
            ["31.12.2020", "01.02.2021"],
            "date",
            r"'31\.12\.2020'; add --date-format dd\.mm\.yyyy, or",
        ),
        (["31.12.2020", "soon", "1.1.2000"], "date", "row 1 .* --date-format dd.mm.yyyy"),
        (["12/31/2020"], "date", "--date-format mm/dd/yyyy, or reading"),
        (["01/02/2020"], "date", "--date-format dd/mm/yyyy or --date-format mm/dd/yyyy, or"),
        (["1.2.2020 10:30"], "date", '--date-format "dd.mm.yyyy hh:mm"'),
        (["soon"], "date", "row 1 holds 'soon'$"),
        (['"1,5"', '"2"'], "number", 'add --decimal ",", or reading = { decimal = "," }'),
        (["1.5.3"], "number", r"row 1 holds '1\.5\.3'$"),
    ],
)
def test_declared_columns_say_how_their_values_would_be_read(tmp_path, values, wanted, said):
    path = put(tmp_path, rows(*values))
    with pytest.raises(fk.InputError, match=said):
        column(path, types={"x": wanted})
    of_hierarchy = {"date": fk.DateLevels(["year"]), "number": fk.Intervals([5])}[wanted]
    with pytest.raises(fk.InputError, match=said):
        column(path, hierarchies={"x": of_hierarchy})


@pytest.mark.parametrize(
    ("values", "reading", "said"),
    [
        (["2023-03-26T01:00+01:00", "2023-03-26T03:00+02:00"], {}, "times of several zones, such"),
        (["2023-03-26T01:00Z", "2023-03-26T03:00"], {}, "write all of them in one, or add types"),
        (["5/5/67"], {"date_format": "m/d/yy"}, "'5/5/67' would be of the year 2067, .* latest_y"),
        (['"$1,000"', "$7", "$n"], DOLLARS, "most values are amounts .* row 3 holds '\\$n'"),
    ],
)
@pytest.mark.parametrize("role", ["known", "hidden"])
def test_unclear_times_and_amounts(tmp_path, values, reading, said, role):
    path = put(tmp_path, rows(*values))
    known, hidden = ("x", "d") if role == "known" else ("d", "x")
    schema = fk.Schema(quasi_identifiers=[known], sensitive=hidden, reading=reading)
    with pytest.raises(fk.InputError, match=said):
        _ = fk.Microdata(path, schema).n_people
    as_texts = fk.Schema(**{**schema.to_dict(), "types": {"x": "text"}})
    assert fk.Microdata(path, as_texts).n_people == len(values)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"encoding": "latin1x"}, "encoding 'latin1x' is unknown; such as latin-1"),
        ({"encoding": "rot13"}, "encoding 'rot13' is unknown"),
        ({"encoding": "zip"}, "is unknown"),
        ({"delimiter": ""}, "must be one sign such as ; or tab"),
        ({"delimiter": ";;"}, "must be one sign"),
        ({"delimiter": "x"}, "must be one sign"),
        ({"delimiter": "é"}, "must be one sign"),
        ({"decimal": ";"}, 'decimal must be "." or ","'),
        ({"date_format": "dd.mm"}, "it needs year, month and day, such as dd.mm.yyyy"),
        ({"date_format": "%q"}, "'%q' means nothing in it; it is written with yyyy"),
        ({"date_format": "dd-mom-yy"}, "'mom' means nothing in it; .* mmm or mon"),
        ({"date_format": "%d-MON-%y"}, "'MON' means nothing in it"),
        ({"date_format": "dd.mm.yyyy mm"}, "a part of the date stands in it twice"),
        ({"date_format": "%Y-%m-%d %H:%M%z"}, "names a zone, .*; leave date_format out"),
        ({"latest_year": "2025"}, "latest_year must be a year such as 2025, not '2025'"),
        ({"thousands": "."}, r"decimal and thousands are both '\.'"),
        ({"thousands": ";"}, "thousands must be"),
        ({"currency": "1"}, "currency must be a sign or letters"),
        ({"date_format": ""}, "it needs year"),
        ({"encodings": "utf-8"}, "reading has no 'encodings'; did you mean 'encoding'"),
        ({"decimal": 5}, "decimal must be a text, not 5"),
        ("latin-1", "reading must be a Reading"),
    ],
)
def test_a_reading_that_means_nothing_is_refused(given, said):
    with pytest.raises(fk.InputError, match=said):
        fk.Schema(quasi_identifiers=["x"], sensitive="d", reading=given)


def test_a_reading_given_beside_the_schema_goes_first(tmp_path):
    path = put(tmp_path, rows("31.12.2020", "Köln", delimiter=";", encoding="cp1252"))
    schema = fk.Schema(
        quasi_identifiers=["x"], sensitive="d", reading={"encoding": "utf-16", "delimiter": ";"}
    )
    read = fk.Microdata(path, schema, fk.Reading(encoding="cp1252"))
    assert read.reading == fk.Reading(encoding="cp1252", delimiter=";")
    assert read.attributes[0].domain == ["31.12.2020", "Köln"]
    assert fk.Schema(**schema.to_dict()) == schema
    assert schema.to_dict()["reading"] == {"encoding": "utf-16", "delimiter": ";"}


def test_a_release_is_compared_as_it_is_written(tmp_path):
    """One date in two spellings makes two groups, whatever a format makes of them."""
    content = "x;d\n1.2.2020;flü\n01.02.2020;flü\n".encode("latin-1")
    release = fk.Release.from_generalized(
        put(tmp_path, content),
        quasi_identifiers=["x"],
        sensitive="d",
        reading=fk.Reading(encoding="latin-1", date_format="dd.mm.yyyy"),
    )
    assert bags(release.counts) == {("1.2.2020",): {"flü": 1}, ("01.02.2020",): {"flü": 1}}


def test_copies_are_removed_with_their_tables(tmp_path):
    def copies():
        return len(list((scratch() / CONTENT).glob("read-*")))

    path, before = put(tmp_path, LATIN), len(list((scratch() / CONTENT).glob("read-*")))
    table = open_table(path, fk.Reading(encoding="latin-1"))
    assert copies() == before + 1
    assert table.arrow(["x"]).column(0).to_pylist() == ["Köln"]
    del table
    assert copies() == before
    for wrong in ({"encoding": "ascii"}, {"encoding": "latin-1", "delimiter": ";"}):
        with pytest.raises(fk.InputError):
            column(path, reading=wrong)
        assert copies() <= before + 1


def test_a_large_file_in_another_encoding_is_read_whole(tmp_path):
    """Signs of two and four bytes fall on the borders of what is read at once."""
    values = [f"{'é𝄞'[i % 2] * (i % 7)}{i}" for i in range(150_000)]
    path = put(tmp_path, rows(*values, encoding="utf-16"))
    table = open_table(path, fk.Reading(encoding="utf-16"))
    assert table.arrow(["x"]).column(0).to_pylist() == values


# ---- frames ------------------------------------------------------------------------------------

DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
ENUM = pl.Series(["b", "c"], dtype=pl.Enum(["c", "b", "a"]))


@pytest.mark.parametrize(
    ("values", "domain", "order"),
    [
        (pd.cut([1, 5, 9], [0, 4, 8, 12]), ["(0, 4]", "(4, 8]", "(8, 12]"], "ordered"),
        (pd.cut([9, 100], [0, 20, 120]), ["(0, 20]", "(20, 120]"], "ordered"),
        (pd.cut([5, float("nan")], [0, 9]), [None, "(0, 9]"], "ordered"),
        (pd.arrays.IntervalArray.from_breaks([9, 10, 100]), ["(9, 10]", "(10, 100]"], "ordered"),
        (pd.cut([1, 5], [0, 4, 8], labels=["young", "aged"]), ["young", "aged"], "ordered"),
        (pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"], ordered=True), ["lo", "hi"], "ordered"),
        (pd.Categorical(["lo", "hi"], ["lo", "hi"]), ["hi", "lo"], "nominal"),
        (pd.to_datetime(["2020-01-02", "2020-01-01"]), DAYS, "ordered"),
        (pd.to_datetime(["2020-01-02", None]), [None, DAYS[1]], "ordered"),
        pytest.param(
            *(ENUM, ["c", "b"], "ordered"),
            marks=pytest.mark.skipif(
                not ENUM.to_arrow().type.ordered, reason="this Polars loses the order of an Enum"
            ),
        ),
        (pl.Series(["b", "a"], dtype=pl.Categorical), ["a", "b"], "nominal"),
        (pl.Series([dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 1)]), DAYS, "ordered"),
        (pd.to_datetime(["2020-01-02 10:00"]), [dt.datetime(2020, 1, 2, 10)], "ordered"),
        (
            pd.period_range("2020-01", periods=2, freq="M"),
            r"by \.dt\.to_timestamp\(\), or texts",
            "",
        ),
        (pd.to_timedelta([1, 2], unit="D"), r"numbers of days, by \.dt\.days in pandas", ""),
        (pl.Series([dt.timedelta(1)]), r"\.dt\.total_days\(\) in Polars", ""),
    ],
)
def test_types_of_frames_are_read_right_or_refused(values, domain, order):
    library = pl if isinstance(values, pl.Series) else pd
    frame = library.DataFrame({"x": values, "d": ["a"] * len(values)})
    if order:
        assert column(frame) == (domain, order)
    else:
        with pytest.raises(fk.InputError, match=domain):
            column(frame)


def test_objects_of_two_zones():
    zones = ["UTC", "Asia/Tokyo"]
    times = [pd.Timestamp("2020-01-01 10:00", tz=zone) for zone in zones]
    frame = pd.DataFrame({"x": pd.Series(times, dtype=object), "d": ["a", "b"]})
    with pytest.raises(fk.InputError, match=r"\(Asia/Tokyo, UTC\); .* pd.to_datetime"):
        column(frame)
    frame["x"] = pd.to_datetime(frame["x"], utc=True)
    assert len(column(frame)[0]) == 2
    frame["x"] = pd.Series([times[0], pd.NaT], dtype=object)
    assert len(column(frame)[0]) == 2


def test_times_at_midnight_in_a_zone_stay_times():
    zoned = pd.DataFrame({"x": pd.to_datetime(["2020-01-02"]).tz_localize("Asia/Tokyo"), "d": [1]})
    (found,) = column(zoned)[0]
    assert found == dt.datetime(2020, 1, 2, tzinfo=found.tzinfo)


def test_texts_of_frames_are_read_as_is_said_and_others_stay():
    frame = pd.DataFrame(
        {"x": ["1,5", "10"], "zip": ["02138", "10115"], "n": ["1", "2"], "d": ["a", "b"]}
    )
    comma = fk.Reading(decimal=",", date_format="dd.mm.yyyy")
    assert column(frame, reading=comma) == ([Decimal("1.5"), 10], "ordered")
    assert column(frame)[0] == ["1,5", "10"]
    assert column(frame, "zip", reading=comma) == (["02138", "10115"], "nominal")
    assert column(frame, "n", reading=comma) == (["1", "2"], "nominal")
    dates = pl.DataFrame({"x": ["31.12.2020", "01.02.2021"], "d": ["a", "b"]})
    assert column(dates, reading=comma)[0] == DATES
    assert column(dates, reading=comma, types={"x": "text"})[0] == ["01.02.2021", "31.12.2020"]


@pytest.mark.parametrize("make", ["csv", "pandas", "parquet"])
def test_codes_that_became_floats_are_doubted_and_read_as_texts_when_asked(tmp_path, make):
    frame = pd.DataFrame({"x": [12345.0, None, 60601.0], "d": ["a", "b", "a"]})
    source = frame
    if make == "csv":
        source = tmp_path / "people.csv"
        frame.to_csv(source, index=False)
    elif make == "parquet":
        source = tmp_path / "people.parquet"
        frame.to_parquet(source)
    schema = fk.Schema(quasi_identifiers=["x"], sensitive="d")
    (doubt,) = fk.Microdata(source, schema).doubts().values()
    assert 'add types = { "x" = "text" }' in doubt
    assert column(source, types={"x": "text"}) == ([None, "12345", "60601"], "nominal")
    schema = fk.Schema(quasi_identifiers=["x"], sensitive="d", types={"x": "number"})
    assert fk.Microdata(source, schema).doubts() == {}


@pytest.mark.parametrize(
    ("values", "doubted"),
    [
        (["9" * 40 + ".0", "1.00"], True),
        (["9" * 40 + ".5"], False),
        (["1.0", "1.5"], False),
        (["1", "2"], False),
        (["", ""], False),
    ],
)
def test_numbers_are_doubted_only_if_all_are_whole_with_decimals(tmp_path, values, doubted):
    schema = fk.Schema(quasi_identifiers=["x"], sensitive="d")
    found = fk.Microdata(put(tmp_path, rows(*values)), schema)
    assert bool(found.doubts()) == doubted
    if not any(values):
        assert found.read_as()["x"] == "nothing but missing values"


def test_what_columns_were_taken_for_is_said(tmp_path):
    frame = pl.DataFrame(
        {
            "age": [17, 90, None],
            "sex": ["F", "M", "F"],
            "born": ["1.2.2020", "3.4.2020", "31.12.2020"],
            "dose": ["1,5", "2", "0,5"],
            "day": [dt.date(2020, 1, 1)] * 3,
            "d": ["flu", "cold", "flu"],
        }
    )
    schema = fk.Schema(quasi_identifiers=frame.columns[:-1], sensitive="d")
    of_frame = fk.Microdata(frame, schema)
    assert of_frame.read_as() == {
        "age": "numbers 17 to 90, some missing",
        "sex": "text, 2 values",
        "born": "text, 3 values",
        "dose": "text, 3 values",
        "day": "one date, 2020-01-01",
        "d": "text, 2 values",
    }
    doubts = of_frame.doubts()
    assert list(doubts) == ["born", "dose"]
    assert "--date-format dd.mm.yyyy" in doubts["born"]
    assert '--decimal ","' in doubts["dose"]
    told = fk.Microdata(frame, schema, fk.Reading(decimal=",", date_format="dd.mm.yyyy"))
    assert told.doubts() == {}
    assert told.read_as()["born"] == "dates 2020-02-01 to 2020-12-31"
    assert told.read_as()["dose"] == "numbers 0.5 to 2"


def test_an_ordered_categorical_is_published_in_its_order(tmp_path):
    levels = ["none", "some", "much", "all"]
    values = pd.Categorical(levels * 6, levels, ordered=True)
    frame = pd.DataFrame({"pain": values, "d": list("abc") * 8})
    schema = fk.Schema(quasi_identifiers=["pain"], sensitive="d")
    policy = fk.Policy([fk.Requirement(fk.Facts(), below="1/2")], schema)
    groups = fk.Mondrian().partition(fk.Microdata(frame, schema), policy)
    made = fk.publish(fk.Microdata(frame, schema), policy, seed=1)
    labels = set(made.tables["release"].column("pain").to_pylist())
    expected = set()
    for group in np.unique(groups):
        held = [level for level in levels if level in set(frame["pain"][groups == group])]
        expected.add(held[0] if len(held) == 1 else f"{held[0]} to {held[-1]}")
    assert labels == expected
    made.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out")


def test_the_reading_of_the_owners_file_is_not_published(tmp_path):
    path = put(tmp_path, rows(*["Köln", "Ulm"] * 8, delimiter=";", encoding="latin-1"))
    policy = fk.Policy.from_dict(
        {
            "schema": {
                "quasi_identifiers": ["x"],
                "sensitive": "d",
                "reading": {"encoding": "latin-1", "delimiter": ";"},
            },
            "require": [{"facts": {}, "below": 0.9}],
        }
    )
    assert policy.to_dict()["schema"]["reading"] == {"encoding": "iso8859-1", "delimiter": ";"}
    made = fk.publish(fk.Microdata(path, policy.schema), policy)
    made.write(tmp_path / "out")
    assert "reading" not in (tmp_path / "out" / "certificate.json").read_text()
    assert fk.verify(tmp_path / "out")


def test_parquet_needs_no_reading(tmp_path):
    pq.write_table(pl.DataFrame({"x": ["a"], "d": ["b"]}).to_arrow(), tmp_path / "people.parquet")
    reading = {"encoding": "latin-1", "delimiter": ";"}
    assert column(tmp_path / "people.parquet", reading=reading)[0] == ["a"]


@pytest.mark.parametrize(
    ("reading", "odd", "usual"),
    [
        ({"date_format": "mm/dd/yyyy"}, "13/13/1957", "{0:02}/{0:02}/1960"),
        ({"date_format": "mm/dd/yyyy"}, "unknown", "{0:02}/{0:02}/1960"),
        ({"date_format": "mm/dd/yyyy"}, "01/02/١٩٦٠", "{0:02}/{0:02}/1960"),  # other digits
        ({"decimal": ","}, "30.0", "{0},5"),
    ],
)
def test_a_column_of_which_only_most_values_are_as_the_reading_says_is_refused(reading, odd, usual):
    values = [usual.format(1 + i % 12) for i in range(20)]
    values[7] = odd
    table = pa.table({"x": values, "d": ["Flu", "Cold"] * 10})
    roles = {"quasi_identifiers": ["x"], "sensitive": "d", "reading": reading}
    with pytest.raises(fk.InputError, match=rf"'x': most values are .* row 8 holds {odd!r}"):
        _ = fk.Microdata(table, **roles).attributes
    texts = fk.Microdata(table, **roles, types={"x": "text"})
    assert texts.attributes[0].order == "nominal"
    codes = pa.table({"x": [f"1234{c}" for c in "0123456789ABCDEFGHIJ"], "d": table["d"]})
    assert fk.Microdata(codes, **roles).attributes[0].order == "nominal"
