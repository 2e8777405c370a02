"""Limits: how sure an adversary may become, by itself or relative to what was likely before."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from foreknow.adversaries.disclosure import Disclosure, worst, worst_by_prior
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.protocol import Adversary, HasCounts
from foreknow.errors import InputError, PolicyError
from foreknow.numbers import Number, as_fraction, as_threshold, shown


class Point(NamedTuple):
    """An adversary and its limit.

    Attributes
    ----------
    adversary : Adversary
    below : Fraction
        A confidence in (0, 1]; or how many times the prior, from 1, where `relative`.
    inclusive : bool
        Whether the limit may be reached.
    relative : bool
        Whether the limit of each person and value is so many times their prior.
    """

    adversary: Adversary
    below: Fraction
    inclusive: bool = False
    relative: bool = False

    @property
    def key(self) -> str:
        """What a policy file calls the limit."""
        if self.relative:
            return "at_most_times"
        return "at_most" if self.inclusive else "below"

    def disclosures(self, release: HasCounts) -> list[Disclosure]:
        """What the adversary finds out at worst, for each sensitive value of a release."""
        if self.relative:
            assert isinstance(self.adversary, Priors)
            return list(self.adversary.gains(release).values())
        return list(self.adversary.disclosures(release).values())

    def worst(self, disclosures: Iterable[Disclosure]) -> Disclosure:
        """The disclosure that is nearest to its limit, or farthest above it."""
        return worst_by_prior(disclosures) if self.relative else worst(disclosures)

    def ranked(self, disclosures: Iterable[Disclosure]) -> list[Disclosure]:
        """Disclosures, nearest to their limits first."""
        return sorted(disclosures, key=lambda d: -d.probability / float(self.limit(d)))

    def limit(self, found: Disclosure) -> Fraction:
        """The confidence that a disclosure must stay below, or must not exceed."""
        if not self.relative:
            return self.below
        # Of what nobody has, there is no prior that matters.
        return Fraction(1) if found.prior is None else min(Fraction(1), self.below * found.prior)

    def holds(self, found: Disclosure) -> bool:
        """Whether a disclosure keeps the limit."""
        limit = self.limit(found)
        return found.at_most(limit) if self.inclusive else found.below(limit)

    def __str__(self) -> str:
        return f"{self.below} times the prior" if self.relative else str(self.below)


def point_of(
    name: str,
    adversary: Any,
    below: Number | None = None,
    at_most: Number | None = None,
    at_most_times: Number | None = None,
) -> Point:
    """Check an adversary and its one limit.

    Parameters
    ----------
    name : str
        Of the requirement, for messages.
    adversary : Adversary
    below, at_most, at_most_times : number, optional
        Exactly one of them.

    Raises
    ------
    PolicyError
        If it is no adversary of groups, or does not go with such a limit.
    InputError
        If the limit is no number in its range.
    """
    keys = {"below": below, "at_most": at_most, "at_most_times": at_most_times}
    given = {key: limit for key, limit in keys.items() if limit is not None}
    if len(given) > 1:
        raise PolicyError(f"{name}: give {' or '.join(given)}, not both")
    if not given:
        raise PolicyError(f"{name}: the threshold is missing; give below = a number in (0, 1]")
    ((key, limit),) = given.items()
    if getattr(adversary, "about_people", False):
        raise PolicyError(
            f"{name}: {type(adversary).__name__} cannot be required: they are about named "
            "people, and a search and its report see groups; ask their posteriors instead"
        )
    if isinstance(adversary, type) or not hasattr(adversary, "disclosures"):
        raise PolicyError(f"{name}: expected an adversary such as Facts(l=1), not {adversary!r}")
    if key != "below" and not isinstance(adversary, Priors):
        raise PolicyError(
            f"{name}: {key} is for priors only; every other limit must stay strictly below: "
            "give below"
        )
    if key == "at_most_times":
        return Point(adversary, as_times(limit), inclusive=True, relative=True)
    return Point(adversary, as_threshold(limit), inclusive=key == "at_most")


def as_times(number: Number, name: str = "at_most_times") -> Fraction:
    """Read how many times its prior a posterior may be, 1 or more.

    Parameters
    ----------
    number : int, float, str, or Fraction
    name : str
        What messages call it.

    Raises
    ------
    InputError
        If it is no number, or below 1.

    Examples
    --------
    >>> as_times("3/2")
    Fraction(3, 2)
    """
    times = as_fraction(number)
    if times < 1:
        raise InputError(
            f"{name} must be 1 or more (1 means as likely as before), not {shown(number)}"
        )
    return times
