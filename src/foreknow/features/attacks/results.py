"""Attack results: the people about whom an adversary who knows the method becomes surer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from foreknow.call_hints import Plain
from foreknow.data.arrays import IntArray
from foreknow.data.labels.labels import Label, Labels, name_of_set
from foreknow.data.microdata import Microdata
from foreknow.data.tables.columns import fetch
from foreknow.features.attacks.exact_posteriors import Posteriors
from foreknow.features.attacks.observation import What
from foreknow.features.attacks.worlds import ATTACK, ONE_COLUMN_REMEDY, amount_text
from foreknow.needs import Need, require, several_columns
from foreknow.policy.policy import Policy
from foreknow.policy.requirement_counts import RequirementCounts
from foreknow.result import Result
from foreknow.shown_numbers import significant
from foreknow_judge.errors import InputError, UnsupportedError

# Cases that are written out.
_MOST = 100
# An interval as wide as this says nothing.
_UNKNOWN = 0.999


@dataclass(frozen=True)
class PersonBelief(Plain):
    """The posterior of one value for people whom the adversary cannot tell apart."""

    _json_fields = "rows value probability exact interval? group=share limit"

    rows: tuple[int, ...]  # their rows in the table, from 1
    value: Label
    probability: float  # each person's posterior; an estimate if `exact` is None
    exact: Fraction | None
    low: float  # the ends of the posterior's interval; equal if it is exact
    high: float
    # the value's share in their group, as the release shows; in the table for people left out
    share: Fraction
    limit: Fraction | None  # the lowest limit that the policy sets for the value

    @property
    def surer(self) -> bool:
        """True if the adversary becomes surer by knowing the algorithm."""
        return (self.exact or self.low) > self.share

    @property
    def certain(self) -> bool:
        """True if the posterior is exactly 1, though the release itself does not say so."""
        return self.exact == 1 and self.share < 1

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of an estimate."""
        return None if self.exact else (self.low, self.high)

    def __repr__(self) -> str:
        n_people = len(self.rows)
        subject = f"row {self.rows[0]}" if n_people == 1 else f"{n_people} people"
        belief = self.exact or f"about {significant(self.probability, 3)}"
        return f"Case({subject}, {self.value!r}: {belief}, the group says {self.share})"


