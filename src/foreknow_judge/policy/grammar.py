"""Grammar: what a policy and its certificate may say, and how it is read and written.

This module knows no kind of knowledge, criterion or method: `RequireTable` takes any kinds.
What a key means (how wide a window is, which values a label has) is worked out elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    model_validator,
)

from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.files.json_values import plain
from foreknow_judge.numbers import as_fraction, as_threshold, shown
from foreknow_judge.policy.settings import Settings, Table, Texts

S = TypeVar("S", bound=Collection[str])
Semantics: TypeAlias = Literal["single", "set", "multiset"]
Kind: TypeAlias = Literal["number", "date", "text"]
Unit: TypeAlias = Literal["person", "row"]
Form: TypeAlias = Literal["generalized", "bucketized"]
FileFormat: TypeAlias = Literal["csv", "parquet"]
# The text in all rows of a household but the one that shows its value; it is not a value.
SHOWN_ELSEWHERE = "shown once"
# A sequence that is a list in a file.
LISTED = Strict(False)


def each_once(names: S) -> S:
    """Refuse names that are given twice."""
    if len({*names}) < len(names):
        raise ValueError("it names something twice")
    return names


Count: TypeAlias = Annotated[int, Strict(), Field(ge=0, le=10**18)]  # of people or rows; not True
Flag: TypeAlias = Annotated[bool, Strict()]
Names: TypeAlias = Annotated[tuple[str, ...], LISTED, AfterValidator(each_once)]
LIMITS = ("below", "at_most", "at_most_times")
SECRET = ("values", "except", "any_of", "within")


# ---- [[require]] --------------------------------------------------------------------------------

# What says by itself which values are secret, and why.
_ALONE = {
    "within": "; within is about every value",
    "any_of": "; any_of is one secret",
    "values": "",
}


class Secret(NamedTuple):
    """The secret of a requirement: one set of values, or every value by itself."""

    values: tuple[Any, ...] | None = None  # each by itself; None if no list names them
    excluded: tuple[Any, ...] = ()  # values that are exempt
    sets: Mapping[str, Any] = {}  # one secret each: values or a range, by name; "" if unnamed
    width: Any = None  # numbers or dates in any window of this width are one secret

    @property
    def singly(self) -> bool:
        """True if each value is a secret by itself."""
        return not self.sets and self.width is None


class RequireTable(Settings):
    """A ``[[require]]`` table: secret, sight and limit; its other keys are kinds, by `kinds`."""

    model_config = ConfigDict(extra="allow")

    name: str | None = None
    values: tuple[Any, ...] | None = None
    excluded: tuple[Any, ...] = Field(default=(), alias="except")
    any_of: Any = None
    within: Any = None
    sensitive: str | None = None
    knowing: tuple[Any, ...] | None = None
    below: Any = None
    at_most: Any = None
    at_most_times: Any = None

    @model_validator(mode="before")
    @classmethod
    def _read(cls, table: Any) -> Any:
        """The table with its values read, key by key; a message names the key."""
        if not isinstance(table, Mapping):  # pydantic refuses it
            return table
        values = {key: value for key, value in table.items() if value is not None}
        for key in ("values", "except", "knowing"):
            if key in values:
                values[key] = labels_of(key, values[key])
        if "any_of" in values:
            values["any_of"] = cls.members_of(values["any_of"])
        if not isinstance(values.get("sensitive"), str | None) or values.get("sensitive") == "":
            raise ValueError(f"sensitive names one column, not {values['sensitive']!r}")
        for key in ("below", "at_most"):
            if key in values:
                try:
                    values[key] = as_threshold(values[key])
                except InputError as error:
                    raise ValueError(f"{key}: {error}") from None
        if "at_most_times" in values:
            values["at_most_times"] = as_times(values["at_most_times"])
        return values

    @classmethod
    def members_of(cls, members: Any) -> Any:
        """The values of `any_of`, read: a list of values, or sets and ranges by name."""
        if isinstance(members, Mapping):  # several sets by name; a mapping in it is a range
            sets: Any = {
                str(name): set_members
                if isinstance(set_members, Mapping)
                else labels_of(f"any_of.{name}", set_members)
                for name, set_members in members.items()
            }
            if "" in sets:
                raise ValueError("any_of. is empty; name the set, its values")
        else:
            sets = labels_of("any_of", members)
        if not sets:
            raise ValueError("any_of is empty; name the values of the set")
        return sets

    @model_validator(mode="after")
    def _agree(self) -> RequireTable:
        """Refuse keys that contradict each other: two ways to name secrets, or two limits."""
        secret_keys = [key for key in SECRET if key in self.said]
        if self.values == ():
            raise ValueError("values is empty; leave it out to mean every value")
        for key, why in _ALONE.items():
            keys_beside = [key_beside for key_beside in secret_keys if key_beside != key]
            if key in secret_keys and keys_beside:
                raise ValueError(f"give {key} or {keys_beside[0]}, not both{why}")
        if len(self.limits) > 1:
            raise ValueError(f"give {' or '.join(self.limits)}, not both")
        return self

    @property
    def said(self) -> dict[str, Any]:
        """The settings besides the adversary or criterion, by key."""
        fields, kinds = type(self).model_fields.items(), self.kinds
        keys = {field.alias or key: getattr(self, key) for key, field in fields if key not in kinds}
        return {key: value for key, value in keys.items() if value not in (None, ())}

    @property
    def secret(self) -> Secret:
        """Which values it is about."""
        sets_by_name = self.any_of if isinstance(self.any_of, Mapping) else {"": self.any_of}
        sets = {} if self.any_of is None else sets_by_name
        return Secret(self.values, self.excluded, sets, self.within)

    @property
    def known(self) -> Texts:
        """The columns that it says are known of everybody."""
        return self.knowing or ()

    @property
    def of_whole_groups(self) -> bool:
        """True if it says only what a criterion allows: no single values, and no limit."""
        return not self.said.keys() - {"name", "sensitive", "knowing", "any_of"}

    @property
    def limits(self) -> dict[str, Fraction]:
        """The limits beside its adversary: one at most."""
        return {key: value for key, value in self.said.items() if key in LIMITS}

    @property
    def kinds(self) -> dict[str, Any]:
        """The settings of each adversary or criterion, by key."""
        return self.model_extra or {}

    @property
    def points(self) -> Iterator[tuple[str, Table, Any]]:
        """Yield each kind of knowledge with its settings and its limit.

        A kind may have a list of points: more settings, each with its own limit `below`. Then the
        requirement has no limit; otherwise it has one, of one kind.
        """
        limits = self.limits.values()
        for kind, points in self.kinds.items():
            several = isinstance(points, (list, tuple))
            for point in points if several else [points]:
                if not isinstance(point, Mapping):
                    raise UnsupportedError("unknown-kind", kind)
                if several == bool(limits) or (limits and len(self.kinds) > 1):
                    raise InputError("one-limit", kind)
                settings, limit = {**point}, next(iter(limits), None)
                if several:
                    limit = as_threshold(settings.pop("below", ""))
                yield kind, settings, limit


class CertifiedTable(RequireTable):
    """A ``[[require]]`` table in a certificate, where everything has only one spelling."""

    @model_validator(mode="wrap")
    @classmethod
    def _as_written(cls, table: Any, handler: Any) -> Any:
        requirement = handler(table)
        for key, value in plain(requirement.said).items():
            if table[key] != value:
                raise ValueError(f"{key} is written in another way than certificates have it")
        return requirement


def as_times(number: Any, name: str = "at_most_times") -> Fraction:
    """Read how many times its prior a posterior may be, 1 or more; `name` begins the message.

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


