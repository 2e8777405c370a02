"""Report: results as people read them, in a terminal, a notebook and one HTML page each."""

from __future__ import annotations

import sys

from foreknow.names import CallableModule
from foreknow.result_pages import page_of

sys.modules[__name__].__class__ = CallableModule

render = page_of
