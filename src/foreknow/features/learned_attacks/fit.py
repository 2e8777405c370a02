"""Fit: how likely each value is for each kind of people, by maximum likelihood from the bags.

Given statistics, people have their values independently of each other, and a release shows of each
group which kinds its people are of, and its bag. Expectation: how many people of each kind of each
group have each value, on average over its worlds. Maximization: these shares. It begins with the
frequencies of the groups, and nothing is drawn at random.

Smoothing adds people with the values of everybody to each kind (the mode of a Dirichlet prior), so
no value is impossible.

Steps are extrapolated (Varadhan and Roland 2008), and an extrapolation that does not raise the
likelihood is dropped. Nothing here sees who has which value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from foreknow.adversaries.priors.signature_groups import SignatureGroups
from foreknow.adversaries.priors.table import PriorTable
from foreknow.adversaries.release_counts import counts_of
from foreknow.data.arrays import FloatArray, IntArray, combine, count_pairs
from foreknow.data.members import Signature, Signatures
from foreknow.data.sights import seen_with
from foreknow.features.learned_attacks.expectation import JUDGING, LEARNING, CaseLayout, Expected
from foreknow_judge.numbers import read_number

# A column of numbers with more than so many is cut into bins of about equally many people.
MOST_NUMBERS, BINS = 16, 10
# How many people smooth: each is tried, and none is drawn or guessed.
SMOOTHINGS = tuple(4.0**power for power in range(7))
# Where a step changes no chance by more than this, or after so many steps, it is the end.
TOLERANCE, STEPS = 1e-3, 60


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of people that statistics are by."""

    attributes: tuple[str, ...]
    labels: Sequence[Signature]  # what each kind is called
    signatures: Sequence[Signature]
    of_signature: IntArray  # the kind of each signature

    @classmethod
    def of(cls, signatures: Signatures, binned: Collection[str] = ()) -> Kinds:
        """The kinds of people by their signatures.

        A signature is a person's labels in the known columns. Numbers in `binned` columns are cut
        into bins, so one kind may have several signatures.
        """
        # Bins hold about equally many people, so people are counted by signature first.
        people = np.zeros(len(signatures.labels))
        np.add.at(people, signatures.codes, signatures.people)
        # For each column: the names of its codes, and the code of each signature.
        columns = []
        for position, name in enumerate(signatures.attributes):
            labels_of_column = [label[position] for label in signatures.labels]
            columns.append(
                _bins(labels_of_column, people) if name in binned else _labels(labels_of_column)
            )
        keys, first_of_kind = combine(
            [codes for _, codes in columns], [len(names) for names, _ in columns]
        )
        names_of_kinds = (np.array(names, object)[codes[first_of_kind]] for names, codes in columns)
        labels = [*zip(*names_of_kinds, strict=True)]
        return cls(signatures.attributes, labels, signatures.labels, keys.astype(np.int64))

    def groups(
        self, signatures: Signatures, value_offsets: IntArray, values: IntArray, counts: IntArray
    ) -> SignatureGroups:
        """The groups of a release as `SignatureGroups`, with their people counted by kind.

        Values ``values[value_offsets[g]:value_offsets[g + 1]]`` occur in group g, as often as
        `counts` says.
        """
        n_groups = len(signatures.offsets) - 1
        group_of_cell = np.repeat(np.arange(n_groups), np.diff(signatures.offsets))
        people_by_kind = count_pairs(
            group_of_cell,
            self.of_signature[signatures.codes],
            n_groups,
            len(self.labels),
            signatures.people,
        )
        return SignatureGroups(*people_by_kind, value_offsets, values, counts)


def numbers_among(signatures: Signatures) -> list[str]:
    """The names of columns that hold numbers only, and enough distinct ones to be cut into bins."""
    number_columns = []
    for position, name in enumerate(signatures.attributes):
        distinct = {label[position] for label in signatures.labels} - {None}
        if len(distinct) > MOST_NUMBERS and all(
            _number(str(label)) is not None for label in distinct
        ):
            number_columns.append(name)
    return number_columns


def _labels(labels: Sequence[str | None]) -> tuple[list[str | None], IntArray]:
    """The distinct labels in order of appearance, and the code of each label."""
    distinct = list(dict.fromkeys(labels))
    code_of = {label: i for i, label in enumerate(distinct)}
    return distinct, np.array([code_of[label] for label in labels], dtype=np.int64)


