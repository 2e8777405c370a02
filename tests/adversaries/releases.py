"""Random releases for tests of ledgers, priors and facts, and what enumeration says of them."""

import os
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import cycle, product
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from tests.common import NIGHTLY
from tests.oracle import many_worlds as many
from tests.oracle import worlds as single
from tests.oracle.priors import binary, joint

import foreknow as fk
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.minima import FactsMeasure
from foreknow.adversaries.ledger import MinLedger
from foreknow.criteria.criterion import Criterion
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Labels
from foreknow_judge.files.written_release import Written

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


# random releases of people with attributes, priors about them, and what enumeration says.

SETS = (("sex",), ("race",), ("sex", "race"))
LABELS = {"sex": ("m", "f"), "race": ("w", "b", None)}


def priors_table(rows, attributes):
    """A table as a user would write it; {signature: {value: probability}}, texts kept exact."""
    by_key = defaultdict(list)
    for signature, row in rows.items():
        for value, chance in row.items():
            for name, label in zip(attributes, signature, strict=True):
                by_key[name].append(label)
            by_key["value"].append(value)
            by_key["probability"].append(str(chance))
    return pa.table(dict(by_key))


class Scene:
    """People as (group, attributes, value), and a table of priors for each attribute set."""

    def __init__(self, people, tables):
        self.people, self.tables = people, tables

    @property
    def frame(self):
        columns = {"gid": [g for g, _, _ in self.people]}
        for name in LABELS:
            columns[name] = pa.array([who[name] for _, who, _ in self.people], pa.string())
        return pa.table({**columns, "disease": [x for _, _, x in self.people]})

    @property
    def release(self):
        return fk.Release.from_groups(self.frame, group="gid", sensitive="disease")

    def written(self, form):
        """The tables of the release as they would be published."""
        if form == "generalized":
            return Written(form, ("gid",), "disease", {"release": self.frame})
        tally = self.frame.group_by(["gid", "disease"]).aggregate([([], "count_all")])
        tally = tally.rename_columns({"count_all": "count"})
        people = self.frame.drop_columns("disease").take(list(reversed(range(len(self.people)))))
        return Written(form, ("gid",), "disease", {"people": people, "sensitive": tally})

    def priors(self, reading, only=None):
        chosen = self.tables if only is None else {only: self.tables[only]}
        return fk.Priors([priors_table(rows, own) for own, rows in chosen.items()], reading)

    @cached_property
    def groups(self):
        """People and bag of each group."""
        by_key = defaultdict(list)
        for group, who, value in self.people:
            by_key[group].append((who, value))
        return dict(by_key)

    def posteriors(self, reading, attributes):
        """{(group, signature, value): posterior}, all enumerated; None where a group has none."""
        table, known = self.tables[attributes], {}
        for group, members in self.groups.items():
            signatures = [tuple(who[name] for name in attributes) for who, _ in members]
            bag = [value for _, value in members]
            rows = [table[signature] for signature in signatures]
            for value in set(bag):
                if reading == "joint":
                    world = joint(rows, bag)
                    chances = world and [row[value] for row in world]
                else:
                    chances = binary(rows, bag, value)
                if chances is None:
                    return None
                for signature, chance in zip(signatures, chances, strict=True):
                    # Equal signatures: equally likely.
                    assert known.setdefault((group, signature, value), chance) == chance
        return known

    def ratios(self, truth):
        """Posterior by prior of every cell of what enumeration says, where that is possible."""
        return {
            (own, *cell): p / self.tables[own][cell[1]][cell[2]]
            for own, known in truth.items()
            for cell, p in known.items()
            if self.tables[own][cell[1]][cell[2]]
        }

    def truth(self, reading, only=None):
        """{attribute set: posteriors}; None where a group has none."""
        sets = self.tables if only is None else [only]
        results = {own: self.posteriors(reading, own) for own in sets}
        return None if None in results.values() else results


