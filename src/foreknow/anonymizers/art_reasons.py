"""Why no r-robust grouping exists, where that can be proved; and what else is in the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from foreknow.adversaries.posterior.priors import FloatArray, PriorMatrix
from foreknow.anonymizers.art_problem import ArtProblem
from foreknow.sparse import IntArray

_SHOWN = 3
_NEAR = 1e-9


@dataclass(frozen=True)
class ArtNames:
    """What messages call values and signatures.

    Attributes
    ----------
    value : callable
        Of a sensitive code.
    signature : callable
        Of an attribute set and a signature code.
    """

    value: Callable[[int], str] = "value {}".format
    signature: Callable[[int, int], str] = "signature {1} of set {0}".format


def impossible(problem: ArtProblem, names: ArtNames) -> list[str]:
    """Find reasons why no grouping can be r-robust; an empty list proves nothing.

    Examples
    --------
    >>> from foreknow.adversaries.posterior.priors import matrix
    >>> same = matrix([[0.5, 0.5]])
    >>> problem = ArtProblem.of_signatures([[0, 0, 0]], [same], [0, 0, 1], r=2)
    >>> impossible(problem, ArtNames())
    ['value 0 is too frequent: 2 of 3 people have it, more than 1/2']
    """
    found = _too_frequent(problem, names)
    for s, matrix in enumerate(problem.priors):
        found += _zeros(problem, names, s, matrix)
        if problem.unique:
            found += _too_likely(problem, names, s, matrix)
    return found


def _too_frequent(problem: ArtProblem, names: ArtNames) -> list[str]:
    """With N people and c who have a value, somebody's posterior is at least c/N."""
    counts = problem.table.sum(axis=0)
    n = problem.n_people
    if n < problem.r:
        return [f"there are only {n} people, fewer than r = {float(problem.r):g}"]
    if problem.unique:
        most, share = n // problem.least, f"1/{problem.least}"
    else:
        most, share = int(n / problem.r), f"{1 / problem.r}"
    wrong = np.flatnonzero(counts > most)
    if problem.unique and problem.least != problem.r:
        share += f", as groups of different values have {problem.least} people or more"
    return [
        f"{names.value(x)} is too frequent: {counts[x]} of {n} people have it, more than {share}"
        for x in wrong.tolist()
    ]


def _present(problem: ArtProblem, s: int) -> tuple[IntArray, IntArray]:
    """Signatures of an attribute set that occur, and their people by value."""
    n_signatures = len(problem.priors[s].chances)
    table = np.zeros((n_signatures, problem.n_values), dtype=np.int64)
    np.add.at(table, problem.signature_of[s], problem.table)
    present = np.flatnonzero(table.sum(axis=1))
    return present, table[present]


def _zeros(problem: ArtProblem, names: ArtNames, s: int, matrix: PriorMatrix) -> list[str]:
    """Posteriors are 0 where priors are, and sum to c over people, and to 1 over values."""
    present, table = _present(problem, s)
    held = np.flatnonzero(problem.table.sum(axis=0))
    positive = matrix.chances[np.ix_(present, held)] > 0
    found = []
    if problem.reading == "joint":
        few = np.flatnonzero(positive.sum(axis=1) < problem.r)
        found += [
            f"{names.signature(s, int(present[i]))}: only {int(positive[i].sum())} of the values "
            f"have a prior above 0, fewer than r = {float(problem.r):g}, so one of them is too sure"
            for i in few[:_SHOWN].tolist()
        ]
    able = (positive * table.sum(axis=1)[:, None]).sum(axis=0)
    counts = problem.table.sum(axis=0)[held]
    for i in np.flatnonzero(counts * problem.r.numerator > able * problem.r.denominator).tolist():
        if able[i] < problem.n_people:
            found.append(
                f"{names.value(int(held[i]))}: {counts[i]} people have it, but the prior is above "
                f"0 for {able[i]} only, fewer than {problem.r} times as many"
            )
    return found


