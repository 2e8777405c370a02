"""Evidence: all that was measured of a release, for somebody who must accept it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from foreknow.auditing.audit import Audit, audit
from foreknow.call_hints import hinted
from foreknow.certificates import Certificate
from foreknow.data.microdata import Microdata
from foreknow.data.release import Release
from foreknow.features import load
from foreknow.policy.policy import Policy
from foreknow.publishing.verification import Verification, judge, load_signed, names_population
from foreknow.result import Result
from foreknow.result_pages import page_of
from foreknow.written_releases.members import is_source, shown_of, table_schema
from foreknow.written_releases.written_release import (
    Published,
    open_published,
    refuse_other_schema,
    require_folder,
    schema_of,
)
from foreknow_judge.certificate import (
    has_kept_priors,
    map_prior_tables,
)
from foreknow_judge.errors import CertificateError, DataError
from foreknow_judge.files.file_names import CERTIFICATE, NEWCOMERS, OWNER, PRIORS, owners_folder
from foreknow_judge.policy.kept_priors import KeptPriors
from foreknow_judge.verify import populations_of


@dataclass(frozen=True, eq=False, repr=False)
class EvidenceReport(Result):
    """Evidence about a release that was just verified, with open questions for its assessor.

    Attributes
    ----------
    name : str
        The name of the release's folder.
    certificate : Certificate
        The certificate of the release.
    digest : str
        SHA-256 digest of ``certificate.json``.
    signed : bool
        Whether the certificate's signature was checked.
    verification : Verification
        The result of verifying the files.
    audit : Audit
        The release, judged by the requirements of its certificate.
    before : Audit or None
        The original table, judged by the same requirements; people with equal quasi-identifiers
        make a group. None if the table was not given.
    utility : UtilityReport or None
        What the release keeps of the table; None if the table was not given.
    same_source : bool
        Whether the owner's key showed that the release was made from this table.
    """

    format = "foreknow evidence"
    _json_fields = (
        "release=name certificate=digest files=certificate.files signed utility same_source"
    )

    name: str
    certificate: Certificate
    digest: str
    signed: bool
    verification: Verification
    audit: Audit
    before: Audit | None = None
    utility: Any = None
    same_source: bool = False

    @property
    def in_cases(self) -> bool:
        """True if rows are cases and a person may have several."""
        return self.certificate.in_cases

    def _content(self) -> dict[str, Any]:
        """The content of the evidence as plain values, for JSON."""
        page: Any = page_of(self)
        questions = [{"of": title, "answers": answers} for title, answers in page.questions()]
        return {
            **super()._content(),
            "verified": True,
            "audit": _plain(self.audit),
            "before": None if self.before is None else _plain(self.before),
            "questions": questions,
        }

    def __repr__(self) -> str:
        return f"EvidenceReport({self.name}: {self.audit!r})"


def _plain(audit: Audit) -> dict[str, Any]:
    """An audit as JSON, without the entries that raw table and release share."""
    content = audit.to_dict()
    keys = ("safe", "limits_inference", "verdicts", "exposed", "scope", "utility")
    return {key: content[key] for key in keys}


@hinted
def evidence_report(
    folder: str | Path,
    table: Any = None,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    *,
    priors: str | Path | None = None,
    population: str | Path | Sequence[str | Path] | None = None,
    key: str | Path | None = None,
    queries: int = 1000,
    seed: int = 0,
) -> EvidenceReport:
    """Judge a written release again, and collect the evidence that its assessor needs.

    Parameters
    ----------
    folder : path
        The folder that `publish` wrote.
    table : path, frame or Microdata, optional
        The table that the release was made from, to show what held before and what the release
        keeps. None: the report leaves this out.
    policy : Policy, path or mapping, optional
        How to read `table`; needed if its hierarchies are in files.
    priors : path, optional
        The owner's ``priors.json``, as in `verify`.
    population : path or list of these, optional
        The population that groups were compared with, as in `verify`.
    key : path, optional
        The public key of the person who must have signed the certificate, as in `verify`.
    queries : int
        The number of random count queries of the release and the table, for each number of
        predicates; see `utility_report`.
    seed : int
        Random seed for the queries.

    Returns
    -------
    EvidenceReport
        Its ``to_html`` writes the page. It is for those who must assess the release, not for
        everybody who receives it.

    Raises
    ------
    CertificateError
        If the release is not as certified, as in `verify`: there is no evidence then.
    DataError
        If the release was not made from this table.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from foreknow import sample
    >>> from foreknow.publishing.publish import publish
    >>> rules = Policy.load(sample.policy_path())
    >>> with TemporaryDirectory() as place:
    ...     _ = publish(sample.table_path(), rules).write(f"{place}/out")
    ...     found = evidence_report(f"{place}/out", sample.table_path(), rules, queries=20)
    >>> found.same_source, found.audit.safe, found.before.safe
    (True, True, False)
    """
    # First the verifier's judgement of the files, without what the owner says.
    require_folder(folder)
    path = Path(folder)
    path = path / CERTIFICATE if path.is_dir() else path
    certificate, digest = load_signed(path, key)
    finding, problems = judge(certificate, path.parent, priors=priors, population=population)
    if finding is None or problems:
        raise CertificateError("; ".join(problems))
    # Learned priors are not in the certificate: the owner's file has them.
    required = certificate.policy["require"]
    if any(map(has_kept_priors, required)):
        priors_path = priors or owners_folder(path.parent) / PRIORS
        required = _note_learned(KeptPriors.load(priors_path).filled(required), required)
    required = _with_populations(required, populations_of(certificate, population))
    for requirement in required:
        if "name" in requirement:  # it heads what was found, and is the publisher's
            requirement["name"] = f"“{requirement['name']}”, as the publisher calls it"
    rules = Policy.from_dict({"schema": schema_of(certificate).to_dict(), "require": required})
    # With the certificate that was judged, so that its digests are checked again.
    published = open_published(path.parent, certificate=certificate)
    audit_afresh = audit(published, rules, name=path.resolve().parent.name)
    # What the publisher alone knows of scope is in the certificate, and is said as their words.
    audit_afresh = replace(
        audit_afresh, scope=replace(audit_afresh.scope, method=finding.scope.method)
    )
    comparison: dict[str, Any] = {}
    if table is not None:
        comparison = _facts_before(table, policy, published, rules, path.parent, queries, seed)
    return EvidenceReport(
        name=audit_afresh.name,
        certificate=certificate,
        digest=digest,
        signed=key is not None,
        verification=finding,
        audit=audit_afresh,
        **comparison,
    )


def _with_populations(required: Any, paths: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Requirements with the populations that were given; no path of a certificate is read."""
    return [_with_paths(table, paths) for table in required]


