"""What is given wrongly in Python is refused by its own error, which says what would be right."""

import pytest
from tests.people import EASY, people, schema

import foreknow as fk
from foreknow.errors import SchemaError
from foreknow_judge.errors import PolicyError

WRONG = {
    "a frame to publish": (
        lambda m: fk.publish(people().to_pandas(), EASY),
        SchemaError,
        r"no \[schema\] table, .* Schema\(quasi_identifiers=\[\.\.\.\], sensitive=\.\.\.\)",
    ),
    "a path to publish": (
        lambda m: fk.publish("table.csv", EASY),
        SchemaError,
        r"no \[schema\] table",
    ),
    "a path for a policy": (
        lambda m: fk.publish(m, "p.toml"),
        PolicyError,
        r"the policy 'p.toml' does not exist",
    ),
    "a number for a policy": (
        lambda m: fk.publish(m, 0.5),
        fk.InputError,
        r"expected a Policy or the path of one, not float; see Policy\.load",
    ),
    "a class for a method": (
        lambda m: fk.publish(m, EASY, method=fk.Mondrian),
        PolicyError,
        r"give a method, such as Mondrian\(\), not its class",
    ),
    "a method that does not exist": (
        lambda m: fk.publish(m, EASY, method="mondrain"),
        PolicyError,
        "did you mean 'mondrian'",
    ),
    "a table for a schema": (
        lambda m: fk.Microdata(people(), {}),
        SchemaError,
        r"expected a Schema, not dict; see fk\.Schema",
    ),
    "a list of group columns": (
        lambda m: fk.Release.from_groups(people(), group=["age"], sensitive="disease"),
        SchemaError,
        r"group must be the name of one column, not \['age'\]",
    ),
    "no adversary": (
        lambda m: fk.Requirement(None, below=0.5),
        PolicyError,
        r"expected an adversary such as Facts\(l=1\), not None",
    ),
    "plain tables for requirements": (
        lambda m: fk.Policy([{"facts": {"l": 1}, "below": 0.5}]),
        PolicyError,
        r"expected a Requirement, not dict; .* Policy\.from_dict",
    ),
    "a negative seed": (
        lambda m: fk.publish(m, EASY, seed=-1),
        fk.InputError,
        r"the seed must be a whole number from 0, not -1",
    ),
    "a seed that is true": (
        lambda m: fk.publish(m, EASY, seed=True),
        fk.InputError,
        r"the seed must be a whole number from 0, not True",
    ),
}


@pytest.mark.parametrize(("do", "kind", "says"), WRONG.values(), ids=WRONG.keys())
def test_what_cannot_be_meant_says_what_would_be_right(do, kind, says):
    with pytest.raises(fk.InputError, match=says) as caught:
        do(fk.Microdata(people(), schema()))
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
