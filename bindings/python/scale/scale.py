"""One digest from all engines, with kills: `cargo xtask scale` runs this.

    python scale.py ITEMS WORK SELKIE [ENGINE...]
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def main(items: Path, work: Path, selkie: Path, engines: list[str]) -> None:
    """Run the engines that are named."""
    machine = importlib.import_module("on_one_machine")
    out = work / "results"
    check = timed("reference", lambda: machine.reference(items, out))
    print(f"{check.items} items, digest {check.digest}")
    runs = {
        "loop": lambda: machine.loop(items, out, check),
        "command": lambda: machine.command(selkie, items, out, check),
        "spark": lambda: on("spark").run(items, out, check, kills=False),
        "spark-kill": lambda: on("spark").run(items, out, check, kills=True),
        "spark-folder": lambda: on("spark").run_folder(items, out, check, kills=False),
        "spark-folder-kill": lambda: on("spark").run_folder(items, out, check, kills=True),
        "sail": lambda: on("sail").run(items, out, check),
        "ray": lambda: on("ray").run(items, out, check),
    }
    for engine in engines or runs:
        timed(engine, runs[engine])


def on(engine: str) -> Any:
    """Import the module of an engine, which needs the engine's package."""
    return importlib.import_module(f"on_{engine}")


def timed(name: str, run: Callable[[], Any]) -> Any:
    """Run something and print how long it took."""
    start = time.monotonic()
    result = run()
    print(f"{name}: ok, {time.monotonic() - start:.1f} s", flush=True)
    return result


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), sys.argv[4:])
