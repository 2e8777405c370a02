"""Knowledge as the set of worlds it leaves, and whole languages of it: slow, right by inspection.

A world is the tuple of everybody's value. A set of worlds is a number, with one bit for each world;
two expressions say the same if they leave the same set. Nothing here knows the library.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product


class Space:
    """Some worlds, and where among them a statement holds.

    >>> space = Space([("x", "x"), ("x", "y"), ("y", "x")], "xy")
    >>> bin(space.has(0, "x")), bin(space.everywhere)
    ('0b11', '0b111')
    """

    def __init__(self, worlds: Iterable[tuple], values: Iterable):
        self.worlds = list(worlds)
        self.values = list(values)
        self.people = range(len(self.worlds[0]))
        self.everywhere = (1 << len(self.worlds)) - 1
        self._has = {
            (p, x): self.where(lambda world, p=p, x=x: world[p] == x)
            for p, x in product(self.people, self.values)
        }

    def where(self, holds: Callable[[tuple], bool]) -> int:
        """The worlds in which a statement holds."""
        return sum(1 << i for i, world in enumerate(self.worlds) if holds(world))

    def has(self, person, value) -> int:
        return self._has[person, value]

    def lacks(self, person, value) -> int:
        return self.everywhere & ~self._has[person, value]

    def implies(self, one: int, other: int) -> int:
        """The worlds in which one set implies another."""
        return self.everywhere & ~one | other

    @cached_property
    def atoms(self) -> list[int]:
        return list(self._has.values())

    def posterior(self, known: int, person, value) -> Fraction | None:
        """Probability that somebody has a value where so much is known, if that is possible."""
        if not known:
            return None
        return Fraction((known & self.has(person, value)).bit_count(), known.bit_count())

    def highest(self, language: Iterable[int], value) -> Fraction:
        """The highest posterior of a value, over all people and all that a language can say."""
        found = [self.posterior(known, p, value) for known in language for p in self.people]
        return max(chance for chance in found if chance is not None)


def tables(n_people, values):
    """Every table of so many people, whatever was released: appendix A8's "original datasets"."""
    return Space(product(values, repeat=n_people), values)


def facts(space, target, value, amounts):
    """Language L(l, k, m) of section 4.1.1, to the letter: exactly so many, repeats allowed."""
    l, k, m = amounts  # noqa: E741
    others = [person for person in space.people if person != target]
    found = set()
    for ruled_out in product(space.values, repeat=l):
        for told in product(product(others, space.values), repeat=k):
            known = space.everywhere
            for x in ruled_out:
                known &= space.lacks(target, x)
            for person, y in told:
                known &= space.has(person, y)
            free = [person for person in others if person not in dict(told)]
            for relatives in product(free, repeat=m):
                left = known
                for v in relatives:
                    left &= space.implies(space.has(v, value), space.has(target, value))
                found.add(left)
    return found


def facts_up_to(space, target, value, amounts):
    """The same, with each amount read as "at most"."""
    smaller = product(*(range(amount + 1) for amount in amounts))
    return set().union(*(facts(space, target, value, point) for point in smaller))


def basic_implications(space):
    """Every basic implication: some atoms together imply that at least one of some others holds.

    >>> len(basic_implications(tables(2, "xy")))
    9
    """
    both = _joined(space.atoms, lambda one, other: one & other)
    either = _joined(space.atoms, lambda one, other: one | other)
    return {space.implies(one, other) for one in both for other in either}


def negations(space):
    """Every statement that somebody does not have some value."""
    return {space.everywhere & ~atom for atom in space.atoms}


def conjunctions(language, k):
    """What k members of a language can say together; members may repeat."""
    found = set(language)
    for _ in range(k - 1):
        found = {one & other for one in found for other in language}
    return found


def fewest(language, said, most):
    """How many members of a language it takes to say that, or None if more than `most`.

    Only the sharpest of the members that follow from what is to be said can help.
    """
    weaker = {known for known in language if not said & ~known}
    sharpest = [a for a in weaker if not any(b != a and not b & ~a for b in weaker)]
    for size in range(1, most + 1):
        for chosen in combinations(sharpest, min(size, len(sharpest))):
            left = -1
            for known in chosen:
                left &= known
            if left == said:
                return size
    return None


def worst_implications(space, value, most):
    """Highest posterior of a value for each number of basic implications up to `most`.

    Theorem 9 of "Worst-Case Background Knowledge": those that share the consequent "the target has
    the value", each with one atom before it, do as much as any.
    """
    best = [Fraction(0)] * (most + 1)
    for target in space.people:
        hit = space.has(target, value)
        missed = {space.everywhere & ~hit}
        for k in range(most + 1):
            least = min(left.bit_count() for left in missed)
            if hit:
                best[k] = max(best[k], Fraction(hit.bit_count(), hit.bit_count() + least))
            missed = {left & ~atom for left in missed for atom in space.atoms}
    return best


def _joined(atoms, join):
    """Every non-empty set of atoms, joined."""
    found = set()
    for atom in atoms:
        found |= {join(one, atom) for one in found} | {atom}
    return found
