"""Sizes: how many people each group has, or how many look alike by some columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow_judge.counting import GroupBags, Measured, distinct
from foreknow_judge.diversity import require_keys, size_of
from foreknow_judge.errors import CertificateError


def gauge_size(key: str, held: GroupBags, k: Any) -> Measured:
    """The size of the smallest group."""
    least, at = size_of(k, key), int(held.people.argmin())
    people = int(held.people[at])
    return Measured(Fraction(people), held.group(at), people >= least)


def gauge_k_anonymity(held: GroupBags, given: Any, columns: Sequence[str], cohort: str) -> Measured:
    """The size of the smallest group; or the fewest people who are alike in one list of columns.

    Somebody who knows which release shows a person compares only people of that release.
    """
    if not isinstance(given, Mapping):
        return gauge_size("k_anonymity", held, given)
    require_keys(given, "k_anonymity", {"k", "of"}, {"k", "of"})
    worst: tuple[int, int] | None = None
    for names in given["of"] if isinstance(given["of"], list) else ():
        if not isinstance(names, list) or not names or not {*map(str, names)} <= {*columns}:
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
    holds = worst[0] >= size_of(given["k"], "k_anonymity")
    return Measured(Fraction(worst[0]), held.group(worst[1]), holds)
