"""The examples of both papers, and what else is known of a person without enumeration."""

from fractions import Fraction
from itertools import combinations

import pyarrow as pa
import pytest
from tests.adversaries.statements.drawing import formula, release_of, text
from tests.oracle.statement_worlds import posterior, worlds

import foreknow as fk

FIGURE = [
    (["Ann", "Bob", "Cary", "Dick"], ["AIDS", "Flu", "Flu", "AIDS"]),
    (["Ed", "Frank", "Gary", "Tom"], ["Flu", "Cancer", "Flu", "AIDS"]),
]
NO_CANCER = ("not", ("has", "Tom", "Cancer"))
GARY = ("has", "Gary", "Flu")
WIFE = ("->", ("has", "Ann", "AIDS"), ("has", "Tom", "AIDS"))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], "1/4"),
        ([NO_CANCER], "1/3"),
        ([NO_CANCER, GARY], "1/2"),
        ([NO_CANCER, GARY, WIFE], "2/3"),
    ],
)
def test_privacy_skyline_section_1(said, expected):
    assert posterior(worlds(FIGURE, "single"), said, "Tom", "AIDS") == Fraction(expected)
    found = fk.Statements(*map(text, said)).posterior(release_of(FIGURE), "Tom", "AIDS")
    assert (found.exact, found.before) == (Fraction(expected), Fraction(1, 4))


BUCKETS = {
    "men": (
        ["Bob", "Charlie", "Dave", "Ed", "Frank"],
        ["Flu", "Lung Cancer", "Heart Disease", "Flu", "Lung Cancer"],
    ),
    "women": (
        ["Gloria", "Hannah", "Irma", "Jane", "Karen"],
        ["Flu", "Breast Cancer", "Flu", "Heart Disease", "Ovarian Cancer"],
    ),
}


def test_worst_case_background_knowledge_hannah_and_charlie():
    rows = [
        (name, bucket, disease)
        for bucket, (names, bag) in BUCKETS.items()
        for name, disease in zip(names, bag, strict=True)
    ]
    table = pa.table(dict(zip(("name", "bucket", "disease"), zip(*rows, strict=True), strict=True)))
    release = fk.Release.from_groups(table, group="bucket", sensitive="disease", person="name")
    alice = fk.Statements("Hannah = Flu -> Charlie = Flu")
    found = alice.posterior(release, "Charlie", "Flu")
    assert (found.before, found.exact) == (Fraction(2, 5), Fraction(10, 19))
    assert fk.Statements().posterior(release, "Ed", "Lung Cancer").exact == Fraction(2, 5)
    no_flu = fk.Statements("Ed != Flu")
    assert no_flu.posterior(release, "Ed", "Lung Cancer").exact == Fraction(2, 3)
    neither = fk.Statements("Ed != Flu", "Ed != 'Heart Disease'")
    assert neither.posterior(release, "Ed", "Lung Cancer").exact == 1


def test_a_negation_is_a_basic_implication():
    """Definition 2: `not A` is `A -> B`, with B another value of the same person."""
    release = release_of(FIGURE)
    plain = fk.Statements("Ed != Flu")
    implied = fk.Statements("Ed = Flu -> Ed = AIDS")
    for name, value in [("Ed", "AIDS"), ("Tom", "AIDS"), ("Gary", "Cancer")]:
        assert (
            plain.posterior(release, name, value).exact
            == implied.posterior(release, name, value).exact
        )


def test_conjunctions_to_disjunctions():
    """Basic implications of several atoms, against enumeration."""
    atoms = [("has", n, v) for n, v in [("Ann", "AIDS"), ("Tom", "Flu"), ("Ed", "Flu")]]
    ends = [("has", n, v) for n, v in [("Tom", "AIDS"), ("Frank", "Cancer"), ("Bob", "AIDS")]]
    every = worlds(FIGURE, "single")
    release = release_of(FIGURE)
    for some in combinations(atoms, 2):
        for others in combinations(ends, 2):
            said = ("->", ("and", *some), ("or", *others))
            known = fk.Statements(formula(said))
            for name, value in [("Tom", "AIDS"), ("Ann", "AIDS"), ("Gary", "Flu")]:
                found = known.posterior(release, name, value)
                assert found.exact == posterior(every, [said], name, value)


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_literals_about_different_values_are_independent(semantics):
    """Propositions 1 and 2 of Privacy Skyline."""
    groups = [(["A", "B", "C"], ["x", "x", "y"]), (["D", "E"], ["x"])]
    release = release_of(groups, semantics)
    known = fk.Statements("A != x", "B = y", "D = x")
    alone = fk.Statements("A != x")
    for name in "BC":
        assert (
            known.posterior(release, name, "x").exact == alone.posterior(release, name, "x").exact
        )
    assert known.posterior(release, "E", "x").exact == posterior(
        worlds(groups, semantics), [("has", "D", "x")], "E", "x"
    )


def test_labelled_occurrences():
    """Two occurrences among two people: each has one with 3/4, not 2/3."""
    release = release_of([(["A", "B"], ["x", "x"])], "multiset")
    assert fk.Statements().posterior(release, "A", "x").exact == Fraction(3, 4)
    assert fk.Statements("A = x").posterior(release, "B", "x").exact == Fraction(2, 3)
