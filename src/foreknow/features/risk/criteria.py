"""Groups compared with the population that their people come from: k-map and delta-presence.

Who of the population belongs to a group is read from the group's labels, as they are written. So
no search is asked: what it made is judged once it is written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import compress
from operator import and_
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.adversary import HasCounts
from foreknow.criteria.group_criterion import (
    Attained,
    OfGroups,
    classes_of,
    failing_groups,
)
from foreknow.criteria.risk import Figure, Limits
from foreknow.criteria.size import Anybody
from foreknow.data.arrays import BoolArray, IntArray, combine
from foreknow.data.columns.hierarchy import Mask, Ordered, Tree
from foreknow.data.columns.reading_rules import file_of
from foreknow.data.counts import GroupCounts
from foreknow.data.impossible.rules_in_force import OTHER
from foreknow.data.labels.generalization import exact_labels
from foreknow.data.labels.label_meaning import Values
from foreknow.data.labels.labels import GroupLabels
from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow.needs import Need, Needs
from foreknow.numbers import whole_number
from foreknow.settings import with_examples
from foreknow.wording import people_text
from foreknow_judge.criteria.gauges import CRITERIA
from foreknow_judge.criteria.population import PopulationSettings
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.files.written_release import read_population
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import Number, as_fraction


class _Points(NamedTuple):
    """The people of a population: the code of everybody in each column, and the values."""

    columns: list[NDArray[Any]]
    values: list[Values]
    people: int


class _Placed(NamedTuple):
    """The people of a population by group."""

    people: IntArray  # by group
    around: list[int]  # by group, a bit for each group that covers all whom it covers
    outside: int  # people whom no group covers
    overlap: bool  # whether two groups cover one person


def _bits(number: int) -> Iterator[int]:
    """Yield the places of the bits that are set in a number, the lowest first."""
    while number:
        # In two's complement, this keeps the lowest set bit only.
        last = number & -number
        yield last.bit_length() - 1
        number ^= last


class Population:
    """A table of everybody whom a release could be about; read when it is needed."""

    def __init__(self, source: Any, folder: Path = Path()) -> None:
        """Name a population: a frame, or a path from `folder`; it is read when it is needed."""
        self.source = source
        file = file_of(source)
        self.path = None if file is None else folder / file
        self.at = source if self.path is None else self.path
        self.trees: dict[str, tuple[tuple[str, ...], ...]] = {}
        self.orders: dict[str, tuple[str, ...]] = {}
        self.columns: tuple[str, ...] = ()
        self.named: tuple[str, ...] = ()  # columns that name people, if it has them
        # By column, labels that are one value as it is, whatever else they look like.
        self.exact: dict[str, frozenset[str]] = {}
        self.expected: str | None = None
        # Whether the table itself was at hand, so that no label stands for its rarer values.
        self.held = False
        self._read: dict[tuple[str, ...], _Points] = {}

    def __eq__(self, other: object) -> bool:
        """True if both read the same table with the same hierarchies."""
        if not isinstance(other, Population):
            return NotImplemented
        same = self.at is other.at or (self.path is not None and self.path == other.path)
        return same and (self.trees, self.orders) == (other.trees, other.orders)

    def __hash__(self) -> int:
        return id(self.at) if self.path is None else hash(str(self.path))

    def __repr__(self) -> str:
        return "<table>" if self.path is None else repr(str(self.source))

    @property
    def name(self) -> str:
        """Its name in policy files and messages."""
        return "a table" if self.path is None else str(self.source)

    def under(self, schema: Schema) -> Population:
        """A copy with the hierarchies of a schema, and the columns that matter.

        Labels of a release are compared with the population by these hierarchies. Values that were
        read stay read if the schema changes nothing about how they are read.
        """
        population = Population(self.at)
        population.named = schema.naming_columns
        population.source = self.source
        reads_alike = not schema.hierarchies and population.named == self.named
        population._read = self._read if reads_alike else {}
        population.columns, population.expected = tuple(schema.quasi_identifiers), self.expected
        population.held = self.held
        population.trees = dict(self.trees)
        population.orders = dict(self.orders)
        population.exact = dict(self.exact)
        for column, hierarchy in schema.hierarchies.items():
            if column not in schema.quasi_identifiers:
                continue
            if isinstance(hierarchy, Tree):
                population.trees[column] = tuple(
                    sorted({tuple(map(str, row)) for row in hierarchy.rows})
                )
            elif isinstance(hierarchy, Ordered):
                population.orders[column] = tuple(map(str, hierarchy.values))
            elif isinstance(hierarchy, Mask) and hierarchy.character != "*":
                raise InputError(
                    f"a population is compared with codes masked by '*', and those of {column!r} "
                    f"are masked by {hierarchy.character!r}"
                )
        return population

    def hold(self, microdata: Microdata) -> None:
        """Refuse a population that lacks people of the table, and note the table's own texts.

        A class is everybody with the same values in all quasi-identifiers: of each class, the
        population needs at least as many people as the table. The texts are kept as `exact` values.
        """
        self._refuse_unverifiable()
        attributes = microdata.attributes
        points = self._points([attribute.name for attribute in attributes])
        # Table and population get the same codes: those of the table's values, and one more code
        # for values that the table does not have. Table rows come first, the population's follow.
        columns, sizes = [], []
        for attribute, codes, values in zip(attributes, *points[:2], strict=True):
            code_of_value = np.full(len(values.texts), len(attribute.domain), dtype=np.int64)
            for code, value in enumerate(attribute.domain):
                code_of_value[values.same(value)] = code
            columns.append(np.concatenate((attribute.codes.astype(np.int64), code_of_value[codes])))
            sizes.append(len(attribute.domain) + 1)
        combination, first_of_class = combine(columns, sizes)
        n_entries = len(attributes[0].codes)
        table_counts = np.bincount(combination[:n_entries], microdata.times, len(first_of_class))
        population_counts = np.bincount(combination[n_entries:], minlength=len(first_of_class))
        # The first class of which the population has too few is named in the error.
        lacking_classes = np.flatnonzero(table_counts > population_counts)
        if len(lacking_classes):
            class_number = int(lacking_classes[0])
            row = first_of_class[class_number]
            descriptions = []
            for attribute, column in zip(attributes, columns, strict=True):
                label = exact_labels(attribute)[column[row]]
                descriptions.append(f"{attribute.name} {label!r}")
            people_text = f"with {' and '.join(descriptions)}"
            raise self._lacking(
                people_text, int(population_counts[class_number]), int(table_counts[class_number])
            )
        # A text of the table is one value, even if it looks like a label for several.
        self.exact = {}
        for attribute in attributes:
            texts = [value for value in attribute.domain if isinstance(value, str)]
            self.exact[attribute.name] = frozenset(texts)
        self.held = True

    def _refuse_unverifiable(self) -> None:
        """Refuse a file that a verifier would read in another way, before anything is searched.

        Both readings have to have the same digest.
        """
        problem = ""
        try:
            if read_population(self.written(), self.columns).digest == self.digest():
                return
        except InputError as error:
            problem = f": {error}"
        raise DataError(
            f"a verifier reads the population {self.name} otherwise than it is read here{problem}; "
            "save it as CSV in UTF-8 with commas between cells and decimal points, or as Parquet"
        )

    def keep_exact(self, labels: GroupLabels) -> None:
        """Keep only those exact texts of the table that, as labels, look like other labels.

        Such a text is written in the release, but would be read as a range or a list of values. The
        others need no note in the certificate.
        """
        points = self._points(labels.columns)
        for position, (column, values) in enumerate(
            zip(labels.columns, points.values, strict=True)
        ):
            written_texts = {label[position] for label in labels} & self.exact.get(
                column, frozenset()
            )
            self.exact[column] = frozenset(filter(values.misread, written_texts))
        self.exact = {column: texts for column, texts in self.exact.items() if texts}

    def _lacking(self, subject: str, n_population: int, n_table: int) -> DataError:
        return DataError(
            f"the population {self.name} is no population of this table: {subject} it has "
            f"{people_text(n_population)}, and the table {n_table:,}; it must hold everybody of "
            "the table, with values as exact, and written alike"
        )

    def written(self) -> Any:
        """The population for a verifier: the file as it is, or the columns as texts."""
        if self.path is not None and self.path.suffix.lower() in (".csv", ".parquet"):
            return self.path
        from foreknow.data.tables.priors import texts_of_everybody

        points = self._points(self.columns)
        texts = [values.texts for values in points.values]
        return texts_of_everybody(list(zip(self.columns, points.columns, texts, strict=True)))

    def digest(self) -> str:
        """A BLAKE2b digest of the columns, independent of the order of rows.

        Raises `DataError` if a policy or certificate states another digest.
        """
        columns = sorted(self.columns)
        # Equal rows are counted, so that only distinct ones are sorted and hashed.
        points = self._points(columns)
        keys, counts = np.unique(
            np.stack([codes.astype(np.int64) for codes in points.columns], 1),
            axis=0,
            return_counts=True,
        )
        rows: list[list[Any]] = []
        for key, times in zip(keys.tolist(), counts.tolist(), strict=True):
            texts = [values.texts[code] for values, code in zip(points.values, key, strict=True)]
            rows.append([*texts, times])
        rows.sort(key=lambda row: [(value is not None, str(value)) for value in row])
        digest = hashlib.blake2b(json.dumps([columns, rows]).encode(), digest_size=32).hexdigest()
        if self.expected not in (None, digest):
            raise DataError(f"the population {self.name} is not the one whose digest is given")
        return digest

    def __deepcopy__(self, memo: Any) -> Population:
        return self

    def _within(self, values: Values, column: str, label: Any, exact: bool) -> BoolArray:
        """A mask of the values that a label covers, or, if it is exact, equals."""
        if exact:
            return values.equal(label)
        return values.covered_by(label, label in self.exact.get(column, ()))

    def placed(self, counts: GroupCounts) -> _Placed:
        """The population by group; refused if it cannot contain the people of the groups.

        Each group needs as many covered people as it has; and so do, if groups overlap, all groups
        together that cover only people whom this group covers.
        """
        self.refuse_others(labels_of(counts))
        placement, sizes = self.place(counts), counts.sizes.tolist()
        # For each group, the people of all groups whose people it covers for certain.
        people_within = [0] * len(sizes)
        for size, covering_groups in zip(sizes, placement.around, strict=True):
            for group in _bits(covering_groups):
                people_within[group] += size
        claims = (
            ("", sizes),
            (" and those within it,", people_within if placement.overlap else sizes),
        )
        for addition, people in claims:
            for group, (n_covered, n_needed) in enumerate(
                zip(placement.people.tolist(), people, strict=True)
            ):
                if n_covered < n_needed:
                    label = f"in group {counts.group_label(group)}{addition}"
                    raise self._lacking(label, n_covered, n_needed)
        return placement

    def place(self, counts: GroupCounts) -> _Placed:
        """The population by group: each person is in every group whose labels cover their values.

        Sets of groups are whole numbers with a bit for each group. So bit g of a value's number is
        set if group g covers the value, and a person is in the groups that cover all of the
        person's values: the bitwise "and" of the numbers of the values.
        """
        groups = labels_of(counts)
        points, groups_of_values = self._points(groups.columns), list[list[int]]()
        for column_number, (column, values) in enumerate(
            zip(groups.columns, points.values, strict=True)
        ):
            labels = dict[Any, int]()  # for each label, a bit for each group that has it
            # Bit `number` of a label's number is set for each group that has the label.
            for number, group in enumerate(groups):
                labels[group[column_number]] = labels.get(group[column_number], 0) | 1 << number
            groups_of_value = [0] * len(values.texts)
            for label, group_bits in labels.items():
                is_covered = self._within(values, column, label, groups.exact)
                for value in np.flatnonzero(is_covered).tolist():
                    groups_of_value[value] |= group_bits
            groups_of_values.append(groups_of_value)
        combination, first = combine(
            points.columns, [len(values.texts) for values in points.values]
        )
        # People with equal values are in the same groups: one row of each combination is enough.
        rows = zip(*(codes[first].tolist() for codes in points.columns), strict=True)
        # `common_groups`: for each group, the groups that cover everybody whom it covers.
        people_in_group, common_groups = [0] * len(groups), [(1 << len(groups)) - 1] * len(groups)
        n_outside, is_overlapping = 0, False
        for row, people in zip(rows, np.bincount(combination).tolist(), strict=True):
            # The groups that cover all values of these people.
            group_bits = reduce(
                and_,
                (
                    bits_of_value[value]
                    for bits_of_value, value in zip(groups_of_values, row, strict=True)
                ),
            )
            n_outside += 0 if group_bits else people
            is_overlapping |= group_bits.bit_count() > 1
            for group in _bits(group_bits):
                people_in_group[group] += people
                common_groups[group] &= group_bits
        return _Placed(
            np.array(people_in_group, np.int64), common_groups, n_outside, is_overlapping
        )

    def refuse_others(self, groups: GroupLabels) -> None:
        """Refuse the label "other" if it may be a value of the population or stand for rarer ones.

        Values that another label lists are not among the rarer ones.

        If the table itself is at hand, its values are known to be exact, and nothing is refused.
        """
        if self.held or groups.exact:
            return
        points = self._points(groups.columns)
        for column_number, (column, values) in enumerate(
            zip(groups.columns, points.values, strict=True)
        ):
            labels = {label[column_number] for label in groups}
            texts = set[str]()
            # A label may list several values, with " | " between them.
            for label in labels - {None}:
                texts.update(part.strip('"') for part in str(label).split(" | "))
            other_labels = []
            for part in texts:
                if re.fullmatch(rf"{OTHER}\+*", part):
                    other_labels.append(part)
            if column in self.trees or not {*other_labels} & {*values.texts}:
                continue
            # A value of the population that no label lists may be one of the rarer ones.
            is_listed = np.array([text in texts for text in values.texts])
            for label in labels:
                is_covered = self._within(values, column, label, False)
                if not is_covered.all():  # a label that covers everything lists nothing
                    is_listed |= is_covered
            unlisted = list(compress(values.texts, ~is_listed))
            if unlisted:
                raise DataError(
                    f"column {column!r}: {other_labels[0]!r} may be one value, or stand for rarer "
                    f"ones, such as {unlisted[0]!r}, so groups cannot be compared with the "
                    "population; name that value otherwise, in the table and in the population"
                )

    def _points(self, columns: Sequence[str]) -> _Points:
        """The people of the population by their values in these columns; read once, and kept."""
        key = tuple(columns)
        if key not in self._read:
            from foreknow.data.tables.priors import read_everybody

            codes: list[NDArray[Any]] = []
            values: list[Values] = []
            columns_read = read_everybody(self.at, key, self.name, self.named)
            for name, (column_codes, distinct) in zip(key, columns_read, strict=True):
                codes.append(column_codes)
                tree, order = self.trees.get(name), self.orders.get(name)
                values.append(Values(distinct, name, tree, order))
            self._read[key] = _Points(codes, values, len(codes[0]))
        return self._read[key]


def labels_of(counts: GroupCounts) -> GroupLabels:
    """The labels of the groups, by column."""
    if not isinstance(counts.groups, GroupLabels):
        raise InputError(
            "a population is compared with people by their published quasi-identifiers, and this "
            "release has ids of groups alone: open it with its table of people"
        )
    return counts.groups


class OfPopulation(OfGroups):
    """The base of criteria that compare groups with a population."""

    population: Any
    needs: ClassVar[Needs] = frozenset(
        {Need.NO_WINDOWS, Need.NO_SETS, Need.FINISHED, Need.POPULATION}
    )
    of_people: ClassVar[bool] = True
    compares_table: ClassVar[bool] = False
    of_groups: ClassVar[Any] = Anybody()

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Any:
        """Make it from its table in a policy file or in a certificate."""
        # Some settings describe the population, the others are the criterion's own.
        arguments = {}
        for k, value in settings:
            if k not in PopulationSettings.model_fields:
                arguments[k] = value
        return cls(**arguments, population=_population_stated(settings, folder))  # type: ignore[call-arg]

    def under(self, schema: Schema, sensitive: str | None = None) -> Any:
        """The criterion with the hierarchies of a schema."""
        criterion: Any = self
        return replace(criterion, population=self.population.under(schema))

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "population": self.population.name}

    def published(self) -> dict[str, Any]:
        """Its entry in a certificate: the population's digest, and how it is compared.

        Only the file's name is published, not its folder.
        """
        population, settings = self.population, self._settings()
        settings["population"] = Path(population.name).name
        settings["digest"] = population.digest()
        by_column = {
            "trees": {c: list(map(list, rows)) for c, rows in population.trees.items()},
            "exact": {c: sorted(texts) for c, texts in sorted(population.exact.items())},
            "orders": {c: list(order) for c, order in population.orders.items()},
        }
        settings |= {name: columns for name, columns in by_column.items() if columns}
        return {self.key: settings}


def population_of(population: Any, folder: Path = Path()) -> Population:
    """Make a population of a path or frame, to be read when it is needed; refuse all else."""
    if population is None or isinstance(population, (int, float, Mapping)):
        raise InputError(f"a population is a table, or the path of one, not {population!r}")
    return population if isinstance(population, Population) else Population(population, folder)


def _population_stated(settings: Any, folder: Path) -> Population:
    """The population that a policy file or a certificate names."""
    population = population_of(settings.population, folder)
    population.expected = settings.digest
    population.trees = {c: tuple(map(tuple, rows)) for c, rows in (settings.trees or {}).items()}
    population.orders = {c: tuple(order) for c, order in (settings.orders or {}).items()}
    population.exact = {c: frozenset(texts) for c, texts in (settings.exact or {}).items()}
    return population


@dataclass(frozen=True)
class KMap(OfPopulation):
    """Every person looks like at least k people of the population, by the labels of the group.

    K-anonymity counts the people of the table; k-map counts the people of the population from
    which the table comes (Sweeney, "k-Anonymity: A Model for Protecting Privacy").

    Parameters
    ----------
    k : int
        The least number of people, at least 1.
    population : path or frame
        One row per person, with the quasi-identifiers of the release. It is never published: a
        certificate holds its digest, and the verifier asks for the file.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.release import Release
    >>> release = Release.from_generalized(
    ...     pa.table({"age": ["20 to 24", "25 to 29"], "disease": ["Flu", "AIDS"]}),
    ...     quasi_identifiers=["age"],
    ...     sensitive="disease",
    ... )
    >>> KMap(2, pa.table({"age": [20, 22, 24, 25, 29, 40]})).measure(release)
    2
    """

    k: int
    population: Any
    key: ClassVar[str] = "k_map"
    settings: ClassVar[Any] = with_examples(CRITERIA["k_map"], k=5)

    def __init__(self, k: int, population: Any) -> None:
        set_fields(self, k=whole_number(k, "KMap: k", 1))
        set_fields(self, population=population_of(population))

    def attained(self, release: HasCounts) -> Attained:
        """The group that looks like the fewest people of the population."""
        counts = classes_of(release)
        people_in_group = self.population.placed(counts).people
        group, fewest = int(np.argmin(people_in_group)), int(people_in_group.min())
        text = (
            f"the group that fewest of the population could be in has {fewest} of them, the least "
            f"is {self.k}"
        )
        return Attained(fewest, fewest >= self.k, text, counts.group_label(group))

    def fails(self, counts: GroupCounts) -> BoolArray:
        """True for each group that looks like too few people of the population."""
        is_too_small: BoolArray = self.population.place(counts).people < self.k
        return is_too_small

    def ways_out(self, release: HasCounts) -> list[str]:
        """A k-anonymity that implies this k-map, as lines; or a line on too few people."""
        people = classes_of(release).n_people
        if self.k > people:
            return [
                f"The table has fewer people, {people:,}: require k_anonymity, for coarser groups, "
                "or a smaller k"
            ]
        return [
            f"Whoever looks like {self.k:,} people of the table looks like {self.k:,} of the "
            "population, so this would do:",
            "  [[require]]",
            f"  k_anonymity = {self.k}",
        ]


class _Presence(NamedTuple):
    """How surely people of the population are in the table, by groups."""

    lowest: Fraction
    highest: Fraction
    group: int  # one with the highest chance
    addition: str  # what more is to be said about it


@dataclass(frozen=True)
class DeltaPresence(OfPopulation):
    """How sure anybody can be that a person of the population is in the table lies within limits.

    The probability for a person whom one group covers is the number of people in the group, divided
    by the number of people of the population whom its labels cover. It is 0 for a person whom no
    group covers (Nergiz, Atzori and Clifton, "Hiding the Presence of Individuals from Shared
    Databases"). `measure` is the highest probability; see `presence`.

    Parameters
    ----------
    lowest, highest : number
        The lowest and the highest probability allowed. From 0 to 1, with lowest at most highest.
    population : path or frame
        One row per person, with the quasi-identifiers of the release: everybody of the table, and
        others. It is never published: a certificate has its digest, and the verifier asks for it.

    Notes
    -----
    If the labels of two groups cover the same person, counting cannot tell who is in which group.
    The probabilities are then taken to be from 0 to 1.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.release import Release
    >>> release = Release.from_generalized(
    ...     pa.table({"age": ["20 to 24", "25 to 29"], "disease": ["Flu", "AIDS"]}),
    ...     quasi_identifiers=["age"],
    ...     sensitive="disease",
    ... )
    >>> criterion = DeltaPresence(0, 0.5, pa.table({"age": [20, 22, 24, 25, 29]}))
    >>> criterion.presence(release), criterion.holds(release)
    ((Fraction(1, 3), Fraction(1, 2)), True)
    """

    lowest: Number
    highest: Number
    population: Any
    key: ClassVar[str] = "delta_presence"
    settings: ClassVar[Any] = with_examples(CRITERIA["delta_presence"], lowest=0, highest=0.5)

    def __init__(self, lowest: Number, highest: Number, population: Any) -> None:
        set_fields(self, lowest=as_fraction(lowest), highest=as_fraction(highest))
        if not 0 <= self.lowest <= self.highest <= 1:  # type: ignore[operator]
            raise InputError(
                "DeltaPresence: lowest and highest must be from 0 to 1, in this order, not "
                f"{lowest} and {highest}"
            )
        set_fields(self, population=population_of(population))

    def presence(self, release: HasCounts) -> tuple[Fraction, Fraction]:
        """The lowest and the highest probability that somebody of the population is in the table.

        Raises
        ------
        DataError
            If a group has more people than the part of the population that it covers.
        """
        presence = self._presence_of_groups(classes_of(release))
        return presence.lowest, presence.highest

    def attained(self, release: HasCounts) -> Attained:
        """The group whose people are most surely in the table (delta-presence).

        The probability of a group is its people in the table over those in the population.
        """
        counts = classes_of(release)
        lowest, highest, group, remark = self._presence_of_groups(counts)
        holds = as_fraction(self.lowest) <= lowest and highest <= as_fraction(self.highest)
        text = (
            "that somebody of the population is in the table has a probability of "
            f"{lowest} to {highest}, {self.lowest} to {self.highest} is allowed{remark}"
        )
        return Attained(highest, holds, text, counts.group_label(group))

    def _presence_of_groups(self, counts: GroupCounts) -> _Presence:
        """The lowest and the highest chance that a person of the population is in the table.

        The chance is that of people whom a group's labels cover: its people, divided by all whom it
        covers. With the group that has the highest, and a clause for the message.

        If groups overlap, counting cannot tell who is in which, so the chance may be anything.
        """
        people_in_group, _, n_outside, is_overlapping = self.population.placed(counts)
        if is_overlapping:
            return _Presence(
                Fraction(0), Fraction(1), 0, "; groups overlap, so nothing more can be said"
            )

        def rate_of(group: int) -> Fraction:
            return Fraction(int(counts.sizes[group]), int(people_in_group[group]))

        # Floats find the groups that may be lowest or highest; fractions decide.
        rates = counts.sizes / people_in_group
        lowest = min(map(rate_of, np.flatnonzero(rates <= rates.min()).tolist()))
        group = max(np.flatnonzero(rates >= rates.max()).tolist(), key=rate_of)
        if not n_outside:
            return _Presence(lowest, rate_of(group), group, addition="")
        # Whoever is in no group is certainly not in the table.
        verb = "is" if n_outside == 1 else "are"
        addition = f"; {people_text(n_outside)} of the population {verb} in no group"
        return _Presence(Fraction(0), rate_of(group), group, addition)

    def beyond_groups(self, release: HasCounts) -> bool:
        """True if it fails by more than groups: they overlap, or omit who must be present."""
        placement = self.population.place(classes_of(release))
        low, high = as_fraction(self.lowest), as_fraction(self.highest)
        return (low > 0 and placement.outside > 0) or (placement.overlap and (low > 0 or high < 1))

    def ways_out(self, release: HasCounts) -> list[str]:
        """Lines of advice: coarser groups, or the interval that these groups hold."""
        if self.population.place(counts := classes_of(release)).overlap:
            return [
                "Counting settles nothing where labels of groups overlap: publish by method = "
                '"fulldomain" without suppression, whose groups do not'
            ]
        # The smallest interval that holds both what is allowed and what these groups have.
        presence = self._presence_of_groups(counts)
        lowest = min(as_fraction(self.lowest), presence.lowest)
        highest = max(as_fraction(self.highest), presence.highest)
        advice = f"Coarser groups may do: require k_anonymity above {int(counts.sizes.min()):,}"
        if highest - lowest == 1:
            return [advice]
        return [
            f"{advice}; or allow what these groups have, in place of lowest and highest:",
            f'  lowest = "{lowest}", highest = "{highest}"',
        ]

    def fails(self, counts: GroupCounts) -> BoolArray:
        """True for each group that has too few or too many of the people whom it covers.

        With the limits low and high: low * covered <= size <= high * covered, by fractions.
        """
        people_in_group = self.population.place(counts).people
        low, high = as_fraction(self.lowest), as_fraction(self.highest)
        return failing_groups(
            lambda size, covered: size > covered or not low * covered <= size <= high * covered,
            counts.sizes,
            people_in_group,
        )


@dataclass(frozen=True)
class PopulationRisk(Limits, OfPopulation):
    """Limits on how easily a reader who knows a population recognizes people in a release.

    The labels of a group tell which people of the population could be in it, as for `KMap`.

    | limit | figure of the release |
    | --- | --- |
    | journalist | 1 over the fewest people of the population who could be in a group |
    | uniqueness | share of the table's people in groups that nobody else could be in |

    If both limits are given, both must hold; `measure` is the figure of the first that fails, else
    of the first that is given.

    Parameters
    ----------
    journalist : number, optional
        The limit on the first figure, above 0 and at most 1. None: no limit.
    uniqueness : number, optional
        The limit on the second figure, from 0 to 1. None: no limit.
    population : path or frame
        One row per person, with the quasi-identifiers of the release: everybody of the table, and
        others. It is never published: a certificate holds its digest, and the verifier asks for the
        file.
    strict : bool
        Whether figures must stay below their limits. By default they may reach them.

    Notes
    -----
    Each group is compared with the population by itself. If labels of groups overlap, several
    groups together may tell more; the verdict says so.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.release import Release
    >>> release = Release.from_generalized(
    ...     pa.table({"age": ["20 to 24", "25 to 29"], "disease": ["Flu", "AIDS"]}),
    ...     quasi_identifiers=["age"],
    ...     sensitive="disease",
    ... )
    >>> everybody = pa.table({"age": [20, 22, 24, 25, 40]})
    >>> PopulationRisk(journalist=0.5, population=everybody).measure(release)
    Fraction(1, 1)
    >>> PopulationRisk(uniqueness=0.5, population=everybody).holds(release)
    True
    """

    journalist: Number | None = None
    uniqueness: Number | None = None
    population: Any = None
    strict: bool = False
    key: ClassVar[str] = "population_risk"
    names: ClassVar[tuple[str, ...]] = ("journalist", "uniqueness")
    settings: ClassVar[Any] = with_examples(CRITERIA["population_risk"], journalist=0.09)

    def __post_init__(self) -> None:
        self._check_limits()
        set_fields(self, population=population_of(self.population))

    def attained(self, release: HasCounts) -> Attained:
        """The figures of a release, and the group that the fewest of the population could be in.

        The figures are those that have limits: the journalist risk, and the share of unique people.
        """
        counts, limits = classes_of(release), self.limits
        placement = self.population.placed(counts)
        group, figures = int(np.argmin(placement.people)), []
        if "journalist" in limits:
            fewest = int(placement.people[group])
            text = (
                f"the group that fewest of the population could be in has {fewest:,} of them, a "
                "journalist risk of {}"
            )
            figures.append(Figure(Fraction(1, fewest), limits["journalist"], text))
        if "uniqueness" in limits:
            n_unique, people = int(counts.sizes[placement.people == 1].sum()), counts.n_people
            text = (
                f"of {n_unique:,} of {people_text(people)} nobody else of the population could be "
                "in their group, a share of {}"
            )
            figures.append(Figure(Fraction(n_unique, people), limits["uniqueness"], text))
        overlap_text = "; groups overlap, and what several tell together is not counted"
        return self._attained(figures, counts.group_label(group), overlap_text * placement.overlap)

    def fails(self, counts: GroupCounts) -> BoolArray:
        """True for each group that breaks a limit.

        A group fails if too few people look like it; and, if too many of the table's people are
        unique in the population, each group whose labels cover one person only.
        """
        people_in_group = self.population.place(counts).people
        fails: BoolArray = people_in_group < self.least_of("journalist")
        is_unique = people_in_group == 1
        unique = int(counts.sizes[is_unique].sum())
        return fails | is_unique if self.too_many(unique, counts.n_people) else fails

    def ways_out(self, release: HasCounts) -> list[str]:
        """A k-anonymity that implies these limits, as lines; or a line on too few people."""
        k = max(self.least_of("journalist"), 1 if self.uniqueness is None else 2)
        if k > classes_of(release).n_people:
            return ["The table has fewer people: require k_anonymity, or allow more"]
        return [
            f"Whoever looks like {k:,} people of the table looks like {k:,} of the population, so "
            "this would do:",
            "  [[require]]",
            f"  k_anonymity = {k}",
        ]
