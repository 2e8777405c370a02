"""Words for priors: what statistics are known, and how much surer they made somebody."""

from __future__ import annotations

from fractions import Fraction

from foreknow.adversaries.priors.disclosure import PriorsWitness
from foreknow.adversaries.priors.priors import Priors
from foreknow.report.words import group_words, listing, named, number, plural, some, visible


def known_priors(priors: Priors, noun: str) -> str:
    """Say which statistics somebody knows, after "who"."""
    sets = [
        listing([visible(name) for name in table.attributes], most=8) for table in priors.tables
    ]
    beside = "each by itself, " if len(sets) > 1 else ""
    by = listing([f"by {columns}" for columns in sets], "or", most=8)
    each = " (each value by itself)" if priors.semantics == "binary" else ""
    return f"knows how likely {plural(noun)} are {by}, {beside}and these of everybody{each}"


def short_priors(priors: Priors) -> str:
    """The same for a narrow column: by which columns, and how they are read."""
    sets = [", ".join(visible(name) for name in table.attributes) for table in priors.tables]
    return f"priors by {'; '.join(sets)} ({priors.semantics})"


def used_prior(witness: PriorsWitness) -> str:
    """Say which probability told most, after "who"."""
    who = _kind(witness)
    return f"knows that people with {who} have it with probability {share_text(witness.prior)}"


def prior_details(witness: PriorsWitness) -> tuple[tuple[str, str], ...]:
    """The person, what was known before, and what the group alone says."""
    group = group_words(witness.group)
    alike = some(witness.people, "person there is", "people there are")
    alone = Fraction(witness.holders, witness.size)
    return (
        ("The target", f"in {group}, with {_kind(witness)}; {alike} alike"),
        ("Before the release", f"{share_text(witness.prior)} sure of {named(witness.value)}"),
        (
            "By the group alone",
            f"{share_text(alone)}: {number(witness.holders)} of {number(witness.size)} have it",
        ),
    )


def _kind(witness: PriorsWitness) -> str:
    parts = [
        f"{visible(name)} {'missing' if label is None else visible(label)}"
        for name, label in witness.signature.items()
    ]
    return listing(parts, most=8)


def share_text(chance: Fraction) -> str:
    """Write a probability in percent, with three digits that count; 100% only where it is 1."""
    for digits in range(3, 15):
        shown = f"{float(chance * 100):.{digits}g}"
        if shown != "100" or chance == 1:
            return f"{shown}%"
    return "almost 100%"
