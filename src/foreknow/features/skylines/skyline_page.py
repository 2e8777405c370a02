"""Skylines: the knowledge that a release withstands, as heat maps, tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts, FactsWitness
from foreknow.auditing.remarks.remark import Reader
from foreknow.data.labels.labels import Label
from foreknow.features.skylines.counts_page import CountsPage
from foreknow.features.skylines.knowledge_skyline import MostAlone, Skylines, ValueClass
from foreknow.features.skylines.skyline import Corner, Point, SkylineReport, fewest_beyond
from foreknow.report.blocks import (
    Block,
    Cell,
    Figure,
    Folded,
    Heading,
    Items,
    Later,
    Row,
    Sentence,
    Table,
    bar_cell,
)
from foreknow.report.chart import HeatMap, Panel, Square
from foreknow.report.knowledge import NOUN, Description, Terms, facts_used
from foreknow.report.scope import sentences
from foreknow.report.words import is_certain, limit_text, named, percent
from foreknow.wording import capital, noun_of
from foreknow_judge.files.printable import visible
from foreknow_judge.text import number, some

_MOST_VALUES, _MOST_CLASSES, _MOST_ROWS, _MOST_LISTED = 60, 6, 400, 1_000
_SHOWN, _NOTABLE = 20, 12
_LONGEST = 10**30


class SkylinePage(CountsPage[SkylineReport]):
    """The skylines of some values."""

    serves = SkylineReport
    kept = "it shows how little knowledge is enough to find people out, and in which groups"

    @property
    def headline(self) -> str:
        """Say what the page is about."""
        values = self.result.values
        what = named(values[0]) if len(values) == 1 else f"{len(values)} values"
        return f"What the release withstands at {limit_text(self.result.confidence)}: {what}"

    @property
    def explanation(self) -> str:
        """Two sentences that say what a skyline is to a reader who has never heard of one."""
        report = self.result
        value = named(report.values[0]) if len(report.values) == 1 else "the value"
        sure = "certain" if report.confidence == 1 else f"{limit_text(report.confidence)} sure"
        return (
            "The release withstands an amount of knowledge if nobody with that amount, whichever "
            f"facts they are, can be {sure} that a particular person has {value}. A knowledge "
            "skyline lists the largest such amounts: with one more fact of any kind, an "
            "adversary could be, in the worst case."
        )

    @property
    def eyebrow(self) -> str:  # type: ignore[override]
        """The words above the headline: one skyline, or several."""
        return f"Knowledge skyline{'s' if len(self.result.values) > 1 else ''} of"

    @property
    def promise(self) -> str:  # type: ignore[override]
        """The meaning of "withstood", in a sentence."""
        limit = limit_text(self.result.confidence)
        return f"Withstood means strictly below {limit}, decided with exact fractions."

    @property
    def notes(self) -> list[str]:
        """Notes about what the skyline does not cover."""
        terms = terms_of(self.result)
        return sentences(Reader(self.result.scope, terms.noun, terms.counted))

    def blocks(self) -> Iterator[Block]:
        """Yield an explanation, an overview of all values, and the skyline of each."""
        report = self.result
        has_several = len(report.values) > 1
        yield Sentence(self.explanation, "lead")
        yield Sentence(terms_of(report).explained, "note", whole=True)
        if report.by_class is not None:
            yield from _all_values(report, report.by_class)
            yield from _classes(report, report.by_class)
        if has_several and not _too_many(report):
            yield from _overview(report)
        for position, value in enumerate(_drawn_values(report), 1):
            value_part = partial(value_blocks, report, value, f"value-{position}")
            yield from [Later(value_part)] if has_several else value_part()


def _too_many(report: SkylineReport) -> bool:
    """True if there are too many classes of values to show one value of each."""
    return report.by_class is not None and len(report.by_class.classes) > _MOST_LISTED


def _drawn_values(report: SkylineReport) -> Sequence[Label]:
    """The values that have a part of the page."""
    if report.by_class is not None and _too_many(report):
        return [value_class.example for value_class in report.by_class.classes[:_MOST_CLASSES]]
    return report.values[:_MOST_VALUES]


def _all_values(report: SkylineReport, skylines: Skylines) -> Iterator[Block]:
    """Yield the skyline of all values together: a sentence and a table of notable points.

    Points (l, k, m) are amounts of facts that every value withstands.
    """
    terms, points = terms_of(report), skylines.of_all
    yield Heading(
        f"All values together: {some(len(points), 'point', 'points')}", "together", whole=False
    )
    if not points:
        yield Sentence(
            "For at least one value, the release alone is too much.",
            "unsafe",
        )
        return
    fewest_facts = fewest_beyond(points, report.most_l)
    yield Sentence(
        "The release withstands these amounts for every value. Too much for at least one value: "
        f"{adversary(terms, fewest_facts)}.",
        "lead",
    )
    notable = [points[position] for position in notable_places(points)]
    rows: list[Row] = [(*_amount_cells(point), adversary(terms, point)) for point in notable]
    title = "Points of the skyline of all values together"
    yield Table((*"lkm", "withstands"), rows, left=(3,), style="points", roomy=(3,), title=title)
    if len(notable) < len(points):
        yield Sentence(f"{len(notable)} of {number(len(points))} points are shown.")


def _classes(report: SkylineReport, skylines: Skylines) -> Iterator[Block]:
    """Yield a table of classes of values, with the most of each kind of knowledge alone.

    Classes that withstand the same amounts share a row.
    """
    terms, classes = terms_of(report), skylines.classes
    yield Heading(
        f"Values by class: {some(len(classes), 'class', 'classes')}", "classes", whole=False
    )
    yield Sentence(
        "The values of a class are equally frequent in the groups that matter, so they have the "
        "same skyline. The last columns show how much of one kind of knowledge alone the release "
        "withstands; classes with the same amounts share a row."
    )
    classes_by_amounts: dict[MostAlone | None, list[ValueClass]] = {}
    for value_class in classes:
        classes_by_amounts.setdefault(value_class.most, []).append(value_class)
    rows: list[Row] = []
    for amounts, members in list(classes_by_amounts.items())[:_MOST_LISTED]:
        n_values = sum(value_class.n_values for value_class in members)
        example = visible(members[0].example)
        rows.append((number(n_values), number(len(members)), example, *_texts(amounts or ())))
    yield Table(("values", "classes", "such as", *terms.axes), rows, left=(2,))
    if len(classes_by_amounts) > len(rows):
        yield Sentence(
            f"These are the weakest; {number(len(classes_by_amounts) - len(rows))} more rows are "
            "left out."
        )
    yield Sentence(
        "Ask for a value by name to see all of its points; the JSON lists the values of each class."
    )


def _overview(report: SkylineReport) -> Iterator[Block]:
    """Yield a table of values, with the most of each kind of knowledge alone.

    Only so many values are listed, those that withstand least; some have a part of the page, which
    their row links to.
    """
    limit, terms = limit_text(report.confidence), terms_of(report)
    title = f"The largest amount of one kind of knowledge alone that stays below {limit}"
    yield Heading(title, "values", whole=False)
    amounts = {value: _most_alone(report, value) for value in report.values}
    n_omitted = len(amounts) - _MOST_LISTED
    listed_values = amounts if n_omitted <= 0 else _weakest_values(amounts)
    anchors = {
        value: f"value-{place}" for place, value in enumerate(report.values[:_MOST_VALUES], 1)
    }
    rows: list[Row] = []
    for value in listed_values:
        name = Cell(visible(value), link=anchors.get(value, ""))
        n_points = len(report.points(value))
        points = Cell(number(n_points), "" if n_points else "unsafe")
        rows.append((name, number(report.occurrences(value)), *_texts(amounts[value]), points))
    titles = ("value", terms.holders.lower(), *terms.axes, "points of the skyline")
    yield Table(titles, rows, roomy=(1,))
    if n_omitted > 0:
        yield Sentence(
            f"These are the weakest by all three together; {number(n_omitted)} more values are "
            "left out. Ask for them by name."
        )
    elif len(amounts) > _MOST_VALUES:
        other_values = some(len(amounts) - _MOST_VALUES, "other value", "other values")
        yield Sentence(
            f"And {other_values} without a section here; ask for them by name.", whole=True
        )
    if not all(amounts.values()):
        yield Sentence("A value without a point is too likely by the release alone.")


# ---- one value, as the command line and the explorer show it, too --------------------------------


def value_blocks(report: SkylineReport, value: Label, anchor: str = "value") -> Iterator[Block]:
    """Yield the skyline of one value: what is too much, a heat map, and its notable points."""
    corners = report.corners(value)
    notable = notable_points(corners)
    points_text = some(len(corners), "point", "points")
    shows_all = len(notable) == len(corners)
    title = f"{visible(value)} at {limit_text(report.confidence)}: {points_text}"
    title += "" if shows_all else f", of which {len(notable)} are shown"
    yield Heading(title, anchor, whole=False)
    yield Sentence(least_sentence(report, value), "lead" if corners else "unsafe")
    if not corners:
        return
    yield Later(lambda: [heat_figure(report, value, f"{anchor}-heat")])
    yield _points(report, value, notable)
    if not shows_all:
        yield Later(lambda: [_every(report, value, corners)])


def _every(report: SkylineReport, value: Label, corners: Sequence[Corner]) -> Folded:
    """A folded table of all points of a value's skyline."""
    n_rows, total = min(len(corners), _MOST_ROWS), number(len(corners))
    title = (
        f"All {total} points" if n_rows == len(corners) else f"The first {n_rows} of {total} points"
    )
    where_text = ", which are in the JSON of the report" if report.by_class is None else ""
    table = replace(
        _points(report, value, corners[:n_rows]), omitted=len(corners) - n_rows, where=where_text
    )
    return Folded(title, [table])


