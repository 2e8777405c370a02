"""The verifier's own judgement of priors: every world of small groups, person by person.

It shares no code with the adversary. Floats rank: subsets of a group's values are assigned to its
first people, and to its last. What comes near the highest is settled with whole numbers: values
are assigned to one person after another, and weights of equal remainders added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm, prod
from typing import Any, NamedTuple, TypeAlias

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

# Groups up to this size are gone through by subsets of their values.
_SMALL = 12
_AT_ONCE = 1 << 22
_NEAR = 1e-9
_MOST_STATES = 10**6
# Of a common denominator.
_MOST_BITS = 1 << 15
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
) -> Worst:
    """The highest posterior of a wanted value (by its prior, if `relative`), and whose it is.

    `held` says of each group how many people it has and its bag, `people` their signatures.
    """
    cases: dict[_Case, Group] = {}
    for group, (_, bag) in held.items():
        signed = tuple(sorted(people[group].items(), key=lambda item: str(item[0])))
        cases.setdefault((signed, tuple(sorted(bag.items()))), group)
    problems = [
        problem
        for case, group in cases.items()
        for problem in _problems(group, case, wanted, chances, reading)
    ]
    ranks = _ranks(problems, relative)
    best: Worst = (None, None, Fraction(0), Fraction(1))
    top = max((rank for rank in ranks if rank == rank), default=0.0)
    near = top * (1 - _NEAR) if relative else top - _NEAR
    for problem, rank in zip(problems, ranks, strict=True):
        if rank < near:
            continue
        found = _posteriors(problem.people, problem.counts, problem.table)
        for place, value in enumerate(problem.values):
            for row, priors in zip(found, problem.table, strict=True):
                if value is None:
                    continue
                chance, prior = row[place], priors[place]
                own, known = (chance * best[3], best[2] * prior) if relative else (chance, best[2])
                # Of equal ones the first value; of its groups the first, in the order of `held`.
                if own > known or (own == known > 0 and value < (best[0] or "")):
                    best = (value, problem.group, chance, prior)
    return best


class _Problem(NamedTuple):
    """Values of a group to assign to its people; None is a value that nobody asks about."""

    group: Group
    values: list[str | None]
    counts: list[int]
    people: list[int]  # by signature
    table: list[list[Fraction]]  # signatures by values


def _problems(
    group: Group, case: _Case, wanted: Collection[str], chances: Chances, reading: str
) -> Iterator[_Problem]:
    """All values together, or each wanted one by itself: had, or not had."""
    signed, bag = case
    people, size = [amount for _, amount in signed], sum(count for _, count in bag)
    asked = [(value, count) for value, count in bag if value in wanted]
    if reading == "joint" and asked:
        names = [value if value in wanted else None for value, _ in bag]
        table = [[chances.of(s, value) for value, _ in bag] for s, _ in signed]
        yield _Problem(group, names, [count for _, count in bag], people, table)
    elif reading == "binary":
        for value, count in asked:
            had = [chances.of(s, value) for s, _ in signed]
            pairs = [[chance, 1 - chance] for chance in had]
            yield _Problem(group, [value, None], [count, size - count], people, pairs)


def _posteriors(
    people: Sequence[int], counts: Sequence[int], table: Sequence[Sequence[Fraction]]
) -> list[list[Fraction]]:
    """How likely one person of each signature has each value.

    Values are assigned to people, or people to values: whichever keeps less in mind.
    """
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
    """How likely one item of each sort gets each kind, of which there are so many.

    Of all worlds, those where the item gets the kind: both are taken away, and the rest assigned.
    """
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


def _ranks(problems: Sequence[_Problem], relative: bool) -> list[float]:
    """The highest posterior of each small group, in floats; NaN where they cannot say."""
    by_size: dict[int, list[int]] = {}
    for at, problem in enumerate(problems):
        size = sum(problem.counts)
        if size <= _SMALL:
            by_size.setdefault(size, []).append(at)
    found = np.full(len(problems), np.nan)
    for size, some in by_size.items():
        step = max(1, _AT_ONCE >> size)
        for start in range(0, len(some), step):
            batch = some[start : start + step]
            found[batch] = _highest([problems[at] for at in batch], size, relative)
    ranks: list[float] = found.tolist()
    return ranks


def _highest(problems: Sequence[_Problem], size: int, relative: bool) -> NDArray[np.float64]:
    """The highest posterior of each of some groups of one size."""
    table = np.empty((len(problems), size, size))
    kind = np.empty((len(problems), size), dtype=np.int64)  # which value each copy is of
    asked = np.zeros((len(problems), size), dtype=bool)
    for at, (_, values, counts, people, chances) in enumerate(problems):
        kind[at] = np.repeat(np.arange(len(counts)), counts)
        asked[at] = np.array([value is not None for value in values])[kind[at]]
        table[at] = np.repeat(np.array(chances, dtype=float), people, axis=0)[:, kind[at]]
    prior = table.copy()
    for axis in (1, 2):  # ratios within a column, and within a row, are all that matters
        most = table.max(axis=axis, keepdims=True)
        table /= np.where(most > 0, most, 1.0)
    parts, weight = _by_subsets(table)
    chance = parts / np.where(weight < _LEAST, np.nan, weight)[:, None, None]
    total = np.zeros_like(chance)
    for copy in range(size):  # copies of one value are had together
        same = kind == kind[:, copy : copy + 1]
        total[:, :, copy] = (chance * same[:, None, :]).sum(axis=2)
    if relative:  # a weight may be as small as its prior, and the ratio large all the same
        total[(prior > 0) & (parts < _LEAST_PART)] = np.nan
        total = np.divide(total, prior, out=total * 0, where=prior > 0)
    highest = np.where(asked[:, None, :], total, 0.0).max(axis=(1, 2))
    return np.where(np.isfinite(highest), highest, np.nan)


def _by_subsets(
    table: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight of each person's having each copy, from subsets of the first and of the last.

    And the weight of all ways.
    """
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
