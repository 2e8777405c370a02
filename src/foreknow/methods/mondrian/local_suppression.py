"""Local suppression: suppressed people are divided, too, and hide what they have not in common.

Which people are best suppressed depends on the loss of each, which is known once they are divided.
So the search is repeated with several assumed losses, and the division that loses least is kept.
Everybody's groups are labelled as in the release: a reader takes groups with equal labels for one,
so they are one here, and the policy is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from foreknow.data.arrays import BoolArray, IntArray, combine
from foreknow.data.labels.generalization import coarsened, style_of
from foreknow.data.microdata import Microdata
from foreknow.methods.mondrian.cuts import widths
from foreknow.methods.mondrian.levels import Choice, Level
from foreknow.methods.mondrian.suppression import Suppression
from foreknow.methods.points import Points
from foreknow.policy.ledger import PolicyLedger
from foreknow.policy.options import PublishOptions

# The shares of everything that a suppressed person loses, as the searches assume one by one.
_LOST = (0.5, 0.25, 0.125)


class Division(NamedTuple):
    """A division of the table, its labels, and its loss."""

    groups: IntArray  # of each point, from 0
    floors: Mapping[str, IntArray]  # by attribute, the least level of each group
    loss: float


class LocalSuppression:
    """Searches groups of the points of a table, of which up to `most` people are suppressed.

    `start` makes a ledger that has no groups yet.
    """

    def __init__(
        self,
        points: Points,
        microdata: Microdata,
        choice: Choice,
        options: PublishOptions,
        most: int,
        start: Callable[[], PolicyLedger],
    ) -> None:
        self._points, self._microdata, self._choice = points, microdata, choice
        self._options, self._most, self._start = options, most, start
        columns = zip(microdata.attributes, points.codes, strict=True)
        self._attributes = [replace(attribute, codes=codes) for attribute, codes in columns]
        self._all = Level(points, microdata, choice)

    def better(self, groups: IntArray, before: Division, ledger: PolicyLedger) -> Division:
        """Divide groups with cells suppressed.

        The result with the least loss, or `before` if none is.
        """
        best = before
        for lost in _LOST:
            moment = ledger.copy()
            suppression = Suppression(
                self._points, self._microdata, self._choice, groups, self._most, lost
            )
            suppression.search(moment)
            if not suppression.n_people:
                continue
            division = self._written(suppression.divided(moment), suppression.out)
            if division.loss < best.loss and self._is_admitted(division.groups):
                best = division
        return best

    def whole(self, groups: IntArray, out: BoolArray) -> Division:
        """A division whose suppressed people are the last group, which keeps nothing."""
        is_last = np.arange(int(groups.max()) + 1) == groups.max()
        hides = is_last & bool(out.any())
        floors = {a.name: hides * max(1, len(a.ancestors)) for a in self._attributes}
        return Division(groups, floors, self._labelled(groups, floors)[1])

    def _written(self, groups: IntArray, out: BoolArray) -> Division:
        """The division as it is published, with `*` where a suppressed group has all values.

        Groups whose labels are alike then become one.
        """
        floors, n_groups = {}, int(groups.max()) + 1
        is_out = np.zeros(n_groups, dtype=bool)
        is_out[groups[out]] = True
        for attribute in self._attributes:
            covers_all = widths(attribute, attribute.codes, groups, n_groups)[1]
            floors[attribute.name] = (covers_all & is_out) * max(1, len(attribute.ancestors))
        rank, loss = self._labelled(groups, floors)
        if not self._options.labelled:
            return Division(groups, floors, loss)
        floors_of_rank = {}
        for name, floor in floors.items():
            highest = np.zeros(int(rank.max()) + 1, dtype=np.int64)
            np.maximum.at(highest, rank, floor)
            floors_of_rank[name] = highest
        return Division(rank[groups], floors_of_rank, loss)

    def _labelled(self, groups: IntArray, floors: Mapping[str, IntArray]) -> tuple[IntArray, float]:
        """For each group, a number that groups with equal labels share; and everybody's NCP."""
        n_groups, codes, loss = int(groups.max()) + 1, [], 0.0
        people = np.bincount(groups, self._points.weights, n_groups).astype(np.int64)
        weights = self._choice.weights
        for number, attribute in enumerate(self._attributes):
            style = style_of(attribute, self._options.labels.get(attribute.name))
            column = coarsened(attribute, groups, n_groups, style, floors[attribute.name])
            loss += (1.0 if weights is None else weights[number]) * column.ncp(people)
            place_of = {label: i for i, label in enumerate(dict.fromkeys(column.labels))}
            codes.append(np.array([place_of[label] for label in column.labels]))
        rank, _ = combine(codes, [int(of_column.max()) + 1 for of_column in codes])
        return rank.astype(np.int64), loss

    def _is_admitted(self, groups: IntArray) -> bool:
        """True if the policy allows these groups."""
        return self._start().admits(None, self._all.counts_of(groups))
