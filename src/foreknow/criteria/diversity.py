"""Diversity of the sensitive values of each group: l-diversity in three kinds, and (alpha, k).

Merging groups never makes a group fail one of them that both parts hold: a merged group has at
least the values of each; its shares are averages of theirs, entropy is concave in the shares, and
the largest count and the sum of the rest add up at worst (Machanavajjhala and others, "l-Diversity:
Privacy Beyond k-Anonymity"; Wong and others, "(alpha, k)-Anonymity").
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, ClassVar, get_args

import numpy as np

from foreknow.adversaries.adversary import HasCounts, KnowledgeReach, whole_amount
from foreknow.adversaries.release_counts import counts_of
from foreknow.criteria.group_criterion import (
    Attained,
    OfGroups,
    classes_of,
    counts_for,
    distinguished,
    failing_groups,
    smallest,
)
from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.counts import GroupCounts
from foreknow.errors import refuse_other
from foreknow.needs import Need, Needs, require, several_values
from foreknow.numbers import whole_number
from foreknow.settings import with_examples
from foreknow.wording import people_text
from foreknow_judge.criteria.diversity import DiversityKind
from foreknow_judge.criteria.gauges import CRITERIA
from foreknow_judge.errors import InputError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import CLOSE, Number, as_fraction

# Digits by which entropies are compared; of people in a group, for which whole numbers decide.
_DIGITS, _MOST_POWERS = 70, 10**5


class _OfValues(OfGroups):
    """The base of criteria about the values of each group."""

    needs: ClassVar[Needs] = frozenset({Need.ONE_VALUE, Need.NO_WINDOWS, Need.EVERYBODY})
    of_people: ClassVar[bool] = False
    compares_table: ClassVar[bool] = False
    speaks: ClassVar[Any] = KnowledgeReach(1, alike=True)


@dataclass(frozen=True)
class LDiversity(_OfValues):
    """The sensitive values of every group have at least a certain diversity.

    | kind | condition on every group | `measure` |
    | --- | --- | --- |
    | distinct | it has at least `l` different values | the fewest values |
    | entropy | its values have an entropy of at least log(`l`) | e to the least entropy |
    | recursive | its commonest value occurs less than `c` times as often as all from the `l`-th commonest on, together | the largest ratio |

    Parameters
    ----------
    l : number
        The least diversity: at least 1, or 2 for recursive; whole except for entropy.
    kind : {"distinct", "entropy", "recursive"}
        How diversity is measured.
    c : number, optional
        The limit on the ratio for recursive, above 0. None for the other kinds.

    Notes
    -----
    `measure` is exact, except for entropy, where it is rounded down to six decimals; `holds` is
    always decided exactly. Recursive diversity is strict, and so equivalent to ``Negations(l - 2)``
    staying below c / (c + 1).

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["Flu", "Cold", "AIDS"], ["Flu", "Flu", "AIDS"]])
    >>> LDiversity(2).measure(counts), LDiversity(3).holds(counts)
    (2, False)
    >>> LDiversity(2, kind="recursive", c=3).measure(counts)
    Fraction(2, 1)
    """  # noqa: E501

    l: Number
    kind: DiversityKind = "distinct"
    c: Number | None = None
    key: ClassVar[str] = "l_diversity"
    settings: ClassVar[Any] = with_examples(CRITERIA["l_diversity"], l=3, c=2)
    of_cases: ClassVar[bool] = True  # which are counted, as its documentation says

    def __post_init__(self) -> None:
        """Refuse settings that are out of range or do not go with the kind."""
        refuse_other("LDiversity: there is no kind", self.kind, get_args(DiversityKind))
        if self.kind == "entropy":
            set_fields(self, l=as_fraction(self.l))
            if self.l < 1:  # type: ignore[operator]
                raise InputError(f"LDiversity: l must be at least 1, not {self.l}")
        else:
            whole_number(self.l, "LDiversity: l", 2 if self.kind == "recursive" else 1)
        if (self.c is None) == (self.kind == "recursive"):
            need = "needs c" if self.c is None else "takes no c; only recursive does"
            raise InputError(f"LDiversity: kind {self.kind!r} {need}")
        if self.c is not None:
            set_fields(self, c=as_fraction(self.c))
            if self.c <= 0:  # type: ignore[operator]
                raise InputError(f"LDiversity: c must be above 0, not {self.c}")

    @property
    def speaks(self) -> KnowledgeReach:
        """The reach: the values of a group, or how often it has the target's value."""
        return KnowledgeReach(0 if self.kind == "distinct" else 1, alike=True)

    def limits_values(self, counts: GroupCounts | None = None) -> bool:
        """True if a group with a single value can fail; false if no group can."""
        return self.kind == "recursive" or as_fraction(self.l) > 1

    def stricter(self, share: Fraction, decoys: int | None) -> LDiversity:
        """The criterion with a smaller c, or a larger l.

        It holds even after all that a refusal beside some decoys reveals.
        """
        if self.kind == "recursive":
            assert self.c is not None
            return replace(self, c=as_fraction(self.c) * share)
        # Which values are possible does not change.
        if self.kind == "distinct" or decoys is None:
            return self
        # The entropy H may have fallen by max(1, H) / decoys (docs/research/decoys.md).
        entropy = math.log(as_fraction(self.l))
        entropy = max(entropy + 1 / decoys, entropy * decoys / (decoys - 1))
        # Rounded up to a millionth, which is on the safe side.
        return replace(self, l=Fraction(math.ceil(math.exp(entropy) * 10**6) + 1, 10**6))

    def attained(self, release: HasCounts) -> Attained:
        """The least diverse group of a release."""
        counts = counts_for(self, release)
        amount: int | Fraction | float
        if self.kind == "distinct":
            amount, group = self._fewest_values(counts)
            noun = "value" if amount == 1 else "different values"
            text = f"the least diverse group has {amount} {noun}; required: at least {self.l}"
        elif self.kind == "entropy":
            amount, group = self._least_entropy(counts)
            amount_text, limit = distinguished(amount, self.l)
            values = f"{amount_text} values that are equally frequent"
            values = "a single value" if amount == 1 else values
            text = f"the least diverse group is as diverse as {values}; required: at least {limit}"
        else:
            amount, group = self._highest_ratio(counts)
            amount_text, limit = distinguished(amount, as_fraction(self.c))  # type: ignore[arg-type]
            text = (
                f"in the least diverse group the most frequent value occurs {amount_text} times as "
                f"often as all from the {_ordinal(self.l)} on, together; it must be below {limit}"
            )
        holds = not self.failing(counts).any()
        return Attained(amount, holds, words=text, group=counts.group_label(group))

    def failing(self, counts: GroupCounts, table_counts: Any = None) -> BoolArray:
        """True for each group that is not diverse enough, decided exactly."""
        if self.kind == "distinct":
            return np.diff(counts.offsets) < float(self.l)
        if self.kind == "entropy":
            minimum = as_fraction(self.l)
            surplus = _entropies(counts) - math.log(minimum)
            fails: BoolArray = surplus < 0
            # Too close for floats: decide by whole numbers.
            for group in np.flatnonzero(np.abs(surplus) <= CLOSE).tolist():
                fails[group] = not entropy_is_at_least(_value_counts(counts, group), minimum)
            return fails
        c = as_fraction(self.c)  # type: ignore[arg-type]

        def is_too_frequent(largest_count: int, remaining: int) -> bool:
            """True unless the largest count is below c times the sum of those from the l-th on."""
            return largest_count * c.denominator >= c.numerator * remaining

        return failing_groups(is_too_frequent, *self._largest_and_remaining(counts))

    def leaving(self, counts: GroupCounts, table_counts: Any) -> IntArray:
        """The fewest people who must leave each group until it holds; all if it cannot hold."""
        if self.kind == "distinct":  # nobody brings a value by leaving
            return np.where(self.failing(counts), counts.sizes, 0)
        if self.kind == "entropy":
            return super().leaving(counts, table_counts)
        # Recursive: the counts from the l-th on, together, must exceed the commonest / c.
        return counts.fewest_leaving(int(self.l) - 1, 0, 1 / as_fraction(self.c))  # type: ignore[arg-type]

    def _largest_and_remaining(self, counts: GroupCounts) -> tuple[Any, Any]:
        """The largest count of each group, and the sum of its counts from the l-th on."""
        return counts.top_sums(1), counts.sizes - counts.top_sums(int(self.l) - 1)

    def _fewest_values(self, counts: GroupCounts) -> tuple[int, int]:
        """The fewest different values of a group, and the group."""
        n_values = np.diff(counts.offsets)
        group = int(np.argmin(n_values))
        return int(n_values[group]), group

    def _least_entropy(self, counts: GroupCounts) -> tuple[Fraction, int]:
        """The least entropy of a group, as a number of equally frequent values, and the group."""
        entropies = _entropies(counts)
        # Groups that may be least by floats; equal bags are worked out once.
        candidates = np.flatnonzero(entropies <= entropies.min() + CLOSE).tolist()
        group_of_bag: dict[tuple[int, ...], int] = {}
        for group in candidates:
            group_of_bag.setdefault(tuple(sorted(_value_counts(counts, group))), group)
        return min((effective_number(bag), group) for bag, group in group_of_bag.items())

    def _highest_ratio(self, counts: GroupCounts) -> tuple[Fraction | float, int]:
        """The highest ratio of the largest count to the rest, over groups, and the group."""
        largest, remaining = self._largest_and_remaining(counts)
        # Nothing is left after the first l - 1 values: the ratio is infinite.
        if not remaining.all():
            return math.inf, int(np.argmin(remaining))
        return highest_ratio(largest, remaining)


