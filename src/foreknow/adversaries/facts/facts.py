"""Facts(l, k, m): an adversary who knows some facts, whichever they are.

From "Privacy Skyline: Privacy with Multidimensional Adversarial Knowledge" (Chen, LeFevre,
Ramakrishnan), sections 4 to 6.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from foreknow.adversaries.chances import Chances
from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.facts.minima import (
    ExactMinimum,
    FactsMeasure,
    attaining,
    exact_minimum,
    theorem2_terms,
)
from foreknow.adversaries.facts.profiles import FORMULAS, Profiles, bounded, profiles
from foreknow.adversaries.facts.settings import FactsSettings
from foreknow.adversaries.facts.skyline import front
from foreknow.adversaries.facts.windows import WindowsMeasure, worst_window
from foreknow.adversaries.ledger import MinLedger
from foreknow.adversaries.protocol import (
    HasCounts,
    KnowledgeReach,
    asked_of,
    code_of,
    whole_amount,
)
from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels import Label, in_order
from foreknow.data.possible_values import JointMembers
from foreknow.data.windows import Windows
from foreknow.hints import hints
from foreknow.needs import Need, Needs
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.frozen import set_fields
from foreknow_judge.numbers import Number, as_threshold


@hints()
@dataclass(frozen=True)
class Facts:
    """An adversary with at most l, k and m facts of three kinds about a target person.

    Parameters
    ----------
    l : int
        Sensitive values that the target is known not to have.
    k : int
        Other people whose sensitive value is known.
    m : int
        Relatives of the target: if any of them has the value in question, so has the target.

    Raises
    ------
    InputError
        If an amount is negative or not a whole number.

    Notes
    -----
    The breach probability for a value is ``1 / (NR + 1)`` with NR the least of three products of
    group minima (Theorem 2), amounts read as "at most". It is the worst case over all people,
    values and facts, over worlds that deal each group's bag out to its members. Counting costs
    one pass; the minima are taken over undominated profiles only, exactly.

    Examples
    --------
    >>> counts = GroupCounts.from_bags(
    ...     [["AIDS", "Flu", "Flu", "AIDS"], ["Flu", "Cancer", "Flu", "AIDS"]]
    ... )
    >>> group2 = counts.take([1])
    >>> [
    ...     Facts(*point).disclosure(group2, "AIDS").exact
    ...     for point in [(0, 0, 0), (1, 0, 0), (1, 1, 0)]
    ... ]
    [Fraction(1, 4), Fraction(1, 2), Fraction(1, 1)]
    """

    l: int = 0
    k: int = 0
    m: int = 0
    key: ClassVar[str] = "facts"
    needs: ClassVar[Needs] = frozenset({Need.ABSOLUTE})
    settings: ClassVar[Any] = FactsSettings

    def __post_init__(self) -> None:
        for name in ("l", "k", "m"):
            set_fields(self, **{name: whole_amount("Facts", name, getattr(self, name))})

    @property
    def speaks(self) -> KnowledgeReach:
        """The target and known people have their values, and linked people may have the secret."""
        return KnowledgeReach(max(1 + self.k, self.k + self.m), self.m, alike=True)

    @property
    def of_rows(self) -> bool:
        """Whether it heeds what some people cannot have in a column beside the secret."""
        return not self.m

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest posterior that some person has the value.

        Parameters
        ----------
        release : Release, GroupCounts or Windows
            What the adversary sees; of windows of numbers the worst is found, of windows that are
            as bad the first.
        value : label, optional
            The sensitive value; default: the worst one. A value that occurs nowhere has
            probability 0.

        Examples
        --------
        >>> from foreknow.data.windows import Width, Windows
        >>> counts = GroupCounts.from_bags([[30000, 31000, 34000, 60000, 90000]])
        >>> Facts(l=1).disclosure(Windows.of(counts, Width(5000)))
        Disclosure('between 30,000 and 35,000', 0.75)
        """
        if isinstance(release, Windows):
            return self._of_windows(release)
        counts = asked_of(self, release)
        if value is None:
            return worst(self._judge(counts, None).values())
        if (code := code_of(counts, value)) is None:
            return Disclosure(value, 0.0, lambda: Fraction(0))
        return self._judge(counts, code)[value]

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """Every sensitive value's disclosure, in one vectorised pass over the counts.

        Of windows of numbers, which are too many, the worst alone.
        """
        if isinstance(release, Windows):
            found = self._of_windows(release)
            return {found.value: found}
        return self._judge(asked_of(self, release), None)

    def chances(self, release: HasCounts) -> Chances:
        """How sure they can be of each person, with that person as the target.

        Of the groups that the facts may be about, the target's is given: where the paper's Theorem
        2 has the least T over all groups, this has the T of the target's own.
        """
        counts = asked_of(self, release)
        if isinstance(counts.able, JointMembers):
            return self._beside(counts)
        fronts = _Fronts(self, counts, attaining(front(counts, self.l, None), self.k, self.m))
        own = profiles(counts, min(self.l, counts.n_values))
        first, alike = own.alike()
        kinds = own.take(first)
        terms = theorem2_terms(kinds, self.k, self.m)
        alone, known = (least[kinds.value] for least in fronts.family())
        ratio = terms._replace(v_alone=alone, v_known=known).negated_ratio()[alike]
        if own.more is not None:  # of several profiles of a cell the worst
            own, alike, ratio = own.worst_each(ratio, alike)
        exact = partial(fronts.of_cells, own)
        found = Chances.of_holders(own.group, own.value, own.s, ratio, exact)
        return replace(found, overlap=counts.semantics != "single", alike=alike)

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Whether merging groups never raises the breach probability (Theorem 4: ``single``)."""
        return semantics == "single"

    def ledger(
        self,
        threshold: Number,
        values: BoolArray | Windows | None = None,
        semantics: Semantics = "single",
        *,
        negated: bool = False,
    ) -> MinLedger:
        """Return a ledger for a search: five minima of each value, or of windows of numbers.

        Parameters
        ----------
        threshold : number
            The release is safe while every breach probability is strictly below it.
        values : bool array, shape (values,), or Windows, optional
            For which sensitive values (by code), or for all windows; default: all values. The
            windows are those of the whole table.
        semantics : {"single", "set", "multiset"}
            Of the counts that it receives.
        negated : bool
            Whether the facts are negations, for `Negations`; see `PossibleMembers`.
        """
        limit = as_threshold(threshold)
        if isinstance(values, Windows):
            amounts = min(self.l, values.counts.n_values), self.k, self.m
            return MinLedger(WindowsMeasure(amounts, limit, values.last), limit)
        measure = FactsMeasure((self.l, self.k, self.m), limit, values, semantics, negated)
        return MinLedger(measure, limit, values, falling=self.monotone(semantics))

    @classmethod
    def from_settings(cls, read: Any, folder: Path) -> Facts:
        """Make them of their table in a policy file."""
        return cls(read.l, read.k, read.m)

    def to_dict(self) -> dict[str, Any]:
        """``{"facts": {"l": ..., "k": ..., "m": ...}}``, as in a policy file."""
        return {"facts": {"l": self.l, "k": self.k, "m": self.m}}

    def _of_windows(self, windows: Windows) -> Disclosure:
        window, exact = worst_window(windows, (self.l, self.k, self.m))

        def witness() -> Any:
            return self.disclosure(windows.merged(window), window).witness

        return Disclosure(window, float(exact), lambda: exact, witness)

    def _beside(self, counts: GroupCounts) -> Chances:
        """The same where rules are about a column beside the secret: bounds, by the judge."""
        able = counts.able
        assert isinstance(able, JointMembers)
        if self.m:
            raise UnsupportedError("impossible-linked", f"{self}")
        cells = list(zip(counts.cell_groups.tolist(), counts.codes.tolist(), strict=True))
        found = able.surest(cells, (self.l, self.k))
        odds = np.array([float(1 / own - 1) for own in found], dtype=np.float64)

        def exact(asked: IntArray) -> list[Fraction | None]:
            return [found[cell] for cell in asked.tolist()]

        return Chances.of_holders(counts.cell_groups, counts.codes, counts.counts, odds, exact)

    def _worst_beside(self, counts: GroupCounts, code: int | None) -> dict[Label, Disclosure]:
        """The highest of these bounds for each value, or for one."""
        chances = self._beside(counts)
        highest = dict.fromkeys(range(counts.n_values) if code is None else [code], Fraction(0))
        each = zip(
            counts.codes.tolist(), chances.fractions(np.arange(len(counts.codes))), strict=True
        )
        for value, own in each:
            if value in highest and own is not None:
                highest[value] = max(highest[value], own)
        return {
            counts.values[value]: Disclosure(
                counts.values[value], float(own), bounded=True, _bound=partial(Fraction, own)
            )
            for value, own in highest.items()
        }

    def _judge(self, counts: GroupCounts, code: int | None) -> dict[Label, Disclosure]:
        if isinstance(counts.able, JointMembers):
            return self._worst_beside(counts, code)
        fronts = _Fronts(self, counts, attaining(front(counts, self.l, code), self.k, self.m))
        chances, at_most = fronts.chances().tolist(), bounded(counts).tolist()
        codes = range(counts.n_values) if code is None else [code]
        return {
            counts.values[code]: Disclosure(
                counts.values[code],
                chances[code],
                partial(fronts.exact, code),
                partial(fronts.witness, code),
                bounded=at_most[code],
            )
            for code in codes
        }


@dataclass(frozen=True)
class _Fronts:
    """The profiles that attain the minima of every value, and what they say when asked."""

    facts: Facts
    counts: GroupCounts
    profiles: Profiles
    _exact: dict[bytes, Fraction] = field(default_factory=dict)

    def chances(self) -> FloatArray:
        """Breach probability of each value code; 0 where it occurs nowhere."""
        chances = np.zeros(self.counts.n_values)
        value = self.profiles.value
        if len(value):
            starts = self.profiles.starts
            least = theorem2_terms(self.profiles, self.facts.k, self.facts.m).least(starts)
            chances[value[starts]] = 1 / (1 + least.negated_ratio())
        return chances

    def exact(self, code: int) -> Fraction:
        """Breach probability of one value as a fraction."""
        own = self._of(code)
        if not len(own):
            return Fraction(0)
        key = own.content()  # rare values often have equal profiles, in other groups
        if key not in self._exact:
            self._exact[key] = exact_minimum(own, self.facts.k, self.facts.m).probability
        return self._exact[key]

    def family(self) -> tuple[FloatArray, FloatArray]:
        """The least V(m, 0) and V(m, k) of each value code over all groups."""
        least = np.ones((2, self.counts.n_values))
        value = self.profiles.value
        if len(value):
            starts = self.profiles.starts
            terms = theorem2_terms(self.profiles, self.facts.k, self.facts.m).least(starts)
            least[:, value[starts]] = terms.v_alone, terms.v_known
        return least[0], least[1]

    def of_cells(self, own: Profiles, cells: IntArray) -> list[Fraction | None]:
        """Breach probabilities of the targets of some cells as fractions."""
        some = own.take(cells)
        k, m = self.facts.k, self.facts.m
        families: dict[int, tuple[Fraction, Fraction]] = {}
        # Without relatives, the value does not matter.
        keys = np.stack((some.value * bool(m), *some.numbers), axis=1)
        _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        distinct = some.take(first)
        ratios = distinct.t_exact(0), distinct.t_exact(k), distinct.v_exact(m, k + 1)
        found: list[Fraction | None] = []
        for value, t_alone, t_known, family in zip(distinct.value.tolist(), *ratios, strict=True):
            if value not in families:
                families[value] = self._family(value)
            alone, known = families[value]
            together = t_known * family
            found.append(1 / (1 + min(together, t_alone * known, t_known * alone)))
        return [found[i] for i in kind.reshape(-1).tolist()]

    def _family(self, code: int) -> tuple[Fraction, Fraction]:
        """The least V(m, 0) and V(m, k) of a value as fractions."""
        k, m = self.facts.k, self.facts.m
        if not m:
            return Fraction(1), Fraction(1)
        own = self._of(code)
        pairs, exact = set(zip(own.n.tolist(), own.s.tolist(), strict=True)), own.formulas.v_exact
        alone, known = (min(exact(n, s, m, amount) for n, s in pairs) for amount in (0, k))
        return alone, known

    def witness(self, code: int) -> FactsWitness | None:
        """Spell out what attains it."""
        own, able = self._of(code), self.counts.able
        if not len(own) or (able is not None and able.negated):
            return None
        amounts = self.facts.l, self.facts.k, self.facts.m
        found = exact_minimum(own, self.facts.k, self.facts.m)
        return witness_of(self.counts, code, amounts, found)

    def _of(self, code: int) -> Profiles:
        return self.profiles.of(code)


# ---- the facts that attain it -------------------------------------------------------------------


@dataclass(frozen=True)
class FactsWitness:
    """Facts that attain a breach probability, whichever members of the groups are meant.

    Under ``set`` and ``multiset`` `ruled_out` come only with the inferred value: had the target one
    of them, it would have that one too. Where fewer facts than the limit allows already give
    certainty, only those are named.
    """

    value: Label  # what the adversary infers
    target_group: Label
    ruled_out: tuple[Label, ...]  # values that the target is known not to have
    # of the people of whom something is known; None where nobody is needed
    known_group: Label | None
    # how many of them are known to have which value; but under ``single`` alone: not to have it
    known: dict[Label, int]
    family_group: Label | None  # of the relatives; None where none is needed
    family: int  # how many relatives, other than target and known people
    target_position: int  # the same groups by their position in the counts
    known_position: int | None
    family_position: int | None
    semantics: Semantics = "single"

    @property
    def group(self) -> Label:
        """The group of the target."""
        return self.target_group

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; known people as a list of [value, count]."""
        known = [[value, count] for value, count in self.known.items()]
        told: dict[str, Any] = {"ruled_out": list(self.ruled_out), "known": known}
        if self.semantics != "single":
            told = {"co_occurring": list(self.ruled_out), "known_without": sum(self.known.values())}
        return {
            "target_group": self.target_group,
            **told,
            "known_group": self.known_group,
            "family_group": self.family_group,
            "family": self.family,
        }


