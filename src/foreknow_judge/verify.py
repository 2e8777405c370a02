"""Verify: judge what was written from its files alone, and compare it with its certificate.

A certificate is not trusted. It says how the files are written and which requirements they are
claimed to meet; both are compared with what is found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

from foreknow_judge._version import __version__
from foreknow_judge.certificate import (
    Certificate,
    bytes_of_certificate,
    has_kept_priors,
)
from foreknow_judge.counts.cohorts import Cohorts
from foreknow_judge.criteria.gauges import digests_of
from foreknow_judge.errors import CertificateError, InputError, Problem, memory_for
from foreknow_judge.files.duckdb_files import Stamp, opened_once
from foreknow_judge.files.file_names import (
    CERTIFICATE,
    CODE_BOOK,
    PRIORS,
    REPORT,
    SIGNATURE,
    owners_folder,
)
from foreknow_judge.files.json_values import Plain
from foreknow_judge.files.release_folder import (
    FOR_THE_OWNER,
    changed_files,
    names_apart,
    paths_of,
    uncertified,
    wrong_companions,
)
from foreknow_judge.files.written_release import (
    Written,
    count_people,
    not_rounded,
    read_population,
    several_weights,
)
from foreknow_judge.knowledge.impossible_values import Rules
from foreknow_judge.policy.kept_priors import KeptPriors
from foreknow_judge.policy.settings import Table, Texts, checked
from foreknow_judge.registry import OURS, Kinds
from foreknow_judge.remarks.assumptions import ONCE_CLAIMED, on_inference
from foreknow_judge.remarks.differences import differences, failure_message, scope_differences
from foreknow_judge.remarks.remarks import NOT_JUDGED, remarks_of_files
from foreknow_judge.remarks.scope import CLAIMED, Scope
from foreknow_judge.text import some
from foreknow_judge.verdict import NOTHING_JUDGED, Verdict
from foreknow_judge.verdicts import read_requirements, verdicts


@dataclass(frozen=True, repr=False)
class Verification(Plain):
    """The result of a verification: figures and remarks that were judged afresh from the files.

    `claimed` and the format of the files (`groups`, `semantics` ...) come from the certificate.

    Attributes
    ----------
    files : tuple of str
        The files that were judged.
    people, n_groups : int
        The numbers of people and of groups.
    groups : tuple of str
        The columns that make a group.
    sensitive : str
    sensitives : tuple of str
        All sensitive columns; `sensitive` is the first.
    semantics : "single", "set" or "multiset"; a mapping if sensitive columns differ
    beside : tuple of str
        Columns that are published unchanged, and that no requirement looks at.
    findings : tuple of Verdict
        The worst verdict for each requirement and point.
    requirements : tuple of mappings
        The ``[[require]]`` tables of the requirements that were judged.
    own_policy : bool
        Whether these come from the reader's policy instead of the publisher's.
    unchanged : tuple of str
        Files beside the release whose digests are as certified; their content was not judged.
    not_judged : tuple of str
        Files beside the release that were not examined.
    to_keep : tuple of str
        Files beside the release that are for the owner only, and must not be published.
    claimed : tuple of str
        The publisher's notes, which cannot be checked from the files.
    scope : Scope
        The limits of the verdicts, as far as the files show them.
    claimed_scope : Scope
        Further limits that only the publisher states: who was left out, and what is proved of the
        method.
    counts_people : bool
        Whether rows are cases while the policy counts people, so that a criterion of values says
        nothing about people.
    after : tuple of (str, int)
        The name and number of people of each earlier release that was verified, too.
    people_of_all : int
        The number of people in these and this release.
    has_earlier : bool
        Whether other releases were published before; the policy must hold for all together.
    rounded : mapping of str to number
        The rounding step of each column that was rounded before it was judged.
    together : tuple of Verdict
        The worst verdict for each requirement and point on all releases, as one release of
        different people.
    """

    format: ClassVar[str] = "foreknow verification"
    version: ClassVar[int] = 1
    _json_fields = "* limits_inference assumed"

    files: Texts
    people: int
    n_groups: int
    groups: Texts
    sensitive: str
    beside: Texts
    findings: tuple[Verdict, ...]
    requirements: tuple[Table, ...] = field(repr=False)
    own_policy: bool = False
    unchanged: Texts = ()
    not_judged: Texts = ()
    to_keep: Texts = ()
    claimed: Texts = ()
    scope: Scope = field(default_factory=Scope)
    claimed_scope: Scope = field(default_factory=Scope)
    semantics: Any = "single"
    sensitives: Texts = ()
    counts_people: bool = False
    after: tuple[tuple[str, int], ...] = ()
    people_of_all: int = 0
    has_earlier: bool = False
    rounded: Mapping[str, Any] = field(default_factory=dict)
    together: tuple[Verdict, ...] = ()

    @property
    def in_cases(self) -> bool:
        """True if a row is a case, and a person may have several."""
        return self.scope.cases

    @property
    def idle(self) -> bool:
        """True if nothing was judged, since nobody has a value that must stay hidden."""
        return all(finding.idle for finding in (*self.findings, *self.together))

    @property
    def limits_inference(self) -> bool:
        """True if a requirement limits what is inferred about people, not only who looks alike."""
        on_people = [
            finding for finding in self.findings if not (self.counts_people and finding.of_groups)
        ]
        return any(map(self.limits, on_people))

    @property
    def assumed(self) -> tuple[str, ...]:
        """The assumptions: on inference, if a requirement limits any, and on who is counted."""
        sentences = on_inference(self.rounded, self.semantics) if self.limits_inference else ()
        return (*sentences, *[ONCE_CLAIMED] * (not self.in_cases))

    @property
    def limits_cases(self) -> bool:
        """True if inference is limited only for single cases, of which people may have several."""
        return not self.limits_inference and any(map(self.limits, self.findings))

    def limits(self, finding: Verdict) -> bool:
        """True if a finding's requirement limits what is inferred about a person or a case."""
        asks = finding.required.limits and not finding.idle
        return asks and bool(finding.found.limits_values)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the version of their format."""
        head = {"format": self.format, "version": self.version, "foreknow": __version__}
        return {**head, **super().to_dict()}


PathOrPaths: TypeAlias = str | Path | Sequence[str | Path]
_THIS = "this release"
_SIGNATURE_BYTES = 64  # of Ed25519
# Further checks of a release whose files are as certified; they yield what is wrong.
Further: TypeAlias = Callable[[Certificate, Written, Path | None], Iterable[str]]


class OwnPolicy(NamedTuple):
    """A policy of the reader, by which a release is judged in place of the publisher's."""

    tables: Table  # as a certificate has them
    populations: Table  # by their digests
    # Its ``[[require]]`` tables with labels of hierarchies written as values of the release.
    written_out: Callable[[Written], Sequence[Table]]


