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

from foreknow.call_hints import Plain
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
        The form of the release and the format of its files.
    groups : tuple of str
        The columns that make a group.
    sensitive : str
        The sensitive column.
    people, n_groups : int
        The number of people and of groups.
    method : mapping
        The anonymizer and its settings.
    findings : tuple of mappings
        The result of `Verdict.to_dict` for each requirement and point.
    source : mapping
        The number of rows of the original table, and its digest with a key that stays with the
        owner: a plain digest would let anyone test guesses of the whole table.
    seeded : bool
        Whether the order of rows came from a seed, which stays with the owner, too.
    escaped : bool
        Whether texts that look like formulas were written with an apostrophe before them.
    semantics : "single", "set" or "multiset"
        Whether a person has one value, a set or a multiset of values; a mapping if columns differ.
    minimal : bool
        Whether no group can be divided further in the ways that the method tries.
    notes : tuple of str
        Remarks on the release for its owner, in plain words.
    files : mapping of file name to SHA-256 digest
        Empty until the release is written.
    versions : mapping
        The versions of Foreknow, Python and the packages that the result depends on.
    scope : mapping
        What the findings do not cover, as in `Scope.to_dict`.
    grids : mapping of str to str
        The grid of each column whose ranges begin and end on one, such as "in steps of 5".
    delimiter : str
        The delimiter of CSV files.
    commas : tuple of str
        Columns written with decimal commas: commas and points are swapped in the files.
    after : tuple of mappings
        Earlier releases about other people of the same register: the digest of each certificate,
        and how many people it shows for the first time.
    report : str, optional
        SHA-256 digest of ``report.html``; None before the release is written.
    code_book : str, optional
        SHA-256 digest of ``datapackage.json``, which describes the columns.
    """

    scope: Mapping[str, Any] = field(default_factory=dict)
    escaped: bool = False
    files: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=_versions)

    @property
    def safe(self) -> bool:
        """True if there is a finding and every finding is safe."""
        return bool(self.findings) and all(finding["safe"] for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values for JSON, with the version of the format."""
        table: dict[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION, "safe": self.safe}
        for entry in fields(self):
            value = plain(getattr(self, entry.name))
            # Some fields stand in a table `release`; some are left out while they are empty.
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
        """Judge a written release again, and compare the result with the certificate.

        Parameters
        ----------
        release : path
            The folder that was written, or its release file.
        priors : path, optional
            The owner's ``priors.json``, if priors were learned and so are not in the certificate;
            default: the one in ``FOLDER.owner``.

        Returns
        -------
        list of str
            What is wrong; empty if the release is the certified one and safe.

        Raises
        ------
        CertificateError
            If the release cannot be judged: a file is missing, or all is right but the priors are
            missing.
        """
        from foreknow_judge.verify import judge

        return list(judge(self, Path(release), priors=priors)[1])
