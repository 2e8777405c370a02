"""Options of commands, made from signatures and docstrings, and the files of results."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from itertools import pairwise
from os.path import exists, isdir, isfile  # a name that is too long is that of no file
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import click

from foreknow.cli.process import address_space
from foreknow.cli.sources import Source
from foreknow.data.reading import Reading, named_part, with_part
from foreknow.errors import OutputError
from foreknow.names import FLAGS, OPTIONS, own_name
from foreknow_judge.errors import InputError
from foreknow_judge.file_names import CERTIFICATE
from foreknow_judge.numbers import MOST_DIGITS
from foreknow_judge.printed import visible

if TYPE_CHECKING:
    from rich.console import Console

    from foreknow.policy.policy import Policy
    from foreknow.result import Result


POLICY = "policy.toml"  # that lies in the folder is taken where none is named
_STDOUT = Path("-")
UNSAFE, BAD_INPUT, BUG, UNDECIDED = 1, 2, 3, 4

_MOST_NUMBERS = 10_000  # that a range such as 0-19 may stand for
# Options that have a letter, too: their first.
_LETTERS = "about confidence group knowledge out policy quiet sensitive threshold value"
# Options that hold lists, with commas between; and options that name the source in other tools.
_LISTS, _OF_LISTS = ("quasi_identifiers", "by", "methods"), "with commas between"
_OF_SOURCE = "-i", "--input", "--release", "--file", "--data", "--dataset", "--source"
_PLAIN: dict[str, type] = {"bool": bool, "int": int, "float": float}
_PLAIN |= dict.fromkeys(["str", "Number", "Label", "Sequence[str]", "Sequence[Number]"], str)
_PLAIN |= dict.fromkeys(["Sequence[int]", "Iterable[int]"], str)
_REQUIRED = inspect.Parameter.empty

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


class Command(click.Command):
    """A command of a function, which may return an exit code.

    Its parameters before the star are arguments, those after it options. A bundle, which is a
    dataclass, has an option for each field, and `ForwardedOptions` one for each other parameter of
    a plain type of the public function that this is a command `of`. What they mean is said by a
    text in the annotation, or by the docstring of the command, of the bundle or of the public
    function. Nothing that is read may be written over.

    What it takes is worked out when somebody asks: of all commands, one is called.
    """

    def __init__(self, body: Callable[..., int | None], public: str = "") -> None:
        super().__init__(body.__name__)
        self._body = body
        self._about = Source(f"{body.__module__}:{body.__name__}")
        self._public = Source(public) if public else self._about
        del self.callback, self.params, self.help

    def __getattr__(self, name: str) -> Any:
        if name not in ("callback", "params", "help", "_options", "_bundles"):
            raise AttributeError(name)
        self._options, self._bundles = self._parameters_and_bundles()
        self.callback = self._call
        self.params = sorted(self._options.values(), key=_place)
        self.help = self._about.about or self._public.about
        return vars(self)[name]

    def _parameters_and_bundles(
        self,
    ) -> tuple[dict[str, click.Parameter], dict[str, tuple[Any, list[str]]]]:
        """The options of a command by name; and its bundles, each with the names of its options."""
        options: dict[str, click.Parameter] = {}
        bundles: dict[str, tuple[Any, list[str]]] = {}
        for parameter in inspect.signature(self._body, eval_str=True).parameters.values():
            name, annotation = parameter.name, parameter.annotation
            kind, *parts = get_args(annotation) or (annotation,)
            words = {**self._public.help, **_words_of(kind), **self._about.help}
            if not (kind is ForwardedOptions or is_dataclass(kind)):
                is_option = parameter.kind is parameter.KEYWORD_ONLY
                options[name] = _parameter(
                    name, annotation, parameter.default, words, is_option=is_option
                )
                continue
            only_parts = [part for part in parts if isinstance(part, Only)]
            only = only_parts[0] if only_parts else None
            forwarded = kind is ForwardedOptions
            fields = _plain(self._public, only) if forwarded else _fields(kind, only)
            if isinstance(options.get("table"), click.Option):
                fields.pop("part", None)
            names = [option for option in fields if option not in options]
            for option in names:
                annotation, default = fields[option]
                options[option] = _parameter(option, annotation, default, words)
            bundles[name] = kind, names
        return options, bundles

    def _call(self, **values: Any) -> None:
        """Call the function with what the command line gives."""
        if address_space() is None:  # else imports may fail in any place
            from foreknow_judge.no_pandas import spare_pandas

            spare_pandas()
        for name, value in values.items():
            if isinstance(value, tuple):
                values[name] = list(value) or None
        source = next(iter(self._options), "")
        if "policy" in values and values["policy"] is None:
            values["policy"] = _policy_here(self._bundles.values(), values, source)
        if values.get("json") == _STDOUT:
            values["quiet"] = True
        if (part := values.get("part")) is not None:
            _name_part(values, "table" if "table" in self._options else source, part)
        output_names = ("out", *Output.__annotations__)
        inputs_read = [value for name, value in values.items() if name not in output_names]
        bundles: dict[str, Any] = {}
        for bundle, (kind, names) in self._bundles.items():
            fields_of_bundle = {name: values.pop(name) for name in names}
            bundles[bundle] = kind(**fields_of_bundle)
        for name, value in bundles.get("forwarded", {}).items():
            bundles["forwarded"][name] = _read(name, value, self._public.options[name][0])
        if "output" in bundles:
            inputs: list[Any] = []
            for value in inputs_read:
                inputs += value if isinstance(value, list) else [value]
            paths = [value for value in inputs if isinstance(value, Path)]
            bundles["output"].refuse(*paths)
        if code := self._body(**values, **bundles):
            raise click.exceptions.Exit(code)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read options by the names that they have elsewhere, too."""
        if args == ["help"]:
            args = ["--help"]
        options = [option for option in self.params if isinstance(option, click.Option)]
        names = [str(option.name) for option in options]
        flags = {flag for option in options for flag in (*option.opts, *option.secondary_opts)}
        words = _with_policy(_with_source(_in_our_names(args, names, flags), flags), names)
        if not ctx.resilient_parsing:
            words = self._each_option_once(ctx, words)
            with suppress(click.UsageError):  # which is said below
                words = self._with_out(ctx, words)
        n_files, n_folders = sum(map(isfile, words)), sum(map(isdir, words))
        try:
            return super().parse_args(ctx, words)
        except click.MissingParameter as error:
            if error.param is None or error.param.name != "out":
                raise
            message = (
                f"{error.format_message().rstrip('.')}; name what is to be written: --out NAME"
            )
            raise click.UsageError(message, error.ctx) from None
        except click.UsageError as error:
            option = getattr(error, "option_name", None)
            letters = [word for word in ("-q", "-k") if word in args]
            option = option or (letters[0] if letters else None)
            if option is None and "extra argument" in error.format_message():
                option = "extra" if "quasi_identifiers" in names else option
                option = "files" if n_files > 1 else option
                option = "releases" if n_folders > 1 else option
                option = option if any(isinstance(p, Argument) for p in self.params) else "nothing"
            advice = OPTIONS.get(str(option)) or _in_a_policy(str(option))
            if advice is None:
                raise
            message = f"{error.format_message().rstrip('.')}; {advice}"
            raise click.UsageError(message, error.ctx) from None

    def _each_option_once(self, ctx: click.Context, words: list[str]) -> list[str]:
        """The words, with a list that is named in several options as one.

        Of another option that is given twice, only the last value would hold: `UsageError`.
        """
        order: list[click.Parameter] = []
        with suppress(click.UsageError):  # which is said where the words are read
            _, _, order = self.make_parser(ctx).parse_args([*words])
        for option, times in Counter(order).items():
            if times == 1 or not isinstance(option, click.Option):
                continue
            if option.multiple or option.is_flag or option.count:
                continue
            if option.name not in _LISTS and _OF_LISTS not in (option.help or ""):
                message = f"{option.opts[0]} is given {times} times, and has one value: keep one"
                raise click.UsageError(message, ctx)
            words = _as_one(words, option)
        return words

    def _with_out(self, ctx: click.Context, words: list[str]) -> list[str]:
        """The words, with --out before a new name that stands beside the source."""
        if "out" not in self._options:
            return words
        values, extra, _ = self.make_parser(ctx).parse_args([*words])
        name = extra[0] if len(extra) == 1 else ""
        if not name or values.get("out") is not None or exists(name):
            return words
        place = words.index(name)
        source_place = place - 3 if place > 2 and words[place - 2] == "--policy" else place - 1
        arguments = [str(values[a.name]) for a in self.params if isinstance(a, Argument)]
        if source_place < 0 or words[source_place] not in arguments[:1]:
            return words
        return [*words[:place], "--out", *words[place:]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help on arguments and options."""
        arguments = [argument for argument in self.params if isinstance(argument, Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(
                    [(argument.make_metavar(ctx), argument.text) for argument in arguments]
                )
        super().format_options(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each method does, after commands that take one."""
        if not {"method", "methods"} & {option.name for option in self.params}:
            return
        from foreknow.methods.registry import METHODS, OURS

        with formatter.section("Methods"):
            ours = [(f"{key}:", Source(place).summary) for key, place in OURS]
            foreign = METHODS[len(ours) :]
            theirs = [(f"{key}:", f"of another package ({package})") for key, package in foreign]
            formatter.write_dl([*ours, *theirs])


class Argument(click.Argument):
    """An argument with a description."""

    def __init__(self, name: str, text: str, **settings: Any) -> None:
        super().__init__([name], **settings)
        self.text = text


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


# ---- commands from signatures ------------------------------------------------------------------


def command(public: str = "") -> Callable[[Callable[..., int | None]], Command]:
    """Make a command of a function; see `Command`."""
    return lambda body: Command(body, public)


def _name_part(values: dict[str, Any], source: str, part: str) -> None:
    """Say which table of a source is meant."""
    paths = values[source]
    if paths is None:
        raise InputError("--table says which table of a source is meant; name the source")
    is_list = isinstance(paths, list)
    values[source] = (
        [with_part(path, part) for path in paths] if is_list else with_part(paths, part)
    )


def _in_our_names(args: list[str], names: list[str], flags: Container[str]) -> list[str]:
    """The words of a command line; names of options in other tools become ours."""
    renamed = [*args]
    for place, word in enumerate(args):
        if word == "--":
            break
        if word == "-q" and "quasi_identifiers" in names and _are_columns(args, place + 1):
            renamed[place] = "--quasi-identifiers"
        name, equals, value = word.partition("=")
        ours = own_name(name[2:].replace("-", "_"), names) if name[:2] == "--" else None
        if name[:2] == "--" and name not in flags and FLAGS.get(name[2:]) in flags:
            renamed[place] = f"{FLAGS[name[2:]]}{equals}{value}"
        if ours is not None:
            renamed[place] = f"--{ours.replace('_', '-')}{equals}{value}"
    if "json" in names and "file_format" not in names:
        for words in (["--format", "json"], ["--format=json"], ["--output-format", "json"]):
            for place in range(len(renamed) - len(words) + 1):
                if renamed[place : place + len(words)] == words:
                    renamed[place : place + len(words)] = ["--json=-"]
    return renamed


def _with_source(words: list[str], flags: Container[str]) -> list[str]:
    """The words of a command line, without an option before the name of the source."""
    for place, (word, name) in enumerate(pairwise(words)):
        if word in _OF_SOURCE and word not in flags and name[:1] != "-":
            return [*words[:place], *words[place + 1 :]]
        if word == "--table" and isfile(name) and not any(map(_is_source, words[:place])):
            return [*words[:place], *words[place + 1 :]]
    return words


def _is_source(word: str) -> bool:
    return word[:1] != "-" and exists(word)


def _as_one(words: list[str], option: click.Option) -> list[str]:
    """The words of a command line, with all values of an option in one."""
    values, other_words, remaining = list[str](), list[str](), iter(words)
    for word in remaining:
        flag, equals, value = word.partition("=")
        if word == "--":
            other_words += [word, *remaining]
        elif flag in option.opts:
            values.append(value if equals else next(remaining))
        else:
            other_words.append(word)
    return [option.opts[0], ",".join(values), *other_words]


def _with_policy(words: list[str], names: list[str]) -> list[str]:
    """The words of a command line; --policy is put before a policy file without it."""
    given = [word for word in words if word == "-p" or word.startswith("--policy")]
    if "policy" not in names or given or len(words) < 2:
        return words
    for place, (before, word) in enumerate(pairwise(["", *words])):
        if word.lower().endswith(".toml") and before[:1] != "-" and isfile(word):
            return [*words[:place], "--policy", *words[place:]]
    return words


def _in_a_policy(option: str) -> str | None:
    """A hint for an option that is a criterion of policy files only."""
    from foreknow.criteria.registry import CRITERIA  # after a mistake only

    key = option.removeprefix("--").replace("-", "_")
    if key not in CRITERIA:
        return None
    return f"a policy file says it: {key} = ... below [[require]]; then --policy FILE"


def _are_columns(args: list[str], place: int) -> bool:
    """True if a word names columns: it is no option or file, and comes after the table."""
    word = args[place] if place < len(args) else "-"
    has_source = any(before[:1] != "-" for before in args[: place - 1])
    return has_source and word[:1] != "-" and not Path(word).exists()


def _policy_here(
    bundles: Iterable[tuple[Any, list[str]]], values: dict[str, Any], source: str
) -> Path | None:
    """The policy.toml of the folder, if a command needs a policy and nothing else names columns.

    A command that can go by the certificate of a release does, whatever policy lies here.
    """
    kinds = [kind for kind, _ in bundles]
    sources = values[source] if isinstance(values[source], list) else [values[source]]
    places = [place for place in (*sources, values.get("release")) if isinstance(place, Path)]
    certified = [place for place in places if (place / CERTIFICATE).is_file()]
    if certified and any(getattr(kind, "by_certificate", False) for kind in kinds):
        return None
    needed = any(getattr(kind, "needs_policy", False) for kind in kinds)
    if isinstance(values[source], Path) and not values[source].is_dir():  # it has no certificate
        takes = any(getattr(kind, "takes_policy", False) for kind in kinds)
        needed = needed or (takes and values.get("group") is None)
    has_columns = values.get("quasi_identifiers") or values.get("sensitive")
    if has_columns or not needed or not Path(POLICY).is_file():
        return None
    names = [f", and not by the certificate of {visible(str(place))}" for place in certified[:1]]
    print(f"By the policy of this folder, {POLICY}{''.join(names)}.", file=sys.stderr, flush=True)
    return Path(POLICY)


def _place(parameter: click.Parameter) -> tuple[bool, bool]:
    """The sort key of an option in the help: required ones first, those on reading files last."""
    return not parameter.required, parameter.name in Files.__annotations__


def _fields(bundle: Any, only: Only | None) -> dict[str, tuple[Any, Any]]:
    """Type and default of each option of a bundle."""
    hints = get_type_hints(bundle, include_extras=True)
    options: dict[str, tuple[Any, Any]] = {}
    for option in fields(bundle):
        if only is None or option.name in (*only, "policy", *Files.__annotations__):
            default = _REQUIRED if option.default is MISSING else option.default
            options[option.name] = hints[option.name], default
    return options


def _words_of(bundle: Any) -> dict[str, str]:
    words: dict[str, str] = {}
    for kind in reversed(getattr(bundle, "__mro__", ())):
        place = f"{kind.__module__}:{kind.__qualname__}"
        words |= Source(place).help if is_dataclass(kind) else {}
    return words


def _plain(public: Source, only: Only | None) -> dict[str, tuple[Any, Any]]:
    """Type and default of each option for a parameter of plain type of a public function."""
    options: dict[str, tuple[Any, Any]] = {}
    for name, (annotation, default) in public.options.items():
        kind: Any = _PLAIN.get(annotation.partition(" | ")[0])
        if "Path" in annotation:
            kind = list[Path] if "Sequence" in annotation else Path
        if kind is None or name in ("name", "policy", "reading") or name not in (only or [name]):
            continue
        if isinstance(default, tuple):
            default = ",".join(map(str, default))
        elif kind is str and default not in (None, _REQUIRED):
            default = str(default)
        options[name] = kind if default is not None else kind | None, default
    return options


def _read(name: str, text: Any, annotation: str) -> Any:
    """An option's value, as the public function takes it."""
    if isinstance(text, str) and annotation.startswith(("Sequence[int]", "Iterable[int]")):
        return _whole_numbers(name, text)
    return listed(text) if isinstance(text, str) and annotation.startswith("Sequence") else text


def _parameter(
    name: str, annotation: Any, default: Any, words: dict[str, str], *, is_option: bool = True
) -> click.Parameter:
    """An option, or an argument, which has no name."""
    kind, *parts = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if NoneType in get_args(kind):
        kind = get_args(kind)[0]
    is_list = get_origin(kind) is list
    (kind,) = get_args(kind) if is_list else (kind,)
    settings: dict[str, Any] = {"type": click.Path(path_type=Path) if kind is Path else kind}
    settings["required"] = default is _REQUIRED
    if default is not _REQUIRED:
        settings["default"] = default
    texts = [part for part in parts if isinstance(part, str)]
    text = texts[0] if texts else words.get(name, "")
    for part in parts:
        if isinstance(part, More):
            settings |= part
    if not is_option:
        return Argument(name, text, nargs=-1 if is_list else 1, **settings)
    flags = settings.pop("flags", f"--{name.replace('_', '-')}")
    if default is True:
        flags = f"{flags}/--no{flags[1:]}"
    elif kind is bool:
        settings["is_flag"] = True
    letter = [f"-{name[0]}"] if name in _LETTERS.split() else []
    declarations = [name, *flags.split(), *letter]
    return click.Option(declarations, help=text, multiple=is_list, show_default=True, **settings)


def listed(text: str) -> list[str]:
    """The parts between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def is_whole(text: str) -> bool:
    """True if a text is a whole number from 0, no longer than Python reads."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def _whole_numbers(name: str, text: str) -> list[int]:
    """Read numbers such as 7, 0-19 or 1,5,8-10."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = [first, last if dash else first]
        low, high = map(int, ends) if all(map(is_whole, ends)) else (0, -1)
        if not low <= high < low + _MOST_NUMBERS:
            raise InputError(
                f"--{name} takes whole numbers such as 7, 0-19 or 1,5,8-10, at most "
                f"{_MOST_NUMBERS:,} of them, not {part.strip()!r}"
            )
        numbers += range(low, high + 1)
    return numbers


# ---- bundles -----------------------------------------------------------------------------------


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
        """Refuse an output that replaces an input or another output, or lies in a release."""
        from foreknow_judge.file_names import CERTIFICATE, NEWCOMERS, owners_folder
        from foreknow_judge.folder import FOR_THE_OWNER

        files = (self.html, None if self.json == _STDOUT else self.json, self.exposed)
        targets = [path for path in files if path is not None]
        owned = {*FOR_THE_OWNER, *NEWCOMERS}
        for target in targets:
            place = target.resolve()
            for source in (named_part(path)[0].resolve() for path in inputs):
                inside = source.is_dir() and source in place.parents and place.exists()
                of_owner = place.parent == owners_folder(source) and place.name in owned
                if place == source or inside or of_owner:
                    raise OutputError(f"{str(target)!r} is an input; name another file to write to")
            if (place.parent / CERTIFICATE).is_file():
                raise OutputError(
                    f"{str(target)!r} would lie in a folder that is to be published, and is for "
                    f"you only; write it into {str(owners_folder(target.parent))!r}"
                )
        for option, path, what, ends in (
            ("--html", self.html, "web page", [".html", ".htm"]),
            ("--exposed", self.exposed, "CSV file", [".csv"]),
        ):
            if path is not None and path.suffix.lower() not in ("", *ends):
                why = "; a browser opens it, and can print it to a PDF file"
                raise OutputError(
                    f"{option} writes a {what}: name it {str(path.with_suffix(ends[0]))!r}, not "
                    f"{path.suffix}{why if option == '--html' else ''}"
                )
        if len({target.resolve() for target in targets}) < len(targets):
            options = "--html and --json"
            options = options if self.exposed is None else "--html, --json and --exposed: two"
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

        if self.json == _STDOUT:
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
        """The policy with the method, form and files of the options."""
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
    """Read KEY=VALUE; the value as in a policy file, or as a plain text."""
    from foreknow.toml import from_toml

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"--set {text!r} is not KEY=VALUE, such as suppression=0.05")
    try:
        return key.strip(), from_toml(f"x = {value.strip()}", float)["x"]
    except ValueError:
        return key.strip(), value.strip()


# ---- the terminal ------------------------------------------------------------------------------


def say_readings(source: Any, verbose: bool = False) -> None:
    """Print doubts about how columns were read; with `verbose`, how each was read."""
    if verbose:
        readings = source.read_as().items()
        columns = [f"{visible(name)}: {reading}" for name, reading in readings]
        print_plain(f"Read as: {'; '.join(columns)}.")
    doubts = source.doubts() if hasattr(source, "doubts") else {}
    for name, reading in doubts.items():
        print_plain(f"Note: {visible(name)} {reading}.")


def console() -> Console:
    """The console on stdout, for results."""
    from rich.console import Console

    return Console(emoji=False)  # a name such as :key: is a name


def progress(message: str, quiet: bool) -> AbstractContextManager[Any]:
    """Show on stderr what takes long, unless asked to be quiet."""
    if quiet:
        return nullcontext()
    from foreknow.report.console import progress as shown

    return shown(message)


def print_plain(text: str, **options: Any) -> None:
    """Print a text in which nothing is markup."""
    console().print(text, markup=False, highlight=False, **options)
