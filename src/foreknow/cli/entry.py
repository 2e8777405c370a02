"""The entry of the command line: its commands, its exit codes, and errors in one line."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import MutableMapping
from os.path import exists, isfile
from pathlib import Path
from typing import Any

import click
from click.shell_completion import shell_complete

from foreknow.cli.completion import COMPLETE, SHELL, install, script
from foreknow.cli.options import BAD_INPUT, BUG, UNSAFE
from foreknow.cli.process import INTERRUPTED, Interrupts, prepare_memory, streams
from foreknow.data.tables.formats.database_address import hidden
from foreknow.errors import InternalError, NoSafeRelease, NotSettled, StatementError
from foreknow.features import LEAVES, is_installed, leaf_of, load
from foreknow.names import COMMANDS as COMMON
from foreknow.names import CRITERION_COMMANDS, DESCRIBING, HELP, TO_TYPE
from foreknow_judge._version import __version__
from foreknow_judge.errors import ForeknowError, InputError, NotEnoughMemory, short_of_memory
from foreknow_judge.files.file_names import CERTIFICATE
from foreknow_judge.files.printable import one_line, visible

# Set free where memory has run out, so that this can be said.
_SPARE = 4 << 20

_TOML = ".toml"
_LIKE = 0.65  # how much alike a word and the command that is meant are, at least
_SHORTEST = 3  # letters of a command that is cut short
# Options beside which nothing is measured by default.
_OF_CRITERIA = {"--policy", "-p", "--l-diversity", "--l", "-l", "--t-closeness", "--t"}

# The commands by what they are for, and where each is: loaded when it is first called.
COMMANDS: dict[str, dict[str, str]] = {
    "The main job": {
        "init": "foreknow.cli.prepare",
        "publish": "foreknow.cli.publish",
        "audit": "foreknow.cli.audit",
        "verify": "foreknow.cli.publish",
        "evidence": "foreknow.features.evidence.command",
        "forget": "foreknow.cli.publish",
        "demo": "foreknow.cli.publish",
    },
    "What adversaries can find out": {
        "skyline": "foreknow.features.skylines.command",
        "curves": "foreknow.features.skylines.command",
        "ask": "foreknow.features.statements.command",
        "risk": "foreknow.features.risk.command",
        "attack": "foreknow.features.attacks.command",
        "learned": "foreknow.features.learned_attacks.command",
    },
    "Working with a release": {
        "read": "foreknow.cli.flat_table",
        "draw": "foreknow.cli.flat_table",
        "export": "foreknow.features.exports.command",
    },
    "What to choose": {
        "compare": "foreknow.features.comparison.command",
        "utility": "foreknow.features.utility.command",
        "survey": "foreknow.features.skylines.command",
        "explore": "foreknow.features.explore.command",
    },
    "Inputs": {
        "priors": "foreknow.cli.prepare",
        "schema": "foreknow.cli.audit",
        "sql": "foreknow.cli.audit",
    },
}
_PLACES: dict[str, str] = {}
for _places in COMMANDS.values():
    _PLACES |= _places


class _Foreknow(click.Group):
    """All commands; help lists them by what they are for."""

    @property
    def commands(self) -> MutableMapping[str, click.Command]:
        """Every command that is installed, by its name."""
        return {name: _load_command(name) for name in self.list_commands(None)}

    @commands.setter
    def commands(self, commands: Any) -> None:
        """Click sets commands when a group is made; here they stand in `COMMANDS`."""

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        """The names of the commands that are installed."""
        return [name for name, address in _PLACES.items() if _is_there(address)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name, or by one that it has elsewhere."""
        name = _plain(cmd_name)
        name = COMMON.get(name, name)
        return _load_command(name) if name in _PLACES else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that is called, the one that a file or folder is for, or the most like it.

        Words that are no command are taken for one in turn, which is said on stderr: a table or
        release, a criterion such as k-anonymity, a word that asks to describe a table, the
        beginning of a command's name.
        """
        word = args[0]
        if self.get_command(ctx, word) is None and (meant := _command_of(args)):
            click.echo(f"Taken for: foreknow {meant} {visible(shlex.join(args))}", err=True)
            args, word = [meant, *args], meant
        if _plain(word) in CRITERION_COMMANDS and not {*args} & _OF_CRITERIA:
            args = ["audit", *args[1:], *CRITERION_COMMANDS[_plain(word)]]
            word = "audit"
            click.echo(f"Taken for: foreknow {visible(shlex.join(args))}", err=True)
        if _plain(word) in DESCRIBING and len(args) == 2 and isfile(args[1]):
            args, word = ["init", args[1], "--out", "-"], "init"
            click.echo(f"Taken for: foreknow {visible(shlex.join(args))}", err=True)
        command = self.get_command(ctx, word)
        if command is None and (whole := _begun_by(word)) and not exists(word):
            click.echo(f"Taken for: foreknow {whole} {visible(shlex.join(args[1:]))}", err=True)
            args, word = [whole, *args[1:]], whole
            command = self.get_command(ctx, whole)
        if command is None:
            advice = TO_TYPE.get(_plain(word)) or _about_file(Path(word)) or _nearest_command(word)
            ctx.fail(f"No such command {word!r}; {advice}")
        if command.name in ("audit", "verify") and _is_policy_alone(args[1:]):
            return word, click.Command(word, callback=lambda: _check_policy(Path(args[1]))), []
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words `help` and `version` as the options --help and --version."""
        if args and _plain(args[0]) in HELP.split():
            args = [*args[1:2], "--help"]
        if args and args[0][:1] == "-":
            args = _command_first(args, [*self.list_commands(ctx), *COMMON])
        try:
            return super().parse_args(ctx, ["--version"] if args == ["version"] else args)
        except click.NoSuchOption as error:
            option = error.option_name
            ctx.fail(f"No such option: {option}; options stand after the command and what it reads")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for purpose, commands in COMMANDS.items():
            with formatter.section(purpose):
                formatter.write_dl([(name, _first_line(name)) for name in commands])


