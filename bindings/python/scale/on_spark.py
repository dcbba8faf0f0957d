"""Apache Spark with two executors, and one of them killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import Check, Killer, command_line, complete, descendants, fresh
from pyspark.sql import SparkSession
from selkie import batch
from selkie.spark import run as run_files
from selkie.spark import simulate

EXECUTOR = "CoarseGrainedExecutorBackend"


def run(items: Path, out: Path, check: Check, *, kills: bool) -> None:
    """Run all items as a DataFrame. With `kills`, kill an executor when the first file is committed."""
    out = fresh(out)
    with session(2) as spark:
        results = simulate(spark.read.parquet(str(items / "items")), str(items / "contents"))
        parts = results.rdd.getNumPartitions() if kills else 0
        with executor_killed(parts, lambda: committed(out)):
            results.write.parquet(str(out))
    check.results(out)


def run_folder(items: Path, out: Path, check: Check, *, kills: bool) -> None:
    """Run all items as files. With `kills`, kill an executor when the first results are complete."""
    out = fresh(out)
    with session(2) as spark:
        parts = len(batch.shards(items / "items")) if kills else 0
        with executor_killed(parts, lambda: complete(out)):
            run_files(spark, str(items), str(out))
    check.results(out)
    assert not list(out.glob("*.part")), "temporary files are left"


@contextmanager
def session(executors: int) -> Iterator[Any]:
    """Start a cluster of executors with one core each."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        # A partition for each file: rows are small, but take long.
        "spark.sql.files.maxPartitionBytes": "1m",
        "spark.sql.files.openCostInBytes": "1m",
    }
    builder: Any = SparkSession.builder
    builder = builder.master(f"local-cluster[{executors},1,1024]").appName("selkie")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def committed(out: Path) -> int:
    """Return how many tasks have committed their file, before the job commits all."""
    return len(list(out.glob("_temporary/*/task_*")))


@contextmanager
def executor_killed(parts: int, done: Callable[[], int]) -> Iterator[None]:
    """Kill an executor when some of the parts of a run are done, unless there are none."""

    def kill() -> None:
        (victim, *_) = (it for it in descendants(os.getpid()) if EXECUTOR in command_line(it))
        os.kill(victim, signal.SIGKILL)
        finished = done()
        assert 0 < finished < parts, f"killed too late: {finished} of {parts} files were done"
        print(f"  killed executor {victim} after {finished} of {parts} files")

    if not parts:
        yield
        return
    killer = Killer(lambda: done() > 0, kill, "a file of results")
    killer.start()
    yield
    killer.finish()
