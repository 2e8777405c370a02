"""Cards: how a notebook shows what an analysis is given: policies, schemas, tables, measures."""

from __future__ import annotations

from typing import Any

from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow.data.utility import Utility
from foreknow.errors import InternalError
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.report.blocks import Pairs, Sentence
from foreknow.report.figures import measures
from foreknow.report.html import fragment
from foreknow.report.pages.audit import policy_rows, schema_rows
from foreknow.report.words import some


def card(given: Any) -> str:
    """Write a small HTML fragment."""
    match given:
        case Policy():
            return _card("Policy", policy_rows(given, given.semantics_of()))
        case Requirement():
            ((title, lines),) = policy_rows(Policy([given]))
            name = "" if title == "Requirement 1" else title
            return fragment("Requirement", name, [Sentence(" ".join(lines))])
        case Schema():
            return _card("Schema", schema_rows(given))
        case Microdata():
            # Not read for this: a large table takes its time.
            size = some(len(given), "person", "people") if given.was_read else "not read yet"
            rows = [("Table", [size]), *schema_rows(given.schema)]
            return _card("Microdata", rows, given.name)
        case Utility():
            return fragment("Utility", blocks=[measures(given)])
    raise InternalError(f"no card shows {type(given).__name__}")


def _card(heading: str, rows: list[tuple[str, list[str]]], name: str = "") -> str:
    lines = [(title, (" " if said[0][-1] == "." else "; ").join(said)) for title, said in rows]
    return fragment(heading, name, [Pairs(heading, lines)])
