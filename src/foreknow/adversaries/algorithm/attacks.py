"""Attack one's own release: run the method on the table, then reason as one who knows it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from foreknow.adversaries.algorithm.estimate import Budget, estimated
from foreknow.adversaries.algorithm.exact import NoWorldError, Posteriors, enumerated, proved
from foreknow.adversaries.algorithm.method_runner import Runs, said_once
from foreknow.adversaries.algorithm.observation import Observation
from foreknow.adversaries.algorithm.results import Attack, limits_of
from foreknow.adversaries.algorithm.traits import settings_of
from foreknow.adversaries.algorithm.worlds import Codes, Worlds
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError, InputError, UnsupportedError
from foreknow.policy.policy import Policy

_log = logging.getLogger(__name__)
# Defaults: runs of the method, and seconds.
WORLDS, SECONDS = 10_000, 60.0
# The part of the time that an enumeration may use up in vain.
_EXACT = 0.6
# Worlds that a method is tried on which is said to treat rows alike.
_SWAPPED = 6


def attack(
    microdata: Microdata,
    method: Any,
    policy: Policy | None = None,
    *,
    groups: Any = None,
    nothing: bool = False,
    worlds: int = WORLDS,
    seconds: float | None = SECONDS,
    seed: int | None = None,
    seeds: Sequence[int] | None = None,
    symmetric: bool | None = None,
) -> Attack:
    """Find out what an adversary who knows the method learns from what it makes of a table.

    The method is run on the table. The adversary knows everybody's quasi-identifiers, the method
    with its settings and the policy, and sees the release: who is in which group, the values of
    each group, and in the generalized form its labels. They assign the values in every way, run
    the method on each, and strike out what would have been released otherwise.

    Parameters
    ----------
    microdata : Microdata
        With one sensitive value per person.
    method : anonymizer, or callable
        Anything with ``partition(microdata, policy, seed)``; or a function from a PyArrow table,
        with all columns of the source, to the group of each row, or to the table that is
        published. See the notes.
    policy : Policy, optional
        What the method is given, and whose limits are compared with. Its `options` say in which
        form an anonymizer's groups are published; without a policy, only the groups are seen.
    groups : int array, optional
        The group of each row, if the release was made before.
    nothing : bool
        Attack a refusal: the method publishes nothing of the table. The adversary is taken to
        know how often each sensitive value occurs in it, besides everybody's quasi-identifiers
        and the method. Adversaries who know less are not judged.
    worlds : int
        Runs of the method. Where these are enough for all worlds, the result is exact; otherwise
        it is an estimate. Some worlds are run a second time besides.
    seconds : float, optional
        Time budget; None for none. An estimate depends on it.
    seed : int, optional
        Random seed for estimates, and for the release that is attacked, of a method that states
        its chances. The adversary does not know it.
    seeds : sequence of int, optional
        For a random method: the seeds it may draw, each as likely; the release is that of the
        first. A single seed is assumed public. A method's chances are then not asked for. A
        function gets it as ``seed=``.
    symmetric : bool, optional
        Whether the method treats rows alike whatever their order, so that people with equal
        quasi-identifiers in one group can stand for each other: far fewer worlds. Known of our own
        methods, and of those with an attribute ``symmetric = True``; of methods that state chances
        it is meant over all that they may draw, so it is not assumed where seeds are given.

    Returns
    -------
    Attack

    Raises
    ------
    NoSafeRelease
        If the method publishes nothing of the table.
    UnsupportedError
        If the method is seen to be random and says neither chances nor seeds; or readers of the
        generalized form may take so many groups for these that chances do not tell.

    Notes
    -----
    A method that states no chances is taken to be deterministic: its release depends on the table
    alone, not on what was run before. It is refused where it is seen not to be: it is tried several
    times at first, and again on worlds that were looked at. What a class inherits from a method of
    ours (that it treats rows alike, its chances, its proofs) does not count for it.

    A random method may have ``chance(microdata, policy, groups)``: the probability, as a fraction,
    that it makes these groups (one whole number for each row, -1 for rows that are left out) of a
    table; `Streamliner` and `Anatomy` have it. It may also have ``tells_frequencies_only = True``:
    a proof says that everybody's posterior is the frequency in their group; that is taken on trust
    where there are too many worlds to look at.

    A function may return ``(groups, published)`` to say what else is published, compared with
    ``==``; tables by how often they have each row. It may return a published table alone, a
    `Publication` or a `Release`: it is then not known who is in which group, so all worlds are
    those of the whole table, of which it is known how often each value occurs. None is nothing,
    as is `NoSafeRelease`, and exact counting of `Safe` or `Jump` that is beyond reach.

    Rows whose group is negative or missing are left out of the release; their values are taken to
    be known as one more bag. Everything in the table but the sensitive values is taken to be known,
    the order of rows too.

    Examples
    --------
    A pipeline that separates people unless the first of them has HIV tells just that:

    >>> import pyarrow as pa
    >>> from foreknow.data.schema import Schema
    >>> people = pa.table({"age": [30, 40], "disease": ["HIV", "Flu"]})
    >>> def pipeline(table):
    ...     return [0, 0] if table["disease"][0].as_py() == "HIV" else [0, 1]
    >>> found = attack(
    ...     Microdata(people, Schema(quasi_identifiers=["age"], sensitive="disease")), pipeline
    ... )
    >>> found.certain, found.n_worlds, found.consistent
    ((1, 2), 2, 1)
    """
    check_budget(worlds, seconds, seed)
    if not isinstance(nothing, bool):
        raise InputError(f"nothing is True or False, not {nothing!r}")
    if symmetric is not None and not isinstance(symmetric, bool):
        raise InputError(f"symmetric is True or False, not {symmetric!r}")
    if nothing and groups is not None:
        raise InputError("groups are of a release; where nothing is published there is none")
    runs = Runs(microdata, method, policy, seeds, symmetric)
    codes = microdata.sensitive_codes
    limits = limits_of(policy, microdata)
    _log.info("running %s on the table", runs.name)
    with said_once(method):
        if nothing:
            seen = runs.make_nothing(codes)
        elif groups is None:
            seen = runs.make_first(codes, seed)
        else:
            seen = runs.make_again(_groups_of_table(groups, microdata), codes)
        attributes = microdata.attributes if runs.symmetric else None
        of_release = Worlds.of(seen.groups, codes, len(microdata.values), attributes)
        runs.check_symmetric(_swapped(of_release), seen)
        found = infer(of_release, runs, seen, worlds, seconds, seed, true=True)
    return Attack(settings_of(method), policy, microdata, found, limits, seen.left_out, seen.what)


def infer(
    worlds: Worlds,
    runs: Runs,
    seen: Observation,
    most: int,
    seconds: float | None,
    seed: int | None,
    true: bool,
) -> Posteriors:
    """The posteriors of a release: exact where there is time, else a proof, else an estimate.

    `most` runs of the method; `true` says that ``worlds.codes`` is possible.
    """
    start = time.monotonic()
    until, part = (None if seconds is None else start + seconds * x for x in (1, _EXACT))
    ways = runs.refined(seen).number if runs.chances else 1
    share = len(runs.seeds or (1,)) * (ways or 1)
    _log.info("running %s on every world", runs.name)
    tried = "no way"
    try:
        try:
            found = None if ways is None else enumerated(worlds, runs, seen, most // share, part)
            found = found or proved(worlds, runs, seen, ways)
        except UnsupportedError:  # too large a table for the method's chances
            if not runs.chances or not runs.known.frequencies:
                raise
            found = proved(worlds, runs, seen, None)
        if found is not None:
            return found
        tried = f"none of {most:,} ways tried"
        return estimated(worlds, runs, seen, Budget(runs, runs.made + most, until), seed, true)
    except NoWorldError:
        raise DataError(
            f"{tried} of assigning the values makes {runs.name} publish these groups; is it the "
            "method, with the settings, policy and quasi-identifiers, that made the release?"
        ) from None


def _swapped(worlds: Worlds) -> Iterator[Codes]:
    """The true world, and some in which people of one cell changed places."""
    random = np.random.default_rng(0)
    yield worlds.codes
    order = np.lexsort((worlds.cell_of,))
    for _ in range(_SWAPPED if worlds.n_cells < worlds.n_people else 0):
        found = worlds.codes.copy()
        found[order] = worlds.codes[np.lexsort((random.random(len(order)), worlds.cell_of))]
        yield found


def _groups_of_table(groups: Any, microdata: Microdata) -> IntArray:
    """The groups of a release that was made of a table; refused if not one for each row."""
    try:
        of_row = np.asarray(groups)
    except ValueError:
        of_row = np.empty(0, dtype=np.int64)
    if of_row.shape != (microdata.n_rows,) or of_row.dtype.kind not in "iu":
        raise DataError(f"groups must be one whole number for each of the {microdata.n_rows} rows")
    return of_row[microdata.kept].astype(np.int64)


def check_budget(worlds: int, seconds: float | None, seed: int | None) -> None:
    """Refuse budgets and seeds that are none."""
    if isinstance(worlds, bool) or not isinstance(worlds, int) or worlds < 1:
        raise InputError(f"worlds must be a whole number from 1, not {worlds!r}")
    if seconds is not None and (
        isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0
    ):
        raise InputError(f"seconds must be above 0, not {seconds!r}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise InputError(f"the seed must be a whole number from 0, not {seed!r}")
