"""Naive, safe and k-jump algorithms: the first generalization that stays safe when that is public.

"k-Jump Strategy for Preserving Privacy in Micro-Data Disclosure", Tables 6 to 9, 13, 15 and 16.
"""

from __future__ import annotations

import builtins
import copy
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from foreknow.data.arrays import IntArray
from foreknow.data.microdata import Microdata
from foreknow.errors import BeyondReach, NoSafeRelease
from foreknow.features.more_methods.jump.disclosure_set import Strategy
from foreknow.features.more_methods.jump.functions import (
    Function,
    Person,
    Value,
    default_nodes,
    least_group,
    node_of,
    read_functions,
    with_numbers,
)
from foreknow.features.more_methods.jump.policy_property import property_of
from foreknow.features.more_methods.jump.properties import MaxRatio, Property, as_property
from foreknow.features.more_methods.jump.run import DisclosureSet, Run, walked
from foreknow.methods.proof import Proof
from foreknow.methods.protocol import OF_ITS_OWN, ONE_COLUMN, Grouper, Grouping, Traits
from foreknow.needs import require, several_values
from foreknow.numbers import whole_number
from foreknow.policy.policy import Policy
from foreknow_judge.errors import InputError, PolicyError, UnsupportedError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.policy.settings import Amount, FromOne, Settings

STEPS = 2_000_000
HALF = MaxRatio("1/2")
_MOST_FUNCTIONS = 12  # of a secret choice

_COUNTED = (
    "of all tables that the same release would be made of, the policy was judged before it was made"
)
_FORESEEN = (
    "judged by {} also against an adversary who knows it: that was counted before anything was "
    "published; "
    "the certificate, and foreknow verify, are about the release alone"
)


class InOrderSettings(Settings):
    """``[publish.safe]`` in a policy file; the property is what the requirements say."""

    functions: (
        Annotated[list[str | dict[str, Amount | Literal["*"]]], Field(min_length=1)] | None
    ) = None
    steps: FromOne = STEPS


class JumpSettings(InOrderSettings):
    """``[publish.jump]`` in a policy file."""

    distances: FromOne | list[FromOne] = 1


