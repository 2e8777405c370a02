"""K-map and delta-presence: each person of a population is tried in each group.

A label is read in every way in which it can be read, by a tree or an order too; if two readings
differ it is refused, unless the certificate says that it is a value. This shares no code with the
criteria of the search.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import reduce
from operator import and_, getitem
from typing import Any, NamedTuple, TypeAlias

from pydantic import Field

from foreknow_judge.counts.group_bags import GroupBags, Measured
from foreknow_judge.counts.labels import (
    AMONG,
    MISSING,
    OR_MISSING,
    TO,
    Span,
    between,
    in_quotes,
    is_everything,
    name_and_level,
    number_of,
    spans_of,
    value_of,
)
from foreknow_judge.criteria.gauge import AsFraction, Gauge
from foreknow_judge.errors import CertificateError
from foreknow_judge.numbers import is_code
from foreknow_judge.policy.settings import Settings

# A zone at the end of a moment; moments are compared by the clocks of their zones.
_ZONE = re.compile(r"(:[0-9.]+)(?:Z|[-+][0-9]{2}:[0-9]{2})\Z")

# Distinct rows of some columns; at the end of each, how many people have it.
People = Sequence[tuple[Any, ...]]


class PopulationSettings(Settings):
    """A population in a policy file; the last four are a certificate's."""

    population: str = Field(json_schema_extra={"format": "path"})
    digest: str | None = Field(None, json_schema_extra={"readOnly": True})
    trees: dict[str, list[list[str]]] | None = None
    orders: dict[str, list[str]] | None = None
    exact: dict[str, list[str]] | None = None


class KMapSettings(PopulationSettings):
    """``k_map`` in a policy file."""

    k: int


class DeltaPresenceSettings(PopulationSettings):
    """``delta_presence`` in a policy file."""

    lowest: AsFraction
    highest: AsFraction


class Population(NamedTuple):
    """A population: its distinct rows of some columns."""

    columns: Sequence[str]
    people: People
    exact: bool = False  # whether it is compared with exact values instead of labels

    @property
    def digest(self) -> str:
        """A digest of its content, in whatever order it was read."""
        order = sorted(range(len(self.columns)), key=lambda i: self.columns[i])
        rows = [[*map(row.__getitem__, order), row[-1]] for row in self.people]
        rows.sort(key=lambda row: [(value is not None, str(value)) for value in row])
        text = json.dumps([[self.columns[i] for i in order], rows])
        return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def gauge_k_map(groups: GroupBags, settings: KMapSettings, everybody: Population) -> Measured:
    """The group that the fewest people of the population could be in."""
    if settings.k < 1:
        raise CertificateError("wrong-setting", "k_map")
    n_matches, _, _ = count_matches(groups, settings, everybody)
    fewest = min(n_matches)
    return Measured(Fraction(fewest), groups.group(n_matches.index(fewest)), fewest >= settings.k)


def gauge_delta_presence(
    groups: GroupBags, settings: DeltaPresenceSettings, everybody: Population
) -> Measured:
    """Measure delta-presence: the group whose people are most likely in the table.

    The chance is people of the group over people of the population who fit it. It must lie between
    the two limits in all groups; for people who fit no group it is 0.
    """
    low, high = settings.lowest, settings.highest
    if not 0 <= low <= high <= 1:
        raise CertificateError("wrong-setting", "delta_presence")
    n_matches, outside, overlap = count_matches(groups, settings, everybody)
    # Where people fit two groups, no chance between 0 and 1 is ruled out.
    if overlap:
        return Measured(Fraction(1), groups.group(0), low == 0 and high == 1)
    rates = [
        Fraction(n_people, n_fitting)
        for n_people, n_fitting in zip(groups.people.tolist(), n_matches, strict=True)
    ]
    lowest_rate, highest_rate = Fraction(0) if outside else min(rates), max(rates)
    figures = {"lowest": lowest_rate, "highest": highest_rate}
    holds = low <= lowest_rate and highest_rate <= high
    return Measured(highest_rate, groups.group(rates.index(highest_rate)), holds, figures)


# A set of groups: a whole number with bit i set if group i is in it, so that sets meet quickly.
_Groups: TypeAlias = int
_ALL: _Groups = -1


