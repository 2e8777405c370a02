"""Long enumerations run only when asked for."""

import os

import pytest


def pytest_collection_modifyitems(items):
    """Skip what is marked slow unless FOREKNOW_NIGHTLY=1."""
    if os.environ.get("FOREKNOW_NIGHTLY") == "1":
        return
    skip = pytest.mark.skip(reason="slow; set FOREKNOW_NIGHTLY=1 to run it")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
