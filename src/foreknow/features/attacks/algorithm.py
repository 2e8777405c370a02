"""The adversary who can run the anonymizer, for any release or for one of one's own table.

From "k-jump: a strategy to design publicly-known algorithms for privacy preserving micro-data
disclosure" (Liu, Wang, Zhang, Zhu), section 1: worlds from which the algorithm would have made
another release are excluded; the others are the disclosure set. Here for any algorithm.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np

from foreknow.adversaries.adversary import HasCounts
from foreknow.adversaries.counts_cache import remembered
from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.release_counts import asked_of, counts_of, signatures_of
from foreknow.data.arrays import IntArray
from foreknow.data.columns.reading_rules import file_of
from foreknow.data.counts import Semantics
from foreknow.data.labels.labels import Label
from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow.data.tables.formats.arrow_table import table_of_texts
from foreknow.features.attacks.exact_posteriors import NoWorldError, Posteriors, enumerated, proved
from foreknow.features.attacks.method_runner import Runs, messages_once, name_of, settings_of
from foreknow.features.attacks.parts import by_parts
from foreknow.features.attacks.release_attack import AttackedRelease, is_release
from foreknow.features.attacks.results import Attack, limits_of
from foreknow.features.attacks.sampled_worlds import estimated
from foreknow.features.attacks.worlds import ATTACK, Codes, Worlds, amount_text
from foreknow.methods.registry import kind_of, method_of
from foreknow.needs import Need, Needs
from foreknow.numbers import whole_number
from foreknow.policy.call_arguments import Arguments, hinted_with_keys, microdata_of, policy_of
from foreknow.policy.policy import Policy
from foreknow_judge.errors import DataError, InputError, UnsupportedError

_log = logging.getLogger(__name__)
# Defaults: runs of the method, and seconds.
WORLDS = 10_000
SECONDS = 60.0
# The part of the time that an enumeration may use up in vain.
_EXACT = 0.6
# The number of worlds by which a method's claim to treat rows alike is checked.
_SWAPPED = 6


@hinted_with_keys
def attack(
    microdata: Any,
    method: Any = None,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    *,
    groups: Any = None,
    release: Any = None,
    members: str | Path | None = None,
    nothing: bool = False,
    worlds: int = WORLDS,
    seconds: float | None = SECONDS,
    seed: int | None = None,
    seeds: Sequence[int] | None = None,
    symmetric: bool | None = None,
    **rules: Unpack[Arguments],
) -> Attack:
    """Find out what an adversary who knows the method learns from its release of a table.

    The method is run on the table. The adversary knows everybody's quasi-identifiers, the method
    with its settings, and the policy, and sees the release: who is in which group, the values of
    each group, and in the generalized form its labels. The adversary assigns the values in every
    way, runs the method on each assignment, and excludes those that give another release.

    Parameters
    ----------
    microdata : Microdata, path or frame; or a release
        A table with one sensitive value per person. For a release (a folder that `publish` wrote,
        or what it returned) the table that it was made from is used: see `release`.
    method : anonymizer, or callable, optional
        An object with ``partition(microdata, policy, seed)``, or the name of a method; or a
        function from a PyArrow table, with all columns of the source, to the group of each row. See
        the notes. Default: the policy's method.
    policy : Policy, path or mapping, optional
        The policy that the method is given; its limits are compared with the posteriors. Its
        `options` say in which form an anonymizer's groups are published; without a policy, the
        adversary sees the groups only.
    groups : int array, optional
        The group of each row, if the release was made before.
    release : Publication or path, optional
        What `publish` returned, or the folder that it wrote. Its groups are attacked, with the
        options of its certificate, and with its policy if `policy` is None. If `microdata` is None,
        the table is looked for by its name, in the current folder and beside the release.
    members : path, optional
        The ``members.parquet`` that `publish` wrote for the owner; default: the one in
        ``FOLDER.owner``.
    nothing : bool
        Attack a refusal: the method publishes nothing of the table. The adversary is assumed to
        know how often each sensitive value occurs in it, everybody's quasi-identifiers and the
        method. Adversaries who know less are not judged.
    worlds : int
        The highest number of runs of the method. If it is enough for all worlds, the result is
        exact; otherwise it is an estimate. Some worlds are run twice. For `Mondrian`, where one run
        decides many worlds, it is the number of assignments that are examined, or drawn, for each
        independent part of the groups.
    seconds : float, optional
        The longest time, including the first run of the method; None: no limit. An estimate depends
        on it.
    seed : int, optional
        Random seed for estimates, and for the attacked release if the method is random. The
        adversary does not know it.
    seeds : sequence of int, optional
        For a random method: the seeds that it may draw, all equally likely; the release is that of
        the first. A single seed is assumed to be public, and proofs about a method do not hold
        then. A function receives the seed as ``seed=``.
    symmetric : bool, optional
        Whether the method ignores the order of rows. If so, people with equal quasi-identifiers in
        one group are interchangeable, and there are far fewer worlds. None: known for Foreknow's
        methods and for those that declare ``traits = Traits(symmetric=True)``. For a random method
        it is meant over all seeds, so it is not assumed if `seeds` are given.
    **rules
        Keys of a policy, as in `audit`, instead of `policy` or in addition to it.

    Raises
    ------
    NoSafeRelease
        If the method publishes nothing of the table.
    UnsupportedError
        If the method turns out to be random, nothing is proved about it, and `seeds` is None.

    Notes
    -----
    For a random method, reports what has been proved about it (`Anatomy`, `Decoy`, and
    `Streamliner` except its variant "gda"); no world is examined. Any other method is taken to be
    deterministic: its release depends on the table alone, not on earlier runs. It is run several
    times at first, and again on worlds that were examined, and is refused if the results differ.
    Properties that a class inherits from a method of Foreknow (its symmetry, its proofs) do not
    count for the class.

    A function may return ``(groups, published)`` to say what else is published, which is compared
    with ``==``. A function publishes nothing if it returns None or raises `NoSafeRelease`; `Safe`
    and `Jump` also publish nothing if exact counting is beyond reach.

    Rows whose group is negative or missing are left out of the release; their values are taken to
    be known as one more bag. The adversary is taken to know everything in the table except the
    sensitive values, including the order of rows.

    Examples
    --------
    A pipeline that separates people unless the first of them has HIV tells just that:

    >>> import pyarrow as pa
    >>> from foreknow.data.schema import Schema
    >>> people = pa.table({"age": [30, 40], "disease": ["HIV", "Flu"]})
    >>> def pipeline(table):
    ...     return [0, 0] if table["disease"][0].as_py() == "HIV" else [0, 1]
    >>> found = attack(
    ...     Microdata(people, Schema(quasi_identifiers=["age"], sensitive="disease")), pipeline
    ... )
    >>> found.certain, found.n_worlds, found.consistent
    ((1, 2), 2, 1)
    """
    _check_budget(worlds, seconds, seed)
    start = time.monotonic()
    for name, flag in (("nothing", nothing), ("symmetric", symmetric or False)):
        if not isinstance(flag, bool):
            raise InputError(f"{name} is True or False, not {flag!r}")
    if nothing and groups is not None:
        raise InputError("groups are of a release; where nothing is published there is none")
    # A release may be given in place of the table.
    if release is None and is_release(microdata):
        microdata, release = None, microdata
        file = file_of(method)
        if (file is not None and file.is_file()) or hasattr(
            method, "columns"
        ):  # the table, given second
            microdata, method = method, None
    # Rules given as keywords make a policy, or change the given one.
    if policy is not None or any(rule is not None for rule in rules.values()):
        policy = policy_of(policy, rules, microdata, "attack")
    attacked = None
    if release is not None:
        if groups is not None or nothing:
            raise InputError("a release says who is in which group; leave out groups and nothing")
        attacked = AttackedRelease.of(
            release, microdata, policy, members, other_method=method is not None
        )
        microdata, policy, groups = attacked.microdata, attacked.policy, attacked.groups
    elif members is not None:
        raise InputError("members goes with release, the folder that publish wrote")
    else:
        microdata = microdata_of(microdata, policy, rules)
    is_by_name = method is None or isinstance(method, str)
    if method is None and policy is not None:
        method = policy.options.method
    if isinstance(method, str):
        method = kind_of(method)() if policy is None else method_of(method, policy)
    if attacked is not None and is_by_name:
        attacked.refuse_other_method(method)
    runs = Runs(microdata, method, policy, seeds, symmetric)
    codes = microdata.sensitive_codes
    limits = limits_of(policy, microdata)
    # The method is run at first to see what it publishes: nothing, a release, or given groups.
    _log.info("running %s on the table", runs.name)
    with messages_once(method):
        if nothing:
            runs.make_nothing(codes)
        elif groups is None:
            runs.make_first(codes, seed)
        else:
            after = attacked is not None and attacked.is_unproved
            runs.make_again(_groups_of_kept(microdata, groups), codes, after=after)
        observation, attributes = runs.seen, microdata.attributes if runs.symmetric else None
        worlds_of_release = Worlds.of(observation.groups, codes, len(microdata.values), attributes)
        runs.check_symmetric(_swap_lookalikes(worlds_of_release))
        posteriors = _infer_posteriors(
            worlds_of_release, runs, worlds, seconds, start, seed, is_true_world=True
        )
    return Attack(
        settings_of(method),
        policy,
        _microdata=microdata,
        _posteriors=posteriors.with_sets(limits.sets),
        _limits=limits.by_code,
        _left_out=observation.left_out,
        what=observation.what,
        _names=limits.names,
    )


def _infer_posteriors(
    worlds: Worlds,
    runs: Runs,
    most_worlds: int,
    seconds: float | None,
    start: float,
    seed: int | None,
    is_true_world: bool,
) -> Posteriors:
    """The posteriors: by a proof, or exact if there is time, or estimated.

    `most_worlds` limits the runs of the method, and `seconds` (None: no limit) the time since
    `start`. `is_true_world` says that ``worlds.codes`` are the true values of the table, not just
    some world of the release; what one run on them decides can then be used. Raises `DataError` if
    no world makes the method publish this release.
    """
    if runs.proof is not None:
        return proved(worlds, runs)
    # Counting all worlds may use up only a part of the time: if it fails, the rest is for
    # estimates.
    until = None if seconds is None else start + seconds
    end_of_exact = None if seconds is None else start + seconds * _EXACT
    _log.info("running %s on every world", runs.name)
    try:
        # Each world costs one run for each seed.
        posteriors = enumerated(worlds, runs, most_worlds // len(runs.seeds), end_of_exact)
        if posteriors is not None:
            return posteriors
        # A method that can replay its run says which of its decisions must repeat, which splits the
        # groups into independent parts.
        replay = runs.replay(worlds.codes) if is_true_world else None
        if replay is not None:
            return by_parts(worlds, replay, most_worlds, until, seed)
        return estimated(worlds, runs, most_worlds, until, seed, is_true_world)
    except NoWorldError as error:
        worlds_tried = f"none of {error.args[0]:,} ways tried" if error.args else "no way"
        raise DataError(
            f"{worlds_tried} of assigning the values makes {runs.name} publish these groups; is "
            "it the method, with the settings, policy and quasi-identifiers, that made the "
            "release?"
        ) from None


def _swap_lookalikes(worlds: Worlds) -> Iterator[Codes]:
    """Yield the true world, and some in which people of one cell exchanged their values.

    A cell is the people of one group with equal quasi-identifiers.
    """
    yield worlds.codes
    # With cells in place of groups, a random world only moves values within cells.
    random, worlds_of_cells = np.random.default_rng(0), replace(worlds, groups=worlds.cell_of)
    # If everybody is alone in a cell, there is nothing to exchange.
    for _ in range(_SWAPPED if worlds.n_cells < worlds.n_people else 0):
        yield worlds_of_cells.at_random(random)


def _groups_of_kept(microdata: Microdata, groups: Any) -> IntArray:
    """The group of each person who is kept, given one whole number for each row of the table.

    Rows that were left out while reading have no person. Raises `DataError` for other shapes.
    """
    try:
        group_of_row = np.asarray(groups)
    except ValueError:  # of rows of unlike lengths
        group_of_row = np.empty(0)
    if group_of_row.shape != (microdata.n_rows,) or group_of_row.dtype.kind not in "iu":
        raise DataError(
            f"groups must be one whole number for each of the {microdata.n_rows} rows of "
            f"{microdata.name}"
        )
    return group_of_row[microdata.kept].astype(np.int64)


def _check_budget(worlds: int, seconds: float | None, seed: int | None) -> None:
    whole_number(worlds, "worlds", 1)
    if seed is not None:
        whole_number(seed, "the seed", 0)
    if seconds is not None and (
        isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0
    ):
        raise InputError(f"seconds must be above 0, not {seconds!r}")


@dataclass(frozen=True)
class AlgorithmWitness:
    """The person of whom the adversary is surest, the value's share, and how many worlds."""

    group: Label
    signature: dict[str, Label]
    value: Label
    share: Fraction
    looked: int
    consistent: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **vars(self),
            "share": str(self.share),
            "looked": amount_text(self.looked),
            "consistent": amount_text(self.consistent),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Algorithm:
    """An adversary who knows the method, its settings and its policy, and can run it.

    The adversary knows everybody's quasi-identifiers. A world assigns the values of each group to
    its members; at first all worlds are equally likely. Worlds in which the method would have made
    another release are excluded. For a random method, reports what has been proved about it
    instead.

    Parameters
    ----------
    anonymizer : anonymizer or callable
        As in `attack`; it must treat rows alike, since a release does not show their order.
    policy : Policy, optional
        The policy that the method was given; None: no policy.
    schema : Schema, optional
        The quasi-identifiers and their hierarchies; default: those of the policy.
    worlds, seconds, seed, seeds, symmetric
        As in `attack`.

    Notes
    -----
    The result is exact if `worlds` and `seconds` are enough for all worlds; otherwise it is the
    upper end of an estimate's interval. Merging groups can raise a posterior, so a search that
    merges or divides groups cannot use this adversary. Only the groups of a release are compared,
    not their labels; `attack` compares labels too. `attack` also starts from the owner's table,
    which says more than the values of each group.

    Examples
    --------
    Mondrian prefers to divide between 30 and 40, and has not: that tells more than the groups.

    >>> import pyarrow as pa
    >>> from foreknow.adversaries.facts.facts import Facts
    >>> from foreknow.methods.mondrian.mondrian import Mondrian
    >>> from foreknow.policy.requirement import Requirement
    >>> from foreknow.data.release import Release
    >>> rows = {
    ...     "age": [30, 30, 40, 50, 50],
    ...     "disease": ["flu", "flu", "hiv", "flu", "hiv"],
    ...     "group": [1, 1, 1, 2, 2],
    ... }
    >>> release = Release.from_groups(pa.table(rows), group="group", sensitive="disease")
    >>> policy = Policy(
    ...     [Requirement(Facts(), below=1)],
    ...     schema=Schema(quasi_identifiers=["age"], sensitive="disease"),
    ... )
    >>> found = Algorithm(Mondrian(), policy).disclosure(release, "hiv")
    >>> found.exact, found.witness.signature, found.witness.share
    (Fraction(1, 1), {'age': 40}, Fraction(1, 3))
    """

    anonymizer: Any
    policy: Policy | None = None
    schema: Schema | None = field(default=None, kw_only=True)
    worlds: int = field(default=WORLDS, kw_only=True)
    seconds: float | None = field(default=SECONDS, kw_only=True)
    seed: int | None = field(default=None, kw_only=True)
    seeds: Sequence[int] | None = field(default=None, kw_only=True)
    symmetric: bool | None = field(default=None, kw_only=True)
    needs: ClassVar[Needs] = frozenset({*ATTACK.needs, Need.PEOPLE, Need.FINISHED})
    speaks: ClassVar[None] = None

    def __post_init__(self) -> None:
        _check_budget(self.worlds, self.seconds, self.seed)

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest posterior that some person has the value.

        Parameters
        ----------
        release : Release
            With one value per person, and a table that keeps everybody's quasi-identifiers: made
            with a group column, or bucketized with its people.
        value : label, optional
            The sensitive value; default: the worst one.

        Raises
        ------
        DataError
            If the release is possible in no world, or no such world was found: another method made
            it.
        """
        disclosures = self.disclosures(release)
        if value is None:
            return worst(disclosures.values())
        return disclosures.get(value, Disclosure(value, 0.0, lambda: Fraction(0)))

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """The disclosure of every sensitive value."""
        posteriors, people = self._inferred(release)
        disclosures: dict[Label, Disclosure] = {}
        for code, value in enumerate(people.values):
            disclosures[value] = self._disclosure(value, code, posteriors, people)
        return disclosures

    def disclosure_of_set(
        self, release: HasCounts, members: Sequence[str], name: Label, *, relative: bool = False
    ) -> Disclosure:
        """Find the highest posterior that a person has any of the values `members`.

        `name` stands for the set in the result. `relative` is not used: no limit is relative here.
        """
        posteriors, people = self._inferred(release)
        codes = []
        for code, value in enumerate(people.values):
            if str(value) in members:
                codes.append(code)
        return self._disclosure(name, len(people.values), posteriors.with_sets([codes]), people)

    def _inferred(self, release: HasCounts) -> tuple[Posteriors, _People]:
        """The posteriors of all people of a release, and these people; computed once."""
        counts = asked_of(self, release)
        return remembered(counts, ("algorithm", self), lambda: self._infer(release))

    def _infer(self, release: HasCounts) -> tuple[Posteriors, _People]:
        """The posteriors of a release, and its people in one of its possible worlds.

        Refused for a method that may depend on the order of rows, which a release does not tell.
        """
        schema = self.schema or (None if self.policy is None else self.policy.schema)
        if schema is None:
            raise InputError(
                "Algorithm needs to know the quasi-identifiers: give schema=, or a policy that "
                "has a schema"
            )
        start = time.monotonic()
        people = _people_of(release, schema)
        table = people.microdata
        # With its own schema the policy would check columns that the release does not show.
        rules = self.policy and replace(self.policy, schema=table.schema)
        runs = Runs(table, self.anonymizer, rules, self.seeds, self.symmetric, labelled=False)
        if not runs.symmetric and runs.proof is None:
            raise UnsupportedError(
                f"{runs.name} may depend on the order of rows, which a release does not tell: use "
                "attack(microdata, method, policy), or say symmetric=True if it does not"
            )
        # A release does not say who has which value: these codes are one possible assignment.
        codes = table.sensitive_codes
        runs.see(people.groups, codes)
        attributes = table.attributes if runs.symmetric else None
        worlds = Worlds.of(runs.seen.groups, codes, len(table.values), attributes)
        with messages_once(self.anonymizer):
            posteriors = _infer_posteriors(
                worlds, runs, self.worlds, self.seconds, start, self.seed, is_true_world=False
            )
        # A proof says that no posterior reaches a limit of the policy, so limits are upper ends.
        if posteriors.kept:
            limits = limits_of(runs.policy, table).by_code
            highest_of_values = np.ones(worlds.n_values)
            for code, (limit, _) in limits.items():
                if code < worlds.n_values:  # a set has a code behind those of the values
                    highest_of_values[code] = float(limit)
            posteriors = replace(posteriors, high=np.minimum(posteriors.high, highest_of_values))
        return posteriors, people

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Always False: another grouping excludes other worlds."""
        return False

    def chances(self, release: HasCounts) -> None:
        """Return None: `attack` reports how many people are over a limit."""

    def to_dict(self) -> dict[str, Any]:
        """The method's name and settings, for reports."""
        return {"algorithm": dict(settings_of(self.anonymizer))}

    def _disclosure(
        self, value: Label, code: int, posteriors: Posteriors, people: _People
    ) -> Disclosure:
        """The disclosure of a value, with the person of whom the adversary may be surest.

        `code` is the value's column in the posteriors (a set has a column behind those of the
        values), and `people` are those of one world of the release.
        """
        # Floats choose the cells (people who look alike in one group) that may be highest, with a
        # margin for rounding; fractions then decide between them.
        highest_posteriors = posteriors.high[:, code]
        nearly_highest = np.flatnonzero(highest_posteriors >= highest_posteriors.max() - 1e-9)
        # Without fractions each posterior is the share in the group: one cell for each pair (times
        # that the value occurs, size of the group) is enough, and there are few such pairs.
        if not posteriors.fractions:  # many cells are of few bags
            bags = posteriors.bags[posteriors.worlds.group_of_cell[nearly_highest]]
            sizes = bags[:, : posteriors.worlds.n_values].sum(axis=1)
            pairs = np.stack((bags[:, code], sizes))
            nearly_highest = nearly_highest[np.unique(pairs, axis=1, return_index=True)[1]]
        cell = max(
            nearly_highest.tolist(), key=lambda c: posteriors.posterior(c, code) or Fraction(0)
        )
        exact = posteriors.posterior(cell, code)
        # Any person of the cell serves as an example: all of them look alike.
        person = int(np.flatnonzero(posteriors.worlds.cell_of == cell)[0])
        quasi_identifiers: dict[str, Any] = {}
        for attribute in people.microdata.attributes:
            quasi_identifiers[attribute.name] = attribute.domain[int(attribute.codes[person])]
        witness = AlgorithmWitness(
            group=people.labels[int(people.groups[person])],
            signature=quasi_identifiers,
            value=value,
            share=posteriors.share(cell, code),
            looked=posteriors.looked,
            consistent=posteriors.consistent,
        )
        return Disclosure(
            value,
            float(highest_posteriors[cell]),
            lambda: exact,
            lambda: witness if highest_posteriors[cell] else None,
            estimated=posteriors.is_estimated,
            bounded=posteriors.how == "bound",
        )

    def __repr__(self) -> str:
        return f"Algorithm({name_of(self.anonymizer)})"


