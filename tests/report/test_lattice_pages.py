"""The page of a lattice: everything is in a table, too."""

import pytest
from tests.report.reading import Reader
from tests.report.results import raw as lattice_raw

import foreknow as fk
from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.report import render
from foreknow.report.pages import lattice as lattice_page

POLICY = fk.Policy([fk.Requirement(fk.Facts(l=1), "0.7")])


@pytest.fixture(scope="module")
def lattice():
    return fk.FullDomain(suppression=0.1).search(lattice_raw(), POLICY, explain=True)


def test_every_node_is_drawn_once_as_what_it_is(lattice):
    lines, *data = lattice_page.lattice_figure(lattice).series
    assert sum(len(own.x) for own in data) == lattice.n_nodes == 25
    assert render(lattice).html().count("<use ") == 25
    by_name = {own.name.split(":")[0]: own for own in data}
    (chosen,) = by_name["chosen"].texts
    assert "safe, judged" in chosen
    assert "people suppressed" in chosen
    assert len(by_name["not safe"].x) == len(lattice.nodes("unsafe"))
    minimal = set(lattice.minimal) - {lattice.chosen}
    assert len(by_name["safe, none below is"].x) == len(minimal)
    nodes = Lattice(lattice.tops)
    steps = sum(len(list(nodes.parents(number))) for number in range(len(nodes)))
    assert len(lines.x) == 3 * steps


def test_a_large_lattice_is_counted_and_not_drawn(lattice, monkeypatch):
    monkeypatch.setattr(lattice_page, "MOST_NODES", 10)
    page = render(lattice).html()
    assert "<svg" not in page
    unsafe = len(lattice.nodes("unsafe"))
    assert f"{len(lattice.nodes('safe'))} nodes are safe, {unsafe} are not" in Reader(page).text


def test_a_lattice_in_json_names_its_levels(lattice):
    found = lattice.to_dict()
    assert found["chosen"] == list(lattice.chosen)
    assert found["names"][0] == ["exact", "ranges of 5", "ranges of 10", "ranges of 20", "*"]
