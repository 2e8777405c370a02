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
from foreknow.data.engines import open_table
from foreknow.data.engines.write import read_noted
from foreknow.data.microdata import Microdata
from foreknow.errors import NoSafeRelease, OutputError, did_you_mean
from foreknow.explore.security import is_device
from foreknow.explore.session import Draft, Session
from foreknow.figures import percentage
from foreknow.leaves import load
from foreknow.methods.proof import AS_REQUIRED, FREQUENCIES
from foreknow.methods.registry import METHODS, key_of, kind_of
from foreknow.policy.policy import Policy
from foreknow.publishing.publish import publish
from foreknow.report.blocks import Cell, Mood, Table
from foreknow.report.exposed import exposed_table
from foreknow.report.pages.audit import (
    criterion_text,
    sizes_block,
    titled_exposed,
    verdict_mood,
)
from foreknow.report.values import block_values, table_values
from foreknow.report.words import average_text, number, visible
from foreknow.result import page_of
from foreknow.settings import known_keys
from foreknow.toml import from_toml
from foreknow.workers import Failure, side_by_side
from foreknow_judge.errors import InputError
from foreknow_judge.file_names import MEMBERS, owners_folder
from foreknow_judge.said import UNLIMITED
from foreknow_judge.scratch import CONTENT, make_private
from foreknow_judge.text import some

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
    """What is to be published, and where it is kept until somebody wants it."""

    table: Path
    policy: Mapping[str, Any]
    beside: Path
    name: str
    kept: Path


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
    """What a policy says that columns count."""
    if draft.mistake:
        return {}
    return {column: float(own) for column, own in draft.policy.options.weights.items()}


def _kept(ncp: Mapping[str, float], weights: Mapping[str, Any]) -> float | None:
    """How much of the detail of quasi-identifiers is left, as somebody weighs these."""
    counted = {name: float(weights.get(name, 1)) for name in ncp}
    total = sum(counted.values())
    return 1 - sum(counted[name] * ncp[name] for name in ncp) / total if total else None


class _Notes(logging.Handler):
    """Keeps what was said last where the page can read it."""

    def __init__(self, place: Path) -> None:
        super().__init__(logging.INFO)
        self._place = place

    def emit(self, record: logging.LogRecord) -> None:
        """Say how far it is."""
        write_whole(self._place, record.getMessage(), private=True)


def _publish(order: _Order, job: str) -> KeptRelease:
    """Publish, measure and write aside; that nothing is safe is an answer."""
    log = logging.getLogger("foreknow")
    log.setLevel(logging.INFO)
    log.addHandler(_Notes(order.kept.parent / _NOTE))
    policy = Policy.from_dict(order.policy, order.beside)
    try:
        microdata = policy.microdata(order.table)
        made = publish(microdata, policy, method=job)
        made.write(order.kept)
    except NoSafeRelease as none:
        return KeptRelease(why=(none.said, *none.way_out))
    except InputError as refused:
        return KeptRelease(why=(str(refused),))
    log.info("asking count queries of the release")
    query_error = load("foreknow.utility.query_error:query_error")
    error = query_error(made, microdata, queries=_QUERIES, seed=0)
    rows = [("Form", made.certificate.form), *audit_rows(made.audit)]
    if error.median is not None:
        rows.append(("Count queries are off by, in the middle", percentage(error.median, 1)))
    page = page_of(made.audit)
    ncp, people = made.utility.ncp, _people(made.certificate, microdata, order)
    sizes = _sizes(made.audit)
    notes, assumed = page.said(list(page.notes)), page.said(list(page.assumed))
    said = page.said(page.headline)
    return KeptRelease(tuple(rows), sizes, said, page.mood, (), ncp, notes, assumed, people)


