"""What is refused, by the code and the fields of the error rather than by its words."""

from contextlib import contextmanager

import pytest

from foreknow_judge.errors import ForeknowError


@contextmanager
def refused(code, kind=ForeknowError, **fields):
    """Expect an error with a code, and with these fields among its own."""
    with pytest.raises(kind) as caught:
        yield caught
    assert (caught.value.code, caught.value.fields) == (code, caught.value.fields | fields)
