"""The lattice as a page, a section of a report, and a fragment; offline and harmless."""

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.report.audits import EVIL
from tests.report.test_curving_html import figure_of
from tests.report.test_html import Reader

import foreknow as fk
from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.report.pages import lattice as lattice_figure
from foreknow.report.pages.lattice import lattice_page, lattice_summary

POLICY = fk.Policy([fk.Requirement(fk.Facts(l=1), "0.7")])


def raw(rows=300, evil=False):
    draw = np.random.default_rng(1)
    names = [EVIL[0], "<b>q</b>"] if evil else ["age", "zip"]
    data = {name: pa.array(draw.integers(0, 40, rows)) for name in names}
    data["disease"] = pa.array([f"d{i}" for i in draw.integers(0, 5, rows)])
    schema = fk.Schema(
        quasi_identifiers=names,
        sensitive="disease",
        hierarchies={name: fk.Intervals([5, 10, 20]) for name in names},
    )
    return fk.Microdata(pa.table(data), schema)


@pytest.fixture(scope="module")
def found():
    return fk.FullDomain(suppression=0.1).search(raw(), POLICY, explain=True)


def test_every_node_is_drawn_once_as_what_it_is(found):
    page = lattice_page(found)
    data = [trace for trace in figure_of(page)["data"] if trace["mode"] == "markers"]
    assert sum(len(trace["x"]) for trace in data) == found.n_nodes == 25
    by_name = {trace["name"].split(":")[0]: trace for trace in data}
    (chosen,) = by_name["chosen"]["text"]
    assert "safe, judged" in chosen
    assert "people suppressed" in chosen
    assert len(by_name["not safe"]["x"]) == len(found.nodes("unsafe"))
    minimal = set(found.minimal) - {found.chosen}
    assert len(by_name["safe, none below is"]["x"]) == len(minimal)
    lines = next(trace for trace in figure_of(page)["data"] if trace["mode"] == "lines")
    lattice = Lattice(found.tops)
    steps = sum(len(list(lattice.parents(number))) for number in range(len(lattice)))
    assert len(lines["x"]) == 3 * steps


def test_the_page_says_what_was_chosen_without_scripts(found):
    text = " ".join(Reader(lattice_page(found)).text.split())
    words = found.in_words(found.chosen)
    assert f"Levels: age {words['age']} and zip {words['zip']}" in text
    assert f"{found.suppressed[found.chosen]} people are suppressed" in text
    for node in found.minimal:
        for word in found.in_words(node).values():
            assert word in text
    assert "25 ways to choose the levels" in text


def test_a_fragment_for_notebooks(found):
    assert lattice_summary(found) == found._repr_html_()
    assert "<script" not in found._repr_html_()


def test_labels_cannot_run_as_markup():
    page = lattice_page(fk.FullDomain().search(raw(evil=True), POLICY))
    assert EVIL[0] not in page.split("<body")[1]
    assert "<b>q</b>" not in json.dumps(figure_of(page))


def test_a_large_lattice_is_drawn_as_bars(found, monkeypatch):
    monkeypatch.setattr(lattice_figure, "MOST_NODES", 10)
    data = lattice_figure.lattice_figure(found)["data"]
    assert {trace["type"] for trace in data} == {"bar"}
    assert sum(sum(trace["x"]) for trace in data) == found.n_nodes
    by_name = {trace["name"].split(":")[0]: sum(trace["x"]) for trace in data}
    assert by_name["safe"] == len(found.nodes("safe"))
    assert by_name["not safe"] == len(found.nodes("unsafe"))


def test_files(found, tmp_path):
    found.to_html(tmp_path / "lattice.html")
    assert (tmp_path / "lattice.html").read_text("utf-8") == lattice_page(found)
    found.to_json(tmp_path / "lattice.json")
    read = json.loads((tmp_path / "lattice.json").read_text())
    assert read["format"] == "foreknow lattice"
    assert read["chosen"] == list(found.chosen)
    assert read["names"][0] == ["exact", "ranges of 5", "ranges of 10", "ranges of 20", "*"]
