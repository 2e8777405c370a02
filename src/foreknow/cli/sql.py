"""The command that prints the query by which a database counts a release."""

from __future__ import annotations

import shlex
from itertools import chain, count
from typing import Annotated

import typer

from foreknow.cli.inputs import tally_of
from foreknow.cli.options import PolicyPath, among


def sql(
    policy: PolicyPath,
    table: Annotated[
        str, typer.Option("--table", "-t", help="The release, as the database calls it.")
    ] = "release",
    dialect: Annotated[
        str,
        typer.Option(
            "--dialect",
            help="How names are quoted: standard, or spark (also Databricks and BigQuery).",
            autocompletion=among("standard", "spark"),
        ),
    ] = "standard",
) -> None:
    """Print the SQL that counts a release where it is, for "foreknow audit --counts".

    One row for each combination of the columns that the policy judges, and how many people have
    it. The release is a table or view with one row for each person; names are written as the
    policy and --table have them, in quotes.
    """
    from foreknow.data.engines.tally import counting_query
    from foreknow.data.release import COUNT
    from foreknow.policy.policy import Policy
    from foreknow.text import visible

    columns = tally_of(Policy.load(policy))
    taken = {name.casefold() for name in columns}  # as most databases compare names
    names = chain([COUNT], (f"{COUNT}_{i}" for i in count(2)))
    amount = next(name for name in names if name not in taken)
    query = counting_query(columns, amount, table, dialect)
    rest = "" if amount == COUNT else f" --count {amount}"
    called = visible(shlex.quote(str(policy)))
    typer.echo(f"-- Then: foreknow audit --counts tally.csv --policy {called}{rest}\n{query};")
