"""The commands skyline, curves and survey: what they print, write, and refuse."""

import json
import shlex

import pytest
from tests import adult
from tests.cli.conftest import desk as desk
from tests.cli.conftest import pay as pay

LATTICE = """[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
identifiers = ["name"]

[schema.hierarchies]
age = { intervals = [20] }

[[require]]
implications = { k = 1 }
below = 0.9

[publish]
labels = { sex = "exact" }  # of a sex there are few
"""
WARD = """who,ward,disease
Ed,1,Flu
Frank,1,Cancer
Gary,1,Flu
Tom,1,AIDS
Ann Lee,2,Flu
Bob,2,Cold
Cary,2,AIDS
"""
GAPS = """[schema]
quasi_identifiers = ["town"]
sensitive = "illness"
missing = "drop"
[[require]]
facts = { l = 0 }
below = 0.9
"""
SKYLINE = "skyline ward.csv -c 0.9 "
PLAIN = SKYLINE + "--sensitive disease --group ward "
AIDS = PLAIN + "--value AIDS "
TABLE = "skyline table.csv --policy policy.toml -c 0.9 -v flu "
CURVES = "curves ward.csv --sensitive disease --group ward "
RAW = "curves table.csv --policy lattice.toml "
SURVEY = "survey table.csv --policy lattice.toml "


@pytest.fixture
def ward(desk):
    """A desk with a table of two wards, a policy with hierarchies, and rows with gaps."""
    desk.put("ward.csv", WARD)
    desk.put("lattice.toml", LATTICE)
    desk.put("wrong.toml", LATTICE.replace('"disease"', '"diseases"'))
    desk.put("gaps.csv", "town,illness\n" + "Ulm,flu\nUlm,cold\n" * 3 + "Ulm,\nUlm,\n")
    desk.put("gaps.toml", GAPS)
    return desk


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (PLAIN, ["AIDS 1 1 1 2", "Cancer 1 2 2 3", "Flu 1 1 1 2", "!Bob"]),
        (
            AIDS,
            [
                "AIDS at 90%: 2 points",
                "0 1 0 an adversary who knows one other",
                "Too much: an adversary who knows 2 other people's diseases",
                "l=0, k=2, m=0 is not withstood: the breach probability is 1.",
                "Known people: in group 2: Cold × 1 and Flu × 1",
                "!Bob",
            ],
        ),
        (
            AIDS + "--above 0,0,1",
            ["k=0, m=1 is withstood: the breach probability is 1/2 = 50"],
        ),
        (AIDS + "--above ' 1, 1,0'", ["k=1, m=0 is not withstood: the breach probability is 1."]),
        (AIDS + "--above 0,0,0", ["m=0 is withstood: the breach probability is 1/3 = 33.33%."]),
        # Sets have their own words.
        (
            AIDS + "--person who --semantics set --name-people",
            ["people who do not have AIDS", "AIDS not in"],
        ),
        # Columns may come from a policy; there, every row is a group of its own.
        (TABLE, ["flu at 90%: 0 points"]),
        (
            TABLE + "--group sex --knowing= --person name --name-people",
            ["Known people: in group f: cold × 1", "Fay = cold"],
        ),
        (
            "skyline table.csv --sensitive disease -c 1 -v flu --quasi-identifiers sex",
            ["member of group “sex f”"],
        ),
        (
            "skyline table.csv --sensitive disease -c 1 -v flu --quasi-identifiers 'sex, age'",
            ["can be certain"],
        ),
        (
            CURVES + "--upto 2",
            [
                "any disease – ward.csv 7 people in 2 groups",
                "0 50.0% ======== 50.0% ========",
                "2 100% =============== 100%",
                "It takes",
                "Not judged: who.",
            ],
        ),
        # A raw table is generalized first.
        (RAW + "--levels ' age = 1 , sex=*'", ["8 people in 2 groups", "!Not judged"]),
        (RAW + "--levels sex=0", ["8 people in 2 groups"]),
        (
            "curves table.csv --sensitive disease --quasi-identifiers 'age, sex' "
            "--levels age=0,sex=0",
            ["8 people in 8 groups"],
        ),
        (
            SURVEY + "--knowledge 0,1",
            [
                "6 generalizations: entropy and worst disclosure – table.csv",
                "8 people; generalized: age, sex",
                "* * 1 1.000 50.0% 100%",
                "by the number of implications",
            ],
        ),
        ("skyline gaps.csv -p gaps.toml -c 0.9", ["2 rows have no illness and were left out"]),
        ("curves gaps.csv -p gaps.toml --upto 1", ["2 rows have no illness and were left out"]),
    ],
)
def test_what_is_printed(ward, words, said):
    out = ward.says(*shlex.split(words))
    for part in said:
        assert (part[1:] not in out) if part.startswith("!") else (part in out)


def test_people_are_named_on_request(ward):
    """And only in the terminal."""
    words = shlex.split(AIDS + "--html page.html --json points.json --person who")
    assert "Cary" not in ward.says(*words)
    before, after = ward.says(*words, "--name-people").split(
        "It is for the owner of the data only."
    )
    assert "Cary" not in before
    assert (
        "Someone who knows that Bob has Cold and that Ann Lee has Flu can be certain that Cary has "
        'AIDS. – Bob = Cold – "Ann Lee" = Flu'
    ) in after
    for name in ("page.html", "points.json"):
        assert b"Cary" not in (ward.folder / name).read_bytes()