def count_matches(
    groups: GroupBags, settings: PopulationSettings, everybody: Population
) -> tuple[list[int], int, bool]:
    """How many people of the population fit each group, how many none, and whether one fits two.

    A population that cannot include the people of the table is refused: it must have enough
    people for each group, together with all groups that lie within it. Sets of groups are whole
    numbers here: bit i says whether group i is in the set.
    """
    columns = enumerate(everybody.columns)
    # For each column: by value, the groups whose label covers it.
    covering_groups = [
        _covering(groups, number, name, settings, everybody) for number, name in columns
    ]
    sizes = groups.people.tolist()
    people, around = [0] * len(sizes), [_ALL] * len(sizes)
    outside, overlap = 0, False
    for *row, n_people in everybody.people:
        # People fit the groups that cover their values in every column.
        fitting_groups: _Groups = reduce(and_, map(getitem, covering_groups, row))
        outside += 0 if fitting_groups else n_people
        overlap = overlap or fitting_groups.bit_count() > 1
        for number in _members(fitting_groups):
            people[number] += n_people
            # In the end: the groups that everybody fits who fits this one, so it lies within them.
            around[number] &= fitting_groups
    covered = [0] * len(sizes)  # the people of a group and of all that lie within it
    for number, size in enumerate(sizes):
        for wider in _members(around[number]) if people[number] else ():
            covered[wider] += size
    for number, n_fitting in enumerate(people):
        if n_fitting < max(covered[number], sizes[number]):
            raise CertificateError("other-population", ", ".join(map(str, groups.group(number))))
    return people, outside, overlap


def _covering(
    groups: GroupBags,
    column_number: int,
    column: str,
    settings: PopulationSettings,
    everybody: Population,
) -> dict[Any, _Groups]:
    """For each value of a column of the population, the groups whose label covers it.

    A set of groups is a whole number: bit i says whether group i is in it.
    """
    with_label: dict[str | None, _Groups] = {}  # groups that share a label are read once
    for number, label in enumerate(groups.labels[column_number].to_list()):
        with_label[label] = with_label.get(label, 0) | 1 << number
    readings = [(by or {}).get(column) for by in (settings.trees, settings.orders, settings.exact)]
    values = _LabelReader({row[column_number] for row in everybody.people}, column, *readings)
    covering: dict[Any, _Groups] = dict.fromkeys(values.texts, 0)
    for label, groups_with_label in with_label.items():
        for value in values.equal(label) if everybody.exact else values.in_label(label):
            covering[value] |= groups_with_label
    return covering


def _members(groups: _Groups) -> Iterator[int]:
    """Yield the numbers of the groups in a set, in order."""
    while groups:
        first = groups & -groups  # the lowest bit that is set, alone
        yield first.bit_length() - 1
        groups ^= first


