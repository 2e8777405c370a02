"""Sight: a release as an adversary sees it who knows columns of everybody, shown in it or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray, combine, combine_encoded, count_pairs
from foreknow.data.columns.attribute import Attribute
from foreknow.data.counts import GroupCounts
from foreknow.data.impossible.possible_values import Classes, JointCells
from foreknow.data.impossible.rules_in_force import (
    RuleClasses,
    classify_by_rules,
    excluded_values,
    refuse_unfit,
    refuse_unmet,
)
from foreknow.data.labels.generalization import style_of, wording_of
from foreknow.data.labels.labels import Labels, in_order
from foreknow.data.members import Signature, Signatures, printed
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.schema import PLAIN, Schema
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.table import require
from foreknow.errors import did_you_mean
from foreknow.wording import people_text
from foreknow_judge.counts.layout import Seen
from foreknow_judge.errors import DataError, InputError, UnsupportedError

# Points of people times groups that are compared at a time.
_AT_ONCE = 1 << 22


class Sight:
    """A release, and what an adversary knows of everybody beside it; not who has which value.

    Parameters
    ----------
    counts : GroupCounts
        Those of the release.
    microdata : Microdata or Register
        Its quasi-identifiers and other columns are what is known.
    groups : int64 array, shape (people,)
        The position of everybody's group in the counts.
    sensitive, name : str
        The column of sensitive values, and what messages call the release.
    release : Release, optional
        What is looked at, to see its other columns in it; see `seen`.
    """

    def __init__(
        self,
        counts: GroupCounts,
        microdata: Microdata | Register,
        groups: IntArray,
        sensitive: str,
        name: str = "the release",
        release: Release | None = None,
    ) -> None:
        """Take a release and its people; `DataError` if groups have not as many as it counts."""
        self._release = release
        self.cohort = "" if release is None else release.cohort
        self._seen: dict[tuple[str, ...], Sight] = {}
        self.counts, self.sensitive, self.name = counts, sensitive, name
        self._microdata, self._groups = microdata, groups
        self._rows: IntArray | slice = slice(None)  # the rows of the microdata that have a group
        # The people must be those of the counts: as many in each group.
        sizes = np.bincount(groups, microdata.times, self.counts.n_groups)
        if not np.array_equal(sizes, self.counts.sizes):
            g = int(np.argmax(sizes != self.counts.sizes))
            raise DataError(
                f"{microdata.name}: {people_text(int(sizes[g]))} for group "
                f"{self.counts.group_label(g)!r}, which has {int(self.counts.sizes[g])}; give the "
                "table that the release was made from"
            )

    @property
    def owners(self) -> tuple[Any, IntArray]:
        """The table of everybody, and the group of each; for the owner, who counts more columns."""
        return self._microdata, self._groups

    @property
    def schema(self) -> Schema:
        """The schema of that table."""
        return self._microdata.schema

    @property
    def cases(self) -> bool:
        """True if rows are cases, of which a person may have several."""
        return self.schema.unit == "row"

    @property
    def sight(self) -> Sight:
        """Itself, as the key among sights of the same release."""
        return self

    def seen(
        self, sensitive: str | None = None, asked_columns: Sequence[str] | None = None
    ) -> Sight:
        """The release seen for one sensitive column, in groups that known columns divide.

        `asked_columns` are those that are known of everybody; None: all that stand beside the
        sensitive one. The result is kept.
        """
        # Bare counts have no other columns.
        if self._release is None:
            return self
        shown_release = self._release.seen(sensitive, asked_columns)
        known_names = self._release.layout.seen(sensitive, asked_columns).known
        if shown_release is self._release:
            return self
        key = shown_release.sensitive, *known_names
        if key not in self._seen:
            # A part is a combination of a group and values of the known columns. Each is looked up,
            # by its label, among the groups of the divided release.
            columns = [self._column(name) for name in known_names]
            groups = self._groups, range(self.counts.n_groups)
            part_of_person, first_people = combine_encoded([groups, *columns])
            position_of_label = {
                _label_texts(label): position
                for position, label in enumerate(shown_release.counts.groups or ())
            }
            positions = []  # of each part among the groups of the divided release
            for person in first_people.tolist():
                label = _label_texts(self.counts.group_label(int(self._groups[person])))
                known_texts = [texts[codes[person]] for codes, texts in columns]
                position = position_of_label.get((*label, *known_texts))
                if position is None:
                    raise DataError(
                        f"{self._microdata.name}: nobody in the release has what somebody here "
                        f"has in {' and '.join(known_names)}; give the table that the release was "
                        "made from"
                    )
                positions.append(position)
            self._seen[key] = Sight(
                counts=shown_release.counts,
                microdata=self._microdata,
                groups=np.array(positions, dtype=np.int64)[part_of_person],
                sensitive=shown_release.sensitive,
                name=self.name,
            )
        return self._seen[key]

    def seen_by(self, columns: Sequence[str], sensitive: str | None = None) -> Sight | Release:
        """The release as an adversary sees it who knows some columns of everybody.

        Only columns that stand in one row with the sensitive one count. If the table of everybody
        has changed since the release, as it may for people of earlier releases, the result is what
        the release itself shows.
        """
        if self._release is None:
            return self
        shown_release = self._release.seen_by(columns, sensitive or self.sensitive)
        # The table of a register is of today, and may lack values that an earlier release shows.
        try:
            return self.seen(shown_release.sensitive, shown_release.knows)
        except DataError:
            if self._microdata.may_have_changed:
                return shown_release
            raise

    def only(self, groups: IntArray) -> Sight:
        """The sight of some of the groups, given by their positions; these are numbered anew."""
        # People of other groups get the number -1, and are left out.
        new_number = np.full(self.counts.n_groups, -1, dtype=np.int64)
        new_number[groups] = np.arange(len(groups))
        narrowed, group_of_row = copy(self), new_number[self._groups]
        inside = np.flatnonzero(group_of_row >= 0)  # whose group is one of these
        narrowed.counts, narrowed._groups = self.counts.take(groups), group_of_row[inside]
        # Rows of the microdata: those inside, of the rows that were left before.
        narrowed._rows = inside if isinstance(self._rows, slice) else self._rows[inside]
        narrowed._release, narrowed._seen = None, {}
        return narrowed

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that are known."""
        schema = self._microdata.schema
        return *schema.quasi_identifiers, *schema.other

    @property
    def beside_groups(self) -> tuple[str, ...]:
        """The columns that are known of people: all of these."""
        return self.attributes

    def signatures(self, attributes: Sequence[str]) -> Signatures:
        """How many people of each group have which values of some columns, as they print."""
        return self._count_signatures({name: self._column(name) for name in attributes})

    def _count_signatures(
        self, columns: Mapping[str, tuple[NDArray[Any], Signature]]
    ) -> Signatures:
        """Count the people of each group by their values in some columns (their signature).

        Each column of the microdata is given by the code of each row, and the text of each code.
        """
        # Only the rows of people who are in one of the groups.
        coded = [(codes[self._rows], texts) for codes, texts in columns.values()]
        signature_of_row, first_rows = combine_encoded(coded)
        # The first row with each signature has its texts.
        texts_of_columns = []
        for codes, texts in coded:
            texts_of_columns.append(np.array(texts, object)[codes[first_rows]])
        labels = [*zip(*texts_of_columns, strict=True)]
        offsets, codes, people = count_pairs(
            self._groups, signature_of_row, self.counts.n_groups, len(labels), self._times
        )
        return Signatures(tuple(columns), labels, offsets, codes, people)

    @property
    def _times(self) -> IntArray | None:
        """How many people each row is."""
        times = self._microdata.times
        return None if times is None else times[self._rows]

    def held(self, attributes: Sequence[str]) -> Signatures | None:
        """Count the people of each group by their values in some columns and by their secret.

        The secret, which is the sensitive value, is the last attribute. None if the table's values
        are not those that were published. Only the owner has them, to count right guesses.
        """
        codes, values = self._microdata.column(self.sensitive)
        member_codes = codes[self._rows]
        if held_values(self.counts, self._groups, member_codes, values, self._times) is None:
            return None
        columns = {name: self._column(name) for name in attributes}
        return self._count_signatures({**columns, self.sensitive: (codes, printed(values))})

    def _column(self, name: str) -> tuple[NDArray[Any], Signature]:
        """The code of each person in one column, and the text of each code.

        The column is a known one, or another sensitive one.
        """
        other_sensitives = (
            column for column in self._microdata.schema.sensitives if column != self.sensitive
        )
        if name not in (*self.attributes, *other_sensitives):
            raise DataError(
                f"{self._microdata.name}: {name!r} is not known of people"
                f"{did_you_mean(name, self.attributes)}"
            )
        codes, values = self._microdata.column(name)
        return codes, printed(values)