def _bins(labels: Sequence[str | None], people: FloatArray) -> tuple[list[str | None], IntArray]:
    """The names of the bins of a column of numbers, and the bin of each label.

    Bins hold about equally many people, and equal numbers are never divided. A missing label (None)
    has a bin of its own, the last. `people` says how many people have each label.
    """
    distinct, codes = _labels(labels)
    numbers = [None if label is None else _number(label) for label in distinct]
    numbers_and_codes = [(x, code) for code, x in enumerate(numbers) if x is not None]
    ranked = np.array([code for _, code in sorted(numbers_and_codes)])  # the smallest number first
    people_by_number = np.bincount(codes, people, minlength=len(distinct))[ranked]
    # A number's bin is the tenth of the people in which the people below end; equal numbers stay
    # together, and tenths that no number begins are left out.
    people_before = np.cumsum(people_by_number) - people_by_number
    share = np.floor(BINS * people_before / people_by_number.sum()).astype(np.int64)
    bins = np.unique(share, return_inverse=True)[1].reshape(-1)
    names: list[str | None] = []
    for code in range(int(bins[-1]) + 1):
        first, last = (distinct[i] for i in ranked[bins == code][[0, -1]].tolist())
        names.append(first if first == last else f"{first} to {last}")
    # Missing labels get the bin after the last.
    bin_of_label = np.full(len(distinct), len(names), dtype=np.int64)
    bin_of_label[ranked] = bins
    return [*names, None], bin_of_label[codes]


def _number(label: str) -> float | None:
    number = read_number(label)
    return None if number is None else float(number)


@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """Statistics that were learned from a release."""

    kinds: Kinds
    layout: CaseLayout
    places: Places
    of_places: FloatArray  # the chance of each place
    amounts: FloatArray  # by place, how many of the kind have the value, on average over worlds
    overall: FloatArray  # how frequent each value is
    people: FloatArray  # by kind
    smoothing: float  # so many people with the values of everybody count for each kind
    steps: int
    change: float  # how much the last step changed a chance at most

    @property
    def converged(self) -> bool:
        """True if the last step changed next to nothing."""
        return self.change <= TOLERANCE

    @cached_property
    def chances(self) -> FloatArray:
        """The chance of each value (columns) for each kind of people (rows)."""
        chances = np.outer(_unseen_scale(self.people, self.smoothing), self.overall)
        chances[self.places.kind, self.places.value] = self.of_places
        return chances

    @property
    def of_cells(self) -> FloatArray:
        """The chance of each cell's value for its people."""
        return np.asarray(self.of_places[self.places.of_cell])

    @cached_property
    def without_own(self) -> FloatArray:
        """The chance of each cell as learned from all groups but its own."""
        return self.taught_by_others(self.layout.expected(self.of_cells, weighed=False).posteriors)

    def taught_by_others(self, posteriors: FloatArray) -> FloatArray:
        """The chance of each cell as learned from the posteriors of all groups but its own.

        A cell is a kind of people and a value of one group. `posteriors` says how likely its people
        have the value; their part is taken out of the amounts of the kind.
        """
        layout = self.layout
        # Amounts are sums of floats, so a difference may be a little below 0 or too large.
        others_amount = self.amounts[self.places.of_cell] - layout.people * posteriors
        n_others = np.maximum(self.people[layout.signature] - layout.people, 0)
        amount = n_others + self.smoothing
        # Smoothing: so many people more, who have the values of everybody.
        taught = np.clip(others_amount, 0, n_others) + self.smoothing * self.overall[layout.value]
        share = self.overall[layout.value]
        # Nobody else is of this kind, and nobody is added: the share of everybody.
        return np.where(amount > 0, taught / np.where(amount > 0, amount, 1), share)

    @cached_property
    def predicts(self) -> float:
        """The log-likelihood of the bags of groups, each by chances learned from all others."""
        return float(self.layout.times @ self.layout.expected(self.without_own).weights)

    def __repr__(self) -> str:
        ended = "converged" if self.converged else "NOT converged"
        return (
            f"Fit({len(self.kinds.labels)} kinds by {', '.join(self.kinds.attributes)}, "
            f"{len(self.overall)} values: {ended} in {self.steps} steps)"
        )


def fits(
    layout: CaseLayout,
    kinds: Kinds,
    n_values: int,
    smoothings: Sequence[float] = SMOOTHINGS,
    seconds: tuple[float, float] = JUDGING,
) -> Iterator[Fit]:
    """Yield one `Fit` for each smoothing: the statistics learned from the groups of `layout`.

    `smoothing` people with the values of everybody count for each kind of people. `seconds` limits
    how many groups are counted exactly when the fit is judged later; see `CaseLayout`.
    """
    # One layout serves both if judging may take as long as learning; so its caches are kept.
    judges_as_it_learns = seconds == layout.seconds
    layout_for_judging = layout if judges_as_it_learns else replace(layout, seconds=seconds)
    for smoothing in smoothings:
        learner = _Learner(layout, kinds, n_values, smoothing)
        statistics = learner.learn()
        yield Fit(
            kinds=kinds,
            layout=layout_for_judging,
            places=learner.places,
            of_places=statistics.chances,
            amounts=statistics.amounts,
            overall=learner.overall,
            people=learner.people,
            smoothing=smoothing,
            steps=statistics.steps,
            change=statistics.change,
        )


