"""Batches on Apache Spark, and on everything that speaks its API: Sail, Databricks and others.

    results = simulate(spark.read.parquet("items/items"), "/shared/items/contents")
    results.write.parquet("results")

Spark repeats tasks of executors that die and commits each file once. Workers import this package, and
see the contents under the same path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema

from selkie import batch

__all__ = ["simulate"]


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
    def work(batches: Iterable[Any]) -> Iterator[Any]:
        from selkie import batch

        schema = batch.items_schema()
        base = batch.shared_base(contents)
        # Engines differ in the types that they use for binary and text.
        cast = (it.select(schema.names).cast(schema) for it in batches)
        return batch.run(cast, base, threads=threads, engine=engine, logs=logs, data=data)

    return items.mapInArrow(work, from_arrow_schema(batch.results_schema()))
