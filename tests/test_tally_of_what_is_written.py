"""A large release is judged by what was to be written; the verifier counts what was."""

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.data.engines import duckdb_table
from foreknow.errors import InternalError
from foreknow.publishing import entries


def table(n=4000):
    random = np.random.default_rng(2)
    return pa.table({
        "age": random.integers(0, 60, n),
        "zip": [None if x < 3 else f"z{x}" for x in random.integers(0, 90, n)],
        "job": [f"j{x}" for x in random.integers(0, 3, n)],
        "ill": [f"d{x}" for x in random.geometric(0.2, n).clip(max=12)],
        "drug": [f"m{x}" for x in random.geometric(0.2, n).clip(max=12)],
    })  # fmt: skip


def made(monkeypatch, few, sensitive="ill", other=(), rows=None, **how):
    monkeypatch.setattr(entries, "_FEW", few)
    schema = fk.Schema(quasi_identifiers=["age", "zip"], sensitive=sensitive, other=[*other])
    about = {} if isinstance(sensitive, str) else {"sensitive": sensitive[0], "knowing": []}
    policy = fk.Policy([fk.Requirement(fk.Facts(1, 3, 1), below="2/3", **about)], schema)
    return fk.publish(rows or table(), policy, seed=5, format="parquet", **how)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"method": fk.Mondrian(suppression=0.1)},
        {"method": "fulldomain"},
        {"sensitive": ["ill", "drug"]},
        {"sensitive": ["ill", "drug"], "unlinked": ["drug"]},
        {"other": ["job"]},
        {"form": "bucketized"},
    ],
)
def test_what_was_to_be_written_counts_as_what_was(monkeypatch, how, tmp_path):
    small, large = (made(monkeypatch, few, **how) for few in (10**6, 100))
    assert large.release.counts == small.release.counts
    assert list(large.release.counts.groups) == list(small.release.counts.groups)
    assert [v.to_dict() for v in large.audit.verdicts] == [
        v.to_dict() for v in small.audit.verdicts
    ]
    large.write(tmp_path / "out")
    assert fk.verify(tmp_path / "out")


def test_a_sensitive_column_may_be_called_as_counts_are(monkeypatch):
    rows = table().rename_columns(["age", "zip", "job", "count", "drug"])
    small, large = (made(monkeypatch, few, "count", rows=rows) for few in (10**6, 100))
    assert large.release.counts == small.release.counts


def test_the_file_is_not_counted_for_the_audit(monkeypatch):
    counted, tally = [], duckdb_table.DuckTable.tally

    def noted(self, columns, **how):
        found = tally(self, columns, **how)
        counted.append(self.known is not None and found[1] is self.known[1])
        return found

    monkeypatch.setattr(duckdb_table.DuckTable, "tally", noted)
    made(monkeypatch, 100)
    assert counted == [True]


def test_rows_that_are_lost_are_found(monkeypatch):
    write = entries.write_in_parts

    def fewer(parts, path, most):
        return write((part.slice(1) for part in parts), path, most)

    monkeypatch.setattr(entries, "write_in_parts", fewer)
    with pytest.raises(InternalError, match=r"differs from what was written|disagree"):
        made(monkeypatch, 100)
