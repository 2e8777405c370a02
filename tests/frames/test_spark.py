"""Spark with two workers: counts travel to the driver, not rows; what is published is the same."""

import pytest

import foreknow as fk
from foreknow import sample
from foreknow.data.engines.narwhals_table import NarwhalsTable

pytest.importorskip("pyspark", reason="PySpark is absent")


@pytest.fixture(scope="module")
def session():
    from pyspark.sql import SparkSession

    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    yield made
    made.stop()


@pytest.fixture(scope="module")
def people(session):
    """The sample register, in four parts."""
    frame = session.read.csv(str(sample.table_path()), header=True)
    return frame.withColumn("age", frame["age"].cast("int")).repartition(4)


def test_an_audit_takes_only_counts_to_the_driver(people, monkeypatch):
    policy = fk.Policy.load(sample.policy_path())

    def refused(self, columns):
        raise AssertionError(f"rows of {columns} left Spark")

    here = fk.audit(sample.table_path(), policy)
    monkeypatch.setattr(NarwhalsTable, "arrow", refused)
    there = fk.audit(people, policy)
    assert [v.disclosure.exact for v in there.verdicts] == [
        v.disclosure.exact for v in here.verdicts
    ]
    assert str(there.exposed) == str(here.exposed)


def test_a_release_from_spark_is_the_one_from_its_file(people, tmp_path):
    policy = fk.Policy.load(sample.policy_path())
    here = fk.publish(sample.table_path(), policy, seed=1)
    there = fk.publish(people, policy, seed=1)
    there.write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    assert bag(there) == bag(here)


def bag(made):
    table = made.tables["release"]
    return sorted(map(str, table.select(sorted(table.column_names)).to_pylist()))
