"""Dealing: what of a release statements touch: pools that are dealt out, bags in them, variables.

A pool is what is dealt independently of all else: under ``single`` the whole bag of a group, under
``set`` and ``multiset`` the occurrences of one value in a group. A variable takes part in one pool:
under ``single`` it is a person, otherwise a person and a value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm, perm

from foreknow.adversaries.statements.nodes import FALSE, Node, Nodes
from foreknow.data.counts import GroupCounts
from foreknow.errors import InternalError, StatementError


def stuck(
    bag: Mapping[int, int],
    size: int,
    semantics: str,
    rows: Iterable[Mapping[int, Fraction]],
) -> int | None:
    """Find what of a group cannot be dealt.

    Parameters
    ----------
    bag : mapping of code -> occurrences
    size : int
        Members of the group.
    semantics : str
    rows : iterable of mapping of code -> weight
        Of those members whom the prior names. Only weights of 0 matter.

    Returns
    -------
    int or None
        A code; -1 for the whole bag, under ``single``; None if there is a way.

    Examples
    --------
    >>> never = Fraction(0)
    >>> stuck({0: 1, 1: 1}, 2, "single", [{0: never}, {0: never}])
    -1
    >>> stuck({0: 1, 1: 2}, 3, "set", [{0: never}, {0: never, 1: never}]) is None
    True
    """
    barred = [{code for code in bag if row.get(code) == 0} for row in rows]
    if semantics == "single":
        allowed = [tuple(code for code in bag if code not in own) for own in barred if own]
        return None if _seated(allowed, bag) else -1
    without = Counter(code for own in barred for code in own)
    for code, count in bag.items():
        if size - without[code] < (1 if semantics == "multiset" else count):
            return code
    return None


def _seated(allowed: list[tuple[int, ...]], bag: Mapping[int, int]) -> bool:
    """Whether everybody can get one of the values that they may have; by augmenting paths."""
    left = dict(bag)
    seated: dict[int, Counter[tuple[int, ...]]] = {code: Counter() for code in bag}
    for own in sorted(allowed, key=len):
        queue = list(own)
        # By value, who would move there from which other value.
        moves: dict[int, tuple[int, tuple[int, ...]] | None] = dict.fromkeys(own)
        for code in queue:
            if left[code]:
                break
            for other in seated[code]:
                for free in other:
                    if free not in moves:
                        moves[free] = (code, other)
                        queue.append(free)
        else:
            return False
        left[code] -= 1
        while (move := moves[code]) is not None:
            seated[code][move[1]] += 1
            code, mover = move
            seated[code] -= Counter([mover])
        seated[code][own] += 1
    return True


# Of a person by position, for the values by code that are given a weight.
Prior = Mapping[int, Mapping[int, Fraction]]


@dataclass(eq=False)
class Slot:
    """Something that a state counts.

    Attributes
    ----------
    number : int
    size : int or None
        Of a pool, the people; under ``multiset`` their mass, which is their number if there is no
        prior. What is counted is those who were dealt to; under ``multiset`` the mass of those
        who are known to get none.
    count : int or None
        Of a bag, the occurrences. What is counted is those that were dealt. Under ``set`` and
        ``multiset``, one slot is both pool and bag.
    spread : bool
        Under ``multiset``: each occurrence goes to anybody.
    shift, mask : int
        Where a monomial holds the count, once one does; see `exact`.
    """

    number: int
    size: int | None
    count: int | None
    spread: bool = False
    shift: int = -1
    mask: int = 0

    @property
    def most(self) -> int:
        """The highest count with which there is still a way to deal."""
        if self.spread:
            return (self.size or 1) - 1
        return min(x for x in (self.size, self.count) if x is not None)

    def ways(self, dealt: int, people: int, more: int) -> int:
        """Ways to deal to so many people asked about, `more` of whom the count will hold, too.

        It matters who gets which occurrence.
        """
        found = 1
        if self.count is not None and not self.spread:
            found = perm(max(self.count - dealt, 0), more)
        if self.size is not None and found:
            found *= self.ways_left(dealt + more, people - more, 0)
        return found

    def ways_left(self, dealt: int, people: int, later: int) -> int:
        """Ways to deal to those of so many people who are not among those asked about later."""
        if self.size is None:
            raise InternalError("people were counted in a bag")
        if self.spread:
            return int((self.size - dealt) ** (self.count or 0))
        return perm(self.size - dealt - later, people - later)


@dataclass(eq=False)
class Pool:
    """Something that is dealt out by itself.

    Attributes
    ----------
    group, code : int
        The group, and the value it deals; -1 for all values, under ``single``.
    slot : Slot
    bags : dict of code -> Slot
    """

    group: int
    code: int
    slot: Slot
    bags: dict[int, Slot]

    @property
    def size(self) -> int:
        """The people, or their mass."""
        return self.slot.size or 0

    @property
    def spread(self) -> bool:
        """Whether each occurrence goes to anybody."""
        return self.slot.spread

    def count(self, code: int) -> int:
        """Occurrences of a value."""
        return self.bags[code].count or 0


@dataclass(eq=False)
class Variable:
    """Which bag somebody is dealt an occurrence of.

    Attributes
    ----------
    person : int
    pool : Pool
    atoms : dict of int -> int
        The code of the value, by atom.
    weights : dict of int -> int
        How likely the prior calls each atom; those not listed, and none of them, `base`.
    mass : int
        Under ``multiset``, this person's share of the pool's size.
    """

    person: int
    pool: Pool
    atoms: dict[int, int] = field(default_factory=dict)
    weights: dict[int, int] = field(default_factory=dict)
    base: int = 1
    mass: int = 1


class Dealing:
    """Pools, variables and atoms of a release, made when first asked for.

    Parameters
    ----------
    counts : GroupCounts
    prior : mapping of person -> code -> weight
    groups : mapping of group -> list of people that the prior names

    Attributes
    ----------
    bias, guards : int
        A monomial plus `bias` has a bit of `guards` where the power of a slot is more than it has.
    """

    def __init__(self, counts: GroupCounts, prior: Prior, groups: Mapping[int, list[int]]) -> None:
        self.counts = counts
        self.nodes = Nodes()
        self.variables: list[Variable] = []
        self.bias = self.guards = 0
        self._slots = self._bits = 0
        self._prior = prior
        self._groups = groups
        self._pools: dict[tuple[int, int], Pool] = {}
        self._variables: dict[tuple[int, int], int | None] = {}
        self._atoms: dict[tuple[int, int], Node] = {}
        self._bags: dict[int, dict[int, int]] = {}

    def bag(self, group: int) -> dict[int, int]:
        """Counts of a group, by code."""
        if group not in self._bags:
            cells = slice(self.counts.offsets[group], self.counts.offsets[group + 1])
            codes, counts = self.counts.codes[cells].tolist(), self.counts.counts[cells].tolist()
            self._bags[group] = dict(zip(codes, counts, strict=True))
        return self._bags[group]

    def atom(self, person: int, group: int, code: int) -> Node:
        """The node of: this member of the group has this value."""
        key = (person, code)
        if key not in self._atoms:
            number = self.variable(person, group, code)
            made = FALSE if number is None else self.nodes.atom(self._new_atom(number, code))
            self._atoms[key] = made
        return self._atoms[key]

    def variable(self, person: int, group: int, code: int) -> int | None:
        """The variable that says whether somebody has a value; None where they cannot."""
        pool = self.pool(group, code)
        if pool is None:
            return None
        name = (person, pool.code)
        if name not in self._variables:
            self._variables[name] = self._new_variable(person, pool)
        return self._variables[name]

    def pool(self, group: int, code: int) -> Pool | None:
        """The pool that deals a value in a group; None where it does not occur."""
        if code not in self.bag(group):
            return None
        key = (group, -1 if self.counts.semantics == "single" else code)
        if key not in self._pools:
            self._pools[key] = self._new_pool(*key)
        return self._pools[key]

    def marks(self, pool: Pool) -> list[Node]:
        """Nodes that make the people whom the prior tells apart in a pool be dealt."""
        if pool.spread:
            return []
        found = []
        for person in self._groups.get(pool.group, ()):
            for code in sorted(self._prior[person].keys() & pool.bags.keys()):
                number = self.variable(person, pool.group, code)
                if number is not None and self.variables[number].weights:
                    found.append(self.nodes.mark(number, self.variables[number].weights))
        return list(dict.fromkeys(found))

    def share(self, slot: Slot) -> None:
        """Give a slot bits in monomials, the highest of which shows that the power is too high."""
        if slot.shift >= 0:
            return
        bits = slot.most.bit_length()
        slot.shift, slot.mask = self._bits, (1 << bits) - 1
        self.bias |= (slot.mask - slot.most) << self._bits
        self.guards |= 1 << (self._bits + bits)
        self._bits += bits + 1

    def check_prior(self) -> None:
        """Refuse a prior that leaves no way to deal something, in whichever group."""
        for group, people in self._groups.items():
            bag, size = self.bag(group), int(self.counts.sizes[group])
            rows = (self._prior[person] for person in people)
            code = stuck(bag, size, self.counts.semantics, rows)
            if code is not None:
                raise self._impossible(group, code)

    def _impossible(self, group: int, code: int) -> StatementError:
        """The error for a pool that the prior leaves no way to deal."""
        what = "the values" if code < 0 else repr(self.counts.values[code])
        label = self.counts.group_label(group)
        return StatementError(f"the prior leaves no way to deal {what} of group {label!r}")

    # ---- making ---------------------------------------------------------------------------

    def _new_atom(self, number: int, code: int) -> int:
        variable = self.variables[number]
        for atom, known in variable.atoms.items():
            if known == code:
                return atom
        atom = self.nodes.new_atom(number)
        variable.atoms[atom] = code
        return atom

    def _new_pool(self, group: int, code: int) -> Pool:
        size, bag = int(self.counts.sizes[group]), self.bag(group)
        if code < 0:
            slot = self._slot(size, None)
            return Pool(group, code, slot, {c: self._slot(None, n) for c, n in bag.items()})
        spread = self.counts.semantics == "multiset"
        if spread:
            scale, given = self._masses(group, code)
            size = int(scale * sum(given.values(), Fraction(size - len(given))))
        slot = self._slot(size, bag[code], spread)
        return Pool(group, code, slot, {code: slot})

    def _slot(self, size: int | None, count: int | None, spread: bool = False) -> Slot:
        self._slots += 1
        return Slot(self._slots - 1, size, count, spread)

    def _masses(self, group: int, code: int) -> tuple[int, dict[int, Fraction]]:
        """Under ``multiset``: what makes weights whole, and the weights that are given."""
        given = {
            person: self._prior[person][code]
            for person in self._groups.get(group, ())
            if code in self._prior[person]
        }
        return lcm(*(weight.denominator for weight in given.values())), given

    def _new_variable(self, person: int, pool: Pool) -> int | None:
        made = Variable(person, pool)
        given = self._prior.get(person, {})
        if pool.spread:
            scale, masses = self._masses(pool.group, pool.code)
            made.mass = int(masses.get(person, Fraction(1)) * scale)
            if not made.mass:
                return None
        number = len(self.variables)
        self.variables.append(made)
        if given and not pool.spread:
            self._weigh(number, given)
        return number

    def _weigh(self, number: int, given: Mapping[int, Fraction]) -> None:
        """Note how the prior weighs the options of a variable, as whole numbers."""
        variable = self.variables[number]
        row = {code: given.get(code, Fraction(1)) for code in variable.pool.bags}
        # Under `single` everybody has one value, so only what differs within the row counts.
        base = Fraction(1)
        if variable.pool.code < 0:
            base = Counter(row.values()).most_common(1)[0][0]
        scale = lcm(base.denominator, *(weight.denominator for weight in row.values()))
        for code, weight in row.items():
            if weight != base or not any(row.values()):  # all zero: nothing is possible
                variable.weights[self._new_atom(number, code)] = int(weight * scale)
        variable.base = int(base * scale) if variable.weights else 1
