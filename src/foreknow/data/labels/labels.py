"""Labels of groups and values: distinct, looked up by code, in a stable order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.data.layout import Layout
from foreknow_judge.errors import DataError
from foreknow_judge.numbers import is_code, read_number

Label: TypeAlias = Hashable


class Labels(tuple[Label, ...]):
    """Distinct labels; their codes are looked up once and shared by all counts that use them."""

    # of combinations of the values of several columns, the code of each, and labels
    columns: Mapping[str, tuple[NDArray[Any], Labels]] = MappingProxyType({})
    layout = Layout()  # how these columns are published

    def __new__(cls, labels: Iterable[Label] = ()) -> Labels:
        """Take distinct labels; `DataError` for one that is given twice or cannot be hashed."""
        new_labels = super().__new__(cls, labels)
        if isinstance(labels, range):  # numbers of combinations: distinct, and never looked up
            new_labels.first_missing = None
            return new_labels
        try:
            new_labels.codes  # noqa: B018
        except TypeError:
            position = next(i for i, label in enumerate(new_labels) if not is_label(label))
            raise DataError(
                f"the value label {position} is {not_a_label(new_labels[position])}"
            ) from None
        if len(new_labels.codes) != len(new_labels):
            repeated = next(label for label, n in Counter(new_labels).items() if n > 1)
            if not isinstance(repeated, datetime):
                raise DataError(f"the value label {repeated!r} is given twice")
            # Times of one moment are equal to Python, whatever their offset from UTC.
            raise DataError(
                f"the value label {str(repeated)!r} is given twice: a clock that is put back shows "
                'it twice; give times in UTC, by .dt.tz_convert("UTC") in pandas and '
                '.dt.convert_time_zone("UTC") in Polars'
            )
        return new_labels

    @cached_property
    def codes(self) -> dict[Label, int]:
        """Position of each label."""
        return {label: code for code, label in enumerate(self)}

    @cached_property
    def cache(self) -> dict[Any, Any]:
        """A cache of results about the labels."""
        return {}

    def seen_in(self, counts: Any, sensitive: str | None, known: Sequence[str]) -> Any:
        """The counts of one column of combinations; labels of one column have no others."""
        if known:
            raise DataError(
                f"counts of one column know nothing of {known[0]!r}, which is said to be known "
                "beside; give the release itself"
            )
        return counts

    def values_of(self, column: str | None) -> Labels:
        """The values of one column of combinations; labels of one column are its values."""
        return self

    @cached_property
    def first_missing(self) -> int | None:
        """Position of the first label that stands for a missing value, if there is one."""
        return next((code for code, label in enumerate(self) if is_missing(label)), None)


class GroupLabel(tuple[Any, ...]):
    """The quasi-identifiers that a group has in common, and what their columns are called.

    >>> GroupLabel(("20 to 37", "f"), ("age", "sex"))
    (age='20 to 37', sex='f')
    """

    columns: tuple[str, ...] = ()

    def __new__(cls, label: Iterable[Any], columns: Iterable[str] = ()) -> GroupLabel:  # noqa: D102
        group_label = super().__new__(cls, label)
        group_label.columns = tuple(columns)
        return group_label

    def __repr__(self) -> str:
        labels_of_columns = list(zip(self.columns, self, strict=False))
        return f"({', '.join(f'{column}={part!r}' for column, part in labels_of_columns)})"


# The distinct labels of a column, and for each group the position of its label among them.
Part: TypeAlias = tuple[list[Any], NDArray[Any]]


class GroupLabels(Sequence[Any]):
    """Labels of groups by their quasi-identifiers, whose columns are named once.

    Labels are made when they are first looked at: of many groups, few are ever named. They are
    `exact` if they are values that people have. The column `cohort` says which of several releases
    shows a person; "" if there is none.
    """

    exact = False
    cohort = ""

    def __init__(
        self, parts: Callable[[], Sequence[Part]], size: int, columns: Iterable[str]
    ) -> None:
        self._make_parts, self._size, self.columns = parts, size, tuple(columns)
        self._made: list[Any] | None = None  # the label of each group, once they are made

    @classmethod
    def of(cls, labels: Iterable[Any], columns: Iterable[str], exact: bool = False) -> GroupLabels:
        """Take the labels of groups: for each group a tuple with one label of each column.

        With `exact`, they are values that people have.
        """
        label_list = list(labels)

        def parts() -> list[Part]:
            """The distinct labels of each column, and the position of each group's label."""
            coded_columns: list[Part] = []
            label_columns = [*zip(*label_list, strict=True)]
            for column in label_columns[: len(group_labels.columns)]:
                code_of: dict[Any, int] = {}
                codes = [code_of.setdefault(label, len(code_of)) for label in column]
                coded_columns.append(([*code_of], np.array(codes)))
            return coded_columns

        # Columns are encoded only when they are asked for.
        group_labels = cls(parts, len(label_list), columns)
        group_labels._made, group_labels.exact = label_list, exact
        return group_labels

    @cached_property
    def parts(self) -> Sequence[Part]:
        """The distinct labels of each column, and the position of each group's label."""
        return self._make_parts()

    @property
    def cohorts(self) -> list[str]:
        """The column that says which release shows somebody; none where groups are of one."""
        return [*{self.cohort}.intersection(self.columns)]

    @property
    def _labels(self) -> list[Any]:
        """The label of each group as a tuple, made from the columns when it is first needed."""
        if self._made is None:
            label_columns = (
                [labels[code] for code in codes.tolist()] for labels, codes in self.parts
            )
            self._made = list(zip(*label_columns, strict=True))
        return self._made

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        return self._labels[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (list, GroupLabels)) and self._labels == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return GroupLabels.of, (self._labels, self.columns, self.exact)

    def __repr__(self) -> str:
        return repr(self._labels)


