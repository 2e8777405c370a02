"""Cards: how a notebook shows what an analysis is given: policies, schemas, tables, measures."""

from __future__ import annotations

from collections.abc import Iterator

from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow.data.utility import Utility
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.report.blocks import Block, Pairs, Sentence
from foreknow.report.figures import measures
from foreknow.report.page import Page, R
from foreknow.report.pages.audit import policy_rows, schema_rows
from foreknow.wording import PEOPLE, Unit, unit_counted
from foreknow_judge.text import some


class Card(Page[R]):
    """The page of an input of an analysis, titled by its type."""

    kept = "it says what an analysis was given"

    @property
    def headline(self) -> str:
        """The name of the type."""
        return self.serves.__name__

    @property
    def unit(self) -> Unit:
        """People: an input counts nothing, and a card of a table of cases names its unit."""
        return PEOPLE


class PolicyCard(Card[Policy]):
    """The card of a policy."""

    serves = Policy

    def blocks(self) -> Iterator[Block]:
        """Its requirements and its columns."""
        yield _pairs(self, policy_rows(self.result, self.result.semantics_of()))


class RequirementCard(Card[Requirement]):
    """The card of one requirement."""

    serves = Requirement

    def __init__(self, result: Requirement) -> None:
        super().__init__(result)
        ((self._title, self._lines),) = policy_rows(Policy([result]))

    @property
    def name(self) -> str:
        """The name of the requirement, if it has one."""
        return "" if self._title == "Requirement 1" else self._title

    def blocks(self) -> Iterator[Block]:
        """The requirement in sentences."""
        yield Sentence(" ".join(self._lines))


class SchemaCard(Card[Schema]):
    """The card of a schema: the columns and their roles."""

    serves = Schema

    def blocks(self) -> Iterator[Block]:
        """The columns by role."""
        yield _pairs(self, schema_rows(self.result))


class MicrodataCard(Card[Microdata]):
    """A table, and what its columns are; it is not read for this, as a large one takes its time."""

    serves = Microdata

    def blocks(self) -> Iterator[Block]:
        """Its size, if it was read, and its columns."""
        table = self.result
        unit = unit_counted(table.schema.unit == "row")
        size = some(len(table), unit.singular, unit.plural) if table.was_read else "not read yet"
        yield _pairs(self, [("Table", [size]), *schema_rows(table.schema)])


class UtilityCard(Card[Utility]):
    """The card of a release's utility."""

    serves = Utility

    def blocks(self) -> Iterator[Block]:
        """Its measures."""
        yield measures(self.result)


def _pairs(card: Card[R], rows: list[tuple[str, list[str]]]) -> Pairs:
    """The rows (title and lines) as pairs; sentences follow each other, others are listed."""
    pairs = []
    for title, lines in rows:
        are_sentences = lines[0].endswith(".")
        pairs.append((title, (" " if are_sentences else "; ").join(lines)))
    return Pairs(card.headline, pairs)
