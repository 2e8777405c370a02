"""What a reader sees of a release: who is in which group, and what else is published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, product
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.engines import open_table
from foreknow.data.engines.columns import fetch
from foreknow.data.generalization import coarsened, style_of
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError
from foreknow.publishing.tables import GROUP

# Ways to divide the groups of one release, and subsets that are tried to find them.
_MOST_WAYS, _MOST_TRIED = 5_000, 50_000
What: TypeAlias = Literal["groups", "table", "nothing"]
# A group that a reader sees, as the groups that it may consist of.
Parts: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Observation:
    """A release as a reader sees it; equal to any that a reader cannot tell from it.

    Bags are not compared: worlds have the bags of the release, group by group. Of a published
    table, of which it is not known who is in which row, and where nothing is published, `groups`
    holds one group of everybody.
    """

    groups: IntArray  # numbered by their first members: a method's numbers tell nothing
    published: Any = None  # labels with their levels, or what a function publishes
    left_out: int | None = None  # the group of people who are left out
    what: What = "groups"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Observation):
            return NotImplemented
        if self.left_out != other.left_out or self.what != other.what:
            return False
        one, two = self.published, other.published
        try:
            return np.array_equal(self.groups, other.groups) and bool(one == two)
        except Exception as error:  # of a class of the user's
            raise InputError(
                f"what is published cannot be compared, {type(one).__name__} with "
                f"{type(two).__name__}: {error}"
            ) from None

    @classmethod
    def of_everybody(cls, people: int, what: What, published: Any = None) -> Observation:
        """What is seen where it is not known who is in which group."""
        return cls(np.zeros(people, dtype=np.int64), published, None, what)

    def distance(self, other: Observation) -> float:
        """The share of pairs of people who are together in one release and not in the other."""
        both = self.groups * (int(other.groups.max()) + 1) + other.groups
        pairs = [float((np.bincount(g) ** 2.0).sum()) for g in (self.groups, other.groups, both)]
        return (pairs[0] + pairs[1] - 2 * pairs[2]) / len(self.groups) ** 2


def numbered(groups: IntArray) -> IntArray:
    """Number groups by their first members."""
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place.reshape(-1)]


# ---- groups of one label -------------------------------------------------------------------------


class Refinements:
    """The groups that a method may have made, where a reader sees those of one label as one."""

    def __init__(
        self,
        seen: Observation,
        labels: Sequence[Hashable],
        label: Callable[[tuple[int, ...]], Hashable],
        least: int,
    ) -> None:
        self._seen, self._label, self._least, self._tried = seen, label, least, 0
        sizes = np.bincount(seen.groups)
        members = np.split(np.argsort(seen.groups, kind="stable"), np.cumsum(sizes)[:-1])
        whole = dict(zip((g for g in range(len(sizes)) if g != seen.left_out), labels, strict=True))
        self._ways: dict[int, list[Parts] | None] = {}
        for group in np.argsort(sizes, kind="stable").tolist():
            people = tuple(members[group].tolist())
            single = group == seen.left_out or len(people) < 2 * least
            self._ways[group] = [(people,)] if single else self._divided(people, whole[group])

    @property
    def single(self) -> NDArray[np.bool_]:
        """Which of the groups that are seen can be one group only."""
        each = (self._ways[group] for group in range(len(self._ways)))
        return np.array([ways is not None and len(ways) == 1 for ways in each])

    @property
    def number(self) -> int | None:
        """How many ways to divide there are in all; None for too many."""
        each = list(self._ways.values())
        number = prod(0 if ways is None else len(ways) for ways in each)
        return None if None in each or number > _MOST_WAYS else number

    def each(self) -> Iterator[IntArray]:
        """Everybody's group in each way; -1 for people who are left out."""
        shown = [ways or [] for group, ways in self._ways.items() if group != self._seen.left_out]
        for chosen in product(*shown):
            made = np.full(len(self._seen.groups), -1, dtype=np.int64)
            for number, part in enumerate(part for parts in chosen for part in parts):
                made[list(part)] = number
            yield made

    def _divided(self, people: tuple[int, ...], whole: Hashable) -> list[Parts] | None:
        """Every way to divide people into groups of one label; None for too many."""
        try:
            found = list(islice(self._each(people, whole), _MOST_WAYS + 1))
        except OverflowError:
            return None
        return found if len(found) <= _MOST_WAYS else None

    def _each(self, people: tuple[int, ...], whole: Hashable) -> Iterator[Parts]:
        """Every way; the first of the people are in the first part."""
        if not people:
            yield ()
            return
        first, others = people[0], people[1:]
        for size in range(self._least, len(people) + 1):
            if 0 < len(people) - size < self._least:
                continue
            for more in combinations(others, size - 1):
                self._tried += 1
                if self._tried > _MOST_TRIED:
                    raise OverflowError
                if self._label((first, *more)) == whole:
                    rest = tuple(person for person in others if person not in more)
                    for parts in self._each(rest, whole):
                        yield ((first, *more), *parts)


