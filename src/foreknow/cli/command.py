"""Commands, made from signatures and docstrings of functions."""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from os.path import exists, isdir, isfile  # a name that is too long is that of no file
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click

from foreknow.cli.options import REQUIRED, STDOUT, Files, ForwardedOptions, More, Only, Output
from foreknow.cli.process import address_space
from foreknow.cli.sources import Source
from foreknow.cli.typed_words import (
    about_option,
    as_amounts,
    as_one,
    in_full,
    in_our_names,
    read_value,
    to_page,
    with_commas,
    with_policy,
    with_slashes,
    with_source,
)
from foreknow.data.columns.reading_rules import with_part
from foreknow_judge.errors import InputError
from foreknow_judge.files.file_names import CERTIFICATE
from foreknow_judge.files.printable import visible

POLICY = "policy.toml"  # that lies in the folder is taken where none is named
# Options that have a letter, too: their first.
_LETTERS = "about confidence group knowledge out policy quiet sensitive threshold value"
# Options that hold lists, with commas between.
_LISTS, _OF_LISTS = ("quasi_identifiers", "by", "methods"), "with commas between"
_PLAIN: dict[str, type] = {"bool": bool, "int": int, "float": float}
_PLAIN |= dict.fromkeys(["str", "Number", "Label", "Sequence[str]", "Sequence[Number]"], str)
_PLAIN |= dict.fromkeys(["Sequence[int]", "Iterable[int]"], str)


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
        self.params = sorted(self._options.values(), key=_order_in_help)
        self.help = self._about.about or self._public.about
        return vars(self)[name]

    def _parameters_and_bundles(
        self,
    ) -> tuple[dict[str, click.Parameter], dict[str, tuple[Any, list[str]]]]:
        """The options and arguments of a command by name, and its bundles.

        A bundle is a parameter of the command's function that holds several options: its class, and
        the names of its options.
        """
        options: dict[str, click.Parameter] = {}
        bundles: dict[str, tuple[Any, list[str]]] = {}
        # Plain parameters become an option or argument each; bundles become one for each field.
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
            only = next((part for part in parts if isinstance(part, Only)), None)
            if kind is ForwardedOptions:
                fields = _options_of_function(self._public, only)
            else:
                fields = _options_of_bundle(kind, only)
            # --table is taken: it then does not name the table within a source.
            if isinstance(options.get("table"), click.Option):
                fields.pop("part", None)
            # An option that another bundle has already is not made twice.
            names = [option for option in fields if option not in options]
            for option in names:
                annotation, default = fields[option]
                options[option] = _parameter(option, annotation, default, words)
            bundles[name] = kind, names
        return options, bundles

    def _call(self, **values: Any) -> None:
        """Call the command's function with the values of the command line.

        A policy of the folder is taken if needed, bundles are put together, and outputs must not
        replace inputs.
        """
        if address_space() is None:  # else imports may fail in any place
            from foreknow_judge.files.pandas_guard import spare_pandas

            spare_pandas()
        # Click gives several values as a tuple; none at all is None.
        for name, value in values.items():
            if isinstance(value, tuple):
                values[name] = list(value) or None
        source = next(iter(self._options), "")
        if "policy" in values and values["policy"] is None:
            values["policy"] = _policy_of_folder(self._bundles.values(), values, source)
        if values.get("json") == STDOUT:
            values["quiet"] = True
        if (part := values.get("part")) is not None:
            _name_part(values, "table" if "table" in self._options else source, part)
        # Everything but outputs may be a path that is read.
        output_names = ("out", *Output.__annotations__)
        inputs_read = [value for name, value in values.items() if name not in output_names]
        bundles: dict[str, Any] = {}
        for bundle, (kind, names) in self._bundles.items():
            fields_of_bundle = {name: values.pop(name) for name in names}
            bundles[bundle] = kind(**fields_of_bundle)
        for name, value in bundles.get("forwarded", {}).items():
            bundles["forwarded"][name] = read_value(name, value, self._public.options[name][0])
        if "output" in bundles:
            bundles["output"].refuse(*_paths_among(inputs_read))
        if code := self._body(**values, **bundles):
            raise click.exceptions.Exit(code)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read options, also by the names that they have elsewhere; errors end with advice."""
        if args == ["help"]:
            args = ["--help"]
        options = [option for option in self.params if isinstance(option, click.Option)]
        names = [str(option.name) for option in options]
        flags = {flag for option in options for flag in (*option.opts, *option.secondary_opts)}
        # Words as other tools write them become ours, step by step; then Click reads them.
        args = list(map(with_slashes, args))
        words = in_full(in_our_names(args, names, flags), flags, _long_flags(options))
        words = with_policy(with_source(to_page(words, flags), flags), names)
        words = with_commas(words, self._list_flags(options))
        if not ctx.resilient_parsing:
            with suppress(StopIteration):  # the value of an option is missing, which is said below
                words = as_amounts(words) if "amounts" in names else words
            words = self._each_option_once(ctx, words)
            with suppress(click.UsageError):  # which is said below
                words = self._with_out(ctx, words)
        try:
            return super().parse_args(ctx, [*words])
        except click.MissingParameter as error:
            if error.param is None or error.param.name != "out":
                raise
            message = (
                f"{error.format_message().rstrip('.')}; name what is to be written: --out NAME"
            )
            raise click.UsageError(message, error.ctx) from None
        except click.UsageError as error:
            advice = about_option(str(self._key_of_advice(error, args, words, names)))
            if advice is None and isinstance(error, click.NoSuchOption) and not error.possibilities:
                advice = f"it has {', '.join(sorted(flag for flag in flags if flag[:2] == '--'))}"
            if advice is None:
                raise
            # The nearest flag by its letters would mislead, so it is left out.
            is_unknown = isinstance(error, click.NoSuchOption)
            said = error.message if is_unknown else error.format_message()
            message = f"{said.rstrip('.')}; {advice}"
            raise click.UsageError(message, error.ctx) from None

    def _key_of_advice(
        self, error: click.UsageError, args: list[str], words: list[str], names: list[str]
    ) -> str | None:
        """The key of the advice for an error: the option that it is about, or a kind of mistake.

        `args` is the command line, `words` the same in our names, and `names` are those of options.
        None if there is no special advice.
        """
        option: str | None = getattr(error, "option_name", None)
        if option is None:
            option = next((letter for letter in ("-q", "-k") if letter in args), None)
        if option is not None or "extra argument" not in error.format_message():
            return option
        if not any(isinstance(parameter, Argument) for parameter in self.params):
            return "nothing"
        n_files, n_folders = sum(map(isfile, words)), sum(map(isdir, words))
        if n_folders and n_files + n_folders > 1:
            return "releases"
        if n_files > 1:
            return "files"
        return "extra" if "quasi_identifiers" in names else None

    def _each_option_once(self, ctx: click.Context, words: list[str]) -> list[str]:
        """The words of the command line, with a list that several options name as one.

        Raises `UsageError` if another option is given twice, since only the last value would hold.
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
            words = as_one(words, option)
        return words

    @staticmethod
    def _list_flags(options: Iterable[click.Option]) -> list[str]:
        """The flags of options that take several columns."""
        flags: list[str] = []
        for option in options:
            if option.name in _LISTS or _OF_LISTS in (option.help or ""):
                flags += option.opts
        return flags

    def _with_out(self, ctx: click.Context, words: list[str]) -> list[str]:
        """The words, with --out before a new name that stands beside the source.

        Unchanged if --out is given, or if it is not clear that the name is meant so.
        """
        if "out" not in self._options:
            return words
        values, extra, _ = self.make_parser(ctx).parse_args([*words])
        name = extra[0] if len(extra) == 1 else ""
        if not name or values.get("out") is not None or exists(name):
            return words
        # The name must follow the source, or the policy that follows the source.
        position = words.index(name)
        source_place = (
            position - 3 if position > 2 and words[position - 2] == "--policy" else position - 1
        )
        arguments = [parameter for parameter in self.params if isinstance(parameter, Argument)]
        sources = [str(values[argument.name]) for argument in arguments[:1]]
        if source_place < 0 or words[source_place] not in sources:
            return words
        return [*words[:position], "--out", *words[position:]]

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


