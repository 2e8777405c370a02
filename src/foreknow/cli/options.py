"""What the commands share: their options, their two channels, and what they refuse to do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer
from rich.console import Console
from typer.core import TyperCommand

from foreknow.cli.process import address_space
from foreknow.data.reading import Reading, named_part, with_part
from foreknow.errors import InputError, OutputError
from foreknow.numbers import MOST_DIGITS
from foreknow.text import visible

if TYPE_CHECKING:
    from foreknow.policy.policy import Policy
    from foreknow.result import Result


UNSAFE, BAD_INPUT, BUG, UNDECIDED = 1, 2, 3, 4


def known_methods(incomplete: str) -> list[str]:
    """Complete a method; without what it does, which Typer would break into lines."""
    from foreknow.methods.registry import METHODS

    return [key for key, _ in METHODS if key.startswith(incomplete)]


def among(*known: str) -> Callable[[str], list[str]]:
    """Complete what is one of these."""

    def begun(incomplete: str) -> list[str]:
        return [each for each in known if each.startswith(incomplete)]

    return begun


class WithMethods(TyperCommand):
    """A command whose help lists the methods; they are looked up when it is asked for."""

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the help."""
        from foreknow.methods.registry import METHODS, kind_of

        said = {key: (kind_of(key).__doc__ or "").partition("\n")[0] for key, _ in METHODS}
        lines = [f"- **{key}**: {what}" for key, what in said.items()]
        self.epilog = "\n".join(["Methods:\n", *lines])
        super().format_help(ctx, formatter)


