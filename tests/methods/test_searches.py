"""What every method promises, what searches ask of policies, what a release is worth."""

import random
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import MISSING, fields
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from tests.cli.conftest import desk as desk
from tests.common import NIGHTLY
from tests.criteria.definitions import truth
from tests.methods.reference import safe
from tests.methods.tables import asking
from tests.methods.tables import microdata as table_of
from tests.oracle.labels import fewest as fewest_by_trial

import foreknow as fk
from foreknow.data import arrays, equal_rows
from foreknow.data.counts import GroupCounts
from foreknow.data.keys import nearly_all_differ
from foreknow.methods import points as points_module
from foreknow.methods.mondrian.replay import Turn
from foreknow.methods.points import Points
from foreknow.methods.protocol import traits_of
from foreknow.methods.registry import METHODS, PROVED, kind_of
from foreknow_judge.errors import PolicyError

# ---- proposals -----------------------------------------------------------------------------------


def test_limits_get_tighter_within_turn():
    """Two groups that are safe by themselves and not beside each other."""
    first, second, rest = [*"vvvxxxyy"], [*"vvxxxxy"], [*"vxy" * 9]
    counts = fk.GroupCounts.from_bags([first, second, rest])
    facts, policy = fk.Facts(l=1, m=1), asking("19/25", (1, 0, 1), values=["v"])
    for bag in (first, second):
        group_counts = fk.GroupCounts.from_bags([bag, rest])
        assert facts.disclosure(group_counts, "v").below("19/25")
    assert not facts.disclosure(counts, "v").below("19/25")
    before = policy.ledger(counts.values, counts)
    before.commit(None, fk.GroupCounts.from_bags([first + second + rest]))
    owner, accepted = np.zeros(1, dtype=np.int64), counts.take(np.array([0]))
    later = before.copy()
    assert later.evaluate(None, accepted, owner).accept_greedily().tolist() == [True]
    turn, asked = Turn(before, later, accepted, owner), counts.take(np.array([1]))
    assert turn.refuses(asked, owner, proposal=0).tolist() == [False]  # in place of the first
    assert turn.refuses(asked, owner, proposal=1).tolist() == [True]  # after it


# ---- who must leave, and what cannot be divided --------------------------------------------------


def drawn_groups(chance, sizes, many):
    letters = "abcdef"[: chance.randint(2, 6)]
    weights = [chance.choice([1, 1, 2, 6]) for _ in letters]
    return [
        "".join(chance.choices(letters, weights, k=chance.randint(*sizes)))
        for _ in range(chance.randint(1, many))
    ]


def drawn_facts(chance, groups, limit):
    """A requirement about facts, and whether it holds of a group; of all values, or of one."""
    point = chance.randint(0, 3), chance.choice([0, 1, 2, 3]), chance.choice([0, 0, 1, 2])
    about = chance.choice([None, None, groups[0][:1]])
    requirement = fk.Requirement(fk.Facts(*point), limit, values=about and [about])

    def holds(group):
        rules = [(about or set(group), point, limit)]
        return safe([(len(group), Counter(group))], rules)

    return requirement, holds


def drawn_rule(chance, groups):
    """A requirement, whether it holds of a group, and whether the bound is exact."""
    everybody = "".join(groups)
    k, position = chance.randint(1, 6), chance.randint(2, 4)
    part, c = (
        Fraction(chance.randint(1, 8), 8),
        Fraction(chance.randint(1, 9), chance.randint(1, 4)),
    )
    limit = Fraction(chance.randint(1, 12), 12)
    limit += chance.choice([0, Fraction(1, 10**12)]) if limit < 1 else 0
    asked, holds = drawn_facts(chance, groups, limit)
    criteria = [
        *(fk.KAnonymity(k), fk.LDiversity(position), fk.LDiversity(position, "recursive", c)),
        *(fk.AlphaK(part, k), fk.TCloseness(part)),
        fk.TCloseness(part, "ordered", sorted(set(everybody))),
    ]
    criterion = chance.choice([None, None, *criteria])
    if criterion is None:
        return asked, holds, asked.points[0].adversary.m == 0 and asked.values is None
    is_exact = getattr(criterion, "kind", None) == "recursive"
    return (
        fk.Requirement(criterion),
        lambda group: truth(criterion, group, everybody)[1],
        is_exact,
    )


