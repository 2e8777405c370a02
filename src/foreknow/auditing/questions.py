"""Questions to the judge: rows of a release, or of its owner's table, and what is asked of them.

Here it is decided which column is which, how values are spelt and who is left out. Secrets, sights,
formulas and limits are the judge's alone. Nothing here counts or explains.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np

from foreknow.data.arrays import IntArray, combine
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.columns import codes_of, fetch, sorted_texts, to_python
from foreknow.data.engines.group_counts import TallyTable, ValuesTable
from foreknow.data.engines.rows import tallied
from foreknow.data.engines.table import free_name
from foreknow.data.engines.tally import amounts_of
from foreknow.data.microdata import Microdata
from foreknow.data.release import COUNT, Release
from foreknow.data.schema import Schema
from foreknow_judge.counted import Counted
from foreknow_judge.counting import Column
from foreknow_judge.impossible import Rules
from foreknow_judge.registry import Kinds
from foreknow_judge.verdict import Verdict
from foreknow_judge.verdicts import verdicts

# Columns of the rows that are handed over, and how often each row occurs.
Rows: TypeAlias = "tuple[list[Column], IntArray]"


def verdicts_on(
    release: Counted, table: Mapping[str, Any], kinds: Kinds, place: int = 0
) -> list[Verdict]:
    """The judge's verdicts on what one ``[[require]]`` table asks, the position in a policy."""
    return verdicts(release, [encodable(table)], kinds.judges, kinds.gauges, place)


def _texts(codes: Any, labels: Sequence[Any]) -> Column:
    """A column of labels as they print."""
    texts = [None if label is None else str(label) for label in labels]
    try:
        distinct, places = sorted_texts(texts)
    except UnicodeEncodeError:
        distinct, places = sorted_texts([None if t is None else encodable(t) for t in texts])
    return Column(distinct, places[np.asarray(codes)])


def encodable(content: Any) -> Any:
    """The same texts with half characters written out, which no file can hold."""
    if isinstance(content, str):
        return content.encode("utf-8", "backslashreplace").decode()
    if isinstance(content, Mapping):
        return {encodable(key): encodable(value) for key, value in content.items()}
    return [*map(encodable, content)] if isinstance(content, (list, tuple)) else content


def _ones(times: IntArray | None, n_rows: int) -> IntArray:
    return np.ones(n_rows, np.int64) if times is None else times.astype(np.int64)


# ---- counts that are at hand ---------------------------------------------------------------------


def of_counts(
    counts: GroupCounts, secret: str, signatures: Any = None, *, of_people: bool = False
) -> Counted:
    """Counts as a table of people and one of (group, value, count).

    `signatures` are counted of people by some columns, where these are at hand; `of_people` is True
    of what is asked of people alone, whose groups a population has, too.
    """
    columns = counts.group_columns
    groups = [free_name("group", {*columns, secret, COUNT}), *columns]
    groups = groups[1:] if columns and of_people else groups
    return Counted(
        "generalized",
        groups,
        secret,
        {"people": None, "sensitive": None},
        semantics=counts.semantics,
        parts={secret: "sensitive"},
        rows=_CountedRows(counts, signatures, groups),
    )


@dataclass(frozen=True, eq=False)
class _CountedRows:
    """Rows of a table of people and of one of (group, value, count), from counts."""

    counts: GroupCounts
    signatures: Any
    groups: Sequence[str]

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        counts, value_columns = self.counts, [name for name in names if name not in self.groups]
        if table == "sensitive":
            cells, cell = np.unique(
                np.stack([counts.cell_groups, self._code_of_text[counts.codes]]),
                axis=1,
                return_inverse=True,
            )
            amounts = np.bincount(cell.reshape(-1), counts.counts).astype(np.int64)
            amount, place = np.unique(amounts, return_inverse=True)
            columns = {
                COUNT: _texts(place, amount.tolist()),
                **{
                    name: _texts(cells[1], list(counts.values))
                    for name in value_columns
                    if name != COUNT
                },
            }
            return [*self._labels(cells[0]), *(columns[name] for name in value_columns)], _ones(
                None, cells.shape[1]
            )
        if not value_columns:
            return self._labels(np.arange(counts.n_groups)), _ones(counts.sizes, 0)
        signatures = self.signatures(value_columns)
        of_cell = np.repeat(np.arange(counts.n_groups), np.diff(signatures.offsets))
        texts_of = [*zip(*signatures.labels, strict=True)] or [()] * len(value_columns)
        parts = [_texts(signatures.codes, texts) for texts in texts_of]
        return [*self._labels(of_cell), *parts], _ones(signatures.people, 0)

    @property
    def _code_of_text(self) -> IntArray:
        """For each value, the first that prints alike."""
        first: dict[str, int] = {}
        texts = [encodable(str(value)) for value in self.counts.values]
        return np.array(
            [first.setdefault(text, code) for code, text in enumerate(texts)],
            dtype=np.int64,
        )

    def _labels(self, of_row: IntArray) -> list[Column]:
        columns = [_texts(of_row, range(self.counts.n_groups))]
        columns += [_texts(codes[of_row], names) for names, codes in self.counts.group_parts]
        return columns[-len(self.groups) :]


