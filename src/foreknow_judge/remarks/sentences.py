"""Sentences on what verdicts are not about, for both commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from foreknow_judge.files.printable import quoted, visible
from foreknow_judge.text import number, some

if TYPE_CHECKING:
    from foreknow_judge.remarks.scope import Scope

ASSUMED = "What is assumed:"
ONCE_UNSEEN = (
    "Nobody is counted twice: the policy names no identifier or person that could show it."
)
# The end of a headline if all that is required counts people, or is about labels.
UNLIMITED = ", but nothing limits inference"
# The same if people may have several cases, and criteria of values counted these.
UNLIMITED_OF_PEOPLE = f" of each case{UNLIMITED} of people"
# How far files show that requirements hold, and what else is claimed.
OF_EACH_CASE, AS_FILES_SHOW = " of each case", " as far as files show it"
OF_PEOPLE_CLAIMED = "; of people it is the publisher's word"
OF_PEOPLE_OPEN = "; of people it was not judged"
TOGETHER_OPEN = "; together with earlier releases (--after) it was not judged here"
OF_OTHERS_CLAIMED = "; what the owner counted beyond that is the publisher's word"
SEVERAL_CASES = (
    "A row is a case, and not a person: people may have several cases. A group of cases may be of "
    "one person, and how sure somebody can be of a person who has several was not judged."
)
CASES_OF_FILES = (
    "A row is a case, and the files do not show whose: a person may have several. What is verified "
    "is about cases; what the publisher counted of people stands below, and is not verified."
)
_NOTED = "The publisher notes, which is not verified:"


def noted(sentence: str) -> str:
    """Mark what a certificate says and its files do not show as the publisher's words."""
    return f"{_NOTED} {sentence}"


def how_far(verification: Any) -> tuple[str, str]:
    """How far the files of a `Verification` show that requirements hold; and what is claimed."""
    owned = bool(verification.claimed_scope.word)
    beyond = TOGETHER_OPEN if verification.has_earlier and not verification.after else ""
    if not verification.scope.cases:
        return (AS_FILES_SHOW, OF_OTHERS_CLAIMED + beyond) if owned else ("", beyond)
    return OF_EACH_CASE, (OF_PEOPLE_CLAIMED if owned else OF_PEOPLE_OPEN) + beyond


def unlimited(verification: Any, far: str = "") -> str:
    """The end of a headline on an audit or verification if nothing limits inference of people."""
    return UNLIMITED_OF_PEOPLE if verification.limits_cases else f"{far}{UNLIMITED}"


def no_limit(verification: Any) -> str:
    """The end of a headline on a verification if values or columns have no limit."""
    of_groups = [finding for finding in verification.findings if finding.of_groups]
    has_joint = not verification.counts_people and any(map(verification.limits, of_groups))
    return without_limit(verification.scope, has_joint)


def without_limit(scope: Scope, has_joint: bool = False) -> str:
    """The end of a headline: columns that nobody may know, and values and columns without a limit.

    Such as ", if nobody knows job; 2 values and income have no limit". `has_joint`: a criterion
    limits values of a column together, so they lack only a limit of their own.
    """
    secret_columns = dict.fromkeys(map(visible, chain(*scope.assumed.values())))
    proviso = f", if nobody knows {' or '.join(secret_columns)}" if secret_columns else ""
    unlimited_names = [visible(name) for name in scope.unrequired]
    if n_values := len(scope.unprotected):
        unlimited_names.insert(0, some(n_values, "value", "values"))
    if not unlimited_names:
        return proviso
    *first, last = unlimited_names
    sentence = f"{', '.join(first)} and {last}" if first else last
    verb = "have" if first or n_values > 1 else "has"
    return f"{proviso}; {sentence} {verb} no limit{' of their own' if has_joint else ''}"


def about(kind: Any, look_alikes: str = "groups") -> str:
    """A sentence on what a criterion is about, and so what it does not cover.

    `kind` is its gauge; `look_alikes` says what it counts.
    """
    if kind.of_labels:
        return "this is about labels"
    if kind.of_people:
        return f"this is about {look_alikes}, and not about what anyone can infer"
    return (
        "this is about how values are spread within groups; what somebody who knows more can infer "
        "was not judged"
    )


def rows_left_out(amount: int, noun: str = "sensitive value") -> Iterator[str]:
    """How many rows were left out, if any were."""
    if amount:
        has, them = ("row has", "it") if amount == 1 else ("rows have", "them")
        yield (
            f"{some(amount, has, has)} no {noun} and {'was' if amount == 1 else 'were'} left out; "
            f"no verdict is about {them}."
        )


def smallest_group(scope: Scope, noun: Sequence[str] = ("person", "people")) -> Iterator[str]:
    """How small groups are, if that is known."""
    if scope.smallest_group:
        n_single = scope.groups_of_one
        ending = f"; {number(n_single)} groups have only one" if n_single > 1 else ""
        yield f"The smallest group has {some(scope.smallest_group, *noun)}{ending}."


def judged_apart(scope: Scope, way: str = "") -> Iterator[str]:
    """Yield a sentence on values that were judged each by itself, if there are any.

    `way` ends it, such as with a way to judge several values as one.
    """
    if scope.apart:
        # The last of several shown values counts as one more, since "and 1 more" says little.
        listed = [quoted(value) for value in scope.apart[: -1 if scope.more_apart else None]]
        ending = f" and {number(scope.more_apart + 1)} more" if scope.more_apart else ""
        yield (
            "Values are judged one at a time: how sure anyone can be of one or another of "
            f"{', '.join(listed)}{ending} was not judged{way}."
        )
