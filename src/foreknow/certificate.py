"""Certificate: what was required of a release, and what the verifier found, as JSON."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

from foreknow._version import __version__
from foreknow.errors import CertificateError
from foreknow.verifier import Finding, Written, count_people, verify
from foreknow.writing import as_json, write_whole

FORMAT = "foreknow certificate"
FORMAT_VERSION = 2  # 1 knew one value per person only

NOT_MINIMAL = (
    "safe, but perhaps not minimal: with several sensitive values per person, merging groups can "
    "help the adversary, so groups may be larger than they would have to be"
)


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
        Per requirement and point: the exact worst probability, the value and the group.
    files : mapping of file name to SHA-256 digest
        Empty until the release is written.
    source : mapping
        Rows of the original table and its keyed digest. The key stays with the owner, since a
        plain digest would let anybody test guesses of the whole table.
    seeded : bool
        Whether the order of rows came from a seed. The seed itself stays with the owner too: with
        it, the order could be undone.
    escaped : bool
        Whether texts that look like formulas were written with an apostrophe before them.
    semantics : "single", "set" or "multiset"
        Whether a person has one sensitive value, a set, or a bag of values.
    minimal : bool
        Whether no group can be divided further in the ways that the method tries.
    notes : tuple of str
        What the owner should know of the release, in plain words.
    versions : mapping
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
    semantics: str = "single"
    minimal: bool = False
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    @property
    def safe(self) -> bool:
        """Whether every finding is; without findings nothing is certified."""
        return bool(self.findings) and all(finding["safe"] for finding in self.findings)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the tables."""
        one_table = self.form == "generalized" and self.semantics == "single"
        return ("release",) if one_table else ("people", "sensitive")

    def written(self, tables: Mapping[str, Any]) -> Written:
        """Return the tables, or their files, as what the verifier reads."""
        return Written(self.form, self.groups, self.sensitive, tables, self.escaped, self.semantics)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the version of their format."""
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "safe": self.safe,
            "minimal": self.minimal,
            "notes": list(self.notes),
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
        }

    def to_json(self, path: str | Path) -> None:
        """Write the certificate, whole or not at all."""
        write_whole(path, as_json(self.to_dict()))

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate.

        Raises
        ------
        CertificateError
            If the file is not a certificate that this version knows.
        """
        try:
            table = json.loads(Path(path).read_text("utf-8"))
        except OSError as error:
            raise CertificateError(f"{str(path)!r} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise CertificateError(f"{str(path)!r} is not JSON: {error}") from None
        if not isinstance(table, dict) or table.get("format") != FORMAT:
            raise CertificateError(f"{str(path)!r} is not a {FORMAT}")
        if table.get("version") not in range(1, FORMAT_VERSION + 1):
            raise CertificateError(
                f"{str(path)!r} is of version {table.get('version')}; this program knows versions "
                f"up to {FORMAT_VERSION}"
            )
        try:
            release = table["release"]
            if not all(isinstance(release[key], int) for key in ("people", "n_groups")):
                raise CertificateError(f"{str(path)!r}: people and n_groups must be whole numbers")
            return cls(
                policy=table["policy"],
                form=release["form"],
                format=release["format"],
                groups=tuple(release["groups"]),
                sensitive=release["sensitive"],
                people=release["people"],
                n_groups=release["n_groups"],
                method=table["method"],
                findings=tuple({**finding} for finding in table["findings"]),
                source=table["source"],
                seeded=table["seeded"],
                escaped=release["escape_formulas"],
                semantics=release.get("semantics", "single"),
                minimal=table.get("minimal", False),
                notes=tuple(table.get("notes", ())),
                files={**release["files"]},
                versions=table["versions"],
            )
        except (KeyError, TypeError) as error:
            raise CertificateError(f"{str(path)!r} lacks {error}") from None

    def __repr__(self) -> str:
        word = "safe" if self.safe else "UNSAFE"
        return f"Certificate({word}: {self.people} people in {self.n_groups} groups)"

    def _repr_html_(self) -> str:
        return f"<code>{escape(repr(self))}</code>"

    def check(self, release: str | Path) -> list[str]:
        """Judge a written release afresh, and compare with what is certified.

        Parameters
        ----------
        release : path
            The folder that was written, or its release file.

        Returns
        -------
        list of str
            What is wrong; empty if the release is the certified one and safe.
        """
        folder = Path(release) if Path(release).is_dir() else Path(release).parent
        problems = []
        paths = {}
        for name, digest in self.files.items():
            path = Path(release) if len(self.files) == 1 and not Path(release).is_dir() else None
            path = path or folder / name
            if not path.is_file():
                raise CertificateError(f"there is no file {str(path)!r}")
            if digest_of(path) != digest:
                problems.append(f"{path.name} is not the file that was certified (digest differs)")
            paths[Path(name).stem] = path
        if not paths:
            raise CertificateError("the certificate names no files; it was never written")
        if not self.findings:
            raise CertificateError("the certificate certifies nothing: it has no findings")
        written = self.written(paths)
        try:
            found = [finding_to_dict(f) for f in verify(written, self.policy["require"])]
            size = count_people(written)
            problems += self._compare(found, size)
        except CertificateError as error:
            problems.append(str(error))
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
            raise CertificateError(
                "the policy or findings of the certificate are malformed"
            ) from None
        return problems

    def _compare(self, found: Sequence[Mapping[str, Any]], size: tuple[int, int]) -> list[str]:
        """What the verifier finds now and did not then."""
        problems = []
        for now, then in zip(found, self.findings, strict=False):
            if not now["safe"]:
                problems.append(
                    f"require[{now['requirement']}]: {now['value']!r} in group {now['group']} "
                    f"reaches {now['exact']}, the limit is {now['below']}"
                )
            elif now.get("inclusive", False) != then.get("inclusive", False):
                problems.append(
                    f"require[{now['requirement']}]: the certificate contradicts itself on whether "
                    f"the limit {now['below']} may be reached"
                )
            elif now.get("times") != then.get("times"):
                problems.append(
                    f"require[{now['requirement']}]: the certificate contradicts itself on how "
                    "many times the prior the limit is"
                )
            elif now["below"] != then["below"] or not _agree(now["exact"], then["exact"]):
                problems.append(
                    f"require[{now['requirement']}]: the worst probability is {now['exact']} and "
                    f"the limit {now['below']}; certified are {then['exact']} and {then['below']}"
                )
        if len(found) != len(self.findings):
            problems.append(f"{len(found)} points are judged, {len(self.findings)} are certified")
        if size != (self.people, self.n_groups):
            problems.append(
                f"the release has {size[0]} people in {size[1]} groups; certified are "
                f"{self.people} in {self.n_groups}"
            )
        return problems


def _agree(now: str, then: str) -> bool:
    """Whether two probabilities are written alike; of old, all digits were written."""
    return now == then or now == exact_text(Fraction(then))


def finding_to_dict(finding: Finding) -> dict[str, Any]:
    """Plain values of a verifier's finding."""
    return {
        "requirement": finding.requirement,
        "adversary": dict(finding.adversary),
        "below": str(finding.below),
        **({"inclusive": True} if finding.inclusive else {}),
        **({"times": str(finding.times)} if finding.times is not None else {}),
        "value": finding.value,
        "group": finding.group,
        "exact": exact_text(finding.probability),
        "probability": float(finding.probability),
        "safe": finding.safe,
    }


def exact_text(probability: Fraction) -> str:
    """Write a fraction; one of very many digits as a decimal number, rounded up.

    >>> exact_text(Fraction(2, 3))
    '2/3'
    >>> exact_text(Fraction(2**2000, 3 * 2**2000 + 1))
    '0.3333333333333333333333333333333333333334'
    """
    if probability.denominator.bit_length() <= 1000:
        return str(probability)
    places = 40
    above = -(-probability.numerator * 10**places // probability.denominator)
    return f"{above // 10**places}.{above % 10**places:0{places}}"


def digest_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions(packages: Sequence[str] = ("duckdb", "numpy", "pyarrow")) -> dict[str, str]:
    """Versions of what the result rests on."""
    from importlib.metadata import version

    return {
        "foreknow": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