@dataclass(frozen=True, eq=False)
class _People:
    """The people of a release, group after group, in one of its worlds."""

    microdata: Microdata
    groups: IntArray
    labels: Sequence[Label]  # of the groups
    values: Sequence[Label]  # the release's own, by their codes in `microdata`


def _people_of(release: HasCounts, schema: Schema) -> _People:
    """The people of a release, with their quasi-identifiers and a value of their group.

    Who has which value of the group is arbitrary: it is one of the release's possible worlds.
    """
    counts = counts_of(release)
    value_by_text = {str(value): value for value in counts.values}
    if len(value_by_text) < len(counts.values):
        raise InputError("several sensitive values print alike; make their labels differ")
    # The distinct combinations of quasi-identifiers in each group, and how many people have each.
    signatures = signatures_of(Algorithm, release)(schema.quasi_identifiers)
    group_of_signature = np.repeat(np.arange(counts.n_groups), np.diff(signatures.offsets))
    # One row for each person: groups in order, and within a group signature after signature.
    groups = np.repeat(group_of_signature, signatures.people)
    signature_codes = np.repeat(signatures.codes, signatures.people)
    rows = [signatures.labels[code] for code in signature_codes]
    columns: dict[str, list[str | None]] = {}
    for position, name in enumerate(schema.quasi_identifiers):
        columns[name] = [row[position] for row in rows]
    value_codes = np.repeat(counts.codes, counts.counts)  # group after group, as the people are
    columns[schema.sensitive] = [str(counts.values[code]) for code in value_codes]
    # The table is made here and has only these columns; an empty cell in it would be an error.
    plain_schema = replace(
        schema, identifiers=(), other=(), person=None, group=None, missing="error"
    )
    name = str(getattr(release, "name", "the release"))
    microdata = Microdata(table_of_texts(columns, name), plain_schema)
    values = [value_by_text.get(str(value), value) for value in microdata.values]
    return _People(microdata, groups, counts.groups or range(counts.n_groups), values)
