"""Tables of a policy file, whatever kinds of knowledge, criteria and methods are registered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    create_model,
    model_validator,
)

from foreknow.names import EXPORTS
from foreknow.toml import toml_value
from foreknow_judge.policy.grammar import (
    LIMITS,
    FileFormat,
    Form,
    RequireTable,
    SchemaTable,
    labels_of,
)
from foreknow_judge.policy.settings import Settings

# Keys that say what must stay hidden; in a certificate, labels are written out as their values.
SECRET = ("values", "except", "any_of", "at_level", "within")
Style: TypeAlias = Literal["range", "exact", "hierarchy", "set"]


def _format(file_format: Any) -> Any:
    """The format of files as a policy names it; `ValueError` for formats that only exports have."""
    if isinstance(file_format, str):
        file_format = EXPORTS.get(file_format, file_format)
    if file_format in EXPORTS.values():
        raise ValueError(
            f"a certified release is CSV or Parquet (foreknow export FOLDER --to {file_format} "
            "makes such a file of one)"
        )
    return file_format


# What keys of a requirement say, for editors and forms.
_WORDS: dict[str, dict[str, Any]] = {
    "name": {"description": "what it is called"},
    "values": {"description": "only these values"},
    "except": {"description": "all values but these"},
    "any_of": {
        "description": "any one of these, as one secret",
        "anyOf": [{"type": kind} for kind in ("array", "object", "string")],
    },
    "at_level": {"description": "each set of a level of the hierarchy", "examples": [1, 2]},
    "within": {"description": "a number, to within so much", "examples": ["10%", 5000]},
    "absent": {"description": "values that perhaps nobody has"},
    "below": {"description": "must stay below", "examples": [0.5]},
    "at_most": {"description": "may be at most", "examples": [0.5]},
    "at_most_times": {"description": "may be at most so many times the prior", "examples": [3]},
}


class Sets(dict[str, Any]):
    """Sets of values, or ranges of numbers, by name; hashable, so it must not change."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class Secret(NamedTuple):
    """The secret, as in `foreknow_judge.policy.grammar.Secret`, or as labels of a hierarchy."""

    values: tuple[Any, ...] | None = None  # each by itself; None if no list names them
    excluded: tuple[Any, ...] = ()  # values that are exempt
    sets: Mapping[str, Any] = {}  # one secret each: values or a range, by name; "" if unnamed
    width: Any = None  # numbers or dates in any window of this width are one secret
    label: str | None = None  # in the column's hierarchy: all values below it are one secret
    level: int | None = None  # of that hierarchy: each label there is a secret

    @classmethod
    def of(cls, requirement: Any) -> Secret:
        """The secret of a requirement, or of its table: values, sets of values, or a width.

        `any_of` is a label of a hierarchy, sets by name, or one set, which gets the name "".
        """
        any_of = requirement.any_of
        label: str | None = None
        sets: Mapping[str, Any] = {}
        if isinstance(any_of, str):
            label = any_of
        elif isinstance(any_of, Mapping):
            sets = any_of
        elif any_of is not None:
            sets = {"": any_of}
        return cls(
            values=requirement.values,
            excluded=requirement.excluded,
            sets=sets,
            width=requirement.within,
            label=label,
            level=requirement.at_level,
        )


