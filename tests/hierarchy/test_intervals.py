"""Intervals: boundaries, labels, and what is no number."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.hierarchy.laying import in_leaf_order, lay, path_of

from foreknow.data.hierarchy import Intervals


def test_intervals_of_whole_numbers():
    domain = [27, None, 3, -1, 40]
    levels = lay(Intervals([5, 20]), domain)
    assert [domain[i] for i in levels.order] == [None, -1, 3, 27, 40]
    assert levels.labels == (
        ("missing", "-5 to -1", "0 to 4", "25 to 29", "40 to 44"),
        ("missing", "-20 to -1", "0 to 19", "20 to 39", "40 to 59"),
        ("*",),
    )
    assert [a.tolist() for a in levels.ancestors] == [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0] * 5]


def test_intervals_start_at_the_origin():
    levels = lay(Intervals([10, 50], origin=18), [17])
    assert path_of(levels, [17], 17) == ["8 to 17", "-32 to 17", "*"]
    assert lay(Intervals([10], origin="0.5"), [10]).labels[0] == ("0.5 to <10.5",)
    assert lay(Intervals([1, 2]), [4, 5]).labels[:2] == (("4", "5"), ("4 to 5",))


def test_boundaries_are_decimal():
    domain = [n / 10 for n in range(-20, 20)]
    levels = lay(Intervals([0.1, "0.5"]), domain)
    assert path_of(levels, domain, 0.3) == ["0.3 to <0.4", "0 to <0.5", "*"]
    assert path_of(levels, domain, -0.3) == ["-0.3 to <-0.2", "-0.5 to <0", "*"]
    assert levels.ancestors[0].tolist() == list(range(40))
    assert 0.3 // 0.1 == 2, "which is why"


@pytest.mark.parametrize(
    ("domain", "label"),
    [
        ([7], "5 to 9"),
        ([7.0], "5 to <10"),
        ([Decimal("7.5")], "5 to <10"),
        ([7, 7.5], "5 to <10"),
        ([None, 7], "5 to 9"),
    ],
)
def test_labels_are_half_open_unless_all_is_whole(domain, label):
    assert lay(Intervals([5]), domain).labels[0][-1] == label
    assert lay(Intervals([Decimal(5)]), domain).labels[0][-1] == label
    assert lay(Intervals(["2.5", 5]), [7]).labels[1] == ("5 to <10",)


def test_mixed_numbers_sort_as_printed():
    domain = [Decimal("0.30"), 0.25, 1, Decimal("-1E+30"), 2**70]
    assert in_leaf_order(Intervals(["0.1"]), domain) == sorted(domain)


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_beyond_machine_integers(sign):
    domain = [sign * 2**63, sign * (2**63 + 10), sign * 10**300, 3]
    for width in (10, "0.1", 10**100):
        levels = lay(Intervals([width]), domain)
        assert [domain[i] for i in levels.order] == sorted(domain)
    assert path_of(lay(Intervals([10]), domain), domain, 10**300 * sign)[0].startswith(
        str(sign * 10**300)[:50]
    )
    edge = [2**62 - 1, -(2**62), 2**63 - 1, -(2**63)]
    assert in_leaf_order(Intervals([7]), edge) == sorted(edge)
    assert lay(Intervals([1e-300]), [1e-300, 0.0, 1.0]).labels[0][0] == (
        "0 to <0." + "0" * 299 + "1"
    )


decimals = st.decimals(-1000, 1000, places=3)
numbers = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), decimals, st.integers(-50, 50)
)


def bounds(label):
    """The ends of an interval, of which the upper is left out."""
    if " to <" in label:
        return [Fraction(end) for end in label.split(" to <")]
    low, _, last = label.partition(" to ")
    return Fraction(low), Fraction(last or low) + 1


@example([0], Decimal("125.000"), [], Decimal("0.000"))
@examples(100)
@given(
    st.lists(numbers | st.none(), unique=True),
    decimals.filter(lambda width: width > 0),
    st.lists(st.integers(2, 5), max_size=3),
    decimals,
)
def test_intervals_contain_their_values(domain, width, factors, origin):
    widths = [width]
    for factor in factors:
        widths.append(widths[-1] * factor)
    levels = lay(Intervals(widths, origin), domain)
    for leaf, position in enumerate(levels.order.tolist()):
        value = domain[position]
        if value is None:
            continue
        exact = Fraction(str(value))
        for each, nodes, labels in zip(widths, levels.ancestors, levels.labels, strict=False):
            low, high = bounds(labels[nodes[leaf]])
            assert low <= exact < high
            assert high - low == Fraction(each)
            assert (low - Fraction(origin)) % Fraction(each) == 0
    values = [Fraction(str(domain[i])) for i in levels.order if domain[i] is not None]
    assert values == sorted(values)
