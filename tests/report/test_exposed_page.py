"""People over each limit: terminal, page and spreadsheet; and to whom they are not shown."""

import csv
import io
import os
import stat

import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.report.reading import Reader
from tests.report.results import evil, small
from tests.report.snapshots import assert_as_before

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.errors import OutputError
from foreknow.needs import Need
from foreknow.report import render
from foreknow.report.exposed import exposed_csv, exposed_figure, exposed_sentence, exposed_table
from foreknow.report.pages.audit import titled_exposed


def audited(bags, *requirements, **more):
    return fk.audit(fk.GroupCounts.from_bags(bags, **more), fk.Policy(list(requirements)))


FAILING = [
    (["aab", "abc"], fk.Requirement(fk.Facts(), "2/3")),
    (["aa", "a", "ab"], fk.Requirement(fk.Facts(), "1/2")),
    (["aa", "a"], fk.Requirement(fk.Facts(), "1/2")),
    (["ab", "c"], fk.Requirement(fk.Facts(), "1/2", values=["c"])),
    (["aab", "a"], fk.Requirement(fk.KAnonymity(2))),
    (["aab", "a"], fk.Requirement(fk.KAnonymity(4))),
]


def test_a_requirement_that_fails_says_how_many_people_everywhere():
    every = [audited(bags, requirement) for bags, requirement in FAILING]
    said = [exposed_sentence(found.exposed[0]) for found in every]
    assert_as_before("exposed", said)
    for found, own in zip(every, said, strict=True):
        for text in (found.summary(), found._repr_html_(), Reader(render(found).html()).text):
            assert own in " ".join(text.split())


def test_the_page_has_a_table_and_a_figure_for_the_owner_and_neither_where_it_is_published():
    found = small(safe=False)
    own, published = (Reader(render(found, published=given).html()).text for given in (False, True))
    assert "People over each limit" in own
    assert "People by how sure somebody could be of them" in own
    for word in ("over each limit", "found out", "how sure somebody", "uspicion", "in groups"):
        assert word not in published, word
    safe = Reader(render(small()).html()).text
    assert "Requirement 1 0 0 0 0" in " ".join(safe.split())


def test_the_figure_draws_every_person_once_and_what_is_over_the_limit_in_red():
    (found,) = audited(["aab", "abc", "d"], fk.Requirement(fk.Facts(), "1/2")).exposed
    (drawn,) = exposed_figure(found, "people")
    figure, caption = drawn.drawn, drawn.caption
    assert [bar.height for bar in figure.bars] == [0, 0, 0, 4, 0, 0, 2, 0, 0, 0, 1]
    colors = [bar.color for bar in figure.bars]
    assert colors[5:] == [colors[10]] * 6
    assert colors[:5] == [colors[0]] * 5
    assert colors[0] != colors[10]
    assert (figure.rule.at, figure.rule.text) == (5, "limit 50%")
    assert caption.startswith("Of 7 people who have a value")
    assert figure.bars[-1].text == "one person: certain"
    assert figure.table.rows == [("30% to 40%", "4"), ("60% to 70%", "2"), ("certain", "1")]


def test_people_with_several_values_are_counted_by_their_values_and_at_most():
    people = [[{"a", "b"}, {"a"}, {"b"}]]
    counts = fk.GroupCounts.from_people(people, semantics="set")
    found = fk.audit(counts, fk.Policy([fk.Requirement(fk.Facts(), "1/2")]))
    (figure,) = exposed_figure(found.exposed[0], "people")
    assert figure.caption.startswith("Of 4 values that people have")
    assert found.exposed[0].over.at_most
    assert "At most 3 people in one group could be found out" in found.summary()


def test_what_an_adversary_cannot_say_is_said():
    class Silent:
        needs = frozenset({Need.FINISHED, Need.ABSOLUTE})
        speaks = None

        def disclosures(self, release):
            return {value: fk.Disclosure(value, 0.5) for value in release.values}

        disclosure = monotone = None

        def chances(self, release):
            return None

        def to_dict(self):
            return {"silent": {}}

    found = audited(["aab"], fk.Requirement(Silent(), "1/3"))
    assert "this kind of knowledge does not say" in " ".join(found.summary().split())
    (row,) = exposed_table(titled_exposed(found)).rows
    assert row[1] == "not counted"
    assert not list(exposed_figure(found.exposed[0], "people"))


