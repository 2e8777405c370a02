"""What holds of every registered method: groups, seeds, missing values, refusals, safety."""

import random
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.examples import NIGHTLY
from tests.oracle import posterior_worlds, worlds
from tests.people import short_report

import foreknow as fk
from foreknow.methods.protocol import traits_of
from foreknow.methods.registry import METHODS, method_of
from foreknow_judge.errors import PolicyError, UnsupportedError

VARIANTS = ["rda", "ria", "gda", "gsa"]
CASES = [(key, {}) for key, _ in METHODS if key not in ("streamliner", "anatomy")]
CASES += [("anatomy", {"l": 2}), *(("streamliner", {"l": 2, "variant": v}) for v in VARIANTS)]
EVERY = pytest.mark.parametrize(
    ("key", "settings"), CASES, ids=["-".join([k, *map(str, s.values())]) for k, s in CASES]
)
KEYS = pytest.mark.parametrize("key", [key for key, _ in METHODS])
ROLES = {"quasi_identifiers": ["sex", "age"], "sensitive": "disease", "missing": "drop"}


def people(n=60, seed=1, letters="abcdef"):
    draw = random.Random(seed)
    return pa.table(
        {
            "sex": [draw.choice("mf") for _ in range(n)],
            "age": [draw.randint(20, 59) for _ in range(n)],
            "disease": draw.sample([letters[i % len(letters)] for i in range(n)], n),
        }
    )


def with_gaps(rows, *gaps):
    values = [None if i in gaps else v for i, v in enumerate(rows["disease"].to_pylist())]
    return rows.set_column(2, "disease", pa.array(values, pa.string()))


def policy_for(key, settings, rows, below="0.6", known=0, form="bucketized", name=None):
    """About facts; for ART about priors by sex."""
    if key == "art":
        priors = fk.Priors.learn(rows.filter(rows["disease"].is_valid()), ["sex"], "disease")
        asked = fk.Requirement(priors, at_most=below)
    else:
        asked = fk.Requirement(fk.Facts(known), below)
    options = fk.PublishOptions(method=key, form=form, settings={key: settings} if settings else {})
    return fk.Policy([asked], fk.Schema(**ROLES), options)


def partition(key, settings, rows, seed=None, **more):
    policy = policy_for(key, settings, rows, **more)
    return method_of(key, policy).partition(fk.Microdata(rows, policy.schema), policy, seed=seed)


@EVERY
def test_all_rows_with_a_value_are_grouped_without_gaps_and_no_others(key, settings):
    rows = with_gaps(people(), 3, 11)
    groups = partition(key, settings, rows, seed=1)
    assert (groups.dtype, groups.shape) == (np.int64, (60,))
    assert np.flatnonzero(groups < 0).tolist() == [3, 11]
    assert set(groups[[3, 11]].tolist()) == {-1}
    kept = groups[groups >= 0]
    assert set(kept.tolist()) == set(range(int(kept.max()) + 1))
    assert sum(Counter(kept.tolist()).values()) == 58


@EVERY
def test_a_seed_repeats_the_groups_and_no_seed_is_needed(key, settings):
    rows = people(120)
    first = partition(key, settings, rows, seed=5)
    assert first.tolist() == partition(key, settings, rows, seed=5).tolist()
    assert first.tolist() == partition(key, settings, rows, seed=np.int64(5)).tolist()
    if traits_of(method_of(key, policy_for(key, settings, rows))).deterministic:
        assert first.tolist() == partition(key, settings, rows).tolist()
    elif key == "anatomy" or settings.get("variant") in ("rda", "gsa"):
        fresh = [partition(key, settings, rows).tolist() for _ in range(3)]
        assert len({tuple(groups) for groups in (first.tolist(), *fresh)}) == 4


@pytest.mark.parametrize("seed", [-1, "x", 1.5, True])
@pytest.mark.parametrize(("key", "settings"), [case for case in CASES if case[1]])
def test_a_seed_that_is_no_whole_number_is_refused(key, settings, seed):
    message = f"{key.title()}: seed must be a whole number from 0, or None, not {seed!r}"
    with pytest.raises(fk.InputError, match=re.escape(message)):
        partition(key, settings, people(), seed=seed)


def worst(policy, rows, groups):
    """The highest posterior by enumeration, of the requirement of the policy."""
    (point,) = policy.requirements[0].points
    sexes, values = rows["sex"].to_pylist(), rows["disease"].to_pylist()
    members = [np.flatnonzero(groups == g).tolist() for g in range(int(groups.max()) + 1)]
    bags = [[values[i] for i in own] for own in members]
    if isinstance(point.adversary, fk.Facts):
        known = (point.adversary.l, 0, 0)
        return max(worlds.worst_cases(bags, x, known)[known] for x in set(values))
    both, of_sex = Counter(zip(sexes, values, strict=True)), Counter(sexes)
    priors = [{x: Fraction(both[sex, x], of_sex[sex]) for x in set(values)} for sex in sexes]
    return max(
        chance
        for own, bag in zip(members, bags, strict=True)
        for found in posterior_worlds.joint([priors[i] for i in own], bag)
        for chance in found.values()
    )


