"""A policy as a property of the tables that remain possible to somebody who knows the method."""

from __future__ import annotations

from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.data.labels.labels import is_pattern
from foreknow.features.more_methods.jump.properties import (
    All,
    Distinct,
    MaxRatio,
    Property,
    Recursive,
    RuledOut,
    as_property,
)
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Point, Requirement
from foreknow_judge.errors import PolicyError


def property_of(policy: Policy) -> Property:
    """The requirements of a policy as one property of the tables that remain possible.

    A release has the property exactly where an adversary who knows only its groups stays within
    every requirement. A disclosure set has it where an adversary who also knows the method does.

    A requirement that needs more than each person's probabilities is refused: other people's
    values, links and implications are about several people at once. Negations can be about others,
    too: of a whole release, those about the target disclose most (Theorem 19 of "Worst-Case
    Background Knowledge"), but not of a part of its tables.

    >>> strict = Requirement(Facts(l=1), below="1/2", values=["HIV"])
    >>> rest = Requirement(Facts(), below="2/3", excluded=["HIV"])
    >>> property_of(Policy([strict, rest]))
    All(RuledOut('1/2', 1, values=['HIV']), MaxRatio('2/3', strict=True, excluded=['HIV']))
    >>> property_of(Policy([Requirement(Facts(l=2), below="1/2")]))
    Recursive('1', 4)
    """
    properties: list[Property] = []
    for requirement in policy.requirements:
        _refuse_sets(requirement)
        for point in requirement.points:
            properties.append(_property_of_point(requirement, point))
        if isinstance(requirement.criterion, Property):
            properties.append(as_property(requirement.criterion))
        elif requirement.criterion is not None:
            raise PolicyError(
                f"{requirement.name}: {requirement.criterion} is not decided by each person's "
                "probabilities; choose another method than jump, safe or naive"
            )
    # The same property twice is asked once.
    distinct = list(dict.fromkeys(properties))
    return distinct[0] if len(distinct) == 1 else All(*distinct)


def _refuse_sets(requirement: Requirement) -> None:
    """Refuse requirements on sets of values, or on windows."""
    for keys, is_used in (
        ("any_of and at_level are", requirement.about_sets),
        ("within is", requirement.of_windows),
    ):
        if is_used:
            raise PolicyError(
                f"{requirement.name}: {keys} unsupported by jump, safe and naive, whose properties "
                "are about single values; choose mondrian or fulldomain"
            )


def _property_of_point(requirement: Requirement, point: Point) -> Property:
    """The property that a requirement asks at one point; refused if it needs more than chances.

    A point is one adversary with one limit; `l` is how many values of the target are ruled out.
    """
    l = _ruled_out(point)
    if l is None:
        raise PolicyError(_why_not(requirement, point))
    c, values, excluded = point.below, requirement.values, requirement.excluded
    # A value with an asterisk stands for several, which only a table could list.
    pattern = next(filter(is_pattern, map(str, (*(values or ()), *excluded))), None)
    if pattern is not None:
        raise PolicyError(
            f"{requirement.name}: {pattern!r} is unsupported by jump, safe and naive, which do not "
            "look at the values of a table; name each value, or choose mondrian or fulldomain"
        )
    if l == 0:
        return MaxRatio(c, strict=True, values=values, excluded=excluded)
    if values is not None or excluded:
        return RuledOut(c, l, values, excluded)
    # For all values alike there are properties with faster bounds. p / (p + rest) < c says that
    # the likeliest value is below c / (1 - c) times all that come after the l + 1 likeliest.
    return Distinct(l + 2) if c == 1 else Recursive(c / (1 - c), l + 2)


def _ruled_out(point: Point) -> int | None:
    """How many values of the target the adversary rules out; None if they know more than that."""
    if point.inclusive or point.relative:
        return None
    match point.adversary:
        case Facts(l=l, k=0, m=0):
            return l
        case Negations(k=0) | Implications(k=0):
            return 0
    return None


def _why_not(requirement: Requirement, point: Point) -> str:
    """The message that says why a point of a requirement cannot be judged, and what can be."""
    judgeable = []
    for p in requirement.points:
        if _ruled_out(p) is not None:
            judgeable.append(str(p.adversary))
    hint = f"; of its points, {', '.join(judgeable)} can be judged" if judgeable else ""
    start = "is about several people at once, where only each person's probabilities are counted"
    match point.adversary:
        case Facts(l=l):
            reason = f"{start}; facts = {{ l = {l}, k = 0, m = 0 }} can be judged"
        case Negations(k=k):
            reason = (
                f"{start}: negations can be about others; facts = {{ l = {k} }} can be judged, "
                "which is the same for an adversary who does not know the method"
            )
        case Implications():
            reason = f"{start}; implications = {{ k = 0 }} can be judged"
        case _:
            reason = "knows more than which tables are possible; facts = { l = ... } can be judged"
    return (
        f"{requirement.name}: {point.adversary} cannot be judged by a method that foresees who "
        f"knows it (jump, safe, naive): it {reason}{hint}. Or choose another method, or give Jump "
        "a property of your own in Python"
    )
