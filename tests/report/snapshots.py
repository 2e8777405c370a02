"""Snapshots: what was said before, in plain files beside the tests, to be read when it changes.

Run the tests with FOREKNOW_SNAPSHOTS=write to write them anew, and read the difference.
"""

import os
from pathlib import Path

from foreknow.report.blocks import all_made
from foreknow.report.values import block_values

FOLDER = Path(__file__).with_name("snapshots")


def assert_as_before(name, lines):
    """Compare lines with those of a file."""
    path, text = FOLDER / f"{name}.txt", "\n".join(lines) + "\n"
    if os.environ.get("FOREKNOW_SNAPSHOTS") == "write":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), (
        f"not as in {path.name}: if it shall be so, run FOREKNOW_SNAPSHOTS=write pytest "
        "tests/report/test_pages.py, and read the difference"
    )


def page_lines(page):
    """A page as lines: a block or row each; those for a glance, too, begin with a bar."""
    yield f"{page.eyebrow} {page.name}: {page.headline} [{page.mood}]"
    yield from (page.said(page.scope), *(f"* {note}" for note in page.said(page.notes)))
    yield from (f"* assumed: {said}" for said in page.said(list(page.assumed)))
    for block in page.said(list(all_made(page.blocks()))):
        yield from _lines(block)
    yield f"{page.promise} ({'may be published' if page.kept is None else page.kept})"


def _lines(block):
    (own,) = block_values([block])
    glance = " " if block.whole else "|"
    match own["kind"]:
        case "heading":
            word = own["word"] and own["word"]["text"]
            yield f"\n{glance} {'#' * own['level']} {own['text']} {word or ''}".rstrip()
        case "sentence":
            yield f"{glance} {own['text']} {own['mood'] and '[' + own['mood'] + ']'}".rstrip()
        case "items":
            yield from (f"{glance} - {text}" for text in own["texts"])
        case "pairs":
            yield from (f"{glance} {name}: {said}" for name, said in own["rows"])
        case "table":
            for row in (own["head"], *own["rows"]):
                yield f"{glance} {' ; '.join(map(_cell, row))}"
            yield from [f"{glance} {own['note']}"] if own["note"] else []
        case "figure":
            yield f"{glance} figure {own['id']}: {own['title']}. {own['caption']}"
        case "folded":
            yield f"{glance} folded: {own['title']}"
            for each in block.blocks:
                yield from _lines(each)


def _cell(cell):
    if isinstance(cell, str):
        return cell
    return " / ".join(part for part in (cell["text"], cell["below"], cell["mood"]) if part)
