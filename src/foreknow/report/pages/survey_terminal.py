"""Terminal: a survey of generalizations as a table for Rich, at 80 columns and without colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from foreknow.adversaries.disclosure import Disclosure
from foreknow.auditing.survey import LatticeSurvey
from foreknow.methods.fulldomain.lattice import Node
from foreknow.report.console import plain_table, writer
from foreknow.report.words import noun_of, number, percent, plural, some, visible

_ALL = Fraction(1)


def survey_title(survey: LatticeSurvey) -> str:
    """Say what the page is about."""
    nodes = some(survey.n_nodes, "generalization", "generalizations")
    return f"{nodes[0].upper()}{nodes[1:]}: entropy and worst disclosure"


def survey_scope(survey: LatticeSurvey) -> str:
    """Say how large the table is, and which columns coarsen."""
    columns = ", ".join(visible(name) for name in survey.attributes)
    return f"{some(survey.people, 'person', 'people')}; generalized: {columns}"


def plain_sentence(survey: LatticeSurvey, left_out: str = "shown") -> str:
    """Say how many nodes disclose everything about somebody to everybody, and are left out."""
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


def survey_explanation(survey: LatticeSurvey) -> str:
    """Say what is drawn, to somebody who has never heard of it."""
    nouns = plural(noun_of(survey.sensitive))
    return (
        "A generalization writes every value of a column at one level of its hierarchy. The more "
        f"even the {nouns} of its groups are, the higher the entropy; the least even group counts. "
        "It is in bits: 1 bit is the entropy of two equally frequent values. Even groups tend to "
        f"disclose less, whichever {survey.kind} somebody knows. It is a tendency only: of two "
        "generalizations, the more even one can disclose more."
    )


def caption_of(survey: LatticeSurvey, drawn: int) -> str:
    """Say what the lines and marks of the figure are."""
    shown = survey.n_nodes - survey.n_plain
    said = (
        "Each mark is a generalization; the line goes through those that disclose least among all "
        "of the same entropy. Point at a mark to read its levels."
    )
    if drawn < shown:
        said += f" Of {number(shown)}, {number(drawn)} are drawn."
    return said


def level_text(level: int, top: int) -> str:
    """Write a level for a narrow column of a table.

    >>> level_text(0, 5), level_text(3, 5), level_text(5, 5)
    ('exact', '3', '*')
    """
    if level == 0:
        return "exact"
    return "*" if level == top else number(level)


def node_text(attributes: Sequence[str], tops: Node, levels: Node) -> str:
    """Write the levels of a node in one line.

    >>> node_text(["age", "sex"], (5, 1), (3, 1))
    'age level 3 of 5, sex *'
    """
    parts = []
    for name, top, level in zip(attributes, tops, levels, strict=True):
        text = level_text(level, top)
        between = 0 < level < top
        parts.append(f"{visible(name)} " + (f"level {text} of {number(top)}" if between else text))
    return ", ".join(parts)


def level_lines(survey: LatticeSurvey) -> list[tuple[str, list[str]]]:
    """Say for each quasi-identifier what its levels look like."""
    lines = []
    for name, levels in zip(survey.attributes, survey.levels, strict=True):
        told = []
        for place, level in enumerate(levels):
            many = some(level.values, "value", "values")
            if place == 0:
                told.append(f"exact: {many}")
            elif place == len(levels) - 1:
                told.append("*: suppressed")
            else:
                told.append(f"level {place}: {many} such as “{visible(level.example)}”")
        lines.append((visible(name), told))
    return lines


def pieces_text(survey: LatticeSurvey, k: int) -> str:
    """Write how many pieces of which kind."""
    return some(k, survey.kind[:-1], survey.kind)


def chance_of(probability: float) -> str:
    """Write a surveyed probability as a percentage; 100% only where it is certain."""
    return percent(Disclosure(None, probability, lambda: Fraction(probability)), _ALL, 1)


_MOST = 30


def survey_table(survey: LatticeSurvey) -> RenderableType:
    """Lay out the generalizations with the most even groups.

    Parameters
    ----------
    survey : LatticeSurvey

    Returns
    -------
    RenderableType
        For ``rich.print`` or a Rich console; markup in labels has no effect.
    """
    return _SurveyTable(survey)


@dataclass(frozen=True)
class _SurveyTable:
    survey: LatticeSurvey

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        survey = self.survey
        text = writer(options.encoding)
        yield Text.assemble(
            text(survey_title(survey), "bold"), "  ", text(visible(survey.name), "dim")
        )
        yield text(survey_scope(survey))
        yield text(f"The worst disclosure by so many {survey.kind}, the most even groups first:")
        table = plain_table()
        table.add_column("levels", overflow="fold")
        for title in ("groups", "bits", *(f"k={number(k)}" for k in survey.knowledge)):
            table.add_column(title, justify="right", no_wrap=True)
        even = sorted(
            (node for node in survey.nodes if node.entropy > 0),
            key=lambda node: (-node.entropy, node.disclosures, node.levels),
        )
        for node in even[:_MOST]:
            table.add_row(
                text(_levels(node.levels, survey.tops), "bold"),
                text(number(node.groups)),
                text(f"{node.entropy:.3f}"),
                *(text(chance_of(probability)) for probability in node.disclosures),
            )
        if even:
            yield table
        if len(even) > _MOST:
            more = some(len(even) - _MOST, "other", "others")
            yield text(f"And {more}, which are in the JSON of the survey.")
        yield Padding(text(plain_sentence(survey)), (0, 0, 1, 0))


def _levels(levels: Node, tops: Node) -> str:
    """Write the levels of a node in few characters.

    >>> _levels((0, 3, 2), (5, 5, 2))
    '0 3 *'
    """
    pairs = zip(levels, tops, strict=True)
    return " ".join("*" if level == top else str(level) for level, top in pairs)
