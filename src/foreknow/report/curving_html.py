"""HTML: disclosure curves as one page that opens offline, and as a fragment for notebooks."""

from __future__ import annotations

from dataclasses import dataclass

from foreknow.adversaries.disclosure import Disclosure
from foreknow.curving import DisclosureCurves
from foreknow.report.curving_figure import curves_figure
from foreknow.report.curving_words import (
    chance_text,
    curves_title,
    fraction_text,
    key_sentence,
    known_text,
    noun_for,
    pieces_explained,
    target_text,
)
from foreknow.report.page import fragment, page, script_json
from foreknow.report.skyline_figure import hover_text
from foreknow.report.words import number, some, visible


def curves_page(curves: DisclosureCurves) -> str:
    """Write disclosure curves as one HTML page that asks nothing of any network.

    Parameters
    ----------
    curves : DisclosureCurves

    Returns
    -------
    str
        The same text for the same curves. Its table needs no scripts.
    """
    counts, rows = curves.counts, _rows(curves)
    texts = [
        [
            _hover("implication", row.k, found, row.target, row.worst)
            for row, found in zip(rows, curves.implications, strict=True)
        ],
        [
            _hover("negation", row.k, found, row.mild_target, row.mild)
            for row, found in zip(rows, curves.negations, strict=True)
        ],
    ]
    return page(
        "curves.html.j2",
        "page.js",
        kept="it says who is found out first, and by which knowledge",
        title=f"{curves_title(curves)} – {visible(curves.name)}",
        heading=curves_title(curves),
        name=visible(curves.name),
        scope=f"{some(counts.n_people, 'person', 'people')} in "
        f"{some(counts.n_groups, 'group', 'groups')}",
        key=key_sentence(curves),
        explanation=pieces_explained(noun_for(curves.sensitive)),
        figure=script_json(curves_figure(curves, texts)),
        caption="Point at a mark to read what somebody knows there.",
        rows=rows,
    )


def curves_summary(curves: DisclosureCurves) -> str:
    """Write disclosure curves as a small HTML fragment, for notebooks."""
    return fragment(
        "curves_summary.html.j2",
        heading=curves_title(curves),
        name=visible(curves.name),
        key=key_sentence(curves),
        rows=_rows(curves),
    )


# ---- what the templates show --------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """What so many pieces disclose, as a table shows it."""

    k: int
    pieces: str
    implications: str
    negations: str
    width: str
    mild_width: str
    fractions: tuple[str, str]
    target: str
    worst: str
    mild_target: str
    mild: str


def _rows(curves: DisclosureCurves) -> list[_Row]:
    return [
        _Row(
            k,
            number(k),
            chance_text(worst),
            chance_text(mild),
            f"{100 * worst.probability:.2f}",
            f"{100 * mild.probability:.2f}",
            (fraction_text(worst), fraction_text(mild)),
            target_text(worst),
            known_text(worst),
            target_text(mild),
            known_text(mild),
        )
        for k, worst, mild in zip(curves.ks, curves.implications, curves.negations, strict=True)
    ]


def _hover(kind: str, k: int, found: Disclosure, target: str, known: str) -> str:
    head = f"{some(k, kind, f'{kind}s')}: {chance_text(found)} = {fraction_text(found)}"
    return hover_text(head, f"Found out: {target}", known)
