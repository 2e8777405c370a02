"""Which advice is given: when a release is called worthless, and what is tried first."""

import numpy as np
import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.data.microdata import Microdata
from foreknow.methods.registry import method_of
from foreknow.planning.advice import advice_of
from foreknow.planning.costs import KeptDetail

pytestmark = pytest.mark.complete


def said_of(rows, policy, made):
    judged = fk.audit(rows, policy, learned=False)
    method = method_of(policy.options.method, policy)
    return [*advice_of(method, Microdata(rows, policy.schema), policy, judged, made, 0)]


def four_columns(**publish):
    random = np.random.default_rng(0)
    rows = {name: random.integers(0, 9, 40) for name in "abcd"}
    table = {
        "schema": {"quasi_identifiers": [*"abcd"], "sensitive": "ill"},
        "require": [{"k_anonymity": 2}],
    }
    rows = pa.table({**rows, "ill": [*"xy"] * 20})
    return rows, fk.Policy.from_dict({**table, **({"publish": publish} if publish else {})})


def test_a_release_is_worthless_where_all_columns_but_one_are_lost_and_not_before():
    rows, policy = four_columns()
    few = KeptDetail(4, {"a": 0.95, "b": 0.95, "c": 0.0, "d": 0.0})
    assert said_of(rows, policy, few)[0] == "Next to nothing is left of 'a' and 'b'"
    most = KeptDetail(4, {"a": 0.95, "b": 0.95, "c": 0.95, "d": 0.0})
    first = said_of(rows, policy, most)[0]
    assert first == "Worthless: next to nothing is left of 'a', 'b' and 'c'"


def test_full_domain_names_the_columns_that_have_no_hierarchy():
    rows, policy = four_columns(method="fulldomain")
    schema = fk.Schema(
        quasi_identifiers=[*"abcd"], sensitive="ill", hierarchies={"a": fk.Intervals([3])}
    )
    policy = fk.Policy(policy.requirements, schema, policy.options)
    said = said_of(rows, policy, KeptDetail(1, dict.fromkeys("abcd", 1.0)))
    flat = next(each for each in said if each.startswith("Without a hierarchy"))
    assert flat.startswith("Without a hierarchy 'b', 'c' or 'd' can only be published as it is")


def test_the_least_share_of_people_that_helps_is_offered():
    rows = pa.table({"age": [*[10] * 300, *[50] * 295, *range(90, 95)], "ill": [*"ab"] * 300})
    schema = fk.Schema(
        quasi_identifiers=["age"], sensitive="ill", hierarchies={"age": fk.Intervals([1])}
    )
    policy = fk.Policy([fk.Requirement(fk.KAnonymity(5))], schema=schema)
    advice = fk.publish(rows, policy, method="fulldomain").advice
    tried = next(each for each in advice if each.startswith("suppression = "))
    assert tried.startswith("suppression = 0.01 in [publish.fulldomain] was tried")
