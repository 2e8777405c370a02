"""What runs a test with every backend."""

import pytest
from tests.cli.conftest import desk  # noqa: F401  # a fixture
from tests.frames.backends import FILES, TYPED


@pytest.fixture(params=[*FILES, *TYPED], ids=lambda backend: backend.__name__)
def everywhere(request, tmp_path):
    """What turns Arrow tables into the same tables somewhere else; `.backend` says where."""
    held = {}

    def hold(table):
        if id(table) not in held:
            folder = tmp_path / f"held{len(held)}"
            folder.mkdir()
            held[id(table)] = table, request.param(table, folder)
        return held[id(table)][1]

    hold.backend = request.param
    return hold
