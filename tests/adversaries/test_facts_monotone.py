"""Theorem 4 under `single`: merging groups never raises a disclosure."""

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts

BAGS = st.lists(
    st.dictionaries(st.sampled_from("abcde"), st.integers(1, 30), min_size=1),
    min_size=1,
    max_size=6,
)
POINT = st.tuples(st.integers(0, 4), st.integers(0, 12), st.integers(0, 12))


@examples(800, deadline=None)
@given(st.data(), BAGS, POINT)
def test_merging_groups_never_raises_a_disclosure(data, bags, point):
    counts = GroupCounts.from_bags(bags)
    labels = data.draw(st.lists(st.integers(0, 5), min_size=len(bags), max_size=len(bags)))
    new = {label: i for i, label in enumerate(sorted(set(labels)))}
    merged = counts.merge([new[label] for label in labels])
    assert merged.n_people == counts.n_people
    fine, coarse = (Facts(*point).disclosures(c) for c in (counts, merged))
    for value in counts.values:
        assert coarse[value].exact <= fine[value].exact, value
    assert Facts(*point).disclosure(merged).exact <= Facts(*point).disclosure(counts).exact


@examples(200, deadline=None)
@given(BAGS, POINT)
def test_one_group_of_everybody_is_the_least_disclosing_release(bags, point):
    counts = GroupCounts.from_bags(bags)
    whole = counts.merge([0] * counts.n_groups)
    assert Facts(*point).disclosure(whole).exact <= Facts(*point).disclosure(counts).exact