def held_values(
    counts: GroupCounts,
    groups: IntArray,
    codes: NDArray[Any],
    labels: Sequence[Any],
    times: IntArray | None = None,
) -> NDArray[Any] | None:
    """The value of each person, as a code of the counts; None if other people were counted.

    Parameters
    ----------
    counts : GroupCounts
    groups, codes : integer arrays, shape (people,)
        The group of each person, and their value as a code into `labels`.
    labels : sequence
        The value of each code.
    times : integer array, optional
        How many people each entry is.
    """
    # Values are compared as they print; -1 is one that the counts do not have.
    code_of = {str(value): code for code, value in enumerate(counts.values)}
    value_codes: NDArray[Any] = np.array([code_of.get(str(label), -1) for label in labels])[codes]
    if not len(groups) or min(groups.min(), value_codes.min()) < 0:
        return None
    # These are the people of the counts if they give the same counts in every group.
    cells = count_pairs(groups, value_codes, counts.n_groups, counts.n_values, times)
    is_same = all(map(np.array_equal, cells, (counts.offsets, counts.codes, counts.counts)))
    return value_codes if is_same else None


def _label_texts(label: Any) -> Signature:
    """The parts of a group's label as they print; a label that is no tuple is the only part."""
    return printed(label if isinstance(label, tuple) else (label,))


