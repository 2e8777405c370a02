"""Who may see what is written; and people over each limit, who are shown to the owner alone."""

import csv
import io
import json
import os
import re
import stat

import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.report.reading import Reader
from tests.report.results import evil, small
from tests.report.snapshots import assert_as_before
from tests.toys import Silent

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.errors import OutputError
from foreknow.report import render
from foreknow.report.exposed import exposed_csv, exposed_figure, exposed_sentence, exposed_table
from foreknow.report.pages.audit import titled_exposed

TABLE = "ward,age,sex,disease\n" + "".join(
    f"{i // 4},{20 + i // 4},{'fm'[i % 2]},{['flu', '=cmd()'][i // 2 % 2]}\n" for i in range(16)
)
POLICY = """[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "disease"
hierarchies = { age = { intervals = [10] } }

[[require]]
facts = { l = 0 }
below = 0.9
"""
BY = ("--policy", "policy.toml", "--group", "ward")
COMMANDS = {
    "audit": ("audit", "table.csv", *BY),
    "skyline": ("skyline", "table.csv", "-c", "0.95", *BY),
    "curves": ("curves", "table.csv", "--upto", "2", *BY),
    "survey": ("survey", "table.csv", "--policy", "policy.toml", "-k", "1"),
    "attack": ("attack", "table.csv", "--policy", "policy.toml", "--worlds", "20", "--seed", "1"),
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o022)
    yield tmp_path
    os.umask(before)


def run(*arguments, codes=(0, 1)):
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code in codes, done.output


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def said(path):
    """What a page says of who may see it, as plain text."""
    (line,) = re.findall(r'<p class="audience.*?</p>', path.read_text(), re.DOTALL)
    return re.sub("<[^>]*>", "", line)


def for_the_owner(path):
    assert mode(path) == 0o600
    if path.suffix == ".html":
        assert said(path).startswith("For the owner only: ")
    elif path.suffix == ".json":
        assert json.loads(path.read_text())["this_file_is"] == "for the owner only"
    return True


@pytest.mark.complete
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_write_for_the_owner(place, command):
    for name in ("page.html", "found.json"):
        (place / name).write_text("readable by all before")
    run(*COMMANDS[command], "--html", "page.html", "--json", "found.json")
    assert all(for_the_owner(place / name) for name in ("page.html", "found.json"))


@pytest.mark.complete
@pytest.mark.parametrize("method", ["mondrian", "fulldomain"])
def test_modes_of_a_publication(place, method):
    """And of what is measured of it, and of priors that are learned."""
    run("publish", "table.csv", "-p", "policy.toml", "-o", "out", "--method", method)
    kept = ["lattice.html"] if method == "fulldomain" else []
    names = ["certificate.json", "datapackage.json", "release.csv", "report.html"]
    modes = {path.name: mode(path) for path in (place / "out").iterdir()}
    assert modes == dict.fromkeys(names, 0o644)
    modes = {path.name: mode(path) for path in (place / "out.owner").iterdir()}
    assert modes == dict.fromkeys([*kept, "members.parquet", "owner.json"], 0o600)
    assert (mode(place / "out"), mode(place / "out.owner")) == (0o755, 0o700)
    assert said(place / "out" / "report.html").startswith("This page may go out with the release")
    if kept:
        assert for_the_owner(place / "out.owner" / "lattice.html")
        return
    call = ["utility", "out", "table.csv", "-p", "policy.toml", "--queries", "5"]
    run(*call, "--json", "found.json")
    run("priors", "table.csv", "--by", "sex", "-s", "disease", "--out", "statistics.csv")
    assert all(for_the_owner(place / name) for name in ("found.json", "statistics.csv"))


@pytest.mark.complete
def test_reports_show_public_priors(place):
    frame = {"sex": list("fmfm"), "value": ["flu", "flu", "=cmd()", "=cmd()"]}
    frame["probability"] = ["1/3", "1/4", "2/3", "3/4"]
    policy = fk.Policy([fk.Requirement(fk.Priors(pa.table(frame)), at_most="9/10")])
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="disease")
    options = fk.PublishOptions(method="art", form="bucketized")
    made = fk.publish(fk.Microdata("table.csv", schema), policy, options=options)
    made.write("out")
    made.audit.to_html("audit.html")
    assert "Before and after the release" in (place / "out" / "report.html").read_text()
    assert for_the_owner(place / "audit.html")


# ---- people over each limit ----------------------------------------------------------------------


def audited(bags, *requirements):
    return fk.audit(fk.GroupCounts.from_bags(bags), fk.Policy(list(requirements)))


HALF = fk.Requirement(fk.Facts(), "1/2")
FAILING = [
    (["aab", "abc"], fk.Requirement(fk.Facts(), "2/3")),
    *[(["aa", "a", "ab"], HALF), (["aa", "a"], HALF)],
    (["ab", "c"], fk.Requirement(fk.Facts(), "1/2", values=["c"])),
    *((["aab", "a"], fk.Requirement(fk.KAnonymity(k))) for k in (2, 4)),
]


def test_failures_say_how_many_people():
    every = [audited(bags, requirement) for bags, requirement in FAILING]
    sentences = [exposed_sentence(found.exposed[0]) for found in every]
    assert_as_before("exposed", sentences)
    for found, sentence in zip(every, sentences, strict=True):
        for text in (found.summary(), found._repr_html_(), Reader(render(found).html()).text):
            assert sentence in " ".join(text.split())


