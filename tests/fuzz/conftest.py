"""One process in which mutants are tried, for all tests of this folder."""

import pytest
from tests.fuzz.rounds import Rounds, Worker


@pytest.fixture(scope="session")
def worker():
    """The process in which commands run."""
    started = Worker()
    yield started
    started.close()


@pytest.fixture
def play(request, worker, tmp_path):
    """Play rounds of mutants; the kind is that of the test file."""
    kind = request.node.path.stem.removeprefix("test_")
    return Rounds(kind, worker, tmp_path).play
