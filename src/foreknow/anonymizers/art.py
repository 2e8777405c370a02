"""ART: groups that withstand whoever knows how likely each value is for each kind of people.

Algorithm ART of "Anonymization with Worst-Case Distribution-Based Background Knowledge" (Wong, Fu,
Wang, Xu, Yu, Pei; section V), made sound: exact posteriors decide, not the paper's theorem 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from foreknow.adversaries.priors import Priors
from foreknow.anonymizers.art_problem import ArtProblem
from foreknow.anonymizers.art_reasons import ArtNames
from foreknow.anonymizers.art_search import robust_groups
from foreknow.errors import InputError, SchemaError, did_you_mean
from foreknow.microdata import Attribute, Microdata
from foreknow.policy import Policy
from foreknow.signatures import Signature, signature_text
from foreknow.sparse import IntArray, combine


@dataclass(frozen=True)
class ART:
    """Groups in which no posterior exceeds 1/r (r-robustness, definition 3).

    People of one *kind*, who are alike to every adversary, are grouped among themselves where
    their values allow it: everybody's posterior is then c/N, whatever the priors. Where a value is
    too frequent in a kind, some who have it are grouped with people of similar kinds, in groups
    that are safe by their exact posteriors. Both are guided by similar priors and near
    quasi-identifiers, as the paper asks (section V).

    Parameters
    ----------
    r : number
        Posteriors may be at most 1/r. Above 1; need not be whole.
    priors : Priors
        What the adversary knows. Each of its attribute sets by itself, as in the paper; for an
        adversary who combines them, give the priors of the combination.
    unique : bool
        Whether every value may occur only once in a group (m-uniqueness). The paper asks for it;
        it makes groups small. Without it, more tables can be grouped.

    Notes
    -----
    Sound under both readings. Under ``binary`` the paper's bound is exactly tight. Under ``joint``
    it is unsafe (errata, section 3): a sound condition on ratios of priors settles groups quickly,
    and the exact posterior settles the others. In the end every group is judged again by its
    exact posteriors.

    Of tables of up to 12 people all groupings are gone through, so a grouping is found if there
    is one. Of larger tables, none may be found although there is one.

    Ties are broken by ``numpy.random.default_rng(seed)``. Which people share a group depends on
    their values: an adversary who knows the algorithm, and reasons from it, is not covered.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.schema import Schema
    >>> people = pa.table({"sex": list("mfmf"), "disease": ["Flu", "Flu", "HIV", "HIV"]})
    >>> microdata = Microdata(people, Schema(quasi_identifiers=["sex"], sensitive="disease"))
    >>> ART(r=2, priors=Priors.learn(people, ["sex"], "disease")).partition(microdata)
    array([0, 1, 0, 1])
    """

    r: Any
    priors: Priors
    unique: bool = True

    def __post_init__(self) -> None:
        try:
            wrong = isinstance(self.r, bool) or not Fraction(str(self.r)) > 1
        except (ValueError, ZeroDivisionError):
            wrong = True
        if wrong:
            raise InputError(f"ART: r must be a number above 1, not {self.r!r}")
        if not isinstance(self.unique, bool):
            raise InputError(f"ART: unique must be True or False, not {self.unique!r}")
        if not hasattr(self.priors, "tables"):
            raise InputError(f"ART: priors must be Priors, not {type(self.priors).__name__}")

    def partition(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> IntArray:
        """Group the rows of a table.

        Parameters
        ----------
        microdata : Microdata
            One value per person; the attributes of the priors are among its quasi-identifiers.
        policy : Policy, optional
            Ignored: `r` and `priors` say what the groups withstand.
        seed : int, optional
            For ties.

        Returns
        -------
        int64 array, shape (rows,)
            The group of each row in the source's order, from 0; -1 for a row that is left out
            because its sensitive value is missing.

        Raises
        ------
        NoSafeRelease
            If there is no such grouping, with the reason; or if none was found.
        """
        attributes = microdata.attributes
        values = [str(value) for value in microdata.values]
        signatures, matrices, labels = [], [], []
        for table in self.priors.tables:
            codes, own = _signatures(table.attributes, attributes)
            signatures.append(codes)
            matrices.append(table.matrix(own, values))
            labels.append((table.attributes, own))
        places, steps = _places(attributes)
        problem = ArtProblem.of_signatures(
            signatures,
            matrices,
            microdata.sensitive_codes,
            places,
            steps,
            r=Fraction(str(self.r)),
            reading=self.priors.semantics,
            unique=self.unique,
        )
        names = ArtNames(
            lambda x: f"{microdata.schema.sensitive} {values[x]!r}",
            lambda s, code: signature_text(labels[s][0], labels[s][1][code]),
        )
        return microdata.rows_of(robust_groups(problem, seed, names))


def _signatures(
    wanted: tuple[str, ...], attributes: list[Attribute]
) -> tuple[IntArray, list[Signature]]:
    """The signature code of everybody, and the labels of each code."""
    known = {attribute.name: attribute for attribute in attributes}
    for name in wanted:
        if name not in known:
            raise SchemaError(
                f"ART: the priors are about {name!r}, which is no quasi-identifier"
                f"{did_you_mean(name, known)}"
            )
    chosen = [known[name] for name in wanted]
    codes, first = combine([a.codes for a in chosen], [len(a.domain) for a in chosen])
    columns = []
    for attribute in chosen:
        labels = [None if value is None else str(value) for value in attribute.domain]
        columns.append([labels[code] for code in attribute.codes[first].tolist()])
    return codes.astype(np.int64), list(zip(*columns, strict=True))


def _places(attributes: list[Attribute]) -> tuple[Any, Any]:
    """Where everybody lies along each quasi-identifier, and what a further name costs."""
    columns, steps = [], []
    for attribute in attributes:
        low, high = attribute.positions.min(), attribute.positions.max()
        scaled = (attribute.positions - low) / ((high - low) or 1.0)
        columns.append(scaled[attribute.codes])
        nominal = attribute.order == "nominal" and not attribute.ancestors
        steps.append(1 / max(len(attribute.domain) - 1, 1) if nominal else 0.0)
    places = np.stack(columns, axis=1)
    if not math.isfinite(float(places.sum())):
        raise InputError("ART: quasi-identifiers must be finite numbers")
    return places, np.array(steps)
