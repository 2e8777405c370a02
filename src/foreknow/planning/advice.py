"""Advice: what to do where a release says next to nothing, and what was tried of that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

from foreknow.auditing.audit import Audit
from foreknow.data.microdata import Microdata
from foreknow.errors import NoSafeRelease
from foreknow.methods.protocol import grouping_of, traits_of
from foreknow.planning.costs import (
    KeptDetail,
    Relief,
    given_away,
    made_of,
    reliefs,
    sample_of,
    savings,
    worth_saying,
)
from foreknow.policy.policy import Policy
from foreknow_judge.errors import InputError
from foreknow_judge.text import people_text
from foreknow_judge.verdict import Verdict

# Shares of people that are tried, of tables of so many people.
_SHARES, _MOST_TRIED = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10)), 200_000
# Of how many cells publications are tried, and from which average NCP.
_CELLS, _MUCH = 50_000, 0.5


def advice_of(
    method: Any,
    microdata: Microdata,
    policy: Policy,
    judged: Audit,
    made: KeptDetail,
    seed: int | None,
) -> Iterator[str]:
    """Where next to nothing is left: what costs so much, and what would keep more."""
    schema, weights = policy.needed_schema, policy.options.weights
    one, lost, columns = made.groups == 1, made.lost, schema.quasi_identifiers
    worthless = len(lost) >= max(2, len(columns) - 1)
    much = one or worthless or made.loss(weights) >= _MUCH
    if not much and not lost:
        return
    if one:
        yield (
            f"Worthless: {people_text(microdata.n_people, 'all')} are in one group, so the release "
            f"says how often each {schema.sensitive!r} occurs, and ties none to {_or(columns)}"
        )
    elif lost:
        yield (
            f"{'Worthless: next' if worthless else 'Next'} to nothing is left of {_or(lost, 'and')}"
        )
    if policy.options.method == "fulldomain" and (one or lost):
        flat = [name for name in columns if name not in schema.hierarchies]
        if flat:
            yield (
                f"Without a hierarchy {_or(flat)} can only be published as it is, or not at all: "
                "add levels in [schema.hierarchies]"
            )
        yield 'FullDomain writes everybody at one level: method = "mondrian" keeps more'
    if one and (share := _by_suppressing(method, microdata, policy, seed)):
        yield share
    given = given_away(microdata, policy, columns if one else lost)
    yield from (each.said(schema.sensitive, microdata.n_people) for each in given)
    if much:  # it publishes a sample many times
        together = [each.column for each in given]
        yield from _measured(method, microdata, policy, judged, made, together)


def _by_suppressing(method: Any, microdata: Microdata, policy: Policy, seed: int | None) -> str:
    """Which share of people a method must set aside, so that it divides the others."""
    if getattr(method, "suppression", 1) or not 1 < microdata.n_people <= _MOST_TRIED:
        return ""
    for share in _SHARES:
        with suppress(InputError, NoSafeRelease):
            own = replace(method, suppression=float(share))
            found = grouping_of(own, microdata, policy, seed)
            many = int(found.of_row.max()) + 1
            if many > 1:
                aside = f", of which {people_text(found.suppressed)} in one that keeps nothing"
                return (
                    f"suppression = {float(share)} in [publish.{policy.options.method}] was tried: "
                    f"it gives {many:,} groups{aside if found.suppressed else ''}"
                )
    return ""


def _measured(
    method: Any,
    microdata: Microdata,
    policy: Policy,
    judged: Audit,
    made: KeptDetail,
    together: Sequence[str],
) -> Iterator[str]:
    """What columns, some `together`, and requirements cost, by publishing a sample without each."""
    one = made.groups == 1
    if one and len(policy.requirements) == 1 and policy.points:
        yield _nearest(_tight(judged))
    sample = sample_of(microdata, policy, _CELLS) if traits_of(method).counted else None
    everything = None if sample is None else made_of(method, sample, policy)
    if sample is None or everything is None:
        return
    of = "" if sample is microdata else f", in a sample of {people_text(sample.n_people)}"
    if policy.options.labelled:
        found = savings(method, sample, policy, everything, together)
        yield from (said + of for said in worth_saying(found, [] if one else together))
    relieved = reliefs(method, sample, policy, everything)
    if one and len(policy.requirements) > 1 and all(each.line for each in relieved):
        yield (
            "No requirement by itself keeps everybody in one group: without any one of them there "
            "would be one, too"
        )
    for relief in relieved:
        yield _relieved(relief, policy, everything, one) + of


def _relieved(relief: Relief, policy: Policy, everything: KeptDetail, one: bool) -> str:
    """What a requirement costs, or what a weaker one would keep."""
    made, requirement = relief.made, policy.requirements[relief.place]
    loss = [own.loss(policy.options.weights) for own in (made, everything)]
    kept = f"{made.groups:,} groups"
    if not one:
        kept += f", and columns generalized by {loss[0]:.0%}, not {loss[1]:.0%}"
    if relief.line:
        return f"{relief.line} in {requirement.name} was tried: it gives {kept}"
    against = "; ".join(map(str, requirement.judged))
    asks = getattr(requirement.criterion, "key", against)
    if not one:
        return f"{requirement.name} ({asks}) costs much: without it there would be {kept}"
    return (
        f"{requirement.name} ({asks}) keeps everybody in one group: without it there would be "
        f"{made.groups:,}"
    )


def _tight(judged: Audit, place: int = 0) -> Verdict:
    """Of a requirement's verdicts, that which is nearest to its limit."""
    own = [verdict for verdict in judged.verdicts if verdict.place == place]
    return max(own, key=lambda verdict: verdict.probability / float(verdict.limit))


def _nearest(tight: Verdict) -> str:
    reached, limit = tight.said
    return (
        f"{tight.requirement.name} is nearest to its limit: with everybody in one group, "
        f"{reached} is reached for {str(tight.value)!r}, and the limit is {limit}"
    )


def _or(names: Sequence[str], word: str = "or") -> str:
    known = list(map(repr, names))
    return f" {word} ".join([", ".join(known[:-1]), known[-1]] if known[1:] else known)