# ---- tables -------------------------------------------------------------------------------------


def of_release(
    release: Release, sight: Release, rules: Mapping[str, Any], *, of_people: bool = False
) -> Counted:
    """A release by its tables, for one sight of it; `rules` are those of a schema's table."""
    tables, secret = release.tables, sight.sensitive
    if isinstance(tables, ValuesTable):
        anything = free_name(_ANYTHING, {*tables.table.columns})
        secret = anything if of_people and tables.missing != "error" else secret
        parts = dict.fromkeys((*release.sensitives, secret), "release")
        rows: Any = _TableRows(cast("ValuesTable", sight.tables), anything)
        names, semantics, beside = ["release"], "single", release.other
    else:
        number: dict[int, str] = {}
        for name in release.sensitives:
            number.setdefault(id(release.table_of(name)), f"sensitive{len(number) + 1}")
        parts = {name: number[id(release.table_of(name))] for name in release.sensitives}
        rows = _TallyRows(release, {part: name for name, part in parts.items()})
        names, semantics = ["people", *number.values()], release.semantics
        beside = release.people_columns
    return Counted(
        "bucketized" if release.recognized and not release.by_values else "generalized",
        release.group_columns,
        secret,
        dict.fromkeys(names),
        semantics=semantics,
        parts=parts,
        exact=tuple(release.recognized),
        beside=beside,
        rules=Rules.of(rules),
        shuffled=release.unlinked,
        cohort=release.cohort,
        rows=rows,
    )


def share_rows(release: Counted, memo: dict[Any, Any]) -> None:
    """Take what was counted for other requirements of equal rows, and keep what is counted."""
    if isinstance(rows := release.rows, _TableRows):
        # The rows are kept, too, so that no other table gets their id.
        shared, _ = memo.setdefault(rows.key, (release.memory, rows))
        release.memory.counted, release.memory.held = shared.counted, shared.held


def _columns(rows: Any, names: Sequence[str]) -> list[Column]:
    """Columns of a table as they print."""
    return [_column(name, *codes_of(rows.column(name))) for name in names]


def _column(name: str, codes: Any, distinct: Any) -> Column:
    return _texts(codes, to_python(name, distinct))


# What people are counted by whose values do not matter.
_ANYTHING = "anything"