@dataclass(frozen=True, eq=False, repr=False)
class Attack(Result):
    """The result of an attack on a release of one's own table; for the owner only.

    Attributes
    ----------
    method : mapping
        The name and settings of the method.
    policy : Policy or None
        The policy that the method was given; None: no policy.
    what : {"groups", "nothing"}
        What the adversary sees: who is in which group, or that nothing is published. In the second
        case everybody is in one group.
    """

    format = "foreknow attack"
    _json_fields = (
        "table=_microdata.name method people=n_people groups=n_groups found exact how highest "
        "kept? proof? seen=what worlds=n_worlds_text parts runs settled=n_settled beyond? "
        "proved_not_certain=n_not_certain undecided certain certain_by_release left_out unsettled "
        "perhaps_certain"
    )

    method: Mapping[str, Any]
    policy: Policy | None
    _microdata: Microdata = field(repr=False)
    _posteriors: Posteriors = field(repr=False)
    _limits: Mapping[int, tuple[Fraction, bool]] = field(repr=False)
    _left_out: int | None = field(repr=False, default=None)
    what: What = "groups"
    _names: Sequence[Label] = field(repr=False, default=())  # of the sets that limits are about

    @property
    def in_cases(self) -> bool:
        """True if rows are cases and a person may have several."""
        return self._microdata.schema.unit == "row"

    @property
    def limited(self) -> bool:
        """True if the policy limits how sure anybody may become of a value."""
        return bool(self._limits)

    @property
    def n_people(self) -> int:
        """The number of people of the release, including those who are left out of it."""
        return self._posteriors.worlds.n_people

    @property
    def n_groups(self) -> int:
        """The number of groups that a reader of the release sees."""
        return self._posteriors.worlds.n_groups

    @property
    def exact(self) -> bool:
        """True if posteriors are exact: every world was examined, or a proof gives them."""
        return self._posteriors.is_exact

    @property
    def how(self) -> str:
        """How posteriors were computed.

        One of "enumeration", "parts", "proof", "bound" and "independent worlds". With "parts",
        posteriors are exact for people whose part was examined completely (`n_settled`), and
        estimates for the others.
        """
        return self._posteriors.how

    @property
    def highest(self) -> Fraction | None:
        """The bound that no posterior exceeds, if a proof gives only that (`how` is "bound")."""
        return self._posteriors.highest

    @property
    def kept(self) -> bool:
        """True if a proof shows that no posterior reaches a limit of the policy (`how` is "bound").

        The proof also covers adversaries with the knowledge that the policy names.
        """
        return self._posteriors.kept

    @property
    def proof(self) -> str:
        """The reason for a proof or bound, as one clause; empty if the method gives none."""
        return self._posteriors.proof

    @property
    def parts(self) -> int:
        """The number of independent parts of the groups."""
        return self._posteriors.parts

    @property
    def beyond(self) -> int:
        """The number of people in parts with more assignments than `worlds`.

        More time would not make their posteriors exact.
        """
        return self._posteriors.beyond

    @cached_property
    def n_settled(self) -> int:
        """The number of people with exact posteriors."""
        beliefs = self._posteriors
        return int(beliefs.worlds.cell_sizes[beliefs.known].sum())

    @cached_property
    def n_not_certain(self) -> int:
        """The number of people without exact posteriors who are shown not to be certain.

        Another possible world gives them another value.
        """
        beliefs = self._posteriors
        if beliefs.how == "bound":
            return 0
        is_uncertain = beliefs.worlds.mixed & ~beliefs.suspected & ~beliefs.known
        return int(beliefs.worlds.cell_sizes[is_uncertain].sum())

    @property
    def n_worlds(self) -> int:
        """The number of worlds that are possible for somebody who does not know the method."""
        return self._posteriors.worlds.n_worlds

    @property
    def n_worlds_text(self) -> str:
        """The number of worlds as text; approximate if it is very large."""
        return self._posteriors.worlds.amount

    @property
    def looked(self) -> int:
        """The number of worlds that were examined or drawn; 0 for a proof."""
        return self._posteriors.looked

    @property
    def consistent(self) -> int:
        """The number of examined worlds in which the method would make this release."""
        return self._posteriors.consistent

    @property
    def runs(self) -> int:
        """The number of times the method was run."""
        return self._posteriors.runs

    @cached_property
    def cases(self) -> tuple[PersonBelief, ...]:
        """The people about whom the adversary becomes surer than by the release alone, worst first.

        A case is a cell (people of one group who look alike) with a value that they may have.
        """
        beliefs = self._posteriors
        worlds = beliefs.worlds
        # The release shows no group of people who are left out: the whole table is compared.
        is_left_out = (worlds.group_of_cell == self._left_out)[:, None]
        shares = np.where(is_left_out, beliefs.bags.sum(axis=0) / worlds.n_people, beliefs.shares)
        # A cell may only be surer if its mean is above its share in floats; with fractions there is
        # a margin for rounding, and the fraction decides below.
        has_fractions = np.zeros(worlds.n_cells, dtype=bool)
        has_fractions[list(beliefs.fractions)] = True
        is_surer = beliefs.mean > np.where(
            (has_fractions & beliefs.known)[:, None], shares - 1e-9, shares
        )
        # Left-out people without fractions are looked at one by one below.
        is_surer |= beliefs.known[:, None] & ~has_fractions[:, None] & is_left_out
        if beliefs.how in ("proof", "bound"):  # nobody else is above what their group says
            is_surer &= is_left_out
        cells, codes = np.nonzero(is_surer & (beliefs.mean > 0) & (beliefs.shares > 0))
        cases: list[PersonBelief] = []
        for cell, code in zip(cells.tolist(), codes.tolist(), strict=True):
            case = self._case(cell, code)
            # For an estimate, a case that seems to reach a limit counts, unless nothing is known.
            seems_surer = case.high - case.low <= _UNKNOWN and case.probability > case.share
            if case.surer or (seems_surer and self._reaches(case)):
                cases.append(case)
        # The highest posterior first, then the most that the algorithm adds.
        return tuple(sorted(cases, key=lambda c: (-c.probability, float(c.share), c.rows)))

    @property
    def worst(self) -> PersonBelief | None:
        """The case with the highest posterior; None if there are no cases."""
        return next(iter(self.cases), None)

    @cached_property
    def certain(self) -> tuple[int, ...]:
        """Rows, from 1, of people whose value becomes certain; empty for estimates."""
        rows = set[int]()
        for case in self.cases:
            if case.certain and case.value in self._values:
                rows.update(case.rows)
        return tuple(sorted(rows))

    @cached_property
    def certain_by_release(self) -> tuple[int, ...]:
        """Rows, from 1, of people whose group has one value only, so that no algorithm is needed.

        They are not in `certain` and do not count for `found`: an audit reports them.
        """
        worlds = self._posteriors.worlds
        return self._rows(~worlds.mixed & (worlds.group_of_cell != self._left_out))

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """Rows, from 1, of people who are left out of the release."""
        return self._rows(self._posteriors.worlds.group_of_cell == self._left_out)

    @cached_property
    def unsettled(self) -> tuple[int, ...]:
        """Rows, from 1, of people whose posteriors are not known well enough to decide.

        An estimate does not decide if a person had the same value in every possible world that was
        examined (see `perhaps_certain`), if an interval goes from 0 to 1, or if an interval reaches
        a limit of the policy but its middle does not. A bound does not decide about people whose
        bound reaches a limit of the policy.

        People with exact posteriors are never unsettled.
        """
        beliefs = self._posteriors
        if beliefs.kept:
            return ()
        if beliefs.how == "bound":
            codes_reached = [
                code for code in self._limits if self._is_reached(code, beliefs.most(code))
            ]
            is_unproved = beliefs.high > beliefs.low
            return self._rows(np.flatnonzero(is_unproved[:, codes_reached].any(axis=1)))
        # An interval that is nearly as wide as it can be says nothing of a value of the group.
        shares = beliefs.shares
        is_doubtful = (beliefs.high - beliefs.low > _UNKNOWN) & (shares > 0)
        # The interval reaches the limit, but its middle does not.
        for code, (limit, _) in self._limits.items():
            is_doubtful[:, code] |= (beliefs.high[:, code] > float(limit) - 1e-9) & (
                np.maximum(beliefs.mean, shares)[:, code] < float(limit)
            )
        return self._rows((is_doubtful & ~beliefs.known[:, None]).any(axis=1) | beliefs.suspected)

    @cached_property
    def perhaps_certain(self) -> tuple[int, ...]:
        """The unsettled people who had the same value in every possible world that was examined.

        The other unsettled people are not certain: a possible world has another value for them.
        """
        return self._rows(self._posteriors.suspected)

    @cached_property
    def breaches(self) -> tuple[PersonBelief, ...]:
        """The cases that reach a limit of the policy; for estimates, those that probably do."""
        return tuple(filter(self._reaches, self.cases))

    @property
    def found(self) -> bool:
        """True if a posterior reaches a limit of the policy, or a value becomes certain."""
        return bool(self.breaches or self.certain)

    @property
    def undecided(self) -> bool:
        """True if nothing was found, but some people are unsettled."""
        return not self.found and bool(self.unsettled)

    def posterior(self, row: int, value: Label) -> Fraction | float:
        """The posterior of one person and value; a float if it is estimated.

        Parameters
        ----------
        row : int
            The person's row in the table, from 1.
        value : label
            The sensitive value.

        Raises
        ------
        UnsupportedError
            If only a bound is known: see `highest`.
        """
        published = np.flatnonzero(self._microdata.kept == row - 1)
        if not len(published):
            raise InputError(f"nobody who is published stands in row {row}")
        if value not in self._codes:
            raise InputError(f"nobody in the table has the sensitive value {value!r}")
        if self.how == "bound":
            bound_text = "reaches a limit of the policy" if self.kept else f"exceeds {self.highest}"
            raise UnsupportedError(f"it is only known that no posterior {bound_text}")
        beliefs = self._posteriors
        # Everybody of a cell has the same posterior.
        cell, code = int(beliefs.worlds.cell_of[published[0]]), self._codes[value]
        posterior = beliefs.posterior(cell, code)
        return float(beliefs.mean[cell, code]) if posterior is None else posterior

    def worst_people(self, most: int = 10, names: str | None = None) -> list[dict[str, Any]]:
        """The people about whom the adversary becomes surest, worst first.

        Parameters
        ----------
        most : int
            The largest number of people to return.
        names : str, optional
            A column with people's names, to use in place of rows; None: people are given by row.

        Returns
        -------
        list of dict
            With ``row``, from 1, or ``name``; ``value``, ``probability``, ``exact``, ``group``.
        """
        names_of_rows: list[Any] | None = None
        if names is not None:
            names_of_rows = fetch(self._microdata.source, [names]).column(names).to_pylist()
        people: list[dict[str, Any]] = []
        for case in self.cases:
            belief = {}
            for key, content in case.to_dict().items():
                if key != "rows":
                    belief[key] = content
            # A case has several people; the list ends in the middle of it if it has to.
            for row in case.rows[: most - len(people)]:
                person = {"row": row} if names_of_rows is None else {"name": names_of_rows[row - 1]}
                people.append({**person, **belief})
        return people

    def _content(self) -> dict[str, Any]:
        return {
            **super()._content(),
            "looked": amount_text(self.looked),
            "consistent": amount_text(self.consistent),
            "breaches": self.breaches[:_MOST],
            "n_breaches": len(self.breaches),
            "worst": self.cases[:_MOST],
        }

    def __repr__(self) -> str:
        """The outcome in a few words: the most certain finding first."""
        if self.certain:
            verdict = f"{len(self.certain)} of {self.n_people} people certain"
        elif self.worst is not None:
            verdict = f"worst {self.worst!r}"
        elif self.kept:
            verdict = "no posterior reaches a limit"
        elif self.highest is not None:
            verdict = f"no posterior above {self.highest}"
        else:
            verdict = f"nobody {'' if self.exact else 'seen to be '}found out any further"
        unsettled_text = f", {len(self.unsettled)} unsettled" if self.unsettled else ""
        doubt = ", estimated" if self._posteriors.is_estimated else ""
        return f"Attack({self.method['name']}: {verdict}{unsettled_text}{doubt})"

    def _case(self, cell: int, code: int) -> PersonBelief:
        """The adversary's belief about the people of a cell and a value.

        `code` is the column of a value or, behind the values, of a set of values.
        """
        beliefs, share = self._posteriors, self._posteriors.share(cell, code)
        # What the release itself says is exact, though others are estimated.
        exact = share if share in (0, 1) else beliefs.posterior(cell, code)
        # The release shows no group of people who are left out: the whole table is compared.
        if beliefs.worlds.group_of_cell[cell] == self._left_out:
            share = Fraction(int(beliefs.bags[:, code].sum()), int(beliefs.worlds.bags.sum()))
        limit, _ = self._limits.get(code, (None, False))
        return PersonBelief(
            rows=self._rows(np.array([cell])),
            value=(*self._values, *self._names)[code],
            probability=float(beliefs.mean[cell, code]),
            exact=exact,
            low=float(beliefs.low[cell, code]),
            high=float(beliefs.high[cell, code]),
            share=share,
            limit=limit,
        )

    def _rows(self, cells: IntArray | NDArray[np.bool_]) -> tuple[int, ...]:
        """Rows in the table, from 1, of the people of some cells: their numbers, or a mask."""
        # `order` has the people cell after cell, and `starts` where each cell begins.
        starts, order = self._people
        chosen = np.flatnonzero(cells) if cells.dtype == np.bool_ else cells
        people_of_cells = []
        for cell in chosen.tolist():
            people_of_cells.append(order[starts[cell] : starts[cell + 1]])
        people = np.concatenate([np.empty(0, dtype=np.int64), *people_of_cells])
        return tuple(sorted((self._microdata.kept[people] + 1).tolist()))

    @cached_property
    def _people(self) -> tuple[IntArray, IntArray]:
        """The place at which each cell begins, and the people in order of their cells."""
        worlds = self._posteriors.worlds
        starts = np.append(0, np.cumsum(worlds.cell_sizes))
        return starts, np.argsort(worlds.cell_of, kind="stable")

    @property
    def _values(self) -> Labels:
        return self._microdata.values

    @cached_property
    def _codes(self) -> Mapping[Label, int]:
        """The columns of values and of sets."""
        return {name: code for code, name in enumerate((*self._values, *self._names))}

    def _reaches(self, case: PersonBelief) -> bool:
        return self._is_reached(self._codes[case.value], case.exact or case.probability)

    def _is_reached(self, code: int, probability: Fraction | float) -> bool:
        """True if a probability reaches the limit for a value."""
        if code not in self._limits:
            return False
        limit, inclusive = self._limits[code]
        return probability > limit if inclusive else probability >= limit


