"""Naive, safe and k-jump algorithms: the first generalization that stays safe when that is public.

"k-Jump Strategy for Preserving Privacy in Micro-Data Disclosure", Tables 6 to 9 and 13.
"""

from __future__ import annotations

import builtins
import copy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from foreknow.criteria.properties import MaxRatio, Property, as_property
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError, PolicyError, UnsupportedError
from foreknow.methods.jump.block_counts import BeyondReach
from foreknow.methods.jump.functions import Function
from foreknow.methods.jump.nodes import (
    at_nodes,
    default_nodes,
    function_text,
    least_group,
    read_function,
    treats_alike,
)
from foreknow.methods.jump.policy_property import property_of
from foreknow.methods.jump.result import JumpResult, refuse_lookalikes
from foreknow.methods.jump.runs import Case, Run, Step, case_of, checked_place, walked
from foreknow.methods.jump.sampling import EstimatedSet, estimate
from foreknow.methods.jump.strategy import Strategy, distances_of
from foreknow.methods.protocol import Grouping, Traits
from foreknow.policy.policy import Policy
from foreknow.settings import Amount, FromOne, Settings

STEPS = 2_000_000
ESTIMATE_STEPS = 5_000
HALF = MaxRatio("1/2")


def read_functions(given: Any) -> tuple[Function, ...]:
    """Functions as users give them, in order."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InputError("functions is a list, in the order in which they are tried")
    if not given:
        raise InputError("there are no functions to try")
    return tuple(read_function(one) for one in given)


_Level = Amount | Literal["*"]


class InOrderSettings(Settings):
    """``[publish.safe]`` in a policy file; the property is what the requirements say."""

    functions: Annotated[list[str | dict[str, _Level]], Field(min_length=1)] | None = None
    steps: FromOne = STEPS


class JumpSettings(InOrderSettings):
    """``[publish.jump]`` in a policy file."""

    distances: FromOne | list[FromOne] = 1


@dataclass(frozen=True, init=False)
class InOrder:
    """A public algorithm that tries functions in order; see `Naive`, `Safe` and `Jump`."""

    functions: tuple[Function, ...] | None
    property: Property
    steps: int
    note: ClassVar[str]
    settings: ClassVar[type[Settings]] = InOrderSettings

    def __init__(
        self, functions: Sequence[Any] | None = None, property: Any = HALF, *, steps: int = STEPS
    ) -> None:
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise InputError(f"steps is a whole number from 1, not {steps!r}")
        read = None if functions is None else read_functions(functions)
        object.__setattr__(self, "functions", read)
        object.__setattr__(self, "property", as_property(property))
        object.__setattr__(self, "steps", steps)

    def declared(self) -> Traits:
        """What each of the three declares."""
        return Traits(
            symmetric=self.symmetric,
            notes=self._notes,
            advice="another property may help",
            grouping=self.grouping,
        )

    def _strategy(self) -> Strategy:
        raise NotImplementedError

    def _walk(self, case: Case) -> tuple[int | None, list[Step]]:
        raise NotImplementedError

    @builtins.property
    def _given(self) -> tuple[Function, ...]:
        if self.functions is None:
            raise InputError(
                "functions is missing; it can be left out only for the rows of a Microdata"
            )
        return self.functions

    @builtins.property
    def symmetric(self) -> bool:
        """Whether it looks at quasi-identifiers alone, whatever the order of rows.

        Where all functions are lattice nodes, or groups of quasi-identifier values.
        """
        return self.functions is None or all(map(treats_alike, self.functions))

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
        found = walked(self._given, self._strategy(), table, self.steps, self._walk)
        case, released, path = found
        return Run(released, path, case, self._walk)

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
        if seed is not None and (
            isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0
        ):
            raise InputError(f"seed is a whole number from 0, not {seed!r}")
        place = checked_place(i, len(self._given))
        steps = min(self.steps, ESTIMATE_STEPS)
        case = case_of(self._given, self._strategy(), table, steps, fresh=True)
        return estimate(case, place, samples, None if seed is None else int(seed), confidence)

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group the rows of a table.

        Parameters
        ----------
        microdata : Microdata
            See `search`.
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
        BeyondReach
            As in `run`.
        """
        groups: IntArray = self.search(microdata, policy).groups
        return groups

    def grouping(
        self,
        microdata: Microdata,
        policy: Policy | None = None,
        seed: int | None = None,
        *,
        explain: bool = False,
    ) -> Grouping:
        """Group the rows of a table, to be written at the levels of the released function."""
        own = self.settled(microdata)
        found = own.search(microdata, policy).required()
        return Grouping(found.groups, found.floors, settled=own)

    def search(self, microdata: Microdata, policy: Policy | None = None) -> JumpResult:
        """Try the functions on the rows of a table.

        Parameters
        ----------
        microdata : Microdata
            With one sensitive value per person. Functions are lattice nodes of it
            (``"age=1, zip=*"``, mappings, or tuples of one level per quasi-identifier), groups of
            tuples of quasi-identifiers (``[[(21, "f"), (25, "f")], [(38, "m")]]``), or lists of
            the group of each row; by default those of `default_nodes`. People of equal
            quasi-identifiers are in one group.
        policy : Policy, optional
            Only its values are compared with those of the table.

        Raises
        ------
        BeyondReach
            As in `run`.
        UnsupportedError
            If the property is not convex, and readers may not be able to tell which function made
            a release: see `refuse_lookalikes`.
        """
        for requirement in policy.requirements if policy is not None else ():
            requirement.mask(microdata.values)
        own = self.settled(microdata)
        if own._strategy().kind != "naive":  # which claims nothing
            labelled = policy is not None and policy.options.form == "generalized"
            refuse_lookalikes(type(self).__name__, own._given, own.property, labelled)
        values = microdata.values
        table = [values[code] for code in microdata.sensitive_codes.tolist()]
        try:
            run = own.run(table)
        except BeyondReach as error:
            raise BeyondReach(
                f"{type(self).__name__} decides nothing of {microdata.name}: {error}. More steps "
                f"(steps = {10 * self.steps}) change no result; other functions, chosen because of "
                "this, would be a choice that depends on the table"
            ) from None
        return JumpResult(type(self).__name__, own._given, own.property, run, microdata)

    def settled(self, microdata: Microdata) -> Self:
        """The same for one table: functions by the names of their levels, or the default ones."""
        if microdata.schema.semantics != "single":
            raise UnsupportedError(
                f"{type(self).__name__} is about one sensitive value per person, not semantics "
                f"{microdata.schema.semantics!r}"
            )
        given = self.functions
        if given is None:
            least = least_group(self.property, microdata.n_people)
            given = tuple(map(Function.of, default_nodes(microdata.attributes, least)))
        own = copy.copy(self)
        object.__setattr__(own, "functions", at_nodes(given, microdata))
        own._check()
        return own

    @classmethod
    def from_settings(cls, given: Mapping[str, Any], policy: Policy) -> Self:
        """Make it of its table in a policy file, with the policy's requirements as property."""
        return cls(**{**given, "property": property_of(policy)})

    def _notes(self, policy: Policy, seed: int | None) -> Sequence[str]:
        """What a reader of a release should know."""
        with suppress(PolicyError):
            if self.property == property_of(policy):
                return (self.note,)
        return (
            f"{type(self).__name__} judged by a property of its own, {self.property!r}: the policy "
            "was held against the release alone, not against whoever knows the method",
        )

    def _check(self) -> None:
        """Check what depends on how many functions there are."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; functions that are no nodes only by their sizes."""
        functions = self.functions
        return {
            "functions": None if functions is None else [function_text(f) for f in functions],
            "property": repr(self.property),
            "steps": self.steps,
        }

    def disclosure_safe(self, case: Case, i: int) -> bool:
        """Whether the disclosure set of function i has the property."""
        try:
            return case.disclosure_safe(i)
        except BeyondReach as error:
            raise BeyondReach(
                f"what can be told from g{i + 1} = {case.functions[i]}, of {len(case.functions)} "
                f"functions: {error}"
            ) from None


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
    >>> from foreknow.criteria.properties import MaxRatio
    >>> naive = Naive(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = naive.run(patients)
    >>> run.released, run.disclosure_set(1)
    (1, <DisclosureSet: 4 of 36 tables, highest ratio 1>)
    """

    key: ClassVar[str] = "naive"
    note: ClassVar[str] = (
        "not judged against whoever knows the method: Naive is not safe from them; the "
        "certificate is about the release alone"
    )

    @classmethod
    def from_settings(cls, given: Mapping[str, Any], policy: Policy) -> Self:
        """Make it of its table in a policy file, with the policy's requirements as property."""
        return cls(**{**given, "property": property_of(policy)})

    def _notes(self, policy: Policy, seed: int | None) -> Sequence[str]:
        """What a reader of a release should know, whatever the property is."""
        return (self.note,)

    @builtins.property
    def traits(self) -> Traits:
        """See `InOrder.declared`."""
        return self.declared()

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
    >>> from foreknow.criteria.properties import MaxRatio
    >>> safe = Safe(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = safe.run(patients)
    >>> run.released, run.disclosure_set()
    (2, <DisclosureSet: 8 of 24 tables, highest ratio 1/2>)
    """

    key: ClassVar[str] = "safe"
    note: ClassVar[str] = _FORESEEN.format("Safe")

    @builtins.property
    def traits(self) -> Traits:
        """See `InOrder.declared`."""
        return self.declared()

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
    >>> from foreknow.criteria.properties import MaxRatio
    >>> jump = Jump(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], distances=2, property=MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = jump.run(patients)
    >>> print(run.report)
    permutation set of g1 = AB|CD|EF: not safe
    permutation set of g2 = ABC|DEF: safe
    disclosure set of g2 = ABC|DEF: not safe
    nothing is released
    """

    key: ClassVar[str] = "jump"
    settings: ClassVar[type[Settings]] = JumpSettings
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

    @builtins.property
    def traits(self) -> Traits:
        """See `InOrder.declared`."""
        return self.declared()

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
