"""Batches on Apache Spark, and on everything that speaks its API: Sail, Databricks and others.

    results = simulate(spark.read.parquet("items/items"), "/shared/items/contents")
    results.write.parquet("results")

    run(spark, "/shared/items", "/shared/results")

`simulate` takes and returns a DataFrame: Spark may read items from anywhere, and commits each file of
results once. `run` takes a folder, whose files workers read and write without Spark. It is faster, since
rows do not pass through the JVM, and its files of results appear when they are complete.

Spark repeats the tasks of executors that die. Workers import this package, and see folders under the
same paths.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema

from selkie import batch

__all__ = ["run", "simulate"]


def simulate(
    items: Any,
    contents: str,
    *,
    threads: int = 1,
    engine: str | None = None,
    logs: bool = False,
    data: bool = False,
) -> Any:
    """Run the items of a DataFrame, and return a DataFrame of results.

    `items` has the columns of `selkie.batch.items_schema()`. `contents` is the folder of contents, as
    workers see it; each worker reads it once. `threads` is the number per task: as many as
    `spark.task.cpus`.
    """
    # Workers have other working directories.
    contents = os.path.abspath(contents)

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        from selkie import batch

        schema = batch.items_schema()
        base = batch.shared_base(contents)
        # Engines differ in the types that they use for binary and text.
        cast = (it.select(schema.names).cast(schema) for it in batches)
        return batch.run(cast, base, threads=threads, engine=engine, logs=logs, data=data)

    return items.mapInArrow(work, from_arrow_schema(batch.results_schema()))


def run(
    session: Any,
    source: str,
    out: str,
    *,
    threads: int = 1,
    engine: str | None = None,
    programs: batch.Programs | None = None,
    restart: bool = False,
    files_per_task: int = batch.FILES_PER_TASK,
) -> int:
    """Run the items of a folder. Return the number of items that were run.

    The folder has `items/*.parquet` and `contents/*.parquet`. Files that have results in `out` are
    skipped, so a run that was killed goes on, and a task that is repeated too. `SelkieError` is raised if
    there are results of other items or programs; `restart` replaces them. `programs` are files that
    replace programs of the items, by their addresses. `threads` is the number per task: as many as
    `spark.task.cpus`.
    """
    # Workers have other working directories.
    folder, target = Path(source).absolute(), Path(out).absolute()
    items, contents = folder / "items", folder / "contents"
    files = batch.absolute(programs)
    names = [(it.name,) for it in batch.remaining(items, target, files, restart=restart)]
    target.mkdir(parents=True, exist_ok=True)

    def work(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow
        from selkie import batch

        base = batch.shared_base(contents, files)
        for names in batches:
            for name in names.column(0).to_pylist():
                done = batch.run_file(items / name, target / name, base, threads=threads, engine=engine)
                yield pyarrow.record_batch({"items": [done]})

    done = 0
    if names:
        tasks = -(-len(names) // files_per_task)
        frame = session.createDataFrame(names, "file string").repartition(tasks)
        done = sum(row["items"] for row in frame.mapInArrow(work, "items bigint").collect())
    batch.sweep(target)
    return done
