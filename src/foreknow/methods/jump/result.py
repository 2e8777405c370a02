"""Jump result: which function of a table was released, and what tells that none was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from foreknow.criteria.properties import Property
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import NoSafeRelease, UnsupportedError
from foreknow.methods.jump.block_counts import BeyondReach
from foreknow.methods.jump.functions import Function
from foreknow.methods.jump.nodes import AtLevels, node_levels
from foreknow.methods.jump.runs import DisclosureSet, Run


@dataclass(frozen=True)
class JumpResult:
    """What `Naive`, `Safe` or `Jump` did with the rows of a table.

    Its run is for the owner only: the way to a release tells more than the release.

    Attributes
    ----------
    name : str
        Of the algorithm.
    functions : tuple of Function
    judged_by : Property
    run : Run
        `Run.released` is the function, from 0; None if nothing is released.
    """

    name: str
    functions: tuple[Function, ...]
    judged_by: Property
    run: Run
    _microdata: Microdata = field(repr=False)

    @property
    def released(self) -> Function | None:
        """The function that is released."""
        return None if self.run.released is None else self.functions[self.run.released]

    @property
    def groups(self) -> IntArray:
        """Group of each row of the source; -1 for rows that are left out.

        Raises
        ------
        NoSafeRelease
            If nothing is released.
        """
        if self.released is None:
            raise NoSafeRelease(
                f"{self._nothing()}. That can tell something, too: see Run.nothing_set, of "
                "search(microdata).run"
            )
        return self._microdata.rows_of(np.array(self.released.numbers, dtype=np.int64))

    @property
    def levels(self) -> dict[str, int] | None:
        """The released level of each quasi-identifier; None if the function is no node."""
        return None if self.released is None else node_levels(self.released, self._microdata)

    @property
    def floors(self) -> dict[str, IntArray] | None:
        """Level of each group along each quasi-identifier, to write it at."""
        levels = self.levels
        if levels is None:
            return None
        n_groups = int(self.groups.max()) + 1
        return {name: np.full(n_groups, level) for name, level in levels.items()}

    def required(self) -> JumpResult:
        """Itself, if anything is released.

        Raises
        ------
        NoSafeRelease
            Which also says what that tells whoever knows the method.
        """
        if self.released is None:
            raise NoSafeRelease(f"{self._nothing()}. {self._what_nothing_tells()}")
        return self

    def _nothing(self) -> str:
        return (
            f"{self.name} releases nothing of {self._microdata.name}: none of the "
            f"{len(self.functions)} functions that it comes to has the property {self.judged_by!r}"
        )

    def _what_nothing_tells(self) -> str:
        who = "Whoever learns this, and knows the method and how often each value occurs,"
        try:
            seen = self.run.nothing_set()
        except BeyondReach as error:
            return f"{who} may learn from it; how much was not counted: {error}"
        keeps = "keeps" if self._holds(seen) else "does not keep"
        return (
            f"{who} can be sure of somebody's value with {seen.max_ratio}, which {keeps} that "
            "property. Other functions or distances, chosen because of this, are a choice that "
            "they can foresee"
        )

    def _holds(self, seen: DisclosureSet) -> bool:
        """Whether everybody's chances have the property, in one group of everybody."""
        of, people = self.judged_by, len(seen.marginals)
        return all(
            of.allows(
                [(of.colour(v), int(p * seen.size)) for v, p in row.items()], seen.size, people
            )
            for row in seen.marginals.values()
        )


def refuse_lookalikes(
    name: str, functions: Sequence[Function], judged_by: Property, labelled: bool
) -> None:
    """Refuse functions whose releases may look alike, if the property is not known to be convex.

    A disclosure set is about one function. Whoever cannot tell which of several functions made a
    release is left with the tables of all of them: a mixture of sets that each have the property.
    It has the property, too, if that is convex; otherwise it may not.

    Parameters
    ----------
    name : str
        Of the algorithm.
    functions : sequence of Function
        With the group of each person.
    judged_by : Property
    labelled : bool
        Whether groups are published by labels alone. Those of lattice nodes tell who is in which
        group; those of other groups may be equal where the groups are not.

    Raises
    ------
    UnsupportedError
        Which names the functions.

    Examples
    --------
    >>> from foreknow.criteria.properties import Each
    >>> twice = [Function(numbers=(0, 0, 1, 1)), Function(numbers=(0, 0, 1, 1))]
    >>> refuse_lookalikes("Jump", twice, Each(lambda shares: len(shares) > 1), False)
    Traceback (most recent call last):
        ...
    foreknow.errors.UnsupportedError: Jump: g1 and g2 group people alike, so that a release does
    not tell which of them made it; with Each(...), which is not known to be convex, it might then
    tell more than was judged. Keep one of the two, or take a property that is convex
    """
    if judged_by.convex:
        return
    why = (
        f"with {judged_by!r}, which is not known to be convex, it might then tell more than was "
        "judged."
    )
    known: dict[tuple[int, ...] | None, int] = {}
    for i, function in enumerate(functions):
        j = known.setdefault(function.numbers, i)
        if j != i:
            raise UnsupportedError(
                f"{name}: g{j + 1} and g{i + 1} group people alike, so that a release does not "
                f"tell which of them made it; {why} Keep one of the two, or take a property that "
                "is convex"
            )
        if labelled and not isinstance(function, AtLevels):
            raise UnsupportedError(
                f"{name}: the labels of g{i + 1} = {function} may not tell who is in which group; "
                f"{why} Take lattice nodes, form = 'bucketized', or a property that is convex"
            )
