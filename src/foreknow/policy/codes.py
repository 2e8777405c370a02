"""Codes: of a list that was revised, an old code and its successors are one secret.

``[schema.codes] map = "old_to_new.csv"`` adds sets of codes to the requirements of a policy. The
judge and a certificate have these sets, written out as ``any_of``, and nothing of the map.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

from foreknow.criteria.registry import CRITERIA
from foreknow.data.columns.spellings import Spellings
from foreknow.data.labels.labels import is_pattern, matching
from foreknow.toml import read_text
from foreknow_judge.errors import PolicyError

_MOST_BYTES = 16 << 20
_HEADER = ["old", "new"]
_SETS = "any_of"
# The lists of values that a requirement may have.
_LISTS = ("values", "except", "absent")


def with_codes(table: Any, folder: Path) -> Any:
    """The tables of a policy, in which old and new codes of the same value are one secret.

    The schema may have a map of old codes to new ones (`codes`): each class of codes that mean the
    same becomes a set, in a requirement of its own. `folder` is where the path of the map starts.
    Tables that are no policy are returned as they are; they are refused later.

    >>> codes = {"map": [["F32.1", "F32.10"], ["F32.1", "F32.11"]]}
    >>> schema = {"quasi_identifiers": ["age"], "sensitive": "ill", "codes": codes}
    >>> required = [{"facts": {"l": 1}, "below": 0.5}]
    >>> tables = with_codes({"schema": schema, "require": required}, Path())
    >>> tables["require"][1]["any_of"]
    {'F32.1 or F32.10 or F32.11': ['F32.1', 'F32.10', 'F32.11']}
    """
    schema = table.get("schema") if isinstance(table, Mapping) else None
    required = table.get("require") if isinstance(table, Mapping) else None
    if not isinstance(schema, Mapping) or "codes" not in schema or not isinstance(required, list):
        return table
    setting, sensitive = schema["codes"], schema.get("sensitive", ())
    # The map is used up here: a schema has no such key.
    new_schema = {key: part for key, part in schema.items() if key != "codes"}
    if not isinstance(sensitive, Collection) or not sensitive:
        return {**table, "schema": new_schema}  # which is refused as it is
    if not isinstance(setting, Mapping) or not {"map"} <= {*setting} <= {"map", "sensitive"}:
        raise PolicyError(
            'schema.codes: write [schema.codes] with map = "old_to_new.csv", and of several '
            'sensitive columns sensitive = "diagnosis"'
        )
    columns = [sensitive] if isinstance(sensitive, str) else [*sensitive]
    column = setting.get("sensitive", columns[0] if len(columns) == 1 else None)
    if column not in columns:
        raise PolicyError(
            f"schema.codes: say whose codes they are: sensitive = {' or '.join(map(repr, columns))}"
        )
    classes = classes_of(_old_and_new_codes(setting["map"], folder))
    # Who cannot have a code can have none of the codes that mean the same.
    rules = new_schema.get("impossible")
    if isinstance(rules, list):
        new_schema["impossible"] = [
            _rule_of_all_codes(rule, column, columns, classes) for rule in rules
        ]
    written: list[Any] = []
    added: list[Any] = []  # at the end, so that those of the policy keep their positions
    for position, requirement in enumerate(required):
        name = f"require[{position}]"
        first, *others = _with_other_codes(requirement, name, column, columns, classes)
        written.append(first)
        added += others
    return {**table, "schema": new_schema, "require": [*written, *added]}


def classes_of(pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The codes that are one value: an old code, its successors, their old codes, and so on.

    Sorted lists, in order of their first codes.

    >>> classes_of([("A", "A1"), ("A", "A2"), ("B", "B1"), ("C", "B1")])
    [['A', 'A1', 'A2'], ['B', 'B1', 'C']]
    """
    old_codes, new_codes = {old for old, _ in pairs}, {new for _, new in pairs}
    for code in sorted(old_codes & new_codes):
        raise PolicyError(
            f"schema.codes: {code!r} is an old code and a new one, so it is not clear which values "
            "are one: of a chain such as a, b and b, c write a, c and b, c; a code still in use, "
            "or that means something else now, needs another name in the table"
        )
    class_of: dict[str, set[str]] = {}  # for each code, the class that it is in so far
    for old, new in pairs:
        merged = class_of.get(old, {old}) | class_of.get(new, {new})
        class_of |= dict.fromkeys(merged, merged)
    distinct = {min(members): members for members in class_of.values()}  # each class once
    return [sorted(distinct[first]) for first in sorted(distinct)]


