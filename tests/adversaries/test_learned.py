"""What can be learned from a release itself, against enumeration; and what must not be learned."""

import itertools
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle import learned_worlds, posterior_worlds

import foreknow as fk

TIMES = 5 if NIGHTLY else 1


def release_of(groups, **columns):
    """A release of groups, each a pair of kinds and values."""
    rows = [
        (g, k, v) for g, (kinds, bag) in enumerate(groups) for k, v in zip(kinds, bag, strict=True)
    ]
    table = {name: [row[i] for row in rows] for i, name in enumerate(("group", "kind", "value"))}
    return fk.Release.from_groups(pa.table({**table, **columns}), group="group", sensitive="value")


def random_groups(random, n_groups, most=4, kinds="xyz", values="abc"):
    made = []
    for _ in range(n_groups):
        size = random.randint(1, most)
        made.append(([random.choice(kinds) for _ in range(size)], random.choices(values, k=size)))
    return made


def chances_of(priors, groups):
    """What was learned, as the oracle has it."""
    (table,) = priors.tables
    values = sorted({v for _, bag in groups for v in bag})
    kinds = sorted({k for own, _ in groups for k in own})
    return {(k, v): table.prior((k,), v) for k in kinds for v in values}


# ---- the expectation --------------------------------------------------------------------------


def test_posteriors_and_weights_of_groups_equal_enumeration():
    from foreknow.adversaries.learned.expectation import Layout
    from foreknow.adversaries.learned.fit import Kinds

    random = Random(1)
    for _ in range(150 * TIMES):
        groups = random_groups(random, random.randint(1, 4), most=5)
        release = release_of(groups)
        counts, signatures = release.counts, release.signatures(["kind"])
        kinds = Kinds.of(signatures)
        bags = counts.offsets, counts.codes, counts.counts
        layout = Layout.of(kinds.groups(signatures, *bags))
        logs = []
        for _ in range(2):
            table = {
                (k[0], v): Fraction(random.randint(1, 9), random.choice([10, 10**6]))
                for k in kinds.labels
                for v in counts.values
            }
            chances = np.array(
                [
                    float(table[kinds.labels[s][0], counts.values[v]])
                    for s, v in zip(layout.signature, layout.value, strict=True)
                ]
            )
            found = layout.expected(chances)
            weights = []
            for case in range(layout.cases.n_groups):
                g = int(np.argmax(layout.case_of == case))
                own, bag = groups[counts.group_label(g)]
                people = [{v: table[k, v] for v in counts.values} for k in own]
                right = posterior_worlds.joint(people, bag)
                for cell in np.flatnonzero(layout.case == case):
                    kind = kinds.labels[layout.signature[cell]][0]
                    value = counts.values[int(layout.value[cell])]
                    expected = float(right[own.index(kind)].get(value, 0))
                    assert abs(found.posteriors[cell] - expected) < 1e-9
                weights.append(float(learned_worlds.likelihood([(own, bag)], table)))
            logs.append(found.weights - np.log(weights))
        # A constant of each group aside, which no chance changes.
        assert np.abs(logs[0] - logs[1]).max() < 1e-9


def test_groups_out_of_reach_are_balanced_and_near_to_exact():
    random = Random(2)
    groups = [
        ([random.choice("uvwxyz") for _ in range(60)], random.choices("abcdefgh", k=60))
        for _ in range(3)
    ]
    release = release_of(groups)
    rows = [
        {"kind": k, "value": v, "probability": random.randint(1, 9) / 100}
        for k in "uvwxyz"
        for v in "abcdefgh"
    ]
    priors = fk.Priors(pa.Table.from_pylist(rows))
    learning = fk.Learned(["kind"], given=priors).learning(release)
    assert learning.balanced
    layout = learning.layout
    for case in range(layout.cases.n_groups):
        cells = np.flatnonzero(layout.case == case)
        people = layout.people[cells] * learning.posteriors[cells]
        held = np.bincount(layout.value[cells], people)
        bag = release.counts.bag(int(np.argmax(layout.case_of == case)))
        assert [round(x, 5) for x in held] == [bag.get(v, 0) for v in release.counts.values]
    # The same odds ratios by chances that groups in reach have: far fewer people, so less near.
    small = release_of([(own[:14], bag[:14]) for own, bag in groups])
    layout = fk.Learned(["kind"], given=priors).learning(small).layout
    assert not layout.balanced.any()
    chances = fk.Learned(["kind"], given=priors).learning(small).statistics
    exact = layout.expected(chances).posteriors.copy()
    from dataclasses import replace

    far = replace(layout, seconds=(0.0, 0.0))
    assert far.balanced.all()
    assert np.abs(far.expected(chances).posteriors - exact).max() < 0.05