def _too_likely(problem: ArtProblem, names: ArtNames, s: int, matrix: PriorMatrix) -> list[str]:
    """People whose own value gives them away in every group of different values.

    Under ``binary``, t's posterior is least where all others have the greatest odds. Under
    ``joint``, exchanging the values of t, who has x, and u, who has y, shows that
    ``(1 - P) / P <= sum over y of f(t,y)/f(t,x) max over u of f(u,x)/f(u,y)``; see `bounds`.
    """
    present, table = _present(problem, s)
    held = np.flatnonzero(problem.table.sum(axis=0))
    chances = matrix.chances[np.ix_(present, held)]
    people = table.sum(axis=1)
    others = min(len(held), problem.n_people) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        if problem.reading == "binary":
            odds = chances / matrix.complements[np.ix_(present, held)]
            own = np.minimum(people - 1, others)[:, None]
            outside = _most_of_others(odds) / odds
            rest = others * outside + own * np.maximum(1 - outside, 0)
        else:
            rest = _exchanged(chances, people)
        least = np.where(chances > 0, 1 / (1 + rest), 0.0)
    least[np.isnan(least)] = 0.0
    bad = (least > 1 / float(problem.r) + _NEAR) & (table[:, held] > 0)
    rows, columns = np.nonzero(bad)
    order = np.argsort(-least[rows, columns], kind="stable")[:_SHOWN]
    found = [
        f"{names.signature(s, int(present[i]))}, {names.value(int(held[x]))}: whoever has it is "
        f"known with at least {least[i, x]:.3g} in every group of different values, since it is so "
        "much less likely for others"
        for i, x in zip(rows[order].tolist(), columns[order].tolist(), strict=True)
    ]
    if len(rows) > _SHOWN:
        found.append(f"and {len(rows) - _SHOWN} more such signatures and values")
    return found


def _exchanged(chances: FloatArray, people: IntArray) -> FloatArray:
    """For each signature and x: the greatest that (1 - P) / P can be, values being different.

    Who has y is of another signature; or of t's own, where the term is 1, but then there are only
    so many people.
    """
    total = np.zeros(chances.shape)
    n_values = chances.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        for x in range(n_values):
            own = chances[:, [x]]
            ratio = np.where(own > 0, own / chances, 0.0)
            terms = np.where(chances > 0, chances / own * _most_of_others(ratio), 0.0)
            terms = np.delete(terms, x, axis=1)
            gains = -np.sort(-np.maximum(1 - terms, 0.0), axis=1)
            used = np.arange(n_values - 1) < people[:, None] - 1
            total[:, x] = terms.sum(axis=1) + (gains * used).sum(axis=1)
    return total


def _most_of_others(table: FloatArray) -> FloatArray:
    """In each column, for each row, the greatest of all other rows; 0 where there is none."""
    if len(table) == 1:
        return np.zeros(table.shape)
    ranked = np.sort(table, axis=0)
    first = np.argmax(table, axis=0)
    found = np.broadcast_to(ranked[-1], table.shape).copy()
    found[first, np.arange(table.shape[1])] = ranked[-2]
    return found


def in_the_way(
    problem: ArtProblem, names: ArtNames, left: IntArray, tried: Sequence[str] = ()
) -> str:
    """Say what is left over, for whom no group was found."""
    keys, counts = np.unique(
        problem.kinds[left] * problem.n_values + problem.values[left], return_counts=True
    )
    notes = list(tried)
    for at in np.argsort(-counts, kind="stable")[:_SHOWN].tolist():
        kind, value = divmod(int(keys[at]), problem.n_values)
        who = "; ".join(
            names.signature(s, int(codes[kind])) for s, codes in enumerate(problem.signature_of)
        )
        own, all_ = int(problem.table[kind, value]), int(problem.table[kind].sum())
        note = f"{names.value(value)} of {who}: {int(counts[at])} people left ({own} of {all_})"
        if not problem.allowed[kind, value]:
            note += ", where its prior is 0 (or 1), but is not for others"
        elif own * problem.r.numerator > all_ * problem.r.denominator:
            note += f", there more frequent than {1 / problem.r}"
        notes.append(note)
    return "; ".join(notes)
