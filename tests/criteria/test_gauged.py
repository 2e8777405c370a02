"""A criterion that is one file of the judge: the trunk makes its class, and all doors know it."""

import pickle
import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from pydantic import Field
from tests.common import NIGHTLY

import foreknow as fk
from foreknow.criteria import gauged
from foreknow.criteria.diversity import LDiversity
from foreknow.criteria.registry import OURS, asks_groups
from foreknow_judge.criteria.gauge import Gauge
from foreknow_judge.criteria.gauges import CRITERIA, GAUGES
from foreknow_judge.errors import InputError
from foreknow_judge.policy.settings import FromOne, Settings

# Everything that is added: in a group, no value is that of more than a share of the people.
MAX_SHARE = '''
"""No value is that of more than a share of a group."""

from foreknow_judge.counts.group_bags import GroupBags, Measured, highest
from foreknow_judge.criteria.gauge import AsFraction, Gauge
from foreknow_judge.errors import CertificateError
from foreknow_judge.policy.settings import Settings


class MaxShareSettings(Settings):
    share: AsFraction


def gauge_max_share(groups: GroupBags, settings: MaxShareSettings) -> Measured:
    """The largest share of a group that has one value."""
    if not 0 < settings.share <= 1:
        raise CertificateError("wrong-setting", "max_share")
    share, group = highest(groups.top_sum(1), groups.people)
    return Measured(share, groups.group(group), share <= settings.share)


GAUGES = {
    "max_share": Gauge(gauge_max_share, settings=MaxShareSettings, by_group=True, merges=True)
}
'''
# What a user does with it, in a process of its own: `sys.argv` has the folder of the file.
JOB = """
import csv, json, random, sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import foreknow_judge.criteria

folder = Path(sys.argv[1])
foreknow_judge.criteria.__path__.append(str(folder))

import pandas as pd
import foreknow as fk
from foreknow.errors import NoSafeRelease
from foreknow_judge.output_lines import main as judge

published = refused = 0
for seed in range(int(sys.argv[2])):
    rng = random.Random(seed)
    n, share = rng.randint(4, 30), Fraction(rng.randint(1, 6), 6)
    rows = {"age": [rng.randint(20, 29) for _ in range(n)], "ill": rng.choices("aaabbcd", k=n)}
    method = ["mondrian", "fulldomain"][seed % 2]
    policy = {
        "schema": {"quasi_identifiers": ["age"], "sensitive": "ill"},
        "require": [{"max_share": {"share": str(share)}}],
        "publish": {"method": method},
    }
    if method == "fulldomain":
        policy["schema"]["hierarchies"] = {"age": {"steps": [5]}}
    target = folder / f"out{seed}"
    whole = Fraction(max(Counter(rows["ill"]).values()), n)
    try:
        fk.publish(pd.DataFrame(rows), policy, seed=seed).save(target)
    except NoSafeRelease:
        assert whole > share, (seed, whole, share)
        refused += 1
        continue
    assert whole <= share, (seed, whole, share)
    groups = {}
    for row in csv.DictReader((target / "release.csv").open()):
        groups.setdefault(row["age"], Counter())[row["ill"]] += 1
    worst = max(Fraction(max(bag.values()), sum(bag.values())) for bag in groups.values())
    certificate = json.loads((target / "certificate.json").read_text())
    assert Fraction(certificate["findings"][0]["exact"]) == worst <= share
    assert fk.audit(target, policy).safe
    fk.verify(target)  # raises an error if anything fails
    assert judge([str(target)]) == 0
    published += len(groups) > 1
    stricter = {"share": str(worst / 2)}
    certificate["policy"]["require"][0]["max_share"] = stricter
    certificate["findings"][0]["judged"]["max_share"] = stricter
    (target / "certificate.json").write_text(json.dumps(certificate))
    assert judge([str(target)]) != 0
print(published, refused)
"""


@pytest.fixture
def declare(monkeypatch):
    """Make the class of a gauge, as if a file of the judge had it."""

    def made(key, gauge):
        gauged.class_of.cache_clear()
        monkeypatch.setitem(GAUGES, key, gauge)
        monkeypatch.setitem(CRITERIA, key, gauge.settings)
        monkeypatch.setitem(OURS, key, f"foreknow.criteria.gauged:criterion_{key}")
        return gauged.class_of(key)

    yield made
    gauged.class_of.cache_clear()


@pytest.fixture
def like_diversity(declare):
    """The class that is made of the gauge of l-diversity."""
    return declare("like_diversity", GAUGES["l_diversity"]._replace(by_group=True, merges=True))


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_decides_as_a_class(like_diversity, kind):
    rng = random.Random(kind)
    for _ in range(2_000 if NIGHTLY else 60):
        bags = [rng.choices("aabcd", k=rng.randint(1, 8)) for _ in range(rng.randint(1, 6))]
        counts = fk.GroupCounts.from_bags(bags)
        settings = {"l": rng.randint(2, 4), "kind": kind}
        if kind == "recursive":
            settings["c"] = Fraction(rng.randint(1, 6), 2)
        ours, made = LDiversity(**settings), like_diversity(**settings)
        assert made.holds(counts) == ours.holds(counts)
        assert made.failing(counts).tolist() == ours.failing(counts).tolist()
        assert made.limits_values() == ours.limits_values()
        if np.isfinite(float(ours.measure(counts))):
            assert made.measure(counts) == ours.measure(counts)


