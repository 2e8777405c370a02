"""Limits of risk, by every person of a release; the risk of people of a survey; and its trial."""

import json
import random
from fractions import Fraction
from math import exp, inf, lgamma, log

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from tests.common import NIGHTLY
from tests.oracle.risks import figures_of_risk_figures as figures
from tests.oracle.risks import first_of

import foreknow as fk
from foreknow.features.risk.individual import expected_chances
from foreknow.policy.trials import Try
from foreknow_judge.errors import UnsupportedError

TIMES = 20_000 if NIGHTLY else 120
SCHEMA = fk.Schema(quasi_identifiers=["age", "sex"], sensitive="ill")
OPTIONS = fk.PublishOptions(labels={"sex": "exact"})


def limits_of(draw, found):
    """Some limits, some of which are attained exactly."""
    asked = {}
    for name, reached in found.items():
        if draw.random() < 0.6:
            near = [reached, reached - Fraction(1, 97), reached + Fraction(1, 97), Fraction(1, 11)]
            limit = max(draw.choice(near), Fraction(0))
            if limit or name == "uniqueness":
                asked[name] = min(limit, Fraction(1))
    strict = draw.random() < 0.4 and asked.get("uniqueness") != 0
    return asked or {next(iter(found)): Fraction(1)}, strict


def test_figures_are_of_each_person():
    draw, held = random.Random(1), 0
    for _ in range(TIMES):
        bags = [draw.choices("ab", k=draw.randint(1, 4)) for _ in range(draw.randint(1, 5))]
        rows = [{"group": place} for place, bag in enumerate(bags) for _ in bag]
        result, counts = figures(rows, ["group"]), fk.GroupCounts.from_bags(bags)
        asked, strict = limits_of(draw, result)
        rule = fk.Risk(**asked, strict=strict)
        amount, holds = first_of(result, asked, strict)
        assert (rule.measure(counts), rule.holds(counts)) == (amount, holds), (bags, rule)
        (verdict,) = fk.audit(counts, fk.Policy([fk.Requirement(rule)])).criteria
        assert verdict.safe == holds
        assert rule.to_dict() == fk.Risk(**rule.to_dict()["risk"]).to_dict()
        beyond = rule.beyond_groups(counts) or rule.fails(counts).any()
        assert beyond == (not holds)
        held += holds
    assert TIMES // 5 < held < TIMES


def drawn(draw, ages=24):
    size = draw.randint(4, 24)
    return pa.table(
        {
            "age": draw.choices(range(20, 20 + ages), k=size),
            "sex": draw.choices("mf", k=size),
            "ill": draw.choices("abc", k=size),
        }
    )


def policy_of(rule, **options):
    options = {"labels": {"sex": "exact"}, **options}
    return fk.Policy([fk.Requirement(rule)], SCHEMA, fk.PublishOptions(**options))


# ---- against a population -----------------------------------------------------------------------


def label(low, high, sex):
    return (str(low) if low == high else f"{low} to {high}", sex)


def ages_of(people, **more):
    return pa.table({"age": [p[0] for p in people], "sex": [p[1] for p in people], **more})


def test_journalist_risk_end_to_end(tmp_path):
    people = [(age, sex) for age in range(20, 60) for sex in "mf" for _ in range(3)]
    everybody, table = ages_of(people), ages_of(people[::2], ill=["a", "b"] * 60)
    rule = fk.PopulationRisk(journalist="1/11", uniqueness=0, population=everybody)
    with pytest.raises(fk.NoSafeRelease, match="journalist risk of") as refused:
        fk.publish(table, policy_of(rule, labels={"age": "exact"}), method="fulldomain")
    assert "k_anonymity = 11" in "\n".join(refused.value.way_out)
    both = [fk.Requirement(rule), fk.Requirement(fk.KAnonymity(11))]
    publication = fk.publish(table, fk.Policy(both, SCHEMA))
    publication.write(tmp_path / "out")
    pq.write_table(everybody, tmp_path / "all.parquet")
    fk.verify(tmp_path / "out", population=tmp_path / "all.parquet")
    with pytest.raises(fk.InputError, match="cannot be checked without the population"):
        fk.verify(tmp_path / "out")


# ---- files, and what is refused ------------------------------------------------------------------


