"""Remarks on values: which are protected less than it seems, and names that fit no value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from foreknow.auditing.named_values import held_by, near_values
from foreknow.auditing.remarks.remark import (
    MOST,
    JudgedRelease,
    Reader,
    Remark,
    marked,
    of_column,
    on_each,
)
from foreknow.data.tables.profile.column_advice import separator_of
from foreknow.data.tables.profile.reading_options import amount_marks, has_decimal_commas
from foreknow.wording import capital, few, listing
from foreknow_judge.files.printable import quoted, visible
from foreknow_judge.numbers import read_number
from foreknow_judge.remarks.sentences import judged_apart
from foreknow_judge.text import number, some

_ENDS = {"lowest": ("low", "most"), "highest": ("high", "least")}


def _say_unprotected(free: Mapping[str, int], reader: Reader) -> Iterator[str]:
    """Yield sentences on values without a limit of their own.

    `free` says how many people have each. First come those that are limited together with all
    others, then those that no requirement is about.
    """
    free_values, has_more_columns = dict(free), len(reader.spread) > 1
    for column, required in reader.spread.items():
        values = []
        for v in free_values:  # of several columns, values are called "column value"
            if not has_more_columns or _columns_of(v, reader.spread) == [column]:
                values.append(v)
        if not required.criteria or not values:
            continue
        # A criterion, such as t-closeness, limits all values of the column together.
        subject = f"single values{of_column(column if has_more_columns else '')}"
        subject = f"{few(map(quoted, values))} alone" if required.some_alone else subject
        verb = "is" if len(required.criteria) == 1 else "are"
        yield (
            f"No limit is about {subject}: {listing(required.criteria)} {verb} about all of them "
            "together, and how sure somebody can be of one was not judged."
        )
        free_values = {
            value: people for value, people in free_values.items() if value not in values
        }
    if free_values:
        values = []
        for value, n in free_values.items():
            values.append(f"{quoted(value)} ({some(n, *reader.holders)})")
        pronoun = "them" if len(values) > 1 else "it"
        yield (
            f"No requirement is about: {few(values)}. The release may disclose {pronoun} outright."
        )


UNPROTECTED = Remark("unprotected", _say_unprotected)


def _columns_of(value: str, columns: Iterable[str]) -> list[str]:
    """The sensitive columns, of several, with whose names a value begins."""
    return [column for column in columns if value.startswith(f"{column} ")]


def _say_crowded(columns: Mapping[str, tuple[int, int]], reader: Reader) -> Iterator[str]:
    for column, (n_values, n_people) in columns.items():
        values = capital(some(n_values, "value", "values"))
        yield (
            f"{values}{of_column(column)} for {some(n_people, *reader.holders)}: a requirement "
            "about single values says little"
            f"{reader.way_out('; use within = ..., any_of, or a hierarchy')}."
        )


CROWDED = Remark("crowded", _say_crowded)

VALUES_AND_PEOPLE = Remark(
    "values_and_people", lambda counted, reader: _say_crowded({"": counted}, reader)
)


def _count_several_answers(release: JudgedRelease) -> tuple[tuple[str, str], ...]:
    """Pairs of a column whose values seem to hold several answers, and their separator.

    Such as "flu;cold": it is judged as one value, and not as the two.
    """
    separators = []
    for column, counts, required in release.limits:
        if required and counts.semantics == "single":
            separators.append(
                (column, separator_of([*map(str, counts.values)], counts.totals.tolist()))
            )
    return tuple((column, separator) for column, separator in separators if separator)


def _say_several_answers(columns: Sequence[tuple[str, str]], reader: Reader) -> Iterator[str]:
    for column, separator in columns:
        yield (
            f"Values{of_column(column)} hold several answers, with {quoted(separator)} between: "
            "each was judged as one whole, and one answer, which many people of a group may have "
            'given, was not judged. Read them as sets: semantics = "set", and in the reading '
            f"separators = {{ COLUMN = {json.dumps(separator)} }}."
        )


SEVERAL_ANSWERS = Remark("several_answers", _say_several_answers, of_counts=_count_several_answers)


def _count_amounts(release: JudgedRelease) -> tuple[str, ...]:
    """Columns whose values are amounts written as texts, such as "1,5" or "5 mg".

    Requirements judge them as different values, however near the amounts are.
    """
    amounts = list[str]()
    for column, counts, required in release.limits:
        if required and not any(requirement.of_windows for requirement in required):
            texts = [*map(str, held_by(counts))]
            if amount_marks(texts) or has_decimal_commas(texts):
                amounts.append(column)
    return tuple(amounts)


AMOUNTS = Remark(
    "amounts",
    on_each(
        "Values{} are texts of amounts: each was judged by itself, and values near each other "
        "were not. Read them as numbers (thousands, currency or decimal in the reading), and "
        'require within = "10%".',
        of_column,
    ),
    of_counts=_count_amounts,
)


def _say_alike(values_alike: Sequence[Sequence[str]], reader: Reader) -> Iterator[str]:
    lists = [few(map(marked, values)) for values in values_alike]
    unlisted = len(lists) - MOST
    ending = f"; and {number(unlisted)} more" if unlisted > 0 else ""
    yield (
        f"These look like one value: {'; '.join(lists[:MOST])}{ending}. They are judged as "
        "different ones."
    )


ALIKE = Remark("alike", _say_alike)


def _say_idle(names: Sequence[str], reader: Reader) -> Iterator[str]:
    for name in names[:MOST]:
        yield f"Nobody has {quoted(name)}: a requirement on it asks nothing of this table."
    if (n_unnamed := len(names) - MOST) > 0:
        yield f"The same holds of {some(n_unnamed, 'other secret', 'others')}."


IDLE = Remark("idle", _say_idle)


def _say_absent(absent: Sequence[tuple[str, str]], reader: Reader) -> Iterator[str]:
    """Yield a sentence on values that requirements name and nobody has.

    `absent` has each with a similar value that somebody has, or "".
    """
    lacking = []
    for text, similar in absent:
        if similar or text not in reader.scope.idle:  # idle sets have a remark of their own
            lacking.append((text, similar))
    if lacking:
        hints = [f"{marked(similar)} for {marked(text)}" for text, similar in lacking if similar]
        mean = f" Did you mean {listing(hints, n_shown=MOST)}?" if hints else ""
        names = few(marked(text) for text, _ in lacking)
        yield f"Requirements name what nobody in the table has: {names}.{mean}"


ABSENT = Remark("absent", _say_absent)


def _say_begin_alike(pairs: Sequence[tuple[str, str]], reader: Reader) -> Iterator[str]:
    likenesses = few(f"{marked(value)} begins like {marked(member)}" for value, member in pairs)
    yield (
        f"{likenesses} and {'is' if len(pairs) == 1 else 'are'} not in the secret; "
        f'"{visible(pairs[0][1])}*" stands for every value that begins so.'
    )


BEGIN_ALIKE = Remark("begin_alike", _say_begin_alike)

NO_NUMBERS = Remark(
    "no_numbers",
    lambda values, reader: [
        f"In no range, since they are no numbers or dates: {few(map(marked, values))}."
    ],
)


def _say_extremes(ends: Iterable[tuple[str, str, str, int, int]], reader: Reader) -> Iterator[str]:
    """Yield a sentence for each column and end with groups whose values all lie near that end.

    `ends` are (column, "lowest" or "highest", value where that tenth ends, groups, people).
    """
    way_out = reader.way_out(" A range can be a secret, too, by any_of in the policy.")
    for column, end, value, groups, people in ends:
        tenth, bound = _ENDS[end]
        yield (
            f"Near values are hidden, but not that they are all {tenth}: in "
            f"{some(groups, 'group', 'groups')} ({some(people, 'person', 'people')}) everybody's "
            f"{visible(column) or 'value'} is at {bound} {visible(value)}, in the {end} tenth of "
            f"the table.{way_out}"
        )


EXTREMES = Remark("extremes", _say_extremes)


def _columns_of_near_values(release: JudgedRelease) -> tuple[tuple[str, str, str, int, int], ...]:
    """Columns of numbers that are judged one by one, though some group has only near ones.

    With each column, of its narrowest group: the lowest and the highest value, and how many people
    it has; and how many groups are as narrow as a requirement would usually hide.
    """
    types = {} if release.schema is None else release.schema.types
    columns = list[tuple[str, str, str, int, int]]()
    for name, counts in release.columns.items():
        requirements = release.about[name]
        one_by_one = any(required.target.singly for required in requirements)
        hides_windows = any(required.of_windows for required in requirements)
        holds_codes = types.get(name) == "text"  # the schema says that these are no numbers
        if not one_by_one or hides_windows or holds_codes:
            continue
        narrowest = near_values(counts)
        if narrowest is not None:
            columns.append((release.called(name), *narrowest))
    return tuple(sorted(columns))


def _say_near(nearest: Iterable[tuple[str, str, str, int, int]], reader: Reader) -> Iterator[str]:
    """Yield a sentence for each column with a group of near numbers or dates.

    `nearest` are (column, lowest and highest value of its narrowest group, people of this group,
    groups that are as narrow as a requirement would usually hide).
    """
    for column, lowest, highest, people, groups in nearest:
        width = "30 days" if read_number(lowest) is None else "10%"  # else these are dates
        narrow = f"; in {some(groups, 'group', 'groups')} all are within {width} of each other"
        yield (
            f"Near values{of_column(column)} are judged as different ones"
            f"{narrow if groups else ''}. In the narrowest, of "
            f"{some(people, 'person', 'people')}, they lie within {visible(lowest)} "
            f'to {visible(highest)}: require within = "{width}".'
        )


NEAR = Remark("near", _say_near, of_counts=_columns_of_near_values)

APART = Remark(
    "apart",
    lambda _, reader: judged_apart(
        reader.scope,
        reader.way_out("; any_of in the policy makes them one secret"),
    ),
)

MORE_APART = Remark("more_apart")
