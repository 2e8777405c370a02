"""Targets: how the values of a secret are named in a policy, written in files, and counted.

Each value is a secret by itself; or a set of values is one, which is named, or a label of the
column's hierarchy; or numbers that are near each other are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.release_counts import counts_of
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.columns.hierarchy import Hierarchy
from foreknow.data.columns.spellings import Spellings
from foreknow.data.counts import GroupCounts, Semantics, refuse_sets
from foreknow.data.labels.labels import Label, Labels, chosen, is_pattern, matching, name_of_set
from foreknow.data.labels.ranges import Range
from foreknow.data.labels.windows import Windows
from foreknow.data.people.households import ELSEWHERE
from foreknow.errors import HierarchyError, did_you_mean, refuse_first
from foreknow_judge.errors import InputError, PolicyError, UnsupportedError
from foreknow_judge.files.json_values import plain
from foreknow_judge.policy.grammar import Secret

if TYPE_CHECKING:
    from foreknow.data.schema import Schema
    from foreknow.policy.requirement import Point, Requirement
    from foreknow.policy.requirement_counts import RequirementCounts


# Where the sum over a person's cases proves nothing, and what to do.
NO_SUM = (
    "where rows are cases and people are counted: the sum over a person's cases is no limit of "
    "that kind; leave person out of the schema, and limits are about cases"
)


class TargetValues(NamedTuple):
    """The values of a table that a requirement is about, and how they are counted."""

    about: BoolArray  # of the values of the table
    labels: Labels  # the values as they are counted
    sets: Mapping[str, tuple[str, ...]] = {}  # values that are one secret, by its name
    # the place of each value in `labels`, which has the other values, then sets; None without sets
    places: IntArray | None = None


class EachValue:
    """Each value is a secret by itself."""

    singly: ClassVar[bool] = True  # whether each value is a secret by itself
    as_one: ClassVar[bool] = False  # whether the values of a set are one secret
    near: ClassVar[bool] = False  # whether the numbers of a window are one secret
    names_sets: ClassVar[bool] = False  # whether sets have names, which stand for values

    def __init__(self, required: Requirement) -> None:
        self.required = required

    # ---- in a policy ------------------------------------------------------------------------

    @property
    def texts(self) -> Iterable[Sequence[Any]]:
        """The lists of values that it names."""
        return self.required.values or (), self.required.excluded

    @property
    def words(self) -> str:
        """The secret, in words."""
        return "every value"

    def words_of(self, value: Any) -> str:
        """One of its secrets, in words."""
        return repr(str(value))

    def written(self) -> dict[str, Any]:
        """The keys of a policy file that differ from the settings as they were given."""
        return {}

    def written_out(self, values: Labels) -> dict[str, Any]:
        """The same with labels as sets of the values of a table."""
        return self.written()

    def narrower(self, factor: int) -> Requirement | None:
        """The same requirement about windows of a part of the width, where it is about windows."""
        return None

    def sets(self, values: Labels) -> dict[str, tuple[str, ...]]:
        """For each name of a set, the values of a table that belong to it."""
        return {}

    def secret_for_judge(self, values: Labels) -> Secret:
        """The secret as the judge takes it, of the values of a table."""
        return Secret(*self.required.secret[:4])

    def meant(self, values: Labels) -> TargetValues:
        """The values of a table that it is about."""
        required = self.required
        return TargetValues(chosen(values, required.values, required.excluded), values)

    def check_schema(self, schema: Schema) -> None:
        """Refuse a schema by whose rows its values cannot be counted so."""

    @property
    def searched_exactly(self) -> bool:
        """True if a search in which merging cannot hurt never refuses groups that hold."""
        return True

    @property
    def counted_by_rows(self) -> bool:
        """True if its adversaries are counted by whole rows, and so heed rules on other columns."""
        adversaries = [point.adversary for point in self.required.points]
        return bool(adversaries) and all(getattr(kind, "of_rows", False) for kind in adversaries)

    @property
    def exempt(self) -> tuple[str, ...]:
        """The marker of rows that do not show a household's value, where all values are meant."""
        return (ELSEWHERE,) if self.required.values is None else ()

    def is_idle(self, texts: Collection[str], absent: Collection[str]) -> bool:
        """True if a list of it is a set of several values, and nobody has any (`absent`)."""
        return False

    @property
    def together(self) -> Iterable[Sequence[Any]]:
        """The lists of values that are one secret."""
        return ()

    @property
    def whole(self) -> Any:
        """Its secret, equal for the same sets or windows; None if each value is one."""
        return None

    # ---- in counts --------------------------------------------------------------------------

    def check(self, semantics: Semantics) -> None:
        """Refuse semantics under which its values cannot be counted so."""

    def as_counted(self, secret: RequirementCounts, groups: Any) -> Any:
        """The groups as they are counted."""
        return groups

    def asked(self, secret: RequirementCounts) -> BoolArray | Windows:
        """A mask of the counted values that it is about."""
        is_asked: BoolArray = secret.meant.about
        return is_asked

    def named(self, secret: RequirementCounts) -> tuple[Label, ...]:
        """The values that it is about, or the names of its sets."""
        return tuple(compress(secret.labels, cast("BoolArray", self.asked(secret))))

    def about_one(self, secret: RequirementCounts, value: str) -> RequirementCounts:
        """The secret of one value alone, or of one set by its name."""
        if is_pattern(value):
            raise InputError(f"{value!r} stands for every value that begins so; choose another")
        return replace(secret, requirement=replace(self.required, values=[value], excluded=()))

    def secrets(self, secret: RequirementCounts) -> Iterable[RequirementCounts]:
        """One for each set that is a secret."""
        return (secret,)

    def worst(self, secret: RequirementCounts, point: Point, cached: Any) -> Iterable[Disclosure]:
        """The worst disclosure of each value that it is about."""
        worst_of_each = secret.of_values(point, cached)
        pairs = zip(worst_of_each, secret.meant.about.tolist(), strict=True)
        return [worst for worst, is_meant in pairs if is_meant]

    def limits(self, secret: RequirementCounts) -> bool:
        """True if somebody with a value that the requirement is about could be over a limit.

        If not, the requirement forbids nothing for this table.
        """
        counts = counts_of(secret.seen)
        present_codes = np.flatnonzero(secret.meant.about & (counts.totals > 0)).tolist()
        present = {str(counts.values[code]) for code in present_codes}
        # Each secret is a set of values, or a single value; those that nobody has are left out.
        sets = secret.meant.sets.values() or [[value] for value in present]
        present_sets = [sorted(present.intersection(members)) for members in sets]
        present_sets = [*filter(None, present_sets)]
        points = secret.requirement.points
        return bool(present_sets) and any(
            point.limits(secret.seen, present_sets) for point in points
        )

    def tells_people(self) -> bool:
        """True if it is counted how many people are over a limit."""
        return True

    def of_value(self, secret: RequirementCounts, value: Any, counts: GroupCounts) -> GroupCounts:
        """The counts for the secret of a disclosure."""
        return counts


