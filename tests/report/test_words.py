"""Words: nothing hidden or run together, percentages on their side of the limit, terms of facts."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import foreknow as fk
from foreknow.adversaries.disclosure import Disclosure
from foreknow.report.knowledge import Terms
from foreknow.report.words import (
    group_words,
    limit_text,
    listing,
    named,
    noun_of,
    percent,
    plural,
    some,
)
from foreknow.text import one_line, visible


@pytest.mark.parametrize(
    ("words", "cases"),
    [
        # nothing in a label is hidden
        (
            visible,
            {
                "Flu": "Flu",
                7: "7",
                None: "missing",
                True: "True",
                "a\nb\tc": r"a\nb\tc",
                "\x1b[31mred": r"\x1b[31mred",
                "abc\u202edcb": r"abc\u202edcb",
                "\ud800": r"\ud800",
                "Grüße 中文": "Grüße 中文",
            },
        ),
        # a value is quoted where its end would not be seen
        (named, {"": "“”", " Flu": "“ Flu”", "Flu, mild": "“Flu, mild”", "Type 2": "Type 2"}),
        # groups by id or by quasi-identifiers
        (
            group_words,
            {
                17: "group 17",
                "A-1": "group A-1",
                ("20 to 37", "M"): "group “20 to 37, M”",
                (None, 3): "group “missing, 3”",
                ("1305*",): "group 1305*",
            },
        ),
        # long lists end in a number, and never in "1 others"
        (
            lambda letters: listing(list(letters), "and" if letters != "AB" else "or"),
            {
                "": "",
                "A": "A",
                "AB": "A or B",
                "ABCDEFG": "A, B, C, D, E, F and G",
                "ABCDEFGH": "A, B, C, D, E, F and 2 others",
            },
        ),
        (
            plural,
            {
                "diagnosis": "diagnoses",
                "disease": "diseases",
                "salary": "salaries",
                "day": "days",
                "illness": "illnesses",
                "status": "statuses",
                "symptoms": "symptoms",
                "sensitive value": "sensitive values",
                "ICD10": "values of ICD10",
                "病名": "values of 病名",
            },
        ),
        # names of columns become nouns where they are
        (noun_of, {"Diagnosis": "diagnosis", "blood_type": "blood type", "ICD_10": "ICD_10"}),
        (
            lambda number: some(number, "link", "links"),
            {1: "one link", 1200: "1,200 links"},
        ),
        # a limit is written exactly
        (
            lambda limit: limit_text(Fraction(limit)),
            {"0.5": "50%", "0.621": "62.1%", "2/3": "2/3", "1": "100%", "0.00125": "0.125%"},
        ),
    ],
    ids=["visible", "named", "group", "listing", "plural", "noun", "some", "limit"],
)
def test_words(words, cases):
    assert {given: words(given) for given in cases} == cases


def test_a_message_is_one_line_that_steers_nothing_and_ends():
    said = one_line("no column 'a\x1b[2Jb\u202e\u200b'\nVerified")
    assert said == r"no column 'a\x1b[2Jb\u202e\u200b'\nVerified"
    assert one_line("a\n  ^", kept="\n") == "a\n  ^"
    assert len(one_line("x" * 10**6)) == 3003


# ---- percentages --------------------------------------------------------------------------------


def shown(exact, limit, digits=0):
    exact = Fraction(exact)
    return percent(Disclosure("AIDS", float(exact), lambda: exact), Fraction(limit), digits)


@pytest.mark.parametrize(
    ("exact", "limit", "text"),
    [
        ("0.62", "0.5", "62%"),
        ("0.62", "0.621", "62%"),
        ("0.6204", "0.621", "62%"),
        ("0.6211", "0.621", "62.11%"),
        ("0.6204", "0.62", "62.04%"),
        ("0.62", "0.62", "62%"),
        ("0.499", "0.5", "49.9%"),
        ("0.4999999999999", "0.5", "49.99999999999%"),
        ("0.5000000000001", "0.5", "50.00000000001%"),
        ("0.999", "0.5", "99.9%"),
        ("0.9999999999999999999", "0.5", "99.99999999999999999%"),
        ("0.999", "1", "99.9%"),
        ("1", "0.5", "100%"),
        ("1", "1", "100%"),
        ("0", "0.5", "0%"),
        ("0.0004", "0.5", "0.04%"),
        ("2/3", "2/3", "2/3"),
        ("1/3", "2/3", "33%"),
        ("0.6667", "2/3", "67%"),
        ("0.6666", "2/3", "66.66%"),
        ("1/8", "0.5", "12%"),
    ],
)
def test_digits_until_they_differ(exact, limit, text):
    assert shown(exact, limit) == text
    assert shown("0.62", "0.5", digits=1) == "62.0%"  # as tables begin


def test_without_a_fraction_a_near_float_counts_as_the_limit():
    assert percent(Disclosure("AIDS", 0.5 - 1e-12), Fraction(1, 2)) == "50%"
    assert percent(Disclosure("AIDS", 0.5 - 1e-8), Fraction(1, 2)) == "49.999999%"


def test_the_fraction_is_not_asked_for_far_from_the_limit():
    def never():
        raise AssertionError

    assert percent(Disclosure("AIDS", 0.25, never), Fraction(1, 2)) == "25%"


@given(
    st.fractions(0, 1, max_denominator=10**13),
    st.fractions(0, 1, max_denominator=10**4).filter(bool),
    st.integers(0, 3),
)
def test_the_text_stands_to_the_limit_as_the_probability_does(exact, limit, digits):
    text = shown(exact, limit, digits)
    if exact == limit:
        assert text == limit_text(limit)
        return
    number = Fraction(text.removesuffix("%")) / 100
    assert (number < limit, number > limit) == (exact < limit, exact > limit)
    assert (number == 0, number == 1) == (exact == 0, exact == 1)
    assert abs(number - exact) <= Fraction(1, 100)


# ---- amounts of facts, under each semantics -----------------------------------------------------

SINGLE = Terms("diagnosis")
SET = Terms("diagnosis", "set", "AIDS")
ANY = Terms("diagnosis", "multiset")


@pytest.mark.parametrize(
    ("terms", "amounts", "said"),
    [
        (SINGLE, (1, 0, 0), "one diagnosis the target does not have"),
        (SINGLE, (0, 1, 0), "one other person's diagnosis"),
        (SINGLE, (0, 2, 1), "2 other people's diagnoses and one link"),
        (
            SINGLE,
            (2, 5, 2),
            "2 diagnoses the target does not have, 5 other people's diagnoses, and 2 links",
        ),
        (SINGLE, (0, 0, 0), ""),
        (SET, (1, 0, 0), "one diagnosis that comes only with AIDS"),
        (
            SET,
            (2, 1, 0),
            "2 diagnoses that come only with AIDS and one person who does not have AIDS",
        ),
        (SET, (0, 3, 2), "3 people who do not have AIDS and 2 links"),
        (ANY, (0, 3, 0), "3 people who do not have the diagnosis in question"),
        (
            ANY,
            (1, 3, 1),
            "one diagnosis that comes only with the one in question, 3 people who do not have it, "
            "and one link",
        ),
    ],
)
def test_what_is_known(terms, amounts, said):
    assert terms.known(*amounts) == said


def test_every_short_word_is_explained():
    for terms in (SINGLE, SET):
        explained = {word for word, _ in terms.legend}
        for one, _ in terms.things:
            assert one == "person known" or any(word in one for word in explained)


def test_one_person_and_one_value_are_in_the_singular():
    counts = fk.GroupCounts.from_bags([["Flu"]])
    criteria = fk.LDiversity(1), fk.LDiversity(1, kind="entropy"), fk.AlphaK(1, 1)
    said = [each.attained(counts).words for each in criteria]
    assert said[0] == "the least diverse group has 1 value, the least is 1"
    assert "as diverse as a single value" in said[1]
    assert "the smallest group has one person" in said[2]
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "1/2")], schema=schema)
    for method in ("mondrian", "fulldomain", "decoy"):
        with pytest.raises(fk.NoSafeRelease, match="one group of the only person is safe"):
            fk.publish(pa.table({"age": [3], "ill": ["Flu"]}), policy, method=method)
    with pytest.raises(fk.InputError, match="has one person but 2 values"):
        fk.GroupCounts.from_pairs(
            np.array([0, 0]), np.array([0, 1]), values=["a", "b"], n_groups=1, sizes=np.array([1])
        )
