"""Mark a test that shows a bug: it must fail for now, and says so when the bug is gone."""

import pytest


def bug(why, raises=None):
    """Expect the failure, strictly: whoever mends the bug is told to take the mark off."""
    kinds = {} if raises is None else {"raises": raises}
    return pytest.mark.xfail(strict=True, reason=why, **kinds)


def case(*values, why, name=None, raises=None):
    """A case of a parametrized test that shows a bug."""
    return pytest.param(*values, marks=bug(why, raises), id=name)
