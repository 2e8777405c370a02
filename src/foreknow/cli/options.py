"""Options that several commands have: how files are read, where results go, what is published."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from foreknow.cli.terminal import console, progress
from foreknow.data.columns.reading_rules import Reading, named_part
from foreknow.errors import OutputError
from foreknow_judge.errors import InputError
from foreknow_judge.files.file_names import CERTIFICATE

if TYPE_CHECKING:
    from foreknow.policy.policy import Policy
    from foreknow.result import Result


STDOUT = Path("-")
UNSAFE, BAD_INPUT, BUG, UNDECIDED = 1, 2, 3, 4
REQUIRED = inspect.Parameter.empty
_KINDS = (
    "CSV, Parquet (a file or folder), .xlsx, .sqlite, .duckdb, .sav, postgresql://...; - is stdin."
)
Raw = Annotated[Path, _KINDS]
Published = Annotated[Path, f"A folder of foreknow publish, or a table: {_KINDS}"]
AnyOf = Annotated[
    list[str] | None,
    'A value of a set that is one secret; repeat it for each value. "B20*" is every value that '
    "begins with B20. Or a label in the policy's hierarchy.",
]
Quiet = Annotated[bool, "Print nothing but errors."]
Memory = Annotated[
    str | None, "How much memory DuckDB may use, such as 4GB; the rest goes to disk."
]


class More(dict[str, Any]):
    """Further settings of an option for Click, such as its flags."""


class Only(tuple[str, ...]):
    """The options of a bundle that a command has, beside a policy and how files are read."""


class ForwardedOptions(dict[str, Any]):
    """The options that a command forwards to a public function."""


def among(*words: str) -> More:
    """Let the shell complete one of these words."""
    return _completed(lambda: words)


def _completed(words: Callable[[], Iterable[str]]) -> More:
    def begun(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        return [word for word in words() if word.startswith(incomplete)]

    return More(shell_complete=begun)


def _methods() -> list[str]:
    """The names of methods, including those of other packages; slow at the first call."""
    from foreknow.methods.registry import METHODS

    return [key for key, _ in METHODS]


MethodName = Annotated[str | None, _completed(_methods)]


@dataclass(frozen=True)
class Files:
    """How files are read, where nothing in them says so.

    Parameters
    ----------
    encoding
        The encoding of a CSV file that is not UTF-8: latin-1, cp1252, utf-16, ...
    delimiter
        The character between fields of a CSV file: ";", tab, ...
    decimal
        The decimal mark: a point or a comma.
    date_format
        How dates are written, such as dd.mm.yyyy.
    part
        The table of a database, or the sheet of a workbook.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    date_format: str | None = None
    part: Annotated[str | None, More(flags="--table")] = None

    @property
    def reading(self) -> Reading:
        """How files are read, by these options."""
        return Reading(self.encoding, self.delimiter, self.decimal, self.date_format)


def _replaces(target: Path, source: Path) -> bool:
    """True if a file to be written is an input, lies in one, or is one of its owner's files."""
    from foreknow_judge.files.file_names import NEWCOMERS, owners_folder
    from foreknow_judge.files.release_folder import FOR_THE_OWNER

    target_path = target.resolve()
    is_inside = source.is_dir() and source in target_path.parents and target_path.exists()
    is_owners = target_path.name in {*FOR_THE_OWNER, *NEWCOMERS}
    return (
        target_path == source
        or is_inside
        or (is_owners and target_path.parent == owners_folder(source))
    )


