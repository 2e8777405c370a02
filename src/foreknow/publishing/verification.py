"""What was written, judged from its files alone and compared with its certificate.

A certificate is not trusted. It says how the files are written and which requirements they are
claimed to meet; both are compared with what is found.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, TypeVar

from foreknow.adversaries import registry as adversaries
from foreknow.auditing.scope import scope_of_values
from foreknow.criteria import registry as criteria
from foreknow.data.counts import GroupCounts
from foreknow.data.labels import GroupLabels, Labels
from foreknow.data.layout import Layout, several_of
from foreknow.duckdb_files import Stamp, opened_once
from foreknow.errors import CertificateError, InputError, PolicyError, hinted, memory_for
from foreknow.file_names import (
    CERTIFICATE,
    CODE_BOOK,
    LATTICE,
    MEMBERS,
    OWNER,
    PRIORS,
    REPORT,
    SIGNATURE,
    owners_folder,
)
from foreknow.grammar import LIMITS, AskedTable
from foreknow.methods.proof import NOT_JUDGED
from foreknow.methods.protocol import traits_of
from foreknow.methods.registry import METHODS, kind_of
from foreknow.numbers import exact_text
from foreknow.plugins import foreign, package_of
from foreknow.policy.counted import RequirementCounts
from foreknow.policy.policy import Policy
from foreknow.policy.requirement import Requirement
from foreknow.publishing.code_book import lies_of
from foreknow.publishing.priors import KeptPriors
from foreknow.publishing.signature import check_signature
from foreknow.releases.certificate import (
    Certificate,
    bytes_of_certificate,
    digest_of,
    files_of,
    is_kept,
)
from foreknow.releases.members import names_apart
from foreknow.releases.written import paths_of, refuse_other_schema, strange_parts
from foreknow.result import Result
from foreknow.scope import CLAIMED, Scope
from foreknow.text import people_text, some
from foreknow.verdict import Verdict
from foreknow.verifier.cohorts import Cohorts
from foreknow.verifier.formats import labels_of
from foreknow.verifier.impossible import Rules
from foreknow.verifier.verify import (
    GAUGES,
    VERIFIERS,
    Gauge,
    Judge,
    Written,
    asked_of,
    count_people,
    digests_of,
    of_people,
    read_population,
    suppressed_columns,
)
from foreknow.verifier.verify import verify as verify_written

Own = TypeVar("Own", Judge, Gauge)

_THIS = "this release"
_FOR_THE_OWNER = frozenset((LATTICE, OWNER, PRIORS, MEMBERS))
# What may lie beside a release and is no data, as its name ends; every other file may be a table.
_DOCUMENTS = {"md", "rst", "pdf", "png", "jpg", "jpeg", "svg", "sig", "asc", "cff", "toml"}
_ALSO = frozenset((
    "readme", "license", "licence", "copying", "notice", "authors", "changelog", "citation",
    ".ds_store", "desktop.ini", ".gitignore", ".gitattributes",
))  # fmt: skip
_NAMES = frozenset(("release", "people", "sensitive"))


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """What was judged, and what was found; nothing here is copied from the certificate's claims.

    Attributes
    ----------
    files : tuple of str
        The files that were judged.
    people, n_groups : int
    groups : tuple of str
        The columns that make a group.
    sensitive : str
    sensitives : tuple of str
        All sensitive columns; `sensitive` is the first.
    semantics : "single", "set" or "multiset"; of several columns that differ, a mapping
    beside : tuple of str
        Columns that are published as they are, and that no requirement looks at.
    findings : tuple of Verdict
        The worst of each requirement and point.
    requirements : tuple of mappings
        The ``[[require]]`` tables by which it was judged.
    own_policy : bool
        Whether they are those of a policy that was given, and not the publisher's.
    unchanged : tuple of str
        Files beside them that are, by their digests, those that were certified; what they say was
        not judged.
    not_judged : tuple of str
        Files beside the release that nothing was found out about.
    to_keep : tuple of str
        Those of them that are for the owner only, and must not be published.
    claimed : tuple of str
        The publisher's notes, which cannot be checked from the files.
    scope : Scope
        What no requirement looks at, as far as the files tell.
    claimed_scope : Scope
        What the publisher says beyond that: who was left out, and what is proved of the method.
    counts_people : bool
        Whether rows are cases of people whom the policy counts: a criterion of values says nothing
        of these.
    after : tuple of (str, int)
        Earlier releases that were verified, too, and how many people each shows.
    people_of_all : int
        How many people they and this one show.
    together : tuple of Verdict
        The worst of each requirement and point in all of them, as one release of different people.
    """

    format = "foreknow verification"
    _told = "* limits_inference"

    files: tuple[str, ...]
    people: int
    n_groups: int
    groups: tuple[str, ...]
    sensitive: str
    beside: tuple[str, ...]
    findings: tuple[Verdict, ...]
    requirements: tuple[Mapping[str, Any], ...] = field(repr=False)
    own_policy: bool = False
    unchanged: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()
    to_keep: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()
    scope: Scope = field(default_factory=Scope)
    claimed_scope: Scope = field(default_factory=Scope)
    semantics: Any = "single"
    sensitives: tuple[str, ...] = ()
    counts_people: bool = False
    after: tuple[tuple[str, int], ...] = ()
    people_of_all: int = 0
    together: tuple[Verdict, ...] = ()

    @property
    def in_cases(self) -> bool:
        """Whether a row is a case, of which a person may have several."""
        return self.scope.cases

    @property
    def idle(self) -> bool:
        """Whether nothing is asked of the table: nobody has a value that is to be hidden."""
        return bool(self.findings) and all(finding.idle for finding in self.findings)

    @property
    def limits_inference(self) -> bool:
        """Whether any requirement limits what is inferred, and not only who looks alike."""
        counted = [own for own in self.findings if not (self.counts_people and own.of_groups)]
        return any(map(self.limits, counted))

    @property
    def limits_cases(self) -> bool:
        """Whether it is limited of each case alone, where people may have several."""
        return not self.limits_inference and any(map(self.limits, self.findings))

    def limits(self, finding: Verdict) -> bool:
        """Whether the requirement of a finding limits what is inferred of anybody, or any case."""
        asks = finding.required.limits and not finding.idle
        return asks and bool(finding.found.limits_values)

    def __repr__(self) -> str:
        columns = "" if len(self.sensitives) < 2 else f"; {', '.join(self.sensitives)}"
        noun = "cases" if self.scope.cases else "people"
        return (
            f"Verification({', '.join(self.files)}: {self.people} {noun} in {self.n_groups} groups"
            f"{columns})"
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
        What `publish` wrote, or its ``certificate.json``.
    policy : Policy or path, optional
        Judge by this policy, its schema and its requirements, and not by the publisher's. The
        certificate then only says how the files are written.
    priors : path, optional
        The owner's ``priors.json``, where priors were learned and so are not in the certificate;
        the one in ``FOLDER.owner`` when left out.
    population : path or list of these, optional
        The population that groups were compared with (`k_map`, `delta_presence`), as CSV or
        Parquet: the certificate has its digest only.
    key : path, optional
        The public Ed25519 key of who must have signed the certificate; needs the extra ``sign``.
    after : path or sequence of path, optional
        The folders of all releases that were published before, as the certificate says: each is
        verified, and all are judged as one. That nobody is in two of them is the publisher's word.

    Returns
    -------
    Verification

    Raises
    ------
    CertificateError
        If the release is not as certified, is not safe, or holds more than its policy accounts
        for; if the certificate cannot be read, or contradicts itself; if priors are needed that
        are kept with the owner.
    SchemaError
        If a policy is given that has other columns than the release.

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
    if not isinstance(folder, (str, Path)):
        raise InputError(
            f"expected a folder that publish wrote, not {type(folder).__name__}; what is verified "
            "are files: made.write(folder), then verify(folder)"
        )
    if not isinstance(priors, (str, Path, NoneType)):
        raise InputError(f"expected the path of priors.json, not {type(priors).__name__}")
    path = Path(folder)
    path = path / CERTIFICATE if path.is_dir() else path
    known, _ = load_signed(path, key)
    if isinstance(policy, (str, Path)):
        policy = Policy.load(policy)
    elif policy is not None and not isinstance(policy, Policy):
        raise InputError(f"expected a Policy or its path, not {type(policy).__name__}")
    found, problems = judge(known, path.parent, policy, priors, population)
    if found is not None and after is not None:
        found, more = judge_after(known, path.parent, found, after)
        problems += more
    if found is None or problems:
        raise CertificateError("; ".join(problems))
    return found


def load_signed(path: Path, key: str | Path | None = None) -> tuple[Certificate, str]:
    """Read a certificate, once, and its digest; with a key, only if its owner has signed it."""
    content = bytes_of_certificate(path)
    if key is not None:
        check_signature(path, key, content)
    return Certificate.load(path, content), hashlib.sha256(content).hexdigest()


@memory_for("judging the release afresh")
def judge(
    known: Certificate,
    release: Path,
    policy: Policy | None = None,
    priors: str | Path | None = None,
    population: str | Path | Sequence[str | Path] | None = None,
) -> tuple[Verification | None, list[str]]:
    """Judge a written release; return what was found, and what is wrong."""
    if not known.files:
        raise CertificateError("the certificate names no files; it was never written")
    if not known.findings:
        raise CertificateError("the certificate certifies nothing: it has no findings")
    if not release.exists():
        raise CertificateError(f"there is no file or folder {str(release)!r}")
    if release.is_file() and len(known.files) == 1:
        folder, paths, others = release.parent, {known.parts[0]: [release]}, []
    else:
        folder = release if release.is_dir() else release.parent
        paths = known.paths(folder)
        own = {CERTIFICATE, SIGNATURE, *(name.partition("/")[0] for name in known.files)}
        own |= {CODE_BOOK} if known.code_book else set()
        others = sorted(path.name for path in folder.iterdir() if path.name not in own)
    every = [path for own in paths.values() for path in own]
    if release not in (folder, *every):
        raise CertificateError(
            f"{str(release)!r} is no file of the release that {CERTIFICATE} names: give the folder "
            f"or {' or '.join(dict.fromkeys(path.name for path in every))}"
        )
    for path in every:
        if not path.is_file():
            raise CertificateError(f"there is no file {str(path)!r}")
    with opened_once(every) as opened:
        return _judged(known, release, folder, paths, others, opened, policy, priors, population)


def judge_after(
    known: Certificate, folder: Path, found: Verification, after: str | Path | Sequence[str | Path]
) -> tuple[Verification, list[str]]:
    """Verify the releases before one, and judge all as one, by what is required of the last."""
    before_paths = paths_of(after)
    names = names_apart([path.resolve().name for path in before_paths], _THIS)
    earlier = dict(zip(names, before_paths, strict=True))
    problems, digests = list[str](), set[str]()
    certificates: dict[str, Certificate] = {}
    for name, path in earlier.items():
        certificates[name], digest = load_signed(path / CERTIFICATE)
        digests.add(digest)
        _, wrong = judge(certificates[name], path)
        problems += [f"{name}: {problem}" for problem in wrong]
    digests_named = {each["certificate"] for each in known.after}
    if not digests_named:
        raise CertificateError(
            "the certificate names no release that was published before; leave after out"
        )
    if len(earlier) < len(before_paths) or digests != digests_named:
        raise CertificateError(
            f"the certificate says that the release was published after "
            f"{some(len(digests_named), 'other', 'others')}, by their digests, and these are not "
            "they: name all of them, and no others (after, --after)"
        )
    for name, certificate in certificates.items():
        if any(own["certificate"] not in digests_named for own in certificate.after):
            raise CertificateError(
                f"{name} was published after another release, which the certificate does not name"
            )
    people = {each["certificate"]: each["people"] for each in known.after}
    for name, path in earlier.items():
        if people[digest_of(path / CERTIFICATE)] != certificates[name].newcomers:
            problems.append(f"{name} has other people than the certificate says")
    if any(is_kept(table) for table in found.requirements):
        raise CertificateError("releases cannot be judged together by priors that the owner keeps")
    for key in ("impossible", "shared"):
        if any(own.policy["schema"].get(key) for own in (known, *certificates.values())):
            raise CertificateError(f"{key} is not judged of several releases together")
    folders = {**earlier, _THIS: folder}
    known_of = {**certificates, _THIS: known}
    paths = {name: own.paths(folders[name]) for name, own in known_of.items()}
    every = [path for of in paths.values() for files in of.values() for path in files]
    with opened_once(every) as opened:
        written = {}
        for name, certificate in known_of.items():
            problems += _changed(certificate, paths[name], opened, folders[name])
            tables = {part: [opened[path] for path in files] for part, files in paths[name].items()}
            written[name] = written_of(certificate, tables, {})
        own = {
            name: (certificate.cohort, str(len(certificate.after) + 1))
            for name, certificate in known_of.items()
            if certificate.cohort
        }
        named = {digest_of(path / CERTIFICATE): name for name, path in earlier.items()}
        for name in own:
            before = [named[each["certificate"]] for each in known_of[name].after]
            problems += _other_copies(name, before, written, own)
        several = Cohorts.of(written, own)
        together = findings_of(several, found.requirements)
        shown = tuple((name, each.newcomers) for name, each in certificates.items())
        everybody = known.newcomers + sum(people for _, people in shown)
        if count_people(several)[0] != everybody:
            problems.append("some people are in no release that the certificate names")
    problems += [
        f"together: {_excess(finding, several.groups)}" for finding in together if not finding.safe
    ]
    found = replace(found, after=shown, people_of_all=everybody, together=tuple(together))
    return found, problems


def _other_copies(
    name: str,
    before: Sequence[str],
    written: Mapping[str, Written],
    own: Mapping[str, tuple[str, str]],
) -> Iterator[str]:
    """Where the groups of earlier releases in one are others than they were."""
    for number, one in enumerate(before, start=1):
        first = Cohorts.of({one: written[one]}, {one: own[one]} if one in own else {})
        copied = Cohorts.of({one: written[name]}, {one: (own[name][0], str(number))})
        if any(copied.rows(part) != first.rows(part) for part in written[name].tables):
            yield f"{name} does not have the groups of {one} as they were written"


class _Asked(NamedTuple):
    """What is required, and the places of what cannot be judged: something is not at hand."""

    required: Sequence[Any]
    populations: Mapping[str, Any]
    kept: KeptPriors | None = None
    without_priors: frozenset[int] = frozenset()
    without_population: frozenset[int] = frozenset()

    @property
    def unjudged(self) -> frozenset[int]:
        return self.without_priors | self.without_population

    @property
    def lacking(self) -> str:
        """What cannot be checked, and what to name so that it can."""
        priors = (
            f"the priors, which are kept with the owner: ask for {PRIORS}, and name it by --priors "
            "FILE"
        )
        population = "the population, which is not published: name it by --population FILE"
        return "; ".join(
            f"{' and '.join(f'require[{place}]' for place in sorted(places))} cannot be checked "
            f"without {what}"
            for places, what in (
                (self.without_priors - self.without_population, priors),
                (self.without_population, population),
            )
            if places
        )


def _asked_by(
    known: Certificate,
    folder: Path,
    priors: str | Path | None,
    population: str | Path | Sequence[str | Path] | None,
) -> _Asked:
    """What a certificate requires, filled with what only the owner has, where that is at hand."""
    required, kept = known.policy["require"], None
    without_priors = frozenset(place for place, table in enumerate(required) if is_kept(table))
    at_hand = priors or _kept_beside(folder) if without_priors else None
    if at_hand is not None:
        kept = KeptPriors.load(at_hand)
        required, without_priors = kept.filled(required), frozenset()
    populations = populations_of(known, population)
    alone = frozenset(place for place, of in digests_of(required) if of not in populations)
    return _Asked(required, populations, kept, without_priors, alone)


def _of_companions(
    known: Certificate,
    release: Path,
    folder: Path,
    paths: Mapping[str, list[Path]],
    others: Sequence[str],
) -> Iterator[str]:
    """Say what is wrong with the report and the code book, which belong to a release."""
    report = folder / REPORT
    if known.report and REPORT in others:
        if report.is_symlink():
            yield f"{REPORT} is a link, and no file of the folder"
        if not report.is_file():
            raise CertificateError(f"there is no file {str(report)!r}")
        yield from _not_as_certified(report, known.report)
    elif known.report is not None and not release.is_file():
        yield f"{REPORT} is missing, which was certified; it belongs to the release"
    if known.code_book is None:
        if any(map(labels_of, paths.values())):
            yield f"columns have titles, which only a {CODE_BOOK} may say"
    elif not release.is_file():
        book = folder / CODE_BOOK
        yield from _not_there(book) or _not_as_certified(book, known.code_book)


def _judged(
    known: Certificate,
    release: Path,
    folder: Path,
    paths: Mapping[str, list[Path]],
    others: Sequence[str],
    opened: Mapping[Path, Path],
    policy: Policy | None,
    priors: str | Path | None,
    population: str | Path | Sequence[str | Path] | None,
) -> tuple[Verification | None, list[str]]:
    """Judge the files of a release, which are opened: by what is read, not by what lies there."""
    stamp = Stamp([*opened.values()])  # what is digested is what is judged
    problems = [*_uncertified(folder, others), *_changed(known, paths, opened, release)]
    problems += _of_companions(known, release, folder, paths, others)
    unchanged = [REPORT] if known.report and REPORT in others else []
    as_written, book = known, None if release.is_file() else folder / CODE_BOOK
    if policy is not None:
        policy = _as_published(known, policy)
        known = replace(known, policy=policy.published())
        asked = _Asked(known.policy["require"], policy.populations)
    else:
        asked = _asked_by(known, folder, priors, population)
    if priors is not None and asked.kept is None:
        raise CertificateError(
            "no requirement needs priors that are kept with the owner; leave --priors out"
        )
    required = asked.required
    tables = {part: [opened[path] for path in own] for part, own in paths.items()}
    written = written_of(known, tables, asked.populations)
    try:
        written.prepare(asked_of(required))
        if policy is not None:  # labels of a hierarchy stand for values of the release
            every = {
                column: Labels(written.held_by(column, ()).names)
                for column in (written.parts or (written.sensitive,))
            }
            required = policy.published(every)["require"]
            for compared_with in () if known.exact else policy.compared:
                compared_with.refuse_others(GroupLabels.of(list(written.held), known.groups))
        findings = [
            replace(finding, place=place)
            for place, table in enumerate(required)
            if place not in asked.unjudged
            for finding in findings_of(written, [table])
        ]
        people, n_groups = count_people(written)
        scope = scope_as_written(known, written, required)
        said_of_columns = list[str]()
        if known.code_book is not None and book is not None and not problems:
            own = written if policy is None else written_of(as_written, tables, {})
            said_of_columns += lies_of(book, as_written, own)
        stamp.check()
    except InputError as error:
        return None, [*problems, str(error)]
    except (UnicodeDecodeError, csv.Error) as error:
        why = error if isinstance(error, csv.Error) else "it is not UTF-8"
        return None, [*problems, f"the release cannot be read: {why}"]
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        raise CertificateError("the policy or findings of the certificate are malformed") from None
    problems += [_excess(finding, known.groups) for finding in findings if not finding.safe]
    if policy is None:
        certified = [then for then in known.findings if then["requirement"] not in asked.unjudged]
        problems += _differences(known, findings, certified, asked.kept)
        if (people, n_groups) != (known.people, known.n_groups):
            problems.append(
                f"the release has {people_text(people)} in "
                f"{some(n_groups, 'group', 'groups')}; certified are "
                f"{known.people} in {known.n_groups}"
            )
        problems += [] if problems else _lies(known, scope)
    problems += [] if problems else said_of_columns
    if asked.unjudged:
        if not problems:
            raise CertificateError(f"not verified: all else is as certified, but {asked.lacking}")
        problems.append(asked.lacking)
    found = Verification(
        files=(release.name,) if [*opened] == [release] else tuple(known.files),
        people=people,
        n_groups=n_groups,
        groups=tuple(known.groups),
        sensitive=known.sensitive,
        beside=scope.beside or (),
        findings=tuple(findings),
        requirements=tuple(required),
        own_policy=policy is not None,
        unchanged=tuple(unchanged),
        not_judged=tuple(name for name in others if name not in unchanged),
        to_keep=tuple(name for name in others if name in _FOR_THE_OWNER),
        claimed=tuple(known.notes) if policy is None else (),
        scope=scope,
        claimed_scope=Scope() if policy is not None else _claims(known.scope),
        semantics=known.semantics,
        sensitives=known.sensitives,
        counts_people=scope.cases and bool(known.policy["schema"].get("person")),
    )
    return found, problems


def _kept_beside(folder: Path) -> Path | None:
    """The owner's priors, where they are at hand: a folder of somebody else cannot be read."""
    # Earlier versions wrote them into the folder itself.
    for at in (owners_folder(folder), folder):
        with suppress(OSError):
            if (at / PRIORS).is_file():
                return at / PRIORS
    return None


