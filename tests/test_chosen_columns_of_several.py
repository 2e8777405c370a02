"""Chosen combinations of columns (`k_anonymity` with `of`) in several releases as one."""

import pandas as pd
import pytest

import foreknow as fk

SCHEMA = {
    "identifiers": ["id"],
    "quasi_identifiers": ["age", "zip"],
    "sensitive": "ill",
    "hierarchies": {"age": {"intervals": [10]}},
}
WEAK = fk.Policy.from_dict({"schema": SCHEMA, "require": [{"k_anonymity": 2}]})
ASKED = fk.Policy.from_dict(
    {"schema": SCHEMA, "require": [{"k_anonymity": {"k": 5, "of": [["zip"]]}}]}
)


def people(n, start):
    rows = range(start, start + n)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in rows],
            "age": [20 + i % 30 for i in rows],
            "zip": ["north" if i % 2 else "south" for i in rows],
            "ill": [("flu", "cold", "gout")[i % 3] for i in rows],
        }
    )


@pytest.fixture(
    scope="module", params=[{}, {"form": "bucketized"}], ids=["generalized", "bucketized"]
)
def published(request, tmp_path_factory):
    """January, which has many of each zip code, and March, which has few."""
    options = {"labels": {"zip": "exact", "age": "exact"}, **request.param}
    weak = fk.Policy.from_dict(
        {"schema": SCHEMA, "require": [{"group_size": 2}], "publish": options}
    )
    tmp_path = tmp_path_factory.mktemp("published")
    january, march = tmp_path / "january", tmp_path / "march"
    fk.publish(people(40, 0), weak, seed=1).write(january)
    fk.publish(people(6, 40), weak, after=[january], seed=1).write(march)
    return january, march


def test_a_release_is_no_safer_beside_another(published):
    january, march = published
    assert fk.audit(january, ASKED).safe
    assert not fk.audit(march, ASKED).safe
    found = fk.audit([january, march], ASKED)
    assert [verdict.reached for verdict in found.verdicts] == [3]
    assert not found.safe


def test_the_verifier_counts_so_too(published):
    january, march = published
    fk.verify(march, after=[january])
    with pytest.raises(fk.ForeknowError, match="has 3"):
        fk.verify(march, ASKED)
    with pytest.raises(fk.ForeknowError, match=r"together: .* has 3"):
        fk.verify(march, ASKED, after=[january])


def test_what_holds_in_each_is_published_after_another(tmp_path):
    january, march = tmp_path / "january", tmp_path / "march"
    rules = fk.Policy.from_dict(
        {
            "schema": SCHEMA,
            "require": [{"k_anonymity": {"k": 5, "of": [["zip"], ["age"]]}}],
            "publish": {"labels": {"zip": "exact"}},
        }
    )
    fk.publish(people(40, 0), rules, seed=1).write(january)
    fk.publish(people(12, 40), rules, after=[january], seed=1).write(march)
    found = fk.verify(march, after=[january])
    assert [verdict.reached for verdict in (*found.findings, *found.together)] == [6, 6]