def test_lower_risk_claims_are_refused(tmp_path):
    table = drawn(random.Random(5))
    rule = fk.Risk(prosecutor="1/3", average="1/3", uniqueness=0)
    fk.publish(table, policy_of(rule)).write(tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    document = json.loads(path.read_text())
    lies = [("prosecutor", "1/1000"), ("average", "1/1000"), ("strict", True), ("average", "x")]
    for key, lie in lies:
        fields = json.loads(json.dumps(document))
        for own in (fields["policy"]["require"][0], fields["findings"][0]["judged"]):
            own["risk"][key] = lie
        path.write_text(json.dumps(fields))
        with pytest.raises(fk.InputError):
            fk.verify(tmp_path / "out")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fk.Risk(), "limits nothing: give prosecutor or average or uniqueness"),
        (lambda: fk.Risk(prosecutor=0), "prosecutor must be above 0 to 1"),
        (lambda: fk.Risk(average=1.5), "average must be above 0 to 1"),
        (lambda: fk.Risk(uniqueness=-1), "uniqueness must be from 0 to 1"),
        (lambda: fk.Risk(uniqueness=0, strict=True), "uniqueness must be above 0 to 1"),
        (lambda: fk.Risk(prosecutor=0.1, strict=1), "strict is true or false"),
        (lambda: fk.PopulationRisk(journalist=0.1), "a population is a table"),
        (lambda: fk.PopulationRisk(population="x.csv"), "give journalist or uniqueness"),
        (lambda: fk.Policy.from_dict({"require": [{"risk": {"marketer": 0.1}}]}), "risk.marketer"),
        (lambda: fk.Requirement(fk.Risk(0.1), below=0.5), "takes no values, except or limit"),
    ],
)
def test_invalid_limits_are_named(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()


def test_decoy_refuses_averages():
    requirements = [fk.Requirement(fk.Facts(), 0.99)]

    def publish(rule):
        policy = fk.Policy([*requirements, fk.Requirement(rule)], SCHEMA, OPTIONS)
        return fk.publish(drawn(random.Random(6)), policy, method="decoy")

    assert min(publish(fk.Risk("1/3")).release.counts.sizes) >= 3
    with pytest.raises(fk.InputError, match="Risk"):
        publish(fk.Risk(average="1/3"))


# ---- risk ----------------------------------------------------------------------------------------


# `francdat` of sdcMicro 5.8: the keys are its columns 2, 4, 5 and 6, the weight its column 8.
FRANCDAT = {
    "Key1": [1, 1, 1, 3, 4, 4, 6, 1],
    "Key2": [2, 2, 2, 3, 3, 3, 2, 2],
    "Key3": [5, 1, 1, 1, 1, 1, 1, 5],
    "Key4": [1, 1, 1, 5, 4, 1, 5, 1],
    "w": [18.0, 45.5, 39.0, 17.0, 541.0, 8.0, 5.0, 92.0],
}
KEYS = ["Key1", "Key2", "Key3", "Key4"]
# The table of its tests of `indivRisk`, and the risks that it expects there (method "approx").
SAMPLE = {
    "A": [2, 3, 2, 2, 3, 3, 1, 2],
    "B": [3, 3, 3, 3, 3, 3, 4, 3],
    "C": [1, 3, 1, 2, 1, 1, 1, 1],
    "weight": [18.0, 45.5, 39.0, 17.0, 92.0, 8.0, 123.5, 51.0],
}
EXPECTED = "0.01369863 0.08579129 0.01369863 0.17707583 0.01877883 0.01877883 0.03931625 0.01369863"


def series(n_rows, share):
    """The sum of P(F) / F over all F, for a negative binomial number F of people."""
    total, n_people, chance = 0.0, n_rows, inf
    while n_people < 50 or chance > 1e-17:
        chance = exp(
            lgamma(n_people)
            - lgamma(n_rows)
            - lgamma(n_people - n_rows + 1)
            + n_rows * log(share)
            + (n_people - n_rows) * log(1 - share)
        )
        total += chance / n_people
        n_people += 1
        if n_people * share < n_rows:
            chance = inf
    return total


def test_the_figures_of_sdcmicro():
    report = fk.risk_report(pa.table(SAMPLE), quasi_identifiers=["A", "B", "C"], weights="weight")
    assert report.individual.of_rows.round(8).tolist() == [*map(float, EXPECTED.split())]


def test_francdat():
    report = fk.risk_report(pa.table(FRANCDAT), quasi_identifiers=KEYS, weights="w")
    n_rows, people = [2, 2, 2, 1, 1, 1, 1, 2], [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    risks = [series(n, n / size) for n, size in zip(n_rows, people, strict=True)]
    assert report.individual.of_rows == pytest.approx(risks)
    assert report.individual.population == sum(FRANCDAT["w"])
    assert (report.individual.above, report.individual.highest) == (2, pytest.approx(max(risks)))
    assert report.individual.expected == pytest.approx(sum(risks))


@pytest.mark.parametrize("share", [0.9995, 0.99, 0.9, 0.5, 0.1, 0.02])
@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 20])
def test_chances_are_sums_of_series(n_rows, share):
    (chance,) = expected_chances(np.array([n_rows]), np.array([n_rows / share]))
    assert chance == pytest.approx(series(n_rows, share), rel=1e-6 if n_rows <= 2 else 0.13)