class _Whole(EachValue):
    """Several values are one secret."""

    singly = False

    @property
    def whole(self) -> Any:
        """Its secret, equal for the same sets or windows, in whichever order values are named."""
        secret = self.required.secret
        unnamed = frozenset(secret.sets.get("", ()))
        return secret._replace(sets={**secret.sets, "": unnamed})


class NearValues(_Whole):
    """Numbers, or dates, that are near each other are a secret, in any window."""

    near = True

    @property
    def words(self) -> str:
        """The secret, in words."""
        return f"values within {self.required.width}"

    def words_of(self, value: Any) -> str:
        """One of its secrets, in words."""
        return f"values {value}"

    def written(self) -> dict[str, Any]:
        """The width, as it was given."""
        return {"within": self.required.within.given}

    def narrower(self, factor: int) -> Requirement | None:
        """The same requirement about windows of a part of the width, where there are such."""
        part = self.required.within.part(factor)
        return replace(self.required, within=part) if part else None

    def check_schema(self, schema: Schema) -> None:
        """Refuse a schema for which values near each other cannot be judged.

        These are cases of people, values of households, and rules on who cannot have which values.
        """
        column = self.required.sensitive or schema.sensitive
        unsupported = {
            f"within is unsupported {NO_SUM}": schema.case_persons,
            "within is unsupported where the schema says what some people cannot have "
            "(impossible); leave one of them out": schema.rules_about(column),
            f"within is unsupported of {column!r}, which is shown once for each household; give "
            "ranges as secrets by any_of": column in schema.shared_values,
        }
        refuse_first(self.required.name, unsupported)

    @property
    def counted_by_rows(self) -> bool:
        """False: windows are counted in one column."""
        return False

    @property
    def searched_exactly(self) -> bool:
        """False where target and linked people are assumed to have values near each other."""
        reaches = [kind.speaks for kind in self.required.judged]
        return not any(reach is None or reach.groups for reach in reaches)

    def as_counted(self, secret: RequirementCounts, groups: Any) -> Windows:
        """The groups with their windows."""
        try:
            return Windows.of(counts_of(groups), self.required.within)
        except InputError as error:
            raise PolicyError(f"{self.required.name}: {error}") from None

    def asked(self, secret: RequirementCounts) -> Windows:
        """The windows."""
        return cast("Windows", secret.counts_by_policy)

    def named(self, secret: RequirementCounts) -> tuple[Label, ...]:
        """None: windows have no names."""
        return ()

    def worst(self, secret: RequirementCounts, point: Point, cached: Any) -> Iterable[Disclosure]:
        """The worst window."""
        return secret.of_values(point, cached)

    def limits(self, secret: RequirementCounts) -> bool:
        """True: a window has somebody."""
        return True

    def tells_people(self) -> bool:
        """False: people are not counted for windows."""
        return False

    def of_value(self, secret: RequirementCounts, value: Any, counts: GroupCounts) -> GroupCounts:
        """The counts with the values of a window as one."""
        return self.as_counted(secret, counts).merged(value)