def heat_figure(report: SkylineReport, value: Label, anchor: str) -> Figure:
    """The heat map of a value."""
    title = "How sure an adversary with that much knowledge can be"
    heat = skyline_heat(report, value)
    return Figure(anchor, title, heat, heat_caption(report, value), level=3)


def _amount_cells(point: Point) -> list[Cell]:
    """The amounts of a point, each in a cell."""
    return [Cell(number(amount), "strong") for amount in point]


def _points(report: SkylineReport, value: Label, corners: Sequence[Corner]) -> Table:
    """A table of points (l, k, m): what each withstands, what is beyond, and how sure one is."""
    terms, limit = terms_of(report, value), report.confidence
    rows: list[Row] = []
    for corner in corners:
        withstands, beyond = adversary(terms, corner.point), beyond_sentence(terms, corner, limit)
        chance = percent(corner.found, limit, 1, "up")
        bar = bar_cell(chance, corner.found.probability, "safe", limit)
        rows.append((*_amount_cells(corner.point), withstands, beyond, bar))
    titles = (*"lkm", "withstands", "beyond", "at most this sure")
    title = "Points of the skyline, and how sure an adversary with that much knowledge could be"
    return Table(titles, rows, left=(3, 4), style="points", roomy=(4,), title=title)


def worst_case(report: SkylineReport, value: Label, point: Point) -> Iterator[Block]:
    """Yield if a release withstands l, k and m facts, and the worst case in groups and numbers."""
    is_withstood, (l, k, m) = report.withstands(value, point), point
    statement = f"l={l}, k={k}, m={m} is {'withstood' if is_withstood else 'not withstood'}"
    yield Sentence(
        f"{statement}: {probability_text(report, value, point)}.", "" if is_withstood else "unsafe"
    )
    yield Sentence(worst_sentence(report, value, point))
    yield Items(
        [f"{title}: {text}" for title, text in _worst_description(report, value, point).details]
    )