@dataclass(frozen=True)
class AlphaK(_OfValues):
    """No value has more than a share alpha of a group; everybody looks like at least k people.

    People look alike as in `KAnonymity`: all people in a group, or, if exact columns are published,
    all people with the same values in these columns.

    Parameters
    ----------
    alpha : number
        The largest share allowed. Above 0, at most 1.
    k : int
        The fewest people who look alike. From 1.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["Flu", "Cold", "AIDS"], ["Flu", "Flu", "AIDS"]])
    >>> AlphaK("2/3", 3).measure(counts), AlphaK("2/3", 3).holds(counts)
    (Fraction(2, 3), True)
    """

    alpha: Number
    k: int
    key: ClassVar[str] = "alpha_k"
    settings: ClassVar[Any] = with_examples(CRITERIA["alpha_k"], alpha=0.5, k=5)

    def __post_init__(self) -> None:
        set_fields(self, alpha=as_fraction(self.alpha))
        if not 0 < self.alpha <= 1:  # type: ignore[operator]
            raise InputError(f"AlphaK: alpha must be above 0 and at most 1, not {self.alpha}")
        whole_number(self.k, "AlphaK: k", 1)

    @property
    def least(self) -> int:  # type: ignore[override]
        """The smallest number of people that a group may have."""
        return self.k

    def limits_values(self, counts: GroupCounts | None = None) -> bool:
        """True if alpha limits shares: with alpha = 1 the criterion is k-anonymity."""
        return as_fraction(self.alpha) < 1

    def stricter(self, share: Fraction, decoys: int | None) -> AlphaK:
        """The criterion with a smaller alpha."""
        # Odds may be higher by 1 / share afterwards, so lower the limit's odds by `share`.
        alpha = as_fraction(self.alpha)
        return replace(self, alpha=alpha * share / (1 - alpha * (1 - share)))

    def attained(self, release: HasCounts) -> Attained:
        """The largest share of a value in a group of a release."""
        counts = counts_for(self, release)
        share, group = highest_ratio(counts.top_sums(1), counts.sizes)
        share_text, limit = distinguished(share, self.alpha)
        look_alikes = classes_of(release)
        fewest_alike = int(look_alikes.sizes.min())
        text = (
            f"the largest share of a value in a group is {share_text}, the most is {limit}; "
            f"{smallest(look_alikes)} has {people_text(fewest_alike)}, required: at least {self.k}"
        )
        holds = share <= as_fraction(self.alpha) and fewest_alike >= self.k
        return Attained(share, holds, words=text, group=counts.group_label(group))

    @property
    def of_groups(self) -> AlphaK:
        """The part of the criterion that concerns groups: the share."""
        return AlphaK(self.alpha, 1)

    def failing(self, counts: GroupCounts, table_counts: Any = None) -> BoolArray:
        """True for each group that fails."""
        alpha = as_fraction(self.alpha)

        def fails(largest_count: int, size: int) -> bool:
            """True if the largest count is above the share alpha, or the group is too small."""
            return largest_count * alpha.denominator > size * alpha.numerator or size < self.k

        return failing_groups(fails, counts.top_sums(1), counts.sizes)

    def leaving(self, counts: GroupCounts, table_counts: Any) -> IntArray:
        """The fewest people who must leave each group until it holds; all if it cannot hold."""
        alpha, largest = float(as_fraction(self.alpha)), counts.top_sums(1)
        # At best all x who leave have the commonest value: (largest - x) / (size - x) <= alpha,
        # which gives x. With alpha = 1 nobody needs to leave.
        excess = np.maximum(largest - alpha * counts.sizes, 0) / max(1 - alpha, CLOSE)
        fewest = np.floor(np.minimum(excess * (1 - CLOSE), largest)).astype(np.int64)
        return np.where(counts.sizes - fewest < self.k, counts.sizes, fewest)


