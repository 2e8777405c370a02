"""Which advice is given: when a release is called worthless, and what is tried first."""

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.methods.registry import method_of
from foreknow.planning.advice import advice_of
from foreknow.planning.costs import KeptDetail

pytestmark = pytest.mark.complete
RANDOM = np.random.default_rng(0)
ROWS = pa.table({name: RANDOM.integers(0, 9, 40) for name in "abcd"} | {"ill": [*"xy"] * 20})
ROLES = {"quasi_identifiers": [*"abcd"], "sensitive": "ill"}


def said_of(lost, method="mondrian", schema=None, worst=4):
    """What is said of a release that lost so much of its columns."""
    options = fk.PublishOptions(method=method)
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(2))], schema or fk.Schema(**ROLES), options)
    made = KeptDetail(worst, dict(zip("abcd", lost, strict=True)))
    judged = fk.audit(ROWS, policy, learned=False)
    people = fk.Microdata(ROWS, policy.schema)
    return [*advice_of(method_of(method, policy), people, policy, judged, made, 0)]


def test_one_column_left_is_worthless():
    assert said_of((0.95, 0.95, 0, 0))[0] == "Next to nothing is left of 'a' and 'b'"
    wanted = "Worthless: next to nothing is left of 'a', 'b' and 'c'"
    assert said_of((0.95, 0.95, 0.95, 0))[0] == wanted


def test_columns_without_hierarchy_are_named():
    schema = fk.Schema(**ROLES, hierarchies={"a": fk.Intervals([3])})
    said = said_of((1.0,) * 4, "fulldomain", schema, worst=1)
    flat = next(own for own in said if own.startswith("Without a hierarchy"))
    assert flat.startswith("Without a hierarchy 'b', 'c' or 'd' can only be published as it is")
