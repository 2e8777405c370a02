"""Limits of risk: prosecutor, average, uniqueness and journalist, by every person of a release."""

import json
import random
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.examples import NIGHTLY
from tests.oracle.risks import figures_in, first_of
from tests.oracle.risks import figures_of_risk_figures as figures

import foreknow as fk
from foreknow_judge.errors import DataError

TIMES = 20_000 if NIGHTLY else 200
PUBLISHED = 600 if NIGHTLY else 3
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
        found, counts = figures(rows, ["group"]), fk.GroupCounts.from_bags(bags)
        asked, strict = limits_of(draw, found)
        rule = fk.Risk(**asked, strict=strict)
        amount, holds = first_of(found, asked, strict)
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


METHODS = [
    (fk.Mondrian(), "generalized"),
    (fk.Mondrian(suppression=0.2), "generalized"),
    (fk.FullDomain(), "generalized"),
    (fk.FullDomain(suppression=0.2), "generalized"),
    (fk.Mondrian(), "bucketized"),
]


@pytest.mark.parametrize(("method", "form"), METHODS, ids=str)
def test_published_rows_keep_limits(method, form, tmp_path):
    draw, made = random.Random(repr(method) + form), 0
    labels = {"sex": "exact"} if form == "generalized" else {}
    for place in range(PUBLISHED * (6 if form == "bucketized" else 2)):
        table = drawn(draw, 2 if form == "bucketized" else 24)
        few = {
            "prosecutor": Fraction(1, draw.randint(2, 6)),
            "average": Fraction(1, draw.randint(2, 6)),
            "uniqueness": Fraction(draw.randint(0, 2), 10),
        }
        asked = {name: few[name] for name in draw.sample(sorted(few), draw.randint(1, 3))}
        asked = {name: asked[name] for name in few if name in asked}
        strict = draw.random() < 0.3 and asked.get("uniqueness") != 0
        policy = policy_of(fk.Risk(**asked, strict=strict), form=form, labels=labels)
        plain = [{k: str(v) for k, v in row.items()} for row in table.to_pylist()]
        whole = figures([{"all": 1}] * len(plain), ["all"])
        try:
            release = fk.publish(table, policy, method=method)
        except fk.NoSafeRelease:
            own = figures(plain, ["age", "sex"]) if form == "bucketized" else whole
            assert not first_of(own, asked, strict)[1], (asked, strict)
            continue
        made += 1
        release.write(tmp_path / str(place))
        written = release.to_arrow("people" if form == "bucketized" else None).to_pylist()
        found = figures([{k: str(v) for k, v in row.items()} for row in written], ["age", "sex"])
        amount, holds = first_of(found, asked, strict)
        assert holds
        assert release.audit.criteria[0].reached == amount
        (verdict,) = fk.verify(tmp_path / str(place)).findings
        assert verdict.safe
        risk = fk.risk_report(tmp_path / str(place))
        assert (risk.prosecutor.highest, risk.prosecutor.average, risk.unique_share) == (
            *(found["prosecutor"], found["average"], found["uniqueness"]),
        )
    assert made > PUBLISHED // 5


def test_searches_use_the_average():
    table = pa.table({"age": [20] * 9 + [40], "sex": ["f"] * 10, "ill": ["a", "b"] * 5})
    exact = {"labels": {"age": "exact", "sex": "exact"}}
    for rule, groups in (
        (fk.Risk(average="1/5"), 2),
        (fk.Risk(average="1/5", strict=True), 1),
        (fk.Risk(uniqueness="1/10"), 2),
        (fk.Risk(uniqueness=0), 1),
    ):
        for method in (fk.Mondrian(), fk.FullDomain()):
            made = fk.publish(table, policy_of(rule, **exact), method=method)
            assert made.release.counts.n_groups == groups


# ---- against a population -----------------------------------------------------------------------


def box(draw):
    low = draw.randint(0, 5)
    return low, low + draw.randint(0, 3), draw.choice("mf*")


def covers(row, person):
    low, high, sex = row
    return low <= person[0] <= high and sex in ("*", person[1])


def label(low, high, sex):
    return (str(low) if low == high else f"{low} to {high}", sex)


def ages_of(people, **more):
    return pa.table({"age": [p[0] for p in people], "sex": [p[1] for p in people], **more})


