"""The ledger of Implications along top-down splits, against judging the result afresh."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.adversaries.splitting import ROOTS, counted, histories, letters, split, stages
from tests.examples import examples
from tests.oracle.implication_worlds import group_by_group

import foreknow as fk
from foreknow.adversaries.implications.implications import Implications
from foreknow.data.counts import GroupCounts
from foreknow.errors import InputError, InternalError

AMOUNTS = st.integers(0, 5)
# Where the odds are this near the limit's, a ledger may refuse what is safe.
NEAR = Fraction(1, 10**8)


def worst(bags, values, k, wanted=None):
    """The highest exact disclosure among the wanted values, judged from scratch."""
    found = Implications(k).disclosures(counted(bags, values))
    chosen = [x for code, x in enumerate(values) if wanted is None or wanted[code]]
    return max((found[x].exact for x in chosen), default=Fraction(0))


def agrees(verdict, truth, threshold):
    """What is unsafe is refused, always; what is safe is admitted, unless it is a hair's breadth.

    >>> agrees(True, Fraction(1, 2), Fraction(1, 2)), agrees(False, Fraction(1, 3), Fraction(1, 2))
    (False, False)
    """
    if verdict or truth >= threshold:
        return verdict == (truth < threshold)
    return bool(truth) and 1 / truth - 1 <= (1 / threshold - 1) * (1 + NEAR)


@st.composite
def masks(draw, values):
    """Some of the values, or None for all of them."""
    if draw(st.booleans()):
        return None
    size = len(values)
    return np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))


@st.composite
def thresholds(draw, releases, values, k, wanted):
    """Probabilities that some releases attain, a little above them, and plain ones."""
    attained = {worst(bags, values, k, wanted) for bags in releases} - {0}
    above = {min(p + step, Fraction(1)) for p in attained for step in ATOP}
    plain = [Fraction(1, 2), Fraction(3, 4), Fraction(9, 10), Fraction(1)]
    return draw(st.sampled_from([*sorted(attained), *sorted(above), *plain]))


ATOP = (Fraction(1, 10**14), Fraction(1, 10**6))


# ---- one proposal after another --------------------------------------------------------------


@examples(100, deadline=None)
@given(st.data(), histories(), AMOUNTS)
def test_admits_is_the_verdict_on_the_resulting_release(data, history, k):
    root, cuts = history
    values = letters(root)
    wanted = data.draw(masks(values))
    threshold = data.draw(thresholds(stages(root, cuts), values, k, wanted))
    ledger = Implications(k).ledger(threshold, wanted)
    bags = [root]
    assert agrees(
        ledger.admits(None, counted(bags, values)), worst(bags, values, k, wanted), threshold
    )
    ledger.commit(None, counted(bags, values))
    for step in range(4):
        at = data.draw(st.integers(0, len(bags) - 1), label=f"group to cut in step {step}")
        parts = data.draw(split(bags[at]))
        after = [*bags[:at], *bags[at + 1 :], *parts]
        truth = worst(after, values, k, wanted)
        removed, added = counted([bags[at]], values), counted(parts, values)
        verdict = ledger.admits(removed, added)
        assert agrees(verdict, truth, threshold), (bags, parts, k, threshold, truth, verdict)
        if verdict:
            ledger.commit(removed, added)
            bags = after


@examples(80, deadline=None)
@given(st.data(), histories(), AMOUNTS)
def test_the_ledger_stays_right_when_cuts_are_made_without_asking(data, history, k):
    root, cuts = history
    values = letters(root)
    wanted = data.draw(masks(values))
    threshold = data.draw(thresholds(stages(root, cuts), values, k, wanted))
    ledger = Implications(k).ledger(threshold, wanted)
    ledger.commit(None, counted([root], values))
    bags = [root]
    for (at, parts), after in zip(cuts, stages(root, cuts)[1:], strict=True):
        removed, added = counted([bags[at]], values), counted(parts, values)
        verdict = ledger.admits(removed, added)
        assert agrees(verdict, worst(after, values, k, wanted), threshold)
        ledger.commit(removed, added)
        bags = after


@examples(60, deadline=None)
@given(
    st.data(), st.lists(st.lists(st.sampled_from("aaabbcd"), min_size=2, max_size=6), max_size=3)
)
def test_the_verdict_is_that_of_enumeration(data, others):
    """Groups that come one by one, against enumerated worlds and not against `disclosures`."""
    groups = [list("aabbcd"), *others]
    wanted = data.draw(masks("abcd"))
    k = data.draw(st.integers(0, 3))
    truths = [enumerated(groups[: i + 1], "abcd", k, wanted) for i in range(len(groups))]
    threshold = data.draw(st.sampled_from([*{t for t in truths if t}, Fraction(4, 5), Fraction(1)]))
    ledger = Implications(k).ledger(threshold, wanted)
    for group, truth in zip(groups, truths, strict=True):
        added = counted([group], "abcd")
        assert agrees(ledger.admits(None, added), truth, threshold), (groups, k, threshold)
        ledger.commit(None, added)


def enumerated(bags, values, k, wanted):
    chosen = [x for code, x in enumerate(values) if wanted is None or wanted[code]]
    return max((group_by_group(bags, x, 3)[k] for x in chosen), default=Fraction(0))


# ---- many proposals at once ------------------------------------------------------------------


@examples(80, deadline=None)
@given(st.data(), st.lists(ROOTS, min_size=2, max_size=4), AMOUNTS)
def test_proposals_are_weighed_alone_and_together(data, bags, k):
    values = sorted({x for bag in bags for x in bag})
    wanted = data.draw(masks(values))
    parts = [data.draw(split(bag)) for bag in bags]

    def with_some(chosen):
        pairs = zip(bags, parts, chosen, strict=True)
        return [each for bag, cut, yes in pairs for each in (cut if yes else [bag])]

    ones = np.eye(len(bags), dtype=bool)
    some = np.array(data.draw(st.lists(st.booleans(), min_size=len(bags), max_size=len(bags))))
    every = [with_some(some), *map(with_some, ones)]
    threshold = data.draw(thresholds(every, values, k, wanted))
    ledger = Implications(k).ledger(threshold, wanted)
    ledger.commit(None, counted(bags, values))
    owner = np.repeat(np.arange(len(bags)), [len(cut) for cut in parts])
    weighing = ledger.evaluate(
        counted(bags, values), counted([part for cut in parts for part in cut], values), owner
    )

    alone = weighing.safe_each()
    assert (alone.dtype, alone.shape) == (np.dtype(bool), (len(bags),))
    for verdict, chosen in zip(alone, ones, strict=True):
        truth = worst(with_some(chosen), values, k, wanted)
        assert agrees(bool(verdict), truth, threshold), (bags, parts, chosen)
        assert weighing.safe_jointly(chosen) == verdict
    assert np.all(weighing.risk_ratio()[alone] < 1)
    assert np.all(weighing.risk_ratio()[~alone] > 1 - 1e-6)  # as near as that, it may refuse
    together = weighing.safe_jointly(some)
    assert agrees(together, worst(with_some(some), values, k, wanted), threshold)

    # Carry some out; then ask again, about the others too.
    weighing.commit(some)
    for verdict, one in zip(weighing.safe_each(), ones, strict=True):
        truth = worst(with_some(some | one), values, k, wanted)
        assert agrees(bool(verdict), truth, threshold), (bags, parts, some, one)


# ---- details ---------------------------------------------------------------------------------


@examples(60)
@given(ROOTS, AMOUNTS)
def test_a_threshold_that_the_root_attains_admits_neither_the_root_nor_any_cut(root, k):
    values = letters(root)
    ledger = Implications(k).ledger(worst([root], values, k))
    whole = counted([root], values)
    assert ledger.admits(None, whole) is False
    ledger.commit(None, whole)
    assert ledger.admits(whole, counted([root[:1], root[1:]], values)) is False
    assert ledger.admits(whole, whole) is False


COUNTS = st.lists(
    st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 60), min_size=3),
    min_size=1,
    max_size=3,
)


@examples(200)
@given(COUNTS, AMOUNTS)
def test_a_threshold_that_is_attained_is_refused_however_floats_are_rounded(bags, k):
    counts = GroupCounts.from_bags(bags)
    truth = Implications(k).disclosure(counts).exact
    assert not Implications(k).ledger(truth).admits(None, counts)
    if truth < 1:
        assert Implications(k).ledger(truth + (1 - truth) / 10**6).admits(None, counts)


def test_asking_changes_nothing():
    ledger = Implications(1).ledger("9/10")
    root = counted(["aabbccdd" * 4], "abcd")
    ledger.commit(None, root)
    good, bad = ["aabbccdd", "aabbccdd" * 3], ["aa", "bbccdd" + "aabbccdd" * 3]
    for bags, safe in [(good, True), (bad, False), (good, True)]:
        assert ledger.admits(root, counted(bags, "abcd")) is safe


def test_values_that_do_not_count_may_be_certain():
    root, parts = counted(["aaabbbbb"], "ab"), counted(["bbbb", "aaab"], "ab")
    for wanted, safe in [([True, False], True), ([False, True], False), ([False, False], True)]:
        ledger = Implications(0).ledger("4/5", np.array(wanted))
        ledger.commit(None, root)
        assert ledger.admits(root, parts) is safe, wanted


def test_a_target_beside_atoms_elsewhere_is_weighed_exactly():
    # Only a counts, and it is rare; the implication begins with someone of the second group.
    parts = counted(["abbccddee", "fffffffg"], "abcdefg")
    only_a = np.array([value == "a" for value in "abcdefg"])
    truth = Implications(1).disclosure(parts, "a").exact
    assert truth == group_by_group(["abbccddee", "fffffffg"], "a", 1)[1] == Fraction(1, 2)
    for threshold, safe in [(truth, False), (truth + Fraction(1, 10**6), True)]:
        ledger = Implications(1).ledger(threshold, only_a)
        ledger.commit(None, parts.merge([0, 0]))
        assert ledger.admits(None, parts) is safe
        weighing = ledger.evaluate(None, parts, np.array([0, 1]))
        assert weighing.safe_each().tolist() == [True, True]
        for first in (0, 1):
            one, other = np.arange(2) == first, np.arange(2) != first
            ledger = Implications(1).ledger(threshold, only_a)
            weighing = ledger.evaluate(None, parts, np.array([0, 1]))
            assert weighing.safe_jointly(np.array([True, True])) is safe
            weighing.commit(one)
            assert weighing.safe_jointly(other) is safe
            assert weighing.safe_each()[other].tolist() == [safe]


@pytest.mark.parametrize("threshold", [0, -1, "3/2", "half", None])
def test_thresholds_outside_0_to_1_are_refused(threshold):
    with pytest.raises(InputError):
        Implications(1).ledger(threshold)


def test_a_mask_of_another_length_is_refused():
    ledger = Implications(1).ledger("1/2", np.array([True, False, True]))
    with pytest.raises(InputError, match="values= must be a bool array of 2 entries"):
        ledger.admits(None, counted(["ab"], "ab"))


def test_counts_over_other_values_are_a_bug_of_the_search():
    ledger = Implications(1).ledger("1/2")
    ledger.commit(None, counted(["ab"], "ab"))
    with pytest.raises(InternalError, match="other value labels"):
        ledger.admits(None, counted(["abc"], "abc"))


@examples(30, deadline=None)
@given(st.lists(ROOTS, min_size=1, max_size=5), st.integers(0, 4))
def test_all_groups_at_once_are_as_one_by_one(bags, k):
    counts = GroupCounts.from_bags(bags)
    truth = Implications(k).disclosure(counts).exact
    for limit in ("1/2", "3/4", "19/20", 1):
        verdict = Implications(k).ledger(limit).admits(None, counts)
        assert agrees(verdict, truth, Fraction(limit))


@pytest.mark.parametrize("values", [None, ["v5", "v6"]])
def test_a_search_ends_where_every_disclosure_is_below_the_limit(values):
    random = np.random.default_rng(1)
    drawn = np.minimum(random.exponential(3, 900), 11).astype(int)
    columns = {"x": random.integers(0, 30, 900), "y": random.integers(0, 9, 900)}
    table = pa.table({**columns, "disease": [f"v{i}" for i in drawn]})
    schema = fk.Schema(quasi_identifiers=["x", "y"], sensitive="disease")
    microdata = fk.Microdata(table, schema)
    policy = fk.Policy([fk.Requirement(Implications(2), below="3/4", values=values)])
    counts = microdata.counts(fk.Mondrian().partition(microdata, policy))
    assert counts.n_groups > 20
    found = Implications(2).disclosures(counts)
    assert max(found[x].exact for x in values or found) < Fraction(3, 4)
