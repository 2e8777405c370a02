"""Schema: which column plays which role, and how its values are to be read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from textwrap import shorten
from typing import Any, cast, get_args

from foreknow.call_hints import hints
from foreknow.data.columns.hierarchy import Hierarchy, hierarchy_from
from foreknow.data.columns.level_limits import Level
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.impossible.rules import Rule
from foreknow.data.layout import columns_except
from foreknow.data.people.households import Shared
from foreknow.data.semantics import semantics_of_each
from foreknow.data.tables.columns import Missing, Relabel, as_missing, refuse_missing
from foreknow.errors import SchemaError, did_you_mean, listing, refuse_other
from foreknow.needs import Lacks, Need
from foreknow.result_pages import page_of
from foreknow_judge.counts.layout import multivalued_columns
from foreknow_judge.policy.grammar import Kind, SchemaTable, Semantics, Unit

# The settings that say who is counted in a release, whose labels are counted as they stand.
OF_PEOPLE = ("unit", "person", "shared", "impossible")
# Further settings that say who is counted in a table of people who are given beside a release.
_OF_THE_COUNTED = ("semantics", "group", "missing", "reading", "types")
# Settings that exclude each other, and what to do.
_ONE_ROW_EACH = (
    "shared is for rows that are people with one value each: leave out unit and semantics, or "
    "publish a table with one row for each household"
)
_NOT_TOGETHER = {
    ("cases of people", "several values"): 'unit = "row" says that each row is a case of '
    "{schema.person!r} with one sensitive value, and semantics is {schema.semantics!r}: leave one "
    "of them out",
    ("households", "several values"): _ONE_ROW_EACH,
    ("households", "cases"): _ONE_ROW_EACH,
    ("rules", "several values"): "impossible is for one value per person: where a person may have "
    "several, it is not known how likely the others are. Leave impossible out",
    ("rules on households",): "impossible is about people, and shared about households: who of a "
    "household cannot have what all of it have is not known. Leave one of them out",
}
# Columns whose order says nothing.
_IN_ANY_ORDER = ("identifiers", "quasi_identifiers", "other")


class _FirstOfSeveral(str):
    """The name of the first of several sensitive columns; a caller gives a plain text instead."""

    __slots__ = ()


class _AllSensitive(tuple[str, ...]):
    """All sensitive columns of a schema; `replace` gives them to a copy of it, too."""

    __slots__ = ()


@hints()
@dataclass(frozen=True, kw_only=True)
class Schema:
    """The roles of the columns of a table.

    Parameters
    ----------
    quasi_identifiers : sequence of str
        Columns that others may know of a person, such as age or zip code.
    sensitive : str or sequence of str
        The column whose values must stay hidden. Given several, they become `sensitives`, and
        `sensitive` is the first.
    identifiers : sequence of str
        Columns that name people; never published. Their values must not repeat (nulls may),
        unless `unit` is "row".
    other : sequence of str
        Columns that are published unchanged, beside the sensitive value. A column without a role
        is not published.
    semantics : {"single", "set", "multiset"}, or mapping of column to one of these
        Whether a person has one sensitive value (one row), a set of them, or a bag (a row for
        each, or one row with a list). Sensitive columns that the mapping does not name have one
        value per person, which all rows of the person must repeat.
    person : str, optional
        The column that tells people apart; needed under ``set`` and ``multiset`` unless the
        sensitive column holds lists.
    unit : {"person", "row"}
        "person": a row is a person, and no identifier may repeat. "row": a row is a case with one
        sensitive value, and a person may have several cases. If `person` names the person of each
        case, the owner counts people: `k_anonymity` requires a number of people, and limits apply
        to the sum over a person's cases. Without `person`, all results are about cases.
    group : str, optional
        The column of a release with the group of each row. None: rows with equal
        quasi-identifiers are a group.
    hierarchies : mapping of column to Hierarchy, or to the table that stands for one in a policy
        The coarser labels of a quasi-identifier's values. A hierarchy of the sensitive column
        says which values are alike, or are one secret (`Requirement.any_of`, `at_level`), for
        requirements that use it; the column is published unchanged.
    types : mapping of column to "number", "text" or "date"
        Overrides the type that is detected; zip codes without leading zeros are ``"text"``. The
        values of a sensitive column stay texts, but two spellings of a number or date are one
        value.
    missing : "error", "drop" or {"label": ...}
        How people with a null sensitive value are handled; under ``set`` and ``multiset`` they
        have no value.
    reading : Reading or mapping of its parts
        The format of the file, if it cannot be detected, such as ``{"encoding": "latin-1"}``.
    folder : Path
        The folder to which the paths of hierarchy files are relative.
    sensitives : sequence of str
        All sensitive columns; default: those of `sensitive`.
    shared : mapping, optional
        ``{"by": "household_id", "values": ["income"]}``: all rows of a household share one value
        of these sensitive columns, and everybody knows that. `publish` shows the value once per
        household, in its first published row, and requirements on the column count households.
    weights : str, optional
        The column of a survey with the number of people in the population that each row stands
        for; `risk_report` estimates risks from it. It is not published, unless `other` names it,
        too: then each group has one weight, the mean of its people's, rounded.
    impossible : sequence of mappings
        Rules that everybody knows about who cannot have a value, such as
        ``{"values": ["O04"], "where": {"sex": ["m"]}}``, or ``{"age": {"to": 11}}`` for ``where``.
        These people are not counted among those who might have the value. ``"O*"`` stands for
        every value that begins with O; a rule applies if all its conditions do; ``"sensitive"``
        names the column if there are several. The columns of ``where`` need no role.

    Raises
    ------
    SchemaError
        If a column has two roles or a setting contradicts another.

    Examples
    --------
    >>> schema = Schema(identifiers=["name"], quasi_identifiers=["age", "zip"], sensitive="disease")
    >>> schema.role("age")
    'quasi-identifier'
    """

    sensitive: Any  # a text once it is made
    quasi_identifiers: Sequence[str] = ()
    identifiers: Sequence[str] = ()
    other: Sequence[str] = ()
    semantics: Any = "single"  # of several columns that differ, a mapping once it is made
    person: str | None = None
    group: str | None = None
    hierarchies: Mapping[str, Hierarchy | Mapping[str, Any]] = field(default_factory=dict)
    types: Mapping[str, Kind] = field(default_factory=dict)
    missing: Missing | Mapping[str, str] = "error"
    reading: Reading | Mapping[str, Any] = field(default_factory=Reading)
    folder: Path = field(default=Path(), repr=False)
    sensitives: Sequence[str] = ()
    unit: Unit = "person"
    shared: Shared | Mapping[str, Any] | None = None
    impossible: Sequence[Any] = ()
    # how fine quasi-identifiers may be published, as the policy says (`Levels`)
    levels: Mapping[str, Level] = field(default_factory=dict, repr=False)
    # of a survey, how many people of the population a row stands for; a group's mean is published
    # if `other` names the column, too
    weights: str | None = None
    # to multiples of what numbers of other columns are rounded, as the policy says
    rounding: Mapping[str, int | float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Turn settings into objects of their classes; `SchemaError` if columns or settings clash.

        The class is frozen, so fields are set with ``object.__setattr__``.
        """
        for name in ("quasi_identifiers", "identifiers", "other"):
            setting = getattr(self, name)
            if isinstance(setting, Mapping):
                raise SchemaError(
                    f"{name} lists columns, and has no place for what they become: write "
                    f"{name} = {[*setting]}, and hierarchies = {dict(setting)}"
                )
            # One name stands for a list of one.
            names = [setting] if isinstance(setting, str) else setting
            object.__setattr__(self, name, tuple(names))
        self._normalize_sensitive()
        for name in ("sensitive", "person", "group", "weights"):
            setting = getattr(self, name)
            if not isinstance(setting, str) and (setting is not None or name == "sensitive"):
                raise SchemaError(f"{name} must be the name of one column, not {setting!r}")
        if not self.quasi_identifiers and self.group is None:
            raise SchemaError(
                "quasi_identifiers is empty; name at least one column that others may know"
            )
        shared = Shared.of(self.shared, self.sensitives)
        object.__setattr__(self, "shared", shared)
        # The column that marks where a household's value is shown is published, too.
        marks = columns_except(self.shared_columns[:1], self.other)
        object.__setattr__(self, "other", (*self.other, *marks))
        # No column may have two roles.
        roles: dict[str | None, str] = {}
        for role, columns in self._by_role():
            for column in columns:
                if column in roles:
                    twice = "twice" if roles[column] == role else f"and as {roles[column]}"
                    raise SchemaError(f"column {column!r} is given as {role} {twice}; keep one")
                roles[column] = role
        household = getattr(shared, "by", None)
        for number, role in ((self.person, "person"), (household, "shared")):
            if number in self.other:
                raise SchemaError(
                    f"column {number!r} is given as {role} and as other: it shows which rows "
                    "belong together, so people are found by their number of rows, and it is never "
                    "published; take it out of other"
                )
        # Who has a weight is not the weight: rows would be counted by it.
        if self.weights is not None and self.weights in (self.person, household):
            raise SchemaError(
                f"column {self.weights!r} is given as weights, and as what numbers people or "
                "households; name another column as person, or in shared"
            )
        # Weights among other columns are published, one for each group.
        if roles.get(self.weights, "other") != "other":
            raise SchemaError(
                f"column {self.weights!r} is given as weights and as {roles[self.weights]}: "
                "a row's own weight is never published, so take it out of the other role"
            )
        object.__setattr__(self, "semantics", semantics_of_each(self.semantics, self.sensitives))
        object.__setattr__(self, "reading", Reading.of(self.reading))
        for name in columns_except(cast("Reading", self.reading).separators, self.several):
            raise SchemaError(
                f"separators of reading names {name!r}, of which nobody has several values by "
                'the schema: make it sensitive, with semantics = "set", or take it out'
            )
        object.__setattr__(self, "missing", as_missing(self.missing))
        refuse_missing(cast("Missing", self.missing), self.semantics)
        if roles.get(self.person) in ("sensitive", "group"):
            raise SchemaError(f"column {self.person!r} cannot be person and {roles[self.person]}")
        refuse_other("unit is", self.unit, get_args(Unit), SchemaError)
        self._read_hierarchies()
        rules = [Rule.of(rule, i, self.sensitives) for i, rule in enumerate(self.impossible)]
        object.__setattr__(self, "impossible", tuple(rules))
        if self.published_weights in self.conditions:
            raise SchemaError(
                f"impossible: where names the weights {self.weights!r}, which are published as "
                "means of groups; take them out of other, or leave the rule out"
            )
        self._refuse_together()

    def _refuse_together(self) -> None:
        """Raise `SchemaError` for settings that exclude each other.

        `_NOT_TOGETHER` has a problem, as text, for each combination of kinds that must not all be
        set.
        """
        # A kind is set if its value is not empty.
        value_of_kind = {
            "cases of people": self.case_persons,
            "cases": self.unit == "row",
            "several values": self.several,
            "households": self.shared,
            "rules": self.impossible,
            "rules on households": {rule.sensitive for rule in self.impossible}.intersection(
                self.shared_values
            ),
        }
        for kinds, problem in _NOT_TOGETHER.items():
            if all(value_of_kind[kind] for kind in kinds):
                raise SchemaError(problem.format(schema=self))

    def refuse_other(
        self, read_schema: Schema, *, published: bool = False, people: bool = False
    ) -> None:
        """Raise `SchemaError` if a table was read by a schema that contradicts this one.

        All settings that decide who is counted, or which values are equal, must agree. For a table
        that is `published`, columns may be missing and this schema may be stricter; for a table of
        `people` beside a release, other columns may be known.
        """
        # The settings that must agree, besides those about people.
        further_keys: Iterable[str] = _OF_THE_COUNTED if people else SchemaTable.model_fields
        if published:
            further_keys = ("semantics",)
        for key in (*OF_PEOPLE, *further_keys):
            name = "sensitives" if key == "sensitive" else key
            setting, read_setting = getattr(self, name), getattr(read_schema, name)
            if key in _IN_ANY_ORDER:
                setting, read_setting = sorted(setting), sorted(read_setting)
            # A release may leave a setting out.
            if setting == read_setting or (published and read_setting in (None, (), "person")):
                continue
            if published and key == "impossible" and all(rule in setting for rule in read_setting):
                continue  # a release may lack columns that further rules of the policy need
            if published and key == "person" and not self.counts_people:
                continue  # results are then about cases, and pages say so
            what = "release" if published else "people" if people else "table"
            way = "say the same in the policy" if published else "read the table by the policy's"
            ours, theirs = self._shown_setting(key), read_schema._shown_setting(key)
            raise SchemaError(
                f"the schemas of the policy and of the {what} differ in {key} ({ours} "
                f"and {theirs}), so it is not clear who is counted, and by what: "
                f"{way}, or leave columns and schema out of the policy"
            )

    def _shown_setting(self, key: str) -> str:
        """A setting, as messages show it."""
        setting = self.to_dict().get(key) or None
        return "nothing" if setting is None else shorten(repr(setting), 80, placeholder=" ...")

    def rules_about(self, *columns: str | None) -> list[Rule]:
        """The `impossible` rules about some sensitive columns; None stands for the first."""
        ruled = [column or self.sensitive for column in columns]
        return [rule for rule in self.impossible if rule.sensitive in ruled]

    def rules_of_people(self, column: str | None = None) -> Lacks:
        """The facts about people that counts alone do not show: rules, households and cases.

        A value is true if the schema has it. `column` is one sensitive column; None: any.
        """
        values = self.shared_values
        return {
            Need.EVERYBODY: bool(self.impossible),
            Need.NO_HOUSEHOLDS: bool(values) and column in (None, *values),
            Need.NO_CASES: "".join(self.case_persons),
        }

    def of_column(self, name: str) -> Schema:
        """The schema with only one sensitive column; the others become `other`."""
        other_columns = [column for column in self.sensitives if column != name]
        hierarchies, types = dict(self.hierarchies), dict(self.types)
        # Only quasi-identifiers and sensitive columns may have hierarchies and types.
        for column in other_columns:
            hierarchies.pop(column, None)
            types.pop(column, None)
        return replace(
            self,
            sensitive=name,
            sensitives=(),
            other=[*self.other, *other_columns],
            hierarchies=hierarchies,
            types=types,
            impossible=self.rules_about(name),
        )

    @property
    def conditions(self) -> list[str]:
        """The columns in the conditions of the `impossible` rules, each once."""
        return list(dict.fromkeys(chain.from_iterable(rule.where for rule in self.impossible)))

    @property
    def published_weights(self) -> str | None:
        """The column of weights, if the weights of groups are published; else None."""
        return self.weights if self.weights in self.other else None

    @property
    def persons(self) -> list[str]:
        """A list of the `person` column; empty if there is none."""
        return [*filter(None, [self.person])]

    @property
    def naming_columns(self) -> tuple[str, ...]:
        """The columns that name people: `person`, or else all identifiers."""
        return tuple(self.persons or self.identifiers)

    def unique_identifiers(self, person: str | None) -> list[str]:
        """The identifiers that must not repeat, besides a column that names each `person`.

        Where rows are cases, all of them may repeat.
        """
        others = [*columns_except(self.identifiers, [person])]
        return {"person": others, "row": []}[self.unit]

    @property
    def noun(self) -> str:
        """The word for rows: "people" or "cases"."""
        return {"person": "people", "row": "cases"}[self.unit]

    @property
    def counts_people(self) -> bool:
        """True if rows are cases, and `person` names the person of each."""
        return bool(self.case_persons)

    @property
    def case_persons(self) -> list[str]:
        """A list of the `person` column if rows are cases; empty otherwise."""
        return {"person": [], "row": self.persons}[self.unit]

    @property
    def row_persons(self) -> list[str]:
        """A list of the `person` column if rows are no cases; empty otherwise."""
        return [*columns_except(self.persons, self.case_persons)]

    @property
    def repeated_persons(self) -> list[str]:
        """A list of the `person` column if a person may have several rows; empty otherwise."""
        return self.persons if self.several else self.case_persons

    @property
    def households(self) -> list[Shared]:
        """A list of what households share; empty if they share nothing."""
        return [*filter(None, [cast("Shared | None", self.shared)])]

    @property
    def unit_columns(self) -> list[str]:
        """The column of each row's person or household, if these may have several rows; or []."""
        return [*self.case_persons, *(shared.by for shared in self.households)]

    @property
    def shared_columns(self) -> tuple[str, ...]:
        """The column that marks rows with a household's values, and the columns of these."""
        return next(((shared.column, *shared.values) for shared in self.households), ())

    @property
    def shared_values(self) -> tuple[str, ...]:
        """The sensitive columns whose values belong to households."""
        return self.shared_columns[1:]

    @property
    def one_row_each(self) -> bool:
        """True if rows are counted, and not the persons of cases or households."""
        return not (self.counts_people or self.shared_values)

    @property
    def several(self) -> dict[str, str]:
        """The sensitive columns in which a person may have several values, with their semantics."""
        return multivalued_columns(self.semantics, self.sensitives)

    @property
    def single(self) -> tuple[str, ...]:
        """The sensitive columns in which everybody has one value."""
        return columns_except(self.sensitives, self.several)

    def semantics_of(self, column: str | None = None) -> Semantics:
        """The semantics of a sensitive column; of the first if None."""
        return cast("Semantics", self.several.get(column or self.sensitive, "single"))

    def _normalize_sensitive(self) -> None:
        """Set `sensitive` to the first sensitive column, and `sensitives` to all of them.

        `SchemaError` if they are not given as one column or a list.
        """
        sensitive, sensitives = self.sensitive, self.sensitives
        if isinstance(sensitive, (list, tuple)):
            if not sensitive:
                raise SchemaError("sensitive is empty; name the column that must stay hidden")
            sensitive, sensitives = sensitive[0], sensitive
        # A copy for which a caller gave one column still has the list of the original: drop that.
        is_of_original = isinstance(sensitives, _AllSensitive)
        if is_of_original and not isinstance(sensitive, _FirstOfSeveral):
            sensitives = (sensitive,)
        names = _AllSensitive(sensitives if sensitive in sensitives else (sensitive,))
        for name in names:
            if not isinstance(name, str):
                raise SchemaError(f"sensitive must be the name of one column, not {name!r}")
        is_first = len(names) > 1
        object.__setattr__(self, "sensitive", _FirstOfSeveral(sensitive) if is_first else sensitive)
        object.__setattr__(self, "sensitives", names)

    def _by_role(self) -> list[tuple[str, Sequence[str]]]:
        """The columns with each role."""
        return [
            ("identifier", self.identifiers),
            ("quasi-identifier", self.quasi_identifiers),
            ("sensitive", self.sensitives),
            ("other", self.other),
            ("group", () if self.group is None else (self.group,)),
        ]

    def key_of(self, column: str) -> str | None:
        """The key of a policy file that names a column, such as schema.other; None if none does."""
        names_by_key: dict[str, Iterable[str]] = {
            "quasi_identifiers": self.quasi_identifiers,
            "sensitive": self.sensitives,
            "other": self.other,
            "identifiers": self.identifiers,
            "person": self.persons,
            "group": filter(None, [self.group]),
            "weights": filter(None, [self.weights]),
            "shared": [shared.by for shared in self.households],
            "impossible": self.conditions,
        }
        for key, names in names_by_key.items():
            if column in names:
                return f"schema.{key}"
        return None

    def role(self, column: str) -> str | None:
        """The role of a column: identifier, quasi-identifier, sensitive, other, or None."""
        return next((role for role, columns in self._by_role() if column in columns), None)

    @property
    def columns(self) -> list[str]:
        """Every column that has a role."""
        return list(chain.from_iterable(columns for _, columns in self._by_role()))

    def naming(self, person: str | None = None) -> Schema:
        """The schema with a `person` column: the given one, its own, or its only identifier.

        Raises
        ------
        SchemaError
            If there is no such column.
        """
        # If there is only one identifier, it must be what names people.
        columns = [*filter(None, [person])] or self.naming_columns
        if len(columns) != 1:
            raise SchemaError(
                "the policy does not say which column names people; add --person COLUMN"
            )
        identifiers = self.unique_identifiers(columns[0])
        return replace(self, person=columns[0], identifiers=identifiers, unit="person")

    def _repr_html_(self) -> str:
        return page_of(self).summary()

    def to_dict(self) -> dict[str, Any]:
        """The ``[schema]`` table of a policy file."""
        table = {key: getattr(self, key) for key in SchemaTable.model_fields}
        if len(self.sensitives) > 1:
            table["sensitive"] = self.sensitives
        if isinstance(self.semantics, Mapping):
            table["semantics"] = self.several
        if isinstance(self.missing, Relabel):
            table["missing"] = {"label": str(self.missing)}
        table["types"] = dict(self.types)
        table["shared"] = next((shared.to_dict() for shared in self.households), None)
        rules = [rule.to_dict() for rule in self.impossible]
        # With one sensitive column, rules need not name it.
        for rule in rules if len(self.sensitives) == 1 else ():
            del rule["sensitive"]
        table["impossible"] = rules
        table["reading"] = cast("Reading", self.reading).to_dict()
        hierarchies: dict[str, Any] = {}
        for column, hierarchy in self.hierarchies.items():
            if isinstance(hierarchy, Mapping):
                hierarchies[column] = dict(hierarchy)
            else:
                hierarchies[column] = hierarchy.to_dict()
        table["hierarchies"] = hierarchies
        return _written(table)

    def _read_hierarchies(self) -> None:
        """Make hierarchies of the tables that stand for them in a policy.

        `SchemaError` if a hierarchy or a type belongs to no column that can have one, or is none.
        """
        if not isinstance(self.hierarchies, Mapping):
            raise SchemaError(
                "hierarchies must name columns, such as {'age': {'intervals': [5, 10]}}, not "
                f"{self.hierarchies!r}; without them, numbers become ranges and texts sets"
            )
        for column in (*self.hierarchies, *self.types):
            if column not in (*self.quasi_identifiers, *self.sensitives):
                # In TOML, an unquoted name with a point is a table in a table: x.y becomes x.
                dotted = []
                for name in self.quasi_identifiers:
                    if name.startswith(f"{column}."):
                        dotted.append(name)
                key = "hierarchies" if column in self.hierarchies else "types"
                hint = did_you_mean(column, self.quasi_identifiers)
                if dotted:
                    hint = f'; in TOML, write "{dotted[0]}" in quotes'
                elif "known: " not in hint:
                    hint += f" known: {listing(self.quasi_identifiers)}"
                raise SchemaError(
                    f"schema.{key} names {column!r}, which is no quasi-identifier{hint}"
                )
        for column, kind in self.types.items():
            refuse_other(f"the type of {column!r} is", kind, get_args(Kind), SchemaError)
        for column, hierarchy in self.hierarchies.items():
            if not isinstance(hierarchy, Mapping) and not hasattr(hierarchy, "levels"):
                raise SchemaError(
                    f"the hierarchy of {column!r} must be a Hierarchy or a table such as "
                    f"{{ mask = 5 }}, not {hierarchy!r}"
                )
        hierarchies = {
            column: hierarchy_from(h, column, self.folder) if isinstance(h, Mapping) else h
            for column, h in self.hierarchies.items()
        }
        object.__setattr__(self, "hierarchies", hierarchies)


def _written(table: Mapping[str, Any]) -> dict[str, Any]:
    """The ``[schema]`` of a policy file: the first four keys, and others if not the default."""
    fields = SchemaTable.model_fields
    always = [*fields][:4]
    entries = {}
    for key, model_field in fields.items():
        setting = table[key]
        if key in always or setting not in (model_field.default, ()):
            entries[key] = list(setting) if isinstance(setting, tuple) else setting
    return entries


# A schema without any special settings: each row is a person with one value, and anybody may have
# any value.
PLAIN = Schema(quasi_identifiers=["?"], sensitive="??")