def _plain(word: str) -> str:
    """A word in small letters without accents, with hyphens where others write it as one.

    >>> _plain("localSuppression"), _plain("Vérifier"), _plain("risk_report")
    ('local-suppression', 'verifier', 'risk-report')
    """
    dashed = re.sub(r"(?<=[a-z])(?=[A-Z])|_", "-", word)
    letters = unicodedata.normalize("NFKD", dashed)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).lower()


def _nearest_command(word: str) -> str:
    """The command whose name is most like a word; or what the main ones do."""
    matches = difflib.get_close_matches(_plain(word), [*_PLACES, *COMMON], 1, _LIKE)
    if matches:
        return f"did you mean {matches[0]!r}?"
    return (
        "init TABLE writes a first policy, publish TABLE --policy policy.toml --out FOLDER a "
        "release, audit judges a table or release, and verify FOLDER proves a release again; "
        "foreknow --help lists all"
    )


def _begun_by(word: str) -> str:
    """The command that a word begins; empty if none or several do.

    Names of other tools count, too.
    """
    begins = _plain(word)
    is_cut_short = len(begins) >= _SHORTEST and begins not in TO_TYPE
    names = {*_PLACES, *COMMON, *TO_TYPE} if is_cut_short else ()
    meant = set()
    for name in names:
        if name.startswith(begins):
            meant.add(COMMON.get(name, name))
    return meant.pop() if len(meant) == 1 and meant <= {*_PLACES} else ""


def _command_first(words: list[str], names: list[str]) -> list[str]:
    """The words of a command line, with the command before options that stand before it.

    Without a command, the file that is named comes first.
    """
    for position, word in enumerate(words):
        is_command = _plain(word) in names and words[position - 1] not in ("-o", "--out")
        if is_command and not exists(word):
            return [word, *words[:position], *words[position + 1 :]]
    for position, word in enumerate(words):
        before = words[position - 1] if position else ""
        if word[:1] != "-" and isfile(word) and before in ("", "-i", "--input", "--in", "--table"):
            return [word, *words[: max(position - 1, 0)], *words[position + 1 :]]
    return words


def _command_of(words: list[str]) -> str:
    """The command for a table or release that is named in place of one; empty if none is meant.

    Its options say which: a policy or columns are for an audit, and with --out for a release.

    A folder with a certificate is verified; a table alone is for `init`.
    """
    path, options = Path(words[0]), {word.partition("=")[0] for word in words if word[:1] == "-"}
    if isfile(path / CERTIFICATE) and not options - {"-q", "--quiet"}:
        return "verify"
    if not isfile(path) or path.suffix.lower() in (_TOML, ".json", ".html"):
        return ""
    if not options - {"-q", "--quiet"} and len(words) == 1:
        return "init"
    if options & {"-o", "--out", "--output"}:
        return "publish"
    return "audit" if options & {"-p", "--policy", "--qi", "--quasi-identifiers", "--k"} else ""


def _about_file(path: Path) -> str:
    """The advice for a file or folder that is named in place of a command, if there is one."""
    name = shlex.quote(str(path))
    if path.suffix.lower() == _TOML and isfile(path):
        return (
            f"{path.name} is a policy: foreknow publish TABLE --policy {name} --out FOLDER, or "
            f"foreknow audit TABLE --policy {name}"
        )
    if isfile(path / CERTIFICATE):
        return (
            f"{path.name} is a release: foreknow verify {name} proves it again, foreknow evidence "
            f"{name} writes a page about it"
        )
    if exists(path):
        return (
            f"{path.name} is no command; if it is a table, foreknow init {name} writes a first "
            "policy for it"
        )
    return ""


def _is_policy_alone(words: list[str]) -> bool:
    """True if the command line names a policy file and nothing else."""
    return len(words) == 1 and words[0].lower().endswith(_TOML) and isfile(words[0])


def _check_policy(path: Path) -> None:
    """Say that a policy file can be read, and what reads it; another is refused."""
    from foreknow.policy.policy import Policy

    policy = Policy.load(path)
    name = visible(shlex.quote(str(path)))
    click.echo(
        f"{visible(path.name)} is a policy: {visible(str(policy))}. Whether a table keeps it: "
        f"foreknow audit TABLE --policy {name}"
    )


