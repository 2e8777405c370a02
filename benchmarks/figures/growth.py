"""How time and memory grow: the figure, and the tables of its page, from one run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from foreknow.report.chart import STYLES, Series

_INK, _GRID = "#3d4650", "#d9dde2"
_WIDTH, _LEFT, _PLOT, _BETWEEN = 420, 58, 150, 40
_COMMANDS = (
    ("GROUP BY of a release", "`GROUP BY` of a release"),
    ("audit", "audit"),
    ("GROUP BY of combinations", "`GROUP BY` of combinations"),
    ("publish mondrian", "publish, Mondrian"),
    ("verify mondrian", "verify it"),
    ("publish fulldomain", "publish, FullDomain"),
    ("verify fulldomain", "verify it"),
    ("after", "a tenth more, `--after`, `m=0`"),
)
_OF_SHAPES = _COMMANDS[2:5]
_SEARCHES = (("search", "FullDomain"), ("search with 5% suppressed", "with 5% suppressed"))


def write(page: Path, ran: dict[str, Any]) -> None:
    """Put the tables between the marks of a page, and draw the figure beside it."""
    text = page.read_text("utf-8")
    for name, made in tables(ran["results"]).items():
        mark = f"<!-- {name} -->"
        if mark not in text or made.count("\n") < 2:  # nothing of it was measured
            continue
        before, _, after = text.split(mark)
        text = f"{before}{mark}\n\n{made}\n\n{mark}{after}"
    load = f"a load of {ran['load']:.1f} at its start"
    text = re.sub(r"a load of [0-9.]+ at its start", load, text)
    page.write_text(text, "utf-8")
    if any(each["grows"] == "nodes" for each in ran["results"]):
        (page.parents[1] / "images" / "growth.svg").write_text(figure(ran["results"]), "utf-8")


def tables(results: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The tables of the page, by the mark between which each stands."""
    head = [text for _, text in _COMMANDS]
    by_rows = [
        [f"{each['rows']:,}, {each['groups']:,}", *_costs(each)]
        for each in results
        if each["grows"] == "rows"
    ]
    if len(by_rows) > 1:
        by_rows.append(["exponent of the last ten times", *_exponents(results)])
    others = [
        [f"{each[each['grows']]:,} {each['grows']}", *_costs(each, _COMMANDS[:-1])]
        for each in results
        if each["grows"] in ("groups", "values", "columns")
    ]
    of_shapes = [
        [f"{each['shape']}, {each['rows']:,} rows", *_costs(each, _OF_SHAPES)]
        for each in results
        if each["grows"] == "shape"
    ]
    nodes = []
    for each in (each for each in results if each["grows"] == "nodes"):
        found = [each["cost"][key] for key, _ in _SEARCHES]
        cells = [f"{found[0][2]:,}", str(each["columns"])]
        for seconds, peak, _, judged, gap in found:
            within = f", at most {gap:.3f} from the least" if gap else ""
            cells += [f"{judged:,}{within}", f"{_seconds(seconds)}, {peak / 2**20:,.0f} MiB"]
        nodes.append(cells)
    asked = [cell for _, text in _SEARCHES for cell in (f"{text}: nodes judged", "search alone")]
    return {
        "rows": _table(["rows, groups audited", *head], by_rows),
        "others": _table(["what grows", *head[:-1]], others),
        "shapes": _table(["table", *(text for _, text in _OF_SHAPES)], of_shapes),
        "nodes": _table(["nodes", "columns", *asked], nodes),
    }


