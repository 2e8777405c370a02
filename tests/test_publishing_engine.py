"""The names under which tests of frames know the patients of `tests/publishing/test_engine.py`."""

from tests.publishing.test_engine import FACTS, HOSPITAL, patients

__all__ = ["FACTS", "HOSPITAL", "patients"]
