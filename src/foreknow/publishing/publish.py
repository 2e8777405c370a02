"""Publish: microdata, a policy and a method become a release that is verified as written."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from functools import partial, wraps
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa

from foreknow.adversaries.adversary import Gaining
from foreknow.atomic_files import as_json, replaced, require_new, whole_folders, write_whole
from foreknow.auditing.audit import Audit, explained_audit
from foreknow.auditing.compared_verdicts import with_witnesses
from foreknow.auditing.named_values import refuse_misspelt
from foreknow.auditing.remarks.remarks import for_readers
from foreknow.auditing.trial import Trial
from foreknow.call_hints import P, hinted
from foreknow.certificates import Certificate
from foreknow.data.arrays import IntArray
from foreknow.data.columns.reading_rules import UTF8, Dialect, Reading
from foreknow.data.counts import GroupCounts
from foreknow.data.labels.generalization import Coarsened, KnownLabels
from foreknow.data.labels.labels import GroupLabels, Label, Labels
from foreknow.data.microdata import Microdata
from foreknow.data.prepare import header_of_shuffled
from foreknow.data.release import Release
from foreknow.data.schema import Schema
from foreknow.data.sights import Sight
from foreknow.data.tables.columns import fetch
from foreknow.data.tables.profile.column_digests import column_digests
from foreknow.data.tables.table import Table, unshown
from foreknow.data.tables.views.plain_columns import bare, frame_of
from foreknow.data.tables.writers import write_csv, write_in_parts
from foreknow.data.utility import Utility, utility_of
from foreknow.errors import InternalError, NoSafeRelease, SchemaError, refuse_other_type
from foreknow.features import load
from foreknow.methods.proof import NOT_JUDGED
from foreknow.methods.protocol import (
    Anonymizer,
    Grouping,
    as_written,
    check_needs,
    grouping_of,
    in_its_form,
    settings_of,
    traits_of,
)
from foreknow.methods.registry import METHODS, key_of, kind_of, method_of, refuse_other_settings
from foreknow.names import CALLS_OF_TABLE, OF_PUBLICATIONS, TABLE_OF
from foreknow.numbers import whole_number
from foreknow.planning.advice import advice_of
from foreknow.planning.costs import KeptDetail
from foreknow.planning.suggestion.call import call_of
from foreknow.plugins import package_of
from foreknow.policy.call_arguments import KEYS, Arguments, hinted_with_keys, policy_of
from foreknow.policy.linked_rows import refuse_linked_rows
from foreknow.policy.options import PublishOptions
from foreknow.policy.policy import Policy
from foreknow.policy.way_out import ASK_SOMETHING
from foreknow.publishing.code_book import Contents, code_book
from foreknow.publishing.distinct_rows import Aside, Entries, InMemory, Placed, Stored, entries_of
from foreknow.publishing.formats import format_of
from foreknow.publishing.notes import (
    CUT_OFF,
    NOT_MINIMAL,
    OF_LISTS,
    PERHAPS_LARGER,
    WEIGHTED,
    note_of_others,
)
from foreknow.publishing.priors import (
    keep,
    kept_as_written,
    learned_note,
    learned_tables,
    marked,
    withheld,
)
from foreknow.publishing.signature import Signer
from foreknow.publishing.tables import (
    GROUP,
    bucketized,
    coarsened_columns,
    generalized,
    group_ids,
    refuse_borrowed_priors,
)
from foreknow.publishing.verification import (
    findings_of,
    remarks_as_written,
    same_groups,
    write_certificate,
)
from foreknow.randomness import generator
from foreknow.result_pages import page_of
from foreknow.settings import known_keys
from foreknow.wording import in_cases, people_text, unit_counted
from foreknow.written_releases.members import rows_of_people
from foreknow.written_releases.written_release import as_release
from foreknow_judge.certificate import digest_of
from foreknow_judge.errors import CertificateError, InputError, UnsupportedError, memory_for
from foreknow_judge.files.duckdb_files import in_threads
from foreknow_judge.files.file_names import (
    CERTIFICATE,
    CODE_BOOK,
    LATTICE,
    MEMBERS,
    NEWCOMERS,
    OWNER,
    PRIORS,
    REPORT,
    owners_folder,
)
from foreknow_judge.policy.grammar import Form
from foreknow_judge.policy.kept_priors import KeptPriors
from foreknow_judge.remarks.scope import CLAIMED
from foreknow_judge.verdict import NOTHING_JUDGED, Verdict
from foreknow_judge.verify import written_of

if TYPE_CHECKING:
    from foreknow.features.several_releases.earlier_releases import CohortChanges

_log = logging.getLogger(__name__)


@dataclass(frozen=True, repr=False)
class Publication:
    """A verified release, ready to be written.

    Attributes
    ----------
    release : Release
    audit : Audit
    certificate : Certificate
        The certificate of the release. `write` fills in its `files`.
    tables : mapping of str to pyarrow.Table
        One table, ``release``; or two, ``people`` and ``sensitive``, for the bucketized form and
        where a person may have several values.
    labels : mapping of column to KnownLabels
        The meaning of the labels of a generalized release, so that none has to be parsed.
    advice : tuple of str
        Advice to the owner if the release says next to nothing; never written.
    since : CohortChanges or None
        Who is new, who stays and who left since the earlier releases; for the owner. None without
        earlier releases.
    together : Audit or None
        The verdicts on all releases together, as one. None without earlier releases.
    titles : mapping of column to str
        The titles of columns in a file of SPSS or Stata, beside their names.
    """

    release: Release
    audit: Audit
    certificate: Certificate
    tables: Mapping[str, pa.Table]
    _options: PublishOptions = field(repr=False)
    _private: Mapping[str, Any] = field(repr=False)
    placed: Placed = field(repr=False)
    _files: Aside = field(repr=False)  # the files that were judged
    _contents: Contents = field(repr=False)
    _kept: KeptPriors | None = field(repr=False, default=None)
    labels: Mapping[str, KnownLabels] = field(repr=False, default_factory=dict)
    advice: tuple[str, ...] = field(repr=False, default=())
    since: CohortChanges | None = field(repr=False, default=None)
    together: Audit | None = field(repr=False, default=None)
    _newcomers: Microdata | None = field(repr=False, default=None)  # the rows of those who are new
    titles: Mapping[str, str] = field(repr=False, default_factory=dict)

    @property
    def counts(self) -> GroupCounts:
        """The counts of the release, so that adversaries take a publication as well."""
        return self.release.counts

    @property
    def utility(self) -> Utility:
        """The utility of the release; see also `foreknow.utility_report`."""
        return self.audit.utility

    @property
    def groups(self) -> dict[Label, int]:
        """The number of people of each group, by its label."""
        return self.release.groups

    def shown(self, microdata: Microdata) -> Microdata:
        """The rows of people who are published here, without those of earlier releases."""
        if self._newcomers is None or self.since is None:  # there are no earlier releases
            return microdata
        if microdata.n_rows == self._newcomers.n_rows:  # all of them are new
            return microdata
        column = self.since.column
        names = fetch(self._newcomers.source, [column]).column(column).to_pylist()
        return rows_of_people(microdata, column, map(str, names))

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """The published table; `table` names one of several."""
        only = next(iter(self.tables)) if len(self.tables) == 1 else ""
        rows = self.tables.get(only if table is None else table)
        if rows is None:
            names = " and ".join(map(repr, self.tables))
            raise InputError(
                f"the release has the tables {names}; name one, as .to_pandas({min(self.tables)!r})"
            )
        return bare(rows)

    def to_pandas(self, table: str | None = None) -> Any:
        """Like `to_arrow`, as a pandas frame."""
        return frame_of(self.to_arrow(table), "pandas")

    def to_polars(self, table: str | None = None) -> Any:
        """Like `to_arrow`, as a Polars frame."""
        return frame_of(self.to_arrow(table), "polars")

    @hinted
    def to_csv(self, path: str | Path, table: str | None = None) -> None:
        """Write the table alone as CSV, which nobody can verify; `write` adds a certificate."""
        with replaced(path, private=False) as aside:
            write_csv([self.to_arrow(table)], aside, escape_formulas=self._options.escape_formulas)

    @hinted
    def to_parquet(self, path: str | Path, table: str | None = None) -> None:
        """Write the table alone as Parquet; see `to_csv`."""
        with replaced(path, private=False) as aside:
            write_in_parts([self.to_arrow(table)], aside, None)

    def to_html(self, path: str | Path | None = None) -> str | None:
        """Write the report of the release to a path, or return it if there is no path."""
        return self.audit.to_html(path, published=True)

    def __len__(self) -> int:
        return len(self.release)

    def summary(self) -> str:
        """The audit as a terminal shows it, as text."""
        return self.audit.summary()

    @hinted
    def save(self, folder: str | Path) -> Certificate:
        """Another name for `write`."""
        return self.write(folder)

    def __getattr__(self, name: str) -> Any:
        """The table for names such as `df` or `head`; a hint for any other that is lacking."""
        if hasattr(type(self), name):  # a property that failed says why
            return object.__getattribute__(self, name)
        if name in TABLE_OF:
            return self.to_pandas()
        if name in CALLS_OF_TABLE:
            return getattr(self.to_pandas(), name, self.to_pandas)
        if name in ("safe", "passed", "ok"):
            return self.audit.safe
        message = f"a Publication has no {name!r}"
        if name in OF_PUBLICATIONS:
            message += f"; {OF_PUBLICATIONS[name]}"
        elif not name.startswith("_"):
            message += (
                "; its table is .to_pandas(), .to_polars() or .to_arrow(); .save(folder) writes "
                "it, for fk.verify(folder); what was judged is .audit, with .safe and .policy, and "
                "its page .to_html(path)"
            )
        raise AttributeError(message)

    def __getitem__(self, name: object) -> Any:
        raise InputError(f"a publication is no table; its table is .to_pandas()[{name!r}]")

    @memory_for("writing the release")
    @hinted
    def write(
        self,
        folder: str | Path,
        owner: str | Path | None = None,
        *,
        key: str | Path | None = None,
    ) -> Certificate:
        """Write the release to a new folder, and what the owner keeps to another.

        The tables are copies of the files that were judged. Everything is written aside before the
        folders get their names; if anything fails, nothing is left.

        Parameters
        ----------
        folder : path
            A folder that does not exist yet. It gets what may be published, and nothing else: the
            tables, ``certificate.json``, ``datapackage.json``, which describes their columns, and
            ``report.html``.
        owner : path, optional
            A folder that does not exist yet; the default is ``FOLDER.owner``. Keep it; only you can
            open it. It gets ``owner.json`` (the key of the source's digest, the seed, and the day)
            and ``members.parquet`` (who is in which group). A full-domain search adds
            ``lattice.html`` (which nodes were safe tells more than the release). Earlier releases
            add ``newcomers.csv`` or ``.parquet``: the rows of the table that are published here,
            which measures of this release take. Priors learned from the table add ``priors.json``
            (they can state someone's value as certain; `foreknow verify` asks for them).
        key : path, optional
            A private Ed25519 key, which signs the certificate into ``certificate.json.sig``; needs
            the extra ``sign``.

        Returns
        -------
        Certificate
            As written, with the digests of the files.

        Raises
        ------
        OutputError
            If one of the folders exists or cannot be written.
        """
        signer = None if key is None else Signer(key)
        with whole_folders(*folders_of(folder, owner)) as (aside, for_owner):
            # The tables first; then what describes them; the certificate has the digests of all.
            digests = self._copy_files(aside)
            certified = replace(self.certificate, files=digests)
            book = code_book(certified, self._contents, self._titles)
            write_whole(aside / CODE_BOOK, as_json(book))
            _log.info("writing the report")
            self.audit.to_html(aside / REPORT, published=True)
            report, book_digest = (digest_of(aside / name) for name in (REPORT, CODE_BOOK))
            certificate = replace(certified, report=report, code_book=book_digest)
            write_certificate(certificate, aside / CERTIFICATE)
            if signer is not None:
                signer.sign_file(aside / CERTIFICATE)
            if self.audit.lattice is not None:
                page = page_of(self.audit.lattice, form=certificate.form).html()
                write_whole(for_owner / LATTICE, page, private=True)
            # The day is the owner's record: what is published does not say it.
            private = {**self._private, "written": date.today().isoformat()}
            if self._newcomers is not None:
                rows = _write_rows(self._newcomers.source, self._newcomers.reading, for_owner)
                private["columns"] = column_digests(rows, bytes.fromhex(private["digest_key"]))
            write_whole(for_owner / OWNER, as_json(private), private=True)
            _log.info("writing who is in which group")
            self.placed.write(for_owner / MEMBERS, digests)
            if self._kept is not None:
                write_whole(for_owner / PRIORS, as_json(kept_as_written(self._kept)), private=True)
        return certificate

    def _copy_files(self, folder: Path) -> dict[str, str]:
        """Copy the files that were judged into a folder; return digests by their names there.

        A file whose digest is not that of the judged one is an internal error.
        """
        digests: dict[str, str] = {}
        for name in self.tables:
            for path in self._files.copy(name, folder / f"{name}.{self.certificate.format}"):
                digests[path.relative_to(folder).as_posix()] = digest_of(path)
        if [*digests.values()] != self._files.digests:
            raise InternalError("the release differs from what was written")
        return digests

    @property
    def _titles(self) -> dict[str, str]:
        """The titles of columns, by their names in the files, where shuffled ones are renamed."""
        titles = {name: title.strip() for name, title in self.titles.items()}
        return titles | {
            header_of_shuffled(name): titles[name]
            for name in self._options.unlinked
            if name in titles
        }

    def __repr__(self) -> str:
        notes = "".join(f", {note.partition(':')[0]}" for note in self.certificate.notes)
        return f"Publication({self.certificate.form}, {self.audit!r}{notes})"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{escape(note)}.</p>" for note in self.certificate.notes)
        return self.audit._repr_html_() + notes

    @property
    def grids(self) -> Mapping[str, str]:
        """The grid, such as "by month", of each column whose ranges begin and end on one."""
        return self.certificate.grids

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values."""
        return self.certificate.to_dict()


def folders_of(folder: str | Path, owner: str | Path | None = None) -> tuple[Path, Path]:
    """The folder of a release, and the one for its owner: `owner`, or the one beside it."""
    return Path(folder), owners_folder(folder) if owner is None else Path(owner)


def _counting_cases(call: Callable[P, Publication]) -> Callable[P, Publication]:
    """A decorator: refusals say "cases" in place of "people", if the policy's rows are cases."""

    @wraps(call)
    def called(*args: P.args, **keywords: P.kwargs) -> Publication:
        try:
            return call(*args, **keywords)
        except NoSafeRelease as error:
            policy: Any = args[1]
            unit = unit_counted(policy.rules.unit == "row")
            raise unit.said(error, partial(_of_cases, policy.rules)) from None

    return called


def _of_cases(schema: Schema, error: NoSafeRelease) -> NoSafeRelease:
    """The same refusal of cases; names of columns, and what stands in quotes, stay as they are."""
    labels = [*schema.columns, *re.findall(r"'[^']*'", error.said)]
    return NoSafeRelease(
        in_cases(error.said, labels), [in_cases(line, labels) for line in error.way_out]
    )


class Changes(Arguments, total=False):
    """Further keywords of `publish`: options, and those that replace a policy."""

    form: Form | None
    format: str | None
    labels: Mapping[str, str]
    escape_formulas: bool
    settings: Mapping[str, Mapping[str, Any]]
    unlinked: Sequence[str]
    weights: Mapping[str, Any]
    round: Mapping[str, Any]
    rows_per_part: int | None
    delimiter: str | None
    decimal: str | None
    bom: bool | None


@memory_for("the release")
@hinted_with_keys
def publish(
    microdata: Any,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    *,
    method: Anonymizer | str | None = None,
    options: PublishOptions | Mapping[str, Any] | None = None,
    seed: int | None = None,
    engine: str = "auto",
    learned: bool = True,
    after: str | Path | Sequence[str | Path] | None = None,
    whole: bool = False,
    out: str | Path | None = None,
    suppression: float | None = None,
    **changed: Unpack[Changes],
) -> Publication:
    """Make a release that the policy allows, judge it as written, and certify the verdicts.

    Parameters
    ----------
    microdata : Microdata, path or frame
        The table to publish. The policy's schema says what the columns of a path or frame are.
    policy : Policy, path or mapping, optional
        A policy, the path of a policy file, or the tables of one as a mapping.
    method : Anonymizer or its name, optional
        The default is the method that the policy names, or else Mondrian.
    options : PublishOptions or mapping, optional
        The default is the options of the policy.
    engine : {"auto", "memory", "duckdb"}
        Where equal rows are counted: "memory", or "duckdb" (outside memory: in DuckDB, Spark or
        Ibis). "auto" counts a table outside memory if it does not fit, and a frame of Spark always.
        A table that cannot be counted outside memory is read into it, and the log says why.
    learned : bool
        Whether to attack the release by learning as well, as `audit` does.
    after : path or sequence of path
        The folders of all earlier releases of the same people, with the owner's folders beside
        them. People whose identifier is in one of them are not published again. The policy is
        judged on all releases together, as one.
    whole : bool
        Always refused: a release of everybody would repeat the people of earlier releases.
    out : path, optional
        A new folder to which the release is written, as by `Publication.write`.
    suppression : float, optional
        The share of people whom the method may leave out. Not every method can.
    **changed
        Options that replace those of the policy, such as ``form="bucketized"``; and keys of a
        policy, with or without `policy`, as in `audit`: ``k_anonymity=5``.
    seed : int, optional
        A seed for the order of rows and group ids; the default is drawn by the system. A seed makes
        a release reproducible, also for an adversary who learns it: use one only in tests.

    Returns
    -------
    Publication

    Raises
    ------
    NoSafeRelease
        If even one group of everybody is unsafe; if a method that does not consult the policy made
        groups that fail it; or if no people, or too few, are new.

    Examples
    --------
    >>> from foreknow import sample
    >>> policy = Policy.load(sample.policy_path())
    >>> made = publish(Microdata(sample.table_path(), policy.schema), policy)
    >>> made.audit.safe
    True

    Without a policy:

    >>> known = ["age", "sex", "zip"]
    >>> made = publish(
    ...     sample.table_path(), quasi_identifiers=known, sensitive="diagnosis", k_anonymity=5
    ... )
    >>> made.audit
    Audit(the release: holds, but nothing limits inference, 1 requirement)
    """
    if seed is not None:
        whole_number(seed, "the seed", 0)
    if whole:
        raise UnsupportedError("whole-after", "publish")
    if out is not None:
        require_new(*folders_of(out))
    rules = {key: changed.pop(key) for key in [*changed] if key in KEYS}  # type: ignore[misc]
    if isinstance(options, Mapping):  # as a policy file has them
        options = PublishOptions.from_dict(options)
    choices = _Choices(method, options, seed, engine, learned, changed, suppression)
    policy = policy_of(policy, rules, microdata, "publish", call_of)
    if method is None:
        refuse_other_settings(options or policy.options)
    publication = _publication_of(microdata, policy, choices, after)
    if out is not None:
        publication.write(out)
    return publication


def _suppressing(anonymizer: Anonymizer, share: float) -> Anonymizer:
    """The method, which may leave out a share of people."""
    if not hasattr(anonymizer, "suppression"):
        raise InputError(f"{anonymizer!r} leaves nobody out; take fk.Mondrian or fk.FullDomain")
    return replace(anonymizer, suppression=share)  # type: ignore[type-var]


# By which shares of its limits a release is searched that does not go with earlier ones, in turn.
_SHARES = (Fraction(97, 100), Fraction(9, 10), Fraction(4, 5), Fraction(13, 20))


class _Choices(NamedTuple):
    """The choices of a call of `publish` beside the policy."""

    method: Anonymizer | str | None
    options: PublishOptions | None
    seed: int | None
    engine: str
    learned: bool
    changed: Mapping[str, Any]  # in the options
    suppression: float | None = None
    share: Fraction = Fraction(1)  # of the limits by which groups are searched


@_counting_cases
def _publication_of(microdata: Any, policy: Policy, choices: _Choices, after: Any) -> Publication:
    """The certified release of a table.

    With `after`, the folders of earlier releases, it is one of the people who are in none of these.
    """
    microdata = policy.as_published(policy.microdata(microdata))
    if after is not None and after != [] and after != ():
        return _published_after(after, microdata, policy, choices)
    publication = _certified(_draft(microdata, policy, choices))
    # A later release counts them together with its own.
    return replace(publication, _newcomers=microdata) if policy.asks_rows else publication


@dataclass(frozen=True, eq=False)
class _Draft:
    """A release whose groups hold the policy, before its files are written and judged."""

    task: _Task
    groups: _Groups
    tables: _Tables
    placed: Placed
    release: Release
    audit: Audit


def _draft(
    microdata: Microdata, policy: Policy, choices: _Choices, *, is_alone: bool = True
) -> _Draft:
    """Search groups that hold the policy, write them as tables, and refuse what is not safe.

    A draft that is not alone is judged together with earlier releases: by itself it may have no
    value that a requirement is about.
    """
    task = _Task.of(microdata, policy, choices)
    # Before the search, which takes long.
    refuse_misspelt(
        {column.name: column.domain for column in task.microdata.sensitives},
        task.policy.requirements,
    )
    groups = _make_groups(task, choices.share)
    coarse = _coarse_columns(task, groups)
    task = _with_weights_of_groups(task, groups, coarse)
    tables = _tables_of(task, groups, coarse)
    placed = Placed(task.entries, groups.group_of_entry, tables.group_labels)
    release, visible = _counts_of_release(task, tables, placed)
    audit = _audit_of_release(task, groups, tables, release, visible, choices.learned)
    if audit.idle and is_alone:
        raise NoSafeRelease(NOTHING_JUDGED, ASK_SOMETHING)
    _stop_by_trials(task.policy, audit.trials or ())
    _stop_by_weights(task, placed, release)
    _refuse_failed_criteria(task, release, audit)
    _refuse_unsafe(task, groups, release, audit)
    return _Draft(task, groups, tables, placed, release, audit)


@dataclass(frozen=True, eq=False)
class _Task:
    """The table to publish, the policy and the method."""

    raw: Microdata
    entries: Entries
    policy: Policy
    method: Anonymizer
    seed: int | None
    cell_microdata: Microdata  # in the cells in which it is written

    @classmethod
    def of(
        cls,
        raw: Microdata,
        policy: Policy,
        choices: _Choices,
    ) -> _Task:
        """The task: options and method are settled, and equal rows counted.

        `raw` is the table; `choices` are those of the call, which win over the policy's options.
        What cannot be published is refused.
        """
        method = choices.method
        options = choices.options or policy.options
        changed = {**choices.changed}
        refuse_other_type(options, PublishOptions, "options as PublishOptions")
        if method is None or isinstance(method, str):
            changed["method"] = key_of(method or options.method)
        options = replace(options, **changed).as_came(raw.dialect)
        # What is certified and reported is what was done, not what a file said before.
        policy = replace(policy, schema=raw.schema, options=options)
        anonymizer = method_of(method if method is not None else options.method, policy)
        if choices.suppression is not None:
            method = anonymizer = _suppressing(anonymizer, choices.suppression)
        policy = in_its_form(anonymizer, policy)
        entries = entries_of(raw, policy, anonymizer, choices.engine)
        if raw.schema.published_weights is not None:
            # Refused before the search, if a row has none, or if it is not known whose it is.
            _ = entries.microdata.weights, entries.microdata.who_knows_weights
        refuse_linked_rows(raw, policy)
        policy = marked(policy, entries.microdata)  # priors that were learned from this table
        for population in policy.compared:
            population.hold(entries.microdata)
        if method is not None:
            policy = replace(policy, options=_with_method(policy.options, anonymizer, method))
        check_needs(anonymizer, policy)
        _refuse_conditions_on_hierarchies(policy)
        format_of(policy.options).refuse_texts(entries.microdata, policy)
        cell_microdata = as_written(anonymizer, entries.microdata, policy)
        return cls(raw, entries, policy, anonymizer, choices.seed, cell_microdata)

    @property
    def microdata(self) -> Microdata:
        """The table as it is grouped: equal rows may be one entry."""
        return self.entries.microdata

    @property
    def options(self) -> PublishOptions:
        return self.policy.options


@dataclass(frozen=True, eq=False)
class _Groups:
    """How the people were divided, and the method with what it chose for them.

    `searched_again`: earlier groups of the same people were refused, so that these depend on why.
    """

    grouping: Grouping
    method: Anonymizer
    group_of_entry: IntArray
    n_groups: int
    searched_again: bool = False


@dataclass(frozen=True, eq=False)
class _Tables:
    """The tables to write."""

    tables: InMemory | Stored
    group_labels: Mapping[str, pa.Array]  # of each group, by group column
    coarse: Sequence[Coarsened] = ()  # the labels of each quasi-identifier, if it is generalized
    ncp: dict[str, float] = field(default_factory=dict)  # the loss of each of these columns


def _make_groups(task: _Task, share: Fraction) -> _Groups:
    """The groups into which the method divides the people, and the method with its choices.

    The method searches by a share of the limits of the policy.
    """
    _log.info("grouping %d people", task.microdata.n_people)
    policy = task.policy if share == 1 else task.policy.stricter(share)
    grouping = grouping_of(task.method, task.cell_microdata, policy, task.seed, explain=True)
    method = grouping.method or task.method
    group_of_entry, n_groups = _checked_groups(
        grouping.of_row, task.microdata, type(method).__name__
    )
    # Groups of a method that looks at values alone are refused as often in any world.
    searched_again = share != 1 and traits_of(method).consults_policy
    return _Groups(grouping, method, group_of_entry, n_groups, searched_again)


def _coarse_columns(task: _Task, groups: _Groups) -> Sequence[Coarsened]:
    """The labels of each quasi-identifier by group; none in the bucketized form."""
    if not task.options.labelled:
        return ()
    return coarsened_columns(
        task.cell_microdata,
        groups.group_of_entry,
        groups.n_groups,
        task.options.labels,
        groups.grouping.floors,
    )


def _with_weights_of_groups(task: _Task, groups: _Groups, coarse: Sequence[Coarsened]) -> _Task:
    """The task with the survey weights that are published: one for all people who look alike."""
    if task.microdata.schema.published_weights is None:
        return task
    group_of_person = groups.group_of_entry
    if coarse:  # groups with equal labels are one to a reader, and get one weight
        number_of_labels: dict[Any, int] = {}
        numbers = []
        for labels in zip(*(column.labels for column in coarse), strict=True):
            numbers.append(number_of_labels.setdefault(labels, len(number_of_labels)))
        group_of_person = np.array(numbers, np.int64)[group_of_person]
    microdata = task.microdata.with_weights_of_groups(group_of_person)
    return replace(task, entries=Entries(microdata, microdata))


def _tables_of(task: _Task, groups: _Groups, coarse: Sequence[Coarsened]) -> _Tables:
    """The tables of the release, and the labels of its groups, in the form that is asked for.

    In the bucketized form groups are called by random numbers. In the generalized form they have
    the label of each column that covers all of their members (`coarse`).
    """
    _log.info("writing %d groups as tables", groups.n_groups)
    microdata, options, random = task.microdata, task.options, generator(task.seed, "publish")
    rows_per_part = task.entries.rows_per_part(options)
    group_of_entry = groups.group_of_entry
    n_groups = groups.n_groups
    if not options.labelled:  # the bucketized form
        ids = group_ids(n_groups, random)
        drawings = bucketized(
            microdata, group_of_entry, ids, random, options.unlinked, rows_per_part
        )
        return _Tables(task.entries.kept(drawings, task.policy), {GROUP: pa.array(ids)})
    refuse_borrowed_priors(coarse, group_of_entry, n_groups, task.policy.priors)
    drawings = generalized(
        microdata, group_of_entry, coarse, random, options.unlinked, rows_per_part
    )
    people = np.bincount(group_of_entry, microdata.times)  # of each group, to weigh its loss
    labels = {column.attribute.name: pa.array(column.labels, pa.string()) for column in coarse}
    return _Tables(
        task.entries.kept(drawings, task.policy),
        group_labels=labels,
        coarse=coarse,
        ncp={column.attribute.name: column.ncp(people) for column in coarse},
    )


def _counts_of_release(task: _Task, tables: _Tables, placed: Placed) -> tuple[Release, Sight]:
    """The release as its reader counts it, and the same beside the owner's table.

    `placed` says which group each entry of the owner's table is in.
    """
    options, schema, columns = task.options, task.microdata.schema, tuple(tables.group_labels)
    release_tables = tables.tables.opened(format_of(options))
    for table in release_tables.values():
        table.name = "the release"
    exact_columns = schema.quasi_identifiers
    release = as_release(
        release_tables, options.written, columns, schema, options.unlinked, exact_columns
    )
    # A population is compared by labels: it must know which of them stand for one exact value.
    for population in task.policy.compared if tables.coarse else ():
        labels = list(zip(*(column.labels for column in tables.coarse), strict=True))
        population.keep_exact(GroupLabels.of(labels, columns))
    release = release.described(schema=task.policy.schema)
    groups = placed.group_of_entries_in(release.counts)
    if task.policy.owned:
        release = release.described(owners=(task.microdata, groups))
    sight = Sight(release.counts, task.microdata, groups, schema.sensitive, release.name, release)
    return release, sight


def _audit_of_release(
    task: _Task,
    groups: _Groups,
    tables: _Tables,
    release: Release,
    visible: Sight | None,
    learned: bool,
) -> Audit:
    """The audit of the release, with its scope: what the verdicts leave open.

    `visible` is the release beside the owner's table; `learned` says that attacks by learning are
    tried.
    """
    _log.info("judging the release")
    policy, cell_microdata, options = task.policy, task.cell_microdata, task.options
    utility = replace(utility_of(release.counts), ncp=tables.ncp)
    if tables.ncp:
        utility = replace(utility, grids=cell_microdata.grids, weights=options.weights)
    with_trials = learned or bool(policy.learning)
    audit = explained_audit(
        release, policy, utility=utility, name="the release", people=visible, learned=with_trials
    )
    # What others prove of their own methods is not said as if we had; nor a proof about the first
    # run of a method, if values decided that there was another.
    is_proved = not package_of(type(groups.method)) and not groups.searched_again
    proof = traits_of(groups.method).proof if is_proved else None
    scope = replace(
        audit.scope,
        left_out=task.microdata.left_out,
        method=NOT_JUDGED if proof is None else proof.said(policy),
        people_suppressed=groups.grouping.suppressed,
        shared=task.raw.shared,
        numbers=task.microdata.numbers,
    )
    lattice = groups.grouping.lattice
    if lattice is not None:  # by the counts of this table, and not only by settings
        lattice = replace(lattice, limits_inference=audit.limits_inference)
    return replace(audit, lattice=lattice, scope=scope)


def _refuse_failed_criteria(task: _Task, release: Release, audit: Audit) -> None:
    """Refuse groups that fail a criterion for which the search asked another one, with ways out."""
    is_exact = not task.options.labelled
    failures, criteria = [], list[Any]()
    for verdict in audit.criteria:
        requirement = verdict.requirement
        # A search may ask for another criterion, on groups, in place of one on look-alikes.
        was_asked = requirement.searched(is_exact) is requirement
        if not verdict.safe and not was_asked:
            failures.append(f"{requirement.name}: {verdict.found}")
            criteria += requirement.judged
    if not failures:
        return
    measured = "; ".join(failures)
    if is_exact:
        exact = task.microdata.schema.quasi_identifiers
        raise NoSafeRelease(
            f"the bucketized form publishes {', '.join(exact)} of everybody as they are, and by "
            f'these {measured}. Publish with form = "generalized"; or require group_size, '
            "if it is enough that groups are large"
        )
    ways_out = list[str]()
    for criterion in criteria:
        ways_out += criterion.ways_out(release)
    raise NoSafeRelease(
        f"the groups as they are written do not hold what no search asks: {measured}", ways_out
    )


def _refuse_unsafe(task: _Task, groups: _Groups, release: Release, audit: Audit) -> None:
    """Refuse groups that fail a requirement that their method did not, or could not, ask.

    Some methods do not look at the policy; and some limits can be asked only in part by any search.
    """
    policy, method, traits = task.policy, groups.method, traits_of(groups.method)
    if not audit.safe and not traits.consults_policy:
        raise NoSafeRelease(
            f"{type(method).__name__} made groups that do not hold what the policy requires: "
            f"{'; '.join(audit.failed(release))}. It does not ask the whole policy: "
            f"{traits.advice}"
        )
    beyond = []  # verdicts on limits that no search can ask for in full
    for verdict in audit.verdicts:
        if not verdict.safe and _is_beyond_search(verdict):
            beyond.append(verdict.words)
    if beyond:
        raise NoSafeRelease(
            f"the groups keep the limit as far as a search can ask for it, by the facts alone or "
            f"in each group by itself, but not with priors and facts together: {'; '.join(beyond)}"
            '. Try method = "art", or ask for more facts in the search: require facts by '
            "themselves, too, with more of them"
        )
    if task.options.labelled:
        _refuse_limits_of_boxes(method, policy, release.counts)


def _advice(
    task: _Task, groups: _Groups, tables: _Tables, audit: Audit, certificate: Certificate
) -> tuple[str, ...]:
    """Lines of advice on what to change, if the release keeps next to nothing; else none."""
    if task.microdata.n_people <= 1:  # nothing would help
        return ()
    kept_detail = KeptDetail(groups.n_groups, tables.ncp)
    lines = advice_of(
        groups.method, task.cell_microdata, task.policy, audit, kept_detail, task.seed
    )
    return tuple(unit_counted(certificate.in_cases).said(lines, partial(map, in_cases)))


def _published_after(
    folders: Any, microdata: Microdata, policy: Policy, choices: _Choices
) -> Publication:
    """Publish the people who are in no earlier release; all releases together must hold the policy.

    Raises NoSafeRelease if the newcomers are too few.
    """
    several = load("foreknow.features.several_releases.earlier_releases")
    earlier = several.Earlier.open(folders, microdata.schema.person)
    newcomers, since = earlier.newcomers(microdata, policy)
    if policy.compared:
        raise UnsupportedError(
            "after: k_map and delta_presence compare groups with a population, and of that it is "
            "not known who was in earlier releases, and so is in none of the new groups; require "
            "k_anonymity, which implies k_map"
        )
    try:
        draft = _draft(newcomers, policy, choices, is_alone=False)
    except NoSafeRelease as error:
        raise NoSafeRelease(f"{since} {error.said}", [several.TOO_FEW, *error.way_out]) from None
    except SchemaError as error:  # such as values that few of them have
        fewest, reason = policy.least_listed, several.TOO_FEW
        if newcomers.n_people < fewest:
            reason = f"Fewer than {fewest} are too few for a group or a label: {several.WAIT}."
        raise SchemaError(f"{since} {reason} Of those who are new: {error}") from None

    def judge_together(draft: _Draft) -> Any:
        """The audit of all releases together, and the values in them."""
        return earlier.judged(
            draft.release,
            draft.audit.policy,
            name=several.NEW,
            everybody=microdata,
            placed=draft.placed,
            learned=choices.learned or bool(policy.learning),
        )

    try:
        joint_audit, values = judge_together(draft)
    except several.UnsafeTogether:
        # Links may run from a group of one release to a group of another, which no search sees.
        for share in _SHARES:
            with suppress(NoSafeRelease):
                draft = _draft(newcomers, policy, choices._replace(share=share), is_alone=False)
                joint_audit, values = judge_together(draft)
                break
        else:
            raise
    _stop_by_trials(policy, joint_audit.trials or (), earlier.names)
    scope = draft.audit.scope
    # Remarks that are counted from rows of the table are those of the new release alone.
    row_fields = ("left_out", "lacking", "people_suppressed", "shared", "numbers")
    row_values = {key: getattr(scope, key) for key in row_fields}
    joint_audit = replace(
        joint_audit, scope=replace(joint_audit.scope, names_alike=since.alike, **row_values)
    )
    audit = replace(
        draft.audit,
        scope=replace(scope, earlier=tuple(map(len, earlier.groups))),
        tried_together=bool(joint_audit.trials),
    )
    # Of sets that a hierarchy or a level names, it must be certified what is in any release.
    publication = _certified(replace(draft, audit=audit), values, earlier)
    return replace(publication, since=since, together=joint_audit, _newcomers=newcomers)


def _write_rows(table: Table, reading: Reading, folder: Path) -> Any:
    """Write a table as it is read into the owner's folder, and return its rows.

    A table of texts becomes CSV, and one with types Parquet, so that it is read as before.
    """
    table = unshown(table)
    rows = table.arrow(list(table.columns))
    csv_name, parquet_name = NEWCOMERS
    if not table.untyped:  # it has types, which CSV would lose
        with replaced(folder / parquet_name, private=True) as aside:
            write_in_parts([rows], aside, None)
        return rows
    with replaced(folder / csv_name, private=True) as aside:
        dialect = getattr(table, "dialect", Dialect())
        write_csv([rows], aside, delimiter=reading.delimiter or dialect.delimiter)
        if reading.encoding is not None:  # so that the policy reads it as it reads the table
            aside.write_bytes(aside.read_bytes().decode(UTF8).encode(reading.encoding))
    return rows


def _with_method(
    options: PublishOptions, anonymizer: Anonymizer, asked_method: Anonymizer | str
) -> PublishOptions:
    """The options with the method that is used, and its settings if it was given as an object."""
    kind = type(anonymizer)
    key = str(vars(kind).get("key", kind.__name__))
    settings = dict(options.settings)
    if not isinstance(asked_method, str):  # its settings replace those of the policy
        settings.pop(key, None)
        if key in dict(METHODS):
            keys = known_keys(kind_of(key).settings)
            settings[key] = {
                name: setting
                for name, setting in settings_of(anonymizer).items()
                if name in keys and setting is not None
            }
    return replace(options, method=key, settings=settings)


def _refuse_limits_of_boxes(method: Anonymizer, policy: Policy, counts: GroupCounts) -> None:
    """Refuse limits that a method keeps in groups, but not in boxes that a reader may divide.

    A box is all people with the same labels: several groups may look alike.
    """
    proof = traits_of(method).proof
    if proof is None:
        return
    # The first requirement that asks for less than is proved of boxes.
    limit_of_boxes = proof.limit_of_boxes(policy, counts.n_people, counts.values)
    # A box is divided only if it has people for two groups.
    if not limit_of_boxes or int(counts.sizes.max()) < 2 * proof.least:
        return
    requirement_name, limit, n_values = limit_of_boxes
    enough = n_values // limit + 1
    is_possible = enough * int(counts.totals.max()) <= counts.n_people
    raise NoSafeRelease(
        f"{type(method).__name__}: in the generalized form, groups that look alike are one to "
        "a reader, and an adversary who knows the method may be as sure of a value as "
        f"{proof.highest}{_of_set(n_values)}; {requirement_name} asks below {limit}. Publish "
        f'with form = "bucketized"{f", or with l = {enough}" if is_possible else ""}'
    )


def _of_set(n_values: int) -> str:
    return f", and of a set of {n_values} values as {n_values} times that" if n_values > 1 else ""


def _checked_groups(group_of_row: Any, microdata: Microdata, name: str) -> tuple[IntArray, int]:
    """The group of each person, and how many groups there are.

    `group_of_row` is what the method `name` returned; its mistakes are internal errors.
    """
    group_of_row = np.asarray(group_of_row)
    if group_of_row.shape != (microdata.n_entries,) or group_of_row.dtype.kind not in "iu":
        raise InternalError(f"{name} did not give one whole number for each row")
    groups = group_of_row[microdata.kept]
    n_groups = int(groups.max()) + 1
    if groups.min() < 0 or not np.bincount(groups).all():
        raise InternalError(f"{name} numbered its groups with gaps")
    has_several_rows = microdata.schema.semantics != "single"
    if has_several_rows and not np.array_equal(microdata.rows_of(groups), group_of_row):
        raise InternalError(f"{name} put one person into two groups")
    return groups, n_groups


def _refuse_conditions_on_hierarchies(policy: Policy) -> None:
    """Refuse rules on exact columns that have a hierarchy: a reader may take values for labels.

    Rules (impossible) say that people with some labels cannot have some values.
    """
    schema = policy.needed_schema
    in_hierarchy = []
    for name in schema.conditions:
        if name in schema.hierarchies:
            in_hierarchy.append(name)
    if in_hierarchy and not policy.options.labelled:
        raise UnsupportedError(
            f"impossible: where names {in_hierarchy[0]!r}, which has a hierarchy, and the "
            "bucketized form publishes it as it is, so a reader cannot tell its values from "
            "labels; "
            'leave its hierarchy out of the schema, or publish with form = "generalized"'
        )


# What a certificate notes of a trial: its figures would let anybody test guesses of columns.
TRIED = "an attacker who learns from the release by {} was tried: a trial, and no verdict"
ESTIMATED = (
    "the risk to be found in the population was estimated by weights: an estimate, and no verdict"
)


def _is_beyond_search(verdict: Verdict) -> bool:
    """True if a search asked for something else in its place, which is near it."""
    adversary = verdict.judged
    return isinstance(adversary, Gaining) and adversary.in_search is not None


def _stop_by_trials(
    policy: Policy, trials: Sequence[Trial], earlier_releases: Sequence[str] = ()
) -> None:
    """Raise an error if an attacker whom the policy tries becomes too sure, or cannot be tried.

    `trials` are the attacks that were carried out; the policy's tries say at which chance to stop.
    """
    for attempt in policy.learning:
        limit = attempt.limit
        trials_of_attempt = [trial for trial in trials if trial.asked == attempt]
        if limit is None:  # it only reports
            continue
        columns = {attempt.sensitive} if attempt.sensitive else {*policy.needed_schema.sensitives}
        untried_columns = columns - {trial.sensitive for trial in trials_of_attempt}
        if untried_columns:
            raise UnsupportedError(
                f"try: an attacker who learns by {', '.join(attempt.by)} could not be tried on "
                f"{' and '.join(sorted(untried_columns))}, so nothing says that the limit of "
                f"{float(limit):.4g} holds; leave this [[try]] out of the policy"
            )
        for trial in trials_of_attempt:
            stopping = trial.stopping(limit)  # the attacker who is surer than the limit
            if stopping is None:
                continue
            rightly_sure = stopping.sure_and_right
            how_many_rightly = "" if rightly_sure is None else f", {rightly_sure:,} of them rightly"
            raise NoSafeRelease(
                f"stopped by a trial: an attacker who learns from the release"
                f"{' and from ' if earlier_releases else ''}{' and '.join(earlier_releases)} by "
                f"{', '.join(stopping.by)} becomes {stopping.surest:.1%} sure of somebody's value, "
                f"and the policy stops at {float(limit):.4g} ({stopping.attacker}; surer of "
                f"{stopping.sure:,} people{how_many_rightly}). Require more, "
                "or generalize or leave out what it is learned by"
            )


def _stop_by_weights(task: _Task, placed: Placed, release: Release) -> None:
    """Raise an error if somebody's estimated risk to be found is above the policy's limit."""
    for attempt in task.policy.tries:
        if attempt.individual_risk:
            risk_of_release = load("foreknow.features.risk.release_risk:risk_of_release")
            labelled = task.options.labelled
            risk = risk_of_release(task.raw, placed, release.counts, attempt.limit, labelled)
            highest = f"at most {risk.highest:.3g} and on average {risk.average:.3g}"
            _log.info("the estimated risk to be found in the population is %s", highest)
            if attempt.limit is not None and risk.above:
                raise NoSafeRelease(
                    "stopped by a trial: by the weights of the survey, "
                    f"{people_text(risk.above)} of the release would be found in the population "
                    f"with a chance above {float(attempt.limit):.4g} ({highest}). Coarsen what "
                    "makes them rare, or require larger groups"
                )


def _certified(
    draft: _Draft, values: Mapping[str, Labels] | None = None, earlier: Any = None
) -> Publication:
    """Write the files of a release, let the judge judge them, and certify what it finds.

    `values` has the values of each column that sets are made of; without it, those of the table.
    """
    task, audit, release = draft.task, draft.audit, draft.release
    policy = task.policy.filed  # the part that files show
    policy_tables = policy.published(values or policy.combined(task.microdata).values)
    # Priors that were learned from the table stay with the owner; a digest takes their place.
    requirements, learned_priors = policy_tables["require"], learned_tables(policy)
    kept_priors = keep(secrets.token_bytes(32), learned_priors) if learned_priors else None
    if kept_priors is not None:
        policy_tables["require"] = withheld(kept_priors, requirements)
    notes = [*([learned_note(learned_priors)] if learned_priors else []), *_notes(draft, policy)]
    certificate = _certificate_without_findings(draft, policy_tables, policy)
    if earlier is not None:
        notes.append(earlier.note(policy_tables["require"]))
        certificate = replace(certificate, after=earlier.said)
    # The table's digest has a key, so that nobody can guess the table and compare. It is worked out
    # beside the writing.
    key = secrets.token_hex(32)
    (digest,) = in_threads([partial(task.entries.digest, bytes.fromhex(key))])
    files = draft.tables.tables.filed(format_of(task.options), certificate)
    written_release = written_of(certificate, files.paths, policy.populations)
    # The judge reads the written files, as anybody else will.
    try:
        findings = findings_of(written_release, requirements)
    except CertificateError as error:
        raise NoSafeRelease(f"nothing is published that cannot be verified: {error}") from None
    if not same_groups(written_release.held, release.counts):
        raise InternalError("the release differs from what was written")
    _refuse_not_safe(findings)
    failures = audit.failed()
    if failures:
        raise NoSafeRelease(
            "the groups that the search admits do not hold what the policy requires, as they are "
            f"judged: {'; '.join(failures)}. Require a limit further from what they reach"
        )
    # What only the owner can count was judged before, of the owner's table.
    if not task.policy.owned:
        audit = replace(audit, verdicts=tuple(with_witnesses(findings, audit.verdicts)))
    # Remarks as the files show them, with those that only the publisher can know.
    claims = {name: getattr(audit.scope, name) for name in CLAIMED}
    scope = replace(remarks_as_written(certificate, written_release, requirements), **claims)
    certificate = replace(
        certificate,
        findings=_findings_for_readers(findings, kept_priors),
        source={**certificate.source, "digest": digest()},
        notes=tuple(notes),
        scope=for_readers(scope, task.microdata.schema).to_dict(),
    )
    return Publication(
        release,
        audit,
        certificate,
        tables=draft.tables.tables,
        _options=task.options,
        _private={
            "digest_key": key,
            "seed": task.seed,
            "source": task.microdata.name,
            "person": task.raw.schema.person,
            "reading": task.raw.reading.to_dict(),
        },
        placed=draft.placed,
        _files=files,
        _contents=Contents.of(certificate, written_release),
        _kept=kept_priors,
        labels={column.attribute.name: column.known for column in draft.tables.coarse},
        advice=_advice(task, draft.groups, draft.tables, audit, certificate),
        titles=task.raw.titles,
    )


def _certificate_without_findings(
    draft: _Draft, policy_tables: Mapping[str, Any], policy: Policy
) -> Certificate:
    """A certificate that says how a release is written, and nothing yet about what is found."""
    task, method, counts = draft.task, draft.groups.method, draft.audit.counts
    microdata, options, minimal = task.microdata, task.options, traits_of(method).minimal
    # `minimal`: no division into smaller groups would hold the policy, as the method proves. Only
    # where merging never hurts, the search asked for just the policy, and it was not cut off.
    return Certificate(
        policy=policy_tables,
        form=options.written,
        format=options.written_format,
        groups=tuple(draft.tables.group_labels),
        sensitive=microdata.schema.sensitive,
        people=counts.n_people,
        n_groups=counts.n_groups,
        method={**settings_of(method), "name": type(method).__name__},
        findings=(),
        source={"rows": microdata.n_rows, "digest": "", "digest_kind": task.entries.digest_kind},
        seeded=task.seed is not None,
        semantics=microdata.schema.to_dict()["semantics"],
        minimal=policy.monotone()
        and not (_is_loose(policy) or _is_cut_off(draft.groups))
        and minimal is not None
        and bool(minimal(policy)),
        grids=dict(draft.audit.utility.grids),
        **format_of(options).spelling(microdata.numeric),
        notes=(),
        scope={},
    )


def _is_loose(policy: Policy) -> bool:
    """True if a search asks for more than a requirement does."""
    return not all(required.searched_exactly for required in policy.requirements)


def _is_cut_off(groups: _Groups) -> bool:
    lattice = groups.grouping.lattice
    return lattice is not None and not lattice.complete


def _notes(draft: _Draft, policy: Policy) -> Iterator[str]:
    """Yield the certificate's notes on how the groups were made."""
    task, traits = draft.task, traits_of(draft.groups.method)
    has_lists = any(
        getattr(requirement.criterion, "lists", ()) for requirement in policy.requirements
    )
    if has_lists:
        yield OF_LISTS
    elif not (policy.monotone() or policy.attributes):
        yield NOT_MINIMAL
    if _is_loose(policy) and traits.minimal is not None:
        yield PERHAPS_LARGER
    if traits.notes is not None:
        yield from traits.notes(policy, task.seed)
    for attempt in policy.tries:
        yield ESTIMATED if attempt.individual_risk else TRIED.format(", ".join(attempt.by))
    if task.microdata.schema.published_weights is not None:
        yield WEIGHTED
    if _is_cut_off(draft.groups):
        yield CUT_OFF
    columns_with_others = []  # of which rare values became "other"
    for a in task.cell_microdata.attributes:
        if a.cells and a.cells.grid is None:
            columns_with_others.append(a.name)
    if columns_with_others:
        yield note_of_others(columns_with_others, task.policy.least_listed)


def _refuse_not_safe(verdicts: Sequence[Verdict]) -> None:
    """Refuse files that the judge finds unsafe, whatever the search made them for."""
    if not all(verdict.safe for verdict in verdicts):
        written_as = [verdict.to_dict() for verdict in verdicts]
        raise InternalError(
            f"the search and the judge disagree: what is written is not safe: {written_as}"
        )


def _findings_for_readers(
    findings: Sequence[Verdict], kept_priors: KeptPriors | None
) -> tuple[dict[str, Any], ...]:
    """Findings as a certificate has them: without what tells of priors that are kept."""
    plain_findings = [finding.to_dict() for finding in findings]
    if kept_priors is not None:
        plain_findings = list(map(kept_priors.withheld_finding, plain_findings))
    return tuple(plain_findings)
