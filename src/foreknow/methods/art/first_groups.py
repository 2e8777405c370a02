"""ART's first grouping: mixed groups by recipes, then groups of one kind; some may be left over."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from foreknow.data.sparse import IntArray, ranges
from foreknow.methods.art.homogeneous_groups import group_portions, group_within
from foreknow.methods.art.judge import Judge
from foreknow.methods.art.mixed_groups import Mixer, bulk_groups, carried_out
from foreknow.methods.art.problem import ArtProblem

_log = logging.getLogger(__name__)

# How patient a search for small mixed groups is, where limits differ.
_FEW = 6


def first_groups(
    problem: ArtProblem,
    judge: Judge,
    random: np.random.Generator,
    thrift: float,
    patience: int,
    hard: Iterable[int] | None = None,
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
    hard : iterable of int, optional
        Kinds for which large groups are tried before small ones; for all others afterwards. None
        are when left out.

    Returns
    -------
    groups : list of int64 arrays
        Safe ones.
    left : int64 array
        People without a group.
    """
    # Small groups of different values are as many as can be, where one limit holds for all.
    whole = problem.share is not None and (1 / problem.share[0]).denominator == 1
    different = problem.share is not None and (hard is None or whole)
    strict = replace(problem, unique=True) if different else problem
    mixer = Mixer(strict, judge, random, thrift)
    rest = np.ones(problem.n_people, dtype=bool)
    groups: list[IntArray] = []

    def keep(made: list[IntArray]) -> None:
        groups.extend(made)
        for group in made:
            rest[group] = False

    if problem.apart:
        patience = 0
    elif hard is not None:
        keep(bulk_groups(problem, judge, mixer.stock, np.flatnonzero(rest), hard))
    if not strict.unique:
        patience = min(patience, _FEW)
    keep(carried_out(problem, mixer.run(patience), np.flatnonzero(rest)))
    if hard is not None and not problem.apart:
        keep(bulk_groups(problem, judge, mixer.stock, np.flatnonzero(rest)))
    bad = mixer.stock.all_excess() > 0
    left = [np.zeros(0, dtype=np.int64)]
    kept = rest & ~bad[problem.kinds]
    for kind in np.flatnonzero(bad).tolist():
        own = np.flatnonzero(rest & (problem.kinds == kind))
        fits = problem.allowed[kind][problem.values[own]]
        some, others = most_of(strict, own[fits])
        kept[some] = True
        left += [own[~fits], others]
    people = np.flatnonzero(kept)
    by_kind = group_within if strict.unique else group_portions
    alone = by_kind(strict, people, problem.kinds[people], random)
    _log.info("%d mixed groups, %d of one kind", len(groups), len(alone))
    return groups + alone, np.concatenate(left)


def most_of(problem: ArtProblem, people: IntArray) -> tuple[IntArray, IntArray]:
    """Of people of one kind, as many as can be grouped by themselves, and the others.

    Whoever is too many leaves, until nobody is: so many of each value, or all there are.
    """
    values = problem.values[people]
    counts = np.bincount(values, minlength=problem.n_values)
    kept, size = counts, len(people) + 1
    while size > kept.sum():
        size = int(kept.sum())
        if problem.unique:
            kept = np.minimum(counts, size // problem.least)
        elif size:
            kept = np.minimum(counts, problem.most(int(problem.kinds[people[0]]), np.array(size)))
    order = np.argsort(values, kind="stable")
    starts = np.cumsum(counts) - counts
    inside, _ = ranges(starts, starts + kept)
    stays = np.zeros(len(people), dtype=bool)
    stays[order[inside]] = True
    return people[stays], people[~stays]
