"""HTML: an attack as one page that opens offline, and as a fragment; people by their rows."""

from __future__ import annotations

from dataclasses import dataclass

from foreknow.adversaries.algorithm import Attack
from foreknow.report.page import fragment, page
from foreknow.report.pages.attack_terminal import (
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

_KEPT = "it names rows of the original table, and what they have"
_MOST, _BRIEF = 200, 8


def attack_page(attack: Attack) -> str:
    """Write an attack as one HTML page that asks nothing of any network."""
    return page("attack.html.j2", "page.js", kept=_KEPT, **_shown(attack, _MOST))


def attack_summary(attack: Attack) -> str:
    """Write an attack as a small HTML fragment, for notebooks."""
    return fragment("attack_summary.html.j2", **_shown(attack, _BRIEF))


@dataclass(frozen=True)
class _Row:
    """A case as a table shows it."""

    who: str
    value: str
    chance: str
    share: str
    limit: str


def _shown(attack: Attack, most: int) -> dict[str, object]:
    left = len(attack.cases) - most
    rows = [
        _Row(who_text(c), visible(c.value), chance_text(c), share_text(c), limit_of(c))
        for c in attack.cases[:most]
    ]
    return {
        "title": attack_title(attack),
        "scope": attack_scope(attack),
        "sentences": [worlds_sentence(attack), *finding_sentences(attack)],
        "found": attack.found,
        "proved": attack.exact and not attack.found,
        "rows": rows,
        "more": some(left, "other", "others") if left > 0 else "",
    }
