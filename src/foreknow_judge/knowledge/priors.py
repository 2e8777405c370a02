"""Posteriors under priors: sums over every world of each group, in whole numbers.

This shares no code with the adversary. Values are assigned to one person after another, forwards
and backwards: all ways that use the same values are added up to one weight. The weight of a person
having a value is the weight of the people before, times the person's own chance, times the weight
of the people after. Groups of equal shape take the same steps, so they are computed side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import lcm, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow_judge.counts.group_bags import Bag, Group, Ints, Signature
from foreknow_judge.errors import CertificateError
from foreknow_judge.knowledge.facts import Worst
from foreknow_judge.knowledge.posterior_bounds import (
    Amounts,
    ExchangeQuestion,
    PriorGroup,
    Shape,
    first_worst,
    worst_exchanged,
)

# Values that are one secret: its name, and the values.
_Set: TypeAlias = "tuple[str, Collection[str]]"

# Bounds: weights of one group, weights computed at once, bits of a common denominator.
_MOST_STATES, _AT_ONCE = 1 << 20, 1 << 17
_MOST_BITS = 1 << 15
# The smallest positive probability: programs that read a certificate may have only floats.
_LEAST_CHANCE = Fraction(1, 2**1022)


class Chances:
    """The probabilities of values by one set of attributes, as a certificate holds them."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        # A table has attributes (columns), values, and rows: pairs of a signature (a label for each
        # attribute) and the probabilities of the values.
        try:
            self.attributes: list[str] = list(table["attributes"])
            self.values = {str(value): i for i, value in enumerate(table["values"])}
            rows = {tuple(signature): [*map(Fraction, row)] for signature, row in table["rows"]}
            if not self.attributes or len(rows) < len(table["rows"]):
                raise ValueError("attributes, and each signature once")
            # By signature: the probabilities as whole numbers, and their common denominator.
            self.rows: dict[Signature, tuple[list[int], int]] = {}
            for signature, row in rows.items():
                self.rows[signature] = self._whole(row)
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise CertificateError("malformed-priors", error) from None

    def _whole(self, row: Sequence[Fraction]) -> tuple[list[int], int]:
        """A row of probabilities as whole numbers, and their common denominator.

        A wrong row is refused: probabilities may add up to a little more than 1 by rounding.
        """
        scale = _common(row)
        if len(row) != len(self.values) or not 0 <= min(row) <= max(row) <= 1:
            raise ValueError(f"{len(self.values)} probabilities from 0 to 1 in each row")
        if any(0 < chance < _LEAST_CHANCE for chance in row):
            raise ValueError("probabilities that are 0, or large enough for floats")
        if scale.bit_length() > _MOST_BITS:
            raise ValueError("probabilities whose common denominator is not that large")
        if sum(row) > 1 + Fraction(1, 10**9):
            raise ValueError("probabilities that add up to at most 1 in each row")
        return [int(chance * scale) for chance in row], scale

    def united(self, members: Collection[str], name: str) -> Chances:
        """The same with some values merged into one, whose probability is their sum."""
        other_values = [value for value in self.values if value not in members]
        rows = []
        for who in self.rows:
            chances = [self.any(who, [value]) for value in other_values]
            rows.append((who, [*chances, self.any(who, members)]))
        return Chances(
            {"attributes": self.attributes, "values": [*other_values, name], "rows": rows}
        )

    def any(self, signature: Signature, members: Collection[str]) -> Fraction:
        """The probability of any of some values; at most 1, which rounded floats may exceed."""
        numbers, scale = self.whole(signature, members)
        return min(Fraction(sum(numbers), scale), Fraction(1))

    def whole(self, signature: Signature, values: Collection[str]) -> tuple[list[int], int]:
        """The probabilities of values as whole numbers, and their common denominator."""
        for value in values:
            if signature not in self.rows or value not in self.values:
                group = ", ".join(map(str, signature))
                raise CertificateError("no-probability", value, group=group)
        numbers, scale = self.rows[signature]
        return [numbers[self.values[value]] for value in values], scale


