"""Verification of a release: by the judge, and checks that only Foreknow can do.

That is a policy of the reader's own, kinds of other packages, the code book, and what is proved of
the method.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, filterfalse
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from foreknow.atomic_files import as_json, write_whole
from foreknow.auditing.named_values import refuse_misspelt
from foreknow.call_hints import hinted
from foreknow.certificates import Certificate
from foreknow.data.counts import GroupCounts
from foreknow.data.impossible.rules_in_force import refuse_unmet
from foreknow.data.labels.labels import GroupLabels, Labels
from foreknow.errors import refuse_other_type
from foreknow.methods.proof import NOT_JUDGED
from foreknow.methods.protocol import traits_of
from foreknow.methods.registry import METHODS, kind_of
from foreknow.policy.kinds import registered_kinds
from foreknow.policy.policy import Policy
from foreknow.publishing.code_book import contradictions_of
from foreknow.publishing.signature import check_signature
from foreknow.result import Result
from foreknow.wording import unit_counted
from foreknow.written_releases.written_release import refuse_other_schema, require_folder, schema_of
from foreknow_judge import verify as judges
from foreknow_judge.certificate import Certificate as CertificateRead
from foreknow_judge.certificate import (
    bytes_of_certificate,
    check_certificate,
    has_kept_priors,
)
from foreknow_judge.counts.group_bags import Column, GroupBags
from foreknow_judge.errors import CertificateError, InputError, Problem
from foreknow_judge.files.documents import from_json
from foreknow_judge.files.written_release import Written
from foreknow_judge.registry import Kinds
from foreknow_judge.remarks.remarks import remarks_of_files
from foreknow_judge.remarks.scope import Scope
from foreknow_judge.remarks.sentences import how_far, no_limit, unlimited
from foreknow_judge.verdict import Verdict
from foreknow_judge.verdicts import verdicts
from foreknow_judge.verify import OwnPolicy, certificate_path

__all__ = ["Verification", "findings_of", "judge", "load_signed", "verify"]


@dataclass(frozen=True, repr=False)
class Verification(judges.Verification, Result):
    """The result of a verification; see `foreknow_judge.verify.Verification`."""

    def __repr__(self) -> str:
        """One line: the files, how many people are in how many groups, and what holds."""
        columns = "" if len(self.sensitives) < 2 else f"; {', '.join(self.sensitives)}"
        noun, (far, beyond) = unit_counted(self.scope.cases).plural, how_far(self)
        ends = f"{far}{no_limit(self)}" if self.limits_inference else unlimited(self, far)
        but = f"; what is required holds{ends}{beyond}" if ends or beyond else ""
        return (
            f"Verification({', '.join(self.files)}: {self.people} {noun} in {self.n_groups} groups"
            f"{columns}{but})"
        )


@hinted
def verify(
    folder: str | Path,
    policy: Policy | str | Path | None = None,
    *,
    priors: str | Path | None = None,
    population: str | Path | Sequence[str | Path] | None = None,
    key: str | Path | None = None,
    after: str | Path | Sequence[str | Path] | None = None,
) -> Verification:
    """Judge a written release afresh, from its files, and compare it with its certificate.

    Parameters
    ----------
    folder : path
        The folder that `publish` wrote, or its ``certificate.json``.
    policy : Policy, path or mapping, optional
        A policy whose schema and requirements replace the publisher's. The certificate then only
        describes the format of the files.
    priors : path, optional
        The owner's ``priors.json``, if priors were learned from the table; default: the one in
        ``FOLDER.owner``.
    population : path or list of these, optional
        The population that groups were compared with (`k_map`, `delta_presence`), as CSV or
        Parquet; the certificate has only its digest.
    key : path, optional
        The public Ed25519 key that must verify the certificate's signature; needs the extra
        ``sign``. None: a signature is not required.
    after : path or sequence of path, optional
        The folders of all earlier releases that the certificate names. Each is verified, and all
        are judged as one. Only the publisher can know that nobody is in two of them.

    Returns
    -------
    Verification
        The verdicts of the judge.

    Raises
    ------
    CertificateError
        If the release is not as certified, is not safe, or has more than its policy accounts for;
        if the certificate cannot be read, or contradicts itself; if it needs priors that only the
        owner has.
    SchemaError
        If the given policy and the release have different columns.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from foreknow import sample
    >>> from foreknow.data.microdata import Microdata
    >>> from foreknow.publishing.publish import publish
    >>> rules = Policy.load(sample.policy_path())
    >>> with TemporaryDirectory() as place:
    ...     _ = publish(Microdata(sample.table_path(), rules.schema), rules).write(f"{place}/out")
    ...     verify(f"{place}/out").files
    ('release.csv',)
    """
    require_folder(folder, "what is verified are files: made.write(folder), then verify(folder)")
    refuse_other_type(priors, (str, Path, NoneType), "the path of priors.json")
    path = certificate_path(folder)
    certificate, _ = load_signed(path, key)
    policy = None if policy is None else Policy.of(policy)
    verification, problems = judge(certificate, path.parent, policy, priors, population, after)
    if verification is None or problems:
        raise CertificateError("; ".join(problems))
    return verification


def load_signed(path: Path, key: str | Path | None = None) -> tuple[Certificate, str]:
    """Read a certificate, once, and its digest; with a key, only if its owner has signed it."""
    content = bytes_of_certificate(path)
    if key is not None:
        check_signature(path, key, content)
    certificate = Certificate.load(path, content, registered_kinds())
    return certificate, hashlib.sha256(content).hexdigest()


def write_certificate(certificate: Certificate, path: str | Path) -> None:
    """Write a certificate, whole or not at all.

    Raises
    ------
    CertificateError
        If it could not be read again, such as where a label is very long.
    """
    text = as_json(certificate.to_dict())
    try:
        check_certificate(from_json(text), "the certificate", registered_kinds())
    except CertificateError:
        raise
    except ValueError as error:
        raise CertificateError(f"the certificate cannot be written: {error}") from None
    write_whole(path, text)


def judge(
    certificate: Certificate,
    release: Path,
    policy: Policy | None = None,
    priors: str | Path | None = None,
    population: str | Path | Sequence[str | Path] | None = None,
    after: str | Path | Sequence[str | Path] | None = None,
) -> tuple[Verification | None, list[Problem]]:
    """Judge a written release; return the verification, None if it is unreadable, and its problems.

    With `after`, the earlier releases are verified, and all are judged as one.
    """
    # The judge takes a policy in its own form, and knows further kinds only if it is given them.
    own_policy = None if policy is None else _own_policy(certificate, policy)
    required = certificate.policy["require"] if own_policy is None else own_policy.tables["require"]
    # Only the kinds that are required are loaded; earlier releases may need others.
    verification, problems = judges.judge(
        certificate,
        release,
        own_policy,
        priors,
        population,
        after,
        kinds=_kinds_of(required) if after is None else registered_kinds(),
        further=_further_problems,
    )
    if verification is None:
        return None, problems
    values = {field.name: getattr(verification, field.name) for field in fields(verification)}
    return Verification(**values), problems


def findings_of(written_release: Written, required: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Let the judge judge; kinds that it does not know bring a judge of their own."""
    kinds = _kinds_of(required)
    return verdicts(written_release, required, kinds.judges, kinds.gauges)


