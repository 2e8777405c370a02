"""FullDomain: one level of generalization per quasi-identifier, the same for everybody."""

from __future__ import annotations

import logging
import math
import time
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from foreknow.call_hints import hints
from foreknow.data.microdata import Microdata
from foreknow.errors import InternalError, NoSafeRelease, did_you_mean
from foreknow.methods.fulldomain.bestfirst import BestFirst
from foreknow.methods.fulldomain.lattice import SAFE, Lattice, LatticeResult, level_names
from foreknow.methods.fulldomain.losses import OBJECTIVES, Loss
from foreknow.methods.fulldomain.rollup import Rollup, View
from foreknow.methods.fulldomain.search import LatticeSearch, OutOfTime
from foreknow.methods.fulldomain.suppression import Judge, NodeVerdict, numbered
from foreknow.methods.protocol import (
    ADVICE,
    Grouper,
    Grouping,
    Traits,
    asked_policy,
    check_local_suppression,
    nothing_safe,
    share_of_people,
)
from foreknow.numbers import is_real
from foreknow.policy.policy import Policy
from foreknow.settings import Number as NumberSetting
from foreknow_judge.errors import InputError
from foreknow_judge.numbers import Number
from foreknow_judge.policy.settings import Settings

_log = logging.getLogger(__name__)
_FINDS = ("best", "minimal", "chain")
# Of how many nodes all minimal ones are found, and all are judged, for the sake of a report.
_MOST_EXPLAINED, _MOST_JUDGED = 1_000, 200
# Of larger lattices nothing is kept of nodes that were not judged.
_MOST_KEPT = 1_000_000


class FullDomainSettings(Settings):
    """``[publish.fulldomain]`` in a policy file."""

    objective: Literal["ncp", "height"] = "ncp"
    find: Literal["best", "minimal", "chain"] = "best"
    suppression: Annotated[NumberSetting, Field(ge=0, lt=1)] = Decimal(0)
    local_suppression: bool = False
    seconds: Annotated[NumberSetting, Field(gt=0)] | None = None