def populations_of(known: Certificate, given: Any) -> dict[str, Any]:
    """The populations that are given, by their digests."""
    if given is None:
        return {}
    wanted = {digest for _, digest in digests_of(known.policy["require"])}
    if not wanted:
        raise CertificateError(
            "no requirement compares groups with a population; leave --population out"
        )
    found: dict[str, Any] = {}
    for path in [given] if isinstance(given, (str, Path)) else given:
        path = Path(path)
        if not path.is_file():
            raise CertificateError(f"there is no file {str(path)!r}")
        schema = known.policy["schema"]
        named = [schema["person"]] if schema.get("person") else schema.get("identifiers", [])
        digest = read_population(path, known.exact or known.groups, named).digest
        if digest not in wanted:
            raise CertificateError(
                f"{path.name} is not the population that was certified (digest differs)"
            )
        found[digest] = path
    return found


def written_of(
    known: Certificate, tables: Mapping[str, Any], populations: Mapping[str, Any]
) -> Written:
    """The tables of a release, or their files, as what the verifier reads."""
    of_each = known.tables_of_sensitive.items()
    return Written(
        known.form,
        known.groups,
        known.sensitive,
        tables,
        known.escaped,
        known.semantics,
        known.columns,
        populations=populations,
        parts={name: part for part, of in of_each for name in of},
        exact=known.exact,
        shuffled=known.unlinked if known.parts == ("release",) else (),
        beside=known.beside,
        rules=rules_of(known.policy.get("schema", {})),
        delimiter=known.delimiter,
        commas=known.commas,
        cohort=known.cohort,
    )


