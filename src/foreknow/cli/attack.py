"""The command `attack`: what an adversary who knows the method learns from what it makes."""

from __future__ import annotations

import importlib.util
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from foreknow.cli.inputs import load_policy
from foreknow.cli.options import (
    TERMINAL,
    UNDECIDED,
    UNSAFE,
    Members,
    Output,
    Person,
    PolicyPath,
    Raw,
    ReleaseForm,
    Settings,
    chosen,
    is_whole,
    known_methods,
    with_options,
)
from foreknow.data.reading import NOTHING, Reading
from foreknow.engine import admit_pandas
from foreknow.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from foreknow.data.microdata import Microdata
    from foreknow.policy.policy import Policy
    from foreknow.publishing.members import OwnRelease

_MOST_SEEDS = 10_000


@with_options
def attack(
    table: Raw,
    policy: PolicyPath,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="How people are grouped, see below, or FILE.py:NAME of your own; FILE.py is then "
            "run. The policy's when left out.",
            autocompletion=known_methods,
        ),
    ] = None,
    settings: Settings = None,
    form: ReleaseForm = None,
    worlds: Annotated[
        int,
        typer.Option(
            "--worlds", help="Runs of the method, or worlds of a part; beyond this, estimate."
        ),
    ] = 10_000,
    seconds: Annotated[float, typer.Option("--seconds", help="Time budget.")] = 60.0,
    seed: Annotated[int | None, typer.Option("--seed", help="Random seed for estimates.")] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            help="Seeds that the method may draw, such as 0-19; one seed is assumed public.",
        ),
    ] = None,
    symmetric: Annotated[
        bool,
        typer.Option("--symmetric", help="The method treats rows alike, whatever their order."),
    ] = False,
    groups: Annotated[
        str | None, typer.Option("--groups", help="The column with the groups that were published.")
    ] = None,
    nothing: Annotated[
        bool, typer.Option("--nothing", help="Analyse a refusal to publish TABLE.")
    ] = False,
    release: Annotated[
        Path | None,
        typer.Option("--release", help="The folder that publish wrote of TABLE: attack just that."),
    ] = None,
    members: Members = None,
    name_people: Annotated[
        bool, typer.Option("--name-people", help="Print people by name, not by row.")
    ] = False,
    person: Person = None,
    output: Output = TERMINAL,
    reading: Reading = NOTHING,
) -> None:
    """Attack your own release as an adversary who knows the method, its settings and policy.

    TABLE is the raw table. The method is run on it, and on all tables that look the same to a
    reader; those that it would have published otherwise are struck out. With --release, its very
    groups are attacked. What is written names rows of the table: it is for the owner.
    """
    from foreknow.attacks.algorithm import attack as run
    from foreknow.data.microdata import Microdata
    from foreknow.methods.registry import method_of
    from foreknow.publishing.members import OwnRelease

    start = time.monotonic()
    output.refuse(table, policy, release, members)
    own = _method_from(method) if method is not None and _names_file(method) else None
    if own is not None and settings:
        raise InputError("--set is for methods by name; set those of your own in their file")
    named = None if own is not None else method
    rules, published = load_policy(policy, reading), None
    if release is not None:
        if groups is not None or nothing or form is not None:
            raise InputError("--release says it all: leave out --groups, --nothing and --form")
        published = OwnRelease.open(release, members, rules.needed_schema)
        rules = _as_published(published, rules, said=bool(method or settings))
    elif members is not None:
        raise InputError("--members goes with --release FOLDER")
    rules = chosen(rules, settings, method=named, form=form)
    schema = rules.needed_schema
    used = method_of(rules.options.method, rules) if own is None else own
    if published is not None and own is None:
        _refuse_other_method(published, used)
    with output.progress("Attacking"):
        microdata = Microdata(table, schema)
        names = _names(microdata, person) if name_people else None
        found = run(
            microdata,
            used,
            rules,
            groups=_groups(microdata, groups, published),
            nothing=nothing,
            worlds=worlds,
            # What reading took is part of the budget.
            seconds=max(seconds - time.monotonic() + start, 0.01) if seconds > 0 else seconds,
            seed=seed,
            seeds=None if seeds is None else _seeds(seeds),
            symmetric=symmetric or None,
        )
        code = UNSAFE if found.found else UNDECIDED if found.undecided else 0  # works it all out
    from foreknow.report.pages.attack import AttackPage

    output.show(found, AttackPage(found, names))
    raise typer.Exit(code)


