"""Models: whether an analysis of the raw table comes out the same with a release.

Means and shares by group, how columns go together, cross tables, regressions and trees: each of the
raw table, of the middles of labels (`read_release`), and of tables drawn from them (`draw`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import partial
from importlib import import_module
from itertools import chain, combinations, pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foreknow.call_hints import Plain
from foreknow.data.arrays import FloatArray, IntArray
from foreknow.data.columns.hierarchy import DateLevels, Intervals
from foreknow.data.labels.labels import text_of
from foreknow.data.microdata import Microdata
from foreknow.data.tables.views.typed_columns import read_as
from foreknow.errors import did_you_mean
from foreknow.numbers import whole_number
from foreknow.publishing.flat_table import Coded, Flat
from foreknow.publishing.publish import Publication
from foreknow.randomness import generator
from foreknow.shown_numbers import days_of, read_moment
from foreknow.written_releases.written_release import Published
from foreknow_judge.errors import InputError
from foreknow_judge.numbers import read_number

Kind: TypeAlias = Literal["linear", "logistic", "tree"]
Key: TypeAlias = str | float | None

NEEDED = 'regressions and trees need scikit-learn: pip install ".[learn]" in a clone'
OTHERS, MISSING = "others", "missing"

# Of a column of texts, so many values stand for themselves; of one with more than the second number
# there is no model. A secret that is a number of few values is taken for codes.
_LEVELS, _MOST_VALUES, _CODES = 8, 50, 10
_BANDS = (0.2, 0.4, 0.6, 0.8)
# A tree that an analyst could still read.
_DEPTH, _LEAF = 5, 20


@dataclass(frozen=True)
class Estimate(Plain):
    """A figure of the raw table, and what a release gives in its place.

    Attributes
    ----------
    of : str
    group : str
        Of whom; empty for everybody.
    raw, middles, drawn : float or None
        By the raw table; by the middles of labels; the mean of drawn tables. None where it is not
        defined, such as the coefficient of a column that a release suppresses.
    """

    _json_fields = "of group? raw middles drawn"

    of: str
    raw: float | None
    middles: float | None
    drawn: float | None
    group: str = ""

    @property
    def usual(self) -> float | None:
        """The figure that a researcher would report: by middles, where there are some."""
        return self.drawn if self.middles is None else self.middles


@dataclass(frozen=True)
class CrossTable(Plain):
    """Two columns against each other.

    Attributes
    ----------
    columns : tuple of str
    rows, values : tuple of str
        What the cells of the first and of the second column are: values, or bands of numbers.
    measure : "r" or "V"
        Correlation (Pearson) of two numbers, Cramér's V of others.
    association : Estimate
    raw, drawn : tuple of tuples of float
        People in each cell; the mean of drawn tables, as a release of as many people as raw. By
        survey weights, people of the population.
    misplaced : Estimate
        The share of people who would have to go to another cell: half the sum of how far shares
        of cells are off. 0 of the raw table.
    """

    columns: tuple[str, str]
    rows: tuple[str, ...]
    values: tuple[str, ...]
    measure: Literal["r", "V"]
    association: Estimate
    raw: tuple[tuple[float, ...], ...]
    drawn: tuple[tuple[float, ...], ...]
    misplaced: Estimate


@dataclass(frozen=True)
class Fit(Plain):
    """A model fitted to the raw table and to a release, and asked about the raw people.

    Attributes
    ----------
    target : str
    value : str or None
        Of a target with values, the one against all others; None where all are predicted.
    kind : "linear", "logistic" or "tree"
    people : int
        Of the raw table, with a known target.
    measure : str
        "R²" of numbers, "AUC" of one value, "accuracy" of all values.
    score : Estimate
        The measure on the raw people, of each model.
    baseline : float
        What needs no model: the mean, a coin, the commonest value.
    apart : Estimate
        How far predictions of raw people are from those of the raw model, on average: of numbers
        in standard deviations of the target, of chances as they are; of all values, the share that
        is another.
    coefficients : tuple of Estimate
        Of numbers per standard deviation in the raw table, of values against the commonest one.
    """

    target: str
    value: str | None
    kind: Kind
    people: int
    measure: str
    score: Estimate
    baseline: float
    apart: Estimate
    coefficients: tuple[Estimate, ...] = ()


@dataclass(frozen=True)
class Models(Plain):
    """How far models come out the same with a release; for the owner only.

    Attributes
    ----------
    targets, by : tuple of str
        What is explained, and by what.
    left_out : mapping of column to str
        Columns by which nothing is explained, and why.
    people, published : int
        In the raw table, and in the release.
    draws : int
    seed : int or None
        The first draw is that of ``fk.draw(seed=seed)``, the next of the next seed.
    groups : tuple of Estimate
        Means of numbers and shares of values, by group.
    tables : tuple of CrossTable
        Of each two columns; those of a target first.
    fits : tuple of Fit
    without : str
        Why there are no fits.
    """

    targets: tuple[str, ...]
    by: tuple[str, ...]
    left_out: Mapping[str, str]
    people: int
    published: int
    draws: int
    seed: int | None
    groups: tuple[Estimate, ...]
    tables: tuple[CrossTable, ...]
    fits: tuple[Fit, ...]
    without: str = ""

    @property
    def misplaced(self) -> float | None:
        """The share of people in another cell of a cross table of a target, on average over these.

        By tables that are drawn from the release; None if that is not defined for any table.
        """
        of_targets = []
        for table in self.tables:
            if table.columns[0] in self.targets:
                of_targets.append(table)
        optional_shares = [table.misplaced.drawn for table in of_targets]
        shares = [share for share in optional_shares if share is not None]
        return sum(shares) / len(shares) if shares else None


def models_of(
    release: Any,
    microdata: Microdata,
    targets: Sequence[str] | None = None,
    by: Sequence[str] | None = None,
    draws: int = 5,
    seed: int | None = 0,
    *,
    weighted: bool = False,
) -> Models:
    """Fit models to a raw table and to its release, and say how far the latter are off.

    Parameters
    ----------
    release : Publication or Published
    microdata : Microdata
        The table that it was made of.
    targets : sequence of str, optional
        Columns to explain; ``"diagnosis=HIV"`` is that value against all others, of which the
        commonest one is taken where none is named. Default: the sensitive columns.
    by : sequence of str, optional
        Columns to explain them by. Default: the quasi-identifiers, and columns beside them.
    draws : int
        How many tables are drawn from the release.
    seed : int, optional
        Of the first draw.
    weighted : bool
        Whether people count by survey weights, which the release shows, too. Bands of numbers and
        standard deviations stay those of the people of the raw table.
    """
    if not isinstance(release, (Publication, Published)):
        raise InputError(
            "models need what foreknow publish wrote, whose certificate says what labels mean; "
            "give that folder"
        )
    whole_number(draws, "draws", 1)
    question = Question.of(microdata, targets, by)
    variables, flat = question.variables, Flat(release)
    # Each draw has a seed of its own, so that the first is the same however many there are.
    seeds = [None if seed is None else seed + i for i in range(draws)]
    tables = [flat.coded(generator(drawn_seed, "draw")) for drawn_seed in seeds]
    middles = flat.middles()
    if unknown := [name for name in variables if name not in tables[0]]:
        raise InputError(f"models: the release has no column {unknown[0]!r}; leave it out of by")
    raw_columns = {name: variable.column for name, variable in variables.items()}
    # All tables are put into the cells of the raw one: its values, and its bands of numbers.
    weights_of_tables: list[FloatArray | None] = [None] * (1 + len(tables))
    if weighted:
        published = [_numbers_of(table[str(microdata.schema.weights)]) for table in tables]
        weights_of_tables = [microdata.weights, *published]
    raw = _Table.of(raw_columns, variables, microdata.n_people, weights_of_tables[0])
    drawn_tables = [
        _Table.of(table, variables, flat.n_rows, weights)
        for table, weights in zip(tables, weights_of_tables[1:], strict=True)
    ]
    with_middles = [_with_middles(table, middles, variables) for table in drawn_tables]
    compared_tables = _ComparedTables(raw, with_middles, drawn_tables, question)
    fits, without = _fits(compared_tables, seed)
    return Models(
        targets=question.targets,
        by=question.by,
        left_out=question.left_out,
        people=microdata.n_people,
        published=flat.n_rows,
        draws=draws,
        seed=seed,
        groups=tuple(_by_group(compared_tables)),
        tables=tuple(_cross_tables(compared_tables)),
        fits=fits,
        without=without,
    )


# ---- what is asked -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Question:
    """The targets of models and the columns that explain them."""

    target_values: Sequence[tuple[str, str | None]]  # columns, each perhaps with a value
    by: tuple[str, ...]
    left_out: Mapping[str, str]
    variables: Mapping[str, _Variable]

    @classmethod
    def of(
        cls,
        microdata: Microdata,
        targets: Sequence[str] | None = None,
        by: Sequence[str] | None = None,
    ) -> Question:
        """The question with the given columns (None: the usual ones).

        A target is a column, or "column=value": that value against all others. Raises `InputError`
        for columns that the table lacks.
        """
        schema = microdata.schema
        usual_columns = [*schema.quasi_identifiers, *schema.other]
        if schema.published_weights is not None:
            usual_columns.remove(schema.published_weights)
        published_columns = [*usual_columns, *schema.sensitives]
        target_texts = _asked_or_usual("targets", targets, schema.sensitives)
        target_values = [_column_and_value(text, published_columns) for text in target_texts]
        # A column may be a target several times, with different values.
        target_columns = list(dict(target_values))
        by_names = _asked_or_usual("by", by, usual_columns)
        by_columns = [_published_name("by", name, published_columns) for name in by_names]
        variables: dict[str, _Variable] = {}
        for name in dict.fromkeys((*target_columns, *by_columns)):
            values = [value for column, value in target_values if column == name]
            variables[name] = _Variable.of(microdata, name, values)
        for name, value in target_values:
            _asked_cell(variables[name], value)  # only to refuse values that nobody has
        left_out: dict[str, str] = {}
        # Usual columns that explain nothing are left out; columns that were asked for are not.
        if by is None:
            explaining_columns = [name for name in by_columns if name not in target_columns]
            left_out = _reasons_to_leave_out([variables[name] for name in explaining_columns])
        elif several := [name for name in by_columns if variables[name].several]:
            raise InputError(
                f"by: a person may have several values of {several[0]!r}; let it be a target"
            )
        used_variables = {
            name: variable for name, variable in variables.items() if name not in left_out
        }
        used_columns = [name for name in by_columns if name in used_variables]
        return cls(target_values, tuple(used_columns), left_out, used_variables)

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns to explain."""
        return tuple(dict(self.target_values))

    def explained(self) -> Iterator[tuple[_Variable, str | None, list[_Variable]]]:
        """Each target, its value, and the columns that explain it."""
        for name, value in self.target_values:
            by = []
            for column in self.by:
                if column != name:
                    by.append(self.variables[column])
            yield self.variables[name], value, by


