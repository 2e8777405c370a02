"""Audit: verdicts with their witnesses, figures around them, and the policy in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, starmap
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from foreknow.adversaries.release_counts import counts_of
from foreknow.auditing.audit import Audit
from foreknow.auditing.remarks.remark import ATTACK, Reader
from foreknow.auditing.remarks.remarks import for_readers
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.impossible.possible_values import EVERYBODY
from foreknow.data.schema import Schema
from foreknow.data.tables.columns import Relabel
from foreknow.data.utility import Utility
from foreknow.features import load
from foreknow.methods.proof import AS_REQUIRED
from foreknow.plugins import package_of
from foreknow.policy.call_arguments import BY_DEFAULT
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Point, Requirement
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow.policy.tables import Secret
from foreknow.publishing.notes import WEIGHTED
from foreknow.report.blocks import (
    Block,
    Cell,
    Figure,
    Folded,
    Heading,
    Later,
    Mood,
    Pairs,
    Row,
    Sentence,
    Table,
    mood_of,
    word_of,
)
from foreknow.report.exposed_people import (
    exposed_blocks,
    exposed_csv,
    exposed_figure,
    exposed_sentence,
)
from foreknow.report.figures import (
    measures,
    more_known_figure,
    priors_figure,
    sizes_figure,
    worst_cell,
)
from foreknow.report.knowledge import (
    NOUN,
    Description,
    Terms,
    are_facts,
    describe,
    is_learned,
    share_text,
)
from foreknow.report.page import Page
from foreknow.report.scope import (
    HEADING,
    NEAREST,
    RELATIVE,
    TOLD_OF_PEOPLE,
    by_word_of,
    sentences,
    spread_limits,
)
from foreknow.report.trial import limit_passed, trial_notes
from foreknow.report.words import (
    average_text,
    group_text,
    group_words,
    is_certain,
    limit_of,
    limit_text,
    named,
    nouns_of,
    percent,
    reaches_just,
    required_text,
    secret_words,
    setting_text,
    times_text,
)
from foreknow.shown_numbers import percentage
from foreknow.wording import listing, names_people, noun_of
from foreknow_judge.files.printable import visible
from foreknow_judge.remarks.assumptions import ONCE_CLAIMED, on_inference
from foreknow_judge.remarks.scope import Scope
from foreknow_judge.remarks.sentences import (
    ONCE_UNSEEN,
    unlimited,
)
from foreknow_judge.text import number, some
from foreknow_judge.verdict import Verdict

if TYPE_CHECKING:
    from foreknow.auditing.exposed_people import Exposed

_READER = "foreknow.report.known_priors:reader_of"  # loaded where a bound is met
_MOST_VALUES, _EVERY, _LONG = 30, 1000, 60
_NUMBERED = re.compile(r"(require\[\d+\]|requirement|)")


class AuditPage(Page[Audit]):
    """Every verdict on one release.

    The page that is `published` with it shows neither who is exposed nor a figure that was computed
    from values that are not published: NCP, learned priors, what only the owner can count.
    """

    serves = Audit
    eyebrow = "Privacy audit of"
    promise = (
        "Verdicts are decided in fractions: safe means strictly below the limit, or not above it "
        "where the policy says “at most”. “At most” before a worst case marks an upper bound."
    )
    heading = HEADING

    def __init__(self, result: Audit, published: bool = False, attack: str = ATTACK) -> None:
        super().__init__(result)
        self.attack = attack
        self.published = published
        self.kept = None if published else _KEPT

    @property
    def mood(self) -> Mood:
        """Safe only if all requirements hold, some limit inference, and nothing is open."""
        audit = self.result
        is_open = audit.has_earlier or any(audit.provisos[0])
        limits = audit.limits_inference and not (audit.scope.foreign or is_open)
        return mood_of(not audit.failures, limits)

    @property
    def headline(self) -> str:
        """A sentence that says whether the release is safe, and how many requirements hold."""
        idle = self._idle
        if all(idle):
            subject = "the requirement is" if len(idle) == 1 else "the requirements are"
            return f"Nothing was judged: nobody has a value that {subject} about"
        # A requirement that asks nothing of this table is neither safe nor unsafe.
        safe = []
        for verdicts, is_idle in zip(by_requirement(self.result), idle, strict=True):
            if not is_idle:
                safe.append(all(verdict.safe for verdict in verdicts))
        also = by_word_of(self.result.scope)
        if self.result.too_large:
            names = listing(map(visible, self.result.too_large))
            also += f"; {names} by a bound that the judge did not check"
        if n_idle := idle.count(True):
            also += f"; {number(n_idle)} {'asks' if n_idle == 1 else 'ask'} nothing of this table"
        return self._settled(safe) + also

    @property
    def _idle(self) -> list[bool]:
        """For each requirement, True if it asks nothing of the table."""
        return [all(map(_is_idle, verdicts)) for verdicts in by_requirement(self.result)]

    def _settled(self, is_safe: list[bool]) -> str:
        """The part of the headline that says whether the release is safe.

        `is_safe` has an entry for each requirement that was judged.
        """
        n_judged, n_failing = len(is_safe), is_safe.count(False)
        if n_failing not in (0, n_judged):
            verb = "fails" if n_failing == 1 else "fail"
            return f"Not safe: {number(n_failing)} of {number(n_judged)} requirements {verb}"
        # All of them hold, or all fail: they are named by how many there are.
        all_of_them = (
            "both requirements" if n_judged == 2 else f"all {number(n_judged)} requirements"
        )
        verb = "fail" if n_failing else "hold"
        outcome = f"the requirement {verb}s" if n_judged == 1 else f"{all_of_them} {verb}"
        if n_failing:
            return f"Not safe: {outcome}"
        if self.result.limits_inference:
            reach, exceptions = self.result.provisos
            method_text = (
                ", also against an adversary who knows the method" if self._foreseen else ""
            )
            return f"Safe: {outcome}{reach}{method_text}{exceptions}"
        return f"{outcome.capitalize()}{unlimited(self.result)}"

    def as_they_are(self) -> Iterable[str]:
        """Labels of the table, and what is said of the people whose cases these are."""
        audit = self.result
        yield from labels_of(audit)
        yield from (self.name, *TOLD_OF_PEOPLE)

    @property
    def scope(self) -> str:
        """Say what the release is worth, or all releases that are judged as one."""
        line = utility_line(self._utility)
        return f"All releases together: {line}" if self.result.scope.releases else line

    @property
    def _utility(self) -> Utility:
        """Its measures; those that the raw table is needed for are the owner's."""
        utility = self.result.utility
        return replace(utility, ncp={}) if self.published else utility

    @property
    def notes(self) -> list[str]:
        """The notes on what the verdicts do not cover; trials first if one passed its limit."""
        audit, noun = self.result, sensitive_noun(self.result.policy)
        schema = audit.policy.schema
        nouns = noun if schema is None else nouns_of(schema.sensitives)
        # How many guesses are right is counted in the table: it would confirm them to readers.
        found_by_trials = trial_notes(audit, published=self.published)
        scope = replace(audit.scope, method=None) if self._foreseen else audit.scope
        if self.published and schema is not None:
            scope = for_readers(scope, schema)
        attack = "" if self.published else self.attack
        notes = notes_beside_verdicts(audit, nouns, scope, attack, is_owner=not self.published)
        # A trial that passed a limit is the most important; readers of a release are not shown it.
        trials_first = not self.published and any(
            trial.required is None or limit_passed(trial) for trial in audit.trials or ()
        )
        notes = [*found_by_trials, *notes] if trials_first else [*notes, *found_by_trials]
        notes = [*map(_beyond_the_judge, audit.too_large), *notes]
        # That nobody chose the requirements comes before everything else.
        has_requirements = all(
            requirement.name != BY_DEFAULT for requirement in audit.policy.requirements
        )
        notes = [*starmap(_unrounded, audit.unrounded.items()), *notes]
        if schema is not None and schema.published_weights is not None:
            notes.append(f"{WEIGHTED[0].upper()}{WEIGHTED[1:]}.")
        return notes if has_requirements else [_UNCHOSEN, *notes]

    @property
    def assumed(self) -> Sequence[str]:
        """The assumptions of the verdicts: about inference, if limited, and who is counted."""
        audit, schema = self.result, self.result.policy.schema
        limits: tuple[str, ...] = ()
        if audit.limits_inference:
            semantics = audit.counts.semantics if schema is None else schema.semantics
            steps = audit.policy.options.round
            rounded = {
                name: steps[name] for name in steps if audit.rounding.get(name, name) is None
            }
            limits = (*on_inference(rounded, semantics),)
        if audit.scope.cases:
            return limits
        if self.published:
            return (*limits, ONCE_CLAIMED)
        # With a column that names people, it was seen that each is counted once.
        is_seen = schema is not None and schema.naming_columns
        return limits if is_seen else (*limits, ONCE_UNSEEN)

    @property
    def _foreseen(self) -> bool:
        """True if the headline says that the verdict holds against a known method, too."""
        audit = self.result
        return audit.safe and audit.limits_inference and audit.scope.method == AS_REQUIRED

    def blocks(self) -> Iterator[Block]:
        """Yield a table of verdicts, a part for each, what the release is worth, and the policy."""
        audit = self.result
        titles_and_verdicts = list(zip(titled(audit), audit.verdicts, strict=True))
        yield Heading("The verdict on each requirement", "verdicts")
        rows = [
            self._row(*heading, verdict)
            for heading, verdict in titles_and_verdicts
            if not verdict.of_groups
        ]
        # Limits may be relative to priors or not, and the table says which kinds it has.
        relatives = {v.required.relative for v in audit.verdicts if not v.of_groups}
        if rows:
            worst_title = " or ".join(
                [*["worst"] * (False in relatives), *[NEAREST] * (True in relatives)]
            )
            titles = [column_title or worst_title for column_title in _HEAD]
            yield Table(titles, rows, (0, 1, 2, 5), title="Verdicts", style="verdicts")
        if True in relatives:
            yield Sentence(RELATIVE, "note")
        # Criteria of groups are a sentence each, after the table.
        for position, verdict in enumerate(audit.verdicts):
            if verdict.of_groups:
                yield Sentence(self._sentence(position), verdict_mood(audit, verdict))
        if rows:
            explanations = [_NEAREST] * (True in relatives) + [_WORST] * (False in relatives)
            yield Sentence(f"{' '.join(explanations)}{_legend(audit)}", "note", whole=True)
        if not self.published:
            yield Later(lambda: exposed_blocks(titled_exposed(audit)))
        for position, ((title, anchor), verdict) in enumerate(titles_and_verdicts):
            if not verdict.of_groups:
                yield from self._part(title, anchor, position)
        yield Heading("What the release is still worth", "worth")
        if audit.lattice is not None:
            from foreknow.report.pages.lattice import chosen_sentence, lattice_line

            lattice_words = chosen_sentence if self.published else lattice_line
            yield Sentence(lattice_words(audit.lattice, audit.policy.options.written), "note")
        yield Later(self._worth)
        yield Heading("The policy", "policy")
        yield Later(self._policy)

    def exposed_csv(self) -> str:
        """The groups over each limit, for the owner's spreadsheet."""
        return exposed_csv(titled_exposed(self.result))

    def _row(self, title: str, anchor: str, verdict: Verdict) -> Row:
        """The row of a verdict: word, secret, knowledge, worst figure, limit, and case.

        A requirement without a name of its own has its number above the secret.
        """
        values, is_numbered = self._about(verdict), title.startswith("Requirement ")
        secret = Cell(
            values if is_numbered else f"{title}: {values}",
            above=title if is_numbered else "",
            link=anchor,
        )
        limits = limits_of(self.result, verdict)
        case = worst = Cell("–")
        limit = required_text(verdict.required)
        if self._withheld(verdict) is not None:
            worst = Cell("kept with the owner", mood_of(verdict.safe, limits))
        else:
            disclosure = verdict.found
            if not _is_idle(verdict):
                worst = worst_cell(disclosure, verdict.required, limits)
            limit = limit_of(disclosure, verdict.required)
            if disclosure.value is not None:
                case = Cell(visible(disclosure.value), below=_in_group(verdict))
        return self._word(verdict), secret, self._allowed(verdict).short, worst, limit, case

    def _part(self, title: str, anchor: str, position: int) -> Iterator[Block]:
        """Yield the blocks of one verdict: its sentence and what supports it."""
        verdict = self.result.verdicts[position]
        is_idle = _is_idle(verdict)
        yield Heading(f"{title}: {self._about(verdict)}", anchor, word=self._word(verdict))
        mood = verdict_mood(self.result, verdict)
        yield Sentence(self._sentence(position), mood, whole=verdict.safe)
        knows = self._allowed(verdict).knows
        yield Sentence(f"The requirement guards against anyone who {knows}.", whole=True)
        if not is_idle and self._withheld(verdict) is None:
            yield Later(lambda: self._worst_case_blocks(anchor, position))

    def _worst_case_blocks(self, anchor: str, position: int) -> Iterator[Block]:
        """Yield the worst case in detail: its facts, figures, and the worst case of every value."""
        audit, verdict = self.result, self.result.verdicts[position]
        disclosure, noun = verdict.found, sensitive_noun(audit.policy, verdict.requirement)
        requirement_counts = audit.counted_of(verdict)
        semantics = (verdict.counts or counts_of(requirement_counts.counts)).semantics
        if details := describe(verdict.judged, disclosure.witness, noun, semantics).details:
            title = "Whom it is about" if disclosure.bounded else "The facts that achieve it"
            yield Heading(title, level=3)
            yield Pairs(title, details)
        # Values of a set are counted as one value.
        counts, sets = (
            requirement_counts.counts_of_secret(disclosure),
            requirement_counts.meant.sets,
        )
        yield from priors_figure(counts, verdict, anchor)
        yield from more_known_figure(counts, verdict, f"{anchor}-more")
        if not self.published:
            yield from exposed_figure(audit.exposed[position], f"{anchor}-people")
        # Only some of the other values are listed, those nearest to the limit first.
        if verdict.others:
            required, limits = verdict.required, limits_of(audit, verdict)
            rows: list[Row] = []
            for disclosure_shown in [disclosure, *verdict.others][:_MOST_VALUES]:
                holders = _holders(sets, counts, disclosure_shown.value)
                rows.append(
                    (
                        visible(disclosure_shown.value),
                        holders,
                        worst_cell(disclosure_shown, required, limits),
                    )
                )
            relative = verdict.required.relative
            worst = f"case {NEAREST}" if relative else "worst case"
            yield Folded(
                f"The {worst} of every value",
                [
                    Table(
                        ("value", Terms.of(counts.semantics, noun).holders, worst),
                        rows,
                        omitted=1 + len(verdict.others) - len(rows),
                        where=f", none of them {'nearer' if relative else 'higher'}",
                    )
                ],
            )

    def _word(self, verdict: Verdict) -> Cell:
        is_idle = _is_idle(verdict)
        if _is_unproved(verdict) and not is_idle:
            return Cell("not proved", sign=True)
        return word_of(verdict.safe, limits_of(self.result, verdict), is_idle)

    def _about(self, verdict: Verdict) -> str:
        noun = sensitive_noun(self.result.policy, verdict.requirement)
        sets = self.result.counted_of(verdict).meant.sets
        return values_phrase(verdict.requirement, noun, sets=sets)

    def _withheld(self, verdict: Verdict) -> str | None:
        """The reason why the published page leaves a worst case out; None where it is shown.

        Learned priors, and counts of the owner, would tell more than the release does.
        """
        if not self.published:
            return None
        if is_learned(verdict.judged):
            return _BY_LEARNED
        return _BY_OWNER if self.result.policy.asks_owner(verdict.requirement) else None

    def _allowed(self, verdict: Verdict) -> Description:
        """The most knowledge that the requirement allows an adversary, in words.

        Columns that are known of everybody are added.
        """
        audit = self.result
        noun = sensitive_noun(audit.policy, verdict.requirement)
        semantics = (verdict.counts or audit.counts).semantics
        allowed = describe(verdict.judged, None, noun, semantics)
        known_columns = _of_everybody(list(map(visible, verdict.known)))
        return replace(
            allowed,
            knows=", and ".join([allowed.knows, *known_columns]),
            short=", ".join([allowed.short, *known_columns]),
        )

    def _sentence(self, position: int) -> str:
        """The verdict in a sentence; if it fails, also how many people are over the limit."""
        audit, verdict = self.result, self.result.verdicts[position]
        if (withheld_reason := self._withheld(verdict)) is not None:
            subject = f"{criterion_text(verdict.requirement)}: t" if verdict.of_groups else "T"
            return (
                f"{subject}he requirement {'holds' if verdict.safe else 'fails'}. {withheld_reason}"
            )
        sentence = verdict_sentence(verdict, sensitive_noun(audit.policy, verdict.requirement))
        if verdict.safe or self.published:
            return sentence
        return f"{sentence} {exposed_sentence(audit.exposed[position])}"

    def _worth(self) -> Iterator[Block]:
        """Sizes of groups, and how far each column was generalized."""
        yield measures(self._utility)
        yield sizes_block(self.result)

    def _policy(self) -> Iterator[Block]:
        """Yield the policy in words, as pairs of a title and lines."""
        audit = self.result
        rows = policy_rows(
            audit.policy,
            audit.counts.semantics,
            published=self.published,
            counted_requirements=audit.counted,
        )
        yield Pairs("The policy", rows)


