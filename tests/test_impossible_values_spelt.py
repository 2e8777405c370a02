"""A rule on a value that is written otherwise in the table would do nothing: it is refused."""

import pandas as pd
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.errors import CertificateError

WARD = {"ward": ["a"] * 6, "sex": list("ffmmmm")}
CODES = [1, 2, 2, 3, 3, 4]


def policy(value, asked):
    rule = {"values": [value], "where": {"sex": ["m"]}}
    schema = {"quasi_identifiers": ["ward"], "sensitive": "ill", "other": ["sex"]}
    return {
        "schema": {**schema, "impossible": [rule]},
        "require": [{"facts": {"l": 0}, "below": "1/2", "values": [asked], "knowing": []}],
    }


@pytest.mark.parametrize(
    ("values", "rule", "there"),
    [
        ([float(code) for code in CODES], "1", "1.0"),
        (CODES, "1.0", "1"),
        (["HIV", *"bbccd"], "hiv ", "HIV"),
    ],
)
def test_a_value_that_is_spelt_otherwise_is_refused(values, rule, there):
    """Two can have it, so 1/2 is reached; by all six it would be 1/6, and safe."""
    table = pd.DataFrame({**WARD, "ill": values})
    assert not fk.audit(table, policy(there, there)).safe
    with pytest.raises(SchemaError, match="impossible: nobody has"):
        fk.audit(table, policy(rule, there))
    with pytest.raises(SchemaError, match="impossible: nobody has"):
        fk.publish(table, policy(rule, there))
    release = fk.Release.from_generalized(
        table, quasi_identifiers=["ward"], sensitive="ill", other=["sex"]
    )
    with pytest.raises(SchemaError, match="impossible: nobody has"):
        fk.audit(release, policy(rule, there))


def test_a_rule_on_what_nobody_has_is_no_error():
    table = pd.DataFrame({**WARD, "ill": CODES})
    assert fk.audit(table, policy("9", "1")).safe


def test_the_verifier_refuses_it_too(tmp_path):
    table = pd.DataFrame({**WARD, "ill": CODES})
    rules = policy("9", "1")
    del rules["schema"]["impossible"]
    fk.publish(table, rules, seed=1).write(tmp_path / "out")
    fk.verify(tmp_path / "out")
    with pytest.raises(CertificateError, match=r"nobody has '1\.0'"):
        fk.verify(tmp_path / "out", fk.Policy.from_dict(policy("1.0", "1")))


def test_the_verifier_refuses_another_case(tmp_path):
    table = pd.DataFrame({**WARD, "ill": ["HIV", *"bbccd"]})
    rules = policy("9", "HIV")
    del rules["schema"]["impossible"]
    fk.publish(table, rules, seed=1).write(tmp_path / "out")
    with pytest.raises(CertificateError, match="nobody has 'hiv'"):
        fk.verify(tmp_path / "out", fk.Policy.from_dict(policy("hiv", "HIV")))


@pytest.mark.parametrize("spelt", ["É", "e\u0301", " é"])
def test_a_condition_spelt_otherwise_is_refused(spelt, tmp_path):
    """It would ask nothing: of a release, and of what is verified by a reader's policy."""
    rows = {"age": [*range(6)], "z": [*"éééaaa"], "ill": [*"uvuvvv"]}
    schema = {"quasi_identifiers": ["age"], "sensitive": "ill", "other": ["z"]}
    asked = {"values": ["u"], "facts": {}, "below": "9/10", "knowing": []}
    made = fk.publish(pa.table(rows), {"schema": schema, "require": [asked]}, seed=1)
    made.write(tmp_path / "out")
    rule = {"values": ["u"], "where": {"z": [spelt]}}
    policy = fk.Policy.from_dict({"schema": schema | {"impossible": [rule]}, "require": [asked]})
    with pytest.raises(fk.InputError, match="but 'é' is the same number or word"):
        fk.verify(tmp_path / "out", policy)
    with pytest.raises(fk.InputError, match="but 'é' is the same number or word"):
        fk.audit(tmp_path / "out", policy)
    with pytest.raises(fk.InputError, match="but 'é' is the same number or word"):
        fk.audit(made.release, policy)