def command(public: str = "") -> Callable[[Callable[..., int | None]], Command]:
    """Make a command of a function; see `Command`."""
    return lambda body: Command(body, public)


def _name_part(values: dict[str, Any], source: str, part: str) -> None:
    """Say which table of a source is meant, in the path of the source.

    `values` are those of the command line, in which the source is replaced.
    """
    paths = values[source]
    if paths is None:
        raise InputError("--table says which table of a source is meant; name the source")
    is_list = isinstance(paths, list)
    values[source] = (
        [with_part(path, part) for path in paths] if is_list else with_part(paths, part)
    )


def _paths_among(inputs: Iterable[Any]) -> list[Path]:
    """The paths among some inputs, each of which may be a list."""
    paths: list[Path] = []
    for value in inputs:
        listed = value if isinstance(value, list) else [value]
        paths += [path for path in listed if isinstance(path, Path)]
    return paths


def _policy_of_folder(
    bundles: Iterable[tuple[Any, list[str]]], values: dict[str, Any], source: str
) -> Path | None:
    """The policy.toml of the folder, if a command needs a policy and nothing else names columns.

    A command that can go by the certificate of a release does, whatever policy lies here. `values`
    are those of the command line; `source` is the name of its first argument. None if no policy is
    taken.
    """
    kinds = [kind for kind, _ in bundles]
    paths = _paths_among([values[source], values.get("release")])
    certified = [path for path in paths if (path / CERTIFICATE).is_file()]
    if certified and any(getattr(kind, "by_certificate", False) for kind in kinds):
        return None
    needed = any(getattr(kind, "needs_policy", False) for kind in kinds)
    # A file that is no folder has no certificate either.
    if isinstance(values[source], Path) and not values[source].is_dir():  # it has no certificate
        takes = any(getattr(kind, "takes_policy", False) for kind in kinds)
        needed = needed or (takes and values.get("group") is None)
    has_columns = values.get("quasi_identifiers") or values.get("sensitive")
    if has_columns or not needed or not Path(POLICY).is_file():
        return None
    names = [f", and not by the certificate of {visible(str(path))}" for path in certified[:1]]
    print(f"By the policy of this folder, {POLICY}{''.join(names)}.", file=sys.stderr, flush=True)
    return Path(POLICY)


