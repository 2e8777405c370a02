"""Risk: how easily people of a table are recognized by columns that others may know.

Prosecutor, journalist and marketer risk are those of K. El Emam, "Guide to the De-Identification
of Personal Health Information", 2013; distinction and separation those of R. Motwani and Y. Xu,
"Efficient algorithms for masking and finding quasi-identifiers", 2007.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from foreknow.auditing.audit_input import release_of
from foreknow.call_hints import Plain, hinted
from foreknow.data.arrays import IntArray
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.counts import GroupCounts
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.schema import PLAIN
from foreknow.data.tables.columns import fetch
from foreknow.data.tables.combinations import Combinations
from foreknow.data.tables.group_counts import combinations_of
from foreknow.data.tables.priors import naming_of, refuse_named_twice
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.table import Table, require
from foreknow.errors import SchemaError, unknown_column
from foreknow.features.risk.household import HouseholdRisk, household_risk
from foreknow.features.risk.individual import IndividualRisk, individual_risk
from foreknow.features.risk.population import (
    Histogram,
    UniquesEstimate,
    chosen,
    estimates,
    inverse_sizes,
)
from foreknow.features.risk.suda import SpecialUniques, levels, special_uniques
from foreknow.numbers import whole_number
from foreknow.policy.policy import Policy
from foreknow.result import Result
from foreknow.wording import unit_counted
from foreknow_judge.errors import DataError, InputError, memory_for
from foreknow_judge.numbers import Number, as_fraction, as_threshold, shown

# Nobody would read, or wait for, more sets of columns than these.
_MOST_SETS = 10_000


class _WithFloats(Plain):
    """A result whose JSON has floats in place of fractions."""

    _fraction = float


@dataclass(frozen=True)
class Risk(_WithFloats):
    """The probability that an adversary finds the right person, over the people of the table.

    Fractions are exact, and floats are estimates, or averages of very many fractions.
    """

    highest: Fraction | float
    average: Fraction | float
    above: int  # people whose risk is above the threshold
    share_above: Fraction  # `above` as a share of all people of the table
    estimate: bool = False  # whether it is based on a model of the population


@dataclass(frozen=True)
class Marketer(_WithFloats):
    """The expected number of people who are re-identified if the whole table is linked."""

    share: Fraction | float  # the expected share of the table's people
    people: float  # the expected number of people
    # the table that it is linked with: a register of exactly its people ("table"), which is worst;
    # the "population"; or a "model" of the population
    against: str

    @property
    def estimate(self) -> bool:
        """True if it rests on a model of the population."""
        return self.against == "model"


@dataclass(frozen=True)
class PopulationUniques(_WithFloats):
    """The number of people who are unique in the population from which the table is drawn."""

    _json_fields = (
        "people sampling_fraction=fraction exact uniques in_table estimates chosen=_model"
    )

    people: int  # the size of the population
    fraction: Fraction  # the share of the population that is in the table
    # the number of unique people, and how many of them are in the table; None without a population
    # table
    uniques: int | None
    in_table: int | None
    estimates: tuple[UniquesEstimate, ...] = ()  # estimates of models; none if `uniques` is exact
    chosen: UniquesEstimate | None = None  # the estimate chosen by the published rule

    @property
    def exact(self) -> bool:
        """True if it was counted, not estimated."""
        return self.uniques is not None

    @property
    def _model(self) -> str | None:
        return None if self.chosen is None else self.chosen.model


@dataclass(frozen=True)
class ColumnSet(_WithFloats):
    """How well some columns tell people apart."""

    columns: tuple[str, ...]
    classes: int  # the number of combinations of values that occur
    distinction: Fraction  # classes divided by people: 1 if the columns are a key
    separation: Fraction  # the share of pairs of people who differ; 1 if there are no pairs
    uniques: int  # the number of people who are unique by these columns alone


@dataclass(frozen=True)
class Contribution(_WithFloats):
    """The number of people who become unique by one or two columns."""

    columns: tuple[str, ...]
    without: int  # the number of people who are unique by all other columns
    added: int  # how many more people are unique with these columns
    share: Fraction  # `added` as a share of all unique people; 0 if there are none


@dataclass(frozen=True, eq=False, repr=False)
class RiskReport(_WithFloats, Result):
    """The risk that people are identified by the columns that others may know.

    Attributes
    ----------
    name : str
        The name of the table.
    columns : tuple of str
        The columns that others may know, or the column with the group of each row.
    by_values : bool
        Whether people with equal values in these columns are a class; if not, the column of
        groups makes the classes.
    people, classes : int
        The numbers of people and of classes.
    sizes : int64 array
        The distinct sizes of classes, ascending.
    classes_of_size : int64 array
        The number of classes of each size.
    threshold : Fraction
        The highest acceptable risk of a person.
    prosecutor : Risk
        The risk if the adversary knows that the person is in the table. Exact.
    journalist : Risk or None
        The risk if the adversary does not know that and compares with a population. Exact with a
        population table, an estimate with a sampling fraction, None without either.
    marketer : Marketer
        The share of people who are found by an adversary who links the whole table.
    population : PopulationUniques or None
        The number of people who are unique in the population; None without a population.
    sets : tuple of ColumnSet
        How well columns tell people apart: every set up to the size asked for, and all together.
    contributions : tuple of Contribution
        The people who become unique by each column, then by each pair, most first.
    suda : SpecialUniques or None
        The special uniques; None if they were not searched for.
    individual : IndividualRisk or None
        The risks that the weights of a survey estimate; None without weights.
    household : HouseholdRisk or None
        The risks of households; None if no column numbers them.
    beside : tuple of str
        Other columns of the table, which are not examined.
    in_cases : bool
        Whether the figures count cases, of which a person may have several.
    person : str or None
        The column by which people were counted, once per class, if rows are cases.
    """

    format = "foreknow risk"
    _json_fields = (
        "table=name columns by_values people classes class_sizes=_class_sizes threshold uniques "
        "unique_share prosecutor journalist marketer population sets contributions suda beside "
        "individual? household?"
    )

    name: str
    columns: tuple[str, ...]
    by_values: bool
    people: int
    classes: int
    sizes: IntArray
    classes_of_size: IntArray
    threshold: Fraction
    prosecutor: Risk
    journalist: Risk | None
    marketer: Marketer
    population: PopulationUniques | None
    sets: tuple[ColumnSet, ...]
    contributions: tuple[Contribution, ...]
    suda: SpecialUniques | None
    beside: tuple[str, ...]
    individual: IndividualRisk | None = None
    household: HouseholdRisk | None = None
    in_cases: bool = False
    person: str | None = None

    @property
    def uniques(self) -> int:
        """The number of people who are alone in their class."""
        return int(self.classes_of_size[self.sizes == 1].sum())

    @property
    def unique_share(self) -> Fraction:
        """The share of people who are alone in their class."""
        return Fraction(self.uniques, self.people)

    @property
    def _class_sizes(self) -> dict[str, int]:
        sizes = map(str, self.sizes.tolist())
        return dict(zip(sizes, self.classes_of_size.tolist(), strict=True))

    def __repr__(self) -> str:
        column_text = f"{len(self.columns)} column{'' if len(self.columns) == 1 else 's'}"
        unit = unit_counted(self.in_cases).plural
        uniques = f"{self.uniques} of {self.people} {unit} unique"
        return f"RiskReport({self.name}: {uniques} by {column_text})"


@memory_for("the risk report")
@hinted
def risk_report(
    release: Any,
    population: Any = None,
    *,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    quasi_identifiers: Sequence[str] | None = None,
    group: str | None = None,
    sampling_fraction: Number | None = None,
    weights: str | None = None,
    household: str | None = None,
    threshold: Number = "1/5",
    subsets: int = 2,
    suda: int = 3,
    reading: Reading | Mapping[str, str] | None = None,
    name: str | None = None,
) -> RiskReport:
    """Measure how easily the people of a table, raw or published, are found again.

    The engine that holds the data counts the classes, once for the table and once for the
    population.

    Parameters
    ----------
    release : Release, Microdata, Publication, GroupCounts, path or frame
        The table. For a path or frame, `policy` or `quasi_identifiers` name the columns that
        others may know; for a folder that `publish` wrote, its certificate does.
    population : path or frame, optional
        A table with one row for each person of the population, and the same columns and spellings.
        It must list everybody in the table.
    policy : Policy, path or mapping, optional
        A policy whose schema names the quasi-identifiers.
    quasi_identifiers : sequence of str, optional
        In place of a policy: the columns that others may know.
    group : str, optional
        The column of a table with the group of each row.
    sampling_fraction : number, optional
        In place of a population table: the share of the population that is in the table, above 0,
        at most 1. Risks are then estimates, as if the table were a simple random sample.
    weights : str, optional
        The column of a raw survey table with the number of people in the population that a row
        stands for; default: the schema's. The risk of each person in the population is estimated
        as in sdcMicro.
    household : str, optional
        The column of a raw table that numbers households. The risk of a household is the
        probability that at least one member is identified.
    threshold : number
        The highest acceptable risk of a person; people above it are counted.
    subsets : int
        The largest number of columns in a set that is measured.
    suda : int
        The largest number of columns in a minimal unique that is searched for; 0: no search.
    reading : Reading or mapping of its parts, optional
        The format of CSV files; with a policy, its schema has the table's format.
    name : str, optional
        The name of the table in reports.

    Raises
    ------
    DataError
        If a column is missing, the table is empty, or the population has fewer people of a class
        than the table.
    InputError
        If the sampling fraction is not in (0, 1], or is given beside a population.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = {"age": [20, 30, 40, 20, 40], "sex": ["f", "f", "f", "m", "f"]}
    >>> found = risk_report(pa.table(rows), quasi_identifiers=["age", "sex"])
    >>> found
    RiskReport(the pyarrow frame: 3 of 5 people unique by 2 columns)
    >>> found.prosecutor.average, found.sets[0].separation
    (Fraction(4, 5), Fraction(4, 5))
    """
    # Arguments in the order of other functions of the library are understood, too.
    if isinstance(population, (list, tuple)) and quasi_identifiers is None:
        population, quasi_identifiers = None, population  # as of `k_anonymity`
    if isinstance(population, Policy) and policy is None:
        population, policy = None, population  # as of `audit`
    limit = as_threshold(threshold)
    fraction = _fraction_above_0(sampling_fraction)
    if None not in (fraction, population):
        raise InputError("give a population or a sampling fraction, not both")
    subsets = whole_number(subsets, "subsets", 1)
    suda = whole_number(suda, "suda", 0)
    reading = None if reading is None else Reading.of(reading)
    table = _Classes.of(release, policy, quasi_identifiers, group, reading)
    classes = table.classes
    if table.by_values:
        _refuse_too_many_sets(len(classes.columns), max(subsets, suda))
    elif fraction is not None or population is not None:
        raise InputError(
            f"{table.name}: its groups have no values in common that a population could be "
            "compared with; leave out the population or sampling fraction, or measure the table "
            "of people by its columns"
        )
    everybody = None
    # The sampling fraction follows from the population, if there is one.
    if population is not None:
        everybody = _count_population(population, table, reading)
        fraction = Fraction(classes.n_people, everybody.n_people)
    # Everything else follows from the sizes of classes: groups of people with the same values.
    individual = table.individual_risk(weights, limit)
    sizes, classes_of_size = np.unique(classes.people, return_counts=True)
    journalist, marketer, uniques = _risks_in_population(classes, everybody, fraction, limit)
    return RiskReport(
        name=name or table.name,
        columns=classes.columns,
        by_values=table.by_values,
        people=classes.n_people,
        classes=len(classes),
        sizes=sizes,
        classes_of_size=classes_of_size.astype(np.int64),
        threshold=limit,
        prosecutor=_exact_risk(classes.people, classes.people, limit),
        journalist=journalist,
        marketer=marketer,
        population=uniques,
        sets=tuple(_sets(classes, subsets)) if table.by_values else (),
        contributions=tuple(_contributions(classes)) if table.by_values else (),
        suda=special_uniques(classes, suda, fraction) if table.by_values and suda else None,
        beside=table.other_columns,
        individual=individual,
        household=table.household_risk(household, individual, limit),
        in_cases=table.in_cases,
        person=table.person,
    )


def _fraction_above_0(number: Number | None) -> Fraction | None:
    """The sampling fraction as a fraction above 0 and at most 1; None if none is given."""
    if number is None:
        return None
    fraction = as_fraction(number)
    if not 0 < fraction <= 1:
        raise InputError(
            f"a sampling fraction must be above 0 and at most 1, not {shown(number)}; 0.1 says "
            "that one in ten people of the population is in the table"
        )
    return fraction


def _refuse_too_many_sets(n_columns: int, size: int) -> None:
    """Refuse a search through more sets of columns than anybody would wait for."""
    if (n_sets := levels(n_columns, size)) > _MOST_SETS:
        raise InputError(
            f"{n_columns} columns have {n_sets:,} sets of up to {size}, more than {_MOST_SETS:,}; "
            "lower subsets and suda, or name fewer columns"
        )


_UNSAID = "say which columns others may know: quasi_identifiers=[...], or policy="


@dataclass(frozen=True, eq=False)
class _Classes:
    """The classes of a table, from a release, a table or counts."""

    classes: Combinations
    by_values: bool
    name: str
    other_columns: tuple[str, ...]
    in_cases: bool = False
    person: str | None = None
    raw: Table | None = None  # whose weights and households can be asked for
    reading: Reading = field(default_factory=Reading)  # how it is read
    weights: str | None = None  # the column that the schema names
    naming: tuple[str, ...] = ()  # the columns that name people, by a policy or a certificate

    def individual_risk(self, weights: str | None, limit: Fraction) -> IndividualRisk | None:
        """The risk by survey weights; None without any."""
        name = weights or self.weights
        if name is None or (weights is None and self.raw is None):
            return None
        raw = self._rows_of_people("weights")
        return individual_risk(raw, self.classes.columns, name, self.reading, limit)

    def household_risk(
        self, column: str | None, individual: IndividualRisk | None, limit: Fraction
    ) -> HouseholdRisk | None:
        """The risk of households that a column numbers; None without such a column."""
        if column is None:
            return None
        raw = self._rows_of_people("household")
        of_rows = None if individual is None else individual.of_rows
        return household_risk(raw, self.classes.columns, column, of_rows, limit)

    def _rows_of_people(self, column: str) -> Table:
        """The raw table, with a row for each person; refuse anything else.

        `column` is the setting that needs it, for the error.
        """
        if self.raw is None or not self.by_values or self.in_cases or self.person is not None:
            raise InputError(
                f"{self.name}: {column} is for a raw table with a row for each person; leave "
                f"{column} out, or give that table"
            )
        return self.raw

    @classmethod
    def of(
        cls,
        source: Any,
        policy: Any,
        quasi_identifiers: Sequence[str] | None,
        group: str | None,
        reading: Reading | None,
    ) -> _Classes:
        """The classes (people who look alike) of a source: a release, a table, or counts.

        They are made by `quasi_identifiers` (None: those of the policy or the release), or by the
        column `group`.
        """
        if quasi_identifiers is not None:
            return cls._by_columns(source, policy, quasi_identifiers, group, reading)
        policy = None if policy is None else Policy.of(policy)
        release = release_of(source, policy, group, unsaid=_UNSAID)
        # Sensitive columns and other published ones are not looked at, which the report says.
        other_columns = (*release.unseen(), *filter(None, release.sensitives))
        by_values = release.by_values or bool(release.recognized)
        person = next(iter(release.case_persons), None)
        classes, in_cases = release.combinations(), release.cases and person is None
        name, raw = release.alike().name, release.raw
        rules = policy.rules if policy is not None else release.schema or PLAIN
        found = cls(
            classes, by_values, name, other_columns, in_cases, person, naming=rules.naming_columns
        )
        if raw is None or not release.by_values:
            return found
        # A published release has neither identifiers nor weights; only a raw table is asked for
        # them.
        weights, columns = raw.schema.weights, raw.source.columns
        is_release = {*raw.schema.identifiers, weights}.isdisjoint(columns)  # which has none
        weights = None if is_release else weights
        return replace(found, raw=raw.source, reading=raw.reading, weights=weights)

    @classmethod
    def _by_columns(
        cls,
        source: Any,
        policy: Any,
        columns: Sequence[str],
        group: str | None,
        reading: Reading | None,
    ) -> _Classes:
        """The classes of a table: people with equal values in these columns."""
        if isinstance(columns, str) or not columns:
            raise SchemaError("quasi_identifiers must be a list of at least one column")
        if policy is not None or group is not None:
            setting = "policy" if policy is not None else "group"
            raise SchemaError(f"quasi_identifiers and {setting} both say who is alike; give one")
        if len(set(columns)) < len(columns):
            repeated = []
            for name in columns:
                if list(columns).count(name) > 1:
                    repeated.append(name)
            raise SchemaError(f"quasi_identifiers names {repeated[0]!r} twice; keep one")
        in_cases = False
        if isinstance(source, Microdata):
            # Each row is a person or, by the schema, a case.
            source, in_cases = source.source, source.schema.unit == "row"
        if isinstance(source, (Release, GroupCounts)):
            raise SchemaError(
                "the release says itself which columns make its groups; leave out "
                "quasi_identifiers, or give the table"
            )
        table = open_table(source, reading)
        require(table, columns)
        other_columns = tuple(column for column in table.columns if column not in columns)
        classes = combinations_of(table, columns)
        found = cls(classes, True, table.name, other_columns, in_cases)
        return replace(found, raw=table, reading=reading or Reading())


def _count_population(population: Any, table: _Classes, reading: Reading | None) -> Combinations:
    """The classes of a population by the columns of the table.

    Refuses a population that lacks a column, or names somebody twice.
    """
    if isinstance(population, Microdata):
        population = population.source
    population_table = open_table(population, reading)
    columns = table.classes.columns
    missing = []
    for column in columns:
        if column not in population_table.columns:
            missing.append(column)
    if missing:
        error = unknown_column(
            missing[0], population_table.columns, f"the population {population_table.name}"
        )
        raise DataError(f"{error}; it needs every column that others may know")
    if naming := naming_of(population_table, table.naming, columns):
        refuse_named_twice(population_table.name, fetch(population_table, naming))
    return combinations_of(population_table, columns)


class _PopulationRisks(NamedTuple):
    """The risks from comparing a table with a population."""

    journalist: Risk | None
    marketer: Marketer
    uniques: PopulationUniques | None


def _risks_in_population(
    table: Combinations, everybody: Combinations | None, fraction: Fraction | None, limit: Fraction
) -> _PopulationRisks:
    """The risks from comparing the table with a population, counted or modelled.

    `everybody` are the classes of a population table; None: only the sampling `fraction` is known,
    or None if nothing is. People whose risk is above `limit` are counted.
    """
    n_people = table.n_people
    # Without a population: at worst, the table is linked with a register of just its people, in
    # which one person of each class is found on average.
    if fraction is None:
        share = Fraction(len(table), n_people)
        return _PopulationRisks(None, Marketer(share, float(len(table)), "table"), None)
    if everybody is not None or fraction == 1:
        # For each class of the table, the people of the population who are in it, too.
        lookalikes = table.people if everybody is None else table.among(everybody)
        population_size = n_people if everybody is None else everybody.n_people
        class_sizes = table.people if everybody is None else everybody.people
        _refuse_smaller_population(table, lookalikes)
        risk = _exact_risk(table.people, lookalikes, limit)
        hits = math.fsum((table.people / lookalikes).tolist())
        # Where the table is the whole population, the rate is a fraction.
        is_whole = everybody is None
        rate: Fraction | float = Fraction(len(table), n_people) if is_whole else hits / n_people
        uniques = PopulationUniques(
            people=population_size,
            fraction=fraction,
            uniques=int((class_sizes == 1).sum()),
            in_table=int((lookalikes == 1).sum()),
        )
        return _PopulationRisks(risk, Marketer(rate, hits, "population"), uniques)
    # Only the size of the population is known: how many of it look alike is modelled.
    sample = Histogram.of(table.people, fraction)
    expected_risks = inverse_sizes(sample.sizes, fraction)
    weights = sample.sizes * sample.classes
    n_above = int(weights[expected_risks > float(limit)].sum())
    hits = math.fsum((weights * expected_risks).tolist())
    risk = Risk(
        highest=float(expected_risks[0]),
        average=hits / n_people,
        above=n_above,
        share_above=Fraction(n_above, n_people),
        estimate=True,
    )
    models = estimates(sample)
    # If nobody is unique in the table, nobody in it is unique in the population.
    in_table = None if sample.of_size(1) else 0
    uniques = PopulationUniques(
        people=sample.population,
        fraction=fraction,
        uniques=None,
        in_table=in_table,
        estimates=models,
        chosen=chosen(models, fraction),
    )
    return _PopulationRisks(risk, Marketer(hits / n_people, hits, "model"), uniques)


def _refuse_smaller_population(table: Combinations, lookalikes: IntArray) -> None:
    """Raise `DataError` if a population has fewer people of a class than the table.

    `lookalikes` are the population's people of each class; the error names the class that lacks
    most.
    """
    fewer = np.flatnonzero(lookalikes < table.people)
    if not len(fewer):
        return
    worst_class = int(fewer[np.argmax((table.people - lookalikes)[fewer])])
    descriptions = []
    for name, value in zip(table.columns, table.values(worst_class), strict=True):
        text = "missing" if value is None else value
        descriptions.append(f"{name} {text}")
    class_text = ", ".join(descriptions)
    classes = "one class" if len(fewer) == 1 else f"{len(fewer):,} of {len(table):,} classes"
    raise DataError(
        f"the population has fewer people than the table in {classes}: with {class_text} it has "
        f"{lookalikes[worst_class]:,}, and the table {table.people[worst_class]:,}; give a "
        "population that holds everybody of the table, with columns written and coarsened as they "
        "are there, or state a sampling fraction instead"
    )


def _exact_risk(people: IntArray, lookalikes: IntArray, limit: Fraction) -> Risk:
    """The exact risk of the people of a table, over their classes.

    `people` are those of each class, and `lookalikes` those among whom an adversary has to guess.
    People whose risk 1 / lookalikes is above `limit` are counted.
    """
    n_people = int(people.sum())
    # The risk 1/F is above p/q just if F is below q/p; -(-q // p) is q/p rounded up.
    n_above = int(people[lookalikes < -(-limit.denominator // limit.numerator)].sum())
    average: Fraction | float = Fraction(len(people), n_people)
    if people is not lookalikes:
        # Over the people of the table, or over those of the population whom its rows may mean;
        # the larger, as El Emam has it.
        hits = math.fsum((people / lookalikes).tolist())
        average = max(hits / n_people, len(people) / int(lookalikes.sum()))
    return Risk(
        highest=Fraction(1, int(lookalikes.min())),
        average=average,
        above=n_above,
        share_above=Fraction(n_above, n_people),
    )


# ---- columns -----------------------------------------------------------------------------------


def _sets(table: Combinations, size: int) -> Iterator[ColumnSet]:
    """Yield how well columns tell people apart: each set of up to `size` columns, then all."""
    n_columns, n_people = len(table.columns), table.n_people
    for n_chosen in [*range(1, min(size, n_columns - 1) + 1), n_columns]:
        for positions in combinations(range(n_columns), n_chosen):
            names = [table.columns[position] for position in positions]
            classes = table.people if n_chosen == n_columns else table.classes(positions)
            yield ColumnSet(
                columns=tuple(names),
                classes=len(classes),
                distinction=Fraction(len(classes), n_people),
                separation=_separation(classes, n_people),
                uniques=int((classes == 1).sum()),
            )


def _separation(classes: IntArray, n_people: int) -> Fraction:
    """The share of pairs of people who are in different classes; 1 if there are no pairs.

    `classes` are the numbers of people of each class.
    """
    pairs = n_people * (n_people - 1)
    if not pairs:
        return Fraction(1)
    sizes, counts = np.unique(classes, return_counts=True)
    # Pairs are counted in order, (a, b) and (b, a), on both sides of the fraction.
    n_alike = sum(n * s * (s - 1) for s, n in zip(sizes.tolist(), counts.tolist(), strict=True))
    return 1 - Fraction(n_alike, pairs)


def _contributions(table: Combinations) -> Iterator[Contribution]:
    """Yield, for each column and then for each pair, how many unique people there are without it.

    Those without which the fewest people are unique come first.
    """
    everything = range(len(table.columns))
    uniques = int((table.people == 1).sum())
    for size in (1, 2):
        contributions = []
        for removed in combinations(everything, size):
            remaining = [column for column in everything if column not in removed]
            n_without = int((table.classes(remaining) == 1).sum())
            names = [table.columns[column] for column in removed]
            share = Fraction(uniques - n_without, uniques) if uniques else Fraction(0)
            contributions.append(Contribution(tuple(names), n_without, uniques - n_without, share))
        yield from sorted(contributions, key=lambda contribution: contribution.without)
