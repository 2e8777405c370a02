"""Escaped formulas in columns that divide no groups of their own: two texts never become one."""

import json

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError

COLUMNS = {"ward": ["a"] * 4, "job": ["=cook"] * 4, "ill": ["Flu", "Cold", "Gout", "HIV"]}
SCHEMA = {"quasi_identifiers": ["ward"], "sensitive": "ill", "other": ["job"]}
KNOWING = [
    {"k_anonymity": 4, "knowing": ["job"]},
    {"facts": {"l": 0}, "below": "1/2", "knowing": ["job"]},
]


def test_what_is_known_of_people_is_not_one_with_and_without_its_mark(tmp_path):
    """Two people have ``=cook`` and two ``'=cook``: not four are alike, and one in two has HIV."""
    rules = {"schema": SCHEMA, "require": KNOWING, "publish": {"escape_formulas": True}}
    fk.publish(pa.table(COLUMNS), rules, seed=1).write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    file, certificate = tmp_path / "out" / "release.csv", tmp_path / "out" / "certificate.json"
    text = file.read_text()
    assert text.count("'=cook") == 4
    file.write_text(text.replace("'=cook", "=cook", 2))
    said = json.loads(certificate.read_text())
    said["release"]["files"]["release.csv"] = digest_of(file)
    certificate.write_text(json.dumps(said))
    with pytest.raises(CertificateError, match="with the mark of one, and without"):
        fk.verify(tmp_path / "out")
