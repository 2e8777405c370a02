"""The page of skylines: sentences, tables and heat maps."""

from fractions import Fraction

import pytest
from tests.report.reading import Reader, words
from tests.report.results import case_study, many_points, of_sets, three_values
from tests.report.snapshots import assert_as_before

from foreknow.report import render
from foreknow.report.chart import HeatMap, Panel, Square
from foreknow.report.knowledge import Terms
from foreknow.report.terminal import Laid
from foreknow.skylines.named_people import NamedWitness
from foreknow.skylines.skyline_page import (
    adversary,
    beyond_sentence,
    least_sentence,
    notable_points,
    probability_text,
    skyline_heat,
    terms_of,
    worst_case,
    worst_sentence,
)

JOBS = terms_of(case_study(), "Boss")


def test_sentences_of_skylines_are_as_before():
    report = case_study()
    known = [(Terms("value"), at) for at in ((2, 0, 3), (0, 0, 0), (1, 1, 1))]
    known.append((Terms.of("set", "diagnosis", "AIDS"), (0, 3, 0)))
    said = [adversary(terms, at) for terms, at in known]
    said += [beyond_sentence(JOBS, at, report.confidence) for at in report.corners("Boss")]
    said += [least_sentence(report, "Boss"), least_sentence(three_values(), "Flu")]
    said.append(worst_sentence(report, "Boss", (2, 1, 3)))
    said += [probability_text(report, "Boss", at) for at in ((2, 1, 3), (0, 5, 0))]
    said += [words(Laid(worst_case(report, "Boss", at))) for at in ((0, 5, 0), (0, 4, 0))]
    named = NamedWitness(
        "Tom", "AIDS", 0.5, Fraction(1, 2), (), (("Ed", "Flu"),), ("Bo\x1b",), "single"
    )
    marked = NamedWitness(
        "A", "x", 1.0, Fraction(1), (), (("B", "x"),), (), "multiset", ("x not in B",)
    )
    assert_as_before("skyline-sentences", [*said, words(named, 200), words(marked)])


def test_a_percentage_never_lies_about_its_side_of_the_limit():
    report = case_study("95.24%".replace("%", "e-2"))
    for corner in report.corners("Boss"):
        shown = beyond_sentence(JOBS, corner, report.confidence)
        assert "95.24%" not in shown


def test_of_few_points_all_are_told_of_many_the_telling_ones():
    assert len(notable_points(case_study().corners("Boss"))) == 7
    corners = many_points().corners("AIDS")
    assert len(corners) > 100
    shown = notable_points(corners)
    assert 6 < len(shown) <= 12
    assert [corners.index(corner) for corner in shown] == sorted(map(corners.index, shown))
    for axis in range(3):
        most = max(corner.point[axis] for corner in corners)
        assert most in {corner.point[axis] for corner in shown}


# ---- the page -----------------------------------------------------------------------------------


def test_several_values_have_a_part_each_and_a_heat_map_where_something_is_withstood():
    reader = Reader(render(three_values()).html())
    ids = [own["id"] for _, own in reader.elements if "id" in own]
    assert [own for own in ids if own.startswith("value-") and own[6:].isdigit()] == [
        *("value-1", "value-2", "value-3")
    ]
    heats = [own["id"] for _, own in reader.elements if own.get("class") == "heat"]
    assert heats == ["value-1-heat-figure", "value-3-heat-figure"]


def test_long_tables_are_cut(monkeypatch):
    monkeypatch.setattr("foreknow.skylines.skyline_page._MOST_ROWS", 30)
    report = many_points()
    left = len(report.skylines["AIDS"]) - 30
    text = Reader(render(report).html()).text
    assert f"And {left} others, which are in the JSON" in text
    monkeypatch.setattr("foreknow.skylines.skyline_page._MOST_VALUES", 2)
    text = Reader(render(three_values()).html()).text
    assert "And one other value without a part here; ask for" in text


# ---- the heat map -------------------------------------------------------------------------------


def heat_of(report):
    (value,) = report.values
    return value, skyline_heat(report, value)


@pytest.mark.parametrize("make", [case_study, many_points, of_sets])
def test_a_square_is_within_just_where_its_amounts_are_withstood(make):
    report = make()
    value, heat = heat_of(report)
    for panel in heat.panels:
        assert len(panel.rows) == len(heat.rows)
        for row in panel.rows:
            assert len(row) == len(heat.columns)
            for square in row:
                found = report.disclosure(value, square.at)
                assert square.inside == found.below(report.confidence)
                assert square.share == pytest.approx(found.probability, abs=1e-12)
                assert square.text.startswith("l={}, k={}, m={}: ".format(*square.at))


def test_rows_are_values_columns_people_and_panels_links():
    _, heat = heat_of(case_study())
    places = [[[square.at for square in row] for row in panel.rows] for panel in heat.panels]
    assert [[row[0][0] for row in panel] for panel in places] == [[0, 1, 2, 3, 4, 5]] * len(places)
    assert [at[1] for at in places[0][0]] == [0, 1, 2, 3, 4, 5]
    assert places[0][0][0] == (0, 0, 0)
    assert heat.panels[0].title == "no links"


def test_of_many_amounts_few_are_drawn_and_the_ends_among_them():
    report = many_points()
    value, heat = heat_of(report)
    points = report.points(value)
    assert len(heat.panels) <= 6
    assert len(heat.columns) <= 14
    assert len(heat.rows) <= 14
    for axis, drawn in ((0, heat.rows), (1, heat.columns)):
        most = max(point[axis] for point in points)
        assert f"{most:,}" in drawn
    (last,) = {square.at[2] for square in heat.panels[-1].rows[0]}
    assert last == max(point[2] for point in points)


def test_the_line_goes_around_what_is_within():
    inside, outside = Square("", 0.1, True), Square("", 0.9, False)
    panel = Panel("", [[inside, inside], [inside, outside], [outside, outside]])
    heat = HeatMap("", "", ["0", "1"], ["0", "1", "2"], [panel])
    assert panel.edge == [2, 1, 0]
    assert heat.outline(panel) == "M22 62H66V42H44V22H22V2H22Z"


def test_a_page_draws_a_square_for_each_and_says_what_it_means():
    _, heat = heat_of(case_study())
    reader = Reader(render(case_study()).html())
    squares = [a["class"] for tag, a in reader.elements if tag == "rect"]
    drawn = [square for panel in heat.panels for row in panel.rows for square in row]
    assert squares == ["held" if square.inside else "over" for square in drawn]
    assert "l=2, k=1, m=3: 90.9%" in reader.text
    assert "inside the line they stay below 95%" in reader.text
