"""Person numbers: which columns tell people apart, by their names and by what is constant within.

A number of a person is recognized in two ways. By its name: `subject`, `patient_id`, `idcode`. Or
by its rows, whatever its name: a whole number or code that repeats, and within which what never
changes of a person (sex, birth, age at entry) is constant, as chance would not have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray
from foreknow.data.people.number_names import (
    MAY_BE_COUNT,
    are_codes,
    is_number_of_person,
    is_of_person,
    is_of_rows,
    is_plain_number,
)
from foreknow.data.tables.columns import codes_of
from foreknow.data.tables.profile.column_words import WORDS, split, words_meaning, words_of

# So many values tell people apart at least: by a name, and where that may be a count, or none says
# so.
LEAST_NAMED, LEAST_PEOPLE = 5, 10
# Of the values that repeat so many agree in what is constant; chance would have it so rarely. No
# value has more of the rows, as 0 has where a number is a product.
_AGREE, _CHANCE, _MOST_OF_ROWS = 0.95, 1e-4, 0.2
# Ages of one person lie near each other: this share of their variance at most is within people.
_NEAR_AGES = 0.5
_LOOK, _FIRST_ROWS, _LOOKED_AT, _SHORT_TEXT = 1000, 20_000, 64, 3

# What a number of this name tells apart is a group of people, or no person at all.
_GROUPS = """
    stratum strata set sets pair pairs match matched group groups block cluster team class site
    center centre hospital clinic school ward district region county state province country family
    household hh couple twin doctor physician teacher rater judge interviewer year time visit wave
    week month day date period
"""
# What never changes of a person; what does not, and a place or group may have alike; what does
# slowly.
_OF_ONE = {word: None for word in words_meaning("sex", "birth") if word != "birth"}
_OF_MANY = dict.fromkeys(["race", "ethnicity", "ethnic"])
_AGE = WORDS["age"]


def may_be_trait(name: str) -> bool:
    """True if a name is of a trait that a person keeps, or nearly: sex, birth, age."""
    return not (_OF_ONE | _OF_MANY | _AGE).keys().isdisjoint(words_of(name))


def coded_values(
    name: str, codes: NDArray[Any], values: Sequence[Any], times: IntArray | None
) -> Coded:
    """A `Coded` column of Python values, one of which may be None; None gets the last code.

    `times` says how many rows each entry of `codes` stands for; None: one.
    """
    non_null = [value for value in values if value is not None]
    if len(non_null) < len(values):
        is_null = np.array([value is None for value in values])
        new_code = np.cumsum(~is_null) - 1
        new_code[is_null] = len(non_null)
        codes = new_code[codes]
    return Coded(name, non_null, codes, len(non_null), times)


@dataclass(frozen=True, eq=False)
class Coded:
    """A column by the code of the value of each row; what is missing has a code from `n` on."""

    name: str
    values: pa.Array | Sequence[Any]  # by their codes; a null may be last
    codes: NDArray[Any]
    n: int  # the number of values, without a null
    times: IntArray | None = None  # how many rows each entry stands for

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray) -> Coded:
        """A column of Arrow."""
        codes, values = codes_of(column)
        return cls(name, values, codes, len(values) - values.null_count)

    @cached_property
    def some(self) -> list[Any]:
        """The first values; of Python."""
        first = self.values[: min(self.n, _LOOK)]
        return first.to_pylist() if isinstance(first, pa.Array) else list(first)

    @cached_property
    def rows_of_each(self) -> IntArray:
        """How many rows have each value."""
        return np.bincount(self.codes, self.times, self.n)[: self.n].astype(np.int64)


def traits(columns: Sequence[Coded]) -> list[Coded]:
    """Those of some columns that are constant of a person, or nearly: sex, birth, age."""
    return [column for column in columns if may_be_trait(column.name) and column.n > 1]


def _is_called(column: Coded, vocabulary: Mapping[str, None]) -> bool:
    """True if a word of the column's name is in a vocabulary."""
    return not vocabulary.keys().isdisjoint(words_of(column.name))


def evidence(column: Coded, columns: Sequence[Coded]) -> str:
    """Why a column tells people apart who have several rows, in words; "" if nothing says so.

    Parameters
    ----------
    column : Coded
    columns : sequence of Coded
        The other columns of the same rows.
    """
    if not may_repeat(column) or may_be_trait(column.name):
        return ""
    # A name that says so is enough, unless rows of one value differ in what never changes.
    by_name = _by_name(column)
    if by_name and not is_contradicted(column, columns):
        return by_name
    return _by_rows(column, columns) or _by_all_columns(column, columns)


def may_repeat(column: Coded) -> bool:
    """True if a column has enough different values, and some of them stand in several rows."""
    if column.n < LEAST_NAMED:
        return False
    # Fewer values than rows (or entries, which may stand for several rows): some must repeat.
    if int(column.codes.max()) < column.n and column.n < len(column.codes):  # no value is missing
        return True
    return column.n < int(column.rows_of_each.sum())


