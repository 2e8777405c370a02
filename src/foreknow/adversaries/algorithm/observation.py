"""What a reader sees of a release: who is in which group, and what else its labels tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.engines import open_table
from foreknow.data.engines.columns import fetch
from foreknow.data.generalization import labels_of, style_of
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError
from foreknow.publishing.tables import GROUP

# Ways for one release, and groups that are tried in order to find them.
_MOST_WAYS, _MOST_TRIED = 5_000, 50_000
# A group that a reader sees, as the groups that it may consist of.
Parts: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Refinements:
    """The groups that a method may have made, where a reader sees those of one label as one.

    Attributes
    ----------
    groups : int64 array, shape (people,)
        As a reader sees them.
    ways : list
        For each group the ways to divide it into groups that all bear its label; None where
        there are too many.
    """

    groups: IntArray
    ways: list[list[Parts] | None]

    @classmethod
    def of(
        cls,
        groups: IntArray,
        left_out: int | None,
        labels: Sequence[Hashable],
        label: Callable[[tuple[int, ...]], Hashable],
        least: int,
    ) -> Refinements:
        """Divide groups.

        Parameters
        ----------
        groups : int64 array, shape (people,)
        left_out : int, optional
            The group of people who are left out, which is no group.
        labels : sequence
            Of the other groups.
        label : callable
            The label of some people as a group.
        least : int
            People of the smallest groups.
        """
        sizes = np.bincount(groups)
        members = np.split(np.argsort(groups, kind="stable"), np.cumsum(sizes)[:-1])
        divided = _Divided(label, least)
        shown = [group for group in range(len(sizes)) if group != left_out]
        whole = dict(zip(shown, labels, strict=True))
        found: list[list[Parts] | None] = [None] * len(sizes)
        for group in np.argsort(sizes, kind="stable").tolist():
            people = tuple(members[group].tolist())
            alone = group == left_out or len(people) < 2 * least
            found[group] = [(people,)] if alone else divided.ways(people, whole[group])
        return cls(groups, found)

    @cached_property
    def one(self) -> NDArray[np.bool_]:
        """Which groups can be one group only."""
        return np.array([ways is not None and len(ways) == 1 for ways in self.ways])

    @cached_property
    def number(self) -> int | None:
        """How many ways there are in all; None for too many."""
        if any(ways is None for ways in self.ways):
            return None
        number = prod(len(ways) for ways in self.ways if ways is not None and len(ways) > 1)
        return number if number <= _MOST_WAYS else None

    def each(self, left_out: int | None) -> Iterator[IntArray]:
        """Everybody's group in each way; -1 for people who are left out."""
        for chosen in product(*(ways or [] for ways in self.ways)):
            made = np.full(len(self.groups), -1, dtype=np.int64)
            number = 0
            for group, parts in enumerate(chosen):
                for part in parts if group != left_out else ():
                    made[list(part)] = number
                    number += 1
            yield made


class _Divided:
    """The ways to divide groups, while there are not too many, and not too much was tried."""

    def __init__(self, label: Callable[[tuple[int, ...]], Hashable], least: int) -> None:
        self._label, self._least, self._tried = label, least, 0

    def ways(self, people: tuple[int, ...], whole: Hashable) -> list[Parts] | None:
        found = []
        try:
            for way in self._each(people, whole):
                found.append(way)
                if len(found) > _MOST_WAYS:
                    return None
        except OverflowError:
            return None
        return found

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
                part = (first, *more)
                if self._label(part) == whole:
                    rest = tuple(person for person in others if person not in more)
                    for parts in self._each(rest, whole):
                        yield (part, *parts)


What: TypeAlias = Literal["groups", "table", "nothing"]


