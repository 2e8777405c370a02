"""Disclosure curves: implications beside negations, as a figure, a table and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import FactsWitness
from foreknow.adversaries.implications.implications import (
    ImplicationsWitness,
)
from foreknow.auditing.remarks.remark import Reader
from foreknow.features.skylines.counts_page import CountsPage
from foreknow.features.skylines.curves import DisclosureCurves
from foreknow.report.blocks import (
    Block,
    Cell,
    Figure,
    Heading,
    Later,
    Row,
    Sentence,
    Table,
    bar_cell,
)
from foreknow.report.chart import STYLES, Chart, Series, amounts, shares
from foreknow.report.knowledge import NOUN, Terms, values_text
from foreknow.report.known_implications import implications_text
from foreknow.report.scope import sentences
from foreknow.report.words import group_words, is_certain, named, percent, reaches_just
from foreknow.wording import noun_of
from foreknow_judge.text import number, some

_ALL, _HALF = Fraction(1), Fraction(1, 2)
_KINDS = "implications", "negations"


class CurvesPage(CountsPage[DisclosureCurves]):
    """Both curves of a value, or of any."""

    serves = DisclosureCurves
    eyebrow = "Disclosure curves of"
    promise = "Every point is exact: some knowledge of that amount discloses exactly this."
    kept = "it shows who can be found out first, and by which knowledge"

    @property
    def headline(self) -> str:
        """Say what the page is about."""
        value = self.result.value
        what = f"any {_noun(self.result)}" if value is None else named(value)
        return f"How much pieces of knowledge disclose: {what}"

    @property
    def notes(self) -> list[str]:
        """Notes about what the curves do not cover."""
        curves = self.result
        holders = Terms.of(curves.counts.semantics).counted
        return sentences(Reader(curves.scope, _noun(curves), holders))

    def blocks(self) -> Iterator[Block]:
        """Yield the figure of both curves, and a table of their points.

        A curve says how sure an adversary can be, for each number of pieces of knowledge; one is of
        implications, the other of negations.
        """
        curves, noun = self.result, _noun(self.result)
        yield Sentence(key_sentence(curves), "lead")
        yield Sentence(
            f"An implication says: if this person has this {noun}, then that person has that "
            f"{noun}. A negation says that a person does not have a certain {noun}; it reveals "
            "less. Nobody can predict which of them an adversary knows, so the figures are for "
            "the worst ones.",
            "note",
            whole=True,
        )
        yield Later(lambda: [_figure(curves)])
        yield Heading("Point by point", "points")
        rows: list[Row] = []
        for k, worst, mild in _points(curves):
            bars = _bar_cell(worst), _bar_cell(mild)
            rows.append((Cell(number(k), "strong"), *bars, _target(worst), known_text(worst)))
        yield Table(
            (*_HEAD, f"{_WHO} these implications"),
            rows,
            left=(3, 4),
            style="curve",
            roomy=(3, 4),
            bars=True,
        )


_WHO = "by an adversary who knows"
_HEAD = ("pieces", *_KINDS, "found out")


def _points(curves: DisclosureCurves) -> Iterator[tuple[int, Disclosure, Disclosure]]:
    return zip(curves.ks, curves.implications, curves.negations, strict=True)


def _noun(curves: DisclosureCurves) -> str:
    return NOUN if curves.sensitive is None else noun_of(curves.sensitive)


def _bar_cell(disclosure: Disclosure) -> Cell:
    return bar_cell(sure_text(disclosure), disclosure.probability)


# ---- words ----------------------------------------------------------------------------------


def key_sentence(curves: DisclosureCurves) -> str:
    """A sentence that says how many pieces it takes to be likely right, and to be certain."""
    to_be_likely = _pieces_needed(curves, certain=False)
    to_be_certain = _pieces_needed(curves, certain=True)
    if to_be_likely is None:
        highest = percent(curves.implications[-1], _ALL, 1, "up")
        return f"With {_pieces(curves.ks[-1])}, nobody can be more than {highest} sure."
    if to_be_likely == to_be_certain:
        return f"It takes {to_be_likely} to be certain."
    certain_text = "" if to_be_certain is None else f", and {to_be_certain} to be certain"
    return f"It takes {to_be_likely} to be more likely right than wrong{certain_text}."


def _pieces_needed(curves: DisclosureCurves, certain: bool) -> str | None:
    """How many implications, or negations, it takes, in words; None if none suffice.

    They suffice to be certain or, if not `certain`, to be more likely right than wrong.
    """
    n_implications = _first(curves, curves.implications, certain)
    n_negations = _first(curves, curves.negations, certain)
    if n_implications is None:
        return None
    if n_implications == n_negations:
        return (
            f"{_pieces(n_implications)} of either kind"
            if n_implications
            else "nothing but the release"
        )
    # Implications say more than negations, so it never takes more of them.
    implications_text = some(n_implications, "implication", "implications")
    if n_negations is None:
        return f"{implications_text}, or more than {some(curves.ks[-1], 'negation', 'negations')},"
    return f"{implications_text} or {some(n_negations, 'negation', 'negations')}"


def _pieces(k: int) -> str:
    return some(k, "piece of knowledge", "pieces of knowledge")


def _first(
    curves: DisclosureCurves, disclosures: Sequence[Disclosure], certain: bool
) -> int | None:
    """The fewest pieces at which someone is certain, or more likely right than wrong.

    None if no number of pieces on the curve is enough.
    """
    for k, disclosure in zip(curves.ks, disclosures, strict=True):
        # Above one half: neither below it nor just at it.
        likely = not (disclosure.below(_HALF) or reaches_just(disclosure, _HALF))
        if is_certain(disclosure, _ALL) or (likely and not certain):
            return k
    return None


def sure_text(disclosure: Disclosure) -> str:
    """Write a probability as a percentage; 100% only where it is certain."""
    return percent(disclosure, _ALL, 1)


def _target(disclosure: Disclosure) -> str:
    witness = disclosure.witness
    if not isinstance(witness, (FactsWitness, ImplicationsWitness)):
        return "–"
    return f"{named(disclosure.value)}, of a member of {group_words(witness.target_group)}"


def known_text(disclosure: Disclosure) -> str:
    """A few words about what the adversary knows who attains a point of a curve."""
    match disclosure.witness:
        case ImplicationsWitness() as witness if witness.implications:
            knowledge = implications_text(witness)
            return f"{knowledge[0].upper()}{knowledge[1:]}."
        case FactsWitness() as witness if witness.ruled_out:
            return f"The target does not have {values_text(witness.ruled_out)}."
    return "Nothing but the release." if disclosure.probability else "There is nothing to find out."


def _hover(k: int, kind: str, disclosure: Disclosure) -> str:
    title = f"{some(k, kind, f'{kind}s')}: {sure_text(disclosure)}"
    return f"{title}\nFound out: {_target(disclosure)}\n{known_text(disclosure)}"


# ---- the figure -----------------------------------------------------------------------------


def _figure(curves: DisclosureCurves) -> Figure:
    title = "How sure an adversary becomes, by pieces of knowledge"
    caption = "Point at a mark to read what the adversary knows there; the table has it, too."
    return Figure("curves", title, curves_figure(curves), caption, level=3)


def curves_figure(curves: DisclosureCurves) -> Chart:
    """A chart of both curves: how sure an adversary is, by pieces of knowledge."""
    ks, lines = curves.ks, []
    # Marks get small where there are many.
    size = 1 if len(ks) <= 60 else 0.4
    curves_by_kind = curves.implications, curves.negations
    for name, disclosures, style in zip(_KINDS, curves_by_kind, STYLES, strict=False):
        color, symbol, dash = style
        chances, texts = [], []
        for k, disclosure in zip(ks, disclosures, strict=True):
            chances.append(disclosure.probability)
            texts.append(_hover(k, name[:-1], disclosure))
        lines.append(Series(ks, chances, name, color, texts, symbol, dash, 3, size))
    secret_text = f"some {_noun(curves)}" if curves.value is None else named(curves.value)
    margin = max(ks[-1], 1) / 40  # at both ends, for the marks
    axis = amounts("pieces of knowledge (k)", ks[-1], room=margin)
    return Chart(axis, shares(f"how sure of {secret_text}, at worst"), lines)
