"""Runs of a method on possible worlds: what it makes of each, or how likely it makes a release."""

from __future__ import annotations

import hashlib
import inspect
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from foreknow.attacks.algorithm.observation import (
    Observation,
    Reader,
    Refinements,
    numbered,
    read_returned,
)
from foreknow.attacks.algorithm.worlds import Codes
from foreknow.data.engines.narwhals_table import with_column_from
from foreknow.data.labels import text_of
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError, ForeknowError, InputError, NoSafeRelease, UnsupportedError
from foreknow.methods.art import ART
from foreknow.methods.jump.disclosure_set import BeyondReach
from foreknow.methods.mondrian.replay import Replay
from foreknow.methods.proof import Proof
from foreknow.methods.protocol import as_written, grouping_of, in_its_form, traits_of
from foreknow.methods.protocol import settings_of as plain_settings
from foreknow.numbers import whole_number
from foreknow.policy.policy import Policy

Weight: TypeAlias = "int | Fraction"

# A method without chances or seeds is tried again on its table, and twice on some others, to see
# that it is not random.
_TRIED, _OTHERS = 3, 6
# People of tables that are large.
_LARGE = 5_000
# Worlds whose weight is remembered.
_MOST_KNOWN = 500_000


class Runs:
    """A method that can be run on any world of a table, and `seen`, the release that is attacked.

    With several `seeds`, each is as likely; a method that states its chances is then no more than
    its runs with these. `made` counts the runs.
    """

    seen: Observation

    def __init__(
        self,
        microdata: Microdata,
        method: Any,
        policy: Policy | None,
        seeds: Sequence[int] | None = None,
        symmetric: bool | None = None,
        labelled: bool = True,
    ) -> None:
        _check_attackable(microdata, method, policy)
        whole = policy and in_its_form(method, policy)
        policy = whole and whole.searched
        if (settled := traits_of(method).settled) is not None:
            method = settled(microdata, policy)
        self.microdata, self.method, self.name = microdata, method, name_of(method)
        self.known, self.made = traits_of(method), 0
        self.seeds: tuple[int | None, ...] = (None,)
        if seeds is not None:
            self.seeds = tuple(whole_number(seed, "each of the seeds", 0) for seed in seeds)
            if not self.seeds:
                raise InputError("seeds must be whole numbers from 0, at least one, not none")
        self._seeded = seeds is not None
        self._likelihood = None if self._seeded else self.known.likelihood
        alike = self.known.symmetric and not (self._seeded and self.known.likelihood)
        self.symmetric = alike if symmetric is None else symmetric
        self.policy = policy
        self._anonymizer = hasattr(method, "partition")
        if self._seeded and not self._anonymizer and not _takes_seed(method):
            raise InputError(
                f"seeds are given, but {self.name} takes none: define it as f(table, seed)"
            )
        styles = None
        if labelled and self._anonymizer and whole and whole.options.written == "generalized":
            styles = whole.options.labels
            self.microdata = microdata = as_written(method, microdata, whole)
        self._labelled = styles is not None
        self._reader = Reader(microdata, styles)
        self._weights: dict[bytes, Weight] = {}
        self._replay: Replay | None = None
        self._sure = False  # that the method, with its chances, can make the release

    @property
    def chances(self) -> bool:
        """Whether the method's own chances weigh the worlds."""
        return self._likelihood is not None

    @property
    def foreseen(self) -> bool:
        """Whether, by a proof, what the method makes keeps the policy from those who know it."""
        proof, policy = self.proof, self.policy
        if proof is None or policy is None or proof.frequencies:  # which say more
            return False
        return proof.keeps(policy)

    @property
    def proof(self) -> Proof | None:
        """What is proved of the method, where its own chances weigh the worlds."""
        return self.known.proof if self.chances else None

    # ---- the release that is attacked ----------------------------------------------------------

    def make_first(self, codes: Codes, seed: int | None = None) -> None:
        """See the release of the true table, drawn with a seed where chances are known."""
        seen = self._made(codes, seed if self.chances else self.seeds[0])
        self._sure = self.chances
        if seen is None:
            raise NoSafeRelease(
                f"{self.name} publishes nothing of {self.microdata.name}; attack what that tells "
                "with nothing=True (--nothing)"
            )
        self._refuse_random(codes, seen)
        self.seen = seen

    def make_nothing(self, codes: Codes) -> None:
        """See that nothing is published of the true table."""
        if self.chances:
            raise UnsupportedError(
                f"{self.name} states chances of groups, not of publishing nothing: say seeds = "
                "those that it may draw"
            )
        self._refuse_random(codes)
        if all(self.make(codes, seed) is not None for seed in self.seeds):
            raise DataError(
                f"{self.name} publishes something of {self.microdata.name}; it is attacked without "
                "nothing=True (--nothing)"
            )
        self.seen = Observation.of_everybody(len(codes), "nothing")

    def make_again(self, groups: IntArray, codes: Codes) -> None:
        """See groups that were made before, of the true table, as they are published."""
        self.see(groups, codes)
        possible = False
        if self.chances:
            try:
                # Groups of one label may be several of the method's.
                possible = self._sure = self._can_make(codes, groups)
                possible = possible or self.refined.number is None or self._weight(codes) > 0
            except UnsupportedError:  # too large a table for chances
                possible = True
        else:
            for made in (self.make(codes, seed) for seed in self.seeds):
                if made is not None and np.array_equal(made.groups, self.seen.groups):
                    self.seen, possible = made, True
                    break
        if not possible:
            raise DataError(
                f"{self.name} does not make these groups of {self.microdata.name}; leave groups "
                "out to attack what it makes"
            )

    def see(self, groups: IntArray, codes: Codes) -> None:
        """See groups alone."""
        self._refuse_random(codes)
        self.seen = self._reader.see(groups)

    def check_made(self, codes: Codes) -> None:
        """Refuse groups that the method with its chances makes of no table, where all are seen."""
        try:
            made = self._sure or self._labelled or self._can_make(codes, self.seen.groups)
        except UnsupportedError:  # too large a table for chances, but not to see that
            made = True
        if not made:
            raise DataError(
                f"{self.name} does not make these groups; is it the method, with the settings, "
                "policy and quasi-identifiers, that made the release?"
            )

    # ---- worlds --------------------------------------------------------------------------------

    def make(self, codes: Codes, seed: int | None = None) -> Observation | None:
        """What a reader sees of the release that is made of a world; None if there is none."""
        self.made += 1
        try:
            return self._made(codes, seed)
        except (NoSafeRelease, BeyondReach):
            return None

    def weight(self, codes: Codes) -> Weight:
        """How probable the release is, if a world is the true table."""
        key = hashlib.blake2b(codes.tobytes(), digest_size=16).digest()
        found = self._weights.get(key)
        if found is None:
            found = self._weight(codes)
            if len(self._weights) < _MOST_KNOWN:
                self._weights[key] = found
        return found

    @cached_property
    def refined(self) -> Refinements:
        """The groups that the method may have made, where readers see those of one label as one."""
        least = 1 if self.known.proof is None else self.known.proof.least
        return self._reader.refined(self.seen, least)

    def distance(self, codes: Codes) -> float:
        """How far what is made of a world is from the release; 0 if that is possible."""
        # A run is dear beside a replay.
        if self.chances or len(self.seeds) > 1 or self._replay is not None:
            return 0.0 if self.weight(codes) else 1.0
        made = self.make(codes, self.seeds[0])
        if self.seen.what == "nothing":
            return float(made is not None)
        if made is None:
            return 2.0
        return 0.0 if made == self.seen else max(made.distance(self.seen), 1e-9)

    def _weight(self, codes: Codes) -> Weight:
        if self.chances:
            chances = (self._chance_of(codes, groups) for groups in self.refined.each())
            return sum(chances, Fraction(0))
        said = None if self._seeded else self._predicted(codes)
        if said is not None:
            self.made += 1
            return int(said)
        hits = self._hits(codes)
        if hits and not self._seeded and self._replay is None:
            self._replay = self._replayed(codes)
        return hits

    def _hits(self, codes: Codes) -> Weight:
        """How probable the release is over the seeds, by runs."""
        each = [self.make(codes, seed) for seed in self.seeds]
        nothing = self.seen.what == "nothing"
        hits = sum(nothing if made is None else made == self.seen for made in each)
        return hits if len(each) == 1 else Fraction(hits, len(each))

    def _predicted(self, codes: Codes) -> bool | None:
        """Whether the release is made of a world; None if the method must be run."""
        if self._replay is not None:
            return self._replay.same(codes)
        could_make = self.known.could_make
        if could_make is None or self.seen.what != "groups" or self.refined.number is None:
            return None
        world = self.microdata.with_sensitive(codes)
        rows = map(self.microdata.rows_of, self.refined.each())
        said = [could_make(world, self.policy, own) for own in rows]
        # No groups at all: labels came from elsewhere, of which nothing was asked.
        return False if said and all(one is False for one in said) else None

    def replay(self, codes: Codes) -> Replay | None:
        """A run on a world that says of which others the release is made; None if there is none."""
        if not self.chances and not self._seeded:
            self.weight(codes)
        return self._replay

    def _replayed(self, codes: Codes) -> Replay | None:
        """What one run, on a world that the release is made of, says of runs on others."""
        apart = not self._labelled or all(
            len(set(map(text_of, a.domain))) == len(a.domain) for a in self.microdata.attributes
        )
        replay = self.known.replay
        if not apart or replay is None or self.policy is None or self.seen.what != "groups":
            return None
        if not self._settled:  # an adversary of the user's own
            return None
        found: Replay | None = replay(self.microdata.with_sensitive(codes), self.policy)
        # A reader takes groups of one label for one: their bags are then not known one by one.
        same = found is not None and np.array_equal(numbered(found.groups), self.seen.groups)
        return found if same else None

    def possible(self, codes: Codes) -> bool:
        """Whether the method, by its chances, may make the release of a world."""
        return self._sure or any(self._can_make(codes, own) for own in self.refined.each())

    def _can_make(self, codes: Codes, groups: IntArray) -> bool:
        """Whether groups have a chance; of a large table how much of one takes too long to say."""
        if len(codes) <= _LARGE:
            return self._chance_of(codes, groups) > 0
        world, rows = self.microdata.with_sensitive(codes), self.microdata.rows_of(groups)
        if self.known.could_make is not None:
            return bool(self.known.could_make(world, self.policy, rows))
        if self.foreseen and self.policy is not None:
            return not self.policy.failures(world.counts(groups))
        return self._chance_of(codes, groups) > 0

    def _chance_of(self, codes: Codes, groups: IntArray) -> Fraction:
        """How probable the method says some groups are."""
        assert self._likelihood is not None
        self.made += 1
        world = self.microdata.with_sensitive(codes)
        try:
            found = self._likelihood(world, self.policy, self.microdata.rows_of(groups))
        except NoSafeRelease:
            return Fraction(0)
        try:
            chance = Fraction(found)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{self.name}.chance gives no number: {error}") from error
        if not 0 <= chance <= 1:
            raise InputError(f"{self.name}.chance gives {found}, which is no probability")
        return chance

    # ---- claims that are tried -----------------------------------------------------------------

    def check_again(self, worlds: Iterable[Codes], until: float | None) -> None:
        """Run the method again on worlds, while there is time: that it is random may show."""
        if self.chances or self._settled:
            return
        for codes in worlds:
            if until is not None and time.monotonic() > until:
                return
            if self._hits(codes) != self.weight(codes):
                raise self._random_error()

    def check_symmetric(self, alike: Iterable[Codes]) -> None:
        """Try worlds in which people who are taken to be alike changed places."""
        if not self.symmetric:
            return
        if _is_foreknows(self.method):
            if self._seeded and self.known.likelihood is not None:
                raise InputError(
                    f"{self.name} goes by the order of rows when its seed is known: leave "
                    "symmetric out"
                )
            return
        if len({self._weight(codes) for codes in alike}) > 1:
            raise InputError(
                f"{self.name} is said to be symmetric, but makes another release where people "
                "with equal quasi-identifiers change places"
            )

    @property
    def _settled(self) -> bool:
        """Whether it is known to make one release of each table, and seed."""
        if self._seeded and _is_foreknows(self.method):
            return True
        # An adversary of the user's own might answer otherwise each time.
        points = self.policy.points if self.policy is not None else []
        return self.known.deterministic and all(_is_foreknows(p.adversary) for p in points)

    def _refuse_random(self, codes: Codes, seen: Observation | None = None) -> None:
        """Try the method on a table again, and twice on some others."""
        if self.chances or self._settled:
            return
        if isinstance(self.method, ART) and not self._seeded:
            raise UnsupportedError(
                f"{self.name} breaks ties at random, and the chances of that are not known: say "
                "seeds = those that it may draw, each as likely; one seed is a seed that everybody "
                "knows"
            )
        random, seed = np.random.default_rng(0), self.seeds[0]
        others = [random.permutation(codes) for _ in range(_OTHERS)]
        seen = self.make(codes, seed) if seen is None else seen
        again = [self.make(codes, seed) for _ in range(_TRIED)]
        twice = [self.make(other, seed) == self.make(other, seed) for other in others]
        if any(made != seen for made in again) or not all(twice):
            raise self._random_error()

    def _random_error(self) -> UnsupportedError:
        if self._seeded:
            return UnsupportedError(f"{self.name} makes other releases with the same seed")
        inherited = hasattr(self.method, "chance") and self.known.likelihood is None
        more = "; what its class inherits does not count" if inherited else ""
        return UnsupportedError(
            f"{self.name} makes another release each time; give it a method "
            f"chance(microdata, policy, groups), or seeds = the seeds it may draw{more}"
        )

    # ---- one run -------------------------------------------------------------------------------

    def _made(self, codes: Codes, seed: int | None) -> Observation | None:
        if self._anonymizer:
            world = self.microdata.with_sensitive(codes)
            # A method without a policy is given None, as its own callers give it.
            found = grouping_of(self.method, world, self.policy, seed)  # type: ignore[arg-type]
            if found.floors is not None and self.chances and self._labelled:
                raise UnsupportedError(
                    f"{self.name} states chances of groups, which do not tell at which levels they "
                    'are written; attack the bucketized form, options with form="bucketized"'
                )
            return self._reader.see(self._of_people(np.asarray(found.of_row)), found.floors)
        given = self._called(codes, seed)
        if given is None:
            return None
        groups, published = read_returned(given, self.name, self.microdata.schema)
        if groups is None:
            return Observation.of_everybody(len(codes), "table", published)
        seen = self._reader.see(self._of_people(groups))
        return seen if published is None else replace(seen, published=published)

    @cached_property
    def _rows(self) -> tuple[Any, IntArray]:
        """Every column of the source, and a row that has each value."""
        own, first = np.unique(self.microdata.sensitive_codes, return_index=True)
        of_value = np.zeros(len(self.microdata.values), dtype=np.int64)
        of_value[own] = self.microdata.kept[first]
        source = self.microdata.source
        return source.arrow(source.columns), of_value

    def _called(self, codes: Codes, seed: int | None) -> Any:
        """What a function makes of the table of a world."""
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

    def _of_people(self, of_row: IntArray) -> IntArray:
        if of_row.shape != (self.microdata.n_rows,):
            raise InputError(
                f"{self.name} gives groups of shape {of_row.shape}; expected one for each of the "
                f"{self.microdata.n_rows} rows"
            )
        groups: IntArray = of_row[self.microdata.kept].astype(np.int64, copy=False)
        return groups


