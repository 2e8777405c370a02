"""Disclosure: how sure an adversary can be, exactly, and the witness that attains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import compress
from operator import le, lt
from typing import Any, Protocol

from foreknow.call_hints import Plain
from foreknow.data.labels.labels import Label
from foreknow.shown_numbers import significant
from foreknow_judge.errors import InputError
from foreknow_judge.numbers import CLOSE, Number, as_fraction
from foreknow_judge.verdict import Limit


class Witness(Protocol):
    """The people, values and facts that attain a disclosure."""

    @property
    def group(self) -> Label:
        """The group of the person who is found out."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""


@dataclass(frozen=True, eq=False, repr=False)
class Disclosure(Plain):
    """The highest posterior that an adversary can reach, for one sensitive value.

    Attributes
    ----------
    value : label or None
        The sensitive value; None only if there is no value at all.
    probability : float
        The posterior, from 0 to 1; within 1e-9 of `exact`.
    exact : Fraction or None
        The probability as a fraction, computed on first use; None only if the adversary cannot
        compute one.
    witness : Witness or None
        The people, values and facts that attain the probability, computed on first use; None if the
        probability is 0.
    estimated : bool
        Whether the probability is only the upper end of a statistical interval.
    bounded : bool
        Whether the probability is an upper bound that may be too high; `exact` is then None.
    prior : Fraction or None
        The probability before the release, if the disclosure is the highest relative to it.
    """

    _json_fields = "value probability exact estimated? bounded? prior? witness"

    value: Label
    probability: float
    _exact: Callable[[], Fraction | None] = field(default=lambda: None)
    _witness: Callable[[], Witness | None] = field(default=lambda: None)
    estimated: bool = False
    bounded: bool = False
    prior: Fraction | None = None
    # of a bound, itself as a fraction, where that is at hand: it settles limits
    _bound: Callable[[], Fraction | None] = field(default=lambda: None)

    @cached_property
    def exact(self) -> Fraction | None:
        """The probability as a fraction."""
        return self._exact()

    @cached_property
    def settled(self) -> Fraction | None:
        """The fraction that is compared with limits: the exact probability or its bound."""
        return self._bound() if self.bounded else self.exact

    @cached_property
    def witness(self) -> Witness | None:
        """The people, values and facts that attain the probability."""
        return self._witness()

    def below(self, threshold: Number) -> bool:
        """True if the probability is strictly below a threshold, compared exactly.

        An estimate is never below a threshold of 1 or less.

        Parameters
        ----------
        threshold : float, Fraction, Decimal or str
            A float stands for the decimal number it prints as (0.1 is one tenth); a text may be
            ``"1/3"`` or ``"0.5"``.
        """
        bound = as_fraction(threshold)
        # Every probability is below a limit above 1, and none is below 0.
        if not 0 < bound <= 1:
            return bound > 1
        if self.estimated:
            return False
        if abs(self.probability - float(bound)) > CLOSE:
            return self.probability < bound
        # Without a fraction, a probability this near the threshold does not count as below it.
        return self._compare_with(lt, bound)

    def at_most(self, threshold: Number) -> bool:
        """True if the probability is at most a threshold, compared as in `below`."""
        bound = as_fraction(threshold)
        if self.estimated or abs(self.probability - float(bound)) > CLOSE:
            return self.below(bound) or bound >= 1
        return bound >= 1 or self._compare_with(le, bound)

    def _compare_with(self, compared: Callable[[Any, Any], bool], bound: Fraction) -> bool:
        """Compare the fraction with a bound; False where there is no fraction."""
        fraction = self.settled
        return fraction is not None and compared(fraction, bound)

    def keeps(self, limit: Limit) -> bool:
        """True if the probability keeps a limit, compared as in `below` and `at_most`."""
        bound = limit.at(self.prior)
        return self.at_most(bound) if limit.inclusive else self.below(bound)

    @property
    def group(self) -> Label:
        """The group of the person whose value is disclosed; None if there is no witness."""
        return None if self.witness is None else self.witness.group

    def __repr__(self) -> str:
        prefix = "about " if self.estimated else "at most " if self.bounded else ""
        figure = significant(self.probability, 6, "up" if self.bounded else "nearest")
        return f"Disclosure({self.value!r}, {prefix}{figure})"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<code>{escape(repr(self))}</code>"


def of_value(disclosures: Mapping[Label, Disclosure], value: Label | None) -> Disclosure | None:
    """The disclosure of one value, or the worst if `value` is None.

    None for a value that occurs nowhere.
    """
    if value is None:
        return worst(disclosures.values())
    try:
        return disclosures.get(value)
    except TypeError:
        raise InputError(f"{value!r} cannot be a sensitive value; give one label") from None


def worst(disclosures: Iterable[Disclosure]) -> Disclosure:
    """The highest of several disclosures; floats rank, fractions decide between near ties."""
    candidates = list(disclosures)
    # No value at all: nothing can be found out.
    if not candidates:
        return Disclosure(None, 0.0, lambda: Fraction(0))
    top = max(d.probability for d in candidates)
    nearly_worst = [d for d in candidates if d.probability >= top - CLOSE]
    if len(nearly_worst) == 1:
        return nearly_worst[0]
    return max(nearly_worst, key=_rank)


def _gain(disclosure: Disclosure) -> float:
    """The probability divided by its prior; 0 without a prior."""
    if disclosure.prior is None:
        return 0.0
    return disclosure.probability / float(disclosure.prior)


def worst_by_prior(disclosures: Iterable[Disclosure]) -> Disclosure:
    """The disclosure that is highest relative to its prior, the chance before the release.

    Fractions decide where floats are close. Without any prior it is the highest disclosure.
    """
    candidates = list(disclosures)
    gains = list(map(_gain, candidates))
    if not any(gains):
        return worst(candidates)
    threshold = max(gains) * (1 - CLOSE)
    is_near = [gain >= threshold for gain in gains]
    nearly_worst = list(compress(candidates, is_near))
    if len(nearly_worst) == 1:
        return nearly_worst[0]

    def exact_gain(disclosure: Disclosure) -> tuple[bool, Fraction]:
        """In doubt, one without a fraction counts as higher."""
        lacks_fraction, probability = _rank(disclosure)
        return lacks_fraction, probability / (disclosure.prior or 1)

    return max(nearly_worst, key=exact_gain)


def _rank(disclosure: Disclosure) -> tuple[bool, Fraction]:
    """The sort key: whether the probability has no fraction, and the probability.

    One without a fraction is highest, unless it is only a bound.
    """
    fraction = disclosure.settled
    if fraction is not None:
        return False, fraction
    return not disclosure.bounded, Fraction(disclosure.probability)
