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
from foreknow.report.words import some


class Card(Page[R]):
    """What is said of something that an analysis is given, under what it is."""

    kept = "it says what an analysis was given"

    @property
    def headline(self) -> str:
        """What it is."""
        return self.serves.__name__


class PolicyCard(Card[Policy]):
    """What a policy requires."""

    serves = Policy

    def blocks(self) -> Iterator[Block]:
        """Its requirements and its columns."""
        yield _pairs(self, policy_rows(self.result, self.result.semantics_of()))


class RequirementCard(Card[Requirement]):
    """What one requirement says."""

    serves = Requirement

    def __init__(self, result: Requirement) -> None:
        super().__init__(result)
        ((self._title, self._lines),) = policy_rows(Policy([result]))

    @property
    def name(self) -> str:
        """What it is called, if it is."""
        return "" if self._title == "Requirement 1" else self._title

    def blocks(self) -> Iterator[Block]:
        """What it asks."""
        yield Sentence(" ".join(self._lines))


class SchemaCard(Card[Schema]):
    """What the columns of a table are."""

    serves = Schema

    def blocks(self) -> Iterator[Block]:
        """Its columns, by what they are."""
        yield _pairs(self, schema_rows(self.result))


class MicrodataCard(Card[Microdata]):
    """A table, and what its columns are; it is not read for this, as a large one takes its time."""

    serves = Microdata

    def blocks(self) -> Iterator[Block]:
        """Its size, if it was read, and its columns."""
        table = self.result
        size = some(len(table), "person", "people") if table.was_read else "not read yet"
        yield _pairs(self, [("Table", [size]), *schema_rows(table.schema)])


class UtilityCard(Card[Utility]):
    """What a release is still worth."""

    serves = Utility

    def blocks(self) -> Iterator[Block]:
        """Its measures."""
        yield measures(self.result)


def _pairs(card: Card[R], rows: list[tuple[str, list[str]]]) -> Pairs:
    lines = [
        (title, (" " if lines_of_row[0][-1] == "." else "; ").join(lines_of_row))
        for title, lines_of_row in rows
    ]
    return Pairs(card.headline, lines)