def name_of(method: Any) -> str:
    """What messages call a method."""
    return getattr(method, "__name__", None) or repr(method)


def settings_of(method: Any) -> Mapping[str, Any]:
    """A method's name and plain settings."""
    name = getattr(method, "__name__", type(method).__name__)
    return {"name": name, **plain_settings(method)}


def _is_foreknows(given: Any) -> bool:
    """Whether an object is of a class of this library, not of one that inherits from it."""
    return type(given).__module__.startswith("foreknow.")


def _check_attackable(microdata: Microdata, method: Any, policy: Policy | None) -> None:
    """Refuse what is no table, no method or no policy, and what is not worked out."""
    if not isinstance(microdata, Microdata):
        raise InputError(
            f"expected Microdata, not {type(microdata).__name__}: a table and the roles of its "
            "columns, Microdata(table, schema)"
        )
    if policy is not None and not isinstance(policy, Policy):
        raise InputError(f"expected a Policy, not {type(policy).__name__}; see Policy.load")
    if isinstance(method, type):
        raise InputError(f"give a method, such as {method.__name__}(), not its class")
    if not hasattr(method, "partition") and not callable(method):
        raise InputError(
            f"{method!r} is no method: give an anonymizer, or a function from a table to the "
            "group of each row"
        )
    if traits_of(method).timed:
        raise UnsupportedError(
            f"{type(method).__name__} with a time budget makes what the clock allows, which nobody "
            "can recompute; attack it without seconds or refine"
        )
    if microdata.schema.semantics != "single":
        raise UnsupportedError(
            f"semantics {microdata.schema.semantics!r}: the adversary who knows the algorithm is "
            "worked out only where everybody has one sensitive value"
        )


def _takes_seed(method: Any) -> bool:
    try:
        return "seed" in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


@contextmanager
def said_once(method: Any) -> Iterator[None]:
    """Let what a method logs through the logger of its module pass once, while this is open."""
    said: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        message, before = record.getMessage(), len(said)
        said.add(message)
        return len(said) > before

    name = getattr(method, "__module__", None) or type(method).__module__
    logger = logging.getLogger(name)
    logger.addFilter(is_new)
    try:
        yield
    finally:
        logger.removeFilter(is_new)
