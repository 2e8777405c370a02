"""Skylines: the knowledge that a release withstands, as stairs, tables and sentences."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, TypeAlias

from markupsafe import Markup
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.witness import FactsWitness
from foreknow.auditing.skyline import Corner, Point, SkylineReport
from foreknow.data.labels import Label
from foreknow.report.console import Laid, Writer, plain_table
from foreknow.report.figures import INK, SIZE, hover_text
from foreknow.report.knowledge import NOUN, Description, Terms, facts_used
from foreknow.report.page import Chance, Grid, Page, document, fragment, script_json
from foreknow.report.words import (
    is_certain,
    limit_text,
    named,
    noun_of,
    number,
    percent,
    some,
    visible,
)

_MOST_VALUES, _MOST_ROWS = 60, 400
_SHOWN, _NOTABLE = 20, 12
_LONGEST = 10**30


class SkylinePage(Page[SkylineReport]):
    """The skylines of some values."""

    serves = SkylineReport
    kept = "it says how little knowledge finds people out, and in which groups"

    @property
    def headline(self) -> str:
        """Say what the page is about."""
        values = self.result.values
        what = named(values[0]) if len(values) == 1 else f"{len(values)} values"
        return f"What the release withstands at {limit_text(self.result.confidence)}: {what}"

    @property
    def explanation(self) -> str:
        """Say in two sentences what a skyline is, to a reader who has never heard of one."""
        report = self.result
        value = named(report.values[0]) if len(report.values) == 1 else "the value"
        sure = "certain" if report.confidence == 1 else f"{limit_text(report.confidence)} sure"
        return (
            "The release withstands an amount of knowledge if nobody who knows that much about the "
            f"people in it, whatever it is exactly, can be {sure} that a particular person has "
            f"{value}. A knowledge skyline lists the largest such amounts: with one fact more of "
            "any kind, an adversary could be, in the worst case."
        )

    def html(self) -> str:
        """Write the page: stairs that turn, their slices, and tables that need no scripts."""
        report = self.result
        counts, left_out = report.counts, len(report.values) - _MOST_VALUES
        return document(
            "skyline.html.j2",
            script="skyline.js",
            kept=self.kept,
            heading=self.headline,
            name=report.name,
            scope=f"{some(counts.n_people, 'person', 'people')} in "
            f"{some(counts.n_groups, 'group', 'groups')}",
            explanation=self.explanation,
            terms=terms_of(report),
            limit=limit_text(report.confidence),
            sections=_sections(report),
            left_out=some(left_out, "other value", "other values") if left_out > 0 else "",
        )

    def summary(self) -> str:
        """The points of the only value, or what each of several withstands."""
        report, terms = self.result, terms_of(self.result)
        sections = _sections(report, brief=True)
        things = [several for _, several in terms.things]
        if len(sections) > 1:
            head = "value", terms.holders.lower(), *(f"{kind} alone" for kind in things), "skyline"
            rows = [(s["value"], s["holders"], *s["alone"], s["points"]) for s in sections]
            grids = [Grid(head, rows)]
        else:
            grids = [
                Grid(
                    (*things, "at most this sure"),
                    [(*row["point"], row["chance"].text) for row in s["rows"]],
                    left=(),
                    note=f"{s['points']}. {s['least']}",
                )
                for s in sections
            ]
        return fragment(self.headline, report.name, grids=grids, aside=self.explanation)

    def terminal(self, text: Writer) -> Iterator[RenderableType]:
        """The points of the only value, or one row for each of several."""
        if len(self.result.values) == 1:
            return _points(self.result, self.result.values[0], text)
        return _overview(self.result, text)


PAGE = SkylinePage


# ---- the terminal ---------------------------------------------------------------------------


def value_table(report: SkylineReport, value: Label) -> RenderableType:
    """Lay out the points of one value, or the most notable of many, each with a sentence."""
    return Laid(lambda text: _points(report, value, text))


def worst_case(report: SkylineReport, value: Label, point: Point) -> RenderableType:
    """Say whether some amounts are withstood, and the worst case by groups and numbers."""
    return Laid(lambda text: _worst_case(report, value, point, text))


def _points(report: SkylineReport, value: Label, text: Writer) -> Iterator[RenderableType]:
    terms, corners = terms_of(report, value), report.corners(value)
    shown = notable_points(corners)
    many = some(len(corners), "point", "points")
    head = f"{visible(value)} at {limit_text(report.confidence)}: {many}"
    if len(shown) < len(corners):
        head += f", of which {len(shown)} are shown"
    yield text(head, "bold")
    if corners:
        table = plain_table(numbers="lkm")
        table.add_column("withstands", overflow="fold")
        table.add_column("at most", justify="right", no_wrap=True)
        for corner in shown:
            table.add_row(
                *(text(number(amount), "bold") for amount in corner.point),
                text(adversary(terms, corner.point)),
                text(percent(corner.found, report.confidence, 1)),
            )
        yield table
    yield Padding(text(least_sentence(report, value)), (0, 0, 1, 0))


def _overview(report: SkylineReport, text: Writer) -> Iterator[RenderableType]:
    limit = limit_text(report.confidence)
    yield text(f"The most of one kind of knowledge alone that stays below {limit}", "bold")
    table = plain_table(["value"])
    for title in (*terms_of(report).axes, "points of the skyline"):
        table.add_column(title, justify="right", max_width=14)
    for value in report.values:
        many = len(report.skylines[value])
        style = "" if many else "bold red"
        amounts = (text(amount, style) for amount in (*_alone(report, value), number(many)))
        table.add_row(text(visible(value)), *amounts)
    yield table
    if not all(report.skylines.values()):
        yield text("Where there is no point, not even knowing nothing else is withstood.")


def _worst_case(
    report: SkylineReport, value: Label, point: Point, text: Writer
) -> Iterator[RenderableType]:
    safe = report.withstands(value, point)
    l, k, m = point  # noqa: E741
    yield Text.assemble(
        text(f"l={l}, k={k}, m={m} is "),
        text("withstood" if safe else "not withstood", "green" if safe else "bold red"),
        text(f": {probability_text(report, value, point)}."),
    )
    yield text(worst_sentence(report, value, point))
    for who, what in _worst(report, value, point).details:
        yield Padding(text(f"{who}: {what}"), (0, 0, 0, 2))
    yield text("")


# ---- words ----------------------------------------------------------------------------------


def terms_of(report: SkylineReport, value: Label | None = None) -> Terms:
    """How to speak of facts about a value of a report."""
    noun = NOUN if report.sensitive is None else noun_of(report.sensitive)
    return Terms(noun, report.counts.semantics, None if value is None else named(value))


def adversary(terms: Terms, point: Point) -> str:
    """Describe who has these amounts of facts.

    >>> adversary(Terms("diagnosis"), (2, 0, 3))
    "an adversary who knows 2 diagnoses the target does not have and 3 links, but nobody else's
     diagnosis"
    """
    known, unknown = terms.known(*point), terms.unknown(*point)
    if not known:
        return "an adversary who knows nothing but the release"
    return f"an adversary who knows {known}{f', but {unknown}' if unknown else ''}"


def point_sentence(terms: Terms, corner: Corner, limit: Fraction) -> str:
    """Say what a point of a skyline means, and how sure such an adversary can be."""
    sure = percent(corner.found, limit, 1)
    return (
        f"Withstands {adversary(terms, corner.point)}: they can be at most {sure} sure "
        f"of {terms.value}."
    )


def beyond_sentence(terms: Terms, corner: Corner, limit: Fraction) -> str:
    """Say what one fact more of each kind would do."""
    reached = [
        (kind, _chance(found, limit))
        for (kind, _), found in zip(terms.things, corner.beyond, strict=True)
        if found is not None
    ]
    if len({sure for _, sure in reached}) == 1:
        return f"One fact more of any kind: {reached[0][1]}."
    return f"One more {'; one more '.join(f'{kind}: {sure}' for kind, sure in reached)}."


def least_sentence(report: SkylineReport, value: Label) -> str:
    """Say which little knowledge is too much already."""
    terms, limit = terms_of(report, value), report.confidence
    point = report.least_beyond(value)
    found = report.disclosure(value, point)
    sure = "certain of" if is_certain(found, limit) else f"{percent(found, limit, 1)} sure of"
    if not any(point):
        return (
            "Not even an adversary who knows nothing but the release is withstood: they can be "
            f"{sure} {terms.value}."
        )
    return (
        f"Too much already: an adversary who knows {terms.known(*point)}, and nothing else, can be "
        f"{sure} {terms.value} in the worst case."
    )


def worst_sentence(report: SkylineReport, value: Label, point: Point) -> str:
    """Say what such an adversary can find out at worst: about whom, through which facts."""
    found, limit = report.disclosure(value, point), report.confidence
    used = _worst(report, value, point)
    how = "certain" if is_certain(found, limit) else f"{percent(found, limit, 1)} sure"
    return f"Someone who {used.knows} can be {how} that {used.whose} has {named(value)}."


def probability_text(report: SkylineReport, value: Label, point: Point) -> str:
    """Write the breach probability as a fraction, where that is short, and as a percentage."""
    found, limit = report.disclosure(value, point), report.confidence
    shown, exact = percent(found, limit, 2), found.exact
    if exact is None or exact.denominator > _LONGEST:
        return f"the breach probability is {shown}"
    if exact == 1:
        return "the breach probability is 1"
    return f"the breach probability is {exact} = {shown}"


def _worst(report: SkylineReport, value: Label, point: Point) -> Description:
    witness = report.disclosure(value, point).witness
    assert isinstance(witness, FactsWitness)
    return facts_used(Facts(*point), witness, terms_of(report).noun)


def _chance(found: Disclosure, limit: Fraction) -> str:
    """Write a probability for a table; "certain" for 1."""
    return "certain" if is_certain(found, limit) else percent(found, limit, 1)


def _alone(report: SkylineReport, value: Label) -> tuple[str, str, str]:
    """The most of l, of k and of m that is withstood when nothing else is known; dashes if none."""
    points = report.skylines[value]
    if not points:
        return "–", "–", "–"
    l, k, m = (number(max(point[axis] for point in points)) for axis in range(3))  # noqa: E741
    return l, k, m


def notable_points(corners: Sequence[Corner], most: int = _NOTABLE) -> list[Corner]:
    """Choose the points that say most, in order: extremes, the balanced, the far apart."""
    if len(corners) <= max(most, _SHOWN):
        return list(corners)
    tops = [max(1, *(c.point[axis] for c in corners)) for axis in range(3)]
    places = [tuple(a / top for a, top in zip(c.point, tops, strict=True)) for c in corners]
    every = range(len(corners))
    chosen = [max(every, key=lambda i: (places[i][axis], sum(places[i]))) for axis in range(3)]
    chosen.append(max(every, key=lambda i: (min(places[i]), sum(places[i]))))
    chosen = list(dict.fromkeys(chosen))
    apart = [min(_distance(places[i], places[j]) for j in chosen) for i in every]
    while len(chosen) < most:
        chosen.append(max(every, key=apart.__getitem__))
        apart = [min(d, _distance(places[i], places[chosen[-1]])) for i, d in enumerate(apart)]
    return [corners[i] for i in sorted(chosen)]


def _distance(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


# ---- what the templates show --------------------------------------------------------------


def _sections(report: SkylineReport, brief: bool = False) -> list[dict[str, Any]]:
    """Each value as the page shows it."""
    values = report.values[:_MOST_VALUES]
    return [{"anchor": f"value-{i}", **_section(report, v, brief)} for i, v in enumerate(values, 1)]


def _section(report: SkylineReport, value: Label, brief: bool) -> dict[str, Any]:
    corners = () if brief and len(report.values) > 1 else report.corners(value)
    notable, left = notable_points(corners), len(corners) - _MOST_ROWS
    few = brief or len(notable) == len(corners)
    return {
        "value": visible(value),
        "holders": number(int(report.counts.totals[report.counts.code(value)])),
        "points": some(len(report.skylines[value]), "point", "points"),
        "alone": _alone(report, value),
        "least": least_sentence(report, value),
        "withstood": bool(report.skylines[value]),
        "rows": [_row(report, value, corner) for corner in notable],
        "all_rows": [] if few else [_row(report, value, each) for each in corners[:_MOST_ROWS]],
        "more_rows": some(left, "other", "others") if left > 0 else "",
        "data": _data(report, value, corners) if corners and not brief else None,
    }


def _row(report: SkylineReport, value: Label, corner: Corner) -> dict[str, Any]:
    """A point of a skyline as a table shows it."""
    terms, limit, found = terms_of(report, value), report.confidence, corner.found
    return {
        "point": [number(amount) for amount in corner.point],
        "sentence": adversary(terms, corner.point),
        "beyond": beyond_sentence(terms, corner, limit),
        "chance": Chance(
            percent(found, limit, 1),
            limit_text(limit),
            f"{100 * found.probability:.2f}",
            f"{100 * float(limit):.2f}",
            safe=True,
        ),
    }


def _data(report: SkylineReport, value: Label, corners: tuple[Corner, ...]) -> Markup:
    """What the page's script draws: the stairs, and the points of which it cuts slices."""
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


