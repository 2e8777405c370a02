"""Remark: what stands beside verdicts on one subject: its field, its count and its sentences.

Each is a value of its own; `remarks.py` says in which order they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from foreknow.data.counts import GroupCounts
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.wording import few, listing
from foreknow_judge.files.printable import visible
from foreknow_judge.remarks.scope import Scope

MOST = 6  # how many names a list shows
# Where nothing says which release is attacked.
ATTACK = "foreknow attack --help"


class JudgedRelease:
    """A release and what a policy requires of it: what remarks are counted of."""

    def __init__(self, release: Release, policy: Policy | None) -> None:
        self.policy, self.schema = policy, None if policy is None else policy.schema
        self.requirements = () if policy is None else policy.requirements
        self.on_values = [] if policy is None else policy.on_values
        self.on_people = [] if policy is None else policy.on_people
        self.columns = release.by_column()
        self.table: Any = None if release.is_bare else release

    @cached_property
    def about(self) -> dict[str, list[Requirement]]:
        """The requirements on the values of each sensitive column, by column.

        A requirement that names no column is about the main one.
        """
        main, *further_columns = self.columns
        requirements_of: dict[str, list[Requirement]] = {name: [] for name in self.columns}
        for required in self.on_values:
            column = (required.sensitive or main) if further_columns else main
            if column in requirements_of:
                requirements_of[column].append(required)
        return requirements_of

    @cached_property
    def limits(self) -> list[tuple[str, GroupCounts, list[Requirement]]]:
        """Each column ("" if it is the only one), its counts, and the limits on inference."""
        limits = []
        for column, counts in self.columns.items():
            required = [requirement for requirement in self.about[column] if requirement.points]
            limits.append((self.called(column), counts, required))
        return limits

    def called(self, column: str) -> str:
        """The name of a column in remarks; none, if it is the only one."""
        return column if len(self.columns) > 1 else ""

    @cached_property
    def sights(self) -> list[Any]:
        """The sight of each requirement on values."""
        layout = self.table.layout
        return [required.seen_columns(layout) for required in self.on_values]

    @cached_property
    def looked_at(self) -> list[str]:
        """The columns beside each other that all requirements look at."""
        layout = self.table.layout
        known_columns = [required.seen_columns(layout).known for required in self.on_people]
        return list(layout.looked_at(self.sights, known_columns))

    @cached_property
    def unseen(self) -> list[str]:
        """The columns of the table that are neither judged nor known by priors."""
        priors = [] if self.policy is None else sorted(self.policy.attributes)
        quasi_identifiers = None if self.schema is None else self.schema.quasi_identifiers
        return list(self.table.unseen([*priors, *self.looked_at], quasi_identifiers))


class SpreadLimits(NamedTuple):
    """The criteria on a sensitive column, and whether single values have a limit."""

    criteria: Sequence[str] = ()  # that limit all values together, by their keys
    some_alone: bool = False  # whether some values have a limit by themselves


class Reader(NamedTuple):
    """Who reads the remarks, beside what, and how people and values are called."""

    scope: Scope
    noun: str = "sensitive value"
    holders: tuple[str, str] = ("person", "people")  # one and several who have a value
    limits: bool = True  # whether any requirement is about how sure somebody may become
    unlimited: bool = False  # whether nothing that is required limits inference
    spread: Mapping[str, SpreadLimits] = {}  # what is required of each sensitive column
    attack: str = ATTACK  # the command that attacks the release, or ""
    is_owner: bool = True  # whether they are the owner, who can change the policy

    def way_out(self, sentence: str) -> str:
        """A sentence about what the owner can do; empty for other readers."""
        return sentence if self.is_owner else ""


Say: TypeAlias = Callable[[Any, Reader], Iterable[str]]
Count: TypeAlias = Callable[[JudgedRelease], Any]
Publish: TypeAlias = Callable[[Any, Schema], Any]


class Remark(NamedTuple):
    """A field of a `Scope`, the sentences on its value, how it is counted and what is published.

    What is counted neither of counts nor of a table is counted by the judge, or is known to
    whoever made the release. Without a sentence of its own, that of another remark has it.
    """

    field: str
    say: Say = lambda value, reader: ()
    of_counts: Count | None = None
    of_table: Count | None = None  # where a table is at hand
    published: Publish = lambda value, schema: value  # what of it others than the owner may read


# ---- words --------------------------------------------------------------------------------------


def always(sentence: str) -> Say:
    """One sentence, whatever the value."""
    return lambda _, reader: [sentence]


def on_each(sentence: str, quote: Callable[[str], str] = visible) -> Say:
    """The sentence on each of several names."""
    return lambda names, reader: [sentence.format(quote(name)) for name in names]


def on_all(sentence: str) -> Say:
    """A function that fills a sentence on columns with their names.

    {few} becomes the first few names, {every} all of them; {are} and {them} become "is" and "it"
    for a single name.
    """

    def say(names: Sequence[str], reader: Reader) -> list[str]:
        are, pronoun = ("are", "them") if names[1:] else ("is", "it")
        quoted_names = few(map(visible, names))
        return [sentence.format(few=quoted_names, every=listed(names), are=are, them=pronoun)]

    return say


def of_column(column: str) -> str:
    """The words that name a column, if there are several."""
    return f" of {visible(column)}" if column else ""


def marked(value: str) -> str:
    """A value between quotation marks."""
    return f"'{visible(value)}'"


def listed(names: Sequence[str], conjunction: str = "and") -> str:
    """All names, however many."""
    return listing([*map(visible, names)], conjunction, n_shown=len(names))
