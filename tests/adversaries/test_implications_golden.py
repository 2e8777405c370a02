"""The figures of the paper's experiment on Adult: implications and negations, k = 0 to 12."""

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.data.counts import GroupCounts

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
ADULT = SHARED / "data" / "adult.csv"
GOLDEN = SHARED / "golden" / "adult-implications.json"

pytestmark = pytest.mark.skipif(
    not (ADULT.exists() and GOLDEN.exists()),
    reason="the Adult table and its golden numbers are not at ../shared",
)


@pytest.fixture(scope="module")
def counts():
    """Occupations by age in [0, 19], [20, 39], ..., everything else suppressed."""
    with ADULT.open(encoding="utf-8", newline="") as file:
        pairs = Counter((int(row["age"]) // 20, row["occupation"]) for row in csv.DictReader(file))
    bags = [{} for _ in range(5)]
    for (interval, occupation), count in pairs.items():
        bags[interval][occupation] = count
    found = GroupCounts.from_bags(bags)
    assert (found.n_people, found.n_values, found.n_groups) == (45_222, 14, 5)
    return found


@pytest.mark.parametrize("k", range(13))
@pytest.mark.parametrize("adversary", [Implications, Negations])
def test_adult_by_age_is_disclosed_as_much_as_the_golden_numbers_say(counts, adversary, k):
    golden = json.loads(GOLDEN.read_text("utf-8"))
    found = adversary(k).disclosure(counts)
    assert golden["decimals"] == 6
    assert round(found.probability, 6) == golden[adversary.__name__.lower()][k]
    assert round(float(found.exact), 6) == golden[adversary.__name__.lower()][k]
    assert max(d.exact for d in adversary(k).disclosures(counts).values()) == found.exact
