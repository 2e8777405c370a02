"""Posteriors from priors: everybody of a 1 M-row release in groups of 10, with 40 signatures.

Time against the size of groups and the number of signatures; against the same dynamic program in
plain Python, one group after another, on a sample; and large groups that are bounded.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import heading, line, medians
from foreknow.adversaries.priors.posteriors import GroupPosteriors, posteriors
from foreknow.adversaries.priors.signature_groups import PriorMatrix, SignatureGroups, matrix
from foreknow.data.arrays import count_pairs

ROWS = 1_000_000
SIZE = 10
SIGNATURES = 40
VALUES = 20
SAMPLE = 200


def release(
    rows: int = ROWS, size: int = SIZE, signatures: int = SIGNATURES, values: int = VALUES
) -> tuple[SignatureGroups, PriorMatrix]:
    """A release whose values are drawn from the priors, in groups at random."""
    random = np.random.default_rng(1)
    priors = random.dirichlet(np.full(values, 2.0), signatures)
    rows -= rows % size
    group = np.arange(rows) // size
    signature = random.integers(0, signatures, rows)
    drawn = random.random(rows)
    value = np.empty(rows, dtype=np.int64)
    for s, row in enumerate(priors):
        own = signature == s
        value[own] = np.minimum(np.searchsorted(np.cumsum(row), drawn[own]), values - 1)
    people = count_pairs(group, signature, rows // size, signatures)
    bags = count_pairs(group, value, rows // size, values)
    return SignatureGroups(*people, *bags), matrix(priors)


def plain(groups: SignatureGroups, group: int, priors: list[list[float]]) -> list[list[float]]:
    """Forward and backward over how many of each value are used, in dictionaries."""
    people = [s for s, n in groups.people_of(group) for _ in range(n)]
    values, counts = zip(*groups.bag_of(group), strict=True)
    forward = [{(0,) * len(values): 1.0}]
    for s in people:
        reached: dict[tuple[int, ...], float] = {}
        for state, weight in forward[-1].items():
            for x, value in enumerate(values):
                if state[x] < counts[x]:
                    after = (*state[:x], state[x] + 1, *state[x + 1 :])
                    reached[after] = reached.get(after, 0.0) + weight * priors[s][value]
        forward.append(reached)
    backward = {tuple(counts): 1.0}
    found = []
    for t in range(len(people) - 1, -1, -1):
        before: dict[tuple[int, ...], float] = {}
        row = [0.0] * len(values)
        for state, weight in forward[t].items():
            for x, value in enumerate(values):
                if state[x] < counts[x]:
                    ahead = backward[(*state[:x], state[x] + 1, *state[x + 1 :])]
                    ahead *= priors[people[t]][value]
                    before[state] = before.get(state, 0.0) + ahead
                    row[x] += weight * ahead
        backward = before
        found.append([weight / sum(row) for weight in row])
    return found[::-1]


def everybody() -> None:
    heading(
        f"(i) posteriors of everybody: {ROWS:,} rows, groups of {SIZE}, {SIGNATURES} signatures, "
        f"{VALUES} values"
    )
    groups, priors = release()
    found = medians(
        3,
        joint=lambda: posteriors(groups, priors),
        binary=lambda: posteriors(groups, priors, "binary"),
    )
    line("joint", found["joint"])
    line("binary", found["binary"])
    result = posteriors(groups, priors)
    print(f"    {len(result.probabilities):,} posteriors, {bounded(result)}")
    against_plain(groups, priors, found["joint"] / groups.n_groups)


def against_plain(groups: SignatureGroups, priors: PriorMatrix, ours: float) -> None:
    heading(f"(j) the same dynamic program in plain Python, {SAMPLE} of these groups")
    table = priors.chances.tolist()
    some = groups.take(np.arange(SAMPLE))
    result = posteriors(some, priors)
    for g in range(SAMPLE):
        last = np.cumsum([n for _, n in some.people_of(g)]) - 1  # one of each signature
        case = result.case_of[g]
        found = result.probabilities[result.offsets[case] : result.offsets[case + 1]]
        if not np.allclose(found, np.array(plain(some, g, table))[last].ravel(), 1e-12, 0):
            raise SystemExit(f"group {g} differs")
    found = medians(3, run=lambda: [plain(some, g, table) for g in range(SAMPLE)])
    each = found["run"] / SAMPLE
    line("1,000 groups in plain Python", 1000 * each)
    line("1,000 groups, of all of them together", 1000 * ours, 1000 * each)
    print(f"    {each / ours:.0f} times as fast")


def by_size() -> None:
    heading(f"(k) by size of groups: 100,000 rows, {SIGNATURES} signatures, {VALUES} values")
    for size in (2, 5, 10, 12, 15, 18):
        groups, priors = release(100_000, size)
        found = medians(1, run=lambda g=groups, p=priors: posteriors(g, p))
        line(f"groups of {size}", found["run"])
    heading(f"(l) by number of signatures: {ROWS:,} rows in groups of {SIZE}, {VALUES} values")
    for signatures in (2, 5, 10, 20, 40, 200):
        groups, priors = release(signatures=signatures)
        found = medians(1, run=lambda g=groups, p=priors: posteriors(g, p))
        cases = len(groups.distinct()[0])
        line(f"{signatures} signatures: {cases:,} different groups", found["run"])


def out_of_reach() -> None:
    heading("(m) one group, nearly everyone of another signature, 20 values: bounds")
    for size in (40, 100, 400):
        groups, priors = release(size, size, 4 * size)
        found = medians(1, run=lambda g=groups, p=priors: posteriors(g, p))
        line(f"{size} people ({bounded(posteriors(groups, priors))})", found["run"])


def bounded(result: GroupPosteriors) -> str:
    return f"{int(result.bounded.sum()):,} of them bounded"


if __name__ == "__main__":
    everybody()
    by_size()
    out_of_reach()
