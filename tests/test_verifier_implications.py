"""The verifier's own implications agree with the adversary's, which are compared with worlds."""

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from foreknow.adversaries.implications.implications import Implications
from foreknow.data.counts import GroupCounts
from foreknow.verifier.implications import worst_implications

bags = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), min_size=1, max_size=5)


@examples(300)
@given(bags, st.integers(0, 6))
def test_both_find_the_same_for_every_value_and_for_the_worst(groups, k):
    counts = GroupCounts.from_bags(groups)
    held = {
        (str(g),): (len(bag), {value: bag.count(value) for value in bag})
        for g, bag in enumerate(groups)
    }
    found = Implications(k).disclosures(counts)
    for value in counts.values:
        assert worst_implications(held, {value}, k)[2] == found[value].exact
    value, group, probability = worst_implications(held, set(counts.values), k)
    assert probability == Implications(k).disclosure(counts).exact == found[value].exact
    assert value in held[group][1]


def test_nobody_asked_about_is_nobody_at_risk():
    held = {("0",): (2, {"a": 1, "b": 1})}
    assert worst_implications(held, set(), 1) == (None, None, 0)
    assert worst_implications(held, {"c"}, 1) == (None, None, 0)
