"""Columns that come later, judged together with releases that lack them."""

import csv
import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.cohorts import UNKNOWN, Cohorts
from foreknow_judge.errors import CertificateError
from foreknow_judge.written import Written

FACTS = 0, 1, 0
LOOSE = "999999/1000000"
ROLES = {"identifiers": ["pid"], "quasi_identifiers": ["ward"], "sensitive": "ill"}


def policy(*required, publish=None, **schema):
    facts = {"facts": dict(zip("lkm", FACTS, strict=True)), "below": LOOSE}
    return fk.Policy.from_dict({
        "schema": {**ROLES, **schema},
        "require": [facts, *required],
        "publish": publish or {},
    })  # fmt: skip


def with_job(*required, **more):
    return policy(*required, quasi_identifiers=["ward", "job"], **more)


def register(draw, size):
    columns = {
        "pid": [f"p{i}" for i in range(size)],
        "ward": [draw.choice("NS") for _ in range(size)],
        "job": [draw.choice(["cook", "clerk"]) for _ in range(size)],
        "ill": [draw.choice(["flu", "cold", "HIV"]) for _ in range(size)],
    }
    return pa.table(columns)


def two_years(folder, table, first, rules, before=None):
    """January of some people without their jobs, and March of all, with them."""
    folder.mkdir(exist_ok=True)
    fk.publish(table.slice(0, first).drop_columns("job"), before or policy(), seed=1).write(
        folder / "january"
    )
    made = fk.publish(table, rules, after=[folder / "january"], seed=1)
    made.write(folder / "march")
    return made


def bags_of(folder):
    """The values of people whose published labels are the same."""
    bags = defaultdict(list)
    with (folder / "release.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            bags[tuple(text for name, text in row.items() if name != "ill")].append(row["ill"])
    return [*bags.values()]


def surest_of_two(bag):
    """How sure somebody is of a person's value at most, who knows one other of the group."""
    pairs = Counter(permutations(bag, 2))
    known = Counter(other for _, other in permutations(bag, 2))
    return max(Fraction(times, known[other]) for (_, other), times in pairs.items())


@pytest.mark.parametrize("seed", range(3))
def test_worst_case_of_all_releases(tmp_path, seed):
    """Whoever knows jobs is no surer of the people of a release without jobs."""
    rules = with_job(publish={"labels": {"ward": "exact", "job": "exact"}})
    table, before = register(random.Random(seed), 40), policy(publish={"labels": {"ward": "exact"}})
    made = two_years(tmp_path, table, 15, rules, before)
    bags = [*bags_of(tmp_path / "january"), *bags_of(tmp_path / "march")]
    assert len(bags) > 3
    worst = max(map(surest_of_two, bags))
    verified = fk.verify(tmp_path / "march", after=tmp_path / "january")
    both = fk.audit([tmp_path / "january", tmp_path / "march"], rules)
    for verdict in (made.together.verdicts[0], verified.together[0], both.verdicts[0]):
        assert verdict.reached == worst


def test_criteria_of_an_added_column(tmp_path):
    """People of a release without jobs look alike in them."""
    table = register(random.Random(3), 60)
    asked = with_job({"k_anonymity": {"k": 3, "of": [["job"], ["ward", "job"]]}})
    two_years(tmp_path, table, 30, asked)
    both = fk.audit([tmp_path / "january", tmp_path / "march"], asked)
    assert both.safe
    assert {label[2] for label in both.counts.groups if label[0] == "january"} == {UNKNOWN}
    assert fk.verify(tmp_path / "march", after=tmp_path / "january").people_of_all == 60
    third = table.set_column(0, "pid", [[f"q{i}" for i in range(60)]])
    made = fk.publish(third, asked, after=[tmp_path / "january", tmp_path / "march"], seed=1)
    made.write(tmp_path / "may")
    verified = fk.verify(tmp_path / "may", after=[tmp_path / "january", tmp_path / "march"])
    assert verified.people_of_all == 120


@pytest.mark.parametrize(
    ("schema", "said", "way_out"),
    [
        ({"sensitive": ["ill", "job"]}, "has no job", {"quasi_identifiers": ["ward", "job"]}),
        ({"sensitive": ["ill", "job"]}, 'sensitive = ["ill"]', {"sensitive": ["ill"]}),
        ({"other": ["job"]}, "has no job", {"quasi_identifiers": ["ward", "job"]}),
        ({"other": ["job"]}, "other = []", {"other": []}),
    ],
)
def test_other_roles_are_refused(tmp_path, schema, said, way_out):
    """Before anything is searched; the way out that is printed works."""
    table = register(random.Random(3), 60)
    loose = {"facts": {}, "below": LOOSE, "sensitive": "ill"}
    rules = fk.Policy.from_dict({"schema": {**ROLES, **schema}, "require": [loose]})
    with pytest.raises(SchemaError) as caught:
        two_years(tmp_path, table, 30, rules)
    assert said in str(caught.value)
    assert two_years(tmp_path / "again", table, 30, policy(**way_out)).together.safe


def test_lost_columns_are_refused(tmp_path):
    table = register(random.Random(3), 60)
    fk.publish(table.slice(0, 30), with_job(), seed=1).write(tmp_path / "january")
    with pytest.raises(SchemaError, match="groups by job: add it to quasi_identifiers"):
        fk.publish(table.drop_columns("job"), policy(), after=tmp_path / "january")
    jobless = table.set_column(2, "job", [["unknown"] * 60])
    assert fk.publish(jobless, with_job(), after=tmp_path / "january", seed=1).together.safe
    earlier, later = (
        Written("generalized", groups, "ill", {"release": table})
        for groups in (["ward", "job"], ["ward"])
    )
    with pytest.raises(CertificateError, match="other columns"):
        Cohorts.of({"january": earlier, "march": later})


@pytest.mark.parametrize(
    ("schema", "publish"),
    [({}, {"form": "bucketized"}), ({"person": "pid", "unit": "row"}, {})],
)
def test_other_forms_are_refused(tmp_path, schema, publish):
    table = register(random.Random(3), 60)
    rules = with_job(publish=publish, **schema)
    before = policy(publish=publish, **schema)
    with pytest.raises(SchemaError, match="leave it out of quasi_identifiers"):
        two_years(tmp_path, table, 30, rules, before)
    assert fk.publish(table, before, after=tmp_path / "january", seed=1).together.safe
