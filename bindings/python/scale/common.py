"""What the runs of all engines share: the check of results, and kills."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pyarrow import parquet
from selkie import batch

LIMIT_SECONDS = 300
"""How long to wait for something that has to happen."""


class Check:
    """What every run has to end with."""

    def __init__(self, items: int, digest: str) -> None:
        self.items = items
        self.digest = digest

    def results(self, folder: Path) -> None:
        """Raise `AssertionError` unless rows = distinct ids = the number of items, with the digest."""
        found = batch.digest_of(folder)
        ids: set[bytes] = set()
        for path in batch.shards(folder):
            ids.update(parquet.read_table(path, columns=["item_id"])["item_id"].to_pylist())
        summary = (found.digest.items, len(ids), found.digest.hex(), found.unexpected)
        expected = (self.items, self.items, self.digest, 0)
        assert summary == expected, f"rows, ids, digest, unexpected: {summary}, not {expected}"


def fresh(folder: Path) -> Path:
    """Return the folder, which is no longer there."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until something has happened."""
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited {LIMIT_SECONDS} s in vain for {what}"
        time.sleep(0.01)


def complete(folder: Path) -> int:
    """Return how many files of results are complete."""
    return len(batch.shards(folder)) if folder.exists() else 0


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, directly or not."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for it in found:
        found.extend(children.get(it, []))
    return found[1:]


def command_line(pid: int) -> str:
    """Return the command line of a process, empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def kill_tree(pid: int) -> None:
    """Kill a process with all that it has started."""
    for it in [*descendants(pid), pid]:
        try:
            os.kill(it, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Killer(threading.Thread):
    """Kills something in the middle of a run. `join` raises what went wrong."""

    def __init__(self, when: Callable[[], bool], kill: Callable[[], None], what: str) -> None:
        super().__init__(daemon=True)
        self._when, self._kill, self._what = when, kill, what
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            wait_for(self._when, self._what)
            self._kill()
        except BaseException as error:
            self._error = error

    def finish(self) -> None:
        """Wait until the kill is done."""
        self.join()
        if self._error is not None:
            raise self._error
