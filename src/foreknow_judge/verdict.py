"""Verdict: the result of judging a requirement; and the limit that it was judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from html import escape
from typing import Any

from foreknow_judge.errors import InputError
from foreknow_judge.numbers import CLOSE, exact_text


@dataclass(frozen=True)
class Limit:
    """How sure an adversary may become; without an amount for a criterion, which has its own."""

    # a probability in (0, 1]; or if `relative`, how many times the prior, from 1
    amount: Fraction | None = None
    inclusive: bool = False  # whether it may be reached
    relative: bool = False  # whether it is a multiple of each person's prior

    @property
    def key(self) -> str:
        """Its key in a policy file."""
        if self.relative:
            return "at_most_times"
        return "at_most" if self.inclusive else "below"

    @property
    def limits(self) -> bool:
        """True if the limit can be broken at all: no probability is above 1; a relative one can."""
        return self.relative or self.amount is None or not self.inclusive or self.amount < 1

    def at(self, prior: Fraction | None) -> Any:
        """The limit as a probability, for a person with this prior; None without an amount."""
        if self.amount is None or not self.relative:
            return self.amount
        # If nobody has a value, its prior does not matter.
        return Fraction(1) if prior is None else min(Fraction(1), self.amount * prior)

    def holds(self, reached: Fraction, prior: Fraction | None = None) -> bool:
        """True if the probability that was reached keeps the limit, exactly."""
        limit: Fraction = self.at(prior)
        return reached <= limit if self.inclusive else reached < limit

    def to_dict(self) -> dict[str, Any]:
        """Its entry in a policy file."""
        return {} if self.amount is None else {self.key: str(self.amount)}

    def __str__(self) -> str:
        return f"{self.amount} times the prior" if self.relative else str(self.amount)


@dataclass(frozen=True)
class WorstCase:
    """The worst case that the judge found.

    Of several equally bad cases it is the first value, by its text, and for this value the first
    group, by the texts of its columns, a missing text first; for facts, a group that can hold the
    target and everyone else involved comes before. So equal releases have equal verdicts.
    """

    value: str | None
    group: str | None
    exact: Fraction | None  # or an upper bound of it
    prior: Fraction | None = None
    bounded: bool = False  # whether `exact` is only an upper bound
    # For a criterion with several settings: the figure for each.
    each: Mapping[str, Fraction] = field(default_factory=dict, compare=False)
    # Whether some group of these people could fail the criterion by values, or a relative limit.
    limits_values: bool = field(default=True, compare=False)

    @property
    def settled(self) -> Fraction | None:
        """The figure that limits are compared with."""
        return self.exact

    @property
    def probability(self) -> float:
        """The figure as a float; infinity if there is no fraction."""
        return float("inf") if self.exact is None else float(self.exact)


@dataclass(frozen=True, repr=False)
class Figure:
    """The figure of a requirement, for one of its points or its criterion.

    Attributes
    ----------
    place : int
        The position of the requirement in the policy, from 0.
    requirement : Requirement
        The requirement, or its ``[[require]]`` table if the judge made the figure.
    judged : Adversary or Criterion
        The adversary or criterion, or its table in a policy if the judge made the figure.
    required : Limit
        The limit in the policy; without an amount for a criterion.
    found : Disclosure
        The worst disclosure of the requirement's values, relative to priors if the limit is; for
        a criterion, the figure of the release.
    known : tuple of str
        Columns that are known of everybody, beyond the quasi-identifiers.
    others : tuple of Disclosure
        The disclosures of the other values, worst first.
    counts : GroupCounts, optional
        The counts behind the figure.
    alike : tuple of str
        The exact columns by which people who look alike were counted; empty if groups were counted.
    """

    place: int
    requirement: Any = field(compare=False)
    judged: Any
    required: Limit
    found: Any
    known: tuple[str, ...] = ()
    others: tuple[Any, ...] = field(default=(), compare=False)
    counts: Any = field(default=None, compare=False)
    alike: tuple[str, ...] = field(default=(), compare=False)

    @property
    def disclosure(self) -> Any:
        """The finding: for an adversary, the worst disclosure."""
        return self.found

    @property
    def value(self) -> Any:
        """The value most at risk; None for a criterion."""
        return self.found.value

    @property
    def group(self) -> Any:
        """The group of the worst case, or the group farthest from the criterion."""
        return self.found.group

    @property
    def reached(self) -> Fraction | None:
        """The figure reached; None if it is infinite, or not known as a fraction."""
        exact: Fraction | None = self.found.exact
        return exact

    @property
    def of_groups(self) -> bool:
        """True if a criterion was judged, which is about groups and not about knowledge."""
        return self.required.amount is None

    @property
    def probability(self) -> Any:
        """The adversary's probability, as a float; None for a criterion."""
        return None if self.of_groups else self.found.probability

    @property
    def limit(self) -> Any:
        """The probability that must not be reached, or not exceeded; None for a criterion."""
        return self.required.at(self.found.prior)

    @property
    def idle(self) -> bool:
        """True if it requires nothing, since nobody has a value that it is about."""
        return not self.of_groups and not self.probability

    @property
    def said(self) -> tuple[str, str]:
        """The probability reached and the limit as texts, which differ unless both are equal.

        Four digits are shown, or as many more as it takes to tell the two apart.
        """
        limit, chance, exact = self.limit, self.probability, self.found.settled
        # Equal; or as close as floats can say, where no exact figure is known (None).
        if abs(chance - limit) <= CLOSE and exact in (None, limit):
            reached = f"{float(limit):.4g}"
            return reached, reached + ("" if self.required.inclusive else _STRICTLY)
        for digits in range(4, 17):
            reached_text, limit_text = f"{chance:.{digits}g}", f"{float(limit):.{digits}g}"
            if reached_text != limit_text:
                break
        return reached_text, limit_text

    @property
    def words(self) -> str:
        """The result in words: what is reached and the limit, or the figure of a criterion.

        Such as "... reaches 0.5 for 'Flu', the limit is 0.6".
        """
        if self.of_groups:
            return str(self.found)
        (reached, limit), prefix = self.said, "at most " * self.bounded  # an upper bound, or not
        return (
            f"{self.judged} reaches {prefix}{reached} for {str(self.value)!r}, the limit is {limit}"
        )

    @property
    def bounded(self) -> bool:
        """True if the figure reached is only an upper bound."""
        return bool(getattr(self.found, "bounded", False))


