"""Every page of every kind of result: offline, harmless, for whom it says, the same each time."""

import html
import io
import json
import re
import stat
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, fields
from types import ModuleType

import pytest
from rich.console import Console
from tests.examples import NIGHTLY
from tests.report.reading import Reader, printed, words
from tests.report.results import (
    EVIL,
    RESULTS,
    case_study,
    of_sets,
    small,
)
from tests.report.snapshots import assert_as_before, page_lines

import foreknow as fk
from foreknow.atomic_files import as_json
from foreknow.errors import InternalError
from foreknow.report import render
from foreknow.report.blocks import Sentence
from foreknow.report.page import Page
from foreknow.result import PAGES, Result
from foreknow_judge.errors import InputError
from foreknow_judge.printed import visible

NEVER_WRITTEN = "NamedWitness"  # is printed, and no file names people
WRITTEN = [name for name, _ in PAGES if name != NEVER_WRITTEN]
HARMLESS = {"div", "p", "strong", "span", "table", "thead", "tbody", "tr", "th", "td"}
every_kind = pytest.mark.parametrize("kind", [name for name, _ in PAGES])
every_page = pytest.mark.parametrize("kind", WRITTEN)
both = pytest.mark.parametrize("hostile", [False, True], ids=["ordinary", "hostile"])

_made = {}


def result(kind, hostile=False):
    """One result of a kind, made once."""
    if (kind, hostile) not in _made:
        _made[kind, hostile] = RESULTS[kind][hostile]()
    return _made[kind, hostile]


def page(kind, hostile=False):
    key = kind, hostile, "page"
    if key not in _made:
        _made[key] = render(result(kind, hostile)).html()
    return _made[key]


# Beside the ordinary result of each kind.
OTHERS = {
    "audit-published": lambda: render(small(safe=False), published=True),
    "audit-safe": lambda: render(small()),
    "skyline-of-one": lambda: render(case_study()),
    "skyline-of-sets": lambda: render(of_sets()),
}


@pytest.mark.parametrize("name", [*(n for n, _ in PAGES), *OTHERS])
def test_a_page_says_what_it_said(name):
    shown = OTHERS[name]() if name in OTHERS else render(result(name))
    assert_as_before(name, page_lines(shown))


def test_every_kind_of_result_has_a_page_that_is_listed_once():
    listed = [name for name, _ in PAGES]
    assert len(set(listed)) == len(listed)
    public = {n for n in fk.__all__ if isinstance(getattr(fk, n), type)}
    results = {name for name in public if issubclass(getattr(fk, name), Result)}
    assert results == set(WRITTEN)
    for name in listed:
        assert render(result(name)).serves is getattr(fk, name)


@pytest.mark.thinned(2)
@every_page
@both
def test_a_page_opens_offline_and_its_scripts_are_ours(kind, hostile):
    text = page(kind, hostile)
    reader = Reader(text)
    assert reader.open == []
    for tag, attrs in reader.elements:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form"}
        assert not any(name.startswith("on") for name in attrs)
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert attrs.get(name, "#").startswith("#")
        assert "url(" not in attrs.get("style", "")
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    rule = next(a["content"] for _, a in reader.elements if "content" in a and "http-equiv" in a)
    assert rule.startswith("default-src 'none';")
    assert reader.scripts == []
    assert "script-src 'none';" in rule
    assert len(text) < (500_000 if kind == "SkylineReport" else 200_000)


