"""Runs of a method on possible worlds: what it makes of each, or how likely it makes a release."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from foreknow.anonymizers.art import ART
from foreknow.anonymizers.fulldomain import FullDomain
from foreknow.anonymizers.mondrian import Mondrian
from foreknow.attacking.foreseeing import Foresight
from foreknow.attacking.seeing import Reader, Seen, numbered
from foreknow.attacking.worlds import Codes
from foreknow.errors import DataError, ForeknowError, InputError, NoSafeRelease, UnsupportedError
from foreknow.frames.dealing import with_column_from
from foreknow.methods import settings_of as plain_settings
from foreknow.microdata import Microdata
from foreknow.policy import Policy
from foreknow.sparse import IntArray

Weight: TypeAlias = "int | Fraction"

# A method without chances or seeds is tried again on its table, and twice on some others, to see
# that it is not random.
_TRIED, _OTHERS = 3, 6
# Worlds whose weight is remembered.
_MOST_KNOWN = 500_000


class Runs:
    """A method that can be run on any world of a table; frozen but for what it remembers.

    Parameters
    ----------
    microdata : Microdata
        The table; of its worlds, only the sensitive values differ.
    method : anonymizer or callable
    policy : Policy, optional
    seeds : sequence of int, optional
        The method is run with each; the adversary takes all for equally likely.
        A method that states its chances, too, is then no more than its runs with these.
    symmetric : bool, optional
        Whether it treats rows alike; known of our own methods. One that draws lots does so over
        all lots, not with a seed.
    labelled : bool
        Whether labels are seen too, where the policy publishes some.

    Attributes
    ----------
    made : int
        How often the method was run, or it was foreseen what a run would make.
    frequencies : bool
        Whether a proof says that the posterior of everybody is the frequency in their group: the
        method's attribute ``tells_frequencies_only``, unless seeds are given.
    """

    def __init__(
        self,
        microdata: Microdata,
        method: Any,
        policy: Policy | None,
        seeds: Sequence[int] | None = None,
        symmetric: bool | None = None,
        labelled: bool = True,
    ) -> None:
        _check(microdata, method, policy)
        self.microdata = microdata
        self.method = method
        self.name = name_of(method)
        self.seeds = None if seeds is None else _checked(seeds)
        stated: Callable[..., Any] | None = getattr(method, "chance", None)
        self._chance = stated if seeds is None else None
        alike = is_symmetric(method) and not (stated and seeds is not None)
        self.symmetric = alike if symmetric is None else symmetric
        self.frequencies = seeds is None and getattr(method, "tells_frequencies_only", None) is True
        self.made = 0
        self._policy = policy
        self._known: dict[bytes, Weight] = {}
        styles = self._styles() if labelled else None
        self._reader = Reader(microdata, styles)
        self._foresight = Foresight(method, microdata, policy, styles is not None)
        self._rows: tuple[Any, IntArray] | None = None

    @property
    def random(self) -> bool:
        """Whether the method makes one of several releases of a table."""
        return self._chance is not None or (self.seeds is not None and len(self.seeds) > 1)

    def make(self, codes: Codes, seed: int | None = None) -> Seen | None:
        """What a reader sees of the release that is made of a world; None if there is none."""
        self.made += 1
        try:
            return self._made(codes, seed)
        except NoSafeRelease:
            return None

    def make_first(self, codes: Codes, seed: int | None = None) -> Seen:
        """The release that is made of the true table, to be attacked.

        Parameters
        ----------
        codes : int array
        seed : int, optional
            What lots are drawn with, of a method that states its chances.

        Raises
        ------
        NoSafeRelease
            If the method makes none.
        UnsupportedError
            If the method is random and says neither chances nor seeds.
        """
        if self.seeds is not None:
            seed = self.seeds[0]
        elif self._chance is None:
            seed = None
        seen = self._made(codes, seed)
        if seen is None:
            raise NoSafeRelease(f"{self.name} publishes nothing of {self.microdata.name}")
        self._refuse_random(codes, seen)
        return seen

    def seen_as(self, groups: IntArray, codes: Codes | None = None) -> Seen:
        """What a reader sees of groups that were made before.

        Parameters
        ----------
        groups : int64 array, shape (people,)
        codes : int array, optional
            The true world: what is published beside the groups is then what the method publishes
            there. Left out, only the groups are compared.

        Raises
        ------
        DataError
            If the method does not make them of the true world.
        """
        self._refuse_random(self.microdata.sensitive_codes if codes is None else codes)
        given = self._reader.see(groups)
        if codes is None or self._chance is not None:
            return given
        for seed in self.seeds or (None,):
            seen = self.make(codes, seed)
            if seen is not None and np.array_equal(seen.groups, given.groups):
                return seen
        raise DataError(
            f"{self.name} does not make these groups of {self.microdata.name}; leave groups out "
            "to attack what it makes"
        )

    def weight(self, codes: Codes, seen: Seen) -> Weight:
        """How probable it is that the method makes a release, if a world is the true table."""
        key = hashlib.blake2b(codes.tobytes(), digest_size=16).digest()
        found = self._known.get(key)
        if found is None:
            found = self._weigh(codes, seen)
            if len(self._known) < _MOST_KNOWN:
                self._known[key] = found
        return found

    def _weigh(self, codes: Codes, seen: Seen) -> Weight:
        if self._chance is not None:
            self.made += 1
            world = self.microdata.dealt(codes)
            rows = self.microdata.rows_of(seen.as_made)
            try:
                found = self._chance(world, self._policy, rows)
            except NoSafeRelease:
                return 0
            try:
                chance = Fraction(found)
            except (TypeError, ValueError) as error:
                raise InputError(f"{self.name}.chance gives no number: {error}") from error
            if not 0 <= chance <= 1:
                raise InputError(f"{self.name}.chance gives {found}, which is no probability")
            return chance
        if self.seeds is None:
            same = self._foresight.same(codes, seen)
            if same is not None:
                self.made += 1
                return int(same)
            same = self.make(codes) == seen
            if same:
                self._foresight.learn(codes, seen)
            return int(same)
        hits = sum(self.make(codes, seed) == seen for seed in self.seeds)
        return Fraction(hits, len(self.seeds))

    def _refuse_random(self, codes: Codes, seen: Seen | None = None) -> None:
        """Try the method on a table again, and twice on some others; lots are known of ours."""
        if self._chance is not None or self.seeds is not None or is_ours(self.method):
            return
        if isinstance(self.method, ART):
            raise UnsupportedError(
                f"{self.name} breaks ties by lot, and the chances of that are not known: say "
                "seeds = those that it may draw, each as likely; one seed is a seed that everybody "
                "knows"
            )
        random = np.random.default_rng(0)
        others = [random.permutation(codes) for _ in range(_OTHERS)]
        seen = self.make(codes) if seen is None else seen
        again = [self.make(codes) for _ in range(_TRIED)]
        twice = [self.make(other) == self.make(other) for other in others]
        if any(made != seen for made in again) or not all(twice):
            raise UnsupportedError(
                f"{self.name} makes another release each time; give it a method "
                "chance(microdata, policy, groups), or seeds = the seeds it may draw"
            )

    def _styles(self) -> Mapping[str, str] | None:
        """How groups are labelled; None where they are not, or chances are of groups alone."""
        policy = self._policy
        if policy is None or self._chance is not None or not hasattr(self.method, "partition"):
            return None
        return policy.options.labels if policy.options.form == "generalized" else None

    # ---- one run -------------------------------------------------------------------------------

    def _made(self, codes: Codes, seed: int | None) -> Seen | None:
        if isinstance(self.method, FullDomain):
            found = self.method.search(self.microdata.dealt(codes), self._policy)
            return self._reader.see(self._of_people(found.groups), found.floors)
        if hasattr(self.method, "partition"):
            groups = self.method.partition(self.microdata.dealt(codes), self._policy, seed=seed)
            return self._reader.see(self._of_people(np.asarray(groups)))
        given = self._called(codes)
        published = None
        if isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "__len__"):
            given, published = given
        if given is None:
            return None
        groups = self._of_people(_as_groups(given, self.name))
        seen = self._reader.see(groups)
        if published is None:
            return seen
        return Seen(seen.groups, (seen.published, published), seen.left_out)

    def _called(self, codes: Codes) -> Any:
        """What a callable makes of the table of a world."""
        if self._rows is None:
            self._rows = self._all_rows()
        rows, of_value = self._rows
        at = np.arange(rows.num_rows)
        at[self.microdata.kept] = of_value[codes]
        table = with_column_from(rows, self.microdata.schema.sensitive, at)
        try:
            return self.method(table)
        except ForeknowError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.name} fails on a possible table: {type(error).__name__}: {error}"
            ) from error

    def _all_rows(self) -> tuple[Any, IntArray]:
        """Every column of the source, and a row that has each value."""
        table = self.microdata.source
        codes, first = np.unique(self.microdata.sensitive_codes, return_index=True)
        of_value = np.zeros(len(self.microdata.values), dtype=np.int64)
        of_value[codes] = self.microdata.kept[first]
        return table.arrow(table.columns), of_value

    def _of_people(self, of_row: IntArray) -> IntArray:
        if of_row.shape != (self.microdata.n_rows,):
            raise InputError(
                f"{self.name} gives groups of shape {of_row.shape}; expected one for each of the "
                f"{self.microdata.n_rows} rows"
            )
        groups: IntArray = of_row[self.microdata.kept].astype(np.int64, copy=False)
        return groups


def is_ours(method: Any) -> bool:
    """Whether a method is known to be deterministic and to treat rows alike."""
    return isinstance(method, (Mondrian, FullDomain))


def is_symmetric(method: Any) -> bool:
    """Whether a method is known to treat rows alike, whatever their order."""
    return is_ours(method) or getattr(method, "symmetric", None) is True


def name_of(method: Any) -> str:
    """What messages call a method.

    >>> name_of(Mondrian()), name_of(sorted)
    ('Mondrian(cuts=5)', 'sorted')
    """
    return getattr(method, "__name__", None) or repr(method)


def settings_of(method: Any) -> Mapping[str, Any]:
    """A method's name and plain settings."""
    name = getattr(method, "__name__", type(method).__name__)
    return {"name": name, **plain_settings(method)}


