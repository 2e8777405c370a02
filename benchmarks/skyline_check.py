"""Figure 7 of the skyline paper redrawn: judging one value, against its dynamic program (A6).

Groups of 100 people, 20 values, 1 M to 5 M rows, as in the paper. The dynamic program is the best
that NumPy gave: its tables of T and V are made beforehand and not counted; a step sets all places
of the two tables for 1,024 groups at once (as many scans side by side, joined by the same step at
the end), which is 2 to 3 times faster than one scan, and 20 times where the tables are small. It
scans all groups, as in the paper. Both must find the same probability. Seconds are of the
processor, as in the paper, so that a busy machine does not favour what is short. `--quick` stops at
1 M rows.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

import foreknow as fk
from benchmarks.audit_five_million import ROWS, SIZE, make
from benchmarks.measure import heading, line, processor_medians

VALUE = "disease 3"
SIDE_BY_SIDE = 1024
REPEATS = 5
AMOUNTS = (10, 10, 10)
PAPER = {"rows": "140", "k 32": "1,000"}  # what its text states; the rest is a plot

Tables = tuple[NDArray[np.float64], NDArray[np.float64]]


# ---- the dynamic program ------------------------------------------------------------------------


def tables_of(counts: fk.GroupCounts, value: str, amounts: tuple[int, int, int]) -> Tables:
    """T(l, p)V(q, p + 1) and V(q, p) of all groups, shape (steps, k + 1, m + 1, SIDE_BY_SIDE)."""
    l, k, m = amounts  # noqa: E741
    held = np.zeros((counts.n_groups, counts.n_values), dtype=np.int64)
    held[counts.cell_groups, counts.codes] = counts.counts
    code = counts.code(value)
    others = np.sort(np.delete(held, code, axis=1), axis=1)[:, ::-1]

    def steps(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        # Groups without the value fill the last step; they change nothing.
        filled = np.append(numbers, np.zeros(-len(numbers) % SIDE_BY_SIDE, dtype=np.int64))
        return filled.reshape(-1, 1, 1, SIDE_BY_SIDE)

    n, s, ruled_out = steps(held.sum(axis=1)), steps(held[:, code]), steps(others[:, :l].sum(1))
    p, i = np.arange(k + 2)[:, None, None], np.arange(m)[:, None]
    v = np.ones((len(n), k + 2, m + 1, SIDE_BY_SIDE))
    free = np.maximum(n - s - p - i, 0)
    np.cumprod(free / np.maximum(n - p - i, 1), axis=2, out=v[:, :, 1:])
    np.copyto(v, 1.0, where=s == 0)
    t = np.where(s > 0, np.maximum(n - s - ruled_out - p[:-1], 0) / np.maximum(s, 1), np.inf)
    return t * v[:, 1:], np.ascontiguousarray(v[:, :-1])


def dynamic_program(tables: Tables) -> float:
    """Breach probability by A6, from the tables of all groups."""
    with np.errstate(invalid="ignore"):  # infinite odds times 0; fmin passes over the NaN
        found = _first(zip(*tables, strict=True))
        width = SIDE_BY_SIDE
        while width > 1:
            width //= 2
            halves = [(t[..., at], v[..., at]) for t, v in [found] for at in _halves(width)]
            found = _first(iter(halves))
    return 1 / (1 + float(found[0][-1, -1, 0]))


def _halves(width: int) -> tuple[slice, slice]:
    return slice(0, width), slice(width, None)


def _first(parts: Iterator[Tables]) -> Tables:
    """Go through the parts of a release (groups, or stretches of them), side by side."""
    with_t, without_t = next(parts)
    room = np.empty((2, *with_t.shape))
    for t_here, v_here in parts:
        with_t, without_t = _step(with_t, without_t, t_here, v_here, room)
    return with_t, without_t


def _step(
    with_t: NDArray[np.float64],
    without_t: NDArray[np.float64],
    t_here: NDArray[np.float64],
    v_here: NDArray[np.float64],
    room: NDArray[np.float64],
) -> Tables:
    """Both tables once the next group may hold a part of the known people and of the family."""
    people, family, width = with_t.shape
    pairs = room.reshape(-1, width)
    new_with, new_without = np.empty_like(with_t), np.empty_like(without_t)
    t_back, v_back = t_here[::-1, ::-1], v_here[::-1, ::-1]
    for i in range(people):
        for j in range(family):
            # [a, b]: a known people and b relatives before, i - a and j - b here.
            before = slice(0, i + 1), slice(0, j + 1)
            here = slice(people - 1 - i, None), slice(family - 1 - j, None)
            size, shape = (i + 1) * (j + 1), (i + 1, j + 1, width)
            one, two = pairs[:size], pairs[size : 2 * size]
            np.multiply(without_t[before], v_back[here], out=one.reshape(shape))
            np.fmin.reduce(one, axis=0, out=new_without[i, j])
            np.multiply(with_t[before], v_back[here], out=one.reshape(shape))
            np.multiply(without_t[before], t_back[here], out=two.reshape(shape))
            np.fmin.reduce(pairs[: 2 * size], axis=0, out=new_with[i, j])
    return new_with, new_without


# ---- the comparison -----------------------------------------------------------------------------


def fresh(counts: fk.GroupCounts) -> fk.GroupCounts:
    """The same counts, with nothing remembered from earlier questions."""
    return fk.GroupCounts(counts.sizes, counts.offsets, counts.codes, counts.counts, counts.values)


def verify(counts: fk.GroupCounts, amounts: tuple[int, int, int], tables: Tables) -> float:
    """Both ways must find one probability."""
    found = fk.Facts(*amounts).disclosure(counts, VALUE).probability
    other = dynamic_program(tables)
    if not abs(found - other) <= 1e-9:
        raise SystemExit(f"at {amounts}: {found} here, {other} by the dynamic program")
    return found


def compare(
    name: str,
    counts: fk.GroupCounts,
    amounts: tuple[int, int, int],
    counting: float,
    repeats: int,
    paper: str = "",
) -> None:
    """Time one setting and print its row."""
    tables = tables_of(counts, VALUE, amounts)
    probability = verify(counts, amounts, tables)
    if probability == 1:  # too much is known to tell wrong from right: compare with less
        some, less = counts.take(np.arange(2000)), (min(2, amounts[0]), *amounts[1:])
        verify(some, less, tables_of(some, VALUE, less))
    facts = fk.Facts(*amounts)
    new = [fresh(counts) for _ in range(repeats)]
    found = processor_medians(
        repeats,
        program=lambda: dynamic_program(tables),
        first=lambda: facts.disclosure(new.pop(), VALUE),
        again=lambda: facts.disclosure(counts, VALUE),
    )
    program, first, again = found["program"], found["first"], found["again"]
    print(
        f"  {name:<8} {probability:9.4f} {program:9.3f} {first * 1e3:9.2f} {again * 1e3:9.2f} "
        f"{program / first:9.0f} {program / again:9.0f} "
        f"{(counting + program) / (counting + first):9.1f} {paper:>7}"
    )


def header(series: str, at: str) -> None:
    print(
        f"\n  {series}; {at}\n  {'':<8} {'breach':>9} {'A6, s':>9} {'first, ms':>9} "
        f"{'then, ms':>9} {'A6/first':>9} {'A6/then':>9} {'whole':>9} {'paper':>7}"
    )


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    millions = [1] if quick else [1, 2, 3, 4, 5]
    repeats = 3 if quick else REPEATS
    heading("(e) one value judged, against the dynamic program of the skyline paper (its figure 7)")
    print(
        "  A6: the dynamic program, its T and V given. first: Facts on new counts, with all that\n"
        "  is kept for later; then: once that is kept. whole: A6/first with counting from Parquet\n"
        "  added to both. All in processor time."
    )
    header("rows", f"(l, k, m) = {AMOUNTS}")
    with tempfile.TemporaryDirectory() as folder:
        everything = Path(folder) / "release.parquet"
        make(everything)
        for size in millions:
            path = Path(folder) / f"{size}.parquet"
            if size * 1_000_000 < ROWS:
                rows = duckdb.connect().read_parquet(str(everything))
                rows.filter(f"gid < {size * 1_000_000 // SIZE}").write_parquet(str(path))
            else:
                path = everything

            def count(path: Path = path) -> fk.GroupCounts:
                return fk.Release.from_groups(path, group="gid", sensitive="disease").counts

            counts = count()
            counting = processor_medians(repeats, count=count)["count"]
            compare(f"{size} M", counts, AMOUNTS, counting, repeats, PAPER["rows"])
    l, k, m = AMOUNTS  # noqa: E741
    series = {
        "l": [(x, k, m) for x in (0, 4, 8, 16)],
        "k": [(l, x, m) for x in (0, 4, 8, 16, 32)],
        "m": [(l, k, x) for x in (0, 4, 8, 16)],
    }
    for axis, (name, points) in enumerate(series.items()):
        fixed = ", ".join(f"{x} = 10" for x in series if x != name)
        header(name, f"{fixed}, {counts.n_people // 1_000_000} M rows")
        for point in points[:: len(points) - 1 if quick else 1]:
            label = f"{name} {point[axis]}"
            compare(label, counts, point, counting, repeats, PAPER.get(label, ""))
    print()
    line("counting from Parquet", counting)
    everything_at_once(counts, repeats)


def everything_at_once(counts: fk.GroupCounts, repeats: int) -> None:
    """All values, many questions, whole skylines."""
    facts = fk.Facts(*AMOUNTS)
    new = [fresh(counts) for _ in range(repeats)]
    all_values = processor_medians(repeats, ours=lambda: facts.disclosures(new.pop()))["ours"]
    program = 0.0
    for value in counts.values:
        tables = tables_of(counts, value, AMOUNTS)
        program += processor_medians(1, program=lambda t=tables: dynamic_program(t))["program"]
    line(f"all {counts.n_values} values at {AMOUNTS}: A6", program)
    line("  Facts.disclosures, first", all_values)
    print(f"    A6 takes {program / all_values:.0f} times as long")
    amounts = iter(range(1, 50))
    found = processor_medians(
        49,
        same=lambda: facts.disclosure(counts, VALUE),
        other=lambda: fk.Facts(10, next(amounts), 10).disclosure(counts, VALUE),
    )
    print(f"  one more question about one value: {found['same'] * 1e3:.3f} ms   (claim: at most 1)")
    print(f"    with another k each time: {found['other'] * 1e3:.3f} ms")
    if not hasattr(fk, "knowledge_skylines"):
        print("  knowledge skylines: skipped, this version has no knowledge_skylines")
        return
    new = [fresh(counts) for _ in range(repeats)]
    skylines = processor_medians(
        repeats, ask=lambda: fk.knowledge_skylines(new.pop(), confidence=0.95)
    )
    line(f"{counts.n_values} knowledge skylines at 0.95", skylines["ask"], limit=1.0)


if __name__ == "__main__":
    main()
