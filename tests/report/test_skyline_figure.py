"""The figure of a skyline shows its points, in words, on closed stairs."""

import pytest
from foreknow.report.pages.skyline_terminal import terms_of
from plotly.graph_objects import Figure
from tests.report.audits import EVIL
from tests.report.skylines import POINTS, case_study, evil, many

from foreknow.report.pages.skyline import floor_of, hover_text, skyline_figure, solid


def figure_of(report):
    (value,) = report.values
    points = report.skylines[value]
    return Figure(skyline_figure(points, [str(p) for p in points], terms_of(report, value)))


def test_people_lie_across_relatives_behind_and_values_go_up():
    *_, marks = figure_of(case_study()).data
    assert list(zip(marks.z, marks.x, marks.y, strict=True)) == POINTS
    assert marks.mode == "markers"
    assert list(marks.text) == [str(p) for p in POINTS]
    scene = figure_of(case_study()).layout.scene
    assert scene.xaxis.title.text == "people known (k)"
    assert scene.yaxis.title.text == "relatives (m)"
    assert scene.zaxis.title.text == "values ruled out (l)"


def test_the_faces_are_two_triangles_each_and_nothing_is_smooth():
    *meshes, _, _ = figure_of(case_study()).data
    faces = solid(POINTS, floor_of(POINTS)).faces
    assert len(meshes) == 3
    assert sum(len(mesh.i) for mesh in meshes) == 2 * len(faces)
    for mesh, flat in zip(meshes, "zxy", strict=True):
        at = getattr(mesh, flat)
        for corners in zip(mesh.i, mesh.j, mesh.k, strict=True):
            assert len({at[corner] for corner in corners}) == 1
    assert len({mesh.color for mesh in meshes}) == 3


def test_ticks_are_few_whole_numbers_from_0():
    for report in (case_study(), many()):
        for axis in ("xaxis", "yaxis", "zaxis"):
            ticks = figure_of(report).layout.scene[axis].tickvals
            assert ticks[0] == 0
            assert len(ticks) <= 7
            assert all(type(tick) is int for tick in ticks)


@pytest.mark.parametrize(("points", "size"), [(7, 6), (100, 4), (1000, 2)])
def test_many_marks_are_small(points, size):
    line = [(0, k, points - k) for k in range(points)]
    *_, edges, marks = skyline_figure(line, [""] * points, terms_of(case_study()))["data"]
    assert marks["marker"]["size"] == size
    assert (not edges["x"]) == (points > 400)


def test_no_label_is_read_as_a_tag():
    report = evil()
    for value in report.values:
        points = report.skylines[value]
        text = hover_text(*EVIL)
        figure = skyline_figure(points or [(0, 0, 0)], [text], terms_of(report, value))
        for said in figure["data"][-1]["text"]:
            assert "<" not in said.replace("<br>", "")
