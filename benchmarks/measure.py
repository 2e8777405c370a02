"""Time alternatives side by side: medians of interleaved runs, and the machine's load."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable


def medians(
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
    **alternatives: Callable[[], object],
) -> dict[str, float]:
    """Median seconds of each alternative, run in turns so that load falls on all alike."""
    taken: dict[str, list[float]] = {name: [] for name in alternatives}
    for _ in range(repeats):
        for name, run in alternatives.items():
            start = clock()
            run()
            taken[name].append(clock() - start)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def processor_medians(repeats: int, **alternatives: Callable[[], object]) -> dict[str, float]:
    """Median seconds of the processor, which other programs on the machine do not take."""
    return medians(repeats, time.process_time, **alternatives)


def heading(claim: str) -> None:
    """Print what is measured, and on how busy a machine."""
    load = os.getloadavg()[0]
    print(f"\n{claim}\n  {os.cpu_count()} cores, load {load:.1f} before the run")


def line(name: str, seconds: float, base: float | None = None, limit: float | None = None) -> None:
    """Print one result, as a ratio where there is something to compare with."""
    ratio = "" if base is None else f"   ratio {seconds / base:.2f}"
    bound = "" if limit is None else f"   (claim: at most {limit})"
    print(f"  {name:<44} {seconds:8.3f} s{ratio}{bound}")
