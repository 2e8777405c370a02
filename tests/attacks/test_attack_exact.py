"""Exact attacks, part by part too, say what plain enumeration says, and what is proved."""

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from tests.common import NIGHTLY
from tests.oracle.decoy import posteriors
from tests.oracle.more_methods import outcomes, tables

import foreknow as fk
from foreknow.features.attacks.observation import numbered
from foreknow.features.attacks.worlds import Worlds
from foreknow.features.more_methods.streamliner.rda import groups_of_plan, plan_rda
from foreknow.methods.anatomy import rounds_of
from foreknow.methods.mondrian.replay import Replay
from foreknow.methods.proof import FREQUENCIES_ONLY

DIVERSE = fk.Policy([fk.Requirement(fk.Facts(), below=1, knowing=[])])  # every group has two values
BELOW_2_3 = fk.Policy([fk.Requirement(fk.Facts(), below="2/3", knowing=[])])
LEVELS = {"age": fk.Intervals([2, 4])}
BUCKETS = fk.PublishOptions(form="bucketized")


def microdata(values, hierarchies=None, **columns):
    """A table with roles; everybody's number is published too, as what outsiders know."""
    rows = pa.table({**columns, "disease": list(values), "pid": list(range(len(values)))})
    schema = fk.Schema(
        quasi_identifiers=list(columns),
        sensitive="disease",
        other=["pid"],
        hierarchies=hierarchies or {},
    )
    return fk.Microdata(rows, schema)


def release_of(values, groups, **columns):
    """People in groups, as a release of which the method is not known."""
    rows = pa.table({**columns, "disease": list(values), "gid": groups})
    return fk.Release.from_groups(rows, group="gid", sensitive="disease")


def policy_for(policy, found):
    """The same requirements, for a table whose numbers are written exactly: it is tiny.

    What is published beside is for the enumeration, and known to nobody.
    """
    exact = {a.name: "exact" for a in found.attributes if a.order == "ordered" and not a.ancestors}
    options = replace(policy.options, labels={**exact, **policy.options.labels})
    blind = [replace(required, knowing=[]) for required in policy.requirements]
    return fk.Policy(blind, schema=found.schema, options=options)


def in_buckets(requirements, found):
    """The same, of which only groups are published."""
    return fk.Policy(requirements, schema=found.schema, options=BUCKETS)


def together(groups):
    """Who is with whom, whatever the groups are called."""
    people = {}
    for person, group in enumerate(groups):
        people.setdefault(group, []).append(person)
    return frozenset(frozenset(person) for person in people.values())


def random_table(random, people, kinds, n_values, hierarchies=None):
    """Some people with numbers as quasi-identifiers."""
    columns = {name: random.integers(0, kind, people).tolist() for name, kind in kinds.items()}
    values = ["abcdef"[code] for code in random.integers(0, n_values, people)]
    return values, columns, microdata(values, hierarchies, **columns)


def agrees(found, values, expected, n_worlds, n_possible):
    """Whether an exact attack says just what enumeration says."""
    assert found.exact
    assert (found.n_worlds, found.looked, found.consistent) == (n_worlds, n_worlds, n_possible)
    for person in range(len(values)):
        for value in set(values):
            posterior = found.posterior(person + 1, value)
            assert posterior == expected.get((person, value), 0), (person, value)
            assert isinstance(posterior, Fraction)


def naive(functions, limit=Fraction(1, 2)):
    """A user's pipeline: the first of several groupings in which no value has too large a share.

    Functions are texts such as "AB|CD"; people are called A, B, ... in the order of rows.
    """
    groupings = [f.split("|") for f in functions]

    def pipeline(rows):
        values = rows["disease"].to_pylist()
        for groups in groupings:
            bags = [[values[ord(p) - 65] for p in group] for group in groups]
            if all(Fraction(max(map(b.count, b)), len(b)) <= limit for b in bags):
                place = {p: i for i, group in enumerate(groups) for p in group}
                return [place[chr(65 + i)] for i in range(len(values))]
        return None

    return pipeline


