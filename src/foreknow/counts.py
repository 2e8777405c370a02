"""GroupCounts: how often each sensitive value occurs in each group, as sparse arrays.

It is what nearly every adversary needs of a release, and all of it. NumPy only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from foreknow.errors import DataError, did_you_mean
from foreknow.labels import Label, Labels, in_order
from foreknow.sparse import IntArray, count_pairs, ranges, row_sums

Semantics: TypeAlias = Literal["single", "set", "multiset"]

_MOST_PEOPLE = 2**53  # above it, a float no longer holds every whole number


@dataclass(frozen=True, eq=False, repr=False)
class GroupCounts:
    """Counts of sensitive values per group, as compressed sparse rows; immutable.

    Parameters
    ----------
    sizes : int64 array, shape (groups,)
        People per group (under ``set`` and ``multiset`` not the same as rows).
    offsets : int64 array, shape (groups + 1,)
        Cells of group g are ``offsets[g]:offsets[g + 1]`` of `codes` and `counts`.
    codes : int64 array, shape (cells,)
        Index into `values`; strictly increasing within a group.
    counts : int64 array, shape (cells,)
        Occurrences, at least 1.
    values : sequence of hashable labels
        The sensitive values; each once.
    groups : sequence of labels, optional
        A name for each group; positions 0, 1, ... when left out.
    semantics : {"single", "set", "multiset"}
        Whether a person has exactly one value, a set, or a bag of values.

    The arrays are kept, not copied: do not write to them afterwards.

    Raises
    ------
    DataError
        If the arrays contradict each other, a group has no people, or the counts of a group
        cannot come from its people.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["Flu", "Flu", "AIDS"], ["Flu", "Cancer"]])
    >>> counts
    GroupCounts(2 groups, 5 people, 3 values, single)
    >>> counts.bag(0)
    {'AIDS': 1, 'Flu': 2}
    """

    sizes: IntArray
    offsets: IntArray
    codes: IntArray
    counts: IntArray
    values: Labels
    groups: Sequence[Label] | None = None
    semantics: Semantics = "single"

    def __post_init__(self) -> None:
        if self.semantics not in get_args(Semantics):
            known = get_args(Semantics)
            raise DataError(
                f"semantics {self.semantics!r} is unknown{did_you_mean(str(self.semantics), known)}"
            )
        for name in ("sizes", "offsets", "codes", "counts"):
            object.__setattr__(self, name, _whole(getattr(self, name), name))
        if not isinstance(self.values, Labels):
            object.__setattr__(self, "values", Labels(self.values))
        self._check()

    # ---- building -------------------------------------------------------------------------

    @classmethod
    def from_bags(
        cls,
        bags: Iterable[Iterable[Label] | Mapping[Any, int]],
        *,
        groups: Sequence[Label] | None = None,
    ) -> GroupCounts:
        """Build from one bag of values per group, one value per person (``single``).

        Parameters
        ----------
        bags : iterable of iterables or of mappings value -> count
            The bag of each group.
        groups : sequence, optional
            A name for each group.

        Examples
        --------
        >>> GroupCounts.from_bags([{"Flu": 2, "AIDS": 1}]).sizes
        array([3])
        """
        tallies = [Counter(bag) for bag in bags]
        sizes = [sum(tally.values()) for tally in tallies]
        return cls._from_tallies(tallies, sizes, groups, "single")

    @classmethod
    def from_people(
        cls,
        people: Iterable[Iterable[Iterable[Label]]],
        *,
        semantics: Semantics = "set",
        groups: Sequence[Label] | None = None,
    ) -> GroupCounts:
        """Build from groups of people, each person given as a set or bag of values.

        Parameters
        ----------
        people : iterable of groups; a group is an iterable of people
            A person is an iterable of values; it may be empty unless `semantics` is ``single``.
        semantics : {"single", "set", "multiset"}
            Under ``set`` a repeated value of one person is an error.
        groups : sequence, optional
            A name for each group.

        Examples
        --------
        >>> GroupCounts.from_people([[{"Flu"}, {"Flu", "AIDS"}], [set()]], semantics="set").sizes
        array([2, 1])
        """
        tallies: list[Counter[Label]] = []
        sizes: list[int] = []
        for g, members in enumerate(people):
            tally: Counter[Label] = Counter()
            size = 0
            for p, person in enumerate(members):
                if isinstance(person, str):
                    raise DataError(
                        f"person {p} of group {g} is the text {person!r}; "
                        "give a set or list of values"
                    )
                own = list(person)
                if semantics == "single" and len(own) != 1:
                    raise DataError(
                        f"person {p} of group {g} has {len(own)} values; under 'single' "
                        "everyone has exactly one"
                    )
                if semantics == "set" and len(set(own)) != len(own):
                    raise DataError(
                        f"person {p} of group {g} has a value twice; use semantics='multiset'"
                    )
                tally.update(own)
                size += 1
            tallies.append(tally)
            sizes.append(size)
        return cls._from_tallies(tallies, sizes, groups, semantics)

    @classmethod
    def _from_tallies(
        cls,
        tallies: Sequence[Counter[Label]],
        sizes: Sequence[int],
        groups: Sequence[Label] | None,
        semantics: Semantics,
    ) -> GroupCounts:
        values = in_order({value for tally in tallies for value in tally})
        code = {value: i for i, value in enumerate(values)}
        offsets = np.cumsum([0, *(len(tally) for tally in tallies)])
        cells = [
            sorted((code[value], count) for value, count in tally.items()) for tally in tallies
        ]
        flat = [cell for row in cells for cell in row]
        return cls(
            np.asarray(sizes, dtype=np.int64),
            offsets,
            np.asarray([c for c, _ in flat], dtype=np.int64),
            np.asarray([n for _, n in flat], dtype=np.int64),
            Labels(values),
            groups,
            semantics,
        )

    @classmethod
    def from_pairs(
        cls,
        group_codes: NDArray[Any],
        value_codes: NDArray[Any],
        *,
        values: Sequence[Label],
        n_groups: int,
        groups: Sequence[Label] | None = None,
        weights: NDArray[Any] | None = None,
        sizes: NDArray[Any] | None = None,
        semantics: Semantics = "single",
    ) -> GroupCounts:
        """Build from one (group, value) pair per row, both as codes from 0.

        Parameters
        ----------
        group_codes, value_codes : integer arrays, shape (rows,)
            The group and the value of each row.
        values, groups : sequences
            Labels of the codes.
        n_groups : int
            Number of groups; each must occur.
        weights : integer array, optional
            How often each pair counts; 1 when left out.
        sizes : integer array, optional
            People per group; the rows of each group when left out.
        semantics : {"single", "set", "multiset"}
            As in `GroupCounts`.
        """
        offsets, codes, counts = count_pairs(
            group_codes, value_codes, n_groups, len(values), weights
        )
        if sizes is None:
            sizes = row_sums(counts, offsets)
        labels = values if isinstance(values, Labels) else Labels(values)
        return cls(sizes, offsets, codes, counts, labels, groups, semantics)

    # ---- looking --------------------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.sizes)

    @property
    def n_values(self) -> int:
        """Number of distinct sensitive values (some may occur in no group)."""
        return len(self.values)

    @cached_property
    def n_people(self) -> int:
        """Number of people over all groups."""
        return int(self.sizes.sum())

    @cached_property
    def cell_groups(self) -> IntArray:
        """The group of each cell, shape (cells,)."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.offsets))

    @cached_property
    def totals(self) -> IntArray:
        """Occurrences of each value over all groups, shape (values,)."""
        # Each partial sum is below 2**53, so the floats of bincount are exact.
        return np.bincount(self.codes, weights=self.counts, minlength=self.n_values).astype(
            np.int64
        )

    def code(self, value: Label) -> int:
        """Code of a value; raises `DataError` with a hint when there is no such value."""
        try:
            return self.values.codes[value]
        except (KeyError, TypeError):
            hint = did_you_mean(str(value), [str(v) for v in self.values[:1000]])
            raise DataError(f"no group contains the sensitive value {value!r}{hint}") from None

    def group_label(self, group: int) -> Label:
        """Name of a group by its position."""
        return group if self.groups is None else self.groups[group]

    def bag(self, group: int) -> dict[Label, int]:
        """Counts of one group, by value label."""
        cells = slice(self.offsets[group], self.offsets[group + 1])
        pairs = zip(self.codes[cells].tolist(), self.counts[cells].tolist(), strict=True)
        return {self.values[code]: count for code, count in pairs}

    def top_sums(self, most: int) -> IntArray:
        """Sum of the `most` largest counts of each group (of all, where there are fewer)."""
        most = min(most, self.n_values)
        ends = np.minimum(self.offsets[:-1] + most, self.offsets[1:])
        running = self._running_descending
        return running[ends] - running[self.offsets[:-1]]

    @cached_property
    def _running_descending(self) -> IntArray:
        """Running total of all counts, largest first within each group; starts with 0."""
        top = int(self.counts.max(initial=0)) + 1
        if self.n_groups * top < 2**62:
            keys = self.cell_groups * top
            keys += top - 1 - self.counts
            if self.n_groups * top < 2**31:
                keys = keys.astype(np.int32)
            keys.sort(kind="stable")  # nearly sorted already: much faster than quicksort here
            descending = top - 1 - keys.astype(np.int64) % top
        else:
            descending = self.counts[np.lexsort((-self.counts, self.cell_groups))]
        return np.concatenate(([0], np.cumsum(descending)))

    def take(self, groups: NDArray[Any]) -> GroupCounts:
        """Only the given groups (positions, or a boolean mask), in that order."""
        wanted = np.asarray(groups)
        if wanted.dtype == bool:
            wanted = np.flatnonzero(wanted)
        cells, offsets = ranges(self.offsets[wanted], self.offsets[wanted + 1])
        names = None if self.groups is None else [self.groups[g] for g in wanted.tolist()]
        return GroupCounts(
            self.sizes[wanted],
            offsets,
            self.codes[cells],
            self.counts[cells],
            self.values,
            names,
            self.semantics,
        )

    def merge(self, into: ArrayLike) -> GroupCounts:
        """Unite groups: group g goes into the new group ``into[g]``; codes from 0, none empty."""
        target = np.asarray(into, dtype=np.int64)
        n_groups = int(target.max(initial=-1)) + 1
        return GroupCounts.from_pairs(
            target[self.cell_groups],
            self.codes,
            values=self.values,
            n_groups=n_groups,
            weights=self.counts,
            sizes=np.bincount(target, weights=self.sizes, minlength=n_groups).astype(np.int64),
            semantics=self.semantics,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, ready for JSON where the labels are."""
        return {
            "semantics": self.semantics,
            "values": list(self.values),
            "groups": None if self.groups is None else list(self.groups),
            "sizes": self.sizes.tolist(),
            "offsets": self.offsets.tolist(),
            "codes": self.codes.tolist(),
            "counts": self.counts.tolist(),
        }

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupCounts):
            return NotImplemented
        names = ("sizes", "offsets", "codes", "counts")
        return (
            self.semantics == other.semantics
            and self.values == other.values
            and all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"GroupCounts({self.n_groups} groups, {self.n_people} people, "
            f"{self.n_values} values, {self.semantics})"
        )

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>"

    # ---- checking -------------------------------------------------------------------------

    def _check(self) -> None:
        sizes, offsets, codes, counts = self.sizes, self.offsets, self.codes, self.counts
        if len(offsets) != len(sizes) + 1 or offsets[0] != 0 or offsets[-1] != len(codes):
            raise DataError(
                f"offsets must have {len(sizes) + 1} entries from 0 to {len(codes)} "
                f"for {len(sizes)} groups and {len(codes)} cells"
            )
        if len(counts) != len(codes):
            raise DataError(f"{len(codes)} codes but {len(counts)} counts")
        if np.any(offsets[1:] < offsets[:-1]):
            raise DataError("offsets must not decrease")
        if self.groups is not None and len(self.groups) != len(sizes):
            raise DataError(f"{len(sizes)} groups but {len(self.groups)} group labels")
        if len(sizes) and sizes.min() < 1:
            g = int(np.argmin(sizes))
            raise DataError(f"group {self.group_label(g)!r} has {int(sizes[g])} people, not 1+")
        if len(codes):
            if codes.min() < 0 or codes.max() >= len(self.values):
                raise DataError(f"value codes must lie in 0..{len(self.values) - 1}")
            if counts.min() < 1:
                raise DataError("counts must be at least 1; leave a value out where it is absent")
            rising = codes[1:] > codes[:-1]
            starts = offsets[1:-1]
            rising[starts[(starts > 0) & (starts < len(codes))] - 1] = True
            if not rising.all():
                raise DataError("value codes must increase strictly within each group")
        for name, amounts in (("people", sizes), ("occurrences", counts)):
            total = float(amounts.sum(dtype=np.float64))
            if total > _MOST_PEOPLE:
                raise DataError(f"{total:.3g} {name} in all: more than 2**53 cannot be counted")
        self._check_semantics()

    def _check_semantics(self) -> None:
        if self.semantics == "single":
            wrong = np.flatnonzero(row_sums(self.counts, self.offsets) != self.sizes)
            if len(wrong):
                g = int(wrong[0])
                held = int(self.counts[self.offsets[g] : self.offsets[g + 1]].sum())
                raise DataError(
                    f"group {self.group_label(g)!r} has {int(self.sizes[g])} people but {held} "
                    "values; under 'single' everyone has exactly one"
                )
        elif self.semantics == "set":
            wrong = np.flatnonzero(self.counts > self.sizes[self.cell_groups])
            if len(wrong):
                cell = int(wrong[0])
                g = int(self.cell_groups[cell])
                raise DataError(
                    f"value {self.values[int(self.codes[cell])]!r} occurs "
                    f"{int(self.counts[cell])} times among the {int(self.sizes[g])} people of "
                    f"group {self.group_label(g)!r}; under 'set' nobody has a value twice"
                )


def _whole(array: Any, name: str) -> IntArray:
    """A read-only int64 copy-free view of whole numbers."""
    given = np.asarray(array)
    if given.ndim != 1:
        raise DataError(f"{name} must be a flat array, not of shape {given.shape}")
    if given.dtype.kind not in "iu" and given.size:
        raise DataError(f"{name} must hold whole numbers, not {given.dtype}")
    if given.dtype == np.uint64 and given.size and given.max() > np.iinfo(np.int64).max:
        raise DataError(f"{name} holds a number above 2**63 - 1")
    view = given.astype(np.int64, copy=False).view()
    view.flags.writeable = False
    return view