def test_how_many_must_leave():
    """Never more than it takes; each group is judged alone."""
    close = cases = 0
    for seed in range(4000 if NIGHTLY else 200):
        chance = random.Random(seed)
        groups = drawn_groups(chance, (1, 10), 4)
        rule, is_safe, exact = drawn_rule(chance, groups)
        if len(set("".join(groups))) < 2:
            continue
        counts = fk.GroupCounts.from_bags([list(group) for group in groups])
        ledger = fk.Policy([rule]).ledger(counts.values, counts)
        alone, text = ledger.alone(counts).tolist(), ledger.fewest_leaving(counts).tolist()
        assert alone == [is_safe(group) for group in groups], (seed, rule)
        cases += 1
        for group, fewest in zip(groups, text, strict=True):
            must = fewest_by_trial(group, is_safe) if not is_safe(group) else 0
            assert fewest <= must, (seed, rule, group)
            assert fewest == must or not exact, (seed, rule, group)
            close += fewest == must > 0
    assert close > cases / 2  # it is a bound that says something


def test_people_seen_apart_must_leave():
    """Each part of a group that some can tell apart must be safe by itself."""
    table = pa.table({"age": [20] * 8, "job": list("xxxxyyyy"), "disease": list("aaabaaaa")})
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="disease", other=["job"])
    # Of the four with job x, two with a; of the others, all four.
    for knowing, fewest in ((None, 2 + 4), ([], 6)):
        policy = fk.Policy([fk.Requirement(fk.Facts(), below="0.6", knowing=knowing)], schema)
        raw = policy.combined(fk.Microdata(table, schema))
        counts = raw.counts(np.zeros(8, dtype=np.int64))
        ledger = policy.ledger(raw.values, counts)
        assert ledger.alone(counts).tolist() == [False]
        assert ledger.fewest_leaving(counts).tolist() == [fewest]
    for semantics in ("set", "multiset"):  # of several values nothing is said
        counts = fk.GroupCounts.from_people([[["a"], ["a"], ["b"]]], semantics=semantics)
        ledger = fk.Facts().ledger("1/2", semantics=semantics)
        assert ledger.fewest_leaving(counts).tolist() == [0]


# ---- points: the distinct combinations, the values at each, and back to rows --------------------


def check(raw):
    at = list(zip(*[attribute.codes.tolist() for attribute in raw.attributes], strict=True))
    if raw.schema.semantics == "single":
        held = list(enumerate(raw.sensitive_codes.tolist()))
    else:
        held = list(zip(raw.holdings.people.tolist(), raw.holdings.values.tolist(), strict=True))
    values = defaultdict(list)
    for person, value in held:
        values[at[person]].append(value)
    expected, people = sorted(set(at)), Counter(at)
    points = Points.of(raw)
    assert list(zip(*[codes.tolist() for codes in points.codes], strict=True)) == expected
    assert points.weights.tolist() == [people[point] for point in expected]
    assert points.cells.tolist() == [len(set(values[point])) for point in expected]
    assert (len(points.values), int(points.times.sum())) == (points.cells.sum(), len(held))
    ends = np.cumsum(points.cells).tolist()
    for point, start, end in zip(expected, [0, *ends], ends, strict=False):
        counted = list(zip(points.values[start:end], points.times[start:end], strict=True))
        assert counted == sorted(Counter(values[point]).items())
    marks = np.arange(len(expected)) * 3 - 1
    spread, place = points.spread(marks), {point: i for i, point in enumerate(expected)}
    assert spread.dtype == marks.dtype
    assert spread.tolist() == [int(marks[place[point]]) for point in at]
    return points


