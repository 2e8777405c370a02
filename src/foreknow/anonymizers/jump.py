"""Naive, safe and k-jump algorithms: the first generalization that stays safe when that is public.

"k-Jump Strategy for Preserving Privacy in Micro-Data Disclosure", Tables 6 to 9 and 13.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreknow.anonymizers.jump_nodes import groupings
from foreknow.errors import InputError, NoSafeRelease
from foreknow.jumping.composed import as_property
from foreknow.jumping.estimating import EstimatedSet, estimate
from foreknow.jumping.functions import Function
from foreknow.jumping.properties import MaxRatio, Property
from foreknow.jumping.runs import Case, Run, Step, case_of
from foreknow.jumping.strategy import Strategy, distances_of
from foreknow.microdata import Microdata
from foreknow.policy import Policy
from foreknow.sparse import IntArray

STEPS = 2_000_000
ESTIMATE_STEPS = 5_000
HALF = MaxRatio("1/2")


def read_functions(given: Any) -> tuple[Function, ...]:
    """Functions as users give them, in order."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError("functions is a list, in the order in which they are tried")
    if not given:
        raise InputError("there are no functions to try")
    return tuple(Function.of(one) for one in given)


@dataclass(frozen=True, init=False)
class _Algorithm:
    functions: tuple[Function, ...]
    property: Property
    steps: int

    def __init__(
        self, functions: Sequence[Any], property: Any = HALF, *, steps: int = STEPS
    ) -> None:
        object.__setattr__(self, "functions", read_functions(functions))
        object.__setattr__(self, "property", as_property(property))
        object.__setattr__(self, "steps", steps)

    def _strategy(self) -> Strategy:
        raise NotImplementedError

    def _walk(self, case: Case) -> tuple[int | None, list[Step]]:
        raise NotImplementedError

    def run(self, table: Any) -> Run:
        """Run the algorithm on a table.

        Parameters
        ----------
        table : mapping of person to value, or sequence of values
            The people that the functions group. Without names they are 0, 1, 2, ...

        Returns
        -------
        Run

        Raises
        ------
        BeyondReach
            If exact counting takes more than `steps` steps.
        """
        case = case_of(self.functions, self._strategy(), table, self.steps)
        released, path = self._walk(case)
        return Run(released, path, case)

    def estimate(
        self,
        table: Any,
        i: int,
        samples: int = 1000,
        *,
        seed: int | None = None,
        confidence: float = 0.99,
    ) -> EstimatedSet:
        """Estimate what those can tell who see function i's generalization and know the algorithm.

        For disclosure sets that are too large for `Run.disclosure_set`. No release is ever
        decided by an estimate.

        Parameters
        ----------
        table : mapping of person to value, or sequence of values
        i : int
            The function, from 0.
        samples : int
            How many tables to draw.
        seed : int, optional
        confidence : float

        Returns
        -------
        EstimatedSet
            With an interval for the highest probability.
        """
        strategy = self._strategy()
        steps = min(self.steps, ESTIMATE_STEPS)
        case = case_of(self.functions, strategy, table, steps, fresh=True)
        return estimate(case, i, samples, seed, confidence)

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group the rows of a table.

        Parameters
        ----------
        microdata : Microdata
            Functions are lattice nodes of it (tuples of levels, one per quasi-identifier) or give
            the group of each row.
        policy : Policy, optional
            Not asked: the algorithm judges by its own property.
        seed : int, optional
            Ignored: the method is deterministic.

        Returns
        -------
        int64 array, shape (rows,)
            The group of each row in the source's order, from 0; -1 for a row that is left out
            because its sensitive value is missing.

        Raises
        ------
        NoSafeRelease
            If nothing is released.
        """
        functions = [Function(numbers=codes) for codes in groupings(self.functions, microdata)]
        own = copy.copy(self)
        object.__setattr__(own, "functions", tuple(functions))
        values = microdata.values
        run = own.run([values[code] for code in microdata.sensitive_codes.tolist()])
        if run.released is None:
            raise NoSafeRelease(
                f"{type(self).__name__} releases nothing of {microdata.name}: no disclosure set "
                f"on its way has the property {self.property!r}"
            )
        return microdata.rows_of(np.array(functions[run.released].numbers, dtype=np.int64))


@dataclass(frozen=True, init=False)
class Naive(_Algorithm):
    """Release the first generalization whose permutation set has the property (Table 6).

    **Not safe**: whoever knows the algorithm rules out the tables that would have been released
    earlier. It is here to be compared with.

    Parameters
    ----------
    functions : list
        In the order in which they are tried: ``"AB|CD"``, lists of groups, or group numbers.
    property : Property
        `MaxRatio`, `Distinct`, `Entropy`, `Recursive`, `KAnonymity`, `Each`, or a callable.
    steps : int
        How many steps exact counting may take.

    Examples
    --------
    >>> naive = Naive(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = naive.run(patients)
    >>> run.released, run.disclosure_set(1)
    (1, <DisclosureSet: 4 of 36 tables, highest ratio 1>)
    """

    def _strategy(self) -> Strategy:
        return Strategy("naive", self.property, (1,) * len(self.functions))

    def _walk(self, case: Case) -> tuple[int | None, list[Step]]:
        path: list[Step] = []
        for i in range(len(self.functions)):
            safe = case.permutation_safe(i)
            path.append((i, "permutation", safe))
            if safe:
                return i, path
        return None, path


@dataclass(frozen=True, init=False)
class Safe(_Algorithm):
    """Release the first generalization whose disclosure set has the property (Tables 7 and 8).

    Safe against those who know it: what is released is judged by what they can tell. When
    nothing is released, that is safe where the adversary knows no more than the domain of the
    values; see `Run.nothing_set` for one who knows how often each value occurs.

    Parameters
    ----------
    functions, property, steps
        As for `Naive`.

    Examples
    --------
    >>> safe = Safe(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = safe.run(patients)
    >>> run.released, run.disclosure_set()
    (2, <DisclosureSet: 8 of 24 tables, highest ratio 1/2>)
    """

    def _strategy(self) -> Strategy:
        return Strategy("safe", self.property, (1,) * len(self.functions))

    def _walk(self, case: Case) -> tuple[int | None, list[Step]]:
        path: list[Step] = []
        for i in range(len(self.functions)):
            # Lemma 3: no subset of an unsafe permutation set is safe, if the property is convex.
            hopeless = self.property.convex and not case.permutation_safe(i)
            safe = not hopeless and case.disclosure_safe(i)
            path.append((i, "disclosure", safe))
            if safe:
                return i, path
        return None, path


@dataclass(frozen=True, init=False)
class Jump(_Algorithm):
    """The k-jump algorithms: jump on where only the disclosure set is not safe (Tables 9 and 13).

    Every one of them is safe against those who know it, distances included. Which of them
    releases more depends on the table. When nothing is released, that is safe where the adversary
    knows no more than the domain of the values; see `Run.nothing_set` for one who knows how often
    each value occurs.

    Parameters
    ----------
    functions, property, steps
        As for `Naive`; a function may occur several times.
    distances : int or sequence of int
        How far to jump from each function whose permutation set is safe and whose disclosure set
        is not. The first never matters, nor how far a jump goes past the last function.

    Examples
    --------
    >>> jump = Jump(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], distances=2, property=MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = jump.run(patients)
    >>> print(run.report)
    permutation set of g1 = AB|CD|EF: not safe
    permutation set of g2 = ABC|DEF: safe
    disclosure set of g2 = ABC|DEF: not safe
    nothing is released
    """

    distances: tuple[int, ...]

    def __init__(
        self,
        functions: Sequence[Any],
        distances: int | Sequence[int] = 1,
        property: Any = HALF,
        *,
        steps: int = STEPS,
    ) -> None:
        super().__init__(functions, property, steps=steps)
        object.__setattr__(self, "distances", distances_of(distances, len(self.functions)))

    def _strategy(self) -> Strategy:
        return Strategy("jump", self.property, self.distances)

    def _walk(self, case: Case) -> tuple[int | None, list[Step]]:
        path: list[Step] = []
        strategy = self._strategy()
        i = 0
        while i < len(self.functions):
            safe = case.permutation_safe(i)
            path.append((i, "permutation", safe))
            if not safe:
                i += 1
                continue
            safe = case.disclosure_safe(i)
            path.append((i, "disclosure", safe))
            if safe:
                return i, path
            i = strategy.after(i)
        return None, path