class PolicyTable(RequireTable):
    """A ``[[require]]`` table of a policy file, in which labels stand for their values."""

    model_config = ConfigDict(extra="forbid")
    knowledge: ClassVar[tuple[str, ...]] = ()
    criteria: ClassVar[tuple[str, ...]] = ()

    at_level: int | None = None
    # Values that it names even though perhaps nobody has them.
    absent: tuple[Any, ...] = ()
    # Kinds that are known on top of others: given beside a kind, they become settings of it.
    on_top: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @property
    def kinds(self) -> dict[str, Any]:
        """The settings of each adversary or criterion, by key."""
        settings = {key: getattr(self, key) for key in (*self.knowledge, *self.criteria)}
        return {key: value for key, value in settings.items() if value is not None}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        """The JSON Schema of the table, with two additions.

        Each key says which part of a requirement it is (secret, limit, knowledge or criterion), and
        some have a description.
        """
        json_schema: dict[str, Any] = handler.resolve_ref_schema(handler(core))
        keys_of_part = {
            "secret": SECRET,
            "limit": LIMITS,
            "knowledge": cls.knowledge,
            "criterion": cls.criteria,
        }
        for part, keys in keys_of_part.items():
            for key in keys:
                json_schema["properties"][key]["part"] = part
        for key, descriptions in _WORDS.items():
            json_schema["properties"][key] |= descriptions
        return json_schema

    @model_validator(mode="before")
    @classmethod
    def _put_on_top(cls, table: Any) -> Any:
        """The table, with knowledge on top of other knowledge moved into the table of that.

        So facts beside priors become a setting of the priors. `on_top` has, for each kind, the
        kinds that may be added to it.
        """
        if not isinstance(table, Mapping):  # refused later
            return table
        fields = dict(table)
        for kind, keys in cls.on_top.items():
            for key in keys if isinstance(fields.get(kind), Mapping) else ():
                if isinstance(fields.get(key), Mapping):
                    if key in fields[kind]:
                        raise ValueError(f"{key} is given in {kind} and beside it; keep one")
                    fields[kind] = {**fields[kind], key: fields.pop(key)}
        return fields

    @model_validator(mode="before")
    @classmethod
    def _read_labels(cls, table: Any) -> Any:
        """The table with its labels read; `ValueError` unless `at_level` is a whole number."""
        if not isinstance(table, Mapping):  # refused later
            return table
        fields = dict(table)
        if fields.get("absent") is not None:
            fields["absent"] = labels_of("absent", fields["absent"])
        elif "absent" in fields:
            del fields["absent"]
        level = fields.get("at_level")
        if type(level) not in (int, type(None)):
            raise ValueError(f"at_level must be a whole number from 1, not {level!r}")
        return fields

    @classmethod
    def members_of(cls, setting: Any) -> Any:
        """Read `any_of`: a label of a hierarchy, a list of values, or a mapping of names to sets.

        A set is a list of values, or a range.
        """
        if isinstance(setting, (str, Sets)):  # one that was read may have no members
            return setting
        if not isinstance(setting, Mapping):
            return super().members_of(setting)
        # The ends of a range in place of a set: the message says how to write it.
        plain_ends = [isinstance(end, (str, int, float, Decimal, date)) for end in setting.values()]
        if setting and {*setting} <= {"from", "to"} and all(plain_ends):
            ends = ", ".join(f"{name} = {toml_value(end)}" for name, end in setting.items())
            raise ValueError(f"a range has a name: write any_of = {{ high = {{ {ends} }} }}")
        ranges, lists = {}, {}
        for name, members in setting.items():
            if isinstance(members, (list, tuple)) and not members:
                raise ValueError(f"any_of.{name} is empty; name the set, its values")
            if hasattr(members, "holds"):  # a range that was read already
                ranges[str(name)] = members
            else:
                lists[name] = members
        listed = super().members_of(lists) if lists or not ranges else {}
        sets = {**listed, **ranges}
        return Sets({str(name): sets[str(name)] for name in setting})  # in the order of the policy

    @model_validator(mode="after")
    def _refuse_level_beside(self) -> PolicyTable:
        """Raise `ValueError` if `at_level` stands beside another key that names a secret."""
        other_keys = []
        for k in SECRET:
            if k in self.said and k not in ("at_level", "except"):
                other_keys.append(k)
        if "at_level" not in self.said or not other_keys:
            return self
        if "within" in other_keys:
            raise ValueError("give within or at_level, not both; within is about every value")
        raise ValueError(
            f"give at_level or {other_keys[0]}, not both; at_level is about all of a level"
        )

    @model_validator(mode="after")
    def _check_kinds(self) -> PolicyTable:
        """Require one adversary; or points, each with a limit of its own; or a criterion."""
        kinds = self.kinds
        # If no kinds are registered, only the secret and the limit are read.
        if (self.knowledge or self.criteria) and not kinds:
            raise ValueError(
                f"it names no adversary; give one of {', '.join(self.knowledge)}, or of "
                f"{', '.join(self.criteria)}"
            )
        criterion_keys = [key for key in kinds if key in self.criteria]
        if criterion_keys and len(kinds) > 1:
            raise ValueError(
                f"{criterion_keys[0]} stands by itself; make it a requirement of its own"
            )
        single_kinds = []
        for key, settings in kinds.items():
            if not isinstance(settings, (list, tuple)):
                single_kinds.append(key)
        if single_kinds and len(kinds) > 1:
            raise ValueError(
                "several adversaries in one requirement need a threshold each: write "
                f"{single_kinds[0]} = [{{ ..., below = ... }}], or make it a requirement of its own"
            )
        return self

    @model_validator(mode="after")
    def _refuse_known_secret(self) -> PolicyTable:
        if self.sensitive in (self.knowing or ()):
            raise ValueError(f"{self.sensitive!r} cannot be both known and what must stay hidden")
        return self