def test_given_what_is_true_it_is_priors():
    random = Random(3)
    for _ in range(60 * TIMES):
        groups = random_groups(random, 4, most=5)
        release = release_of(groups)
        rows = [
            {"kind": k, "value": v, "probability": random.choice(["0", "1/7", "0.2", "1/3"])}
            for k in "xyz"
            for v in "abc"
        ]
        priors = fk.Priors(pa.Table.from_pylist(rows))
        try:
            right = priors.disclosures(release)
        except fk.InputError:
            continue
        found = fk.Learned(["kind"], given=priors).disclosures(release)
        for value, disclosure in right.items():
            assert abs(found[value].probability - disclosure.probability) < 1e-9
            assert found[value].estimated


# ---- the maximum ------------------------------------------------------------------------------


def test_nothing_is_likelier_than_what_is_learned():
    """On tiny tables, against every point of a grid, by enumeration."""
    random = Random(4)
    steps = [Fraction(i, 24) for i in range(1, 24)]
    for _ in range(8 * TIMES):
        groups = random_groups(random, 6, most=3, kinds="xy", values="ab")
        if {k for own, _ in groups for k in own} != {"x", "y"}:
            continue
        if {v for _, bag in groups for v in bag} != {"a", "b"}:
            continue
        release = release_of(groups)
        learned = fk.Priors.from_release(release, ["kind"], smoothing=0, starts=9)
        top = learned.fit.maxima[0]
        assert top.steps
        best = 0
        for p, q in itertools.product(steps, steps):
            table = {("x", "a"): p, ("x", "b"): 1 - p, ("y", "a"): q, ("y", "b"): 1 - q}
            best = max(best, learned_worlds.likelihood(groups, table))
        if learned.fit.apart < 0.02:  # one maximum, not the mean of several
            found = learned_worlds.likelihood(groups, chances_of(learned, groups))
            assert float(found) >= float(best) * (1 - 1e-6)


def test_what_is_learned_is_where_steps_end():
    random = Random(5)
    for _ in range(10 * TIMES):
        groups = random_groups(random, 12)
        release = release_of(groups)
        smoothing = random.choice([1, 3])
        learned = fk.Priors.from_release(release, ["kind"], smoothing=smoothing)
        if learned.fit.apart > 1e-6 or not learned.fit.converged:
            continue
        chances = chances_of(learned, groups)
        rounded = {cell: Fraction(round(x * 10**9), 10**9) for cell, x in chances.items()}
        after = learned_worlds.step(groups, rounded, smoothing)
        assert max(abs(float(after[cell] - chances[cell])) for cell in chances) < 1e-5


def test_no_step_makes_it_less_likely():
    from foreknow.adversaries.learned.expectation import Layout
    from foreknow.adversaries.learned.fit import Kinds, _Climb

    random = Random(6)
    for _ in range(20 * TIMES):
        release = release_of(random_groups(random, 15, most=5))
        counts, signatures = release.counts, release.signatures(["kind"])
        kinds = Kinds.of(signatures)
        groups = kinds.groups(signatures, counts.offsets, counts.codes, counts.counts)
        climb = _Climb(Layout.of(groups), kinds, counts.n_values, random.choice([0.0, 2.5]))
        drift = np.random.default_rng(random.randint(0, 99)).random(climb.shape) + 0.05
        chances, before = drift / drift.sum(axis=1, keepdims=True), -np.inf
        for _ in range(12):
            chances, _, height = climb.step(chances)
            assert height >= before - 1e-9
            before = height