def _common(row: Sequence[Fraction]) -> int:
    """The common denominator of some fractions; incomplete, once it is too large."""
    scale = 1
    for denominator in {chance.denominator for chance in row}:
        scale = lcm(scale, denominator)
        if scale.bit_length() > _MOST_BITS:
            break
    return scale


def worst_priors(
    bags: Mapping[Group, tuple[int, Bag]],
    people: Mapping[Group, Mapping[Signature, int]],
    secrets: Collection[str],
    chances: Chances,
    reading: str,
    relative: bool = False,
    united: _Set | None = None,
    amounts: Amounts = (0, 0, 0),
) -> Worst:
    """The highest posterior of a secret (divided by its prior if `relative`), and its group.

    `bags` has people and values of each group, and `people` how many have each signature: labels
    of the attributes that priors are by. `reading` is the kind of priors, "joint" or "binary". For
    values `united` (a name and its members), posteriors and priors are added up. `amounts` are
    facts on top of priors: how many values are ruled out, and how many people known and linked.
    """
    name, secrets = united or (None, secrets)
    question = ExchangeQuestion(frozenset(secrets), name, amounts, reading == "binary")
    # Groups with equal people and values are judged once: sorted alike, they have one key.
    first_groups: dict[Any, Group] = {}
    for group, (_, bag) in bags.items():
        people_by_signature = sorted(
            people[group].items(), key=lambda item: (-item[1], str(item[0]))
        )
        values = sorted(bag.items(), key=lambda item: (-item[1], item[0]))
        first_groups.setdefault((tuple(people_by_signature), tuple(values)), group)
    groups, shapes = list(first_groups.values()), dict[Shape, list[PriorGroup]]()
    for number, (people_by_signature, bag) in enumerate(first_groups):
        for shape, case in _cases(number, people_by_signature, bag, chances, question):
            shapes.setdefault(shape, []).append(case)
    if any(amounts[1:]):  # with known or linked people there is only an upper bound
        return worst_exchanged(shapes, question, relative, groups)
    worst_cases, top = list[tuple[str, int, Worst]](), Fraction(0)
    # In this order, neighbours share the steps between states, which are cached.
    for shape, cases in sorted(shapes.items(), key=lambda entry: _fewest_states(entry[0])):
        states = _states(_fewest_states(shape))
        if states > _MOST_STATES:
            raise CertificateError("too-large", "a group with priors")
        step = max(1, _AT_ONCE // states)
        for batch in (cases[start : start + step] for start in range(0, len(cases), step)):
            weight, total, before = _judge_batch(batch, shape, question)
            above, below = weight, total
            if relative:  # divided by the prior
                scale = np.array([case.scales for case in batch], object)
                above, below = weight * scale[:, :, None], total * before
            # Where above / below is at least `top`, the highest so far; equal ones are ties.
            reaches_top = (above > 0) & (above * top.denominator >= top.numerator * below)
            for c, s, x in np.argwhere(reaches_top).tolist():  # by case, signature and value
                # Asked again, since `top` rises meanwhile.
                if above[c, s, x] * top.denominator >= top.numerator * below[c, s, x]:
                    top = Fraction(above[c, s, x], below[c, s, x])
                    case, chance = batch[c], Fraction(weight[c, s, x], total[c, s, x])
                    prior = Fraction(before[c, s, x], case.scales[s])
                    value = case.values[x] if name is None else name
                    worst = Worst(value, groups[case.place], chance, prior)
                    worst_cases.append((value, case.place, worst))
    return first_worst(worst_cases, relative)


def _cases(
    number: int, people_by_signature: Any, bag: Any, chances: Chances, question: ExchangeQuestion
) -> Iterator[tuple[Shape, PriorGroup]]:
    """Yield a group as one case; with binary priors, a case for each value: to have it or not.

    A case comes with its shape: how many people have each signature, and each value. `number` is
    the place of the group.
    """
    signatures = [who for who, _ in people_by_signature]
    amounts = tuple(n for _, n in people_by_signature)
    values, counts = [value for value, _ in bag], tuple(n for _, n in bag)
    asked_values = [value for value in values if value in question.asked_values]
    if not question.binary and asked_values:
        table = [chances.whole(who, values) for who in signatures]
        rows, scales = map(list, zip(*table, strict=True))
        before = rows  # the priors
        if question.name is not None:  # the values are one secret, so their priors are added up
            before = [
                [int(chances.any(who, question.asked_values) * scale)]
                for who, scale in zip(signatures, scales, strict=True)
            ]
        yield (amounts, counts), PriorGroup(number, values, rows, before, scales)
    for value in asked_values if question.binary else ():
        table = [chances.whole(who, [value]) for who in signatures]
        before, scales = map(list, zip(*table, strict=True))
        pairs = [[chance, scale - chance] for (chance,), scale in table]
        copies = counts[values.index(value)]
        other_counts = sorted(n for other_value, n in bag if other_value != value)
        # The most frequent other values are ruled out: as many as the question says.
        others_left = sum(other_counts[: max(len(other_counts) - question.amounts[0], 0)])
        shape = amounts, (copies, sum(counts) - copies)
        yield shape, PriorGroup(number, [value], pairs, before, scales, others_left)


def _judge_batch(
    cases: Sequence[PriorGroup], shape: Shape, question: ExchangeQuestion
) -> tuple[Any, Any, Any]:
    """The weight of each secret, the weight of all values, and the prior, as arrays of integers.

    Axes: case, signature, value. The posterior of a secret is the first over the second: sums of
    the weights of worlds (ways to give the values to the people). If values are ruled out, only the
    worlds that remain count; it is worst to rule out the values of the largest weight.
    """
    # A union is several values that are one secret.
    ruled_out, is_union = question.amounts[0], question.name is not None
    table = np.array([case.rows for case in cases], object)  # objects: integers of any size
    weights, total = _posteriors(shape, table)
    # The weights are of all people of a signature, so the total is counted once for each of them.
    total = total[:, None, None] * np.array(shape[0], object)[None, :, None]
    is_asked = np.array([[*map(question.asked_values.__contains__, case.values)] for case in cases])
    weight = weights[:, :, : is_asked.shape[1]] * is_asked[:, None, :]
    if is_union:
        weight = weight.sum(axis=2, keepdims=True)
    total = total + 0 * weight  # an entry for each value, too
    if ruled_out and not question.binary:
        # For each secret x, its own values; of the others, the largest weights are left out.
        is_united = is_asked[:, :, None] if is_union else np.eye(weights.shape[2], dtype=bool)[None]
        for x in range(weight.shape[2]):
            other_weights = np.sort(np.where(is_united[:, None, :, x], 0, weights), axis=2)
            weights_left = other_weights[:, :, : max(other_weights.shape[2] - ruled_out, 0)]
            total[:, :, x] = weight[:, :, x] + weights_left.sum(axis=2)
    elif ruled_out:
        # Binary: of the people without the value, only `left` of them have a value that remains.
        weights_left = np.array([case.left for case in cases], object)[:, None, None]
        # Multiplied by their number, shape[1][1], instead of divided: these are integers.
        lacking = (total - weight) * weights_left
        weight = weight * max(shape[1][1], 1)
        total = weight + lacking
    return weight, total, np.array([case.before for case in cases], object)


def _fewest_states(shape: Shape) -> tuple[int, ...]:
    """The amounts of values, or of people by signature: whichever make fewer states."""
    return min(reversed(shape), key=_states)


def _states(kinds: tuple[int, ...]) -> int:
    """The number of states: how many of each kind are used."""
    return prod(kind + 1 for kind in kinds)


def _posteriors(shape: Shape, table: Any) -> tuple[Any, Any]:
    """For people of each signature, the weight of having each value; and the total weight."""
    amounts, counts = (np.array(numbers, object)[None, :, None] for numbers in shape)
    if _fewest_states(shape) is shape[1]:
        shares, total = _shares(*shape, table)
        return shares * amounts, total
    shares, total = _shares(*shape[::-1], table.swapaxes(1, 2))
    return (shares * counts).swapaxes(1, 2), total


def _shares(items: Sequence[int], kinds: Sequence[int], table: Any) -> tuple[Any, Any]:
    """The weight of one item of each sort getting each kind, and the total weight.

    `items` says how many there are of each sort, `kinds` how many of each kind; `table` has the
    weights by case, sort and kind. (Items are people by signature and kinds are values, or the
    other way round.) The weight of an item getting a kind is that of the items before it, times
    its own, times that of those after it, which is the same computation from the other end.
    """
    steps = _Steps.of(tuple(kinds))
    sort_of_item = np.repeat(np.arange(len(items)), items).tolist()
    before, after = steps.ways(table, sort_of_item), steps.ways(table, sort_of_item[::-1])
    # In the only last state all kinds are used. A weight of 0 means that no world is possible.
    total = before[-1][0] if len(sort_of_item) == sum(kinds) else np.zeros(1)
    if not total.all():
        raise CertificateError("no-world")
    weights = 0 * table
    for sort, position in enumerate(np.cumsum(items) - items):  # the first item of each sort
        weights_after = after[len(sort_of_item) - position - 1]
        # States before the item, and after it; the items after it use what is left of each kind.
        for kind, (used, next_states) in enumerate(steps.moves[position] if items[sort] else ()):
            ways = before[position][used] * weights_after[steps.others[position + 1][next_states]]
            weights[:, sort, kind] = table[:, sort, kind] * ways.sum(axis=0)
    return weights, total


class _Steps(NamedTuple):
    """Transitions between states, after each item; a state says how many of each kind are used."""

    # By number of items and next kind: the states where that is possible, and those it leads to.
    moves: list[list[tuple[Ints, Ints]]]
    others: list[Ints]  # by number of items, for each state the one of the unused kinds

    @classmethod
    @lru_cache(maxsize=1)
    def of(cls, kinds: tuple[int, ...]) -> _Steps:
        """The transitions between states if there are so many of each kind.

        A state says how many of each kind are used; as a number, these are its digits. Its level
        is how many are used in all: one more after each item.
        """
        digits = np.indices([kind + 1 for kind in kinds]).reshape(len(kinds), -1)
        steps = np.cumprod([1, *(kind + 1 for kind in kinds[:0:-1])])[::-1]  # one more of each kind
        level, n_states = digits.sum(axis=0), digits.shape[1]
        states = [np.flatnonzero(level == items) for items in range(sum(kinds) + 1)]
        index_in_level = np.empty(n_states, np.int64)  # states are numbered within their level
        for states_of_level in states:
            index_in_level[states_of_level] = np.arange(len(states_of_level))
        moves = []
        for states_of_level in states[:-1]:
            moves_of_kinds = []
            for digit, kind, step in zip(digits, kinds, steps, strict=True):
                possible = np.flatnonzero(digit[states_of_level] < kind)
                moves_of_kinds.append((possible, index_in_level[states_of_level[possible] + step]))
            moves.append(moves_of_kinds)
        # The state of what is left: each digit is taken from its highest value.
        return cls(
            moves, [index_in_level[n_states - 1 - states_of_level] for states_of_level in states]
        )

    def ways(self, table: Any, sort_of_item: Sequence[int]) -> list[Any]:
        """For the first 0, 1, ... items, the weight of all ways to give them kinds.

        Each array has a row for each state (how many of each kind are used), and a column for each
        case. `sort_of_item` says which row of `table` an item has.
        """
        weights_by_state = [np.ones((1, len(table)), int).astype(object)]
        for sort, moves, states in zip(sort_of_item, self.moves, self.others[1:], strict=False):
            weights = np.zeros((len(states), len(table)), int).astype(object)
            for kind, (used, next_states) in enumerate(moves):
                weights[next_states] += weights_by_state[-1][used] * table[:, sort, kind]
            weights_by_state.append(weights)
        return weights_by_state
