"""The verifier's own judgement of priors: every world of each group, in whole numbers.

It shares no code with the adversary. Values are assigned to one person after another, from the
first on and from the last: all ways that use the same values are one weight. How likely a person
has a value is the weight of those before, times their own chance, times that of those after.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm, prod
from typing import Any, TypeAlias

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
# A value, who may have it, and how likely: the weight of all ways in which they do, and of all.
_Found: TypeAlias = "tuple[str, Signature, int, int]"
_NOBODY: Worst = (None, None, Fraction(0), Fraction(1))

# Weights of one group; and bits of a common denominator.
_MOST_STATES = 10**6
_MOST_BITS = 1 << 15
# As small as a positive probability may be: whoever reads the certificate may know floats alone.
_LEAST_CHANCE = Fraction(1, 2**1022)


class Chances:
    """The probabilities of one attribute set, as a certificate holds them."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self._whole: dict[Signature, tuple[list[int], int]] = {}
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
            if any(0 < chance < _LEAST_CHANCE for row in self.rows.values() for chance in row):
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

    def whole(self, signature: Signature, values: Sequence[str]) -> tuple[list[int], int]:
        """How likely values are, by one denominator."""
        if signature not in self._whole:
            row = self.rows.get(signature, [])
            scale = _common(row)
            self._whole[signature] = [int(chance * scale) for chance in row], scale
        known, scale = self._whole[signature]
        if not known or not all(value in self.values for value in values):
            for value in values:  # says which is lacking
                self.of(signature, value)
        return [known[self.values[value]] for value in values], scale

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
    best, top = _NOBODY, (0, 1)
    for case, group in cases.items():
        found = _judged(case, wanted, chances, reading)
        for value, signature, weight, total in (
            found if together is None else _sums(found, together)
        ):
            own = weight, total
            if relative:  # by how likely it was before
                before = _before(chances, signature, value, together)
                own = weight * before.denominator, total * before.numerator
            more = own[0] * top[1] - top[0] * own[1]
            # Of equal ones the first value; of its groups the first, in the order of `held`.
            if weight and (more > 0 or (more == 0 and value < (best[0] or ""))):
                before = _before(chances, signature, value, together)
                best, top = (value, group, Fraction(weight, total), before), own
    return best


def _before(chances: Chances, signature: Signature, value: str, together: _Set | None) -> Fraction:
    return chances.of(signature, value) if together is None else chances.any(signature, together[1])


def _sums(found: Iterable[_Found], together: _Set) -> Iterable[_Found]:
    """The posteriors of several values added up, for each signature."""
    sums: dict[tuple[Signature, int], int] = {}
    for _, signature, weight, total in found:
        sums[signature, total] = sums.get((signature, total), 0) + weight
    return [(together[0], who, weight, total) for (who, total), weight in sums.items()]


def _judged(
    case: _Case, wanted: Collection[str], chances: Chances, reading: str
) -> Iterable[_Found]:
    """Posteriors of one group: of each wanted value, for each signature."""
    signed, bag = case
    people, counts = [amount for _, amount in signed], [count for _, count in bag]
    if not any(value in wanted for value, _ in bag):
        return
    table = [chances.whole(who, [value for value, _ in bag]) for who, _ in signed]
    if reading == "joint":
        found, total = _posteriors(people, counts, [row for row, _ in table])
    for place, (value, copies) in enumerate(bag):
        if value not in wanted:
            continue
        at = place
        if reading == "binary":  # each value is had or not had
            pairs = [[row[place], scale - row[place]] for row, scale in table]
            found, total = _posteriors(people, [copies, sum(counts) - copies], pairs)
            at = 0
        for (who, amount), row in zip(signed, found, strict=True):
            yield value, who, row[at], total * amount


def _posteriors(
    people: Sequence[int], counts: Sequence[int], table: Sequence[Sequence[int]]
) -> tuple[list[list[int]], int]:
    """How many people of each signature have each value, on average: weights, and that of all.

    People get values, or values people: whichever keeps less in mind.
    """
    if prod(count + 1 for count in counts) <= prod(amount + 1 for amount in people):
        found, total = _shares(people, counts, table)
        pairs = zip(found, people, strict=True)
        return [[weight * amount for weight in row] for row, amount in pairs], total
    turned, total = _shares(counts, people, list(zip(*table, strict=True)))
    pairs = zip(turned, counts, strict=True)
    held = [[weight * count for weight in row] for row, count in pairs]
    return [list(row) for row in zip(*held, strict=True)], total


def _shares(
    items: Sequence[int], kinds: Sequence[int], table: Sequence[Sequence[int]]
) -> tuple[list[list[int]], int]:
    """The weight of one item of each sort getting each kind, and that of all ways.

    It is that of those before it, times its own, times that of those after it.
    """
    rows = [row for row, amount in zip(table, items, strict=True) for _ in range(amount)]
    steps = [prod(kind + 1 for kind in kinds[:x]) for x in range(len(kinds))]
    before, after = _ways(rows, kinds, steps), _ways(rows[::-1], kinds, steps)
    full = sum(kind * step for kind, step in zip(kinds, steps, strict=True))
    total = before[-1].get(full, 0)
    if not total:
        raise CertificateError("the priors allow no way to assign the values of a group")
    found, at = list[list[int]](), 0
    for amount in items:
        rest, weights = after[max(len(rows) - at - 1, 0)], [0] * len(kinds)
        for x, (step, own) in enumerate(zip(steps, table[len(found)], strict=True)):
            if own and amount:
                ways = (n * rest.get(full - used - step, 0) for used, n in before[at].items())
                weights[x] = own * sum(ways)
        found.append(weights)
        at += amount
    return found, total


def _ways(
    rows: Sequence[Sequence[int]], most: Sequence[int], steps: Sequence[int]
) -> list[dict[int, int]]:
    """For the first 0, 1, ... items the weight of all ways to assign kinds, by what they use.

    What they use is one number, with a digit for each kind: how often.
    """
    every, states = [{0: 1}], 0
    for row in rows:
        able = [own for own in zip(steps, most, row, strict=True) if own[1] and own[2]]
        after: dict[int, int] = {}
        for used, weight in every[-1].items():
            for step, top, chance in able:
                if used // step % (top + 1) < top:
                    after[used + step] = after.get(used + step, 0) + weight * chance
        every.append(after)
        states += len(after)
        if states > _MOST_STATES:
            raise CertificateError("a group is too large to be verified against priors")
    return every
