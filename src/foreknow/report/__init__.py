"""Report: results as people read them, in a terminal, a notebook and one HTML page each."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from foreknow.errors import InternalError
from foreknow.names import CallableModule
from foreknow.report import pages

if TYPE_CHECKING:
    from foreknow.report.page import Page

sys.modules[__name__].__class__ = CallableModule


def render(result: Any, **options: Any) -> Page[Any]:
    """Look up the page of a result by its type; only that page is imported."""
    names = {kind.__name__ for kind in type(result).__mro__}
    for name, module in pages.PAGES:
        if name in names:
            page: type[Page[Any]] = import_module(module).PAGE
            if isinstance(result, page.serves):
                return page(result, **options)
    raise InternalError(f"no page of foreknow.report.pages serves {type(result).__name__}")