class Places(NamedTuple):
    """The pairs of a kind of people and a value that occur together in some group.

    A kind's chances of all other values are in proportion to how frequent these are, so they need
    no place: of many kinds and values, few pairs occur.
    """

    kind: IntArray  # of each place
    value: IntArray
    of_cell: IntArray  # the place of each cell of the layout

    @classmethod
    def of(cls, layout: CaseLayout, n_values: int) -> Places:
        """The places of the cells of a layout."""
        pairs, of_cell = np.unique(layout.signature * n_values + layout.value, return_inverse=True)
        return cls(*np.divmod(pairs, n_values), of_cell.reshape(-1))


def _unseen_scale(people: FloatArray, smoothing: float) -> FloatArray:
    """The factor, by kind, of a value's frequency that is its chance without a place.

    Smoothing alone gives such a value a chance; a kind of nobody has the frequencies themselves.
    """
    total = people + smoothing
    return np.asarray(np.where(total > 0, smoothing / np.where(total > 0, total, 1), 1.0))


def _entropy_terms(shares: FloatArray) -> FloatArray:
    """Each share times its logarithm; 0 for a share of 0."""
    return np.asarray(shares * np.log(np.where(shares > 0, shares, 1)))


class _Statistics(NamedTuple):
    """Statistics learned from groups, by place."""

    chances: FloatArray
    amounts: FloatArray  # how many people have the value, on average over worlds
    steps: int
    change: float  # the largest change of a chance in the last step


class _Step(NamedTuple):
    """One step from chances to likelier ones."""

    expected: Expected  # posteriors and weights by the chances before
    amounts: FloatArray  # people by place, by these posteriors
    chances: FloatArray  # the next chances: the shares of these amounts


