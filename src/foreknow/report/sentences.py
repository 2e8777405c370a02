"""Sentences: what a verdict means, as one would say it to a privacy officer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from foreknow.adversaries.facts import Facts
from foreknow.adversaries.facts_witness import FactsWitness
from foreknow.auditing import Audit, Verdict
from foreknow.policy import Policy, Requirement
from foreknow.report.percent import is_certain, limit_text, percent, reaches_just
from foreknow.report.words import (
    group_text,
    group_words,
    listing,
    named,
    noun_of,
    number,
    plural,
    some,
    visible,
)

NOUN = "sensitive value"
_MOST_RULED_OUT = 4
_NUMBERED = re.compile(r"(require\[\d+\]|requirement|)")


@dataclass(frozen=True)
class Telling:
    """A kind of knowledge in words.

    Attributes
    ----------
    knows : str
        What goes after "Someone who".
    short : str
        The same for a narrow column of a table.
    whose : str
        Who is found out, such as "a member of group 17".
    details : tuple of (str, str)
        The facts one by one: who, and what is known of them.
    nobody : bool
        Whether it says that nobody has the value, when the probability is 0.
    """

    knows: str
    short: str
    whose: str = "somebody"
    details: tuple[tuple[str, str], ...] = ()
    nobody: bool = False


def telling(adversary: Any, witness: Any = None, noun: str = NOUN) -> Telling:
    """Put a kind of knowledge into words; the one place that tells kinds apart.

    Parameters
    ----------
    adversary : Adversary
    witness : Witness, optional
        With it, the facts that are used; without it, the amounts that are allowed.
    noun : str
        What a sensitive value is called.
    """
    match adversary, witness:
        case Facts(), FactsWitness():
            return _facts_used(adversary, witness, noun)
        case Facts(), _:
            knows = _facts_allowed(adversary, noun)
            return Telling(knows, _facts_short(adversary), nobody=witness is None)
    name = visible(adversary)
    return Telling(f"has the knowledge {name}", name)


# ---- a verdict, an adversary, an audit ----------------------------------------------------


def verdict_sentence(verdict: Verdict, noun: str = NOUN) -> str:
    """Say what an adversary can find out at worst, about whom, and how sure they would be.

    Parameters
    ----------
    verdict : Verdict
    noun : str
        What a sensitive value is called, such as "diagnosis".
    """
    found, limit = verdict.disclosure, verdict.point.below
    if found.value is None:
        return f"Nobody in the release has any {noun} that this requirement is about."
    value, bound = named(found.value), f"your limit is {limit_text(limit)}"
    told = telling(verdict.point.adversary, found.witness, noun)
    if found.probability == 0 and told.nobody:
        return f"Nobody in the release has {value}, so there is nothing to find out; {bound}."
    if verdict.safe:
        who, sure = "Even someone", f"only {percent(found, limit)} sure"
    elif is_certain(found, limit):
        who, sure = "Someone", "certain"
    elif reaches_just(found, limit):
        who, sure = "Someone", f"exactly {percent(found, limit)} sure"
    else:
        who, sure = "Someone", f"{percent(found, limit)} sure"
    if not verdict.safe and reaches_just(found, limit):
        bound += ", which must not be reached"
    return f"{who} who {told.knows} can be {sure} that {told.whose} has {value}; {bound}."


def group_of(verdict: Verdict) -> str:
    """Name the group of the person found out, for a table; a dash where there is none."""
    witness: Any = verdict.disclosure.witness
    return group_text(witness.target_group) if isinstance(witness, FactsWitness) else "–"


def adversary_phrase(adversary: Any, noun: str = "value") -> str:
    """Say what an adversary may know, after "who" or "someone who".

    >>> adversary_phrase(Facts(l=2, k=5, m=2))
    "knows up to 2 values the target does not have, 5 other people's values, and 2 relatives"
    """
    return telling(adversary, None, noun).knows


def headline(audit: Audit) -> str:
    """Say whether the release is safe, and how many requirements hold."""
    verdicts = by_requirement(audit)
    total, failing = len(verdicts), sum(not all(v.safe for v in own) for own in verdicts)
    if total == 1:
        return f"{'Not safe' if failing else 'Safe'}: the requirement {_holds(not failing)}"
    every = "both" if total == 2 else f"all {number(total)}"
    if failing in (0, total):
        word, verb = ("Safe", "hold") if not failing else ("Not safe", "fail")
        return f"{word}: {every} requirements {verb}"
    verb = "fails" if failing == 1 else "fail"
    return f"Not safe: {number(failing)} of {number(total)} requirements {verb}"


def unprotected_sentence(audit: Audit) -> str | None:
    """Warn of values that no requirement is about; None where there are none."""
    if not audit.unprotected:
        return None
    named_values = listing([named(value) for value in audit.unprotected])
    return (
        f"No requirement is about {named_values}: whoever has one of these may be found out, "
        "even with certainty. Add a requirement without values to cover every value."
    )


def _holds(holds: bool) -> str:
    return "holds" if holds else "fails"


def by_requirement(audit: Audit) -> list[tuple[Verdict, ...]]:
    """Give the verdicts of each requirement, in the policy's order; several under a skyline."""
    verdicts = iter(audit.verdicts)
    return [
        tuple(next(verdicts) for _ in requirement.points)
        for requirement in audit.policy.requirements
    ]