class Register:
    """People of several releases: what a table says of them now, and who is shown first by which.

    A `Sight` takes it in place of a `Microdata`. Nothing is known of who is not in the table.

    Parameters
    ----------
    parts : sequence of (Microdata, int64 array)
        For each release a table, and the row in it of each of its people; -1 if they have none.
    cohort : str
        The column that tells which release shows a person.
    """

    may_have_changed = True  # since a release was made

    def __init__(self, parts: Sequence[tuple[Microdata, IntArray]], cohort: str) -> None:
        """Take for each release a table and the rows of its people; -1 if they have none.

        `cohort` is the column that tells which release shows a person.
        """
        self._parts, self._cohort = parts, cohort
        first, _ = parts[0]
        self.name = first.name
        self.schema = replace(first.schema, other=[*first.schema.other, cohort])
        counted_times = []
        for microdata, rows in parts:
            # People of releases are single rows; a table of equal rows says how many each is.
            single = np.ones(len(rows), np.int64)
            counted_times.append(single if microdata.times is None else microdata.times)
        self.times = np.concatenate(counted_times)

    def column(self, name: str) -> tuple[NDArray[Any], list[str | None]]:
        """The code of each person in a column, release by release, and the text of each code.

        A person who is not in the table has the code of None. In the column of cohorts, the text
        is the number of the release.
        """
        if name == self._cohort:
            sizes = [len(rows) for _, rows in self._parts]
            return np.repeat(np.arange(len(sizes)), sizes), [str(i + 1) for i in range(len(sizes))]
        code_of: dict[str | None, int] = {}
        codes_of_parts = []
        for microdata, rows in self._parts:
            codes, values = microdata.column(name)
            # One code for one text, whichever table has it.
            new_codes = [code_of.setdefault(text, len(code_of)) for text in printed(values)]
            absent = code_of.setdefault(None, len(code_of)) if (rows < 0).any() else -1
            # A row of -1 reads some other row's code, which `np.where` replaces.
            codes_of_parts.append(np.where(rows < 0, absent, np.array(new_codes)[codes[rows]]))
        return np.concatenate(codes_of_parts), [*code_of]


def seen_with(release: Any, people: Any, by: Sequence[str]) -> Sight:
    """A release as an adversary sees it who knows the quasi-identifiers of everybody, exactly.

    Each person is placed in the group whose published labels cover their values. `people` is a
    table with the columns of the groups, exact, and the columns `by`; or a `Microdata`, whose
    hierarchies then say what labels mean.
    """
    if release.is_bare:
        raise InputError("people is for a Release, not GroupCounts, which has no labels")
    exact = people if isinstance(people, Microdata) else _as_microdata(release, people, by)
    return Sight(
        counts=release.counts,
        microdata=exact,
        groups=placed(release, exact),
        sensitive=release.sensitive,
        name=release.name,
        release=release,
    )


def _as_microdata(release: Release, people: Any, by: Sequence[str]) -> Microdata:
    """A table of people as a `Microdata`, with the columns of the groups, and those in `by`."""
    table = open_table(people)
    columns = list(dict.fromkeys([*release.group_columns, *by]))
    require(table, columns)
    rows = table.arrow(columns)
    # The attacker does not know values, even if the table has them: a placeholder stands there.
    rows = rows.append_column(release.sensitive, [["?"] * len(rows)])
    other_columns = [name for name in by if name not in release.group_columns]
    groups = release.group_columns
    schema = Schema(quasi_identifiers=groups, sensitive=release.sensitive, other=other_columns)
    return Microdata(rows, schema)


