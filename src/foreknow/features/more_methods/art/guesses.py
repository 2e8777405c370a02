"""Guesses of how near groups come to their limits: fast, and good enough to rank by.

Exact posteriors (`exact_check`) decide. A guess scales priors until they fit how many people there
are of each signature (labels that one adversary knows) and how often each value occurs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foreknow.data.arrays import FloatArray, IntArray
from foreknow.features.more_methods.art.problem import ArtProblem, Known

# Scalings of rows and columns for a guess; and for one that much depends on.
_SCALINGS, _MANY_SCALINGS = 10, 60


def guess_of_one(problem: ArtProblem, table: IntArray) -> float:
    """Guess the largest ratio of posterior to limit in one group, a table by profile and value.

    A ratio above 1 means: probably unsafe. The guess is thorough, since one group is asked about.
    """
    worst = 0.0
    values = np.flatnonzero(table.sum(axis=0))
    for prior_table in problem.known:
        # This adversary knows signatures, which several profiles may share: add those up.
        rows = np.zeros((len(prior_table.chances), len(values)))
        np.add.at(rows, prior_table.signature_of, table[:, values])
        signatures = np.flatnonzero(rows.sum(axis=1))
        people, counts = rows[signatures].sum(axis=1)[:, None], rows.sum(axis=0)[:, None]
        # Index arrays that pick the table (signatures, values) of one option, the last axis.
        cells = signatures[:, None, None], values[:, None]
        (ratio,) = _ratios_to_limits(prior_table, cells, people, counts, thorough=True)
        worst = max(worst, float(ratio))
    return worst


def guess_of_groups(problem: ArtProblem, groups: Sequence[IntArray]) -> FloatArray:
    """For each group of people, a guess of the largest ratio of a posterior to its limit.

    Above 1, the group is probably not safe.
    """
    people = np.concatenate(groups)
    group = np.repeat(np.arange(len(groups)), [len(members) for members in groups])
    worst = np.zeros(len(groups))
    values, counts = _codes_and_counts(group, problem.values[people], len(groups))
    for prior_table in problem.known:
        codes = prior_table.signature_of[problem.profiles[people]]
        signatures, people_by_signature = _codes_and_counts(group, codes, len(groups))
        # Every signature with every value; groups are the options along the last axis.
        cells = signatures[:, None, None], values[:, None]
        ratios = _ratios_to_limits(
            prior_table,
            cells,
            people_by_signature,
            counts,
            thorough=prior_table.reading == "binary",
        )
        np.maximum(worst, ratios, out=worst)
    return worst


def _codes_and_counts(
    group: IntArray, codes: IntArray, n_groups: int
) -> tuple[IntArray, FloatArray]:
    """The distinct codes, and how often each occurs in each group, shape (codes, groups).

    `group` and `codes` have an entry for each person.
    """
    distinct_codes, code_index = np.unique(codes, return_inverse=True)
    counts = np.bincount(
        group * len(distinct_codes) + code_index, minlength=n_groups * len(distinct_codes)
    )
    by_code = counts.reshape(n_groups, len(distinct_codes)).T
    return distinct_codes, np.ascontiguousarray(by_code, dtype=np.float64)


class Tally:
    """Which codes occur in bags that grow, and how often: arrays of shape (places, bags).

    The codes of a bag stand in the order of their arrival: the first at place 0.
    """

    def __init__(self, n_bags: int, most_codes: int) -> None:
        self._codes = np.zeros((most_codes + 1, n_bags), dtype=np.int64)
        self._counts = np.zeros((most_codes + 1, n_bags))
        self._n_codes = np.zeros(n_bags, dtype=np.int64)

    def restart(self, bags: IntArray, codes: IntArray) -> None:
        """Empty some bags, and put one code into each."""
        # Old codes may remain: a place with the count 0 is empty.
        self._counts[:, bags] = 0
        self._n_codes[bags] = 0
        self.add(bags, codes)

    def add(self, bags: IntArray, codes: IntArray) -> None:
        """Add one code to each of some bags.

        The codes of a bag, and their counts, are a column each: at place 0 the code that came
        first.
        """
        is_same = (self._codes[:, bags] == codes) & (self._counts[:, bags] > 0)
        is_known = is_same.any(axis=0)
        # A code that the bag has keeps its place; a new one comes after the last.
        bag_position = np.where(is_known, is_same.argmax(axis=0), self._n_codes[bags])
        self._codes[bag_position, bags] = codes
        self._counts[bag_position, bags] += 1
        self._n_codes[bags] += ~is_known

    def with_one(
        self, bags: IntArray, option: IntArray, new_codes: IntArray
    ) -> tuple[IntArray, FloatArray]:
        """The codes and counts of bags, each with one more code, shape (places, options).

        Option i is the bag ``bags[option[i]]`` with the code ``new_codes[i]``; a code that is new
        to the bag comes last. The bags themselves do not change.
        """
        height = int(self._n_codes[bags].max()) + 1
        bag = bags[option]
        codes = self._codes[:height].take(bag, axis=1)
        counts = self._counts[:height].take(bag, axis=1)
        is_same = (codes == new_codes) & (counts > 0)
        # Either a count grows, or the last place, which is free in every bag, gets the code.
        counts += is_same
        codes[-1], counts[-1] = new_codes, ~is_same.any(axis=0)
        return codes, counts


class Bags:
    """Groups that grow person by person, as guesses need them: how many of each code there are."""

    def __init__(self, problem: ArtProblem, n_bags: int, most_people: int) -> None:
        """Prepare so many empty bags, of at most `most_people` people each."""
        self._problem = problem
        self._values = Tally(n_bags, min(most_people, problem.n_values))
        self._signatures = [
            Tally(n_bags, min(most_people, len(prior_table.chances)))
            for prior_table in problem.known
        ]

    def restart(self, bags: IntArray, profiles: IntArray, values: IntArray) -> None:
        """Let one person be the only one of each of some bags."""
        self._values.restart(bags, values)
        for prior_table, tally in zip(self._problem.known, self._signatures, strict=True):
            tally.restart(bags, prior_table.signature_of[profiles])

    def add(self, bags: IntArray, profiles: IntArray, values: IntArray) -> None:
        """Add a person to each of some bags."""
        self._values.add(bags, values)
        for prior_table, tally in zip(self._problem.known, self._signatures, strict=True):
            tally.add(bags, prior_table.signature_of[profiles])

    def guess_of_more(
        self, bags: IntArray, option: IntArray, profiles: IntArray, values: IntArray
    ) -> FloatArray:
        """Guess the largest ratio of posterior to limit in a bag with one more person, by option.

        Option i is the bag ``bags[option[i]]`` with one person more, of profile ``profiles[i]`` and
        value ``values[i]``.
        """
        worst = np.zeros(len(option))
        columns, counts = self._values.with_one(bags, option, values)
        for prior_table, tally in zip(self._problem.known, self._signatures, strict=True):
            rows, people = tally.with_one(bags, option, prior_table.signature_of[profiles])
            ratios = _ratios_to_limits(prior_table, (rows[:, None], columns[None]), people, counts)
            np.maximum(worst, ratios, out=worst)
        return worst


def _ratios_to_limits(
    prior_table: Known,
    cells: tuple[IntArray, IntArray],
    people: FloatArray,
    counts: FloatArray,
    thorough: bool = False,
) -> FloatArray:
    """For each option (a possible group): its highest ratio of a posterior to its limit, about.

    `cells` are the signatures and values of each option, as index arrays into the priors. `people`
    has how many people of each signature an option has, `counts` how often each value occurs in it.
    Options run along the last axis, next to each other in memory.
    """
    # One index into the flat tables is faster than two: shape (signatures, values, options).
    places = cells[0] * prior_table.chances.shape[1] + cells[1]
    occurs = (people[:, None] > 0) & (counts > 0)  # (signatures, values, options)
    if prior_table.reading == "joint":
        # Everybody has exactly one value. No prior is 0, so that some scaling agrees with the
        # counts.
        n_rounds = _MANY_SCALINGS if thorough else _SCALINGS
        chances = prior_table.positive_chances.take(places) * occurs
        posterior = _posteriors_of_one_value(chances, people, counts, n_rounds)
    else:
        # A person has each value or not, whatever the others.
        odds = prior_table.odds.take(places)
        by_value = _posteriors_value_by_value(odds, people, counts, thorough)
        posterior = np.where(occurs, by_value, 0.0)
    if prior_table.one_limit is None:
        posterior /= prior_table.limits_of_possible.take(places)
    ratios: FloatArray = posterior.reshape(-1, posterior.shape[2]).max(axis=0)
    if prior_table.one_limit is not None:
        ratios /= prior_table.one_limit
    return ratios


def _posteriors_value_by_value(
    odds: FloatArray, people: FloatArray, counts: FloatArray, thorough: bool
) -> FloatArray:
    """The chance of each value by signature: prior odds, scaled until they fit the counts.

    For each option (the last axis), ``people[s]`` people have signature s and ``counts[v]`` people
    have value v. The odds of a value are multiplied by one factor for all signatures. Unless
    `thorough`, the chances are a rough guess. Shape (signatures, values, options), as `odds`.
    """
    odds = np.ascontiguousarray(odds.transpose(2, 0, 1))  # (options, signatures, values)
    people, counts = np.ascontiguousarray(people.T), np.ascontiguousarray(counts.T)
    if not thorough:
        # Divide the holders among people in proportion to their odds.
        total = np.maximum((people[:, None, :] @ odds)[:, 0], 1e-300)
        return (counts[:, None, :] * odds / total[:, None, :]).transpose(1, 2, 0)
    # The logarithm of the factor of each value, between two bounds that are halved.
    low, high = np.full(counts.shape, -100.0), np.full(counts.shape, 100.0)
    for _ in range(_MANY_SCALINGS):
        middle = (low + high) / 2
        raised = odds * np.exp(middle)[:, None, :]
        too_many = np.einsum("os,osv->ov", people, raised / (1 + raised)) > counts
        low, high = np.where(too_many, low, middle), np.where(too_many, middle, high)
    posteriors: FloatArray = (raised / (1 + raised)).transpose(1, 2, 0)
    return posteriors


def _posteriors_of_one_value(
    chances: FloatArray, people: FloatArray, counts: FloatArray, n_rounds: int
) -> FloatArray:
    """The chance of each value by signature: the prior `chances`, scaled in place (Sinkhorn's way).

    In turn, the chances of a value are made to add up to its holders, and those of a signature to
    1. Axes: signatures, values, options; `initial` avoids divisions by 0.
    """
    product, people = np.empty_like(chances), people[:, None]
    # The sums by value and by signature, in memory that all rounds share.
    of_values, of_signatures = np.empty_like(chances[0]), np.empty_like(chances[:, :1])
    for _ in range(n_rounds):
        np.multiply(chances, people, out=product)
        np.add.reduce(product, axis=0, out=of_values, initial=1e-300)
        chances *= np.divide(counts, of_values, out=of_values)
        np.add.reduce(chances, axis=1, out=of_signatures, keepdims=True, initial=1e-300)
        chances /= of_signatures
    return chances
