"""Upper bounds of posteriors, if people are known or linked on top of priors.

This shares no code with the adversary. If the target swaps values with somebody else, the world
becomes more or less likely by a factor, the weight of the swap. In every world in which the target
has the value, each other value has as many holders as the group has of it; the bound takes those
holders whose swap with the target weighs least. Floats find the people who may be the worst case;
the same steps in fractions decide among these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product, repeat
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow_judge.counting import Group
from foreknow_judge.errors import CertificateError
from foreknow_judge.facts import Worst

# How many people have each signature, and each value.
Shape: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...]]"
# Numbers of values ruled out, of people known, and of people linked.
Amounts: TypeAlias = "tuple[int, int, int]"

_AT_ONCE, _MOST_NUMBERS = 1 << 19, 1 << 25
# Cases this near to the worst are compared as fractions; floats err less, but for extreme chances,
# with which everybody is compared as a fraction.
_NEAR, _EXTREME = 1e-9, 2.0**-200
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

    wanted: Collection[str]
    name: str | None  # the name of the values, if they are one secret
    amounts: Amounts
    binary: bool

    @property
    def names(self) -> list[str]:
        """The name of each secret."""
        return sorted(self.wanted) if self.name is None else [self.name]

    @property
    def united(self) -> bool:
        """True if its values are one secret."""
        return self.name is not None


class _Part(NamedTuple):
    """Cases of one shape, side by side."""

    shape: Shape
    cases: Sequence[PriorGroup]
    secrets: Any  # by case and value, the place of the secret among the names, or their number
    question: ExchangeQuestion
    # By case, signature and value: chances as floats, or as whole numbers up to a factor of each
    # row; and 1 over them, times `scale` of each value. 0 stays 0.
    chances: Any
    inverse: Any
    scale: Any = 1.0

    @classmethod
    def of(cls, shape: Shape, cases: Sequence[PriorGroup], question: ExchangeQuestion) -> _Part:
        """Put cases side by side, with their chances as floats."""
        places = {name: place for place, name in enumerate(question.names)}
        if question.united:
            places = dict.fromkeys(question.wanted, 0)
        nowhere = repeat(len(question.names))
        secrets = [[*map(places.get, case.values, nowhere)] for case in cases]
        chances = np.array([_floats(case.rows, case.scales) for case in cases])
        return cls(shape, cases, np.array(secrets), question, chances, _over(1, chances, 0))

    def exactly(self, place: int) -> _Part:
        """One of the cases alone, with exact chances."""
        case, secrets = self.cases[place], self.secrets[[place]]
        chances = np.array([case.rows], object)
        positive = np.where(chances > 0, chances, 1)
        multiple = np.lcm.reduce(positive, axis=1)
        inverse = np.where(chances > 0, multiple[:, None] // positive, 0)
        scale = multiple * Fraction(1)
        return _Part(self.shape, [case], secrets, self.question, chances, inverse, scale)

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
        able = self.asked[:, None] & (self.chances[:, :, : self.secrets.shape[1]] > 0)
        return able.any(axis=2, keepdims=True) if self.question.united else able

    def odds_of_all(self, ruled_out: int, numbers_known: Sequence[int]) -> Any:
        """The odds of everybody, by number of known people, case, signature and column."""
        if not numbers_known:
            return np.empty((0, *self.able.shape))
        values, signatures = range(self.secrets.shape[1]), range(len(self.shape[0]))
        odds = [self.odds(who, values, ruled_out, numbers_known) for who in signatures]
        return np.stack(odds, axis=2)

    def odds(self, who: int, values: Any, ruled_out: int, numbers_known: Sequence[int]) -> Any:
        """The odds against some values of people of one signature, by case and column.

        So many values are ruled out. There are odds for each number of people who are known.
        """
        (people, counts), chances, asked = self.shape, self.chances, self.asked
        ruled_out = min(ruled_out, len(counts))
        numbers_known = [min(n, sum(people)) for n in numbers_known]
        holders, swaps = np.array([counts]), ~np.eye(len(counts), dtype=bool)[None, values]
        if self.question.united:
            swaps = ~asked[:, None]
        if self.question.binary and ruled_out:
            ruled_out = 0
            holders = np.array([[counts[0], case.left] for case in self.cases])
        # The weight of a swap is a gain times a loss. Gains are by case, target's value and
        # partner's value; losses are by partner's signature, too, from the least on.
        mine = chances[:, who]
        gains = np.where(swaps, _over(mine[:, None], mine[:, values, None] * self.scale, 0), 0)
        losses = chances[:, :, values, None] * self.inverse[:, :, None]
        n_others = np.array(people) - (np.arange(len(people)) == who)
        partners = np.broadcast_to((n_others[:, None] * (chances > 0))[:, :, None], losses.shape)
        order = np.argsort(losses, axis=1)
        losses, partners = (np.take_along_axis(array, order, 1) for array in (losses, partners))
        before = np.cumsum(partners, axis=1) - partners
        weights = []  # by how many holders of a value are known
        for n_known in range(max(numbers_known, default=0) + 1):
            unknown = np.maximum(holders - n_known, 0)[:, None]
            swapped = np.clip(unknown[:, None] - before, 0, partners)
            is_lacking = unknown > partners.sum(axis=1)
            weight = np.where(is_lacking, inf, gains * (losses * swapped).sum(axis=1))
            weights.append(np.where(gains > 0, weight, 0))
        lowest = _least(weights, ruled_out)
        able = asked[:, values] & (mine[:, values] > 0)
        in_favour = np.zeros((len(numbers_known), *able.shape), mine.dtype)
        for place, n_known in enumerate(numbers_known):
            favour = _over(np.array(counts)[values], lowest[ruled_out, n_known], inf)
            in_favour[place] = np.where(able, favour, 0)
        if self.question.united:
            in_favour = in_favour.sum(axis=2, keepdims=True)
        return _over(1, in_favour, inf)


class _Person(NamedTuple):
    """People of one signature, and a secret about them."""

    part: _Part
    case: int
    signature: int
    column: int

    @property
    def secret(self) -> int:
        """The place of the secret among the names."""
        return int(self.part.of_column[self.case, self.column])

    def odds(self, ruled_out: int, numbers_known: Sequence[int]) -> list[Any]:
        """The odds by `numbers_known`, as fractions or infinity."""
        part = self.part.exactly(self.case)
        values = np.flatnonzero(part.asked[0]) if part.question.united else [self.column]
        odds = part.odds(self.signature, values, ruled_out, numbers_known)
        return [x if x == inf else Fraction(x) for x in odds[:, 0, 0]]

    @classmethod
    def among(cls, parts: Sequence[_Part], masks: Iterable[Any]) -> list[_Person]:
        """Those that are marked, by part, case, signature and column."""
        people = []
        for part, mask in zip(parts, masks, strict=True):
            people += [cls(part, *place) for place in np.argwhere(mask).tolist()]
        if len(people) > _MOST_TIES:
            raise CertificateError("too-large", "the number of people as bad as the worst")
        return people


def worst_exchanged(
    shapes: Mapping[Shape, Sequence[PriorGroup]],
    question: ExchangeQuestion,
    relative: bool,
    groups: Sequence[Group],
) -> Worst:
    """The worst case; `groups` are those of the cases, by their places."""
    ruled_out, n_known, n_linked = question.amounts
    if n_known + n_linked > _MOST_PEOPLE:
        raise CertificateError(
            "too-large", "the number of people who are known or linked, with priors,"
        )
    parts = list[_Part]()
    for shape, cases in shapes.items():
        n_numbers = sum(shape[0]) * len(shape[1]) ** 2
        if n_numbers > _MOST_NUMBERS:
            raise CertificateError("too-large", "a group with priors")
        for case in cases:
            _require_worlds(*shape, case.rows)
        step = max(1, _AT_ONCE // n_numbers)
        for start in range(0, len(cases), step):
            parts.append(_Part.of(shape, cases[start : start + step], question))
    largest = max((sum(people) for people, _ in shapes), default=0)
    # Of each linked person, one more is known than of the one before.
    numbers_known = [n_known + i for i in range(1, min(n_linked, largest) + 1)]
    targets = linked = [part.able for part in parts]
    if not any(((part.chances > 0) & (part.chances < _EXTREME)).any() for part in parts):
        targets, linked = _nearly_worst(parts, question, numbers_known, relative)
    factors: dict[int, Fraction] = {}
    worst_cases = []
    for person in _Person.among(parts, targets):
        secret = person.secret
        if secret not in factors:
            ties = [
                mask & (part.of_column == secret)[:, None]
                for part, mask in zip(parts, linked, strict=True)
            ]
            factors[secret] = _none_linked(_Person.among(parts, ties), numbers_known)
        (odds,) = person.odds(ruled_out, [n_known])
        chance = Fraction(0) if odds == inf else 1 / (1 + odds * factors[secret])
        case = person.part.cases[person.case]
        before = case.before[person.signature][person.column]
        prior = Fraction(before, case.scales[person.signature])
        name = question.names[secret]
        worst_cases.append((name, case.place, Worst(name, groups[case.place], chance, prior)))
    return first_worst(worst_cases, relative)


def first_worst(cases: Iterable[tuple[str, int, Worst]], relative: bool) -> Worst:
    """The worst of some cases, with their values and groups; of equally bad ones, the first."""
    in_order = sorted(cases, key=itemgetter(0, 1))
    return Worst.among((worst for *_, worst in in_order), relative)


def _require_worlds(people: Sequence[int], counts: Sequence[int], rows: Any) -> None:
    """Refuse a group whose values cannot all be assigned to people who can have them."""
    holders = [Counter[int]() for _ in counts]  # of each value, by their signature

    def finds_value(who: int, tried: set[int]) -> bool:
        """Give somebody a value, whose holders may have to find others."""
        for x in range(len(counts)):
            if not rows[who][x] or x in tried:
                continue
            tried.add(x)
            if holders[x].total() < counts[x]:
                holders[x][who] += 1
                return True
            for holder in [s for s in holders[x] if holders[x][s]]:
                if finds_value(holder, tried):
                    holders[x].subtract([holder])
                    holders[x][who] += 1
                    return True
        return False

    if all(map(all, rows)):
        return
    for who in np.repeat(np.arange(len(people)), people).tolist():
        if not finds_value(who, set()):
            raise CertificateError("no-world")


def _floats(rows: Sequence[Sequence[int]], scales: Sequence[int]) -> list[list[float]]:
    """Chances as floats, by signature and value; only 0 becomes 0."""
    chances = []
    for row, scale in zip(rows, scales, strict=True):
        chances.append([chance and max(chance / scale, 2.0**-1022) for chance in row])
    return chances


def _over(above: Any, below: Any, endless: float) -> Any:
    """The ratios of some numbers, all from 0; `endless` in place of those over 0."""
    return np.where(below > 0, above / np.where(below > 0, below, 1), endless)


def _least(weights: Sequence[Any], most_ruled_out: int) -> dict[tuple[int, int], Any]:
    """The least sums of weights over all values, by how many values are ruled out and people known.

    `weights` are those of each value, by how many of its holders are known.
    """
    amounts = [*product(range(most_ruled_out + 1), range(len(weights)))]
    lowest: dict[tuple[int, int], Any] = dict.fromkeys(amounts, 0)
    for y in range(weights[0].shape[2]):
        before, lowest = lowest, {}
        for ruled_out, n_known in amounts:
            ways = [before[ruled_out, n_known - n] + weights[n][..., y] for n in range(n_known + 1)]
            if ruled_out:
                ways.append(before[ruled_out - 1, n_known])
            lowest[ruled_out, n_known] = reduce(np.minimum, ways)
    return lowest


def _nearly_worst(
    parts: Sequence[_Part], question: ExchangeQuestion, numbers_known: Sequence[int], relative: bool
) -> tuple[list[Any], list[Any]]:
    """Who may be the worst target of all, and who has the lowest odds of linked people, by part."""
    ruled_out, n_known, _ = question.amounts
    odds_of_linked = [part.odds_of_all(0, numbers_known) for part in parts]
    lowest = np.full((len(numbers_known), len(question.names) + 1), inf)
    for part, odds in zip(parts, odds_of_linked, strict=True):
        for lowest_of_one, odds_of_one in zip(lowest, odds, strict=True):
            np.minimum.at(lowest_of_one, part.of_column, odds_of_one.min(axis=1))
    factor = (1 / (1 + _over(1, lowest, inf))).prod(axis=0)  # the chance that none has the secret
    linked, scores = [], []
    for part, odds in zip(parts, odds_of_linked, strict=True):
        near = odds <= lowest[:, part.of_column][:, :, None] * (1 + _NEAR)
        linked.append((near & np.isfinite(odds)).any(axis=0))
        (odds_of_target,) = part.odds_of_all(ruled_out, [n_known])
        able = np.isfinite(odds_of_target)
        of_none = factor[part.of_column][:, None]
        score = able / (1 + np.where(able, odds_of_target, 0) * of_none)
        if relative:
            priors = [_floats(case.before, case.scales) for case in part.cases]
            score /= np.where(able, np.array(priors), 1)
        scores.append(score)
    top = max((score.max() for score in scores), default=0)
    return [(score > 0) & (score >= top * (1 - _NEAR)) for score in scores], linked


def _none_linked(linked: Sequence[_Person], numbers_known: Sequence[int]) -> Fraction:
    """A lower bound of the chance that none of the linked people has the secret."""
    lowest: list[Any] = [inf] * len(numbers_known)
    for person in linked:
        lowest = [*map(min, lowest, person.odds(0, numbers_known))]
    factor = Fraction(1)
    for odds in lowest:
        factor *= 1 if odds == inf else odds / (1 + odds)
    return factor