def test_every_door_takes_weights(tmp_path):
    draw = random.Random(3)
    rows = {
        "age": [draw.randint(20, 24) for _ in range(60)],
        "sex": draw.choices("fm", k=60),
        "ill": draw.choices("abc", k=60),
        "w": [draw.randint(10, 900) / 10 for _ in range(60)],
    }
    lines = [";".join(str(cell) for cell in row) for row in zip(*rows.values(), strict=True)]
    path = tmp_path / "survey.csv"
    path.write_text("\n".join([";".join(rows), *lines]).replace(".", ","), "utf-8")
    schema = {"quasi_identifiers": ["age", "sex"], "sensitive": "ill", "weights": "w"}
    policy = {"schema": schema, "require": [{"group_size": 2}]}
    with_commas = {"schema": schema | {"reading": {"decimal": ","}}, "require": policy["require"]}
    table = pa.table(rows)
    columns = {"quasi_identifiers": ["age", "sex"]}
    reports = [
        fk.risk_report(table, weights="w", **columns),
        fk.risk_report(table, policy=policy),
        fk.risk_report(fk.Microdata(table, fk.Schema(**schema))),
        fk.risk_report(path, policy=with_commas),
        fk.risk_report(path, weights="w", reading={"decimal": ","}, **columns),
    ]
    of_class = {}
    for age, sex, weight in zip(rows["age"], rows["sex"], rows["w"], strict=True):
        of_class.setdefault((age, sex), []).append(weight)
    expected = [
        series(len(of_class[key]), len(of_class[key]) / sum(of_class[key]))
        for key in zip(rows["age"], rows["sex"], strict=True)
    ]
    for report in reports:
        assert report.individual.of_rows == pytest.approx(expected, rel=0.13)
        assert report.individual.of_rows.tolist() == reports[0].individual.of_rows.tolist()
        assert report.to_dict()["individual"]["weights"] == "w"
        assert all(words in report.to_html() for words in ("stands for", "Estimated by"))
    publication = fk.publish(table, policy, seed=1)
    assert "w" not in publication.to_arrow().column_names
    publication.write(tmp_path / "out")
    assert fk.risk_report(tmp_path / "out").individual is None
    assert fk.risk_report(tmp_path / "out", policy=policy).individual is None


def test_misspelt_weights_are_refused():
    columns = {"identifiers": ["who"], "quasi_identifiers": ["age"], "sensitive": "ill"}
    policy = {"schema": columns | {"weights": "ww"}, "require": [{"group_size": 2}]}
    table = pa.table({"who": ["a", "b"], "age": [1, 2], "ill": ["x", "y"], "w": [2, 3]})
    with pytest.raises(fk.InputError, match="no column 'ww'; did you mean 'w'"):
        fk.risk_report(table, policy=policy)
    assert fk.risk_report(table.drop_columns(["who", "w"]), policy=policy).individual is None


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 0.0], "row 2 has the weight 0"),
        ([1.0, -3.0], "row 2 has the weight -3"),
        ([None, 2.0], "row 1 has no weight"),
        ([1.0, float("nan")], "row 2 has"),
        ([1.0, float("inf")], "row 2 has the weight inf"),
        ([1.0, 1e308], "below 1e12"),
        (["1", "many"], "'w' must hold a number"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    table = pa.table({"age": [1, 2], "w": weights})
    with pytest.raises(fk.InputError, match=message):
        fk.risk_report(table, quasi_identifiers=["age"], weights="w")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fk.Schema(quasi_identifiers=["a"], sensitive="b", weights="a"), "as weights and"),
        (lambda: fk.Schema(quasi_identifiers=["a"], sensitive="b", weights=["w"]), "name of one"),
        (
            lambda: fk.risk_report(fk.GroupCounts.from_bags([["x"]]), weights="w"),
            "is for a raw table",
        ),
        (
            lambda: fk.risk_report(
                pa.table({"age": [1], "w": [2]}), quasi_identifiers=["age"], weights="ww"
            ),
            "no column 'ww'",
        ),
        (
            lambda: fk.risk_report(
                pa.table({"age": [1], "w": [2]}), quasi_identifiers=["w"], weights="w"
            ),
            "others may know",
        ),
    ],
)
def test_missing_weights_are_refused(call, message):
    with pytest.raises(fk.InputError, match=message):
        call()


