"""Words: nothing hidden or run together, percentages on their side of the limit, terms of facts."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.snapshots import assert_as_before

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
from foreknow_judge.printed import one_line, visible

CASES = [
    # nothing in a label is hidden
    (visible, ["Flu", 7, None, True, "a\nb\tc", "\x1b[31mred", "abc\u202edcb", "\ud800", "ß 中"]),
    # a value is quoted where its end would not be seen
    (named, ["", " Flu", "Flu, mild", "Type 2"]),
    # groups by id or by quasi-identifiers
    (group_words, [17, "A-1", ("20 to 37", "M"), (None, 3), ("1305*",)]),
    # long lists end in a number, and never in "1 others"
    (listing, [[], ["A"], ["A", "B"], list("ABCDEFG"), list("ABCDEFGH")]),
    (plural, ["diagnosis", "disease", "salary", "day", "illness", "status", "symptoms"]),
    (plural, ["sensitive value", "ICD10", "病名"]),
    # names of columns become nouns where they are
    (noun_of, ["Diagnosis", "blood_type", "ICD_10", "Befund", "Familien_stand"]),
    (lambda number: some(number, "link", "links"), [1, 1200]),
    # a limit is written exactly
    (lambda limit: limit_text(Fraction(limit)), ["0.5", "0.621", "2/3", "1", "0.00125"]),
]
# Digits until they differ: how sure, and the limit.
SURE = [
    *(("0.62", "0.5"), ("0.62", "0.621"), ("0.6204", "0.621"), ("0.6211", "0.621")),
    *(("0.6204", "0.62"), ("0.62", "0.62"), ("0.499", "0.5"), ("0.4999999999999", "0.5")),
    *(("0.5000000000001", "0.5"), ("0.999", "0.5"), ("0.9999999999999999999", "0.5")),
    *(("0.999", "1"), ("1", "0.5"), ("1", "1"), ("0", "0.5"), ("0.0004", "0.5"), ("2/3", "2/3")),
    *(("1/3", "2/3"), ("0.6667", "2/3"), ("0.6666", "2/3"), ("1/8", "0.5")),
]
SINGLE = Terms("diagnosis")
SET = Terms.of("set", "diagnosis", "AIDS")
ANY = Terms.of("multiset", "diagnosis")
# Amounts of facts, under each semantics.
KNOWN = [
    *(("single", SINGLE, at) for at in ((1, 0, 0), (0, 1, 0), (0, 2, 1), (2, 5, 2), (0, 0, 0))),
    *(("set", SET, at) for at in ((1, 0, 0), (2, 1, 0), (0, 3, 2))),
    *(("multiset", ANY, at) for at in ((0, 3, 0), (1, 3, 1))),
]


def test_words_are_as_before():
    said = [f"{given!a} -> {words(given)}" for words, each in CASES for given in each]
    said += [f"{exact} of {limit} -> {shown(exact, limit)}" for exact, limit in SURE]
    said += [f"{name} {at} -> {terms.known(*at)}" for name, terms, at in KNOWN]
    assert_as_before("words", said)
    assert shown("0.62", "0.5", digits=1) == "62.0%"  # as tables begin


def test_a_message_is_one_line_that_steers_nothing_and_ends():
    said = one_line("no column 'a\x1b[2Jb\u202e\u200b'\nVerified")
    assert said == r"no column 'a\x1b[2Jb\u202e\u200b'\nVerified"
    assert one_line("a\n  ^", unescaped="\n") == "a\n  ^"
    assert len(one_line("x" * 10**6)) == 3003


# ---- percentages --------------------------------------------------------------------------------


def shown(exact, limit, digits=0):
    exact = Fraction(exact)
    return percent(Disclosure("AIDS", float(exact), lambda: exact), Fraction(limit), digits)


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
