"""The command `attack`: what an adversary who knows the method learns from a release."""

from __future__ import annotations

import importlib.util
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from foreknow.cli.command import command
from foreknow.cli.inputs import COLUMNS, CRITERIA, Judging, is_published
from foreknow.cli.options import (
    UNDECIDED,
    UNSAFE,
    Choice,
    ForwardedOptions,
    MethodName,
    Only,
    Raw,
    Results,
)
from foreknow.cli.terminal import print_plain
from foreknow.errors import did_you_mean
from foreknow.features import load
from foreknow_judge.errors import InputError

if TYPE_CHECKING:
    from foreknow.data.microdata import Microdata
    from foreknow.policy.policy import Policy


@dataclass(frozen=True)
class OfAttack(Judging):
    """The options of a table and of its policy; those of a release are in its certificate.

    Parameters
    ----------
    policy
        The policy file (TOML). When left out: of a release the policy in its certificate; of a
        table, if no columns are named, policy.toml of the current folder.
    """

    by_certificate: ClassVar[bool] = True


@command("foreknow.features.attacks.algorithm:attack")
def attack(
    table: Raw,
    *,
    rules: Annotated[OfAttack, Only((*COLUMNS, *CRITERIA))],
    method: MethodName = None,
    choice: Annotated[Choice, Only(("settings", "form"))],
    groups: str | None = None,
    release: Path | None = None,
    members: Path | None = None,
    name_people: bool = False,
    person: str | None = None,
    output: Results,
    forwarded: ForwardedOptions,
) -> int:
    """Attack your own release as an adversary who knows the method, its settings and policy.

    TABLE is the raw table. The method is run on it, and on all tables that look the same to a
    reader. Tables of which it would have made another release are ruled out. With --release, the
    groups of that release are attacked. TABLE may also be a folder that "foreknow publish" wrote,
    if its raw table is in the current folder or beside it. The output names rows of the table: do
    not publish it.

    Parameters
    ----------
    method
        The method that makes groups, see below, or FILE.py:NAME for one of your own; FILE.py is
        then run. The policy's when left out.
    groups
        The column with the groups that were published.
    release
        The folder that publish wrote of TABLE, to attack exactly that release.
    members
        The owner's members.parquet (default: of FOLDER.owner).
    name_people
        Print people by name, not by row.
    person
        The column that names people.
    """
    from foreknow.features.attacks.algorithm import attack as run
    from foreknow.features.attacks.page import AttackPage
    from foreknow.features.attacks.release_attack import AttackedRelease
    from foreknow.methods.registry import method_of

    start = time.monotonic()
    file_method = _method_from(method) if method is not None and _names_file(method) else None
    if file_method is not None and choice.settings:
        raise InputError("--set is for methods by name; set those of your own in their file")
    source: Path | None = table
    if release is None and is_published(table):
        source, release = None, table
    attacked = None
    if release is not None:
        if groups is not None or forwarded["nothing"] or choice.form is not None:
            raise InputError("a release says it all: leave out --groups, --nothing and --form")
        has_rules = rules.given is not None or rules.quasi_identifiers is not None
        attacked = AttackedRelease.of(
            release,
            source,
            rules.rules(release) if has_rules else None,
            members,
            other_method=bool(method or choice.settings),
        )
    elif members is not None:
        raise InputError("--members goes with --release FOLDER")
    policy = rules.rules(table) if attacked is None else attacked.policy
    policy = replace(choice, method=None if file_method is not None else method).over(policy)
    chosen_method = method_of(policy.options.method, policy) if file_method is None else file_method
    if attacked is not None and file_method is None:
        attacked.refuse_other_method(chosen_method)
    with output.progress("Attacking"):
        microdata = policy.microdata(table) if attacked is None else attacked.microdata
        names = _names(microdata, person) if name_people else None
        if forwarded["seconds"] > 0:  # what reading took is part of the budget
            forwarded["seconds"] = max(forwarded["seconds"] - time.monotonic() + start, 0.01)
        group_of_row = _groups(microdata, groups) if attacked is None else attacked.groups
        outcome = run(microdata, chosen_method, policy, groups=group_of_row, **forwarded)
        # This works it all out.
        code = UNSAFE if outcome.found else UNDECIDED if outcome.undecided else 0
    output.show(outcome, AttackPage(outcome, names))
    if code == UNDECIDED and file_method is None and not output.quiet:
        with output.progress("Making what would withstand"):
            print_plain(_cost(microdata, policy))
    return code


