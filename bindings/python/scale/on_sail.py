"""Sail: the same DataFrame, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import Check, fresh
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession
from selkie.spark import simulate


def run(items: Path, out: Path, check: Check) -> None:
    """Run all items on a server in this process."""
    out = fresh(out)
    with session() as spark:
        frame = spark.read.parquet(str(items / "items"))
        simulate(frame, str(items / "contents")).write.parquet(str(out))
    check.results(out)


@contextmanager
def session() -> Iterator[Any]:
    """Start a server in this process, and connect to it."""
    server: Any = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    host, port = server.listening_address
    builder: Any = SparkSession.builder
    spark = builder.remote(f"sc://{host}:{port}").create()
    try:
        yield spark
    finally:
        spark.stop()
        server.stop()
