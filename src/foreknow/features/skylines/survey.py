"""Survey: every full-domain generalization of a table, its entropy and its worst disclosure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np

from foreknow.adversaries.adversary import whole_amount
from foreknow.adversaries.disclosure import Disclosure
from foreknow.adversaries.implications.implications import Implications, Negations
from foreknow.call_hints import Plain
from foreknow.data.arrays import FloatArray, IntArray
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.labels import Label
from foreknow.errors import refuse_other
from foreknow.methods.fulldomain.lattice import Lattice, Node, label_of_level
from foreknow.methods.fulldomain.rollup import Rollup
from foreknow.needs import Analysis, Need, refuse_rules, require, several_values
from foreknow.policy.call_arguments import Arguments, hinted_with_keys, microdata_of
from foreknow.policy.policy import Policy
from foreknow.result import Result
from foreknow_judge.errors import InputError

Kind: TypeAlias = Literal["implications", "negations"]

_ADVERSARIES: dict[str, Callable[[int], Implications | Negations]] = {
    "implications": Implications,
    "negations": Negations,
}
SURVEY = Analysis(
    "a survey",
    frozenset({Need.ONE_VALUE, Need.NO_WINDOWS, Need.ABSOLUTE, Need.EVERYBODY, Need.NO_HOUSEHOLDS}),
)
# Every node is counted, judged and shown; nobody would look at more than these.
_MOST_NODES = 10_000
_MOST_PIECES = 200
# Entropies are compared after rounding: equal histograms in another order are equal.
_DIGITS = 12


@dataclass(frozen=True)
class SurveyedNode(Plain):
    """The measures of one generalization in a survey.

    Attributes
    ----------
    levels : Node
        The level of each quasi-identifier; 0 is exact, the last is suppressed.
    groups : int
        The number of groups.
    entropy : float
        The lowest entropy of a group's sensitive values, in bits; 0 if a group has only one value.
    disclosures : tuple of float
        The worst disclosure for each number of pieces in `knowledge`.
    """

    levels: Node
    groups: int
    entropy: float
    disclosures: tuple[float, ...]


@dataclass(frozen=True)
class SurveyedLevel:
    """A level of a quasi-identifier: its number of values, and one of them as an example."""

    values: int
    example: Label


@dataclass(frozen=True, eq=False, repr=False)
class LatticeSurvey(Result):
    """All generalizations of a table, with their groups, least entropies and worst disclosures.

    Attributes
    ----------
    attributes : tuple of str
        The quasi-identifiers.
    tops : Node
        The highest level of each quasi-identifier.
    knowledge : tuple of int
        The surveyed numbers of pieces of knowledge, rising.
    kind : {"implications", "negations"}
        The kind of a piece of knowledge.
    groups, entropy : arrays, shape (nodes,)
        The number of groups of each node, and their least entropy in bits; nodes are in
        lexicographic order.
    disclosures : float64 array, shape (nodes, pieces)
        The worst disclosure of each node by `knowledge`; 1 only if a value is certain.
    levels : tuple of tuples of SurveyedLevel
        The levels of each quasi-identifier.
    people : int
        The number of people of the table.
    name, sensitive : str
        The names of the table and of its sensitive column.
    in_cases : bool
        Whether rows are cases, of which a person may have several.
    """

    format = "foreknow survey"
    _json_fields = "table=name sensitive people attributes tops kind knowledge nodes"

    attributes: tuple[str, ...]
    tops: Node
    knowledge: tuple[int, ...]
    kind: Kind
    groups: IntArray
    entropy: FloatArray
    disclosures: FloatArray
    levels: tuple[tuple[SurveyedLevel, ...], ...]
    people: int
    name: str
    sensitive: str
    _rollup: Rollup
    in_cases: bool = False

    @property
    def n_nodes(self) -> int:
        """The number of nodes of the lattice."""
        return len(self.groups)

    @property
    def n_plain(self) -> int:
        """The number of nodes that disclose a value because a group has only that value."""
        return int(np.count_nonzero(self.entropy == 0))

    @property
    def nodes(self) -> tuple[SurveyedNode, ...]:
        """Every node, in lexicographic order."""
        return tuple(map(self._node, range(self.n_nodes)))

    def best(self, k: int) -> tuple[SurveyedNode, ...]:
        """The node that discloses least for each entropy, by rising entropy.

        A node is a generalization: one level for each quasi-identifier. `k` is one of the numbers
        of pieces in `knowledge`. Figure 6 of "Worst-Case Background Knowledge" plots these; as
        there, nodes in which some group has only one value are left out.
        """
        disclosures = self.disclosures[:, self._column(k)]
        # Sorted by entropy, and then by disclosure: the first of each entropy discloses least.
        order = np.lexsort((disclosures, self.entropy))
        order = order[self.entropy[order] > 0]
        _, first = np.unique(self.entropy[order], return_index=True)
        return tuple(map(self._node, order[first].tolist()))

    def node(self, levels: Iterable[int]) -> SurveyedNode:
        """The node with the given levels."""
        return self._node(self._number(tuple(levels)))

    def disclosure(self, levels: Iterable[int], k: int) -> Disclosure:
        """The worst disclosure of a node, computed again with its exact fraction and witness."""
        node = self._lattice.node(self._number(tuple(levels)))
        return _ADVERSARIES[self.kind](k).disclosure(self._rollup.view(node).counts)

    def __repr__(self) -> str:
        pieces = ", ".join(map(str, self.knowledge))
        return f"LatticeSurvey({self.name}: {self.n_nodes} nodes, {self.kind} k = {pieces})"

    def _node(self, number: int) -> SurveyedNode:
        """The measures of the node with this number; numbers go by lexicographic order."""
        return SurveyedNode(
            levels=self._lattice.node(number),
            groups=int(self.groups[number]),
            entropy=float(self.entropy[number]),
            disclosures=tuple(self.disclosures[number].tolist()),
        )

    def _column(self, k: int) -> int:
        if k not in self.knowledge:
            choices = ", ".join(map(str, self.knowledge))
            raise InputError(f"the survey is about {choices} pieces of knowledge, not {k!r}")
        return self.knowledge.index(k)

    def _number(self, levels: Node) -> int:
        """The number of the node with these levels; refused if there is no such node."""
        is_node = len(levels) == len(self.tops)
        for level, top in zip(levels, self.tops, strict=False):
            is_node = is_node and 0 <= level <= top
        if not is_node:
            raise InputError(f"{levels!r} is no node; levels go from 0 up to {self.tops}")
        return self._lattice.number(levels)

    @property
    def _lattice(self) -> Lattice:
        return Lattice(self.tops)


@hinted_with_keys
def survey(
    microdata: Any,
    knowledge: Iterable[int] = (1, 3, 5, 7, 9, 11),
    *,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    kind: Kind = "implications",
    name: str | None = None,
    **keys: Unpack[Arguments],
) -> LatticeSurvey:
    """Judge every full-domain generalization of a table.

    The result is figure 6 of "Worst-Case Background Knowledge" for any table with hierarchies.
    Rows are counted once; the counts of a node are added up from those of a finer one.

    Parameters
    ----------
    microdata : Microdata, path or frame
        A table with one sensitive value per person.
    knowledge : iterable of int
        The numbers of implications, or negations, to judge; at most 200.
    kind : {"implications", "negations"}
        The kind of knowledge.
    policy : Policy, path or mapping, optional
        Names the roles of the columns, if the table was not read yet; so do `quasi_identifiers`
        and `sensitive`.
    name : str, optional
        The name of the table in reports.

    Raises
    ------
    InputError
        If the lattice has more than 10,000 nodes.
    UnsupportedError
        If people may have several sensitive values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from foreknow.data.microdata import Microdata
    >>> from foreknow.data.schema import Schema
    >>> rows = pa.table({"age": [21, 25, 38, 39], "disease": ["Flu", "Cold", "Flu", "Mumps"]})
    >>> hierarchies = {"age": {"intervals": [10]}}
    >>> schema = Schema(quasi_identifiers=["age"], sensitive="disease", hierarchies=hierarchies)
    >>> found = survey(Microdata(rows, schema), [0, 1], name="four.csv")
    >>> found
    LatticeSurvey(four.csv: 3 nodes, implications k = 0, 1)
    >>> found.nodes[2]
    SurveyedNode(levels=(2,), groups=1, entropy=1.5, disclosures=(0.5, 0.75))
    """
    pieces = _pieces(knowledge)
    refuse_other("there is no knowledge of kind", kind, _ADVERSARIES)
    microdata = microdata_of(microdata, policy, keys)
    require(SURVEY, several_values(microdata.schema.semantics))
    refuse_rules(SURVEY, microdata, SURVEY.needs)
    rollup = Rollup(microdata)
    lattice = Lattice(rollup.tops)
    if len(lattice) > _MOST_NODES:
        raise InputError(
            f"the lattice has {len(lattice):,} nodes, more than {_MOST_NODES:,} for a survey: give "
            f"some of its {len(lattice.tops)} quasi-identifiers fewer levels, or leave some out"
        )
    # By node, in the order of the lattice; disclosures also by number of pieces.
    groups = np.zeros(len(lattice), dtype=np.int64)
    entropy = np.zeros(len(lattice))
    disclosures = np.zeros((len(lattice), len(pieces)))
    for number in np.argsort(lattice.heights, kind="stable").tolist():  # the finer first
        view = rollup.view(lattice.node(number))
        rollup.cache.add(view)
        counts = view.counts
        groups[number] = counts.n_groups
        entropy[number] = least_entropy(counts)
        for position in range(len(pieces) - 1, -1, -1):  # the most first: it serves the others
            disclosure = _ADVERSARIES[kind](pieces[position]).disclosure(counts)
            disclosures[number, position] = _rounded(disclosure, certain=entropy[number] == 0)
        # What was remembered about these counts is not needed again, and would fill memory.
        counts.cache.clear()
    return LatticeSurvey(
        attributes=tuple(microdata.schema.quasi_identifiers),
        tops=rollup.tops,
        knowledge=pieces,
        kind=kind,
        groups=groups,
        entropy=entropy,
        disclosures=disclosures,
        levels=_levels(rollup),
        people=rollup.n_people,
        name=name or microdata.name,
        sensitive=microdata.schema.sensitive,
        _rollup=rollup,
        in_cases=microdata.schema.unit == "row",
    )


def _rounded(disclosure: Disclosure, certain: bool) -> float:
    """The probability of a disclosure, as 1 only if the value is certain.

    A chance just below 1 may be rounded to 1; it becomes the next lower float.
    """
    if disclosure.probability < 1 or certain or disclosure.exact == 1:
        return disclosure.probability
    return float(np.nextafter(1, 0))


def least_entropy(counts: GroupCounts) -> float:
    """The least entropy of the sensitive values of any group, in bits.

    >>> least_entropy(GroupCounts.from_bags(["aabb", "abcdd"]))
    1.0
    """
    # Entropy of counts c in a group of n people: log2(n) - sum(c log2(c)) / n.
    logs = np.bincount(
        counts.cell_groups,
        weights=counts.counts * np.log2(counts.counts),
        minlength=counts.n_groups,
    )
    entropy = np.log2(counts.sizes) - logs / counts.sizes
    # Exactly 0 where a group has one value, whatever rounding says.
    entropy[np.diff(counts.offsets) == 1] = 0
    return float(np.round(entropy.min(), _DIGITS))


def _levels(rollup: Rollup) -> tuple[tuple[SurveyedLevel, ...], ...]:
    """The levels of each column, with their numbers of values and an example of each."""
    levels_of_columns = []
    for attribute, sizes in zip(rollup.attributes, rollup.sizes, strict=True):
        labels = [label_of_level(attribute, level)[0] for level in range(len(sizes))]
        levels_of_columns.append(tuple(map(SurveyedLevel, sizes, labels)))
    return tuple(levels_of_columns)


def _pieces(knowledge: Iterable[int]) -> tuple[int, ...]:
    """The numbers of pieces of knowledge, sorted and each once; refused if none or too large."""
    if isinstance(knowledge, str) or not isinstance(knowledge, Iterable):
        raise InputError(f"knowledge is a list of whole numbers such as [1, 3], not {knowledge!r}")
    pieces = sorted({whole_amount("survey", "knowledge", k) for k in knowledge})
    if not pieces:
        raise InputError("knowledge is empty; give some whole numbers such as 1, 3, 5")
    if pieces[-1] > _MOST_PIECES:
        raise InputError(f"knowledge is at most {_MOST_PIECES} pieces, not {pieces[-1]}")
    return tuple(pieces)
