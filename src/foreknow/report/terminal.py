"""Terminal: blocks as Rich lays them out, at any width and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from foreknow.report.blocks import (
    Block,
    Cell,
    Heading,
    Items,
    Mood,
    Pairs,
    Sentence,
    Table,
    at_a_glance,
)
from foreknow_judge.files.printable import encodable, visible

_STYLES = {"safe": "green", "unsafe": "bold red", "warning": "yellow", "strong": "bold"}
_LONG_TITLE, _BAR, _WIDE = 14, 15, 10_000


class Laid:
    """Blocks at a glance, laid out once it is known what the console can show."""

    def __init__(
        self, blocks: Iterable[Block], heading: Sentence | None = None, subject: str = ""
    ) -> None:
        self._blocks, self._heading, self._of = list(at_a_glance(blocks)), heading, subject

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the headline and the blocks as renderables for this console."""
        self._encoding = options.encoding
        # A row of many columns stays a line in a file or a pipe, which has no width.
        self._wide = None if console.is_terminal else options.update(width=_WIDE)
        if self._heading is not None:
            style = f"bold {_STYLES.get(self._heading.mood, '')}"
            title = self._text(self._heading.text, style)
            subject = self._text(f" – {visible(self._of)}", "dim") if self._of else ""
            yield Text.assemble(title, subject)
        for block in self._blocks:
            for renderable in self._renderables(block):
                is_joined = getattr(block, "joined", "") and self._wide
                if isinstance(renderable, Grid) and not is_joined:
                    _tighten(renderable, console, options)
                yield from console.render(renderable, self._wide) if is_joined else [renderable]

    def _text(self, message: str, style: str = "") -> Text:
        """A text that the console can show; markup in it has no effect."""
        return Text(encodable(message, self._encoding), style)

    def _renderables(self, block: Block) -> Iterator[RenderableType]:
        """Yield the renderables of a block; a figure has none."""
        match block:
            case Sentence(_, mood):
                text = self._text(str(block), _STYLES.get(mood, ""))
                stands_out = mood in ("safe", "unsafe", "warning")
                yield Padding(text, (0, 0, 1, 0)) if stands_out else text
            case Heading(title):
                yield self._text(title, "bold")
            case Items(texts):
                yield from (self._text(f"– {text}") for text in texts)
            case Pairs():
                yield self._pairs(block)
            case Table() if block.rows:
                yield self._table(block)
                yield from [self._text(block.remark)] if block.remark else []

    def _pairs(self, pairs: Pairs) -> Grid:
        """The pairs as a grid of two columns; several texts of a name stand below each other."""
        grid = Grid.grid("", "", padding=(0, 2), pad_edge=False)
        for name, content in pairs.rows:
            text = content if isinstance(content, str) else "\n".join(content)
            grid.add_row(self._text(name), self._text(text))
        return grid

    def _table(self, table: Table) -> Grid:
        """The table as a grid of the console.

        Columns in `roomy` are hidden; where columns are joined, they become one in front.
        """
        grid = Grid(box=box.SIMPLE_HEAD, expand=False, padding=(0, 1), pad_edge=False)
        joined_columns = list(table.left) if table.joined else []
        if joined_columns:
            grid.add_column(self._text(table.joined), overflow="fold")
        hidden = {*table.roomy, *joined_columns}
        columns = [column for column in range(len(table.head)) if column not in hidden]
        for column in columns:
            title = self._text(table.head[column])
            if column in table.left:
                grid.add_column(title, overflow="fold")
            # Numbers stay on one line, but a long title above them may be broken.
            elif len(title) > _LONG_TITLE:
                grid.add_column(title, justify="right", max_width=_LONG_TITLE)
            else:
                grid.add_column(title, justify="right", no_wrap=True)
        for row in table.rows:
            cells = [self._cell(row[column], table.bars) for column in columns]
            if joined_columns:
                levels = " ".join(str(row[column]) for column in joined_columns)
                cells.insert(0, self._text(levels))
            grid.add_row(*cells)
        return grid

    def _cell(self, cell: str | Cell, bars: bool) -> Text:
        """A cell as a text: its sign, a bar of "=" if bars are shown, and the line below it."""
        mood: Mood = getattr(cell, "mood", "")
        bar, percent = "", getattr(cell, "width", "")
        if bars and percent:
            bar = " " + ("=" * round(_BAR * float(percent) / 100)).ljust(_BAR)
        below = f"\n{below}" if (below := getattr(cell, "below", "")) else ""
        return self._text(f"{cell}{bar}{below}", _STYLES.get(mood, ""))


def _tighten(grid: Grid, console: Console, options: ConsoleOptions) -> None:
    """Leave less space between columns if the table then fits, so that no word is broken."""

    def is_too_wide() -> bool:
        unlimited = options.update(width=_WIDE)
        return console.measure(grid, options=unlimited).maximum > options.max_width

    if is_too_wide():
        padding = grid.padding
        grid.padding = (0, 0)
        if is_too_wide():
            grid.padding = padding
