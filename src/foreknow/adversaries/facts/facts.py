"""Facts(l, k, m): an adversary who knows some facts, whichever they are.

From "Privacy Skyline: Privacy with Multidimensional Adversarial Knowledge" (Chen, LeFevre,
Ramakrishnan), sections 4 to 6.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from foreknow.adversaries.adversary import HasCounts, KnowledgeReach, whole_amount
from foreknow.adversaries.chances import Chances
from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.facts.fronts import front
from foreknow.adversaries.facts.minima import (
    FactsMeasure,
    Theorem2Terms,
    attaining,
    exact_minimum,
    theorem2_terms,
)
from foreknow.adversaries.facts.profiles import (
    ExactMinimum,
    Profiles,
    formulas_of,
    profiles,
)
from foreknow.adversaries.facts.settings import FactsSettings
from foreknow.adversaries.facts.windows import WindowsMeasure, worst_window
from foreknow.adversaries.ledger import MinLedger
from foreknow.adversaries.release_counts import asked_of, code_of
from foreknow.call_hints import hints
from foreknow.data.arrays import BoolArray, FloatArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.impossible.possible_values import JointMembers
from foreknow.data.labels.labels import Label
from foreknow.data.labels.windows import Windows
from foreknow.needs import Need, Needs
from foreknow_judge.errors import UnsupportedError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import Number, as_threshold


@hints()
@dataclass(frozen=True)
class Facts:
    """An adversary with at most l, k and m facts of three kinds about a target person.

    Parameters
    ----------
    l : int
        The number of sensitive values that the target is known not to have.
    k : int
        The number of other people whose sensitive value is known.
    m : int
        The number of the target's relatives: if any of them has the value in question, so has the
        target.

    Raises
    ------
    InputError
        If an amount is negative or not a whole number.

    Notes
    -----
    The breach probability for a value is ``1 / (NR + 1)``, where NR is the least of three products
    of group minima (Theorem 2) and amounts are read as "at most". It is the worst case over all
    people, values and facts, over worlds that deal each group's values to its members. Counting
    costs one pass; the minima are taken over undominated profiles only, which is exact.

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
        """The reach of the facts: values of target and known people, secrets of linked people."""
        return KnowledgeReach(max(1 + self.k, self.k + self.m), self.m, alike=True)

    @property
    def of_rows(self) -> bool:
        """True if rules on values that people cannot have in other columns are respected."""
        return not self.m

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest posterior that some person has the value.

        Parameters
        ----------
        release : Release, GroupCounts or Windows
            What the adversary sees. For windows of numbers, the disclosure of the worst window is
            returned; if several are equally bad, the first. Here the adversary does not know the
            other columns; in an audit they are assumed to be known, as in `Release.seen`.
        value : label, optional
            The sensitive value; default: the worst one. A value that occurs nowhere has probability
            0.

        Examples
        --------
        >>> from foreknow.data.labels.windows import Width, Windows
        >>> counts = GroupCounts.from_bags([[30000, 31000, 34000, 60000, 90000]])
        >>> Facts(l=1).disclosure(Windows.of(counts, Width(5000)))
        Disclosure('between 30,000 and 35,000', 0.75)
        """
        if value is None:
            return worst(self.disclosures(release).values())
        counts = asked_of(self, release)
        if (code := code_of(counts, value)) is None:
            return Disclosure(value, 0.0, lambda: Fraction(0))
        return self._disclosures_by_value(counts, code)[value]

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """The disclosure of every sensitive value, in one vectorised pass over the counts.

        For windows of numbers, which are too many, the result has the worst one only.
        """
        if isinstance(release, Windows):
            of_windows = self._of_windows(release)
            return {of_windows.value: of_windows}
        return self._disclosures_by_value(asked_of(self, release), None)

    def chances(self, release: HasCounts) -> Chances:
        """How sure the adversary can be about each person, with that person as the target.

        The target's group is fixed: Theorem 2 takes the least T (odds against the value) over all
        groups, and this method the T of the target's group. Linked people may be in any group.
        """
        counts = asked_of(self, release)
        if isinstance(counts.possible, JointMembers):
            return self._bounds_by_verifier(counts)
        worst_profiles = self._worst_profiles(counts, None)
        cells = profiles(counts, min(self.l, counts.n_values))
        # Cells (values of groups) with equal numbers are worked out once.
        first, kind_of_cell = cells.alike()
        kinds = cells.take(first)
        # Put the least V over all groups in the place of the group's.
        codes, minima = worst_profiles.minima
        place = np.searchsorted(codes, kinds.value)
        terms = theorem2_terms(kinds, self.k, self.m)
        terms = terms._replace(v_alone=minima.v_alone[place], v_known=minima.v_known[place])
        odds = terms.negated_ratio()[kind_of_cell]
        if cells.able_terms is not None:  # of several profiles of a cell the worst
            cells, kind_of_cell, odds = cells.worst_of_cells(odds, kind_of_cell)
        exact = partial(worst_profiles.chances_of_cells, cells)
        chances = Chances.of_holders(cells.group, cells.value, cells.s, odds, exact)
        return replace(chances, overlap=counts.semantics != "single", alike=kind_of_cell)

    def monotone(self, semantics: Semantics = "single") -> bool:
        """True if merging groups never raises the breach probability (Theorem 4: ``single``)."""
        return semantics == "single"

    def ledger(
        self,
        threshold: Number,
        values: BoolArray | Windows | None = None,
        semantics: Semantics = "single",
        *,
        negated: bool = False,
    ) -> MinLedger:
        """Return a ledger for a search: five minima for each value, or for windows of numbers.

        Parameters
        ----------
        threshold : number
            The release is safe while every breach probability is strictly below it.
        values : bool array, shape (values,), or Windows, optional
            The sensitive values to watch, by code, or all windows of the whole table; default: all
            values.
        semantics : {"single", "set", "multiset"}
            The semantics of the counts that it receives.
        negated : bool
            Whether the facts are negations, for `Negations`; see `PossibleMembers`.
        """
        limit = as_threshold(threshold)
        # For windows of numbers there are other keys than values.
        if isinstance(values, Windows):
            amounts = min(self.l, values.counts.n_values), self.k, self.m
            return MinLedger(WindowsMeasure(amounts, limit, values.last), limit)
        measure = FactsMeasure((self.l, self.k, self.m), limit, values, semantics, negated)
        return MinLedger(measure, limit, values, falling=self.monotone(semantics))

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Facts:
        """Make the adversary from its table in a policy file."""
        return cls(settings.l, settings.k, settings.m)

    def to_dict(self) -> dict[str, Any]:
        """``{"facts": {"l": ..., "k": ..., "m": ...}}``, as in a policy file."""
        return {"facts": {"l": self.l, "k": self.k, "m": self.m}}

    def _of_windows(self, windows: Windows) -> Disclosure:
        """The disclosure of the worst window of numbers; its witness is worked out on demand."""
        window, exact = worst_window(windows, (self.l, self.k, self.m))

        def witness() -> Any:
            return self.disclosure(windows.merged(window), window).witness

        return Disclosure(window, float(exact), lambda: exact, witness)

    def _bounds_by_verifier(self, counts: GroupCounts) -> Chances:
        """Upper bounds of chances, for rules on impossible values that look at other columns.

        The verifier's function works them out for each value of each group.
        """
        possible: Any = counts.possible
        if self.m:
            raise UnsupportedError("impossible-linked", f"{self}")
        cells = list(zip(counts.cell_groups.tolist(), counts.codes.tolist(), strict=True))
        bounds = possible.surest(cells, (self.l, self.k))
        odds = np.array([float(1 / bound - 1) for bound in bounds], dtype=np.float64)

        def exact(cells: IntArray) -> list[Fraction | None]:
            """The bounds of some cells, which stand for their chances."""
            return [bounds[cell] for cell in cells.tolist()]

        return Chances.of_holders(counts.cell_groups, counts.codes, counts.counts, odds, exact)

    def _bounds_of_values(self, counts: GroupCounts, code: int | None) -> dict[Label, Disclosure]:
        """For each value (or only for `code`), an upper bound of its highest posterior.

        For schemas with rules on what is impossible that look at other sensitive columns.
        """
        every_cell = np.arange(len(counts.codes))  # a cell is a value of a group
        bounds = self._bounds_by_verifier(counts).fractions(every_cell)
        highest = dict.fromkeys(range(counts.n_values) if code is None else [code], Fraction(0))
        for value, bound in zip(counts.codes.tolist(), bounds, strict=True):
            if value in highest and bound is not None:
                highest[value] = max(highest[value], bound)
        disclosures: dict[Label, Disclosure] = {}
        for value, bound in highest.items():
            label, as_fraction = counts.values[value], partial(Fraction, bound)
            disclosures[label] = Disclosure(label, float(bound), bounded=True, _bound=as_fraction)
        return disclosures

    def _disclosures_by_value(
        self, counts: GroupCounts, code: int | None
    ) -> dict[Label, Disclosure]:
        """The disclosure of each value, or only of the one with this code."""
        if isinstance(counts.possible, JointMembers):
            return self._bounds_of_values(counts, code)
        # Fractions and witnesses are worked out on demand.
        worst_profiles = self._worst_profiles(counts, code)
        chances = worst_profiles.chances().tolist()
        is_bounded = formulas_of(counts).bounded(counts).tolist()
        disclosures: dict[Label, Disclosure] = {}
        for value in range(counts.n_values) if code is None else [code]:
            label = counts.values[value]
            disclosures[label] = Disclosure(
                label,
                chances[value],
                partial(worst_profiles.exact, value),
                partial(worst_profiles.witness, value),
                bounded=is_bounded[value],
            )
        return disclosures

    def _worst_profiles(self, counts: GroupCounts, code: int | None) -> _WorstProfiles:
        """The profiles of groups that attain a minimum, of all values or of one."""
        undominated = front(counts, self.l, code)
        return _WorstProfiles(self, counts, attaining(undominated, self.k, self.m))


@dataclass(frozen=True)
class _WorstProfiles:
    """The profiles that attain the minima of every value, and the chances that follow from them."""

    facts: Facts
    counts: GroupCounts
    profiles: Profiles
    _exact: dict[bytes, Fraction] = field(default_factory=dict)

    def chances(self) -> FloatArray:
        """Breach probability of each value code; 0 where it occurs nowhere."""
        codes, minima = self.minima
        chances = np.zeros(self.counts.n_values)
        chances[codes] = 1 / (1 + minima.negated_ratio())
        return chances

    def exact(self, code: int) -> Fraction:
        """Breach probability of one value as a fraction."""
        attaining_it = self.profiles.of(code)
        if not len(attaining_it):
            return Fraction(0)
        key = attaining_it.content()  # rare values often have equal profiles, in other groups
        if key not in self._exact:
            self._exact[key] = exact_minimum(attaining_it, self.facts.k, self.facts.m).probability
        return self._exact[key]

    @property
    def minima(self) -> tuple[IntArray, Theorem2Terms]:
        """The codes of values that occur, ascending, and the five minima of each."""
        starts = self.profiles.starts
        terms = theorem2_terms(self.profiles, self.facts.k, self.facts.m)
        return self.profiles.value[starts], terms.least(starts)

    def chances_of_cells(
        self, profiles_of_cells: Profiles, cells: IntArray
    ) -> list[Fraction | None]:
        """The highest posterior of a target in each of some cells (values of groups), as fractions.

        `profiles_of_cells` has the profile of each cell, `cells` the positions of those asked
        about. Cells with equal numbers are computed once.
        """
        targets = profiles_of_cells.take(cells)
        k, m = self.facts.k, self.facts.m
        # Without relatives, the value does not matter.
        keys = np.stack((targets.value * bool(m), *targets.numbers), axis=1)
        _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        kinds = targets.take(first)
        link_factors = {
            value: self._least_link_factors(value) for value in set(kinds.value.tolist())
        }
        terms_of_kinds = zip(
            kinds.value.tolist(),
            kinds.t_exact(0),
            kinds.t_exact(k),
            kinds.v_exact(m, k + 1),
            strict=True,
        )
        chances: list[Fraction | None] = []
        for value, t_alone, t_known, v_in_target_group in terms_of_kinds:
            v_alone, v_known = link_factors[value]
            # Theorem 2: all in one group; or known people beside the links, or beside the target.
            one_group = t_known * v_in_target_group
            odds = min(one_group, t_alone * v_known, t_known * v_alone)
            chances.append(1 / (1 + odds))
        return [chances[i] for i in kind.reshape(-1).tolist()]

    def _least_link_factors(self, code: int) -> tuple[Fraction, Fraction]:
        """The least chances that none of m linked people has a value, over all groups.

        The odds against the target are multiplied by it. The first is for a group of which nobody
        is known, the second for one with k known people: V(m, 0) and V(m, k) of the paper's section
        4. `code` is the value.
        """
        k, m = self.facts.k, self.facts.m
        if not m:
            return Fraction(1), Fraction(1)
        profiles = self.profiles.of(code)
        # V depends only on how many people a group has, and how many of them have the value.
        sizes_and_holders = set(zip(profiles.n.tolist(), profiles.s.tolist(), strict=True))
        v_exact = profiles.formulas.v_exact
        without_known = min(v_exact(size, holders, m, 0) for size, holders in sizes_and_holders)
        with_known = min(v_exact(size, holders, m, k) for size, holders in sizes_and_holders)
        return without_known, with_known

    def witness(self, code: int) -> FactsWitness | None:
        """The facts and groups that attain the highest chance of a value, spelled out."""
        attaining_it = self.profiles.of(code)
        if not len(attaining_it):
            return None
        amounts = self.facts.l, self.facts.k, self.facts.m
        minimum = exact_minimum(attaining_it, self.facts.k, self.facts.m)
        return witness_of(self.counts, code, amounts, minimum)


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
        known_people = [[value, count] for value, count in self.known.items()]
        table: dict[str, Any] = {"ruled_out": list(self.ruled_out), "known": known_people}
        if self.semantics != "single":
            table = {
                "co_occurring": list(self.ruled_out),
                "known_without": sum(self.known.values()),
            }
        return {
            "target_group": self.target_group,
            **table,
            "known_group": self.known_group,
            "family_group": self.family_group,
            "family": self.family,
        }


def witness_of(
    counts: GroupCounts,
    code: int,
    amounts: tuple[int, int, int],
    minimum: ExactMinimum,
) -> FactsWitness | None:
    """Spell out the fewest facts that attain the least odds against a value.

    `code` is the value, `amounts` are (l, k, m), and `minimum` says in which groups target, known
    people and linked people are. None where no few facts can be named, as for negations with rules
    on who has which values.
    """
    spelled = formulas_of(counts).spelled(counts, code, amounts, minimum)
    if spelled is None:
        return None
    ruled_out, known_people, n_linked = spelled
    return FactsWitness(
        value=counts.values[code],
        target_group=counts.group_label(minimum.target),
        ruled_out=tuple(ruled_out),
        known_group=counts.group_label(minimum.known_group) if known_people else None,
        known=known_people,
        family_group=counts.group_label(minimum.family) if n_linked else None,
        family=n_linked,
        target_position=minimum.target,
        known_position=minimum.known_group if known_people else None,
        family_position=minimum.family if n_linked else None,
        semantics=counts.semantics,
    )
