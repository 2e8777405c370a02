"""A release as it was written: its files, read once, and counted by any of their columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import duckdb
import numpy as np

from foreknow_judge.counting import Column, DistinctRows, Group, GroupBags, Ints, distinct
from foreknow_judge.duckdb_files import CsvFile, connect
from foreknow_judge.errors import CertificateError, DataError, NotEnoughMemory, short_of_memory
from foreknow_judge.files import (
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
from foreknow_judge.grammar import AskedTable, Form
from foreknow_judge.impossible import Rules
from foreknow_judge.kinds import PopulationSettings
from foreknow_judge.population import Population

_COUNT = re.compile(r"[1-9][0-9]{0,14}")


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
    rows_alone: dict[Path, Any] = field(default_factory=dict)  # futures, by Parquet file


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

    def ruled_beside(self, known: Collection[str]) -> list[str]:
        """The columns with rules that stand beside the secret, but for `known` ones."""
        parts, apart = self.parts or {}, {*known, *self.shuffled, self.sensitive}
        if self.sensitive in self.shuffled:
            return []
        beside = [name for name in parts if parts[name] == parts.get(self.sensitive)]
        return [name for name in beside if name not in apart and self.rules.positions_for(name)]

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
        if self.semantics == "single" and sensitive != self.sensitive:
            return self.with_fields(sensitive=sensitive)
        if isinstance(self.semantics, str):
            return self
        semantics = self.semantics.get(sensitive, "single")
        return self.with_fields(sensitive=sensitive, semantics=semantics)

    def with_fields(self, **changed: Any) -> Written:
        """The same release with other fields; nothing is read again."""
        own = replace(self, **changed)
        object.__setattr__(own, "memory", self.memory)
        return own

    def groups_of(self, sensitive: str, known: Sequence[str]) -> GroupBags:
        """The counts of one sensitive column, in groups that the `known` columns divide."""
        key = (sensitive, *known)
        if key not in self.memory.held:
            self.memory.held[key] = _read(self.for_sensitive(sensitive), sensitive, known)
        return self.memory.held[key]

    def look_alikes(self, known: Sequence[str]) -> GroupBags:
        """People with equal exact and `known` columns; their values are the ids of their groups."""
        if not self.exact:
            raise CertificateError("no-exact-columns")
        columns, ids = list(dict.fromkeys([*self.exact, *known])), self.groups[-1]
        own = replace(self, groups=columns, sensitive=ids, semantics="single", parts=None)
        # and no more, as its groups are others
        own.memory.files, own.memory.rows_alone = self.files, self.memory.rows_alone
        rows = own.count_rows("people", [ids])
        return rows.counts((), rows.column(ids), rows.times)

    def prepare(self, required: Sequence[AskedTable]) -> None:
        """If there is one row per person, count in one scan what the requirements need."""
        if "release" in self.tables:
            sights = [(*self.groups, name) for name in self.parts or (self.sensitive,)]
            for own in required:
                known = own.known
                sights.append((*self.groups, *known, own.sensitive or self.sensitive))
            count_sights(self, "release", sights)

    def worst_of_people(self, worst: Any, *asked: Any) -> Any:
        """The worst case of a person; a release shows one row for each."""
        return worst

    def count_rows(self, table: str, beside: Sequence[str]) -> DistinctRows:
        """Rows of the group columns and of those `beside`, and their numbers; some may be equal."""
        columns = (*self.groups, *beside)
        wider = self.counted_superset(table, columns)
        if wider is None:
            count_sights(self, table, [columns])
        return self.memory.counted[(table, *(wider or columns))]

    def counted_superset(self, table: str, columns: Sequence[str]) -> tuple[str, ...] | None:
        """The smallest set of columns that was counted already and includes these, or None."""
        known = [
            own for name, *own in self.memory.counted if name == table and set(columns) <= set(own)
        ]
        return min(map(tuple, known), key=len, default=None)


def suppressed_columns(written: Written) -> tuple[str, ...]:
    """Group columns of which nothing is published: all labels are ``*``."""
    labelled = written.groups if written.form == "generalized" else ()
    return tuple(
        column
        for column, labels in zip(labelled, written.held.labels, strict=False)
        if all(set(label or "") == {"*"} for label in labels.texts)
    )


def count_people(written: Written) -> tuple[int, int]:
    """People and groups of a written release."""
    return int(written.held.people.sum()), len(written.held)


def people_with(
    written: Written, attributes: Sequence[str], groups: Sequence[str]
) -> dict[Group, dict[tuple[str | None, ...], int]]:
    """For each group, how many people have each combination of `attributes`."""
    people: dict[Group, dict[tuple[str | None, ...], int]] = {}
    name = "release" if "release" in written.tables else "people"
    beside = [name for name in (*groups, *attributes) if name not in written.groups]
    rows = written.count_rows(name, list(dict.fromkeys(beside)))
    columns = [rows.column(name) for name in (*groups, *attributes)]
    first, sort = distinct(*(column.codes for column in columns))
    counts = np.zeros(len(first), np.int64)
    np.add.at(counts, sort, rows.times)
    for *row, count in zip(
        *(c.take(first).to_list() for c in columns), counts.tolist(), strict=True
    ):
        group, signature = tuple(row[: len(groups)]), tuple(row[len(groups) :])
        people.setdefault(group, {})[signature] = count
    return people


def population_of(written: Written, settings: PopulationSettings) -> Population:
    """The population of a criterion; refuse one with another digest than the criterion names."""
    exact = written.form == "bucketized"
    wanted = settings.digest
    if wanted is None or wanted not in written.populations:
        raise CertificateError("no-population", settings.population)
    columns = written.exact if exact else written.groups
    found = read_population(written.populations[wanted], columns)._replace(exact=exact)
    if found.digest != wanted:
        raise CertificateError("digest-differs", "the population")
    return found


def read_population(source: Any, columns: Sequence[str], named: Sequence[str] = ()) -> Population:
    """Read `columns` of a population; refuse one that has somebody twice by the `named` columns."""
    file = files_of({"population": source}).get("population")
    with _reading("the population") as connection:
        header, relation = open_written(connection, source, file)
        for column in columns:
            if header.count(column) != 1:
                raise CertificateError("not-one-column", "the population", column=column)
        places = [f"c{header.index(column)}" for column in columns]
        ((cells, times),) = count_rows(connection, relation, [places])
        names = [f"c{header.index(column)}" for column in named if column in header]
        if names:
            ((who, often),) = count_rows(connection, relation, [names])
            # A missing text and an empty one come first, and name nobody.
            lacks = [sum(not text for text in own.texts[:2]) for own in who]
            known = np.all([own.codes >= n for own, n in zip(who, lacks, strict=True)], axis=0)
            if (often[known] > 1).any():
                raise CertificateError("person-twice")
        if file is not None:
            file.check(int(times.sum()))
        if isinstance(file, CsvFile):
            cells = [merge_empties(column) for column in cells]
    alike: dict[tuple[str | None, ...], int] = {}
    for *key, n in zip(*(column.to_list() for column in cells), times.tolist(), strict=True):
        alike[tuple(key)] = alike.get(tuple(key), 0) + n
    return Population(tuple(columns), [(*key, n) for key, n in alike.items()])


def _read(written: Written, sensitive: str, known: Sequence[str]) -> GroupBags:
    """Read the tables of a release, and refuse those that contradict each other."""
    if written.semantics not in ("single", "set", "multiset"):
        raise CertificateError("wrong-setting", "semantics")
    if "release" in written.tables:
        return _read_rows(written, sensitive, known)
    held = _read_tally(written, sensitive, known)
    # where columns are known, the number of people of each group was compared before
    return held if known else _with_people(written, held)


def _with_people(written: Written, held: GroupBags) -> GroupBags:
    """Set the people of each group from the table of people; its values must match in number."""
    people = written.count_rows("people", ())
    labels, place_held, place_counted = _together(held.labels, list(people.groups.values()))
    groups = GroupBags(labels, held.names, place_held[held.of_group], held.codes, held.counts)
    groups.people = np.zeros(len(groups), np.int64)
    np.add.at(groups.people, place_counted[people.of_group], people.times)
    # Counts that are too large are capped, so that sums do not overflow.
    counts = np.minimum(groups.counts, len(groups.people) and int(groups.people.sum()) + 1)
    none = np.zeros(len(groups), np.int64)
    needed = {"single": groups.sum_by_group(counts), "set": groups.max_by_group(counts)}.get(
        written.semantics, none
    )
    wrong = (groups.people == 0) | (needed > groups.people)
    if written.semantics == "single":
        wrong |= needed < groups.people
    if wrong.any():
        first = int(np.argmax(wrong))
        raise CertificateError("people-differ", group_name(groups.group(first)))
    return groups


def _together(one: Sequence[Column], other: Sequence[Column]) -> tuple[list[Column], Ints, Ints]:
    """The groups of two tables together: labels, and where each table's groups are among them."""
    n_groups, columns = len(one[0].codes), []
    for mine, others in zip(one, other, strict=True):
        texts = [*mine.texts, *others.texts]
        codes = np.concatenate([mine.codes, len(mine.texts) + others.codes])
        columns.append(Column.of(texts, codes))
    first, place = distinct(*(column.codes for column in columns))
    labels = [column.take(first) for column in columns]
    return labels, place[:n_groups], place[n_groups:]