@hints(ADVICE)
@dataclass(frozen=True)
class FullDomain(Grouper):
    """Full-domain generalization: one level of each hierarchy, the same for everybody.

    All values of one quasi-identifier are published at the same level, for example all ages in
    intervals of ten years. A quasi-identifier without levels is published as it is, or suppressed.
    The result is coarser than that of `Mondrian`, and simpler to explain and to compute with.

    If merging groups never hurts (see `Policy.monotone`), only nodes are judged whose safety does
    not follow from others. Otherwise every node is judged that could be the answer.

    Parameters
    ----------
    objective : {"ncp", "height"}
        The loss to minimize.
    find : {"best", "minimal", "chain"}
        "best" finds the node with the least loss. "minimal" finds all minimal nodes and chooses the
        one with the least loss. "chain" finds one minimal node, by bisection of a chain from the
        bottom of the lattice to its top. A safe node is minimal if no node below it is safe.
    suppression : float
        The share of people who may be suppressed, so that the others need less generalization.
        These people are put together in one group, published without their quasi-identifiers.
    local_suppression : bool
        Whether suppressed people keep the cells that they can: as few cells are suppressed as are
        needed for safe groups, and all cells only if that does not help.
    seconds : float, optional
        Time budget: when it is used up, the best node found so far is taken. None: no limit.

    Raises
    ------
    InputError
        If a parameter has another value.

    Notes
    -----
    At a node, groups that are unsafe by themselves are suppressed. While the release, with all
    suppressed people as one group, is not safe, the smallest other group joins them. With
    suppression a node above a safe one need not be safe: the documentation explains what is pruned
    then. Nothing is random; a seed is accepted and ignored.

    Examples
    --------
    >>> from foreknow import sample
    >>> policy = Policy.load(sample.policy_path())
    >>> FullDomain().search(Microdata(sample.table_path(), policy.schema), policy).levels
    {'age': 1, 'sex': 0, 'zip': 2, 'admitted': 3, 'marital': 2}
    """

    objective: str = "ncp"
    find: str = "best"
    suppression: Number = 0.0
    seconds: float | None = None
    local_suppression: bool = False
    key: ClassVar[str] = "fulldomain"
    settings: ClassVar[type[Settings]] = FullDomainSettings

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError(
                f"FullDomain: there is no objective {self.objective!r}"
                f"{did_you_mean(str(self.objective), OBJECTIVES)}"
            )
        if self.find not in _FINDS:
            raise InputError(
                f"FullDomain: cannot find {self.find!r}{did_you_mean(str(self.find), _FINDS)}"
            )
        share = share_of_people("FullDomain: suppression", self.suppression)
        check_local_suppression("FullDomain", self.local_suppression, share)
        if self.seconds is not None and not (is_real(self.seconds) and self.seconds > 0):
            raise InputError(f"FullDomain: seconds must be above 0, not {self.seconds!r}")

    def grouping(
        self, microdata: Microdata, policy: Policy | None = None, seed: int | None = None
    ) -> Grouping:
        """Group the rows of a table, for publication at the levels of the chosen node."""
        result = self.search(microdata, policy)
        return Grouping(result.groups, result.floors, result, suppressed=result.hidden_people)

    def explained(self, microdata: Microdata, policy: Policy | None, seed: int | None) -> Grouping:
        """Group the rows, and examine more of the lattice for a report."""
        result = self.search(microdata, policy, explain=True)
        return Grouping(result.groups, result.floors, result, suppressed=result.hidden_people)

    def search(
        self, microdata: Microdata, policy: Policy | None = None, *, explain: bool = False
    ) -> LatticeResult:
        """Search the lattice of a table.

        Parameters
        ----------
        microdata : Microdata
            The table.
        policy : Policy
            The policy that the release must hold.
        explain : bool
            Whether to examine more than the answer needs, for a report and while there is time: all
            minimal nodes of a lattice of up to a thousand nodes, and the safety of every node of
            one of up to two hundred.

        Returns
        -------
        LatticeResult

        Raises
        ------
        NoSafeRelease
            If no node is safe, or none was found in time.
        SchemaError
            If the schemas of the table and of the policy differ.
        """
        end_time = None if self.seconds is None else time.monotonic() + self.seconds
        policy = asked_policy(self, policy, microdata)
        microdata = policy.combined(microdata)
        rollup = Rollup(microdata)
        n_nodes = math.prod(top + 1 for top in rollup.tops)
        is_too_large = n_nodes > _MOST_KEPT and self.find == "best"
        lattice = None if is_too_large else Lattice(rollup.tops)
        most_suppressed = int(self._share * rollup.n_people)
        everyone = microdata.everyone()
        weights = policy.options.weights_of(attribute.name for attribute in rollup.attributes)
        by_cell = self.local_suppression
        loss = Loss(rollup, lattice, self.objective, weights, by_cell=by_cell)
        judge = Judge(policy, everyone, most_suppressed, loss if by_cell else None)
        if lattice is None:
            return self._search_by_boxes(
                microdata, rollup, BestFirst(rollup, judge, loss, end_time), judge
            )
        search = LatticeSearch(lattice, rollup, judge, loss, end_time)
        if not search.check(lattice.top) and judge.monotone:
            raise self._error_of_nothing_safe(rollup, judge)
        complete, chosen = True, None
        try:
            chosen = self._find(search)
        except OutOfTime:
            complete, chosen = False, search.best
            _log.info("the time budget is used up")
        if explain and chosen is not None and len(lattice) <= _MOST_EXPLAINED:
            with suppress(OutOfTime):
                search.find_all_minimal()
                if len(lattice) <= _MOST_JUDGED:
                    search.check_all()
        _log.info("%d of %d nodes checked", search.checked.sum(), len(lattice))
        if chosen is None:
            other_nodes = self._unsafe_below_top_in_words(
                int(search.checked.sum()), len(lattice), complete
            )
            raise self._error_of_nothing_safe(rollup, judge, other_nodes)
        suppressed = sorted(search.suppressed.items())
        if judge.monotone:
            # Nodes above a safe one are safe with nobody suppressed: their losses are known.
            safe_as_they_are = np.flatnonzero((search.status == SAFE) & np.isnan(search.losses))
            search.losses[safe_as_they_are] = loss.bounds[safe_as_they_are]
        return self._result(
            microdata,
            rollup,
            *search.judged(chosen),
            status=search.status,
            checked=search.checked,
            losses=search.losses,
            suppressed={lattice.node(number): n_people for number, n_people in suppressed},
            minimal=tuple(map(lattice.node, search.minimal())),
            complete=complete,
            limits_inference=judge.limits_inference,
        )

    def _search_by_boxes(
        self, microdata: Microdata, rollup: Rollup, search: BestFirst, judge: Judge
    ) -> LatticeResult:
        """Search a lattice that is too large to say something about every node.

        The result has a status only for nodes that were checked. If none of them is safe,
        `NoSafeRelease` is raised.
        """
        if not search.check(rollup.tops) and judge.monotone:
            raise self._error_of_nothing_safe(rollup, judge)
        search.search()
        n_nodes = math.prod(top + 1 for top in rollup.tops)
        _log.info("%d of %d nodes checked", len(search.status), n_nodes)
        if search.best is None:
            other_nodes = self._unsafe_below_top_in_words(
                len(search.status), n_nodes, search.complete
            )
            raise self._error_of_nothing_safe(rollup, judge, other_nodes)
        listed = tuple(sorted(search.status))
        return self._result(
            microdata,
            rollup,
            *search.judged(search.best),
            status=np.array([search.status[node] for node in listed], dtype=np.int8),
            checked=np.ones(len(listed), dtype=bool),
            losses=np.array([search.losses.get(node, np.nan) for node in listed]),
            suppressed=dict(sorted(search.suppressed.items())),
            minimal=(),
            complete=search.complete,
            gap=search.gap,
            listed=listed,
            limits_inference=judge.limits_inference,
        )

    def _result(
        self,
        microdata: Microdata,
        rollup: Rollup,
        view: View,
        node_verdict: NodeVerdict,
        **fields: Any,
    ) -> LatticeResult:
        """Make the result of a search that chose the node of this view.

        `fields` are its other fields.
        """
        codes, cells = np.stack(view.codes, axis=1), node_verdict.cells
        group_numbers, outlier_group = numbered(codes, node_verdict.outliers, cells)
        hidden = None
        if cells is not None:
            hidden = np.zeros((int(group_numbers.max()) + 1, codes.shape[1]), dtype=bool)
            hidden[group_numbers] = cells
        hidden_people = 0
        if outlier_group is not None:
            hidden_people = int(view.people[group_numbers == outlier_group].sum())
        attributes, names = [attribute.name for attribute in rollup.attributes], []
        for name, top in zip(attributes, rollup.tops, strict=True):
            grid = microdata.grids.get(name, "exact")
            names.append(level_names(microdata.schema, name, top, grid))
        return LatticeResult(
            attributes=tuple(attributes),
            names=tuple(names),
            tops=rollup.tops,
            chosen=view.levels,
            outlier_group=outlier_group,
            hidden=hidden,
            hidden_people=hidden_people,
            objective=self.objective,
            find=self.find,
            in_cases=microdata.schema.unit == "row",
            **fields,
            _spread=lambda: microdata.rows_of(rollup.spread(view.levels, group_numbers)),
        )

    @property
    def traits(self) -> Traits:
        """The traits of the method: its releases hold the policy at the levels of one node."""
        is_complete = not self._share and self.seconds is None
        return Traits(
            consults_policy=True,
            counted=True,
            deterministic=True,
            symmetric=True,
            minimal=self._is_minimal,
            replay=self._replay if is_complete and self.find != "chain" else None,
            timed=self.seconds is not None,
        )

    def _replay(self, microdata: Microdata, policy: Policy) -> Any:
        from foreknow.methods.fulldomain.replay import Replay

        return Replay.of(self, microdata, policy)

    def _is_minimal(self, policy: Policy) -> bool:
        """True if no node below the chosen one is safe."""
        return policy.monotone() and not self.suppression and self.seconds is None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "objective": self.objective,
            "find": self.find,
            "suppression": float(self._share),
            **({"local_suppression": True} if self.local_suppression else {}),
            "seconds": self.seconds,
        }

    @property
    def _share(self) -> Fraction:
        return share_of_people("suppression", self.suppression)

    def _find(self, search: LatticeSearch) -> int | None:
        if self.find == "chain":
            return search.find_one_minimal()
        if self.find == "best":
            search.find_best()
            return search.best
        search.find_all_minimal()
        minimal = search.minimal()
        return search.least_lossy(minimal) if minimal else None

    def _error_of_nothing_safe(
        self, rollup: Rollup, judge: Judge, below: str = ""
    ) -> NoSafeRelease:
        """The error where the top of the lattice is not safe; and what is said of nodes below."""
        view = rollup.view(rollup.tops)
        problem = judge.failures(view)
        if not problem:
            raise InternalError("one group of everybody was refused, though it fails nothing")
        return judge.no_release(f"{nothing_safe(rollup.n_people, [problem])}{below}", view)

    def _unsafe_below_top_in_words(self, checked: int, n_nodes: int, complete: bool) -> str:
        """A text that says how many nodes below the top were found unsafe as well."""
        if complete and n_nodes == 1:
            return "; the lattice has no other node"
        if complete:
            return f"; nor is any other of the {n_nodes} nodes of the lattice"
        in_time = "" if self.seconds is None else f" within {self.seconds} seconds"
        return (
            f"; and none of the {checked} nodes of the lattice that were judged{in_time} is safe, "
            f"of {n_nodes}"
        )
