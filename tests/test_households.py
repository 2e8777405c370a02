"""A name that another test takes from here."""

from tests.prepare.test_households import town  # noqa: F401