def _read_rows(written: Written, sensitive: str, known: Sequence[str]) -> GroupBags:
    """Read the table that has one row per person."""
    rows = written.count_rows("release", [*known, sensitive])
    values = rows.column(sensitive)
    if values.lacks:
        row = np.flatnonzero(values.codes == 0)
        first = int(row[np.argmin(rows.of_group[row])])
        beside = [rows.column(name).at(first) for name in known]
        raise CertificateError("missing-value", group_name([*rows.group(first), *beside]))
    return rows.counts(known, values, rows.times)


def _read_tally(written: Written, sensitive: str, known: Sequence[str]) -> GroupBags:
    """Read the table of (group, value, count), or of (group, values, count)."""
    part = (written.parts or {}).get(sensitive, "sensitive")
    together = [name for name, of in (written.parts or {}).items() if of == part]
    others = [name for name in together if name not in (*known, sensitive)]
    rows = written.count_rows(part, [*known, *others, sensitive, "count"])
    values, amounts = rows.column(sensitive), rows.column("count")
    amount = np.array([_amount(text) for text in amounts.texts], np.int64)
    counts = amount[amounts.codes]
    wrong = counts == 0
    if values.lacks:
        wrong |= values.codes == 0
    if wrong.any():
        at = int(np.argmax(wrong))
        group, value = group_name(rows.group(at)), values.at(at)
        raise CertificateError("no-count", group, value=value)
    cells = [rows.column(name).codes for name in (*known, *others, sensitive)]
    first, _ = distinct(rows.of_group, *cells)
    again = np.ones(len(counts), bool)
    again[first] = False
    again |= rows.times != 1
    if again.any():
        at = int(np.argmax(again))
        raise CertificateError("listed-twice", group_name(rows.group(at)), value=values.at(at))
    held = rows.counts(known, values, counts)
    if written.semantics == "multiset":
        cut = np.minimum(held.counts, _MOST_OF_A_BAG + 1)
        large = held.sum_by_group(cut) > _MOST_OF_A_BAG
        if large.any():
            name = group_name(held.group(int(np.argmax(large))))
            raise CertificateError("too-large", f"group {name}")
    return held