def _cost(microdata: Microdata, policy: Policy) -> str:
    """A sentence on the utility of a release by Decoy, beside one by the method of the policy."""
    comparison, page = (
        load("foreknow.features.comparison.comparison"),
        load("foreknow.features.comparison.page"),
    )
    # Both are made for the strictest absolute limit; a method may make nothing for it.
    limits = [point.below for point in policy.points if not point.relative]
    methods = list(dict.fromkeys(("decoy", policy.options.method)))
    lowest = [min(limits)] if limits else None
    methods_compared = comparison.compare(microdata, policy, methods=methods, limits=lowest)
    costs: dict[str, str] = {}
    for candidate in methods_compared.candidates:
        cost = candidate.why
        if candidate.groups is not None:
            error = page.share_or_none(candidate.query_error)
            loss = page.loss_text(candidate)
            cost = f"NCP {loss}, {candidate.groups:,} groups, counts off by {error}"
        costs[candidate.method] = f"{candidate.method}: {cost}"
    return f"What that costs. {'; '.join(costs.values())}."


def _groups(microdata: Microdata, column: str | None) -> Any:
    """The group of each row, from a column of the table; None without a column."""
    from foreknow.data.tables.columns import fetch
    from foreknow.features.attacks.observation import groups_from

    if column is None:
        return None
    return groups_from(fetch(microdata.source, [column]).column(column), f"column {column!r}")


def _names(microdata: Microdata, person: str | None) -> list[object]:
    """The names of all people, by row of the table."""
    from foreknow.data.tables.columns import fetch

    column = microdata.schema.naming(person).person
    assert column is not None
    names: list[object] = fetch(microdata.source, [column]).column(column).to_pylist()
    return names


# ---- a method of your own ----------------------------------------------------------------------


def _names_file(method: str | None) -> bool:
    """True if a method is given as FILE.py:NAME."""
    return method is not None and (".py:" in method or method.endswith(".py"))


def _method_from(argument: str) -> Any:
    """The method that FILE.py:NAME names: a function of a table, or an object with `partition`."""
    from foreknow.features.attacks.method_runner import is_method

    file_name, _, name = argument.rpartition(":")
    if not file_name.endswith(".py") or not name:
        raise InputError(f"--method {argument!r}: write FILE.py:NAME, the name of a function in it")
    definitions = vars(_run(Path(file_name)))
    # Candidates for a hint if the name is misspelt.
    methods = []
    for key in definitions:
        if is_method(definitions[key]) and key[0] != "_":
            methods.append(key)
    if name not in definitions:
        hint = did_you_mean(name, methods)
        raise InputError(f"--method: there is no {name!r} in {file_name!r}{hint}")
    method = definitions[name]
    if isinstance(method, type):
        raise InputError(
            f"--method: {name!r} in {file_name!r} is a class; name an object of it, such as one "
            f"that the file makes by made = {name}(...)"
        )
    if not is_method(method):
        raise InputError(
            f"--method: {name!r} in {file_name!r} is {type(method).__name__}, no function of a "
            "table, nor has it partition(microdata, policy, seed)"
        )
    return method


def _run(path: Path) -> Any:
    """The module of a Python file, which is run; it may import modules that lie beside it."""
    if not path.is_file():
        raise InputError(f"--method: there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(f"_method_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"--method: {str(path)!r} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    # As Python does for a script: known by name (dataclasses look it up), and its folder
    # importable.
    sys.modules[module.__name__] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    from foreknow.data.tables.formats.databases import admit_pandas

    admit_pandas()
    # No __pycache__ is left in the user's folder.
    bytecode_setting, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"--method: {path}, line {error.lineno}: {error.msg}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also one that calls sys.exit
        raise InputError(f"--method: {path} fails: {type(error).__name__}: {error}") from error
    finally:
        sys.dont_write_bytecode = bytecode_setting
    return module
