"""The knowledge skyline straight from its definition: every point of a box, tried."""

from itertools import product


def brute_skyline(box, safe):
    """List the safe points that no other safe point exceeds, sorted.

    Parameters
    ----------
    box : (l, k, m)
        All points up to it are tried; no safe point may lie beyond. The first amount is capped
        (more values to rule out or to co-occur than there are add nothing), the others must
        leave the last layer unsafe, which is checked.
    safe : callable (l, k, m) -> bool

    >>> brute_skyline((1, 3, 3), lambda l, k, m: l + k + m < 2)
    [(0, 0, 1), (0, 1, 0), (1, 0, 0)]
    >>> brute_skyline((1, 3, 3), lambda l, k, m: False)
    []
    """
    inside = {point for point in product(*(range(top + 1) for top in box)) if safe(*point)}
    assert all(k < box[1] and m < box[2] for _, k, m in inside), (box, inside)
    return sorted(point for point in inside if not any(exceeds(other, point) for other in inside))


def exceeds(other, point):
    """Whether another point is at least as great in every amount, and greater in one."""
    return other != point and all(a >= b for a, b in zip(other, point, strict=True))


def box_of(bags, sizes, value):
    """Amounts beyond which nothing can be safe, or nothing changes.

    Who knows all others of a group that has the value, or is told that each of them brings it to
    the target, is certain; so is, all the more, who knows of as many as the smallest such group
    has people.
    """
    most = min(size for size, bag in zip(sizes, bags, strict=True) if value in bag)
    return len({x for bag in bags for x in bag} - {value}), most, most