def test_populations_are_compared_by_person():
    draw, compared = random.Random(3), 0
    for _ in range(TIMES):
        people = [(draw.randint(0, 8), draw.choice("mf")) for _ in range(draw.randint(2, 9))]
        found = {}
        for own in {box(draw) for _ in range(draw.randint(1, 3))}:
            inside = sum(covers(own, person) for person in people)
            if inside:
                found[own] = draw.randint(1, min(inside, 2))
        rows = [own for own, size in sorted(found.items()) for _ in range(size)]
        if not rows:
            continue
        table = ages_of([label(*own) for own in rows], ill=["x"] * len(rows))
        release = fk.Release.from_generalized(
            table, quasi_identifiers=["age", "sex"], sensitive="ill"
        )
        everybody = ages_of(people)
        truth = figures_in(rows, people, covers)
        asked, strict = limits_of(draw, truth)
        rule = fk.PopulationRisk(**asked, population=everybody, strict=strict)
        try:
            amount = rule.measure(release)
        except DataError:
            continue  # no register of these people
        compared += 1
        assert (amount, rule.holds(release)) == first_of(truth, asked, strict)
        assert rule.fails(release.counts).any() == (not rule.holds(release))
    assert compared > TIMES // 3


def test_journalist_risk_end_to_end(tmp_path):
    people = [(age, sex) for age in range(20, 60) for sex in "mf" for _ in range(3)]
    everybody, table = ages_of(people), ages_of(people[::2], ill=["a", "b"] * 60)
    rule = fk.PopulationRisk(journalist="1/11", uniqueness=0, population=everybody)
    with pytest.raises(fk.NoSafeRelease, match="journalist risk of") as refused:
        fk.publish(table, policy_of(rule, labels={"age": "exact"}), method="fulldomain")
    assert "k_anonymity = 11" in "\n".join(refused.value.way_out)
    both = [fk.Requirement(rule), fk.Requirement(fk.KAnonymity(11))]
    made = fk.publish(table, fk.Policy(both, SCHEMA))
    made.write(tmp_path / "out")
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
    said = json.loads(path.read_text())
    lies = [("prosecutor", "1/1000"), ("average", "1/1000"), ("strict", True), ("average", "x")]
    for key, lie in lies:
        told = json.loads(json.dumps(said))
        for own in (told["policy"]["require"][0], told["findings"][0]["judged"]):
            own["risk"][key] = lie
        path.write_text(json.dumps(told))
        with pytest.raises(fk.InputError):
            fk.verify(tmp_path / "out")


def test_policies_with_limits_round_trip(tmp_path):
    text = """
    [schema]
    quasi_identifiers = ["age", "sex"]
    sensitive = "ill"
    [[require]]
    risk = { prosecutor = 0.09, average = "1/20", uniqueness = 0 }
    [[require]]
    risk = { prosecutor = 0.2, strict = true }
    [[require]]
    population_risk = { journalist = 0.09, population = "all.csv" }
    """
    (tmp_path / "policy.toml").write_text(text)
    policy = fk.Policy.load(tmp_path / "policy.toml")
    assert [own.criterion for own in policy.requirements][:2] == [
        fk.Risk(prosecutor=0.09, average=0.05, uniqueness=0),
        fk.Risk(prosecutor=0.2, strict=True),
    ]
    assert policy.requirements[0].criterion.least == 12
    assert policy.requirements[1].criterion.least == 6
    policy.save(tmp_path / "again.toml")
    assert fk.Policy.load(tmp_path / "again.toml").to_dict() == policy.to_dict()


@pytest.mark.parametrize(
    ("make", "said"),
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
def test_invalid_limits_are_named(make, said):
    with pytest.raises(fk.InputError, match=said):
        make()


def test_several_cases_refuse_row_counts():
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill", person="who", unit="row")
    for rule in (fk.Risk(0.5), fk.PopulationRisk(0.5, population="x.csv")):
        with pytest.raises(fk.InputError, match="rows are cases of 'who': require k_anonymity"):
            fk.Policy([fk.Requirement(rule)], schema)


def test_decoy_refuses_averages():
    asked = [fk.Requirement(fk.Facts(), 0.99)]

    def publish(rule):
        policy = fk.Policy([*asked, fk.Requirement(rule)], SCHEMA, OPTIONS)
        return fk.publish(drawn(random.Random(6)), policy, method="decoy")

    assert min(publish(fk.Risk("1/3")).release.counts.sizes) >= 3
    with pytest.raises(fk.InputError, match="Risk"):
        publish(fk.Risk(average="1/3"))
