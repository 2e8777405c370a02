"""ART's search, on arrays: mixed groups, groups of one kind, repair, and the last judgement."""

from __future__ import annotations

import numpy as np

from foreknow.data.sparse import IntArray
from foreknow.errors import InternalError, NoSafeRelease
from foreknow.methods.art.exhaustive import EVERY, best_grouping
from foreknow.methods.art.first_groups import first_groups
from foreknow.methods.art.infeasibility import ArtNames, asked, impossible, in_the_way
from foreknow.methods.art.judge import Judge
from foreknow.methods.art.problem import ArtProblem
from foreknow.methods.art.repair import Repair, pooled_groups

# Tables of at most so many people are tried again, with other ties.
_AGAIN, _TIMES = 400, 3
# Of their own kind fewer and fewer, when a first grouping leaves people over.
_THRIFTS = (0.4, 0.8)
# Targets in a row without a small mixed group before it gives up; where there may be large ones.
_PATIENT, _BRIEF = 40, 12
# If no greater share is left, repair is tried at once.
_SCARCE = 0.0005
# Repair is tried if at most so many, or such a share of all, are left over.
_HOPEFUL = (100, 0.005)


def robust_groups(
    problem: ArtProblem, seed: int | None = None, names: ArtNames | None = None
) -> IntArray:
    """Group everybody so that every posterior keeps its limit, for each attribute set.

    Parameters
    ----------
    problem : ArtProblem
    seed : int, optional
        For ties.
    names : ArtNames, optional
        For messages.

    Returns
    -------
    int64 array, shape (people,)
        The group of each person, from 0.

    Raises
    ------
    NoSafeRelease
        If there is none, with the reason; or if none was found, with what is in the way.

    Examples
    --------
    >>> from foreknow.adversaries.priors.signature_groups import matrix
    >>> priors = matrix([[0.5, 0.5], [0.4, 0.6]])
    >>> problem = ArtProblem.of_signatures([[0, 1, 0, 1]], [priors], [0, 0, 1, 1], r=2)
    >>> robust_groups(problem)
    array([0, 1, 0, 1])
    """
    names = names or ArtNames()
    why = impossible(problem, names)
    if why:
        raise NoSafeRelease(f"no grouping {asked(problem)}: " + "; ".join(why))
    judge = Judge(problem)
    if problem.n_people <= EVERY:
        found = best_grouping(problem, judge, np.arange(problem.n_people))
        if found is None:
            raise NoSafeRelease(
                f"no grouping {asked(problem)}: all groupings of {problem.n_people} people were "
                "gone through"
            )
        return _checked(problem, judge, found[0])
    random = np.random.default_rng(seed)
    groups: list[IntArray] = []
    left = np.zeros(0, dtype=np.int64)
    for _ in range(_TIMES if problem.n_people <= _AGAIN else 1):
        groups, left = _attempt(problem, judge, random)
        if not len(left):
            return _checked(problem, judge, groups)
    pooled = pooled_groups(problem, judge, groups, left)
    if pooled is not None:
        return _checked(problem, judge, pooled)
    raise NoSafeRelease(
        f"no grouping that {asked(problem)} was found, which does not prove that there is none; "
        f"{len(left)} of {problem.n_people} people are left: " + in_the_way(problem, names, left)
    )


def _attempt(
    problem: ArtProblem, judge: Judge, random: np.random.Generator
) -> tuple[list[IntArray], IntArray]:
    """Groups, and people who are left.

    At first without large groups; where values may be repeated, these are then tried for the kinds
    of whom some were left.
    """
    patience = _PATIENT if problem.unique else _BRIEF
    best = first_groups(problem, judge, random, 0.0, patience)
    hard: set[int] = set()
    for thrift in _THRIFTS if problem.unique else (0.0, *_THRIFTS):
        if len(best[1]) <= _SCARCE * problem.n_people:
            break
        hard |= set(problem.kinds[best[1]].tolist())
        large = None if problem.unique else sorted(hard)
        other = first_groups(problem, judge, random, thrift, patience, large)
        best = min(best, other, key=lambda found: len(found[1]))
    groups, left = best
    repair = Repair(problem, judge, groups, left, random)
    if len(left) <= max(_HOPEFUL[0], _HOPEFUL[1] * problem.n_people):
        repair.run()
    return repair.groups, repair.left


def _checked(problem: ArtProblem, judge: Judge, groups: list[IntArray]) -> IntArray:
    """Judge everything again, by posteriors; number the groups by their first people."""
    people = np.concatenate(groups)
    order = np.argsort([int(group.min()) for group in groups], kind="stable")
    number = np.empty(len(groups), dtype=np.int64)
    number[order] = np.arange(len(groups))
    found = np.full(problem.n_people, -1, dtype=np.int64)
    found[people] = np.repeat(number, [len(group) for group in groups])
    if len(people) != problem.n_people or found.min() < 0:
        raise InternalError("ART did not group everybody once")
    if not judge.safe(found, problem.kinds, problem.values, len(groups), quick=False).all():
        raise InternalError("ART made a group that breaks a limit")
    return found
