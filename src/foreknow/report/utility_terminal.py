"""Terminal: what a release is worth as tables for Rich, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from foreknow.report.console import plain_table, writer
from foreknow.report.utility_words import (
    query_rows,
    query_sentence,
    utility_rows,
    utility_title,
)
from foreknow.report.words import visible
from foreknow.workload.reporting import UtilityReport


def utility_table(report: UtilityReport) -> RenderableType:
    """Lay out a report: a row per measure, and a row per workload.

    Parameters
    ----------
    report : UtilityReport
    """
    return _UtilityTable(report)


@dataclass(frozen=True)
class _UtilityTable:
    report: UtilityReport

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report = self.report
        text = writer(options.encoding)
        yield Text.assemble(
            text(utility_title(report), "bold"), "  ", text(visible(report.name), "dim")
        )
        measures = _table("measure", "value", "")
        for name, value, note in utility_rows(report):
            measures.add_row(text(name), text(value, "bold"), text(note, "dim"))
        measures.columns[2].justify = "left"
        yield measures
        yield text(query_sentence(report))
        queries = _table("queries about", "median", "average")
        for about, median, average in query_rows(report):
            queries.add_row(text(about), text(median, "bold"), text(average))
        yield queries


def _table(first: str, *others: str) -> Table:
    table = plain_table()
    table.add_column(first, overflow="fold", max_width=30)
    for title in others:
        table.add_column(title, justify="right", overflow="fold")
    return table