def _asked_or_usual(what: str, names: Sequence[str] | None, usual: Sequence[str]) -> list[str]:
    """The names that were asked for, each once; without any, the usual ones."""
    if names is None:
        return list(usual)
    if isinstance(names, str) or not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"{what} must be a list of columns, such as ['diagnosis']")
    return list(dict.fromkeys(names))


def _published_name(what: str, name: str, columns: Sequence[str]) -> str:
    if name not in columns:
        raise InputError(
            f"{what}: no column {name!r} is published{did_you_mean(name, list(columns))}"
        )
    return name


def _column_and_value(target: str, columns: Sequence[str]) -> tuple[str, str | None]:
    """A column and perhaps one of its values."""
    name, equals, value = target.partition("=")
    if target in columns or not equals:
        return _published_name("targets", target, columns), None
    return _published_name("targets", name.strip(), columns), value.strip()


def _reasons_to_leave_out(variables: Sequence[_Variable]) -> dict[str, str]:
    """For each column that can explain nothing the reason: one value, or too many."""
    reasons: dict[str, str] = {}
    for variable in variables:
        if variable.n_values == 1:
            reasons[variable.name] = "everybody has the same"
        elif not variable.numeric and variable.n_values > _MOST_VALUES:
            reasons[variable.name] = f"it has {variable.n_values:,} values"
    return reasons


