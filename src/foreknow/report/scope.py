"""Scope in words: what the verdicts did not look at, a sentence each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from foreknow.data.counts import Semantics
from foreknow.methods.proof import AS_REQUIRED, AT_MOST, FREQUENCIES, NOT_JUDGED
from foreknow.report.knowledge import NOUN, Terms
from foreknow.report.words import listing, named, noun_of, number, some
from foreknow_judge.numbers import read_number
from foreknow_judge.printed import visible
from foreknow_judge.said import (
    CASES_OF_FILES,
    OF_PEOPLE_CLAIMED,
    OF_PEOPLE_OPEN,
    SEVERAL_CASES,
    UNLIMITED_OF_PEOPLE,
    judged_apart,
    rows_left_out,
    smallest_group,
)
from foreknow_judge.scope import Scope

HEADING = "What the verdicts do not cover:"
# Of a limit relative to priors: what is said to be the worst, and what stands beside it.
NEAREST = "nearest to its limit"
RELATIVE = (
    "The limit is relative to priors: of a frequent value somebody may be surer, up to certainty."
)
# Where nothing says which release is attacked.
ATTACK = "foreknow attack --help"
_METHOD = {
    NOT_JUDGED: "Knowledge of the method was not judged: an adversary who knows it may be surer."
    "{attack}",
    AS_REQUIRED: "By a proof, the requirements hold also against an adversary who knows the "
    "method.",
    FREQUENCIES: "By a proof, an adversary who knows the method, and nothing else, is as sure of "
    "a value as it is frequent in the group, and no surer. Who also has the knowledge that the "
    "requirements name was not judged.",
}
_ADDED_UP = ", and limits hold for the sum over a person's cases"
CASES_OF_PEOPLE = (
    f"A row is a case, of which a person may have several; the owner counts people{_ADDED_UP}. "
    "Facts about others (k, m) and criteria of values are about cases all the same. Who is known "
    "to have the same value in all of their cases, as of a chronic illness, may be found out "
    "better: that was not judged."
)
SIZES_OF_PEOPLE = CASES_OF_PEOPLE.replace(_ADDED_UP, "")
OTHER_RELEASES = (
    "Other releases of the same people: whoever combines this one with them, earlier or later ones "
    "of the same register too, may find out more."
)
FURTHER_RELEASES = (
    "A person is taken to have the same value in all these releases. Whoever has further releases "
    "of the same people may find out more."
)
# Where rows are cases, these are about people all the same.
ALL_OF_ONE = "All of them may be those of one person, whose rows can then be isolated."
TOLD_OF_PEOPLE = (
    SEVERAL_CASES,
    CASES_OF_PEOPLE,
    SIZES_OF_PEOPLE,
    CASES_OF_FILES,
    OTHER_RELEASES,
    ALL_OF_ONE,
    OF_PEOPLE_CLAIMED,
    OF_PEOPLE_OPEN,
    UNLIMITED_OF_PEOPLE,
    "The table names people",
)
_LIMITING_NOTHING = (
    "By a proof, what is required holds also against an adversary who knows the method; nothing of "
    "it limits inference."
)


class _WaysOut(NamedTuple):
    """What a reader can do about values, by the policy, if it is theirs."""

    of_sets: str = ""
    of_ranges: str = ""
    of_many: str = ""


_OWNERS_WAYS = _WaysOut(
    ": a set of values can be judged as one secret, by any_of in the policy",
    " A range can be a secret, too, by any_of in the policy.",
    "; use within = ..., any_of, or a hierarchy",
)
# Of how rows were counted.
_COUNTED = {
    "linked": "Judged by the counts of its groups. The table itself shows which values are of one "
    "person: publish counts instead, as foreknow publish does.",
    "tallied": "Judged by a tally, as if each row that it counts were one person, and the table "
    "had no further columns: whether somebody has several rows, it does not tell.",
}
_MOST = 6
_ENDS = {"lowest": "low", "highest": "high"}


class SpreadLimits(NamedTuple):
    """What is required of the values of a sensitive column, besides values by themselves."""

    criteria: Sequence[str] = ()  # that limit all values together, by their keys
    some_alone: bool = False  # whether some values have a limit by themselves


def spread_limits(
    columns: Sequence[str], judged: Iterable[tuple[str | None, str | None]]
) -> dict[str, SpreadLimits]:
    """Of each sensitive column, by the column and criterion of each verdict that limits any."""
    of: dict[str, list[str | None]] = {column: [] for column in columns}
    for sensitive, criterion in judged:
        of[columns[0] if sensitive not in of else sensitive].append(criterion)
    return {
        column: SpreadLimits(tuple(dict.fromkeys(key for key in own if key)), None in own)
        for column, own in of.items()
    }


def by_word_of(scope: Scope) -> str:
    """End a headline with what holds by the word of other packages, if anything does."""
    named = [visible(kind) for kind in scope.foreign]
    return f"; {listing(named)} by the word of another package alone" if named else ""


def sentences(
    scope: Scope,
    noun: str = NOUN,
    semantics: Semantics = "single",
    *,
    claimed: bool = False,
    limits: bool = True,
    unlimited: bool = False,
    spread: Mapping[str, SpreadLimits] = {},
    attack: str = ATTACK,
    owner: bool = True,
) -> list[str]:
    """Everything that stands beside the verdicts, the most important first.

    What is only `claimed` is said beside what was found. `limits`: whether any are required of how
    sure somebody may become; `unlimited`: whether nothing that is required limits inference;
    `spread`: what is required of each sensitive column; `attack`: the command that attacks it, if
    that is said; `owner`: whether the reader is the owner, who can change the policy.
    """
    holders = Terms.of(semantics).counted
    ways = _OWNERS_WAYS if owner else _WaysOut()
    return [
        *_if_known(scope),
        *_of_proof(scope, limits),
        *_person_numbers(scope.numbers),
        *_of_values(scope, holders, spread, ways),
        *_of_names(scope, ways),
        *_of_columns(scope),
        *sight(scope),
        *([] if scope.method is None else [_of_method(scope.method, unlimited, attack)]),
        *_of_rows(scope, noun),
        *_of_groups(scope, ways),
        *_households(scope.shared),
        *_of_owner(scope),
        *_of_releases(scope, claimed),
    ]


def _if_known(scope: Scope) -> Iterator[str]:
    """How many people are at a limit if what is assumed to be unknown is known."""
    for sensitive, (reached, people) in scope.if_known.items():
        columns = _columns(scope.assumed.get(sensitive, ()), "and")
        are = "is" if reached == 1 else "are"
        who = f"{number(reached)} of {some(people, 'person', 'people')} {are}"
        yield (
            f"{who if reached else 'Nobody is'} at or over a limit on {visible(sensitive)} if "
            f"somebody knows the {columns} of everybody."
        )


def _of_proof(scope: Scope, limits: bool) -> Iterator[str]:
    """Whose word a verdict is, and what a row stands for."""
    for kind in scope.foreign:
        yield (
            f"By the word of another package alone, which Foreknow cannot prove: {visible(kind)}."
        )
    if scope.cases:
        of_people = CASES_OF_PEOPLE if limits else SIZES_OF_PEOPLE
        yield of_people if scope.word else SEVERAL_CASES


def _of_values(
    scope: Scope, holders: tuple[str, str], spread: Mapping[str, SpreadLimits], ways: _WaysOut
) -> Iterator[str]:
    """Values that no requirement is about, that are too many, or that look alike."""
    free = dict(scope.unprotected)
    for column, required in spread.items():
        if required.criteria:
            own = [v for v in free if _columns_of(v, spread) == [column]]
            yield from _of_single_values(own, column if len(spread) > 1 else "", required)
            free = {value: many for value, many in free.items() if value not in own}
    if free:
        values = [f"{named(v)} ({some(n, *holders)})" for v, n in free.items()]
        them = "them" if len(values) > 1 else "it"
        yield (
            f"No requirement is about: {_several(values)}. The release may disclose {them} "
            "outright."
        )
    crowded = [] if scope.values_and_people is None else [("", scope.values_and_people)]
    crowded += [(f" of {visible(column)}", of) for column, of in scope.crowded.items()]
    for of_column, (n_values, n_people) in crowded:
        yield (
            f"{_some(n_values, 'value', 'values')}{of_column} for {some(n_people, *holders)}: a "
            f"requirement about single values says little{ways.of_many}."
        )
    for column, separator in scope.several_answers:
        of_column = f" of {visible(column)}" if column else ""
        yield (
            f"Values{of_column} hold several answers, with {named(separator)} between: each was "
            "judged as one whole, and one answer, which many people of a group may have given, was "
            'not judged. Read them as sets: semantics = "set", and in the reading separators = '
            f"{{ COLUMN = {json.dumps(separator)} }}."
        )
    for column in scope.amounts:
        of_column = f" of {visible(column)}" if column else ""
        yield (
            f"Values{of_column} are texts of amounts: each was judged by itself, and values near "
            "each other were not. Read them as numbers (thousands, currency or decimal in the "
            'reading), and require within = "10%".'
        )
    if scope.alike:
        lists = [_several([f"'{visible(value)}'" for value in values]) for values in scope.alike]
        unlisted = len(lists) - _MOST
        more = f"; and {number(unlisted)} more" if unlisted > 0 else ""
        yield (
            f"These look like one value: {'; '.join(lists[:_MOST])}{more}. They are judged as "
            "different ones."
        )


def _columns_of(value: str, columns: Mapping[str, Any]) -> list[str]:
    """Of which sensitive columns a value may be, which it names where there are several."""
    if len(columns) == 1:
        return [*columns]
    return [column for column in columns if value.startswith(f"{column} ")]


def _of_single_values(values: Sequence[str], column: str, required: SpreadLimits) -> Iterator[str]:
    """Values that are limited together with all others, and not by themselves."""
    if not values:
        return
    of_column = f" of {visible(column)}" if column else ""
    what = f"single values{of_column}"
    if required.some_alone:
        what = f"{_several(list(map(named, values)))} alone"
    verb = "is" if len(required.criteria) == 1 else "are"
    yield (
        f"No limit is about {what}: {listing(required.criteria)} {verb} about all of them "
        "together, and how sure somebody can be of one was not judged."
    )


def _of_columns(scope: Scope) -> Iterator[str]:
    """Columns that no requirement is about, that name people, or that are published as they are."""
    if scope.unrequired:
        columns = _several([visible(column) for column in scope.unrequired])
        yield f"No requirement is about {columns}: the release may disclose any value of it."
    if scope.identifiers:
        columns = _several([visible(column) for column in scope.identifiers])
        yield f"The table names people, in {columns}: what is published must not."
    if as_they_are := scope.exact:
        are, them = ("are", "them") if as_they_are[1:] else ("is", "it")
        yield (
            f"Everybody's {_columns(as_they_are, 'and')} {are} published as in the table: whoever "
            f"knows somebody by {them} may find the row, and so who is in the table."
        )


def _of_rows(scope: Scope, noun: str) -> Iterator[str]:
    """How rows were counted, and which were left out."""
    yield from (said for field, said in _COUNTED.items() if getattr(scope, field))
    if scope.lacking:
        rows = [
            f"{_some(n_rows, 'row has', 'rows have')} no {noun_of(column)}"
            for column, n_rows in scope.lacking.items()
        ]
        yield f"{_several(rows)}: left out where that column is judged, and nothing is said of it."
    else:
        yield from map(_capital, rows_left_out(scope.left_out or 0, noun))
    without = {noun_of(column): n_people for column, n_people in scope.without.items()}
    if scope.without_value and not without:
        without = {noun: scope.without_value}
    for missing, n_people in without.items():
        are = "is" if n_people == 1 else "are"
        yield (
            f"{_some(n_people, 'person', 'people')} {are} in groups in which nobody has "
            f"any {missing}: that they have none can be read from the release."
        )


def _of_groups(scope: Scope, ways: _WaysOut) -> Iterator[str]:
    """How small groups are, what was judged by itself, and what is not published."""
    yield from smallest_group(scope)
    yield from judged_apart(scope, ways.of_sets)
    if scope.people_suppressed:
        are = _some(scope.people_suppressed, "person is", "people are")
        yield f"{are} suppressed: in one group, whatever their quasi-identifiers."
    if scope.suppressed:
        columns = _several([visible(column) for column in scope.suppressed])
        yield f"Nothing is published of {columns}: everybody has *."


def _of_owner(scope: Scope) -> Iterator[str]:
    """What only the owner knows, and what was counted by them."""
    if scope.open:
        columns = _several([visible(column) for column in scope.open])
        yield (
            f"Labels leave open who cannot have a value (impossible, by {columns}): whoever "
            "perhaps cannot was not counted among those who can, so how sure somebody can be is a "
            "bound. The owner, who knows these columns, may find less: audit with the table "
            "(people)."
        )
    for word in scope.word:
        yield f"Counted by the owner, since a release does not show it: {visible(word)}."


def _of_releases(scope: Scope, claimed: bool) -> Iterator[str]:
    """Which releases were judged as one, and that others were not."""
    if scope.releases:
        if scope.names_alike:
            one, other = map(named, scope.names_alike[0])
            pairs = _some(len(scope.names_alike), "pair", "pairs")
            yield (
                f"{pairs} of names in two releases, such as {one} and {other}: alike but for "
                "hyphens and other marks, and taken for different people. If they are one, write "
                "them in one way, or nothing of this holds."
            )
        shown = []
        for name, n_people in scope.releases:
            date = f", written on {scope.written[name]}" if name in scope.written else ""
            shown.append(f"{visible(name)} ({_some(n_people, 'person', 'people')}{date})")
        yield f"Judged together, as one release: {listing(shown)}. {FURTHER_RELEASES}"
        yield (
            "Somebody who knows when a person came may know more of their value; only trials say "
            "anything about that."
        )
    elif scope.earlier and not claimed:
        others = some(len(scope.earlier), "earlier release", "earlier releases")
        of_them = some(sum(scope.earlier), "person", "people")
        yield (
            f"Published after {others} of {of_them} of the same register: all together, as one "
            "release, hold what is required. That nobody is in two groups is the publisher's word. "
            f"{FURTHER_RELEASES}"
        )
    elif not claimed:
        yield OTHER_RELEASES


def _in_toml(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _person_numbers(columns: Sequence[str]) -> list[str]:
    """Say which published columns may tell people apart, and what to write then."""
    return [
        f"{visible(name)} is published, and looks like the number of a person who has several "
        "rows: then all that is said here is about rows, and not about people. If it is, list it "
        f'under identifiers alone, and add unit = "row" and person = {_in_toml(name)} to [schema].'
        for name in columns[:_MOST]
    ]


def _households(columns: Sequence[str]) -> list[str]:
    """Say who has a value in common with a few others, and what is not judged of them."""
    if not columns:
        return []
    names = [visible(name) if name else "a column that is not published" for name in columns]
    return [
        f"People who share {listing(names, 'or', most=_MOST)}: most of its values are those of two "
        "to nine rows. They are judged one by one, and somebody may know that they have the same "
        "value, or what one of them has. Links (m) stand for “if one of these has it, so has "
        "this person”, and not for “all of them have the same”."
    ]


def _of_names(scope: Scope, ways: _WaysOut) -> list[str]:
    """Say what requirements name and nobody has, and what lies beside the values that they name."""
    said = [
        f"Nobody has {named(name)}: a requirement on it asks nothing of this table."
        for name in scope.idle[:_MOST]
    ]
    if more := len(scope.idle) - _MOST:
        said += [f"The same holds of {some(more, 'other secret', 'others')}."] if more > 0 else []
    lacking = [(text, near) for text, near in scope.absent if near or text not in scope.idle]
    if lacking:
        each = [f"'{visible(text)}'" for text, _ in lacking]
        hints = [f"'{visible(near)}' for '{visible(text)}'" for text, near in lacking if near]
        mean = f" Did you mean {listing(hints, most=_MOST)}?" if hints else ""
        said.append(f"Requirements name what nobody in the table has: {_several(each)}.{mean}")
    if scope.begin_alike:
        pairs = [f"'{visible(v)}' begins like '{visible(m)}'" for v, m in scope.begin_alike]
        one = len(pairs) == 1
        said.append(
            f"{_several(pairs)} and {'is' if one else 'are'} not in the secret; "
            f'"{visible(scope.begin_alike[0][1])}*" stands for every value that begins so.'
        )
    if scope.no_numbers:
        values = _several([f"'{visible(value)}'" for value in scope.no_numbers])
        said.append(f"In no range, since they are no numbers or dates: {values}.")
    for column, end, value, groups, people in scope.extremes:
        of = f" {visible(column)}" if column else ""
        bound = f"at {'most' if end == 'lowest' else 'least'} {visible(value)}"
        said.append(
            f"Near values are hidden, and not that they are all {_ENDS[end]}: in "
            f"{some(groups, 'group', 'groups')} ({some(people, 'person', 'people')}) everybody's"
            f"{of or ' value'} is {bound}, in the {end} tenth of the table."
            f"{ways.of_ranges}"
        )
    for column, low, high, people, groups in scope.near:
        of = f" of {visible(column)}" if column else ""
        width = "30 days" if read_number(low) is None else "10%"
        narrow = f"; in {some(groups, 'group', 'groups')} all are within {width} of each other"
        said.append(
            f"Near values{of} are judged as different ones{narrow if groups else ''}. In the "
            f"narrowest, of {some(people, 'person', 'people')}, they lie within {visible(low)} to "
            f'{visible(high)}: require within = "{width}".'
        )
    return said


def sight(scope: Scope) -> list[str]:
    """Say what is taken to be known of everybody, what is not, and what was not looked at."""
    said: list[str] = []
    if scope.known:
        said.append(f"The adversary knows the {_columns(scope.known, 'and')} of everybody.")
    for sensitive, columns in scope.assumed.items():
        said.append(
            f"A requirement on {visible(sensitive)} assumes that nobody knows the "
            f"{_columns(columns, 'or')} of anybody."
        )
    told = {*scope.identifiers, *(name for of in scope.assumed.values() for name in of)}
    if beside := [visible(name) for name in scope.beside or () if name not in told]:
        them = "them" if len(beside) > 1 else "it"
        said.append(
            f"Not judged: {_several(beside)}. An adversary who knows {them} of a person may find "
            f"out more from a release that has {them}."
        )
    if columns := scope.shuffled:
        are = "is" if len(columns) == 1 else "are"
        said.append(
            f"Within each group {_columns(columns, 'and')} {are} shuffled, "
            "by the publisher's word: values do not show it."
        )
    return said


def _columns(names: Sequence[str], word: str) -> str:
    return listing([visible(name) for name in names], word, most=len(names))


def _of_method(method: str, unlimited: bool, attack: str) -> str:
    if method == AS_REQUIRED and unlimited:
        return _LIMITING_NOTHING
    if method in _METHOD:
        return _METHOD[method].replace("{attack}", f' See "{attack}".' if attack else "")
    return (
        "By a proof, an adversary who knows the method, and nothing else, is never surer of a "
        f"value than {method.removeprefix(AT_MOST)}."
    )


def _some(amount: int, one: str, several: str) -> str:
    return _capital(some(amount, one, several))


def _capital(said: str) -> str:
    return said[0].upper() + said[1:]


def _several(parts: Sequence[str]) -> str:
    """List a few, and how many more there are.

    >>> _several(["A", "B"]), _several(list("ABCDEFGHI"))
    ('A, B', 'A, B, C, D, E, F and 3 more')
    """
    if len(parts) <= _MOST + 1:
        return ", ".join(parts)
    return f"{', '.join(parts[:_MOST])} and {number(len(parts) - _MOST)} more"
