"""Terminal: what a release is worth as tables for Rich, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from foreknow.report.console import plain_table, writer
from foreknow.report.words import average_text, number, some, visible
from foreknow.utility.report import UtilityReport


def utility_title(report: UtilityReport) -> str:
    """Say what is measured."""
    return f"What the {report.form} release is still worth"


def utility_rows(report: UtilityReport) -> list[tuple[str, str, str]]:
    """Each measure of the groups and labels: its name, its value, and what to compare it with."""
    found = report.utility
    sizes = f"of {number(found.smallest_group)} to {number(found.largest_group)}"
    times = found.discernibility / report.optimum
    rows = [
        ("people", number(found.people), ""),
        ("groups", number(found.groups), f"{sizes} people"),
        ("average group size", average_text(found.average_group_size), ""),
        (
            "discernibility",
            number(found.discernibility),
            f"{times:,.2f} times the least for groups of {number(found.smallest_group)} or more",
        ),
    ]
    if found.average_ncp is None:
        return [*rows, ("NCP", share_text(0), "quasi-identifiers are exact")]
    rows.append(("NCP", share_text(found.average_ncp), "0% is exact, 100% is suppressed"))
    return rows + [(f"  {visible(name)}", share_text(ncp), "") for name, ncp in found.ncp.items()]


def query_rows(report: UtilityReport) -> list[tuple[str, str, str]]:
    """For each workload: about how many columns it asks, its median and its average error."""
    return [
        (
            some(error.predicates, "quasi-identifier", "quasi-identifiers"),
            share_text(error.median),
            share_text(error.average),
        )
        for error in report.errors
    ]


def query_sentence(report: UtilityReport) -> str:
    """Say what was asked, and what the errors are relative to."""
    first = report.errors[0]
    return (
        f"Counts are off by so much, relative to the true count, or to {share_text(first.delta)} "
        f"of the people where that is more ({some(len(first.exact), 'query', 'queries')} each):"
    )


def share_text(share: float) -> str:
    """Write a share as a percentage; 0% only where it is none.

    >>> share_text(0.12345), share_text(0.0), share_text(1e-9), share_text(12.3)
    ('12.3%', '0%', 'below 0.1%', '1,230.0%')
    """
    if 0 < share < 0.0005:
        return "below 0.1%"
    return "0%" if not share else f"{100 * share:,.1f}%"


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
