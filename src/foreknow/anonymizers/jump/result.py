"""Jump result: which function of a table was released, and what tells that none was."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foreknow.anonymizers.jump.nodes import node_levels
from foreknow.errors import NoSafeRelease
from foreknow.jumping.dealing import BeyondReach
from foreknow.jumping.functions import Function
from foreknow.jumping.properties import Property
from foreknow.jumping.runs import DisclosureSet, Run
from foreknow.microdata import Microdata
from foreknow.sparse import IntArray


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
