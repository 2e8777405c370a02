"""Trial: an attack that was carried out, and what it found. It says "at least", and never "safe".

A verdict is a proof about stated knowledge. A trial is what one attacker did: another may do
better, so no figure of a trial is a limit of anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, product
from math import sqrt
from typing import Any

from numpy.typing import NDArray

from foreknow.auditing.scope import unprotected_codes
from foreknow.call_hints import Plain
from foreknow.data.labels.labels import Label
from foreknow.data.release import Release
from foreknow.data.sights import Sight
from foreknow.features import is_installed, load
from foreknow.policy.policy import Policy
from foreknow.policy.trials import Try
from foreknow.result import Result
from foreknow_judge.errors import DataError, UnsupportedError
from foreknow_judge.numbers import Number, as_fraction

# An audit tries to learn from no fewer groups than these.
LEAST_GROUPS = 50
_NORMAL = 1.959963984540054  # of 95%


@dataclass(frozen=True)
class Share(Plain):
    """A share of people, with an interval.

    It lies between `low` and `high` in 95 of 100 samples (Wilson's interval; people of one group
    count as far as they tell of each other). A claim of an attacker has no interval.
    """

    share: float
    people: int
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, right: NDArray[Any], people: NDArray[Any]) -> Share:
        """The share of right guesses with an interval of 95%.

        `right` and `people` are the numbers of right guesses and of people in each group. Guesses
        within a group depend on each other, so groups are what is drawn, and not people.
        """
        n_people, share = float(people.sum()), float(right.sum() / max(people.sum(), 1))
        # The variance of a ratio of sums over groups; and how many independent guesses have the
        # same variance, at most as many as there are people. Without variance, a guess per group.
        variance = float(((right - share * people) ** 2).sum()) / max(n_people, 1) ** 2
        n_guesses = float((people > 0).sum())
        if variance > 0:
            n_guesses = min(share * (1 - share) / variance, n_people)
        # Wilson's interval for so many guesses.
        middle = (share + _NORMAL**2 / (2 * n_guesses)) / (1 + _NORMAL**2 / n_guesses)
        half = sqrt(share * (1 - share) / n_guesses + _NORMAL**2 / (4 * n_guesses**2))
        half *= _NORMAL / (1 + _NORMAL**2 / n_guesses)
        low, high = max(middle - half, 0.0), min(middle + half, 1.0)
        return cls(share, people=round(n_people), low=min(low, share), high=max(high, share))

    def __float__(self) -> float:
        return self.share


@dataclass(frozen=True)
class Claim(Plain):
    """The person an attacker is surest about, and the value."""

    value: Label
    group: Label  # the group of the person
    known: dict[str, str | None]  # what is known of the person, by column
    people: int  # the number of people in the group who are alike in that
    size: int  # the number of people in the group
    holders: int  # the number of occurrences of the value in the group
    probability: float

    @property
    def alone(self) -> float:
        """The probability of the value by the group alone."""
        return self.holders / self.size


@dataclass(frozen=True)
class Tried(Plain):
    """One of the attackers, and how far it came."""

    attacker: str
    by: tuple[str, ...]
    right: float
    surest: float
    sure: int = 0  # the number of people of whom it is surer than the limit
    sure_and_right: int | None = None  # those of them it is right about; None if that is not known

    def holds(self, limit: Number) -> bool:
        """True if it is surer than a limit about some people, and right about that share of them.

        Otherwise its certainty did not hold: an attacker who learns much from few people is often
        sure and wrong.
        """
        rightly = self.sure_and_right
        return self.sure > 0 and rightly is not None and rightly >= as_fraction(limit) * self.sure


@dataclass(frozen=True, eq=False, repr=False)
class Trial(Result):
    """The result of an attack that was carried out: a lower bound on what attackers can do.

    It describes the most successful of all attackers that were tried. If the true values of people
    are known, that is the one with the most right guesses. If not, it is the one whose statistics
    predict the groups best, and all figures are claims of that attacker.

    Attributes
    ----------
    kind : str
        The kind of attack: "learned" from the release itself.
    name, sensitive : str
        The release, and the column that is guessed.
    by : tuple of str
        The columns that the attacker knows of everybody.
    attacker : str
        The most successful attacker.
    right : float
        The share of people whose value is guessed right; a claim, unless `measured`.
    baseline : float
        The share that is guessed right from the groups alone: the guess for each person is the
        most frequent value of their group.
    surest : float
        The highest probability that the attacker gives to a person's value.
    limit : float
        The probability above which the attacker counts as sure.
    sure : int
        The number of people of whose value the attacker is surer than `limit`.
    sure_and_right : int or None
        The number of these people whose value is guessed right; None if that is not known.
    measured : bool
        Whether guesses were compared with the true values of people.
    people : int
        The number of people examined.
    whole : bool
        Whether these are all people of the release.
    about : tuple of labels, or None
        The values that `surest` and `sure` are about; None: all values.
    claim : Claim or None
        The attacker's surest claim about a person; only the owner has it.
    shares : mapping
        "right", "baseline" and "sure_and_right" as `Share`, with their intervals.
    tried : tuple of Tried
        All attackers.
    in_cases : bool
        Whether rows are cases, and a person may have several.
    near : str or None
        How near a right guess must be to the true number or date; None: it must be equal.
    required : Fraction or None
        The policy's lowest limit for adversaries who know facts, if there is one.
    asked : Try or None
        The `Try` of the policy that asked for the attack.
    """

    format = "foreknow trial"
    _json_fields = (
        "kind release=name sensitive by attacker right baseline surest limit sure sure_and_right "
        "measured people whole about claim shares tried near? required?"
    )

    kind: str
    name: str
    sensitive: str
    by: tuple[str, ...]
    attacker: str
    right: float
    baseline: float
    surest: float
    limit: float
    sure: int
    sure_and_right: int | None
    measured: bool
    people: int
    whole: bool = True
    about: tuple[Label, ...] | None = None
    claim: Claim | None = None
    shares: dict[str, Share] = field(default_factory=dict)
    tried: tuple[Tried, ...] = ()
    in_cases: bool = False
    near: str | None = None
    required: Fraction | None = None
    asked: Try | None = None

    @property
    def surest_tried(self) -> Tried | None:
        """The attacker who claims to be surest; None if that is the most successful one."""
        surest = max(self.tried, key=lambda tried: tried.surest, default=None)
        return surest if surest is not None and surest.surest > self.surest else None

    @property
    def as_tried(self) -> Tried:
        """The most successful attacker, as one of those that were tried."""
        figures = self.right, self.surest, self.sure, self.sure_and_right
        return Tried(self.attacker, self.by, *figures)

    def stopping(self, limit: Fraction) -> Tried | None:
        """The surest attacker who breaks a limit: the most successful one, or one who is right."""
        stopping = [self.as_tried] if self.surest > limit else []
        stopping += [attacker for attacker in self.tried if attacker.holds(limit)]
        return max(stopping, key=lambda attacker: attacker.surest, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**super().to_dict(), "at_least": self.measured}

    def __repr__(self) -> str:
        template = (
            "at least {} of guesses right" if self.measured else "{} of guesses claimed right"
        )
        return (
            f"Trial({self.name}, by {', '.join(self.by)}: {template.format(f'{self.right:.1%}')}, "
            f"{self.baseline:.1%} by the groups alone)"
        )


# ---- beside an audit -----------------------------------------------------------------------------


def trials_beside(visible: Release | Sight | None, policy: Policy) -> tuple[Trial, ...]:
    """The trials that the policy asks for; else one by the known columns of people.

    A trial is an attack that is carried out: somebody learns from the release, and guesses.
    """
    if visible is None or policy.schema is None:
        return ()
    if policy.learning:
        return _asked_trials(visible, policy, policy.schema.sensitives)
    if len(policy.schema.sensitives) > 1 or not is_installed("foreknow.features.learned_attacks"):
        return ()
    return _trials_by_default(visible, policy, policy.schema.quasi_identifiers)


def _asked_trials(
    visible: Release | Sight, policy: Policy, sensitives: Sequence[str]
) -> tuple[Trial, ...]:
    """The trials that the policy asks for, on each sensitive column.

    Those are left out for which there is too little to learn from.
    """
    learned, cohort = load("foreknow.features.learned_attacks.learned"), _cohort_of(visible)
    trials = list[Trial]()
    # A width says how near a guessed number must be; None for values that are guessed exactly.
    subjects = [(column, width) for column in sensitives for width in policy.widths_of(column)]
    for attempt, (column, width) in product(policy.learning, subjects):
        if attempt.sensitive not in (None, column):
            continue
        limit = learned.SURE if attempt.limit is None else float(attempt.limit)
        columns = attempt.by
        settings = {"limit": limit, "sensitive": column, "width": width, "effort": "policy"}
        with suppress(DataError, UnsupportedError):  # said as not run
            tried = []
            # The attacker may know, too, which of several releases shows a person (the cohort).
            for by in dict.fromkeys([(*columns,), (*columns, *cohort)]):
                tried.append(learned.learned_trial(visible, by, **settings))
            surest = max(tried, key=lambda trial: trial.surest)
            of_all = tuple(chain(*(trial.tried for trial in tried)))
            required = policy.least_limit(column)
            trials.append(replace(surest, tried=of_all, required=required, asked=attempt))
    return tuple(trials)


def _trials_by_default(
    visible: Release | Sight, policy: Policy, columns: Sequence[str]
) -> tuple[Trial, ...]:
    """Trials of attackers who learn from the release by some columns, one for each width.

    A width says how near a guessed number must be. Trials are about values that the policy limits;
    if it limits none, about all.
    """
    unprotected = set(unprotected_codes(visible.counts, policy.requirements).tolist())
    limited_values = []
    for code, value in enumerate(visible.counts.values):
        if code not in unprotected:
            limited_values.append(value)
    learned_beside = load("foreknow.features.learned_attacks.learned:learned_beside")
    trials = []
    for width in policy.widths_of(visible.sensitive):
        trials.append(
            learned_beside(
                visible,
                columns,
                limited_values or None,
                not_linked=_cohort_of(visible),
                width=width,
            )
        )
    required = policy.least_limit()
    return tuple(replace(trial, required=required) for trial in trials if trial is not None)


def _cohort_of(visible: Release | Sight) -> tuple[str, ...]:
    """The column by which it is known of everybody which of several releases shows them."""
    return tuple({visible.cohort}.intersection(visible.attributes))