_BY_LEARNED = (
    "The priors were learned from the table itself, so they are kept with the owner, and so is "
    "what can be found out by them."
)
_BY_OWNER = (
    "The owner counted it by what the release does not show, so the figure is kept with the owner."
)
_KEPT = (
    "it says where the table is weakest and which facts would expose someone there; the report "
    "that foreknow publish writes is made to go with a release"
)
_HEAD = (
    *("verdict", "what must stay hidden", "from somebody who knows", "", "limit"),
    "value, and in which group",
)


def _beyond_the_judge(requirement: str) -> str:
    return (
        f"{visible(requirement)}: the groups are too large for the judge. What decides is an upper "
        "bound of the adversary class, which the judge did not check."
    )


_UNCHOSEN = "No policy was given: the requirements are Foreknow's default, which nobody chose."
_WORST = (
    "Worst is how sure an adversary can become by the most damaging facts that the requirement "
    "allows."
)
_NEAREST = (
    f"What is {NEAREST} is how sure an adversary can become of the person and value for which the "
    "limit leaves least. It is not the highest probability."
)


def _legend(audit: Audit) -> str:
    """The short words for facts, explained."""
    if not any(are_facts(verdict.judged) for verdict in audit.verdicts):
        return ""
    return f" {Terms.of(audit.counts.semantics, sensitive_noun(audit.policy)).explained}"


