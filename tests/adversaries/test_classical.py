"""Classical criteria: their definitions, and the adversaries that they are special cases of."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreknow.adversaries.implications.implications import Negations
from foreknow.criteria.properties import is_recursively_diverse, k_anonymity
from foreknow.data.counts import GroupCounts
from foreknow.errors import InputError

bags = st.lists(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12), min_size=1, max_size=4
)
factors = st.fractions(min_value=Fraction(1, 8), max_value=8, max_denominator=8)


def diverse(bag, c, l):  # noqa: E741
    """Recursive (c, l)-diversity of one bag, as Machanavajjhala et al. define it, strict."""
    counts = sorted((bag.count(value) for value in set(bag)), reverse=True)
    return counts[0] < c * sum(counts[l - 1 :])


@given(bags, factors, st.integers(2, 7))
def test_diversity_is_safety_against_negations(groups, c, l):  # noqa: E741
    counts = GroupCounts.from_bags(groups)
    expected = all(diverse(bag, c, l) for bag in groups)
    assert is_recursively_diverse(counts, c, l) is expected
    assert Negations(l - 2).disclosure(counts).below(c / (c + 1)) is expected


def test_with_at_most_instead_of_less_an_unsafe_release_would_pass():
    counts = GroupCounts.from_bags(["ab"])
    assert Negations(0).disclosure(counts).exact == Fraction(1, 2)
    assert not is_recursively_diverse(counts, c=1, l=2)


def test_anonymity_is_the_least_size():
    assert k_anonymity(GroupCounts.from_bags(["abc", "aa"])) == 2
    assert k_anonymity(GroupCounts.from_people([[{"a"}, set()], [set()]])) == 1
    assert k_anonymity(GroupCounts.from_bags([])) == 0


@pytest.mark.parametrize(("c", "l"), [(0, 2), (-1, 2), (1, 1), (1, 0), (1, 2.5), ("x", 2)])
def test_amounts_out_of_range_are_refused(c, l):  # noqa: E741
    with pytest.raises(InputError):
        is_recursively_diverse(GroupCounts.from_bags(["ab"]), c, l)


def test_several_values_per_person_are_refused():
    with pytest.raises(InputError, match="one value per person"):
        is_recursively_diverse(GroupCounts.from_people([[{"a"}, set()]]), 1, 2)
