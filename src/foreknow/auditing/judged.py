"""The judge's verdicts on a release: its rows are handed over, and the judge counts them.

Here rows are prepared: which column is which, how values are spelt, who is left out. Secrets,
sights, formulas and limits are the judge's alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import numpy as np

from foreknow.adversaries.protocol import counts_of
from foreknow.auditing.audit_input import OwnersTable
from foreknow.data.arrays import IntArray, combine
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.columns import codes_of, fetch, sorted_texts, to_python
from foreknow.data.engines.group_counts import TallyTable, ValuesTable, changed, tallied
from foreknow.data.engines.table import free_name
from foreknow.data.engines.tally import amounts_of
from foreknow.data.labels import Labels
from foreknow.data.layout import Layout
from foreknow.data.microdata import Microdata
from foreknow.data.release import COUNT, Release
from foreknow.data.schema import Schema
from foreknow.errors import InternalError
from foreknow.needs import Need
from foreknow.policy.counted import RequirementCounts
from foreknow.policy.explanation import Explanation
from foreknow.policy.kinds import keys_of_kinds, kind_of, registered_kinds
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow_judge.counted import Counted
from foreknow_judge.counting import Column
from foreknow_judge.errors import CertificateError, DataError
from foreknow_judge.explained import explained, unjudged
from foreknow_judge.impossible import Rules
from foreknow_judge.registry import Kinds
from foreknow_judge.verdict import Verdict
from foreknow_judge.verdicts import verdicts

# Columns of the rows that are handed over, and how often each row occurs.
Rows: TypeAlias = "tuple[list[Column], IntArray]"


def judged(
    release: Any,
    policy: Policy,
    requirement_counts: RequirementCounts,
    explanations: Sequence[Explanation],
    owners: OwnersTable | None = None,
    memo: dict[Any, Any] | None = None,
    too_large: list[str] | None = None,
) -> list[Verdict]:
    """The verdicts on one requirement, each with the witness of its explanation.

    Parameters
    ----------
    release : Release or another holder of counts
    policy : Policy
    requirement_counts : RequirementCounts
        What the requirement counts of the release.
    explanations : sequence of Explanation
        What its adversaries or its criterion find of these counts.
    owners : tuple, optional
        The table of the owner, where only that shows what is asked.
    memo : dict, optional
        What was counted for other requirements on the same release.
    too_large : list, optional
        Gets the name of the requirement if its groups are too large for the judge: then the upper
        bound of its explanation decides.

    Raises
    ------
    InternalError
        If an explanation has another figure than the judge.
    """
    requirement = requirement_counts.requirement
    kinds = registered_kinds()
    if not all(_is_known(kind, kinds) for kind in requirement.judged):
        return [unjudged(explanation) for explanation in explanations]
    release_counts, values, layout = _written(release, policy, requirement_counts, owners)
    release_counts = replace(
        release_counts,
        populations=_populations(requirement, release_counts.exact or release_counts.groups),
    )
    if isinstance(rows := release_counts.rows, _TableRows) and memo is not None:
        # The rows are kept, too, so that no other table gets their id.
        shared, _ = memo.setdefault(rows.key, (release_counts.memory, rows))
        release_counts.memory.counted, release_counts.memory.held = shared.counted, shared.held
    joint = release_counts.for_sensitive(release_counts.sensitive).semantics == "single"
    table = _table(requirement, policy, values, layout, joint=joint)
    try:
        questions, place = [_encodable(table)], explanations[0].place
        findings = verdicts(release_counts, questions, kinds.judges, kinds.gauges, place)
    except CertificateError as error:
        if error.code != "too-large" or not all(
            explanation.bounded for explanation in explanations
        ):
            raise
        if too_large is not None:
            too_large.append(requirement.name)
        return [unjudged(explanation) for explanation in explanations]
    try:
        return with_witnesses(findings, explanations)
    except InternalError:
        if isinstance(release, Release) and not release.settled:
            raise changed(release.tables.table) from None
        _refuse_alike(counts_of(requirement_counts.seen).values)
        raise


def with_witnesses(
    findings: Sequence[Verdict], explanations: Sequence[Verdict | Explanation]
) -> list[Verdict]:
    """The judge's findings in the order of their explanations, each with its witness.

    Findings are in the order of a policy file, which has points of one kind beside each other.
    """
    kinds = list(
        dict.fromkeys((explanation.place, explanation.judged.key) for explanation in explanations)
    )
    order = sorted(
        range(len(explanations)),
        key=lambda place: kinds.index((explanations[place].place, explanations[place].judged.key)),
    )
    if len(order) != len(findings):
        raise InternalError(f"the judge has {len(findings)} findings, the audit {len(order)}")
    verdicts: dict[int, Verdict] = {}
    for place, finding in zip(order, findings, strict=True):
        verdict = explained(finding, explanations[place])
        if verdict is None:
            raise InternalError(
                f"the judge and the audit disagree: {finding.to_dict()} and {explanations[place]}"
            )
        verdicts[place] = verdict
    return [verdicts[place] for place in range(len(explanations))]


def _refuse_alike(values: Sequence[Any]) -> None:
    """Refuse values that are different to Python, and alike where they are written."""
    first: dict[str, Any] = {}
    for value in values:
        if first.setdefault(_encodable(str(value)), value) != value:
            raise DataError(
                f"{first[_encodable(str(value))]!r} and {value!r} are written alike, so a reader "
                "takes them for one value: give them other names, or one type"
            )


def _is_known(kind: Any, kinds: Kinds) -> bool:
    """True if the judge knows an adversary or a criterion; else its own word is all there is."""
    key = getattr(kind, "key", None)
    is_registered = key in keys_of_kinds() and type(kind) is kind_of(key)
    return is_registered and key in {*kinds.judges, *kinds.gauges}


def _populations(requirement: Requirement, columns: Sequence[str]) -> dict[str, Any]:
    """The populations that a requirement compares groups with, by digest."""
    populations = [
        criterion.population
        for criterion in requirement.judged
        if Need.POPULATION in criterion.needs
    ]
    for population in populations:
        population.columns = population.columns or tuple(columns)  # of a policy without a schema
    return {population.digest(): population.written() for population in populations}


def _table(
    requirement: Requirement, policy: Policy, values: Any, layout: Layout, *, joint: bool
) -> dict[str, Any]:
    """The ``[[require]]`` table that the judge reads."""
    table = requirement.subject.asked(values, policy.schema, layout)
    return {**table, "knowing": list(requirement.sight(layout).known) if joint else []}


def _written(
    release: Any, policy: Policy, requirement_counts: RequirementCounts, owners: OwnersTable | None
) -> tuple[Counted, Any, Layout]:
    """The release as the judge counts it, the values of its columns, and what stands beside."""
    requirement, sight_counts = requirement_counts.requirement, requirement_counts.seen
    if owners is not None:
        people = owners[0]
        domains = {column.name: Labels(column.domain) for column in people.sensitives}
        return _of_owner(owners, policy, requirement, release.layout), domains, release.layout
    if isinstance(release, Release):
        sight = requirement.subject.rows(release)
        if not sight.linked:
            domains = {name: counts.values for name, counts in release.by_column().items()}
            return _of_release(release, sight, policy, requirement), domains, release.layout
    counts, name = counts_of(sight_counts), requirement.sensitive or "value"
    groups = _names_of_groups(counts, name)
    if counts.group_columns and requirement.of_people:
        groups = groups[1:]  # which a population has, too
    release_counts = Counted(
        "generalized",
        groups,
        name,
        {"people": None, "sensitive": None},
        semantics=counts.semantics,
        parts={name: "sensitive"},
        rows=_CountedRows(sight_counts, counts, groups),
    )
    return release_counts, counts.values, getattr(release, "layout", Layout())


def _texts(codes: Any, labels: Sequence[Any]) -> Column:
    """A column of labels as they print."""
    texts = [None if label is None else str(label) for label in labels]
    try:
        distinct, places = sorted_texts(texts)
    except UnicodeEncodeError:
        distinct, places = sorted_texts([None if t is None else _encodable(t) for t in texts])
    return Column(distinct, places[np.asarray(codes)])


def _encodable(content: Any) -> Any:
    """The same texts with half characters written out, which no file can hold."""
    if isinstance(content, str):
        return content.encode("utf-8", "backslashreplace").decode()
    if isinstance(content, Mapping):
        return {_encodable(key): _encodable(value) for key, value in content.items()}
    return [*map(_encodable, content)] if isinstance(content, (list, tuple)) else content


def _ones(times: IntArray | None, n_rows: int) -> IntArray:
    return np.ones(n_rows, np.int64) if times is None else times.astype(np.int64)


# ---- counts that are at hand ---------------------------------------------------------------------


def _names_of_groups(counts: GroupCounts, sensitive: str) -> list[str]:
    """The position of each group, and the columns of its label."""
    columns = counts.group_columns
    return [free_name("group", {*columns, sensitive, COUNT}), *columns]


@dataclass(frozen=True, eq=False)
class _CountedRows:
    """Rows of a table of people and of one of (group, value, count), from counts."""

    seen: Any
    counts: GroupCounts
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
        signatures = self.seen.signatures(value_columns)
        of_cell = np.repeat(np.arange(counts.n_groups), np.diff(signatures.offsets))
        texts_of = [*zip(*signatures.labels, strict=True)] or [()] * len(value_columns)
        parts = [_texts(signatures.codes, texts) for texts in texts_of]
        return [*self._labels(of_cell), *parts], _ones(signatures.people, 0)

    @property
    def _code_of_text(self) -> IntArray:
        """For each value, the first that prints alike."""
        first: dict[str, int] = {}
        texts = [_encodable(str(value)) for value in self.counts.values]
        return np.array(
            [first.setdefault(text, code) for code, text in enumerate(texts)],
            dtype=np.int64,
        )

    def _labels(self, of_row: IntArray) -> list[Column]:
        columns = [_texts(of_row, range(self.counts.n_groups))]
        columns += [_texts(codes[of_row], names) for names, codes in self.counts.group_parts]
        return columns[-len(self.groups) :]


# ---- tables -------------------------------------------------------------------------------------


def _of_release(
    release: Release, sight: Release, policy: Policy, requirement: Requirement
) -> Counted:
    """A release by its own tables, for one sight of it."""
    tables, secret = release.tables, sight.sensitive
    if isinstance(tables, ValuesTable):
        anything = free_name(_ANYTHING, {*tables.table.columns})
        secret = anything if requirement.of_people and tables.missing != "error" else secret
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
        rules=Rules.of({} if policy.schema is None else policy.to_dict()["schema"]),
        shuffled=release.unlinked,
        cohort=release.cohort,
        rows=rows,
    )


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


def _of_owner(
    owners: OwnersTable, policy: Policy, requirement: Requirement, layout: Layout
) -> Counted:
    """The owner's table with the groups of a release: exact columns, persons and other units."""
    people, groups, _ = owners
    schema = policy.needed_schema
    column_names = {*people.source.columns}
    group, unit = free_name(_GROUP, column_names), free_name(_UNIT, column_names)
    by_unit = requirement.unit is not None
    schema_settings = policy.to_dict()["schema"]
    rules = Rules.of(
        schema_settings
        if people.times is None
        else {**schema_settings, "impossible": _by_class(schema)}
    )
    nodes = people.nodes if people.times is None else ()
    rules = rules._replace(nodes=nodes, opaque=nodes)
    other_columns = (
        *schema.quasi_identifiers,
        *schema.other,
        *requirement.known,
        *rules.columns(),
    )
    return Counted(
        "generalized",
        [group],
        unit if by_unit else requirement.sensitive or schema.sensitive,
        {"release": None},
        parts=dict.fromkeys((unit,) if by_unit else schema.sensitives, "release"),
        beside=other_columns,
        rules=Rules() if by_unit else rules,
        shuffled={*schema.sensitives} - {*layout.linked},
        rows=_OwnersRows(people, groups, group, unit, requirement.unit),
        person=requirement.persons if requirement.points else "",
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