def _is_idle(verdict: Verdict) -> bool:
    """True if a verdict asks nothing of the table, and the page may say so."""
    return verdict.idle and not is_learned(verdict.judged)


def _is_unproved(verdict: Verdict) -> bool:
    """True if only another package says that the requirement holds."""
    return verdict.safe and bool(package_of(type(verdict.judged)))


def limits_of(audit: Audit, verdict: Verdict) -> bool:
    """True if a verdict limits inference, as far as the page may tell with learned priors."""
    untold = verdict.idle and is_learned(verdict.judged)
    return untold or (audit.limits_people(verdict) and not _is_unproved(verdict))


def verdict_mood(audit: Audit, verdict: Verdict) -> Mood:
    """Safe or unsafe; neither if a requirement that holds limits no inference or is not proved."""
    return mood_of(verdict.safe, limits_of(audit, verdict)) or "lead"


def _unrounded(column: str, number: str) -> str:
    """The note on a column that was judged without the rounding that the policy asks for."""
    return (
        f"The policy rounds {column}, and this table does not (one of its numbers is {number}): "
        f"the verdicts are on the table as it is. Rounded numbers can be less safe; publish "
        "judges them."
    )


def notes_beside_verdicts(
    audit: Audit, nouns: str, scope: Scope, attack: str = ATTACK, *, is_owner: bool = True
) -> list[str]:
    """The notes on what the verdicts of an audit do not cover, one sentence each.

    `nouns` names the sensitive columns; `owner` says that the notes are for the owner.
    """
    # Which columns are limited, and by which criteria (None: by knowledge).
    schema = audit.policy.schema
    limited_columns = []
    for verdict in audit.verdicts:
        if audit.limits(verdict):
            criterion = verdict.judged.key if verdict.of_groups else None
            limited_columns.append((verdict.requirement.sensitive, criterion))
    limits_by_column = spread_limits([""] if schema is None else schema.sensitives, limited_columns)
    reader = Reader(
        scope,
        nouns,
        holders=Terms.of(audit.counts.semantics).counted,
        limits=bool(audit.policy.points),
        unlimited=not audit.limits_inference,
        spread=limits_by_column,
        attack=attack,
        is_owner=is_owner,
    )
    return sentences(reader)


