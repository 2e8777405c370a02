"""The command `utility`: what a release is still worth, beside the table that it was made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foreknow.cli.inputs import is_published, open_table_by, schema_of
from foreknow.cli.options import Group, PolicyPath, Quiet, console, progress, refuse_inputs
from foreknow.errors import SchemaError

if TYPE_CHECKING:
    from foreknow.data.release import Release
    from foreknow.policy.policy import Policy
    from foreknow.publishing.published import Published


def utility(
    release: Annotated[
        Path, typer.Argument(help="What foreknow publish wrote, or a CSV or Parquet file.")
    ],
    table: Annotated[Path, typer.Argument(help="The raw table that it was made of.")],
    policy: PolicyPath,
    queries: Annotated[
        int, typer.Option("--queries", help="Random queries for each number of predicates.")
    ] = 1000,
    predicates: Annotated[
        int | None,
        typer.Option(
            "--predicates",
            help="Quasi-identifiers that each query asks about; when left out 1, 2, ... to all.",
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option("--delta", help="Errors of small counts are relative to this share of all."),
    ] = 0.005,
    seed: Annotated[int, typer.Option("--seed", help="Of the queries.")] = 0,
    group: Group = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the measures as JSON.")] = None,
    quiet: Quiet = False,
) -> None:
    """Measure what a release is still worth: its groups, its labels, and answers to queries.

    The same seed asks the same queries of every release of TABLE, so that releases can be
    compared. What is printed tells of TABLE more than the release does: it is for the owner.
    """
    from foreknow.data.microdata import Microdata
    from foreknow.policy.policy import Policy
    from foreknow.utility.report import utility_report

    refuse_inputs(None, json, (release, table, policy))
    rules = Policy.load(policy)
    schema = schema_of(rules)
    if is_published(table):
        raise SchemaError(f"{str(table)!r} is published already; give the raw table")
    with progress("Asking queries", quiet):
        opened = _open(release, rules, group)
        found = utility_report(
            opened,
            Microdata(table, schema),
            queries=queries,
            predicates=predicates,
            delta=delta,
            labels=None if is_published(release) else rules.options.labels,
            seed=seed,
        )
    if json is not None:
        found.to_json(json)
    if not quiet:
        console().print(found)


def _open(path: Path, rules: Policy, group: str | None) -> Published | Release:
    """Open a release as its certificate describes it, or as the policy does."""
    from foreknow.publishing.published import open_published

    schema = schema_of(rules)
    if not is_published(path):
        return open_table_by(path, schema, group)
    if group is not None:
        raise SchemaError(f"the columns of {str(path)!r} are in its certificate; leave out --group")
    return open_published(path, schema)