def plainly(method, policy, columns, hierarchies=None):
    """What a method publishes of a world, made of a table that is read afresh."""

    def algorithm(world):
        try:
            groups = method.partition(microdata(list(world), hierarchies, **columns), policy)
        except fk.NoSafeRelease:
            return None
        return together(np.asarray(groups).tolist())

    return algorithm


def enumerated(algorithm, values):
    """What enumeration says of the release that an algorithm makes of a table."""
    release = algorithm(tuple(values))
    sorted_groups = sorted(map(sorted, release))
    groups = [[p in g for g in sorted_groups].index(True) for p in range(len(values))]
    return posteriors(values, groups, algorithm, release)


class Coin:
    """Any of the groupings that are safe, each as likely."""

    def __init__(self, functions):
        self.groupings = [
            np.array([[p in g for g in f.split("|")].index(True) for p in "ABCDEF"])
            for f in functions
        ]

    def safe(self, codes):
        return [
            groups
            for groups in self.groupings
            if all(len(set(codes[groups == g])) > 1 for g in set(groups.tolist()))
        ]

    def partition(self, found, policy=None, seed=None):
        safe = self.safe(np.asarray(found.sensitive_codes))
        if not safe:
            raise fk.NoSafeRelease("no grouping has two values in each group")
        return safe[np.random.default_rng(seed).integers(len(safe))]


# ---- exact attacks, part by part too, say what plain enumeration says, and what is proved ------


def as_function(pipeline):
    """A user's pipeline as the oracle runs it."""

    def algorithm(world):
        groups = pipeline(pa.table({"disease": list(world)}))
        return None if groups is None else together(groups)

    return algorithm


def seeds(nightly, daily):
    return pytest.mark.parametrize("seed", range(nightly if NIGHTLY else daily))


CHOICES = {
    6: [["AB|CD|EF", "ABC|DEF", "ABCD|EF"], ["ABC|DEF", "AB|CDEF", "ABCDEF"]],
    5: [["AB|CDE", "ABC|DE", "ABCDE"], ["BCD|AE", "ACD|BE", "ABCDE"]],
}