class Limits(NamedTuple):
    """The lowest limit for each value, and whether it may be reached; sets are further codes."""

    by_code: dict[int, tuple[Fraction, bool]]
    names: tuple[Label, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ()


def limits_of(policy: Policy | None, microdata: Microdata) -> Limits:
    """The lowest limit of a policy for each value and each set of values."""
    limits: dict[int, tuple[Fraction, bool]] = {}
    sets: dict[tuple[int, ...], Label] = {}
    values = microdata.values
    if policy is not None:
        columns = replace(policy, schema=microdata.schema).looked_at
        require(ATTACK, several_columns(columns), remedies=ONE_COLUMN_REMEDY)
    # A value may have several limits: the lowest counts, and "below" before "at most".
    for requirement in policy.requirements if policy is not None else ():
        windows = {Need.NO_WINDOWS: requirement.of_windows}
        require(ATTACK, windows, subject=requirement.name)
        # Only which values a secret is about matters here, so no people are counted.
        for secret in RequirementCounts.of_nobody(requirement, values, "single").secrets:
            codes = np.flatnonzero(secret.meant.about).tolist()
            if secret.meant.sets and requirement.points:
                name = name_of_set([secret.labels[-1]], map(str, sets.values()))
                sets.setdefault(tuple(codes), name)
                # A set is one more column, behind those of the values.
                codes = [len(values) + list(sets).index(tuple(codes))]
            for code in codes:
                for point in requirement.points:
                    if (
                        point.relative
                    ):  # to priors, but an attack takes all worlds as equally likely
                        relative = {Need.ABSOLUTE: point.limit.key}
                        require(ATTACK, relative, subject=requirement.name)
                    limit = point.below, point.inclusive
                    limits[code] = min(limits.get(code, limit), limit)
    return Limits(limits, tuple(sets.values()), tuple(sets))
