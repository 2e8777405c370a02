"""The posterior of one release of GSA, from all tables that agree with it.

For large tables: not all tables of a bag are gone through, nor all lots. What is asked of the
method is only into which blocks of cells it divides people for a table. The lots of a block are
taken to be uniform over all groupings of the kind that is made of it, which is counted here; that
lots treat people of a cell, and the cells, alike is for other tests to show.
"""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product


def tables_of(release, people):
    """All tables that agree with a release."""
    ways = [sorted(set(permutations(values))) for _, values in release]
    for chosen in product(*ways):
        table = [None] * people
        for (members, _), values in zip(release, chosen, strict=True):
            for person, value in zip(members, values, strict=True):
                table[person] = value
        yield tuple(table)


def weights_of(release, people, blocks_of):
    """table -> how probable it makes the release; `blocks_of(table)`: lists of cells of people."""
    found = Counter()
    for table in tables_of(release, people):
        weight = Fraction(1)
        for cells in blocks_of(table):
            made = [group for group, _ in release if set(group) & set(sum(cells, ()))]
            values = tuple(tuple(table[p] for p in cell) for cell in cells)
            place = {p: (c, i) for c, cell in enumerate(cells) for i, p in enumerate(cell)}
            if any(p not in place for group in made for p in group):
                weight = Fraction(0)
                break
            seated = frozenset(frozenset(place[p] for p in group) for group in made)
            weight *= _share(values, seated)
        if weight:
            found[table] += weight
    return found


@cache
def _share(values, seated):
    """One, divided by the number of groupings with the same bags and as many from each cell."""
    kind = Counter(_looks(group, values) for group in seated)
    return Fraction(1, _count(_as_bags(values), kind))


def _looks(group, values):
    """How many of each cell are in a group, and the bag of its values."""
    cells = Counter(cell for cell, _ in group)
    return tuple(sorted(cells.items())), tuple(sorted(values[cell][i] for cell, i in group))


def _as_bags(values):
    return tuple(tuple(sorted(cell)) for cell in values)


_COUNTS = {}


def _count(bags, kind):
    """In how many ways people of these cells form groups of these looks."""
    key = bags, frozenset(kind.items())
    if key not in _COUNTS:
        everybody = frozenset((c, i) for c, bag in enumerate(bags) for i in range(len(bag)))
        _COUNTS[key] = _ways(everybody, bags, tuple(sorted(kind.items())))
    return _COUNTS[key]


def _ways(left, bags, kind):
    if not left:
        return 1
    first, total = min(left), 0
    rest = sorted(left - {first})
    for looks, number in kind:
        size = len(looks[1])
        fewer = tuple((k, n - (k == looks)) for k, n in kind if n > (k == looks))
        for others in combinations(rest, size - 1) if number else ():
            group = (first, *others)
            if _looks(group, bags) == looks:
                total += _ways(left - set(group), bags, fewer)
    return total
