"""The command `utility`: what a release is still worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from foreknow.cli.command import command
from foreknow.cli.inputs import (
    COLUMNS,
    Judging,
    is_published,
    policy_at,
    refuse_published,
)
from foreknow.cli.options import ForwardedOptions, More, Only, Published, Raw, Results
from foreknow.errors import SchemaError
from foreknow_judge.errors import InputError


@command("foreknow.features.utility.report:utility_report")
def utility(
    release: Published,
    table: Raw,
    *,
    models: bool = False,
    target: Annotated[list[str] | None, More(metavar="COLUMN[=VALUE]")] = None,
    queries_of: Path | None = None,
    columns: Annotated[Judging, Only(("group", *COLUMNS))],
    output: Results,
    forwarded: Annotated[
        ForwardedOptions,
        Only(("queries", "attributes", "predicates", "delta", "by", "draws", "seed")),
    ],
) -> None:
    """Measure how much detail a release keeps: its groups, labels, answers to queries, models.

    With the same seed, the same queries are asked of every release of TABLE by one policy, so that
    you can compare releases. To compare releases by two policies, use --queries-of. The output
    reveals more of TABLE than the release does: do not publish it.

    Parameters
    ----------
    queries_of
        Another policy of the same table. Its queries are asked, to compare with its releases.
    attributes
        The quasi-identifiers that queries ask about (default: all).
    models
        Compare means, cross tables, regressions and trees of the raw table and of the release.
    target
        What models explain; repeatable; implies --models (default: the sensitive columns).
    by
        The columns by which models explain (default: all published columns that are not sensitive).
    draws
        The number of tables that are drawn from the release for models.
    """
    from foreknow.data.microdata import Microdata
    from foreknow.data.release import Release
    from foreknow.features.utility.report import utility_report
    from foreknow.written_releases.written_release import open_published

    if is_published(table) and not is_published(release):  # given in the other order
        release, table = table, release
    is_written = is_published(release)
    if is_written and columns.given is None and columns.quasi_identifiers is None:
        policy = None  # the table is read as the certificate says
        schema = columns.schema_of_table(release)
    else:
        policy = columns.rules(table)
        schema = policy.needed_schema
    refuse_published(table)
    if is_written and columns.group is not None:
        raise SchemaError(
            f"the columns of {str(release)!r} are in its certificate; leave out --group"
        )
    if (forwarded["by"] is not None) and not (models or target):
        raise InputError("--by is for models; add --models or --target COLUMN")
    with output.progress("Measuring"):
        report = utility_report(
            open_published(release, schema)
            if is_written or policy is None
            else Release.from_schema(release, schema, columns.group, policy.options.unlinked),
            Microdata(table, schema),
            labels=None if is_written or policy is None else policy.options.labels,
            like=None if queries_of is None else policy_at(queries_of).microdata(table),
            models=target or models,
            **forwarded,
        )
    output.show(report)
