"""What the judge says of a release: its rows, counted afresh, by the tables of a policy.

The trunk prepares rows (spellings, missing values, who is left out) and hands them over as texts.
Secrets, sights, formulas and limits are the judge's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.columns import codes_of, fetch, settle_missing, to_python
from foreknow.data.engines.group_counts import TallyTable, ValuesTable, tallied
from foreknow.data.engines.table import Table
from foreknow.data.engines.tally import amounts_of
from foreknow.data.engines.write import rearmed
from foreknow.data.labels import GroupLabels, Labels
from foreknow.data.release import COUNT, Release
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow_judge.counting import Column
from foreknow_judge.layout import Layout
from foreknow_judge.verdict import Verdict
from foreknow_judge.verdicts import verdicts
from foreknow_judge.verify import rules_of
from foreknow_judge.written import Counted

Rows: TypeAlias = "tuple[list[Column], IntArray]"


def judged(
    release: Any, policy: Policy, requirement: Requirement, owner: Any = None
) -> list[Verdict] | None:
    """The judge's verdicts on one requirement; None where it cannot see what is asked."""
    from foreknow.publishing.verification import findings_of

    schema, layout = policy.schema, Layout()
    if owner is not None:
        people, groups, labels = owner
        layout = policy.layout
        written = _of_owner(people, groups, labels, policy, requirement)
        values: Any = {c.name: Labels(c.domain) for c in people.sensitives}
    elif isinstance(release, Release):
        written, values, layout = _of_release(release, policy), _values(release), release.layout
    elif isinstance(release, GroupCounts):
        sensitive = requirement.sensitive or (schema.sensitive if schema else "value")
        written, values = _of_counts(release, sensitive), release.values
    else:
        return None
    if written is None:
        return None
    table = requirement.published(values, schema, layout)
    known = requirement.sight(layout).known
    if requirement.unit is not None:
        table = {requirement.criterion.key: requirement.criterion.k}
    table["knowing"] = list(known)
    return findings_of(written, [table])


def _values(release: Release) -> Mapping[str, Labels]:
    return {name: release.seen(name, []).counts.values for name in release.sensitives}


def _of_counts(counts: GroupCounts, sensitive: str) -> Counted:
    """Counts of groups, as the tables of a release of which nothing else is known."""
    labels: Any = counts.groups
    many = 1
    if labels is not None and len(labels) and isinstance(labels[0], tuple):
        many = len(labels[0])
    groups = [f"group{i}" for i in range(many)]
    return Counted(
        "generalized",
        groups,
        sensitive,
        {"people": None, "sensitive": None},
        semantics=counts.semantics,
        parts={sensitive: "sensitive"},
        rows=_Tallies({"sensitive": counts}, groups),
    )


def _of_owner(people: Any, groups: Any, labels: Any, policy: Policy, requirement: Any) -> Counted:
    schema = policy.needed_schema
    rules = rules_of(policy.to_dict()["schema"])
    rules = rules._replace(nodes=(), opaque=())
    sensitives = list(schema.sensitives)
    main = requirement.sensitive or schema.sensitive
    others = [*schema.quasi_identifiers, *schema.other, *requirement.known, *schema.conditions]
    unit = requirement.unit
    if unit is not None:
        main = "unit"
        sensitives = ["unit"]
    return Counted(
        "generalized",
        ["group"],
        main,
        {"release": None},
        parts=dict.fromkeys(sensitives, "release"),
        beside=others,
        rules=rules if unit is None else rules_of({}),
        populations=policy.populations,
        rows=_Owned(people, groups, labels, unit),
        person=schema.person if schema.counts_people and requirement.points else "",
    )


class _Owned:
    """Rows of the owner's table, with the group of each."""

    def __init__(self, people: Any, groups: Any, labels: Any, unit: str | None) -> None:
        self.people, self.groups, self.labels, self.unit = people, groups, labels, unit

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        columns = [self._column(name) for name in names]
        times = self.people.times
        times = np.ones(len(self.groups), np.int64) if times is None else times.astype(np.int64)
        if self.unit is None:
            return columns, times
        codes, found = self.people.as_it_stands(self.unit)
        codes = codes.astype(np.int64)
        nobody = codes >= len(found) - found.null_count
        codes[nobody] = len(found) + np.arange(int(nobody.sum()))
        first = np.unique(
            np.stack([codes, *(c.codes for c in columns)]), axis=1, return_index=True
        )[1]
        return [c.take(first) for c in columns], np.ones(len(first), np.int64)

    def _column(self, name: str) -> Column:
        people = self.people
        if name == "group":
            return _texts(self.groups, [str(i) for i in range(int(self.groups.max(initial=0)) + 1)])
        if name == "unit" and self.unit is not None:
            return _texts(np.zeros(len(self.groups), np.int64), ["1"])
        published = {a.name for a in people.attributes} | {c.name for c in people.sensitives}
        if name in published or name in people.schema.other:
            codes, values = people.column(name)
            return _texts(codes, values)
        codes, found = people.as_it_stands(name)
        return _texts(codes, to_python(name, found))


