"""Apache Spark with two executors, and one of them killed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from common import Check, Killer, command_line, descendants, fresh
from pyspark.sql import SparkSession
from selkie.spark import simulate

EXECUTOR = "CoarseGrainedExecutorBackend"


def run(items: Path, out: Path, check: Check, *, kills: bool, cores: int = 2) -> None:
    """Run all items. With `kills`, kill an executor when the first file is committed."""
    out = fresh(out)
    spark = session(cores)
    try:
        frame = spark.read.parquet(str(items / "items"))
        results = simulate(frame, str(items / "contents"))
        if kills:
            tasks = results.rdd.getNumPartitions()
            killer = Killer(lambda: committed(out) > 0, lambda: kill_executor(out, tasks), "a commit")
            killer.start()
        results.write.parquet(str(out))
        if kills:
            killer.finish()
    finally:
        spark.stop()
    check.results(out)


def session(cores: int) -> Any:
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
    builder = builder.master(f"local-cluster[{cores},1,1024]").appName("selkie")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def committed(out: Path) -> int:
    """Return how many tasks have committed their file, before the job commits all."""
    return len(list(out.glob("_temporary/*/task_*")))


def kill_executor(out: Path, tasks: int) -> None:
    """Kill one of the executors, in the middle of the run."""
    (victim, *_) = (it for it in descendants(os.getpid()) if EXECUTOR in command_line(it))
    os.kill(victim, signal.SIGKILL)
    done = committed(out)
    assert 0 < done < tasks, f"killed too late: {done} of {tasks} tasks were done"
    print(f"  killed executor {victim} after {done} of {tasks} tasks")
