"""Upper bounds of posteriors, if people are known or linked on top of priors.

This shares no code with the adversary. If the target swaps values with somebody else, the world
becomes more or less likely by a factor, the weight of the swap. In every world in which the target
has the value, each other value has as many holders as the group has of it; the bound takes those
holders whose swap with the target weighs least. Floats find the people who may be the worst case;
the same steps in fractions decide among these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import product, repeat
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow_judge.counts.group_bags import Group
from foreknow_judge.errors import CertificateError
from foreknow_judge.knowledge.facts import Worst

# How many people have each signature, and each value.
Shape: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...]]"
# Numbers of values ruled out, of people known, and of people linked.
Amounts: TypeAlias = "tuple[int, int, int]"

_AT_ONCE, _MOST_NUMBERS = 1 << 19, 1 << 25
# Cases this near to the worst are compared as fractions; floats err less, but for extreme chances,
# with which everybody is compared as a fraction.
_NEAR, _EXTREME, _LEAST = 1e-9, 2.0**-200, 2.0**-1022
_MOST_TIES = 1 << 15
_MOST_PEOPLE = 100


class PriorGroup(NamedTuple):
    """One group's values, and the chances of its people as whole numbers over `scales`."""

    place: int
    values: list[str]  # of each column of chances; none of those that are not asked for
    rows: list[list[int]]  # by signature, then value
    before: list[list[int]]  # the same for the priors of the secrets
    scales: list[int]
    left: int = 0  # for binary priors: people with neither the value nor a ruled-out one


class ExchangeQuestion(NamedTuple):
    """The values and the facts that a question is about."""

    asked_values: Collection[str]
    name: str | None  # the name of the values, if they are one secret
    amounts: Amounts
    binary: bool

    @property
    def names(self) -> list[str]:
        """The name of each secret."""
        return sorted(self.asked_values) if self.name is None else [self.name]

    @property
    def united(self) -> bool:
        """True if its values are one secret."""
        return self.name is not None


