"""Attack: what an adversary who knows the algorithm finds out; people by their rows."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from foreknow.adversaries.algorithm import Attack
from foreknow.report.console import Writer
from foreknow.report.page import Grid, Page, document, fragment
from foreknow.report.pages.attack_terminal import (
    attack_lines,
    attack_scope,
    attack_title,
    chance_text,
    finding_sentences,
    limit_of,
    share_text,
    who_text,
    worlds_sentence,
)
from foreknow.report.words import some, visible

_MOST, _BRIEF = 200, 8


class AttackPage(Page[Attack]):
    """Who is found out further, the worst first."""

    serves = Attack
    kept = "it names rows of the original table, and what they have"

    @property
    def headline(self) -> str:
        """Say the outcome in a few words."""
        return attack_title(self.result)

    def html(self) -> str:
        """Write the page: sentences, and the worst cases."""
        attack, cases = self.result, self._cases(_MOST)
        proved = attack.exact and not attack.found
        return document(
            "plain.html.j2",
            kept=self.kept,
            heading=self.headline,
            eyebrow="Attack by somebody who knows the algorithm",
            scope=attack_scope(attack),
            mood="unsafe" if attack.found else "safe" if proved else "plain",
            sentences=self._sentences(),
            sections=[("Who is found out further, the worst first", "", cases)]
            if cases.rows
            else [],
            promise="Rows are those of the original table.",
        )

    def summary(self) -> str:
        """Sentences, and few of the worst cases."""
        cases, scope = self._cases(_BRIEF), attack_scope(self.result)
        grids = [cases] if cases.rows else []
        return fragment(self.headline, scope, before=self._sentences(), grids=grids)

    def terminal(self, text: Writer) -> Iterator[RenderableType]:
        """Sentences, and few of the worst cases."""
        return attack_lines(self.result, None, text)

    def _sentences(self) -> list[str]:
        return [worlds_sentence(self.result), *finding_sentences(self.result)]

    def _cases(self, most: int) -> Grid:
        rows = [
            (who_text(c), visible(c.value), chance_text(c), share_text(c), limit_of(c))
            for c in self.result.cases[:most]
        ]
        left = len(self.result.cases) - most
        note = f"And {some(left, 'other', 'others')}." if left > 0 else ""
        return Grid(("who", "value", "posterior", "group says", "limit"), rows, (0, 1), note)


PAGE = AttackPage
