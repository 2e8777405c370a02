"""Explained: the judge's verdicts with the witness that an explanation names, if figures agree."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from foreknow_judge.verdict import Figure, Verdict
from foreknow_judge.verdicts import decided

# Kinds of knowledge whose settings are amounts alone, so that both write them alike.
_AMOUNTS = ("facts", "implications", "negations")
# The largest error of a figure that is known as a float only.
_CLOSE = Fraction(1, 10**9)


def explained(finding: Verdict, explanation: Any) -> Verdict | None:
    """The same verdict with the witness of an explanation; None if that has another figure.

    `explanation` is a `Figure` that says whether it is `safe`. One that is only an upper bound may
    be higher, and is then safe only if the bound is.
    """
    if not _agree(explanation, finding):
        return None
    return decided(explanation, finding.safe and explanation.safe)


def unjudged(explanation: Any) -> Verdict:
    """A verdict by the explanation of a kind of knowledge that the judge does not know."""
    return decided(explanation, explanation.safe)


def _agree(explanation: Figure, finding: Verdict) -> bool:
    """True if an explanation has the figure of a verdict; at least that, if it is a bound."""
    if (explanation.place, explanation.required) != (finding.place, finding.required):
        return False
    if explanation.judged.key not in finding.judged:
        return False
    if explanation.judged.key in _AMOUNTS and explanation.judged.to_dict() != finding.judged:
        return False
    claimed, reached = explanation.found, finding.reached
    if explanation.of_groups or reached is None:
        return bool(explanation.reached == reached)
    # Several may be as far from limits of their own: what counts is how far.
    relative = explanation.required.relative
    claimed_prior, found_prior = (
        (claimed.prior or 1, finding.found.prior or 1) if relative else (1, 1)
    )
    if claimed.exact is None:
        limit = Fraction(claimed.probability) / claimed_prior * (1 + _CLOSE) + _CLOSE
        return reached / found_prior <= limit
    return bool(claimed.exact / claimed_prior == reached / found_prior)
