"""Runs the instances: binds and starts them, forwards signals and output, and ends all of them if one fails.

Each instance leads its own session, so that a signal also reaches the processes that it started. No instance is reaped
before all have ended: until then the system cannot reuse its number, which is also the number of its process group.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from .errors import logger

SIGNALS_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
SIGNAL_EXIT = 128  # A shell adds this to the number of a signal to make an exit code.
SECONDS_AFTER_KILL = 1.0
SECONDS_BETWEEN_LOOKS = 0.02


@dataclass(frozen=True)
class Job:
    """An instance to start. ``cpus`` is None if the launcher does not bind it itself."""

    index: int
    command: Tuple[str, ...]
    environment: Dict[str, str]
    cpus: Optional[Tuple[int, ...]]


class Logs(NamedTuple):
    """The files for output; ``folder`` is None for no logs."""

    folder: Optional[Path]
    prefix: str

    def path(self, index: int, stream: str) -> Optional[Path]:
        return None if self.folder is None else self.folder / f"{self.prefix}_{index}.{stream}.log"


@dataclass(frozen=True)
class _Ended:
    index: int
    code: int


class _Signalled(NamedTuple):
    number: int


class _OutputClosed(NamedTuple):
    pass


_Event = Union[_Ended, _Signalled, _OutputClosed]
_Sink = Callable[[bytes], None]


@contextlib.contextmanager
def _bound_to(cpus: Optional[Sequence[int]]) -> Iterator[None]:
    """Binds this thread. A child inherits the CPUs of the thread that starts it, so nothing runs between fork and exec."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def _signals_to(events: "queue.SimpleQueue[_Event]") -> Iterator[None]:
    """Turns signals into events. Ignored signals stay ignored, as under nohup. Works in the main thread only."""

    def report(number: int, _frame: Optional[FrameType]) -> None:
        events.put(_Signalled(number))

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS_PASSED_ON:
            # None means that a C library installed the handler, which Python could not restore.
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, report)
        # The kernel discards the exit codes of children if SIGCHLD is ignored, and a parent may have set that.
        if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
            before[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write_all(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0:]


class _Console:
    """Writes whole pieces of text to one of the launcher's streams, from several threads."""

    def __init__(self, descriptor: int) -> None:
        self._file = open(descriptor, "wb", buffering=0, closefd=False)
        self._lock = threading.Lock()

    def sink(self, label: bytes) -> _Sink:
        def write(piece: bytes) -> None:
            # Ends a line that its program did not end; otherwise the next instance's line would continue it.
            end = b"\n" if label and not piece.endswith(b"\n") else b""
            with self._lock:
                _write_all(self._file, label + piece + end)
        return write


def _copy(source: IO[bytes], by_lines: bool, sinks: List[_Sink]) -> None:
    """Copies output until it ends, or until the reader is gone: the program then gets a closed pipe, as in a shell."""
    read: Callable[[], bytes] = source.readline if by_lines else lambda: os.read(source.fileno(), 1 << 16)
    with source:
        for piece in iter(read, b""):
            for sink in list(sinks):
                try:
                    sink(piece)
                except OSError as error:
                    sinks.remove(sink)
                    logger.warning("output can no longer be written: %s", error)
            if not sinks:
                return


class _Supervisor:
    """The running instances, and the loop that handles all their events."""

    def __init__(self, grace: float) -> None:
        self.events: "queue.SimpleQueue[_Event]" = queue.SimpleQueue()
        self.code = 0
        self._grace = grace
        self._processes: Dict[int, "subprocess.Popen[bytes]"] = {}
        self._ended: Set[int] = set()
        self._waiting = 0
        self._deadline: Optional[float] = None
        self._killed = False

    def start(self, job: Job, alone: bool, logs: Logs, consoles: Sequence[_Console]) -> None:
        """Starts an instance. A single instance without logs inherits the launcher's streams, so that it can be interactive."""
        piped = not alone or logs.folder is not None
        output = subprocess.PIPE if piped else None
        paths = [logs.path(job.index, name) for name in ("stdout", "stderr")]
        files = [path and path.open("wb", buffering=0) for path in paths]
        with _bound_to(job.cpus):
            process = subprocess.Popen(job.command, env=job.environment, stdout=output, stderr=output,
                                       stdin=None if alone else subprocess.DEVNULL, start_new_session=True)
        self._processes[job.index] = process
        self._spawn(self._watch, job.index, process.pid)
        label = b"" if alone else f"[{logs.prefix}{job.index}]: ".encode()
        for stream, console, file in zip((process.stdout, process.stderr), consoles, files):
            if stream is not None:
                self._spawn(self._forward, stream, label, console, file)

    def _spawn(self, target: Callable[..., None], *arguments: object) -> None:
        self._waiting += 1
        threading.Thread(target=target, args=arguments, daemon=True).start()

    def _watch(self, index: int, pid: int) -> None:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        by_signal = ended.si_code != os.CLD_EXITED
        self.events.put(_Ended(index, ended.si_status + (SIGNAL_EXIT if by_signal else 0)))

    def _forward(self, stream: IO[bytes], label: bytes, console: _Console, log: Optional[IO[bytes]]) -> None:
        with log or contextlib.nullcontext():
            sinks = [console.sink(label)]
            if log is not None:
                sinks.append(functools.partial(_write_all, log))
            _copy(stream, bool(label), sinks)
        self.events.put(_OutputClosed())

    def wait(self) -> int:
        """Handles events until every instance has ended and its output is copied. Returns the common exit code."""
        while self._waiting:
            try:
                event = self.events.get(timeout=self._time_left())
            except queue.Empty:
                if self._killed:
                    break
                self._kill()
                continue
            self._handle(event)
        self._reap()
        return self.code

    def _time_left(self) -> Optional[float]:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _handle(self, event: _Event) -> None:
        if isinstance(event, _Signalled):
            logger.warning("%s is passed on to all instances", signal.Signals(event.number).name)
            self.end(event.number, SIGNAL_EXIT + event.number)
            return
        self._waiting -= 1
        if isinstance(event, _Ended):
            self._ended.add(event.index)
            if event.code and self._deadline is None:
                logger.error("instance %d ended with exit code %d", event.index, event.code)
                self.end(signal.SIGTERM, event.code)

    def end(self, number: int, code: int) -> None:
        """Signals every instance to end. The first reason determines the exit code and starts the grace period."""
        self.code = self.code or code
        self._signal_all(number)
        if self._deadline is None:
            self._deadline = time.monotonic() + self._grace

    def _kill(self) -> None:
        logger.warning("instances that did not end within %g seconds are killed", self._grace)
        self._killed = True
        self._signal_all(signal.SIGKILL)
        self._deadline = time.monotonic() + SECONDS_AFTER_KILL

    def _signal_all(self, number: int) -> None:
        for index, process in self._processes.items():
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                continue
            except PermissionError as error:
                logger.warning("instance %d cannot be signalled: %s", index, error)

    def _reap(self) -> None:
        """Collects the instances that have ended. Does not wait for one that survived SIGKILL, which could take forever."""
        ended = [self._processes[index] for index in self._ended]
        for process in ended:
            process.wait()
        if self._deadline is not None:
            _end_groups([process.pid for process in ended], self._deadline)


def _end_groups(groups: Sequence[int], deadline: float) -> None:
    """Waits for processes that ended instances have started, for the rest of the grace period; then kills them."""
    while any(map(_group_exists, groups)) and time.monotonic() < deadline:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    for group in filter(_group_exists, groups):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def run_jobs(jobs: Sequence[Job], logs: Logs, grace: float) -> int:
    """Runs all instances to their end. Returns 0, the code of the first that failed, or 128 plus a signal's number."""
    supervisor = _Supervisor(grace)
    consoles = [_Console(1), _Console(2)]
    with _signals_to(supervisor.events):
        try:
            for job in jobs:
                supervisor.start(job, len(jobs) == 1, logs, consoles)
        except OSError:
            supervisor.end(signal.SIGTERM, 1)
            supervisor.wait()
            raise
        return supervisor.wait()