@dataclass(frozen=True, eq=False)
class Seen:
    """A release as a reader sees it; equal to any that a reader cannot tell from it.

    Its bags are not compared: worlds deal out the bags of the release, group by group, so that
    worlds with the same groups have the same bags.

    Attributes
    ----------
    groups : int64 array, shape (people,)
        Numbered by their first members: how a method numbers them tells nothing. People who are
        left out are one more group.
    published : hashable
        What else is published: labels, the level of a generalization; None where nothing is.
    left_out : int, optional
        The group of people who are left out.
    what : {"groups", "table", "nothing"}
        Whether groups are seen; or a table, of which it is not known who is in which row; or that
        nothing is published. Of the last two, `groups` holds one group of everybody.
    """

    groups: IntArray
    published: Any = None
    left_out: int | None = None
    what: What = "groups"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Seen):
            return NotImplemented
        return (
            np.array_equal(self.groups, other.groups)
            and self.left_out == other.left_out
            and self.what == other.what
            and _equal(self.published, other.published)
        )

    def __hash__(self) -> int:
        return hash((self.groups.tobytes(), self.left_out, self.what))

    @classmethod
    def of_everybody(cls, people: int, what: What, published: Any = None) -> Seen:
        """What is seen where it is not known who is in which group."""
        return cls(np.zeros(people, dtype=np.int64), published, None, what)

    @property
    def as_made(self) -> IntArray:
        """The groups, and -1 for people who are left out."""
        if self.left_out is None:
            return self.groups
        return np.where(self.groups == self.left_out, -1, self.groups)

    def apart(self, other: Seen) -> float:
        """The share of pairs of people who are together in one release and not in the other."""
        both = np.bincount(self.groups * (int(other.groups.max()) + 1) + other.groups)
        pairs = [float((n.astype(float) ** 2).sum()) for n in (both, *map(_sizes, (self, other)))]
        return (pairs[1] + pairs[2] - 2 * pairs[0]) / len(self.groups) ** 2


def _sizes(seen: Seen) -> IntArray:
    return np.bincount(seen.groups)


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception as error:  # of a class of the user's
        raise InputError(
            f"what is published cannot be compared, {type(one).__name__} with "
            f"{type(other).__name__}: {error}"
        ) from None


def numbered(groups: IntArray) -> IntArray:
    """Number groups by their first members.

    >>> numbered(np.array([7, 3, 7, 0]))
    array([0, 1, 0, 2])
    """
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place.reshape(-1)]


class Reader:
    """Says what a reader sees of groups, once for each grouping.

    In the generalized form, groups are published with their labels. Groups with equal labels are
    one group to a reader. Labels can tell more than the groups: at which level they were made.
    In the bucketized form only the groups are seen.
    """

    def __init__(self, microdata: Microdata, styles: Mapping[str, str] | None) -> None:
        self._attributes = microdata.attributes
        self._styles = styles
        self._known: dict[bytes, Seen] = {}
        self._label_of: dict[Hashable, Hashable] = {}
        self._refined: dict[Seen, Refinements] = {}

    def see(self, groups: IntArray, floors: Mapping[str, IntArray] | None = None) -> Seen:
        """What is seen of groups, of which some may be written at given levels at least."""
        key = groups.tobytes()
        if self._styles is not None and floors is not None:
            key += b"".join(floor.tobytes() for floor in floors.values())
        if key not in self._known:
            self._known[key] = self._seen(groups, floors or {})
        return self._known[key]

    def refined(self, seen: Seen, least: int) -> Refinements:
        """The groups that may hide behind equal labels, of at least so many people."""
        if seen not in self._refined:
            shown = int(seen.groups.max()) + 1 - (seen.left_out is not None)
            labels: Sequence[Hashable] = seen.published or ()
            if self._styles is None:  # groups are told apart
                least, labels = len(seen.groups), [None] * shown
            self._refined[seen] = Refinements.of(
                seen.groups, seen.left_out, labels, self._label, least
            )
        return self._refined[seen]

    def _label(self, people: tuple[int, ...]) -> Hashable:
        """The label of some people as one group."""
        rows = np.array(people)
        key = tuple(tuple(np.unique(a.codes[rows]).tolist()) for a in self._attributes)
        if key not in self._label_of:
            alone = np.zeros(len(rows), dtype=np.int64)
            self._label_of[key] = self._labels(alone, rows, {})[0]
        return self._label_of[key]

    def _seen(self, groups: IntArray, floors: Mapping[str, IntArray]) -> Seen:
        inside = groups >= 0
        names, place = np.unique(groups[inside], return_inverse=True)
        place = place.reshape(-1).astype(np.int64)
        labels: list[Hashable] = []
        if self._styles is not None and len(names):
            each = self._labels(place, inside, {key: of[names] for key, of in floors.items()})
            known = {label: i for i, label in enumerate(dict.fromkeys(each))}
            place = np.array([known[label] for label in each], dtype=np.int64)[place]
            labels = list(known)
        merged = np.full(len(groups), -1, dtype=np.int64)
        merged[inside] = place
        found = numbered(merged)
        published = None
        if labels:
            _, first = np.unique(found[inside], return_index=True)
            published = tuple(labels[g] for g in place[first].tolist())
        return Seen(found, published, None if inside.all() else int(found[~inside][0]))

    def _labels(
        self, groups: IntArray, inside: NDArray[Any], floors: Mapping[str, IntArray]
    ) -> list[Hashable]:
        """The labels of each group of those who are published."""
        assert self._styles is not None
        n_groups, columns = int(groups.max()) + 1, []
        for attribute in self._attributes:
            style = style_of(attribute, self._styles.get(attribute.name))
            own = replace(attribute, codes=attribute.codes[inside])
            floor = floors.get(attribute.name)
            columns.append(labels_of(own, groups, n_groups, style, floor)[0])
        return list(zip(*columns, strict=True))


