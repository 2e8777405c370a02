"""Implications(k) and Negations(k): an adversary who knows any k of these about people's values.

From "Worst-Case Background Knowledge for Privacy-Preserving Data Publishing" (Martin, Kifer,
Machanavajjhala, Gehrke, Halpern), sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from foreknow.adversaries.adversary import HasCounts, KnowledgeReach, Ledger, whole_amount
from foreknow.adversaries.chances import Chances
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.profiles import with_negations
from foreknow.adversaries.implications.minima import (
    Attained,
    ImplicationsMeasure,
    Plan,
    Targets,
    atoms_and_odds,
    exact_atoms,
    exact_target,
    most_atoms,
    ratio,
    spread,
)
from foreknow.adversaries.ledger import MinLedger
from foreknow.adversaries.release_counts import asked_of, code_of
from foreknow.call_hints import Plain, hints
from foreknow.data.arrays import BoolArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels.labels import Label, in_order
from foreknow.needs import Need, Needs, require, several_values
from foreknow.settings import with_examples
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import CLOSE, Number, as_threshold
from foreknow_judge.policy.kinds import KNOWLEDGE

_SETTINGS = with_examples(KNOWLEDGE["implications"], k=1)


@hints()
@dataclass(frozen=True)
class Implications:
    """An adversary who knows at most k basic implications, whichever they are.

    A basic implication says: if these people have these values, then one of those people has one
    of those values. In the worst case, each begins with one person's value, and all end with what
    the adversary wants to know (Theorem 9).

    Parameters
    ----------
    k : int
        The largest number of implications.

    Raises
    ------
    InputError
        If the number is negative or not whole.

    Notes
    -----
    Without a value, `disclosure` is the maximum disclosure of the paper (definition 6): the target
    value is then one that is most frequent in its group. With a value, it is the highest posterior
    of that value, also exact (see `foreknow.adversaries.implications.minima`). Only ``single`` is
    supported: the paper is about one sensitive value per person.

    The first k takes O(G k^2 log k) vector operations for G groups; then any smaller k takes
    microseconds.

    Examples
    --------
    >>> counts = GroupCounts.from_bags(
    ...     [
    ...         ["Flu", "Flu", "Lung Cancer", "Lung Cancer", "Mumps"],
    ...         ["Flu", "Flu", "Breast Cancer", "Ovarian Cancer", "Heart Disease"],
    ...     ]
    ... )
    >>> [str(Implications(k).disclosure(counts).exact) for k in (0, 1, 2)]
    ['2/5', '2/3', '1']
    """

    k: int = 0
    key: ClassVar[str] = "implications"
    settings: ClassVar[Any] = _SETTINGS
    # Of a household's rows that do not show its value, implications would begin with a certainty.
    needs: ClassVar[Needs] = frozenset(
        {Need.ONE_VALUE, Need.NO_WINDOWS, Need.ABSOLUTE, Need.EVERYBODY, Need.NO_HOUSEHOLDS}
    )

    def __post_init__(self) -> None:
        set_fields(self, k=whole_amount("Implications", "k", self.k))

    @property
    def speaks(self) -> KnowledgeReach:
        """The reach: the target, and k other groups whose people an implication may name."""
        return KnowledgeReach(1, self.k, joined=True)

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest posterior that some person has the value, or any value.

        Parameters
        ----------
        release : Release or GroupCounts
        value : label, optional
            The sensitive value; the default is any. A value that does not occur has probability 0.
        """
        counts = self._counts(release)
        if value is None:
            return self._worst(counts)
        if (code := code_of(counts, value)) is None:
            return Disclosure(value, 0.0, lambda: Fraction(0))
        is_wanted = np.zeros(counts.n_values, dtype=bool)
        is_wanted[code] = True
        cells = Targets.of(counts, is_wanted)
        _, odds = atoms_and_odds(counts, self._most(counts), cells)
        return self._disclosure(counts, value, self._chance(counts, odds), lambda: (cells, odds))

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """The disclosure of each sensitive value.

        The k implications are spent as atoms (statements that a person has a value): x in the
        target's group, the others where they leave the least chance.
        """
        counts = self._counts(release)
        k = self._most(counts)
        atoms = spread(self._attained(counts).least[: k + 1])
        cells = Targets.of(counts)
        # For each value and number x of atoms in the target's group, the least odds over groups.
        lowest = np.full((k + 1, counts.n_values), np.inf)
        _, odds = atoms_and_odds(counts, k, cells)
        for row, odds_of_cells in zip(lowest, odds, strict=True):
            np.minimum.at(row, cells.code, odds_of_cells)
        # The other k - x atoms are spent in other groups.
        ratios = ratio(lowest, atoms[:, None]) if counts.n_values else np.empty(0)

        def targets_of(code: int) -> tuple[Targets, Any]:
            """The targets with a value, and the odds against each by atoms in its group."""
            of_value = np.flatnonzero(cells.code == code)
            return cells.take(of_value), odds[:, of_value]

        disclosures: dict[Label, Disclosure] = {}
        for code, value in enumerate(counts.values):
            chance, targets = float(1 / (1 + ratios[code])), partial(targets_of, code)
            disclosures[value] = self._disclosure(counts, value, chance, targets)
        return disclosures

    def chances(self, release: HasCounts) -> Chances:
        """How sure the adversary can be of each person, if that person is the target.

        x of the k atoms (statements that a person has a value) are spent in the target's group, the
        others where they leave the least chance.
        """
        counts = self._counts(release)
        k, attained = self._most(counts), self._attained(counts)
        cells = Targets.of(counts)
        _, odds = atoms_and_odds(counts, k, cells)
        ratios = ratio(odds, spread(attained.least[: k + 1])[:, None])

        def chances_as_fractions(positions: IntArray) -> list[Fraction | None]:
            return attained.chances(k, cells.take(positions))

        return Chances.of_holders(
            cells.group, cells.code, cells.holders, odds=ratios, exact=chances_as_fractions
        )

    def monotone(self, semantics: Semantics = "single") -> bool:
        """True if merging groups never raises the breach probability (Theorem 15)."""
        return semantics == "single"

    def ledger(
        self, threshold: Number, values: BoolArray | None = None, semantics: Semantics = "single"
    ) -> MinLedger:
        """Return a ledger, which tells a search whether changed groups stay safe.

        It keeps 2k + 2 minima over all groups: for 0 to k atoms, the least chance that they leave,
        and the least odds against a target.

        Parameters
        ----------
        threshold : number
            The release is safe while every breach probability is strictly below it.
        values : bool array, shape (values,), optional
            True for the sensitive values that are secrets; the default is all.
        semantics : "single"
            The only one that is supported.
        """
        require(self, several_values(semantics))
        return MinLedger(ImplicationsMeasure(self.k, values), as_threshold(threshold), values)

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Implications:
        """Build them from their table in a policy file."""
        return cls(settings.k)

    def to_dict(self) -> dict[str, Any]:
        """``{"implications": {"k": ...}}``, as in a policy file."""
        return {"implications": {"k": self.k}}

    def _counts(self, release: HasCounts) -> GroupCounts:
        counts = asked_of(self, release)
        restricted = {Need.EVERYBODY: counts.possible.restricts}
        require(self, {**several_values(counts.semantics), **restricted})
        return counts

    def _most(self, counts: GroupCounts) -> int:
        return most_atoms(self.k, counts.n_values)

    def _attained(self, counts: GroupCounts) -> Attained:
        """The least chances and odds of a release for at least k atoms, kept with its counts."""
        k, key = self._most(counts), "implications"
        attained: Attained | None = counts.cache.get(key)
        if attained is None or attained.k < k:
            attained = counts.cache[key] = Attained(counts, k)
        return attained

    def _chance(self, counts: GroupCounts, odds: Any) -> float:
        """The highest chance of a value, as a float.

        ``odds[x, i]`` are the odds against target i with x atoms (statements that a person has a
        value) about its group; the other atoms are spent in other groups.
        """
        k = self._most(counts)
        if not odds.shape[1]:
            return 0.0
        atoms = spread(self._attained(counts).least[: k + 1])
        return float(1 / (1 + ratio(odds[: k + 1].min(axis=1), atoms)))

    def _worst(self, counts: GroupCounts) -> Disclosure:
        """The highest disclosure of any value.

        For each target (a value of a group), the least odds against it, over how many of the k
        atoms are spent in its own group; the others are spent where they leave the least chance.
        Fractions decide among near ones.
        """
        attained = self._attained(counts)
        cells, odds = attained.cells, attained.odds  # odds by atoms in the target's group, and cell
        if not len(cells.group):
            return Disclosure(None, 0.0, lambda: Fraction(0))
        k = self._most(counts)
        least_elsewhere = spread(attained.least[: k + 1])
        odds_against = ratio(odds[: k + 1], least_elsewhere[:, None])
        lowest_odds = odds_against.min()
        nearly_lowest = np.flatnonzero(odds_against <= lowest_odds * (1 + CLOSE))
        code = int(cells.code[nearly_lowest[0]])
        # Near ones are about several values: only fractions say which is worst.
        if lowest_odds > 0 and np.any(cells.code[nearly_lowest] != code):
            exact_best = attained.plan(k, cells, odds)
            code = code if exact_best is None else exact_best.code
        chance = float(1 / (1 + lowest_odds))

        def cells_of_value() -> tuple[Targets, Any]:
            """The targets with the worst value, and the odds against each."""
            positions = np.flatnonzero(cells.code == code)
            return cells.take(positions), odds[:, positions]

        return self._disclosure(counts, counts.values[code], chance, cells_of_value)

    def _disclosure(
        self,
        counts: GroupCounts,
        value: Label,
        chance: float,
        cells_of: Callable[[], tuple[Targets, Any]],
    ) -> Disclosure:
        """The disclosure of a value with this chance.

        Its fraction and witness are made when asked for. `cells_of` gives the targets with the
        value, and the odds against each.
        """
        k = self._most(counts)

        @cache
        def plan() -> Plan | None:
            """The best way to spend the implications, in fractions; worked out once."""
            return self._attained(counts).plan(k, *cells_of())

        def exact() -> Fraction:
            best_plan = plan()
            return Fraction(0) if best_plan is None else 1 / (1 + best_plan.ratio)

        def witness() -> ImplicationsWitness | None:
            best_plan = plan()
            return None if best_plan is None else witness_of(counts, best_plan)

        return Disclosure(value, chance, exact, witness)