def _in_group(verdict: Verdict) -> str:
    """The group of a worst case as a narrow cell has it; the sentence has all of it."""
    label = verdict.group
    if label is None:
        return ""
    text = group_text(label) if isinstance(label, tuple) else group_words(label)
    return f"in {text if len(text) <= _LONG else text[:_LONG].rstrip() + ' …'}"


def sizes_block(audit: Audit) -> Figure:
    """How large the groups are."""
    caption = _sizes_caption(audit.utility)
    return Figure("sizes", "How large the groups are", sizes_figure(audit.counts), caption, level=3)


def _holders(sets: Mapping[str, Sequence[str]], counts: GroupCounts, value: Any) -> str:
    """How many people have a value, or a value of a set, as a text; a dash if it is not known."""
    if value in counts.values.codes:
        return number(int(counts.totals[counts.code(value)]))
    members = set(sets.get(str(value), ()))
    codes = []
    for code, label in enumerate(counts.values):
        if str(label) in members:
            codes.append(code)
    is_complete = len(codes) == len(members) > 0  # or some are in the set that is counted as one
    return number(int(counts.totals[codes].sum())) if is_complete else "–"


# ---- a verdict, a requirement, a release in words -------------------------------------------


def verdict_sentence(verdict: Verdict, noun: str = NOUN) -> str:
    """A sentence on the worst that an adversary can find out, about whom, and how surely.

    For a criterion: what the release attains.

    `noun` is the name of the sensitive column in a sentence.
    """
    disclosure, limit = verdict.found, verdict.limit
    columns = list(map(visible, verdict.known))
    if verdict.of_groups:
        criterion = criterion_text(verdict.requirement)
        knowledge = "".join(
            f", for someone who knows {knowledge_of_all}"
            for knowledge_of_all in _of_everybody(columns)
        )
        return f"{criterion}{knowledge}: {visible(disclosure)}."
    if disclosure.value is None:
        return f"Nobody in the release has any {noun} that this requirement is about."
    value, limit_sentence = named(disclosure.value), _bound(verdict)
    if verdict.requirement.sensitive is not None:
        value = f"{noun} {value.removeprefix('a value ')}"
    description = describe(verdict.judged, disclosure.witness, noun)
    knowledge = "".join(f", and {knowledge_of_all}," for knowledge_of_all in _of_everybody(columns))
    # A probability of 0 is not a case: nobody has the value.
    if disclosure.probability == 0 and (description.nobody or disclosure.witness is None):
        return (
            f"Nobody in the release has {value}, so there is nothing to find out; {limit_sentence}."
        )
    reader = load(_READER)(verdict.judged) if disclosure.bounded else ""
    if reader:
        # It is not said that somebody can be so sure, but that nobody can be surer.
        bound_text = (
            f"At most {percent(disclosure, limit, to='up')} for {value} of {description.whose}"
        )
        return f"{bound_text}, for {reader}{knowledge.rstrip(',')}; {limit_sentence}."
    # "Only so sure" if the limit holds, else "certain" or how sure.
    adversary, reaches_limit = "Someone", reaches_just(disclosure, limit)
    if verdict.safe:
        adversary, certainty = "Even someone", f"only {percent(disclosure, limit, to='up')} sure"
    elif is_certain(disclosure, limit):
        certainty = "certain"
    else:
        certainty = f"{'exactly ' if reaches_limit else ''}{percent(disclosure, limit)} sure"
    if not verdict.safe and reaches_limit:
        limit_sentence += ", which must not be reached"
    # A bound says why it is no exact figure.
    elif disclosure.bounded:
        summed_groups = getattr(disclosure.witness, "groups", ())
        reason = f"their {len(summed_groups)} cases are added up"
        if not summed_groups:
            reason = "the group is out of reach of an exact answer"
            if getattr(verdict.counts, "possible", EVERYBODY).restricts:
                reason = (
                    "who there can have the value, or has another that some cannot, is left open"
                )
        limit_sentence += f"; that is an upper bound, since {reason}"
    return (
        f"{adversary} who {description.knows}{knowledge} can be {certainty} that "
        f"{description.whose} has {value}; {limit_sentence}."
    )


