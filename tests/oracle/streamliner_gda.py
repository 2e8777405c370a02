"""GDA of table 7 of the paper, person by person: a plain reference."""


def gda(values, ranks, l):  # noqa: E741
    """The bag of (value, rank) of each group, in the order in which they are made; None if stuck.

    Equally near colours by value, equally near groups as they are made, equally large colours by
    value.
    """
    waiting = {
        v: sorted(r for w, r in zip(values, ranks, strict=True) if w == v) for v in set(values)
    }
    groups = []
    own = None
    while sum(map(bool, waiting.values())) >= l:
        if own is None or not waiting[own]:
            own = min(waiting, key=lambda v: (-len(waiting[v]), v))
        here = waiting[own][0]
        others = sorted(
            (v for v in waiting if v != own and waiting[v]),
            key=lambda v: (abs(waiting[v][0] - here), v),
        )
        groups.append([(v, waiting[v].pop(0)) for v in [own, *others[: l - 1]]])
    made = [tuple(group) for group in groups]
    for value in sorted(waiting):
        for rank in waiting[value]:
            free = [
                (sum(abs(other - rank) for _, other in made[i]), i)
                for i, group in enumerate(groups)
                if all(v != value for v, _ in group)
            ]
            if not free:
                return None
            groups[min(free)[1]].append((value, rank))
    return [tuple(sorted(group)) for group in groups]
