"""What a notebook shows of each object: its repr, escaped."""

import html
from dataclasses import replace

import pyarrow.csv
import pytest
from tests.people import made, people, schema
from tests.report.results import EVIL, evil

import foreknow as fk

NAME = "<script>alert(1)&.csv"


def release(table):
    """Counted already; `repr` says more then."""
    found = fk.Release.from_groups(table, group="sex", sensitive="disease")
    assert found.counts.n_people == 60
    return found


SHOWN = {
    "release": lambda table: fk.Release.from_groups(table, group="sex", sensitive="disease"),
    "counted release": release,
    "microdata": lambda table: fk.Microdata(table, schema()),
    "verdict": lambda table: evil().verdicts[0],
    "certificate": lambda table: made().certificate,
    "forged certificate": lambda table: replace(made().certificate, people=EVIL[0]),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_what_a_notebook_shows_is_one_short_escaped_line(kind, tmp_path):
    pyarrow.csv.write_csv(people(), tmp_path / NAME)
    thing = SHOWN[kind](tmp_path / NAME)
    shown = thing._repr_html_()
    assert shown == f"<code>{html.escape(repr(thing))}</code>"
    assert "<" not in shown.removeprefix("<code>").removesuffix("</code>")
    assert "\n" not in repr(thing)
    assert NAME in repr(thing) or kind in ("verdict", "certificate", "forged certificate")
