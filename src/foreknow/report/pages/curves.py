"""Disclosure curves: implications beside negations, as a figure, a table and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from markupsafe import Markup
from rich.console import RenderableType
from rich.padding import Padding

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.witness import FactsWitness
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.adversaries.implications.witness import Implication, ImplicationsWitness
from foreknow.auditing.audit import Verdict
from foreknow.auditing.curves import DisclosureCurves, curves_at
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label
from foreknow.report.console import Writer, plain_table, titled
from foreknow.report.figures import (
    LIMIT,
    OWN,
    base_layout,
    escape,
    hover_text,
    last_below,
    limit_line,
    limit_note,
    mark_of_policy,
    note_beside,
    steps,
)
from foreknow.report.knowledge import NOUN
from foreknow.report.page import Grid, Page, document, fragment, script_json
from foreknow.report.words import (
    group_words,
    is_certain,
    listing,
    named,
    noun_of,
    number,
    percent,
    some,
)

_ALL, _HALF = Fraction(1), Fraction(1, 2)
_LONGEST, _MOST_VALUES, _BAR = 32, 8, 30


class CurvesPage(Page[DisclosureCurves]):
    """Both curves of a value, or of any."""

    serves = DisclosureCurves
    kept = "it says who is found out first, and by which knowledge"

    @property
    def headline(self) -> str:
        """Say what the page is about."""
        value = self.result.value
        what = f"any {_noun(self.result)}" if value is None else named(value)
        return f"What pieces of knowledge disclose: {what}"

    def html(self) -> str:
        """Write the page: the figure, and every point of it in tables."""
        curves, noun = self.result, _noun(self.result)
        rows = [
            {
                "k": number(k),
                "chances": (chance_text(worst), chance_text(mild)),
                "widths": (f"{100 * worst.probability:.2f}", f"{100 * mild.probability:.2f}"),
                "fractions": (fraction_text(worst), fraction_text(mild)),
                "targets": (_target(worst), _target(mild)),
                "known": (known_text(worst), known_text(mild)),
            }
            for k, worst, mild in _points(curves)
        ]
        texts = [[_hover(k, "implication", worst) for k, worst, _ in _points(curves)]]
        texts += [[_hover(k, "negation", mild) for k, _, mild in _points(curves)]]
        return document(
            "curves.html.j2",
            kept=self.kept,
            heading=self.headline,
            name=curves.name,
            scope=_scope(curves.counts),
            key=key_sentence(curves),
            explanation=f"An implication says: if this person has this {noun}, then that person "
            f"has that {noun}. A negation says that a person does not have some {noun}; it is the "
            "weaker kind. Nobody can tell which of them an adversary knows, so the worst are "
            "taken.",
            figure=script_json(curves_figure(curves, texts)),
            rows=rows,
        )

    def summary(self) -> str:
        """A row for each number of pieces."""
        rows = [(str(k), chance_text(a), chance_text(b)) for k, a, b in _points(self.result)]
        grid = Grid(("pieces", "implications", "negations"), rows, left=())
        notes = [key_sentence(self.result)]
        return fragment(self.headline, self.result.name, grids=[grid], notes=notes)

    def terminal(self, text: Writer) -> Iterator[RenderableType]:
        """A row for each number of pieces, with bars, and what it means."""
        yield titled(text, self.headline, self.result.name)
        yield text(_scope(self.result.counts))
        table = plain_table(numbers=("pieces", "implications", "negations"))
        table.add_column("", no_wrap=True)
        for k, worst, mild in _points(self.result):
            table.add_row(
                text(number(k), "bold"),
                text(chance_text(worst)),
                text(chance_text(mild)),
                text(_bar(mild.probability, worst.probability), "dim"),
            )
        yield table
        yield Padding(text(key_sentence(self.result)), (0, 0, 1, 0))


PAGE = CurvesPage


def _points(curves: DisclosureCurves) -> Iterator[tuple[int, Disclosure, Disclosure]]:
    return zip(curves.ks, curves.implications, curves.negations, strict=True)


def _noun(curves: DisclosureCurves) -> str:
    return NOUN if curves.sensitive is None else noun_of(curves.sensitive)


def _scope(counts: GroupCounts) -> str:
    people = some(counts.n_people, "person", "people")
    return f"{people} in {some(counts.n_groups, 'group', 'groups')}"


def _bar(mild: float, worst: float) -> str:
    """Draw what negations disclose, and what implications add.

    >>> _bar(0.1, 0.2)
    '===+++'
    """
    own, all_ = round(_BAR * mild), round(_BAR * worst)
    return "=" * own + "+" * (all_ - own)


# ---- words ----------------------------------------------------------------------------------


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
    """The fewest pieces at which someone is certain, or more likely right than wrong."""
    for k, each in zip(curves.ks, found, strict=True):
        likely = not (each.below(_HALF) or each.exact == _HALF)
        if is_certain(each, _ALL) or (likely and not certain):
            return k
    return None


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


def _target(found: Disclosure) -> str:
    witness = found.witness
    if not isinstance(witness, (FactsWitness, ImplicationsWitness)):
        return "–"
    return f"{named(found.value)}, of a member of {group_words(witness.target_group)}"


def known_text(found: Disclosure) -> str:
    """Say in few words what the adversary knows who attains a point of a curve."""
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
        some_of = listing(conditions, "or", most=4)
        parts.append(f"if {some_of}, then the target has {named(witness.value)}")
    said = "; ".join(parts)
    return f"{said[0].upper()}{said[1:]}."


def _values(values: Iterable[Label]) -> str:
    return listing([named(value) for value in values], "or", most=_MOST_VALUES)


def _hover(k: int, kind: str, found: Disclosure) -> str:
    head = f"{some(k, kind, f'{kind}s')}: {chance_text(found)} = {fraction_text(found)}"
    return hover_text(head, f"Found out: {_target(found)}", known_text(found))


# ---- the figure -----------------------------------------------------------------------------

# Middle tones as in the other figures; dashes and marks tell the lines apart in grey.
_STYLES = (("implications", OWN, "solid", "circle"), ("negations", "#cf6a10", "dash", "square"))


def curves_figure(
    curves: DisclosureCurves, texts: Sequence[Sequence[str]] | None = None
) -> dict[str, Any]:
    """Draw both curves; `texts` are shown at the points of each, percentages when left out."""
    ks, both = curves.ks, (curves.implications, curves.negations)
    lines = []
    for place, ((name, color, dash, symbol), found) in enumerate(zip(_STYLES, both, strict=True)):
        plain = [
            f"{k} {name if k != 1 else name[:-1]}: {chance_text(d)}"
            for k, d in zip(ks, found, strict=True)
        ]
        lines.append(
            {
                "type": "scatter",
                "x": list(ks),
                "y": [d.probability for d in found],
                "text": plain if texts is None else list(texts[place]),
                "mode": "lines+markers" if len(ks) <= 60 else "lines",
                "name": name,
                "line": {"color": color, "dash": dash, "width": 3},
                "marker": {"color": color, "symbol": symbol, "size": 9},
                "hovertemplate": "%{text}<extra></extra>",
                "cliponaxis": False,
            }
        )
    what = f"some {_noun(curves)}" if curves.value is None else named(curves.value)
    layout = base_layout(
        "pieces of knowledge (k)",
        f"how sure of {escape(what)}, at worst",
        height=430,
        percent=True,
        top_first=False,
    )
    room = max(ks[-1], 1) / 40  # at both ends, for the marks
    tick = (1 if ks[-1] <= 14 else 2) if ks[-1] <= 24 else None
    layout["xaxis"] |= {"range": [-room, ks[-1] + room], "dtick": tick}
    return {"data": lines, "layout": layout}


def with_limit(
    figure: dict[str, Any], k: int, found: Disclosure, limit: Fraction
) -> dict[str, Any]:
    """Add a requirement's point and its limit to a figure of curves."""
    said, high = percent(found, limit, 1), found.probability > 0.85
    marker = {"symbol": "diamond-open", "size": 17, "color": LIMIT, "line": {"width": 3}}
    notes = [note_beside(k, found, said, above=False), limit_note(limit, left=high)]
    return {
        "data": [*figure["data"], mark_of_policy(k, found, said, marker)],
        "layout": {**figure["layout"], "shapes": [limit_line(limit)], "annotations": notes},
    }


