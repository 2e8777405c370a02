"""The package page: links that work there, and what a package says of itself."""

import importlib.util
import re
import sys
import tomllib
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# As this file itself must not say.
_INSTALLS = re.compile("pip install [\"']?fore" r"know|fore" r"know\[[a-z]")
# Files in which no command may install a package by a name that is not ours yet.
TEXTS = [
    path
    for folder in ("src", "docs", "examples", "tests", ".ci")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".md", ".toml", ".yml", ".sql", ".j2", ".pyi"}
]


@pytest.fixture
def page(monkeypatch):
    """The function of `hatch_build.py`, without what builds packages."""
    names = ("hatchling", "hatchling.metadata", "hatchling.metadata.plugin")
    for name in (*names, "hatchling.metadata.plugin.interface"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["hatchling.metadata.plugin.interface"].MetadataHookInterface = object
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page


def targets(text):
    return [target for _, target in re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", text)]


def test_every_link_is_absolute_and_leads_to_a_file(page):
    found = targets(page(README, "https://example.org/us", "1.2.3"))
    assert len(found) > 20
    for target in found:
        assert target.startswith(("https://", "#")), target
        inside = re.match(r"https://example.org/us/(?:blob|raw)/v1.2.3/([^#]+)", target)
        if inside:
            assert (ROOT / inside[1]).exists(), target


def test_without_an_address_no_link_is_dead(page):
    made = page(README, "", "1.2.3")
    assert all(target.startswith(("https://", "#")) for target in targets(made))
    assert "![" not in made
    assert "map of threats" in made


def test_the_package_says_who_made_it_and_what_about():
    assert PROJECT["authors"]
    assert {"version", "readme", "urls"} <= set(PROJECT["dynamic"])
    assert any(one.startswith("Operating System") for one in PROJECT["classifiers"])


def test_nothing_installs_by_a_name_that_is_not_ours():
    assert not [path for path in TEXTS if _INSTALLS.search(path.read_text("utf-8"))]