def read_returned(given: Any, name: str, schema: Schema) -> tuple[IntArray | None, Any]:
    """Read what a function returned: groups, and what is published beside them or instead.

    Parameters
    ----------
    given : groups, published table, or both
    name : str
        Of the function, for messages.
    schema : Schema

    Returns
    -------
    groups : int64 array, optional
        Below 0 for rows that are left out; None if there are none but those of the published table.
    published : object
        None if nothing is published besides.
    """
    if is_published(given):
        return None, as_published(given, schema)
    published = None
    # A pair of texts is the groups of two rows.
    plain = isinstance(given, tuple) and len(given) == 2 and not isinstance(given[0], (str, bytes))
    if plain and hasattr(given[0], "__len__"):
        given, published = given
    return groups_from(given, name), as_published(published, schema)


def is_published(given: Any) -> bool:
    """Whether it is a table, or what `publish` makes, and not groups."""
    return isinstance(given, Release) or hasattr(given, "columns") or _tables(given) is not None


def as_published(given: Any, schema: Schema) -> Any:
    """Make what is published comparable; the order of a table's rows does not count."""
    tables = _tables(given)
    if tables is not None:
        return _grouped(tables) or tuple((key, as_published(tables[key], schema)) for key in tables)
    if isinstance(given, Release):
        return _counted(given, schema)
    if hasattr(given, "columns"):
        return _rows(given)
    if isinstance(given, np.ndarray):
        return given.shape, repr(given.tolist())
    if isinstance(given, (tuple, list)):
        return type(given).__name__, tuple(as_published(one, schema) for one in given)
    if isinstance(given, Mapping):
        return {key: as_published(one, schema) for key, one in given.items()}
    return given


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
    return numbered(np.array(found)) if -1 not in found else np.array(found, dtype=np.int64)


def _tables(given: Any) -> Mapping[str, Any] | None:
    """The tables of a publication."""
    tables = getattr(given, "tables", None)
    return tables if isinstance(tables, Mapping) and hasattr(given, "certificate") else None


def _rows(frame: Any) -> Hashable:
    """The columns of a table, and how often it has each row."""
    table = open_table(frame)
    names = tuple(table.columns)
    each = [column.to_pylist() for column in fetch(table, names).columns]
    return names, frozenset(Counter(zip(*each, strict=True)).items())


def _grouped(tables: Mapping[str, Any]) -> Hashable:
    """People and values of each group, whose numbers are drawn by lot; None for other forms."""
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
        people: list[tuple[Any, int]] = []
        if seen is not None:
            own = slice(int(seen.offsets[group]), int(seen.offsets[group + 1]))
            signatures = [tuple(seen.labels[code]) for code in seen.codes[own].tolist()]
            people = list(zip(signatures, seen.people[own].tolist(), strict=True))
        bag = frozenset(zip(values, counts.counts[here].tolist(), strict=True))
        found[label if labelled else None, bag, frozenset(people)] += 1
    return "release", frozenset(found.items())
