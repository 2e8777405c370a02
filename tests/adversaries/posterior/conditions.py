"""Quick conditions for r-robustness: the paper's theorem 1, and sound ones on ratios (errata, 3).

The paper's condition is sound, and tight, under the binary reading; under the joint reading, its
own equations (1) to (3), it is not. Nothing in the library uses them: ART judges by posteriors,
and by a finer condition on ratios in `methods/art/judge.py`.
"""

from fractions import Fraction


def delta_ceil(size, r, highest):
    """Greatest deviation that theorem 1 allows (the paper's definition 8)."""
    if highest == 1:
        return Fraction(0)
    odds = highest / (1 - highest)
    return (size - r) * highest / (odds * (r - 1) + size - 1)


def delta_condition(lowest, highest, size, r):
    """Theorem 1 (corollary 1) for a value that occurs once."""
    return size >= r > 1 and highest - lowest <= delta_ceil(size, r, highest)


def odds_condition(lowest, highest, copies, size, r):
    """Binary reading: ``(N - c) o_min >= (r - 1) c o_max``, multiplied out."""
    spare = (size - copies) * lowest * (1 - highest)
    return copies < size and spare >= (r - 1) * copies * highest * (1 - lowest)


def ratios(chances):
    """For each value the least prior in a group over the greatest; 0 where all are 0."""
    columns = list(zip(*chances, strict=True))
    return [min(column) / max(column) if any(column) else Fraction(0) for column in columns]


def least_ratio_condition(rho, counts, r):
    """Joint reading: ``rho_x min(rho_y) (N - c_x) >= (r - 1) c_x`` for every x."""
    size = sum(counts)
    return r > 1 and all(
        min((b for y, b in enumerate(rho) if y != x), default=0) * own * (size - c) >= (r - 1) * c
        for x, (own, c) in enumerate(zip(rho, counts, strict=True))
    )


def ratio_condition(rho, counts, r):
    """Joint reading: ``rho_x sum(c_y rho_y for y != x) >= (r - 1) c_x`` for every x."""
    total = sum(c * own for c, own in zip(counts, rho, strict=True))
    return r > 1 and all(
        own * (total - c * own) >= (r - 1) * c for own, c in zip(rho, counts, strict=True)
    )