@seeds(60, 4)
def test_functions(seed):
    """The first safe of several groupings; and what depends on the order of rows."""
    random = np.random.default_rng(seed)
    people = int(random.integers(5, 7))
    first_safe = naive(CHOICES[people][seed % 2], Fraction(["1/2", "2/3"][seed // 2 % 2]))

    def in_order(rows):
        values = rows["disease"].to_pylist()
        return ["x" if value == values[0] else i % 2 for i, value in enumerate(values)]

    for pipeline in (first_safe, in_order):
        values, _, found = random_table(random, people, {"age": 4}, int(random.integers(2, 5)))
        algorithm = as_function(pipeline)
        if algorithm(tuple(values)) is None:
            with pytest.raises(fk.NoSafeRelease):
                fk.attack(found, pipeline)
            continue
        agrees(fk.attack(found, pipeline), values, *enumerated(algorithm, values))


TWO = {"age": 4, "sex": 2}
METHODS = [
    (fk.Mondrian(), {"age": 4}, {}),
    (fk.FullDomain(), TWO, LEVELS),
    (fk.FullDomain(find="minimal"), TWO, LEVELS),
    (fk.FullDomain(find="chain"), TWO, LEVELS),
    (fk.FullDomain(suppression=0.4), TWO, LEVELS),
    (fk.FullDomain(find="minimal", suppression=0.4, objective="height"), TWO, LEVELS),
    (fk.Mondrian(suppression=0.4), TWO, LEVELS),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("method", "kinds", "levels"), METHODS)
@seeds(8, 2)
def test_methods(method, kinds, levels, seed):
    """Also by a release alone: published groups, quasi-identifiers and bags are enough."""
    random = np.random.default_rng(seed)
    while True:
        values, columns, found = random_table(random, 5, kinds, 3, levels)
        policy = in_buckets((BELOW_2_3 if seed % 2 else DIVERSE).requirements, found)
        algorithm = plainly(method, policy, columns, levels)
        if len(set(values)) > 1 and algorithm(tuple(values)) is not None:
            break
    expected = enumerated(algorithm, values)
    fast = fk.attack(found, method, policy)
    agrees(fast, values, *expected)
    agrees(fk.attack(found, method, policy, symmetric=False), values, *expected)
    assert fast.runs <= expected[1]
    if not fast.left_out:
        publication, adversary = (
            fk.publish(found, policy, method=method),
            fk.Algorithm(method, policy),
        )
        for value, disclosure in adversary.disclosures(publication.release).items():
            assert disclosure.exact == max(p for (_, v), p in expected[0].items() if v == value)
        top = adversary.disclosure(publication.release)
        assert (top.exact, top.estimated) == (max(expected[0].values()), False)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("suppression", [0, 0.3])
@pytest.mark.parametrize("kind", [fk.Mondrian, fk.FullDomain])
@seeds(3, 1)
def test_labels_as_published(kind, suppression, seed):
    """The oracle publishes every world, and reads who stands in which row of the release."""
    random, method = np.random.default_rng(100 + seed), kind(suppression=suppression)
    release = None
    while release is None:
        values, columns, found = random_table(random, 5, {"age": 6}, 2, LEVELS)
        policy = policy_for(DIVERSE, found)

        def algorithm(world, columns=columns, policy=policy):
            try:
                publication = fk.publish(
                    microdata(list(world), LEVELS, **columns), policy, method=method
                )
            except fk.NoSafeRelease:
                return None
            rows = publication.tables["release"].to_pylist()
            return frozenset((row["age"], row["pid"]) for row in rows)

        release = algorithm(tuple(values))
    labels = {person: label for label, person in release}
    expected = posteriors(values, [labels[p] for p in range(5)], algorithm, release)
    agrees(fk.attack(found, method, policy), values, *expected)


@seeds(10, 2)
def test_random_methods_by_seeds(seed):
    random, method = np.random.default_rng(seed), Coin(["AB|CD|EF", "ABC|DEF"])

    def algorithm(world):
        found, chances = microdata(list(world), age=[0] * 6), Counter()
        for own in range(4):
            try:
                release = together(method.partition(found, seed=own).tolist())
            except fk.NoSafeRelease:
                continue
            chances[release] += Fraction(1, 4)
        return dict(chances)

    values = []
    while not method.safe(np.array(values or ["a"] * 6)):
        values, _, found = random_table(random, 6, {"age": 4}, 3)
    groups = method.partition(found, seed=0).tolist()
    expected = posteriors(values, groups, algorithm, together(groups))
    agrees(fk.attack(found, method, seeds=range(4)), values, *expected)


# ---- what is proved ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [*(fk.Streamliner(2, v) for v in ("rda", "ria", "gsa")), fk.Anatomy(2), fk.Decoy()],
    ids=repr,
)
def test_proof_settles_any_size(method):
    """Of a table too large to say how probable its groups are; what is never made is refused."""
    people = 3_000 if method != fk.Streamliner(2, "ria") else 300
    ages, values = [i % 61 for i in range(people)], list("aabbcd") * (people // 6)
    found = microdata(values, age=ages)
    policy = in_buckets([fk.Requirement(fk.Facts(), below="2/3", knowing=[])], found)
    groups = method.partition(found, policy, seed=1)
    attack_result = fk.attack(found, method, policy, groups=groups)
    by_bound = isinstance(method, fk.Decoy)
    assert (attack_result.looked, attack_result.found, attack_result.undecided) == (0, False, False)
    assert (attack_result.how, attack_result.cases, attack_result.unsettled) == (
        "bound" if by_bound else "proof",
        (),
        (),
    )
    # A release says the same to who has no table: at most the limit, or the frequency.
    release = release_of(values, groups, age=ages)
    disclosure = fk.Algorithm(method, policy).disclosure(release, "a")
    assert not disclosure.estimated
    if by_bound:
        assert (disclosure.probability, disclosure.bounded) == (float(Fraction(2, 3)), True)
    else:
        assert "same" in attack_result.proof
        assert f"The proof: {attack_result.proof}." in attack_result._repr_html_()
        assert attack_result.to_dict()["proof"] == attack_result.proof
        assert disclosure.exact == fk.Facts().disclosure(release, "a").exact
        mine = [v for v, g in zip(values, groups.tolist(), strict=True) if g == groups[0]]
        for value in "abcd":
            posterior = attack_result.posterior(1, value)
            assert isinstance(posterior, Fraction)
            assert posterior == Fraction(mine.count(value), len(mine))
    alone = np.where(np.asarray(found.sensitive_codes) == 0, groups.max() + 1, groups)
    with pytest.raises(fk.InputError, match="does not make these groups"):
        fk.attack(found, method, policy, groups=np.unique(alone, return_inverse=True)[1])


# ---- groups of one label are one group to a reader, also of drawn groups -------------------------


def rda(values, l, lots):  # noqa: E741
    codes = np.array(["abcdef".index(v) for v in values])
    sizes = np.bincount(codes)
    return groups_of_plan(plan_rda(sizes, l), codes, sizes, lots).tolist()


def anatomy(values, l, lots):  # noqa: E741
    """Shuffle the people of each value; whoever is left joins any group that lacks it."""
    codes = np.array(["abcdef".index(v) for v in values])
    sizes = np.bincount(codes)
    rounds, n_groups = rounds_of(sizes, l), len(codes) // l
    groups, start = [None] * len(codes), 0
    for code, many in enumerate(sizes.tolist()):
        people = lots.permutation(np.flatnonzero(codes == code))
        own = rounds[start : start + many].tolist()
        for person, number in zip(people.tolist(), own, strict=True):
            if number < 0:
                free = [g for g in range(n_groups) if g not in own]
                number = free[lots.integers(len(free))]
            groups[person] = number
        start += many
    return groups


def published(groups, places, world):
    """Who stands under which range of ages, and the bag of each range."""
    ages, bags = defaultdict(list), defaultdict(list)
    for group, age in zip(groups, places, strict=True):
        ages[group].append(age)
    boxes = tuple((min(ages[g]), max(ages[g])) for g in groups)
    for box, value in zip(boxes, world, strict=True):
        bags[box].append(value)
    return boxes, tuple(sorted((box, tuple(sorted(bag))) for box, bag in bags.items()))


@cache
def releases(bag, places, l, method):  # noqa: E741
    """release -> {table: how probable the release is}, by all lots of all tables."""
    by_key = defaultdict(Counter)
    for world in tables(bag):
        for groups, chance in outcomes(lambda lots, w=world: method(w, l, lots)):
            by_key[published(groups, places, world)][world] += chance
    return by_key


def said_and_shares(release, weights):
    """Of each person and value of the own range, the posterior and the frequency."""
    boxes, bags = release
    for person, box in enumerate(boxes):
        own = dict(bags)[box]
        for value in sorted(set(own)):
            text = sum(w for t, w in weights.items() if t[person] == value) / sum(weights.values())
            yield person, value, text, Fraction(own.count(value), len(own))


@pytest.mark.parametrize(
    ("method", "oracle", "bag", "places"),
    [
        (fk.Streamliner(2), rda, "aabbc", (1, 1, 2, 2, 2)),
        (fk.Streamliner(2), rda, "aabc", (1, 1, 2, 2)),
        (fk.Streamliner(2), rda, "aabbc", (1, 1, 1, 1, 2)),
        (fk.Anatomy(2), anatomy, "aabbc", (1, 1, 2, 2, 2)),
        (fk.Anatomy(2), anatomy, "aabc", (1, 2, 1, 2)),
    ],
)
def test_merged_groups_keep_the_proof(method, oracle, bag, places):
    """Of several releases, what is proved against all lots: just that, or a bound no less."""
    every, met, seen = releases(bag, places, 2, oracle), set(), []
    for world, seed in product(tables(bag), range(3)):
        table = microdata(list(world), age=list(places))
        exact = fk.PublishOptions(form="generalized", labels={"age": "exact"})
        policy = fk.Policy(DIVERSE.requirements, table.schema, exact)
        key = published(method.partition(table, seed=seed).tolist(), places, world)
        if key in met or len(met) >= 8:
            continue
        met.add(key)
        attack_result = fk.attack(table, method, policy, seed=seed)
        for person, value, said, share in said_and_shares(key, every[key]):
            if attack_result.exact:
                assert attack_result.posterior(person + 1, value) == said
            else:
                beliefs = attack_result._posteriors
                at = beliefs.worlds.cell_of[person], table.values.codes[value]
                assert beliefs.low[at] <= said <= beliefs.high[at]
            seen.append((said, share))
            assert said <= Fraction(1, 2)
        assert attack_result.how in ("proof", "bound")
    if (bag, places) == ("aabbc", (1, 1, 2, 2, 2)):
        # Groups of two and of three tell more than frequencies where they look alike: people who
        # are older are sooner in the larger one.
        assert {(Fraction(5, 12), Fraction(2, 5)), (Fraction(2, 9), Fraction(1, 5))} <= set(seen)


def large(method, below, form="generalized", n=160):
    """An attack on people of few ages, so that many groups look alike."""
    table = microdata(list("abcdefgh") * (n // 8), age=[i % 3 for i in range(n)])
    requirements = [fk.Requirement(fk.Facts(), below=below, knowing=[])]
    policy = fk.Policy(requirements, table.schema, fk.PublishOptions(form=form))
    return fk.attack(table, method, policy, seed=1)


@pytest.mark.parametrize("variant", ["gsa", "ria"])
def test_a_limit_below_the_bound(variant):
    """It is not called kept: groups that look alike hold an eighth of each; the proof says 1/2."""
    result = large(fk.Streamliner(2, variant), "1/3")
    assert (result.how, result.exact, result.highest) == ("bound", False, Fraction(1, 2))
    assert len(result.unsettled) > 140
    assert not result.found
    assert "a limit is below the bound" in result._repr_html_()
    assert "no higher than 1/2" in result._repr_html_()
    assert result.to_dict()["highest"] == "1/2"
    with pytest.raises(fk.InputError, match="exceeds 1/2"):
        result.posterior(1, "a")
    result = large(fk.Streamliner(2, variant), "2/3")
    assert (result.how, result.unsettled, result.cases) == ("bound", (), ())
    assert repr(result) == "Attack(Streamliner: no posterior above 1/2)"
    assert "By a proof, no posterior exceeds 1/2" in result._repr_html_()


class Dealt:
    """Only frequencies are told, and there is no bound."""

    traits = fk.Traits(proof=FREQUENCIES_ONLY)

    def __repr__(self):
        return "Dealt"

    def partition(self, found, policy=None, seed=None):
        return np.arange(found.n_rows) % (found.n_rows // 2)


@pytest.mark.parametrize(
    ("method", "below", "form", "how"),
    [
        (fk.Streamliner(2, "gsa"), "1/3", "bucketized", "proof"),
        (fk.Streamliner(2), "1/3", "generalized", "proof"),
        (fk.Anatomy(4), "1/3", "generalized", "proof"),
        (fk.Anatomy(3), "1/4", "generalized", "bound"),  # 160 is no multiple of 3
        (fk.Streamliner(3), "1/4", "generalized", "bound"),
        (Dealt(), "2/3", "bucketized", "proof"),
    ],
    ids=str,
)
def test_where_the_proof_holds(method, below, form, how):
    """Where groups are told apart, or are equally large."""
    result = large(method, below, form)
    assert result.how == how
    assert bool(result.unsettled) == (how == "bound")
    with pytest.raises(fk.InputError, match="bucketized form"):
        large(Dealt(), "2/3", n=64)


# ---- attacks part by part, and what replays foresee, say what enumeration and runs say -----------


def required(adversary, limit, **about):
    return fk.Requirement(adversary, below=limit, knowing=[], **about)


REQUIREMENTS = [
    DIVERSE.requirements,
    BELOW_2_3.requirements,
    [required(fk.Facts(l=1), "3/4")],
    [required(fk.Facts(k=1), "9/10")],
    [required(fk.Facts(l=1, m=1), "9/10", values=["a"])],
    [required(fk.Facts(), "4/5"), fk.Requirement(fk.GroupSize(3), knowing=[])],
    [required(fk.Facts(l=1), 1), required(fk.Facts(m=1), "3/4")],
]
WITH_IMPLICATIONS = [*REQUIREMENTS, [required(fk.Implications(1), "9/10")]]


def is_within(found, expected, values):
    """Exact where it says so, intervals that hold, and nobody wrongly proved not to be certain."""
    beliefs, of_worlds = found._posteriors, expected[0]
    for person in range(len(values)):
        cell = beliefs.worlds.cell_of[person]
        own = {value: of_worlds.get((person, value), 0) for value in sorted(set(values))}
        if 1 in own.values() and len(own) > 1 and not beliefs.known[cell]:
            alone = beliefs.worlds.shares[cell].max() == 1
            assert alone or person + 1 in found.perhaps_certain
        for value, chance in own.items():
            code = found._microdata.values.codes[value]
            exact = beliefs.posterior(cell, code)
            assert exact is None or exact == chance, (person, value)
            assert beliefs.low[cell, code] - 1e-9 <= chance <= beliefs.high[cell, code] + 1e-9
    assert found.n_worlds == expected[1]
    if found.how == "parts" and found.exact:
        assert found.consistent == expected[2]
    assert set(found.certain) <= {p + 1 for (p, _), chance in of_worlds.items() if chance == 1}


def compare(random, method, kinds, levels, requirements, people, amounts):
    """Below all worlds of the release, so that it is not enumerated as a whole; how it went."""
    while True:
        values, columns, table = random_table(random, people, kinds, 3, levels)
        policy = in_buckets(requirements, table)
        groups = groups_of(method, table, policy)
        if groups is not None:
            break
    run, groups = plainly(method, policy, columns, levels), groups.tolist()
    expected, hows = posteriors(values, groups, run, together(groups)), set()
    for amount in amounts:
        attack_result = fk.attack(table, method, policy, worlds=amount, seed=1)
        is_within(attack_result, expected, values)
        hows.add(attack_result.how)
    return hows


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize("seed", range(200 if NIGHTLY else len(WITH_IMPLICATIONS)))
def test_parts_of_mondrian(seed):
    random = np.random.default_rng(seed)
    kinds = {"age": 6, "zip": 4} if seed % 3 else {"age": 8}
    method = fk.Mondrian(cuts=int(random.choice([1, 2, 5])))
    people = int(random.integers(6, 9)) if NIGHTLY else 6
    for _ in range(3 if NIGHTLY else 1):
        requirements = WITH_IMPLICATIONS[seed % len(WITH_IMPLICATIONS)]
        amounts = (60, 12, 2) if NIGHTLY else [(60, 2)[seed % 2]]
        compare(random, method, kinds, {}, requirements, people, amounts)


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize("seed", range(200 if NIGHTLY else 2))
def test_parts_of_fulldomain(seed):
    """The search is run on every world, and compared with what the nodes that came before tell."""
    random = np.random.default_rng(seed)
    kinds = {"age": 6, "zip": 4} if seed % 3 else {"age": 8}
    levels = {"age": fk.Intervals([2, 4]), **({"zip": fk.Intervals([2])} if seed % 3 else {})}
    method = fk.FullDomain(["ncp", "height"][seed % 2], find=["best", "minimal"][seed % 3 % 2])
    people = int(random.integers(6, 9)) if NIGHTLY else 6
    requirements = REQUIREMENTS[seed % len(REQUIREMENTS)]
    compare(random, method, kinds, levels, requirements, people, (10_000, 40, 3))


# ---- larger worlds, near the true one: a run makes the same groups or not ------------------------


def groups_of(method, table, policy):
    """What a method makes of a table, unless it makes nothing or refuses the policy."""
    try:
        return method.partition(table, policy)
    except (fk.NoSafeRelease, fk.InputError):
        return None


# ---- Mondrian replayed --------------------------------------------------------------------------


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize("seed", range(400 if NIGHTLY else 12))
def test_replays_say_what_runs_make(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 13))
    columns = {"age": random.integers(0, 6, n), "sex": [str(s) for s in random.integers(0, 3, n)]}
    values = random.choice([*"aabbcd"], n).tolist()
    table = microdata(values, LEVELS if seed % 2 else {}, **columns)
    policy = fk.Policy(WITH_IMPLICATIONS[seed % len(WITH_IMPLICATIONS)])
    method = fk.Mondrian(cuts=int(random.choice([1, 2, 5])))
    result = groups_of(method, table, policy)
    if result is None:
        return
    groups = numbered(result)
    foreseen = Replay.of(method, table, policy)
    assert np.array_equal(numbered(foreseen.groups), groups)
    codes = np.asarray(table.sensitive_codes)
    assert foreseen.same(codes) is not False
    worlds = Worlds.of(groups, codes, len(table.values))
    for own in (worlds.at_random(random) for _ in range(6)):
        text = foreseen.same(own)
        result = numbered(method.partition(table.with_sensitive(own), policy))
        assert text is None or text == np.array_equal(result, groups)


# Ten people each. Of two groups the first lowers what a fact about the value s may cost, the second
# what a relative may cost; either may stand beside the others, not both.
FACT, RELATIVE = ["s", *"bbbbbbbb", "c"], [*"ssss", *"cdefgh"]
NO_FACT, OTHERS = ["s", *"bbbbbbbbb"], [*"ijklmnopqr"]
CROSSED = fk.Policy([required(fk.Facts(l=1, m=1), "3/5", values=["s"])])


@pytest.mark.usefixtures("tiny_tables")
@pytest.mark.parametrize("before", [True, False])
def test_refusals_by_others_need_run(before):
    """Ages 0 and 1, and 10 and 11: first the two pairs are divided, then each pair in order."""
    ages = [age for age in (0, 1, 10, 11) for _ in range(10)]
    tens = (RELATIVE, OTHERS, FACT, OTHERS) if before else (NO_FACT, OTHERS, RELATIVE, OTHERS)
    table = microdata([value for ten in tens for value in ten], age=ages)
    foreseen = Replay.of(fk.Mondrian(), table, CROSSED)
    sizes = np.bincount(numbered(fk.Mondrian().partition(table, CROSSED))).tolist()
    codes = np.asarray(table.sensitive_codes)
    if before:
        assert (sizes, foreseen.same(codes)) == ([10, 10, 20], None)
        return
    assert sizes == [20, 10, 10]
    assert foreseen.same(codes)
    other = codes.copy()
    other[[1, 10]] = other[[10, 1]]  # as FACT: divided at once, since nobody was before
    assert foreseen.same(other) is None
    result = numbered(fk.Mondrian().partition(table.with_sensitive(other), CROSSED))
    assert np.bincount(result).tolist() == [10, 10, 20]
