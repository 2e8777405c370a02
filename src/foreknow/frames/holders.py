"""Holders: which named person of a release has which sensitive values."""

from __future__ import annotations

import numpy as np

from foreknow.frames.columns import codes_of
from foreknow.frames.holding import Holdings, read_held
from foreknow.frames.missing import Missing, settle_missing
from foreknow.frames.people import People
from foreknow.frames.plain import fetch, to_python
from foreknow.frames.sources import Table
from foreknow.labels import Labels


def hold_values(
    table: Table,
    person: str,
    sensitive: str,
    semantics: str,
    missing: Missing,
    known: Labels,
) -> Holdings:
    """Find who has what.

    Parameters
    ----------
    table : Table
    person, sensitive : str
        Its columns of names and of sensitive values, as they were counted.
    semantics : {"single", "set", "multiset"}
    missing : "error", "drop" or Relabel
        What to do with null sensitive values under ``single``.
    known : Labels
        The values by code.

    Returns
    -------
    Holdings
        People in order of first appearance, as in `place_people`.
    """
    if semantics == "single":
        rows = fetch(table, [person, sensitive])
        rows, _ = settle_missing(table.name, rows, sensitive, missing)
        holders = People.named(table.name, person, rows.column(person)).of_row
        column = rows.column(sensitive)
    else:
        held = read_held(table, [], sensitive, person, semantics)
        holders, column = held.holders, held.values
    codes, found = codes_of(column)
    place = np.array([known.codes[value] for value in to_python(sensitive, found)], codes.dtype)
    return Holdings(holders, place[codes])
