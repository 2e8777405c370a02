"""A made-up hospital register and a policy for it, so that everything can be tried at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


def table_path() -> Path:
    """Path of the bundled register: one row per person, all of them made up.

    Two people have one name, some values are missing, and nobody knows how many days the last
    patients stay.

    Returns
    -------
    Path
        A CSV file with a header; ``examples/make_sample.py`` makes it.

    Examples
    --------
    >>> with table_path().open(encoding="utf-8") as lines:
    ...     print(next(lines).strip())
    patient,name,age,sex,zip,admitted,marital,diagnosis,days,ward,charges
    """
    return _HERE / "hospital.csv"


def load(library: str = "pandas") -> Any:
    """The bundled register as a frame of "pandas", "polars" or "arrow".

    Examples
    --------
    >>> load("arrow").num_rows
    4000
    """
    from foreknow.data.tables.formats.frames import read_table

    return read_table(table_path(), library)


def policy_path() -> Path:
    """Path of the bundled policy: what must stay hidden in the register, and from whom.

    Returns
    -------
    Path
        A TOML file; the hierarchy file that it names lies beside it.

    Examples
    --------
    >>> policy_path().name
    'policy.toml'
    >>> policy_path().with_name("marital.csv").exists()
    True
    """
    return _HERE / "policy.toml"
