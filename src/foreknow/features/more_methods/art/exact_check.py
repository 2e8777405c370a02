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
from foreknow.adversaries.priors.known_people import FactsOnTop, count_after_ruling_out
from foreknow.adversaries.priors.posteriors import posteriors
from foreknow.adversaries.priors.signature_groups import SignatureGroups
from foreknow.data.arrays import IntArray, count_pairs
from foreknow.features.more_methods.art.problem import ArtProblem, Known
from foreknow_judge.errors import UnsupportedError

# Within it fractions decide.
_NEAR = 1e-9


def safe_lists(problem: ArtProblem, groups: Sequence[IntArray]) -> NDArray[np.bool_]:
    """True for each group that keeps all limits; each group is an array of its people."""
    if not groups:
        return np.zeros(0, dtype=bool)
    # One entry per person: `group` says in which group.
    people = np.concatenate(groups)
    group = np.repeat(np.arange(len(groups)), [len(members) for members in groups])
    return safe_groups(
        problem, group, problem.profiles[people], problem.values[people], len(groups)
    )


def safe_bags(problem: ArtProblem, bags: Sequence[tuple[int, ...]]) -> list[bool]:
    """True for each group that keeps all limits; each is given by its sorted keys.

    A key stands for the profile and the value of a person: ``profile * n_values + value``. Equal
    groups are judged once, and verdicts are kept in ``problem.judged``.
    """
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

    The three arrays have an entry for each person: the group, the profile (a kind of people whom no
    adversary can tell apart) and the value.
    """
    # In group g, the values occurring[starts[g] : starts[g + 1]] occur, as often as `counts` says.
    starts, occurring, counts = bags = count_pairs(group, values, n_groups, problem.n_values)
    sizes = np.bincount(group, minlength=n_groups)
    owner = np.repeat(np.arange(n_groups), np.diff(starts))
    # A quick test first. The chances of a value add up to its count over all in the group, so
    # someone has at least the average, and even the loosest limit must allow that.
    may_be_safe = counts <= sizes[owner] * problem.loosest[occurring] * (1 + _NEAR)
    if problem.unique:
        may_be_safe &= counts == 1
    fits = np.logical_and.reduceat(may_be_safe, starts[:-1])
    if problem.one_profile:
        # Groups must not mix profiles: compare everybody with somebody of the group.
        first_profile = np.zeros(n_groups, dtype=np.int64)
        first_profile[group] = profiles
        np.logical_and.at(fits, group, profiles == first_profile[group])
    # The exact posteriors of each adversary decide about the groups that remain.
    for prior_table in problem.known:
        undecided = np.flatnonzero(fits)
        if not len(undecided):
            break
        n_signatures = len(prior_table.priors.chances)
        people = count_pairs(group, prior_table.signature_of[profiles], n_groups, n_signatures)
        undecided_groups = SignatureGroups(*people, *bags).take(undecided)
        fits[undecided] = _keeps_limits(undecided_groups, prior_table)
    return fits


def _keeps_limits(groups: SignatureGroups, prior_table: Known) -> NDArray[np.bool_]:
    """For each group, whether it keeps the limits on one table of priors.

    Floats with error bounds decide most groups; fractions decide those that come close to a limit.
    """
    # Groups of people with equal signatures (known columns) need no posteriors; `safe` is right for
    # these, and is filled in below for the others.
    single, safe = _groups_of_one_signature(groups, prior_table)
    undecided = np.flatnonzero(~single)
    if not len(undecided):
        return safe
    posterior = posteriors(groups.take(undecided), prior_table.priors, prior_table.reading)
    _, signature, value = posterior.cells()
    # Nobody has a value that the priors exclude, so it needs no limit.
    possible = prior_table.priors.chances[signature, value] > 0
    limit = np.where(possible, prior_table.asked.floats[signature, value], np.inf)
    on_top = (
        FactsOnTop(posterior, prior_table.priors, prior_table.amounts)
        if any(prior_table.amounts)
        else None
    )
    # With facts beside the priors, the posterior is the one that these raise it to.
    upper = posterior.upper() if on_top is None else on_top.bounds_of_values.upper
    # Equal groups are one case. A case has a posterior for each signature and each value.
    starts = posterior.offsets[:-1]
    # NaN means that no world is possible, or that no posterior could be computed: unsafe.
    missing = np.isnan(upper)
    case_is_safe = ~np.logical_or.reduceat(missing, starts)
    case_is_safe &= np.logical_and.reduceat(missing | (upper < limit + _NEAR), starts)
    # Near a limit floats may err: judge such cases in fractions.
    is_near_limit = np.logical_or.reduceat(upper > limit - _NEAR, starts)
    for case in np.flatnonzero(case_is_safe & is_near_limit).tolist():
        case_is_safe[case] = _exactly_safe(posterior.cases, case, prior_table, on_top)
    safe[undecided] = case_is_safe[posterior.case_of]
    return safe


def _groups_of_one_signature(
    groups: SignatureGroups, prior_table: Known
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which groups have a single signature, and which of these are safe, exactly.

    In a group of N people of one signature, everybody's posterior of a value that c have is c/N, by
    symmetry. Except where no world has a positive weight: a value that occurs though its prior is
    0, or under ``binary`` 1 though others have other values. Facts may rule l values out and name
    the values of k people.
    """
    single = groups.n_signatures == 1
    if not single.any():
        return single, single.copy()
    # One entry for each value that occurs in a group of one signature.
    cells = np.flatnonzero(np.repeat(single, groups.n_values))
    owner = np.repeat(np.arange(groups.n_groups), groups.n_values)[cells]
    signature_and_value = groups.signatures[groups.offsets[owner]], groups.values[cells]
    counts, sizes = groups.counts[cells], groups.sizes[owner]
    fits = prior_table.priors.chances[signature_and_value] > 0
    if prior_table.reading == "binary":
        fits &= (prior_table.priors.complements[signature_and_value] > 0) | (counts == sizes)
    limits = prior_table.asked
    l, k, _ = prior_table.amounts
    # With l values ruled out and k people known, c/N becomes c / (c + others who remain).
    remaining_people = count_after_ruling_out(groups, l)[cells] - k if l or k else sizes - counts
    # In whole numbers: c / (c + others) is above num/den if den * c > num * (c + others); a strict
    # limit must not be reached either, hence the 1.
    over = limits.den[signature_and_value] * counts + limits.strict[signature_and_value]
    over -= limits.num[signature_and_value] * (counts + np.maximum(remaining_people, 0))
    safe = single.copy()
    np.logical_and.at(safe, owner, fits & np.asarray(over <= 0, dtype=bool))
    return single, safe