def is_recursively_diverse(release: HasCounts, c: Number, l: int) -> bool:
    """Return whether every group is recursively (c, l)-diverse, in the strict form.

    The most frequent value of each group must occur strictly less than c times as often as all
    values after the l - 1 most frequent ones together.

    Parameters
    ----------
    release : Release or GroupCounts
        The release, under ``single``.
    c : number
        The limit on the ratio, above 0.
    l : int
        At least 2.

    Raises
    ------
    InputError
        If c or l is out of range, or people have several values.

    Notes
    -----
    Equivalent to ``Negations(l - 2)`` staying below c / (c + 1), for every value. Definition 17 of
    "Worst-Case Background Knowledge" lost the strictness and its parentheses: with "at most", one
    person with a and one with b would be (1, 2)-diverse, and each value be disclosed with 1/2.

    Examples
    --------
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cold", "Cancer"]])
    >>> is_recursively_diverse(counts, c=1, l=2), is_recursively_diverse(counts, c=1, l=3)
    (True, False)
    """
    counts = counts_of(release)
    require("(c, l)-diversity", several_values(counts.semantics), LDiversity.needs)
    times, minimum = as_fraction(c), whole_amount("(c, l)-diversity", "l", l)
    if times <= 0 or minimum < 2:
        raise InputError(f"(c, l)-diversity needs c above 0 and l of at least 2, not {(c, l)}")
    return not LDiversity(minimum, "recursive", times).failing(counts).any()


