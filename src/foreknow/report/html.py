"""HTML: blocks as a page that needs no script, or as a fragment; what they say is escaped."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import cache_from_source
from os.path import split
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined, Template
from jinja2.bccache import Bucket
from markupsafe import Markup

from foreknow.report.blocks import Block, Heading
from foreknow_judge._version import __version__
from foreknow_judge.files.printable import visible
from foreknow_judge.remarks.sentences import ASSUMED

if TYPE_CHECKING:
    from foreknow.report.page import Page


def document(page: Page[Any], only: type[Block] = Block) -> str:
    """Write one HTML page of a result, or only its blocks of the type `only`.

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
    """The blocks of each section; a heading of level 2 begins a new one."""
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


class _CompiledTemplates(FileSystemBytecodeCache):
    """Templates as Jinja compiled them, beside this module as Python compiled it.

    As for modules, none is kept where nothing can be written, or Python is told to write nothing.
    """

    def __init__(self) -> None:
        folder, module = split(cache_from_source(__file__))
        super().__init__(folder, f"{module}-{version('jinja2')}-%s")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a template that was compiled before, if it is kept."""
        with suppress(OSError):
            super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template that was compiled now."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)


@cache
def templates(package: str) -> Environment:
    """The environment of a package's templates; texts that they show are escaped."""
    return Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # a page is shown once: folding constants takes longer than it saves
        bytecode_cache=_CompiledTemplates(),
    )


def resource(name: str) -> str:
    """A text of the templates."""
    text = files("foreknow.report").joinpath("templates", name).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n")
