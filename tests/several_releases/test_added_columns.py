"""Columns that come later, judged together with releases that lack them."""

import csv
import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations, product

import pyarrow as pa
import pytest
from tests.examples import NIGHTLY

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.counts.cohorts import Cohorts
from foreknow_judge.errors import CertificateError, UnsupportedError
from foreknow_judge.files.written_release import Written
from foreknow_judge.knowledge.impossible_values import Rules

FACTS = 0, 1, 0
LOOSE = "999999/1000000"
RULES = [{"sensitive": "ill", "values": ["HIV"], "where": {"ward": ["W"]}}]
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
    publication = fk.publish(table, rules, after=[folder / "january"], seed=1)
    publication.write(folder / "march")
    return publication


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
    counts = Counter(other for _, other in permutations(bag, 2))
    return max(Fraction(times, counts[other]) for (_, other), times in pairs.items())


@pytest.mark.parametrize("seed", range(3))
def test_worst_case_of_all_releases(tmp_path, seed):
    """Whoever knows jobs is no surer of the people of a release without jobs."""
    rules = with_job(publish={"labels": {"ward": "exact", "job": "exact"}})
    table, before = register(random.Random(seed), 40), policy(publish={"labels": {"ward": "exact"}})
    result = two_years(tmp_path, table, 15, rules, before)
    bags = [*bags_of(tmp_path / "january"), *bags_of(tmp_path / "march")]
    assert len(bags) > 3
    worst = max(map(surest_of_two, bags))
    verified = fk.verify(tmp_path / "march", after=tmp_path / "january")
    audit = fk.audit([tmp_path / "january", tmp_path / "march"], rules)
    for verdict in (result.together.verdicts[0], verified.together[0], audit.verdicts[0]):
        assert verdict.reached == worst


