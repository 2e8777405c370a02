"""Skylines as a result: what Facts says at their points, beside them, and what is written."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.skylines.drawing import drawn_counts

import foreknow as fk
from foreknow.cli.entry import app
from foreknow.errors import OutputError
from foreknow_judge.errors import DataError

SEMANTICS = ["single", "set", "multiset"]
WORST = fk.GroupCounts.from_bags([["Boss", "Boss", "Clerk", "Cook", "Farmer", "Nurse", "Smith"]])


def drawn(semantics, seed, groups=5, values="abcd"):
    """A random release."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, groups)
    return drawn_counts(rng, semantics, sizes, values)


CASES = [(drawn(s, seed), c) for s in SEMANTICS for seed, c in enumerate(["0.5", "0.9", "1"])]
every_case = pytest.mark.parametrize(("counts", "confidence"), CASES)


def box(report, value):
    """All amounts up to one more than the skyline has."""
    points = report.skylines[value] or [(0, 0, 0)]
    return product(*(range(max(point[axis] for point in points) + 2) for axis in range(3)))


@every_case
def test_the_points_are_those_of_the_plain_lists(counts, confidence):
    report = fk.skyline_report(counts, confidence=confidence)
    assert report.skylines == fk.knowledge_skylines(counts, confidence)
    some = list(report.values[::-2])
    assert fk.skyline_report(counts, some, confidence=confidence).values == tuple(some)


@every_case
def test_at_the_points_and_beside_them_is_what_facts_disclose(counts, confidence):
    report = fk.skyline_report(counts, confidence=confidence)
    others = int(np.count_nonzero(counts.totals)) - 1
    for value in report.values:
        for corner in report.corners(value):
            l, k, m = corner.point  # noqa: E741
            assert corner.found.below(confidence)
            beside = [(l + 1, k, m), (l, k + 1, m), (l, k, m + 1)]
            for point, found in zip(
                [corner.point, *beside], (corner.found, *corner.beyond), strict=True
            ):
                truth = fk.Facts(*point).disclosure(counts, value)
                if found is None:
                    assert point[0] > others
                    continue
                assert found.exact == truth.exact
                assert found.probability == pytest.approx(float(truth.exact), abs=1e-12)
                assert found.witness == truth.witness
                assert found.below(confidence) == (point == corner.point)


@every_case
def test_what_is_withstood_stays_below_and_the_least_beyond_has_the_fewest_facts(
    counts, confidence
):
    report = fk.skyline_report(counts, confidence=confidence)
    for value in report.values:
        beyond = [point for point in box(report, value) if not report.withstands(value, point)]
        if value == report.values[0]:
            for point in box(report, value):
                below = fk.Facts(*point).disclosure(counts, value).below(confidence)
                assert (point not in beyond) == below, point
        least = report.least_beyond(value)
        assert least in beyond
        assert sum(least) == min(map(sum, beyond))


def test_of_equally_few_facts_those_about_people_are_given():
    report = fk.skyline_report(WORST, ["Boss"], confidence="0.95")
    assert report.least_beyond("Boss") == (0, 5, 0)
    assert not report.withstands("Boss", (5, 0, 0))


def test_the_case_study_of_the_paper():
    report = fk.skyline_report(WORST, ["Boss"], confidence=0.95)
    assert report.confidence == Fraction(19, 20)
    assert report.skylines == {
        "Boss": [(0, 4, 0), (1, 3, 1), (2, 1, 3), (2, 2, 2), (3, 0, 4), (3, 1, 2), (4, 0, 3)]
    }
    assert repr(report) == "SkylineReport(release: 'Boss', 7 points below 0.95)"


def test_more_values_than_there_are_add_nothing():
    alone = fk.GroupCounts.from_people([[{"a"}, set(), set()]])
    report = fk.skyline_report(alone, confidence="0.5")
    (corner,) = report.corners("a")
    assert (corner.point, corner.beyond[0]) == ((0, 0, 0), None)
    assert report.withstands("a", (9, 0, 0))
    assert not report.withstands("a", (9, 1, 0))


def test_nothing_is_withstood():
    report = fk.skyline_report(WORST, ["Boss"], confidence="0.1")
    assert report.skylines == {"Boss": []}
    assert report.corners("Boss") == ()
    assert report.least_beyond("Boss") == (0, 0, 0)
    assert not report.withstands("Boss", (0, 0, 0))


def test_json_holds_every_point_with_its_version_and_is_written_whole(tmp_path):
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


def test_a_release_says_what_its_sensitive_column_is_called():
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
def test_what_cannot_be_meant_is_refused(given, kind, says):
    with pytest.raises(kind, match=says):
        fk.skyline_report(WORST, **given)


def test_a_report_is_only_about_its_values():
    report = fk.skyline_report(WORST, ["Boss"], confidence=1)
    with pytest.raises(fk.InputError, match="'Cook'"):
        report.corners("Cook")


def test_of_very_many_values_those_that_withstand_least_are_listed(tmp_path):
    pairs = [(group, f"v{2 * group + half}") for group in range(500) for half in range(2)]
    strong = [(500, name) for name in ("s1", "s2", "s3", "s4", "s5")]
    path = tmp_path / "release.csv"
    path.write_text("gid,ill\n" + "".join(f"{g},{v}\n" for g, v in [*strong, *pairs]))
    asked = ["skyline", str(path), "--group", "gid", "--sensitive", "ill", "-c", "0.9"]
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 0
    lines = {line.split()[0]: line.split()[1:] for line in said.output.splitlines() if line.strip()}
    report = fk.skyline(path_release(path), confidence="0.9")
    assert len(report.values) == 1005
    for value in report.values:
        assert (value in lines) == value.startswith("v")
        points = report.points(value)
        assert points == tuple(report.skylines[value])
        if value in lines:
            most = [max(column) for column in zip(*points, strict=True)]
            assert lines[value] == [str(each) for each in (*most, len(points))]
    assert "5 more values are left out" in " ".join(said.output.split())


def path_release(path):
    return fk.Release.from_groups(path, group="gid", sensitive="ill")


def test_very_many_values_are_told_by_class_and_all_together(monkeypatch):
    rng = np.random.default_rng(3)
    groups = [rng.choice(1_500, n, replace=False).tolist() for n in rng.integers(6, 12, 700)]
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
    assert "The most of one kind of knowledge alone that stays" in said
    monkeypatch.setattr("foreknow.skylines.skyline_page._MOST_LISTED", 2)
    page = report.to_html()
    assert 'id="value-3"' in page
    assert 'id="value-7"' not in page
    assert "more rows are left out" in page
    assert "The most of one kind of knowledge alone that stays" not in report.summary()


def test_where_something_is_unsafe_nothing_is_withstood_of_all_values_together():
    bags = [["alone"], *([f"v{2 * i}", f"v{2 * i + 1}"] for i in range(510))]
    report = fk.skyline_report(fk.GroupCounts.from_bags(bags), confidence="0.9")
    assert report.skylines.of_all == []
    assert "Of some value, not even an adversary who knows nothing" in report.summary()
    told = json.loads(report.to_json())
    assert told["classes"][0] == {"values": ["alone"], "most_alone": dict.fromkeys("lkm")}
