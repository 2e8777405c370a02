"""Runs of a method on possible worlds: what it makes of each, or how likely it makes a release."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from foreknow.adversaries.algorithm.observation import (
    Reader,
    Refinements,
    Seen,
    numbered,
    read_returned,
)
from foreknow.adversaries.algorithm.traits import (
    Trust,
    check_attackable,
    checked_seeds,
    is_foreknows,
    name_of,
    takes_seed,
    trust_of,
)
from foreknow.adversaries.algorithm.worlds import Codes
from foreknow.data.engines.worlds import with_column_from
from foreknow.data.generalization import text_of
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError, ForeknowError, InputError, NoSafeRelease, UnsupportedError
from foreknow.methods.art import ART
from foreknow.methods.jump.block_counts import BeyondReach
from foreknow.methods.mondrian.mondrian import Mondrian
from foreknow.methods.mondrian.replay import Foreseen
from foreknow.methods.protocol import grouping_of
from foreknow.policy.policy import Policy


class Foresight:
    """What is known of the worlds of one release; nothing, until one of them was met.

    Parameters
    ----------
    method : anonymizer or callable
        `Mondrian` is foreseen where merging groups never hurts. Any other may have
        ``could_make(microdata, policy, groups)``, which says False if it cannot make these groups
        of a table, sooner than a run would; anything else if it must be run.
    trust : Trust
        What is known of it.
    microdata : Microdata
    policy : Policy, optional
    labelled : bool
        Whether labels are seen.
    refined : callable
        The groups that may hide behind equal labels.
    """

    def __init__(
        self,
        method: Any,
        trust: Trust,
        microdata: Microdata,
        policy: Policy | None,
        labelled: bool,
        refined: Callable[[Seen], Refinements],
    ) -> None:
        self._method, self._microdata, self._policy = method, microdata, policy
        # The groups of Mondrian are told apart by their labels, if different values are.
        self._apart = not labelled or all(
            len(set(map(text_of, a.domain))) == len(a.domain) for a in microdata.attributes
        )
        self._seen: Seen | None = None
        self._found: Foreseen | None = None
        self._could, self._refined = trust.could_make, refined

    def same(self, codes: Codes, seen: Seen) -> bool | None:
        """Whether the release is made of a world; None if the method must be run."""
        if seen.what != "groups":
            return None
        if self._could is not None:
            return self._asked(codes, seen)
        if self._found is None or (seen is not self._seen and seen != self._seen):
            return None
        return self._found.same(codes)

    def _asked(self, codes: Codes, seen: Seen) -> bool | None:
        """What the method says of all groups that a reader would take for these."""
        found = self._refined(seen)
        if found.number is None:
            return None
        assert self._could is not None
        world = self._microdata.dealt(codes)
        each = map(self._microdata.rows_of, found.each(seen.left_out))
        said = [self._could(world, self._policy, rows) for rows in each]
        # No groups at all: labels came from elsewhere, of which nothing was asked.
        return False if said and all(one is False for one in said) else None

    def learn(self, codes: Codes, seen: Seen) -> None:
        """Note a world that the release is made of."""
        if type(self._method) is not Mondrian or self._policy is None or not self._apart:
            return
        if seen.what != "groups":
            return
        if self._seen is not None and self._seen == seen:
            return
        self._seen = seen
        found = Foreseen.of(self._method, self._microdata.dealt(codes), self._policy)
        # A reader takes groups of one label for one: their bags are then not known one by one.
        same = found is not None and np.array_equal(numbered(found.groups), seen.groups)
        self._found = found if same else None


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
    trust : Trust
        What is known of the method without running it.
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
        check_attackable(microdata, method, policy)
        self.microdata = microdata
        self.method = method
        self.name = name_of(method)
        self.seeds = None if seeds is None else checked_seeds(seeds)
        self.trust = trust_of(method, policy)
        stated = self.trust.chance
        self._chance = stated if seeds is None else None
        alike = self.trust.symmetric and not (stated and seeds is not None)
        self.symmetric = alike if symmetric is None else symmetric
        self.made = 0
        self._policy = policy
        self._known: dict[bytes, Weight] = {}
        styles = self._styles() if labelled else None
        self._reader = Reader(microdata, styles)
        self._foresight = Foresight(
            method, self.trust, microdata, policy, styles is not None, self.refined
        )
        self._rows: tuple[Any, IntArray] | None = None
        self._seeded = seeds is not None and takes_seed(method, self.name)

    @property
    def random(self) -> bool:
        """Whether the method makes one of several releases of a table."""
        return self._chance is not None or (self.seeds is not None and len(self.seeds) > 1)

    @property
    def chances(self) -> bool:
        """Whether the method's own chances weigh the worlds."""
        return self._chance is not None

    def make(self, codes: Codes, seed: int | None = None) -> Seen | None:
        """What a reader sees of the release that is made of a world; None if there is none."""
        self.made += 1
        try:
            return self._made(codes, seed)
        except (NoSafeRelease, BeyondReach):
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
            raise NoSafeRelease(
                f"{self.name} publishes nothing of {self.microdata.name}; attack what that tells "
                "with nothing=True (--nothing)"
            )
        self._refuse_random(codes, seen)
        return seen

    def make_nothing(self, codes: Codes) -> Seen:
        """What is seen where nothing is published of the true table.

        Raises
        ------
        DataError
            If something is.
        UnsupportedError
            If the method is random; of chances to publish nothing none are stated.
        """
        if self._chance is not None:
            raise UnsupportedError(
                f"{self.name} states chances of groups, not of publishing nothing: say seeds = "
                "those that it may draw"
            )
        self._refuse_random(codes)
        if all(self.make(codes, seed) is not None for seed in self.seeds or (None,)):
            raise DataError(
                f"{self.name} publishes something of {self.microdata.name}; it is attacked without "
                "nothing=True (--nothing)"
            )
        return Seen.of_everybody(len(codes), "nothing")

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
        if codes is None:
            return given
        if self._chance is not None:
            self._refuse_impossible(codes, groups)
            return given
        for seed in self.seeds or (None,):
            seen = self.make(codes, seed)
            if seen is not None and np.array_equal(seen.groups, given.groups):
                return seen
        raise self._not_made()

    def _refuse_impossible(self, codes: Codes, groups: IntArray) -> None:
        """Refuse groups that have no chance, where chances are known."""
        try:
            if not self._chance_of(codes, groups):
                raise self._not_made()
        except UnsupportedError:  # too large a table for chances
            return

    def _not_made(self) -> DataError:
        return DataError(
            f"{self.name} does not make these groups of {self.microdata.name}; leave groups out "
            "to attack what it makes"
        )

    def refined(self, seen: Seen) -> Refinements:
        """The groups that the method may have made, where readers see those of one label as one."""
        return self._reader.refined(seen, self.trust.least)

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
            each = self.refined(seen).each(seen.left_out)
            return sum((self._chance_of(codes, groups) for groups in each), Fraction(0))
        if self.seeds is None:
            same = self._foresight.same(codes, seen)
            if same is not None:
                self.made += 1
                return int(same)
            same = self._makes(codes, seen)
            if same:
                self._foresight.learn(codes, seen)
            return int(same)
        hits = sum(self._makes(codes, seen, seed) for seed in self.seeds)
        return Fraction(hits, len(self.seeds))

    def _makes(self, codes: Codes, seen: Seen, seed: int | None = None) -> bool:
        made = self.make(codes, seed)
        return seen.what == "nothing" if made is None else made == seen

    def _chance_of(self, codes: Codes, groups: IntArray) -> Fraction:
        """How probable the method says some groups are."""
        assert self._chance is not None
        self.made += 1
        world = self.microdata.dealt(codes)
        try:
            found = self._chance(world, self._policy, self.microdata.rows_of(groups))
        except NoSafeRelease:
            return Fraction(0)
        try:
            chance = Fraction(found)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{self.name}.chance gives no number: {error}") from error
        if not 0 <= chance <= 1:
            raise InputError(f"{self.name}.chance gives {found}, which is no probability")
        return chance

    def check_again(self, worlds: Iterable[Codes], seen: Seen, until: float | None) -> None:
        """Run the method again on worlds that were looked at, while there is time.

        Raises
        ------
        UnsupportedError
            If it makes something else of one. That nothing else is made is no proof that it
            never is.
        """
        if self._chance is not None or self._settled:
            return
        for codes in worlds:
            if until is not None and time.monotonic() > until:
                return
            hits = [self._makes(codes, seen, seed) for seed in self.seeds or (None,)]
            if Fraction(sum(hits), len(hits)) != self.weight(codes, seen):
                raise self._random()

    def check_symmetric(self, each: Iterable[Codes], seen: Seen) -> None:
        """Try worlds in which people who are taken to be alike changed places.

        Raises
        ------
        InputError
            If the method makes something else of one.
        """
        if not self.symmetric:
            return
        if is_foreknows(self.method):
            if self.seeds is not None and self.trust.chance is not None:
                raise InputError(
                    f"{self.name} goes by the order of rows when its seed is known: leave "
                    "symmetric out"
                )
            return
        first: Weight | None = None
        for codes in each:
            weight = self._weigh(codes, seen)
            first = weight if first is None else first
            if weight != first:
                raise InputError(
                    f"{self.name} is said to be symmetric, but makes another release where people "
                    "with equal quasi-identifiers change places"
                )

    @property
    def _settled(self) -> bool:
        """Whether it is known to make one release of each table, and seed."""
        return self.trust.deterministic or (self.seeds is not None and is_foreknows(self.method))

    def _refuse_random(self, codes: Codes, seen: Seen | None = None) -> None:
        """Try the method on a table again, and twice on some others; lots are known of ours."""
        if self._chance is not None or self._settled:
            return
        if isinstance(self.method, ART) and self.seeds is None:
            raise UnsupportedError(
                f"{self.name} breaks ties by lot, and the chances of that are not known: say "
                "seeds = those that it may draw, each as likely; one seed is a seed that everybody "
                "knows"
            )
        seed = None if self.seeds is None else self.seeds[0]
        random = np.random.default_rng(0)
        others = [random.permutation(codes) for _ in range(_OTHERS)]
        seen = self.make(codes, seed) if seen is None else seen
        again = [self.make(codes, seed) for _ in range(_TRIED)]
        twice = [self.make(other, seed) == self.make(other, seed) for other in others]
        if any(made != seen for made in again) or not all(twice):
            raise self._random()

    def _random(self) -> UnsupportedError:
        if self.seeds is not None:
            return UnsupportedError(f"{self.name} makes other releases with the same seed")
        inherited = hasattr(self.method, "chance") and self.trust.chance is None
        more = "; what its class inherits does not count" if inherited else ""
        return UnsupportedError(
            f"{self.name} makes another release each time; give it a method "
            f"chance(microdata, policy, groups), or seeds = the seeds it may draw{more}"
        )

    def _styles(self) -> Mapping[str, str] | None:
        """How groups are labelled; None where they are not."""
        policy = self._policy
        if policy is None or not hasattr(self.method, "partition"):
            return None
        return policy.options.labels if policy.options.form == "generalized" else None

    # ---- one run -------------------------------------------------------------------------------

    def _made(self, codes: Codes, seed: int | None) -> Seen | None:
        if hasattr(self.method, "partition"):
            # A method without a policy is given None, as it is by whoever calls it.
            found = grouping_of(self.method, self.microdata.dealt(codes), self._policy, seed)  # type: ignore[arg-type]
            if found.floors is not None and self._chance is not None and self._styles():
                raise UnsupportedError(
                    f"{self.name} states chances of groups, which do not tell at which levels they "
                    'are written; attack the bucketized form, options with form="bucketized"'
                )
            return self._reader.see(self._of_people(np.asarray(found.of_row)), found.floors)
        given = self._called(codes, seed)
        if given is None:
            return None
        made, published = read_returned(given, self.name, self.microdata.schema)
        if made is None:
            return Seen.of_everybody(len(codes), "table", published)
        seen = self._reader.see(self._of_people(made))
        return seen if published is None else Seen(seen.groups, published, seen.left_out)

    def _called(self, codes: Codes, seed: int | None) -> Any:
        """What a callable makes of the table of a world."""
        if self._rows is None:
            self._rows = self._all_rows()
        rows, of_value = self._rows
        at = np.arange(rows.num_rows)
        at[self.microdata.kept] = of_value[codes]
        table = with_column_from(rows, self.microdata.schema.sensitive, at)
        try:
            return self.method(table, seed=seed) if self._seeded else self.method(table)
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


@contextmanager
def said_once(method: Any) -> Iterator[None]:
    """Let what a method logs through the logger of its module pass once, while this is open."""
    name = getattr(method, "__module__", None) or type(method).__module__
    logger, once = logging.getLogger(name), _Once()
    logger.addFilter(once)
    try:
        yield
    finally:
        logger.removeFilter(once)


class _Once(logging.Filter):
    """Stops messages that came before."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if said in self._said:
            return False
        self._said.add(said)
        return True
