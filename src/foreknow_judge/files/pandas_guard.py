"""The command without pandas: PyArrow would import it with its first array, which takes as long."""

from __future__ import annotations

import sys
from typing import Any


class NoPandas:
    """An import finder that raises an error for pandas."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Find nothing, or say that there is no pandas."""
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


spared = False


def spare_pandas() -> None:
    """Keep PyArrow from importing pandas with its first array, until `admit_pandas`.

    PyArrow tries to import pandas once, and goes on without it if that fails. So it fails here.
    """
    global spared
    if "pandas" in sys.modules:
        return
    spared = True
    sys.meta_path.insert(0, NoPandas)
    try:
        import pyarrow

        pyarrow.array([0])
    finally:
        sys.meta_path.remove(NoPandas)
