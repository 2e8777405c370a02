"""The counts and columns of a release, as adversaries and criteria ask for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from foreknow.adversaries.adversary import HasCounts
from foreknow.data.counts import GroupCounts
from foreknow.data.counts import counts_of as counts_of
from foreknow.data.labels.labels import Label
from foreknow.needs import RULES, Need, Needs, called, refuse_rules, require, several_values
from foreknow_judge.errors import InputError


def asked_of(adversary: Any, release: HasCounts, needs: Needs = RULES) -> GroupCounts:
    """The counts of a release that is asked about by itself, and not by a policy."""
    counts = counts_of(release)
    refuse_rules(f"{called(adversary)} without a policy", counts, needs)
    return counts


def signatures_of(adversary: Any, release: HasCounts) -> Callable[[Sequence[str]], Any]:
    """The function that gives everybody's columns; refused where a release lacks them."""
    counts, signatures = counts_of(release), getattr(release, "signatures", None)
    lacks = {**several_values(counts.semantics), Need.PEOPLE: signatures is None}
    require(adversary, lacks, lacks.keys())
    assert signatures is not None
    return signatures  # type: ignore[no-any-return]


def code_of(counts: GroupCounts, value: Label) -> int | None:
    """The code of a value; None where it occurs nowhere."""
    try:
        return counts.values.codes.get(value)
    except TypeError:
        raise InputError(f"{value!r} cannot be a sensitive value; give one label") from None