# ---- columns -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ColumnValues:
    """The values of a column in one table: the number and cell of each; -1 if unknown."""

    numbers: FloatArray
    cells: IntArray
    who: IntArray | None = None  # whose each is, where a person may have several

    def of(self, people: IntArray | None) -> _ColumnValues:
        """The values of some people, in their order."""
        return self if people is None else _ColumnValues(self.numbers[people], self.cells[people])


@dataclass(frozen=True, eq=False)
class _Table:
    """Columns of one table."""

    columns: Mapping[str, _ColumnValues]
    n_rows: int
    weights: FloatArray | None = None  # of a survey, of each row; None: all rows count alike

    @classmethod
    def of(
        cls,
        table: Mapping[str, Coded],
        variables: Mapping[str, _Variable],
        n_rows: int,
        weights: FloatArray | None = None,
    ) -> _Table:
        """Put a table into the cells of the raw one."""
        columns = {name: variable.data(table[name]) for name, variable in variables.items()}
        return cls(columns, n_rows, weights)

    def weights_of(self, rows: NDArray[Any]) -> FloatArray | None:
        """The weights of some rows, as a mask or by their numbers; None if all count alike."""
        return None if self.weights is None else self.weights[rows]

    def figures(self, variable: _Variable, value: int | None) -> FloatArray:
        """The number of each person or, with `value`, 1 if they are in that cell, else 0.

        NaN if unknown. `value` is None for numbers.
        """
        data = self.columns[variable.name]
        if variable.numeric:
            return data.numbers
        has_value: FloatArray = (data.cells == value).astype(np.float64)
        # A person with several values has it if any of them is in that cell.
        if data.who is not None:
            return np.minimum(np.bincount(data.who, has_value, self.n_rows), 1)
        has_value[data.cells < 0] = np.nan
        return has_value


