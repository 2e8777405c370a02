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
    answers = _answers(condition, label)
    return answers.pop() if len(answers) == 1 else None


def _answers(condition: Condition, label: str) -> set[bool | None]:
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
    # The label is a period, such as 2024-01.
    if not members and meaning.ends is None and isinstance(meaning.lower, datetime):
        if condition.has(label):  # the condition lists this very period
            return True
        return None if any(may_hold(label, text) for text in condition) else False
    if not members and meaning.lower is not None and meaning.lower == meaning.upper:
        # A range of one number is that number.
        members = (str(meaning.lower),)
    is_listed = {condition.has(member) for member in members}
    return is_listed.pop() if len(is_listed) == 1 else None


def _is_between(condition: Between, meaning: Meaning) -> bool | None:
    """True if all that a label may stand for is in a range, False if nothing is; else None."""
    low, high = meaning.lower, meaning.upper
    if meaning.missing or meaning.everything or low is None or high is None:
        return None
    if isinstance(low, datetime) or isinstance(high, datetime):
        return None
    is_low_inside, is_high_inside = condition.holds(str(low)), condition.holds(str(high))
    if is_low_inside and is_high_inside:
        return True
    # If the range begins or ends within the label, some of its values are inside, and others not.
    for end in (condition.low, condition.high):
        number = None if end is None else read_number(str(end))
        if end is not None and (number is None or low <= number <= high):
            return None
    return None if is_low_inside or is_high_inside else False


def _refuse_unfit_values(
    condition: Condition, name: str, texts: Collection[str], *, is_known: bool = True
) -> None:
    """Raise an error for a condition that does not fit the values of column `name`.

    A range needs values that can be compared with it, and somebody who meets it if it `is_known`
    what everybody has. A list must name values that somebody has, as they are written in the table.
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
            _refuse_met_by_nobody(condition, f"in {condition}", name, texts)
        return
    _refuse_met_by_nobody(condition, " or ".join(map(repr, condition)), name, texts)
    # Somebody meets the list, but another text in it may be misspelt.
    text_of_plain = {_plain(text): text for text in texts}
    for text in condition:
        similar = text_of_plain.get(_plain(text), text)
        if similar != text and text not in texts:
            raise SchemaError(
                f"impossible: no {name!r} is {text!r}, but {similar!r} is one; write it as it "
                "stands in the table"
            )


def _refuse_met_by_nobody(
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
class RuleClasses:
    """The class of each row, by the rules about it, and which rules concern each class."""

    codes: NDArray[Any]  # the class of each row
    perhaps: BoolArray  # shape (classes, rules): which rules may concern a class, or surely do
    surely: BoolArray  # which surely do

    def merged(self, excluded: Iterable[BoolArray]) -> RuleClasses:
        """Merge classes whose members cannot have the same values, whichever rules say so.

        `excluded` has, for each sensitive column, which values each rule excludes, shape (rules,
        values).
        """
        # Values that the same rules exclude are of one kind: the distinct columns, shape (rules,
        # kinds).
        kinds = np.unique(np.concatenate([*excluded], axis=1), axis=1)
        forbidden = []
        for concerns in (self.perhaps, self.surely):
            # Whether any rule that concerns a class excludes a kind, shape (classes, kinds).
            forbidden.append((concerns[:, :, None] & kinds).any(axis=1))
        # Classes with equal rows become one, which has the rules of the first of them.
        _, first_classes, merged_class = np.unique(
            np.hstack(forbidden), axis=0, return_index=True, return_inverse=True
        )
        return RuleClasses(
            merged_class.reshape(-1)[self.codes],
            self.perhaps[first_classes],
            self.surely[first_classes],
        )


def classify_by_rules(
    rules: Sequence[Rule],
    columns: Mapping[str, tuple[NDArray[Any], Sequence[str | None]]],
    n_rows: int,
    hierarchies: Mapping[str, Any] = {},
) -> RuleClasses:
    """Sort rows into classes to which the same rules apply: surely, perhaps, or not.

    Parameters
    ----------
    rules : sequence of Rule
    columns : mapping of str to (codes, labels)
        For each column, the code of each row, and the label of each code. Where a rule's column is
        not there, or a label leaves it open whether the condition is met, the rule may apply.
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
            is_unreadable = _is_unreadable(condition, hierarchies.get(name))
            certainty_of_label = np.ones(len(labels), dtype=np.int8)
            for code, label in enumerate(labels):
                is_met = None if is_unreadable else decided(condition, label)
                if is_met is not None:
                    certainty_of_label[code] = 2 if is_met else 0
            certainty = np.minimum(certainty, certainty_of_label[codes])
        certainties_of_rules.append(certainty)
    # Rows with the same certainty for each rule are one class.
    class_of_row, first_rows = combine([*certainties_of_rules], [3] * len(rules))
    certainty_of_class = np.stack(
        [certainties[first_rows] for certainties in certainties_of_rules], axis=1
    )
    return RuleClasses(class_of_row, perhaps=certainty_of_class > 0, surely=certainty_of_class == 2)


