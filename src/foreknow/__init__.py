"""Foreknow: audit and publish tables about people against adversaries who already know something.

Data flows one way: a frame is *counted*, counts are *judged*, judgements are *shown*.

=====================  ==========================================================================
`Release`              a published table; its counts are made where the data lives
`GroupCounts`          groups x sensitive values, sparse: what nearly every adversary needs
`Facts`                an adversary, with `disclosure`, `disclosures`, `monotone` and `ledger`
`Priors`               an adversary who knows how likely values are for people of each kind
`Learned`              an adversary who learns that from the release itself: an estimate
`Algorithm`            an adversary who can run the method that made the release
`Statements`           an adversary who knows these very things about these very people
`Policy`               requirements: values, adversary, limit; read from TOML or made in Python
`audit`                release x policy -> verdicts, each with its witness
`skyline_report`       release x confidence -> the most knowledge that it withstands
`Microdata`, `Schema`  the raw table and the roles of its columns
`Mondrian`             a method that groups rows as far as the policy allows
`Decoy`                the same for adversaries who know the method
`FullDomain`           another: one level of generalization per column, the same for everybody
`publish`              microdata x policy x method -> a verified release with its certificate
=====================  ==========================================================================

>>> counts = GroupCounts.from_bags([["Flu", "Cancer", "Flu", "AIDS"]])
>>> Facts(l=1).disclosure(counts, value="AIDS").exact
Fraction(1, 2)
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from foreknow_judge.files import temporary_folder as _scratch

# Where each public name lives, which the stub says, also in a zip file; a room is entered when one
# of its names is first asked for.
_LOADER: Any = __spec__.loader
_STUB = _LOADER.get_data(f"{__path__[0]}/__init__.pyi").decode().splitlines()
_LINES = [line.split() for line in _STUB]
_HOME = {line[-1]: line[1] for line in _LINES if line[:1] == ["from"]}
_ALIAS = {line[0]: line[2] for line in _LINES if line[1:2] == ["="]}

# Modules that are attributes: one of them has the measures where pycanon has its own.
_MODULES = {"sample": "foreknow.sample"} | dict.fromkeys(
    ["anonymity", "metrics"], "foreknow.criteria.measures"
)

__all__ = sorted(_HOME)


def _locked_folder(parent: Path) -> tuple[Path, int]:
    """A folder for what a database writes aside, which the next process removes after a kill."""
    from foreknow.atomic_files import locked_folder

    return locked_folder(parent)


_scratch.locked = _locked_folder


def __getattr__(name: str) -> Any:
    """A public name of Foreknow, whose module is imported when it is first asked for.

    For a name that other tools use, or a misspelt one, the error says what to write.
    """
    home_name = _ALIAS.get(name, name)
    if name in _MODULES:
        return import_module(_MODULES[name])
    if home_name not in _HOME:
        message = f"module 'foreknow' has no attribute {name!r}"
        if name.startswith("__"):
            raise AttributeError(message)
        from foreknow.errors import did_you_mean
        from foreknow.names import ADVICE, CALLS

        if name in CALLS:
            return _loaded(CALLS[name])
        instead, near = ADVICE.get(name), did_you_mean(name, (*__all__, *_ALIAS))
        hint = near if "did you" in near else "; see dir(foreknow)"
        if instead:
            hint = f"; {instead}"
        raise AttributeError(f"{message}{hint}")
    value = _loaded(home_name)
    globals()[name] = value
    return value


def _loaded(name: str) -> Any:
    """Load a public name from where it lives."""
    from foreknow.features import load

    return load(f"{_HOME[name]}:{name}")


def __dir__() -> list[str]:
    return __all__
