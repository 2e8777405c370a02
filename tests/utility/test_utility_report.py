"""Reports of utility, in Python and on the command line: the measures of what was published."""

import io

import pyarrow as pa
import pytest
from rich.console import Console
from tests.cli.conftest import desk as desk
from tests.cli.desk import LABELS
from tests.people import HARD, made, people, schema, short_report

import foreknow as fk

ASKING = {"queries": 40}
BOTH = [("generalized", "csv"), ("bucketized", "parquet")]


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    short_report(monkeypatch)


def microdata():
    return fk.Microdata(people(), schema())


@pytest.mark.parametrize(("form", "fmt"), BOTH)
def test_folder_measures_like_publication(form, fmt, tmp_path, tiny_tables):
    raw = microdata()
    labels = {"age": "set"} if form == "generalized" else {}
    publication = made(form, fmt, labels=labels)
    publication.write(tmp_path / "out")
    found = fk.utility_report(publication, raw, **ASKING)
    read = fk.utility_report(tmp_path / "out", raw, **ASKING)
    worth = publication.audit.utility
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", knowing=[])])
    groups = fk.Mondrian().partition(raw, policy)
    file = next((tmp_path / "out").glob(f"*.{fmt}"))
    for report in (found, read, fk.utility_report(str(file), raw, **ASKING)):
        assert report.form == form
        assert report.utility.ncp == pytest.approx(worth.ncp)
        assert report.utility.discernibility == worth.discernibility
        assert bool(report.utility.ncp) == (form == "generalized")
        assert [error.predicates for error in report.errors] == [1, 2, 3]
        for error in report.errors:
            how = {"predicates": error.predicates, "labels": labels, **ASKING}
            wanted = fk.query_error_of_groups(raw, groups, form, **how)
            assert error.estimated == pytest.approx(wanted.estimated, abs=1e-9)


@pytest.mark.parametrize(("form", "fmt"), BOTH)
def test_apostrophes_before_formulas_are_nobodys(form, fmt, tmp_path):
    """Also of names of columns, and of texts within a set."""
    table = pa.table(
        {
            "=age": [20 + i % 9 for i in range(40)],
            "text": [HARD[i * i % len(HARD)] for i in range(40)],
            "@ill": [HARD[i % len(HARD)] for i in range(40)],
        }
    )
    roles = fk.Schema(quasi_identifiers=["=age", "text"], sensitive="@ill")
    publication = made(form, fmt, table=table, roles=roles, escape_formulas=True)
    publication.write(tmp_path / "out")
    raw = fk.Microdata(table, roles)
    wanted = fk.query_error(publication, raw, **ASKING)
    found = fk.query_error(tmp_path / "out", raw, **ASKING)
    assert found.estimated == pytest.approx(wanted.estimated)
    assert wanted.average > 0


@pytest.fixture(scope="module")
def report():
    return fk.utility_report(made(), microdata(), predicates=[3, 1, 1], delta=0.05, **ASKING)


def printed(report):
    console = Console(width=80, file=io.StringIO())
    console.print(report)
    return console.file.getvalue()


def test_reports_escape_labels(report):
    said = printed(report)
    assert max(map(len, said.splitlines())) <= 80
    for text in (said, report._repr_html_()):
        flat = " ".join(text.split())
        assert "What the generalized release is still worth" in flat
        assert "times the least for groups of" in flat
        assert "or to 5.0% of the people where that is more (40 queries each):" in flat
        assert "3 quasi-identifiers" in flat
        assert f"{100 * report.errors[1].median:,.1f}%" in flat
    assert repr(report).startswith("UtilityReport(generalized, ")
    assert f"queries about 3 off by {report.errors[1].median:.2%}" in repr(report)
    table = pa.table({"[red]<b>": [1, 2, 3, 4], "s": ["x", "y", "x", "y"]})
    roles = fk.Schema(quasi_identifiers=["[red]<b>"], sensitive="s")
    found = fk.utility_report(made(table=table, roles=roles), fk.Microdata(table, roles), **ASKING)
    assert "[red]<b>" in printed(found)
    assert "[red]&lt;b&gt;" in found._repr_html_()


