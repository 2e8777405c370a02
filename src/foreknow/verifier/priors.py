"""The verifier's own judgement of priors: every world of small groups, person by person.

It shares no code with the adversary. Floats rank: subsets of a group's values are assigned to its
first people, and to its last. What comes near the highest is settled with whole numbers: values
are assigned to one person after another, and weights of equal remainders added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm, prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.errors import CertificateError

Bag: TypeAlias = Mapping[str, int]
Group: TypeAlias = "tuple[str | None, ...]"
# A value, a group, the posterior, and how likely it was before.
Worst: TypeAlias = "tuple[str | None, Group | None, Fraction, Fraction]"
Signature: TypeAlias = "tuple[str | None, ...]"
# One group as far as it matters: how many people have which signature, and its values.
_Case: TypeAlias = "tuple[tuple[tuple[Signature, int], ...], tuple[tuple[str, int], ...]]"
# What values that are one secret are called together, and these.
_Set: TypeAlias = "tuple[str, Collection[str]]"

# Groups up to this size are gone through by subsets of their values.
_SMALL = 12
_AT_ONCE = 1 << 22
_NEAR = 1e-9
_MOST_STATES = 10**6
# Of a common denominator; and of the floats that are worked with at a time.
_MOST_BITS = 1 << 15
_MOST_FLOATS = 1 << 24
# Below these, floats lose precision; then only fractions say what a sum is.
_LEAST = 1e-250
_LEAST_PART = 1e-290
# As small as a positive probability may be.
_LEAST_CHANCE = Fraction(1, 2**1022)


class Chances:
    """The probabilities of one attribute set, as a certificate holds them."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        try:
            self.attributes: list[str] = list(table["attributes"])
            self.values = {str(value): i for i, value in enumerate(table["values"])}
            self.rows: dict[Signature, list[Fraction]] = {
                tuple(signature): [Fraction(chance) for chance in row]
                for signature, row in table["rows"]
            }
            if not self.attributes or len(self.rows) < len(table["rows"]):
                raise ValueError("attributes, and each signature once")
            wrong = [row for row in self.rows.values() if len(row) != len(self.values)]
            if wrong or not all(0 <= chance <= 1 for row in self.rows.values() for chance in row):
                raise ValueError(f"{len(self.values)} probabilities from 0 to 1 in each row")
            every = [chance for row in self.rows.values() for chance in row]
            if any(0 < chance < _LEAST_CHANCE for chance in every):
                raise ValueError("probabilities that are 0, or large enough for floats")
            if any(_common(row).bit_length() > _MOST_BITS for row in self.rows.values()):
                raise ValueError("probabilities whose common denominator is not that large")
            if any(sum(row) > 1 + Fraction(1, 10**9) for row in self.rows.values()):
                raise ValueError("probabilities that add up to at most 1 in each row")
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise CertificateError(
                f"the priors of the certificate cannot be read: {error}"
            ) from None

    def united(self, members: Collection[str], name: str) -> Chances:
        """The same with some values as one, which is as likely as they are together."""
        left = [value for value in self.values if value not in members]
        rows = [
            (who, [*(self.of(who, value) for value in left), self.any(who, members)])
            for who in self.rows
        ]
        return Chances({"attributes": self.attributes, "values": [*left, name], "rows": rows})

    def any(self, signature: Signature, members: Collection[str]) -> Fraction:
        """How likely one of some values is; what came from floats may add up to more than 1."""
        return min(sum((self.of(signature, value) for value in members), Fraction(0)), Fraction(1))

    def of(self, signature: Signature, value: str) -> Fraction:
        """How likely a value is."""
        if signature not in self.rows or value not in self.values:
            raise CertificateError(
                f"the certificate has no probability of {value!r} for people with "
                f"{', '.join(map(str, signature))}"
            )
        return self.rows[signature][self.values[value]]


def _common(row: Sequence[Fraction]) -> int:
    """The common denominator of some fractions; once it is too large, only that it is."""
    scale = 1
    for denominator in {chance.denominator for chance in row}:
        scale = lcm(scale, denominator)
        if scale.bit_length() > _MOST_BITS:
            break
    return scale


