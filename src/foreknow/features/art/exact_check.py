"""Whether groups of ART keep every limit, exactly.

Definition 3 of the paper: p(t : x) <= 1/r for everybody and every value, for each attribute set.
Here every signature and value may have a limit of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.priors.exact import exact_group
from foreknow.adversaries.priors.known_people import Known as FactsOnTop
from foreknow.adversaries.priors.known_people import least_left
from foreknow.adversaries.priors.posteriors import posteriors
from foreknow.adversaries.priors.signature_groups import SignatureGroups
from foreknow.data.arrays import IntArray, count_pairs
from foreknow.features.art.problem import ArtProblem, Known
from foreknow_judge.errors import UnsupportedError

# Within it fractions decide.
_NEAR = 1e-9


def safe_lists(problem: ArtProblem, groups: Sequence[IntArray]) -> NDArray[np.bool_]:
    """True for each group, given by its people, that keeps all limits."""
    if not groups:
        return np.zeros(0, dtype=bool)
    people = np.concatenate(groups)
    group = np.repeat(np.arange(len(groups)), [len(members) for members in groups])
    return safe_groups(
        problem, group, problem.profiles[people], problem.values[people], len(groups)
    )


def safe_bags(problem: ArtProblem, bags: Sequence[tuple[int, ...]]) -> list[bool]:
    """True for each group, given by its sorted keys, that keeps all limits; each is judged once."""
    verdict_of = problem.judged
    new = [bag for bag in dict.fromkeys(bags) if bag not in verdict_of]
    if new:
        profiles, values = np.divmod(np.concatenate(new), problem.n_values)
        group = np.repeat(np.arange(len(new)), [len(bag) for bag in new])
        safe = safe_groups(problem, group, profiles, values, len(new))
        verdict_of.update(zip(new, safe.tolist(), strict=True))
    return [verdict_of[bag] for bag in bags]


def safe_groups(
    problem: ArtProblem, group: IntArray, profiles: IntArray, values: IntArray, n_groups: int
) -> NDArray[np.bool_]:
    """For each group, whether it keeps the limits of all sets of attributes.

    Each entry is a person: the group, the profile and the value.
    """
    bags = count_pairs(group, values, n_groups, problem.n_values)
    sizes = np.bincount(group, minlength=n_groups)
    owner = np.repeat(np.arange(n_groups), np.diff(bags[0]))
    # Someone has at least the average chance of a value.
    sieved = bags[2] <= sizes[owner] * problem.loosest[bags[1]] * (1 + _NEAR)
    if problem.unique:
        sieved &= bags[2] == 1
    fits = np.logical_and.reduceat(sieved, bags[0][:-1])
    if problem.one_profile:
        first_profile = np.zeros(n_groups, dtype=np.int64)
        first_profile[group] = profiles
        np.logical_and.at(fits, group, profiles == first_profile[group])
    for prior_table in problem.known:
        undecided = np.flatnonzero(fits)
        if not len(undecided):
            break
        width = len(prior_table.priors.chances)
        people = count_pairs(group, prior_table.signature_of[profiles], n_groups, width)
        fits[undecided] = _robust(SignatureGroups(*people, *bags).take(undecided), prior_table)
    return fits


def _robust(groups: SignatureGroups, prior_table: Known) -> NDArray[np.bool_]:
    """For each group, whether it keeps the limits on one table of priors.

    Fractions decide where floats are close to a limit.
    """
    single, safe = _alike(groups, prior_table)
    undecided = np.flatnonzero(~single)
    if not len(undecided):
        return safe
    posterior = posteriors(groups.take(undecided), prior_table.priors, prior_table.reading)
    _, signature, value = posterior.cells()
    # What has no prior has no posterior: it needs no limit.
    possible = prior_table.priors.chances[signature, value] > 0
    limit = np.where(possible, prior_table.asked.floats[signature, value], np.inf)
    on_top = (
        FactsOnTop(posterior, prior_table.priors, prior_table.amounts)
        if any(prior_table.amounts)
        else None
    )
    upper = posterior.upper() if on_top is None else on_top.of_values.upper
    starts = posterior.offsets[:-1]
    missing = np.isnan(upper)
    is_robust = ~np.logical_or.reduceat(missing, starts)
    is_robust &= np.logical_and.reduceat(missing | (upper < limit + _NEAR), starts)
    is_undecided = np.logical_or.reduceat(upper > limit - _NEAR, starts)
    for case in np.flatnonzero(is_robust & is_undecided).tolist():
        is_robust[case] = _exactly_safe(posterior.cases, case, prior_table, on_top)
    safe[undecided] = is_robust[posterior.case_of]
    return safe


def _alike(
    groups: SignatureGroups, prior_table: Known
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Groups of one signature, and which of them are safe, exactly: by symmetry c/N for everybody.

    Except where no world has a positive weight: a held value whose prior is 0, or under ``binary``
    1, unless all have it.
    """
    single = groups.n_signatures == 1
    cells = np.flatnonzero(np.repeat(single, groups.n_values))
    owner = np.repeat(np.arange(groups.n_groups), groups.n_values)[cells]
    signature_and_value = groups.signatures[groups.offsets[owner]], groups.values[cells]
    counts, sizes = groups.counts[cells], groups.sizes[owner]
    fits = prior_table.priors.chances[signature_and_value] > 0
    if prior_table.reading == "binary":
        fits &= (prior_table.priors.complements[signature_and_value] > 0) | (counts == sizes)
    limits = prior_table.asked
    l, k, _ = prior_table.amounts
    # Whoever is left with l values ruled out and k people known.
    remaining_people = least_left(groups, l)[cells] - k if l or k else sizes - counts
    over = limits.den[signature_and_value] * counts + limits.strict[signature_and_value]
    over -= limits.num[signature_and_value] * (counts + np.maximum(remaining_people, 0))
    safe = single.copy()
    np.logical_and.at(safe, owner, fits & np.asarray(over <= 0, dtype=bool))
    return single, safe


def _exactly_safe(
    cases: SignatureGroups, case: int, prior_table: Known, on_top: FactsOnTop | None
) -> bool:
    """True if a case keeps its limits, in fractions; False also if they are out of reach."""
    signatures, bag = cases.people_of(case), cases.bag_of(case)
    try:
        table = _exact_posteriors(cases, case, prior_table, on_top)
    except UnsupportedError:
        return False
    for (signature, _), row in zip(signatures, table, strict=True):
        for (value, _), posterior in zip(bag, row, strict=True):
            if posterior is None or not prior_table.asked.holds(signature, value, posterior):
                return False
    return True


def _exact_posteriors(
    cases: SignatureGroups, case: int, prior_table: Known, on_top: FactsOnTop | None
) -> Sequence[Sequence[Fraction | None]]:
    """The posterior of each value of a group by signature; None in a group that is impossible.

    With facts on top, what they raise it to: exactly for values ruled out, else a bound.
    """
    bag = cases.bag_of(case)
    if on_top is None:
        return exact_group(cases, case, prior_table.priors, prior_table.reading)

    def bounds(position: int) -> list[Fraction | None]:
        return [on_top.bound([value], case, position) for value, _ in bag]

    if any(prior_table.amounts[1:]):
        return [bounds(position) for position in range(len(cases.people_of(case)))]
    by_priors: Any = exact_group(cases, case, prior_table.priors, prior_table.reading)
    if None in chain(*by_priors):
        return list(by_priors)
    counts = [count for _, count in bag]

    def conditioned(row: Sequence[Fraction]) -> list[Fraction | None]:
        return [on_top.conditioned(row, [column], counts) for column in range(len(bag))]

    return [*map(conditioned, by_priors)]
