"""Differences between what a certificate claims and what is found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from foreknow_judge.numbers import exact_text
from foreknow_judge.policy.kept_priors import KeptPriors
from foreknow_judge.policy.settings import Table
from foreknow_judge.remarks.scope import CLAIMED, Scope
from foreknow_judge.verdict import Verdict


def failure_message(finding: Verdict, groups: Sequence[str]) -> str:
    """A message that says which requirement fails, in which group, and what is reached.

    `groups` are the names of the group columns.
    """
    now = finding.to_dict()
    group_text = f"group {now['group']}" + (f" ({', '.join(groups)})" if len(groups) > 1 else "")
    if finding.of_groups:
        figures = [f"{setting} is {figure}" for setting, figure in finding.found.each.items()]
        has = ", ".join(figures) or f"{group_text} has {now['exact']}"
        message = f"{_plain(now['judged'])} does not hold: {has}"
    else:
        message = (
            f"{now['value']!r} in {group_text} reaches {now['exact']}, the limit is {finding.limit}"
        )
    return f"require[{now['requirement']}]: {message}"


def differences(
    findings: Sequence[Verdict],
    certified: Sequence[Table],
    kept_priors: KeptPriors | None,
) -> Iterator[str]:
    """Yield one message for each safe finding that differs from the certified one.

    A finding that is not safe has a message of its own. Every field must be equal, the value and
    the group too: among equally bad cases, the judge takes the first in a fixed order.
    """
    # Not strict: if one list is longer, this is a message of its own, below.
    for finding, claimed in zip(findings, certified, strict=False):
        judged = finding.to_dict()
        judged = judged if kept_priors is None else kept_priors.withheld_finding(judged)
        differing = [
            key for key in dict.fromkeys([*judged, *claimed]) if not _same(key, judged, claimed)
        ]
        if not finding.safe or not differing:
            continue
        # Only the first difference is named; if it is the chance or its limit, both are shown.
        key, where = differing[0], f"require[{judged['requirement']}]"
        limit = "limit" if finding.required.relative else finding.required.key
        if {"exact", limit} & set(differing) and limit in claimed and limit in judged:
            yield (
                f"{where}: the worst probability is {judged['exact']} and the limit "
                f"{judged[limit]}; certified are {claimed['exact']} and {claimed[limit]}"
            )
        else:
            yield (
                f"{where}: the {key} is {_short_text(judged.get(key))}; certified is "
                f"{_short_text(claimed.get(key))}"
            )
    if len(findings) != len(certified):
        yield f"{len(findings)} points are judged, {len(certified)} are certified"


def _same(key: str, judged: Table, claimed: Table) -> bool:
    """True if a field is as certified; a probability may be written with all its digits."""
    now_value, then_value = judged.get(key), claimed.get(key)
    if key == "exact" and now_value is not None and then_value is not None:
        return bool(now_value == then_value or now_value == exact_text(Fraction(then_value)))
    return _plain(now_value) == _plain(then_value)


def scope_differences(certified: Table, scope: Scope) -> Iterator[str]:
    """Messages about a certified scope that differs from what the files show."""
    judged_scope = scope.to_dict()
    for key in dict.fromkeys([*certified, *judged_scope]):
        now, then = judged_scope.get(key), certified.get(key)
        if key not in CLAIMED and now != then:
            yield f"scope: {key} is {_short_text(now)}; certified is {_short_text(then)}"


def _plain(value: Any) -> str:
    """A value as JSON, so that true is not 1; but 1 and 1.0 are the same."""
    return json.dumps(float(value) if type(value) is int else value, sort_keys=True, default=str)


def _short_text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