class _Batch(NamedTuple):
    """Groups of equal shape, whose odds are computed side by side in arrays."""

    shape: Shape
    cases: Sequence[PriorGroup]
    question: ExchangeQuestion
    secrets: Any  # by case and value, the place of the secret among the names, or their number
    chances: Any  # by case, signature and value; floats, or fractions

    @classmethod
    def of(
        cls, shape: Shape, cases: Sequence[PriorGroup], question: ExchangeQuestion, number: Any
    ) -> _Batch:
        """Put cases of equal shape side by side in arrays.

        `shape` is how many people have each signature, and each value. `number` makes a chance of
        two whole numbers: a float or a fraction.
        """
        # The position of each secret; if several values are one secret, all have position 0.
        position_of = {name: position for position, name in enumerate(question.names)}
        if question.united:
            position_of = dict.fromkeys(question.asked_values, 0)
        nowhere = repeat(len(question.names))  # stands for a value that is no secret
        secrets = [[*map(position_of.get, case.values, nowhere)] for case in cases]
        chances = [_ratios(case.rows, case.scales, number) for case in cases]
        return cls(shape, cases, question, np.array(secrets), np.array(chances))

    @property
    def asked(self) -> Any:
        """Whether a value is a secret or belongs to one, by case and value."""
        return self.secrets < len(self.question.names)

    @property
    def of_column(self) -> Any:
        """The place of each column's secret, by case; the values of one secret have one column."""
        return self.secrets.min(axis=1, keepdims=True) if self.question.united else self.secrets

    @property
    def able(self) -> Any:
        """Whether people may have the secret, by case, signature and column of odds."""
        possible = self.asked[:, None] & (self.chances[:, :, : self.secrets.shape[1]] > 0)
        return possible.any(axis=2, keepdims=True) if self.question.united else possible

    def odds_of_all(self, ruled_out: int, n_known: int) -> Any:
        """The odds against everybody, by case, signature and column."""
        values, signatures = range(self.secrets.shape[1]), range(len(self.shape[0]))
        return np.stack(
            [self.odds(signature, values, ruled_out, n_known) for signature in signatures], axis=1
        )

    def odds(self, signature: int, values: Any, ruled_out: int, n_known: int) -> Any:
        """The least odds against each of some values of a person, by case and value.

        A case is a group. The person is of this `signature` (the kind of people that priors are
        by); the adversary rules out so many values and knows so many other people.
        In a world the person has v; a partner who has w may swap with them. The swapped world is
        likelier by the ratio of the person's chances of w and v, times the ratio of the partner's
        chances of v and w. The odds add up these ratios over the partners where they are least.
        """
        # Axes of `chances`: case, signature, value.
        (people, counts), chances, is_asked = self.shape, self.chances, self.asked
        ruled_out, n_known = min(ruled_out, len(counts)), min(n_known, sum(people))
        # How many have each value w; and whether a swap of v for w counts: not with the same v.
        holders, swaps = np.array([counts]), ~np.eye(len(counts), dtype=bool)[None, values]
        if self.question.united:
            swaps = ~is_asked[:, None]
        # Binary priors have two columns, a value and all others: ruled-out ones are left out there.
        if self.question.binary and ruled_out:
            ruled_out = 0
            holders = np.array([[counts[0], case.left] for case in self.cases])
        chances_of_person = chances[:, signature]
        # Ratios of the person, by case, v and w; those of partners by their signature, too.
        own_ratios = np.where(
            swaps, _over(chances_of_person[:, None], chances_of_person[:, values, None], 0), 0
        )
        ratios = _over(chances[:, :, values, None], chances[:, :, None], 0)
        # Partners who can have w, by their signature; the person is none.
        n_others = np.array(people) - (np.arange(len(people)) == signature)
        partners = np.broadcast_to((n_others[:, None] * (chances > 0))[:, :, None], ratios.shape)
        # As many partners have w as there are holders; the bound takes those with the least ratios.
        order = np.argsort(ratios, axis=1)
        ratios, partners = (np.take_along_axis(array, order, 1) for array in (ratios, partners))
        before = np.cumsum(partners, axis=1) - partners  # partners with lower ratios
        weights = []  # by how many holders of a value are known
        for n_known_holders in range(n_known + 1):
            unknown = np.maximum(holders - n_known_holders, 0)[:, None]
            swapped = np.clip(unknown[:, None] - before, 0, partners)
            # Too few others can have w: in no world the person has v, so the odds are infinite.
            is_lacking = unknown > partners.sum(axis=1)
            weight = np.where(is_lacking, inf, own_ratios * (ratios * swapped).sum(axis=1))
            weights.append(np.where(own_ratios > 0, weight, 0))
        possible = is_asked[:, values] & (chances_of_person[:, values] > 0)
        # The holders of v over the weights of all other values, in the worst case.
        in_favour = _over(np.array(counts)[values], _least_sum(weights, ruled_out), inf)
        in_favour = np.where(possible, in_favour, 0)
        if self.question.united:  # odds in favour of values of one secret add up
            in_favour = in_favour.sum(axis=1, keepdims=True)
        return _over(1, in_favour, inf)


class _Person(NamedTuple):
    """People of one signature, and a secret about them."""

    part: _Batch
    case: PriorGroup
    signature: int
    column: int
    secret: int  # its place among the names

    def odds(self, ruled_out: int, n_known: int) -> Any:
        """The odds as a fraction, or infinity."""
        question = self.part.question
        batch = _Batch.of(self.part.shape, [self.case], question, Fraction)
        values = np.flatnonzero(batch.asked[0]) if question.united else [self.column]
        ((odds,),) = batch.odds(self.signature, values, ruled_out, n_known)
        return odds if odds == inf else Fraction(odds)