def is_contradicted(column: Coded, columns: Sequence[Coded]) -> bool:
    """True if the rows of one value differ in sex, birth or ethnicity: they are not one person.

    `columns` are the other columns of the same rows.
    """
    fixed = []
    for c in traits(columns):
        if _is_called(c, _OF_ONE | _OF_MANY) and c is not column:
            fixed.append(c)
    return any(agreement(column, trait) is False for trait in fixed)


def names_two_people(column: Coded, columns: Sequence[Coded]) -> bool:
    """True if each value that repeats stands in rows that differ in sex or birth.

    Such values are names that several people have. Numbers and codes are never such: they repeat
    only by mistake.
    """
    repeats = column.rows_of_each > 1
    if not repeats.any() or are_codes(column.some):
        return False
    fixed = [trait for trait in traits(columns) if _is_called(trait, _OF_ONE)]
    n_rows = len(column.codes)
    # For each trait, the values whose rows differ in it.
    differ = []
    for trait in fixed:
        if trait is not column:
            differs, _ = _differing(column, trait, n_rows)
            differ.append(differs)
    return bool(differ) and bool(np.any(differ, axis=0)[repeats].all())


def _by_name(column: Coded) -> str:
    """Why the name of a column says that it tells people apart; "" if it does not.

    Its values must fit: numbers or codes, or texts if the name is that of a person.
    """
    codes, joined = are_codes(column.some), "".join(split(column.name))
    # "child" may be a number of children: it needs many different codes.
    if MAY_BE_COUNT.fullmatch(joined) and (column.n < LEAST_PEOPLE or not codes):
        return ""
    if is_number_of_person(column.name) or is_of_rows(column.name):
        return "by its name, it is the number of a person" if codes else ""
    if not is_of_person(column.name):
        return ""
    # "subject" may be one of a school, such as "history", and then has longer texts.
    is_school_subject = joined.startswith("subj") and any(
        len(str(value)) > _SHORT_TEXT for value in column.some
    )
    if codes or (_are_texts(column.some) and not is_school_subject):
        return "by its name, it tells people apart"
    return ""


def _by_rows(column: Coded, columns: Sequence[Coded]) -> str:
    """Why a column tells people apart by its rows; "" if they do not say so.

    All rows of each value must have one sex, birth or age, or ages near each other.
    """
    if not _may_number_people(column):
        return ""
    agreeing = []
    for trait in traits(columns):
        if trait is column or not _is_called(trait, _OF_ONE | _AGE):
            continue
        agrees, is_age = agreement(column, trait), _is_called(trait, _AGE)
        if agrees is False:
            return ""
        if not agrees and is_age and _ages_differ(column, trait):
            return ""  # a team, say, whose members are all women, but of different ages
        # A column that only is another spelling of the age numbers no people.
        if agrees and not (is_age and _follows(column, trait)):
            agreeing.append(trait.name)
    if not agreeing or not _is_even(column):
        return ""
    return f"all rows of a number have one {', '.join(agreeing[:3])}"


def _by_all_columns(column: Coded, columns: Sequence[Coded]) -> str:
    """Why a plain number, such as `nr`, tells people apart; "" if nothing says so.

    All rows of a value then agree in two or more columns. Where no name of a column is one of a
    trait, as in a language that is not known here, so may any number or code that stands in two
    rows on average.
    """
    is_frequent = 2 * column.n <= column.rows_of_each.sum()
    may_be = is_plain_number(column.name) or (is_frequent and not traits([column, *columns]))
    if not may_be or not _may_number_people(column):
        return ""
    agreeing = []
    for trait in columns[:_LOOKED_AT]:
        # A trait here is any other column with at least two values.
        is_candidate = trait is not column and trait.n > 1
        if is_candidate and agreement(column, trait) and not _follows(column, trait):
            agreeing.append(trait.name)
    is_number = len(agreeing) > 1 and _is_even(column)
    return f"all rows of a number have one {', '.join(agreeing[:3])}" if is_number else ""


def _may_number_people(column: Coded) -> bool:
    """True if values are numbers of something that is no group by its name."""
    return (
        column.n >= LEAST_PEOPLE
        and not _is_called(column, dict.fromkeys(_GROUPS.split()))
        and are_codes(column.some)
    )


def _is_even(column: Coded) -> bool:
    """True if no value is very frequent, as 0 is where a number is a product."""
    rows = column.rows_of_each
    return bool(rows.max() <= _MOST_OF_ROWS * rows.sum())


def _follows(column: Coded, trait: Coded) -> bool:
    """True if `column` only is another spelling of `trait`, such as its square.

    Then each value of the trait has one value of the column, so there are not more pairs than
    values.
    """
    # Missing traits, whose codes begin at `trait.n`, count as one more value.
    pairs = np.unique(
        column.codes.astype(np.int64) * (trait.n + 1) + np.minimum(trait.codes, trait.n)
    )
    return len(pairs) <= trait.n + 1


