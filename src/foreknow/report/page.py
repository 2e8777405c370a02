"""Page: what every HTML report shares: its frame, style, scripts, and how figures are embedded."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from foreknow._version import __version__

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def page(template: str, script: str, *, kept: str | None, **shown: Any) -> str:
    """Write one HTML page that asks nothing of any network.

    Scripts are admitted by their digests, so that nothing in a label could run even if it got
    past the escaping.

    Parameters
    ----------
    template, script : str
        Files among the templates.
    kept : str or None
        Why the page is for the owner only; None where it may be published with the release.
    **shown
        What the template shows.
    """
    library, own = plotly(), resource(script)
    return (
        templates()
        .get_template(template)
        .render(
            version=__version__,
            style=Markup(resource("style.css")),
            library=Markup(library),
            script=Markup(own),
            kept=kept,
            digests=" ".join(digest(text) for text in (library, own)),
            **shown,
        )
    )


def fragment(template: str, **shown: Any) -> str:
    """Write a small HTML fragment, for notebooks."""
    return templates().get_template(template).render(**shown)


def figure_json(figure: Figure) -> Markup:
    """JSON of a figure that may stand inside a script element, whatever its texts contain."""
    return script_json(json.loads(str(figure.to_json())))


def script_json(plain: Any) -> Markup:
    """JSON of plain values that may stand inside a script element."""
    return htmlsafe_json_dumps(plain, sort_keys=True)


@cache
def templates() -> Environment:
    """The templates of this room."""
    return Environment(
        loader=PackageLoader("foreknow.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def resource(name: str) -> str:
    """The text of a file among the templates."""
    text = files("foreknow.report").joinpath("templates", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")


@cache
def plotly() -> str:
    """The library that draws."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs()).replace("\r\n", "\n")


def digest(script: str) -> str:
    """What a content security policy calls a script."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
