"""Remarks: what the verdicts on a release do not cover, worked out from its counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from math import inf
from typing import Any, NamedTuple

import numpy as np

from foreknow_judge.certificate import Certificate
from foreknow_judge.counts.group_bags import GroupBags, sums_at
from foreknow_judge.counts.labels import as_whole, value_of
from foreknow_judge.counts.layout import Layout, multivalued_columns
from foreknow_judge.errors import PolicyError, nearest
from foreknow_judge.files.written_release import Written, suppressed_columns
from foreknow_judge.numbers import is_code, read_number
from foreknow_judge.policy.grammar import SHOWN_ELSEWHERE, RequireTable, Secret
from foreknow_judge.policy.named_values import (
    exempt_values,
    same_values,
    values_named,
    values_starting,
)
from foreknow_judge.registry import Kinds
from foreknow_judge.remarks.scope import Scope
from foreknow_judge.text import plain_spelling
from foreknow_judge.verdicts import read_requirements

NOT_JUDGED = "not judged"  # the result for an adversary who knows the method
# How many values are listed; with fewer people than `_FEW`, it is no remark if all values differ.
_LISTED, _FEW = 5, 20
# How many values are compared with a name that nobody has, and how many names are listed.
_COMPARED, _NAMED = 10_000, 20
_MIDNIGHT = re.compile(r"(?<=\d-\d\d)[ t]00:00(:00(\.0+)?)?$")
_THOUSANDS = re.compile(r"(?<=\d)[, '’](?=\d{3}(?!\d))")


class Question(NamedTuple):
    """A requirement's question about the values of a column."""

    name: str
    sensitive: str | None
    secret: Secret  # with values in place of labels of a hierarchy
    limits_inference: bool  # whether it is about knowledge, not a criterion
    absent: tuple[str, ...] = ()  # values that it names even though perhaps nobody has them

    @classmethod
    def of(cls, table: RequireTable, kinds: Kinds) -> Question:
        """Make it from a ``[[require]]`` table."""
        on_knowledge = not table.kinds.keys() & kinds.criteria.keys()
        return cls(table.name or "require", table.sensitive, table.secret, on_knowledge)


def remarks_of_files(
    certificate: Certificate, release: Written, required: Sequence[Mapping[str, Any]], kinds: Kinds
) -> Scope:
    """Remarks about what no requirement looks at, as far as the files show.

    Such are columns that no requirement names, values without a limit, and small groups.
    """
    tables = read_requirements(required)
    on_people, on_values = list[RequireTable](), list[RequireTable]()
    looked_at, packages = set[str](), list[str]()
    for table in tables:
        counts_people = any(map(kinds.counts_people, table.kinds))
        (on_people if counts_people else on_values).append(table)
        looked_at.update(*_attributes(table))
        packages += [kinds.packages[key] for key in table.kinds if key in kinds.packages]
    layout = _layout_of(certificate)
    looks = [
        layout.seen(table.sensitive, table.known).with_priors(_attributes_of_all(table))
        for table in on_values
    ]
    looked_at.update(layout.looked_at(looks, [table.known for table in on_people]))
    # Columns that may be looked at by nobody: other ones, and sensitive ones in the same row. (If
    # they are shuffled or stand alone, they are judged or remarked on by themselves.)
    unseen = [name for name in certificate.beside if name not in release.shuffled]
    linked = [name for name in certificate.sensitives if name in layout.linked]
    if len(linked) > 1 and looks:
        unseen += linked
    columns = {name: release.groups_of(name, ()) for name in certificate.sensitives}
    return Scope(
        **remarks_on_values(columns, [Question.of(table, kinds) for table in on_values]),
        suppressed=suppressed_columns(release),
        cases=certificate.in_cases,
        beside=tuple(name for name in unseen if name not in looked_at),
        exact=certificate.exact,
        method=NOT_JUDGED,
        assumed=layout.assumed(looks),
        shuffled=tuple(release.shuffled),
        foreign=tuple(dict.fromkeys(packages)),
    )


