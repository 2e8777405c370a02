"""A made-up hospital register and a policy for it, so that everything can be tried at once."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent


def table_path() -> Path:
    """Path of the bundled register: one row per person, all of them made up.

    Returns
    -------
    Path
        A CSV file with a header; ``examples/make_sample.py`` makes it.

    Examples
    --------
    >>> with table_path().open(encoding="utf-8") as lines:
    ...     print(next(lines).strip())
    name,age,sex,zip,admitted,marital,diagnosis,ward,charges
    """
    return _HERE / "hospital.csv"


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
