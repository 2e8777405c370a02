"""K-anonymity of all pairs, or triples, of quasi-identifiers: every combination is counted."""

import random
from itertools import combinations

import pyarrow as pa
import pytest

import foreknow as fk

COLUMNS = ["age", "sex", "zip", "job"]


def drawn(draw):
    """A release whose groups are uneven, so that pairs differ."""
    size = draw.randint(4, 40)
    rows = [[draw.choice("aab"), draw.choice("xy"), draw.choice("mmn"), "j"] for _ in range(size)]
    table = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    return pa.table(table | {"ill": draw.choices("fgh", k=size)}), rows


def fewest_alike(rows, n_columns):
    """The fewest rows that share one combination of so many columns with a row."""
    return min(
        sum(all(row[i] == second[i] for i in places) for second in rows)
        for places in combinations(range(len(COLUMNS)), n_columns)
        for row in rows
    )


def policy_of(k, n_columns):
    schema = {"quasi_identifiers": COLUMNS, "sensitive": "ill"}
    return {"schema": schema, "require": [{"k_anonymity": {"k": k, "of": n_columns}}]}


@pytest.mark.parametrize("n_columns", [1, 2, 3, 4])
def test_all_combinations_are_counted(n_columns):
    for seed in range(25):
        table, rows = drawn(random.Random(f"{n_columns} {seed}"))
        release = fk.Release.from_generalized(table, quasi_identifiers=COLUMNS, sensitive="ill")
        fewest = fewest_alike(rows, n_columns)
        assert fk.KAnonymity(3, of=n_columns).measure(release) == fewest
        for k in (fewest, fewest + 1):
            (verdict,) = fk.audit(release, policy_of(k, n_columns)).criteria
            assert (verdict.reached, verdict.safe) == (fewest, k == fewest)


@pytest.mark.parametrize("n_columns", [0, -1, 5, True, 1.5])
def test_wrong_numbers_are_refused(n_columns):
    with pytest.raises(fk.InputError, match="of"):
        fk.Policy.from_dict(policy_of(3, n_columns))


@pytest.mark.parametrize("k", [0, True, 2.5, "3"])
def test_a_wrong_k_is_named(k):
    with pytest.raises(fk.InputError, match="a whole number from 1"):
        fk.Policy.from_dict(policy_of(k, 2))


def test_known_columns_are_listed():
    table, _ = drawn(random.Random(2))
    policy = policy_of(2, 2)
    policy["schema"] |= {"quasi_identifiers": COLUMNS[:3], "other": ["job"]}
    policy["require"][0]["knowing"] = ["job"]
    with pytest.raises(fk.InputError, match=r'of = \[\["age", "job"\]\], or leave knowing out'):
        fk.publish(table, policy)
    policy["require"][0]["k_anonymity"]["of"] = [["age", "job"]]
    assert fk.publish(table, policy).audit.safe


def test_pairs_need_a_schema():
    table, _ = drawn(random.Random(3))
    release = fk.Release.from_generalized(table, quasi_identifiers=COLUMNS, sensitive="ill")
    with pytest.raises(fk.InputError, match=r"add a .schema., or name lists"):
        fk.audit(release, fk.Policy([fk.Requirement(fk.KAnonymity(1, of=2))]))
    assert fk.audit(release, fk.Policy([fk.Requirement(fk.KAnonymity(1, of=["age", "sex"]))])).safe
