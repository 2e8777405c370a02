"""An attack that cannot settle a table says so at once, and what would withstand, at what cost."""

import logging

from tests.cli.conftest import desk as desk

import foreknow as fk
from foreknow import sample

KNOWN = {"quasi_identifiers": ["age", "sex"], "sensitive": "diagnosis"}
RULES = """
[schema]
quasi_identifiers = ["age", "sex"]
sensitive = "diagnosis"
[[require]]
facts = { l = 1, k = 1 }
below = 0.5
"""


def some(many):
    return sample.load("arrow").select(["age", "sex", "diagnosis"]).slice(0, many)


def test_what_no_time_settles_is_said_before_anything_is_drawn(caplog):
    policy = fk.Policy(fk.Facts(1, 1), fk.Schema(**KNOWN), below=0.5)
    with caplog.at_level(logging.WARNING, logger="foreknow"):
        found = fk.attack(some(500), "mondrian", policy, worlds=20, seconds=30.0, seed=1)
    assert 0 < found.beyond <= 500
    assert found.undecided
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith(f"Of 500 people {found.beyond:,} are in parts with more than 20 ")
    assert "In a release by decoy the limits hold by a proof" in said
    assert f"More time settles none of {found.beyond:,} people" in found.summary().replace(
        "\n", " "
    )
    assert found.to_dict()["beyond"] == found.beyond


def test_nothing_is_said_of_a_table_that_is_settled(caplog):
    policy = fk.Policy(fk.Facts(), fk.Schema(**KNOWN), below=0.99)
    with caplog.at_level(logging.WARNING, logger="foreknow"):
        found = fk.attack(some(12), "mondrian", policy, seed=1)
    assert (found.beyond, caplog.records) == (0, [])


def test_what_would_withstand_is_said_with_what_it_costs(desk):
    rows = some(500).to_pandas()
    rows.to_csv(desk.folder / "table.csv", index=False)
    desk.put("policy.toml", RULES)
    code, out, _ = desk.run("attack", "table.csv", "--worlds", "20", "--seed", "1")
    out = " ".join(out.split())
    assert code == 4
    assert "In a release by decoy the limits hold against such an adversary, too" in out
    cost = out.partition("What that costs. ")[2]
    assert cost.startswith("decoy: NCP ")
    assert "; mondrian: NCP " in cost
    assert "counts off by" in cost
