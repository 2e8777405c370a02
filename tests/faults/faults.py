"""The faults that tests must notice: each would call something safe that is not, or say it wrongly.

`faults.txt` has them, and says how they are written.
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
    faults = {}
    for start in range(0, len(lines), 4):
        try:
            head, place, text, instead = lines[start : start + 4]
            name, wrong = head.split(": ", 1)
            place, among = place.strip().split(" | ")
        except ValueError:
            raise FaultError(f"not written as the others: {lines[start]}") from None
        if name in faults or (text[:5], instead[:5]) != ("    -", "    +"):
            raise FaultError(f"{name} stands twice, or is not written as the others")
        faults[name] = Fault(name, place, text[6:], instead[6:], wrong, among)
    return faults


FAULTS = read(Path(__file__).with_name("faults.txt"))
