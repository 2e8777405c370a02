"""Values that look like a name that nobody has, and numbers that are near each other."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from foreknow.data.columns.spellings import Spellings
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.people.households import ELSEWHERE
from foreknow.data.labels.labels import Labels, is_pattern, matching, spelt_otherwise
from foreknow.data.labels.windows import Line, Width
from foreknow.policy.requirement import Requirement
from foreknow_judge.errors import PolicyError, UnsupportedError
from foreknow_judge.numbers import is_code

# So many numbers may be ratings, or codes.
_FEW_NUMBERS = 20


def refuse_misspelt(
    columns: Mapping[str, Iterable[Any]], requirements: Iterable[Requirement]
) -> None:
    """Refuse a value that a requirement names and nobody has, if a value of the column looks alike.

    `columns` has the values of each sensitive column; requirements that name no column are about
    the first. A misspelt value would be judged as one that nobody has, and so protect nobody.
    """
    main = next(iter(columns))
    printed = {name: dict.fromkeys(sorted(map(str, values))) for name, values in columns.items()}
    spellings: dict[str, Spellings] = {}
    named_in_column: dict[str, set[str]] = {name: set() for name in printed}
    # Each list of values: its requirement, column and texts, and all texts of the requirement.
    lists: list[tuple[Requirement, str, list[str], set[str]]] = []
    # The values that some set has together with a value of a column.
    together: dict[tuple[str, str], set[str]] = {}
    for required in requirements:
        column = required.sensitive if required.sensitive in printed else main
        named_by_it = set[str]()
        for values_named in required.target.texts:
            texts = [*map(str, values_named)]
            named_by_it.update(texts)
            lists.append((required, column, texts, named_by_it))
            if required.about_sets:
                for text in texts:
                    together.setdefault((column, text), set()).update(texts)
        named_in_column[column] |= named_by_it
    for required, column, texts, named_by_it in lists:
        printed_values = printed[column]
        absent = [text for text in texts if not _is_there(text, printed_values)]
        # A set of which nobody has any value is more likely misspelt than meant.
        is_idle_set = len(absent) == len(texts) > 1 and required.about_sets
        for text in absent:
            _refuse_same_number(required, text, printed_values)
            if text == ELSEWHERE:
                continue
            is_absent = text in required.absent and not is_idle_set
            if column not in spellings:
                spellings[column] = Spellings(printed_values)
            # Values that a policy names beside this one are surely meant as different ones.
            passed_over = named_in_column[column] if is_idle_set else {*texts}
            passed_over = passed_over | together.get((column, text), set())
            similar = None if is_absent else spellings[column].near(text, but=passed_over)
            # a set would lack a value that the table writes otherwise, so `absent` excuses none
            otherwise = spellings[column].written_otherwise(text, but=named_by_it)
            if otherwise is not None:
                way_out = (
                    "if nobody has it, leave it out of the requirement, and of a map of codes that "
                    f"names it; or name {otherwise!r} beside it"
                )
            elif is_idle_set:
                way_out = "if really nobody has a value of this set, leave the set out"
            else:
                quoted = json.dumps(text, ensure_ascii=False)
                way_out = (
                    f"if {text!r} is meant, though nobody has it, add absent = [{quoted}] to the "
                    "requirement"
                )
            if similar is not None or otherwise is not None:
                raise PolicyError(
                    f"{required.name}: nobody has {text!r}, and somebody has "
                    f"{otherwise or similar!r}: write it as the table does; {way_out}"
                )


def _refuse_same_number(required: Requirement, text: str, printed_values: Iterable[str]) -> None:
    """Refuse a value that nobody has where somebody has the same number, written otherwise."""
    same_number = spelt_otherwise(text, printed_values)
    if same_number is not None:
        raise PolicyError(
            f"{required.name}: nobody has {text!r}, but {same_number!r} is the same number; write "
            f"it as the table does: {same_number!r}"
        )


def _is_there(text: str, printed_values: Collection[str]) -> bool:
    """True if somebody has a value that a text names."""
    return text in printed_values or (is_pattern(text) and bool(matching(text, printed_values)))


def held_by(counts: GroupCounts) -> list[Any]:
    """The values that somebody has."""
    return [counts.values[code] for code in np.flatnonzero(counts.totals)]


class NearestValues(NamedTuple):
    """The group whose different numbers, or dates, are nearest to each other."""

    lowest: str
    highest: str
    n_people: int
    n_narrow_groups: int  # groups in which all are within 10% of the lowest, or 30 days


def near_values(counts: GroupCounts) -> NearestValues | None:
    """The group in which different numbers, or dates, are nearest; None for other values.

    None, too, if there are few numbers, and in no group they are near each other. Somebody in such
    a group may be known to have about this number, whichever of them it is.
    """
    codes = np.flatnonzero(counts.totals)
    texts = [str(counts.values[code]) for code in codes]
    numbers = np.array([any(map(str.isnumeric, text)) for text in texts], dtype=bool)
    # At least half of the people must have a number or date.
    if counts.semantics != "single" or 2 * counts.totals[codes[numbers]].sum() < counts.n_people:
        return None
    numeric_texts = [text for text, is_number in zip(texts, numbers, strict=True) if is_number]
    try:
        line = Line.of(Labels(counts.values[code] for code in codes[numbers]))
    except UnsupportedError:
        return None
    if any(map(is_code, numeric_texts)):  # such as 007: near codes mean nothing
        return None
    # The position of each value on the line; -1 for one that is no number. An entry is a value
    # that occurs in a group.
    position_of_code = np.full(counts.n_values, -1, dtype=np.int64)
    position_of_code[codes[numbers]] = line.place
    position_of_entry = position_of_code[counts.codes]
    group_of_entry = np.repeat(np.arange(counts.n_groups), np.diff(counts.offsets))[
        position_of_entry >= 0
    ]
    position_of_entry = position_of_entry[position_of_entry >= 0]
    lowest = np.full(counts.n_groups, len(line.units), dtype=np.int64)
    highest = np.full(counts.n_groups, -1, dtype=np.int64)
    np.minimum.at(lowest, group_of_entry, position_of_entry)
    np.maximum.at(highest, group_of_entry, position_of_entry)
    varied_groups = np.flatnonzero(lowest < highest)  # with at least two different numbers
    if not len(varied_groups):
        return None
    lowest = lowest[varied_groups]
    highest = highest[varied_groups]
    sizes = counts.sizes[varied_groups]
    numeric = line.kind == "number"
    # Whether a window from the lowest value, as wide as is usual, reaches to the highest one.
    is_narrow = line.reach(Width("10%" if numeric else "30 days"))[lowest] >= highest
    if not is_narrow.any() and len(line.units) <= _FEW_NUMBERS:
        return None
    units = np.array(line.units, dtype=np.float64)
    spans = units[highest] - units[lowest]
    # Numbers are compared by the span as a share of the end that is nearer to 0; a span that
    # includes 0 is no such share, so it counts as infinitely wide. Dates have no such 0.
    ends = np.minimum(abs(units[lowest]), abs(units[highest])) * (
        units[lowest] * units[highest] > 0
    )
    shares = np.divide(spans, ends, out=np.full(len(spans), np.inf), where=ends > 0)
    # The narrowest group, and of equally narrow ones the largest, then the one of lowest numbers.
    nearest = np.lexsort((lowest, -sizes, spans, shares if numeric else spans))[0]
    texts_at: dict[int, list[str]] = {}
    for text, position_of_text in zip(numeric_texts, line.place, strict=True):
        texts_at.setdefault(int(position_of_text), []).append(text)
    first, last = (min(texts_at[int(end[nearest])]) for end in (lowest, highest))
    return NearestValues(first, last, int(sizes[nearest]), int(is_narrow.sum()))