def rules_of(schema: Mapping[str, Any]) -> Rules:
    """What some people cannot have, by the ``[schema]`` table of a policy."""
    return Rules(tuple(schema.get("impossible", ())), tuple(schema.get("hierarchies", ())))


def _as_published(known: Certificate, policy: Policy) -> Policy:
    """Another policy for the release of a certificate, which says how it is written."""
    refuse_other_schema(known, policy.needed_schema)
    for requirement in policy.requirements:
        for name in requirement.owned(policy.needed_schema):
            raise PolicyError(
                f"{requirement.name}: {name!r} is not in the files, so only the owner of the table "
                "can judge this: audit the table by this policy. Of cases files are judged by a "
                "schema without person"
            )
    # What is published apart is said by how it is written.
    how: dict[str, Any] = {"form": known.form, "unlinked": known.unlinked}
    return replace(policy, options=replace(policy.options, **how))


def findings_of(written: Written, required: Sequence[Mapping[str, Any]]) -> list[Verdict]:
    """Let the verifier judge; kinds that it does not know bring a judge of their own."""
    tables = asked_of(required)
    judges = _with_own(VERIFIERS, adversaries.ADVERSARIES, "judge", tables)
    return verify_written(written, required, judges, _gauges(tables))


def _gauges(tables: Iterable[AskedTable]) -> dict[str, Gauge]:
    return _with_own(GAUGES, criteria.CRITERIA, "gauge", tables)


