"""Lattice: which levels a search chose, how it found them, and what else was safe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from foreknow.methods.fulldomain.lattice import Lattice, LatticeResult, Node
from foreknow.report.blocks import Block, Figure, Heading, Later, Sentence, Table
from foreknow.report.chart import Axis, Chart, Series, amounts
from foreknow.report.page import Page
from foreknow.shown_numbers import significant
from foreknow.wording import listing
from foreknow_judge.files.printable import visible
from foreknow_judge.policy.grammar import Form
from foreknow_judge.remarks.sentences import UNLIMITED
from foreknow_judge.text import number, some

# The most nodes that are drawn one by one, and those with lines between them.
MOST_NODES, _MOST_LINES = 2_000, 800
_MOST_ROWS, _BRIEF = 60, 8
_OF_THE_RELEASE = "k_map and delta_presence are judged of the release alone."


class LatticePage(Page[LatticeResult]):
    """The nodes of a lattice, the chosen one, and those that are safe with none safe below."""

    serves = LatticeResult
    eyebrow = "Full-domain generalization"
    wide = True
    promise = f"Safe means strictly below every limit; {_OF_THE_RELEASE}"
    kept = "what is safe and what is not reveals more of the table than the release does"

    def __init__(self, result: LatticeResult, form: Form = "generalized") -> None:
        super().__init__(result)
        self.form = form
        if not result.limits_inference:
            self.kept = "what holds and what fails reveals more of the table than the release does"
            self.promise = f"Holds: every requirement does{UNLIMITED}; {_OF_THE_RELEASE}"

    @property
    def headline(self) -> str:
        """Say how many generalizations were considered."""
        return f"{number(self.result.n_nodes)} generalizations, one chosen"

    def as_they_are(self) -> Iterator[str]:
        """Columns, and the names of their levels."""
        for column, levels in zip(self.result.attributes, self.result.names, strict=True):
            yield from map(visible, (column, *levels))

    def blocks(self) -> Iterator[Block]:
        """Yield the chosen node, a figure of the lattice, and a table of the minimal nodes.

        A node is a choice of one level for each column; it is minimal if it is safe with none safe
        below.
        """
        result, caption = self.result, _caption(self.result)
        yield Sentence(chosen_sentence(result, self.form), "lead")
        yield Sentence(search_sentences(result, self.form), "note")
        if result.n_nodes <= MOST_NODES:
            title = "The lattice of generalizations"
            yield Later(lambda: [Figure("lattice", title, lattice_figure(result), caption, 3)])
        else:
            yield Sentence(caption, whole=True)
        alternatives = (
            "are safe with none safe below" if result.limits_inference else "hold, none below"
        )
        yield Heading(f"The chosen one, and others that {alternatives}", "minimal")
        yield _nodes(result)


def _nodes(result: LatticeResult) -> Table:
    """A table of the chosen node and the minimal ones (safe, with none safe below)."""
    nodes = [result.chosen, *(node for node in result.minimal if node != result.chosen)]
    rows = []
    for node in nodes:
        loss = result.loss_of(node)
        levels = list(map(visible, result.in_words(node).values()))
        people = number(result.suppressed.get(node, 0))
        mark = "chosen" if node == result.chosen else "minimal"
        rows.append((mark, *levels, people, "" if loss is None else f"{loss:.4g}"))
    titles = ("", *map(visible, result.attributes), "suppressed", "loss")
    return Table(titles, rows, range(len(titles) - 2), style="names", brief=_BRIEF).cut(_MOST_ROWS)


# ---- words ----------------------------------------------------------------------------------

_OBJECTIVES = {
    "ncp": "how much of its domain each published value covers",
    "height": "how many levels were climbed",
}
_FINDS = {
    "best": "The search looked for the safe one that loses least",
    "minimal": "The search looked for all safe ones below which none is safe",
    "chain": "The search looked for one safe one below which none is safe",
}
# Where nothing that is asked limits inference.
_FINDS_OF_HELD = {
    "best": "The search looked for the one that loses least of those that hold the policy",
    "minimal": "The search looked for all that hold the policy and below which none does",
    "chain": "The search looked for one that holds the policy and below which none does",
}


def chosen_sentence(result: LatticeResult, form: Form) -> str:
    """A sentence on the levels that were chosen, and on people who were suppressed.

    Suppressed people are in one group of their own, or get "*" only in some columns.
    """
    words_of_levels = result.in_words(result.chosen)
    phrases = [f"{visible(name)} {level_text}" for name, level_text in words_of_levels.items()]
    levels = listing(phrases, n_shown=len(phrases))
    suppressed = result.suppressed.get(result.chosen, 0)
    return {"bucketized": _grouped, "generalized": _coarsened}[form](result, levels, suppressed)


def _grouped(result: LatticeResult, levels: str, suppressed: int) -> str:
    """The sentence where only groups are formed by the levels."""
    beginning = f"Grouped by {levels}; the columns themselves are published exactly"
    people = some(suppressed, "person who stands out is", "people who stand out are")
    place_text = "one group" if result.hidden is None else "groups that differ more"
    return f"{beginning}; {people} in {place_text}." if suppressed else f"{beginning}."


def _coarsened(result: LatticeResult, levels: str, suppressed: int) -> str:
    """The sentence where the columns are published at the levels."""
    people = some(suppressed, "person is", "people are")
    if not suppressed:
        return f"Levels: {levels}."
    if result.hidden is not None:
        people = some(suppressed, "person has", "people have")
        return f"Levels: {levels}; {people} * in a column or more, where that made groups safe."
    return f"Levels: {levels}; {people} suppressed: in one group, with * in every column."


def lattice_line(result: LatticeResult, form: Form) -> str:
    """The chosen levels in a line, with how many generalizations were judged."""
    cut = "" if result.complete else f"; {_cut(result)}"
    return (
        f"{chosen_sentence(result, form)} ({number(result.n_checked)} of "
        f"{number(result.n_nodes)} generalizations judged{cut})"
    )


def search_sentences(result: LatticeResult, form: Form) -> str:
    """Sentences that say how the levels were found, and whether the search is complete."""
    what = {"generalized": "is published at", "bucketized": "is grouped by"}[form]
    objective = _OBJECTIVES.get(result.objective, visible(result.objective))
    search_text = _FINDS if result.limits_inference else _FINDS_OF_HELD
    ending = (
        "; of the others, what matters follows."
        if result.complete
        else f": {_cut(result)}. This is the best found by then."
    )
    return (
        f"Everybody's value of a column {what} one level. There are {number(result.n_nodes)} ways "
        f"to choose the levels. {search_text[result.find]}, by {objective}. It judged "
        f"{number(result.n_checked)} of them{ending} Loss goes from 0, exact, to 1, everything "
        "suppressed."
    )


def _cut(result: LatticeResult) -> str:
    """A clause on why the search ended early, and how far from the best it may be."""
    if result.gap is None:
        return "the time budget was used up"
    if not np.isfinite(result.gap):
        return "the search was cut off"
    less = significant(result.gap, 4, "up")
    noun = "safe one" if result.limits_inference else "one that holds"
    return f"the search was cut off, and no {noun} loses less by more than {less}"


def _caption(result: LatticeResult) -> str:
    """The caption of the lattice: how many nodes are safe, unsafe and unknown."""
    n_safe, n_unsafe = len(result.nodes("safe")), len(result.nodes("unsafe"))
    n_unknown = result.n_nodes - n_safe - n_unsafe
    caption = f"{some(n_safe, 'node is', 'nodes are')} safe, {some(n_unsafe, 'is', 'are')} not"
    if not result.limits_inference:
        caption = f"{some(n_safe, 'node holds', 'nodes hold')} the policy, "
        caption += some(n_unsafe, "does not", "do not")
    if result.listed is not None:
        caption += f"; of {some(n_unknown, 'other', 'others')} nothing is kept"
    elif n_unknown:
        caption += (
            f"; {some(n_unknown, 'was', 'were')} not asked about, since that could not matter"
        )
    if result.n_nodes > MOST_NODES:
        return f"{caption}. They are too many to draw."
    return (
        f"{caption}. Exact values stand at the bottom, * in every column at the top; a line climbs "
        "one level of one column."
    )


# ---- the figure -----------------------------------------------------------------------------

# Where nothing that is asked limits inference, nothing is green.
_GREEN, _HELD = "#2f9150", "#6b5b95"
# kind, name, name of what limits no inference, color, symbol, size: told apart in grey, too.
_KINDS = (
    ("unknown", "never asked about", "never asked about", "#7a8290", "circle", 0.6),
    ("unsafe", "not safe", "fails", "#d64545", "cross", 0.7),
    ("safe", "safe", "holds", _GREEN, "circle", 0.8),
    (
        "suppressing",
        "safe with people suppressed",
        "holds with people suppressed",
        _GREEN,
        "square",
        0.8,
    ),
    ("minimal", "safe, none below is", "holds, none below does", "#2f7ed8", "diamond", 1.1),
    ("chosen", "chosen", "chosen", "#cf6a10", "star", 1.6),
)
_STATUS_OF_HELD = {"safe": "holds", "unsafe": "fails"}


def lattice_figure(result: LatticeResult) -> Chart:
    """A chart of the nodes of a lattice by height, with a colour for each kind.

    Height is the number of levels climbed; lines lead from a node to those one level above it.
    """
    lattice = Lattice(result.tops)
    x, y = _node_positions(lattice)
    has_lines = len(lattice) <= _MOST_LINES
    series = [_lines(lattice, x, y)] if has_lines else []
    nodes = list(map(lattice.node, range(len(lattice))))
    kind_of_node = [kind_of(result, node) for node in nodes]
    # Kinds are drawn in order, so that the chosen node lies on top.
    for kind, name, name_if_held, color, symbol, size in _KINDS:
        if not result.limits_inference:
            name, color = name_if_held, _HELD if color == _GREEN else color
        numbers = []
        for i, node_kind in enumerate(kind_of_node):
            if node_kind == kind:
                numbers.append(i)
        if numbers:
            name = f"{name}: {number(len(numbers))}" if kind != "chosen" else name
            points = (x[numbers].tolist(), y[numbers].tolist())
            size = size if has_lines or size > 0.9 else size / 2
            texts = [_hover(result, nodes[i]) for i in numbers]
            is_hollow = kind in ("unknown", "suppressing")
            series.append(Series(*points, name, color, texts, symbol, size=size, open=is_hollow))
    half_width = float(np.abs(x).max()) + 0.5
    height_axis = amounts("height: levels climbed", int(lattice.heights.max()), room=0.4)
    return Chart(Axis("", -half_width, half_width), height_axis, series, height=420)


def kind_of(result: LatticeResult, node: Node) -> str:
    """The most specific kind of a node, such as chosen, minimal or safe."""
    if node == result.chosen:
        return "chosen"
    if node in result.minimal_set:
        return "minimal"
    status = result.status_of(node)
    return "suppressing" if status == "safe" and node in result.suppressed else status


def _hover(result: LatticeResult, node: Node) -> str:
    """The text of a node's mark: its levels, status, suppressed people and loss."""
    text_of_level = result.in_words(node)
    lines = [f"{visible(name)}: {level_text}" for name, level_text in text_of_level.items()]
    status = result.status_of(node)
    if not result.limits_inference:
        status = _STATUS_OF_HELD.get(status, status)
    if status != "unknown":
        status += ", judged" if result.was_judged(node) else ", follows from another"
    lines.append(status)
    if node in result.suppressed:
        lines.append(f"{some(result.suppressed[node], 'person', 'people')} suppressed")
    loss = result.loss_of(node)
    if loss is not None:
        lines.append(f"{result.objective}: {loss:.4g}")
    return "\n".join(lines)


def _node_positions(lattice: Lattice) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The place of each node across and up: nodes of a height stand side by side, centred."""
    heights = lattice.heights
    x = np.empty(len(lattice))
    for height in range(int(heights.max()) + 1):
        nodes = np.flatnonzero(heights == height)
        x[nodes] = np.arange(len(nodes)) - (len(nodes) - 1) / 2
    return x, heights.astype(float)


def _lines(lattice: Lattice, x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Series:
    """The lines from each node to those directly above it, as one series with gaps."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for low in range(len(lattice)):
        for high in lattice.parents(low):
            xs += [float(x[low]), float(x[high]), None]
            ys += [float(y[low]), float(y[high]), None]
    return Series(xs, ys, color="rgba(128,136,148,0.45)", dash="", width=0.7)
