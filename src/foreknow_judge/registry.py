"""Every kind of knowledge and every criterion that can be judged, with what judges it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from foreknow_judge.criteria.gauges import CRITERIA, GAUGES, Gauge
from foreknow_judge.knowledge.verifiers import VERIFIERS, Judge
from foreknow_judge.policy.kinds import KNOWLEDGE
from foreknow_judge.policy.settings import checked


class Kinds(NamedTuple):
    """Kinds by their keys: the settings of each, and its judge or gauge.

    Other packages may define more kinds; callers that have such a package add them.
    """

    knowledge: Mapping[str, Any] = KNOWLEDGE
    criteria: Mapping[str, Any] = CRITERIA
    judges: Mapping[str, Judge] = VERIFIERS
    gauges: Mapping[str, Gauge] = GAUGES
    # For kinds of other packages: a text with the kind and its package.
    packages: Mapping[str, str] = {}

    def counts_people(self, key: str) -> bool:
        """True if a criterion is about how many people there are, whatever their values."""
        return key in self.gauges and self.gauges[key].of_people

    def by_other_columns(self, key: str) -> bool:
        """True if a criterion tells people apart by other published columns too, by default."""
        return self.counts_people(key) and not (
            self.compares_population(key) or self.gauges[key].of_labels
        )

    def compares_population(self, key: str) -> bool:
        """True if a criterion compares groups with a population."""
        return key in self.gauges and self.gauges[key].of_population


OURS = Kinds()


def settings_of(kind: str, settings: Any) -> Any:
    """The settings of one of these kinds, checked; those of another package as they are."""
    kinds = KNOWLEDGE | CRITERIA
    return checked(kinds[kind], settings, kind) if kind in kinds else settings
