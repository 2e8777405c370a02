"""The verifier's bound where people are linked on top of priors, where some cannot have a value."""

from fractions import Fraction

from foreknow_judge.priors import Chances, worst_priors

VALUES = ["a", "b", "c"]
# x cannot have a, so of x and y, who have a and b, it is y who has a.
ROWS = {"x": ["0", "2/3", "1/3"], "y": ["3/5", "2/5", "0"]}


def test_who_cannot_have_a_value_does_not_hide_who_has_it():
    chances = Chances(
        {"attributes": ["job"], "values": VALUES, "rows": [[[s], row] for s, row in ROWS.items()]}
    )
    held, people = {("1",): (2, {"a": 1, "b": 1})}, {("1",): {("x",): 1, ("y",): 1}}
    found = worst_priors(held, people, {"a", "b"}, chances, "joint", True, None, (0, 0, 1))
    assert found == ("a", ("1",), Fraction(1), Fraction(3, 5))


def test_each_link_counts():
    """One of four people alike has a: each who has not leaves one fewer."""
    rows = [[["x"], ["1/2", "1/2"]]]
    chances = Chances({"attributes": ["job"], "values": ["a", "b"], "rows": rows})
    held, people = {("1",): (4, {"a": 1, "b": 3})}, {("1",): {("x",): 4}}
    found = [
        worst_priors(held, people, {"a"}, chances, "joint", False, None, (0, 0, m))[2]
        for m in range(4)
    ]
    assert found == [Fraction(1, 4 - m) for m in range(4)]
