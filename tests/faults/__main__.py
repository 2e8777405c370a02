"""Plant each fault, run the tests that should notice it, and print who did.

python -m tests.faults             all of them, two at a time
python -m tests.faults NAME ...    some of them
python -m tests.faults drawn ...   faults that are drawn at random: see drawn.py
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.faults import drawn
from tests.faults.faults import FAULTS, noticed


def main(names):
    """Print a line for each fault; the number of those that nobody noticed."""
    begin = time.monotonic()
    faults = [FAULTS[name] for name in names or FAULTS]
    missed = 0
    with ThreadPoolExecutor(2) as threads:
        for fault, found in zip(faults, threads.map(noticed, faults), strict=True):
            missed += found.by is None
            by = found.by or f"NOBODY {found.why}"
            print(f"{fault.name:<28} {found.seconds:5.1f} s  {fault.wrong}: {by}", flush=True)
    print(f"{len(faults) - missed} of {len(faults)} noticed, {time.monotonic() - begin:.0f} s")
    return missed


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(drawn.main(words[1:]) if words[:1] == ["drawn"] else main(words) > 0)