class Reader:
    """What a reader sees of groups, and of `styles` of labels by column in the generalized form."""

    def __init__(self, microdata: Microdata, styles: Mapping[str, str] | None) -> None:
        self._attributes, self._styles = microdata.attributes, styles
        self._known: dict[bytes, Observation] = {}
        self._label_of: dict[Hashable, Hashable] = {}

    def see(self, groups: IntArray, floors: Mapping[str, IntArray] | None = None) -> Observation:
        """What is seen of groups (below 0: left out), at the levels of `floors` or above."""
        levels = floors if floors is not None and self._styles is not None else {}
        key = groups.tobytes() + b"".join(floor.tobytes() for floor in levels.values())
        if key not in self._known:
            self._known[key] = self._seen(groups, levels)
        return self._known[key]

    def refined(self, seen: Observation, least: int) -> Refinements:
        """The groups of at least so many people that may hide behind equal labels."""
        labels: Sequence[Hashable] = seen.published or ()
        if self._styles is None:  # groups are told apart
            least = len(seen.groups)
            labels = [None] * (int(seen.groups.max()) + 1 - (seen.left_out is not None))
        return Refinements(seen, labels, self._label, least)

    def _label(self, people: tuple[int, ...]) -> Hashable:
        """The label of some people as one group."""
        rows = np.array(people)
        key = tuple(tuple(np.unique(a.codes[rows]).tolist()) for a in self._attributes)
        if key not in self._label_of:
            self._label_of[key] = self._labels(np.zeros(len(rows), dtype=np.int64), rows, {})[0]
        return self._label_of[key]

    def _seen(self, groups: IntArray, floors: Mapping[str, IntArray]) -> Observation:
        inside = groups >= 0
        names, place = np.unique(groups[inside], return_inverse=True)
        place, published = place.reshape(-1).astype(np.int64), None
        if self._styles is not None and len(names):
            each = self._labels(place, inside, {key: of[names] for key, of in floors.items()})
            known = {label: i for i, label in enumerate(dict.fromkeys(each))}
            place = np.array([known[label] for label in each], dtype=np.int64)[place]
            shown = list(known)
            published = tuple(shown[i] for i in dict.fromkeys(place.tolist()))
        merged = np.full(len(groups), -1, dtype=np.int64)
        merged[inside] = place
        found = numbered(merged)
        return Observation(found, published, None if inside.all() else int(found[~inside][0]))

    def _labels(
        self, groups: IntArray, inside: NDArray[Any], floors: Mapping[str, IntArray]
    ) -> list[Hashable]:
        """The labels of each group of those who are published."""
        assert self._styles is not None
        columns = []
        for attribute in self._attributes:
            style = style_of(attribute, self._styles.get(attribute.name))
            own = replace(attribute, codes=attribute.codes[inside])
            floor = floors.get(attribute.name)
            columns.append(coarsened(own, groups, int(groups.max()) + 1, style, floor).labels)
        return list(zip(*columns, strict=True))


# ---- what a function returns -----------------------------------------------------------------


