"""How tests run: long enumerations only when asked for, random cases without a clock."""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many tests as processors run at once

import pytest
from hypothesis import HealthCheck, settings
from tests.examples import NIGHTLY

# A busy machine is no failure. In CI the same cases are drawn each time, so that a commit is judged
# by what it changes; elsewhere new ones are drawn at every run.
settings.register_profile(
    "foreknow",
    max_examples=100 if NIGHTLY else 25,
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


def pytest_configure(config):
    said = "thinned(share): by day one of so many cases of crossed parameters"
    config.addinivalue_line("markers", said)


def pytest_collection_finish():
    """Leave all tests and libraries out of what is looked through for garbage."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    """By day, skip what is marked slow, and most cases of what is marked thinned."""
    if NIGHTLY:
        return
    for item in items:
        if "slow" in item.keywords or not is_of_the_day(item):
            item.add_marker(pytest.mark.skip(reason="set FOREKNOW_NIGHTLY=1 to run it"))


def is_of_the_day(item):
    """Whether the places of a case among its parameters are the day's share of `thinned(share)`.

    Of crossed parameters every value is met in some case.
    """
    mark = item.get_closest_marker("thinned")
    if mark is None:
        return True
    named = [each.args[0] for each in item.iter_markers("parametrize")]
    beside = {name for names in named if not isinstance(names, str) for name in names[1:]}
    places = item.callspec.indices.items()
    return sum(place for name, place in places if name not in beside) % mark.args[0] == 0
