"""Attack: what an adversary who knows the algorithm finds out about the people of a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foreknow._version import __version__
from foreknow.adversaries.algorithm.beliefs import Beliefs, Case, badness
from foreknow.adversaries.algorithm.observation import What
from foreknow.adversaries.algorithm.search import Reasoned
from foreknow.adversaries.algorithm.worlds import amount_text
from foreknow.data.engines.columns import fetch
from foreknow.data.labels import Label
from foreknow.data.microdata import Microdata
from foreknow.data.sparse import IntArray
from foreknow.errors import DataError, InputError, UnsupportedError
from foreknow.output import write_json_for_owner, write_whole
from foreknow.policy.policy import Policy

FORMAT, FORMAT_VERSION = "foreknow attack", 1
# Cases that are written out.
_MOST = 100
# An interval as wide as this says nothing.
_UNKNOWN = 0.999


@dataclass(frozen=True, eq=False, repr=False)
class Attack:
    """What came of an attack on one's own release; for the owner of the table only.

    Attributes
    ----------
    method : mapping
        The name and settings of the method.
    policy : Policy or None
    n_people, n_groups : int
        Of the release that the method made, as a reader sees it.
    what : {"groups", "table", "nothing"}
        What is seen: who is in which group; a published table, without being told who is in which
        row; or that nothing is published. Of the last two there is one group, of everybody.
    """

    method: Mapping[str, Any]
    policy: Policy | None
    n_people: int
    n_groups: int
    _microdata: Microdata = field(repr=False)
    _reasoned: Reasoned = field(repr=False)
    _limits: Mapping[int, tuple[Fraction, bool]] = field(repr=False)
    _left_out: int | None = field(repr=False, default=None)
    what: What = "groups"

    @property
    def _beliefs(self) -> Beliefs:
        return self._reasoned.beliefs

    @property
    def exact(self) -> bool:
        """Whether posteriors are exact: every world was looked at, or a proof says them."""
        return self._beliefs.exact

    @property
    def how(self) -> str:
        """How: "enumeration", "proof", "bound", "independent worlds" or "chains"."""
        return self._beliefs.how

    @property
    def highest(self) -> Fraction | None:
        """Where a proof says no more (`how` is "bound"): what no posterior exceeds."""
        return self._beliefs.highest

    @property
    def n_worlds(self) -> int:
        """How many worlds the release has, if nobody knew the algorithm."""
        return self._beliefs.worlds.n_worlds

    @property
    def looked(self) -> int:
        """Worlds that were looked at; of chains, their steps; of a proof, none."""
        return self._beliefs.looked

    @property
    def consistent(self) -> int:
        """Worlds among them that the release is possible in; of chains, steps to another world."""
        return self._beliefs.consistent

    @property
    def parts(self) -> int:
        """Of chains: parts of the possible worlds that were met and not found to be joined."""
        return self._beliefs.parts

    @property
    def runs(self) -> int:
        """How often the method was run."""
        return self._beliefs.runs

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """Whom the adversary becomes surer of than the release itself makes them, worst first."""
        found = self._beliefs
        above = (found.high if not found.exact else found.mean) > self._shares - 1e-9
        if found.how in ("proof", "bound"):  # nobody else is above what their group says
            outside = -1 if self._left_out is None else self._left_out
            above &= (found.worlds.group_of_cell == outside)[:, None]
        cells, codes = np.nonzero(above & (found.mean > 0) & (found.worlds.shares > 0))
        cases = [self._case(*pair) for pair in zip(cells.tolist(), codes.tolist(), strict=True)]
        # Of an estimate, whoever seems to reach a limit counts, unless nothing is known of them.
        kept = (
            c
            for c in cases
            if c.surer
            or (c.high - c.low <= _UNKNOWN and c.probability > c.share and self._reaches(c))
        )
        return tuple(sorted(kept, key=badness))

    @property
    def worst(self) -> Case | None:
        """The case of the highest posterior; None if nobody is found out any further."""
        return self.cases[0] if self.cases else None

    @cached_property
    def certain(self) -> tuple[int, ...]:
        """Rows, from 1, of people whose value is certain to the adversary; none of an estimate."""
        return tuple(sorted(row for case in self.cases if case.certain for row in case.rows))

    @cached_property
    def certain_by_release(self) -> tuple[int, ...]:
        """Rows of people whose group has one value only: whoever knows no algorithm is certain.

        They are not among `certain`, and not counted as found: an audit tells of them.
        """
        worlds = self._beliefs.worlds
        alone = np.count_nonzero(worlds.bags, axis=1) == 1
        if self._left_out is not None:
            alone[self._left_out] = False
        return self._all_rows(np.flatnonzero(alone[worlds.group_of_cell]))

    @cached_property
    def left_out(self) -> tuple[int, ...]:
        """Rows of people who are left out of the release."""
        if self._left_out is None:
            return ()
        return self._all_rows(np.flatnonzero(self._beliefs.worlds.group_of_cell == self._left_out))

    @cached_property
    def not_refuted(self) -> tuple[int, ...]:
        """Of an estimate: rows of people who had one value in every possible world met.

        A world in which they have another was looked for and not found, which is no proof.
        """
        return self._all_rows(self._reasoned.not_refuted)

    @cached_property
    def unsettled(self) -> tuple[int, ...]:
        """Of an estimate: rows of people of whom too little is known to say anything.

        The budget did not allow the search for such a world; or their values hardly changed from
        world to world, so that an interval goes from 0 to 1. Of a bound: it does not say that
        they stay below a limit of the policy.
        """
        found = self._beliefs
        cells = self._reasoned.unsettled
        if found.how == "bound":
            cells = np.flatnonzero(self._unproved.any(axis=1))
        elif not found.exact:
            wide = (found.high - found.low > _UNKNOWN) & (found.worlds.shares > 0)
            cells = np.union1d(cells, np.flatnonzero(wide.any(axis=1)))
            cells = np.setdiff1d(cells, self._reasoned.not_refuted)
        return self._all_rows(cells.astype(np.int64))

    @cached_property
    def breaches(self) -> tuple[Case, ...]:
        """The cases that reach a limit of the policy; of an estimate, that probably do."""
        return tuple(case for case in self.cases if self._reaches(case))

    @cached_property
    def _unproved(self) -> NDArray[np.bool_]:
        """Of a bound: which cells it allows to reach a limit that the frequency does not."""
        found = self._beliefs
        some = np.zeros(found.high.shape, dtype=np.bool_)
        for code in self._limits:
            for cell in np.flatnonzero(found.high[:, code] > found.low[:, code]).tolist():
                some[cell, code] = self._is_reached(code, found.highest or Fraction(1))
        return some

    @property
    def found(self) -> bool:
        """Whether the attack found anything: a limit reached, certainty, or a suspicion of it."""
        return bool(self.breaches or self.certain or self.not_refuted)

    def posterior(self, row: int, value: Label) -> Fraction | float:
        """What the adversary believes of one person and value; a float where it is estimated.

        Raises
        ------
        UnsupportedError
            If only a bound is known: see `highest`.

        Parameters
        ----------
        row : int
            In the table, from 1.
        value : label
        """
        people = np.flatnonzero(self._microdata.kept == row - 1)
        if not len(people):
            raise InputError(f"nobody who is published stands in row {row}")
        codes = self._microdata.values.codes
        if value not in codes:
            raise InputError(f"nobody in the table has the sensitive value {value!r}")
        cell, code = int(self._beliefs.worlds.cell_of[people[0]]), codes[value]
        exact = self._beliefs.posterior(cell, code)
        if self.how == "bound":
            raise UnsupportedError(f"it is only known that no posterior exceeds {self.highest}")
        return float(self._beliefs.mean[cell, code]) if exact is None else exact

    def worst_people(self, most: int = 10, names: str | None = None) -> list[dict[str, Any]]:
        """The people whom the adversary becomes surest of, worst first.

        Parameters
        ----------
        most : int
        names : str, optional
            A column that names people; nobody is named unless it is given.

        Returns
        -------
        list of dict
            With ``row``, from 1, or ``name``; ``value``, ``probability``, ``exact``, ``group``.
        """
        named: list[Any] | None = None
        if names is not None:
            column = fetch(self._microdata.source, [names]).column(names)
            named = column.to_pylist()
        found: list[dict[str, Any]] = []
        for case in self.cases:
            for row in case.rows:
                if len(found) >= most:
                    return found
                said = {key: x for key, x in case.to_dict().items() if key != "rows"}
                who = {"row": row} if named is None else {"name": named[row - 1]}
                found.append({**who, **said})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the version of their format; people by their rows."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "foreknow": __version__,
            "table": self._microdata.name,
            "method": dict(self.method),
            "people": self.n_people,
            "groups": self.n_groups,
            "found": self.found,
            "exact": self.exact,
            "how": self.how,
            "highest": None if self.highest is None else str(self.highest),
            "seen": self.what,
            "worlds": amount_text(self.n_worlds),
            "looked": amount_text(self.looked),
            "consistent": amount_text(self.consistent),
            "parts": self.parts,
            "runs": self.runs,
            "certain": list(self.certain),
            "certain_by_release": list(self.certain_by_release),
            "left_out": list(self.left_out),
            "not_refuted": list(self.not_refuted),
            "unsettled": list(self.unsettled),
            "breaches": [case.to_dict() for case in self.breaches[:_MOST]],
            "n_breaches": len(self.breaches),
            "worst": [case.to_dict() for case in self.cases[:_MOST]],
        }

    def to_json(self, path: str | Path) -> None:
        """Write what `to_dict` gives, for the owner only; whole or not at all."""
        write_json_for_owner(path, self.to_dict())

    def to_html(self, path: str | Path) -> None:
        """Write a page that opens offline, for the owner only; whole or not at all."""
        from foreknow.report.pages.attack import attack_page

        write_whole(path, attack_page(self), private=True)

    def _case(self, cell: int, code: int) -> Case:
        found = self._beliefs
        exact, mean = found.posterior(cell, code), float(found.mean[cell, code])
        own = found.share(cell, code)
        if own in (0, 1):
            exact = own  # though others are estimated
        limit = self._limits.get(code)
        return Case(
            self._rows(cell),
            self._microdata.values[code],
            mean,
            exact,
            float(found.low[cell, code]),
            float(found.high[cell, code]),
            self._of_table[code] if self._is_left_out(cell) else own,
            None if limit is None else limit[0],
        )

    @cached_property
    def _of_table(self) -> list[Fraction]:
        """The share of each value in the whole table."""
        each = self._beliefs.worlds.bags.sum(axis=0)
        return [Fraction(int(many), int(each.sum())) for many in each]

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        """What the release itself says of each cell and value."""
        worlds = self._beliefs.worlds
        found = worlds.shares.copy()
        if self._left_out is not None:
            found[worlds.group_of_cell == self._left_out] = [float(x) for x in self._of_table]
        return found

    def _is_left_out(self, cell: int) -> bool:
        return int(self._beliefs.worlds.group_of_cell[cell]) == self._left_out

    def _rows(self, cell: int) -> tuple[int, ...]:
        people = np.flatnonzero(self._beliefs.worlds.cell_of == cell)
        return tuple((self._microdata.kept[people] + 1).tolist())

    def _all_rows(self, cells: IntArray) -> tuple[int, ...]:
        return tuple(sorted(row for cell in cells.tolist() for row in self._rows(cell)))

    def _reaches(self, case: Case) -> bool:
        """Whether a case reaches the limit for its value."""
        probability = case.probability if case.exact is None else case.exact
        return self._is_reached(self._microdata.values.codes[case.value], probability)

    def _is_reached(self, code: int, probability: Fraction | float) -> bool:
        limit = self._limits.get(code)
        if limit is None:
            return False
        return probability > limit[0] if limit[1] else probability >= limit[0]

    def _repr_html_(self) -> str:
        from foreknow.report.pages.attack import attack_summary

        return attack_summary(self)

    def __rich__(self) -> Any:
        from foreknow.report.pages.attack_terminal import attack_table

        return attack_table(self)

    def __repr__(self) -> str:
        name = self.method["name"]
        if self.certain:
            said = f"{len(self.certain)} of {self.n_people} people certain"
        elif self.worst is None:
            seen = "" if self.exact else "seen to be "
            said = f"nobody {seen}found out any further"
            if self.highest is not None:
                said = f"no posterior above {self.highest}"
        else:
            said = f"worst {self.worst!r}"
        doubt = "" if self.exact or self.how == "bound" else ", estimated"
        more = f", {len(self.not_refuted)} not refuted" if self.not_refuted else ""
        more += f", {len(self.unsettled)} unsettled" if self.unsettled else ""
        return f"Attack({name}: {said}{more}{doubt})"


def refuse_other_table(groups: IntArray, microdata: Microdata) -> IntArray:
    """Read the groups of a release that was made of a table.

    Raises
    ------
    DataError
        If they are not one for each row.
    """
    try:
        of_row = np.asarray(groups)
    except ValueError:
        of_row = np.empty(0, dtype=np.int64)
    if of_row.shape != (microdata.n_rows,) or of_row.dtype.kind not in "iu":
        raise DataError(f"groups must be one whole number for each of the {microdata.n_rows} rows")
    return of_row[microdata.kept].astype(np.int64)
