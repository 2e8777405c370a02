"""Warnings of a method that is run on very many worlds: each is said once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def said_once(method: Any) -> Iterator[None]:
    """Let what a method logs through the logger of its module pass once, while this is open."""
    name = getattr(method, "__module__", None) or type(method).__module__
    logger, once = logging.getLogger(name), _Once()
    logger.addFilter(once)
    try:
        yield
    finally:
        logger.removeFilter(once)


class _Once(logging.Filter):
    """Stops messages that came before."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.getMessage()
        if said in self._said:
            return False
        self._said.add(said)
        return True
