"""Judge a release against one table of priors: the worst person for each sensitive value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import compress
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.adversaries.adversary import HasCounts
from foreknow.adversaries.chances import Chances
from foreknow.adversaries.counts_cache import remembered
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.priors.exact import exact_group
from foreknow.adversaries.priors.exchanges import Amounts
from foreknow.adversaries.priors.known_people import Bounds, FactsOnTop
from foreknow.adversaries.priors.posteriors import GroupPosteriors, cell_places, posteriors
from foreknow.adversaries.priors.signature_groups import (
    PriorMatrix,
    SignatureGroups,
    ValueMode,
)
from foreknow.adversaries.priors.table import PriorTable
from foreknow.adversaries.release_counts import asked_of, signatures_of
from foreknow.call_hints import Plain
from foreknow.data.arrays import FloatArray, IntArray, order_of
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Label, Labels
from foreknow.data.members import Signature, Signatures
from foreknow_judge.errors import DataError, UnsupportedError
from foreknow_judge.numbers import CLOSE

# So many people at most are compared by fractions to find whose prior grew most.
_MOST_GAINS = 1024


@dataclass(frozen=True)
class PriorsWitness(Plain):
    """The person about whom the adversary becomes surest."""

    value: Label
    group: Label  # of the person
    # what the adversary knows of them; all members of the group with it are alike
    signature: dict[str, str | None]
    people: int  # how many these are
    size: int  # people of the group
    holders: int  # occurrences of the value in it
    prior: Fraction  # how likely the value was before the release


@dataclass(frozen=True)
class Gain(Plain):
    """How many times as likely a value became through a release."""

    _json_fields = "ratio exact posterior"

    posterior: Disclosure  # the highest relative to its prior

    @property
    def ratio(self) -> float:
        """Posterior by prior; never too low. 0 where nothing can be disclosed."""
        prior = self.posterior.prior
        return 0.0 if prior is None else self.posterior.probability / float(prior) * (1 + 2**-50)

    @property
    def exact(self) -> Fraction | None:
        """The ratio as a fraction; None where the posterior is only bounded."""
        posterior, prior = self.posterior.exact, self.posterior.prior
        return posterior if posterior is None or prior is None else posterior / prior

    @property
    def witness(self) -> PriorsWitness | None:
        """The person who attains it."""
        witness = self.posterior.witness
        return witness if isinstance(witness, PriorsWitness) else None

    def __repr__(self) -> str:
        return f"Gain({self.ratio:.6g} times the prior, {self.posterior!r})"


def posteriors_of_release(
    release: HasCounts, table: PriorTable, mode: ValueMode, amounts: Amounts = (0, 0, 0)
) -> ReleasePosteriors:
    """The posteriors of a release by a table of priors; they are kept with its counts.

    `amounts` are facts on top of the priors: values ruled out, people known, people linked.
    """
    counts, signatures = asked_of("Priors", release), signatures_of("Priors", release)
    sensitive = getattr(release, "sensitive", None)
    if sensitive in table.attributes:
        raise DataError(
            f"{table.name}: {sensitive!r} is the sensitive column of the release; attributes are "
            "what an adversary knows of people before"
        )
    other_columns: Sequence[str] = getattr(release, "beside", ())
    # A column that is published beside the secret is known only where a requirement says so.
    for name in table.attributes if sensitive in other_columns else ():
        if name in other_columns and name not in getattr(release, "knows", ()):
            raise UnsupportedError("priors-beside", name)
    key = ("priors", table, mode)
    without_facts = remembered(
        counts, key, lambda: _compute_posteriors(counts, signatures(table.attributes), table, mode)
    )
    if not any(amounts):
        return without_facts
    return remembered(counts, (*key, amounts), lambda: without_facts.with_facts(amounts))


def cached_posteriors(
    counts: GroupCounts, table: PriorTable, mode: ValueMode, amounts: Amounts
) -> ReleasePosteriors | None:
    """The result of `posteriors_of_release`, if it was asked for before; None if not."""
    key = ("priors", table, mode)
    return counts.cache.get((*key, amounts) if any(amounts) else key)


def _compute_posteriors(
    counts: GroupCounts, signatures: Signatures, table: PriorTable, mode: ValueMode
) -> ReleasePosteriors:
    """The posteriors of a release by a table of priors.

    Raises `DataError` if the priors allow no world of some group.
    """
    matrix = table.matrix(signatures.labels, list(map(str, counts.values)))
    people = signatures.offsets, signatures.codes, signatures.people
    groups = SignatureGroups(*people, counts.offsets, counts.codes, counts.counts)
    group_posteriors = posteriors(groups.checked(counts), matrix, mode)
    # A group without a possible world contradicts the priors.
    impossible = group_posteriors.impossible
    if len(impossible):
        label = counts.group_label(int(impossible[0]))
        raise DataError(
            f"{table.name}: no way to assign the values of group {label!r} to its people is "
            f"possible by these priors ({len(impossible)} such groups): no posterior is defined"
        )
    return ReleasePosteriors(counts, signatures.labels, table, matrix, group_posteriors)


def _float_above(chance: Fraction) -> float:
    """The least float that is not below a fraction."""
    nearest_float = float(chance)
    return nearest_float if nearest_float >= chance else math.nextafter(nearest_float, 1.0)


@dataclass(frozen=True, eq=False)
class ReleasePosteriors:
    """The posteriors of a release under one table of priors."""

    counts: GroupCounts
    signatures: Sequence[Signature]
    table: PriorTable
    matrix: PriorMatrix
    posteriors: GroupPosteriors
    amounts: Amounts = (0, 0, 0)  # of facts on top

    @property
    def n_cells(self) -> int:
        """How many posteriors there are, by kind of people and value, in groups that differ."""
        return len(self.posteriors.probabilities)

    def with_facts(self, amounts: Amounts) -> ReleasePosteriors:
        """The posteriors of the same release to somebody who has other facts on top."""
        return replace(self, amounts=amounts)

    def disclosures(self) -> dict[Label, Disclosure]:
        """The highest posterior of each value."""
        secrets = map(self._secret_of_value, range(self.counts.n_values))
        return {secret.name: self._highest_posterior(secret) for secret in secrets}

    def gains(self) -> dict[Label, Disclosure]:
        """The posterior of each value that is the highest relative to its prior."""
        secrets = map(self._secret_of_value, range(self.counts.n_values))
        return {secret.name: self._highest_gain(secret) for secret in secrets}

    def of_set(self, codes: Sequence[int], name: Label, *, relative: bool = False) -> Disclosure:
        """The highest posterior that somebody has any of some values (`codes`), called `name`.

        With `relative`, the one that is highest relative to its prior.
        """
        if len(codes) == 1:
            secret = self._secret_of_value(codes[0], name)
        else:
            secret = self._secret_of_set(codes, name)
        return self._highest_gain(secret) if relative else self._highest_posterior(secret)

    def chances(self) -> Chances:
        """The posterior of each signature and value that occur in a group, as `Chances`.

        A signature is what the adversary knows of a person; equal groups share a case.
        """
        cases, upper = self.posteriors.cases, self._bounds.upper
        case, kind, column = cell_places(cases, self.posteriors.offsets)
        value = cases.values[column]

        def posteriors_as_fractions(cells: IntArray) -> list[Fraction | None]:
            return [self._posterior_as_fraction([int(value[c])], c) for c in cells.tolist()]

        def priors_as_fractions(cells: IntArray) -> list[Fraction]:
            return [self._prior_of([int(value[c])], c) for c in cells.tolist()]

        return Chances(
            case=case,
            case_of=self.posteriors.case_of,
            value=value,
            kind=kind,
            people=cases.people[kind],
            holders=cases.counts[column],
            chance=upper,
            upper=upper,
            lower=self._bounds.lower,
            exact=posteriors_as_fractions,
            prior=priors_as_fractions,
            have_it=False,
        )

    def surest(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Signature, value, prior and highest posterior of each pair that occurs in some group."""
        _, signature, value = self._cells
        # One number for each pair.
        pairs, pair_of_cell = np.unique(
            signature * self.counts.n_values + value, return_inverse=True
        )
        highest = np.zeros(len(pairs))
        np.maximum.at(highest, pair_of_cell, self._bounds.upper)
        signatures, values = np.divmod(pairs, self.counts.n_values)
        return signatures, values, self.matrix.chances[signatures, values], highest

    @cached_property
    def _cells(self) -> _Cells:
        return _Cells(*self.posteriors.cells())

    @cached_property
    def _facts_on_top(self) -> FactsOnTop | None:
        """The facts on top, if there are any."""
        return FactsOnTop(self.posteriors, self.matrix, self.amounts) if any(self.amounts) else None

    @cached_property
    def _bounds(self) -> Bounds:
        if self._facts_on_top is not None:
            return self._facts_on_top.bounds_of_set(())
        return Bounds(self.posteriors.upper(), self.posteriors.lower(), self.posteriors.bounded)

    @cached_property
    def _cells_by_value(self) -> list[IntArray]:
        """The cells of each value, in order."""
        value = self._cells.value
        order = order_of(value)
        return np.split(order, np.searchsorted(value[order], np.arange(1, self.counts.n_values)))

    def _secret_of_value(self, code: int, name: Label = None) -> _Secret:
        """The secret of one value: a place for each kind of person and case of groups with it."""
        cells = self._cells_by_value[code]
        value = self.counts.values[code] if name is None else name
        return _Secret(value, (code,), cells, *self._bounds.at(cells))

    def _secret_of_set(self, codes: Sequence[int], name: Label) -> _Secret:
        """The secret that a person has any of several values: their posteriors are added up.

        The first cell of a case (equal groups) and a signature stands for the cells of all these
        values.
        """
        case, signature, value = self._cells
        cells = np.flatnonzero(np.isin(value, codes))
        if not len(cells):
            none = np.zeros(0)
            return _Secret(
                name, tuple(codes), cells, upper=none, lower=none, bounded=none.astype(bool)
            )
        # Cells stand case by case and signature by signature: a run of cells is one kind of person.
        is_next_person = (np.diff(case[cells]) != 0) | (np.diff(signature[cells]) != 0)
        starts = np.concatenate(([0], np.flatnonzero(is_next_person) + 1))
        if self._facts_on_top is not None:  # by which posteriors do not simply add up
            of_set = self._facts_on_top.bounds_of_set(codes).at(cells[starts])
            return _Secret(name, tuple(codes), cells[starts], *of_set)
        rounding = len(codes) * 2.0**-50  # more than the roundings of a sum
        upper = np.add.reduceat(self._bounds.upper[cells], starts)
        lower = np.add.reduceat(self._bounds.lower[cells], starts)
        return _Secret(
            name,
            tuple(codes),
            cells=cells[starts],
            upper=np.minimum(upper * (1 + rounding), 1.0),
            lower=np.minimum(lower * (1 - rounding), 1.0),
            bounded=np.logical_or.reduceat(self.posteriors.bounded[cells], starts),
        )

    def _highest_posterior(self, secret: _Secret) -> Disclosure:
        """The highest posterior of a secret; fractions decide where floats leave it open.

        `secret.bounded` marks cells (a group and a value) whose posterior is not computed but known
        to be at most a bound. If one of them may be the highest, the result has no fraction.
        """
        upper, lower = secret.upper, secret.lower
        if not upper.any():
            return Disclosure(secret.name, 0.0, lambda: Fraction(0))
        top = int(np.argmax(upper))
        may_be_highest = upper >= lower.max()
        candidates = secret.cells[may_be_highest]
        bounded = bool(secret.bounded[may_be_highest].any())

        @cache
        def highest_fraction_and_cell() -> tuple[Fraction | None, int]:
            """The highest fraction, and its cell; worked out once, if it is asked for."""
            return self._highest_fraction(secret, candidates, fallback=int(secret.cells[top]))

        def highest_fraction() -> Fraction | None:
            return highest_fraction_and_cell()[0]

        def witness() -> PriorsWitness:
            if len(candidates) == 1:
                return self._witness(secret, int(candidates[0]))
            return self._witness(secret, highest_fraction_and_cell()[1])

        return Disclosure(
            secret.name,
            float(upper[top]),
            (lambda: None) if bounded else highest_fraction,
            witness,
            bounded=bounded,
            _bound=highest_fraction,
        )

    def _highest_fraction(
        self, secret: _Secret, candidates: IntArray, fallback: int
    ) -> tuple[Fraction | None, int]:
        """The highest exact posterior among some cells, and its cell.

        If a posterior cannot be computed exactly: None, and the best cell so far, or `fallback`.
        """
        best, best_cell = Fraction(-1), fallback
        for cell in candidates.tolist():
            chance = self._posterior_as_fraction(secret.codes, cell)
            if chance is None:
                return None, best_cell
            if chance > best:
                best, best_cell = chance, cell
            if best == 1:
                break
        return best, best_cell

    def _highest_gain(self, secret: _Secret) -> Disclosure:
        """The posterior of a secret that is the highest relative to its prior.

        Fractions decide among cells that floats leave open, if these are not too many. Else the
        result is an upper bound: the highest by floats.
        """
        cells = secret.cells
        prior = self.matrix.chances[self._cells.signature[cells]][:, list(secret.codes)].sum(axis=1)
        # More than the roundings of the quotients.
        rounding = len(secret.codes) * 2.0**-50
        divisor = np.where(prior > 0, prior, inf)
        upper_gain = secret.upper / divisor * (1 + rounding)
        lower_gain = secret.lower / divisor * (1 - rounding)
        if not upper_gain.any():
            return Disclosure(secret.name, 0.0, lambda: Fraction(0))
        top = int(np.argmax(upper_gain))
        candidates = np.flatnonzero((upper_gain >= lower_gain.max()) & (upper_gain > 0)).tolist()
        probability = float(secret.upper[top])
        # Certain already if one cell is left whose bounds are close.
        is_decided = len(candidates) == 1 and upper_gain[top] <= lower_gain[top] * (1 + CLOSE)
        if not is_decided and len(candidates) <= _MOST_GAINS:
            posteriors = self._candidate_fractions(secret, candidates)
            # All could be worked out: the highest is certain.
            if posteriors is not None:
                gains = {
                    position: posterior / self._prior_of(secret.codes, int(cells[position]))
                    for position, posterior in posteriors.items()
                }
                top, is_decided = max(gains, key=gains.__getitem__), True
                probability = _float_above(posteriors[top])
        cell = int(cells[top])
        bounded = not is_decided or bool(secret.bounded[top])

        def posterior_as_fraction() -> Fraction | None:
            return self._posterior_as_fraction(secret.codes, cell)

        return Disclosure(
            secret.name,
            probability,
            (lambda: None) if bounded else posterior_as_fraction,
            lambda: self._witness(secret, cell),
            bounded=bounded,
            prior=self._prior_of(secret.codes, cell),
            _bound=posterior_as_fraction if is_decided else lambda: None,
        )

    def _candidate_fractions(
        self, secret: _Secret, candidates: Sequence[int]
    ) -> dict[int, Fraction] | None:
        """The exact posterior, or its bound, at some positions of a secret's cells.

        None if one of them has no fraction: without facts on top, bounds have none.
        """
        if self._facts_on_top is None and secret.bounded[candidates].any():
            return None
        fractions: dict[int, Fraction] = {}
        for position in candidates:
            posterior = self._posterior_as_fraction(secret.codes, int(secret.cells[position]))
            if posterior is None:
                return None
            fractions[position] = posterior
        return fractions

    def _prior_of(self, codes: Sequence[int], cell: int) -> Fraction:
        """The prior of any of some values (`codes`) for the people of a cell, as a fraction."""
        signature = int(self._cells.signature[cell])
        priors = [self.matrix.exact(signature, code) for code in codes]
        return min(sum(priors, Fraction(0)), Fraction(1))

    def _posterior_as_fraction(self, codes: Sequence[int], cell: int) -> Fraction | None:
        """The exact posterior of any of some values for people of a cell.

        A cell is a signature and a value of a group. With known or linked people it is an upper
        bound. None if it is out of reach.
        """
        case, cases = int(self._cells.case[cell]), self.posteriors.cases
        signatures, bag = cases.people_of(case), cases.bag_of(case)
        # Cells of a case stand signature by signature, one for each value of its bag.
        signature = (cell - int(self.posteriors.offsets[case])) // len(bag)
        # Only a bound: as a fraction, if there are facts beside the priors.
        if self._bounds.bounded[cell]:
            if self._facts_on_top is None:
                return None
            return self._facts_on_top.bound_as_fraction(codes, case, signature)
        columns = [column for column, (code, _) in enumerate(bag) if code in codes]
        if len(signatures) == 1:  # all are alike: nobody is likelier than another
            ((_, n_people),) = signatures
            row: list[Fraction | None] = [Fraction(count, n_people) for _, count in bag]
        else:
            posteriors = self._exact_table(case)
            if posteriors is None:
                return None
            row = posteriors[signature]
        known_chances = [chance for chance in row if chance is not None]
        if len(known_chances) < len(row):
            return None
        if self._facts_on_top is not None:
            return self._facts_on_top.chance_after_ruling_out(
                known_chances, columns, [count for _, count in bag]
            )
        return sum((known_chances[column] for column in columns), Fraction(0))

    def _exact_table(self, case: int) -> list[list[Fraction | None]] | None:
        """Exact probabilities in one case: a row for each kind of people, a column for each value.

        A case is one group, or several with the same people and values; people are of one kind if
        the priors say the same of them. None if exact numbers are out of reach.
        """
        if case not in self._last_table:  # the cells of a case are asked for one after another
            self._last_table.clear()
            try:
                table = exact_group(self.posteriors.cases, case, self.matrix, self.posteriors.mode)
            except UnsupportedError:
                table = None
            self._last_table[case] = table
        return self._last_table[case]

    @cached_property
    def _last_table(self) -> dict[int, list[list[Fraction | None]] | None]:
        return {}

    def _witness(self, secret: _Secret, cell: int) -> PriorsWitness:
        """The witness of a disclosure: the people of a cell, in the first group that has it."""
        case, signature = int(self._cells.case[cell]), int(self._cells.signature[cell])
        # The first of the equal groups.
        group = int(np.argmax(self.posteriors.case_of == case))
        label, bag = self.signatures[signature], self.counts.bag(group)
        return PriorsWitness(
            value=secret.name,
            group=self.counts.group_label(group),
            signature=dict(zip(self.table.attributes, label, strict=True)),
            people=dict(self.posteriors.cases.people_of(case))[signature],
            size=int(self.counts.sizes[group]),
            holders=sum(bag.get(self.counts.values[code], 0) for code in secret.codes),
            prior=self._prior_of(secret.codes, cell),
        )