def witness_of(
    counts: GroupCounts,
    code: int,
    amounts: tuple[int, int, int],
    found: ExactMinimum,
) -> FactsWitness:
    """Spell out an exact minimum as facts, no more of them than attain it."""
    value = counts.values[code]
    bag = counts.bag(found.target)
    bag.pop(value)
    most_frequent = sorted(in_order(bag), key=bag.__getitem__, reverse=True)
    if counts.able is not None:
        most_frequent = _ruled_out(counts, code, amounts, found)
    elif not found.ratio:
        amounts = _enough(counts, value, most_frequent, amounts, found)
    _, k, m = amounts
    used = tuple(most_frequent[: amounts[0]])
    known_at = found.family if found.known == "with family" else found.target
    if counts.semantics != "single":
        known = {value: k} if k else {}
    else:
        others = counts.bag(known_at)
        for label in [value, *used] if known_at == found.target else [value]:
            others.pop(label, None)
        known = _some(others, k)
        if counts.able is not None:
            known = _known(counts, known_at, code, others, k)
    return FactsWitness(
        value=value,
        target_group=counts.group_label(found.target),
        ruled_out=used,
        known_group=counts.group_label(known_at) if known else None,
        known=known,
        family_group=counts.group_label(found.family) if m else None,
        family=m,
        target_position=found.target,
        known_position=known_at if known else None,
        family_position=found.family if m else None,
        semantics=counts.semantics,
    )