def _layout_of(certificate: Certificate) -> Layout:
    """The sensitive and other columns that stand in the same rows of the files of a release."""
    several = multivalued_columns(certificate.semantics, certificate.sensitives)
    columns = list(certificate.sensitives)
    # Only a table with one row per person has other columns beside the sensitive ones.
    if certificate.form == "generalized" and not several:
        columns += certificate.beside
    in_own_table = {*certificate.unlinked, *several}
    linked = tuple(name for name in columns if name not in in_own_table)
    return Layout(certificate.sensitives[0], linked)


def remarks_on_values(
    columns: Mapping[str, GroupBags], questions: Sequence[Question] | None
) -> dict[str, Any]:
    """Remarks about what verdicts on each sensitive column do not cover, as fields of a `Scope`.

    `columns` has the groups and their values for each sensitive column, the main one first.
    `questions` are those of the requirements on values; None if no policy says what is required.
    """
    main, several = next(iter(columns)), len(columns) > 1
    free, crowded, alike_values = Counter[str](), dict[str, Any](), set[tuple[str, ...]]()
    unrequired, ends, names = list[str](), set[Any](), dict[str, set[Any]]()
    single, without_value = dict[str, Any](), dict[str, int]()
    # free: values without a limit; crowded: columns of nearly as many values as people.
    for column, groups in columns.items():
        alike_values |= {*alike(groups.holders)}
        without_value[column] = int(groups.people[groups.n_values == 0].sum())
        # A question that names no column is about the main one.
        questions_of_column = [
            question
            for question in questions or ()
            if not several or (question.sensitive or main) == column
        ]
        if several and not questions_of_column:
            if questions is not None:
                unrequired.append(column)
            continue
        on_knowledge = [question for question in questions_of_column if question.limits_inference]
        if questions is not None:
            for value, people in _unprotected(groups, on_knowledge).items():
                free[f"{column} {value}" if several else value] += people
            single = _single_values(groups, on_knowledge)
            if "values_and_people" in single:
                crowded[column] = single["values_and_people"]
        for key, remarks in _named_values(groups, questions_of_column).items():
            names.setdefault(key, set()).update(remarks)
        if any(question.secret.width is not None for question in on_knowledge):
            ends |= {(column if several else "", *end) for end in _extremes(groups)}
    first = columns[main]
    return {
        "smallest_group": int(first.people.min()) if len(first) else 0,
        "groups_of_one": int((first.people == 1).sum()),
        "without_value": without_value[main],
        "without": {name: n for name, n in without_value.items() if n and several},
        "unprotected": +free,  # without values that nobody has
        "unrequired": tuple(unrequired),
        "alike": tuple(sorted(alike_values)),
        "extremes": tuple(sorted(ends)),
        **({"crowded": crowded} if several else single),
        **{key: tuple(sorted(remarks)) for key, remarks in names.items()},
    }


def values_about(secret: Secret, values: Collection[str]) -> set[str]:
    """The values of a column that a secret is about, alone or among others."""
    if secret.sets:
        return set[str]().union(
            *(values_named(members_named, values) for members_named in secret.sets.values())
        )
    secrets = {*values} if secret.values is None else {*values_named(secret.values, values)}
    return secrets - exempt_values(secret.excluded, values)


def _unprotected(groups: GroupBags, questions: Iterable[Question]) -> dict[str, int]:
    """Values that no requirement is about, and how many people have each."""
    free = groups.holders
    for question in questions:
        secrets = values_about(question.secret, groups.names)
        # Not a value of anybody: it only says that another row of the household shows the value.
        if SHOWN_ELSEWHERE in question.secret.excluded:
            secrets.add(SHOWN_ELSEWHERE)
        free = {value: people for value, people in free.items() if value not in secrets}
    return free


