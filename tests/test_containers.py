"""A table in several containers has one digest; codes that lost their zeros are recognized."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import foreknow as fk

SCHEMA = {"quasi_identifiers": ["age", "zip", "born"], "sensitive": "charges"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    chance = np.random.default_rng(11)
    found = tmp_path_factory.mktemp("containers") / "own.csv"
    many = 120
    rows = {
        "age": chance.integers(20, 40, many),
        "zip": chance.choice(["10115", "20095", "80331"], many),
        "born": chance.choice(["1990-01-02", "1991-03-04"], many),
        "charges": chance.choice(["1.50", "20", "7.25", "-3"], many),
    }
    pd.DataFrame(rows).to_csv(found, index=False)
    return found


def containers(path):
    frame = pd.read_csv(path)
    yield "numbers", frame
    yield "codes as texts", pd.read_csv(path, dtype={"zip": str})
    yield "all texts", pd.read_csv(path, dtype=str)
    yield "dates", pd.read_csv(path, parse_dates=["born"])
    yield "floats", frame.astype({"age": float})
    yield "categories", frame.astype({"born": "category", "zip": "category"})
    yield "polars", pl.read_csv(path, try_parse_dates=True)
    yield "arrow", pl.read_csv(path).to_arrow()
    yield "fk.read_csv", fk.read_csv(path)


def test_a_digest_does_not_depend_on_the_container(path):
    known = fk.Microdata(path, fk.Schema(**SCHEMA))
    for name, frame in containers(path):
        other = fk.Microdata(frame, fk.Schema(**SCHEMA))
        assert other.digest(b"key") == known.digest(b"key"), name
        assert other.digest_of_counts(b"key") == known.digest_of_counts(b"key"), name


def test_another_table_has_another_digest(path):
    known, frame = fk.Microdata(path, fk.Schema(**SCHEMA)), pd.read_csv(path)
    seen = {known.digest(b"key")}
    for column, value in (("age", 99), ("zip", 10117), ("born", "1990-01-03"), ("charges", 1.51)):
        other = frame.astype({"charges": object}).copy()
        other.loc[3, column] = value
        seen.add(fk.Microdata(other, fk.Schema(**SCHEMA)).digest(b"key"))
    seen.add(fk.Microdata(frame.iloc[::-1], fk.Schema(**SCHEMA)).digest(b"key"))
    lost = frame.astype({"zip": str})
    lost["zip"] = lost["zip"].str.replace("10115", "01011")
    seen.add(fk.Microdata(lost, fk.Schema(**SCHEMA)).digest(b"key"))
    seen.add(known.digest(b"other"))
    assert len(seen) == 8


def test_a_release_is_recognized_by_a_frame_of_its_table(path, tmp_path):
    made = fk.publish(
        path, quasi_identifiers=["age", "zip"], sensitive="charges", k_anonymity=4, seed=1
    )
    made.save(tmp_path / "out")
    found = fk.evidence(tmp_path / "out", pd.read_csv(path))
    assert isinstance(found, fk.EvidenceReport)


@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv])
def test_codes_that_lost_their_zeros_are_told_with_the_remedy(tmp_path, read):
    path = tmp_path / "zeros.csv"
    rows = {
        "age": [30, 40] * 20,
        "zip": ["01067", "10115"] * 20,
        "illness": ["a", "b", "b", "a"] * 10,
    }
    pd.DataFrame(rows).to_csv(path, index=False)
    schema = fk.Schema(
        quasi_identifiers=["age", "zip"], sensitive="illness", hierarchies={"zip": {"mask": 5}}
    )
    policy = fk.Policy(fk.KAnonymity(5), schema)
    with pytest.raises(fk.InputError, match="lose them as numbers") as caught:
        fk.publish(read(path), policy)
    assert 'dtype={"zip": str}' in str(caught.value)
    assert fk.publish(fk.read_csv(path), policy).audit.safe
    assert fk.publish(path, policy).audit.safe


def test_a_first_policy_asks_about_zeros_that_were_lost(tmp_path):
    many = 60
    frame = pd.DataFrame(
        {
            "age": [20 + i % 30 for i in range(many)],
            "zip": [(1067, 10115, 20095, 80331)[i % 4] + i // 4 for i in range(many)],
            "illness": [("a", "b", "c")[i % 3] for i in range(many)],
        }
    )
    asked = " ".join(fk.suggest_policy(frame).questions)
    assert "lost the zeros they begin with" in asked
    assert "dtype={'zip': str}" in asked