class _Tallies:
    """Rows of the tables of people and of (group, value, count), from counts that are at hand."""

    def __init__(self, parts: Mapping[str, GroupCounts], groups: Sequence[str]) -> None:
        self.parts, self.groups = parts, groups

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        if table == "people":
            counts = next(iter(self.parts.values()))
            return self._labels(counts, np.arange(counts.n_groups)), counts.sizes.astype(np.int64)
        counts = self.parts[table]
        of_cell = np.repeat(np.arange(counts.n_groups), np.diff(counts.offsets))
        columns = self._labels(counts, of_cell)
        columns.append(_texts(counts.codes, list(counts.values)))
        amounts, place = np.unique(counts.counts, return_inverse=True)
        columns.append(_texts(place, amounts.tolist()))
        return columns, np.ones(len(of_cell), np.int64)

    def _labels(self, counts: GroupCounts, of_row: IntArray) -> list[Column]:
        labels: Any = counts.groups
        if labels is None:
            labels = range(counts.n_groups)
        if isinstance(labels, GroupLabels):
            return [_texts(codes[of_row], own) for own, codes in labels.parts]
        rows = [x if isinstance(x, tuple) else (x,) for x in labels]
        return [_texts(of_row, [row[i] for row in rows]) for i in range(len(self.groups))]


def _texts(codes: Any, labels: Sequence[Any]) -> Column:
    texts = [None if label is None else str(label) for label in labels]
    return Column.of(pa.array(texts, pa.string()), np.asarray(codes))


def _of_release(release: Release, policy: Policy) -> Counted | None:
    tables = release._tables
    if release.partly_left_out or release._owner is not None:
        return None
    schema = policy.schema
    rules = rules_of(policy.to_dict()["schema"]) if schema is not None else rules_of({})
    groups = [*map(release._bare, release.group_columns)]
    how: dict[str, Any] = {
        "semantics": release.semantics,
        "populations": policy.populations,
        "rules": rules,
        "cohort": release.cohort,
    }
    if isinstance(tables, ValuesTable) and release.semantics == "single":
        exact = tuple(release.recognized)
        return Counted(
            "bucketized" if exact else "generalized",
            groups,
            release.sensitive,
            {"release": None},
            parts=dict.fromkeys(release.sensitives, "release"),
            exact=exact,
            beside=release.other,
            rows=_Prepared(release),
            **how,
        )
    parts: dict[str, str] = {}
    counts: dict[str, GroupCounts] = {}
    if isinstance(tables, ValuesTable):
        for at, name in enumerate(release.sensitives, 1):
            part = f"sensitive{at if at > 1 else ''}"
            parts[name], counts[part] = part, release.seen(name, []).counts
        rows: Any = _Tallies(counts, groups)
    else:
        parts = {}
        names: dict[int, str] = {}
        for name in release.sensitives:
            own = cast("TallyTable", release._apart.get(name, tables))
            key = id(own.table)
            names.setdefault(key, f"sensitive{len(names) + 1}")
            parts[name] = names[key]
        rows = _TallyRows(release, parts)
        counts = dict.fromkeys(parts.values())
    return Counted(
        "generalized" if release.by_values else "bucketized",
        groups,
        release.sensitive,
        dict.fromkeys(("people", *counts)),
        parts=parts,
        exact=release.recognized,
        rows=rows,
        **how,
    )


class _TallyRows:
    """Rows of the tables of people and of (group, value, count), as they are."""

    def __init__(self, release: Release, parts: Mapping[str, str]) -> None:
        self.release, self.parts = release, parts

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        release = self.release
        if table == "people":
            own = cast("TallyTable", release._tables)
            written = [release._written(name) for name in names]
            if own.people is not None:
                rows, weights = tallied(own.people.table, written, own.groups)
                times = np.ones(len(rows), np.int64) if weights is None else weights
                return self._columns(rows, written), times.astype(np.int64)
            rows = fetch(own.table, [*written, own.amount], own.groups)
            return self._columns(rows, written), amounts_of(
                own.table, own.amount, rows.column(own.amount)
            )
        name = next(name for name, part in self.parts.items() if part == table)
        own = cast("TallyTable", release._apart.get(name, release._tables))
        written = [own.amount if name == COUNT else release._written(name) for name in names]
        rows = fetch(own.table, written, own.groups)
        return self._columns(rows, written), np.ones(len(rows), np.int64)

    def _columns(self, rows: pa.Table, names: Sequence[str]) -> list[Column]:
        made = []
        for name in names:
            codes, found = codes_of(rows.column(name))
            labels = to_python(name, found)
            if self.release._escaped:
                labels = [rearmed(x) if isinstance(x, str) else x for x in labels]
            made.append(_texts(codes, labels))
        return made


class _Prepared:
    """Rows of a table with one row for each person."""

    def __init__(self, release: Release) -> None:
        self._release = release

    def __call__(self, table: str, names: Sequence[str]) -> Rows:
        release = self._release
        own = cast("ValuesTable", release._tables)
        written = [release._written(name) for name in names]
        rows, weights = tallied(own.table, list(dict.fromkeys(written)), own.groups)
        for name in release.sensitives:
            if name in names:
                rows, kept = settle_missing(
                    own.table.name, rows, release._written(name), own.missing, weights=weights
                )
                if kept is not None and weights is not None:
                    weights = weights[kept]
        columns = []
        for name in written:
            codes, found = codes_of(rows.column(name))
            labels = to_python(name, found)
            if release._escaped:
                labels = [rearmed(x) if isinstance(x, str) else x for x in labels]
            columns.append(_texts(codes, labels))
        times = np.ones(len(rows), np.int64) if weights is None else weights.astype(np.int64)
        return columns, times
