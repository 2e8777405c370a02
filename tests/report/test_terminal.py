"""What a terminal shows: complete at 80 columns, without colour, whatever the labels."""

import io
import subprocess
import sys

import pytest
from rich.console import Console
from tests.report.audits import Oracle, evil, small

from foreknow.auditing.audit import audit
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.report.pages.audit_terminal import audit_table


def printed(found, width=80, **options):
    stream = io.StringIO()
    Console(file=stream, width=width, **options).print(audit_table(found))
    return stream.getvalue()


def test_an_unsafe_audit_at_80_columns_without_colour():
    text = printed(small(safe=False), no_color=True)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    whole = " ".join(text.split())
    assert whole.startswith("Not safe: 1 of 2 requirements fails three.csv")
    assert "✗ FAILS AIDS 1 ruled out," in whole
    assert "30% AIDS" in whole
    assert "✓ safe every diagnosis" in whole
    assert "✗ Someone who knows that the target does not have" in whole
    assert "your limit is 30%." in whole
    assert whole.endswith("Utility: 48 people in 3 groups of 16 on average (13 to 20).")


def test_a_safe_audit_has_no_sentences():
    text = printed(small())
    assert "Safe: both requirements hold" in text
    assert "someone" not in text.lower()


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_markup_and_control_characters_show_as_they_are(width):
    text = printed(evil(), width=width, force_terminal=True, color_system="truecolor")
    assert max(len(line) for line in printed(evil(), width=width).splitlines()) <= width
    assert "\x1b[31m\x1b" not in text
    assert "\u202e" not in text
    if width == 200:
        assert "[red]red[/red]" in text
        assert r"\x1b[31m" in text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_an_encoding_that_lacks_a_character_gets_another(encoding):
    for found in (small(safe=False), evil()):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        Console(file=stream, width=80).print(audit_table(found))
        stream.flush()
    assert ("✗" in stream.buffer.getvalue().decode(encoding)) == (encoding == "utf-8")


def test_another_kind_of_adversary():
    counts = small().counts
    found = audit(counts, Policy([Requirement(Oracle(), below="0.5", values=["AIDS"])]))
    assert "Oracle(amount=3)" in printed(found, width=120)


def test_the_audit_prints_itself():
    stream = io.StringIO()
    Console(file=stream, width=80).print(small())
    assert "Safe: both requirements hold" in stream.getvalue()


def test_neither_plotly_nor_jinja_is_imported():
    code = (
        "import sys, foreknow.report.pages.audit_terminal; "
        "print([m for m in ('plotly', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
