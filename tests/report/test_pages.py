"""Every page of every kind of result, and its words and figures: offline, harmless, not rounded."""

import html
import io
import json
import logging
import random
import re
import stat
import sys
import time
from dataclasses import FrozenInstanceError, fields, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.common import NIGHTLY
from tests.people import made, people, schema
from tests.report.results import (
    EVIL,
    RESULTS,
    Reader,
    assert_as_before,
    case_study,
    evil,
    evil_raw,
    of_sets,
    page_lines,
    printed,
    raw,
    small,
    words,
)

import foreknow as fk
from foreknow import result_pages as pages_module
from foreknow.adversaries.disclosure import Disclosure
from foreknow.atomic_files import as_json
from foreknow.features.attacks.page import interval_text
from foreknow.methods.fulldomain.lattice import Lattice
from foreknow.report import html as report_html
from foreknow.report import render
from foreknow.report.blocks import Table
from foreknow.report.chart import Axis, Chart, Series, round_numbers
from foreknow.report.console import progress
from foreknow.report.knowledge import share_text
from foreknow.report.pages import lattice as lattice_page
from foreknow.report.terminal import Laid
from foreknow.report.words import (
    limit_text,
    measure_text,
    percent,
)
from foreknow.result import Result
from foreknow.result_pages import PAGES
from foreknow.shown_numbers import percentage, significant
from foreknow_judge.errors import InputError
from foreknow_judge.files.printable import visible

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


# Beside the ordinary result of each kind.
OTHERS = {
    "audit-published": lambda: render(small(safe=False), published=True),
    "audit-safe": lambda: render(small()),
    "skyline-of-one": lambda: render(case_study()),
    "skyline-of-sets": lambda: render(of_sets()),
}


@pytest.mark.parametrize("name", [*(n for n, _ in PAGES), *OTHERS])
def test_pages_are_as_before(name):
    shown = OTHERS[name]() if name in OTHERS else render(result(name))
    assert_as_before(name, page_lines(shown))


def test_kinds_are_listed_once():
    listed = [name for name, _ in PAGES]
    assert len(set(listed)) == len(listed)
    public = {n for n in fk.__all__ if isinstance(getattr(fk, n), type)}
    assert {name for name in public if issubclass(getattr(fk, name), Result)} == set(WRITTEN)
    for name in listed:
        assert render(result(name)).serves is getattr(fk, name)


def test_results_must_name_their_unit():
    """Without `in_cases` none can be made, so no page calls cases people."""
    nameless = type("Nameless", (Result,), {"format": "foreknow nameless"})
    with pytest.raises(TypeError, match="in_cases"):
        nameless()


def test_lattices_and_tables_of_cases():
    """A column that is called person stays that, and so does a group."""
    people = raw(names=("age", "person"))
    cases = fk.Microdata(people.source, replace(people.schema, unit="row"))
    limit = fk.Policy([fk.Requirement(fk.Facts(1, 1, 0), below="0.9")], cases.schema)
    shown = words(fk.FullDomain(suppression=0.1).search(cases, limit))
    assert "and person ranges of 5; 10 cases are suppressed" in shown
    assert "300 cases" in cases._repr_html_()
    homes = pyarrow.table({"home": ["one person"] * 3 + ["many"] * 3, "ill": [*"aabbba"]})
    roles = fk.Schema(quasi_identifiers=["home"], sensitive="ill", unit="row")
    audit = fk.audit(homes, fk.Policy([fk.Requirement(fk.Facts(), below="1/2")], roles))
    assert "a member of group “home one person” has a" in words(audit)


@every_page
@both
def test_pages_are_harmless(kind, hostile):
    """They open offline, run no script, refer to what is there, and show labels as they are."""
    text = render(result(kind, hostile)).html()
    reader, ids = Reader(text), re.findall(r'\sid="([^"]*)"', text)
    assert reader.open == []
    assert len(ids) == len(set(ids))
    for tag, attrs in reader.elements:
        assert tag not in {"img", "link", "iframe", "object", "embed", "base", "form"}
        assert not any(name.startswith("on") for name in attrs)
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert attrs.get(name, "#").startswith("#")
        assert "url(" not in attrs.get("style", "")
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert name not in attrs or attrs[name] in ids
        assert not attrs.get("href") or attrs["href"][1:] in ids
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    rule = next(a["content"] for _, a in reader.elements if "content" in a and "http-equiv" in a)
    assert rule.startswith("default-src 'none';")
    assert reader.scripts == []
    assert "script-src 'none';" in rule
    assert len(text) < (500_000 if kind == "SkylineReport" else 200_000)
    if hostile:
        shown = [re.sub(r"\s+", " ", visible(label)) for label in EVIL]
        assert any(label in reader.text for label in shown)
        body = text[text.index("<body") :]
        for label in EVIL:
            assert html.escape(label) == label or label not in body
        assert not re.findall(r"<script>alert|<img|<b>bold", body)
        text.encode("utf-8")


