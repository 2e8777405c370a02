"""Try: an attack to carry out on a release before publication, and the limit that stops it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from foreknow.adversaries.protocol import check_adversary
from foreknow.needs import Need
from foreknow_judge.errors import PolicyError
from foreknow_judge.frozen import set_fields
from foreknow_judge.numbers import Number, as_threshold


@dataclass(frozen=True)
class Try:
    """An attack to carry out before a release is published: ``[[try]]`` in a policy file.

    It can stop a publication, and makes nothing safe: an attack that fails proves nothing.

    Parameters
    ----------
    attack : Learned
        The attack, which is carried out on the release and checked with the owner's table.
    stop : number, optional
        Nothing is published if the most successful attacker becomes surer than this of somebody's
        value.
    sensitive : str, optional
        The column that is guessed; default: each sensitive column, by itself.

    Examples
    --------
    >>> from foreknow.trials.learned import Learned
    >>> Try(Learned(["job"]), stop="17/20").to_dict()
    {'learned': {'by': ['job']}, 'stop': '17/20'}
    """

    attack: Any
    stop: Number | None = None
    sensitive: str | None = None

    def __post_init__(self) -> None:
        check_adversary(self.attack, "a try")
        if Need.TRIAL not in self.attack.needs:
            raise PolicyError(
                f"a try takes an attack that is carried out, such as Learned([...]), not "
                f"{self.attack!r}; what is proved of knowledge is a requirement"
            )
        stop = None if self.stop is None else as_threshold(self.stop)
        set_fields(self, stop=stop)

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
        given = {key: value for key, value in settings.items() if value is not None}
        return {**self.attack.to_dict(), **given}