def _as_published(own: OwnRelease, rules: Policy, said: bool) -> Policy:
    """The policy with the options of a release; its own method where another is said."""
    from foreknow.policy.policy import PublishOptions

    options = PublishOptions.from_dict(own.published.certificate.policy["publish"])
    if said:
        before = rules.options
        options = replace(options, method=before.method, settings=before.settings)
    return replace(rules, options=options)


def _refuse_other_method(own: OwnRelease, method: Any) -> None:
    """Refuse a method by name that is not the one of the certificate."""
    made = own.published.certificate.method["name"]
    if made != type(method).__name__:
        raise InputError(
            f"{own.published.release.name} was made by {made}, not by {type(method).__name__}: "
            "leave out --method, or name a method of your own by --method FILE.py:NAME"
        )


def _groups(microdata: Microdata, column: str | None, own: OwnRelease | None) -> Any:
    """The group of each row, as the owner's file of a release or a column of the table says."""
    from foreknow.attacks.algorithm.observation import groups_from
    from foreknow.data.engines.columns import fetch

    if own is not None:
        own.refuse_other(microdata)
        return own.groups
    if column is None:
        return None
    return groups_from(fetch(microdata.source, [column]).column(column), f"column {column!r}")


def _seeds(given: str) -> list[int]:
    """Read seeds such as 7, 0-19 or 1,5,8-10."""
    found: list[int] = []
    for part in given.split(","):
        first, dash, last = part.strip().partition("-")
        ends = [first, last] if dash else [first, first]
        if not all(is_whole(end) for end in ends):
            raise InputError(f"--seeds: {part.strip()!r} is no seed; write 7, 0-19 or 1,5,8-10")
        low, high = map(int, ends)
        if not low <= high < low + _MOST_SEEDS:
            raise InputError(f"--seeds: {part.strip()!r} is not from 1 to {_MOST_SEEDS:,} seeds")
        found += range(low, high + 1)
    return found


def _names(microdata: Microdata, person: str | None) -> list[object]:
    """What the rows' people are called."""
    from foreknow.data.engines.columns import fetch

    column = microdata.schema.naming(person).person
    assert column is not None
    named: list[object] = fetch(microdata.source, [column]).column(column).to_pylist()
    return named


# ---- a method of your own ----------------------------------------------------------------------


def _names_file(method: str | None) -> bool:
    """Whether a method is given as FILE.py:NAME."""
    return method is not None and (".py:" in method or method.endswith(".py"))


def _method_from(given: str) -> Any:
    """Run FILE.py, and take from it a function of a table, or an object with ``partition``."""
    place, _, name = given.rpartition(":")
    if not place.endswith(".py") or not name:
        raise InputError(f"--method {given!r}: write FILE.py:NAME, the name of a function in it")
    own = vars(_run(Path(place)))
    methods = [key for key in own if _is_method(own[key]) and key[0] != "_"]
    if name not in own:
        hint = did_you_mean(name, methods)
        raise InputError(f"--method: there is no {name!r} in {place!r}{hint}")
    found = own[name]
    if isinstance(found, type):
        raise InputError(
            f"--method: {name!r} in {place!r} is a class; name an object of it, such as one "
            f"that the file makes by made = {name}(...)"
        )
    if not _is_method(found):
        raise InputError(
            f"--method: {name!r} in {place!r} is {type(found).__name__}, no function of a table, "
            "nor has it partition(microdata, policy, seed)"
        )
    return found


def _is_method(given: Any) -> bool:
    return callable(given) or hasattr(given, "partition")


def _run(path: Path) -> Any:
    """Run a file as a module; it may import what lies beside it."""
    if not path.is_file():
        raise InputError(f"--method: there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(f"_method_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InputError(f"--method: {str(path)!r} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    admit_pandas()
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise InputError(f"--method: {path}, line {error.lineno}: {error.msg}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also one that calls sys.exit
        raise InputError(f"--method: {path} fails: {type(error).__name__}: {error}") from error
    finally:
        sys.dont_write_bytecode = written
    return module
