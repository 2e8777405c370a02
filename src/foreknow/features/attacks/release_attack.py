"""The target of an attack on a release: its raw table, its policy, the group of each row.

The release is a folder that `publish` wrote, or what `publish` returned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from foreknow.certificates import Certificate
from foreknow.data.arrays import IntArray
from foreknow.data.columns.reading_rules import file_of
from foreknow.data.microdata import Microdata
from foreknow.features.attacks.worlds import ATTACK
from foreknow.methods.proof import NOT_JUDGED
from foreknow.methods.protocol import traits_of
from foreknow.needs import refuse_rules, require, several_columns, several_values
from foreknow.policy.options import PublishOptions
from foreknow.policy.policy import Policy
from foreknow.written_releases.members import OwnRelease, groups_of, table_schema
from foreknow_judge.certificate import has_kept_priors
from foreknow_judge.errors import InputError
from foreknow_judge.files.documents import from_json
from foreknow_judge.files.file_names import CERTIFICATE, MEMBERS, OWNER, owners_folder


def is_release(release: Any) -> bool:
    """True if it is a folder that `publish` wrote, or what `publish` returned."""
    folder = file_of(release)
    if folder is not None:
        return (folder / CERTIFICATE).is_file()
    return hasattr(release, "certificate") and hasattr(release, "placed")


@dataclass(frozen=True, eq=False)
class AttackedRelease:
    """A release that its owner attacks.

    Attributes
    ----------
    made_by : str
        The class of the method that made it, by its certificate.
    groups : int array
        The group of each row of the table; -1 where it was left out.
    is_unproved : bool
        Whether it came after others, and its certificate says nothing of the method.
    """

    name: str
    made_by: str
    microdata: Microdata
    policy: Policy
    groups: IntArray
    is_unproved: bool = False

    @classmethod
    def of(
        cls,
        release: Any,
        table: Any = None,
        policy: Policy | None = None,
        members: str | Path | None = None,
        *,
        other_method: bool = False,
    ) -> AttackedRelease:
        """The release with its raw table, which is searched for if none is given.

        `release` is a folder, or what `publish` returned. The options of the policy are those of
        the certificate; `other_method` says that method and settings are the caller's.
        """
        folder = file_of(release)
        if folder is not None:
            return cls._of_folder(folder, table, policy, members, other_method)
        if not is_release(release):
            raise InputError(
                "release is what fk.publish returned, or the folder that it wrote, not "
                f"{type(release).__name__}"
            )
        if members is not None:
            raise InputError("members is for a folder that publish wrote")
        if release.certificate.after:
            raise InputError(
                "the release was made after others: write it, and attack the folder, as "
                'fk.attack("table.csv", release="folder")'
            )
        # The entries of a publication know the rows that they were made of.
        rules = _as_published(policy or release.audit.policy, release.certificate, other_method)
        source = release.placed.entries.rows if table is None else table
        microdata = rules.microdata(source)
        counts, parts = release.release.counts, release.placed.members()
        # One part for each release that is judged together; their rows follow each other.
        groups = [groups_of(p, release.certificate, counts) for p in parts]
        made_by = release.certificate.method["name"]
        return cls("the release", made_by, microdata, rules, np.concatenate(groups))

    @classmethod
    def _of_folder(
        cls,
        folder: str | Path,
        table: Any,
        policy: Policy | None,
        members: str | Path | None,
        other_method: bool,
    ) -> AttackedRelease:
        """The release in a folder that `publish` wrote, with its raw table.

        `table` None: the table is searched for by the owner's record. `members` None: the file in
        the owner's folder.
        """
        schema = None if policy is None else policy.needed_schema
        own_release = OwnRelease.open(folder, members, schema)
        certificate = own_release.published.certificate
        rules = _as_published(policy or certified_policy(certificate), certificate, other_method)
        source = source_of(Path(folder), own_release.path.parent) if table is None else table
        microdata = own_release.shown(rules.microdata(source))
        own_release.refuse_other(microdata, by_certificate=policy is None)
        name = own_release.published.release.name
        is_unproved = bool(certificate.after) and certificate.scope["method"] == NOT_JUDGED
        made_by = certificate.method["name"]
        return cls(name, made_by, microdata, rules, own_release.groups, is_unproved)

    def refuse_other_method(self, method: Any) -> None:
        """Refuse a method by name that is not the one of the certificate, or not its first run."""
        if self.made_by != type(method).__name__:
            raise InputError(
                f"{self.name} was made by {self.made_by}, not by {type(method).__name__}: leave "
                "out --method (method=), or give the method itself, by --method FILE.py:NAME"
            )
        proof = traits_of(method).proof
        if self.is_unproved and proof is not None and proof.said(self.policy) != NOT_JUDGED:
            raise InputError(
                f"{self.name}: its groups were searched again, since the first ones did not go "
                f"with earlier releases. What is proved of {self.made_by} is about first ones, and "
                "no attack knows what was refused; leave release out to attack a first search"
            )


def source_of(folder: Path, owner: Path) -> Path:
    """The path of the raw table of a release, by name from the owner's record.

    It is looked for in the current folder, and beside the folder of the release.
    """
    try:
        # A record that is missing or damaged counts as one without a name.
        name = str(from_json((owner / OWNER).read_text("utf-8"))["source"])
    except (OSError, ValueError, KeyError, TypeError):
        name = ""
    for path in (Path(name), folder.absolute().parent / name):
        if name and path.is_file():
            return path
    missing_text = f"{name!r} is neither here nor beside it; " if name else ""
    raise InputError(
        f"{str(folder)!r} is a release; an attack also takes the raw table that it was made of: "
        f"{missing_text}give the table, and the folder by --release {quote(str(folder))} "
        f"(release={str(folder)!r})"
    )


def can_be_attacked(folder: Path, policy: Policy | None, table: Path | None = None) -> bool:
    """True if an attack on the release in a folder is supported, and its files are at hand.

    Its files are the owner's list of members, and the raw table: `table`, or the one on record.
    """
    owner = owners_folder(folder)
    if not (owner / MEMBERS).is_file():
        return False
    try:
        if table is None or not table.is_file():
            source_of(folder, owner)
        certificate = Certificate.load(folder / CERTIFICATE)
        rules = policy or certified_policy(certificate)
        schema = rules.needed_schema
        require(ATTACK, {**several_values(schema.semantics), **several_columns(rules.looked_at)})
        refuse_rules(ATTACK, schema, ATTACK.needs)
    except InputError:
        return False
    # Limits on windows of numbers, relative limits and releases after others are not attacked.
    if any(requirement.of_windows for requirement in rules.requirements):
        return False
    return not certificate.after and not any(point.relative for point in rules.points)


def certified_policy(certificate: Certificate) -> Policy:
    """The policy in a certificate; refused if the certificate does not hold all of it."""
    table_schema(None, certificate)  # which refuses what is in files
    try:
        # What the owner counted, and priors that were learned, are not written into certificates.
        if counted_by_owner := certificate.scope.get("word"):
            raise InputError(f"the owner counted what it does not have: {counted_by_owner[0]}")
        if any(map(has_kept_priors, certificate.policy["require"])):
            raise InputError("learned priors are not in it")
        return Policy.from_dict(certificate.policy, name="the certificate")
    except InputError as error:
        raise InputError(
            f"the certificate does not have all of the policy ({error}); add it by --policy FILE "
            "(policy=)"
        ) from None


def _as_published(policy: Policy, certificate: Certificate, other_method: bool) -> Policy:
    """The policy with the options by which a release was published, from its certificate.

    If `other_method`, the attack is on the policy's method, and not on the one that made the
    release: the policy keeps its own method and settings.
    """
    options = PublishOptions.from_dict(certificate.policy["publish"])
    if other_method:
        before = policy.options
        options = replace(options, method=before.method, settings=before.settings)
    return replace(policy, options=options)
