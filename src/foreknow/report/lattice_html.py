"""HTML: what a search of a lattice found, as a page, as a section of one, and as a fragment."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from foreknow.anonymizers.lattice import Node
from foreknow.anonymizers.lattice_result import LatticeResult
from foreknow.policy import Form
from foreknow.report.lattice_figure import MOST_NODES, lattice_figure
from foreknow.report.lattice_words import chosen_sentence, lattice_caption, search_sentences
from foreknow.report.page import fragment, page, script_json
from foreknow.report.words import number, some, visible

_MOST_ROWS = 60
_BRIEF = 8


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


def lattice_part(
    found: LatticeResult, form: Form = "generalized", most: int = _MOST_ROWS
) -> LatticePart:
    """Say what was found, as a release of a form has it."""
    listed = [found.chosen, *(node for node in found.minimal if node != found.chosen)]
    return LatticePart(
        sentence=chosen_sentence(found, form),
        explanation=search_sentences(found, form),
        figure=script_json(lattice_figure(found)),
        caption=lattice_caption(found, drawn=found.n_nodes <= MOST_NODES),
        columns=[visible(name) for name in found.attributes],
        rows=[_row(found, node) for node in listed[:most]],
        more=some(len(listed) - most, "other", "others") if len(listed) > most else "",
    )


def lattice_page(found: LatticeResult, form: Form = "generalized") -> str:
    """Write what was found as one HTML page that asks nothing of any network.

    It is for the owner of the table: what was safe and what was not tells more of it.

    Parameters
    ----------
    found : LatticeResult
    form : "generalized" or "bucketized"
        Of the release that was made.

    Returns
    -------
    str
        The same text for the same result. Its tables need no scripts.
    """
    title = f"{number(found.n_nodes)} generalizations, one chosen"
    return page(
        "lattice.html.j2",
        "page.js",
        kept="what is safe and what is not tells more of the table than the release does",
        title=title,
        heading=title,
        lattice=lattice_part(found, form),
    )


def lattice_summary(found: LatticeResult) -> str:
    """Write what was found as a small HTML fragment, for notebooks."""
    return fragment("lattice_summary.html.j2", lattice=lattice_part(found, most=_BRIEF))


def _row(found: LatticeResult, node: Node) -> LatticeRow:
    loss = found.loss_of(node)
    return LatticeRow(
        chosen=node == found.chosen,
        levels=[visible(word) for word in found.in_words(node).values()],
        suppressed=number(found.suppressed.get(node, 0)),
        loss="" if loss is None else f"{loss:.4g}",
    )
