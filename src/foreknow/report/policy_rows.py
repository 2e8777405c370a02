"""Policy rows: a policy as a table for people who do not read TOML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from foreknow.data.counts import Semantics
from foreknow.data.schema import Schema
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Point
from foreknow.report.pages.audit_terminal import (
    adversary_phrase,
    requirement_title,
    sensitive_noun,
    values_phrase,
)
from foreknow.report.words import limit_text, listing, times_text, visible

_MANY = 1000
_SEVERAL = {
    "set": ["A person may have several of its values, each once, or none (set)."],
    "multiset": ["A person may have several of its values, also repeatedly, or none (multiset)."],
}


def policy_rows(policy: Policy, semantics: Semantics = "single") -> list[tuple[str, list[str]]]:
    """Say everything that a policy asks.

    Parameters
    ----------
    policy : Policy
    semantics : {"single", "set", "multiset"}
        Of the release that was judged.

    Returns
    -------
    list of (str, list of str)
        What a row is about, and its lines.
    """
    noun = sensitive_noun(policy)
    rows = []
    for place, requirement in enumerate(policy.requirements, 1):
        about = values_phrase(requirement, noun, most=_MANY)
        lines = [
            f"Someone who {adversary_phrase(point.adversary, noun, semantics)} must "
            f"{_limit(point)} that a particular person has it."
            for point in requirement.points
        ]
        rows.append((requirement_title(requirement, place), [f"About {about}.", *lines]))
    if policy.schema is not None:
        rows += _schema_rows(policy.schema)
    if policy.schema is not None:
        options = policy.options
        rows.append(("When published", [f"{visible(options.form)}, by {visible(options.method)}"]))
    return rows


def _limit(point: Point) -> str:
    if point.relative:
        return f"become at most {times_text(point.below)} times as sure as before the release"
    return f"{'be at most' if point.inclusive else 'stay less than'} {limit_text(point.below)} sure"


def _schema_rows(schema: Schema) -> list[tuple[str, list[str]]]:
    sensitive = [visible(schema.sensitive), *_SEVERAL.get(schema.semantics, [])]
    rows: list[tuple[str, list[str]]] = [("Sensitive column", sensitive)]
    if schema.quasi_identifiers:
        rows.append(
            (
                "Columns others may know",
                [_column(schema, column) for column in schema.quasi_identifiers],
            )
        )
    for title, columns in (
        ("Identifiers, never published", schema.identifiers),
        ("Published as they are", schema.other),
    ):
        if columns:
            rows.append((title, [listing([visible(c) for c in columns], most=_MANY)]))
    if schema.group is not None:
        rows.append(("Column of groups", [visible(schema.group)]))
    return rows


def _column(schema: Schema, column: str) -> str:
    hierarchy: Any = schema.hierarchies.get(column)
    if hierarchy is None:
        return visible(column)
    table = hierarchy if isinstance(hierarchy, Mapping) else hierarchy.to_dict()
    return f"{visible(column)}: {coarsening(table)}"


def coarsening(table: Mapping[str, Any]) -> str:
    """Say how the values of a column coarsen.

    Parameters
    ----------
    table : mapping
        What stands for a hierarchy in a policy file.

    Examples
    --------
    >>> coarsening({"dates": ["month", "year"]}), coarsening({"mask": 5})
    ('by month, then year', 'characters masked from the right')
    """
    match dict(table):
        case {"intervals": widths}:
            return f"in ranges of {_steps(widths)}"
        case {"mask": _}:
            return "characters masked from the right"
        case {"dates": periods}:
            return f"by {_steps(periods)}"
        case {"order": _}:
            return "in ranges of a given order"
        case {"file": path}:
            return f"by the hierarchy in {visible(PurePath(str(path)).name)}"
        case _:
            return "by a hierarchy of its own"


def _steps(levels: Sequence[Any]) -> str:
    return ", then ".join(visible(level) for level in levels)
