"""Posteriors of a release under either reading: the entry to this room."""

from __future__ import annotations

from typing import get_args

from foreknow.adversaries.posterior.binary import binary_posteriors
from foreknow.adversaries.posterior.groups import SignatureGroups
from foreknow.adversaries.posterior.joint import REACH, joint_posteriors
from foreknow.adversaries.posterior.priors import PriorMatrix
from foreknow.adversaries.posterior.results import GroupPosteriors, Reading
from foreknow.errors import InputError, did_you_mean


def posteriors(
    groups: SignatureGroups,
    priors: PriorMatrix,
    reading: Reading = "joint",
    *,
    reach: int = REACH,
) -> GroupPosteriors:
    """Posteriors of everybody; see `joint_posteriors` and `binary_posteriors`.

    Examples
    --------
    >>> groups = SignatureGroups.from_people([([0, 1], [0, 1])])
    >>> priors = PriorMatrix.from_fractions([["1/10", "9/10"], ["3/1000", "997/1000"]])
    >>> posteriors(groups, priors, "binary")
    GroupPosteriors(binary: 1 exact, 0 bounded, 0 impossible)
    """
    if reading not in get_args(Reading):
        known = get_args(Reading)
        raise InputError(f"reading {reading!r} is unknown{did_you_mean(str(reading), known)}")
    judge = joint_posteriors if reading == "joint" else binary_posteriors
    return judge(groups, priors, reach)
