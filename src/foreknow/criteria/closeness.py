"""How far the values of a group may be from those of the whole table: t-closeness and its kin.

All of them are kept by merging: the shares of a merged group are averages of those of its parts,
and each distance is convex in the shares. The whole table stays the same while groups change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.adversary import HasCounts, KnowledgeReach, Ledger
from foreknow.criteria.group_criterion import (
    Attained,
    OfGroups,
    as_setting,
    counts_for,
    distinguished,
)
from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.columns.hierarchy import Tree
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels.labels import Label
from foreknow.data.schema import Schema
from foreknow.errors import did_you_mean, refuse_other
from foreknow.needs import Need, Needs
from foreknow.settings import with_examples
from foreknow_judge.criteria.closeness import Distance
from foreknow_judge.criteria.gauges import CRITERIA
from foreknow_judge.errors import InputError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import CLOSE, Number, as_fraction

# Numbers of a table of groups by values that is made at once.
_AT_ONCE = 1 << 20


class _OfTable(OfGroups):
    """A criterion that compares each group with the whole table."""

    needs: ClassVar[Needs] = frozenset({Need.ONE_VALUE, Need.NO_WINDOWS, Need.EVERYBODY})
    of_people: ClassVar[bool] = False
    compares_table: ClassVar[bool] = True
    speaks: ClassVar[Any] = KnowledgeReach(1)

    def limits_values(self, counts: GroupCounts | None = None) -> bool:
        """True if a group whose members share one value fails.

        If none does, no group fails: distances are convex, so such groups are the farthest.
        """
        if counts is None:
            return True
        codes = self._values_of_farthest_groups(counts)
        # One group for each value that may be farthest, with one person in it.
        sizes = np.ones(len(codes), dtype=np.int64)
        offsets, value_counts = np.arange(len(codes) + 1), sizes.copy()
        groups_of_one = GroupCounts.counted(
            *(sizes, offsets, codes, value_counts), values=counts.values, semantics=counts.semantics
        )
        return bool(self.failing(groups_of_one, counts.totals).any())

    def _values_of_farthest_groups(self, counts: GroupCounts) -> IntArray:
        """The values that a farthest group may consist of."""
        return np.flatnonzero(counts.totals)

    def distances(self, counts: GroupCounts, table_counts: IntArray) -> FloatArray:
        """How far each group is, nearly."""
        raise NotImplementedError

    def _exact_distance(
        self, counts: GroupCounts, group: int, table_counts: IntArray
    ) -> Fraction | float:
        """How far one group is."""
        raise NotImplementedError

    limited: ClassVar[str]  # the field that says how far groups may be

    @property
    def _limit(self) -> Fraction:
        """The distance that groups may have at most."""
        return as_fraction(getattr(self, self.limited))

    def _is_near_enough(self, amount: Fraction | float) -> bool:
        return amount <= self._limit

    @property
    def _limit_as_float(self) -> float:
        """The float up to which a group is near enough."""
        return float(self._limit)

    def _text(self, amount: Fraction | float) -> str:
        raise NotImplementedError

    def attained(self, release: HasCounts) -> Attained:
        """The largest distance between a group and the whole release, exact where it can be."""
        counts = counts_for(self, release)
        table_counts, distances = counts.totals, self.distances(counts, counts.totals)
        largest = distances.max()
        candidates = [int(np.argmax(distances))]
        if np.isfinite(largest):
            # Floats find the groups that may be farthest; exact numbers decide among them.
            candidates = np.flatnonzero(distances >= largest - CLOSE * max(1.0, largest)).tolist()
        amounts = [self._exact_distance(counts, group, table_counts) for group in candidates]
        amount = max(amounts)
        farthest = candidates[amounts.index(amount)]
        return Attained(
            amount,
            holds=not self.failing(counts, table_counts).any(),
            words=self._text(amount),
            group=counts.group_label(farthest),
        )

    def ledger(self, semantics: Semantics = "single", whole: Any = None) -> Ledger:
        """Start a ledger for a search; `whole` has how many people of the table have each value."""
        if whole is None:
            raise InputError(f"{type(self).__name__} needs the counts of the whole table")
        return super().ledger(semantics, whole)

    def failing(self, counts: GroupCounts, table_counts: IntArray) -> BoolArray:
        """True for each group that is too far from the whole table.

        `table_counts` is how many people of the table have each value. Fractions decide if floats
        are close to the limit.
        """
        distances, edge = self.distances(counts, table_counts), self._limit_as_float
        fails: BoolArray = distances > edge
        close = np.abs(distances - edge) <= CLOSE * max(1.0, edge)
        for group in np.flatnonzero(close).tolist():
            fails[group] = not self._is_near_enough(
                self._exact_distance(counts, group, table_counts)
            )
        return fails


class _ShareBounds(NamedTuple):
    """The share of each value among all people, and the bounds of its share in each group."""

    of_table: FloatArray  # by value
    lowest: FloatArray  # by group and value
    highest: FloatArray


def _share_bounds(
    counts: GroupCounts, table_counts: IntArray, times: Fraction, swaps: int
) -> _ShareBounds:
    """The least and the most that the share of a value in a group may be, with some leeway.

    Namely if `swaps` people of the group had other values, and odds were higher or lower by the
    factor `times`. Only values that somebody has get a column.
    """
    factor, is_present = float(times), table_counts > 0
    share = np.zeros((counts.n_groups, counts.n_values))
    share[counts.cell_groups, counts.codes] = counts.counts / counts.sizes[counts.cell_groups]
    # Exchanges move the share by at most `moved` either way.
    moved = (swaps / counts.sizes)[:, None]
    low = np.maximum(share[:, is_present] - moved, 0)
    high = np.minimum(share[:, is_present] + moved, 1)
    # A share p with odds times f is f p / (1 + (f - 1) p); with odds over f, p / (p + f (1 - p)).
    return _ShareBounds(
        of_table=table_counts[is_present] / table_counts.sum(),
        lowest=low / (low + factor * (1 - low)),
        highest=factor * high / (1 + (factor - 1) * high),
    )


def _shares(counts: GroupCounts, table_counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """For each value that occurs in a group: its share in the group, and in the whole table."""
    of_group = counts.counts / counts.sizes[counts.cell_groups]
    return of_group, table_counts[counts.codes] / table_counts.sum()


def _counts_of_values(
    counts: GroupCounts, group: int, table_counts: IntArray
) -> list[tuple[int, int, int]]:
    """The code of each value of a group, and its counts in the group and in the table."""
    cells = slice(int(counts.offsets[group]), int(counts.offsets[group + 1]))
    codes = counts.codes[cells]
    columns = codes, counts.counts[cells], table_counts[codes]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _largest_by_group(cells: FloatArray, counts: GroupCounts) -> FloatArray:
    """The largest entry of each group; `cells` has one for each value that occurs in a group."""
    return np.maximum.reduceat(cells, counts.offsets[:-1])


@dataclass(frozen=True)
class TCloseness(_OfTable):
    """The values of each group are at most t away from those of the whole table.

    The distance is the least work that moves the group's shares to those of the table (the earth
    mover's distance; Li, Li and Venkatasubramanian, "t-Closeness"). Moving a person to another
    value costs 1 (equal); the number of steps between the two values in the order of all values
    that occur, divided by the largest number of steps (ordered); or the number of levels up to the
    lowest node above both values, divided by the number of levels (hierarchical).

    Parameters
    ----------
    t : number
        The limit, from 0 to 1, which may be reached.
    distance : {"equal", "ordered", "hierarchical"}
        The cost of moving a person to another value.
    order : list, optional
        For ordered: all values, from first to last, compared as they print. Values that nobody has
        do not count in the distance. Default: numbers are ordered by size.
    tree : Tree or its rows, optional
        For hierarchical: a row for each value, with the nodes above it. Default: the schema's
        hierarchy of the sensitive column, which a policy supplies. A certificate states the tree.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([[3, 4, 5], [6, 11, 8], [7, 9, 10]])
    >>> TCloseness(0.5, "ordered").measure(counts)
    Fraction(3, 8)
    >>> tree = [["flu", "lung"], ["cold", "lung"], ["ulcer", "stomach"]]
    >>> counts = GroupCounts.from_bags([["flu", "ulcer"], ["cold", "ulcer"]])
    >>> TCloseness(0.5, "hierarchical", tree=tree).measure(counts)  # half of the way for 1/4
    Fraction(1, 8)
    """

    t: Number
    distance: Distance = "equal"
    order: Sequence[Label] | None = None
    tree: Any = field(default=None, kw_only=True, repr=False)
    key: ClassVar[str] = "t_closeness"
    limited: ClassVar[str] = "t"
    settings: ClassVar[Any] = with_examples(CRITERIA["t_closeness"], t=0.2)
    of_cases: ClassVar[bool] = True  # whose values are compared, as its documentation says

    def __post_init__(self) -> None:
        """Refuse settings that are out of range or do not go together; read order and tree."""
        refuse_other("TCloseness: there is no distance", self.distance, get_args(Distance))
        set_fields(self, t=as_fraction(self.t))
        if not 0 <= self.t <= 1:  # type: ignore[operator]
            raise InputError(f"TCloseness: t must be from 0 to 1, not {self.t}")
        if self.order is not None:
            if self.distance != "ordered" or isinstance(self.order, str):
                raise InputError('TCloseness: order is a list of values, for distance="ordered"')
            set_fields(self, order=tuple(map(str, self.order)))
            if len(set(self.order)) < len(self.order):
                raise InputError("TCloseness: order names a value twice")
        if self.distance != "equal":  # a set has no place in an order
            set_fields(self, needs=self.needs | {Need.NO_SETS})
        if self.tree is not None:
            if self.distance != "hierarchical":
                raise InputError('TCloseness: tree is for distance="hierarchical"')
            tree = self.tree if isinstance(self.tree, Tree) else Tree(self.tree)
            set_fields(self, tree=tuple(sorted(set(tree.rows))))

    def limits_values(self, counts: GroupCounts | None = None) -> bool:
        """True if a group can fail, which needs t below 1."""
        return self._limit < 1 and super().limits_values(counts)

    def _values_of_farthest_groups(self, counts: GroupCounts) -> IntArray:
        """The first and the last value in order: there are too many in between to ask them all."""
        used = super()._values_of_farthest_groups(counts)
        if self.distance != "ordered":
            return used
        # A distance along an order is largest for a group at one end.
        places, _ = self._places_in_order(counts, counts.totals)
        return used[[int(places[used].argmin()), int(places[used].argmax())]]

    def may_fail(
        self, counts: GroupCounts, table_counts: Any, times: Fraction, swaps: int
    ) -> BoolArray:
        """True for each group that may fail if its shares are a little different.

        Namely if `swaps` people have other values, and odds are higher or lower by up to the factor
        `times`.
        """
        # Odds that change by a factor f move a share by at most (f - 1) / 4, and so the distance.
        moved = swaps / counts.sizes + (float(times) - 1) / 4
        return self.distances(counts, table_counts) + moved > self._limit_as_float - CLOSE

    def under(self, schema: Schema, sensitive: str | None = None) -> TCloseness:
        """The criterion with the hierarchy of a schema's sensitive column, if it needs a tree."""
        sensitive = sensitive or schema.sensitive
        hierarchy = schema.hierarchies.get(sensitive)
        if self.distance != "hierarchical" or self.tree is not None or hierarchy is None:
            return self
        if not isinstance(hierarchy, Tree):
            raise InputError(
                f"TCloseness: the hierarchy of {sensitive!r} must be a tree, by file or "
                'rows; numbers have distance = "ordered"'
            )
        return replace(self, tree=hierarchy)

    def leaving(self, counts: GroupCounts, table_counts: IntArray) -> IntArray:
        """The least number of people who must leave each group to bring its shares near enough."""
        # If a share x of the people leaves, the distance falls by at most x: so at least the excess
        # over the limit must leave.
        beyond = np.maximum(self.distances(counts, table_counts) - self._limit_as_float - CLOSE, 0)
        return np.floor(counts.sizes * beyond).astype(np.int64)

    def _text(self, amount: Fraction | float) -> str:
        distance, limit = distinguished(amount, self.t)
        return f"the farthest group is {distance} away from the table, {limit} is allowed"

    # What rests on this distance: `monotone`, on its convexity; `_leaving` and `may_fail`, on that
    # a person who leaves, or an exchange, moves it by at most their share.
    def distances(self, counts: GroupCounts, table_counts: IntArray) -> FloatArray:
        """How far the shares of each group are from those of the table, as floats.

        The earth mover's distance: how large a share of the people must get another value, times
        how far the values are apart.
        """
        if self.distance == "equal":
            of_group, of_table = _shares(counts, table_counts)
            # All that is too much somewhere must move, over a distance of 1.
            above = np.maximum(of_group - of_table, 0)
            return np.add.reduceat(above, counts.offsets[:-1])
        if self.distance == "hierarchical":
            return self._distances_in_tree(counts, table_counts)
        positions, steps = self._places_in_order(counts, table_counts)
        # Along the order: all that is too much up to a place must move on from there, one step.
        expected = np.bincount(positions, table_counts, len(positions)) / table_counts.sum()
        distances = np.zeros(counts.n_groups)
        # As many groups at a time as memory allows.
        rows = max(1, _AT_ONCE // len(positions))
        for first in range(0, counts.n_groups, rows):
            last = min(first + rows, counts.n_groups)
            cells = slice(int(counts.offsets[first]), int(counts.offsets[last]))
            table = np.zeros((last - first, len(positions)))
            groups = counts.cell_groups[cells]
            table[groups - first, positions[counts.codes[cells]]] = counts.counts[cells]
            table /= counts.sizes[first:last, None]
            moved = np.abs(np.cumsum(table - expected, axis=1))
            distances[first:last] = moved.sum(axis=1) / steps
        return distances

    def _exact_distance(self, counts: GroupCounts, group: int, table_counts: IntArray) -> Fraction:
        """The distance between the values of a group and those of the whole table, as a fraction.

        `table_counts` is how many people of the table have each value.
        """
        people, everybody = int(counts.sizes[group]), int(table_counts.sum())
        # The place of each value: in the order, by itself, or at each level of the tree.
        if self.distance == "ordered":
            places, steps = self._places_in_order(counts, table_counts)
            all_places = [places]
        else:
            by_itself = [np.arange(counts.n_values)]
            all_places = by_itself if self.distance == "equal" else self._nodes_by_level(counts)
            steps = 2 * len(all_places)  # what is more in one place is less in another
        # Times people * everybody, differences of shares are whole numbers.
        work = 0
        for places in all_places:
            # At each place: group minus table.
            differences = [0] * (int(places.max()) + 1)
            for place, n_in_table in zip(places.tolist(), table_counts.tolist(), strict=True):
                differences[place] -= n_in_table * people
            for code, n_in_group, _ in _counts_of_values(counts, group, table_counts):
                differences[int(places[code])] += n_in_group * everybody
            # Along an order, all that is too much up to a place must move on from there.
            moved = accumulate(differences) if self.distance == "ordered" else differences
            work += sum(map(abs, moved))
        return Fraction(work, people * everybody * steps)

    def _distances_in_tree(self, counts: GroupCounts, table_counts: IntArray) -> FloatArray:
        """The distance of each group from the whole table along the tree, as floats.

        At each level of the tree below the root, half the sum of the differences of shares at its
        nodes; the distance is the mean over the levels.
        """
        levels = self._nodes_by_level(counts)
        # Sort each group's values along the tree, so that those of one node are side by side.
        leaves = np.empty(counts.n_values, dtype=np.int64)
        leaves[np.lexsort(levels)] = np.arange(counts.n_values)
        order = np.argsort(counts.cell_groups * counts.n_values + leaves[counts.codes])
        groups, codes, people = counts.cell_groups[order], counts.codes[order], counts.counts[order]
        # Begin as if no group had any value: the differences are the table's shares, 1 at each
        # level.
        differences = np.full(counts.n_groups, float(len(levels)))
        for nodes in levels:
            table_shares = np.bincount(nodes, table_counts) / table_counts.sum()
            cell_nodes = nodes[codes]
            # Nodes that occur in a group: correct the difference there.
            is_first = np.ones(len(cell_nodes), dtype=bool)
            is_first[1:] = (groups[1:] != groups[:-1]) | (cell_nodes[1:] != cell_nodes[:-1])
            starts = np.flatnonzero(is_first)
            share = np.add.reduceat(people, starts) / counts.sizes[groups[starts]]
            table_share = table_shares[cell_nodes[starts]]
            corrections = np.abs(share - table_share) - table_share
            differences += np.bincount(groups[starts], corrections, counts.n_groups)
        return differences / (2 * len(levels))

    def _nodes_by_level(self, counts: GroupCounts) -> list[NDArray[np.int64]]:
        """For each level of the tree below the root, the number of each value's node; values first.

        Raises `InputError` if there is no tree, or if it lacks a value.
        """
        if self.tree is None:
            raise InputError(
                "TCloseness: the tree of the values is unknown; give the schema a hierarchy of "
                "the sensitive column, or TCloseness tree=[[value, node, ...], ...]"
            )
        rows = {row[0]: row for row in self.tree}
        value_rows = []
        for text in map(str, counts.values):
            if text not in rows:
                hint = did_you_mean(text, list(rows)[:1000])
                raise InputError(f"TCloseness: the tree does not list the value {text!r}{hint}")
            value_rows.append(rows[text])
        columns = list(zip(*value_rows, strict=True))
        # A last column with one node is the root, below which everything lies: no distance.
        if len({row[-1] for row in self.tree}) == 1:
            columns.pop()
        return [np.unique(column, return_inverse=True)[1].reshape(-1) for column in columns]

    def _places_in_order(
        self, counts: GroupCounts, table_counts: IntArray
    ) -> tuple[NDArray[np.int64], int]:
        """The place of each value in order, by code, and the number of steps from first to last.

        A value that nobody in the table has gets no place (0 stands there): it would make all steps
        smaller.
        """
        # Codes of values that somebody has.
        used = np.flatnonzero(table_counts)
        texts = [str(counts.values[code]) for code in used.tolist()]
        if self.order is None:
            try:
                numbers = [*map(as_fraction, texts)]
            except InputError:
                raise InputError(
                    "TCloseness: the values are no numbers, so their order is unknown; name them "
                    "all from first to last: order = [...]"
                ) from None
            # "1" and "1.0" are one number, and so have no order.
            if len({*numbers}) < len(numbers):
                raise InputError("spelt-twice", "TCloseness")
            ranked = sorted(range(len(texts)), key=lambda i: numbers[i])
        else:
            rank_of = {text: rank for rank, text in enumerate(map(str, self.order))}
            for text in texts:
                if text not in rank_of:
                    hint = did_you_mean(text, rank_of)
                    raise InputError(f"TCloseness: order does not name the value {text!r}{hint}")
            ranked = sorted(range(len(texts)), key=lambda i: rank_of[texts[i]])
        places = np.zeros(counts.n_values, dtype=np.int64)
        places[used[ranked]] = np.arange(len(texts))
        return places, max(1, len(texts) - 1)


@dataclass(frozen=True)
class BetaLikeness(_OfTable):
    """No value is more frequent in a group than in the whole table by more than a factor.

    Let p be a value's share in a group and q its share in the table. For every value, (p - q) / q
    is at most beta. Enhanced beta-likeness also requires at most -log(q), a natural logarithm (Cao
    and Karras, "Publishing Microdata with a Robust Privacy Guarantee"). `measure` is the largest (p
    - q) / q, or 0.

    Parameters
    ----------
    beta : number
        The largest (p - q) / q allowed. Above 0.
    enhanced : bool
        Whether to require enhanced beta-likeness.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["Flu", "Flu", "AIDS"], ["Flu", "Cold", "Cold"]])
    >>> BetaLikeness(1).measure(counts), BetaLikeness(1, enhanced=True).holds(counts)
    (Fraction(1, 1), True)
    """

    beta: Number
    enhanced: bool = False
    key: ClassVar[str] = "beta_likeness"
    limited: ClassVar[str] = "beta"
    settings: ClassVar[Any] = with_examples(CRITERIA["beta_likeness"], beta=1)
    of_cases: ClassVar[bool] = True  # whose values are compared, as its documentation says

    def __post_init__(self) -> None:
        """Refuse a beta that is not above 0."""
        set_fields(self, beta=as_fraction(self.beta))
        if self.beta <= 0:  # type: ignore[operator]
            raise InputError(f"BetaLikeness: beta must be above 0, not {self.beta}")
        if not isinstance(self.enhanced, bool):
            raise InputError(f"BetaLikeness: enhanced is True or False, not {self.enhanced!r}")

    def may_fail(
        self, counts: GroupCounts, table_counts: Any, times: Fraction, swaps: int
    ) -> BoolArray:
        """True for each group in which the largest possible share of a value is too high.

        See `Criterion.may_fail` for `times` and `swaps`.
        """
        shares = _share_bounds(counts, table_counts, times, swaps)
        # The highest (p - q) / q that is allowed for each value, q being its share in the table.
        most_gain = np.full(len(shares.of_table), self._limit_as_float)
        if self.enhanced:
            most_gain = np.minimum(most_gain, -np.log(shares.of_table))
        most_allowed = shares.of_table * (1 + most_gain)
        return np.asarray((shares.highest > most_allowed * (1 - CLOSE)).any(axis=1))

    def _text(self, amount: Fraction | float) -> str:
        """The largest excess of a share in a group, and its limit, in words."""
        also = ", and no more than -log of its share there" if self.enhanced else ""
        factor, limit = distinguished(amount, self.beta)
        return (
            f"a value is up to {factor} times its share of the table more frequent in a group; "
            f"{limit} is allowed{also}"
        )

    def distances(self, counts: GroupCounts, table_counts: IntArray) -> FloatArray:
        """The largest (p - q) / q of each group, or 0, as a float."""
        of_group, of_table = _shares(counts, table_counts)
        return np.maximum(_largest_by_group(of_group / of_table - 1, counts), 0)

    def _exact_distance(self, counts: GroupCounts, group: int, table_counts: IntArray) -> Fraction:
        """The largest (p - q) / q of a group, or 0, as a fraction.

        p is a value's share in the group, q its share in the table.
        """
        people, everybody = int(counts.sizes[group]), int(table_counts.sum())
        highest = Fraction(0)
        for _, n_in_group, n_in_table in _counts_of_values(counts, group, table_counts):
            gain = Fraction(n_in_group * everybody, n_in_table * people) - 1
            highest = max(highest, gain)
        return highest

    def failing(self, counts: GroupCounts, table_counts: IntArray) -> BoolArray:
        """True for each group with a value that is more frequent than beta, or -log(q), allows."""
        fails = super().failing(counts, table_counts)
        if not self.enhanced:
            return fails
        of_group, of_table = _shares(counts, table_counts)
        # Enhanced: p / q - 1 must be at most -log q. Floats decide unless the two are close.
        excess = of_group / of_table - 1 + np.log(of_table)
        fails |= _largest_by_group(excess, counts) > CLOSE
        # Exactly: p / q - 1 is above -log q if log(1 / q) is below it.
        for cell in np.flatnonzero(np.abs(excess) <= CLOSE).tolist():
            group, n_in_group = int(counts.cell_groups[cell]), int(counts.counts[cell])
            share = Fraction(n_in_group, int(counts.sizes[group]))
            table_share = Fraction(int(table_counts[counts.codes[cell]]), int(table_counts.sum()))
            gain = share / table_share - 1
            fails[group] |= gain > 0 and _log_is_below(1 / table_share, gain)
        return fails


@dataclass(frozen=True)
class DeltaDisclosure(_OfTable):
    """Every value of the table is in every group, about as frequent as in the table.

    Let p be a value's share in a group and q its share in the table. The natural logarithm of p / q
    is strictly between -delta and delta (Brickell and Shmatikov, "The Cost of Privacy"). `measure`
    is the largest p / q or q / p, or infinity if a value is missing in a group; its logarithm must
    be below delta.

    Parameters
    ----------
    delta : number
        Above 0, at most 500.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["Flu", "Flu", "AIDS"], ["Flu", "AIDS"]])
    >>> DeltaDisclosure(1).measure(counts), DeltaDisclosure("1/10").holds(counts)
    (Fraction(5, 4), False)
    """

    delta: Number
    key: ClassVar[str] = "delta_disclosure"
    limited: ClassVar[str] = "delta"
    settings: ClassVar[Any] = with_examples(CRITERIA["delta_disclosure"], delta=1)
    of_cases: ClassVar[bool] = True  # whose values are compared, as its documentation says

    def __post_init__(self) -> None:
        set_fields(self, delta=as_fraction(self.delta))
        if not 0 < self.delta <= 500:  # type: ignore[operator]
            raise InputError(f"DeltaDisclosure: delta must be above 0, at most 500: {self.delta}")

    def may_fail(
        self, counts: GroupCounts, table_counts: Any, times: Fraction, swaps: int
    ) -> BoolArray:
        """True for each group in which the least or largest share of a value may fail.

        See `Criterion.may_fail` for `times` and `swaps`.
        """
        shares = _share_bounds(counts, table_counts, times, swaps)
        factor = self._limit_as_float * (1 - CLOSE)
        is_too_high = shares.highest >= shares.of_table * factor
        is_too_low = shares.lowest * factor <= shares.of_table
        return np.asarray((is_too_high | is_too_low).any(axis=1))

    def _is_near_enough(self, amount: Fraction | float) -> bool:
        return isinstance(amount, Fraction) and (amount == 1 or _log_is_below(amount, self._limit))

    @property
    def _limit_as_float(self) -> float:
        return float(np.exp(float(self._limit)))

    def _text(self, amount: Fraction | float) -> str:
        """The largest factor between a group and the table, and its limit, in words."""
        delta = self._limit
        # More digits than a float has, since the limit may be shown beside a close amount.
        with localcontext() as context:
            context.prec = 60
            most_allowed = (Decimal(delta.numerator) / delta.denominator).exp()
        factor, limit = distinguished(amount, most_allowed)
        return (
            f"the share of a value in a group and in the table differ by a factor of up to "
            f"{factor}; it must be below {limit}, e to the {as_setting(delta)}"
        )

    def distances(self, counts: GroupCounts, table_counts: IntArray) -> FloatArray:
        """The largest p / q or q / p of each group as a float; infinity if a value is missing."""
        of_group, of_table = _shares(counts, table_counts)
        distances = _largest_by_group(np.maximum(of_group / of_table, of_table / of_group), counts)
        distances[np.diff(counts.offsets) < np.count_nonzero(table_counts)] = np.inf
        return distances

    def _exact_distance(
        self, counts: GroupCounts, group: int, table_counts: IntArray
    ) -> Fraction | float:
        """The largest factor by which a share differs from that in the table, as a fraction.

        Infinity if the group lacks a value of the table.
        """
        cells = _counts_of_values(counts, group, table_counts)
        if len(cells) < np.count_nonzero(table_counts):
            return float("inf")
        people, everybody = int(counts.sizes[group]), int(table_counts.sum())
        highest = Fraction(0)
        for _, n_in_group, n_in_table in cells:
            times = Fraction(n_in_group * everybody, n_in_table * people)
            highest = max(highest, times, 1 / times)
        return highest


def _log_is_below(number: Fraction, limit: Fraction) -> bool:
    """True if the natural logarithm of a number is below a limit above 0.

    The two are never equal (the exponential of a fraction other than 0 is no fraction), so with
    enough digits they can be told apart.
    """
    digits = 40
    while True:
        with localcontext() as context:
            context.prec = digits
            log = Decimal(number.numerator).ln() - Decimal(number.denominator).ln()
            gap = log - Decimal(limit.numerator) / Decimal(limit.denominator)
            # Decide only if the gap is far above the rounding errors at this number of digits.
            scale = abs(Decimal(number.numerator).ln()) + abs(Decimal(number.denominator).ln())
            if abs(gap) > (scale + abs(gap) + 1) * Decimal(10) ** (4 - digits):
                return gap < 0
        digits *= 2
