"""METHODS: every method that a policy file or the command line can name.

Those of other packages come last.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from foreknow import plugins
from foreknow.errors import did_you_mean
from foreknow.features import is_installed, leaf_of, load, more_methods
from foreknow.names import METHODS as ELSEWHERE
from foreknow_judge.errors import PolicyError

if TYPE_CHECKING:
    from foreknow.methods.protocol import Anonymizer, Kind
    from foreknow.policy.options import PublishOptions
    from foreknow.policy.policy import Policy

# What each is called, and its class: entered when it is first asked for.
OURS: tuple[tuple[str, str], ...] = (
    ("mondrian", "foreknow.methods.mondrian.mondrian:Mondrian"),
    ("decoy", "foreknow.features.more_methods.decoy.decoy:Decoy"),
    ("fulldomain", "foreknow.methods.fulldomain.fulldomain:FullDomain"),
    ("anatomy", "foreknow.methods.anatomy:Anatomy"),
    ("art", "foreknow.features.more_methods.art.art:ART"),
    ("streamliner", "foreknow.features.more_methods.streamliner.streamliner:Streamliner"),
    ("jump", "foreknow.features.more_methods.jump.jump:Jump"),
    ("safe", "foreknow.features.more_methods.jump.jump:Safe"),
    ("naive", "foreknow.features.more_methods.jump.jump:Naive"),
)
# Those that consult a policy, publish one table, and have a proof against who knows them.
PROVED = ("decoy",)


def _of_folders() -> Iterator[tuple[str, str]]:
    """Yield each further folder of `more_methods`: NAME/NAME.py names its class `METHOD`."""
    named = {place.split(".")[3] for _, place in OURS if ".more_methods." in place}
    for folder in iter_modules(more_methods.__path__):
        if folder.name not in named:
            if folder.name in dict(OURS):
                raise ImportError(f"{folder.name}: a method of Foreknow is called so already")
            yield folder.name, f"{more_methods.__name__}.{folder.name}.{folder.name}:METHOD"


OF_FOREKNOW = (*OURS, *_of_folders())
METHODS: tuple[tuple[str, str], ...] = (
    *OF_FOREKNOW,
    *((entry.name, entry.value) for entry in plugins.named("foreknow.methods", dict(OF_FOREKNOW))),
)


def key_of(name: str) -> str:
    """The key of a method; upper case, underscores and hyphens make no difference.

    >>> key_of("Full_Domain")
    'fulldomain'
    """
    plain_name, keys = re.sub(r"[-_ ]", "", name).lower(), [key for key, _ in METHODS]
    for key in keys:
        if key in (plain_name, name):
            return key
    # Another tool's name for a method may be known.
    like = ELSEWHERE.get(plain_name)
    hint = f"; most like it is {like!r}" if like else did_you_mean(name, keys)
    raise PolicyError(f"there is no method {name!r}{hint}")


def key_of_table(name: str) -> str:
    """The method that a table of ``[publish]`` is for; another table is refused.

    A misspelt name of another setting gets a hint to that setting.
    """
    from foreknow.policy.tables import PublishTable

    try:
        return key_of(name)
    except PolicyError:
        matches = difflib.get_close_matches(name, PublishTable.model_fields, 1, 0.7)
        if not matches:
            raise
        raise PolicyError(f"there is no {name!r}; did you mean {matches[0]!r}?") from None


def kind_of(key: str) -> type[Kind]:
    """The class of a method by what it is called."""
    kind: type[Kind] = load(dict(METHODS)[key_of(key)])
    return kind


def refuse_other_settings(options: PublishOptions) -> None:
    """Raise `PolicyError` for settings of another method than the one of the policy."""
    for name in options.settings:
        if key_of_table(name) != key_of(options.method):
            raise PolicyError(
                f"publish.{name} has settings, and the method is {options.method}, which does not "
                f'read them: say method = "{key_of_table(name)}" in [publish], or take '
                f"publish.{name} out"
            )


def settings_for(
    name: str, all_settings: Mapping[str, Mapping[str, Any]]
) -> tuple[type[Kind], dict[str, Any]]:
    """The class of a method, and its settings, checked.

    `all_settings` has a table of settings for each method, which may be written by any of its
    names.
    """
    from foreknow.settings import given_of, known_keys, read

    key = key_of(name)
    kind, settings = kind_of(key), dict[str, Any]()
    for method, method_settings in all_settings.items():
        if key_of_table(method) == key:  # a method may have several names
            settings |= method_settings
    unknown = settings.keys() - known_keys(kind.settings)
    for setting, field in kind.settings.model_fields.items():
        if field.is_required() and setting not in settings and not unknown:
            raise PolicyError(
                f"publish.{key}: {setting} is missing; give it in the policy file, or as "
                f"--set {setting}=..."
            )
    return kind, given_of(read(kind.settings, settings, f"publish.{key}"))


def method_of(method: Anonymizer | str, policy: Policy) -> Anonymizer:
    """Return the method, or the one of a name with what a policy sets for it."""
    if isinstance(method, type):
        raise PolicyError(f"give a method, such as {method.__name__}(), not its class")
    if not isinstance(method, str):
        if not hasattr(method, "partition"):
            raise PolicyError(
                f"a method has partition(microdata, policy, seed); {method!r} has not"
            )
        return method
    # A name: make the method with its settings in the policy file.
    kind, settings = settings_for(method, policy.options.settings)
    of_policy: Any = getattr(kind, "from_settings", None)
    # Some classes take more from the policy than settings, such as limits.
    make: Any = kind if of_policy is None else lambda **fields: of_policy(fields, policy)
    anonymizer: Anonymizer = make(**settings)
    return anonymizer


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of a policy file, for editors and for programs that write one.

    >>> sorted(policy_schema()["properties"])
    ['publish', 'require', 'schema', 'try']
    """
    from foreknow.policy.file import policy_settings

    # Only methods that are installed have settings to describe.
    installed = []
    for key, module in METHODS:
        if is_installed(leaf_of(module) or "foreknow"):
            installed.append(key)
    settings = {key: kind_of(key).settings for key in installed}
    tables = policy_settings(settings)
    json_schema = tables.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema}
