"""One fixture that runs a test with every backend."""

import pytest
from tests.cli.conftest import desk  # noqa: F401  # a fixture
from tests.frames.backends import FILES, TYPED


@pytest.fixture(params=[*FILES, *TYPED], ids=lambda backend: backend.__name__)
def everywhere(request, tmp_path):
    """What turns an Arrow table into the same table somewhere else; `.backend` says where."""

    def hold(table):
        return request.param(table, tmp_path)

    hold.backend = request.param
    return hold


@pytest.fixture(params=TYPED, ids=lambda backend: backend.__name__)
def typed(request, tmp_path):
    """The same for backends that know types, so not for CSV."""
    return lambda table: request.param(table, tmp_path)
