"""Certificates as they are written, shown, and compared with a release; the judge reads them."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from foreknow.hints import Plain
from foreknow.wording import unit_counted
from foreknow_judge._version import __version__
from foreknow_judge.certificate import FORMAT, FORMAT_VERSION, IN_RELEASE
from foreknow_judge.certificate import Certificate as CertificateRead
from foreknow_judge.files.json_values import plain

# Written only if not empty.
_SELDOM = ("grids", "commas", "after", "report", "code_book")


def _versions() -> dict[str, str]:
    """Versions of the software that the result depends on."""
    packages = {package: _version(package) for package in ("duckdb", "numpy", "pyarrow")}
    return {"foreknow": __version__, "python": platform.python_version(), **packages}


@cache
def _version(package: str) -> str:
    return version(package)


@dataclass(frozen=True, repr=False, kw_only=True)
class Certificate(CertificateRead, Plain):
    """A record that `foreknow verify` can check against the release, without the original table.

    Attributes
    ----------
    policy : mapping
        The tables of the policy file.
    form, format : str
        Of the release.
    groups : tuple of str
        The columns that make a group.
    sensitive : str
    people, n_groups : int
    method : mapping
        The anonymizer and its settings.
    findings : tuple of mappings
        What `Verdict.to_dict` gives, for each requirement and point.
    source : mapping
        The number of rows of the original table, and its digest with a key that stays with the
        owner: a plain digest would let anyone test guesses of the whole table.
    seeded : bool
        Whether the order of rows came from a seed, which stays with the owner too.
    escaped : bool
        Whether texts that look like formulas were written with an apostrophe before them.
    semantics : "single", "set" or "multiset"; of several columns that differ, a mapping
    minimal : bool
        Whether no group can be divided further in the ways that the method tries.
    notes : tuple of str
        What the owner should know of the release, in plain words.
    files : mapping of file name to SHA-256 digest
        Empty until the release is written.
    versions : mapping
        Of Foreknow, Python and the packages that the result depends on.
    scope : mapping
        What the findings do not look at, as `Scope.to_dict` gives it.
    grids : mapping of str to str
        For columns whose ranges begin and end on a grid, the grid, such as "in steps of 5".
    delimiter : str
        Of CSV.
    commas : tuple of str
        Columns written with decimal commas: commas and points are swapped in the files.
    after : tuple of mappings
        The releases that were published before, of other people of the same register: the digest
        of each certificate, and how many people it shows for the first time.
    report : str, optional
        SHA-256 digest of ``report.html``; None before the release is written.
    code_book : str, optional
        SHA-256 digest of ``datapackage.json``, which says what the columns hold.
    """

    scope: Mapping[str, Any] = field(default_factory=dict)
    escaped: bool = False
    files: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=_versions)

    @property
    def safe(self) -> bool:
        """True if every finding is safe, and there is at least one."""
        return bool(self.findings) and all(finding["safe"] for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the version of their format."""
        table: dict[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION, "safe": self.safe}
        for entry in fields(self):
            value = plain(getattr(self, entry.name))
            if entry.name in IN_RELEASE:
                table.setdefault("release", {})[IN_RELEASE[entry.name]] = value
            elif (value or entry.name not in _SELDOM) and (entry.name, value) != ("delimiter", ","):
                table[entry.name] = value
        return table

    def __repr__(self) -> str:
        outcome = "what is required holds" if self.safe else "UNSAFE"
        noun = unit_counted(self.in_cases).plural
        return f"Certificate(says {outcome}: {self.people} {noun} in {self.n_groups} groups)"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def check(self, release: str | Path, priors: str | Path | None = None) -> list[str]:
        """Judge a written release afresh, and compare with what is certified.

        Parameters
        ----------
        release : path
            The folder that was written, or its release file.
        priors : path, optional
            The ``priors.json`` of the owner, where priors were learned and so are not in the
            certificate; the one in ``FOLDER.owner`` when left out.

        Returns
        -------
        list of str
            What is wrong; empty if the release is the certified one and safe.

        Raises
        ------
        CertificateError
            If it cannot be judged: a file is missing, or all is right but the priors are missing.
        """
        from foreknow_judge.verify import judge

        return list(judge(self, Path(release), priors=priors)[1])