def _single_values(groups: GroupBags, questions: Sequence[Question]) -> dict[str, Any]:
    """Remarks on values that are judged by themselves, if that protects less than it seems to.

    `values_and_people`: nearly everybody has another value, so single values are surely rare.
    `apart` and `more_apart`: the most frequent values that no set counts as one, and how many more.
    """
    secrets = [question.secret for question in questions]
    single = [values_about(secret, groups.names) for secret in secrets if secret.singly]
    in_sets = [values_about(secret, groups.names) for secret in secrets if secret.sets]
    secret_values = set[str]().union(*single).difference(*in_sets)
    remarks: dict[str, Any] = {}
    holders = groups.holders
    values, people = len(holders), sum(holders.values())
    # All requirements are of this sort, and at least 8 of 10 people have a value of their own.
    if single and len(single) == len(questions) and people >= _FEW and values * 10 >= people * 8:
        remarks["values_and_people"] = values, people
    ranked = sorted(secret_values & holders.keys(), key=lambda value: (-holders[value], value))
    if len(ranked) > 1:
        remarks |= {"apart": tuple(ranked[:_LISTED]), "more_apart": len(ranked[_LISTED:])}
    return remarks


# ---- names in a policy ---------------------------------------------------------------------------


def _named_values(groups: GroupBags, questions: Iterable[Question]) -> dict[str, Any]:
    """Remarks on the values that requirements on a column name, as fields of a `Scope`.

    `absent`: texts that nobody has, each with the most similar value. `idle`: sets without anybody.
    `begin_alike`: values that begin like a named one. `no_numbers`: values that no range includes.
    """
    present = sorted(groups.holders)
    absent, without_holders, no_numbers = set[str](), set[str](), set[str]()
    begin_alike = set[tuple[str, str]]()
    for question in questions:
        secret = question.secret
        values = [*map(str, secret.values or ())]
        texts, members = [*values], set[str]()  # all that is named; the present values so named
        for name, members_named in secret.sets.items():
            if isinstance(members_named, Mapping):  # a range of numbers
                no_numbers |= {value for value in present if not any(map(str.isnumeric, value))}
            else:
                texts += map(str, members_named)
            members_of_set = values_named(members_named, present)
            members.update(members_of_set)
            if not members_of_set:
                without_holders.add(name or " or ".join(members_named))
        if values:
            members = values_about(secret, present)
            if not members:
                without_holders.add(" or ".join(values))
        absent |= _absent(question, (*texts, *map(str, secret.excluded)), present)
        stems = {text for text in texts if not text.endswith("*")}
        begin_alike |= _begin_alike(stems, [value for value in present if value not in members])
    # Only for some, since to compare all texts with all values takes long.
    nearest_present = {
        text: nearest(text, present[:_COMPARED])
        for text in sorted(absent)[:_NAMED]
        if not text.endswith("*")
    }
    return {
        "absent": [(text, nearest_present.get(text) or "") for text in absent],
        "idle": without_holders,
        "begin_alike": sorted(begin_alike)[:_NAMED],
        "no_numbers": sorted(no_numbers)[:_NAMED],
    }


def _absent(question: Question, texts: Iterable[str], present: Sequence[str]) -> set[str]:
    """The texts that name no value that is present; refuse another spelling of a present one.

    Some values may be absent on purpose: the question says which.
    """
    present_set, absent = {*present, SHOWN_ELSEWHERE, *question.absent}, set[str]()
    for text in texts:
        is_pattern = text.endswith("*") and values_starting(text, present)
        if text in present_set or is_pattern:
            continue
        for same in same_values(text, present):
            raise PolicyError("spelt-otherwise", question.name, value=text, same=same)
        absent.add(text)
    return absent


