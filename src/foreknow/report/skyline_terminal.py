"""Terminal: knowledge skylines as tables and sentences for Rich, at 80 columns too."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from foreknow.labels import Label
from foreknow.naming import NamedWitness
from foreknow.report.console import plain_table, writer
from foreknow.report.naming_words import naming_sentence
from foreknow.report.percent import limit_text, percent
from foreknow.report.skyline_words import (
    adversary,
    alone,
    least_sentence,
    probability_text,
    telling_points,
    terms_of,
    worst_details,
    worst_sentence,
)
from foreknow.report.words import number, some, visible
from foreknow.skylining import Point, SkylineReport

_WARNING = "What follows names people and what they have. It is for the owner of the data only."


def skyline_table(report: SkylineReport) -> RenderableType:
    """Lay out a report: the points of its only value, or one row for each of several.

    Parameters
    ----------
    report : SkylineReport

    Returns
    -------
    RenderableType
        For ``rich.print`` or a Rich console; markup in labels has no effect.
    """
    if len(report.values) == 1:
        return value_table(report, report.values[0])
    return _Overview(report)


def value_table(report: SkylineReport, value: Label) -> RenderableType:
    """Lay out the points of one value, or the most telling of many, each with a sentence."""
    return _ValueTable(report, value)


def worst_case(report: SkylineReport, value: Label, point: Point) -> RenderableType:
    """Say whether some amounts are withstood, and the worst case by groups and numbers."""
    return _WorstCase(report, value, point)


def named_case(witness: NamedWitness) -> RenderableType:
    """Say who a worst case is about, after a warning."""
    return _NamedCase(witness)


@dataclass(frozen=True)
class _ValueTable:
    report: SkylineReport
    value: Label

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report, terms, text = (
            self.report,
            terms_of(self.report, self.value),
            writer(options.encoding),
        )
        limit = limit_text(report.confidence)
        corners = report.corners(self.value)
        shown = telling_points(corners)
        head = f"{visible(self.value)} at {limit}: {some(len(corners), 'point', 'points')}"
        if len(shown) < len(corners):
            head += f", of which {len(shown)} are shown"
        yield text(head, "bold")
        if corners:
            table = plain_table()
            for name in "lkm":
                table.add_column(name, justify="right", no_wrap=True)
            table.add_column("withstands", overflow="fold")
            table.add_column("at most", justify="right", no_wrap=True)
            for corner in shown:
                table.add_row(
                    *(text(number(amount), "bold") for amount in corner.point),
                    text(adversary(terms, corner.point)),
                    text(percent(corner.found, report.confidence, 1)),
                )
            yield table
        yield Padding(text(least_sentence(report, self.value)), (0, 0, 1, 0))


@dataclass(frozen=True)
class _WorstCase:
    report: SkylineReport
    value: Label
    point: Point

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report, text = self.report, writer(options.encoding)
        safe = report.withstands(self.value, self.point)
        l, k, m = self.point  # noqa: E741
        yield Text.assemble(
            text(f"l={l}, k={k}, m={m} is "),
            text("withstood" if safe else "not withstood", "green" if safe else "bold red"),
            text(f": {probability_text(report, self.value, self.point)}."),
        )
        yield text(worst_sentence(report, self.value, self.point))
        for who, what in worst_details(report, self.value, self.point):
            yield Padding(text(f"{who}: {what}"), (0, 0, 0, 2))
        yield text("")


@dataclass(frozen=True)
class _NamedCase:
    witness: NamedWitness

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = writer(options.encoding)
        yield text(_WARNING, "bold yellow")
        yield text(naming_sentence(self.witness))
        for statement in self.witness.statements:
            false = statement in self.witness.untrue
            note = "   (not so in this table, but no less possible)" if false else ""
            yield Padding(text(f"{visible(statement)}{note}"), (0, 0, 0, 2))
        yield text("")


@dataclass(frozen=True)
class _Overview:
    report: SkylineReport

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report, terms, text = self.report, terms_of(self.report), writer(options.encoding)
        yield text(
            f"The most of one kind of knowledge alone that stays below "
            f"{limit_text(report.confidence)}",
            "bold",
        )
        table = plain_table()
        table.add_column("value", overflow="fold")
        for title in (*terms.axes, "points of the skyline"):
            table.add_column(title, justify="right", max_width=14)
        for value in report.values:
            points = report.skylines[value]
            style = "" if points else "bold red"
            amounts = (text(amount, style) for amount in alone(report, value))
            table.add_row(text(visible(value)), *amounts, text(number(len(points)), style))
        yield table
        if not all(report.skylines.values()):
            yield text("Where there is no point, not even knowing nothing else is withstood.")
