"""Naive, safe and k-jump algorithms: the first generalization that stays safe when that is public.

"k-Jump Strategy for Preserving Privacy in Micro-Data Disclosure", Tables 6 to 9 and 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from foreknow.anonymizers.jump.order import HALF, STEPS, InOrder
from foreknow.jumping.runs import Case, Step
from foreknow.jumping.strategy import Strategy, distances_of
from foreknow.policy import Policy

_FORESEEN = (
    "judged by {} also against whoever knows it: that was counted before anything was published; "
    "the certificate, and foreknow verify, are about the release alone"
)


@dataclass(frozen=True, init=False)
class Naive(InOrder):
    """Release the first generalization whose permutation set has the property (Table 6).

    **Not safe**: whoever knows the algorithm rules out the tables that would have been released
    earlier. It is here to be compared with.

    Parameters
    ----------
    functions : list
        In the order in which they are tried: ``"AB|CD"``, lists of groups, or group numbers; for
        rows also lattice nodes (see `search`), by default those of `default_nodes`.
    property : Property
        `MaxRatio`, `Distinct`, `Entropy`, `Recursive`, `KAnonymity`, `Each`, or a callable.
    steps : int
        How many steps exact counting may take.

    Examples
    --------
    >>> from foreknow.jumping.properties import MaxRatio
    >>> naive = Naive(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = naive.run(patients)
    >>> run.released, run.disclosure_set(1)
    (1, <DisclosureSet: 4 of 36 tables, highest ratio 1>)
    """

    note: ClassVar[str] = (
        "not judged against whoever knows the method: Naive is not safe from them; the "
        "certificate is about the release alone"
    )

    def notes(self, policy: Policy, seed: int | None) -> Sequence[str]:
        """What a reader of a release should know, whatever the property is."""
        return (self.note,)

    def _strategy(self) -> Strategy:
        return Strategy("naive", self.property, (1,) * len(self._given))

    def _walk(self, case: Case) -> tuple[int | None, list[Step]]:
        path: list[Step] = []
        for i in range(len(case.functions)):
            safe = case.permutation_safe(i)
            path.append((i, "permutation", safe))
            if safe:
                return i, path
        return None, path


@dataclass(frozen=True, init=False)
class Safe(InOrder):
    """Release the first generalization whose disclosure set has the property (Tables 7 and 8).

    What is released is safe against those who know it: it is judged by what they can tell. When
    *nothing* is released, that can tell them somebody's value: look at `Run.nothing_set`. It tells
    nothing where they know no more than the domain of the values, and the property treats all
    values alike.

    A disclosure set is about one function. With a property that is not convex, such as a
    callable, functions that group people alike are refused for the rows of a table, since a
    release does not tell which of them made it; `run` takes `Run.released` to be published.

    Parameters
    ----------
    functions, property, steps
        As for `Naive`.

    Examples
    --------
    >>> from foreknow.jumping.properties import MaxRatio
    >>> safe = Safe(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = safe.run(patients)
    >>> run.released, run.disclosure_set()
    (2, <DisclosureSet: 8 of 24 tables, highest ratio 1/2>)
    """

    note: ClassVar[str] = _FORESEEN.format("Safe")

    def _strategy(self) -> Strategy:
        return Strategy("safe", self.property, (1,) * len(self._given))

    def _walk(self, case: Case) -> tuple[int | None, list[Step]]:
        path: list[Step] = []
        for i in range(len(case.functions)):
            # Lemma 3: no subset of an unsafe permutation set is safe, if the property is convex.
            hopeless = self.property.convex and not case.permutation_safe(i)
            safe = not hopeless and self.disclosure_safe(case, i)
            path.append((i, "disclosure", safe))
            if safe:
                return i, path
        return None, path


@dataclass(frozen=True, init=False)
class Jump(InOrder):
    """The k-jump algorithms: jump on where only the disclosure set is not safe (Tables 9 and 13).

    What any of them releases is safe against those who know it, distances included. Which of them
    releases more depends on the table. What is said of `Safe` about *nothing*, and about
    properties that are not convex, is true of these, too.

    Parameters
    ----------
    functions, property, steps
        As for `Naive`; a function may occur several times.
    distances : int or sequence of int
        How far to jump from each function whose permutation set is safe and whose disclosure set
        is not. The first never matters, nor how far a jump goes past the last function. Counted
        from 0, as everywhere in code; reports call the first function g1.

    Examples
    --------
    >>> from foreknow.jumping.properties import MaxRatio
    >>> jump = Jump(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], distances=2, property=MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = jump.run(patients)
    >>> print(run.report)
    permutation set of g1 = AB|CD|EF: not safe
    permutation set of g2 = ABC|DEF: safe
    disclosure set of g2 = ABC|DEF: not safe
    nothing is released
    """

    note: ClassVar[str] = _FORESEEN.format("Jump")

    distances: int | tuple[int, ...]

    def __init__(
        self,
        functions: Sequence[Any] | None = None,
        distances: int | Sequence[int] = 1,
        property: Any = HALF,
        *,
        steps: int = STEPS,
    ) -> None:
        super().__init__(functions, property, steps=steps)
        object.__setattr__(self, "distances", self._distances(distances))

    def _distances(self, given: int | Sequence[int]) -> int | tuple[int, ...]:
        """One distance per function, where functions are known; or else as given."""
        if self.functions is not None:
            return distances_of(given, len(self.functions))
        if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str):
            return distances_of(given, len(given) if np.ndim(given) == 1 else 1)
        return distances_of(given, 1)[0]

    def _check(self) -> None:
        object.__setattr__(self, "distances", self._distances(self.distances))

    def _strategy(self) -> Strategy:
        return Strategy("jump", self.property, distances_of(self.distances, len(self._given)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        given = self.distances
        return {**super().to_dict(), "distances": given if isinstance(given, int) else list(given)}

    def _walk(self, case: Case) -> tuple[int | None, list[Step]]:
        path: list[Step] = []
        strategy = self._strategy()
        i = 0
        while i < len(case.functions):
            safe = case.permutation_safe(i)
            path.append((i, "permutation", safe))
            if not safe:
                i += 1
                continue
            safe = self.disclosure_safe(case, i)
            path.append((i, "disclosure", safe))
            if safe:
                return i, path
            i = strategy.after(i)
        return None, path
