"""For runs without a leaf: what fails since a leaf is not installed, is skipped.

python -m pytest -p tests.leafless
"""

import re

import pytest

# How an error says so: of an entry, and of a test that imports the leaf, or tests of it.
NOT_THERE = re.compile(
    r"^E .*(?:not installed: |No module named '(?:foreknow|tests)\.|cannot import name .* from "
    r"'(?:foreknow|tests)\.)",
    re.MULTILINE,
)


def without_what_needs_it(report):
    """The same report, which skips what needs a leaf that is not there."""
    if report.failed and NOT_THERE.search(report.longreprtext):
        report.outcome, report.longrepr = "skipped", (report.nodeid, 0, "needs a leaf")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return without_what_needs_it((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return without_what_needs_it((yield))
