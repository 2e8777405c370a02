"""Lattices: rolled-up counts, counts at chosen levels, and the search of nodes that are drawn."""

import random
import re
from itertools import product
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples

import foreknow as fk
from foreknow.methods.fulldomain import rollup as rollup_module
from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.methods.fulldomain.rollup import Rollup
from foreknow.methods.fulldomain.search import SAFE, UNSAFE, LatticeSearch, OutOfTime
from foreknow.methods.fulldomain.suppression import NodeVerdict
from foreknow_judge.errors import InputError

# ---- counts that are rolled up from finer nodes --------------------------------------------------


def check(microdata, rollup, node):
    """Counted from the rows: groups by the nodes of their values, in lexicographic order."""
    keys = np.stack([
        rollup.levels[a][level][attribute.codes]
        for a, (attribute, level) in enumerate(zip(microdata.attributes, node, strict=True))
    ])  # fmt: skip
    codes, groups = np.unique(keys, axis=1, return_inverse=True)
    view, groups = rollup.view(node), groups.reshape(-1)
    assert view.levels == node
    assert view.counts == microdata.counts(groups)
    assert [own.tolist() for own in view.codes] == codes.tolist()
    assert rollup.spread(node, np.arange(view.counts.n_groups)).tolist() == groups.tolist()
    rollup.cache.add(view)


def wide(rows, columns, values):
    """A table with many values in many columns."""
    draw, names = np.random.default_rng(0), [f"q{i}" for i in range(columns)]
    table = {name: pa.array(draw.integers(0, values, rows)) for name in names}
    table["disease"] = pa.array([f"d{i}" for i in draw.integers(0, 9, rows)])
    hierarchies = {name: fk.Intervals([10, 100]) for name in names}
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease", hierarchies=hierarchies)
    return fk.Microdata(pa.table(table), schema)


def test_memory_is_bounded(monkeypatch):
    """And the finest node stays."""
    monkeypatch.setattr(rollup_module, "_KEPT", 1 << 15)
    microdata = wide(4000, 4, 30)
    rollup = Rollup(microdata)
    finest = len(rollup.finest.counts.codes)
    for node in np.ndindex(3, 2, 3, 3):
        check(microdata, rollup, node)
        largest = rollup.view(node).n_cells
        assert rollup.cache.n_cells <= 8 * max(finest, 1 << 12) + largest
        assert rollup.view((0, 0, 0, 0)) is rollup.finest
    assert len(rollup.cache) < 54


# ---- counts at chosen levels ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def raw():
    rows = {
        "age": [21, 25, 38, 39, None],
        "sex": [*"fmffm"],
        "illness": ["Flu", "Cold", "Flu", "Mumps", "Cold"],
    }
    levels = {"age": fk.Intervals([10])}
    schema = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="illness", hierarchies=levels)
    return fk.Microdata(pa.table(rows), schema)


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"agee": 1}, "'agee' is no quasi-identifier"),
        ({"illness": 1}, "'illness' is no quasi-identifier"),
        ({"age": 3}, "'age' has the levels 0 (exact) to 2 ('*'), not 3"),
        ({"age": -1}, "not -1"),
        ({"sex": 2}, "give it a hierarchy for levels between"),
        ({"sex": "top"}, "the level of 'sex' is a whole number or '*', not 'top'"),
        ({"sex": True}, "not True"),
    ],
)
def test_levels_that_do_not_exist(raw, levels, said):
    with pytest.raises(InputError, match=re.escape(said)):
        fk.counts_at(raw, levels)


# ---- the search, apart from tables: nodes are safe as drawn, and lose what is drawn --------------

SEEDS = st.integers(0, 2**32)


def above(lattice, number):
    """All nodes at or above one."""
    low = lattice.node(number)
    nodes = product(*(range(n) for n in lattice.shape))
    return {lattice.number(n) for n in nodes if all(a >= b for a, b in zip(n, low, strict=True))}


