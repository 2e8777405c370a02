"""What it costs to count who can have which values: Mondrian on a million rows, and publication.

Made-up patients with twenty illnesses, of which some are of women of some ages and of men; with the
rules that say so, and without. By turns; medians, and the median ratio.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa

import foreknow as fk
from benchmarks.sights import paired

RULES = [
    {"values": ["O*"], "where": {"sex": ["m"]}},
    {"values": ["O*"], "where": {"age": {"to": 11}}},
    {"values": ["O*"], "where": {"age": {"from": 60}}},
    {"values": ["C61"], "where": {"sex": ["f"]}},
]


def patients(rows):
    """A table in which nobody has what they cannot have."""
    draw = np.random.default_rng(2)
    age, male = draw.integers(0, 90, rows), draw.random(rows) < 0.5
    code = draw.integers(0, 16, rows)
    mother = ~male & (age >= 12) & (age < 60) & (draw.random(rows) < 0.3)
    code[mother] = draw.integers(16, 19, int(mother.sum()))
    code[male & (age > 50) & (draw.random(rows) < 0.1)] = 19
    names = [*(f"J{i:02}" for i in range(16)), "O03", "O04", "O80", "C61"]
    return pa.table(
        {
            "age": age,
            "sex": pa.array(["f", "m"]).take(pa.array(male.astype(int))),
            "zip": draw.integers(0, 500, rows),
            "ill": pa.array(names).take(pa.array(code)),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--unpublished", action="store_true", help="sex is not published")
    parser.add_argument("--whole", action="store_true", help="publish, and do not group alone")
    given = parser.parse_args()
    table = patients(given.rows)
    known = [name for name in ("age", "sex", "zip") if name != "sex" or not given.unpublished]
    ways = []
    for rules in ([], RULES):
        schema = fk.Schema(quasi_identifiers=known, sensitive="ill", impossible=rules)
        policy = fk.Policy([fk.Requirement(fk.Facts(1, 1, 1), below="0.6")], schema)
        people = fk.Microdata(table, schema)
        people.merged.attributes  # noqa: B018  # read before

        def group(people=people, policy=policy):
            return fk.Mondrian().partition(people, policy)

        def publish(schema=schema, policy=policy):
            return fk.publish(fk.Microdata(table, schema), policy, learned=False)

        ways.append(publish if given.whole else group)
    plain, ruled, ratio = paired(*ways, given.times)
    print(
        f"{given.rows:,} rows: {plain:.2f} s without, {ruled:.2f} s with rules: {ratio:.2f} times"
    )


if __name__ == "__main__":
    main()
