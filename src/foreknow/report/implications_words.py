"""Words for implications and negations: what is known, and each implication as a sentence."""

from __future__ import annotations

from foreknow.adversaries.implications_witness import Implication, ImplicationsWitness
from foreknow.report.words import group_words, named, number, plural, some

_MOST = 8


def known_implications(k: int, noun: str) -> str:
    """Say how many implications somebody may know, after "who".

    >>> known_implications(3, "disease")
    "knows any 3 implications between people's diseases"
    """
    if not k:
        return "knows nothing but the release"
    return f"knows any {_several(k, 'implication')} between people's {plural(noun)}"


def known_negations(k: int, noun: str) -> str:
    """Say how many negations somebody may know, after "who".

    >>> known_negations(2, "disease")
    'knows any 2 diseases that people do not have'
    """
    if not k:
        return "knows nothing but the release"
    return f"knows any {some(k, noun, plural(noun))} that people do not have"


def _several(k: int, noun: str) -> str:
    return noun if k == 1 else f"{number(k)} {plural(noun)}"


def used_implications(witness: ImplicationsWitness) -> str:
    """Say how many implications are used, after "who"."""
    used = len(witness.implications)
    if not used:
        return "knows nothing but the release"
    ending = f"that end with the target having {named(witness.value)}"
    if used == 1:
        ending = ending.replace("end", "ends", 1)
    return f"knows {some(used, 'implication', 'implications')} {ending}"


def implication_details(witness: ImplicationsWitness) -> tuple[tuple[str, str], ...]:
    """Each implication: whom it begins with, and what it says."""
    told = [("The target", f"in {group_words(witness.target_group)}")]
    first = witness.implications[:_MOST]
    told += [("Implication", implication_sentence(witness, each)) for each in first]
    more = len(witness.implications) - _MOST
    if more > 0:
        told.append(("And", f"{some(more, 'implication', 'implications')} more"))
    return tuple(told)


def implication_sentence(witness: ImplicationsWitness, each: Implication) -> str:
    """One implication in words."""
    value, own = named(each.value), named(witness.value)
    if each.person == 0 and each.position == witness.target_position:
        return f"if the target has {value}, then it has {own}: so it does not have {value}"
    who = f"person {number(each.person)}"
    where = "the target's group" if each.position == witness.target_position else ""
    where = where or group_words(each.group)
    return f"if {who} of {where} has {value}, then the target has {own}"
