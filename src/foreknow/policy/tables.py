"""Tables of a policy file, whatever kinds of knowledge, criteria and methods are registered."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    create_model,
    model_validator,
)

from foreknow_judge.grammar import (
    LIMITS,
    FileFormat,
    Form,
    RequireTable,
    SchemaTable,
    labels_of,
    require_table,
)
from foreknow_judge.settings import Settings

# Keys that say what must stay hidden; in a certificate, labels are written out as their values.
SECRET = ("values", "except", "any_of", "at_level", "within")
Style: TypeAlias = Literal["range", "exact", "hierarchy", "set"]


def _format(given: Any) -> Any:
    """Read a format; for formats of exports, an error that says how to get them."""
    if given in ("xlsx", "sav", "dta"):
        raise ValueError(
            f"a certified release is CSV or Parquet (foreknow export FOLDER --to {given} makes "
            "such a file of one)"
        )
    return given


# What keys of a requirement say, for editors and forms.
_WORDS: dict[str, dict[str, Any]] = {
    "name": {"description": "what it is called"},
    "values": {"description": "only these values"},
    "except": {"description": "all values but these"},
    "any_of": {"description": "any one of these, as one secret"},
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
    """What must stay hidden, as `foreknow_judge.grammar.Secret`; or labels of a hierarchy."""

    values: tuple[Any, ...] | None = None  # each by itself; None if no list names them
    excluded: tuple[Any, ...] = ()  # values that are exempt
    sets: Mapping[str, Any] = {}  # one secret each: values or a range, by name; "" if unnamed
    width: Any = None  # numbers or dates in any window of this width are one secret
    label: str | None = None  # in the column's hierarchy: all values below it are one secret
    level: int | None = None  # of that hierarchy: each label there is a secret

    @classmethod
    def of(cls, said: Any) -> Secret:
        """The secret of a table, or of a requirement that was made of one."""
        given = said.any_of
        label = given if isinstance(given, str) else None
        named = given if isinstance(given, Mapping) else {"": given}
        sets = {} if given is None or label is not None else named
        return cls(said.values, said.excluded, sets, said.within, label, said.at_level)

    @property
    def as_one(self) -> bool:
        """Whether sets of values are one secret each."""
        return bool(self.sets) or self.label is not None or self.level is not None

    @property
    def singly(self) -> bool:
        """Whether each value is a secret by itself."""
        return not self.as_one and self.width is None


class PolicyTable(RequireTable):
    """A ``[[require]]`` table of a policy file, in which labels stand for their values."""

    at_level: int | None = None
    # Values that it names even though perhaps nobody has them.
    absent: tuple[Any, ...] = ()
    # Kinds that are known on top of others: given beside a kind, they become settings of it.
    on_top: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        """The JSON Schema, in which each key says which part of a requirement it is."""
        made: dict[str, Any] = handler.resolve_ref_schema(handler(core))
        parts = {
            "secret": SECRET,
            "limit": LIMITS,
            "knowledge": cls.knowledge,
            "criterion": cls.criteria,
        }
        for part, keys in parts.items():
            for key in keys:
                made["properties"][key]["part"] = part
        for key, words in _WORDS.items():
            made["properties"][key] |= words
        return made

    @model_validator(mode="before")
    @classmethod
    def _put_on_top(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        read = dict(given)
        for kind, parts in cls.on_top.items():
            for part in parts if isinstance(read.get(kind), Mapping) else ():
                if isinstance(read.get(part), Mapping):
                    if part in read[kind]:
                        raise ValueError(f"{part} is given in {kind} and beside it; keep one")
                    read[kind] = {**read[kind], part: read.pop(part)}
        return read

    @model_validator(mode="before")
    @classmethod
    def _read_labels(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        read = dict(given)
        if read.get("absent") is not None:
            read["absent"] = labels_of("absent", read["absent"])
        elif "absent" in read:
            del read["absent"]
        if (level := read.get("at_level")) is not None and type(level) is not int:
            raise ValueError(f"at_level must be a whole number from 1, not {level!r}")
        return read

    @classmethod
    def members_of(cls, given: Any) -> Any:
        """Read `any_of`, which may be a label of a hierarchy."""
        if isinstance(given, (str, Sets)):  # one that was read may have no members
            return given
        if not isinstance(given, Mapping):
            return super().members_of(given)
        for name, own in given.items():
            if isinstance(own, (list, tuple)) and not own:
                raise ValueError(f"any_of.{name} is empty; name the set, its values")
        ranges = {str(name): own for name, own in given.items() if hasattr(own, "holds")}
        lists = {name: own for name, own in given.items() if str(name) not in ranges}
        read = super().members_of(lists) if lists or not ranges else {}
        return Sets({str(name): {**read, **ranges}[str(name)] for name in given})

    @model_validator(mode="after")
    def _refuse_level_beside(self) -> PolicyTable:
        others = [key for key in SECRET if key in self.said and key not in ("at_level", "except")]
        if self.at_level is not None and others:
            words = ("within", "at_level") if "within" in others else ("at_level", others[0])
            why = "within is about every value"
            why = why if "within" in others else "at_level is about all of a level"
            raise ValueError(f"give {words[0]} or {words[1]}, not both; {why}")
        return self

    @model_validator(mode="after")
    def _check_kinds(self) -> PolicyTable:
        """Require one adversary; or points, each with a limit of its own; or a criterion."""
        of = self.kinds
        if (self.knowledge or self.criteria) and not of:
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
    rows_per_part: int | None = Field(default=None, description="of a file of Parquet, at most")


def _as_numbers(given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a method, which are checked where it is made; decimals as floats."""
    return {key: float(own) if isinstance(own, Decimal) else own for key, own in given.items()}


class TryTable(Settings):
    """A ``[[try]]`` table, without its attack."""

    stop: Any = None


class Registered(NamedTuple):
    """The settings of all knowledge, criteria, attacks and methods, by key."""

    knowledge: Mapping[str, Any]
    criteria: Mapping[str, Any]
    attacks: Mapping[str, Any]
    methods: Mapping[str, Any]


def policy_table(of: Registered) -> type[Settings]:
    """The model of a policy file; a method without a model of its settings takes any."""
    free: Any = Annotated[dict[str, Any], AfterValidator(_as_numbers)]
    methods: dict[str, Any] = {key: ((own or free) | None, None) for key, own in of.methods.items()}
    if all(of.methods.values()) and of.methods:
        methods["method"] = (
            Literal[tuple(of.methods)],
            PublishTable.model_fields["method"].default,
        )
    attacks: dict[str, Any] = {key: (settings, ...) for key, settings in of.attacks.items()}
    publish: Any = create_model("Publish", __base__=PublishTable, **methods)
    require: Any = require_table(of.knowledge, of.criteria, PolicyTable, 0)
    require.on_top = {
        kind: tuple(own for own in of.knowledge if own in settings.model_fields)
        for kind, settings in of.knowledge.items()
    }
    tries: Any = create_model("TryTable", __base__=TryTable, **attacks)
    return create_model(
        "Policy",
        __base__=Settings,
        schema_=(SchemaTable | None, Field(default=None, alias="schema")),
        require=(list[require], ...),
        try_=(list[tries], Field(default=[], alias="try")),
        publish=(publish, publish()),
    )
