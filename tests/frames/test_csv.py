"""CSV files: what is read from them, and what is refused with the line that is wrong."""

import gzip

import pyarrow as pa
import pytest
from tests.frames.backends import bags, write

from foreknow.data.engines import open_table
from foreknow.data.release import Release
from foreknow_judge.errors import DataError


def counted(path):
    return bags(Release.from_groups(path, group="gid", sensitive="disease").counts)


PLAIN = "gid,disease\n1,Flu\n2,AIDS\n1,Flu\n"
COUNTED = {"1": {"Flu": 2}, "2": {"AIDS": 1}}


SAME = {
    "a.csv": PLAIN,
    "a.CSV": PLAIN,
    "a.txt": PLAIN,
    "release.v2.csv": PLAIN,
    "a[1]*?.csv": PLAIN,
    "a.tsv": PLAIN.replace(",", "\t"),
    "tab.csv": PLAIN.replace(",", "\t"),
    "semicolon.csv": PLAIN.replace(",", ";"),
    "pipe.csv": PLAIN.replace(",", "|"),
    "crlf.csv": PLAIN.replace("\n", "\r\n"),
    "bom.csv": "\ufeff" + PLAIN,
    "quoted.csv": PLAIN.replace("gid,disease", '"gid","disease"'),
    "unfinished.csv": PLAIN.rstrip("\n"),
    "blank line.csv": PLAIN.replace("2,", "\n2,"),
    "blank end.csv": PLAIN + "\n",
    "spaced header.csv": PLAIN.replace(",disease", ", disease "),
    "a.csv.gz": gzip.compress(PLAIN.encode()),
    "bom.csv.gz": gzip.compress(b"\xef\xbb\xbf" + PLAIN.encode()),
    "a.tsv.gz": gzip.compress(PLAIN.replace(",", "\t").encode()),
}


@pytest.mark.parametrize("name", SAME)
def test_these_are_one_table(tmp_path, name):
    assert counted(write(tmp_path, SAME[name], name)) == COUNTED
    assert counted(str(tmp_path / name)) == COUNTED


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ('"a,b"', "a,b"),
        ('"two\nlines"', "two\nlines"),
        ('"two\r\nlines"', "two\r\nlines"),
        ('"say ""hi"""', 'say "hi"'),
        ("a;b", "a;b"),
        (" spaces ", " spaces "),
        ("NA", "NA"),
        ("NULL", "NULL"),
        ("nan", "nan"),
        ("007", "007"),
        ("Grippe é 流感", "Grippe é 流感"),
        ("'", "'"),
    ],
)
def test_a_field_is_read_as_it_stands(tmp_path, field, value):
    assert counted(write(tmp_path, f"gid,disease\n1,{field}\n")) == {"1": {value: 1}}


@pytest.mark.parametrize("sets", [False, True])
def test_groups_with_empty_fields_in_quotes_and_without_are_refused(tmp_path, sets):
    path = write(tmp_path, 'pid,gid,disease\n1,"",AIDS\n2,"",AIDS\n3,,Flu\n4,,Flu\n')
    more = {"person": "pid", "semantics": "set"} if sets else {}
    with pytest.raises(DataError, match=r'column \'gid\' of groups holds both "" and empty'):
        _ = Release.from_generalized(
            path, quasi_identifiers=["gid"], sensitive="disease", **more
        ).counts


def test_elsewhere_an_empty_field_is_a_null_in_quotes_or_not(tmp_path):
    path = write(tmp_path, 'gid,disease\n1,""\n1,\n1,Flu\n')
    with pytest.raises(DataError, match="'disease' is missing in 2 rows, first in row 1"):
        counted(path)
    quoted = write(tmp_path, 'gid,disease\n"",Flu\n"",AIDS\n1,Flu\n1,AIDS\n')
    found = Release.from_generalized(quoted, quasi_identifiers=["gid"], sensitive="disease").counts
    assert found.groups == [(None,), ("1",)]


def test_ids_and_sensitive_values_stay_the_texts_they_are(tmp_path):
    found = counted(write(tmp_path, "gid,disease\n02138,010\n2138,10\n2138,10.0\n"))
    assert found == {"02138": {"010": 1}, "2138": {"10": 1, "10.0": 1}}


def test_rows_come_in_the_order_of_the_file(tmp_path):
    n = 50_000
    path = write(tmp_path, "age,disease\n" + "".join(f"{n - i},x\n" for i in range(n)))
    ages = open_table(path).arrow(["age"]).column("age").cast(pa.string()).to_pylist()
    assert ages == [str(n - i) for i in range(n)]


