"""What must hold where a call says only the columns, and what is required beside a policy."""

import pyarrow as pa
import pytest

import foreknow as fk
from foreknow.policy.from_call import policy_of

COLUMNS = {"quasi_identifiers": ["age"], "sensitive": "ill"}
LEARNED = {"learned": {"by": ["age"]}, "stop": 0.9}


def test_of_columns_alone_five_are_alike_and_who_knows_a_fact_is_less_sure_than_half():
    own = policy_of(None, COLUMNS)
    assert [each.to_dict() for each in own.requirements] == [
        each.to_dict()
        for each in (
            fk.Requirement(fk.KAnonymity(5), name="Foreknow's default"),
            fk.Requirement(fk.Facts(l=1), below="1/2", name="Foreknow's default"),
        )
    ]


@pytest.mark.parametrize(("ill", "safe"), [("abcde", True), ("abcd", False), ("aaabc", False)])
def test_an_audit_by_columns_alone_asks_both(ill, safe):
    rows = pa.table({"age": [30] * len(ill), "ill": [*ill]})
    assert fk.audit(rows, **COLUMNS, learned=False).safe is safe


def test_what_is_said_beside_a_policy_is_required_besides_and_what_it_tries_stays():
    given = fk.Policy.from_dict(
        {"schema": COLUMNS, "require": [{"facts": {"k": 2}, "below": 0.7}], "try": [LEARNED]}
    )
    own = policy_of(given, {"k_anonymity": 3})
    assert own.requirements[:1] == given.requirements
    assert [each.criterion for each in own.requirements[1:]] == [fk.KAnonymity(3)]
    assert own.tries == given.tries != ()
    assert policy_of(own, {"k_anonymity": 3}).requirements == own.requirements


@pytest.mark.parametrize(
    "policy",
    [
        {"schema": COLUMNS, "require": [{"k_anonymity": 2}]},
        fk.Policy([fk.Requirement(fk.KAnonymity(2))], fk.Schema(**COLUMNS)),
    ],
    ids=["a mapping", "a policy"],
)
def test_a_limit_beside_a_policy_is_one_more_requirement(policy):
    rows = pa.table({"age": [30] * 4, "ill": [*"abcd"]})
    own = fk.audit(rows, policy, below=0.5, learned=False).policy.requirements
    assert [each.criterion for each in own] == [fk.KAnonymity(2), None]
    assert own[1] == fk.Requirement(fk.Facts(), below=0.5)
    assert len({each.name for each in own}) == 2
