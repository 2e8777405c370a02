"""Result: what every analysis returns, as plain values, JSON, a page, a table in a terminal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from csv import DictWriter
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

from foreknow.atomic_files import json_for_owner, write_json_for_owner, write_whole
from foreknow.call_hints import Plain
from foreknow.result_pages import page_of
from foreknow_judge._version import __version__
from foreknow_judge.errors import InputError

_WIDTH = 100


class Result(Plain, ABC):
    """The result of an analysis: a frozen dataclass that can be kept and shown.

    The page of its kind, which `PAGES` names, decides how it is shown.
    """

    format: ClassVar[str]
    version: ClassVar[int] = 1

    @property
    @abstractmethod
    def in_cases(self) -> bool:
        """True if it counts cases, and a person may have several; its page then says so."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the version of their format."""
        header = {"format": self.format, "version": self.version, "foreknow": __version__}
        return {**header, **super().to_dict()}

    def to_json(self, path: str | Path | None = None) -> str | None:
        """Write `to_dict` as JSON to a file that only its owner can read; None: return the text."""
        if path is None:
            return json_for_owner(self.to_dict())
        write_json_for_owner(path, self.to_dict())
        return None

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write a page that opens offline and only its owner can read; None: return the text."""
        if path is None:
            return page_of(self).html()
        write_whole(path, page_of(self).html(), private=True)
        return None

    def to_frame(self, library: str = "pandas") -> Any:
        """The rows of the result as a frame, if it is a table."""
        kind = type(self).__name__
        raise InputError(f"{kind} is no single table; see .to_dict(), .summary() and .to_html()")

    def to_pandas(self) -> Any:
        """The result of `to_frame` as pandas."""
        return self.to_frame("pandas")

    def to_polars(self) -> Any:
        """The result of `to_frame` as Polars."""
        return self.to_frame("polars")

    def to_arrow(self) -> Any:
        """The result of `to_frame` as Arrow."""
        return self.to_frame("arrow")

    def to_csv(self, path: str | Path) -> None:
        """Write `to_frame` as a CSV file that only its owner can read."""
        lines = StringIO(newline="")
        rows = self.to_frame("arrow").to_pylist()
        write = DictWriter(lines, list(rows[0]) if rows else [])
        write.writeheader()
        write.writerows(rows)
        write_whole(path, lines.getvalue(), private=True)

    def plot(self, path: str | Path | None = None) -> Drawn:
        """The figures of the page, for a notebook; with a path, also write them as a page."""
        figure = Drawn(page_of(self).drawn())
        if path is not None:
            write_whole(path, figure, private=True)
        return figure

    def summary(self) -> str:
        """The text that a terminal shows for the result."""
        from rich.console import Console

        console = Console(width=_WIDTH, color_system=None, file=StringIO())
        console.print(page_of(self))
        return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]

    def __rich__(self) -> Any:
        return page_of(self)

    def _repr_html_(self) -> str:
        return page_of(self).summary()


class Drawn(str):
    """Figures as a page of HTML, which a notebook shows in a frame."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        page = escape(self)
        return f'<iframe srcdoc="{page}" style="width:100%;height:480px;border:0"></iframe>'
