"""ART: groups that withstand an adversary who knows how likely values are for kinds of people.

Algorithm ART of "Anonymization with Worst-Case Distribution-Based Background Knowledge" (Wong, Fu,
Wang, Xu, Yu, Pei; section V), made sound: exact posteriors decide, not the paper's theorem 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from foreknow.adversaries.priors.exchanges import Amounts
from foreknow.adversaries.priors.priors import Priors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, ValueMode
from foreknow.adversaries.priors.table import PriorTable
from foreknow.call_hints import hints
from foreknow.data.arrays import IntArray, combine
from foreknow.data.columns.attribute import Attribute
from foreknow.data.labels.labels import Label, matching
from foreknow.data.members import Signature, signature_text
from foreknow.data.microdata import Microdata
from foreknow.errors import NoSafeRelease, SchemaError, did_you_mean
from foreknow.features.more_methods.art.infeasibility import ArtNames
from foreknow.features.more_methods.art.limits import Limit, LimitTable
from foreknow.features.more_methods.art.problem import ArtProblem
from foreknow.features.more_methods.art.search import robust_groups
from foreknow.methods.protocol import ONE_COLUMN, Grouper, Grouping, Traits
from foreknow.policy.policy import Policy
from foreknow.settings import Number as NumberSetting
from foreknow_judge.errors import InputError, PolicyError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import as_fraction
from foreknow_judge.policy.settings import Settings


class ArtSettings(Settings):
    """``[publish.art]`` in a policy file; the priors, and the limits, are the requirements'."""

    r: Annotated[NumberSetting, Field(gt=1)] | None = None
    unique: bool = False


