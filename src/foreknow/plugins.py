"""Plugins: kinds of knowledge, criteria and methods of other packages, by their entry points.

They come after those of Foreknow and have its names neither replaced nor taken. What they say is
their packages' word: `foreign` names them wherever a verdict rests on them.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Any

from foreknow.features import load
from foreknow_judge.errors import InputError

_LOG = logging.getLogger(__name__)


def entry_points(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group; what is installed is read once."""
    of_group: Iterable[EntryPoint] = _installed(tuple(sys.path)).select(group=group)
    return of_group


@lru_cache(maxsize=1)
def _installed(path: tuple[str, ...]) -> Any:
    return metadata.entry_points()


def named(group: str, taken_names: Collection[str]) -> tuple[EntryPoint, ...]:
    """The entry points that installed packages have in a group, sorted by name.

    One whose name is taken, by Foreknow or another package, is passed over with a warning.
    """
    by_name: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        if entry.name in (*taken_names, *by_name):
            _LOG.warning("%s: %s (%s): the name is taken", group, entry.name, entry.value)
        else:
            by_name[entry.name] = entry
    return tuple(by_name.values())


class Registry(Mapping[str, Any]):
    """Classes by their keys: ours, each loaded when it is first asked for, then those of others.

    Parameters
    ----------
    group : str
        The entry points of other packages.
    ours : mapping of key to place
        As `foreknow.features.load` takes it.
    taken : collection of str
        Further keys that others cannot have.
    """

    def __init__(self, group: str, ours: Mapping[str, str], taken: Collection[str] = ()) -> None:
        self._places = ours
        self._foreign = {kind.key: kind for kind in kinds(group, [*ours, *taken])}

    def __getitem__(self, key: str) -> Any:
        return load(self._places[key]) if key in self._places else self._foreign[key]

    def __contains__(self, key: object) -> bool:
        return key in self._places or key in self._foreign

    def __iter__(self) -> Iterator[str]:
        yield from (*self._places, *self._foreign)

    def __len__(self) -> int:
        return len(self._places) + len(self._foreign)


def kinds(group: str, taken: Iterable[str]) -> tuple[Any, ...]:
    """The classes that other packages have in a group; each is called by its key in a requirement.

    Keys in `taken`, and those that requirements have already, cannot be used.
    """
    # Imported here, since commands that read no policy do without these.
    from foreknow.settings import known_keys
    from foreknow_judge.policy.grammar import RequireTable

    classes = []
    taken_names = {*known_keys(RequireTable), "at_level", "absent", *taken}
    for entry in named(group, taken_names):
        try:
            kind = entry.load()
        except Exception as error:
            raise InputError(
                f"{entry.value}, which a package gives to {group} as {entry.name!r}, cannot be "
                f"loaded: {error}; mend or uninstall that package"
            ) from error
        if getattr(kind, "key", None) != entry.name:
            raise InputError(
                f"{entry.value} is given to {group} as {entry.name!r}, but its key is "
                f"{getattr(kind, 'key', None)!r}; they must be the same"
            )
        classes.append(kind)
    return tuple(classes)


def package_of(kind: type) -> str:
    """The package that a class is of; nothing where it is Foreknow's own.

    >>> package_of(InputError), package_of(EntryPoint)
    ('', 'importlib')
    """
    package = kind.__module__.partition(".")[0]
    return "" if package in ("foreknow", "foreknow_judge") else package


def key_of(kind: type) -> str:
    """The key of a kind in policies; its name if it has none."""
    return str(getattr(kind, "key", kind.__name__))


def foreign(kinds: Iterable[type[Any]]) -> tuple[str, ...]:
    """The keys of kinds from other packages, with the packages."""
    keys_and_packages = ((key_of(kind), package_of(kind)) for kind in kinds)
    return tuple(
        dict.fromkeys(f"{key} ({package})" for key, package in keys_and_packages if package)
    )
