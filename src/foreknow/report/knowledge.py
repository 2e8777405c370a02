"""Knowledge in words: what an adversary may know, and the facts of a worst case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from foreknow.adversaries.adversary import prior_tables
from foreknow.adversaries.facts.facts import Facts, FactsWitness
from foreknow.data.counts import Semantics
from foreknow.data.labels.labels import Label
from foreknow.features import load
from foreknow.report.words import group_words, named, plural, singular
from foreknow.shown_numbers import significant
from foreknow.wording import listing
from foreknow_judge.files.printable import visible
from foreknow_judge.text import number, some

NOUN = "sensitive value"
NOTHING, _ONLY = "knows nothing but the release", "the release only"
_MOST_RULED_OUT = 4


# What describes kinds of knowledge that few policies are about: loaded when one is met.
_OTHERS = {
    "implications": "foreknow.report.known_implications:described",
    "negations": "foreknow.report.known_implications:described",
    "priors": "foreknow.report.known_priors:described",
}

_LINK = "link", "says of someone else: if they have the value, so has the target"


@dataclass(frozen=True)
class Terms:
    """How to speak of facts about a value, or about any, where a person has one value.

    >>> Terms("diagnosis").known(2, 5, 0)
    "2 diagnoses the target does not have and 5 other people's diagnoses"
    """

    noun: str = NOUN
    value: str | None = None

    # head of a column that counts who has a value, and one or several of them
    holders: ClassVar[str] = "People"
    counted: ClassVar[tuple[str, str]] = ("person", "people")
    # one and several facts of each kind, in few words
    things: ClassVar[tuple[tuple[str, str], ...]] = (
        ("value ruled out", "values ruled out"),
        ("person known", "people known"),
        ("link", "links"),
    )
    # the short words and what they mean, each as a sentence to follow it
    legend: ClassVar[tuple[tuple[str, str], ...]] = (
        _LINK,
        ("value ruled out", "is one that the target is known not to have"),
    )

    @staticmethod
    def of(semantics: Semantics, noun: str = NOUN, value: str | None = None) -> Terms:
        """The terms of a semantics."""
        return _TERMS[semantics](noun, value)

    # ---- amounts in a sentence ------------------------------------------------------------

    def known(self, l: int, k: int, m: int) -> str:
        """The facts of these amounts in words, to follow "knows"; empty if there are none.

        l values that the target does not have, k people whose values are known, m people linked to
        the target.
        """
        phrases: list[str] = []
        if l:
            phrases.append(self._values(l))
        if k:
            phrases.append(self.people(k, named_before=bool(l)))
        if m:
            phrases.append(some(m, "link", "links"))
        if len(phrases) == 3:
            phrases = [f"{phrases[0]}, {phrases[1]}, and {phrases[2]}"]
        return " and ".join(phrases)

    def people(self, k: int, named_before: bool = False) -> str:
        """The facts about k other people, whose values are known.

        `named_before` says that the value was named before, so that a pronoun will do.
        """
        if k == 1:
            return f"one other person's {self.noun}"
        return f"{number(k)} other people's {plural(self.noun)}"

    def only_with(self, values: str) -> str:
        """Say of the target what is known of some values; ``values`` are joined by "or"."""
        return f"does not have {values}"

    def of_people(self, values: Mapping[Label, int]) -> str:
        """The people of a group who are known, by the value of each."""
        return listing([f"{named(value)} × {number(n)}" for value, n in values.items()], n_shown=8)

    def have(self, people: int) -> str:
        """The verb for so many known people: "has" or "have"."""
        return "has" if people == 1 else "have"

    # ---- amounts in a table or a figure ---------------------------------------------------

    def short(self, l: int, k: int, m: int) -> str:
        """The facts in a few words; empty if there are none."""
        amounts = zip((l, k, m), self.things, strict=True)
        return ", ".join(
            some(amount, *singular_and_plural) for amount, singular_and_plural in amounts if amount
        )

    @property
    def axes(self) -> tuple[str, str, str]:
        """Titles of the axes of l, k and m."""
        (_, values), (_, people), (_, links) = self.things
        return f"{values} (l)", f"{people} (k)", f"{links} (m)"

    @property
    def explained(self) -> str:
        """The legend as sentences."""
        return " ".join(f"A {term} {meaning}." for term, meaning in self.legend)

    def _values(self, l: int) -> str:
        return f"{some(l, singular(self.noun), plural(self.noun))} the target does not have"


class TermsOfSets(Terms):
    """Words for releases in which people may have several values.

    The first two kinds of facts are other ones: values that the target would have only together
    with the one in question, and people who do not have that one.

    >>> Terms.of("set", "diagnosis", "AIDS").known(2, 5, 0)
    '2 diagnoses that come only with AIDS and 5 people who do not have AIDS'
    """

    things = (
        ("value that comes only with it", "values that come only with it"),
        ("person known not to have it", "people known not to have it"),
        ("link", "links"),
    )
    legend = (
        _LINK,
        (
            "value that comes only with it",
            "is one that the target would have only together with the one in question: had "
            "they this one, they would have that one too",
        ),
        ("person known not to have it", "does not have the value in question"),
    )

    def people(self, k: int, named_before: bool = False) -> str:
        """So many people, of the second kind of facts."""
        holders = "one person who does" if k == 1 else f"{number(k)} people who do"
        return f"{holders} not have {self._value_or_pronoun(named_before)}"

    def only_with(self, values: str) -> str:
        """Say of the target what is known of some values; ``values`` are joined by "or"."""
        return f"would have {values} only together with {self._value_or_pronoun(False)}"

    def of_people(self, values: Mapping[Label, int]) -> str:
        """How many people of a group are known."""
        return self.people(sum(values.values()))

    def have(self, people: int) -> str:
        """The verb of what is known of so many people."""
        return "does not have" if people == 1 else "do not have"

    def _values(self, l: int) -> str:
        come = "comes" if l == 1 else "come"
        several = some(l, singular(self.noun), plural(self.noun))
        return f"{several} that {come} only with {self.value or 'the one in question'}"

    def _value_or_pronoun(self, named_before: bool) -> str:
        if self.value is not None:
            return self.value
        return "it" if named_before else f"the {self.noun} in question"


class TermsOfMultisets(TermsOfSets):
    """Words for releases in which a person may have a value several times."""

    holders = "Occurrences"
    counted = ("time", "times")


_TERMS: dict[Semantics, type[Terms]] = {
    "single": Terms,
    "set": TermsOfSets,
    "multiset": TermsOfMultisets,
}


# ---- each kind of knowledge ----------------------------------------------------------------


@dataclass(frozen=True)
class Description:
    """A kind of knowledge in words.

    `knows` goes after "Someone who", `short` into a narrow column; `whose` is who is found out,
    such as "a member of group 17"; `details` are the facts one by one: who, and what is known.
    `nobody` is whether it says that nobody has the value, when the probability is 0.
    """

    knows: str
    short: str
    whose: str = "someone"
    details: tuple[tuple[str, str], ...] = ()
    nobody: bool = False


def describe(
    adversary: Any, witness: Any = None, noun: str = NOUN, semantics: Semantics = "single"
) -> Description:
    """A description, in words, of an adversary's knowledge.

    With a witness it is the facts that the witness uses; without one, the most facts that are
    allowed.

    `noun` is the name of the sensitive column in a sentence.
    """
    # Without a witness nobody was found to have the value.
    is_of_nobody = witness is None
    match adversary, witness:
        case Facts(), FactsWitness():
            return facts_used(adversary, witness, noun)
        case Facts(l, k, m), _:
            terms = Terms.of(semantics, noun)
            facts = terms.known(l, k, m)
            knows = f"knows up to {facts}" if facts else NOTHING
            return Description(knows, terms.short(l, k, m) or _ONLY, nobody=is_of_nobody)
    if describe_other := _OTHERS.get(getattr(adversary, "key", "")):
        description: Description | None = load(describe_other)(adversary, witness, noun)
        if description is not None:
            return description
    name = visible(adversary)
    return Description(f"has the knowledge {name}", name)


def are_facts(adversary: Any) -> bool:
    """True if an adversary's knowledge is described in the words of `Terms.legend`."""
    return getattr(adversary, "key", None) in ("facts", "negations")