def random_row(random, values, kind):
    """Probabilities that sum to one, or to less; zeros, and very small ones."""
    if kind == "tiny":
        return {x: Fraction(1, 10 ** random.choice([1, 3, 40, 120, 200, 290])) for x in values}
    weights = [random.randint(0 if kind == "zeros" else 1, 9) for _ in values]
    rest = random.choice([0, 0, 5, 40])
    total = max(sum(weights) + rest, 1)
    return {x: Fraction(w, total) for x, w in zip(values, weights, strict=True)}


def random_scene(random, n_groups=6, most=4, kind=None, possible=True, sets=None):
    """A release of a few groups; with `possible`, everybody's own value has a positive prior."""
    values = "abcd"[: random.randint(1, 4)]
    kind = kind or random.choice(["any", "zeros", "zeros", "tiny"])
    chosen = sets or random.sample(SETS, random.choice([1, 1, 2, 3]))
    everybody = [(sex, race) for sex in LABELS["sex"] for race in LABELS["race"]]
    kinds = [dict(zip(LABELS, labels, strict=True)) for labels in everybody]
    tables = {
        own: {
            signature: random_row(random, values, kind)
            for signature in dict.fromkeys(tuple(who[name] for name in own) for who in kinds)
        }
        for own in chosen
    }
    people = []
    for group in range(n_groups):
        for _ in range(random.randint(1, most)):
            who = random.choice(kinds)
            likely = [
                x
                for x in values
                if all(rows[tuple(who[name] for name in own)][x] for own, rows in tables.items())
            ]
            if likely or not possible:
                people.append((group, who, random.choice(likely if possible else values)))
    if not people:  # zeros everywhere
        return random_scene(random, n_groups, most, kind, possible, sets)
    random.shuffle(people)
    return Scene(people, tables)


# ---- what must hold of facts at one (release, amounts) point, against enumerated worlds --------
# A release is a list of groups, each (number of people, bag of values).


