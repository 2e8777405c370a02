"""Values that look like a name that nobody has, and numbers that are near each other."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from foreknow.data.arrays import IntArray
from foreknow.data.columns.spellings import Spellings
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels, is_pattern, matching, spelt_otherwise
from foreknow.data.labels.windows import Line, Width
from foreknow.data.people.households import ELSEWHERE
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
    # By column and value: the values that stand in some set together with it.
    in_same_set: dict[tuple[str, str], set[str]] = {}
    for required in requirements:
        column = required.sensitive if required.sensitive in printed else main
        named_by_it = set[str]()
        for named_values in required.target.texts:
            texts = [*map(str, named_values)]
            named_by_it.update(texts)
            lists.append((required, column, texts, named_by_it))
        for members in required.target.together:
            texts = [*map(str, members)]
            for text in texts:
                in_same_set.setdefault((column, text), set()).update(texts)
        named_in_column[column] |= named_by_it
    for required, column, texts, named_by_it in lists:
        printed_values = printed[column]
        absent = [text for text in texts if not _is_there(text, printed_values)]
        # A set of which nobody has any value is more likely misspelt than meant.
        is_idle_set = required.target.is_idle(texts, absent)
        for text in absent:
            _refuse_same_number(required, text, printed_values)
            if text == ELSEWHERE:
                continue
            is_absent = text in required.absent and not is_idle_set
            if column not in spellings:
                spellings[column] = Spellings(printed_values)
            # Values that a policy names beside this one are surely meant as different ones.
            meant_as_others = named_in_column[column] if is_idle_set else {*texts}
            meant_as_others = meant_as_others | in_same_set.get((column, text), set())
            similar = None if is_absent else spellings[column].near(text, but=meant_as_others)
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
    places = np.full(counts.n_values, -1, dtype=np.int64)  # on the line, by code
    places[codes[numbers]] = line.place
    lowest, highest = _ends_of_groups(counts, places)
    varied_groups = np.flatnonzero(lowest < highest)  # with at least two different numbers
    if not len(varied_groups):
        return None
    lowest, highest = lowest[varied_groups], highest[varied_groups]
    sizes = counts.sizes[varied_groups]
    are_numbers = line.kind == "number"
    # Whether a window from the lowest value, as wide as is usual, reaches to the highest one.
    is_narrow = line.reach(Width("10%" if are_numbers else "30 days"))[lowest] >= highest
    if not is_narrow.any() and len(line.units) <= _FEW_NUMBERS:
        return None
    units = np.array(line.units, dtype=np.float64)
    low, high = units[lowest], units[highest]
    spans = high - low
    # Numbers are compared by the span as a share of the end that is nearer to 0; a span that
    # includes 0 is no such share, so it counts as infinitely wide. Dates have no such 0.
    nearer_end = np.where(low * high > 0, np.minimum(abs(low), abs(high)), 0.0)
    shares = np.divide(spans, nearer_end, out=np.full(len(spans), np.inf), where=nearer_end > 0)
    # The narrowest group, and of equally narrow ones the largest, then the one of lowest numbers.
    nearest, *_ = np.lexsort((lowest, -sizes, spans, shares if are_numbers else spans))
    texts_at: dict[int, list[str]] = {}
    for text, place in zip(numeric_texts, line.place, strict=True):
        texts_at.setdefault(int(place), []).append(text)
    return NearestValues(
        lowest=min(texts_at[int(lowest[nearest])]),
        highest=min(texts_at[int(highest[nearest])]),
        n_people=int(sizes[nearest]),
        n_narrow_groups=int(is_narrow.sum()),
    )


def _ends_of_groups(counts: GroupCounts, places: IntArray) -> tuple[IntArray, IntArray]:
    """The lowest and the highest place of each group's values; -1 for the highest if it has none.

    `places` has the place of each value by its code, and -1 for values that have no place.
    """
    place_of_cell = places[counts.codes]
    has_place = place_of_cell >= 0
    groups, place_of_cell = counts.cell_groups[has_place], place_of_cell[has_place]
    lowest = np.full(counts.n_groups, len(places), dtype=np.int64)
    highest = np.full(counts.n_groups, -1, dtype=np.int64)
    np.minimum.at(lowest, groups, place_of_cell)
    np.maximum.at(highest, groups, place_of_cell)
    return lowest, highest
