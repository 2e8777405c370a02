"""ART's first grouping: mixed groups by recipes, then groups of one kind; some may be left over."""

from __future__ import annotations

import logging

import numpy as np

from foreknow.anonymizers.art_judge import Judge
from foreknow.anonymizers.art_mixed import Mixer, carried_out
from foreknow.anonymizers.art_problem import ArtProblem
from foreknow.anonymizers.art_within import group_within
from foreknow.sparse import IntArray, ranges

_log = logging.getLogger(__name__)


def first_groups(
    problem: ArtProblem,
    judge: Judge,
    random: np.random.Generator,
    thrift: float = 0.0,
    patience: int = 40,
) -> tuple[list[IntArray], IntArray]:
    """Group whom recipes and kinds by themselves can.

    Parameters
    ----------
    problem : ArtProblem
    judge : Judge
    random : numpy Generator
    thrift : float
        See `Mixer`.
    patience : int
        See `Mixer.run`.

    Returns
    -------
    groups : list of int64 arrays
        Safe ones.
    left : int64 array
        People without a group.
    """
    mixer = Mixer(problem, judge, random, thrift)
    groups = carried_out(problem, mixer.run(patience))
    rest = np.ones(problem.n_people, dtype=bool)
    if groups:
        rest[np.concatenate(groups)] = False
    hard = mixer.stock.all_excess() > 0
    left = [np.zeros(0, dtype=np.int64)]
    kept = rest & ~hard[problem.kinds]
    for kind in np.flatnonzero(hard).tolist():
        own = np.flatnonzero(rest & (problem.kinds == kind))
        fits = problem.allowed[kind][problem.values[own]]
        some, others = most_of(problem, own[fits])
        kept[some] = True
        left += [own[~fits], others]
    people = np.flatnonzero(kept)
    alone = group_within(problem, people, problem.kinds[people], random)
    _log.info("%d mixed groups, %d of one kind", len(groups), len(alone))
    return groups + alone, np.concatenate(left)


def most_of(problem: ArtProblem, people: IntArray) -> tuple[IntArray, IntArray]:
    """Of people of one kind, as many as can be grouped by themselves, and the others.

    For the greatest g with ``sum of min(c_x, g) >= k g``: g of each value, or all there are.
    """
    values = problem.values[people]
    counts = np.bincount(values, minlength=problem.n_values)
    fits = [
        g
        for g in range(len(people) // problem.least, 0, -1)
        if np.minimum(counts, g).sum() >= problem.least * g
    ]
    g = fits[0] if fits else 0
    order = np.argsort(values, kind="stable")
    starts = np.cumsum(counts) - counts
    inside, _ = ranges(starts, starts + np.minimum(counts, g))
    stays = np.zeros(len(people), dtype=bool)
    stays[order[inside]] = True
    return people[stays], people[~stays]
