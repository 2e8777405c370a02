"""Priors: an adversary who knows how likely each value is for people of each kind.

From "Anonymization with Worst-Case Distribution-Based Background Knowledge" (Wong, Fu, Wang, Xu,
Yu, Pei), sections II and III.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, get_args

from foreknow.adversaries.adversary import HasCounts
from foreknow.adversaries.chances import Chances
from foreknow.adversaries.disclosure import Disclosure, of_value, worst, worst_by_prior
from foreknow.adversaries.facts.facts import Facts
from foreknow.adversaries.priors.disclosure import (
    Gain,
    ReleasePosteriors,
    posteriors_of_release,
    posteriors_with_set,
)
from foreknow.adversaries.priors.exchanges import Amounts
from foreknow.adversaries.priors.settings import PriorsSettings
from foreknow.adversaries.priors.signature_groups import ValueMode
from foreknow.adversaries.priors.table import PriorTable
from foreknow.adversaries.release_counts import counts_of, signatures_of
from foreknow.data.counts import Semantics
from foreknow.data.labels.labels import Label
from foreknow.errors import refuse_other
from foreknow.features import load
from foreknow.needs import Need, Needs
from foreknow_judge.errors import DataError, InputError
from foreknow_judge.frozen_fields import set_fields
from foreknow_judge.numbers import Number, as_fraction


@dataclass(frozen=True, repr=False)
class Priors:
    """An adversary who knows the distribution of sensitive values by some quasi-identifiers.

    The adversary knows the group of every person in the release, but not who has which of its
    values. A world assigns a group's bag to its members; its probability is proportional to the
    product of the priors of the assigned values (equations 1 to 3).

    Parameters
    ----------
    source : path, frame, PriorTable, or list of these
        A table with one row per signature and value: a column for each attribute, ``value`` and
        ``probability``. Each table of a list is one attribute set, judged by itself, as in the
        paper. For an adversary who combines them, give a table of the combination; see `learn`.
    semantics : "joint" or "binary"
        How priors enter. ``joint``: everybody has exactly one value, as in equations 1 to 3.
        ``binary``: a person has each value or not, separately, as in the paper's bound. The joint
        adversary can be surer.
    facts : Facts
        How much the adversary knows beyond the priors: values that the target does not have, other
        people's values, and links. With ruled out values alone, posteriors are exact; with known
        people or links, they are a proven bound, which is never too low.

    Attributes
    ----------
    tables : tuple of PriorTable
        The priors, one table per attribute set.
    fit : object or None
        How the priors were learned from a release; None if they were given.

    Raises
    ------
    DataError
        If a probability is not from 0 to 1, a combination is missing or given twice, or the
        probabilities of a signature add up to more than 1.

    Notes
    -----
    Posteriors are exact, by dynamic programming over people with equal signatures; for a group
    that is too large for that, an upper bound is given. Merging groups can raise a posterior
    (section IV), so no search that merges or divides groups is suitable; `ART` is.

    Examples
    --------
    Alan and Betty (the paper's tables III and IV):

    >>> import pyarrow as pa
    >>> from foreknow.data.release import Release
    >>> priors = Priors(
    ...     pa.table(
    ...         {
    ...             "sex": ["m", "m", "f", "f"],
    ...             "value": ["Lung Cancer", "Hypertension"] * 2,
    ...             "probability": ["0.1", "0.9", "0.003", "0.997"],
    ...         }
    ...     )
    ... )
    >>> table = pa.table(
    ...     {"gid": [1, 1], "sex": ["m", "f"], "disease": ["Lung Cancer", "Hypertension"]}
    ... )
    >>> release = Release.from_groups(table, group="gid", sensitive="disease")
    >>> found = priors.disclosure(release, "Lung Cancer")
    >>> found.exact, found.witness.signature
    (Fraction(997, 1024), {'sex': 'm'})
    """

    source: Any = field(compare=False)
    semantics: ValueMode = "joint"
    facts: Facts = field(default=Facts(), kw_only=True)
    tables: tuple[PriorTable, ...] = field(init=False)
    fit: Any = field(init=False, default=None, compare=False)
    key: ClassVar[str] = "priors"
    settings: ClassVar[Any] = PriorsSettings
    needs: ClassVar[Needs] = frozenset(
        {Need.ONE_VALUE, Need.PEOPLE, Need.NO_WINDOWS, Need.EVERYBODY, Need.FINISHED}
    )
    speaks: ClassVar[None] = None

    def __post_init__(self) -> None:
        """Read the tables of priors; refuse too many known people, and equal attribute sets."""
        refuse_other("Priors: semantics is", self.semantics, get_args(ValueMode))
        if not isinstance(self.facts, Facts):
            raise InputError(f"Priors: facts must be Facts, not {self.facts!r}")
        if self.facts.k + self.facts.m > _MOST_PEOPLE:
            raise InputError(
                f"Priors: on top of them, at most {_MOST_PEOPLE} people are known or linked (k + "
                "m); of more, limit Facts by themselves"
            )
        sources = self.source if isinstance(self.source, (list, tuple)) else [self.source]
        if not sources:
            raise InputError("Priors: give at least one table of probabilities")
        set_fields(self, tables=tuple(map(_table, sources)))
        sets_before: list[frozenset[str]] = []
        for table in self.tables:
            # What was estimated from the release itself may only serve trials.
            if table.estimated:
                set_fields(self, needs=self.needs | {Need.TRIAL})
            if frozenset(table.attributes) in sets_before:
                columns = ", ".join(table.attributes)
                raise DataError(f"{table.name}: there are two tables for {columns}")
            sets_before.append(frozenset(table.attributes))

    @property
    def in_search(self) -> Facts | None:
        """The facts without the priors, which a search can check while it merges groups."""
        return _Searched(*self.amounts) if any(self.amounts) else None

    def under(self, schema: Any) -> Priors:
        """The priors, with their tables read as a schema reads a table.

        Texts that the schema calls missing become null; in the sensitive column, they become the
        label that a release shows in place of a missing value, if it shows one.
        """
        reading = schema.reading
        if not reading.missing:
            return self
        # `schema.missing` is "error", "drop" or that label.
        label = str(schema.missing) if schema.missing not in ("error", "drop") else None
        return replace(
            self, source=[t.spelled(reading, schema.sensitive, label) for t in self.tables]
        )

    @classmethod
    def learn(
        cls,
        source: Any,
        attributes: Sequence[str] | Sequence[Sequence[str]],
        sensitive: str,
        *,
        smoothing: Number = 0.0,
        semantics: ValueMode = "joint",
    ) -> Priors:
        """Learn priors from a table of people: the adversary knows the true distribution.

        Parameters
        ----------
        source : path or frame
            One row per person.
        attributes : sequence of str, or sequence of these
            The columns of a signature; or several attribute sets. ``["sex", "race"]`` is the
            combination of two columns, ``[["sex"], ["race"]]`` are two sets.
        sensitive : str
            The sensitive column.
        smoothing : number
            The number of people, with values as in the whole table, who are added to each
            signature. With 0, a value that nobody of a signature has is impossible there. The true
            frequencies can be worked out from smoothed ones: `publish` keeps all learned priors
            with the owner.
        semantics : "joint" or "binary"

        Examples
        --------
        >>> import pyarrow as pa
        >>> table = pa.table({"sex": list("mmff"), "disease": ["Flu", "HIV", "Flu", "Flu"]})
        >>> Priors.learn(table, ["sex"], "disease").tables[0].prior(("m",), "HIV")
        Fraction(1, 2)
        """
        from foreknow.data.tables.priors import count_chances

        added = as_fraction(smoothing)
        if added < 0:
            raise InputError(f"Priors: smoothing must be 0 or more, not {smoothing}")
        # A list of names is one set of columns; a list of lists is several.
        is_one_set = not attributes or any(isinstance(entry, str) for entry in attributes)
        sets: Any = [attributes] if is_one_set else attributes
        for columns_of_set in sets:
            columns = [] if isinstance(columns_of_set, str) else list(columns_of_set)
            if not columns or not all(isinstance(column, str) for column in columns):
                raise InputError(
                    f"Priors: attributes must be a list of columns, not {columns_of_set!r}"
                )
            if len(set(columns)) < len(columns) or sensitive in columns:
                raise InputError(
                    f"Priors: attributes {', '.join(map(repr, columns))}: one column plays two "
                    f"roles; the sensitive one is {sensitive!r}"
                )
        tables = [PriorTable(*count_chances(source, columns, sensitive, added)) for columns in sets]
        return cls(tables, semantics)

    @classmethod
    def from_release(
        cls,
        release: Any,
        by: Sequence[str],
        people: Any = None,
    ) -> Priors:
        """Learn priors from a release alone, as anybody can: the likeliest for its groups.

        They are learned from the columns of each group's people and its bag, never from who has
        which value, with the smoothing that predicts each group best from all others. These priors
        and the posteriors from them are estimates, so no requirement takes them, even from a file.
        `Learned` and `foreknow.learned_report` attack with them.

        Parameters
        ----------
        release : Release
            A release with the columns of everybody: bucketized, or with `people`.
        by : sequence of str
            The columns of a signature, together.
        people : Microdata, path or frame, optional
            The exact quasi-identifiers and `by` columns of everybody in a generalized release.
            None: only what is published about people is known.

        Returns
        -------
        Priors
            Its `fit` says how it was learned, and how surely.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from foreknow.data.release import Release
        >>> rows = {"job": ["clerk", "cook"] * 30, "disease": ["gout", "flu"] * 30}
        >>> table = pa.table({**rows, "group": [row // 5 for row in range(60)]})
        >>> release = Release.from_groups(table, group="group", sensitive="disease")
        >>> learned = Priors.from_release(release, by=["job"])
        >>> float(learned.tables[0].prior(("clerk",), "gout")) > 0.9, learned.fit.converged
        (True, True)
        """
        table, fit = load("foreknow.features.learned_attacks.fit:likeliest_table")(
            release, by, people
        )
        learned = cls(table)
        set_fields(learned, fit=fit)
        return learned

    def disclosure(self, release: HasCounts, value: Label | None = None) -> Disclosure:
        """Find the highest posterior that some person has the value.

        Parameters
        ----------
        release : Release
            A release with one value per person, whose people keep their attributes.
        value : label, optional
            The sensitive value; the default is the one with the highest posterior.

        Returns
        -------
        Disclosure
            Its `bounded` says whether it is an upper bound instead of exact.

        Raises
        ------
        DataError
            If a signature or value of the release has no prior, or if the priors allow no world of
            a group, so that no posterior is defined.
        """
        disclosure = of_value(self.disclosures(release), value)
        return disclosure or Disclosure(value, 0.0, lambda: Fraction(0))

    def disclosures(self, release: HasCounts) -> dict[Label, Disclosure]:
        """The disclosure of each sensitive value."""
        by_table = [table.disclosures() for table in self._posteriors_by_table(release)]
        worst_of_values: dict[Label, Disclosure] = {}
        for value in counts_of(release).values:
            worst_of_values[value] = worst(disclosures[value] for disclosures in by_table)
        return worst_of_values

    def gain(self, release: HasCounts) -> Gain:
        """The highest ratio of a posterior to its prior.

        A limit on it is the relative form of robustness, which the paper names but does not
        study.
        """
        return Gain(worst_by_prior(self.gains(release).values()))

    def gains(self, release: HasCounts) -> dict[Label, Disclosure]:
        """For each value, the posterior that is the highest relative to its `prior`.

        If too many ratios are too close to find the highest, an upper bound on all of them.
        """
        by_table = [table.gains() for table in self._posteriors_by_table(release)]
        worst_of_values: dict[Label, Disclosure] = {}
        for value in counts_of(release).values:
            worst_of_values[value] = worst_by_prior(gains[value] for gains in by_table)
        return worst_of_values

    def least(self, release: HasCounts, sets: Iterable[Sequence[str]]) -> Fraction | None:
        """The least prior above 0 that a person in a release has for one of the sets of values."""
        signatures = signatures_of("Priors", release)
        lowest_prior: Fraction | None = None
        for table, values in product(self.tables, sets):
            matrix = table.matrix(signatures(table.attributes).labels, values)
            for chances in matrix.fractions:
                prior = min(sum(chances, Fraction(0)), Fraction(1))
                if prior and (lowest_prior is None or prior < lowest_prior):
                    lowest_prior = prior
        return lowest_prior

    def chances(self, release: HasCounts) -> Chances | None:
        """How sure the adversary can be of each person; None for several attribute sets.

        Also None if facts add known people or links: the bound that is given then does not tell
        who can be found out. A cell holds the people of a group with equal attributes: a release
        does not say which of them have the value.
        """
        if len(self.tables) > 1 or self.facts.k or self.facts.m:
            return None
        (posteriors,) = self._posteriors_by_table(release)
        return posteriors.chances()

    def disclosure_of_set(
        self, release: HasCounts, members: Sequence[str], name: Label, *, relative: bool = False
    ) -> Disclosure:
        """Find the highest posterior that a person has any value of a set.

        Under ``joint`` it is the sum of the values' posteriors, and its prior the sum of their
        priors. Under ``binary`` the set is one value, which a person has or not, as likely as its
        values together.

        Parameters
        ----------
        release : Release
        members : sequence of str
            The values, as they print.
        name : label
            The label of the set.
        relative : bool
            Whether to find the posterior with the highest ratio to its prior instead.
        """
        disclosures = []
        for table in self.tables:
            posteriors, codes = posteriors_with_set(
                release, table, self.semantics, self.amounts, members, name
            )
            disclosures.append(posteriors.of_set(codes, name, relative=relative))
        return (worst_by_prior if relative else worst)(disclosures)

    def monotone(self, semantics: Semantics = "single") -> bool:
        """Always False: merging groups can raise a posterior (section IV)."""
        return False

    @classmethod
    def from_settings(cls, settings: Any, folder: Path) -> Priors:
        """Build priors from their table in a policy file; relative paths start at its folder."""
        facts = Facts() if settings.facts is None else Facts.from_settings(settings.facts, folder)
        if settings.tables is not None:
            tables: Any = [PriorTable.from_dict(table.model_dump()) for table in settings.tables]
        else:
            files = [settings.file] if isinstance(settings.file, str) else settings.file
            tables = [str(folder / path) for path in files]
        return cls(tables, settings.semantics, facts=facts)

    def to_dict(self) -> dict[str, Any]:
        """The table of the priors in a policy file, with all probabilities."""
        tables = [table.to_dict() for table in self.tables]
        on_top = self.facts.to_dict() if any(self.amounts) else {}
        return {"priors": {"semantics": self.semantics, "tables": tables, **on_top}}

    @property
    def amounts(self) -> Amounts:
        """How many ruled out values, known people and links the facts add to the priors."""
        return self.facts.l, self.facts.k, self.facts.m

    def _posteriors_by_table(self, release: HasCounts) -> list[ReleasePosteriors]:
        return [
            posteriors_of_release(release, table, self.semantics, self.amounts)
            for table in self.tables
        ]

    def __repr__(self) -> str:
        sets = "; ".join(", ".join(table.attributes) for table in self.tables)
        on_top = f", {self.facts!r}" if any(self.amounts) else ""
        return f"Priors({sets}: {self.semantics}{on_top})"


class _Searched(Facts):
    """The facts on top, as a search asks for them; no limit of others can contradict theirs."""

    # What a method shows to somebody with priors is not proved: Decoy refuses it.
    speaks = None  # type: ignore[assignment]
    of_priors = True
    __eq__, __hash__ = object.__eq__, object.__hash__

    def __repr__(self) -> str:
        return f"Facts(l={self.l}, k={self.k}, m={self.m})"


def _table(source: Any) -> PriorTable:
    """A table of priors as it is, or read from a path or frame."""
    if isinstance(source, PriorTable):
        return source
    from foreknow.data.tables.priors import read_chances

    return PriorTable(*read_chances(source))


# What is known of more people takes too long to be bounded.
_MOST_PEOPLE = 100
