"""Certificate: what was required of a release, and what the verifier found, as JSON."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from foreknow._version import __version__
from foreknow.data.layout import several_of
from foreknow.documents import from_json
from foreknow.errors import CertificateError
from foreknow.output import as_json, write_whole
from foreknow.publishing.certificate_file import (
    FORMAT,
    FORMAT_VERSION,
    checked,
    files_of,
    parts_of,
    parts_of_sensitive,
    read_certificate,
)
from foreknow.text import in_cases
from foreknow.verifier.verify import Written

NOT_MINIMAL = (
    "safe, but perhaps not minimal: with several sensitive values per person, merging groups can "
    "help the adversary, so groups may be larger than necessary"
)

PERHAPS_LARGER = (
    "safe, but perhaps not minimal: where links are about values to within a width, the search is "
    "on the safe side, so groups may be larger than necessary"
)

CUT_OFF = (
    "the search was cut off: it did not look at all generalizations that might lose less, so "
    "groups may be larger than necessary"
)


def note_of_others(columns: Sequence[str], least: int | str) -> str:
    """The note on columns whose rarer values are one."""
    return (
        f"rare values: in {', '.join(columns)}, values that fewer than {least} people of the table "
        "have are written as one value, 'other'"
    )


_AS_WRITTEN = ("policy", "method", "source", "seeded", "versions", "scope")


@dataclass(frozen=True, repr=False)
class Certificate:
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
        Rows of the original table and its digest, by a key that stays with the owner: a plain
        digest would let anybody test guesses of the whole table.
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
        Of Foreknow, Python and what the result rests on.
    scope : mapping
        What the findings do not look at, as `Scope.to_dict` gives it.
    grids : mapping of str to str
        Of columns whose ranges go from a step of a grid to another, such as "in steps of 5".
    report : str, optional
        SHA-256 digest of ``report.html``; None before the release is written.
    """

    policy: Mapping[str, Any]
    form: str
    format: str
    groups: tuple[str, ...]
    sensitive: str
    people: int
    n_groups: int
    method: Mapping[str, Any]
    findings: tuple[Mapping[str, Any], ...]
    source: Mapping[str, Any]
    seeded: bool
    escaped: bool = False
    semantics: Any = "single"
    minimal: bool = False
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=lambda: versions())
    scope: Mapping[str, Any] = field(default_factory=dict)
    grids: Mapping[str, str] = field(default_factory=dict)
    report: str | None = None

    @property
    def safe(self) -> bool:
        """Whether every finding is; without findings nothing is certified."""
        return bool(self.findings) and all(finding["safe"] for finding in self.findings)

    @property
    def sensitives(self) -> tuple[str, ...]:
        """All sensitive columns."""
        given = self.policy.get("schema", {}).get("sensitive", self.sensitive)
        return (given,) if isinstance(given, str) else tuple(given)

    @property
    def in_cases(self) -> bool:
        """Whether rows are cases, and not people."""
        return bool(self.policy.get("schema", {}).get("unit") == "row")

    @property
    def unlinked(self) -> tuple[str, ...]:
        """Columns that are published apart from others, as the publisher says."""
        return tuple(self.policy.get("publish", {}).get("unlinked", ()))

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the tables."""
        return parts_of(self.form, self.semantics, self.sensitives, self.unlinked)

    def paths(self, folder: Path) -> dict[str, list[Path]]:
        """The files of each table in a folder."""
        return {
            part: [folder / name for name in files_of(part, self.format, self.files)]
            for part in self.parts
        }

    @property
    def beside(self) -> tuple[str, ...]:
        """Columns that are published of people as they are."""
        return tuple(self.policy.get("schema", {}).get("other", ()))

    @property
    def exact(self) -> tuple[str, ...]:
        """In the bucketized form, the columns by which people can be recognized."""
        known = self.policy.get("schema", {}).get("quasi_identifiers", ())
        return tuple(known) if self.form == "bucketized" else ()

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of each table: no others may be in its file."""
        known = tuple(self.policy.get("schema", {}).get("quasi_identifiers", ()))
        if self.parts == ("release",):
            return {"release": (*known, *self.beside, *self.sensitives)}
        groups = self.groups if self.form == "bucketized" else ()
        people = (*known, *self.beside, *groups)
        return {
            "people": people,
            **{part: (*self.groups, *of, "count") for part, of in self._of_sensitive.items()},
        }

    @property
    def _of_sensitive(self) -> dict[str, tuple[str, ...]]:
        apart = (*self.unlinked, *several_of(self.semantics, self.sensitives))
        return parts_of_sensitive(self.sensitives, apart)

    def written(self, tables: Mapping[str, Any]) -> Written:
        """Return the tables, or their files, as what the verifier reads."""
        return Written(
            self.form,
            self.groups,
            self.sensitive,
            tables,
            self.escaped,
            self.semantics,
            self.columns,
            parts={name: part for part, of in self._of_sensitive.items() for name in of},
            exact=self.exact,
            shuffled=self.unlinked if self.parts == ("release",) else (),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the version of their format."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "safe": self.safe,
            "minimal": self.minimal,
            "notes": list(self.notes),
            "scope": dict(self.scope),
            "policy": dict(self.policy),
            "release": {
                "form": self.form,
                "format": self.format,
                "groups": list(self.groups),
                "sensitive": self.sensitive,
                "semantics": self.semantics,
                "people": self.people,
                "n_groups": self.n_groups,
                "escape_formulas": self.escaped,
                "files": dict(self.files),
            },
            "method": dict(self.method),
            "findings": [dict(finding) for finding in self.findings],
            "source": dict(self.source),
            "seeded": self.seeded,
            "versions": dict(self.versions),
            **({"grids": dict(self.grids)} if self.grids else {}),
            **({} if self.report is None else {"report": self.report}),
        }

    def to_json(self, path: str | Path) -> None:
        """Write the certificate, whole or not at all.

        Raises
        ------
        CertificateError
            If it could not be read again, such as where a label is very long.
        """
        text = as_json(self.to_dict())
        try:
            checked(from_json(text), "the certificate")
        except CertificateError:
            raise
        except ValueError as error:
            raise CertificateError(f"the certificate cannot be written: {error}") from None
        write_whole(path, text)

    @classmethod
    def load(cls, path: str | Path, content: bytes | None = None) -> Certificate:
        """Read a certificate.

        Parameters
        ----------
        path : path
        content : bytes, optional
            What the file holds, where it was read already; else it is read.

        Raises
        ------
        CertificateError
            If the file is not a certificate that this version knows, or contradicts itself.
        """
        table = read_certificate(Path(path), content)
        release = dict(table["release"])
        read = {key: table[key] for key in _AS_WRITTEN} | {
            "escaped": release.pop("escape_formulas"),
            "minimal": table.get("minimal", False),
            "notes": tuple(table.get("notes", ())),
            "findings": tuple(table["findings"]),
            "groups": tuple(release.pop("groups")),
            "grids": table.get("grids", {}),
            "report": table.get("report"),
        }
        return cls(**release, **read)

    def __repr__(self) -> str:
        word = "safe" if self.safe else "UNSAFE"
        said = f"Certificate({word}: {self.people} people in {self.n_groups} groups)"
        return in_cases(said) if self.in_cases else said

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
            If it cannot be judged: a file is missing, or the priors are, and all else holds.
        """
        # What judges stands on certificates, so it is entered by name.
        judge = import_module("foreknow.publishing.verification").judge
        return list(judge(self, Path(release), priors=priors)[1])


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> dict[str, str]:
    """Versions of what the result rests on."""
    from importlib.metadata import version

    packages = {package: version(package) for package in ("duckdb", "numpy", "pyarrow")}
    return {"foreknow": __version__, "python": platform.python_version(), **packages}
