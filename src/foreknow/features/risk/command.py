"""The command `risk`: how easily people are found again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from foreknow.cli.command import command
from foreknow.cli.inputs import (
    Columns,
    is_published,
    say_index,
)
from foreknow.cli.options import ForwardedOptions, Only, Published, Results
from foreknow.errors import SchemaError


@dataclass(frozen=True)
class OfTable(Columns):
    """Columns; of a table, the policy of the folder says it where nothing else does."""

    takes_policy: ClassVar[bool] = True


@command("foreknow.features.risk.risk:risk_report")
def risk(
    table: Published,
    *,
    population: Path | None = None,
    columns: Annotated[OfTable, Only(("group", "quasi_identifiers"))],
    output: Results,
    forwarded: ForwardedOptions,
) -> None:
    """Measure how easily people are recognized, and which columns make them unique.

    TABLE is a raw table, a release, or a folder that "foreknow publish" wrote. The columns that
    others may know are named by --quasi-identifiers, by the policy, or by the certificate.
    """
    from foreknow.features.risk.risk import risk_report

    release = None
    by_name = columns.policy is None and not is_published(table)
    if by_name and (columns.quasi_identifiers is None or columns.group is not None):
        raise SchemaError(
            "say which columns others may know: --quasi-identifiers COLUMN,COLUMN; or "
            "--policy FILE, beside which --group COLUMN may name groups"
        )
    with output.progress("Counting the table"):
        if by_name:
            forwarded["quasi_identifiers"] = columns.names
        else:
            release = columns.whole(table)
        report = risk_report(
            table if release is None else release, population, reading=columns.reading, **forwarded
        )
    output.show(report)
    if release is not None and not output.quiet:
        say_index(release)
