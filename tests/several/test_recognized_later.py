"""A release that was judged before is judged by who look alike, once a policy names columns."""

import pyarrow as pa
import pytest

import foreknow as fk

# Two people each are 30 and 41 years old, in groups of four and three.
TABLE = pa.table(
    {
        "group": [1, 1, 1, 1, 2, 2, 2],
        "age": [30, 41, 52, 52, 30, 41, 52],
        "disease": ["Flu", "AIDS", "Flu", "Flu", "AIDS", "Flu", "Flu"],
    }
)
SCHEMA = fk.Schema(quasi_identifiers=["age"], sensitive="disease", group="group")


@pytest.mark.parametrize("more", [{}, {"any_of": ["Flu"]}])
def test_what_was_asked_of_it_before_does_not_hide_who_looks_alike(more):
    release = fk.Release.from_groups(TABLE, group="group", sensitive="disease")
    required = [fk.Requirement(fk.AlphaK(0.9, 3), **more)]
    assert fk.audit(release, fk.Policy(required)).safe  # by groups alone
    found = fk.audit(release, fk.Policy(required, SCHEMA))
    assert not found.safe
    assert found.verdicts[0].found.amount == 2 or "2 people" in str(found.verdicts[0].found)
