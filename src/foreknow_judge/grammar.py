"""Grammar: what a policy and its certificate may say, and how it is read and written.

This module knows no kind of knowledge, criterion or method: callers pass the keys of a registry.
What a key means (how wide a window is, which values a label has) is worked out elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    WithJsonSchema,
    create_model,
    model_validator,
)

from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.json_values import plain
from foreknow_judge.numbers import as_fraction, as_threshold, shown
from foreknow_judge.settings import Settings, Table, one_or_several

S = TypeVar("S", bound=Collection[str])
Semantics: TypeAlias = Literal["single", "set", "multiset"]
Kind: TypeAlias = Literal["number", "date", "text"]
Unit: TypeAlias = Literal["person", "row"]
Form: TypeAlias = Literal["generalized", "bucketized"]
FileFormat: TypeAlias = Literal["csv", "parquet"]
# A sequence that is a list in a file.
LISTED = Strict(False)


def each_once(names: S) -> S:
    """Refuse names that are given twice."""
    if len({*names}) < len(names):
        raise ValueError("it names something twice")
    return names


Amount: TypeAlias = Annotated[int, Strict(), Field(ge=0, le=10**18)]  # True is not a number
Flag: TypeAlias = Annotated[bool, Strict()]
Names: TypeAlias = Annotated[tuple[str, ...], LISTED, AfterValidator(each_once)]
T = TypeVar("T", bound=Settings)
LIMITS = ("below", "at_most", "at_most_times")
SECRET = ("values", "except", "any_of", "at_level", "within")


# ---- [[require]] --------------------------------------------------------------------------------

_SETS = {"anyOf": [{"type": kind} for kind in ("array", "object", "string")]}


class Sets(dict[str, Any]):
    """Sets of values, or ranges of numbers, by name; hashable, so it must not change."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class Secret(NamedTuple):
    """What must stay hidden, however a table says it: one part, or every value by itself."""

    values: tuple[Any, ...] | None = None  # each by itself; None if no list names them
    excluded: tuple[Any, ...] = ()  # values that are exempt
    sets: Mapping[str, Any] = {}  # one secret each: values or a range, by name; "" if unnamed
    label: str | None = None  # in the column's hierarchy: all values below it are one secret
    level: int | None = None  # of that hierarchy: each label there is a secret
    width: Any = None  # numbers or dates in any window of this width are one secret

    @classmethod
    def of(cls, said: Any) -> Secret:
        """The secret of a table, or of a requirement that was made of one."""
        given = said.any_of
        label = given if isinstance(given, str) else None
        named = given if isinstance(given, Mapping) else {"": given}
        sets = {} if given is None or label is not None else named
        return cls(said.values, said.excluded, sets, label, said.at_level, said.within)

    @property
    def as_one(self) -> bool:
        """Whether sets of values are one secret each."""
        return bool(self.sets) or self.label is not None or self.level is not None

    @property
    def singly(self) -> bool:
        """Whether each value is a secret by itself."""
        return not self.as_one and self.width is None


class KnownPoint(NamedTuple):
    """One kind of knowledge in a table, with its settings and its limit."""

    kind: str
    settings: Table
    limit: Any


