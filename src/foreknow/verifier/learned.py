"""The verifier's own estimate of what can be learned from a release as it was written.

It shares no code with the adversary: posteriors by subsets of a group's values, statistics by plain
steps from the groups' own frequencies. What is certified is an estimate, and so is this; the two
are compared within a tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.errors import CertificateError
from foreknow.verifier.priors import Bag, Group, Signature, by_subsets

# Groups up to this size are gone through by subsets; others are balanced.
_SMALL, _LARGEST = 6, 4000
_CANDIDATES, _MOST_STATES = 6, 1 << 18
_STEPS, _FOLD_STEPS, _ENOUGH, _ROUNDS = 200, 40, 1e-5, 25
# So much less likely held-out groups may be than by the best smoothing: halves differ by chance.
_BEHIND = 25.0
# The stated rules of numbers: from so many on they are cut into so many bins; with a bandwidth they
# are told apart by this part of their range.
_MOST_NUMBERS, _BINS, _POINTS = 16, 10, 200
_SMOOTHINGS = [4**power for power in range(9)]
_AT_ONCE = 1 << 20
_Floats = NDArray[np.float64]


class Lesson(NamedTuple):
    """Whom an adversary who learns is surest about."""

    value: str | None
    group: Group | None
    probability: float
    statistics: float


class _Part(NamedTuple):
    """Groups of one size: who is of which kind, the values, and how many groups are alike."""

    kinds: NDArray[np.int64]  # (groups, people)
    values: NDArray[np.int64]  # (groups, people)
    times: _Floats
    names: list[Group]


def learned_from(
    held: Mapping[Group, tuple[int, Bag]],
    people: Mapping[Group, Mapping[Signature, int]],
    wanted: Sequence[str],
    settings: Mapping[str, Any],
    relative: bool = False,
    claimed: float | None = None,
) -> Lesson:
    """The highest posterior of a wanted value that can be learned, and whose it is.

    `settings` are those of the policy; without a ``smoothing`` among them, the one that is claimed
    to predict held-out groups best, unless it predicts them far worse than another; or the best.
    """
    try:
        width = settings.get("bandwidth")
        width = None if width is None else float(width)
        smooth = settings.get("smoothing")
        smooth = None if smooth is None else float(smooth)
    except (TypeError, ValueError):
        raise CertificateError("how statistics are learned is malformed") from None
    if (smooth is not None and not 0 <= smooth < 1e12) or (
        width is not None and not 0 < width <= 1
    ):
        raise CertificateError("smoothing is 0 or more, and a bandwidth from 0 to 1")
    signatures = sorted({s for own in people.values() for s in own}, key=repr)
    amount = {s: sum(own.get(s, 0) for own in people.values()) for s in signatures}
    kind_of, near = _kinds(signatures, amount, width)
    values = sorted({value for _, bag in held.values() for value in bag})
    place = {value: i for i, value in enumerate(values)}
    parts = _parts(held, people, kind_of, place)
    shape = max(kind_of.values()) + 1, len(values)
    if smooth is None:
        smooth = _best(parts, shape, near, claimed)
    chances, amounts, many = _climb(parts, shape, near, smooth)
    overall = _overall(parts, len(values))
    found_best: list[Lesson] = []
    asked = np.array([value in wanted for value in values])
    for part in parts:
        mean = _posteriors(part, chances[part.kinds[:, :, None], part.values[:, None, :]])
        known = _others(part, mean, amounts, many, overall, near, smooth)
        found = _posteriors(part, known)
        same = part.values[:, :, None] == part.values[:, None, :]
        total = found @ same.astype(float)
        height = total / np.maximum(known, 1e-300) if relative else total
        height = np.where(asked[part.values][:, None, :], height, -1.0)
        exact = part.values.shape[1] <= _SMALL
        # Of large groups, in which posteriors are only near, those that come first are settled.
        order = np.argsort(-height, axis=None)[: 1 if exact else _CANDIDATES]
        for flat in order.tolist():
            g, person, copy = (int(i) for i in np.unravel_index(flat, height.shape))
            chance = total[g, person, copy]
            if height[g, person, copy] <= 0:
                break
            if not exact:
                chance = _settled(known[g], part.values[g], person, copy, chance)
            value = values[int(part.values[g, copy])]
            prior = float(known[g, person, copy])
            found_best.append(Lesson(value, part.names[g], float(chance), prior))
    nobody = Lesson(None, None, 0.0, 1.0)
    if relative:
        return max(found_best, key=lambda one: one.probability / one.statistics, default=nobody)
    return max(found_best, key=lambda one: one.probability, default=nobody)


def _settled(
    table: _Floats, values: NDArray[np.int64], person: int, copy: int, near: float
) -> float:
    """How likely one person has the value of a copy: others are assigned by how many have each.

    What was near to it, where that takes too many numbers.
    """
    codes, first, counts = np.unique(values, return_index=True, return_counts=True)
    shape = tuple(int(n) + 1 for n in counts)
    if np.prod([float(n) for n in shape]) > _MOST_STATES:
        return near
    ways = np.zeros(shape)
    ways[(0,) * len(shape)] = 1.0
    for other in range(len(table)):
        if other == person:
            continue
        after = np.zeros(shape)
        for kind in range(len(codes)):
            to = tuple(slice(1, None) if k == kind else slice(None) for k in range(len(codes)))
            of = tuple(slice(None, -1) if k == kind else slice(None) for k in range(len(codes)))
            after[to] += ways[of] * table[other, first[kind]]
        ways = after / after.max()
    weights = []
    for kind in range(len(codes)):
        left = tuple(int(n) - (k == kind) for k, n in enumerate(counts))
        weights.append(table[person, first[kind]] * ways[left])
    total = float(np.sum(weights))
    own = int(np.flatnonzero(codes == values[copy])[0])
    return float(weights[own] / total) if total > 0 else near


def _kinds(
    signatures: Sequence[Signature], amount: Mapping[Signature, int], width: float | None
) -> tuple[dict[Signature, int], _Floats | None]:
    """The kind of each signature, and how much kinds count for each other."""
    columns = []
    for at in range(len(signatures[0])):
        weight: dict[str | None, int] = {}
        for signature in signatures:
            weight[signature[at]] = weight.get(signature[at], 0) + amount[signature]
        columns.append(_column(weight, width))
    keys = {s: tuple(columns[at][0][s[at]] for at in range(len(s))) for s in signatures}
    distinct = sorted(set(keys.values()))
    number = {key: i for i, key in enumerate(distinct)}
    kind_of = {s: number[keys[s]] for s in signatures}
    if width is None:
        return kind_of, None
    near = np.ones((len(distinct), len(distinct)))
    for at, (_, spot) in enumerate(columns):
        for i, one in enumerate(distinct):
            for j, other in enumerate(distinct):
                if spot is None:
                    near[i, j] *= one[at] == other[at]
                elif one[at] != other[at]:
                    gap = abs(spot[one[at]] - spot[other[at]]) / width
                    near[i, j] *= max(1 - gap * gap, 0.0)
    return kind_of, near


def _column(
    weight: Mapping[str | None, int], width: float | None
) -> tuple[dict[str | None, int], dict[int, float] | None]:
    """The kind of each label of a column; of numbers, where each kind lies."""
    numbers = {label: _number(label) for label in weight if label is not None}
    known = {label: x for label, x in numbers.items() if x is not None}
    plain = len(known) < len(numbers) or len(known) < 2
    if plain or (width is None and len(known) <= _MOST_NUMBERS):
        return {label: i for i, label in enumerate(sorted(weight, key=repr))}, None
    order = sorted(known, key=lambda label: known[label])
    least = known[order[0]]
    span = (known[order[-1]] - least) or 1.0
    whole = sum(weight[label] for label in order)
    bins: dict[str | None, int] = {}
    done = 0
    for label in order:
        point = _POINTS * (known[label] - least) / span
        bins[label] = _BINS * done // whole if width is None else int(np.round(point))
        done += weight[label]
    spots: dict[int, list[float]] = {}
    for label in order:
        spots.setdefault(bins[label], []).append((known[label] - least) / span)
    mean = {code: sum(own) / len(own) for code, own in spots.items()}
    if None in weight:
        bins[None] = -1
        mean[-1] = float("inf")
    return bins, None if width is None else mean


def _number(label: str) -> float | None:
    try:
        number = float(label)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _parts(
    held: Mapping[Group, tuple[int, Bag]],
    people: Mapping[Group, Mapping[Signature, int]],
    kind_of: Mapping[Signature, int],
    place: Mapping[str, int],
) -> list[_Part]:
    alike: dict[tuple[tuple[int, ...], tuple[int, ...]], list[Any]] = {}
    for group, (_, bag) in held.items():
        kinds = sorted(kind_of[s] for s, n in people[group].items() for _ in range(n))
        own = sorted(place[value] for value, n in bag.items() for _ in range(n))
        if len(kinds) != len(own):
            raise CertificateError("the people and the values of a group do not match")
        alike.setdefault((tuple(kinds), tuple(own)), [0.0, group])[0] += 1
    parts = []
    if max((len(kinds) for kinds, _ in alike), default=0) > _LARGEST:
        raise CertificateError("a group is too large for an estimate of what can be learned")
    for size in sorted({len(kinds) for kinds, _ in alike}):
        some = [(case, given) for case, given in alike.items() if len(case[0]) == size]
        step = max(_AT_ONCE // (max(size, 1 << min(size, _SMALL)) * size), 1)
        for start in range(0, len(some), step):
            few = some[start : start + step]
            parts.append(
                _Part(
                    np.array([case[0] for case, _ in few]),
                    np.array([case[1] for case, _ in few]),
                    np.array([given[0] for _, given in few]),
                    [given[1] for _, given in few],
                )
            )
    return parts


def _posteriors(part: _Part, table: _Floats) -> _Floats:
    """How likely each person has each copy of the values of their group."""
    for axis in (1, 2, 1):
        most = table.max(axis=axis, keepdims=True)
        table = table / np.where(most > 0, most, 1.0)
    if table.shape[1] <= _SMALL:
        weights, total = by_subsets(table)
        if (total > 1e-250).all():
            return np.asarray(weights / total[:, None, None])
    table = np.maximum(table, 1e-200)
    for _ in range(_ROUNDS):
        table = table / table.sum(axis=1, keepdims=True)
        table = table / table.sum(axis=2, keepdims=True)
    return table


def _sums(part: _Part, mean: _Floats, shape: tuple[int, int]) -> _Floats:
    """People by kind and value."""
    at = part.kinds[:, :, None] * shape[1] + part.values[:, None, :]
    weight = mean * part.times[:, None, None]
    size = shape[0] * shape[1]
    found = np.bincount(at.ravel(), weight.ravel(), minlength=size)
    return np.asarray(found.reshape(shape), dtype=np.float64)


def _overall(parts: Sequence[_Part], n_values: int) -> _Floats:
    total = np.zeros(n_values)
    for part in parts:
        np.add.at(total, part.values, np.broadcast_to(part.times[:, None], part.values.shape))
    return np.asarray(total / total.sum())


def _climb(
    parts: Sequence[_Part],
    shape: tuple[int, int],
    near: _Floats | None,
    smooth: float,
    steps: int = _STEPS,
) -> tuple[_Floats, _Floats, _Floats]:
    """The chances where steps end, and the amounts and people that they are of."""
    overall, many = _overall(parts, shape[1]), np.zeros(shape[0])
    for part in parts:
        np.add.at(many, part.kinds, np.broadcast_to(part.times[:, None], part.kinds.shape))
    # Off the middle a little, so that no saddle holds it.
    tilt = 1 + 0.02 * np.cos(np.arange(shape[0] * shape[1]).reshape(shape) * 2.4)
    chances = overall * tilt
    amounts = np.zeros(shape)
    for _ in range(steps):
        amounts = np.zeros(shape)
        for part in parts:
            table = chances[part.kinds[:, :, None], part.values[:, None, :]]
            amounts += _sums(part, _posteriors(part, table), shape)
        above, below = (amounts, many) if near is None else (near @ amounts, near @ many)
        after = (above + smooth * overall) / np.maximum(below + smooth, 1e-300)[:, None]
        change = float(np.abs(after - chances).max())
        chances = after
        if change <= _ENOUGH:
            break
    return chances, amounts, many


def _others(
    part: _Part,
    mean: _Floats,
    amounts: _Floats,
    many: _Floats,
    overall: _Floats,
    near: _Floats | None,
    smooth: float,
) -> _Floats:
    """What all groups but their own teach of each person and each copy."""
    weight = part.kinds[:, :, None] == part.kinds[:, None, :]
    if near is not None:
        weight = near[part.kinds[:, :, None], part.kinds[:, None, :]]
        amounts, many = near @ amounts, near @ many
    same = (part.values[:, :, None] == part.values[:, None, :]).astype(float)
    own = weight.astype(float) @ mean @ same
    size = weight.sum(axis=2)[:, :, None]
    left = np.maximum(many[part.kinds][:, :, None] - size, 0)
    taught = amounts[part.kinds[:, :, None], part.values[:, None, :]] - own
    share = overall[part.values][:, None, :]
    total = left + smooth
    found = (np.clip(taught, 0, left) + smooth * share) / np.where(total > 0, total, 1)
    return np.asarray(np.where(total > 0, found, share))


def _best(
    parts: Sequence[_Part], shape: tuple[int, int], near: _Floats | None, claimed: float | None
) -> float:
    """The smoothing that predicts every other group best from the rest, or a claimed one."""
    halves = []
    for side in (0, 1):
        half = [
            _Part(p.kinds[side::2], p.values[side::2], p.times[side::2], p.names[side::2])
            for p in parts
        ]
        halves.append([p for p in half if len(p.kinds)])
    if not all(halves):
        return float(_SMOOTHINGS[-1]) if claimed is None else claimed
    found: dict[float, float] = {}
    for smooth in reversed(_SMOOTHINGS):
        height = 0.0
        for one, other in (halves, halves[::-1]):
            chances, _, _ = _climb(one, shape, near, float(smooth), _FOLD_STEPS)
            for part in other:
                table = np.maximum(chances[part.kinds[:, :, None], part.values[:, None, :]], 1e-12)
                height += float(part.times @ _weights(table))
        found[float(smooth)] = height
        if height < max(found.values()) - _BEHIND:
            break
    top = max(found.values())
    if claimed is not None:
        if found.get(claimed, -np.inf) < top - _BEHIND:
            raise CertificateError(
                f"what can be learned was estimated with a smoothing of {claimed:g}, which "
                "predicts groups that were not learned from far worse than another"
            )
        return claimed
    return max(smooth for smooth, height in found.items() if height >= top - 1e-6)


def _weights(table: _Floats) -> _Floats:
    """Logarithm of the weight of all ways, up to a constant of each group."""
    most = table.max(axis=2, keepdims=True)
    if table.shape[1] <= _SMALL:
        _, total = by_subsets(table / most)
        return np.asarray(np.log(total) + np.log(most[:, :, 0]).sum(axis=1))
    fitted = table
    for _ in range(_ROUNDS):
        fitted = fitted / fitted.sum(axis=1, keepdims=True)
        fitted = fitted / fitted.sum(axis=2, keepdims=True)
    return np.asarray((fitted * np.log(table / np.maximum(fitted, 1e-300))).sum(axis=(1, 2)))
