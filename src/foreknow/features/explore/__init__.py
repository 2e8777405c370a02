"""Explore: a web page on this machine that shows columns, policy, release and what to publish."""

from __future__ import annotations

import sys

from foreknow.names import CallableModule

sys.modules[__name__].__class__ = CallableModule
