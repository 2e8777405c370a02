"""Binary posteriors: each value against all others, as the joint reading of two values."""

from __future__ import annotations

import numpy as np

from foreknow.adversaries.posterior.groups import SignatureGroups
from foreknow.adversaries.posterior.joint import REACH, joint_posteriors
from foreknow.adversaries.posterior.priors import FloatArray, PriorMatrix
from foreknow.adversaries.posterior.results import GroupPosteriors
from foreknow.sparse import IntArray, ranges


def binary_posteriors(
    groups: SignatureGroups, priors: PriorMatrix, reach: int = REACH
) -> GroupPosteriors:
    """Posteriors of everybody under the binary reading, {x, not x} for each value x.

    With odds ``o = f / (1 - f)`` and c occurrences, ``p(t:x) = o_t e_{c-1}(others) / e_c(all)``;
    for one occurrence ``o_t`` over the sum of all odds, to which the paper's Table V belongs
    (errata, section 3).

    Examples
    --------
    >>> groups = SignatureGroups.from_people([([0, 1, 1], [0, 1, 2])])
    >>> priors = PriorMatrix.from_fractions([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"]])
    >>> binary_posteriors(groups, priors).of(0)[0].round(6)  # 1 / (1 + 1/3 + 1/3) of the first
    array([0.6     , 0.142857, 0.333333])
    """
    priors.check(groups)
    first, case_of = groups.distinct()
    cases = groups.take(first)
    owner = np.repeat(np.arange(cases.n_groups), np.diff(cases.value_offsets))
    found = joint_posteriors(_two_values(cases, owner), _with_complements(priors), reach)
    n_signatures, n_values = np.diff(cases.offsets), np.diff(cases.value_offsets)
    offsets = np.concatenate(([0], np.cumsum(n_signatures * n_values)))
    # Signature i of the case, in the problem of each of its values: its first cell is {x}.
    case = np.repeat(np.arange(cases.n_groups), n_signatures * n_values)
    at = np.arange(int(offsets[-1])) - offsets[case]
    problem = found.case_of[cases.value_offsets[case] + at % n_values[case]]
    width = np.diff(found.cases.value_offsets)[problem]
    cells = found.offsets[problem] + at // n_values[case] * width
    errors = np.zeros(cases.n_groups)
    np.maximum.at(errors, owner, found.errors[found.case_of])
    return GroupPosteriors(
        groups,
        "binary",
        cases,
        case_of,
        offsets,
        found.probabilities[cells],
        found.bounded[cells],
        errors,
    )


def _two_values(cases: SignatureGroups, owner: IntArray) -> SignatureGroups:
    """One group per case and value: the value, code 2x, and all others, code 2x + 1."""
    cells, offsets = ranges(cases.offsets[owner], cases.offsets[owner + 1])
    others = cases.sizes[owner] - cases.counts
    there = np.stack([np.ones(len(owner), dtype=bool), others > 0], axis=1)
    codes = np.stack([2 * cases.values, 2 * cases.values + 1], axis=1)[there]
    counts = np.stack([cases.counts, others], axis=1)[there]
    value_offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
    names = None if cases.names is None else [cases.names[g] for g in owner.tolist()]
    return SignatureGroups(
        offsets, cases.signatures[cells], cases.people[cells], value_offsets, codes, counts, names
    )


def _with_complements(priors: PriorMatrix) -> PriorMatrix:
    chances: FloatArray = np.stack([priors.chances, priors.complements], axis=2)
    return PriorMatrix(chances.reshape(len(chances), -1))
