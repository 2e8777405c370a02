"""Skylines as a result: what Facts says at their points, what is written, and the page."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.report.reading import Reader, words
from tests.report.results import case_study, many_points, of_sets, three_values
from tests.report.snapshots import assert_as_before
from tests.skylines.drawing import drawn_counts

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.errors import OutputError
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
from foreknow_judge.errors import DataError

WORST = fk.GroupCounts.from_bags([["Boss", "Boss", "Clerk", "Cook", "Farmer", "Nurse", "Smith"]])


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
@pytest.mark.parametrize("confidence", ["0.5", "0.9", "1"])
def test_points_and_beside_are_facts(semantics, confidence):
    rng = np.random.default_rng([int(10 * float(confidence)), len(semantics)])
    counts = drawn_counts(rng, semantics, rng.integers(2, 10, 4), "abcd")
    report = fk.skyline_report(counts, confidence=confidence)
    assert report.skylines == fk.knowledge_skylines(counts, confidence)
    some = list(report.values[::-2])
    assert fk.skyline_report(counts, some, confidence=confidence).values == tuple(some)
    others = int(np.count_nonzero(counts.totals)) - 1
    for value in report.values:
        for corner in report.corners(value):
            l, k, m = corner.point  # noqa: E741
            beside = [(l + 1, k, m), (l, k + 1, m), (l, k, m + 1)]
            said = zip([corner.point, *beside], (corner.found, *corner.beyond), strict=True)
            for point, found in said:
                truth = fk.Facts(*point).disclosure(counts, value)
                if found is None:
                    assert point[0] > others
                    continue
                assert found.exact == truth.exact
                assert found.probability == pytest.approx(float(truth.exact), abs=1e-12)
                assert found.witness == truth.witness
                assert found.below(confidence) == (point == corner.point)
        # All amounts up to one more than the skyline has.
        points = report.skylines[value] or [(0, 0, 0)]
        box = [*product(*(range(max(p[axis] for p in points) + 2) for axis in range(3)))]
        beyond = [point for point in box if not report.withstands(value, point)]
        if value == report.values[0]:
            for point in box:
                below = fk.Facts(*point).disclosure(counts, value).below(confidence)
                assert (point not in beyond) == below, point
        least = report.least_beyond(value)
        assert least in beyond
        assert sum(least) == min(map(sum, beyond))


def test_case_study_of_the_paper():
    report = fk.skyline_report(WORST, ["Boss"], confidence=0.95)
    assert report.confidence == Fraction(19, 20)
    assert report.skylines == {
        "Boss": [(0, 4, 0), (1, 3, 1), (2, 1, 3), (2, 2, 2), (3, 0, 4), (3, 1, 2), (4, 0, 3)]
    }
    assert repr(report) == "SkylineReport(release: 'Boss', 7 points below 0.95)"
    # Of equally few facts those about people are given.
    assert report.least_beyond("Boss") == (0, 5, 0)
    assert not report.withstands("Boss", (5, 0, 0))
    nothing = fk.skyline_report(WORST, ["Boss"], confidence="0.1")
    assert (nothing.skylines, nothing.corners("Boss")) == ({"Boss": []}, ())
    assert nothing.least_beyond("Boss") == (0, 0, 0)
    assert not nothing.withstands("Boss", (0, 0, 0))


def test_more_values_than_there_are():
    alone = fk.GroupCounts.from_people([[{"a"}, set(), set()]])
    report = fk.skyline_report(alone, confidence="0.5")
    (corner,) = report.corners("a")
    assert (corner.point, corner.beyond[0]) == ((0, 0, 0), None)
    assert report.withstands("a", (9, 0, 0))
    assert not report.withstands("a", (9, 1, 0))


def test_json_holds_every_point(tmp_path):
    report = fk.skyline_report(WORST, ["Boss"], confidence="0.95", name="x.csv", sensitive="job")
    path = tmp_path / "skyline.json"
    report.to_json(path)
    told = json.loads(path.read_text("utf-8"))
    assert told["format"] == "foreknow skylines"
    assert (told["version"], told["release"], told["sensitive"]) == (1, "x.csv", "job")
    assert (told["confidence"], told["semantics"]) == ("19/20", "single")
    (boss,) = told["values"]
    assert (boss["value"], boss["occurrences"]) == ("Boss", 2)
    assert [(p["l"], p["k"], p["m"]) for p in boss["points"]] == report.skylines["Boss"]
    assert boss["points"][0]["probability"] == pytest.approx(2 / 3)
    assert boss["points"][0]["one_more"] == {"l": 1.0, "k": 1.0, "m": 1.0}
    assert boss["least_beyond"] == {"l": 0, "k": 5, "m": 0}
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OutputError, match="does not exist"):
        report.to_html(tmp_path / "nowhere" / "x.html")
    table = pa.table({"gid": [1, 1, 2, 2], "job": ["Cook", "Boss", "Cook", "Boss"]})
    release = fk.Release.from_groups(table, group="gid", sensitive="job")
    report = fk.skyline_report(release, confidence="0.9")
    assert (report.sensitive, report.name) == ("job", release.name)


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ({"values": "Boss", "confidence": 1}, fk.InputError, r"such as \['Boss'\]"),
        ({"values": 7, "confidence": 1}, fk.InputError, r"such as \[7\]"),
        ({"values": [], "confidence": 1}, fk.InputError, "leave it out for all values"),
        ({"values": ["Bos"], "confidence": 1}, DataError, "did you mean 'Boss'"),
        ({"confidence": 0}, fk.InputError, "above 0 and at most 1"),
        ({"confidence": 95}, fk.InputError, "above 0 and at most 1"),
        ({"confidence": "x"}, fk.InputError, "not a number"),
    ],
)
def test_what_cannot_be_meant(given, kind, says):
    with pytest.raises(kind, match=says):
        fk.skyline_report(WORST, **given)
    with pytest.raises(fk.InputError, match="'Cook'"):
        fk.skyline_report(WORST, ["Boss"], confidence=1).corners("Cook")


# ---- very many values ---------------------------------------------------------------------------


def test_who_withstands_least_is_listed(tmp_path):
    pairs = [(group, f"v{2 * group + half}") for group in range(500) for half in range(2)]
    strong = [(500, name) for name in ("s1", "s2", "s3", "s4", "s5")]
    path = tmp_path / "release.csv"
    path.write_text("gid,ill\n" + "".join(f"{g},{v}\n" for g, v in [*strong, *pairs]))
    asked = ["skyline", str(path), "--group", "gid", "--sensitive", "ill", "-c", "0.9"]
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 0
    lines = {line.split()[0]: line.split()[1:] for line in said.output.splitlines() if line.strip()}
    release = fk.Release.from_groups(path, group="gid", sensitive="ill")
    report = fk.skyline(release, confidence="0.9")
    assert len(report.values) == 1005
    for value in report.values:
        assert (value in lines) == value.startswith("v")
        points = report.points(value)
        assert points == tuple(report.skylines[value])
        if value in lines:
            most = [max(column) for column in zip(*points, strict=True)]
            assert lines[value] == [str(each) for each in (*most, len(points))]
    assert "5 more values are left out" in " ".join(said.output.split())


def test_very_many_values_by_class(monkeypatch):
    rng = np.random.default_rng(3)
    groups = [rng.choice(1_200, n, replace=False).tolist() for n in rng.integers(6, 12, 500)]
    counts = fk.GroupCounts.from_bags(groups)
    report = fk.skyline_report(counts, confidence="1/2")
    found = fk.knowledge_skylines(counts, "1/2")
    together, many = len(found.of_all), len(found)
    assert repr(report) == (
        f"SkylineReport(release: {many} values together, {together} points below 0.5)"
    )
    told = json.loads(report.to_json())
    assert "values" not in told
    assert [(p["l"], p["k"], p["m"]) for p in told["of_all"]] == found.of_all
    assert sum(len(each["values"]) for each in told["classes"]) == many
    for each in told["classes"]:
        points = report.points(each["values"][-1])
        assert list(each["most_alone"].values()) == [max(x) for x in zip(*points, strict=True)]
    said = " ".join(report.summary().split())
    assert f"All values together: {together} points" in said
    assert f"Values by class: {len(found.classes)} classes" in said
    with pytest.raises(fk.InputError, match="not about 'nobody'"):
        report.points("nobody")
    # Where there are too many classes, too, a few examples have parts, and no value has a line.
    most = "The largest amount of one kind of knowledge alone that stays"
    assert most in said
    monkeypatch.setattr("foreknow.skylines.skyline_page._MOST_LISTED", 2)
    page = report.to_html()
    assert ('id="value-3"' in page, 'id="value-7"' in page) == (True, False)
    assert "more rows are left out" in page
    assert most not in report.summary()


def test_where_one_value_is_unsafe():
    """Nothing is withstood of all values together."""
    bags = [["alone"], *([f"v{2 * i}", f"v{2 * i + 1}"] for i in range(510))]
    report = fk.skyline_report(fk.GroupCounts.from_bags(bags), confidence="0.9")
    assert report.skylines.of_all == []
    assert "For at least one value, the release alone is too much" in report.summary()
    told = json.loads(report.to_json())
    assert told["classes"][0] == {"values": ["alone"], "most_alone": dict.fromkeys("lkm")}


# ---- the page -----------------------------------------------------------------------------------

JOBS = terms_of(case_study(), "Boss")


def test_sentences_are_as_before():
    report = case_study()
    known = [(Terms("value"), at) for at in ((2, 0, 3), (0, 0, 0), (1, 1, 1))]
    known.append((Terms.of("set", "diagnosis", "AIDS"), (0, 3, 0)))
    said = [adversary(terms, at) for terms, at in known]
    said += [beyond_sentence(JOBS, at, report.confidence) for at in report.corners("Boss")]
    said += [least_sentence(report, "Boss"), least_sentence(three_values(), "Flu")]
    said.append(worst_sentence(report, "Boss", (2, 1, 3)))
    said += [probability_text(report, "Boss", at) for at in ((2, 1, 3), (0, 5, 0))]
    said += [words(Laid(worst_case(report, "Boss", at))) for at in ((0, 5, 0), (0, 4, 0))]
    half, ed = Fraction(1, 2), (("Ed", "Flu"),)
    named = NamedWitness("Tom", "AIDS", 0.5, half, (), ed, ("Bo\x1b",), "single")
    notes = (("B", "x"),), (), "multiset", ("x not in B",)
    marked = NamedWitness("A", "x", 1.0, Fraction(1), (), *notes)
    assert_as_before("skyline-sentences", [*said, words(named, 200), words(marked)])


def test_percentages_keep_their_side():
    report = case_study("95.24e-2")
    for corner in report.corners("Boss"):
        assert "95.24%" not in beyond_sentence(JOBS, corner, report.confidence)


def test_of_many_points_telling_ones():
    assert len(notable_points(case_study().corners("Boss"))) == 7
    corners = many_points().corners("AIDS")
    assert len(corners) > 100
    shown = notable_points(corners)
    assert 6 < len(shown) <= 12
    assert [corners.index(corner) for corner in shown] == sorted(map(corners.index, shown))
    for axis in range(3):
        most = max(corner.point[axis] for corner in corners)
        assert most in {corner.point[axis] for corner in shown}


def test_values_have_parts_and_cuts(monkeypatch):
    """A part each, and a heat map where something is withstood; long tables are cut."""
    reader = Reader(render(three_values()).html())
    ids = [own["id"] for _, own in reader.elements if "id" in own]
    parts = [own for own in ids if own.startswith("value-") and own[6:].isdigit()]
    assert parts == ["value-1", "value-2", "value-3"]
    heats = [own["id"] for _, own in reader.elements if own.get("class") == "heat"]
    assert heats == ["value-1-heat-figure", "value-3-heat-figure"]
    monkeypatch.setattr("foreknow.skylines.skyline_page._MOST_ROWS", 30)
    report = many_points()
    left = len(report.skylines["AIDS"]) - 30
    assert f"And {left} others, which are in the JSON" in Reader(render(report).html()).text
    monkeypatch.setattr("foreknow.skylines.skyline_page._MOST_VALUES", 2)
    text = Reader(render(three_values()).html()).text
    assert "And one other value without a section here; ask" in text


@pytest.mark.parametrize("make", [case_study, many_points, of_sets])
def test_squares_within_are_withstood(make):
    report = make()
    (value,) = report.values
    heat = skyline_heat(report, value)
    for panel in heat.panels:
        assert len(panel.rows) == len(heat.rows)
        for row in panel.rows:
            assert len(row) == len(heat.columns)
            for square in row:
                found = report.disclosure(value, square.at)
                assert square.inside == found.below(report.confidence)
                assert square.share == pytest.approx(found.probability, abs=1e-12)
                assert square.text.startswith("l={}, k={}, m={}: ".format(*square.at))
    if make is many_points:  # few amounts are drawn, and the ends among them
        points = report.points(value)
        assert len(heat.panels) <= 6
        assert max(len(heat.columns), len(heat.rows)) <= 14
        for axis, drawn in ((0, heat.rows), (1, heat.columns)):
            assert f"{max(point[axis] for point in points):,}" in drawn
        (last,) = {square.at[2] for square in heat.panels[-1].rows[0]}
        assert last == max(point[2] for point in points)


def test_a_heat_map_on_page():
    heat = skyline_heat(case_study(), "Boss")
    places = [[[square.at for square in row] for row in panel.rows] for panel in heat.panels]
    assert [[row[0][0] for row in panel] for panel in places] == [[0, 1, 2, 3, 4, 5]] * len(places)
    assert [at[1] for at in places[0][0]] == [0, 1, 2, 3, 4, 5]
    assert (places[0][0][0], heat.panels[0].title) == ((0, 0, 0), "no links")
    reader = Reader(render(case_study()).html())
    squares = [a["class"] for tag, a in reader.elements if tag == "rect"]
    drawn = [square for panel in heat.panels for row in panel.rows for square in row]
    assert squares == ["held" if square.inside else "over" for square in drawn]
    assert "l=2, k=1, m=3: 90.9%" in reader.text
    assert "inside the line they stay below 95%" in reader.text
    # The line goes around what is within.
    inside, outside = Square("", 0.1, True), Square("", 0.9, False)
    panel = Panel("", [[inside, inside], [inside, outside], [outside, outside]])
    assert panel.edge == [2, 1, 0]
    heat = HeatMap("", "", ["0", "1"], ["0", "1", "2"], [panel])
    assert heat.outline(panel) == "M22 62H66V42H44V22H22V2H22Z"
