"""Utility: what a release is still worth, by measures of its groups and answers to queries."""

from __future__ import annotations

from collections.abc import Iterator

from foreknow.numbers import percentage
from foreknow.report.page import Block, Grid, Page, Sentence, document
from foreknow.report.words import average_text, number, some, visible
from foreknow.utility.report import UtilityReport


class UtilityPage(Page[UtilityReport]):
    """Measures of the groups and labels, and how far counts are off."""

    serves = UtilityReport
    kept = "how far answers are off says more of the raw table than the release does"

    @property
    def headline(self) -> str:
        """Say what is measured."""
        return f"What the {self.result.form} release is still worth"

    def html(self) -> str:
        """Write the page: two tables."""
        return document(
            "plain.html.j2",
            kept=self.kept,
            heading=self.headline,
            name=self.result.name,
            eyebrow="Utility of",
            sections=[
                ("Measures of groups and labels", "", self._measures()),
                ("Answers to count queries", self._asked(), self._queries()),
            ],
        )

    def brief(self) -> Iterator[Block]:
        """The same tables."""
        yield self._measures()
        yield Sentence(self._asked())
        yield self._queries()

    def _measures(self) -> Grid:
        """Each measure: its name, its value, and what to compare it with."""
        found = self.result.utility
        least = number(found.smallest_group)
        times = f"{found.discernibility / self.result.optimum:,.2f} times the least"
        rows = [
            ("people", number(found.people), ""),
            ("groups", number(found.groups), f"of {least} to {number(found.largest_group)} people"),
            ("average group size", average_text(found.average_group_size), ""),
            (
                "discernibility",
                number(found.discernibility),
                f"{times} for groups of {least} or more",
            ),
        ]
        if found.average_ncp is None:
            rows.append(("NCP", share_text(0), "quasi-identifiers are exact"))
        else:
            ncp = share_text(found.average_ncp)
            rows.append(("NCP", ncp, "0% is exact, 100% is suppressed"))
            rows += [(f"  {visible(name)}", share_text(x), "") for name, x in found.ncp.items()]
        return Grid(("measure", "value", ""), rows, left=(0, 2))

    def _queries(self) -> Grid:
        """Each workload: how many columns it asks about, its median and its average error."""
        rows = [
            (
                some(error.predicates, "quasi-identifier", "quasi-identifiers"),
                share_text(error.median),
                share_text(error.average),
            )
            for error in self.result.errors
        ]
        return Grid(("queries about", "median", "average"), rows)

    def _asked(self) -> str:
        """Say what was asked, and what the errors are relative to."""
        first = self.result.errors[0]
        each = some(len(first.exact), "query", "queries")
        return (
            "Counts are off by so much, relative to the true count, or to "
            f"{share_text(first.delta)} of the people where that is more ({each} each):"
        )


PAGE = UtilityPage


def share_text(share: float) -> str:
    """Write a share as a percentage; 0% only where it is none.

    >>> share_text(0.12345), share_text(0.0), share_text(1e-9), share_text(12.3)
    ('12.3%', '0%', 'below 0.1%', '1,230.0%')
    """
    if 0 < share < 0.0005:
        return "below 0.1%"
    return percentage(share, 1)