# ---- words ----------------------------------------------------------------------------------


def terms_of(report: SkylineReport, value: Label | None = None) -> Terms:
    """How to speak of facts about a value of a report."""
    noun = NOUN if report.sensitive is None else noun_of(report.sensitive)
    return Terms.of(report.counts.semantics, noun, None if value is None else named(value))


def adversary(terms: Terms, point: Point) -> str:
    """Describe who has these amounts of facts.

    >>> adversary(Terms("diagnosis"), (2, 0, 3))
    'an adversary who knows 2 diagnoses the target does not have and 3 links'
    """
    return f"an adversary who knows {terms.known(*point) or 'nothing but the release'}"


def beyond_sentence(terms: Terms, corner: Corner, limit: Fraction) -> str:
    """A sentence that says what one more fact of each kind would do."""
    chances: dict[str, str] = {}
    for (kind, _), disclosure in zip(terms.things, corner.beyond, strict=True):
        if disclosure is not None:
            chances[kind] = _chance(disclosure, limit)
    distinct = {*chances.values()}
    if len(distinct) == 1:
        return f"One more fact of any kind: {distinct.pop()}."
    phrases = [f"one more {kind}: {chance}" for kind, chance in chances.items()]
    return f"{capital('; '.join(phrases))}."


def least_sentence(report: SkylineReport, value: Label) -> str:
    """A sentence about the smallest amount of knowledge (l, k, m) that is too much for a value."""
    terms, limit = terms_of(report, value), report.confidence
    point = report.least_beyond(value)
    disclosure = report.disclosure(value, point)
    certainty = (
        "certain of"
        if is_certain(disclosure, limit)
        else f"{percent(disclosure, limit, 1)} sure of"
    )
    if not any(point):
        return (
            "The release alone is too much: an adversary who knows nothing else can be "
            f"{certainty} {terms.value}."
        )
    return (
        f"Too much: an adversary who knows {terms.known(*point)} can be {certainty} {terms.value} "
        "in the worst case."
    )


