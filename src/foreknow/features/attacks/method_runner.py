"""Runs of a method on possible worlds, to see in which of them it makes the release."""

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
from types import NoneType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.criteria.group_criterion import OfGroups
from foreknow.data.arrays import IntArray
from foreknow.data.labels.labels import text_of
from foreknow.data.microdata import Microdata
from foreknow.data.tables.formats.arrow_table import with_column_from
from foreknow.errors import BeyondReach, NoSafeRelease, refuse_other_type
from foreknow.features.attacks.observation import Observation, Reader, numbered, read_returned
from foreknow.features.attacks.worlds import ATTACK, Codes
from foreknow.methods.mondrian.replay import Replay
from foreknow.methods.protocol import as_written, grouping_of, in_its_form, traits_of
from foreknow.methods.protocol import settings_of as plain_settings
from foreknow.needs import refuse_rules, require, several_values
from foreknow.numbers import whole_number
from foreknow.policy.policy import Policy
from foreknow_judge.errors import DataError, ForeknowError, InputError, UnsupportedError

Weight: TypeAlias = "int | Fraction"

# A method that does not say that it is random is tried again on its table, and twice on some
# others, to see that it is not.
_TRIED, _OTHERS = 3, 6
# Worlds whose weight is remembered.
_MOST_KNOWN = 500_000


