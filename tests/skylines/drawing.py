"""Random releases of groups."""

import foreknow as fk


def drawn_counts(rng, semantics, sizes, values):
    """Groups of these sizes, whose people have some of these values."""
    if semantics == "single":
        return fk.GroupCounts.from_bags([rng.choice(list(values), n).tolist() for n in sizes])
    most = 2 if semantics == "set" else 3
    people = [
        [[v for v in values for _ in range(rng.integers(0, most))] for _ in range(n)] for n in sizes
    ]
    return fk.GroupCounts.from_people(people, semantics=semantics)
