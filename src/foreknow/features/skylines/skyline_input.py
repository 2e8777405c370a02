"""Skyline input: the release for a skyline or a curve, opened as an adversary sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foreknow.adversaries.release_counts import counts_of
from foreknow.auditing.audit_input import release_of
from foreknow.auditing.scope import scope_of
from foreknow.data.release import Release
from foreknow.needs import ONE_BY_ONE, Analysis, refuse_rules
from foreknow.policy.call_arguments import schema_of
from foreknow.policy.policy import Policy

# Of cases, it says that it is about cases.
SKYLINE = Analysis("a skyline or curve", ONE_BY_ONE)


def open_release(
    table: Any,
    policy: Any,
    quasi_identifiers: Sequence[str] | None,
    sensitive: str | None,
    knowing: Sequence[str] | None,
    name: str | None,
) -> tuple[Release, dict[str, Any]]:
    """The release as an adversary sees it, and its description: name, column, scope.

    The adversary knows all columns that are published beside the secret, or those in `knowing`.
    Columns may be named in place of a policy, whose rules are not counted. Refused where some
    people cannot have a value, or households share one.
    """
    policy = None if policy is None else Policy.of(policy)
    if quasi_identifiers is None:
        release = release_of(table, policy)
        if policy is not None and release.schema is None:
            refuse_rules(SKYLINE, policy.schema, SKYLINE.needs)
    else:
        columns = {"quasi_identifiers": quasi_identifiers, "sensitive": sensitive}
        release = Release.from_schema(table, schema_of(policy, columns))
    # Without `knowing`, a release that was opened with known columns stays as it is. A text that is
    # not a sensitive column of the release only names its column in reports.
    if not release.knows or knowing:
        only_a_name = len(release.sensitives) == 1 and sensitive not in release.sensitives
        release = release.seen(None if only_a_name else sensitive, knowing)
    refuse_rules(SKYLINE, counts_of(release), SKYLINE.needs)
    return release, {
        "name": name or release.name,
        "sensitive": sensitive or release.sensitive or None,
        "scope": scope_of(release),
    }
