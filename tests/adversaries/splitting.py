"""A release that is split top-down, for tests of ledgers."""

from collections import Counter

import numpy as np
from hypothesis import strategies as st

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts

POINTS = st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4))
ROOTS = st.lists(st.sampled_from("aaabbcd"), min_size=2, max_size=14)


def counted(bags, values):
    """Counts of some bags (lists of values), all over the same values."""
    codes = {value: code for code, value in enumerate(values)}
    pairs = [(g, codes[value]) for g, bag in enumerate(bags) for value in bag]
    groups, values_of = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return GroupCounts.from_pairs(groups, values_of, values=values, n_groups=len(bags))


def worst(bags, values, point, wanted=None):
    """The highest exact disclosure among the wanted values, judged from scratch."""
    counts = counted(bags, values)
    found = Facts(*point).disclosures(counts)
    chosen = [x for code, x in enumerate(values) if wanted is None or wanted[code]]
    return max((found[x].exact for x in chosen), default=0)


@st.composite
def split(draw, bag):
    """Cut one bag into one to three parts."""
    part = draw(st.lists(st.integers(0, 2), min_size=len(bag), max_size=len(bag)))
    parts = [[x for x, at in zip(bag, part, strict=True) if at == p] for p in range(3)]
    return [p for p in parts if p]


@st.composite
def histories(draw, steps=5):
    """A root bag and random cuts of it: [(position of the cut group, its parts), ...].

    Each cut is made from the release that all earlier cuts have left.
    """
    root = draw(ROOTS)
    bags, cuts = [root], []
    for _ in range(steps):
        at = draw(st.integers(0, len(bags) - 1))
        parts = draw(split(bags[at]))
        cuts.append((at, parts))
        bags = [*bags[:at], *bags[at + 1 :], *parts]
    return root, cuts


def stages(root, cuts):
    """The releases along a history, the root's first."""
    found = [[root]]
    for at, parts in cuts:
        bags = found[-1]
        found.append([*bags[:at], *bags[at + 1 :], *parts])
    return found


def letters(bag):
    """The distinct values of a bag, in order."""
    return sorted(Counter(bag))
