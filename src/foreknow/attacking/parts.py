"""Parts of the possible worlds: which of some worlds small steps are known to join."""

from __future__ import annotations

import numpy as np

from foreknow.attacking.clock import Budget
from foreknow.attacking.steps import Steps
from foreknow.attacking.worlds import Codes

# Ways that are tried to come nearer, from each world on the way; walks that are tried.
_TRIES, _WALKS = 12, 3


def parts_of(found: list[Codes], steps: Steps, budget: Budget) -> list[list[Codes]]:
    """Sort possible worlds into parts that walks of a chain's steps were found to join.

    Worlds of different parts may be joined nevertheless, by a way that was not found.

    Parameters
    ----------
    found : list of worlds
        In all of them the release is possible.
    steps : Steps
    budget : Budget
        When it is spent, the rest are left out.

    Returns
    -------
    list of lists of worlds
        The first part is that of the first world.
    """
    parts: list[list[Codes]] = []
    known: set[bytes] = set()
    for world in found:
        codes = steps.settled(world)
        if codes.tobytes() in known:
            continue
        known.add(codes.tobytes())
        for part in parts:
            if any(joined(codes, part[0], steps, budget) for _ in range(_WALKS)):
                part.append(codes)
                break
        else:
            if not parts or not budget.spent:
                parts.append([codes])
    return parts


def joined(one: Codes, other: Codes, steps: Steps, budget: Budget) -> bool:
    """Whether a walk from one world came to another, through possible ones only.

    Each step gives some people of a group the values they have in the other world, until there
    is nobody left who has another one.
    """
    codes = one
    while not np.array_equal(codes, other):
        for _ in range(_TRIES):
            if budget.spent:
                return False
            nearer = steps.settled(_nearer(codes, other, steps))
            if _apart(nearer, other) < _apart(codes, other) and steps.weight(nearer):
                codes = nearer
                break
        else:
            return False
    return True


def _apart(one: Codes, other: Codes) -> int:
    return int(np.count_nonzero(one != other))


def _nearer(codes: Codes, other: Codes, steps: Steps) -> Codes:
    """One or two swaps within a group, each of which gives somebody the value they have there."""
    found = codes.copy()
    for _ in range(int(steps.random.integers(1, 3))):
        away = np.flatnonzero(found != other)
        if not len(away):
            break
        person = int(steps.random.choice(away))
        same = away[steps.worlds.groups[away] == steps.worlds.groups[person]]
        givers = same[found[same] == other[person]]
        best = givers[other[givers] == found[person]]
        giver = int(steps.random.choice(best if len(best) else givers))
        found[[person, giver]] = found[[giver, person]]
    return found