@pytest.mark.parametrize(
    ("asking", "said"),
    [
        ({"predicates": 4}, "only 3 attributes"),
        ({"predicates": []}, "predicates must be whole numbers such as"),
        ({"predicates": "12"}, "predicates must be whole numbers such as"),
        ({"predicates": [1, True]}, r"such as .*, not \[1, True\]"),
        ({"predicates": [0, 1]}, "predicates must be a whole number from 1, not 0"),
        ({"delta": 0}, "delta is a share"),
    ],
)
def test_mistakes_are_named(asking, said):
    with pytest.raises(fk.InputError, match=said):
        fk.utility_report(made(), microdata(), **asking)


NUMBER, DAY, TEXT = pa.int64(), pa.date32(), pa.string()
STEPS = [(NUMBER, fk.Intervals([5])), (DAY, fk.DateLevels()), (TEXT, fk.Mask(3))]
TREES = [(TEXT, fk.Tree([["a", "b", "*"]])), (TEXT, fk.Ordered(["a", "b"]))]


@pytest.mark.parametrize(
    ("type_", "hierarchy"), [(NUMBER, None), (DAY, None), (TEXT, None), *STEPS, *TREES]
)
def test_empty_columns_have_no_width(type_, hierarchy):
    table = pa.table({"age": [1, 2], "empty": pa.nulls(2, type_), "s": ["x", "y"]})
    known = {} if hierarchy is None else {"empty": hierarchy}
    roles = fk.Schema(quasi_identifiers=["age", "empty"], sensitive="s", hierarchies=known)
    publication, raw = made(table=table, roles=roles), fk.Microdata(table, roles)
    found = fk.utility_report(publication, raw, attributes=["age"], **ASKING)
    assert found.utility.ncp == {"age": 1.0, "empty": 0.0}
    with pytest.raises(fk.InputError, match="'empty'"):
        fk.utility_report(publication, raw, **ASKING)


def test_folders_need_an_intact_certificate(tmp_path):
    (tmp_path / "table.csv").write_text("age\n1\n")
    made().write(tmp_path / "out")
    path = tmp_path / "out" / "release.csv"
    path.write_text(path.read_text() + "1,2,3,4,5,6\n")
    for place, said in (
        (tmp_path, r"has no certificate\.json, .* Release\.from_generalized\(path"),
        (tmp_path / "table.csv", r"table\.csv has no column 'zip'"),
        (tmp_path / "nowhere", "there is no file or folder"),
        (path, r"release\.csv is not the file of"),
    ):
        for ask in (fk.query_error, fk.utility_report):
            with pytest.raises(fk.InputError, match=said):
                ask(place, microdata())


# ---- the command ---------------------------------------------------------------------------------

UTILITY = ["utility", "out", "table.csv", "--policy", "policy.toml"]
GROUPED = "age,sex,disease,g\n" + "".join(
    f"{age},{sex},{ill},{i // 2}\n"
    for i, (age, sex, ill) in enumerate(
        zip([20, 21, 20, 21, 60, 61, 60, 61], "fmmffmmm", ["flu", "cold"] * 4, strict=True)
    )
)


@pytest.fixture
def released(desk):
    desk.says(*desk.publish("--seed", "1", "--quiet"))
    return desk


def measured(desk):
    policy = fk.Policy.load(desk.folder / "policy.toml")
    raw = fk.Microdata(desk.folder / "table.csv", policy.schema)
    return fk.utility_report(desk.folder / "out", raw, delta=0.2)


def shown(share):
    return f"{100 * share:.1f}%" if 0 < share != 1 else f"{share:.0%}"


