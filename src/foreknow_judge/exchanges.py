"""Upper bounds of posteriors, if people are known or linked on top of priors.

This shares no code with the adversary. If the target swaps values with somebody else, the world
becomes more or less likely by a factor, the weight of the swap. In every world in which the target
has the value, each other value has as many holders as the group has of it; the bound takes those
holders whose swap with the target weighs least. Floats find the people who may be the worst case;
fractions decide among these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
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
# Cases this near to the worst are compared as fractions; floats err less, but for extreme chances.
_NEAR, _EXTREME = 1e-9, 2.0**-200
# Odds above these do not come from chances above `_EXTREME`: the person cannot have the value.
_BEYOND = 1e200
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


class _Part(NamedTuple):
    """Cases of one shape, and odds by case, signature and secret: of the target, then of links."""

    shape: Shape
    cases: Sequence[PriorGroup]
    secrets: Any  # by case and secret, its place among the names, or their number
    odds: Any
    extreme: bool  # whether products of its chances may be out of the range of floats

    @classmethod
    def of(
        cls, shape: Shape, cases: Sequence[PriorGroup], question: ExchangeQuestion, links: int
    ) -> _Part:
        """Work out the odds in floats."""
        names, table = question.names, np.array([_floats(case.rows, case.scales) for case in cases])
        is_asked = np.array([[value in question.wanted for value in case.values] for case in cases])
        is_secret = np.zeros((len(cases), len(shape[1])), bool)
        is_secret[:, : is_asked.shape[1]] = is_asked
        is_united = is_secret if question.name is not None else np.zeros_like(is_secret)
        l, k, m = *question.amounts[:2], links
        if question.binary:
            others_left = np.array([case.left for case in cases])
            odds = np.concatenate(
                [
                    _odds(shape, table, is_united, (0, k, 0), others_left),
                    _odds(shape, table, is_united, (0, k, m), None)[1:],
                ]
            )
        else:
            odds = _odds(shape, table, is_united, (l, k, m), None)
        if question.name is not None:
            with np.errstate(divide="ignore"):
                added = np.where(is_secret[:, None, :], 1 / odds, 0.0).sum(axis=-1, keepdims=True)
                odds = 1 / added
            secrets = np.where(is_secret.any(axis=1, keepdims=True), 0, 1)
        else:
            places = {name: place for place, name in enumerate(names)}
            secrets = np.full(is_secret.shape, len(names))
            for row, case in zip(secrets, cases, strict=True):
                row[: len(case.values)] = [places.get(x, len(names)) for x in case.values]
        odds = np.where((secrets < len(names))[:, None, :], odds, inf)
        extreme = bool(((table > 0) & (table < _EXTREME)).any())
        return cls(shape, cases, secrets, odds, extreme)


# A secret of people of one signature: part, case, signature and column of its odds.
_At: TypeAlias = "tuple[_Part, int, int, int]"


def worst_exchanged(
    shapes: Mapping[Shape, Sequence[PriorGroup]],
    question: ExchangeQuestion,
    relative: bool,
    groups: Sequence[Group],
) -> Worst:
    """The worst case; `groups` are those of the cases, by their places."""
    if sum(question.amounts[1:]) > _MOST_PEOPLE:
        raise CertificateError(
            "too-large", "the number of people who are known or linked, with priors,"
        )
    links = min(question.amounts[2], max((sum(people) for people, _ in shapes), default=0))
    names, parts = question.names, list[_Part]()
    for shape, cases in shapes.items():
        if sum(shape[0]) * len(shape[1]) ** 2 > _MOST_NUMBERS:
            raise CertificateError("too-large", "a group with priors")
        for prior_group in cases:
            _require_worlds(*shape, prior_group.rows)
        step = max(1, _AT_ONCE // (sum(shape[0]) * len(shape[1]) ** 2))
        for start in range(0, len(cases), step):
            parts.append(_Part.of(shape, cases[start : start + step], question, links))
    extreme = any(part.extreme for part in parts)
    linked = np.full((links, len(names) + 1), inf)
    for part in parts:
        for lowest, odds in zip(linked, part.odds[1:], strict=True):
            np.minimum.at(lowest, part.secrets, odds.min(axis=1))
    factor = np.where(np.isinf(linked), 1.0, linked / (1 + np.minimum(linked, 1e300))).prod(axis=0)
    scores = [_scores(part, factor, relative) for part in parts]
    top = max((float(scores_of_part.max(initial=0.0)) for scores_of_part in scores), default=0.0)
    least_score = 0.0 if extreme else top * (1 - _NEAR)
    near: list[_At] = [
        (part, case, signature, x)
        for part, scores_of_part in zip(parts, scores, strict=True)
        for case, signature, x in np.argwhere(
            (scores_of_part > 0) & (scores_of_part >= least_score)
        ).tolist()
    ]
    if len(near) > _MOST_TIES:
        raise CertificateError("too-large", "the number of people as bad as the worst")
    exactly: dict[int, Fraction] = {}
    bad = []
    for part, case, signature, x in near:
        secret = int(part.secrets[case, x])
        if secret not in exactly:
            ties = _ties(parts, secret, None if extreme else linked[:, secret])
            exactly[secret] = _exact_factor(ties, question, links)
        prior_group = part.cases[case]
        odds = _exact((part, case, signature, x), question, 0)[0]
        chance = Fraction(0) if odds == inf else 1 / (1 + odds * exactly[secret])
        prior = Fraction(prior_group.before[signature][x], prior_group.scales[signature])
        worst = Worst(names[secret], groups[prior_group.place], chance, prior)
        bad.append((names[secret], prior_group.place, worst))
    # Of equally bad ones, the first value and its first group.
    bad.sort(key=itemgetter(0, 1))
    return Worst.among((worst for *_, worst in bad), relative)


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

    members = (who for who, n_members in enumerate(people) for _ in range(n_members))
    if not (all(map(all, rows)) or all(finds_value(who, set()) for who in members)):
        raise CertificateError("no-world")


def _floats(rows: Sequence[Sequence[int]], scales: Sequence[int]) -> Any:
    """Chances as floats, by signature and value."""
    return np.array([[p / scale for p in row] for row, scale in zip(rows, scales, strict=True)])


def _scores(part: _Part, factor: Any, relative: bool) -> Any:
    """Upper bounds of the posterior of each secret, divided by its prior if `relative`."""
    odds, able = part.odds[0], np.isfinite(part.odds[0])
    if not part.extreme:
        able &= odds < _BEYOND
    bounds = able / (1 + np.where(able, odds, 0.0) * factor[part.secrets][:, None, :])
    if relative:
        width = bounds.shape[-1]
        before = np.ones(bounds.shape)
        for place, case in enumerate(part.cases):
            priors = _floats(case.before, case.scales)[:, :width]
            before[place, :, : priors.shape[1]] = priors
        bounds = bounds / np.where(able, before, 1.0)
    return bounds


def _odds(shape: Shape, table: Any, is_united: Any, amounts: Amounts, others_left: Any) -> Any:
    """Odds by case, signature and value: of the target, then of those who are linked.

    The values of `is_united` are one secret. With `others_left`, the second value has only that
    many holders.
    """
    (people, counts), (ruled_out, n_known, linked) = shape, amounts
    n_people, n_values = sum(people), len(counts)
    ruled_out, n_known = min(ruled_out, n_values), min(n_known, n_people)
    odds = np.full((1 + linked, *table.shape), inf)
    is_swap = ~(is_united[:, :, None] & is_united[:, None, :]) & ~np.eye(n_values, dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for target in range(len(people)):
            able = table[:, target] > 0
            if n_people == 1:  # there is nobody else
                odds[:, :, target] = np.where(able, 0.0, inf)
                continue
            partners = [
                u for u, n_members in enumerate(people) for _ in range(n_members - (u == target))
            ]
            mine, theirs = table[:, target], table[:, partners]
            # The weight of a swap is a gain times a loss. Gains are by case, target's value and
            # partner's value; losses are by partner, too, from the least on and summed up.
            gains = np.where(
                is_swap & (mine[:, :, None] > 0), mine[:, None] / mine[:, :, None], 0.0
            )
            losses = np.where(
                theirs[:, :, None] > 0, theirs[:, :, :, None] / theirs[:, :, None], inf
            )
            losses.sort(axis=1)
            sums = np.cumsum(losses, axis=1)

            def of_value(y: int, known_of_it: int, gains: Any = gains, sums: Any = sums) -> Any:
                holders = counts[y] if others_left is None or y == 0 else others_left[:, None]
                unknown = np.broadcast_to(np.maximum(holders - known_of_it, 0), gains.shape[:2])
                last = np.minimum(unknown, n_people - 1)[:, None] - 1
                losses_of_swap = np.take_along_axis(sums[..., y], np.maximum(last, 0), axis=1)[:, 0]
                weighs = (gains[..., y] > 0) & (unknown > 0)
                return np.where(weighs, gains[..., y] * losses_of_swap, 0.0)

            within = min(linked, n_people - n_known)
            lowest_sums = _least(
                range(n_values), of_value, (ruled_out, n_known, within), np.minimum
            )
            of_nobody_known = [lowest_sums.get((0, n_known + i + 1), 0.0) for i in range(linked)]
            holders = np.array(counts) * able
            for place, weight in enumerate([lowest_sums[ruled_out, n_known], *of_nobody_known]):
                odds[place, :, target] = np.where(able, np.minimum(weight, 1e300) / holders, inf)
    return odds


def _least(
    values: Iterable[int],
    of_value: Callable[[int, int], Any],
    amounts: Amounts,
    smaller: Callable[[Any, Any], Any],
) -> dict[tuple[int, int], Any]:
    """The lowest sums over values, by how many are ruled out and how many holders are known.

    `of_value(y, n)` is what value y adds if n of its holders are known. With values ruled out,
    sums for linked people are not needed.
    """
    ruled_out, n_known, linked = amounts
    pairs = [(0, b) for b in range(n_known + linked + 1)]
    pairs += [(a, b) for a in range(1, ruled_out + 1) for b in range(n_known + 1)]
    lowest_sums: dict[tuple[int, int], Any] = dict.fromkeys(pairs, 0)
    for y in values:
        added = [of_value(y, known_of_it) for known_of_it in range(n_known + linked + 1)]
        before, lowest_sums = lowest_sums, {}
        for a, b in pairs:
            ways = [before[a, b - of_it] + added[of_it] for of_it in range(b + 1)]
            lowest_sums[a, b] = reduce(smaller, ways if not a else [*ways, before[a - 1, b]])
    return lowest_sums


def _ties(parts: Sequence[_Part], secret: int, linked: Any) -> list[_At]:
    """Who may have the lowest odds of the linked people: all, or those with odds near `linked`."""
    ties: list[_At] = []
    for part in parts:
        odds_of_linked = part.odds[1:]
        near = np.isfinite(odds_of_linked) & (part.secrets == secret)[:, None, :]
        if linked is not None:
            near &= odds_of_linked <= linked[:, None, None, None] * (1 + _NEAR)
        ties += [(part, case, s, x) for case, s, x in np.argwhere(near.any(axis=0)).tolist()]
    if len(ties) > _MOST_TIES:
        raise CertificateError("too-large", "the number of people as bad as the worst")
    return ties


def _exact_factor(ties: Sequence[_At], question: ExchangeQuestion, links: int) -> Fraction:
    """A lower bound of the chance that none of the linked people has the secret."""
    lowest_odds: list[Any] = [inf] * links
    for tie in ties:
        lowest_odds = list(map(min, lowest_odds, _exact(tie, question, links)[1:]))
    factor = Fraction(1)
    for odds in lowest_odds:
        factor *= 1 if odds == inf else odds / (1 + odds)
    return factor


def _exact(person: _At, question: ExchangeQuestion, links: int) -> list[Any]:
    """The odds of the target, then those of linked people, as fractions or infinity."""
    part, place, target, x = person
    people, counts = part.shape
    ruled_out, n_known, _ = question.amounts
    case = part.cases[place]
    rows, secret = case.rows, [x]
    if question.name is not None:
        secret = [y for y, value in enumerate(case.values) if value in question.wanted]
    n_people, mine = sum(people), rows[target]
    ruled_out, n_known = min(ruled_out, len(counts)), min(n_known, n_people)
    if question.binary:
        ruled_out, counts = 0, counts if links else (counts[0], case.left)
    within = min(links, n_people - n_known)
    against = list[Any]([Fraction(0)] * (1 + links))  # 1 / odds, summed over the secret
    other_values = [y for y in range(len(counts)) if y not in secret]
    for x in secret:
        if not mine[x]:
            continue

        def of_value(y: int, known_of_it: int, x: int = x) -> Any:
            if not mine[y]:
                return Fraction(0)
            losses = sorted(
                (Fraction(row[x], row[y]), n_members - (u == target))
                for u, (row, n_members) in enumerate(zip(rows, people, strict=True))
                if row[y]
            )
            total, unknown = Fraction(0), max(counts[y] - known_of_it, 0)
            for loss, n_members in losses:
                n_swapped = min(unknown, n_members)
                total, unknown = total + loss * n_swapped, unknown - n_swapped
            return inf if unknown else total * Fraction(mine[y], mine[x])

        lowest_sums = _least(other_values, of_value, (ruled_out, n_known, within), min)
        of_nobody_known = [lowest_sums.get((0, n_known + i), 0) for i in range(1, 1 + links)]
        for place, weight in enumerate([lowest_sums[ruled_out, n_known], *of_nobody_known]):
            against[place] += Fraction(counts[x]) / weight if weight else inf
    return [
        inf if not inverse else Fraction(0) if inverse == inf else 1 / inverse
        for inverse in against
    ]
