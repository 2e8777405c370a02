"""The command `learned`: an attack that learns from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from foreknow.cli.command import command
from foreknow.cli.inputs import (
    Columns,
    refuse_published,
    require_published,
)
from foreknow.cli.options import ForwardedOptions, Only, Published, Results
from foreknow.needs import Need


@command("foreknow.features.learned_attacks.measured_guesses:learned_report")
def learned(
    release: Published,
    table: Annotated[Path | None, "The raw table of the release, to count right guesses."] = None,
    *,
    people: Path | None = None,
    columns: Annotated[Columns, Only(("group", "quasi_identifiers", "sensitive"))],
    output: Results,
    forwarded: ForwardedOptions,
) -> None:
    """Attack a release by learning from it, as somebody who knows no values beforehand.

    The attacker learns from all groups together which sensitive values are frequent with which
    values of other columns, and guesses the value of each person. This is a trial, not a verdict:
    other attackers may find more. With TABLE, and with the owner's folder beside a folder that
    "foreknow publish" wrote, right guesses are counted.

    Parameters
    ----------
    people
        A table with the exact quasi-identifiers of everybody, if the release is generalized.
    """
    from foreknow.data.microdata import Microdata
    from foreknow.features.learned_attacks.measured_guesses import learned_report

    with output.progress("Learning from the release"):
        if table is not None:
            require_published(release)
            refuse_published(table)
            trial = learned_report(
                release,
                people=columns.table_of(release, table),
                policy=columns.given,
                sensitive=columns.sensitive,
                **forwarded,
            )
        else:
            opened_release, policy = (
                columns.release(release, frozenset({Need.EVERYBODY})),
                columns.given,
            )
            known_people: Path | Microdata | None = people
            if people is not None and policy is not None:
                known_people = Microdata(people, policy.needed_schema)
            trial = learned_report(
                opened_release, people=known_people, **{**forwarded, "members": None}
            )
    output.show(trial)
