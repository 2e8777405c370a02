"""Streamliner: groups that stay safe when everybody knows how they were made.

The algorithms of "Privacy Streamliner" (section 3), made safe where enumeration found them not to
be, and one more that looks at quasi-identifiers.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from pydantic import Field

from foreknow.call_hints import hints
from foreknow.data.arrays import IntArray
from foreknow.data.microdata import Microdata
from foreknow.errors import did_you_mean, refuse_other
from foreknow.features.more_methods.streamliner.gda import by_rank, plan_gda
from foreknow.features.more_methods.streamliner.gsa import groups_of_gsa
from foreknow.features.more_methods.streamliner.rda import assigned, groups_of_plan, plan_rda
from foreknow.features.more_methods.streamliner.ria import groups_of_ria
from foreknow.methods.eligibility import ADVICE, WithL, settled_l
from foreknow.methods.proof import FREQUENCIES_ONLY, Proof, by_values_alone
from foreknow.methods.protocol import (
    ONE_COLUMN,
    Grouping,
    Traits,
    notes_of_seed,
)
from foreknow.needs import require, several_values
from foreknow.numbers import whole_number
from foreknow.policy.policy import Policy
from foreknow.randomness import generator
from foreknow_judge.errors import InputError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.policy.settings import Amount, Settings

_log = logging.getLogger(__name__)

Variant: TypeAlias = Literal["rda", "ria", "gda", "gsa"]


class StreamlinerSettings(Settings):
    """``[publish.streamliner]`` in a policy file."""

    l: Annotated[int, Field(ge=2)] | None = None
    variant: Variant = "rda"
    weights: dict[str, Amount] = Field(default={})


_BY_EXCHANGE = replace(
    FREQUENCIES_ONLY,
    why="exchanging two members of a group, or two halves of a block as a whole, changes no "
    "decision of the method, so all members of a group have each of its values with the same "
    "probability",
    page="docs/methods/anatomy-and-streamliner.md",
)


@hints()
@dataclass(frozen=True)
class Streamliner(WithL):
    """Groups in which no value has a share above 1/l, safe if the method is known, except `gda`.

    Parameters
    ----------
    l : int, optional
        At least 2. None: the smallest l for which the counts of the groups meet the policy, as
        far as counts can show that; ``gda`` and ``gsa`` take the smallest l of ``rda``.
    variant : {"rda", "ria", "gda", "gsa"}
        The way to make groups; see the table below.
    weights : mapping of str to int, optional
        The weight of each quasi-identifier in the distance that ``gda`` uses; default: 1. ``gsa``
        divides attributes of more weight first. ``rda`` and ``ria`` do not look at
        quasi-identifiers and refuse weights.

    Notes
    -----
    ======= ======================================== ==========================================
    variant groups                                   an adversary who knows it
    ======= ======================================== ==========================================
    rda     of l, at random                          learns nothing beyond the groups
    ria     merged at random, mostly one group       learns nothing beyond the groups
    gda     of l, near by quasi-identifiers          can be certain of a person's value
    gsa     at random within blocks of near people   finds each value of a group equally likely
                                                     for each of its members
    ======= ======================================== ==========================================

    In the generalized form, groups that look alike are published as one. No value is then likelier
    than 1/l for anybody under rda, ria and gsa, but its probability may differ from its frequency
    in the published group.

    RDA and RIA choose values, and then take random people with these values. So every table that
    agrees with a release leads to it with the same probability, and the release does not show
    which of these tables is the true one. **This needs a secret seed**: an adversary who knows the
    seed can run the method on every table that agrees with the release, and keep those that lead
    to it. Without a seed, random numbers come from the system's entropy, and the first run is
    released, since a choice among several runs would depend on people. Give a seed only in tests.

    GDA follows its paper, and is unsafe; it logs a warning. GSA (guided, symmetric) is Foreknow's
    own method; its module has the proof. GSA works like RDA on tables of fewer than 16 groups, and
    on some in which a value is nearly as frequent as l allows; it logs that (level info).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.schema import Schema
    >>> rows = pa.table({"age": [20, 30, 40, 50], "disease": ["Flu", "Flu", "Cold", "AIDS"]})
    >>> microdata = Microdata(rows, Schema(quasi_identifiers=["age"], sensitive="disease"))
    >>> groups = Streamliner(l=2).partition(microdata)
    >>> bool(groups[0] != groups[1])
    True
    >>> Streamliner(l=3).partition(microdata)
    Traceback (most recent call last):
    foreknow.errors.NoSafeRelease: Streamliner: l = 3 allows at most 1 of 4 people to share
    a value of 'disease': 2 have 'Flu', which is 1 too many. 'Flu' is had by 2 of 4 people (50.0%),
    which allows l = 2 at most
    """

    l: int | None = None
    variant: Variant = "rda"
    weights: Mapping[str, int] = field(default_factory=dict)
    key: ClassVar[str] = "streamliner"
    settings: ClassVar[type[Settings]] = StreamlinerSettings

    def __post_init__(self) -> None:
        """Raise `InputError` for an unknown variant, or weights that it does not use."""
        self._settle_l()
        refuse_other("Streamliner: no variant", self.variant, get_args(Variant))
        if not isinstance(self.weights, Mapping):
            raise InputError(
                "Streamliner: weights must map names of quasi-identifiers to whole numbers, not "
                f"{self.weights!r}"
            )
        weights: dict[str, int] = {}
        for name, weight in self.weights.items():
            weights[name] = whole_number(weight, f"Streamliner: the weight of {name!r}", 0)
        # Sums of weighted ranks must fit into 64 bits.
        if max(weights.values(), default=0) >= 2**31:
            raise InputError("Streamliner: a weight must be below 2**31")
        set_fields(self, weights=weights)
        if self.weights and self.variant in ("rda", "ria"):
            raise InputError(
                f"Streamliner: variant {self.variant!r} does not look at quasi-identifiers; "
                "weights are for 'gda' and 'gsa'"
            )

    def __hash__(self) -> int:
        return hash((self.l, self.variant, frozenset(self.weights.items())))

    def grouping(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> Grouping:
        """The groups of the rows of a table, with the l that was chosen."""
        sizes = self._sizes(microdata)

        def groups_of(with_l: Streamliner) -> IntArray:
            return with_l._groups(microdata, sizes, generator(seed, "Streamliner"))

        with_l = self
        if self.l is None and self.variant in ("gda", "gsa"):
            # If l were chosen by whether groups of near people hold the policy, l would tell
            # something of who has which value. The groups of RDA depend on counts alone.
            like_rda = replace(self, variant="rda", weights={})
            chosen, _ = settled_l(like_rda, microdata, policy, sizes, groups_of)
            with_l = replace(self, l=chosen.l)
        with_l, groups = settled_l(
            with_l, microdata, policy, sizes, groups_of, smallest=self.variant != "ria"
        )
        return Grouping(microdata.rows_of(groups), method=with_l)

    @property
    def traits(self) -> Traits:
        """The traits of the variant, such as whether the order of rows matters, and its proof."""
        return Traits(
            needs=ONE_COLUMN,
            symmetric=self.variant != "gsa",
            random=True,
            proof=self._proof,
            notes=self._notes,
            advice=ADVICE,
            settled=self.settled,
        )

    @property
    def _proof(self) -> Proof | None:
        if self.variant == "gsa":
            return replace(_BY_EXCHANGE, highest=Fraction(1, self.l or 2), least=self.l or 2)
        equal = self.l if self.variant == "rda" else None
        return None if self.variant == "gda" else by_values_alone(self.l or 2, equal)

    def _notes(self, policy: Policy, seed: int | None) -> Sequence[str]:
        """Notes for readers of a release."""
        if self.variant != "gda":
            return super()._notes(policy, seed)
        unsafe = (
            "GDA: people were grouped by their values, so an adversary who knows the method may "
            "find values out, even with certainty"
        )
        return (unsafe, *notes_of_seed(seed))

    def _sizes(self, microdata: Microdata) -> IntArray:
        """How many people have each value; refuses tables of another kind, and unknown weights."""
        require(self, several_values(microdata.schema.semantics), ONE_COLUMN)
        names = list(microdata.schema.quasi_identifiers)
        for name in self.weights:
            if name not in names:
                raise InputError(
                    f"Streamliner: a weight is given for {name!r}, which is no quasi-identifier"
                    f"{did_you_mean(name, names)}"
                )
        return np.bincount(microdata.sensitive_codes, minlength=len(microdata.values))

    def _groups(
        self, microdata: Microdata, sizes: IntArray, random: np.random.Generator
    ) -> IntArray:
        """The group of each person by the chosen variant."""
        codes, l = microdata.sensitive_codes, self.l
        assert l is not None
        if self.variant == "rda":
            return groups_of_plan(plan_rda(sizes, l), codes, sizes, random)
        if self.variant == "ria":
            return groups_of_ria(codes, sizes, l, random)
        if self.variant == "gsa":
            return groups_of_gsa(codes, sizes, microdata.attributes, l, random, self.weights)
        _log.warning(
            "GDA is unsafe against an adversary who knows it: they can rule out the tables that it "
            "would have grouped otherwise, and be certain of a person's value; variants 'rda' and "
            "'gsa' withstand that"
        )
        # Only GDA is left.
        runs, ranked = by_rank(codes, len(sizes), microdata.attributes, self.weights, random)
        return assigned(plan_gda(runs, microdata.values, l), ranked)
