"""Releases whose groups are replaced by others, for tests of ledgers where minima may rise.

A person is a text, one letter for each of their values; a group is a list of people.
"""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.minima import FactsMeasure
from foreknow.adversaries.ledger import MinLedger
from foreknow.criteria.criterion import Criterion
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels

VALUES = Labels("abcd")


def counted(groups, semantics, values=VALUES):
    """Counts of some groups, over the same values always."""
    pairs = [
        (g, values.codes[x]) for g, group in enumerate(groups) for person in group for x in person
    ]
    rows, codes = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return GroupCounts.from_pairs(
        rows,
        codes,
        values=values,
        n_groups=len(groups),
        sizes=[len(group) for group in groups],
        semantics=semantics,
    )


def worst(groups, semantics, asked, expected=None):
    """The highest disclosure among the wanted values as a fraction, judged from scratch.

    Of an adversary, or of facts in these amounts; 1 where a criterion does not hold, else 0.
    """
    counts = counted(groups, semantics)
    if isinstance(asked, Criterion):
        return Fraction(bool(groups) and not asked.holds(counts))
    disclosures = (Facts(*asked) if isinstance(asked, tuple) else asked).disclosures(counts)
    chosen = [x for code, x in enumerate(VALUES) if expected is None or expected[code]]
    return max((disclosures[x].exact for x in chosen), default=Fraction(0))


def right(said, truth, threshold, exact=False):
    """Whether a ledger's word may stand: never wrongly safe, and unsafe only if (nearly) so."""
    if said or exact or truth >= threshold:
        return said == (truth < threshold)
    return bool(truth) and 1 / truth - 1 <= (1 / threshold - 1) * (1 + Fraction(1, 10**8))


def people(semantics, letters="aabcd"):
    """Draw a person."""
    if semantics == "single":
        return st.sampled_from(letters)
    if semantics == "set":
        return st.sets(st.sampled_from(letters), max_size=3).map(sorted).map("".join)
    return st.lists(st.sampled_from(letters), max_size=4).map("".join)


def groupings(semantics, least=1, most=4):
    """Draw groups, of which several may hold the same."""
    group = st.lists(people(semantics), min_size=1, max_size=5)
    some = st.lists(group, min_size=max(least, 1), max_size=most)
    return some.flatmap(
        lambda kinds: st.lists(st.sampled_from(kinds), min_size=least, max_size=most)
    )


@st.composite
def parted(draw, members, most=3):
    """Divide people into groups anew, or leave them together."""
    side = draw(st.lists(st.integers(0, most - 1), min_size=len(members), max_size=len(members)))
    results = [[p for p, at in zip(members, side, strict=True) if at == i] for i in range(most)]
    return [group for group in results if group]


@st.composite
def changes(draw, groups, semantics):
    """Draw which groups (by place) are replaced, and by which: cut, merged, mixed, new, gone."""
    if not groups or draw(st.integers(0, 5)) == 0:
        return [], draw(groupings(semantics, 1, 2))
    at = draw(
        st.lists(st.integers(0, len(groups) - 1), min_size=1, max_size=3, unique=True).map(sorted)
    )
    kind = draw(st.sampled_from(["divide", "divide", "merge", "leave"]))
    if kind == "leave":
        return at, []
    members = [person for place in at for person in groups[place]]
    return at, [members] if kind == "merge" else draw(parted(members))


def changed(groups, change):
    """The groups after a change."""
    at, added = change
    return [group for place, group in enumerate(groups) if place not in at] + added


@st.composite
def divisions(draw, groups):
    """Draw one group (by place) and the parts that replace it."""
    at = draw(st.integers(0, len(groups) - 1))
    return [at], draw(parted(groups[at]))


@st.composite
def histories(draw, semantics, falling, steps=5):
    """Groups to begin with, and changes of what the earlier ones left; where only cutting is
    allowed (`falling`), cuts only.
    """
    first = draw(groupings(semantics, 1, 4))
    stages, steps_taken = [first], []
    for _ in range(draw(st.integers(0, steps))):
        change = draw(divisions(stages[-1]) if falling else changes(stages[-1], semantics))
        steps_taken.append(change)
        stages.append(changed(stages[-1], change))
    return stages, steps_taken


@st.composite
def thresholds(draw, attained):
    """A probability that is attained, a little or well more than it, or a plain one."""
    near = [p + Fraction(x) for p in attained for x in ("1e-14", "2e-9")]
    usable = sorted({p for p in [*attained, *near] if 0 < p <= 1})
    return draw(st.sampled_from([*usable, *usable, Fraction(1, 2), Fraction(1)]))


MASKS = st.none() | st.lists(st.booleans(), min_size=4, max_size=4).map(np.array)


def start(asked, threshold, expected, semantics, rising=False, everyone=None):
    """An empty ledger of an adversary or a criterion, or of facts in these amounts.

    `rising` keeps all groups though minima only fall, which nothing else asks for.
    """
    if isinstance(asked, Criterion):
        more = {"whole": everyone.totals} if getattr(asked, "compares_table", False) else {}
        return asked.ledger(semantics, **more)
    adversary = Facts(*asked) if isinstance(asked, tuple) else asked
    if rising:
        limit, point = Fraction(threshold), (adversary.l, adversary.k, adversary.m)
        measure = FactsMeasure(point, limit, expected, semantics)
        return MinLedger(measure, limit, expected, falling=False)
    return adversary.ledger(threshold, expected, semantics)


def started(semantics, asked, threshold, expected, stages, steps, rising=None):
    """A ledger that has seen the first groups and every change, asked for or not."""
    everyone = counted(stages[0], semantics)
    ledger = start(
        asked,
        threshold,
        expected,
        semantics,
        semantics == "single" if rising is None else rising,
        everyone,
    )
    ledger.commit(None, everyone)
    for groups, change in zip(stages, steps, strict=False):
        ledger.commit(*proposal(groups, change, semantics))
    return ledger


def proposal(groups, change, semantics):
    """What a change removes and adds, counted."""
    at, added = change
    removed = counted([groups[place] for place in at], semantics) if at else None
    return removed, counted(added, semantics)


def after(groups, proposals):
    """The groups with all those proposals carried out."""
    at = [place for places, _ in proposals for place in places]
    return changed(groups, (at, [part for _, parts in proposals for part in parts]))


def weighed(ledger, groups, proposals, semantics):
    """All proposals in one weighing."""
    removed = counted([groups[at[0]] for at, _ in proposals], semantics)
    added = counted([part for _, parts in proposals for part in parts], semantics)
    owner = np.repeat(np.arange(len(proposals)), [len(parts) for _, parts in proposals])
    return ledger.evaluate(removed, added, owner)


def stands(ledger, semantics):
    """Whether the release is safe as it is: nothing is replaced by nothing."""
    return ledger.admits(None, counted([], semantics))
