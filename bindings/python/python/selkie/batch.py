"""Batches of self-contained transactions: Arrow record batches of items in, of results out.

A result depends on its item alone, and on what the item refers to by hash: not on threads, engine,
machine or the items beside it. So any engine that moves Arrow batches may distribute the work and
repeat any part of it. docs/scale.md of Selkie describes the tables.

    from selkie import batch

    base = batch.read_base("items/contents")
    for results in batch.run(batches, base, threads=8):
        ...

`run` takes and returns one batch at a time, so memory does not grow with the input. It runs without
the interpreter's lock. Its threads end with each batch, so a process may fork between batches.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

from selkie import _native
from selkie._native import Base, Digest
from selkie.engine import engine_name

__all__ = [
    "Base",
    "Digest",
    "Summary",
    "contents_schema",
    "diff",
    "digest_of",
    "items_schema",
    "read_base",
    "results_schema",
    "run",
    "run_file",
    "run_folder",
    "shared_base",
    "verify",
]

ROWS = 1024
"""How many rows of a file are in memory at once."""

FILES_PER_TASK = 4
"""How many files a task of an engine has: Spark and Ray need about 20 ms for a task, besides its work."""

PathLike = Union[str, "os.PathLike[str]"]

Programs = Mapping[str, PathLike]
"""Files that replace programs, by the addresses of these."""


def run(
    items: Any,
    base: Base,
    *,
    threads: int | None = None,
    engine: str | None = None,
    logs: bool = False,
    data: bool = False,
) -> Iterator[Any]:
    """Run the items of each batch, and return an iterator over batches of results.

    `items` is an iterable of record batches, or one object that streams them: of pyarrow, polars or
    whatever else implements Arrow's PyCapsule interface. Results are `pyarrow.RecordBatch`es where
    pyarrow is installed; without, objects with `__arrow_c_array__`.

    `threads` is one per processor unless given, `engine` that of `SELKIE_ENGINE`. With `logs` the
    results hold log lines, with `data` the data of written accounts.

    Items that are invalid have results that say so. An exception is raised if a batch does not have
    the columns of `items_schema()`.
    """
    options = (threads or processors(), engine_name(engine), logs, data)
    convert = _converter()
    for batch in _batches(items):
        yield convert(_native.run_batch(batch, base, *options))


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _batches(items: Any) -> Iterable[Any]:
    if hasattr(items, "__arrow_c_array__"):
        return [items]
    if hasattr(items, "__arrow_c_stream__"):
        return _native.BatchStream(items)
    return items  # type: ignore[no-any-return]


def _converter() -> Any:
    try:
        import pyarrow
    except ImportError:
        return lambda batch: batch
    return pyarrow.record_batch


def items_schema() -> Any:
    """Return the schema of items: a `pyarrow.Schema` where pyarrow is installed."""
    return _schema(_native.items_schema())


def results_schema() -> Any:
    """Return the schema of results: a `pyarrow.Schema` where pyarrow is installed."""
    return _schema(_native.results_schema())


def contents_schema() -> Any:
    """Return the schema of contents: a `pyarrow.Schema` where pyarrow is installed."""
    return _schema(_native.contents_schema())


def _schema(schema: _native.BatchSchema) -> Any:
    try:
        import pyarrow
    except ImportError:
        return schema
    return pyarrow.schema(schema)


def read_base(contents: PathLike, programs: Programs | None = None) -> Base:
    """Read contents from Parquet files: a file, or all `*.parquet` of a folder.

    `programs` are files that replace programs of the items, by the addresses of these: such that a
    cluster would deploy them.
    """
    return _native.read_base(_existing(contents), _files(programs))


def _files(programs: Programs | None) -> list[tuple[str, Path]]:
    return [(address, Path(path)) for address, path in sorted((programs or {}).items())]


def absolute(programs: Programs | None) -> dict[str, Path]:
    """Return files of programs by names that workers understand, whose working directory is another."""
    return {address: Path(path).absolute() for address, path in (programs or {}).items()}


def shards(folder: PathLike) -> list[Path]:
    """Return the Parquet files of a folder, sorted by name. A file stands for itself.

    Raises `FileNotFoundError` if there is neither.
    """
    path = _existing(folder)
    return [path] if path.is_file() else sorted(path.glob("*.parquet"))


def _existing(path: PathLike) -> Path:
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    return Path(path)


_lock = threading.Lock()
_bases: dict[tuple[str, str], Base] = {}


def shared_base(contents: PathLike, programs: Programs | None = None) -> Base:
    """Return what `read_base` does, read once per process, so that programs are compiled once."""
    key = os.fspath(contents), repr(_files(programs))
    with _lock:
        if key not in _bases:
            _bases[key] = read_base(contents, programs)
        return _bases[key]


def _after_fork() -> None:
    """Forget what threads of the parent may have been using, in the middle of a change."""
    global _lock
    _lock = threading.Lock()
    # The objects stay alive: to drop them could wait for locks whose owners are not here.
    _abandoned.append(dict(_bases))
    _bases.clear()


_abandoned: list[dict[tuple[str, str], Base]] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass
class Summary:
    """What was run."""

    digest: Digest = field(default_factory=Digest)
    unexpected: int = 0

    def add(self, results: Any) -> None:
        """Add a batch of results."""
        self.digest.add(results)
        matches = results.column(results.schema.get_field_index("matches"))
        self.unexpected += matches.false_count


def run_file(
    items: PathLike,
    results: PathLike,
    base: Base,
    *,
    threads: int | None = None,
    engine: str | None = None,
    logs: bool = False,
    data: bool = False,
    rows: int = ROWS,
) -> int:
    """Run the items of a Parquet file and write a file of results. Return the number of items.

    The file of results gets its name when it is complete. If it is there already, nothing is run and
    0 is returned; `SelkieError` is raised if it has results of other items, programs or options.
    """
    run = _run(threads, engine, logs, data, rows)
    return run.file(_existing(items), Path(results), base)


def _run(
    threads: int | None = None,
    engine: str | None = None,
    logs: bool = False,
    data: bool = False,
    rows: int = ROWS,
) -> _native.Run:
    # Several processes may be at the same file: each writes one of its own.
    attempt = uuid.uuid4().hex
    return _native.Run(threads or processors(), engine_name(engine), logs, data, rows, attempt)


def remaining(
    items: PathLike,
    results: PathLike,
    programs: Programs | None = None,
    *,
    logs: bool = False,
    data: bool = False,
    restart: bool = False,
) -> list[Path]:
    """Return the files of a folder of items that have no results yet; with `restart`, all of them, whose
    results are removed.

    `SelkieError` is raised if there are results of other items, programs or options.
    """
    files, out = shards(items), Path(results)
    if restart:
        _native.remove_results(files, out)
        return files
    # What items refer to does not tell what results are of.
    base = _native.read_base(None, _files(programs))
    return _run(1, logs=logs, data=data).remaining(files, out, base)


def sweep(folder: Path) -> None:
    """Remove what attempts that were killed have left in a folder of results that is complete."""
    _native.sweep(folder)


def run_folder(
    source: PathLike,
    out: PathLike,
    *,
    threads: int | None = None,
    engine: str | None = None,
    programs: Programs | None = None,
    logs: bool = False,
    data: bool = False,
    restart: bool = False,
    rows: int = ROWS,
) -> int:
    """Run the items of a folder, several files at once. Return the number of items that were run.

    This is `selkie batch run`, with its rules: the folder has `items/*.parquet` and
    `contents/*.parquet`. Files whose results are in `out` are skipped, so a run that was killed goes on.
    `SelkieError` is raised if there are results of other items, programs or options; `restart` replaces
    them. `programs` are files that replace programs of the items, by their addresses.

    In an indexed job of Kubernetes or a job array of Slurm, it is the process's share of the files (see
    `share`).
    """
    base = read_base(Path(source) / "contents", programs)
    target = Path(out)
    target.mkdir(parents=True, exist_ok=True)
    files = share(shards(Path(source) / "items"))
    if restart:
        _native.remove_results(files, target)
    return _run(threads, engine, logs, data, rows).files(files, target, base)


INDEXES = ("SHARD_INDEX", "JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID")
COUNTS = ("SHARD_COUNT", "SLURM_ARRAY_TASK_COUNT")


def share(files: list[Path]) -> list[Path]:
    """Return this process's share of files: all, or those of its index in a job of many.

    The index is `SHARD_INDEX`, or what Kubernetes sets for an indexed job or Slurm for an array from
    0; the number of processes is `SHARD_COUNT`, or what Slurm sets.
    """
    index, count = _number(INDEXES), _number(COUNTS)
    if count is None:
        return files
    if index is None or not 0 <= index < count:
        raise ValueError(f"{' or '.join(INDEXES)} is {index}, but there are {count} shares")
    return files[index::count]


def _number(names: tuple[str, ...]) -> int | None:
    """Return the number of the first variable of the environment that is set."""
    texts = (os.environ.get(name) for name in names)
    return next((int(text) for text in texts if text), None)


def digest_of(results: PathLike) -> Summary:
    """Return the digest of results in Parquet files: a file, or a folder. Needs pyarrow."""
    from pyarrow import parquet

    summary = Summary()
    columns = ["item_id", "effects_hash", "matches"]
    for path in shards(results):
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=65536, columns=columns):
                summary.add(batch)
    return summary


def verify(
    results: PathLike, items: PathLike | None = None, *, allow_unusable: bool = False
) -> dict[str, Any]:
    """Check that results are complete, as `selkie batch verify` does.

    Return what was found; `problems` has a sentence for all that is missing, doubled or not as
    expected. `items` is the folder of items that were run.
    """
    folder = None if items is None else _existing(items)
    return dict(json.loads(_native.verify(_existing(results), folder, allow_unusable)))


def diff(before: PathLike, after: PathLike, *, show: int = 20) -> dict[str, Any]:
    """Compare the results of two runs of the same items, as `selkie batch diff --json` does."""
    return dict(json.loads(_native.diff(_existing(before), _existing(after), show)))


def main(arguments: list[str]) -> None:
    """Run `python -m selkie.batch ITEMS RESULTS`."""
    if len(arguments) != 2:
        raise SystemExit("usage: python -m selkie.batch ITEMS RESULTS")
    print(f"{run_folder(*arguments)} items")


if __name__ == "__main__":
    main(sys.argv[1:])