def _with_own(
    known: Mapping[str, Own], kinds: Iterable[Any], name: str, tables: Iterable[AskedTable]
) -> dict[str, Own]:
    """What the verifier knows, and what further kinds that are asked for bring of their own."""
    found, wanted = dict(known), type(next(iter(known.values())))
    asked = {key for table in tables for key in table.kinds}
    for kind in kinds:
        if kind.key in asked and kind.key not in known:
            own = getattr(kind, name, None)
            if not isinstance(own, wanted):
                lacks = f"{kind.__name__} lacks {name}, a verifier.{wanted.__name__}"
                table = "GAUGES" if wanted is Gauge else "VERIFIERS"
                ours = f": add a line to {table} in verifier/verify.py"
                raise InputError(lacks if package_of(kind) else lacks + ours)
            found[kind.key] = own
    return found


def _uncertified(folder: Path, others: Sequence[str]) -> Iterator[str]:
    """Refuse what may be data and that nothing has judged."""
    own = {REPORT, *_FOR_THE_OWNER}
    for name in others:
        path = folder / name
        inside = path.is_dir() and not path.is_symlink()
        files = (Path(at, n) for at, _, names in os.walk(path) for n in names) if inside else [path]
        for file in files:
            if file.name == MEMBERS:
                yield (
                    f"{file.relative_to(folder)} lies in the folder of the release, and says who "
                    "is in which group: it is for the owner only; move it elsewhere"
                )
                break
            if (inside or name not in own) and not _is_document(file):
                yield (
                    f"{str(file.relative_to(folder))!r} lies beside the release, is no document "
                    "such as README.md, and is not certified: nothing has judged it; move it "
                    "elsewhere"
                )
                break


