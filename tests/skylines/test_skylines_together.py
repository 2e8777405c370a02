"""Skylines of very many values: by class, and of all values together, against each value alone."""

from itertools import product

import numpy as np
import pytest
from tests.examples import NIGHTLY
from tests.skylines.drawing import drawn_counts

import foreknow as fk
from foreknow.adversaries.facts import fronts
from foreknow.skylines import knowledge_skyline as module

SEMANTICS = ["single", "set", "multiset"]
LIMITS = ["1/4", "1/3", "1/2", "2/3", "9/10", "1"]


def drawn(rng, semantics):
    """A small random release in which some values are had alike."""
    values = "abcdefgh"[: rng.integers(2, 9)]
    sizes = rng.integers(1, 9, rng.integers(1, 7))
    return drawn_counts(rng, semantics, sizes, values)


def below(points, amounts):
    return any(all(a <= b for a, b in zip(amounts, point, strict=True)) for point in points)


def of_all_by_points(each):
    """The largest points that lie below the skyline of every value, by trying all."""
    tops = [[0, *(point[axis] for own in each for point in own)] for axis in range(3)]
    box = product(*(range(max(top) + 1) for top in tops))
    inside = [point for point in box if all(below(own, point) for own in each)]
    return sorted(p for p in inside if not any(q != p and below([q], p) for q in inside))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("setting", ["as it is", "one by one", "one round", "no table"])
def test_classes_and_all_together_are_what_each_value_says_alone(semantics, setting, monkeypatch):
    if setting == "one by one":
        monkeypatch.setattr(module, "_FEW", 1)
        monkeypatch.setattr(fronts, "BLOCK", 8)
    if setting == "one round":
        monkeypatch.setattr(module, "_ROUNDS", 1)
    if setting == "no table":
        monkeypatch.setattr(module, "_MOST_SPARE", 0)
    rng = np.random.default_rng([SEMANTICS.index(semantics), len(setting)])
    shared = 0
    for _ in range(1_600 if NIGHTLY else 30):
        counts, limit = drawn(rng, semantics), LIMITS[rng.integers(len(LIMITS))]
        found = fk.knowledge_skylines(counts, limit)
        alone = {value: fk.knowledge_skyline(counts, value, limit) for value in found}
        assert dict(found) == alone, (counts.to_dict(), limit)
        assert found.of_all == of_all_by_points(list(alone.values())), (counts.to_dict(), limit)
        by_class = list(found.members())
        assert sorted(value for _, members in by_class for value in members) == sorted(found)
        assert [each for each, _ in by_class] == list(found.classes)
        for each, members in by_class:
            assert (members[0], len(members)) == (each.example, each.n_values)
            for value in members:
                most = tuple(map(max, zip(*alone[value], strict=True)))
                assert (found[value], found.class_of(value)) == (alone[each.example], each)
                assert each.most == most, (counts.to_dict(), limit, value)
        shared += len(found) - len(found.classes)
    assert shared > 3


def test_a_group_of_a_value_counts_beside_its_others_though_another_value_has_a_worse_one():
    # b's group of 6 is no worse than a's; as that of the target, it is, beside a family in the
    # group of 16. So values are left out whole, never one group of them.
    bags = [["a", "a", *"0123"], ["b", "b", *"0123"], [*"b" * 8, *"01234567"]]
    found = fk.knowledge_skylines(fk.GroupCounts.from_bags(bags), "4/5")
    assert found.of_all == of_all_by_points(list(found.values()))
    assert not below(found.of_all, (3, 0, 1))
    assert all(below(found[value], (3, 0, 1)) for value in "a0")


def test_groups_of_very_many_values_make_few_classes():
    rng = np.random.default_rng(1)
    groups = [rng.choice(2_000, n, replace=False).tolist() for n in rng.integers(10, 30, 900)]
    found = fk.knowledge_skylines(fk.GroupCounts.from_bags(groups), "1/2")
    assert len(found) > 1_900
    assert len(found.classes) < 25
    # Nothing is withstood of all values that is not of the class that withstands least.
    least = found[found.classes[0].example]
    assert found.of_all == least
    with pytest.raises(KeyError):
        found["nobody's"]
    assert repr(found) == f"Skylines({len(found)} values, {len(found.classes)} classes)"


def test_no_values_and_values_of_which_nothing_is_withstood():
    assert fk.knowledge_skylines(fk.GroupCounts.from_bags([]), "1/2").of_all == []
    unsafe = fk.knowledge_skylines(fk.GroupCounts.from_bags([["a"], ["b", "c", "d"]]), "1/2")
    assert (unsafe.of_all, unsafe["a"], unsafe.classes[0].most) == ([], [], ())
    assert unsafe["c"] == unsafe["d"] != []
    assert [(each.example, each.n_values) for each in unsafe.classes] == [("a", 1), ("b", 3)]
