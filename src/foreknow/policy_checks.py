"""Policy checks: two requirements that contradict each other, or of which one has no effect."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from foreknow.errors import PolicyError

if TYPE_CHECKING:
    from foreknow.policy import Requirement


def check_agreement(earlier: Requirement, later: Requirement) -> None:
    """Two thresholds for one adversary and value are a contradiction, or have no effect."""
    for one in earlier.points:
        for two in later.points:
            if one.adversary != two.adversary or one.below == two.below:
                continue
            if one.relative != two.relative:  # what one asks, the other need not
                continue
            if earlier.values is None and later.values is None:
                strict, loose = (earlier, later) if one.below < two.below else (later, earlier)
                if set(strict.excluded) <= set(loose.excluded):
                    raise PolicyError(
                        f"{later.name}: every value must stay below {two} here and below "
                        f"{one} in {earlier.name}, against the same {two.adversary}; keep "
                        "one, or give the stricter one an except"
                    )
                continue
            if earlier.values is not None and later.values is not None:
                shared = [v for v in later.values if v in earlier.values]
                if shared:
                    raise PolicyError(
                        f"{later.name}: {shared[0]!r} must stay below {two} here and below "
                        f"{one} in {earlier.name}, against the same {two.adversary}"
                    )
            else:
                _check_effect(earlier, one.below, later, two.below)
                _check_effect(later, two.below, earlier, one.below)


def _check_effect(
    general: Requirement, general_below: Fraction, special: Requirement, below: Fraction
) -> None:
    if general.values is not None or special.values is None or below < general_below:
        return
    idle = [v for v in special.values if v not in general.excluded]
    if idle:
        raise PolicyError(
            f"{special.name}: below {below} for {idle[0]!r} has no effect, since {general.name} "
            f"asks below {general_below} of every value; add except = [{idle[0]!r}] there"
        )
