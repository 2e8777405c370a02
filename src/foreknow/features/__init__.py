"""Features: large abilities that the rest of Foreknow does not need (the leaves), a folder each.

A leaf can be deleted: what it offers is then refused with one sentence, and all else works.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from foreknow_judge.errors import UnsupportedError

# The folder of each leaf, and what it is called in messages.
LEAVES: dict[str, str] = {
    "foreknow.features.more_methods.art": "the method ART",
    "foreknow.features.more_methods.streamliner": "the method Streamliner",
    "foreknow.features.more_methods.jump": "the methods Jump, Safe and Naive",
    "foreknow.features.more_methods.decoy": "the method Decoy",
    "foreknow.features.statements": "asking what follows from statements",
    "foreknow.features.attacks": "the attack of somebody who knows the method",
    "foreknow.features.learned_attacks": "the attack of somebody who learns from a release",
    "foreknow.features.utility": "measuring utility",
    "foreknow.features.comparison": "comparing methods",
    "foreknow.features.risk": "measuring risk",
    "foreknow.features.skylines": "skylines, curves and surveys",
    "foreknow.features.evidence": "the evidence page",
    "foreknow.features.several_releases": "judging several releases together",
    "foreknow.features.spark": "reading tables of Spark",
    "foreknow.features.explore": "the local web page",
    "foreknow.features.exports": "exporting to Excel, SPSS and Stata",
}


def leaf_of(module: str) -> str | None:
    """The folder of the leaf that a module belongs to; None for the judge and the trunk."""
    return next((leaf for leaf in LEAVES if module == leaf or module.startswith(f"{leaf}.")), None)


def is_installed(leaf: str) -> bool:
    """True if the folder of a leaf is there, with a module in it."""
    spec = find_spec(leaf)
    return spec is not None and spec.origin is not None


def load(address: str) -> Any:
    """The object at a place such as ``foreknow.features.risk.risk:risk_report``.

    Raises
    ------
    UnsupportedError
        If it belongs to a leaf that is not installed.
    """
    module, _, name = address.partition(":")
    leaf = leaf_of(module)
    if leaf is not None and not is_installed(leaf):
        raise UnsupportedError(
            f'not installed: {LEAVES[leaf]} ({leaf}); the whole package has it: pip install "." '
            "in a clone"
        )
    imported = import_module(module)
    return getattr(imported, name) if name else imported
