"""What a code book says of the format of files is what the format is registered as."""

import json

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.publishing import entries

KINDS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_format_and_its_media_type_are_those_of_the_files(kind, tmp_path):
    rows = pa.table({"age": [*range(20)], "ill": [*"abcd"] * 5})
    made = fk.publish(
        rows, quasi_identifiers=["age"], sensitive="ill", k_anonymity=5, format=kind, seed=1
    )
    made.write(tmp_path / "out")
    (resource,) = json.loads((tmp_path / "out" / "datapackage.json").read_text())["resources"]
    assert resource["path"] == f"release.{kind}"
    assert (resource["format"], resource["mediatype"]) == (kind, KINDS[kind])
    assert resource["schema"]["missingValues"] == ([] if kind == "parquet" else [""])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_large_release_is_written_in_each_format(kind, tmp_path, monkeypatch):
    """Its tables are files of Parquet, which are copied for that format alone."""
    for least in ("_FEW", "_BATCH"):
        monkeypatch.setattr(entries, least, 8)
    rows = pa.table({"age": [*range(20)], "ill": [*"abcd"] * 5})
    asked = {"quasi_identifiers": ["age"], "sensitive": "ill", "k_anonymity": 5, "format": kind}
    fk.publish(rows, **asked, seed=1, out=tmp_path / "out")
    assert fk.verify(tmp_path / "out").people == 20
    file = (tmp_path / "out" / f"release.{kind}").read_bytes()
    assert file.startswith(b"PAR1") == (kind == "parquet")


def test_labels_of_numbers_with_decimal_commas_say_so(tmp_path):
    rows = pa.table({"size": [i + 0.5 for i in range(20)], "ill": [*"abcd"] * 5})
    roles = {"quasi_identifiers": ["size"], "sensitive": "ill", "k_anonymity": 5}
    made = fk.publish(rows, **roles, decimal=",", delimiter=";", seed=1)
    made.write(tmp_path / "out")
    (resource,) = json.loads((tmp_path / "out" / "datapackage.json").read_text())["resources"]
    size = next(each for each in resource["schema"]["fields"] if each["name"] == "size")
    assert (size["type"], size["foreknow"]["labels"]) == ("string", "number")
    assert size["foreknow"]["decimalChar"] == ","
    assert resource["dialect"]["delimiter"] == ";"
