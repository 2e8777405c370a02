"""The last gate of a publication: what can be learned from it, estimated, and stricter rounds."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from foreknow.auditing.audit import Estimate
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import JointLabels, Labels
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.data.sights import Sight
from foreknow.data.sparse import IntArray, combine
from foreknow.errors import NoSafeRelease, PolicyError
from foreknow.methods.protocol import Grouping, traits_of
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.verifier.verify import Written, estimates

_log = logging.getLogger(__name__)

# How often stricter limits are tried: the interval of factors is halved each time.
ROUNDS = 6
# So far the verifier's own estimate may be off, which shares no code and takes other steps.
TOLERANCE = 0.02
# What a certificate does not say of an estimate by columns that are not published exactly.
KEPT = ("below", "value", "group", "probability", "statistics", "guesses", "smoothing")


class Gated(NamedTuple):
    """Groups that keep what the policy says of learning; with limits so many times as high."""

    grouping: Grouping
    factor: Fraction


def gated(
    make: Callable[[Policy], Grouping], microdata: Microdata, policy: Policy, method: Any
) -> Gated:
    """Group by what the policy settles; where too much can be learned, with stricter limits.

    Raises
    ------
    PolicyError
        If the policy has estimates only.
    NoSafeRelease
        If no round keeps the limits.
    """
    inner = policy.settled
    if inner is None:
        raise PolicyError(
            "the policy only limits what is learned from the release, which is an estimate: "
            "nothing could be certified. Add a requirement that can be settled, such as facts = "
            '{ l = 1 } with below = "1/2"'
        )
    found = make(inner)
    if inner is policy:
        return Gated(found, Fraction(1))
    excess, said = _judged(found.of_row, microdata, policy)
    if excess <= 0:
        return Gated(found, Fraction(1))
    _log.info("too much can be learned: %s", said)
    best, first = (excess, said), said
    kept: Gated | None = None
    asks = traits_of(method).consults_policy or getattr(method, "l", 0) is None
    asks = asks and any(requirement.points for requirement in inner.requirements)
    low, high = Fraction(0), Fraction(1)
    for _ in range(ROUNDS if asks else 0):
        factor = (low + high) / 2
        stricter = [_scaled(each, factor) for each in inner.requirements]
        try:
            found = make(replace(inner, requirements=stricter))
        except NoSafeRelease:
            low = factor
            continue
        excess, said = _judged(found.of_row, microdata, policy)
        _log.info("with limits %s times as high: %s", factor, said or "within")
        if excess <= 0:
            kept, low = Gated(found, factor), factor
        else:
            high = factor
            best = min(best, (excess, said))
    if kept is not None:
        return kept
    tried = (
        f" With limits of the other requirements made stricter, in {ROUNDS} rounds, the least was: "
        f"{best[1]}."
        if asks
        else f" {type(method).__name__} does not make other groups for stricter limits."
    )
    raise NoSafeRelease(
        f"too much can be learned from the release, by an estimate: {first}.{tried} Raise the "
        "limit, or generalize or leave out what statistics are by"
    )


def _judged(of_row: IntArray, microdata: Microdata, policy: Policy) -> tuple[float, str]:
    """How far what is learned from groups is above its limits; 0 or less where it is not."""
    groups = np.asarray(of_row)[microdata.kept]
    columns = policy.combined(microdata).values
    excess, said = -1.0, ""
    for requirement in policy.requirements:
        if not any(point.estimated for point in requirement.points):
            continue
        sight = _sight(requirement, microdata, groups, columns)
        for point, found in zip(requirement.points, requirement.disclosures(sight), strict=True):
            top = point.worst(found)
            over = top.probability - float(point.limit(top))
            if not point.holds(top) and over >= excess:
                chance, limit = point.said(top)
                excess = max(over, 1e-12)
                said = (
                    f"{requirement.name}: {point.adversary} reaches about {chance} for "
                    f"{str(top.value)!r}, the limit is {limit}"
                )
    return excess, said


def _sight(
    requirement: Requirement, microdata: Microdata, groups: IntArray, columns: Labels
) -> Sight:
    """Groups that are not written yet, for one requirement: its column, in divided groups."""
    sensitive = requirement.sensitive or microdata.schema.sensitive
    known = requirement.sight(columns.layout).known if isinstance(columns, JointLabels) else ()
    if known:
        beside = microdata.combined(known)
        codes = beside.sensitive_codes.astype(np.int64)
        groups = combine([groups, codes], [int(groups.max()) + 1, len(beside.values)])[0]
    (column,) = (own for own in microdata.sensitives if own.name == sensitive)
    counts = GroupCounts.from_pairs(
        groups,
        column.codes,
        values=Labels(column.domain),
        n_groups=int(groups.max()) + 1,
        weights=microdata.times,
    )
    return Sight(counts, microdata, groups, sensitive)


def _scaled(requirement: Requirement, factor: Fraction) -> Requirement:
    """A requirement with a lower limit; one that has none, or is relative, as it is."""
    points = requirement.points
    if not points or any(point.relative for point in points):
        return requirement
    return requirement.at(point._replace(below=point.below * factor) for point in points)


def gate_notes(gate: Gated) -> tuple[str, ...]:
    """What readers of a release should know of it."""
    if gate.factor == 1:
        return ()
    return (
        f"the limits of other requirements were made {float(gate.factor):.3g} times as high, so "
        "that what can be learned from the release is within its limit, by an estimate",
    )


def sight_of(
    release: Release, microdata: Microdata, groups: IntArray, called: Mapping[str, Any]
) -> Sight:
    """A release as somebody sees it who knows the exact quasi-identifiers of everybody."""
    columns = [labels.to_pylist() for labels in called.values()]
    labels: Any = release.counts.groups
    place = {
        tuple(label) if isinstance(label, tuple) else (label,): i for i, label in enumerate(labels)
    }
    of_group = np.array([place[label] for label in zip(*columns, strict=True)], dtype=np.int64)
    sensitive = microdata.schema.sensitive
    return Sight(release.counts, microdata, of_group[groups], sensitive, release.name, release)


def certified(
    found: Sequence[Estimate], policy: Policy, written: Written
) -> tuple[dict[str, Any], ...]:
    """Estimates as a certificate has them; `checked` where the verifier's own are about the same.

    It can only estimate what is learned by columns that are published exactly. What was found by
    others stays with the owner: its digits would let anybody test guesses of these columns.
    """
    if not found:
        return ()
    tables = policy.to_dict()["require"]
    each = iter(found)
    rows = []
    for position, requirement in enumerate(policy.requirements):
        for point in requirement.points:
            if not point.estimated:
                continue
            one = next(each)
            fit, witness = one.details["fit"], one.disclosure.witness
            label = None if witness is None else witness.group  # type: ignore[attr-defined]
            rows.append(
                {
                    "requirement": position,
                    "adversary": point.adversary.to_dict(),
                    "below": float(one.limit),
                    **({"inclusive": True} if point.inclusive else {}),
                    **({"times": str(point.below)} if point.relative else {}),
                    "value": None if one.disclosure.value is None else str(one.disclosure.value),
                    "group": None if label is None else _named(label),
                    "probability": one.disclosure.probability,
                    "statistics": None if witness is None else witness.statistics,  # type: ignore[attr-defined]
                    "guesses": one.details["guesses"],
                    "smoothing": fit["smoothing"],
                    "seed": fit["seed"],
                    "checked": False,
                    "estimate": True,
                }
            )
    schema = policy.to_dict().get("schema", {})
    seen = [row for row in rows if in_files(row, written.form, schema)]
    for row in rows:
        if row not in seen:
            row |= dict.fromkeys(KEPT)
    try:
        own = estimates(written, tables, {row["requirement"]: row["smoothing"] for row in seen})
    except (ValueError, ArithmeticError):
        own = []
    of_row = {(e.requirement, str(dict(e.adversary))): e for e in own}
    for row in seen:
        judged = of_row.get((row["requirement"], str(row["adversary"])))
        row["checked"] = judged is not None and same(row, judged.probability)
    return tuple(rows)


def same(row: Mapping[str, Any], probability: float) -> bool:
    """Whether the verifier's own estimate is about what is certified."""
    return abs(float(row["probability"]) - probability) <= TOLERANCE


def in_files(row: Mapping[str, Any], form: str, schema: Mapping[str, Any]) -> bool:
    """Whether what is learned is by columns that the files have exactly."""
    (settings,) = row["adversary"].values()
    return form == "bucketized" or set(settings["by"]) <= set(schema.get("other", ()))


def _named(label: Any) -> str:
    parts = label if isinstance(label, tuple) else (label,)
    return ", ".join("missing" if part is None else str(part) for part in parts)