class Runs:
    """A method that can be run on any world of a table, and `seen`, the release that is attacked.

    With several `seeds`, each is as likely, and no proof of the method counts: it is no more than
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
        policy_in_form = policy and in_its_form(method, policy)
        policy = policy_in_form and policy_in_form.searched
        if (settle := traits_of(method).settled) is not None:
            method = settle(microdata, policy)
        self.microdata, self.method, self.name = microdata, method, name_of(method)
        self.known, self.made = traits_of(method), 0
        self.seeds: tuple[int | None, ...] = (None,)
        if seeds is not None:
            self.seeds = tuple(whole_number(seed, "each of the seeds", 0) for seed in seeds)
            if not self.seeds:
                raise InputError("seeds must be whole numbers from 0, at least one, not none")
        self._seeded = seeds is not None
        proof = self.known.proof
        at_random = self.known.random or (proof is not None and proof.frequencies)
        self.proof = proof if at_random and not self._seeded else None
        # With a known seed, who stands where decides what is drawn for whom.
        self._by_order = self._seeded and at_random
        is_symmetric = self.known.symmetric and not self._by_order
        self.symmetric = is_symmetric if symmetric is None else symmetric
        self.policy = policy
        self._anonymizer = hasattr(method, "partition")
        if self._seeded and not self._anonymizer and not _takes_seed(method):
            raise InputError(
                f"seeds are given, but {self.name} takes none: define it as f(table, seed)"
            )
        styles = None
        if (
            labelled
            and self._anonymizer
            and policy_in_form
            and policy_in_form.options.written == "generalized"
        ):
            styles = policy_in_form.options.labels
            self.microdata = microdata = as_written(method, microdata, policy_in_form)
        self._labelled = styles is not None
        self._reader = Reader(microdata, styles)
        self.made_here = True  # that the method made what is seen
        self._weights: dict[bytes, Weight] = {}
        self._replay: Replay | None = None

    @property
    def foreseen(self) -> bool:
        """True if, by a proof, releases keep the policy against those who know the method."""
        proof, policy = self.proof, self.policy
        if proof is None or policy is None or proof.frequencies:  # which say more
            return False
        return proof.keeps(policy)

    @property
    def undivided(self) -> NDArray[np.bool_]:
        """True for each group seen that cannot be several groups that look alike."""
        sizes = np.bincount(self.seen.groups)
        if not self._labelled or self.known.proof is None:
            return np.ones(len(sizes), dtype=bool)
        # Every group has at least `least` people, so two of them are at least twice as many.
        is_one_group: NDArray[np.bool_] = sizes < 2 * self.known.proof.least
        # Those left out count as one group, however many they are.
        if self.seen.left_out is not None:
            is_one_group[self.seen.left_out] = True
        return is_one_group

    # ---- the release that is attacked ----------------------------------------------------------

    def make_first(self, codes: Codes, seed: int | None = None) -> None:
        """Observe the release that the method makes of the true table, and keep it as `seen`.

        `codes` are the true values. If a proof speaks for a random method, `seed` says which of its
        releases is looked at; else the first of the seeds that it may draw.
        """
        observation = self._observe_run(codes, self.seeds[0] if self.proof is None else seed)
        if observation is None:
            raise NoSafeRelease(
                f"{self.name} publishes nothing of {self.microdata.name}; attack what that tells "
                "with nothing=True (--nothing)"
            )
        self._refuse_random(codes, observation)
        self.seen = observation

    def make_nothing(self, codes: Codes) -> None:
        """Keep as `seen` that nothing is published of the true table.

        Refused if the method publishes something with every seed, or is random and has a proof.
        """
        if self.proof is not None:
            raise UnsupportedError(
                f"what is proved of {self.name} is about groups, not of publishing nothing: say "
                "seeds = those that it may draw"
            )
        self._refuse_random(codes)
        if all(self.make(codes, seed) is not None for seed in self.seeds):
            raise DataError(
                f"{self.name} publishes something of {self.microdata.name}; it is attacked without "
                "nothing=True (--nothing)"
            )
        self.seen = Observation(np.zeros(len(codes), dtype=np.int64), what="nothing")

    def make_again(self, groups: IntArray, codes: Codes, *, after: bool = False) -> None:
        """Observe groups of the true table that were made earlier, as published.

        Refused if the method makes other groups with every seed; a method with a proof is not run.
        `after` says that they were published after other releases.
        """
        self.see(groups, codes)
        if self.proof is not None:
            return
        # The observation of a run has the labels too, which groups alone do not tell.
        for observation in (self.make(codes, seed) for seed in self.seeds):
            if observation is not None and np.array_equal(observation.groups, self.seen.groups):
                self.seen = observation
                return
        way_out = "leave groups out to attack what it makes"
        if after:
            way_out = (
                "if its first groups did not go with earlier releases, it searched again by "
                "stricter limits, which no attack knows: leave release out to attack a first search"
            )
        raise DataError(
            f"{self.name} does not make these groups of {self.microdata.name}; {way_out}"
        )

    def see(self, groups: IntArray, codes: Codes) -> None:
        """Keep groups that were made earlier as `seen`, without labels.

        Refused if the method, run on the true values `codes`, turns out to be random.
        """
        self._refuse_random(codes)
        self.seen, self.made_here = self._reader.see(groups), False

    def check_made(self, bags: IntArray) -> None:
        """Refuse groups that a method with a proof makes of no table, as far as that shows.

        Rows of `bags` are the groups seen, columns the values. Refused are groups that are too
        small or too large, hold too much of a value, or fail the policy that the proof says is
        kept.
        """
        proof, sizes = self.proof, bags.sum(axis=1)
        assert proof is not None
        highest_share = Fraction(1) if proof.highest is None else proof.highest
        is_possible = int(sizes.min()) >= proof.least
        # The most frequent value of each group against the highest share, in whole numbers.
        is_possible = is_possible and bool(
            (bags.max(axis=1) * highest_share.denominator <= sizes * highest_share.numerator).all()
        )
        # Groups of equal size; if the number of people does not allow that, below twice the size.
        # With labels, several groups may look like one, so sizes tell nothing.
        if proof.equal is not None and not self._labelled:
            largest = proof.equal if proof.equally_large(int(sizes.sum())) else 2 * proof.equal - 1
            is_possible = is_possible and int(sizes.max()) <= largest
        if self.seen.left_out is not None and _is_foreknows(self.method):
            is_possible = False  # ours leave nobody out
        if is_possible and self.foreseen and self.policy is not None and not self._labelled:
            is_possible = not self.policy.failures(self.microdata.counts(self.seen.groups))
        if not is_possible:
            raise DataError(
                f"{self.name} does not make these groups; is it the method, with the settings, "
                "policy and quasi-identifiers, that made the release?"
            )

    # ---- worlds --------------------------------------------------------------------------------

    def make(self, codes: Codes, seed: int | None = None) -> Observation | None:
        """A reader's view of the release that a world leads to; None if nothing is published.

        `codes` are the sensitive values of everybody in that world.
        """
        self.made += 1
        try:
            return self._observe_run(codes, seed)
        except (NoSafeRelease, BeyondReach):
            return None

    def weight(self, codes: Codes) -> Weight:
        """The probability of the release that is seen, if a world is the true table.

        `codes` are the values of everybody in the world. Results are remembered, up to a number.
        """
        # A hash in place of the codes, since worlds are many and long.
        key = hashlib.blake2b(codes.tobytes(), digest_size=16).digest()
        weight = self._weights.get(key)
        if weight is None:
            weight = self._weight(codes)
            if len(self._weights) < _MOST_KNOWN:
                self._weights[key] = weight
        return weight

    def _weight(self, codes: Codes) -> Weight:
        """The probability that the method makes the release that is seen of a world.

        After the first world that fits, a replay may answer for others without a run; it answers
        None where it cannot tell.
        """
        # A replay is of one run, so it cannot speak for several seeds.
        if self._replay is not None and not self._seeded:
            is_same_release = self._replay.same(codes)
            if is_same_release is not None:
                self.made += 1
                return int(is_same_release)
        share_of_seeds = self._share_of_seeds(codes)
        if share_of_seeds and not self._seeded and self._replay is None:
            self._replay = self._replayed(codes)
        return share_of_seeds

    def _share_of_seeds(self, codes: Codes) -> Weight:
        """The share of seeds with which a world gives the release; 0 or 1 for one seed."""
        observations = [self.make(codes, seed) for seed in self.seeds]
        expected = None if self.seen.what == "nothing" else self.seen
        hits = observations.count(expected)
        return hits if len(observations) == 1 else Fraction(hits, len(observations))

    def replay(self, codes: Codes) -> Replay | None:
        """A run that says which other worlds give the same release; None if there is none."""
        if not self._seeded:
            self.weight(codes)
        return self._replay

    def _replayed(self, codes: Codes) -> Replay | None:
        """The replay of the run on the world `codes`.

        A replay knows the decisions of the run, and so whether another world gives the same
        release. None if that cannot be inferred from decisions.
        """
        replay = self.known.replay
        if replay is None or self.policy is None or self.seen.what != "groups":
            return None
        if self._labelled:  # two values that are written alike cannot be inferred
            for attribute in self.microdata.attributes:
                if len(set(map(text_of, attribute.domain))) < len(attribute.domain):
                    return None
        # Limits may be asked of an adversary of the user's own, who may answer otherwise next time.
        if not self._settled:
            return None
        replayed_run: Replay | None = replay(self.microdata.with_sensitive(codes), self.policy)
        # A reader takes groups of one label for one: their bags are then not known one by one.
        is_same = replayed_run is not None and np.array_equal(
            numbered(replayed_run.groups), self.seen.groups
        )
        return replayed_run if is_same else None

    # ---- claims that are tried -----------------------------------------------------------------

    def check_again(self, worlds: Iterable[Codes], until: float | None) -> None:
        """Run the method again on worlds, until a time (None: all), to see if it is random.

        Raises `UnsupportedError` if a world has another result than before.
        """
        if self._settled:
            return
        for codes in worlds:
            if until is not None and time.monotonic() > until:
                return
            if self._share_of_seeds(codes) != self.weight(codes):
                raise self._random_error()

    def check_symmetric(self, worlds: Iterable[Codes]) -> None:
        """Refuse a method that treats people differently who count as alike.

        In each of the `worlds` such people exchanged their values, so all have to give the same
        release or to give another one.
        """
        if not self.symmetric or self.proof is not None:
            return
        # Foreknow's methods go by the order of rows only where their seed is fixed.
        if _is_foreknows(self.method):
            if self._by_order:
                raise InputError(
                    f"{self.name} goes by the order of rows when its seed is known: leave "
                    "symmetric out"
                )
            return
        if len(set(map(self._weight, worlds))) > 1:
            raise InputError(
                f"{self.name} is said to be symmetric, but makes another release where people "
                "with equal quasi-identifiers change places"
            )

    @property
    def _settled(self) -> bool:
        """True if the method is known to make one release of each table, and seed."""
        if self._seeded and _is_foreknows(self.method):
            return True
        # An adversary of the user's own might answer otherwise each time.
        points = self.policy.points if self.policy is not None else []
        return self.known.deterministic and all(_is_foreknows(p.adversary) for p in points)

    def _refuse_random(self, codes: Codes, observation: Observation | None = None) -> None:
        """Refuse a method whose results differ between runs on the same table.

        `observation` is the result of a run on `codes`, if there was one. A method that says
        nothing of itself is run several times on the true table, and twice on tables with shuffled
        values.
        """
        if self.proof is not None or self._settled:
            return
        if self.known.random and not self._seeded:
            raise UnsupportedError(
                f"{self.name} chooses at random, and nothing is proved of it: say seeds = those "
                "that it may draw, each as likely; one seed is a seed that everybody knows"
            )
        random, seed = np.random.default_rng(0), self.seeds[0]
        other_worlds = [random.permutation(codes) for _ in range(_OTHERS)]
        observation = self.make(codes, seed) if observation is None else observation
        are_equal = [self.make(codes, seed) == observation for _ in range(_TRIED)]
        for world in other_worlds:
            are_equal.append(self.make(world, seed) == self.make(world, seed))
        if not all(are_equal):
            raise self._random_error()

    def _random_error(self) -> UnsupportedError:
        """The error for a method whose results differ between runs on the same table."""
        if self._seeded:
            return UnsupportedError(f"{self.name} makes other releases with the same seed")
        is_inherited = not self.known.random and getattr(
            getattr(self.method, "traits", None), "random", False
        )
        hint = "; what its class inherits does not count" if is_inherited else ""
        return UnsupportedError(
            f"{self.name} makes another release each time; say seeds = those that it may draw{hint}"
        )

    # ---- one run -------------------------------------------------------------------------------

    def _observe_run(self, codes: Codes, seed: int | None) -> Observation | None:
        """The observation of the release of a world by a reader; None if nothing is published.

        An anonymizer is asked for groups; a function is called with the table.
        """
        if self._anonymizer:
            world = self.microdata.with_sensitive(codes)
            # A method without a policy is given None, as its own callers give it.
            grouping = grouping_of(self.method, world, self.policy, seed)  # type: ignore[arg-type]
            return self._reader.see(self._of_people(np.asarray(grouping.of_row)), grouping.floors)
        returned = self._call_function(codes, seed)
        if returned is None:
            return None
        groups, published = read_returned(returned, self.name)
        observation = self._reader.see(self._of_people(groups))
        return observation if published is None else replace(observation, published=published)

    @cached_property
    def _rows(self) -> tuple[Any, IntArray]:
        """Every column of the source table, and a row that has each sensitive value."""
        codes, first_people = np.unique(self.microdata.sensitive_codes, return_index=True)
        row_of_value = np.zeros(len(self.microdata.values), dtype=np.int64)
        row_of_value[codes] = self.microdata.kept[first_people]
        source = self.microdata.source
        return source.arrow(source.columns), row_of_value

    def _call_function(self, codes: Codes, seed: int | None) -> Any:
        """The result of the method's function on the table of a world.

        The sensitive column is replaced by that of other rows: of each person, a row with the value
        that `codes` gives to the person. So cells stay as the source wrote them.
        """
        source_table, row_of_value = self._rows
        row_of_cell = np.arange(source_table.num_rows)  # that each row takes its value from
        row_of_cell[self.microdata.kept] = row_of_value[codes]
        table = with_column_from(source_table, self.microdata.schema.sensitive, row_of_cell)
        try:
            return self.method(table, seed=seed) if self._seeded else self.method(table)
        except ForeknowError:
            raise
        except Exception as error:
            raise InputError(
                f"{self.name} fails on a possible table: {type(error).__name__}: {error}"
            ) from error

    def _of_people(self, of_row: IntArray) -> IntArray:
        """The groups of the people who are kept, from the group of each row."""
        if of_row.shape != (self.microdata.n_rows,):
            raise InputError(
                f"{self.name} gives groups of shape {of_row.shape}; expected one for each of the "
                f"{self.microdata.n_rows} rows"
            )
        groups: IntArray = of_row[self.microdata.kept].astype(np.int64, copy=False)
        return groups


def name_of(method: Any) -> str:
    """The name of a method in messages."""
    return getattr(method, "__name__", None) or repr(method)


def settings_of(method: Any) -> Mapping[str, Any]:
    """A method's name and plain settings."""
    name = getattr(method, "__name__", type(method).__name__)
    return {"name": name, **plain_settings(method)}