def highest_ratio(above: IntArray, below: IntArray) -> tuple[Fraction, int]:
    """The highest ratio above / below over all groups, as a fraction, and the first group with it.

    Floats find the groups that may be highest; fractions decide among them.
    """
    ratios = above / below
    candidates = np.flatnonzero(ratios >= ratios.max() * (1 - CLOSE)).tolist()
    exact_ratios = [Fraction(int(above[group]), int(below[group])) for group in candidates]
    highest = max(exact_ratios)
    return highest, candidates[exact_ratios.index(highest)]


def _value_counts(counts: GroupCounts, group: int) -> list[int]:
    """How many people of a group have each of its values."""
    cells = slice(counts.offsets[group], counts.offsets[group + 1])
    return list(counts.counts[cells].tolist())


def _entropies(counts: GroupCounts) -> FloatArray:
    """The entropy of each group in nats: log(n) minus the sum of c log(c) / n over counts c."""
    terms = counts.counts * np.log(counts.counts)
    sums = np.add.reduceat(terms, counts.offsets[:-1])
    return np.log(counts.sizes) - sums / counts.sizes


def _ordinal(position: Any) -> str:
    """Write a place from 2 on.

    >>> _ordinal(2), _ordinal(3), _ordinal(11), _ordinal(22)
    ('2nd', '3rd', '11th', '22nd')
    """
    ending = {1: "st", 2: "nd", 3: "rd"}.get(position % 10, "th")
    return f"{position}{'th' if position % 100 in (11, 12, 13) else ending}"


# ---- entropy, exactly ---------------------------------------------------------------------------


def entropy_is_at_least(counts: Sequence[int], l: Fraction) -> bool:
    """True if the entropy of positive counts is at least log(l).

    >>> entropy_is_at_least([1, 1, 1], Fraction(3)), entropy_is_at_least([2, 1, 1], Fraction(3))
    (True, False)
    >>> entropy_is_at_least([10**30, 10**30 + 1], Fraction(2))
    False
    """
    # Counts in the same proportions have the same entropy: small ones are quicker.
    common = math.gcd(*counts)
    counts = [count // common for count in counts]
    total = sum(counts)
    shares = [float(Fraction(count, total)) for count in counts]
    entropy = -math.fsum(share * math.log(share) for share in shares if share)
    surplus = entropy - (math.log(l.numerator) - math.log(l.denominator))
    # Floats decide unless the two are close; then 70 digits; then whole numbers.
    if abs(surplus) > CLOSE:
        return surplus > 0
    with localcontext() as context:
        context.prec = _DIGITS
        log_limit = Decimal(l.numerator).ln() - Decimal(l.denominator).ln()
        terms = [Decimal(count) * Decimal(count).ln() for count in counts]
        exact_surplus = Decimal(total) * (Decimal(total).ln() - log_limit) - sum(terms)
        if abs(exact_surplus) > Decimal(total) * Decimal(10) ** (30 - _DIGITS):
            return exact_surplus > 0
    if total > _MOST_POWERS:  # perhaps it is just reached: nobody is told that it is
        return False
    # Raised to the power e and the total: total ** total >= l ** total * product of c ** c.
    powers: int = math.prod(count**count for count in counts) * l.numerator**total
    reaches: bool = total**total * l.denominator**total >= powers
    return reaches


def effective_number(counts: Sequence[int]) -> Fraction:
    """How many equally frequent values have the entropy of these counts; six decimals, down.

    >>> effective_number([2, 2, 2]), float(effective_number([2, 1]))
    (Fraction(3, 1), 1.889881)
    """
    context, total = Context(prec=60), sum(counts)
    # The entropy is log(n) minus the sum of c log(c) / n over counts c; equal counts are one term.
    terms = Decimal(0)
    for count, times in Counter(counts).items():
        term = context.multiply(Decimal(count * times), context.ln(Decimal(count)))
        terms = context.add(terms, term)
    entropy = context.subtract(context.ln(Decimal(total)), context.divide(terms, Decimal(total)))
    # What is a whole number is not lost to the last digit.
    number = context.add(context.exp(entropy), Decimal("1e-30"))
    return Fraction(int(number.scaleb(6)), 10**6)
