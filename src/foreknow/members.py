"""Members: which named person is in which group of a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from foreknow.counts_checks import whole
from foreknow.errors import DataError, did_you_mean
from foreknow.labels import Label, Labels
from foreknow.sparse import IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Members:
    """People by name, and the group of each; immutable.

    Attributes
    ----------
    names : Labels
        Everybody once.
    groups : int64 array, shape (people,)
        Position of each person's group in the `GroupCounts` of the release.

    Examples
    --------
    >>> members = Members(Labels(["Ann", "Tom"]), np.array([0, 1]))
    >>> members.group_of("Tom")
    1
    """

    names: Labels
    groups: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", whole(self.groups, "groups"))
        if len(self.groups) != len(self.names):
            raise DataError(f"{len(self.names)} names but {len(self.groups)} groups")

    def __len__(self) -> int:
        return len(self.names)

    def group_of(self, name: Label) -> int:
        """Position of a person's group.

        Raises
        ------
        DataError
            With a hint, if nobody has that name.
        """
        try:
            return int(self.groups[self.names.codes[name]])
        except (KeyError, TypeError):
            hint = did_you_mean(str(name), [str(n) for n in self.names[:100_000]])
            raise DataError(f"nobody in the release is called {name!r}{hint}") from None

    def of_group(self, group: int) -> list[Label]:
        """Names of the members of a group."""
        return [self.names[i] for i in np.flatnonzero(self.groups == group).tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists."""
        return {"names": list(self.names), "groups": self.groups.tolist()}

    def __repr__(self) -> str:
        return f"Members({len(self)} people)"
