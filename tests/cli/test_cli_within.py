"""Near numbers on the command line: published, verified, audited, in skylines, and refused."""

import pytest
from tests.cli.desk import NEAR


def test_near_numbers_are_published_verified_and_audited(pay):
    said = pay.says("publish", "people.csv", "--policy", "policy.toml", "--out", "out")
    assert "Safe: the requirement holds" in said
    said = pay.says("verify", "out")
    assert "about every value to within 2,000: at most" in said
    assert "Safe" in pay.says("audit", "out", "--policy", "policy.toml")
    pay.put("policy.toml", NEAR.format(within='"40%"'))
    said = pay.says("audit", "out", "--policy", "policy.toml", code=1)
    assert "has a value between" in said


@pytest.mark.parametrize(
    ("within", "message"),
    [
        ("0", "within must be above 0"),
        ('"a bit"', "within cannot be read"),
        ("20011", "holds every sensitive value of the table"),
        ('"30 days"', "is for dates"),
    ],
)
def test_a_width_that_does_not_fit_is_refused(within, message, pay):
    pay.put("policy.toml", NEAR.format(within=within))
    refused = pay.refused("publish", "people.csv", "--policy", "policy.toml", "--out", "out")
    assert message in refused
