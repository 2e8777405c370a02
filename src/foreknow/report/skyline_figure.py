"""Skyline figure: the solid below a knowledge skyline in three dimensions, for Plotly.

Plain values, since Plotly's own objects check each of thousands of numbers.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from foreknow.report.figures import escape
from foreknow.report.stairs import Face, Line, Place, solid
from foreknow.report.terms import Terms
from foreknow.skylining import Point

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