def verify(
    folder: str | Path,
    *,
    priors: str | Path | None = None,
    population: PathOrPaths | None = None,
    after: PathOrPaths | None = None,
) -> Verification:
    """Judge a written release afresh, from its files, and compare it with its certificate.

    Parameters
    ----------
    folder : path
        What `publish` wrote, or its ``certificate.json``.
    priors : path, optional
        The owner's ``priors.json``, where priors were learned and so are not in the certificate.
    population : path or list of these, optional
        The population that groups were compared with (`k_map`, `delta_presence`).
    after : path or sequence of path, optional
        The folders of all releases that were published before, as the certificate says: each is
        verified, and all are judged as one.

    Returns
    -------
    Verification

    Raises
    ------
    CertificateError
        If the release is not as certified, is not safe, or holds more than its policy accounts
        for; if the certificate cannot be read, or contradicts itself.
    """
    path = certificate_path(folder)
    certificate, _ = load_certificate(path)
    verification, problems = judge(certificate, path.parent, None, priors, population, after)
    if verification is None or problems:
        raise CertificateError("not-as-certified", "; ".join(problems))
    return verification


def certificate_path(folder: str | Path) -> Path:
    """The path of a certificate, from its folder, itself, or a file beside it."""
    path = Path(folder)
    if path.is_dir():
        return path / CERTIFICATE
    certificate_beside = path.with_name(CERTIFICATE)
    return certificate_beside if path.suffix != ".json" and certificate_beside.is_file() else path


