"""Algorithm: the adversary who can run the anonymizer that made the release.

From "k-jump: a strategy to design publicly-known algorithms for privacy preserving micro-data
disclosure" (Liu, Wang, Zhang, Zhu), section 1: worlds that the algorithm would have treated
otherwise are struck out; what is left is the disclosure set. Here for any algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow.adversaries.algorithm.attacks import SECONDS, WORLDS, check_budget, infer
from foreknow.adversaries.algorithm.exact import Posteriors
from foreknow.adversaries.algorithm.method_runner import Runs, said_once
from foreknow.adversaries.algorithm.traits import name_of, settings_of
from foreknow.adversaries.algorithm.worlds import Worlds, amount_text
from foreknow.adversaries.disclosure import Disclosure, worst
from foreknow.adversaries.protocol import HasCounts, Ledger, Mask, counts_of
from foreknow.data.counts import Semantics
from foreknow.data.engines.narwhals_table import table_of_texts
from foreknow.data.labels import Label
from foreknow.data.microdata import Microdata
from foreknow.data.schema import Schema
from foreknow.data.sparse import IntArray
from foreknow.errors import InputError, UnsupportedError
from foreknow.numbers import Number
from foreknow.policy.policy import Policy


@dataclass(frozen=True)
class AlgorithmWitness:
    """The person of whom the adversary becomes surest.

    Attributes
    ----------
    group : label
    signature : dict
        The quasi-identifiers of the people.
    value : label
    share : Fraction
        The share of the value in the group: what the release says by itself.
    looked, consistent : int
        Worlds looked at, and those among them in which the method makes this release.
    """

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

    They know everybody's quasi-identifiers. A world assigns each group's bag to its members, all as
    likely at first. Those in which the method would have made another release are struck out;
    of a random method, they weigh as much as the release is probable.

    Parameters
    ----------
    anonymizer : anonymizer or callable
        As in `attack`; it must treat rows alike, since a release does not tell their order.
    policy : Policy, optional
        What the method was given.
    schema : Schema, optional
        The quasi-identifiers and their hierarchies; those of the policy when left out.
    worlds, seconds, seed, seeds, symmetric
        As in `attack`.

    Notes
    -----
    Exact where `worlds` and `seconds` are enough for all worlds, otherwise an estimate: the upper
    end of an interval. Merging groups can raise a posterior, so no search by merging or dividing
    serves it. Of a release only the groups are compared, not their labels; `attack` compares
    labels too. The bags of a release tell less than its owner's table: `attack` starts from that.

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

    def __post_init__(self) -> None:
        check_budget(self.worlds, self.seconds, self.seed)

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
            If the release is possible in no world, or none was found: the method did not make it.
        """
        found = self.disclosures(release)
        if value is None:
            return worst(found.values())
        return found.get(value, Disclosure(value, 0.0, lambda: Fraction(0)))

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """Every sensitive value's disclosure."""
        schema = self.schema or (None if self.policy is None else self.policy.schema)
        if schema is None:
            raise InputError(
                "Algorithm needs to know the quasi-identifiers: give schema=, or a policy that "
                "has a schema"
            )
        people = _people_of(release, schema)
        table = people.microdata
        runs = Runs(table, self.anonymizer, self.policy, self.seeds, self.symmetric, False)
        if not runs.symmetric:
            raise UnsupportedError(
                f"{runs.name} may depend on the order of rows, which a release does not tell: use "
                "attack(microdata, method, policy), or say symmetric=True if it does not"
            )
        codes = table.sensitive_codes
        seen = runs.see(people.groups, codes)
        worlds = Worlds.of(seen.groups, codes, len(table.values), table.attributes)
        with said_once(self.anonymizer):
            found = infer(worlds, runs, seen, self.worlds, self.seconds, self.seed, true=False)
        return {
            value: self._disclosure(value, code, found, people)
            for code, value in enumerate(people.values)
        }

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Never: another grouping strikes out other worlds."""
        return False

    def ledger(
        self, threshold: Number, values: Mask | None = None, semantics: Semantics = "single"
    ) -> Ledger:
        """Refuse: what a release tells depends on all that the method would have made instead."""
        raise UnsupportedError(
            "a method cannot search for groups that are safe from an adversary who knows it: each "
            "choice tells something; attack what it makes, or choose a method that is safe by "
            "itself"
        )

    def to_dict(self) -> dict[str, Any]:
        """What stands for it in reports: the method's name and plain settings."""
        return {"algorithm": dict(settings_of(self.anonymizer))}

    def _disclosure(
        self, value: Label, code: int, found: Posteriors, people: _People
    ) -> Disclosure:
        column = found.high[:, code]
        near = np.flatnonzero(column >= column.max() - 1e-9).tolist()
        cell = max(near, key=lambda c: found.posterior(c, code) or Fraction(0))
        exact = found.posterior(cell, code)
        person = int(np.flatnonzero(found.worlds.cell_of == cell)[0])
        witness = AlgorithmWitness(
            people.labels[int(people.groups[person])],
            {a.name: a.domain[int(a.codes[person])] for a in people.microdata.attributes},
            value,
            found.share(cell, code),
            found.looked,
            found.consistent,
        )
        return Disclosure(
            value,
            float(column[cell]),
            lambda: exact,
            lambda: witness if column[cell] else None,
            estimated=not found.exact,
        )

    def __repr__(self) -> str:
        return f"Algorithm({name_of(self.anonymizer)})"


@dataclass(frozen=True, eq=False)
class _People:
    """Everybody in a release, group after group, in some world."""

    microdata: Microdata
    groups: IntArray
    labels: Sequence[Label]  # of the groups
    values: Sequence[Label]  # the release's own, by their codes in `microdata`


def _people_of(release: HasCounts, schema: Schema) -> _People:
    """Take the people out of a release that keeps their quasi-identifiers."""
    counts = counts_of(release)
    if counts.semantics != "single":
        raise UnsupportedError(
            f"semantics {counts.semantics!r}: the adversary who knows the algorithm is worked out "
            "only where everybody has one sensitive value"
        )
    find = getattr(release, "signatures", None)
    if find is None:
        raise InputError(
            "Algorithm needs to know who is in which group: give a Release of a table that keeps "
            "everybody's quasi-identifiers, not counts"
        )
    names = {str(value): value for value in counts.values}
    if len(names) < len(counts.values):
        raise InputError("several sensitive values print alike; make their labels differ")
    signatures = find(schema.quasi_identifiers)
    groups = np.repeat(
        np.repeat(np.arange(counts.n_groups), np.diff(signatures.offsets)), signatures.people
    )
    each = [signatures.labels[code] for code in np.repeat(signatures.codes, signatures.people)]
    columns: dict[str, list[str | None]] = {
        name: [own[i] for own in each] for i, name in enumerate(schema.quasi_identifiers)
    }
    codes = np.repeat(counts.codes, counts.counts)  # rows of groups, as the people are
    columns[schema.sensitive] = [str(counts.values[code]) for code in codes]
    plain = replace(schema, identifiers=(), other=(), person=None, group=None, missing="error")
    name = str(getattr(release, "name", "the release"))
    microdata = Microdata(table_of_texts(columns, name), plain)
    values = [names.get(str(value), value) for value in microdata.values]
    return _People(microdata, groups, counts.groups or range(counts.n_groups), values)