class RequireTable(Settings):
    """A ``[[require]]`` table: secret, sight and limit, whatever the adversary or criterion is."""

    knowledge: ClassVar[tuple[str, ...]] = ()
    criteria: ClassVar[tuple[str, ...]] = ()

    name: str | None = None
    values: tuple[Any, ...] | None = None
    excluded: tuple[Any, ...] = Field(default=(), alias="except")
    any_of: Annotated[Any, WithJsonSchema(_SETS)] = None
    at_level: int | None = None
    within: Any = None
    # Values that it names even though perhaps nobody has them.
    absent: tuple[Any, ...] = ()
    sensitive: str | None = None
    knowing: tuple[Any, ...] | None = None
    below: Any = None
    at_most: Any = None
    at_most_times: Any = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        """Read the keys one by one; a message names the key."""
        if not isinstance(given, Mapping):
            return given
        read = {key: own for key, own in given.items() if own is not None}
        for key in ("values", "except", "absent", "knowing"):
            if key in read:
                read[key] = _labels(key, read[key])
        if "any_of" in read:
            read["any_of"] = _members(read["any_of"])
        if (level := read.get("at_level")) is not None and type(level) is not int:
            raise ValueError(f"at_level must be a whole number from 1, not {level!r}")
        if not isinstance(read.get("sensitive", ""), str):
            raise ValueError(f"sensitive names one column, not {read['sensitive']!r}")
        for key in ("below", "at_most"):
            if key in read:
                try:
                    read[key] = as_threshold(read[key])
                except InputError as error:
                    raise ValueError(f"{key}: {error}") from None
        if "at_most_times" in read:
            read["at_most_times"] = as_times(read["at_most_times"])
        return read

    @model_validator(mode="after")
    def _agree(self) -> RequireTable:
        """Refuse keys that contradict each other."""
        about = [key for key in self.said if key in SECRET]
        if self.values == ():
            raise ValueError("values is empty; leave it out to mean every value")
        if self.within is not None and len(about) > 1:
            other = next(key for key in about if key != "within")
            raise ValueError(f"give within or {other}, not both; within is about every value")
        sets = "any_of" if self.at_level is None else "at_level"
        beside = [key for key in about if key != sets and (sets, key) != ("at_level", "except")]
        if sets in about and beside:
            why = "any_of is one secret" if sets == "any_of" else "at_level is about all of a level"
            raise ValueError(f"give {sets} or {beside[0]}, not both; {why}")
        if len(about) > 1 and sets not in about:
            raise ValueError("give values or except, not both")
        if len(self.limits) > 1:
            raise ValueError(f"give {' or '.join(self.limits)}, not both")
        self._check_kinds()
        return self

    def _check_kinds(self) -> None:
        """Require one adversary; or points, each with a limit of its own; or a criterion."""
        of, known = self.kinds, (*self.knowledge, *self.criteria)
        if known and not of:
            raise ValueError(
                f"it names no adversary; give one of {', '.join(self.knowledge)}, or of "
                f"{', '.join(self.criteria)}"
            )
        wanted = [key for key in of if key in self.criteria]
        if wanted and len(of) > 1:
            raise ValueError(f"{wanted[0]} stands by itself; make it a requirement of its own")
        alone = [key for key, own in of.items() if not isinstance(own, (list, tuple))]
        if alone and len(of) > 1:
            raise ValueError(
                "several adversaries in one requirement need a threshold each: write "
                f"{alone[0]} = [{{ ..., below = ... }}], or make it a requirement of its own"
            )

    @property
    def said(self) -> dict[str, Any]:
        """What the table says besides its adversary or criterion, by key."""
        keys = {
            of.alias or key: getattr(self, key) for key, of in RequireTable.model_fields.items()
        }
        return {key: given for key, given in keys.items() if given not in (None, ())}

    @property
    def secret(self) -> Secret:
        """Which values it is about."""
        return Secret.of(self)

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that it says are known of everybody."""
        return self.knowing or ()

    @property
    def says_known(self) -> bool:
        """Whether it says which columns are known of everybody, even if none are."""
        return self.knowing is not None

    @property
    def of_whole_groups(self) -> bool:
        """Whether it says only what a criterion allows: no single values, and no limit."""
        return not self.said.keys() - {"name", "sensitive", "knowing", "any_of"}

    @property
    def limits(self) -> dict[str, Fraction]:
        """The limits beside its adversary: one at most."""
        return {key: given for key, given in self.said.items() if key in LIMITS}

    @property
    def kinds(self) -> dict[str, Any]:
        """The settings of each adversary or criterion, by key."""
        named = {key: getattr(self, key) for key in (*self.knowledge, *self.criteria)}
        known = {key: own for key, own in named.items() if own is not None}
        return {**known, **(self.model_extra or {})}


class AskedTable(RequireTable):
    """A ``[[require]]`` table as the judge reads it, with any kinds."""

    model_config = ConfigDict(extra="allow")

    @property
    def has_label(self) -> bool:
        """Whether it is about labels of a hierarchy that were not written out yet."""
        return self.secret.label is not None or self.secret.level is not None

    @property
    def points(self) -> Iterator[KnownPoint]:
        """Each kind of knowledge with its limit, once for each of its points."""
        limits = self.limits.values()
        for kind, own in self.kinds.items():
            several = isinstance(own, (list, tuple))
            for point in own if several else [own]:
                if not isinstance(point, Mapping):
                    raise UnsupportedError("unknown-kind", kind)
                if several == bool(limits):
                    raise InputError("one-limit", kind)
                settings = {key: given for key, given in point.items() if key != "below"}
                limit = as_threshold(point["below"]) if several else next(iter(limits), None)
                yield KnownPoint(kind, settings, limit)


class CertifiedTable(AskedTable):
    """A ``[[require]]`` table in a certificate, where everything has only one spelling."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="wrap")
    @classmethod
    def _as_written(cls, given: Any, handler: Any) -> Any:
        read = handler(given)
        if read.absent:
            raise ValueError("absent is about a table, and no part of a certificate")
        if read.has_label:
            raise ValueError("a label of a hierarchy is written out as its values, under any_of")
        for key, own in plain(read.said).items():
            if given[key] != own:
                raise ValueError(f"{key} is written in another way than certificates have it")
        return read


def as_times(number: Any, name: str = "at_most_times") -> Fraction:
    """Read how many times its prior a posterior may be, 1 or more.

    >>> as_times("3/2")
    Fraction(3, 2)
    """
    times = as_fraction(number)
    if times < 1:
        raise InputError(
            "out-of-range",
            name,
            right="1 or more (1 means as likely as before)",
            given=shown(number),
        )
    return times


