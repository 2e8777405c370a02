"""The chance that Streamliner makes some groups: exact, over all lots that it may draw.

RDA and GDA plan their groups first, from what everybody knows of a world; then people of one kind
are dealt to the places of that kind by lot. For RDA a kind is a colour, for GDA a colour and a
rank. GSA is RDA on tables that are too small to be divided; for larger ones its chance is not
worked out. For RIA see `foreknow.methods.streamliner.ria`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import NoSafeRelease, UnsupportedError
from foreknow.methods.likelihood import bags_of, dealt_chance
from foreknow.methods.streamliner.gda import by_rank, plan_gda
from foreknow.methods.streamliner.gsa import plan_undivided
from foreknow.methods.streamliner.rda import Colours, Plan, deal, plan_rda
from foreknow.methods.streamliner.ria import chance_of_ria


def chance_of_streamliner(
    microdata: Microdata,
    sizes: IntArray,
    variant: str,
    l: int,  # noqa: E741
    weights: Mapping[str, int],
    groups: IntArray,
) -> Fraction:
    """How probable some groups of an l-eligible table are, whatever they are called.

    Parameters
    ----------
    microdata : Microdata
    sizes : int64 array, shape (values,)
        How often each value occurs.
    variant : {"rda", "ria", "gda", "gsa"}
    l : int
    weights : mapping of str to int
        Of quasi-identifiers, for ``gda``.
    groups : int64 array, shape (people,)

    Raises
    ------
    UnsupportedError
        For ``gsa``, if the table is large enough to be divided; for ``ria``, if it is too large.
    """
    codes = microdata.sensitive_codes
    if variant == "ria":
        return chance_of_ria(bags_of(codes, groups), sizes, l)
    if variant == "gda":
        return _chance_of_gda(microdata, sizes, l, weights, groups)
    plan = plan_rda(sizes, l) if variant == "rda" else plan_undivided(sizes, l)
    if plan is None:
        raise UnsupportedError(
            f"the chance of groups that gsa makes of {len(codes):,} people is not worked out, only "
            "of tables that it does not divide; that the posterior is the frequency in the group "
            "is proved for any"
        )
    return _dealt(plan, Colours.of(codes, sizes), codes, groups)


def _chance_of_gda(
    microdata: Microdata,
    sizes: IntArray,
    l: int,  # noqa: E741
    weights: Mapping[str, int],
    groups: IntArray,
) -> Fraction:
    """Equal people by lot; all else follows from ranks."""
    lots = np.random.default_rng(0)  # whichever: what is asked of the people are their kinds
    codes = microdata.sensitive_codes
    runs, people = by_rank(codes, len(sizes), microdata.attributes, weights, lots)
    kinds = np.empty(len(codes), dtype=np.int64)
    kinds[people.people] = np.repeat(np.arange(len(runs.sizes)), runs.sizes)
    try:
        plan = plan_gda(runs, microdata.values, l)
    except NoSafeRelease:  # it is stuck
        return Fraction(0)
    return _dealt(plan, people, kinds, groups)


def _dealt(plan: Plan, people: Colours, kinds: NDArray[Any], groups: IntArray) -> Fraction:
    return dealt_chance(bags_of(kinds, deal(plan, people)), bags_of(kinds, groups))
