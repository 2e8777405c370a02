"""Skyline input: the counts on which a skyline or a curve is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foreknow.auditing.audit_input import release_of
from foreknow.data.counts import GroupCounts
from foreknow.data.release import Release
from foreknow.errors import SchemaError
from foreknow.needs import ONE_BY_ONE, Analysis, refuse_rules
from foreknow.policy.from_call import schema_of
from foreknow.policy.policy import Policy

# Of cases, it says that it is about cases.
SKYLINE = Analysis("a skyline or curve", ONE_BY_ONE)


def table_of(
    given: Any,
    policy: Any,
    quasi_identifiers: Sequence[str] | None,
    sensitive: str | None,
) -> Release | GroupCounts:
    """The same where columns may be named in place of a policy, whose rules are not counted."""
    policy = None if policy is None else Policy.of(policy)
    if quasi_identifiers is not None:
        columns = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
        return Release.from_schema(given, schema_of(policy, columns))
    found = release_of(given, policy)
    if policy is not None and getattr(found, "schema", None) is None:
        refuse_rules(SKYLINE, policy.schema, SKYLINE.needs)
    return found


def seen_by(
    given: Release | GroupCounts, sensitive: str | None, knowing: Sequence[str] | None
) -> Release | GroupCounts:
    """A release as somebody sees it who knows all columns published beside, or just some.

    Refused where some people cannot have a value, or households share one.
    """
    if not isinstance(given, Release):
        if knowing:
            raise SchemaError(
                "knowing names columns, and counts have none: give the release in their place"
            )
        refuse_rules(SKYLINE, given, SKYLINE.needs)
        return given
    if not given.knows or knowing:
        if len(given.sensitives) == 1 and sensitive not in given.sensitives:
            sensitive = None  # only what to call it
        given = given.seen(sensitive, knowing)
    refuse_rules(SKYLINE, given.counts, SKYLINE.needs)
    return given
