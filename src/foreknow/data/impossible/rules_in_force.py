"""Which rules on what is impossible are about whom, by what is known of people."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import BoolArray, combine
from foreknow.data.columns.spellings import without_midnight
from foreknow.data.impossible.rules import Between, Condition, OneOf, Rule
from foreknow.data.labels.label_meaning import Meaning, meanings_of
from foreknow.data.labels.labels import Labels, chosen, is_pattern, spelt_otherwise
from foreknow.errors import SchemaError
from foreknow_judge.errors import DataError, UnsupportedError
from foreknow_judge.knowledge.impossible_values import is_opaque, may_hold
from foreknow_judge.numbers import read_number
from foreknow_judge.text import plain_spelling

# What stands for values that few people have, in labels that list values.
OTHER = "other"
_HOUR = re.compile("([01][0-9]|2[0-3])h")


def decided(condition: Condition, label: str | None) -> bool | None:
    """True if all people with a label meet a condition, False if none does, None if it is open.

    A value counts as a label, too, of the people who have it.

    >>> from foreknow.data.impossible.rules import condition_of
    >>> teens = condition_of({"from": 13, "to": 19})
    >>> [decided(teens, label) for label in ("13", "13 to 15", "20 to 24", "15 to 24", "*")]
    [True, True, False, None, None]
    >>> [decided(condition_of(["m"]), label) for label in ("m", "f", "f | m", "other")]
    [True, False, None, None]
    """
    # A missing value, and "other" values, may be any.
    if label is None or label.rstrip("+") == OTHER:
        return None
    # All ways to read the label must agree.
    ways = _readings(condition, label)
    return ways.pop() if len(ways) == 1 else None


def _readings(condition: Condition, label: str) -> set[bool | None]:
    """The answers to whether people with a label meet a condition, over all ways to read it.

    An answer is True if everyone does, False if nobody does, None if some may. Empty for labels
    that cannot be compared with the condition.
    """
    if isinstance(condition, OneOf):
        answers = {_is_one(condition, meaning, label) for meaning in meanings_of(label)}
        if not answers:
            # An hour such as "08h" may stand for times that the condition lists.
            is_open = _HOUR.fullmatch(label) and not all(map(_HOUR.fullmatch, condition))
            answers = {None if is_open else condition.has(label)}
        # A value may read like a label, such as "m | x".
        return answers | {True} if label in condition else answers
    # The condition is a range. A label that is one number or date is simply inside or outside.
    with suppress(UnsupportedError):
        return {condition.holds(label)} if any(map(str.isnumeric, label)) else set()
    answers = set()
    for meaning in meanings_of(label):
        if not isinstance(meaning.lower, datetime):  # 1980 may be a year as well
            answers.add(_is_between(condition, meaning))
    return answers


def _is_one(condition: OneOf, meaning: Meaning, label: str) -> bool | None:
    """True if all values that a label may stand for are among those of a condition.

    False if none is; None if only some are, or if it is unknown. `meaning` is one way to read the
    label.
    """
    if meaning.missing or meaning.everything:
        return None
    members = meaning.members
    if not members and meaning.ends is None and isinstance(meaning.lower, datetime):
        if condition.has(label):  # a period is one value beside values that are written like it
            return True
        return None if any(may_hold(label, text) for text in condition) else False
    if not members and meaning.lower is not None and meaning.lower == meaning.upper:
        # A range of one number is that number.
        members = (str(meaning.lower),)
    verdicts = {condition.has(member) for member in members}
    return verdicts.pop() if len(verdicts) == 1 else None


def _is_between(condition: Between, meaning: Meaning) -> bool | None:
    """True if all that a label may stand for is in a range, False if nothing is; else None."""
    low, high = meaning.lower, meaning.upper
    if meaning.missing or meaning.everything or low is None or high is None:
        return None
    if isinstance(low, datetime) or isinstance(high, datetime):
        return None
    has_low, has_high = condition.holds(str(low)), condition.holds(str(high))
    if has_low and has_high:
        return True
    # Neither or one end of the label is inside. If the range begins or ends within the label, some
    # values are in it and others are not.
    for end in (condition.low, condition.high):
        number = None if end is None else read_number(str(end))
        if end is not None and (number is None or low <= number <= high):
            return None
    return None if has_low or has_high else False


def _refuse_values(
    condition: Condition, name: str, texts: Collection[str], *, is_known: bool = True
) -> None:
    """Raise an error for a condition that does not fit the values of column `name`.

    A range needs values that can be compared with it; a list needs values that somebody has, as
    they are written in the table. If it `is_known` what everybody has, somebody must meet a range.
    """
    if not isinstance(condition, OneOf):
        for text in texts:
            if decided(condition, text) is None and not meanings_of(text):
                raise DataError(
                    f"column {name!r}: {text!r} cannot be compared with {condition}, by which "
                    "values are impossible; write numbers, or dates such as 2024-01-31, or leave "
                    "it missing"
                )
        if is_known:
            _refuse_of_nobody(condition, f"in {condition}", name, texts)
        return
    _refuse_of_nobody(condition, " or ".join(map(repr, condition)), name, texts)
    # Somebody meets the list, but another text in it may be misspelt.
    text_of_plain = {_bare(text): text for text in texts}
    for text in condition:
        similar = text_of_plain.get(_bare(text), text)
        if similar != text and text not in texts:
            raise SchemaError(
                f"impossible: no {name!r} is {text!r}, but {similar!r} is one; write it as it "
                "stands in the table"
            )


def _refuse_of_nobody(
    condition: Condition, wording: str, name: str, texts: Collection[str]
) -> None:
    """Raise `SchemaError` for a condition that nobody meets, whatever their labels stand for.

    `texts` are the values or labels of column `name`, and `wording` is the condition in messages.
    """
    if all(decided(condition, text) is False for text in texts):
        raise SchemaError(
            f"impossible: nobody has {name!r} {wording}, but such as "
            f"{', '.join(map(repr, sorted(texts)[:5]))}; write it as it stands in the table, "
            "or leave the rule out"
        )


@dataclass(frozen=True, eq=False)
class Fired:
    """The class of each row, and the rules about each class."""

    codes: NDArray[Any]
    perhaps: BoolArray  # shape (classes, rules)
    surely: BoolArray

    def united(self, values_of_rules: Iterable[BoolArray]) -> Fired:
        """Merge classes whose members cannot have the same values, whichever rules say so.

        `values_of_rules` has, for each sensitive column, the values that each rule excludes, shape
        (rules, values).
        """
        # Values that the same rules exclude are of one kind: the distinct columns, shape (rules,
        # kinds).
        kinds = np.unique(np.concatenate([*values_of_rules], axis=1), axis=1)
        forbidden = []
        for fires in (self.perhaps, self.surely):
            # Whether any rule that concerns a class excludes a kind, shape (classes, kinds).
            forbidden.append((fires[:, :, None] & kinds).any(axis=1))
        # Classes with equal rows become one, which has the rules of the first of them.
        _, first_classes, merged_class = np.unique(
            np.hstack(forbidden), axis=0, return_index=True, return_inverse=True
        )
        return Fired(
            merged_class.reshape(-1)[self.codes],
            self.perhaps[first_classes],
            self.surely[first_classes],
        )


def fired(
    rules: Sequence[Rule],
    columns: Mapping[str, tuple[NDArray[Any], Sequence[str | None]]],
    n_rows: int,
    hierarchies: Mapping[str, Any] = {},
) -> Fired:
    """Sort rows into classes to which the same rules apply: surely, perhaps, or not.

    Parameters
    ----------
    rules : sequence of Rule
    columns : mapping of str to (codes, labels)
        For each column, the code of each row, and the label of each code. A rule may be about
        anybody where its column is not there, or a label leaves it open.
    n_rows : int
    hierarchies : mapping of str to hierarchy
        Those of columns whose labels are nodes; what a node stands for may be unknown.
    """
    certainties_of_rules = []
    for rule in rules:
        # A rule applies only if all of its conditions do: the least certain one decides.
        certainty = np.full(n_rows, 2, dtype=np.int8)  # 0: no, 1: perhaps, 2: surely
        for name, condition in rule.where.items():
            # Without the column nothing is known: one label, a missing one, for all rows.
            codes, labels = columns.get(name, (np.zeros(n_rows, dtype=np.int8), [None]))
            is_unread = _is_unread(condition, hierarchies.get(name))
            certainty_of_label = np.ones(len(labels), dtype=np.int8)
            for code, label in enumerate(labels):
                is_met = None if is_unread else decided(condition, label)
                if is_met is not None:
                    certainty_of_label[code] = 2 if is_met else 0
            certainty = np.minimum(certainty, certainty_of_label[codes])
        certainties_of_rules.append(certainty)
    # Rows with the same certainty for each rule are one class.
    class_of_row, first_rows = combine([*certainties_of_rules], [3] * len(rules))
    levels = np.stack([certainties[first_rows] for certainties in certainties_of_rules], axis=1)
    return Fired(class_of_row, levels > 0, levels == 2)


def _is_unread(condition: Condition, hierarchy: Any) -> bool:
    """True if labels are nodes of a hierarchy whose names do not say if a condition is met."""
    return hierarchy is not None and (condition.of_values or is_opaque(hierarchy.to_dict()))


def refuse_unfit(
    rules: Iterable[Rule], name: str, texts: Sequence[str | None], hierarchy: Any = None
) -> None:
    """Raise an error if a table's values do not fit the conditions of rules on column `name`.

    `texts` are the distinct values; None is a missing one. `hierarchy` is that of the column.
    """
    values = dict.fromkeys(text for text in texts if text is not None)
    for rule in rules:
        condition = rule.where.get(name)
        if condition is not None:
            is_known = None not in texts and not _is_unread(condition, hierarchy)
            _refuse_values(condition, name, values, is_known=is_known)


def refuse_unmet(
    rules: Iterable[Rule], name: str, texts: Iterable[str | None], hierarchy: Any = None
) -> None:
    """Raise an error for a rule of a reader that nobody of a release meets, by column `name`.

    `texts` are the labels of the column; None is a missing one, which may meet any range. Values
    that differ only in spelling are left to the judge, which refuses them.
    """
    present = {*texts}
    values = {text for text in present if text is not None}
    plain_values = set(map(plain_spelling, values))
    for rule in rules:
        condition = rule.where.get(name)
        if condition is None or _is_unread(condition, hierarchy):
            continue
        if isinstance(condition, OneOf):
            if plain_values.isdisjoint(map(plain_spelling, condition)):
                _refuse_values(condition, name, values)
        elif None not in present:
            _refuse_of_nobody(condition, f"in {condition}", name, values)


def refuse_misspelt(name: str, values: Iterable[str], texts: Collection[str]) -> None:
    """Raise `SchemaError` for a rule's value that nobody has, but in another spelling.

    Such a value is the same number, or differs only by case or spaces. `texts` are the values of
    the table.
    """
    present_texts = {*texts}
    text_of_plain = {_bare(text): text for text in texts}
    for text in sorted(
        value for value in values if value not in present_texts and not is_pattern(value)
    ):
        similar = spelt_otherwise(text, texts) or text_of_plain.get(_bare(text))
        if similar is not None:
            raise SchemaError(
                f"impossible: nobody has {text!r} in {name!r}, but {similar!r}; write it as it "
                "stands in the table"
            )


def _bare(text: str) -> str:
    """A text without case, blanks and the hour of a midnight."""
    return without_midnight(text.strip().casefold())


def about_of(rules: Sequence[Rule], values: Mapping[str, Labels]) -> dict[str, BoolArray]:
    """Which values each rule excludes, shape (rules, values), by sensitive column.

    A rule that spells a value otherwise than the table would do nothing, and is a `SchemaError`.
    """
    values_of_rules: dict[str, BoolArray] = {}
    for name, labels in values.items():
        texts_of_rules = [rule.values if rule.sensitive == name else () for rule in rules]
        if any(texts_of_rules):
            refuse_misspelt(name, {*chain(*texts_of_rules)}, [*map(str, labels)])
            values_of_rules[name] = np.array([chosen(labels, texts) for texts in texts_of_rules])
    return values_of_rules