def test_what_others_teach_leaves_ones_own_group_out():
    random = Random(7)
    for _ in range(10 * TIMES):
        groups = random_groups(random, 8)
        release = release_of(groups)
        learning = fk.Learned(["kind"], smoothing=2).learning(release)
        fit, layout, values = learning.fit, learning.layout, release.counts.values
        chances = {
            (k[0], v): Fraction(float(fit.chances[s, x])).limit_denominator(10**9)
            for s, k in enumerate(learning.kinds.labels)
            for x, v in enumerate(values)
        }
        if fit.apart > 1e-6 or not fit.converged:
            continue
        for cell in range(len(layout.case)):
            at = release.counts.group_label(int(np.argmax(layout.case_of == layout.case[cell])))
            right = learned_worlds.without_own(groups, chances, 2, at)
            kind = learning.kinds.labels[layout.signature[cell]][0]
            expected = float(right[kind, values[int(layout.value[cell])]])
            assert abs(learning.statistics[cell] - expected) < 1e-4


# ---- what must not be learned -----------------------------------------------------------------


def made_up(share, seed=1, people=3000, jobs=6):
    """People whose disease goes with their job so often, in groups of three by RDA."""
    random = np.random.default_rng(seed)
    job = random.integers(0, jobs, people)
    own = random.random(people) < share
    disease = np.where(own, job, (job + random.integers(1, jobs, people)) % jobs)
    table = {
        "job": [f"job {j}" for j in job],
        "age": random.integers(18, 80, people),
        "disease": [f"disease {d}" for d in disease],
    }
    schema = fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease")
    return fk.Microdata(pa.table(table), schema)


def bucketized(microdata, seed=3):
    group = fk.Streamliner(3, "rda").partition(microdata, seed=seed)
    table = microdata.source.arrow(["job", "age", "disease"])
    return table.append_column("group", pa.array(group))


def as_release(table):
    return fk.Release.from_groups(table, group="group", sensitive="disease")


def test_who_has_which_value_is_not_looked_at():
    table = bucketized(made_up(0.5, people=450))
    shuffled = {name: table.column(name).to_pylist() for name in table.column_names}
    random, rows = Random(8), {}
    for row, group in enumerate(shuffled["group"]):
        rows.setdefault(group, []).append(row)
    for own in rows.values():
        values = [shuffled["disease"][row] for row in own]
        random.shuffle(values)
        for row, value in zip(own, values, strict=True):
            shuffled["disease"][row] = value
    one, other = as_release(table), as_release(pa.table(shuffled))
    for by in (["job"], ["age"]):
        first, second = (fk.Priors.from_release(r, by).tables[0] for r in (one, other))
        assert first == second
        adversary = fk.Learned(by)
        assert adversary.guesses(one) == adversary.guesses(other)
        worst = [adversary.disclosure(release) for release in (one, other)]
        assert worst[0].to_dict() == worst[1].to_dict()


def test_the_figures_of_the_paper_that_no_random_world_shows():
    strong, weak, nothing = (as_release(bucketized(made_up(s))) for s in (0.7, 0.25, 1 / 6))
    by = fk.Learned(["job"])
    for release in (strong, weak, nothing):
        worst = fk.Facts().disclosures(release).values()
        assert max(d.exact for d in worst) == Fraction(1, 3)
    assert by.disclosure(strong).probability > 0.95
    expected, measured = by.guesses(strong), by.guesses(strong, measured=True)
    assert measured.learned / 3000 == pytest.approx(0.82, abs=0.02)
    assert measured.statistics / 3000 == pytest.approx(0.7, abs=0.02)
    assert measured.groups == expected.groups == 1000
    assert expected.learned == pytest.approx(measured.learned, rel=0.03)
    assert 0.45 < by.disclosure(weak).probability < 0.7
    assert by.guesses(weak, measured=True).learned / 3000 == pytest.approx(0.4, abs=0.03)


