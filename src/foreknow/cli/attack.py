"""The command `attack`: what an adversary who knows the method learns from what it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from foreknow.cli.inputs import method_from, names_file, person_of, schema_of
from foreknow.cli.options import (
    UNSAFE,
    Html,
    Json,
    Person,
    PolicyPath,
    Quiet,
    Raw,
    ReleaseForm,
    Settings,
    chosen,
    is_whole,
    known_methods,
    progress,
    refuse_inputs,
    show_result,
)
from foreknow.errors import InputError

if TYPE_CHECKING:
    from foreknow.data.microdata import Microdata
    from foreknow.policy.policy import Policy

_MOST_SEEDS = 10_000


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
        int, typer.Option("--worlds", help="Runs of the method; beyond this, estimate.")
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
        str | None,
        typer.Option("--groups", help="The column with the groups that were published."),
    ] = None,
    nothing: Annotated[
        bool, typer.Option("--nothing", help="Analyse a refusal to publish TABLE.")
    ] = False,
    name_people: Annotated[
        bool, typer.Option("--name-people", help="Print people by name, not by row.")
    ] = False,
    person: Person = None,
    html: Html = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Attack your own release as an adversary who knows the method, its settings and policy.

    TABLE is the raw table. The method is run on it, and on all tables that look the same to a
    reader; those that it would have published otherwise are struck out. What is written names
    rows of the table: it is for the owner.
    """
    from foreknow.adversaries.algorithm import attack as run
    from foreknow.data.microdata import Microdata
    from foreknow.policy.policy import Policy

    refuse_inputs(html, json, (table, policy))
    own = method_from(method) if method is not None and names_file(method) else None
    if own is not None and settings:
        raise InputError("--set is for methods by name; set those of your own in their file")
    named = None if own is not None else method
    rules = chosen(Policy.load(policy), settings, method=named, form=form)
    schema = schema_of(rules)
    with progress("Attacking", quiet):
        microdata = Microdata(table, schema)
        names = _names(microdata, person) if name_people else None
        found = run(
            microdata,
            _method_of(rules) if own is None else own,
            rules,
            groups=None if groups is None else _groups(microdata, groups),
            nothing=nothing,
            worlds=worlds,
            seconds=seconds,
            seed=seed,
            seeds=None if seeds is None else _seeds(seeds),
            symmetric=symmetric or None,
        )
        unclean = found.found or bool(found.unsettled)  # works everything out
    from foreknow.report.pages.attack import AttackPage

    show_result(found, html, json, quiet, AttackPage(found, names))
    raise typer.Exit(UNSAFE if unclean else 0)


def _method_of(rules: Policy) -> Any:
    from foreknow.methods.registry import method_of

    return method_of(rules.options.method, rules)


def _groups(microdata: Microdata, column: str) -> Any:
    """The group of each row, as a column of the table says."""
    from foreknow.adversaries.algorithm.observation import groups_from
    from foreknow.data.engines.columns import fetch

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
    from foreknow.data.engines import open_table
    from foreknow.data.engines.columns import fetch

    column = person_of(microdata.schema, person)
    named: list[object] = fetch(open_table(microdata.source), [column]).column(column).to_pylist()
    return named