def load_certificate(path: Path, kinds: Kinds = OURS) -> tuple[Certificate, str]:
    """Read a certificate, and return it with the digest of its file."""
    content = bytes_of_certificate(path)
    return Certificate.load(path, content, kinds), hashlib.sha256(content).hexdigest()


@memory_for("judging the release afresh")
def judge(
    certificate: Certificate,
    release: Path,
    own_policy: OwnPolicy | None = None,
    priors: str | Path | None = None,
    population: PathOrPaths | None = None,
    after: PathOrPaths | None = None,
    *,
    alone: bool = True,
    kinds: Kinds = OURS,
    further: Further | None = None,
) -> tuple[Verification | None, list[Problem]]:
    """Judge a written release; return what was found (None if it cannot be judged) and problems.

    `release` is its folder, or its only file. `own_policy` takes the place of the certificate's.
    With `after`, the earlier releases are verified, and all are judged as one. If nobody has a
    value that requirements name, this is a problem only if the release is judged `alone`.
    `further` adds checks of the caller.
    """
    if not certificate.files or not certificate.findings:
        raise CertificateError("nothing-certified")
    if not release.exists():
        raise CertificateError("no-file", release)
    folder, paths, unaccounted = _files_of(certificate, release)
    all_paths = [*chain(*paths.values())]
    if release not in (folder, *all_paths):
        raise CertificateError("not-of-the-release", release)
    for path in all_paths:
        if not path.is_file():
            raise CertificateError("no-file", path)
    requirements = _RequirementsAtHand.of(certificate, folder, own_policy, priors, population)
    # Opened once for everything, so that nobody can exchange a file between two looks at it.
    with opened_once(all_paths) as opened_paths:
        files = _ReleaseFiles(release, folder, paths, unaccounted, opened_paths)
        verification, problems = _judge_files(
            certificate, files, own_policy, requirements, kinds, further
        )
    if verification is not None and after is not None:
        verification, further_problems = judge_after(certificate, files, verification, after, kinds)
        problems += further_problems
    elif alone and verification is not None and verification.idle and not problems:
        # An empty verdict must not look like a passed one.
        message = NOTHING_JUDGED
        if certificate.after:
            message += "; name the releases before it, which may have one (after, --after)"
        problems += Problem.each("nothing-judged", [message])
    return verification, problems


def _files_of(
    certificate: Certificate, release: Path
) -> tuple[Path, dict[str, list[Path]], list[str]]:
    """The folder of a release, the paths of the files of each table, and other names in the folder.

    The last are names of files beside the release that the certificate does not account for.
    """
    # A single file may lie anywhere, and under another name: what lies beside it is not asked.
    if release.is_file() and len(certificate.files) == 1:
        return release.parent, {certificate.parts[0]: [release]}, []
    folder = release if release.is_dir() else release.parent
    accounted = {CERTIFICATE, *([CODE_BOOK] if certificate.code_book else [])}
    signature = folder / SIGNATURE
    # A file of exactly this size can be a signature, and no table could hide in it.
    if signature.is_file() and signature.stat().st_size == _SIGNATURE_BYTES:
        accounted.add(SIGNATURE)
    # A table may be a folder of parts: then its folder is accounted for.
    accounted.update(name.partition("/")[0] for name in certificate.files)
    unaccounted = {path.name for path in folder.iterdir()} - accounted
    return folder, certificate.paths(folder), sorted(unaccounted)