def worst_priors(
    held: Mapping[Group, tuple[int, Bag]],
    people: Mapping[Group, Mapping[Signature, int]],
    wanted: Collection[str],
    chances: Chances,
    reading: str,
    relative: bool = False,
    together: _Set | None = None,
) -> Worst:
    """The highest posterior of a wanted value (by its prior, if `relative`), and whose it is.

    Of values `together`, a name and its members, posteriors and priors are added up.
    """
    wanted = wanted if together is None else together[1]
    cases: dict[_Case, Group] = {}
    for group, (_, bag) in held.items():
        signed = tuple(sorted(people[group].items(), key=lambda item: str(item[0])))
        cases.setdefault((signed, tuple(sorted(bag.items()))), group)
    if reading == "joint":
        rough = _joint_floats(cases, wanted, chances, relative, together is not None)
    else:
        rough = _binary_floats(cases, wanted, chances, relative)
    best: Worst = (None, None, Fraction(0), Fraction(1))
    top = max((height for height in rough.values() if height == height), default=0.0)
    near = top * (1 - _NEAR) if relative else top - _NEAR
    for case, group in cases.items():
        if case in rough and rough[case] < near:
            continue
        found = _exact(case, wanted, chances, reading)
        for value, signature, chance in found if together is None else _sums(found, together[0]):
            if together is None:
                prior = chances.of(signature, value)
            else:
                prior = chances.any(signature, together[1])
            own, known = (chance * best[3], best[2] * prior) if relative else (chance, best[2])
            # Of equal ones the first value; of its groups the first, in the order of `held`.
            if own > known or (own == known > 0 and value < (best[0] or "")):
                best = (value, group, chance, prior)
    return best


def _sums(
    found: Iterable[tuple[str, Signature, Fraction]], name: str
) -> Iterable[tuple[str, Signature, Fraction]]:
    """The posteriors of several values added up, for each signature."""
    sums: dict[Signature, Fraction] = {}
    for _, signature, chance in found:
        sums[signature] = sums.get(signature, Fraction(0)) + chance
    return [(name, signature, chance) for signature, chance in sums.items()]


def _exact(
    case: _Case, wanted: Collection[str], chances: Chances, reading: str
) -> Iterable[tuple[str, Signature, Fraction]]:
    """Posteriors of one group: of each wanted value, for each signature."""
    signed, bag = case
    people = [amount for _, amount in signed]
    if reading == "joint" and any(value in wanted for value, _ in bag):
        table = [[chances.of(s, v) for v, _ in bag] for s, _ in signed]
        found = _posteriors(people, [count for _, count in bag], table)
        for place, (value, _) in enumerate(bag):
            if value in wanted:
                rows = zip(signed, found, strict=True)
                yield from ((value, who, row[place]) for (who, _), row in rows)
    for value, copies in bag:
        if reading == "binary" and value in wanted:
            pairs = [(chances.of(s, value), 1 - chances.of(s, value)) for s, _ in signed]
            rest = sum(count for _, count in bag) - copies
            rows = zip(signed, _posteriors(people, [copies, rest], pairs), strict=True)
            yield from ((value, who, row[0]) for (who, _), row in rows)


def _posteriors(
    people: Sequence[int], counts: Sequence[int], table: Sequence[Sequence[Fraction]]
) -> list[list[Fraction]]:
    """How likely one person of each signature has each value, by whichever keeps less in mind."""
    if prod(count + 1 for count in counts) <= prod(amount + 1 for amount in people):
        return _shares(people, counts, table)
    turned = _shares(counts, people, list(zip(*table, strict=True)))
    return [
        [turned[x][s] * count / amount for x, count in enumerate(counts)]
        for s, amount in enumerate(people)
    ]