def _long_flags(options: Iterable[click.Option]) -> list[str]:
    """The flags of options that have a word."""
    flags: list[str] = []
    for option in options:
        for flag in (*option.opts, *option.secondary_opts):
            if flag[:2] == "--":
                flags.append(flag)
    return flags


def _order_in_help(parameter: click.Parameter) -> tuple[bool, bool]:
    """The sort key of an option in the help: required ones first, those on reading files last."""
    return not parameter.required, parameter.name in Files.__annotations__


def _options_of_bundle(bundle: Any, only: Only | None) -> dict[str, tuple[Any, Any]]:
    """The type and the default of each option of a bundle.

    `only`, if given, lists the fields that become options, beside those on the policy and files.
    """
    hints = get_type_hints(bundle, include_extras=True)
    options: dict[str, tuple[Any, Any]] = {}
    for option in fields(bundle):
        if only is None or option.name in (*only, "policy", *Files.__annotations__):
            default = REQUIRED if option.default is MISSING else option.default
            options[option.name] = hints[option.name], default
    return options


def _words_of(bundle: Any) -> dict[str, str]:
    words: dict[str, str] = {}
    for kind in reversed(getattr(bundle, "__mro__", ())):
        address = f"{kind.__module__}:{kind.__qualname__}"
        words |= Source(address).help if is_dataclass(kind) else {}
    return words


def _options_of_function(public: Source, only: Only | None) -> dict[str, tuple[Any, Any]]:
    """The type and the default of each option that a public function's plain parameters become.

    `only`, if given, lists the parameters that become options.
    """
    options: dict[str, tuple[Any, Any]] = {}
    for name, (annotation, default) in public.options.items():
        kind: Any = _PLAIN.get(annotation.partition(" | ")[0])
        if "Path" in annotation:
            kind = list[Path] if "Sequence" in annotation else Path
        if kind is None or name in ("name", "policy", "reading") or name not in (only or [name]):
            continue
        # Defaults are shown in the help, where lists have commas.
        if isinstance(default, tuple):
            default = ",".join(map(str, default))
        elif kind is str and default not in (None, REQUIRED):
            default = str(default)
        options[name] = kind if default is not None else kind | None, default
    return options


def _parameter(
    name: str, annotation: Any, default: Any, words: dict[str, str], *, is_option: bool = True
) -> click.Parameter:
    """The option or argument of a command line for a parameter of a function.

    Parameters
    ----------
    name, annotation, default
        Those of the parameter; `REQUIRED` is no default.
    words : dict of str to str
        The description of each parameter, in the docstring.
    is_option : bool
        Whether it is an option; an argument has no name.

    The annotation says what is read, if several may be given, and which further settings Click
    gets.
    """
    # Annotated[kind, text, More(...)]; "kind | None" means that it may be left out.
    kind, *parts = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    if NoneType in get_args(kind):
        kind = get_args(kind)[0]
    is_list = get_origin(kind) is list
    if is_list:
        (kind,) = get_args(kind)
    settings: dict[str, Any] = {"type": {Path: click.Path(path_type=Path)}.get(kind, kind)}
    settings["required"] = default is REQUIRED
    if default is not REQUIRED:
        settings["default"] = default
    # A text in the annotation comes before the docstring.
    texts = [part for part in parts if isinstance(part, str)]
    text = texts[0] if texts else words.get(name, "")
    for part in parts:
        if isinstance(part, More):
            settings |= part
    if not is_option:
        return Argument(name, text, nargs=-1 if is_list else 1, **settings)
    flags = settings.pop("flags", f"--{name.replace('_', '-')}")
    # What is true by default has a flag to turn it off.
    if default is True:
        flags = f"{flags}/--no{flags[1:]}"
    elif kind is bool:
        settings["is_flag"] = True
    letter = [f"-{name[0]}"] if name in _LETTERS.split() else []
    declarations = [name, *flags.split(), *letter]
    return click.Option(declarations, help=text, multiple=is_list, show_default=True, **settings)
