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
    kept_by,
    reliefs,
    sample_of,
    savings,
    worth_saying,
)
from foreknow.policy.policy import Policy
from foreknow.wording import people_text
from foreknow_judge.errors import InputError
from foreknow_judge.verdict import Verdict

# Shares of people that are tried, of tables of so many people.
_SHARES, _MOST_TRIED = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10)), 200_000
# Of how many cells publications are tried, and from which average NCP.
_CELLS, _MUCH = 50_000, 0.5


def advice_of(
    method: Any,
    microdata: Microdata,
    policy: Policy,
    audit: Audit,
    kept_detail: KeptDetail,
    seed: int | None,
) -> Iterator[str]:
    """Yield sentences for a release that keeps next to nothing: what costs much, what keeps more.

    `kept_detail` says how much each column keeps. Nothing is said of a release that keeps enough.
    """
    schema, weights = policy.needed_schema, policy.options.weights
    in_one_group = kept_detail.groups == 1
    lost_columns = kept_detail.lost
    columns = schema.quasi_identifiers
    is_worthless = len(lost_columns) >= max(2, len(columns) - 1)  # at most one column is left
    is_much_lost = in_one_group or is_worthless or kept_detail.loss(weights) >= _MUCH
    if not is_much_lost and not lost_columns:
        return
    if in_one_group:
        yield (
            f"Worthless: {people_text(microdata.n_people, 'all')} are in one group, so the release "
            f"says how often each {schema.sensitive!r} occurs, and ties none to {_names(columns)}"
        )
    elif lost_columns:
        beginning = "Worthless: next" if is_worthless else "Next"
        yield f"{beginning} to nothing is left of {_names(lost_columns, 'and')}"
    if policy.options.method == "fulldomain" and (in_one_group or lost_columns):
        without_hierarchy = []
        for name in columns:
            if name not in schema.hierarchies:
                without_hierarchy.append(name)
        if without_hierarchy:
            yield (
                f"Without a hierarchy {_names(without_hierarchy)} can only be published as it is, "
                "or not at all: add levels in [schema.hierarchies]"
            )
        yield 'FullDomain writes everybody at one level: method = "mondrian" keeps more'
    by_suppressing = _by_suppressing(method, microdata, policy, seed) if in_one_group else ""
    if by_suppressing:
        yield by_suppressing
    revealing = given_away(microdata, policy, columns if in_one_group else lost_columns)
    yield from (column.said(schema.sensitive, microdata.n_people) for column in revealing)
    if is_much_lost:  # it publishes a sample many times
        revealing_columns = [column.column for column in revealing]
        yield from _measure_costs(method, microdata, policy, audit, kept_detail, revealing_columns)


def _by_suppressing(method: Any, microdata: Microdata, policy: Policy, seed: int | None) -> str:
    """A sentence on the share of people that a method must set aside to divide the others.

    Empty if no small share helps, or if it is not tried: the method sets people aside already, or
    cannot, or the table is too large.
    """
    if getattr(method, "suppression", 1) or not 1 < microdata.n_people <= _MOST_TRIED:
        return ""
    for share in _SHARES:
        with suppress(InputError, NoSafeRelease):
            suppressing = replace(method, suppression=float(share))
            grouping = grouping_of(suppressing, microdata, policy, seed)
            n_groups = int(grouping.of_row.max()) + 1
            if n_groups > 1:
                aside_text = (
                    f", of which {people_text(grouping.suppressed)} in one that keeps nothing"
                )
                return (
                    f"suppression = {float(share)} in [publish.{policy.options.method}] was tried: "
                    f"it gives {n_groups:,} groups{aside_text if grouping.suppressed else ''}"
                )
    return ""


def _measure_costs(
    method: Any,
    microdata: Microdata,
    policy: Policy,
    audit: Audit,
    kept_detail: KeptDetail,
    revealing_columns: Sequence[str],
) -> Iterator[str]:
    """Yield sentences on what columns and requirements cost, by publishing a sample without each.

    `revealing_columns` tell the sensitive value of many people; they are left out together, too.
    """
    in_one_group = kept_detail.groups == 1
    if in_one_group and len(policy.requirements) == 1 and policy.points:
        yield _sentence_on_limit(_nearest_to_limit(audit))
    # A method that looks at each row takes too long to be tried many times.
    sample = sample_of(microdata, policy, _CELLS) if traits_of(method).counted else None
    if sample is not microdata and getattr(method, "cuts", 1) > 1:
        method = replace(method, cuts=1)  # half the time, for figures of a sample
    everything = None if sample is None else kept_by(method, sample, policy)
    if sample is None or everything is None:
        return
    about_sample = "" if sample is microdata else f", in a sample of {people_text(sample.n_people)}"
    if policy.options.labelled:
        measured_savings = savings(method, sample, policy, everything, revealing_columns)
        also_tried = [] if in_one_group else revealing_columns
        for sentence in worth_saying(measured_savings, also_tried):
            yield sentence + about_sample
    relieved = reliefs(method, sample, policy, everything)
    if in_one_group and len(policy.requirements) > 1 and all(relief.line for relief in relieved):
        yield (
            "No requirement by itself keeps everybody in one group: without any one of them there "
            "would be one, too"
        )
    for relief in relieved:
        yield _relief_sentence(relief, policy, everything, in_one_group) + about_sample


def _relief_sentence(
    relief: Relief, policy: Policy, everything: KeptDetail, in_one_group: bool
) -> str:
    """A sentence on the cost of a requirement, or on the gain of a weaker one.

    `relief` has the detail that is kept without the requirement, or with the weaker one that
    `relief.line` writes; `everything` is the detail with it.
    """
    without_it, requirement = relief.kept_detail, policy.requirements[relief.place]
    weights = policy.options.weights
    outcome = f"{without_it.groups:,} groups"
    if not in_one_group:
        loss, loss_with_it = without_it.loss(weights), everything.loss(weights)
        outcome += f", and columns would lose {loss:.0%} of their detail, not {loss_with_it:.0%}"
    if relief.line:
        return f"{relief.line} in {requirement.name} was tried: it gives {outcome}"
    adversaries = "; ".join(map(str, requirement.judged))
    criterion = getattr(requirement.criterion, "key", adversaries)
    if not in_one_group:
        return f"{requirement.name} ({criterion}) costs much: without it there would be {outcome}"
    return (
        f"{requirement.name} ({criterion}) keeps everybody in one group: without it there would be "
        f"{without_it.groups:,}"
    )


def _nearest_to_limit(audit: Audit) -> Verdict:
    """The verdict of the first requirement that is nearest to its limit."""
    verdicts = [verdict for verdict in audit.verdicts if verdict.place == 0]
    return max(verdicts, key=lambda verdict: verdict.probability / float(verdict.limit))


def _sentence_on_limit(verdict: Verdict) -> str:
    reached, limit = verdict.said
    return (
        f"{verdict.requirement.name} is nearest to its limit: with everybody in one group, "
        f"{reached} is reached for {str(verdict.value)!r}, and the limit is {limit}"
    )


def _names(names: Sequence[str], conjunction: str = "or") -> str:
    quoted = list(map(repr, names))
    return f" {conjunction} ".join([", ".join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)
