"""HTML: knowledge skylines as one page that opens offline, and as a fragment for notebooks."""

from __future__ import annotations

import textwrap
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from markupsafe import Markup

from foreknow.auditing.skyline import Corner, Point, SkylineReport
from foreknow.data.labels import Label
from foreknow.report.figures import escape
from foreknow.report.page import fragment, page, script_json
from foreknow.report.pages.skyline_terminal import (
    adversary,
    alone,
    beyond_sentence,
    explanation,
    least_sentence,
    point_sentence,
    telling_points,
    terms_of,
    title,
)
from foreknow.report.terms import Terms
from foreknow.report.words import limit_text, number, percent, some, visible

Place: TypeAlias = tuple[float, float, float]
Line: TypeAlias = tuple[Place, Place]


@dataclass(frozen=True)
class Face:
    """A rectangle across an axis.

    Attributes
    ----------
    axis : int
        0, 1 or 2, for l, k and m.
    at : float
        Where on that axis.
    low, high : (float, float)
        Its corners on the other two axes, in their order.
    """

    axis: int
    at: float
    low: tuple[float, float]
    high: tuple[float, float]

    @property
    def corners(self) -> list[Place]:
        """Its four corners, round about."""
        (a, b), (c, d) = self.low, self.high
        return [_placed(self.axis, self.at, *pair) for pair in ((a, b), (c, b), (c, d), (a, d))]


@dataclass(frozen=True)
class Solid:
    """The faces of the solid below a skyline, and the edges where they meet."""

    faces: tuple[Face, ...]
    edges: tuple[Line, ...]


def solid(points: Sequence[Point], floor: Place) -> Solid:
    """Build the solid below some points.

    Parameters
    ----------
    points : sequence of (l, k, m)
        None of which is at most another one.
    floor : (l, k, m)
        Where the boxes start; below 0.
    """
    faces: list[Face] = []
    edges: set[Line] = set()
    for axis in range(3):
        first, second = (a for a in range(3) if a != axis)
        turned = [(p[axis], p[first], p[second]) for p in points]
        base = floor[first], floor[second]
        above: list[tuple[int, int]] = []
        for level, group in groupby(sorted(turned, reverse=True), key=lambda p: p[0]):
            own = corners_of([*above, *(p[1:] for p in group)])
            strips = _strips(own, above, base)
            faces += [Face(axis, level, (a, lo), (b, hi)) for a, b, lo, hi in strips]
            edges |= {
                (_placed(axis, level, *one), _placed(axis, level, *other))
                for one, other in _outline(strips)
            }
            above = own
        bottom = _strips(above, [], base)
        faces += [Face(axis, floor[axis], (a, lo), (b, hi)) for a, b, lo, hi in bottom]
    return Solid(tuple(faces), tuple(sorted(edges)))