def judge_after(
    last_certificate: Certificate,
    files: _ReleaseFiles,
    verification: Verification,
    after: PathOrPaths,
    kinds: Kinds,
) -> tuple[Verification, list[Problem]]:
    """Verify the earlier releases, and judge all as one by the requirements of the last.

    `after` are the folders of the earlier releases; `verification` is that of the last release
    alone. Returns it with the joint verdicts added, and the problems of all.
    """
    releases, problems = _verify_earlier(last_certificate, paths_of(after), kinds)
    people_of_releases = tuple(
        (name, certificate.people) for name, (certificate, _) in releases.items()
    )
    everybody = last_certificate.people + sum(people for _, people in people_of_releases)
    releases[_THIS] = last_certificate, files.given
    # Kept priors were learned from the table of one release, and not from all of these people.
    if any(has_kept_priors(table) for table in verification.requirements):
        raise CertificateError("not-together", "the priors that the owner keeps")
    paths = {name: certificate.paths(path) for name, (certificate, path) in releases.items()}
    paths[_THIS] = files.paths
    all_paths = chain(*(chain(*paths_of_tables.values()) for paths_of_tables in paths.values()))
    # Opened anew, since `judge` closed them: so their digests are compared again.
    with opened_once([*all_paths]) as opened_paths:
        written_releases = {}
        for name, (certificate, path) in releases.items():
            changed = changed_files(certificate, paths[name], opened_paths, path)
            problems += Problem.each("digest-differs", changed)
            written_releases[name] = written_of(
                certificate, _opened_tables(paths[name], opened_paths), {}
            )
        several = Cohorts.of(written_releases)
        joint_findings = verdicts(several, verification.requirements, kinds.judges, kinds.gauges)
        if count_people(several)[0] != everybody:
            message = "some people are in no release that the certificate names"
            problems += Problem.each("other-figures", [message])
    unsafe = [failure_message(joint, several.groups) for joint in joint_findings if not joint.safe]
    problems += Problem.each("not-safe", (f"together: {message}" for message in unsafe))
    verification = replace(
        verification,
        after=people_of_releases,
        people_of_all=everybody,
        together=tuple(joint_findings),
    )
    if verification.idle and not problems:
        problems += Problem.each("nothing-judged", [NOTHING_JUDGED])
    return verification, problems


def _verify_earlier(
    last_certificate: Certificate, folders: Sequence[Path], kinds: Kinds
) -> tuple[dict[str, tuple[Certificate, Path]], list[Problem]]:
    """Verify each earlier release, and that these are all releases that the last certificate names.

    Returns the certificate and folder of each release, by its name in messages, and the problems.
    """
    people_by_digest = {entry["certificate"]: entry["people"] for entry in last_certificate.after}
    releases, digests, problems = dict[str, tuple[Certificate, Path]](), [], list[Problem]()
    # Names of folders, changed where two are equal.
    names = names_apart([folder.resolve().name for folder in folders], _THIS)
    for name, folder in zip(names, folders, strict=True):
        certificate, digest = load_certificate(folder / CERTIFICATE, kinds)
        releases[name] = certificate, folder
        digests.append(digest)
        # A release that came after others may have nothing to judge by itself.
        _, wrong = judge(certificate, folder, alone=not certificate.after, kinds=kinds)
        for problem in wrong:
            problems += Problem.each(problem.code, [f"{name}: {problem}"])
        if people_by_digest.get(digest, certificate.people) != certificate.people:
            message = f"{name} has other people than the certificate says"
            problems += Problem.each("other-figures", [message])
    if not people_by_digest:
        raise CertificateError("not-asked-for", "after")
    if sorted(digests) != sorted(people_by_digest):
        raise CertificateError("other-releases")
    # The releases before an earlier one must be here, too, or some people would be missing.
    for name, (certificate, _) in releases.items():
        if any(entry["certificate"] not in people_by_digest for entry in certificate.after):
            raise CertificateError("unnamed-release", name)
    return releases, problems


