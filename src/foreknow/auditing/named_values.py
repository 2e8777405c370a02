"""Values that look like a name that nobody has, and numbers that are near each other."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from foreknow.data.counts import GroupCounts
from foreknow.data.engines.households import ELSEWHERE
from foreknow.data.labels import Labels, is_pattern, matching, spelt_otherwise
from foreknow.data.spellings import Spellings
from foreknow.data.windows import Line, Width
from foreknow.policy.requirement import Requirement
from foreknow_judge.errors import PolicyError, UnsupportedError
from foreknow_judge.numbers import is_code

# So many numbers may be ratings, or codes.
_FEW_NUMBERS = 20


def refuse_misspelt(
    columns: Mapping[str, Iterable[Any]], requirements: Iterable[Requirement]
) -> None:
    """Refuse a named value that nobody has where a value of its column looks like it.

    Of several `columns`, the first is that of requirements that name none.
    """
    main = next(iter(columns))
    printed = {name: dict.fromkeys(sorted(map(str, values))) for name, values in columns.items()}
    spellings: dict[str, Spellings] = {}
    named: dict[str, set[str]] = {name: set() for name in printed}
    lists: list[tuple[Requirement, str, list[str]]] = []
    for required in requirements:
        column = required.sensitive if required.sensitive in printed else main
        for values_named in required.target.texts:
            texts = [*map(str, values_named)]
            named[column].update(texts)
            lists.append((required, column, texts))
    for required, column, texts in lists:
        printed_values = printed[column]
        absent = [text for text in texts if not _is_there(text, printed_values)]
        is_idle_set = len(absent) == len(texts) > 1 and required.about_sets
        for text in absent:
            _refuse_same_number(required, text, printed_values)
            if text == ELSEWHERE or (text in required.absent and not is_idle_set):
                continue
            if column not in spellings:
                spellings[column] = Spellings(printed_values)
            near = spellings[column].near(text, but=named[column] if is_idle_set else texts)
            if near is not None:
                quoted = json.dumps(text, ensure_ascii=False)
                way_out = (
                    f"if {text!r} is meant, though nobody has it, add absent = [{quoted}] to the "
                    "requirement"
                )
                if is_idle_set:
                    way_out = "if really nobody has a value of this set, leave the set out"
                raise PolicyError(
                    f"{required.name}: nobody has {text!r}, and somebody has {near!r}: write it "
                    f"as the table does, also in a map of codes; {way_out}"
                )


def _refuse_same_number(required: Requirement, text: str, printed_values: Iterable[str]) -> None:
    """Refuse a value that nobody has where somebody has the same number, written otherwise."""
    if (same_number := spelt_otherwise(text, printed_values)) is not None:
        raise PolicyError(
            f"{required.name}: nobody has {text!r}, but {same_number!r} is the same number; write "
            "it as "
            f"the table does: {same_number!r}"
        )


def _is_there(text: str, printed_values: Collection[str]) -> bool:
    """True if somebody has a value that a text names."""
    return text in printed_values or (is_pattern(text) and bool(matching(text, printed_values)))


def held_by(counts: GroupCounts) -> list[Any]:
    """The values that somebody has."""
    return [counts.values[code] for code in np.flatnonzero(counts.totals)]


def near_values(counts: GroupCounts) -> tuple[str, str, int, int] | None:
    """The groups in which different numbers, or dates, are nearest; None of other values.

    The lowest and the highest value of the nearest group and how many people it has; in how many
    groups all are within 10% of the lowest, or 30 days. None, too, where there are few numbers,
    and in no group these are near each other.
    """
    codes = np.flatnonzero(counts.totals)
    texts = [str(counts.values[code]) for code in codes]
    numbers = np.array([any(map(str.isnumeric, text)) for text in texts], dtype=bool)
    if counts.semantics != "single" or 2 * counts.totals[codes[numbers]].sum() < counts.n_people:
        return None
    numeric_texts = [text for text, is_number in zip(texts, numbers, strict=True) if is_number]
    try:
        line = Line.of(Labels(counts.values[code] for code in codes[numbers]))
    except UnsupportedError:
        return None
    if any(map(is_code, numeric_texts)):
        return None
    place = np.full(counts.n_values, -1, dtype=np.int64)
    place[codes[numbers]] = line.place
    of_entry = place[counts.codes]
    group = np.repeat(np.arange(counts.n_groups), np.diff(counts.offsets))[of_entry >= 0]
    of_entry = of_entry[of_entry >= 0]
    low = np.full(counts.n_groups, len(line.units), dtype=np.int64)
    high = np.full(counts.n_groups, -1, dtype=np.int64)
    np.minimum.at(low, group, of_entry)
    np.maximum.at(high, group, of_entry)
    several = np.flatnonzero(low < high)
    if not len(several):
        return None
    low, high, sizes = low[several], high[several], counts.sizes[several]
    numeric = line.kind == "number"
    narrow = line.reach(Width("10%" if numeric else "30 days"))[low] >= high
    if not narrow.any() and len(line.units) <= _FEW_NUMBERS:
        return None
    units = np.array(line.units, dtype=np.float64)
    spans = units[high] - units[low]
    ends = np.minimum(abs(units[low]), abs(units[high])) * (units[low] * units[high] > 0)
    shares = np.divide(spans, ends, out=np.full(len(spans), np.inf), where=ends > 0)
    nearest = np.lexsort((low, -sizes, spans, shares if numeric else spans))[0]
    texts_at: dict[int, list[str]] = {}
    for text, position in zip(numeric_texts, line.place, strict=True):
        texts_at.setdefault(int(position), []).append(text)
    first, last = (min(texts_at[int(end[nearest])]) for end in (low, high))
    return first, last, int(sizes[nearest]), int(narrow.sum())
