"""HTML: what a release is worth, as a fragment for notebooks."""

from __future__ import annotations

from foreknow.report.page import fragment
from foreknow.report.pages.utility_terminal import (
    query_rows,
    query_sentence,
    utility_rows,
    utility_title,
)
from foreknow.report.words import visible
from foreknow.utility.report import UtilityReport


def utility_summary(report: UtilityReport) -> str:
    """Write a report as a small HTML fragment, for notebooks."""
    return fragment(
        "utility_summary.html.j2",
        heading=utility_title(report),
        name=visible(report.name),
        measures=utility_rows(report),
        sentence=query_sentence(report),
        queries=query_rows(report),
    )
