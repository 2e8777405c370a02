"""Policy files: TOML, every key checked, errors that name the key.

The keys of a requirement are declared by `ADVERSARIES` and `CRITERIA`, and read here. The settings
of a method are checked where it is made: see `foreknow.methods.registry`.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from foreknow.adversaries import registry as adversaries
from foreknow.adversaries.adversary import Adversary, Kind
from foreknow.criteria import registry as criteria
from foreknow.criteria.criterion import Criterion
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.schema import Schema
from foreknow.errors import did_you_mean
from foreknow.features import is_installed, load
from foreknow.needs import check_members
from foreknow.policy.kinds import kind_of
from foreknow.policy.options import PublishOptions
from foreknow.policy.requirement import Requirement
from foreknow.policy.tables import PolicyTable, PublishTable, Registered, policy_table
from foreknow.policy.trials import Try
from foreknow.settings import read
from foreknow.toml import from_toml, read_text, toml_key, toml_value
from foreknow_judge.criteria.gauges import CRITERIA as JUDGED
from foreknow_judge.errors import PolicyError
from foreknow_judge.files.documents import from_json
from foreknow_judge.policy.settings import Settings

_MOST_BYTES = 16 << 20
_IN_TOML = (
    '; YAML is not read: name it policy.toml, and write quasi_identifiers = ["age"], '
    'sensitive = "diagnosis", k_anonymity = 5; or policy.json'
)
# The key of the attack that a policy can try.
_LEARNED = "learned"


@lru_cache(64)
def _tables(
    kinds: tuple[tuple[str, Any], ...],
    criterion_kinds: tuple[tuple[str, Any], ...],
    tried: tuple[tuple[str, Any], ...],
    makers: tuple[tuple[str, Any], ...],
) -> type[Settings]:
    """The model that checks a policy file: all registered kinds, and the methods that it sets.

    Each argument is pairs of a key and its class: adversaries, criteria, attacks and methods. They
    are tuples, and no dicts, so that the result can be cached.
    """
    knowledge = _settings(kinds, Kind, Adversary)
    criteria_settings = _settings(criterion_kinds, Criterion)
    return policy_table(Registered(knowledge, criteria_settings, _settings(tried), dict(makers)))


def _settings(kinds: Iterable[tuple[str, Any]], *protocols: type) -> dict[str, Any]:
    """The settings of kinds by their keys; none of those that were not loaded."""
    settings = dict[str, Any]()
    for key, kind in kinds:
        if kind is not None:
            check_members(kind, *protocols)
        settings[key] = Settings if kind is None else kind.settings
    return settings


def policy_settings(methods: Mapping[str, Any], required: Collection[str] = ()) -> type[Settings]:
    """The model that checks a policy file: all registered kinds, and tables of these methods.

    Where it is known which kinds are `required`, Foreknow's others are named without their
    settings, so that their modules need not be imported.
    """
    kinds = _loaded(adversaries.ADVERSARIES, adversaries.OURS, required)
    criterion_kinds = _loaded(criteria.CRITERIA, criteria.OURS, required)
    tried: tuple[tuple[str, Any], ...] = ()
    if is_installed("foreknow.features.learned_attacks"):
        needed = not required or _LEARNED in required
        tried = (
            (
                _LEARNED,
                load("foreknow.features.learned_attacks.learned:Learned") if needed else None,
            ),
        )
    named = {key: made for key, made in methods.items() if not _belongs_to_pydantic(key)}
    return _tables(kinds, criterion_kinds, tried, tuple(named.items()))


def _belongs_to_pydantic(key: str) -> bool:
    """True for a name such as `copy`, which a model cannot give to a key of a file."""
    return key.startswith("_") or hasattr(PublishTable, key)


def _loaded(
    registry: Mapping[str, Any], ours: Container[str], required: Collection[str]
) -> tuple[tuple[str, Any], ...]:
    """The classes of kinds by their keys; None for our own that are not required.

    Nothing in `required` means that all are.
    """
    unneeded = set()
    for key in registry:
        if key in ours and required and key not in required:
            unneeded.add(key)
    # To look up a key in the registry imports its class, so that is done only where needed.
    return tuple((key, None if key in unneeded else registry[key]) for key in registry)


def text_of(table: Mapping[str, Any]) -> str:
    """The text (TOML) of a policy file with these tables.

    A list of tables is written as several, each below its name in double brackets.
    """
    lines = []
    for name in ("schema", "require", "try", "publish"):
        several = table.get(name, [])
        for entry in several if isinstance(several, list) else [several]:
            lines.append(f"[[{name}]]" if isinstance(several, list) else f"[{name}]")
            for key, value in entry.items():
                lines.append(f"{toml_key(key)} = {toml_value(value)}")
            lines.append("")
    return "\n".join(lines)


def tables_of(path: Path) -> dict[str, Any]:
    """The tables of a policy file (TOML or JSON), unchecked."""
    if path.is_dir():
        raise PolicyError(
            f"{str(path)!r} is a folder, and no policy; several releases are one list, before the "
            'policy: ["january", "march"]'
        )
    text = read_text(path, _MOST_BYTES, PolicyError, f"the policy {str(path)!r}")
    return tables_in(text, path.name)


def tables_in(text: str, name: str) -> dict[str, Any]:
    """The tables in the text of a policy, unchecked: JSON if its name ends so, TOML otherwise."""
    ending = Path(name).suffix.lower()
    try:
        if ending == ".json":
            return dict(from_json(text))
        return from_toml(text)
    except (ValueError, TypeError, RecursionError) as error:
        kind = "JSON" if ending == ".json" else "TOML"
        hint = "" if ending in (".toml", ".json") else "; a policy file is named policy.toml"
        hint = _IN_TOML if ending in (".yaml", ".yml") else hint
        raise PolicyError(f"{name} is not valid {kind}: {error}{hint}") from None


def read_tables(table: Mapping[str, Any], name: str) -> Any:
    """The tables of a policy file, checked; a `PolicyError`, which begins with `name`, if wrong."""
    if not isinstance(table, Mapping):
        raise PolicyError(f"{name}: expected the tables of a policy, not {type(table).__name__}")
    _refuse_kinds(table, name)
    if table.get("try"):
        load("foreknow.features.learned_attacks.learned")  # which is refused if it is not installed
    publish = table.get("publish")
    methods = []  # a table in [publish] that is no option has the settings of a method
    for key, settings in publish.items() if isinstance(publish, Mapping) else ():
        if isinstance(settings, Mapping) and key not in PublishTable.model_fields:
            methods.append(key)
    keys: set[Any] = set()  # of all requirements and tries
    for tables_of_key in (table.get("require"), table.get("try")):
        for entry in tables_of_key if isinstance(tables_of_key, list) else ():
            keys |= {*entry} if isinstance(entry, Mapping) else set()
    return read(policy_settings(dict.fromkeys(methods), keys), dict(table), name)


def parts_of(
    tables: Any, folder: Path
) -> tuple[Sequence[Requirement], Schema | None, PublishOptions, Sequence[Try]]:
    """The requirements, the schema, the options and the trials of a policy, from its tables.

    Relative paths of hierarchies and priors start in `folder`.
    """
    requirements = []
    for position, required in enumerate(tables.require):
        name = required.name or f"require[{position}]"
        requirements.append(_requirement(required, name, folder))
    schema = None if tables.schema_ is None else Schema(**dict(tables.schema_), folder=folder)
    if schema is not None:
        _check_missing_columns(schema)
    # Only quasi-identifiers have labels, of which [publish] says how they are written.
    for column in tables.publish.labels:
        if schema is not None and column not in schema.quasi_identifiers:
            raise PolicyError(
                f"publish.labels: {column!r} is no quasi-identifier"
                f"{did_you_mean(column, schema.quasi_identifiers)}"
            )
    options = PublishOptions.from_dict(dict(tables.publish))
    return requirements, schema, options, list(map(_try, tables.try_))


def _check_missing_columns(schema: Schema) -> None:
    """Refuse codes of missing values for a column that a schema does not name.

    Named are columns with a role, and those in conditions of rules (impossible).
    """
    conditions = [*schema.conditions]
    columns = [*schema.columns, *filter(None, (schema.person, schema.weights)), *conditions]
    for name in cast("Reading", schema.reading).missing_of:
        if name not in columns:
            raise PolicyError(
                f"schema.reading.missing: {name!r} has no role in [schema]"
                f"{did_you_mean(name, columns)}"
            )


def _try(trial: Any) -> Try:
    """Somebody who learns by some columns from a release, or an estimate by weights."""
    settings = getattr(trial, _LEARNED, None)
    attack = settings and load("foreknow.features.learned_attacks.learned:Learned")(settings.by)
    return Try(attack, trial.stop, trial.sensitive, trial.individual_risk)


def _refuse_kinds(table: Mapping[str, Any], name: str) -> None:
    """Refuse criteria that are not installed, and `learned`, of which no limit can be proved.

    `table` has all tables of a policy; `name` begins messages.
    """
    required = table.get("require")
    lacking = JUDGED.keys() - {*criteria.CRITERIA}
    for position, requirement in enumerate(required if isinstance(required, list) else []):
        if isinstance(requirement, Mapping) and requirement.keys() & lacking:
            load("foreknow.features.risk.criteria")  # which is refused if it is not installed
        if isinstance(requirement, Mapping) and _LEARNED in requirement:
            raise PolicyError(
                f"{name}: require[{position}]: what is learned from a release is an estimate, and "
                'no limit can be proved of it; write [[try]] with learned = { by = ["job"] } and '
                "stop = 0.85, which may stop a publication"
            )


def _requirement(table: Any, name: str, folder: Path) -> Requirement:
    """Make a requirement of its table: of one adversary or criterion, or of points with limits.

    `folder` is where relative paths of files in the settings begin.
    """
    adversary: Any = []
    for key, settings in table.kinds.items():
        if not isinstance(settings, list):  # then it is the only one, as the grammar has checked
            adversary = kind_of(key).from_settings(settings, folder)
            break
        for point in settings:
            adversary.append((kind_of(key).from_settings(point, folder), point.below))
    fields = {key: getattr(table, key) for key in PolicyTable.model_fields}
    return Requirement(adversary, **{**fields, "name": name})
