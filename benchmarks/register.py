"""The bundled register with the diagnosis as its only sensitive column: many methods take one."""

from __future__ import annotations

import tomllib
from typing import Any

from foreknow import sample


def policy_of_diagnoses() -> dict[str, Any]:
    """The bundled policy without its requirement on days."""
    path = sample.policy_path()
    policy = tomllib.loads(path.read_text("utf-8"))
    marital = str(path.with_name(policy["schema"]["hierarchies"]["marital"]["file"]))
    policy["schema"]["hierarchies"]["marital"] = {"file": marital}
    policy["schema"] |= {"sensitive": "diagnosis", "missing": "error"}
    policy["require"] = [own for own in policy["require"] if own["sensitive"] == "diagnosis"]
    del policy["publish"]["unlinked"]
    return policy
