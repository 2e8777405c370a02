"""The faults that tests must notice: each would call something safe that is not, or say it wrongly.

Of each, `faults.txt` has the name and what it would make wrong; the place, and the files of tests
below ``tests/`` that should notice it; what stands there, and what stands there in the fault.
"""

from pathlib import Path
from typing import NamedTuple


class FaultError(Exception):
    """A fault that cannot be planted."""


class Fault(NamedTuple):
    """A text of a function, and another one that makes it wrong."""

    name: str
    place: str  # the module, a colon, and the function, method, class or name in it
    text: str
    instead: str
    wrong: str  # what it would make wrong
    among: str  # the files of tests that should notice it

    @property
    def tests(self):
        """The paths of these files."""
        return [f"tests/{name}.py" for name in self.among.split()]


def read(path):
    """The faults of a file, by name."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    found = {}
    for head, place, text, instead in zip(*[iter(lines)] * 4, strict=True):
        name, wrong = head.split(": ", 1)
        place, among = place.strip().split(" | ")
        if name in found or (text[:5], instead[:5]) != ("    -", "    +"):
            raise FaultError(f"{name} stands twice, or is not written as the others")
        found[name] = Fault(name, place, text[6:], instead[6:], wrong, among)
    return found


FAULTS = read(Path(__file__).with_name("faults.txt"))