class _ReleaseFiles(NamedTuple):
    """Where a release lies: what was given, its folder, its files, and what lies beside them."""

    given: Path
    folder: Path
    paths: dict[str, list[Path]]  # of each table
    others: Sequence[str]
    opened: Mapping[Path, Path]  # for each file, a path that stays the opened file

    @property
    def tables(self) -> dict[str, list[Path]]:
        """The opened files of each table."""
        return _opened_tables(self.paths, self.opened)


def _opened_tables(
    paths: Mapping[str, list[Path]], opened_paths: Mapping[Path, Path]
) -> dict[str, list[Path]]:
    """The opened files of each table."""
    return {
        table: [*map(opened_paths.__getitem__, paths_of_table)]
        for table, paths_of_table in paths.items()
    }


class _RequirementsAtHand(NamedTuple):
    """The requirements, and for the positions of those that cannot be judged, what they lack."""

    required: Sequence[Any]
    populations: Table
    kept: KeptPriors | None = None
    unjudged: Mapping[int, str] = {}

    @classmethod
    def of(
        cls,
        certificate: Certificate,
        folder: Path,
        own_policy: OwnPolicy | None,
        priors: str | Path | None,
        population: PathOrPaths | None,
    ) -> _RequirementsAtHand:
        """The requirements of a certificate or of the reader's policy, with the files at hand.

        Some need a file that is not published: priors that the owner keeps, or a population.
        Requirements whose file is lacking are noted with a sentence on what they lack.
        """
        required = (certificate.policy if own_policy is None else own_policy.tables)["require"]
        without_priors = [
            position for position, table in enumerate(required) if has_kept_priors(table)
        ]
        if priors is not None and not without_priors:
            raise CertificateError("not-asked-for", "--priors")
        if own_policy is not None:  # the reader gave its populations, and it has no kept priors
            return cls(required, own_policy.populations)
        kept_priors = None
        # If no file of priors is named, the owner may still have it beside the release.
        if without_priors and (at_hand := priors or _kept_beside(folder)):
            kept_priors = KeptPriors.load(at_hand)
            required, without_priors = kept_priors.filled(required), []
        populations = populations_of(certificate, population)
        unjudged = dict.fromkeys(without_priors, _LACKS_PRIORS)
        for position, digest in digests_of(required):
            if digest not in populations:
                unjudged[position] = _LACKS_POPULATION
        return cls(required, populations, kept_priors, unjudged)

    @property
    def lacking(self) -> str:
        """A sentence on requirements that cannot be checked, and on the files that they lack.

        Requirements are named by their positions in the policy. Empty if all can be checked.
        """
        sentences = []
        for what in (_LACKS_PRIORS, _LACKS_POPULATION):
            positions = [
                position for position in sorted(self.unjudged) if self.unjudged[position] == what
            ]
            if positions:
                names = " and ".join(f"require[{position}]" for position in positions)
                sentences.append(f"{names} cannot be checked without {what}")
        return "; ".join(sentences)


_LACKS_PRIORS = (
    f"the priors, which are kept with the owner: ask for {PRIORS}, and name it by --priors FILE"
)
_LACKS_POPULATION = "the population, which is not published: name it by --population FILE"


class _Judged(NamedTuple):
    """The figures and remarks that the opened files of a release give."""

    release: Written
    requirements: Sequence[Any]  # the ``[[require]]`` tables, as they were judged
    people: int
    n_groups: int
    findings: Sequence[Verdict]
    scope: Scope


