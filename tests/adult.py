"""The Adult table beside the repository, where it is, and its 72 generalizations."""

from pathlib import Path

import pytest

import foreknow as fk

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT.parent / "shared" / "data" / "adult.csv"
GOLDEN = ROOT.parent / "shared" / "golden" / "adult-implications.json"
LATTICE = ROOT / "examples" / "adult-lattice.toml"


def table():
    """Path of the table; skips the test where there is none."""
    if not TABLE.exists():
        pytest.skip(f"there is no {TABLE.name} beside the repository")
    return TABLE


def microdata():
    """The table with the hierarchies of the example."""
    return fk.Microdata(table(), fk.Policy.load(LATTICE).schema)
