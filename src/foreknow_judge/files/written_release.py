"""A release as it was written: its files, read once, and counted by any of their columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import duckdb
import numpy as np

from foreknow_judge.counts.group_bags import (
    Column,
    DistinctRows,
    Group,
    GroupBags,
    Signature,
    distinct,
    sums_at,
)
from foreknow_judge.criteria.population import Population, PopulationSettings
from foreknow_judge.errors import CertificateError, DataError, NotEnoughMemory, short_of_memory
from foreknow_judge.files.duckdb_files import CsvFile, connect, in_threads
from foreknow_judge.files.release_files import (
    File,
    count_rows,
    files_of,
    has_few_texts,
    holds_rows_alone,
    merge_empties,
    open_written,
    paths_of,
    swap_commas_and_points,
    unescape_formula,
    unescape_formulas,
)
from foreknow_judge.knowledge.impossible_values import Rules
from foreknow_judge.numbers import as_fraction, read_number
from foreknow_judge.policy.grammar import Form, RequireTable

_COUNT = re.compile(r"[1-9][0-9]{0,14}")  # a whole number from 1


# The formula for multisets raises to powers of this size; larger ones would take forever.
_MOST_OF_A_BAG = 10**7


@dataclass
class Memory:
    """Cache of what was read of a written release."""

    files: dict[str, File] | None = None
    held: dict[tuple[str, ...], GroupBags] = field(default_factory=dict)
    # by table and columns
    counted: dict[tuple[str, ...], DistinctRows] = field(default_factory=dict)
    headers: dict[str, list[str]] = field(default_factory=dict)  # as they are written
    rows_alone: dict[Path, Any] = field(default_factory=dict)  # functions, by Parquet file


@dataclass(frozen=True)
class Written:
    """A release as written: its tables, and the roles of its columns."""

    form: str  # "generalized" or "bucketized"
    groups: Sequence[str]  # the columns that make a group
    sensitive: str
    # ``release`` if generalized with one value each, else ``people`` and ``sensitive``: a path, a
    # list of them, or an Arrow table
    tables: Mapping[str, Any]
    escaped: bool = False  # whether an apostrophe was written before texts that look like formulas
    # "single", "set" or "multiset"; or a mapping from sensitive columns to these, if they differ
    semantics: Any = "single"
    # if given, all columns that each table may have
    columns: Mapping[str, Sequence[str]] | None = None
    # the populations that criteria compare groups with, by digest
    populations: Mapping[str, Any] = field(default_factory=dict)
    # if sensitive values are in tables of their own: the table of each sensitive column
    parts: Mapping[str, str] | None = None
    # in the bucketized form: the columns of people by which somebody can be recognized
    exact: Sequence[str] = ()
    beside: Sequence[str] = ()  # columns that are published unchanged
    rules: Rules = field(default_factory=Rules)  # of values that some people cannot have
    # columns of ``release`` that were shuffled within groups, and whose names must say so
    shuffled: Collection[str] = ()
    delimiter: str = ","  # of CSV
    commas: Collection[str] = ()  # columns in which commas and points are swapped
    cohort: str = ""  # the column that says which release shows a person first
    memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.form not in get_args(Form):
            raise CertificateError("wrong-setting", "form")

    @property
    def of_people(self) -> Collection[str]:
        """Columns, sensitive ones aside, whose values belong to the person of their row."""
        return {*self.groups, *self.exact, *self.beside} - {*self.shuffled}

    def ruled_beside(self, known_columns: Collection[str]) -> list[str]:
        """The columns beside the secret that have rules on who cannot have which value.

        `known_columns` are left out: groups are divided by them. So are shuffled columns, which say
        nothing about the secret in their row; if the secret is shuffled itself, none is beside it.
        """
        table_of_column = self.parts or {}  # for each sensitive column, its table
        left_out = {*known_columns, *self.shuffled, self.sensitive}
        if self.sensitive in self.shuffled:
            return []
        return [
            name
            for name, table in table_of_column.items()
            if table == table_of_column.get(self.sensitive)
            and name not in left_out
            and self.rules.positions_for(name)
        ]

    @property
    def files(self) -> dict[str, File]:
        """The files of tables that are files, opened once, when they are first needed."""
        if self.memory.files is None:
            self.memory.files = files_of(self.tables, self.delimiter)
        return self.memory.files

    @property
    def held(self) -> GroupBags:
        """How many people of each group have each value of the main sensitive column."""
        return self.groups_of(self.sensitive, ())

    def for_sensitive(self, sensitive: str) -> Written:
        """The same release, for one sensitive column with its own semantics."""
        semantics = self.semantics
        if not isinstance(semantics, str):
            semantics = semantics.get(sensitive, "single")
        elif semantics != "single" or sensitive == self.sensitive:
            return self
        return self.with_fields(sensitive=sensitive, semantics=semantics)

    def with_fields(self, **changed: Any) -> Written:
        """The same release with other fields; nothing is read again."""
        changed_release = replace(self, **changed)
        object.__setattr__(changed_release, "memory", self.memory)
        return changed_release

    def regrouped(self, groups: Sequence[str], sensitive: str) -> Written:
        """The same files with groups by other columns, by which they are counted again."""
        release = replace(self, groups=groups, sensitive=sensitive, semantics="single", parts=None)
        release.memory.files, release.memory.rows_alone = self.files, self.memory.rows_alone
        return release

    def groups_of(self, sensitive: str, known_columns: Sequence[str]) -> GroupBags:
        """The counts of one sensitive column, in groups that the `known_columns` columns divide."""
        key = (sensitive, *known_columns)
        if key not in self.memory.held:
            self.memory.held[key] = _read_tables(
                self.for_sensitive(sensitive), sensitive, known_columns
            )
        return self.memory.held[key]

    def look_alikes(self, known_columns: Sequence[str]) -> GroupBags:
        """People alike in exact columns and `known_columns`; their values are the ids of groups."""
        if not self.exact:
            raise CertificateError("no-exact-columns")
        columns, ids = list(dict.fromkeys([*self.exact, *known_columns])), self.groups[-1]
        rows = self.regrouped(columns, ids).count_rows("people", [ids])
        return rows.counts((), rows.column(ids), rows.times)

    @property
    def main_table(self) -> str:
        """The table that has a row for each person."""
        return "release" if "release" in self.tables else "people"

    def prepare(self, required: Sequence[RequireTable]) -> None:
        """Count in one scan of the table what the requirements need, if it has a row per person."""
        if "release" in self.tables:
            column_sets = [(*self.groups, name) for name in self.parts or (self.sensitive,)]
            for requirement in required:
                known_columns = requirement.known
                column_sets.append(
                    (*self.groups, *known_columns, requirement.sensitive or self.sensitive)
                )
            count_column_sets(self, "release", column_sets)

    def worst_of_people(self, worst: Any, *details: Any) -> Any:
        """The worst case of a person; a release shows one row for each."""
        return worst

    def count_rows(self, table: str, columns_beside: Sequence[str]) -> DistinctRows:
        """Rows of the group columns and of `columns_beside`, and how many table rows each is.

        Some may be equal: if a wider set of columns was counted before, its rows are returned.
        """
        columns = (*self.groups, *columns_beside)
        wider = self.counted_superset(table, columns)  # columns that were counted and include these
        if wider is None:
            count_column_sets(self, table, [columns])
        return self.memory.counted[(table, *(wider or columns))]

    def counted_superset(self, table: str, columns: Sequence[str]) -> tuple[str, ...] | None:
        """The smallest set of columns that was counted already and includes these, or None."""
        supersets = [
            counted_columns
            for name, *counted_columns in self.memory.counted
            if name == table and set(columns) <= set(counted_columns)
        ]
        return min(map(tuple, supersets), key=len, default=None)


def suppressed_columns(release: Written) -> tuple[str, ...]:
    """Group columns of which nothing is published: all labels are ``*``."""
    labelled = release.groups if release.form == "generalized" else ()
    suppressed = []
    for column, labels in zip(labelled, release.held.labels, strict=False):
        if all(label and not label.strip("*") for label in labels.texts):
            suppressed.append(column)
    return tuple(suppressed)


def not_rounded(certificate: Any, release: Written) -> Iterator[str]:
    """Yield a message for each column with a number that is not rounded as its policy says.

    The policy has a step for each rounded column: its numbers are multiples of this step.
    """
    missing = certificate.policy.get("schema", {}).get("missing")
    # The label that stands for missing values, and so is no number.
    label = missing.get("label") if isinstance(missing, dict) else None
    for column, setting in certificate.policy.get("publish", {}).get("round", {}).items():
        step = as_fraction(setting)
        if column in certificate.sensitives:
            texts: Any = release.groups_of(column, ()).names
        else:
            texts = release.count_rows(release.main_table, [column]).column(column).texts
        for text in texts:
            if text is None or text == label:
                continue
            number = read_number(text)
            if number is None or step <= 0 or Fraction(number) % step:
                yield f"{text} in {column!r} is no multiple of {setting}, as its policy says"
                break


def several_weights(certificate: Any, release: Written) -> Iterator[str]:
    """Yield a message if people who look alike have several survey weights, and not their mean."""
    name = certificate.policy.get("schema", {}).get("weights")
    if name in release.beside:
        for group, people in people_with(release, [name], certificate.groups).items():
            if len(people) > 1:
                yield f"group {group_name(group)} has several weights ({name}), and not their mean"
                break


def count_people(release: Written) -> tuple[int, int]:
    """People and groups of a written release."""
    return int(release.held.people.sum()), len(release.held)


def people_with(
    release: Written, attributes: Sequence[str], groups: Sequence[str]
) -> dict[Group, dict[Signature, int]]:
    """For each group by the columns `groups`, how many people have each signature.

    A signature is a person's labels in the columns `attributes`.
    """
    names = (*groups, *attributes)
    columns_beside = dict.fromkeys(name for name in names if name not in release.groups)
    rows = release.count_rows(release.main_table, [*columns_beside])
    columns = [rows.column(name) for name in names]
    # Rows that are equal in these columns are one kind of people: added up.
    first, kind = distinct(*(column.codes for column in columns))
    counts = sums_at(kind, rows.times, len(first)).tolist()
    texts = [column.take(first).to_list() for column in columns]
    people: dict[Group, dict[Signature, int]] = {}
    for *labels, count in zip(*texts, counts, strict=True):
        group, signature = tuple(labels[: len(groups)]), tuple(labels[len(groups) :])
        people.setdefault(group, {})[signature] = count
    return people


def population_of(release: Written, settings: PopulationSettings) -> Population:
    """The population of a criterion; refuse one with another digest than the criterion names.

    It has the columns by which people can be found: exact ones in the bucketized form, else those
    whose labels make the groups.
    """
    exact = release.form == "bucketized"
    source = release.populations.get(settings.digest or "")
    if source is None:
        raise CertificateError("no-population", settings.population)
    columns = release.exact if exact else release.groups
    population = read_population(source, columns)._replace(exact=exact)
    if population.digest != settings.digest:
        raise CertificateError("digest-differs", "the population")
    return population


def read_population(
    source: Any, columns: Sequence[str], naming_columns: Sequence[str] = ()
) -> Population:
    """Read `columns` of a population from a file or an Arrow table.

    `naming_columns` name a person; a population in which somebody is named twice is refused.
    """
    file = files_of({"population": source}).get("population")
    with _reading("the population") as connection:
        header, relation = open_written(connection, source, file)
        for column in columns:
            if header.count(column) != 1:
                raise CertificateError("not-one-column", "the population", column=column)
        read_names = [f"c{header.index(column)}" for column in columns]
        ((read_columns, times),) = count_rows(connection, relation, [read_names])
        names = [f"c{header.index(column)}" for column in naming_columns if column in header]
        if names:
            ((who, often),) = count_rows(connection, relation, [names])
            for who_column in who:
                # A missing text and an empty one name nobody. They come first: codes 0 and 1.
                n_empty = sum(not text for text in who_column.texts[:2])
                often = np.where(who_column.codes < n_empty, 0, often)
            if often.max(initial=0) > 1:
                raise CertificateError("person-twice")
        if file is not None:  # all rows were read, and the file did not change meanwhile
            file.check(int(times.sum()))
        if isinstance(file, CsvFile):  # an empty field and "" are one missing value
            read_columns = [merge_empties(column) for column in read_columns]
    people = Counter[Signature]()  # added up, since merged empty texts may have made rows equal
    for *labels, n in zip(
        *(column.to_list() for column in read_columns), times.tolist(), strict=True
    ):
        people[tuple(labels)] += n
    return Population(tuple(columns), [(*labels, n) for labels, n in people.items()])


def _read_tables(release: Written, sensitive: str, known_columns: Sequence[str]) -> GroupBags:
    """Read the tables of a release, and refuse those that contradict each other."""
    if release.semantics not in ("single", "set", "multiset"):
        raise CertificateError("wrong-setting", "semantics")
    if "release" in release.tables:
        return _read_rows(release, sensitive, known_columns)
    groups = _read_tally(release, sensitive, known_columns)
    # where columns are known, the number of people of each group was compared before
    return groups if known_columns else _with_people(release, groups)


def _with_people(release: Written, tally: GroupBags) -> GroupBags:
    """The groups of both tables: values from `tally`, people from the table of people.

    A group whose values do not match its people in number is refused.
    """
    people = release.count_rows("people", ())
    # The labels of the tally's groups and then of the people's: equal ones are the same group.
    pairs = zip(tally.labels, people.groups.values(), strict=True)
    columns = [*map(Column.stacked, pairs)]
    first, group_numbers = distinct(*(column.codes for column in columns))
    labels = [column.take(first) for column in columns]
    number_in_tally, number_in_people = group_numbers[: len(tally)], group_numbers[len(tally) :]
    groups = GroupBags(
        labels, tally.names, number_in_tally[tally.of_group], tally.codes, tally.counts
    )
    groups.people = sums_at(number_in_people[people.of_group], people.times, len(groups))
    # Counts that are too large are capped, so that sums do not overflow.
    counts = np.minimum(groups.counts, len(groups.people) and int(groups.people.sum()) + 1)
    wrong = groups.people == 0  # values that nobody has
    if release.semantics == "single":  # everybody has one value; a set has each value once at most
        wrong |= groups.sum_by_group(counts) != groups.people
    elif release.semantics == "set":
        wrong |= groups.max_by_group(counts) > groups.people
    if wrong.any():
        group = groups.group(int(np.argmax(wrong)))
        raise CertificateError("people-differ", group_name(group))
    return groups


def _read_rows(release: Written, sensitive: str, known_columns: Sequence[str]) -> GroupBags:
    """The values of each group, from a table with one row per person; refuse a missing value.

    Groups are divided by the columns that the adversary knows.
    """
    rows = release.count_rows("release", [*known_columns, sensitive])
    values = rows.column(sensitive)
    if values.lacks:
        row = np.flatnonzero(values.codes == 0)  # a missing text comes first, so its code is 0
        first = int(row[np.argmin(rows.of_group[row])])  # in the first group, for the message
        known_labels = [rows.column(name).at(first) for name in known_columns]
        raise CertificateError("missing-value", group_name([*rows.group(first), *known_labels]))
    return rows.counts(known_columns, values, rows.times)


def _read_tally(release: Written, sensitive: str, known_columns: Sequence[str]) -> GroupBags:
    """The values of each group, from a table of (group, value, count), or (group, values, count).

    A count that is no number from 1 is refused, and a row that is listed twice.
    """
    table_name = (release.parts or {}).get(sensitive, "sensitive")
    columns_of_table = [
        name for name, table in (release.parts or {}).items() if table == table_name
    ]
    columns_beside = [name for name in columns_of_table if name not in (*known_columns, sensitive)]
    rows = release.count_rows(table_name, [*known_columns, *columns_beside, sensitive, "count"])
    values, amounts = rows.column(sensitive), rows.column("count")
    numbers = [int(text) if text and _COUNT.fullmatch(text) else 0 for text in amounts.texts]
    amount = np.array(numbers, np.int64)  # 0 for a text that is no number
    counts = amount[amounts.codes]
    wrong = counts == 0
    if values.lacks:
        wrong |= values.codes == 0
    if wrong.any():
        row = int(np.argmax(wrong))
        group, value = group_name(rows.group(row)), values.at(row)
        raise CertificateError("no-count", group, value=value)
    code_columns = [
        rows.column(name).codes for name in (*known_columns, *columns_beside, sensitive)
    ]
    # Rows may be repeated with another count (not the first of its kind), or with the same.
    first, _ = distinct(rows.of_group, *code_columns)
    is_repeated = np.ones(len(counts), bool)
    is_repeated[first] = False
    is_repeated |= rows.times != 1
    if is_repeated.any():
        row = int(np.argmax(is_repeated))
        raise CertificateError("listed-twice", group_name(rows.group(row)), value=values.at(row))
    groups = rows.counts(known_columns, values, counts)
    if release.semantics == "multiset":
        # People may have any number of values, so the people do not bound the counts.
        cut = np.minimum(groups.counts, _MOST_OF_A_BAG + 1)
        large = groups.sum_by_group(cut) > _MOST_OF_A_BAG
        if large.any():
            name = group_name(groups.group(int(np.argmax(large))))
            raise CertificateError("too-large", f"group {name}")
    return groups


def group_name(group: Sequence[str | None]) -> str:
    """The name of a group in messages and verdicts."""
    return ", ".join("missing" if label is None else label for label in group)


def count_column_sets(release: Written, table: str, column_sets: Sequence[tuple[str, ...]]) -> None:
    """Count equal rows of a table for several sets of columns, in one scan.

    The results are kept in the release's memory, by table and columns.
    """
    sets = {frozenset(column_set): column_set for column_set in column_sets}
    column_sets = []
    for names, column_set in sets.items():
        is_covered = any(names < wider for wider in sets)  # then rows of the wider set are enough
        if not is_covered and release.counted_superset(table, column_set) is None:
            column_sets.append(column_set)
    if not column_sets:
        return
    merged_columns = {*release.groups, release.sensitive, *(release.parts or ())}
    with _reading("the release") as connection:
        # Columns are named by position: DuckDB confuses names that differ only in case.
        file = release.files.get(table)
        header, relation = open_written(connection, release.tables[table], file)
        release.memory.headers[table] = [*header]
        if release.escaped:
            header = [unescape_formula(name, True) or "" for name in header]
        # A shuffled column must say so by its name, so that nobody reads its rows as people.
        original_names = {f"{name}_shuffled": name for name in release.shuffled}
        for name in set(header) & set(original_names.values()):
            raise CertificateError("not-called-shuffled", name)
        header = [original_names.get(name, name) for name in header]
        _require_columns(header, len(relation.columns), release, table)
        positions = []
        for column_set in column_sets:
            for name in column_set:
                if name not in header:
                    raise CertificateError("unknown-column", "the release", column=name)
            positions.append([f"c{header.index(name)}" for name in column_set])
        with _nothing_beside_rows(release, table):
            counts = count_rows(connection, relation, positions, has_few_texts(file))
        if file is not None:  # all rows were read, and the file did not change meanwhile
            file.check(int(counts[0][1].sum()))
        if isinstance(file, CsvFile) and release.columns is not None and file.shape.blank:
            raise DataError("empty-line", file.name)
        for column_set, (columns, times) in zip(column_sets, counts, strict=True):
            plain = {}
            for name, column in zip(column_set, columns, strict=True):
                if isinstance(file, CsvFile) and name in merged_columns:
                    column = merge_empties(column)  # in other columns an empty text is a value
                if release.escaped:  # other columns may hold numbers, which are not marked
                    column = unescape_formulas(column, name in merged_columns)
                plain[name] = swap_commas_and_points(column) if name in release.commas else column
            groups = {name: plain.pop(name) for name in release.groups}
            release.memory.counted[(table, *column_set)] = DistinctRows.of(groups, plain, times)


@contextmanager
def _reading(what: str) -> Iterator[Any]:
    """A context with a DuckDB connection; errors of reading become `CertificateError`.

    `what` names in messages what is read, such as "the release".
    """
    connection = connect()
    try:
        yield connection
    except duckdb.Error as error:
        if short_of_memory(error):
            raise NotEnoughMemory("judging the release afresh") from error
        raise CertificateError(
            "unreadable-file", what, problem=str(error).splitlines()[0]
        ) from None
    except DataError as error:
        message = f"{what} cannot be read: {error}"
        raise CertificateError(message, code=error.code, **error.fields) from None
    finally:
        connection.close()


@contextmanager
def _nothing_beside_rows(release: Written, table: str) -> Iterator[None]:
    """A context that refuses a Parquet file of a certified release if it may hold more than rows.

    The bytes of all files are compared in a thread, beside what is done in the meantime; the
    refusal comes first, whatever that raises.
    """
    checks = release.memory.rows_alone  # by path, a function that waits for the result
    # Without columns the release is not certified, and its files may have any layout.
    paths = [] if release.columns is None else paths_of(release.tables[table])
    paths = [path for path in paths if path.suffix == ".parquet"]
    if paths and not checks:
        all_paths = dict.fromkeys(chain(paths, *map(paths_of, release.tables.values())))
        check = partial(holds_rows_alone, connect())
        calls = in_threads([partial(check, path) for path in all_paths], 1)
        checks.update(zip(all_paths, calls, strict=True))
    try:
        yield
    finally:
        for path in paths:
            if not checks[path]():
                raise CertificateError("parquet-layout", path.name)


def _require_columns(header: Sequence[str], n_readable: int, release: Written, table: str) -> None:
    """Refuse columns that are not accounted for, that occur twice, or that are missing.

    `n_readable` is how many columns DuckDB finds in the file; the header may name others.
    """
    # None: the release is not certified, so any columns are accounted for.
    expected = header if release.columns is None else release.columns[table]
    for name in header:
        if name not in expected:
            raise CertificateError("unaccounted-column", f"the table {table!r}", column=name)
    if n_readable != len(header):
        raise CertificateError("odd-columns", f"the table {table!r}")
    for name in expected:
        if header.count(name) != 1:
            raise CertificateError("not-one-column", f"the table {table!r}", column=name)
