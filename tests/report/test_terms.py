"""What amounts of facts are called, under each semantics."""

import pytest

from foreknow.report.knowledge import Terms

SINGLE = Terms("diagnosis")
SET = Terms("diagnosis", "set", "AIDS")
ANY = Terms("diagnosis", "multiset")


@pytest.mark.parametrize(
    ("terms", "amounts", "said"),
    [
        (SINGLE, (1, 0, 0), "one diagnosis the target does not have"),
        (SINGLE, (0, 1, 0), "one other person's diagnosis"),
        (SINGLE, (0, 2, 1), "2 other people's diagnoses and one relative"),
        (
            SINGLE,
            (2, 5, 2),
            "2 diagnoses the target does not have, 5 other people's diagnoses, and 2 relatives",
        ),
        (SINGLE, (0, 0, 0), ""),
        (SET, (1, 0, 0), "one diagnosis that comes only with AIDS"),
        (
            SET,
            (2, 1, 0),
            "2 diagnoses that come only with AIDS and one person who does not have AIDS",
        ),
        (SET, (0, 3, 2), "3 people who do not have AIDS and 2 relatives"),
        (ANY, (0, 3, 0), "3 people who do not have the diagnosis in question"),
        (
            ANY,
            (1, 3, 1),
            "one diagnosis that comes only with the one in question, 3 people who do not have it, "
            "and one relative",
        ),
    ],
)
def test_what_is_known(terms, amounts, said):
    assert terms.known(*amounts) == said


@pytest.mark.parametrize(
    ("terms", "amounts", "said"),
    [
        (SINGLE, (1, 1, 1), ""),
        (SINGLE, (2, 0, 3), "nobody else's diagnosis"),
        (SINGLE, (0, 4, 0), "no diagnosis the target does not have and no relative"),
        (SET, (0, 0, 3), "no diagnosis that comes only with AIDS and nobody without AIDS"),
    ],
)
def test_what_is_not_known(terms, amounts, said):
    assert terms.unknown(*amounts) == said


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (SINGLE, "1 ruled out, 2 people, 1 relative"),
        (SET, "1 only with it, 2 people without it, 1 relative"),
    ],
)
def test_in_a_few_words(terms, said):
    assert terms.short(1, 2, 1) == said
    assert terms.short(0, 0, 0) == "the release only"


def test_axes_are_in_words():
    assert SINGLE.axes == ("values ruled out (l)", "people known (k)", "relatives (m)")
    assert SET.axes == ("values only with it (l)", "people without it (k)", "relatives (m)")
    assert SINGLE.k_axis == "other people's diagnoses the adversary knows"
    assert SET.k_axis == "people known not to have AIDS"


@pytest.mark.parametrize(
    ("terms", "none", "one", "several"),
    [
        (
            SINGLE,
            "nobody else's diagnosis is known",
            "one other person's diagnosis is known",
            "3 other people's diagnoses are known",
        ),
        (
            SET,
            "nobody is known not to have AIDS",
            "one person is known not to have AIDS",
            "3 people are known not to have AIDS",
        ),
    ],
)
def test_that_people_are_known(terms, none, one, several):
    assert [terms.are_known(k) for k in (0, 1, 3)] == [none, one, several]


def test_every_short_word_is_explained():
    for terms in (SINGLE, SET):
        explained = {word for word, _ in terms.legend}
        for one, _ in terms.things:
            assert one == "person known" or any(word in one for word in explained)
