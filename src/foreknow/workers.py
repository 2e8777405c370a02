"""Workers: the same work for many jobs in processes of their own, which can be ended at any time.

A process is started by a command line, so a script that asks needs no guard around its main part.
It gets what it works on by a pipe, never by a file, and ends with us, however we end.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from foreknow.errors import InputError

_START = "import sys; sys.path[:] = {path!r}; from foreknow.workers import serve; serve()"
_READY = "ready"
_PATIENCE = 2.0  # seconds in which a process that is told to end may tidy up


@dataclass(frozen=True)
class Failure:
    """Why a job has no result; `late` where its time was up."""

    why: str
    late: bool = False


def cores() -> int:
    """How many processes can run at once."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


def side_by_side(
    work: Callable[[Any, Any], Any],
    shared: Any,
    jobs: Sequence[Any],
    processes: int,
    seconds: float | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Give the place of each job with ``work(shared, job)``, or a `Failure`, as they finish."""
    try:
        told = _framed((work, shared))
        waiting = [(place, _framed(job)) for place, job in enumerate(jobs)]
    except Exception as error:
        raise InputError(
            f"what is given cannot be sent to other processes ({error}); with processes=0 the "
            "work is done in this one"
        ) from None
    todo: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
    for each in waiting:
        todo.put(each)
    workers = [_Worker(told, todo, done) for _ in range(min(processes, len(jobs)))]
    try:
        for worker in workers:
            worker.start()
        left = len(jobs)
        while left and not (stopped is not None and stopped()):
            try:
                yield done.get(timeout=0.1)
                left -= 1
            except queue.Empty:
                pass
            for worker in workers:
                worker.hurry(seconds)
    finally:
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.bury()


class _Worker(threading.Thread):
    """Sends one job after the other to a process, and starts another where that one has ended."""

    def __init__(self, told: bytes, todo: Any, done: Any) -> None:
        super().__init__(daemon=True)
        self._told, self._todo, self._done = told, todo, done
        self._process: subprocess.Popen[bytes] | None = None
        self._since: float | None = None
        self._late = self._stopped = False

    def run(self) -> None:
        while not self._stopped:
            try:
                place, job = self._todo.get_nowait()
            except queue.Empty:
                break
            self._done.put((place, self._outcome(job)))
        self._leave()

    def _outcome(self, job: bytes) -> Any:
        try:
            if self._process is None:
                self._process = _started()
                said = self._ask(self._told)
                if said != _READY:
                    self._leave()
                    return said
            self._late, self._since = False, time.monotonic()
            return self._ask(job)
        except (OSError, EOFError):
            code = None if self._process is None else self._process.wait()
            self._process = None
            if self._late:
                return Failure("its time was up", late=True)
            how = "" if code is None else f" ({_named(code)})"
            return Failure(f"its process was ended{how}; perhaps it needed too much memory")
        finally:
            self._since = None

    def _ask(self, frame: bytes) -> Any:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(frame)
        process.stdin.flush()
        return _take(process.stdout.fileno())

    def hurry(self, seconds: float | None) -> None:
        """End the process if its job takes longer."""
        since, process = self._since, self._process
        if seconds is None or since is None or process is None:
            return
        if time.monotonic() - since > seconds:
            self._late = True
            process.kill()

    def stop(self) -> None:
        """Ask the process to end, whatever it does."""
        self._stopped = True
        if (process := self._process) is not None:
            process.terminate()

    def bury(self) -> None:
        """Wait until the process has ended; it is killed if it does not in good time."""
        if (process := self._process) is not None:
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.is_alive():
            self.join(_PATIENCE)

    def _leave(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.stdin is not None and process.stdout is not None:
            with suppress(OSError):
                process.stdin.close()
            process.stdout.close()
            process.wait()


def _started() -> subprocess.Popen[bytes]:
    code = _START.format(path=[os.path.abspath(place) for place in sys.path])
    nowhere, pipe = subprocess.DEVNULL, subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=nowhere)


def _named(code: int) -> str:
    with suppress(ValueError):
        if code < 0:
            return signal.Signals(-code).name
    return f"exit code {code}"


# ---- the process ---------------------------------------------------------------------------


def serve() -> None:
    """Be such a process: take what to work on, then answer one job after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started us, who ends us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    answers = os.dup(1)
    os.dup2(2, 1)  # what a method prints is no answer
    came: queue.SimpleQueue[Any] = queue.SimpleQueue()
    working = threading.Event()
    threading.Thread(target=_receive, args=(came, working), daemon=True).start()
    try:
        work, shared = pickle.loads(came.get())
    except Exception as error:
        _answer(answers, Failure(f"{type(error).__name__}: {error}; processes=0 may do"))
        return
    _answer(answers, _READY)
    while (job := came.get()) is not None:
        try:
            found = work(shared, pickle.loads(job))
        except Exception as error:
            found = Failure(f"{type(error).__name__}: {error}")
        working.clear()
        _answer(answers, found)


def _receive(came: Any, working: threading.Event) -> None:
    """Hand on what comes; nobody waits for an answer once no more can come."""
    while True:
        try:
            frame = _exactly(0, int.from_bytes(_exactly(0, 8), "big"))
        except EOFError:
            if working.is_set():
                os._exit(1)
            came.put(None)
            return
        working.set()
        came.put(frame)


def _answer(to: int, found: Any) -> None:
    left = memoryview(_framed(found))
    while left:
        left = left[os.write(to, left) :]


def _framed(given: Any) -> bytes:
    content = pickle.dumps(given)
    return len(content).to_bytes(8, "big") + content


def _take(source: int) -> Any:
    return pickle.loads(_exactly(source, int.from_bytes(_exactly(source, 8), "big")))


def _exactly(source: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(source, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