def rows_of(folder):
    """The published rows of each label of wards."""
    rows = defaultdict(list)
    with (folder / "release.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows[row["ward"]].append((row["ill"], row.get("job")))
    return [*rows.values()]


def surest_in_worlds(rows, secret):
    """How sure somebody is of a person's secret, at most, who knows all else, and one secret more.

    A world gives the rows of a group to its people; one that knows all else is left those in which
    everybody has the other value that is known of them.
    """
    beside = 1 - secret
    known = [row[beside] for row in rows]
    worlds = {world for world in permutations(rows) if [row[beside] for row in world] == known}
    chances = [Fraction(0)]
    for person, other in permutations(range(len(rows)), 2):
        pairs = Counter((world[other][secret], world[person][secret]) for world in worlds)
        times = Counter(world[other][secret] for world in worlds)
        chances += [Fraction(number, times[fact]) for (fact, _), number in pairs.items()]
    return max(chances)


def hiding(*columns, publish=None, **schema):
    facts = {"facts": dict(zip("lkm", FACTS, strict=True)), "below": LOOSE}
    require = [{**facts, "sensitive": column} for column in columns]
    roles = {**ROLES, "sensitive": [*columns], **schema}
    return fk.Policy.from_dict({"schema": roles, "require": require, "publish": publish or {}})


def by_wards(draw):
    """A register of two wards in the first year, and of two in the second, and its first people.

    Each value of a year stands beside each of the other column twice, or once more.
    """
    columns, first = defaultdict(list), 0
    for year, wards in enumerate(("NS", "NE")):
        for ward in wards:
            pairs = [*product(["flu", "cold"], ["cook", "clerk"])] * 2
            pairs.append((draw.choice(["flu", "cold"]), draw.choice(["cook", "clerk"])))
            for ill, job in pairs[: 9 if year else draw.choice([4, 6, 8])]:
                columns["pid"].append(f"p{len(columns['pid'])}")
                columns["ward"].append(ward)
                columns["job"].append(job)
                columns["ill"].append(ill)
        first = first or len(columns["pid"])
    return pa.table(dict(columns)), first


@pytest.mark.parametrize("seed", range(6 if NIGHTLY else 1))
def test_secret_in_all_worlds(tmp_path, seed):
    """Whoever knows all jobs learns no more from releases without; jobs are secrets of one."""
    table, first = by_wards(random.Random(seed))
    exact = {"labels": {"ward": "exact"}}
    before, rules = hiding("ill", publish=exact), hiding("ill", "job", publish=exact)
    result = two_years(tmp_path, table, first, rules, before)
    january, march = rows_of(tmp_path / "january"), rows_of(tmp_path / "march")
    assert [*map(len, march)] == [9, 9]
    ill = max(surest_in_worlds(rows, 0) for rows in [*january, *march])
    job = max(surest_in_worlds(rows, 1) for rows in march)
    verified = fk.verify(tmp_path / "march", after=tmp_path / "january")
    audit = fk.audit([tmp_path / "january", tmp_path / "march"], rules)
    for verdicts in (result.together.verdicts, verified.together, audit.verdicts):
        assert [verdict.reached for verdict in verdicts] == [ill, job]


def test_people_of_all_releases(tmp_path):
    """A criterion of people counts those, too, whose release lacks the column that it names."""
    table = register(random.Random(3), 100)
    rules = hiding("ill", "job")
    rules = fk.Policy(
        [*rules.requirements, fk.Requirement(fk.KAnonymity(2), sensitive="job")], rules.schema
    )
    result = two_years(tmp_path, table, 20, rules, hiding("ill"))
    fewest = min(len(rows) for year in ("january", "march") for rows in rows_of(tmp_path / year))
    verified = fk.verify(tmp_path / "march", after=tmp_path / "january")
    assert result.together.verdicts[2].reached == verified.together[2].reached == fewest
    assert "has job, so that is judged of those that have" in str(result.since)


@pytest.mark.parametrize("first", [True, False])
def test_shuffled_in_one_year(tmp_path, first):
    table = register(random.Random(3), 60)
    linked, shuffled = (
        hiding("ill", "job", publish={"unlinked": names}) for names in ([], ["job"])
    )
    before, now = (shuffled, linked) if first else (linked, shuffled)
    fk.publish(table.slice(0, 30), before, seed=1).write(tmp_path / "january")
    with pytest.raises(UnsupportedError, match="differ in the shuffled columns"):
        fk.publish(table, now, after=tmp_path / "january")


def test_added_other_column(tmp_path):
    """A column that is known of everybody divides the groups of the releases that show it."""
    table = register(random.Random(5), 80)
    result = two_years(tmp_path, table, 40, hiding("ill", other=["job"]), hiding("ill"))
    bags = [*bags_of(tmp_path / "january"), *bags_of(tmp_path / "march")]
    worst = max(map(surest_of_two, bags))
    verified = fk.verify(tmp_path / "march", after=tmp_path / "january")
    assert result.together.verdicts[0].reached == verified.together[0].reached == worst
    assert len(bags) > len(rows_of(tmp_path / "january")) + len(rows_of(tmp_path / "march"))


def test_secret_of_third_release(tmp_path):
    """Two releases that show it are judged together on it, and the first one on what it shows."""
    table = register(random.Random(3), 160)
    two_years(tmp_path, table.slice(0, 100), 50, hiding("ill", "job"), hiding("ill"))
    before = [tmp_path / "january", tmp_path / "march"]
    publication = fk.publish(table, hiding("ill", "job"), after=before, seed=1)
    publication.write(tmp_path / "may")
    verified = fk.verify(tmp_path / "may", after=before)
    reached = [verdict.reached for verdict in publication.together.verdicts]
    assert [verdict.reached for verdict in verified.together] == reached
    later = [fk.audit(folder, hiding("ill", "job")) for folder in (before[1], tmp_path / "may")]
    assert reached[1] == max(audit.verdicts[1].reached for audit in later)
    with pytest.raises(SchemaError, match=r"shows other columns: write sensitive = \["):
        fk.publish(table, hiding("ill"), after=before)


@pytest.mark.parametrize(
    ("more", "before", "as_label"),
    [
        ({"publish": {"unlinked": ["job"]}}, {}, True),
        ({"publish": {"form": "bucketized"}}, {"publish": {"form": "bucketized"}}, False),
        ({"impossible": RULES}, {"impossible": RULES}, False),
        ({"person": "pid", "unit": "row"}, {"person": "pid", "unit": "row"}, False),
    ],
)
def test_refused_secrets(tmp_path, more, before, as_label):
    """Before anything is searched; the ways out that are printed work."""
    table = register(random.Random(3), 60)
    if "impossible" in more:
        healthy = ["flu" if value == "HIV" else value for value in table.column("ill").to_pylist()]
        wards = ["NSW"[number % 3] for number in range(60)]
        table = table.set_column(1, "ward", [wards]).set_column(3, "ill", [healthy])
    with pytest.raises(SchemaError, match="has no job, so what is new") as caught:
        two_years(tmp_path, table, 30, hiding("ill", "job", **more), hiding("ill", **before))
    assert 'write sensitive = ["ill"]' in str(caught.value)
    assert ("to quasi_identifiers instead" in str(caught.value)) == as_label
    ways_out = [{}, *[{"quasi_identifiers": ["ward", "job"]}] * as_label]
    for number, way_out in enumerate(ways_out):
        rules = hiding("ill", **before, **way_out)
        result = two_years(tmp_path / str(number), table, 30, rules, hiding("ill", **before))
        assert result.together.safe


def test_order_of_secrets(tmp_path):
    table = register(random.Random(3), 60)
    with pytest.raises(SchemaError, match=r'in this order: sensitive = \["ill", "job"\]'):
        two_years(tmp_path, table, 30, hiding("job", "ill"), hiding("ill"))


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


def test_rules_beside_secrets():
    """The judge does not read who cannot have what, where a column came later."""
    rules = Rules.of({"impossible": RULES, "quasi_identifiers": ["ward"]})
    earlier, later = (
        Written("generalized", ["ward"], "ill", {"release": None}, parts=parts, rules=rules)
        for parts in ({"ill": "release"}, {"ill": "release", "job": "release"})
    )
    Cohorts.of({"january": earlier, "march": earlier})
    with pytest.raises(CertificateError, match="impossible"):
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
