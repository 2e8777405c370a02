"""What a notebook shows of each object: its repr, escaped."""

import html
from dataclasses import replace

import pyarrow.csv
import pytest
from tests.people import made, people, schema
from tests.report.results import EVIL, evil

import foreknow as fk

NAME = "<script>alert(1)&.csv"


@pytest.fixture
def table(tmp_path):
    """A file whose name is an attack."""
    pyarrow.csv.write_csv(people(), tmp_path / NAME)
    return tmp_path / NAME


def check(thing):
    shown = thing._repr_html_()
    assert shown == f"<code>{html.escape(repr(thing))}</code>"
    assert "<" not in shown.removeprefix("<code>").removesuffix("</code>")


def test_a_release_is_escaped_before_and_after_it_is_counted(table):
    release = fk.Release.from_groups(table, group="sex", sensitive="disease")
    assert NAME in repr(release)
    check(release)
    assert release.counts.n_people == 60
    check(release)


def test_microdata_are_escaped(table):
    microdata = fk.Microdata(table, schema())
    assert NAME in repr(microdata)
    check(microdata)


def test_verdicts_are_escaped():
    for verdict, value in zip(evil().verdicts, EVIL, strict=True):
        assert repr(value) in repr(verdict)
        check(verdict)


def test_a_certificate_is_shown_in_one_short_line():
    certificate = made().certificate
    check(certificate)
    assert "\n" not in repr(certificate)
    assert len(repr(certificate)) < 80


def test_a_certificate_whose_numbers_were_replaced_by_texts_is_escaped():
    check(replace(made().certificate, people=EVIL[0]))
