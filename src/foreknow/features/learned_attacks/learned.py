"""Learned: an attacker who knows nothing beforehand, and learns statistics from the release.

D. Kifer, "Attacks on privacy and deFinetti's theorem", SIGMOD 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from foreknow.adversaries.adversary import HasCounts
from foreknow.adversaries.counts_cache import remembered
from foreknow.adversaries.disclosure import Disclosure, of_value
from foreknow.adversaries.release_counts import counts_of, signatures_of
from foreknow.auditing.trial import LEAST_GROUPS, Claim, Share, Trial
from foreknow.data.arrays import FloatArray, IntArray, ranges
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels.labels import Label
from foreknow.data.labels.windows import Line, Width
from foreknow.data.members import Signature, Signatures
from foreknow.data.people.households import ELSEWHERE
from foreknow.data.release import Release
from foreknow.data.sights import Sight
from foreknow.features.learned_attacks.expectation import (
    JUDGING,
    LEARNING,
    SOON,
    CaseLayout,
    Expected,
)
from foreknow.features.learned_attacks.fit import SMOOTHINGS, Kinds, fits, numbers_among
from foreknow.features.learned_attacks.trees import TREES, Forest, features_of
from foreknow.needs import Need, Needs
from foreknow_judge.errors import DataError, InputError, UnsupportedError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.policy.settings import Settings

Effort: TypeAlias = Literal["look", "beside", "policy", "full"]

# Surer than this of a value counts as sure, where no limit is given.
SURE = 0.9
# Of so many people at most, and beside an audit.
MOST_PEOPLE, MOST_BESIDE = 50_000, 4000
# Beside an audit: so many columns are looked at one by one, and what tells most is tried.
_COLUMNS = 10
# The smoothings that each effort tries; neighbouring ones guess nearly the same. Trees are grown
# by `policy` and `full`.
_SMOOTHINGS: Mapping[Effort, Sequence[float]] = {
    "look": (256.0,),
    "beside": (16.0, 256.0, 4096.0),
    "policy": (1.0, 16.0, 64.0, 256.0, 4096.0),
    "full": SMOOTHINGS,
}
# How long each effort may judge what was learned; see `CaseLayout`.
_SECONDS: Mapping[Effort, tuple[float, float]] = {
    "look": LEARNING,
    "beside": LEARNING,
    "policy": SOON,
    "full": JUDGING,
}
# Groups are dealt out into so many parts; people of one are guessed by what trees learn of others.
_FOLDS = 3
# How many trees are grown in each round; in between, bags are spread again by what they learned.
_TREES = 10, 10, TREES
# So many numbers of kinds are looked at by all trees together: where a release is published, and
# where it is attacked by itself.
_WORK = {"policy": 1 << 23, "full": 1 << 24}
# Values that fewer people have are one to trees; more kinds times values they do not learn.
_RARE, _MOST_CELLS = 5, 1 << 24
# So much of what everybody has is mixed into what trees say: nothing is impossible.
_MIXED = 0.01


class LearnedSettings(Settings):
    """``learned = { by = ["job"] }`` in a policy file."""

    by: Annotated[list[str], Field(min_length=1)]


@dataclass(frozen=True)
class Learned:
    """An attacker who learns from the release how values go with columns, then reads the groups.

    The random worlds assumption takes every assignment of a group's values to its people to be
    equally likely. This attacker knows as little beforehand, but weighs the assignments: they learn
    P(value | by) from all groups together, and then infer each person's value as an adversary with
    these `Priors` would. What is learned for a person leaves out the person's group, so that
    nothing is counted twice.

    It is **an attack, not a bound**: another attacker may learn more, so no requirement takes it.
    Statistics are learned by expectation maximization from the frequencies of the groups, with
    several smoothings, for exact values and for bins of numbers; and by extremely randomized trees.
    The result that predicts each group best from all others is used. Nothing is random in a way
    that a seed could change.

    Parameters
    ----------
    by : sequence of str
        The columns that are known for everybody. Several columns are taken together.

    Examples
    --------
    Clerks have gout and drivers have flu; but no single group says so:

    >>> import pyarrow as pa
    >>> jobs, sick = ["clerk", "driver", "cook"] * 40, ["gout", "flu", "cold"] * 40
    >>> sick[1::3] = ["flu", "flu", "cold", "flu"] * 10
    >>> sick[2::3] = ["cold", "cold", "flu", "gout"] * 10
    >>> group = [row // 2 for row in range(120)]
    >>> table = pa.table({"job": jobs, "group": group, "disease": sick})
    >>> release = Release.from_groups(table, group="group", sensitive="disease")
    >>> found = Learned(by=["job"]).disclosures(release)["gout"]
    >>> found.estimated, found.probability > 0.9, found.witness.known
    (True, True, {'job': 'clerk'})
    """

    by: Sequence[str]
    key: ClassVar[str] = "learned"
    settings: ClassVar[type[Settings]] = LearnedSettings
    needs: ClassVar[Needs] = frozenset(
        {
            *(Need.ONE_VALUE, Need.PEOPLE, Need.NO_WINDOWS, Need.NO_SETS, Need.ABSOLUTE),
            *(Need.FINISHED, Need.TRIAL),
        }
    )
    speaks: ClassVar[None] = None

    def __post_init__(self) -> None:
        if isinstance(self.by, str) or not self.by or not all(isinstance(b, str) for b in self.by):
            raise InputError(
                f'Learned: by must be a list of columns, such as ["job"], not {self.by!r}'
            )
        set_fields(self, by=tuple(self.by))
        if len(set(self.by)) < len(self.by):
            raise InputError(f"Learned: by names a column twice: {', '.join(self.by)}")

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest learned posterior of a value, or of all values.

        Parameters
        ----------
        release : Release
            A release with one value per person, and the columns of everybody.
        value : label, optional
            The sensitive value; the default is the one with the highest posterior.

        Returns
        -------
        Disclosure
            Its `estimated` is true, and it has no fraction; its witness is a `Claim`.
        """
        highest = of_value(self.disclosures(release), value)
        return highest or Disclosure(value, 0.0, estimated=True)

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """The disclosure of each sensitive value."""
        visible = _seen_by(release, self.by)
        return max(
            learnings(visible, self.by), key=lambda learning: learning.predicts
        ).disclosures()

    def chances(self, release: HasCounts) -> None:
        """Always None: a trial counts guesses instead."""

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Always False: what can be learned depends on all groups."""
        return False

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Learned:
        """Build it from its table in a policy file."""
        return cls(settings.by)

    def to_dict(self) -> dict[str, Any]:
        """The table of the attack in a policy file."""
        return {"learned": {"by": list(self.by)}}

    def __repr__(self) -> str:
        return f"Learned({', '.join(self.by)})"


@dataclass(frozen=True, eq=False, repr=False)
class Learning:
    """The posteriors of one attacker who learned from a release."""

    attacker: str
    counts: GroupCounts
    kinds: Kinds
    layout: CaseLayout
    expected: Expected  # by what all other groups teach

    @property
    def posteriors(self) -> FloatArray:
        """The posterior of each cell of the layout."""
        return self.expected.posteriors

    @cached_property
    def predicts(self) -> float:
        """How likely the bags of the groups are, by what all others teach; its logarithm."""
        return float(self.layout.times @ self.expected.weights)

    @cached_property
    def _row(self) -> IntArray:
        """The row of each cell; a row is the people of one kind in one group."""
        # Cells are sorted by case and kind: a new row begins where either changes.
        case_kinds = self.layout.case * len(self.kinds.labels) + self.layout.signature
        return np.asarray(np.cumsum(np.diff(case_kinds, prepend=-1) != 0) - 1)

    @cached_property
    def _first(self) -> IntArray:
        """The first cell of each row."""
        return np.flatnonzero(np.diff(self._row, prepend=-1))

    @cached_property
    def _guess(self) -> IntArray:
        """For each row (the people of one kind in one group) the cell of its likeliest value.

        Of equally likely values, the first.
        """
        # The highest posterior of each row, repeated for its cells.
        top = np.maximum.reduceat(self.posteriors, self._first)[self._row]
        cells = np.flatnonzero(self.posteriors == top)
        # Several cells may reach it: the first of each row is kept.
        return cells[np.flatnonzero(np.diff(self._row[cells], prepend=-1))]

    def disclosures(self) -> dict[Label, Disclosure]:
        """The highest posterior of each value, with the people whom it is about as witness."""
        values = self.counts.values
        highest = {value: Disclosure(value, 0.0, estimated=True) for value in values}
        # Sorted by value, and the highest posterior of each value first.
        order = np.lexsort((-self.posteriors, self.layout.value))
        first = np.flatnonzero(np.diff(self.layout.value[order], prepend=-1))
        for cell in order[first].tolist():
            claim = self.claim(cell)
            highest[claim.value] = Disclosure(
                claim.value, claim.probability, _witness=_constant(claim), estimated=True
            )
        return highest

    def claim(self, cell: int) -> Claim:
        """The claim that belongs to a cell: people of one kind in one group have this value."""
        layout, counts = self.layout, self.counts
        # Equal groups share a case; the first of them stands for all.
        group = int(np.argmax(layout.case_of == layout.case[cell]))
        value = counts.values[int(layout.value[cell])]
        kind = self.kinds.labels[int(layout.signature[cell])]
        return Claim(
            value=value,
            group=counts.group_label(group),
            known=dict(zip(self.kinds.attributes, kind, strict=True)),
            people=int(layout.people[cell]),
            size=int(counts.sizes[group]),
            holders=int(counts.bag(group)[value]),
            probability=float(self.posteriors[cell]),
        )

    def trial(
        self, release: Any, truth: _TrueValues | None, limit: float, value_codes: IntArray
    ) -> Trial:
        """The trial of this attacker: right guesses, and people guessed more surely than `limit`.

        `truth` says who has which value; None: right guesses are not counted but expected, from the
        attacker's own posteriors. Only values with a code in `value_codes` count for sureness. A
        row, below, is the people of one kind in one group, who are all guessed alike.
        """
        layout, counts = self.layout, self.counts
        groups_alone = release.groups_alone
        # Values that nobody asks about have chance 0, so they make nobody sure.
        chances = np.where(np.isin(layout.value, value_codes), self.posteriors, 0.0)
        surest_cell = int(np.argmax(chances))
        # The baseline knows no columns and guesses the most frequent value of each group.
        most_frequent = np.maximum.reduceat(groups_alone.counts, groups_alone.offsets[:-1]).astype(
            np.float64
        )
        guesses = self._guess
        is_sure = chances[guesses] > limit
        # How many people each row stands for, in all groups that are equal.
        people = (layout.times[layout.case] * layout.people)[guesses]
        n_sure, n_rightly_sure = round(float(people[is_sure].sum())), None
        right_share = float(people @ self.posteriors[guesses]) / counts.n_people
        shares: dict[str, Share] = {}
        if truth is not None:
            group, people_of_truth, row_of_truth = truth.group, truth.people, self._row_of(truth)
            right_people = people_of_truth * (layout.value[guesses[row_of_truth]] == truth.value)
            right_by_group = np.bincount(group, right_people, minlength=counts.n_groups)
            shares = {
                "right": Share.of(right_by_group, counts.sizes),
                "baseline": Share.of(most_frequent, groups_alone.sizes),
            }
            right_share = shares["right"].share
            n_rightly_sure = round(float(right_people[is_sure[row_of_truth]].sum()))
            if n_sure:
                sure_and_right = np.bincount(
                    group, right_people * is_sure[row_of_truth], minlength=counts.n_groups
                )
                sure_people = np.bincount(
                    group, people_of_truth * is_sure[row_of_truth], minlength=counts.n_groups
                )
                shares["sure_and_right"] = Share.of(sure_and_right, sure_people)
        return Trial(
            kind="learned",
            name=str(getattr(release, "name", "the release")),
            sensitive=str(getattr(release, "sensitive", "")),
            by=self.kinds.attributes,
            attacker=self.attacker,
            right=right_share,
            baseline=float(most_frequent.sum()) / groups_alone.n_people,
            surest=float(chances[surest_cell]),
            limit=limit,
            sure=n_sure,
            sure_and_right=n_rightly_sure,
            measured=truth is not None,
            people=counts.n_people,
            claim=self.claim(surest_cell) if chances[surest_cell] else None,
            shares=shares,
            in_cases=release.cases,
            near=release.near,
        )

    def _row_of(self, truth: _TrueValues) -> IntArray:
        """The row of each entry of `truth`; a row is the people of one kind in one group."""
        layout, n_kinds = self.layout, len(self.kinds.labels)
        # The key of each row, ascending, since cells are sorted by case and kind.
        keys = (layout.case * n_kinds + layout.signature)[self._first]
        kind = self.kinds.of_signature[truth.signature]
        return np.searchsorted(keys, layout.case_of[truth.group] * n_kinds + kind)


class _TrueValues(NamedTuple):
    """The true values: people by group, signature and value, and how many there are of each."""

    group: IntArray
    signature: IntArray
    value: IntArray
    people: FloatArray

    @classmethod
    def of(
        cls, held_signatures: Signatures, signatures: Sequence[Signature], sample: _GroupSample
    ) -> _TrueValues:
        """The true values of people, from signatures whose last label is the value.

        `held_signatures` counts, by group, the people with each combination of known columns and
        true value; `signatures` are the combinations without the value.
        """
        place_of_signature = {label: i for i, label in enumerate(signatures)}
        code_of, counts = sample.code_of, sample.counts
        # A signature and a value for each distinct combination, then looked up for each count.
        signature = np.array(
            [place_of_signature[label[:-1]] for label in held_signatures.labels], dtype=np.int64
        )
        value = np.array(
            [code_of[str(label[-1])] for label in held_signatures.labels], dtype=np.int64
        )
        group = np.repeat(np.arange(counts.n_groups), np.diff(held_signatures.offsets))
        return cls(
            group,
            signature[held_signatures.codes],
            value[held_signatures.codes],
            held_signatures.people.astype(np.float64),
        )


def _constant(claim: Claim) -> Callable[[], Claim]:
    return lambda: claim


def _seen_by(release: Any, by: Sequence[str], sensitive: str | None = None) -> Any:
    """A release whose groups are divided by known columns that stand beside the value."""
    divides = isinstance(release, (Release, Sight))
    return release.seen_by(by, sensitive) if divides else release


def _rows_shown(release: Any) -> tuple[str, ...]:
    """The column by which everybody sees which row shows what a household shares; () for none."""
    schema = getattr(release, "schema", None)
    columns: tuple[str, ...] = schema.shared_columns[:1] if schema else ()
    return columns


def _showing(counts: GroupCounts) -> IntArray:
    """The groups that show some value, and not only that it is shown elsewhere."""
    code = {str(value): code for code, value in enumerate(counts.values)}.get(ELSEWHERE)
    if code is None:
        return np.arange(counts.n_groups)
    of_entry = np.repeat(np.arange(counts.n_groups), np.diff(counts.offsets))
    return np.unique(of_entry[counts.codes != code])


def learnings(release: HasCounts, by: Sequence[str], effort: Effort = "full") -> list[Learning]:
    """The posteriors of each attacker who learns by the columns `by`; cached with the counts.

    The effort `full` tries every smoothing, and trees. `policy` tries fewer smoothings and trees,
    counts fewer large groups exactly, and leaves out exact values that hardly anybody shares.
    `beside` leaves out these and trees. `look` takes bins of numbers only, where there are numbers.

    Raises `UnsupportedError` if the release does not tell the columns of its people, or people have
    several values.
    """
    counts = counts_of(release)
    key = "learned", tuple(by), getattr(release, "sight", None)
    ways = remembered(counts, key, lambda: _ways_to_tell_apart(release, counts, by))
    smoothings, seconds = _SMOOTHINGS[effort], _SECONDS[effort]
    # Telling people apart by exact values comes first, by bins last.
    teaching = [way for way in ways if way.teaches] or ways[-1:]
    if effort in ("policy", "full"):

        def in_full() -> list[Learning]:
            chosen = ways if effort == "full" else teaching
            learned = [*chain(*(way.learned(smoothings, seconds) for way in chosen))]
            return [*learned, *_learned_by_trees(ways[0], seconds, _WORK[effort])]

        return remembered(counts, (*key, effort), in_full)
    chosen = teaching if effort == "beside" else ways[-1:]
    return [way.brief(smoothing) for way, smoothing in product(chosen, smoothings)]


def _ways_to_tell_apart(release: Any, counts: GroupCounts, by: Sequence[str]) -> list[_Distinction]:
    """The ways to tell people apart: by exact values, and also by bins if there are numbers.

    Raises `DataError` if the columns `by` contain the sensitive one.
    """
    signatures_by = signatures_of(Learned, release)
    if release.sensitive in by:
        raise DataError(
            f"Learned: {release.sensitive!r} is the sensitive column of the release; by names "
            "columns that are known of people"
        )
    signatures = signatures_by(by)
    ways = [("exact values", Kinds.of(signatures))]
    if numbers := numbers_among(signatures):
        ways.append(("bins of numbers", Kinds.of(signatures, numbers)))
    bags = counts.offsets, counts.codes, counts.counts
    return [
        _Distinction(
            description,
            counts,
            kinds,
            CaseLayout.of(kinds.groups(signatures, *bags).checked(counts), LEARNING),
        )
        for description, kinds in ways
    ]


@dataclass(frozen=True, eq=False, repr=False)
class _Distinction:
    """A way to tell people apart, and the posteriors of attackers who do so."""

    what: str
    counts: GroupCounts
    kinds: Kinds
    layout: CaseLayout
    _brief: dict[float, Learning] = field(default_factory=dict)

    @property
    def teaches(self) -> bool:
        """True if a kind has two people or more on average.

        One alone teaches nothing, and a second one little where much is smoothed.
        """
        return 2 * len(self.kinds.labels) <= self.counts.n_people

    def brief(self, smoothing: float) -> Learning:
        """The posteriors after a brief fit with this smoothing, which is remembered."""
        if smoothing not in self._brief:
            (self._brief[smoothing],) = self.learned([smoothing], LEARNING)
        return self._brief[smoothing]

    def learned(self, smoothings: Sequence[float], seconds: tuple[float, float]) -> list[Learning]:
        """The posteriors that an attacker learns with each smoothing, one result for each.

        All fits go through one call as copies of the layout, which is faster than one by one.
        """
        counts, kinds, n_fits = self.counts, self.kinds, len(smoothings)
        fitted = [*fits(self.layout, kinds, counts.n_values, smoothings, seconds)]
        layout = fitted[0].layout
        # Chances of all fits one after another: with one copy of the cases for each.
        copies = layout if n_fits == 1 else layout.times_over(n_fits)
        # What each group teaches is taken out of its own chances, so that no group confirms itself.
        chances = np.concatenate([fit.of_cells for fit in fitted])
        expected_parts = np.split(copies.expected(chances, weighed=False).posteriors, n_fits)
        statistics = []
        for fit, part in zip(fitted, expected_parts, strict=True):
            statistics.append(fit.taught_by_others(part))
        expected = copies.expected(np.concatenate(statistics))
        posteriors_and_weights = (
            np.split(expected.posteriors, n_fits),
            np.split(expected.weights, n_fits),
        )
        return [
            Learning(f"EM, {self.what}, smoothing {fit.smoothing:g}", counts, kinds, layout, part)
            for fit, part in zip(fitted, map(Expected, *posteriors_and_weights), strict=True)
        ]


# ---- trees ----------------------------------------------------------------------------------


def _learned_by_trees(
    way: _Distinction, seconds: tuple[float, float], most_work: int
) -> list[Learning]:
    """The posteriors of trees, where trees can be trained; of fewer trees, to limit the work."""
    chances = _trees(way.layout, way.kinds, way.counts.n_values, most_work)
    if chances is None:
        return []
    layout = replace(way.layout, seconds=seconds)
    return [Learning("trees", way.counts, way.kinds, layout, layout.expected(chances))]


def _trees(layout: CaseLayout, kinds: Kinds, n_values: int, most_work: int) -> FloatArray | None:
    """The chance of each cell as trees learn it; None if there are too few groups or kinds.

    A cell is a kind of people and a value of one distinct group. Groups are dealt into three folds,
    and each fold's chances come from trees that saw the other two folds only.
    """
    n_kinds = len(kinds.labels)
    if layout.cases.n_groups < 2 * _FOLDS or n_kinds < 2:
        return None
    features = np.hstack([features_of(column) for column in zip(*kinds.labels, strict=True)])
    # People whom each cell stands for, in all equal groups.
    weight = layout.times[layout.case] * layout.people
    # Rare values are one class for trees; their chance is divided by frequency afterwards. There
    # are at most as many classes as leave half of the work to more than one tree in each round.
    most_classes = most_work // (2 * n_kinds * _FOLDS * len(_TREES)) - features.shape[1]
    class_of_value, share_in_class = _classes(
        np.bincount(layout.value, weight * layout.alone, n_values), max(most_classes, 2)
    )
    shape = n_kinds, int(class_of_value.max()) + 1
    if shape[0] * shape[1] > _MOST_CELLS:
        return None
    kind_and_class = layout.signature * shape[1] + class_of_value[layout.value]
    # A shuffle with a fixed seed, so that folds are random but the same each time.
    fold_of_cell = (np.random.default_rng(0).permutation(layout.cases.n_groups) % _FOLDS)[
        layout.case
    ]
    folds = [np.flatnonzero(fold_of_cell == fold) for fold in range(_FOLDS)]
    # Begin with the groups' own shares. Each round spreads every group's values over its people by
    # the chances so far, and lets trees learn from the result.
    chances = layout.alone
    work = shape[0] * (shape[1] + features.shape[1]) * _FOLDS * sum(_TREES)
    share = min(most_work / work, 1.0)
    for n_trees in (max(round(n * share), 1) for n in _TREES):
        weighted = weight * layout.expected(chances, weighed=False).posteriors
        by_fold = [
            np.bincount(kind_and_class[cells], weighted[cells], shape[0] * shape[1])
            for cells in folds
        ]
        chances = np.empty(len(fold_of_cell))
        for fold, cells in enumerate(folds):
            other_folds = np.add.reduce([by_fold[i] for i in range(_FOLDS) if i != fold]).reshape(
                shape
            )
            if not len(cells) or not other_folds.any():
                return None
            # A little of everybody's shares is mixed in, so no value is impossible.
            overall = other_folds.sum(axis=0) / other_folds.sum()
            table = _MIXED * overall + (1 - _MIXED) * Forest.of(features, other_folds).shares(
                n_trees
            )
            chances[cells] = (
                table.ravel()[kind_and_class[cells]] * share_in_class[layout.value[cells]]
            )
    return chances


def _classes(people: NDArray[Any], most: int) -> tuple[IntArray, FloatArray]:
    """The class of each value for trees, and the share that the value has of its class.

    `people` says how many people have each value. Values that few people have share one class, the
    last; so do all but the `most` frequent ones.
    """
    is_rare = people < _RARE
    is_rare[np.argsort(-people, kind="stable")[most:]] = True
    n_frequent = int((~is_rare).sum())
    class_of = np.where(is_rare, n_frequent, np.cumsum(~is_rare) - 1)
    people_of_class = np.bincount(class_of, people)[class_of]
    return class_of, people / np.where(people_of_class > 0, people_of_class, 1)


# ---- trials ---------------------------------------------------------------------------------


def learned_trial(
    release: Any,
    by: Sequence[str],
    *,
    limit: float = SURE,
    secret_values: Sequence[Label] | None = None,
    sensitive: str | None = None,
    width: Width | None = None,
    effort: Effort = "full",
) -> Trial:
    """Let every attacker learn by some columns, and return the most successful trial.

    Of these, the columns that stand in one row with the sensitive one divide groups beforehand:
    whoever knows them reads the rows that show them.

    Parameters
    ----------
    release : Release or Sight
        A `Sight` of the owner's table is measured; else it is what attackers claim.
    by : sequence of str
    limit : float
        What counts as sure.
    secret_values : sequence of labels, optional
        The values of which it is said how sure it makes; default: all.
    sensitive : str, optional
        The column that is guessed; default: that of the release.
    width : Width, optional
        Numbers or dates are guessed to within so much, by windows one after another.
    effort : str
        How many attackers are tried; see `learnings`.
    """
    shown = _rows_shown(release)
    by = tuple(dict.fromkeys((*by, *shown)))
    undivided, visible = (_seen_by(release, columns, sensitive) for columns in (shown, by))
    sample = _GroupSample(visible, MOST_PEOPLE, undivided, width)
    return _trial(sample, by, limit, secret_values, sample.held(by), effort)


def learned_beside(
    release: Any,
    columns: Sequence[str],
    secret_values: Sequence[Label] | None = None,
    *,
    limit: float = SURE,
    not_linked: Sequence[str] = (),
    sensitive: str | None = None,
    width: Width | None = None,
) -> Trial | None:
    """The best trial by one column, or by the two best columns together; a quick one.

    With columns `not_linked`, such as the cohort, the two best are also tried together with these.
    None if nothing is known of people beside their groups, people have several values, or groups
    are too few.
    """
    row_columns = _rows_shown(release)
    undivided = _seen_by(release, row_columns, sensitive)
    counts = counts_of(undivided)
    if counts.semantics != "single" or counts.n_groups < LEAST_GROUPS:
        return None
    names = [name for name in columns if name in known_columns(release)]
    known_names = [name for name in names if name not in row_columns][:_COLUMNS]
    if not known_names:
        return None
    # Samples and true values are worked out once for each choice of columns, not for each trial.
    some_of = cache(lambda visible: _GroupSample(visible, MOST_BESIDE, undivided, width))
    held_signatures = cache(lambda by: some_of(_seen_by(release, by, sensitive)).held(by))

    def tried(columns: tuple[str, ...], effort: Effort) -> Trial:
        by = (*columns, *row_columns)
        sample = some_of(_seen_by(release, by, sensitive))
        return _trial(sample, by, limit, secret_values, held_signatures(by), effort)

    try:
        # A quick look at each column alone picks the two with most right guesses.
        telling = tuple(sorted(known_names, key=lambda name: -tried((name,), "look").right)[:2])
        trials = [tried((name,), "beside") for name in telling]
        trials += [tried(telling, "beside")] if len(telling) > 1 else []
        trials += [tried((*telling, *not_linked), "beside")] if not_linked else []
    except (DataError, UnsupportedError):  # such as a table that changed since it was counted
        return None
    all_tried = tuple(chain(*(trial.tried for trial in trials)))
    return replace(most_successful(trials), tried=all_tried)


def most_successful(trials: Sequence[Trial]) -> Trial:
    """The trial with most right guesses; of equal ones, the surest."""
    return max(trials, key=lambda trial: (trial.right, trial.surest))


def _trial(
    sample: _GroupSample,
    by: Sequence[str],
    limit: float,
    secret_values: Sequence[Label] | None,
    held_signatures: Signatures | None,
    effort: Effort,
) -> Trial:
    """The most successful trial of all attackers who know the columns `by`.

    `held_signatures` counts people by known columns and true value. Without it (None), it is the
    trial of the attacker whose statistics predict the groups best, since nobody can count right
    guesses. `secret_values` are the values that sureness is about; None: all.
    """
    values = sample.counts.values
    # With a width, values are windows of numbers, so a list of values cannot name them.
    is_about_all = secret_values is None or sample.near or {*values} <= {*secret_values}
    stated_values = None if is_about_all else tuple(secret_values or ())
    codes = (
        np.arange(len(values))
        if stated_values is None
        else np.array([values.codes[v] for v in stated_values])
    )
    attackers = learnings(sample, by, effort)
    signatures = attackers[0].kinds.signatures
    truth = None if held_signatures is None else _TrueValues.of(held_signatures, signatures, sample)
    trials = [learning.trial(sample, truth, limit, codes) for learning in attackers]
    if truth is None:
        best_number = max(range(len(attackers)), key=lambda i: attackers[i].predicts)
        best_trial = trials[best_number]
    else:
        best_trial = most_successful(trials)
    attempts = tuple(trial.as_tried for trial in trials)
    return replace(best_trial, tried=attempts, whole=sample.whole, about=stated_values)


def known_columns(release: Any) -> tuple[str, ...]:
    """The columns of people that a release shows beside their groups."""
    columns: tuple[str, ...] = getattr(release, "beside_groups", ())
    return columns


class _GroupSample:
    """The groups of a release, or a random sample of them if it is large.

    With a width, numbers or dates within that width of each other count as one value.
    """

    def __init__(
        self, release: Any, most_people: int, undivided: Any, width: Width | None = None
    ) -> None:
        counts = counts_of(release)
        # Groups in random order (the seed is fixed) until there are enough people; + 1 for the
        # group in which the number is reached.
        showing = _showing(counts)
        order = np.random.default_rng(0).permutation(showing)
        n_needed = int(np.searchsorted(np.cumsum(counts.sizes[order]), most_people)) + 1
        self._groups = np.sort(order[:n_needed])
        self.whole, is_all = n_needed >= len(showing), len(self._groups) == counts.n_groups
        # A `Sight` is cut down to the sample; any other release keeps groups that are not in it.
        self._release, self._has_others = release, not is_all
        if isinstance(release, Sight) and not is_all:
            self._release, self._has_others = release.only(self._groups), False
        self.counts = counts if is_all else counts.take(self._groups)
        # Right guesses by groups alone are counted on groups that no column beside divides.
        self.groups_alone = self.counts
        if release is not undivided:
            alone = counts_of(undivided)
            self.groups_alone = alone.take(_showing(alone))
        self.code_of = {str(value): code for code, value in enumerate(self.counts.values)}
        self.near = None
        if width is not None:
            line = Line.of(counts.values)
            window_of, windows = line.parted(width)
            self.near = width.words(line.kind)
            self.code_of = {text: int(window_of[code]) for text, code in self.code_of.items()}
            self.counts = self.counts.recoded(window_of, windows)
            window_of_alone, windows = Line.of(self.groups_alone.values).parted(width)
            self.groups_alone = self.groups_alone.recoded(window_of_alone, windows)
        self.sensitive, self.name = release.sensitive, release.name
        self.cases = bool(getattr(release, "cases", False))
        self.sight = getattr(release, "sight", None)

    def held(self, by: Sequence[str]) -> Signatures | None:
        """People of each group by the columns and true value; None without the owner's table."""
        signatures: Signatures | None = self._release.held(by)
        return signatures

    def signatures(self, attributes: Sequence[str]) -> Signatures:
        """People of each group of the sample, by their labels in `attributes`."""
        signatures: Signatures = self._release.signatures(attributes)
        if not self._has_others:
            return signatures
        # The cells of the chosen groups only, which are then numbered 0, 1, ...
        starts, ends = signatures.offsets[self._groups], signatures.offsets[self._groups + 1]
        cells, offsets = ranges(starts, ends)
        return Signatures(
            signatures.attributes,
            signatures.labels,
            offsets,
            signatures.codes[cells],
            signatures.people[cells],
        )
