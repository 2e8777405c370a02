"""What can be learned from a release, in words: estimates, and never verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from foreknow.auditing.audit import Estimate
from foreknow.auditing.learning import Learnt
from foreknow.numbers import percentage
from foreknow.report.knowledge import NOUN, share_text
from foreknow.report.words import (
    group_words,
    limit_text,
    listing,
    named,
    plural,
    signature_words,
    some,
    times_text,
    visible,
)

WHAT_IT_IS = (
    "An estimate, and no verdict: somebody may learn more. The posterior is that of what one "
    "procedure learns from the release, and the same seed learns the same."
)

_NOT_MEASURED = "What can be learned from the release itself was not measured"
_TAKES = "that takes the exact columns of everybody (foreknow audit --people, foreknow inference)"


def learned_sentence(
    by: Sequence[str], probability: float, guesses: Mapping[str, Any], noun: str = NOUN
) -> str:
    """Say what somebody can learn who knows some columns of everybody.

    >>> found = {"people": 100, "learned": 82.0, "statistics": 71.0, "groups": 33.0}
    >>> learned_sentence(["job"], 0.97, found, "diagnosis")
    'Somebody who learns from the release how diagnoses go with job would be up to 97% sure (82% of
    guesses right; 33% by the groups alone, 71% by the statistics alone).'
    """
    many = guesses["people"]
    right, groups, alone = (
        percentage(guesses[name] / many) for name in ("learned", "groups", "statistics")
    )
    columns = listing([visible(name) for name in by], most=8)
    return (
        f"Somebody who learns from the release how {plural(noun)} go with {columns} would be up to "
        f"{percentage(probability, 0, 'up')} sure ({right} of guesses right; {groups} by the "
        f"groups alone, {alone} by the statistics alone)."
    )


def learnt_sentences(
    learnt: Learnt | Literal[False] | None, noun: str = NOUN, *, kept: bool = False
) -> list[str]:
    """Say beside verdicts what can be learned, or that it was not measured.

    `kept`: the report goes out with a release that does not show the columns it is by.
    """
    if learnt is False:
        return [f"{_NOT_MEASURED} here: see foreknow audit."]
    if learnt is None:
        return [f"{_NOT_MEASURED}: {_TAKES}."]
    if kept:
        return [f"What can be learned from the release itself is not said here: {_TAKES}."]
    guesses = learnt.guesses.to_dict()
    said = learned_sentence(learnt.by, learnt.probability, guesses, noun)
    sample = f", from a sample of {learnt.people:,} people: all of them may teach much more"
    of = "" if learnt.whole else sample
    return [f"{said} This is an estimate, and no verdict{of}."]


def estimate_sentences(estimate: Estimate, noun: str = NOUN, *, kept: bool = False) -> list[str]:
    """What came of a requirement on what is learned; `kept`, of columns that are not published."""
    point, found = estimate.point, estimate.disclosure
    adversary: Any = point.adversary
    if kept:
        columns = listing([visible(name) for name in adversary.by], most=8)
        return [
            f"What somebody can learn from the release who knows {columns} of everybody, exactly, "
            "is within the limit. What was found by these columns stays with the owner.",
            WHAT_IT_IS,
        ]
    said = [learned_sentence(adversary.by, found.probability, estimate.details["guesses"], noun)]
    if point.relative:
        limit = f"{times_text(point.below)} times what the statistics alone say"
    else:
        limit = f"{'at most' if point.inclusive else 'below'} {limit_text(point.below)}"
    keeps = "is within the limit" if estimate.within else "is NOT within the limit"
    said.append(f"By this estimate, it {keeps}: {limit}.")
    witness: Any = found.witness
    if witness is not None:
        who = listing(signature_words(witness.signature, witness.signature.values()), most=8)
        between = ""
        if witness.low is not None:
            ends = percentage(witness.low, 0, "down"), percentage(witness.high, 0, "up")
            between = f", between {ends[0]} and {ends[1]} if the statistics are off as samples are"
        alike = some(witness.people, "person there", "people there")
        said.append(
            f"It is highest for {named(witness.value)} of {alike} with {who} in "
            f"{group_words(witness.group)}{between}. What was learned makes "
            f"{percentage(witness.statistics)} sure of anybody with {who}; the group alone, "
            f"{share_text(witness.alone)}."
        )
    return [*said, WHAT_IT_IS]
