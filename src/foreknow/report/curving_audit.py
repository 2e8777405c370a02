"""Curving in an audit: the curves around a requirement about implications or negations."""

from __future__ import annotations

from bisect import bisect_left

from markupsafe import Markup

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.implications import Implications
from foreknow.adversaries.negations import Negations
from foreknow.auditing import Verdict
from foreknow.counts import GroupCounts
from foreknow.curving import curves_at, telling_groups
from foreknow.report.curves import steps
from foreknow.report.curving_figure import curves_figure, with_limit
from foreknow.report.page import script_json
from foreknow.report.words import named, some

# As far as the paper's figure goes; and twice as far as a small requirement.
_LEAST = 12


def curves_section(counts: GroupCounts, verdict: Verdict, noun: str) -> tuple[Markup | None, str]:
    """Draw both curves of a verdict's worst value, with its point and its limit.

    Parameters
    ----------
    counts : GroupCounts
    verdict : Verdict
    noun : str
        What a sensitive value is called.

    Returns
    -------
    figure : Markup or None
        What the page's script draws; None for another kind of knowledge, and where no value is
        disclosed at all.
    caption : str
        How far the release is from its limit.
    """
    adversary, found = verdict.point.adversary, verdict.disclosure
    known = isinstance(adversary, (Implications, Negations))
    if not known or found.value is None or found.witness is None:
        return None, ""
    assert isinstance(adversary, (Implications, Negations))
    curves = curves_at(counts, _pieces(adversary.k), found.value, sensitive=noun)
    figure = with_limit(curves_figure(curves), adversary.k, found, verdict.limit)
    return script_json(figure), _caption(counts, verdict, adversary, curves.ks[-1])


def _pieces(k: int) -> tuple[int, ...]:
    return tuple(range(max(2 * k, _LEAST) + 1)) if k <= _LEAST else steps(k)


def _caption(
    counts: GroupCounts, verdict: Verdict, adversary: Implications | Negations, last: int
) -> str:
    kind = "implication" if isinstance(adversary, Implications) else "negation"
    value, limit = verdict.disclosure.value, verdict.limit
    few = counts
    if isinstance(adversary, Implications):
        few = telling_groups(counts, min(last, counts.n_values), counts.code(value))

    def found(k: int) -> Disclosure:
        return type(adversary)(k).disclosure(few, value)

    # More knowledge is never less disclosure, so the first k that fails is found by halving.
    most = bisect_left(range(last + 1), True, key=lambda k: not found(k).below(limit)) - 1
    asked = f"the policy asks for {some(adversary.k, kind, f'{kind}s')}"
    if most < 0:
        return f"The limit for {named(value)} is reached without any knowledge; {asked}."
    if most == 0:
        return f"The limit for {named(value)} holds only while no {kind} is known; {asked}."
    verb = "is" if most == 1 else "are"
    held = f"{some(most, kind, f'{kind}s')} {verb} known"
    if most == last:
        return f"The limit for {named(value)} still holds when {held}; {asked}."
    return f"The limit for {named(value)} holds while at most {held}; {asked}."
