"""Mondrian makes the same groups however many people it looks at at a time."""

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.methods.mondrian import levels


@pytest.mark.parametrize(
    ("semantics", "criterion"),
    [
        ("single", None),
        ("single", fk.KAnonymity(4)),
        ("set", None),
    ],
)
def test_groups_do_not_depend_on_the_length_of_runs(monkeypatch, semantics, criterion):
    random = np.random.default_rng(5)
    n = 3000
    table = pa.table({
        "id": np.arange(n) // (2 if semantics == "set" else 1),
        "age": random.integers(0, 60, n) if semantics == "single" else np.arange(n) // 50,
        "zip": random.integers(0, 900, n) if semantics == "single" else np.arange(n) // 2 % 700,
        "disease": [f"d{x}" for x in random.integers(0, 4, n) + 4 * (np.arange(n) % 2)],
    })  # fmt: skip
    schema = fk.Schema(
        quasi_identifiers=["age", "zip"], sensitive="disease", semantics=semantics, person="id"
    )
    limits = [fk.Requirement(fk.Facts(l=1, k=1, m=1), below="2/3")]
    if criterion is not None:
        limits.append(fk.Requirement(criterion))
    policy = fk.Policy(limits)
    found = []
    for block in (1 << 17, 100):
        monkeypatch.setattr(levels, "_BLOCK", block)
        monkeypatch.setattr(levels, "_CELLS", block)
        found.append(fk.Mondrian().partition(fk.Microdata(table, schema), policy))
    assert len(np.unique(found[0])) > 20
    np.testing.assert_array_equal(found[0], found[1])
