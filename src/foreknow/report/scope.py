"""Scope in words: what the verdicts did not look at, a sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from foreknow.auditing.scope import Scope
from foreknow.methods.proof import AS_REQUIRED, AS_SETTLED, AT_MOST, FREQUENCIES, NOT_JUDGED
from foreknow.report.knowledge import NOUN
from foreknow.report.words import listing, named, noun_of, number, some
from foreknow.text import visible

HEADING = "What the verdicts do not cover:"
_METHOD = {
    NOT_JUDGED: "Knowledge of the method was not judged: an adversary who knows it may be surer. "
    "See foreknow attack.",
    AS_REQUIRED: "By a proof, the requirements hold also against an adversary who knows the "
    "method.",
    AS_SETTLED: "By a proof, the requirements that are no estimates hold also against an adversary "
    "who knows the method. How much such an adversary can learn was not judged.",
    FREQUENCIES: "By a proof, an adversary who knows the method, and nothing else, is as sure of "
    "a value as it is frequent in the group, and no surer. Who also has the knowledge that the "
    "requirements name was not judged.",
}
_MOST = 6


def sentences(scope: Scope, noun: str = NOUN, semantics: str = "single") -> list[str]:
    """Everything that stands beside the verdicts, the most important first."""
    said, of_value = [], ("time", "times") if semantics == "multiset" else ("person", "people")
    if scope.unprotected:
        values = [f"{named(v)} ({some(n, *of_value)})" for v, n in scope.unprotected.items()]
        said.append(
            f"No requirement is about: {_several(values)}. The release may disclose "
            f"{'them' if len(values) > 1 else 'it'} outright."
        )
    crowded = [] if scope.values_and_people is None else [("", scope.values_and_people)]
    crowded += [(f" of {visible(name)}", of) for name, of in scope.crowded.items()]
    for of, (several, people) in crowded:
        said.append(
            f"{_some(several, 'value', 'values')}{of} for {some(people, *of_value)}: a requirement "
            "about single values says little; use within = ..., any_of, or a hierarchy."
        )
    if scope.alike:
        each = [_several([f"'{visible(value)}'" for value in values]) for values in scope.alike]
        said.append(
            f"These look like one value: {'; '.join(each[:_MOST])}"
            + (f"; and {number(len(each) - _MOST)} more" if len(each) > _MOST else "")
            + ". They are judged as different ones."
        )
    if scope.unrequired:
        columns = _several([visible(column) for column in scope.unrequired])
        said.append(f"No requirement is about {columns}: the release may disclose any value of it.")
    if scope.identifiers:
        names = _several([visible(column) for column in scope.identifiers])
        said.append(f"The table names people, in {names}: what is published must not.")
    said += sight(scope)
    if scope.method is not None:
        said.append(_of_method(scope.method))
    if scope.linked:
        said.append(
            "Judged by the counts of its groups. The table itself shows which values are of one "
            "person: publish counts instead, as foreknow publish does."
        )
    if scope.tallied:
        said.append(
            "Judged by a tally, as if each row that it counts were one person, and the table had "
            "no further columns: whether somebody has several rows, it does not tell."
        )
    if scope.lacking:
        rows = [
            f"{_some(many, 'row has', 'rows have')} no {noun_of(name)}"
            for name, many in scope.lacking.items()
        ]
        said.append(
            f"{_several(rows)}: left out where that column is judged, and nothing is said of it."
        )
    elif scope.left_out:
        has, them = ("row has", "it") if scope.left_out == 1 else ("rows have", "them")
        were = "was" if scope.left_out == 1 else "were"
        said.append(
            f"{_some(scope.left_out, has, has)} no {noun} and {were} left out; nothing is said "
            f"about {them}."
        )
    without = {noun_of(name): many for name, many in scope.without.items()}
    if scope.without_value and not without:
        without = {noun: scope.without_value}
    for of, people in without.items():
        are = "is" if people == 1 else "are"
        said.append(
            f"{_some(people, 'person', 'people')} {are} in groups in which nobody has "
            f"any {of}: that they have none can be read from the release."
        )
    if scope.smallest_group:
        alone = scope.groups_of_one
        more = f"; {number(alone)} groups have only one" if alone > 1 else ""
        least = some(scope.smallest_group, "person", "people")
        said.append(f"The smallest group has {least}{more}.")
    if scope.apart:
        shown = [named(value) for value in scope.apart[: -1 if scope.more_apart else None]]
        left = scope.more_apart + 1 if scope.more_apart else 0
        listed = ", ".join(shown) + (f" and {number(left)} more" if left else "")
        said.append(
            f"Judged each by itself: {listed}. That somebody has one of several is not: see any_of."
        )
    if scope.people_suppressed:
        many = some(scope.people_suppressed, "person is", "people are")
        said.append(
            f"{many[0].upper()}{many[1:]} suppressed: in one group, whatever their "
            "quasi-identifiers."
        )
    if scope.suppressed:
        columns = _several([visible(column) for column in scope.suppressed])
        said.append(f"Nothing is published of {columns}: everybody has *.")
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
        they, them, are = ("They", "them", "are") if len(beside) > 1 else ("It", "it", "is")
        said.append(
            f"Not judged: {_several(beside)}. {they} {are} published as {they.lower()} {are}: an "
            f"adversary who knows {them} of a person may find out more."
        )
    if scope.shuffled:
        apart = _columns(scope.shuffled, "and")
        said.append(
            f"Within each group {apart} {'is' if len(scope.shuffled) == 1 else 'are'} shuffled, "
            "by the publisher's word: a table does not show it."
        )
    return said


def _columns(names: Sequence[str], word: str) -> str:
    return listing([visible(name) for name in names], word, most=len(names))


def _of_method(method: str) -> str:
    return _METHOD.get(method) or (
        "By a proof, an adversary who knows the method, and nothing else, is never surer of a "
        f"value than {method.removeprefix(AT_MOST)}."
    )


def _some(amount: int, one: str, several: str) -> str:
    said = some(amount, one, several)
    return said[0].upper() + said[1:]


def _several(parts: Sequence[str]) -> str:
    """List a few, and how many more there are.

    >>> _several(["A", "B"]), _several(list("ABCDEFGHI"))
    ('A, B', 'A, B, C, D, E, F and 3 more')
    """
    if len(parts) <= _MOST + 1:
        return ", ".join(parts)
    return f"{', '.join(parts[:_MOST])} and {number(len(parts) - _MOST)} more"
