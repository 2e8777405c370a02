"""HTML: knowledge skylines as one page that opens offline, and as a fragment for notebooks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from foreknow.labels import Label
from foreknow.report.page import fragment, page, script_json
from foreknow.report.percent import limit_text, percent
from foreknow.report.skyline_figure import floor_of, hover_text, skyline_figure
from foreknow.report.skyline_words import (
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
from foreknow.report.words import number, some, visible
from foreknow.skylining import Corner, SkylineReport

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
