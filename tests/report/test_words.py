"""Labels in sentences: nothing hidden, nothing that runs together."""

import pytest

from foreknow.report.words import group_words, listing, named, noun_of, plural, some, visible


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("Flu", "Flu"),
        (7, "7"),
        (None, "missing"),
        (True, "True"),
        ("a\nb\tc", r"a\nb\tc"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("abc\u202edcb", r"abc\u202edcb"),
        ("\ud800", r"\ud800"),
        ("Grüße 中文", "Grüße 中文"),
    ],
)
def test_nothing_in_a_label_is_hidden(label, shown):
    assert visible(label) == shown


@pytest.mark.parametrize(
    ("label", "shown"),
    [("", "“”"), (" Flu", "“ Flu”"), ("Flu, mild", "“Flu, mild”"), ("Type 2", "Type 2")],
)
def test_a_value_is_quoted_where_its_end_would_not_be_seen(label, shown):
    assert named(label) == shown


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        (17, "group 17"),
        ("A-1", "group A-1"),
        (("20 to 37", "M"), "group “20 to 37, M”"),
        ((None, 3), "group “missing, 3”"),
        (("1305*",), "group 1305*"),
    ],
)
def test_groups_by_id_or_by_quasi_identifiers(label, shown):
    assert group_words(label) == shown


def test_lists_end_in_a_word_and_long_ones_in_a_number():
    assert listing([]) == ""
    assert listing(["A"]) == "A"
    assert listing(["A", "B"], "or") == "A or B"
    assert listing(list("ABCDEFG")) == "A, B, C, D, E, F and G"  # never "1 others"
    assert listing(list("ABCDEFGH")) == "A, B, C, D, E, F and 2 others"


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("diagnosis", "diagnoses"),
        ("disease", "diseases"),
        ("salary", "salaries"),
        ("day", "days"),
        ("illness", "illnesses"),
        ("status", "statuses"),
        ("symptoms", "symptoms"),
        ("sensitive value", "sensitive values"),
        ("ICD10", "values of ICD10"),
        ("病名", "values of 病名"),
    ],
)
def test_plurals(one, several):
    assert plural(one) == several


def test_column_names_become_nouns_where_they_are():
    assert noun_of("Diagnosis") == "diagnosis"
    assert noun_of("blood_type") == "blood type"
    assert noun_of("ICD_10") == "ICD_10"


def test_amounts():
    assert some(1, "relative", "relatives") == "one relative"
    assert some(1200, "relative", "relatives") == "1,200 relatives"