class _LabelReader:
    """The distinct values of a column, and which of them fall in a label."""

    def __init__(self, texts: set[Any], column: str, tree: Any, order: Any, exact: Any) -> None:
        # `texts` are the values of the column in the population. How its labels are read: by the
        # rows of a tree (a value and the nodes above it), by a list of values in order, or by
        # values that stay exact.
        if any(not 2 <= len(row) == len(tree[0]) for row in tree or ()):
            raise CertificateError("malformed-tree")
        self.texts, self._column = texts, column
        self._rows = {str(row[0]): [*map(str, row)] for row in tree or ()}
        self._order = {str(value): position for position, value in enumerate(order or ())}
        self._nodes: dict[tuple[int, str], set[Any]] = {}  # by level and name, the values below
        for text, row in self._rows.items():
            for level, label in enumerate(row):
                self._nodes.setdefault((level, label), set()).add(text)
        self._unlisted = sorted(texts - {None, *self._rows})
        self._known = {*self._rows, *self._order, *map(str, exact or ())}
        numbers_and_moments = []
        for text in texts - {None}:
            value = value_of(_ZONE.sub(r"\1", text))  # without its time zone
            if value is not None:
                numbers_and_moments.append((value.dated, value.low, text))
        # The numbers, then the moments, in order, so that those of a range are found by bisection.
        self._line = sorted(numbers_and_moments)
        self._keys = [key for *key, _ in self._line]

    def equal(self, value: str | None) -> set[Any]:
        """The values that are equal to one that is published unchanged."""
        same = {value} & self.texts
        return same if value is None else same | self._number(value)

    def in_label(self, label: str | None) -> set[Any]:
        """The values that a label covers."""
        if label is None or label in self._known:
            return {label} & self.texts
        node = self._of_node(label)
        as_it_stands = {label} & self.texts if node is None else node
        return self._one([as_it_stands, *self._readings(label)], label)

    def _one(self, readings: Sequence[set[Any]], label: str) -> set[Any]:
        """The values that a label covers; refused if two ways to read it cover different ones."""
        nonempty = [values for values in readings if values]
        if any(values != nonempty[0] for values in nonempty):
            raise CertificateError("ambiguous-label", label, column=self._column)
        return nonempty[0] if nonempty else set()

    def _of_node(self, label: str) -> set[Any] | None:
        """The values below the lowest node with this label, or else below `name (level n)`.

        None if the tree has no such node. A value that the tree does not list might lie below any
        node, so it is refused.
        """
        name, named_level = name_and_level(label)
        levels = range(1, len(next(iter(self._rows.values()), ())))  # all rows have equally many
        nodes = [(level, label) for level in levels]
        if named_level:
            nodes.append((named_level, name))
        lowest = next((node for node in nodes if node in self._nodes), None)
        if lowest is None:
            return None
        if self._unlisted:
            raise CertificateError(
                "not-listed", "a tree of the population", value=self._unlisted[0]
            )
        return self._nodes[lowest] & self.texts

    def _readings(self, label: str) -> Iterator[set[Any]]:
        """Yield the values that a label covers, in each way to read it; empty if it fits none.

        Labels may be masked ("B2*"), ranges ("20 to 29"), lists ("a | b"), nodes of a tree ...
        """
        if label == MISSING:
            yield {None} & self.texts
        if is_everything(label):
            yield self.texts
        name, level = name_and_level(label)
        n_stars = len(name) - len(name.rstrip("*"))
        # Beside a value 1, the label 1 (level 1) is a node, and not this value.
        if level is not None and not n_stars and not (name in self._rows and value_of(name)):
            yield from self._readings(name)
        if n_stars:  # masked characters, or some of them stand in the values
            for masked in range(1, n_stars + 1) if level is None else [level]:
                yield self._beginning(name, masked)
        # A plus was added to a label that some value has, too.
        bare = label.rstrip("+")
        if bare != label and bare.endswith(("*", ")", '"', OR_MISSING)):
            yield self._of_node(bare) or set()
            yield from self._readings(bare)
        if label.endswith(OR_MISSING):
            present = label.removesuffix(OR_MISSING)
            labelled = self._one([{present} & self.texts, *self._readings(present)], label)
            yield labelled | self._null(label[0] == '"')
        yield from self._lists(label)
        yield self._number(label)
        for ends in (in_quotes(label, TO), label.split(TO)):
            if ends is not None and len(ends) == 2:
                yield from self._between(*ends)
        if TO not in label:  # periods and open ranges; a single number was read above
            spans = (span for span in spans_of(label) if span != number_of(label))
            yield from map(self._within, spans)

    def _null(self, quoted: bool) -> set[Any]:
        null = {None} & self.texts
        return null if quoted else self._one([null, {MISSING} & self.texts], MISSING)

    def _number(self, text: str) -> set[Any]:
        """The values that are the same number, but no codes."""
        number = None if is_code(text) else number_of(text)
        values = set[Any]() if number is None else self._within(number)
        return {value for value in values if not is_code(value)}

    def _within(self, span: Span) -> set[Any]:
        """The values that lie in a span."""
        first, last = (bisect_left(self._keys, [span.dated, cut]) for cut in span[1:])
        return {text for *_, text in self._line[first:last]}

    def _beginning(self, label: str, masked: int) -> set[Any]:
        start = label[:-masked]
        equally_long = (t for t in self.texts if t is not None and len(t) == len(label))
        return {t for t in equally_long if start and t[: len(start)] == start}

    def _lists(self, label: str) -> Iterator[set[Any]]:
        """Yield the values of a list such as `a | b`, `"a" | "b"` or `missing | "a"`.

        Values stand in quotes where one of them contains the bar, or a word such as "missing".
        """
        present_label = label.removeprefix(MISSING + AMONG)
        quoted = in_quotes(present_label, AMONG)
        if quoted is not None and present_label != label:
            bare = present_label.split(AMONG)
            # The quotes may also belong to the values.
            lists = [quoted, bare if len(bare) == len(quoted) else quoted]
            occurring = [*filter(None, ({*texts} & self.texts for texts in lists))]
            yield from ({*members, None} & self.texts for members in occurring or [set()])
            return
        if quoted is not None:
            yield {*quoted} & self.texts
        listed = label.split(AMONG)
        if len(listed) == 1:
            return
        # Values that contain a bar themselves: nobody can say where they begin in the label.
        longer = {t for t in self.texts if t and AMONG in t and t in label} - {label}
        if longer and quoted is None:
            self._one([{label}, longer], label)  # two readings that differ, which it refuses
        union: set[Any] = set()
        for text in listed:
            if text == MISSING:
                union |= self._null(False)
            else:
                union |= self._one([{text} & self.texts, self._number(text)], text)
        yield union

    def _between(self, low: str, high: str) -> Iterator[set[Any]]:
        """Yield the values of a range "low to high": by their order, and as numbers or dates."""
        if low in self._order and high in self._order:
            first_and_last = self._order[low], self._order[high]
            texts_with_positions = ((text, self._order.get(text, -1)) for text in self.texts)
            yield {
                text
                for text, position in texts_with_positions
                if first_and_last[0] <= position <= first_and_last[1]
            }
        yield from map(self._within, between(low, high))


GAUGES = {
    "k_map": Gauge(
        gauge_k_map, settings=KMapSettings, of_people=True, of_classes=True, of_population=True
    ),
    "delta_presence": Gauge(
        gauge_delta_presence,
        settings=DeltaPresenceSettings,
        of_people=True,
        of_classes=True,
        of_population=True,
    ),
}
