"""Terminal: a survey of generalizations as a table for Rich, at 80 columns and without colour."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from foreknow.anonymizers.lattice import Node
from foreknow.report.console import plain_table, writer
from foreknow.report.survey_words import (
    chance_of,
    plain_sentence,
    survey_scope,
    survey_title,
)
from foreknow.report.words import number, some, visible
from foreknow.surveying import LatticeSurvey

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
