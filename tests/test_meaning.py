"""Meaning: what the text of a label says, with nothing else at hand."""

from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from foreknow.data.meaning import Values, meanings_of, quote
from foreknow_judge.errors import DataError


def only(text):
    (meaning,) = meanings_of(text)
    return meaning


def test_ranges_have_ends_and_a_middle():
    assert (only("20 to 29").lower, only("20 to 29").upper) == (20, 29)
    assert only("20 to 29").middle == Decimal("24.5")
    half = only("1.5 to <3")
    assert (half.lower, half.upper, half.below) == (Decimal("1.5"), 3, True)
    value, known, _ = meanings_of("20 to 29 or missing")
    assert (value.members, known.lower, known.missing) == (("20 to 29",), 20, True)
    year = next(m for m in meanings_of("2024") if m.below)
    assert (year.lower, year.upper) == (datetime(2024, 1, 1), datetime(2025, 1, 1))
    assert only("2024-02").middle == datetime(2024, 2, 15, 12)
    assert meanings_of('"mild" to "severe"')[0].ends == ("mild", "severe")


@pytest.mark.parametrize(
    ("text", "members", "missing"),
    [
        ("Divorced | Widowed", ("Divorced", "Widowed"), False),
        ('"a | b" | "c"', ("a | b", "c"), False),
        ('missing | "a"', ("a",), True),
        ('"the ""x"" row"', ('the "x" row',), False),
    ],
)
def test_sets_have_members(text, members, missing):
    found = [m for m in meanings_of(text) if m.quoted or '"' not in text]
    assert (found[0].members, found[0].missing) == (members, missing)


def test_one_number_begins_where_it_ends():
    assert only("7").lower == only("7").upper == 7
    others = [m for text in ("*", "12**", "7 to 8", "a | b") for m in meanings_of(text)]
    assert not any(m.lower is not None and m.lower == m.upper for m in others)
    assert only("*").everything
    assert [(m.start, m.length) for m in meanings_of("12**")] == [("12*", 4), ("12", 4)]
    assert meanings_of("Northern") == ()


def test_what_is_missing_twice_is_refused_and_never_guessed():
    values = Values([None, "a", "b"], "x")
    assert values.covered_by("a or missing").tolist() == [True, True, False]
    with pytest.raises(DataError, match="may be one value"):
        values.covered_by("a or missing or missing")


def test_a_meaning_keeps_numbers_exact_and_is_frozen():
    assert Fraction(only("0.1 to 0.3").lower) == Fraction(1, 10)
    assert quote('a"b') == '"a""b"'
    with pytest.raises(AttributeError):
        only("7").lower = 8