@dataclass(frozen=True)
class Output:
    """The options that say where the results of a command go.

    Parameters
    ----------
    html
        Write a report, one file that opens offline.
    json
        Write the result as JSON; - is the standard output.
    exposed
        Write the groups with people over a limit, as CSV.
    quiet
        Print nothing but errors.
    """

    html: Path | None = None
    json: Annotated[Path | None, More(is_flag=False, flag_value="-")] = None
    exposed: Path | None = None
    quiet: bool = False

    def refuse(self, *inputs: Path) -> None:
        """Raise `OutputError` for a file to be written that cannot be meant.

        It would replace an input or another output, lie in a folder that is published, or has an
        ending of another kind of file.
        """
        from foreknow_judge.files.file_names import owners_folder

        files = (self.html, None if self.json == STDOUT else self.json, self.exposed)
        targets = [path for path in files if path is not None]
        sources = [named_part(path)[0].resolve() for path in inputs]
        for target in targets:
            if any(_replaces(target, source) for source in sources):
                raise OutputError(f"{str(target)!r} is an input; name another file to write to")
            if (target.resolve().parent / CERTIFICATE).is_file():
                raise OutputError(
                    f"{str(target)!r} would lie in a folder that is to be published, and is for "
                    f"you only; write it into {str(owners_folder(target.parent))!r}"
                )
        if self.html is not None and self.html.suffix.lower() not in ("", ".html", ".htm"):
            raise OutputError(
                f"--html writes a web page: name it {str(self.html.with_suffix('.html'))!r}, not "
                f"{self.html.suffix}; a browser opens it, and can print it to a PDF file"
            )
        if self.exposed is not None and self.exposed.suffix.lower() not in ("", ".csv"):
            raise OutputError(
                f"--exposed writes a CSV file: name it {str(self.exposed.with_suffix('.csv'))!r}, "
                f"not {self.exposed.suffix}"
            )
        if len({target.resolve() for target in targets}) < len(targets):
            options = "--html and --json"
            if self.exposed is not None:
                options = "--html, --json and --exposed: two"
            raise OutputError(f"{options} name the same file")

    def progress(self, message: str) -> AbstractContextManager[Any]:
        """Show on stderr what takes long, unless asked to be quiet."""
        return progress(message, self.quiet)

    def show(self, result: Result, instead: Any = None) -> None:
        """Write the files that are asked for, then print the result, or `instead`."""
        if self.html is not None:
            with self.progress("Writing the page"):
                result.to_html(self.html)
        if self.json is not None:
            self.write(result.to_dict())
        if not self.quiet:
            console().print(result if instead is None else instead, crop=False)

    def write(self, table: dict[str, Any]) -> None:
        """Write plain values as JSON to where they are wanted."""
        from foreknow.atomic_files import json_for_owner, write_json_for_owner

        if self.json == STDOUT:
            sys.stdout.write(json_for_owner(table))
        elif self.json is not None:
            write_json_for_owner(self.json, table)


Results = Annotated[Output, Only(("html", "json", "quiet"))]
Answers = Annotated[Output, Only(("json", "quiet"))]


@dataclass(frozen=True)
class Choice:
    """Choices on the command line that override the policy's options.

    Parameters
    ----------
    method
        The method that makes groups, see below; the policy's when left out.
    settings
        A setting of the method, such as suppression=0.05, or the weight of a quasi-identifier, such
        as weights.zip=3; may be repeated.
    form
        generalized: coarser quasi-identifiers, one table; bucketized: exact ones, and a table of
        counts (default: the policy's).
    file_format
        csv or parquet (default: the policy's, else csv). For Excel, SPSS or Stata, export the
        release afterwards: foreknow export FOLDER --to xlsx.
    out_delimiter
        The character between fields of a CSV release; as in the table when left out.
    out_decimal
        The decimal mark of a CSV release: a point or a comma; as in the table when left out.
    bom
        Begin a CSV release with the mark by which Excel recognizes UTF-8.
    rows_per_part
        Write several Parquet files, with at most this many rows in each.
    """

    method: MethodName = None
    settings: Annotated[list[str] | None, More(flags="--set", metavar="KEY=VALUE")] = None
    form: Annotated[str | None, among("generalized", "bucketized")] = None
    file_format: Annotated[str | None, among("csv", "parquet"), More(flags="--format")] = None
    out_delimiter: str | None = None
    out_decimal: str | None = None
    bom: bool = False
    rows_per_part: int | None = None

    def over(self, rules: Policy) -> Policy:
        """The policy with the method, form and files of the options in place of its own."""
        from foreknow.methods.registry import key_of

        chosen = {
            "method": None if self.method is None else key_of(self.method),
            "form": self.form,
            "format": self.file_format,
            "rows_per_part": self.rows_per_part,
            "delimiter": self.out_delimiter,
            "decimal": self.out_decimal,
            "bom": self.bom or None,
        }
        changes: Any = {key: choice for key, choice in chosen.items() if choice is not None}
        options = replace(rules.options, **changes)
        of_method = dict(options.settings.get(options.method, {}))
        weights = dict(options.weights)
        # A setting of the method, or the weight of a column.
        for key, setting in map(_setting, self.settings or ()):
            if key.startswith("weights."):
                weights[key.removeprefix("weights.")] = setting
            else:
                of_method[key] = setting
        settings = dict(options.settings)
        if of_method:
            settings[options.method] = of_method
        return replace(rules, options=replace(options, weights=weights, settings=settings))


def _setting(text: str) -> tuple[str, Any]:
    """The key and the value in a text KEY=VALUE, read as in a policy file or else a text."""
    from foreknow.toml import from_toml

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {text!r} is not KEY=VALUE, such as suppression=0.05")
    try:
        return key.strip(), from_toml(f"x = {value.strip()}", float)["x"]
    except ValueError:
        return key.strip(), value.strip()
