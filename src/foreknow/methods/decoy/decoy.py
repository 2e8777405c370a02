"""Decoy: Mondrian for adversaries who know the method; a refused cut may be a decoy's fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.microdata import Microdata
from foreknow.errors import NoSafeRelease
from foreknow.hints import hints
from foreknow.methods.decoy.guards import AMOUNTS, COUPLED, Guards, speaks_of
from foreknow.methods.decoy.search import Outcome, Search, TriedCuts
from foreknow.methods.points import Points
from foreknow.methods.proof import Proof
from foreknow.methods.protocol import (
    ADVICE,
    ONE_COLUMN,
    Grouper,
    Grouping,
    Traits,
    asked_policy,
    check_needs,
    notes_of_seed,
    nothing_safe,
)
from foreknow.numbers import whole_number
from foreknow.policy.policy import Policy
from foreknow.randomness import generator
from foreknow_judge.errors import InputError
from foreknow_judge.frozen import set_fields
from foreknow_judge.settings import FromOne, Settings

# Decoys that are drawn at once, where groups bear on one another.
_TOGETHER = 1 << 14


class DecoySettings(Settings):
    """``[publish.decoy]`` in a policy file."""

    cuts: FromOne = 5


@hints(ADVICE)
@dataclass(frozen=True)
class Decoy(Grouper):
    """Groups of similar people that keep the policy even if adversaries know the method.

    As `Mondrian`, it divides groups top-down. But it tries one cut of each group, chosen by what
    everybody may know: quasi-identifiers, and how often each value occurs in the group. Beside the
    cut, *decoys* are judged: the same cut of the same group, whose values are given to its people
    at random. It is accepted if all of them keep the policy, the true one and the decoys. So who
    sees that a group was not divided does not know whether the true values are the reason. What
    comes of a refusal is drawn before: people are dealt out at random, into as many small groups as
    keep the policy for adversaries who know all that.

    Parameters
    ----------
    cuts : int
        How many cuts per attribute and group are candidates: those that divide it most evenly.

    Notes
    -----
    Proved in docs/research/decoys.md. It keeps limits of `Facts`, `Negations` and `Implications`,
    and every criterion that says what it `speaks` of; others are refused. **The seed must be
    secret**: who knows it knows the decoys. So random numbers come from the system's entropy when
    no seed is given. Give one in tests only.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.adversaries.facts.facts import Facts
    >>> from foreknow.data.schema import Schema
    >>> from foreknow.policy.requirement import Requirement
    >>> people = pa.table({"age": list(range(80)), "disease": list("abcdefgh") * 10})
    >>> microdata = Microdata(people, Schema(quasi_identifiers=["age"], sensitive="disease"))
    >>> policy = Policy([Requirement(Facts(), below="1/2")])
    >>> groups = Decoy().partition(microdata, policy, seed=1)
    >>> int(groups.max()) > 3, Facts().disclosure(microdata.counts(groups)).below("1/2")
    (True, True)
    """

    cuts: int = 5
    key: ClassVar[str] = "decoy"
    settings: ClassVar[type[Settings]] = DecoySettings

    def __post_init__(self) -> None:
        set_fields(self, cuts=whole_number(self.cuts, "Decoy: cuts", 1))

    def grouping(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> Grouping:
        """Group the rows of a table.

        A policy with a limit that is not worked out for this method is a `PolicyError`.
        """
        random = generator(seed, "Decoy")
        search = self._start(microdata, policy)
        search.run(lambda search, cuts: _decide_cuts(search, cuts, random))
        return Grouping(microdata.rows_of(search.finish(random)))

    def _start(self, microdata: Microdata, policy: Policy | None) -> Search:
        policy = asked_policy(self, policy, microdata)
        check_needs(self, policy)
        _check(policy)
        everyone = microdata.everyone()
        failures = policy.failures(everyone)
        if failures:
            raise NoSafeRelease(nothing_safe(everyone.n_people, failures))
        points = Points.of(microdata)
        guards = Guards.of(policy, everyone)
        tries = True
        if guards.coupled:  # all limits are those that hold for what a refusal leaves
            stricter = Guards.of(policy, everyone, COUPLED)
            only = np.zeros(1, dtype=np.int64)
            tries = bool(stricter.evaluate(everyone, only).safe_each()[0])
            guards = stricter if tries else guards
        return Search(points, microdata, guards, self.cuts, tries)

    @property
    def traits(self) -> Traits:
        """Its releases hold the policy even against an adversary who knows the method."""
        return Traits(
            consults_policy=True,
            symmetric=True,
            needs=ONE_COLUMN,
            random=True,
            proof=_PROOF,
            notes=lambda policy, seed: notes_of_seed(seed),
            advice="another method may serve it",
        )


def _check(policy: Policy) -> None:
    for requirement in policy.requirements:
        speaks_of(requirement)


def _is_kept(policy: Policy) -> bool:
    """True if all limits of a policy are such that decoys keep them; others are refused."""
    try:
        _check(policy)
    except InputError:
        return False
    return True


_PROOF = Proof(
    "beside as many decoys, a refused cut makes nothing likelier than the limits leave room for",
    "docs/research/decoys.md",
    keeps=_is_kept,
)


# ---- decisions ----------------------------------------------------------------------------------


def _decide_cuts(search: Search, cuts: TriedCuts, random: np.random.Generator) -> Outcome:
    """Accept the cuts that are safe, if all their decoys are."""
    n = len(cuts.group)
    many = np.ones(search.n_groups, dtype=np.int64)
    many[cuts.group] = cuts.many
    deal = search.deal_of(search.group_of_people(), many, random)
    all_cuts = np.ones(n, dtype=bool)
    if not search.guards.coupled:
        possible = search.safe(cuts.bags, cuts.owner)
        drawn = np.zeros(n, dtype=np.int64)
        while True:  # a few decoys at a time: most cuts that are refused are refused by the first
            n_new = np.minimum(np.maximum(3 * drawn, AMOUNTS[0]), cuts.decoys - drawn)
            drawing = np.flatnonzero(possible & (n_new > 0))
            if not len(drawing):
                break
            bags, owner, cut_of = search.decoys(cuts, drawing, n_new[drawing], deal, random)
            possible[cut_of[~search.quiet(bags, owner)]] = False
            drawn[drawing] += n_new[drawing]
        return Outcome(all_cuts, possible, deal)
    before = search.guards
    search.guards = before.copy()
    is_tried = search.guards.evaluate(*search.left(cuts, all_cuts)).accept_greedily()
    possible = is_tried & search.safe(cuts.bags, cuts.owner)
    accepted = np.zeros(n, dtype=bool)
    waiting = np.flatnonzero(possible)
    step = max(_TOGETHER // int(cuts.decoys.max()), 1)
    for start in range(0, len(waiting), step):
        drawing = waiting[start : start + step]
        decoys = search.decoys(cuts, drawing, cuts.decoys[drawing], deal, random)
        drawing = np.setdiff1d(drawing, decoys[2][~search.quiet(*decoys[:2])])
        _accept(search, cuts, drawing, decoys, accepted)
    search.guards = before
    _note(search, cuts, is_tried, accepted)
    return Outcome(is_tried, accepted, deal)


def _note(search: Search, cuts: TriedCuts, is_tried: BoolArray, accepted: BoolArray) -> None:
    """Note the accepted and the refused cuts, where groups bear on one another."""
    refused = is_tried & ~accepted
    if refused.any():
        search.guards.commit(search.left(cuts, refused)[0])
    search.commit(cuts, accepted)


def _accept(
    search: Search,
    cuts: TriedCuts,
    waiting: IntArray,
    decoys: tuple[IntArray, IntArray, IntArray],
    accepted: BoolArray,
) -> None:
    """Accept cuts in order, each if it and its decoys are safe beside those before; by halves.

    Limits only become tighter, so what is safe beside all of a batch is safe one after the other.
    """
    if not len(waiting):
        return
    batch = np.zeros(len(accepted), dtype=bool)
    batch[waiting] = True
    bags, owner, cut_of = decoys  # bags of parts, the decoy of each, and the cut of each decoy
    is_decoy = batch[cut_of][owner]
    decoy = np.unique(owner[is_decoy], return_inverse=True)[1]
    before = search.guards
    if len(waiting) > 1:
        search.guards = before.copy()
        search.commit(cuts, batch)
    parts = batch[cuts.owner]
    proposal = np.unique(cuts.owner[parts], return_inverse=True)[1]
    is_safe = search.safe(cuts.bags[parts], proposal).all()
    if is_safe and search.quiet(bags[is_decoy], decoy).all():
        if len(waiting) == 1:
            search.commit(cuts, batch)
        accepted |= batch
        return
    search.guards = before
    if len(waiting) > 1:
        middle = len(waiting) // 2
        _accept(search, cuts, waiting[:middle], decoys, accepted)
        _accept(search, cuts, waiting[middle:], decoys, accepted)