@every_page
@both
def test_no_id_is_given_twice_and_every_reference_has_one(kind, hostile):
    elements = Reader(page(kind, hostile)).elements
    ids = [attrs["id"] for _, attrs in elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert name not in attrs or attrs[name] in ids
        if attrs.get("href", "").startswith("#"):
            assert attrs["href"][1:] in ids


@every_page
def test_hostile_labels_are_shown_as_they_are(kind):
    text = page(kind, hostile=True)
    reader = Reader(text)
    shown = [re.sub(r"\s+", " ", visible(label)) for label in EVIL]
    assert any(label in reader.text for label in shown)
    body = text[text.index("<body") :]
    for label in EVIL:
        assert html.escape(label) == label or label not in body
    assert not re.findall(r"<script>alert|<img|<b>bold", body)
    text.encode("utf-8")


@every_page
def test_a_page_says_that_it_is_for_the_owner_and_only_the_owner_reads_it(kind, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("readable by all before")
    result(kind).to_html(path)
    assert path.read_text("utf-8") == page(kind) == _page_again(kind)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (line,) = re.findall(r'<p class="audience.*?</p>', page(kind), re.DOTALL)
    assert re.sub("<[^>]*>", "", line).startswith("For the owner only: ")
    assert render(result(kind)).kept in html.unescape(line)
    assert render(result(kind)).headline in Reader(page(kind)).text


def _page_again(kind):
    """The page of the same result, by night made once more."""
    again = NIGHTLY and kind != "Attack"
    return render(RESULTS[kind][0]()).html() if again else page(kind)


@every_page
@both
def test_json_is_versioned_and_is_what_python_finds(kind, hostile, tmp_path):
    found = result(kind, hostile)
    path = tmp_path / "found.json"
    found.to_json(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    read = json.loads(path.read_text("utf-8", "backslashreplace"))
    assert read.pop("this_file_is") == "for the owner only"
    assert (read["format"], read["version"]) == (type(found).format, 1)
    assert read["foreknow"] == fk.__version__
    if not hostile:  # half a character is no JSON
        assert read == json.loads(as_json(found.to_dict()))
    assert list(read)[:3] == ["format", "version", "foreknow"]


@pytest.mark.thinned(3)
@every_kind
@both
def test_a_terminal_shows_it_at_any_width_without_colour(kind, hostile):
    found = result(kind, hostile)
    for width in (30, 80, 200):
        text = printed(found, width, no_color=True)
        assert max(map(len, text.splitlines())) <= width
        assert "\x1b" not in text
        colored = printed(found, width, force_terminal=True, color_system="truecolor")
        assert "\x1b[31m\x1b" not in colored
        assert "\u202e" not in colored
    whole = words(found, 2000)
    if kind != "SkylineReport":  # whose several values have one of their own
        assert render(found).headline.rstrip(".") in whole


@pytest.mark.thinned(3)
@every_kind
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_an_encoding_that_lacks_a_character_gets_another(kind, encoding):
    for hostile in (False, True):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        Console(file=stream, width=80).print(result(kind, hostile))
        stream.flush()
        assert stream.buffer.getvalue().decode(encoding)


@every_page
@both
def test_a_summary_is_a_small_harmless_fragment(kind, hostile):
    found = result(kind, hostile)
    text = found._repr_html_()
    assert text == render(found).summary()
    assert len(text) < 9500
    reader = Reader(text)
    assert {tag for tag, _ in reader.elements} <= HARMLESS
    assert reader.open == []


@every_kind
def test_a_result_is_frozen_and_has_a_short_repr(kind):
    found = result(kind)
    with pytest.raises(FrozenInstanceError):
        setattr(found, fields(found)[0].name, None)
    assert "\n" not in repr(found)
    assert len(repr(found)) < 300
    assert repr(found).startswith(f"{kind}(")


def test_no_page_names_people():
    named = result(NEVER_WRITTEN)
    with pytest.raises(InputError, match="no page names people"):
        render(named).html()
    assert named._repr_html_() == f"<code>{html.escape(repr(named))}</code>"


def test_a_terminal_needs_no_jinja():
    code = (
        "import io, sys, foreknow as fk, rich.console as r; "
        "c = fk.GroupCounts.from_bags(['ab']); "
        "found = fk.audit(c, fk.Policy([fk.Requirement(fk.Facts(), 1)])); "
        "r.Console(file=io.StringIO()).print(found); "
        "print([m for m in ('jinja2',) if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- another kind of result: one file, and one line in PAGES ------------------------------------


@dataclass(frozen=True)
class Toy(Result):
    """A result that no page knew of."""

    format = "foreknow toy"

    label: str

    def _content(self):
        return {"label": self.label}


class ToyPage(Page[Toy]):
    """What a file of a page holds."""

    serves = Toy
    kept = "it is a toy"

    @property
    def headline(self):
        return f"A toy called {visible(self.result.label)}"

    def blocks(self):
        yield Sentence("It is soft.")
        yield Sentence("And old.", whole=True)


@pytest.fixture
def toy(monkeypatch):
    """The toy's file, and its line in PAGES."""
    file = ModuleType("toy_page")
    file.ToyPage = ToyPage
    monkeypatch.setitem(sys.modules, file.__name__, file)
    monkeypatch.setattr("foreknow.result.PAGES", (*PAGES, ("Toy", "toy_page:ToyPage")))
    return Toy("<b>Teddy</b>")


def test_a_toy_page_is_served_everywhere(toy, tmp_path):
    toy.to_html(tmp_path / "toy.html")
    reader = Reader((tmp_path / "toy.html").read_text("utf-8"))
    assert "For the owner only: it is a toy." in reader.text.replace(" :", ":")
    assert "A toy called <b>Teddy</b>" in reader.text
    assert reader.text.count("It is soft.") == reader.text.count("And old.") == 1
    assert words(toy) == "A toy called <b>Teddy</b> It is soft."
    assert "A toy called &lt;b&gt;Teddy&lt;/b&gt;" in toy._repr_html_()
    assert toy.to_dict() == {
        "format": "foreknow toy",
        "version": 1,
        "foreknow": fk.__version__,
        "label": "<b>Teddy</b>",
    }
    (tmp_path / "toy.json").touch(0o644)
    toy.to_json(tmp_path / "toy.json")
    assert json.loads((tmp_path / "toy.json").read_text())["label"] == "<b>Teddy</b>"


def test_a_page_serves_its_own_type_and_what_inherits_from_it(toy):
    class Bear(Toy):
        pass

    assert words(Bear("Bo")) == "A toy called Bo It is soft."
    impostor = type("Toy", (), {})()
    for stranger in (impostor, object()):
        with pytest.raises(InternalError, match="no page"):
            render(stranger)
