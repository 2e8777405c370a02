"""Skylines: the knowledge that a release withstands, as stairs, tables and sentences."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts, FactsWitness
from foreknow.auditing.skyline import Corner, Point, SkylineReport
from foreknow.data.labels import Label
from foreknow.report.knowledge import NOUN, Description, Terms, facts_used
from foreknow.report.page import Block, Cell, Grid, Laid, Page, Row, Sentence, bar_cell, script_json
from foreknow.report.scope import TOLD_OF_PEOPLE, sight
from foreknow.report.words import (
    group_text,
    is_certain,
    limit_text,
    named,
    noun_of,
    number,
    percent,
    some,
    visible,
)

_MOST_VALUES, _MOST_ROWS, _MOST_LISTED = 60, 400, 1_000
_SHOWN, _NOTABLE = 20, 12
_LONGEST = 10**30


class SkylinePage(Page[SkylineReport]):
    """The skylines of some values."""

    serves = SkylineReport
    kept = "it says how little knowledge finds people out, and in which groups"

    def as_they_are(self) -> Iterator[str]:
        """Labels of the table, and what is said of the people whose cases these are."""
        yield from (self.name, *TOLD_OF_PEOPLE, *map(visible, self.result.counts.values))
        yield from map(group_text, self.result.counts.groups or ())

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
        sections = [
            {"anchor": f"value-{place}", **_section(report, value)}
            for place, value in enumerate(report.values[:_MOST_VALUES], 1)
        ]
        return self.document(
            "skyline.html.j2",
            script="skyline.js" if any(section["data"] for section in sections) else None,
            scope=f"{some(counts.n_people, 'person', 'people')} in "
            f"{some(counts.n_groups, 'group', 'groups')}. {' '.join(sight(report.scope))}",
            explanation=self.explanation,
            terms=terms_of(report),
            limit=limit_text(report.confidence),
            sections=sections,
            left_out=some(left_out, "other value", "other values") if left_out > 0 else "",
        )

    def brief(self) -> Iterator[Block]:
        """The points of the only value, or what is withstood of each of several."""
        report, terms = self.result, terms_of(self.result)
        if len(report.values) == 1:
            yield from _points(report, report.values[0])
        else:
            limit = limit_text(report.confidence)
            yield Sentence(f"The most of one kind of knowledge alone that stays below {limit}")
            most = {value: _most_alone(report, value) for value in report.values}
            left_out = len(most) - _MOST_LISTED
            shown = most if left_out <= 0 else _least(most)
            rows: list[tuple[str | Cell, ...]] = [
                (
                    visible(value),
                    *_texts(most[value]),
                    Cell(number(many := len(report.points(value))), "" if many else "unsafe"),
                )
                for value in shown
            ]
            yield Grid(("value", *terms.axes, "points of the skyline"), rows)
            if left_out > 0:
                yield Sentence(
                    f"These withstand least, all three together; {number(left_out)} more values "
                    "are left out. Name those you ask about, or keep all as JSON."
                )
            if not all(most.values()):
                yield Sentence(
                    "Where there is no point, not even knowing nothing else is withstood."
                )
        yield Sentence(self.explanation, "aside")


PAGE = SkylinePage


# ---- one value, as the command line prints it -----------------------------------------------


def value_table(report: SkylineReport, value: Label) -> Laid:
    """Lay out the points of one value, or the most notable of many, each with a sentence."""
    return Laid(map(SkylinePage(report)._block, _points(report, value)))


def worst_case(report: SkylineReport, value: Label, point: Point) -> Laid:
    """Say whether some amounts are withstood, and the worst case by groups and numbers."""
    safe, (l, k, m) = report.withstands(value, point), point
    said = f"l={l}, k={k}, m={m} is {'withstood' if safe else 'not withstood'}"
    first = Sentence(f"{said}: {probability_text(report, value, point)}.", "" if safe else "unsafe")
    details = [f"{who}: {what}" for who, what in _worst(report, value, point).details]
    said_of = [worst_sentence(report, value, point), *details, ""]
    return Laid(map(SkylinePage(report)._block, [first, *map(Sentence, said_of)]))


def _points(report: SkylineReport, value: Label) -> Iterator[Block]:
    terms, corners = terms_of(report, value), report.corners(value)
    shown = notable_points(corners)
    many = some(len(corners), "point", "points")
    head = f"{visible(value)} at {limit_text(report.confidence)}: {many}"
    if len(shown) < len(corners):
        head += f", of which {len(shown)} are shown"
    yield Sentence(head, "strong")
    if corners:
        rows: list[Row] = [
            (
                *(Cell(number(amount), "strong") for amount in corner.point),
                adversary(terms, corner.point),
                percent(corner.found, report.confidence, 1, "up"),
            )
            for corner in shown
        ]
        yield Grid((*"lkm", "withstands", "at most"), rows, left=(3,))
    yield Sentence(least_sentence(report, value))


# ---- words ----------------------------------------------------------------------------------


def terms_of(report: SkylineReport, value: Label | None = None) -> Terms:
    """How to speak of facts about a value of a report."""
    noun = NOUN if report.sensitive is None else noun_of(report.sensitive)
    return Terms(noun, report.counts.semantics, None if value is None else named(value))


def adversary(terms: Terms, point: Point) -> str:
    """Describe who has these amounts of facts.

    >>> adversary(Terms("diagnosis"), (2, 0, 3))
    'an adversary who knows 2 diagnoses the target does not have and 3 links'
    """
    return f"an adversary who knows {terms.known(*point) or 'nothing but the release'}"


def point_sentence(terms: Terms, corner: Corner, limit: Fraction) -> str:
    """Say what a point of a skyline means, and how sure such an adversary can be."""
    sure = percent(corner.found, limit, 1, "up")
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
    return f"Someone who {used.knows} can be {how} that {used.whose} has {named(found.value)}."


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


def _most_alone(report: SkylineReport, value: Label) -> tuple[int, ...]:
    """The most of l, of k and of m that is withstood when nothing else is known, if anything is."""
    points = report.points(value)
    return tuple(map(max, zip(*points, strict=True)))


def _texts(most: tuple[int, ...]) -> tuple[str, ...]:
    """Such amounts for a table; dashes if not even knowing nothing is withstood."""
    return tuple(map(number, most)) if most else ("–",) * 3


def _least(most: dict[Label, tuple[int, ...]]) -> list[Label]:
    """As many values as are listed, in their order, that withstand least."""
    order = sorted(range(len(most)), key=[sum(each or (-1,)) for each in most.values()].__getitem__)
    kept = set(order[:_MOST_LISTED])
    return [value for place, value in enumerate(most) if place in kept]


def notable_points(corners: Sequence[Corner], most: int = _NOTABLE) -> list[Corner]:
    """Choose the points that say most, in order: extremes, the balanced, and some between."""
    if len(corners) <= max(most, _SHOWN):
        return list(corners)
    points = np.array([corner.point for corner in corners], dtype=float)
    points /= np.maximum(1, points.max(axis=0))
    chosen = {*np.argmax(points + points.sum(axis=1, keepdims=True) / 1e6, axis=0).tolist()}
    chosen.add(int(np.argmax(points.min(axis=1))))
    evenly = np.linspace(0, len(corners) - 1, most - len(chosen))
    chosen |= set(evenly.round().astype(int).tolist())
    return [corners[i] for i in sorted(chosen)]


# ---- what the templates show --------------------------------------------------------------


def _section(report: SkylineReport, value: Label) -> dict[str, Any]:
    """A value as the page shows it."""
    corners = report.corners(value)
    notable, left = notable_points(corners), len(corners) - _MOST_ROWS
    few = len(notable) == len(corners)
    return {
        "value": visible(value),
        "holders": number(report.occurrences(value)),
        "points": some(len(corners), "point", "points"),
        "alone": _texts(_most_alone(report, value)),
        "least": least_sentence(report, value),
        "rows": [_row(report, value, corner) for corner in notable],
        "all_rows": [] if few else [_row(report, value, each) for each in corners[:_MOST_ROWS]],
        "more_rows": some(left, "other", "others") if left > 0 else "",
        "data": script_json(skyline_values(report, value, corners)) if corners else None,
    }


def _row(report: SkylineReport, value: Label, corner: Corner) -> dict[str, Any]:
    """A point of a skyline as a table shows it."""
    terms, limit, found = terms_of(report, value), report.confidence, corner.found
    return {
        "point": [number(amount) for amount in corner.point],
        "sentence": adversary(terms, corner.point),
        "beyond": beyond_sentence(terms, corner, limit),
        "worst": bar_cell(percent(found, limit, 1, "up"), found.probability, "safe", limit),
    }


def skyline_values(
    report: SkylineReport, value: Label, corners: tuple[Corner, ...]
) -> dict[str, Any]:
    """What a script draws: the stairs, and the points of which it cuts slices."""
    terms = terms_of(report, value)
    points = [corner.point for corner in corners]
    texts = [
        _hover(
            point_sentence(terms, corner, report.confidence),
            beyond_sentence(terms, corner, report.confidence),
        )
        for corner in corners
    ]
    return {
        "solid": skyline_figure(points, texts, terms),
        "points": points,
        "floor": floor_of(points),
        "axes": terms.axes,
        "things": terms.things,
    }


# ---- the figure -----------------------------------------------------------------------------

Place: TypeAlias = tuple[float, float, float]

# Faces across l, k and m: one hue, three depths, so that stairs are seen without colour too.
_FACES = ("#8fbdf0", "#3f88dc", "#1f5fb0")
_INK, _SIZE, _WIDTH = "#5b6470", 14, 56
_EDGE, _POINT, _RIM = "#0c2a52", "#e07b16", "#ffffff"
_GRID = "rgba(128,136,148,0.35)"
# Beyond so many points marks are small, and edges are left out, which would hide the faces.
_MANY, _VERY_MANY = 60, 400


def skyline_figure(points: Sequence[Point], texts: Sequence[str], terms: Terms) -> dict[str, Any]:
    """Draw what lies below a skyline as stairs, and its points as marks that show texts."""
    floor = floor_of(points)
    faces = [
        {
            "type": "mesh3d",
            **_mesh(points, floor, axis),
            "color": color,
            "flatshading": True,
            "lighting": {"ambient": 1, "diffuse": 0, "specular": 0, "fresnel": 0},
            "hoverinfo": "skip",
        }
        for axis, color in enumerate(_FACES)
    ]
    edges = {
        "type": "scatter3d",
        **_edges(points if len(points) <= _VERY_MANY else (), floor),
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


def _hover(*sentences: str) -> str:
    """Lay out sentences for a hover box, and disarm the tags that Plotly would read in them."""
    lines = [line for said in sentences for line in textwrap.wrap(said, _WIDTH)]
    short = [line if len(line) <= 2 * _WIDTH else f"{line[: 2 * _WIDTH - 1]}…" for line in lines]
    return "<br>".join(
        line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") for line in short
    )


def floor_of(points: Sequence[Point]) -> Place:
    """Where the solid starts: so far below 0 that an amount of 0 can be seen.

    >>> floor_of([(0, 4, 100), (2, 0, 0)])
    (-1.0, -1.0, -5.0)
    """
    l, k, m = (-max(1.0, max(point[axis] for point in points) / 20) for axis in range(3))
    return l, k, m


def _mark(points: int) -> dict[str, Any]:
    size = 6 if points <= _MANY else 4 if points <= _VERY_MANY else 2
    rim = {"color": _RIM, "width": 1 if points <= _VERY_MANY else 0}
    return {"symbol": "diamond", "size": size, "color": _POINT, "line": rim}


def _mesh(points: Sequence[Point], floor: Place, axis: int) -> dict[str, Any]:
    """The two faces across an axis of a box below each point, as triangles; inner ones hidden."""
    first, second = (other for other in range(3) if other != axis)
    corners = []
    for point in points:
        for at in (floor[axis], point[axis]):
            for one, other in ((floor, floor), (point, floor), (point, point), (floor, point)):
                place = {axis: at, first: one[first], second: other[second]}
                corners.append((place[0], place[1], place[2]))
    starts = range(0, len(corners), 4)
    return {
        **_places(corners),
        "i": [at for start in starts for at in (start, start)],
        "j": [at for start in starts for at in (start + 1, start + 2)],
        "k": [at for start in starts for at in (start + 2, start + 3)],
    }


def _edges(points: Sequence[Point], floor: Place) -> dict[str, Any]:
    """From each point along each axis down to where the stairs go on, as one line with gaps."""
    at = np.array(points).reshape(-1, 3)
    places = []
    for axis in range(3):
        first, second = (other for other in range(3) if other != axis)
        beside = (at[:, None, first] <= at[:, first]) & (at[:, None, second] <= at[:, second])
        np.fill_diagonal(beside, False)
        below = np.where(beside, at[:, axis], floor[axis]).max(axis=1, initial=floor[axis])
        for point, end in zip(points, below.tolist(), strict=True):
            lower = (*point[:axis], end, *point[axis + 1 :])
            places += [point, (lower[0], lower[1], lower[2])]
    return {
        axis: [x for i in range(0, len(ends), 2) for x in (*ends[i : i + 2], None)]
        for axis, ends in _places(places).items()
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