def _of_everybody(names: Sequence[str]) -> list[str]:
    """Say which columns are known of everybody, if any are."""
    return [f"the {listing(names, n_shown=_EVERY)} of everybody"] if names else []


def _bound(verdict: Verdict) -> str:
    """A clause on the limit; a relative one with the prior and the chance that it comes to."""
    required, before = verdict.required, verdict.found.prior
    if not required.relative:
        return f"the limit is {required_text(required)}"
    times = required_text(required, "times what was likely before")
    if before is None:
        return f"the limit is {times}"
    return f"the limit is {share_text(verdict.limit)}, {times} ({share_text(before)})"


def by_requirement(audit: Audit) -> list[tuple[Verdict, ...]]:
    """The verdicts of each requirement, in the policy's order; a skyline has several."""
    by_place: dict[int, list[Verdict]] = {}
    for verdict in audit.verdicts:
        by_place.setdefault(verdict.place, []).append(verdict)
    return list(map(tuple, by_place.values()))


def titled(audit: Audit) -> Iterator[tuple[str, str]]:
    """Yield the title and the anchor of each verdict; of several points, each has its number."""
    for position, verdicts in enumerate(by_requirement(audit), 1):
        title, anchor = (
            requirement_title(verdicts[0].requirement, position),
            f"requirement-{position}",
        )
        if len(verdicts) == 1:
            yield title, anchor
            continue
        for part in range(1, len(verdicts) + 1):
            yield f"{title}, point {part}", f"{anchor}-{part}"


