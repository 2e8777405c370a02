"""The adversary's reasoning about one release: exact where there is time, else estimated."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from foreknow.adversaries.algorithm.beliefs import Beliefs
from foreknow.adversaries.algorithm.exact import NoWorldError, enumerated
from foreknow.adversaries.algorithm.mcmc import Budget, Steps, parts_of, walked
from foreknow.adversaries.algorithm.method_runner import Runs
from foreknow.adversaries.algorithm.observation import Seen
from foreknow.adversaries.algorithm.refutation import Search
from foreknow.adversaries.algorithm.sampling import Drawn, draws_for
from foreknow.adversaries.algorithm.worlds import Worlds
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError, UnsupportedError

_log = logging.getLogger(__name__)
# The part of the time that an enumeration may use up in vain, and of the rest the first draws.
_EXACT, _FIRST, _ESTIMATES = 0.6, 0.1, 0.7
# The part that is used to look for worlds far off, and then to see which of them belong together;
# how many of those known and of those found.
_SCATTER, _JOIN, _STARTS, _SCATTERED = 0.1, 0.2, 3, 4
# Below this share of kept draws, chains tell more.
_KEPT = 0.05
_FIRST_DRAWS = 400


@dataclass(frozen=True, eq=False)
class Reasoned:
    """What came of it.

    Attributes
    ----------
    beliefs : Beliefs
    not_refuted : int64 array
        Of an estimate: cells that have one value in all worlds met, though others were searched.
    unsettled : int64 array
        Of an estimate: cells that have one value in all worlds met, and were not searched enough.
    """

    beliefs: Beliefs
    not_refuted: IntArray
    unsettled: IntArray


def believed(
    worlds: Worlds,
    runs: Runs,
    seen: Seen,
    most: int,
    seconds: float | None,
    seed: int | None,
    true: bool,
) -> Reasoned:
    """Work out the posteriors of a release.

    Parameters
    ----------
    worlds : Worlds
    runs : Runs
    seen : Seen
    most : int
        Runs of the method.
    seconds : float, optional
    seed : int, optional
        Of estimates.
    true : bool
        Whether ``worlds.codes`` is a world that the release is possible in.

    Returns
    -------
    Reasoned

    Raises
    ------
    DataError
        If the release is possible in no world, or none was found.
    """
    budget = Budget.of(runs, most, seconds)
    exact = _known(worlds, runs, seen, most, budget)
    if exact is not None:
        none = np.empty(0, dtype=np.int64)
        return Reasoned(exact, none, none)
    _log.info("too many worlds: sampling them")
    random = np.random.default_rng(seed)
    before = runs.made
    budget = Budget(runs, runs.made + most, budget.until)
    drawn = Drawn(worlds, runs, seen, random)
    drawn.draw(budget.part(_FIRST), _FIRST_DRAWS)
    starts = ([worlds.codes] if true else []) + drawn.starts
    search = Search(worlds, runs, seen, random, drawn.total > 0)
    if not starts:
        found = search.find(worlds.codes, budget.part(_ESTIMATES))
        if found is None:
            raise _impossible(runs, f"none of {runs.made:,} ways tried")
        starts = [found]
    for start in starts[:1]:
        search.met |= worlds.tally(start) > 0
    if drawn.kept >= max(5, _KEPT * drawn.looked):
        part = budget.part(_ESTIMATES)
        drawn.draw(part, draws_for(part))
        beliefs = drawn.beliefs(before)
        starts += drawn.starts
    else:
        _log.info("few worlds are possible: walking among them")
        scattered = search.scatter(starts, _SCATTERED, budget.part(_SCATTER))
        steps = Steps(worlds, runs, seen, random)
        parts = parts_of([*starts[:_STARTS], *scattered], steps, budget.part(_JOIN))
        beliefs, met = walked(steps, parts, budget.part(_ESTIMATES))
        starts += scattered
        starts += met
    runs.check_again(starts, seen, budget.until)
    search.met |= beliefs.seen
    if len(search.suspected):
        _log.info("looking for worlds against %d suspicions", len(search.suspected))
        search.refute(starts, budget)
    beliefs = replace(beliefs, seen=search.met, runs=runs.made - before)
    suspected, settled = search.suspected, search.settled
    return Reasoned(beliefs, suspected[settled[suspected]], suspected[~settled[suspected]])


def _known(worlds: Worlds, runs: Runs, seen: Seen, most: int, budget: Budget) -> Beliefs | None:
    """What enumeration or a proof says; None where there is too much to look at.

    Raises
    ------
    UnsupportedError
        If the method's chances cannot be told, and no proof says anything.
    """
    ways = runs.refined(seen).number if runs.chances else 1
    share = len(runs.seeds or (1,)) * (ways or 1)
    _log.info("running %s on every world", runs.name)
    try:
        if ways is not None:
            found = enumerated(worlds, runs, seen, most // share, budget.part(_EXACT).until)
            if found is not None:
                return found
        return _proved(worlds, runs, seen, ways)
    except NoWorldError:
        raise _impossible(runs, "no way") from None
    except UnsupportedError:  # too large a table for the method's chances
        if not runs.chances or not runs.trust.frequencies:
            raise
        return _proved(worlds, runs, seen, None)


def _proved(worlds: Worlds, runs: Runs, seen: Seen, ways: int | None) -> Beliefs | None:
    """What a proof says, if the release is possible at all.

    Whoever sees groups believes the frequencies in them. Groups of one label are one group to a
    reader, who believes the mean of what they would believe of the groups behind it, as likely as
    these are. That is the frequency in the one group if it can be no other, or if all groups are
    equally large and anybody might be in any: then each of them holds the same on average. It is
    never above what no group exceeds.

    Raises
    ------
    NoWorldError
        If the release is possible in no world. Where a proof holds, a method that looks at values
        alone makes a release of all worlds that agree with it, or of none.
    UnsupportedError
        If there are too many groups that readers may take for these, and no proof helps.
    """
    if not runs.chances:
        return None
    trust, refined = runs.trust, runs.refined(seen)
    alike = trust.whole is not None and not worlds.n_people % trust.whole
    if trust.frequencies and (alike or refined.one.all()):
        if ways is not None and not runs.weight(worlds.codes, seen):
            raise NoWorldError
        return Beliefs.of_frequencies(worlds, runs.made)
    if trust.highest is not None:
        return Beliefs.of_bound(worlds, runs.made, trust.highest, refined.one)
    if refined.number is None:
        raise UnsupportedError(
            f"to a reader of the generalized form, groups of {runs.name} with equal labels are one "
            "group, and there are too many ways to divide them; attack the bucketized form, "
            'options with form="bucketized"'
        )
    return None


def _impossible(runs: Runs, said: str) -> DataError:
    return DataError(
        f"{said} of dealing out the values makes {runs.name} publish these groups; is it the "
        "method, with the settings, policy and quasi-identifiers, that made the release?"
    )