def _is_foreknows(instance: Any) -> bool:
    """True if an object is of a class of this library, not of one that inherits from it."""
    return type(instance).__module__.startswith("foreknow.")


def is_method(candidate: Any) -> bool:
    """True for an anonymizer, or a function; a criterion can be called only to be refused."""
    is_function = callable(candidate) and not isinstance(candidate, OfGroups)
    return is_function or hasattr(candidate, "partition")


def _check_attackable(microdata: Microdata, method: Any, policy: Policy | None) -> None:
    """Refuse a wrong table, method or policy, and whatever attacks do not support."""
    how_to_make = ": a table and the roles of its columns, Microdata(table, schema)"
    refuse_other_type(microdata, Microdata, "Microdata", how_to_make)
    refuse_other_type(policy, (Policy, NoneType), "a Policy", "; see Policy.load")
    if isinstance(method, type):
        raise InputError(f"give a method, such as {method.__name__}(), not its class")
    if not is_method(method):
        raise InputError(
            f"{method!r} is no method: give an anonymizer, or a function from a table to the "
            "group of each row"
        )
    if traits_of(method).timed:
        raise UnsupportedError(
            f"{type(method).__name__} with a time budget makes what the clock allows, which nobody "
            "can recompute; attack it without seconds or refine"
        )
    require(ATTACK, several_values(microdata.schema.semantics))
    refuse_rules(ATTACK, microdata, ATTACK.needs)


def _takes_seed(method: Any) -> bool:
    try:
        return "seed" in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


@contextmanager
def messages_once(method: Any) -> Iterator[None]:
    """Let each message of the method's logger through only once while this is open.

    An attack runs the method thousands of times, and each run would log the same.
    """
    messages: set[str] = set()

    # A filter that adds what it sees: the set has grown just if the message is new.
    def is_new(record: logging.LogRecord) -> bool:
        message, n_before = record.getMessage(), len(messages)
        messages.add(message)
        return len(messages) > n_before

    name = getattr(method, "__module__", None) or type(method).__module__
    logger = logging.getLogger(name)
    logger.addFilter(is_new)
    try:
        yield
    finally:
        logger.removeFilter(is_new)