@hints()
@dataclass(frozen=True)
class ART(Grouper):
    """Groups in which an adversary who knows statistics (priors) is at most as sure as 1/r.

    The property is r-robustness. People are of one *kind* if every adversary has the same priors
    about them. People of one kind are grouped together where their values allow it: each posterior
    is then c/N, whatever the priors. Where a value is too frequent within a kind, some people who
    have it are grouped with people of similar kinds, in groups that are safe by their exact
    posteriors. Both steps prefer people with similar priors and similar quasi-identifiers, as the
    paper asks (section V).

    Parameters
    ----------
    r : number, optional
        Posteriors may be at most 1/r. Above 1; need not be whole.
    priors : Priors, or what `Priors` takes, optional
        The adversary's knowledge. Each of its attribute sets is used separately, as in the paper;
        for an adversary who combines them, give the priors of the combination.
    unique : bool
        Whether every value may occur only once in a group (m-uniqueness), as the paper asks. If
        False, such groups are still made where possible, and more tables can be grouped.
    times : number, optional
        Posteriors may be at most this multiple, 1 or more, of the prior of the same person and
        value. The paper mentions this relative limit but does not treat it. May be combined with r.
    values : sequence of labels, optional
        The sensitive values to protect; default: every value.
    limits : sequence of Limit
        Several adversaries and limits, all of which hold, instead of `priors` and `values` or in
        addition to them. r and times apply to each of them, too.

    Notes
    -----
    The method is sound under both readings of the priors. Under ``binary`` the paper's bound is
    exactly tight. Under ``joint`` that bound is unsafe (errata, section 3), so exact posteriors
    decide, and at the end every group is judged again by exact posteriors.

    For tables of up to 12 people every grouping is tried, so a grouping is found if one exists. For
    larger tables the search may miss one that exists.

    Facts that adversaries know in addition to priors are applied to each group. Links join groups,
    so the search treats each link as one more known person. `publish` judges the finished release
    with the links themselves.

    Ties are broken at random. Which people share a group depends on their values, so an adversary
    who knows the algorithm and reasons from it is not covered.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.schema import Schema
    >>> people = pa.table({"sex": list("mfmf"), "disease": ["Flu", "Flu", "HIV", "HIV"]})
    >>> microdata = Microdata(people, Schema(quasi_identifiers=["sex"], sensitive="disease"))
    >>> ART(r=2, priors=Priors.learn(people, ["sex"], "disease")).partition(microdata)
    array([0, 1, 0, 1])
    """

    r: Any = None
    priors: Priors | None = None
    unique: bool = False
    times: Any = None
    values: Sequence[Label] | None = None
    limits: Sequence[Limit] = ()
    key: ClassVar[str] = "art"
    settings: ClassVar[type[Settings]] = ArtSettings

    def __post_init__(self) -> None:
        """Refuse settings that are wrong or do not go together."""
        if self.r is not None:
            try:
                wrong = isinstance(self.r, bool) or not as_fraction(self.r) > 1
            except InputError:
                wrong = True
            if wrong:
                raise InputError(f"ART: r must be a number above 1, not {self.r!r}")
        if not isinstance(self.unique, bool):
            raise InputError(f"ART: unique must be True or False, not {self.unique!r}")
        if isinstance(self.limits, Limit) or not all(isinstance(g, Limit) for g in self.limits):
            raise InputError("ART: limits must be a list of Limit")
        set_fields(self, limits=tuple(self.limits))
        if not isinstance(self.priors, Priors | None):
            set_fields(self, priors=Priors(self.priors))
        if self.priors is None and not self.limits:
            raise InputError("ART: give priors, or limits")
        if self.priors is None and self.values is not None:
            raise InputError("ART: values go with priors; a Limit has values of its own")
        if self.priors is not None and self.r is None and self.times is None:
            raise InputError("ART: r must be a number above 1, or times be given")
        # Each limit checks itself when it is made.
        self._all_limits()

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], policy: Policy) -> ART:
        """Make the method for a policy, with a limit for each requirement about priors.

        `settings` are the method's settings in the policy file.
        """
        # Names of a limit in a policy, and the parameter of `Limit` that takes its amount.
        keys = {"below": "below", "at_most": "at_most", "at_most_times": "times"}
        limits = []
        for required in policy.requirements:
            sets = required.sets if required.about_sets else None
            for point in required.points:
                if isinstance(point.adversary, Priors):
                    amount: Any = {keys[point.limit.key]: point.below}
                    limits.append(
                        Limit(
                            point.adversary,
                            values=required.values,
                            excluded=required.excluded,
                            sets=sets,
                            **amount,
                        )
                    )
        if not limits:
            raise PolicyError(
                'method "art" serves requirements about priors, with a limit such as '
                'at_most = "1/4"; the policy has none'
            )
        if all(limit.at_most == 1 for limit in limits):
            raise PolicyError('method "art" needs a limit below 1, such as at_most = "1/4"')
        # Settings of the policy file come last: they go before what the requirements say.
        return cls(**{"limits": tuple(limits), **settings})

    @property
    def traits(self) -> Traits:
        """The traits of the method: the release must show the columns of the priors exactly."""
        tables = chain(*(limit.priors.tables for limit in self._all_limits()))
        exact = frozenset(chain(*(table.attributes for table in tables)))
        return Traits(needs=ONE_COLUMN, random=True, exact=exact)

    def _all_limits(self) -> list[Limit]:
        """The limits to keep: those in `limits`, and for each adversary those of r and times."""
        share = None if self.r is None else 1 / as_fraction(self.r)
        limits = list(self.limits)
        if self.priors is not None:
            limits.append(Limit(self.priors, share, times=self.times, values=self.values))
        if share is not None or self.times is not None:
            for limit in self.limits:
                limits.append(
                    replace(limit, at_most=share, below=None, times=self.times)  # same priors
                )
        return limits

    def grouping(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> Grouping:
        """Group the rows of a table.

        Only the policy's form is used: in a generalized release, a group does not mix people of
        different signatures, since the priors would say nothing about them. The limits are those of
        the method. The attributes of the priors must be among the quasi-identifiers.
        """
        attributes = microdata.attributes
        values = [str(value) for value in microdata.values]
        positions, steps = _positions_and_costs(attributes)
        people = np.bincount(microdata.sensitive_codes, minlength=len(values))
        # Only values that were given here: of those of a policy, its verdict says that they are
        # missing.
        for label in () if self.values is None else map(str, self.values):
            if not matching(label, values):
                raise InputError(
                    f"ART: nobody in the table has the sensitive value {label!r}"
                    f"{did_you_mean(label, values)}"
                )
        limits = self._all_limits()
        tables = _tables_with_limits(limits, attributes, values, people)
        # The search needs people as arrays of codes: signatures by table, values and places.
        problem = ArtProblem.of_signatures(
            [table.codes for table in tables],
            [table.matrix for table in tables],
            microdata.sensitive_codes,
            positions,
            steps,
            limits=[table.limits for table in tables],
            reading=[table.reading for table in tables],
            amounts=[table.amounts for table in tables],
            unique=self.unique,
            one_profile=policy is not None and policy.options.labelled,
        )
        if problem.unique and problem.share is None:
            raise InputError(
                "ART: unique=True needs one limit for everybody and all values, such as "
                'at_most = "1/4" (r = 4); or unique = false'
            )
        # Codes as words, for the message if no grouping is possible.
        names = ArtNames(
            lambda x: f"{microdata.schema.sensitive} {str(values[x])!r}",
            lambda s, code: signature_text(tables[s].table.attributes, tables[s].labels[code]),
        )
        try:
            groups = robust_groups(problem, seed, names)
        except NoSafeRelease as error:
            # A set's limit is divided among its values, so a failure proves less about sets.
            if not any(limit.sets for limit in limits):
                raise
            raise NoSafeRelease(
                f"{error} (Of a set of values, each has its part of the limit, by how many people "
                "have it; there may be groups that keep the limit of the set only.)"
            ) from None
        return Grouping(microdata.rows_of(groups))


@dataclass(frozen=True)
class _AskedPriors:
    """A table of priors that the policy asks about, in codes of the microdata, with its limits."""

    table: PriorTable
    reading: ValueMode
    codes: IntArray
    labels: list[Signature]
    matrix: PriorMatrix
    limits: LimitTable
    amounts: Amounts


def _tables_with_limits(
    limits_asked: list[Limit], attributes: list[Attribute], values: list[str], people: IntArray
) -> list[_AskedPriors]:
    """The distinct tables of priors that the limits are about, each with its tightest limits.

    Limits on the same table, read in the same way (joint or binary) and with the same amounts of
    facts beside it, share an entry. `values` are the sensitive values by code; `people` counts who
    has each.
    """
    asked: list[_AskedPriors] = []
    for limit in limits_asked:
        for table in limit.priors.tables:
            reading, (l, k, m) = limit.priors.semantics, limit.priors.amounts
            # l values ruled out, k people known, m linked. Links join groups; within one group they
            # tell no more than as many known people do.
            amounts = l, k + m, 0
            same_adversary = [
                i
                for i, entry in enumerate(asked)
                if (entry.table, entry.reading, entry.amounts) == (table, reading, amounts)
            ]
            # This adversary is there already: only the limits may become tighter.
            if same_adversary:
                (position,) = same_adversary
                entry = asked[position]
                for limit_table in limit.tables(entry.matrix, values, people):
                    entry = replace(entry, limits=entry.limits.tightest(limit_table))
                asked[position] = entry
                continue
            # A new adversary. A limit on sets of values gives more than one table of limits.
            codes, labels = _signatures(table.attributes, attributes)
            matrix = table.matrix(labels, values)
            entry = _AskedPriors(
                table=table,
                reading=reading,
                codes=codes,
                labels=labels,
                matrix=matrix,
                limits=reduce(LimitTable.tightest, limit.tables(matrix, values, people)),
                amounts=amounts,
            )
            asked.append(entry)
    return asked


def _signatures(
    names: tuple[str, ...], attributes: list[Attribute]
) -> tuple[IntArray, list[Signature]]:
    """Everybody's signature in some columns: the code of each person, and each code's labels.

    A signature is a person's values in the columns `names`, as texts; None is a missing value.
    """
    attribute_of = {attribute.name: attribute for attribute in attributes}
    for name in names:
        if name not in attribute_of:
            raise SchemaError(
                f"ART: the priors are about {name!r}, which is no quasi-identifier"
                f"{did_you_mean(name, attribute_of)}"
            )
    chosen = [attribute_of[name] for name in names]
    # `first` is some person with each code, who shows the code's values.
    codes, first = combine([a.codes for a in chosen], [len(a.domain) for a in chosen])
    columns = []
    for attribute in chosen:
        labels = []
        for value in attribute.domain:
            labels.append(None if value is None else str(value))
        columns.append([labels[code] for code in attribute.codes[first].tolist()])
    return codes.astype(np.int64), list(zip(*columns, strict=True))


def _positions_and_costs(attributes: list[Attribute]) -> tuple[Any, Any]:
    """Where people lie in each quasi-identifier, and what a further label of a column costs.

    Returned are positions from 0 to 1, shape (people, columns), and a cost for each column: 1 /
    (labels - 1) for names without an order, and 0 where the width of a range is the cost.
    """
    columns, steps = [], []
    for attribute in attributes:
        low, high = attribute.positions.min(), attribute.positions.max()
        # A column with a single position has no width: 1 avoids a division by 0.
        scaled = (attribute.positions - low) / ((high - low) or 1.0)
        columns.append(scaled[attribute.codes])
        nominal = attribute.order == "nominal" and not attribute.ancestors
        steps.append(1 / max(len(attribute.domain) - 1, 1) if nominal else 0.0)
    positions = np.stack(columns, axis=1)
    if not math.isfinite(float(positions.sum())):
        raise InputError("ART: quasi-identifiers must be finite numbers")
    return positions, np.array(steps)
