"""Notes: what the owner should know about a finished release, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

NOT_MINIMAL = (
    "perhaps not minimal: where people have several sensitive values, or some cannot "
    "have each, merging groups can help the adversary, so groups may be larger than necessary"
)

OF_LISTS = (
    "perhaps not minimal: of k_anonymity of chosen columns, the search asks for k people "
    "in each group, so groups may be larger than necessary"
)

PERHAPS_LARGER = (
    "perhaps not minimal: where links are about values to within a width, the search is "
    "on the safe side, so groups may be larger than necessary"
)

CUT_OFF = (
    "the search was cut off: it did not look at all generalizations that might lose less, so "
    "groups may be larger than necessary"
)

WEIGHTED = (
    "a release shows one survey weight for each group, the mean of its people's, rounded: what "
    "follows from a weight that depends on a sensitive value was not judged"
)


def note_of_others(columns: Sequence[str], limit: int | str) -> str:
    """The note on columns whose rare values are merged into one."""
    return (
        f"rare values: in {', '.join(columns)}, values that fewer than {limit} people of the table "
        "have are written as one value, 'other'"
    )
