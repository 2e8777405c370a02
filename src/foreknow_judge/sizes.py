"""Sizes: how many people each group has, or how many look alike by some columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from foreknow_judge.counting import GroupBags, Measured, distinct
from foreknow_judge.errors import CertificateError
from foreknow_judge.kinds import OfColumns, OfUnits


def gauge_size(held: GroupBags, settings: int | OfUnits) -> Measured:
    """The size of the smallest group."""
    if not isinstance(settings, int):
        raise CertificateError("wrong-setting", "group_size")
    at = int(held.people.argmin())
    people = int(held.people[at])
    return Measured(Fraction(people), held.group(at), people >= settings)


def gauge_k_anonymity(
    held: GroupBags, settings: int | OfColumns, columns: Sequence[str], cohort: str
) -> Measured:
    """The size of the smallest group; or the fewest people who are alike in one list of columns.

    Somebody who knows which release shows a person compares only people of that release.
    """
    if isinstance(settings, int):
        return gauge_size(held, settings)
    worst: tuple[int, int] | None = None
    for names in settings.of:
        if not isinstance(names, list) or not names or not {*names} <= {*columns}:
            raise CertificateError("wrong-setting", "k_anonymity")
        names = [*({cohort} & {*columns}), *names]
        _, sort = distinct(*(held.labels[columns.index(name)].codes for name in names))
        many = np.zeros(int(sort.max()) + 1, np.int64)
        np.add.at(many, sort, held.people)
        at = int(many[sort].argmin())
        found = int(many[sort[at]]), at
        worst = found if worst is None or found[0] < worst[0] else worst
    if worst is None:
        raise CertificateError("wrong-setting", "k_anonymity")
    return Measured(Fraction(worst[0]), held.group(worst[1]), worst[0] >= settings.k)