def test_command_matches_python(released):
    said, found = released.says(*UTILITY, "--delta", "0.2"), measured(released)
    assert "What the generalized release is still worth – release.csv" in said
    assert f"groups {found.utility.groups} of " in said
    assert f"sum of squared group sizes {found.utility.discernibility} " in said
    assert f"detail lost {shown(found.utility.average_ncp)}" in said
    assert f"age {shown(found.utility.ncp['age'])}" in said
    assert "or to 20.0% of the people where that is more (1,000 queries each)" in said
    one, two = found.errors
    assert f"one quasi-identifier {shown(one.median)} {shown(one.average)}" in said
    assert f"2 quasi-identifiers {shown(two.median)} {shown(two.average)}" in said
    assert one.average != two.average
    assert released.says(*UTILITY, "--delta", "0.2", "--json", "u.json", "--quiet") == ""
    assert released.json("u.json") == {"this_file_is": "for the owner only", **found.to_dict()}
    released.says("utility", "out/release.csv", *UTILITY[2:], "--delta", "0.2", "--json", "v.json")
    assert released.json("v.json") == released.json("u.json")
    released.put("other.toml", (released.folder / "policy.toml").read_text("utf-8"))
    assert released.says(*UTILITY, "--delta", "0.2", "--queries-of", "other.toml") == said
    about = released.says(*UTILITY, "--attributes", "age")
    assert "one quasi-identifier" in about
    assert "2 quasi-identifiers" not in about


def test_queries_come_from_the_seed(released):
    found = []
    for seed in (0, 0, 7):
        more = ["--queries", 30, "--predicates", 2, "--seed", seed, "--json", "u.json"]
        released.says(*UTILITY, *more)
        (error,) = released.json("u.json")["query_errors"]
        assert (error["queries"], error["predicates"], error["seed"]) == (30, 2, seed)
        found.append(error["quantiles"])
    assert found[0] == found[1] != found[2]


def test_grouped_tables_are_releases(desk):
    desk.put("grouped.csv", GROUPED)
    said = desk.says("utility", "grouped.csv", *UTILITY[2:], "--group", "g")
    assert "What the bucketized release is still worth – grouped.csv" in said
    assert "groups 4 of 2 to 2 people" in said
    least = "1.00 times the least for groups of 2 or more (discernibility)"
    assert f"sum of squared group sizes 16 {least}" in said
    assert "detail lost 0% quasi-identifiers are exact" in said


def test_models_are_shown_on_request(released):
    assert "Explained:" not in released.says(*UTILITY)
    said = released.says(*UTILITY, "--models", "--draws", "2", "--json", "found.json")
    assert "Explained: disease, by age and sex" in said
    found = released.json("found.json")["models"]
    assert (found["targets"], found["draws"]) == (["disease"], 2)
    named = released.says(*UTILITY, "--target", "age", "--by", "sex")
    assert "Explained: age, by sex" in named


def test_command_refuses_in_one_line(released):
    lines = (released.folder / "table.csv").read_text()
    released.put("small.csv", "\n".join(lines.splitlines()[:5]))
    rules = (released.folder / "policy.toml").read_text()
    released.put("other.toml", rules.replace('["age", "sex"]', '["age"]').replace(LABELS, ""))
    own, table = UTILITY[:3], ["--policy", "policy.toml"]
    for arguments, said in (
        ([*UTILITY, "--group", "g"], "leave out --group"),
        ([*own[:2], "nowhere.csv", *table], "nowhere.csv"),
        ([*own[:2], "out", *table], "is published already; give the raw table"),
        ([*own[:2], "small.csv", *table], "give the table that the release was made of"),
        (
            [*own, "--policy", "other.toml"],
            "the certificate is for age, sex and disease, the policy for age",
        ),
        (
            [*UTILITY, "--target", "disase"],
            "no column 'disase' is published; did you mean 'disease'",
        ),
        ([*UTILITY, "--by", "age"], "add --models"),
    ):
        assert said in released.refused(*arguments)
    path = released.folder / "out" / "release.csv"
    path.write_text(path.read_text() + "20,f,flu\n")
    assert "is not the file of 'out' that was certified" in released.refused(*UTILITY)