def titled_exposed(audit: Audit) -> list[tuple[str, Exposed]]:
    """Who is exposed by each verdict, by its title."""
    pairs = zip(titled(audit), audit.exposed, strict=True)
    return [(title, exposed) for (title, _), exposed in pairs]


def criterion_text(requirement: Requirement) -> str:
    """A criterion as a policy file has it."""
    assert requirement.criterion is not None
    ((key, setting),) = requirement.criterion.to_dict().items()
    # None for the only column; a criterion of people is about none.
    of_columns = "".join(f" of {visible(name)}" for name in requirement.columns if name is not None)
    return f"{key} = {setting_text(setting)}{of_columns}"


def sensitive_noun(policy: Policy, requirement: Requirement | None = None) -> str:
    """The name of the sensitive column in a sentence; "sensitive value" if there are several."""
    if requirement is not None and requirement.sensitive is not None:
        return noun_of(requirement.sensitive)
    sensitives = () if policy.schema is None else policy.schema.sensitives
    return noun_of(*sensitives) if len(sensitives) == 1 else NOUN


def labels_of(audit: Audit) -> Iterator[str]:
    """Yield names of columns, requirements, values and groups, as they stand in sentences."""
    if audit.policy.schema is not None:
        yield from map(noun_of, audit.policy.schema.columns)
        yield from map(visible, audit.policy.schema.columns)
    yield from (visible(label.name) for label in audit.policy.requirements)
    yield from map(visible, audit.counts.values)
    groups = audit.counts.groups or ()
    labels = chain(*(labels_of_column for labels_of_column, _ in audit.counts.group_parts))
    # Many groups have few labels of columns; if none of these is about people, no group is.
    if any(names_people(str(label)) for label in (labels if audit.counts.group_parts else groups)):
        yield from map(group_text, groups)


