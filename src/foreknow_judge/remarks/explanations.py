"""The judge's verdicts with the witness that an explanation names, if figures agree."""

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
    """True if an explanation is of the same requirement, and its figure is the verdict's.

    `explanation` comes from another program than the judge. If its figure is an upper bound, the
    verdict's may be lower. Limits relative to priors compare posteriors with their priors: two
    values may be equally far above theirs.
    """
    if (explanation.place, explanation.required) != (finding.place, finding.required):
        return False
    if explanation.judged.key not in finding.judged:
        return False
    if explanation.judged.key in _AMOUNTS and explanation.judged.to_dict() != finding.judged:
        return False
    claimed, reached = explanation.found, finding.reached
    if explanation.of_groups or reached is None:
        return bool(explanation.reached == reached)
    claimed_prior, finding_prior = 1, 1
    if explanation.required.relative:
        claimed_prior, finding_prior = claimed.prior or 1, finding.found.prior or 1
    figure = reached / finding_prior
    if claimed.exact is None:  # a bound in floats, so a little more is allowed
        bound = Fraction(claimed.probability) / claimed_prior
        return figure <= bound * (1 + _CLOSE) + _CLOSE
    return bool(claimed.exact / claimed_prior == figure)
