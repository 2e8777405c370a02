"""Model: people and values of a release as random variables, and statements as formulas of them.

Under ``single`` a variable is a person, and says which value they have. Otherwise it is a person
and a value, and says whether they have it; under ``multiset``, whether they have none of it. A
pool is what is assigned independently of all else: under ``single`` the bag of a group, otherwise
one value in a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import perm
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from foreknow.adversaries.adversary import HasCounts
from foreknow.adversaries.release_counts import counts_of
from foreknow.data.arrays import FloatArray, IntArray
from foreknow.data.counts import GroupCounts, Semantics
from foreknow.data.labels.labels import Label, Labels
from foreknow.data.members import Members
from foreknow.data.person_names import like_name
from foreknow.errors import StatementError, did_you_mean
from foreknow.features.statements import formulas as said
from foreknow.needs import ONE_BY_ONE, refuse_rules
from foreknow_judge.errors import DataError, InputError

# ---- names -----------------------------------------------------------------------------------

_HINTS = 100_000
_AMBIGUOUS = -1


class Unknown(InputError):
    """A text that no label prints as."""


class Names:
    """Labels by the text that they print as.

    The error about an unknown text begins with `missing`, and ends with what `hint` makes of the
    text and all others, such as "did you mean".
    """

    def __init__(
        self,
        labels: Labels,
        missing: str,
        hint: Callable[[str, Sequence[str]], str] = did_you_mean,
    ) -> None:
        """Look up labels by their texts.

        `missing` begins the error about an unknown text. If all labels are texts, they are their
        own lookup; else labels that print alike are noted as ambiguous.
        """
        self.labels = labels
        self._missing, self._hint = missing, hint
        self._by_text: Mapping[Any, int] = labels.codes
        if {*map(type, labels)} - {str}:
            position_of_text: dict[str, int] = {}
            for position, label in enumerate(labels):
                if position_of_text.setdefault(str(label), position) != position:
                    position_of_text[str(label)] = _AMBIGUOUS
            self._by_text = position_of_text

    def code_of_text(self, text: str) -> int:
        """The position of the label that prints as this text.

        Raises `Unknown` if there is none, and `InputError` if several labels print so.
        """
        position = self._by_text.get(text)
        if position is None:
            label_texts = list(map(str, self.labels[:_HINTS]))
            raise Unknown(f"{self._missing} {text!r}{self._hint(text, label_texts)}")
        if position == _AMBIGUOUS:
            candidates = []
            for label in self.labels:
                if str(label) == text:
                    candidates.append(repr(label))
            raise InputError(
                f"{text!r} may mean {' or '.join(candidates)}; make their labels differ"
            )
        return position

    def of_label(self, label: Label) -> int:
        """The position of a label or, if there is no such label, of the one that prints like it."""
        try:
            position = self.labels.codes.get(label)
        except TypeError:
            position = None
        return self.code_of_text(str(label)) if position is None else position


# ---- formulas over atoms -----------------------------------------------------------------------

Kind: TypeAlias = Literal["true", "false", "atom", "not", "all", "any"]
Node: TypeAlias = int

TRUE: Node = 0
FALSE: Node = 1
_NONE: frozenset[int] = frozenset()


class Nodes:
    """Formulas over atoms, each kept once: literals, conjunctions and disjunctions.

    An atom says that a variable takes one of its options; it takes at most one.
    """

    def __init__(self) -> None:
        """Begin with the formulas "true" (node 0) and "false" (node 1).

        Lists have an entry for each node: its kind, its parts, and the variables and atoms that it
        mentions.
        """
        self.kinds: list[Kind] = ["true", "false"]
        self.kids: list[tuple[int, ...]] = [(), ()]  # nodes, or the atom
        self.variables = [_NONE, _NONE]  # that each node mentions
        self.atoms = [_NONE, _NONE]
        self.owner: list[int] = []  # the variable of each atom
        self._known: dict[tuple[Kind, tuple[int, ...]], Node] = {}
        self._negated: dict[Node, Node] = {TRUE: FALSE, FALSE: TRUE}
        self._given: dict[tuple[Node, int, int], Node] = {}

    def atom(self, atom: int) -> Node:
        """The node that holds where the atom does."""
        return self._make("atom", (atom,), frozenset((self.owner[atom],)), frozenset((atom,)))

    def all_of(self, kids: Iterable[Node]) -> Node:
        """Conjunction."""
        return self._join("all", kids, TRUE, FALSE)

    def some_of(self, kids: Iterable[Node]) -> Node:
        """Disjunction."""
        return self._join("any", kids, FALSE, TRUE)

    def alike(self, kids: Sequence[Node]) -> Node:
        """The node that holds where all kids hold, or none does."""
        return self.some_of((self.all_of(kids), self.all_of(map(self.negate, kids))))

    def negate(self, node: Node) -> Node:
        """The node of the negation, with "not" moved inwards to the atoms (De Morgan's laws)."""
        if node not in self._negated:
            kind, children = self.kinds[node], self.kids[node]
            if kind == "atom":
                negation = self._make("not", children, self.variables[node], self.atoms[node])
            else:
                negation = (self.some_of if kind == "all" else self.all_of)(
                    map(self.negate, children)
                )
            self._negated[node] = negation
            self._negated.setdefault(negation, node)
        return self._negated[node]

    def parts(self, node: Node) -> tuple[Node, ...]:
        """The nodes that a node is the conjunction of; none if it is true."""
        if self.kinds[node] == "all":
            return self.kids[node]
        return () if node == TRUE else (node,)

    def given(self, node: Node, variable: int, atom: int) -> Node:
        """The rest of a formula once a variable is assigned: `atom` holds, or none if -1.

        A variable takes at most one of its atoms, so the others of the variable become false.
        """
        if variable not in self.variables[node]:
            return node
        key = (node, variable, atom)
        if key not in self._given:
            kind, children = self.kinds[node], self.kids[node]
            if kind in ("atom", "not"):
                # A literal of this variable is decided: "atom" is true if it is the one, "not" if
                # it is not.
                remainder = TRUE if (children[0] == atom) == (kind == "atom") else FALSE
            else:
                join = self.all_of if kind == "all" else self.some_of
                variables_of = self.variables  # most kids do not mention it
                remainder = join(
                    self.given(child, variable, atom) if variable in variables_of[child] else child
                    for child in children
                )
            self._given[key] = remainder
        return self._given[key]

    def _join(
        self, kind: Literal["all", "any"], children: Iterable[Node], neutral: Node, absorbing: Node
    ) -> Node:
        """The conjunction ("all") or disjunction ("any") of parts, simplified.

        A part that is itself such a junction is merged. `neutral` parts drop out, and an
        `absorbing` part decides; so does a part beside its negation.
        """
        joined: set[Node] = set()
        for child in children:
            if self.kinds[child] == kind:
                joined.update(self.kids[child])
            else:
                joined.add(child)
        joined.discard(neutral)
        if absorbing in joined or any(self._negated.get(child) in joined for child in joined):
            return absorbing
        if len(joined) < 2:
            return joined.pop() if joined else neutral
        variables = _NONE.union(*(self.variables[child] for child in joined))
        atoms = _NONE.union(*(self.atoms[child] for child in joined))
        return self._make(kind, tuple(sorted(joined)), variables, atoms)

    def _make(
        self, kind: Kind, kids: tuple[int, ...], variables: frozenset[int], atoms: frozenset[int]
    ) -> Node:
        """The node of this kind with these parts; made if new, so equal formulas are one.

        `variables` and `atoms` are those that the parts mention.
        """
        node = self._known.get((kind, kids))
        if node is None:
            node = self._known[kind, kids] = len(self.kinds)
            self.kinds.append(kind)
            self.kids.append(kids)
            self.variables.append(variables)
            self.atoms.append(atoms)
        return node


# ---- variables ---------------------------------------------------------------------------------


class Symbol(NamedTuple):
    """A variable of monomials: its power counts people of a pool about whom something is known."""

    highest_power: int  # no higher power has a moment
    moment: Callable[[int], int]
    shift: int
    mask: int


@dataclass(eq=False)
class Pool:
    """Values that are assigned independently of all others; `code` is -1 for all of a group."""

    group: int
    code: int
    size: int  # people
    symbol: int
    counts: dict[int, int]  # occurrences by code
    bags: dict[int, int] = field(default_factory=dict)  # symbols by code, under ``single``


@dataclass(eq=False)
class Variable:
    """Which value of a pool a person has."""

    person: int
    pool: Pool
    options: dict[int, int] = field(default_factory=dict)  # the code of each atom


class Atom(NamedTuple):
    """The power that an atom adds to a monomial, and its symbols."""

    power: int
    symbols: frozenset[int]


class OneEach:
    """How values are dealt out to the people of a group who have one each: all values together.

    In the polynomials that count worlds (see `exact_chance`), x^k stands for k people whom
    statements settle. Later, the symbol's moment takes the place of x^k: the number of ways to deal
    out the rest. All moments of a group are multiplied by one factor, `perm(size, highest_power)`
    over all ways, so that they are whole numbers.
    """

    def pool_code(self, code: int) -> int:
        """The `code` of the pool that a value belongs to."""
        return -1

    def new_pool(self, model: Model, group: int, code: int, highest_power: int) -> Pool:
        """A new pool of a group; no monomial of this group has a higher power than this."""
        size, bag = int(model.counts.sizes[group]), model.bag(group)
        # k people are settled; places for the others, up to the highest power, are filled in any
        # order. For a value with n holders: k of the holders are settled.
        symbol = model.symbol(highest_power, lambda k: perm(size - k, highest_power - k))
        bags = {c: model.symbol(n, partial(perm, n)) for c, n in bag.items()}
        return Pool(group, code, size, symbol, bag, bags)

    def has(self, atom: Node, nodes: Nodes) -> Node:
        """The node that says that a person has the value of an atom."""
        return atom

    def takes_one(self, counts: Sequence[int], people: int) -> bool:
        """True if each of so many people has a value of the pool that occurs so often."""
        return sum(counts) == people

    def chance(self, people: int, count: int) -> Fraction:
        """The chance that a person has a value which occurs `count` times among so many people."""
        return Fraction(count, people)

    def shares(self, people: IntArray, counts: IntArray) -> FloatArray:
        """The chances of several values as floats."""
        return counts / people


class Sets(OneEach):
    """How values are dealt out where a person may have several: each value by itself."""

    def pool_code(self, code: int) -> int:
        """The value itself."""
        return code

    def new_pool(self, model: Model, group: int, code: int, highest_power: int) -> Pool:
        """A new pool of one value."""
        size, count = int(model.counts.sizes[group]), model.bag(group)[code]
        # Here, a settled person is one who has the value: k of its `count` holders are settled.
        symbol = model.symbol(
            min(highest_power, count), lambda k: perm(count, k) * perm(size - k, highest_power - k)
        )
        return Pool(group, code, size, symbol, {code: count})


class Multisets(Sets):
    """How values are dealt out one occurrence at a time, each to a random person.

    An atom says that a person has none of the occurrences.
    """

    def new_pool(self, model: Model, group: int, code: int, highest_power: int) -> Pool:
        """A new pool of one value."""
        size, count = int(model.counts.sizes[group]), model.bag(group)[code]
        # Here, a settled person is one who does not have the value, so each of its `count`
        # occurrences goes to one of the other size - k. At least one person must have it.
        symbol = model.symbol(size - 1, lambda k: (size - k) ** count)
        return Pool(group, code, size, symbol, {code: count})

    def has(self, atom: Node, nodes: Nodes) -> Node:
        """The node that denies the atom."""
        return nodes.negate(atom)

    def takes_one(self, counts: Sequence[int], people: int) -> bool:
        """False: one person may have all occurrences."""
        return False

    def chance(self, people: int, count: int) -> Fraction:
        """The chance that one of the occurrences goes to a person."""
        return 1 - Fraction(people - 1, people) ** count

    def shares(self, people: IntArray, counts: IntArray) -> FloatArray:
        """The chances, 1 - (1 - 1/people)^counts, without losing digits where it is near 0."""
        with np.errstate(divide="ignore"):
            shares: FloatArray = -np.expm1(counts * np.log1p(-1 / people))
        return shares


_DEALT: dict[Semantics, OneEach] = {"single": OneEach(), "set": Sets(), "multiset": Multisets()}


class Model:
    """A release and statements; variables are made when first asked for.

    `bias` and `guards` find monomials without a moment: plus `bias`, they have a bit of `guards`.
    """

    def __init__(
        self,
        release: HasCounts,
        statements: Sequence[said.Formula],
        texts: Sequence[str | None],
    ) -> None:
        """Read the statements about a release; texts (None: made in Python) are for errors."""
        self.counts = counts_of(release)
        refuse_rules("Statements", self.counts, ONE_BY_ONE)
        self.dealt = _DEALT[self.counts.semantics]
        self.members = _members(release, self.counts)
        self.people = Names(self.members.names, "nobody in the release is called", like_name)
        self.values = Names(self.counts.values, "nobody in the release has the value")
        # By group, the people whom statements name, in order.
        self.named: dict[int, dict[int, None]] = {}
        self.nodes = Nodes()
        self.variables: list[Variable] = []
        self.symbols: list[Symbol] = []
        self.atoms: list[Atom] = []
        self.bias = self.guards = self._bits = 0
        self._pools: dict[tuple[int, int], Pool] = {}
        self._variables: dict[tuple[int, int], int] = {}
        self._bags: dict[int, dict[int, int]] = {}
        for number, (formula, text) in enumerate(zip(statements, texts, strict=True), 1):
            self._note_people(formula, f"statement {number}", text)
        self.said = list(map(self._node, statements))

    def group_of(self, person: int) -> int:
        """The group of a person by position."""
        return int(self.members.groups[person])

    def bag(self, group: int) -> dict[int, int]:
        """Counts of a group, by code."""
        if group not in self._bags:
            cells = slice(self.counts.offsets[group], self.counts.offsets[group + 1])
            codes, counts = self.counts.codes[cells].tolist(), self.counts.counts[cells].tolist()
            self._bags[group] = dict(zip(codes, counts, strict=True))
        return self._bags[group]

    def pool(self, group: int, code: int) -> Pool | None:
        """The pool that a value in a group belongs to; None where the value does not occur.

        A pool is what is dealt out independently of all else: all values of a group where people
        have one value each, otherwise each value by itself.
        """
        if code not in self.bag(group):
            return None
        key = (group, self.dealt.pool_code(code))
        if key not in self._pools:
            # Whoever is settled: those named, and one who is asked about.
            n_settled = min(int(self.counts.sizes[group]), len(self.named.get(group, ())) + 1)
            self._pools[key] = self.dealt.new_pool(self, *key, n_settled)
        return self._pools[key]

    def has(self, person: int, code: int) -> Node:
        """The node that says that a person has a value."""
        number = self.variable_index(person, code)
        if number is None:
            return FALSE
        return self.dealt.has(self.nodes.atom(self._atom(number, code)), self.nodes)

    def variable_index(self, person: int, code: int) -> int | None:
        """The index in `variables` of the variable for this person and value, made if it is new.

        None if the person's group lacks the value.
        """
        pool = self.pool(self.group_of(person), code)
        if pool is None:
            return None
        key = (person, pool.code)
        if key not in self._variables:
            self._variables[key] = len(self.variables)
            self.variables.append(Variable(person, pool))
        return self._variables[key]

    def pools(self, node: Node) -> list[Pool]:
        """The pools that a node mentions, each once."""
        pools = (self.variables[v].pool for v in sorted(self.nodes.variables[node]))
        return list(dict.fromkeys(pools))

    # ---- reading --------------------------------------------------------------------------

    def _note_people(self, formula: said.Formula, where: str, text: str | None) -> None:
        """Note in `named` the people of a formula; refuse people and values not in the release.

        `where` names the statement in errors, and `text` (None: made in Python) shows the place.
        """
        for subformula in said.walk(formula):
            for name in (
                subformula.people if isinstance(subformula, said.Same) else (subformula.person,)
            ):
                with _pointing(where, text, "person", name):
                    person = self.people.code_of_text(name)
                self.named.setdefault(self.group_of(person), {})[person] = None
            if isinstance(subformula, said.Has):
                with _pointing(where, text, "value", subformula.value):
                    self.values.code_of_text(subformula.value)

    def _node(self, formula: said.Formula) -> Node:
        """The node of a formula, in terms of atoms: "this person has this value"."""
        nodes = self.nodes
        match formula:
            case said.Has(person, value):
                return self.has(self.people.code_of_text(person), self.values.code_of_text(value))
            case said.Not(part):
                return nodes.negate(self._node(part))
            case said.And(parts):
                return nodes.all_of(list(map(self._node, parts)))
            case said.Or(parts):
                return nodes.some_of(list(map(self._node, parts)))
            case said.Implies(first, second):
                return nodes.some_of((nodes.negate(self._node(first)), self._node(second)))
            case said.Iff(first, second):
                return nodes.alike((self._node(first), self._node(second)))
            case said.Same(names):
                # The same value or values: of each value, all of them have it or none does.
                people = list(map(self.people.code_of_text, names))
                codes = set[int]()
                for number in people:
                    codes.update(self.bag(self.group_of(number)))
                equal_codes = []
                for code in sorted(codes):
                    have_code = [self.has(person, code) for person in people]
                    equal_codes.append(nodes.alike(have_code))
                return nodes.all_of(equal_codes)

    # ---- making ---------------------------------------------------------------------------

    def symbol(self, highest_power: int, moment: Callable[[int], int]) -> int:
        """Make a symbol for powers up to `highest_power`, and return its number.

        The powers of all symbols are packed into one whole number, some bits for each. Adding
        `bias` to such a number sets a bit of `guards` just if a power is too high.
        """
        bits = highest_power.bit_length()
        mask = (1 << bits) - 1
        # One bit more than the power needs, for the guard.
        self.symbols.append(Symbol(highest_power, moment, self._bits, mask))
        self.bias |= (mask - highest_power) << self._bits
        self.guards |= 1 << (self._bits + bits)
        self._bits += bits + 1
        return len(self.symbols) - 1

    def _atom(self, number: int, code: int) -> int:
        """The atom that says that a variable takes this value; made if it is new.

        A variable is what a named person has of a pool.
        """
        variable = self.variables[number]
        for atom, option_code in variable.options.items():
            if option_code == code:
                return atom
        pool = variable.pool
        # It counts once for the pool and, where a pool has several values, once for its value.
        symbols = frozenset((pool.symbol, pool.bags.get(code, pool.symbol)))
        self.atoms.append(Atom(sum(1 << self.symbols[s].shift for s in symbols), symbols))
        self.nodes.owner.append(number)
        variable.options[len(self.atoms) - 1] = code
        return len(self.atoms) - 1


def _members(release: HasCounts, counts: GroupCounts) -> Members:
    """The members of a release, by name and group; refused if the release names nobody."""
    members = getattr(release, "members", None)  # counts have none
    if not isinstance(members, Members):
        raise DataError(
            "statements are about people by name, and counts name nobody; make a release "
            "with person=, as in Release.from_groups(table, group=..., sensitive=..., "
            "person=...)"
        )
    if not np.array_equal(np.bincount(members.groups, minlength=counts.n_groups), counts.sizes):
        raise DataError("the members that the release names are not those that it counts")
    return members


@contextmanager
def _pointing(
    where: str, text: str | None, role: Literal["person", "value"], name: str
) -> Iterator[None]:
    """While open, turn an error about a name into one that shows where the statement has it."""
    try:
        yield
    except InputError as error:
        offset = None if text is None else said.offset_of_name(text, role, name)
        raise StatementError(f"{where}: {error}", text, offset) from None