@pytest.mark.parametrize("exponent", [30, 31, 32, 61, 62, 63, 64])
def test_limits_of_whole_numbers(exponent):
    """Columns of exactly 2 values each: the combinations number 2**exponent with values."""
    random = np.random.default_rng(exponent)
    columns = {f"q{i:02d}": random.integers(0, 2, 50) for i in range(exponent - 1)}
    for column in columns.values():
        column[:2] = (0, 1)
    check(table_of(columns, "st" * 25))


# ---- tables of which next to no rows are equal are not merged ------------------------------------


MANY = np.arange(300_000)


@pytest.mark.parametrize(
    ("columns", "differ"),
    [
        ([MANY], True),
        ([MANY // 2], False),
        ([MANY % 1000, MANY // 1000], True),
        ([MANY % 100, (MANY % 200).astype(np.uint8)], False),
        ([(MANY >> at & 1).astype(np.uint8) for at in range(70)], True),
        ([np.arange(1000)], False),  # so few are merged in any case
    ],
)
def test_part_says_whether_rows_differ(columns, differ):
    assert nearly_all_differ(columns) is differ


@pytest.mark.parametrize(
    ("method", "form"),
    [
        (fk.Mondrian(), "bucketized"),
        (fk.Mondrian(suppression=0.05), "generalized"),
        (fk.FullDomain(), "generalized"),
    ],
)
def test_unmerged_rows_are_grouped_alike(monkeypatch, method, form):
    random, n = np.random.default_rng(3000), 2000
    table = pa.table({
        "id": np.arange(n),
        "age": random.integers(0, 60, n),
        "zip": random.integers(0, 300, n),
        "ill": [f"d{x}" for x in random.geometric(0.2, n).clip(max=12)],
    })  # fmt: skip
    schema = fk.Schema(identifiers=["id"], quasi_identifiers=["age", "zip"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(2, 4, 1), below="1/2")], schema)
    monkeypatch.setattr(arrays, "BLOCK", 500)
    audits, people = [], []
    for differ in (False, True):
        for module in (points_module, equal_rows):
            monkeypatch.setattr(module, "nearly_all_differ", lambda columns, differ=differ: differ)
        publication = fk.publish(table, policy, method=method, form=form, seed=1)
        rows = pa.concat_tables(publication.placed.members())
        labels = [name for name in rows.column_names if name in ("age", "zip", "group")]
        audits.append(publication.audit.verdicts)
        people.append(rows.select(["id", *labels]).to_pydict())
    assert people[0] == people[1]
    assert audits[0] == audits[1] or repr(audits[0]) == repr(audits[1])


# ---- utility: what a release is worth, by definitions in plain Python; and weights of columns ----


def people_of(columns, **hierarchies):
    n = len(next(iter(columns.values())))
    schema = fk.Schema(quasi_identifiers=list(columns), sensitive="d", hierarchies=hierarchies)
    return fk.Microdata(pa.table({**columns, "d": (["x", "y"] * n)[:n]}), schema)


TWO = np.array([0, 0, 1, 1])


@pytest.mark.parametrize(
    ("people", "least", "message"),
    [
        (3, 4, "3 people make no group of at least 4"),
        (0, 1, "people must be a whole number from 1, not 0"),
        (5, 0, "least must be a whole number from 1, not 0"),
        (5, 2.0, "least must be a whole number from 1, not 2.0"),
        (True, 1, "people must be a whole number from 1, not True"),
    ],
)
def test_no_optimum_without_groups(people, least, message):
    with pytest.raises(fk.InputError, match=message):
        fk.optimal_discernibility(people, least)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda m: (m,),
            r"expected a Release or a GroupCounts, not Microdata; .* by microdata\.counts",
        ),
        (lambda m: (m.counts(TWO), m), "give microdata and groups together"),
        (lambda m: (m.counts(TWO), None, TWO), "give microdata and groups together"),
        (lambda m: (m.counts(TWO), "t.csv", TWO), "expected Microdata, not str"),
        (lambda m: (m.counts(TWO), m, TWO[:3]), "each of the 4 rows"),
        (lambda m: (m.counts(TWO), m, TWO / 2), "a whole number for each"),
        (lambda m: (m.counts(TWO), m, TWO - 1), "row 1 of .* has no group"),
        (lambda m: (GroupCounts.from_bags(["xyx"]), m, TWO), "3 people are counted, but .* has 4"),
    ],
)
def test_unmeasurable_groups_are_refused(given, message):
    with pytest.raises(fk.InputError, match=message):
        fk.utility_of(*given(people_of({"age": [10, 30, 20, 50]})))