def labels_of(key: str, values: Any) -> Texts:
    """Labels as texts, which is how they are compared, since a CSV file has no types.

    `key` names the list in messages. A final star stands for every ending. Raises ValueError for
    something that is no list of labels, repeats one, or stands for every value.
    """
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        raise ValueError(f"{key} must be a list, such as [{values!r}]")
    values = tuple(values)
    _refuse_nested(key, values)
    labels = tuple(map(str, values))
    twice = [label for i, label in enumerate(labels) if label in labels[:i]]
    if twice:
        raise ValueError(f"{key} names {twice[0]!r} twice")
    for label in labels if key != "knowing" else ():  # `knowing` names columns, and no values
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


# ---- the other tables ---------------------------------------------------------------------------


def _semantics(semantics: Any) -> Any:
    # A word for all sensitive columns, or a table with a word for each; as it was given.
    given_semantics = [*semantics.values()] if isinstance(semantics, dict) else [semantics]
    if all(
        isinstance(semantics_of_column, str) and semantics_of_column in get_args(Semantics)
        for semantics_of_column in given_semantics
    ):
        return semantics
    raise ValueError(
        "it should be 'single', 'set' or 'multiset', or a table of these for each sensitive column"
    )


def as_missing(setting: Any) -> Any:
    """Read what to do about missing sensitive values: a word, or the label that they get."""
    if setting in ("error", "drop") or (
        isinstance(setting, Mapping)
        and list(setting) == ["label"]
        and isinstance(setting["label"], str)
    ):
        return setting
    raise ValueError('missing must be "error", "drop" or { label = "..." }')


class SharedTable(Settings):
    """The column that numbers households, and the sensitive columns that each shares."""

    by: str
    values: Annotated[Names, Field(min_length=1)]

    @property
    def shown(self) -> str:
        """The column that says which row of a household shows its values."""
        return f"{self.by}_shown"


class ImpossibleTable(Settings):
    """A ``[[schema.impossible]]`` table: values that nobody has who has some others."""

    values: Annotated[Any, BeforeValidator(lambda value: labels_of("values", value))]
    where: dict[str, Any]
    sensitive: str | None = None

    @model_validator(mode="after")
    def _check(self) -> ImpossibleTable:
        """Refuse a rule without values or conditions, and conditions of another form."""
        for key in ("values", "where"):
            if not getattr(self, key):
                raise ValueError(
                    f'{key} is empty; say values = ["O04"], and where = {{ sex = ["m"] }}'
                )
        for name, condition in self.where.items():
            if not condition or not isinstance(condition, (list, tuple, Mapping)):
                raise ValueError(
                    f'where: {name} is a list such as ["m"], or a range such as {{ to = 11 }}'
                )
            if not isinstance(condition, Mapping):
                _refuse_nested(f"where: {name}", condition)
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
    weights: str | None = None
    unit: Unit = "person"
    shared: SharedTable | None = None
    impossible: list[ImpossibleTable] = Field(default=[])
    types: dict[str, Kind] = Field(default={})
    missing: Annotated[Any, BeforeValidator(as_missing)] = "error"
    reading: dict[str, str | int | list[str] | dict[str, str | float | list[str]]] = Field(
        default={}
    )
    hierarchies: dict[str, dict[str, Any]] = Field(default={})

    @property
    def sensitives(self) -> Texts:
        """All sensitive columns."""
        return (self.sensitive,) if isinstance(self.sensitive, str) else tuple(self.sensitive)

    @property
    def shared_columns(self) -> Texts:
        """The sensitive columns of which a household has one value."""
        return () if self.shared is None else self.shared.values

    @property
    def beside(self) -> Texts:
        """The other columns; with them the one that says which row of a household shows it."""
        other_columns = tuple(self.other)
        if self.shared is None or self.shared.shown in other_columns:
            return other_columns
        return (*other_columns, self.shared.shown)
