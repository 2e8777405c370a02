"""What can be learned from a release itself, against enumeration; and what must not be learned."""

import itertools
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle import priors as learned_worlds
from tests.oracle import priors as posterior_worlds

import foreknow as fk
from foreknow.trials import fit as fitting
from foreknow.trials.expectation import LEARNING, CaseLayout
from foreknow.trials.fit import Kinds, fits

TIMES = 10 if NIGHTLY else 1


def release_of(groups):
    """A release of groups, each a pair of kinds and values."""
    rows = [
        (g, k, v) for g, (kinds, bag) in enumerate(groups) for k, v in zip(kinds, bag, strict=True)
    ]
    columns = zip(("group", "kind", "value"), map(list, zip(*rows, strict=True)), strict=True)
    return fk.Release.from_groups(pa.table(dict(columns)), group="group", sensitive="value")


def random_groups(random, n_groups, most=4, kinds="xyz", values="abc"):
    made = []
    for _ in range(n_groups):
        size = random.randint(1, most)
        made.append(([random.choice(kinds) for _ in range(size)], random.choices(values, k=size)))
    return made


def chances_of(fit, groups):
    """What was learned, as the oracle has it."""
    values = sorted({v for _, bag in groups for v in bag})
    return {
        (kind, value): float(fit.chances[s, x])
        for s, (kind,) in enumerate(fit.kinds.labels)
        for x, value in enumerate(values)
    }


def laid_out(release, chances=None, *smoothed):
    """The kinds and groups of a release, laid out; and chances of its cells."""
    signatures, counts = release.signatures(["kind"]), release.counts
    kinds = Kinds.of(signatures)
    groups = kinds.groups(signatures, counts.offsets, counts.codes, counts.counts)
    layout = CaseLayout.of(groups, *smoothed)
    if chances is None:
        return kinds, layout
    labels, values = kinds.labels, counts.values
    cells = zip(layout.signature.tolist(), layout.value.tolist(), strict=True)
    return kinds, layout, np.array([float(chances[labels[s][0], values[v]]) for s, v in cells])


def fit_of(release, smoothing):
    """What is learned with one smoothing."""
    kinds, layout = laid_out(release, None, LEARNING)
    (found,) = fits(layout, kinds, release.counts.n_values, [smoothing])
    return found


# ---- the expectation --------------------------------------------------------------------------


def test_posteriors_and_weights_match_enumeration():
    random = Random(1)
    for _ in range(40 * TIMES):
        groups = random_groups(random, random.randint(1, 4), most=5)
        release = release_of(groups)
        counts = release.counts
        kinds, layout = laid_out(release)
        logs = []
        for _ in range(2):
            table = {
                (k[0], v): Fraction(random.randint(1, 9), random.choice([10, 10**6]))
                for k in kinds.labels
                for v in counts.values
            }
            _, _, chances = laid_out(release, table)
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


def test_unreachable_groups_are_balanced():
    random = Random(2)
    groups = [
        ([random.choice("uvwxyz") for _ in range(60)], random.choices("abcdefgh", k=60))
        for _ in range(3)
    ]
    release = release_of(groups)
    chances = {(k, v): random.randint(1, 9) / 100 for k in "uvwxyz" for v in "abcdefgh"}
    _, layout, given = laid_out(release, chances)
    assert layout.balanced.any()
    posteriors = layout.expected(given).posteriors
    for case in range(layout.cases.n_groups):
        cells = np.flatnonzero(layout.case == case)
        people = layout.people[cells] * posteriors[cells]
        held = np.bincount(layout.value[cells], people)
        bag = release.counts.bag(int(np.argmax(layout.case_of == case)))
        assert [round(x, 5) for x in held] == [bag.get(v, 0) for v in release.counts.values]
    # Groups in reach have far fewer people, so there it is less near.
    small = release_of([(own[:14], bag[:14]) for own, bag in groups])
    _, layout, given = laid_out(small, chances)
    assert not layout.balanced.any()
    exact = layout.expected(given).posteriors.copy()
    far = replace(layout, seconds=(0.0, 0.0))
    assert far.balanced.all()
    assert np.abs(far.expected(given).posteriors - exact).max() < 0.05


# ---- the maximum ------------------------------------------------------------------------------


def test_learned_chances_are_locally_best():
    """On tiny tables, by enumeration: the end of the steps is a maximum, or a saddle."""
    random, ends = Random(4), 0
    steps = [Fraction(i, 24) for i in range(1, 24)]
    for _ in range(5 * TIMES):
        groups = random_groups(random, 6, most=3, kinds="xy", values="ab")
        if {k for own, _ in groups for k in own} != {"x", "y"}:
            continue
        if {v for _, bag in groups for v in bag} != {"a", "b"}:
            continue
        fit = fit_of(release_of(groups), 0.0)
        best = 0
        for p, q in itertools.product(steps, steps):
            table = {("x", "a"): p, ("x", "b"): 1 - p, ("y", "a"): q, ("y", "b"): 1 - q}
            best = max(best, learned_worlds.likelihood(groups, table))
        found = learned_worlds.likelihood(groups, chances_of(fit, groups))
        ends += float(found) >= float(best) * (1 - 1e-2)
    assert ends >= 2 * TIMES


