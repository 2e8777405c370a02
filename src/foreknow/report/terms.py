"""Terms: what the three amounts of facts are called, under each semantics.

Under ``set`` and ``multiset`` the first two kinds of facts are other facts than under ``single``:
values that the target would have only together with the one in question, and people who do not
have that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.implications.witness import Implication, ImplicationsWitness
from foreknow.auditing.named_people import NamedWitness
from foreknow.data.counts import Semantics
from foreknow.data.labels import Label
from foreknow.report.words import (
    group_words,
    is_certain,
    listing,
    named,
    number,
    percent,
    plural,
    some,
)

NOUN = "sensitive value"


@dataclass(frozen=True)
class Terms:
    """How to speak of facts.

    Attributes
    ----------
    noun : str
        What a sensitive value is called, such as "diagnosis".
    semantics : {"single", "set", "multiset"}
    value : str or None
        The value that the facts are about, as it stands in a sentence; None where it is any.

    Examples
    --------
    >>> Terms("diagnosis").known(2, 5, 0)
    "2 diagnoses the target does not have and 5 other people's diagnoses"
    >>> Terms("diagnosis", "set", "AIDS").known(2, 5, 0)
    '2 diagnoses that come only with AIDS and 5 people who do not have AIDS'
    """

    noun: str = NOUN
    semantics: Semantics = "single"
    value: str | None = None

    @property
    def single(self) -> bool:
        """Whether a person has exactly one value."""
        return self.semantics == "single"

    # ---- amounts in a sentence ------------------------------------------------------------

    def known(self, l: int, k: int, m: int) -> str:  # noqa: E741
        """List the facts of these amounts, after "knows"; empty if there are none."""
        parts = [self.values(l) if l else "", self.people(k, named_before=bool(l)) if k else ""]
        parts = [part for part in (*parts, self.relatives(m) if m else "") if part]
        if len(parts) == 3:
            parts = [f"{parts[0]}, {parts[1]}, and {parts[2]}"]
        return " and ".join(parts)

    def unknown(self, l: int, k: int, m: int) -> str:  # noqa: E741
        """List the kinds of facts of which there are none, after "knows"."""
        none_of = [
            "" if l else self.no_value,
            "" if k else self.nobody,
            "" if m else "no relative",
        ]
        return listing([part for part in none_of if part])

    def values(self, l: int) -> str:  # noqa: E741
        """So many values, of the first kind of facts."""
        several = some(l, self.noun, plural(self.noun))
        return f"{several} {self._of_values(one=l == 1)}"

    def people(self, k: int, named_before: bool = False) -> str:
        """So many people, of the second kind of facts."""
        if self.single:
            if k == 1:
                return f"one other person's {self.noun}"
            return f"{number(k)} other people's {plural(self.noun)}"
        who = "one person who does" if k == 1 else f"{number(k)} people who do"
        return f"{who} not have {self._it(named_before)}"

    def relatives(self, m: int) -> str:
        """So many relatives."""
        return some(m, "relative", "relatives")

    @property
    def no_value(self) -> str:
        """No value, of the first kind of facts."""
        return f"no {self.noun} {self._of_values(one=True)}"

    @property
    def nobody(self) -> str:
        """Nobody, of the second kind of facts."""
        if self.single:
            return f"nobody else's {self.noun}"
        return f"nobody without {self._it(False)}"

    def are_known(self, k: int) -> str:
        """Say that so many people are known; "at most" may stand before 2 or more."""
        if not self.single:
            who = "nobody is" if not k else "one person is" if k == 1 else f"{number(k)} people are"
            return f"{who} known not to have {self._it(False)}"
        who = self.people(k) if k else self.nobody
        return f"{who} {'are' if k > 1 else 'is'} known"

    def only_with(self, values: str) -> str:
        """Say of the target what is known of some values; ``values`` are joined by "or"."""
        if self.single:
            return f"does not have {values}"
        return f"would have {values} only together with {self._it(False)}"

    # ---- amounts in a table or a figure ---------------------------------------------------

    @property
    def things(self) -> tuple[tuple[str, str], tuple[str, str], tuple[str, str]]:
        """One and several facts of each kind, in few words."""
        relatives = "relative", "relatives"
        if self.single:
            return (
                ("value ruled out", "values ruled out"),
                ("person known", "people known"),
                relatives,
            )
        return (
            ("value only with it", "values only with it"),
            ("person without it", "people without it"),
            relatives,
        )

    def short(self, l: int, k: int, m: int) -> str:  # noqa: E741
        """The facts in a few words."""
        first, second = ("ruled out", "") if self.single else ("only with it", " without it")
        parts = [
            f"{number(l)} {first}" if l else "",
            f"{number(k)} {'person' if k == 1 else 'people'}{second}" if k else "",
            f"{number(m)} {'relative' if m == 1 else 'relatives'}" if m else "",
        ]
        return ", ".join(part for part in parts if part) or "the release only"

    def beside(self, l: int, m: int) -> list[str]:  # noqa: E741
        """What is held beside k: values of the first kind of facts, and relatives."""
        values, _, relatives = self.things
        return [some(n, *words) for n, words in ((l, values), (m, relatives)) if n]

    @property
    def axes(self) -> tuple[str, str, str]:
        """Titles of the axes of l, k and m."""
        values, people, relatives = (several for _, several in self.things)
        return f"{values} (l)", f"{people} (k)", f"{relatives} (m)"

    @property
    def k_axis(self) -> str:
        """Title of an axis of k that stands by itself."""
        if self.single:
            return f"other people's {plural(self.noun)} the adversary knows"
        return f"people known not to have {self._it(False)}"

    @property
    def holders(self) -> str:
        """Head of a column that counts who has a value, or how often it occurs."""
        return "Occurrences" if self.semantics == "multiset" else "People"

    @property
    def legend(self) -> tuple[tuple[str, str], ...]:
        """The short words and what they mean, each as a sentence to follow it."""
        relative = (
            "relative",
            "is someone of whom the adversary knows: if this person has the value, so has the "
            "target",
        )
        if self.single:
            return relative, ("ruled out", "are values that the target is known not to have")
        return (
            relative,
            (
                "only with it",
                "are values that the target would have only together with the one in question: "
                "had they one of these, they would have that one too",
            ),
            ("without it", "are people who are known not to have the value in question"),
        )

    # ---- parts ----------------------------------------------------------------------------

    def _of_values(self, one: bool) -> str:
        if self.single:
            return "the target does not have"
        return f"that {'comes' if one else 'come'} only with {self.value or 'the one in question'}"

    def _it(self, named_before: bool) -> str:
        if self.value is not None:
            return self.value
        return "it" if named_before else f"the {self.noun} in question"


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