class Seal:
    """The mark of a verdict; the judge alone sets it."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Verdict(Figure):
    """The judge's decision about one requirement; only the judge can make one.

    Attributes
    ----------
    safe : bool
        Whether the figure keeps the limit, decided with exact numbers.
    """

    safe: bool
    seal: InitVar[type[Seal] | None] = None  # so that `replace` makes none either

    def __post_init__(self, seal: type[Seal] | None) -> None:
        if seal is not Seal or not isinstance(self.safe, bool):
            raise TypeError("only the judge makes a verdict")

    def __bool__(self) -> bool:
        raise neither("a verdict")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, as a certificate has them."""
        judged, exact = self.judged, self.reached
        # No fraction: the figure of a criterion is infinite, that of an adversary is not known.
        no_figure = "inf" if self.of_groups else None
        return {
            "requirement": self.place,
            "judged": dict(judged) if isinstance(judged, Mapping) else judged.to_dict(),
            **self.required.to_dict(),
            **({"limit": str(self.limit)} if self.required.relative else {}),
            "value": self.value,
            "group": self.group,
            "exact": no_figure if exact is None else exact_text(exact),
            **({"bounded": True} if self.bounded else {}),
            **({} if self.of_groups else {"probability": self.probability}),
            "safe": self.safe,
        }

    def __repr__(self) -> str:
        if self.idle:
            return f"Verdict(asks nothing: {self.judged}, nobody has a value)"
        outcome = "safe" if self.safe else "UNSAFE"
        result = f"{self.judged}, {self.found}" if self.of_groups else self.words
        return f"Verdict({outcome}: {result})"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"


_STRICTLY = ", which must not be reached"


NOTHING_JUDGED = "nothing was judged: nobody has a value that a requirement is about"


def neither(what: str) -> InputError:
    """The error for asking whether a result is true."""
    return InputError("no-truth-value", what)