@hints()
@dataclass(frozen=True)
class Negations:
    """An adversary who knows at most k negations: that a person does not have a value.

    Parameters
    ----------
    k : int
        The largest number of negations, about any people.

    Raises
    ------
    InputError
        If the number is negative or not whole.

    Notes
    -----
    At most as strong as `Implications` with the same k: a negation is an implication between the
    values of one person. The worst negations are about the target. If some people cannot have a
    value, negations about others may tell more; the worse of both cases is then a bound. Safety
    below c / (c + 1) is strict recursive (c, k + 2)-diversity.

    Examples
    --------
    >>> from foreknow.data.counts import GroupCounts
    >>> counts = GroupCounts.from_bags([["AIDS", "Flu", "Flu", "Cancer", "Cold"]])
    >>> [str(Negations(k).disclosure(counts).exact) for k in (0, 1, 2, 3)]
    ['2/5', '1/2', '2/3', '1']
    """

    k: int = 0
    key: ClassVar[str] = "negations"
    needs: ClassVar[Needs] = frozenset({Need.ONE_VALUE, Need.ABSOLUTE})
    settings: ClassVar[Any] = _SETTINGS
    # it heeds what some people cannot have in a column beside the secret
    of_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        set_fields(self, k=whole_amount("Negations", "k", self.k))

    @property
    def speaks(self) -> KnowledgeReach:
        """The reach: the target and k others, whose values may be known as well."""
        return KnowledgeReach(1 + self.k, alike=True)

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest posterior that some person has the value, or any value."""
        return Facts(l=self.k).disclosure(self._counts(release), value)

    def disclosures(self, release: HasCounts) -> Mapping[Label, Disclosure]:
        """The disclosure of each sensitive value."""
        return Facts(l=self.k).disclosures(self._counts(release))

    def chances(self, release: HasCounts) -> Chances:
        """How sure the adversary can be of each person, with that person as the target."""
        return Facts(l=self.k).chances(self._counts(release))

    def monotone(self, semantics: Semantics = "single") -> bool:
        """True if merging groups never raises the breach probability."""
        return semantics == "single"

    def ledger(
        self, threshold: Number, values: Any = None, semantics: Semantics = "single"
    ) -> Ledger:
        """Return a ledger for a search; see `Facts.ledger`."""
        require(self, several_values(semantics))
        return Facts(l=self.k).ledger(threshold, values, negated=True)

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Negations:
        """Build them from their table in a policy file."""
        return cls(settings.k)

    def to_dict(self) -> dict[str, Any]:
        """``{"negations": {"k": ...}}``, as in a policy file."""
        return {"negations": {"k": self.k}}

    def _counts(self, release: HasCounts) -> HasCounts:
        counts = asked_of(self, release)
        require(self, several_values(counts.semantics))
        lacking = with_negations(counts)
        return release if lacking is counts else lacking


# ---- the implications that attain it ------------------------------------------------------------


@dataclass(frozen=True)
class Implication(Plain):
    """If someone has a value, then the target has the target's value."""

    _json_fields = "group person value"

    group: Label  # of the person it begins with
    person: int  # tells people of a group apart; 0 is the target, others begin with 1
    value: Label  # what that person would have
    position: int  # the group by its position in the counts