@dataclass(frozen=True, eq=False)
class _TableRows:
    """Rows of a table with one row for each person; people without a value are left out."""

    sight: ValuesTable
    anything: str

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that is equal for sights that count equal rows alike."""
        sight = self.sight
        missing = None if sight.missing == "error" else (sight.sensitive, tuple(sight.or_else))
        return id(sight.table), missing, self.anything

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        sight, anything = self.sight, self.anything
        counted_names = [name for name in names if name != anything]
        rows, weights = sight.prepared(counted_names)
        encoded = [codes_of(rows.column(name)) for name in counted_names]
        # Equal rows are counted here, since most tables have few different ones.
        codes = [of_row for of_row, _ in encoded]
        kind, first = combine(codes, [len(distinct) for _, distinct in encoded])
        times = np.bincount(kind, weights, len(first)).astype(np.int64)
        columns = {
            name: _column(name, of_row[first], distinct)
            for name, (of_row, distinct) in zip(counted_names, encoded, strict=True)
        }
        columns[anything] = _texts(np.zeros(len(first), np.int64), ["a value"])
        return [columns[name] for name in names], times


@dataclass(frozen=True, eq=False)
class _TallyRows:
    """Rows of a table of people, and of those of (group, value, count)."""

    release: Release
    column_of: Mapping[str, str]

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        release = self.release
        if table in self.column_of:
            tally = cast("TallyTable", release.table_of(self.column_of[table]))
            headers = [tally.amount if name == COUNT else name for name in names]
            rows = fetch(tally.table, headers, tally.groups)
            return _columns(rows, headers), _ones(None, len(rows))
        tally = cast("TallyTable", release.tables)
        if tally.people is not None:
            rows, weights = tallied(tally.people.table, [*names], tally.groups)
            return _columns(rows, names), _ones(weights, len(rows))
        rows = fetch(tally.table, [*names, tally.amount], tally.groups)
        amounts = amounts_of(tally.table, tally.amount, rows.column(tally.amount))
        return _columns(rows, names), amounts.astype(np.int64)


# ---- what only the owner has --------------------------------------------------------------------

_GROUP, _UNIT = "group", "unit"


def of_owner(
    people: Microdata,
    groups: IntArray,
    schema: Schema,
    secret: str,
    known_columns: Sequence[str],
    *,
    linked: Collection[str] = (),
    person: str = "",
    by: str | None = None,
) -> Counted:
    """The owner's table with the group of each row: exact columns, persons and other units.

    Parameters
    ----------
    people : Microdata
    groups : int64 array
        The group of each row in the release.
    schema : Schema
        What the columns are by the policy.
    secret : str
        The sensitive column.
    known_columns : sequence of str
        Columns that are known of everybody.
    linked : collection of str
        Sensitive columns that stand beside others in the release; the rest is shuffled.
    person : str
        Where rows are cases and people are counted, the column that says whose they are.
    by : str, optional
        The column whose values are counted as units, such as households; then nothing is secret.
    """
    column_names = {*people.source.columns}
    group, unit = free_name(_GROUP, column_names), free_name(_UNIT, column_names)
    schema_settings = schema.to_dict()
    rules = Rules.of(
        schema_settings
        if people.times is None
        else {**schema_settings, "impossible": _by_class(schema)}
    )
    nodes = people.nodes if people.times is None else ()
    rules = rules._replace(nodes=nodes, opaque=nodes)
    other_columns = (*schema.quasi_identifiers, *schema.other, *known_columns, *rules.columns())
    return Counted(
        "generalized",
        [group],
        secret if by is None else unit,
        {"release": None},
        parts=dict.fromkeys(schema.sensitives if by is None else (unit,), "release"),
        beside=other_columns,
        rules=rules if by is None else Rules(),
        shuffled={*schema.sensitives} - {*linked},
        rows=_OwnersRows(people, groups, group, unit, by),
        person=person,
    )


def _rule_name(place: int) -> str:
    return f"rule {place}"


def _by_class(schema: Schema) -> list[dict[str, Any]]:
    """Rules of equal rows that were counted, of which it is kept which rules are about them."""
    return [
        {
            "values": [*rule.values],
            "where": {_rule_name(place): ["yes"]},
            "sensitive": rule.sensitive,
        }
        for place, rule in enumerate(schema.impossible)
    ]


@dataclass(frozen=True, eq=False)
class _OwnersRows:
    """Rows of the owner's table, with the group of each; of a unit, such as a household, one."""

    people: Microdata
    groups: IntArray
    group: str  # what the column of groups is called
    unit: str  # what the column of units is called
    by: str | None  # whose rows are one unit

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        columns = [self._column(name) for name in names]
        if self.by is None:
            return columns, _ones(self.people.times, len(self.groups))
        codes, distinct = self.people.as_it_stands(self.by)
        unit = codes.astype(np.int64)
        nobody = np.flatnonzero(unit >= len(distinct) - distinct.null_count)
        unit[nobody] = len(distinct) + np.arange(len(nobody))  # each is a unit by itself
        keys = np.stack([unit, *(column.codes for column in columns)])
        first = np.unique(keys, axis=1, return_index=True)[1]
        return [column.take(first) for column in columns], _ones(None, len(first))

    def _column(self, name: str) -> Column:
        people = self.people
        if name == self.group:
            return _texts(self.groups, range(int(self.groups.max(initial=-1)) + 1))
        if name == self.unit:
            return _texts(np.zeros(len(self.groups), np.int64), ["1"])
        for column in people.sensitives:
            if column.name == name:
                return _texts(column.codes, column.domain)
        if people.times is not None:
            for place in range(len(people.schema.impossible)):
                if name == _rule_name(place):
                    return _texts(*people.about_rule(place))
        return _texts(*people.unchanged(name))
