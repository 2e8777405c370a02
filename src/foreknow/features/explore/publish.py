"""The publish view: a release made in a process of its own, looked at, compared, then written."""

from __future__ import annotations

import logging
import os
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foreknow.atomic_files import name_both, scratch_folder, write_whole
from foreknow.auditing.audit import Audit
from foreknow.certificates import Certificate
from foreknow.data.microdata import Microdata
from foreknow.data.tables.columns import Relabel
from foreknow.data.tables.sources import open_table
from foreknow.data.tables.writers import read_noted
from foreknow.errors import NoSafeRelease, OutputError, did_you_mean
from foreknow.features import load
from foreknow.features.explore.security import is_device
from foreknow.features.explore.session import Draft, Session
from foreknow.methods.proof import AS_REQUIRED, FREQUENCIES
from foreknow.methods.registry import METHODS, key_of, kind_of
from foreknow.policy.policy import Policy
from foreknow.publishing.publish import publish
from foreknow.report.blocks import Cell, Mood, Row, Table
from foreknow.report.exposed_people import exposed_table
from foreknow.report.pages.audit import (
    criterion_text,
    sizes_block,
    titled_exposed,
    verdict_mood,
)
from foreknow.report.values import block_values, table_values
from foreknow.report.words import average_text
from foreknow.result_pages import page_of
from foreknow.settings import known_keys
from foreknow.shown_numbers import percentage
from foreknow.toml import from_toml
from foreknow.workers import Failure, side_by_side, start
from foreknow_judge.errors import InputError
from foreknow_judge.files.file_names import MEMBERS, owners_folder
from foreknow_judge.files.printable import visible
from foreknow_judge.files.temporary_folder import CONTENT, make_private
from foreknow_judge.remarks.sentences import UNLIMITED
from foreknow_judge.text import number, some

_PURPOSE = "publish it"
_QUERIES, _PEOPLE = 300, 8
_MOST_READ = 1_000_000  # rows that are read once more for some of them
_MOST_REQUESTS = 12
_FOLDER = re.compile(r"\w[\w .-]{0,80}")
_BEFORE = "the table as it is"
_NOTE = "progress"


# ---- in a process of its own --------------------------------------------------------------------


@dataclass(frozen=True)
class _Order:
    """A table and policy to publish, and the folder that keeps the release until it is saved."""

    table: Path
    policy: Mapping[str, Any]
    policy_folder: Path
    name: str
    release_folder: Path


@dataclass(frozen=True)
class KeptRelease:
    """A release that was made, and is kept aside; or why there is none."""

    rows: tuple[tuple[str, Any], ...] = ()
    sizes: Any = None
    headline: str = ""
    mood: Mood = ""
    why: tuple[str, ...] = ()
    ncp: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()
    assumed: Sequence[str] = ()
    people: Table | None = None


def _weights(draft: Draft) -> dict[str, float]:
    """The weights of columns in a policy."""
    if draft.mistake:
        return {}
    return {column: float(weight) for column, weight in draft.policy.options.weights.items()}


def _detail_kept(ncp: Mapping[str, float], weights: Mapping[str, Any]) -> float | None:
    """The share of the detail of quasi-identifiers that is kept, by weights of columns.

    `ncp` is the share lost of each column. None if there are no columns with a weight.
    """
    weight_of = {name: float(weights.get(name, 1)) for name in ncp}
    total = sum(weight_of.values())
    return 1 - sum(weight_of[name] * ncp[name] for name in ncp) / total if total else None


