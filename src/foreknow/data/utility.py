"""Utility: what a release is still worth; per attribute and as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foreknow.call_hints import Plain
from foreknow.data.arrays import IntArray
from foreknow.data.counts import GroupCounts, counts_of
from foreknow.data.labels.generalization import coarsened, style_of
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.errors import refuse_other_type
from foreknow.result_pages import page_of
from foreknow_judge.errors import InputError


@dataclass(frozen=True)
class Utility(Plain):
    """Measures of one release.

    Attributes
    ----------
    people, groups : int
        The numbers of people and of groups.
    average_group_size : float
        The number of people divided by the number of groups.
    largest_group, smallest_group : int
        The sizes of the largest and smallest group.
    discernibility : int
        The sum of squared group sizes (Bayardo and Agrawal): for each person the size of their
        group, added up over people. `optimal_discernibility` is the least possible value.
    ncp : dict of str to float
        The normalized certainty penalty (Xu et al.) of each quasi-identifier, averaged over
        people: 0 if every value is exact, 1 if every label spans the whole domain. Empty without
        the original table.
    grids : mapping of str to str
        A note such as "in steps of 5" for each column whose ranges begin and end at steps of a
        grid.
    weights : mapping of str to number
        The weights of quasi-identifiers in `average_ncp` that are not 1; see `PublishOptions`.
    """

    _json_fields = (
        "people groups average_group_size smallest_group largest_group discernibility ncp "
        "grids weights? average_ncp"
    )

    people: int
    groups: int
    average_group_size: float
    smallest_group: int
    largest_group: int
    discernibility: int
    ncp: dict[str, float]
    grids: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def average_ncp(self) -> float | None:
        """The mean NCP of the quasi-identifiers, by their weights; None if `ncp` is empty."""
        weights = {name: self.weights.get(name, 1) for name in self.ncp}
        total = sum(weights[name] * loss for name, loss in self.ncp.items())
        return total / sum(weights.values()) if weights else None

    def _repr_html_(self) -> str:
        return page_of(self).summary()


def utility_of(
    counts: GroupCounts | Release,
    microdata: Microdata | None = None,
    groups: IntArray | None = None,
    floors: Mapping[str, IntArray] | None = None,
    labels: Mapping[str, str] | None = None,
    weights: Mapping[str, float] | None = None,
) -> Utility:
    """Measure a release, or groups that were not published.

    Parameters
    ----------
    counts : GroupCounts or Release
        The counts of the groups.
    microdata : Microdata, optional
        The original table, which the NCP needs together with `groups`.
    groups : int array, shape (rows,) or (people,), optional
        The group of each row of the source, as a method's `partition` returns it; or of each
        published person, in the order of the microdata.
    floors : mapping of column to int64 array, shape (groups,), optional
        The least level of generalization at which each group is published, as in
        `LatticeResult.floors`.
    labels : mapping of column to style, optional
        The styles of labels, as in a policy's ``[publish.labels]``. Numbers and dates are as exact
        as in `microdata`; see `Microdata.rounded`.
    weights : mapping of column to number, optional
        The weight of each quasi-identifier in the average NCP, as in `PublishOptions`.

    Returns
    -------
    Utility
        The measures; the NCP is empty without `microdata` and `groups`. For a release that was
        read from files, use `foreknow.utility_report`.

    Raises
    ------
    InputError
        If the groups do not belong to the microdata.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from foreknow.data.schema import Schema
    >>> rows = pa.table({"age": [20, 24, 37, 60], "disease": ["Flu", "Cold", "Flu", "AIDS"]})
    >>> microdata = Microdata(rows, Schema(quasi_identifiers=["age"], sensitive="disease"))
    >>> groups = np.array([0, 0, 1, 1])
    >>> utility = utility_of(microdata.counts(groups), microdata, groups)
    >>> utility.discernibility, utility.average_group_size, round(utility.ncp["age"], 4)
    (8, 2.0, 0.3375)
    """
    counts = counts_of(counts)
    if (microdata is None) != (groups is None):
        raise InputError("give microdata and groups together: the NCP needs both")
    sizes = counts.sizes
    ncp = {}
    if microdata is not None and groups is not None:
        require_microdata(microdata)
        group_of_person = given_groups(microdata, groups)
        if len(group_of_person) != counts.n_people:
            raise InputError(
                f"{counts.n_people} people are counted, but {microdata.name} has "
                f"{len(group_of_person)}; give the table that the release was made of"
            )
        # How many people each group has: a label's loss counts once for each of them.
        people = np.bincount(group_of_person)
        for attribute in microdata.attributes:
            floor = (floors or {}).get(attribute.name)
            style = style_of(attribute, (labels or {}).get(attribute.name))
            coarse = coarsened(attribute, group_of_person, len(people), style, floor)
            ncp[attribute.name] = coarse.ncp(people)
    return Utility(
        people=counts.n_people,
        groups=counts.n_groups,
        average_group_size=counts.n_people / max(counts.n_groups, 1),
        smallest_group=int(sizes.min()) if len(sizes) else 0,
        largest_group=int(sizes.max(initial=0)),
        discernibility=sum(size * size * times for size, times in _sizes_with_times(sizes)),
        ncp=ncp,
        grids={} if microdata is None else microdata.grids,
        weights=weights or {},
    )


def _sizes_with_times(sizes: IntArray) -> Iterable[tuple[int, int]]:
    """Pairs of a group size and the number of groups that have it."""
    distinct, times = np.unique(sizes, return_counts=True)
    return zip(distinct.tolist(), times.tolist(), strict=True)


def require_microdata(microdata: Any) -> None:
    """Raise `InputError` unless it is Microdata."""
    way = ": the table that the release was made of, Microdata(table, schema)"
    refuse_other_type(microdata, Microdata, "Microdata", way)


def given_groups(microdata: Microdata, groups: Any) -> IntArray:
    """The group of each person, from groups for each row of the source, or for each person."""
    numbers = np.asarray(groups)
    shapes = (microdata.n_rows,), (microdata.n_people,)
    if numbers.dtype.kind not in "iu" or numbers.shape not in shapes:
        raise InputError(
            f"groups must be a whole number for each of the {microdata.n_rows} rows of "
            f"{microdata.name}; see the partition of a method"
        )
    # There is a group for each row of the source: keep those of published people.
    if len(numbers) != microdata.n_people:
        numbers = numbers[microdata.kept]
    # Methods write -1 for a row that is in no group.
    if numbers.min() < 0:
        row = int(microdata.kept[np.argmax(numbers < 0)])
        raise InputError(f"row {row + 1} of {microdata.name} has no group")
    return numbers.astype(np.int64, copy=False)


def optimal_discernibility(people: int, least: int) -> int:
    """Return the least discernibility of groups that have at least `least` people each.

    The best groups are as many and as even as possible: dividing a group lowers the sum of squares,
    and so does moving a person to a group that is smaller by two or more. It is the optimal cost
    that *Privacy Streamliner* compares with (section 4.2); if `least` does not divide `people`, it
    is above ``people * least``.

    Parameters
    ----------
    people : int
        The number of people.
    least : int
        The least size of a group, such as the l of l-diversity.

    Raises
    ------
    InputError
        If no group is large enough: `people` is below `least`, or `least` below 1.

    Examples
    --------
    >>> optimal_discernibility(12, 4), optimal_discernibility(11, 4)  # 4+4+4; 5+6
    (48, 61)
    """
    for name, number in (("people", people), ("least", least)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise InputError(f"{name} must be a whole number from 1, not {number!r}")
    people, least = int(people), int(least)
    if people < least:
        raise InputError(f"{people} people make no group of at least {least}")
    # As many groups as possible, whose sizes differ by one at most.
    n_groups = people // least
    size, n_larger = divmod(people, n_groups)
    return (n_groups - n_larger) * size**2 + n_larger * (size + 1) ** 2