def test_where_a_job_tells_nothing_nothing_is_learned():
    for seed in range(3):
        release = as_release(bucketized(made_up(1 / 6, seed=seed)))
        learned = fk.Priors.from_release(release, ["job"])
        (table,) = learned.tables
        everybody = release.counts.totals / release.counts.n_people
        for row in table.chances.values():
            # The sampling error of a share of the 500 people of a job.
            assert np.abs(np.array(row, dtype=float) - everybody).max() < 4 * np.sqrt(1 / 6 / 500)
        assert fk.Learned(["job"]).disclosure(release).probability < 0.5
    # What is likeliest without smoothing would pass noise for knowledge.
    raw = fk.Learned(["job"], smoothing=0).disclosure(release)
    assert raw.probability > 0.6


def test_two_kinds_that_can_be_exchanged_tell_nothing():
    """Every group has one of each kind and one of each value: either way is as likely."""
    release = release_of([("xy", "ab")] * 30)
    for smoothing in (0, 1, None):
        found = fk.Learned(["kind"], smoothing=smoothing).disclosure(release)
        assert found.probability == pytest.approx(0.5, abs=1e-3)
        priors = fk.Priors.from_release(release, ["kind"], smoothing=smoothing)
        assert priors.disclosure(release).probability == pytest.approx(0.5, abs=1e-3)
    assert fk.Priors.from_release(release, ["kind"], smoothing=1).fit.apart > 0.9


def test_a_saddle_is_left():
    """The groups' own frequencies are a saddle; one group breaks the tie."""
    release = release_of([("xy", "ab")] * 30 + [("x", "a")])
    found = fk.Learned(["kind"]).disclosure(release, "b")
    assert found.probability > 0.85
    assert found.witness.signature == {"kind": "y"}


def test_people_who_are_all_different_teach_nothing():
    random = Random(9)
    groups = [([f"{g}-{i}" for i in range(3)], random.sample("abcdef", 3)) for g in range(40)]
    release = release_of(groups)
    assert fk.Learned(["kind"]).disclosure(release).probability == pytest.approx(1 / 3)
    assert fk.Learned(["kind"], smoothing=1).disclosure(release).probability == pytest.approx(
        1 / 3, abs=1e-6
    )
    learned = fk.Priors.from_release(release, ["kind"])
    assert learned.disclosure(release).probability == pytest.approx(1 / 3, abs=1e-2)


def test_groups_of_one_are_certain_and_teach():
    release = release_of([("x", "a")] * 20 + [("y", "b")] * 20 + [("xy", "ab")] * 5)
    found = fk.Learned(["kind"]).disclosures(release)
    assert found["a"].probability == found["b"].probability == 1
    witness = found["a"].witness
    assert (witness.size, witness.holders, witness.alone) == (1, 1, 1)
    alone = release_of([("xy", "ab")] * 5 + [("xx", "ac")])
    assert fk.Learned(["kind"]).disclosure(alone).probability <= 1


def test_a_value_that_nobody_has_cannot_be_found_out():
    release = release_of([("xy", "ab"), ("xx", "ab")])
    found = fk.Learned(["kind"]).disclosure(release, "c")
    assert (found.probability, found.witness) == (0.0, None)
    with pytest.raises(fk.InputError, match="cannot be a sensitive value"):
        fk.Learned(["kind"]).disclosure(release, ["a"])


# ---- numbers, kernels, people -------------------------------------------------------------------


