"""Assumptions of verdicts, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from foreknow_judge.files.printable import visible

# What each verdict assumes that limits inference.
ASSUMPTIONS = (
    "Every way to give a group's values to its people that fits the adversary's knowledge is "
    "equally likely, unless the requirement has priors.",
    "Nobody knows statistics from elsewhere, or learns them from the release, unless the "
    "requirement has priors.",
    "Everybody may know who is in the table, and in which group.",
)
# What every count of people assumes, where rows are no cases.
ONCE_CLAIMED = "Nobody is counted twice, by the publisher's word."


def on_inference(steps: Mapping[str, Any], semantics: Any) -> Iterator[str]:
    """Yield the assumptions of a verdict that limits inference, each as a sentence.

    `steps` says of columns how their values were rounded; `semantics` is "single" where everybody
    has one value.
    """
    yield from ASSUMPTIONS
    yield from as_rounded(steps)
    if semantics != "single":
        yield (
            "People may have several values, or none. All that is known of somebody else is that "
            "they lack a value."
        )


def as_rounded(steps: Mapping[str, Any]) -> Iterator[str]:
    """The assumption on columns that are published and judged in multiples of these steps."""
    for column, step in steps.items():
        yield (
            f"Nobody knows the {visible(column)} of anybody more exactly than it is published, in "
            f"multiples of {step}."
        )
