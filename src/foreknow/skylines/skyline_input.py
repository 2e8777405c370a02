"""Skyline input: the counts on which a skyline or a curve is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foreknow.adversaries.protocol import counts_of
from foreknow.auditing.audit_input import release_of
from foreknow.data.counts import GroupCounts
from foreknow.data.release import Release
from foreknow.errors import SchemaError
from foreknow.needs import ONE_BY_ONE, Analysis, refuse_rules
from foreknow.policy.from_call import schema_of
from foreknow.policy.policy import Policy

# Of cases, it says that it is about cases.
SKYLINE = Analysis("a skyline or curve", ONE_BY_ONE)


def counted_for(
    table: Any,
    policy: Any,
    quasi_identifiers: Sequence[str] | None,
    sensitive: str | None,
    knowing: Sequence[str] | None,
) -> Release | GroupCounts:
    """A release as somebody sees it who knows all columns published beside, or just some.

    Columns may be named in place of a policy, whose rules are not counted. Refused where some
    people cannot have a value, or households share one.
    """
    policy = None if policy is None else Policy.of(policy)
    if quasi_identifiers is None:
        release = release_of(table, policy)
        if policy is not None and getattr(release, "schema", None) is None:
            refuse_rules(SKYLINE, policy.schema, SKYLINE.needs)
    else:
        columns = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
        release = Release.from_schema(table, schema_of(policy, columns))
    if not isinstance(release, Release):
        if knowing:
            raise SchemaError(
                "knowing names columns, and counts have none: give the release in their place"
            )
    elif not release.knows or knowing:
        if len(release.sensitives) == 1 and sensitive not in release.sensitives:
            sensitive = None  # only what to call it
        release = release.seen(sensitive, knowing)
    refuse_rules(SKYLINE, counts_of(release), SKYLINE.needs)
    return release
