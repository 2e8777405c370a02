"""Fit: how likely each value is for each kind of people, by maximum likelihood from the bags.

Given statistics, people have their values independently of each other, and a release shows of each
group which kinds its people are of, and its bag. Expectation: how many people of each kind of each
group have each value, on average over its worlds. Maximization: these shares.

Smoothing adds people with the values of everybody to each kind (the mode of a Dirichlet prior), so
no value is impossible. How many is what predicts groups best that were not learned from: where
kinds tell nothing, what is learned is the values of everybody, and not the noise of the sample.

Steps are extrapolated (Varadhan and Roland 2008), and an extrapolation that does not raise the
likelihood is dropped. Nothing here sees who has which value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.learned.expectation import ENDING, LEARNING, Layout
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


# ---- kinds of people ----------------------------------------------------------------------------


# Where a step changes no chance by more than this, or after so many steps, it is the end.
TOLERANCE, STEPS = 1e-6, 400
ENDING_STEPS = 100
# Starts go through the groups of so many people, drawn at random where there are more; then
# through all.
SAMPLE, SAMPLE_STEPS = 10_000, 150
# How many people smooth, of which one is chosen; from the most, each from where the last ended,
# moved a little so that it leaves a saddle. It ends where it falls so far behind the best.
SMOOTHINGS = tuple(4.0**power for power in range(8, -1, -1))
_FOLD_STEPS, _NUDGE, _BEHIND = 60, 0.05, 10.0
# A brief look takes fewer smoothings and steps, and ends where a step changes less than this.
_BRIEF_STEPS, _BRIEF = 20, 1e-3
# Maxima within so much of each other in every chance are one.
_SAME = 0.02
# A maximum whose likelihood is so much lower (its logarithm) is not considered.
_APART = 20.0
# Chances whose errors are worked out at most: it takes the square of them.
MOST_ERRORS = 600
_NUMBERS = 1 << 22


@dataclass(frozen=True)
class Start:
    """What came of one start."""

    likelihood: float  # its logarithm, with smoothing, up to a constant, where it ended
    steps: int
    change: float  # how much the last step changed a chance at most

    @property
    def converged(self) -> bool:
        """Whether steps had come to an end."""
        return self.change <= TOLERANCE


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """Statistics that were learned from a release, and how surely."""

    kinds: Kinds
    layout: Layout
    # by kind and value; the mean over maxima that are as likely, by their likelihood
    chances: FloatArray
    amounts: FloatArray  # by kind and value, how many people have it, on average over worlds
    overall: FloatArray  # how frequent each value is
    smoothing: float  # so many people with the values of everybody count for each kind
    # by smoothing, the likelihood of groups not learned from; empty where it was given
    held_out: Mapping[float, float]
    starts: tuple[Start, ...]  # on a sample, where there are many groups
    # the different ones that were reached, on all groups; the likeliest first
    maxima: tuple[Start, ...]
    # how far maxima as likely differ; much more than errors: the release does not tell
    apart: float
    seed: int
    people: FloatArray = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether the likeliest maximum was reached."""
        return self.maxima[0].converged

    @cached_property
    def balanced_people(self) -> float:
        """Share of people in groups out of reach of exact posteriors."""
        layout = self.layout
        amounts = layout.times * layout.cases.sizes
        return float(amounts[layout.balanced].sum() / amounts.sum())

    @cached_property
    def covariance(self) -> FloatArray | None:
        """Inverse empirical information of chances; None where over 600, or smoothed."""
        n_kinds, n_values = self.chances.shape
        size = n_kinds * n_values
        if size > MOST_ERRORS or self.kinds.near is not None:
            return None
        layout = self.layout
        cases = layout.cases
        found = layout.expected(self.chances[layout.signature, layout.value]).posteriors
        information = np.zeros((size, size))
        step = max(_NUMBERS // size, 1)
        for start in range(0, cases.n_groups, step):
            end = min(start + step, cases.n_groups)
            pull = np.zeros((end - start, n_kinds, n_values))
            rows = slice(int(cases.offsets[start]), int(cases.offsets[end]))
            own = np.repeat(np.arange(end - start), np.diff(cases.offsets[start : end + 1]))
            kind = cases.signatures[rows]
            pull[own, kind] = -cases.people[rows, None] * self.chances[kind]
            cells = slice(int(layout.offsets[start]), int(layout.offsets[end]))
            at = layout.case[cells] - start, layout.signature[cells], layout.value[cells]
            pull[at] += layout.people[cells] * found[cells]
            flat = pull.reshape(end - start, size) * np.sqrt(layout.times[start:end, None])
            information += flat.T @ flat
        # From the log-odds of a row to its chances; smoothing counts as what it adds.
        turn = np.zeros((size, size))
        for which, row in enumerate(self.chances):
            block = slice(which * n_values, (which + 1) * n_values)
            turn[block, block] = np.diag(row) - np.outer(row, row)
        information += self.smoothing * turn
        inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
        return np.asarray(turn @ inverse @ turn)

    @cached_property
    def errors(self) -> FloatArray | None:
        """Standard error of each chance; None where they were not worked out."""
        if self.covariance is None:
            return None
        spread = np.sqrt(np.maximum(np.diag(self.covariance), 0))
        return np.asarray(spread.reshape(self.chances.shape))

    @cached_property
    def without_own(self) -> FloatArray:
        """By cell: the chance that all other groups teach. What a group is about is not counted."""
        whole, own, others = self._of_others
        value = self.layout.value
        found = whole[self.layout.signature, value] - own
        return self._taught(found, others, self.overall[value])

    def others_teach(
        self, rows: IntArray, first: IntArray, about: NDArray[np.bool_], codes: Sequence[int]
    ) -> FloatArray:
        """By row of cells: the same of any of some values, of which the cells `about` are."""
        whole, own, others = self._of_others
        held = np.bincount(rows[about], own[about], minlength=len(first))
        found = whole[self.layout.signature[first]][:, codes].sum(axis=1) - held
        share = np.full(len(first), self.overall[list(codes)].sum())
        return self._taught(found, others[first], share)

    def _taught(self, found: FloatArray, others: FloatArray, share: FloatArray) -> FloatArray:
        amount = others + self.smoothing
        found = np.clip(found, 0, others) + self.smoothing * share
        return np.where(amount > 0, found / np.where(amount > 0, amount, 1), share)

    @cached_property
    def _of_others(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """People by kind and value; by cell: those of its own group, and how many others."""
        layout, near = self.layout, self.kinds.near
        posteriors = layout.expected(self.chances[layout.signature, layout.value]).posteriors
        whole = self.amounts if near is None else near @ self.amounts
        everybody = self.people if near is None else near @ self.people
        own, size = layout.people * posteriors, layout.people
        if near is not None:
            own, size = self._own_by_kernel(own, near)
        return whole, own, np.maximum(everybody[layout.signature] - size, 0)

    def _own_by_kernel(self, own: FloatArray, near: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the people of its own group count for each cell, and how many they are."""
        cases, offsets = self.layout.cases, self.layout.offsets
        rows, columns = np.diff(cases.offsets), np.diff(cases.value_offsets)
        found, size = np.zeros(len(own)), np.zeros(len(own))
        shapes = rows * (int(columns.max()) + 1) + columns
        for shape in np.unique(shapes).tolist():
            some = np.flatnonzero(shapes == shape)
            n_rows, n_columns = int(rows[some[0]]), int(columns[some[0]])
            for part in np.array_split(some, max(len(some) * n_rows**2 // _NUMBERS, 1)):
                kinds = cases.offsets[part][:, None] + np.arange(n_rows)
                at = offsets[part][:, None] + np.arange(n_rows * n_columns)
                codes = cases.signatures[kinds]
                weight = near[codes[:, :, None], codes[:, None, :]]
                held = own[at].reshape(len(part), n_rows, n_columns)
                found[at] = (weight @ held).reshape(len(part), -1)
                number = (weight @ cases.people[kinds][:, :, None].astype(float))[:, :, 0]
                size[at] = np.repeat(number, n_columns, axis=1)
        return found, size

    def to_dict(self) -> dict[str, Any]:
        """How it was learned, and how surely, as plain values for JSON."""
        return {
            "kinds": len(self.kinds.labels),
            "smoothing": self.smoothing,
            "held_out": {f"{s:g}": height for s, height in self.held_out.items()},
            "seed": self.seed,
            "starts": len(self.starts),
            "maxima": len(self.maxima),
            "apart": self.apart,
            "converged": self.converged,
            "steps": self.maxima[0].steps,
            "change": self.maxima[0].change,
            "highest_error": None if self.errors is None else float(self.errors.max()),
            "balanced_people": self.balanced_people,
        }

    def __repr__(self) -> str:
        ended = "converged" if self.converged else "NOT converged"
        return (
            f"Fit({len(self.kinds.labels)} kinds by {', '.join(self.kinds.attributes)}, "
            f"{self.chances.shape[1]} values: {ended} in {self.maxima[0].steps} steps, "
            f"{len(self.maxima)} maxima of {len(self.starts)} starts)"
        )


class _Climb:
    """Steps of expectation and maximization over some groups."""

    def __init__(self, layout: Layout, kinds: Kinds, n_values: int, smoothing: float) -> None:
        self.layout, self.kinds, self.smoothing = layout, kinds, smoothing
        self.shape = len(kinds.labels), n_values
        self.at = layout.signature * n_values + layout.value
        self.weight = layout.times[layout.case] * layout.people
        self.people = self.sums(np.full(len(self.at), 1.0), of_value=False)
        totals = self.sums(layout.alone).sum(axis=0)
        self.overall = totals / totals.sum()

    def sums(self, posteriors: FloatArray, *, of_value: bool = True) -> FloatArray:
        """People by kind and value, or by kind."""
        if of_value:
            size = self.shape[0] * self.shape[1]
            found = np.bincount(self.at, self.weight * posteriors, minlength=size)
            return np.asarray(found.reshape(self.shape), dtype=np.float64)
        cases = self.layout.cases
        case = np.repeat(np.arange(cases.n_groups), np.diff(cases.offsets))
        amounts = cases.people * self.layout.times[case]
        found = np.bincount(cases.signatures, amounts, minlength=self.shape[0])
        return np.asarray(found, dtype=np.float64)

    def chances(self, amounts: FloatArray) -> FloatArray:
        """The likeliest chances, if people have their values in these amounts."""
        near, people = self.kinds.near, self.people
        if near is not None:
            amounts, people = near @ amounts, near @ people
        found = amounts + self.smoothing * self.overall
        total = (people + self.smoothing)[:, None]
        return np.asarray(np.where(total > 0, found / np.where(total > 0, total, 1), self.overall))

    def step(self, chances: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """The next chances, the amounts they are of, and the likelihood of the given ones."""
        found = self.layout.expected(chances.ravel()[self.at])
        amounts = self.sums(found.posteriors)
        likelihood = float(self.layout.times @ found.weights)
        if self.smoothing:
            had = self.overall > 0
            likelihood += self.smoothing * float(
                (np.log(np.maximum(chances[:, had], 1e-300)) @ self.overall[had]).sum()
            )
        return self.chances(amounts), amounts, likelihood

    def climb(
        self, chances: FloatArray, most: int, enough: float = TOLERANCE
    ) -> tuple[Start, FloatArray, FloatArray]:
        """Go on until nothing changes; what came of it, the chances and the amounts."""
        steps, change = 0, np.inf
        plain = self.kinds.near is not None  # there the likelihood need not rise
        while True:
            one, amounts, height = self.step(chances)
            steps += 1
            change = float(np.abs(one - chances).max())
            if change <= enough or steps >= most:
                return Start(height, steps, change), one, amounts
            if plain:
                chances = one
                continue
            two, _, height = self.step(one)
            steps += 1
            ahead = _extrapolated(chances, one, two)
            three, _, reached = self.step(ahead)
            steps += 1
            chances = three if reached >= height else two


def _extrapolated(zero: FloatArray, one: FloatArray, two: FloatArray) -> FloatArray:
    """Where two steps lead to, if they go on as they do."""
    first, second = one - zero, two - 2 * one + zero
    bend = float(np.sqrt((second**2).sum()))
    length = 1.0 if bend == 0 else max(1.0, float(np.sqrt((first**2).sum())) / bend)
    ahead = zero + 2 * length * first + length**2 * second
    ahead = np.where(two > 0, np.maximum(ahead, two * 1e-2), 0.0)
    return np.asarray(ahead / ahead.sum(axis=1, keepdims=True))


def fit(
    groups: SignatureGroups,
    kinds: Kinds,
    n_values: int,
    *,
    smoothing: float | None = None,
    starts: int = 5,
    seed: int = 0,
    brief: bool = False,
) -> Fit:
    """Learn statistics from several starts; the first is the groups' own frequencies.

    A smoothing that is not given is chosen on halves of the groups.
    The others come in pairs, drawn at random and mirrored, so that where two kinds could be
    exchanged, both ways are found.
    """
    random = np.random.default_rng(seed)
    layout, some = Layout.of(groups, LEARNING), groups
    if int(groups.sizes.sum()) > SAMPLE:
        order = random.permutation(groups.n_groups)
        several = int(np.searchsorted(np.cumsum(groups.sizes[order]), SAMPLE)) + 1
        some = groups.take(np.sort(order[:several]))
    held_out: dict[float, float] = {}
    if smoothing is None:
        held_out = _held_out(some, kinds, n_values, random, brief=brief)
        best = max(held_out.values())
        # Where all predict alike, nothing is learned.
        smoothing = max(s for s, height in held_out.items() if height >= best - 1e-6)
    whole = _Climb(layout, kinds, n_values, smoothing)
    part = (
        whole if some is groups else _Climb(Layout.of(some, LEARNING), kinds, n_values, smoothing)
    )
    begins = [part.chances(part.sums(part.layout.alone))]
    for _ in range(starts // 2):
        drift = random.normal(size=(len(kinds.labels), n_values))
        begins += [_drifted(whole.overall, drift), _drifted(whole.overall, -drift)]
    most = STEPS if part is whole else SAMPLE_STEPS
    enough = _BRIEF if brief else TOLERANCE
    tried = [part.climb(begin, most, enough) for begin in begins[:starts]]
    reached = _different(tried)
    if part is not whole:
        reached = _different([whole.climb(chances, STEPS) for _, chances, _ in reached])
    ending = layout if brief else Layout.of(groups, ENDING)
    if (layout.balanced & ~ending.balanced).any():  # what was near is followed to where it leads
        last = _Climb(ending, kinds, n_values, smoothing)
        near = [each for each in reached if each[0].likelihood >= reached[0][0].likelihood - _APART]
        reached = _different([last.climb(chances, ENDING_STEPS) for _, chances, _ in near])
    top = reached[0][0].likelihood
    chosen = [each for each in reached if each[0].likelihood >= top - _APART]
    weights = np.exp([each[0].likelihood - top for each in chosen])
    weights /= weights.sum()
    amounts = sum(w * each[2] for w, each in zip(weights, chosen, strict=True))
    counted = [each[1] for w, each in zip(weights, chosen, strict=True) if w > 0.01]
    apart = max((float(np.abs(one - counted[0]).max()) for one in counted), default=0.0)
    return Fit(
        kinds,
        layout if brief else Layout.of(groups),
        whole.chances(np.asarray(amounts)),
        np.asarray(amounts),
        whole.overall,
        smoothing,
        held_out,
        tuple(each[0] for each in tried),
        tuple(each[0] for each in reached),
        apart,
        seed,
        whole.people,
    )


def _held_out(
    groups: SignatureGroups,
    kinds: Kinds,
    n_values: int,
    random: np.random.Generator,
    *,
    brief: bool = False,
) -> dict[float, float]:
    """How well each smoothing predicts either half of the groups from the other."""
    order = random.permutation(groups.n_groups)
    halves = [np.sort(order[side::2]) for side in (0, 1)]
    layouts = [Layout.of(groups.take(half), LEARNING) for half in halves if len(half)]
    if len(layouts) < 2:
        return {SMOOTHINGS[0]: 0.0}
    nudge = _NUDGE * random.normal(size=(len(kinds.labels), n_values))
    climbs = [_Climb(layout, kinds, n_values, SMOOTHINGS[0]) for layout in layouts]
    for climb in climbs:  # what is held out may have values that the others have not
        climb.overall = (climbs[0].overall + climbs[1].overall) / 2
    ended = [climb.chances(climb.sums(climb.layout.alone)) for climb in climbs]
    found: dict[float, float] = {}
    most, enough = (_BRIEF_STEPS, _BRIEF) if brief else (_FOLD_STEPS, TOLERANCE)
    for smoothing in SMOOTHINGS[:: 2 if brief else 1]:
        found[smoothing] = 0.0
        for side, (climb, other) in enumerate(zip(climbs, climbs[::-1], strict=True)):
            climb.smoothing = smoothing
            _, ended[side], _ = climb.climb(_drifted(ended[side], nudge), most, enough)
            predicted = other.layout.expected(ended[side].ravel()[other.at])
            found[smoothing] += float(other.layout.times @ predicted.weights)
        if found[smoothing] < max(found.values()) - _BEHIND:
            break
    return found


def _drifted(overall: FloatArray, drift: FloatArray) -> FloatArray:
    found = overall * np.exp(drift)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _different(
    tried: list[tuple[Start, FloatArray, FloatArray]],
) -> list[tuple[Start, FloatArray, FloatArray]]:
    """The maxima that differ, the likeliest first."""
    kept: list[tuple[Start, FloatArray, FloatArray]] = []
    for each in sorted(tried, key=lambda each: -each[0].likelihood):
        if all(np.abs(each[1] - other[1]).max() > _SAME for other in kept):
            kept.append(each)
    return kept
