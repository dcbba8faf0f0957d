"""Ray with two nodes, and a node or the driver killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import ray
import selkie.ray
from common import Check, Killer, complete, fresh, kill_tree, wait_for
from ray.cluster_utils import Cluster
from selkie import batch


def run(items: Path, out: Path, check: Check) -> None:
    """Run all items; then again, with a node killed; then again, with the driver killed."""
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    try:
        drive(cluster.address, items, fresh(out))
        check.results(out)
        print("  two raylets: the digest")
        kill_driver(cluster.address, items, fresh(out))
        check.results(out)
        kill_node(cluster.address, nodes[0], items, fresh(out))
        check.results(out)
    finally:
        cluster.shutdown()
    assert not list(out.glob("*.part")), "temporary files are left"


@contextmanager
def cluster(nodes: int) -> Iterator[None]:
    """Start nodes with a processor each, and connect to them."""
    started: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(nodes):
        started.add_node(num_cpus=1)
    started.wait_for_nodes()
    ray.init(address=started.address, log_to_driver=False, configure_logging=False)
    try:
        yield
    finally:
        ray.shutdown()
        started.shutdown()


def drive(address: str, items: Path, out: Path) -> None:
    """Run all items as the driver."""
    ray.init(address=address, log_to_driver=False, configure_logging=False)
    try:
        selkie.ray.run(str(items), str(out))
    finally:
        ray.shutdown()


def is_in_the_middle(items: Path, out: Path) -> bool:
    return 2 <= complete(out)


def kill_node(address: str, node: Any, items: Path, out: Path) -> None:
    """Kill a raylet with its workers in the middle of a run."""
    files = len(batch.shards(items / "items"))

    def kill() -> None:
        raylet = node.all_processes["raylet"][0].process.pid
        kill_tree(raylet)
        done = complete(out)
        assert done < files, f"killed too late: {done} of {files} files were done"
        print(f"  killed raylet {raylet} after {done} of {files} files")

    killer = Killer(lambda: is_in_the_middle(items, out), kill, "a file of results")
    killer.start()
    drive(address, items, out)
    killer.finish()


def kill_driver(address: str, items: Path, out: Path) -> None:
    """Kill the driver in the middle of a run, and start it again."""
    files = len(batch.shards(items / "items"))
    command = [sys.executable, __file__, address, str(items), str(out)]
    driver = subprocess.Popen(command)
    wait_for(lambda: is_in_the_middle(items, out), "a file of results")
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    done = complete(out)
    assert done < files, f"killed too late: {done} of {files} files were done"
    print(f"  killed driver {driver.pid} after {done} of {files} files")
    subprocess.run(command, check=True)


if __name__ == "__main__":
    drive(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
