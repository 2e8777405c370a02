"""Plain enumeration of the worlds of a release, for an adversary who can run the algorithm.

People are numbered 0, 1, ...; a world is the tuple of everybody's value. An algorithm is a
function from a world to what it publishes, or to a dict of that with probabilities; None is
nothing. Nothing here knows the library.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import permutations, product


def worlds(values, groups):
    """All worlds with the bags of a release; each once.

    >>> worlds("aba", [0, 0, 1])
    [('a', 'b', 'a'), ('b', 'a', 'a')]
    """
    members = defaultdict(list)
    for person, group in enumerate(groups):
        members[group].append(person)
    dealt = [sorted(set(permutations(values[p] for p in own))) for own in members.values()]
    found = []
    for bags in product(*dealt):
        world = [None] * len(values)
        for own, bag in zip(members.values(), bags, strict=True):
            for person, value in zip(own, bag, strict=True):
                world[person] = value
        found.append(tuple(world))
    return found


def posteriors(values, groups, algorithm, release):
    """The posterior of everybody and value, and how many worlds there are and are possible.

    >>> first = lambda world: world[0]
    >>> posteriors("ab", [0, 0], first, "a")
    ({(0, 'a'): Fraction(1, 1), (1, 'b'): Fraction(1, 1)}, 2, 1)
    """
    everything = worlds(values, groups)
    weights = {}
    for world in everything:
        made = algorithm(world)
        chances = made if isinstance(made, dict) else {made: Fraction(1)}
        if chances.get(release):
            weights[world] = chances[release]
    whole = sum(weights.values())
    found = defaultdict(Fraction)
    for world, weight in weights.items():
        for person, value in enumerate(world):
            found[person, value] += weight / whole
    return dict(found), len(everything), len(weights)