def _is_unreadable(condition: Condition, hierarchy: Any) -> bool:
    """True if labels name nodes of a hierarchy, and do not say if a condition is met.

    `hierarchy` is None if labels are values, or ranges and lists of values, which say it.
    """
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
            is_known = None not in texts and not _is_unreadable(condition, hierarchy)
            _refuse_unfit_values(condition, name, values, is_known=is_known)


def refuse_unmet(
    rules: Iterable[Rule], name: str, texts: Iterable[str | None], hierarchy: Any = None
) -> None:
    """Raise an error for a rule of a reader that nobody of a release meets, by column `name`.

    `texts` are the labels of the column; None is a missing one, which may meet any range. Values
    that differ only in spelling pass here: they are refused later, when the release is judged.
    """
    present = {*texts}
    values = {text for text in present if text is not None}
    plain_values = set(map(plain_spelling, values))
    for rule in rules:
        condition = rule.where.get(name)
        if condition is None or _is_unreadable(condition, hierarchy):
            continue
        if isinstance(condition, OneOf):
            if plain_values.isdisjoint(map(plain_spelling, condition)):
                _refuse_unfit_values(condition, name, values)
        elif None not in present:
            _refuse_met_by_nobody(condition, f"in {condition}", name, values)


def refuse_misspelt(name: str, values: Iterable[str], texts: Collection[str]) -> None:
    """Raise `SchemaError` for a rule's value that nobody has, but in another spelling.

    Such a value is the same number, or differs only by case or spaces. `texts` are the values of
    the table.
    """
    present_texts = {*texts}
    text_of_plain = {_plain(text): text for text in texts}
    absent = [value for value in values if value not in present_texts and not is_pattern(value)]
    for text in sorted(absent):
        similar = spelt_otherwise(text, texts) or text_of_plain.get(_plain(text))
        if similar is not None:
            raise SchemaError(
                f"impossible: nobody has {text!r} in {name!r}, but {similar!r}; write it as it "
                "stands in the table"
            )


def _plain(text: str) -> str:
    """A text without case, blanks and the hour of a midnight."""
    return without_midnight(text.strip().casefold())


def excluded_values(rules: Sequence[Rule], values: Mapping[str, Labels]) -> dict[str, BoolArray]:
    """Which values each rule excludes, shape (rules, values), by sensitive column.

    A rule that spells a value otherwise than the table would do nothing, and is a `SchemaError`.
    """
    excluded: dict[str, BoolArray] = {}
    for name, labels in values.items():
        texts_of_rules = [rule.values if rule.sensitive == name else () for rule in rules]
        if any(texts_of_rules):
            refuse_misspelt(name, {*chain(*texts_of_rules)}, [*map(str, labels)])
            excluded[name] = np.array([chosen(labels, texts) for texts in texts_of_rules])
    return excluded
