"""Terminal: knowledge skylines as tables and sentences for Rich, at 80 columns too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.witness import FactsWitness
from foreknow.auditing.named_people import NamedWitness
from foreknow.auditing.skyline import Corner, Point, SkylineReport
from foreknow.data.labels import Label
from foreknow.report.console import plain_table, writer
from foreknow.report.pages.audit_terminal import Telling, facts_used
from foreknow.report.terms import NOUN, Terms, naming_sentence
from foreknow.report.words import (
    is_certain,
    limit_text,
    named,
    noun_of,
    number,
    percent,
    some,
    visible,
)

_SHOWN, _TELLING = 20, 12
_LONGEST = 10**30


def terms_of(report: SkylineReport, value: Label | None = None) -> Terms:
    """How to speak of facts about a value of a report."""
    noun = NOUN if report.sensitive is None else noun_of(report.sensitive)
    return Terms(noun, report.counts.semantics, None if value is None else named(value))


def title(report: SkylineReport) -> str:
    """Say what the page is about."""
    what = named(report.values[0]) if len(report.values) == 1 else f"{len(report.values)} values"
    return f"What the release withstands at {limit_text(report.confidence)}: {what}"


def explanation(report: SkylineReport) -> str:
    """Say in two sentences what a skyline is, to somebody who has never heard of one."""
    value = named(report.values[0]) if len(report.values) == 1 else "the value"
    sure = f"{limit_text(report.confidence)} sure"
    if report.confidence == 1:
        sure = "certain"
    return (
        "The release withstands an amount of knowledge if nobody who knows that much about the "
        f"people in it, whatever it is exactly, can be {sure} that a particular person has "
        f"{value}. A knowledge skyline lists the largest such amounts: with one fact more of "
        "any kind, somebody could be, in the worst case."
    )


def adversary(terms: Terms, point: Point) -> str:
    """Describe who has these amounts of facts.

    >>> adversary(Terms("diagnosis"), (2, 0, 3))
    "somebody who knows 2 diagnoses the target does not have and 3 relatives, but nobody else's
     diagnosis"
    """
    known, unknown = terms.known(*point), terms.unknown(*point)
    if not known:
        return "somebody who knows nothing but the release"
    return f"somebody who knows {known}{f', but {unknown}' if unknown else ''}"


def point_sentence(terms: Terms, corner: Corner, limit: Fraction) -> str:
    """Say what a point of a skyline means, and how sure such an adversary can be."""
    sure = percent(corner.found, limit, 1)
    return (
        f"Withstands {adversary(terms, corner.point)}: they can be at most {sure} sure "
        f"of {terms.value}."
    )


def beyond_sentence(terms: Terms, corner: Corner, limit: Fraction) -> str:
    """Say what one fact more of each kind would do."""
    told = [
        (kind, chance(found, limit))
        for (kind, _), found in zip(terms.things, corner.beyond, strict=True)
        if found is not None
    ]
    if len({reached for _, reached in told}) == 1:
        return f"One fact more of any kind: {told[0][1]}."
    return f"One more {'; one more '.join(f'{kind}: {reached}' for kind, reached in told)}."


def least_sentence(report: SkylineReport, value: Label) -> str:
    """Say which little knowledge is too much already."""
    terms, limit = terms_of(report, value), report.confidence
    point = report.least_beyond(value)
    found = report.disclosure(value, point)
    sure = "certain of" if is_certain(found, limit) else f"{percent(found, limit, 1)} sure of"
    if not any(point):
        return (
            "Not even somebody who knows nothing but the release is withstood: they can be "
            f"{sure} {terms.value}."
        )
    return (
        f"Too much already: somebody who knows {terms.known(*point)}, and nothing else, can be "
        f"{sure} {terms.value} in the worst case."
    )


def worst_sentence(report: SkylineReport, value: Label, point: Point) -> str:
    """Say what such an adversary can find out at worst: about whom, through which facts."""
    found, limit = report.disclosure(value, point), report.confidence
    told = _told(report, value, point)
    how = "certain" if is_certain(found, limit) else f"{percent(found, limit, 1)} sure"
    return f"Someone who {told.knows} can be {how} that {told.whose} has {named(value)}."


def worst_details(report: SkylineReport, value: Label, point: Point) -> tuple[tuple[str, str], ...]:
    """The facts of a worst case one by one: who, and what is known of them."""
    return _told(report, value, point).details


def probability_text(report: SkylineReport, value: Label, point: Point) -> str:
    """Write the breach probability as a fraction, where that is short, and as a percentage."""
    found, limit = report.disclosure(value, point), report.confidence
    shown, exact = percent(found, limit, 2), found.exact
    if exact is None or exact.denominator > _LONGEST:
        return f"the breach probability is {shown}"
    if exact == 1:
        return "the breach probability is 1"
    return f"the breach probability is {exact} = {shown}"


def _told(report: SkylineReport, value: Label, point: Point) -> Telling:
    witness = report.disclosure(value, point).witness
    assert isinstance(witness, FactsWitness)
    return facts_used(Facts(*point), witness, terms_of(report).noun)


def chance(found: Disclosure, limit: Fraction) -> str:
    """Write a probability for a table; "certain" for 1."""
    return "certain" if is_certain(found, limit) else percent(found, limit, 1)


def alone(report: SkylineReport, value: Label) -> tuple[str, str, str]:
    """The most of l, of k and of m that is withstood when nothing else is known; dashes if none."""
    points = report.skylines[value]
    if not points:
        return "–", "–", "–"
    l, k, m = (number(max(point[axis] for point in points)) for axis in range(3))  # noqa: E741
    return l, k, m


def telling_points(corners: Sequence[Corner], most: int = _TELLING) -> list[Corner]:
    """Choose the points that say most, in their order: extremes, the balanced, the far apart.

    All of them where there are few.
    """
    if len(corners) <= max(most, _SHOWN):
        return list(corners)
    tops = [max(1, *(c.point[axis] for c in corners)) for axis in range(3)]
    places = [tuple(a / top for a, top in zip(c.point, tops, strict=True)) for c in corners]
    every = range(len(corners))
    chosen = [max(every, key=lambda i: (places[i][axis], sum(places[i]))) for axis in range(3)]
    chosen.append(max(every, key=lambda i: (min(places[i]), sum(places[i]))))
    chosen = list(dict.fromkeys(chosen))
    apart = [min(_distance(places[i], places[j]) for j in chosen) for i in every]
    while len(chosen) < most:
        chosen.append(max(every, key=apart.__getitem__))
        apart = [min(d, _distance(places[i], places[chosen[-1]])) for i, d in enumerate(apart)]
    return [corners[i] for i in sorted(chosen)]


def _distance(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))


_WARNING = "What follows names people and what they have. It is for the owner of the data only."


def skyline_table(report: SkylineReport) -> RenderableType:
    """Lay out a report: the points of its only value, or one row for each of several.

    Parameters
    ----------
    report : SkylineReport

    Returns
    -------
    RenderableType
        For ``rich.print`` or a Rich console; markup in labels has no effect.
    """
    if len(report.values) == 1:
        return value_table(report, report.values[0])
    return _Overview(report)


def value_table(report: SkylineReport, value: Label) -> RenderableType:
    """Lay out the points of one value, or the most telling of many, each with a sentence."""
    return _ValueTable(report, value)


def worst_case(report: SkylineReport, value: Label, point: Point) -> RenderableType:
    """Say whether some amounts are withstood, and the worst case by groups and numbers."""
    return _WorstCase(report, value, point)


def named_case(witness: NamedWitness) -> RenderableType:
    """Say who a worst case is about, after a warning."""
    return _NamedCase(witness)


@dataclass(frozen=True)
class _ValueTable:
    report: SkylineReport
    value: Label

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report, terms, text = (
            self.report,
            terms_of(self.report, self.value),
            writer(options.encoding),
        )
        limit = limit_text(report.confidence)
        corners = report.corners(self.value)
        shown = telling_points(corners)
        head = f"{visible(self.value)} at {limit}: {some(len(corners), 'point', 'points')}"
        if len(shown) < len(corners):
            head += f", of which {len(shown)} are shown"
        yield text(head, "bold")
        if corners:
            table = plain_table()
            for name in "lkm":
                table.add_column(name, justify="right", no_wrap=True)
            table.add_column("withstands", overflow="fold")
            table.add_column("at most", justify="right", no_wrap=True)
            for corner in shown:
                table.add_row(
                    *(text(number(amount), "bold") for amount in corner.point),
                    text(adversary(terms, corner.point)),
                    text(percent(corner.found, report.confidence, 1)),
                )
            yield table
        yield Padding(text(least_sentence(report, self.value)), (0, 0, 1, 0))


@dataclass(frozen=True)
class _WorstCase:
    report: SkylineReport
    value: Label
    point: Point

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report, text = self.report, writer(options.encoding)
        safe = report.withstands(self.value, self.point)
        l, k, m = self.point  # noqa: E741
        yield Text.assemble(
            text(f"l={l}, k={k}, m={m} is "),
            text("withstood" if safe else "not withstood", "green" if safe else "bold red"),
            text(f": {probability_text(report, self.value, self.point)}."),
        )
        yield text(worst_sentence(report, self.value, self.point))
        for who, what in worst_details(report, self.value, self.point):
            yield Padding(text(f"{who}: {what}"), (0, 0, 0, 2))
        yield text("")


@dataclass(frozen=True)
class _NamedCase:
    witness: NamedWitness

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = writer(options.encoding)
        yield text(_WARNING, "bold yellow")
        yield text(naming_sentence(self.witness))
        for statement in self.witness.statements:
            false = statement in self.witness.untrue
            note = "   (not so in this table, but no less possible)" if false else ""
            yield Padding(text(f"{visible(statement)}{note}"), (0, 0, 0, 2))
        yield text("")


@dataclass(frozen=True)
class _Overview:
    report: SkylineReport

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report, terms, text = self.report, terms_of(self.report), writer(options.encoding)
        yield text(
            f"The most of one kind of knowledge alone that stays below "
            f"{limit_text(report.confidence)}",
            "bold",
        )
        table = plain_table()
        table.add_column("value", overflow="fold")
        for title in (*terms.axes, "points of the skyline"):
            table.add_column(title, justify="right", max_width=14)
        for value in report.values:
            points = report.skylines[value]
            style = "" if points else "bold red"
            amounts = (text(amount, style) for amount in alone(report, value))
            table.add_row(text(visible(value)), *amounts, text(number(len(points)), style))
        yield table
        if not all(report.skylines.values()):
            yield text("Where there is no point, not even knowing nothing else is withstood.")
