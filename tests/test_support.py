"""Each combination that is refused has one code, a way out that works, and no verdict."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from tests.support import UNSUPPORTED

import foreknow as fk
from foreknow.errors import NoSafeRelease, SchemaError
from foreknow_judge.errors import (
    CertificateError,
    DataError,
    InputError,
    PolicyError,
    UnsupportedError,
)
from foreknow_judge.messages import MESSAGES

ROWS = pa.table(
    {
        "age": [20, 21, 22, 23, 24, 25, 26, 27],
        "home": ["1", "2", "2", "3", "4", "4", "5", "6"],
        "ill": list("abcdabcd"),
        "pay": list("xyzwwzyx"),
    }
)
ROLES = {"quasi_identifiers": ["age"], "sensitive": ["ill", "pay"]}
ONE = {"quasi_identifiers": ["age"], "sensitive": "ill"}
EACH = [
    {"sensitive": "ill", "facts": {}, "below": 1, "knowing": []},
    {"sensitive": "pay", "facts": {}, "below": 1, "knowing": []},
]
PRIORS = [
    {"age": str(age), "value": v, "probability": "1/4"} for age in range(20, 28) for v in "abcd"
]


def policy(schema, require, **publish):
    return {"schema": schema, "require": require, "publish": publish}


def by_priors(m, **limit):
    facts = {"l": 0, "k": 0, "m": m}
    priors = fk.Priors(pa.Table.from_pylist(PRIORS), facts=fk.Facts(**facts))
    return fk.Policy([fk.Requirement(priors, **limit)], fk.Schema(**ONE))


def knowing(column):
    first, second = EACH
    return policy(ROLES, [{**first, "knowing": column}, second], unlinked=["ill", "pay"])


SETS = {**ONE, "semantics": "set"}
SHARED = {**ROLES, "shared": {"by": "home", "values": ["pay"]}}
LINKS = [{**one, "facts": {"m": 1}} for one in EACH]
RULE = {"values": ["x"], "where": {"age": ["20"]}, "sensitive": "pay"}
CASES = {
    "relative-links": (
        lambda: by_priors(1, at_most_times=3),
        lambda: by_priors(0, at_most_times=3),
    ),
    "whole-after": None,  # tests/several/test_after.py
    "bucketized-sets": (
        lambda: policy(SETS, EACH[:1], form="bucketized"),
        lambda: policy(SETS, EACH[:1], form="generalized"),
    ),
    "bucketized-shared": (
        lambda: policy(
            SHARED, [{**one, "knowing": ["home_shown"]} for one in EACH], form="bucketized"
        ),
        lambda: policy(SHARED, [{**one, "knowing": ["home_shown"]} for one in EACH]),
    ),
    "shuffled-known": (lambda: knowing(["pay"]), lambda: knowing([])),
    "impossible-linked": (
        lambda: policy({**ROLES, "impossible": [RULE]}, LINKS),
        lambda: policy({**ROLES, "impossible": [RULE]}, EACH),
    ),
}


def test_each_combination_is_tried():
    assert [*CASES] == [*UNSUPPORTED]
    assert len({MESSAGES[code].way_out for code in UNSUPPORTED}) == len(UNSUPPORTED)


def opened(given):
    return given if isinstance(given, fk.Policy) else fk.Policy.from_dict(given)


@pytest.mark.parametrize("code", [code for code, case in CASES.items() if case])
def test_a_combination_is_refused_and_its_way_out_is_not(code):
    wrong, right = CASES[code]
    with pytest.raises(InputError) as caught:
        opened(wrong())
    assert caught.value.code == code
    assert fk.Policy.of(opened(right())).requirements


def certificate_of(given, folder):
    """The certificate of a release, as JSON, and where it lies."""
    fk.publish(ROWS.select(["age", "ill", "pay"]), opened(given), seed=1).write(folder)
    path = folder / "certificate.json"
    return path, json.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("code", ["bucketized-sets", "shuffled-known"])
def test_no_certificate_says_it(code, tmp_path):
    """What a publisher writes into a certificate is refused by the same code."""
    if code == "bucketized-sets":
        path, said = certificate_of(policy(ONE, EACH[:1], form="bucketized"), tmp_path / "out")
        said["policy"]["schema"]["semantics"] = said["release"]["semantics"] = "set"
    else:
        path, said = certificate_of(knowing([]), tmp_path / "out")
        said["policy"]["require"][0]["knowing"] = ["pay"]
    path.write_text(json.dumps(said))
    with pytest.raises(UnsupportedError) as caught:
        fk.verify(tmp_path / "out")
    assert caught.value.code == code


def test_errors_have_codes():
    kinds = [PolicyError, DataError, SchemaError, CertificateError, NoSafeRelease]
    assert [kind.code for kind in kinds] == [
        "policy",
        "data",
        "schema",
        "certificate",
        "no-safe-release",
    ]
    assert PolicyError("x", code="impossible-linked").code == "impossible-linked"
    assert str(PolicyError("x", code="y")) == "x"


def test_no_certificate_says_relative_links(tmp_path):
    stored = Path(__file__).parent / "certificates" / "priors-at-most-times-csv"
    shutil.copytree(stored, tmp_path / "out")
    path = tmp_path / "out" / "certificate.json"
    said = json.loads(path.read_text("utf-8"))
    said["policy"]["require"][0]["priors"]["facts"] = {"l": 0, "k": 0, "m": 1}
    path.write_text(json.dumps(said))
    with pytest.raises(UnsupportedError) as caught:
        fk.verify(tmp_path / "out")
    assert caught.value.code == "relative-links"