def some(cases, least=4):
    """All cases by night; a part of them in each run, others each time (in CI the same)."""
    cases = list(cases)
    if NIGHTLY or len(cases) <= least:
        return cases
    chance = Random(0 if os.environ.get("CI") == "true" else None)
    return chance.sample(cases, max(least, len(cases) // 160))


def points(most):
    """All (l, k, m) up to `most`."""
    return list(product(*(range(amount + 1) for amount in most)))


def grouped(bags):
    """Bags as groups of people with one value each."""
    return [(len(bag), bag) for bag in bags]


def bags_of(groups):
    return [bag for _, bag in groups]


def small_releases(people, most_groups, values, most_count, semantics):
    if semantics == "single":
        return some(map(grouped, single.small_releases(people, most_groups, values)))
    return some(many.small_releases(people, most_groups, values, most_count, semantics))


def counts_of(groups, semantics):
    """Build counts by giving each value to one member after the other: as good as any way."""
    if semantics == "single":
        return GroupCounts.from_bags(bags_of(groups))
    people = []
    for size, bag in groups:
        row = [[] for _ in range(size)]
        for value, count in Counter(bag).items():
            for own, _ in zip(cycle(row), range(count), strict=False):
                own.append(value)
        people.append(row)
    return GroupCounts.from_people(people, semantics=semantics)


def worst_cases(groups, value, most, semantics):
    """The enumerated probability of a value at every point up to `most`."""
    if semantics == "single":
        return single.worst_cases(bags_of(groups), value, most)
    return many.worst_cases(groups, value, most, semantics)


def check_release(groups, most, semantics="single"):
    """Compare every value at every point up to `most`; returns how many were compared."""
    counts, played = counts_of(groups, semantics), {}
    worst = {value: worst_cases(groups, value, most, semantics) for value in counts.values}
    for point in points(most):
        truth = {value: worst[value][point] for value in counts.values}
        check_point(groups, counts, point, truth, played)
    return len(points(most)) * len(worst)


def check_one(groups, point, semantics="single", value=None):
    """Compare one point; of one value only, its disclosure is returned."""
    counts = counts_of(groups, semantics)
    about = counts.values if value is None else [value]
    truth = {x: worst_cases(groups, x, point, semantics)[point] for x in about}
    if value is None:
        return check_point(groups, counts, point, truth, {})
    disclosure = Facts(*point).disclosure(counts, value)
    same(disclosure, value, truth[value], (groups, point))
    check_witness(groups, counts, disclosure, point, {})
    return disclosure


def check_point(groups, counts, point, truth, played):
    """Compare one point: exact, float, one by one and all at once, thresholds, witnesses.

    `played` remembers what the witnesses seen so far give; it is filled.
    """
    facts = Facts(*point)
    at_once = facts.disclosures(counts)
    assert list(at_once) == list(counts.values), (groups, counts, point)
    for value, found in at_once.items():
        where = (groups, counts.semantics, point, value)
        same(found, value, truth[value], where)
        same(facts.disclosure(counts, value), value, truth[value], where)
        check_witness(groups, counts, found, point, played)
    worst = facts.disclosure(counts)
    where = (groups, counts.semantics, point, "worst")
    same(worst, worst.value, max(truth.values(), default=0), where)
    if truth:
        assert truth[worst.value] == max(truth.values()), (where, worst)
        check_witness(groups, counts, worst, point, played)
    else:
        assert (worst.value, worst.witness) == (None, None), where


def same(found, value, truth, where):
    """The disclosure is of that value and has that probability, at the very boundary too."""
    assert found.value == value, where
    assert type(found.exact) is Fraction, where
    assert found.exact == truth, (where, found.exact, truth)
    assert abs(found.probability - truth) <= 1e-12, (where, found.probability, truth)
    assert found.below(truth) is False, where
    assert found.below(truth + Fraction(1, 10**15)) is True, where
    assert found.below(truth - Fraction(1, 10**15)) is False, where


def check_witness(groups, counts, found, point, played):
    """The witness fits in, stays within its amounts, attains the probability, spares no fact."""
    witness = found.witness
    where = (groups, counts.semantics, point, witness)
    l, k, m = point  # noqa: E741
    assert witness.value == found.value, where
    assert len(set(witness.ruled_out)) == len(witness.ruled_out) <= l, where
    assert set(witness.ruled_out) <= set(counts.values) - {witness.value}, where
    assert counts.semantics == "single" or set(witness.known) <= {witness.value}, where
    assert sum(witness.known.values()) <= k, where
    assert min(witness.known.values(), default=1) > 0, where
    assert 0 <= witness.family <= m, where
    assert (witness.known_position is None) == (not witness.known), where
    assert (witness.family_position is None) == (not witness.family), where
    key = str(witness)
    if key not in played:
        played[key] = play(groups, counts.semantics, witness)
        for fewer in without_one_fact(witness) if found.exact == 1 else ():
            assert play(groups, counts.semantics, fewer) < 1, (where, fewer)
    assert played[key] == found.exact, (where, played[key], found.exact)


def without_one_fact(witness):
    """The witness without each value that is ruled out, each known person, a relative."""
    for x in witness.ruled_out:
        yield replace(witness, ruled_out=tuple(y for y in witness.ruled_out if y != x))
    for x in witness.known:
        yield replace(witness, known=Counter(witness.known) - Counter([x]))
    if witness.family:
        yield replace(witness, family=witness.family - 1)


def play(groups, semantics, witness):
    """Give the witness's parts to people, all different; how sure its facts make someone."""
    alone, value = semantics == "single", witness.value
    free = [
        list(own) for own in (single.members(bags_of(groups)) if alone else many.members(groups))
    ]
    target = free[witness.target_position].pop()
    about_others = [
        (free[witness.known_position].pop(), known)
        for known, count in witness.known.items()
        for _ in range(count)
    ]
    family = [free[witness.family_position].pop() for _ in range(witness.family)]
    if alone:
        return single.posterior(
            single.worlds(bags_of(groups)),
            [
                *(single.lacks(target, x) for x in witness.ruled_out),
                *(single.has(*pair) for pair in about_others),
                *(single.implies(relative, target, value) for relative in family),
            ],
            target,
            value,
        )
    return many.posterior(
        many.worlds_about(groups, semantics, target, value),
        [
            *(many.brings(target, x, value) for x in witness.ruled_out),
            *(many.lacks(*pair) for pair in about_others),
            *(many.implies(relative, target, value) for relative in family),
        ],
        target,
        value,
    )
