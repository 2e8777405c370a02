"""Utility: what a release is still worth; per attribute and as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from foreknow.counts import GroupCounts
from foreknow.microdata import Attribute, Microdata
from foreknow.sparse import IntArray, count_pairs


@dataclass(frozen=True)
class Utility:
    """Measures of one release.

    Attributes
    ----------
    people, groups : int
    average_group_size : float
        People per group, on average over groups.
    largest_group, smallest_group : int
    discernibility : int
        Sum of squared group sizes (Bayardo and Agrawal): how many others each person is
        confused with, summed over people.
    ncp : dict of str to float
        Normalized certainty penalty (Xu et al.) of each quasi-identifier, averaged over people:
        0 when every value is exact, 1 when each is as wide as the whole domain. Empty where the
        original table is not at hand.
    """

    people: int
    groups: int
    average_group_size: float
    smallest_group: int
    largest_group: int
    discernibility: int
    ncp: dict[str, float]

    @property
    def average_ncp(self) -> float | None:
        """Mean NCP over the quasi-identifiers; None where it is not known."""
        return sum(self.ncp.values()) / len(self.ncp) if self.ncp else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "people": self.people,
            "groups": self.groups,
            "average_group_size": self.average_group_size,
            "smallest_group": self.smallest_group,
            "largest_group": self.largest_group,
            "discernibility": self.discernibility,
            "ncp": dict(self.ncp),
            "average_ncp": self.average_ncp,
        }


def utility_of(
    counts: GroupCounts,
    microdata: Microdata | None = None,
    groups: IntArray | None = None,
    floors: Mapping[str, IntArray] | None = None,
) -> Utility:
    """Measure a release.

    Parameters
    ----------
    counts : GroupCounts
    microdata : Microdata, optional
        The original table, for the NCP.
    groups : int64 array, shape (people,), optional
        The group of each published row, in the order of the microdata.
    floors : mapping of column to int64 array, shape (groups,), optional
        The least level of generalization that each group is published at.
    """
    sizes = counts.sizes
    ncp = {}
    if microdata is not None and groups is not None:
        members = np.bincount(groups)
        for attribute in microdata.attributes:
            floor = (floors or {}).get(attribute.name)
            widths = ncp_of_groups(attribute, groups, len(members), floor)
            ncp[attribute.name] = float((widths * members).sum() / members.sum())
    return Utility(
        people=counts.n_people,
        groups=counts.n_groups,
        average_group_size=counts.n_people / max(counts.n_groups, 1),
        smallest_group=int(sizes.min()) if len(sizes) else 0,
        largest_group=int(sizes.max(initial=0)),
        discernibility=sum(size * size for size in sizes.tolist()),
        ncp=ncp,
    )


def ncp_of_groups(
    attribute: Attribute, groups: IntArray, n_groups: int, floor: IntArray | None = None
) -> Any:
    """Width of each group along an attribute, as a share of the whole domain.

    Parameters
    ----------
    attribute : Attribute
    groups : int64 array, shape (people,)
    n_groups : int
    floor : int64 array, shape (groups,), optional
        The least level of generalization that each group is published at.

    Returns
    -------
    float64 array, shape (groups,)
        For numbers and dates the range; for sets the number of values less one; for hierarchies
        the leaves below the group's node less one; each divided by the same of the domain.
    """
    offsets, codes, _ = count_pairs(groups, attribute.codes, n_groups, len(attribute.domain))
    low, high = codes[offsets[:-1]], codes[offsets[1:] - 1]
    if attribute.ancestors:
        width = np.zeros(n_groups)
        least = np.zeros(n_groups, dtype=np.int64) if floor is None else floor
        inside = (low == high) & (least == 0)
        for level, nodes in enumerate(attribute.ancestors, 1):
            leaves = np.bincount(nodes)
            fits = ~inside & (nodes[low] == nodes[high]) & (least <= level)
            width[fits] = leaves[nodes[low[fits]]] - 1.0
            inside |= fits
        return width / max(len(attribute.domain) - 1, 1)
    if attribute.order == "ordered":
        place = attribute.positions
        width = (place[high] - place[low]) / (float(place[-1] - place[0]) or 1.0)
    else:
        width = (np.diff(offsets) - 1.0) / max(len(attribute.domain) - 1, 1)
    if floor is not None and len(attribute.domain) > 1:
        width[floor > 0] = 1.0
    return width