def _changed(
    known: Certificate,
    paths: Mapping[str, list[Path]],
    opened: Mapping[Path, Path],
    given: Path,
) -> Iterator[str]:
    """Compare digests of files with those that are certified."""
    for part, own in paths.items():
        names = files_of(part, known.format, known.files)
        yield from strange_parts(own[0].parent, names)
        for name, path in zip(names, own, strict=True):
            if path.is_symlink() and path is not given:
                yield f"{path.name} is a link, and no file of the folder"
            yield from _not_as_certified(opened[path], known.files[name])


def _not_as_certified(path: Path, digest: str) -> Iterator[str]:
    if digest_of(path) != digest:
        yield f"{path.name} is not the file that was certified (digest differs)"


def _not_there(path: Path) -> list[str]:
    if path.is_symlink():
        return [f"{path.name} is a link, and no file of the folder"]
    if not path.is_file():
        return [f"{path.name} is missing, which was certified; it belongs to the release"]
    return []


def _is_document(path: Path) -> bool:
    """Whether a name is that of a document, and not of a part of a release."""
    name = path.name.lower()
    stem, *suffixes = name.split(".")
    return name in _ALSO or (stem not in _NAMES and not _DOCUMENTS.isdisjoint(suffixes[-1:]))


def scope_as_written(
    known: Certificate, written: Written, required: Sequence[Mapping[str, Any]]
) -> Scope:
    """What no requirement looks at, as the files tell."""
    tables = asked_of(required)
    gauges = _gauges(tables)
    known_of = {name for asked in tables for own in _attributes(asked) for name in own}
    rows = known.beside if known.form == "generalized" else ()
    several = several_of(known.semantics, known.sensitives)
    layout = Layout.of(known.sensitives, () if several else rows, (*known.unlinked, *several))
    of_values = {place: of for place, of in enumerate(tables) if not of_people(of, gauges)}
    secrets = [_secret(of, f"require[{place}]", gauges) for place, of in of_values.items()]
    sights = [
        layout.seen(of.sensitive, of.known).with_priors(_known_to_all(of))
        for of in of_values.values()
    ]
    known_by_people = [of.known for of in tables if of_people(of, gauges)]
    looked_at = {*known_of, *layout.looked_at(sights, known_by_people)}
    linked = [name for name in known.sensitives if name in layout.linked]
    beside_each_other = linked if len(linked) > 1 and sights else []
    others = known.unlinked if known.form == "generalized" and known.semantics == "single" else ()
    names = [name for name in known.beside if name not in others]
    columns = {name: _counts_of(written, name, ()) for name in known.sensitives}
    kinds = (*adversaries.ADVERSARIES, *criteria.CRITERIA)
    unknown = {key for of in tables for key in of.kinds} - {*VERIFIERS, *GAUGES}

    def count(of: Requirement) -> RequirementCounts:
        sight = of.sight(layout)
        return RequirementCounts(of, sight, _counts_of(written, sight.secret, sight.known))

    return Scope(
        **scope_of_values(columns, secrets, count),
        suppressed=suppressed_columns(written),
        cases=known.in_cases,
        beside=tuple(name for name in (*names, *beside_each_other) if name not in looked_at),
        exact=tuple(name for name in known.exact if name != known.cohort),
        method=NOT_JUDGED,
        assumed=layout.assumed(sights),
        shuffled=tuple(others),
        foreign=foreign(kind for kind in kinds if kind.key in unknown),
    )


