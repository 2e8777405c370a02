"""Negations(k): an adversary who knows k values that some people do not have.

From "Worst-Case Background Knowledge for Privacy-Preserving Data Publishing" (Martin, Kifer,
Machanavajjhala, Gehrke, Halpern), appendix E: nothing is worse than to know all of them about the
target (Theorem 19, Lemma 20), whatever its value. So it is `Facts` with these facts only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.implications.implications import AmountSettings
from foreknow.adversaries.protocol import HasCounts, Ledger, Mask, counts_of, whole_amount
from foreknow.data.counts import Semantics
from foreknow.data.labels import Label
from foreknow.errors import UnsupportedError
from foreknow.numbers import Number
from foreknow.settings import Settings


@dataclass(frozen=True)
class Negations:
    """An adversary who knows at most k times that somebody does not have some value.

    Parameters
    ----------
    k : int
        How many negations, about any people.

    Raises
    ------
    InputError
        If the number is negative or not whole.

    Notes
    -----
    Weaker than `Implications` of the same k, or as strong: a negation is an implication between
    the values of one person. Safety below c / (c + 1) is strict recursive (c, k + 2)-diversity.

    Examples
    --------
    >>> from foreknow.data.counts import GroupCounts
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cancer", "Cold"]])
    >>> [str(Negations(k).disclosure(counts).exact) for k in (0, 1, 2, 3)]
    ['2/5', '1/2', '2/3', '1']
    """

    k: int = 0
    key: ClassVar[str] = "negations"
    settings: ClassVar[type[Settings]] = AmountSettings

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_amount("Negations", "k", self.k))

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest posterior that some person has the value, or any value."""
        return self._facts(release).disclosure(release, value)

    def disclosures(self, release: HasCounts) -> Mapping[Label, Disclosure]:
        """Every sensitive value's disclosure."""
        return self._facts(release).disclosures(release)

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Whether merging groups never raises the breach probability."""
        return semantics == "single"

    def ledger(
        self, threshold: Number, values: Mask | None = None, semantics: Semantics = "single"
    ) -> Ledger:
        """Return a ledger for a search; see `Facts.ledger`."""
        _refuse(semantics)
        return Facts(l=self.k).ledger(threshold, values)

    @classmethod
    def from_settings(cls, read: Any, folder: Path) -> Negations:
        """Make them of their table in a policy file."""
        return cls(read.k)

    def to_dict(self) -> dict[str, Any]:
        """``{"negations": {"k": ...}}``, as in a policy file."""
        return {"negations": {"k": self.k}}

    def _facts(self, release: HasCounts) -> Facts:
        _refuse(counts_of(release).semantics)
        return Facts(l=self.k)


def _refuse(semantics: Semantics) -> None:
    if semantics != "single":
        raise UnsupportedError(
            f"Negations are about one sensitive value per person, not semantics {semantics!r}"
        )
