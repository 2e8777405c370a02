"""Verification: what was judged afresh of written files, against whom, and what was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from foreknow.auditing.remarks.grounds import FURTHER_RELEASES, OTHER_RELEASES
from foreknow.auditing.remarks.remark import ATTACK, Reader
from foreknow.criteria import registry as criteria
from foreknow.policy.tables import Secret
from foreknow.publishing.verification import Verification
from foreknow.report.blocks import Block, Heading, Items, Mood, Sentence
from foreknow.report.knowledge import NOUN, Terms
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
from foreknow.report.words import named, nouns_of, secret_words, setting_text
from foreknow.shown_numbers import significant
from foreknow.wording import listing, unit_counted
from foreknow_judge.files.printable import one_line, visible
from foreknow_judge.numbers import exact_text
from foreknow_judge.policy.grammar import RequireTable
from foreknow_judge.remarks.sentences import (
    CASES_OF_FILES,
    SEVERAL_CASES,
    UNLIMITED,
    about,
    how_far,
    no_limit,
    noted,
    unlimited,
)
from foreknow_judge.text import some
from foreknow_judge.verdict import Verdict

_SHORT = 11  # a fraction that is longer says less than its decimals


class VerificationPage(Page[Verification]):
    """The page of a verification: verdicts by column, adversary and limit, and what they omit."""

    serves = Verification
    eyebrow = "Verification"
    kept = "others need not trust it, since they can verify the files themselves"
    heading = HEADING

    def __init__(self, result: Verification, attack: str = ATTACK) -> None:
        super().__init__(result)
        self.attack = attack

    @property
    def headline(self) -> str:
        """A sentence that says what was verified, and what holds."""
        result = self.result
        people = some(result.people, "person", "people")
        groups = some(result.n_groups, "group", "groups")
        group_columns = ", ".join(map(visible, result.groups))
        owner_text = "of your policy " if result.own_policy else ""
        # Columns without a requirement are not named as kept.
        required = []
        for name in result.sensitives:
            if name not in result.scope.unrequired:
                required.append(name)
        columns = _full_listing(required)
        reach, exceptions = how_far(result)
        if result.limits_inference:
            ending = f"{reach}{no_limit(result)}{by_word_of(result.scope)}"
            claim = f"every requirement {owner_text}on {columns} holds{ending}"
        else:
            ending = f"{unlimited(result, reach)}{by_word_of(result.scope)}"
            claim = f"every requirement {owner_text}holds{ending}"
        # Requirements about values that nobody has ask nothing of this table.
        n_asking = len({finding.place for finding in result.findings if not finding.idle})
        n_idle = len({finding.place for finding in result.findings}) - n_asking
        verb = "asks" if n_idle == 1 else "ask"
        idle_text = f"; {n_idle} {verb} nothing of this table" if n_idle else ""
        unit_text = unit_counted(result.scope.cases).of_all
        return (
            f"Verified{unit_text}: {people} in {groups} by {group_columns}; "
            f"{claim}{exceptions}{idle_text}"
        )

    @property
    def mood(self) -> Mood:
        """Safe; neutral if nothing is limited, or if more is claimed than the files show.

        Anything unsafe is an error before there is a page.
        """
        result = self.result
        _, beyond = how_far(result)
        return "" if result.scope.foreign or beyond or not result.limits_inference else "safe"

    @property
    def notes(self) -> list[str]:
        """Notes on what the verdicts do not cover, and then on what the publisher claims."""
        result = self.result
        noun = nouns_of(result.sensitives) if len(result.sensitives) == 1 else NOUN
        reader = Reader(
            result.claimed_scope,
            noun,
            Terms.of(result.semantics).counted,
            unlimited=not result.limits_inference,
            is_owner=False,
        )
        claimed = sentences(reader, claimed=True)
        claimed += [f"{one_line(note)}." for note in result.claimed]
        # Which columns are limited, and by which criteria, for the sentences on what is not.
        limited_columns = []
        for finding in result.findings:
            if result.limits(finding):
                criterion = next(iter(finding.judged)) if finding.of_groups else None
                limited_columns.append((finding.requirement.get("sensitive"), criterion))
        limits_by_column = spread_limits(result.sensitives or (result.sensitive,), limited_columns)
        notes = sentences(
            reader._replace(scope=result.scope, spread=limits_by_column, attack=self.attack)
        )
        # Two sentences read otherwise where earlier releases, or cases, were judged, too.
        replacements: dict[str, str] = {}
        if result.claimed_scope.word:
            replacements[SEVERAL_CASES] = CASES_OF_FILES
        if result.after:  # which were judged, too
            replacements[OTHER_RELEASES] = FURTHER_RELEASES
        notes = [replacements.get(sentence, sentence) for sentence in notes]
        return [*notes, *map(noted, claimed)]

    @property
    def assumed(self) -> Sequence[str]:
        """The assumptions of the verdicts: on inference if any limits it, and on who is counted."""
        return self.result.assumed

    def blocks(self) -> Iterator[Block]:
        """The verdict on each requirement, the files, and earlier releases."""
        result = self.result
        yield Heading("What was found", "found")
        yield Items([one_line(_finding(finding)) for finding in result.findings])
        if result.after:
            names = []
            for name, n_people in result.after:
                people = some(n_people, "person", "people")
                names.append(f"{visible(name)} ({people})")
            yield Heading("Together with earlier releases", "together")
            yield Sentence(
                f"Published after {listing(names)}, each of which was verified, too. As one "
                f"release of {some(result.people_of_all, 'person', 'people')}, every requirement "
                f"of this one holds{'' if result.limits_inference else UNLIMITED}. That nobody is "
                "in two of them is the publisher's word."
            )
            yield Items([one_line(_finding(finding)) for finding in result.together])
        yield Heading("Which files", "files")
        yield Sentence(f"Judged: {', '.join(map(visible, _file_names(result.files)))}.")
        not_judged = [name for name in result.not_judged if name not in result.to_keep]
        if result.unchanged:
            yield Sentence(
                f"{_list_files(result.unchanged)} is what was certified, by its digest; what it "
                "says was not judged again."
            )
        if not_judged:
            yield Sentence(f"In the same folder, and not judged: {_list_files(not_judged)}.")
        if result.to_keep:
            yield Sentence(
                f"Keep {_list_files(result.to_keep)} to yourself: not to be published. Do not "
                "send the folder whole; move what is for you elsewhere, as to its name with .owner "
                "after it.",
                "warning",
            )

    def as_they_are(self) -> Iterable[str]:
        """Columns, values and groups that findings name, and what is said of people."""
        result = self.result
        yield from (*result.sensitives, *result.groups, *TOLD_OF_PEOPLE)
        for finding in result.findings:
            yield from filter(None, (finding.group, finding.value))
        yield from filter(None, (*result.scope.unprotected, *result.scope.apart))
        for required in result.requirements:
            yield from _texts_of(_secret(required))


def _texts_of(secret: Secret) -> Iterator[str]:
    """Every value, and every name of a set, that a secret mentions."""
    yield from map(str, (*(secret.values or ()), *secret.excluded, *filter(None, secret.sets)))
    for members in secret.sets.values():
        yield from map(str, members if isinstance(members, tuple) else ())


def _finding(finding: Verdict) -> str:
    """A sentence on one finding: the requirement, what is reached, and the limit."""
    of_column = (
        f"{finding.requirement['sensitive']}: " if "sensitive" in finding.requirement else ""
    )
    ((key, setting),) = finding.judged.items()
    # A criterion of groups: k-anonymity and so on.
    if finding.of_groups:
        by_columns = (
            f" in groups divided by {_full_listing(finding.known)}" if finding.known else ""
        )
        same_people = (
            f"who has the same {_full_listing(finding.alike)}, which are published exactly"
        )
        unit = same_people if finding.alike else "groups"
        kind = criteria.CRITERIA[key]
        attained_text = f"attained is {finding.reached}"
        if kind.of_labels:
            attained_text = "it holds"
        elif hasattr(kind, "unit") and finding.reached is not None:
            # The owner may have counted households, or people of several cases: files do not.
            attained_text = f"attained is {some(int(finding.reached), 'person', 'people')}"
        return (
            f"{of_column}{key} = {setting_text(setting)}{by_columns}: {attained_text}; "
            f"{about(kind, unit)}"
        )
    # A limit on what an adversary with some knowledge can infer.
    required = finding.required
    reached_text, limit = exact_text(finding.found.exact), finding.limit
    if required.relative:
        limit = f"{_above(limit)}, {required.amount} times the prior. {RELATIVE}"
    limit = f"{'not above' if required.inclusive else 'below'} {limit}"
    knowledge = f" and the {_full_listing(finding.known)} of everybody" if finding.known else ""
    secret = _secret(finding.requirement)
    secret_text = "" if secret == Secret() else f", about {secret_words(secret, most=20)}"
    worst_text = f"{NEAREST}:" if required.relative else "at most"
    adversary = f"{of_column}against {key} {_amounts(setting)}{knowledge}{secret_text}"
    if finding.value is None:
        return f"{adversary}: asks nothing, since nobody has a value"
    return f"{adversary}: {worst_text} {reached_text} ({named(finding.value)}), {limit}"


def _above(limit: Fraction) -> str:
    """A limit as a fraction, if that is short; else a decimal that is rounded up."""
    return text if len(text := str(limit)) <= _SHORT else significant(limit, to="up")


def _amounts(amounts: Mapping[str, Any]) -> str:
    """An adversary's amounts as "l = 1, k = 2"; for priors, the columns they are by."""
    if "tables" in amounts:
        sets = "; ".join(", ".join(table["attributes"]) for table in amounts["tables"])
        facts = amounts.get("facts") or {}
        on_top = f" and facts {_amounts(facts)}" if facts else ""
        return f"by {sets} ({amounts.get('semantics', 'joint')}){on_top}"
    return ", ".join(f"{name} = {amount}" for name, amount in amounts.items())


def _secret(required: Mapping[str, Any]) -> Secret:
    """The values that a requirement of a certificate is about."""
    return Secret(*RequireTable.model_validate(required).secret)


def _list_files(labels: Iterable[Any], limit: int = 6, joined: str = "and") -> str:
    return listing(map(named, labels), joined, n_shown=limit)


def _full_listing(names: Iterable[str]) -> str:
    texts = list(map(visible, names))
    return listing(texts, n_shown=len(texts))


def _file_names(files: Iterable[str]) -> Iterator[str]:
    """Yield the files by their names; a table in several parts, once with their number."""
    n_parts = Counter(name.partition("/")[0] for name in files)
    for name, parts in n_parts.items():
        yield name if name in files else f"{name} ({some(parts, 'part', 'parts')})"
