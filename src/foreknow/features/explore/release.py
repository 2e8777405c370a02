"""The release view: verdicts, dials to change limits, people over them, skylines, questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.release_counts import counts_of
from foreknow.auditing.audit import audit
from foreknow.auditing.exposed_people import Exposed, exposed_by
from foreknow.data.columns.reading_rules import Reading
from foreknow.data.release import Release
from foreknow.data.tables.sources import open_table
from foreknow.features import load
from foreknow.features.explore.session import Dial, JudgedSource
from foreknow.numbers import whole_number
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow.report.blocks import Cell, Row, Table, mood_of
from foreknow.report.exposed_people import MEANING, exposed_sentence, exposed_table
from foreknow.report.figures import worst_cell
from foreknow.report.knowledge import Terms
from foreknow.report.pages.audit import (
    AuditPage,
    requirement_title,
    sensitive_noun,
    sizes_block,
    values_phrase,
    verdict_sentence,
)
from foreknow.report.values import block_values, table_values
from foreknow.report.words import answer_texts, group_text, limit_of, limit_text, named
from foreknow.result_pages import page_of
from foreknow.written_releases.members import OwnRelease
from foreknow.written_releases.written_release import open_published
from foreknow_judge.errors import InputError
from foreknow_judge.files.printable import visible
from foreknow_judge.numbers import as_threshold, read_number, shown
from foreknow_judge.text import number

_MOST_VALUES, _MOST_GROUPS, _MOST_ANSWERS = 2000, 8, 200
_MOST_AMOUNT = 10_000
_MOST_STATEMENTS = 200
_MOST_ROWS = 20


def overview(looked: JudgedSource) -> dict[str, Any]:
    """The page's view of a release before a dial is turned: verdicts, scope, and the dials."""
    audit = looked.audit
    page: Any = page_of(audit)
    assert isinstance(page, AuditPage)
    return {
        "headline": page.said(page.headline),
        "mood": page.mood or "plain",
        "notes": page.said(page.notes),
        "assumed": page.said(list(page.assumed)),
        "blocks": block_values(page.glance()),
        "name": visible(looked.name),
        "published": looked.published,
        "scope": page.said(page.scope),
        "sizes": block_values([page.said(sizes_block(audit))])[0],
        "dials": [_dial(looked, dial) for dial in looked.dials],
        "meaning": MEANING,
        "names": _names_people(looked),
    }


def _dial(looked: JudgedSource, dial: Dial) -> dict[str, Any]:
    """The page's view of a dial: its requirement, its values, where it starts and ends.

    A dial sets the amounts l, k and m of facts (values that the target lacks, people whose values
    are known, linked people), and the limit.
    """
    requirement, start_point = dial.requirement, dial.start
    noun = sensitive_noun(looked.policy, requirement)
    counts = counts_of(dial.requirement_counts.seen)
    facts = start_point.adversary
    assert isinstance(facts, Facts)
    n_other_values = max(int(np.count_nonzero(counts.totals)) - 1, 0)
    # Up to twice what the policy has, or a little more; l at most to all other values.
    highest_amounts = (
        min(n_other_values, max(8, 2 * facts.l)),
        max(20, 2 * facts.k),
        max(10, 2 * facts.m),
    )
    terms = Terms.of(counts.semantics, noun)
    return {
        "place": dial.place,
        "title": requirement_title(requirement, dial.place),
        "about": values_phrase(requirement, noun, sets=dial.requirement_counts.meant.sets),
        "noun": noun,
        "values": sorted(map(str, dial.values), key=_place_of)[:_MOST_VALUES],
        "start": {"l": facts.l, "k": facts.k, "m": facts.m, "limit": shown(start_point.below)},
        "tops": dict(zip("lkm", highest_amounts, strict=True)),
        "axes": terms.axes,
        "legend": terms.explained,
    }


def _place_of(value: str) -> tuple[bool, Any, str]:
    """The sort key of a value in a list: numbers as numbers, then texts."""
    amount = read_number(value)
    return amount is None, amount or 0, value


