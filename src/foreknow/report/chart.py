"""Charts: lines, marks, bars and heat maps as SVG that needs no script.

Places of a chart are percents of the plot: it is as wide as its place, nothing in it is stretched,
and texts keep their size, whether the page is wide or narrow, on a screen or on paper.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

from foreknow.report.blocks import Table

# Middle tones: at least 3:1 against white and against near-black. Symbols and dashes tell them
# apart in grey.
OWN, LIMIT = "#2f7ed8", "#d64545"
STYLES = (
    (OWN, "circle", ""),
    ("#cf6a10", "square", "8 5"),
    ("#1f8a70", "diamond", "2 4"),
    ("#8a63d2", "triangle", "9 4 2 4"),
    ("#c2549d", "cross", "15 5"),
    ("#7a8290", "star", "15 4 2 4"),
)
# Symbols about the origin, of a radius of 5.
_SYMBOLS = {
    "circle": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
    "square": "M-4.5 -4.5h9v9h-9z",
    "diamond": "M0 -6L6 0L0 6L-6 0z",
    "triangle": "M0 -6L5.5 4.5h-11z",
    "cross": "M-4 -4L4 4M-4 4L4 -4",
    "star": "M0 -7L1.6 -2.2H6.7L2.6 0.8L4.1 5.7L0 2.7L-4.1 5.7L-2.6 0.8L-6.7 -2.2H-1.6z",
}


@dataclass(frozen=True)
class Axis:
    """One axis of a chart: its title, its range and its labelled ticks."""

    title: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]] = ()

    def at(self, value: float) -> float:
        """The place of a value on the axis, in percent of its length."""
        return 100 * (value - self.low) / (self.high - self.low)


def amounts(title: str, most: float, least: float = 0, room: float = 0, above: float = 0) -> Axis:
    """Make an axis of whole numbers from `least` to `most`.

    >>> [text for _, text in amounts("people", 4).ticks]
    ['0', '1', '2', '3', '4']

    `room` is added at both ends, and `above` is a share of `most` that is added on top.
    """
    most = max(most, least + 1)
    ticks = [(amount, f"{amount:,.0f}") for amount in round_numbers(least, most, 1)]
    return Axis(title, least - room, most * (1 + above) + room, ticks)


def shares(title: str, most: float = 1) -> Axis:
    """Make an axis of percentages from 0.

    >>> [text for _, text in shares("how sure").ticks]
    ['0%', '20%', '40%', '60%', '80%', '100%']
    """
    high = most or 1.0
    ticks = [(share, f"{round(100 * share, 9):g}%") for share in round_numbers(0, high)]
    return Axis(title, 0, 1.04 * high, ticks)


def round_numbers(low: float, high: float, least_step: float = 0) -> Iterator[float]:
    """Yield round numbers from low to high: at most six, and at least `least_step` apart."""
    # The step is 1, 2 or 5 times a power of ten. A little more than 5 intervals allows for
    # rounding.
    needed = max(least_step, (high - low) / 5.001)
    steps = (factor * 10.0**power for power, factor in product(range(-9, 40), (1, 2, 5)))
    step = next(step for step in steps if step >= needed)
    # The first multiple at or above `low`: -(-a // b) rounds up.
    first = -int(-low // step)
    yield from (round(i * step, 9) for i in range(first, int(high / step + 1e-9) + 1))


@dataclass(frozen=True)
class Series:
    """Points, joined by a line where `dash` is given, marked where `symbol` is.

    `texts` are what the marks say when they are pointed at; a point of None ends a line.
    """

    x: Sequence[float | None]
    y: Sequence[float | None]
    name: str = ""
    color: str = OWN
    texts: Sequence[str] = ()
    symbol: str = ""
    dash: str | None = None
    width: float = 2
    size: float = 1
    open: bool = False

    @property
    def shape(self) -> str:
        """The path of its symbol."""
        return _SYMBOLS.get(self.symbol, "")


@dataclass(frozen=True)
class Bar:
    """A bar from one place across to another."""

    start: float
    end: float
    height: float
    text: str
    color: str = OWN


@dataclass(frozen=True)
class Rule:
    """A dashed line up at a limit, with its name to the right of it or to the left."""

    at: float
    text: str
    left: bool = False


@dataclass(frozen=True)
class Chart:
    """A figure: axes, series and bars, and its numbers as a table where no other table has them."""

    x: Axis
    y: Axis
    series: Sequence[Series] = ()
    bars: Sequence[Bar] = ()
    rule: Rule | None = None
    height: int = 300
    table: Table | None = None

    @property
    def named(self) -> list[Series]:
        """The series that have a name, for the legend."""
        return [series for series in self.series if series.name]

    @property
    def margin(self) -> int:
        """The characters of the longest label beside the plot."""
        return max((len(text) for _, text in self.y.ticks), default=0)

    def left(self, x: float) -> str:
        """A place across, as a percentage."""
        return f"{self.x.at(x):.2f}".rstrip("0").rstrip(".")

    def top(self, y: float) -> str:
        """A place from the top."""
        return f"{100 - self.y.at(y):.2f}".rstrip("0").rstrip(".")

    def path(self, series: Series) -> str:
        """The line through the points of a series, as an SVG path in percents of the plot.

        A point of None ends a line; the next point begins another.
        """
        commands, starts_line = [], True
        for x, y in zip(series.x, series.y, strict=True):
            if x is None or y is None:
                starts_line = True
                continue
            commands.append(f"{'M' if starts_line else 'L'}{self.left(x)} {self.top(y)}")
            starts_line = False
        return "".join(commands)

    def marks(self, series: Series) -> Iterator[tuple[str, str, str]]:
        """Yield the place of each mark across and from the top, and the text that it shows."""
        for number, (x, y) in enumerate(zip(series.x, series.y, strict=True)):
            if x is not None and y is not None:
                text = series.texts[number] if series.texts else ""
                yield self.left(x), self.top(y), text


@dataclass(frozen=True)
class Square:
    """One square: what it says when it is pointed at, how dark it is, whether it is inside."""

    text: str
    share: float
    inside: bool
    at: tuple[int, ...] = ()  # the amounts that it stands for


@dataclass(frozen=True)
class Panel:
    """Squares by two amounts, in rows from the bottom up, each of as many as there are columns."""

    title: str
    rows: Sequence[Sequence[Square]]

    @property
    def edge(self) -> Sequence[int]:
        """How many squares of each row are inside; they are the first ones, from the left."""
        lengths = []
        for row in self.rows:
            inside = [square for square in row if square.inside]
            lengths.append(len(inside))
        return lengths


@dataclass(frozen=True)
class HeatMap:
    """Panels of squares that share their axes; what is inside has a thick line around it."""

    across: str
    up: str
    columns: Sequence[str]
    rows: Sequence[str]
    panels: Sequence[Panel]

    high: ClassVar[int] = 20

    @property
    def wide(self) -> int:
        """The width of a square, in pixels, for the longest label."""
        return max(22, 4 + 8 * max(map(len, self.columns), default=0))

    @property
    def beside(self) -> int:
        """The width of the row labels, in pixels."""
        return 14 + 8 * max(map(len, self.rows), default=0)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of a panel, with its labels."""
        wide = self.beside + self.wide * len(self.columns) + 2
        return wide, self.high * (len(self.rows) + 1) + 4

    def outline(self, panel: Panel) -> str:
        """An SVG path around the squares inside: up along their right ends, row by row."""
        # Pixels from the top; rows come from the bottom up.
        bottom = height = self.high * len(self.rows) + 2
        steps = []
        for length in panel.edge:
            height -= self.high
            steps.append(f"H{self.beside + self.wide * length}V{height}")
        return f"M{self.beside} {bottom}{''.join(steps)}H{self.beside}Z"


def bar_table(head: tuple[str, str], rows: Iterable[tuple[str, int]]) -> Table:
    """The bars of a chart as a table, without empty ones."""
    return Table(head, [(name, f"{amount:,}") for name, amount in rows if amount])
