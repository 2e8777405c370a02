"""Sentences: what a verdict means, as one would say it to a privacy officer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from foreknow.adversaries.facts import Facts
from foreknow.adversaries.facts_witness import FactsWitness
from foreknow.adversaries.implications import Implications
from foreknow.adversaries.implications_witness import ImplicationsWitness
from foreknow.adversaries.negations import Negations
from foreknow.adversaries.priors import Priors
from foreknow.adversaries.priors_judged import PriorsWitness
from foreknow.auditing import Audit, Verdict
from foreknow.counts import Semantics
from foreknow.policy import Policy, Requirement
from foreknow.report.implications_words import (
    implication_details,
    known_implications,
    known_negations,
    used_implications,
)
from foreknow.report.percent import is_certain, limit_text, percent, reaches_just, times_text
from foreknow.report.priors_words import (
    known_priors,
    prior_details,
    share_text,
    short_priors,
    used_prior,
)
from foreknow.report.terms import NOUN, Terms
from foreknow.report.words import (
    group_text,
    group_words,
    listing,
    named,
    noun_of,
    number,
    some,
    visible,
)

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


def telling(
    adversary: Any, witness: Any = None, noun: str = NOUN, semantics: Semantics = "single"
) -> Telling:
    """Put a kind of knowledge into words; the one place that tells kinds apart.

    Parameters
    ----------
    adversary : Adversary
    witness : Witness, optional
        With it, the facts that are used; without it, the amounts that are allowed.
    noun : str
        What a sensitive value is called.
    semantics : {"single", "set", "multiset"}
        Of the release, which a witness knows by itself.
    """
    match adversary, witness:
        case Facts(), FactsWitness():
            return facts_used(adversary, witness, noun)
        case Facts(), _:
            terms = Terms(noun, semantics)
            known = terms.known(adversary.l, adversary.k, adversary.m)
            knows = f"knows up to {known}" if known else "knows nothing but the release"
            short = terms.short(adversary.l, adversary.k, adversary.m)
            return Telling(knows, short, nobody=witness is None)
        case Negations(), FactsWitness():
            told = facts_used(Facts(l=adversary.k), witness, noun)
            return replace(told, short=some(adversary.k, "negation", "negations"))
        case Negations(), _:
            short = some(adversary.k, "negation", "negations")
            return Telling(known_negations(adversary.k, noun), short, nobody=witness is None)
        case Implications(), ImplicationsWitness():
            return Telling(
                used_implications(witness),
                some(adversary.k, "implication", "implications"),
                f"a member of {group_words(witness.target_group)}",
                implication_details(witness),
            )
        case Implications(), _:
            short = some(adversary.k, "implication", "implications")
            return Telling(known_implications(adversary.k, noun), short, nobody=witness is None)
        case Priors(), PriorsWitness():
            whose = f"a member of {group_words(witness.group)}"
            return Telling(
                used_prior(witness), short_priors(adversary), whose, prior_details(witness)
            )
        case Priors(), _:
            short = short_priors(adversary)
            return Telling(known_priors(adversary, noun), short, nobody=witness is None)
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
    found, limit = verdict.disclosure, verdict.limit
    if found.value is None:
        return f"Nobody in the release has any {noun} that this requirement is about."
    value, bound = named(found.value), _limit(verdict)
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
    elif found.bounded:
        bound += "; that is an upper bound, since the group is out of reach of an exact answer"
    return f"{who} who {told.knows} can be {sure} that {told.whose} has {value}; {bound}."


def _limit(verdict: Verdict) -> str:
    times = verdict.point.below
    if not verdict.point.relative:
        return f"your limit is {limit_text(times)}"
    before = verdict.disclosure.prior
    if before is None:
        return f"your limit is {times_text(times)} times what was likely before"
    return (
        f"your limit is {share_text(verdict.limit)}, {times_text(times)} times what was likely "
        f"before ({share_text(before)})"
    )


def group_of(verdict: Verdict) -> str:
    """Name the group of the person found out, for a table; a dash where there is none."""
    witness: Any = verdict.disclosure.witness
    if isinstance(witness, PriorsWitness):
        return group_text(witness.group)
    known = isinstance(witness, (FactsWitness, ImplicationsWitness))
    return group_text(witness.target_group) if known else "–"


def adversary_phrase(adversary: Any, noun: str = "value", semantics: Semantics = "single") -> str:
    """Say what an adversary may know, after "who" or "someone who".

    >>> adversary_phrase(Facts(l=2, k=5, m=2))
    "knows up to 2 values the target does not have, 5 other people's values, and 2 relatives"
    """
    return telling(adversary, None, noun, semantics).knows


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


def facts_used(facts: Facts, witness: FactsWitness, noun: str = NOUN) -> Telling:
    """Put the facts of a witness into words."""
    terms = Terms(noun, witness.semantics, named(witness.value))
    known = sum(witness.known.values())
    ruled_out = _ruled_out(witness, terms)
    others = [
        part
        for part in (
            terms.people(known) if known else "",
            terms.relatives(witness.family) if witness.family else "",
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
    short = terms.short(facts.l, facts.k, facts.m)
    return Telling(knows, short, whose, _facts_details(witness, ruled_out, terms))


def _facts_details(
    witness: FactsWitness, ruled_out: str, terms: Terms
) -> tuple[tuple[str, str], ...]:
    target = f"in {group_words(witness.target_group)}"
    details = [("The target", f"{target}; {ruled_out}" if ruled_out else target)]
    if witness.known_group is not None:
        bag = [f"{named(value)} × {number(count)}" for value, count in witness.known.items()]
        told = listing(bag, most=8) if terms.single else terms.people(sum(witness.known.values()))
        details.append(("Known people", f"in {group_words(witness.known_group)}: {told}"))
    if witness.family_group is not None:
        verb = "if that person" if witness.family == 1 else "if any of them"
        details.append(
            (
                some(witness.family, "relative", "relatives").capitalize(),
                f"in {group_words(witness.family_group)}; {verb} has {terms.value}, so has the "
                "target",
            )
        )
    return tuple(details)


def _ruled_out(witness: FactsWitness, terms: Terms) -> str:
    if not witness.ruled_out:
        return ""
    values = [named(value) for value in witness.ruled_out]
    return terms.only_with(listing(values, "or", most=_MOST_RULED_OUT))