@pytest.mark.parametrize("weights", [None, "w"])
def test_one_member_reveals_the_household(weights):
    for seed in range(20):
        draw = random.Random(f"households {seed}")
        n_rows = draw.randint(1, 14)
        table = {
            "age": draw.choices([20, 30, None], k=n_rows),
            "sex": draw.choices("fm", k=n_rows),
            "home": draw.choices(["a", "b", "c", None], k=n_rows),
            "w": [draw.randint(1, 60) for _ in range(n_rows)],
        }
        keys = list(zip(table["age"], table["sex"], strict=True))
        report = fk.risk_report(
            pa.table(table), quasi_identifiers=["age", "sex"], household="home", weights=weights
        )
        risks = [1 / keys.count(key) for key in keys]
        if weights is not None:
            risks = report.individual.of_rows.tolist()
        homes = [home or i for i, home in enumerate(table["home"])]
        missed = dict.fromkeys(homes, 1.0)
        for home, risk in zip(homes, risks, strict=True):
            missed[home] *= 1 - risk
        results = [1 - chance for chance in missed.values()]
        household = report.household
        assert household.households == len(results)
        assert household.highest == pytest.approx(max(results))
        assert household.expected == pytest.approx(sum(results))
        assert household.average == pytest.approx(sum(results) / len(results))
        assert household.above == sum(risk > 0.2 + 1e-12 for risk in results)
        assert "Households" in report.to_html()


def test_household_limits_are_exact():
    """As floats, 1 - (1 - 1/9) is above 1/9, and 1 - 8/9 * 9/10 above 1/5."""
    for sizes, n_living_together, limit, above in (
        ([9], 1, "1/9", 0),
        ([9], 1, "0.11111", 9),
        ([9, 10], 2, "1/5", 0),
        ([11, 12], 2, "1/6", 0),
        ([11, 12], 2, "0.16666", 11),
    ):
        ages = [age for age, size in enumerate(sizes) for _ in range(size)]
        homes = [person for size in sizes for person in range(size)]
        if n_living_together == 1:
            homes = [*range(len(ages))]
        people = pa.table({"age": ages, "home": homes})
        report = fk.risk_report(
            people, quasi_identifiers=["age"], household="home", threshold=limit
        )
        assert report.household.above == above


def test_households_in_two_spellings():
    """A household whose name was spelt in two ways was two, each of a lower risk."""
    ages, homes = [20, 20, 30, 30], ["x1", "X-01", "y", "y"]
    with pytest.raises(fk.InputError, match="look like one, and would be counted as two"):
        fk.risk_report(
            pa.table({"age": ages, "home": homes}), quasi_identifiers=["age"], household="home"
        )


def test_households_need_people():
    columns = {"quasi_identifiers": ["age"], "household": "home"}
    with pytest.raises(fk.InputError, match="no column 'home'"):
        fk.risk_report(pa.table({"age": [1]}), **columns)
    with pytest.raises(fk.InputError, match="others may know"):
        fk.risk_report(pa.table({"age": [1]}), quasi_identifiers=["age"], household="age")
    with pytest.raises(fk.InputError, match="household must be the name of one column"):
        fk.risk_report(pa.table({"age": [1]}), quasi_identifiers=["age"], household=["home"])
    with pytest.raises(fk.InputError, match="household is for a raw table"):
        fk.risk_report(fk.GroupCounts.from_bags([["x"]]), household="home")


# ---- the estimated risk as a trial: it stops a publication, and makes nothing safe ---------------


TRIED_SCHEMA = {
    "quasi_identifiers": ["age", "town"],
    "sensitive": "ill",
    "weights": "w",
    "missing": "drop",
    "hierarchies": {"age": {"intervals": [10, 20]}},
}


