"""Features that meet: every door says what worlds say, or refuses in one sentence.

Each case is a small table with a policy, drawn by its seed (`tables`). What is published is read
from its files; who is in which group from the owner's list (`sights`); how sure somebody becomes
from all worlds (`worlds`). Every case goes through an audit of its table and one more door of
`memory`: Microdata, frames of pandas and Polars, CSV and Parquet, groups, a group column, counts, a
tally, the dials of the local page. One in ten goes through the doors with files (`doors`):
`publish`, what was made, `verify` and the judge on the folder, an audit of the folder, with its
people, too, `verify` by another policy, and several releases together. Limits are what is reached,
or a step beside. Half of the cases cross two features, the others many.
"""

import os
import random
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context

import pytest
from tests.crossings.definitions import CRITERIA, OF_POPULATION, OF_SIZES
from tests.crossings.memory import run_all
from tests.crossings.tables import PAIRS
from tests.crossings.worlds import Facts, Member, surest, surest_by_negations
from tests.oracle import facts as facts_on_priors
from tests.oracle import many_worlds
from tests.oracle import rules as impossible_worlds
from tests.oracle.worlds import worst_cases
from tests.support import UNSUPPORTED

DAY, BLOCK = 120, 250
NIGHT = int(os.environ.get("FOREKNOW_CROSSINGS", "60000"))
BY_DAY = 0.25  # the share of cases of the day with files
DOORS = ["publish", "made", "verify", "judge", "folder", "verify by policy"]
IN_MEMORY = ["microdata", "pandas", "Polars", "raw CSV", "raw Parquet", "groups", "division"]
IN_MEMORY += ["counts", "tally", "dials"]
OF_SEVERAL = ["together", "verify after", "judge after", "audit of several", "audit of together"]
PRIORS = ["priors", "binary", "facts on priors"]
OF_VALUES = [name for name in CRITERIA if name not in OF_SIZES]
# Pairs that are refused, whatever else is asked: a feature, and what it does not go with.
REFUSED = {
    ("semantics", "set", "multiset"): {
        "unit": ["cases", "shared"],
        "missing": ["label", "drop", "spelled"],
        "impossible": ["own", "beside", "conditions", "both"],
        "adversary": ["implications", "negations", *PRIORS, *OF_VALUES],
    },
    ("unit", "shared"): {
        "impossible": ["beside", "conditions", "both"],
        "secret": ["within"],
        "adversary": [*PRIORS, *OF_VALUES],
        "method": ["anatomy"],
    },
    ("unit", "cases"): {
        "adversary": [*PRIORS, "alpha_k", "risk", *OF_POPULATION],
        "method": ["anatomy"],
    },
    ("rules", "two"): {
        "semantics": ["set", "multiset"],
        "secret": ["sets", "within", "label"],
        "adversary": ["implications", *PRIORS, *OF_VALUES],
    },
    ("impossible", "own", "beside", "conditions", "both"): {
        "secret": ["sets", "within", "label"],
        "adversary": ["implications", *PRIORS, *OF_VALUES],
        "method": ["anatomy"],
    },
    ("rounding", "some"): {
        "unit": ["shared"],
        "impossible": ["beside", "both"],
        "method": ["anatomy"],
    },
    ("releases", "added"): {
        "unit": ["cases", "shared"],
        "semantics": ["set", "multiset"],
        "impossible": ["own", "beside", "conditions", "both"],
        "rules": ["two"],
        "adversary": [*PRIORS, *OF_POPULATION],
        "columns": ["unlinked"],
        "job": ["shuffled"],
        "form": ["bucketized"],
        "method": ["anatomy"],
    },
    ("names", "odd"): {"secret": ["label"]},  # which the hierarchy does not list
    ("secret", "within"): {"adversary": ["implications", *PRIORS]},
    ("knowing", "named"): {"adversary": [*OF_POPULATION]},  # the population lacks it
    # What nobody may know beside it, and few releases of which are safe.
    ("method", "anatomy"): {
        "knowing": ["named"],
        "secret": ["except", "within"],
        "adversary": ["facts on priors"],
        "labels": ["mask", "dates"],
        "releases": ["after", "three"],
    },
    ("suppression", "some", "cells"): {"adversary": PRIORS},
}


def is_refused(pair):
    """Whether two features never meet, one of which is listed with the other."""
    for (name, *values), others in REFUSED.items():
        for one, other in (pair, pair[::-1]):
            if one[0] == name and one[1] in values and other[1] in others.get(other[0], ()):
                return True
    return False


def check(log):
    """Nothing differs; what is open is known, and every refusal is one in words."""
    assert not log.wrong, log.wrong[:10]
    for door, kind, code, said in log.refused:
        assert said, (door, kind, code)
        assert code != "internal", (door, kind, said)


def test_group_worlds_match_release_worlds():
    """What is listed group by group is what is found by listing whole worlds."""
    rng = random.Random(1)
    for _ in range(60):
        sizes = [rng.randint(1, 3) for _ in range(rng.randint(1, 3))]
        bags = ["".join(rng.choices("abcd", k=size)) for size in sizes]
        groups = [[Member("", (value,)) for value in bag] for bag in bags]
        for point, truth in worst_cases(bags, "a", (1, 2, 2)).items():
            assert surest(groups, frozenset("a"), Facts(*point)) == truth


