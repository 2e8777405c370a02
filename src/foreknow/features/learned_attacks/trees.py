"""Extremely randomized trees that learn the shares of values from the columns of people.

P. Geurts, D. Ernst and L. Wehenkel, "Extremely randomized trees", Machine Learning 2006; here a
leaf has a least number of people, where the paper divides nodes of a least size. They need no
library, so a trial finds the same wherever it runs; importing one would take longer than the trial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import FloatArray, IntArray

# The trees: how many, and how many people a leaf has at least.
TREES, LEAF = 50, 20
# A column of more labels than this is known to trees by their order alone.
_MOST_LABELS = 32
# About so many numbers are held at once; all trees of a batch grow together, level by level.
_AT_ONCE = 1 << 21


class Forest(NamedTuple):
    """Trees for kinds of people, from their columns as numbers and their people by value."""

    features: FloatArray
    amounts: FloatArray
    n_drawn: int  # columns that are looked at where a tree divides

    @classmethod
    def of(cls, features: FloatArray, amounts: FloatArray) -> Forest:
        """Make it from rows of features; a division tries the square root of the columns."""
        return cls(features, amounts, max(int(features.shape[1] ** 0.5), 1))

    def shares(self, n_trees: int = TREES) -> FloatArray:
        """The shares of people with each value, on average over all trees (kinds x values).

        `features` has a row for each kind of people, `amounts` the kind's people by value. Trees
        divide where the Gini impurity of people falls most. The seed is fixed: equal input, equal
        result.
        """
        n_kinds, n_values = self.amounts.shape
        random = np.random.default_rng(0)
        # Trees are grown side by side, as many as fit into memory.
        per_tree = n_kinds * (n_values + self.features.shape[1])
        n_at_once = min(max(_AT_ONCE // per_tree, 1), n_trees)
        sum_of_shares = np.zeros(self.amounts.shape)
        for n_done in range(0, n_trees, n_at_once):
            n_grown = min(n_at_once, n_trees - n_done)
            # Each kind of people is once in each tree, so every row is filled below.
            shares_in_leaf = np.empty((n_grown * n_kinds, n_values))
            for members, shares in self._leaves(n_grown, random):
                shares_in_leaf[members] = shares
            sum_of_shares += shares_in_leaf.reshape(n_grown, n_kinds, n_values).sum(axis=0)
        return sum_of_shares / n_trees

    def _leaves(
        self, n_trees: int, random: np.random.Generator
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield, level by level of all trees, the members of finished leaves and their shares.

        A member is a kind of people in a tree: the number ``tree * n_kinds + kind``. The shares of
        values, one row for each member, are those of everybody in its leaf.
        """
        n_kinds = len(self.features)
        least_people = min(float(LEAF), float(self.amounts.sum()) / 2)
        # Members of one node follow each other: those of node i begin at starts[i]. At first, a
        # node is a whole tree.
        members = np.arange(n_trees * n_kinds)
        starts = np.arange(n_trees) * n_kinds
        while len(members):
            node = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(members)))
            sums = np.add.reduceat(self.amounts[members % n_kinds], starts)
            is_divided, is_left = self._divided(
                members % n_kinds, node, starts, sums, least_people, random
            )
            is_continued = is_divided[node]
            shares = sums / sums.sum(axis=1, keepdims=True)
            # Members of nodes that are not divided any more have reached their leaf.
            yield members[~is_continued], shares[node[~is_continued]]
            # Children: 2 * node to the left, one more to the right; sorted, members of one child
            # follow each other again.
            child = 2 * node[is_continued] + ~is_left[is_continued]
            order = np.argsort(child, kind="stable")
            members, child = members[is_continued][order], child[order]
            starts = np.flatnonzero(np.diff(child, prepend=-1))

    def _divided(
        self,
        kinds: IntArray,
        node: IntArray,
        starts: IntArray,
        sums: FloatArray,
        least_people: float,
        random: np.random.Generator,
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the nodes that are divided, and of the members that then go to the left.

        In each node some columns that vary are drawn, and each is cut at random. The best cut is
        taken that leaves `least_people` on both sides; without one, the node is a leaf.

        `kinds` and `node` say for each member what kind it is, and in which node; `starts` where
        the members of each node begin; `sums` is the people of each node (rows) by value.
        """
        people, amounts = sums.sum(axis=1), self.amounts[kinds]
        # Kinds without people have no say in how far the numbers of a node reach.
        has_people = (self.amounts.sum(axis=1) > 0)[:, None]
        lowest = np.minimum.reduceat(np.where(has_people, self.features, np.inf)[kinds], starts)
        highest = np.maximum.reduceat(np.where(has_people, self.features, -np.inf)[kinds], starts)
        # A random order of the columns for each node; adding 1 puts those that do not vary last.
        order = np.argsort(random.random(lowest.shape) + (lowest >= highest), axis=1)
        best_purity, is_left = np.full(len(starts), -np.inf), np.zeros(len(kinds), dtype=bool)
        nodes = np.arange(len(starts))
        for column in order[:, : self.n_drawn].T:
            lowest_in_node, highest_in_node = lowest[nodes, column], highest[nodes, column]
            share = random.random(len(nodes))
            with np.errstate(invalid="ignore"):  # endless numbers, and columns that do not vary
                cut_at = (1 - share) * lowest_in_node + share * highest_in_node
            is_below = self.features[kinds, column[node]] <= cut_at[node]
            left_amounts = _sums(amounts[is_below], node[is_below], len(nodes))
            n_left, right_amounts = left_amounts.sum(axis=1), sums - left_amounts
            n_right = people - n_left
            is_possible = (
                (lowest_in_node < highest_in_node)
                & (n_left >= least_people)
                & (n_right >= least_people)
            )
            # People times (1 - Gini impurity), summed over both sides: the higher, the purer.
            with np.errstate(divide="ignore", invalid="ignore"):
                purity = (left_amounts**2).sum(axis=1) / n_left + (right_amounts**2).sum(
                    axis=1
                ) / n_right
            is_better = is_possible & (purity > best_purity)
            best_purity = np.where(is_better, purity, best_purity)
            is_left = np.where(is_better[node], is_below, is_left)
        return best_purity > -np.inf, is_left


def _sums(amounts: FloatArray, node: IntArray, n_nodes: int) -> FloatArray:
    """The sums of rows of `amounts` by node, 0 for nodes without rows.

    Rows of one node must follow each other.
    """
    sums = np.zeros((n_nodes, amounts.shape[1]))
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    if len(starts):
        sums[node[starts]] = np.add.reduceat(amounts, starts)
    return sums


def features_of(labels: Sequence[str | None]) -> FloatArray:
    """A column as an array of numbers with one row for each label.

    Labels that are all numbers are taken as they are. Others have a column of 0 and 1 for each
    distinct label or, if there are too many, one column of ranks. A missing label (None) is -1, or
    0 in each column.
    """
    distinct = sorted({label for label in labels if label is not None})
    try:
        return np.array([[-1.0 if label is None else float(label)] for label in labels])
    except ValueError:
        code_of = {label: i for i, label in enumerate(distinct)}
    codes = np.array([-1 if label is None else code_of[label] for label in labels])
    if len(distinct) > _MOST_LABELS:
        return codes[:, None].astype(np.float64)
    return np.asarray(codes[:, None] == np.arange(len(distinct)), dtype=np.float64)
