"""Workers: the same work for many jobs in processes of their own, which can be ended at any time.

A process is started by a command line, so a script that asks needs no guard around its main part.
What it works on comes by its standard input, never by a file, and where that ends, it ends.
"""

from __future__ import annotations

import mmap
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

from foreknow_judge.errors import InputError, memory_for

_START = "import sys; sys.path[:] = {path!r}; from foreknow.workers import serve; serve()"
_ROOM = 32 << 20  # bytes: the stack of a thread, and what it makes while it starts
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


def start(thread: threading.Thread) -> None:
    """Start a thread; an error if there is no room for it.

    One that lacks memory while it starts dies, and `Thread.start` waits for it without end.
    """
    with memory_for("another thread"):
        mmap.mmap(-1, _ROOM).close()
    thread.start()


def side_by_side(
    work: Callable[[Any, Any], Any],
    shared: Any,
    jobs: Sequence[Any],
    processes: int,
    seconds: float | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the position of each job with ``work(shared, job)``, or a `Failure`, as they finish.

    Jobs are done by so many other processes, each for at most so many `seconds`. If `stopped` says
    so, the rest is not done.
    """
    todo: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
    try:
        first = pickle.dumps((work, shared))
        for position, job in enumerate(jobs):
            todo.put((position, pickle.dumps(job)))
    except Exception as error:
        raise InputError(
            f"what is given cannot be sent to other processes ({error}); with processes=0 the "
            "work is done in this one"
        ) from None
    workers = [_Worker(first, todo, done) for _ in range(min(processes, len(jobs)))]
    try:
        for worker in workers:
            start(worker)
        n_unfinished = len(jobs)
        while n_unfinished and not (stopped is not None and stopped()):
            with suppress(queue.Empty):  # wait a little, to look at the clock in between
                yield done.get(timeout=0.1)
                n_unfinished -= 1
            for worker in workers:
                worker.check(seconds)
    finally:  # all are told to end before any is waited for
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.wait()


class _Worker(threading.Thread):
    """Sends one job after the other to a process, and starts another where that one has ended."""

    def __init__(self, first: bytes, todo: Any, done: Any) -> None:
        super().__init__(daemon=True)
        self._first, self._todo, self._done = first, todo, done
        self._process: Any = None
        self._since: float | None = None
        self._late = self._stopped = False

    def run(self) -> None:
        with suppress(queue.Empty):
            while not self._stopped:
                position, job = self._todo.get_nowait()
                self._done.put((position, self._outcome(job)))
        self._close()

    def _outcome(self, job: bytes) -> Any:
        """The result of a job, or a `Failure`; a process that is gone is started anew."""
        try:
            if self._process is None:
                self._process = _start_process()
                failure = self._ask(self._first)  # first the work, and what all jobs share
                if failure is not None:
                    self._close()
                    return failure
            self._late, self._since = False, time.monotonic()
            return self._ask(job)
        except (OSError, EOFError, pickle.UnpicklingError):  # the process has ended
            code = None if self._process is None else self._process.wait()
            self._process = None
            if self._late:
                return Failure("its time was up", late=True)
            how = "" if code is None else f" ({_name_of_exit(code)})"
            return Failure(f"its process was ended{how}; perhaps it needed too much memory")
        finally:
            self._since = None

    def _ask(self, content: bytes) -> Any:
        pickle.dump(content, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def check(self, seconds: float | None) -> None:
        """End the process if its job takes longer."""
        since, process = self._since, self._process
        if None not in (seconds, since, process) and time.monotonic() - since > seconds:  # type: ignore[operator]
            self._late = True
            process.kill()

    def stop(self) -> None:
        """Ask the process to end, whatever it does."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.terminate()

    def wait(self) -> None:
        """Wait until the process and this thread have ended; a process that is slow is killed."""
        process = self._process
        if process is not None:
            try:
                process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self.is_alive():
            self.join(_PATIENCE)

    def _close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError), process:  # which closes its pipes and waits
                pass


def _start_process() -> Any:
    code = _START.format(path=list(map(os.path.abspath, sys.path)))
    nowhere, pipe = subprocess.DEVNULL, subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=nowhere)


def _name_of_exit(code: int) -> str:
    with suppress(ValueError):
        if code < 0:
            return signal.Signals(-code).name
    return f"exit code {code}"


# ---- the process ---------------------------------------------------------------------------


def serve() -> None:
    """Run as a worker process: read the work from stdin, then answer one job after the other.

    Everything is pickled; the first message is the function and what all jobs share.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started us, who ends us
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a method prints is no answer
    came: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    start(threading.Thread(target=_receive, args=(came,), daemon=True))
    work: Any = None
    while True:
        try:
            received = pickle.loads(came.get())
            if work is None:
                (work, shared), answer = received, None
            else:
                answer = work(shared, received)
        except Exception as error:
            hint = "; processes=0 may do" if work is None else ""
            answer = Failure(f"{type(error).__name__}: {error}{hint}")
        answers.write(pickle.dumps(answer))
        answers.flush()


def _receive(came: Any) -> None:
    """Hand on what comes; where no more can come, nobody waits for an answer."""
    with suppress(EOFError), os.fdopen(os.dup(0), "rb") as stream:
        while True:
            came.put(pickle.load(stream))
    os.kill(os.getpid(), signal.SIGTERM)
