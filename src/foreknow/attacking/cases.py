"""Cases: what the adversary believes of some people about one value, beside its limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow.errors import UnsupportedError
from foreknow.labels import Label
from foreknow.microdata import Microdata
from foreknow.policy import Policy


@dataclass(frozen=True)
class Case:
    """What the adversary believes of some people who are alike to them, about one value.

    Attributes
    ----------
    rows : tuple of int
        Their rows in the table, from 1.
    value : label
    probability : float
        The posterior of each of them; an estimate where `exact` is None.
    exact : Fraction or None
    low, high : float
        Its interval; both the posterior where it is exact.
    share : Fraction
        The share of the value in their group: what the release says by itself. Of people who are
        left out it says nothing: the share in the whole table.
    limit : Fraction or None
        The lowest limit that the policy sets for the value.
    """

    rows: tuple[int, ...]
    value: Label
    probability: float
    exact: Fraction | None
    low: float
    high: float
    share: Fraction
    limit: Fraction | None

    @property
    def surer(self) -> bool:
        """Whether the adversary becomes surer by knowing the algorithm."""
        if self.exact is not None:
            return self.exact > self.share
        return self.low > self.share

    @property
    def certain(self) -> bool:
        """Whether the posterior is exactly 1, though the release itself does not say so."""
        return self.exact == 1 and self.share < 1

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        interval = {} if self.exact is not None else {"interval": [self.low, self.high]}
        return {
            "rows": list(self.rows),
            "value": self.value,
            "probability": self.probability,
            "exact": None if self.exact is None else str(self.exact),
            **interval,
            "group": str(self.share),
            "limit": None if self.limit is None else str(self.limit),
        }

    def __repr__(self) -> str:
        many = len(self.rows)
        who = f"row {self.rows[0]}" if many == 1 else f"{many} people"
        said = str(self.exact) if self.exact is not None else f"about {self.probability:.3g}"
        return f"Case({who}, {self.value!r}: {said}, the group says {self.share})"


def limits_of(policy: Policy | None, microdata: Microdata) -> dict[int, tuple[Fraction, bool]]:
    """The lowest limit for each value, and whether it may be reached.

    Raises
    ------
    UnsupportedError
        If a limit is relative to priors: all dealings are as likely to an attack.
    """
    found: dict[int, tuple[Fraction, bool]] = {}
    for requirement in policy.requirements if policy is not None else ():
        for code in np.flatnonzero(requirement.mask(microdata.values)).tolist():
            for point in requirement.points:
                if point.relative:
                    raise UnsupportedError(
                        f"{requirement.name}: at_most_times is relative to priors, which an attack "
                        "does not use, since all ways to deal the values out are as likely to it; "
                        "attack by a policy without it"
                    )
                own = point.below, point.inclusive
                found[code] = min(found.get(code, own), own)
    return found


def badness(case: Case) -> tuple[float, float, Sequence[int]]:
    """Worst first: the highest posterior, then the most that the algorithm adds."""
    return -case.probability, float(case.share), case.rows
