"""The call or options to type for a table that was given alone, with guessed roles."""

from __future__ import annotations

import shlex
from contextlib import suppress
from typing import Any

from foreknow.policy.call_arguments import call_of_any_table
from foreknow_judge.errors import ForeknowError
from foreknow_judge.files.printable import visible


def guessed_roles(table: Any, reading: Any = None) -> dict[str, list[str]]:
    """The columns by role, as `suggest_policy` guesses them; none if a row is not a person.

    Nothing is judged by them: they are shown to somebody who decides.
    """
    from foreknow.planning.suggestion.policy import suggest_policy  # after a mistake only

    with suppress(ForeknowError):  # no policy can be suggested
        suggestion = suggest_policy(table, reading=reading)
        schema = suggestion.policy.needed_schema
        if not suggestion.repeated and schema.one_row_each and len(schema.sensitives) == 1:
            roles = {
                "quasi_identifiers": [*schema.quasi_identifiers],
                "sensitive": [*schema.sensitives],
                "identifiers": [*schema.identifiers],
            }
            return {role: names for role, names in roles.items() if names}
    return {}


def call_of(table: Any, name: str) -> str:
    """A call with the roles that the columns of a table seem to have, or else of any table."""
    roles = {} if table is None else guessed_roles(table)
    if not {"quasi_identifiers", "sensitive"} <= {*roles}:
        return call_of_any_table(table, name)
    return f"{call_with(roles, name)}, if these guesses of its columns are right"


def call_with(roles: dict[str, list[str]], name: str) -> str:
    """The call of a function of Foreknow in Python, with the columns of these roles.

    >>> call_with({"quasi_identifiers": ["age"], "sensitive": ["ill"]}, "audit")
    'fk.audit(table, quasi_identifiers=["age"], sensitive="ill", k_anonymity=5)'
    """
    arguments: list[str] = []
    for role, names in roles.items():
        texts = [_quoted(column) for column in names]
        listed = texts[0] if role == "sensitive" else f"[{', '.join(texts)}]"
        arguments.append(f"{role}={listed}")
    return f"fk.{name}(table, {', '.join(arguments)}, k_anonymity=5)"


def options_of(roles: dict[str, list[str]]) -> str:
    """The options of a command, with the columns of these roles; "" if one cannot stand in a list.

    >>> options_of({"quasi_identifiers": ["age", "zip"], "sensitive": ["ill"]})
    '--quasi-identifiers age,zip --sensitive ill --k-anonymity 5'
    """
    options: list[str] = []
    for role, names in roles.items():
        if any("," in column or visible(column) != column for column in names):
            return ""
        options += [f"--{role.replace('_', '-')}", shlex.quote(",".join(names))]
    return " ".join([*options, "--k-anonymity 5"]) if options else ""


def _quoted(name: str) -> str:
    return f'"{name}"' if '"' not in name and "\\" not in name else repr(name)
