"""The command `priors`: learn how likely each sensitive value is for people of each kind."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foreknow.cli.options import Quiet, console, progress, reads, refuse_inputs
from foreknow.data.reading import NOTHING, Reading
from foreknow.text import some


@reads
def priors(
    table: Annotated[Path, typer.Argument(help="CSV, Parquet, or a folder; one row per person.")],
    by: Annotated[str, typer.Option("--by", help="Columns of a kind, with commas between.")],
    sensitive: Annotated[
        str, typer.Option("--sensitive", "-s", help="The column of sensitive values.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A CSV file to write.")],
    quiet: Quiet = False,
    reading: Reading = NOTHING,
) -> None:
    """Write how frequent each sensitive value is for people of each kind, as a table of priors.

    A policy takes it: priors = { file = "statistics.csv" }. Then the adversary knows the true
    frequencies of TABLE, exactly.
    """
    from foreknow.adversaries.priors.priors import Priors
    from foreknow.data.engines import open_table
    from foreknow.report.words import visible

    refuse_inputs(None, out, (table,))
    with progress("Counting", quiet):
        columns = [name.strip() for name in by.split(",")]
        (learned,) = Priors.learn(open_table(table, reading), columns, sensitive).tables
    learned.to_csv(out)
    if not quiet:
        console().print(
            f"{some(len(learned.chances), 'kind', 'kinds')} of people, "
            f"{some(len(learned.values), 'value', 'values')} of "
            f"{visible(sensitive)}: written to {visible(out)}",
            markup=False,
            highlight=False,
        )
