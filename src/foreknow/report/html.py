"""HTML: blocks as a page that needs no script, or as a fragment; what they say is escaped."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import cache_from_source
from typing import TYPE_CHECKING, Any

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined, Template
from jinja2.bccache import Bucket
from markupsafe import Markup

from foreknow.report.blocks import Block, Heading
from foreknow_judge._version import __version__
from foreknow_judge.files.printable import visible
from foreknow_judge.remarks.sentences import ASSUMED

if TYPE_CHECKING:
    from foreknow.report.page import Page

_SETTINGS: dict[str, Any] = {
    "autoescape": True,
    "undefined": StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "optimized": False,  # a page is shown once: folding constants takes longer than it saves
}


def document(page: Page[Any], only: type[Block] = Block) -> str:
    """Write one HTML page, or only its blocks of one kind.

    No script is admitted: nothing in a label could run even if it got past the escaping.
    """
    heading, name = page.said(page.headline), visible(page.name)
    return _template("page.html.j2").render(
        page=page,
        version=__version__,
        style=Markup(resource("style.css")),
        kept=page.kept and page.said(page.kept),
        title=f"{heading} – {name}" if name else heading,
        heading=heading,
        name=name,
        scope=page.said(page.scope),
        lists=[
            ("notes", page.heading, page.said(list(page.notes))),
            ("assumed", ASSUMED, page.said(list(page.assumed))),
        ],
        sections=_sections(block for block in page.shown() if isinstance(block, only)),
    )


def _sections(blocks: Iterable[Block]) -> list[list[Block]]:
    """The blocks of each section, which begins with a heading."""
    sections: list[list[Block]] = [[]]
    for block in blocks:
        match block:
            case Heading(level=2):
                sections.append([])
        sections[-1].append(block)
    return [section for section in sections if section]


def fragment(heading: str, name: str = "", blocks: Iterable[Block] = (), mood: str = "") -> str:
    """Write a small HTML fragment: a heading, then sentences and tables."""
    macros: Any = _template("fragment.html.j2").module
    return str(macros.fragment(heading, visible(name), list(blocks), mood))


def _template(name: str) -> Template:
    return templates("foreknow.report").get_template(name)


@cache
def templates(package: str) -> Environment:
    """The environment of a package's templates; what they show is escaped."""
    return Environment(
        loader=PackageLoader(package, "templates"),
        bytecode_cache=CompiledTemplates(),
        **_SETTINGS,
    )


class CompiledTemplates(BytecodeCache):
    """Templates that were compiled before, in files beside them, as Python keeps modules.

    Another text, setting or version is compiled again.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The file of a compiled template; empty if the template is in no file."""
        return cache_from_source(filename) if filename else ""

    def get_source_checksum(self, source: str) -> str:
        """A digest of all that a compiled template depends on."""
        return sha256(f"{__version__} {_SETTINGS} {source}".encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a compiled template, if there is one."""
        try:
            with open(bucket.key, "rb") as file:
                bucket.load_bytecode(file)
        except (OSError, EOFError, pickle.UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a compiled template, where Python keeps modules and may write."""
        if sys.dont_write_bytecode or not bucket.key:
            return
        with suppress(OSError):
            os.makedirs(os.path.dirname(bucket.key), exist_ok=True)
            aside = f"{bucket.key}.{os.getpid()}"
            with open(aside, "wb") as file:
                bucket.write_bytecode(file)
            os.replace(aside, bucket.key)


def resource(name: str) -> str:
    """A text of the templates."""
    text = files("foreknow.report").joinpath("templates", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")