def requirement_title(requirement: Requirement, position: int) -> str:
    """Name a requirement: its own name, or its place in the policy, from 1."""
    if _NUMBERED.fullmatch(requirement.name):
        return f"Requirement {position}"
    return visible(requirement.name)


def values_phrase(
    requirement: Requirement,
    noun: str = NOUN,
    most: int = 6,
    sets: Mapping[str, Sequence[str]] = {},
) -> str:
    """The values that a requirement is about, in words; labels with the values they stand for."""
    secret = requirement.secret
    if requirement.sensitive is not None and secret == Secret():
        return f"every value of {noun}"
    return secret_words(secret, noun, most, sets)


def utility_line(utility: Utility) -> str:
    """One line on people, groups, their sizes, and the detail that is lost."""
    people, groups = some(utility.people, "person", "people"), utility.groups
    line = f"{people} in {some(groups, 'group', 'groups')}"
    smallest, largest = number(utility.smallest_group), number(utility.largest_group)
    if smallest != largest:
        average = average_text(utility.average_group_size)
        line += f" of {average} on average ({smallest} to {largest})"
    elif groups > 1:
        line += f" of {smallest} each"
    if utility.average_ncp is not None:
        line += f"; {percentage(utility.average_ncp)} of the detail is lost on average (NCP)"
    return " ".join([f"{line}.", *grids_sentence(utility.grids)])


def grids_sentence(grids: Mapping[str, str]) -> list[str]:
    """Say which grid ranges are on, such as whole months; empty without one."""
    steps = [f"{visible(name)} {step_text}" for name, step_text in grids.items()]
    return [f"Ranges are written on a grid: {listing(steps, n_shown=len(steps))}."] if steps else []


def _sizes_caption(worth: Utility) -> str:
    smallest, largest = number(worth.smallest_group), number(worth.largest_group)
    if smallest == largest:
        return f"Every group has {some(worth.largest_group, 'person', 'people')}."
    return (
        f"From {smallest} to {largest} people, {average_text(worth.average_group_size)} on average."
    )


# ---- the policy, for people who do not read TOML --------------------------------------------

_SEVERAL = {"set": "each once, or none (set)", "multiset": "also repeatedly, or none (multiset)"}


def policy_rows(
    policy: Policy,
    semantics: Semantics = "single",
    *,
    published: bool = False,
    counted_requirements: Sequence[RequirementCounts] = (),
) -> list[tuple[str, list[str]]]:
    """Pairs of a title and lines that say what a policy asks and how it was published.

    `counted_requirements` are those that an audit counted.

    `published` adds how it was published; `semantics` is how many values a person has, if the
    policy does not say.
    """
    rows: list[tuple[str, list[str]]] = []
    counts_of_requirements = {}
    for requirement_counts in counted_requirements:
        counts_of_requirements[id(requirement_counts.requirement)] = requirement_counts
    for position, requirement in enumerate(policy.requirements, 1):
        noun = sensitive_noun(policy, requirement)
        # A criterion is one sentence; a limit on knowledge is one line for each point.
        if requirement.criterion is not None:
            sentence = f"Every group must hold {visible(criterion_text(requirement))}."
            rows.append((requirement_title(requirement, position), [sentence]))
            continue
        counted_requirement = counts_of_requirements.get(id(requirement))
        sets = {} if counted_requirement is None else counted_requirement.meant.sets
        values = values_phrase(requirement, noun, most=_EVERY, sets=sets)
        requirement_semantics = (
            semantics if policy.schema is None else policy.semantics_of(requirement)
        )
        lines = [f"About {values}."]
        for point in requirement.points:
            knows = describe(point.adversary, None, noun, requirement_semantics).knows
            claim = "that a particular person has it"
            lines.append(f"Someone who {knows} must {_must(point)} {claim}.")
        judged_by = None if counted_requirement is None else counted_requirement.seen_columns.known
        lines += _sight_lines(policy, requirement, judged_by)
        rows.append((requirement_title(requirement, position), lines))
    if policy.schema is not None:
        options = policy.options
        # Without a form, it is the one that suits the method.
        how = filter(None, [options.form, f"by {options.method}"])
        publication_text = ", ".join(map(visible, how))
        steps = [f"{visible(name)} to multiples of {step}" for name, step in options.round.items()]
        clauses = {
            "apart from each other and all else": [*map(visible, options.unlinked)],
            "rounded": steps,
        }
        for words, phrases in clauses.items():
            publication_text += f"; {words}: {listing(phrases, n_shown=_EVERY)}" if phrases else ""
        rows += [
            *schema_rows(policy.schema),
            *([("Published", [publication_text])] if published else []),
        ]
    return rows


