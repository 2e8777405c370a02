"""Readings of the paper's algorithms that an adversary who knows them can break: plain references.

A method takes a table (person i has `table[i]`) and lots, and returns the group of each person.
"""


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


def ria_in_table_order(table, lots):
    """RIA for l = 2: each person takes a partner by lot; one who is used already is drawn again."""
    left = by_colour(table)
    together = {p: {p} for p in range(len(table))}
    for colour in sorted(left):
        used = set()
        for person in left[colour]:
            others = [p for p in range(len(table)) if table[p] != colour and p not in used]
            partner = others[int(lots.integers(0, len(others), 1)[0])]
            used.add(partner)
            merged = together[person] | together[partner]
            for p in merged:
                together[p] = merged
    return numbered({tuple(sorted(g)) for g in together.values()}, len(table))
