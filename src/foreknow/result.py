"""Result: what every analysis returns, as plain values, JSON, a page, a table in a terminal."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from foreknow._version import __version__
from foreknow.output import write_json_for_owner, write_whole
from foreknow.plain import Plain

if TYPE_CHECKING:
    from foreknow.report.page import Page


_WIDTH = 100


class Result(Plain):
    """What an analysis found: a frozen dataclass that can be kept and shown.

    How it is shown is said by the page of its kind, which `foreknow.report` looks up.
    """

    format: ClassVar[str]
    version: ClassVar[int] = 1

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the version of their format."""
        head = {"format": self.format, "version": self.version, "foreknow": __version__}
        return {**head, **super().to_dict()}

    def to_json(self, path: str | Path) -> None:
        """Write what `to_dict` gives as JSON, for the owner only; whole or not at all."""
        write_json_for_owner(path, self.to_dict())

    def to_html(self, path: str | Path) -> None:
        """Write one HTML file that opens offline, for the owner only; whole or not at all."""
        write_whole(path, page_of(self).html(), private=True)

    def summary(self) -> str:
        """What a terminal shows of it, as a text."""
        from rich.console import Console

        console = Console(width=_WIDTH, color_system=None, file=StringIO())
        console.print(page_of(self))
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]

    def __rich__(self) -> Any:
        return page_of(self)

    def _repr_html_(self) -> str:
        return page_of(self).summary()


def page_of(result: Any, **options: Any) -> Page[Any]:
    """The page of a result: the one door up to the report, opened when it is asked for."""
    from foreknow.report import render

    return render(result, **options)


def card_of(given: Any) -> str:
    """How a notebook shows what an analysis is given."""
    from foreknow.report.cards import card

    return card(given)
