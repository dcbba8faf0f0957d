"""One process: the plain loop, with threads and engines; and `selkie batch run`, killed."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

from common import Check, complete, fresh, wait_for
from selkie import batch


def reference(items: Path, out: Path) -> Check:
    """Run all items on one thread, on the interpreter: the digest that all others must have."""
    count = batch.run_folder(items, fresh(out), threads=1, engine="interpreter")
    check = Check(count, batch.digest_of(out).digest.hex())
    check.results(out)
    return check


def loop(items: Path, out: Path, check: Check) -> None:
    """Run all items with one and two threads and with both engines."""
    for threads in [1, 2]:
        for engine in ["interpreter", "jit"]:
            start, cpu = time.monotonic(), time.process_time()
            batch.run_folder(items, fresh(out), threads=threads, engine=engine)
            wall, cpu = time.monotonic() - start, time.process_time() - cpu
            check.results(out)
            print(f"  {threads} threads, {engine}: {wall:.1f} s, CPU {cpu:.1f} s")


def command(selkie: Path, items: Path, out: Path, check: Check) -> None:
    """Run all items by the command line, kill it, and start it again."""
    fresh(out)
    files = len(batch.shards(items / "items"))
    arguments = [str(selkie), "--json", "batch", "run", str(items), "--out", str(out)]
    first = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    wait_for(lambda: complete(out) > 1, "a file of results")
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = complete(out)
    assert done < files, f"killed too late: {done} of {files} files were done"
    print(f"  killed selkie batch run after {done} of {files} files")
    second = subprocess.run(arguments, check=True, capture_output=True)
    report = json.loads(second.stdout)
    found = (report["items"], report["digest"])
    assert found == (check.items, check.digest), found
    check.results(out)
