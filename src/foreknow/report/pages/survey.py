"""Survey: every generalization of a table, its least entropy beside its worst disclosure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.auditing.survey import LatticeSurvey, SurveyedNode
from foreknow.methods.fulldomain.lattice import Node
from foreknow.report.blocks import Block, Figure, Folded, Heading, Later, Pairs, Sentence, Table
from foreknow.report.chart import STYLES, Axis, Chart, Series, round_numbers, shares
from foreknow.report.page import Page
from foreknow.report.words import noun_of, number, percent, plural, some, visible

_ALL = Fraction(1)
_MOST_DRAWN, _MOST_ROWS, _BRIEF = 400, 400, 30


class SurveyPage(Page[LatticeSurvey]):
    """The nodes of a lattice, those with the most even groups first."""

    serves = LatticeSurvey
    eyebrow = "Survey of"
    wide = True
    promise = "Every disclosure is attained: some such knowledge discloses just so much."
    kept = "it is about the raw table, and about generalizations of it that are not published"

    @property
    def headline(self) -> str:
        """Say what the page is about."""
        nodes = some(self.result.n_nodes, "generalization", "generalizations")
        return f"{nodes[0].upper()}{nodes[1:]}: entropy and worst disclosure"

    def blocks(self) -> Iterator[Block]:
        """A figure, what the levels are, and the nodes."""
        survey, drawn = self.result, drawn_nodes(self.result)
        yield Sentence(plain_sentence(survey), "lead")
        yield Sentence(_explanation(survey), "note", whole=True)
        if drawn:
            title, caption = "Least entropy beside worst disclosure", _caption(survey, len(drawn))
            yield Later(lambda: [Figure("survey", title, survey_figure(survey), caption, 3)])
        yield Heading("The levels", "levels")
        yield Pairs("The levels of each column", _level_lines(survey), whole=True)
        if even := _by_entropy(survey):
            yield Heading("The generalizations, the most even first", "nodes")
            known = f"so many {survey.kind} (k)"
            yield Sentence(f"The level of each column, and the worst disclosure by {known}:")
            yield _nodes(survey, even)
        if plain := [node for node in survey.nodes if node.entropy == 0]:
            yield Heading("With a group of one value", "plain")
            yield Folded("Show them", [_nodes(survey, plain)])

    @property
    def scope(self) -> str:
        """Say how large the table is, and which columns coarsen."""
        columns = ", ".join(visible(name) for name in self.result.attributes)
        return f"{some(self.result.people, 'person', 'people')}; generalized: {columns}"


PAGE = SurveyPage


def _by_entropy(survey: LatticeSurvey) -> list[SurveyedNode]:
    """Nodes with some entropy, the most first; then those that disclose least."""
    found = [node for node in survey.nodes if node.entropy > 0]
    return sorted(found, key=lambda node: (-node.entropy, node.disclosures, node.levels))


def _nodes(survey: LatticeSurvey, nodes: Sequence[SurveyedNode]) -> Table:
    """Nodes: their levels, groups, entropy, and disclosures."""
    pieces = (f"k={number(k)}" for k in survey.knowledge)
    head = (*map(visible, survey.attributes), "groups", "bits", *pieces)
    rows = [
        (
            *map(_level, node.levels, survey.tops),
            number(node.groups),
            f"{node.entropy:.3f}",
            *map(_chance, node.disclosures),
        )
        for node in nodes
    ]
    return Table(
        head,
        rows,
        range(len(survey.attributes)),
        style="names",
        joined="levels",
        brief=_BRIEF,
        where=", which are in the JSON of the survey",
    ).cut(_MOST_ROWS)


# ---- words ----------------------------------------------------------------------------------


def plain_sentence(survey: LatticeSurvey) -> str:
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
        f"without any knowledge; {they} not drawn."
    )


def _explanation(survey: LatticeSurvey) -> str:
    """Say what is drawn, to a reader who has never heard of it."""
    nouns = plural(noun_of(survey.sensitive))
    return (
        "A generalization writes every value of a column at one level of its hierarchy. The more "
        f"even the {nouns} of its groups are, the higher the entropy; the least even group counts. "
        "It is in bits: 1 bit is the entropy of two equally frequent values. Even groups tend to "
        f"disclose less, whichever {survey.kind} the adversary knows. It is a tendency only: of "
        "two generalizations, the more even one can disclose more."
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


def _level_lines(survey: LatticeSurvey) -> list[tuple[str, str]]:
    """Say for each quasi-identifier what its levels look like."""
    lines = []
    for name, (exact, *levels) in zip(survey.attributes, survey.levels, strict=True):
        said = [f"exact: {some(exact.values, 'value', 'values')}"]
        for place, level in enumerate(levels[:-1], 1):
            many = some(level.values, "value", "values")
            said.append(f"level {place}: {many} such as “{visible(level.example)}”")
        lines.append((visible(name), " · ".join([*said, *(["*: suppressed"] if levels else [])])))
    return lines


def _pieces(survey: LatticeSurvey, k: int) -> str:
    return some(k, survey.kind[:-1], survey.kind)


def _chance(probability: float) -> str:
    """Write a surveyed probability as a percentage; 100% only where it is certain."""
    return percent(Disclosure(None, probability, lambda: Fraction(probability)), _ALL, 1)


# ---- the figure -----------------------------------------------------------------------------


def drawn_nodes(survey: LatticeSurvey) -> list[int]:
    """Choose the nodes to draw: all with some entropy; of very many, some from low to high."""
    shown = np.flatnonzero(survey.entropy > 0)
    shown = shown[np.argsort(survey.entropy[shown], kind="stable")]
    if len(shown) > _MOST_DRAWN:
        shown = shown[np.linspace(0, len(shown) - 1, _MOST_DRAWN).round().astype(int)]
    nodes: list[int] = shown.tolist()
    return nodes


def survey_figure(survey: LatticeSurvey) -> Chart:
    """Draw a line for each number of pieces through the best nodes, and marks for all."""
    drawn, data = set(drawn_nodes(survey)), []
    for place, k in enumerate(survey.knowledge):
        color, symbol, dash = STYLES[place % len(STYLES)]
        best = [number for number in survey.best_numbers(k) if number in drawn]
        for nodes, line in ((best, True), (sorted(drawn - set(best)), False)):
            x = np.round(survey.entropy[nodes], 6).tolist()
            y = np.round(survey.disclosures[nodes, place], 6).tolist()
            texts = [_hover(survey, number, place) for number in nodes]
            name, look = (_pieces(survey, k), dash) if line else ("", None)
            data.append(Series(x, y, name, color, texts, symbol, look, 1.5, 0.8, open=not line))
    found = survey.entropy[sorted(drawn)]
    room = max(float(np.ptp(found)) / 20, 0.05)
    low, high = max(0.0, float(found.min()) - room), float(found.max()) + room
    across = Axis(_bits(survey), low, high, [(at, f"{at:g}") for at in round_numbers(low, high)])
    return Chart(across, shares("how sure of some value, at worst"), data, height=380)


def _bits(survey: LatticeSurvey) -> str:
    return f"least entropy of a group's {plural(noun_of(survey.sensitive))} (bits)"


def _hover(survey: LatticeSurvey, number: int, place: int) -> str:
    node = survey.nodes[number]
    lines = [
        f"{_pieces(survey, survey.knowledge[place])}: {_chance(node.disclosures[place])}",
        node_text(survey.attributes, survey.tops, node.levels),
        f"{some(node.groups, 'group', 'groups')}, least entropy {node.entropy:.3f} bits",
    ]
    return "\n".join(lines)