def worst_sentence(report: SkylineReport, value: Label, point: Point) -> str:
    """Say what such an adversary can find out at worst: about whom, through which facts."""
    disclosure, limit = report.disclosure(value, point), report.confidence
    used = _worst_description(report, value, point)
    how = "certain" if is_certain(disclosure, limit) else f"{percent(disclosure, limit, 1)} sure"
    return f"Someone who {used.knows} can be {how} that {used.whose} has {named(disclosure.value)}."


def probability_text(report: SkylineReport, value: Label, point: Point) -> str:
    """Write the breach probability as a fraction, where that is short, and as a percentage."""
    disclosure, limit = report.disclosure(value, point), report.confidence
    percentage, fraction = percent(disclosure, limit, 2), disclosure.exact
    if fraction is None or fraction.denominator > _LONGEST:
        return f"the breach probability is {percentage}"
    if fraction == 1:
        return "the breach probability is 1"
    return f"the breach probability is {fraction} = {percentage}"


def _worst_description(report: SkylineReport, value: Label, point: Point) -> Description:
    witness = report.disclosure(value, point).witness
    assert isinstance(witness, FactsWitness)
    return facts_used(Facts(*point), witness, terms_of(report).noun)


def _chance(disclosure: Disclosure, limit: Fraction) -> str:
    """Write a probability for a table; "certain" for 1."""
    return "certain" if is_certain(disclosure, limit) else percent(disclosure, limit, 1)


def _most_alone(report: SkylineReport, value: Label) -> tuple[int, ...]:
    """The most of l, of k and of m that a value withstands when nothing else is known.

    Empty if not even an adversary without facts is withstood.
    """
    if report.by_class is not None:
        return report.by_class.class_of(value).most or ()
    points = report.points(value)
    return tuple(map(max, zip(*points, strict=True)))


def _texts(amounts: tuple[int, ...]) -> tuple[str, ...]:
    """Amounts for a table; dashes if not even knowing nothing is withstood."""
    return tuple(map(number, amounts)) if amounts else ("–",) * 3


def _weakest_values(amounts: dict[Label, tuple[int, ...]]) -> list[Label]:
    """The values that withstand least, as many as are listed, in their order."""
    ranked = sorted(amounts, key=lambda value: sum(amounts[value] or (-1,)))
    listed = set(ranked[:_MOST_LISTED])
    return [value for value in amounts if value in listed]


def notable_points(corners: Sequence[Corner], max_points: int = _NOTABLE) -> list[Corner]:
    """Choose some points, in order: the extremes, the most balanced, and some between."""
    chosen = notable_places([corner.point for corner in corners], max_points)
    return [corners[i] for i in chosen]


