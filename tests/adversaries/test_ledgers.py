"""Ledgers on cases made by hand: where two groups meet, where minima rise again, the edges."""

from fractions import Fraction

import numpy as np
import pytest
from tests.adversaries import formulas
from tests.adversaries.releases_many import (
    VALUES,
    counted,
    stands,
    started,
    weighed,
)
from tests.oracle.implication_worlds import group_by_group

from foreknow.adversaries.facts.facts import Facts
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Labels
from foreknow.errors import InternalError

ALL = pytest.mark.parametrize("semantics", ["single", "set", "multiset"])


def about(counts, value):
    return np.array([each == value for each in counts.values])


# ---- Facts, one value each -------------------------------------------------------------------


# Only a counts, and it is rare; the implication begins with someone of the second group.


def test_an_implication_beside_atoms_elsewhere_is_that_of_enumeration():
    assert group_by_group(["abbccddee", "fffffffg"], "a", 1)[1] == Fraction(1, 2)


def cut(pairs, values, adversary, threshold, wanted):
    """A ledger of unions (one part and the rest of each), and the cuts of them, evaluated."""
    labels = Labels(values)
    ledger = adversary.ledger(threshold, wanted)
    unions = counted([one + other for one, other in pairs], "single", labels)
    ledger.commit(None, unions.merge([0] * len(pairs)))
    ledger.commit(unions.merge([0] * len(pairs)), unions)
    parts = counted([part for pair in pairs for part in pair], "single", labels)
    return ledger.evaluate(unions, parts, np.repeat(np.arange(len(pairs)), 2))


# Figure 6 of the paper, whose fifth number is misprinted.
SMALL = {"AIDS": 2, "Flu": 2} | {f"rare {i}": 2 for i in range(8)}
LARGE = {"AIDS": 98, "Flu": 851, "rare 0": 16} | {f"rare {i}": 5 for i in range(1, 8)}
WHOLE = {value: SMALL[value] + LARGE[value] for value in SMALL}
POINT = (1, 12, 4)


def as_printed():
    """A1 to A5 of figure 6 after the cut, with its A5 = min(A4, V(g, m, k))."""
    numbers = formulas.five([WHOLE], "AIDS", POINT)
    for part in (SMALL, LARGE):
        own = formulas.five([part], "AIDS", POINT)
        numbers[:4] = [min(pair) for pair in zip(numbers[:4], own[:4], strict=True)]
        numbers[4] = min(numbers[3], own[4])
    return numbers


def test_a_cut_that_figure_6_as_printed_accepts_is_refused():
    assert [sum(part.values()) for part in (SMALL, LARGE, WHOLE)] == [20, 1000, 1020]
    limit = Fraction(4, 5)
    truth = formulas.breach(formulas.five([SMALL, LARGE], "AIDS", POINT))
    assert formulas.breach(as_printed()) < limit < truth
    both = GroupCounts.from_bags([SMALL, LARGE])
    whole = both.merge([0, 0])
    assert Facts(*POINT).disclosure(both, "AIDS").exact == truth
    ledger = Facts(*POINT).ledger(limit, about(both, "AIDS"))
    assert ledger.admits(None, whole)
    ledger.commit(None, whole)
    assert not ledger.admits(whole, both)
    assert not ledger.admits(whole, both.take([1, 0]))
    evaluation = ledger.evaluate(whole, both, np.array([0, 0]))
    assert evaluation.safe_each().tolist() == [False]
    assert evaluation.safe_jointly(np.array([True])) is False


# ---- minima that rise again ------------------------------------------------------------------


def test_at_threshold_one_only_certainty_is_refused_however_little_is_left_of_doubt():
    def alike(occurrences):
        cells = (np.array(x) for x in ([10], [0, 1], [0], [occurrences]))
        return GroupCounts(*cells, VALUES, semantics="multiset")

    for occurrences in (1, 300, 5_000, 10_000, 10**9):  # down to 0.9**(10**9)
        assert Facts().ledger(1, None, "multiset").admits(None, alike(occurrences))
        assert not Facts(k=9).ledger(1, None, "multiset").admits(None, alike(occurrences))
    for sure in (["a"], ["a", "a"]):
        assert not Facts().ledger(1, None, "set").admits(None, counted([sure], "set"))


@ALL
def test_a_group_that_is_not_there_cannot_be_replaced(semantics):
    here, there = ["a", "b"], ["a", "b", "b"]
    ledger = started(semantics, (0, 0, 0), "3/4", None, [[here, there]], [])
    one = counted([here], semantics)
    for missing in ([here, here], [["b"]], [there, here, there]):
        gone = counted(missing, semantics)
        evaluation = weighed(
            ledger, missing, [([g], [m]) for g, m in enumerate(missing)], semantics
        )
        everything = np.ones(len(missing), dtype=bool)
        for ask in (
            lambda g=gone: ledger.admits(g, one),
            lambda g=gone: ledger.commit(g, one),
            lambda e=evaluation, every=everything: e.safe_jointly(every),
            lambda e=evaluation, every=everything: e.commit(every),
            evaluation.safe_each,
        ):
            with pytest.raises(InternalError, match="not in the ledger"):
                ask()
    ledger.commit(one, counted([there], semantics))
    with pytest.raises(InternalError, match="not in the ledger"):
        ledger.admits(one, one)
    ledger.commit(counted([there, there], semantics), one)
    assert stands(ledger, semantics)


# ---- Implications ----------------------------------------------------------------------------
