"""What engines cost, beside the same work in one process: `cargo xtask scale --figures` runs this.

    python figures.py ITEMS TRANSFERS VERIFIED WORK SELKIE FIGURE...

A figure is `transfers`, `memory`, `litesvm` or an engine, which runs all items with one and with two
workers.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import descendants, fresh
from pyarrow import parquet
from selkie import batch

Run = Callable[[Path, Path], None]
"""Runs the items of a folder, and writes their results to another one."""

RUNS = 5
"""How often items are run. The fastest counts: engines need one or two runs to start, and to compile."""

REPEATED = [1, 10, 100]
"""How often the same items are run, to see how memory grows."""


@dataclass
class Work:
    """The folders of a run of this script."""

    items: Path
    transfers: Path
    """Transfers whose signatures were verified before."""
    verified: Path
    """Items of all kinds whose signatures were verified before."""
    out: Path
    selkie: Path


@dataclass
class Cost:
    """What a run took, in seconds."""

    wall: float
    cpu: float
    kernel: float
    """The sum over the items, as measured around each of them."""
    items: int

    def __str__(self) -> str:
        rate = self.items / self.wall
        each = self.cpu / self.items * 1e6
        return (
            f"{self.items} items in {self.wall:.2f} s ({rate:,.0f}/s), CPU {self.cpu:.2f} s "
            f"({each:.1f} µs each), kernel {self.kernel:.2f} s"
        )


def measured(run: Run, items: Path, out: Path) -> Cost:
    """Run items several times and return the cost of the fastest run."""
    costs = [cost(run, items, fresh(out)) for _ in range(RUNS)]
    return min(costs, key=lambda it: it.wall)


def cost(run: Run, items: Path, out: Path) -> Cost:
    """Run items and return what it takes."""
    start, cpu = time.monotonic(), cpu_seconds()
    run(items, out)
    wall, cpu = time.monotonic() - start, cpu_seconds() - cpu
    nanoseconds = [parquet.read_table(it, columns=["nanoseconds"])[0] for it in batch.shards(out)]
    kernel = sum(sum(it.to_pylist()) for it in nanoseconds) / 1e9
    return Cost(wall, cpu, kernel, sum(len(it) for it in nanoseconds))


def cpu_seconds() -> float:
    """Return the processor time of this process and of all that it has started."""
    ticks = 0
    for pid in [os.getpid(), *descendants(os.getpid())]:
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, stat[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def loop(workers: int, _: Path) -> Iterator[Run]:
    yield lambda items, out: void(batch.run_folder(items, out, threads=workers))


@contextlib.contextmanager
def command(workers: int, selkie: Path) -> Iterator[Run]:
    def run(items: Path, out: Path) -> None:
        arguments = [selkie, "--json", "batch", "run", items, "--out", out, "--threads", str(workers)]
        subprocess.run(arguments, check=True, capture_output=True)

    yield run


@contextlib.contextmanager
def spark(workers: int, _: Path) -> Iterator[Run]:
    with importlib.import_module("on_spark").session(workers) as session:
        yield lambda items, out: simulate(session, items, out)


@contextlib.contextmanager
def spark_folder(workers: int, _: Path) -> Iterator[Run]:
    with importlib.import_module("on_spark").session(workers) as session:
        engine = importlib.import_module("selkie.spark")
        yield lambda items, out: void(engine.run(session, str(items), str(out)))


@contextlib.contextmanager
def sail(_workers: int, _: Path) -> Iterator[Run]:
    with importlib.import_module("on_sail").session() as session:
        yield lambda items, out: simulate(session, items, out)


@contextlib.contextmanager
def ray(workers: int, _: Path) -> Iterator[Run]:
    engine = importlib.import_module("selkie.ray")
    with importlib.import_module("on_ray").cluster(workers):
        yield lambda items, out: void(engine.run(str(items), str(out)))


def simulate(session: Any, items: Path, out: Path) -> None:
    frame = session.read.parquet(str(items / "items"))
    results = importlib.import_module("selkie.spark").simulate(frame, str(items / "contents"))
    results.write.parquet(str(out))


def void(_: object) -> None:
    """Ignore a result."""


ENGINES = {it.__name__: it for it in [loop, command, spark, spark_folder, sail, ray]}


def engine(name: str, work: Work) -> None:
    """Compare one worker with two, and the first with the time that the items take by themselves."""
    costs: list[Cost] = []
    for workers in [1, 2]:
        # In a process of its own: engines keep threads and caches.
        arguments = [str(workers), *map(str, [work.items, work.out, work.selkie])]
        run = subprocess.run([sys.executable, __file__, name, *arguments], check=True, stdout=subprocess.PIPE)
        costs.append(Cost(**json.loads(run.stdout.splitlines()[-1])))
        print(f"{name}, {workers} workers: {costs[-1]}", flush=True)
    one, two = costs
    print(f"{name}: 1 to 2 workers {one.wall / two.wall:.2f} times", end=", ")
    print(f"overhead {one.wall / one.kernel - 1:.1%} of the kernel time", flush=True)


def one_engine(name: str, workers: int, items: Path, out: Path, selkie: Path) -> None:
    """Measure an engine with a number of workers, and print the cost as JSON.

    There is a processor for each worker. Otherwise one worker would use those of others: the JVM has
    threads for each processor that it sees, and Sail writes results beside the work.
    """
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:workers])
    with ENGINES[name](workers, selkie) as run:
        fastest = measured(run, items, out)
    print()
    print(json.dumps(vars(fastest)))


def transfers(work: Work) -> None:
    """Measure simple transfers on one core, from Parquet to Parquet."""
    with loop(1, work.selkie) as run:
        print(f"transfers: {measured(run, work.transfers, work.out)}", flush=True)


def memory(work: Work) -> None:
    """Show the most memory that `selkie batch run` has, with more and more items."""
    for times in REPEATED:
        items = fresh(work.out.parent / "repeated")
        (items / "items").mkdir(parents=True)
        (items / "contents").symlink_to(work.transfers.absolute() / "contents")
        for path in batch.shards(work.transfers / "items"):
            for number in range(times):
                (items / "items" / f"{path.stem}-{number}.parquet").hardlink_to(path)
        arguments = [work.selkie, "--json", "batch", "run", items, "--out", fresh(work.out)]
        # A process counts what its parent had when it started it, so a small one starts it.
        run = subprocess.run([sys.executable, "-c", MOST_MEMORY, *arguments], check=True, stdout=subprocess.PIPE)
        report, _, kibibytes = run.stdout.decode().rstrip().rpartition("\n")
        most = int(kibibytes) / 1024
        print(f"memory: {json.loads(report)['items']} items, {most:.1f} MiB", flush=True)


MOST_MEMORY = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Runs a command, and prints the most memory that it had, in KiB."""


