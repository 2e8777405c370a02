"""Facts against the skyline paper's dynamic program, on releases too large to enumerate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracle.dynamic_program import breach, congregated

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts

SEMANTICS = ["single", "set", "multiset"]
VALUES = "abcde"
AMOUNTS = st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4))


@st.composite
def any_groups(draw, semantics, most_groups, most_people):
    """Draw any release: groups (number of people, {value: count}); mostly something is certain."""
    found = []
    for _ in range(draw(st.integers(1, most_groups))):
        n = draw(st.integers(1, most_people))
        if semantics == "single":
            # Cut a row of n people anywhere, for values of very different frequency.
            values = draw(st.lists(st.sampled_from(VALUES), min_size=1, unique=True))
            cuts = sorted(draw(st.integers(0, n)) for _ in values[1:])
            lengths = [b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)]
            bag = {x: length for x, length in zip(values, lengths, strict=True) if length}
        else:
            count = st.integers(1, n if semantics == "set" else n + 2)
            bag = draw(st.dictionaries(st.sampled_from(VALUES), count, max_size=4))
        found.append((n, bag))
    return found


@st.composite
def unlike_groups(draw, semantics):
    """Draw a release in which value a is told best in one group and related best in another.

    Large groups where b, ruled out, leaves few for the target, or comes with a for nearly all; and
    small groups where one of many values is a. Mostly nothing is certain, and two groups are used.
    """
    large, small = [], []
    for _ in range(draw(st.integers(1, 2))):
        a, b, c = draw(st.integers(1, 20)), draw(st.integers(50, 400)), draw(st.integers(3, 60))
        if semantics == "single":
            large.append((a + b + c, {"a": a, "b": b, "c": c}))
        else:
            n = draw(st.integers(max(a, c) + 1, 200))
            large.append((n, {"a": a, "b": min(b, n - 1) if semantics == "set" else b, "c": c}))
    for _ in range(draw(st.integers(1, 2))):
        bag = {"a": draw(st.integers(1, 4)), **dict.fromkeys("bcde", draw(st.integers(1, 5)))}
        small.append((sum(bag.values()), bag if semantics == "single" else {"a": bag["a"], "e": 1}))
    return draw(st.permutations([*large, *small]))


def groups_under(semantics):
    """Draw one kind of release or the other."""
    return any_groups(semantics, 8, 12) | unlike_groups(semantics)


def counted(groups, semantics):
    """Give the same release to the library."""
    cells = [(g, VALUES.index(x), c) for g, (_, bag) in enumerate(groups) for x, c in bag.items()]
    group, value, count = np.array(cells, dtype=np.int64).reshape(-1, 3).T
    return GroupCounts.from_pairs(
        group,
        value,
        values=VALUES,
        n_groups=len(groups),
        weights=count,
        sizes=np.array([n for n, _ in groups]),
        semantics=semantics,
    )


def check(groups, amounts, semantics):
    """Every value's disclosure is what the dynamic program says, exactly."""
    found = Facts(*amounts).disclosures(counted(groups, semantics))
    assert list(found) == list(VALUES)
    for value in VALUES:
        truth = breach(groups, value, amounts, semantics)
        where = (groups, value, amounts, semantics)
        assert found[value].exact == truth, (*where, found[value].exact, truth)
        assert abs(found[value].probability - truth) < 1e-12, where


@pytest.mark.parametrize("semantics", SEMANTICS)
@examples(200, deadline=None)
@given(st.data(), AMOUNTS)
def test_every_disclosure_is_that_of_the_dynamic_program(semantics, data, amounts):
    check(data.draw(groups_under(semantics)), amounts, semantics)


@pytest.mark.parametrize("semantics", SEMANTICS)
@examples(150, deadline=None)
@given(st.data(), st.tuples(st.integers(0, 3), st.integers(0, 7), st.integers(0, 7)))
def test_so_it_is_where_the_facts_outnumber_the_people(semantics, data, amounts):
    # The program places exactly so many facts, and the library at most so many: no difference.
    check(data.draw(any_groups(semantics, 3, 3)), amounts, semantics)


@pytest.mark.parametrize("semantics", SEMANTICS)
@examples(150, deadline=None)
@given(st.data(), AMOUNTS)
def test_no_spread_of_the_facts_beats_one_group_for_the_known_and_one_for_the_family(
    semantics, data, amounts
):
    groups = data.draw(groups_under(semantics))
    for value in VALUES:
        spread = breach(groups, value, amounts, semantics)
        assert spread == congregated(groups, value, amounts, semantics), (groups, value, amounts)


# Releases in which the worst takes two groups: the target in the first, the family in the second.
# The known person is beside the target with one relative, and beside the relatives with two.
TWO_GROUPS = [
    ("single", (1, 1, 1), [(7, {"a": 1, "b": 4, "c": 2}), (8, dict.fromkeys("abcd", 2))]),
    (
        "single",
        (1, 1, 2),
        [(46, {"a": 14, "b": 24, "c": 8}), (7, {"a": 2, "b": 2, "c": 1, "d": 2})],
    ),
    ("set", (1, 1, 1), [(7, {"a": 1, "b": 6}), (4, {"a": 1})]),
    ("set", (1, 1, 2), [(8, {"a": 1, "b": 6}), (5, {"a": 1})]),
    ("multiset", (1, 1, 1), [(8, {"a": 1, "b": 7}), (5, {"a": 1})]),
    ("multiset", (1, 1, 2), [(8, {"a": 1, "b": 10}), (5, {"a": 1})]),
]


@pytest.mark.parametrize(("semantics", "amounts", "groups"), TWO_GROUPS)
def test_two_groups_may_be_worse_than_either(semantics, amounts, groups):
    check(groups, amounts, semantics)
    alone = [breach([group], "a", amounts, semantics) for group in groups]
    assert breach(groups, "a", amounts, semantics) > max(alone)