@dataclass(frozen=True, eq=False)
class _Variable:
    """A column of the raw table, as it goes into cells and models."""

    name: str
    numeric: bool
    dates: bool
    several: bool
    reads: bool  # whether its values are numbers or dates, and are told apart as these
    names: tuple[str, ...]  # of cells: bands of numbers; values, the commonest first
    cell_of: Mapping[Key, int]  # the cell of each value; of numbers, that of a missing one
    edges: FloatArray  # of bands
    n_values: int  # distinct values
    column: Coded  # in the raw table
    mean: float = 0.0  # of numbers in the raw table
    deviation: float = 1.0  # standard deviation, likewise

    @classmethod
    def of(cls, microdata: Microdata, name: str, asked_values: Sequence[str | None]) -> _Variable:
        """The variable of a column, in which the values `asked_values` have a cell of their own.

        A cell is a row or column of a cross table: a value, a band of numbers, "others" or
        "missing". Numbers with many values are divided into bands; of other columns, rare values
        share a cell.
        """
        codes, domain = microdata.column(name)
        schema = microdata.schema
        several = name in schema.several
        holders = microdata.holders_of(name).astype(np.int64) if several else None
        hierarchy = schema.hierarchies.get(name)
        # Numbers make a line, which can be divided into bands, unless a hierarchy of texts divides
        # them.
        is_line = hierarchy is None or isinstance(hierarchy, (Intervals, DateLevels))
        # A column of few numbers is taken for codes, such as 1 and 2 for the sexes.
        most_codes = _CODES if name in schema.sensitives else 2
        present_values = [value for value in domain if value is not None]
        reads = schema.types.get(name) != "text" and _are_numbers(present_values)
        numbers = np.array([_number(value) if reads else np.nan for value in domain], np.float64)
        # The number of each person who has one.
        finite = numbers[codes][np.isfinite(numbers)[codes]]
        numeric = (
            is_line
            and not several
            and len(present_values) > most_codes
            and len(np.unique(finite)) > 1
        )
        variable = cls(
            name=name,
            numeric=numeric,
            dates=False,
            several=several,
            reads=reads,
            names=(),
            cell_of={},
            edges=np.zeros(0),
            n_values=len(domain),
            column=Coded(codes.astype(np.int64), domain, holders),
        )
        return variable._with_bands(finite) if numeric else variable._with_cells(asked_values)

    def _with_bands(self, numbers: FloatArray) -> _Variable:
        """The variable with bands of numbers as cells; `numbers` has one for each person."""
        present_values = [value for value in self.column.values if value is not None]
        dates = (
            isinstance(present_values[0], date) or read_as([text_of(present_values[0])]) == "date"
        )
        edges = _band_edges(numbers)
        names, cell_of = _band_names(edges, dates), dict[Key, int]()
        if None in self.column.values:
            cell_of[None] = len(names)
            names.append(MISSING)
        return replace(
            self,
            dates=dates,
            names=tuple(names),
            cell_of=cell_of,
            edges=edges,
            mean=float(numbers.mean()),
            deviation=float(numbers.std()) or 1.0,
        )

    def _with_cells(self, asked_values: Sequence[str | None]) -> _Variable:
        """The variable with values as cells; rare ones that nobody asks about share a cell."""
        domain = self.column.values
        keys = [_key(value, self.reads) for value in domain]
        times = np.bincount(self.column.codes, minlength=len(domain))
        asked_keys = [_key(value, self.reads) for value in asked_values]
        shown_codes = _shown_codes(times, keys, asked_keys)
        # Every value is among the others at first; those that are shown then get cells.
        cell_of, names = dict.fromkeys(keys, len(shown_codes)), list[str]()
        for code in shown_codes:
            cell_of[keys[code]] = len(names)
            names.append(MISSING if domain[code] is None else text_of(domain[code]))
        if len(shown_codes) < len(domain):
            names.append(OTHERS)
        return replace(self, names=tuple(names), cell_of=cell_of)

    def data(self, column: Coded) -> _ColumnValues:
        """The number and the cell of each entry of a table's column; -1 if the value is unknown."""
        codes, values, holders = column.codes, column.values, column.who
        if not self.numeric:
            # A value that the raw table does not have is in no cell.
            cell_of_code = [self.cell_of.get(_key(value, self.reads), -1) for value in values]
            return _ColumnValues(
                np.full(len(codes), np.nan), np.array(cell_of_code, np.int64)[codes], holders
            )
        numbers = np.array(list(map(_number, values)), np.float64)
        # A missing number has a cell of its own if the raw table has missing ones.
        missing_cells = []
        for value in values:
            missing_cells.append(self.cell_of.get(None, -1) if value is None else -1)
        cells = np.where(np.isnan(numbers), np.array(missing_cells, np.int64), self.bands(numbers))
        return _ColumnValues(numbers[codes], cells[codes], holders)

    def bands(self, numbers: FloatArray) -> IntArray:
        """The band of each number."""
        return np.searchsorted(self.edges, numbers, side="right").astype(np.int64)

    @property
    def terms(self) -> list[str]:
        """The names of its coefficients."""
        if self.numeric:
            return [f"{self.name}, per {self.deviation:.3g}{' days' if self.dates else ''}"]
        return [f"{self.name} = {name}" for name in self.names[1:]]

    def features(self, data: _ColumnValues) -> FloatArray:
        """The columns of a model's input for this variable; NaN if unknown.

        One column for a number, scaled to mean 0 and deviation 1 in the raw table; else a column of
        0 and 1 for each value but the commonest, to which the others are compared.
        """
        if self.numeric:
            scaled: FloatArray = ((data.numbers - self.mean) / self.deviation)[:, None]
            return scaled
        is_value = data.cells[:, None] == np.arange(1, len(self.names))
        indicators: FloatArray = is_value.astype(np.float64)
        indicators[data.cells < 0] = np.nan
        return indicators