def _kinds_of(required: Sequence[Mapping[str, Any]]) -> Kinds:
    return registered_kinds(chain(*required))


def remarks_as_written(
    certificate: Certificate, written_release: Written, required: Sequence[Mapping[str, Any]]
) -> Scope:
    """Remarks about what no requirement looks at, by the files."""
    return remarks_of_files(certificate, written_release, required, registered_kinds())


# ---- a policy of the reader's own ----------------------------------------------------------------


def _own_policy(certificate: Certificate, policy: Policy) -> OwnPolicy:
    """The user's policy, with the form in which the certified release is written."""
    refuse_other_schema(certificate, policy.needed_schema)
    policy.refuse_unshown()
    # How a release is written says what is published apart, and in multiples of what.
    publish_options: dict[str, Any] = {"form": certificate.form, "unlinked": certificate.unlinked}
    publish_options["round"] = certificate.policy.get("publish", {}).get("round", {})
    as_published = replace(policy, options=replace(policy.options, **publish_options))
    schema = policy.needed_schema

    def requirements_for(written_release: Written) -> Sequence[Mapping[str, Any]]:
        """The requirements as a certificate has them, for the values that the release shows."""
        labels_by_column = {}
        for column in certificate.sensitives:
            labels_by_column[column] = Labels(written_release.groups_of(column, ()).names)
        refuse_misspelt(labels_by_column, policy.requirements)
        # Rules on impossible values that the publisher does not have: their conditions must name
        # labels that somebody in the release has, or they would silently do nothing.
        maker_rules = schema_of(certificate).impossible
        rules = [rule for rule in schema.impossible if rule not in maker_rules]
        main_table = certificate.parts[0]  # with a row for each person
        columns = (*certificate.groups, *certificate.exact, *written_release.beside)
        for name in sorted({*chain(*(rule.where for rule in rules))}.intersection(columns)):
            rows = written_release.count_rows(main_table, (name,))
            refuse_unmet(rules, name, rows.column(name).texts, schema.hierarchies.get(name))
        for population in () if certificate.exact else as_published.compared:
            population.refuse_others(GroupLabels.of(list(written_release.held), certificate.groups))
        tables: Sequence[Mapping[str, Any]] = as_published.published(labels_by_column)["require"]
        return tables

    return OwnPolicy(as_published.published(), as_published.populations, requirements_for)


