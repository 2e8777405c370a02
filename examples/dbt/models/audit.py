"""The verdicts of Foreknow on the release: the build fails unless each requirement holds."""

from typing import Any

import foreknow as fk


def model(dbt: Any, session: Any) -> Any:
    """Judge the tally; only counts come out of the warehouse."""
    dbt.config(materialized="table")
    policy = fk.Policy.load("policy.toml")
    release = fk.Release.from_tally(
        dbt.ref("tally"),
        group=policy.schema.quasi_identifiers,
        sensitive=policy.schema.sensitives,
        other=policy.schema.other,
        missing=policy.schema.missing,
    )
    audit = fk.audit(release, policy, name="release")
    if not audit.safe:
        raise RuntimeError(f"the release must not be published\n{audit.summary()}")
    return audit.to_frame("arrow")
