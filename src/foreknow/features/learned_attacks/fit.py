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
    chances: FloatArray  # by kind and value
    amounts: FloatArray  # by kind and value, how many people have it, on average over worlds
    overall: FloatArray  # how frequent each value is
    people: FloatArray  # by kind
    smoothing: float  # so many people with the values of everybody count for each kind
    steps: int
    change: float  # how much the last step changed a chance at most

    @property
    def converged(self) -> bool:
        """True if the last step changed next to nothing."""
        return self.change <= TOLERANCE

    @property
    def of_cells(self) -> FloatArray:
        """The chance of each cell's value for its people."""
        return np.asarray(self.chances[self.layout.signature, self.layout.value])

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
        others_amount = self.amounts[layout.signature, layout.value] - layout.people * posteriors
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
            f"{self.chances.shape[1]} values: {ended} in {self.steps} steps)"
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
            chances=statistics.chances,
            amounts=statistics.amounts,
            overall=learner.overall,
            people=learner.people,
            smoothing=smoothing,
            steps=statistics.steps,
            change=statistics.change,
        )


class _Statistics(NamedTuple):
    """Statistics learned from groups, by kind of people (rows) and value (columns)."""

    chances: FloatArray
    amounts: FloatArray  # how many people have the value, on average over worlds
    steps: int
    change: float  # the largest change of a chance in the last step


class _Step(NamedTuple):
    """One step from chances to likelier ones."""

    expected: Expected  # posteriors and weights by the chances before
    amounts: FloatArray  # people by kind and value, by these posteriors
    chances: FloatArray  # the next chances: the shares of these amounts


class _Learner:
    """Learns chances by kind of people from groups, by expectation and maximization."""

    def __init__(self, layout: CaseLayout, kinds: Kinds, n_values: int, smoothing: float) -> None:
        self.layout, self.smoothing = layout, smoothing
        self.shape = len(kinds.labels), n_values
        # Where each cell of the layout is in a flat table of kinds and values.
        self.place_of_cell = layout.signature * n_values + layout.value
        self.people_of_cell = layout.times[layout.case] * layout.people
        self.people = self._people_by_kind()
        self.amounts_by_group_shares = self.amounts(layout.alone)
        totals = self.amounts_by_group_shares.sum(axis=0)
        self.overall = totals / totals.sum()  # the share of each value among everybody

    def amounts(self, posteriors: FloatArray) -> FloatArray:
        """How many people of each kind (rows) have each value (columns), by posteriors of cells."""
        holders = self.people_of_cell * posteriors
        n_kinds, n_values = self.shape
        sums = np.bincount(self.place_of_cell, holders, minlength=n_kinds * n_values)
        return np.asarray(sums.reshape(self.shape), dtype=np.float64)

    def _people_by_kind(self) -> FloatArray:
        cases = self.layout.cases
        case = np.repeat(np.arange(cases.n_groups), np.diff(cases.offsets))
        amounts = cases.people * self.layout.times[case]
        people = np.bincount(cases.signatures, amounts, minlength=self.shape[0])
        return np.asarray(people, dtype=np.float64)

    def chances(self, amounts: FloatArray) -> FloatArray:
        """The likeliest chances (kinds x values) if so many people of each kind have each value.

        Smoothing adds people with the values of everybody; a kind of nobody has the overall shares.
        """
        smoothed_amounts = amounts + self.smoothing * self.overall
        total = (self.people + self.smoothing)[:, None]
        return np.asarray(
            np.where(total > 0, smoothed_amounts / np.where(total > 0, total, 1), self.overall)
        )

    def step(self, chances: FloatArray, weighed: bool = False) -> _Step:
        """One round of expectation and maximization, from chances (kinds x values).

        `weighed`: the weights, which `likelihood` needs, are worked out, too.
        """
        expected = self.layout.expected(chances.ravel()[self.place_of_cell], weighed)
        amounts = self.amounts(expected.posteriors)
        return _Step(expected, amounts, self.chances(amounts))

    def likelihood(self, chances: FloatArray, expected: Expected) -> float:
        """The log-likelihood of chances (kinds x values), from the expectation under them.

        It is of the groups' bags, and of the people whom smoothing adds to each kind.
        """
        likelihood = float(self.layout.times @ expected.weights)
        if self.smoothing:
            # Values that nobody has add nothing; their logarithm would be infinite.
            occurs = self.overall > 0
            logs = np.log(np.maximum(chances[:, occurs], 1e-300))
            likelihood += self.smoothing * float((logs @ self.overall[occurs]).sum())
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
            extrapolated = _extrapolated(chances, first.chances, second.chances)
            third = self.step(extrapolated, weighed=True)
            n_steps += 2
            is_likelier = self.likelihood(extrapolated, third.expected) >= self.likelihood(
                first.chances, second.expected
            )
            chances = third.chances if is_likelier else second.chances


def _extrapolated(start: FloatArray, once: FloatArray, twice: FloatArray) -> FloatArray:
    """The chances (kinds x values) to which two steps lead if they go on in the same way.

    `start`, `once` and `twice` are the chances before, after one and after two steps. This is
    SQUAREM (Varadhan and Roland, 2008): a parabola through the three points is followed, the
    farther the straighter it is.
    """
    step, bend = once - start, twice - 2 * once + start
    bend_length = float(np.sqrt((bend**2).sum()))
    length = 1.0 if bend_length == 0 else max(1.0, float(np.sqrt((step**2).sum())) / bend_length)
    ahead = start + 2 * length * step + length**2 * bend
    # Chances stay above 0 where they are, and add up to 1.
    ahead = np.where(twice > 0, np.maximum(ahead, twice * 1e-2), 0.0)
    return np.asarray(ahead / ahead.sum(axis=1, keepdims=True))


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