def placed(release: Release, people: Microdata) -> IntArray:
    """The position in the counts of each person's group: the one whose labels cover their values.

    Raises an error if somebody fits no group, or several. A point is a combination of values in the
    group columns, so that equal people are placed at once.
    """
    labels: Any = release.counts.groups
    attribute_names = [attribute.name for attribute in people.attributes]
    for name in release.group_columns:
        if name not in attribute_names:
            raise UnsupportedError(
                f"{people.name}: {name!r} makes the groups of the release, and is no "
                "quasi-identifier of the people, so who is in which group is not known; leave "
                "people out, or make it one"
            )
    # For each group column: which codes each distinct label covers, and the number of each group's
    # label; and the code of each person.
    covers, codes = [], []
    for position, name in enumerate(release.group_columns):
        texts = []
        for label in labels:
            texts.append(label[position] if isinstance(label, tuple) else label)
        attribute, inside_of = covered(people, name, dict.fromkeys(texts))
        number_of_text = {text: number for number, text in enumerate(inside_of)}
        inside = np.stack(list(inside_of.values()))  # by distinct text and code
        covers.append((inside, np.array([number_of_text[text] for text in texts])))
        codes.append(attribute.codes.astype(np.int64))
    domain_sizes = [inside.shape[1] for inside, _ in covers]
    point_of_person, first_people = combine(codes, domain_sizes)
    n_points = len(first_people)
    group_of_point = np.full(n_points, -1, dtype=np.int64)
    n_fitting = np.zeros(n_points, dtype=np.int64)  # how many groups each point is in
    # Some groups at a time, so that a table of groups by points fits into memory.
    step = max(_AT_ONCE // n_points, 1)
    for start in range(0, len(labels), step):
        fits = np.ones((len(labels[start : start + step]), n_points), dtype=bool)
        for (inside, text_numbers), column_codes in zip(covers, codes, strict=True):
            # A point fits a group if each of its labels covers the point's value.
            fits &= inside[text_numbers[start : start + step]][:, column_codes[first_people]]
        n_fitting += fits.sum(axis=0)
        group, point = np.nonzero(fits)
        group_of_point[point] = group + start
    if (n_fitting != 1).any():
        wrong = int(np.argmax(n_fitting != 1))
        raise _placing_error(release, people, int(first_people[wrong]), int(n_fitting[wrong]))
    return np.asarray(group_of_point[point_of_person])


def _placing_error(
    release: Release, people: Microdata, person: int, n_fitting: int
) -> UnsupportedError | DataError:
    """The error of a person who fits no group, or several."""
    values = []
    for attribute in people.attributes:
        if attribute.name in release.group_columns:
            values.append(f"{attribute.name} {attribute.domain[int(attribute.codes[person])]}")
    where = ", ".join(values)
    if n_fitting > 1:
        return UnsupportedError(
            f"{people.name}: somebody with {where} fits several groups of the release, so who "
            "is in which is not known from their columns; give what fk.publish returned, or a "
            "bucketized release"
        )
    return DataError(f"{people.name}: nobody of the release can be somebody with {where}")


def covered(
    people: Microdata, name: str, labels: Collection[Any]
) -> tuple[Attribute, dict[Any, NDArray[np.bool_]]]:
    """The attribute by which a column's labels can be read, and which codes each covers.

    Codes are a mask over the attribute's domain. Raises `UnsupportedError` for a label that stands
    for unknown values.
    """
    # Labels may be of exact values, or of values in the cells of a grid.
    for table in (people, people.rounded()):
        (attribute,) = (candidate for candidate in table.attributes if candidate.name == name)
        wording = wording_of(attribute, style_of(attribute, None))
        meanings = wording.read_all(labels, people.times)
        if meanings is not None:
            return attribute, {label: wording.inside(codes) for label, codes in meanings.items()}
    texts = {label: None if label is None else str(label) for label in labels}
    unread = next(label for label, text in texts.items() if wording.read(text) is None)
    raise UnsupportedError(
        f"{people.name}: which values of {name!r} the label {unread!r} stands for is not known; "
        "give the policy that says so (--policy), or in Python fk.Microdata(table, schema)"
    )


class Possible:
    """Counts of a release that say how many people of each group can have which values, by rules.

    People of whom labels do not show whether they can have a value are not counted as able to: if
    fewer people can have it, an adversary is never less sure.
    """

    def __init__(self, release: Release, schema: Schema) -> None:
        self._release, self._schema = release, schema
        self._counted: dict[Any, GroupCounts] = {}

    def counts(self, sensitive: str | None, asked_columns: Sequence[str] | None) -> GroupCounts:
        """The counts of a sensitive column in groups that known columns divide; see the class.

        `sensitive` None: the first column. `asked_columns` are known of everybody; None: all beside
        it.
        """
        key = sensitive, None if asked_columns is None else tuple(asked_columns)
        if key not in self._counted:
            release, schema = self._release, self._schema
            shown_release = release.seen(sensitive, asked_columns).by_policy
            seen_columns = release.layout.seen(sensitive, asked_columns)
            ruled = {rule.sensitive for rule in schema.impossible}
            ruled_columns = release.layout.ruled_beside(
                seen_columns.secret, seen_columns.known, ruled
            )
            counts = shown_release.counts
            # A rule on a column in the secret's row bears on the secret, too: follow both jointly.
            joint: _RuledColumns | None = None
            if ruled_columns:
                joint = _count_jointly(release, counts, seen_columns, ruled_columns)
            if ruled_columns or seen_columns.secret in ruled:
                counts = _with_possible_members(release, shown_release, schema, joint)
            self._counted[key] = counts
        return self._counted[key]


class _RuledColumns(NamedTuple):
    """Columns beside a secret that rules are about, to be followed jointly with it."""

    cells: JointCells  # people by group and by their values in the secret and these columns
    labels: dict[str, Labels]  # the values of each of these columns


def _count_jointly(
    release: Release, counts: GroupCounts, seen_columns: Seen, ruled_columns: Sequence[str]
) -> _RuledColumns:
    """Count people by a secret and by the columns with rules beside it, in the groups of `counts`.

    `counts` are those of the secret, as an adversary counts it who knows `seen_columns.known`.
    """
    # Look at the release as if the columns with rules were known, too: the groups are then finer,
    # and have one value of each column.
    all_known = release.layout.seen(
        seen_columns.secret, [*seen_columns.known, *ruled_columns]
    ).known
    finer_counts = release.seen(seen_columns.secret, all_known).by_policy.counts
    if finer_counts.n_people != counts.n_people:
        raise DataError(
            f"{release.name}: some rows show no value of {ruled_columns[0]!r}, and a rule on it "
            f"(impossible) bears on {seen_columns.secret!r} in the same row: fill it, leave these "
            f"rows out, or add {ruled_columns[0]!r} to knowing"
        )
    position_of_label = {
        _label_texts(label): position for position, label in enumerate(counts.groups or ())
    }
    # For each finer group, the group of `counts` that it is a part of, and its ruled values.
    groups: list[int] = []
    texts: dict[str, list[str | None]] = {name: [] for name in ruled_columns}
    for finer_label in map(_label_texts, finer_counts.groups or ()):
        # A label has first the parts by which the release's groups are labelled.
        n_parts = len(finer_label) - len(all_known)
        text_of = dict(zip(all_known, finer_label[n_parts:], strict=True))
        known_texts = [text_of[name] for name in seen_columns.known]
        groups.append(position_of_label[(*finer_label[:n_parts], *known_texts)])
        for name in ruled_columns:
            texts[name].append(text_of[name])
    group_of_cell = np.array(groups, dtype=np.int64)[finer_counts.cell_groups]
    labels_of, codes_beside = {}, {}
    for name, column_texts in texts.items():
        labels_of[name] = labels = Labels(in_order({*column_texts} - {None}))
        # A missing value has the code after the last: it is one that anybody may have.
        codes = [labels.codes.get(text, len(labels)) for text in column_texts]
        codes_beside[name] = np.array(codes, dtype=np.int64)[finer_counts.cell_groups]
    # Codes of values differ between the two counts: use those of `counts`.
    new_code = np.array([counts.values.codes[value] for value in finer_counts.values], np.int64)
    values = new_code[finer_counts.codes]
    return _RuledColumns(
        JointCells(group_of_cell, values, codes_beside, finer_counts.counts), labels_of
    )


def _with_possible_members(
    release: Release, shown_release: Any, schema: Schema, ruled_columns: _RuledColumns | None
) -> GroupCounts:
    """The counts of a secret, with how many people of each group can have each value.

    Parameters
    ----------
    release : Release
    shown_release : Release
        The same, seen for one sensitive column by an adversary who knows some others.
    schema : Schema
        Its rules say who cannot have which values. They are applied to what the release shows of
        everybody beside the secret.
    ruled_columns : _RuledColumns or None
        The other sensitive columns beside the secret that rules are about.
    """
    counts: GroupCounts = shown_release.counts
    shown_columns = {*shown_release.people_columns, *shown_release.group_columns}
    shown_columns -= {shown_release.sensitive, *release.unlinked}
    conditions = [name for name in schema.conditions if name in shown_columns]
    if not conditions:
        # The columns of conditions are not shown, so all people of a group are alike for the rules.
        return _restricted(
            counts,
            release.name,
            shown_release.sensitive,
            schema,
            groups=np.arange(counts.n_groups),
            times=counts.sizes,
            rule_classes=classify_by_rules(schema.impossible, {}, counts.n_groups),
            ruled_columns=ruled_columns,
        )
    # A signature is a combination of values in the columns of conditions: look at each once.
    signatures = shown_release.signatures(conditions)
    n_signatures = len(signatures.labels)
    texts_of = dict(zip(conditions, zip(*signatures.labels, strict=True), strict=True))
    for name, texts in texts_of.items():
        _check_rules(release, schema, name, texts)
    encoded = {name: (np.arange(n_signatures), texts) for name, texts in texts_of.items()}
    rule_classes = classify_by_rules(schema.impossible, encoded, n_signatures, schema.hierarchies)
    return _restricted(
        counts,
        release.name,
        shown_release.sensitive,
        schema,
        groups=np.repeat(np.arange(counts.n_groups), np.diff(signatures.offsets)),
        times=signatures.people,
        # From the class of each signature to that of each signature in a group.
        rule_classes=replace(rule_classes, codes=rule_classes.codes[signatures.codes]),
        ruled_columns=ruled_columns,
    )


def _check_rules(release: Release, schema: Schema, name: str, texts: Sequence[str | None]) -> None:
    """Refuse rules of which nobody meets the condition on a column; `texts` are its labels.

    Rules of the schema by which the release was made were met in the raw table.
    """
    hierarchy = schema.hierarchies.get(name)
    if release.raw is not None:
        refuse_unfit(schema.impossible, name, texts, hierarchy)
        return
    rules_of_maker = (release.schema or PLAIN).impossible
    rules = [rule for rule in schema.impossible if rule not in rules_of_maker]
    refuse_unmet(rules, name, texts, hierarchy)


def _restricted(
    counts: GroupCounts,
    release_name: str,
    column: str,
    schema: Schema,
    *,
    groups: IntArray,
    times: IntArray,
    rule_classes: RuleClasses,
    ruled_columns: _RuledColumns | None,
) -> GroupCounts:
    """Counts of a column, with how many people of each group can have each value.

    Raises `DataError` if more people have a value than can have it.

    Parameters
    ----------
    groups, times : integer arrays, shape (entries,)
        Of each entry of people, its group and how many people it is.
    rule_classes : RuleClasses
        For each entry, the class of people to whom the same rules apply.
    ruled_columns : _RuledColumns or None
        The columns with rules that must be followed jointly with this one.
    """
    labels_beside = {} if ruled_columns is None else ruled_columns.labels
    excluded = excluded_values(schema.impossible, {column: counts.values, **labels_beside})
    for name in labels_beside:  # the last value is a missing one, which no rule excludes
        excluded[name] = np.pad(excluded[name], ((0, 0), (0, 1)))
    classes = Classes(
        codes=rule_classes.codes,
        perhaps=rule_classes.perhaps,
        surely=rule_classes.surely,
        excluded=excluded,
    )
    possible = classes.possible_members(
        column,
        group_of_row=groups,
        codes=np.arange(len(rule_classes.codes)),
        times=times,
        n_groups=counts.n_groups,
        joint_cells=None if ruled_columns is None else ruled_columns.cells,
    )
    # A value that more people have than can have it contradicts the rules.
    overfull_cells = possible.overfull(counts.cell_groups, counts.codes, counts.counts)
    if len(overfull_cells):
        cell = int(overfull_cells[0])
        group, value = int(counts.cell_groups[cell]), counts.values[int(counts.codes[cell])]
        raise DataError(
            f"{release_name}: group {counts.group_label(group)!r} has {str(value)!r}, and too few "
            "people who can have it (impossible); correct the rule or the release"
        )
    return replace(counts, possible=possible)
