"""Verifier: read a release as it was written, and judge it afresh.

It shares no code with the search or the audit: counts come from its own GROUP BY, probabilities
from its own writing-out of Theorem 2 of the skyline paper, one cell after the other. That the
theorem itself holds is shown by enumeration in the tests, not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from foreknow.duckdb_files import CsvFile, connect
from foreknow.errors import (
    CertificateError,
    DataError,
    NotEnoughMemory,
    UnsupportedError,
    short_of_memory,
)
from foreknow.grammar import AskedTable, read
from foreknow.verdict import Limit, Verdict, WorstCase
from foreknow.verifier.closeness import (
    beta_likeness_limits,
    delta_disclosure_limits,
    gauge_beta_likeness,
    gauge_delta_disclosure,
    gauge_t_closeness,
    is_of_equal_distance,
    t_closeness_limits,
)
from foreknow.verifier.counts import (
    Bag,
    Column,
    DistinctRows,
    Group,
    GroupBags,
    Ints,
    Measured,
    distinct,
)
from foreknow.verifier.diversity import (
    alpha_k_limits,
    gauge_alpha_k,
    gauge_l_diversity,
    l_diversity_limits,
    require_keys,
)
from foreknow.verifier.facts import worst_facts, worst_implications
from foreknow.verifier.files import (
    File,
    count_rows,
    exchanged,
    files_of,
    holds_rows_alone,
    merge_empties,
    open_written,
    paths_of,
    rearmed,
    rearmed_text,
)
from foreknow.verifier.impossible import ImpossibleCounts, Rules, able_of, worst_able
from foreknow.verifier.levels import gauge_levels
from foreknow.verifier.named_values import left, named
from foreknow.verifier.population import Everybody, gauge_delta_presence, gauge_k_map
from foreknow.verifier.priors import Chances, Worst, worst_priors
from foreknow.verifier.risk import gauge_population_risk, gauge_risk
from foreknow.verifier.windows import worst_near

# What is found of secrets of which nobody has a value.
_NOBODY: Worst = (None, None, Fraction(0), Fraction(1))
_COUNT = re.compile(r"[1-9][0-9]{0,14}")
# The law of multisets takes powers by these; more would take for ever.
_MOST_OF_A_BAG = 10**7


@dataclass
class Memory:
    """What was read of a written release, each part once."""

    files: dict[str, File] | None = None
    held: dict[tuple[str, ...], GroupBags] = field(default_factory=dict)
    # by table and columns
    counted: dict[tuple[str, ...], DistinctRows] = field(default_factory=dict)
    headers: dict[str, list[str]] = field(default_factory=dict)  # as they are written


@dataclass(frozen=True)
class Written:
    """Where a release is written and what its columns are."""

    form: str  # "generalized" or "bucketized"
    groups: Sequence[str]  # the columns that make a group
    sensitive: str
    # ``release`` if generalized with one value each, else ``people`` and ``sensitive``: a path, a
    # list of them, or an Arrow table
    tables: Mapping[str, Any]
    escaped: bool = False  # whether an apostrophe was written before texts that look like formulas
    # "single", "set" or "multiset"; or of each of several columns that differ
    semantics: Any = "single"
    # if given, all columns that each table may have
    columns: Mapping[str, Sequence[str]] | None = None
    # what groups are compared with, where a criterion asks that, by digest
    populations: Mapping[str, Any] = field(default_factory=dict)
    # where sensitive values are in a table of their own: that of each of several columns
    parts: Mapping[str, str] | None = None
    # in the bucketized form: the columns of people by which somebody can be recognized
    exact: Sequence[str] = ()
    beside: Sequence[str] = ()  # columns that are published of people as they are
    rules: Rules = field(default_factory=Rules)  # what some people cannot have
    # columns of ``release`` that were shuffled within groups, and whose names must say so
    shuffled: Collection[str] = ()
    delimiter: str = ","  # of CSV
    commas: Collection[str] = ()  # columns in which commas and points are exchanged
    cohort: str = ""  # the column that says which of several releases shows somebody
    memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    @property
    def of_people(self) -> Collection[str]:
        """Columns that tell something of each person."""
        return {*self.groups, *self.exact, *self.beside} - {*self.shuffled}

    @property
    def files(self) -> dict[str, File]:
        """The tables that are files, as they were when the first of them was opened."""
        if self.memory.files is None:
            self.memory.files = files_of(self.tables, self.delimiter)
        return self.memory.files

    @property
    def held(self) -> GroupBags:
        """People and bag of each group, in an order that does not depend on the engine."""
        return self.held_by(self.sensitive, ())

    def about(self, sensitive: str) -> Written:
        """The same files, asked for one column by its own semantics."""
        if isinstance(self.semantics, str):
            return self
        semantics = self.semantics.get(sensitive, "single")
        return self.asked(sensitive=sensitive, semantics=semantics)

    def asked(self, **changed: Any) -> Written:
        """The same files, of which something else is asked; nothing is read again."""
        own = replace(self, **changed)
        own.memory.files, own.memory.headers = self.files, self.memory.headers
        own.memory.held, own.memory.counted = self.memory.held, self.memory.counted
        return own

    def held_by(self, sensitive: str, known: Sequence[str]) -> GroupBags:
        """The same of one sensitive column, in groups that columns divide which are known."""
        key = (sensitive, *known)
        if key not in self.memory.held:
            self.memory.held[key] = _read(self.about(sensitive), sensitive, known)
        return self.memory.held[key]

    def alike(self, known: Sequence[str]) -> GroupBags:
        """People of equal exact columns, and of others that are known; their values are groups."""
        if not self.exact:
            raise CertificateError("it is not said by which columns people can be recognized")
        columns, ids = list(dict.fromkeys([*self.exact, *known])), self.groups[-1]
        own = replace(self, groups=columns, sensitive=ids, semantics="single", parts=None)
        own.memory.files = self.files  # and no more, as its groups are others
        rows = own.counted("people", [ids])
        return rows.held((), rows.column(ids), rows.times)

    def prepare(self, required: Sequence[AskedTable]) -> None:
        """Count with one scan what requirements ask of a table of one row per person."""
        if "release" in self.tables:
            sights = [(*self.groups, name) for name in self.parts or (self.sensitive,)]
            for own in required:
                known = own.known
                sights.append((*self.groups, *known, own.sensitive or self.sensitive))
            _count(self, "release", sights)

    def counted(self, table: str, beside: Sequence[str]) -> DistinctRows:
        """Rows of the columns of groups and some beside them, and how many; some may be equal."""
        columns = (*self.groups, *beside)
        wider = self.wider(table, columns)
        if wider is None:
            _count(self, table, [columns])
        return self.memory.counted[(table, *(wider or columns))]

    def texts(self, table: str) -> dict[str, pa.Array]:
        """What is in each column of a table, each text once; by its name as it is written."""
        names = [*(self.columns or {}).get(table, ())]
        _count(self, table, [(*self.groups, *({name} - {*self.groups})) for name in names])
        found = {}
        for name in self.memory.headers[table]:
            bare = rearmed_text(name, False) if self.escaped else name
            called = {f"{own}_shuffled": own for own in self.shuffled}.get(bare or "", bare or "")
            own = self.counted(table, [called] if called not in self.groups else [])
            found[name] = own.column(called).texts
        return found

    def wider(self, table: str, columns: Sequence[str]) -> tuple[str, ...] | None:
        """Columns that were counted already, and among which these are."""
        known = [
            own for name, *own in self.memory.counted if name == table and set(columns) <= set(own)
        ]
        return min(map(tuple, known), key=len, default=None)


class JudgeInput(NamedTuple):
    """What one requirement asks of a written release: of which values, in groups as it counts."""

    held: GroupBags
    about: Collection[str]
    written: Written
    relative: bool  # whether the limit is so many times a prior
    groups: Sequence[str]  # the columns that make these groups
    members: Collection[str] = ()  # of a set of values, which is one value in `held`
    plain: Mapping[Group, tuple[int, Bag]] = {}  # the same groups, in which these stay apart
    width: Any = None  # how near is near, where windows are asked of


class Judge(NamedTuple):
    """Of one kind of knowledge: what judges it, and of what else than values of one person each."""

    # From what is asked and its settings to the worst value, its group, the probability, and how
    # likely it was before (1 where there are no priors).
    judge: Callable[[JudgeInput, Any], Worst]
    of_several: bool = False  # whether people may have several values
    of_windows: bool = False
    relative: bool = False  # whether limits may be relative to a prior, or be reached
    # Whether it gives an upper bound, though never too low, by its settings.
    bounded: Callable[[Any], bool] = lambda settings: False
    # Where limits are relative: the least prior above 0, None where there is none.
    least: Callable[[JudgeInput, Any], Fraction | None] = lambda asked, settings: None


class Gauge(NamedTuple):
    """Of one criterion: what measures it, and what it is about."""

    # From the groups and its settings to what is `Measured`, of which the last may be left out.
    measure: Callable[..., Measured | tuple[Fraction | None, Group, bool]]
    of_people: bool = False  # of how many these are, whatever their values
    of_classes: bool = False  # of who looks alike: by exact columns where there are any
    of_population: bool = False  # compares groups with one
    of_columns: bool = False  # is told what the columns that make groups are called
    of_releases: bool = False  # is told, besides, which of them says what release shows somebody
    # Whether, by its settings, some values may be counted as one.
    of_sets: Callable[[Any], bool] = lambda settings: False
    # Of values: whether any group of the same people could fail it by these, by its settings.
    limits: Callable[[Any, GroupBags], bool] = lambda settings, held: True


def verify(
    whole: Written,
    requirements: Sequence[Mapping[str, Any]],
    judges: Mapping[str, Judge] | None = None,
    gauges: Mapping[str, Gauge] | None = None,
) -> list[Verdict]:
    """Judge a written release by the ``[[require]]`` tables of its policy.

    Parameters
    ----------
    whole : Written
    requirements : sequence of mappings
        As `Policy.to_dict` gives them.
    judges, gauges : mapping of key to Judge or Gauge, optional
        Those of kinds of knowledge and criteria that are not among `VERIFIERS` and `GAUGES`.

    Returns
    -------
    list of Verdict
        One for each requirement and point.
    """
    verdicts: list[Verdict] = []
    judges, gauges = {**VERIFIERS, **(judges or {})}, {**GAUGES, **(gauges or {})}
    tables = asked_of(requirements)
    whole.prepare(tables)
    for position, table in enumerate(tables):
        written = whole.about(table.sensitive or whole.sensitive)
        key = next((key for key in table.kinds if key in gauges), None)
        if key is None:
            verdicts += _verdicts(written, position, requirements[position], table, judges)
            continue
        if len(table.kinds) > 1 or not table.of_whole_groups:
            raise CertificateError(f"{key} is about whole groups, and stands by itself")
        gauge = gauges[key]
        if written.semantics != "single" and not gauge.of_people:
            raise CertificateError(f"{key} is about one value per person")
        settings, more = table.kinds[key], list[Any]()
        if gauge.of_population:
            more = [everybody_of(written, settings)]
        exact = written.form == "bucketized" and gauge.of_classes
        if exact and gauge.of_people:
            held = written.alike(table.known)
        else:
            held = written.held_by(*sight_of(written, table, gauge.of_people))
            more += [written.alike(())] if exact else []
        if gauge.of_columns:
            own = written.exact if exact else written.groups
            more.append(list(dict.fromkeys([*own, *table.known])))
        if gauge.of_releases:
            more.append(written.cohort)
        held = _of_sets(written, held, key, gauge, table) if table.secret.sets else held
        attained, group, holds, each = Measured(*gauge.measure(held, settings, *more))
        of = () if not exact or not gauge.of_people else tuple(written.exact)
        limits = not gauge.of_people and gauge.limits(settings, held)
        found = WorstCase(None, _name(group), attained, each=each, limits_values=limits)
        known = table.known
        judged, required = {key: settings}, requirements[position]
        verdicts.append(Verdict(position, required, judged, Limit(), found, holds, known, alike=of))
    return verdicts


def asked_of(requirements: Sequence[Mapping[str, Any]]) -> list[AskedTable]:
    """Read ``[[require]]`` tables."""
    return [
        read(AskedTable, table, f"require[{place}]", CertificateError)
        for place, table in enumerate(requirements)
    ]


def _verdicts(
    written: Written,
    position: int,
    required: Mapping[str, Any],
    table: AskedTable,
    judges: Mapping[str, Judge],
) -> Iterator[Verdict]:
    relative = table.at_most_times is not None
    asked = _counted(written, table, relative)
    for kind, settings, amount in table.points:
        if kind not in judges:
            raise UnsupportedError(f"this version cannot verify the adversary {kind!r}")
        judge = judges[kind]
        if written.semantics != "single" and not judge.of_several:
            raise CertificateError(
                f"{kind} are about one value per person, not {written.semantics!r}"
            )
        if table.secret.width is not None and not judge.of_windows:
            raise CertificateError(f"within is for windows of numbers, of which {kind} say nothing")
        if table.below is None and table.limits and not judge.relative:
            raise CertificateError(f"{next(iter(table.limits))} is for one adversary with priors")
        worst = max(
            (judge.judge(own, settings) for own in asked),
            key=lambda found: found[2] / found[3] if relative else found[2],
            default=_NOBODY,
        )
        value, group, chance, before = worst
        limit = Limit(amount, table.below is None and bool(table.limits), relative)
        prior = before if relative else None
        bounded = judge.bounded(settings)
        limits = True
        if relative:  # and somebody's prior, so many times, is below 1
            priors = [judge.least(own, settings) for own in asked]
            limits = any(own is not None and own * amount < 1 for own in priors)
        whose = None if group is None else _name(group)
        found = WorstCase(value, whose, chance, prior, bounded, limits_values=limits)
        safe = limit.holds(chance, prior)
        yield Verdict(position, required, {kind: settings}, limit, found, safe, table.known)


def _counted(written: Written, table: AskedTable, relative: bool) -> list[JudgeInput]:
    """What a requirement counts: the one place where secrets and sights enter the verifier."""
    sensitive, known = sight_of(written, table)
    secret = table.secret
    whole, groups = written.held_by(sensitive, known), (*written.groups, *known)
    about = set(whole.names)
    if table.has_label:
        raise CertificateError("a label of a hierarchy is not written out as its values")
    if secret.sets:
        asked = []
        for name, members in sorted(_sets(written, table, about).items()):
            if not members:  # which nobody has
                continue
            held = _merged(whole, {name: members}, about)
            one = _named(name, about - set(members))
            asked.append(JudgeInput(held, {one}, written, relative, groups, members, whole))
        return asked
    if secret.width is not None:
        if written.semantics != "single":
            raise CertificateError("within is for one value per person")
        return [JudgeInput(whole, about, written, relative, groups, width=secret.width)]
    if secret.values is not None:
        about = set(named(secret.values, about))
    about -= left(secret.excluded, whole.names)
    return [JudgeInput(whole, about, written, relative, groups)]


def sight_of(
    written: Written, table: AskedTable, of_people: bool = False
) -> tuple[str, tuple[str, ...]]:
    """The sensitive column of a requirement, and the columns that are known of everybody."""
    sensitive, known = table.sensitive or written.sensitive, table.known
    if sensitive in known and not of_people:
        raise CertificateError(f"{sensitive!r} cannot be both known and what must stay hidden")
    if written.semantics != "single" and (known or sensitive != written.sensitive):
        raise CertificateError("columns are known beside a value where everybody has one, only")
    return sensitive, known


def _sets(written: Written, table: AskedTable, about: Collection[str]) -> dict[str, list[str]]:
    """Sets of values by their names."""
    each = table.secret.sets.items()
    sets = {name or " or ".join(map(str, own)): named(own, about) for name, own in each}
    if written.semantics == "set" or any(set(own) >= set(about) for own in sets.values()):
        raise CertificateError(
            "any_of is of some values, not of all, and not where a person may have several of "
            "them, each once"
        )
    return sets


def _of_sets(
    written: Written, held: GroupBags, key: str, gauge: Gauge, table: AskedTable
) -> GroupBags:
    """The groups with each set counted as one value, for a criterion."""
    about = set(held.names)
    sets = _sets(written, table, about)
    every = [value for own in sets.values() for value in own]
    if not gauge.of_sets(table.kinds[key]) or len(set(every)) < len(every):
        raise CertificateError(f"{key} cannot be about such sets of values")
    return _merged(held, sets, about)


def _merged(
    held: GroupBags, sets: Mapping[str, Sequence[str]], about: Collection[str]
) -> GroupBags:
    """Groups in whose bags the values of each set are one value."""
    one_of: dict[str, str] = {}
    rest = set(about).difference(*sets.values())
    for name, members in sets.items():
        one = _named(name, rest)
        rest.add(one)
        one_of |= dict.fromkeys(members, one)
    return held.merged(one_of)


def _named(name: str, others: Collection[str]) -> str:
    """What a set is called beside other values, so that none has its name."""
    while name in others:
        name += "+"
    return name


def suppressed_columns(written: Written) -> tuple[str, ...]:
    """Columns that make groups, and of which nothing is published."""
    labelled = written.groups if written.form == "generalized" else ()
    return tuple(
        column
        for column, labels in zip(labelled, written.held.labels, strict=False)
        if all(set(label or "") == {"*"} for label in labels.texts.to_pylist())
    )


def of_people(table: AskedTable, gauges: Mapping[str, Gauge]) -> bool:
    """Whether a requirement is a criterion of how many people there are."""
    return any(gauges[key].of_people for key in gauges.keys() & table.kinds.keys())


def digests_of(requirements: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """Requirements that compare groups with a population, and its digest."""
    compared = {key for key, gauge in GAUGES.items() if gauge.of_population}
    return [
        (place, str(table[key].get("digest")))
        for place, table in enumerate(requirements)
        for key in compared & table.keys()
    ]


def count_people(written: Written) -> tuple[int, int]:
    """People and groups of a written release."""
    return int(written.held.people.sum()), len(written.held)


def _amounts(settings: Mapping[str, Any], keys: str, of: str) -> list[int]:
    amounts = [settings.get(key, 0) for key in keys]
    if not all(isinstance(amount, int) and amount >= 0 for amount in amounts):
        raise CertificateError(f"amounts of {of} must be whole numbers from 0, not {amounts}")
    return amounts


def _judge_facts(asked: JudgeInput, settings: Mapping[str, Any]) -> Worst:
    l, k, m = _amounts(settings, "lkm", "facts")
    semantics = asked.written.semantics
    if (able := _able(asked)) is not None:
        return *worst_able(asked.held, asked.about, able, l, k, m), Fraction(1)
    if asked.width is not None:
        return *worst_near(asked.held, asked.width, l, k, m), Fraction(1)
    return *worst_facts(asked.held, asked.about, semantics, l, k, m), Fraction(1)


def _able(asked: JudgeInput) -> ImpossibleCounts | None:
    """Who can have which values, where the schema says that not everybody can have each."""
    written, rules = asked.written, asked.written.rules
    own = rules.about(written.sensitive)
    if not own:
        return None
    if asked.width is not None or written.semantics != "single":
        raise CertificateError("impossible is for single values, of which everybody has one")
    names = rules.columns()
    shown = [name for name in names if name in written.of_people]
    people = _people(written, shown, asked.groups)
    sets = dict.fromkeys(asked.about, asked.members) if asked.members else {}
    return able_of(asked.held, people, shown, rules, own, sets)


def _judge_implications(asked: JudgeInput, settings: Mapping[str, Any]) -> Worst:
    (k,) = _amounts(settings, "k", "implications")
    return *worst_implications(asked.held, asked.about, k), Fraction(1)


def _judge_negations(asked: JudgeInput, settings: Mapping[str, Any]) -> Worst:
    """The worst negations are about the target, and the facts of the first kind are just these."""
    (k,) = _amounts(settings, "k", "negations")
    if _able(asked) is not None:  # that others lack a value tells no more than what they have
        splits = [{"l": l, "k": k - l} for l in range(min(k, len(asked.held.names)) + 1)]
        return max((_judge_facts(asked, own) for own in splits), key=lambda found: found[2])
    return _judge_facts(asked, {"l": k})


def _on_top(settings: Mapping[str, Any]) -> list[int]:
    """The amounts of facts that are known on top of priors."""
    facts = settings.get("facts") or {}
    if not isinstance(facts, Mapping) or set(facts) - {"l", "k", "m"}:
        raise CertificateError(f"facts on top of priors are amounts l, k and m, not {facts}")
    return _amounts(facts, "lkm", "facts")


def _are_exchanges(settings: Mapping[str, Any]) -> bool:
    """Whether people are known or linked on top of priors, of which only a bound is proved."""
    return any(_on_top(settings)[1:])


def _judge_priors(asked: JudgeInput, settings: Mapping[str, Any]) -> Worst:
    """Judge by each table of priors; attributes are read from the table of people."""
    l, k, m = _on_top(settings)
    written, reading = asked.written, settings.get("semantics", "joint")
    if reading not in ("joint", "binary"):
        raise CertificateError(f"priors cannot be read as {reading!r}")
    worst: Worst = (None, None, Fraction(0), Fraction(1))
    if not settings.get("tables"):
        raise CertificateError("the certificate has no tables of priors")
    for table in settings["tables"]:
        chances = Chances(table)
        people = _people(written, chances.attributes, asked.groups)
        together: tuple[str, Collection[str]] | None = None
        held: Mapping[Group, tuple[int, Bag]] = asked.held
        if asked.members:
            (name,) = asked.about
            if reading == "joint":  # in whose worlds the values stay apart
                together, held = (name, asked.members), asked.plain
            else:
                chances = chances.united(asked.members, name)
        known = chances, reading, asked.relative, together, (l, k, m)
        found = worst_priors(held, people, asked.about, *known)
        worst = max(worst, found, key=lambda item: item[2] / item[3] if asked.relative else item[2])
    return worst


def _least_prior(asked: JudgeInput, settings: Mapping[str, Any]) -> Fraction | None:
    """The least prior above 0 that anybody has of a value, or of one of a set, that is held."""
    priors = []
    for table in settings["tables"]:
        chances = Chances(table)
        people = _people(asked.written, chances.attributes, asked.groups)
        held = {value for _, bag in asked.held.values() for value in bag} & set(asked.about)
        sets = [asked.members] if asked.members else [[value] for value in held]
        priors += [
            chances.any(signature, values)
            for signature in set().union(*people.values())
            for values in sets
        ]
    return min((prior for prior in priors if prior), default=None)


def _people(
    written: Written, attributes: Sequence[str], groups: Sequence[str]
) -> dict[Group, dict[tuple[str | None, ...], int]]:
    """How many people of each group have which values of some columns."""
    people: dict[Group, dict[tuple[str | None, ...], int]] = {}
    name = "release" if written.form == "generalized" else "people"
    beside = [name for name in (*groups, *attributes) if name not in written.groups]
    rows = written.counted(name, list(dict.fromkeys(beside)))
    columns = [rows.column(name) for name in (*groups, *attributes)]
    first, sort = distinct(*(column.codes for column in columns))
    counts = np.zeros(len(first), np.int64)
    np.add.at(counts, sort, rows.times)
    for *row, count in zip(
        *(c.take(first).to_list() for c in columns), counts.tolist(), strict=True
    ):
        group, signature = tuple(row[: len(groups)]), tuple(row[len(groups) :])
        people.setdefault(group, {})[signature] = count
    return people


def _gauge_size(key: str, held: GroupBags, k: Any) -> tuple[Fraction, Group, bool]:
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise CertificateError(f"{key} must be a whole number from 1, not {k!r}")
    at = int(held.people.argmin())
    people = int(held.people[at])
    return Fraction(people), held.group(at), people >= k


def _gauge_k_anonymity(
    held: GroupBags, given: Any, columns: Sequence[str], cohort: str
) -> tuple[Fraction, Group, bool]:
    """People of the smallest group; or, of lists of columns, the fewest who share one of them.

    Somebody who knows which release shows a person compares only people of that release.
    """
    if not isinstance(given, Mapping):
        return _gauge_size("k_anonymity", held, given)
    require_keys(given, "k_anonymity", {"k", "of"}, {"k", "of"})
    worst: tuple[int, int] | None = None
    for names in given["of"] if isinstance(given["of"], list) else ():
        if not isinstance(names, list) or not names or not {*map(str, names)} <= {*columns}:
            raise CertificateError(f"{names!r} are no columns of {', '.join(columns)}")
        names = [*({cohort} & {*columns}), *names]
        _, sort = distinct(*(held.labels[columns.index(name)].codes for name in names))
        many = np.zeros(int(sort.max()) + 1, np.int64)
        np.add.at(many, sort, held.people)
        at = int(many[sort].argmin())
        found = int(many[sort[at]]), at
        worst = found if worst is None or found[0] < worst[0] else worst
    if worst is None:
        raise CertificateError("k_anonymity is of no columns")
    _gauge_size("k_anonymity", held, given["k"])  # which refuses what is no size
    return Fraction(worst[0]), held.group(worst[1]), worst[0] >= given["k"]


VERIFIERS: dict[str, Judge] = {
    "facts": Judge(_judge_facts, of_several=True, of_windows=True),
    "implications": Judge(_judge_implications),
    "negations": Judge(_judge_negations, of_windows=True),
    "priors": Judge(_judge_priors, relative=True, bounded=_are_exchanges, least=_least_prior),
}
GAUGES: dict[str, Gauge] = {
    "group_size": Gauge(partial(_gauge_size, "group_size"), of_people=True),
    "k_anonymity": Gauge(
        _gauge_k_anonymity, of_people=True, of_classes=True, of_columns=True, of_releases=True
    ),
    "l_diversity": Gauge(
        gauge_l_diversity, of_sets=lambda settings: True, limits=l_diversity_limits
    ),
    "alpha_k": Gauge(
        gauge_alpha_k, of_classes=True, of_sets=lambda settings: True, limits=alpha_k_limits
    ),
    "t_closeness": Gauge(
        gauge_t_closeness, of_sets=is_of_equal_distance, limits=t_closeness_limits
    ),
    "beta_likeness": Gauge(
        gauge_beta_likeness, of_sets=lambda settings: True, limits=beta_likeness_limits
    ),
    "delta_disclosure": Gauge(
        gauge_delta_disclosure, of_sets=lambda settings: True, limits=delta_disclosure_limits
    ),
    "k_map": Gauge(gauge_k_map, of_people=True, of_classes=True, of_population=True),
    "delta_presence": Gauge(
        gauge_delta_presence, of_people=True, of_classes=True, of_population=True
    ),
    "risk": Gauge(gauge_risk, of_people=True, of_classes=True),
    "population_risk": Gauge(
        gauge_population_risk, of_people=True, of_classes=True, of_population=True
    ),
    "levels": Gauge(gauge_levels, of_people=True, of_classes=True, of_columns=True),
}


def everybody_of(written: Written, table: Any) -> Everybody:
    """The population of a criterion, which must be the one that it names by its digest."""
    exact = written.form == "bucketized"
    wanted = table.get("digest") if isinstance(table, Mapping) else None
    if not isinstance(wanted, str) or wanted not in written.populations:
        raise CertificateError(f"the population {str(table)[:200]} is not at hand")
    columns = written.exact if exact else written.groups
    found = read_population(written.populations[wanted], columns)._replace(exact=exact)
    if found.digest != wanted:
        raise CertificateError("the population is not the one that was certified (digest differs)")
    return found


def read_population(source: Any, columns: Sequence[str], named: Sequence[str] = ()) -> Everybody:
    """Read a population by some columns; nobody is in it twice by those that name people."""
    file = files_of({"population": source}).get("population")
    with _reading("the population") as connection:
        header, relation = open_written(connection, source, file)
        for column in columns:
            if header.count(column) != 1:
                raise CertificateError(f"the population does not have one column {column!r}")
        places = [f"c{header.index(column)}" for column in columns]
        ((cells, times),) = count_rows(connection, relation, [places])
        names = [f"c{header.index(column)}" for column in named if column in header]
        if names:
            ((who, often),) = count_rows(connection, relation, [names])
            # A missing text and an empty one come first, and name nobody.
            lacks = [sum(not text for text in own.texts[:2].to_pylist()) for own in who]
            known = np.all([own.codes >= n for own, n in zip(who, lacks, strict=True)], axis=0)
            if (often[known] > 1).any():
                raise CertificateError(
                    "the population has somebody in several rows, by the columns that name people"
                )
        if file is not None:
            file.check(int(times.sum()))
        if isinstance(file, CsvFile):
            cells = [merge_empties(column) for column in cells]
    alike: dict[tuple[str | None, ...], int] = {}
    for *key, n in zip(*(column.to_list() for column in cells), times.tolist(), strict=True):
        alike[tuple(key)] = alike.get(tuple(key), 0) + n
    return Everybody(tuple(columns), [(*key, n) for key, n in alike.items()])


def _read(written: Written, sensitive: str, known: Sequence[str]) -> GroupBags:
    """Read the tables of a release, and refuse those that contradict each other."""
    if written.semantics not in ("single", "set", "multiset"):
        raise CertificateError(f"semantics {written.semantics!r} is unknown")
    if "release" in written.tables:
        return _read_rows(written, sensitive, known)
    held = _read_tally(written, sensitive, known)
    # how many people a group has was compared before, where columns are known
    return held if known else _with_people(written, held)


def _with_people(written: Written, held: GroupBags) -> GroupBags:
    """Groups with the people of the table of people; what they have must be as many."""
    people = written.counted("people", ())
    labels, place_held, place_counted = _together(held.labels, list(people.groups.values()))
    groups = GroupBags(labels, held.names, place_held[held.of_group], held.codes, held.counts)
    groups.people = np.zeros(len(groups), np.int64)
    np.add.at(groups.people, place_counted[people.of_group], people.times)
    # A count that is too large is cut, so that sums of many stay what they are.
    counts = np.minimum(groups.counts, len(groups.people) and int(groups.people.sum()) + 1)
    none = np.zeros(len(groups), np.int64)
    needed = {"single": groups.total(counts), "set": groups.most(counts)}.get(
        written.semantics, none
    )
    wrong = (groups.people == 0) | (needed > groups.people)
    if written.semantics == "single":
        wrong |= needed < groups.people
    if wrong.any():
        first = int(np.argmax(wrong))
        raise CertificateError(
            f"the people and the sensitive values of the groups do not match: group "
            f"{_name(groups.group(first))} has {groups.people[first]} people for "
            f"{groups.bag(first)}"
        )
    return groups


def _together(one: Sequence[Column], other: Sequence[Column]) -> tuple[list[Column], Ints, Ints]:
    """The groups of two tables: their labels, and where those of each table are among them."""
    n_groups, columns = len(one[0].codes), []
    for mine, others in zip(one, other, strict=True):
        texts = pa.concat_arrays([mine.texts, others.texts])
        codes = np.concatenate([mine.codes, len(mine.texts) + others.codes])
        columns.append(Column.of(texts, codes))
    first, place = distinct(*(column.codes for column in columns))
    labels = [column.take(first) for column in columns]
    return labels, place[:n_groups], place[n_groups:]


def _read_rows(written: Written, sensitive: str, known: Sequence[str]) -> GroupBags:
    """Read one row per person."""
    rows = written.counted("release", [*known, sensitive])
    values = rows.column(sensitive)
    if values.lacks:
        row = np.flatnonzero(values.codes == 0)
        first = int(row[np.argmin(rows.of_group[row])])
        beside = [rows.column(name).at(first) for name in known]
        raise CertificateError(
            f"a sensitive value is missing in group {_name([*rows.group(first), *beside])}"
        )
    return rows.held(known, values, rows.times)


def _read_tally(written: Written, sensitive: str, known: Sequence[str]) -> GroupBags:
    """Read the table of (group, value, count), or of (group, values, count)."""
    part = (written.parts or {}).get(sensitive, "sensitive")
    together = [name for name, of in (written.parts or {}).items() if of == part]
    others = [name for name in together if name not in (*known, sensitive)]
    rows = written.counted(part, [*known, *others, sensitive, "count"])
    values, amounts = rows.column(sensitive), rows.column("count")
    amount = np.array([_amount(text) for text in amounts.texts.to_pylist()], np.int64)
    counts = amount[amounts.codes]
    wrong = counts == 0
    if values.lacks:
        wrong |= values.codes == 0
    if wrong.any():
        at = int(np.argmax(wrong))
        raise CertificateError(
            f"group {_name(rows.group(at))}: {values.at(at)!r} has no count, but {amounts.at(at)!r}"
        )
    cells = [rows.column(name).codes for name in (*known, *others, sensitive)]
    first, _ = distinct(rows.of_group, *cells)
    again = np.ones(len(counts), bool)
    again[first] = False
    again |= rows.times != 1
    if again.any():
        at = int(np.argmax(again))
        raise CertificateError(
            f"group {_name(rows.group(at))} lists {values.at(at)!r} more than once"
        )
    held = rows.held(known, values, counts)
    if written.semantics == "multiset":
        cut = np.minimum(held.counts, _MOST_OF_A_BAG + 1)
        large = held.total(cut) > _MOST_OF_A_BAG
        if large.any():
            name = _name(held.group(int(np.argmax(large))))
            raise CertificateError(f"group {name} has too many values to be verified")
    return held


def _amount(text: str | None) -> int:
    """A whole number from 1 in digits and of a length that all can read; 0 of another text."""
    return int(text) if text is not None and _COUNT.fullmatch(text) else 0


def _name(group: Sequence[str | None]) -> str:
    return ", ".join("missing" if part is None else part for part in group)


def _count(written: Written, table: str, sights: Sequence[tuple[str, ...]]) -> None:
    """Count equal rows of some columns, for several such sights of a table at once."""
    new = {frozenset(own): own for own in sights if written.wider(table, own) is None}
    sights = [own for columns, own in new.items() if not any(columns < other for other in new)]
    if not sights:
        return
    judged = {*written.groups, written.sensitive, *(written.parts or ())}
    with _reading("the release") as connection:
        # Columns are called by position: DuckDB takes names that differ in case for one.
        file = written.files.get(table)
        header, relation = open_written(connection, written.tables[table], file)
        written.memory.headers[table] = [*header]
        if written.escaped:
            header = [rearmed_text(name, True) or "" for name in header]
        called = {f"{name}_shuffled": name for name in written.shuffled}
        for name in set(header) & set(called.values()):
            raise CertificateError(
                f"the column {name!r} is shuffled within groups, and must be called "
                f"{name + '_shuffled'!r}"
            )
        header = [called.get(name, name) for name in header]
        _require_columns(header, len(relation.columns), written, table)
        _refuse_metadata(connection, written, table)
        for name in (name for sight in sights for name in sight):
            if name not in header:
                raise CertificateError(f"the release has no column {name!r}")
        places = [[f"c{header.index(name)}" for name in sight] for sight in sights]
        found = count_rows(connection, relation, places)
        if file is not None:
            file.check(int(found[0][1].sum()))
        for sight, (columns, times) in zip(sights, found, strict=True):
            plain = {}
            for name, own in zip(sight, columns, strict=True):
                if isinstance(file, CsvFile) and name in judged:
                    own = merge_empties(own)  # of an attribute, an empty text is a value
                if written.escaped:  # an attribute may be a number, which is not marked
                    own = rearmed(own, name in judged)
                plain[name] = exchanged(own) if name in written.commas else own
            groups = {name: plain.pop(name) for name in written.groups}
            written.memory.counted[(table, *sight)] = DistinctRows.of(groups, plain, times)


@contextmanager
def _reading(what: str) -> Iterator[Any]:
    """An engine to read files with; what goes wrong is said of these."""
    connection = connect()
    try:
        yield connection
    except duckdb.Error as error:
        if short_of_memory(error):
            raise NotEnoughMemory("judging the release afresh") from error
        raise CertificateError(f"{what} cannot be read: {str(error).splitlines()[0]}") from None
    except DataError as error:
        raise CertificateError(f"{what} cannot be read: {error}") from None
    finally:
        connection.close()


def _refuse_metadata(connection: Any, written: Written, table: str) -> None:
    """Refuse what a Parquet file of a certified release holds beside its columns: names, say."""
    for path in paths_of(written.tables[table]):
        if written.columns is None or path.suffix != ".parquet":
            return
        if not holds_rows_alone(connection, path):
            raise CertificateError(
                f"{path.name} is not laid out as publish writes Parquet, and may hold more than "
                "its columns; publish the table again"
            )


def _require_columns(header: Sequence[str], readable: int, written: Written, table: str) -> None:
    """Refuse a column that is not accounted for, or one that is there twice."""
    wanted = header if written.columns is None else written.columns[table]
    for name in header:
        if name not in wanted:
            raise CertificateError(
                f"the table {table!r} has a column {name!r}, which its policy does not account for"
            )
        if header.count(name) > 1:
            raise CertificateError(f"the table {table!r} has the column {name!r} twice")
    if readable != len(header):
        raise CertificateError(f"the columns of the table {table!r} are not plain")
    for name in wanted:
        if name not in header:
            raise CertificateError(f"the table {table!r} has no column {name!r}")
