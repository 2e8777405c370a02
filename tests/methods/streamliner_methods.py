"""Streamliner's variants as functions of a table of codes and the random numbers they draw."""

import numpy as np

from foreknow.data.microdata import Attribute
from foreknow.methods.streamliner.gsa import groups_of_gsa
from foreknow.methods.streamliner.rda import groups_of_plan, plan_rda


def axes(*places):
    """Quasi-identifiers: everybody's place on each."""
    return [
        Attribute(
            str(i),
            np.array(place, dtype=np.uint8),
            list(range(max(place) + 1)),
            "ordered",
            (),
            (),
            np.arange(max(place) + 1.0),
        )
        for i, place in enumerate(places)
    ]


def rda(l):  # noqa: E741
    def method(table, lots):
        codes = np.array(table)
        sizes = np.bincount(codes)
        return groups_of_plan(plan_rda(sizes, l), codes, sizes, lots)

    return method


def gsa(l, places):  # noqa: E741
    """Everybody has the given place on a line; one division may fail."""
    attributes = axes(places)

    def method(table, lots):
        codes = np.array(table)
        sizes = np.bincount(codes)
        return groups_of_gsa(codes, sizes, attributes, l, lots, least_groups=1, failures=1)

    return method