def survey(seed):
    draw = random.Random(seed)
    n = draw.randint(20, 60)
    return {
        "age": [draw.choice([21, 24, 33, 38, None]) for _ in range(n)],
        "town": draw.choices(["A", "B"], k=n),
        "ill": [draw.choice(["x", "y", "z", None]) for _ in range(n)],
        "w": [draw.randint(1, 80) for _ in range(n)],
    }


def policy_that_tries(form, **trial):
    return {
        "schema": TRIED_SCHEMA,
        "require": [{"group_size": 3}],
        "try": [{"individual_risk": True, **trial}],
        "publish": {"form": form, "labels": {"town": "exact"}},
    }


def risks_of(rows, labels):
    """The risk of everybody, by those who look alike and their weights."""
    alike = {}
    for label, weight in zip(labels, rows, strict=True):
        alike.setdefault(label, []).append(weight)
    # A class that stands for no more people than it has is the population itself.
    return {
        label: series(len(weights), len(weights) / sum(weights))
        if sum(weights) > len(weights)
        else 1 / len(weights)
        for label, weights in alike.items()
    }


@pytest.mark.parametrize("form", ["generalized", "bucketized"])
@pytest.mark.parametrize("seed", range(4))
def test_who_is_found_too_easily(tmp_path, form, seed):
    rows = survey(seed)
    table = pa.table(rows)
    publication = fk.publish(table, policy_that_tries(form), seed=1)
    publication.write(tmp_path / "out")
    kept = [i for i, ill in enumerate(rows["ill"]) if ill is not None]
    labels = list(zip(rows["age"], rows["town"], strict=True))
    if form == "generalized":
        columns = pa.concat_tables(publication.placed.members()).select(["age", "town"]).to_pydict()
        labels = list(zip(columns["age"], columns["town"], strict=True))
    risks = risks_of([rows["w"][i] for i in kept], [labels[i] for i in kept])
    highest = max(risks.values())
    assert any("estimated by weights" in note for note in publication.certificate.notes)
    assert str(highest)[:6] not in (tmp_path / "out" / "certificate.json").read_text()
    above, below = min(1, highest * 1.15), highest * 0.85  # the formula is close to the series
    made_release = fk.publish(table, policy_that_tries(form, stop=f"{above:.6f}"), seed=1)
    assert made_release.to_arrow(next(iter(made_release.tables))) == publication.to_arrow(
        next(iter(publication.tables))
    )
    with pytest.raises(fk.NoSafeRelease, match="stopped by a trial: by the weights"):
        fk.publish(table, policy_that_tries(form, stop=f"{below:.6f}"), seed=1)


def test_other_kinds_of_publishing(tmp_path):
    table = pa.table(survey(1))
    csv.write_csv(table, tmp_path / "survey.csv")
    with pytest.raises(UnsupportedError, match='engine = "memory"'):
        fk.publish(tmp_path / "survey.csv", policy_that_tries("generalized"), engine="duckdb")
    policy = fk.Policy.from_dict(policy_that_tries("generalized", stop=0.9))
    assert fk.Policy.from_dict(policy.to_dict()).tries == policy.tries
    policy.save(tmp_path / "policy.toml")
    assert fk.Policy(tmp_path / "policy.toml").tries == (Try(stop="9/10", individual_risk=True),)
    publication = fk.publish(table, policy, seed=1)
    assert "w" not in publication.to_arrow().column_names
    assert fk.audit(publication.release, policy).trials in ((), None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": {**TRIED_SCHEMA, "weights": None}}, 'add weights = "COLUMN"'),
        ({"schema": {**TRIED_SCHEMA, "person": "p", "unit": "row"}}, "a row for each person"),
        ({"try": [{"individual_risk": True, "learned": {"by": ["age"]}}]}, "either learned"),
        ({"try": [{"stop": 0.5}]}, "either learned"),
        ({"try": [{"individual_risk": True, "sensitive": "ill"}]}, "guesses no column"),
        ({"try": [{"individual_risk": True, "stop": 2}]}, "at most 1, not 2"),
    ],
)
def test_trials_that_mean_nothing(changes, message):
    tables = policy_that_tries("generalized") | changes
    if "schema" in changes:
        tables["schema"] = {k: v for k, v in tables["schema"].items() if v is not None}
    with pytest.raises(fk.InputError, match=message):
        fk.Policy.from_dict(tables)
