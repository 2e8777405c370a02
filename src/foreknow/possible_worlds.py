"""Worlds: the ways to give the values of a bag to people; all, how many, weighed, or at random.

People who are alike are one *cell*. A *table* says how many people of each cell have each value,
and stands for as many assignments to people as `ways` counts. Where priors weigh who has what, the
sum over all worlds goes through a `Lattice` of how many of each value are used, so that none is
listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from foreknow.data.arrays import IntArray

T = TypeVar("T", bound=Hashable)
Places: TypeAlias = NDArray[np.intp]

# Lattices up to this many states are kept for the next groups of the same shape.
_KEPT = 1 << 12
# Steps of many problems that are gone at once.
_STEPS = 1 << 17


# ---- at random ---------------------------------------------------------------------------------


def taken_at_random(bags: IntArray, sizes: IntArray, random: np.random.Generator) -> IntArray:
    """How many of each value are drawn from each bag, at random without putting back.

    `bags` has a row for each bag and a column for each value: how often it is there; so has the
    result. `sizes` is how many are drawn from each bag. Each value is drawn in turn, for all bags
    at once, by the hypergeometric distribution; the last value gets the rest.
    """
    by_value = np.ascontiguousarray(bags.T)
    cells = np.zeros_like(by_value)
    n_rest, need = bags.sum(axis=1), sizes.copy()
    # The most frequent value first: bags that need nothing more are passed over sooner.
    order = np.argsort(-by_value.sum(axis=1), kind="stable")
    for value in order[:-1]:
        n_of_value = by_value[value]
        n_rest -= n_of_value
        # Only bags that have the value and need more.
        undecided = np.flatnonzero((n_of_value > 0) & (need > 0))
        cells[value, undecided] = random.hypergeometric(
            n_of_value[undecided], n_rest[undecided], need[undecided]
        )
        need -= cells[value]
    cells[order[-1]] = need
    return cells.T


# ---- weighed -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lattice:
    """States by level (how many are used), and the steps from each level to the next.

    ``after[l]`` has, for each state of level l and each kind, the place in level l + 1 of the state
    with one more of that kind; ``before[l]``, for each state of level l + 1, the place in level l
    of the one with one less. Where there is none, -1.

    >>> lattice((2, 1)).widths
    (1, 2, 2, 1)
    >>> lattice((2, 1)).after[1].tolist(), lattice((2, 1)).before[1].tolist()
    ([[0, -1], [1, 0]], [[0, 1], [1, -1]])
    """

    capacities: tuple[int, ...]
    widths: tuple[int, ...]
    after: tuple[Places, ...]
    before: tuple[Places, ...]


def lattice(capacities: tuple[int, ...]) -> Lattice:
    """Lay out the states for kinds of such capacities."""
    small = math.prod(c + 1 for c in capacities) <= _KEPT
    return _kept_lattice(capacities) if small else _new_lattice(capacities)


def _new_lattice(capacities: tuple[int, ...]) -> Lattice:
    """The states (how many of each kind are used), by level, and the steps between levels.

    `capacities` is how many there are of each kind. The level of a state is how many are used in
    all. A step uses one more of a kind; -1 stands for a step that is not possible.
    """
    shape = tuple(c + 1 for c in capacities)
    dtype = np.int16 if sum(shape) < 1 << 15 else np.int32  # the shorter is sorted faster
    level = np.zeros((), dtype=dtype)  # in the end, an axis for each kind: of each state its sum
    for size in shape:
        level = np.add.outer(level, np.arange(size, dtype=dtype))
    order = np.argsort(level, axis=None, kind="stable")  # states level by level
    widths = np.bincount(level.ravel()).tolist()
    levels = [
        slice(end - width, end) for end, width in zip(accumulate(widths), widths, strict=True)
    ]
    position = np.empty(len(order), dtype=np.intp)  # of each state within its level
    for states, width in zip(levels, widths, strict=True):
        position[order[states]] = np.arange(width)
    position = position.reshape(shape)
    after, before = np.full((2, *shape, len(shape)), -1, dtype=np.intp)
    for kind in range(len(shape)):
        other_kinds = (slice(None),) * kind
        # All states but those with the most, or with none, of this kind: neighbours along its axis.
        first_states, last_states = (*other_kinds, slice(-1)), (*other_kinds, slice(1, None))
        after[(*first_states, ..., kind)] = position[last_states]
        before[(*last_states, ..., kind)] = position[first_states]
    after, before = (steps.reshape(-1, len(shape)).take(order, axis=0) for steps in (after, before))
    return Lattice(
        capacities,
        tuple(widths),
        tuple(after[states] for states in levels[:-1]),
        tuple(before[states] for states in levels[1:]),
    )


_kept_lattice = lru_cache(maxsize=128)(_new_lattice)


def world_weights(
    rows: NDArray[Any], shape: Lattice, is_wanted: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Weight of the worlds where each wanted item is of each kind; and of all worlds.

    A world gives each item a kind, within the capacities of `shape`; its weight is the product of
    the items' weights. Rows (the weight of an item for a kind), and the results, have shape (items,
    kinds, problems); they are floats, or whole numbers of any size as objects. Computed forward
    over the items before each one, and backward over those after it.

    >>> rows = np.array([[[0.1], [0.9]], [[0.003], [0.997]]])
    >>> weights, totals = world_weights(rows, lattice((1, 1)), np.array([True, True]))
    >>> (weights[0, 0] / totals).round(12) == round(997 / 1024, 12)
    array([ True])
    """
    items, kinds, problems = rows.shape
    sums: Callable[..., Any] = np.einsum
    if rows.dtype == object:
        sums = _whole_sums
    elif problems == 1:
        rows, sums = rows[:, :, 0], _sums_of_one
    axes_behind = rows.shape[2:]  # the problems, if there are several
    # The last state of each level has no weight: it is where a step of -1 leads.
    forward = [np.zeros((width + 1, *axes_behind), dtype=rows.dtype) for width in shape.widths]
    forward[0][0] += 1
    # Item after item: the weight of each state is the sum over the kinds that the item may be.
    for level, before in enumerate(shape.before):
        reached = forward[level + 1][:-1]
        for block in _blocks_of_kinds(len(before), kinds, problems):
            come = forward[level].take(before[:, block], axis=0)
            reached += sums(_BY_STATE, come, rows[level, block])
    backward = np.zeros_like(forward[-1])
    backward[0] += 1
    weights = np.zeros_like(rows)
    # Backward: an item's kind has the weight of states before it times that of states after it.
    for level in range(items - 1, -1, -1):
        after, come = shape.after[level], forward.pop(level)[:-1]
        ahead = np.zeros((len(come) + 1, *axes_behind), dtype=rows.dtype)
        for block in _blocks_of_kinds(len(after), kinds, problems):
            step = backward.take(after[:, block], axis=0)
            if is_wanted[level]:
                weights[level, block] = sums(_BY_KIND, step, come) * rows[level, block]
            ahead[:-1] += sums(_BY_STATE, step, rows[level, block])
        backward = ahead
    return weights.reshape(items, kinds, problems), backward[0].reshape(problems)


