"""Checks of GroupCounts: arrays that fit together, counts that people can have, labelled values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from foreknow.errors import DataError
from foreknow.labels import Label, is_label, is_missing, not_a_label
from foreknow.sparse import IntArray, row_sums

if TYPE_CHECKING:
    from foreknow.counts import GroupCounts

_MOST_PEOPLE = 2**53  # above it, a float no longer holds every whole number


def check_counts(made: GroupCounts) -> None:
    """Raise `DataError` if the arrays contradict each other or the semantics."""
    if (missing := made.values.first_missing) is not None:
        raise DataError(f"the value label {missing} is {not_a_label(made.values[missing])}")
    sizes, offsets, codes, counts = made.sizes, made.offsets, made.codes, made.counts
    if len(offsets) != len(sizes) + 1 or offsets[0] != 0 or offsets[-1] != len(codes):
        raise DataError(
            f"offsets must have {len(sizes) + 1} entries from 0 to {len(codes)} "
            f"for {len(sizes)} groups and {len(codes)} cells"
        )
    if len(counts) != len(codes):
        raise DataError(f"{len(codes)} codes but {len(counts)} counts")
    if np.any(offsets[1:] < offsets[:-1]):
        raise DataError("offsets must not decrease")
    if made.groups is not None and len(made.groups) != len(sizes):
        raise DataError(f"{len(sizes)} groups but {len(made.groups)} group labels")
    if len(sizes) and sizes.min() < 1:
        g = int(np.argmin(sizes))
        raise DataError(f"group {made.group_label(g)!r} has {int(sizes[g])} people, not 1+")
    if len(codes):
        if codes.min() < 0 or codes.max() >= len(made.values):
            raise DataError(f"value codes must lie in 0..{len(made.values) - 1}")
        if counts.min() < 1:
            raise DataError("counts must be at least 1; leave a value out where it is absent")
        rising = codes[1:] > codes[:-1]
        starts = offsets[1:-1]
        rising[starts[(starts > 0) & (starts < len(codes))] - 1] = True
        if not rising.all():
            raise DataError("value codes must increase strictly within each group")
    check_total(sizes, "people")
    check_total(counts, "occurrences")
    _check_semantics(made)


def _check_semantics(made: GroupCounts) -> None:
    if made.semantics == "single":
        wrong = np.flatnonzero(row_sums(made.counts, made.offsets) != made.sizes)
        if len(wrong):
            g = int(wrong[0])
            held = int(made.counts[made.offsets[g] : made.offsets[g + 1]].sum())
            raise DataError(
                f"group {made.group_label(g)!r} has {int(made.sizes[g])} people but {held} "
                "values; under 'single' everyone has exactly one"
            )
    elif made.semantics == "set":
        wrong = np.flatnonzero(made.counts > made.sizes[made.cell_groups])
        if len(wrong):
            cell = int(wrong[0])
            g = int(made.cell_groups[cell])
            raise DataError(
                f"value {made.values[int(made.codes[cell])]!r} occurs "
                f"{int(made.counts[cell])} times among the {int(made.sizes[g])} people of "
                f"group {made.group_label(g)!r}; under 'set' nobody has a value twice"
            )


def whole(array: Any, name: str) -> IntArray:
    """View whole numbers as read-only int64, without a copy where they are."""
    try:
        given = np.asarray(array)
        if given.dtype == object:
            given = given.astype(np.int64)
    except (OverflowError, TypeError, ValueError):
        raise DataError(f"{name} must hold whole numbers below 2**63") from None
    if given.ndim != 1:
        raise DataError(f"{name} must be a flat array, not of shape {given.shape}")
    if given.dtype.kind not in "iu" and given.size:
        raise DataError(f"{name} must hold whole numbers, not {given.dtype}")
    if given.dtype == np.uint64 and given.size and given.max() > np.iinfo(np.int64).max:
        raise DataError(f"{name} holds a number above 2**63 - 1")
    view = given.astype(np.int64, copy=False).view()
    view.flags.writeable = False
    return view


def check_codes(codes: NDArray[Any], size: int, what: str) -> None:
    """Raise `DataError` for codes outside of 0..size - 1."""
    if codes.dtype.kind not in "iu" and codes.size:
        raise DataError(f"{what} codes must be whole numbers, not {codes.dtype}")
    if codes.size and (codes.min() < 0 or codes.max() >= size):
        raise DataError(f"{what} codes must lie in 0..{size - 1}")


def check_total(amounts: IntArray, what: str) -> None:
    """Raise `DataError` for amounts whose sum a float cannot hold."""
    rough = float(amounts.sum(dtype=np.float64))
    if rough > 2**60 or (rough > 2**52 and sum(amounts.tolist()) > _MOST_PEOPLE):
        raise DataError(f"{rough:.3g} {what} in all: more than 2**53 cannot be counted")


def tally_of(
    bag: Iterable[Label] | Mapping[Any, int], g: int, groups: Sequence[Label] | None
) -> Counter[Label]:
    """Count the values of a bag; raise `DataError` for one that is missing or cannot be counted."""
    group = f"group {g}" if groups is None or g >= len(groups) else f"group {groups[g]!r}"
    if not isinstance(bag, Iterable):
        raise DataError(f"{group} is {bag!r}; give the values of its people as a list")
    if isinstance(bag, Mapping):
        tally: Counter[Label] = Counter()
        for value, count in bag.items():
            if is_missing(value):
                raise DataError(f"{group}: a value is {not_a_label(value)}")
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
                raise DataError(f"{group}: the count of {value!r} is {count!r}, not whole")
            tally[value] = int(count)  # of NumPy's, sums would overflow
        return tally
    values = list(bag)
    try:
        tally = Counter(values)
        if not any(map(is_missing, tally)):
            return tally
    except TypeError:  # one cannot be looked up
        pass
    place = next(i for i, v in enumerate(values) if is_missing(v) or not is_label(v))
    raise DataError(f"{group}: value {place} is {not_a_label(values[place])}")


def values_of(person: Any, whose: str, semantics: str) -> list[Label]:
    """List the values of a person; raise `DataError` for one that is missing or no label."""
    if isinstance(person, (str, bytes, Mapping)) or not isinstance(person, Iterable):
        what = "the text " if isinstance(person, str) else ""
        raise DataError(f"{whose} is {what}{person!r}; give a set or list of values")
    own = list(person)
    for value in own:
        if type(value) is str:
            continue
        if is_missing(value):
            way_out = "label it, such as 'missing'"
            if semantics != "single":
                way_out += "; or leave it out: an empty set means that they have none"
            raise DataError(f"{whose} has a missing value ({value}); {way_out}")
        if not is_label(value):
            raise DataError(f"{whose} has the value {not_a_label(value)}")
    return own