PolicyPath = Annotated[Path, typer.Option("--policy", "-p", help="The policy file (TOML).")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Html = Annotated[
    Path | None, typer.Option("--html", help="Write a report, one file that opens offline.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Write what is found as JSON.")]
SigningKey = Annotated[
    Path | None,
    typer.Option("--key", help="Sign with this private Ed25519 key (takes the extra sign)."),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="How much DuckDB may hold, such as 4GB; the rest is spilled."),
]
PublicKey = Annotated[
    Path | None, typer.Option("--key", help="The public Ed25519 key of who must have signed it.")
]
Population = Annotated[
    list[Path] | None,
    typer.Option("--population", help="The table that k_map or delta_presence names."),
]
KeptPriorsPath = Annotated[
    Path | None,
    typer.Option("--priors", help="The owner's priors.json (default: of FOLDER.owner)."),
]
Raw = Annotated[
    Path,
    typer.Argument(
        help="CSV, Parquet (a file or folder), .xlsx, .sqlite, .duckdb, .sav, postgresql://...; "
        "- is stdin."
    ),
]
People = Annotated[
    Path | None,
    typer.Option(
        "--people", help="The exact quasi-identifiers of everybody, if they are generalized."
    ),
]
Queries = Annotated[
    int, typer.Option("--queries", help="Random queries for each number of predicates.")
]
QuerySeed = Annotated[int, typer.Option("--seed", help="Random seed for the queries.")]
Group = Annotated[
    str | None, typer.Option("--group", "-g", help="The column with the group of each row.")
]
QuasiIdentifiers = Annotated[
    str | None,
    typer.Option("--quasi-identifiers", help="Columns that make a group, with commas between."),
]
Sensitive = Annotated[
    str | None, typer.Option("--sensitive", "-s", help="The column of sensitive values.")
]
Knowing = Annotated[
    str | None,
    typer.Option(
        "--knowing",
        help="Columns known of everybody, with commas between; all beside when left out.",
    ),
]
AnyOf = Annotated[
    list[str] | None,
    typer.Option(
        "--any-of",
        help='One secret: any of these values, or of those that begin so, such as "B20*"; '
        "repeatable. Or a label in the policy's hierarchy.",
    ),
]
Person = Annotated[str | None, typer.Option("--person", help="The column that names people.")]
Members = Annotated[
    Path | None,
    typer.Option("--members", help="The owner's members.parquet (default: of FOLDER.owner)."),
]
SemanticsOption = Annotated[
    str | None,
    typer.Option(
        "--semantics",
        help="How many sensitive values a person has: single, set or multiset (default: single).",
        autocompletion=among("single", "set", "multiset"),
    ),
]
SomePolicy = Annotated[
    Path | None, typer.Option("--policy", "-p", help="A policy, to say what the columns are.")
]

Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        help="How people are grouped, see below; the policy's when left out.",
        autocompletion=known_methods,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the method, such as suppression=0.05, or what a quasi-identifier "
        "counts, such as weights.zip=3; may be repeated.",
    ),
]
ReleaseForm = Annotated[
    str | None,
    typer.Option(
        "--form",
        help="generalized: coarser quasi-identifiers, one table; bucketized: exact ones, and a "
        "table of counts (default: the policy's).",
        autocompletion=among("generalized", "bucketized"),
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print what each column was taken for.")]
_PART = typer.Option("--table", help="The table of a database, or the sheet of a workbook.")
_READING: dict[str, Any] = {
    "encoding": typer.Option(
        "--encoding", help="Of a CSV file that is not UTF-8: latin-1, cp1252, utf-16, ..."
    ),
    "delimiter": typer.Option(
        "--delimiter", help='Between the fields of a CSV file: ";", tab, ...'
    ),
    "decimal": typer.Option("--decimal", help="Before decimals: a point or a comma."),
    "date_format": typer.Option("--date-format", help="Of dates, such as dd.mm.yyyy."),
}


class Only(tuple[str, ...]):
    """Which options of a bundle a command has."""


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of each bundle among its parameters, in place of it.

    A bundle is a dataclass whose fields are options, such as `Output`; or a `Reading`, with which
    comes the table of a source that is meant, unless there is an option of that name.
    """
    signature, bundles = inspect.signature(command, eval_str=True), {}
    options: dict[str, tuple[Any, Any]] = {}
    for each in signature.parameters.values():
        kind, *more = get_args(each.annotation) or (each.annotation,)
        if not is_dataclass(kind):
            options[each.name] = each.annotation, each.default
            continue
        own: dict[str, tuple[Any, Any]]
        own = {name: (Annotated[str | None, x], None) for name, x in _READING.items()}
        if kind is not Reading:
            hints = get_type_hints(kind, include_extras=True)
            own = {field.name: (hints[field.name], field.default) for field in fields(kind)}
        named = next((only for only in more if isinstance(only, Only)), tuple(own))
        options |= {name: own[name] for name in named}
        bundles[each.name] = kind, named
    opens = "reading" in bundles and not _has_table(
        annotation for annotation, _ in options.values()
    )
    if opens:
        options["part"] = Annotated[str | None, _PART], None
    source = "table" if "table" in options else next(iter(options))

    @functools.wraps(command)
    def called(**given: Any) -> None:
        if address_space() is None:  # else imports may fail in any place
            from foreknow.engine import spare_pandas

            spare_pandas()
        part = given.pop("part", None)
        if part is not None:
            if given[source] is None:
                raise InputError("--table says which table of a source is meant; name the source")
            given[source] = with_part(given[source], part)
        made = {
            bundle: kind(**{name: given.pop(name) for name in named})
            for bundle, (kind, named) in bundles.items()
        }
        command(**given, **made)

    keyword = inspect.Parameter.KEYWORD_ONLY
    called.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            inspect.Parameter(name, keyword, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]
    )
    called.__annotations__ = {name: annotation for name, (annotation, _) in options.items()}
    return called


def _has_table(annotations: Iterable[Any]) -> bool:
    said = [info for each in annotations for info in getattr(each, "__metadata__", ())]
    # In an annotation the first name of an option is where its default would be.
    return any("--table" in (info.default, *(info.param_decls or ())) for info in said)


def say_readings(opened: Any, verbose: bool = False) -> None:
    """Print what columns look like besides; with `verbose`, what each was taken for."""
    if verbose:
        each = "; ".join(f"{visible(name)}: {said}" for name, said in opened.read_as().items())
        print_plain(f"Read as: {each}.")
    doubts = opened.doubts() if hasattr(opened, "doubts") else {}
    for name, said in doubts.items():
        print_plain(f"Note: {visible(name)} {said}.")


def console() -> Console:
    """Where results go: stdout."""
    return Console()


def is_whole(text: str) -> bool:
    """Whether a text is a whole number from 0, no longer than Python reads."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def progress(message: str, quiet: bool) -> AbstractContextManager[Any]:
    """Show on stderr what takes long, unless asked to be quiet."""
    if quiet:
        return nullcontext()
    from foreknow.report.console import progress as shown

    return shown(message)


def print_plain(text: str, **options: Any) -> None:
    """Print a text in which nothing is markup."""
    console().print(text, markup=False, highlight=False, **options)


@dataclass(frozen=True)
class Output:
    """Where what a command finds goes: a page, a file, and the terminal."""

    html: Html = None
    json: Json = None
    quiet: Quiet = False

    def refuse(self, *inputs: Path | None, csv: Path | None = None) -> None:
        """No output may replace what is read, nor another output, nor lie in what is published."""
        from foreknow.publishing import CERTIFICATE, owners_folder

        targets = [target for target in (self.html, self.json, csv) if target is not None]
        for target in targets:
            place = target.resolve()
            for source in (named_part(path)[0].resolve() for path in inputs if path is not None):
                inside = source.is_dir() and source in place.parents and place.exists()
                if place == source or inside:
                    raise OutputError(f"{str(target)!r} is an input; name another file to write to")
            if (place.parent / CERTIFICATE).is_file():
                raise OutputError(
                    f"{str(target)!r} would lie in a folder that is to be published, and is for "
                    f"you only; write it into {str(owners_folder(target.parent))!r}"
                )
        if self.html is not None and self.html.suffix.lower() not in ("", ".htm", ".html"):
            raise OutputError(
                f"--html writes a web page: name it {str(self.html.with_suffix('.html'))!r}, not "
                f"{self.html.suffix}; a browser opens it, and can print it to a PDF file"
            )
        if csv is not None and csv.suffix.lower() not in ("", ".csv"):
            raise OutputError(
                f"--exposed writes a CSV file: name it {str(csv.with_suffix('.csv'))!r}, not "
                f"{csv.suffix}"
            )
        if len({target.resolve() for target in targets}) < len(targets):
            named = "--html and --json" if csv is None else "--html, --json and --exposed: two"
            raise OutputError(f"{named} name the same file")

    def progress(self, message: str) -> AbstractContextManager[Any]:
        """Show on stderr what takes long, unless asked to be quiet."""
        return progress(message, self.quiet)

    def show(self, found: Result, shown: Any = None) -> None:
        """Write the files of a result that are asked for, then print it, or what is shown of it."""
        if self.html is not None:
            with self.progress("Writing the page"):
                found.to_html(self.html)
        if self.json is not None:
            found.to_json(self.json)
        if not self.quiet:
            console().print(found if shown is None else shown)


TERMINAL = Output()


def chosen(rules: Policy, settings: list[str] | None, **given: str | int | None) -> Policy:
    """The policy with what the command line says of method, form and files."""
    from foreknow.methods.registry import key_of

    said: dict[str, Any] = {key: x for key, x in given.items() if x is not None}
    if "method" in said:
        said["method"] = key_of(said["method"])
    options = replace(rules.options, **said)
    own = dict(options.settings.get(options.method, {}))
    given_here = dict(_setting(text) for text in settings or ())
    weights = {key: x for key, x in given_here.items() if key.startswith("weights.")}
    if weights:
        said = {key.removeprefix("weights."): x for key, x in weights.items()}
        options = replace(options, weights={**options.weights, **said})
    own.update({key: x for key, x in given_here.items() if key not in weights})
    if own:
        options = replace(options, settings={**options.settings, options.method: own})
    return replace(rules, options=options)


def _setting(text: str) -> tuple[str, Any]:
    """Read KEY=VALUE; the value as in a policy file, or as a plain text."""
    from foreknow.documents import from_toml

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {text!r} is not KEY=VALUE, such as suppression=0.05")
    try:
        return key.strip(), from_toml(f"x = {value.strip()}", float)["x"]
    except ValueError:
        return key.strip(), value.strip()
