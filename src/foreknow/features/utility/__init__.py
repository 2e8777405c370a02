"""Utility: how much of a table a release keeps; as a function, `utility_report`."""

from __future__ import annotations

import sys

from foreknow.names import CallableModule

sys.modules[__name__].__class__ = CallableModule
