"""The client of the code generation worker: keeps the processes and turns their deaths into errors."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from hkc.errors import HkcError, InternalError

_WORKER = Path(__file__).with_name("worker.py")
_STDERR_LINES = 8
_MOST_IDLE = os.cpu_count() or 1


@dataclass(frozen=True)
class Generated:
    """What the worker made of one module: a relocatable object, its assembly if wanted, and seconds by
    step."""

    object: bytes
    assembly: str | None
    seconds: dict[str, float]


class _Died(Exception):
    pass


def _site_packages() -> str:
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or not spec.submodule_search_locations:
        raise HkcError("llvmlite is not installed", hint="pip install 'llvmlite>=0.50,<0.51'")
    return str(Path(spec.submodule_search_locations[0]).parent)


class _Worker:
    """One process; not for use by two threads at once."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        # A session of its own: Ctrl-C at the terminal is for the parent, which ends the worker by closing
        # its stdin.
        self._process = subprocess.Popen(
            [sys.executable, "-E", "-S", str(_WORKER), _site_packages()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
        )

    def request(self, text: str, options: dict[str, object]) -> tuple[dict[str, object], bytes, str]:
        """Send one module and wait; raises _Died when the process ends instead of answering."""
        from hkc.driver.worker import read_frame, write_frames

        head = json.dumps(options).encode()
        stdout = cast(BinaryIO, self._process.stdout)
        try:
            write_frames(cast(BinaryIO, self._process.stdin), head, text.encode())
            frames = [read_frame(stdout) for _ in range(3)]
        except OSError:
            raise _Died from None
        if frames[0] is None or frames[1] is None or frames[2] is None:
            raise _Died
        return json.loads(frames[0]), frames[1], frames[2].decode()

    def last_words(self) -> str:
        """How the process ended and the last lines it printed."""
        code = self._process.wait()
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").splitlines()
        # An assertion's stack trace follows the message that matters.
        cut = next((i for i, line in enumerate(lines) if line.startswith(("Stack dump", "PLEASE submit"))), None)
        lines = [line for line in lines[:cut] if line.strip()][-_STDERR_LINES:]
        end = f"signal {-code}" if code < 0 else f"status {code}"
        return "\n    ".join([f"the process ended with {end}", *lines])

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End the process; its current work is dropped."""
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                cast(BinaryIO, stream).close()
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()
        self._stderr.close()


class Pool:
    """Worker processes, kept for the next compile. Any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []

    def prestart(self) -> None:
        """Make sure that a process is starting or idle, without waiting for it."""
        worker = self._take()
        self._give(worker)

    def generate(
        self, text: str, arch: str, *, level: int = 3, assembly: bool = True, source: str | None = None
    ) -> Generated:
        """Compile LLVM IR for ``arch``. ``source`` names the user's file when the IR is the user's own text, or
        comes from a module that passes outside this process have made (a dump may have been changed by hand).

        Without ``assembly`` only the object is made, which takes half as long.

        Raises HkcError when that text is at fault, InternalError (with the IR saved) in every other case.
        """
        worker = self._take()
        try:
            reply, obj, listing = worker.request(text, {"arch": arch, "level": level, "assembly": assembly})
        except _Died:
            words = worker.last_words()
            worker.close()
            raise _died(text, words, source) from None
        except BaseException:  # an interrupt leaves half a message in the pipe
            worker.close()
            raise
        self._give(worker)
        if reply["error"] is not None:
            raise _refused(text, cast(dict[str, str], reply["error"]), source)
        return Generated(obj, listing if assembly else None, cast(dict[str, float], reply["seconds"]))

    def close(self) -> None:
        """End all idle processes."""
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.close()

    def _take(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                # A forked child must not talk over its parent's pipes.
                if worker.owner == os.getpid() and worker.alive():
                    return worker
                worker.close()
        return _Worker()

    def _give(self, worker: _Worker) -> None:
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append(worker)
                return
        worker.close()


def _save(text: str) -> str:
    with tempfile.NamedTemporaryFile("w", prefix="hkc-", suffix=".ll", delete=False) as file:
        file.write(text)
        return file.name


def _died(text: str, words: str, source: str | None) -> HkcError:
    if source is not None:
        return HkcError(f"{source}: LLVM can't generate code for it", notes=[(words, None)])
    return InternalError(
        "LLVM stopped while generating code",
        notes=[(words, None), (f"the LLVM IR is in {_save(text)}", None)],
    )


def _refused(text: str, error: dict[str, str], source: str | None) -> HkcError:
    message = error["message"].strip()
    if source is not None:
        # LLVM names its buffer, not the file.
        return HkcError(f"{source}: not valid LLVM IR for this target", notes=[(message, None)])
    what = "reading its own LLVM IR" if error["stage"] == "parse" else "generating code"
    return InternalError(
        f"LLVM failed while {what}", notes=[(message, None), (f"the LLVM IR is in {_save(text)}", None)]
    )


POOL = Pool()
atexit.register(POOL.close)
