"""What breaks the paper's algorithms against who knows them: the counterexamples of the errata."""

import logging
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.oracle.streamliner_lots import exchangeable, releases, tables, worst
from tests.oracle.streamliner_unsafe import (
    best_of,
    rda,
    releases_of_best,
    ria,
    widths,
    within_groups,
)

from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow.methods.streamliner import Streamliner

HALF = Fraction(1, 2)
AABC, AABCD, AABBC = (0, 0, 1, 2), (0, 0, 1, 2, 3), (0, 0, 1, 1, 2)


def grouped(table, variant, seed):
    rows = pa.table({"rank": list(range(1, len(table) + 1)), "value": list(table)})
    microdata = Microdata(rows, Schema(quasi_identifiers=["rank"], sensitive="value"))
    return Streamliner(2, variant).partition(microdata, seed=seed).tolist()


@pytest.mark.parametrize("bag", [AABC, AABCD, AABBC])
def test_the_plain_reference_is_safe_when_all_picks_are_lots(bag):
    found = releases(bag, rda(2))
    assert exchangeable(found)
    assert worst(found) == HALF


def test_a_colour_in_table_order():
    assert worst(releases(AABC, rda(2, pick="table"))) == 1


def test_ties_of_colours_by_first_row():
    assert worst(releases(AABBC, rda(2, ties="row"))) == Fraction(2, 3)
    assert worst(releases(AABCD, rda(2, ties="row"))) == 1


def test_the_best_of_several_runs():
    found = releases(AABCD, best_of(rda(2), 2, within_groups))
    assert worst(found) == Fraction(2, 3)
    assert found == releases_of_best(AABCD, rda(2), 2, within_groups)


@pytest.mark.parametrize(
    ("runs", "posterior"), [(1, HALF), (2, HALF), (3, Fraction(17, 27)), (5, Fraction(137, 171))]
)
def test_the_best_of_several_runs_by_the_width_of_groups(runs, posterior):
    assert worst(releases_of_best(AABBC, rda(2), runs, widths)) == posterior


def test_the_first_who_is_unused_of_a_drawn_colour():
    assert worst(releases(AABBC, ria("first"))) == 1
    assert worst(releases(AABBC, ria("lot"))) == HALF


@pytest.mark.slow
def test_people_of_a_colour_who_draw_in_the_order_of_the_table():
    assert worst(releases((0, 0, 0, 1, 1, 2), ria("lot"))) == Fraction(2, 3)


@pytest.mark.parametrize("variant", ["rda", "ria", "gsa"])
def test_a_seed_that_somebody_knows(variant):
    """They run the method on every table that agrees with the release."""
    for seed in range(5):
        if worst(releases(AABC, lambda t, _, s=seed: grouped(t, variant, s))) == 1:
            return
    raise AssertionError("nobody is certain")


def test_gda_at_four_people(caplog):
    with caplog.at_level(logging.WARNING, logger="foreknow"):
        found = releases(AABC, lambda table, _: grouped(table, "gda", 0))
    release = frozenset({((0, 2), (0, 1)), ((1, 3), (0, 2))})
    assert set(found[release]) == {AABC}
    assert worst(found) == 1
    assert "GDA is unsafe" in caplog.text


def test_gda_leaves_fewer_tables_than_the_release_for_most_tables():
    found = releases((0, 0, 1, 1), lambda table, _: grouped(table, "gda", 0))
    assert not exchangeable(found)
    assert sum(len(weights) for weights in found.values()) == len(tables((0, 0, 1, 1)))


def test_without_a_seed_every_run_is_another():
    table = tuple(np.arange(60) % 6)
    assert len({tuple(grouped(table, "rda", None)) for _ in range(5)}) == 5
