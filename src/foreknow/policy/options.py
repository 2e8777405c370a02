"""Options: how a release is made, the `[publish]` table of a policy file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from foreknow.call_hints import hints
from foreknow.data.columns.reading_rules import DELIMITERS, Dialect
from foreknow.data.prepare import header_of_shuffled
from foreknow.data.schema import Schema
from foreknow.errors import did_you_mean, refuse_first, refuse_other
from foreknow.names import EXPORTS
from foreknow.numbers import nearest_multiple, whole_number
from foreknow.policy.tables import PublishTable, Style
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.files.json_values import plain
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import as_fraction, read_number
from foreknow_judge.policy.grammar import FileFormat, Form

# The settings of files that are for one format alone.
_OF_CSV = "delimiter", "decimal", "bom"
_SIGNS = {
    "delimiter": (DELIMITERS, 'CSV is written with ",", ";", "tab" or "|"'),
    "decimal": (".,", 'it is "." or ","'),
}
_OF_FORMAT: Mapping[str, Sequence[str]] = {"csv": _OF_CSV, "parquet": ("rows_per_part",)}


@hints()
@dataclass(frozen=True)
class PublishOptions:
    """How a release is made: the ``[publish]`` table of a policy file.

    Parameters
    ----------
    method : str
        The name of the anonymizer, such as "mondrian".
    form : "generalized" or "bucketized", optional
        "generalized": one table with coarsened quasi-identifiers. "bucketized": one table with
        exact quasi-identifiers and a group id, and a table of (group, value, count). The default
        is generalized, unless the method says otherwise.
    format : "csv" or "parquet", optional
        The default is CSV. For Excel, SPSS or Stata, export the release: `foreknow.export`.
    labels : mapping of column to "range", "exact", "hierarchy" or "set"
        How a quasi-identifier is written in a generalized release; the default depends on its kind.
        Ranges of numbers and dates begin and end on a grid; with "exact", at the lowest and
        highest value of the group's members. Sets list values that enough people of the table
        have, and the rest as `other`; with "exact", sets of texts list all values.
    escape_formulas : bool
        Whether to mark texts in CSV that a spreadsheet would run as formulas; this changes values.
    settings : mapping of method to mapping
        Parameters of a method, such as ``{"fulldomain": {"suppression": 0.05}}``.
    unlinked : sequence of str
        Sensitive and other columns that are not linked to the rest of a row: each is shuffled
        within every group or, in a bucketized release, gets its own table. So it reveals nothing
        about a person's other columns.
    weights : mapping of column to number
        The weight of a quasi-identifier, by default 1, in Mondrian's choice of cuts, in
        FullDomain's loss, and in the average NCP.
    round : mapping of column to number
        The number to whose nearest multiple the numbers of a sensitive or other column are rounded,
        halves away from 0. They are rounded before anything is counted.
    rows_per_part : int, optional
        The most rows of a file, if each Parquet table is a folder of files. None: one file.
    delimiter : "," or ";" or "tab" or "|", optional
        The delimiter of CSV; the default is that of the table.
    decimal : "." or ",", optional
        The decimal sign of numbers in CSV; the default is that of the table.
    bom : bool, optional
        Whether CSV begins with a byte order mark, which Excel needs for UTF-8; the default is as in
        the table.
    """

    method: str = "mondrian"
    form: Form | None = None
    format: FileFormat | None = None
    labels: dict[str, str] = field(default_factory=dict)
    escape_formulas: bool = False
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unlinked: Sequence[str] = ()
    weights: Mapping[str, Any] = field(default_factory=dict)
    round: Mapping[str, Any] = field(default_factory=dict)
    rows_per_part: int | None = None
    delimiter: str | None = None
    decimal: str | None = None
    bom: bool | None = None

    def __post_init__(self) -> None:
        """Bring the options into one form; `PolicyError` for those that cannot be meant."""
        if isinstance(self.unlinked, str):
            raise PolicyError(f"publish.unlinked must be a list, such as [{self.unlinked!r}]")
        set_fields(self, unlinked=tuple(self.unlinked), weights=weights_of(self.weights))
        set_fields(self, round=_steps_of(self.round))
        refuse_other("publish.form is", self.written, get_args(Form), PolicyError)
        refuse_export_format(self.written_format)
        refuse_other("publish.format is", self.written_format, get_args(FileFormat), PolicyError)
        for column, style in self.labels.items():
            refuse_other(f"publish.labels.{column} is", style, get_args(Style), PolicyError)
        if self.rows_per_part is not None:
            whole_number(self.rows_per_part, "publish.rows_per_part", 1)
        self._check_dialect()
        # Options of the other format would have no effect.
        for file_format, names in _OF_FORMAT.items():
            for name in names if file_format != self.written_format else ():
                if getattr(self, name) is not None:
                    raise PolicyError(
                        f'publish.{name} is for format = "{file_format}", and the format is '
                        f"{self.written_format}"
                    )
        for method, settings in self.settings.items():
            if method in PublishTable.model_fields or not isinstance(settings, Mapping):
                raise PolicyError(
                    f"settings are a mapping for each method, not {method!r} with {settings!r}"
                )

    def _check_dialect(self) -> None:
        """Raise `PolicyError` for delimiters and decimals that a CSV file cannot have.

        "tab" stands for the character; None leaves a setting to the table.
        """
        set_fields(self, delimiter={"tab": "\t"}.get(str(self.delimiter), self.delimiter))
        for name, (signs, words) in _SIGNS.items():
            sign = getattr(self, name)
            if sign not in (None, *signs):
                raise PolicyError(f"publish.{name} is {sign!r}; {words}")
        if not isinstance(self.bom, bool | None):
            raise PolicyError(f"publish.bom is {self.bom!r}; it is true or false")

    def as_came(self, dialect: Dialect) -> PublishOptions:
        """The options with delimiter, decimals and byte order mark as the table has them.

        Only where the options leave them open, and only for CSV. What is usual stays None.
        """
        file_format, usual = self.written_format, Dialect()
        signs: dict[str, Any] = {}
        for name in {*_OF_CSV}.intersection(_OF_FORMAT[file_format]):
            sign = getattr(self, name)
            sign = getattr(dialect, name) if sign is None else sign
            signs[name] = None if sign == getattr(usual, name) else sign
        return replace(self, format=file_format, **signs)

    def check_columns(self, schema: Schema) -> None:
        """Refuse columns that cannot be in `unlinked`, `weights` or `round`.

        `unlinked` columns are shuffled within groups; `weights` say how much a column counts.
        """
        self._check_rounded(schema)
        for name in self.unlinked:
            if name not in (*schema.sensitives, *schema.other):
                raise PolicyError(
                    f"publish.unlinked: {name!r} is neither sensitive nor among other"
                    f"{did_you_mean(name, [*schema.sensitives, *schema.other])}"
                )
            published_columns = (*schema.quasi_identifiers, *schema.sensitives, *schema.other)
            header = header_of_shuffled(name)
            if header in published_columns:
                raise PolicyError(
                    f"publish.unlinked: {name!r} is published as {header!r}, and another "
                    "column is called so; rename that column"
                )
            if name in schema.other and not self.labelled:
                raise PolicyError(
                    f"publish.unlinked: {name!r} is among other, which the bucketized form "
                    "publishes beside the exact columns of each person; make it sensitive, leave "
                    'it out, or publish with form = "generalized"'
                )
        for name in self.weights:
            if name not in schema.quasi_identifiers:
                raise PolicyError(
                    f"publish.weights: {name!r} is no quasi-identifier"
                    f"{did_you_mean(name, schema.quasi_identifiers)}"
                )

    def _check_rounded(self, schema: Schema) -> None:
        """Refuse to round columns that have no numbers, or whose values rules are about."""
        for name in self.round:
            kind, columns = schema.types.get(name), [*schema.sensitives, *schema.other]
            about_values = (
                "are about values as the table has them; round "
                f"{name!r} in the table, and leave it out of publish.round"
            )
            faults = {
                f"{name!r} is a quasi-identifier, whose labels are ranges; leave it out, or if it "
                f"has numbers, give it a hierarchy, such as {name} = {{ intervals = "
                f"[{self.round[name]}] }}": name in schema.quasi_identifiers,
                f"{name!r} is neither sensitive nor among other{did_you_mean(name, columns)}": name
                not in columns,
                f"{name!r} is of type {kind}; only numbers are rounded": kind in ("text", "date"),
                f"a person may have several values of {name!r}; round them in the table, and leave "
                "it out of publish.round": name in schema.several,
                f"rules of 'impossible' {about_values}": schema.impossible,
                f"rules of 'shared' {about_values}": schema.shared,
            }
            refuse_first("publish.round", faults)

    def check_named(self, requirement: Any, schema: Schema) -> None:
        """Refuse values and ends of ranges that nobody has after numbers are rounded.

        A range that ends between two multiples would leave out numbers that are rounded beyond it.
        """
        column, secret = requirement.sensitive or schema.sensitive, requirement.secret
        if column not in self.round:
            return
        # A set is a list of values, or a range with its ends.
        sets = map(plain, secret.sets.values())
        listed = [columns.values() if isinstance(columns, Mapping) else columns for columns in sets]
        for value in chain(secret.values or (), secret.excluded, *listed):
            number = read_number(str(value))
            if number is None:
                continue
            published = nearest_multiple(number, self.round[column])
            if read_number(published) != number:
                raise PolicyError(
                    f"{requirement.name}: {value!r} is no multiple of {self.round[column]}, to "
                    f"which publish.round takes {column!r}, so nobody has it; write {published}"
                )

    def weights_of(self, columns: Iterable[str]) -> NDArray[np.float64] | None:
        """The weights of the given columns; None if all are 1."""
        weights = np.array([self.weights.get(column, 1.0) for column in columns])
        return None if np.all(weights == 1) else weights

    @property
    def written(self) -> Form:
        """The form; generalized if none is given. See `foreknow.methods.protocol.in_its_form`."""
        return self.form or "generalized"

    @property
    def written_format(self) -> FileFormat:
        """The format of the files; CSV if none is given."""
        return self.format or "csv"

    @property
    def labelled(self) -> bool:
        """True if quasi-identifiers are published as labels of groups, in the generalized form."""
        return self.written == "generalized"

    def to_dict(self) -> dict[str, Any]:
        """The ``[publish]`` table: the method, and the options that differ from the defaults."""
        table = {key: plain(getattr(self, key)) for key in PublishTable.model_fields}
        stated = {}
        for key, value in table.items():
            if value or key == "method":
                stated[key] = value
        stated |= {"bom": False} if self.bom is False else {}  # which differs from leaving it out
        return {**stated, **{name: dict(value) for name, value in self.settings.items()}}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> PublishOptions:
        """Build options from the result of `to_dict`."""
        fields = {}
        for key, value in table.items():
            if key in PublishTable.model_fields:
                fields[key] = value
        return cls(**fields, settings={key: table[key] for key in table if key not in fields})


def weights_of(table: Any) -> dict[str, int | float]:
    """Read weights of columns, by which some count more than others: numbers above 0.

    >>> weights_of({"zip": 3, "age": "1/2"})
    {'zip': 3, 'age': 0.5}
    """
    if not isinstance(table, Mapping):
        raise PolicyError(f"publish.weights must be a table, such as {{ zip = 3 }}, not {table!r}")
    weights: dict[str, int | float] = {}
    for column, weight in table.items():
        try:
            number = float(as_fraction(weight)) if not isinstance(weight, bool) else 0.0
        except (InputError, OverflowError):
            number = 0.0  # refused below
        if not 1e-6 <= number <= 1e6:
            raise PolicyError(
                f"publish.weights: {column!r} must count a number above 0 (from 0.000001 to "
                f"1,000,000), not {weight!r}"
            )
        weights[str(column)] = int(number) if number.is_integer() else number
    return weights


def _steps_of(table: Any) -> dict[str, int | float]:
    """Read the steps that columns are rounded to multiples of: decimal numbers above 0."""
    if not isinstance(table, Mapping):
        raise PolicyError(f"publish.round must be a table, such as {{ cost = 100 }}, not {table!r}")
    steps: dict[str, int | float] = {}
    for column, setting in table.items():
        try:
            step = as_fraction(setting)
            # Not 1/3, whose multiples cannot be written exactly.
            is_decimal = step > 0 and Fraction(repr(float(step))) == step
        except (InputError, OverflowError):
            is_decimal = False
        if not is_decimal:
            raise PolicyError(
                f"publish.round: {column!r} is rounded to multiples of a number above 0, such as "
                f"100 or 0.05, not {setting!r}"
            )
        steps[str(column)] = int(step) if step.denominator == 1 else float(step)
    return steps


def refuse_export_format(file_format: Any) -> None:
    """Refuse a format that a certificate does not cover, and say how to get it."""
    file_format = EXPORTS.get(file_format, file_format)
    if file_format in EXPORTS.values():
        raise PolicyError(
            f"publish.format is {file_format!r}, and a certified release is CSV or Parquet: leave "
            f"format out, and then run: foreknow export FOLDER --to {file_format}"
        )
