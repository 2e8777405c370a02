"""Impossible values: how many people can have each value, and the odds if not everybody can.

If a label leaves open whether a person can have a value, the person counts as one who cannot: with
fewer people who can, a release never looks safer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from foreknow_judge.counts.group_bags import Group, GroupBags, Ints, Signature
from foreknow_judge.counts.labels import FIRST, HOUR_OF_DAY, Span, period_of, spans_of, value_of
from foreknow_judge.errors import CertificateError
from foreknow_judge.knowledge.facts import (
    DistinctProfiles,
    Profile,
    Ratio,
    Theorem2,
    Worst,
    worst_case,
)
from foreknow_judge.numbers import read_number
from foreknow_judge.policy.named_values import range_of, same_values, values_named
from foreknow_judge.policy.settings import Table
from foreknow_judge.text import plain_spelling

_COARSE = re.compile(
    r'.*(\*| to | \| |").*|.* or (more|less|later|earlier)|<.*|other\++|other|(.* or )?missing',
    re.DOTALL,
)
# Rules by their positions: those that a value falls under, or that apply to somebody.
RuleSet: TypeAlias = frozenset[int]
# A value in a group; the rules that it, or what stands beside it, falls under; how many have it.
JointValue: TypeAlias = tuple[Any, RuleSet, int]


class Rules(NamedTuple):
    """The rules in a policy's schema that say which people cannot have which values."""

    tables: Sequence[Table] = ()
    nodes: Collection[str] = ()  # columns whose labels are nodes of a hierarchy
    opaque: Collection[str] = ()  # those of them whose labels may read like other values

    @classmethod
    def of(cls, schema: Table) -> Rules:
        """The rules in the ``[schema]`` table of a policy, which say who cannot have which values.

        Labels of an opaque column do not show which values they stand for.
        """
        sensitive = schema.get("sensitive")
        # A rule that names no sensitive column is about the first one.
        main = sensitive if isinstance(sensitive, str) or not sensitive else sensitive[0]
        tables = [
            {**table, "sensitive": table.get("sensitive") or main}
            for table in schema.get("impossible", ())
        ]
        hierarchies = schema.get("hierarchies") or {}
        opaque = [name for name, hierarchy in hierarchies.items() if is_opaque(hierarchy)]
        return cls(tables, tuple(hierarchies), opaque)

    def positions_for(self, sensitive: str) -> list[int]:
        """Positions of the rules on values of a column; a rule that names no column counts."""
        numbered = enumerate(self.tables)
        return [i for i, table in numbered if (table.get("sensitive") or sensitive) == sensitive]

    def columns(self) -> list[str]:
        """The columns of the conditions under which people cannot have a value."""
        return [*dict.fromkeys(chain(*(table["where"] for table in self.tables)))]

    def texts_of(self, column: str, positions: Sequence[int]) -> list[str]:
        """The values of a column that some rules name as their conditions."""
        conditions = [self.tables[i]["where"].get(column, ()) for i in positions]
        listed = [texts for texts in conditions if not isinstance(texts, Mapping)]
        return [*map(str, chain(*listed))]

    def applies_to(self, rule: int, labels: Mapping[str, str | None]) -> bool | None:
        """Whether a rule applies to people with these labels; None if the labels leave it open."""
        answers = [
            self._met(name, condition, labels.get(name))
            for name, condition in self.tables[rule]["where"].items()
        ]
        return False if False in answers else None if None in answers else True

    def _met(self, name: str, condition: Any, label: str | None) -> bool | None:
        """True if everybody with this label meets a condition, a range or a list of values.

        False if nobody does; None if the label does not tell. `name` is the column.
        """
        if label is None or name in self.opaque:
            return None
        if isinstance(condition, Mapping):
            return _met_by_range(label, range_of(condition))
        # A label of several values: some of them may meet the condition, and others not.
        if name in self.nodes or _COARSE.fullmatch(label):
            return None
        texts = [str(text) for text in condition]
        if label in texts or any(same_values(label, texts)):
            return True
        return None if any(may_hold(label, text) for text in texts) else False


def _met_by_range(label: str, condition: Span) -> bool | None:
    """True if all numbers or days of a label lie in a range, False if none does, else None."""
    value = value_of(label)
    if value is not None:
        return condition.holds(value) if value.dated == condition.dated else None
    for _, low, (last, _) in (span for span in spans_of(label) if not span.dated):
        # Ends are (number, 0) just before it or (number, 1) just after. The last number may belong
        # to the label or not, so it is taken in.
        high = last, 1
        if condition.dated or low == FIRST or last == inf or low >= high:
            return None
        if condition.low <= low and high <= condition.high:
            return True
        return False if high <= condition.low or condition.high <= low else None
    return None