# ---- what only Foreknow can compare --------------------------------------------------------------


def _further_problems(
    certificate: CertificateRead, written_release: Written, book: Path | None
) -> Iterator[str]:
    """Problems in a code book or certificate that the judge does not know."""
    yield from _never_proved(certificate)
    if certificate.code_book is not None and book is not None:
        yield from contradictions_of(book, certificate, written_release)


def _never_proved(certificate: CertificateRead) -> Iterator[str]:
    """Yield a problem if a certificate claims more about a method than was ever proved."""
    claim, settings = certificate.scope["method"], dict(certificate.method)
    name = str(settings.pop("name", None))
    if claim == NOT_JUDGED:  # most releases: then no method is imported
        return
    every_kind = [kind_of(key) for key, _ in METHODS]
    kinds = {kind.__name__: kind for kind in every_kind}
    if name not in kinds:  # of others' methods nothing is known
        return
    try:
        proof = traits_of(kinds[name](**settings)).proof
    except (InputError, AttributeError, KeyError, TypeError, ValueError):  # Jump takes functions
        return
    if proof is None or not proof.may_be(claim, certificate.form):
        yield (
            f"scope: method is certified as {claim!r}, which is not proved of {name} with these "
            f"settings in the {certificate.form} form"
        )


def same_groups(bags_of_files: GroupBags, counts: GroupCounts) -> bool:
    """True if the files have the groups of a release, with as many people of each value."""
    groups: Any = counts.groups
    labels_and_codes = counts.group_parts or [(groups, np.arange(len(groups)))]
    labels = [Column.of(_texts(part_labels), codes) for part_labels, codes in labels_and_codes]
    # Groups of files are sorted by their labels, so those of the release are brought in this order.
    order = np.lexsort([column.codes for column in reversed(labels)])
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    values = Column.of(_texts(counts.values), counts.codes)
    group_of_cell, names = position[counts.cell_groups], list(values.texts)
    labels = [column.take(order) for column in labels]
    bags = GroupBags(labels, names, group_of_cell, values.codes, counts.counts)
    return (
        np.array_equal(bags_of_files.people, counts.sizes[order])
        and np.array_equal(bags_of_files.starts, bags.starts)
        and np.array_equal(bags_of_files.counts, bags.counts)
        and [bags_of_files.names[code] for code in bags_of_files.codes]
        == [names[code] for code in bags.codes]
        and len(bags_of_files.labels) == len(labels)
        and all(map(_have_equal_texts, bags_of_files.labels, labels))
    )


def _texts(labels: Iterable[Any]) -> list[str | None]:
    return [None if label is None else str(label) for label in labels]


def _have_equal_texts(first: Column, second: Column) -> bool:
    """True if two columns have the same texts in their rows."""
    texts = np.array(first.texts, dtype=object)[first.codes]
    other_texts = np.array(second.texts, dtype=object)[second.codes]
    return np.array_equal(texts, other_texts)


def certified_policy(certificate: Certificate) -> Policy:
    """The policy that a release was certified by, without requirements that need the owner's files.

    Such are priors that the owner keeps, and a population.
    """

    def needs_owner(requirement: Mapping[str, Any]) -> bool:
        return has_kept_priors(requirement) or any(map(names_population, requirement.values()))

    required = list(filterfalse(needs_owner, certificate.policy["require"]))
    if not required:
        raise CertificateError(
            "all that the certificate requires needs files of the owner; give the policy"
        )
    return Policy.from_dict({"schema": schema_of(certificate).to_dict(), "require": required})


def names_population(settings: Any) -> bool:
    """True if settings name a population, of which a release has a digest alone."""
    return isinstance(settings, Mapping) and "population" in settings