def _sight_lines(
    policy: Policy, requirement: Requirement, judged_columns: Sequence[str] | None
) -> list[str]:
    """Lines that say which columns an adversary is assumed to know, and not to know.

    `judged_columns` are those that the audit took as known; None: those of the policy.
    """
    seen_columns = requirement.seen_columns(policy.layout)
    known_columns = list(
        map(visible, seen_columns.known if judged_columns is None else judged_columns)
    )
    columns = map(visible, (*seen_columns.known, *seen_columns.assumed))
    other_columns = []
    for column in columns:
        if column not in known_columns:
            other_columns.append(column)
    lines = []
    if known_columns:
        known_text = listing(known_columns, n_shown=_EVERY)
        lines.append(f"They also know the {known_text} of everybody.")
    if other_columns:
        unknown_text = listing(other_columns, "or", n_shown=_EVERY)
        lines.append(f"It is assumed that nobody knows the {unknown_text} of anybody.")
    return lines


def _must(point: Point) -> str:
    if point.relative:
        return f"become at most {times_text(point.below)} times as sure as before the release"
    return f"{'be at most' if point.inclusive else 'stay less than'} {limit_text(point.below)} sure"


def schema_rows(schema: Schema) -> list[tuple[str, list[str]]]:
    """Pairs of a title and lines that say what each column of the schema is.

    Roles without a column are left out.
    """
    sensitive = list(map(visible, schema.sensitives))
    known_columns = [_column(schema, column) for column in schema.quasi_identifiers]
    title_of_sensitive = "Sensitive columns" if len(sensitive) > 1 else "Sensitive column"
    for name, semantics in schema.several.items():
        whose_values = (
            "its values" if len(schema.sensitives) == 1 else f"the values of {visible(name)}"
        )
        sensitive.append(f"A person may have several of {whose_values}, {_SEVERAL[semantics]}.")
    named_sets = [name for name in schema.sensitives if name in schema.hierarchies]
    sensitive += [
        f"Sets of values have names, {_coarsening_text(schema, name)}" for name in named_sets
    ]
    rows = [(title_of_sensitive, sensitive), ("Columns others may know", known_columns)]
    weights = schema.published_weights
    for title, columns in (
        ("Identifiers, never published", schema.identifiers),
        ("Published as they are", [name for name in schema.other if name != weights]),
        ("Weights of a survey, published as one for each group", [weights] if weights else []),
        ("Column of groups", [] if schema.group is None else [schema.group]),
    ):
        names = listing(map(visible, columns), n_shown=_EVERY)
        rows.append((title, [names] if columns else []))
    rows.append(("Rows without a sensitive value", _of_missing(schema.missing)))
    return [(title, lines) for title, lines in rows if lines]


def _of_missing(missing: Any) -> list[str]:
    """A line on rows that lack a sensitive value; none if they are an error."""
    if isinstance(missing, Relabel):
        return [f"Published with the label {named(str(missing))}, as a value like others"]
    return ["Left out"] if missing == "drop" else []


def _column(schema: Schema, column: str) -> str:
    if column not in schema.hierarchies:
        return visible(column)
    return f"{visible(column)}: {_coarsening_text(schema, column)}"


def _coarsening_text(schema: Schema, column: str) -> str:
    hierarchy: Any = schema.hierarchies[column]
    return coarsening(hierarchy if isinstance(hierarchy, Mapping) else hierarchy.to_dict())


def coarsening(table: Mapping[str, Any]) -> str:
    """A phrase on how the values of a column coarsen, by its hierarchy in a policy file."""
    match dict(table):
        case {"intervals": widths}:
            return f"in ranges of {', then '.join(map(visible, widths))}"
        case {"mask": _}:
            return "characters masked from the right"
        case {"dates": periods}:
            return f"by {', then '.join(map(visible, periods))}"
        case {"order": _}:
            return "in ranges of a given order"
        case {"file": path}:
            return f"by the hierarchy in {visible(PurePath(str(path)).name)}"
        case _:
            return "by a hierarchy of its own"