class _Cells(NamedTuple):
    """Each pair of a signature and a value that occurs in a case of groups."""

    case: IntArray
    signature: IntArray
    value: IntArray


@dataclass(frozen=True, eq=False)
class _Secret:
    """A value or a set of them: the bounds of its posterior at each kind of person of each case."""

    name: Label
    codes: tuple[int, ...]
    cells: IntArray  # of each kind of person and case: the first with one of these values
    upper: FloatArray
    lower: FloatArray
    bounded: NDArray[np.bool_]  # where only an upper bound is known


@dataclass(frozen=True, eq=False)
class _Recoded:
    """A release in which values are counted otherwise; its people are the same."""

    release: Any
    counts: GroupCounts

    def __getattr__(self, name: str) -> Any:
        return getattr(self.release, name)


def posteriors_with_set(
    release: HasCounts,
    table: PriorTable,
    mode: ValueMode,
    amounts: Amounts,
    members: Sequence[str],
    name: Label,
) -> tuple[ReleasePosteriors, list[int]]:
    """The posteriors of a release in which some values are one secret, and the codes of the secret.

    `members` are the values and `name` is what they are called together. Under "binary" they become
    one value; under "joint" they stay values of their own.
    """
    counts = asked_of("Priors", release)
    is_member = np.array([str(value) in members for value in counts.values], dtype=bool)
    # Everybody has one value: posteriors of the members can be added up.
    if mode == "joint":
        posteriors = posteriors_of_release(release, table, mode, amounts)
        return posteriors, np.flatnonzero(is_member).tolist()
    # Each value is had or not: count the members as one value, which comes last.
    other_values = list(compress(counts.values, ~is_member))
    united_release = _Recoded(release, counts.united(is_member, Labels([*other_values, name])))
    united_table = table.united(members, str(name))
    posteriors = posteriors_of_release(united_release, united_table, mode, amounts)
    return posteriors, [len(other_values)]
