"""Pages as a browser would read them, and terminals as people do."""

import io
import re
from html.parser import HTMLParser

from rich.console import Console

VOID = {"meta", "br", "img", "link", "input", "hr", "base"}


class Reader(HTMLParser):
    """Elements with their attributes, scripts, and the text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.words, self.open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def printed(shown, width=80, **options):
    """What a terminal shows."""
    stream = io.StringIO()
    Console(file=stream, width=width, **options).print(shown)
    return stream.getvalue()


def words(shown, width=80):
    """The same as one line."""
    return " ".join(printed(shown, width).split())