def _exponents(results: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The powers of ten by which seconds and memory grew with the last ten times as many rows."""
    before, last = [each["cost"] for each in results if each["grows"] == "rows"][-2:]
    for key, _ in _COMMANDS:
        pairs = [*zip(before.get(key, ()), last.get(key, ()), strict=True)]
        powers = [f"{math.log10(b / a):.2f}" for a, b in pairs if a and b]
        yield ", ".join(powers)


def _costs(
    result: dict[str, Any], commands: Sequence[tuple[str, str]] = _COMMANDS
) -> Iterator[str]:
    for key, _ in commands:
        seconds, peak = result["cost"].get(key, (math.nan, 0))
        if seconds is None:
            yield "none is safe"
        elif math.isnan(seconds):
            yield ""
        else:
            yield _seconds(seconds) + (f", {peak / 2**20:,.0f} MiB" if peak else "")


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figure(results: Sequence[dict[str, Any]]) -> str:
    """Panels below each other, so that they can be read on a narrow screen; both axes by tens."""
    rows = [each for each in results if each["grows"] == "rows"]
    nodes = [each for each in results if each["grows"] == "nodes"]
    shown = (
        ("publish mondrian", "publish, Mondrian"),
        ("publish fulldomain", "publish, FullDomain"),
        ("audit", "audit"),
        ("verify mondrian", "verify"),
        ("GROUP BY of a release", "GROUP BY"),
    )
    panels = [
        ("seconds, by rows", _lines(rows, shown, lambda e, _: e["rows"], 0)),
        ("MiB of memory, by rows", _lines(rows, shown[:-1], lambda e, _: e["rows"], 1)),
        (
            "seconds of FullDomain's search, by nodes",
            _lines(nodes, _SEARCHES, lambda e, key: e["cost"][key][2], 0, of=3),
        ),
    ]
    drawn, top = [], 0
    for title, lines in panels:
        svg, height = _panel(title, lines, top)
        drawn.append(svg)
        top += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" width="640" '
        'font-family="Helvetica, Arial, sans-serif" role="img">'
        "<title>Seconds and memory against rows, and seconds against nodes</title>"
        f'<rect width="{_WIDTH}" height="{top}" fill="white"/>{"".join(drawn)}</svg>\n'
    )


def _lines(
    results: Sequence[dict[str, Any]],
    names: Sequence[tuple[str, str]],
    x: Any,
    at: int,
    of: int = 0,
) -> list[Series]:
    lines = []
    for (key, name), (color, symbol, dash) in zip(names, STYLES[of:], strict=False):
        found = [each for each in results if each["cost"].get(key, [None])[0]]
        y = [each["cost"][key][at] / (2**20 if at else 1) for each in found]
        lines.append(Series([x(each, key) for each in found], y, name, color, (), symbol, dash))
    return lines


def _panel(title: str, lines: Sequence[Series], top: int) -> tuple[str, int]:
    """A panel, and how high it is."""
    legend = 18 * -(-len(lines) // 2)
    ends = []
    for values in ([v for s in lines for v in s.x], [v for s in lines for v in s.y]):
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        ends.append((low, max(high, low + 1)))
    start, width = top + 42 + legend, _WIDTH - _LEFT - 38

    def across(value: float) -> float:
        low, high = ends[0]
        return _LEFT + width * (math.log10(value) - low) / (high - low)

    def down(value: float) -> float:
        low, high = ends[1]
        return start + _PLOT * (1 - (math.log10(value) - low) / (high - low))

    parts = [_text(_LEFT - 46, top + 20, title, 15, "start", "bold")]
    for i, line in enumerate(lines):
        x, y = _LEFT - 40 + 190 * (i % 2), top + 38 + 18 * (i // 2)
        parts.append(_stroke(line, f"M{x} {y}h30") + _mark(line, x + 15, y))
        parts.append(_text(x + 36, y + 5, line.name, 13, "start"))
    for power in range(ends[1][0], ends[1][1] + 1):
        y = down(10.0**power)
        parts.append(f'<path d="M{_LEFT} {y:.1f}h{width}" stroke="{_GRID}"/>')
        parts.append(_text(_LEFT - 6, y + 5, f"{10.0**power:,g}", 13, "end"))
    for power in range(ends[0][0], ends[0][1] + 1):
        x = across(10.0**power)
        parts.append(f'<path d="M{x:.1f} {start}v{_PLOT}" stroke="{_GRID}"/>')
        if (ends[0][1] - power) % 2 == 0 or ends[0][1] - ends[0][0] < 5:
            parts.append(_text(x, start + _PLOT + 18, f"{10**power:,}", 12, "middle"))
    for line in lines:
        points = [(across(x), down(y)) for x, y in zip(line.x, line.y, strict=True)]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        parts.append(_stroke(line, path) + "".join(_mark(line, x, y) for x, y in points))
    return "".join(parts), 42 + legend + _PLOT + _BETWEEN


def _stroke(line: Series, path: str) -> str:
    dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
    return f'<path d="{path}" fill="none" stroke="{line.color}" stroke-width="2"{dash}/>'


def _mark(line: Series, x: float, y: float) -> str:
    at = f'transform="translate({x:.1f} {y:.1f})"'
    return f'<path d="{line.shape}" {at} fill="{line.color}" stroke="{line.color}"/>'


def _text(x: float, y: float, text: str, size: int, anchor: str, weight: str = "normal") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{_INK}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{escape(text)}</text>'
    )
