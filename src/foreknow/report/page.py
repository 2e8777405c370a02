"""Page: how one kind of result is shown; the frame of HTML pages, and tables of both kinds."""

from __future__ import annotations

import base64
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from markupsafe import Markup
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

from foreknow._version import __version__
from foreknow.report.console import Writer, writer
from foreknow.text import visible

if TYPE_CHECKING:  # a terminal needs neither Jinja nor Plotly
    from jinja2 import Environment

R = TypeVar("R")


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

    @abstractmethod
    def terminal(self, text: Writer) -> Iterator[RenderableType]:
        """Tables and sentences for 80 columns, also without colour."""

    @abstractmethod
    def summary(self) -> str:
        """A small HTML fragment, for notebooks."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from self.terminal(writer(options.encoding))


@dataclass(frozen=True)
class Chance:
    """A probability beside its limit, as text and as widths of a bar in percent."""

    text: str
    limit: str
    width: str | None  # None where there is nothing to draw
    mark: str
    safe: bool


@dataclass(frozen=True)
class Grid:
    """A table of texts; `left` are the columns of words, the others are of numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)
    note: str = ""


def document(
    template: str,
    *,
    kept: str | None,
    heading: str,
    name: str | None = None,
    script: str = "page.js",
    **shown: Any,
) -> str:
    """Write one HTML page; `kept` says why it is for the owner only, None that it is not.

    Scripts are admitted by their digests, so that nothing in a label could run even if it got
    past the escaping.
    """
    library, own = plotly(), _resource(script)
    return (
        _templates()
        .get_template(template)
        .render(
            version=__version__,
            style=Markup(_resource("style.css")),
            library=Markup(library),
            script=Markup(own),
            kept=kept,
            digests=" ".join(_digest(text) for text in (library, own)),
            title=heading if name is None else f"{heading} – {visible(name)}",
            heading=heading,
            name=None if name is None else visible(name),
            **{"mood": "plain", "scope": "", **shown},
        )
    )


def fragment(
    heading: str,
    name: str = "",
    *,
    grids: Sequence[Grid] = (),
    before: Sequence[str] = (),
    notes: Sequence[str] = (),
    sign: str = "",
    mood: str = "",
    warning: str = "",
    aside: str = "",
) -> str:
    """Write a small HTML fragment: a heading, sentences, tables, and notes below them."""
    return (
        _templates()
        .get_template("summary.html.j2")
        .render(
            heading=heading,
            name=visible(name),
            grids=grids,
            before=before,
            notes=notes,
            sign=sign,
            mood=mood,
            warning=warning,
            aside=aside,
        )
    )


def script_json(plain: Any) -> Markup:
    """JSON of plain values that may stand inside a script element, whatever its texts contain."""
    from jinja2.utils import htmlsafe_json_dumps

    return htmlsafe_json_dumps(plain, sort_keys=True)


@cache
def plotly() -> str:
    """The library that draws."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("\r\n", "\n")


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("foreknow.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _resource(name: str) -> str:
    text = files("foreknow.report").joinpath("templates", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


def _digest(script: str) -> str:
    """What a content security policy calls a script."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