def _labels(key: str, given: Any) -> tuple[str, ...]:
    """Labels as texts, which is how they are compared, since a CSV file has no types."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise ValueError(f"{key} must be a list, such as [{given!r}]")
    given = tuple(given)
    _refuse_nested(key, given)
    labels = tuple(map(str, given))
    twice = [label for i, label in enumerate(labels) if label in labels[:i]]
    if twice:
        raise ValueError(f"{key} names {twice[0]!r} twice")
    for label in labels if key != "knowing" else ():
        if label == "*" or label.endswith("**"):
            raise ValueError(
                f'{key}: {label!r} says of no value how it begins; "B20*" stands for every value '
                "that begins with B20"
            )
    return labels


def _refuse_nested(key: str, labels: Iterable[Any]) -> None:
    """Refuse a list or a table in place of a label."""
    for label in labels:
        if label is None or isinstance(label, (list, tuple, set, Mapping)):
            raise ValueError(f"{key}: {label!r} is no value; write texts and numbers")


def _members(given: Any) -> Any:
    """Read `any_of`: a label, a list of values, or sets and ranges by name."""
    if isinstance(given, (str, Sets)):  # one that was read may have no members
        return given
    if not isinstance(given, Mapping):
        if not (members := _labels("any_of", given)):
            raise ValueError("any_of is empty; name the values of the set")
        return members
    if not given:
        raise ValueError("any_of is empty; name a set and its values")
    sets = Sets()
    for name, own in given.items():
        is_range = isinstance(own, Mapping) or hasattr(own, "holds")  # or one that was read
        sets[str(name)] = own if is_range else _labels(f"any_of.{name}", own)
        if not name:
            raise ValueError(f"any_of.{name} is empty; name the set, its values")
    return sets


# ---- the other tables ---------------------------------------------------------------------------


def _semantics(given: Any) -> Any:
    own = [*given.values()] if isinstance(given, dict) else [given]
    if all(isinstance(each, str) and each in get_args(Semantics) for each in own):
        return given
    raise ValueError(
        "it should be 'single', 'set' or 'multiset', or a table of these for each sensitive column"
    )


def as_missing(given: Any) -> Any:
    """Read what to do about missing sensitive values: a word, or the label that they get."""
    if given in ("error", "drop") or (
        isinstance(given, Mapping) and list(given) == ["label"] and isinstance(given["label"], str)
    ):
        return given
    raise ValueError('missing must be "error", "drop" or { label = "..." }')


class SharedTable(Settings):
    """What all of a household have: the column that numbers households, and the sensitive ones."""

    by: str
    values: Names

    @model_validator(mode="after")
    def _check(self) -> SharedTable:
        if not self.values:
            raise ValueError('values is empty; say values = ["income"]')
        return self


class ImpossibleTable(Settings):
    """A ``[[schema.impossible]]`` table: values that nobody has who has some others."""

    values: Annotated[Any, BeforeValidator(lambda given: _labels("values", given))]
    where: dict[str, Any]
    sensitive: str | None = None

    @model_validator(mode="after")
    def _check(self) -> ImpossibleTable:
        for key in ("values", "where"):
            if not getattr(self, key):
                raise ValueError(
                    f'{key} is empty; say values = ["O04"], and where = {{ sex = ["m"] }}'
                )
        for name, own in self.where.items():
            if not own or not isinstance(own, (list, tuple, Mapping)):
                raise ValueError(
                    f'where: {name} is a list such as ["m"], or a range such as {{ to = 11 }}'
                )
            if not isinstance(own, Mapping):
                _refuse_nested(f"where: {name}", own)
        return self


class SchemaTable(Settings):
    """The ``[schema]`` table: what columns are, and how they are read."""

    identifiers: list[str] = Field(default=[])
    quasi_identifiers: list[str] = Field(default=[])
    sensitive: str | list[str]
    semantics: Annotated[Any, BeforeValidator(_semantics)] = "single"
    other: list[str] = Field(default=[])
    person: str | None = None
    group: str | None = None
    unit: Unit = "person"
    shared: SharedTable | None = None
    impossible: list[ImpossibleTable] = Field(default=[])
    types: dict[str, Kind] = Field(default={})
    missing: Annotated[Any, BeforeValidator(as_missing)] = "error"
    reading: dict[str, str | int | list[str] | dict[str, str]] = Field(default={})
    hierarchies: dict[str, dict[str, Any]] = Field(default={})


def require_table(
    knowledge: Mapping[str, Any], criteria: Mapping[str, Any], base: type[RequireTable], least: int
) -> Any:
    """The model of a ``[[require]]`` table with these kinds; lists have at least `least` points."""
    fields: dict[str, Any] = {
        key: (one_or_several(settings, Any, least) | None, None)
        for key, settings in knowledge.items()
    }
    fields |= {key: (settings | None, None) for key, settings in criteria.items()}
    made: Any = create_model("Require", __base__=base, **fields)
    made.knowledge, made.criteria = tuple(knowledge), tuple(criteria)
    return made
