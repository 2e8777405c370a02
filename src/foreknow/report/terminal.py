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
from foreknow_judge.printed import encodable, visible

_STYLES = {"safe": "green", "unsafe": "bold red", "warning": "yellow", "strong": "bold"}
_LONG_TITLE, _BAR, _WIDE = 14, 15, 10_000


class Laid:
    """Blocks at a glance, laid out once it is known what the console can show."""

    def __init__(
        self, blocks: Iterable[Block], heading: Sentence | None = None, of: str = ""
    ) -> None:
        self._blocks, self._heading, self._of = list(at_a_glance(blocks)), heading, of

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self._encoding = options.encoding
        # A row of many columns stays a line in a file or a pipe, which has no width.
        self._wide = None if console.is_terminal else options.update(width=_WIDE)
        if self._heading is not None:
            style = f"bold {_STYLES.get(self._heading.mood, '')}"
            title = self._text(self._heading.text, style)
            of = self._text(f" – {visible(self._of)}", "dim") if self._of else ""
            yield Text.assemble(title, of)
        for block in self._blocks:
            for shown in self._shown(block):
                whole = getattr(block, "joined", "") and self._wide
                yield from console.render(shown, self._wide) if whole else [shown]

    def _text(self, said: str, style: str = "") -> Text:
        """A text that the console can show; markup in it has no effect."""
        return Text(encodable(said, self._encoding), style)

    def _shown(self, block: Block) -> Iterator[RenderableType]:
        match block:
            case Sentence(_, mood):
                said = self._text(str(block), _STYLES.get(mood, ""))
                stands_out = mood in ("safe", "unsafe", "warning")
                yield Padding(said, (0, 0, 1, 0)) if stands_out else said
            case Heading(title):
                yield self._text(title, "bold")
            case Items(texts):
                yield from (self._text(f"– {said}") for said in texts)
            case Pairs():
                yield self._pairs(block)
            case Table() if block.rows:
                yield self._table(block)
                yield from [self._text(block.remark)] if block.remark else []

    def _pairs(self, pairs: Pairs) -> Grid:
        grid = Grid.grid("", "", padding=(0, 2), pad_edge=False)
        for name, said in pairs.rows:
            text = said if isinstance(said, str) else "\n".join(said)
            grid.add_row(self._text(name), self._text(text))
        return grid

    def _table(self, table: Table) -> Grid:
        grid = Grid(box=box.SIMPLE_HEAD, expand=False, padding=(0, 1), pad_edge=False)
        places = [at for at in range(len(table.head)) if at not in table.roomy]
        joined = list(table.left) if table.joined else []
        if joined:
            grid.add_column(self._text(table.joined), overflow="fold")
        for at in (at for at in places if at not in joined):
            title = self._text(table.head[at])
            if at in table.left:
                grid.add_column(title, overflow="fold")
            elif len(title) > _LONG_TITLE:
                grid.add_column(title, justify="right", max_width=_LONG_TITLE)
            else:
                grid.add_column(title, justify="right", no_wrap=True)
        for row in table.rows:
            first = [self._text(" ".join(str(row[at]) for at in joined))] if joined else []
            rest = (self._cell(row[at], table.bars) for at in places if at not in joined)
            grid.add_row(*first, *rest)
        return grid

    def _cell(self, cell: str | Cell, bars: bool) -> Text:
        mood: Mood = getattr(cell, "mood", "")
        bar = ""
        if bars and isinstance(cell, Cell) and cell.width:
            bar = " " + ("=" * round(_BAR * float(cell.width) / 100)).ljust(_BAR)
        below = f"\n{below}" if (below := getattr(cell, "below", "")) else ""
        return self._text(f"{cell}{bar}{below}", _STYLES.get(mood, ""))