def worst_exchanged(
    shapes: Mapping[Shape, Sequence[PriorGroup]],
    question: ExchangeQuestion,
    relative: bool,
    groups: Sequence[Group],
) -> Worst:
    """The case in which the adversary is surest, with the value, the group and the chance.

    `shapes` has the groups by how many people have each signature and each value. `groups[i]` is
    the group of the cases whose number (`place`) is i. If the limit is `relative`, chances are
    compared after division by the person's prior. Floats find those who may be the worst case;
    fractions decide among these.
    """
    ruled_out, n_known, n_linked = question.amounts
    if n_known + n_linked > _MOST_PEOPLE:
        raise CertificateError(
            "too-large", "the number of people who are known or linked, with priors,"
        )
    batches = list[_Batch]()
    for shape, cases in shapes.items():
        n_numbers = sum(shape[0]) * len(shape[1]) ** 2
        if n_numbers > _MOST_NUMBERS:
            raise CertificateError("too-large", "a group with priors")
        for case in cases:
            _require_worlds(*shape, case.rows)
        step = max(1, _AT_ONCE // n_numbers)  # how many cases fit into memory at a time
        for start in range(0, len(cases), step):
            batches.append(_Batch.of(shape, cases[start : start + step], question, _as_float))
    # Nobody is linked to more people than the largest group has.
    largest = max((sum(people) for people, _ in shapes), default=0)
    # For each secret, the chance that no linked person has it, and 1 for values that are no secret.
    factors = _none_linked(batches, question, min(n_linked, largest))
    of_none = np.array([*(max(float(factor), _LEAST) for factor in factors), 1])

    def score(batch: _Batch) -> Any:
        """1 over chances; times priors, if the limit is relative to these."""
        chance_of_none = of_none[batch.of_column][:, None]
        score = 1 + batch.odds_of_all(ruled_out, n_known) * chance_of_none
        priors = [_ratios(case.before, case.scales, _as_float) for case in batch.cases]
        return score * np.maximum(priors, _LEAST) if relative else score

    worst_cases = []
    for person in _nearly_lowest(batches, score):
        odds, case = person.odds(ruled_out, n_known), person.case
        chance = Fraction(0) if odds == inf else 1 / (1 + odds * factors[person.secret])
        before = case.before[person.signature][person.column]
        prior = Fraction(before, case.scales[person.signature])
        name = question.names[person.secret]
        worst_cases.append((name, case.place, Worst(name, groups[case.place], chance, prior)))
    return first_worst(worst_cases, relative)


def _none_linked(
    batches: Sequence[_Batch], question: ExchangeQuestion, n_linked: int
) -> list[Fraction]:
    """Lower bounds of the chances that none of the linked people has a secret, for each secret.

    Each factor is the chance that one more linked person lacks it: odds / (1 + odds) against.
    """
    factors = [Fraction(1) for _ in question.names]
    # Of each linked person, one more is known than of the one before.
    for n_known in range(question.amounts[1] + 1, question.amounts[1] + n_linked + 1):
        lowest: dict[int, Any] = {}
        score = partial(_Batch.odds_of_all, ruled_out=0, n_known=n_known)
        for person in _nearly_lowest(batches, score):
            odds = person.odds(0, n_known)
            lowest[person.secret] = min(odds, lowest.get(person.secret, odds))
        for secret, odds in lowest.items():
            factors[secret] *= 1 if odds == inf else odds / (1 + odds)
    return factors


def first_worst(cases: Iterable[tuple[str, int, Worst]], relative: bool) -> Worst:
    """The worst of some cases, with their values and groups; of equally bad ones, the first."""
    in_order = sorted(cases, key=itemgetter(0, 1))
    return Worst.among((worst for *_, worst in in_order), relative)


def _require_worlds(people: Sequence[int], counts: Sequence[int], rows: Any) -> None:
    """Refuse a group whose values cannot all be assigned to people who can have them.

    `people` are how many have each signature, `counts` how many have each value, and `rows` the
    chances by signature and value: above 0 if they can. This is a matching by augmenting paths.
    """
    holders = [Counter[int]() for _ in counts]  # of each value, by their signature

    def finds_value(who: int, tried: set[int]) -> bool:
        """True if somebody of this signature gets a value, for which others may change theirs.

        `tried` are values that were asked for already.
        """
        for x in range(len(counts)):
            if not rows[who][x] or x in tried:
                continue
            tried.add(x)
            if holders[x].total() < counts[x]:  # one is free
                holders[x][who] += 1
                return True
            # Else somebody who has it must find another value, and give it away.
            for holder in [s for s in holders[x] if holders[x][s]]:
                if finds_value(holder, tried):
                    holders[x].subtract([holder])
                    holders[x][who] += 1
                    return True
        return False

    if all(map(all, rows)):  # everybody can have everything
        return
    for who in np.repeat(np.arange(len(people)), people).tolist():
        if not finds_value(who, set()):
            raise CertificateError("no-world")


def _ratios(rows: Sequence[Sequence[int]], scales: Sequence[int], number: Any) -> list[list[Any]]:
    """Whole numbers over the scale of their row, as `number` makes them."""
    pairs = zip(rows, scales, strict=True)
    return [[number(chance, scale) for chance in row] for row, scale in pairs]


def _as_float(chance: int, scale: int) -> float:
    """A chance as a float; only 0 becomes 0."""
    return chance and max(chance / scale, _LEAST)


def _over(above: Any, below: Any, endless: float) -> Any:
    """The ratios of some numbers, all from 0; `endless` in place of those over 0."""
    return np.where(below > 0, above / np.where(below > 0, below, 1), endless)


def _least_sum(weights: Sequence[Any], most_ruled_out: int) -> Any:
    """The least sum of weights over all values, if at most so many of these are ruled out.

    `weights[n]` has the weight of each value (last axis) if n of its holders are known. At most
    ``len(weights) - 1`` people are known, and it is worst for the target how they are divided
    among the values: the least sum for each pair of amounts, one value after the other.
    """
    amounts = [*product(range(most_ruled_out + 1), range(len(weights)))]
    lowest: dict[tuple[int, int], Any] = dict.fromkeys(amounts, 0)
    for y in range(weights[0].shape[2]):
        before, lowest = lowest, {}
        for ruled_out, n_known in amounts:
            # The value has n known holders; or it is ruled out, and weighs nothing.
            ways = [before[ruled_out, n_known - n] + weights[n][..., y] for n in range(n_known + 1)]
            if ruled_out:
                ways.append(before[ruled_out - 1, n_known])
            lowest[ruled_out, n_known] = reduce(np.minimum, ways)
    return lowest[amounts[-1]]


def _nearly_lowest(batches: Sequence[_Batch], score: Callable[[_Batch], Any]) -> list[_Person]:
    """The people whose score may be the lowest of all for their secret, by floats.

    `score` gives an array by case, signature and column. If some chances are extreme, floats say
    nothing, and it is everybody.
    """
    extreme = any(((batch.chances > 0) & (batch.chances < _EXTREME)).any() for batch in batches)
    scores = [] if extreme else [*map(score, batches)]
    # The lowest score of each secret; one entry more stands for values that are no secret.
    lowest: Any = np.full(1 + max((int(batch.secrets.max()) for batch in batches), default=0), inf)
    for batch, scores_of_batch in zip(batches, scores, strict=False):
        np.minimum.at(lowest, batch.of_column, scores_of_batch.min(axis=1))
    people = []
    for number, batch in enumerate(batches):
        may_be_lowest = batch.able
        if not extreme:
            limit = lowest[batch.of_column][:, None] * (1 + _NEAR)
            may_be_lowest = np.isfinite(scores[number]) & (scores[number] <= limit)
        for case, signature, column in np.argwhere(may_be_lowest).tolist():
            secret = int(batch.of_column[case, column])
            people.append(_Person(batch, batch.cases[case], signature, column, secret))
    if len(people) > _MOST_TIES:
        raise CertificateError("too-large", "the number of people as bad as the worst")
    return people
