"""Batches on Ray: tasks with some files of items each, whose results appear when they are complete.

    ray.init("auto")
    selkie.ray.run("/shared/items", "/shared/results")

Ray repeats the tasks of nodes that die. If the driver dies, run it again: files that have results are
skipped. Both folders are seen by all nodes under the same path.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ray

from selkie import batch

__all__ = ["run"]

WAITING_MAX = 1000
"""How many tasks wait in Ray at once."""


def run(
    source: str,
    out: str,
    *,
    threads: int = 1,
    engine: str | None = None,
    programs: batch.Programs | None = None,
    restart: bool = False,
    retries: int = 10,
    files_per_task: int = batch.FILES_PER_TASK,
) -> int:
    """Run the items of a folder. Return the number of items that were run.

    The folder has `items/*.parquet` and `contents/*.parquet`. A task has `threads` processors and is
    tried again up to `retries` times after its worker died: with those of its files that have no
    results yet. An error of a task itself is raised, and `SelkieError` if there are results of other items
    or programs; `restart` replaces them. `programs` are files that replace programs of the items, by
    their addresses.
    """
    # Workers have other working directories.
    folder, target = Path(source).absolute(), Path(out).absolute()
    replaced = batch.absolute(programs)
    files = batch.remaining(folder / "items", target, replaced, restart=restart)
    contents = os.fspath(folder / "contents")
    target.mkdir(parents=True, exist_ok=True)
    task = ray.remote(num_cpus=threads, max_retries=retries)(_run_files)
    done: int = 0
    waiting: list[Any] = []
    for start in range(0, len(files), files_per_task):
        paths = files[start : start + files_per_task]
        waiting.append(task.remote(paths, target, contents, replaced, threads, engine))
        if len(waiting) >= WAITING_MAX:
            ready, waiting = ray.wait(waiting)
            done += sum(ray.get(ready))
    done += sum(ray.get(waiting))
    batch.sweep(target)
    return done


def _run_files(
    files: list[Path],
    target: Path,
    contents: str,
    programs: dict[str, Path],
    threads: int,
    engine: str | None,
) -> int:
    base = batch.shared_base(contents, programs)
    return sum(batch.run_file(it, target / it.name, base, threads=threads, engine=engine) for it in files)