class _ProgressNote(logging.Handler):
    """A log handler that writes the last message into a file, which the page reads."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.INFO)
        self._place = path

    def emit(self, record: logging.LogRecord) -> None:
        """Write a message on progress."""
        write_whole(self._place, record.getMessage(), private=True)


def _publish(order: _Order, job: str) -> KeptRelease:
    """Publish a release aside, and measure it; if it is refused, the reason is kept.

    It runs in a process of its own. `job` is the name of the method.
    """
    # Messages of the search go into a file, which the page shows as progress.
    log = logging.getLogger("foreknow")
    log.setLevel(logging.INFO)
    log.addHandler(_ProgressNote(order.release_folder.parent / _NOTE))
    policy = Policy.from_dict(order.policy, order.policy_folder)
    try:
        microdata = policy.microdata(order.table)
        publication = publish(microdata, policy, method=job)
        publication.write(order.release_folder)
    except NoSafeRelease as none:
        return KeptRelease(why=(none.said, *none.way_out))
    except InputError as refused:
        return KeptRelease(why=(str(refused),))
    log.info("asking count queries of the release")
    query_error = load("foreknow.features.utility.query_error:query_error")
    error = query_error(publication, microdata, queries=_QUERIES, seed=0)
    rows = [("Form", publication.certificate.form), *audit_rows(publication.audit)]
    if error.median is not None:
        rows.append(("Median error of count queries", percentage(error.median, 1)))
    page = page_of(publication.audit)
    return KeptRelease(
        rows=tuple(rows),
        sizes=_sizes(publication.audit),
        headline=page.said(page.headline),
        mood=page.mood,
        ncp=publication.utility.ncp,
        notes=page.said(list(page.notes)),
        assumed=page.said(list(page.assumed)),
        people=_people(publication.certificate, microdata, order),
    )


def _people(certificate: Certificate, microdata: Microdata, order: _Order) -> Table | None:
    """A table of some people, with what is published of each of their values below it.

    None for tables that are too large to be read once more.
    """
    if microdata.n_rows > _MOST_READ:
        return None
    # The owner's file says which row each member is; some members are taken, evenly spread.
    published, _ = read_noted(owners_folder(order.release_folder) / MEMBERS)
    schema = microdata.schema
    raw_table = open_table(order.table, microdata.reading)
    columns = [*schema.quasi_identifiers, *schema.other, *schema.sensitives]
    columns = [name for name in columns if name in raw_table.columns]
    step = max(1, len(published) // _PEOPLE)
    members = published.take([*range(0, len(published), step)][:_PEOPLE])
    raw = raw_table.arrow(columns)
    row_numbers = [row - 1 for row in members.column("row").to_pylist()]
    raw = raw.take(row_numbers)
    groups = [name for name in certificate.groups if name in members.column_names]
    sizes = Counter(map(tuple, _texts(published, groups)))
    rounding = certificate.policy["publish"].get("round", {})
    rows, kept_rows = list[Row](), {*microdata.kept.tolist()}
    for row, raw_values, published_labels in zip(
        row_numbers, _texts(raw, columns), _texts(members, groups), strict=True
    ):
        labels = dict(zip(groups, published_labels, strict=True))
        cells: list[Any] = []
        if row not in kept_rows:
            rows.append((*map(_or_missing, raw_values), "left out"))
            continue
        # Below each value is its label, or what else became of it.
        for name, value in zip(columns, raw_values, strict=True):
            label = labels.get(name, value)
            if value is None and name in schema.sensitives and isinstance(schema.missing, Relabel):
                label = str(schema.missing)
            if value is not None and name in rounding:
                label = f"the nearest multiple of {rounding[name]}"
            if name in schema.shared_values:
                label = f"{_or_missing(label)}, once for each household"
            elif name in schema.sensitives or name in certificate.unlinked:
                label = f"{_or_missing(label)}, mixed in the group"
            cells.append(Cell(_or_missing(value), below=f"→ {_or_missing(label)}"))
        rows.append((*cells, some(sizes[tuple(published_labels)], "person", "people")))
    titles = (*map(visible, columns), "group of")
    return Table(titles, rows, left=range(len(titles)))


def _texts(table: Any, columns: Sequence[str]) -> list[list[str | None]]:
    """The rows of some columns, each value as it prints; None where it is missing."""
    texts: list[list[str | None]] = []
    for row in table.select(list(columns)).to_pylist():
        values = [row[name] for name in columns]
        texts.append([None if value is None else str(value) for value in values])
    return texts


def _or_missing(value: str | None) -> str:
    return "missing" if value is None else visible(value)


def _sizes(audit: Audit) -> dict[str, Any]:
    (figure,) = block_values([sizes_block(audit)])
    return figure


_OF_METHOD = {
    AS_REQUIRED: "holds, by a proof",
    FREQUENCIES: "holds if they know nothing more",
}


def audit_rows(audit: Audit) -> Iterator[tuple[str, Any]]:
    """Yield titles and cells by which releases are compared: verdicts, people, utility."""
    page = page_of(audit)
    yield "Verdict", Cell(page.headline, page.mood)
    page_tables = [block for block in page.glance() if isinstance(block, Table)]
    # The first table of the page has a row for each requirement on knowledge.
    for _, secret, knows, worst, limit, _ in page_tables[0].rows if page_tables else ():
        yield f"{secret}, against an adversary who knows {knows}; limit {limit}", worst
    for verdict in audit.criteria:
        yield (
            criterion_text(verdict.requirement),
            Cell(visible(verdict.found), verdict_mood(audit, verdict)),
        )
    for title, people, *_ in exposed_table(titled_exposed(audit)).rows:
        yield f"People over the limit of {title}", people
    method = audit.scope.method or "not judged"
    answer = _OF_METHOD.get(method, method)
    if method == AS_REQUIRED and not audit.limits_inference:
        answer = f"{answer}{UNLIMITED}"
    yield "Against an adversary who knows the method", answer
    utility = audit.utility
    yield "People", number(utility.people)
    yield "Groups", number(utility.groups)
    sizes = f"{number(utility.smallest_group)} to {number(utility.largest_group)}"
    yield "People in a group", f"{average_text(utility.average_group_size)} ({sizes})"
    for column, loss in utility.ncp.items():
        yield f"Generalized: {visible(column)}", percentage(loss, 1)


# ---- in the server ------------------------------------------------------------------------------


@dataclass
class PublishRequest:
    """A release that was asked for."""

    place: int
    table: str
    method: str
    release_folder: Path
    name: str = ""  # what it is opened by
    kept_release: KeptRelease | None = None
    written_to: str | None = None
    state: str = "running"
    seconds: float = 0.0


class Press:
    """Publishes one release at a time, and keeps those it made until the server ends."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._requests: list[PublishRequest] = []
        self._aside: tuple[Path, int] | None = None
        self._running: threading.Thread | None = None
        self._stop = threading.Event()

    def close(self) -> None:
        """Stop the run, and remove releases that were not written."""
        self._stop.set()
        if self._running is not None:
            self._running.join(10)
        if self._aside is not None:
            folder, lock = self._aside
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
            self._aside = None

    def overview(self, asked_name: Any) -> dict[str, Any]:
        """The page's view: the methods, and the releases that were made of a table."""
        name, draft = self._session.table_of(asked_name, _PURPOSE)
        table = {} if draft.is_broken else from_toml(draft.text)
        # From the text as it stands, even if the policy has mistakes.
        settings, schema = (_table_of(table, key) for key in ("publish", "schema"))
        methods = []
        for key, _ in METHODS:
            kind = kind_of(key)
            summary = (kind.__doc__ or "").partition("\n")[0]
            methods.append({"key": key, "about": summary, "settings": known_keys(kind.settings)})
        return {
            "name": visible(name),
            "methods": methods,
            "columns": schema.get("quasi_identifiers", []),
            "method": settings.get("method", "mondrian"),
            "form": settings.get("form", ""),
            "mistake": draft.mistake,
            "before": _BEFORE,
            **self.state(name),
        }

    def state(self, asked_name: Any) -> dict[str, Any]:
        """The progress of the run, and the releases made so far, the best first."""
        name, draft = self._session.table_of(asked_name, _PURPOSE)
        note = None if self._aside is None else self._aside[0] / CONTENT / _NOTE
        progress = note.read_text("utf-8") if note is not None and note.is_file() else ""
        weights = _weights(draft)
        views = []
        for request in self._requests:
            if request.table == name:
                views.append(_request_values(request, weights))
        # Running ones first, then those that keep most detail; sorted upwards, and turned round.
        views.sort(key=lambda view: (view["state"] == "running", view["share"], view["place"]))
        return {
            "said": visible(progress),
            "running": self._running is not None and self._running.is_alive(),
            "weights": weights,
            "trials": views[::-1],
        }

    def start(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to publish by the given method, unless a release is being made; return the state.

        Inputs: "of" (the table), "method", "form" and "settings".
        """
        name, draft = self._session.table_of(inputs.get("of"), _PURPOSE)
        if not isinstance(inputs.get("method"), str):
            raise InputError("say by which method")
        method, form = key_of(inputs["method"]), inputs.get("form") or None
        settings = _settings(inputs.get("settings"), method)
        if draft.is_broken:
            raise InputError("mend the text of the policy first: it is no TOML")
        table = from_toml(draft.text)
        # The method and its settings of the form replace those of the policy.
        settings_table = table.get("publish", {})
        own = settings_table.get(method, {}) if isinstance(settings_table, dict) else None
        if not isinstance(own, dict):
            raise InputError(f"publish and publish.{method} of the policy are tables")
        settings_table = {**settings_table, "method": method, "form": form}
        settings_table[method] = {**own, **settings} or None
        settings_given = settings_table.items()
        table["publish"] = {key: value for key, value in settings_given if value is not None}
        # A mistake is said now, not by the other process.
        draft.check(table)
        with self._lock:
            if self._running is not None and self._running.is_alive():
                raise InputError("a release is being made; cancel it or wait for it")
            if len(self._requests) >= _MOST_REQUESTS:
                raise InputError(
                    f"{_MOST_REQUESTS} releases were made; start foreknow explore again"
                )
            if self._aside is None:
                self._aside = self._make_folder_aside()
            folder_aside, _ = self._aside
            number = len(self._requests) + 1
            release_folder = folder_aside / CONTENT / f"release-{number}"
            (release_folder.parent / _NOTE).unlink(missing_ok=True)
            request = PublishRequest(number, name, method, release_folder)
            self._requests.append(request)
            order = _Order(
                self._session.path_of(name), table, draft.policy_folder, name, release_folder
            )
            self._stop.clear()
            self._running = threading.Thread(target=self._run, args=(request, order), daemon=True)
            start(self._running)
        return self.state(name)

    def _make_folder_aside(self) -> tuple[Path, int]:
        """A folder aside in which releases are made, and its lock; on the disk of the session."""
        try:
            folder, lock = scratch_folder(self._session.folder)
        except OSError as error:
            raise OutputError(
                f"{str(self._session.folder)!r} cannot be written: {error.strerror}"
            ) from None
        make_private(folder / CONTENT)
        return folder, lock

    def _run(self, request: PublishRequest, order: _Order) -> None:
        """Publish a release in another process, and note on the request how it ended."""
        started = time.monotonic()
        # The last answer of the process counts: a release, a failure, or None if it was cancelled.
        outcome: Any = None
        try:
            runs = side_by_side(_publish, order, [request.method], 1, stopped=self._stop.is_set)
            for _, answer in runs:
                outcome = answer
        except InputError as error:
            outcome = Failure(str(error))
        except Exception as error:
            outcome = Failure(type(error).__name__)
        request.seconds = time.monotonic() - started
        if isinstance(outcome, KeptRelease):
            request.kept_release = outcome
            request.state = "made" if outcome.rows else "none"
            if outcome.rows:
                name = f"release {request.place} of {request.table}"
                request.name = self._session.adopt(name, order.release_folder)
        elif outcome is None:
            request.state = "cancelled"
        else:
            request.state, request.kept_release = "failed", KeptRelease(why=(outcome.why,))
        if request.state != "made":
            for path in (order.release_folder, owners_folder(order.release_folder)):
                shutil.rmtree(path, ignore_errors=True)

    def cancel(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """End the process that publishes; nothing of it is kept."""
        self._stop.set()
        if self._running is not None:
            self._running.join(10)
        return self.state(inputs.get("of"))

    def write(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Write a release that was made and judged into a new folder; return the state."""
        request, folder = self._request_of(inputs.get("trial")), inputs.get("folder")
        if not isinstance(folder, str) or not _FOLDER.fullmatch(folder) or folder.endswith("."):
            raise OutputError("name a new folder of this folder, such as release")
        if is_device(folder):
            raise OutputError(f"{folder!r} is a device on Windows; choose another name")
        target = self._session.folder / folder
        with self._lock:
            if request.written_to is not None:
                raise OutputError(f"it was written already, to {visible(request.written_to)}")
            # The owner's folder is moved with it, so neither may exist.
            owner = owners_folder(target)
            for path in (target, owner):
                if path.exists() or path.is_symlink():
                    raise OutputError(f"{path.name!r} exists already; name another folder")
            assert self._aside is not None  # it lies there
            folder_aside, _ = self._aside
            made, made_for_owner = request.release_folder, owners_folder(request.release_folder)
            name_both(folder_aside, (made, target), (made_for_owner, owner))
            request.written_to, request.release_folder = folder, target
            self._session.drop(request.name)
            request.name = folder
        return self.state(request.table)

    def _request_of(self, number: Any) -> PublishRequest:
        for request in self._requests:
            if str(request.place) == str(number) and request.state == "made":
                return request
        raise InputError(f"there is no release {number!r}")

    def compare(self, inputs: Mapping[str, str]) -> dict[str, Any]:
        """The page's view of two releases of a table side by side, or of one and the table.

        "a" and "b" are numbers of releases; none or 0 stands for the table as it is.
        """
        name, _ = self._session.table_of(inputs.get("of"), _PURPOSE)
        titles, columns, figures = [], [], []
        people: list[dict[str, Any] | None] = []
        for key in ("a", "b"):
            if inputs.get(key) in (None, "", "0"):
                audit = self._session.looked(name).audit
                titles.append(_BEFORE)
                columns.append(dict(audit_rows(audit)))
                figures.append(_sizes(audit))
                people.append(None)
                continue
            request = self._request_of(inputs[key])
            assert request.kept_release is not None
            titles.append(_title(request))
            columns.append(dict(request.kept_release.rows))
            figures.append(request.kept_release.sizes)
            shown_people = request.kept_release.people
            people.append(None if shown_people is None else table_values(shown_people))
        # Rows of the second that the first lacks come last.
        first, second = columns
        labels = [*first, *(label for label in second if label not in first)]
        rows = [(label, first.get(label, "–"), second.get(label, "–")) for label in labels]
        table = Table(("", *titles), rows)
        comparison = {"table": table_values(table), "titles": titles, "sizes": figures}
        return {**comparison, "people": people}


def _table_of(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The table of a key; an empty one where it is none, which is said as a mistake."""
    found = table.get(key, {})
    return found if isinstance(found, Mapping) else {}


def _settings(settings_text: Any, method: str) -> dict[str, Any]:
    """The settings of a method, read from text in the form of a policy file."""
    if not isinstance(settings_text, str) or not settings_text.strip():
        return {}
    try:
        settings = from_toml(settings_text, float)
    except ValueError as error:
        raise InputError(f"settings are written as suppression = 0.05: {error}") from None
    keys = known_keys(kind_of(method).settings)
    for key in settings:
        if key not in keys:
            raise InputError(f"{method} has no setting {key!r}{did_you_mean(key, keys)}")
    return settings


def _title(request: PublishRequest) -> str:
    return f"release {request.place}, by {request.method}"


def _request_values(request: PublishRequest, weights: Mapping[str, Any]) -> dict[str, Any]:
    """The page's view of a release that was asked for: state, verdict and detail kept.

    Before it is made, there is only its state.
    """
    kept_release = request.kept_release
    share = None if kept_release is None else _detail_kept(kept_release.ncp, weights)
    return {
        "share": -1.0 if share is None else share,
        "kept": "" if share is None else f"keeps {percentage(share)} of the detail",
        "place": request.place,
        "title": _title(request),
        "state": request.state,
        "mood": "" if kept_release is None else kept_release.mood,
        "said": "" if kept_release is None else kept_release.headline,
        "why": [] if kept_release is None else list(kept_release.why),
        "notes": [] if kept_release is None else list(kept_release.notes),
        "assumed": [] if kept_release is None else list(kept_release.assumed),
        "seconds": f"{request.seconds:.1f}",
        "name": request.name,
        "written": request.written_to,
    }