def rows(looked: JudgedSource) -> list[dict[str, Any]]:
    """Some rows of each table, as they are in the files; only the owner may see them."""
    if looked.published:
        tables = open_published(looked.path).rows()
    else:
        raw_table = open_table(looked.path, Reading.of(looked.policy.needed_schema.reading))
        tables = {looked.name: raw_table.arrow(raw_table.columns)}
    # The first rows of each table, with empty cells for missing values.
    views = []
    for name, table in tables.items():
        cells = []
        for row in table.slice(0, _MOST_ROWS).to_pylist():
            values = row.values()
            cells.append(["" if value is None else visible(value) for value in values])
        titles = list(map(visible, table.column_names))
        view = Table(titles, cells, title=visible(name), left=range(len(titles)))
        views.append({**table_values(view), "many": number(len(table))})
    return views


# ---- dials --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DialPositions:
    """The positions of the dials of a requirement: amounts, limit, value."""

    dial: Dial
    amounts: tuple[int, int, int]
    limit: Fraction
    value: str  # empty: every one of them

    @property
    def counted(self) -> RequirementCounts:
        """The counts of the requirement as the dials have it."""
        return self.dial.turned(self.amounts, self.limit, self.value)

    @classmethod
    def of(cls, looked: JudgedSource, inputs: Mapping[str, str]) -> DialPositions:
        """The positions of the dials in a request; a missing one stands as in the policy."""
        dials = {str(dial.place): dial for dial in looked.dials}
        if not dials:
            raise InputError("no requirement of the policy is about what somebody could find out")
        number = inputs.get("requirement") or str(looked.dials[0].place)
        if number not in dials:
            raise InputError(f"there is no requirement {number!r} with dials")
        dial = dials[number]
        facts: Any = dial.start.adversary
        l = _amount(inputs, "l", facts.l)
        k = _amount(inputs, "k", facts.k)
        m = _amount(inputs, "m", facts.m)
        limit = as_threshold(inputs["limit"]) if inputs.get("limit") else dial.start.below
        value = inputs.get("value", "")
        if value and value not in map(str, dial.values):
            raise InputError(f"the requirement is not about {named(value)}")
        return cls(dial, (l, k, m), limit, value)


def _amount(inputs: Mapping[str, str], name: str, usual: int) -> int:
    text = inputs.get(name, "")
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise InputError(f"{name} must be a whole number, not {text!r}")
    return min(whole_number(int(text), name, 0), _MOST_AMOUNT)


def judge(looked: JudgedSource, inputs: Mapping[str, str]) -> dict[str, Any]:
    """The verdict at these positions of the dials, with the people and groups over the limit."""
    positions = DialPositions.of(looked, inputs)
    dial = positions.dial
    policy = replace(looked.policy, requirements=[positions.counted.requirement])
    # A release is counted by one request at a time.
    with looked.lock:
        new_audit = audit(looked.release, policy, learned=False)
    (verdict,), (requirement_counts,) = new_audit.verdicts, new_audit.counted
    limits = requirement_counts.limits_inference
    (exposed,) = exposed_by(requirement_counts, [verdict], limits)
    title = requirement_title(dial.requirement, dial.place)
    return {
        "mood": mood_of(verdict.safe, limits) or "plain",
        "sentence": verdict_sentence(verdict, sensitive_noun(looked.policy, dial.requirement)),
        "worst": worst_cell(verdict.found, verdict.required, limits).text,
        "limit": limit_of(verdict.found, verdict.required),
        "exposed": exposed_sentence(exposed),
        "counts": table_values(exposed_table([(title, exposed)])),
        "groups": table_values(_groups(exposed)),
    }


def _groups(exposed: Exposed) -> Table:
    """A table of the groups over the limit, the worst first."""
    rows: list[Row] = []
    for group in islice(exposed.groups, _MOST_GROUPS):
        if group.disclosure is not None:
            chance_cell = worst_cell(group.disclosure, exposed.verdict.required, exposed.limits)
            sizes = number(group.size), number(group.people)
            value = visible(group.disclosure.value)
            rows.append((group_text(group.label), *sizes, value, chance_cell))
    titles = ("group", "people", "found out", "value", "how sure")
    return Table(titles, rows, left=(0, 3))


# ---- skylines -----------------------------------------------------------------------------------