def test_numbers_are_cut_into_bins_of_about_equally_many_people():
    groups = [([g, g + 40], "ab") for g in range(40)]
    release = release_of(groups)
    learning = fk.Learned(["kind"]).learning(release)
    assert learning.kinds.labels[0] == ("0 to 7",)
    assert len(learning.kinds.labels) == 10
    assert learning.fit.people.tolist() == [8] * 10
    few = fk.Learned(["kind"]).learning(release_of([([1, 2], "ab")] * 3))
    assert few.kinds.labels == [("1",), ("2",)]
    missing = fk.Learned(["kind"]).learning(release_of([([None, g], "ab") for g in range(30)]))
    assert (None,) in missing.kinds.labels
    assert missing.fit.people.sum() == 60
    # Equal numbers are one kind, whatever their share.
    same = release_of([([0, g], "ab") for g in range(1, 30)])
    kinds = fk.Learned(["kind"]).learning(same).kinds.labels
    assert kinds[0] == ("0",) or kinds[0][0].startswith("0 to")


def test_a_bandwidth_counts_neighbours_by_their_nearness():
    random = Random(10)
    groups = [([random.randint(0, 20), random.randint(0, 20)], "ab") for _ in range(60)]
    release = release_of(groups)
    learning = fk.Learned(["kind"], "1/4", smoothing=1).learning(release)
    fit, near = learning.fit, learning.kinds.near
    at = [int(label[0]) for label in learning.kinds.labels]
    span = max(at) - min(at)
    for i, j in itertools.product(range(len(at)), repeat=2):
        apart = abs(at[i] - at[j]) / span
        assert near[i, j] == pytest.approx(max(1 - (4 * apart) ** 2, 0), abs=0.1)
    # Chances are shares of weighted amounts.
    amounts = near @ fit.amounts + fit.overall
    assert np.allclose(fit.chances, amounts / amounts.sum(axis=1, keepdims=True), atol=1e-4)
    # As little bandwidth as tells nobody from their neighbours is no bandwidth.
    least = fk.Learned(["kind"], "1/100", smoothing=1).learning(release)
    assert np.array_equal(least.kinds.near, np.eye(len(at)))


def test_a_kernel_leaves_the_own_group_out_too():
    random = Random(11)
    groups = [([random.randint(0, 9) for _ in range(3)], "aab") for _ in range(25)]
    release = release_of(groups)
    learning = fk.Learned(["kind"], "1/2", smoothing=1).learning(release)
    fit, layout, near = learning.fit, learning.layout, learning.kinds.near
    posteriors = layout.expected(fit.chances[layout.signature, layout.value]).posteriors
    for cell in range(0, len(layout.case), 7):
        own = np.zeros(fit.chances.shape)
        size = np.zeros(len(own))
        for other in np.flatnonzero(layout.case == layout.case[cell]):
            kind, value = layout.signature[other], layout.value[other]
            own[kind, value] += layout.people[other] * posteriors[other]
            size[kind] = layout.people[other]
        s, v = layout.signature[cell], layout.value[cell]
        left = near[s] @ (fit.amounts - own)[:, v] + fit.overall[v]
        expected = left / (near[s] @ (fit.people - size) + 1)
        assert learning.statistics[cell] == pytest.approx(expected, abs=1e-9)


def test_people_with_exact_columns_are_found_in_their_groups():
    microdata = made_up(0.7, people=1500)
    policy = fk.Policy(
        [fk.Requirement(fk.Facts(), below="3/4")],
        fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease"),
    )
    made = fk.publish(microdata, policy, seed=1)
    table = microdata.source.arrow(["job", "age", "disease"])
    labels = fk.Priors.from_release(made.release, ["job"])
    assert max(float(d.probability) for d in labels.disclosures(made.release).values()) < 0.75
    learned = fk.Priors.from_release(made.release, ["job"], people=table)
    bare = fk.Priors.from_release(made.release, ["job"], people=table.drop(["disease"]))
    assert bare.tables == learned.tables
    own = fk.Priors.from_release(made.release, ["job"], people=microdata)
    assert own.tables == learned.tables
    for number in range(6):
        row = (f"job {number}",)
        assert float(learned.tables[0].prior(row, f"disease {number}")) > 0.4
    with pytest.raises(fk.InputError, match="has no column 'salary'"):
        fk.Priors.from_release(made.release, ["salary"], people=table)
    with pytest.raises(fk.InputError, match="give the table that the release was made from"):
        fk.Priors.from_release(made.release, ["job"], people=table.slice(1))


