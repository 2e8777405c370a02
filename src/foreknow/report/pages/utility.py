"""Utility: what a release is still worth, by measures of its groups and answers to queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from foreknow.numbers import percentage
from foreknow.report.blocks import Block, Heading, Row, Sentence, Table, bar_cell
from foreknow.report.page import Page
from foreknow.report.words import average_text, number, some, visible
from foreknow.utility.report import UtilityReport
from foreknow.utility.utility import Utility, optimal_discernibility


class UtilityPage(Page[UtilityReport]):
    """Measures of the groups and labels, and how far counts are off."""

    serves = UtilityReport
    eyebrow = "Utility of"
    kept = "how far answers are off says more of the raw table than the release does"

    @property
    def headline(self) -> str:
        """Say what is measured."""
        return f"What the {self.result.form} release is still worth"

    def blocks(self, level: int = 2) -> Iterator[Block]:
        """How far counts are off, the measures, and the answers to queries."""
        if said := self.key:
            yield Sentence(said, "lead")
        yield Heading("Measures of groups and labels", "measures", level)
        yield self.measures
        yield Heading("Answers to count queries", "answers", level)
        yield Sentence(self.asked)
        yield self.queries

    @property
    def key(self) -> str:
        """Say how far a typical answer is off, and how far without the release."""
        error = self.result.errors[-1]
        if error.baseline is None:
            return ""
        asked = some(error.predicates, "quasi-identifier", "quasi-identifiers")
        return (
            f"The median error of a count by {asked} is {measure_text(error.median)}. Answered "
            f"from the overall counts alone, it would be {measure_text(error.baseline.median)}."
        )

    @property
    def measures(self) -> Table:
        """Each measure; where quasi-identifiers are exact, that they are."""
        exact = [("NCP", measure_text(0), "quasi-identifiers are exact")]
        found = measures(self.result.utility)
        return found if self.result.utility.ncp else replace(found, rows=[*found.rows, *exact])

    @property
    def queries(self) -> Table:
        """Each workload: how many columns it asks about, its errors, and those of a baseline."""
        rows = []
        for error in self.result.errors:
            asked = some(error.predicates, "quasi-identifier", "quasi-identifiers")
            both = [(e.median, e.average) for e in (error, error.baseline) if e is not None]
            rows.append((asked, *(measure_text(share) for pair in both for share in pair)))
        head = (
            "queries about",
            "median",
            "average",
            "overall counts: median",
            "overall counts: average",
        )
        return Table(head[: len(rows[0])], rows, note=_BASELINE if len(rows[0]) > 3 else "")

    @property
    def asked(self) -> str:
        """Say what was asked, and what the errors are relative to."""
        first = self.result.errors[0]
        each = some(len(first.exact), "query", "queries")
        return (
            "Counts are off by so much, relative to the true count, or to "
            f"{measure_text(first.delta)} of the people where that is more ({each} each):"
        )


PAGE = UtilityPage

_BASELINE = (
    "Overall counts: the same queries, answered by someone who has only the range of each column "
    "and how often each sensitive value occurs among all. What the release adds is the difference."
)


def measures(found: Utility) -> Table:
    """Each measure: its name, its value, and what to compare it with."""
    least = number(found.smallest_group)
    optimum = optimal_discernibility(found.people, found.smallest_group)
    times = f"{found.discernibility / optimum:,.2f} times the least"
    rows: list[Row] = [
        ("people", number(found.people), ""),
        (
            "groups",
            number(found.groups),
            f"of {least} to {some(found.largest_group, 'person', 'people')}",
        ),
        ("average group size", average_text(found.average_group_size), ""),
        ("discernibility", number(found.discernibility), f"{times} for groups of {least} or more"),
    ]
    if found.average_ncp is not None:
        rows.append(("NCP", measure_text(found.average_ncp), "0% is exact, 100% is suppressed"))
        for name, loss in found.ncp.items():
            rows.append((f"NCP of {visible(name)}", bar_cell(measure_text(loss), loss), ""))
    return Table(("measure", "value", ""), rows, left=(0, 2))


def measure_text(share: float) -> str:
    """Write a share as a percentage; 0% only where it is none.

    >>> measure_text(0.12345), measure_text(0.0), measure_text(1e-9), measure_text(12.3)
    ('12.3%', '0%', 'below 0.1%', '1,230.0%')
    """
    if 0 < share < 0.0005:
        return "below 0.1%"
    return percentage(share, 1)