def test_what_is_written(ward):
    assert ward.says(*shlex.split(CURVES + "--upto 1 --value AIDS --json c.json -q")) == ""
    read = ward.json("c.json")
    assert read["value"] == "AIDS"
    assert [point["implications"]["exact"] for point in read["points"]] == ["1/3", "1/2"]
    ward.says(*shlex.split(RAW + "--levels age=1,sex=* --html p.html"))
    assert "age 20 to 39, sex *" in (ward.folder / "p.html").read_text("utf-8")
    assert "by the number of negations" in ward.says(
        *shlex.split(SURVEY + "-k 1 --negations --json s.json")
    )
    assert ward.json("s.json")["kind"] == "negations"


def test_published_folders_need_no_columns(desk):
    desk.run(*desk.publish())
    ask = ["skyline", "out", "-c", "0.9", "-v", "flu"]
    out = desk.says(*ask)
    assert "flu at 90%" in out
    assert desk.says(*ask, "--sensitive", "disease") == out
    assert "any disease" in desk.says("curves", "out")
    for words, said in (
        ([*ask, "--sensitive", "diseas"], "is no sensitive column; did you mean 'disease'"),
        ([*ask, "--group", "sex"], "are in its certificate; leave out --group"),
        ([*ask, "--name-people", "-q"], "names nobody"),
        (["curves", "out", "--levels", "age=1"], "is published already"),
    ):
        assert said in desk.refused(*words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (PLAIN + "-v AID", "no group contains the sensitive value 'AID'; did you mean 'AIDS'?"),
        (AIDS + "--above 1,2", "three whole numbers l,k,m from 0"),
        (AIDS + "--above 1,2,-3", "three whole numbers l,k,m from 0"),
        (PLAIN + "--above 1,2,3", "add --value"),
        (PLAIN + "--name-people", "add --value"),
        (AIDS + "--name-people", "needs a table with a row for each person, and"),
        (SKYLINE, "say what the columns are: --policy FILE; or --sensitive"),
        (SKYLINE + "--sensitive disease", "either --group COLUMN or --quasi-identifiers"),
        (PLAIN + "--quasi-identifiers who", "either --group COLUMN or --quasi-identifiers"),
        (
            SKYLINE + "--quasi-identifiers sex --policy policy.toml",
            "--quasi-identifiers contradicts --policy",
        ),
        (SKYLINE + "--sensitive diseas --group ward", "did you mean 'disease'"),
        (SKYLINE + "--sensitive disease --quasi-identifiers ,", "has no column ''"),
        (RAW + "--levels age", "--levels takes a level for each column"),
        (RAW + "--levels ''", "--levels takes a level for each column"),
        (RAW + "--levels age=1,age=2", "--levels names 'age' twice"),
        (RAW + "--levels agee=1", "'agee' is no quasi-identifier of table.csv; did you mean 'age'"),
        (RAW + "--levels age=1 --group sex", "leave out --group"),
        (RAW + "--levels age=1 --quasi-identifiers sex", "contradicts --policy"),
        ("curves table.csv --levels age=1 --sensitive disease", "--quasi-identifiers"),
        (SURVEY + "--knowledge '1;3'", "--knowledge takes whole numbers"),
        (SURVEY + "--knowledge ''", "--knowledge takes whole numbers"),
        ("survey table.csv", "say what the columns are"),
        ("survey table.csv --policy wrong.toml", "did you mean 'disease'?"),
    ],
)
def test_what_is_refused(ward, words, said):
    assert said in ward.refused(*shlex.split(words))


@pytest.mark.parametrize(
    "words", ["curves --levels age=3 --json five.json", "survey"], ids=["figure 5", "figure 6"]
)
def test_docs_show_what_is_printed(desk, words):
    """One command from the table to the figure of the paper."""

    def lines_of(text):
        """The lines of a text without what a terminal's width changes."""
        return " ".join(text.replace("─", "").split())

    command, *more = words.split()
    out = desk.says(command, adult.table(), "--policy", adult.LATTICE, *more)
    page = (adult.ROOT / "docs" / "research" / "implications.md").read_text("utf-8")
    block = page.split(f"$ foreknow {command} ")[1].split("```")[0].split("\n", 1)[1]
    shown = [lines_of(part) for part in block.split("...\n")]
    assert all(part in lines_of(out) for part in shown)
    assert len(shown) == {"curves": 3, "survey": 4}[command]
    if more:
        golden, points = json.loads(adult.GOLDEN.read_text()), desk.json("five.json")["points"]
        for kind in ("implications", "negations"):
            assert [round(point[kind]["probability"], 6) for point in points] == golden[kind]


def test_windows_of_near_numbers(pay):
    ask = shlex.split("skyline people.csv --group age --sensitive pay -c 0.9 --within 2000")
    said = pay.says(*ask, "--json", "s.json")
    assert "What the release withstands at 90%: a value in a window of 2,000" in said
    (found,) = pay.json("s.json")["values"]
    assert found["points"]
    said = pay.says(*ask, "--above", "0,1,0")
    assert "l=0, k=1, m=0 is" in said
    assert "has a value between" in said
    said = pay.refused(*ask, "--value", "30000")
    assert "give one of --value, --any-of and --within" in said
    assert "name" in pay.refused(*ask, "--name-people")
    assert "cannot be read" in pay.refused(*ask[:-1], "wide")