def skyline(looked: JudgedSource, inputs: Mapping[str, str]) -> dict[str, Any]:
    """The skyline of one value at the limit: its heat map, and what each point means.

    A point is an amount of facts that the release withstands at this limit.
    """
    positions = DialPositions.of(looked, inputs)
    noun = sensitive_noun(looked.policy, positions.dial.requirement)
    if not positions.value:
        raise InputError(
            "name a value; the skyline of a window is drawn by foreknow skyline --within"
        )
    value = next(label for label in positions.dial.values if str(label) == positions.value)
    title = f"The knowledge that {visible(value)} withstands at {limit_text(positions.limit)}"
    # A verdict may know more than counts of people, and then a skyline would differ from it.
    if reason := _why_uncounted(positions.counted):
        message = f"There is no skyline here: it would count each row as a person, and {reason}."
        return {"title": title, "least": message, "points": [], "words": [], "figure": None}
    page = load("foreknow.features.skylines.skyline_page")
    report = load("foreknow.features.skylines.skyline:skyline_report")(
        counts_of(positions.counted.counts), [value], confidence=positions.limit, sensitive=noun
    )
    corners, terms = report.corners(value), page.terms_of(report, value)
    figure = block_values([page.heat_figure(report, value, "heat")])[0] if corners else None
    return {
        "title": title,
        "least": page.least_sentence(report, value),
        "points": [corner.point for corner in corners],
        "words": [page.adversary(terms, corner.point) for corner in corners],
        "figure": figure,
    }


def _why_uncounted(requirement_counts: RequirementCounts) -> str:
    """A phrase for what a verdict takes into account and a skyline does not; empty if nothing."""
    if requirement_counts.number_of_cases is not None:
        return "people may have several cases"
    if requirement_counts.requirement.shown is not None:
        return "people of a household have a value together"
    if counts_of(requirement_counts.seen).possible.restricts:
        return "some people cannot have some values"
    return ""


# ---- what if they knew ... ----------------------------------------------------------------------


def _names_people(looked: JudgedSource) -> bool:
    """True if statements can name people; who they are is only looked up when one is asked."""
    try:
        _named_release(looked, look=False)
    except InputError:
        return False
    return True


def _named_release(looked: JudgedSource, *, look: bool = True) -> Release:
    """The release with the names of its people, from the owner's table or folder.

    With `look` False, only whether there are names is found out.
    """
    if looked.published:
        owned_release = OwnRelease.open(looked.path, must_be_beside=True)
        return owned_release.named() if look else owned_release.published.release
    schema = looked.policy.needed_schema
    named_schema = schema.naming()
    return Release.from_schema(looked.path, named_schema, None, looked.policy.options.unlinked)


def ask(looked: JudgedSource, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The probabilities of one person's values, before and after statements are known.

    "statements" is a text with one statement a line; "about" is the person's name.
    """
    texts = inputs.get("statements")
    person = inputs.get("about")
    if not isinstance(texts, str) or not isinstance(person, str):
        raise InputError("statements and about must be texts")
    if not person.strip():
        raise InputError("say whom to ask about, by the name in the table")
    lines = [line.strip() for line in texts.splitlines()]
    statements = [line for line in lines if line and not line.startswith("#")]
    if len(statements) > _MOST_STATEMENTS:
        raise InputError(f"more than {_MOST_STATEMENTS} statements; foreknow ask takes a file")
    release = _named_release(looked)
    # a release does not say whose row shows which of the columns beside the secret
    unknown_columns = release.layout.seen().known if looked.published else ()
    release = release.seen(release.sensitive, [] if looked.published else None)
    knowledge = load("foreknow.features.statements.statements:Statements")(*statements)
    row = knowledge.posteriors(release, people=[person.strip()])
    answers = sorted(row.answers(), key=lambda answer: -answer.probability)
    rows = []
    for answer in answers[:_MOST_ANSWERS]:
        before_text, after_text = answer_texts(answer)
        width = f"{100 * answer.probability:.2f}"
        rows.append((visible(answer.value), before_text, Cell(after_text, "strong", width=width)))
    return {
        "answers": table_values(Table(("value", "before", "after"), rows)),
        "person": person,
        "unknown": ", ".join(map(visible, unknown_columns)),
    }