def _key(value: Any, reads: bool) -> Key:
    """The identity of a value, however it is written: 3, 3.0 and "3.00" are one number."""
    if value is None:
        return None
    number = _number(value) if reads else np.nan
    return number if np.isfinite(number) else text_of(value)


def _shown_codes(times: IntArray, keys: Sequence[Key], asked_keys: Sequence[Key]) -> list[int]:
    """The codes of values with a cell of their own: the commonest, and those asked about.

    `times` is how many people have each value, and `keys` are what values are compared by.
    """
    order: list[int] = np.argsort(-times, kind="stable").tolist()
    if len(order) <= _LEVELS + 1:  # one by itself is no others
        return order
    return [
        *order[:_LEVELS],
        *(c for c in order[_LEVELS:] if keys[c] is not None and keys[c] in asked_keys),
    ]


def _band_edges(numbers: FloatArray) -> FloatArray:
    """The numbers at which bands of about equally many people begin, but for the first band."""
    lowest = numbers.min()
    edges = np.unique(np.quantile(numbers, _BANDS, method="inverted_cdf"))
    edges = edges[edges > lowest]
    # If most people have the lowest number, all others make one band.
    return edges if len(edges) else np.array([numbers[numbers > lowest].min()])


def _are_numbers(values: Sequence[Any]) -> bool:
    """True if all values are numbers or dates, or texts that read as such."""
    if all(isinstance(value, str) for value in values):
        return read_as(values) != "string"
    kinds = int, float, Decimal, date
    return all(isinstance(value, kinds) and not isinstance(value, bool) for value in values)


def _numbers_of(column: Coded) -> FloatArray:
    """The number of each row of a column."""
    return np.array(list(map(_number, column.values)), np.float64)[column.codes]


def _number(value: Any) -> float:
    """The number, or the days of a date; NaN for anything else."""
    if isinstance(value, str):
        number = read_number(value)
        value = read_moment(value) if number is None else number
    if isinstance(value, date):
        return days_of(value)
    try:
        converted = float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
    return converted if np.isfinite(converted) else float("nan")


def _band_names(edges: FloatArray, dates: bool) -> list[str]:
    """The names of the bands into which edges divide numbers, or dates (as days)."""
    if not len(edges):
        return ["all"]

    def edge_text(edge: float) -> str:
        return date.fromordinal(int(edge)).isoformat() if dates else f"{edge:.6g}"

    inner_names = [f"{edge_text(low)} to under {edge_text(high)}" for low, high in pairwise(edges)]
    return [f"under {edge_text(edges[0])}", *inner_names, f"{edge_text(edges[-1])} or more"]


def _with_middles(
    drawn_table: _Table, middles: Mapping[str, Coded], variables: Mapping[str, _Variable]
) -> _Table:
    """A drawn table in which numbers are the middles of their labels.

    An unknown middle stays missing where the drawn value is missing, and is in no cell otherwise.
    """
    columns = dict(drawn_table.columns)
    for variable in variables.values():
        if variable.numeric and variable.name in middles:
            data = variable.data(middles[variable.name])
            drawn_cells, missing_cell = columns[variable.name].cells, variable.cell_of.get(None, -1)
            is_unknown = np.isnan(data.numbers)
            cells = np.where(
                is_unknown, np.where(drawn_cells == missing_cell, missing_cell, -1), data.cells
            )
            columns[variable.name] = _ColumnValues(data.numbers, cells)
    return replace(drawn_table, columns=columns)


@dataclass(frozen=True, eq=False)
class _ComparedTables:
    """The raw table, and tables from its release, to be compared."""

    raw: _Table
    middles: Sequence[_Table]
    drawn: Sequence[_Table]
    question: Question

    @property
    def tables(self) -> list[_Table]:
        return [self.raw, *self.middles, *self.drawn]

    def estimate(
        self, name: str, figure: Callable[[_Table], float | None], group: str = ""
    ) -> Estimate:
        """A figure of the raw table, and its means over the tables of the release."""
        from_middles, from_drawn = _mean(map(figure, self.middles)), _mean(map(figure, self.drawn))
        return Estimate(name, _mean([figure(self.raw)]), from_middles, from_drawn, group)


def _mean(figures: Any) -> float | None:
    """The mean of figures; None if any of them is None or not finite."""
    values = np.array(list(figures), dtype=float)  # None is not a number
    return float(values.mean()) if np.isfinite(values).all() else None


# ---- means and cross tables ----------------------------------------------------------------------