def _shares(
    items: Sequence[int], kinds: Sequence[int], table: Sequence[Sequence[Fraction]]
) -> list[list[Fraction]]:
    """How likely one item of each sort gets each kind: both taken away, the rest assigned."""
    whole = [_whole(row) for row in table]
    full = tuple(kinds)
    total = _weights(items, full, whole).get(full, 0)
    if not total:
        raise CertificateError("the priors allow no way to assign the values of a group")
    if len(items) == 1:
        return [[Fraction(count, items[0]) for count in kinds]]
    found = []
    for place, row in enumerate(whole):
        others = _weights(_less(items, place), full, whole) if items[place] else {}
        weights = [row[x] * others.get(_less(full, x), 0) if n else 0 for x, n in enumerate(kinds)]
        found.append([Fraction(weight, total) for weight in weights])
    return found


def _weights(
    items: Sequence[int], most: tuple[int, ...], table: Sequence[Sequence[int]]
) -> dict[tuple[int, ...], int]:
    """Weight of all ways to assign kinds to these items, by how often each kind is used."""
    ways = {(0,) * len(most): 1}
    states = 0
    for row, amount in zip(table, items, strict=True):
        able = [x for x, chance in enumerate(row) if chance and most[x]]
        for _ in range(amount):
            after: dict[tuple[int, ...], int] = {}
            for used, weight in ways.items():
                for x in able:
                    if used[x] < most[x]:
                        more = (*used[:x], used[x] + 1, *used[x + 1 :])
                        after[more] = after.get(more, 0) + weight * row[x]
            ways = after
            states += len(ways)
            if states > _MOST_STATES:
                raise CertificateError("a group is too large to be verified against priors")
    return ways


def _whole(row: Sequence[Fraction]) -> list[int]:
    """Numbers in the same ratios: a factor of everybody's weight is one of the total."""
    scale = lcm(*(chance.denominator for chance in row))
    return [int(chance * scale) for chance in row]


def _less(amounts: Sequence[int], at: int) -> tuple[int, ...]:
    return (*amounts[:at], amounts[at] - 1, *amounts[at + 1 :])


def _binary_floats(
    cases: Mapping[_Case, Group], wanted: Collection[str], chances: Chances, relative: bool
) -> dict[_Case, float]:
    """The highest posterior of each group, in floats, where each value is had or not had."""
    by_shape: dict[tuple[int, int], list[tuple[_Case, list[tuple[float, float]]]]] = {}
    for case in cases:
        signed, bag = case
        for value, copies in bag:
            if value in wanted:
                exact = [chances.of(s, value) for s, n in signed for _ in range(n)]
                row = [(float(chance), float(1 - chance)) for chance in exact]
                by_shape.setdefault((len(row), copies), []).append((case, row))
    found: dict[_Case, float] = {}
    for (size, copies), some in by_shape.items():
        if (size + 1) * (copies + 1) > _MOST_FLOATS:
            found.update((case, np.nan) for case, _ in some)  # fractions must say it
            continue
        had = np.array([row for _, row in some])
        parts, total = _by_number(had[:, :, 0], had[:, :, 1], size, copies)
        chance = parts / np.where(total < _LEAST, np.nan, total)[:, None]
        if relative:
            chance = _by_prior(chance, had[:, :, 0], parts)
        for (case, _), highest in zip(some, chance.max(axis=1).tolist(), strict=True):
            known = found.get(case, 0.0)
            found[case] = highest if highest != highest or highest > known else known
    return found


