"""The command without pandas: PyArrow would import it with its first array, which takes as long."""

from __future__ import annotations

import sys

spared = False


def spare_pandas() -> None:
    """Keep PyArrow from importing pandas with its first array, until `admit_pandas`."""
    global spared
    if "pandas" in sys.modules:
        return
    spared = True
    sys.modules["pandas"] = None  # type: ignore[assignment]  # so that to import it fails
    try:
        import pyarrow

        pyarrow.array([0])
    finally:
        del sys.modules["pandas"]
