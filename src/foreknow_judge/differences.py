"""Differences between what a certificate claims and what is found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from foreknow_judge.certificate import Certificate
from foreknow_judge.kept_priors import KeptPriors
from foreknow_judge.numbers import exact_text
from foreknow_judge.scope import CLAIMED, Scope
from foreknow_judge.settings import Table
from foreknow_judge.verdict import Verdict


def failure_message(finding: Verdict, groups: Sequence[str]) -> str:
    """A message that says which requirement fails, in which group, and what is reached."""
    now = finding.to_dict()
    named = f"group {now['group']}" + (f" ({', '.join(groups)})" if len(groups) > 1 else "")
    if finding.of_groups:
        each = [f"{setting} is {own}" for setting, own in finding.found.each.items()]
        has = ", ".join(each) or f"{named} has {now['exact']}"
        said = f"{_plain(now['judged'])} does not hold: {has}"
    else:
        said = f"{now['value']!r} in {named} reaches {now['exact']}, the limit is {finding.limit}"
    return f"require[{now['requirement']}]: {said}"


def differences(
    known: Certificate,
    findings: Sequence[Verdict],
    certified: Sequence[Table],
    kept: KeptPriors | None,
) -> Iterator[str]:
    """Messages about findings that differ from the certified ones.

    Every field must be equal, the value and the group too: of equally bad cases, the judge takes
    the first in a fixed order.
    """
    for finding, then in zip(findings, certified, strict=False):
        now = finding.to_dict()
        now = now if kept is None else kept.withheld_finding(now)
        other = [key for key in dict.fromkeys([*now, *then]) if not _same(key, now, then)]
        if not finding.safe or not other:
            continue
        key, place = other[0], f"require[{now['requirement']}]"
        limit = "limit" if finding.required.relative else finding.required.key
        if {"exact", limit} & set(other) and limit in then and limit in now:
            yield (
                f"{place}: the worst probability is {now['exact']} and the limit {now[limit]}; "
                f"certified are {then['exact']} and {then[limit]}"
            )
        else:
            yield (
                f"{place}: the {_FIELDS.get(key, key)} is {_shown(now.get(key))}; certified is "
                f"{_shown(then.get(key))}"
            )
    if len(findings) != len(certified):
        yield f"{len(findings)} points are judged, {len(certified)} are certified"


_FIELDS = {
    "requirement": "position",
    "judged": "adversary or criterion",
    "value": "value at risk",
    "group": "group at risk",
    "at_most_times": "limit (how many times the prior)",
}


def _same(key: str, now: Table, then: Table) -> bool:
    """Whether a field is as certified; a probability may be written with all its digits."""
    one, other = now.get(key), then.get(key)
    if key == "exact" and one is not None and other is not None:
        return bool(one == other or one == exact_text(Fraction(other)))
    return _plain(one) == _plain(other)


def scope_differences(known: Certificate, scope: Scope) -> Iterator[str]:
    """Messages about a certified scope that differs from what the files show."""
    found, certified = scope.to_dict(), known.scope
    for key in dict.fromkeys([*certified, *found]):
        now, then = found.get(key), certified.get(key)
        if key not in CLAIMED and now != then:
            yield f"scope: {key} is {_shown(now)}; certified is {_shown(then)}"


def _plain(value: Any) -> str:
    """A value as JSON, so that true is not 1; but 1 and 1.0 are the same."""
    return json.dumps(float(value) if type(value) is int else value, sort_keys=True, default=str)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
