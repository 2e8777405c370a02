"""Terminal: an audit as a table and sentences for Rich, at 80 columns and without colour too."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from foreknow.audit import Audit, Verdict
from foreknow.report.percent import limit_text, percent
from foreknow.report.sentences import (
    by_requirement,
    group_of,
    headline,
    requirement_title,
    sensitive_noun,
    telling,
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
        as ``[red]``, has no effect.
    """
    noun = sensitive_noun(audit.policy)
    color = "green" if audit.safe else "red"
    top = Text.assemble((headline(audit), f"bold {color}"), ("  " + visible(audit.name), "dim"))
    parts: list[RenderableType] = [top, _table(audit, noun)]
    for verdict in audit.failures:
        said = Text.assemble(("✗ ", "bold red"), verdict_sentence(verdict, noun))
        parts.append(Padding(said, (0, 0, 1, 0)))
    parts.append(Text(f"Utility: {utility_line(audit.utility)}"))
    return Group(*parts)


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


def _table(audit: Audit, noun: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=False, padding=(0, 1), pad_edge=False)
    table.add_column("")
    table.add_column("what must stay hidden", overflow="fold", max_width=30)
    table.add_column("from who knows", overflow="fold", max_width=20)
    table.add_column("worst", justify="right", no_wrap=True)
    table.add_column("limit", justify="right", no_wrap=True)
    table.add_column("value, and in which group", overflow="fold", max_width=30)
    for place, verdicts in enumerate(by_requirement(audit), 1):
        for verdict in verdicts:
            table.add_row(*_row(verdict, place, noun))
    return table


def _row(verdict: Verdict, place: int, noun: str) -> list[Text]:
    found, limit = verdict.disclosure, verdict.point.below
    style = "green" if verdict.safe else "bold red"
    title = requirement_title(verdict.requirement, place)
    about = values_phrase(verdict.requirement, noun, most=4)
    if not title.startswith("Requirement "):
        about = f"{title}: {about}"
    return [
        Text("✓ safe" if verdict.safe else "✗ FAILS", style, no_wrap=True),
        Text(about),
        Text(telling(verdict.point.adversary).short),
        Text(percent(found, limit, 1), style),
        Text(limit_text(limit)),
        Text("–" if found.value is None else f"{visible(found.value)}\nin {group_of(verdict)}"),
    ]