def test_published_pages_say_nothing():
    found = small(safe=False)
    kept, published = (Reader(render(found, published=yes).html()).text for yes in (False, True))
    assert "People over each limit" in kept
    assert "People by how sure somebody could be of them" in kept
    for word in ("over each limit", "found out", "how sure somebody", "uspicion", "in groups"):
        assert word not in published, word
    safe = Reader(render(small()).html()).text
    assert "Requirement 1 0 0 0 0" in " ".join(safe.split())


def test_the_figure_of_people():
    """Everybody is drawn once, and what is over the limit in red."""
    (found,) = audited(["aab", "abc", "d"], HALF).exposed
    (drawn,) = exposed_figure(found, "people")
    figure, colors = drawn.drawn, [bar.color for bar in drawn.drawn.bars]
    assert [bar.height for bar in figure.bars] == [0, 0, 0, 4, 0, 0, 2, 0, 0, 0, 1]
    assert colors == [colors[0]] * 5 + [colors[10]] * 6
    assert colors[0] != colors[10]
    assert (figure.rule.at, figure.rule.text) == (5, "limit 50%")
    assert drawn.caption.startswith("Of 7 people who have a value")
    assert figure.bars[-1].text == "one person: certain"
    assert figure.table.rows == [("30% to 40%", "4"), ("60% to 70%", "2"), ("certain", "1")]
    counts = fk.GroupCounts.from_people([[{"a", "b"}, {"a"}, {"b"}]], semantics="set")
    found = fk.audit(counts, fk.Policy([HALF]))
    (figure,) = exposed_figure(found.exposed[0], "people")
    assert figure.caption.startswith("Of 4 values that people have")
    assert found.exposed[0].over.at_most
    assert "At most 3 people in one group could be found out" in found.summary()


def test_what_cannot_be_counted():
    found = audited(["aab"], fk.Requirement(Silent(), "1/3"))
    assert "this kind of knowledge does not say" in " ".join(found.summary().split())
    (row,) = exposed_table(titled_exposed(found)).rows
    assert row[1] == "not counted"
    assert not list(exposed_figure(found.exposed[0], "people"))


def listed(found):
    return list(csv.DictReader(io.StringIO(exposed_csv(titled_exposed(found)))))


def test_groups_are_listed_worst_first():
    """And never rounded to the wrong side; no cell is a formula."""
    third = fk.Requirement(fk.Facts(), "1/3", name="a third")
    bags = ["abc", "aab", "a" * 10_000 + "b", "abcd"]
    rows = listed(audited(bags, third, fk.Requirement(fk.KAnonymity(4))))
    assert ",".join(rows[0]) == "requirement,group,people,found_out,certain,value,how_sure,limit"
    assert ",".join(rows[0].values()) == "a third,2,10001,10000,0,a,99.99%,1/3"
    assert [(row["group"], row["found_out"], row["how_sure"]) for row in rows] == [
        *[("2", "10000", "99.99%"), ("1", "3", "66.67%"), ("0", "3", "1/3")],
        *[("0", "3", ""), ("1", "3", "")],
    ]
    assert {row["certain"] for row in rows[:3]} == {"0"}
    cells = [c for row in csv.reader(io.StringIO(exposed_csv(titled_exposed(evil())))) for c in row]
    assert cells
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")]
    frame = pa.table({"age": ["20", "20", "30"], "sex": ["f", "f", "m"], "x": ["a", "b", "c"]})
    release = fk.Release.from_generalized(frame, quasi_identifiers=["age", "sex"], sensitive="x")
    found = fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), 1)]))
    assert [row["group"] for row in listed(found)] == ["age 30, sex m"]


def test_the_list_of_a_command(place):
    """For the owner; it replaces no input and no other output, and stands in no release."""
    (place / "strict.toml").write_text(POLICY.replace("0.9", "0.5"))
    strict = ("audit", "table.csv", "-p", "strict.toml", "--group", "ward")
    run(*strict, "--exposed", "over.csv", codes=(1,))
    rows = list(csv.DictReader((place / "over.csv").open()))
    assert len(rows) == 8
    assert {row["limit"] for row in rows} == {"50%"}
    assert mode(place / "over.csv") == 0o600
    for target in ("table.csv", "over.txt", "a.json", "missing/over.csv"):
        done = CliRunner().invoke(app, [*strict, "--json", "a.json", "--exposed", target])
        assert isinstance(done.exception, OutputError), done.output
        assert (place / "table.csv").read_text() == TABLE


@pytest.mark.complete
def test_no_release_holds_the_list(place):
    run("publish", "table.csv", "-p", "policy.toml", "-o", "out", codes=(0,))
    page = Reader((place / "out" / "report.html").read_text())
    certificate = (place / "out" / "certificate.json").read_text()
    for word in ("found_out", "found out", "suspected", "over each limit", "by_chance"):
        assert word not in page.text + certificate
        assert not any(word in script for script in page.scripts if len(script) < 10**6)
    before = sorted(path.name for path in (place / "out").iterdir())
    call = ["audit", "out", "-p", "policy.toml", "--exposed", "out/over.csv"]
    assert isinstance(CliRunner().invoke(app, call).exception, OutputError)
    assert sorted(path.name for path in (place / "out").iterdir()) == before
