"""Implications and negations in words: how many are known, and those of a worst case."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from foreknow.adversaries.facts.facts import FactsWitness
from foreknow.adversaries.implications.implications import (
    Implication,
    Implications,
    ImplicationsWitness,
    Negations,
)
from foreknow.report.knowledge import NOTHING, Description, ruled_out, values_text
from foreknow.report.words import group_words, named, plural, singular
from foreknow.wording import listing
from foreknow_judge.text import number, some


def described(adversary: Any, witness: Any, noun: str) -> Description | None:
    """Describe implications or negations; see `foreknow.report.knowledge.describe`."""
    is_hypothetical = witness is None
    match adversary, witness:
        case Negations(k), FactsWitness():
            return replace(ruled_out(k, witness, noun), short=some(k, "negation", "negations"))
        case Negations(k), _:
            amount_text = some(k, singular(noun), plural(noun))
            knows = f"knows any {amount_text} that people do not have" if k else NOTHING
            return Description(knows, some(k, "negation", "negations"), nobody=is_hypothetical)
        case Implications(k), ImplicationsWitness():
            return _implications_used(k, witness)
        case Implications(k), _:
            amount_text = "implication" if k == 1 else f"{number(k)} implications"
            knows = f"knows any {amount_text} between people's {plural(noun)}" if k else NOTHING
            return Description(
                knows, some(k, "implication", "implications"), nobody=is_hypothetical
            )
    return None


def _implications_used(k: int, witness: ImplicationsWitness) -> Description:
    """A description of the implications ("if this, then that") that a witness uses.

    `k` is how many are allowed.
    """
    n_used = len(witness.implications)
    amount = some(n_used, "implication", "implications")
    value, verb = named(witness.value), "ends" if n_used == 1 else "end"
    details = [("The target", f"in {group_words(witness.target_group)}")]
    if n_used:
        details.append((amount.capitalize(), implications_text(witness)))
    return Description(
        f"knows {amount} that {verb} with the target having {value}" if n_used else NOTHING,
        some(k, "implication", "implications"),
        f"a member of {group_words(witness.target_group)}",
        tuple(details),
    )


def implications_text(witness: ImplicationsWitness) -> str:
    """The implications of a witness as text, gathered by the people in their conditions."""
    by_person: dict[tuple[int, int], list[Implication]] = {}
    for implication in witness.implications:
        by_person.setdefault((implication.position, implication.person), []).append(implication)
    sentences, value = [], named(witness.value)
    # Conditions about the target itself say that it does not have these values.
    if about_target := by_person.pop((witness.target_position, 0), []):
        values = values_text(implication.value for implication in about_target)
        conclusion = f"does not have {values}" if len(about_target) == 1 else "has none of these"
        sentences.append(f"if the target has {values}, then it has {value}: so it {conclusion}")
    premises = []
    for (position, person), same_person in by_person.items():
        is_in_target_group = position == witness.target_position
        group_text = (
            "the target's group" if is_in_target_group else group_words(same_person[0].group)
        )
        values = values_text(implication.value for implication in same_person)
        premises.append(f"person {number(person)} of {group_text} has {values}")
    if premises:
        premise_text = listing(premises, "or", n_shown=4)
        sentences.append(f"if {premise_text}, then the target has {value}")
    return "; ".join(sentences)
