"""Survey: every generalization of a table, its least entropy beside its worst disclosure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from rich.console import RenderableType
from rich.padding import Padding

from foreknow.adversaries.disclosure import Disclosure
from foreknow.auditing.survey import LatticeSurvey, SurveyedNode
from foreknow.methods.fulldomain.lattice import Node
from foreknow.report.console import Writer, plain_table, titled
from foreknow.report.figures import base_layout, escape
from foreknow.report.page import Grid, Page, document, fragment, script_json
from foreknow.report.words import noun_of, number, percent, plural, some, visible

_ALL = Fraction(1)
_MOST_DRAWN, _MOST_ROWS, _MOST_PRINTED, _BRIEF = 400, 400, 30, 12
_LONGEST = 160


class SurveyPage(Page[LatticeSurvey]):
    """The nodes of a lattice, those with the most even groups first."""

    serves = LatticeSurvey
    kept = "it is about the raw table, and about generalizations of it that are not published"

    @property
    def headline(self) -> str:
        """Say what the page is about."""
        nodes = some(self.result.n_nodes, "generalization", "generalizations")
        return f"{nodes[0].upper()}{nodes[1:]}: entropy and worst disclosure"

    def html(self) -> str:
        """Write the page: a figure, what the levels are, and the nodes."""
        survey, drawn = self.result, drawn_nodes(self.result)
        even = _by_entropy(survey)
        plain = [node for node in survey.nodes if node.entropy == 0]
        return document(
            "survey.html.j2",
            kept=self.kept,
            heading=self.headline,
            name=survey.name,
            scope=self._scope(),
            plain=plain_sentence(survey, "drawn"),
            explanation=_explanation(survey),
            figure=script_json(survey_figure(survey)) if drawn else None,
            caption=_caption(survey, len(drawn)),
            attributes=[visible(name) for name in survey.attributes],
            kind=survey.kind,
            knowledge=[number(k) for k in survey.knowledge],
            levels=_level_lines(survey),
            rows=[_cells(survey, node) for node in even[:_MOST_ROWS]],
            more_rows=_more(len(even), _MOST_ROWS),
            plain_rows=[_cells(survey, node) for node in plain[:_MOST_ROWS]],
            more_plain=_more(len(plain), _MOST_ROWS),
        )

    def summary(self) -> str:
        """The nodes with the most even groups."""
        survey, nodes = self.result, _by_entropy(self.result)
        pieces = [f"{number(k)} {survey.kind}" for k in survey.knowledge]
        head = [*map(visible, survey.attributes), "groups", "least entropy", *pieces]
        rows = [_cells(survey, node) for node in nodes[:_BRIEF]]
        grids = [Grid(head, rows, left=range(len(survey.attributes)))] if rows else []
        more = _more(len(nodes), _BRIEF)
        note = f"And {more}. {plain_sentence(survey)}" if more else plain_sentence(survey)
        return fragment(self.headline, survey.name, grids=grids, notes=[note])

    def terminal(self, text: Writer) -> Iterator[RenderableType]:
        """The nodes with the most even groups."""
        survey, even = self.result, _by_entropy(self.result)
        yield titled(text, self.headline, survey.name)
        yield text(self._scope())
        yield text(f"The worst disclosure by so many {survey.kind}, the most even groups first:")
        pieces = [f"k={number(k)}" for k in survey.knowledge]
        table = plain_table(["levels"], ["groups", "bits", *pieces])
        for node in even[:_MOST_PRINTED]:
            groups, *rest = _cells(survey, node)[len(survey.tops) :]
            levels = text(_levels(node.levels, survey.tops), "bold")
            table.add_row(levels, text(groups), *map(text, rest))
        if even:
            yield table
        more = _more(len(even), _MOST_PRINTED)
        if more:
            yield text(f"And {more}, which are in the JSON of the survey.")
        yield Padding(text(plain_sentence(survey)), (0, 0, 1, 0))

    def _scope(self) -> str:
        """Say how large the table is, and which columns coarsen."""
        columns = ", ".join(visible(name) for name in self.result.attributes)
        return f"{some(self.result.people, 'person', 'people')}; generalized: {columns}"


PAGE = SurveyPage


def _by_entropy(survey: LatticeSurvey) -> list[SurveyedNode]:
    """Nodes with some entropy, the most first; then those that disclose least."""
    found = [node for node in survey.nodes if node.entropy > 0]
    return sorted(found, key=lambda node: (-node.entropy, node.disclosures, node.levels))


def _cells(survey: LatticeSurvey, node: SurveyedNode) -> list[str]:
    """A node as a table shows it: its levels, groups, entropy, and disclosures."""
    levels = [_level(level, top) for level, top in zip(node.levels, survey.tops, strict=True)]
    chances = [_chance(probability) for probability in node.disclosures]
    return [*levels, number(node.groups), f"{node.entropy:.3f}", *chances]


def _more(found: int, most: int) -> str:
    return some(found - most, "other", "others") if found > most else ""


# ---- words ----------------------------------------------------------------------------------


def plain_sentence(survey: LatticeSurvey, left_out: str = "shown") -> str:
    """Say how many nodes disclose everything about someone to everybody, and are left out."""
    noun, plain = noun_of(survey.sensitive), survey.n_plain
    whose = f"a group whose members all have the same {noun}"
    if plain == survey.n_nodes:
        return f"Every generalization has {whose}: that discloses it without any knowledge."
    if not plain:
        return f"No generalization has {whose}."
    verb, they = ("has", "it is") if plain == 1 else ("have", "they are")
    return (
        f"{number(plain)} of the {number(survey.n_nodes)} {verb} {whose}, which discloses it "
        f"without any knowledge; {they} not {left_out}."
    )


def _explanation(survey: LatticeSurvey) -> str:
    """Say what is drawn, to a reader who has never heard of it."""
    nouns = plural(noun_of(survey.sensitive))
    return (
        "A generalization writes every value of a column at one level of its hierarchy. The more "
        f"even the {nouns} of its groups are, the higher the entropy; the least even group counts. "
        "It is in bits: 1 bit is the entropy of two equally frequent values. Even groups tend to "
        f"disclose less, whichever {survey.kind} the adversary knows. It is a tendency only: of "
        "two "
        "generalizations, the more even one can disclose more."
    )


def _caption(survey: LatticeSurvey, drawn: int) -> str:
    shown = survey.n_nodes - survey.n_plain
    said = (
        "Each mark is a generalization; the line goes through those that disclose least among all "
        "of the same entropy. Point at a mark to read its levels."
    )
    return said if drawn >= shown else f"{said} Of {number(shown)}, {number(drawn)} are drawn."


def _level(level: int, top: int) -> str:
    return "exact" if level == 0 else "*" if level == top else number(level)


def node_text(attributes: Sequence[str], tops: Node, levels: Node) -> str:
    """Write the levels of a node in one line.

    >>> node_text(["age", "sex"], (5, 1), (3, 1))
    'age level 3 of 5, sex *'
    """
    parts = []
    for name, top, level in zip(attributes, tops, levels, strict=True):
        between = f"level {number(level)} of {number(top)}"
        parts.append(f"{visible(name)} {between if 0 < level < top else _level(level, top)}")
    return ", ".join(parts)


def _levels(levels: Node, tops: Node) -> str:
    """Write the levels of a node in few characters.

    >>> _levels((0, 3, 2), (5, 5, 2))
    '0 3 *'
    """
    pairs = zip(levels, tops, strict=True)
    return " ".join("*" if level == top else str(level) for level, top in pairs)


def _level_lines(survey: LatticeSurvey) -> list[tuple[str, list[str]]]:
    """Say for each quasi-identifier what its levels look like."""
    lines = []
    for name, (exact, *levels) in zip(survey.attributes, survey.levels, strict=True):
        said = [f"exact: {some(exact.values, 'value', 'values')}"]
        for place, level in enumerate(levels[:-1], 1):
            many = some(level.values, "value", "values")
            said.append(f"level {place}: {many} such as “{visible(level.example)}”")
        lines.append((visible(name), [*said, "*: suppressed"] if levels else said))
    return lines


def _pieces(survey: LatticeSurvey, k: int) -> str:
    return some(k, survey.kind[:-1], survey.kind)


def _chance(probability: float) -> str:
    """Write a surveyed probability as a percentage; 100% only where it is certain."""
    return percent(Disclosure(None, probability, lambda: Fraction(probability)), _ALL, 1)


# ---- the figure -----------------------------------------------------------------------------

# Middle tones as in the other figures; marks and dashes tell the lines apart in grey.
_STYLES = (
    ("#2f7ed8", "circle", "solid"),
    ("#cf6a10", "square", "dash"),
    ("#1f8a70", "diamond", "dot"),
    ("#8a63d2", "triangle-up", "dashdot"),
    ("#c2549d", "x", "longdash"),
    ("#7a8290", "star", "longdashdot"),
)


def drawn_nodes(survey: LatticeSurvey) -> list[int]:
    """Choose the nodes to draw: all with some entropy; of very many, some from low to high."""
    shown = np.flatnonzero(survey.entropy > 0)
    shown = shown[np.argsort(survey.entropy[shown], kind="stable")]
    if len(shown) > _MOST_DRAWN:
        shown = shown[np.linspace(0, len(shown) - 1, _MOST_DRAWN).round().astype(int)]
    nodes: list[int] = shown.tolist()
    return nodes


def survey_figure(survey: LatticeSurvey) -> dict[str, Any]:
    """Draw a line for each number of pieces through the best nodes, and marks for all."""
    drawn = set(drawn_nodes(survey))
    data = []
    for place, k in enumerate(survey.knowledge):
        color, symbol, dash = _STYLES[place % len(_STYLES)]
        best = [number for number in survey.best_numbers(k) if number in drawn]
        rest = sorted(drawn - set(best))
        name = _pieces(survey, k)
        line = {
            **_marks(survey, best, place),
            "mode": "lines+markers",
            "name": name,
            "line": {"color": color, "dash": dash, "width": 1.5},
            "marker": {"color": color, "symbol": symbol, "size": 8},
            "legendgroup": name,
        }
        cloud = {
            **_marks(survey, rest, place),
            "mode": "markers",
            "name": name,
            "marker": {"color": color, "symbol": f"{symbol}-open", "size": 7},
            "legendgroup": name,
            "showlegend": False,
        }
        data += [line, cloud] if rest else [line]
    layout = base_layout(
        f"least entropy of a group's {escape(plural(noun_of(survey.sensitive)))} (bits)",
        "how sure of some value, at worst",
        height=520,
        percent=True,
        top_first=False,
    )
    layout["xaxis"]["rangemode"] = "normal"
    return {"data": data, "layout": layout}


def _marks(survey: LatticeSurvey, at: list[int], place: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": np.round(survey.entropy[at], 6).tolist(),
        "y": np.round(survey.disclosures[at, place], 6).tolist(),
        "text": [_hover(survey, number, place) for number in at],
        "hovertemplate": "%{text}<extra></extra>",
        "cliponaxis": False,
    }


def _hover(survey: LatticeSurvey, number: int, place: int) -> str:
    node = survey.nodes[number]
    lines = [
        f"{_pieces(survey, survey.knowledge[place])}: {_chance(node.disclosures[place])}",
        node_text(survey.attributes, survey.tops, node.levels),
        f"{some(node.groups, 'group', 'groups')}, least entropy {node.entropy:.3f} bits",
    ]
    return "<br>".join(escape(line, _LONGEST) for line in lines)
