"""Attack one's own release: run the method on the table, then reason as one who knows it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from foreknow.attacking.cases import limits_of
from foreknow.attacking.results import Attack, refuse_other_table
from foreknow.attacking.running import Runs, settings_of
from foreknow.attacking.saying_once import said_once
from foreknow.attacking.searching import believed
from foreknow.attacking.worlds import Worlds
from foreknow.errors import InputError
from foreknow.microdata import Microdata
from foreknow.policy import Policy

_log = logging.getLogger(__name__)
# Defaults: runs of the method, and seconds.
WORLDS, SECONDS = 10_000, 60.0


def attack(
    microdata: Microdata,
    method: Any,
    policy: Policy | None = None,
    *,
    groups: Any = None,
    worlds: int = WORLDS,
    seconds: float | None = SECONDS,
    seed: int | None = None,
    seeds: Sequence[int] | None = None,
    symmetric: bool | None = None,
) -> Attack:
    """Find out what somebody who knows the method learns from what it makes of a table.

    The method is run on the table. The adversary knows everybody's quasi-identifiers, the method
    with its settings and the policy, and sees the release: who is in which group, the values of
    each group, and in the generalized form its labels. They deal the values out in every way, run
    the method on each, and strike out what would have been released otherwise.

    Parameters
    ----------
    microdata : Microdata
        With one sensitive value per person.
    method : anonymizer, or callable
        Anything with ``partition(microdata, policy, seed)``; or a function from a PyArrow table,
        with all columns of the source, to the group of each row. See the notes.
    policy : Policy, optional
        What the method is given, and whose limits are compared with. Its `options` say in which
        form an anonymizer's groups are published; without a policy, only the groups are seen.
    groups : int array, optional
        The group of each row, if the release was made before.
    worlds : int
        Runs of the method. Where these are enough for all worlds, the result is exact; otherwise
        it is an estimate.
    seconds : float, optional
        Time budget; None for none. An estimate depends on it.
    seed : int, optional
        Of estimates; and of the lots for the release that is attacked, of a method that states
        its chances. The adversary does not know it.
    seeds : sequence of int, optional
        For a random method: the seeds it may draw, each as likely; the release is that of the
        first. One seed stands for a seed that everybody knows. A method's chances are then not
        asked for.
    symmetric : bool, optional
        Whether the method treats rows alike whatever their order, so that people with equal
        quasi-identifiers in one group can stand for each other: far fewer worlds. Known of our own
        methods, and of those with an attribute ``symmetric = True``; of methods that state chances
        it is asked over all lots, so it is not taken for granted where seeds are given.

    Returns
    -------
    Attack

    Raises
    ------
    NoSafeRelease
        If the method publishes nothing of the table.
    UnsupportedError
        If the method is random and says neither chances nor seeds.

    Notes
    -----
    A random method may have ``chance(microdata, policy, groups)``: the probability, as a fraction,
    that it makes these groups (one whole number for each row, -1 for rows that are left out) of a
    table; of `Streamliner` and `Anatomy` they are known. It may also have an attribute
    ``tells_frequencies_only = True``: a proof says that the posterior of everybody is the
    frequency in their group; that is taken on trust where there are too many worlds to look at.
    A function may return ``(groups, published)`` to say what else is published, compared with
    ``==``; and None for nothing. Rows whose group is negative or missing are left out of the
    release; their values are taken to be known as one more bag. Everything in the table but the
    sensitive values is taken to be known, the order of rows too.

    Examples
    --------
    A pipeline that separates people unless the first of them has HIV tells just that:

    >>> import pyarrow as pa
    >>> from foreknow.schema import Schema
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
    runs = Runs(microdata, method, policy, seeds, symmetric)
    codes = microdata.sensitive_codes
    limits = limits_of(policy, microdata)
    _log.info("running %s on the table", runs.name)
    with said_once(method):
        seen = (
            runs.make_first(codes, seed)
            if groups is None
            else runs.seen_as(refuse_other_table(groups, microdata), codes)
        )
        attributes = microdata.attributes if runs.symmetric else None
        dealt = Worlds.of(seen.groups, codes, len(microdata.values), attributes)
        reasoned = believed(dealt, runs, seen, worlds, seconds, seed, true=True)
    return Attack(
        settings_of(method),
        policy,
        dealt.n_people,
        dealt.n_groups,
        microdata,
        reasoned,
        limits,
        seen.left_out,
    )


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