@dataclass(frozen=True)
class ImplicationsWitness(Plain):
    """Implications that attain a breach probability, whichever members of the groups are meant.

    All end with "then the target has the value". One that begins with the target itself says
    that the target does not have that other value.
    """

    _json_fields = "target_group implications"

    value: Label  # what the adversary infers
    target_group: Label
    implications: tuple[Implication, ...]
    target_position: int  # the target's group by its position in the counts

    @property
    def group(self) -> Label:
        """The group of the target."""
        return self.target_group

    def sentences(self) -> list[str]:
        """The implications in words."""
        target = f"the target, of group {self.target_group!r},"
        sentences = []
        for implication in self.implications:
            if (implication.position, implication.person) == (self.target_position, 0):
                sentences.append(f"{target} does not have {implication.value!r}")
            else:
                person = f"person {implication.person} of group {implication.group!r}"
                sentences.append(
                    f"if {person} has {implication.value!r}, then the target has {self.value!r}"
                )
        return sentences


def witness_of(counts: GroupCounts, plan: Plan) -> ImplicationsWitness:
    """Spell out the implications of a plan, atom by atom.

    An atom says that a person has a value: "if that is so, then the target has the target's value".
    """
    implications = [*_implications_about_target_group(counts, plan)]
    for group, n_atoms in plan.other_groups:
        bag = counts.bag(group)
        # The worst atoms are about the most frequent values of a group.
        frequent = sorted(in_order(bag), key=bag.__getitem__, reverse=True)
        frequencies = [bag[value] for value in frequent]
        _, sizes = exact_atoms(int(counts.sizes[group]), frequencies, n_atoms)
        implications += _implications_about_others(counts, group, frequent, sizes)
    return ImplicationsWitness(
        value=counts.values[plan.code],
        target_group=counts.group_label(plan.group),
        implications=tuple(implications),
        target_position=plan.group,
    )


