"""Chaining: independent pieces put together, forwards for counts and backwards for weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from foreknow.jumping.dealing import Budget, Deals
from foreknow.jumping.sight import Seen, together


class Chain:
    """Deals of independent pieces, by what the lower levels see of all of them.

    Parameters
    ----------
    start : Seen
        What is seen before the first piece.
    deals : sequence of Deals
    budget : Budget

    Attributes
    ----------
    ends : dict of Seen to int
        Deals of all pieces together, without those that nobody can stop.
    """

    def __init__(self, start: Seen, deals: Sequence[Deals], budget: Budget) -> None:
        self.deals = deals
        self._ahead: list[dict[Seen, int]] = [{start: 1}]
        self._steps: list[dict[tuple[Seen, Seen], Seen]] = []
        for deal in deals:
            reached: dict[Seen, int] = {}
            step: dict[tuple[Seen, Seen], Seen] = {}
            for before, weight in self._ahead[-1].items():
                for end, ways in deal.ends.items():
                    both = together(before, end)
                    if both is not None:
                        step[before, end] = both
                        reached[both] = reached.get(both, 0) + weight * ways
            budget.spend(len(step) + 1)
            self._steps.append(step)
            self._ahead.append(reached)
        self.ends = self._ahead[-1]

    def weights(self, value_of: Callable[[Seen], int]) -> list[dict[Seen, int]]:
        """For each piece, the weight of each of its ends: summed over the other pieces."""
        values = {seen: value_of(seen) for seen in self.ends}
        found: list[dict[Seen, int]] = [{} for _ in self.deals]
        for place in range(len(self.deals) - 1, -1, -1):
            own, ahead, ends = found[place], self._ahead[place], self.deals[place].ends
            earlier = dict.fromkeys(ahead, 0)
            for (before, end), both in self._steps[place].items():
                value = values[both]
                if value:
                    own[end] = own.get(end, 0) + ahead[before] * value
                    earlier[before] += ends[end] * value
            values = earlier
        return found