def is_opaque(hierarchy: Table) -> bool:
    """True if the labels of a hierarchy are any texts, such as "2" for twenties.

    >>> is_opaque({"rows": [["23", "2"]]}), is_opaque({"mask": 5}), is_opaque({"intervals": [10]})
    (True, False, False)
    """
    if "mask" in hierarchy:
        return bool(hierarchy.get("character", "*") != "*")
    return not hierarchy.keys() & {"intervals", "dates"}


def may_hold(label: str, value: str) -> bool:
    """True if a label that reads like a period may stand for a value that is written otherwise."""
    if period_of(label) is None and not HOUR_OF_DAY.fullmatch(label):
        return False
    numbers = read_number(label) is not None and read_number(value) is not None
    shapes = [re.sub("[0-9]", "0", text) for text in (label, value)]
    return not numbers and shapes[0] != shapes[1]


class Cannot(NamedTuple):
    """The rules that perhaps, or surely, apply to a person."""

    perhaps: RuleSet = frozenset()
    surely: RuleSet = frozenset()


NO_RULES: RuleSet = frozenset()


def n_able(
    people: Collection[tuple[Cannot, int]], rules: RuleSet, other_rules: RuleSet = NO_RULES
) -> int:
    """How many people surely can have values under some rules, and perhaps those under others."""
    return sum(n for who, n in people if not (who.perhaps & rules or who.surely & other_rules))


class ImpossibleCounts(NamedTuple):
    """For each group, its people by the rules that apply to them; for each value, its rules."""

    people: Sequence[Counter[Cannot]]
    rules_of: Sequence[RuleSet]  # of each value


def rules_of_values(
    names: Collection[str], rules: Rules, positions: Sequence[int]
) -> dict[str, RuleSet]:
    """For each value of a column, the numbers of the rules that it falls under.

    A rule says that some people cannot have its values; `positions` are the numbers of the rules on
    this column, and `names` its values.
    """
    for i in positions:
        for text in map(str, rules.tables[i]["values"]):
            _refuse_other_spelling(text, names)
    rules_of: dict[str, RuleSet] = dict.fromkeys(names, NO_RULES)
    for i in positions:
        for name in values_named(rules.tables[i]["values"], names):
            rules_of[name] |= {i}
    return rules_of


def _refuse_other_spelling(text: str, present: Collection[str]) -> None:
    """Refuse a value of a rule that nobody has, if somebody has it in another spelling."""
    plain = plain_spelling(text)
    same = {value for value in present if plain_spelling(value) == plain}
    same.update(same_values(text, present))
    if same and text not in present:
        raise CertificateError("spelt-otherwise", "impossible", value=text, same=min(same))


def people_by_rules(
    people: Mapping[Group, Mapping[Signature, int]],
    columns: Sequence[str],
    rules: Rules,
    positions: Sequence[int],
    bags: Mapping[Group, Sequence[JointValue]],
) -> dict[Group, Counter[Cannot]]:
    """For each group, how many people there are by the rules that apply to them.

    `people` has, for each group, how many people have which labels in `columns`. Whether a rule
    applies may stay open, so people differ by rules that perhaps and that surely apply. `bags` are
    the values of each group: more people than can have a value are a contradiction, and refused.
    """
    for position, name in enumerate(columns):
        everybody = chain(*people.values())
        present = {text for labels in everybody if (text := labels[position]) is not None}
        for text in rules.texts_of(name, positions):
            if not any(same_values(text, present)):  # which meets a condition
                _refuse_other_spelling(text, present)
    cannot: dict[Any, Cannot] = {}  # by labels, so that rules are applied once to equal people
    people_of_groups = {}
    for group, bag in bags.items():
        members_of_group = Counter[Cannot]()
        for labels, n_people in people[group].items():
            if labels not in cannot:
                person = dict(zip(columns, labels, strict=True))
                answers = {i: rules.applies_to(i, person) for i in positions}
                perhaps = frozenset(i for i in positions if answers[i] is not False)
                cannot[labels] = Cannot(perhaps, frozenset(i for i in positions if answers[i]))
            members_of_group[cannot[labels]] += n_people
        _refuse(group, bag, members_of_group)
        people_of_groups[group] = members_of_group
    return people_of_groups


def _refuse(group: Group, bag: Sequence[JointValue], people: Counter[Cannot]) -> None:
    """Refuse a group in which more people have values than can have them.

    `bag` has (value, its rules, how many people); `people` are counted by rules that apply to them.
    """
    if not any(cannot.surely for cannot in people):  # anybody may have any value
        return
    having = Counter[RuleSet]()  # values under the same rules are for the same people
    for _, kind, count in bag:
        having[kind] += count
    for kind, count in having.items():
        if count > n_able(people.items(), NO_RULES, kind):
            name = ", ".join(str(label) for label in group)
            raise CertificateError("impossible-group", name)