@pytest.mark.parametrize("semantics", ["set", "multiset"])
def test_worlds_of_several_values(semantics):
    rng = random.Random(2)
    for _ in range(30):
        groups = []
        for _ in range(rng.randint(1, 2)):
            drawn = [rng.choices("abc", k=rng.randint(0, 2)) for _ in range(rng.randint(1, 3))]
            own = drawn if semantics == "multiset" else [sorted(set(values)) for values in drawn]
            groups.append([Member("", tuple(values)) for values in own])
        bags = [(len(group), "".join(v for one in group for v in one.values)) for group in groups]
        for point, truth in many_worlds.worst_cases(bags, "a", (1, 1, 1), semantics).items():
            assert surest(groups, frozenset("a"), Facts(*point), semantics) == truth


def test_worlds_with_rules_and_priors():
    rng = random.Random(3)
    for _ in range(30):
        bags = ["".join(rng.choices("abcd", k=rng.randint(1, 3))) for _ in range(2)]
        ruled = [
            [(v, frozenset("a") if v != "a" and rng.random() < 0.5 else frozenset()) for v in bag]
            for bag in bags
        ]
        groups = [[Member("", (v,), cannot) for v, cannot in own] for own in ruled]
        for value in "ab":
            for point, truth in impossible_worlds.worst_cases(ruled, value, (1, 1, 1)).items():
                assert surest(groups, frozenset(value), Facts(*point)) == truth
            truth = impossible_worlds.worst_negations(ruled, value, 1)
            assert surest_by_negations(groups, frozenset(value), 1) == truth
        tables = [{v: Fraction(rng.randint(1, 4), 16) for v in "abcd"} for _ in range(2)]
        of = [([rng.choice(tables) for _ in bag], bag) for bag in bags]
        groups = [
            [Member("", (v,), priors=tuple(row.items())) for row, v in zip(rows, bag, strict=True)]
            for rows, bag in of
        ]
        point = rng.randint(0, 2), rng.randint(0, 1), rng.randint(0, 1)
        for reading, weigh in (
            ("joint", facts_on_priors.joint),
            ("binary", facts_on_priors.binary("a")),
        ):
            truth = facts_on_priors.surest(of, "a", point, weigh)
            assert surest(groups, frozenset("a"), Facts(*point), reading=reading) == truth


def test_worlds_of_rows_with_rules():
    """Who cannot have a value beside the secret; facts are about the secret alone."""
    rng = random.Random(4)
    for _ in range(30):
        groups, ruled = [], []
        for _ in range(2):
            rows = [(rng.choice("abc"), rng.choice("xy")) for _ in range(rng.randint(1, 4))]
            barred = [
                frozenset("x") if t != "x" and rng.random() < 0.5 else frozenset() for _, t in rows
            ]
            pairs = list(zip(rows, barred, strict=True))
            groups.append([Member("", s, beside=(t,), barred=own) for (s, t), own in pairs])
            ruled.append(
                [(row, frozenset((s, t) for s in "abc" for t in own)) for row, own in pairs]
            )
        worst = impossible_worlds.worst_cases(ruled, "a", (1, 1, 1), lambda row: row[0])
        for point, truth in worst.items():
            assert surest(groups, frozenset("a"), Facts(*point)) == truth
        truth = impossible_worlds.worst_negations(ruled, "a", 1, lambda row: row[0])
        assert surest_by_negations(groups, frozenset("a"), 1) == truth


def test_some_cases_of_the_day():
    """About ten seconds of the cases of the night."""
    log = run_all(range(DAY), BY_DAY)
    check(log)
    assert log.compared["table"] > DAY / 2
    assert all(log.compared[door] > DAY // 15 for door in DOORS)
    assert sum(log.compared[door] for door in IN_MEMORY) > DAY / 2
    assert log.between > log.figures / 2


@pytest.mark.slow
def test_all_cases_of_the_night():
    """Every two features meet, at every door, safe and unsafe; or it is listed that they do not."""
    blocks = [range(first, first + BLOCK) for first in range(0, NIGHT, BLOCK)]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as workers:
        log, *others = workers.map(run_all, blocks)
    for other in others:
        log.add(other)
    print(log.report())
    check(log)
    assert log.cases == NIGHT
    assert log.between > log.figures / 2 > NIGHT / 4
    for door in ("table", *DOORS, *IN_MEMORY):
        assert log.compared[door] > NIGHT / 60, door
        assert log.telling[door] > log.compared[door] / 3, door
        assert log.safe[door] > NIGHT / 200, door
    for door in ("table", "folder", "verify by policy", *IN_MEMORY):
        assert log.unsafe[door] > NIGHT / 200, door
    for door in OF_SEVERAL:
        assert log.compared[door] > NIGHT / 2000, door
    reached = sum(log.equal[door, True] for door in DOORS)
    assert reached > 4 * sum(log.equal[door, False] for door in DOORS)  # most bounds are true
    unmet = [pair for pair in PAIRS if not is_refused(pair) and not log.pairs[pair]]
    assert len(unmet) < len(PAIRS) / 100, unmet
    unlisted = [pair for pair in PAIRS if is_refused(pair) and not log.refused_pairs[pair]]
    assert len(unlisted) < len(PAIRS) / 20, unlisted
    codes = {*UNSUPPORTED} - {"whole-after"}
    assert codes <= {*log.codes}
