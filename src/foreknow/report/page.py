"""Page: how one kind of result is shown, made of sentences and tables; the frame of HTML pages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from markupsafe import Markup, escape
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table

from foreknow._version import __version__
from foreknow.report.console import Writer, titled, writer
from foreknow.text import in_cases, visible

if TYPE_CHECKING:  # a terminal needs no Jinja
    from jinja2 import Environment, Template

R = TypeVar("R")


@dataclass(frozen=True)
class Cell:
    """A text of a table, of a mood or strong; `width` and `mark` of its bar are percents."""

    text: str
    mood: str = ""
    width: str = ""
    mark: str = ""

    def __str__(self) -> str:
        return self.text


def bar_cell(
    text: str, share: float | Fraction, mood: str = "", limit: Fraction | None = None
) -> Cell:
    """A share and its bar, perhaps with a mark at a limit."""
    mark = "" if limit is None else f"{100 * float(limit):.2f}"
    return Cell(text, mood, f"{100 * float(share):.2f}", mark)


Row: TypeAlias = Sequence[str | Cell]


@dataclass(frozen=True)
class Grid:
    """A table; `left` are the columns of words, the others are of numbers."""

    head: Sequence[str]
    rows: Sequence[Row]
    left: Sequence[int] = (0,)
    note: str = ""

    def table(self, text: Writer) -> Table:
        """Lay it out for a terminal."""
        table = Table(box=box.SIMPLE_HEAD, expand=False, padding=(0, 1), pad_edge=False)
        for place, title in enumerate(self.head):
            if place in self.left:
                table.add_column(title, overflow="fold")
            elif len(title) > _LONG_TITLE:
                table.add_column(title, justify="right", max_width=_LONG_TITLE)
            else:
                table.add_column(title, justify="right", no_wrap=True)
        for row in self.rows:
            table.add_row(*(text(str(cell), _STYLES[getattr(cell, "mood", "")]) for cell in row))
        return table


@dataclass(frozen=True)
class Sentence:
    """A paragraph; `mood` may be safe, unsafe, warning, strong, or aside for what explains."""

    text: str
    mood: str = ""

    def __str__(self) -> str:
        return self.text


Block: TypeAlias = Sentence | Grid

# How a terminal shows a mood.
_STYLES = {"": "", "aside": "", "strong": "bold"}
_STYLES |= {"safe": "green", "unsafe": "bold red", "warning": "yellow"}
_APART = ("safe", "unsafe", "warning")
_LONG_TITLE = 14


class Page(ABC, Generic[R]):
    """One kind of result as people read it; it prints itself on a Rich console."""

    serves: ClassVar[type[Any]]
    kept: ClassVar[str]
    """Why the page is for the owner only."""

    def __init__(self, result: R) -> None:
        self.result = result

    @property
    @abstractmethod
    def headline(self) -> str:
        """The result in one sentence or title."""

    @abstractmethod
    def html(self, *args: Any, **options: Any) -> str:
        """One HTML page that asks nothing of any network; the same for the same result."""

    def document(self, template: str, **shown: Any) -> str:
        """Write its HTML page, for the owner only unless `kept` is None."""
        own = {"kept": self.kept, "heading": self.headline, "name": self.name or None}
        return self.said(document(template, **{**own, **shown}))

    @property
    def in_cases(self) -> bool:
        """Whether what the result calls people are cases, of which a person may have several."""
        return bool(getattr(self.result, "in_cases", False))

    def as_they_are(self) -> Iterable[str]:
        """Texts in which people stay people: labels of the table, and what is said of persons."""
        yield self.name

    def said(self, text: str) -> str:
        """A text of the page, of people or of cases."""
        if not self.in_cases:
            return text
        kept = {own for each in self.as_they_are() for own in (each, str(escape(each)))}
        return in_cases(text, kept)

    def _block(self, block: Block) -> Block:
        if isinstance(block, Sentence):
            return replace(block, text=self.said(block.text))
        rows = [
            [replace(c, text=self.said(c.text)) if isinstance(c, Cell) else self.said(c) for c in r]
            for r in block.rows
        ]
        head = [self.said(title) for title in block.head]
        return replace(block, head=head, rows=rows, note=self.said(block.note))

    @property
    def notes(self) -> list[str]:
        """What stands beside the result, a sentence each."""
        return []

    def brief(self) -> Iterator[Block]:
        """What a terminal of 80 columns and a notebook show below the headline."""
        yield from ()

    def summary(self) -> str:
        """A small HTML fragment, for notebooks."""
        return self.said(fragment(self.headline, self.name, self.brief(), self.mood))

    def terminal(self, text: Writer) -> Iterator[RenderableType]:
        """The same for a terminal, also one without colour."""
        heading = self.said(self.headline)
        yield titled(text, heading, self.name, f"bold {_STYLES[self.mood]}")
        yield Laid(map(self._block, self.brief()) if self.in_cases else self.brief())

    @property
    def mood(self) -> str:
        """Safe or unsafe, where the result is a verdict."""
        return ""

    @property
    def name(self) -> str:
        """What the result is about, if that has a name."""
        return str(getattr(self.result, "name", ""))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.terminal(writer(options.encoding))


class Laid:
    """Sentences and tables, laid out once it is known what the console can show."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._blocks = list(blocks)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = writer(options.encoding)
        for block in self._blocks:
            if isinstance(block, Grid):
                yield block.table(text)
                yield from [text(block.note)] if block.note else []
            else:
                said = text(block.text, _STYLES[block.mood])
                yield Padding(said, (0, 0, 1, 0)) if block.mood in _APART else said


def document(
    template: str,
    *,
    kept: str | None,
    heading: str,
    name: str | None = None,
    **shown: Any,
) -> str:
    """Write one HTML page; `kept` says why it is for the owner only, None that it is not.

    No script is admitted: nothing in a label could run even if it got past the escaping.
    """
    named = None if name is None else visible(name)
    return _template(template).render(
        version=__version__,
        style=Markup(resource("style.css")),
        kept=kept,
        title=heading if named is None else f"{heading} – {named}",
        heading=heading,
        name=named,
        **{"mood": "plain", "scope": "", **shown},
    )


def fragment(heading: str, name: str = "", blocks: Iterable[Block] = (), mood: str = "") -> str:
    """Write a small HTML fragment: a heading, then sentences and tables."""
    shown = {"heading": heading, "name": visible(name), "mood": mood, "blocks": list(blocks)}
    return _template("summary.html.j2").render(shown)


def _template(name: str) -> Template:
    return templates("foreknow.report").get_template(name)


@cache
def templates(package: str) -> Environment:
    """The templates of the report, or of the explorer; what they show is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def resource(name: str) -> str:
    """A text of the templates."""
    text = files("foreknow.report").joinpath("templates", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")