class PublishTable(Settings):
    """The ``[publish]`` table, without what methods take."""

    method: str = "mondrian"
    form: Form | None = Field(
        default=None,
        description="when left out, as suits the method",
        json_schema_extra={
            "enumDescriptions": ["one table, coarser", "exact, and a table of counts"]
        },
    )
    format: Annotated[FileFormat | None, BeforeValidator(_format)] = Field(
        default=None, description="when left out, CSV"
    )
    delimiter: str | None = Field(default=None, description="of CSV: , or ; or | or tab")
    decimal: str | None = Field(default=None, description="the sign of decimals in CSV: . or ,")
    bom: bool | None = Field(default=None, description="CSV begins with a byte order mark")
    labels: dict[str, Style] = Field(default={})
    escape_formulas: bool = Field(
        default=False, description="mark texts that a spreadsheet would run"
    )
    unlinked: list[str] = Field(default=[], description="columns that are published apart")
    weights: Any = Field(default={})  # read by PublishOptions
    round: Any = Field(default={}, description="numbers to multiples of these")  # read there, too
    rows_per_part: int | None = Field(default=None, description="of a file of Parquet, at most")


def _as_numbers(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a method, which are checked where it is made; decimals as floats."""
    return {
        key: float(value) if isinstance(value, Decimal) else value
        for key, value in settings.items()
    }


class TryTable(Settings):
    """A ``[[try]]`` table, without its attack."""

    individual_risk: bool = False
    stop: Any = None
    sensitive: str | None = None


class Registered(NamedTuple):
    """The settings of all knowledge, criteria, attacks and methods, by key."""

    knowledge: Mapping[str, Any]
    criteria: Mapping[str, Any]
    attacks: Mapping[str, Any]
    methods: Mapping[str, Any]


def _one_or_several(table: type[Settings]) -> Any:
    """The type of a table, or of a list of points, each with a limit."""
    point = create_model(f"{table.__name__}Point", __base__=table, below=(Any, ...))
    discriminator = Discriminator(lambda value: "list" if isinstance(value, list) else "table")
    listed = list[point]  # type: ignore[valid-type]
    return Annotated[Annotated[table, Tag("table")] | Annotated[listed, Tag("list")], discriminator]


def _require_table(knowledge: Mapping[str, Any], criteria: Mapping[str, Any]) -> Any:
    """The model that checks a ``[[require]]`` table, with a key for each kind.

    `knowledge` and `criteria` have the model of the settings of each kind. For knowledge a policy
    may give one table, or a list of points, each with a limit.
    """
    fields: dict[str, Any] = {}
    for key, settings in knowledge.items():
        fields[key] = (_one_or_several(settings) | None, None)
    fields |= {key: (settings | None, None) for key, settings in criteria.items()}
    model: Any = create_model("Require", __base__=PolicyTable, **fields)
    model.knowledge, model.criteria = tuple(knowledge), tuple(criteria)
    return model


def policy_table(registered: Registered) -> type[Settings]:
    """The Pydantic model of a policy file, with the keys of all kinds that are registered.

    Parameters
    ----------
    registered : Registered
        Models of the settings of methods, attacks, knowledge and criteria, by key. A method without
        such a model takes any settings.
    """
    # Fields as pydantic makes models of them: (type, default) by name. A kind may be left out.
    free: Any = Annotated[dict[str, Any], AfterValidator(_as_numbers)]
    methods: dict[str, Any] = {}
    for key, model in registered.methods.items():
        methods[key] = ((model or free) | None, None)
    if all(registered.methods.values()) and registered.methods:
        methods["method"] = (
            Literal[tuple(registered.methods)],
            PublishTable.model_fields["method"].default,
        )
    attacks: dict[str, Any] = {
        key: (settings | None, None) for key, settings in registered.attacks.items()
    }
    publish: Any = create_model("Publish", __base__=PublishTable, **methods)
    require: Any = _require_table(registered.knowledge, registered.criteria)
    require.on_top = {}  # for each kind of knowledge, the kinds that may be a setting of it
    for kind, settings in registered.knowledge.items():
        fields = settings.model_fields
        require.on_top[kind] = tuple(key for key in registered.knowledge if key in fields)
    tries: Any = create_model("TryTable", __base__=TryTable, **attacks)
    return create_model(
        "Policy",
        __base__=Settings,
        schema_=(SchemaTable | None, Field(default=None, alias="schema")),
        require=(list[require], ...),
        try_=(list[tries], Field(default=[], alias="try")),
        publish=(publish, publish()),
    )