def notable_places(all_points: Sequence[Point], max_points: int = _NOTABLE) -> list[int]:
    """The positions, ascending, of points (l, k, m) to show: extremes, and some between."""
    if len(all_points) <= max(max_points, _SHOWN):
        return list(range(len(all_points)))
    # Each kind of knowledge is scaled to 1, so that they can be compared.
    points = np.array(all_points, dtype=float)
    points /= np.maximum(1, points.max(axis=0))
    # The point with the most of each kind (of equal ones, with the largest sum), the point whose
    # smallest amount is largest, and points at equal distances.
    chosen = {*np.argmax(points + points.sum(axis=1, keepdims=True) / 1e6, axis=0).tolist()}
    chosen.add(int(np.argmax(points.min(axis=1))))
    evenly_spaced = np.linspace(0, len(all_points) - 1, max_points - len(chosen))
    chosen |= set(evenly_spaced.round().astype(int).tolist())
    return sorted(chosen)


# ---- the figure -----------------------------------------------------------------------------

# Amounts of one kind across or up, and panels, at most; of one value, and of each of several.
_MOST_AMOUNTS, _MOST_PANELS = (13, 8), (6, 3)


def skyline_heat(report: SkylineReport, value: Label) -> HeatMap:
    """A heat map of how sure an adversary becomes of a value.

    It has l (values that the target is known not to have) upwards, k (people whose values are
    known) across, and a panel for each m (people linked to the target).
    """
    terms, points = terms_of(report, value), np.array(report.points(value))
    highest_l, highest_k, _ = points.max(axis=0).tolist()
    has_several = len(report.values) > 1
    # One more than the skyline reaches, so that the map shows its edge; not all amounts fit.
    ls = some_amounts(min(highest_l + 1, report.most_l), highest_l, _MOST_AMOUNTS[has_several])
    ks = some_amounts(highest_k + 1, highest_k, _MOST_AMOUNTS[has_several])
    ms = chosen(sorted({0, *points[:, 2].tolist()}), _MOST_PANELS[has_several])
    disclosures = report.disclosures(value, [(l, k, m) for m, l, k in product(ms, ls, ks)])

    def square(point: Point) -> Square:
        """The square of a point (l, k, m): how sure an adversary is, and if it is withstood."""
        (l, k, m), chance_text = point, _chance(disclosures[point], report.confidence)
        is_withstood = report.withstands(value, point)
        return Square(
            f"l={l}, k={k}, m={m}: {chance_text}",
            disclosures[point].probability,
            is_withstood,
            point,
        )

    def row(l: int, m: int) -> list[Square]:
        return [square((l, k, m)) for k in ks]

    panels = []
    for m in ms:
        rows = [row(l, m) for l in ls]
        panels.append(Panel(amount_of(m, terms.things[2]), rows))
    return HeatMap(
        f"{terms.axes[1]} →", terms.axes[0], [*map(number, ks)], [*map(number, ls)], panels
    )


def heat_caption(report: SkylineReport, value: Label) -> str:
    """Say how to read the heat map."""
    terms, limit = terms_of(report, value), limit_text(report.confidence)
    return (
        f"Upwards: {terms.axes[0]}. Darker squares mean a surer adversary; inside the line they "
        f"stay below {limit}. Point at a square to read how sure."
    )


def some_amounts(highest: int, marked: int, n_amounts: int) -> list[int]:
    """About `n_amounts` amounts from 0 to `highest`, including `marked`.

    >>> some_amounts(4, 3, 8), some_amounts(100, 99, 5)
    ([0, 1, 2, 3, 4], [0, 24, 49, 74, 99, 100])

    If they do not all fit, they are spread evenly up to `marked`; the highest one comes last.
    """
    if highest < n_amounts:
        return list(range(highest + 1))
    return sorted({marked, highest, *(marked * i // (n_amounts - 1) for i in range(n_amounts))})


def chosen(amounts: Sequence[int], max_amounts: int) -> list[int]:
    """At most so many of some amounts, the first and the last among them.

    >>> chosen([0, 1, 2, 5, 9], 3)
    [0, 2, 9]
    """
    if len(amounts) <= max_amounts:
        return list(amounts)
    return [amounts[(len(amounts) - 1) * i // (max_amounts - 1)] for i in range(max_amounts)]


def amount_of(amount: int, things: tuple[str, str]) -> str:
    """An amount with its noun.

    >>> amount_of(0, ("link", "links")), amount_of(1, ("link", "links"))
    ('no links', 'one link')
    """
    return some(amount, *things) if amount else f"no {things[1]}"