class _Learner:
    """Learns chances by kind of people from groups, by expectation and maximization."""

    def __init__(self, layout: CaseLayout, kinds: Kinds, n_values: int, smoothing: float) -> None:
        self.layout, self.smoothing = layout, smoothing
        self.places = Places.of(layout, n_values)
        self.people_of_cell = layout.times[layout.case] * layout.people
        self.people = self._people_by_kind(len(kinds.labels))
        self.amounts_by_group_shares = self.amounts(layout.alone)
        totals = np.bincount(self.places.value, self.amounts_by_group_shares, n_values)
        self.overall = totals / totals.sum()  # the share of each value among everybody
        self._share = self.overall[self.places.value]
        # By kind: the factor and the share of the values that have no place with it.
        self._scale = _unseen_scale(self.people, smoothing)
        self._unseen = np.maximum(1 - self._by_kind(self._share), 0)
        # The sum over kinds and values without a place of share times log(share).
        self._unseen_logs = len(self.people) * float(_entropy_terms(self.overall).sum())
        self._unseen_logs -= float(_entropy_terms(self._share).sum())

    def amounts(self, posteriors: FloatArray) -> FloatArray:
        """How many people of each place's kind have its value, by posteriors of cells."""
        places, holders = self.places, self.people_of_cell * posteriors
        return np.asarray(
            np.bincount(places.of_cell, holders, minlength=len(places.kind)), dtype=np.float64
        )

    def _by_kind(self, of_places: FloatArray) -> FloatArray:
        """The sum over the places of each kind."""
        sums = np.bincount(self.places.kind, of_places, minlength=len(self.people))
        return np.asarray(sums, dtype=np.float64)

    def _people_by_kind(self, n_kinds: int) -> FloatArray:
        cases = self.layout.cases
        case = np.repeat(np.arange(cases.n_groups), np.diff(cases.offsets))
        amounts = cases.people * self.layout.times[case]
        people = np.bincount(cases.signatures, amounts, minlength=n_kinds)
        return np.asarray(people, dtype=np.float64)

    def chances(self, amounts: FloatArray) -> FloatArray:
        """The likeliest chance of each place if so many people of its kind have its value.

        Smoothing adds people with the values of everybody.
        """
        total = (self.people + self.smoothing)[self.places.kind]
        return np.asarray((amounts + self.smoothing * self._share) / total)

    def step(self, chances: FloatArray, weighed: bool = False) -> _Step:
        """One round of expectation and maximization, from the chances of places.

        `weighed`: the weights, which `likelihood` needs, are worked out, too.
        """
        expected = self.layout.expected(chances[self.places.of_cell], weighed)
        amounts = self.amounts(expected.posteriors)
        return _Step(expected, amounts, self.chances(amounts))

    def likelihood(
        self, chances: FloatArray, expected: Expected, divisor: FloatArray | None = None
    ) -> float:
        """The log-likelihood of chances, from the expectation under them.

        It is of the groups' bags, and of the people whom smoothing adds to each kind. `divisor`, by
        kind, is what the chances of values without a place were divided by; None: by 1.
        """
        likelihood = float(self.layout.times @ expected.weights)
        if self.smoothing:
            logs = np.log(np.maximum(chances, 1e-300))
            scale = self._scale if divisor is None else self._scale / divisor
            of_unseen = float(np.log(scale) @ self._unseen) + self._unseen_logs
            likelihood += self.smoothing * (float(logs @ self._share) + of_unseen)
        return likelihood

    def learn(self) -> _Statistics:
        """Step until no chance changes by more than a tolerance, or until too many steps.

        It begins with the groups' own shares. Each round takes two plain steps and extrapolates
        them; the extrapolated chances are used only if they are at least as likely as one plain
        step.
        """
        chances = self.chances(self.amounts_by_group_shares)
        n_steps = 0
        while True:
            first = self.step(chances)
            n_steps += 1
            change = float(np.abs(first.chances - chances).max())
            if change <= TOLERANCE or n_steps >= STEPS:
                return _Statistics(first.chances, first.amounts, n_steps, change)
            second = self.step(first.chances, weighed=True)
            extrapolated, divisor = self._extrapolated(chances, first.chances, second.chances)
            third = self.step(extrapolated, weighed=True)
            n_steps += 2
            is_likelier = self.likelihood(extrapolated, third.expected, divisor) >= self.likelihood(
                first.chances, second.expected
            )
            chances = third.chances if is_likelier else second.chances

    def _extrapolated(
        self, start: FloatArray, once: FloatArray, twice: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The chances of places to which two steps lead, and by what each kind's are divided.

        They are divided so that the chances of a kind, with those without a place, add up to 1.
        """
        ahead = _extrapolated(start, once, twice)
        divisor = self._by_kind(ahead) + self._scale * self._unseen
        return ahead / divisor[self.places.kind], divisor


def _extrapolated(start: FloatArray, once: FloatArray, twice: FloatArray) -> FloatArray:
    """The chances to which two steps lead if they go on in the same way; above 0 if they were.

    `start`, `once` and `twice` are the chances before, after one and after two steps. This is
    SQUAREM (Varadhan and Roland, 2008): a parabola through the three points is followed, the
    farther the straighter it is.
    """
    step, bend = once - start, twice - 2 * once + start
    bend_length = float(np.sqrt((bend**2).sum()))
    length = 1.0 if bend_length == 0 else max(1.0, float(np.sqrt((step**2).sum())) / bend_length)
    ahead = start + 2 * length * step + length**2 * bend
    return np.asarray(np.where(twice > 0, np.maximum(ahead, twice * 1e-2), 0.0))


# Chances that were learned are kept in these steps, and are at least one of them.
_IN_STEPS = 2**50


def likeliest_table(release: Any, by: Sequence[str], people: Any) -> tuple[PriorTable, Fit]:
    """The table of priors that is likeliest for a release, and the fit that it comes from.

    `by` are the columns by which values differ. `people`, if given, is a table of the people with
    these columns.
    """
    if people is not None:
        release = seen_with(release, people, by)
    release = release.seen_by(by)  # whoever knows a column reads the rows that show it
    counts, signatures = counts_of(release), release.signatures(by)
    kinds = Kinds.of(signatures)
    bags = counts.offsets, counts.codes, counts.counts
    layout = CaseLayout.of(kinds.groups(signatures, *bags).checked(counts), LEARNING)
    best_fit = max(fits(layout, kinds, counts.n_values), key=lambda fit: fit.predicts)
    chances = {}
    # Each signature has the chances of its kind.
    for label, kind in zip(signatures.labels, kinds.of_signature.tolist(), strict=True):
        chances[label] = tuple(_in_steps(best_fit.chances[kind]))
    values = tuple(map(str, counts.values))
    name = "what was learned"
    return PriorTable(signatures.attributes, values, chances, name, estimated=True), best_fit


def _in_steps(chances: FloatArray) -> list[Fraction]:
    """Floats as fractions with one denominator that add up to at most 1.

    They are rounded down, but a positive chance stays positive.
    """
    return [Fraction(max(int(x * _IN_STEPS), int(x > 0)), _IN_STEPS) for x in chances.tolist()]
