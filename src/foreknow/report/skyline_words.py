"""Skyline words: what the points of a knowledge skyline mean, as sentences."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts import Facts
from foreknow.adversaries.facts_witness import FactsWitness
from foreknow.labels import Label
from foreknow.report.percent import is_certain, limit_text, percent
from foreknow.report.sentences import Telling, facts_used
from foreknow.report.terms import NOUN, Terms
from foreknow.report.words import named, noun_of, number
from foreknow.skylining import Corner, Point, SkylineReport

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