@pytest.mark.parametrize(
    ("names", "group", "sensitive"), [("gid,disease,Disease", 1, 3), ("GID,gid,Disease", 2, 3)]
)
def test_columns_whose_names_differ_in_case_only_stay_apart(tmp_path, names, group, sensitive):
    columns = names.split(",")
    release = Release.from_groups(
        write(tmp_path, f"{names}\n1,2,3\n"),
        group=columns[group - 1],
        sensitive=columns[sensitive - 1],
    )
    assert bags(release.counts) == {str(group): {str(sensitive): 1}}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "people.csv is empty.*; its first line must name the columns"),
        ("\n\n", "people.csv is empty"),
        ("gid,disease\n", "people.csv has no rows"),
        ("gid,disease", "people.csv has no rows"),
        ("gid,disease,gid\n1,2,3\n", "two columns named 'gid'; rename one of them"),
        ("gid,,disease\n1,2,3\n", "column 2 has no name"),
        ("gid,sickness\n1,2\n", "has no column 'disease'; known: 'gid', 'sickness'"),
        ("gid,diseases\n1,2\n", "has no column 'disease'; did you mean 'diseases'?"),
        ("gid,disease\n1,x\n2,y,z\n", "people.csv, line 3: 3 fields where the header has 2"),
        ("gid,disease\n1,x\n2\n", "people.csv, line 3: 1 field where the header has 2"),
        ("gid,disease\n1,Grippé\n".encode("latin-1"), "not UTF-8.*save it again as UTF-8"),
        ("gid,grippé\n1,x\n".encode("latin-1"), "not UTF-8.*save it again as UTF-8"),
        (PLAIN.encode("utf-16"), "not UTF-8.*save it again as UTF-8"),
        (
            ("gid,disease\n" + "1,x\n" * 30_000).encode() + b"1,\xe9\n",
            r"not UTF-8 \(line 30002, byte 120015\)",
        ),
        ('gid,disease\n1,"x\n2,y\n', "people.csv, line 2: a quote is not closed"),
        ('gid,disease\n1,"20"\n1,"20" \n', "people.csv, line 3: a quote with something beside"),
        ('gid,disease\n1,"20"\n1, "20"\n', "people.csv, line 3: a quote with something beside"),
        ('gid,disease\r\n1,"a\r\nb"\r\n1,5" pipe\r\n', "line 4: a quote with something beside"),
        ("gid,disease\n1,x\n2,y,\n", "people.csv, line 3: 3 fields where the header has 2"),
        ("gid,disease\n1,x\n2,y,", "people.csv, line 3: 3 fields where the header has 2"),
        ("\ngid,disease\n1,x\n", "begins with an empty line; its first line must name"),
    ],
)
def test_a_bad_file_says_what_is_wrong_and_where(tmp_path, content, says):
    with pytest.raises(DataError, match=says):
        counted(write(tmp_path, content))


@pytest.mark.parametrize(
    "content", [gzip.compress(PLAIN.encode() * 99)[:40], PLAIN.encode()], ids=["cut", "not gzip"]
)
def test_a_broken_gzip_file_is_refused(tmp_path, content):
    with pytest.raises(DataError, match=r"people\.csv\.gz cannot be read"):
        counted(write(tmp_path, content, "people.csv.gz"))


@pytest.mark.parametrize(
    "content",
    [
        "gid,disease\n1,Flu\r\n2,AIDS\n1,Flu\r\n",
        "gid,disease\r\n1,Flu\n2,AIDS\r\n1,Flu\r\n",
        "gid,disease\n1,Flu\r2,AIDS\n1,Flu\n",
    ],
    ids=repr,
)
def test_mixed_line_ends_are_read_or_told(tmp_path, content):
    path = write(tmp_path, content)
    try:
        found = counted(path)
    except DataError as error:
        assert "people.csv" in str(error)  # noqa: PT017
        assert "mixed line ends; save the file with one kind" in str(error)  # noqa: PT017
    else:  # a DuckDB that reads them must read all rows
        assert found == COUNTED


def test_a_header_may_hold_a_quoted_line_break_and_be_longer_than_a_buffer(tmp_path):
    path = write(tmp_path, '"gid","dis\nease"\n1,Flu\n')
    assert open_table(path).columns == ["gid", "dis\nease"]
    names = [f"{'column' * 20}{i}" for i in range(1000)]
    path = write(tmp_path, ",".join(names) + "\n" + ",".join(map(str, range(1000))) + "\n")
    assert open_table(path).columns == names
    assert open_table(path).arrow([names[-1]]).column(0).to_pylist() == ["999"]


@pytest.mark.parametrize("end", ["\n", ""], ids=["", "unfinished"])
def test_a_last_line_that_is_longer_than_the_buffer_is_not_dropped(tmp_path, end):
    path = write(tmp_path, "gid,disease\n1,Flu\n2," + "x" * (33 << 20) + end)
    with pytest.raises(DataError, match=r"people\.csv.* over 2 MB|longer than 2 MB"):
        counted(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
def test_an_empty_line_of_one_column_is_refused(tmp_path, end):
    path = write(tmp_path, f"disease{end}Flu{end}{end}AIDS{end}")
    with pytest.raises(DataError, match="has one column and an empty line, which some readers"):
        open_table(path).arrow(["disease"])
    path = write(tmp_path, f'disease{end}Flu{end}""{end}AIDS{end}')
    assert open_table(path).arrow(["disease"]).column(0).to_pylist() == ["Flu", None, "AIDS"]