def _amount(text: str | None) -> int:
    """The whole number from 1 that a text of at most 15 digits holds; 0 for any other text."""
    return int(text) if text is not None and _COUNT.fullmatch(text) else 0


def group_name(group: Sequence[str | None]) -> str:
    """The name of a group in messages and verdicts."""
    return ", ".join("missing" if part is None else part for part in group)


def count_sights(written: Written, table: str, sights: Sequence[tuple[str, ...]]) -> None:
    """Count equal rows of a table for several sights (sets of columns), in one scan."""
    new = {frozenset(own): own for own in sights if written.counted_superset(table, own) is None}
    sights = [own for columns, own in new.items() if not any(columns < other for other in new)]
    if not sights:
        return
    judged = {*written.groups, written.sensitive, *(written.parts or ())}
    with _reading("the release") as connection:
        # Columns are named by position: DuckDB confuses names that differ only in case.
        file = written.files.get(table)
        header, relation = open_written(connection, written.tables[table], file)
        written.memory.headers[table] = [*header]
        if written.escaped:
            header = [unescape_formula(name, True) or "" for name in header]
        called = {f"{name}_shuffled": name for name in written.shuffled}
        for name in set(header) & set(called.values()):
            raise CertificateError("not-called-shuffled", name)
        header = [called.get(name, name) for name in header]
        _require_columns(header, len(relation.columns), written, table)
        for name in (name for sight in sights for name in sight):
            if name not in header:
                raise CertificateError("unknown-column", "the release", column=name)
        places = [[f"c{header.index(name)}" for name in sight] for sight in sights]
        with _nothing_beside_rows(written, table):
            found = count_rows(connection, relation, places, has_few_texts(file))
        if file is not None:
            file.check(int(found[0][1].sum()))
        for sight, (columns, times) in zip(sights, found, strict=True):
            plain = {}
            for name, own in zip(sight, columns, strict=True):
                if isinstance(file, CsvFile) and name in judged:
                    own = merge_empties(own)  # in other columns an empty text is a value
                if written.escaped:  # other columns may hold numbers, which are not marked
                    own = unescape_formulas(own, name in judged)
                plain[name] = swap_commas_and_points(own) if name in written.commas else own
            groups = {name: plain.pop(name) for name in written.groups}
            written.memory.counted[(table, *sight)] = DistinctRows.of(groups, plain, times)