def _by_group(work: _ComparedTables) -> Iterator[Estimate]:
    """Yield estimates by group: means of numbers, and shares of values.

    Each compares the raw table with the release.
    """
    for target, value, by in work.question.explained():
        for column in by:
            # Groups need values: if the target is one and the column a number, they change places.
            turned = column.numeric and not target.numeric
            measured, groups = (column, target) if turned else (target, column)
            position = None if measured.numeric else _asked_cell(measured, value)
            title = (
                f"mean of {measured.name}" if position is None else f"share of {measured.name} = "
            )
            title += "" if position is None else measured.names[position]
            for cell, group in enumerate(() if measured.dates else groups.names):

                def figure(
                    table: _Table,
                    measured: _Variable = measured,
                    position: int | None = position,
                    cells: str = groups.name,
                    cell: int = cell,
                ) -> float | None:
                    """The mean figure over people of this group; None if none are known."""
                    within, figures = table.columns[cells], table.figures(measured, position)
                    values = figures if within.who is None else figures[within.who]
                    is_inside = (within.cells == cell) & np.isfinite(values)
                    if not is_inside.any():
                        return None
                    holders = np.arange(table.n_rows) if within.who is None else within.who
                    weights = table.weights_of(holders[is_inside])
                    return float(np.average(values[is_inside], weights=weights))

                yield work.estimate(title, figure, f"{groups.name} = {group}")


def _asked_cell(target: _Variable, value: str | None) -> int:
    """The cell of the value that is asked about; without one, of the commonest value.

    Cells of values come in order of frequency. Raises `InputError` if nobody has the value.
    """
    if value is None:
        # If most people have no value, the missing values are cell 0, and the commonest value is
        # cell 1.
        return int(target.cell_of.get(None) == 0 and len(target.names) > 1)
    if target.numeric:
        raise InputError(f"targets: {target.name!r} has numbers; leave out {value!r}")
    key = _key(value, target.reads)
    if key not in target.cell_of:
        raise InputError(f"targets: nobody has the value {value!r} of {target.name!r}")
    return target.cell_of[key]


def _cross_tables(work: _ComparedTables) -> Iterator[CrossTable]:
    """Yield the cross table of each pair of variables: people by cell, and how they are correlated.

    Pairs with a target come first.
    """
    variables, targets = work.question.variables, work.question.targets
    for pair in sorted(combinations(variables, 2), key=lambda pair: pair[0] not in targets):
        a, b = (variables[name] for name in pair)
        # Two columns of which a person may have several values have no common people to count.
        if a.several and b.several:
            continue
        raw = _count_cells(work.raw, a, b)
        middles = np.sum([_count_cells(table, a, b) for table in work.middles], axis=0)
        drawn_counts = np.sum([_count_cells(table, a, b) for table in work.drawn], axis=0)

        def figure(table: _Table, a: _Variable = a, b: _Variable = b) -> float | None:
            return _correlation(table, a, b) if a.numeric and b.numeric else _cramer(table, a, b)

        # Drawn tables are added up, and scaled to as many people as the raw table has.
        yield CrossTable(
            columns=(a.name, b.name),
            rows=a.names,
            values=b.names,
            measure="r" if a.numeric and b.numeric else "V",
            association=work.estimate(" × ".join(pair), figure),
            raw=_known_counts(raw),
            drawn=_known_counts(drawn_counts * (raw.sum() / max(drawn_counts.sum(), 1))),
            misplaced=Estimate(
                "people in another cell",
                raw=0.0,
                middles=_misplaced_share(raw, middles),
                drawn=_misplaced_share(raw, drawn_counts),
            ),
        )


def _misplaced_share(raw: FloatArray, released: FloatArray) -> float | None:
    """The share of people who would have to move to another cell to make both tables equal.

    Half the sum of the differences of cell shares; exactly 0 where all are equal. None if a table
    is empty.
    """
    total, released_total = raw.sum(), released.sum()
    if not total or not released_total:
        return None
    # Both are multiplied by both totals, so that equal shares give 0 without rounding.
    return float(
        np.abs(raw * released_total - released * total).sum() / (2 * total * released_total)
    )


def _known_counts(cells: FloatArray) -> tuple[tuple[float, ...], ...]:
    """The counts of known values, row by row: all but the last row and column."""
    return tuple(map(tuple, cells[:-1, :-1].tolist()))


def _count_cells(table: _Table, a: _Variable, b: _Variable) -> FloatArray:
    """The counts of a cross table (rows: a; columns: b), the last for unknown values."""
    first, second = table.columns[a.name], table.columns[b.name]
    # Where a person may have several values of one column, each counts, with the person's value of
    # the other column.
    holders = first.who if first.who is not None else second.who
    if first.who is None:
        first = first.of(holders)
    if second.who is None:
        second = second.of(holders)
    rows, values = len(a.names) + 1, len(b.names) + 1
    # An unknown value is -1, which becomes the last row or column.
    cell = (first.cells % rows) * values + second.cells % values
    weights = table.weights if holders is None else table.weights_of(holders)
    counts = np.bincount(cell, weights, minlength=rows * values).astype(np.float64)
    return counts.reshape(rows, values)