@EVERY
def test_what_is_made_of_small_tables_under_a_policy_is_safe_by_enumeration(key, settings):
    draw, made = random.Random(f"{key}{settings}"), 0
    for seed in range(25):
        if made == (25 if NIGHTLY else 4):
            break
        rows = people(draw.choice([5, 6, 7]), seed, draw.choice(["ab", "abc", "abcd"]))
        known = 0 if key == "art" else draw.choice([0, 0, 1])
        limit = Fraction(draw.choice(["1/2", "3/5", "2/3", "4/5", "19/20"]))
        policy = policy_for(key, settings, rows, limit, known)
        data = fk.Microdata(rows, policy.schema)
        try:
            found = fk.publish(data, policy, seed=seed)
        except fk.NoSafeRelease:
            continue
        made += 1
        groups = method_of(key, policy).partition(data, policy, seed=seed)
        highest = worst(policy, rows, groups)
        assert highest <= limit if key == "art" else highest < limit
        assert found.audit.safe
    assert made > 3


@pytest.mark.thinned(2)
@EVERY
@pytest.mark.parametrize("form", ["generalized", "bucketized"])
def test_it_publishes_and_verifies_in_both_forms(key, settings, form, tmp_path, monkeypatch):
    short_report(monkeypatch)
    rows = with_gaps(people(), 7)
    policy = policy_for(key, settings, rows, "0.95", form=form)
    made = fk.publish(fk.Microdata(rows, policy.schema), policy, seed=2)
    assert made.audit.safe
    made.write(tmp_path / "out")
    known = fk.Certificate.load(tmp_path / "out" / "certificate.json")
    assert known.check(tmp_path / "out") == []
    assert known.method["name"].lower() == key


# ---- refusals -----------------------------------------------------------------------------------


@KEYS
def test_a_setting_that_there_is_not_is_named(key):
    read = {"schema": ROLES, "require": [{"facts": {}, "below": "1/2"}]}
    options = fk.PublishOptions(method=key, settings={key: {"nonsense": 1}})
    of_file = fk.Policy.from_dict({**read, "publish": {"method": key, key: {"nonsense": 1}}})
    of_python = fk.Policy([fk.Requirement(fk.Facts(), "1/2")], fk.Schema(**ROLES), options)
    for policy in (of_file, of_python):
        with pytest.raises(PolicyError, match=rf"publish\.{key}: unknown key nonsense"):
            method_of(key, policy)


IN_ORDER = ("jump", "safe", "naive")


@pytest.mark.parametrize(
    ("key", "setting", "given"),
    [
        ("mondrian", "cuts", 0),
        ("anatomy", "l", 1),
        ("streamliner", "l", "many"),
        ("fulldomain", "suppression", "x"),
        ("art", "r", 1),
        ("jump", "distances", 0),
        ("jump", "distances", "far"),
        ("jump", "functions", []),
        ("jump", "functions", "age=1"),
        ("safe", "steps", 0),
        ("safe", "functions", [{"age": "x"}]),
        ("naive", "steps", 0),
    ],
)
def test_a_wrong_setting_in_a_policy_is_named(key, setting, given):
    read = {"schema": ROLES, "require": [{"facts": {}, "below": "1/2"}]}
    more = {} if key not in IN_ORDER or setting == "functions" else {"functions": ["age=10"]}
    policy = fk.Policy.from_dict(
        {**read, "publish": {"method": key, key: {setting: given, **more}}}
    )
    with pytest.raises(PolicyError, match=rf"publish\.{key}: {setting}"):
        method_of(key, policy)


WHOLE = [1, 0, -3, 2.0, "3", True, None]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *(
            (lambda c=c: fk.Mondrian(c), "cuts must be a whole number from 1")
            for c in [0, *WHOLE[1:]]
        ),
        *((lambda l=l: fk.Anatomy(l), "l must be a whole number from 2") for l in WHOLE[:-1]),  # noqa: E741
        *((lambda l=l: fk.Streamliner(l), "l must be a whole number from 2") for l in WHOLE[:-1]),  # noqa: E741
        (lambda: fk.Streamliner(2, "rdb"), "no variant 'rdb'; did you mean 'rda'"),
        (lambda: fk.Streamliner(2, "gda", {"age": -1}), "weight of 'age'"),
        (lambda: fk.Streamliner(2, "gda", 3), "weights must map names .* not 3"),
        (lambda: fk.Streamliner(2, "gda", ["age"]), "weights must map names"),
        (lambda: fk.Streamliner(2, "rda", {"age": 1}), "'rda' does not look at quasi-ident"),
        (lambda: fk.Streamliner(2, "ria", {"age": 1}), "weights are for 'gda' and 'gsa'"),
    ],
)
def test_wrong_parameters_are_named(make, message):
    with pytest.raises(fk.InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("key", "settings"), [c for c in CASES if c[0] not in ("mondrian", "fulldomain")]
)
def test_people_with_several_values_are_refused_where_they_cannot_be_grouped(key, settings):
    rows = people(8).append_column("pid", pa.array(range(8)))
    roles = {**ROLES, "semantics": "set", "person": "pid"}
    policy = policy_for(key, settings, rows)
    with pytest.raises((UnsupportedError, fk.InputError), match=r"'set'|one sensitive value"):
        method_of(key, policy).partition(fk.Microdata(rows, fk.Schema(**roles)), policy)


@pytest.mark.parametrize(
    ("key", "settings"), [c for c in CASES if c[0] in ("anatomy", "streamliner")]
)
def test_values_that_are_too_frequent_or_too_few_people_are_no_safe_release(key, settings):
    for letters in ("aab", "a"):
        with pytest.raises(fk.NoSafeRelease, match=r"too many|exceeds the number of people"):
            partition(key, settings, people(len(letters), letters=letters))