def _judge_files(
    certificate: Certificate,
    files: _ReleaseFiles,
    own_policy: OwnPolicy | None,
    at_hand: _RequirementsAtHand,
    kinds: Kinds,
    further: Further | None,
) -> tuple[Verification | None, list[Problem]]:
    """Judge the opened files of a release, whatever lies at their paths by now.

    Returns what was found (None if the files cannot be judged), and what is wrong with the release.
    """
    # The stamp notices at the end if a file changed: what is digested must be what is judged.
    stamp = Stamp([*files.opened.values()])
    problems = [*Problem.each("uncertified-file", uncertified(files.folder, files.others))]
    changed = changed_files(certificate, files.paths, files.opened, files.given)
    companions = wrong_companions(certificate, files.given, files.folder, files.others)
    problems += Problem.each("digest-differs", chain(changed, companions))
    # The layout of the files is as certified, also if the reader's policy takes the place of its.
    under_policy = certificate
    if own_policy is not None:
        under_policy = replace(certificate, policy=own_policy.tables)
    try:
        judged = _judge_tables(under_policy, files, own_policy, at_hand, kinds)
        for wrong_numbers in not_rounded, several_weights:
            problems += Problem.each("other-figures", wrong_numbers(certificate, judged.release))
        unsafe = [finding for finding in judged.findings if not finding.safe]
        messages = [failure_message(finding, certificate.groups) for finding in unsafe]
        problems += Problem.each("not-safe", messages)
        if own_policy is None:  # else the certified figures are those of another policy
            problems += Problem.each("other-figures", _differences(certificate, judged, at_hand))
            if not problems:  # remarks rest on the figures, so wrong figures come first
                wrong_remarks = scope_differences(certificate.scope, judged.scope)
                problems += Problem.each("other-remarks", wrong_remarks)
        if further is not None and not problems:
            release = judged.release
            if own_policy is not None:  # as it was before the reader's policy was asked of it
                release = written_of(certificate, files.tables, {})
            book = None if files.given.is_file() else files.folder / CODE_BOOK
            problems += Problem.each("other-figures", further(certificate, release, book))
        stamp.check()
    except InputError as error:
        return None, [*problems, *Problem.each(error.code, [str(error)])]
    if at_hand.unjudged:
        # A lacking file is the reader's to give, so it is an error; unless the release is wrong
        # already, whatever that file says.
        if not problems:
            raise CertificateError("not-verified", at_hand.lacking)
        problems += Problem.each("not-verified", [at_hand.lacking])
    return _verification_of(under_policy, files, judged, own_policy), problems


def _judge_tables(
    certificate: Certificate,
    files: _ReleaseFiles,
    own_policy: OwnPolicy | None,
    at_hand: _RequirementsAtHand,
    kinds: Kinds,
) -> _Judged:
    """The verdicts on the opened files, and what else is judged of them.

    `certificate` has the policy that judges them, which may be the reader's.
    """
    required = at_hand.required
    release = written_of(certificate, files.tables, at_hand.populations)
    if own_policy is not None:
        # It may name labels of hierarchies, which stand for values of the release.
        release.prepare([])
        required = own_policy.written_out(release)
    release.prepare(read_requirements(required))
    people, n_groups = count_people(release)
    if not people:
        raise CertificateError("no-rows")
    findings = list[Verdict]()
    for number, table in enumerate(required):
        if number not in at_hand.unjudged:
            findings += verdicts(release, [table], kinds.judges, kinds.gauges, number)
    scope = remarks_of_files(certificate, release, required, kinds)
    return _Judged(release, required, people, n_groups, findings, scope)


def _differences(
    certificate: Certificate, judged: _Judged, at_hand: _RequirementsAtHand
) -> Iterable[str]:
    """The figures that are not as certified, one sentence each."""
    certified = [
        finding
        for finding in certificate.findings
        if finding["requirement"] not in at_hand.unjudged
    ]
    yield from differences(judged.findings, certified, at_hand.kept)
    people, n_groups = judged.people, judged.n_groups
    if (people, n_groups) != (certificate.people, certificate.n_groups):
        size = f"{some(people, 'person', 'people')} in {some(n_groups, 'group', 'groups')}"
        certified_size = f"{certificate.people} in {certificate.n_groups}"
        yield f"the release has {size}; certified are {certified_size}"


