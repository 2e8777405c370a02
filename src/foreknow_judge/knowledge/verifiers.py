"""Which function judges each kind of knowledge: `VERIFIERS`, by its key in a policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

from foreknow_judge.counts.group_bags import Bag, Group, GroupBags
from foreknow_judge.errors import CertificateError, UnsupportedError
from foreknow_judge.files.written_release import Written, people_with
from foreknow_judge.knowledge.facts import Worst, worst_facts, worst_implications
from foreknow_judge.knowledge.impossible_values import (
    NO_RULES,
    Cannot,
    ImpossibleCounts,
    JointValue,
    RuleSet,
    people_by_rules,
    rules_of_values,
    worst_with_rules,
)
from foreknow_judge.knowledge.joint_values import surest
from foreknow_judge.knowledge.priors import Chances, worst_priors
from foreknow_judge.knowledge.windows import worst_near
from foreknow_judge.policy.kinds import AmountSettings, FactsSettings, PriorSettings
from foreknow_judge.policy.named_values import values_named
from foreknow_judge.verdict import Seal


@dataclass(frozen=True)
class Question:
    """One requirement's question: its values, and the groups in which they are counted.

    `questions_of` in ``verdicts.py`` alone makes one, by counting a release.
    """

    held: GroupBags  # the groups, with their people and values
    about: Collection[str]  # the values that are secrets
    written: Written
    relative: bool  # whether the limit is a multiple of the prior
    columns: Sequence[str]  # those that make these groups
    members: Collection[str] = ()  # the values of a set that is one value in the groups
    apart: Mapping[Group, tuple[int, Bag]] = field(default_factory=dict)  # with these kept apart
    spec: Any = ()  # how the requirement names these values: texts, patterns or a range
    width: Any = None  # the width of windows, if these are secrets
    seal: type[Seal] | None = None

    def __post_init__(self) -> None:
        if self.seal is not Seal:
            raise TypeError("a question is counted, not made")

    @property
    def beside(self) -> list[str]:
        """The columns with rules of impossible values that stand beside the secret, not known."""
        return self.written.ruled_beside(self.columns)


class Judge(NamedTuple):
    """How one kind of knowledge is judged, and what it supports beyond one value per person."""

    # Returns the worst value, its group, its probability, and its prior (1 if there are no
    # priors), for a question and the settings of the knowledge.
    judge: Callable[[Question, Any], Worst]
    of_several: bool = False  # whether people may have several values
    of_windows: bool = False
    of_rules: bool = False  # whether it heeds rules of what some people cannot have
    relative: bool = False  # whether limits may be relative to a prior, or inclusive
    # Whether, with these settings, the result is only an upper bound.
    bounded: Callable[[Any], bool] = lambda settings: False
    # For relative limits: the lowest prior above 0, None if there is none.
    least: Callable[[Question, Any], Fraction | None] = lambda question, settings: None


def _judge_facts(question: Question, facts: FactsSettings) -> Worst:
    """The worst case if l values of the target are ruled out, and k others and m links known.

    Rules say that some people cannot have some values: of the secret, or of columns beside it.
    """
    amounts = facts.l, facts.k, facts.m
    if question.beside and question.width is None and not facts.m:
        return _worst_beside(question, facts.l, facts.k)
    possible = possible_holders(question)
    if possible is not None:
        return worst_with_rules(question.held, question.about, possible, *amounts)
    if question.width is not None:
        return Worst(*worst_near(question.held, question.width, *amounts))
    return worst_facts(question.held, question.about, question.written.semantics, *amounts)


def possible_holders(question: Question) -> ImpossibleCounts | None:
    """How many people of each group can have which values, by the schema's rules on this.

    None without rules on the secret's column. Rules on columns beside it are refused here.
    """
    release = question.written
    if question.beside:
        raise UnsupportedError("impossible-linked", question.beside[0])
    if not release.rules.positions_for(release.sensitive):
        return None
    if question.width is not None or release.semantics != "single":
        raise CertificateError("one-value-only", "impossible")
    bags, people = _joint_values(question)
    rules_of_value = {value: kind for value, kind, _ in chain(*bags.values())}
    # A set of values counts as one value, so all of them must fall under the same rules.
    rules_of_members = {rules_of_value[name] for name in question.members if name in rules_of_value}
    if len(rules_of_members) > 1:
        raise CertificateError("impossible-in-part", next(iter(question.about)))
    if question.members:
        rules_of_value |= dict.fromkeys(question.about, NO_RULES.union(*rules_of_members))
    rules_of = [rules_of_value.get(name, NO_RULES) for name in question.held.names]
    return ImpossibleCounts([*people.values()], rules_of)


def _joint_values(
    question: Question,
) -> tuple[dict[Group, list[JointValue]], dict[Group, Counter[Cannot]]]:
    """For each group, its values and its people, by rules of the secret and columns beside it.

    Rules say that some people cannot have some values. A value of a row falls under the rules of
    all its columns: (value, rules, how many rows). People are counted by rules that apply to them.
    """
    # The first n labels of a divided group are those of its group.
    release, rules, n = question.written, question.written.rules, len(question.columns)
    known_columns = question.columns[len(release.groups) :]
    # Groups divided by the columns beside the secret: each has rows that differ in it alone.
    divided = release.groups_of(release.sensitive, (*known_columns, *question.beside))
    columns = [divided.names, *(column.texts for column in divided.labels[n:])]
    positions, rules_of_column = list[int](), list[dict[Any, RuleSet]]()
    for name, texts in zip((release.sensitive, *question.beside), columns, strict=True):
        of_column = rules.positions_for(name)
        positions += of_column
        rules_of_column.append(rules_of_values({*texts} - {None}, rules, of_column))
    bags: dict[Group, list[JointValue]] = {group: [] for group in question.held}
    for labels, (_, bag) in divided.items():
        for value, count in bag.items():
            rules_of_row = NO_RULES
            for rules_of, text in zip(rules_of_column, (value, *labels[n:]), strict=True):
                rules_of_row |= rules_of.get(text, NO_RULES)
            bags[labels[:n]].append((value, rules_of_row, count))
    attributes = [name for name in rules.columns() if name in release.of_people]
    people = people_with(release, attributes, question.columns)
    return bags, people_by_rules(people, attributes, rules, positions, bags)


def _worst_beside(question: Question, l: int, k: int) -> Worst:
    """The worst case if columns with rules on who cannot have which value stand beside the secret.

    The adversary rules out l values of the target and knows k other people.
    """
    bags, people = _joint_values(question)
    cases = []
    for group, (_, counts) in question.held.items():
        joint = tuple(bags[group]), frozenset(people[group].items())
        for name in (name for name in counts if name in question.about):
            chance = surest(*joint, frozenset(question.members or [name]), l, k)
            cases.append(Worst(name, group, chance))
    return Worst.among(cases, False)


def _judge_negations(question: Question, settings: AmountSettings) -> Worst:
    """The worst case of k negations: about the target, they are k values ruled out.

    If some people cannot have a value, negations about others tell more. They tell no more than
    what these others have, so the figure is bounded by the worst split into l values ruled out
    and k − l people known.
    """
    k = settings.k
    if question.beside or possible_holders(question) is not None:
        splits = [FactsSettings(l=l, k=k - l) for l in range(min(k, len(question.held.names)) + 1)]
        return Worst.among((_judge_facts(question, facts) for facts in splits), False)
    return _judge_facts(question, FactsSettings(l=k))


def _are_exchanges(settings: PriorSettings) -> bool:
    """True if people are known or linked on top of priors: then the result is an upper bound."""
    return settings.facts is not None and bool(settings.facts.k or settings.facts.m)


def _judge_priors(question: Question, settings: PriorSettings) -> Worst:
    """The worst case over all tables of priors: what the adversary expects of each kind of people.

    Kinds of people are labels of some columns (attributes), read from the table of people.
    """
    facts, reading = settings.facts or FactsSettings(), settings.semantics
    cases = []
    for table in settings.tables:
        chances = Chances(table)
        _refuse_half_known(question, chances.attributes)
        people = people_with(question.written, chances.attributes, question.columns)
        united: tuple[str, Collection[str]] | None = None
        groups: Mapping[Group, tuple[int, Bag]] = question.held
        if question.members:  # a set of values is one secret
            (name,) = question.about
            # Joint priors are of single values, so these stay apart and their posteriors are added;
            # binary ones are of having a value or not, so the set becomes one value.
            if reading == "joint":
                united, groups = (name, question.members), question.apart
            else:
                _refuse_unheld(chances, question)
                chances = chances.united(question.members, name)
        details = chances, reading, question.relative, united, (facts.l, facts.k, facts.m)
        cases.append(worst_priors(groups, people, question.about, *details))
    return Worst.among(cases, question.relative)


def _refuse_half_known(question: Question, attributes: Collection[str]) -> None:
    """Refuse priors by columns that stand beside the secret, if groups are not divided by them.

    `attributes` are the columns that priors are by. Whoever has such priors knows these columns of
    everybody, and so finds people's rows. Where further columns divide the groups, the rows do not
    show who has which label of a column that was shuffled.
    """
    release, columns = question.written, question.columns
    if release.main_table != "release" or release.sensitive in release.shuffled:
        return
    is_divided = len(columns) > len(release.groups)
    published_beside = {*release.beside, *(release.parts or ())}.difference(columns)
    for name in published_beside.intersection(attributes):
        if is_divided or name not in release.shuffled:
            raise UnsupportedError("priors-beside", name)


def _refuse_unheld(chances: Chances, question: Question) -> None:
    """Refuse a set with a value that has a prior but no holder: its prior would be counted."""
    for value in {*values_named(question.spec, [*chances.values])} - {*question.members}:
        if any(chances.any(signature, [value]) for signature in chances.rows):
            raise CertificateError("prior-of-nobody", value)


def _least_prior(question: Question, settings: PriorSettings) -> Fraction | None:
    """The lowest prior above 0 of any person, for a value (or a set) that somebody has.

    None if there is none.
    """
    priors = []
    for table in settings.tables:
        chances = Chances(table)
        people = people_with(question.written, chances.attributes, question.columns)
        present = question.held.holders.keys() & {*question.about}
        sets = [question.members] if question.members else [[value] for value in present]
        for signature in {*chain(*people.values())}:
            priors += [chances.any(signature, values) for values in sets]
    return min((prior for prior in priors if prior), default=None)


VERIFIERS: dict[str, Judge] = {
    "facts": Judge(_judge_facts, of_several=True, of_windows=True, of_rules=True),
    "implications": Judge(lambda q, settings: worst_implications(q.held, q.about, settings.k)),
    "negations": Judge(_judge_negations, of_windows=True, of_rules=True),
    "priors": Judge(_judge_priors, relative=True, bounded=_are_exchanges, least=_least_prior),
}
