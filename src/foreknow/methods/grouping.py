"""Grouping: how a method groups the people of a table, with what it knows beside the groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.methods.fulldomain.result import LatticeResult
from foreknow.policy.policy import Policy


@dataclass(frozen=True)
class Grouping:
    """The groups that a method makes of a table.

    Attributes
    ----------
    of_row : int64 array, shape (rows,)
        The group of each row in the source's order, from 0; -1 for rows that are left out.
    floors : mapping of column to int64 array, optional
        At which level each group is written at least, by quasi-identifier; as deep as its members
        have in common when left out.
    lattice : LatticeResult, optional
        Among which generalizations the groups were chosen. For the owner.
    settled : object, optional
        The method with what it chose for this table by itself; what a certificate names.
    """

    of_row: IntArray
    floors: Mapping[str, IntArray] | None = None
    lattice: LatticeResult | None = None
    settled: Any = None


def grouping_of(
    method: Any, microdata: Microdata, policy: Policy, seed: int | None, *, explain: bool = False
) -> Grouping:
    """Let a method group a table, by `grouping` where it has one, else by `partition`.

    Where a class has both, the one that was overridden last counts.

    Parameters
    ----------
    method : Anonymizer
    microdata : Microdata
    policy : Policy
    seed : int, optional
    explain : bool
        Whether a search tells what it looked at, too.
    """
    for kind in type(method).__mro__:
        if "grouping" in vars(kind):
            found: Grouping = method.grouping(microdata, policy, seed, explain=explain)
            return found
        if "partition" in vars(kind):
            break
    return Grouping(method.partition(microdata, policy, seed=seed))