@dataclass(frozen=True, init=False)
class InOrder(Grouper):
    """A public algorithm that tries functions in order; see `Naive`, `Safe` and `Jump`."""

    key: ClassVar[str]
    _kind: ClassVar[Literal["naive", "safe", "jump"]]  # whatever a subclass is called
    note: ClassVar[str]
    settings: ClassVar[type[Settings]] = InOrderSettings

    functions: tuple[Function, ...] | None
    property: Property
    steps: int

    def __init__(
        self, functions: Sequence[Any] | None = None, property: Any = HALF, *, steps: int = STEPS
    ) -> None:
        """Read the functions (None: found for each table), the property, and the limit on steps."""
        parsed = None if functions is None else read_functions(functions)
        set_fields(self, functions=parsed)
        set_fields(self, property=as_property(property))
        set_fields(self, steps=whole_number(steps, "steps", 1))

    @builtins.property
    def symmetric(self) -> bool:
        """True if all functions look at quasi-identifiers alone, whatever the order of rows."""
        return self.functions is None or all(function.symmetric for function in self.functions)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; only the sizes of functions that are no lattice nodes."""
        functions = self.functions
        return {
            "functions": None if functions is None else [function.text for function in functions],
            "property": repr(self.property),
            "steps": self.steps,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], policy: Policy) -> Self:
        """Make it of its table in a policy file, with the policy's requirements as property."""
        return cls(**{**settings, "property": property_of(policy)})

    def run(self, table: Any) -> Run:
        """Run the algorithm on a table.

        Parameters
        ----------
        table : mapping of person to value, or sequence of values
            The people that the functions group. Without names they are 0, 1, 2, ...

        Raises
        ------
        BeyondReach
            If exact counting takes more than `steps` steps.
        """
        return walked(self.given, self._strategy(), table, self.steps)

    def grouping(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> Grouping:
        """Group the rows of a table, to be written at the levels of the released function."""
        return self.search(microdata, policy).grouping

    def explained(self, microdata: Microdata, policy: Policy | None, seed: int | None) -> Grouping:
        """Group the rows; if nothing is released, the error also says what that discloses."""
        return self.search(microdata, policy).required().grouping

    def search(self, microdata: Microdata, policy: Policy | None = None) -> JumpResult:
        """Try the functions on the rows of a table.

        Parameters
        ----------
        microdata : Microdata
            A table with one sensitive value per person. Functions are nodes of its lattice
            (``"age=1, zip=*"`` or mappings), or lists with the group of each row; default: a chain
            of nodes. People with equal quasi-identifiers are in one group.
        policy : Policy, optional
            Only its form matters: the algorithm judges by its own property.

        Raises
        ------
        BeyondReach
            See `run`.
        UnsupportedError
            If the property is not convex, and readers may be unable to tell which function made a
            release.
        """
        algorithm = self.settled(microdata)
        if self._kind != "naive":  # which claims nothing
            algorithm._refuse_lookalikes(policy is not None and policy.options.labelled)
        try:
            # Counting exactly can take too long: then the method decides nothing.
            run = algorithm.run(values_of(microdata))
        except BeyondReach as error:
            raise BeyondReach(
                f"{type(self).__name__} decides nothing of {microdata.name}: {error}. Nothing is "
                f"published. More steps (steps = {10 * self.steps}) change no result; other "
                "functions, chosen because of this, would be a choice that depends on the table"
            ) from None
        return JumpResult(algorithm, run, microdata)

    def settled(self, microdata: Microdata) -> Self:
        """A copy of the method for one table, with functions as groups of its people.

        They are the functions that were given, or else the default ones.
        """
        require(self, several_values(microdata.schema.semantics), ONE_COLUMN)
        functions = self.functions
        if functions is None:
            # Groups below this size can never have the property, so no default function has one.
            min_people = least_group(self.property, microdata.n_people)
            names = [attribute.name for attribute in microdata.attributes]
            nodes = default_nodes(microdata.attributes, min_people)
            levels_of_nodes = [tuple(zip(names, node, strict=True)) for node in nodes]
            functions = tuple([Function(levels=levels) for levels in levels_of_nodes])
        algorithm = copy.copy(self)
        set_fields(algorithm, functions=tuple([with_numbers(f, microdata) for f in functions]))
        algorithm._check()
        return algorithm

    @builtins.property
    def given(self) -> tuple[Function, ...]:
        """The functions, which must have been given."""
        if self.functions is None:
            raise InputError(
                "functions is missing; it can be left out only for the rows of a Microdata"
            )
        return self.functions

    def _check(self) -> None:
        """Check what depends on how many functions there are."""

    def _strategy(self) -> Strategy:
        return Strategy(self._kind, self.property)

    def _refuse_lookalikes(self, labelled: bool) -> None:
        """Refuse functions whose releases may look alike, if the property may not be convex.

        An adversary who cannot tell which of several functions made a release is left with a
        mixture of their disclosure sets. It has the property if that is convex; otherwise it may
        not. Groups that are published by labels alone (`labelled`) are known for nodes only.
        """
        if self.property.convex:
            return
        name, index_of = type(self).__name__, dict[tuple[int, ...] | None, int]()
        reason = (
            f"with {self.property!r}, which is not known to be convex, it might then disclose "
            "more than was judged."
        )
        # A second function with the same groups is the problem.
        for i, function in enumerate(self.given):
            j = index_of.setdefault(function.numbers, i)
            if j != i:
                raise UnsupportedError(
                    f"{name}: g{j + 1} and g{i + 1} group people alike, so that a release does not "
                    f"show which of them made it; {reason} Keep one of the two, or take a property "
                    "that is convex"
                )
            if labelled and function.levels is None:
                raise UnsupportedError(
                    f"{name}: the labels of g{i + 1} = {function.short} may not show who is in "
                    f"which group; {reason} Take lattice nodes, form = 'bucketized', or a property "
                    "that is convex"
                )

    def _traits(self) -> Traits:
        """The traits that the three methods declare."""
        return Traits(
            needs=ONE_COLUMN,
            symmetric=self.symmetric,
            proof=Proof(_COUNTED, "docs/methods/safe-and-jump.md", self._foresees),
            notes=self._notes,
            advice="another property may help",
            # Values and rows are named as they are; levels may be of cells.
            exact=() if all(function.levels for function in self.functions or ()) else None,
        )

    def _foresees(self, policy: Policy) -> bool:
        """True if disclosure sets were judged by what the policy requires."""
        with suppress(PolicyError):
            return self._kind != "naive" and self.property == property_of(policy)
        return False

    def _notes(self, policy: Policy, seed: int | None) -> Sequence[str]:
        """Notes for readers of a release."""
        if self._kind == "naive" or self._foresees(policy):
            return (self.note,)
        return (OF_ITS_OWN.format(type(self).__name__, repr(self.property)),)


@dataclass(frozen=True)
class JumpResult:
    """The run of a method on the rows of a table, for the owner only."""

    method: InOrder
    run: Run
    _microdata: Microdata = field(repr=False)

    @builtins.property
    def released(self) -> Function | None:
        """The function that is released."""
        return None if self.run.released is None else self.method.given[self.run.released]

    @builtins.property
    def groups(self) -> IntArray:
        """Group of each row of the source; -1 for rows that are left out."""
        if self.released is None:
            raise NoSafeRelease(
                f"{self._nothing()}. A refusal can disclose something: see Run.nothing_set, of "
                "search(microdata).run"
            )
        return self._microdata.rows_of(np.array(self.released.numbers, dtype=np.int64))

    @builtins.property
    def floors(self) -> dict[str, IntArray] | None:
        """Level of each group along each quasi-identifier; None if the function is no node."""
        if self.released is None or self.released.levels is None:
            return None
        # A node has one level for the whole table, so every group has the same.
        n_groups = max(self.released.numbers or ()) + 1
        names = [attribute.name for attribute in self._microdata.attributes]
        node = node_of(self.released, self._microdata)
        return {name: np.full(n_groups, level) for name, level in zip(names, node, strict=True)}

    @builtins.property
    def grouping(self) -> Grouping:
        """The groups, to be written at the levels of the released function."""
        return Grouping(self.groups, self.floors, method=self.method)

    def required(self) -> JumpResult:
        """Return this result if something was released; else raise `NoSafeRelease`.

        The error says what an adversary learns from the refusal.
        """
        if self.released is not None:
            return self
        adversary = (
            "An adversary who learns this, and knows the method and how often each value occurs,"
        )
        try:
            nothing_set = self.run.nothing_set()
        except BeyondReach as error:
            raise NoSafeRelease(
                f"{self._nothing()}. {adversary} may learn from it; how much was not counted: "
                f"{error}"
            ) from None
        # Judge the tables of which nothing is released as if everybody were one group.
        judged_property, people = self.method.property, len(nothing_set.marginals)
        is_kept, size = True, nothing_set.size
        for shares in nothing_set.marginals.values():
            row = []
            for value, share in shares.items():
                colour = judged_property.colour(value)
                row.append((colour, int(share * size)))
            is_kept = is_kept and judged_property.allows(row, size, people)
        raise NoSafeRelease(
            f"{self._nothing()}. {adversary} can be sure of someone's value with "
            f"{nothing_set.max_ratio}, which {'keeps' if is_kept else 'does not keep'} that "
            "property. Other functions or distances, chosen because of this, are a choice that "
            "they can foresee"
        )

    def _nothing(self) -> str:
        method = self.method
        return (
            f"{type(method).__name__} releases nothing of {self._microdata.name}: none of the "
            f"{len(method.given)} functions that it comes to has the property {method.property!r}"
        )


@dataclass(frozen=True, init=False)
class Naive(InOrder):
    """Not safe if adversaries know it: the first generalization that looks safe (Table 6).

    **Not safe**: an adversary who knows the algorithm rules out the tables that it would have
    generalized by an earlier function. Use it only for comparisons.

    Parameters
    ----------
    functions : list
        The generalizations, in the order in which they are tried: ``"AB|CD"``, lists of groups, or
        group numbers; for rows also lattice nodes (see `search`). The default for rows is a chain
        of nodes.
    property : Property
        `MaxRatio`, `Distinct`, `Entropy`, `Recursive`, `KAnonymity`, `Each`, or a callable.
    steps : int
        The most steps that exact counting may take.

    Examples
    --------
    >>> from foreknow.features.more_methods.jump.properties import MaxRatio
    >>> naive = Naive(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = naive.run(patients)
    >>> run.released, run.disclosure_set(1)
    (1, <DisclosureSet: 4 of 36 tables, highest ratio 1>)
    """

    key: ClassVar[str] = "naive"
    _kind = "naive"
    note: ClassVar[str] = (
        "not judged against an adversary who knows the method: Naive is not safe from them; the "
        "certificate is about the release alone"
    )
    traits = builtins.property(InOrder._traits)


@dataclass(frozen=True, init=False)
class Safe(InOrder):
    """The first generalization that is safe even if adversaries know the method (Tables 7 and 8).

    A release is safe against an adversary who knows this method, since it is judged by all that
    they can infer. When *nothing* is released, that can disclose a person's value, as
    `Run.nothing_set` shows. It discloses nothing if the adversary knows no more than the domain of
    the values, and the property treats all values alike.

    A disclosure set belongs to one function. If the property is not convex (such as a callable),
    functions that make the same groups are refused for the rows of a table, since a release does
    not say which of them made it; `run` assumes that `Run.released` is published.

    Parameters
    ----------
    functions, property, steps
        See `Naive`.

    Examples
    --------
    >>> from foreknow.features.more_methods.jump.properties import MaxRatio
    >>> safe = Safe(["AB|CD|EF", "ABC|DEF", "ABCD|EF"], MaxRatio("1/2"))
    >>> patients = dict(zip("ABCDEF", "flu cold cancer cancer headache toothache".split()))
    >>> run = safe.run(patients)
    >>> run.released, run.disclosure_set()
    (2, <DisclosureSet: 8 of 24 tables, highest ratio 1/2>)
    """

    key: ClassVar[str] = "safe"
    _kind = "safe"
    note: ClassVar[str] = _FORESEEN.format("Safe")
    traits = builtins.property(InOrder._traits)


@dataclass(frozen=True, init=False)
class Jump(InOrder):
    """Like safe, but skips some generalizations after one that only looks safe (Tables 9 and 13).

    The release is safe against an adversary who knows the algorithm and its distances. Which
    distances release more depends on the table. The remarks on `Safe` about *nothing*, and about
    properties that are not convex, apply here, too.

    Parameters
    ----------
    functions, property, steps
        See `Naive`; a function may occur several times.
    distances : int or sequence of int
        How far to jump from each function whose permutation set is safe and whose disclosure set
        is not. The first distance never matters, nor how far a jump goes past the last function.
        Functions are counted from 0, as everywhere in code; reports call the first g1.

    Examples
    --------
    >>> from foreknow.features.more_methods.jump.properties import MaxRatio
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
    _kind = "jump"
    settings: ClassVar[type[Settings]] = JumpSettings
    note: ClassVar[str] = _FORESEEN.format("Jump")
    traits = builtins.property(InOrder._traits)

    distances: int | tuple[int, ...]

    def __init__(
        self,
        functions: Sequence[Any] | None = None,
        distances: int | Sequence[int] = 1,
        property: Any = HALF,
        *,
        steps: int = STEPS,
    ) -> None:
        """Take the settings; distances are checked as far as the number of functions is known."""
        super().__init__(functions, property, steps=steps)
        set_fields(self, distances=distances)
        self._check()

    def _check(self) -> None:
        """Read the distances: one per function, where functions are known; or else as given."""
        n = None if self.functions is None else len(self.functions)
        set_fields(self, distances=_read_distances(self.distances, n))

    def _strategy(self) -> Strategy:
        n, distances = len(self.given), self.distances
        # One distance for all functions is written as one number.
        return Strategy(
            "jump", self.property, (distances,) * n if isinstance(distances, int) else distances
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        distances = self.distances
        return {
            **super().to_dict(),
            "distances": distances if isinstance(distances, int) else list(distances),
        }


def values_of(microdata: Microdata) -> list[Value]:
    """Everybody's sensitive value."""
    return [microdata.values[code] for code in microdata.sensitive_codes.tolist()]


def _read_distances(source: Any, n: int | None) -> int | tuple[int, ...]:
    """One distance per function, from a number or a vector; as given where n is not known.

    >>> _read_distances(2, 3), _read_distances([1, 1, 2], 3), _read_distances(2, None)
    ((2, 2, 2), (1, 1, 2), 2)
    """
    if isinstance(source, np.ndarray) and source.ndim != 1:
        raise InputError(f"jump distances have one dimension, not the shape {source.shape}")
    if isinstance(source, str) or not isinstance(source, (Sequence, np.ndarray)):
        # A single number, for all functions.
        distance = whole_number(source, "a jump distance", 1)
        return distance if n is None else (distance,) * n
    distances = tuple([whole_number(k, "a jump distance", 1) for k in source])
    if n is not None and len(distances) != n:
        raise InputError(f"{len(distances)} jump distances for {n} functions: give one for each")
    return distances


# ---- a secret choice: a bad example (section 7, Theorem 8) ---------------------------------------


@dataclass(frozen=True)
class SecretRun:
    """The function released (None: nothing); the secret; the disclosure set under each secret."""

    released: int | None
    chosen: tuple[int, ...]
    sets: Mapping[tuple[int, ...], DisclosureSet] = field(repr=False)

    def posterior(self) -> dict[Person, dict[Value, Fraction]]:
        """The posteriors if every secret, and every table of its set, is equally likely."""
        return self._mixed(lambda disclosure_set: disclosure_set.size)

    def averaged(self) -> dict[Person, dict[Value, Fraction]]:
        """The paper's average: every secret alike, as no rational adversary believes."""
        return self._mixed(lambda disclosure_set: 1)

    @property
    def max_ratio(self) -> Fraction:
        """The highest posterior of any person and value, also where nothing was released."""
        return max(max(row.values()) for row in self.posterior().values())

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return {
            "released": self.released,
            "chosen": list(self.chosen),
            "secrets": len(self.sets),
            "max ratio": str(self.max_ratio),
        }

    def _mixed(self, weight: Callable[[DisclosureSet], int]) -> dict[Person, dict[Value, Fraction]]:
        """The chance of each value for each person, as a weighted mean over the secrets.

        `weight` gives the weight of a secret's disclosure set: the tables that remain under that
        secret.
        """
        total = sum(map(weight, self.sets.values()))
        mixture: dict[Person, dict[Value, Fraction]] = {}
        for disclosure_set in self.sets.values():
            for person, row in disclosure_set.marginals.items():
                shares_of_person = mixture.setdefault(person, {})
                for value, share in row.items():
                    shares_of_person[value] = (
                        shares_of_person.get(value, Fraction(0))
                        + share * weight(disclosure_set) / total
                    )
        return mixture


@dataclass(frozen=True, init=False)
class SecretChoice(Grouper):
    """Run the naive algorithm on a secret subset of the functions (Tables 15 and 16).

    **Not safe** (Theorem 8): an adversary who knows the functions, but not the secret subset, can
    be surer of a person's value than the property allows; see `SecretRun.posterior`. Use `Jump`,
    which needs no secret.

    Parameters
    ----------
    functions, property, steps
        See `Naive`; 2 to 12 functions.

    Examples
    --------
    >>> from foreknow.features.more_methods.jump.properties import MaxRatio
    >>> functions = ["AB|CDEFGHI", "AC|BDEFGHI", "BC|ADEFGHI", "ABC|DEFGHI", "ABCDEFGHI"]
    >>> table = dict(zip("ABCDEFGHI", ["C0", "C0", "C0", "C1", "C2", "C3", "C4", "C5", "C6"]))
    >>> run = SecretChoice(functions, MaxRatio("1/2")).run(table, chosen=[3, 4])
    >>> run.released, run.posterior()["A"]["C0"], run.averaged()["A"]["C0"]
    (4, Fraction(17, 23), Fraction(115, 133))
    """

    functions: tuple[Function, ...]
    property: Property
    steps: int

    def __init__(
        self, functions: Sequence[Any], property: Any = HALF, *, steps: int = STEPS
    ) -> None:
        """Take the settings of the naive method, with 2 to 12 functions to choose from."""
        naive = Naive(functions, property, steps=steps)
        if not 2 <= len(naive.given) <= _MOST_FUNCTIONS:
            raise InputError(f"a secret choice is among 2 to {_MOST_FUNCTIONS} functions")
        set_fields(self, functions=naive.given)
        set_fields(self, property=naive.property)
        set_fields(self, steps=naive.steps)

    @builtins.property
    def symmetric(self) -> bool:
        """Same as `Naive.symmetric`."""
        return self._naive().symmetric

    @builtins.property
    def traits(self) -> Traits:
        """The traits of the method, which cannot explain its choice."""
        return Traits(symmetric=self.symmetric, random=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, as in `Naive.to_dict`."""
        return self._naive().to_dict()

    def secrets(self) -> list[tuple[int, ...]]:
        """Every subset of at least two functions; each is chosen with the same probability."""
        n = len(self.functions)
        secrets: list[tuple[int, ...]] = []
        for size in range(2, n + 1):
            secrets += combinations(range(n), size)
        return secrets

    def run(
        self, table: Any, chosen: Sequence[int] | None = None, seed: int | None = None
    ) -> SecretRun:
        """Run it on a table, as `Naive.run`, with the secret `chosen` or a random one.

        The result has, for each secret that an adversary must consider, the tables that remain.
        """
        secret = self._drawn(seed) if chosen is None else tuple(sorted(set(chosen)))
        if secret not in self.secrets():
            raise InputError(
                f"the secret is at least two of the functions 0 to {len(self.functions) - 1}, "
                f"not {list(chosen or ())}"
            )
        # The naive method sees the chosen functions only: count back to all functions.
        position = self._naive(secret).run(table).released
        released = None if position is None else secret[position]
        sets = {}
        for choice in self.secrets():
            # The secret contains the function that was released, which the adversary sees.
            if released is not None and released not in choice:
                continue
            run = self._naive(choice).run(table)
            if released is None:
                disclosure_set = run.nothing_set()
            else:
                disclosure_set = run.disclosure_set(choice.index(released))
            # A secret without a possible table is ruled out.
            if disclosure_set.size:
                sets[choice] = disclosure_set
        return SecretRun(released, secret, sets)

    def grouping(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> Grouping:
        """Group the rows of a table with a random secret, as `Naive` does."""
        return self._naive(self._drawn(seed)).grouping(microdata, policy)

    def explained(self, microdata: Microdata, policy: Policy | None, seed: int | None) -> Grouping:
        """Refuse, as `publish` asks for it."""
        raise UnsupportedError(
            "SecretChoice is not safe: it is kept as a bad example, to be attacked, not to be "
            "published; take Jump, of which nothing needs to be secret"
        )

    def _drawn(self, seed: int | None) -> tuple[int, ...]:
        generator = random.SystemRandom() if seed is None else random.Random(seed)
        return generator.choice(self.secrets())

    def _naive(self, secret: Sequence[int] | None = None) -> Naive:
        functions = self.functions if secret is None else [self.functions[i] for i in secret]
        return Naive(functions, self.property, steps=self.steps)