def sensitive_noun(policy: Policy) -> str:
    """Name the sensitive attribute as a noun; "sensitive value" where the policy does not."""
    return NOUN if policy.schema is None else noun_of(policy.schema.sensitive)


def requirement_title(requirement: Requirement, place: int) -> str:
    """Name a requirement: its own name, or its place in the policy, from 1."""
    if _NUMBERED.fullmatch(requirement.name):
        return f"Requirement {place}"
    return visible(requirement.name)


def values_phrase(requirement: Requirement, noun: str = NOUN, most: int = 6) -> str:
    """Say which values a requirement is about."""
    if requirement.values is not None:
        return listing([named(value) for value in requirement.values], most=most)
    if not requirement.excluded:
        return f"every {noun}"
    excluded = listing([named(value) for value in requirement.excluded], most=most)
    return f"every {noun} except {excluded}"


# ---- facts --------------------------------------------------------------------------------


def _facts_short(facts: Facts) -> str:
    parts = [
        f"{number(facts.l)} ruled out" if facts.l else "",
        f"{number(facts.k)} {'person' if facts.k == 1 else 'people'}" if facts.k else "",
        f"{number(facts.m)} {'relative' if facts.m == 1 else 'relatives'}" if facts.m else "",
    ]
    return ", ".join(part for part in parts if part) or "the release only"


def _facts_allowed(facts: Facts, noun: str) -> str:
    parts = [
        f"{some(facts.l, noun, plural(noun))} the target does not have" if facts.l else "",
        _others(facts.k, noun),
        some(facts.m, "relative", "relatives") if facts.m else "",
    ]
    parts = [part for part in parts if part]
    if not parts:
        return "knows nothing but the release"
    if len(parts) == 3:
        parts = [f"{parts[0]}, {parts[1]}, and {parts[2]}"]
    return f"knows up to {' and '.join(parts)}"


def _facts_used(facts: Facts, witness: FactsWitness, noun: str) -> Telling:
    known = sum(witness.known.values())
    ruled_out = _ruled_out(witness)
    others = [
        part
        for part in (
            _others(known, noun),
            some(witness.family, "relative", "relatives") if witness.family else "",
        )
        if part
    ]
    if ruled_out and others:
        joint = ", " if len(others) == 2 else " and "
        knows = f"knows that the target {ruled_out}{joint}knows {' and '.join(others)}"
    elif ruled_out:
        knows = f"knows that the target {ruled_out}"
    elif others:
        knows = f"knows {' and '.join(others)}"
    else:
        knows = "knows nothing but the release"
    whose = f"a member of {group_words(witness.target_group)}"
    return Telling(knows, _facts_short(facts), whose, _facts_details(witness, ruled_out))


def _facts_details(witness: FactsWitness, ruled_out: str) -> tuple[tuple[str, str], ...]:
    target = f"in {group_words(witness.target_group)}"
    details = [("The target", f"{target}; {ruled_out}" if ruled_out else target)]
    if witness.known_group is not None:
        bag = [f"{named(value)} × {number(count)}" for value, count in witness.known.items()]
        where = f"in {group_words(witness.known_group)}"
        details.append(("Known people", f"{where}: {listing(bag, most=8)}"))
    if witness.family_group is not None:
        value = named(witness.value)
        verb = "if that person" if witness.family == 1 else "if any of them"
        details.append(
            (
                some(witness.family, "relative", "relatives").capitalize(),
                f"in {group_words(witness.family_group)}; {verb} has {value}, so has the target",
            )
        )
    return tuple(details)


def _ruled_out(witness: FactsWitness) -> str:
    if not witness.ruled_out:
        return ""
    values = [named(value) for value in witness.ruled_out]
    return f"does not have {listing(values, 'or', most=_MOST_RULED_OUT)}"


def _others(known: int, noun: str) -> str:
    if not known:
        return ""
    return (
        f"one other person's {noun}"
        if known == 1
        else f"{number(known)} other people's {plural(noun)}"
    )