def worst_with_rules(
    groups_with_bags: GroupBags,
    secrets: Collection[str],
    possible_holders: ImpossibleCounts,
    l: int,
    k: int,
    m: int,
) -> Worst:
    """The highest posterior of a secret, and its group, if some people cannot have some values.

    The adversary rules out l values of the target, and knows k other people and m links. Values
    with equal numbers are judged once, in the first group that has them.
    """
    is_secret = np.array([name in secrets for name in groups_with_bags.names], bool)
    first_groups: dict[tuple[int, tuple[int, ...]], int] = {}  # by value and numbers
    for group, people in enumerate(possible_holders.people):
        bag = groups_with_bags.cells(group)
        for profile_of_value in numbers_of_group(
            bag, people, possible_holders.rules_of, is_secret, l
        ):
            first_groups.setdefault(profile_of_value, group)
    listed = [(value, group, *numbers) for (value, numbers), group in first_groups.items()]
    # Six numbers after value and group; the shape is given, since there may be no rows.
    value, group_of, *columns = np.array(listed, np.int64).reshape(-1, 8).T
    profiles = DistinctProfiles(value, group_of, np.stack(columns, 1))
    return worst_case(groups_with_bags, profiles, Theorem2.of("single", k, m, odds_with_rules))


class Rest(NamedTuple):
    """The other values of a target's group, in a `Cell`: how many people have them."""

    of_kind: int  # who have other values of the same kind that are not ruled out
    without: int  # who could have the kind, but have none of it
    ruled_out: int  # who have values of other kinds that are ruled out
    free: int  # who have any value of other kinds

    def signed(self) -> Rest:
        """The same, or back again, with a minus where fewer are worse: in a `Cell` more are."""
        return Rest(-self.of_kind, -self.without, self.ruled_out, -self.free)


def numbers_of_group(
    bag: Sequence[tuple[int, int]],
    people: Counter[Cannot],
    rules_of: Sequence[RuleSet],
    is_secret: Ints,
    l: int,
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield each secret value of a group with the numbers that decide the odds against it.

    `bag` has (value, how many have it); `people` are counted by rules that apply to them. A kind is
    the set of rules that a value falls under; it is restricted if somebody in the group cannot have
    it. The numbers are how many people can have the value, how many have it, and the `Rest`: people
    with other values if the target has l values ruled out. A value may come several times: some of
    the l are of its own kind (`inside`), the others of values that everybody can have.
    """
    size = people.total()
    by_kind: dict[RuleSet, dict[int, int]] = {NO_RULES: {}}  # values, and who have them
    for value, count in bag:
        rules = rules_of[value]
        kind = rules if n_able(people.items(), rules) < size else NO_RULES  # all here can have it
        by_kind.setdefault(kind, {})[value] = count
    having = {kind: sum(counts.values()) for kind, counts in by_kind.items()}  # people of each
    free_counts = sorted(by_kind[NO_RULES].values(), reverse=True)  # the most frequent first
    for kind, counts in by_kind.items():
        # Who can have this kind, without those who may have another restricted kind instead: the
        # fewer are left, the surer is the adversary.
        members = n_able(people.items(), kind)
        for other_kind in by_kind.keys() - {kind, NO_RULES}:
            members -= min(having[other_kind], n_able(people.items(), kind, other_kind))
        for value, holders in counts.items():
            if not is_secret[value]:
                continue
            other_counts = sorted((n for x, n in counts.items() if x != value), reverse=True)
            if kind == NO_RULES:  # the usual case: the l most frequent others are ruled out
                remaining = Rest(having[kind] - holders - sum(other_counts[:l]), 0, 0, 0)
                yield value, (having[kind], holders, *remaining.signed())
                continue
            n_without = max(members - having[kind], 0)  # people who could have the kind, and do not
            for inside in range(min(l, len(other_counts)) + 1):
                kind_left = having[kind] - holders - sum(other_counts[:inside])
                ruled_out = sum(free_counts[: l - inside])
                remaining = Rest(kind_left, n_without, ruled_out, having[NO_RULES])
                yield value, (members, holders, *remaining.signed())


def odds_with_rules(profile: Profile, n_known: int) -> Ratio:
    """Odds against a target who can have the value, as numerator and denominator.

    A target without it has another value of its kind (that falls under the same rules), or one that
    everybody can have and that is not ruled out. Known people have values of the kind, as far as
    there are enough, since these count most against the value.
    """
    # `kind_left`: others with a value of the kind. `n_without`: people who can have the kind and
    # do not. `n_free`: people with values that everybody can have; `out` of these are ruled out.
    _, holders, *remaining = profile
    kind_left, n_without, out, n_free = Rest(*remaining).signed()
    of_kind = min(kind_left, n_known)
    n_without, n_free = n_without - (n_known - of_kind), n_free - (n_known - of_kind)
    if n_without <= 0 or n_free <= 0:  # the target has a value of the kind
        return kind_left - of_kind, holders
    # (kind_left + n_without * the share of free values that are not ruled out) to holders.
    return (kind_left - of_kind) * n_free + n_without * max(n_free - out, 0), holders * n_free
