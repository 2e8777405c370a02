"""Where those who are new are refused, their own way out is named beside waiting for more."""

import shutil

import pyarrow as pa
import pytest

import foreknow as fk


def test_a_limit_that_those_who_are_new_would_satisfy_is_named(tmp_path):
    rows = pa.table(
        {
            "pid": [f"p{i}" for i in range(63)],
            "age": [20 + i % 40 for i in range(63)],
            "ill": [*"abc"] * 21,
        }
    )
    schema = fk.Schema(identifiers=["pid"], quasi_identifiers=["age"], sensitive="ill")
    required = fk.Policy([fk.Requirement(fk.KAnonymity(5))], schema)
    fk.publish(rows.slice(0, 60), required, seed=1).write(tmp_path / "january")
    with pytest.raises(fk.NoSafeRelease, match="3 of 63 people are new") as caught:
        fk.publish(rows, required, after=tmp_path / "january")
    first, *others = caught.value.way_out
    assert "wait for more" in first
    assert any(line.split("#")[0].strip() == "k_anonymity = 3" for line in others)


def test_that_too_few_are_new_is_said_before_what_becomes_of_their_labels(tmp_path):
    rows = pa.table(
        {
            "pid": [f"p{i}" for i in range(80)],
            "sex": [*["f", "m"] * 30, *["f"] * 3, *["f", "m"] * 8, "x"],
            "ill": [*"abcd"] * 20,
        }
    )
    schema = fk.Schema(identifiers=["pid"], quasi_identifiers=["sex"], sensitive="ill")
    required = fk.Policy([fk.Requirement(fk.KAnonymity(5))], schema)
    fk.publish(rows.slice(0, 60), required, seed=1).write(tmp_path / "january")
    with pytest.raises(fk.InputError, match=r"^3 of 63 people are new") as caught:
        fk.publish(rows.slice(0, 63), required, after=tmp_path / "january")
    said = str(caught.value)
    assert "Fewer than 5 are too few for a group or a label: wait for more" in said
    assert said.index("wait for more") < said.index("column 'sex'")
    rare = rows.set_column(1, "sex", pa.array([f"s{max(i, 65)}" for i in range(80)]))
    with pytest.raises(fk.InputError, match=r"^20 of 80 people are new") as caught:
        fk.publish(rare, required, after=tmp_path / "january")
    said = str(caught.value)
    assert said.index("If too few people are new") < said.index("column 'sex'")


def test_a_lost_owners_folder_is_to_be_put_back(tmp_path):
    rows = pa.table({"pid": [*range(40)], "age": [*range(20, 40)] * 2, "ill": [*"abcd"] * 10})
    schema = fk.Schema(identifiers=["pid"], quasi_identifiers=["age"], sensitive="ill")
    required = fk.Policy([fk.Requirement(fk.KAnonymity(5))], schema)
    fk.publish(rows.slice(0, 20), required, seed=1).write(tmp_path / "january")
    shutil.move(tmp_path / "january.owner", tmp_path / "mine")
    with pytest.raises(fk.InputError, match="put the owner's folder back beside it") as caught:
        fk.publish(rows, required, after=tmp_path / "january")
    assert "--members" not in str(caught.value)
    with pytest.raises(fk.InputError, match="put the owner's folder back beside it") as caught:
        fk.audit([tmp_path / "january"] * 2, required)
    assert "--members" not in str(caught.value)
    shutil.move(tmp_path / "mine", tmp_path / "january.owner")
    assert fk.publish(rows, required, after=tmp_path / "january").audit.safe
