"""The commands `skyline`, `curves` and `survey`: how much knowledge a release withstands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from foreknow.cli.command import command
from foreknow.cli.inputs import (
    Columns,
    is_published,
    say_index,
)
from foreknow.cli.options import AnyOf, ForwardedOptions, Only, Published, Raw, Results
from foreknow.cli.terminal import console, say_readings
from foreknow.errors import SchemaError
from foreknow.numbers import is_whole
from foreknow_judge.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foreknow.data.counts import GroupCounts
    from foreknow.data.labels.labels import Label
    from foreknow.data.release import Release
    from foreknow.features.skylines.skyline import Point, SkylineReport
    from foreknow.policy.policy import Policy


@command("foreknow.features.skylines.skyline:skyline_report")
def skyline(
    release: Published,
    *,
    value: list[str] | None = None,
    any_of: AnyOf = None,
    within: str | None = None,
    above: str | None = None,
    name_people: bool = False,
    table: Path | None = None,
    members: Path | None = None,
    columns: Columns,
    output: Results,
    forwarded: Annotated[ForwardedOptions, Only(("confidence",))],
) -> None:
    """Show how much adversaries may know before they can become too sure.

    RELEASE is what "foreknow audit" takes. The policy says what the columns are, or the options
    --sensitive and --group or --quasi-identifiers, or the certificate in the folder.

    Parameters
    ----------
    value
        A sensitive value; repeatable. All when left out.
    above
        Amounts to judge, such as "1,2,3" for l=1, k=2, m=3.
    name_people
        Print the names of the people in the worst case.
    table
        The raw table, to name the people of a folder you published.
    members
        The owner's members.parquet (default: of FOLDER.owner).
    """
    from foreknow.features.skylines.skyline import skyline_report

    secrets = [secret for secret in (value, any_of, within) if secret]
    if len(secrets) > 1:
        raise InputError("give one of --value, --any-of and --within: each is a secret of its own")
    if (name_people and not value) or (above is not None and not secrets):
        raise InputError("--above and --name-people are about values; add --value")
    needs_owner = name_people and is_published(release)
    if needs_owner and table is None:
        raise InputError(
            f"{str(release)!r} names nobody; add --table TABLE, the table that it was made of, and "
            "--policy FILE"
        )
    if not needs_owner and (table or members):
        raise InputError("--table and --members are for --name-people of a published folder")
    point = None if above is None else _amounts(above)
    with output.progress("Counting the release"):
        opened_release = (
            columns.own(release, members, table) if needs_owner else columns.release(release)
        )
        if name_people:
            _refuse_nameless(opened_release)
        policy = columns.given
        if policy is not None and opened_release.raw is not None:
            policy = replace(policy, schema=opened_release.raw.schema)  # with --person
        report = skyline_report(
            opened_release,
            [_value_named(opened_release.counts, text) for text in dict.fromkeys(value or ())]
            or None,
            any_of=_named_set(opened_release.counts, any_of, policy),
            policy=policy,
            within=within,
            knowing=[],  # nor any but those with which it was opened
            **forwarded,
        )
    # Values that were asked for are printed one by one; otherwise the report is.
    by_itself = bool(value or any_of) or point is not None
    printer = replace(output, quiet=True) if by_itself else output
    printer.show(report)
    if not output.quiet:
        if by_itself:
            _print_each(report, opened_release, point, name_people)
        say_index(opened_release)


def _print_each(
    report: SkylineReport, release: Release, point: Point | None, name_people: bool
) -> None:
    """Print the skyline of each value that was asked for, with a worst case.

    `point` is the amount of facts (l, k, m) whose worst case is shown; None: the smallest amount
    that is too much. `name_people` adds the names of the people in it.
    """
    from foreknow.features.skylines import named_people
    from foreknow.features.skylines.skyline_page import value_blocks, worst_case
    from foreknow.report.terminal import Laid
    from foreknow.result_pages import page_of

    page = page_of(report)
    for value in report.values:
        judged_point = point or report.least_beyond(value)
        witness = None
        if name_people:  # before anything is printed: it may be refused
            witness = named_people.name_people(release, report.disclosure(value, judged_point))
        blocks = [*value_blocks(report, value), *worst_case(report, value, judged_point)]
        console().print(Laid(page.said(blocks)))
        if witness is not None:
            console().print(witness)
    console().print(Laid(page.beside()))


def _refuse_nameless(release: Release) -> None:
    try:
        release.holdings  # noqa: B018
    except InputError:
        raise InputError(
            f"{release.name} names nobody; --name-people needs a table with a row for each person, "
            "and --person COLUMN"
        ) from None


def _amounts(text: str) -> Point:
    """Read the amounts of facts in a text such as "1,2,3": l, k and m."""
    texts = [text_of_amount.strip() for text_of_amount in text.split(",")]
    if len(texts) != 3 or not all(map(is_whole, texts)):
        raise InputError(
            f"--above takes three whole numbers l,k,m from 0, such as 1,2,3, not {text!r}"
        )
    l, k, m = map(int, texts)
    return l, k, m


@command("foreknow.features.skylines.curves:disclosure_curves")
def curves(
    release: Published,
    *,
    levels: str | None = None,
    any_of: AnyOf = None,
    columns: Annotated[Columns, Only(("group", "quasi_identifiers", "sensitive", "knowing"))],
    output: Results,
    forwarded: ForwardedOptions,
) -> None:
    """Show how sure an adversary becomes with each number of implications, or negations.

    RELEASE is what "foreknow audit" takes. With --levels, it is a raw table, and each column is
    written at that level of its hierarchy. The policy says what the columns are, or the options
    --sensitive and --group or --quasi-identifiers, or the certificate in the folder.

    Parameters
    ----------
    levels
        Generalize a raw table first, such as "age=3, sex=0"; columns that are left out are
        suppressed.
    """
    from foreknow.auditing.scope import scope_of
    from foreknow.features.skylines.curves import disclosure_curves
    from foreknow.features.skylines.skyline import counted_as_one
    from foreknow.methods.fulldomain.lattice import read_levels
    from foreknow.methods.fulldomain.rollup import counts_at

    level_of_column = None if levels is None else read_levels(levels, "--levels")
    if level_of_column is not None and columns.group is not None:
        raise SchemaError("--levels makes the groups of a raw table; leave out --group")
    value, opened_release = forwarded.pop("value"), None
    with output.progress("Counting the release"):
        if level_of_column is None:
            opened_release = columns.release(release)
            counts = opened_release.counts
            name = opened_release.name
            column = opened_release.sensitive
        else:
            raw = columns.raw(release)
            counts = counts_at(raw, level_of_column)
            name, column = f"{raw.name} at {levels}", raw.schema.sensitive
        secret = None if value is None else _value_named(counts, value)
        if values_of_secret := _named_set(counts, any_of, columns.given):
            if value is not None:
                raise InputError("--any-of is one secret; give it or --value, not both")
            counts, secret = counted_as_one(counts, values_of_secret, columns.given)
        report = disclosure_curves(counts, value=secret, name=name, sensitive=column, **forwarded)
        if opened_release is not None:
            report = replace(report, scope=scope_of(opened_release))
    output.show(report)
    if opened_release is not None and not output.quiet:
        say_index(opened_release)


@command("foreknow.features.skylines.survey:survey")
def survey(
    table: Raw,
    *,
    negations: bool = False,
    columns: Annotated[Columns, Only(("quasi_identifiers", "sensitive"))],
    output: Results,
    forwarded: ForwardedOptions,
) -> None:
    """Judge every generalization of a raw table: how varied its groups are, what it discloses.

    A generalization is a choice of one level for each quasi-identifier. The hierarchies are those
    of the policy.

    Parameters
    ----------
    negations
        Measure negations in place of implications.
    """
    from foreknow.features.skylines import survey as surveying

    with output.progress("Judging every generalization"):
        raw = columns.raw(table)
        kind: surveying.Kind = "negations" if negations else "implications"
        report = surveying.survey(raw, kind=kind, **forwarded)
    output.show(report)
    if not output.quiet:
        say_readings(raw)


def _value_named(counts: GroupCounts, text: str) -> Label:
    """The sensitive value that prints like a text; a text that is none is returned as it is.

    What uses the value refuses an unknown one, with a better message.
    """
    same = [value for value in counts.values if str(value) == text]
    if len(same) > 1:
        raise InputError(f"several sensitive values print as {text!r}; make their labels differ")
    return same[0] if same else text


def _named_set(counts: GroupCounts, texts: Sequence[str] | None, policy: Policy | None) -> Any:
    """Values of one secret, or the label of the policy's hierarchy that a single text is.

    None if no text is given.
    """
    from foreknow.data.labels.labels import matching

    labels = list(dict.fromkeys(texts or ()))
    if policy is None or len(labels) != 1 or matching(labels[0], set(map(str, counts.values))):
        return labels or None
    return labels[0]
