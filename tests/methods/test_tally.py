"""Tally: whatever part of some groups is asked for, their counts are those of a plain Counter."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.several import crowds
from tests.examples import examples

import foreknow as fk
from foreknow.data.labels import Labels
from foreknow.methods.mondrian import levels
from foreknow.methods.mondrian.cuts import Points, Tally
from foreknow.methods.mondrian.levels import Level

LABELS = Labels("abcd")


@st.composite
def tallies(draw):
    """A semantics, groups as (people, Counter), and a tally of them, dense or sparse."""
    semantics = draw(st.sampled_from(["single", "set", "multiset"]))
    count = st.integers(0, 3)
    tables = draw(st.lists(st.lists(count, min_size=4, max_size=4), min_size=1, max_size=6))
    if semantics == "single":
        tables = [row if any(row) else [1, 0, 0, 0] for row in tables]
    people = [sum(row) if semantics == "single" else max(*row, 1) + draw(count) for row in tables]
    groups = [
        (size, Counter({x: n for x, n in zip(LABELS, row, strict=True) if n}))
        for size, row in zip(people, tables, strict=True)
    ]
    table = np.array(tables, dtype=np.int64)
    given_people = None if semantics == "single" else np.array(people)
    if draw(st.booleans()):
        return semantics, groups, Tally.of_table(LABELS, semantics, given_people, table)
    rows, codes = np.nonzero(table)
    offsets = np.searchsorted(rows, np.arange(len(table) + 1))
    return (
        semantics,
        groups,
        Tally(LABELS, semantics, given_people, offsets, codes, table[rows, codes]),
    )


def same(counts, groups, semantics):
    """Whether counts are exactly those of some (people, Counter), values by label."""
    assert counts.semantics == semantics
    assert counts.sizes.tolist() == [size for size, _ in groups]
    assert [counts.bag(g) for g in range(counts.n_groups)] == [dict(bag) for _, bag in groups]


@given(tallies())
def test_any_run_of_groups_is_counted_as_by_hand(case):
    semantics, groups, tally = case
    for start in range(len(groups) + 1):
        for stop in range(start, len(groups) + 1):
            same(tally.part(start, stop), groups[start:stop], semantics)


@given(tallies())
def test_cells_before_a_group_never_fall_short_of_what_a_part_holds(case):
    _, groups, tally = case
    for start in range(len(groups)):
        room = tally.cells_before(start + 1) - tally.cells_before(start)
        assert room >= len(tally.part(start, start + 1).codes)
    assert tally.cells_before(np.array([0])).tolist() == [0]


# ---- as a level of the search makes them -----------------------------------------------------


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
@examples(60)
@given(data=st.data(), crowd=crowds())
def test_children_of_a_level_are_counted_as_by_hand(block, data, crowd):
    microdata = crowd.microdata()
    points = Points.of(microdata)
    n = data.draw(st.integers(1, 4))
    child = data.draw(st.lists(st.integers(-1, n - 1), min_size=len(points), max_size=len(points)))
    used = sorted(set(child) - {-1})
    child = np.array([-1 if c < 0 else used.index(c) for c in child])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels, "_BLOCK", block)
        level = Level(points, microdata, 1)
        tally = level._tally(child, len(used))
        everyone = level.everyone()
    same(everyone, [crowd.bag(range(len(crowd.rows)))], crowd.semantics)
    of_row = microdata.rows_of(points.spread(child)).tolist()
    of_person = {p: c for (p, _), c in zip(crowd.entries(), of_row, strict=True)}
    groups = [crowd.bag([p for p, c in of_person.items() if c == g]) for g in range(len(used))]
    same(tally.part(0, len(used)), groups, crowd.semantics)


@pytest.mark.parametrize("semantics", ["single", "set", "multiset"])
@pytest.mark.parametrize(("spots", "sparse"), [(500, True), (10, False)])
def test_many_groups_and_values_are_counted_sparsely_and_few_densely(semantics, spots, sparse):
    chance = np.random.default_rng(spots)
    ages = [*range(spots), *chance.integers(0, spots, 600 - spots).tolist()]
    own = [chance.choice(400, 1 if semantics == "single" else p % 4, False) for p in range(600)]
    own = [[*found, *found[: 2 * (semantics == "multiset")]] for found in own]
    entries = [(p, v) for p, found in enumerate(own) for v in found or [None]]
    columns = {
        "age": [ages[p] for p, _ in entries],
        "pid": [f"person {p}" for p, _ in entries],
        "disease": [v if v is None else f"d{v:03d}" for _, v in entries],
    }
    several = {} if semantics == "single" else {"semantics": semantics, "person": "pid"}
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", **several)
    microdata = fk.Microdata(pa.table(columns), schema)
    level = Level(Points.of(microdata), microdata, 1)
    # Every fifth spot is left out; the others are groups from 0.
    kept = [spot for spot in range(spots) if spot % 5]
    child = np.full(spots, -1)
    child[kept] = np.arange(len(kept))
    tally = level._tally(child, len(kept))
    assert (tally.table is None) == sparse
    groups = [(ages.count(spot), Counter()) for spot in kept]
    for p, found in enumerate(own):
        if child[ages[p]] >= 0:
            groups[child[ages[p]]][1].update(f"d{v:03d}" for v in found)
    for start, stop in [(0, len(kept)), (1, len(kept)), (2, 5)]:
        same(tally.part(start, stop), groups[start:stop], semantics)