@contextmanager
def _reading(what: str) -> Iterator[Any]:
    """A DuckDB connection; its errors become `CertificateError` with `what` in the message."""
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
        words = f"{what} cannot be read: {error}"
        raise CertificateError(words, code=error.code, **error.fields) from None
    finally:
        connection.close()


@contextmanager
def _nothing_beside_rows(written: Written, table: str) -> Iterator[None]:
    """Refuse a Parquet file of a certified release that may hold more than its columns.

    The bytes of all files are compared in a thread, beside what is done in the meantime; the
    refusal comes first, whatever that raises.
    """
    checks = written.memory.rows_alone
    paths = [] if written.columns is None else paths_of(written.tables[table])
    paths = [path for path in paths if path.suffix == ".parquet"]
    if paths and not checks:
        from concurrent.futures import ThreadPoolExecutor

        engine, thread = connect(), ThreadPoolExecutor(1)
        every = [*paths, *(path for other in written.tables.values() for path in paths_of(other))]
        for path in dict.fromkeys(every):
            checks[path] = thread.submit(holds_rows_alone, engine, path)
    try:
        yield
    finally:
        for path in paths:
            if not checks[path].result():
                raise CertificateError("parquet-layout", path.name)


def _require_columns(header: Sequence[str], readable: int, written: Written, table: str) -> None:
    """Refuse columns that are not accounted for, that occur twice, or that are missing."""
    wanted = header if written.columns is None else written.columns[table]
    for name in header:
        if name not in wanted:
            raise CertificateError("unaccounted-column", f"the table {table!r}", column=name)
    if readable != len(header):
        raise CertificateError("odd-columns", f"the table {table!r}")
    for name in wanted:
        if header.count(name) != 1:
            raise CertificateError("not-one-column", f"the table {table!r}", column=name)