def _counts_of(written: Written, sensitive: str, known: Sequence[str]) -> GroupCounts:
    """What the verifier counted of one column."""
    held, semantics = written.held_by(sensitive, known), written.about(sensitive).semantics
    return GroupCounts(
        held.people, held.starts, held.codes, held.counts, Labels(held.names), None, semantics
    )


def _secret(table: AskedTable, name: str, gauges: Mapping[str, Gauge]) -> Requirement:
    """What a requirement is about; a stand-in for its knowledge says nothing of the secret."""
    of_groups = gauges.keys() & table.kinds.keys()
    criterion = next(kind for kind in criteria.CRITERIA if not kind.of_people)
    stands = criterion(1) if of_groups else adversaries.ADVERSARIES[0]()
    limits = {**dict.fromkeys(LIMITS), "below": None if of_groups else 1}
    return Requirement.of(stands, table.model_copy(update=limits), table.name or name)


def _attributes(asked: AskedTable) -> list[set[str]]:
    """Columns that each adversary of a requirement knows of everybody, to have priors by them."""
    registered = {kind.key for kind in adversaries.ADVERSARIES}
    every = [own for key, own in asked.kinds.items() if key in registered]
    points = [point for own in every for point in ([own] if isinstance(own, Mapping) else own)]
    return [{n for table in of.get("tables", ()) for n in table["attributes"]} for of in points]