# ---- the list of groups ---------------------------------------------------------------------


def rows(found):
    return list(csv.DictReader(io.StringIO(exposed_csv(titled_exposed(found)))))


def test_groups_are_listed_the_worst_first_and_never_rounded_to_the_wrong_side():
    third = fk.Requirement(fk.Facts(), "1/3", name="a third")
    found = audited(
        ["abc", "aab", "a" * 10_000 + "b", "abcd"], third, fk.Requirement(fk.KAnonymity(4))
    )
    listed = rows(found)
    assert [row["group"] for row in listed] == ["2", "1", "0", "0", "1"]
    assert [row["how_sure"] for row in listed] == ["99.99%", "66.67%", "1/3", "", ""]
    assert [row["found_out"] for row in listed] == ["10000", "3", "3", "3", "3"]
    assert [row["certain"] for row in listed[:3]] == ["0", "0", "0"]
    assert listed[0] == {
        "requirement": "a third",
        "group": "2",
        "people": "10001",
        "found_out": "10000",
        "certain": "0",
        "value": "a",
        "how_sure": "99.99%",
        "limit": "1/3",
    }


def test_no_cell_of_the_list_is_a_formula():
    text = exposed_csv(titled_exposed(evil()))
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert cells
    assert not [cell for cell in cells if cell[:1] in "=+-@" and cell]


TABLE = "ward,illness\n" + "".join(f"{i // 3},{'flu' if i % 4 else '=cmd()'}\n" for i in range(30))
POLICY = """[schema]
quasi_identifiers = []
sensitive = "illness"
group = "ward"

[[require]]
facts = {}
below = 0.5
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, arguments)


def test_the_command_writes_the_list_for_the_owner(place):
    done = run("audit", "table.csv", "-p", "policy.toml", "--exposed", "over.csv")
    assert done.exit_code == 1, done.output
    listed = list(csv.DictReader((place / "over.csv").open()))
    assert len(listed) == 10
    assert {row["limit"] for row in listed} == {"50%"}
    assert os.name == "nt" or stat.S_IMODE((place / "over.csv").stat().st_mode) == 0o600


@pytest.mark.parametrize("target", ["table.csv", "over.txt", "a.json", "missing/over.csv"])
def test_the_list_replaces_no_input_and_no_other_output(place, target):
    done = run("audit", "table.csv", "-p", "policy.toml", "--json", "a.json", "--exposed", target)
    assert isinstance(done.exception, OutputError), done.output
    assert (place / "table.csv").read_text() == TABLE


def test_nothing_of_it_is_published(place):
    policy = POLICY.replace('group = "ward"\n', "").replace("= []", '= ["ward"]')
    (place / "policy.toml").write_text(policy.replace("0.5", "0.9"))
    done = run("publish", "table.csv", "-p", "policy.toml", "-o", "out")
    assert done.exit_code == 0, done.output
    page = Reader((place / "out" / "report.html").read_text())
    certificate = (place / "out" / "certificate.json").read_text()
    for word in ("found_out", "found out", "suspected", "over each limit", "by_chance"):
        assert word not in page.text + certificate
        assert not any(word in script for script in page.scripts if len(script) < 10**6)
    refused = run("audit", "out", "-p", "policy.toml", "--exposed", "out/over.csv")
    assert isinstance(refused.exception, OutputError)
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "certificate.json",
        "datapackage.json",
        "release.csv",
        "report.html",
    ]


def test_columns_of_groups_are_named_in_the_list():
    frame = pa.table({"age": ["20", "20", "30"], "sex": ["f", "f", "m"], "x": ["a", "b", "c"]})
    release = fk.Release.from_generalized(frame, quasi_identifiers=["age", "sex"], sensitive="x")
    found = fk.audit(release, fk.Policy([fk.Requirement(fk.Facts(), 1)]))
    assert [row["group"] for row in rows(found)] == ["age 30, sex m"]
