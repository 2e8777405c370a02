"""The verifier's bound where people are linked on top of priors, where some cannot have a value."""

import random
from collections import Counter
from contextlib import nullcontext
from fractions import Fraction
from itertools import permutations

import pytest

from foreknow_judge import exchanges
from foreknow_judge.errors import CertificateError
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


def has_world(people, counts, rows):
    """Whether values can be dealt out, by trying every order."""
    who = [sign for sign, n in enumerate(people) for _ in range(n)]
    values = [x for x, n in enumerate(counts) for _ in range(n)]
    return any(
        all(rows[sign][x] for sign, x in zip(who, order, strict=True))
        for order in permutations(values)
    )


def test_a_group_needs_a_world():
    rng, seen = random.Random(0), Counter()
    for _ in range(300):
        who = rng.choices(range(3), k=rng.randint(1, 5))
        held = rng.choices(range(3), k=len(who))
        people, counts = ([of.count(i) for i in range(3)] for of in (who, held))
        rows = [[rng.random() < 0.6 for _ in range(3)] for _ in range(3)]
        seen[possible := has_world(people, counts, rows)] += 1
        with nullcontext() if possible else pytest.raises(CertificateError, match="no way"):
            exchanges._require_worlds(people, counts, rows)
    assert min(seen[True], seen[False]) > 50


def test_links_need_a_world():
    rows = [[["x"], ["0", "1"]]]
    chances = Chances({"attributes": ["job"], "values": ["a", "b"], "rows": rows})
    held, people = {("1",): (2, {"a": 1, "b": 1})}, {("1",): {("x",): 2}}
    with pytest.raises(CertificateError) as refused:
        worst_priors(held, people, {"a"}, chances, "joint", False, None, (0, 0, 1))
    assert refused.value.code == "no-world"
