"""Print pip constraints that pin every dependency to its lower bound in pyproject.toml."""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def pin(requirement: str) -> str:
    """Turn name>=version into name==version; a dependency without a lower bound is an error."""
    bounded = re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?>=([0-9.]+)", requirement)
    if not bounded:
        sys.exit(f"pyproject.toml: {requirement!r} is not of the form name>=version")
    return f"{bounded[1]}=={bounded[2]}"


def requirements() -> list[str]:
    """Give what pyproject.toml requires to build, run and test."""
    declared = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    project = declared["project"]
    lists = [declared["build-system"]["requires"], project["dependencies"]]
    lists += project["optional-dependencies"].values()
    lists += declared["dependency-groups"].values()
    return [requirement for each in lists for requirement in each]


if __name__ == "__main__":
    print(*map(pin, requirements()), sep="\n")
