"""One process in which mutants are tried, for all tests of this folder."""

import pytest
from tests.fuzz.rounds import Worker, played


@pytest.fixture(scope="session")
def worker():
    """The process in which commands run."""
    started = Worker()
    yield started
    started.close()


@pytest.fixture
def play(worker, tmp_path):
    """Play rounds of mutants of a kind."""
    return lambda kind, attempt, count, seed: played(kind, attempt, count, seed, worker, tmp_path)