def _people(known: Certificate, microdata: Microdata, order: _Order) -> Table | None:
    """Some people of the table, and below each of their values what is published of it."""
    if microdata.n_rows > _MOST_READ:
        return None
    published, _ = read_noted(owners_folder(order.kept) / MEMBERS)
    schema = microdata.schema
    own = [*schema.quasi_identifiers, *schema.other, *schema.sensitives]
    step = max(1, len(published) // _PEOPLE)
    members = published.take([*range(0, len(published), step)][:_PEOPLE])
    raw = open_table(order.table, microdata.reading).arrow(own)
    raw = raw.take([row - 1 for row in members.column("row").to_pylist()])
    groups = [name for name in known.groups if name in members.column_names]
    sizes = Counter(map(tuple, _texts(published, groups)))
    rows = []
    for before, after in zip(_texts(raw, own), _texts(members, groups), strict=True):
        labels = dict(zip(groups, after, strict=True))
        left_out = None in after and known.form == "bucketized"
        cells: list[Any] = []
        for name, value in zip(own, before, strict=True):
            said = labels.get(name, value)
            if name in schema.sensitives or name in known.unlinked:
                said = f"{_or_missing(said)}, mixed in the group"
            cells.append(Cell(_or_missing(value), below=f"→ {_or_missing(said)}"))
        many = "left out" if left_out else some(sizes[tuple(after)], "person", "people")
        rows.append((*cells, many))
    head = (*map(visible, own), "group of")
    return Table(head, rows, left=range(len(head)))


def _texts(table: Any, columns: Sequence[str]) -> list[list[str | None]]:
    """Rows of some columns, as they print."""
    return [
        [None if row[name] is None else str(row[name]) for name in columns]
        for row in table.select(list(columns)).to_pylist()
    ]


def _or_missing(value: str | None) -> str:
    return "missing" if value is None else visible(value)


def _sizes(audit: Audit) -> dict[str, Any]:
    (figure,) = block_values([sizes_block(audit)])
    return figure


_OF_METHOD = {
    AS_REQUIRED: "holds, by a proof",
    FREQUENCIES: "holds if they know nothing else",
}


def audit_rows(audit: Audit) -> Iterator[tuple[str, Any]]:
    """What is compared of a release: verdicts, people over each limit, what it is worth."""
    page = page_of(audit)
    yield "Verdict", Cell(page.headline, page.mood)
    table = next((block for block in page.glance() if isinstance(block, Table)), None)
    for _, about, knows, worst, limit, _ in () if table is None else table.rows:
        yield f"{about}, from who knows {knows}; limit {limit}", worst
    for each in audit.criteria:
        yield criterion_text(each.requirement), Cell(visible(each.found), verdict_mood(audit, each))
    for title, people, *_ in exposed_table(titled_exposed(audit)).rows:
        yield f"People over the limit of {title}", people
    known = audit.scope.method or "not judged"
    said = _OF_METHOD.get(known, known)
    if known == AS_REQUIRED and not audit.limits_inference:
        said = f"{said}{UNLIMITED}"
    yield "Against an adversary who knows the method", said
    worth = audit.utility
    yield "People", number(worth.people)
    yield "Groups", number(worth.groups)
    sizes = f"{number(worth.smallest_group)} to {number(worth.largest_group)}"
    yield "People in a group", f"{average_text(worth.average_group_size)} ({sizes})"
    for column, loss in worth.ncp.items():
        yield f"Generalized: {visible(column)}", percentage(loss, 1)


# ---- in the server ------------------------------------------------------------------------------


@dataclass
class PublishRequest:
    """A release that was asked for."""

    place: int
    table: str
    method: str
    kept: Path
    name: str = ""  # what it is opened by
    made: KeptRelease | None = None
    written: str | None = None
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
        """End what runs, and remove what was not written."""
        self._stop.set()
        if self._running is not None:
            self._running.join(10)
        if self._aside is not None:
            folder, lock = self._aside
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
            self._aside = None

    def overview(self, asked: Any) -> dict[str, Any]:
        """The methods, and the releases that were made of a table."""
        name, draft = self._session.table_of(asked, _PURPOSE)
        table = {} if draft.is_broken else from_toml(draft.text)
        own = table.get("publish", {})
        kinds = {key: kind_of(key) for key, _ in METHODS}
        return {
            "name": visible(name),
            "methods": [
                {
                    "key": key,
                    "about": (kind.__doc__ or "").partition("\n")[0],
                    "settings": known_keys(kind.settings),
                }
                for key, kind in kinds.items()
            ],
            "columns": table.get("schema", {}).get("quasi_identifiers", []),
            "method": own.get("method", "mondrian"),
            "form": own.get("form", ""),
            "mistake": draft.mistake,
            "before": _BEFORE,
            **self.state(name),
        }

    def state(self, asked: Any) -> dict[str, Any]:
        """How far it is, and what was made."""
        name, draft = self._session.table_of(asked, _PURPOSE)
        note = None if self._aside is None else self._aside[0] / CONTENT / _NOTE
        said = note.read_text("utf-8") if note is not None and note.is_file() else ""
        weights = _weights(draft)
        shown = [_shown(request, weights) for request in self._requests if request.table == name]
        shown.sort(key=lambda each: (each["state"] == "running", each["share"], each["place"]))
        return {
            "said": visible(said),
            "running": self._running is not None and self._running.is_alive(),
            "weights": weights,
            "trials": shown[::-1],
        }

    def start(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to publish, unless that is being done."""
        name, draft = self._session.table_of(given.get("of"), _PURPOSE)
        if not isinstance(given.get("method"), str):
            raise InputError("say by which method")
        method, form = key_of(given["method"]), given.get("form") or None
        settings = _settings(given.get("settings"), method)
        if form not in (None, "generalized", "bucketized"):
            raise InputError("the form is generalized or bucketized")
        table = from_toml(draft.text)
        own = {**table.get("publish", {}), "method": method, "form": form}
        own[method] = {**own.get(method, {}), **settings} or None
        table["publish"] = {key: value for key, value in own.items() if value is not None}
        draft.check(table)
        with self._lock:
            if self._running is not None and self._running.is_alive():
                raise InputError("a release is being made; cancel it or wait for it")
            if len(self._requests) >= _MOST_REQUESTS:
                raise InputError(
                    f"{_MOST_REQUESTS} releases were made; start foreknow explore again"
                )
            if self._aside is None:
                self._aside = self._make_place()
            place = len(self._requests) + 1
            kept = self._aside[0] / CONTENT / f"release-{place}"
            (kept.parent / _NOTE).unlink(missing_ok=True)
            request = PublishRequest(place, name, method, kept)
            self._requests.append(request)
            order = _Order(self._session.path_of(name), table, draft.beside, name, kept)
            self._stop.clear()
            self._running = threading.Thread(target=self._run, args=(request, order), daemon=True)
            self._running.start()
        return self.state(name)

    def _make_place(self) -> tuple[Path, int]:
        try:
            folder, lock = scratch_folder(self._session.folder)
        except OSError as error:
            raise OutputError(
                f"{str(self._session.folder)!r} cannot be written: {error.strerror}"
            ) from None
        make_private(folder / CONTENT)
        return folder, lock

    def _run(self, request: PublishRequest, order: _Order) -> None:
        begun = time.monotonic()
        found: Any = None
        try:
            runs = side_by_side(_publish, order, [request.method], 1, stopped=self._stop.is_set)
            found = next((own for _, own in runs), None)
        except InputError as error:
            found = Failure(str(error))
        except Exception as error:
            found = Failure(type(error).__name__)
        request.seconds = time.monotonic() - begun
        if isinstance(found, KeptRelease):
            request.made = found
            request.state = "made" if found.rows else "none"
            if found.rows:
                name = f"release {request.place} of {request.table}"
                request.name = self._session.adopt(name, order.kept)
        elif found is None:
            request.state = "cancelled"
        else:
            request.state, request.made = "failed", KeptRelease(why=(found.why,))
        if request.state != "made":
            for left in (order.kept, owners_folder(order.kept)):
                shutil.rmtree(left, ignore_errors=True)

    def cancel(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """End the process that publishes; nothing of it is kept."""
        self._stop.set()
        if self._running is not None:
            self._running.join(10)
        return self.state(given.get("of"))

    def write(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Give the folders of a release, which was judged as written, their names."""
        request, folder = self._request_of(given.get("trial")), given.get("folder")
        if not isinstance(folder, str) or not _FOLDER.fullmatch(folder) or folder.endswith("."):
            raise OutputError("name a new folder of this folder, such as release")
        if is_device(folder):
            raise OutputError(f"{folder!r} is a device on Windows; choose another name")
        target = self._session.folder / folder
        with self._lock:
            if request.written is not None:
                raise OutputError(f"it was written already, to {visible(request.written)}")
            owner = owners_folder(target)
            for each in (target, owner):
                if each.exists() or each.is_symlink():
                    raise OutputError(f"{each.name!r} exists already; name another folder")
            assert self._aside is not None  # it lies there
            kept = request.kept, owners_folder(request.kept)
            name_both(self._aside[0], (kept[0], target), (kept[1], owner))
            request.written, request.kept = folder, target
            self._session.drop(request.name)
            request.name = folder
        return self.state(request.table)

    def _request_of(self, asked: Any) -> PublishRequest:
        found = next((one for one in self._requests if str(one.place) == str(asked)), None)
        if found is None or found.state != "made":
            raise InputError(f"there is no release {asked!r}")
        return found

    def compared(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Two releases of a table side by side; or one, and the table as it is."""
        name, _ = self._session.table_of(given.get("of"), _PURPOSE)
        titles, columns, figures = [], [], []
        people: list[dict[str, Any] | None] = []
        for key in ("a", "b"):
            if given.get(key) in (None, "", "0"):
                audit = self._session.looked(name).audit
                titles.append(_BEFORE)
                columns.append(dict(audit_rows(audit)))
                figures.append(_sizes(audit))
                people.append(None)
                continue
            request = self._request_of(given[key])
            assert request.made is not None
            titles.append(_title(request))
            columns.append(dict(request.made.rows))
            figures.append(request.made.sizes)
            shown_people = request.made.people
            people.append(None if shown_people is None else table_values(shown_people))
        first, second = columns
        labels = [*first, *(label for label in second if label not in first)]
        rows = [(label, first.get(label, "–"), second.get(label, "–")) for label in labels]
        table = Table(("", *titles), rows)
        shown = {"table": table_values(table), "titles": titles, "sizes": figures}
        return {**shown, "people": people}


def _settings(given: Any, method: str) -> dict[str, Any]:
    """Settings of a method, as they are written in a policy file."""
    if not isinstance(given, str) or not given.strip():
        return {}
    try:
        found = from_toml(given, float)
    except ValueError as error:
        raise InputError(f"settings are written as suppression = 0.05: {error}") from None
    known = known_keys(kind_of(method).settings)
    for key in found:
        if key not in known:
            raise InputError(f"{method} has no setting {key!r}{did_you_mean(key, known)}")
    return found


def _title(request: PublishRequest) -> str:
    return f"release {request.place}, by {request.method}"


def _shown(request: PublishRequest, weights: Mapping[str, Any]) -> dict[str, Any]:
    made = request.made
    share = None if made is None else _kept(made.ncp, weights)
    return {
        "share": -1.0 if share is None else share,
        "kept": "" if share is None else f"keeps {percentage(share)} of the detail",
        "place": request.place,
        "title": _title(request),
        "state": request.state,
        "mood": "" if made is None else made.mood,
        "said": "" if made is None else made.headline,
        "why": [] if made is None else list(made.why),
        "notes": [] if made is None else list(made.notes),
        "assumed": [] if made is None else list(made.assumed),
        "seconds": f"{request.seconds:.1f}",
        "name": request.name,
        "written": request.written,
    }
