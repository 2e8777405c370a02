"""The search of a lattice, apart from tables: nodes are safe as drawn, and lose what is drawn."""

import random
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import NIGHTLY, examples

from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.methods.fulldomain.search import SAFE, UNSAFE, LatticeSearch, OutOfTime
from foreknow.methods.fulldomain.suppression import NodeVerdict
from foreknow_judge.errors import InputError

SEEDS = st.integers(0, 2**32)


def above(lattice, number):
    """All nodes at or above one."""
    low = lattice.node(number)
    return {
        lattice.number(node)
        for node in product(*(range(n) for n in lattice.shape))
        if all(a >= b for a, b in zip(node, low, strict=True))
    }


class Drawn:
    """A lattice of nodes that are safe as drawn, and what a search of it is made of.

    `shape` of safety: "rising" (a safe node makes all above it safe), "suppressing" (only some safe
    nodes do, since others are safe with people suppressed; unsafe nodes of some are hopeless),
    "any" (nothing follows).
    """

    def __init__(self, seed, shape, at_once=False):
        draw = random.Random(seed)
        self.lattice = Lattice([draw.randint(0, 4) for _ in range(draw.randint(1, 5))])
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
            hopeless = {k for k in range(n) if not any(k in ups[s] for s in self.safe)} & set(
                draw.sample(range(n), k=n // 2)
            )
        rising = [draw.choice([0, 0, 1, 2, 3]) for _ in range(n)]
        self.bounds = np.array(
            [sum(rising[k] for k in range(n) if number in ups[k]) for number in range(n)], float
        )
        self.true = {
            k: self.bounds[k] if k in plain else self.bounds[k] + draw.choice([0, 1, 4])
            for k in self.safe
        }
        self.asked = []

        def judge(view):
            number = self.lattice.number(view.levels)
            self.asked.append(number)
            some = np.array([True])
            if number in self.safe:
                return NodeVerdict(True, None if number in plain or not self.monotone else some)
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
                bounds=self.bounds,
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


SHAPES = st.sampled_from(["rising", "suppressing", "any"])


@examples(150)
@given(seed=SEEDS, shape=SHAPES, at_once=st.booleans())
def test_all_minimal_nodes_are_found(seed, shape, at_once):
    drawn = Drawn(seed, shape, at_once)
    drawn.search.all_minimal()
    assert set(drawn.search.minimal()) == drawn.minimal
    drawn.check()


@examples(200)
@given(
    seed=SEEDS,
    shape=SHAPES,
    at_once=st.booleans(),
)
def test_the_best_node_is_found(seed, shape, at_once):
    drawn = Drawn(seed, shape, at_once)
    drawn.search.the_best()
    drawn.check()
    if not drawn.safe:
        assert drawn.search.best is None
        return
    heights = drawn.lattice.heights
    assert drawn.search.best == min(drawn.safe, key=lambda k: (drawn.true[k], heights[k], k))


@examples(150)
@given(seed=SEEDS, shape=SHAPES)
def test_one_minimal_node_is_found(seed, shape):
    drawn = Drawn(seed, shape)
    found = drawn.search.one_minimal()
    drawn.check()
    if drawn.safe:
        assert found in drawn.minimal
        assert found in drawn.search.minimal()
    else:
        assert found is None


def test_where_merging_never_hurts_few_nodes_are_asked_about():
    """No search can do without the frontier: minimal safe nodes, and unsafe ones below safe."""
    asked = needed = nodes = 0
    for seed in range(100 if NIGHTLY else 30):
        drawn = Drawn(seed, "rising")
        drawn.search.all_minimal()
        frontier = drawn.minimal | {
            k
            for k in range(len(drawn.lattice))
            if k not in drawn.safe and all(p in drawn.safe for p in drawn.lattice.parents(k))
        }
        assert frontier <= set(drawn.asked)
        asked, needed = asked + len(drawn.asked), needed + len(frontier)
        nodes += len(drawn.lattice)
    # Here safety has nothing to do with how many groups a node can have, so guesses are blind.
    assert asked < min(7 * needed, nodes / 3), (asked, needed, nodes)


def test_a_search_that_is_out_of_time_keeps_what_it_knows():
    drawn = Drawn(7, "rising")
    drawn.search._until = -1.0
    assert drawn.search.check(drawn.lattice.top)
    with pytest.raises(OutOfTime):
        drawn.search.all_minimal()
    assert drawn.search.best == drawn.lattice.top


# ---- the lattice itself ------------------------------------------------------------------------


@examples(100)
@given(seed=SEEDS)
def test_what_lies_above_and_below(seed):
    draw = random.Random(seed)
    lattice = Lattice([draw.randint(0, 3) for _ in range(draw.randint(1, 4))])
    marks = np.array([draw.random() < 0.5 for _ in range(len(lattice))])
    ups = [above(lattice, number) for number in range(len(lattice))]
    for number in range(len(lattice)):
        assert lattice.number(lattice.node(number)) == number
        assert lattice.heights[number] == sum(lattice.node(number))
        up = ups[number]
        down = {k for k in range(len(lattice)) if number in ups[k]}
        assert lattice.count_above(marks)[number] == sum(marks[k] for k in up)
        assert lattice.count_below(marks)[number] == sum(marks[k] for k in down)
        for part, members in ((lattice.above, up), (lattice.below, down)):
            marked = np.zeros(len(lattice), bool)
            part(marked, number)[...] = True
            assert set(np.flatnonzero(marked).tolist()) == members
        steps = {k for k in down if lattice.heights[k] == lattice.heights[number] - 1}
        assert set(lattice.children(number)) == steps
        steps = {k for k in up if lattice.heights[k] == lattice.heights[number] + 1}
        assert set(lattice.parents(number)) == steps


def test_a_lattice_that_is_too_large_is_refused():
    with pytest.raises(InputError, match=r"10,000,000 nodes.*7 quasi-identifiers fewer levels"):
        Lattice([9] * 7)