def _is_there(address: str) -> bool:
    leaf = leaf_of(address)
    return leaf is None or is_installed(leaf)


def _load_command(name: str) -> click.Command:
    """A command by its name; refused if its leaf is not installed."""
    command: click.Command = load(f"{_PLACES[name]}:{name}")
    return command


def _first_line(name: str) -> str:
    """The first line of a command's help, or that it is not installed."""
    if not _is_there(_PLACES[name]):
        return f"(not installed: {LEAVES[str(leaf_of(_PLACES[name]))]})"
    return (_load_command(name).help or "").partition("\n")[0]


@click.group(
    cls=_Foreknow,
    name="foreknow",
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="Exit codes: 0 safe or written, 1 unsafe or no safe release exists, 2 bad input, "
    "3 a bug in Foreknow, 4 undecided, 130 interrupted, 143 terminated. A closed "
    "output does not change the code; a full disk changes 0 to 2.",
)
@click.option("--version", "-V", "-v", is_flag=True, help="Print the version.")
@click.option(
    "--install-completion",
    **SHELL,
    help="Install completion for a shell, or the one that is used.",
)
@click.option("--show-completion", **SHELL, help="Print what that would install.")
@click.pass_context
def app(
    context: click.Context,
    version: bool,
    install_completion: str | None,
    show_completion: str | None,
) -> None:
    """Audit and publish tables about people against adversaries who already know something."""
    if version:
        click.echo(f"foreknow {__version__}")
    elif install_completion is not None:
        click.echo(install(app, install_completion))
    elif show_completion is not None:
        click.echo(script(app, show_completion))
    elif context.invoked_subcommand is None:
        click.echo(context.get_help())


def run(interrupts: Interrupts) -> int:
    """Run the command line and return its exit code; a mistake is one line on stderr."""
    with streams() as (out, _):
        code = _outcome(interrupts)
        out.flush()
        if out.full:
            _say(f"standard output cannot be written: {out.full}")
            return code or BAD_INPUT
    return code


def _call_command() -> int | None:
    """Run the command without Click's main loop, which prints its own message on Ctrl-C."""
    completion = os.environ.get(COMPLETE)
    if completion:
        return shell_complete(app, {}, app.name or "", COMPLETE, completion)
    try:
        with app.make_context(app.name, sys.argv[1:]) as context:
            app.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return None


def _outcome(interrupts: Interrupts) -> int:
    """Call the command, and return the exit code, also of an error or an interruption."""
    # Memory that is set free on an error, so that the error can be said.
    spare_memory = [bytes(_SPARE)]
    try:
        prepare_memory()
        code = _call_command()
    except BaseException as error:
        spare_memory.clear()
        if interrupts.came or isinstance(error, KeyboardInterrupt):
            return interrupts.farewell()
        try:
            return _report(error)
        except MemoryError:
            return _report(NotEnoughMemory("the rest"))
    if code == INTERRUPTED or (code and interrupts.came):  # a library made another error of it
        return interrupts.farewell()
    return int(code or 0)


def _report(error: BaseException) -> int:
    """Say what went wrong, and return its exit code."""
    if isinstance(error, (NoSafeRelease, NotSettled)):
        code = UNSAFE
    elif isinstance(error, (InputError, NotEnoughMemory)):
        code = BAD_INPUT
    elif isinstance(error, ForeknowError):
        code = BUG
    elif isinstance(error, click.UsageError):  # such as an unknown option
        message = f"Error: {error.format_message()}"
        if error.ctx is not None:
            hint = f"Try '{error.ctx.command_path} --help' for help."
            message = f"{error.ctx.get_usage()}\n{hint}\n\n{message}"
        print(one_line(hidden(message, sys.argv), unescaped="\n"), file=sys.stderr, flush=True)
        return BAD_INPUT
    elif short_of_memory(error):
        error, code = NotEnoughMemory("this table"), BAD_INPUT
    elif isinstance(error, OSError):
        code = BAD_INPUT
    elif isinstance(error, SystemExit):
        error, code = InputError("the method ended the program, by sys.exit"), BAD_INPUT
    else:
        if os.environ.get("FOREKNOW_DEBUG"):
            raise error  # its own words may hold an address, which who asks for them knows
        bug = InternalError(f"{type(error).__name__}: {error}")
        error, code = ForeknowError(f"{bug} FOREKNOW_DEBUG=1 shows where."), BUG
    if isinstance(error, NoSafeRelease):
        _say(error.said)
        for line in error.way_out:
            print(one_line(hidden(line, sys.argv)), file=sys.stderr, flush=True)
        return code
    _say(error, pointing=isinstance(error, StatementError))
    return code


def _say(message: object, *, pointing: bool = False) -> None:
    """Write a message to stderr in one line, but for a caret below a quoted text."""
    line = one_line(hidden(str(message), sys.argv), unescaped="\n" if pointing else "")
    print(f"foreknow: {line}", file=sys.stderr, flush=True)
