"""Utility: what a release is still worth; as a function, `utility_report`."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """The room is an attribute of `foreknow`, where others look for the function."""

    def __call__(self, *args: Any, **said: Any) -> Any:
        from foreknow.utility.report import utility_report

        return utility_report(*args, **said)


sys.modules[__name__].__class__ = _Room
