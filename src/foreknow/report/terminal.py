"""Terminal: an audit as a table and sentences for Rich, at 80 columns and without colour too."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from foreknow.auditing import Audit, Verdict
from foreknow.counts import Semantics
from foreknow.report.console import Writer, plain_table, writer
from foreknow.report.lattice_words import lattice_line
from foreknow.report.percent import percent, point_limit
from foreknow.report.sentences import (
    by_requirement,
    group_of,
    headline,
    requirement_title,
    sensitive_noun,
    telling,
    unprotected_sentence,
    values_phrase,
    verdict_sentence,
)
from foreknow.report.words import average_text, number, some, visible
from foreknow.utility import Utility


def audit_table(audit: Audit) -> RenderableType:
    """Lay out an audit: headline, a row per verdict, a sentence per failing one, utility.

    Parameters
    ----------
    audit : Audit

    Returns
    -------
    RenderableType
        For ``rich.print`` or a Rich console. Labels are shown as they are; markup in them, such
        as ``[red]``, has no effect, and what the console's encoding lacks is escaped.
    """
    return _AuditTable(audit)


@dataclass(frozen=True)
class _AuditTable:
    """An audit that lays itself out once it knows what the console can show."""

    audit: Audit

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        audit, noun = self.audit, sensitive_noun(self.audit.policy)
        text = writer(options.encoding)
        color = "green" if audit.safe else "red"
        yield Text.assemble(
            text(headline(audit), f"bold {color}"), "  ", text(visible(audit.name), "dim")
        )
        yield _table(audit, noun, text)
        for verdict in audit.failures:
            said = Text.assemble(text("✗ ", "bold red"), text(verdict_sentence(verdict, noun)))
            yield Padding(said, (0, 0, 1, 0))
        warning = unprotected_sentence(audit)
        if warning is not None:
            yield Padding(text(f"Note: {warning}", "yellow"), (0, 0, 1, 0))
        yield text(f"Utility: {utility_line(audit.utility)}")
        if audit.lattice is not None:
            yield text(lattice_line(audit.lattice, audit.policy.options.form))


def utility_line(utility: Utility) -> str:
    """Say in one line what the release is worth."""
    said = (
        f"{some(utility.people, 'person', 'people')} in "
        f"{some(utility.groups, 'group', 'groups')} of "
        f"{average_text(utility.average_group_size)} on average "
        f"({number(utility.smallest_group)} to {number(utility.largest_group)})"
    )
    if utility.average_ncp is None:
        return f"{said}."
    return f"{said}; values generalized by {utility.average_ncp:.0%} on average (NCP)."


def _table(audit: Audit, noun: str, text: Writer) -> Table:
    table = plain_table()
    table.add_column("", no_wrap=True)
    table.add_column("what must stay hidden", overflow="fold", max_width=30)
    table.add_column("from who knows", overflow="fold", max_width=20)
    table.add_column("worst", justify="right", no_wrap=True)
    table.add_column("limit", justify="right", no_wrap=True)
    table.add_column("value, and in which group", overflow="fold", max_width=30)
    for place, verdicts in enumerate(by_requirement(audit), 1):
        for verdict in verdicts:
            table.add_row(*_row(verdict, place, noun, audit.counts.semantics, text))
    return table


def _row(verdict: Verdict, place: int, noun: str, semantics: Semantics, text: Writer) -> list[Text]:
    found, limit = verdict.disclosure, verdict.limit
    style = "green" if verdict.safe else "bold red"
    title = requirement_title(verdict.requirement, place)
    about = values_phrase(verdict.requirement, noun, most=4)
    if not title.startswith("Requirement "):
        about = f"{title}: {about}"
    return [
        text("✓ safe" if verdict.safe else "✗ FAILS", style),
        text(about),
        text(telling(verdict.point.adversary, semantics=semantics).short),
        text(percent(found, limit, 1), style),
        text(point_limit(verdict.point, found)),
        text(_where(verdict)),
    ]


def _where(verdict: Verdict) -> str:
    found, group = verdict.disclosure, group_of(verdict)
    if found.value is None:
        return "–"
    return visible(found.value) if group == "–" else f"{visible(found.value)}\nin {group}"
