"""Blocks, the parts of a page, for every renderer: terminal, notebook, HTML, explorer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from foreknow_judge.text import some

if TYPE_CHECKING:
    from foreknow.report.chart import Chart, HeatMap

# A verdict, a warning, what matters most, an aside, or what the reader has to fill in.
Mood: TypeAlias = Literal["", "safe", "unsafe", "warning", "strong", "lead", "note", "fill"]
SIGNS = {"safe": "✓", "unsafe": "✗"}


@dataclass(frozen=True)
class Block:
    """A part of a page. A `whole` one is shown on the whole page, but not in its short form."""

    whole: bool = field(default=False, kw_only=True)

    @property
    def kind(self) -> str:
        """Its kind in lower case."""
        return type(self).__name__.lower()

    def at_a_glance(self) -> Block:
        """The block in its short form."""
        return self


@dataclass(frozen=True)
class Heading(Block):
    """The title of a section (level 2) or of a part of one (level 3), perhaps with a verdict."""

    text: str
    id: str = ""
    level: int = 2
    word: Cell | None = None
    whole: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Sentence(Block):
    """A paragraph."""

    text: str
    mood: Mood = ""

    def __str__(self) -> str:
        sign = SIGNS.get(self.mood)
        return f"{sign} {self.text}" if sign else self.text


@dataclass(frozen=True)
class Items(Block):
    """Sentences as a list."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Pairs(Block):
    """A list of names, each with one text or several."""

    title: str
    rows: Sequence[tuple[str, str | Sequence[str]]]


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a text, perhaps with a bar, whose `width` and `mark` are percents.

    `sign`: whether the sign of its mood is shown. Only a page shows the lines `above` and `below`.
    """

    text: str
    mood: Mood = ""
    width: str = ""
    mark: str = ""
    sign: bool = False
    above: str = ""
    below: str = ""
    link: str = ""

    def __str__(self) -> str:
        return f"{SIGNS.get(self.mood, '–')} {self.text}" if self.sign else self.text


Row: TypeAlias = Sequence[str | Cell]


def bar_cell(
    text: str, share: float | Fraction, mood: Mood = "", limit: Fraction | None = None
) -> Cell:
    """A cell with a share and its bar; with `limit`, also a mark at the limit.

    Width and mark are percentages of the cell's width, as texts.
    """
    mark = "" if limit is None else f"{100 * float(limit):.2f}"
    return Cell(text, mood, f"{100 * float(share):.2f}", mark)


def mood_of(holds: bool, limits: bool = True) -> Mood:
    """The mood "safe" or "unsafe"; "" if a requirement holds that limits no inference."""
    if not holds:
        return "unsafe"
    return "safe" if limits else ""


def word_of(holds: bool, limits: bool = True, idle: bool = False) -> Cell:
    """A cell with a word for a verdict: "safe", "holds", "FAILS", or that nothing was asked.

    `limits` is if the requirement limits inference, and `idle` if it asks nothing of the table.
    """
    if idle:
        return Cell("asks nothing", sign=True)
    text = "FAILS" if not holds else "safe" if limits else "holds"
    return Cell(text, mood_of(holds, limits), sign=True)


@dataclass(frozen=True)
class Table(Block):
    """A table; the columns in `left` hold words, the others numbers.

    Its short form, for a terminal or a notebook, has the first `brief` rows. It lacks the columns
    in `roomy`, shows bars only if `bars` is set, and joins the columns of words into one, with the
    title `joined`, if that is given.
    """

    head: Sequence[str]
    rows: Sequence[Row]
    left: Sequence[int] = (0,)
    note: str = ""
    title: str = ""
    style: str = "ranks"
    joined: str = ""
    brief: int | None = None
    roomy: Sequence[int] = ()
    bars: bool = False
    omitted: int = 0
    others: tuple[str, str] = ("other", "others")
    where: str = ""

    def cut(self, limit: int | None) -> Table:
        """The first rows, and how many others there are."""
        n_cut = 0 if limit is None else max(0, len(self.rows) - limit)
        return replace(self, rows=self.rows[:limit], omitted=self.omitted + n_cut)

    def at_a_glance(self) -> Table:
        """The table with the rows of its short form."""
        return self.cut(self.brief)

    @property
    def cards(self) -> bool:
        """True if its rows are cards where there is little room."""
        return len(self.head) > 3 and not self.joined

    @property
    def remark(self) -> str:
        """The note below the table, and how many rows are left out."""
        omission = f"And {some(self.omitted, *self.others)}{self.where}." if self.omitted else ""
        return f"{self.note} {omission}".strip()


@dataclass(frozen=True)
class Figure(Block):
    """A chart or a heat map, with what is to be read from it."""

    id: str
    title: str
    drawn: Chart | HeatMap
    caption: str
    level: int = 2
    whole: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Folded(Block):
    """Blocks that are shown when somebody asks for them."""

    title: str
    blocks: Sequence[Block]
    whole: bool = field(default=True, kw_only=True)


@dataclass(frozen=True)
class Later(Block):
    """Blocks that take a while to make; only the whole page makes them."""

    make: Callable[[], Iterable[Block]]
    whole: bool = field(default=True, kw_only=True)


def at_a_glance(blocks: Iterable[Block]) -> Iterator[Block]:
    """The short forms of blocks, as a terminal and a notebook show them."""
    for block in blocks:
        if not block.whole:
            yield block.at_a_glance()


def all_made(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks, with each `Later` replaced by the blocks that it makes.

    What was made later belongs to the whole page only, so it is marked `whole`.
    """
    for block in blocks:
        if isinstance(block, Later):
            yield from (replace(inner_block, whole=True) for inner_block in all_made(block.make()))
        else:
            yield block


def reworded(content: Any, word: Callable[[str], str]) -> Any:
    """The content, a text or a nest of lists and dataclasses, with `word` applied to every text.

    Tuples become lists; anything else stays as it is.
    """
    if isinstance(content, str):
        return word(content)
    if isinstance(content, (tuple, list)):
        return [reworded(item, word) for item in content]
    if is_dataclass(content) and not isinstance(content, type):
        new_fields = {}
        for item in fields(content):
            new_fields[item.name] = reworded(getattr(content, item.name), word)
        return replace(content, **new_fields)
    return content
