"""Naming words: a worst case with everybody's name, as one sentence."""

from __future__ import annotations

from fractions import Fraction

from foreknow.adversaries.disclosure import Disclosure
from foreknow.labels import Label
from foreknow.naming import NamedWitness
from foreknow.report.percent import is_certain, percent
from foreknow.report.terms import Terms
from foreknow.report.words import listing, named


def naming_sentence(witness: NamedWitness) -> str:
    """Say who is found out, through which facts about whom."""
    target, value = named(witness.target), named(witness.value)
    terms = Terms(semantics=witness.semantics, value=value)
    parts = []
    if witness.ruled_out:
        values = listing([named(x) for x in witness.ruled_out], "or")
        parts.append(f"{target} {terms.only_with(values)}")
    who: dict[Label, list[str]] = {}
    for person, has in witness.known:
        who.setdefault(has, []).append(named(person))
    for has, people in who.items():
        have = "have" if len(people) > 1 else "has"
        if not terms.single:
            have = "do not have" if len(people) > 1 else "does not have"
        parts.append(f"{listing(people)} {have} {named(has)}")
    if witness.relatives:
        relatives = listing([named(v) for v in witness.relatives], "or")
        parts.append(f"{target} has {value} if {relatives} has it")
    exact = witness.exact
    found = Disclosure(witness.value, witness.probability, lambda: exact)
    one = Fraction(1)
    sure = "certain" if is_certain(found, one) else f"{percent(found, one)} sure"
    if not parts:
        return f"Someone who knows nothing but the release can be {sure} that {target} has {value}."
    knows = listing([f"that {part}" for part in parts], most=8)
    return f"Someone who knows {knows} can be {sure} that {target} has {value}."