def _old_and_new_codes(source: Any, folder: Path) -> list[tuple[str, str]]:
    """The rows of a map of codes, as pairs of an old and a new code.

    `source` is the name of a CSV file in `folder`, or the rows as they stand in the policy.
    """
    name, rows = "schema.codes.map", source
    if isinstance(source, str):
        name = f"schema.codes: {source!r}"
        text = read_text(folder / source, _MOST_BYTES, PolicyError, name)
        # Without a byte order mark and empty lines; an empty file has an empty header.
        header, *rows = [
            row for row in csv.reader(StringIO(text.lstrip("\ufeff"))) if any(row)
        ] or [[]]
        if [cell.strip().lower() for cell in header] != _HEADER:
            raise PolicyError(f"{name}: the first line is old,new, with a comma between")
    if not isinstance(rows, list) or not rows:
        raise PolicyError(f"{name}: it has no rows of an old code and a new one")
    pairs = []
    for number, row in enumerate(rows, 1):
        is_pair = isinstance(row, (list, tuple)) and len(row) == len(_HEADER)
        if not is_pair or not all(isinstance(code, str) and code.strip() for code in row):
            raise PolicyError(f"{name}: row {number} is no pair of an old code and a new one")
        old, new = (code.strip() for code in row)
        if is_pattern(old) or is_pattern(new):
            raise PolicyError(f"{name}: row {number} has a *: write each code by itself")
        pairs.append((old, new))
    return pairs


def _with_other_codes(
    requirement: Any,
    name: str,
    column: str,
    columns: Sequence[str],
    classes: Sequence[Sequence[str]],
) -> Iterator[Any]:
    """Yield a requirement as it is, and one for which old and new codes are one secret.

    Parameters
    ----------
    requirement : mapping
        Its table in the policy; anything else is yielded as it is.
    name : str
        The requirement in messages.
    column, columns : str and sequence of str
        The sensitive column of the codes, and all sensitive columns.
    classes : sequence of sequences of str
        The codes that mean the same.
    """
    sensitive = requirement.get("sensitive", column) if isinstance(requirement, Mapping) else None
    if sensitive != column or (len(columns) > 1 and "sensitive" not in requirement):
        yield requirement
        return
    if any(CRITERIA[key].of_people for key in requirement if key in CRITERIA):
        yield requirement  # it is about people or labels, and not about values
        return
    if not all(isinstance(requirement.get(key, ()), Collection) for key in _LISTS):
        yield requirement  # which is refused as it is
        return
    _refuse_no_list(requirement, name, classes)
    sets = requirement.get(_SETS)
    if sets is not None:  # its sets are about several values already: add the other codes to them
        if isinstance(sets, Mapping):
            closed: Any = {
                key: _with_codes_of_classes(members, classes) for key, members in sets.items()
            }
        else:
            closed = _with_codes_of_classes(sets, classes)
        yield {**requirement, _SETS: closed}
        return
    yield requirement
    # The classes that it is about; all, if it is about every value.
    asked_classes = []
    for codes in classes:
        is_asked = "values" not in requirement or _names_any(requirement["values"], codes)
        if is_asked and not _names_all(requirement.get("except", ()), codes):
            asked_classes.append(codes)
    if not asked_classes:
        return
    table = {}
    for key, setting in requirement.items():
        if key not in ("values", "except"):
            table[key] = setting
    table["name"] = f"{table.get('name') or name} (old and new codes)"
    named_sets = {" or ".join(codes): [*codes] for codes in asked_classes}
    yield {**table, _SETS: named_sets}


