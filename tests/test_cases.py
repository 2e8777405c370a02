"""Names that another test takes from here."""

from tests.prepare.test_cases import POLICY, visits  # noqa: F401
