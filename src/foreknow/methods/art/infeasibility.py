"""Why no grouping keeps the limits, where that can be proved; and what else is in the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from foreknow.adversaries.priors.signature_groups import FloatArray
from foreknow.data.sparse import IntArray
from foreknow.methods.art.limits import NO_LIMIT
from foreknow.methods.art.problem import ArtProblem, Known

_SHOWN = 3
_NEAR = 1e-9
# Denominators that are written out.
_SHORT = 10_000
_0 = Fraction(0)


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
    """Find reasons why no grouping can keep the limits; an empty list proves nothing.

    Examples
    --------
    >>> from foreknow.adversaries.priors.signature_groups import matrix
    >>> same = matrix([[0.5, 0.5]])
    >>> problem = ArtProblem.of_signatures([[0, 0, 0]], [same], [0, 0, 1], r=2, unique=False)
    >>> impossible(problem, ArtNames())[0]
    'value 0 is too frequent: 2 of 3 people have it, but the limits allow 1.5 at most'
    """
    found = _repeated(problem, names) if problem.unique else []
    if problem.apart:
        found += _apart(problem, names)
    for s, known in enumerate(problem.known):
        found += _too_frequent(problem, names, known)
        if known.reading == "joint":
            found += _too_few(problem, names, s, known)
        if problem.unique:
            found += _too_likely(problem, names, s, known)
    return list(dict.fromkeys(found))


def asked(problem: ArtProblem) -> str:
    """What a grouping should do, in words that follow "a grouping that"."""
    limit, strict = problem.share or NO_LIMIT
    if problem.share is None or not limit:
        return "keeps every limit"
    found = f"is r-robust for r = {float(1 / limit):g}"
    if strict:
        found = f"keeps every posterior below {float(limit):.4g}"
    return found + (", with different values in each group" if problem.unique else "")


def who(problem: ArtProblem, names: ArtNames, kind: int) -> str:
    """What messages call people of a kind."""
    return "; ".join(
        names.signature(s, int(known.signature_of[kind])) for s, known in enumerate(problem.known)
    )


def _apart(problem: ArtProblem, names: ArtNames) -> list[str]:
    """Groups of one kind are safe together if each is: so a kind must be safe as one group."""
    lacking = problem.lacking(problem.table, np.arange(problem.n_kinds)) > 0
    if problem.unique:
        lacking |= problem.least * problem.table > problem.table.sum(axis=1, keepdims=True)
    lacking |= (problem.table > 0) & ~problem.allowed
    cells = np.argwhere(lacking).tolist()
    found = [
        f"{names.value(x)}: {problem.table[kind, x]} of {problem.table[kind].sum()} people with "
        f"{who(problem, names, kind)} have it, which is more than a group of them may hold; and "
        "people of different kinds cannot share a group of a generalized release, since it would "
        'no longer tell what the priors are about (form = "bucketized" does)'
        for kind, x in cells[:_SHOWN]
    ]
    if len(cells) > _SHOWN:
        found.append(f"and {len(cells) - _SHOWN} more such kinds and values")
    return found


def _repeated(problem: ArtProblem, names: ArtNames) -> list[str]:
    """Groups of k or more different values are at most n/k, and no value is in one twice."""
    counts = problem.table.sum(axis=0)
    n, k = problem.n_people, problem.least
    if n < k:
        return [f"there are only {n} people, fewer than {k}, which every group needs"]
    return [
        f"{names.value(x)} is too frequent: {counts[x]} of {n} people have it, more than 1/{k}, as "
        f"groups of different values have {k} people or more"
        for x in np.flatnonzero(counts > n // k).tolist()
    ]


def _present(problem: ArtProblem, known: Known) -> tuple[IntArray, IntArray]:
    """Signatures of an attribute set that occur, and their people by value."""
    table = np.zeros((len(known.priors.chances), problem.n_values), dtype=np.int64)
    np.add.at(table, known.signature_of, problem.table)
    present = np.flatnonzero(table.sum(axis=1))
    return present, table[present]


def _too_frequent(problem: ArtProblem, names: ArtNames, known: Known) -> list[str]:
    """Posteriors of a value sum to its occurrences, over all people; each is within its limit."""
    present, table = _present(problem, known)
    people, counts = table.sum(axis=1), table.sum(axis=0)
    positive = known.priors.chances[present] > 0
    limits = np.minimum(known.limits.floats[present], 1.0) * positive
    near = np.flatnonzero((counts > 0) & (people @ limits <= counts * (1 + _NEAR)))
    found = []
    for x in near.tolist():
        able = np.flatnonzero(positive[:, x]).tolist()
        shares = [known.limits.share(int(present[i]), x) for i in able]
        total = sum(
            (int(people[i]) * limit for i, (limit, _) in zip(able, shares, strict=True)), _0
        )
        count = int(counts[x])
        if total > count or (total == count and not any(strict for _, strict in shares)):
            continue
        held = int(people[able].sum())
        if not held:
            found.append(
                f"{names.value(x)}: {count} of {problem.n_people} people have it, though its prior "
                "is 0 for everybody; so the table cannot be, by these priors"
            )
            continue
        why = "" if held == problem.n_people else f", as the prior is above 0 for {held} only"
        found.append(
            f"{names.value(x)} is too frequent: {count} of {problem.n_people} people have it, "
            f"but the limits allow {float(total):.6g} at most{why}"
        )
    return found


def _too_few(problem: ArtProblem, names: ArtNames, s: int, known: Known) -> list[str]:
    """Posteriors of a person sum to 1, over the values; each is within its limit."""
    present, _ = _present(problem, known)
    held = np.flatnonzero(problem.table.sum(axis=0))
    cells = np.ix_(present, held)
    positive = known.priors.chances[cells] > 0
    limits = np.minimum(known.limits.floats[cells], 1.0) * positive
    found = []
    for i in np.flatnonzero(limits.sum(axis=1) <= 1 + _NEAR).tolist():
        able = held[positive[i]].tolist()
        shares = [known.limits.share(int(present[i]), x) for x in able]
        total = sum((limit for limit, _ in shares), _0)
        if not able:
            found.append(
                f"{names.signature(s, int(present[i]))}: the prior of every value that anybody has "
                "is 0; so nobody like that can be in the table, by these priors"
            )
        elif total < 1 or (total == 1 and any(strict for _, strict in shares)):
            found.append(
                f"{names.signature(s, int(present[i]))}: only {len(able)} of the values have a "
                f"prior above 0, and their limits add up to {float(total):.4g}, so one of them is "
                "too sure"
            )
    return found[:_SHOWN]


def _too_likely(problem: ArtProblem, names: ArtNames, s: int, known: Known) -> list[str]:
    """People whose own value gives them away in every group of different values.

    Under ``binary``, t's posterior is least where all others have the greatest odds. Under
    ``joint``, exchanging the values of t, who has x, and u, who has y, shows that
    ``(1 - P) / P <= sum over y of f(t,y)/f(t,x) max over u of f(u,x)/f(u,y)``; see `bounds`.
    """
    present, table = _present(problem, known)
    held = np.flatnonzero(problem.table.sum(axis=0))
    cells = np.ix_(present, held)
    chances = known.priors.chances[cells]
    people = table.sum(axis=1)
    others = min(len(held), problem.n_people) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        if known.reading == "binary":
            odds = chances / known.priors.complements[cells]
            own = np.minimum(people - 1, others)[:, None]
            outside = _most_of_others(odds) / odds
            rest = others * outside + own * np.maximum(1 - outside, 0)
        else:
            rest = _exchanged(chances, people)
        least = np.where(chances > 0, 1 / (1 + rest), 0.0)
    least[np.isnan(least)] = 0.0
    bad = (least > known.limits.floats[cells] + _NEAR) & (table[:, held] > 0)
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


def _written(limit: Fraction) -> str:
    return str(limit) if limit.denominator <= _SHORT else f"{float(limit):.6g}"


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
        own, all_ = int(problem.table[kind, value]), int(problem.table[kind].sum())
        note = f"{names.value(value)} of {who(problem, names, kind)}: "
        note += f"{int(counts[at])} people left ({own} of {all_})"
        if not problem.allowed[kind, value]:
            note += ", where its prior is 0 (or 1), but is not for others"
        elif problem.lacking(problem.table[[kind]], np.array([kind]))[0, value]:
            limit, _ = problem.limits.share(kind, value)
            note += f", there more frequent than {_written(limit)}"
        notes.append(note)
    return "; ".join(notes)
