"""Measures of the code and the pages that may only get better: names, comprehensions, words."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = [*(ROOT / "src").rglob("*.py")]
# Pronouns, participles, prepositions and quantifiers that name nothing where they stand alone.
WORDS = """
own each of about at said found held asked made known given told kept met there here alone alike
beside again together others other many few more most least some any every all one two both rest
left still whole wanted meant seen read written shown named called open opened taken judged counted
settled
"""
EMPTY = {*WORDS.split()}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bindings(path):
    """The names that a module assigns, or takes as parameters."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id.strip("_")
        elif isinstance(node, ast.arg) and node.arg not in ("self", "cls"):
            yield node.arg.strip("_")


def test_names_say_what_they_hold():
    names = [name for path in SOURCES for name in bindings(path) if name]
    empty = [name for name in names if name in EMPTY]
    assert len(empty) <= 0.01 * len(names)


def test_comprehensions_are_few():
    lines = comprehensions = 0
    for path in SOURCES:
        text = path.read_text("utf-8")
        lines += text.count("\n")
        comprehensions += sum(isinstance(x, COMPREHENSIONS) for x in ast.walk(ast.parse(text)))
    assert comprehensions <= 0.042 * lines


def test_pages_are_short():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= 96_000