# What is summed: products of (state, kind, problem) and, for each state, (kind, problem); or, for
# each kind, (state, problem).
_BY_STATE, _BY_KIND = "sk...,k...->s...", "sk...,s...->k..."


def _blocks_of_kinds(width: int, kinds: int, problems: int) -> list[slice]:
    """Kinds whose steps are gone at once."""
    n_kinds_at_once = max(_STEPS // (width * problems), 1)
    if n_kinds_at_once >= kinds:
        return [slice(kinds)]
    return [slice(k, k + n_kinds_at_once) for k in range(0, kinds, n_kinds_at_once)]


def _sums_of_one(how: str, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Sums of products, over kinds or states, of one problem."""
    return np.asarray(first @ second if how == _BY_STATE else second @ first)


def _whole_sums(how: str, first: NDArray[Any], second: NDArray[Any]) -> NDArray[Any]:
    """Sums of products, over kinds or states, of whole numbers of any size."""
    by_state = how == _BY_STATE
    return np.asarray((first * (second if by_state else second[:, None])).sum(axis=int(by_state)))


# ---- apart -------------------------------------------------------------------------------------


def components(nodes: Iterable[int], links: Callable[[int], Iterable[T]]) -> list[list[int]]:
    """Divide nodes into sets that share no link, so that each can be counted by itself.

    `links` gives the links of a node; two nodes with a common link belong together.

    >>> components([1, 2, 3], {1: "ab", 2: "c", 3: "b"}.__getitem__)
    [[1, 3], [2]]
    """
    component_nodes: dict[int, list[int]] = {}
    home: dict[T, int] = {}  # the part of each link
    for node in nodes:
        links_of_node = tuple(links(node))
        joined = {home[link] for link in links_of_node if link in home}
        component = joined.pop() if joined else node
        component_nodes.setdefault(component, []).append(node)
        for other_component in joined:
            # The smaller one is moved into the larger one, so that no node is moved often.
            if len(component_nodes[other_component]) > len(component_nodes[component]):
                component, other_component = other_component, component
            for moved in component_nodes[other_component]:
                home.update(dict.fromkeys(links(moved), component))
            component_nodes[component] += component_nodes.pop(other_component)
        home.update(dict.fromkeys(links_of_node, component))
    return list(component_nodes.values())