def _cramer(table: _Table, a: _Variable, b: _Variable) -> float | None:
    """Cramér's V of two variables, among people whose values are known; None if one is constant."""
    cells = _count_cells(table, a, b)[:-1, :-1]
    # Rows and columns without people would divide by 0.
    cells = cells[cells.sum(axis=1) > 0][:, cells.sum(axis=0) > 0]
    if min(cells.shape) < 2:
        return None
    total = cells.sum()
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0)) / total
    squared = float(((cells - expected) ** 2 / expected).sum() / total)
    return float(np.sqrt(squared / (min(cells.shape) - 1)))


def _correlation(table: _Table, a: _Variable, b: _Variable) -> float | None:
    """Pearson's correlation of two numbers, of people who have both; None if one is constant."""
    first, second = table.columns[a.name].numbers, table.columns[b.name].numbers
    is_finite = np.isfinite(first) & np.isfinite(second)
    first, second = first[is_finite], second[is_finite]
    if len(first) < 2 or not np.ptp(first) or not np.ptp(second):
        return None
    covariances = np.cov(first, second, aweights=table.weights_of(is_finite))
    return float(covariances[0, 1] / math.sqrt(covariances[0, 0]) / math.sqrt(covariances[1, 1]))


# ---- models --------------------------------------------------------------------------------------


def _fits(tables: _ComparedTables, seed: int | None) -> tuple[tuple[Fit, ...], str]:
    """The models of each target, fitted to the raw table and to tables of the release; and a note.

    The note says what is missing, if scikit-learn is not installed; else it is empty. A target of
    numbers gets a linear regression, another one a logistic regression; both get a tree.
    """
    try:
        models = _ScikitLearn()
    except ImportError:
        return (), NEEDED
    fits = []
    for target, value, columns in tables.question.explained():
        if not columns:
            continue
        # One input for each table serves all models of a target.
        designs = {id(table): _Design.of(table, columns) for table in tables.tables}
        terms = [*chain.from_iterable(column.terms for column in columns)]
        asked_cell = None if target.numeric else _asked_cell(target, value)
        for kind in ("linear" if target.numeric else "logistic", "tree"):
            model_kind: Kind = kind
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what is separated perfectly, say
                fit = _compared_fit(
                    tables,
                    models,
                    designs=designs,
                    target=target,
                    value=asked_cell,
                    kind=model_kind,
                    terms=terms,
                    seed=seed or 0,
                )
            fits += [] if fit is None else [fit]
    return tuple(fits), ""