def _are_texts(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def agreement(column: Coded, trait: Coded) -> bool | None:
    """True if all rows of each value have one trait, False if they do not, None if it is unclear.

    It is unclear if chance alone would often let so many values agree, or if too few values repeat.
    """
    n_agreeing, n_repeated = _count_agreeing(column, trait, _FIRST_ROWS)
    # A first look at some rows saves time if they already disagree; otherwise look at all.
    if n_repeated < LEAST_PEOPLE or n_agreeing >= _AGREE * n_repeated:
        n_agreeing, n_repeated = _count_agreeing(column, trait, len(column.codes))
    if not n_repeated:
        return None
    if n_agreeing >= _AGREE * n_repeated:
        by_chance = _chance_of_agreement(column.rows_of_each, trait.rows_of_each)
        return True if by_chance < _CHANCE else None
    # A person's age changes, so that ages which differ refute nothing.
    if _is_called(trait, _AGE):
        return None
    # Few values, such as numbers within households, are refuted if none of them agrees.
    enough = n_repeated >= (LEAST_PEOPLE if n_agreeing else LEAST_NAMED)
    return False if enough else None


def _count_agreeing(column: Coded, trait: Coded, rows: int) -> tuple[int, int]:
    """The number of values with one trait, and of all, among those with several rows.

    Only the first `rows` rows count.
    """
    differing, repeated = _differing(column, trait, rows)
    return int(np.count_nonzero(repeated & ~differing)), int(np.count_nonzero(repeated))


def _differing(
    column: Coded, trait: Coded, rows: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each value: whether its rows have several traits, and whether it has several rows.

    Only the first `rows` rows count, and of these those with both values; shapes (column.n,).
    """
    codes, traits_of_rows = column.codes[:rows], trait.codes[:rows]
    has_both = (codes < column.n) & (traits_of_rows < trait.n)
    times = None if column.times is None else column.times[:rows][has_both]
    codes, traits_of_rows = codes[has_both], traits_of_rows[has_both]
    # The trait of each value's first row. Written in reverse, so that the first row stays.
    first_trait = np.full(column.n, -1, dtype=np.int64)
    first_trait[codes[::-1]] = traits_of_rows[::-1]
    differs = np.zeros(column.n, dtype=bool)
    differs[codes[traits_of_rows != first_trait[codes]]] = True
    return differs, np.bincount(codes, times, column.n) > 1


def _chance_of_agreement(rows_of_value: IntArray, rows_of_trait: IntArray) -> float:
    """The probability that all rows of each value would have one trait if traits were random.

    `rows_of_value` and `rows_of_trait` are how many rows have each value and each trait.
    """
    shares = rows_of_trait[rows_of_trait > 0] / rows_of_trait.sum()
    sizes, n_values = np.unique(rows_of_value[rows_of_value > 1], return_counts=True)
    # All of `size` rows have one trait with probability sum(share ** size over traits); values
    # are independent, so their probabilities are multiplied, here as a sum of logarithms.
    chances = np.array([float(np.sum(shares**size)) for size in sizes.tolist()])
    with np.errstate(divide="ignore"):  # the logarithm of 0
        return float(np.exp(np.sum(n_values * np.log(chances))))


def _ages_differ(column: Coded, trait: Coded) -> bool:
    """True if the rows of a value of `column` are not of about the same age.

    `trait` has the ages. Such a column does not number people, whose ages lie near each other: the
    mean squared distance from the mean of a value is over half of the variance of all ages.
    """
    has_both = (column.codes < column.n) & (trait.codes < trait.n)
    try:
        # Ages in words are no numbers; and only the first values are at hand.
        age = np.array([float(value) for value in trait.some])[trait.codes[has_both]]
    except (TypeError, ValueError, IndexError):
        return False
    codes = column.codes[has_both]
    times = np.bincount(codes, minlength=column.n)
    mean = np.bincount(codes, age, column.n) / np.maximum(times, 1)
    # A value of one row has no spread of its own.
    repeats = times[codes] > 1
    spread = float(np.mean((age - mean[codes])[repeats] ** 2)) if repeats.any() else 0.0
    return spread > _NEAR_AGES * float(np.var(age))


def people_of(columns: Sequence[Coded]) -> dict[str, str]:
    """The columns that tell people apart who have several rows, and why; the surest first.

    Those that say so by their names are the surest, and then those with the fewest values.
    """
    reasons: dict[str, str] = {}
    ranks: dict[str, tuple[bool, int]] = {}
    for column in columns:
        by_name = is_of_person(column.name) or is_of_rows(column.name)
        reasons[column.name] = evidence(column, columns)
        # Tuples sort columns that are named so first, then those with the fewest values.
        ranks[column.name] = not by_name, column.n
    names = sorted((name for name in reasons if reasons[name]), key=ranks.__getitem__)
    return {name: reasons[name] for name in names}