def read_returned(given: Any, name: str, schema: Schema) -> tuple[IntArray | None, Any]:
    """Read groups, and what is published beside them (or None); groups are None of tables."""
    if isinstance(given, Release) or hasattr(given, "columns") or _tables(given) is not None:
        return None, _comparable(given, schema)
    published = None
    # A pair of texts is the groups of two rows.
    plain = isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], (str, bytes))
    if plain and hasattr(given[0], "__len__"):
        given, published = given
    return groups_from(given, name), _comparable(published, schema)


def groups_from(given: Any, name: str) -> IntArray:
    """Groups in any form as whole numbers; below 0 for rows that are left out."""
    each = given.to_pylist() if hasattr(given, "to_pylist") else given
    try:
        array = np.asarray(each)
    except ValueError:
        raise InputError(f"{name} must give one group for each row, not {given!r:.60}") from None
    if array.ndim != 1:
        raise InputError(
            f"{name} must give one group for each row, or the table that is published, not "
            f"{type(given).__name__}"
        )
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    labels = [None if label != label else label for label in array.tolist()]  # not a number
    place: dict[Any, int] = {}
    try:
        found = [-1 if label is None else place.setdefault(label, len(place)) for label in labels]
    except TypeError:
        raise InputError(f"{name} gives groups that are no plain labels") from None
    return np.array(found, dtype=np.int64)


def _comparable(given: Any, schema: Schema) -> Any:
    """What is published, comparable; the order of a table's rows does not count."""
    tables = _tables(given)
    if tables is not None:
        return _grouped(tables) or tuple((key, _comparable(tables[key], schema)) for key in tables)
    if isinstance(given, Release):
        return _counted(given, schema)
    if hasattr(given, "columns"):
        table = open_table(given)
        names = tuple(table.columns)
        each = [column.to_pylist() for column in fetch(table, names).columns]
        return names, frozenset(Counter(zip(*each, strict=True)).items())
    if isinstance(given, np.ndarray):
        return given.shape, repr(given.tolist())
    if isinstance(given, (tuple, list)):
        return type(given).__name__, tuple(_comparable(one, schema) for one in given)
    if isinstance(given, Mapping):
        return {key: _comparable(one, schema) for key, one in given.items()}
    return given


def _tables(given: Any) -> Mapping[str, Any] | None:
    """The tables of a publication."""
    tables = getattr(given, "tables", None)
    return tables if isinstance(tables, Mapping) and hasattr(given, "certificate") else None


def _grouped(tables: Mapping[str, Any]) -> Hashable:
    """People and values of each group, whose numbers are drawn at random; None for other forms."""
    if not all(GROUP in table.column_names for table in tables.values()):
        return None
    bags: dict[Any, Counter[Any]] = {}
    for key, table in tables.items():
        for row in table.to_pylist():
            own = bags.setdefault(row.pop(GROUP), Counter())
            own[key, tuple(row.items())] += 1
    return "groups", frozenset(Counter(frozenset(own.items()) for own in bags.values()).items())


def _counted(release: Release, schema: Schema) -> Hashable:
    """The values and the visible quasi-identifiers of each group, and labels that are no ids."""
    counts = release.counts
    try:
        seen = release.signatures(schema.quasi_identifiers)
    except InputError:  # it does not keep them
        seen = None
    labelled = set(release.group_columns) <= set(schema.quasi_identifiers)
    found: Counter[Hashable] = Counter()
    for group, label in enumerate(counts.groups or range(counts.n_groups)):
        here = slice(int(counts.offsets[group]), int(counts.offsets[group + 1]))
        values = [counts.values[code] for code in counts.codes[here].tolist()]
        people: frozenset[Any] = frozenset()
        if seen is not None:
            own = slice(int(seen.offsets[group]), int(seen.offsets[group + 1]))
            signatures = [tuple(seen.labels[code]) for code in seen.codes[own].tolist()]
            people = frozenset(zip(signatures, seen.people[own].tolist(), strict=True))
        bag = frozenset(zip(values, counts.counts[here].tolist(), strict=True))
        found[label if labelled else None, bag, people] += 1
    return "release", frozenset(found.items())
