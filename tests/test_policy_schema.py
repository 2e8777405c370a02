"""The JSON Schema of policy files, and policies that are written to a file."""

import json

import pytest

import foreknow as fk
from foreknow import sample
from foreknow.methods.registry import policy_schema
from foreknow.policy.file import policy_settings


def test_the_schema_names_every_key_that_a_file_may_have():
    schema = policy_schema()
    assert json.loads(json.dumps(schema)) == schema
    required = schema["$defs"]["Require"]["properties"]
    for kind in (*fk.adversaries.registry.ADVERSARIES, *fk.criteria.registry.CRITERIA):
        assert kind.key in required
    assert {"values", "except", "any_of", "within", "knowing", "below"} <= required.keys()
    for table in ("Require", "Publish", "SchemaTable", "TryTable"):
        assert schema["$defs"][table]["additionalProperties"] is False
    assert {"require", "schema", "publish", "try"} == {
        field.alias or name for name, field in policy_settings({}).model_fields.items()
    }


def test_the_schema_lacks_absent_methods(monkeypatch):
    there = "foreknow.methods.registry.is_installed"
    monkeypatch.setattr(there, lambda leaf: leaf != "foreknow.methods.art")
    publish = policy_schema()["$defs"]["Publish"]["properties"]
    assert "art" not in (*publish, *publish["method"]["enum"])
    assert "jump" in publish["method"]["enum"]


def rules(**more):
    table = {
        "schema": {
            "quasi_identifiers": ["age", "zip code"],
            "sensitive": "ill",
            "other": ["job"],
            "hierarchies": {"zip code": {"mask": 5}},
            "reading": {"missing": ["NA", "k. A."]},
        },
        "require": [
            {"facts": [{"l": 1, "below": "1/3"}, {"k": 2, "below": "0.5"}], "values": ['"B20"']},
            {"any_of": {"HIV": ["B20", "Z21"]}, "facts": {"k": 1}, "below": 0.25},
            {"k_anonymity": 5},
            {"t_closeness": {"t": "0.2"}, "name": "near"},
        ],
        "publish": {"method": "fulldomain", "fulldomain": {"suppression": 0.05}},
    }
    return fk.Policy.from_dict({**table, **more})


@pytest.mark.parametrize(
    "policy", [rules(), rules(**{"try": [{"learned": {"by": ["job"]}, "stop": 0.85}]})]
)
def test_a_policy_is_read_from_its_file_as_it_was(policy, tmp_path):
    policy.save(tmp_path / "p.toml")
    again = fk.Policy.load(tmp_path / "p.toml")
    assert again.to_dict() == policy.to_dict()
    assert again.requirements == policy.requirements
    with pytest.raises(fk.ForeknowError, match="exists"):
        policy.save(tmp_path / "p.toml")


def test_a_policy_whose_hierarchies_lie_elsewhere_is_not_written(tmp_path):
    policy = fk.Policy.load(sample.policy_path())
    with pytest.raises(fk.ForeknowError, match=r"marital\.csv.*beside it"):
        policy.save(tmp_path / "p.toml")
    assert not (tmp_path / "p.toml").exists()