@every_page
@both
def test_summaries_are_small_and_harmless(kind, hostile):
    text = result(kind, hostile)._repr_html_()
    assert text == render(result(kind, hostile)).summary()
    assert len(text) < 9500
    reader = Reader(text)
    assert {tag for tag, _ in reader.elements} <= HARMLESS
    assert reader.open == []


@every_page
@both
def test_files_are_for_the_owner(kind, hostile, tmp_path):
    """A page says so, and only the owner reads it; JSON is versioned, and what Python finds."""
    results_found = result(kind, hostile)
    path = tmp_path / "found.json"
    results_found.to_json(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    document = json.loads(path.read_text("utf-8", "backslashreplace"))
    assert document.pop("this_file_is") == "for the owner only"
    assert (document["format"], document["version"]) == (type(results_found).format, 1)
    assert document["foreknow"] == fk.__version__
    assert list(document)[:3] == ["format", "version", "foreknow"]
    if hostile:  # half a character is no JSON
        return
    assert document == json.loads(as_json(results_found.to_dict()))
    page, path = render(results_found).html(), tmp_path / "page.html"
    path.write_text("readable by all before")
    results_found.to_html(path)
    assert path.read_text("utf-8") == page
    if NIGHTLY and kind != "Attack":  # made once more
        assert render(RESULTS[kind][0]()).html() == page
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (line,) = re.findall(r'<p class="audience.*?</p>', page, re.DOTALL)
    assert re.sub("<[^>]*>", "", line).startswith("For the owner only: ")
    assert render(results_found).kept in html.unescape(line)
    assert render(results_found).headline in Reader(page).text


def test_tables_lose_space_first():
    table = Table(["method", "limit", "people"], [["fulldomain", "25%", "1,000,000"]])
    wide, tight, broken = (printed(Laid([table]), width) for width in (32, 28, 27))
    assert " fulldomain     25%   1,000,000 \n" in wide
    assert " fulldomain   25% 1,000,000 \n" in tight
    assert " fulld     25%   1,000,000 \n" in broken  # too narrow even so: as before


@pytest.mark.thinned(2)
@every_kind
@both
def test_terminals(kind, hostile):
    """At any width, without colour, and in encodings that lack a character."""
    results_found = result(kind, hostile)
    for width in (30, 80, 200):
        text = printed(results_found, width, no_color=True)
        assert max(map(len, text.splitlines())) <= width
        assert "\x1b" not in text
    colored = printed(results_found, 80, force_terminal=True, color_system="truecolor")
    assert "\x1b[31m\x1b" not in colored
    assert "\u202e" not in colored
    if kind != "SkylineReport":  # whose several values have one of their own
        assert render(results_found).headline.rstrip(".") in words(results_found, 2000)
    for encoding in ("ascii", "cp1252"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        Console(file=stream, width=80).print(results_found)
        stream.flush()
        assert stream.buffer.getvalue().decode(encoding)


@every_kind
def test_results_are_frozen(kind):
    """And have a short repr."""
    results_found = result(kind)
    with pytest.raises(FrozenInstanceError):
        setattr(results_found, fields(results_found)[0].name, None)
    assert "\n" not in repr(results_found)
    assert len(repr(results_found)) < 300
    assert repr(results_found).startswith(f"{kind}(")


def test_no_page_names_people():
    named = result(NEVER_WRITTEN)
    with pytest.raises(InputError, match="no page names people"):
        render(named).html()
    assert named._repr_html_() == f"<code>{html.escape(repr(named))}</code>"


# ---- what a notebook shows of each object: its repr, escaped, or a card --------------------------

NAME = "<script>alert(1)&.csv"


def test_one_short_escaped_line(tmp_path):
    pyarrow.csv.write_csv(people(), tmp_path / NAME)
    releases = [
        fk.Release.from_groups(tmp_path / NAME, group="sex", sensitive="disease") for _ in range(2)
    ]
    assert releases[0].counts.n_people == 60  # counted already; `repr` says more then
    certificate = made().certificate
    for thing in (*releases, evil().verdicts[0], certificate, replace(certificate, people=EVIL[0])):
        shown = thing._repr_html_()
        assert shown == f"<code>{html.escape(repr(thing))}</code>"
        assert "<" not in shown.removeprefix("<code>").removesuffix("</code>")
        assert "\n" not in repr(thing)
        assert NAME in repr(thing) or thing not in releases


POLICY = fk.Policy(
    [
        fk.Requirement(fk.Facts(l=1, k=3), below="1/3", values=["Flu"], name="flu"),
        fk.Requirement(fk.KAnonymity(5)),
    ],
    fk.Schema(quasi_identifiers=["age", "zip"], sensitive="illness", identifiers=["pin"]),
)
HOSTILE = evil()
CARDS = [
    (
        POLICY,
        ["flu", "3 other people's illnesses must stay less than 1/3 sure", "k_anonymity = 5"]
        + ["age; zip", "pin"],
    ),
    (
        POLICY.requirements[0],
        ["flu", "About Flu. Someone who knows up to one sensitive value the target does not have"],
    ),
    (fk.Requirement(fk.KAnonymity(5)), ["must hold k_anonymity = 5."]),
    (schema(), ["Sensitive column disease", "age; zip: characters masked", "row and note"]),
    (HOSTILE.policy, ["<script>alert(1)</script>"]),
    (HOSTILE.policy.schema, ["<script>alert(1)</script>"]),
    (evil_raw(), ["not read yet"]),
    (HOSTILE.utility, ["people 44", "groups 2 of 21 to 23 people"]),
]


@pytest.mark.parametrize(("thing", "message"), CARDS, ids=lambda own: type(own).__name__)
def test_cards(thing, message):
    """Small harmless fragments."""
    reader = Reader(thing._repr_html_())
    assert {tag for tag, _ in reader.elements} <= HARMLESS
    assert reader.open == []
    assert len(thing._repr_html_()) < 6000
    text = " ".join(reader.text.split())
    assert [words for words in message if words not in text] == []


def test_cards_are_listed_once():
    """And read no table, but say what was read."""
    listed = [name for name, _ in pages_module.CARDS]
    assert sorted(listed) == sorted({type(thing).__name__ for thing, _ in CARDS})
    table = raw()
    assert "not read yet" in table._repr_html_()
    assert not table.was_read
    assert table.n_people == 300
    assert "300 people" in table._repr_html_()


def test_every_node_is_drawn_once(monkeypatch):
    lattice = result("LatticeResult")
    lines, *data = lattice_page.lattice_figure(lattice).series
    assert sum(len(own.x) for own in data) == lattice.n_nodes == 25
    assert render(lattice).html().count("<use ") == 25
    by_name = {own.name.split(":")[0]: own for own in data}
    (chosen,) = by_name["chosen"].texts
    assert "safe, judged" in chosen
    assert "people suppressed" in chosen
    unsafe = len(lattice.nodes("unsafe"))
    assert len(by_name["not safe"].x) == unsafe
    minimal = set(lattice.minimal) - {lattice.chosen}
    assert len(by_name["safe, none below is"].x) == len(minimal)
    nodes = Lattice(lattice.tops)
    steps = sum(len(list(nodes.parents(number))) for number in range(len(nodes)))
    assert len(lines.x) == 3 * steps
    read = lattice.to_dict()
    assert read["chosen"] == list(lattice.chosen)
    assert read["names"][0] == ["exact", "ranges of 5", "ranges of 10", "ranges of 20", "*"]
    monkeypatch.setattr(lattice_page, "MOST_NODES", 10)  # a larger one is counted, and not drawn
    page = render(lattice).html()
    assert "<svg" not in page
    assert f"{len(lattice.nodes('safe'))} nodes are safe, {unsafe} are not" in Reader(page).text


# ---- words and figures: nothing hidden or rounded to the wrong side; charts --------------------


def shown(exact, limit, digits=0):
    exact = Fraction(exact)
    return percent(Disclosure("AIDS", float(exact), lambda: exact), Fraction(limit), digits)


def test_one_is_in_the_singular():
    counts = fk.GroupCounts.from_bags([["Flu"]])
    for criterion, said in (
        (fk.LDiversity(1), "the least diverse group has 1 value; required: at least 1"),
        (fk.LDiversity(1, kind="entropy"), "as diverse as a single value"),
        (fk.AlphaK(1, 1), "the smallest group has one person"),
    ):
        assert said in criterion.attained(counts).words
    schema = fk.Schema(quasi_identifiers=["age"], sensitive="ill")
    policy = fk.Policy([fk.Requirement(fk.Facts(), "1/2")], schema=schema)
    for method in ("mondrian", "fulldomain", "decoy"):
        with pytest.raises(fk.NoSafeRelease, match="one group of the only person is safe"):
            fk.publish(pa.table({"age": [3], "ill": ["Flu"]}), policy, method=method)
    with pytest.raises(fk.InputError, match="has one person but 2 values"):
        fk.GroupCounts.from_pairs(
            np.array([0, 0]), np.array([0, 1]), values=["a", "b"], n_groups=1, sizes=np.array([1])
        )


# ---- rounding: 0% and 100% are printed only of what is that --------------------------------------


def number_of(text):
    return Fraction(text.replace(",", "").removesuffix("%")) / (100 if text.endswith("%") else 1)


def fractions(n):
    """Fractions of all kinds: simple, near 0 and 1, near a rounded one, long."""
    draw = random.Random(15)
    yield from (Fraction(a, b) for b in range(1, 40 if NIGHTLY else 13) for a in range(b + 1))
    for _ in range(n if NIGHTLY else n // 10):
        bits, side = draw.choice([4, 10, 30, 60]), draw.choice([-1, 1])
        yield Fraction(draw.randrange(2**bits + 1), 2**bits)
        near = Fraction(draw.randrange(1001), 1000) + Fraction(side, 10 ** draw.randrange(5, 25))
        yield min(max(near, Fraction(0)), Fraction(1))


def test_figures_keep_to_their_side():
    """What is the most is rounded up, and what is the least down."""
    for share in fractions(3000):
        figures = [
            (Fraction(1, 2 * 10 ** (digits + 2)), [percentage(share, digits, to) for to in ROUNDED])
            for digits in (0, 1, 2)
        ]
        figures.append((share * Fraction(1, 2000), [significant(share, 4, to) for to in ROUNDED]))
        for off, (least, near, most) in figures:
            assert number_of(least) <= share <= number_of(most)
            for said in (least, near, most):
                assert (number_of(said) in (0, 1)) == (share in (0, 1))
            assert abs(number_of(near) - share) <= off
        assert (share_text(share) in ("0%", "100%")) == (share in (0, 1))
        assert abs(number_of(share_text(share)) - share) <= share * Fraction(1, 200)
        assert (measure_text(float(share)) in ("0%", "100%")) == (float(share) in (0.0, 1.0))


ROUNDED = ("down", "nearest", "up")


@given(
    st.fractions(0, 1, max_denominator=10**13),
    st.fractions(0, 1, max_denominator=10**4).filter(bool),
    st.integers(0, 3),
    st.sampled_from(["nearest", "up"]),
)
def test_probabilities_beside_their_limit(exact, limit, digits, to):
    for share in (exact, limit - Fraction(1, 10**9), limit + Fraction(1, 10**18), limit):
        share = min(max(share, Fraction(0)), Fraction(1))
        disclosure = Disclosure("AIDS", float(share), lambda share=share: share)
        text = percent(disclosure, limit, digits, to)
        if share == limit:
            assert text == limit_text(limit)
            continue
        number = number_of(text)
        assert (number < limit, number > limit) == (share < limit, share > limit)
        assert (number == 0, number == 1) == (share == 0, share == 1)
        assert abs(number - share) <= Fraction(1, 100)
        assert to == "nearest" or number >= share


def test_intervals_are_rounded_outwards():
    draw = random.Random(3)
    for _ in range(2000 if NIGHTLY else 200):
        low, mean, high = sorted(draw.random() ** draw.choice([1, 9]) for _ in range(3))
        matches = re.findall(r"[\d.]+%", interval_text(mean, low, high, 1))
        assert number_of(matches[1]) <= Fraction(repr(low))
        assert number_of(matches[2]) >= Fraction(repr(high))
    assert interval_text(0.5, 0.0, 1.0) == "50% (0% to 100%)"
    assert "100%" not in interval_text(0.9999, 0.99, 0.99999)


# ---- pages beside their JSON --------------------------------------------------------------------


def release(seed):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(12, 60))
    wards = draw.integers(0, int(draw.integers(2, 6)), n)
    ills = draw.choice([*"abcdefg"][: int(draw.integers(3, 8))], n)
    table = pa.table({"ward": wards, "illness": ills})
    return fk.Release.from_groups(table, group="ward", sensitive="illness")


LIMITS = ["1/2", "0.8", "0.95"]
SEEDS = pytest.mark.parametrize("seed", range(24))


def near(said, true):
    """Whether a percentage is the nearest with its decimals, and 0% or 100% only if exact."""
    decimals, number = len(said.partition(".")[2].removesuffix("%")), number_of(said)
    close = abs(number - true) <= Fraction(1, 2 * 10 ** (decimals + 2))
    return close and (number in (0, 1)) == (true in (0, 1))


@pytest.mark.thinned(4)
@SEEDS
def test_audits_say_no_less(seed):
    facts = fk.Facts(seed // 4 % 3, seed // 4 % 2, seed // 2 % 4)
    audit = fk.audit(release(seed), fk.Policy([fk.Requirement(facts, below=LIMITS[seed % 3])]))
    (verdict,) = audit.verdicts
    true = verdict.disclosure.exact
    assert str(true) in json.dumps(audit.to_dict())
    text = Reader(render(audit).html()).text
    if audit.safe:
        limit = Fraction(LIMITS[seed % 3])
        (only,) = {*map(number_of, re.findall(r"[\d.]+%(?= sure)", text))} - {limit}
        assert true <= only < limit
    else:
        for sure in re.findall(r"Someone who [^.]* can be (?:exactly )?([\d.]+%) sure", text):
            assert near(sure, true)
    exactly = {d.exact for d in (verdict.disclosure, *verdict.others)}
    worst = text.partition("The worst case of every value")[2].partition("Utility")[0]
    assert ("100%" in worst) <= (1 in exactly)


# ---- the progress line: only on terminals, only after a while, never left behind -----------------


@pytest.fixture
def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=60)


def await_shown(console, text):
    """Wait until a thread has drawn it."""
    until = time.monotonic() + 60
    while text not in console.file.getvalue():
        assert time.monotonic() < until, f"{text!r} is not shown"
        time.sleep(0.01)


def test_the_latest_message_vanishes(terminal):
    log, root = logging.getLogger("foreknow.somewhere"), logging.getLogger("foreknow")
    before = root.handlers[:]
    with progress("Publishing", console=terminal, delay=0):
        log.info("counted %d groups[red]", 12)
        await_shown(terminal, "Publishing: counted 12 groups[red]")
    assert terminal.file.getvalue().rstrip().endswith("\x1b[2K")  # the line is erased
    assert (root.handlers, root.level, root.propagate) == (before, logging.NOTSET, True)


# ---- charts ----------------------------------------------------------------------------------


def test_places_are_percents():
    """Of the plot, from the top left."""
    chart = Chart(Axis("", 10, 20), Axis("", 0, 4), [Series((10, None, 20), (0, 1, 3), dash="")])
    assert (chart.left(12.5), chart.top(1)) == ("25", "75")
    assert chart.path(chart.series[0]) == "M0 100M100 25"
    assert list(chart.marks(chart.series[0])) == [("0", "100", ""), ("100", "25", "")]
    assert list(round_numbers(0.83, 2.31)) == [1.0, 1.5, 2.0]


@pytest.mark.parametrize(
    ("place", "silent", "kept"),
    [("", False, 1), ("", True, 0), ("missing/", False, 0), ("html.pyc/in-a-zip/", False, 0)],
)
def test_compiled_templates(tmp_path, monkeypatch, place, silent, kept):
    """They are kept where Python keeps modules, if it may, and read again."""
    (tmp_path / "html.pyc").touch()
    monkeypatch.setattr(report_html, "cache_from_source", lambda _: f"{tmp_path}/{place}html.pyc")
    monkeypatch.setattr(sys, "dont_write_bytecode", silent)
    for _ in range(2):
        template = report_html.templates.__wrapped__("foreknow.report").get_template
        assert ">A &lt;<" in template("fragment.html.j2").module.fragment("A <", "", [], "")
        assert len([*tmp_path.iterdir()]) == 1 + 2 * kept
        if kept:
            monkeypatch.setattr("jinja2.Environment.compile", None)
