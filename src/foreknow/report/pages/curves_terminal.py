"""Terminal: disclosure curves as a table for Rich, at 80 columns and without colour too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.witness import FactsWitness
from foreknow.adversaries.implications.witness import Implication, ImplicationsWitness
from foreknow.auditing.curves import DisclosureCurves
from foreknow.data.labels import Label
from foreknow.report.console import plain_table, writer
from foreknow.report.terms import NOUN
from foreknow.report.words import (
    group_words,
    is_certain,
    listing,
    named,
    noun_of,
    number,
    percent,
    some,
    visible,
)

_ALL = Fraction(1)
_HALF = Fraction(1, 2)
_LONGEST = 32
_MOST_VALUES = 8


def noun_for(sensitive: str | None) -> str:
    """What a sensitive value is called."""
    return NOUN if sensitive is None else noun_of(sensitive)


def curves_title(curves: DisclosureCurves) -> str:
    """Say what the page is about."""
    what = f"any {noun_for(curves.sensitive)}" if curves.value is None else named(curves.value)
    return f"What pieces of knowledge disclose: {what}"


def pieces_explained(noun: str) -> str:
    """Say what a piece of knowledge is, to somebody who has never heard of one."""
    return (
        f"An implication says: if this person has this {noun}, then that person has that {noun}. "
        f"A negation says that a person does not have some {noun}; it is the weaker kind. Nobody "
        "can tell which of them somebody knows, so the worst are taken."
    )


def key_sentence(curves: DisclosureCurves) -> str:
    """Say how many pieces it takes to be more likely right than wrong, and to be certain."""
    half = _either(curves, certain=False)
    sure = _either(curves, certain=True)
    if half is None:
        end = chance_text(curves.implications[-1])
        return f"With {_pieces(curves.ks[-1])}, nobody can be more than {end} sure."
    if half == sure:
        return f"It takes {half} to be certain."
    then = "" if sure is None else f", and {sure} to be certain"
    return f"It takes {half} to be more likely right than wrong{then}."


def target_text(found: Disclosure) -> str:
    """Say which value is found out, and of whom."""
    witness = found.witness
    if not isinstance(witness, (FactsWitness, ImplicationsWitness)):
        return "–"
    return f"{named(found.value)}, of a member of {group_words(witness.target_group)}"


def known_text(found: Disclosure) -> str:
    """Say in few words what somebody knows who attains a point of a curve."""
    match found.witness:
        case ImplicationsWitness() as witness:
            return _implications(witness)
        case FactsWitness() as witness if witness.ruled_out:
            return f"The target does not have {_values(witness.ruled_out)}."
    return "Nothing but the release." if found.probability else "There is nothing to find out."


def _implications(witness: ImplicationsWitness) -> str:
    begins: dict[tuple[int, int], list[Implication]] = {}
    for each in witness.implications:
        begins.setdefault((each.position, each.person), []).append(each)
    if not begins:
        return "Nothing but the release."
    own = begins.pop((witness.target_position, 0), [])
    parts = [f"the target does not have {_values([each.value for each in own])}"] if own else []
    conditions = []
    for (position, person), several in begins.items():
        same = position == witness.target_position
        where = "the target's group" if same else group_words(several[0].group)
        values = _values([each.value for each in several])
        conditions.append(f"person {number(person)} of {where} has {values}")
    if conditions:
        told = listing(conditions, "or", most=4)
        parts.append(f"if {told}, then the target has {named(witness.value)}")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}."


def _values(values: Iterable[Label]) -> str:
    return listing([named(value) for value in values], "or", most=_MOST_VALUES)


def chance_text(found: Disclosure) -> str:
    """Write a probability as a percentage; 100% only where it is certain."""
    return percent(found, _ALL, 1)


def fraction_text(found: Disclosure) -> str:
    """Write the fraction of a probability; its size where it is very long."""
    exact = str(found.exact)
    if len(exact) <= _LONGEST:
        return exact
    numerator, _, denominator = exact.partition("/")
    return f"{_short(numerator)} / {_short(denominator)}"


def _short(digits: str) -> str:
    if len(digits) <= _LONGEST // 2:
        return digits
    return f"{digits[:8]}… ({number(len(digits))} digits)"


def _either(curves: DisclosureCurves, certain: bool) -> str | None:
    """How many implications, or how many negations, it takes; None where these do not suffice."""
    one = _first(curves, curves.implications, certain)
    other = _first(curves, curves.negations, certain)
    if one is None:
        return None
    if one == other:
        return f"{_pieces(one)} of either kind" if one else "nothing but the release"
    start = some(one, "implication", "implications")
    if other is None:
        return f"{start}, or more than {some(curves.ks[-1], 'negation', 'negations')},"
    return f"{start} or {some(other, 'negation', 'negations')}"


def _pieces(k: int) -> str:
    return some(k, "piece of knowledge", "pieces of knowledge")


def _first(curves: DisclosureCurves, found: Sequence[Disclosure], certain: bool) -> int | None:
    """The fewest pieces at which somebody is certain, or more likely right than wrong."""
    for k, each in zip(curves.ks, found, strict=True):
        if is_certain(each, _ALL) or not (certain or _at_most_half(each)):
            return k
    return None


def _at_most_half(found: Disclosure) -> bool:
    return found.below(_HALF) or found.exact == _HALF


_BAR = 30


def curves_table(curves: DisclosureCurves) -> RenderableType:
    """Lay out both curves, one row for each number of pieces, and say what they mean.

    Parameters
    ----------
    curves : DisclosureCurves

    Returns
    -------
    RenderableType
        For ``rich.print`` or a Rich console; markup in labels has no effect.
    """
    return _CurvesTable(curves)


@dataclass(frozen=True)
class _CurvesTable:
    curves: DisclosureCurves

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        curves, counts = self.curves, self.curves.counts
        text = writer(options.encoding)
        yield Text.assemble(
            text(curves_title(curves), "bold"), "  ", text(visible(curves.name), "dim")
        )
        yield text(
            f"{some(counts.n_people, 'person', 'people')} in "
            f"{some(counts.n_groups, 'group', 'groups')}"
        )
        table = plain_table()
        for title in ("pieces", "implications", "negations"):
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
        for k, worst, mild in zip(curves.ks, curves.implications, curves.negations, strict=True):
            table.add_row(
                text(number(k), "bold"),
                text(chance_text(worst)),
                text(chance_text(mild)),
                text(_bar(mild.probability, worst.probability), "dim"),
            )
        yield table
        yield Padding(text(key_sentence(curves)), (0, 0, 1, 0))


def _bar(mild: float, worst: float) -> str:
    """Draw what negations disclose, and what implications add.

    >>> _bar(0.1, 0.2)
    '===+++'
    """
    own, all_ = round(_BAR * mild), round(_BAR * worst)
    return "=" * own + "+" * (all_ - own)
