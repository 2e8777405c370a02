"""Lay a hierarchy over a domain, and check everything that is promised of any."""

from typing import Any

import numpy as np
import pytest

from foreknow.data.hierarchy import Hierarchy, Levels
from foreknow.errors import HierarchyError

DISEASES = [
    ["flu", "viral", "lung", "*"],
    ["ulcer", "acid", "stomach", "*"],
    ["cold", "viral", "lung", "*"],
    ["asthma", "chronic", "lung", "*"],
]


def never(position: int) -> int:
    raise AssertionError("first_row is for messages only")


def lay(hierarchy: Hierarchy, domain: list[Any]) -> Levels:
    """Levels of a domain, after checking everything that is promised of any."""
    levels = hierarchy.levels(domain, "c", never)
    assert sorted(levels.order.tolist()) == list(range(len(domain)))
    assert levels.order.dtype == np.int64
    if None in domain:
        assert domain[levels.order[0]] is None
    assert len(levels.ancestors) == len(levels.labels)
    below = np.arange(len(domain))
    for nodes, labels in zip(levels.ancestors, levels.labels, strict=True):
        assert nodes.dtype == np.int64
        assert nodes.shape == (len(domain),)
        if len(nodes):
            assert nodes[0] == 0
            assert set(np.diff(nodes).tolist()) <= {0, 1}
            assert len(labels) == nodes[-1] + 1
            assert not np.any((np.diff(below) == 0) & (np.diff(nodes) != 0)), "levels nest"
        assert len(set(labels)) == len(labels)
        below = nodes
    if levels.labels:
        assert levels.labels[-1] == ("*",)
        assert all(("missing" in labels) == (None in domain) for labels in levels.labels[:-1])
    return levels


def path_of(levels: Levels, domain: list[Any], value: Any) -> list[str]:
    """Labels above one value."""
    leaf = [domain[i] for i in levels.order.tolist()].index(value)
    return [
        labels[nodes[leaf]] for nodes, labels in zip(levels.ancestors, levels.labels, strict=True)
    ]


def in_leaf_order(hierarchy: Hierarchy, domain: list[Any]) -> list[Any]:
    return [domain[i] for i in lay(hierarchy, domain).order.tolist()]


def refusal(hierarchy: Hierarchy, domain: list[Any], column: str = "c") -> str:
    with pytest.raises(HierarchyError) as caught:
        hierarchy.levels(domain, column, lambda i: 10 * i + 7)
    return str(caught.value)