@dataclass(frozen=True, eq=False)
class _Design:
    """The input of models from one table."""

    matrix: FloatArray
    varies: NDArray[np.bool_]  # of each term: whether it varies in the table

    @classmethod
    def of(cls, table: _Table, columns: Sequence[_Variable]) -> _Design:
        """The columns of all variables side by side, (people, terms), without unknown numbers.

        An unknown number becomes the mean of the others. It is also noted which terms vary.
        """
        matrix = np.hstack(
            [variable.features(table.columns[variable.name]) for variable in columns]
        )
        is_known = np.isfinite(matrix)
        means = np.where(is_known, matrix, 0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
        matrix = np.where(is_known, matrix, means)
        return cls(matrix, np.ptp(matrix, axis=0) > 0)


class _Measure(NamedTuple):
    """How good predictions are."""

    name: str
    score: Callable[[FloatArray, FloatArray], float]  # of true values and predictions
    baseline: float  # the score without a model


class _ScikitLearn:
    """The models of scikit-learn that are compared."""

    def __init__(self) -> None:
        linear, trees = import_module("sklearn.linear_model"), import_module("sklearn.tree")
        self.metrics: Any = import_module("sklearn.metrics")
        self._made: dict[str, Callable[..., Any]] = {
            "linear": linear.LinearRegression,
            "logistic": lambda: linear.LogisticRegression(solver="newton-cholesky"),
            "tree of numbers": trees.DecisionTreeRegressor,
            "tree": trees.DecisionTreeClassifier,
        }

    def measure_of(
        self,
        true_values: FloatArray,
        weights: FloatArray | None,
        numeric: bool,
        all_values: bool,
    ) -> _Measure:
        """The measure of predictions of numbers, of all values, or of the chance of one value.

        Without a model one can predict the mean, the commonest value, or toss a coin.
        """
        if numeric:
            score = partial(self.metrics.r2_score, sample_weight=weights)
            return _Measure("R²", score, baseline=0.0)
        if all_values:
            _, values = np.unique(true_values, return_inverse=True)
            times = np.bincount(values, weights)
            score = partial(self.metrics.accuracy_score, sample_weight=weights)
            return _Measure("accuracy", score, baseline=float(times.max() / times.sum()))
        score = partial(self.metrics.roc_auc_score, sample_weight=weights)
        return _Measure("AUC", score, baseline=0.5)

    def fitted(
        self,
        kind: str,
        matrix: FloatArray,
        y: NDArray[Any],
        weights: FloatArray | None,
        seed: int,
    ) -> Any:
        """Fit a model with its default settings; None where there is nothing to fit.

        Weights are divided by their mean, so that they do not change what settings mean.
        """
        if len(y) == 0 or (kind in ("logistic", "tree") and len(np.unique(y)) < 2):
            return None
        of_tree = {"max_depth": _DEPTH, "min_samples_leaf": _LEAF, "random_state": seed}
        model = self._made[kind](**(of_tree if kind.startswith("tree") else {}))
        return model.fit(matrix, y, None if weights is None else weights / weights.mean())


def _compared_fit(
    work: _ComparedTables,
    learn: _ScikitLearn,
    *,
    designs: Mapping[int, _Design],
    target: _Variable,
    value: int | None,
    kind: Kind,
    terms: Sequence[str],
    seed: int,
) -> Fit | None:
    """One kind of model of a target, fitted to each table, and asked about the raw people.

    None if it cannot be fitted to the raw table. `designs` has the input of models by the id of
    each table; `terms` are the names of its columns. `value` is the cell of the value to predict;
    None for numbers.

    A figure is worked out for each table by a function of the table, from which `work.estimate`
    makes the comparison of the raw table with the release.
    """
    # A tree predicts the value itself; with several values per person only one can be asked about.
    all_values = kind == "tree" and not target.numeric and not target.several

    def target_of(table: _Table) -> FloatArray:
        if not all_values:
            return table.figures(target, value)
        cells = table.columns[target.name].cells
        return np.where(cells < 0, np.nan, cells.astype(np.float64))

    # A regression tree is another class than one that predicts values.
    model_name = f"{kind} of numbers" if kind == "tree" and target.numeric else kind

    def model_of(table: _Table) -> Any:
        y, design = target_of(table), designs[id(table)]
        is_known = np.isfinite(y)
        matrix, weights = design.matrix[is_known], table.weights_of(is_known)
        return learn.fitted(model_name, matrix, y[is_known], weights, seed)

    # Every model is asked about the raw people whose target is known.
    true_values = target_of(work.raw)
    is_known = np.isfinite(true_values)
    features, true_values = designs[id(work.raw)].matrix[is_known], true_values[is_known]
    weights = work.raw.weights_of(is_known)
    # One model for each table, by the table's id, and what it predicts for the raw people.
    models = {id(table): model_of(table) for table in work.tables}
    raw_model = models[id(work.raw)]
    if raw_model is None or (target.numeric and not np.ptp(true_values)):
        return None

    def predicted(model: Any) -> FloatArray:
        if target.numeric or all_values:
            return np.asarray(model.predict(features), np.float64)
        return np.asarray(model.predict_proba(features)[:, 1], np.float64)

    predictions: dict[int, FloatArray | None] = {}
    for key, model in models.items():
        predictions[key] = None if model is None else predicted(model)
    measure = learn.measure_of(true_values, weights, target.numeric, all_values)
    raw_prediction = predictions[id(work.raw)]
    # Predictions of numbers are compared in standard deviations of the target.
    deviation = float(true_values.std()) if target.numeric else 1.0

    def scored(table: _Table) -> float | None:
        prediction = predictions[id(table)]
        return None if prediction is None else float(measure.score(true_values, prediction))

    def deviation_from_raw(table: _Table) -> float | None:
        prediction = predictions[id(table)]
        if prediction is None or raw_prediction is None:
            return None
        if all_values:
            return float(np.average(prediction != raw_prediction, weights=weights))
        distance = np.average(np.abs(prediction - raw_prediction), weights=weights)
        return float(distance / deviation)

    # Trees have no coefficients.
    coefficients = () if kind == "tree" else _coefficients(work, models, designs, terms)
    return Fit(
        target=target.name,
        value=None if value is None or all_values else target.names[value],
        kind=kind,
        people=len(true_values),
        measure=measure.name,
        score=work.estimate(measure.name, scored),
        baseline=measure.baseline,
        apart=work.estimate("predictions apart", deviation_from_raw),
        coefficients=tuple(coefficients),
    )


def _coefficients(
    work: _ComparedTables,
    models: Mapping[int, Any],
    designs: Mapping[int, _Design],
    terms: Sequence[str],
) -> Iterator[Estimate]:
    """Yield the estimate of each term's coefficient; models and their inputs are by table's id.

    A term that does not vary in a table has no coefficient there.
    """
    for position, term in enumerate(terms):

        def coefficient(table: _Table, position: int = position) -> float | None:
            model = models[id(table)]
            if model is None or not designs[id(table)].varies[position]:
                return None
            return float(np.ravel(model.coef_)[position])

        yield work.estimate(term, coefficient)
