"""Facts as a small frozen value: its amounts, what it takes and what it refuses."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts
from foreknow.errors import InputError

COUNTS = GroupCounts.from_bags(["aab", "bc"])


@pytest.mark.parametrize("name", ["l", "k", "m"])
def test_negative_amounts_are_refused(name):
    with pytest.raises(InputError, match=f"Facts: {name} must be 0 or more, not -1"):
        Facts(**{name: -1})


@pytest.mark.parametrize("name", ["l", "k", "m"])
@pytest.mark.parametrize("wrong", [1.0, 0.5, "1", None, True, [1]])
def test_amounts_that_are_no_whole_numbers_are_refused(name, wrong):
    with pytest.raises(InputError, match=f"Facts: {name} must be a whole number"):
        Facts(**{name: wrong})


def test_amounts_may_be_numpy_integers_and_become_plain_ones():
    facts = Facts(np.int64(1), np.uint8(2), np.int32(3))
    assert facts == Facts(1, 2, 3)
    assert [type(amount) for amount in (facts.l, facts.k, facts.m)] == [int, int, int]


def test_facts_are_frozen_equal_by_amounts_and_hashable():
    assert Facts() == Facts(0, 0, 0)
    assert len({Facts(1, 2, 3), Facts(l=1, k=2, m=3), Facts(3, 2, 1)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Facts().l = 1


def test_facts_list_themselves_as_in_a_policy_file():
    assert Facts(1, 2, 3).to_dict() == {"facts": {"l": 1, "k": 2, "m": 3}}


def test_anything_with_counts_is_judged():
    release = SimpleNamespace(counts=COUNTS)
    assert Facts(k=1).disclosure(release, "a").exact == Facts(k=1).disclosure(COUNTS, "a").exact
    assert Facts(k=1).disclosures(release).keys() == Facts(k=1).disclosures(COUNTS).keys()


@pytest.mark.parametrize("wrong", [None, ["aab"], {"a": 1}, SimpleNamespace(counts="aab")])
def test_what_cannot_be_counted_is_refused(wrong):
    with pytest.raises(InputError, match="expected a Release or a GroupCounts, not"):
        Facts().disclosure(wrong)
    with pytest.raises(InputError, match="expected a Release or a GroupCounts, not"):
        Facts().disclosures(wrong)


def test_what_cannot_be_a_value_is_refused():
    with pytest.raises(InputError, match=r"\['a'\] cannot be a sensitive value; give one label"):
        Facts().disclosure(COUNTS, ["a"])


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
def test_monotone_is_claimed_for_single_only(semantics):
    assert Facts(1, 1, 1).monotone(semantics) is (semantics == "single")
