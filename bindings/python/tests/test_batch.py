"""`selkie.batch` on recorded items: `SELKIE_ITEMS` names a folder that `record_items` has written."""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

import selkie
from selkie import batch

ITEMS = Path(os.environ["SELKIE_ITEMS"])


@pytest.fixture(scope="module")
def base() -> batch.Base:
    return batch.read_base(ITEMS / "contents")


@pytest.fixture(scope="module")
def items() -> Any:
    return parquet.read_table(batch.shards(ITEMS / "items")[0]).combine_chunks().to_batches()[0]


def digest(results: Any) -> tuple[int, str]:
    digest = batch.Digest()
    for it in results:
        digest.add(it)
    return digest.items, digest.hex()


def test_results_are_the_recorded_ones(items: Any, base: batch.Base) -> None:
    (results,) = batch.run([items], base, threads=1)
    assert results.schema == batch.results_schema()
    assert results.column("item_id") == items.column("item_id")
    assert results.column("matches").true_count == items.num_rows
    assert set(results.column("status").to_pylist()) == {"Success", "Failed"}


def test_threads_engines_and_batches_do_not_matter(items: Any, base: batch.Base) -> None:
    expected = digest(batch.run([items], base, threads=1))
    for engine in ["interpreter", "jit", "auto"]:
        for threads in [1, 2, 5]:
            assert digest(batch.run(items, base, threads=threads, engine=engine)) == expected
    parts = [items.slice(start, 7) for start in range(0, items.num_rows, 7)]
    assert digest(batch.run(parts, base)) == expected
    assert digest(batch.run(pyarrow.Table.from_batches(parts), base)) == expected
    reader = pyarrow.RecordBatchReader.from_batches(items.schema, parts)
    assert digest(batch.run(reader, base)) == expected


def test_logs_and_data_are_there_if_asked_for(items: Any, base: batch.Base) -> None:
    (with_them,) = batch.run(items, base, logs=True, data=True)
    (without,) = batch.run(items, base)
    assert without.column("logs").null_count == items.num_rows
    assert with_them.column("logs")[0].as_py()
    assert with_them.column("post")[0].as_py()[0]["data"] is not None
    assert digest([with_them]) == digest([without])


def test_batches_are_taken_one_by_one(items: Any, base: batch.Base) -> None:
    taken = 0

    def source() -> Iterator[Any]:
        nonlocal taken
        while True:
            taken += 1
            yield items.slice(0, 10)

    results = batch.run(source(), base)
    for _ in range(3):
        next(results)
    assert taken == 3


def test_memory_does_not_grow_with_the_input(items: Any, base: batch.Base) -> None:
    def run(times: int) -> int:
        for _ in batch.run((items for _ in range(times)), base):
            pass
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    start = run(10)
    assert run(100) - start < 64 * 1024


def test_batches_without_the_columns_are_rejected(items: Any, base: batch.Base) -> None:
    with pytest.raises(ValueError, match="no column `message`"):
        list(batch.run(items.drop_columns(["message"]), base))
    wrong = items.set_column(1, "kind", pyarrow.array([1] * items.num_rows, pyarrow.int32()))
    with pytest.raises(ValueError, match="column `kind` is Int32"):
        list(batch.run(wrong, base))
    with pytest.raises(TypeError, match="no Arrow record batch"):
        list(batch.run([{"message": b""}], base))
    with pytest.raises(TypeError, match="no record batch"):
        list(batch.run([pyarrow.array([1])], base))


def test_data_that_lies_is_rejected(items: Any, base: batch.Base) -> None:
    kind = items.column("kind")
    # The first and the last offset are right.
    far = b"\xff\xff\xff\x7f" * (items.num_rows - 1)
    offsets = pyarrow.py_buffer(bytes(4) + far + bytes(4))
    lying = pyarrow.Array.from_buffers(
        kind.type, items.num_rows, [None, offsets, pyarrow.py_buffer(b"")]
    )
    with pytest.raises(ValueError, match="invalid"):
        list(batch.run(items.set_column(1, "kind", lying), base))


def test_invalid_items_have_results(items: Any, base: batch.Base) -> None:
    empty = pyarrow.array([b""] * items.num_rows, pyarrow.binary())
    (results,) = batch.run(items.set_column(0, "item_id", empty), base)
    assert set(results.column("status").to_pylist()) == {"MalformedItem"}
    (results,) = batch.run(items, batch.Base())
    assert "no content with the hash" in results.column("error")[0].as_py()


def test_contents_have_the_stated_hashes(base: batch.Base) -> None:
    table = pyarrow.record_batch({"hash": [b"\0" * 32], "data": [b"data"]})
    with pytest.raises(ValueError, match="row 0 of the contents"):
        base.add_table(table)


def run_in_child(connection: Any) -> None:
    shared = batch.shared_base(ITEMS / "contents")
    table = parquet.read_table(batch.shards(ITEMS / "items")[0])
    connection.send(digest(batch.run(table, shared, threads=2)))