def _by_number(
    have: NDArray[np.float64], lack: NDArray[np.float64], size: int, copies: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight of each person's having it, from how many of the first and last have; and of all."""
    n_rows = len(have)
    first = np.zeros((size + 1, copies + 1, n_rows))
    last = np.zeros((size + 1, copies + 1, n_rows))
    first[0, 0] = last[0, 0] = 1.0
    for done in range(size):
        for sums, person in ((first, done), (last, size - 1 - done)):
            sums[done + 1] = sums[done] * lack[:, person]
            sums[done + 1, 1:] += sums[done, :-1] * have[:, person]
    chance = np.zeros_like(have)
    for person in range(size):
        before, after = first[person], last[size - 1 - person]
        for number in range(copies):
            chance[:, person] += before[number] * have[:, person] * after[copies - 1 - number]
    return chance, first[size, copies]


def _by_prior(
    chance: NDArray[np.float64], prior: NDArray[np.float64], parts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Posteriors by priors, 0 where neither is positive; NaN where the weight is too small."""
    chance = np.where((prior > 0) & (parts < _LEAST_PART), np.nan, chance)
    return np.divide(chance, prior, out=chance * 0, where=prior > 0)


def _joint_floats(
    cases: Mapping[_Case, Group],
    wanted: Collection[str],
    chances: Chances,
    relative: bool,
    together: bool,
) -> dict[_Case, float]:
    """The highest posterior of each small group, in floats; NaN where they cannot say."""
    by_size: dict[int, list[_Case]] = {}
    for case in cases:
        size = sum(count for _, count in case[1])
        if size <= _SMALL:
            by_size.setdefault(size, []).append(case)
    found: dict[_Case, float] = {}
    for size, some in by_size.items():
        step = max(1, _AT_ONCE >> size)
        for start in range(0, len(some), step):
            batch = some[start : start + step]
            highest = _highest(batch, size, wanted, chances, relative, together)
            found.update(zip(batch, highest, strict=True))
    return found


def _highest(
    cases: Sequence[_Case],
    size: int,
    wanted: Collection[str],
    chances: Chances,
    relative: bool,
    together: bool,
) -> list[float]:
    table = np.empty((len(cases), size, size))
    kind = np.empty((len(cases), size), dtype=np.int64)  # which value each copy is of
    asked = np.zeros((len(cases), size), dtype=bool)
    before = np.ones((len(cases), size))  # how likely all wanted values are, together
    for at, (signed, bag) in enumerate(cases):
        copies = [value for value, count in bag for _ in range(count)]
        kind[at] = [place for place, (_, count) in enumerate(bag) for _ in range(count)]
        asked[at] = [value in wanted for value in copies]
        row = 0
        for signature, amount in signed:
            table[at, row : row + amount] = [float(chances.of(signature, v)) for v in copies]
            if together:
                before[at, row : row + amount] = float(chances.any(signature, wanted))
            row += amount
    prior = table.copy()
    for axis in (1, 2):  # ratios within a column, and within a row, are all that matters
        most = table.max(axis=axis, keepdims=True)
        table /= np.where(most > 0, most, 1.0)
    parts, weight = by_subsets(table)
    chance = parts / np.where(weight < _LEAST, np.nan, weight)[:, None, None]
    if together:
        own = asked[:, None, :]
        summed = np.where(own, chance, 0.0).sum(axis=2)
        if relative:
            summed = _by_prior(summed, before, np.where(own, parts, 0.0).sum(axis=2))
        summed[~asked.any(axis=1)] = 0.0
        return [float(row.max()) for row in summed]  # NaN where there is one
    total = np.zeros_like(chance)
    for copy in range(size):  # copies of one value are had together
        same = kind == kind[:, copy : copy + 1]
        total[:, :, copy] = (chance * same[:, None, :]).sum(axis=2)
    total = _by_prior(total, prior, parts) if relative else total
    known = np.isfinite(np.where(asked[:, None, :], total, 0.0)).all(axis=(1, 2))
    highest = np.where(asked[:, None, :], total, 0.0).max(axis=(1, 2))
    found: list[float] = np.where(known, highest, np.nan).tolist()
    return found


def by_subsets(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight of each person's having each copy, from subsets of the first and last; and of all."""
    n_cases, size, _ = table.shape
    subsets = 1 << size
    first = np.zeros((subsets, n_cases))
    last = np.zeros((subsets, n_cases))
    first[0] = last[0] = 1.0
    for subset in range(1, subsets):
        people = subset.bit_count()
        for copy in range(size):
            if subset >> copy & 1:
                rest = subset ^ (1 << copy)
                first[subset] += first[rest] * table[:, people - 1, copy]
                last[subset] += last[rest] * table[:, size - people, copy]
    chance = np.zeros_like(table)
    for subset in range(subsets - 1):
        person = subset.bit_count()
        for copy in range(size):
            if not subset >> copy & 1:
                rest = (subsets - 1) ^ subset ^ (1 << copy)
                chance[:, person, copy] += first[subset] * table[:, person, copy] * last[rest]
    return chance, first[-1]
