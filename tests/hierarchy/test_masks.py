"""Masks: prefixes of texts of one length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hierarchy.laying import lay, refusal

from foreknow.data.hierarchy import Mask
from foreknow.errors import HierarchyError


def test_mask():
    domain = ["1309", "1301", "2301", None, "1401"]
    levels = lay(Mask(4), domain)
    assert [domain[i] for i in levels.order] == [None, "1301", "1309", "1401", "2301"]
    assert levels.labels == (
        ("missing", "130*", "140*", "230*"),
        ("missing", "13**", "14**", "23**"),
        ("missing", "1***", "2***"),
        ("*",),
    )


def test_mask_of_numbers_and_another_character():
    assert lay(Mask(3, "x"), [131, "127"]).labels == (("12x", "13x"), ("1xx",), ("*",))
    assert lay(Mask(1), ["a", "b"]).labels == (("*",),)
    assert lay(Mask(2), ["a\0", "a\1"]).labels[0] == ("a*",)


@pytest.mark.parametrize(
    ("length", "value", "shown", "why"),
    [
        (5, "1234", "'1234'", "a mask of 5 needs 5 characters"),
        (5, 123456, "123456", "a mask of 5 needs 5 characters"),
        (1, "", "''", "a mask of 1 needs 1 character"),
        (4, True, "True", "a mask needs text or whole numbers"),
        (3, 1.5, "1.5", "a mask needs text or whole numbers"),
    ],
)
def test_values_outside_a_mask(length, value, shown, why):
    domain = ["1" * length, value]
    assert refusal(Mask(length), domain, "zip") == (
        f"column 'zip': the value {shown} (first in row 17) is outside its hierarchy: {why}"
    )


@pytest.mark.parametrize("length", [0, -1, True, "5", 2.0])
def test_mask_length_is_checked(length):
    with pytest.raises(HierarchyError, match="a mask length must be a whole number from 1, not"):
        Mask(length)


@pytest.mark.parametrize("character", ["", "**", 0])
def test_mask_character_is_checked(character):
    with pytest.raises(HierarchyError, match="must be one character of text, not"):
        Mask(3, character)


@given(st.lists(st.text(min_size=4, max_size=4) | st.none(), unique=True))
def test_masks_keep_prefixes(domain):
    levels = lay(Mask(4), domain)
    assert len(levels.labels) == 4
    for leaf, position in enumerate(levels.order.tolist()):
        if domain[position] is not None:
            for j, (nodes, labels) in enumerate(
                zip(levels.ancestors[:3], levels.labels[:3], strict=True), 1
            ):
                assert labels[nodes[leaf]] == domain[position][: 4 - j] + "*" * j