def test_learning_ends_at_fixed_points():
    random = Random(5)
    for _ in range(5 * TIMES):
        groups = random_groups(random, 12)
        smoothing = random.choice([1, 4, 16])
        fit = fit_of(release_of(groups), smoothing)
        assert fit.converged
        chances = chances_of(fit, groups)
        rounded = {cell: Fraction(round(x * 10**9), 10**9) for cell, x in chances.items()}
        after = learned_worlds.step(groups, rounded, smoothing)
        assert max(abs(float(after[cell] - chances[cell])) for cell in chances) < 2e-3


def test_shrinking_steps_converge():
    end, far = np.array([[0.4, 0.6]]), np.array([[0.2, -0.2]])
    for ratio in (0.3, 0.5, 0.8):
        steps = [end + far * ratio**step for step in range(3)]
        assert fitting._extrapolated(*steps) == pytest.approx(end)


def test_own_group_is_left_out():
    random = Random(7)
    for _ in range(5 * TIMES):
        groups = random_groups(random, 8)
        release = release_of(groups)
        fit, values = fit_of(release, 4), release.counts.values
        layout = fit.layout
        chances = {
            (k[0], v): Fraction(float(fit.chances[s, x])).limit_denominator(10**9)
            for s, k in enumerate(fit.kinds.labels)
            for x, v in enumerate(values)
        }
        for cell in range(len(layout.case)):
            at = release.counts.group_label(int(np.argmax(layout.case_of == layout.case[cell])))
            right = learned_worlds.without_own(groups, chances, 4, at)
            kind = fit.kinds.labels[layout.signature[cell]][0]
            expected = float(right[kind, values[int(layout.value[cell])]])
            assert abs(fit.without_own[cell] - expected) < 5e-3


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


def test_paper_figures_beyond_random_worlds():
    tables = [made_up(s) for s in (0.7, 0.25, 1 / 6)]
    strong, weak, nothing = (as_release(bucketized(own)) for own in tables)
    by = fk.Learned(["job"])
    for release in (strong, weak, nothing):
        worst = fk.Facts().disclosures(release).values()
        assert max(d.exact for d in worst) == Fraction(1, 3)
    assert by.disclosure(strong).probability > 0.95
    assert 0.45 < by.disclosure(weak).probability < 0.8
    claimed = fk.learned_report(strong, ["job"])
    assert claimed.right == pytest.approx(0.82, abs=0.03)
    assert claimed.baseline == pytest.approx(1 / 3)
    assert not claimed.measured
    # What an attacker claims of themselves may be too much; measured it is 0.4.
    assert 0.36 < fk.learned_report(weak, ["job"]).right < 0.5


def test_distinct_people_teach_nothing():
    random = Random(9)
    groups = [([f"{g}-{i}" for i in range(3)], random.sample("abcdef", 3)) for g in range(40)]
    release = release_of(groups)
    assert fk.Learned(["kind"]).disclosure(release).probability == pytest.approx(1 / 3)
    learned = fk.Priors.from_release(release, ["kind"])
    assert learned.disclosure(release).probability == pytest.approx(1 / 3, abs=1e-2)


def test_absent_values_are_never_guessed():
    release = release_of([("xy", "ab"), ("xx", "ab")])
    found = fk.Learned(["kind"]).disclosure(release, "c")
    assert (found.probability, found.witness) == (0.0, None)
    with pytest.raises(fk.InputError, match="cannot be a sensitive value"):
        fk.Learned(["kind"]).disclosure(release, ["a"])


# ---- numbers and people -------------------------------------------------------------------


def test_exact_columns_place_people():
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
    with pytest.raises(fk.InputError, match="'salary'"):
        fk.Priors.from_release(made.release, ["salary"], people=table)
    with pytest.raises(fk.InputError, match="give the table that the release was made from"):
        fk.Priors.from_release(made.release, ["job"], people=table.slice(1))


# ---- what is refused, and what is said ----------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("kind", r'by must be a list of columns, such as \["job"\]'),
        (["kind", "kind"], "names a column twice"),
        (["value"], "'value'"),
        (["kinds"], "kinds"),
    ],
)
def test_unlearnable_releases_are_refused(by, said):
    with pytest.raises(fk.InputError, match=said):
        fk.Learned(by).disclosure(release_of([("xy", "ab")]))


def test_counts_have_no_columns():
    with pytest.raises(fk.InputError, match="give a Release with these columns"):
        fk.Learned(["kind"]).disclosure(release_of([("xy", "ab")]).counts)
