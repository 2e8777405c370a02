"""HTML: an audit as one page that opens offline, and as a fragment for notebooks (Jinja2)."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.facts.witness import FactsWitness
from foreknow.adversaries.implications.implications import Negations
from foreknow.adversaries.priors.priors import Priors
from foreknow.auditing.audit import Audit, Verdict
from foreknow.data.counts import GroupCounts
from foreknow.report.figures import knowledge_figure, sizes_figure, steps, withstands, worst_groups
from foreknow.report.page import figure_json, fragment, page
from foreknow.report.pages.audit_terminal import (
    adversary_phrase,
    by_requirement,
    group_of,
    headline,
    requirement_title,
    sensitive_noun,
    telling,
    unprotected_sentence,
    utility_line,
    values_phrase,
    verdict_sentence,
)
from foreknow.report.pages.curves import curves_section
from foreknow.report.pages.lattice_words import chosen_sentence
from foreknow.report.pages.priors import priors_section
from foreknow.report.policy_rows import policy_rows
from foreknow.report.terms import Terms
from foreknow.report.words import (
    average_text,
    group_text,
    limit_text,
    named,
    number,
    percent,
    plural,
    point_limit,
    some,
    times_text,
    visible,
)

_MOST_VALUES = 30
_KEPT = (
    "it says where the table is weakest and which facts would expose somebody there; the report "
    "that foreknow publish writes is made to go with a release"
)
_MOST_GROUPS = 5


def audit_page(audit: Audit, *, published: bool = False) -> str:
    """Write an audit as one HTML page that asks nothing of any network.

    Parameters
    ----------
    audit : Audit
    published : bool
        Whether it goes with a release, so it may not show what learned priors tell.

    Returns
    -------
    str
        The same text for the same audit.
    """
    noun = sensitive_noun(audit.policy)
    return page(
        "page.html.j2",
        "page.js",
        kept=None if published else _KEPT,
        title=f"{headline(audit)} – {visible(audit.name)}",
        name=visible(audit.name),
        audit=audit,
        headline=headline(audit),
        unprotected=unprotected_sentence(audit),
        noun=noun,
        nouns=plural(noun),
        terms=Terms(noun, audit.counts.semantics),
        legend=any(isinstance(v.point.adversary, (Facts, Negations)) for v in audit.verdicts),
        sections=_sections(audit, noun, published=published),
        sizes=figure_json(sizes_figure(audit.counts)),
        utility=audit.utility,
        utility_line=utility_line(audit.utility),
        sizes_caption=_sizes_caption(audit),
        average=average_text(audit.utility.average_group_size),
        ncp=[(visible(name), loss) for name, loss in audit.utility.ncp.items()],
        levels=None
        if audit.lattice is None
        else chosen_sentence(audit.lattice, audit.policy.options.form),
        policy=policy_rows(audit.policy, audit.counts.semantics),
    )


def audit_summary(audit: Audit) -> str:
    """Write an audit as a small HTML fragment, for notebooks."""
    noun = sensitive_noun(audit.policy)
    return fragment(
        "summary.html.j2",
        headline=headline(audit),
        unprotected=unprotected_sentence(audit),
        name=visible(audit.name),
        safe=audit.safe,
        sections=_sections(audit, noun, brief=True),
        utility_line=utility_line(audit.utility),
    )


# ---- what the templates show --------------------------------------------------------------


@dataclass(frozen=True)
class _Chance:
    """A probability beside its limit, as text and as widths of a bar in percent."""

    text: str
    limit: str
    width: str | None  # None where there is nothing to draw
    mark: str
    safe: bool


@dataclass(frozen=True)
class _Section:
    """One verdict as the page shows it."""

    anchor: str
    title: str
    about: str
    safe: bool
    sentence: str
    knows: str
    short: str
    value: str
    group: str
    chance: _Chance
    details: tuple[tuple[str, str], ...]
    figure: Markup | None
    heading: str
    caption: str
    groups: list[tuple[str, str, str, _Chance]]
    values: list[tuple[str, str, _Chance]]
    more_values: str


def _sections(
    audit: Audit, noun: str, brief: bool = False, published: bool = False
) -> list[_Section]:
    made = []
    for place, verdicts in enumerate(by_requirement(audit), 1):
        for part, verdict in enumerate(verdicts, 1):
            several = len(verdicts) > 1
            title = requirement_title(verdict.requirement, place)
            anchor = f"requirement-{place}-{part}" if several else f"requirement-{place}"
            title = f"{title}, point {part}" if several else title
            if published and _is_learned(verdict):
                made.append(_withheld(audit.counts, verdict, noun, title, anchor))
            else:
                made.append(_section(audit.counts, verdict, noun, title, anchor, brief))
    return made


def _is_learned(verdict: Verdict) -> bool:
    adversary = verdict.point.adversary
    return isinstance(adversary, Priors) and any(table.learned for table in adversary.tables)


def _withheld(
    counts: GroupCounts, verdict: Verdict, noun: str, title: str, anchor: str
) -> _Section:
    """A verdict whose priors are kept with the owner: nothing that was found by them."""
    point = verdict.point
    limit = limit_text(point.below)
    if point.relative:
        limit = f"{times_text(point.below)} × prior"
    return _Section(
        anchor=anchor,
        title=title,
        about=values_phrase(verdict.requirement, noun),
        safe=verdict.safe,
        sentence=f"The requirement {'holds' if verdict.safe else 'fails'}. The priors were learned "
        "from the table itself, so they are kept with the owner, and so is what can be found out "
        "by them.",
        knows=adversary_phrase(point.adversary, noun, counts.semantics),
        short=telling(point.adversary, None, noun, counts.semantics).short,
        value="–",
        group="–",
        chance=_Chance("kept with the owner", limit, None, "", verdict.safe),
        details=(),
        figure=None,
        heading="",
        caption="",
        groups=[],
        values=[],
        more_values="",
    )


def _section(
    counts: GroupCounts, verdict: Verdict, noun: str, title: str, anchor: str, brief: bool
) -> _Section:
    found, adversary = verdict.disclosure, verdict.point.adversary
    told = telling(adversary, found.witness, noun, counts.semantics)
    figure, caption = (None, "") if brief else _figure(counts, verdict, noun)
    everything = [] if brief or found.value is None else [found, *verdict.others]
    return _Section(
        anchor=anchor,
        title=title,
        about=values_phrase(verdict.requirement, noun),
        safe=verdict.safe,
        sentence=verdict_sentence(verdict, noun),
        knows=adversary_phrase(adversary, noun, counts.semantics),
        short=told.short,
        value="–" if found.value is None else visible(found.value),
        group=group_of(verdict),
        chance=_chance(found, verdict),
        details=told.details,
        figure=figure,
        heading="Before and after the release"
        if isinstance(adversary, Priors)
        else "If more were known, or less",
        caption=caption,
        groups=[] if brief else _groups(counts, verdict),
        values=[
            (visible(d.value), number(_holders(counts, d)), _chance(d, verdict))
            for d in everything[:_MOST_VALUES]
        ],
        more_values=some(len(everything) - _MOST_VALUES, "other", "others")
        if len(everything) > _MOST_VALUES
        else "",
    )


def _chance(found: Disclosure, verdict: Verdict) -> _Chance:
    limit = verdict.point.limit(found)
    return _Chance(
        percent(found, limit, 1),
        point_limit(verdict.point, found),
        f"{100 * found.probability:.2f}",
        f"{100 * float(limit):.2f}",
        verdict.point.holds(found),
    )


def _groups(counts: GroupCounts, verdict: Verdict) -> list[tuple[str, str, str, _Chance]]:
    facts, found = verdict.point.adversary, verdict.disclosure
    if not isinstance(facts, Facts) or not isinstance(found.witness, FactsWitness):
        return []
    named = found.witness.target_position
    return [
        (
            group_text(row.group),
            number(row.people),
            number(row.holders),
            _chance(row.found, verdict),
        )
        for row in worst_groups(counts, facts, found.value, _MOST_GROUPS, named)
    ]


def _holders(counts: GroupCounts, found: Disclosure) -> int:
    return int(counts.totals[counts.code(found.value)])


def _figure(counts: GroupCounts, verdict: Verdict, noun: str) -> tuple[Markup | None, str]:
    """What would be disclosed if more were known, or less: a figure and its caption."""
    if isinstance(verdict.point.adversary, Priors):
        return priors_section(counts, verdict)
    figure = knowledge_figure(counts, verdict, noun)
    if figure is None:
        return curves_section(counts, verdict, noun)
    return figure_json(figure), _caption(counts, verdict, noun)


def _caption(counts: GroupCounts, verdict: Verdict, noun: str) -> str:
    """Say what the figure shows, in words: how far the release is from its limit."""
    facts, limit = verdict.point.adversary, verdict.limit
    assert isinstance(facts, Facts)
    most = withstands(counts, facts, verdict.disclosure.value, limit)
    terms = Terms(noun, counts.semantics, named(verdict.disclosure.value))
    start = f"With {' and '.join(terms.beside(facts.l, facts.m)) or 'nothing else known'}"
    asked = f"the policy asks for {number(facts.k)}"
    if most < 0:
        return f"{start}, the limit is reached even when {terms.are_known(0)}; {asked}."
    if most == 0:
        return f"{start}, the limit holds only while {terms.are_known(0)}; {asked}."
    if most >= steps(facts.k)[-1]:
        return f"{start}, the limit still holds when {terms.are_known(most)}; {asked}."
    return f"{start}, the limit holds while at most {terms.are_known(most)}; {asked}."


def _sizes_caption(audit: Audit) -> str:
    worth = audit.utility
    least, largest = number(worth.smallest_group), number(worth.largest_group)
    if least == largest:
        return f"Every group has {some(worth.largest_group, 'person', 'people')}."
    return f"From {least} to {largest} people, {average_text(worth.average_group_size)} on average."