def test_forked_processes_run_batches(items: Any) -> None:
    shared = batch.shared_base(ITEMS / "contents")
    expected = digest(batch.run(items, shared, threads=2))
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        ours, theirs = context.Pipe()
        child = context.Process(target=run_in_child, args=(theirs,))
        child.start()
        assert ours.recv() == expected
        child.join()
        assert child.exitcode == 0


def test_files_get_their_names_when_they_are_complete(tmp_path: Path, base: batch.Base) -> None:
    (first, *_) = batch.shards(ITEMS / "items")
    results = tmp_path / "results.parquet"
    rows = parquet.read_metadata(first).num_rows
    assert batch.run_file(first, results, base) == rows
    assert batch.run_file(first, results, base) == 0
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(first.read_bytes()[:-100])
    with pytest.raises(selkie.SelkieError, match="cannot read .*broken"):
        batch.run_file(broken, tmp_path / "none.parquet", base)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["broken.parquet", "results.parquet"]


def test_results_of_something_else_are_refused(tmp_path: Path, base: batch.Base) -> None:
    first, second, *_ = batch.shards(ITEMS / "items")
    results = tmp_path / first.name
    batch.run_file(first, results, base)
    refused = "has results of other items, programs or options"
    with pytest.raises(selkie.SelkieError, match=refused):
        batch.run_file(second, results, base)
    with pytest.raises(selkie.SelkieError, match=refused):
        batch.run_file(first, results, base, logs=True)
    with pytest.raises(selkie.SelkieError, match=refused):
        batch.remaining(ITEMS / "items", tmp_path, data=True)
    left = batch.remaining(ITEMS / "items", tmp_path)
    assert first not in left and second in left
    with pytest.raises(selkie.SelkieError, match="restart=True"):
        batch.run_folder(ITEMS, tmp_path, logs=True)
    everything = sum(parquet.read_metadata(it).num_rows for it in batch.shards(ITEMS / "items"))
    assert batch.run_folder(ITEMS, tmp_path, logs=True, restart=True) == everything
    assert batch.run_folder(ITEMS, tmp_path, logs=True) == 0


def test_another_program_has_other_results(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    batch.run_folder(ITEMS, folder)
    with pytest.raises(ValueError, match="no address"):
        batch.run_folder(ITEMS, folder, programs={"nothing": tmp_path / "a.so"})
    with pytest.raises(selkie.SelkieError, match="cannot read .*a.so"):
        batch.run_folder(ITEMS, folder, programs={"1" * 32: tmp_path / "a.so"})


def test_results_are_verified_and_compared(tmp_path: Path) -> None:
    batch.run_folder(ITEMS, tmp_path / "before")
    batch.run_folder(ITEMS, tmp_path / "after", engine="interpreter")
    found = batch.verify(tmp_path / "before", ITEMS)
    assert found["problems"] == [] and found["items"] == found["distinct"]
    assert found["digest"] == batch.digest_of(tmp_path / "after").digest.hex()
    assert batch.diff(tmp_path / "before", tmp_path / "after")["changed"] == 0
    (first, *_) = batch.shards(tmp_path / "before")
    first.unlink()
    (problem,) = batch.verify(tmp_path / "before", ITEMS)["problems"]
    assert problem.endswith(f"for {found['items']} items")


def test_a_folder_is_resumed_and_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    batch.run_folder(ITEMS, whole, threads=2)
    monkeypatch.setenv("SHARD_COUNT", "2")
    for index in ["0", "1"]:
        monkeypatch.setenv("SHARD_INDEX", index)
        batch.run_folder(ITEMS, parts)
    (first, *_) = batch.shards(parts)
    first.unlink()
    for index in ["0", "1"]:
        monkeypatch.setenv("SHARD_INDEX", index)
        command = [sys.executable, "-m", "selkie.batch", str(ITEMS), str(parts)]
        subprocess.run(command, check=True)
    with pytest.raises(ValueError, match="there are 2 shares"):
        monkeypatch.setenv("SHARD_INDEX", "2")
        batch.run_folder(ITEMS, parts)
    left, right = batch.digest_of(whole), batch.digest_of(parts)
    assert (left.digest.hex(), left.digest.items) == (right.digest.hex(), right.digest.items)
    assert left.unexpected == 0


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    (tmp_path / "contents").mkdir()
    for source, missing in [(tmp_path / "none", "none/contents"), (tmp_path, "items")]:
        with pytest.raises(FileNotFoundError, match=f"{missing}'$"):
            batch.run_folder(source, tmp_path / "results")
    with pytest.raises(FileNotFoundError, match="no-results'$"):
        batch.digest_of(tmp_path / "no-results")


def test_an_engine_that_does_not_exist_is_named(items: Any, base: batch.Base) -> None:
    with pytest.raises(ValueError, match="no engine is named `fast`"):
        list(batch.run(items, base, engine="fast"))


def test_without_pyarrow_schemas_are_arrow_objects() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
from selkie import batch
assert hasattr(batch.results_schema(), "__arrow_c_schema__")
assert list(batch.run([], batch.Base())) == []
"""
    subprocess.run([sys.executable, "-c", code], check=True)
