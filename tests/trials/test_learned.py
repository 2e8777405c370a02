"""What can be learned of a release, near numbers too, against enumeration; what must not be."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.examples import NIGHTLY
from tests.oracle import priors as learned_worlds
from tests.oracle import priors as posterior_worlds
from tests.trials.test_trials import planted, policy, publish

import foreknow as fk
from foreknow.auditing.trial import Tried, trials_beside
from foreknow.data.labels.labels import Labels
from foreknow.data.labels.windows import Line, Width
from foreknow.data.sights import Sight
from foreknow.errors import NoSafeRelease
from foreknow.features.learned_attacks import fit as fitting
from foreknow.features.learned_attacks import trees
from foreknow.features.learned_attacks.expectation import LEARNING, CaseLayout
from foreknow.features.learned_attacks.fit import Kinds, fits
from foreknow.features.learned_attacks.trees import Forest, features_of
from foreknow.policy.trials import Try
from foreknow_judge.errors import PolicyError

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
            result = layout.expected(chances)
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
                    assert abs(result.posteriors[cell] - expected) < 1e-9
                weights.append(float(learned_worlds.likelihood([(own, bag)], table)))
            logs.append(result.weights - np.log(weights))
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


def test_distinct_people_teach_nothing():
    random = Random(9)
    groups = [([f"{g}-{i}" for i in range(3)], random.sample("abcdef", 3)) for g in range(40)]
    release = release_of(groups)
    assert fk.Learned(["kind"]).disclosure(release).probability == pytest.approx(1 / 3)
    learned = fk.Priors.from_release(release, ["kind"])
    assert learned.disclosure(release).probability == pytest.approx(1 / 3, abs=1e-2)


def test_absent_values_are_never_guessed():
    release = release_of([("xy", "ab"), ("xx", "ab")])
    disclosure = fk.Learned(["kind"]).disclosure(release, "c")
    assert (disclosure.probability, disclosure.witness) == (0.0, None)
    with pytest.raises(fk.InputError, match="cannot be a sensitive value"):
        fk.Learned(["kind"]).disclosure(release, ["a"])


# ---- numbers and people -------------------------------------------------------------------


def test_exact_columns_place_people():
    microdata = made_up(0.7, people=1500)
    policy = fk.Policy(
        [fk.Requirement(fk.Facts(), below="3/4")],
        fk.Schema(quasi_identifiers=["job", "age"], sensitive="disease"),
    )
    publication = fk.publish(microdata, policy, seed=1)
    table = microdata.source.arrow(["job", "age", "disease"])
    labels = fk.Priors.from_release(publication.release, ["job"])
    assert (
        max(float(d.probability) for d in labels.disclosures(publication.release).values()) < 0.75
    )
    learned = fk.Priors.from_release(publication.release, ["job"], people=table)
    bare = fk.Priors.from_release(publication.release, ["job"], people=table.drop(["disease"]))
    assert bare.tables == learned.tables
    priors = fk.Priors.from_release(publication.release, ["job"], people=microdata)
    assert priors.tables == learned.tables
    for number in range(6):
        row = (f"job {number}",)
        assert float(learned.tables[0].prior(row, f"disease {number}")) > 0.4
    with pytest.raises(fk.InputError, match="'salary'"):
        fk.Priors.from_release(publication.release, ["salary"], people=table)
    with pytest.raises(fk.InputError, match="give the table that the release was made from"):
        fk.Priors.from_release(publication.release, ["job"], people=table.slice(1))


# ---- what is refused, and what is said ----------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("kind", r'by must be a list of columns, such as \["job"\]'),
        ([], "by must be a list of columns"),
        (["kind", "kind"], "names a column twice"),
        (["value"], "'value'"),
        (["kinds"], "kinds"),
    ],
)
def test_unlearnable_releases_are_refused(by, message):
    with pytest.raises(fk.InputError, match=message):
        fk.Learned(by).disclosure(release_of([("xy", "ab")]))
    with pytest.raises(fk.InputError, match=message):
        fk.learned_report(release_of([("xy", "ab")]), by)


# ---- trials of numbers to within so much, of one of several columns ------------------------------


SCHEMA = fk.Schema(quasi_identifiers=["code"], sensitive=["ill", "cost"])


def bills(people=600, seed=1):
    """Costs that a code says but for some cents, which hardly anybody shares."""
    random = np.random.default_rng(seed)
    code = random.integers(0, 6, people)
    cents = random.integers(0, 5000, people)
    return pa.table(
        {
            "code": [f"{c:02d}" for c in code],
            "ill": [f"ill {i}" for i in random.integers(0, 4, people)],
            "cost": [
                f"{1000 * int(c + 1) + int(n) / 100:.2f}" for c, n in zip(code, cents, strict=True)
            ],
        }
    )


def requirements(within="10%"):
    width = {} if within is None else {"within": within}
    return [
        fk.Requirement(fk.Facts(), below=1, sensitive="ill", knowing=[]),
        fk.Requirement(fk.Facts(), below=1, sensitive="cost", knowing=[], **width),
    ]


GROUP = np.random.default_rng(4).permutation(600) // 3


def tried(*tries, within="10%"):
    """What comes of trials of groups of three at random."""
    table = bills()
    frame = table.append_column("group", pa.array(GROUP))
    release = fk.Release.from_groups(frame, group="group", sensitive=["ill", "cost"])
    place = {release.counts.group_label(g): g for g in range(release.counts.n_groups)}
    groups = np.array([place[g] for g in GROUP.tolist()])
    seen = Sight(release.counts, fk.Microdata(table, SCHEMA), groups, "ill", "x", release)
    return trials_beside(seen, fk.Policy(requirements(within), SCHEMA, tries=tries))


@pytest.mark.parametrize("seed", range(30))
def test_windows_divide_all_numbers(seed):
    """Each number is in one window, windows are in order, and none is wider than it may be."""
    random = np.random.default_rng(seed)
    numbers = [Fraction(int(n), 4) for n in random.integers(-40, 40, random.integers(1, 12))]
    width = Width(["10%", "150%", 3, "0.5", "0.25"][seed % 5])
    texts = list(dict.fromkeys(str(float(n)) for n in numbers))
    line = Line.of(Labels(texts))
    of_label, names = line.parted(width)
    assert len(of_label) == len(texts)
    assert sorted({*of_label.tolist()}) == [*range(len(names))]
    windows = [
        sorted(Fraction(t) for t, w in zip(texts, of_label, strict=True) if w == k)
        for k in range(len(names))
    ]
    for first, second in pairwise(windows):
        assert first[-1] < second[0]
    for low, *_, high in (window * 2 for window in windows):
        low, high = min(low, high), max(low, high)
        share = width.measure == "share"
        nearer = min(abs(low), abs(high))
        assert high - low <= (nearer * width.amount if share else width.amount)
        assert low == high or low * high > 0 or not share


def test_similar_windows_have_distinct_names():
    _, names = Line.of(Labels(["0.0000001", "0.0000005", "2"])).parted(Width("10%"))
    assert len({*names}) == 3


@pytest.mark.parametrize("reverse", [False, True])
def test_trial_stops_beside_reported_one(reverse):
    tries = [Try(fk.Learned(["code", "age"])), Try(fk.Learned(["code"]), stop="0.8")]
    rules = policy(tries=False)
    rules = fk.Policy(
        rules.requirements, rules.schema, rules.options, tries[:: -1 if reverse else 1]
    )
    with pytest.raises(NoSafeRelease, match=r"by code becomes .* stops at 0.8"):
        publish(planted(), rules)


@pytest.mark.parametrize(
    ("sure", "rightly", "stops"),
    [(5, 4, True), (10, 8, True), (10, 7, False), (0, 0, False), (5, None, False)],
)
def test_sure_and_right_attackers_stop(sure, rightly, stops):
    """One who guesses worse than the reported one stops a trial where what they claim holds."""
    result = tried(Try(fk.Learned(["code"]), stop="0.8"))[0]
    surer = Tried("EM, surer", ("code",), 0.1, 0.95, sure, rightly)
    trial = replace(result, surest=0.79, tried=(surer,))
    assert trial.stopping(Fraction(4, 5)) == (surer if stops else None)
    assert trial.stopping(Fraction(3, 4)) is not None
    assert trial.asked == Try(fk.Learned(["code"]), stop="0.8")


def test_wrong_columns_are_refused():
    tables = {
        "schema": {"quasi_identifiers": ["code"], "sensitive": ["ill", "cost"]},
        "require": [{"sensitive": "ill", "facts": {}, "below": 0.9}],
        "try": [{"learned": {"by": ["code"]}, "sensitive": "cost"}],
    }
    policy = fk.Policy.from_dict(tables)
    assert policy.tries[0].to_dict() == tables["try"][0]
    tables["try"][0]["sensitive"] = "costs"
    with pytest.raises(PolicyError, match="did you mean 'cost'"):
        fk.Policy.from_dict(tables)


# ---- trees of the shares of values, beside scikit-learn's trees of single people -----------------


def people(seed, n_kinds=60, n_values=3):
    """Kinds of people by six columns of two values, and how many have which value."""
    random = np.random.default_rng(seed)
    features = random.integers(0, 2, (n_kinds, 6)).astype(float)
    amounts = random.integers(0, 9, (n_kinds, n_values)).astype(float)
    amounts[random.random(n_kinds) < 0.2] = 0  # kinds of which there is nobody
    return features, amounts


@pytest.mark.parametrize("seed", range(6))
def test_shares_divide_as_people_do(seed):
    """Every cut of a column is the same; equal cuts may send a kind of nobody elsewhere."""
    features, amounts = people(seed)
    kind, value = (index.ravel() for index in np.indices(amounts.shape))
    leaf = min(trees.LEAF / amounts.sum(), 0.5)
    library = DecisionTreeClassifier(random_state=0, min_weight_fraction_leaf=leaf)
    library.fit(features[kind], value, amounts.ravel())
    result = Forest(features, amounts, n_drawn=6).shares(n_trees=3)
    is_anybody = amounts.any(axis=1)
    expected = library.predict_proba(features)
    np.testing.assert_allclose(result[is_anybody], expected[is_anybody])


ODD_LABELS = ["inf -inf 1", "nan 2 3", "-1e308 0 1e308", "x y z"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("labels", [[*text.split(), None] for text in ODD_LABELS])
def test_odd_labels_are_features(labels):
    shares = Forest.of(features_of(labels), np.full((4, 2), 50.0)).shares()
    np.testing.assert_allclose(shares, 0.5)
