"""The verifier's own estimate of what can be learned from a release as it was written.

It shares no code with the adversary. Statistics are learned by plain steps from everybody's own
values. How likely people are to have what follows by counting, as people come one after another,
how many have had each value: exactly but for rounding, of all groups where that takes few numbers,
and of the groups that come first in the end wherever it can be done. The rest are balanced: their
margins are right, and that is near. What is certified is an estimate, and so is this; the two are
compared within a tolerance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isfinite, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.errors import CertificateError
from foreknow.verifier.priors import Bag, Group, Signature

# Numbers that it may take to go through groups, of all of them: in each step, in the last steps,
# and in the end. What comes first in the end is gone through up to so many numbers of one group.
_EACH_STEP, _LAST_STEPS, _AT_LAST, _OF_ONE = 1 << 19, 1 << 22, 1 << 26, 1 << 23
# What it takes to begin with a shape, in such numbers, for each person and value.
_BEGINNING = 3000
_CANDIDATES, _LARGEST = 12, 4000
_STEPS, _FOLD_STEPS, _ENDING, _ENOUGH = 200, 40, 25, 1e-5
_ROUNDS, _BALANCED = 100, 1e-6
# People that a smoothing is judged by, in each of two halves.
_FOLD = 10_000
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
    """Groups of one shape: who is of which kind, their values, how often, how many are alike."""

    kinds: NDArray[np.int64]  # (groups, people)
    values: NDArray[np.int64]  # (groups, values)
    counts: tuple[int, ...]  # of each value
    times: _Floats
    names: list[Group]

    @property
    def numbers(self) -> int:
        """How many it takes to go through one of them."""
        return int(self.kinds.shape[1] * prod(n + 1 for n in self.counts))

    def one(self, which: int) -> _Part:
        """One of the groups."""
        at = slice(which, which + 1)
        return _Part(self.kinds[at], self.values[at], self.counts, self.times[at], self.names[at])


def learned_from(
    held: Mapping[Group, tuple[int, Bag]],
    people: Mapping[Group, Mapping[Signature, int]],
    wanted: Sequence[str],
    settings: Mapping[str, Any],
    relative: bool = False,
    claimed: float | None = None,
    sets: Mapping[str, Collection[str]] | None = None,
) -> Lesson:
    """The highest posterior of a wanted value, or set, that can be learned, and whose it is.

    Without a ``smoothing`` among the `settings` of the policy, the one that is claimed to predict
    held-out groups best, unless it predicts them far worse than another; or the best.
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
    reached = _within(parts, _LAST_STEPS)
    chances, amounts, many = _climb(parts, shape, near, smooth)
    above, below = (amounts, many) if near is None else (near @ amounts, near @ many)
    taught = _Taught(above, below, _overall(parts, len(values)), near, smooth)
    secrets = {v: [place[v]] for v in wanted if v in place}
    if sets is not None:
        secrets = {name: [place[v] for v in own if v in place] for name, own in sets.items()}
    at_last = _within(parts, _AT_LAST)
    found: list[_Found] = []
    near_to: list[_Found] = []
    for part, before, exact in zip(parts, reached, at_last, strict=True):
        each = _lessons(part, _of(part, chances), before, exact, taught, secrets, relative)
        (found if exact else near_to).extend(each)

    def height(one: _Found) -> float:
        return one.lesson.probability / (one.lesson.statistics if relative else 1.0)

    # Where posteriors are only near, those that come first are gone through.
    found += [one.settled() for one in sorted(near_to, key=height)[-_CANDIDATES:]]
    top = max(found, key=height, default=None)
    return Lesson(None, None, 0.0, 1.0) if top is None else top.lesson


class _Found(NamedTuple):
    """Somebody of whom it makes sure; their group, what is known of it, and their secret."""

    lesson: Lesson
    group: _Part
    known: _Floats
    person: int
    about: NDArray[np.bool_]

    def settled(self) -> _Found:
        """The same, exactly, where that takes no more numbers than one group may."""
        if self.group.numbers > _OF_ONE:
            return self
        own, _ = _posteriors(self.group, self.known, True)
        chance = float(min((own[0, self.person] * self.about).sum(), 1.0))
        return self._replace(lesson=self.lesson._replace(probability=chance))