def _implications_about_target_group(counts: GroupCounts, plan: Plan) -> Iterator[Implication]:
    """Yield the implications of the worst case that are about the target's own group.

    First those that say which values the target does not have, then those about others.
    """
    value, bag = counts.values[plan.code], counts.bag(plan.group)
    n = int(counts.sizes[plan.group])
    frequencies = sorted(bag.values(), reverse=True)
    _, n_negated, sizes = exact_target(n, frequencies, bag[value], plan.target_atoms)
    other_values = [label for label in in_order(bag) if label != value]
    negated = sorted(other_values, key=bag.__getitem__, reverse=True)[:n_negated]
    group_label = counts.group_label(plan.group)
    for label in negated:
        yield Implication(group_label, person=0, value=label, position=plan.group)
    # Others are asked only about the target's value and those that the target does not have.
    mentioned = {value, *negated}
    frequent = sorted(in_order(mentioned), key=bag.__getitem__, reverse=True)
    yield from _implications_about_others(counts, plan.group, frequent, sizes)


def _implications_about_others(
    counts: GroupCounts, group: int, frequent: list[Label], sizes: list[int]
) -> Iterator[Implication]:
    """Yield the implications that begin with people of a group.

    Person i has ``sizes[i]`` of them, about the values at the beginning of `frequent`.
    """
    label = counts.group_label(group)
    for person, size in enumerate(sizes, start=1):
        for value in frequent[:size]:
            yield Implication(label, person, value, group)