# ---- weights -------------------------------------------------------------------------------------

POLICY = """
[schema]
quasi_identifiers = ["age", "zip"]
sensitive = "disease"

[[require]]
k_anonymity = 4

[publish]
weights = { zip = 3 }
"""
SCHEMA = fk.Schema(quasi_identifiers=["age", "zip"], sensitive="disease")
FOUR = [fk.Requirement(fk.KAnonymity(4))]


def table(n=60):
    draw, numbers = random.Random(1), {"age": (20, 60), "zip": (100, 160)}
    columns = {key: [draw.randint(*ends) for _ in range(n)] for key, ends in numbers.items()}
    return pa.table({**columns, "disease": draw.choices("abcd", k=n)})


@pytest.mark.parametrize("given", [0, -1, True, "much", float("nan"), float("inf"), "1e400", None])
def test_invalid_weights_are_refused(given):
    with pytest.raises(PolicyError, match="'zip'"):
        fk.PublishOptions(weights={"zip": given})


def test_weights_of_unknown_columns():
    text = r"publish.weights: 'zipp' is no quasi-identifier; did you mean 'zip'"
    with pytest.raises(PolicyError, match=text):
        fk.Policy(FOUR, SCHEMA, fk.PublishOptions(weights={"zipp": 3}))
    with pytest.raises(PolicyError, match=text):  # of a table, where the policy has no schema
        fk.publish(fk.Microdata(table(), SCHEMA), fk.Policy(FOUR), weights={"zipp": 3})
    with pytest.raises(PolicyError, match="must be a table"):
        fk.PublishOptions(weights=3)


def test_weights_in_files_and_commands(desk):
    path = desk.folder / "policy.toml"
    for text, said in (
        ("{ zipp = 3 }", "no quasi-identifier"),
        ("{ zip = -3 }", "above 0"),
        ('{ zip = "x" }', "above 0"),
        ("3", "table"),
    ):
        path.write_text(POLICY.replace("{ zip = 3 }", text))
        with pytest.raises(PolicyError, match=said):
            fk.Policy.load(path)
    path.write_text(POLICY)
    pc.write_csv(table(), desk.folder / "table.csv")
    desk.says(*desk.publish("--set", "weights.age=0.5", "--quiet"))
    publish = desk.json("out/certificate.json")["policy"]["publish"]
    assert publish["weights"] == {"zip": 3, "age": 0.5}
    for wrong, said in (("weights.agge=2", "did you mean"), ("weights.age=0", "above 0")):
        assert said in desk.refused(*desk.publish("--set", wrong, out="no"))


# what holds of every registered method: groups, seeds, refusals, safety, what it publishes.

VARIANTS = ["rda", "ria", "gda", "gsa"]
CASES = [(key, {}) for key, _ in METHODS if key not in ("streamliner", "anatomy")]
CASES += [("anatomy", {"l": 2}), *(("streamliner", {"l": 2, "variant": v}) for v in VARIANTS)]


