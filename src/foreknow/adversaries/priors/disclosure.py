"""Judge a release against one table of priors: the worst person for each sensitive value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.priors.exact import exact_group
from foreknow.adversaries.priors.joint import posteriors
from foreknow.adversaries.priors.posteriors import GroupPosteriors, Reading
from foreknow.adversaries.priors.sampling import estimate_group
from foreknow.adversaries.priors.signature_groups import FloatArray, PriorMatrix, SignatureGroups
from foreknow.adversaries.priors.table import PriorTable
from foreknow.adversaries.protocol import HasCounts, counts_of
from foreknow.adversaries.statements.posterior import Estimate
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label
from foreknow.data.people import Signature, Signatures, signature_text
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError, UnsupportedError
from foreknow.numbers import CLOSE

# So many people at most are compared by fractions to find whose prior grew most.
_MOST_GAINS = 1024


class HasSignatures(Protocol):
    """A release that tells the quasi-identifiers of its people."""

    def signatures(self, attributes: Any) -> Signatures:
        """People by group and signature."""
        ...


@dataclass(frozen=True)
class PriorsWitness:
    """The person of whom the adversary becomes surest.

    Attributes
    ----------
    value : label
    group : label
        The group of the person.
    signature : dict of str to str or None
        What the adversary knows of them; all members of the group with it are alike.
    people : int
        How many these are.
    size, holders : int
        People of the group, and occurrences of the value in it.
    prior : Fraction
        How likely the value was before the release.
    """

    value: Label
    group: Label
    signature: dict[str, str | None]
    people: int
    size: int
    holders: int
    prior: Fraction

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "value": self.value,
            "group": self.group,
            "signature": dict(self.signature),
            "people": self.people,
            "size": self.size,
            "holders": self.holders,
            "prior": str(self.prior),
        }


@dataclass(frozen=True)
class Gain:
    """How many times as likely something became by a release.

    Attributes
    ----------
    posterior : Disclosure
        The highest relative to its prior.
    """

    posterior: Disclosure

    @property
    def ratio(self) -> float:
        """Posterior by prior; never too low. 0 where nothing can be disclosed."""
        prior = self.posterior.prior
        return 0.0 if prior is None else self.posterior.probability / float(prior) * (1 + 2**-50)

    @property
    def exact(self) -> Fraction | None:
        """The ratio as a fraction; None where the posterior is only bounded."""
        found, prior = self.posterior.exact, self.posterior.prior
        return found if found is None or prior is None else found / prior

    @property
    def witness(self) -> PriorsWitness | None:
        """The person of whom it is so."""
        found = self.posterior.witness
        return found if isinstance(found, PriorsWitness) else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        exact = self.exact
        return {
            "ratio": self.ratio,
            "exact": None if exact is None else str(exact),
            "posterior": self.posterior.to_dict(),
        }

    def __repr__(self) -> str:
        return f"Gain({self.ratio:.6g} times the prior, {self.posterior!r})"


def judged(release: HasCounts, table: PriorTable, reading: Reading) -> Judged:
    """Judge a release; what was worked out is kept with its counts."""
    counts = counts_of(release)
    if counts.semantics != "single":
        raise UnsupportedError(f"priors need one value per person, not {counts.semantics!r}")
    if not hasattr(release, "signatures"):
        raise UnsupportedError(
            f"priors need to know {', '.join(table.attributes)} of everybody: give a Release with "
            "these columns, not its counts"
        )
    if getattr(release, "sensitive", None) in table.attributes:
        raise DataError(
            f"{table.name}: {getattr(release, 'sensitive', None)!r} is the sensitive column of the "
            "release; attributes are what an adversary knows of people before"
        )
    key = ("priors", table, reading)
    if key not in counts.memory:
        signatures = cast("HasSignatures", release).signatures(table.attributes)
        counts.memory[key] = _judge(counts, signatures, table, reading)
    found: Judged = counts.memory[key]
    return found


def judged_before(counts: GroupCounts, table: PriorTable, reading: Reading) -> Judged | None:
    """What was worked out before, if it was."""
    return counts.memory.get(("priors", table, reading))


def _judge(
    counts: GroupCounts, signatures: Signatures, table: PriorTable, reading: Reading
) -> Judged:
    matrix = table.matrix(signatures.labels, [str(value) for value in counts.values])
    groups = SignatureGroups.from_counts(
        counts, signatures.offsets, signatures.codes, signatures.people
    )
    found = posteriors(groups, matrix, reading)
    impossible = found.impossible
    if len(impossible):
        label = counts.group_label(int(impossible[0]))
        raise DataError(
            f"{table.name}: no way to deal the values of group {label!r} to its people is "
            f"possible by these priors ({len(impossible)} such groups): no posterior is defined"
        )
    return Judged(counts, signatures.labels, table, matrix, found)


def _float_above(chance: Fraction) -> float:
    near = float(chance)
    return near if near >= chance else math.nextafter(near, 1.0)


@dataclass(frozen=True, eq=False)
class Judged:
    """The posteriors of a release under one table of priors."""

    counts: GroupCounts
    signatures: Any
    table: PriorTable
    matrix: PriorMatrix
    found: GroupPosteriors

    def disclosures(self) -> dict[Label, Disclosure]:
        """The worst of each value."""
        highest, _, _ = self.found.highest(self.counts.n_values)
        made = {}
        for code, value in enumerate(self.counts.values):
            if highest[code] <= 0:
                made[value] = Disclosure(value, 0.0, lambda: Fraction(0))
                continue
            made[value] = self._disclosure(code, highest[code])
        return made

    def gains(self) -> dict[Label, Disclosure]:
        """The posterior of each value that is the highest relative to its prior."""
        _, signature, value = self._cells
        prior = self.matrix.chances[signature, value]
        # A little more than the quotients of floats, which may have been rounded down; or less.
        most, least = (
            np.divide(chance, prior, out=np.zeros_like(chance), where=prior > 0) * spare
            for chance, spare in zip(self._bounds, (1 + 2**-50, 1 - 2**-50), strict=True)
        )
        order = np.argsort(value, kind="stable")
        ends = np.searchsorted(value[order], np.arange(self.counts.n_values + 1))
        made = {}
        for code, label in enumerate(self.counts.values):
            cells = order[ends[code] : ends[code + 1]]
            cells = cells[most[cells] > 0]
            if not len(cells):
                made[label] = Disclosure(label, 0.0, lambda: Fraction(0))
                continue
            near = cells[most[cells] >= least[cells].max()]
            made[label] = self._gain(near, near[np.argmax(most[near])], most, least)
        return made

    def _gain(self, near: IntArray, top: int, most: FloatArray, least: FloatArray) -> Disclosure:
        """The highest relative to its prior, of cells that floats cannot tell from each other."""
        cell, settled = int(top), len(near) == 1 and most[top] <= least[top] * (1 + CLOSE)
        probability = float(self._bounds[0][cell])
        if not settled and len(near) <= _MOST_GAINS and not self.found.bounded[near].any():
            ratios = [self._exact_ratio(each) for each in near.tolist()]
            if None not in ratios:
                known = [ratio or Fraction(0) for ratio in ratios]
                cell, settled = int(near[known.index(max(known))]), True
                probability = _float_above(self._exact_cell(cell) or Fraction(0))
        _, signature, value = (int(part[cell]) for part in self._cells)
        return Disclosure(
            self.counts.values[value],
            probability,
            (lambda: self._exact_cell(cell)) if settled else (lambda: None),
            lambda: self._witness_of(cell),
            bounded=not settled,
            prior=self.matrix.exact(signature, value),
        )

    def _exact_ratio(self, cell: int) -> Fraction | None:
        exact = self._exact_cell(cell)
        _, signature, value = self._cells
        if exact is None:
            return None
        return exact / self.matrix.exact(int(signature[cell]), int(value[cell]))

    def estimate(self, group: Label, seed: int) -> dict[str, tuple[Estimate | None, ...]]:
        """Sampled posteriors of one group, by signature."""
        labels = [self.counts.group_label(g) for g in range(self.counts.n_groups)]
        if group not in labels:
            raise DataError(f"no group of the release is called {group!r}")
        at = labels.index(group)
        found = estimate_group(self.found.groups, at, self.matrix, self.found.reading, seed=seed)
        signatures = [self.signatures[code] for code, _ in self.found.groups.people_of(at)]
        names = [signature_text(self.table.attributes, signature) for signature in signatures]
        return dict(zip(names, found.table, strict=True))

    def surest(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Signature, value, prior and highest posterior of each pair that occurs in a group."""
        _, signature, value = self._cells
        pair = signature * self.counts.n_values + value
        distinct, of_cell = np.unique(pair, return_inverse=True)
        highest = np.zeros(len(distinct))
        np.maximum.at(highest, of_cell, np.nan_to_num(self.found.upper(), nan=0.0))
        who, what = np.divmod(distinct, self.counts.n_values)
        return who, what, self.matrix.chances[who, what], highest

    @cached_property
    def _cells(self) -> tuple[IntArray, IntArray, IntArray]:
        return self.found.cells()

    def _disclosure(self, code: int, upper: float) -> Disclosure:
        cells = np.flatnonzero(self._cells[2] == code)
        first = int(np.argmax(self._bounds[0][cells]))
        return Disclosure(
            self.counts.values[code],
            float(upper),
            lambda: self._settled(code)[0],
            lambda: self._witness_of(self._surest_cell(code)),
            bounded=bool(self.found.bounded[cells[first]]),
        )

    def _near(self, code: int) -> IntArray:
        """The cells of a value that floats cannot tell from the highest; bounds among them."""
        cells = np.flatnonzero(self._cells[2] == code)
        upper, lower = (bound[cells] for bound in self._bounds)
        near: IntArray = cells[upper >= lower.max(initial=-1.0)]
        return near

    @cached_property
    def _bounds(self) -> tuple[FloatArray, FloatArray]:
        upper, lower = self.found.upper(), self.found.lower()
        return np.nan_to_num(upper, nan=-1.0), np.nan_to_num(lower, nan=-1.0)

    def _settled(self, code: int) -> tuple[Fraction | None, int]:
        """The exact maximum and its cell; where it is out of reach, the cell of the highest bound.

        Asked for twice, by the fraction and by the witness, it is worked out once.
        """
        if code not in self._known:
            near = self._near(code)
            best, surest = Fraction(-1), int(near[np.argmax(self._bounds[0][near])])
            found: Fraction | None = None
            for cell in near.tolist():
                found = None if self.found.bounded[cell] else self._exact_cell(cell)
                if found is None:
                    break
                if found > best:
                    best, surest = found, cell
                if best == 1:  # there is no more than that
                    break
            self._known[code] = (None if found is None else best, surest)
        return self._known[code]

    @cached_property
    def _known(self) -> dict[int, tuple[Fraction | None, int]]:
        return {}

    def _surest_cell(self, code: int) -> int:
        near = self._near(code)
        return int(near[0]) if len(near) == 1 else self._settled(code)[1]

    def _exact_cell(self, cell: int) -> Fraction | None:
        case, signature, code = (int(part[cell]) for part in self._cells)
        cases, reading = self.found.cases, self.found.reading
        people, bag = cases.people_of(case), cases.bag_of(case)
        column = [value for value, _ in bag].index(code)
        if len(people) == 1:  # all are alike: nobody is likelier than another
            return Fraction(bag[column][1], people[0][1])
        row = [own for own, _ in people].index(signature)
        try:
            return exact_group(cases, case, self.matrix, reading)[row][column]
        except UnsupportedError:
            return None

    def _witness_of(self, cell: int) -> PriorsWitness:
        """The first group where it is so."""
        case, signature, code = (int(part[cell]) for part in self._cells)
        group = int(np.argmax(self.found.case_of == case))
        label: Signature = self.signatures[signature]
        value = self.counts.values[code]
        people = dict(self.found.groups.people_of(group))
        return PriorsWitness(
            value=value,
            group=self.counts.group_label(group),
            signature=dict(zip(self.table.attributes, label, strict=True)),
            people=people[signature],
            size=int(self.counts.sizes[group]),
            holders=self.counts.bag(group)[value],
            prior=self.table.prior(label, str(value)),
        )
