"""In how many files a feature is known.

A limit is a thermometer. Raising one is a line in a diff that somebody reads.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from foreknow.adversaries.registry import ADVERSARIES
from foreknow.criteria.registry import CRITERIA
from foreknow.methods.registry import METHODS

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src" / "foreknow"
# Files that know all keys by their task: the registry, the front door, the names that things have
# elsewhere, and what is measured of a frame as it is.
HOMES = {"registry.py", "leaves.py", "__init__.py", "names.py", "measures.py"}
# Keys that are also plain words.
WORDS = {"art", "safe", "risk", "levels"}
# In how many files of src, beyond its home, a key of a registry or a part of a requirement may be
# known: its judge or gauge in the verifier, and next to nobody else.
PLACES = {
    "facts": 14,
    "implications": 8,
    "negations": 8,
    "priors": 22,
    "k_anonymity": 5,
    "group_size": 5,
    "l_diversity": 3,
    "alpha_k": 1,
    "t_closeness": 4,
    "beta_likeness": 2,
    "delta_disclosure": 2,
    "k_map": 2,
    "delta_presence": 2,
    "risk": 2,
    "population_risk": 4,
    "levels": 2,
    "mondrian": 3,
    "decoy": 1,
    "fulldomain": 1,
    "anatomy": 0,
    "streamliner": 0,
    "jump": 1,
    "naive": 1,
    "any_of": 11,
    "at_level": 4,
    "at_most_times": 8,
    "knowing": 13,
    "within": 11,
}


@cache
def identifiers(path):
    """Identifiers, attributes, keyword names, and the words of short texts without spaces."""
    named = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        for field in ("id", "attr", "arg", "name"):
            if isinstance(text := getattr(node, field, None), str):
                named.add(text)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 40:
            named.update(re.findall(r"\w+", node.value) if " " not in node.value else ())
    return named


def knowing(names, home):
    """The files that know one of some names, apart from their home."""
    return sorted(
        str(path.relative_to(SRC))
        for path in SRC.rglob("*.py")
        if identifiers(path) & names and home not in (path, *path.parents)
        if path.name not in HOMES
    )


def home_of(kind):
    """The file of a class; its folder, where a folder of its own is in a registry's room."""
    path = SRC.joinpath(*kind.__module__.split(".")[1:]).with_suffix(".py")
    rooms = {SRC / "adversaries", SRC / "criteria", SRC / "methods"}
    return path if path.parent in rooms else path.parent


@pytest.mark.parametrize("kind", [*ADVERSARIES, *CRITERIA], ids=lambda kind: kind.key)
def test_a_kind_is_known_in_few_files(kind):
    files = knowing({kind.__name__, kind.key} - WORDS, home_of(kind))
    assert len(files) <= PLACES.get(kind.key, 1), f"{files}: fewer, or add it to PLACES"


@pytest.mark.parametrize("key", [key for key, _ in METHODS if key not in WORDS])
def test_a_method_is_known_in_few_files(key):
    files = [path for path in knowing({key}, SRC / "methods") if not path.startswith("methods")]
    assert len(files) <= PLACES.get(key, 1), f"{files}: fewer, or add it to PLACES"


@pytest.mark.parametrize("part", ["any_of", "at_level", "at_most_times", "knowing", "within"])
def test_a_part_of_a_requirement_is_known_in_few_files(part):
    files = knowing({part}, SRC / "nowhere")
    assert len(files) <= PLACES[part], files
