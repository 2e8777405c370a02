"""Known breaches are found without being told: of papers, of Mondrian, of full-domain search."""

from fractions import Fraction
from itertools import permutations

import pyarrow as pa
import pytest
from tests.attacks.small_methods import BELOW_2_3, DIVERSE, LEVELS, microdata, naive, policy_for

import foreknow as fk

HALF = Fraction(1, 2)


def test_the_introduction_of_the_k_jump_paper():
    """Tables 1 to 3: of 36 worlds four are left, in which Charlie and David have cancer."""
    values = ["flu", "cold", "cancer", "cancer", "headache", "toothache"]
    found = microdata(values, born=[1990, 1985, 1974, 1962, 1953, 1941])
    made = fk.attack(found, naive(["AB|CD|EF", "ABC|DEF", "ABCD|EF"]))
    assert (made.n_worlds, made.consistent) == (36, 4)
    assert made.certain == (3, 4)
    assert [case.value for case in made.cases[:2]] == ["cancer", "cancer"]
    assert made.posterior(1, "flu") == made.posterior(5, "toothache") == HALF
    assert repr(made) == "Attack(pipeline: 2 of 6 people certain)"


BELOW_3_4 = fk.Policy([fk.Requirement(fk.Facts(), below="3/4", knowing=[])])
ALL_FIVE = (1, 2, 3, 4, 5)
SEVEN = {"age": [0, 3, 2, 3, 1, 2, 2], "sex": [1, 0, 0, 1, 0, 0, 1]}
EIGHT = {"age": [2, 1, 1, 1, 2, 1, 1, 1], "sex": [0, 0, 0, 0, 1, 0, 1, 0]}
BEST, CHAIN, MINIMAL = (fk.FullDomain(find=find) for find in ("best", "chain", "minimal"))

# Found by random search: people and their diseases; worlds, those left, and who is certain.
LEAKS = [
    (fk.Mondrian(), DIVERSE, {"age": [0, 1, 2, 0, 3]}, "bbaba", (10, 2), (2,)),
    (fk.Mondrian(), DIVERSE, {"age": [3, 2, 3, 1, 1]}, "baabb", (6, 2), (2, 4, 5)),
    (fk.Mondrian(), DIVERSE, SEVEN, "bbabbab", (21, 1), (1, 2, 3, 4, 5, 6, 7)),
    (fk.Mondrian(), BELOW_2_3, {"age": [3, 2, 0, 1, 5, 2]}, "acbcab", (24, 4), (1, 5)),
    (BEST, DIVERSE, {"age": [4, 4, 1, 2, 4], "sex": [1, 0, 0, 1, 1]}, "caabc", None, ALL_FIVE),
    (CHAIN, DIVERSE, {"age": [1, 0, 3, 4, 4], "sex": [0, 1, 0, 1, 0]}, "cbcba", None, ALL_FIVE),
    (MINIMAL, BELOW_3_4, EIGHT, "cbaacccb", (420, 30), (1, 5, 7)),
]


@pytest.mark.parametrize(("method", "policy", "columns", "values", "worlds", "certain"), LEAKS)
def test_methods_leak(method, policy, columns, values, worlds, certain):
    levels = {} if isinstance(method, fk.Mondrian) else LEVELS
    found = microdata(list(values), levels, **columns)
    made = fk.attack(found, method, policy_for(policy, found))
    assert worlds in (None, (made.n_worlds, made.consistent))
    assert made.certain == certain
    assert made.found
    assert all(made.posterior(row, values[row - 1]) == 1 for row in certain)
    assert made.runs < 60  # people of one age and sex are dealt to once


def test_full_domain_with_suppression_leaks():
    """Who is suppressed, and who is not, tells more than the groups."""
    found = microdata(list("bacbaa"), LEVELS, age=[3, 4, 1, 1, 3, 4])
    made = fk.attack(found, fk.FullDomain(suppression=0.4), policy_for(DIVERSE, found))
    assert (made.n_worlds, made.consistent) == (60, 16)
    assert (made.worst.exact, made.worst.share) == (Fraction(3, 4), HALF)


def four(values, seeds=None, method=None):
    """An attack on four people of ages 1 to 4."""
    found = microdata(list(values), age=[1, 2, 3, 4])
    return fk.attack(found, method or fk.Streamliner(2, "gda"), seed=0, seeds=seeds)


def test_gda_leaks_at_four_people():
    """Errata, section 4: {1, 3}: ab and {2, 4}: ac come from one table only."""
    made = four("aabc", seeds=range(40))
    assert made.exact
    assert made.how == "enumeration"
    assert (made.n_worlds, made.consistent, made.n_groups) == (4, 1, 2)
    assert made.certain == (1, 2, 3, 4)
    assert [made.posterior(row, value) for row, value in ((1, "a"), (3, "b"), (4, "c"))] == [1] * 3


def test_gda_warns_once_however_often_it_is_run(caplog):
    four("aabc", seeds=range(5))
    said = [r for r in caplog.records if "GDA is unsafe" in r.getMessage()]
    assert len(said) == 1


TABLES = ["".join(values) for values in sorted(set(permutations("aabc")))]


@pytest.mark.parametrize("method", [fk.Streamliner(2), fk.Anatomy(2)], ids=repr)
def test_a_seed_that_everybody_knows_leaks(method):
    """Errata, section 4: who can repeat the lots is certain; who cannot learns nothing."""
    public = [four(values, seeds=[7], method=method) for values in TABLES]
    assert max(case.exact for made in public for case in made.cases) == 1
    assert any(made.certain for made in public)
    for values in TABLES:
        secret = four(values, method=method)
        assert secret.how == "proof"
        assert not secret.cases


@pytest.mark.parametrize("variant", ["ria", "gsa"])
def test_ria_and_gsa_tell_frequencies_only(variant):
    for values in ("aabc", "abcd", "baab"):
        made = four(values, method=fk.Streamliner(2, variant))
        assert made.exact
        assert not made.cases


def test_art_leaks_whatever_its_seed():
    """Some of five are certain to an adversary who knows the priors, r and the algorithm."""
    others = {"sex": list("mmmmmmffffff"), "disease": list("aaabbcabbbcc")}
    priors = fk.Priors.learn(pa.table(others), ["sex"], "disease")
    method = fk.ART(r="3/2", priors=priors, unique=False)
    for values in sorted(set(permutations("aabbc"))):
        found = microdata(list(values), sex=list("mmmmf"))
        try:
            made = fk.attack(found, method, seeds=[0])
        except fk.NoSafeRelease:
            continue
        if made.certain:
            break
    assert made.certain
    assert made.worst.exact == 1
    assert made.worst.share <= Fraction(2, 3)  # the release by itself is what it should be
    assert set(fk.attack(found, method, seeds=range(3)).certain) >= set(made.certain)
