"""A criterion, a kind of knowledge and a method as another package writes them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

import foreknow as fk
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.release_counts import counts_of
from foreknow.criteria.group_criterion import Attained, EachGroup, OfGroups
from foreknow.needs import Need
from foreknow_judge.criteria.gauges import Gauge
from foreknow_judge.knowledge.verifiers import Judge
from foreknow_judge.policy.settings import FromOne, Settings


class FriendsSettings(Settings):
    many: FromOne = 1


@dataclass(frozen=True)
class Friends:
    """Knows whom of the group so many people have in common: as many others are ruled out."""

    many: int = 1
    key: ClassVar[str] = "friends"
    settings: ClassVar[Any] = FriendsSettings
    needs: ClassVar[Any] = frozenset({Need.ONE_VALUE, Need.NO_WINDOWS, Need.ABSOLUTE})
    speaks: ClassVar[None] = None

    @classmethod
    def from_settings(cls, read, folder):
        return cls(read.many)

    def disclosures(self, release):
        counts = counts_of(release)
        results = {value: Fraction(0) for value in counts.values}
        for group in range(counts.n_groups):
            size = int(counts.sizes[group])
            for value, holders in counts.bag(group).items():
                highest = max(size - self.many, holders)
                results[value] = max(results[value], Fraction(holders, highest))
        return {v: Disclosure(v, float(p), lambda p=p: p) for v, p in results.items()}

    def disclosure(self, release, value=None):
        found = self.disclosures(release)
        return found[value] if value is not None else max(found.values(), key=lambda d: d.exact)

    def chances(self, release):
        return None

    def monotone(self, semantics="single"):
        return True

    def ledger(self, threshold, values=None, semantics="single"):
        limit = Fraction(threshold)

        def fails(counts):
            found = [
                max(d.exact for d in self.disclosures(counts.take([g])).values()) >= limit
                for g in range(counts.n_groups)
            ]
            return np.array(found, dtype=bool)

        return EachGroup(fails)

    def to_dict(self):
        return {"friends": {"many": self.many}}

    @staticmethod
    def _judge(asked, settings):
        worst = None, None, Fraction(0), Fraction(1)
        for group, (people, bag) in asked.held.items():
            for value in sorted(set(bag) & set(asked.about)):
                chance = Fraction(bag[value], max(people - settings["many"], bag[value]))
                if chance > worst[2]:
                    worst = value, group, chance, Fraction(1)
        return worst

    judge: ClassVar[Judge] = Judge(_judge)


@dataclass(frozen=True)
class EvenGroups(OfGroups):
    """Every group has a number of people that `by` divides."""

    by: int
    key: ClassVar[str] = "even_groups"
    settings: ClassVar[Any] = FromOne
    needs: ClassVar[Any] = frozenset({Need.NO_WINDOWS, Need.NO_SETS})
    of_people: ClassVar[bool] = True
    compares_table: ClassVar[bool] = False

    @classmethod
    def from_settings(cls, read, folder):
        return cls(read)

    def attained(self, release):
        counts = counts_of(release)
        odd = np.flatnonzero(counts.sizes % self.by)
        place = int(odd[0]) if len(odd) else 0
        rest = int(counts.sizes[place]) % self.by
        return Attained(rest, not rest, f"{rest} people are left over", counts.group_label(place))

    def monotone(self, semantics="single"):
        return False

    def ledger(self, semantics="single", whole=None):
        return EachGroup(lambda counts: counts.sizes % self.by != 0)

    def to_dict(self):
        return {"even_groups": self.by}

    @staticmethod
    def _gauge(held, by):
        for group, (people, _) in held.items():
            if people % by:
                return Fraction(people % by), group, False
        return Fraction(0), next(iter(held)), True

    gauge: ClassVar[Gauge] = Gauge(_gauge, of_people=True)


class PairsSettings(Settings):
    size: FromOne


@dataclass(frozen=True)
class Pairs:
    """Puts people together in the order of the table."""

    size: int
    key: ClassVar[str] = "pairs"
    settings: ClassVar[Any] = PairsSettings
    traits: ClassVar[fk.Traits] = fk.Traits(notes=lambda policy, seed: ("pairs: in order",))

    def partition(self, microdata, policy=None, seed=None):
        return np.arange(microdata.n_rows) // self.size


class Silent:
    """An adversary that says nothing of single groups."""

    needs = frozenset({Need.ABSOLUTE, Need.FINISHED})
    speaks = disclosure = monotone = None

    def disclosures(self, release):
        return {value: fk.Disclosure(value, 0.5) for value in counts_of(release).values}

    def chances(self, release):
        return None

    def to_dict(self):
        return {"silent": {}}
