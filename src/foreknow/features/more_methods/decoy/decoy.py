"""Decoy: Mondrian for adversaries who know the method; a refused cut may be a decoy's fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from foreknow.call_hints import hints
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.microdata import Microdata
from foreknow.features.more_methods.decoy.deals import Deal
from foreknow.features.more_methods.decoy.guards import (
    AMOUNTS,
    DECOYS_IF_INTERACTING,
    Guards,
    reaches_of,
)
from foreknow.features.more_methods.decoy.search import Decoys, Outcome, Search, TriedCuts
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
from foreknow.policy.way_out import no_safe_release
from foreknow.randomness import generator
from foreknow_judge.errors import InputError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.policy.settings import FromOne, Settings

# Decoys that are drawn at once, where groups bear on one another.
_TOGETHER = 1 << 14


class DecoySettings(Settings):
    """``[publish.decoy]`` in a policy file."""

    cuts: FromOne = 5


@hints(ADVICE)
@dataclass(frozen=True)
class Decoy(Grouper):
    """Groups of similar people that keep the policy even if adversaries know the method.

    Groups are divided top-down, as in `Mondrian`, but one cut is tried for each group. It is chosen
    by what everybody may know: quasi-identifiers, and how often each value occurs in the group. The
    cut is judged together with *decoys*: the same cut of the same group, with its values given to
    its people at random. The cut is accepted only if the true groups and all decoys keep the
    policy. So somebody who sees that a group was not divided does not know whether the true values
    are the reason. The groups that follow a refusal are drawn before the decision: people are dealt
    at random into as many small groups as keep the policy for adversaries who know all that.

    Parameters
    ----------
    cuts : int
        The number of candidate cuts per attribute and group: those that divide it most evenly.

    Notes
    -----
    The proof is in docs/research/decoys.md. The method keeps limits of `Facts`, `Negations` and
    `Implications`, and every criterion that declares what it `speaks` of; others are refused. **The
    seed must be secret**: somebody who knows it knows the decoys. Random numbers come from the
    system's entropy unless a seed is given, so give one in tests only.

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

        Raises `PolicyError` for a policy with a limit that this method has no proof for.
        """
        random = generator(seed, "Decoy")
        search = self._start(microdata, policy)
        search.run(lambda search, cuts: _decide_cuts(search, cuts, random))
        return Grouping(microdata.rows_of(search.finish(random)))

    def _start(self, microdata: Microdata, policy: Policy | None) -> Search:
        """The search with one group of everybody; raises `NoSafeRelease` if that is not safe."""
        policy = asked_policy(self, policy, microdata)
        check_needs(self, policy)
        _refuse_unproved(policy)
        everyone = microdata.everyone()
        # Everybody in one group is the coarsest release: if that is unsafe, so is any other.
        failures = policy.failures(everyone)
        if failures:
            raise no_safe_release(nothing_safe(everyone.n_people, failures), policy, everyone)
        points = Points.of(microdata)
        guards = Guards.of(policy, everyone)
        may_cut = True
        # If the safety of a group depends on others, a refusal anywhere bears on all groups. So all
        # are judged by the lowered limits; if even one group breaks these, nothing is cut.
        if guards.groups_interact:
            stricter = Guards.of(policy, everyone, DECOYS_IF_INTERACTING)
            one_group = np.zeros(1, dtype=np.int64)
            may_cut = bool(stricter.evaluate(everyone, one_group).safe_each()[0])
            guards = stricter if may_cut else guards
        return Search(points, microdata, guards, self.cuts, may_cut)

    @property
    def traits(self) -> Traits:
        """The traits of the method: its releases hold the policy even if an adversary knows it."""
        return Traits(
            consults_policy=True,
            symmetric=True,
            needs=ONE_COLUMN,
            random=True,
            proof=_PROOF,
            notes=lambda policy, seed: notes_of_seed(seed),
            advice="another method may serve it",
        )


def _refuse_unproved(policy: Policy) -> None:
    for requirement in policy.requirements:
        reaches_of(requirement)


def _is_kept(policy: Policy) -> bool:
    """True if all limits of a policy are such that decoys keep them; others are refused."""
    try:
        _refuse_unproved(policy)
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
    """Accept the cuts that are safe and whose decoys all are.

    A decoy is the same cut with values dealt at random. The deal says into which small groups
    people go if their cut is refused; it is drawn before, so that it does not depend on the
    decision.
    """
    n_deals = np.ones(search.n_groups, dtype=np.int64)
    n_deals[cuts.group] = cuts.n_deals
    deal = search.draw_deal(search.group_of_people(), n_deals, random)
    if search.guards.groups_interact:
        return _decide_together(search, cuts, deal, random)
    return _decide_apart(search, cuts, deal, random)


def _decide_apart(
    search: Search, cuts: TriedCuts, deal: Deal, random: np.random.Generator
) -> Outcome:
    """Decide about each cut by itself, if the safety of a group does not depend on others.

    A cut is accepted if its parts and all its decoys are safe. A few decoys are drawn at a time:
    most cuts that are refused are refused by the first.
    """
    n_cuts = len(cuts.group)
    possible = search.safe(cuts.bags, cuts.owner)
    n_drawn = np.zeros(n_cuts, dtype=np.int64)
    while True:
        # Some decoys first, then up to three times as many as before, until each cut has had its
        # number.
        n_new = np.minimum(np.maximum(3 * n_drawn, AMOUNTS[0]), cuts.decoys - n_drawn)
        drawing = np.flatnonzero(possible & (n_new > 0))
        if not len(drawing):
            return Outcome(np.ones(n_cuts, dtype=bool), possible, deal)
        decoys = search.decoys(cuts, drawing, n_new[drawing], deal, random)
        possible[_cuts_with_unsafe_decoy(search, decoys)] = False
        n_drawn[drawing] += n_new[drawing]


def _decide_together(
    search: Search, cuts: TriedCuts, deal: Deal, random: np.random.Generator
) -> Outcome:
    """Decide about the cuts of a level one after the other, where groups bear on one another.

    A cut is accepted if its parts and its decoys are safe beside the cuts that were accepted
    before. Guards (the limits of the policy) remember accepted groups; they are restored at the
    end.
    """
    n_cuts = len(cuts.group)
    guards_before = search.guards
    search.guards = guards_before.copy()
    try:
        # First choose the cuts that may be tried: those whose refusals would be safe together.
        refusals = search.groups_if_refused(cuts, np.ones(n_cuts, dtype=bool))
        is_tried = search.guards.evaluate(*refusals).accept_greedily()
        waiting = np.flatnonzero(is_tried & search.safe(cuts.bags, cuts.owner))
        accepted = np.zeros(n_cuts, dtype=bool)
        # A batch of cuts at a time, as many as memory allows.
        step = max(_TOGETHER // int(cuts.decoys.max()), 1)
        for start in range(0, len(waiting), step):
            drawing = waiting[start : start + step]
            decoys = search.decoys(cuts, drawing, cuts.decoys[drawing], deal, random)
            safe_alone = np.setdiff1d(drawing, _cuts_with_unsafe_decoy(search, decoys))
            _accept_in_turn(search, cuts, safe_alone, decoys, accepted)
    finally:
        search.guards = guards_before
    _commit_outcome(search, cuts, is_tried, accepted)
    return Outcome(is_tried, accepted, deal)


def _cuts_with_unsafe_decoy(search: Search, decoys: Decoys) -> IntArray:
    """The cut of each decoy that is not safe, after exchanges of some of its values."""
    return decoys.cut_of[~search.safe_if_exchanged(decoys.bags, decoys.owner)]


def _commit_outcome(
    search: Search, cuts: TriedCuts, is_tried: BoolArray, accepted: BoolArray
) -> None:
    """Record the groups of accepted cuts, and those that people are dealt into after refusals.

    Later cuts are judged beside them.
    """
    refused = is_tried & ~accepted
    if refused.any():
        search.guards.commit(search.groups_if_refused(cuts, refused)[0])
    search.commit(cuts, accepted)


def _accept_in_turn(
    search: Search,
    cuts: TriedCuts,
    candidates: IntArray,
    decoys: Decoys,
    accepted: BoolArray,
) -> None:
    """Mark in `accepted` those candidates that, with their decoys, are safe beside those before.

    All are tried at once, and if that fails, each half: limits only become tighter, so if a batch
    is safe beside all its groups, its cuts are safe one after the other.
    """
    if not len(candidates):
        return
    in_batch = np.zeros(len(accepted), dtype=bool)
    in_batch[candidates] = True
    bags, owner, cut_of = decoys
    is_decoy = in_batch[cut_of][owner]
    # Judged are the decoys and the parts of these cuts only, numbered from 0.
    decoy_number = np.unique(owner[is_decoy], return_inverse=True)[1]
    guards_before = search.guards
    # Each is judged beside all others of the batch, as if these were accepted.
    if len(candidates) > 1:
        search.guards = guards_before.copy()
        search.commit(cuts, in_batch)
    parts = in_batch[cuts.owner]
    proposal = np.unique(cuts.owner[parts], return_inverse=True)[1]
    is_safe = search.safe(cuts.bags[parts], proposal).all()
    if is_safe and search.safe_if_exchanged(bags[is_decoy], decoy_number).all():
        # A batch was recorded before it was judged; a single cut is recorded now.
        if len(candidates) == 1:
            search.commit(cuts, in_batch)
        accepted |= in_batch
        return
    search.guards = guards_before  # forget the batch
    if len(candidates) > 1:
        middle = len(candidates) // 2
        _accept_in_turn(search, cuts, candidates[:middle], decoys, accepted)
        _accept_in_turn(search, cuts, candidates[middle:], decoys, accepted)