def _check(microdata: Microdata, method: Any, policy: Policy | None) -> None:
    if not isinstance(microdata, Microdata):
        raise InputError(
            f"expected Microdata, not {type(microdata).__name__}: a table and the roles of its "
            "columns, Microdata(table, schema)"
        )
    if isinstance(method, type):
        raise InputError(f"give a method, such as {method.__name__}(), not its class")
    if not hasattr(method, "partition") and not callable(method):
        raise InputError(
            f"{method!r} is no method: give an anonymizer, or a function from a table to the "
            "group of each row"
        )
    if policy is not None and not isinstance(policy, Policy):
        raise InputError(f"expected a Policy, not {type(policy).__name__}; see Policy.load")
    if isinstance(method, FullDomain) and method.seconds is not None:
        raise UnsupportedError(
            "FullDomain with a time budget makes what the clock allows, which nobody can "
            "recompute; attack it without seconds"
        )
    if microdata.schema.semantics != "single":
        raise UnsupportedError(
            f"semantics {microdata.schema.semantics!r}: the adversary who knows the algorithm is "
            "worked out only where everybody has one sensitive value"
        )


def _checked(seeds: Sequence[int]) -> tuple[int, ...]:
    given = tuple(seeds)
    if not given or any(isinstance(s, bool) or not isinstance(s, int) or s < 0 for s in given):
        raise InputError(f"seeds must be whole numbers from 0, at least one, not {seeds!r}")
    return given


def _as_groups(given: Any, name: str) -> IntArray:
    """Groups in any form as whole numbers; below 0 for rows that are left out."""
    each = given.to_pylist() if hasattr(given, "to_pylist") else given
    array = np.asarray(each)
    if array.ndim != 1:
        raise InputError(f"{name} must give one group for each row, not {type(given).__name__}")
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    labels = [None if label != label else label for label in array.tolist()]  # not a number
    place: dict[Any, int] = {}
    try:
        found = [-1 if label is None else place.setdefault(label, len(place)) for label in labels]
    except TypeError:
        raise InputError(f"{name} gives groups that are no plain labels") from None
    return numbered(np.array(found)) if -1 not in found else np.array(found, dtype=np.int64)
