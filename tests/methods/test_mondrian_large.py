"""Mondrian where something is large: many diagnoses, many combinations, many people."""

import time
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk


def microdata(columns, **schema):
    names = [name for name in columns if name != "disease"]
    schema = fk.Schema(quasi_identifiers=names, sensitive="disease", **schema)
    return fk.Microdata(pa.table(columns), schema)


def partition(columns, policy, **schema):
    return fk.Mondrian().partition(microdata(columns, **schema), policy)


def same_grouping(one, other):
    """Whether two partitions put the same people together."""
    pairs = len(np.unique(np.stack([one, other]), axis=1).T)
    return pairs == len(np.unique(one)) == len(np.unique(other))


def test_seventy_thousand_diagnosis_codes_take_seconds_and_stay_sparse():
    random = np.random.default_rng(1)
    codes, rows = 70_000, 80_000
    disease = np.concatenate([np.arange(codes), random.integers(0, codes, rows - codes)])
    table = {
        "age": random.integers(0, 100, rows),
        "zip": random.integers(0, 1000, rows),
        "disease": np.char.add("D", disease.astype(str)),
    }
    policy = fk.Policy([fk.Requirement(fk.Facts(l=1, k=2, m=1), "1/2")])
    data = microdata(table)
    _ = data.attributes, data.values  # reading is not what is measured
    tracemalloc.start()
    began = time.perf_counter()
    found = fk.Mondrian().partition(data, policy)
    took = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    counts = data.counts(found)
    assert counts.n_groups > 5_000
    assert len(counts.codes) <= rows
    assert peak < 300e6  # groups x values as a dense table would be over 4 GB
    assert took < 30
    assert fk.Facts(l=1, k=2, m=1).disclosure(counts).below("1/2")


@pytest.mark.parametrize("text", [False, True])
def test_combinations_beyond_two_to_the_62_group_as_small_ones_do(text):
    # Nine columns of which each has 200 values: 200**9 is over 2**62. The first row of each block
    # of rows is the only one with rare values in the last seven columns.
    random = np.random.default_rng(2)
    rows = 400
    wide = [random.permutation(np.repeat(np.arange(200), 2)) for _ in range(9)]
    columns = {f"q{i}": column.tolist() for i, column in enumerate(wide)}
    if text:
        columns = {name: [f"{v:03d}" for v in column] for name, column in columns.items()}
    disease = [f"d{v}" for v in random.integers(0, 12, rows)]
    policy = fk.Policy([fk.Requirement(fk.Facts(l=1, k=1), "4/5")])
    found = partition({**columns, "disease": disease}, policy)
    # Two more copies of the first columns make the table wider, not its groups different.
    small = {name: columns[name] for name in list(columns)[:3]}
    repeated = {f"again{i}": columns[f"q{i % 3}"] for i in range(9)}
    few = partition({**small, "disease": disease}, policy)
    many = partition({**small, **repeated, "disease": disease}, policy)
    assert same_grouping(few, many)
    assert len(np.unique(found)) > 20
    shuffled = random.permutation(rows)
    moved = {name: [column[i] for i in shuffled] for name, column in columns.items()}
    again = partition({**moved, "disease": [disease[i] for i in shuffled]}, policy)
    assert same_grouping(found[shuffled], again)


def test_a_monotone_relabelling_of_quasi_identifiers_groups_the_same_people():
    # Text codes carry no widths, so only their order counts: seven columns of 1000 codes, and
    # the same columns with each code renamed in order.
    random = np.random.default_rng(3)
    rows = 3000
    base = [random.integers(0, 1000, rows) for _ in range(7)]
    disease = [f"d{v}" for v in random.integers(0, 30, rows)]
    policy = fk.Policy([fk.Requirement(fk.Facts(k=1), "2/3")])
    wide = {f"q{i}": [f"{v:04d}" for v in column] for i, column in enumerate(base)}
    renamed = {name: [f"x{int(v) * 7 + 5:06d}" for v in column] for name, column in wide.items()}
    one = partition({**wide, "disease": disease}, policy)
    other = partition({**renamed, "disease": disease}, policy)
    assert np.array_equal(one, other)


def test_a_hundred_thousand_people_in_levels_and_thresholds_are_safe():
    random = np.random.default_rng(4)
    rows = 100_000
    table = {
        "age": random.integers(0, 100, rows),
        "zip": [f"{v:05d}" for v in random.integers(0, 100_000, rows)],
        "sex": random.choice(["f", "m", "x"], rows).tolist(),
        "disease": [f"d{v}" for v in random.zipf(2.0, rows) % 40],
    }
    rare = sorted(set(table["disease"]) - {"d1"})
    policy = fk.Policy(
        [
            fk.Requirement(fk.Facts(l=1, k=5, m=2), "3/4", values=rare),
            fk.Requirement(fk.Facts(k=1), "19/20", values=["d1"]),
        ]
    )
    data = microdata(table, hierarchies={"zip": fk.Mask(5)})
    counts = data.counts(fk.Mondrian().partition(data, policy))
    assert counts.n_people == rows
    assert counts.n_groups > 100
    assert fk.audit(counts, policy).safe