# ---- a section of an audit's page -----------------------------------------------------------

# As far as the paper's figure goes; and twice as far as a small requirement.
_LEAST = 12


def curves_section(counts: GroupCounts, verdict: Verdict, noun: str) -> tuple[Markup | None, str]:
    """Draw the curves of a verdict's worst value; None for other knowledge, or no value."""
    adversary, found = verdict.point.adversary, verdict.disclosure
    if found.value is None or found.witness is None:
        return None, ""
    if not isinstance(adversary, (Implications, Negations)):
        return None, ""
    k = adversary.k
    ks = tuple(range(max(2 * k, _LEAST) + 1)) if k <= _LEAST else steps(k)
    curves = curves_at(counts, ks, found.value, sensitive=noun)
    figure = with_limit(curves_figure(curves), k, found, verdict.limit)
    return script_json(figure), _caption(counts, verdict, adversary, ks[-1])


def _caption(
    counts: GroupCounts, verdict: Verdict, adversary: Implications | Negations, last: int
) -> str:
    kind = "implication" if isinstance(adversary, Implications) else "negation"
    value, limit = verdict.disclosure.value, verdict.limit
    most = last_below(lambda k: type(adversary)(k).disclosure(counts, value), limit, last)
    known = f"{some(most, kind, f'{kind}s')} {'is' if most == 1 else 'are'} known"
    holds = f"holds while at most {known}"
    if most < 0:
        holds = "is reached without any knowledge"
    elif most == 0:
        holds = f"holds only while no {kind} is known"
    elif most == last:
        holds = f"still holds when {known}"
    asked = some(adversary.k, kind, f"{kind}s")
    return f"The limit for {named(value)} {holds}; the policy asks for {asked}."
