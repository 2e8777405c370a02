"""Readings of the paper's algorithms that an adversary who knows them can break: plain references.

A method takes a table (person i has `table[i]`) and lots, and returns the group of each person.
"""

from collections import Counter

from tests.oracle.streamliner_lots import outcomes, release_of, tables


def by_colour(table):
    found = {}
    for person, value in enumerate(table):
        found.setdefault(value, []).append(person)
    return found


def join_late(groups, late, table):
    """Everybody who is left over joins the first smallest group without their colour."""
    for person in late:
        fits = [g for g in groups if table[person] not in {table[p] for p in g}]
        min(fits, key=len).append(person)
    return numbered(groups, len(table))


def numbered(groups, people):
    found = [0] * people
    for number, group in enumerate(groups):
        for person in group:
            found[person] = number
    return found


def rda(l, *, pick="lot", ties="value"):  # noqa: E741
    """RDA; people of a colour by lot or in table order, ties of colours by value or first row."""

    def method(table, lots):
        left = by_colour(table)

        def place(colour):
            return colour if ties == "value" else min(left[colour], default=99)

        def take(colour):
            own = left[colour]
            return own.pop(int(lots.integers(0, len(own), 1)[0]) if pick == "lot" else 0)

        groups = []
        while sum(map(bool, left.values())) >= l:
            first = min(left, key=lambda c: (-len(left[c]), place(c)))
            while left[first] and sum(map(bool, left.values())) >= l:
                others = sorted(
                    (c for c in left if c != first), key=lambda c: (-len(left[c]), place(c))
                )
                groups.append([take(c) for c in [first, *others[: l - 1]]])
        late = [take(c) for c in sorted(left) for _ in range(len(left[c]))]
        return join_late(groups, late, table)

    return method


def best_of(method, runs, cost):
    """The cheapest of several runs, the first of equally cheap ones."""

    def choose(table, lots):
        return min((method(table, lots) for _ in range(runs)), key=cost)

    return choose


def within_groups(groups):
    """A cost on quasi-identifiers: distances within groups, person i at place i."""
    return sum(
        other - one
        for one in range(len(groups))
        for other in range(one + 1, len(groups))
        if groups[one] == groups[other]
    )


def widths(groups):
    """A cost on quasi-identifiers: the width of each member's group, person i at place i."""
    members = {}
    for person, group in enumerate(groups):
        members.setdefault(group, []).append(person)
    return sum((max(own) - min(own)) * len(own) for own in members.values())


def releases_of_best(bag, method, runs, cost):
    """As `releases` of `best_of`, from the chances of one run: of any number of runs.

    The best of k runs costs at least c with the k-th power of the chance that one does; among
    equally cheap groups each has its share of that.
    """
    found = {}
    for table in tables(bag):
        once, costs = Counter(), {}
        for groups, chance in outcomes(lambda lots, t=table: method(t, lots)):
            release = release_of(groups, table)
            once[release] += chance
            costs[release] = cost(groups)
        for release, chance in once.items():
            least = sum(p for r, p in once.items() if costs[r] >= costs[release])
            more = sum(p for r, p in once.items() if costs[r] > costs[release])
            best = chance / (least - more) * (least**runs - more**runs)
            found.setdefault(release, Counter())[table] += best
    return found


def ria(pick):
    """RIA for l = 2: everybody in turn draws another colour, and somebody of it by lot or not.

    Colours and people draw in order. If `pick` is "first", it is the first of the drawn colour
    whom nobody of one's own colour has; colours of whom all are taken are drawn again.
    """

    def method(table, lots):
        left = by_colour(table)
        together = {p: {p} for p in range(len(table))}
        for colour in sorted(left):
            used = set()
            for person in left[colour]:
                free = {c: [p for p in left[c] if p not in used] for c in sorted(left)}
                others = [own for c, own in free.items() if c != colour and own]
                own = others[int(lots.integers(0, len(others), 1)[0])]
                at = int(lots.integers(0, len(own), 1)[0]) if pick == "lot" else 0
                used.add(own[at])
                merged = together[person] | together[own[at]]
                for p in merged:
                    together[p] = merged
        return numbered({tuple(sorted(g)) for g in together.values()}, len(table))

    return method