# ---- the solid ------------------------------------------------------------------------------

Place: TypeAlias = tuple[float, float, float]
Line: TypeAlias = tuple[Place, Place]


@dataclass(frozen=True)
class Face:
    """A rectangle across an axis (0, 1, 2 for l, k, m), by its corners on the other two."""

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
    """Build the solid below some points, none of which is at most another, and above a floor."""
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


# ---- the figure -----------------------------------------------------------------------------

# Faces across l, k and m: one hue, three depths, so that stairs are seen without colour too.
_FACES = ("#8fbdf0", "#3f88dc", "#1f5fb0")
_EDGE, _POINT, _RIM = "#0c2a52", "#e07b16", "#ffffff"
_GRID = "rgba(128,136,148,0.35)"
# Beyond so many points marks are small, and edges are left out, which would hide the faces.
_MANY, _VERY_MANY = 60, 400


def skyline_figure(points: Sequence[Point], texts: Sequence[str], terms: Terms) -> dict[str, Any]:
    """Draw what lies below a skyline as stairs, and its points as marks that show texts."""
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
    """People lie along x, links along y, values go up."""
    return {axis: [_short(place[at]) for place in places] for axis, at in _AXES}


_AXES = (("x", 1), ("y", 2), ("z", 0))


def _short(number: float) -> float:
    return int(number) if number == int(number) else round(number, 3)


def _layout(points: Sequence[Point], floor: Place, terms: Terms) -> dict[str, Any]:
    tops = [max(1, *(point[axis] for point in points)) for axis in range(3)]
    axes = {
        f"{name}axis": {
            "title": {"text": terms.axes[at], "font": {"size": SIZE}},
            "range": [floor[at], tops[at] * 1.04],
            **_ticks(tops[at]),
            "color": INK,
            "gridcolor": _GRID,
            "linecolor": INK,
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
        "font": {"family": "system-ui, sans-serif", "size": SIZE, "color": INK},
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
