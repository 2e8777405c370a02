"""Survey: every generalization of a table, its least entropy beside its worst disclosure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from foreknow.adversaries.disclosure import Disclosure
from foreknow.features.skylines.survey import LatticeSurvey, SurveyedNode
from foreknow.report.blocks import Block, Folded, Heading, Pairs, Row, Sentence, Table
from foreknow.report.page import Page
from foreknow.report.words import percent, plural
from foreknow.wording import noun_of
from foreknow_judge.files.printable import visible
from foreknow_judge.text import number, some

_ALL = Fraction(1)
_MOST_ROWS, _BRIEF = 400, 30


class SurveyPage(Page[LatticeSurvey]):
    """The nodes of a lattice, those with the most even groups first."""

    serves = LatticeSurvey
    eyebrow = "Survey of"
    wide = True
    promise = "Every disclosure is exact: some knowledge of that amount discloses exactly this."
    kept = "it is about the raw table, and about generalizations of it that are not published"

    @property
    def headline(self) -> str:
        """Say what the page is about."""
        nodes = some(self.result.n_nodes, "generalization", "generalizations")
        return f"{nodes[0].upper()}{nodes[1:]}: entropy and worst disclosure"

    def blocks(self) -> Iterator[Block]:
        """Yield the levels of each column, and tables of the nodes."""
        survey = self.result
        yield Sentence(plain_sentence(survey), "lead")
        yield Sentence(_explanation(survey), "note", whole=True)
        yield Heading("The levels", "levels")
        yield Pairs("The levels of each column", _level_lines(survey), whole=True)
        if even_nodes := _by_entropy(survey):
            yield Heading("The generalizations, the most even first", "nodes")
            knowledge = f"the number of {survey.kind} (k)"
            yield Sentence(f"The level of each column, and the worst disclosure, by {knowledge}:")
            yield _nodes(survey, even_nodes)
        if plain_nodes := [node for node in survey.nodes if node.entropy == 0]:
            yield Heading("Generalizations with a group of one value", "plain")
            yield Folded("Show them", [_nodes(survey, plain_nodes)])

    @property
    def scope(self) -> str:
        """Say how large the table is, and which columns coarsen."""
        columns = ", ".join(map(visible, self.result.attributes))
        return f"{some(self.result.people, 'person', 'people')}; generalized: {columns}"


def _by_entropy(survey: LatticeSurvey) -> list[SurveyedNode]:
    """Nodes with some entropy, the most first; then those that disclose least."""
    nodes = [node for node in survey.nodes if node.entropy > 0]
    return sorted(nodes, key=lambda node: (-node.entropy, node.disclosures, node.levels))


def _nodes(survey: LatticeSurvey, nodes: Sequence[SurveyedNode]) -> Table:
    """A table of nodes (a level for each column): their groups, entropy and disclosures."""
    pieces = (f"k={number(k)}" for k in survey.knowledge)
    titles = (*map(visible, survey.attributes), "groups", "bits", *pieces)
    rows: list[Row] = []
    for node in nodes:
        levels, chances = map(_level, node.levels, survey.tops), map(_chance, node.disclosures)
        rows.append((*levels, number(node.groups), f"{node.entropy:.3f}", *chances))
    return Table(
        titles,
        rows,
        range(len(survey.attributes)),
        style="names",
        joined="levels",
        brief=_BRIEF,
        where=", which are in the JSON of the survey",
    ).cut(_MOST_ROWS)


# ---- words ----------------------------------------------------------------------------------


def plain_sentence(survey: LatticeSurvey) -> str:
    """A sentence that says how many nodes disclose a value without any knowledge."""
    noun, n_plain = noun_of(survey.sensitive), survey.n_plain
    group_text = f"a group whose members all have the same {noun}"
    if n_plain == survey.n_nodes:
        return f"Every generalization has {group_text}, which discloses it without any knowledge."
    if not n_plain:
        return f"No generalization has {group_text}."
    verb, subject = ("has", "it is") if n_plain == 1 else ("have", "they are")
    return (
        f"{number(n_plain)} of the {number(survey.n_nodes)} {verb} {group_text}, which discloses "
        f"it without any knowledge; {subject} listed apart."
    )


def _explanation(survey: LatticeSurvey) -> str:
    """Say what is listed, to a reader who has never heard of it."""
    nouns = plural(noun_of(survey.sensitive))
    return (
        "A generalization publishes every value of a column at one level of its hierarchy. The "
        f"entropy is that of the group with the least even {nouns}, in bits: two equally frequent "
        f"values have 1 bit. Even groups tend to disclose less, whichever {survey.kind} the "
        "adversary knows, but the more even of two generalizations can still disclose more."
    )


def _level(level: int, top: int) -> str:
    return {top: "*", 0: "exact"}.get(level) or number(level)


def _level_lines(survey: LatticeSurvey) -> list[tuple[str, str]]:
    """Pairs of a quasi-identifier and a text that says what its levels look like.

    The first level is the exact values, and the last, if there is another, is suppression.
    """
    lines = []
    for name, (exact, *levels) in zip(survey.attributes, survey.levels, strict=True):
        parts = [f"exact: {some(exact.values, 'value', 'values')}"]
        for position, level in enumerate(levels[:-1], 1):
            values_text = some(level.values, "value", "values")
            parts.append(f"level {position}: {values_text} such as “{visible(level.example)}”")
        lines.append((visible(name), " · ".join([*parts, *(["*: suppressed"] if levels else [])])))
    return lines


def _chance(probability: float) -> str:
    """Write a surveyed probability as a percentage; 100% only where it is certain."""
    return percent(Disclosure(None, probability, lambda: Fraction(probability)), _ALL, 1)
