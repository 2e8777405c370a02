"""Page: one kind of result as people read it: a headline, notes, and one list of blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

from rich.console import Console, ConsoleOptions, RenderResult

from foreknow.report.blocks import (
    Block,
    Figure,
    Items,
    Mood,
    Sentence,
    all_made,
    at_a_glance,
    reworded,
)
from foreknow.report.terminal import Laid
from foreknow.wording import Unit, unit_counted, wording_of_cases
from foreknow_judge.errors import InputError
from foreknow_judge.remarks.sentences import ASSUMED

R = TypeVar("R")


class Page(ABC, Generic[R]):
    """The page of a result; it prints itself on a Rich console.

    `eyebrow` stands before the name, `kept` is why it is for the owner only (None: it is not), and
    `promise` is said at the end.
    """

    serves: ClassVar[type[Any]]
    eyebrow: ClassVar[str] = ""
    wide: ClassVar[bool] = False
    kept: str | None
    promise: str = ""
    heading: ClassVar[str] = "Beside it:"
    """What stands above the notes."""

    def __init__(self, result: R) -> None:
        self.result = result

    @property
    @abstractmethod
    def headline(self) -> str:
        """The result in one sentence or title."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """The blocks of the page, in order."""

    @property
    def mood(self) -> Mood:
        """Safe or unsafe, where the result is a verdict."""
        return ""

    @property
    def name(self) -> str:
        """The name of the result's subject, if it has one."""
        return str(getattr(self.result, "name", ""))

    @property
    def scope(self) -> str:
        """How large that is."""
        return ""

    @property
    def notes(self) -> Sequence[str]:
        """Notes beside the result, one sentence each."""
        return ()

    @property
    def assumed(self) -> Sequence[str]:
        """The assumptions of the verdicts, one sentence each."""
        return ()

    @property
    def unit(self) -> Unit:
        """The unit that the result counts: people, or cases of people."""
        return unit_counted(self.result.in_cases)  # type: ignore[attr-defined]

    def as_they_are(self) -> Iterable[str]:
        """Texts in which "people" is not replaced: labels of the table, sentences on persons."""
        yield self.name

    def said(self, content: Any) -> Any:
        """A text or blocks, in which "people" becomes "cases" where cases are counted."""
        return self.unit.said(content, lambda people: reworded(people, self._wording))

    @cached_property
    def _wording(self) -> Callable[[str], str]:
        """The words for cases; a release has many labels, so these are gone through once."""
        return wording_of_cases(self.as_they_are())

    def shown(self) -> list[Block]:
        """All its blocks, in words for what is counted, people or cases."""
        blocks: list[Block] = self.said(list(all_made(self.blocks())))
        return blocks

    def glance(self) -> list[Block]:
        """The blocks of its short form, in words for what is counted."""
        blocks: list[Block] = self.said(list(at_a_glance(self.blocks())))
        return blocks

    def brief(self) -> Iterator[Block]:
        """Yield the blocks that a terminal and a notebook show below the headline."""
        yield from [Sentence(self.said(self.scope))] if self.scope else []
        yield from self.glance()
        yield from self.beside()

    def beside(self) -> Iterator[Block]:
        """The notes, and what is assumed, as blocks."""
        for heading, texts in ((self.heading, self.notes), (ASSUMED, self.assumed)):
            if texts:
                yield from (Sentence(heading, "strong"), Items(self.said(list(texts))))

    def html(self) -> str:
        """One HTML page that asks nothing of any network; the same for the same result."""
        from foreknow.report.html import document

        return document(self)

    def summary(self) -> str:
        """A small HTML fragment, for notebooks."""
        from foreknow.report.html import fragment

        return fragment(self.said(self.headline), self.name, self.brief(), self.mood)

    def drawn(self) -> str:
        """Its figures alone, as an HTML page; refused if there are none."""
        from foreknow.report.html import document

        if not any(isinstance(block, Figure) for block in self.shown()):
            raise InputError("nothing is drawn of it; .to_html(path) writes its page")
        return document(self, Figure)

    def top(self) -> Laid:
        """The headline and how large that is, as a terminal shows them."""
        scope = [Sentence(self.said(self.scope))] if self.scope else []
        return Laid(scope, Sentence(self.said(self.headline), self.mood), self.name)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Laid(self.brief(), Sentence(self.said(self.headline), self.mood), self.name)
