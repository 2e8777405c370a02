"""HTML: a survey of generalizations as one page that opens offline, and as a fragment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foreknow.report.page import fragment, page, script_json
from foreknow.report.survey_figure import drawn_nodes, survey_figure
from foreknow.report.survey_words import (
    caption_of,
    chance_of,
    level_lines,
    level_text,
    plain_sentence,
    survey_explanation,
    survey_scope,
    survey_title,
)
from foreknow.report.words import number, some, visible
from foreknow.surveying import LatticeSurvey, SurveyedNode

_MOST_ROWS = 400
_BRIEF = 12


def survey_page(survey: LatticeSurvey) -> str:
    """Write a survey as one HTML page that asks nothing of any network.

    Parameters
    ----------
    survey : LatticeSurvey

    Returns
    -------
    str
        The same text for the same survey. Its tables need no scripts.
    """
    drawn = drawn_nodes(survey)
    return page(
        "survey.html.j2",
        "page.js",
        kept="it is about the raw table, and about generalizations of it that are not published",
        title=f"{survey_title(survey)} – {visible(survey.name)}",
        heading=survey_title(survey),
        name=visible(survey.name),
        scope=survey_scope(survey),
        plain=plain_sentence(survey, "drawn"),
        explanation=survey_explanation(survey),
        figure=script_json(survey_figure(survey)) if drawn else None,
        caption=caption_of(survey, len(drawn)),
        attributes=[visible(name) for name in survey.attributes],
        kind=survey.kind,
        knowledge=[number(k) for k in survey.knowledge],
        levels=level_lines(survey),
        **_tables(survey),
    )


def survey_summary(survey: LatticeSurvey) -> str:
    """Write a survey as a small HTML fragment, for notebooks."""
    nodes = _by_entropy(survey)
    return fragment(
        "survey_summary.html.j2",
        heading=survey_title(survey),
        name=visible(survey.name),
        plain=plain_sentence(survey),
        attributes=[visible(name) for name in survey.attributes],
        kind=survey.kind,
        knowledge=[number(k) for k in survey.knowledge],
        rows=[_row(survey, node) for node in nodes[:_BRIEF]],
        more=_more(len(nodes), _BRIEF),
    )


# ---- what the templates show --------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """A node as a table shows it."""

    levels: list[str]
    groups: str
    entropy: str
    chances: list[str]


def _tables(survey: LatticeSurvey) -> dict[str, object]:
    even = _by_entropy(survey)
    plain = [node for node in survey.nodes if node.entropy == 0]
    return {
        "rows": [_row(survey, node) for node in even[:_MOST_ROWS]],
        "more_rows": _more(len(even), _MOST_ROWS),
        "plain_rows": [_row(survey, node) for node in plain[:_MOST_ROWS]],
        "more_plain": _more(len(plain), _MOST_ROWS),
    }


def _by_entropy(survey: LatticeSurvey) -> Sequence[SurveyedNode]:
    """Nodes with some entropy, the most first; then those that disclose least."""
    found = [node for node in survey.nodes if node.entropy > 0]
    return sorted(found, key=lambda node: (-node.entropy, node.disclosures, node.levels))


def _row(survey: LatticeSurvey, node: SurveyedNode) -> _Row:
    return _Row(
        [level_text(level, top) for level, top in zip(node.levels, survey.tops, strict=True)],
        number(node.groups),
        f"{node.entropy:.3f}",
        [chance_of(probability) for probability in node.disclosures],
    )


def _more(found: int, most: int) -> str:
    return some(found - most, "other", "others") if found > most else ""
