"""The trials view: attacks that are carried out, and several releases judged as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from foreknow.auditing.audit import audit
from foreknow.features import load
from foreknow.features.explore.session import JudgedSource, Session
from foreknow.report.values import block_values
from foreknow.result import Result
from foreknow.result_pages import page_of
from foreknow_judge.errors import InputError, UnsupportedError
from foreknow_judge.files.documents import from_json
from foreknow_judge.files.file_names import OWNER, owners_folder
from foreknow_judge.files.printable import visible

_MOST_RELEASES = 20


def overview(session: Session, asked_name: Any) -> dict[str, Any]:
    """The page's view: columns that an attacker may learn by, and releases to judge as one."""
    name = session.name_of(asked_name)
    looked = session.looked(name)
    schema = looked.policy.needed_schema
    table_names = session.names_of("table")
    return {
        "name": visible(name),
        "published": looked.published,
        "columns": [*schema.quasi_identifiers, *schema.other],
        "tables": table_names,
        "table": _source(looked, table_names),
        "releases": session.names_of("release"),
    }


def _source(looked: JudgedSource, table_names: Sequence[str]) -> str:
    """The table that a release was made of, as its owner's file says, if it is in the folder."""
    with suppress(OSError, ValueError, AttributeError):
        owner = from_json((owners_folder(looked.path) / OWNER).read_text("utf-8"))
        if owner.get("source") in table_names:
            return str(owner["source"])
    return ""


def run_learned(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The result of an attack that learns from a release; with its table, guesses are counted.

    Inputs: "of" (the release), "by" (columns that the attacker knows) and "table".
    """
    looked = session.looked(inputs.get("of"))
    columns, table = _names(inputs.get("by"), "by"), inputs.get("table")
    if table and session.kind_of(str(table)) != "table":
        raise InputError(f"{visible(table)} is no table")
    people = session.path_of(str(table)) if table else None
    # A folder has the owner's file beside it, which says who is in which group.
    release = looked.path if looked.published else looked.release
    policy = looked.policy if people is not None else None
    learned_report = load("foreknow.features.learned_attacks.measured_guesses:learned_report")
    try:
        trial = learned_report(release, columns or None, people=people, policy=policy)
    except UnsupportedError as error:
        if columns:
            raise
        raise InputError(
            "Nothing can be learned here. A trial needs one value for each person, everybody's "
            "exact columns (choose the table of the release), and 50 groups; with fewer, choose "
            "the columns that are known."
        ) from error
    return _trial_values(trial)


def judge_together(session: Session, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Judge several releases as one, by the policy of the last."""
    names = _names(inputs.get("releases"), "releases")
    if not 2 <= len(names) <= _MOST_RELEASES:
        raise InputError(f"choose 2 to {_MOST_RELEASES} releases of the same people")
    for name in names:
        if session.kind_of(name) != "release":
            raise InputError(f"{visible(name)} is no release")
    paths = list(map(session.path_of, names))
    return _trial_values(audit(paths, session.policy_of(names[-1]), learned=False))


def _trial_values(result: Result) -> dict[str, Any]:
    page = page_of(result)
    return {
        "headline": page.headline,
        "mood": page.mood or "plain",
        "blocks": block_values([*page.glance(), *page.beside()]),
    }


def _names(names: Any, key: str) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{key} is a list of names")
    return names
