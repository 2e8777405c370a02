"""Remarks: what stands beside verdicts, each with its field, its count and its sentences.

Scopes, and so JSON and certificates, are counted by the table `REMARKS`; every report reads it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from foreknow.adversaries.release_counts import counts_of
from foreknow.auditing.exposed import exposed_by
from foreknow.auditing.named_values import held_by, near_values
from foreknow.data.counts import GroupCounts
from foreknow.data.engines.column_advice import separator_of
from foreknow.data.engines.ways_to_read import amount_marks, has_decimal_commas
from foreknow.data.release import Release
from foreknow.methods.proof import AS_REQUIRED, AT_MOST, FREQUENCIES, NOT_JUDGED
from foreknow.plugins import foreign
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.wording import capital, few, listing, noun_of
from foreknow_judge.errors import InputError
from foreknow_judge.numbers import read_number
from foreknow_judge.printed import quoted, visible
from foreknow_judge.said import SEVERAL_CASES, judged_apart, rows_left_out, smallest_group
from foreknow_judge.scope import Scope
from foreknow_judge.text import number, some

_MOST = 6
# Where nothing says which release is attacked.
ATTACK = "foreknow attack --help"
_ADDED_UP = ", and limits hold for the sum over a person's cases"
CASES_OF_PEOPLE = (
    f"A row is a case, of which a person may have several; the owner counts people{_ADDED_UP}. "
    "Facts about others (k, m) and criteria of values are about cases all the same. Who is known "
    "to have the same value in all of their cases, as of a chronic illness, may be found out "
    "better: that was not judged."
)
SIZES_OF_PEOPLE = CASES_OF_PEOPLE.replace(_ADDED_UP, "")
OTHER_RELEASES = (
    "Other releases of the same people, earlier or later, were not judged: together with this one "
    "they may reveal more."
)
FURTHER_RELEASES = (
    "A person is taken to have the same value in all these releases. Somebody who has further "
    "releases of the same people may find out more, and somebody who knows when a person came may "
    "know more of their value; only trials say anything about that."
)
_LIMITING_NOTHING = (
    "By a proof, what is required holds also against an adversary who knows the method; nothing of "
    "it limits inference."
)
_METHOD = {
    AS_REQUIRED: "By a proof, the requirements hold also against an adversary who knows the "
    "method.",
    FREQUENCIES: "By a proof, an adversary who knows the method, and nothing else, is as sure of "
    "a value as it is frequent in the group, and no surer. Who also has the knowledge that the "
    "requirements name was not judged.",
}
_ENDS = {"lowest": ("low", "most"), "highest": ("high", "least")}


# ---- what is counted ----------------------------------------------------------------------------


class Judged:
    """A release and what a policy requires of it: what remarks are counted of."""

    def __init__(self, release: Release | GroupCounts, policy: Policy | None) -> None:
        self.policy, self.schema = policy, None if policy is None else policy.schema
        self.requirements = () if policy is None else policy.requirements
        self.on_values = [] if policy is None else policy.on_values
        self.columns = release.by_column()
        self.table: Any = release if isinstance(release, Release) else None

    @cached_property
    def about(self) -> dict[str, list[Requirement]]:
        """The requirements on the values of each sensitive column."""
        main, *further_columns = self.columns
        requirements_of: dict[str, list[Requirement]] = {name: [] for name in self.columns}
        for required in self.on_values:
            column = (required.sensitive or main) if further_columns else main
            if column in requirements_of:
                requirements_of[column].append(required)
        return requirements_of

    @cached_property
    def limits(self) -> list[tuple[str, GroupCounts, list[Requirement]]]:
        """Each column ("" if it is the only one), its counts, and the limits on inference."""
        limits = []
        for column, counts in self.columns.items():
            required = [requirement for requirement in self.about[column] if requirement.points]
            limits.append((self.called(column), counts, required))
        return limits

    def called(self, column: str) -> str:
        """The name of a column in remarks; none, if it is the only one."""
        return column if len(self.columns) > 1 else ""

    @cached_property
    def sights(self) -> list[Any]:
        """The sight of each requirement on values."""
        layout = self.table.layout
        return [required.sight(layout) for required in self.on_values]

    @cached_property
    def looked_at(self) -> list[str]:
        """The columns beside each other that all requirements look at."""
        layout = self.table.layout
        of_people = [
            required.sight(layout).known for required in self.requirements if required.of_people
        ]
        return list(layout.looked_at(self.sights, of_people))

    @cached_property
    def unseen(self) -> list[str]:
        """The columns of the table that are neither judged nor known by priors."""
        priors = [] if self.policy is None else sorted(self.policy.attributes)
        quasi_identifiers = None if self.schema is None else self.schema.quasi_identifiers
        return list(self.table.unseen([*priors, *self.looked_at], quasi_identifiers))


def _cases(scope: Judged) -> bool:
    by_schema = scope.schema is not None and scope.schema.unit == "row"
    return by_schema or bool(getattr(scope.table, "cases", False))


def _foreign(scope: Judged) -> tuple[str, ...]:
    # by class, since a class of another package may have one of Foreknow's keys
    return foreign(map(type, chain(*(required.judged for required in scope.requirements))))


def _several_answers(scope: Judged) -> tuple[tuple[str, str], ...]:
    """Columns whose values hold several answers and are judged as a whole, with the separators."""
    separators = [
        (column, separator_of([*map(str, counts.values)], counts.totals.tolist()))
        for column, counts, required in scope.limits
        if required and counts.semantics == "single"
    ]
    return tuple((column, separator) for column, separator in separators if separator)


def _amounts(scope: Judged) -> tuple[str, ...]:
    """Columns whose values are amounts as text, whose nearness was not judged."""
    amounts = list[str]()
    for column, counts, required in scope.limits:
        if required and not any(requirement.of_windows for requirement in required):
            texts = [*map(str, held_by(counts))]
            if amount_marks(texts) or has_decimal_commas(texts):
                amounts.append(column)
    return tuple(amounts)


def _near(scope: Judged) -> tuple[tuple[str, str, str, int, int], ...]:
    """Columns of numbers that are judged by themselves, with the groups where they are nearest."""
    types = {} if scope.schema is None else scope.schema.types
    nearest = list[tuple[str, str, str, int, int]]()
    for name, counts in scope.columns.items():
        requirements = scope.about[name]
        singly = any(required.target.singly for required in requirements)
        # numbers in a column of texts are codes
        if (
            not singly
            or types.get(name) == "text"
            or any(required.of_windows for required in requirements)
        ):
            continue
        if (ends := near_values(counts)) is not None:
            nearest.append((scope.called(name), *ends))
    return tuple(sorted(nearest))


def _lacking(scope: Judged) -> dict[str, int]:
    rows = scope.table.rows_left_out if len(scope.columns) > 1 else ()
    return {left_out.column: left_out.number for left_out in rows}


def _beside(scope: Judged) -> tuple[str, ...]:
    """Columns that no requirement looks at, several sensitive ones beside each other too."""
    stand = [name for name in scope.columns if name in scope.table.beside]
    unlooked = [name for name in stand if name not in scope.looked_at]
    return (*scope.unseen, *(unlooked if stand[1:] and scope.sights else ()))


def _assumed(scope: Judged) -> dict[str, tuple[str, ...]]:
    assumed: dict[str, tuple[str, ...]] = scope.table.layout.assumed(scope.sights)
    return assumed


def _identifiers(scope: Judged) -> tuple[str, ...]:
    names = () if scope.schema is None else scope.schema.identifiers
    return tuple(name for name in scope.unseen if name in names)


def _if_known(scope: Judged) -> dict[str, tuple[int, int]]:
    """People at a limit on each sensitive column, and all people, if assumed columns were known."""
    reached: dict[str, tuple[int, int]] = {}
    for required in scope.requirements:
        # A remark: where the stricter requirement cannot be judged, there is none.
        with suppress(InputError):
            if (all_known := required.knowing_all(scope.table.layout)) is None:
                continue
            requirement_counts = all_known.count(scope.table)
            exposed_people = exposed_by(
                requirement_counts, requirement_counts.explanations(), limits=True
            )
            over = [exposed.over.people for exposed in exposed_people if exposed.over is not None]
            if over:
                most_people, _ = reached.get(requirement_counts.sight.secret, (0, 0))
                people = counts_of(requirement_counts.seen).n_people
                reached[requirement_counts.sight.secret] = max(most_people, *over), people
    return reached


# ---- what is said -------------------------------------------------------------------------------


class SpreadLimits(NamedTuple):
    """The criteria on a sensitive column, and whether single values have a limit."""

    criteria: Sequence[str] = ()  # that limit all values together, by their keys
    some_alone: bool = False  # whether some values have a limit by themselves


class Reader(NamedTuple):
    """Who reads the remarks, beside what, and how people and values are called."""

    scope: Scope
    noun: str = "sensitive value"
    holders: tuple[str, str] = ("person", "people")  # one and several who have a value
    limits: bool = True  # whether any requirement is about how sure somebody may become
    unlimited: bool = False  # whether nothing that is required limits inference
    spread: Mapping[str, SpreadLimits] = {}  # what is required of each sensitive column
    attack: str = ATTACK  # the command that attacks the release, or ""
    owner: bool = True  # whether they are the owner, who can change the policy

    def way_out(self, sentence: str) -> str:
        """A sentence about what the owner can do; empty for other readers."""
        return sentence if self.owner else ""


Say: TypeAlias = Callable[[Any, Reader], Iterable[str]]


def _always(sentence: str) -> Say:
    """One sentence, whatever the value."""
    return lambda _, reader: [sentence]


def _of(column: str) -> str:
    return f" of {visible(column)}" if column else ""


def _each(sentence: str, word: Callable[[str], str] = visible) -> Say:
    """The sentence on each of several names."""
    return lambda names, reader: [sentence.format(word(name)) for name in names]


def _all(sentence: str) -> Say:
    """A sentence on columns: {few} of them, or {every} one, and {are} and {them} as many take."""

    def say(names: Sequence[str], reader: Reader) -> list[str]:
        are, them = ("are", "them") if names[1:] else ("is", "it")
        words = few(map(visible, names))
        return [sentence.format(few=words, every=_listed(names), are=are, them=them)]

    return say


def _say_if_known(reached_by: Mapping[str, tuple[int, int]], reader: Reader) -> Iterator[str]:
    for sensitive, (reached, people) in reached_by.items():
        columns = _listed(reader.scope.assumed.get(sensitive, ()))
        are = "is" if reached == 1 else "are"
        who = f"{number(reached)} of {some(people, 'person', 'people')} {are}"
        yield (
            f"{who if reached else 'Nobody is'} at or over a limit on {visible(sensitive)} if "
            f"somebody knows the {columns} of everybody."
        )


def _say_numbers(columns: Sequence[str], reader: Reader) -> Iterator[str]:
    """Which published columns may tell people apart, and what to write then."""
    for name in columns[:_MOST]:
        yield (
            f"{visible(name)} is published, and looks like the number of a person who has several "
            "rows: then the verdict is about rows, and not about people. If it is, list "
            'it under identifiers alone, and add unit = "row" and person = '
            f"{json.dumps(name, ensure_ascii=False)} to [schema]."
        )


def _say_unprotected(free: Mapping[str, int], reader: Reader) -> Iterator[str]:
    """Values that no requirement is about, those that are limited with all others first."""
    free_values, several = dict(free), len(reader.spread) > 1
    for column, required in reader.spread.items():
        values = [
            v for v in free_values if not several or _columns_of(v, reader.spread) == [column]
        ]
        if not required.criteria or not values:
            continue
        what = f"single values{_of(column if several else '')}"
        what = f"{few(map(quoted, values))} alone" if required.some_alone else what
        verb = "is" if len(required.criteria) == 1 else "are"
        yield (
            f"No limit is about {what}: {listing(required.criteria)} {verb} about all of them "
            "together, and how sure somebody can be of one was not judged."
        )
        free_values = {
            value: people for value, people in free_values.items() if value not in values
        }
    if free_values:
        values = [
            f"{quoted(value)} ({some(n, *reader.holders)})" for value, n in free_values.items()
        ]
        them = "them" if len(values) > 1 else "it"
        yield f"No requirement is about: {few(values)}. The release may disclose {them} outright."


def _columns_of(value: str, columns: Iterable[str]) -> list[str]:
    """The sensitive columns, of several, with whose names a value begins."""
    return [column for column in columns if value.startswith(f"{column} ")]


def _say_crowded(columns: Mapping[str, tuple[int, int]], reader: Reader) -> Iterator[str]:
    for column, (n_values, n_people) in columns.items():
        values = capital(some(n_values, "value", "values"))
        yield (
            f"{values}{_of(column)} for {some(n_people, *reader.holders)}: a requirement about "
            "single values says little"
            f"{reader.way_out('; use within = ..., any_of, or a hierarchy')}."
        )


def _say_several_answers(columns: Sequence[tuple[str, str]], reader: Reader) -> Iterator[str]:
    for column, separator in columns:
        yield (
            f"Values{_of(column)} hold several answers, with {quoted(separator)} between: each was "
            "judged as one whole, and one answer, which many people of a group may have given, was "
            'not judged. Read them as sets: semantics = "set", and in the reading separators = '
            f"{{ COLUMN = {json.dumps(separator)} }}."
        )


def _say_alike(values_alike: Sequence[Sequence[str]], reader: Reader) -> Iterator[str]:
    lists = [few(map(_marked, values)) for values in values_alike]
    unlisted = len(lists) - _MOST
    ending = f"; and {number(unlisted)} more" if unlisted > 0 else ""
    yield (
        f"These look like one value: {'; '.join(lists[:_MOST])}{ending}. They are judged as "
        "different ones."
    )


def _say_idle(names: Sequence[str], reader: Reader) -> Iterator[str]:
    for name in names[:_MOST]:
        yield f"Nobody has {quoted(name)}: a requirement on it asks nothing of this table."
    if (n_unnamed := len(names) - _MOST) > 0:
        yield f"The same holds of {some(n_unnamed, 'other secret', 'others')}."


def _say_absent(absent: Sequence[tuple[str, str]], reader: Reader) -> Iterator[str]:
    """Names of values that nobody has, with values that they may mean."""
    lacking = [(text, near) for text, near in absent if near or text not in reader.scope.idle]
    if lacking:
        hints = [f"{_marked(near)} for {_marked(text)}" for text, near in lacking if near]
        mean = f" Did you mean {listing(hints, n_shown=_MOST)}?" if hints else ""
        names = few(_marked(text) for text, _ in lacking)
        yield f"Requirements name what nobody in the table has: {names}.{mean}"


def _say_begin_alike(pairs: Sequence[tuple[str, str]], reader: Reader) -> Iterator[str]:
    likenesses = few(f"{_marked(value)} begins like {_marked(member)}" for value, member in pairs)
    yield (
        f"{likenesses} and {'is' if len(pairs) == 1 else 'are'} not in the secret; "
        f'"{visible(pairs[0][1])}*" stands for every value that begins so.'
    )


def _say_extremes(ends: Iterable[tuple[str, str, str, int, int]], reader: Reader) -> Iterator[str]:
    way_out = reader.way_out(" A range can be a secret, too, by any_of in the policy.")
    for column, end, value, groups, people in ends:
        tenth, bound = _ENDS[end]
        yield (
            f"Near values are hidden, but not that they are all {tenth}: in "
            f"{some(groups, 'group', 'groups')} ({some(people, 'person', 'people')}) everybody's "
            f"{visible(column) or 'value'} is at {bound} {visible(value)}, in the {end} tenth of "
            f"the table.{way_out}"
        )


def _say_near(nearest: Iterable[tuple[str, str, str, int, int]], reader: Reader) -> Iterator[str]:
    for column, low, high, people, groups in nearest:
        width = "30 days" if read_number(low) is None else "10%"
        narrow = f"; in {some(groups, 'group', 'groups')} all are within {width} of each other"
        yield (
            f"Near values{_of(column)} are judged as different ones{narrow if groups else ''}. In "
            f"the narrowest, of {some(people, 'person', 'people')}, they lie within {visible(low)} "
            f'to {visible(high)}: require within = "{width}".'
        )


def _say_assumed(assumed: Mapping[str, Sequence[str]], reader: Reader) -> Iterator[str]:
    for sensitive, columns in assumed.items():
        counted = not reader.owner or sensitive in reader.scope.if_known
        yield (
            f"A requirement on {visible(sensitive)} assumes that nobody knows the "
            f"{_listed(columns, 'or')} of anybody"
            f"{'.' if counted else '; how many would be over a limit otherwise was not counted.'}"
        )


def _say_beside(columns: Iterable[str], reader: Reader) -> Iterator[str]:
    """Columns that nothing else is said of."""
    named_columns = set(reader.scope.identifiers).union(*reader.scope.assumed.values())
    if unjudged := [visible(name) for name in columns if name not in named_columns]:
        them = "them" if len(unjudged) > 1 else "it"
        yield (
            f"Not judged: {few(unjudged)}. An adversary who knows {them} of a person may find out "
            f"more from a release that has {them}."
        )


def _say_method(method: str, reader: Reader) -> Iterator[str]:
    if method == NOT_JUDGED:
        see = f' See "{reader.attack}".' if reader.attack else ""
        yield (
            f"Knowledge of the method was not judged: an adversary who knows it may be surer.{see}"
        )
    elif method == AS_REQUIRED and reader.unlimited:
        yield _LIMITING_NOTHING
    else:
        yield _METHOD.get(method) or (
            "By a proof, an adversary who knows the method, and nothing else, is never surer of a "
            f"value than {method.removeprefix(AT_MOST)}."
        )


def _say_lacking(rows: Mapping[str, int], reader: Reader) -> Iterator[str]:
    lacking = few(
        f"{capital(some(n_rows, 'row has', 'rows have'))} no {noun_of(column)}"
        for column, n_rows in rows.items()
    )
    yield f"{lacking}: left out where that column is judged, and nothing is said of it."


def _none_in_group(people: int, noun: str) -> str:
    return (
        f"{capital(some(people, 'person is', 'people are'))} in groups in which nobody has any "
        f"{noun}: that they have none can be read from the release."
    )


def _say_suppressed_people(people: int, reader: Reader) -> Iterator[str]:
    are = capital(some(people, "person is", "people are"))
    yield f"{are} suppressed: in one group, whatever their quasi-identifiers."


def _say_shared(columns: Iterable[str], reader: Reader) -> Iterator[str]:
    """Columns that a few people have in common, and what is not judged of these people."""
    names = [visible(name) if name else "a column that is not published" for name in columns]
    yield (
        f"People who share {listing(names, 'or', n_shown=_MOST)}: most of its values are those of "
        "two "
        "to nine rows. They are judged one by one, and somebody may know that they have the same "
        "value, or what one of them has. Links (m) stand for “if one of these has it, so has "
        "this person”, and not for “all of them have the same”."
    )


def _say_names_alike(pairs: Sequence[tuple[str, str]], reader: Reader) -> Iterator[str]:
    name, similar_name = map(quoted, pairs[0])
    yield (
        f"{capital(some(len(pairs), 'pair', 'pairs'))} of names in two releases, such as {name} "
        "and "
        f"{similar_name}: alike but for hyphens and other marks, and taken for different people. "
        "If they "
        "are one, write them in one way, or nothing of this holds."
    )


def _say_releases(releases: Iterable[tuple[str, int]], reader: Reader) -> Iterator[str]:
    releases_in_words, dates = [], reader.scope.written
    for name, people in releases:
        date = f", written on {dates[name]}" if name in dates else ""
        releases_in_words.append(f"{visible(name)} ({some(people, 'person', 'people')}{date})")
    yield f"Judged together, as one release: {listing(releases_in_words)}. {FURTHER_RELEASES}"


def _say_earlier(people: Sequence[int], reader: Reader) -> Iterator[str]:
    if not reader.scope.releases:
        yield (
            f"Published after {some(len(people), 'earlier release', 'earlier releases')} of "
            f"{some(sum(people), 'person', 'people')} of the same register: all together, as one "
            "release, hold what is required. That nobody is in two groups is the publisher's word. "
            f"{FURTHER_RELEASES}"
        )


def _marked(value: str) -> str:
    return f"'{visible(value)}'"


def _listed(names: Sequence[str], word: str = "and") -> str:
    return listing([*map(visible, names)], word, n_shown=len(names))


# ---- the table ----------------------------------------------------------------------------------

Count: TypeAlias = Callable[[Judged], Any]


class Remark(NamedTuple):
    """A field of a `Scope`, the sentences on its value, and how it is counted.

    What is counted neither of counts nor of a table is counted by the judge, or is known to
    whoever made the release. Without a sentence of its own, that of another remark has it.
    """

    field: str
    say: Say = lambda value, reader: ()
    of_counts: Count | None = None
    of_table: Count | None = None  # where a table is at hand


def _shown(name: str) -> Count:
    """An attribute of a table."""
    return attrgetter(f"table.{name}")


# The most important first.
REMARKS = (
    Remark("if_known", _say_if_known, of_table=_if_known),
    Remark(
        "foreign",
        _each("By the word of another package alone, which Foreknow cannot prove: {}."),
        _foreign,
    ),
    Remark(
        "cases",
        lambda _, reader: [
            SEVERAL_CASES
            if not reader.scope.word
            else CASES_OF_PEOPLE
            if reader.limits
            else SIZES_OF_PEOPLE
        ],
        _cases,
    ),
    Remark("numbers", _say_numbers, of_table=_shown("numbers")),
    Remark("unprotected", _say_unprotected),
    Remark("values_and_people", lambda noun, reader: _say_crowded({"": noun}, reader)),
    Remark("crowded", _say_crowded),
    Remark("several_answers", _say_several_answers, _several_answers),
    Remark(
        "amounts",
        _each(
            "Values{} are texts of amounts: each was judged by itself, and values near each other "
            "were not. Read them as numbers (thousands, currency or decimal in the reading), and "
            'require within = "10%".',
            _of,
        ),
        _amounts,
    ),
    Remark("alike", _say_alike),
    Remark("idle", _say_idle),
    Remark("absent", _say_absent),
    Remark("begin_alike", _say_begin_alike),
    Remark(
        "no_numbers",
        lambda values, reader: [
            f"In no range, since they are no numbers or dates: {few(map(_marked, values))}."
        ],
    ),
    Remark("extremes", _say_extremes),
    Remark("near", _say_near, _near),
    Remark(
        "unrequired",
        _all("No requirement is about {few}: the release may disclose any value of it."),
    ),
    Remark(
        "identifiers",
        _all("The table names people, in {few}: what is published must not."),
        of_table=_identifiers,
    ),
    Remark(
        "exact",
        _all(
            "Everybody's {every} {are} published as in the table: whoever knows somebody by {them} "
            "may find the row, and so who is in the table."
        ),
        of_table=lambda scope: tuple(
            name for name in scope.table.recognized if name != scope.table.cohort
        ),
    ),
    Remark(
        "known", _all("The adversary knows the {every} of everybody."), of_table=_shown("knows")
    ),
    Remark("assumed", _say_assumed, of_table=_assumed),
    Remark("beside", _say_beside, of_table=_beside),
    Remark(
        "shuffled",
        _all(
            "The publisher says that {every} {are} shuffled within each group; the values cannot "
            "show it."
        ),
        of_table=_shown("unlinked"),
    ),
    Remark("method", _say_method, lambda scope: NOT_JUDGED if scope.policy else None),
    Remark(
        "linked",
        _always(
            "Judged by the counts of its groups. The table itself shows which values are of one "
            "person: publish counts instead, as foreknow publish does."
        ),
        of_table=_shown("linked"),
    ),
    Remark(
        "tallied",
        _always(
            "Judged by a tally, as if each row that it counts were one person, and the table had "
            "no further columns. A tally does not show whether somebody has several rows."
        ),
        of_table=_shown("tallied"),
    ),
    Remark("lacking", _say_lacking, of_table=_lacking),
    Remark(
        "left_out",
        lambda rows, reader: (
            [] if reader.scope.lacking else map(capital, rows_left_out(rows, reader.noun))
        ),
        of_table=_shown("left_out"),
    ),
    Remark(
        "without",
        lambda people, reader: [
            _none_in_group(amount, noun_of(column)) for column, amount in people.items()
        ],
    ),
    Remark(
        "without_value",
        lambda people, reader: (
            [] if reader.scope.without else [_none_in_group(people, reader.noun)]
        ),
    ),
    Remark("smallest_group", lambda _, reader: smallest_group(reader.scope)),
    Remark("groups_of_one"),
    Remark(
        "apart",
        lambda _, reader: judged_apart(
            reader.scope,
            reader.way_out("; any_of in the policy makes them one secret"),
        ),
    ),
    Remark("more_apart"),
    Remark("people_suppressed", _say_suppressed_people),
    Remark(
        "suppressed",
        _all("Nothing is published of {few}: everybody has *."),
        of_table=_shown("suppressed"),
    ),
    Remark("shared", _say_shared, of_table=_shown("shared")),
    Remark(
        "open",
        _all(
            "Labels leave open who cannot have a value (impossible, by {few}): whoever perhaps "
            "cannot was not counted among those who can, so how sure somebody can be is a bound. "
            "The owner, who knows these columns, may find less: audit with the table (people)."
        ),
    ),
    Remark("word", _each("Counted by the owner, since a release does not show it: {}.")),
    Remark("names_alike", _say_names_alike, of_table=_shown("names_alike")),
    Remark("written", of_table=_shown("written")),
    Remark("releases", _say_releases, of_table=_shown("releases")),
    Remark("earlier", _say_earlier),
)


def counted_of(scope: Judged) -> dict[str, Any]:
    """The fields of a scope that are counted here, and not by the judge."""
    fields: dict[str, Any] = {}
    for remark in REMARKS:
        count = remark.of_counts if scope.table is None else remark.of_table or remark.of_counts
        if count is not None:
            fields[remark.field] = count(scope)
    return fields


def said_to(reader: Reader, remarks: Iterable[Remark] = REMARKS) -> Iterator[str]:
    """The sentences of all remarks of which there is anything to say."""
    for remark in remarks:
        if value := getattr(reader.scope, remark.field):
            yield from remark.say(value, reader)