def _with_paths(table: Mapping[str, Any], paths: Mapping[str, Path]) -> dict[str, Any]:
    """A requirement's table with the paths of populations that were given."""
    return {key: _with_path(setting, paths) for key, setting in table.items()}


def _with_path(setting: Any, paths: Mapping[str, Path]) -> Any:
    """The setting with the path of its population, by its digest; any other as it is."""
    if not names_population(setting):
        return setting
    return {**setting, "population": str(paths[str(setting["digest"])].resolve())}


def _note_learned(filled: list[dict[str, Any]], required: Any) -> list[dict[str, Any]]:
    """Requirements in which tables of learned priors are marked, so that they are not shown.

    `required` are those of the certificate, which tell which were learned; `filled` have the
    tables.
    """
    noted: list[dict[str, Any]] = []
    for requirement, certified in zip(filled, required, strict=True):
        is_learned = has_kept_priors(certified)
        noted.append(map_prior_tables(requirement, _as_learned) if is_learned else requirement)
    return noted


def _as_learned(prior_table: Mapping[str, Any]) -> dict[str, Any]:
    """A table of priors that is marked as learned from the table."""
    return {**prior_table, "learned": True}


def _facts_before(
    table: Any,
    policy: Any,
    published: Published,
    rules: Policy,
    folder: Path,
    queries: int,
    seed: int,
) -> dict[str, Any]:
    """Facts about the raw table, and how much of it the release keeps; keywords of an evidence.

    Parameters
    ----------
    table, policy
        The raw table, and the policy that says how to read it; None without one.
    published, folder
        The release, and where it lies.
    rules : Policy
        The policy by which both are judged.
    queries, seed : int
        How many count queries are compared, and how they are drawn.

    Raises `DataError` if the release was not made of this table.
    """
    certificate = published.certificate
    rules_of_table = None if policy is None else Policy.of(policy)
    microdata = Microdata.of(table, table_schema(rules_of_table, certificate, folder))
    # The raw table must have the roles of the certificate, and the rows that were published.
    refuse_other_schema(certificate, microdata.schema)
    if certificate.after:
        microdata = shown_of(folder, microdata)
    # True or False by the owner's key; None if there is no key to tell.
    is_same = is_source(microdata, certificate, owners_folder(folder) / OWNER)
    if is_same is False:
        advice = f"; take {NEWCOMERS[0]} of its owner's folder" if certificate.after else ""
        read_so = "read as the policy says"
        if not policy:
            read_so = "read without a policy"
            advice += "; name the policy, if it says how the table is read: --policy FILE"
        raise DataError(
            f"{microdata.name}, {read_so}, is not the table that {folder.name!r} was made of"
            f"{advice}"
        )
    as_it_was = microdata
    if microdata.left_out and len(microdata.sensitives) > 1:
        # a release lacks people without a value in some column; the table counts the same people
        is_kept = np.zeros(microdata.n_rows, dtype=bool)
        is_kept[microdata.kept] = True
        as_it_was = microdata.only(is_kept)
    raw = Release.from_schema(as_it_was.source, rules.needed_schema, written=microdata.reading)
    utility_report = load("foreknow.features.utility.report:utility_report")
    return {
        "before": audit(raw, rules, name=microdata.name),
        "utility": utility_report(published, microdata, queries=queries, seed=seed),
        "same_source": is_same is True,
    }