def _begin_alike(stems: set[str], outsiders: Iterable[str]) -> set[tuple[str, str]]:
    """Pairs of a value outside a set and a member of the set that it begins with.

    The set may be meant to include such a value: B20.1 beside B20. But 100 is nothing like 10.
    """
    lengths = sorted({len(text) for text in stems if text}, reverse=True)  # the longest stem counts
    pairs = set()
    for value in outsiders:
        for length in lengths:
            stem, ending = value[:length], value[length:]
            if ending and stem in stems and not (stem.isdigit() and ending[0].isdigit()):
                pairs.add((value, stem))
                break
    return pairs


# ---- near values ---------------------------------------------------------------------------------


def _extremes(tally: GroupBags) -> set[tuple[str, str, int, int]]:
    """Groups whose values all lie in the lowest or the highest tenth of a table.

    For each end: ("lowest" or "highest", the last value of the tenth, such groups, their people).
    The lowest tenth ends at the value of the last person of the first tenth of people, in
    ascending order; everyone with this value belongs to it. The highest likewise, from above. A
    tenth that includes every value of the table is left out.
    """
    values = [value_of(name) for name in tally.names]
    # The values that are numbers or dates, as whole numbers in the same order; others come first.
    numbers = iter(as_whole([value.low[0] for value in values if value is not None]))
    positions = [-inf if value is None else next(numbers) for value in values]
    ascending = {number: rank for rank, number in enumerate(sorted({*positions}))}
    rank = np.array([ascending[number] for number in positions], np.int64)
    ends = set()
    for end, ranks in (("lowest", rank), ("highest", len(ascending) - 1 - rank)):
        # How many people have a value up to each rank; the first rank with a tenth of all.
        up_to = np.cumsum(sums_at(ranks, tally.totals, len(ascending)))
        last = int(np.searchsorted(10 * up_to, up_to[-1:].sum()))  # [-1:]: there may be no values
        outside = ranks[tally.codes] > last
        wholly = (tally.n_values > 0) & (tally.sum_by_group(outside.astype(np.int64)) == 0)
        if outside.any() and wholly.any():
            value = min(tally.names[place] for place in np.flatnonzero(ranks == last).tolist())
            groups, members = int(wholly.sum()), int(tally.people[wholly].sum())
            ends.add((end, value, groups, members))
    return ends


# ---- values that look alike ----------------------------------------------------------------------


def alike(values: Iterable[str]) -> list[tuple[str, ...]]:
    """Values that differ only by case, spaces, Unicode form or diacritics, or are one number.

    Each tuple has the spellings of one value: people who have it are counted as if they differed.

    >>> alike(["HIV", "Flu", "hiv ", "Grippe", "grippé", "1.1", "1.10", "1,000", "1000"])
    [('1,000', '1000'), ('1.1', '1.10'), ('Grippe', 'grippé'), ('HIV', 'hiv ')]
    """
    spellings: dict[str | int | Decimal, list[str]] = {}
    for value in values:
        text = _MIDNIGHT.sub("", plain_spelling(value))  # a date at midnight is the date
        digits = _THOUSANDS.sub("", text)
        number = None if is_code(digits) else read_number(digits)  # 007 is a code, and not 7
        spellings.setdefault(text if number is None else number, []).append(value)
    several = (sorted(set(spelt_values)) for key, spelt_values in spellings.items() if key != "")
    return sorted(tuple(spelt_values) for spelt_values in several if len(spelt_values) > 1)


# ---- priors --------------------------------------------------------------------------------------


def _attributes(table: RequireTable) -> list[set[str]]:
    """For each adversary of a requirement, the columns of its priors, known of everybody."""
    attributes = []
    for settings in table.kinds.values():
        for point in settings if isinstance(settings, (list, tuple)) else [settings]:
            tables = point.get("tables", ()) if isinstance(point, Mapping) else ()
            attributes.append({*chain(*(priors["attributes"] for priors in tables))})
    return attributes


def _attributes_of_all(table: RequireTable) -> set[str]:
    """Columns that all its adversaries know."""
    attributes = _attributes(table)
    return set.intersection(*attributes) if attributes else set()
