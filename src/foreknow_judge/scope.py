"""Scope: what the verdicts on a release did not look at, in numbers and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import Field

from foreknow_judge.frozen import set_fields
from foreknow_judge.grammar import LISTED, Amount, Flag, Names
from foreknow_judge.json_values import Plain

Pairs: TypeAlias = Annotated[tuple[Annotated[tuple[str, str], LISTED], ...], LISTED]
Extreme: TypeAlias = Annotated[
    tuple[str, Annotated[str, Field(pattern=r"^(lowest|highest)\z")], str, Amount, Amount], LISTED
]
Near: TypeAlias = Annotated[tuple[str, str, str, Amount, Amount], LISTED]
OfMethod: TypeAlias = Annotated[
    str, Field(pattern=r"^(not judged|as required|frequencies|at most [0-9/]{1,99})\z")
]


# What only the publisher knows of a release; its files do not tell.
CLAIMED = (
    "left_out",
    "method",
    "people_suppressed",
    "shared",
    "numbers",
    "word",
    "several_answers",
    "amounts",
    "near",
)


@dataclass(frozen=True)
class Scope(Plain):
    """What stands beside the verdicts; None, or nothing, where it is not known.

    Attributes
    ----------
    left_out : int or None
        Rows without a sensitive value, which were not counted; of several columns, rows that lack
        one of them.
    lacking : mapping of str to int
        Where each of several columns is counted by itself, the rows that lack it.
    smallest_group, groups_of_one : int
        People of the smallest group, and how many groups have one person.
    without_value : int
        People in groups in which nobody has a sensitive value; of several columns, of the first.
    without : mapping of str to int
        The same of each of several columns, where there are any.
    unprotected : mapping of str to int
        Sensitive values that no requirement is about, and how often each occurs; the most frequent
        first.
    beside : tuple of str or None
        Columns of the table that no requirement looks at.
    suppressed : tuple of str or None
        Columns that make groups, and of which nothing is published: they are ``*`` everywhere.
    exact : tuple of str
        Quasi-identifiers that are published of everybody as they are, as in the bucketized form.
    method : str or None
        What came of an adversary who knows the method: "not judged"; "frequencies", where by a
        proof they believe the frequencies of the group; "at most 1/4", where by a proof they are
        never surer; "as required", where the method holds the policy against them.
    linked : bool
        Whether the table shows which of several values are of one person.
    values_and_people : (int, int) or None
        How many sensitive values and people there are, where a requirement is about single values
        and these are nearly as many as people.
    crowded : mapping of str to (int, int)
        The same of each of several sensitive columns.
    alike : tuple of tuples of str
        Sensitive values that differ only by case, spaces, Unicode form or diacritics, or are one
        number.
    apart : tuple of str
        Values that are judged each by itself and in no set: the most frequent of them.
    more_apart : int
        How many more these are.
    unrequired : tuple of str
        Sensitive columns that no requirement is about.
    assumed : mapping of str to tuple of str
        Of a sensitive column, what is published beside it and what a requirement on it takes nobody
        to know.
    if_known : mapping of str to (int, int)
        Of a sensitive column, how many people were at a limit if all that were known of everybody,
        and of how many; not in a certificate.
    shuffled : tuple of str
        Columns that are said to be shuffled within each group, which a table does not show.
    known : tuple of str
        Where no policy says it: the columns that the adversary is taken to know of everybody.
    identifiers : tuple of str
        Columns of the table that name people, as a policy says.
    people_suppressed : int
        People whom the method put into one group that keeps nothing of their quasi-identifiers.
    absent : tuple of (str, str)
        What lists of a policy name and nobody has, and the value that is spelt most like it, or "".
    idle : tuple of str
        Secrets of which nobody has a value: a requirement asks nothing of the table for them.
    begin_alike : tuple of (str, str)
        Values that begin like one that a requirement names, and are not in its secret; and that
        one. Twenty at most.
    no_numbers : tuple of str
        Values in no range, where a requirement is about ranges, as they are no numbers.
    extremes : tuple of (str, str, str, int, int)
        Where near values are hidden: the sensitive column, of several; "lowest" or "highest"; the
        value up to or from which that tenth of the table goes; how many groups lie wholly in it,
        and how many people these have.
    several_answers : tuple of (str, str)
        Sensitive columns (of one, "") whose values hold several answers each, and what stands
        between these; each value was judged as a whole.
    amounts : tuple of str
        Sensitive columns (of one, "") whose values are texts of amounts, such as $1,234, of which
        none are near each other.
    near : tuple of (str, str, str, int, int)
        Where numbers or dates are judged each by itself: the sensitive column, of several; the
        lowest and the highest of the group in which they are nearest, and how many people it has;
        in how many groups all are within 10% of each other, or 30 days.
    tallied : bool
        Whether others counted the table, so that nobody knows what else it has.
    cases : bool
        Whether rows are cases, of which a person may have several.
    releases : tuple of (str, int)
        Where several releases of the same people are judged as one: what each is called, and how
        many people it shows.
    earlier : tuple of int
        How many people each release shows that was published before, of other people of the same
        register; not in a certificate, which says it otherwise.
    written : mapping of str to str
        Of these, the day on which each was written; for the owner only.
    names_alike : tuple of (str, str)
        Names in two of these that differ by hyphens and other marks alone; for the owner only.
    shared : tuple of str
        Columns of the raw table of which a few rows each share a value, such as a household's
        number; the empty text is a column that is not to be named.
    numbers : tuple of str
        Published columns that look like numbers of people who have several rows, where nothing says
        whose rows are.
    open : tuple of str
        Columns by which some people cannot have a value, where labels leave open who these are; who
        perhaps cannot was not counted among those who can.
    word : tuple of str
        What only the owner could judge, since the release does not show whose cases rows are, or a
        column that is asked for: what was required, and held.
    foreign : tuple of str
        Kinds of knowledge and criteria of other packages by which the release was judged, and these
        packages: that they hold is their word.
    """

    _told = (
        "left_out smallest_group groups_of_one without_value unprotected beside suppressed "
        "exact? method unrequired? shuffled? known? identifiers? assumed? if_known? lacking? "
        "without? people_suppressed? linked? tallied? values_and_people? crowded? alike? apart? "
        "absent? idle? begin_alike? no_numbers? extremes? near? several_answers? amounts? cases? "
        "releases? earlier? written? names_alike? shared? numbers? open? word? foreign?"
    )

    # A certificate's scope is read by these types, and no other key.
    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    left_out: Amount | None = None
    smallest_group: Amount = 0
    groups_of_one: Amount = 0
    without_value: Amount = 0
    unprotected: Mapping[str, Amount] = field(default_factory=dict)
    beside: Names | None = None
    suppressed: Names | None = None
    method: OfMethod | None = None
    exact: Names = ()
    linked: Flag = False
    values_and_people: Annotated[tuple[Amount, Amount], LISTED] | None = None
    crowded: Mapping[str, Annotated[tuple[Amount, Amount], LISTED]] = field(default_factory=dict)
    alike: Annotated[tuple[Annotated[Names, Field(min_length=2)], ...], LISTED] = ()
    apart: Names = ()
    more_apart: Amount = 0
    unrequired: Names = ()
    assumed: Mapping[str, Names] = field(default_factory=dict)
    if_known: Mapping[str, Annotated[tuple[Amount, Amount], LISTED]] = field(default_factory=dict)
    shuffled: Names = ()
    known: Names = ()
    identifiers: Names = ()
    people_suppressed: Amount = 0
    lacking: Mapping[str, Amount] = field(default_factory=dict)
    without: Mapping[str, Amount] = field(default_factory=dict)
    tallied: Flag = False
    absent: Pairs = ()
    idle: Names = ()
    begin_alike: Pairs = ()
    no_numbers: Names = ()
    extremes: Annotated[tuple[Extreme, ...], LISTED] = ()
    near: Annotated[tuple[Near, ...], LISTED] = ()
    cases: Flag = False
    releases: Annotated[tuple[Annotated[tuple[str, Amount], LISTED], ...], LISTED] = ()
    earlier: tuple[Amount, ...] = ()
    written: Mapping[str, str] = field(default_factory=dict)
    names_alike: Pairs = ()
    several_answers: Pairs = ()
    amounts: Names = ()
    shared: Names = ()
    numbers: Names = ()
    word: Names = ()
    open: Names = ()
    foreign: Names = ()

    def __post_init__(self) -> None:
        frequent_first = sorted(self.unprotected.items(), key=lambda item: (-item[1], item[0]))
        set_fields(
            self, unprotected=dict(frequent_first), crowded=dict(sorted(self.crowded.items()))
        )
        set_fields(self, unrequired=tuple(sorted(self.unrequired)))

    def _content(self) -> dict[str, Any]:
        more = {"more_apart": self.more_apart} if self.apart else {}
        return {**super()._content(), **more}

    def for_readers(self, schema: Any) -> Scope:
        """What stands in what is published: columns that the policy does not name stay unnamed."""
        names = (name if schema.role(name) else "" for name in self.shared)
        return replace(self, shared=tuple(dict.fromkeys(names)), open=())
