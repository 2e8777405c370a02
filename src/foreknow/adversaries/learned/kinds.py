"""Kinds of people: what statistics are by, numbers in bins or smoothed over their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from foreknow.adversaries.priors.signature_groups import FloatArray, SignatureGroups
from foreknow.data.people import Signature, Signatures
from foreknow.data.sparse import IntArray, combine, count_pairs

# A column of numbers with more than so many is cut into bins of about equally many people.
MOST_NUMBERS, BINS = 16, 10
# With a bandwidth, numbers are told apart by this part of their range.
_POINTS = 200


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of people that statistics are by."""

    attributes: tuple[str, ...]
    labels: Sequence[Signature]  # what each kind is called
    of_signature: IntArray  # the kind of each signature
    # how much the people of each kind count for another; None where only its own do
    near: FloatArray | None = None

    @classmethod
    def of(cls, signatures: Signatures, bandwidth: float | None = None) -> Kinds:
        """Tell people apart by their signatures; see `Learned` for what is done with numbers."""
        people = np.zeros(len(signatures.labels))
        np.add.at(people, signatures.codes, signatures.people)
        columns, places = [], []
        for at in range(len(signatures.attributes)):
            own = [label[at] for label in signatures.labels]
            names, codes, place = _column(own, people, bandwidth)
            columns.append((names, codes))
            places.append(place)
        keys, first = combine([codes for _, codes in columns], [len(names) for names, _ in columns])
        labels = [tuple(names[int(codes[i])] for names, codes in columns) for i in first.tolist()]
        near: FloatArray | None = None
        if bandwidth is not None:
            near = np.ones((len(labels), len(labels)))
            for (_, codes), place in zip(columns, places, strict=True):
                own_place = (codes if place is None else place[codes])[first]
                apart = np.abs(own_place[:, None] - own_place[None, :])
                if place is None:  # of labels, only equal ones are near
                    near *= apart == 0
                else:  # Epanechnikov's kernel
                    near *= np.maximum(1 - (apart / bandwidth) ** 2, 0)
        return cls(signatures.attributes, labels, keys.astype(np.int64), near)

    def groups(
        self, signatures: Signatures, value_offsets: IntArray, values: IntArray, counts: IntArray
    ) -> SignatureGroups:
        """The groups of a release, by kind."""
        n_groups = len(signatures.offsets) - 1
        of_cell = np.repeat(np.arange(n_groups), np.diff(signatures.offsets))
        people = count_pairs(
            of_cell,
            self.of_signature[signatures.codes],
            n_groups,
            len(self.labels),
            signatures.people,
        )
        return SignatureGroups(*people, value_offsets, values, counts)


def _column(
    labels: Sequence[str | None], people: FloatArray, bandwidth: float | None
) -> tuple[list[str | None], IntArray, FloatArray | None]:
    """Names of the kinds of one column, the kind of each label, and, of numbers, their places."""
    distinct = list(dict.fromkeys(labels))
    at = {label: i for i, label in enumerate(distinct)}
    codes = np.array([at[label] for label in labels], dtype=np.int64)
    numbers = [None if label is None else _number(label) for label in distinct]
    known = [x for x in numbers if x is not None]
    numeric = len(known) == sum(label is not None for label in distinct) and len(known) > 1
    if not numeric or (bandwidth is None and len(known) <= MOST_NUMBERS):
        return list(distinct), codes, None
    order = sorted(range(len(known)), key=lambda i: known[i])
    held = [i for i, x in enumerate(numbers) if x is not None]
    ranked = np.array([held[i] for i in order])
    amount = np.bincount(codes, people, minlength=len(distinct))[ranked]
    least, most = known[order[0]], known[order[-1]]
    if bandwidth is None:
        # A bin goes on until it has its share; equal numbers are never divided.
        before = np.cumsum(amount) - amount
        bins = np.floor(BINS * before / amount.sum()).astype(np.int64)
    else:
        spot = np.array([(known[i] - least) / ((most - least) or 1.0) for i in order])
        bins = np.round(spot * _POINTS).astype(np.int64)
    bins = np.unique(bins, return_inverse=True)[1].reshape(-1)
    names: list[str | None] = []
    for code in range(int(bins[-1]) + 1):
        ends = ranked[bins == code][[0, -1]]
        one, other = (distinct[i] for i in ends.tolist())
        names.append(one if one == other else f"{one} to {other}")
    kind = np.full(len(distinct), len(names), dtype=np.int64)
    kind[ranked] = bins
    missing = len(known) < len(distinct)
    names += [None] * missing
    if bandwidth is None:
        return names, kind[codes], None
    place = np.array([spot[bins == code].mean() for code in range(int(bins[-1]) + 1)])
    return names, kind[codes], np.append(place, [np.inf] * missing)


def _number(label: str) -> float | None:
    try:
        number = float(label)
    except ValueError:
        return None
    return number if isfinite(number) else None
