"""Evidence: a release explained to somebody who must accept it, and what they must add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from importlib.resources import files
from itertools import chain
from typing import Any

from foreknow.auditing.exposed_people import Exposed
from foreknow.auditing.remarks.grounds import OTHER_RELEASES
from foreknow.auditing.remarks.remark import Reader
from foreknow.call_hints import Plain
from foreknow.features import load
from foreknow.features.evidence.evidence import EvidenceReport
from foreknow.report.blocks import (
    Block,
    Cell,
    Heading,
    Items,
    Later,
    Mood,
    Pairs,
    Row,
    Sentence,
    Table,
)
from foreknow.report.exposed_people import count_text, exposed_blocks, exposed_figure
from foreknow.report.figures import worst_cell
from foreknow.report.knowledge import Terms, describe, is_learned
from foreknow.report.page import Page
from foreknow.report.pages.audit import (
    by_requirement,
    labels_of,
    notes_beside_verdicts,
    policy_rows,
    requirement_title,
    schema_rows,
    sensitive_noun,
    titled,
    titled_exposed,
    utility_line,
    values_phrase,
    verdict_mood,
    verdict_sentence,
)
from foreknow.report.scope import (
    ALL_OF_ONE,
    NEAREST,
    RELATIVE,
    TOLD_OF_PEOPLE,
    by_word_of,
    sentences,
)
from foreknow.report.trial import lacking_for_trial, trial_notes
from foreknow.report.words import average_text, nouns_of, setting_text
from foreknow.shown_numbers import percentage, significant
from foreknow.toml import from_toml
from foreknow.wording import CASES, PEOPLE, listing, people_text
from foreknow_judge.files.file_names import CERTIFICATE, CODE_BOOK, REPORT
from foreknow_judge.files.printable import visible
from foreknow_judge.remarks.assumptions import ONCE_CLAIMED, as_rounded
from foreknow_judge.remarks.sentences import (
    CASES_OF_FILES,
    SEVERAL_CASES,
    about,
    how_far,
    no_limit,
    noted,
    unlimited,
)
from foreknow_judge.text import number, some
from foreknow_judge.verdict import Verdict

_NO_CONCLUSION = (
    "This page states what was published, what was measured and what was assumed. It draws no "
    "legal conclusion: its reader decides whether that is enough, and fills in what no "
    "measurement can know."
)
_SOURCES = {
    "facts": "Chen, LeFevre and Ramakrishnan, “Privacy Skyline: Privacy with Multidimensional "
    "Adversarial Knowledge”",
    "implications": "Martin, Kifer, Machanavajjhala, Gehrke and Halpern, “Worst-Case Background "
    "Knowledge for Privacy-Preserving Data Publishing”",
    "negations": "Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, “l-Diversity: Privacy "
    "Beyond k-Anonymity”",
    "priors": "Wong, Fu, Wang, Xu, Yu and Pei, “Anonymization with Worst-Case Distribution-Based "
    "Background Knowledge”",
}
_TO_SIGN = (
    "Name and role",
    "Given to, for which purpose",
    "Conclusion, and until when it holds",
    "Date and signature",
)
# Sentences that differ by what is counted.
_AFRESH = {PEOPLE: " afresh", CASES: " of cases, afresh"}
_NOBODY = {
    PEOPLE: "Nobody whose value has a limit could be found out at it; each was examined in turn.",
    CASES: "No case could be found out at a limit; each whose value has one was examined by "
    "itself, and several were not added up.",
}
_SHARED = {
    PEOPLE: ", so these columns alone identify none of these rows.",
    CASES: f". {ALL_OF_ONE}",
}
_NOT_LIMITED = "No requirement limits what can be inferred about a person: that was not judged."
# How sentences about other releases begin.
_OF_RELEASES = (OTHER_RELEASES, "Published after", "Judged together")
_ALL = 1000
# The titles of what was measured, by the names in `guidances.toml`.
_TITLES = {
    "singling_out": "People who stand alone",
    "isolating": "A random question",
    "linking": "Links between people and groups",
    "inference": "People over a limit",
    "tried": "Trials",
    "people_said": "People",
    "picking": "Picking one person of a group",
    "average": "Picking one person, on average",
    "objectives": "What is required",
    "methods": "Methods",
    "distinguishing": "How far each column is coarsened",
    "transformed": "What was transformed",
    "usefulness": "Answers to queries",
    "verified": "Verification",
    "documents": "Documents",
    "owned": "What stays with the owner",
}
_HOLDS = "What holds, against whom, and under which assumptions"
_ASSUMED = "What is assumed"
_NOT_COVERED = "What this does not cover"
_PUBLISHED = "What was published"
_BEFORE = "Before and after"


@dataclass(frozen=True)
class Answer(Plain):
    """A question of a guidance, the measurements that answer it, and what its reader must add."""

    _json_fields = "question measured to_fill_in=to_fill"

    question: str
    measured: tuple[str, ...] = ()
    to_fill: tuple[str, ...] = ()


def guidances() -> list[Any]:
    """The guidances, each with its questions."""
    text = files("foreknow.features.evidence").joinpath("guidances.toml").read_text("utf-8")
    entries: list[Any] = from_toml(text.replace("\r\n", "\n"))["guidance"]
    return entries


class EvidencePage(Page[EvidenceReport]):
    """The evidence page: the release, its verdicts and assumptions, the questions of guidance."""

    serves = EvidenceReport
    eyebrow = "Evidence for"
    kept = (
        "give it to those who must assess the release, but do not publish it; it reveals more of "
        "the table than the release does"
    )
    promise = _NO_CONCLUSION

    @property
    def headline(self) -> str:
        """Say how many people it is about, and that it was verified."""
        return f"What is known about a release of {some(self._people, 'person', 'people')}"

    @property
    def mood(self) -> Mood:
        """Safe; neutral if nothing is limited, or if more is claimed than was verified."""
        audit, (_, beyond) = self.result.audit, how_far(self.result.verification)
        return "" if audit.scope.foreign or beyond or not audit.limits_inference else "safe"

    def as_they_are(self) -> Iterable[str]:
        """Labels of the table, and the questions of guidances, in their words."""
        yield from labels_of(self.result.audit)
        yield from (self.name, *TOLD_OF_PEOPLE)
        for title, answers in self._questions:
            yield title
            for answer in answers:
                yield from (answer.question, *answer.to_fill)

    @property
    def scope(self) -> str:
        """Say what the release is worth."""
        return utility_line(self.result.audit.utility)

    def blocks(self) -> Iterator[Block]:
        """Yield the release, verdicts and their assumptions, the raw table, and the questions."""
        # With another mood than "safe", all verdicts have the page's. Blocks that are `whole` are
        # left out of a page's short form.
        before, mood = self._before(), self.mood or "lead"
        yield Sentence(self._afresh, mood)
        yield Sentence(_NO_CONCLUSION, "note")
        yield Heading(_PUBLISHED, "published")
        yield Pairs(_PUBLISHED, self._published(), whole=True)
        yield Heading(_HOLDS, "safe")
        for verdict, text in zip(self.result.audit.verdicts, self._safe, strict=True):
            sentence_mood = verdict_mood(self.result.audit, verdict) if mood == "safe" else mood
            yield Sentence(text, sentence_mood, whole=before is not None)
        yield Heading(_ASSUMED, level=3)
        yield Items(self._assumptions(), whole=True)
        if self._beside:
            yield Heading(_NOT_COVERED, level=3)
            yield Items(self._beside, whole=True)
        if before is not None:
            yield Heading(_BEFORE, "before")
            yield before
        if self.result.utility is not None:
            yield from _for_the_page(_of_utility(self.result.utility).blocks(level=3))
        yield Later(self._over_limits)
        yield from self._answers()
        yield Heading("Digests and signature", "digests")
        yield self._digests()
        yield Items(self._checks(), whole=True)
        yield Heading("Assessed by", "sign")
        yield from [Sentence(text, "fill", whole=True) for text in _TO_SIGN]

    def _over_limits(self) -> Iterator[Block]:
        """Tables of the people over each limit, and of how sure somebody could be of them."""
        exposed = self._exposed()
        yield from exposed_blocks(exposed)
        for position, (title, exposed_by_verdict) in enumerate(exposed, 1):
            yield from exposed_figure(exposed_by_verdict, f"people-{position}", title)

    def _answers(self) -> Iterator[Block]:
        """Yield everything measured for a guidance, each once; then the questions of each guidance.

        An answer refers to the title under which its sentences stand.
        """
        # Sentences that the page stated before are not repeated.
        title_of = self._stated()
        yield Heading("What was measured for the guidances", "measured")
        for title, texts in self._measured().items():
            if new_texts := [text for text in texts if text not in title_of]:
                yield Heading(title, level=3)
                yield Items(new_texts, whole=True)
                title_of.update(dict.fromkeys(new_texts, title))
        n_questions = n_to_fill = 0
        for _, answers in self._questions:
            n_questions += len(answers)
            n_to_fill += len([answer for answer in answers if answer.to_fill])
        yield Sentence(
            f"{number(n_questions)} questions of {number(len(self._questions))} guidances, in our "
            f"words; {number(n_to_fill)} of them have something for the reader to fill in."
        )
        for place, (title, of_guidance) in enumerate(self._questions, 1):
            yield Heading(title, f"guidance-{place}")
            for question_number, answer in enumerate(of_guidance, 1):
                yield Heading(f"{question_number}. {answer.question}", level=3)
                if answer.measured:
                    titles = dict.fromkeys(title_of[text] for text in answer.measured)
                    names = listing([f"“{name}”" for name in titles], n_shown=_ALL)
                    yield Sentence(f"See {names} above.", whole=True)
                else:
                    yield Sentence("Nothing of this can be measured.", "note", whole=True)
                yield from [Sentence(text, "fill", whole=True) for text in answer.to_fill]

    def _stated(self) -> dict[str, str]:
        """The title under which the page states each sentence that comes before the guidances."""
        return {
            **dict.fromkeys(self._roles, _PUBLISHED),
            **dict.fromkeys(self._safe, _HOLDS),
            **dict.fromkeys(self._assumptions(), _ASSUMED),
            **dict.fromkeys(self._beside, _NOT_COVERED),
            **dict.fromkeys(self._usefulness, _BEFORE),
        }

    def _measured(self) -> dict[str, list[str]]:
        """The sentences of each name in `guidances.toml`, by title.

        A name there is that of a property of this page, without its underscore.
        """
        measured: dict[str, list[str]] = {}
        questions = chain.from_iterable(guidance["questions"] for guidance in guidances())
        names = chain.from_iterable(question.get("measured", ()) for question in questions)
        for name in dict.fromkeys(names):
            measured[_TITLES.get(name, name)] = list(getattr(self, f"_{name}"))
        return measured

    # ---- facts in words -----------------------------------------------------------------------

    @property
    def _people(self) -> int:
        return self.result.verification.people

    @property
    def _afresh(self) -> str:
        return f"Verified{_AFRESH[self.unit]} from the files: {self._held}."

    @property
    def _held(self) -> str:
        audit = self.result.audit
        far, beyond = how_far(self.result.verification)
        limited = far + no_limit(self.result.verification)
        how = limited if audit.limits_inference else unlimited(audit, far)
        return f"every requirement holds{how}{by_word_of(audit.scope)}{beyond}"

    @cached_property
    def _noun(self) -> str:
        return sensitive_noun(self.result.audit.policy)

    @cached_property
    def _nouns(self) -> str:
        schema = self.result.audit.policy.schema
        return self._noun if schema is None else nouns_of(schema.sensitives, "and")

    @property
    def _any_noun(self) -> str:
        schema = self.result.audit.policy.schema
        return self._noun if schema is None else nouns_of(schema.sensitives)

    @property
    def _generalized(self) -> bool:
        return self.result.certificate.form == "generalized"

    @property
    def _known(self) -> tuple[str, ...]:
        schema = self.result.certificate.policy["schema"]
        return tuple(schema.get("quasi_identifiers", ()))

    @property
    def _columns(self) -> str:
        return listing(map(visible, self._known), n_shown=_ALL) or "no column"

    @property
    def _beside(self) -> list[str]:
        """Sentences on what the verdicts do not cover, for readers of the page.

        What the publisher claims is noted as the publisher's words.
        """
        audit, claimed = self.result.audit, self.result.verification.claimed_scope
        notes = notes_beside_verdicts(audit, self._any_noun, audit.scope, is_owner=False)
        if claimed.word:
            notes = [CASES_OF_FILES if note == SEVERAL_CASES else note for note in notes]
        reader = Reader(
            claimed,
            self._any_noun,
            Terms.of(audit.counts.semantics).counted,
            unlimited=not audit.limits_inference,
            is_owner=False,
        )
        claims = sentences(reader, claimed=True)
        notes += map(noted, claims)
        if claimed.method is not None:
            notes.append(
                "Which method made the release is the publisher's word: its files do not show it."
            )
        return notes

    def _withheld(self, requirement: Any) -> bool:
        return any(is_learned(point.adversary) for point in requirement.points)

    def _exposed(self) -> list[tuple[str, Any]]:
        titles_and_exposed = titled_exposed(self.result.audit)
        return [
            (title, exposed)
            for title, exposed in titles_and_exposed
            if not self._withheld(exposed.requirement)
        ]

    def _published(self) -> list[tuple[str, list[str]]]:
        """Pairs of a title and sentences: files, people, form, roles and the method."""
        certificate, schema = self.result.certificate, self.result.audit.policy.schema
        assert schema is not None
        method = dict(certificate.method)
        name = visible(method.pop("name", ""))
        settings = {visible(key): setting for key, setting in method.items()}
        how = [noted(f"{name} {setting_text(settings)}")]
        form = {
            "generalized": "Generalized: columns that others may know are coarsened, and rows that "
            "look alike are a group.",
            "bucketized": "Bucketized: columns that others may know are published as they are, "
            f"with the number of a group; another table has the {self._nouns} of each group.",
        }[certificate.form]
        groups = some(certificate.n_groups, "group", "groups")
        # Identifiers have a row of their own.
        rows = [
            ("Files", list(map(visible, certificate.files))),
            ("People", [f"{number(certificate.people)} in {groups}"]),
            ("Form", [form]),
            *schema_rows(replace(schema, identifiers=())),
            *self._left_out,
            ("Made by", how),
        ]
        if certificate.grids:
            pairs = certificate.grids.items()
            grids = []
            for column, grid in pairs:
                grids.append(noted(f"{visible(column)} {visible(grid)}"))
            rows.append(("Ranges are on a grid", grids))
        return rows

    @property
    def _left_out(self) -> list[tuple[str, list[str]]]:
        """The identifiers of the policy, which the files do not contain."""
        schema = self.result.audit.policy.schema
        names = () if schema is None else schema.identifiers
        names_text = noted(listing(map(visible, names), n_shown=_ALL))
        return [("Identifiers, never published", [names_text])] if names else []

    @property
    def _safe(self) -> list[str]:
        """A sentence for each requirement: how it was found to hold."""
        sentences: list[str] = []
        for position, verdicts in enumerate(by_requirement(self.result.audit), 1):
            for verdict in verdicts:
                title = requirement_title(verdict.requirement, position)
                sentences.append(f"{title}: {self._found(verdict)}")
        return sentences

    def _found(self, verdict: Verdict) -> str:
        """A sentence that says what a verdict found, and about which values."""
        # A criterion of groups is not about values; learned priors would tell about the raw table.
        if verdict.of_groups:
            what = about(verdict.judged)
            return f"{verdict_sentence(verdict)} {what[0].upper()}{what[1:]}."
        if is_learned(verdict.judged):
            return (
                "it holds. The priors were learned from the table itself, so the owner keeps "
                "them, and the figures that follow from them."
            )
        noun = sensitive_noun(self.result.audit.policy, verdict.requirement)
        sets = self.result.audit.counted_of(verdict).meant.sets
        values = values_phrase(verdict.requirement, noun, sets=sets)
        remark = f" {RELATIVE}" if verdict.required.relative else ""
        return f"about {values}. {verdict_sentence(verdict, noun)}{remark}"

    def _assumptions(self) -> list[str]:
        """The assumptions of the verdicts, and the adversaries guarded against, as sentences."""
        audit = self.result.audit
        texts = [
            "Everybody may know who is in the table, each person's values in the columns that "
            "others may know, and so each person's group.",
            "Apart from the knowledge in a requirement, nobody can tell the members of a group "
            "apart: every way to assign the values of a group to its members is equally likely, "
            "or as likely as the stated priors make it.",
            "An adversary's knowledge is true, and at most of the required amounts; which facts "
            "they know does not matter, since the figures are for the worst ones.",
            *as_rounded(self.result.verification.rounded),
            *[ONCE_CLAIMED] * (not audit.scope.cases),
        ]
        # Each adversary is described once, however many requirements guard against it.
        kinds: dict[str, None] = {}
        for requirement in audit.policy.requirements:
            noun = sensitive_noun(audit.policy, requirement)
            for point in requirement.points:
                knows = describe(
                    point.adversary, None, noun, audit.policy.semantics_of(requirement)
                ).knows
                kinds.setdefault(knows, None)
        texts += [f"Guarded against: anyone who {knows}." for knows in kinds]
        return texts

    # ---- before and after ---------------------------------------------------------------------

    def _before(self) -> Table | None:
        """A table that compares the raw table with the release, by the same requirements.

        None if the raw table was not judged.
        """
        before, after = self.result.before, self.result.audit
        if before is None:
            return None
        bucketized = self.result.certificate.form == "bucketized"
        heads = (
            "people",
            "groups" if bucketized else "groups of people who look alike",
            "smallest group",
            "people alone in their group",
            "average group",
        )
        rows: list[Row] = [*zip(heads, _sizes(before), _sizes(after), strict=True)]
        # Requirements with learned priors would tell about the raw table, so they are left out.
        verdicts = zip(titled(after), before.exposed, after.exposed, strict=True)
        for (title, _), verdict_then, verdict_now in verdicts:
            if self._withheld(verdict_then.requirement):
                continue
            of_groups = verdict_then.verdict.of_groups
            what = "in groups that fail" if of_groups else "found out at the limit"
            rows.append(
                (
                    f"{title}: people {what}",
                    count_text(verdict_then.over),
                    count_text(verdict_now.over),
                )
            )
            if not of_groups:
                certain = count_text(verdict_then.certain), count_text(verdict_now.certain)
                rows.append((f"{title}: of them with certainty", *certain))
                worst = map(_worst_cell, (verdict_then, verdict_now))
                case = f"case {NEAREST}" if verdict_then.verdict.required.relative else "worst case"
                rows.append((f"{title}: {case}{self.unit.of_one}", *worst))
        note = (
            "In the table as it was, people with equal quasi-identifiers are a group. Both are "
            "judged by the same requirements, for the people of the release."
        )
        if bucketized:
            note += (
                " In the release, the people of a group keep their exact quasi-identifiers, by "
                "which as many are alone as before: groups only hide whose a sensitive value is."
            )
        return Table(("measure", "the table as it was", "the release"), rows, note=note)

    # ---- questions ----------------------------------------------------------------------------

    def questions(self) -> list[tuple[str, list[Answer]]]:
        """The questions of each guidance, with what was measured."""
        return [(title, list(map(self._worded, answers))) for title, answers in self._questions]

    def _worded(self, answer: Answer) -> Answer:
        """An answer in the words of the page."""
        return replace(answer, measured=tuple(map(self.said, answer.measured)))

    @cached_property
    def _questions(self) -> list[tuple[str, list[Answer]]]:
        questions: list[tuple[str, list[Answer]]] = []
        for guidance in guidances():
            answers = [self._answer(**question) for question in guidance["questions"]]
            questions.append((guidance["title"], answers))
        return questions

    def _answer(
        self,
        question: str,
        measured: Iterable[str] = (),
        to_fill: Iterable[str] = (),
        if_not_measured: Iterable[str] | None = None,
    ) -> Answer:
        """The answer to a question: measured sentences, and texts that are left to fill in.

        `measured` names the properties of this page with the sentences. If they are empty, the
        texts are `if_not_measured`, where given.
        """
        sentences = chain.from_iterable(getattr(self, f"_{name}") for name in measured)
        texts = tuple(sentences)
        open_texts = to_fill if texts or if_not_measured is None else if_not_measured
        fill = [text.replace("{columns}", self._columns) for text in open_texts]
        return Answer(question, texts, tuple(fill))

    @cached_property
    def _singling_out(self) -> tuple[str, ...]:
        """Sentences on whether the row of one person can be isolated by its published columns."""
        scope, worth = self.result.audit.scope, self.result.audit.utility
        identifiers = self.result.certificate.policy["schema"].get("identifiers", ())
        people = some(worth.smallest_group, "person", "people")
        texts = []
        if identifiers:
            names = listing(map(visible, identifiers), n_shown=_ALL)
            texts.append(noted(f"Identifiers were left out: {names}."))
        # Labels may be shared or not; exact columns may always point to a person.
        if self._generalized:
            if scope.groups_of_one:
                texts.append(
                    f"{some(scope.groups_of_one, 'person is', 'people are')} alone with their "
                    f"published {self._columns}, so their row can be isolated."
                )
            else:
                texts.append(
                    f"Every published combination of {self._columns} is shared by at least {people}"
                    f"{_SHARED[self.unit]}"
                )
        else:
            texts.append(
                f"{self._published_exactly}: anyone who knows a person's values "
                f"may isolate their row. The row has no {self._noun}, but the number of a group "
                f"of at least {people}."
            )
        if self.result.before is not None:
            n_alone = self.result.before.scope.groups_of_one
            were = "was" if n_alone == 1 else "were"
            texts.append(
                f"In the table as it was, {number(n_alone)} of "
                f"{number(self.result.before.utility.people)} people {were} alone with their exact "
                f"{self._columns}."
            )
        if self.result.certificate.beside:
            columns = list(map(visible, self.result.certificate.beside))
            texts.append(
                f"Also published, as they are: {listing(columns, n_shown=_ALL)}. Together with "
                "these, a row may belong to one person only."
            )
        return tuple(texts)

    @property
    def _isolating(self) -> list[str]:
        """A sentence that a random question isolates somebody; none if groups have no labels."""
        if not self._generalized:
            return []
        # Each of n people says yes with chance 1/n: one does with n * 1/n * (1 - 1/n)^(n-1).
        smallest = self.result.audit.utility.smallest_group
        chance_of_lone_person = Fraction(smallest - 1, smallest) ** (smallest - 1)
        return [
            "Take a random question that each of the n people of a group answers with yes with a "
            "chance of 1/n. With a chance of at least 1/e, about 37%, exactly one person says yes "
            f"and is isolated; in the smallest group, of {some(smallest, 'person', 'people')}, the "
            f"chance is {percentage(chance_of_lone_person, 1)}. No release in groups can avoid "
            "that, however large the groups are (Cohen and Nissim, 2020)."
        ]

    @property
    def _releases(self) -> list[str]:
        return [sentence for sentence in self._beside if sentence.startswith(_OF_RELEASES)]

    @property
    def _assumed(self) -> list[str]:
        return self._assumptions()

    @property
    def _tried(self) -> list[str]:
        """Sentences on the trials of this page, or on why none was run."""
        audit = self.result.audit
        if audit.trials:
            return trial_notes(audit)
        return [
            "No trial was run for this page of what can be learned from the release itself: "
            f"{lacking_for_trial(audit)}. {REPORT} says whether the publisher tried an "
            "attacker; the result stays with the owner."
        ]

    @property
    def _people_said(self) -> list[str]:
        worth = self.result.audit.utility
        groups = some(worth.groups, "group", "groups")
        return [f"{people_text(self._people, 'all')}, in {groups}."]

    @property
    def _average(self) -> list[str]:
        """A sentence on how likely a random pick in a group is right, on average.

        Of exact columns, only the raw table says how many people share them.
        """
        measured_audit = self.result.audit if self._generalized else self.result.before
        if measured_audit is None:
            return []
        worth = measured_audit.utility
        share = Fraction(worth.groups, worth.people) if worth.people else Fraction(0)
        return [
            "On average over everybody, such a pick is right with a chance of "
            f"{significant(share, 3, 'up')} ({number(worth.groups)} groups, "
            f"{some(worth.people, 'person', 'people')})."
        ]

    @property
    def _owned(self) -> list[str]:
        return [
            "Who is in which group, keys and identifiers are kept in a folder of the owner, and "
            "are no part of the release.",
        ]

    @cached_property
    def _inference(self) -> tuple[str, ...]:
        """Sentences on what may be inferred of a person: the verdicts, and what they leave open."""
        texts = list(self._safe)
        over = []
        for _, exposed in self._exposed():
            if not exposed.verdict.of_groups and not exposed.verdict.idle:
                over.append(exposed.over)
        if not self.result.audit.limits_inference:
            texts.append(_NOT_LIMITED)
        elif over and all(tally is not None and not tally.people for tally in over):
            texts.append(_NOBODY[self.unit])
        return (*texts, *self._beside)

    @property
    def _linking(self) -> tuple[str, ...]:
        """Sentences on whether people can be linked to rows or groups."""
        hidden = f"The {self._nouns} must stay hidden."
        if not self.result.audit.limits_inference:
            hidden = f"No requirement hides the {self._nouns}."
        order = "Rows are in random order, and group numbers are random"
        if self.result.certificate.seeded:
            order += ", from a seed that is kept with the owner"
        return (
            "The verdicts assume that people were linked to their groups: everybody may know who "
            f"is in the table and in which group. {hidden}",
            noted(f"{order}, so neither leads to a row of the table."),
        )

    @property
    def _methods(self) -> list[str]:
        """Sentences on the papers and the arithmetic by which knowledge was judged."""
        kinds: dict[str, None] = {}
        for point in self.result.audit.policy.points:
            kinds |= dict.fromkeys(point.adversary.to_dict())
        sources = [_SOURCES[key] for key in kinds if key in _SOURCES]
        return [
            *[f"Knowledge was judged after {source}." for source in sources],
            "Probabilities are exact; those near a limit are decided with fractions. They were "
            "computed twice: by the program that made the release, and from the written files by "
            "one that shares no code with its search.",
        ]

    @property
    def _published_exactly(self) -> str:
        how = "is published as it is" if len(self._known) == 1 else "are published as they are"
        return f"{self._columns} {how}"

    @property
    def _picking(self) -> list[str]:
        """A sentence on how likely a random pick among those who look alike is right, at most."""
        if not self._generalized:
            before, alone = self.result.before, ""
            if before is not None:
                alone = f" ({some(before.scope.groups_of_one, 'person is', 'people are')})"
            return [
                f"{self._published_exactly}. Somebody who knows a person's values picks among the "
                f"rows that have them, and is right for certain if the person is alone with them"
                f"{alone}."
            ]
        smallest = self.result.audit.utility.smallest_group
        return [
            "Somebody who picks a member of a group at random is right with a chance of at most "
            f"{significant(1 / smallest, 3, 'up')} (1 of {number(smallest)})."
        ]

    @property
    def _distinguishing(self) -> Iterator[str]:
        """Yield sentences on how much each column that others may know was coarsened."""
        losses = {} if self.result.utility is None else self.result.utility.utility.ncp
        for name in self._known:
            if name in losses:
                yield (
                    f"{visible(name)}: coarsened by {percentage(losses[name])} (0% is exact, "
                    "100% is suppressed)."
                )
        if not losses and self._known:
            how = "coarsened" if self._generalized else "published as they are"
            yield f"{listing(self._roles_of['Columns others may know'], n_shown=_ALL)}: {how}."

    @property
    def _documents(self) -> list[str]:
        return [f"This page, {CERTIFICATE} and the digests at the end."]

    @property
    def _objectives(self) -> list[str]:
        audit = self.result.audit
        rows = policy_rows(audit.policy, audit.counts.semantics, counted_requirements=audit.counted)
        requirements = rows[: len(audit.policy.requirements)]
        return [f"{title}: {' '.join(lines)}" for title, lines in requirements]

    @property
    def _roles_of(self) -> dict[str, list[str]]:
        schema = replace(self.result.audit.policy.needed_schema, identifiers=())
        return dict([*schema_rows(schema), *self._left_out])

    @property
    def _roles(self) -> list[str]:
        return [f"{title}: {'; '.join(lines)}." for title, lines in self._roles_of.items()]

    @property
    def _transformed(self) -> list[str]:
        """Sentences on what was left out, what was coarsened, and the method."""
        certificate = self.result.certificate
        identifiers = certificate.policy["schema"].get("identifiers", ())
        removed = "The policy names no identifiers."
        if identifiers:
            removed = f"Left out: {listing(map(visible, identifiers), n_shown=_ALL)}."
        coarser = f"{self._columns} are coarsened."
        if not self._generalized:
            coarser = (
                f"{self._columns} are published as they are; sensitive values are published by "
                "group, in another table."
            )
        method = noted(f"The groups were made by {visible(certificate.method.get('name', ''))}.")
        return [noted(removed), coarser, method]

    @property
    def _usefulness(self) -> list[str]:
        """The sentence on how far counts are off; none if the utility was not measured."""
        worth = self.result.utility
        if worth is None:
            return []
        key_sentence = _of_utility(worth).key
        return [key_sentence] if key_sentence else []

    @property
    def _verified(self) -> list[str]:
        files = listing([*map(visible, self.result.verification.files)], n_shown=_ALL)
        return [
            f"The files ({files}) were judged afresh, by themselves: {self._held}, for "
            f"{people_text(self._people, 'all')}."
        ]

    # ---- digests ------------------------------------------------------------------------------

    def _digests(self) -> Table:
        """A table of the digests of all files, also of those that the certificate names apart."""
        evidence = self.result
        certificate, report = evidence.certificate, evidence.certificate.report
        papers = {REPORT: report, CODE_BOOK: certificate.code_book}
        certified = {name: digest for name, digest in papers.items() if digest}
        files = {**certificate.files, **certified, CERTIFICATE: evidence.digest}
        rows = [(visible(name), visible(digest)) for name, digest in files.items()]
        return Table(("file", "SHA-256"), rows, left=(0, 1), whole=True)

    def _checks(self) -> list[str]:
        """Sentences on the digests, the signature, the source and the versions of programs.

        What only the publisher can know is noted as the publisher's words.
        """
        report, source = self.result, self.result.certificate.source
        texts = [
            "The certificate has the digests of the other files, so it stands for all of them. "
            f"Anyone can judge them again: foreknow verify {visible(report.name)}."
        ]
        if report.signed:
            texts.append(f"The signature of {CERTIFICATE} was checked with the public key given.")
        else:
            texts.append(f"No signature of {CERTIFICATE} was checked for this page.")
        rows = f"The table had {some(int(source['rows']), 'row', 'rows')}"
        digest = f"{visible(source['digest'])} ({visible(source.get('digest_kind', 'digest'))})"
        # The digest was compared only if the owner's table and key were given.
        if report.same_source:
            texts.append(f"{rows}; its digest agrees with the table of this page: {digest}.")
        else:
            texts.append(noted(f"{rows}; its digest is {digest}."))
            texts.append("It was not compared with a table.")
        versions = report.certificate.versions
        programs = listing(
            [f"{visible(key)} {visible(version)}" for key, version in versions.items()],
            n_shown=_ALL,
        )
        return [*texts, noted(f"Made with {programs}.")]


def _for_the_page(blocks: Iterable[Block]) -> Iterator[Block]:
    return (replace(block, whole=True) for block in blocks)


def _worst_cell(exposed: Exposed) -> Cell:
    verdict = exposed.verdict
    return replace(worst_cell(verdict.found, verdict.required, exposed.limits), width="", mark="")


def _sizes(audit: Any) -> list[str]:
    """The number of people and of groups, and how large groups are, as texts for the table."""
    worth = audit.utility
    return [
        number(worth.people),
        number(worth.groups),
        number(worth.smallest_group),
        number(audit.scope.groups_of_one),
        average_text(worth.average_group_size),
    ]


def _of_utility(worth: Any) -> Any:
    """The page of what a release is still worth."""
    return load("foreknow.features.utility.page:UtilityPage")(worth)
