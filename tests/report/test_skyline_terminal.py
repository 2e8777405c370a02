"""What a terminal shows of skylines, at 80 columns and without colour."""

import io

import pytest
from foreknow.report.pages.skyline_terminal import (
    named_case,
    skyline_table,
    value_table,
    worst_case,
)
from rich.console import Console
from tests.report.skylines import case_study, evil, many, of_sets, several

from foreknow.auditing.named_people import NamedWitness


def printed(shown, width=80, **options):
    stream = io.StringIO()
    Console(file=stream, width=width, **options).print(shown)
    return stream.getvalue()


def words(shown, **options):
    return " ".join(printed(shown, **options).split())


def test_one_value_has_a_row_for_each_point():
    text = printed(skyline_table(case_study()), no_color=True)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    whole = words(skyline_table(case_study()), width=160)
    assert whole.startswith("Boss at 95%: 7 points")
    assert "2 1 3 somebody who knows 2 jobs the target does not have, one other" in whole
    assert whole.endswith("can be certain of Boss in the worst case.")


def test_several_values_have_a_row_each():
    whole = words(several())
    assert "The most of one kind of knowledge alone that stays below 50%" in whole
    assert "Flu – – – 0" in whole
    assert "not even knowing nothing else is withstood" in whole
    assert words(value_table(several(), "Flu")).startswith("Flu at 50%: 0 points Not even")


def test_of_many_points_some_are_shown():
    assert "of which 12 are shown" in words(many())


def test_sets_have_their_own_words():
    assert "who do not have AIDS" in words(of_sets())


def test_a_point_beyond_and_one_that_is_withstood():
    beyond = words(worst_case(case_study(), "Boss", (0, 5, 0)))
    assert beyond.startswith("l=0, k=5, m=0 is not withstood: the breach probability is 1. Someone")
    assert "Known people: in group 0: Clerk × 1, Cook × 1, Farmer × 1" in beyond
    within = words(worst_case(case_study(), "Boss", (0, 4, 0)))
    assert within.startswith("l=0, k=4, m=0 is withstood: the breach probability is 2/3 = 66.67%.")


def test_names_come_after_a_warning_with_every_statement():
    named = NamedWitness("Tom", "AIDS", 0.5, 1 / 2, (), (("Ed", "Flu"),), ("Bo\x1b",), "single")
    whole = words(named_case(named), width=200)
    assert whole.startswith(
        "What follows names people and what they have. It is for the owner of the data only."
    )
    assert r"Ed = Flu Bo\x1b = AIDS -> Tom = AIDS" in whole


def test_what_is_not_so_in_the_table_is_marked():
    named = NamedWitness("A", "x", 1, 1, (), (("B", "x"),), (), "multiset", ("x not in B",))
    assert "x not in B (not so in this table, but no less possible)" in words(named_case(named))


@pytest.mark.parametrize("width", [30, 60, 200])
def test_markup_and_control_characters_show_as_they_are(width):
    for shown in (evil(), value_table(evil(), evil().values[0])):
        text = printed(shown, width=width, force_terminal=True, color_system="truecolor")
        assert "\x1b[31m\x1b" not in text
        assert "\u202e" not in text
        assert max(len(line) for line in printed(shown, width=width).splitlines()) <= width


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_an_encoding_that_lacks_a_character_gets_another(encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    for report in (several(), evil(), case_study()):
        Console(file=stream, width=80).print(report)
    stream.flush()
