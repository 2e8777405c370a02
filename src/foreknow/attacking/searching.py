"""The adversary's reasoning about one release: exact where there is time, else estimated."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

import numpy as np

from foreknow.attacking.beliefs import Beliefs
from foreknow.attacking.chains import walked
from foreknow.attacking.clock import Budget
from foreknow.attacking.exact import NoWorldError, enumerated
from foreknow.attacking.parts import parts_of
from foreknow.attacking.refuting import Search
from foreknow.attacking.running import Runs
from foreknow.attacking.sampling import Drawn, draws_for
from foreknow.attacking.seeing import Seen
from foreknow.attacking.steps import Steps
from foreknow.attacking.worlds import Worlds
from foreknow.errors import DataError, UnsupportedError
from foreknow.sparse import IntArray

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
    share = 1 if runs.seeds is None else len(runs.seeds)
    _log.info("running %s on every world", runs.name)
    try:
        exact = enumerated(worlds, runs, seen, most // share, budget.part(_EXACT).until)
        if exact is None and runs.frequencies:
            exact = _proved(worlds, runs, seen)
    except NoWorldError:
        raise _impossible(runs, "no way") from None
    except UnsupportedError:  # too large a table for the method's chances
        if not runs.frequencies:
            raise
        exact = Beliefs.of_frequencies(worlds, runs.made)
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
    search.met |= beliefs.seen
    if len(search.suspected):
        _log.info("looking for worlds against %d suspicions", len(search.suspected))
        search.refute(starts, budget)
    beliefs = replace(beliefs, seen=search.met, runs=runs.made - before)
    suspected, settled = search.suspected, search.settled
    return Reasoned(beliefs, suspected[settled[suspected]], suspected[~settled[suspected]])


def _proved(worlds: Worlds, runs: Runs, seen: Seen) -> Beliefs:
    """What a proof says, if the release is possible at all.

    Raises
    ------
    NoWorldError
        If it is not. Where a proof holds, a method that looks at values alone makes a release of
        all worlds that agree with it, or of none.
    """
    if not runs.weight(worlds.codes, seen):
        raise NoWorldError
    return Beliefs.of_frequencies(worlds, runs.made)


def _impossible(runs: Runs, said: str) -> DataError:
    return DataError(
        f"{said} of dealing out the values makes {runs.name} publish these groups; is it the "
        "method, with the settings, policy and quasi-identifiers, that made the release?"
    )