def _known_to_all(asked: AskedTable) -> set[str]:
    """Columns that all its adversaries know."""
    named = _attributes(asked)
    return set.intersection(*named) if named else set()


def _claims(certified: Mapping[str, Any]) -> Scope:
    """What a certificate says and files do not tell."""
    claims = {key: certified[key] for key in CLAIMED if key in certified}
    if claims["method"] == NOT_JUDGED:
        claims["method"] = None
    listed = {key: tuple(claims.get(key, ())) for key in ("shared", "word")}
    return Scope(**{**claims, **listed})


def _lies(known: Certificate, scope: Scope) -> Iterator[str]:
    """Where a certificate says something else of what nothing looked at than the files do."""
    found, certified = scope.to_dict(), known.scope
    for key in dict.fromkeys([*certified, *found]):
        now, then = found.get(key), certified.get(key)
        if key not in CLAIMED and now != then:
            yield f"scope: {key} is {_shown(now)}; certified is {_shown(then)}"
    yield from _never_proved(known)


def _never_proved(known: Certificate) -> Iterator[str]:
    """Whether a certificate says more of a method of ours than was ever proved of it."""
    said, settings = known.scope["method"], dict(known.method)
    name = str(settings.pop("name", None))
    if said == NOT_JUDGED:  # as of most releases: then no method is imported
        return
    kinds = {kind.__name__: kind for kind in (kind_of(key) for key, _ in METHODS)}
    if name not in kinds:  # of others' methods nothing is known
        return
    try:
        proof = traits_of(kinds[name](**settings)).proof
    except (InputError, AttributeError, KeyError, TypeError, ValueError):  # Jump takes functions
        return
    if proof is None or not proof.may_be(said, known.form):
        yield (
            f"scope: method is certified as {said!r}, which is not proved of {name} with these "
            f"settings in the {known.form} form"
        )


