"""Terminal: disclosure curves as a table for Rich, at 80 columns and without colour too."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from foreknow.curving import DisclosureCurves
from foreknow.report.console import plain_table, writer
from foreknow.report.curving_words import chance_text, curves_title, key_sentence
from foreknow.report.words import number, some, visible

_BAR = 30


def curves_table(curves: DisclosureCurves) -> RenderableType:
    """Lay out both curves, one row for each number of pieces, and say what they mean.

    Parameters
    ----------
    curves : DisclosureCurves

    Returns
    -------
    RenderableType
        For ``rich.print`` or a Rich console; markup in labels has no effect.
    """
    return _CurvesTable(curves)


@dataclass(frozen=True)
class _CurvesTable:
    curves: DisclosureCurves

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        curves, counts = self.curves, self.curves.counts
        text = writer(options.encoding)
        yield Text.assemble(
            text(curves_title(curves), "bold"), "  ", text(visible(curves.name), "dim")
        )
        yield text(
            f"{some(counts.n_people, 'person', 'people')} in "
            f"{some(counts.n_groups, 'group', 'groups')}"
        )
        table = plain_table()
        for title in ("pieces", "implications", "negations"):
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for k, worst, mild in zip(curves.ks, curves.implications, curves.negations, strict=True):
            table.add_row(
                text(number(k), "bold"),
                text(chance_text(worst)),
                text(chance_text(mild)),
                text(_bar(mild.probability, worst.probability), "dim"),
            )
        yield table
        yield Padding(text(key_sentence(curves)), (0, 0, 1, 0))


def _bar(mild: float, worst: float) -> str:
    """Draw what negations disclose, and what implications add.

    >>> _bar(0.1, 0.2)
    '===+++'
    """
    own, all_ = round(_BAR * mild), round(_BAR * worst)
    return "=" * own + "+" * (all_ - own)