def corners_of(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The corners of the stairs below some points of a plane, from left to right.

    >>> corners_of([(0, 3), (2, 1), (1, 1), (0, 2)])
    [(0, 3), (2, 1)]
    """
    corners: list[tuple[int, int]] = []
    for x, y in sorted(points, reverse=True):
        if not corners or y > corners[-1][1]:
            corners.append((x, y))
    return corners[::-1]


_Strip: TypeAlias = tuple[float, float, float, float]


def _strips(
    own: Sequence[tuple[int, int]], above: Sequence[tuple[int, int]], floor: tuple[float, float]
) -> list[_Strip]:
    """Cut what is below `own` but not below `above` into upright strips: left, right, low, high."""
    strips: list[_Strip] = []
    left = floor[0]
    for right in sorted({x for x, _ in (*own, *above)}):
        low, high = _height(above, right, floor[1]), _height(own, right, floor[1])
        if low < high:
            if strips and strips[-1][1:] == (left, low, high):
                left = strips.pop()[0]
            strips.append((left, right, low, high))
        left = right
    return strips


def _height(stairs: Sequence[tuple[int, int]], x: float, floor: float) -> float:
    """How high stairs are, up to a place."""
    at = bisect_left(stairs, (x,))
    return stairs[at][1] if at < len(stairs) else floor


def _outline(strips: Sequence[_Strip]) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The borders of strips, apart from those between two of them."""
    lines = []
    for left, right, low, high in strips:
        lines += [((left, low), (right, low)), ((left, high), (right, high))]
    before = {right: (low, high) for _, right, low, high in strips}
    after = {left: (low, high) for left, _, low, high in strips}
    for x in sorted({*before, *after}):
        lines += [((x, a), (x, b)) for a, b in _either(before.get(x), after.get(x))]
    return lines


def _either(
    one: tuple[float, float] | None, other: tuple[float, float] | None
) -> list[tuple[float, float]]:
    """What lies in one of two intervals, but not in both."""
    if one is None or other is None:
        return [interval for interval in (one, other) if interval is not None]
    (a, b), (c, d) = one, other
    if b <= c or d <= a:
        return [one, other]
    return [(x, y) for x, y in ((min(a, c), max(a, c)), (min(b, d), max(b, d))) if x < y]


def _placed(axis: int, at: float, first: float, second: float) -> Place:
    place = [first, second]
    place.insert(axis, at)
    return place[0], place[1], place[2]


# Faces across l, k and m: one hue, three depths, so that stairs are seen without colour too.
_FACES = ("#8fbdf0", "#3f88dc", "#1f5fb0")
_EDGE, _POINT, _RIM = "#0c2a52", "#e07b16", "#ffffff"
_INK, _GRID = "#5b6470", "rgba(128,136,148,0.35)"
_SIZE = 14
_WIDTH = 56
# Beyond so many points marks are small, and edges are left out, which would hide the faces.
_MANY, _VERY_MANY = 60, 400


def skyline_figure(points: Sequence[Point], texts: Sequence[str], terms: Terms) -> dict[str, Any]:
    """Draw what lies below a skyline as stairs, and its points as marks.

    Parameters
    ----------
    points : sequence of (l, k, m)
        At least one.
    texts : sequence of str
        What to show at each point, as `hover_text` makes it.
    terms : Terms

    Returns
    -------
    dict
        What ``plotly.graph_objects.Figure`` takes.
    """
    floor = floor_of(points)
    found = solid(points, floor)
    faces = [
        {
            "type": "mesh3d",
            **_mesh([face for face in found.faces if face.axis == axis]),
            "color": color,
            "flatshading": True,
            "lighting": {"ambient": 1, "diffuse": 0, "specular": 0, "fresnel": 0},
            "hoverinfo": "skip",
        }
        for axis, color in enumerate(_FACES)
    ]
    edges = {
        "type": "scatter3d",
        **_lines(found.edges if len(points) <= _VERY_MANY else ()),
        "mode": "lines",
        "line": {"color": _EDGE, "width": 2},
        "hoverinfo": "skip",
    }
    marks = {
        "type": "scatter3d",
        **_places(points),
        "mode": "markers",
        "marker": _mark(len(points)),
        "text": list(texts),
        "hovertemplate": "%{text}<extra></extra>",
    }
    return {"data": [*faces, edges, marks], "layout": _layout(points, floor, terms)}


def floor_of(points: Sequence[Point]) -> Place:
    """Where the solid starts: so far below 0 that an amount of 0 can be seen.

    >>> floor_of([(0, 4, 100), (2, 0, 0)])
    (-1.0, -1.0, -5.0)
    """
    l, k, m = (-max(1.0, max(point[axis] for point in points) / 20) for axis in range(3))  # noqa: E741
    return l, k, m


def hover_text(*sentences: str) -> str:
    """Lay out sentences for a hover box, and disarm their tags."""
    lines = [
        [escape(line, 2 * _WIDTH) for line in textwrap.wrap(sentence, _WIDTH)]
        for sentence in sentences
    ]
    return "<br>".join(line for part in lines for line in part)


def _mark(points: int) -> dict[str, Any]:
    size = 6 if points <= _MANY else 4 if points <= _VERY_MANY else 2
    rim = {"color": _RIM, "width": 1 if points <= _VERY_MANY else 0}
    return {"symbol": "diamond", "size": size, "color": _POINT, "line": rim}


def _mesh(faces: Sequence[Face]) -> dict[str, Any]:
    """Two triangles for each face."""
    starts = range(0, 4 * len(faces), 4)
    return {
        **_places([corner for face in faces for corner in face.corners]),
        "i": [at for start in starts for at in (start, start)],
        "j": [at for start in starts for at in (start + 1, start + 2)],
        "k": [at for start in starts for at in (start + 2, start + 3)],
    }


def _lines(edges: Sequence[Line]) -> dict[str, Any]:
    """All edges as one line with gaps."""
    placed = _places([place for edge in edges for place in edge])
    return {
        axis: [at for i in range(0, len(all_), 2) for at in (*all_[i : i + 2], None)]
        for axis, all_ in placed.items()
    }


def _places(places: Sequence[Place]) -> dict[str, list[float]]:
    """People lie along x, relatives along y, values go up."""
    return {axis: [_short(place[at]) for place in places] for axis, at in _AXES}


_AXES = (("x", 1), ("y", 2), ("z", 0))


def _short(number: float) -> float:
    return int(number) if number == int(number) else round(number, 3)


def _layout(points: Sequence[Point], floor: Place, terms: Terms) -> dict[str, Any]:
    tops = [max(1, *(point[axis] for point in points)) for axis in range(3)]
    axes = {
        f"{name}axis": {
            "title": {"text": terms.axes[at], "font": {"size": _SIZE}},
            "range": [floor[at], tops[at] * 1.04],
            **_ticks(tops[at]),
            "color": _INK,
            "gridcolor": _GRID,
            "linecolor": _INK,
            "zeroline": False,
            "showbackground": False,
            "showspikes": False,
        }
        for name, at in _AXES
    }
    return {
        "template": "none",
        "height": 440,
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": _SIZE, "color": _INK},
        "showlegend": False,
        "uirevision": "kept",
        "scene": {
            **axes,
            "aspectmode": "manual",
            "aspectratio": {"x": 1.1, "y": 1.1, "z": 0.85},
            "camera": {
                "eye": {"x": 1.5, "y": 1.5, "z": 0.95},
                "center": {"x": 0, "y": 0, "z": -0.13},
            },
            "dragmode": "turntable",
        },
    }


def _ticks(top: int) -> dict[str, Any]:
    """Whole numbers from 0, few."""
    step = next(s * 10**e for e in range(20) for s in (1, 2, 5) if top <= 6 * s * 10**e)
    return {"tickmode": "array", "tickvals": list(range(0, top + 1, step))}


_MOST_VALUES = 60
_MOST_ROWS = 400


def skyline_page(report: SkylineReport) -> str:
    """Write knowledge skylines as one HTML page that asks nothing of any network.

    Parameters
    ----------
    report : SkylineReport

    Returns
    -------
    str
        The same text for the same report. Its tables need no scripts.
    """
    counts, left_out = report.counts, len(report.values) - _MOST_VALUES
    return page(
        "skyline.html.j2",
        "skyline.js",
        kept="it says how little knowledge finds people out, and in which groups",
        title=f"{title(report)} – {visible(report.name)}",
        heading=title(report),
        name=visible(report.name),
        scope=f"{some(counts.n_people, 'person', 'people')} in "
        f"{some(counts.n_groups, 'group', 'groups')}",
        explanation=explanation(report),
        terms=terms_of(report),
        limit=limit_text(report.confidence),
        sections=_sections(report),
        left_out=some(left_out, "other value", "other values") if left_out > 0 else "",
    )


def skyline_summary(report: SkylineReport) -> str:
    """Write knowledge skylines as a small HTML fragment, for notebooks."""
    return fragment(
        "skyline_summary.html.j2",
        heading=title(report),
        name=visible(report.name),
        explanation=explanation(report),
        terms=terms_of(report),
        sections=_sections(report, brief=True),
    )


# ---- what the templates show --------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """A point of a skyline as a table shows it."""

    l: str  # noqa: E741
    k: str
    m: str
    sentence: str
    beyond: str
    text: str
    width: str
    mark: str
    safe: bool = True


@dataclass(frozen=True)
class _Section:
    """One value as the page shows it."""

    anchor: str
    value: str
    holders: str
    points: str
    alone: tuple[str, str, str]
    least: str
    withstood: bool
    rows: list[_Row]
    all_rows: list[_Row]
    more_rows: str
    data: Markup | None


def _sections(report: SkylineReport, brief: bool = False) -> list[_Section]:
    values = report.values[:_MOST_VALUES]
    return [_section(report, value, f"value-{i}", brief) for i, value in enumerate(values, 1)]


def _section(report: SkylineReport, value: Label, anchor: str, brief: bool) -> _Section:
    counts = report.counts
    corners = () if brief and len(report.values) > 1 else report.corners(value)
    telling = telling_points(corners)
    return _Section(
        anchor=anchor,
        value=visible(value),
        holders=number(int(counts.totals[counts.code(value)])),
        points=some(len(report.skylines[value]), "point", "points"),
        alone=alone(report, value),
        least=least_sentence(report, value),
        withstood=bool(report.skylines[value]),
        rows=[_row(report, value, corner) for corner in telling],
        all_rows=[_row(report, value, corner) for corner in corners[:_MOST_ROWS]]
        if len(telling) < len(corners) and not brief
        else [],
        more_rows=some(len(corners) - _MOST_ROWS, "other", "others")
        if len(corners) > _MOST_ROWS
        else "",
        data=_data(report, value, corners) if corners and not brief else None,
    )


def _row(report: SkylineReport, value: Label, corner: Corner) -> _Row:
    terms, limit = terms_of(report, value), report.confidence
    l, k, m = map(number, corner.point)  # noqa: E741
    return _Row(
        l,
        k,
        m,
        adversary(terms, corner.point),
        beyond_sentence(terms, corner, limit),
        percent(corner.found, limit, 1),
        f"{100 * corner.found.probability:.2f}",
        f"{100 * float(limit):.2f}",
    )


def _data(report: SkylineReport, value: Label, corners: tuple[Corner, ...]) -> Markup:
    """What the page's script draws: the solid, and the points of which it cuts slices."""
    terms = terms_of(report, value)
    points = [corner.point for corner in corners]
    texts = [
        hover_text(
            point_sentence(terms, corner, report.confidence),
            beyond_sentence(terms, corner, report.confidence),
        )
        for corner in corners
    ]
    plain: dict[str, Any] = {
        "solid": skyline_figure(points, texts, terms),
        "points": points,
        "floor": floor_of(points),
        "axes": terms.axes,
        "things": terms.things,
    }
    return script_json(plain)