def people(n=60, seed=1, letters="abcdef"):
    draw = random.Random(seed)
    return pa.table({
        "sex": [draw.choice("mf") for _ in range(n)],
        "age": [draw.randint(20, 59) for _ in range(n)],
        "disease": draw.sample([letters[i % len(letters)] for i in range(n)], n),
    })  # fmt: skip


def by_sex(rows, smoothing=0, **limit):
    """A requirement about priors that are learned of a table."""
    rows = rows.filter(rows["disease"].is_valid())
    return fk.Requirement(fk.Priors.learn(rows, ["sex"], "disease", smoothing=smoothing), **limit)


# ---- refusals -----------------------------------------------------------------------------------


WHOLE = [0, -3, 2.0, "3", True]


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        *(("Mondrian", [cuts], "cuts must be a whole number from 1") for cuts in [None, *WHOLE]),
        *(("Anatomy", [l], "l must be a whole number from 2") for l in [1, *WHOLE]),  # noqa: E741
        *(("Streamliner", [l], "l must be a whole number from 2") for l in [1, *WHOLE]),  # noqa: E741
        ("Streamliner", [2, "rdb"], "no variant 'rdb'; did you mean 'rda'"),
        ("Streamliner", [2, "gda", {"age": -1}], "weight of 'age'"),
        ("Streamliner", [2, "gda", 3], "weights must map names .* not 3"),
        ("Streamliner", [2, "gda", ["age"]], "weights must map names"),
        ("Streamliner", [2, "rda", {"age": 1}], "'rda' does not look at quasi-ident"),
        ("Streamliner", [2, "ria", {"age": 1}], "weights are for 'gda' and 'gsa'"),
    ],
)
def test_wrong_parameters(name, given, message):
    with pytest.raises(fk.InputError, match=message):
        getattr(fk, name)(*given)


# ---- what init names -----------------------------------------------------------------------------


def test_init_asks_every_proved_method():
    """It loads no others: they do not consult a policy, publish two tables, or need priors."""
    proved = set()
    for key, given in CASES:
        with suppress(fk.InputError):
            traits = traits_of(kind_of(key)(**given))
            if traits.consults_policy and traits.proof and traits.form == "generalized":
                proved.add(key)
    assert proved == {*PROVED}


# ---- ART as it is published ----------------------------------------------------------------------


def by_art(rows, *requirements):
    names = [name for name in rows.column_names if name != "disease"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease")
    options = fk.PublishOptions(method="art", form="bucketized")
    policy = fk.Policy(list(requirements))
    return fk.publish(fk.Microdata(rows, schema), policy, options=options, seed=3)


def test_requirements_of_art(tmp_path):
    """It needs one about priors, and serves others beside it, and limits of both forms."""
    rows, facts = people(), asking(0.9).requirements[0]
    with pytest.raises(PolicyError, match=r"requirements about priors.*the policy has none"):
        by_art(rows, facts)
    result = by_art(rows, facts, by_sex(rows, at_most="1/3"))
    assert (result.audit.safe, len(result.audit.verdicts)) == (True, 2)
    strict = asking("0.4", (2,)).requirements[0]
    with pytest.raises(fk.NoSafeRelease, match="ART made groups that do not hold"):
        by_art(rows, strict, by_sex(rows, at_most="1/2"))
    half = by_sex(rows, at_most="1/2")
    result = by_art(rows, half, by_sex(rows, at_most_times=2, values=["c"]))
    first, second = result.audit.verdicts
    assert first.disclosure.exact <= Fraction(1, 2)
    assert second.disclosure.exact <= 2 * second.disclosure.prior
    result.write(tmp_path / "out")
    assert fk.Certificate.load(tmp_path / "out" / "certificate.json").check(tmp_path / "out") == []


@pytest.mark.parametrize("key", [key for key, _ in METHODS])
def test_defaults_are_one(key):
    """A setting that a policy file leaves out is what the class takes, as editors show it."""
    kind = kind_of(key)
    defaults = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    for name, setting in kind.settings.model_fields.items():
        assert setting.default == defaults.get(name, setting.default), name
