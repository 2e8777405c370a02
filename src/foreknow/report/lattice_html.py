"""HTML: what a search of a lattice found, as a page, as a section of one, and as a fragment."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from foreknow.anonymizers.lattice import Node
from foreknow.anonymizers.lattice_result import LatticeResult
from foreknow.report.lattice_figure import MOST_NODES, lattice_figure
from foreknow.report.page import fragment, page, script_json
from foreknow.report.words import listing, number, some, visible

_MOST_ROWS = 60
_BRIEF = 8
_OBJECTIVES = {
    "ncp": "how much of its domain each published value covers",
    "entropy": "how many bits are needed to name each value again",
    "height": "how many levels were climbed",
    "discernibility": "with how many others each person is confused",
}
_FINDS = {
    "best": "The search looked for the safe one that loses least",
    "minimal": "The search looked for all safe ones below which none is safe",
    "chain": "The search looked for one safe one below which none is safe",
}


@dataclass(frozen=True)
class LatticePart:
    """What a page shows of a lattice."""

    sentence: str
    explanation: str
    figure: Markup
    caption: str
    columns: list[str]
    rows: list[LatticeRow]
    more: str


@dataclass(frozen=True)
class LatticeRow:
    """A minimal node, or the chosen one."""

    chosen: bool
    levels: list[str]
    suppressed: str
    loss: str


def lattice_part(found: LatticeResult, most: int = _MOST_ROWS) -> LatticePart:
    """Say what was found, for a page of its own or a section of another."""
    listed = [found.chosen, *(node for node in found.minimal if node != found.chosen)]
    return LatticePart(
        sentence=_sentence(found),
        explanation=_explanation(found),
        figure=script_json(lattice_figure(found)),
        caption=_caption(found),
        columns=[visible(name) for name in found.attributes],
        rows=[_row(found, node) for node in listed[:most]],
        more=some(len(listed) - most, "other", "others") if len(listed) > most else "",
    )


def lattice_page(found: LatticeResult) -> str:
    """Write what was found as one HTML page that asks nothing of any network.

    Parameters
    ----------
    found : LatticeResult

    Returns
    -------
    str
        The same text for the same result. Its tables need no scripts.
    """
    title = f"{number(found.n_nodes)} generalizations, one chosen"
    return page(
        "lattice.html.j2", "page.js", title=title, heading=title, lattice=lattice_part(found)
    )


def lattice_summary(found: LatticeResult) -> str:
    """Write what was found as a small HTML fragment, for notebooks."""
    return fragment("lattice_summary.html.j2", lattice=lattice_part(found, _BRIEF))


def _row(found: LatticeResult, node: Node) -> LatticeRow:
    loss = found.loss_of(node)
    return LatticeRow(
        chosen=node == found.chosen,
        levels=[visible(word) for word in found.in_words(node).values()],
        suppressed=number(found.suppressed.get(node, 0)),
        loss="" if loss is None else f"{loss:.4g}",
    )


def _sentence(found: LatticeResult) -> str:
    words = found.in_words(found.chosen)
    parts = [f"{visible(name)} {word}" for name, word in words.items()]
    suppressed = found.suppressed.get(found.chosen, 0)
    start = f"Chosen: {listing(parts, most=len(parts))}"
    if not suppressed:
        return f"{start}."
    people = some(suppressed, "person is", "people are")
    return f"{start}; {people} suppressed: in one group, with * in every column."


def _explanation(found: LatticeResult) -> str:
    said = [
        f"Everybody's value of a column is published at one level. There are "
        f"{number(found.n_nodes)} ways to choose the levels.",
        f"{_FINDS[found.find]}, by {_OBJECTIVES.get(found.objective, found.objective)}.",
        f"It judged {number(found.n_checked)} of them"
        + (
            "; of the others, what matters follows."
            if found.complete
            else " before its time was used up: this is the best found by then."
        ),
    ]
    return " ".join(said)


def _caption(found: LatticeResult) -> str:
    safe, unsafe = len(found.nodes("safe")), len(found.nodes("unsafe"))
    rest = found.n_nodes - safe - unsafe
    open_ = f"; {number(rest)} were not asked about, since they could not be the answer"
    shown = (
        "Exact values stand at the bottom, * in every column at the top; a line climbs one level "
        "of one column."
        if found.n_nodes <= MOST_NODES
        else "Each bar is the nodes of one height: 0 is exact."
    )
    return f"{number(safe)} are safe, {number(unsafe)} are not{open_ if rest else ''}. {shown}"
