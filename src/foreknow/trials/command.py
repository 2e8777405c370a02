"""The command `learned`: an attack that learns from a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from foreknow.cli.inputs import (
    Columns,
    refuse_published,
    require_published,
)
from foreknow.cli.options import (
    ForwardedOptions,
    Only,
    Published,
    Results,
    command,
)
from foreknow.needs import Need


@command("foreknow.trials.measured:learned_report")
def learned(
    release: Published,
    table: Annotated[
        Path | None, "The raw table it was made of: then right guesses are counted."
    ] = None,
    *,
    people: Path | None = None,
    columns: Annotated[Columns, Only(("group", "quasi_identifiers", "sensitive"))],
    output: Results,
    given: ForwardedOptions,
) -> None:
    """Attack a release by learning from it: what somebody finds out who knows nothing beforehand.

    They learn from all groups together how sensitive values go with columns, and then weigh what
    the members of each group may have. It is a trial, and no verdict: at least this can be done.
    With TABLE, and the owner's folder beside a folder that "foreknow publish" wrote, it is counted
    how many are guessed right.

    Parameters
    ----------
    people
        The exact quasi-identifiers of everybody, if they are generalized.
    """
    from foreknow.data.microdata import Microdata
    from foreknow.trials.measured import learned_report

    with output.progress("Learning from the release"):
        if table is not None:
            require_published(release)
            refuse_published(table)
            trial = learned_report(
                release, people=table, policy=columns.given, sensitive=columns.sensitive, **given
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
                opened_release, people=known_people, **{**given, "members": None}
            )
    output.show(trial)
