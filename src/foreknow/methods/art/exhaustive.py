"""Every way to group a few people: the best safe grouping, or the proof that there is none."""

from __future__ import annotations

import numpy as np

from foreknow.data.sparse import IntArray
from foreknow.methods.art.judge import Judge
from foreknow.methods.art.problem import ArtProblem

# People whose groupings are all gone through: 2**12 sets are judged.
EVERY = 12


def best_grouping(
    problem: ArtProblem, judge: Judge, people: IntArray, *, partly: bool = False
) -> tuple[list[IntArray], IntArray] | None:
    """Go through all groupings of at most `EVERY` people.

    Of those into safe groups the one with the least loss, quasi-identifiers' ranges summed over
    people.

    Parameters
    ----------
    problem : ArtProblem
    judge : Judge
    people : int64 array
    partly : bool
        Whether people may stay without a group: as few as can be.

    Returns
    -------
    groups, left : list of int64 arrays, and int64 array
        None if not all can be grouped, and `partly` is False.
    """
    n = len(people)
    member = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1 == 1
    sizes = member.sum(axis=1)
    asked = np.flatnonzero(sizes >= problem.least)
    inside = member[asked]
    if problem.unique and len(asked):
        values = problem.values[people]
        repeated = [np.flatnonzero(values == x) for x in np.unique(values)]
        fits = np.ones(len(asked), dtype=bool)
        for same in repeated:
            fits &= inside[:, same].sum(axis=1) <= 1
        asked, inside = asked[fits], inside[fits]
    safe: list[int] = []
    if len(asked):
        group, at = np.nonzero(inside)
        who = people[at]
        good = judge.safe(group, problem.kinds[who], problem.values[who], len(asked))
        safe = asked[good].tolist()
    loss = _losses(problem, people, member, safe)
    by_lowest: list[list[int]] = [[] for _ in range(n)]
    for some in safe:
        by_lowest[(some & -some).bit_length() - 1].append(some)
    # From the last person back: everybody from a certain one on, in all ways that were reached.
    best: dict[int, tuple[float, int, int]] = {0: (0.0, 0, 0)}  # cost, last group, before
    alone = 1e6
    for i in range(n):
        bit = 1 << i
        for mask in [m for m in best if not m & bit and m & (bit - 1) == bit - 1]:
            cost = best[mask][0]
            for some in by_lowest[i]:
                if not some & mask and cost + loss[some] < best.get(mask | some, (np.inf,))[0]:
                    best[mask | some] = (cost + loss[some], some, mask)
            if partly and cost + alone < best.get(mask | bit, (np.inf,))[0]:
                best[mask | bit] = (cost + alone, 0, mask)
    mask = (1 << n) - 1
    if mask not in best:
        return None
    groups: list[IntArray] = []
    left: list[int] = []
    while mask:
        _, some, before = best[mask]
        if some:
            groups.append(people[member[some]])
        else:
            left += people[member[mask & ~before]].tolist()
        mask = before
    return groups, np.array(left, dtype=np.int64)


def _losses(
    problem: ArtProblem, people: IntArray, member: np.ndarray, safe: list[int]
) -> dict[int, float]:
    """Ranges of each safe set, times its people."""
    places = problem.places[people]
    if not places.shape[1]:
        return {some: float(member[some].sum()) ** 2 for some in safe}
    found = {}
    for some in safe:
        inside = places[member[some]]
        found[some] = float((inside.max(axis=0) - inside.min(axis=0)).sum()) * len(inside)
    return found