def _exactly_safe(
    cases: SignatureGroups, case: int, prior_table: Known, on_top: FactsOnTop | None
) -> bool:
    """True if a group keeps its limits, worked out in fractions.

    Also False if the fractions take too much work, or if no world of the group is possible.
    """
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
    """The posteriors of one group as fractions: a row for each signature, a column for each value.

    None stands in a group that is impossible by the priors. With facts beside the priors, each
    number is the highest posterior that the facts allow: exact if values are ruled out, and an
    upper bound if people are known.
    """
    bag = cases.bag_of(case)
    if on_top is None:
        return exact_group(cases, case, prior_table.priors, prior_table.reading)

    def bounds(position: int) -> list[Fraction | None]:
        return [on_top.bound_as_fraction([value], case, position) for value, _ in bag]

    # Known or linked people: only bounds are at hand.
    if any(prior_table.amounts[1:]):
        return [bounds(position) for position in range(len(cases.people_of(case)))]
    # Only values are ruled out: condition the exact posteriors on that.
    by_priors: Any = exact_group(cases, case, prior_table.priors, prior_table.reading)
    if None in chain(*by_priors):
        return list(by_priors)
    counts = [count for _, count in bag]

    def conditioned(row: Sequence[Fraction]) -> list[Fraction | None]:
        return [on_top.chance_after_ruling_out(row, [column], counts) for column in range(len(bag))]

    return [*map(conditioned, by_priors)]
