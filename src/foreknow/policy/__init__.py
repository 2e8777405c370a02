"""Policy: requirements, their limits, and the file that holds them."""

from __future__ import annotations

import sys

from foreknow.names import CallableModule

sys.modules[__name__].__class__ = CallableModule
