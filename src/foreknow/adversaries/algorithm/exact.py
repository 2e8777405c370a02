"""Exact beliefs: every world is dealt out, and the method is run on it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from foreknow.adversaries.algorithm.beliefs import Beliefs
from foreknow.adversaries.algorithm.method_runner import Runs, Weight
from foreknow.adversaries.algorithm.observation import Seen
from foreknow.adversaries.algorithm.worlds import Codes, Dealing, Worlds

# Worlds that are run again in the end, to see that the method is not random; and one in so many of
# those that are struck out.
_AGAIN, _STRUCK = 2_000, 10
# After so many worlds it is foreseen whether there is time for all.
_TRIED = 30


class NoWorldError(Exception):
    """The release is possible in no world."""


def enumerated(
    worlds: Worlds, runs: Runs, seen: Seen, most: int, until: float | None
) -> Beliefs | None:
    """Run the method on every world.

    Parameters
    ----------
    worlds : Worlds
    runs : Runs
    seen : Seen
        The release; worlds of which another one is made are struck out, or weighed by the
        chance that this one is made.
    most : int
        Worlds that may be run; interchangeable people are dealt to once.
    until : float, optional
        When to stop, on the monotonic clock.

    Returns
    -------
    Beliefs or None
        None if there are too many worlds, or not enough time for them.

    Raises
    ------
    NoWorldError
        If the release is possible in no world.
    UnsupportedError
        If the method makes something else of a world when it is run again.
    """
    each = worlds.every(most, until)
    if each is None:
        return None
    many = math.prod(len(dealings) for dealings in each)
    totals: list[list[Weight]] = [[0] * len(dealings) for dealings in each]
    whole: Weight = 0
    consistent, before, started = 0, runs.made, time.monotonic()
    codes = worlds.codes.copy()
    again: list[tuple[int, ...]] = []
    for done, places in enumerate(product(*(range(len(dealings)) for dealings in each))):
        ways = _deal(worlds, each, places, codes)
        weight = runs.weight(codes, seen)
        if len(again) < _AGAIN and (weight or done % _STRUCK == 0):
            again.append(places)
        if weight:
            consistent += ways
            weight *= ways
            whole += weight
            for group, place in enumerate(places):
                totals[group][place] += weight
        if until is not None and _too_slow(started, done + 1, many, until):
            return None
    if not whole:
        raise NoWorldError
    order = np.random.default_rng(0).permutation(len(again)).tolist()
    runs.check_again(_dealt(worlds, each, (again[i] for i in order)), seen, until)
    parts = _parts(worlds, each, totals)
    return Beliefs.counted(worlds, parts, whole, worlds.n_worlds, consistent, runs.made - before)


def _dealt(
    worlds: Worlds, each: list[list[Dealing]], chosen: Iterable[tuple[int, ...]]
) -> Iterator[Codes]:
    """Some worlds, one after the other."""
    for places in chosen:
        codes = worlds.codes.copy()
        _deal(worlds, each, places, codes)
        yield codes


def _too_slow(started: float, done: int, many: int, until: float) -> bool:
    """Whether there is no time left, or foreseeably too little."""
    now = time.monotonic()
    foreseen = started + (now - started) / done * many
    return now > until or (done == _TRIED and foreseen > until)


def _deal(worlds: Worlds, each: list[list[Dealing]], places: tuple[int, ...], codes: Codes) -> int:
    """Deal one world into `codes`; how many it stands for."""
    ways = 1
    for people, dealings, place in zip(worlds.members, each, places, strict=True):
        codes[people] = dealings[place].codes
        ways *= dealings[place].ways
    return ways


def _parts(
    worlds: Worlds, each: list[list[Dealing]], totals: list[list[Weight]]
) -> list[list[Weight]]:
    """How much weight of each cell has each value."""
    parts: list[list[Weight]] = [[0] * worlds.n_values for _ in range(worlds.n_cells)]
    for people, dealings, weights in zip(worlds.members, each, totals, strict=True):
        cells = worlds.cell_of[people].tolist()
        for dealing, weight in zip(dealings, weights, strict=True):
            if weight:
                for cell, code in zip(cells, dealing.codes.tolist(), strict=True):
                    parts[cell][code] += weight
    return parts
