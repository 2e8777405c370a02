"""Work done ahead in threads: in order, bounded, and with the groups that one thread finds."""

import threading

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow import workers
from foreknow.data import arrays
from foreknow.data.arrays import count_pairs
from foreknow.methods.mondrian import levels


def test_results_are_in_the_order_of_jobs_and_few_are_ahead(monkeypatch):
    monkeypatch.setattr(workers, "cores", lambda: 3)
    asked, here = [], threading.get_ident()

    def jobs():
        for job in range(20):
            asked.append(job)
            yield job

    for place, (job, thread) in enumerate(
        workers.ahead(lambda job: (job, threading.get_ident()), jobs())
    ):
        assert (job, thread == here) == (place, False)
        assert len(asked) <= place + 4


@pytest.mark.parametrize("many", [0, 1])
def test_one_job_is_done_here(monkeypatch, many):
    monkeypatch.setattr(workers, "cores", lambda: 3)
    found = [*workers.ahead(lambda _: threading.get_ident(), range(many))]
    assert found == [threading.get_ident()] * many


def test_an_error_of_a_job_is_raised_in_its_turn(monkeypatch):
    monkeypatch.setattr(workers, "cores", lambda: 2)
    found = workers.ahead(lambda job: 6 // job, [3, 0, 2])
    assert next(found) == 2
    with pytest.raises(ZeroDivisionError):
        next(found)


@pytest.mark.parametrize(
    ("semantics", "criterion"),
    [
        ("single", None),
        ("single", fk.KAnonymity(4)),
        ("single", fk.Risk(average="1/5")),
        ("set", None),
    ],
)
def test_groups_do_not_depend_on_threads(monkeypatch, semantics, criterion):
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
    for cores, block in ((1, 1 << 17), (1, 100), (4, 100)):
        monkeypatch.setattr(workers, "cores", lambda cores=cores: cores)
        monkeypatch.setattr(levels, "_BLOCK", block)
        monkeypatch.setattr(levels, "_CELLS", block)
        found.append(fk.Mondrian().partition(fk.Microdata(table, schema), policy))
    assert len(np.unique(found[0])) > 20
    np.testing.assert_array_equal(found[1], found[2])
    if not isinstance(criterion, fk.Risk):  # what is added up over groups depends on their order
        np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("n_columns", [3, 70_000, 2**33])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("block", [1 << 18, 1000])
def test_pairs_are_counted_however_many_bits_they_have(monkeypatch, n_columns, weighed, block):
    monkeypatch.setattr(arrays, "_BLOCK", block)
    monkeypatch.setattr(workers, "cores", lambda: 2)
    random = np.random.default_rng(n_columns)
    n_rows, n = 5000, 4000
    rows, columns = random.integers(0, n_rows, n), random.integers(0, n_columns, n)
    rows, columns = np.repeat(rows, 2), np.repeat(columns, 2)
    weights = random.integers(1, 9, 2 * n) if weighed else None
    offsets, found, counts = count_pairs(rows, columns, n_rows, n_columns, weights)
    expected: dict[tuple[int, int], int] = {}
    for row, column, weight in zip(
        rows.tolist(), columns.tolist(), np.ones(2 * n) if weights is None else weights, strict=True
    ):
        expected[row, column] = expected.get((row, column), 0) + int(weight)
    row_of = np.repeat(np.arange(n_rows), np.diff(offsets)).tolist()
    told = dict(zip(zip(row_of, found.tolist(), strict=True), counts.tolist(), strict=True))
    assert told == expected
    assert [*told] == sorted(expected)
