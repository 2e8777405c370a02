"""Trials of a policy: attacks to carry out on a release, and the limit that stops publication."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from foreknow.adversaries.adversary import check_adversary
from foreknow.data.schema import Schema
from foreknow.needs import Need
from foreknow_judge.errors import PolicyError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import Number, as_threshold


@dataclass(frozen=True)
class Try:
    """An attack to carry out before a release is published: ``[[try]]`` in a policy file.

    It can stop a publication, but it proves nothing: a release that survives it need not be safe.

    Parameters
    ----------
    attack : Learned, optional
        The attack, which is carried out on the release and checked with the owner's table.
    stop : number, optional
        The limit above which nothing is published. It applies to the probability that an attacker
        gives to a person's value, if the attacker is the most successful one, or is right about at
        least this share of the people with such probabilities; and to the estimated risk of a
        person. None: the attack stops nothing.
    sensitive : str, optional
        The column that is guessed; default: each sensitive column, by itself.
    individual_risk : bool
        In place of an attack: estimate from the schema's weights the risk that people of the
        release are found in the population; see `foreknow.risk_report`.

    Examples
    --------
    >>> from foreknow.features.learned_attacks.learned import Learned
    >>> Try(Learned(["job"]), stop="17/20").to_dict()
    {'learned': {'by': ['job']}, 'stop': '17/20'}
    """

    attack: Any = None
    stop: Number | None = None
    sensitive: str | None = None
    individual_risk: bool = False

    def __post_init__(self) -> None:
        """Raise `PolicyError` unless it is an attack that is carried out, or a risk by weights."""
        set_fields(self, stop=None if self.stop is None else as_threshold(self.stop))
        # Exactly one of the two: an attack, or individual_risk = True.
        if (self.attack is None) is not self.individual_risk or self.individual_risk not in (0, 1):
            raise PolicyError(
                'try: say either learned = { by = ["job"] } or individual_risk = true, which '
                "estimates by the weights of a survey"
            )
        if self.individual_risk:
            if self.sensitive is not None:
                raise PolicyError("try: individual_risk guesses no column; leave sensitive out")
            return
        check_adversary(self.attack, "a try")
        if Need.TRIAL not in self.attack.needs:
            raise PolicyError(
                f"a try takes an attack that is carried out, such as Learned([...]), not "
                f"{self.attack!r}; what is proved of knowledge is a requirement"
            )

    @property
    def by(self) -> tuple[str, ...]:
        """The columns from which an attacker learns."""
        return () if self.individual_risk else tuple(self.attack.by)

    @property
    def limit(self) -> Fraction | None:
        """The limit that stops a publication, or None."""
        return None if self.stop is None else Fraction(self.stop)

    def to_dict(self) -> dict[str, Any]:
        """The ``[[try]]`` table of a policy file."""
        settings = {
            "stop": None if self.stop is None else str(self.stop),
            "sensitive": self.sensitive,
        }
        without_none = {}
        for key, value in settings.items():
            if value is not None:
                without_none[key] = value
        what = {"individual_risk": True} if self.individual_risk else self.attack.to_dict()
        return {**what, **without_none}


def check_survey(schema: Schema) -> None:
    """Refuse to estimate risks by the weights of a survey if the table has none.

    A table with several rows or values of a person is refused, too.
    """
    if schema.weights is None:
        raise PolicyError(
            "try: individual_risk estimates by weights, and the schema names none; add "
            'weights = "COLUMN" to [schema], or leave [[try]] out'
        )
    if (schema.semantics, schema.unit) != ("single", "person"):
        raise PolicyError(
            "try: individual_risk takes a table with a row for each person; leave [[try]] out"
        )
