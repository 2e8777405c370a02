"""Terminal: an audit as a table and sentences for Rich, at 80 columns and without colour too."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.witness import FactsWitness
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.adversaries.implications.witness import ImplicationsWitness
from foreknow.adversaries.priors.disclosure import PriorsWitness
from foreknow.adversaries.priors.priors import Priors
from foreknow.auditing.audit import Audit, Verdict
from foreknow.data.counts import Semantics
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.report.console import Writer, plain_table, writer
from foreknow.report.pages.lattice_words import lattice_line
from foreknow.report.pages.priors_words import (
    known_priors,
    prior_details,
    share_text,
    short_priors,
    used_prior,
)
from foreknow.report.terms import (
    NOUN,
    Terms,
    implication_details,
    known_implications,
    known_negations,
    used_implications,
)
from foreknow.report.words import (
    average_text,
    group_text,
    group_words,
    is_certain,
    limit_text,
    listing,
    named,
    noun_of,
    number,
    percent,
    point_limit,
    reaches_just,
    some,
    times_text,
    visible,
)
from foreknow.utility.utility import Utility

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


def audit_table(audit: Audit) -> RenderableType:
    """Lay out an audit: headline, a row per verdict, a sentence per failing one, utility.

    Parameters
    ----------
    audit : Audit

    Returns
    -------
    RenderableType
        For ``rich.print`` or a Rich console. Labels are shown as they are; markup in them, such
        as ``[red]``, has no effect, and what the console's encoding lacks is escaped.
    """
    return _AuditTable(audit)


@dataclass(frozen=True)
class _AuditTable:
    """An audit that lays itself out once it knows what the console can show."""

    audit: Audit

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        audit, noun = self.audit, sensitive_noun(self.audit.policy)
        text = writer(options.encoding)
        color = "green" if audit.safe else "red"
        yield Text.assemble(
            text(headline(audit), f"bold {color}"), "  ", text(visible(audit.name), "dim")
        )
        yield _table(audit, noun, text)
        for verdict in audit.failures:
            said = Text.assemble(text("✗ ", "bold red"), text(verdict_sentence(verdict, noun)))
            yield Padding(said, (0, 0, 1, 0))
        warning = unprotected_sentence(audit)
        if warning is not None:
            yield Padding(text(f"Note: {warning}", "yellow"), (0, 0, 1, 0))
        yield text(f"Utility: {utility_line(audit.utility)}")
        if audit.lattice is not None:
            yield text(lattice_line(audit.lattice, audit.policy.options.form))


def utility_line(utility: Utility) -> str:
    """Say in one line what the release is worth."""
    said = (
        f"{some(utility.people, 'person', 'people')} in "
        f"{some(utility.groups, 'group', 'groups')} of "
        f"{average_text(utility.average_group_size)} on average "
        f"({number(utility.smallest_group)} to {number(utility.largest_group)})"
    )
    if utility.average_ncp is None:
        return f"{said}."
    return f"{said}; values generalized by {utility.average_ncp:.0%} on average (NCP)."


def _table(audit: Audit, noun: str, text: Writer) -> Table:
    table = plain_table()
    table.add_column("", no_wrap=True)
    table.add_column("what must stay hidden", overflow="fold", max_width=30)
    table.add_column("from who knows", overflow="fold", max_width=20)
    table.add_column("worst", justify="right", no_wrap=True)
    table.add_column("limit", justify="right", no_wrap=True)
    table.add_column("value, and in which group", overflow="fold", max_width=30)
    for place, verdicts in enumerate(by_requirement(audit), 1):
        for verdict in verdicts:
            table.add_row(*_row(verdict, place, noun, audit.counts.semantics, text))
    return table


def _row(verdict: Verdict, place: int, noun: str, semantics: Semantics, text: Writer) -> list[Text]:
    found, limit = verdict.disclosure, verdict.limit
    style = "green" if verdict.safe else "bold red"
    title = requirement_title(verdict.requirement, place)
    about = values_phrase(verdict.requirement, noun, most=4)
    if not title.startswith("Requirement "):
        about = f"{title}: {about}"
    return [
        text("✓ safe" if verdict.safe else "✗ FAILS", style),
        text(about),
        text(telling(verdict.point.adversary, semantics=semantics).short),
        text(percent(found, limit, 1), style),
        text(point_limit(verdict.point, found)),
        text(_where(verdict)),
    ]


def _where(verdict: Verdict) -> str:
    found, group = verdict.disclosure, group_of(verdict)
    if found.value is None:
        return "–"
    return visible(found.value) if group == "–" else f"{visible(found.value)}\nin {group}"