class _Taught(NamedTuple):
    """People by kind and value, and by kind, neighbours counted; and how frequent values are."""

    amounts: _Floats
    many: _Floats
    overall: _Floats
    near: _Floats | None
    smooth: float


def _lessons(
    part: _Part,
    table: _Floats,
    before: bool,
    exact: bool,
    taught: _Taught,
    secrets: Mapping[str, Sequence[int]],
    relative: bool,
) -> Iterator[_Found]:
    """Those of whom groups of one shape make surest, of each secret."""
    mean, _ = _posteriors(part, table, before)
    own, others = _own(part, mean, taught)
    known = _share(
        taught.amounts[part.kinds[:, :, None], part.values[:, None, :]] - own,
        others[:, :, None],
        taught.overall[part.values][:, None, :],
        taught.smooth,
    )
    found, _ = _posteriors(part, known, exact)
    for name, codes in secrets.items():
        about = np.isin(part.values, codes)
        if not about.any():
            continue
        total = (found * about[:, None, :]).sum(axis=2)
        whole = taught.amounts[part.kinds][:, :, codes].sum(axis=2)
        prior = _share(
            whole - (own * about[:, None]).sum(axis=2),
            others,
            np.full(others.shape, taught.overall[codes].sum()),
            taught.smooth,
        )
        height = total / np.maximum(prior, 1e-300) if relative else total
        for flat in np.argsort(-height, axis=None)[: 1 if exact else _CANDIDATES].tolist():
            g, person = (int(i) for i in np.unravel_index(flat, height.shape))
            chance = float(min(total[g, person], 1.0))
            if chance <= 0:
                break
            lesson = Lesson(name, part.names[g], chance, float(prior[g, person]))
            yield _Found(lesson, part.one(g), known[g : g + 1], person, about[g])


def _own(part: _Part, mean: _Floats, taught: _Taught) -> tuple[_Floats, _Floats]:
    """What a person's own group counts for them, by value; and how many people all others are."""
    weight = (part.kinds[:, :, None] == part.kinds[:, None, :]).astype(float)
    if taught.near is not None:
        weight = taught.near[part.kinds[:, :, None], part.kinds[:, None, :]]
    left = taught.many[part.kinds] - weight.sum(axis=2)
    return weight @ mean, np.maximum(left, 0)


