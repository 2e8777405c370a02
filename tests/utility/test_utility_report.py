"""Reports of utility: the same measures as for the grouping, from every form of a release."""

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console
from tests.people import FORMS, HARD, made, people, schema, short_report

import foreknow as fk

ASKING = {"queries": 40}


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    short_report(monkeypatch)


def answers(report):
    return [error.estimated.tolist() for error in report.errors]


@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_a_folder_is_measured_as_what_was_published(form, fmt, tmp_path):
    microdata = fk.Microdata(people(), schema())
    publication = made(form, fmt)
    publication.write(tmp_path / "out")
    found = fk.utility_report(publication, microdata, **ASKING)
    read = fk.utility_report(tmp_path / "out", microdata, **ASKING)
    assert found.form == read.form == form
    worth = publication.audit.utility
    assert found.utility.ncp == pytest.approx(worth.ncp)
    assert read.utility.ncp == pytest.approx(worth.ncp)
    assert found.utility.discernibility == read.utility.discernibility == worth.discernibility
    assert bool(found.utility.ncp) == (form == "generalized")
    assert [error.predicates for error in found.errors] == [1, 2, 3]
    for one, other in zip(answers(found), answers(read), strict=True):
        assert one == pytest.approx(other)


@pytest.mark.parametrize(("form", "fmt"), FORMS)
def test_apostrophes_before_formulas_are_nobodys(form, fmt, tmp_path):
    """Also of names of columns, and of texts within a set."""
    rows = 40
    table = pa.table(
        {
            "=age": [20 + i % 9 for i in range(rows)],
            "text": [HARD[i * i % len(HARD)] for i in range(rows)],
            "@ill": [HARD[i % len(HARD)] for i in range(rows)],
        }
    )
    roles = fk.Schema(quasi_identifiers=["=age", "text"], sensitive="@ill")
    publication = made(form, fmt, table=table, roles=roles, escape_formulas=True)
    publication.write(tmp_path / "out")
    microdata = fk.Microdata(table, roles)
    wanted = fk.query_error(publication, microdata, **ASKING)
    found = fk.query_error(tmp_path / "out", microdata, **ASKING)
    assert found.estimated == pytest.approx(wanted.estimated)
    assert wanted.average > 0


def test_people_with_several_values_are_measured(tmp_path):
    values = [["Flu"], ["Flu", "Cold"], [], ["Cold"], ["Flu"], ["AIDS", "Cold"]]
    table = pa.table({"age": [20, 21, 30, 31, 40, 41], "ill": values})
    roles = fk.Schema(quasi_identifiers=["age"], sensitive="ill", semantics="set")
    publication = made(
        table=table, roles=roles, policy=fk.Policy([fk.Requirement(fk.Facts(), 1, knowing=[])])
    )
    publication.write(tmp_path / "out")
    microdata = fk.Microdata(table, roles)
    found = fk.utility_report(tmp_path / "out", microdata, **ASKING)
    assert found.utility.ncp == pytest.approx(publication.audit.utility.ncp)
    assert answers(found) == answers(fk.utility_report(publication, microdata, **ASKING))


def test_suppressed_labels_have_their_width_and_groups_of_one_keep_everything():
    microdata = fk.Microdata(people(), schema())
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.5", knowing=[])])
    publication = fk.publish(microdata, policy, method=fk.FullDomain(suppression=0.2))
    found = fk.utility_report(publication, microdata, **ASKING)
    assert found.utility.ncp == pytest.approx(publication.audit.utility.ncp)
    assert 0 < found.utility.average_ncp < 1
    alone = people(12).append_column("g", pa.array(np.arange(12)))
    release = fk.Release.from_groups(alone, group="g", sensitive="disease")
    found = fk.utility_report(release, fk.Microdata(people(12), schema()), **ASKING)
    assert found.form == "bucketized"
    assert max(error.average for error in found.errors) == pytest.approx(0, abs=1e-12)
    assert found.utility.discernibility == found.optimum == 12


@pytest.fixture(scope="module")
def report():
    microdata = fk.Microdata(people(), schema())
    return fk.utility_report(made(), microdata, predicates=[3, 1, 1], delta=0.05, **ASKING)


def test_what_is_asked_can_be_chosen(report):
    assert [error.predicates for error in report.errors] == [1, 3]
    assert {len(error.exact) for error in report.errors} == {40}
    microdata = fk.Microdata(people(), schema())
    some = fk.utility_report(made(), microdata, attributes=["zip", "age"], predicates=2, **ASKING)
    (error,) = some.errors
    wanted = fk.query_error(made(), microdata, attributes=["zip", "age"], **ASKING)
    assert error.estimated.tolist() == wanted.estimated.tolist()
    assert set(some.utility.ncp) == {"age", "zip", "sex"}


def test_a_report_is_plain_values(report, tmp_path):
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert (told["format"], told["version"]) == ("foreknow utility", 1)
    least = fk.optimal_discernibility(60, report.utility.smallest_group)
    assert told["optimal_discernibility"] == report.optimum == least
    assert told["discernibility"] == report.utility.discernibility >= least
    averages = [error["average"] for error in told["query_errors"]]
    assert averages == [error.average for error in report.errors]
    report.to_json(tmp_path / "u.json")
    kept = json.loads((tmp_path / "u.json").read_text())
    assert kept == {"this_file_is": "for the owner only", **told}


def printed(report):
    console = Console(width=80, file=io.StringIO())
    console.print(report)
    return console.file.getvalue()


def test_a_report_shows_itself_and_labels_as_they_are(report):
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
        fk.utility_report(made(), fk.Microdata(people(), schema()), **asking)


@pytest.mark.parametrize(
    ("type_", "hierarchy"),
    [
        (pa.int64(), None),
        (pa.int64(), fk.Intervals([5])),
        (pa.date32(), None),
        (pa.date32(), fk.DateLevels()),
        (pa.string(), None),
        (pa.string(), fk.Mask(3)),
        (pa.string(), fk.Tree([["a", "b", "*"]])),
        (pa.string(), fk.Ordered(["a", "b"])),
    ],
)
def test_a_column_without_values_has_no_width(type_, hierarchy):
    table = pa.table({"age": [1, 2], "empty": pa.nulls(2, type_), "s": ["x", "y"]})
    known = {} if hierarchy is None else {"empty": hierarchy}
    roles = fk.Schema(quasi_identifiers=["age", "empty"], sensitive="s", hierarchies=known)
    policy = fk.Policy([fk.Requirement(fk.Facts(), "0.9", knowing=[])])
    microdata = fk.Microdata(table, roles)
    found = fk.utility_report(
        made(table=table, roles=roles, policy=policy), microdata, attributes=["age"], **ASKING
    )
    assert found.utility.ncp == {"age": 1.0, "empty": 0.0}
    with pytest.raises(fk.InputError, match="'empty'"):
        fk.utility_report(made(table=table, roles=roles, policy=policy), microdata, **ASKING)


def test_a_folder_without_a_certificate_or_with_a_changed_file_is_refused(tmp_path):
    microdata = fk.Microdata(people(), schema())
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
                ask(place, microdata)