class Drawn:
    """A lattice of nodes that are safe as drawn, and what a search of it is made of.

    `shape` of safety: "rising" (a safe node makes all above it safe), "suppressing" (only some safe
    nodes do, since others are safe with people suppressed; unsafe nodes of some are hopeless),
    "any" (nothing follows).
    """

    def __init__(self, seed, shape, at_once=False):
        draw = random.Random(seed)
        self.lattice = Lattice(
            [draw.randint(0, 4) for _ in range(draw.randint(1, 5 if NIGHTLY else 4))]
        )
        n = len(self.lattice)
        ups = [above(self.lattice, number) for number in range(n)]
        seeds = draw.sample(range(n), k=min(n, draw.randint(1, 6)))
        plain = set().union(*(ups[s] for s in seeds)) | {n - 1}
        self.safe = set(plain)
        hopeless = {k for k in range(n) if k not in plain}
        self.monotone = shape != "any"
        if shape == "any":
            self.safe = {k for k in range(n) if draw.random() < draw.choice([0.05, 0.5])}
            plain = set()
        elif shape == "suppressing":
            # Hopeless: whatever has no safe node below; drawn, to be found out or not.
            self.safe |= {k for k in range(n) if draw.random() < 0.2}
            hopeless = {k for k in range(n) if not any(k in ups[s] for s in self.safe)}
            hopeless &= set(draw.sample(range(n), k=n // 2))
        rising = [draw.choice([0, 0, 1, 2, 3]) for _ in range(n)]
        bounds = [sum(rising[k] for k in range(n) if number in ups[k]) for number in range(n)]
        self.true = {
            k: bounds[k] if k in plain else bounds[k] + draw.choice([0, 1, 4]) for k in self.safe
        }
        self.asked = []

        def judge(view):
            number = self.lattice.number(view.levels)
            self.asked.append(number)
            some = None if number in plain or not self.monotone else np.array([True])
            if number in self.safe:
                return NodeVerdict(True, some)
            return NodeVerdict(False, None, number in hopeless)

        people = np.array([1])
        self.search = LatticeSearch(
            self.lattice,
            SimpleNamespace(
                view=lambda node: SimpleNamespace(levels=node, people=people),
                finest=SimpleNamespace(n_cells=1),
                cache=SimpleNamespace(add=lambda view: None),
                sizes=[[top + 1 - level for level in range(top + 1)] for top in self.lattice.tops],
            ),
            SimpleNamespace(
                monotone=self.monotone,
                at_once=at_once,
                judge_each=lambda views: [judge(view) for view in views],
            ),
            SimpleNamespace(
                bounds=np.array(bounds, float),
                each=np.zeros(n),
                of=lambda view, outliers: self.true[self.lattice.number(view.levels)],
            ),
        )
        self.minimal = {k for k in self.safe if not any(s != k and k in ups[s] for s in self.safe)}

    def check(self):
        """What it says of nodes is true, and it asked about none twice."""
        for number, status in enumerate(self.search.status.tolist()):
            assert status != SAFE or number in self.safe
            assert status != UNSAFE or number not in self.safe
        assert len(set(self.asked)) == len(self.asked)


def test_a_search_out_of_time():
    drawn = Drawn(7, "rising")
    drawn.search._until = -1.0
    assert drawn.search.check(drawn.lattice.top)
    with pytest.raises(OutOfTime):
        drawn.search.all_minimal()
    assert drawn.search.best == drawn.lattice.top


@examples(100)
@given(seed=SEEDS)
def test_above_and_below(seed):
    draw = random.Random(seed)
    lattice = Lattice([draw.randint(0, 3) for _ in range(draw.randint(1, 4))])
    marks = np.array([draw.random() < 0.5 for _ in range(len(lattice))])
    ups = [above(lattice, number) for number in range(len(lattice))]
    for number, up in enumerate(ups):
        height = sum(lattice.node(number))
        assert (lattice.number(lattice.node(number)), lattice.heights[number]) == (number, height)
        down = {k for k in range(len(lattice)) if number in ups[k]}
        for part, counted, next_ones, step, members in (
            (lattice.above, lattice.count_above, lattice.parents, 1, up),
            (lattice.below, lattice.count_below, lattice.children, -1, down),
        ):
            marked = np.zeros(len(lattice), bool)
            part(marked, number)[...] = True
            assert set(np.flatnonzero(marked).tolist()) == members
            assert counted(marks)[number] == sum(marks[k] for k in members)
            near = {k for k in members if lattice.heights[k] == height + step}
            assert set(next_ones(number)) == near
    with pytest.raises(InputError, match=r"10,000,000 nodes.*7 quasi-identifiers fewer levels"):
        Lattice([9] * 7)
