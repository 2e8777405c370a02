"""Anatomy: groups of l people with l different sensitive values, drawn at random.

Xiao and Tao, "Anatomy: Simple and Effective Privacy Preservation", VLDB 2006.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from foreknow.anonymizers.anatomy.chance import chance_of_anatomy
from foreknow.anonymizers.anatomy.rounds import rounds_of
from foreknow.anonymizers.dealt_chance import bags_of, groups_of_people
from foreknow.anonymizers.lots import generator, note_of_boxes, notes_of_seed
from foreknow.errors import InputError, NoSafeRelease, UnsupportedError
from foreknow.frames.columns import Codes
from foreknow.labels import Labels
from foreknow.microdata import Microdata
from foreknow.policy import Policy
from foreknow.sparse import IntArray

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Anatomy:
    """The best-known bucketization.

    While there are l different values left, one person each is drawn at random from those of the
    l most frequent remaining values: they make a group. The fewer than l people who are left in
    the end each join a group, at random, that lacks their value. So nobody in a group shares
    their value with another, and each value has at most a share 1/l of its group.

    It looks at sensitive values only, not at quasi-identifiers: publish it in the bucketized
    form. And it looks at no policy: unlike other methods, it does not make a release safe from
    what the policy requires. `publish` refuses a release that is not.

    Parameters
    ----------
    l : int
        From 2.

    Notes
    -----
    Randomness comes from the system's entropy unless a seed is given. Whoever knows the seed can
    repeat the draws and learns who has what: give one in tests only.

    Examples
    --------
    >>> from foreknow import sample
    >>> policy = Policy.load(sample.policy_path())
    >>> microdata = Microdata(sample.table_path(), policy.schema)
    >>> groups = Anatomy(l=3).partition(microdata, seed=1)
    >>> int(microdata.counts(groups).counts.max())
    1
    """

    l: int = 4  # noqa: E741

    def __post_init__(self) -> None:
        if isinstance(self.l, bool) or not isinstance(self.l, int) or self.l < 2:
            raise InputError(f"Anatomy: l must be a whole number from 2, not {self.l!r}")

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group the rows of a table.

        Parameters
        ----------
        microdata : Microdata
        policy : Policy, optional
            Ignored: the method goes by its l alone.
        seed : int, optional
            From the system's entropy when left out.

        Returns
        -------
        int64 array, shape (rows,)
            The group of each row in the source's order, from 0; -1 for a row that is left out
            because its sensitive value is missing.

        Raises
        ------
        NoSafeRelease
            If a value is more frequent than one in l, or there are fewer than l people.
        UnsupportedError
            If a person may have several values.
        InputError
            If the seed is no whole number from 0.
        """
        codes, counts = _codes(microdata)
        _require_eligible(counts, self.l, microdata.values)
        random = generator(seed, "Anatomy")
        # Everybody by value, in random order within each.
        people = np.argsort(codes, kind="stable")
        ends = np.cumsum(counts)
        for start, end in zip((ends - counts).tolist(), ends.tolist(), strict=True):
            random.shuffle(people[start:end])
        rounds = rounds_of(counts, self.l)
        n_groups = len(rounds) // self.l
        left = np.flatnonzero(rounds < 0)
        _log.info("%d groups of %d, %d people left to join them", n_groups, self.l, len(left))
        for person in left.tolist():
            value = int(np.searchsorted(ends, person, "right"))
            own = rounds[ends[value] - counts[value] : ends[value]]
            rounds[person] = _draw_other(np.sort(own[own >= 0]), n_groups, random)
        groups = np.empty(len(rounds), dtype=np.int64)
        groups[people] = rounds
        return microdata.rows_of(groups)

    advice: ClassVar[str] = "a larger l may help"

    def notes(self, policy: Policy, seed: int | None) -> Sequence[str]:
        """What a reader of a release should know."""
        boxes = (note_of_boxes(self.l),) if policy.options.form == "generalized" else ()
        return (*boxes, *notes_of_seed(seed))

    def chance(self, microdata: Microdata, policy: Policy | None, groups: Any) -> Fraction:
        """How probable it is that these groups are made of a table, over all secret draws.

        Parameters
        ----------
        microdata : Microdata
        policy : Policy, optional
            Ignored.
        groups : int array, shape (rows,)
            The group of each row, whatever the groups are called.

        Returns
        -------
        Fraction
            Exact at any size; 0 where nothing is published, too.

        Notes
        -----
        See `foreknow.anonymizers.anatomy.chance`; tested against every draw of small tables.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from foreknow.schema import Schema
        >>> rows = pa.table({"age": [1, 2, 3, 4], "disease": list("aabb")})
        >>> microdata = Microdata(rows, Schema(quasi_identifiers=["age"], sensitive="disease"))
        >>> Anatomy(l=2).chance(microdata, None, [0, 1, 0, 1])
        Fraction(1, 2)
        """
        codes, counts = _codes(microdata)
        own = groups_of_people(microdata, groups)
        if own is None or int(counts.max()) > len(codes) // self.l:
            return Fraction(0)
        return chance_of_anatomy(bags_of(codes, own), counts, self.l)

    @property
    def symmetric(self) -> bool:
        """Always: it looks at sensitive values only, and treats who has them alike."""
        return True

    @property
    def tells_frequencies_only(self) -> bool:
        """Always: the posterior of everybody is the frequency in their group.

        For whoever sees the groups; not for boxes of several groups that look alike.
        """
        return True


def _codes(microdata: Microdata) -> tuple[Codes, IntArray]:
    """Everybody's value, and how often each occurs."""
    semantics = microdata.schema.semantics
    if semantics != "single":
        raise UnsupportedError(
            f"Anatomy groups people by their one sensitive value; under semantics "
            f"{semantics!r} a person may have several: use Mondrian"
        )
    codes = microdata.sensitive_codes
    return codes, np.bincount(codes, minlength=len(microdata.values))


def _draw_other(taken: IntArray, n_groups: int, random: np.random.Generator) -> int:
    """Draw one of the groups that are not taken; `taken` is in increasing order."""
    place = int(random.integers(n_groups - len(taken)))
    # So many groups that are not taken come before each one that is.
    return place + int(np.searchsorted(taken - np.arange(len(taken)), place, "right"))


def _require_eligible(counts: IntArray, l: int, values: Labels) -> None:  # noqa: E741
    """Refuse a table in which a value is more frequent than one in l."""
    n_people = int(counts.sum())
    if l > n_people:
        raise NoSafeRelease(f"Anatomy: l = {l} exceeds the number of people, {n_people:,}")
    most = n_people // l
    above = np.flatnonzero(counts > most)
    if not len(above):
        return
    worst = int(above[np.argmax(counts[above])])
    count = int(counts[worst])
    others = f"; {len(above) - 1} more are too frequent as well" if len(above) > 1 else ""
    raise NoSafeRelease(
        f"Anatomy with l = {l} needs every value to be had by at most one in {l} people, here "
        f"{most} of {n_people}: {values[worst]!r} is had by {count}, which is {count - most} too "
        f"many{others}"
    )
