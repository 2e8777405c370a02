"""Sizes: how many people each group has, or how many look alike by some columns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from operator import itemgetter

from foreknow_judge.counts.group_bags import GroupBags, Measured, distinct, sums_at
from foreknow_judge.criteria.gauge import Gauge
from foreknow_judge.errors import CertificateError
from foreknow_judge.policy.settings import FromOne, Settings


class OfUnits(Settings):
    """``{ k = 5, of = "household_id" }``: the table of a size that is not of rows."""

    k: FromOne
    of: str


class OfColumns(Settings):
    """``{ k = 11, of = [["age", "sex"], ["zip"]] }``: of people who share some columns."""

    k: FromOne
    of: str | list[str] | list[list[str]]


def gauge_size(groups: GroupBags, settings: int | OfUnits) -> Measured:
    """The size of the smallest group."""
    if not isinstance(settings, int):
        raise CertificateError("wrong-setting", "group_size")
    group = int(groups.people.argmin())
    people = int(groups.people[group])
    return Measured(Fraction(people), groups.group(group), people >= settings)


def gauge_k_anonymity(
    groups: GroupBags, settings: int | OfColumns, columns: Sequence[str], cohort: str
) -> Measured:
    """The size of the smallest group; or the fewest people who are alike in one list of columns.

    `settings` is k, or has such lists. `columns` names the group columns; `cohort` is the one that
    says which release shows a person. Whoever knows that compares only people of this release, so
    the column, if there is one, belongs to every list.
    """
    if isinstance(settings, int):
        return gauge_size(groups, settings)
    sizes_and_groups = []
    for names in settings.of:
        if not isinstance(names, list) or not names or not {*names} <= {*columns}:
            raise CertificateError("wrong-setting", "k_anonymity")
        names = [*({cohort} & {*columns}), *names]
        # Groups with equal labels in these columns are of one kind; its people are alike.
        _, kind = distinct(*(groups.labels[columns.index(name)].codes for name in names))
        n_alike = sums_at(kind, groups.people, int(kind.max()) + 1)[kind]  # for each group
        group = int(n_alike.argmin())
        sizes_and_groups.append((int(n_alike[group]), group))
    if not sizes_and_groups:
        raise CertificateError("wrong-setting", "k_anonymity")
    fewest, group = min(sizes_and_groups, key=itemgetter(0))
    return Measured(Fraction(fewest), groups.group(group), fewest >= settings.k)


GAUGES = {
    "group_size": Gauge(gauge_size, settings=FromOne | OfUnits, of_people=True),
    "k_anonymity": Gauge(
        gauge_k_anonymity,
        settings=FromOne | OfColumns,
        of_people=True,
        of_classes=True,
        of_columns=True,
        of_releases=True,
    ),
}
