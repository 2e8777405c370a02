"""How tests run: long enumerations only when asked for, random cases without a clock."""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many tests as processors run at once

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no failure. In CI the same cases are drawn each time, so that a commit is judged
# by what it changes; elsewhere new ones are drawn at every run.
settings.register_profile(
    "foreknow",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("foreknow")

# What is collected for thousands of tests stays: Python need not look through it again and again.
gc.set_threshold(100_000, 50, 100)


@pytest.fixture
def tiny_tables(monkeypatch):
    """Labels list values that one person has: for tables too small to have any of five."""
    monkeypatch.setattr("foreknow.policy.policy.SHARED", 1)


def pytest_collection_finish():
    """Leave all tests and libraries out of what is looked through for garbage."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Skip what is marked slow unless FOREKNOW_NIGHTLY=1."""
    if os.environ.get("FOREKNOW_NIGHTLY") == "1":
        return
    skip = pytest.mark.skip(reason="slow; set FOREKNOW_NIGHTLY=1 to run it")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