class SetsOfValues(_Whole):
    """The values of a set are one secret: sets that a policy lists."""

    as_one = True

    def __init__(self, required: Requirement) -> None:
        super().__init__(required)
        self._parts = {
            name: _PARTS.get(type(setting), _Listed)(setting)
            for name, setting in required.secret.sets.items()
        }

    @property
    def names_sets(self) -> bool:  # type: ignore[override]
        """True if its sets have names."""
        return "" not in self._parts

    @property
    def texts(self) -> Iterable[Sequence[Any]]:
        """The lists of values that it names."""
        return (values_of_set.texts for values_of_set in self._parts.values())

    @property
    def exempt(self) -> tuple[str, ...]:
        """None: the marker is in no set."""
        return ()

    def is_idle(self, texts: Collection[str], absent: Collection[str]) -> bool:
        """True if a set has several values, and nobody has any."""
        return len(absent) == len(texts) > 1

    @property
    def together(self) -> Iterable[Sequence[Any]]:
        """The sets."""
        return self.texts

    @property
    def words(self) -> str:
        """The secret, in words."""
        sets = self.required.secret.sets
        return f"any of {', '.join(sets.get('', sets))}"

    def written(self) -> dict[str, Any]:
        """The sets, as they were given."""
        return {"any_of": plain(self.required.any_of), "at_level": None}

    def written_out(self, values: Labels) -> dict[str, Any]:
        """The sets, as they were given; nothing is exempt from them."""
        return {**self.written(), "except": None}

    def secret_for_judge(self, values: Labels) -> Secret:
        """The secret as the judge takes it; values that cannot be compared with it are refused."""
        self.sets(values)
        sets = {name: values_of_set.judged for name, values_of_set in self._parts.items()}
        return Secret(None, tuple(self.required.excluded), sets)

    def sets(self, values: Labels) -> dict[str, tuple[str, ...]]:
        """For each name, the values that belong to it; none for a set whose values nobody has.

        Raises
        ------
        PolicyError
            If a label or a value is unknown, or a set has every value of the table.
        """
        printed = list(dict.fromkeys(map(str, values)))
        sets = self._sets_among(values, printed)
        for name, members in sets.items():
            if set(members) == set(printed):
                raise PolicyError(f"{self.required.name}: {self._message_of_every_value(name)}")
        # A criterion counts each set as one value, so a value must not be in two of them.
        if self.required.criterion is not None:
            members_before = set[str]()
            for member in chain(*sets.values()):
                if member in members_before:
                    raise PolicyError(
                        f"{self.required.name}: {member!r} is in two sets, and is counted only once"
                    )
                members_before.add(member)
        return sets

    def _sets_among(self, values: Labels, printed: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The values of a table (`printed`, as texts) that belong to each set, by its name."""
        sets = {}
        for name, values_of_set in self._parts.items():
            try:
                sets[name or name_of_set(values_of_set.texts, ())] = values_of_set.among(printed)
            except UnsupportedError as error:
                raise UnsupportedError(f"{self.required.name}: any_of.{name}: {error}") from None
        self._refuse_labels(values, printed)
        return sets

    def _message_of_every_value(self, name: str) -> str:
        """A message that a set has all values, with a way out."""
        what = f"{self._sentence_start(name)} every sensitive value of the table"
        return f"{what}, so everybody has one of these; leave out what need not stay hidden"

    def _sentence_start(self, name: str) -> str:
        return self._parts[name].words(name) if name in self._parts else "any_of names"

    def _refuse_labels(self, values: Labels, printed: Sequence[str]) -> None:
        """Refuse a hierarchy label in a list of values: it was meant for the values below it.

        `printed` are the values of the table as texts.
        """
        # Texts that nobody has, each with the name of its set.
        present, lacking = {*printed}, list[tuple[str, str]]()
        for name, values_of_set in self._parts.items():
            lacking += [(name, text) for text in values_of_set.texts if text not in present]
        labels_above = _labels_above(self.required, values) if lacking else set()
        for name, text in lacking:
            if text in labels_above:
                key = f"any_of.{name}" if name else "any_of"
                raise PolicyError(
                    f"{self.required.name}: {key}: nobody in the table has the sensitive value "
                    f'{text!r}; it is a label of the hierarchy: any_of = "{text}"'
                )

    def meant(self, values: Labels) -> TargetValues:
        """The values of a table that the target is about; each set becomes one value.

        Values of no set keep their order, and the sets come after them.
        """
        sets = self.sets(values)
        codes_of_text: dict[str, list[int]] = {}  # values of other types may print alike
        for code, value in enumerate(values):
            codes_of_text.setdefault(str(value), []).append(code)
        codes_of_set: dict[str, list[int]] = {}
        is_about = np.zeros(len(values), dtype=bool)
        for name, members in sets.items():
            codes_of_set[name] = [code for text in members for code in codes_of_text[text]]
            is_about[codes_of_set[name]] = True
        other_values = [values[code] for code in np.flatnonzero(~is_about).tolist()]
        # Each value of no set is numbered by how many such values come before it.
        new_code, names = np.cumsum(~is_about) - 1, list[str]()
        for name, codes in codes_of_set.items():
            new_code[codes] = len(other_values) + len(names)
            names.append(name_of_set([name], [*map(str, other_values), *names]))
        labels = Labels([*other_values, *names])
        return TargetValues(about=is_about, labels=labels, sets=sets, places=new_code)

    def check(self, semantics: Semantics) -> None:
        """Refuse semantics under which its values cannot be counted so."""
        refuse_sets(semantics)

    def as_counted(self, secret: RequirementCounts, groups: Any) -> Any:
        """The groups with each set of values as one value."""
        new_codes = cast("IntArray", secret.meant.places)
        merged = counts_of(groups).recoded(new_codes, secret.meant.labels)
        look_alikes = getattr(groups, "alike", None)  # which a criterion of values may need, too
        return merged if look_alikes is None else _Merged(merged, look_alikes)

    def asked(self, secret: RequirementCounts) -> BoolArray:
        """The last values, which are the sets."""
        last = np.zeros(len(secret.labels), dtype=bool)
        last[-len(secret.meant.sets) :] = True
        return last

    def about_one(self, secret: RequirementCounts, value: str) -> RequirementCounts:
        """The secret of one set alone, by its name."""
        return secret.secret_called(value)

    def secrets(self, secret: RequirementCounts) -> Iterable[RequirementCounts]:
        """One for each set; a criterion counts all sets at once."""
        if self.required.criterion is not None:
            return (secret,)
        for point in self.required.points:
            for name, members in secret.meant.sets.items():
                refuse_unheld(self.required, point.adversary, name, members)
        return [secret.about_one_set(name, members) for name, members in secret.meant.sets.items()]

    def worst(self, secret: RequirementCounts, point: Point, cached: Any) -> Iterable[Disclosure]:
        """The worst disclosure of its only set."""
        if not secret.meant.about.any():  # nobody has a value of the set
            return [Disclosure(secret.labels[-1], 0.0, lambda: Fraction(0))]
        return [secret.of_set(point, secret.labels[-1])]

    def tells_people(self) -> bool:
        """True unless some adversary needs the values of its sets kept apart."""
        return not self.required.has_priors


class LabelOfHierarchy(SetsOfValues):
    """The values below a label of the hierarchy, at any level, are one secret."""

    names_sets: ClassVar[bool] = True

    @property
    def words(self) -> str:
        """The secret, in words."""
        return f"any of {self.required.any_of}"

    def written_out(self, values: Labels) -> dict[str, Any]:
        """Its label as a set of values."""
        return {"any_of": plain(self.sets(values)), "at_level": None, "except": None}

    def secret_for_judge(self, values: Labels) -> Secret:
        """The secret as the judge takes it, of the values of a table."""
        return Secret(None, tuple(self.required.excluded), self.sets(values))

    def _sets_among(self, values: Labels, printed: Sequence[str]) -> dict[str, tuple[str, ...]]:
        label = str(self.required.any_of)
        below = _values_below(self.required, label, values, printed)
        return {label: _Listed(below).among(printed)}

    def _sentence_start(self, name: str) -> str:
        return f"any_of = {name!r} is"


class LevelOfHierarchy(LabelOfHierarchy):
    """Each label at a level of the hierarchy, but excluded ones, is a secret."""

    @property
    def texts(self) -> Iterable[Sequence[Any]]:
        """No values: what is excluded are labels."""
        return ()

    @property
    def words(self) -> str:
        """The secret, in words."""
        return f"at_level = {self.required.at_level}"

    def written(self) -> dict[str, Any]:
        """The level."""
        return {"any_of": None, "at_level": self.required.at_level}

    def secret_for_judge(self, values: Labels) -> Secret:
        """The secret as the judge takes it, of the values of a table."""
        return Secret(None, (), self.sets(values))

    def _message_of_every_value(self, name: str) -> str:
        """A message that a label is above all values, with a way out."""
        return (
            f"at_level = {self.required.at_level}: every sensitive value of the table is {name!r} "
            f"there; choose a lower level, or except = [{name!r}]"
        )

    def _sets_among(self, values: Labels, printed: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return _sets_at_level(self.required, values)


class _Listed:
    """A set by a list of values and patterns."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = self.judged = tuple(texts)

    def among(self, printed: Sequence[str]) -> tuple[str, ...]:
        """The distinct values of a table that the set's texts and patterns name, in their order."""
        present, members = set(printed), dict[str, None]()
        for text in self.texts:
            if is_pattern(text):
                members.update(dict.fromkeys(matching(text, printed)))
            elif text in present:
                members[text] = None
        return tuple(members)

    def words(self, name: str) -> str:
        """The beginning of a sentence on its values."""
        return "any_of names"


class _Ranged:
    """A set by a range of numbers or dates."""

    texts: Sequence[str] = ()

    def __init__(self, setting: Range) -> None:
        self._range, self.judged = setting, setting.to_dict()

    def among(self, printed: Sequence[str]) -> tuple[str, ...]:
        """The values of a table that lie in the range."""
        return tuple(value for value in printed if self._range.holds(value))

    def words(self, name: str) -> str:
        """The beginning of a sentence on its values."""
        return f"any_of = {name!r} is"


# By the type of a set in a policy; lists of several types are one.
_PARTS: Mapping[type, Any] = {Range: _Ranged}


def _any_of(required: Requirement) -> EachValue:
    kind = LabelOfHierarchy if isinstance(required.any_of, str) else SetsOfValues
    return kind(required)


# By the key of a policy file; the first one that is given counts.
_KINDS = {"within": NearValues, "any_of": _any_of, "at_level": LevelOfHierarchy}


def target_of(required: Requirement) -> EachValue:
    """The target of a requirement: how the values of its secret are named and counted."""
    for key, kind in _KINDS.items():
        if getattr(required, key) is not None:
            return kind(required)
    return EachValue(required)


class _Merged(NamedTuple):
    """Counts in which each set of values is one value, and the people who look alike."""

    counts: GroupCounts
    alike: Any


def refuse_unheld(
    required: Requirement, adversary: Any, name: str, members: Collection[str]
) -> None:
    """Refuse binary priors of a set if a value that nobody in the table has is likely.

    `members` are the values of the set that somebody has. With binary priors the set is one value,
    whose prior is the sum over all its values: so it would count a value that nobody has.
    """
    tables_by_kind = {"binary": getattr(adversary, "tables", ())}
    tables = tables_by_kind.get(getattr(adversary, "semantics", "joint"), ())
    for table in tables if members else ():
        values = Labels(table.values)
        try:
            set_values = required.target.sets(values).get(name, ())
        except PolicyError:  # the set is all values with a prior
            set_values = tuple(map(str, table.values))
        for value in sorted({*set_values} - {*members}):
            position = [str(label) for label in table.values].index(value)
            if any(row[position] for row in table.chances.values()):  # somebody may have it
                raise PolicyError(
                    f"{required.name}: any_of: nobody has {value!r}, which is likely by the "
                    "priors, and binary priors count the set as one value: leave it out of "
                    'any_of, or say semantics = "joint" in priors'
                )


def _labels_by_level(required: Requirement, values: Labels, key: str) -> list[dict[str, list[str]]]:
    """For each level of the secret's hierarchy from 1, without the top: values below each label.

    `key` is what the policy says, for the message if there is no hierarchy.
    """
    if required.hierarchy is None:
        raise PolicyError(
            f"{required.name}: {key} is a label of a hierarchy of the sensitive column, and the "
            "schema has none for it ([schema.hierarchies]); values are a list: any_of = [...]"
            if key != "at_level"
            else f"{required.name}: at_level is of the hierarchy of the sensitive column, and the "
            "schema has none for it: add it to [schema.hierarchies]"
        )
    if required.shown is not None:  # where a household's value stands in another row
        values = Labels([value for value in values if value != ELSEWHERE])
    try:
        return _values_by_label_and_level(required.hierarchy, values)
    except HierarchyError as error:
        raise PolicyError(f"{required.name}: {str(error).partition(': ')[2]}") from None


def _values_by_label_and_level(hierarchy: Hierarchy, values: Labels) -> list[dict[str, list[str]]]:
    """For each level of a hierarchy but the last, the values below each label.

    The last level has one label for all values, and the first is the one above the values.
    """
    laid_out, levels = hierarchy.levels(values, "", None), []
    for nodes, labels in zip(laid_out.ancestors[:-1], laid_out.labels[:-1], strict=True):
        level: dict[str, list[str]] = {}
        # `nodes` has the node above each value, in the order in which the hierarchy lays them out.
        for leaf, node in zip(laid_out.order.tolist(), nodes.tolist(), strict=True):
            members = level.setdefault(labels[node], [])
            if str(values[leaf]) not in members:
                members.append(str(values[leaf]))
        levels.append(level)
    return levels


def _labels_above(required: Requirement, values: Labels) -> set[str]:
    """All labels above the values of a table; empty without a hierarchy that has all values."""
    if required.hierarchy is None:
        return set()
    try:
        return {*chain(*_labels_by_level(required, values, "any_of"))}
    except PolicyError:
        return set()


def _values_below(
    required: Requirement, label: str, values: Labels, printed: Sequence[str]
) -> tuple[str, ...]:
    """The values below a label of the hierarchy, at whichever levels it occurs.

    `values` are those of the table, and `printed` the same as texts. Empty if nobody has a value
    below the label; a label that the hierarchy lacks is refused.
    """
    labels_of_levels = _labels_by_level(required, values, f"any_of = {label!r}")
    for members_by_label in labels_of_levels:
        if label in members_by_label:
            _refuse_other_spelling(required, f"any_of = {label!r}", [label], members_by_label)
    members = [*chain(*(members_by_label.get(label, ()) for members_by_label in labels_of_levels))]
    if not members and label not in printed and label in _labels_of_rows(required):
        return ()  # nobody in this table has a value below it
    if not members:
        labels = list(dict.fromkeys(chain(*labels_of_levels)))
        hint = did_you_mean(label, labels)
        if label in printed:
            hint = f'; it is a value: any_of = ["{label}"]'
        raise PolicyError(
            f"{required.name}: any_of: the hierarchy has no label {label!r} above any value of the "
            f"table{hint}"
        )
    return tuple(dict.fromkeys(members))


def _refuse_other_spelling(
    required: Requirement, key: str, labels: Iterable[str], level: Iterable[str]
) -> None:
    """Refuse labels that a level of the hierarchy has in another spelling, too.

    If both were meant as one set, it would lack the values below the other label.
    """
    spellings = Spellings(level)
    for label in labels:
        if (other := spellings.written_otherwise(label)) is not None:
            raise PolicyError(
                f"{required.name}: {key}: a level of the hierarchy has the labels {label!r} and "
                f"{other!r}, which differ only in spelling; write them alike, or rename one"
            )


def _labels_of_rows(required: Requirement) -> set[str]:
    """All labels above the values that a hierarchy lists, even if nobody has them."""
    rows = getattr(required.hierarchy, "rows", ())
    return {*chain(*(row[1:] for row in rows))}


def values_by_label(hierarchy: Hierarchy, values: Labels) -> dict[str, tuple[str, ...]]:
    """The values below each label of a hierarchy, except labels that are values.

    >>> from foreknow.data.columns.hierarchy import Tree
    >>> tree = Tree([["B20", "HIV", "*"], ["Z21", "HIV", "*"], ["flu", "flu", "*"]])
    >>> values_by_label(tree, Labels(["B20", "Z21", "flu"]))
    {'HIV': ('B20', 'Z21')}
    """
    members_of: dict[str, dict[str, None]] = {}
    for level in _values_by_label_and_level(hierarchy, values):
        for label, members in level.items():
            members_of.setdefault(label, {}).update(dict.fromkeys(members))
    printed = set(map(str, values))
    return {label: tuple(members) for label, members in members_of.items() if label not in printed}


def _sets_at_level(required: Requirement, values: Labels) -> dict[str, tuple[str, ...]]:
    """The values below each label at the requirement's level of the hierarchy.

    Labels that the requirement excludes are left out.
    """
    level: Any = required.at_level
    levels = _labels_by_level(required, values, "at_level")  # the first is level 1
    if not levels:
        raise PolicyError(
            f"{required.name}: at_level: the hierarchy of the sensitive column has no levels "
            "between its values and all of them"
        )
    if not 1 <= level <= len(levels):
        first = ", ".join(repr(label) for label in list(levels[-1])[:3])
        raise PolicyError(
            f"{required.name}: at_level is {level}; the hierarchy of the sensitive column has "
            f"levels 1 to {len(levels)}, the last with labels such as {first}"
        )
    members_by_label = levels[level - 1]
    _refuse_other_spelling(required, "at_level", members_by_label, members_by_label)
    for label in required.excluded:
        if label not in members_by_label and label not in _labels_of_rows(required):
            raise PolicyError(
                f"{required.name}: except: level {level} of the hierarchy has no label "
                f"{label!r} above any value of the table"
                f"{did_you_mean(str(label), members_by_label)}"
            )
    remaining_sets = {}
    for name, members in members_by_label.items():
        if name not in required.excluded:
            remaining_sets[name] = tuple(members)
    if not remaining_sets:
        raise PolicyError(f"{required.name}: except names every label of level {level}")
    return remaining_sets
