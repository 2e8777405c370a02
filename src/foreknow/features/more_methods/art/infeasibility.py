"""Reasons why no grouping keeps the limits, proved or only found in the way."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from foreknow.data.arrays import IntArray
from foreknow.features.more_methods.art.limits import NO_LIMIT, Share
from foreknow.features.more_methods.art.problem import ArtProblem, Known

_log = logging.getLogger(__name__)

WHAT_TO_DO = "loosen the limit, or leave the value out of it (except = [...])"
_SHOWN = 3
_GLANCE = 250
_NEAR = 1e-9
# Denominators that are written out.
_SHORT = 10_000


@dataclass(frozen=True)
class ArtNames:
    """The names of sensitive codes and signatures in messages."""

    value: Callable[[int], str] = "value {}".format
    signature: Callable[[int, int], str] = "signature {1} of set {0}".format

    def people(self, problem: ArtProblem, profile: int) -> str:
        """The name of a profile's people in messages."""
        owners = (int(table.signature_of[profile]) for table in problem.known)
        return "; ".join(self.signature(s, code) for s, code in enumerate(owners))


def impossible(problem: ArtProblem, names: ArtNames) -> list[str]:
    """Find reasons why no grouping can keep the limits; an empty list proves nothing.

    >>> from foreknow.adversaries.priors.signature_groups import matrix
    >>> same = matrix([[0.5, 0.5]])
    >>> problem = ArtProblem.of_signatures([[0, 0, 0]], [same], [0, 0, 1], r=2, unique=False)
    >>> impossible(problem, ArtNames())[0]
    'value 0 is too frequent: 2 of 3 people have it, but the limits allow 1.5 at most'
    """
    reasons = _of_one_profile(problem, names) if problem.one_profile else []
    for table in problem.known:
        reasons += _too_frequent(problem, names, table)
    # Several adversaries may give the same reason: each is said once.
    return list(dict.fromkeys(reasons))


def asked(problem: ArtProblem) -> str:
    """The goal of a grouping, in words that follow "a grouping that"."""
    limit, strict = problem.share or NO_LIMIT
    if problem.share is None or not limit or problem.with_facts:
        return "keeps every limit"
    goal = f"keeps every posterior {'below' if strict else 'at or below'} {float(limit):.4g}"
    return goal + (", with different values in each group" if problem.unique else "")


def in_the_way(problem: ArtProblem, names: ArtNames, people: IntArray) -> list[str]:
    """Sentences about the `people` for whom no safe group was found, the largest kind first.

    A kind is people of one profile who have one value.
    """
    keys, counts = np.unique(problem.keys[people], return_counts=True)
    notes = []
    for rank in np.argsort(-counts, kind="stable").tolist():
        profile, value = divmod(int(keys[rank]), problem.n_values)
        rows = problem.table[[profile]]
        note = f"{names.value(value)} of {names.people(problem, profile)}: "
        note += f"{int(counts[rank])} people left ({rows[0, value]} of {rows.sum()})"
        # Say why: the prior forbids the value, or it is too frequent among people like these.
        if not problem.allowed[profile, value]:
            note += ", where its prior is 0 (or 1), but is not for others"
        elif problem.deficit(rows, np.array([profile]))[0, value]:
            limit, _ = problem.limits.share(profile, value)
            short = limit.denominator <= _SHORT
            note += f", there more frequent than {limit if short else f'{float(limit):.6g}'}"
        notes.append(note)
    return notes


def first_of(reasons: list[str]) -> str:
    """The first reasons, as many as are read at a glance; all go to the log."""
    _log.info("%s", "; ".join(reasons))
    glance = reasons[:1]
    for reason in reasons[1:]:
        if len("; ".join([*glance, reason])) <= _GLANCE:
            glance.append(reason)
    n_hidden = len(reasons) - len(glance)
    return "; ".join(glance) + (f"; and {n_hidden:,} more such" if n_hidden else "")


def _of_one_profile(problem: ArtProblem, names: ArtNames) -> list[str]:
    """Sentences about profiles that are not safe as one group, for groups that must not mix.

    Such a problem has no solution: if all groups of a profile were safe, so were their union.
    """
    # Both kinds of trouble: a value that is too frequent, or one that the priors exclude.
    over = problem.deficit(problem.table, np.arange(problem.n_profiles)) > 0
    cells = np.argwhere(over | ((problem.table > 0) & ~problem.allowed)).tolist()
    reasons = []
    for profile, value in cells[:_SHOWN]:
        holders, people = problem.table[profile, value], problem.table[profile].sum()
        reasons.append(
            f"{names.value(value)}: {holders} of {people} people with "
            f"{names.people(problem, profile)} have it, which is more than a group of them may "
            "hold; and people of different kinds cannot share a group of a generalized release "
            '(form = "bucketized" lets them)'
        )
    n_hidden = len(cells) - _SHOWN
    return reasons + ([f"and {n_hidden} more such kinds and values"] if n_hidden > 0 else [])


def _too_frequent(problem: ArtProblem, names: ArtNames, prior_table: Known) -> list[str]:
    """Sentences about values that are so frequent that no grouping keeps the limits.

    Over all people, the posteriors of a value add up to the number of those who have it, and each
    is at most its limit. So the limits must add up to that number at least.
    """
    # People by signature and value, of the signatures that occur.
    table = np.zeros((len(prior_table.priors.chances), problem.n_values), dtype=np.int64)
    np.add.at(table, prior_table.signature_of, problem.table)  # (signatures, values)
    present = np.flatnonzero(table.sum(axis=1))
    limits, table = prior_table.asked, table[present]
    people, counts = table.sum(axis=1), table.sum(axis=0)
    is_possible = prior_table.priors.chances[present] > 0  # (signatures, values)
    # Floats pick the values that may be too frequent; fractions decide below.
    capacity = people @ (np.minimum(limits.floats[present], 1.0) * is_possible)  # (values,)
    reasons = []
    for value in np.flatnonzero((counts > 0) & (capacity <= counts * (1 + _NEAR))).tolist():
        rows = np.flatnonzero(is_possible[:, value])
        shares = [limits.share(signature, value) for signature in present[rows].tolist()]
        total, is_too_small = _sum_of_limits(shares, people[rows].tolist(), int(counts[value]))
        if not is_too_small:
            continue
        name, n_able = names.value(value), int(people[rows].sum())
        begin = f"{counts[value]} of {problem.n_people} people have it"
        if not n_able:
            reasons.append(
                f"{name}: {begin}, though its prior is 0 for everybody; so the table cannot be, by "
                "these priors"
            )
            continue
        restricted = n_able < problem.n_people
        why = f", as the prior is above 0 for {n_able} only" if restricted else ""
        reasons.append(
            f"{name} is too frequent: {begin}, but the limits allow {float(total):.6g} at most{why}"
        )
    return reasons


def _sum_of_limits(shares: list[Share], times: list[int], needed: int) -> tuple[Fraction, bool]:
    """The sum of limits over all people, and whether it is too small for `needed` holders.

    Limit i, a pair (limit, whether it must not be reached), is that of ``times[i]`` people.
    """
    total = sum((n * limit for n, (limit, _) in zip(times, shares, strict=True)), Fraction(0))
    strict = any(strict for _, strict in shares)
    return total, total < needed or (total == needed and strict)