def is_learned(adversary: Any) -> bool:
    """True if the priors of an adversary were learned from the table, and stay with its owner."""
    return any(table.learned for table in prior_tables(adversary))


def ruled_out(k: int, witness: FactsWitness, noun: str) -> Description:
    """A description of the values that a witness rules out, of at most `k`."""
    return facts_used(Facts(l=k), witness, noun)


def facts_used(facts: Facts, witness: FactsWitness, noun: str = NOUN) -> Description:
    """A description of the facts that a witness (a worst case) uses."""
    terms = Terms.of(witness.semantics, noun, named(witness.value))
    n_known_people, ruled_out = sum(witness.known.values()), ""
    if witness.ruled_out:
        values = list(map(named, witness.ruled_out))
        ruled_out = terms.only_with(listing(values, "or", n_shown=_MOST_RULED_OUT))
    phrases = [terms.people(n_known_people)] if n_known_people else []
    phrases += [some(witness.family, "link", "links")] if witness.family else []
    knows = f"knows {' and '.join(phrases)}" if phrases else NOTHING
    if ruled_out:
        # Joined to the phrases that follow: "and" before one, a comma before two.
        joining = ("", " and ", ", ")[len(phrases)]
        knows = f"knows that the target {ruled_out}{joining}{knows if phrases else ''}"
    return Description(
        knows,
        short=terms.short(facts.l, facts.k, facts.m) or _ONLY,
        whose=f"a member of {group_words(witness.target_group)}",
        details=_facts_one_by_one(witness, ruled_out, terms),
    )


def _facts_one_by_one(
    witness: FactsWitness, ruled_out: str, terms: Terms
) -> tuple[tuple[str, str], ...]:
    """Pairs of a title and a text for the target, the known and the linked people of a witness.

    `ruled_out` is a phrase on the values that the target does not have; empty if there are none.
    """
    target = f"in {group_words(witness.target_group)}"
    details = [("The target", f"{target}; {ruled_out}" if ruled_out else target)]
    if witness.known_group is not None:
        people = terms.of_people(witness.known)
        details.append(("Known people", f"in {group_words(witness.known_group)}: {people}"))
    if witness.family_group is not None:
        title, any_of_them = "Linked person", "that person"
        if witness.family > 1:
            title, any_of_them = f"{number(witness.family)} linked people", "any of them"
        condition = f"if {any_of_them} has {terms.value}, so has the target"
        details.append((title, f"in {group_words(witness.family_group)}; {condition}"))
    return tuple(details)


def values_text(values: Iterable[Label]) -> str:
    """List values, any of which may be meant."""
    return listing(map(named, values), "or", n_shown=8)


_ALMOST = Fraction(1, 10**13)


def share_text(chance: Fraction) -> str:
    """Write a probability in percent, with three digits that count; 100% only where it is 1."""
    if 0 < 1 - chance < _ALMOST:
        return "almost 100%"
    return f"{significant(chance * 100, 3, reserved=100)}%"