def _refuse_no_list(
    requirement: Mapping[str, Any], name: str, classes: Sequence[Sequence[str]]
) -> None:
    """Raise `PolicyError` for a requirement whose values are not named in lists.

    Only to a list can the other codes of a value be added. `name` begins messages; `classes` are
    the codes that mean the same.
    """
    example = _toml_list(classes[0])
    for key in ("priors", "within", "at_level"):
        if key in requirement:
            raise PolicyError(
                f"{name}: {key} is about values as they stand, and schema.codes makes several one: "
                "leave codes out, and name old and new codes in a list: any_of = "
                f"{example}"
            )
    sets = requirement.get(_SETS)
    members_of_sets = sets.values() if isinstance(sets, Mapping) else [sets]
    lists = [requirement.get("values"), requirement.get("except"), *members_of_sets]
    _refuse_other_spelling(lists, name, classes)
    if isinstance(sets, str):
        raise PolicyError(
            f"{name}: any_of = {sets!r} is a label, and its hierarchy may not have old and new "
            f"codes below it: name the codes in a list: any_of = {example}"
        )
    for key, members in sets.items() if isinstance(sets, Mapping) else ():
        if isinstance(members, Mapping):
            raise PolicyError(
                f"{name}: any_of.{key} is a range, which may hold an old code and not its "
                f"successors: name the codes in a list: any_of.{key} = {example}"
            )


def _refuse_other_spelling(
    named_lists: Iterable[Any], name: str, classes: Sequence[Sequence[str]]
) -> None:
    """Refuse a text in lists of a policy that is a code of the map in another spelling.

    Such as "f32.1" beside "F32.1": it would not be found in its class of codes.
    """
    codes = dict.fromkeys(chain(*classes))
    spellings = Spellings(codes)
    lists = (members for members in named_lists if isinstance(members, (list, tuple)))
    for text in map(str, chain(*lists)):
        written = None if text in codes else spellings.written_otherwise(text)
        if written is not None:
            raise PolicyError(
                f"{name} names {text!r}, and schema.codes has {written!r}: write both as the "
                "table does"
            )


def _rule_of_all_codes(
    rule: Any, column: str, columns: Sequence[str], classes: Sequence[Sequence[str]]
) -> Any:
    """A rule on what is impossible, on all codes that are one with those that it names."""
    is_rule = isinstance(rule, Mapping) and rule.get("sensitive", columns[0]) == column
    if is_rule:
        _refuse_other_spelling([rule.get("values")], "impossible", classes)
    return (
        {**rule, "values": _with_codes_of_classes(rule.get("values"), classes)} if is_rule else rule
    )


def _with_codes_of_classes(members: Any, classes: Sequence[Sequence[str]]) -> Any:
    """Values with all codes that are one with some of them; what is no list as it is."""
    if not isinstance(members, (list, tuple)):
        return members
    closed = dict.fromkeys(map(str, members))
    for codes in classes:
        closed |= dict.fromkeys(codes if _names_any(members, codes) else ())
    return [*closed]


def _names_any(texts: Any, codes: Collection[str]) -> bool:
    """True if some texts of a policy name one of some codes."""
    listed = [texts] if isinstance(texts, str) else [*texts]
    return any(
        bool(matching(text, [*codes])) if is_pattern(text) else text in codes
        for text in map(str, listed)
    )


def _names_all(texts: Any, codes: Collection[str]) -> bool:
    """True if texts of a policy name each of some codes."""
    return all(_names_any(texts, [code]) for code in codes)


def _toml_list(codes: Sequence[str]) -> str:
    return f"[{', '.join(f'{chr(34)}{code}{chr(34)}' for code in codes)}]"