def _share(found: _Floats, others: _Floats, share: _Floats, smooth: float) -> _Floats:
    """What others teach, with so many people with the values of everybody."""
    total = others + smooth
    taught = (np.clip(found, 0, others) + smooth * share) / np.where(total > 0, total, 1)
    return np.asarray(np.where(total > 0, taught, share))


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
    """Groups by how many people they have, and how often their values occur."""
    shapes: dict[tuple[int, ...], dict[Any, list[Any]]] = {}
    for group, (_, bag) in held.items():
        kinds = sorted(kind_of[s] for s, n in people[group].items() for _ in range(n))
        own = sorted((-n, place[value]) for value, n in bag.items())
        counts = tuple(-n for n, _ in own)
        if len(kinds) != sum(counts):
            raise CertificateError("the people and the values of a group do not match")
        if len(kinds) > _LARGEST:
            raise CertificateError("a group is too large for an estimate of what can be learned")
        case = tuple(kinds), tuple(value for _, value in own)
        shapes.setdefault(counts, {}).setdefault(case, [0.0, group])[0] += 1
    parts = []
    for counts, alike in sorted(shapes.items()):
        some, size = list(alike.items()), sum(counts)
        step = max(_AT_ONCE // (size * max(size, prod(n + 1 for n in counts[:20]))), 1)
        for start in range(0, len(some), step):
            few = some[start : start + step]
            parts.append(
                _Part(
                    np.array([case[0] for case, _ in few]),
                    np.array([case[1] for case, _ in few]),
                    counts,
                    np.array([given[0] for _, given in few]),
                    [given[1] for _, given in few],
                )
            )
    return parts


def _within(parts: Sequence[_Part], most: int) -> list[bool]:
    """Which groups are gone through: those that take fewest numbers each, up to so many in all."""
    cost = [p.numbers * len(p.kinds) + _BEGINNING * len(p.counts) * sum(p.counts) for p in parts]
    reached = [False] * len(parts)
    for i in sorted(range(len(parts)), key=lambda i: (parts[i].numbers, i)):
        most -= cost[i]
        if most < 0:
            break
        reached[i] = True
    return reached


def _of(part: _Part, chances: _Floats) -> _Floats:
    """How likely everybody's kind is to have each value of their group."""
    return np.asarray(chances[part.kinds[:, :, None], part.values[:, None, :]])


def _posteriors(part: _Part, table: _Floats, exact: bool) -> tuple[_Floats, _Floats]:
    """How likely each person has each value of their group; log weights, up to a constant."""
    most = table.max(axis=2, keepdims=True)
    table = table / np.where(most > 0, most, 1.0)
    scale = np.log(np.maximum(most, 1e-300)).sum(axis=(1, 2))
    if exact:
        found, weight = _by_counts(table, part.counts)
        if np.isfinite(weight).all():
            return found, weight + scale
    held = np.array(part.counts, dtype=float)
    given = fitted = np.maximum(table, 1e-200)
    for _ in range(_ROUNDS):
        fitted = fitted * (held / fitted.sum(axis=1))[:, None, :]
        sums = fitted.sum(axis=2, keepdims=True)
        fitted = fitted / sums
        if np.abs(sums - 1).max() <= _BALANCED:
            break
    terms = fitted * np.log(given / np.maximum(fitted, 1e-300))
    return fitted, terms.sum(axis=(1, 2)) + scale


def _by_counts(table: _Floats, counts: tuple[int, ...]) -> tuple[_Floats, _Floats]:
    """The same by how many of those before a person have had each value, and of those after."""
    n_groups, n_people, n_values = table.shape
    shape = n_groups, *(n + 1 for n in counts)
    states = tuple(range(1, n_values + 1))
    every = slice(None)

    def cut(value: int, part: slice) -> tuple[slice, ...]:
        return every, *(part if other == value else every for other in range(n_values))

    less = [cut(value, slice(-1)) for value in range(n_values)]
    more = [cut(value, slice(1, None)) for value in range(n_values)]

    def chance(person: int, value: int) -> _Floats:
        return table[:, person, value].reshape(n_groups, *[1] * n_values)

    def scaled(ways: _Floats) -> tuple[_Floats, _Floats]:
        most = ways.max(axis=states, keepdims=True)
        with np.errstate(divide="ignore"):
            return ways / np.where(most > 0, most, 1.0), np.log(most).reshape(n_groups)

    ways = np.zeros(shape)
    ways.reshape(n_groups, -1)[:, 0] = 1.0
    before, total = [ways], np.zeros(n_groups)
    for person in range(n_people):
        after = np.zeros(shape)
        for value in range(n_values):
            after[more[value]] += before[-1][less[value]] * chance(person, value)
        after, log = scaled(after)
        before.append(after)
        total += log
    found = np.zeros(table.shape)
    ways = np.zeros(shape)
    ways.reshape(n_groups, -1)[:, -1] = 1.0
    for person in reversed(range(n_people)):
        ahead = np.zeros(shape)
        for value in range(n_values):
            left = ways[more[value]] * chance(person, value)
            ahead[less[value]] += left
            found[:, person, value] = (before[person][less[value]] * left).sum(axis=states)
        ways, _ = scaled(ahead)
    sums = found.sum(axis=2, keepdims=True)
    total[(sums <= 0).any(axis=(1, 2))] = -np.inf
    return found / np.where(sums > 0, sums, 1.0), total


class _Rest:
    """Groups that are not gone through, by the kinds of their people: margins to be balanced."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        each: list[list[NDArray[Any]]] = [[] for _ in range(7)]
        rows = columns = 0
        for part in parts:
            for kinds, values, times in zip(part.kinds, part.values, part.times, strict=True):
                own, many = np.unique(kinds, return_counts=True)
                wide = len(values)
                found = (
                    np.repeat(own, wide),
                    np.tile(values, len(own)),
                    np.repeat(np.arange(len(own)) + rows, wide),
                    np.tile(np.arange(wide) + columns, len(own)),
                    np.full(len(own) * wide, times),
                    many.astype(float),
                    np.array(part.counts, dtype=float),
                )
                for listed, array in zip(each, found, strict=True):
                    listed.append(array)
                rows, columns = rows + len(own), columns + wide
        joined = [np.concatenate(own) if own else np.zeros(0, np.int64) for own in each]
        self.kind, self.value, self.row, self.column, self.times, self.people, self.held = joined
        self._scale = np.ones(columns)

    def _table(self, chances: _Floats) -> tuple[_Floats, _Floats]:
        """People by cell, and how likely they are to be there; from where it ended last."""
        given = np.maximum(chances[self.kind, self.value], 1e-200)
        row = np.ones(len(self.people))
        for _ in range(_ROUNDS if len(given) else 0):
            row = self.people / np.bincount(self.row, given * self._scale[self.column])
            sums = np.bincount(self.column, given * row[self.row])
            change = float(np.abs(self._scale * sums / self.held - 1).max())
            self._scale = self.held / sums
            if change <= _BALANCED:
                break
        return given * row[self.row] * self._scale[self.column], given

    def amounts(self, chances: _Floats) -> _Floats:
        """People by kind and value."""
        table, _ = self._table(chances)
        at = self.kind * chances.shape[1] + self.value
        found = np.bincount(at, self.times * table, minlength=chances.size)
        return np.asarray(found, dtype=np.float64).reshape(chances.shape)

    def weight(self, chances: _Floats) -> float:
        """Logarithm of the weight of all worlds, about, and up to a constant."""
        table, given = self._table(np.maximum(chances, 1e-12))
        share = given * self.people[self.row] / np.maximum(table, 1e-300)
        return float((self.times * table * np.log(share)).sum())


def _overall(parts: Sequence[_Part], n_values: int) -> _Floats:
    total = np.zeros(n_values)
    for part in parts:
        np.add.at(total, part.values, part.times[:, None] * np.array(part.counts, dtype=float))
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
    done = [False] * len(parts)
    for most, often in ((_EACH_STEP, steps), (_LAST_STEPS, _ENDING if steps == _STEPS else 0)):
        reached = _within(parts, most)
        rest = _Rest([part for part, exact in zip(parts, reached, strict=True) if not exact])
        for _ in range(often if reached != done or most == _EACH_STEP else 0):
            found = rest.amounts(chances).ravel()
            for part, exact in zip(parts, reached, strict=True):
                if not exact:
                    continue
                mean, _ = _posteriors(part, _of(part, chances), exact)
                at = part.kinds[:, :, None] * shape[1] + part.values[:, None, :]
                weight = mean * part.times[:, None, None]
                found += np.bincount(at.ravel(), weight.ravel(), minlength=len(found))
            amounts = found.reshape(shape)
            above, below = (amounts, many) if near is None else (near @ amounts, near @ many)
            after = (above + smooth * overall) / np.maximum(below + smooth, 1e-300)[:, None]
            change = float(np.abs(after - chances).max())
            chances = after
            if change <= _ENOUGH:
                break
        done = reached
    return chances, amounts, many


def _best(
    parts: Sequence[_Part], shape: tuple[int, int], near: _Floats | None, claimed: float | None
) -> float:
    """The smoothing that predicts every other group best from the rest, or a claimed one."""
    many = sum(part.times.sum() * part.kinds.shape[1] for part in parts)
    apart = 2 * max(int(many) // _FOLD, 1)
    halves: list[list[_Part]] = [[], []]
    last = 0
    for part in parts:  # every so many groups; of those that are alike, too
        first = np.cumsum([last, *part.times.astype(np.int64)])
        last = int(first[-1])
        for half, at in zip(halves, (0, apart // 2), strict=True):
            times = np.diff((first - at + apart - 1) // apart)
            some = np.flatnonzero(times)
            names = [part.names[i] for i in some.tolist()]
            own = _Part(part.kinds[some], part.values[some], part.counts, times[some] * 1.0, names)
            half += [own] if len(some) else []
    if not all(halves):
        return float(_SMOOTHINGS[-1]) if claimed is None else claimed
    found: dict[float, float] = {}
    for smooth in reversed(_SMOOTHINGS):
        height = 0.0
        for one, other in (halves, halves[::-1]):
            chances, _, _ = _climb(one, shape, near, float(smooth), _FOLD_STEPS)
            reached = _within(other, _EACH_STEP)
            rest = _Rest([part for part, exact in zip(other, reached, strict=True) if not exact])
            height += rest.weight(chances)
            for part, exact in zip(other, reached, strict=True):
                if not exact:
                    continue
                _, weights = _posteriors(part, np.maximum(_of(part, chances), 1e-12), exact)
                height += float(part.times @ weights)
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
