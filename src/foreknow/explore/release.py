"""The release view: verdicts, dials that answer at once, who is exposed, skylines, "what if"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.statements import Statements
from foreknow.auditing.exposed import Exposed
from foreknow.auditing.skyline import skyline_report
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import Label
from foreknow.data.release import Release
from foreknow.errors import InputError
from foreknow.explore.kinds import Judged
from foreknow.explore.session import Dial, Looked, Secret
from foreknow.numbers import as_threshold, shown, whole_number
from foreknow.policy.requirement import Point, Requirement
from foreknow.publishing.members import OwnRelease
from foreknow.report.blocks import Cell, Table
from foreknow.report.exposed import MEANING, exposed_sentence, exposed_table
from foreknow.report.figures import worst_cell
from foreknow.report.knowledge import Terms, describe
from foreknow.report.pages.audit import (
    AuditPage,
    requirement_title,
    sensitive_noun,
    sizes_block,
    values_phrase,
    verdict_sentence,
)
from foreknow.report.pages.skyline import adversary as adversary_words
from foreknow.report.pages.skyline import heat_figure, least_sentence, terms_of
from foreknow.report.values import block_values, table_values
from foreknow.report.words import (
    answer_texts,
    group_text,
    group_words,
    limit_of,
    limit_text,
    named,
    number,
    some,
    visible,
)
from foreknow.result import page_of
from foreknow.verdict import Verdict

_MOST_VALUES, _MOST_GROUPS, _MOST_ANSWERS = 2000, 8, 200
_MOST_AMOUNT = 10_000
_MOST_STATEMENTS = 200


def overview(looked: Looked) -> dict[str, Any]:
    """All that is said of a release before anything is turned."""
    audit = looked.audit
    page: Any = page_of(audit)
    assert isinstance(page, AuditPage)
    return {
        "headline": page.said(page.headline),
        "mood": page.mood or "plain",
        "notes": page.said(page.notes),
        "blocks": block_values(page.glance()),
        "name": visible(looked.name),
        "published": looked.published,
        "scope": page.said(page.scope),
        "sizes": block_values([page.said(sizes_block(audit))])[0],
        "dials": [_dial(looked, dial) for dial in looked.dials],
        "meaning": MEANING,
        "names": _names_people(looked),
    }


def _dial(looked: Looked, dial: Dial) -> dict[str, Any]:
    own, start = dial.requirement, dial.start
    noun = sensitive_noun(looked.policy, own)
    counts = dial.secrets[0].counts
    facts = start.adversary
    assert isinstance(facts, Facts)
    others = max(int(np.count_nonzero(counts.totals)) - 1, 0)
    tops = min(others, max(8, 2 * facts.l)), max(20, 2 * facts.k), max(10, 2 * facts.m)
    terms = Terms(noun, counts.semantics)
    names = [str(value) for secret in dial.secrets for value in _values(secret)]
    return {
        "place": dial.place,
        "title": requirement_title(own, dial.place),
        "about": values_phrase(own, noun, sets=looked.audit.counted[dial.place - 1].meant.sets),
        "noun": noun,
        "values": names[:_MOST_VALUES] if dial.secrets[0].windows is None else [],
        "start": {"l": facts.l, "k": facts.k, "m": facts.m, "limit": shown(start.below)},
        "tops": dict(zip("lkm", tops, strict=True)),
        "axes": terms.axes,
        "legend": terms.explained,
    }


def _values(secret: Secret) -> list[Label]:
    counts = secret.counts
    mask: Any = secret.counted.asked if secret.windows is None else ()
    return [value for value, own in zip(counts.values, mask, strict=False) if own]


# ---- dials --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turned:
    """Where the dials of a requirement stand."""

    dial: Dial
    amounts: tuple[int, int, int]
    limit: Fraction
    value: str  # empty: every one of them

    @classmethod
    def of(cls, looked: Looked, given: Mapping[str, str]) -> Turned:
        """Read them from an address; what it does not say stands as in the policy."""
        places = {str(dial.place): dial for dial in looked.dials}
        if not places:
            raise InputError("no requirement of the policy is about what somebody could find out")
        asked = given.get("requirement") or next(iter(places))
        if asked not in places:
            raise InputError(f"there is no requirement {asked!r} with dials")
        dial = places[asked]
        facts: Any = dial.start.adversary
        amounts = tuple(_amount(given, name, getattr(facts, name)) for name in "lkm")
        limit = as_threshold(given["limit"]) if given.get("limit") else dial.start.below
        return cls(dial, amounts, limit, given.get("value", ""))  # type: ignore[arg-type]


def _amount(given: Mapping[str, str], name: str, usual: int) -> int:
    text = given.get(name, "")
    if not text:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        raise InputError(f"{name} must be a whole number, not {text!r}")
    return min(whole_number(int(text), name, 0), _MOST_AMOUNT)


def judged(looked: Looked, given: Mapping[str, str]) -> dict[str, Any]:
    """The verdict, who is over the limit and which groups are, wherever the dials stand."""
    turned = Turned.of(looked, given)
    own = turned.dial.turned(turned.amounts, turned.limit)
    noun = sensitive_noun(looked.policy, turned.dial.requirement)
    point = own.points[0]
    each = list(_judged_each(turned, point))
    found = [worst for worst, _, _ in each if worst is not None]
    if not found:
        raise InputError(f"nobody in the release has {named(turned.value)}")
    top = point.worst(found)
    counts = next(counts for worst, counts, _ in each if worst is top)
    limit, place = point.limit, turned.dial.place - 1
    safe, known = top.keeps(limit), turned.dial.known
    verdict = Verdict(place, own, point.adversary, limit, top, safe, known, counts=counts)
    exposed = _exposed(verdict, [about for _, _, about in each])
    return {
        "safe": verdict.safe,
        "sentence": verdict_sentence(verdict, noun),
        "worst": worst_cell(top, limit).text,
        "limit": limit_of(top, limit),
        "exposed": exposed_sentence(exposed),
        "counts": table_values(
            exposed_table([(requirement_title(own, turned.dial.place), exposed)])
        ),
        "groups": table_values(_groups(own, point, noun, [about for _, _, about in each])),
    }


def _judged_each(
    turned: Turned, point: Point
) -> Iterator[tuple[Disclosure | None, GroupCounts, Judged | None]]:
    """The worst of each secret, in which counts, and all its kinds."""
    asked = False
    for secret in turned.dial.secrets:
        if secret.windows is not None:
            found = point.adversary.disclosure(secret.windows)
            yield found, secret.counts, None
            asked = True
            continue
        mask: Any = secret.counted.asked
        if turned.value:
            named_so = np.array([str(value) == turned.value for value in secret.counts.values])
            mask = mask & named_so
            if not mask.any():
                continue
        asked = True
        kinds = secret.kinds(turned.amounts[0])
        all_of_them = kinds.judged(point, mask)
        yield all_of_them.worst(), kinds.some, all_of_them
    if not asked:
        raise InputError(f"the requirement is not about {named(turned.value)}")


def _exposed(verdict: Verdict, each: Sequence[Judged | None]) -> Exposed:
    """People over the limit; of several secrets only where there is one."""
    if len(each) != 1 or each[0] is None:
        return Exposed(verdict)
    return Exposed(verdict, each[0].over(), each[0].certain())


def _groups(own: Requirement, point: Point, noun: str, each: Sequence[Judged | None]) -> Table:
    """The most exposed groups, one of each kind, each with a sentence."""
    rows = []
    for about in each:
        if about is None:
            continue
        some_groups = about.kinds.some
        for group, code, many, found in about.ranked(_MOST_GROUPS):
            cell = some_groups.bag(group)[found.value]
            label = group_text(some_groups.group_label(group))
            alike = f"{label} and {some(many - 1, 'other', 'others')}" if many > 1 else label
            rows.append(
                (
                    found.probability,
                    (
                        alike,
                        number(int(some_groups.sizes[group])),
                        visible(some_groups.values[code]),
                        number(cell),
                        worst_cell(found, point.limit),
                        group_sentence(some_groups, group, found, point, noun),
                    ),
                )
            )
    rows.sort(key=lambda row: -row[0])
    have = "occurrences" if each[0] is not None and each[0].chances.overlap else "have it"
    head = ("group", "people", "value", have, "how sure", "how")
    return Table(head, [row for _, row in rows[:_MOST_GROUPS]], left=(0, 2, 5))


def group_sentence(
    counts: GroupCounts, group: int, found: Disclosure, point: Point, noun: str
) -> str:
    """Say which facts find somebody of a group out; in general where they are about others."""
    facts = point.adversary
    assert isinstance(facts, Facts)
    sure = worst_cell(found, point.limit).text
    alone = facts.disclosure(counts.take(np.array([group])), found.value)
    if abs(alone.probability - found.probability) < 1e-9:
        used = describe(facts, alone.witness, noun)
        return f"Someone who {used.knows} can be {sure} sure that {used.whose} has " + (
            f"{named(found.value)}."
        )
    known = Terms(noun, counts.semantics, named(found.value)).known(facts.l, facts.k, facts.m)
    return (
        f"Someone who knows {known}, some of them of people in other groups, can be {sure} sure "
        f"that a person in {group_words(counts.group_label(group))} has {named(found.value)}."
    )


# ---- skylines -----------------------------------------------------------------------------------


def skyline(looked: Looked, given: Mapping[str, str]) -> dict[str, Any]:
    """The skyline of one value at the limit: its heat map, and what each point means."""
    turned = Turned.of(looked, given)
    noun = sensitive_noun(looked.policy, turned.dial.requirement)
    for secret in turned.dial.secrets:
        found = [value for value in _values(secret) if str(value) == turned.value]
        if secret.windows is not None:
            raise InputError("the skyline of a window is drawn by foreknow skyline --within")
        if found:
            report = skyline_report(
                secret.counts, found[:1], confidence=turned.limit, sensitive=noun
            )
            corners = report.corners(found[0])
            terms = terms_of(report, found[0])
            limit = limit_text(turned.limit)
            return {
                "title": f"What is withstood of {visible(found[0])} at {limit}",
                "least": least_sentence(report, found[0]),
                "points": [corner.point for corner in corners],
                "words": [adversary_words(terms, corner.point) for corner in corners],
                "figure": block_values([heat_figure(report, found[0], "heat")])[0]
                if corners
                else None,
            }
    raise InputError(f"the requirement is not about {named(turned.value)}")


# ---- what if they knew ... ----------------------------------------------------------------------


def _names_people(looked: Looked) -> bool:
    """Whether statements can name people; who they are is only looked up when one is asked."""
    try:
        _named_release(looked, look=False)
    except InputError:
        return False
    return True


def _named_release(looked: Looked, *, look: bool = True) -> Release:
    """The release with the names of its people, which the owner's table or folder has."""
    if looked.published:
        own = OwnRelease.open(looked.path)
        return own.named() if look else own.published.release
    schema = looked.policy.needed_schema
    named_schema = schema.naming()
    return Release.from_schema(looked.path, named_schema, None, looked.policy.options.unlinked)