# ---- what is refused, and what is said ----------------------------------------------------------


def test_what_cannot_be_learned_is_refused():
    release = release_of([("xy", "ab")])
    with pytest.raises(fk.InputError, match=r'by must be a list of columns, such as \["job"\]'):
        fk.Learned("kind")
    with pytest.raises(fk.InputError, match="names a column twice"):
        fk.Learned(["kind", "kind"])
    with pytest.raises(fk.InputError, match="bandwidth must be above 0, to 1, not 2"):
        fk.Learned(["kind"], 2)
    with pytest.raises(fk.InputError, match="smoothing must be 0 or more"):
        fk.Learned(["kind"], smoothing=-1)
    with pytest.raises(fk.InputError, match="'value' is the sensitive column"):
        fk.Learned(["value"]).disclosure(release)
    with pytest.raises(fk.InputError, match="kinds"):
        fk.Learned(["kinds"]).disclosure(release)
    with pytest.raises(fk.InputError, match="give a Release with these columns"):
        fk.Learned(["kind"]).disclosure(release.counts)
    several = fk.GroupCounts.from_people([[{"a"}, {"b"}]])
    with pytest.raises(fk.InputError, match="one value per person"):
        fk.Learned(["kind"]).disclosure(several)


def test_an_estimate_says_so_and_is_reproducible():
    table = bucketized(made_up(0.5, people=900))
    one, other = (fk.Learned(["job"]).disclosure(as_release(table)) for _ in range(2))
    assert one.to_dict() == other.to_dict()
    assert one.estimated
    assert one.exact is None
    assert not one.below("0.999999")
    witness = one.witness
    assert witness.low <= one.probability <= witness.high
    assert 0 < witness.statistics < one.probability
    assert "about" in repr(one)
    assert fk.Learned(["job"]).learning(as_release(table)).fit.converged


def test_learned_priors_can_be_written_and_read(tmp_path):
    release = as_release(bucketized(made_up(0.5, people=600)))
    learned = fk.Priors.from_release(release, ["job"])
    learned.tables[0].to_csv(tmp_path / "learned.csv")
    read = fk.Priors(tmp_path / "learned.csv")
    assert read.tables[0].chances == learned.tables[0].chances
    assert read.disclosure(release).exact == learned.disclosure(release).exact


@pytest.mark.parametrize(
    "groups",
    [
        [("x", "a")],
        [("xyx", "aab")],
        [("xx", "aa"), ("y", "a")],
        [("xx", "ab"), ("xx", "bc")],
        [("xy" * 2000, "ab" * 1000 + "cd" * 1000)],
        [("xy" * 40, "abc" * 20 + "d" * 20), ("x", "d")],
    ],
    ids=["one", "group", "value", "kind", "large", "mixed"],
)
def test_what_is_degenerate_is_estimated_all_the_same(groups):
    release = release_of([(list(own), list(bag)) for own, bag in groups])
    for adversary in (fk.Learned(["kind"]), fk.Learned(["kind"], smoothing=0, starts=1)):
        found = adversary.disclosures(release)
        alone = fk.Facts().disclosures(release)
        for value, disclosure in found.items():
            assert 0 <= disclosure.probability <= 1
            assert disclosure.witness.size >= disclosure.witness.holders >= 1
            if len({kind for own, _ in groups for kind in own}) == 1:
                assert disclosure.probability == pytest.approx(alone[value].probability)
        guesses = adversary.guesses(release)
        assert guesses.people == release.counts.n_people
        assert guesses.learned >= guesses.groups - 1e-6


def test_a_missing_label_is_a_kind_of_its_own():
    release = release_of([([None, "x"], "ab")] * 20 + [([None], "a")] * 10)
    found = fk.Learned(["kind"]).disclosure(release, "a")
    assert found.witness.signature == {"kind": None}
    assert found.probability > 0.5
