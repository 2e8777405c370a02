"""Orders: values by rank, without levels."""

from decimal import Decimal

import pytest
from tests.hierarchy.laying import in_leaf_order, lay, refusal

from foreknow.data.hierarchy import Ordered
from foreknow.errors import HierarchyError


def test_ordered():
    domain = ["high", None, "low", "middle"]
    levels = lay(Ordered(["low", "middle", "high", "unused"]), domain)
    assert [domain[i] for i in levels.order] == [None, "low", "middle", "high"]
    assert levels.ancestors == levels.labels == ()


def test_ordered_tells_true_from_one():
    assert in_leaf_order(Ordered([True, False, 1, 0.1]), [1, Decimal("0.1"), True]) == [
        True,
        1,
        Decimal("0.1"),
    ]
    assert "the value True (first in row 7)" in refusal(Ordered([1]), [True])


def test_values_outside_an_order():
    assert refusal(Ordered(["low", "high"]), ["low", "hihg"], "income") == (
        "column 'income': the value 'hihg' (first in row 17) is outside its hierarchy: "
        "it is not in the order; did you mean 'high'?"
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b", "a"], "the value 'a' is twice in the order"),
        ([1, 1.0], "the value 1.0 is twice in the order"),
        (["a", None], "an order lists texts, numbers or dates, not None"),
        ([["a"]], "an order lists texts, numbers or dates, not ['a']"),
        ("ab", "an order must be a list, not 'ab'"),
    ],
)
def test_orders_are_checked(values, message):
    with pytest.raises(HierarchyError) as caught:
        Ordered(values)
    assert str(caught.value) == message