def text_of(value: Any) -> str:
    """Write one value.

    >>> from datetime import date
    >>> text_of(date(2024, 1, 31)), text_of(7)
    ('2024-01-31', '7')
    """
    if value is None:
        return "missing"
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def is_missing(label: Any) -> bool:
    """True if a label stands for a missing value: None, NaN, NaT or NA, of any library.

    All but None are found by not being equal to themselves: each would be a value of its own. A
    tuple or set with one of these is missing, too.

    >>> is_missing(float("nan")), is_missing(None), is_missing("nan")
    (True, True, False)
    """
    if label is None:
        return True
    if isinstance(label, str):
        return False
    if isinstance(label, (tuple, frozenset)):
        return any(part is not None and is_missing(part) for part in label)
    try:
        return not label == label  # noqa: SIM201
    except (TypeError, ArithmeticError):  # the NA of pandas; a signaling NaN
        return True
    except ValueError:  # an array
        return False


def is_label(value: Any) -> bool:
    """True if a value can be looked up."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def not_a_label(value: Any) -> str:
    """Say of a value that it is missing, or cannot be looked up, and what to do."""
    if is_missing(value):
        return f"missing ({value}); label it, such as 'missing', or drop it"
    return f"{value!r}, which cannot be a label; give texts or numbers"


def in_order(labels: Iterable[Label]) -> list[Label]:
    """Sort labels of any types: numbers by value, then texts, then the rest by type and name.

    >>> in_order(["b", 10, "a", 9])
    [9, 10, 'a', 'b']
    """

    def key(label: Label) -> tuple[int, Any, str]:
        """A number for the kind (numbers, texts, others), and what orders labels within it."""
        if isinstance(label, str):
            return (1, label, "")
        # Python's number, which compares with others exactly.
        if isinstance(label, np.number):
            label = label.item()
        if isinstance(label, Decimal) and label.is_finite():
            return (0, Fraction(label), "")  # which can be compared with other fractions
        if isinstance(label, (int, float, Fraction)) and not isinstance(label, bool):
            return (0, label, "")
        return (2, type(label).__name__, str(label))

    return sorted(labels, key=key)


def is_pattern(text: str) -> bool:
    """True if a text in a policy stands for every value that begins like it."""
    return text.endswith("*")


def matching(text: str, printed: Iterable[str]) -> list[str]:
    """The values that a text in a policy names: the one written so, or all that begin so.

    A value that itself ends with an asterisk is named by its text, with all that begin like it.

    >>> matching("B20*", ["B20", "B20.1", "B2", "B20*"]), matching("B2", ["B20", "B2"])
    (['B20', 'B20.1', 'B20*'], ['B2'])
    """
    if is_pattern(text):
        return [value for value in printed if value.startswith(text[:-1])]
    # Without an asterisk a text names only itself.
    return [value for value in printed if value == text]


def spelt_otherwise(text: str, printed: Iterable[str]) -> str | None:
    """The first value that is the same number as a text, written otherwise; None if there is none.

    Codes, such as 007, are no numbers.

    >>> spelt_otherwise("1", ["0.5", "1.0"]), spelt_otherwise("1", ["01", "B1"])
    ('1.0', None)
    """
    number = None if is_code(text) else read_number(text)
    if number is None:
        return None
    return next((v for v in printed if not is_code(v) and read_number(v) == number), None)


def chosen(
    values: Iterable[Label], names: Iterable[Label] | None, excluded: Iterable[Label] = ()
) -> NDArray[np.bool_]:
    """Which of some values are named, and not excluded, by how they print; shape (values,).

    If `names` is None, all are named. A text that ends with an asterisk stands for all values that
    begin like it. But if a value is itself written like an excluded text, asterisk and all, only
    that value is excluded: in doubt, more values count as named.

    >>> chosen(["Z*", "Z1", "B20", "B20.1"], None, ["Z*", "B20*"]).tolist()
    [False, True, False, False]
    """
    # Values of different types may print alike.
    codes_of: dict[str, list[int]] = {}
    n_values = 0
    for code, value in enumerate(values):
        codes_of.setdefault(str(value), []).append(code)
        n_values += 1
    mask = np.full(n_values, names is None)
    for text in map(str, names or ()):
        for value_text in matching(text, codes_of) if is_pattern(text) else [text]:
            mask[codes_of.get(value_text, [])] = True
    for text in map(str, excluded):
        stands_for_many = is_pattern(text) and text not in codes_of
        for value_text in matching(text, codes_of) if stands_for_many else [text]:
            mask[codes_of.get(value_text, [])] = False
    return mask


def name_of_set(members: Iterable[Any], other_names: Iterable[str]) -> str:
    """The name of a set, different from all other values.

    >>> name_of_set(["B20", "Z21"], ["Flu"])
    'B20 or Z21'
    """
    name, used_names = " or ".join(map(str, members)), set(other_names)
    while name in used_names:
        name += "+"
    return name
