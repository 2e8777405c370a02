"""What a notebook shows of each object: its repr, escaped."""

import html
from dataclasses import replace

import pyarrow.csv
import pytest
from tests.people import made, people, schema
from tests.report.reading import Reader
from tests.report.results import EVIL, evil, evil_raw, raw

import foreknow as fk
from foreknow import result

NAME = "<script>alert(1)&.csv"


def release(table):
    """Counted already; `repr` says more then."""
    found = fk.Release.from_groups(table, group="sex", sensitive="disease")
    assert found.counts.n_people == 60
    return found


SHOWN = {
    "release": lambda table: fk.Release.from_groups(table, group="sex", sensitive="disease"),
    "counted release": release,
    "verdict": lambda table: evil().verdicts[0],
    "certificate": lambda table: made().certificate,
    "forged certificate": lambda table: replace(made().certificate, people=EVIL[0]),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_what_a_notebook_shows_is_one_short_escaped_line(kind, tmp_path):
    pyarrow.csv.write_csv(people(), tmp_path / NAME)
    thing = SHOWN[kind](tmp_path / NAME)
    shown = thing._repr_html_()
    assert shown == f"<code>{html.escape(repr(thing))}</code>"
    assert "<" not in shown.removeprefix("<code>").removesuffix("</code>")
    assert "\n" not in repr(thing)
    assert NAME in repr(thing) or kind in ("verdict", "certificate", "forged certificate")


# ---- cards: what an analysis is given -----------------------------------------------------------

POLICY = fk.Policy(
    [
        fk.Requirement(fk.Facts(l=1, k=3), below="1/3", values=["Flu"], name="flu"),
        fk.Requirement(fk.KAnonymity(5)),
    ],
    fk.Schema(quasi_identifiers=["age", "zip"], sensitive="illness", identifiers=["pin"]),
)
NOT_SAFE = evil()
CARDS = {
    "policy": (
        POLICY,
        ["flu", "3 other people's illnesses must stay less than 1/3 sure", "k_anonymity = 5"]
        + ["age; zip", "pin"],
    ),
    "requirement": (
        POLICY.requirements[0],
        ["flu", "About Flu. Someone who knows up to one sensitive value the target does not have"],
    ),
    "nameless requirement": (fk.Requirement(fk.KAnonymity(5)), ["must hold k_anonymity = 5."]),
    "schema": (
        schema(),
        ["Sensitive column disease", "age; zip: characters masked", "row and note"],
    ),
    "hostile policy": (NOT_SAFE.policy, ["<script>alert(1)</script>"]),
    "hostile schema": (NOT_SAFE.policy.schema, ["<script>alert(1)</script>"]),
    "hostile table": (evil_raw(), ["not read yet"]),
    "utility": (NOT_SAFE.utility, ["people 44", "groups 2 of 21 to 23 people"]),
}


@pytest.mark.parametrize("kind", CARDS)
def test_a_card_is_a_small_harmless_fragment(kind):
    given, said = CARDS[kind]
    shown = given._repr_html_()
    reader = Reader(shown)
    assert {tag for tag, _ in reader.elements} <= {
        *("div", "p", "strong", "span", "table", "thead", "tbody", "tr", "th", "td")
    }
    assert reader.open == []
    assert len(shown) < 6000
    text = " ".join(reader.text.split())
    for each in said:
        assert each in text


def test_every_card_is_listed_once():
    listed = [name for name, _ in result.CARDS]
    assert sorted(listed) == sorted({type(given).__name__ for given, _ in CARDS.values()})


def test_a_card_reads_no_table_but_says_what_was_read():
    table = raw()
    assert "not read yet" in table._repr_html_()
    assert not table.was_read
    assert table.n_people == 300
    assert "300 people" in table._repr_html_()
