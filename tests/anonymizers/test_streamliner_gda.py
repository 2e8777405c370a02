"""GDA is table 7 of the paper, person by person, whatever is planned at once."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.oracle.streamliner_gda import gda

from foreknow.data.microdata import Attribute
from foreknow.errors import NoSafeRelease
from foreknow.methods.streamliner import gda as streamliner_gda
from foreknow.methods.streamliner.gda import Open, Runs, by_rank, plan_gda


def runs_of(values, ranks):
    found = sorted(Counter(zip(values, ranks, strict=True)).items())
    colours, places, sizes = zip(*((v, r, many) for (v, r), many in found), strict=True)
    return Runs(np.array(colours), np.array(places), np.array(sizes))


def bags(values, ranks, l):  # noqa: E741
    """The groups of the plan, people of each colour coming by rank."""
    try:
        plan = plan_gda(runs_of(values, ranks), range(max(values) + 1), l)
    except NoSafeRelease:
        return None
    waiting = {v: sorted(r for w, r in zip(values, ranks, strict=True) if w == v) for v in values}
    groups = [[(v, waiting[v].pop(0)) for v in row] for row in plan.slots.tolist()]
    for v, group in plan.late.tolist():
        groups[group].append((v, waiting[v].pop(0)))
    assert not any(waiting.values())
    return [tuple(sorted(group)) for group in groups]


@examples(400, deadline=None)
@given(data=st.data(), l=st.integers(2, 5), near=st.sampled_from([1, 2, 64]))
def test_groups_are_those_of_the_paper(data, l, near):  # noqa: E741
    n = data.draw(st.integers(l, 40))
    values = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    most = data.draw(st.sampled_from([0, 2, 8, 1000]))
    ranks = data.draw(st.lists(st.integers(0, most), min_size=n, max_size=n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streamliner_gda, "_NEAR", (near, 4096))
        assert bags(values, ranks, l) == gda(values, ranks, l)


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_those_of_the_paper_where_many_are_left_over(seed):
    random = np.random.default_rng(seed)
    values = random.choice(6, 500, p=[0.25, 0.23, 0.2, 0.16, 0.1, 0.06]).tolist()
    ranks = random.integers(0, (30, 100_000)[seed % 2], 500).tolist()
    expected = gda(values, ranks, 3)
    assert sum(len(group) > 3 for group in expected) > 20
    assert bags(values, ranks, 3) == expected


def test_where_very_many_groups_differ_only_those_around_are_looked_at(monkeypatch):
    monkeypatch.setattr(streamliner_gda, "_NEAR", (2, 8))
    # Wide groups around rank 500, and a narrow one that is nearer by its members only.
    ranks = np.array([[0, 1000 + i % 2] for i in range(100)] + [[560, 560]])
    colours, sizes = np.zeros((101, 2), dtype=int), np.ones(101, dtype=int)
    assert list(Open(colours, ranks, sizes, 1).nearest(500, 1)) != [(100, 1)]
    # All of them get someone all the same.
    everybody = [kind for kind, _ in Open(colours, ranks, sizes, 1).nearest(500, 200)]
    assert sorted(everybody) == list(range(101))


@examples(60)
@given(data=st.data(), dense=st.booleans())
def test_people_are_sorted_by_value_and_weighted_rank(data, dense):
    n = data.draw(st.integers(1, 30))
    codes = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    weight = data.draw(st.integers(0, 3)) if dense else 2**30
    columns = [data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)) for _ in "xy"]
    attributes = [
        Attribute(name, np.array(own), list(range(6)), "ordered", (), (), np.arange(6.0))
        for name, own in zip("xy", columns, strict=True)
    ]
    runs, people = by_rank(codes, 5, attributes, {"y": weight}, np.random.default_rng(0))
    ranks = [x + 1 + weight * (y + 1) for x, y in zip(*columns, strict=True)]
    assert sorted(people.people.tolist()) == list(range(n))
    expected = sorted(zip(codes.tolist(), ranks, strict=True))
    assert [(codes[p], ranks[p]) for p in people.people.tolist()] == expected
    made = zip(runs.colours.tolist(), runs.ranks.tolist(), runs.sizes.tolist(), strict=True)
    assert [(c, r) for c, r, many in made for _ in range(many)] == expected
    assert people.starts.tolist() == [sum(c < k for c in codes) for k in range(6)]
