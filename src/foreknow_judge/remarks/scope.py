"""Scope: what the verdicts on a release do not cover, in numbers and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

from pydantic import Field

from foreknow_judge.files.json_values import Plain
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.policy.grammar import LISTED, Count, Flag, Names

T = TypeVar("T")
Listed: TypeAlias = Annotated[tuple[T, ...], LISTED]
Pairs: TypeAlias = Listed[Annotated[tuple[str, str], LISTED]]
Of: TypeAlias = Annotated[tuple[Count, Count], LISTED]  # so many of so many
OfMethod: TypeAlias = Annotated[
    str, Field(pattern=r"^(not judged|as required|frequencies|at most [0-9/]{1,99})\z")
]


@dataclass(frozen=True)
class Claimed:
    """Claims that only the publisher can know; the files do not show them.

    Attributes
    ----------
    left_out : int or None
        Rows that were not counted since they lack a sensitive value; with several sensitive
        columns, since they lack any of them.
    method : str or None
        The result for an adversary who knows the method: "not judged"; "frequencies", if it is
        proved that they believe the frequencies of the group; "at most 1/4", if it is proved that
        they are never surer; "as required", if the method keeps the policy against them.
    people_suppressed : int
        People whom the method put into one group that shows none of their quasi-identifiers.
    shared : tuple of str
        Columns of the raw table whose values are each shared by a few rows, such as household
        numbers; "" stands for a column that must not be named.
    numbers : tuple of str
        Published columns that look like numbers of people with several rows each, if nothing says
        which rows belong to whom.
    word : tuple of str
        Requirements that hold but that only the owner could judge, since the release does not show
        whose cases its rows are, or lacks a column.
    several_answers : tuple of (str, str)
        Sensitive columns ("" if there is only one) whose values hold several answers each, and the
        text between the answers; each value was judged as a whole.
    amounts : tuple of str
        Sensitive columns ("" if there is only one) whose values are amounts written as texts, such
        as $1,234, so that none count as near each other.
    near : tuple of (str, str, str, int, int)
        If each number or date is judged by itself: the sensitive column, if there are several; the
        lowest and highest value of the group whose values are nearest, and its number of people;
        in how many groups all values are within 10% of each other, or 30 days.
    """

    left_out: Count | None = None
    method: OfMethod | None = None
    people_suppressed: Count = 0
    shared: Names = ()
    numbers: Names = ()
    word: Names = ()
    several_answers: Pairs = ()
    amounts: Names = ()
    near: Listed[Annotated[tuple[str, str, str, Count, Count], LISTED]] = ()


# Of these a certificate is the only source.
CLAIMED = tuple(claimed.name for claimed in fields(Claimed))


@dataclass(frozen=True)
class Sizes:
    """How small the groups are, and what they do not show.

    Attributes
    ----------
    lacking : mapping of str to int
        If several sensitive columns are counted separately: the rows that lack each of them.
    smallest_group, groups_of_one : int
        People in the smallest group, and the number of groups of one person.
    without_value : int
        People in groups where nobody has a sensitive value; with several columns, of the first.
    without : mapping of str to int
        The same for each sensitive column, if there are several and it is not 0.
    suppressed : tuple of str or None
        Columns that make groups but show nothing, since they are ``*`` everywhere.
    """

    lacking: Mapping[str, Count] = field(default_factory=dict)
    smallest_group: Count = 0
    groups_of_one: Count = 0
    without_value: Count = 0
    without: Mapping[str, Count] = field(default_factory=dict)
    suppressed: Names | None = None


@dataclass(frozen=True)
class Values:
    """Values that requirements protect less than it seems, and names that fit no value.

    Attributes
    ----------
    unprotected : mapping of str to int
        Sensitive values that no requirement is about, and how often each occurs; the most frequent
        first.
    unrequired : tuple of str
        Sensitive columns that no requirement is about.
    values_and_people : (int, int) or None
        Numbers of distinct sensitive values and of people, if single values are secrets and there
        are nearly as many values as people.
    crowded : mapping of str to (int, int)
        The same for each sensitive column, if there are several.
    apart : tuple of str
        The most frequent values that are secrets by themselves and belong to no set.
    more_apart : int
        How many further values like these there are.
    alike : tuple of tuples of str
        Sensitive values that differ only by case, spaces, Unicode form or diacritics, or are one
        number.
    extremes : tuple of (str, str, str, int, int)
        If near values are secrets: the sensitive column, if there are several; "lowest" or
        "highest"; the value at which that tenth of the table ends; how many groups lie entirely in
        that tenth, and how many people they have.
    absent : tuple of (str, str)
        Values that a policy names but nobody has, each with the most similar value, or "".
    idle : tuple of str
        Secrets of which nobody has a value, so that they require nothing of the table.
    begin_alike : tuple of (str, str)
        Values outside a secret that begin like one of its values, each with that value; at most
        twenty.
    no_numbers : tuple of str
        Values that are not numbers, and so are in no range, if a requirement is about ranges.
    """

    unprotected: Mapping[str, Count] = field(default_factory=dict)
    unrequired: Names = ()
    values_and_people: Of | None = None
    crowded: Mapping[str, Of] = field(default_factory=dict)
    apart: Names = ()
    more_apart: Count = 0
    alike: Listed[Annotated[Names, Field(min_length=2)]] = ()
    extremes: Listed[
        Annotated[
            tuple[str, Annotated[str, Field(pattern=r"^(lowest|highest)\z")], str, Count, Count],
            LISTED,
        ]
    ] = ()
    absent: Pairs = ()
    idle: Names = ()
    begin_alike: Pairs = ()
    no_numbers: Names = ()


@dataclass(frozen=True)
class Sights:
    """Columns assumed to be known of everybody, and columns that no requirement covers.

    Attributes
    ----------
    beside : tuple of str or None
        Columns of the table that no requirement looks at.
    exact : tuple of str
        Quasi-identifiers that are published unchanged, as in the bucketized form.
    known : tuple of str
        The columns that the adversary is assumed to know of everyone, if no policy says which.
    assumed : mapping of str to tuple of str
        For each sensitive column, the columns beside it that a requirement on it assumes nobody
        knows.
    if_known : mapping of str to (int, int)
        Of a sensitive column, how many people were at a limit if all that were known of everybody,
        and of how many; not in a certificate.
    shuffled : tuple of str
        Columns said to be shuffled within each group, which the table cannot show.
    identifiers : tuple of str
        Columns of the table that name people, according to the policy.
    """

    beside: Names | None = None
    exact: Names = ()
    known: Names = ()
    assumed: Mapping[str, Names] = field(default_factory=dict)
    if_known: Mapping[str, Of] = field(default_factory=dict)
    shuffled: Names = ()
    identifiers: Names = ()


@dataclass(frozen=True)
class Grounds:
    """On what the verdicts rest: how rows were counted, on whose word, and of which releases.

    Attributes
    ----------
    linked : bool
        Whether the table shows which values belong to the same person.
    tallied : bool
        Whether the table was counted elsewhere, so that its other columns are unknown.
    cases : bool
        Whether rows are cases, of which a person may have several.
    open : tuple of str
        Columns that decide who cannot have a value, if labels leave open who that is; people who
        perhaps cannot were not counted among those who can.
    foreign : tuple of str
        Kinds of knowledge and criteria of other packages by which the release was judged, and these
        packages, on whose word the result rests.
    releases : tuple of (str, int)
        If several releases of the same people are judged as one: the name of each, and how many
        people it shows.
    earlier : tuple of int
        How many people each earlier release shows, of other people of the same register; not in a
        certificate, which has them under ``after``.
    written : mapping of str to str
        The day on which each of several releases was written; for the owner only.
    names_alike : tuple of (str, str)
        Names in two releases that differ only by hyphens and other marks; for the owner only.
    """

    linked: Flag = False
    tallied: Flag = False
    cases: Flag = False
    open: Names = ()
    foreign: Names = ()
    releases: Listed[Annotated[tuple[str, Count], LISTED]] = ()
    earlier: tuple[Count, ...] = ()
    written: Mapping[str, str] = field(default_factory=dict)
    names_alike: Pairs = ()


@dataclass(frozen=True)
class Scope(Claimed, Sizes, Values, Sights, Grounds, Plain):
    """The limits of the verdicts: everything they do not cover; None or empty if not known."""

    _json_fields = (
        "left_out smallest_group groups_of_one without_value unprotected beside suppressed "
        "exact? method unrequired? shuffled? known? identifiers? assumed? if_known? lacking? "
        "without? people_suppressed? linked? tallied? values_and_people? crowded? alike? apart? "
        "absent? idle? begin_alike? no_numbers? extremes? near? several_answers? amounts? cases? "
        "releases? earlier? written? names_alike? shared? numbers? open? word? foreign?"
    )

    # A certificate's scope is read by these types; other keys are refused.
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __post_init__(self) -> None:
        # Orders what has no order of its own, so that equal scopes are written alike.
        set_fields(
            self,
            unprotected=dict(
                sorted(self.unprotected.items(), key=lambda item: (-item[1], item[0]))
            ),
            crowded=dict(sorted(self.crowded.items())),
            unrequired=tuple(sorted(self.unrequired)),
        )

    def _content(self) -> dict[str, Any]:
        content = super()._content()
        return {**content, "more_apart": self.more_apart} if self.apart else content