def test_settings_are_read(like_diversity):
    assert like_diversity(3).to_dict() == {"like_diversity": {"l": 3, "kind": "distinct"}}
    for wrong in {"l": 2, "kind": "odd"}, {"l": 0, "kind": "entropy"}, {"l": 2, "c": 1}:
        with pytest.raises(InputError, match="like_diversity"):
            like_diversity(**wrong)
    with pytest.raises(AttributeError):
        gauged.__getattr__("criterion_t_closeness")  # it compares groups with the table


SCHEMA = {"quasi_identifiers": ["age"], "sensitive": "ill"}


class Listed(Settings):
    """Settings with a default before what must be given, and with lists."""

    kinds: list[str] = Field([])
    by_name: dict[str, int] = Field(default_factory=dict)
    n: int


class Taken(Settings):
    """A setting that would replace the gauge of the class."""

    gauge: int


def at_least(groups, settings):
    """The fewest people with a value that occurs, whatever the value."""
    limit = getattr(settings, "n", settings)
    fewest = int(groups.counts.min())
    return fewest, groups.group(int(groups.of_group[groups.counts.argmin()])), fewest >= limit


def of_ill(groups, settings):
    """The most people of a group who are ill; they must be fewer than two."""
    most = max(bag.get(settings, 0) for _, bag in groups.values())
    return most, groups.group(0), np.bool_(most < 2)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (FromOne, {"amount": 2}),
        (FromOne | Listed, {"amount": {"n": 2, "kinds": ["a"]}}),
        (Listed, {"n": 2}),
        (Listed, {"n": 2, "kinds": ["a", "b"], "by_name": {"a": 1}}),
    ],
)
def test_settings_of_any_type(declare, kind, given):
    made = declare("probe", Gauge(at_least, settings=kind, by_group=True, merges=True))(**given)
    table = made.to_dict()
    (read,) = fk.Policy.from_dict({"require": [table]}).requirements
    assert read.criterion == made == pickle.loads(pickle.dumps(made))
    assert made.to_dict() == table
    assert made.failing(fk.GroupCounts.from_bags(["aabb", "aab"])).tolist() == [False, True]
    # Only small groups fail, so who has what is not limited.
    assert not made.limits_values()
    assert not made.limits_values(fk.GroupCounts.from_bags(["aab"]))


def test_value_of_settings_is_limited(declare):
    made = declare("probe", Gauge(of_ill, settings=str, by_group=True))("flu")
    assert made.limits_values()
    assert made.limits_values(fk.GroupCounts.from_bags([["flu", "flu", "cold"]]))
    assert not made.limits_values(fk.GroupCounts.from_bags([["cold"]]))
    assert not made.limits_values(fk.GroupCounts.from_bags([["flu"], ["cold"]]))  # of one person
    assert made.holds(fk.GroupCounts.from_bags([["flu", "cold"]]))


def test_ways_out_change_numbers(declare):
    made = declare("probe", Gauge(of_ill, settings=str, by_group=True))("flu")
    policy = {"schema": SCHEMA, "require": [made.to_dict()]}
    table = pd.DataFrame({"age": [20, 30, 40], "ill": ["flu", "flu", "cold"]})
    with pytest.raises(fk.NoSafeRelease) as failed:
        fk.publish(table, policy)
    assert "write" not in str(failed.value)


def test_what_a_class_cannot_have(declare):
    with pytest.raises(InputError, match="cannot be called 'gauge'"):
        declare("probe", Gauge(at_least, settings=Taken, by_group=True))
    gauge = Gauge(at_least, settings=FromOne, by_group=True)
    assert asks_groups(gauge)
    for flag in ["of_classes", "of_population", "of_columns", "of_labels", "of_releases"]:
        assert not asks_groups(gauge._replace(**{flag: True}))


@pytest.mark.parametrize("key", ["k_anonymity", "facts"])
def test_no_file_replaces_another(tmp_path, key):
    (tmp_path / "zeal.py").write_text(f"GAUGES = {{{key!r}: None}}")
    job = f"from foreknow_judge import criteria; criteria.__path__.append({str(tmp_path)!r})"
    run = [sys.executable, "-c", f"{job}; import foreknow_judge.criteria.gauges"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert "zeal: GAUGES has a key that is taken" in done.stderr


def test_one_file_is_a_criterion(tmp_path):
    (tmp_path / "max_share.py").write_text(MAX_SHARE)
    run = [sys.executable, "-c", JOB, tmp_path, "400" if NIGHTLY else "14"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    published, refused = map(int, done.stdout.split()[-2:])
    assert published > 3
    assert refused > 1
