"""Named people: who a worst case is about; printed for the owner of the table, never written."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from html import escape

from rich.console import Console, ConsoleOptions, RenderResult

from foreknow.adversaries.disclosure import Disclosure
from foreknow.data.labels.labels import Label
from foreknow.features.skylines.named_people import NamedWitness
from foreknow.report.blocks import Block, Items, Sentence
from foreknow.report.knowledge import Terms
from foreknow.report.page import Page
from foreknow.report.terminal import Laid
from foreknow.report.words import is_certain, named, percent
from foreknow.wording import PEOPLE, Unit, listing
from foreknow_judge.errors import InputError
from foreknow_judge.files.printable import visible

_WARNING = "This page names people and their values. It is for the owner of the data only."


class NamedPeoplePage(Page[NamedWitness]):
    """A worst case in which everybody has a name."""

    serves = NamedWitness
    kept = "it names people and their values"

    @property
    def unit(self) -> Unit:
        """People: it names them."""
        return PEOPLE

    @property
    def headline(self) -> str:
        """A sentence that says who is found out, and through which facts about whom."""
        witness = self.result
        target, value = named(witness.target), named(witness.value)
        terms = Terms.of(witness.semantics, value=value)
        phrases = []
        if witness.ruled_out:
            values = listing(map(named, witness.ruled_out), "or")
            phrases.append(f"{target} {terms.only_with(values)}")
        # People with the same known value share a phrase.
        people_by_value: dict[Label, list[str]] = {}
        for person, value_known in witness.known:
            people_by_value.setdefault(value_known, []).append(named(person))
        for value_known, people in people_by_value.items():
            phrases.append(f"{listing(people)} {terms.have(len(people))} {named(value_known)}")
        if witness.relatives:
            linked = listing(map(named, witness.relatives), "or")
            phrases.append(f"{target} has {value} if {linked} has it")
        exact, limit = witness.exact, Fraction(1)
        disclosure = Disclosure(witness.value, witness.probability, lambda: exact)
        certainty = (
            "certain" if is_certain(disclosure, limit) else f"{percent(disclosure, limit)} sure"
        )
        knows = (
            listing([f"that {phrase}" for phrase in phrases], n_shown=8)
            or "nothing but the release"
        )
        return f"Someone who knows {knows} can be {certainty} that {target} has {value}."

    def html(self) -> str:
        """Refuse: no page names people."""
        raise InputError("no page names people; see NamedWitness.sentence and .statements")

    def summary(self) -> str:
        """The number of people only, as the notebook may be kept."""
        return f"<code>{escape(repr(self.result))}</code>"

    def blocks(self) -> Iterator[Block]:
        """Yield a warning, who it is about, and all that is known."""
        yield Sentence(_WARNING, "warning")
        yield Sentence(self.headline)
        items = []
        for statement in self.result.statements:
            is_untrue = statement in self.result.untrue
            note = "   (not so in this table, but no less possible)" if is_untrue else ""
            items.append(f"{visible(statement)}{note}")
        yield Items(items)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Laid(self.blocks())
