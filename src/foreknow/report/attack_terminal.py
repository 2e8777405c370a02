"""Terminal: an attack as sentences and a table for Rich, at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

from foreknow.attacking import Attack
from foreknow.report.attack_words import (
    attack_scope,
    attack_title,
    chance_text,
    finding_sentences,
    limit_of,
    share_text,
    who_text,
    worlds_sentence,
)
from foreknow.report.console import plain_table, writer
from foreknow.report.words import number, visible

_MOST = 10


def attack_table(attack: Attack, names: Sequence[object] | None = None) -> RenderableType:
    """Lay out what an attack found.

    Parameters
    ----------
    attack : Attack
    names : sequence, optional
        What to call the person of each row; left out, people are called by their rows.
    """
    return _AttackTable(attack, names)


@dataclass(frozen=True)
class _AttackTable:
    attack: Attack
    names: Sequence[object] | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        attack = self.attack
        text = writer(options.encoding)
        title = "bold red" if attack.found else "bold"
        yield text(attack_title(attack), title)
        yield text(attack_scope(attack), "dim")
        yield text(worlds_sentence(attack))
        for sentence in finding_sentences(attack):
            yield text(sentence)
        if not attack.cases:
            return
        table = plain_table()
        for column in ("who", "value"):
            table.add_column(column, overflow="fold", max_width=26)
        for column in ("posterior", "group says", "limit"):
            table.add_column(column, justify="right")
        for case in attack.cases[:_MOST]:
            who = who_text(case)
            if self.names is not None:
                who = ", ".join(visible(self.names[row - 1]) for row in case.rows)
            cells = (who, visible(case.value), chance_text(case), share_text(case), limit_of(case))
            table.add_row(*map(text, cells))
        yield table
        if len(attack.cases) > _MOST:
            yield text(f"And {number(len(attack.cases) - _MOST)} more; see the JSON.")