def _verification_of(
    certificate: Certificate, files: _ReleaseFiles, judged: _Judged, own_policy: OwnPolicy | None
) -> Verification:
    """The result: what was judged, and what the certificate alone says.

    `certificate` has the policy that judged, which may be the reader's.
    """
    notes, claims = certificate.notes, certificate.scope
    if own_policy is not None:  # the publisher's word is about another policy
        notes, claims = (), {}
    # Remarks that the files cannot show are passed on as the publisher's word.
    claims = {key: claims[key] for key in CLAIMED if claims.get(key, NOT_JUDGED) != NOT_JUDGED}
    # If the digest of the report differed, it would be among the problems.
    unchanged = [REPORT] if certificate.report and REPORT in files.others else []
    is_one_file = [*files.opened] == [files.given]
    return Verification(
        files=(files.given.name,) if is_one_file else tuple(certificate.files),
        people=judged.people,
        n_groups=judged.n_groups,
        groups=tuple(certificate.groups),
        sensitive=certificate.sensitive,
        beside=judged.scope.beside or (),
        findings=tuple(judged.findings),
        requirements=tuple(judged.requirements),
        own_policy=own_policy is not None,
        unchanged=tuple(unchanged),
        not_judged=tuple(name for name in files.others if name not in unchanged),
        to_keep=tuple(name for name in files.others if name in FOR_THE_OWNER),
        claimed=tuple(notes),
        scope=judged.scope,
        claimed_scope=checked(Scope, claims, "scope"),
        semantics=certificate.semantics,
        sensitives=certificate.sensitives,
        counts_people=judged.scope.cases and bool(certificate.schema.get("person")),
        has_earlier=bool(certificate.after),
        rounded=certificate.policy.get("publish", {}).get("round", {}),
    )


def _kept_beside(folder: Path) -> Path | None:
    """The path of the owner's priors; None if it does not exist or cannot be read."""
    path = owners_folder(folder) / PRIORS
    with suppress(OSError):
        if path.is_file():
            return path
    return None


def populations_of(certificate: Certificate, paths: Any) -> dict[str, Any]:
    """The paths of the given population files, by the digest that the certificate names them by.

    `paths` is one path or several; None gives an empty result.
    """
    if paths is None:
        return {}
    digests = {digest for _, digest in digests_of(certificate.policy["require"])}
    if not digests:
        raise CertificateError("not-asked-for", "--population")
    populations: dict[str, Any] = {}
    for path in [paths] if isinstance(paths, (str, Path)) else paths:
        path = Path(path)
        if not path.is_file():
            raise CertificateError("no-file", path)
        schema = certificate.schema
        # A population may have a column that names people: each of them must stand there once.
        person = schema.get("person")
        naming_columns = [person] if person else schema.get("identifiers", [])
        # It is compared by exact columns where these are published, else by the groups' labels.
        columns = certificate.exact or certificate.groups
        digest = read_population(path, columns, naming_columns).digest
        if digest not in digests:
            raise CertificateError("digest-differs", path.name)
        populations[digest] = path
    return populations


def written_of(certificate: Certificate, tables: Table, populations: Table) -> Written:
    """The release that is judged: its tables, or their files, with what the certificate says.

    `tables` has the files of each table, by its name; `populations` has paths by digest.
    """
    table_of_column = dict[str, str]()  # for each sensitive column, the table that it stands in
    for table, columns in certificate.tables_of_sensitive.items():
        table_of_column |= dict.fromkeys(columns, table)
    return Written(
        certificate.form,
        certificate.groups,
        certificate.sensitive,
        tables,
        certificate.escaped,
        certificate.semantics,
        certificate.columns,
        populations=populations,
        parts=table_of_column,
        exact=certificate.exact,
        shuffled=certificate.unlinked if certificate.parts == ("release",) else (),
        beside=certificate.beside,
        rules=Rules.of(certificate.schema),
        delimiter=certificate.delimiter,
        commas=certificate.commas,
    )
