"""Sets of sensitive values that are one secret: named, or labels of the column's hierarchy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.engines.households import ELSEWHERE
from foreknow.data.hierarchy import Hierarchy
from foreknow.data.labels import Labels, chosen, is_pattern, matching, name_of_set
from foreknow.data.windows import Range
from foreknow.errors import HierarchyError, did_you_mean
from foreknow_judge.errors import PolicyError, UnsupportedError
from foreknow_judge.json_values import plain

if TYPE_CHECKING:
    from foreknow.policy.requirement import Requirement


def sets_of(required: Requirement, values: Labels) -> dict[str, tuple[str, ...]]:
    """The sets of a requirement: for each name, the values of a table that belong to it.

    A set of which nobody has a value is empty.
    """
    requirement_name, printed = required.name, list(dict.fromkeys(map(str, values)))
    any_of: Any = required.any_of
    sets: dict[str, tuple[str, ...]]
    if isinstance(any_of, tuple):
        sets = {name_of_set(any_of, ()): _members(any_of, printed)}
    elif isinstance(any_of, Mapping):
        sets = {
            name: _own_members(required, name, setting, printed) for name, setting in any_of.items()
        }
    elif any_of is not None:
        sets = {any_of: _members(_below(required, any_of, values, printed), printed)}
    else:
        sets = _at_level(required, values)
    if isinstance(any_of, (tuple, Mapping)):
        _refuse_labels(required, any_of, values, printed)
    for name, members in sets.items():
        if set(members) == set(printed):
            if required.at_level is not None:
                raise PolicyError(
                    f"{requirement_name}: at_level = {required.at_level}: every sensitive value "
                    "of the table "
                    f"is {name!r} there; choose a lower level, or except = [{name!r}]"
                )
            what = "any_of names"
            if isinstance(any_of, str) or (
                isinstance(any_of, Mapping) and isinstance(any_of[name], Range)
            ):
                what = f"any_of = {name!r} is"
            raise PolicyError(
                f"{requirement_name}: {what} every sensitive value of the table, so everybody has "
                "one of these; leave out what need not stay hidden"
            )
    if required.criterion is not None:
        all_members = [*chain(*sets.values())]
        twice = next((x for i, x in enumerate(all_members) if x in all_members[:i]), None)
        if twice is not None:
            raise PolicyError(
                f"{requirement_name}: {twice!r} is in two sets, and is counted only once"
            )
    return sets


def _members(texts: Iterable[str], printed: Sequence[str]) -> tuple[str, ...]:
    """The distinct values of a table that the texts of a policy name."""
    present, members = set(printed), dict[str, None]()
    for text in texts:
        if is_pattern(text):
            members.update(dict.fromkeys(matching(text, printed)))
        elif text in present:
            members[text] = None
    return tuple(members)


def _own_members(
    required: Requirement, name: str, setting: tuple[str, ...] | Range, printed: Sequence[str]
) -> tuple[str, ...]:
    if not isinstance(setting, Range):
        return _members(setting, printed)
    try:
        return tuple(value for value in printed if setting.holds(value))
    except UnsupportedError as error:
        raise UnsupportedError(f"{required.name}: any_of.{name}: {error}") from None


def _refuse_labels(
    required: Requirement, any_of: Any, values: Labels, printed: Sequence[str]
) -> None:
    """Refuse a hierarchy label in a list of values: it was meant for the values below it."""
    texts_of_sets, present = {"": any_of} if isinstance(any_of, tuple) else any_of, set(printed)
    lists = [(name, texts) for name, texts in texts_of_sets.items() if not isinstance(texts, Range)]
    lacking = [(name, text) for name, texts in lists for text in texts if text not in present]
    labels = _labels(required, values) if lacking else set()
    for name, text in lacking:
        if text in labels:
            key = f"any_of.{name}" if name else "any_of"
            raise PolicyError(
                f"{required.name}: {key}: nobody in the table has the sensitive value "
                f'{text!r}; it is a label of the hierarchy: any_of = "{text}"'
            )


def refuse_unheld(
    required: Requirement, adversary: Any, name: str, members: Collection[str]
) -> None:
    """Refuse binary priors of a set if a value that nobody in the table has is likely.

    With binary priors the set is one value, whose prior is the sum over all its values.
    """
    if not members or getattr(adversary, "semantics", "joint") != "binary":
        return
    for table in adversary.tables:
        values = Labels(table.values)
        try:
            set_values = sets_of(required, values).get(name, ())
        except PolicyError:  # the set is all values with a prior
            set_values = tuple(map(str, table.values))
        for value in sorted({*set_values} - {*members}):
            place = [str(label) for label in table.values].index(value)
            if any(row[place] for row in table.chances.values()):
                raise PolicyError(
                    f"{required.name}: any_of: nobody has {value!r}, which is likely by the "
                    "priors, and binary priors count the set as one value: leave it out of "
                    'any_of, or say semantics = "joint" in priors'
                )


class TargetValues(NamedTuple):
    """Which values of a table a requirement is about, and how they are counted."""

    about: BoolArray  # of the values of the table
    labels: Labels  # the values as they are counted
    sets: Mapping[str, tuple[str, ...]] = {}  # values that are one secret, by its name
    # the place of each value in `labels`, which has the other values, then sets; None without sets
    places: IntArray | None = None


def meant(required: Requirement, values: Labels) -> TargetValues:
    """Which values of a table a requirement is about."""
    if not required.about_sets:
        return TargetValues(chosen(values, required.values, required.excluded), values)
    sets, codes = sets_of(required, values), dict[str, list[int]]()
    for code, value in enumerate(values):
        codes.setdefault(str(value), []).append(code)
    is_about = np.zeros(len(values), dtype=bool)
    of_set = {name: [*chain(*map(codes.__getitem__, sets[name]))] for name in sets}
    is_about[[*chain(*of_set.values())]] = True
    other_values = [value for value, is_one in zip(values, is_about, strict=True) if not is_one]
    places, names = np.cumsum(~is_about) - 1, list[str]()
    for name, codes_of_set in of_set.items():
        places[codes_of_set] = len(other_values) + len(names)
        names.append(name_of_set([name], [*map(str, other_values), *names]))
    return TargetValues(is_about, Labels([*other_values, *names]), sets, places)


def written(required: Requirement, values: Labels | None) -> dict[str, Any]:
    """The keys of a policy file for the sets of a requirement; with `values`, written out."""
    any_of: Any = required.any_of
    if values is not None and not isinstance(any_of, (tuple, Mapping)):
        any_of = required.sets(values)
    return {"at_level": required.at_level} if any_of is None else {"any_of": plain(any_of)}


def _levels(required: Requirement, values: Labels, key: str) -> list[dict[str, list[str]]]:
    """For each level from 1, without the top, the values of a table below each label."""
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
        return _levels_of(required.hierarchy, values)
    except HierarchyError as error:
        raise PolicyError(f"{required.name}: {str(error).partition(': ')[2]}") from None


def _levels_of(hierarchy: Hierarchy, values: Labels) -> list[dict[str, list[str]]]:
    laid, levels = hierarchy.levels(values, "", None), []
    for nodes, labels in zip(laid.ancestors[:-1], laid.labels[:-1], strict=True):
        level: dict[str, list[str]] = {}
        for leaf, node in zip(laid.order.tolist(), nodes.tolist(), strict=True):
            members = level.setdefault(labels[node], [])
            if str(values[leaf]) not in members:
                members.append(str(values[leaf]))
        levels.append(level)
    return levels


def _labels(required: Requirement, values: Labels) -> set[str]:
    """All labels above the values of a table; empty without a hierarchy that has all values."""
    if required.hierarchy is None:
        return set()
    try:
        return {*chain(*_levels(required, values, "any_of"))}
    except PolicyError:
        return set()


def _below(
    required: Requirement, label: str, values: Labels, printed: Sequence[str]
) -> tuple[str, ...]:
    """The values below a label, at whichever levels it occurs."""
    levels = _levels(required, values, f"any_of = {label!r}")
    members = [*chain(*(level.get(label, ()) for level in levels))]
    if not members and label not in printed and label in _listed(required):
        return ()  # nobody in this table has a value below it
    if not members:
        labels = list(dict.fromkeys(chain(*levels)))
        hint = did_you_mean(label, labels)
        if label in printed:
            hint = f'; it is a value: any_of = ["{label}"]'
        raise PolicyError(
            f"{required.name}: any_of: the hierarchy has no label {label!r} above any value of the "
            f"table{hint}"
        )
    return tuple(dict.fromkeys(members))


def _listed(required: Requirement) -> set[str]:
    """All labels above the values that a hierarchy lists, even if nobody has them."""
    rows = getattr(required.hierarchy, "rows", ())
    return {*chain(*(row[1:] for row in rows))}


def labelled(hierarchy: Hierarchy, values: Labels) -> dict[str, tuple[str, ...]]:
    """The values below each label of a hierarchy, except labels that are values.

    >>> from foreknow.data.hierarchy import Tree
    >>> tree = Tree([["B20", "HIV", "*"], ["Z21", "HIV", "*"], ["flu", "flu", "*"]])
    >>> labelled(tree, Labels(["B20", "Z21", "flu"]))
    {'HIV': ('B20', 'Z21')}
    """
    members_of: dict[str, dict[str, None]] = {}
    for level in _levels_of(hierarchy, values):
        for label, members in level.items():
            members_of.setdefault(label, {}).update(dict.fromkeys(members))
    printed = set(map(str, values))
    return {label: tuple(members) for label, members in members_of.items() if label not in printed}


def _at_level(required: Requirement, values: Labels) -> dict[str, tuple[str, ...]]:
    """The sets of a level of the hierarchy, without excluded labels."""
    level: Any = required.at_level
    levels = _levels(required, values, "at_level")
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
    sets = levels[level - 1]
    for label in required.excluded:
        if label not in sets and label not in _listed(required):
            raise PolicyError(
                f"{required.name}: except: level {level} of the hierarchy has no label "
                f"{label!r} above any value of the table{did_you_mean(str(label), sets)}"
            )
    remaining_sets = {
        name: tuple(members) for name, members in sets.items() if name not in required.excluded
    }
    if not remaining_sets:
        raise PolicyError(f"{required.name}: except names every label of level {level}")
    return remaining_sets