def _excess(finding: Verdict, groups: Sequence[str]) -> str:
    now = finding.to_dict()
    named = f"group {now['group']}" + (f" ({', '.join(groups)})" if len(groups) > 1 else "")
    if finding.of_groups:
        each = [f"{setting} is {own}" for setting, own in finding.found.each.items()]
        has = ", ".join(each) or f"{named} has {now['exact']}"
        said = f"{_plain(now['judged'])} does not hold: {has}"
    else:
        said = f"{now['value']!r} in {named} reaches {now['exact']}, the limit is {finding.limit}"
    return f"require[{now['requirement']}]: {said}"


def _differences(
    known: Certificate,
    findings: Sequence[Verdict],
    certified: Sequence[Mapping[str, Any]],
    kept: KeptPriors | None,
) -> Iterator[str]:
    """Where the certificate claims something else than is found.

    Every field must be equal, the value and the group too: of several that are as bad, the
    verifier takes the first by a fixed order.
    """
    for finding, then in zip(findings, certified, strict=False):
        now = finding.to_dict()
        now = now if kept is None else kept.withheld_finding(now)
        other = [key for key in dict.fromkeys([*now, *then]) if not _same(key, now, then)]
        if not finding.safe or not other:
            continue
        key, place = other[0], f"require[{now['requirement']}]"
        limit = "limit" if finding.required.relative else finding.required.key
        if {"exact", limit} & set(other) and limit in then and limit in now:
            yield (
                f"{place}: the worst probability is {now['exact']} and the limit {now[limit]}; "
                f"certified are {then['exact']} and {then[limit]}"
            )
        else:
            yield (
                f"{place}: the {_FIELDS.get(key, key)} is {_shown(now.get(key))}; certified is "
                f"{_shown(then.get(key))}"
            )
    if len(findings) != len(certified):
        yield f"{len(findings)} points are judged, {len(certified)} are certified"


_FIELDS = {
    "requirement": "position",
    "judged": "adversary or criterion",
    "value": "value at risk",
    "group": "group at risk",
    "at_most_times": "limit (how many times the prior)",
}


def _same(key: str, now: Mapping[str, Any], then: Mapping[str, Any]) -> bool:
    """Whether a field is as certified; a probability may be written with all its digits."""
    one, other = now.get(key), then.get(key)
    if key == "exact" and one is not None and other is not None:
        return bool(one == other or one == exact_text(Fraction(other)))
    return _plain(one) == _plain(other)


def _plain(value: Any) -> str:
    """As JSON writes it, where true is not 1; but a float may be written as a whole number."""
    return json.dumps(float(value) if type(value) is int else value, sort_keys=True, default=str)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