def litesvm(work: Work) -> None:
    """Compare LiteSVM's Python binding in a loop with batches: the same transactions."""
    for folder in [work.transfers, work.verified]:
        base = batch.read_base(folder / "contents")
        tables = [parquet.read_table(it) for it in batch.shards(folder / "items")[:10]]
        count = sum(map(len, tables))
        loop = LiteSVMLoop(folder)
        rows = [row for table in tables for row in table.to_pylist()]
        theirs = loop.send(rows)
        print(f"litesvm: {count} of {folder.name}: LiteSVM {theirs / count * 1e6:.1f} µs each", flush=True)
        for threads in [1, batch.processors()]:
            # The first run compiles the programs.
            for _ in range(2):
                start = time.monotonic()
                for table in tables:
                    for _ in batch.run(table.to_batches(), base, threads=threads):
                        pass
                ours = time.monotonic() - start
            each = ours / count * 1e6
            print(f"litesvm: batch, {threads} threads: {each:.1f} µs each, {theirs / ours:.1f} times", flush=True)


class LiteSVMLoop:
    """Sends transactions to LiteSVM, each with the accounts of its item."""

    def __init__(self, folder: Path) -> None:
        from solders.litesvm import LiteSVM

        contents = [parquet.read_table(it).to_pylist() for it in batch.shards(folder / "contents")]
        self.contents = {row["hash"]: row["data"] for rows in contents for row in rows}
        # Items are of two chains in turn, which differ in a program.
        self.chains = [LiteSVM() for _ in range(2)]
        for chain in self.chains:
            chain.with_sigverify(False).with_blockhash_check(False).with_transaction_history(0)
        self.programs: list[set[bytes]] = [set(), set()]

    def send(self, rows: list[dict[str, Any]]) -> float:
        """Send transactions, and return the time, but for what new programs take."""
        from solders.pubkey import Pubkey
        from solders.transaction import VersionedTransaction
        from solders.transaction_metadata import FailedTransactionMetadata

        seconds = 0.0
        for index, row in enumerate(rows):
            chain = self.chains[index % 2]
            self.add_programs(index % 2, row)
            start = time.monotonic()
            for it in row["accounts"]:
                if it["pubkey"] not in self.programs[index % 2]:
                    chain.set_account(Pubkey(it["pubkey"]), self.account(it))
            ended = chain.send_transaction(VersionedTransaction.from_bytes(row["message"]))
            seconds += time.monotonic() - start
            status = "Failed" if isinstance(ended, FailedTransactionMetadata) else "Success"
            assert status == row["expect"]["status"], ended
        return seconds

    def add_programs(self, chain: int, row: dict[str, Any]) -> None:
        """Add programs that are not there yet. A program's data come before the program."""
        from solders.pubkey import Pubkey

        loader = bytes(Pubkey.from_string("BPFLoaderUpgradeab1e11111111111111111111111"))
        parts = [it for it in row["accounts"] if it["executable"] or it["owner"] == loader]
        for it in sorted(parts, key=lambda it: it["executable"]):
            if it["pubkey"] not in self.programs[chain]:
                self.chains[chain].set_account(Pubkey(it["pubkey"]), self.account(it))
                self.programs[chain].add(it["pubkey"])

    def account(self, row: dict[str, Any]) -> Any:
        from solders.account import Account
        from solders.pubkey import Pubkey

        data = self.contents[row["ref"]] if row["ref"] else row["data"] or b""
        return Account(row["lamports"], data, Pubkey(row["owner"]), row["executable"])


def main(work: Work, figures: list[str]) -> None:
    """Measure the figures that are named."""
    others = {it.__name__: it for it in [transfers, memory, litesvm]}
    for name in figures:
        if name in ENGINES:
            engine(name, work)
        else:
            others[name](work)


if __name__ == "__main__":
    if sys.argv[1] in ENGINES:
        one_engine(sys.argv[1], int(sys.argv[2]), *map(Path, sys.argv[3:]))
    else:
        items, transfers_, verified, folder, selkie = map(Path, sys.argv[1:6])
        main(Work(items, transfers_, verified, folder / "results", selkie), sys.argv[6:])