def _ruled_out(
    counts: GroupCounts, code: int, amounts: tuple[int, int, int], found: ExactMinimum
) -> list[Label]:
    """What a target is known not to have, where some members cannot have each value."""
    l, k, _ = amounts
    own, rest = counts.of_kind(found.target, code)
    one = counts.take(np.array([found.target]))
    ways = profiles(one, l, np.arange(counts.n_values) == code)
    ratios = ways.t_exact(0 if found.known == "with family" else k)
    of_kind = ratios.index(min(ratios)) if len(ratios) > 1 or own else 0
    frequent = [sorted(in_order(bag), key=bag.__getitem__, reverse=True) for bag in (own, rest)]
    return [*frequent[0][:of_kind], *frequent[1][: l - of_kind]]


def _known(
    counts: GroupCounts, group: int, code: int, others: dict[Label, int], most: int
) -> dict[Label, int]:
    """What is known of other people there: first those who have values of the same kind."""
    chosen: dict[Label, int] = {}
    for bag in counts.of_kind(group, code):
        left = {value: n for value, n in others.items() if value in bag}
        chosen |= _some(left, most - sum(chosen.values()))
    return chosen


def _enough(
    counts: GroupCounts,
    value: Label,
    others: list[Label],
    amounts: tuple[int, int, int],
    found: ExactMinimum,
) -> tuple[int, int, int]:
    """The least amounts that give certainty where these do: links go first, then known people."""
    formulas, (_, k, m) = FORMULAS[counts.semantics], amounts
    n, s, bag = int(counts.sizes[found.target]), _held(counts, found.target, value), counts.bag
    family_n, family_s = int(counts.sizes[found.family]), _held(counts, found.family, value)
    frequent = [bag(found.target)[label] for label in others[: amounts[0]]]
    with_target, with_family = found.known != "with family", found.known != "with target"

    def certain(out: int, k: int, m: int) -> bool:
        slack = formulas.slack_exact(n, s, frequent[:out])
        if formulas.t_exact(n, s, slack, k if with_target else 0) == 0:
            return True
        taken = (k if with_family else 0) + (found.target == found.family)
        return formulas.v_exact(family_n, family_s, m, taken) == 0

    out, k, m = len(frequent), min(k, n + family_n), min(m, family_n)
    m = bisect_left(range(m), True, key=lambda fewer: certain(out, k, fewer))
    k = bisect_left(range(k), True, key=lambda fewer: certain(out, fewer, m))
    return bisect_left(range(out), True, key=lambda fewer: certain(fewer, k, m)), k, m


def _some(bag: dict[Label, int], most: int) -> dict[Label, int]:
    """At most so many people of a bag, the most frequent values first."""
    chosen: dict[Label, int] = {}
    for value in sorted(in_order(bag), key=bag.__getitem__, reverse=True):
        if most <= 0:
            break
        chosen[value] = min(bag[value], most)
        most -= chosen[value]
    return chosen


def _held(counts: GroupCounts, group: int, value: Label) -> int:
    return counts.bag(group)[value]