def asked(looked: Looked, given: Mapping[str, Any]) -> dict[str, Any]:
    """What follows from statements about people for one of them."""
    texts = given.get("statements")
    person = given.get("about")
    if not isinstance(texts, str) or not isinstance(person, str):
        raise InputError("statements and about must be texts")
    if not person.strip():
        raise InputError("say whom to ask about, by the name in the table")
    lines = [line.strip() for line in texts.splitlines()]
    said = [line for line in lines if line and not line.startswith("#")]
    if len(said) > _MOST_STATEMENTS:
        raise InputError(f"more than {_MOST_STATEMENTS} statements; foreknow ask takes a file")
    release = _named_release(looked)
    if len(release.sensitives) > 1:
        release = release.seen(release.sensitive)
    known = Statements(*said)
    row = known.posteriors(release, people=[person.strip()])
    answers = [answer for each in row.values() for answer in each.answers()]
    answers.sort(key=lambda answer: -answer.probability)
    rows = []
    for answer in answers[:_MOST_ANSWERS]:
        before, after = answer_texts(answer)
        width = f"{100 * answer.probability:.2f}"
        rows.append((visible(answer.value), before, Cell(after, "strong", width=width)))
    return {"answers": table_values(Table(("value", "before", "after"), rows)), "person": person}
